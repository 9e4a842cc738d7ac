"""Elementwise operations: identities, casts, and DimShuffles moved towards the inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.canonizer import local_add_canonizer, local_mul_canonizer
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import (
    SAME_TYPE,
    Made,
    P,
    applies,
    c,
    called,
    once,
    replaces,
    rest,
    rewrite,
    rule,
    w,
    x,
    y,
    z,
)
from theano.tensor.rewriting.terms import as_scalar_constant, exact_replacement, is_elemwise, same_dtype
from theano.tensor.shapes import Shape_i

_DIMSHUFFLE = applies(DimShuffle, "dimshuffle", lambda v: v.dimshuffle("x", *range(v.type.ndim)))


def is_an_upcast(type1: str, type2: str) -> bool:
    """Whether converting a value of dtype `type1` to `type2` loses nothing.

    Unlike `theano.scalar.upcast` this says no for an integer that the float cannot hold.

    Parameters
    ----------
    type1, type2 : str
        Names of dtypes.

    Examples
    --------
    >>> is_an_upcast("float32", "float64"), is_an_upcast("int32", "float32")
    (True, False)
    """
    return type1 == type2 or bool(np.can_cast(type1, type2, casting="safe"))


def is_dimshuffle_useless(new_order: Any, x: Any) -> bool:
    """Whether the DimShuffle keeps every dimension where it is (broadcastable ones may trade places).

    Parameters
    ----------
    new_order : tuple of int or 'x'
        That of the DimShuffle.
    x : TensorVariable
        Its input.

    Examples
    --------
    >>> x = T.dmatrix()
    >>> is_dimshuffle_useless((0, 1), x), is_dimshuffle_useless((1, 0), x)
    (True, False)
    """
    return _moves_nothing(new_order, x.type.broadcastable)


def _moves_nothing(new_order: Any, broadcastable: Any) -> bool:
    return len(new_order) == len(broadcastable) and all(
        one if o == "x" or broadcastable[o] else k == o for k, (o, one) in enumerate(zip(new_order, broadcastable))
    )


def _has_several(op: Any) -> bool:
    return isinstance(op.scalar_op, scal.Composite) and op.scalar_op.nout != 1 and not op.inplace_pattern


@rewrites([Elemwise], "canonicalize")
def local_useless_composite(node: Any) -> Any:
    """``Composite{f, g}(x).0 -> Composite{f}(x)`` where nothing takes the other result"""
    used = [k for k, out in enumerate(node.outputs) if out.clients]
    if len(used) == len(node.outputs) or not _has_several(node.op):
        return False
    smaller = scal.Composite(node.op.scalar_op.inputs, [node.op.scalar_op.outputs[k] for k in used])
    new = type(node.op)(smaller, openmp=node.op.openmp)(*node.inputs, return_list=True)
    copy_stack_trace(node.outputs, new)
    return dict(zip([node.outputs[k] for k in used], new, strict=True))


local_useless_composite.op_filter = _has_several


def used_once(x: Any) -> bool:
    """Whether nothing or one thing uses a variable of a graph.

    Parameters
    ----------
    x : TensorVariable
        A variable of a graph.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> x, y = T.dvectors("x", "y")
    >>> fgraph = FunctionGraph([x, y], [x + y, x * x], clone=False)
    >>> used_once(x), used_once(y)
    (False, True)
    """
    return len(getattr(x, "clients", (None, None))) <= 1


def is_dot_of_matrices(node: Any) -> bool:
    """Whether a node is the product of two matrices.

    Parameters
    ----------
    node : Apply
        Any node.

    Examples
    --------
    >>> x, y = T.dmatrix(), T.dvector()
    >>> is_dot_of_matrices(T.dot(x, x).owner), is_dot_of_matrices(T.dot(x, y).owner)
    (True, False)
    """
    return isinstance(node.op, T.Dot) and all(i.type.ndim == 2 for i in node.inputs)


def _lets_through(node: Any, order: tuple, dots: bool) -> bool:
    """Whether a DimShuffle of the result of `node` may as well be one of its inputs."""
    if isinstance(node.op, Elemwise):
        return len(node.outputs) == 1 and bool(node.inputs)
    return dots and order in ((0, 1), (1, 0)) and is_dot_of_matrices(node)


# Upwards only so far: looking for what is still to come down must not cost more than moving what is here.
LOOK_UP = 64


def _only_users(v: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the only node that uses `v`, and `v`; then so for the first result of that node, and on."""
    for _ in range(LOOK_UP):
        (client, _), *others = getattr(v, "clients", ()) or [("output", 0)]
        if others or client == "output":
            return
        yield client, v
        v = client.outputs[0]


def will_be_met(node: Any, dots: bool = False) -> bool:
    """Whether a DimShuffle above comes down to that of `node` anyway, so that the two are moved as one.

    Each DimShuffle of a chain on its own way down to the inputs would make the whole chain below anew.

    Parameters
    ----------
    node : Apply
        A DimShuffle.
    dots : bool, optional
        Whether transpositions move through products of matrices, too.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dmatrix("x")], [T.exp(x.T).T])
    >>> [will_be_met(node) for node in fgraph.toposort() if isinstance(node.op, DimShuffle)]
    [True, False]
    """
    for client, out in _only_users(node.outputs[0]):
        if isinstance(client.op, DimShuffle):
            order = tuple(client.op.new_order)
            if not is_dimshuffle_useless(order, out):
                return not dots or order == (1, 0)
        elif not _lets_through(client, (0, 1), dots):
            return False
    return False


def one_comes_down(out: Any, op_class: Any, unary: bool = False) -> bool:
    """Whether one more `op_class`, above elementwise operations on `out`, is still to be moved down to `out`.

    Then the one that made `out` waits for it: the two become one, and are moved further together.

    Parameters
    ----------
    out : TensorVariable
        A variable of a graph.
    op_class : type
        The class of what may lie above.
    unary : bool, optional
        Whether only operations of one input may lie in between.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> x, y = T.dmatrices("x", "y")
    >>> fgraph = FunctionGraph([x, y], [T.exp(x).T, y.T], clone=False)
    >>> one_comes_down(x, DimShuffle), one_comes_down(x, T.Dot)
    (True, False)
    """
    for client, v in _only_users(out):
        if isinstance(client.op, op_class):
            return client.inputs[0] is v
        if not isinstance(client.op, Elemwise) or len(client.outputs) != 1 or (unary and len(client.inputs) != 1):
            return False
        if client.outputs[0].type.broadcastable != v.type.broadcastable:
            return False
    return False


def dimshuffled(x: Any, order: tuple, dots: bool = False) -> Any:
    """Return ``x.dimshuffle(order)`` with all DimShuffles in it next to its inputs, several in a row made one.

    They are moved through elementwise operations, and with `dots` through products of matrices, that nothing else uses.

    Parameters
    ----------
    x : TensorVariable
        What is shuffled.
    order : tuple of int or 'x'
        As for ``dimshuffle``.
    dots : bool, optional
        See above.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dmatrix("x")], [y := T.exp(x.T)], clone=False)
    >>> dimshuffled(y, (1, 0)).owner.inputs
    [x]
    """
    # What is being made anew: its variable, the order that it is asked for in, and its inputs as far as they are done.
    frames: list[tuple[Any, tuple, list[Any]]] = []
    while True:
        movable = used_once(x)
        while x.owner is not None and isinstance(x.owner.op, DimShuffle):
            first = x.owner.op.new_order
            order = tuple("x" if o == "x" else first[o] for o in order)
            x = x.owner.inputs[0]
            movable = movable and used_once(x)
        if _keeps_type(order, x):
            order = tuple(range(x.type.ndim))
        if movable and x.owner is not None and _lets_through(x.owner, order, dots):
            frames.append((x, order, []))
        else:
            value = x if _keeps_type(order, x) else x.dimshuffle(*order)
            if value is not x:
                copy_stack_trace(x, value)
            while frames:
                frames[-1][2].append(value)
                out, order, done = frames[-1]
                if len(done) < len(out.owner.inputs):
                    break
                value = _anew(out, order, done)
                frames.pop()
            else:
                return value
        out, order, done = frames[-1]
        inputs = out.owner.inputs
        turned = order == (1, 0) and isinstance(out.owner.op, T.Dot)
        x = inputs[len(inputs) - 1 - len(done) if turned else len(done)]


def _keeps_type(order: tuple, x: Any) -> bool:
    return is_dimshuffle_useless(order, x) and x.type.broadcastable == tuple(o == "x" or x.type.broadcastable[o] for o in order)


def _anew(out: Any, order: tuple, inputs: list[Any]) -> Any:
    """`out`, in the order asked for, of other inputs."""
    node = out.owner
    unmoved = order == tuple(range(out.type.ndim))
    if unmoved and all(i is old for i, old in zip(inputs, node.inputs, strict=True)):
        return out
    value = node.op(*inputs)
    broadcastable = tuple(o == "x" or out.type.broadcastable[o] for o in order)
    if value.type.broadcastable != broadcastable or value.type.dtype != out.type.dtype:
        value = out if unmoved else out.dimshuffle(*order)
    copy_stack_trace(out, value)
    return value


@rewrites([DimShuffle], "canonicalize:fast_compile specialize")
def local_dimshuffle_lift(node: Any) -> Any:
    """``dimshuffle(f(x, y)) -> f(dimshuffle(x), dimshuffle(y))`` and ``dimshuffle(dimshuffle(x)) -> dimshuffle(x)``

    An elementwise `f` only if nothing else uses its result. A DimShuffle that does nothing is dropped. Of several one
    above the other the uppermost is moved, and takes the others with it.
    """
    x, order = node.inputs[0], tuple(node.op.new_order)
    inner = x.owner
    if is_dimshuffle_useless(order, x):
        return [x] if x.type == node.outputs[0].type else False
    if inner is None or not isinstance(inner.op, DimShuffle | Elemwise):
        return False
    if isinstance(inner.op, Elemwise) and not (used_once(x) and _lets_through(inner, order, False)):
        return False
    if will_be_met(node):
        return False
    new = dimshuffled(x, order)
    if new.type != node.outputs[0].type or (new.owner is not None and new.owner.inputs[0] is x):
        return False
    return exact_replacement(node, new)


def apply_local_dimshuffle_lift(var: Any) -> Any:
    """Return a variable as :func:`local_dimshuffle_lift` makes it, itself where nothing changes.

    Parameters
    ----------
    var : TensorVariable
        Any tensor.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dmatrix("x")], [y := x.T.T], clone=False)
    >>> apply_local_dimshuffle_lift(y)
    x
    """
    new: Any = local_dimshuffle_lift.transform(var.owner) if var.owner is not None else False
    return new[0] if new else var


_UNMOVED = applies(
    DimShuffle,
    "dimshuffle",
    lambda v: DimShuffle(v.broadcastable, range(v.ndim))(v),
    lambda op: _moves_nothing(op.new_order, op.input_broadcastable),
)
local_useless_dimshuffle = rewrite("local_useless_dimshuffle", "useless:fast_compile", rule(_UNMOVED(x), x, where=SAME_TYPE))


_COPIED = applies(
    DimShuffle,
    "dimshuffle",
    lambda v: DimShuffle(v.broadcastable, ("x", 0), inplace=False)(v),
    lambda op: not getattr(op, "inplace", True),
)
# A view never hurts before the in-place rewrites.
local_dimshuffle_no_inplace_at_canonicalize = rewrite(
    "local_dimshuffle_no_inplace_at_canonicalize",
    "canonicalize",
    rule(_COPIED(x), Made("a view", lambda out, x: DimShuffle(x.broadcastable, out.owner.op.new_order, inplace=True)(x))),
)


def _is_all_ones(c: Any, out: Any) -> bool:
    value, dtype = as_scalar_constant(c), out.type.dtype
    return bool(value) if dtype == "bool" else value.astype(dtype) == np.invert(np.zeros((), dtype=dtype))


#: As in the original, all that is in an array counts as equal to itself: ``eq(x, x)`` is true of NaN.
local_useless_elemwise = rewrite(
    "local_useless_elemwise",
    "useless:fast_compile specialize:fast_compile canonicalize:fast_compile",
    rule(P.eq(x, x), 1),
    rule(P.neq(x, x), 0),
    rule(P.add(x), x),
    rule(P.mul(x), x),
    rule(P.tensor_copy(x), x),
    rule(P.and_(0, x), 0),
    rule(P.and_(c, x), x, where=("all bits of `c` are set, `x` has the type of the result", lambda c, x, out:
                                 x.type == out.type and _is_all_ones(c, out))),
    rule(P.or_(0, x), x, where=SAME_TYPE),
    rule(P.or_(1, x), 1, where=("the result is a bool", lambda out: out.type.dtype == "bool")),
    rule(P.xor(x, x), 0)
)  # fmt: skip


def _is_cast(op: Any) -> bool:
    return isinstance(op.scalar_op, scal.Cast)


def _loses_nothing(out: Any, x: Any, y: Any) -> bool:
    """Whether to cast `x`, and the result to the dtype of `out`, is to cast `x` to that."""
    source, middle, final = x.type.dtype, y.type.dtype, out.type.dtype
    # Wrapping and truncation are the same from the wider type only among integers, or back where we came from.
    return is_an_upcast(source, middle) and (
        is_an_upcast(source, final) or source[0] == middle[0] or (middle[0] in "iu" and source[0] in "iub")
    )


_CAST = applies(Elemwise, "cast", lambda v: Elemwise(scal.Cast(scal.get_scalar_type(v.type.dtype)))(v), _is_cast)
_CAST_TO_INT8 = applies(Elemwise, "cast", T._convert_to_int8, _is_cast)
_CAST_TO_ITSELF = rule(_CAST(x), x, where=SAME_TYPE)
local_cast_cast = rewrite(
    "local_cast_cast",
    "specialize canonicalize",
    _CAST_TO_ITSELF,
    rule(
        _CAST_TO_INT8(called("y", _CAST(x))),
        Made("cast(x)", lambda out, x: T.cast(x, out.type.dtype)),
        where=("the first cast loses nothing", _loses_nothing),
    ),
)


local_useless_cast = rewrite("local_useless_cast", "canonicalize specialize", _CAST_TO_ITSELF)


_TO_ONE_DTYPE = (scal.upgrade_to_float, scal.upcast_out, scal.upcast_out_nobool)


def _upcast(i: Any, dtype: str) -> Any:
    value = None if i.type.dtype == dtype else as_scalar_constant(i)
    return i if value is None else T.constant(value.astype(dtype).reshape((1,) * i.type.ndim))


@rewrites([Elemwise], "canonicalize", among_inputs=[Constant])
def local_upcast_elemwise_constant_inputs(node: Any) -> Any:
    """``add(x_float32, 1_int8) -> add(x_float32, 1_float32)``: constants get the dtype of the result.

    So that constants of several dtypes merge and fold, and kernels need no casts.
    """
    dtype = node.outputs[0].type.dtype
    for i in node.inputs:
        if i.type.dtype != dtype:
            break
    else:
        return False
    # Only where all inputs are brought to one dtype anyhow. A term of a longer product or sum is about to go into that.
    if len(node.outputs) > 1 or len(node.inputs) < 2 or not _takes_one_dtype(node.op):
        return False
    if local_mul_canonizer.absorbed(node) or local_add_canonizer.absorbed(node):
        return False
    new_inputs = [_upcast(i, dtype) for i in node.inputs]
    return False if new_inputs == node.inputs else exact_replacement(node, node.op(*new_inputs))


def _takes_one_dtype(op: Any) -> bool:
    return getattr(op.scalar_op, "output_types_preference", None) in _TO_ONE_DTYPE


local_upcast_elemwise_constant_inputs.op_filter = _takes_one_dtype


local_useless_switch = rewrite(
    "local_useless_switch",
    "useless canonicalize:fast_compile:local_remove_switch_const_cond specialize",
    rule(P.switch(0, x, y), y),
    rule(P.switch(c, x, y), x, where=("`c` is not 0", lambda c: as_scalar_constant(c) != 0)),
    rule(P.switch(z, x, x), x),
    rule(P.switch(P.le(x, 0), 0, x), x, where=("`x` is a length", lambda x: isinstance(getattr(x.owner, "op", None), Shape_i))),
)


def _sunk(operation: Any, other: Any) -> list[rule]:
    """An operation on a switch with a zero, and on others, is one on its other branch."""
    as_switch = applies(same_dtype, "cast")(x, w)
    return [
        rule(operation(called("w", once(P.switch(z, 0, x))), other), P.switch(z, 0, operation(as_switch, other))),
        rule(operation(called("w", once(P.switch(z, x, 0))), other), P.switch(z, operation(as_switch, other), 0)),
    ]


# So that the NaN of a gradient in the branch that is not taken cannot reach the result.
local_mul_switch_sink = rewrite("local_mul_switch_sink", "specialize canonicalize", *_sunk(P.mul, rest))


local_div_switch_sink = rewrite("local_div_switch_sink", "canonicalize", *_sunk(P.true_div, y), *_sunk(P.int_div, y))


local_switch_of_switch = rewrite(
    "local_switch_of_switch",
    "canonicalize",
    rule(P.switch(z, P.switch(z, x, w), y), P.switch(z, x, y)),
    rule(P.switch(z, x, P.switch(z, w, y)), P.switch(z, x, y)),
)


def is_inverse_pair(node_op: Any, prev_op: Any, inv_pair: Any) -> bool:
    """Whether two consecutive Ops are the pair `inv_pair` in either order.

    Parameters
    ----------
    node_op, prev_op : Op or ScalarOp
        Elemwise Ops or scalar Ops.
    inv_pair : pair of class or Op
        Pair of scalar Op classes or of Ops.

    Examples
    --------
    >>> is_inverse_pair(T.exp, T.log, (scal.Log, scal.Exp)), is_inverse_pair(T.exp, T.exp, (scal.Log, scal.Exp))
    (True, False)
    """

    def matches(op: Any, wanted: Any) -> bool:
        op = getattr(op, "scalar_op", op)
        if isinstance(wanted, type):
            return isinstance(op, wanted)
        return op == getattr(wanted, "scalar_op", wanted)

    a, b = inv_pair
    return (matches(node_op, a) and matches(prev_op, b)) or (matches(node_op, b) and matches(prev_op, a))


_REAL = ("`x` is real", lambda x: x.type.dtype not in T.complex_dtypes)
# As in the original, cosh(arccosh(x)) is x also below 1, and tanh(arctanh(x)) beyond 1, where they would be NaN.
# arccosh(cosh(x)) is |x|: no rule. Of the complex values that a hyperbolic function maps to one, its inverse returns one.
local_func_inv = rewrite(
    "local_func_inv",
    "canonicalize specialize",
    rule(P.deg2rad(P.rad2deg(x)), x, "same", where=_REAL),
    rule(P.rad2deg(P.deg2rad(x)), x, "same", where=_REAL),
    rule(P.cosh(P.arccosh(x)), x, "same", where=_REAL),
    rule(P.tanh(P.arctanh(x)), x, "same", where=_REAL),
    rule(P.arctanh(P.tanh(x)), x, "same", where=_REAL),
    rule(P.sinh(P.arcsinh(x)), x, "same", where=_REAL),
    rule(P.arcsinh(P.sinh(x)), x, "same", where=_REAL),
    rule(P.neg(P.neg(x)), x, "same"),
    rule(P.inv(P.inv(x)), x, "same"),
)


local_exp_log = rewrite(
    "local_exp_log",
    "canonicalize specialize",
    rule(P.exp(P.log(x)), P.switch(P.ge(x, 0), x, np.nan), "floats"),
    rule(P.exp(P.log1p(x)), P.switch(P.ge(x, -1), P.add(1, x), np.nan), "floats"),
    rule(P.expm1(P.log1p(x)), P.switch(P.ge(x, -1), x, np.nan), "floats"),
)


local_log_exp = rewrite(
    "local_log_exp", "canonicalize specialize", rule(P.log(P.exp(x)), x, "same"), rule(P.log1p(P.expm1(x)), x, "same")
)


_NO_SWITCH = applies(Elemwise, "f", T.exp, lambda op: op.scalar_op != scal.switch)


@replaces(_NO_SWITCH(once(P.switch(z, x, y)), w, rest), "canonicalize")
def local_merge_switch_same_cond(out: Any, z: Any, w: Any, rest: tuple) -> Any:
    """``f(switch(c, a, b), switch(c, d, e)) -> switch(c, f(a, d), f(b, e))`` for a shared condition."""
    if any(not is_elemwise(i.owner, T.switch) or i.owner.inputs[0] is not z or len(i.clients) != 1 for i in (w, *rest)):
        return None
    branches = zip(*[[same_dtype(branch, i) for branch in i.owner.inputs[1:]] for i in out.owner.inputs])
    return T.switch(z, *[out.owner.op(*inputs) for inputs in branches])

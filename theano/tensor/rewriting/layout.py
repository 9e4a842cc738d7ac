"""Reshape, Rebroadcast, Join and Split: chains are shortened, what does nothing is dropped."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting.elemwise import _DIMSHUFFLE, one_comes_down
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import SAME_TYPE, Made, applies, called, once, rewrite, rule, x, y, z
from theano.tensor.rewriting.shape import same_dimension
from theano.tensor.rewriting.subtensor import indices_of
from theano.tensor.rewriting.terms import as_scalar_constant, exact_replacement, lengths_of
from theano.tensor.shapes import Rebroadcast, Shape, Shape_i
from theano.tensor.subtensor import Subtensor

_RESHAPE = applies(T.Reshape, "reshape", T.Reshape(2))
_REBROADCAST = applies(Rebroadcast, "Rebroadcast", Rebroadcast((0, False)))
_F = applies(Elemwise, "f", T.exp)

local_reshape_chain = rewrite(
    "local_reshape_chain",
    "specialize stabilize canonicalize",
    rule(
        _RESHAPE(_RESHAPE(x, y), z),
        Made("reshape(x, z)", lambda out, x, z: T.patternbroadcast(out.owner.op(x, z), out.type.broadcastable)),
    ),
)


def _shape_entries(shape: Any) -> list[Any] | None:
    """The dimensions that a shape vector is made of: ints and 0-d variables; None if it is not known."""
    if isinstance(shape, Constant):
        return [int(s) for s in shape.data]
    owner = shape.owner
    if owner is not None and isinstance(owner.op, T.MakeVector):
        return [int(i.data) if isinstance(i, Constant) else i for i in owner.inputs]
    return None


@rewrites([T.Reshape], "useless canonicalize stabilize")
def local_useless_reshape(node: Any) -> Any:
    """``reshape(x, x.shape) -> x``; one dimension may be -1."""
    x, shape = node.inputs
    out = node.outputs[0]
    if x.type != out.type:
        return False
    if x.type.ndim == 1 and out.type.ndim == 1:
        return [x]
    if all(x.type.broadcastable):
        return [x]
    entries = _shape_entries(shape)
    if entries is None:
        owner = shape.owner
        if owner is not None and isinstance(owner.op, Shape) and owner.inputs[0] is x:
            return [x]
        return False
    dims = lengths_of(node, x) or [None] * x.type.ndim
    unknown = 0
    for axis, (entry, dim, one) in enumerate(zip(entries, dims, x.type.broadcastable, strict=True)):
        if not isinstance(entry, int) and is_dimension_of(entry, x, axis):
            continue
        if isinstance(entry, int):
            if entry == -1:
                unknown += 1
            elif not (one and entry == 1) and not (isinstance(dim, Constant) and int(dim.data) == entry):
                return False
        elif dim is None or not same_dimension(entry, dim):
            return False
    return [x] if unknown <= 1 else False


def is_dimension_of(v: Any, x: Any, axis: int) -> bool:
    """Whether a 0-d variable is written as ``x.shape[axis]``.

    Parameters
    ----------
    v : TensorVariable
        0-d.
    x : TensorVariable
        Any tensor.
    axis : int
        The dimension.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> is_dimension_of(x.shape[0], x, 0), is_dimension_of(x.shape[0], x, 1)
    (True, False)
    """
    node = v.owner
    if node is None:
        return False
    if isinstance(node.op, Shape_i):
        return node.op.i == axis and node.inputs[0] is x
    if not isinstance(node.op, Subtensor):
        return False
    shape = node.inputs[0].owner
    return shape is not None and isinstance(shape.op, Shape) and shape.inputs[0] is x and indices_of(node) == [axis]


@rewrites([T.Reshape], "canonicalize")
def local_reshape_to_dimshuffle(node: Any) -> Any:
    """``reshape(x, (1, n)) -> dimshuffle(reshape(x, (n,)))`` for the dimensions that are the constant 1."""
    x, shape = node.inputs
    entries = _shape_entries(shape)
    out = node.outputs[0]
    if entries is None or not any(isinstance(e, int) and e == 1 for e in entries):
        return False
    order: list[Any] = []
    rest: list[Any] = []
    for e in entries:
        if isinstance(e, int) and e == 1:
            order.append("x")
        else:
            order.append(len(rest))
            rest.append(e)
    if len(rest) == x.type.ndim == 0 or (len(rest) == x.type.ndim and x.type.ndim == out.type.ndim):
        return False
    inner = T.reshape(x, rest, ndim=len(rest)) if rest else T.reshape(x, T.constant([], dtype="int64"), ndim=0)
    copy_stack_trace(out, inner)
    return exact_replacement(node, inner.dimshuffle(*order))


def _keeps_order(y: Any) -> bool:
    """Whether a DimShuffle moves dimensions of length 1 only, which come or go."""
    kept = [o for o, one in zip(y.owner.op.new_order, y.type.broadcastable, strict=True) if not one]
    return kept == sorted(kept)


_RESHAPE_OF_DIMSHUFFLE = rule(
    _RESHAPE(called("y", _DIMSHUFFLE(x)), z),
    Made("reshape(x, z)", lambda out, x, z: out.owner.op(x, z)),
    where=("only dimensions of length 1 move, come or go", _keeps_order),
)
local_useless_dimshuffle_in_reshape = rewrite("local_useless_dimshuffle_in_reshape", "canonicalize", _RESHAPE_OF_DIMSHUFFLE)


def _behind(out: Any, x: Any, y: Any) -> Any:
    """``g(f(x)) -> f(g(x))`` for the elementwise `f` that made `y`, and the Op and further inputs that made `out`."""
    inner = out.owner.op(x, *out.owner.inputs[1:])
    copy_stack_trace(out, inner)
    return copy_stack_trace(y, y.owner.op(inner))


local_reshape_lift = rewrite(
    "local_reshape_lift",
    "canonicalize stabilize",
    rule(
        _RESHAPE(called("y", once(_F(x))), z),
        Made("f(reshape(x, z))", _behind),
        where=("no other Reshape comes down", lambda out: not one_comes_down(out, T.Reshape, unary=True)),
    ),
)


local_useless_rebroadcast = rewrite(
    "local_useless_rebroadcast", "useless canonicalize specialize", rule(_REBROADCAST(x), x, where=SAME_TYPE)
)


def _rebroadcast_once(out: Any, x: Any, y: Any) -> Any:
    return Rebroadcast(*sorted({**y.owner.op.axis, **out.owner.op.axis}.items()))(x)


local_rebroadcast_lift = rewrite(
    "local_rebroadcast_lift",
    "canonicalize specialize",
    rule(_REBROADCAST(called("y", once(_F(x)))), Made("f(Rebroadcast(x))", _behind)),
    rule(_REBROADCAST(called("y", _REBROADCAST(x))), Made("Rebroadcast(x)", _rebroadcast_once)),
)


def apply_rebroadcast_opt(rval: Any) -> Any:
    """Return `rval` after `local_useless_rebroadcast` and `local_rebroadcast_lift`, as often as they change it.

    Parameters
    ----------
    rval : Variable
        The end of the graph.

    Examples
    --------
    >>> apply_rebroadcast_opt(Rebroadcast((0, True))(T.drow("x")))
    x
    """
    changed = True
    while changed and rval.owner is not None:
        changed = False
        for opt in (local_useless_rebroadcast, local_rebroadcast_lift):
            if rval.owner is None or not isinstance(rval.owner.op, Rebroadcast):
                break
            new = opt.transform(rval.owner)
            if new:
                (rval,) = new
                changed = True
    return rval


local_join_1 = rewrite(
    "local_join_1",
    "specialize canonicalize:fast_compile useless",
    rule(applies(T.Join, "join", T.Join())(y, x), x, where=SAME_TYPE),
)


@rewrites([T.Join], "useless specialize canonicalize")
def local_join_empty(node: Any) -> Any:
    """``join(axis, x, empty, y) -> join(axis, x, y)`` for constants without elements"""
    axis = as_scalar_constant(node.inputs[0])
    if axis is None:
        return False
    parts = node.inputs[1:]
    kept = []
    for part in parts:
        if isinstance(part, Constant) and part.data.shape[int(axis)] == 0:
            continue
        kept.append(part)
    if len(kept) == len(parts) or not kept:
        return False
    new = T.cast(T.join(node.inputs[0], *kept), node.outputs[0].type.dtype)
    return exact_replacement(node, new, rebroadcast=True)


@rewrites([T.Join], "specialize canonicalize useless")
def local_join_make_vector(node: Any) -> Any:
    """``join(0, MakeVector(a), MakeVector(b, c)) -> MakeVector(a, b, c)`` for neighbours of one dtype"""
    axis = as_scalar_constant(node.inputs[0])
    out = node.outputs[0]
    if axis is None or axis != 0 or out.type.ndim != 1:
        return False
    parts = [node.inputs[1]]
    for part in node.inputs[2:]:
        last = parts[-1]
        if (
            last.owner is not None
            and part.owner is not None
            and isinstance(last.owner.op, T.MakeVector)
            and last.owner.op == part.owner.op
        ):
            merged = last.owner.op(*last.owner.inputs, *part.owner.inputs)
            copy_stack_trace(out, merged)
            parts[-1] = merged
        else:
            parts.append(part)
    if len(parts) == len(node.inputs) - 1:
        return False
    return exact_replacement(node, T.join(node.inputs[0], *parts) if len(parts) > 1 else parts[0])


def _only_part(x: Any, y: Any, z: Any) -> Any:
    # The error that a wrong length, or another number of parts, would raise.
    return Assert("local_useless_split: the size of the only part is not that of the whole")(
        x, T.eq(z.shape[0], 1), T.eq(x.shape[int(as_scalar_constant(y))], z[0])
    )


_SPLIT = applies(T.Split, "split", lambda *v: T.Split(1)(*v, return_list=True)[0], lambda op: op.len_splits == 1)
local_useless_split = rewrite(
    "local_useless_split",
    "useless canonicalize",
    rule(
        _SPLIT(x, y, z),
        Made("assert(x, its length is z)", _only_part),
        where=("there is one part", lambda out, x, y: x.type == out.type and as_scalar_constant(y) is not None),
    ),
)


local_flatten_lift = rewrite(
    "local_flatten_lift",
    "canonicalize",
    rule(applies(T.Flatten, "flatten", T.Flatten(1))(called("y", _F(x))), Made("f(flatten(x))", _behind)),
)

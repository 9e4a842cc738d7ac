"""`fill` and `alloc`: move them towards the outputs and drop them where the shape is known otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano.configdefaults import config
from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, in2out
from theano.gof.rewriting.rules import Rule
from theano.gof.rewriting.stages import optdb
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import Made, P, Rest, applies, called, replaces, rest, rewrite, rule, x, y
from theano.tensor.rewriting.terms import (
    as_scalar_constant,
    broadcast_like,
    exact_replacement,
    fill_chain,
    lengths_of,
    same_dimension,
    same_dtype,
)

fill = T.fill
_EARLY = "useless:fast_compile canonicalize:fast_compile"
_ALLOC = applies(T.Alloc, "alloc", T.alloc)


local_useless_fill = rewrite(
    "local_useless_fill",
    _EARLY,
    rule(
        P.fill(x, y), y, where=("`y` has the shape of the result", lambda y, out: y.type.broadcastable == out.type.broadcastable)
    ),
)


def _repeated(out: Any, x: Any, y: Any) -> Any:
    if y.type.broadcastable == out.type.broadcastable:
        return y
    fgraph = getattr(out.owner, "fgraph", None)
    like = x if x.type.broadcastable == out.type.broadcastable else out
    return None if fgraph is None else broadcast_like(y, like, fgraph, dtype=out.type.dtype)


local_fill_to_alloc = rewrite(
    "local_fill_to_alloc",
    "specialize:local_fill_to_alloc stabilize:local_fill_to_alloc canonicalize:local_fill_to_alloc",
    rule(P.fill(x, y), Made("alloc(y, the shape of x), or y if it has that shape", _repeated)),
)


def _without_fills(node: Any) -> tuple[list[Any], Any]:
    """What fills of a node take their shapes of, and the node's result without them; nothing and None for a fill."""
    if node.op == fill or len(node.outputs) != 1:
        return [], None
    fills = [i for i in node.inputs if i.owner is not None and i.owner.op == fill]
    inputs = [same_dtype(i.owner.inputs[1], i) if i in fills else i for i in node.inputs] if fills else []
    return [i.owner.inputs[0] for i in fills], node.op(*inputs) if fills else None


@rewrites([Elemwise], "canonicalize", among_inputs=[fill])
def local_fill_sink(node: Any) -> Any:
    """``f(fill(a, b), fill(c, d), e) -> fill(c, fill(a, f(b, d, e)))``

    If `f` needs to be recomputed less often that way. The fills that say nothing about the shape are dropped.
    """
    models, new = _without_fills(node)
    return exact_replacement(node, fill_chain(new, models)[0]) if models else False


@rewrites([Elemwise], "canonicalize", among_inputs=[fill])
def local_fill_cut(node: Any) -> Any:
    """``f(fill(a, b), c) -> f(b, c)`` if `c` has the shape of the result."""
    full = [i for i in node.inputs if i.type.broadcastable == node.outputs[0].type.broadcastable]
    if all(i.owner is not None and i.owner.op == fill for i in full):
        return False
    models, new = _without_fills(node)
    return exact_replacement(node, new) if models else False


@replaces(_ALLOC(x, rest), "specialize stabilize canonicalize useless")
def local_useless_alloc(out: Any, x: Any, rest: tuple) -> Any:
    """``alloc(x, shape) -> x`` if `x` has the type of the result and its shape.

    Where the shapes could differ the alloc stays: it raises the error.
    """
    are_ones = x.type.broadcastable
    known = None if x.type != out.type else rest if all(are_ones) else lengths_of(out.owner, x)
    if known is None:
        return None
    return x if all(one or same_dimension(a, b) for a, b, one in zip(known, rest, are_ones, strict=True)) else None


@replaces(_ALLOC(called("y", _ALLOC(x, Rest("dims"))), rest), "specialize canonicalize")
def local_merge_alloc(out: Any, x: Any, y: Any, dims: tuple, rest: tuple) -> Any:
    """``alloc(alloc(x, s), t) -> alloc(x, t)``

    Where a length of `s` is not known to be that of `t`, an Assert says so when it is neither that nor 1.
    """
    outer = list(rest)
    for k, (length, one) in enumerate(zip(dims, y.type.broadcastable, strict=True), len(rest) - len(dims)):
        if not one and not same_dimension(length, outer[k]):
            fits = T.or_(T.eq(length, outer[k]), T.eq(length, 1))
            outer[k] = Assert("The length of a repeated array is not that of what it is repeated to")(outer[k], fits)
    # Not by a call, which drops an alloc that seems to add nothing.
    return out.owner.op.make_node(x, *outer).outputs[0]


@replaces(_ALLOC(x, rest), "stabilize canonicalize")
def local_canonicalize_alloc(out: Any, x: Any, rest: tuple) -> Any:
    """``alloc(x, 1, n, m) -> dimshuffle{x,0,1}(alloc(x, n, m))`` for dimensions of 1 that are added on the left"""
    added = 0
    while added < len(rest) - x.type.ndim and as_scalar_constant(rest[added]) == 1:
        added += 1
    # An alloc of this one is merged first.
    if not added or any(getattr(client, "op", None) == out.owner.op for client, _ in getattr(out, "clients", ())):
        return None
    is_inner = out.type.broadcastable[added:] == x.type.broadcastable and all(x.type.broadcastable)
    inner = x if is_inner else out.owner.op.make_node(x, *rest[added:]).outputs[0]
    return inner.dimshuffle(*["x"] * added, *range(inner.type.ndim))


def _alloc_value(i: Any, AllocOP: Any, DimShuffleOP: Any) -> Any:
    """The value that `i` is a (perhaps dimshuffled) alloc of, with the dimensions of `i`; None if it is not one."""
    shuffle = i.owner if i.owner is not None and isinstance(i.owner.op, DimShuffleOP) else None
    alloc = i if shuffle is None else shuffle.inputs[0]
    if alloc.owner is None or not isinstance(alloc.owner.op, AllocOP):
        return None
    value = alloc.owner.inputs[0]
    # A dimension that the value has already stays; the ones that alloc made become broadcastable.
    if value.type.ndim < alloc.type.ndim:
        value = value.dimshuffle(*["x"] * (alloc.type.ndim - value.type.ndim), *range(value.type.ndim))
    if shuffle is None:
        return value
    order = shuffle.op.new_order
    return value.dimshuffle(*order) if all(one or d in order for d, one in enumerate(value.type.broadcastable)) else None


def _unrepeated(i: Any, value: Any) -> Any:
    """The `value` that `i` is an alloc of; `i` if that may only check the shape: local_useless_alloc decides about that."""
    # The alloc may say that a length is 1, which the type of its value does not.
    value = T.addbroadcast(value, *[d for d, (a, b) in enumerate(zip(i.broadcastable, value.broadcastable)) if a and not b])
    return i if value.type.broadcastable == i.type.broadcastable else value


def local_elemwise_alloc_op(ElemwiseOP: Any, AllocOP: Any, DimShuffleOP: Any) -> Callable[[Any], Any]:
    """Return the rewrite :func:`local_elemwise_alloc`, as a function, for three classes of Ops.

    Parameters
    ----------
    ElemwiseOP, AllocOP, DimShuffleOP : type
        The classes of elementwise Ops, of Allocs and of DimShuffles.

    Examples
    --------
    >>> rewrite = local_elemwise_alloc_op(Elemwise, T.Alloc, DimShuffle)
    >>> rewrite(T.add(T.dvector("x"), T.alloc(T.dscalar("y"), 3)).owner)[0].owner.inputs
    [x, InplaceDimShuffle{x}.0]
    """

    def local_elemwise_alloc(node: Any) -> Any:
        """``f(x, alloc(y, shape)) -> f(x, y)`` if another input has the shape of the result.

        With `config.experimental.local_alloc_elemwise_assert` an Assert that the shapes are equal replaces the error that
        the broadcast would have raised.
        """
        inputs, pattern = node.inputs, node.outputs[0].type.broadcastable
        if not isinstance(node.op, ElemwiseOP) or len(node.outputs) != 1 or len(inputs) < 2:
            return False
        values = [_alloc_value(i, AllocOP, DimShuffleOP) for i in inputs]
        of_full_shape = [k for k, i in enumerate(inputs) if i.type.broadcastable == pattern]
        references = [k for k in of_full_shape if values[k] is None]
        # Where all inputs of full shape are allocs, one of them must say how large the result is.
        if not references and len(values) - values.count(None) > 1:
            references = of_full_shape
        if not references or values.count(None) == len(values):
            return False
        keep = references[0]
        new_inputs = [i if k == keep or v is None else _unrepeated(i, v) for k, (i, v) in enumerate(zip(inputs, values))]
        if new_inputs == inputs:
            return False
        if config.experimental.local_alloc_elemwise_assert:
            new_inputs[keep] = _assert_shapes(node, inputs[keep], inputs, new_inputs)
        return exact_replacement(node, node.op(*new_inputs))

    return local_elemwise_alloc


local_elemwise_alloc = rewrites(
    [Elemwise], "canonicalize:local_alloc_elemwise specialize:local_alloc_elemwise", among_inputs=[T.Alloc]
)(local_elemwise_alloc_op(Elemwise, T.Alloc, DimShuffle))


def _assert_shapes(node: Any, reference: Any, inputs: list[Any], new_inputs: list[Any]) -> Any:
    """`reference`, asserted to have the shapes of the allocs that are dropped, where that is not known already."""
    shape = lengths_of(node, reference)
    if shape is None:
        return reference
    conditions = [
        T.eq(a, b)
        for i in (i for i, new in zip(inputs, new_inputs, strict=True) if i is not new)
        for a, b, one in zip(lengths_of(node, i), shape, i.type.broadcastable, strict=True)
        if not one and not same_dimension(a, b) and not (isinstance(a, Constant) and isinstance(b, Constant))
    ]
    message = "local_elemwise_alloc: the shapes of the inputs of an elementwise operation differ"
    return Assert(message)(reference, *conditions) if conditions else reference


local_alloc_unary = rewrite(
    "local_alloc_unary",
    "canonicalize specialize",
    rule(
        applies(Elemwise, "f", T.exp)(called("y", _ALLOC(x, rest))),
        Made("alloc(f(x), ...)", lambda out, x, rest: T.alloc(copy_stack_trace(out, out.owner.op(x)), *rest)),
        where=("`x` has another type than the alloc", lambda x, y: x.type != y.type),
    ),
)


# To find out where NaN come from; on demand only: include 'alloc_empty_to_zeros'.
local_alloc_empty_to_zeros = rewrite(
    "local_alloc_empty_to_zeros",
    "",
    rule(
        applies(T.AllocEmpty, "empty", T.AllocEmpty("float64"))(rest),
        Made("zeros(...)", lambda out, rest: T.zeros(rest, dtype=out.type.dtype)),
    ),
)


# Where BLAS has its memory already, and before anything works in place.
optdb.register("local_alloc_empty_to_zeros", in2out(local_alloc_empty_to_zeros), 49.3, "alloc_empty_to_zeros")


_TO_TENSOR, _TO_SCALAR = applies(T.tensor_from_scalar, "tensor_from_scalar"), applies(T.scalar_from_tensor, "scalar_from_tensor")
local_tensor_scalar_tensor = rewrite("local_tensor_scalar_tensor", _EARLY, Rule(_TO_TENSOR(_TO_SCALAR(x)), x))


local_scalar_tensor_scalar = rewrite("local_scalar_tensor_scalar", _EARLY, Rule(_TO_SCALAR(_TO_TENSOR(x)), x))

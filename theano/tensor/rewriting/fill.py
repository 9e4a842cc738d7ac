"""`fill` and `alloc`: move them towards the outputs and drop them where the shape is known otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano.configdefaults import config
from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, in2out, local_optimizer
from theano.gof.rewriting.rules import Rule
from theano.gof.rewriting.stages import optdb
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize, register_stabilize, rewrites
from theano.tensor.rewriting.rules import Made, P, applies, called, rest, rewrite, rule, x, y
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
    [stage("local_fill_to_alloc") for stage in (register_specialize, register_stabilize, register_canonicalize)],
    rule(P.fill(x, y), Made("alloc(y, the shape of x), or y if it has that shape", _repeated)),
)


def _without_fills(node: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The inputs of a node with the values of fills in their place, what these fills take their shapes of, the other inputs."""
    inputs, models, others = [], [], []
    for i in node.inputs:
        if i.owner is not None and i.owner.op == fill:
            models.append(i.owner.inputs[0])
            inputs.append(same_dtype(i.owner.inputs[1], i))
        else:
            inputs.append(i)
            others.append(i)
    return inputs, models, others


@rewrites([Elemwise], "canonicalize", among_inputs=[fill])
def local_fill_sink(node: Any) -> Any:
    """``f(fill(a, b), fill(c, d), e) -> fill(c, fill(a, f(b, d, e)))``

    If `f` needs to be recomputed less often that way. The fills that say nothing about the shape are dropped.
    """
    op = node.op
    if op == fill or len(node.outputs) != 1:
        return False
    inputs, models, _ = _without_fills(node)
    if not models:
        return False
    out = node.outputs[0]
    new = op(*inputs)
    copy_stack_trace(out, new)
    if new.type != out.type:
        new = fill_chain(new, models)[0]
        if new.type != out.type:
            return False
        copy_stack_trace(out, new)
    return [new]


@rewrites([Elemwise], "canonicalize", among_inputs=[fill])
def local_fill_cut(node: Any) -> Any:
    """``f(fill(a, b), c) -> f(b, c)`` if `c` has the shape of the result."""
    op = node.op
    if op == fill or len(node.outputs) != 1:
        return False
    inputs, models, others = _without_fills(node)
    pattern = node.outputs[0].type.broadcastable
    if not models or not any(i.type.broadcastable == pattern for i in others):
        return False
    return exact_replacement(node, op(*inputs))


@rewrites([T.Alloc], "specialize stabilize canonicalize useless")
def local_useless_alloc(node: Any) -> Any:
    """``alloc(x, shape) -> x`` if `x` has the type of the result and its shape.

    Where the shapes could differ the alloc stays: it raises the error.
    """
    x, out = node.inputs[0], node.outputs[0]
    if x.type != out.type:
        return False
    if x.type.ndim == 0 or all(x.type.broadcastable):
        return [x]
    known = lengths_of(node, x)
    if known is None or not all(
        one or same_dimension(a, b) for a, b, one in zip(known, node.inputs[1:], x.type.broadcastable, strict=True)
    ):
        return False
    return [x]


@rewrites([T.Alloc], "specialize canonicalize")
def local_merge_alloc(node: Any) -> Any:
    """``alloc(alloc(x, s), t) -> alloc(x, t)``

    Where a length of `s` is not known to be that of `t`, an Assert says so when it is neither that nor 1.
    """
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, T.Alloc):
        return False
    inner_out, outer = inner.outputs[0], list(node.inputs[1:])
    skip = len(outer) - inner_out.ndim
    for k, dimension in enumerate(inner.inputs[1:], skip):
        if not inner_out.broadcastable[k - skip] and not same_dimension(dimension, outer[k]):
            fits = T.or_(T.eq(dimension, outer[k]), T.eq(dimension, 1))
            outer[k] = Assert("The length of a repeated array is not that of what it is repeated to")(outer[k], fits)
    # Not by a call, which drops an alloc that seems to add nothing.
    return exact_replacement(node, node.op.make_node(inner.inputs[0], *outer).outputs[0])


@rewrites([T.Alloc], "stabilize canonicalize")
def local_canonicalize_alloc(node: Any) -> Any:
    """``alloc(x, 1, n, m) -> dimshuffle{x,0,1}(alloc(x, n, m))`` for dimensions of 1 that are added on the left"""
    x, shape, out = node.inputs[0], node.inputs[1:], node.outputs[0]
    added = 0
    while added < len(shape) - x.type.ndim and as_scalar_constant(shape[added]) == 1:
        added += 1
    # An alloc of this one is merged first.
    if not added or any(getattr(client, "op", None) == node.op for client, _ in getattr(out, "clients", ())):
        return False
    if out.type.broadcastable[added:] == x.type.broadcastable and all(x.type.broadcastable):
        inner = x
    else:
        inner = node.op.make_node(x, *shape[added:]).outputs[0]
        copy_stack_trace(out, inner)
    return exact_replacement(node, inner.dimshuffle(*["x"] * added, *range(inner.type.ndim)))


def _alloc_value(i: Any, AllocOP: Any, DimShuffleOP: Any) -> Any:
    """The value that `i` is a (perhaps dimshuffled) alloc of, with the dimensions of `i`; None if it is not one."""
    owner = i.owner
    if owner is None:
        return None
    if isinstance(owner.op, AllocOP):
        value = owner.inputs[0]
        # A dimension that the value has already stays; the ones that alloc made become broadcastable.
        if value.type.ndim < i.type.ndim:
            value = value.dimshuffle(*["x"] * (i.type.ndim - value.type.ndim), *range(value.type.ndim))
        return value
    if isinstance(owner.op, DimShuffleOP):
        inner = owner.inputs[0].owner
        if inner is not None and isinstance(inner.op, AllocOP):
            value = _alloc_value(owner.inputs[0], AllocOP, DimShuffleOP)
            order = owner.op.new_order
            dropped = set(range(value.type.ndim)) - {o for o in order if o != "x"}
            if all(value.type.broadcastable[d] for d in dropped):
                return value.dimshuffle(*order)
    return None


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
        if not isinstance(node.op, ElemwiseOP):
            return False
        inputs = node.inputs
        if len(node.outputs) != 1 or len(inputs) < 2:
            return False
        out = node.outputs[0]
        pattern = out.type.broadcastable
        values = [_alloc_value(i, AllocOP, DimShuffleOP) for i in inputs]
        if all(v is None for v in values):
            return False
        of_full_shape = [k for k, i in enumerate(inputs) if i.type.broadcastable == pattern]
        references = [k for k in of_full_shape if values[k] is None]
        if references:
            keep = references[0]
        else:
            # All inputs of full shape are allocs: one of them must say how large the result is.
            if not of_full_shape:
                return False
            keep = of_full_shape[0]
            if sum(v is not None for v in values) < 2:
                return False
        reference = inputs[keep]
        new_inputs: list[Any] = []
        changed = False
        for k, (i, value) in enumerate(zip(inputs, values, strict=True)):
            if k == keep or value is None:
                new_inputs.append(i)
                continue
            lost = [d for d, (a, b) in enumerate(zip(i.type.broadcastable, value.type.broadcastable)) if a and not b]
            if lost:
                # The alloc says that the length is 1, which the type of its value does not.
                value = T.addbroadcast(value, *lost)
            if value.type.broadcastable == i.type.broadcastable:
                # The alloc may only check the shape; local_useless_alloc decides about that.
                new_inputs.append(i)
                continue
            new_inputs.append(value)
            changed = True
        if not changed:
            return False
        if config.experimental.local_alloc_elemwise_assert:
            checked = _assert_shapes(node, reference, inputs, new_inputs)
            new_inputs[keep] = checked
        return exact_replacement(node, node.op(*new_inputs))

    return local_elemwise_alloc


local_elemwise_alloc = local_optimizer([Elemwise], among_inputs=[T.Alloc])(local_elemwise_alloc_op(Elemwise, T.Alloc, DimShuffle))
register_canonicalize(local_elemwise_alloc, "local_alloc_elemwise")
register_specialize(local_elemwise_alloc, "local_alloc_elemwise")


def _assert_shapes(node: Any, reference: Any, inputs: list[Any], new_inputs: list[Any]) -> Any:
    """`reference`, asserted to have the shapes of the allocs that are dropped, where that is not known already."""
    shape = lengths_of(node, reference)
    if shape is None:
        return reference
    conditions = []
    for i, new in zip(inputs, new_inputs, strict=True):
        if i is new:
            continue
        for dim, (a, b) in enumerate(zip(lengths_of(node, i), shape, strict=True)):
            if i.type.broadcastable[dim] or same_dimension(a, b):
                continue
            if isinstance(a, Constant) and isinstance(b, Constant):
                continue
            conditions.append(T.eq(a, b))
    if not conditions:
        return reference
    message = "local_elemwise_alloc: the shapes of the inputs of an elementwise operation differ"
    return Assert(message)(reference, *conditions)


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
    [],
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

"""Reshape, Rebroadcast, Join and Split: chains are shortened, what does nothing is dropped."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.elemwise import one_comes_down
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize, register_stabilize, register_useless
from theano.tensor.rewriting.shape import same_dimension
from theano.tensor.rewriting.subtensor import indices_of
from theano.tensor.rewriting.terms import as_scalar_constant, exact_replacement
from theano.tensor.shapes import Rebroadcast, Shape, Shape_i
from theano.tensor.subtensor import Subtensor


@register_specialize
@register_stabilize
@register_canonicalize
@local_optimizer([T.Reshape])
def local_reshape_chain(node: Any) -> Any:
    """``reshape(reshape(x, a), b) -> reshape(x, b)``"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, T.Reshape):
        return False
    return exact_replacement(node, node.op(inner.inputs[0], node.inputs[1]), rebroadcast=True)


def _shape_entries(shape: Any) -> list[Any] | None:
    """The dimensions that a shape vector is made of: ints and 0-d variables; None if it is not known."""
    if isinstance(shape, Constant):
        return [int(s) for s in shape.data]
    owner = shape.owner
    if owner is not None and isinstance(owner.op, T.MakeVector):
        return [int(i.data) if isinstance(i, Constant) else i for i in owner.inputs]
    return None


@register_useless
@register_canonicalize
@register_stabilize
@local_optimizer([T.Reshape])
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
    feature = getattr(getattr(node, "fgraph", None), "shape_feature", None)
    if entries is None:
        owner = shape.owner
        if owner is not None and isinstance(owner.op, Shape) and owner.inputs[0] is x:
            return [x]
        return False
    dims = [None] * x.type.ndim if feature is None else feature.shape(x)
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
    """Whether a 0-d variable is written as ``x.shape[axis]``."""
    node = v.owner
    if node is None:
        return False
    if isinstance(node.op, Shape_i):
        return node.op.i == axis and node.inputs[0] is x
    if not isinstance(node.op, Subtensor):
        return False
    shape = node.inputs[0].owner
    return shape is not None and isinstance(shape.op, Shape) and shape.inputs[0] is x and indices_of(node) == [axis]


@register_canonicalize
@local_optimizer([T.Reshape])
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


@register_canonicalize
@local_optimizer([T.Reshape])
def local_useless_dimshuffle_in_reshape(node: Any) -> Any:
    """``reshape(dimshuffle(x), shape) -> reshape(x, shape)`` where only dimensions of length 1 move, come or go"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return False
    kept = [o for o, one in zip(inner.op.new_order, node.inputs[0].type.broadcastable, strict=True) if not one]
    if kept != sorted(kept):
        return False
    return exact_replacement(node, node.op(inner.inputs[0], node.inputs[1]))


@register_canonicalize
@register_stabilize
@local_optimizer([T.Reshape])
def local_reshape_lift(node: Any) -> Any:
    """``reshape(f(x), s) -> f(reshape(x, s))`` for an elementwise function of one input whose result nothing else uses"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Elemwise) or len(inner.inputs) != 1 or len(node.inputs[0].clients) > 1:
        return False
    if one_comes_down(node.outputs[0], T.Reshape, unary=True):
        return False
    r = node.op(inner.inputs[0], node.inputs[1])
    copy_stack_trace(node.outputs, r)
    e = inner.op(r)
    return exact_replacement(node, e, node.inputs[0])


@register_useless
@register_canonicalize
@register_specialize
@local_optimizer([Rebroadcast])
def local_useless_rebroadcast(node: Any) -> Any:
    """``Rebroadcast(x) -> x`` where it changes nothing"""
    x = node.inputs[0]
    return [x] if x.type == node.outputs[0].type else False


@register_canonicalize
@register_specialize
@local_optimizer([Rebroadcast])
def local_rebroadcast_lift(node: Any) -> Any:
    """``Rebroadcast(f(x)) -> f(Rebroadcast(x))`` for an elementwise `f` of one input, and
    ``Rebroadcast(Rebroadcast(x)) -> Rebroadcast(x)``
    """
    inner = node.inputs[0].owner
    if inner is None:
        return False
    out = node.outputs[0]
    if (
        isinstance(inner.op, Elemwise)
        and len(inner.inputs) == 1
        and len(node.inputs[0].clients if hasattr(node.inputs[0], "clients") else ()) <= 1
    ):
        lifted = node.op(inner.inputs[0])
        copy_stack_trace(out, lifted)
        return exact_replacement(node, inner.op(lifted), node.inputs[0])
    if isinstance(inner.op, Rebroadcast):
        axes = dict(inner.op.axis)
        axes.update(node.op.axis)
        return exact_replacement(node, Rebroadcast(*sorted(axes.items()))(inner.inputs[0]))
    return False


def apply_rebroadcast_opt(rval: Any) -> Any:
    """Apply `local_useless_rebroadcast` and `local_rebroadcast_lift` to `rval` as often as they change it.

    Parameters
    ----------
    rval : Variable

    Returns
    -------
    Variable
        `rval` if nothing applies.
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


@register_specialize
@register_canonicalize("fast_compile")
@register_useless
@local_optimizer([T.Join])
def local_join_1(node: Any) -> Any:
    """``join(axis, x) -> x``"""
    if len(node.inputs) != 2:
        return False
    x = node.inputs[1]
    return [x] if x.type == node.outputs[0].type else False


@register_useless
@register_specialize
@register_canonicalize
@local_optimizer([T.Join])
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


@register_specialize
@register_canonicalize
@register_useless
@local_optimizer([T.Join])
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


@register_useless
@register_canonicalize
@local_optimizer([T.Split])
def local_useless_split(node: Any) -> Any:
    """``split(x, axis, [n], 1) -> x``

    The error that a wrong `n`, or another number of parts, would raise is kept as an Assert.
    """
    if node.op.len_splits != 1:
        return False
    x, axis, splits = node.inputs
    out = node.outputs[0]
    axis_value = as_scalar_constant(axis)
    if axis_value is None or x.type != out.type:
        return False
    new = Assert("local_useless_split: the size of the only part is not that of the whole")(
        x, T.eq(splits.shape[0], 1), T.eq(x.shape[int(axis_value)], splits[0])
    )
    return exact_replacement(node, new)


@register_canonicalize
@local_optimizer([T.Flatten] if hasattr(T, "Flatten") else [T.Reshape])
def local_flatten_lift(node: Any) -> Any:
    """``flatten(f(x)) -> f(flatten(x))`` for an elementwise function of one input"""
    inner = node.inputs[0].owner
    if isinstance(node.op, T.Reshape) or inner is None or not isinstance(inner.op, Elemwise) or len(inner.inputs) != 1:
        return False
    flat = node.op(inner.inputs[0])
    copy_stack_trace(node.outputs, flat)
    new = inner.op(flat)
    return exact_replacement(node, new, *node.inputs)

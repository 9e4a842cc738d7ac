"""Indexing moves towards the inputs: through transpositions, reductions and joins, so that less is computed."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.tensor import basic as T
from theano.tensor.elemwise import All, CAReduce, DimShuffle, Prod, Sum
from theano.tensor.elemwise import Any as Any_
from theano.tensor.rewriting.reduction import _axes, _with_axis
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize
from theano.tensor.rewriting.subtensor import _all_entries, _taken, indices_of
from theano.tensor.rewriting.terms import exact_replacement
from theano.tensor.subtensor import Subtensor


@register_canonicalize
@local_optimizer([Subtensor], among_inputs=[DimShuffle])
def local_subtensor_of_transpose(node: Any) -> Any:
    """``x.T[i] -> x[:, i]`` and ``x.dimshuffle(2, 0, 1)[i, :, j] -> x[:, j, i]``, if the transposition is used once"""
    u = node.inputs[0]
    inner = u.owner
    if inner is None or not isinstance(inner.op, DimShuffle) or len(u.clients) != 1:
        return False
    order, x = tuple(inner.op.new_order), inner.inputs[0]
    ndim = x.type.ndim
    if order == tuple(range(ndim)) or sorted(map(str, order)) != sorted(map(str, range(ndim))):
        return False
    entries = _all_entries(node)
    parts: list[Any] = [slice(None)] * ndim
    for axis, entry in zip(order, entries, strict=True):
        parts[axis] = entry
    kept = [axis for axis, entry in zip(order, entries, strict=True) if isinstance(entry, slice)]
    part = _taken(x, parts)
    copy_stack_trace(node.outputs[0], part)
    ranks = sorted(kept)
    new_order = [ranks.index(axis) for axis in kept]
    return exact_replacement(node, part if new_order == list(range(len(kept))) else part.dimshuffle(*new_order), node.inputs[0])


@register_canonicalize
@register_specialize
@local_optimizer([Subtensor], among_inputs=[CAReduce, Sum, Prod, All, Any_])
def local_subtensor_of_reduce(node: Any) -> Any:
    """``sum(x, axis=0)[i] -> sum(x[:, i], axis=0)``, and so for the other reductions, if the sum is used once"""
    u = node.inputs[0]
    inner = u.owner
    if inner is None or type(inner.op) not in (CAReduce, Sum, Prod, All, Any_) or len(u.clients) != 1:
        return False
    x = inner.inputs[0]
    axes = _axes(inner.op, x.type.ndim)
    if not axes:
        return False
    rest = iter(_all_entries(node))
    parts = [slice(None) if a in axes else next(rest) for a in range(x.type.ndim)]
    # Integers drop their dimension.
    left = [a for a, part in enumerate(parts) if isinstance(part, slice)]
    part = _taken(x, parts)
    copy_stack_trace(node.outputs[0], part)
    return exact_replacement(node, _with_axis(inner.op, tuple(left.index(a) for a in axes))(part), node.inputs[0])


@register_canonicalize
@register_specialize
@local_optimizer([Subtensor], among_inputs=[T.Join])
def local_subtensor_of_join(node: Any) -> Any:
    """``stack([x, y])[1] -> y``: a constant index along the axis of a join of parts of length 1"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, T.Join) or not isinstance(inner.inputs[0], Constant):
        return False
    parts = inner.inputs[1:]
    ndim = node.inputs[0].type.ndim
    axis = int(inner.inputs[0].data) % ndim
    entries = indices_of(node)
    if axis >= len(entries) or not isinstance(entries[axis], int):
        return False
    index = entries[axis] + (len(parts) if entries[axis] < 0 else 0)
    if not 0 <= index < len(parts) or not all(p.type.ndim == ndim and p.type.broadcastable[axis] for p in parts):
        return False
    chosen = T.cast(parts[index], node.outputs[0].type.dtype)
    raw = _all_entries(node)
    raw[axis] = 0
    return exact_replacement(node, _taken(chosen, raw), node.inputs[0])

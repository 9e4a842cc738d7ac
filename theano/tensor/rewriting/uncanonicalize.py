"""Late rewrites that undo the canonical form where another one is quicker."""

from __future__ import annotations

from typing import Any

from theano.gof.opt import local_optimizer
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle
from theano.tensor.rewriting.algebra import local_max_to_min  # noqa: F401
from theano.tensor.rewriting.reduction import local_max_and_argmax  # noqa: F401
from theano.tensor.rewriting.registry import register_specialize, register_uncanonicalize
from theano.tensor.rewriting.terms import exact_replacement
from theano.tensor.subtensor import Subtensor, get_idx_list


@register_uncanonicalize
@local_optimizer([T.Alloc])
def local_alloc_dimshuffle(node: Any) -> Any:
    """``alloc(dimshuffle(x), shape) -> alloc(x, shape)`` where dimensions were only added on the left"""
    owner = node.inputs[0].owner
    if not isinstance(node.op, T.Alloc) or owner is None or not isinstance(owner.op, DimShuffle):
        return False
    x = owner.inputs[0]
    order = owner.op.new_order
    added = len(order) - x.type.ndim
    if added < 0 or any(o != "x" for o in order[:added]) or tuple(order[added:]) != tuple(range(x.type.ndim)):
        return False
    return exact_replacement(node, T.alloc(x, *node.inputs[1:]))


@register_uncanonicalize
@local_optimizer([T.Reshape])
def local_reshape_dimshuffle(node: Any) -> Any:
    """``reshape(dimshuffle(x), shape) -> reshape(x, shape)`` where dimensions were only added or dropped"""
    owner = node.inputs[0].owner
    if not isinstance(node.op, T.Reshape) or owner is None or not isinstance(owner.op, DimShuffle):
        return False
    kept = [o for o in owner.op.new_order if o != "x"]
    if kept != sorted(kept):
        return False
    return exact_replacement(node, node.op(owner.inputs[0], node.inputs[1]))


@register_uncanonicalize
@local_optimizer([DimShuffle], needs=[T.Alloc])
def local_dimshuffle_alloc(node: Any) -> Any:
    """``dimshuffle{x,0,1}(alloc(v, n, m)) -> alloc(v, 1, n, m)``"""
    owner = node.inputs[0].owner
    if not isinstance(node.op, DimShuffle) or owner is None or not isinstance(owner.op, T.Alloc):
        return False
    x = owner.outputs[0]
    order = node.op.new_order
    added = len(order) - x.type.ndim
    if added < 0 or any(o != "x" for o in order[:added]) or tuple(order[added:]) != tuple(range(x.type.ndim)):
        return False
    return exact_replacement(node, T.alloc(owner.inputs[0], *([1] * added), *owner.inputs[1:]))


@register_specialize
@register_uncanonicalize
@local_optimizer([DimShuffle], needs=[Subtensor])
def local_dimshuffle_subtensor(node: Any) -> Any:
    """``dimshuffle{0,2}(x[a:b, :, c]) -> x[a:b, 0, c]`` where the only thing it does is to drop dimensions of length 1

    So that a row of one element is not a view of a view.
    """
    if not isinstance(node.op, DimShuffle):
        return False
    order = node.op.new_order
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, Subtensor) or "x" in order or list(order) != sorted(order):
        return False
    x = owner.inputs[0]
    out_ndim = owner.outputs[0].type.ndim
    dropped = [d for d in range(out_ndim) if d not in order]
    if not dropped:
        return False
    idx = list(get_idx_list(owner.inputs, owner.op.idx_list))
    idx += [slice(None)] * (x.type.ndim - len(idx))
    axis = 0
    for k, entry in enumerate(idx):
        if not isinstance(entry, slice):
            continue
        if axis in dropped:
            # The slice has length 1 there: its only element is the first of the slice.
            if entry != slice(None) or not x.type.broadcastable[k]:
                return False
            idx[k] = 0
        axis += 1
    while idx and isinstance(idx[-1], slice) and idx[-1] == slice(None):
        idx.pop()
    return exact_replacement(node, x[tuple(idx)])

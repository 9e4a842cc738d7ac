"""Elements chosen by a mask: not copied out where only their sum is wanted."""

from __future__ import annotations

from typing import Any

from theano import scalar as scal
from theano.gof.opt import copy_stack_trace
from theano.tensor import basic as T
from theano.tensor.advanced_subtensor import (
    AdvancedBooleanSubtensor,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    advanced_boolean_subtensor,
)
from theano.tensor.choosing import Nonzero
from theano.tensor.elemwise import Elemwise, Sum
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.terms import exact_replacement, is_made_by, lengths_of, same_dimension

# What costs no more for an element that is not chosen than to see that it is not.
_LIGHT = (scal.Add, scal.Sub, scal.Mul, scal.Neg, scal.Sqr, scal.Abs, scal.Cast)
_MOST_STEPS = 8


def _same_shape(node: Any, x: Any, mask: Any) -> bool:
    lengths = lengths_of(node, x) if x.type.ndim == mask.type.ndim else None
    return lengths is not None and all(map(same_dimension, lengths, lengths_of(node, mask)))


@rewrites([AdvancedSubtensor, AdvancedSubtensor1], "specialize", among_inputs=[Nonzero])
def local_subtensor_of_nonzero(node: Any) -> Any:
    """``x[mask.nonzero()] -> x[mask]``, where `x` and `mask` have one shape"""
    x, *indices = node.inputs
    first = indices[0].owner
    if first is None or not isinstance(first.op, Nonzero) or indices != first.outputs:
        return False
    mask = first.inputs[0]
    if not _same_shape(node, x, mask):
        return False
    if mask.type.dtype != "bool":
        mask = T.neq(mask, 0)
    return exact_replacement(node, advanced_boolean_subtensor(x, mask))


@rewrites([Sum], "specialize", among_inputs=[AdvancedBooleanSubtensor, Elemwise])
def local_sum_of_masked(node: Any) -> Any:
    """``sum(x[mask] * y[mask] + s) -> sum(switch(mask, x * y + s, 0))``

    `x`, `y` and `mask` have one shape, `s` is a single number, and what is done with the chosen elements is a little
    arithmetic.
    """
    chosen = node.inputs[0]
    if chosen.type.ndim != 1:
        return False
    copied: list[Any] = []
    steps = [node]

    def whole(v: Any) -> Any:
        """`v` of all elements instead of those that are chosen; None if that is no little arithmetic."""
        if all(v.type.broadcastable):
            return v
        maker = v.owner
        if is_made_by(v, AdvancedBooleanSubtensor):
            copied.append(v)
            return maker.inputs[0] if len(maker.inputs) == 2 and _same_shape(node, *maker.inputs) else None
        is_light = is_made_by(v, Elemwise) and isinstance(maker.op.scalar_op, _LIGHT)
        if not is_light or len(v.clients) != 1 or len(steps) > _MOST_STEPS:
            return None
        steps.append(maker)
        inputs = [whole(i) for i in maker.inputs]
        return None if None in inputs else copy_stack_trace(v, Elemwise(maker.op.scalar_op)(*inputs))

    x = whole(chosen)
    masks = {v.owner.inputs[1] for v in copied}
    # What is copied out for somebody else can as well be summed up.
    if x is None or len(masks) != 1 or any(client not in steps for v in copied for client, _ in v.clients):
        return False
    picked = T.switch(*masks, x, T.constant(0, dtype=x.type.dtype))
    new = Sum(None, dtype=node.op.dtype, acc_dtype=node.op.acc_dtype)(picked)
    if picked.type.dtype != chosen.type.dtype or new.type != node.outputs[0].type:
        return False
    copy_stack_trace(node.outputs[0], [picked, new])
    return [new]

"""Writing into parts of arrays: what is written back unchanged, and sums that are increments."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.tensor import basic as T
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize
from theano.tensor.subtensor import IncSubtensor, Subtensor


def _is_part(v: Any, x: Any, op: Any, index: list[Any]) -> bool:
    """Whether `v` is ``x[index]``, of the index that the IncSubtensor `op` writes."""
    node = v.owner
    if node is None or not isinstance(node.op, Subtensor) or node.inputs[0] is not x or node.op.idx_list != op.idx_list:
        return False
    return all(
        a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.data == b.data)
        for a, b in zip(node.inputs[1:], index, strict=True)
    )


@register_canonicalize
@register_specialize
@local_optimizer([IncSubtensor], among_inputs=[Subtensor])
def local_setsubtensor_of_itself(node: Any) -> Any:
    """``set_subtensor(x[i], x[i]) -> x``"""
    op = node.op
    x, y, *index = node.inputs
    if not op.set_instead_of_inc or not _is_part(y, x, op, index) or x.type != node.outputs[0].type:
        return False
    return [x]


@register_specialize
@local_optimizer([IncSubtensor], among_inputs=[T.add, T.sub])
def local_set_to_inc_subtensor(node: Any) -> Any:
    """``set_subtensor(x[i], x[i] + y) -> inc_subtensor(x[i], y)`` and ``x[i] - y -> inc_subtensor(x[i], -y)``

    For basic indexing only: vectors of positions may hold one twice.
    """
    op = node.op
    x, value, *index = node.inputs
    if not op.set_instead_of_inc or value.owner is None or value.type.dtype != x.type.dtype:
        return False
    terms = list(value.owner.inputs)
    if value.owner.op == T.add:
        for k, term in enumerate(terms):
            if _is_part(term, x, op, index) and term.type == value.type:
                rest = terms[:k] + terms[k + 1 :]
                y = rest[0] if len(rest) == 1 else T.add(*rest)
                break
        else:
            return False
    elif value.owner.op == T.sub and _is_part(terms[0], x, op, index) and terms[0].type == value.type:
        y = T.neg(terms[1])
    else:
        return False
    if y.type.dtype != x.type.dtype:
        return False
    copy_stack_trace(value, y)
    new_op = IncSubtensor(op.idx_list, op.inplace, set_instead_of_inc=False,
                          destroyhandler_tolerate_aliased=op.destroyhandler_tolerate_aliased)  # fmt: skip
    new = new_op(x, y, *index)
    if new.type != node.outputs[0].type:
        return False
    copy_stack_trace(node.outputs, new)
    return [new]

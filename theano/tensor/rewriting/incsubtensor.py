"""Writing into parts of arrays: what is written back unchanged, and sums that are increments."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.tensor import basic as T
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize
from theano.tensor.rewriting.rules import applies, called, rest, rewrite, rule, x
from theano.tensor.rewriting.subtensor import _has_no_position_twice, _is_arange, _is_full, indices_of, is_zeros
from theano.tensor.rewriting.terms import exact_replacement, lengths_of, same_dtype
from theano.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
)


def _is_part(v: Any, x: Any, op: Any, index: list[Any]) -> bool:
    """Whether `v` is ``x[index]``, of the index that the IncSubtensor or AdvancedIncSubtensor1 `op` writes."""
    node = v.owner
    if node is None or node.inputs[0] is not x:
        return False
    if isinstance(op, IncSubtensor):
        if not isinstance(node.op, Subtensor) or node.op.idx_list != op.idx_list:
            return False
    elif not isinstance(node.op, AdvancedSubtensor1):
        return False
    return all(
        a is b or (isinstance(a, Constant) and isinstance(b, Constant) and np.array_equal(a.data, b.data))
        for a, b in zip(node.inputs[1:], index, strict=True)
    )


def _is_set_to_itself(out: Any, x: Any, y: Any) -> bool:
    op = out.owner.op
    return op.set_instead_of_inc and op.idx_list == y.owner.op.idx_list and x.type == out.type


def _set_to(v: Any, part: Any) -> Any:
    return IncSubtensor(part.owner.op.idx_list, set_instead_of_inc=True)(v, part, *part.owner.inputs[1:])


_PART = called("y", applies(Subtensor, "subtensor", lambda v: v[0:2])(x, rest))
local_setsubtensor_of_itself = rewrite(
    "local_setsubtensor_of_itself",
    [register_canonicalize, register_specialize],
    rule(applies(IncSubtensor, "set_subtensor", _set_to)(x, _PART, rest), x, where=("the index is the same", _is_set_to_itself)),
)


@register_specialize
@local_optimizer([AdvancedIncSubtensor])
def local_incsubtensor_of_zeros_to_diag(node: Any) -> Any:
    """``inc_subtensor(zeros((n, n))[arange(n), arange(n)], v) -> diag(v)``, as the second derivatives of sums of functions"""
    x, y, *index = node.inputs
    if len(index) != 2 or index[0] is not index[1] or y.type.broadcastable != (False,) or not is_zeros(x):
        return False
    known = [lengths_of(node, v) for v in (x, y)]
    if None in known:
        return False
    lengths = [length for v in known for length in v]
    if not all(_is_arange(index[0], length) for length in lengths) or y.type.dtype != node.outputs[0].type.dtype:
        return False
    return exact_replacement(node, T.diag(y))


@register_specialize
@local_optimizer([IncSubtensor, AdvancedIncSubtensor1], among_inputs=[T.add, T.sub])
def local_set_to_inc_subtensor(node: Any) -> Any:
    """``set_subtensor(x[i], x[i] + y) -> inc_subtensor(x[i], y)`` and ``x[i] - y -> inc_subtensor(x[i], -y)``

    Of a vector of positions it must be known that it holds none twice.
    """
    op = node.op
    x, value, *index = node.inputs
    if isinstance(op, AdvancedIncSubtensor1) and not _has_no_position_twice(index[0]):
        return False
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
        y = T.neg(same_dtype(terms[1], x))
    else:
        return False
    if y.type.dtype != x.type.dtype:
        return False
    copy_stack_trace(value, y)
    if isinstance(op, AdvancedIncSubtensor1):
        return exact_replacement(node, AdvancedIncSubtensor1(op.inplace, set_instead_of_inc=False)(x, y, *index))
    new_op = IncSubtensor(op.idx_list, op.inplace, set_instead_of_inc=False,
                          destroyhandler_tolerate_aliased=op.destroyhandler_tolerate_aliased)  # fmt: skip
    return exact_replacement(node, new_op(x, y, *index))


def _part_of_zeros(v: Any) -> tuple[int, int, Any] | None:
    """The axis and the bounds of the slice of zeros that `v` is but for, when it is the gradient of that slice."""
    node = v.owner
    if node is None or not isinstance(node.op, IncSubtensor) or not node.op.same_shape or not is_zeros(node.inputs[0]):
        return None
    if node.inputs[1].type.ndim != v.type.ndim:
        return None
    found = None
    for axis, entry in enumerate(indices_of(node)):
        if not isinstance(entry, slice):
            return None
        if _is_full(entry, None):
            continue
        start, stop, step = entry.start or 0, entry.stop, entry.step
        bounds = isinstance(start, int) and start >= 0 and (stop is None or (isinstance(stop, int) and stop >= 0))
        if found is not None or not bounds or step not in (None, 1):
            return None
        found = (axis, start, stop)
    return found


def _as_join(node: Any, axis: int, parts: list[tuple[int, Any, Any]]) -> Any:
    """The sum of all parts, in order, as a join; None if they are not known to make up the dimension."""
    begins = [0, *[stop for _, stop, _ in parts[:-1]]]
    if begins != [start for start, _, _ in parts]:
        return None
    end = parts[-1][1]
    if end is not None:
        lengths = lengths_of(node, parts[-1][2])
        length = lengths[axis] if lengths is not None else None
        if not isinstance(length, Constant) or int(length.data) > end:
            return None
    out = node.outputs[0]
    joined = T.join(axis, *[same_dtype(term.owner.inputs[1], out) for _, _, term in parts])
    return joined if joined.type == out.type else T.patternbroadcast(joined, out.type.broadcastable)


def _as_assignments(parts: list[tuple[int, Any, Any]]) -> Any:
    """The sum of all parts, in order, as assignments to one array of zeros; None if some overlap."""
    if any(stop is None or stop > start for (_, stop, _), (start, _, _) in pairwise(parts)):
        return None
    result = parts[0][2].owner.inputs[0]
    for _, _, term in parts:
        op, (_, y, *index) = term.owner.op, term.owner.inputs
        assign = IncSubtensor(op.idx_list, set_instead_of_inc=True)
        assign.same_shape = True
        result = assign(result, y, *index)
    return result


@register_canonicalize
@register_specialize
@local_optimizer([T.add], needs=[IncSubtensor])
def local_add_of_parts(node: Any) -> Any:
    """``inc(zeros[:, :a], u) + inc(zeros[:, a:], v) + w -> join(1, u, v) + w``

    Where `u` and `v` are gradients of slices that together take all of a dimension. If that is not known, but they do
    not overlap: ``set(set(zeros[:, :a], u)[:, a:b], v) + w``.
    """
    out = node.outputs[0]
    # A sum in a sum becomes one with it, and may then be seen to have all parts.
    inner_sum = any(client != "output" and client.op == T.add for client, _ in out.clients)
    axes: dict[int, list[tuple[int, Any, Any]]] = {}
    for term in node.inputs:
        part = _part_of_zeros(term) if term.type == out.type else None
        if part is not None:
            axes.setdefault(part[0], []).append((part[1], part[2], term))
    for axis, parts in axes.items():
        if len(parts) < 2:
            continue
        parts.sort(key=lambda part: part[0])
        whole = _as_join(node, axis, parts)
        if whole is None and not inner_sum:
            whole = _as_assignments(parts)
        if whole is None:
            continue
        copy_stack_trace(out, whole)
        used = {id(term) for _, _, term in parts}
        rest = [term for term in node.inputs if id(term) not in used]
        return [T.add(whole, *rest) if rest else whole]
    return False

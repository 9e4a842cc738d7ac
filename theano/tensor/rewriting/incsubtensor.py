"""Writing into parts of arrays: what is written back unchanged, and sums that are increments."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from theano.gof.graph import Constant
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import P, applies, called, replaces, rest, rewrite, rule, x, y, z
from theano.tensor.rewriting.subtensor import (
    _INDEX,
    _SUBTENSOR,
    _bounds,
    _has_no_position_twice,
    _is_arange,
    _is_full,
    assigning,
    indices_of,
)
from theano.tensor.rewriting.terms import changed, exact_replacement, lengths_of, same_dtype, sum_of
from theano.tensor.subtensor import AdvancedIncSubtensor, AdvancedIncSubtensor1, AdvancedSubtensor1, IncSubtensor, Subtensor


def _is_set_to_itself(out: Any, x: Any, y: Any) -> bool:
    op = out.owner.op
    return op.set_instead_of_inc and op.idx_list == y.owner.op.idx_list and x.type == out.type


def _set_to(v: Any, part: Any) -> Any:
    return IncSubtensor(part.owner.op.idx_list, set_instead_of_inc=True)(v, part, *part.owner.inputs[1:])


local_setsubtensor_of_itself = rewrite(
    "local_setsubtensor_of_itself",
    "canonicalize specialize",
    rule(
        applies(IncSubtensor, "set_subtensor", _set_to)(x, called("y", _SUBTENSOR(x, rest)), rest),
        x,
        where=("the index is the same", _is_set_to_itself),
    ),
)


@replaces(applies(AdvancedIncSubtensor)(x, y, z, z), "specialize")
def local_incsubtensor_of_zeros_to_diag(out: Any, x: Any, y: Any, z: Any) -> Any:
    """``inc_subtensor(zeros((n, n))[arange(n), arange(n)], v) -> diag(v)``, as the second derivatives of sums of functions"""
    if y.type.broadcastable != (False,) or y.type.dtype != out.type.dtype or not is_evidently(x, 0):
        return None
    known = [lengths_of(out.owner, v) for v in (x, y)]
    return T.diag(y) if None not in known and all(_is_arange(z, length) for v in known for length in v) else None


_PART = called("y", applies((Subtensor, AdvancedSubtensor1))(x, _INDEX))


@replaces(
    [applies((IncSubtensor, AdvancedIncSubtensor1))(x, called("w", op(_PART, rest)), _INDEX) for op in (P.add, P.sub)],
    "specialize",
)
def local_set_to_inc_subtensor(out: Any, w: Any, x: Any, y: Any, rest: tuple) -> Any:
    """``set_subtensor(x[i], x[i] + y) -> inc_subtensor(x[i], y)`` and ``x[i] - y -> inc_subtensor(x[i], -y)``

    Of a vector of positions it must be known that it holds none twice.
    """
    op, (_, _, *index) = out.owner.op, out.owner.inputs
    if not op.set_instead_of_inc or getattr(op, "idx_list", None) != getattr(y.owner.op, "idx_list", None):
        return None
    if w.type != y.type or not rest or (isinstance(op, AdvancedIncSubtensor1) and not _has_no_position_twice(*index)):
        return None
    change = T.neg(same_dtype(rest[0], x)) if w.owner.op == T.sub else sum_of(rest)
    return changed(op, set_instead_of_inc=False)(x, change, *index) if change.type.dtype == x.type.dtype else None


def _part_of_zeros(v: Any) -> tuple[int, int, Any] | None:
    """The axis and the bounds of the slice of zeros that `v` is but for, when it is the gradient of that slice."""
    node = v.owner
    if node is None or not isinstance(node.op, IncSubtensor) or not node.op.same_shape or not is_evidently(node.inputs[0], 0):
        return None
    parts = [(k, e) for k, e in enumerate(indices_of(node)) if not _is_full(e, None)]
    bounds = _bounds(parts[0][1]) if len(parts) == 1 and isinstance(parts[0][1], slice) else None
    if bounds is None or bounds[2] != 1 or (bounds[1] or 0) < 0 or node.inputs[1].type.ndim != v.type.ndim:
        return None
    return parts[0][0], *bounds[:2]


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
    joined = T.join(axis, *[same_dtype(term.owner.inputs[1], term) for _, _, term in parts])
    return T.patternbroadcast(joined, node.outputs[0].type.broadcastable)


def _as_assignments(parts: list[tuple[int, Any, Any]]) -> Any:
    """The sum of all parts, in order, as assignments to one array of zeros; None if some overlap."""
    if any(stop is None or stop > start for (_, stop, _), (start, _, _) in pairwise(parts)):
        return None
    result = parts[0][2].owner.inputs[0]
    for _, _, term in parts:
        result = assigning(term.owner.op)(result, *term.owner.inputs[1:])
    return result


@rewrites([T.add], "canonicalize specialize", among_inputs=[IncSubtensor])
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
        if whole is not None:
            rest = [i for i in node.inputs if all(i is not term for _, _, term in parts)]
            return exact_replacement(node, sum_of([whole, *rest]))
    return False

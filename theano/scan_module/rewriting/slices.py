"""What is taken of the outputs of a loop, and what its buffers begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.graph import Apply, Constant, Variable
from theano.scalar import basic as scalar
from theano.scan_module.rewriting.loop import State
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.shapes import Shape, Shape_i
from theano.tensor.subtensor import IncSubtensor, Subtensor, get_idx_list


def integer_indices(node: Apply, first_only: bool = False) -> list[Any] | None:
    """The indices of a Subtensor or IncSubtensor if all of them, or the first one, are written as numbers; else None."""
    n_values = 2 if isinstance(node.op, IncSubtensor) else 1
    entries = get_idx_list((None, *node.inputs[n_values:]), node.op.idx_list)
    result: list[Any] = []
    for entry in entries[:1] if first_only else entries:
        parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
        parts = tuple(int(p.data) if isinstance(p, Constant) else p for p in parts)
        if any(isinstance(p, Variable) for p in parts):
            return None
        result.append(slice(*parts) if isinstance(entry, slice) else int(parts[0]))
    return result


def takes_last_only(out: Any, n_initial: int) -> list[Any] | None:
    """The variables ``out[-1]`` and ``out[n_initial:][-1]``, if `out` is used for nothing else; else None."""
    found = []
    stack = [(client, True) for client, _ in out.clients]
    while stack:
        node, first = stack.pop()
        if node == "output" or not isinstance(node.op, Subtensor):
            return None
        entries = integer_indices(node)
        if entries == [-1]:
            found.append(node.outputs[0])
        elif first and entries == [slice(n_initial, None, None)]:
            stack.extend((client, False) for client, _ in node.outputs[0].clients)
        else:
            return None
    return found


def initial_value(state: State) -> Any:
    """The first row of a state's buffer, without the buffer where it is evident."""
    rows = initial_rows(state)
    if rows is None:
        return state.outer[0]
    rows = _without_rebroadcast(rows)
    if rows.owner is not None and isinstance(rows.owner.op, DimShuffle):
        value = rows.owner.inputs[0]
        if list(rows.owner.op.new_order) == ["x", *range(rows.type.ndim - 1)] and value.type.ndim == rows.type.ndim - 1:
            return value
    return rows[0]


def _without_rebroadcast(v: Any) -> Any:
    while v.owner is not None and isinstance(v.owner.op, T.Rebroadcast):
        (v,) = v.owner.inputs
    return v


def initial_rows(state: State) -> Any:
    """The initial rows of a state that are written into an empty array for its buffer; None if that is not evident."""
    buffer = state.outer
    node = _without_rebroadcast(buffer).owner
    if node is None or not isinstance(node.op, IncSubtensor) or not node.op.set_instead_of_inc:
        return None
    entries = get_idx_list((None, *node.inputs[2:]), node.op.idx_list)
    if len(entries) != 1 or not isinstance(entries[0], slice) or entries[0].start is not None or entries[0].step is not None:
        return None
    rows = node.inputs[1]
    if empty_origin(buffer) is None or rows.type.ndim != buffer.type.ndim:
        return None
    return rows if _count(rows, entries[0].stop) == state.n_initial else None


def _count(rows: Any, stop: Any) -> int | None:
    """The number of `rows`, which are written to the first rows up to `stop`; None if it is not evident."""
    rows = _without_rebroadcast(rows)
    known = int(stop.data) if isinstance(stop, Constant) else None
    if rows.type.broadcastable[0]:
        return 1 if known in (None, 1) else None
    if known is not None:
        return known
    node = rows.owner
    if node is None or not isinstance(node.op, Subtensor):
        return None
    entries = integer_indices(node, first_only=True)
    cut = entries[0] if entries else None
    if not isinstance(cut, slice) or cut.step not in (None, 1) or cut.stop is None:
        return None
    # An array that has fewer rows is too short for the taps.
    start = cut.start or 0
    return cut.stop - start if 0 <= start <= cut.stop else None


def _terms(v: Any) -> tuple[dict[Any, int], int]:
    """An integer scalar as a sum: how often each term is in it, and the constant."""
    terms: dict[Any, int] = {}
    constant = 0
    stack = [(v, 1)]
    while stack:
        v, sign = stack.pop()
        node = v.owner
        op = getattr(node, "op", None)
        number = _small_number(v)
        if number is not None:
            constant += sign * number
        elif isinstance(op, (T.ScalarFromTensor, T.TensorFromScalar)):
            stack.append((node.inputs[0], sign))
        elif isinstance(op, Elemwise) and isinstance(op.scalar_op, scalar.Add):
            stack.extend((part, sign) for part in node.inputs)
        elif isinstance(op, Elemwise) and isinstance(op.scalar_op, scalar.Sub):
            stack.extend(((node.inputs[0], sign), (node.inputs[1], -sign)))
        elif isinstance(op, Elemwise) and isinstance(op.scalar_op, scalar.Cast) and _keeps_value(node):
            stack.append((node.inputs[0], sign))
        else:
            terms[v] = terms.get(v, 0) + sign
    return {v: times for v, times in terms.items() if times}, constant


def _keeps_value(node: Apply) -> bool:
    """Whether a cast is one to an integer type that holds all values of another one."""
    before, after = (np.dtype(v.type.dtype) for v in (*node.inputs, *node.outputs))
    return before.kind in "iu" and after.kind in "iu" and np.can_cast(before, after)


def _small_number(v: Any) -> int | None:
    """The value of a constant, or of the length of a dimension that has length 1."""
    if isinstance(v, Constant):
        return int(v.data)
    node = v.owner
    if node is None:
        return None
    if isinstance(node.op, Shape_i) and node.op.i == 0:
        (rows,) = node.inputs
    elif isinstance(node.op, Subtensor) and node.inputs[0].owner is not None and isinstance(node.inputs[0].owner.op, Shape):
        if integer_indices(node) != [0]:
            return None
        (rows,) = node.inputs[0].owner.inputs
    else:
        return None
    return 1 if _without_rebroadcast(rows).type.broadcastable[0] else None


def exceeds(length: Any, n_steps: Any) -> int | None:
    """By how much a length is evidently greater than the number of steps; None if that is not evident."""
    if length is n_steps:
        return 0
    (terms, constant), (others, less) = _terms(length), _terms(n_steps)
    return constant - less if terms == others else None


def keeps_all(buffer: Any, n_initial: int, n_steps: Any) -> bool:
    """Whether a buffer evidently has one row for each initial value and each step, and no other.

    So have those of `theano.scan`. Of a longer one the last rows are zeros, and a shorter one does not keep all values.
    """
    empty = empty_origin(buffer)
    if empty is None:
        return False
    length = empty.inputs[0]
    if exceeds(length, n_steps) == n_initial:
        return True
    # The number of initial rows may be written as the length of what they are taken from.
    node = _without_rebroadcast(buffer).owner
    if not isinstance(node.op, IncSubtensor):
        return False
    (entry, *_) = get_idx_list((None, *node.inputs[2:]), node.op.idx_list)
    stop = entry.stop if isinstance(entry, slice) and entry.start is None else None
    if not isinstance(stop, Variable) or _count(node.inputs[1], stop) != n_initial:
        return False
    (terms, constant), (others, less), (stops, more) = _terms(length), _terms(n_steps), _terms(stop)
    for v, times in stops.items():
        others[v] = others.get(v, 0) + times
    return terms == others and constant == less + more


def empty_origin(buffer: Any) -> Apply | None:
    """The AllocEmpty that a buffer is made of, by writing rows into it."""
    node = buffer.owner
    while node is not None and isinstance(node.op, (T.Rebroadcast, IncSubtensor)):
        node = node.inputs[0].owner
    return node if node is not None and isinstance(node.op, T.AllocEmpty) else None

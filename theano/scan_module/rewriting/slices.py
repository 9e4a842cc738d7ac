"""What is taken of the outputs of a loop, and what its buffers begin with."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Constant, Variable
from theano.scan_module.rewriting.loop import State
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle
from theano.tensor.subtensor import IncSubtensor, Subtensor, get_idx_list

__all__ = ["empty_origin", "initial_rows", "initial_value", "integer_indices", "takes_last_only"]


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
    rows = initial_rows(state.outer)
    if rows is None:
        return state.outer[0]
    while rows.owner is not None and isinstance(rows.owner.op, T.Rebroadcast):
        rows = rows.owner.inputs[0]
    if rows.owner is not None and isinstance(rows.owner.op, DimShuffle):
        value = rows.owner.inputs[0]
        if list(rows.owner.op.new_order) == ["x", *range(rows.type.ndim - 1)] and value.type.ndim == rows.type.ndim - 1:
            return value
    return rows[0]


def initial_rows(buffer: Any) -> Any:
    """The rows that the empty array at the origin of a buffer is filled with, from the first one on; None if there is none."""
    node = buffer.owner
    while node is not None and isinstance(node.op, T.Rebroadcast):
        node = node.inputs[0].owner
    if node is None or not isinstance(node.op, IncSubtensor) or not node.op.set_instead_of_inc:
        return None
    entries = get_idx_list((None, *node.inputs[2:]), node.op.idx_list)
    if len(entries) != 1 or not isinstance(entries[0], slice) or entries[0].start is not None or entries[0].step is not None:
        return None
    rows = node.inputs[1]
    return rows if empty_origin(buffer) is not None and rows.type.ndim == buffer.type.ndim else None


def empty_origin(buffer: Any) -> Apply | None:
    """The AllocEmpty that a buffer is made of, by writing rows into it."""
    node = buffer.owner
    while node is not None and isinstance(node.op, (T.Rebroadcast, IncSubtensor)):
        node = node.inputs[0].owner
    return node if node is not None and isinstance(node.op, T.AllocEmpty) else None

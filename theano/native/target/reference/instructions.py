"""The instructions of the reference target, each a function of its params and operands that gives the outputs.

The table of all instructions, with their operands, is ``instructions.def``. What is not here is work for a node's `perform`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Values = Sequence[Any]


def _ints(values: Values) -> list[int]:
    """Lengths, given as one vector or as numbers."""
    return [int(n) for n in (values[0] if len(values) == 1 and np.ndim(values[0]) == 1 else values)]


def _index(entries: Any, ins: Values) -> tuple[Any, ...]:
    """An index list as an index of NumPy."""

    def number(entry: Any) -> Any:
        return int(ins[entry[1]]) if isinstance(entry, tuple) else entry

    def one(entry: Any) -> Any:
        return slice(*map(number, entry[1:])) if isinstance(entry, tuple) and entry[0] == "s" else number(entry)

    return tuple(map(one, entries))


def _at(axes: Sequence[int], ndim: int, indices: Values) -> tuple[Any, ...]:
    """Index arrays of some axes, the others taken whole."""
    given = dict(zip(axes, indices, strict=True))
    return tuple(given.get(axis, slice(None)) for axis in range(ndim))


def _first_if(ins: Values, holds: Any, error: Exception) -> Any:
    """The first input, if something holds."""
    if not holds:
        raise error
    return ins[0]


def _target(op: Any, ins: Values) -> Any:
    """The array that an instruction writes to: the first input or a copy of it."""
    return ins[0] if op.inplace else np.array(ins[0])


def _dimshuffle(op: Any, ins: Values) -> Any:
    (x,) = ins
    kept = [axis for axis in op.order if axis >= 0]
    dropped = [axis for axis in range(x.ndim) if axis not in kept]
    if any(x.shape[axis] != 1 for axis in dropped):
        raise ValueError("a dropped dimension must have length 1")
    x = x.transpose([*kept, *dropped]).reshape([x.shape[axis] for axis in kept])
    return x[tuple(None if axis < 0 else slice(None) for axis in op.order)]


def _check_index(op: Any, ins: Values) -> Any:
    integers, x = ins
    _first_if(ins, not np.any((integers < 0) | (integers >= x.shape[op.axis])), ValueError(op.message))
    return ()


def _check_bounds(op: Any, ins: Values) -> Any:
    x, *indices = ins
    for axis, index in zip(op.axes, indices, strict=True):
        inside = np.all((index >= -x.shape[axis]) & (index < x.shape[axis]))
        _first_if(ins, inside, IndexError(f"index out of bounds for axis {axis} of length {x.shape[axis]}"))
    return ()


def _inc_subtensor(op: Any, ins: Values) -> Any:
    out, at = _target(op, ins), _index(op.index, ins)
    out[at] = ins[1] if op.set else out[at] + ins[1].astype(out.dtype)
    return out


def _advanced_inc(op: Any, ins: Values) -> Any:
    x, y, *indices = ins
    out, at = _target(op, ins), _at(op.axes, x.ndim, indices)
    if op.set:
        out[at] = y
    else:
        np.add.at(out, at, y.astype(out.dtype))
    return out


def _sum_with(product: Callable[..., Any]) -> Callable[[Any, Values], Any]:
    """``beta * z + alpha * product(x, y)`` over z, where that is asked for; without beta it is 1, with 0 z is not read."""

    def run(op: Any, ins: Values) -> Any:
        z, alpha, x, y, *beta = ins
        before = z if not beta else beta[0] * z if beta[0] else 0
        value = before + alpha * product(x, y)
        out = _target(op, ins)
        out[...] = value.astype(z.dtype)
        return out

    return run


def _thunk(op: Any, ins: Values) -> Any:
    for storage, value in zip(op.in_storages, ins, strict=True):
        storage[0] = value
    op.thunk()
    values = tuple([storage[0] for storage in op.out_storages])
    for storage in (*op.in_storages, *op.out_storages):
        storage[0] = None
    return values


def _copied(how: Callable[[Any], Any], order: Any) -> Callable[[Any, Values], Any]:
    return lambda op, ins: np.array(ins[0], order=order) if isinstance(ins[0], np.ndarray) else how(ins[0])


INSTRUCTIONS: dict[str, Callable[[Any, Values], Any]] = {
    "view": lambda op, ins: ins[0],
    "contiguous": lambda op, ins: np.ascontiguousarray(ins[0]).reshape(ins[0].shape),
    "copy": _copied(copy.copy, "C"),
    "deepcopy": _copied(copy.deepcopy, "K"),
    "dimshuffle": _dimshuffle,
    "subtensor": lambda op, ins: np.asarray(ins[0][_index(op.index, ins)]),
    "reshape": lambda op, ins: ins[0].reshape(_ints(ins[1:])),
    "specify_shape": lambda op, ins: _first_if(
        ins, list(ins[0].shape) == _ints(ins[1:]), AssertionError(f"got shape {ins[0].shape}, expected {tuple(_ints(ins[1:]))}")
    ),
    "rebroadcast": lambda op, ins: _first_if(
        ins, all(ins[0].shape[axis] == 1 for axis in op.axes), ValueError("a dimension that broadcasts must have length 1")
    ),
    "assert_op": lambda op, ins: _first_if(ins, all(map(np.all, ins[1:])), op.exception(op.message)),
    "check_index": _check_index,
    "check_bounds": _check_bounds,
    "shape_i": lambda op, ins: np.array(ins[0].shape[op.axis], "int64"),
    "shape": lambda op, ins: np.array(ins[0].shape, "int64"),
    "alloc": lambda op, ins: np.array(np.broadcast_to(ins[0], _ints(ins[1:]))),
    "inc_subtensor": _inc_subtensor,
    "advanced_subtensor": lambda op, ins: ins[0][_at(op.axes, ins[0].ndim, ins[1:])],
    "advanced_inc": _advanced_inc,
    "dot": lambda op, ins: np.asarray(np.dot(*ins)),
    "dot22scalar": lambda op, ins: (np.dot(ins[0], ins[1]) * ins[2]).astype(ins[0].dtype),
    "gemm": _sum_with(np.dot),
    "gemv": _sum_with(np.dot),
    "ger": _sum_with(np.outer),
    "call": lambda op, ins: op.function(*ins),
    "keep_state": lambda op, ins: (op.take(ins[0]), np.empty(0, "int8")),
    "restore_state": lambda op, ins: (op.put(*ins[:2]), ())[1],
    "thunk": _thunk,
}
"""By name: ``function(op, inputs)`` gives the one output, or a tuple of outputs."""

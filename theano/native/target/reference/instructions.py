"""The instructions of the reference target, each a function of its params and operands that gives the outputs.

The table of all instructions, with their operands, is ``instructions.def``. What is not here is work for a node's `perform`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Values = Sequence[Any]

INSTRUCTIONS: dict[str, Callable[[Any, Values], Any]] = {}
"""By name: ``function(op, inputs)`` gives the one output, or a tuple of outputs."""


def _instruction(name: str) -> Callable[[Callable[[Any, Values], Any]], Callable[[Any, Values], Any]]:
    def register(function: Callable[[Any, Values], Any]) -> Callable[[Any, Values], Any]:
        INSTRUCTIONS[name] = function
        return function

    return register


def _ints(values: Values) -> list[int]:
    """Lengths, given as one vector or as numbers."""
    if len(values) == 1 and np.ndim(values[0]) == 1:
        return [int(n) for n in values[0]]
    return [int(n) for n in values]


def _index(entries: Any, ins: Values) -> tuple[Any, ...]:
    """An index list as an index of NumPy."""

    def number(entry: Any) -> Any:
        return int(ins[entry[1]]) if isinstance(entry, tuple) else entry

    def one(entry: Any) -> Any:
        if isinstance(entry, tuple) and entry[0] == "s":
            return slice(*map(number, entry[1:]))
        return number(entry)

    return tuple(map(one, entries))


def _at(axes: Sequence[int], ndim: int, indices: Values) -> tuple[Any, ...]:
    """Index arrays of some axes, the others taken whole."""
    given = dict(zip(axes, indices, strict=True))
    return tuple(given.get(axis, slice(None)) for axis in range(ndim))


@_instruction("view")
@_instruction("contiguous")
def _view(op: Any, ins: Values) -> Any:
    return np.ascontiguousarray(ins[0]).reshape(ins[0].shape) if op.name == "contiguous" else ins[0]


@_instruction("copy")
def _copy(op: Any, ins: Values) -> Any:
    return np.array(ins[0], order="C") if isinstance(ins[0], np.ndarray) else copy.copy(ins[0])


@_instruction("deepcopy")
def _deepcopy(op: Any, ins: Values) -> Any:
    return np.array(ins[0]) if isinstance(ins[0], np.ndarray) else copy.deepcopy(ins[0])


@_instruction("dimshuffle")
def _dimshuffle(op: Any, ins: Values) -> Any:
    (x,) = ins
    kept = [axis for axis in op.order if axis >= 0]
    dropped = [axis for axis in range(x.ndim) if axis not in kept]
    if any(x.shape[axis] != 1 for axis in dropped):
        raise ValueError("a dropped dimension must have length 1")
    x = x.transpose([*kept, *dropped]).reshape([x.shape[axis] for axis in kept])
    return x[tuple(None if axis < 0 else slice(None) for axis in op.order)]


@_instruction("subtensor")
def _subtensor(op: Any, ins: Values) -> Any:
    return np.asarray(ins[0][_index(op.index, ins)])


@_instruction("reshape")
def _reshape(op: Any, ins: Values) -> Any:
    return ins[0].reshape(_ints(ins[1:]))


@_instruction("specify_shape")
def _specify_shape(op: Any, ins: Values) -> Any:
    if list(ins[0].shape) != _ints(ins[1:]):
        raise AssertionError(f"got shape {ins[0].shape}, expected {tuple(_ints(ins[1:]))}")
    return ins[0]


@_instruction("rebroadcast")
def _rebroadcast(op: Any, ins: Values) -> Any:
    if any(ins[0].shape[axis] != 1 for axis in op.axes):
        raise ValueError("a dimension that broadcasts must have length 1")
    return ins[0]


@_instruction("assert_op")
def _assert(op: Any, ins: Values) -> Any:
    if not all(np.all(condition) for condition in ins[1:]):
        raise op.exception(op.message)
    return ins[0]


@_instruction("check_index")
def _check_index(op: Any, ins: Values) -> Any:
    integers, x = ins
    if np.any((integers < 0) | (integers >= x.shape[op.axis])):
        raise ValueError(op.message)
    return ()


@_instruction("check_bounds")
def _check_bounds(op: Any, ins: Values) -> Any:
    x, *indices = ins
    for axis, index in zip(op.axes, indices, strict=True):
        if np.any((index < -x.shape[axis]) | (index >= x.shape[axis])):
            raise IndexError(f"index out of bounds for axis {axis} of length {x.shape[axis]}")
    return ()


@_instruction("shape_i")
def _shape_i(op: Any, ins: Values) -> Any:
    return np.array(ins[0].shape[op.axis], "int64")


@_instruction("shape")
def _shape(op: Any, ins: Values) -> Any:
    return np.array(ins[0].shape, "int64")


@_instruction("alloc")
def _alloc(op: Any, ins: Values) -> Any:
    return np.array(np.broadcast_to(ins[0], _ints(ins[1:])))


@_instruction("inc_subtensor")
def _inc_subtensor(op: Any, ins: Values) -> Any:
    out = ins[0] if op.inplace else np.array(ins[0])
    at = _index(op.index, ins)
    out[at] = ins[1] if op.set else out[at] + ins[1].astype(out.dtype)
    return out


@_instruction("advanced_subtensor")
def _advanced_subtensor(op: Any, ins: Values) -> Any:
    return ins[0][_at(op.axes, ins[0].ndim, ins[1:])]


@_instruction("advanced_inc")
def _advanced_inc(op: Any, ins: Values) -> Any:
    x, y, *indices = ins
    out = x if op.inplace else np.array(x)
    at = _at(op.axes, x.ndim, indices)
    if op.set:
        out[at] = y
    else:
        np.add.at(out, at, y.astype(out.dtype))
    return out


@_instruction("dot")
def _dot(op: Any, ins: Values) -> Any:
    return np.asarray(np.dot(*ins))


@_instruction("dot22scalar")
def _dot22scalar(op: Any, ins: Values) -> Any:
    x, y, alpha = ins
    return (np.dot(x, y) * alpha).astype(x.dtype)


@_instruction("gemm")
@_instruction("gemv")
def _gemm(op: Any, ins: Values) -> Any:
    z, alpha, x, y, beta = ins
    value = (beta * z + alpha * np.dot(x, y)).astype(z.dtype)
    if not op.inplace:
        return value
    z[...] = value
    return z


@_instruction("ger")
def _ger(op: Any, ins: Values) -> Any:
    a, alpha, x, y = ins
    value = (a + alpha * np.outer(x, y)).astype(a.dtype)
    if not op.inplace:
        return value
    a[...] = value
    return a


@_instruction("call")
def _call(op: Any, ins: Values) -> Any:
    return op.function(*ins)


@_instruction("thunk")
def _thunk(op: Any, ins: Values) -> Any:
    for storage, value in zip(op.in_storages, ins, strict=True):
        storage[0] = value
    op.thunk()
    values = tuple([storage[0] for storage in op.out_storages])
    for storage in (*op.in_storages, *op.out_storages):
        storage[0] = None
    return values

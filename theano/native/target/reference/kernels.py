"""Kernels of the loop-nest IR in NumPy: all points of the iteration space at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.native import ir
from theano.native.target.reference.expressions import convert, run

_REDUCTIONS: dict[str, np.ufunc] = {
    "add": np.add, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "all": np.logical_and, "any": np.logical_or,
}  # fmt: skip


class ReferenceKernel:
    """A kernel that can be called with its input arrays; gives its output arrays."""

    def __init__(self, kernel: ir.Kernel):
        ir.verify(kernel)
        self.kernel = kernel

    def __call__(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            return _Run(self.kernel, inputs).outputs()


class _Run:
    """One call of a kernel.

    Attributes
    ----------
    shape, outer_shape, inner_shape, row_shape
        Lengths of the iteration dims: of all, of the outer ones, of the inner ones; of those of a value a row.
    rows
        Values that there is one of a row: arrays of the outer dims, with an inner one of length 1 for each.
    results
        What was stored to the outputs, along the iteration dims.
    """

    def __init__(self, kernel: ir.Kernel, inputs: Sequence[Any]):
        self.kernel = kernel
        self.inputs = list(inputs)
        self.shape = self._lengths()
        self.inner = tuple(range(kernel.n_outer, kernel.ndim))
        self.outer_shape, self.inner_shape = self.shape[: kernel.n_outer], self.shape[kernel.n_outer :]
        self.row_shape = (*self.outer_shape, *(1 for _ in self.inner))
        self.rows: dict[str, Any] = {}
        self.results: dict[int, np.ndarray] = {}

    def _lengths(self) -> tuple[int, ...]:
        found: list[int | None] = [None] * self.kernel.ndim
        for operand, value in zip(self.kernel.inputs, self.inputs, strict=True):
            for dim in range(self.kernel.ndim):
                if operand.broadcast[dim]:
                    continue
                length = value.shape[operand.axis_of(dim)]
                if found[dim] not in (None, length):
                    raise ValueError(f"Input dimension mismatch: lengths {found[dim]} and {length} of dimension {dim}")
                found[dim] = length
        return tuple(1 if n is None else n for n in found)

    def _element(self, number: int) -> np.ndarray:
        """An input, laid out along the iteration dims; those that it does not walk have length 1."""
        operand = self.kernel.inputs[number]
        return _laid_out(self.inputs[number], [operand.axis_of(d) for d in range(self.kernel.ndim)])

    def outputs(self) -> list[np.ndarray]:
        kernel = self.kernel
        if kernel.nonempty and 0 in self.inner_shape:
            raise ValueError("zero-size array to reduction operation which has no identity")
        self.rows = {ld.var: self._element(ld.operand) for ld in kernel.row_loads}
        for stage in kernel.stages:
            self._stage(stage)
        return [self._finished(j) for j in range(len(kernel.outputs))]

    def _stage(self, stage: ir.Stage) -> None:
        values = dict(self.rows)
        for ld in stage.loads:
            values[ld.var] = self._loaded(ld)
        if stage.index is not None:
            positions = np.arange(int(np.prod(self.inner_shape)), dtype="int64")
            values[stage.index] = positions.reshape((1,) * self.kernel.n_outer + self.inner_shape)
        run(stage.body, values)
        for s in stage.stores:
            self.results[s.output] = np.array(np.broadcast_to(values[s.var], self.shape))
        for r in stage.reduces:
            self.rows[r.result] = self._reduced(r, values[r.value])
        for pick in stage.picks:
            flat = np.broadcast_to(self._loaded(pick.load), self.shape).reshape(*self.outer_shape, -1)
            self.rows[pick.load.var] = np.take_along_axis(flat, self._places(pick.at), -1).reshape(self.row_shape)
        run(stage.row, self.rows)
        for s in stage.row_stores:
            self.results[s.output] = np.broadcast_to(self.rows[s.var], self.row_shape)
        for put in stage.puts:
            flat = self.results[put.output].reshape(*self.outer_shape, -1)
            value = np.broadcast_to(self.rows[put.var], self.row_shape).reshape(*self.outer_shape, 1)
            np.put_along_axis(flat, self._places(put.at), value, -1)
            self.results[put.output] = flat.reshape(self.shape)

    def _loaded(self, ld: ir.Load | ir.Reload) -> np.ndarray:
        return self.results[ld.output] if isinstance(ld, ir.Reload) else self._element(ld.operand)

    def _places(self, at: str) -> np.ndarray:
        """Positions within rows, one a row; what is none is taken for the first, as nobody looks."""
        places = np.broadcast_to(self.rows[at], self.row_shape).reshape(*self.outer_shape, 1)
        places = places.astype("int64")
        count = int(np.prod(self.inner_shape))
        return np.where((places >= 0) & (places < count), places, 0)

    def _reduced(self, r: ir.Reduce, value: Any) -> np.ndarray:
        value = np.broadcast_to(convert(value, r.acc_dtype) if r.op not in ("all", "any") else np.asarray(value) != 0, self.shape)
        op = r.combines
        if op in ("maximum", "minimum") and 0 in self.inner_shape:
            return np.full(self.row_shape, ir.neutral(op, r.acc_dtype), r.acc_dtype)
        wide = r.acc_dtype if op in ("add", "mul") else None
        return convert(_REDUCTIONS[op].reduce(value, axis=self.inner, dtype=wide, keepdims=True), r.acc_dtype)

    def _finished(self, number: int) -> np.ndarray:
        """An output in the order of its axes, in the memory that it takes."""
        out = self.kernel.outputs[number]
        value = _laid_out(self.results[number], out.dims)
        if out.alias < 0:
            return np.array(value, dtype=out.dtype)
        target = self.inputs[out.alias]
        target[...] = value
        return target


def _laid_out(value: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """An array with these of its axes, and one of length 1 for each -1; the others have length 1."""
    walked = [a for a in axes if a >= 0]
    order = [*walked, *(a for a in range(value.ndim) if a not in walked)]
    return value.transpose(order).reshape([value.shape[a] if a >= 0 else 1 for a in axes])

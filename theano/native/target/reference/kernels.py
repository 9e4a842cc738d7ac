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
    shape
        Lengths of the iteration dims.
    rows
        Values that there is one of a row: arrays of the outer dims, with an inner one of length 1 for each.
    """

    def __init__(self, kernel: ir.Kernel, inputs: Sequence[Any]):
        self.kernel = kernel
        self.inputs = list(inputs)
        self.shape = self._lengths()
        self.inner = tuple(range(kernel.n_outer, kernel.ndim))
        self.rows: dict[str, Any] = {}
        self.full: dict[int, np.ndarray] = {}
        self.per_row: dict[int, np.ndarray] = {}

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
        operand, value = self.kernel.inputs[number], self.inputs[number]
        ndim = self.kernel.ndim
        axes = [operand.axis_of(d) for d in range(ndim)]
        unwalked = [a for a in range(value.ndim) if a not in axes]
        value = value.transpose([*(a for a in axes if a >= 0), *unwalked])
        walked = value.shape[: value.ndim - len(unwalked)]
        lengths = iter(walked)
        return value.reshape([next(lengths) if a >= 0 else 1 for a in axes])

    def outputs(self) -> list[np.ndarray]:
        kernel = self.kernel
        if kernel.nonempty and 0 in [self.shape[d] for d in self.inner] and 0 not in self.shape[: kernel.n_outer]:
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
            lengths = [self.shape[d] for d in self.inner]
            positions = np.arange(int(np.prod(lengths)), dtype="int64").reshape(lengths)
            values[stage.index] = positions.reshape([1] * self.kernel.n_outer + lengths)
        run(stage.body, values)
        for s in stage.stores:
            self.full[s.output] = np.array(np.broadcast_to(values[s.var], self.shape))
        for r in stage.reduces:
            self.rows[r.result] = self._reduced(r, values[r.value])
        for pick in stage.picks:
            flat = np.broadcast_to(self._loaded(pick.load), self.shape).reshape(*self.shape[: self.kernel.n_outer], -1)
            self.rows[pick.load.var] = np.take_along_axis(flat, self._places(pick.at), -1).reshape(self._row_shape())
        run(stage.row, self.rows)
        for s in stage.row_stores:
            self.per_row[s.output] = self.rows[s.var]
        for put in stage.puts:
            flat = self.full[put.output].reshape(*self.shape[: self.kernel.n_outer], -1)
            value = np.broadcast_to(self.rows[put.var], self._row_shape()).reshape(*self.shape[: self.kernel.n_outer], 1)
            np.put_along_axis(flat, self._places(put.at), value, -1)
            self.full[put.output] = flat.reshape(self.shape)

    def _loaded(self, ld: ir.Load | ir.Reload) -> np.ndarray:
        return self.full[ld.output] if isinstance(ld, ir.Reload) else self._element(ld.operand)

    def _row_shape(self) -> tuple[int, ...]:
        return (*self.shape[: self.kernel.n_outer], *(1 for _ in self.inner))

    def _places(self, at: str) -> np.ndarray:
        """Positions within rows, one a row; what is none is taken for the first, as nobody looks."""
        places = np.broadcast_to(self.rows[at], self._row_shape()).reshape(*self.shape[: self.kernel.n_outer], 1)
        places = places.astype("int64")
        count = int(np.prod([self.shape[d] for d in self.inner]))
        return np.where((places >= 0) & (places < count), places, 0)

    def _reduced(self, r: ir.Reduce, value: Any) -> np.ndarray:
        value = np.broadcast_to(convert(value, r.acc_dtype) if r.op not in ("all", "any") else np.asarray(value) != 0, self.shape)
        op = r.op
        if r.acc_dtype == "bool":
            op = {"add": "any", "mul": "all"}.get(op, op)
        if op in ("maximum", "minimum") and 0 in [self.shape[d] for d in self.inner]:
            return np.full(self._row_shape(), ir.neutral(op, r.acc_dtype), r.acc_dtype)
        if op in ("all", "any") and value.dtype != bool:
            value = value != 0
        wide = r.acc_dtype if op in ("add", "mul") else None
        return convert(_REDUCTIONS[op].reduce(value, axis=self.inner, dtype=wide, keepdims=True), r.acc_dtype)

    def _finished(self, number: int) -> np.ndarray:
        """An output in the order of its axes, in the memory that it takes."""
        kernel, out = self.kernel, self.kernel.outputs[number]
        if number in self.full:
            value = np.broadcast_to(self.full[number], self.shape)
            dims = list(range(kernel.ndim))
        else:
            value = np.broadcast_to(self.per_row[number], self._row_shape()).reshape(self.shape[: kernel.n_outer])
            dims = list(range(kernel.n_outer))
        walked = [d for d in out.dims if d >= 0]
        value = value.transpose([dims.index(d) for d in walked])
        lengths = iter(value.shape)
        value = value.reshape([next(lengths) if d >= 0 else 1 for d in out.dims])
        if out.alias < 0:
            return np.array(value, dtype=out.dtype)
        target = self.inputs[out.alias]
        target[...] = value
        return target

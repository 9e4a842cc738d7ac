"""Runs programs instruction by instruction in Python, on NumPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from theano.native import ir
from theano.native.target import target
from theano.native.target.base import Target
from theano.native.target.reference.instructions import INSTRUCTIONS
from theano.native.target.reference.kernels import ReferenceKernel
from theano.process import new_lock

_CONTROL = frozenset(("jump", "jump_if_false", "guard", "kernel"))


class Reference(Target):
    """NumPy: the same kernels as those of the CPU, so that these can be checked."""

    name = "reference"
    runs_c_code = False

    def __init__(self) -> None:
        super().__init__()
        model = target("cpu")
        self.limits, self.weights, self.costs, self.kernels = model.limits, model.weights, model.costs, model.kernels
        self._model = model

    def has(self, op: Any) -> bool:
        return op.name in INSTRUCTIONS or op.name in _CONTROL

    def load_kernels(self, kernels: Sequence[ir.Kernel]) -> list[ReferenceKernel]:
        return [ReferenceKernel(kernel) for kernel in kernels]

    def build(self, builder: Any, build: Any) -> ReferenceProgram:
        return ReferenceProgram(builder, build)

    def runs_again(self, statements: Iterable[ir.Statement]) -> bool:
        return self._model.runs_again(statements)


class ReferenceProgram:
    """A program over storages, with the methods of `_runtime.Program` that a linker uses."""

    runs_in_python = True

    def __init__(self, builder: Any, build: Any):
        self.build = build
        self.instrs = list(builder.instrs)
        self.constants = list(builder.constants)
        self.count = len(builder.cells)
        self.is_array = [spec[0] == "tensor" for spec in builder.cells]
        self.shown = builder.shown()
        self.end = len(self.instrs) if builder.end is None else builder.end
        self._lock = new_lock()

    def __call__(self) -> None:
        with self._lock, np.errstate(all="ignore"):
            self._run()

    def _run(self) -> None:
        build = self.build
        cells: list[Any] = [None] * self.count
        for cell, value in self.constants:
            cells[cell] = value
        for cell, storage in build.inputs:
            value = storage[0]
            if self.is_array[cell]:
                value = np.asarray(value)
                if cell in build.destroyed and not value.flags.writeable:
                    value = value.copy()
            cells[cell] = value
        position = 0
        guards: list[int] = []
        try:
            while position < self.end:
                position = self._step(position, cells, guards)
        except Exception as error:
            for guard in reversed(guards):
                self._step(guard, cells, [])
            known = self.instrs[position]
            values = [cells[c] for c in (*known.ins, *self.shown[position])]
            if build.on_error is None:
                raise
            build.on_error((position,), type(error), error, sys.exc_info()[2], values)
            raise
        made = [cells[cell] for cell, _ in build.outputs]
        for (_, storage), value in zip(build.outputs, made, strict=True):
            if storage is not None:
                storage[0] = value
        for output, position in build.updates:
            build.inputs[position][1][0] = made[output]

    def _step(self, position: int, cells: list[Any], guards: list[int]) -> int:
        """Run one instruction; returns the position of the next one."""
        op, ins, outs, _ = self.instrs[position]
        values = [cells[c] for c in ins]
        if op.name == "guard":
            guards.append(op.target)
        elif op.jumps:
            return op.target if op.name == "jump" or not np.all(values[0]) else position + 1
        else:
            if op.name in _CONTROL:
                made: Any = tuple(self.build.kernels[op.kernel.number](values))
            else:
                made = INSTRUCTIONS[op.name](op, values)
            made = made if isinstance(made, tuple) else (made,)
            for cell, value in zip(outs, made, strict=True):
                cells[cell] = np.asarray(value) if self.is_array[cell] else value
        return position + 1

    def free(self) -> None:
        """Nothing is kept between calls."""

    def set_profile(self, wanted: bool) -> None:
        """Times are not taken."""

    def reset_profile(self) -> None:
        """Times are not taken."""

    def node_times(self) -> list[float]:
        return [0.0] * len(self.instrs)

    def node_counts(self) -> list[int]:
        return [0] * len(self.instrs)

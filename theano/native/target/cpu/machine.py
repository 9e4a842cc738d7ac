"""The CPU as the rest of the engine sees it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

from theano.native import ir
from theano.native.program import Build, PendingKernel, PendingProgram, ProgramBuilder
from theano.native.target.base import Limits, Target
from theano.native.target.cpu.form import Form, Step
from theano.native.target.cpu.printer import COSTS, GUARDED, called_functions


class CPU(Target):
    """Kernels in C, a virtual machine in C for everything else."""

    name = kernels = "cpu"
    runs_c_code = True
    # The compiler's time grows faster than the kernel, and long chains that repeat a pattern are cut into pieces of equal text,
    # which are compiled once: hence no more weight.
    limits = Limits(operands=ir.MAX_OPERANDS, inputs=24, reductions=12, weight=64, copied=7, gathers=8, indexed_rank=24)
    weights = {
        "": 8, "div": 2, "sqrt": 2, "tk_floordiv": 4, "tk_mod": 4, "fabs": 1,
    }  # fmt: skip
    # Loops with guarded functions may have to run again.
    costs = {**COSTS, "fabs": 0.0, "div": 0.0, "memory": 1.75, **dict.fromkeys(GUARDED, 1.75)}

    def has(self, op: Any) -> bool:
        return True

    def load_kernels(self, kernels: Sequence[ir.Kernel]) -> list[Any]:
        if not kernels:
            return []
        from theano.native.target.cpu.compiler import load_kernels

        return load_kernels(kernels)

    def build(self, builder: ProgramBuilder, build: Build) -> Any:
        storages = [storage for _, storage in build.inputs], [storage for _, storage in build.outputs]
        return form(builder, build).realised(build.kernels, *storages, build.on_error)

    def runs_again(self, statements: Iterable[ir.Statement]) -> bool:
        return any(not GUARDED.isdisjoint(called_functions(s)) for s in statements)


def form(builder: ProgramBuilder, build: Build) -> Form:
    """The instructions of a builder as the runtime takes them."""
    shown = builder.shown()
    kept = {cell for cell, _ in (*build.inputs, *builder.constants, *build.outputs)}
    frees = [[]] * len(builder.instrs) if build.keep_values else builder.last_uses(kept, shown)
    steps = []
    for instr, free, tells in zip(builder.instrs, frees, shown, strict=True):
        params: tuple[Any, ...] = tuple([_plain(value) for value in instr.op])
        first = instr.op[0] if params else None
        kernel = first.number if isinstance(first, PendingKernel) else None
        nested = when_built = None
        if isinstance(first, PendingProgram):
            nested = form(first.builder, Build([(cell, []) for cell in first.inputs], [(cell, None) for cell in first.outputs]))
            when_built = first.when_built
        if kernel is not None or nested is not None:
            params = params[1:]
        steps.append(Step(instr.op.name, instr.ins, instr.outs, params, kernel, nested, when_built, tuple(free), tells))
    return Form(
        builder.cells,
        steps,
        len(steps) if builder.tail_start is None else builder.tail_start,
        [(cell, cell in build.destroyed) for cell, _ in build.inputs],
        builder.constants,
        [cell for cell, _ in build.outputs],
        list(build.updates),
        build.serialise,
        -1 if builder.end is None else builder.end,
    )


def _plain(value: Any) -> Any:
    """Members of enumerations as numbers."""
    if isinstance(value, enum.IntEnum):
        return int(value)
    return tuple([_plain(v) for v in value]) if type(value) is tuple else value

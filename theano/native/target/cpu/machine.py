"""The CPU as the rest of the engine sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from theano.native import ir
from theano.native.fastcall import _runtime
from theano.native.program import Build, ProgramBuilder
from theano.native.target.base import Limits, Target
from theano.native.target.cpu.printer import COSTS, GUARDED, called_functions
from theano.native.threads import apply_thread_count


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
    costs = {**COSTS, "fabs": 0.0, "memory": 1.75}

    def has(self, op: Any) -> bool:
        return True

    def load_kernels(self, kernels: Sequence[ir.Kernel]) -> list[Any]:
        if not kernels:
            return []
        from theano.native.target.cpu.compiler import load_kernels

        return load_kernels(kernels)

    def build(self, builder: ProgramBuilder, build: Build) -> Any:
        shown = builder.shown()
        kept = {cell for cell, _ in (*build.inputs, *builder.constants, *build.outputs)}
        frees = [[]] * len(builder.instrs) if build.keep_values else builder.last_uses(kept, shown)
        instrs = []
        for position, (instr, free) in enumerate(zip(builder.instrs, frees, strict=True)):
            params = builder.resolved(instr.op, build.kernels)
            instrs.append((instr.op.name, instr.ins, instr.outs, params, position, tuple(free), shown[position]))
        apply_thread_count(_runtime)
        return _runtime.Program(
            builder.cells,
            instrs,
            len(instrs) if build.tail_start is None else build.tail_start,
            [(cell, storage, cell in build.destroyed) for cell, storage in build.inputs],
            builder.constants,
            list(build.outputs),
            list(build.updates),
            on_error=build.on_error,
            serialise=build.serialise,
            end=-1 if builder.end is None else builder.end,
        )

    def is_cheap(self, op: Any) -> bool:
        return super().is_cheap(op) and GUARDED.isdisjoint(self.functions_of(op))

    def runs_again(self, statements: Iterable[ir.Statement]) -> bool:
        return any(not GUARDED.isdisjoint(called_functions(s)) for s in statements)

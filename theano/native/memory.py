"""Which cells of a program share memory, and what each instruction overwrites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theano.native import instructions as vm
from theano.native import ir
from theano.native.program import Instr


def overwritten(instr: Instr, kernels: Sequence[ir.Kernel]) -> dict[int, int]:
    """For the outputs of an instruction that take the memory of an input, which they overwrite, that input.

    What the table does not tell (`Memory.ANY`) is left out.
    """
    op = instr.op
    if op.memory is vm.Memory.INPLACE:
        return {instr.outs[0]: instr.ins[0]} if op.in_place else {}
    if op.memory is not vm.Memory.KERNEL:
        return {}
    kernel = kernels[op.kernel.number]
    target = scatter_target(instr, kernel)
    if target is not None:
        return {instr.outs[0]: target}
    return {cell: instr.ins[out.alias] for out, cell in zip(kernel.outputs, instr.outs, strict=True) if out.alias >= 0}


def may_change(instr: Instr, kernels: Sequence[ir.Kernel]) -> Iterable[int]:
    """The cells that an instruction may write to."""
    return instr.ins if instr.op.memory is vm.Memory.ANY else overwritten(instr, kernels).values()


def scatter_target(instr: Instr, kernel: ir.Kernel) -> int | None:
    """The cell that an `indexed_kernel` writes a part of."""
    scatter = instr.op.scatter if isinstance(instr.op, vm.IndexedKernel) else None
    if scatter is None:
        return None
    *_, sets = scatter
    # A kernel that adds has the target as its last input.
    return instr.ins[len(kernel.inputs) - (not sets)]


def shared(instr: Instr, kernels: Sequence[ir.Kernel]) -> list[tuple[int, int]]:
    """Pairs of cells that may have common memory by an instruction."""
    memory = instr.op.memory
    if memory is vm.Memory.SAME or memory is vm.Memory.VIEW:
        return [(instr.ins[0], out) for out in instr.outs]
    if memory is vm.Memory.ANY:
        return [(source, out) for out in instr.outs for source in instr.ins]
    return [(source, out) for out, source in overwritten(instr, kernels).items()]


class Sharing:
    """Classes of cells that may share memory."""

    def __init__(self, instrs: Iterable[Instr], kernels: Sequence[ir.Kernel]):
        self._root: dict[int, int] = {}
        for instr in instrs:
            for a, b in shared(instr, kernels):
                self._root[self.root(b)] = self.root(a)

    def root(self, cell: int) -> int:
        """One cell for all those that may share memory with this one."""
        while (up := self._root.get(cell, cell)) != cell:
            self._root[cell] = self._root.get(up, up)
            cell = up
        return cell

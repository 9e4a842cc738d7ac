"""State that a program overwrites and puts back should it fail.

Where all that may fail is known before anything is overwritten, a program needs none of this (see
`Lowered.tail_is_preparable`). Otherwise each instruction that overwrites state is preceded by a copy of just the elements that
it writes to, and by a ``guard``: if the program fails later, the instruction that the guard names, behind the end of the
program, writes them back. Restoring runs backwards, so an array of which all elements are kept needs no later copy. Objects
whose Type says how they are put back are kept before the program begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theano.gof.graph import Variable
from theano.native import instructions as vm
from theano.native.memory import Sharing, may_change, overwritten, scatter_target
from theano.native.optimize.indexing import indexed_rank, shifted
from theano.native.optimize.schedule import destroyed_inputs
from theano.native.program import Instr, ProgramBuilder, cell_spec
from theano.tensor import bvector
from theano.tensor.raw_random import pending_normal_at

_BYTES = cell_spec(bvector)


def guard_state(builder: ProgramBuilder, state: Iterable[int], objects: Sequence[Variable]) -> None:
    """Guard the instructions that write to cells of arrays, or to views of them, and objects."""
    sharing = Sharing(builder.instrs, builder.kernels)
    changed = {sharing.root(cell) for instr in builder.instrs for cell in may_change(instr, builder.kernels)}
    # The cells that are all of a state, and what of each class of cells is not yet kept whole.
    whole = {cell: cell for cell in state}
    unsaved: dict[int, set[int]] = {}
    for cell in whole:
        unsaved.setdefault(sharing.root(cell), set()).add(cell)
    always = True
    guarded: dict[int, list[Instr]] = {}
    undo: list[Instr] = []
    first: list[Instr] = []
    pending = pending_normal_at() if objects else 0
    for variable in objects:
        cell, kept = builder.cell(variable), (builder.new_cell(("object",)), builder.new_cell(_BYTES))
        first += [Instr(vm.KeepState(pending, variable.type.get_state), (cell,), kept, None), Instr(vm.Guard(0), (), (), None)]
        undo.append(Instr(vm.RestoreState(pending, variable.type.set_state), (cell, *kept), (), None))
    for position, instr in enumerate(builder.instrs):
        before: list[Instr] = []
        for source in _written(builder, instr):
            states = unsaved.get(sharing.root(source), set())
            if not (states & {whole[source]} if source in whole else states):
                continue
            saves, restore = _save(builder, instr, source)
            kept = {cell: builder.new_cell(builder.cells[cell]) for cell in restore.ins[2:] if sharing.root(cell) in changed}
            saves += [Instr(vm.Copy(), (index,), (copy,), instr.node) for index, copy in kept.items()]
            before += [*saves, Instr(vm.Guard(0), (), (), instr.node)]
            undo.append(restore._replace(ins=(*restore.ins[:2], *(kept.get(cell, cell) for cell in restore.ins[2:]))))
            if always and source in whole and restore.op == vm.IncSubtensor((), True, True):
                states.remove(whole[source])
        if before:
            guarded[position] = [*before, instr]
        always = always and not instr.op.jumps
        if always:
            same = {instr.outs[0]: instr.ins[0]} if instr.op.memory is vm.Memory.SAME else overwritten(instr, builder.kernels)
            whole.update((out, whole[source]) for out, source in same.items() if source in whole)
    guarded[0] = [*first, *guarded.get(0, builder.instrs[:1])]
    builder.replace_instrs(guarded)
    # A tail that is all of the program begins behind what is kept.
    builder.tail_start = len(first) if builder.tail_start == 0 else builder.tail_start
    builder.end = target = len(builder.instrs)
    for position, instr in enumerate(builder.instrs):
        if isinstance(instr.op, vm.Guard):
            builder.aim(position, target)
            target += 1
    builder.instrs += undo


def _written(builder: ProgramBuilder, instr: Instr) -> list[int]:
    """The cells of arrays that an instruction writes to."""
    if instr.op.memory is not vm.Memory.ANY:
        return list(overwritten(instr, builder.kernels).values())
    if instr.node is None:
        return []
    cells = dict.fromkeys(map(builder.cell, destroyed_inputs(instr.node)))
    return [cell for cell in cells if cell in instr.ins and builder.cells[cell][0] == "tensor"]


def _save(builder: ProgramBuilder, instr: Instr, source: int) -> tuple[list[Instr], Instr]:
    """Instructions that copy what `instr` overwrites of a cell, and the one that writes it back."""
    kind, dtype, ndim, _ = builder.cells[source]
    written = builder.new_cell(builder.cells[source])
    axes: tuple[int, ...] = ()
    if isinstance(instr.op, vm.AdvancedInc):
        axes = instr.op.axes
    elif isinstance(instr.op, vm.IndexedKernel) and scatter_target(instr, builder.kernels[instr.op.kernel.number]) == source:
        _, axes, _ = instr.op.scatter
    if axes:
        indices = instr.ins[-len(axes) :]
        rank = ndim - len(axes) + max(builder.cells[cell][2] for cell in indices)
        saved = builder.new_cell((kind, dtype, rank, (False,) * rank))
        saves = [Instr(vm.AdvancedSubtensor(axes), (source, *indices), (saved,), instr.node)]
        return saves, Instr(vm.AdvancedInc(axes, True, True), (source, saved, *indices), (written,), None)
    part, index, indices, saves = source, (), (), []
    if isinstance(instr.op, vm.IncSubtensor):
        index, indices = instr.op.index, instr.ins[2:]
        rank = indexed_rank(index, ndim)
        part = builder.new_cell((kind, dtype, rank, (False,) * rank))
        saves = [Instr(vm.Subtensor(shifted(index)), (source, *indices), (part,), instr.node)]
    saved = builder.new_cell(builder.cells[part])
    saves.append(Instr(vm.Copy(), (part,), (saved,), instr.node))
    return saves, Instr(vm.IncSubtensor(index, True, True), (source, saved, *indices), (written,), None)

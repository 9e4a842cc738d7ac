"""Kernels that gather their operands and scatter their results.

The lowerings make an instruction of every gather (``advanced_subtensor``) and of every write into a part of an array
(``advanced_inc``, ``inc_subtensor``). This pass over the instructions lets a kernel do that work itself where the array in
between is seen by nobody else:

* ``advanced_subtensor(table, i) -> x; kernel(x, ...)`` becomes ``check_bounds(table, i); indexed_kernel(table, ..., i)``;
* ``kernel(...) -> y; advanced_inc(table, y, i)`` becomes ``check_bounds(table, i); indexed_kernel(..., table, i)``, and a
  write into slices an `indexed_kernel` over the view.

The text of the kernel stays what it was: how an `indexed_kernel` runs it is described in ``runtime/instr_indexed.c``.

Single elements, whose index arrays apply to all axes, stay with the instructions for them: these are as quick as the
elements are far from each other in memory, and the array in between is small.

A gather moves to the place of its kernel, and a kernel to the place of its scatter, so nothing in between may overwrite what
they read. A kernel in place takes fresh memory where it would have taken that of an array that is not made any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from theano.native import instructions as vm
from theano.native import ir
from theano.native.memory import Sharing, may_change
from theano.native.program import Instr, PendingKernel, ProgramBuilder
from theano.scalar.expression import variable


class _Gather(NamedTuple):
    """An operand of a kernel that is read through index arrays.

    Parameters
    ----------
    operand
        Position among the kernel's inputs.
    table, indices, axes
        Cells, and the axes of the table that the index arrays apply to.
    at
        Place of the dims of the indices in the operand.
    """

    operand: int
    table: int
    indices: tuple[int, ...]
    axes: tuple[int, ...]
    at: int


class _Kernel:
    """A kernel of the program, with what it gathers.

    Attributes
    ----------
    dims
        Iteration dims of the index arrays; None: nothing is gathered.
    """

    def __init__(self, position: int, instr: Instr, kernel: ir.Kernel):
        self.position = position
        self.instr = instr
        self.kernel = kernel
        self.gathers: list[_Gather] = []
        self.dims: tuple[int, ...] | None = None

    def sources(self) -> list[int]:
        """For each input the cell of what is read, of one that is gathered the table."""
        tables = {g.operand: g.table for g in self.gathers}
        return [tables.get(k, cell) for k, cell in enumerate(self.instr.ins)]

    def dims_of(self, operand: int, at: int, count: int) -> tuple[int, ...] | None:
        """The outer iteration dims that walk these axes of an input, if they do so in this order."""
        given = self.kernel.inputs[operand]
        walks = {given.axis_of(d): d for d in range(self.kernel.n_outer) if not given.broadcast[d]}
        return _increasing([walks.get(axis, -1) for axis in range(at, at + count)])


def _increasing(dims: list[int]) -> tuple[int, ...] | None:
    ordered = dims and dims[0] >= 0 and all(a < b for a, b in zip(dims, dims[1:], strict=False))
    return tuple(dims) if ordered else None


def fuse_indexing(builder: ProgramBuilder, outputs: set[int]) -> None:
    """Let the kernels of a program do the gathers and scatters around them.

    Parameters
    ----------
    builder
        Holds the instructions, which are replaced.
    outputs
        Cells that must have a value at the end.
    """
    if not builder.target.has(vm.IndexedKernel):
        return
    kinds = {type(instr.op) for instr in builder.instrs}
    if vm.Kernel not in kinds or kinds.isdisjoint((vm.AdvancedSubtensor, vm.AdvancedInc, vm.IncSubtensor)):
        return
    program = _Program(builder, outputs)
    program.fuse(program._fuse_gather, vm.AdvancedSubtensor)
    program.fuse(program._fuse_scatter, vm.AdvancedInc, vm.IncSubtensor)
    program.rebuild()


class _Program:
    """The instructions of a builder, and who reads and writes what."""

    def __init__(self, builder: ProgramBuilder, outputs: set[int]):
        self.builder = builder
        self.instrs = builder.instrs
        self.constants = dict(builder.constants)
        self.kernels: dict[int, _Kernel] = {}
        self.replaced: dict[int, list[Instr]] = {}
        self.makers: dict[int, list[int]] = {}
        self.readers: dict[int, list[int]] = {}
        self.root = Sharing(self.instrs, builder.kernels).root
        self._blocks: list[int] = []
        # What nobody makes, and what must stay, is as good as read by somebody else.
        for cell in outputs:
            self.readers.setdefault(cell, []).append(-1)
        for position, instr in enumerate(self.instrs):
            for cell in instr.outs:
                self.makers.setdefault(cell, []).append(position)
            for cell in instr.ins:
                self.readers.setdefault(cell, []).append(position)
        self._find_blocks()
        self.written: dict[int, list[int]] = {}
        for position, instr in enumerate(self.instrs):
            for cell in may_change(instr, builder.kernels):
                self.written.setdefault(self.root(cell), []).append(position)

    def _find_blocks(self) -> None:
        """Number the runs of instructions that are entered and left at their ends only."""
        starts = {i.op.target for i in self.instrs if i.op.jumps}
        number = 0
        for position, instr in enumerate(self.instrs):
            number += position in starts
            self._blocks.append(number)
            number += instr.op.jumps

    def _only(self, cell: int) -> int | None:
        """The position of the one instruction that makes a cell."""
        makers = self.makers.get(cell, ())
        return makers[0] if len(makers) == 1 else None

    def _can_move(self, start: int, stop: int, cells: list[int]) -> bool:
        """Whether what is read at `start` can be read at `stop` instead."""
        if self._blocks[start] != self._blocks[stop]:
            return False
        roots = {self.root(cell) for cell in cells}
        return not any(start < p < stop for root in roots for p in self.written.get(root, ()))

    def _rank(self, cell: int) -> int:
        return self.builder.cells[cell][2]

    def _dtype(self, cell: int) -> int:
        return self.builder.cells[cell][1]

    def _flags(self, cell: int) -> tuple[bool, ...]:
        return self.builder.cells[cell][3]

    def kernel_at(self, position: int) -> _Kernel:
        """The kernel at a position, as this pass has it."""
        found = self.kernels.get(position)
        if found is None:
            instr = self.instrs[position]
            found = _Kernel(position, instr, self.builder.kernels[instr.op.kernel.number])
        return found

    def fuse(self, one: Callable[[int, Instr], None], *kinds: type) -> None:
        """Let kernels do the work of instructions of some kinds, as `one` does for a single one."""
        for position, instr in enumerate(self.instrs):
            if isinstance(instr.op, kinds):
                one(position, instr)

    # -- gathers

    def _fuse_gather(self, position: int, instr: Instr) -> None:
        table, *indices = instr.ins
        axes = instr.op.axes
        cell = instr.outs[0]
        steps = [position]
        if self._only(cell) != position or len(axes) == self._rank(table):
            return
        readers = self.readers.get(cell, [])
        if len(readers) == 1 and readers[0] >= 0 and isinstance(self.instrs[readers[0]].op, vm.Reshape):
            array = self._index_of_reshaped(instr, readers[0])
            if array is None:
                return
            indices, steps = [array], [position, readers[0]]
            cell = self.instrs[readers[0]].outs[0]
            readers = self.readers.get(cell, []) if self._only(cell) == steps[1] else []
        if len(readers) != 1 or readers[0] < 0 or not isinstance(self.instrs[readers[0]].op, vm.Kernel):
            return
        user = self.kernel_at(readers[0])
        count = self._rank(cell) - self._rank(table) + len(axes)
        operand = user.instr.ins.index(cell)
        gather = _Gather(operand, table, tuple(indices), axes, _place_of(axes))
        dims = user.dims_of(operand, gather.at, count)
        limits = self.builder.target.limits
        full = len(user.gathers) == limits.gathers or self._rank(cell) > limits.indexed_rank
        if dims is None or user.dims not in (None, dims) or full:
            return
        kernel = _without_aliases(user.kernel, {operand})
        read = [table, *indices]
        overwritten = {self.root(user.instr.ins[o.alias]) for o in kernel.outputs if o.alias >= 0}
        if not self._can_move(position, user.position, read) or not overwritten.isdisjoint(map(self.root, read)):
            return
        user.kernel = kernel
        user.dims = dims
        user.gathers.append(gather)
        self.kernels[user.position] = user
        self.replaced[steps[0]] = [_bounds(instr, table, indices, axes)]
        for step in steps[1:]:
            self.replaced[step] = []

    def _index_of_reshaped(self, gather: Instr, position: int) -> int | None:
        """The index array `i` of ``table[i.flatten()].reshape((*i.shape, *table.shape[1:]))``."""
        flat = self._only(gather.ins[1])
        lengths = self._only(self.instrs[position].ins[1])
        if gather.op.axes != (0,) or flat is None or lengths is None or len(self.instrs[position].ins) != 2:
            return None
        flatten, vector = self.instrs[flat], self.instrs[lengths]
        if not isinstance(flatten.op, vm.Reshape) or not isinstance(vector.op, vm.Makevector) or len(flatten.ins) != 2:
            return None
        value = self.constants.get(flatten.ins[1])
        if value is None or value.tolist() != [-1]:
            return None
        array, table = flatten.ins[0], gather.ins[0]
        wanted = [(array, axis) for axis in range(self._rank(array))]
        wanted += [(table, axis) for axis in range(1, self._rank(table))]
        if len(wanted) != len(vector.ins) or not self._can_move(flat, position, [array]):
            return None
        for cell, (source, axis) in zip(vector.ins, wanted, strict=True):
            maker = self._only(cell)
            if maker is None:
                return None
            length = self.instrs[maker]
            if length.op != vm.ShapeI(axis) or length.ins != (source,):
                return None
        return array

    # -- scatters

    def _fuse_scatter(self, position: int, instr: Instr) -> None:
        target, value, *indices = instr.ins
        made = self._only(value)
        if made is None or self.readers.get(value) != [position] or not isinstance(self.instrs[made].op, vm.Kernel):
            return
        maker = self.kernel_at(made)
        kernel = _without_aliases(maker.kernel, set(range(len(maker.kernel.inputs))))
        set_it, inplace = instr.op.set, instr.op.inplace
        if kernel.n_inner or len(kernel.outputs) != 1 or self._dtype(value) != self._dtype(target):
            return
        if not set_it and (kernel.outputs[0].dtype == "bool" or len(kernel.inputs) + 2 > self.builder.target.limits.operands):
            return
        out = kernel.outputs[0]
        rank, ndim = len(out.dims), self._rank(target)
        if rank == 0 or rank > self.builder.target.limits.indexed_rank or min(out.dims) < 0 or any(self._flags(value)):
            return
        if isinstance(instr.op, vm.IncSubtensor):
            entries = instr.op.index
            axes: tuple[int, ...] = ()
            if rank != indexed_rank(entries, ndim):
                return
            at = 0 if maker.dims is None else out.dims.index(maker.dims[0])
            count = 1 if maker.dims is None else len(maker.dims)
        else:
            axes = instr.op.axes
            at = _place_of(axes)
            count = max(self._rank(cell) for cell in indices)
            if rank != ndim - len(axes) + count or count == 0 or len(axes) == ndim:
                return
        dims = _increasing(list(out.dims[at : at + count]))
        if dims is None or maker.dims not in (None, dims):
            return
        same = {g.operand for g in maker.gathers if axes and inplace and g.table == target and g.axes == axes
                and g.indices == tuple(indices) and len(axes) == 1}
        gathered_at = [c for g in maker.gathers for c in g.indices]
        read = [*(cell for k, cell in enumerate(maker.sources()) if k not in same), *indices, *gathered_at]
        if inplace and self.root(target) in set(map(self.root, read)):
            return
        if not self._can_move(made, position, [*maker.sources(), *gathered_at]):
            return
        maker.kernel = kernel if set_it else _adding(kernel)
        maker.dims = dims
        self.kernels.pop(made, None)
        self.replaced[made] = []
        self.replaced[position] = self._scatter_instrs(instr, maker, (at, axes, bool(set_it)), same, bool(inplace))

    def _scatter_instrs(self, instr: Instr, maker: _Kernel, scatter: tuple[Any, ...], same: set[int],
                        inplace: bool) -> list[Instr]:
        source, _, *indices = instr.ins
        out = instr.outs[0]
        axes = scatter[1]
        # Where the table is the target, what was gathered has been checked.
        found = [_bounds(instr, source, indices, axes)] if axes and not same else []
        found.append(Instr(vm.View() if inplace else vm.Copy(), (source,), (out,), instr.node))
        target = out
        if not axes:
            rank = len(maker.kernel.outputs[0].dims)
            target = self.builder.new_cell(("tensor", self._dtype(out), rank, (False,) * rank))
            found.append(Instr(vm.Subtensor(shifted(instr.op.index)), (out, *indices), (target,), instr.node))
        written = self.builder.new_cell(self.builder.cells[target])
        found.append(self._indexed(maker, (written,), instr.node, (target,), indices if axes else [], scatter, same))
        return found

    # -- the new program

    def _indexed(self, user: _Kernel, outs: tuple[int, ...], node: Any, target: tuple[int, ...] = (),
                 indices: Any = (), scatter: Any = None, same: Any = ()) -> Instr:
        ins = [*user.sources(), *target, *(c for g in user.gathers for c in g.indices), *indices]
        gathers = tuple((g.operand, g.at, g.axes, g.operand in same) for g in user.gathers)
        pending = PendingKernel(self.builder.kernel_number(user.kernel))
        return Instr(vm.IndexedKernel(pending, user.dims, gathers, scatter), tuple(ins), outs, node)

    def rebuild(self) -> None:
        """Put the new instructions in place; jumps go where they went."""
        for position, user in self.kernels.items():
            self.replaced[position] = [self._indexed(user, user.instr.outs, user.instr.node)]
        if self.replaced:
            self.builder.replace_instrs(self.replaced)


def _place_of(axes: tuple[int, ...]) -> int:
    """Where the dims of index arrays stand in the result of indexing, as NumPy has them."""
    return axes[0] if axes == tuple(range(axes[0], axes[0] + len(axes))) else 0


def _without_aliases(kernel: ir.Kernel, operands: set[int]) -> ir.Kernel:
    """The same kernel, with fresh memory for the outputs that took that of these inputs."""
    if not any(out.alias in operands for out in kernel.outputs):
        return kernel
    return kernel.replaced(outputs=tuple(o.replaced(alias=-1) if o.alias in operands else o for o in kernel.outputs))


def _adding(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel that adds what an elementwise kernel computes to a further input."""
    stage, out, last = kernel.stages[0], kernel.outputs[0], len(kernel.inputs)
    value, term = (variable(name, out.dtype) for name in (stage.stores[0].var, "term_"))
    axes = tuple(out.dims.index(d) for d in range(kernel.ndim))
    added = stage.replaced(
        loads=(*stage.loads, ir.Load("term_", last)),
        body=(*stage.body, ir.let("total_", term + value)),
        stores=(ir.Store(0, "total_"),),
    )
    operand = ir.Operand(out.dtype, (False,) * kernel.ndim, axes, len(axes))
    return kernel.replaced(inputs=(*kernel.inputs, operand), stages=(added,))


def _bounds(instr: Instr, table: int, indices: Any, axes: tuple[int, ...]) -> Instr:
    return Instr(vm.CheckBounds(axes), (table, *indices), (), instr.node)


def indexed_rank(entries: Any, ndim: int) -> int:
    """The number of dims that an index list leaves of an array."""
    return ndim - sum(isinstance(e, int) or (e is not None and e[0] == "i") for e in entries) + entries.count(None)


def shifted(entries: Any) -> Any:
    """An index list whose inputs are counted from 1 instead of 2."""
    if isinstance(entries, tuple) and len(entries) == 2 and entries[0] == "i":
        return ("i", entries[1] - 1)
    return tuple(map(shifted, entries)) if isinstance(entries, tuple) else entries

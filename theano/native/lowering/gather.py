"""Indexing by arrays: gathering and scattering, boolean masks, diagonals, cumulative sums."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Constant
from theano.native import instructions as vm
from theano.native.lowering.subtensor import require_value_kind
from theano.native.program import OF_REALS, CannotLower, ProgramBuilder, has_general_lowering, is_tensor_like, lowers, lowers_to
from theano.tensor.basic import ExtractDiag, Nonzero, constant
from theano.tensor.extra_ops import CumOp, DiffOp
from theano.tensor.math import neq, sub
from theano.tensor.subtensor import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedSubtensor,
)
from theano.tensor.type_other import MakeSlice, NoneTypeT, SliceType

_WHOLE = ("s", None, None, None)


class _ArrayIndex:
    """An index of arrays, masks, slices and None, in two steps: slices and new axes, then arrays along axes.

    Attributes
    ----------
    basic
        Entries of a ``subtensor`` instruction.
    basic_cells
        Its integer inputs: input 0 is the array.
    arrays
        Cells of integer arrays.
    axes
        The axes, after the first step, that they apply to.
    """

    def __init__(self, builder: ProgramBuilder, x: Any, entries: Any):
        self.builder = builder
        self.basic: list[Any] = []
        self.basic_cells: list[int] = []
        self.arrays: list[int] = []
        self.axes: list[int] = []
        axis = 0
        for entry in entries:
            if isinstance(entry.type, NoneTypeT):
                self.basic.append(None)
            elif isinstance(entry.type, SliceType):
                self.basic.append(("s", *map(self._part, slice_parts(entry))))
                axis += 1
            else:
                found = self._mask(entry, x, axis) if entry.type.dtype == "bool" else [builder.cell(entry)]
                self.axes += range(len(self.basic), len(self.basic) + len(found))
                self.basic += [_WHOLE] * len(found)
                self.arrays += found
                axis += len(found)
        if not self.arrays:
            raise CannotLower("an index without arrays")
        self.rank = x.type.ndim + sum(e is None for e in self.basic)

    @property
    def plain(self) -> bool:
        """Whether there is nothing to do in the first step."""
        return all(e == _WHOLE for e in self.basic)

    def _part(self, part: Any) -> Any:
        if part is None or isinstance(part, Constant):
            return None if part is None else int(part.data)
        if not is_tensor_like(part.type):
            raise CannotLower("a slice of values that are not integers")
        self.basic_cells.append(self.builder.cell(part))
        return ("i", len(self.basic_cells))

    def _mask(self, mask: Any, x: Any, axis: int) -> list[int]:
        """The cells of the positions at which a mask of axes from this one on is true."""
        ndim = mask.type.ndim
        if ndim == 0:
            raise CannotLower("a mask without dimensions")
        found = [self.builder.temporary("int64", (False,)) for _ in range(ndim)]
        self.builder.emit(vm.Nonzero(axis), [self.builder.cell(mask), self.builder.cell(x)], found)
        return found

    def slice_of(self, cell: int, dtype: str) -> int:
        """The cell of the first step's result."""
        if self.plain:
            return cell
        return self.builder.made(vm.Subtensor(tuple(self.basic)), [cell, *self.basic_cells], dtype, (False,) * self.rank)


def slice_parts(entry: Any) -> list[Any]:
    """Start, stop and step of a slice, as variables or None."""
    if isinstance(entry, Constant):
        parts = (entry.data.start, entry.data.stop, entry.data.step)
        return [None if part is None else constant(int(part), dtype="int64") for part in parts]
    if entry.owner is None or not isinstance(entry.owner.op, MakeSlice):
        raise CannotLower("a slice that is an input")
    return [None if isinstance(part.type, NoneTypeT) else part for part in entry.owner.inputs]


#: Ops whose lowerings read the bounds of slices themselves.
reads_bounds: set[type] = {AdvancedSubtensor, AdvancedIncSubtensor, AdvancedBooleanSubtensor, AdvancedBooleanIncSubtensor}


@lowers(MakeSlice)
def lower_make_slice(builder: ProgramBuilder, node: Apply) -> None:
    """Nothing: indexing by arrays reads the bounds itself. One that runs in Python makes the slice before."""
    users = [user for user, _ in node.outputs[0].clients]
    # The lowering that is found may belong to a family that is imported, and adds to `reads_bounds`, only now.
    read = [isinstance(user, Apply) and has_general_lowering(user, builder.target.name) for user in users]
    if not read or not all(read) or not all(isinstance(user.op, tuple(reads_bounds)) for user in users):
        raise CannotLower("a slice that is a value")


@lowers(AdvancedSubtensor, AdvancedBooleanSubtensor)
def lower_advanced_subtensor(builder: ProgramBuilder, node: Apply) -> None:
    x, *entries = node.inputs
    if not is_tensor_like(x.type):
        raise CannotLower("elements of a value that is not an array")
    mask = entries[0].type if len(entries) == 1 else None
    if mask is not None and is_tensor_like(mask) and mask.dtype == "bool" and mask.ndim == x.type.ndim > 0:
        dense = builder.contiguous(builder.cell(x))
        builder.emit(vm.Masked(), [dense, builder.cell(entries[0])], [builder.cell(node.outputs[0])])
        return
    index = _ArrayIndex(builder, x, entries)
    source = index.slice_of(builder.cell(x), x.type.dtype)
    out = builder.cell(node.outputs[0])
    builder.emit(vm.AdvancedSubtensor(tuple(index.axes)), [source, *index.arrays], [out])


@lowers(AdvancedIncSubtensor, AdvancedBooleanIncSubtensor)
def lower_advanced_inc_subtensor(builder: ProgramBuilder, node: Apply) -> None:
    """With slices the target is a view of the output, which is written in place."""
    op = node.op
    require_value_kind(node)
    x, y, *entries = node.inputs
    index = _ArrayIndex(builder, x, entries)
    value = builder.converted(y, x.type.dtype)
    source, out = builder.cell(x), builder.cell(node.outputs[0])
    axes, set_it, inplace = tuple(index.axes), bool(op.set_instead_of_inc), bool(op.inplace)
    if index.plain:
        builder.emit(vm.AdvancedInc(axes, set_it, inplace), [source, value, *index.arrays], [out])
        return
    builder.emit(vm.View() if inplace else vm.Copy(), [source], [out])
    target = index.slice_of(out, x.type.dtype)
    written = builder.temporary(x.type.dtype, (False,) * index.rank)
    builder.emit(vm.AdvancedInc(axes, set_it, True), [target, value, *index.arrays], [written])


lowers_to({Nonzero: lambda op: vm.Nonzero(0)}, where=OF_REALS)


@lowers(ExtractDiag)
def lower_extract_diag(builder: ProgramBuilder, node: Apply) -> None:
    op, x = node.op, node.inputs[0]
    source, out = builder.cell(x), builder.cell(node.outputs[0])
    diagonal = vm.Diagonal(int(op.offset), (int(op.axis1) % x.type.ndim, int(op.axis2) % x.type.ndim))
    if op.view:
        builder.emit(diagonal, [source], [out])
    else:
        view = builder.made(diagonal, [source], x.type.dtype, node.outputs[0].type.broadcastable)
        builder.emit(vm.Copy(), [view], [out])


@lowers(CumOp)
def lower_cumulate(builder: ProgramBuilder, node: Apply) -> None:
    op, x = node.op, node.inputs[0]
    cell = builder.cell(x) if op.axis is not None else builder.flattened(builder.cell(x))
    along = int(op.axis or 0) % max(x.type.ndim, 1)
    builder.emit(vm.Cumulate(along, op.mode == "mul"), [cell], [builder.cell(node.outputs[0])])


@lowers(DiffOp)
def lower_diff(builder: ProgramBuilder, node: Apply) -> None:
    """Each order is a kernel over two views of the array."""
    op, x = node.op, node.inputs[0]
    lead = (slice(None),) * (op.axis % x.type.ndim)
    subtract = neq if x.type.dtype == "bool" else sub
    difference = x
    for _ in range(op.n):
        difference = subtract(difference[(*lead, slice(1, None))], difference[(*lead, slice(None, -1))])
    builder.emit_expressions(node, [x], [difference])

"""Indexing: slices are views, integer indices gather and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.type import Type
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers
from theano.tensor.subtensor import (
    AdvancedIncSubtensor1,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
)


def index_params(idx_list: Any, first: int) -> tuple[Any, ...]:
    """Write an Op's index list as the runtime reads it.

    Parameters
    ----------
    idx_list
        Entries of `Subtensor.idx_list`: a Type stands for the next index input.
    first
        Position of the first index among the inputs of the instruction.
    """
    position = first

    def part(entry: Any) -> Any:
        nonlocal position
        if isinstance(entry, Type):
            position += 1
            return ("i", position - 1)
        if entry is None:
            return None
        if isinstance(entry, int | np.integer):
            return int(entry)
        raise CannotLower(f"an index of kind {entry!r}")

    entries = []
    for entry in idx_list:
        if isinstance(entry, slice):
            entries.append(("s", part(entry.start), part(entry.stop), part(entry.step)))
        else:
            entries.append(part(entry))
    return tuple(entries)


@lowers(Subtensor)
def lower_subtensor(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, vm.Subtensor(index_params(node.op.idx_list, 1)))


@lowers(IncSubtensor)
def lower_inc_subtensor(builder: ProgramBuilder, node: Apply) -> None:
    op = node.op
    write = vm.IncSubtensor(index_params(op.idx_list, 2), bool(op.set_instead_of_inc), bool(op.inplace))
    builder.emit(write, _with_converted_value(builder, node), [builder.cell(node.outputs[0])])


@lowers(AdvancedSubtensor1)
def lower_take(builder: ProgramBuilder, node: Apply) -> None:
    if not is_tensor_like(node.inputs[0].type):
        raise CannotLower("rows of a value that is not an array")
    builder.emit_for(node, vm.AdvancedSubtensor((0,)))


@lowers(AdvancedIncSubtensor1)
def lower_inc_take(builder: ProgramBuilder, node: Apply) -> None:
    op = node.op
    write = vm.AdvancedInc((0,), bool(op.set_instead_of_inc), bool(op.inplace))
    builder.emit(write, _with_converted_value(builder, node), [builder.cell(node.outputs[0])])


def require_value_kind(node: Apply) -> None:
    """Increments of a wider kind (floats to integers) are added before the sum is converted: left to Python."""
    x, y = (np.dtype(v.type.dtype) for v in node.inputs[:2])
    kinds = "biufc"
    if not node.op.set_instead_of_inc and kinds.index(y.kind.replace("u", "i")) > kinds.index(x.kind.replace("u", "i")):
        raise CannotLower("an increment of a wider kind")


def _with_converted_value(builder: ProgramBuilder, node: Apply) -> list[int]:
    """Cells of the inputs, the second one converted to the dtype of the first."""
    x, y, *indices = node.inputs
    require_value_kind(node)
    return [builder.cell(x), builder.converted(y, x.type.dtype), *map(builder.cell, indices)]

"""Indexing: slices are views, integer indices gather and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.type import Type
from theano.native import instructions as vm
from theano.native.program import OF_ARRAYS, CannotLower, ProgramBuilder, lowers_to
from theano.tensor.subtensor import AdvancedIncSubtensor1, AdvancedSubtensor1, IncSubtensor, Subtensor


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


def require_value_kind(node: Apply) -> None:
    """Increments of a wider kind (floats to integers) are added before the sum is converted: left to Python."""
    x, y = (np.dtype(v.type.dtype) for v in node.inputs[:2])
    kinds = "biufc"
    if not node.op.set_instead_of_inc and kinds.index(y.kind.replace("u", "i")) > kinds.index(x.kind.replace("u", "i")):
        raise CannotLower("an increment of a wider kind")


def _emit_with_value(builder: ProgramBuilder, node: Apply, instruction: vm.Instruction) -> None:
    """What is written is converted to the dtype of where it goes."""
    require_value_kind(node)
    builder.emit_for(node, instruction, {1: node.inputs[0].type.dtype})


lowers_to({AdvancedSubtensor1: lambda op: vm.AdvancedSubtensor((0,))}, where=OF_ARRAYS)
lowers_to({Subtensor: lambda op: vm.Subtensor(index_params(op.idx_list, 1))})
lowers_to({
    IncSubtensor: lambda op: vm.IncSubtensor(index_params(op.idx_list, 2), bool(op.set_instead_of_inc), bool(op.inplace)),
    AdvancedIncSubtensor1: lambda op: vm.AdvancedInc((0,), bool(op.set_instead_of_inc), bool(op.inplace)),
}, _emit_with_value)  # fmt: skip

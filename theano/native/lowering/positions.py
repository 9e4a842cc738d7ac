"""Flat indices and coordinates, permutations, repetitions, distinct elements."""

from __future__ import annotations

from theano import scalar, tensor
from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import OF_ARRAYS, CannotLower, ProgramBuilder, lowers, lowers_to
from theano.tensor.choosing import PermuteRowElements
from theano.tensor.elemwise import Elemwise
from theano.tensor.extra_ops import CountLength, CpuContiguous, RavelMultiIndex, RepeatOp, Unique, UnravelIndex
from theano.tensor.math import integer_dtypes
from theano.tensor.shapes import Shape_i

lowers_to({CpuContiguous: lambda op: vm.Contiguous()}, where=OF_ARRAYS)
lowers_to(
    {UnravelIndex: lambda op: vm.UnravelIndex(op.order == "F")},
    lambda builder, node, instruction: builder.emit_for(node, instruction, "int64"),
    where=("the array has dimensions", lambda node: node.outputs),
)
lowers_to(
    {PermuteRowElements: lambda op: vm.PermuteRows()},
    lambda builder, node, instruction: builder.emit_for(node, instruction, {1: "int64"}),
    where=("there are rows", lambda node: node.inputs[0].type.ndim),
)
lowers_to(
    {CountLength: lambda op: vm.CountLength()},
    where=("integers are counted", lambda node: node.inputs[0].type.dtype in integer_dtypes),
)


@lowers(RavelMultiIndex)
def lower_ravel_multi_index(builder: ProgramBuilder, node: Apply) -> None:
    op, count = node.op, len(node.inputs) - 1
    modes = op.mode if isinstance(op.mode, tuple) else (op.mode,) * count
    if len(modes) != count or not {mode.upper() for mode in modes} <= set(vm.OutOfBounds.__members__):
        raise CannotLower("modes that are not known")
    found = tuple(vm.OutOfBounds[mode.upper()] for mode in modes)
    builder.emit_for(node, vm.RavelIndex(op.order == "F", found), "int64")


@lowers(RepeatOp)
def lower_repeat(builder: ProgramBuilder, node: Apply) -> None:
    """The elements at positions that are repeated."""
    x, repeats = node.inputs
    axis = node.op.axis
    source, ndim = builder.cell(x), x.type.ndim
    if axis is None:
        source, ndim, axis = builder.flattened(builder.cell(x)), 1, 0
    counts = builder.converted(repeats, "int64")
    if repeats.type.ndim == 0:
        counts = builder.flattened(counts)
    positions = builder.made(vm.RepeatPositions(axis % ndim), [counts, source], "int64", (False,))
    builder.emit(vm.AdvancedSubtensor((axis % ndim,)), [source, positions], [builder.cell(node.outputs[0])])


@lowers(Unique)
def lower_unique(builder: ProgramBuilder, node: Apply) -> None:
    """The first element of each run of equal ones, in order. NaN comes last, and differs from none before that is NaN."""
    op, x = node.op, node.inputs[0]
    if x.type.dtype.startswith("complex") or (op.axis is not None and x.type.ndim > 1):
        raise CannotLower("distinct complex numbers or slices")
    vector = x if x.type.ndim == 1 else x.flatten()
    order = tensor.argsort(vector)
    ordered = vector[order] if op.return_index or op.return_inverse else tensor.sort(vector)
    before, after = (scalar.get_scalar_type(x.type.dtype)() for _ in range(2))
    differs = Elemwise(scalar.Composite([before, after], [scalar.and_(scalar.neq(before, after), scalar.eq(before, before))]))
    first = tensor.join(0, tensor.ones_like(ordered[:1], dtype="bool"), differs(ordered[:-1], ordered[1:]))
    results = [ordered[first]]
    if op.return_index:
        results.append(order[first])
    if op.return_inverse:
        results.append(tensor.set_subtensor(order.zeros_like()[order], tensor.cumsum(first) - 1))
    if op.return_counts:
        results.append(tensor.diff(tensor.join(0, first.nonzero()[0], Shape_i(0)(vector).dimshuffle("x"))))
    builder.emit_expressions(node, node.inputs, results)

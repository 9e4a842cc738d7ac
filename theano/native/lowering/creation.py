"""Arrays made from shapes: alloc, arange, diagonals, triangles, windows; arrays chosen from others."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from theano import scalar
from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import ProgramBuilder, lowers, lowers_to
from theano.tensor.basic import Alloc, AllocDiag, AllocEmpty, ARange, Eye, Tri
from theano.tensor.choosing import Choose
from theano.tensor.elemwise import Elemwise
from theano.tensor.extra_ops import Bartlett, FillDiagonal, FillDiagonalOffset
from theano.tensor.math import integer_dtypes

lowers_to({AllocEmpty: lambda op: vm.AllocEmpty(), ARange: lambda op: vm.Arange()})
lowers_to(
    {Alloc: lambda op: vm.Alloc()},
    where=("the value has the dtype of the result", lambda node: node.inputs[0].type.dtype == node.outputs[0].type.dtype),
)


@lowers(Choose)
def lower_choose(builder: ProgramBuilder, node: Apply) -> None:
    """Choices of another dtype than the result's are converted first."""
    dtypes = dict.fromkeys(range(1, len(node.inputs)), node.outputs[0].type.dtype)
    builder.emit_for(node, vm.Choose(vm.OutOfBounds[node.op.mode.upper()]), dtypes)


# -- diagonals


def _emit_of_ones(builder: ProgramBuilder, node: Apply, instruction: vm.Instruction) -> None:
    """Append an instruction for a one and the node's inputs."""
    (out,) = node.outputs
    one = builder.constant(np.ones((), out.type.dtype))
    builder.emit(instruction, [one, *map(builder.cell, node.inputs)], [builder.cell(out)])


lowers_to({Eye: lambda op: vm.DiagonalMatrix(0)}, _emit_of_ones)
lowers_to(
    {Tri: lambda op: vm.Triangle()},
    _emit_of_ones,
    where=("numbers are integers", lambda node: all(v.type.dtype in integer_dtypes for v in node.inputs)),
)
lowers_to(
    {AllocDiag: lambda op: vm.DiagonalMatrix(int(op.offset))},
    where=("it is one matrix", lambda node: node.inputs[0].type.ndim == 1 and (node.op.axis1 % 2, node.op.axis2 % 2) == (0, 1)),
)
lowers_to(
    dict.fromkeys((FillDiagonal, FillDiagonalOffset), lambda op: vm.FillDiagonal()),
    lambda builder, node, instruction: builder.emit_for(node, instruction, {1: node.inputs[0].type.dtype}),
)


# -- windows


@lru_cache(maxsize=16)
def _triangular_window(dtype: str) -> scalar.Composite:
    """1 in the middle of n points, falling to 0 at both ends; 1 where there is one point."""
    i, points = scalar.get_scalar_type("int64")(), scalar.get_scalar_type(dtype)()
    whole: Any = scalar.cast(points, "int64")
    last = whole - 1
    from_middle = scalar.abs_(scalar.cast(i + i - last, "float64"))
    return scalar.Composite([i, points], [1.0 - from_middle / scalar.maximum(scalar.cast(last, "float64"), 1.0)])


@lowers(Bartlett)
def lower_bartlett(builder: ProgramBuilder, node: Apply) -> None:
    (length,) = node.inputs
    window = Elemwise(_triangular_window(length.type.dtype))(ARange("int64")(0, length, 1), length)
    builder.emit_expressions(node, node.inputs, [window])

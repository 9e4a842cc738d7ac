"""Arrays made from shapes: alloc, arange; what depends on coordinates only: diagonals, triangles; arrays chosen from others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from theano import scalar
from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native import ir
from theano.native.optimize.rows import Stored, kernel_of
from theano.native.program import CannotLower, PendingKernel, ProgramBuilder, lowers, lowers_to
from theano.tensor.basic import Alloc, AllocDiag, AllocEmpty, ARange, Eye, Tri
from theano.tensor.choosing import Choose
from theano.tensor.elemwise import Elemwise
from theano.tensor.extra_ops import Bartlett, FillDiagonal, FillDiagonalOffset
from theano.tensor.math import integer_dtypes
from theano.tensor.type import TensorType

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


@lowers(Eye)
def lower_eye(builder: ProgramBuilder, node: Apply) -> None:
    (out,) = node.outputs
    one = builder.constant(np.ones((), out.type.dtype))
    builder.emit(vm.DiagonalMatrix(0), [one, *map(builder.cell, node.inputs)], [builder.cell(out)])


lowers_to(
    {AllocDiag: lambda op: vm.DiagonalMatrix(int(op.offset))},
    where=("it is one matrix", lambda node: node.inputs[0].type.ndim == 1 and (node.op.axis1 % 2, node.op.axis2 % 2) == (0, 1)),
)
lowers_to(
    dict.fromkeys((FillDiagonal, FillDiagonalOffset), lambda op: vm.FillDiagonal()),
    lambda builder, node, instruction: builder.emit_for(node, instruction, {1: node.inputs[0].type.dtype}),
)


# -- expressions of positions, which kernels know


def _emit_expression(builder: ProgramBuilder, node: Apply, lengths: Sequence[Variable], op: scalar.ScalarOp,
                     *others: Variable) -> None:
    """Compute the node's output from the position along each of its axes, which have these lengths, and from numbers."""
    if any(number.type.dtype not in integer_dtypes for number in (*lengths, *others)):
        raise CannotLower("numbers that are not integers")
    ndim = len(lengths)
    places = [TensorType("int64", tuple(d != axis for d in range(ndim)))() for axis in range(ndim)]
    expression = Elemwise(op).make_node(*places, *others)
    views = [v.owner for v in expression.inputs[ndim:]]
    kernel, found = kernel_of((False,) * ndim, (), [*views, expression], [Stored(expression.outputs[0], None)],
                              builder.target)  # fmt: skip
    operands, cells = list(kernel.inputs), []
    for k, variable in enumerate(found):
        if variable in places:
            axis = places.index(variable)
            along = tuple(0 if d == axis else -1 for d in range(ndim))
            operands[k] = ir.Operand("int64", tuple(d != axis for d in range(ndim)), along, 1, position=True)
            variable = lengths[axis]
        cells.append(builder.cell(variable))
    number = builder.kernel_number(kernel.replaced(inputs=tuple(operands)))
    builder.emit(vm.PositionKernel(PendingKernel(number)), cells, [builder.cell(node.outputs[0])])


@lru_cache(maxsize=64)
def _below_diagonal(dtype: str, offset_dtype: str) -> scalar.Composite:
    """1 at and below a diagonal, else 0."""
    one, zero = (scalar.constant(np.array(n, dtype=dtype)) for n in (1, 0))
    i, j, k = (scalar.get_scalar_type(d)() for d in ("int64", "int64", offset_dtype))
    return scalar.Composite([i, j, k], [scalar.switch(scalar.le(j - i, scalar.cast(k, "int64")), one, zero)])


@lru_cache(maxsize=16)
def _triangular_window(dtype: str) -> scalar.Composite:
    """1 in the middle of n points, falling to 0 at both ends; 1 where there is one point."""
    i, points = scalar.get_scalar_type("int64")(), scalar.get_scalar_type(dtype)()
    whole: Any = scalar.cast(points, "int64")
    last = whole - 1
    from_middle = scalar.abs_(scalar.cast(i + i - last, "float64"))
    return scalar.Composite([i, points], [1.0 - from_middle / scalar.maximum(scalar.cast(last, "float64"), 1.0)])


@lowers(Tri)
def lower_tri(builder: ProgramBuilder, node: Apply) -> None:
    *lengths, offset = node.inputs
    op = _below_diagonal(node.outputs[0].type.dtype, offset.type.dtype)
    _emit_expression(builder, node, lengths, op, offset)


@lowers(Bartlett)
def lower_bartlett(builder: ProgramBuilder, node: Apply) -> None:
    (length,) = node.inputs
    _emit_expression(builder, node, [length], _triangular_window(length.type.dtype), length)

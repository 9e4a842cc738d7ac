"""Arrays made from shapes: alloc, arange; what depends on coordinates only: diagonals, triangles; arrays chosen from others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from theano import scalar
from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native.lowering.loops import lower_elemwise
from theano.native.program import CannotLower, ProgramBuilder, lowers, lowers_to
from theano.tensor.basic import Alloc, AllocDiag, AllocEmpty, ARange, Eye, Tri
from theano.tensor.choosing import Choose
from theano.tensor.elemwise import Elemwise
from theano.tensor.extra_ops import Bartlett, FillDiagonal, FillDiagonalOffset
from theano.tensor.math import integer_dtypes
from theano.tensor.type import TensorType


@lowers(Alloc)
def lower_alloc(builder: ProgramBuilder, node: Apply) -> None:
    if node.inputs[0].type.dtype != node.outputs[0].type.dtype:
        raise CannotLower("a fill value of another dtype")
    builder.emit_for(node, vm.Alloc())


lowers_to({AllocEmpty: lambda op: vm.AllocEmpty(), ARange: lambda op: vm.Arange()})


@lowers(Choose)
def lower_choose(builder: ProgramBuilder, node: Apply) -> None:
    """Choices of another dtype than the result's are converted first."""
    index, *choices = node.inputs
    out = node.outputs[0]
    cells = [builder.cell(index), *(builder.converted(choice, out.type.dtype) for choice in choices)]
    builder.emit(vm.Choose(vm.OutOfBounds[node.op.mode.upper()]), cells, [builder.cell(out)])


# -- diagonals: views of what is there already


def _set_diagonal(builder: ProgramBuilder, out: Variable, offset: int | Variable, value: int) -> None:
    """Overwrite a diagonal, over all axes, of the array that is in the cell of `out`."""
    dtype, sources = out.type.dtype, [builder.cell(out)]
    view, written = (builder.temporary(dtype, (False,)) for _ in range(2))
    if isinstance(offset, Variable):
        sources.append(builder.cell(offset))
        offset = 0
    builder.emit(vm.Diagonal(offset, tuple(range(out.type.ndim))), sources, [view])
    builder.emit(vm.IncSubtensor((("s", None, None, None),), True, True), [view, value], [written])


@lowers(Eye)
def lower_eye(builder: ProgramBuilder, node: Apply) -> None:
    rows, columns, offset = node.inputs
    out = node.outputs[0]
    zero, one = (builder.constant(np.array(n, dtype=out.type.dtype)) for n in (0, 1))
    builder.emit(vm.Alloc(), [zero, builder.cell(rows), builder.cell(columns)], [builder.cell(out)])
    _set_diagonal(builder, out, offset, one)


@lowers(AllocDiag)
def lower_alloc_diag(builder: ProgramBuilder, node: Apply) -> None:
    op = node.op
    if node.inputs[0].type.ndim != 1 or (op.axis1 % 2, op.axis2 % 2) != (0, 1):
        raise CannotLower("diagonals of several matrices")
    emit_matrix_of_diagonal(builder, node, int(op.offset))


def emit_matrix_of_diagonal(builder: ProgramBuilder, node: Apply, offset: int) -> None:
    """A matrix of zeros but for one diagonal, the node's input."""
    (x,), (out,) = node.inputs, node.outputs
    length = TensorType("int64", ())()
    builder.emit(vm.ShapeI(0), [builder.cell(x)], [builder.cell(length)])
    if offset:
        longer = Elemwise(scalar.add).make_node(length, np.int64(abs(offset)))
        lower_elemwise(builder, longer)
        length = longer.outputs[0]
    zero = builder.constant(np.zeros((), out.type.dtype))
    builder.emit(vm.Alloc(), [zero, builder.cell(length), builder.cell(length)], [builder.cell(out)])
    _set_diagonal(builder, out, offset, builder.cell(x))


@lowers(FillDiagonal, FillDiagonalOffset)
def lower_fill_diagonal(builder: ProgramBuilder, node: Apply) -> None:
    a, value, *offset = node.inputs
    out = node.outputs[0]
    builder.emit(vm.Copy(), [builder.cell(a)], [builder.cell(out)])
    _set_diagonal(builder, out, offset[0] if offset else 0, builder.converted(value, a.type.dtype))


# -- coordinates: each is a vector along its axis, which a kernel reads like any other operand


def _spread(builder: ProgramBuilder, cell: int, dtype: str, ndim: int) -> Variable:
    """A number as an operand of an expression of `ndim` dims."""
    variable = TensorType(dtype, (True,) * ndim)()
    builder.emit(vm.Dimshuffle((-1,) * ndim), [cell], [builder.cell(variable)])
    return variable


def _position(builder: ProgramBuilder, length: Variable, axis: int, ndim: int, dtype: str = "int64") -> Variable:
    """The coordinate along one of `ndim` axes: 0 ... `length` - 1, an operand of an expression."""
    variable = TensorType(dtype, tuple(d != axis for d in range(ndim)))()
    vector = builder.temporary(dtype, (False,))
    start, step = (builder.constant(np.array(n)) for n in (0, 1))
    builder.emit(vm.Arange(), [start, builder.cell(length), step], [vector])
    builder.emit(vm.Dimshuffle(tuple(0 if d == axis else -1 for d in range(ndim))), [vector], [builder.cell(variable)])
    return variable


def _emit_expression(builder: ProgramBuilder, op: scalar.ScalarOp, operands: Sequence[Variable], out: Variable) -> None:
    node = Elemwise(op).make_node(*operands)
    builder.of_variable[node.outputs[0]] = builder.cell(out)
    lower_elemwise(builder, node)


def _composite(dtypes: Sequence[str], expression: Callable[..., Any]) -> scalar.Composite:
    inputs = [scalar.get_scalar_type(dtype)() for dtype in dtypes]
    return scalar.Composite(inputs, [expression(*inputs)])


@lru_cache(maxsize=64)
def _below_diagonal(dtype: str) -> scalar.Composite:
    """1 at and below a diagonal, else 0."""
    return _composite(["int64"] * 3, lambda i, j, k: scalar.switch(
        scalar.le(j - i, k), *(scalar.constant(np.array(n, dtype=dtype)) for n in (1, 0))))


@lru_cache(maxsize=1)
def _triangular_window() -> scalar.Composite:
    """1 in the middle of n points, falling to 0 at both ends; 1 where there is one point."""
    def expression(i: Any, n: Any) -> Any:
        return scalar.switch(scalar.eq(n, 1.0), 1.0, 1.0 - scalar.abs_(2.0 * i - (n - 1.0)) / (n - 1.0))

    return _composite(["float64"] * 2, expression)


@lowers(Tri)
def lower_tri(builder: ProgramBuilder, node: Apply) -> None:
    if any(v.type.dtype not in integer_dtypes for v in node.inputs):
        raise CannotLower("lengths that are not integers")
    places = [_position(builder, length, axis, 2) for axis, length in enumerate(node.inputs[:2])]
    offset = _spread(builder, builder.converted(node.inputs[2], "int64"), "int64", 2)
    out = node.outputs[0]
    _emit_expression(builder, _below_diagonal(out.type.dtype), [*places, offset], out)


@lowers(Bartlett)
def lower_bartlett(builder: ProgramBuilder, node: Apply) -> None:
    length = node.inputs[0]
    place = _position(builder, length, 0, 1, "float64")
    points = _spread(builder, builder.converted(length, "float64"), "float64", 1)
    _emit_expression(builder, _triangular_window(), [place, points], node.outputs[0])

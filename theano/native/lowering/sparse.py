"""Sparse matrices: values, places, products, and what is sampled at places. The rest runs in Python, through SciPy."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.sparse.products import Dot, DotAt, DotWithValues
from theano.sparse.structure import StoredValues, ValuesAt, WithValues, rebuilt
from theano.sparse.type import SparseType, float_dtypes

_OBJECT = ("object",)


def _places(builder: ProgramBuilder, x: Any) -> list[int]:
    """Cells of a matrix's indices, index pointers and shape; each matrix is taken apart once."""
    if x.type.format not in ("csr", "csc"):
        raise CannotLower("a matrix of another format")
    cells = [builder.new_cell(_OBJECT), builder.new_cell(_OBJECT), builder.temporary("int64", (False,))]
    builder.emit(vm.SparsePlaces(), [builder.cell(x)], cells)
    return cells


def _is_csc(x: Any) -> bool:
    return bool(x.type.format == "csc")


@lowers(StoredValues)
def lower_stored_values(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, vm.SparseValues())


@lowers(WithValues)
def lower_with_values(builder: ProgramBuilder, node: Apply) -> None:
    """An object of SciPy is made in Python, without a storage for each input."""
    builder.emit_for(node, vm.Call(rebuilt))


@lowers(ValuesAt)
def lower_values_at(builder: ProgramBuilder, node: Apply) -> None:
    x, y = node.inputs
    if isinstance(y.type, SparseType):
        raise CannotLower("elements of a sparse matrix")
    builder.emit(vm.SparseValuesAt(_is_csc(x)), [*_places(builder, x), builder.cell(y)], [builder.cell(node.outputs[0])])


@lowers(DotAt)
def lower_dot_at(builder: ProgramBuilder, node: Apply) -> None:
    x, a, b = node.inputs
    (out,) = node.outputs
    if out.type.dtype not in float_dtypes:
        raise CannotLower("a product of other dtypes")
    rows = []
    for matrix in (a, b):
        cell = builder.temporary(out.type.dtype, matrix.type.broadcastable)
        builder.emit(vm.Contiguous(), [builder.converted(matrix, out.type.dtype)], [cell])
        rows.append(cell)
    builder.emit(vm.SparseDotAt(_is_csc(x)), [*_places(builder, x), *rows], [builder.cell(out)])


def _product(builder: ProgramBuilder, x: Any, values: int, dense: int, csc: bool, out: int) -> None:
    builder.emit(vm.SparseDot(csc), [*_places(builder, x), values, dense], [out])


def _stored(builder: ProgramBuilder, x: Any, dtype: str) -> int:
    """The cell of a matrix's stored values in a dtype."""
    values = builder.temporary(x.type.dtype, (False,))
    builder.emit(vm.SparseValues(), [builder.cell(x)], [values])
    if x.type.dtype == dtype:
        return values
    converted = builder.temporary(dtype, (False,))
    builder.emit(vm.CastCopy(), [values], [converted])
    return converted


def _require_floats(dtype: str, *operands: str) -> None:
    if dtype not in float_dtypes or any(d.startswith("complex") for d in operands):
        raise CannotLower("a product of other dtypes")


@lowers(DotWithValues)
def lower_dot_with_values(builder: ProgramBuilder, node: Apply) -> None:
    x, data, y = node.inputs
    (out,) = node.outputs
    dtype = out.type.dtype
    _require_floats(dtype)
    _product(builder, x, builder.converted(data, dtype), builder.converted(y, dtype), _is_csc(x), builder.cell(out))


@lowers(Dot)
def lower_dot(builder: ProgramBuilder, node: Apply) -> None:
    """A sparse matrix on the right is one on the left of transposed operands, of the other format over the same arrays."""
    x, y = node.inputs
    (out,) = node.outputs
    dtype = out.type.dtype
    _require_floats(dtype)
    if isinstance(x.type, SparseType) and isinstance(y.type, SparseType):
        raise CannotLower("the product of two sparse matrices")
    if isinstance(x.type, SparseType):
        _product(builder, x, _stored(builder, x, dtype), builder.converted(y, dtype), _is_csc(x), builder.cell(out))
        return
    dense = builder.converted(x, dtype)
    result = builder.cell(out)
    if x.type.ndim == 2:
        turned = builder.temporary(dtype, x.type.broadcastable[::-1])
        builder.emit(vm.Dimshuffle((1, 0)), [dense], [turned])
        dense, result = turned, builder.temporary(dtype, out.type.broadcastable[::-1])
    indices, indptr, shape = _places(builder, y)
    turned_shape = builder.temporary("int64", (False,))
    builder.emit(vm.Subtensor((("s", None, None, -1),)), [shape], [turned_shape])
    backwards = builder.temporary("int64", (False,))
    builder.emit(vm.Contiguous(), [turned_shape], [backwards])
    values = _stored(builder, y, dtype)
    builder.emit(vm.SparseDot(not _is_csc(y)), [indices, indptr, backwards, values, dense], [result])
    if x.type.ndim == 2:
        builder.emit(vm.Dimshuffle((1, 0)), [result], [builder.cell(out)])

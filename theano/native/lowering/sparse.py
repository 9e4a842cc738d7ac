"""Sparse matrices: in a program they are their parts. An object of SciPy is made where something else wants one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from theano.gof.graph import Apply, Constant
from theano.native import instructions as vm
from theano.native.lowering.shape import shape_lowerings
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.sparse.conversion import DenseFromSparse, SparseFromDense
from theano.sparse.elementwise import AddSD, AddSS, MulSS, SpSum
from theano.sparse.products import Dot, DotAt, DotWithValues, StructuredDot, TrueDot, Usmm, _dot
from theano.sparse.slicing import GetItem2d, GetItemList
from theano.sparse.stacking import HStack, VStack
from theano.sparse.structure import (
    CSM,
    CSMProperties,
    EnsureSortedIndices,
    Remove0,
    StoredValues,
    Transpose,
    ValuesAt,
    WithValues,
    made_of_parts,
)
from theano.sparse.type import SparseType
from theano.tensor.math import add, mul
from theano.tensor.type_other import NoneTypeT

_OBJECT = ("object",)
_INT64_VECTOR = ("int64", (False,))


class Parts(NamedTuple):
    """The cells that a matrix consists of: objects with the indices and index pointers, the shape, and contiguous values."""

    indices: int
    indptr: int
    shape: int
    values: int

    @property
    def places(self) -> tuple[int, int, int]:
        return self.indices, self.indptr, self.shape


def _is_csc(x: Any) -> bool:
    _require_format(x)
    return bool(x.type.format == "csc")


def _require_format(x: Any) -> None:
    if x.type.format not in ("csr", "csc"):
        raise CannotLower("a matrix of another format")


def _places(builder: ProgramBuilder, x: Any) -> tuple[int, int, int]:
    """Cells of a matrix's indices, index pointers and shape."""
    _require_format(x)
    if x in builder.parts:
        return builder.parts[x].places
    cells = builder.new_cell(_OBJECT), builder.new_cell(_OBJECT), builder.temporary(*_INT64_VECTOR)
    builder.emit(vm.SparsePlaces(), [builder.cell(x)], cells)
    return cells


def _parts(builder: ProgramBuilder, x: Any, dtype: str | None = None) -> Parts:
    """A matrix's parts, the values in a dtype."""
    parts = builder.parts.get(x)
    if parts is None:
        values = builder.contiguous(builder.made(vm.SparseValues(), [builder.cell(x)], x.type.dtype, (False,)))
        parts = Parts(*_places(builder, x), values)
    return parts if dtype is None else parts._replace(values=builder.in_dtype(parts.values, dtype))


def _parts_like(builder: ProgramBuilder, x: Any, csc: bool, dtype: str) -> Parts:
    """A matrix's parts in a format and dtype."""
    parts = _parts(builder, x, dtype)
    if _is_csc(x) == csc:
        return parts
    return _made(builder, vm.SparseTurn(_is_csc(x)), parts, dtype, parts.shape)


def _made(builder: ProgramBuilder, op: vm.Instruction, operands: Sequence[int], dtype: str, shape: int | None = None) -> Parts:
    """The parts that an instruction makes, the shape too unless it is given."""
    outs = [builder.temporary(dtype, (False,)), builder.new_cell(_OBJECT), builder.new_cell(_OBJECT)]
    if shape is None:
        outs.append(builder.temporary(*_INT64_VECTOR))
    builder.emit(op, operands, outs)
    return Parts(outs[1], outs[2], outs[3] if shape is None else shape, outs[0])


def _give(builder: ProgramBuilder, node: Apply, parts: Parts, shown: Sequence[int] | None = None) -> None:
    """Let a matrix be of parts; where something else has these indices, too, the object over them has the places `shown`.

    The object is left out where nobody asks for it.
    """
    (out,) = node.outputs
    builder.parts[out] = parts
    cell = builder.cell(out)
    builder.optional.add(cell)
    builder.emit(vm.Call(made_of_parts(out.type)), [parts.values, *(shown or parts.places)], [cell])


def _make(builder: ProgramBuilder, node: Apply, op: vm.Instruction, operands: Sequence[int], shape: int | None = None) -> None:
    """Let a matrix be what an instruction makes; see `_made`."""
    _give(builder, node, _made(builder, op, operands, node.outputs[0].type.dtype, shape))


def _backwards(builder: ProgramBuilder, shape: int) -> int:
    return builder.contiguous(builder.made(vm.Subtensor((("s", None, None, -1),)), [shape], *_INT64_VECTOR))


def _lower_shape(builder: ProgramBuilder, node: Apply, axis: int | None) -> None:
    shape = _places(builder, node.inputs[0])[2]
    builder.emit(vm.Copy() if axis is None else vm.Subtensor((axis,)), [shape], [builder.cell(node.outputs[0])])


shape_lowerings[SparseType] = _lower_shape


@lowers(StoredValues)
def lower_stored_values(builder: ProgramBuilder, node: Apply) -> None:
    (x,) = node.inputs
    if x in builder.parts:
        builder.emit(vm.View(), [builder.parts[x].values], [builder.cell(node.outputs[0])])
    else:
        builder.emit_for(node, vm.SparseValues())


@lowers(WithValues)
def lower_with_values(builder: ProgramBuilder, node: Apply) -> None:
    x, data = node.inputs
    values, places = builder.contiguous(builder.cell(data)), _places(builder, x)
    copies = builder.new_cell(_OBJECT), builder.new_cell(_OBJECT)
    builder.optional.update(copies)
    builder.emit(vm.SparseCopy(_is_csc(x)), places, copies)
    _give(builder, node, Parts(*places, values), (*copies, places[2]))


@lowers(Transpose)
def lower_transpose(builder: ProgramBuilder, node: Apply) -> None:
    (x,) = node.inputs
    parts = _parts(builder, x)
    _give(builder, node, parts._replace(shape=_backwards(builder, parts.shape)))


@lowers(CSM, where=("all values are given", lambda node: node.op.kmap is None))
def lower_csm(builder: ProgramBuilder, node: Apply) -> None:
    data, indices, indptr, shape = node.inputs
    values = builder.contiguous(builder.cell(data))
    parts = Parts(builder.new_cell(_OBJECT), builder.new_cell(_OBJECT), builder.temporary(*_INT64_VECTOR), values)
    arrays = [values, builder.cell(indices), builder.cell(indptr), builder.converted(shape, "int64")]
    builder.emit(vm.SparseMake(node.op.format == "csc"), arrays, parts.places)
    _give(builder, node, parts)


@lowers(CSMProperties)
def lower_csm_properties(builder: ProgramBuilder, node: Apply) -> None:
    (x,) = node.inputs
    data, indices, indptr, shape = map(builder.cell, node.outputs)
    parts = _parts(builder, x)
    builder.emit(vm.View(), [parts.values], [data])
    builder.emit(vm.SparseIndex(_is_csc(x), True), [parts.indices, *parts.places], [indices])
    builder.emit(vm.SparseIndex(_is_csc(x), False), [parts.indptr, *parts.places], [indptr])
    builder.emit(vm.CastCopy(), [parts.shape], [shape])


@lowers(AddSS, MulSS)
def lower_merge(builder: ProgramBuilder, node: Apply) -> None:
    """Of two formats the second matrix is brought into that of the first."""
    x, y = node.inputs
    dtype = node.outputs[0].type.dtype
    left, right = _parts(builder, x, dtype), _parts_like(builder, y, _is_csc(x), dtype)
    merge = vm.SparseMerge(_is_csc(x), isinstance(node.op, MulSS))
    _make(builder, node, merge, [*left, *right], left.shape)


@lowers(EnsureSortedIndices, Remove0)
def lower_tidy(builder: ProgramBuilder, node: Apply) -> None:
    """A new matrix, also of one that may be changed itself: it would have to become shorter."""
    (x,) = node.inputs
    whole = _parts(builder, x)
    tidy = vm.SparseTidy(_is_csc(x), isinstance(node.op, EnsureSortedIndices), isinstance(node.op, Remove0))
    _make(builder, node, tidy, whole, whole.shape)


@lowers(HStack, VStack)
def lower_stack(builder: ProgramBuilder, node: Apply) -> None:
    """Blocks are brought into the format of the result first."""
    (out,) = node.outputs
    csc, dtype = _is_csc(out), out.type.dtype
    if any(x.type.dtype.startswith("complex") for x in node.inputs) and not dtype.startswith("complex"):
        raise CannotLower("complex values that become others")
    operands: list[int] = []
    for x in node.inputs:
        operands += _parts_like(builder, x, csc, dtype)
    _make(builder, node, vm.SparseStack(csc, isinstance(node.op, HStack) != csc), operands)


@lowers(AddSD)
def lower_add_s_d(builder: ProgramBuilder, node: Apply) -> None:
    x, y = node.inputs
    (out,) = node.outputs
    parts = _parts(builder, x, out.type.dtype)
    copy = vm.Copy() if y.type.dtype == out.type.dtype else vm.CastCopy()
    own = builder.made(copy, [builder.cell(y)], out.type.dtype, y.type.broadcastable)
    builder.emit(vm.SparseAddDense(True, _is_csc(x)), [own, *parts], [builder.cell(out)])


@lowers(DenseFromSparse)
def lower_dense_from_sparse(builder: ProgramBuilder, node: Apply) -> None:
    (x,) = node.inputs
    _make_dense(builder, _parts(builder, x), _is_csc(x), node.outputs[0])


def _make_dense(builder: ProgramBuilder, parts: Parts, csc: bool, out: Any) -> None:
    dtype = out.type.dtype
    lengths = [builder.made(vm.Subtensor((axis,)), [parts.shape], "int64", ()) for axis in range(2)]
    zeros = builder.made(vm.Alloc(), [builder.constant(np.zeros((), dtype)), *lengths], dtype, (False, False))
    builder.emit(vm.SparseAddDense(True, csc), [zeros, *parts], [builder.cell(out)])


@lowers(SparseFromDense)
def lower_sparse_from_dense(builder: ProgramBuilder, node: Apply) -> None:
    _make(builder, node, vm.SparseFromDense(_is_csc(node.outputs[0])), [builder.cell(node.inputs[0])])


@lowers(SpSum, where=("one axis is summed", lambda node: node.op.axis is not None))
def lower_sp_sum(builder: ProgramBuilder, node: Apply) -> None:
    (x,) = node.inputs
    parts = _parts(builder, x)
    of_lines = (node.op.axis == 1) != _is_csc(x)
    builder.emit(vm.SparseSum(_is_csc(x), of_lines), parts, [builder.cell(node.outputs[0])])


def _is_none(bound: Any) -> bool:
    return isinstance(bound.type, NoneTypeT)


@lowers(GetItem2d)
def lower_get_item_2d(builder: ProgramBuilder, node: Apply) -> None:
    """Rows of a csr matrix, columns of a csc one."""
    x, *bounds = node.inputs
    (start, stop, step), rest = (bounds[3:], bounds[:3]) if _is_csc(x) else (bounds[:3], bounds[3:])
    whole = _is_none(step) or (isinstance(step, Constant) and int(step.data) == 1)
    if not (whole and all(map(_is_none, rest))):
        raise CannotLower("another part than lines that follow each other")
    cells = [
        builder.constant(np.array(otherwise)) if _is_none(bound) else builder.cell(bound)
        for bound, otherwise in ((start, 0), (stop, np.iinfo("int64").max))
    ]
    _make(builder, node, vm.SparseSlice(_is_csc(x)), [*_parts(builder, x), *cells])


@lowers(GetItemList, where=("rows are of a csr matrix", lambda node: node.inputs[0].type.format == "csr"))
def lower_get_item_list(builder: ProgramBuilder, node: Apply) -> None:
    x, which = node.inputs
    positions = builder.contiguous(builder.converted(which, "int64"))
    _make(builder, node, vm.SparseTake(False), [*_parts(builder, x), positions])


@lowers(ValuesAt)
def lower_values_at(builder: ProgramBuilder, node: Apply) -> None:
    x, y = node.inputs
    out, csc = builder.cell(node.outputs[0]), _is_csc(x)
    if isinstance(y.type, SparseType):
        parts = _parts_like(builder, y, csc, y.type.dtype)
        builder.emit(vm.SparseValuesOf(csc), [*_places(builder, x), *parts], [out])
    else:
        builder.emit(vm.SparseValuesAt(csc), [*_places(builder, x), builder.cell(y)], [out])


@lowers(DotAt)
def lower_dot_at(builder: ProgramBuilder, node: Apply) -> None:
    x, a, b = node.inputs
    (out,) = node.outputs
    rows = [builder.contiguous(builder.converted(matrix, out.type.dtype)) for matrix in (a, b)]
    builder.emit(vm.SparseDotAt(_is_csc(x)), [*_places(builder, x), *rows], [builder.cell(out)])


@lowers(DotWithValues)
def lower_dot_with_values(builder: ProgramBuilder, node: Apply) -> None:
    x, data, y = node.inputs
    (out,) = node.outputs
    parts = Parts(*_places(builder, x), builder.contiguous(builder.converted(data, out.type.dtype)))
    builder.emit(vm.SparseDot(_is_csc(x)), [*parts, builder.converted(y, out.type.dtype)], [builder.cell(out)])


@lowers(Dot, StructuredDot, TrueDot)
def lower_dot(builder: ProgramBuilder, node: Apply) -> None:
    """The result has a type of its own: of a dense product a sparse one is what is not zero."""
    x, y = node.inputs
    (out,) = node.outputs
    dtype, sparse = out.type.dtype, isinstance(out.type, SparseType)
    if not sparse and not isinstance(node.op, Dot):
        raise CannotLower("a matrix of another format")
    if isinstance(x.type, SparseType) and isinstance(y.type, SparseType):
        times = vm.SparseTimes(_is_csc(x))
        parts = _made(builder, times, [*_parts(builder, x, dtype), *_parts_like(builder, y, _is_csc(x), dtype)], dtype)
        if sparse:
            _give(builder, node, parts)
        else:
            _make_dense(builder, parts, _is_csc(x), out)
    elif isinstance(x.type, SparseType):
        result = builder.temporary(dtype, (False, y.type.broadcastable[1])) if sparse else builder.cell(out)
        builder.emit(vm.SparseDot(_is_csc(x)), [*_parts(builder, x, dtype), builder.converted(y, dtype)], [result])
        if sparse:
            _make(builder, node, vm.SparseFromDense(_is_csc(out)), [result])
    else:
        _lower_dot_from_left(builder, x, y, out)


def _lower_dot_from_left(builder: ProgramBuilder, x: Any, y: Any, out: Any) -> None:
    """A sparse matrix on the right is one on the left of transposed operands, of the other format over the same arrays."""
    dtype = out.type.dtype
    dense, result = builder.converted(x, dtype), builder.cell(out)
    if x.type.ndim == 2:
        dense = builder.made(vm.Dimshuffle((1, 0)), [dense], dtype, x.type.broadcastable[::-1])
        result = builder.temporary(dtype, out.type.broadcastable[::-1])
    parts = _parts(builder, y, dtype)
    parts = parts._replace(shape=_backwards(builder, parts.shape))
    builder.emit(vm.SparseDot(not _is_csc(y)), [*parts, dense], [result])
    if x.type.ndim == 2:
        builder.emit(vm.Dimshuffle((1, 0)), [result], [builder.cell(out)])


@lowers(Usmm)
def lower_usmm(builder: ProgramBuilder, node: Apply) -> None:
    """As the product, its multiple and the sum that it stands for."""
    alpha, x, y, z = node.inputs
    (out,) = node.outputs
    total = add(mul(alpha, _dot(x, y)), z)
    if total.type != out.type:
        raise CannotLower("a result of another type")
    builder.emit_expressions(node, node.inputs, [total])

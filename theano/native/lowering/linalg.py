"""Decompositions and linear systems: LAPACK calls."""

from __future__ import annotations

import functools
from typing import Any

from theano import tensor
from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native.program import OF_REALS, CannotLower, ProgramBuilder, is_tensor_like, lowers, lowers_to
from theano.tensor import nlinalg
from theano.tensor.decompositions import SVD, Eig, Eigh, EighGrad, QRFull, QRIncomplete
from theano.tensor.elemwise import MaxOrMinusInfinity
from theano.tensor.matrix_types import float_dtype_of
from theano.tensor.nlinalg import Det, MatrixInverse, MatrixPinv
from theano.tensor.rewriting.terms import product_of
from theano.tensor.shapes import Shape_i
from theano.tensor.slinalg import Cholesky, CholeskyGrad, Eigvalsh, EigvalshGrad, Expm, ExpmGrad, Solve
from theano.tensor.type import TensorType
from theano.tensor.type_other import NoneTypeT

DTYPES = ("float32", "float64", "complex64", "complex128")


def _lapack_dtype(*inputs: Variable) -> str:
    """The common floating point dtype of the inputs of a routine."""
    from theano.native.target.cpu.lapack_library import available

    dtype = float_dtype_of(*inputs)
    if dtype not in DTYPES or not all(is_tensor_like(v.type) for v in inputs) or not available():
        raise CannotLower("LAPACK has no such routine")
    return dtype


def _emit(builder: ProgramBuilder, node: Apply, instruction: vm.Instruction, turned: int | None = None) -> None:
    """Emit an instruction whose inputs, those that are given, are converted to their common floating point dtype.

    It makes the transpose of output `turned`.
    """
    inputs = [v for v in node.inputs if not isinstance(v.type, NoneTypeT)]
    dtype = _lapack_dtype(*inputs)
    outs = [builder.cell(v) for v in node.outputs]
    made = [builder.temporary(v.type.dtype, v.type.broadcastable[::-1]) if i == turned else out
            for i, (v, out) in enumerate(zip(node.outputs, outs, strict=True))]  # fmt: skip
    builder.emit(instruction, [builder.converted(v, dtype) for v in inputs], made)
    if turned is not None and turned < len(outs):
        builder.emit(vm.Dimshuffle((1, 0)), made[turned : turned + 1], outs[turned : turned + 1])


class _NumpySolve(Solve):
    """A general system with the errors of ``numpy.linalg.solve``."""


lowers_to({nlinalg.AllocDiag: lambda op: vm.DiagonalMatrix(0)})
lowers_to({
    MatrixInverse: lambda op: vm.Inverse(),
    Det: lambda op: vm.Det(),
    Eigvalsh: lambda op: vm.Eigh(bool(op.lower)),
    SVD: lambda op: vm.Svd(bool(op.full_matrices)),
    _NumpySolve: lambda op: vm.Solve(vm.Structure.GENERAL, False, True),
}, _emit)  # fmt: skip
lowers_to({Eigh: lambda op: vm.Eigh(op.UPLO == "L"), Eig: lambda op: vm.Eig()}, functools.partial(_emit, turned=1))


@lowers(Cholesky)
def lower_cholesky(builder: ProgramBuilder, node: Apply) -> None:
    lower = bool(node.op.lower)
    _emit(builder, node, vm.Cholesky(lower, node.op.on_error == "nan"), turned=0 if lower else None)


@lowers(MatrixPinv)
def lower_pinv(builder: ProgramBuilder, node: Apply) -> None:
    """v s^-1 u^H of the singular values above 1e-15 times the largest."""
    _lapack_dtype(*node.inputs)
    u, s, v = SVD(full_matrices=False)(node.inputs[0])
    inverses = tensor.switch(s > 1e-15 * MaxOrMinusInfinity()(s), 1 / s, 0).astype(s.dtype)
    builder.emit_expressions(node, node.inputs, [tensor.dot(v.T.conj() * inverses, u.T.conj())])


@lowers(Solve)
def lower_solve(builder: ProgramBuilder, node: Apply) -> None:
    """Structures without a routine of their own are general ones."""
    structure = getattr(vm.Structure, node.op.A_structure.upper(), vm.Structure.GENERAL)
    turned = 0 if structure == vm.Structure.SYMMETRIC and node.inputs[1].type.ndim == 2 else None
    _emit(builder, node, vm.Solve(structure, bool(node.op.lower), False), turned)


@lowers(nlinalg.lstsq)
def lower_lstsq(builder: ProgramBuilder, node: Apply) -> None:
    """Below a solution there is what is left of the right hand side: residuals, where it is the only one."""
    x, y, rcond = node.inputs
    dtype = _lapack_dtype(x, y)
    if dtype.startswith("complex") or x.type.ndim != 2 or y.type.ndim not in (1, 2) or rcond.type.ndim:
        raise CannotLower("complex numbers, or a limit that is an array")
    cells = [builder.converted(x, dtype), builder.converted(y, dtype), builder.converted(rcond, "float64")]
    columns, rank = TensorType(dtype, (False, False))(), node.outputs[2]
    builder.emit(vm.Lstsq(), cells, [builder.cell(v) for v in (columns, *node.outputs[2:])])
    rows, n = Shape_i(0)(x), Shape_i(1)(x)
    count = Shape_i(1)(y) if y.type.ndim == 2 else tensor.constant(1, dtype="int64")
    solution = columns[:count, :n].T if y.type.ndim == 2 else columns[0, :n]
    sums = tensor.sqr(columns[:count, n:].astype("float64")).sum(axis=1).astype(dtype)
    unique = tensor.and_(tensor.eq(rank, n), rows > n)
    residuals = sums[: tensor.switch(unique, count, 0)]
    builder.emit_expressions(node, [x, y, columns, rank], [solution, residuals])


@lowers(Expm, ExpmGrad)
def lower_expm(builder: ProgramBuilder, node: Apply) -> None:
    """In double precision. The adjoint of the derivative at A is the derivative at the transpose."""
    dtype = "complex128" if _lapack_dtype(*node.inputs).startswith("complex") else "float64"
    out = node.outputs[0]
    cells = [builder.converted(v, dtype) for v in node.inputs]
    wide = builder.cell(out) if out.type.dtype == dtype else builder.temporary(dtype, (False, False))
    if isinstance(node.op, ExpmGrad):
        cells[0] = builder.made(vm.Dimshuffle((1, 0)), cells[:1], dtype, (False, False))
    builder.emit(vm.ExpmDirection() if isinstance(node.op, ExpmGrad) else vm.Expm(), cells, [wide])
    if out.type.dtype != dtype:
        builder.emit(vm.CastCopy(), [wide], [builder.cell(out)])


@lowers(QRFull, QRIncomplete, where=("the mode is known", lambda node: node.op.mode.upper() in vm.QrMode.__members__))
def lower_qr(builder: ProgramBuilder, node: Apply) -> None:
    mode = node.op.mode.upper()
    _emit(builder, node, vm.Qr(vm.QrMode[mode]), turned=0 if mode in ("REDUCED", "COMPLETE") else None)


def _folded(g: Any, lower: bool) -> Any:
    """The gradient of one triangle that stands for a whole symmetric matrix."""
    n = g.shape[0]
    below = tensor.tri(n, n, 0 if lower else -1, dtype="int8")
    kept, other = tensor.switch(below, g, 0), tensor.switch(below, 0, g)
    return kept + other.T if lower else other + kept.T


@lowers(EighGrad, where=OF_REALS)
def lower_eigh_grad(builder: ProgramBuilder, node: Apply) -> None:
    _, w, v, gw, gv = node.inputs
    n = w.shape[0]
    diagonal = tensor.eye(n, dtype="int8")
    gaps = tensor.switch(diagonal, 1, w.dimshuffle(0, "x") - w.dimshuffle("x", 0))
    core = tensor.switch(diagonal, gw.dimshuffle(0, "x"), tensor.dot(v.T, gv).T / gaps)
    g = tensor.dot(tensor.dot(v, core), v.T)
    builder.emit_expressions(node, node.inputs, [_folded(g, node.op.UPLO == "L")])


@lowers(EigvalshGrad)
def lower_eigvalsh_grad(builder: ProgramBuilder, node: Apply) -> None:
    a, b, gw = node.inputs
    lower, dtype = bool(node.op.lower), _lapack_dtype(a, b)
    if dtype.startswith("complex"):
        raise CannotLower("complex eigenvectors")
    w, rows = TensorType(dtype, (False,))(), TensorType(dtype, (False, False))()
    builder.emit(vm.Eigh(lower), [builder.converted(x, dtype) for x in (a, b)], [builder.cell(w), builder.cell(rows)])
    v = rows.T
    ga = tensor.dot(v * gw, rows)
    gb = -tensor.dot(v * (gw * w), rows)
    builder.emit_expressions(node, [w, rows, gw], [_folded(ga, lower), _folded(gb, lower)])


@lowers(CholeskyGrad)
def lower_cholesky_grad(builder: ProgramBuilder, node: Apply) -> None:
    """See `Cholesky.L_op`."""
    _, factor, g = node.inputs
    if _lapack_dtype(*node.inputs).startswith("complex"):
        raise CannotLower("complex factors")
    lower = bool(node.op.lower)
    if not lower:
        factor, g = factor.T, g.T
    n = factor.shape[0]
    below, diagonal = tensor.tri(n, n, 0, dtype="int8"), tensor.eye(n, dtype="int8")
    inner = tensor.dot(factor.T, tensor.switch(below, g, 0))
    half = tensor.switch(below, inner, 0) / (1.0 + diagonal)
    # `Solve` refuses what is not finite, as SciPy does; a factor that is NaN has a gradient that is.
    finite = tensor.all(tensor.eq((factor - factor) + (half - half), 0))
    factor, half = tensor.switch(finite, factor, diagonal), tensor.switch(finite, half, 0)
    transposed = Solve("upper_triangular")
    s = transposed(factor.T, transposed(factor.T, half.T).T)
    result = tensor.switch(below, s + s.T, 0) / (1.0 + diagonal)
    result = tensor.switch(finite, result, tensor.constant(float("nan"), dtype=factor.dtype))
    builder.emit_expressions(node, node.inputs, [result if lower else result.T])


def _as_matrix(a: Any, rows: int) -> tuple[Any, list[Any]]:
    """The matrix whose rows are the first dimensions of an array, and the array's lengths."""
    lengths = [Shape_i(i)(a) for i in range(a.type.ndim)]
    sizes = [product_of(part) if part else 1 for part in (lengths[:rows], lengths[rows:])]
    return a.reshape(sizes, ndim=2), lengths


@lowers(nlinalg.TensorInv)
def lower_tensorinv(builder: ProgramBuilder, node: Apply) -> None:
    a, ind = node.inputs[0], node.op.ind
    _lapack_dtype(a)
    matrix, lengths = _as_matrix(a, ind)
    result = nlinalg.matrix_inverse(matrix).reshape([*lengths[ind:], *lengths[:ind]], ndim=a.type.ndim)
    builder.emit_expressions(node, node.inputs, [result])


@lowers(nlinalg.TensorSolve)
def lower_tensorsolve(builder: ProgramBuilder, node: Apply) -> None:
    a, b = node.inputs
    _lapack_dtype(a, b)
    moved = [axis % a.type.ndim for axis in node.op.axes or ()]
    order = [i for i in range(a.type.ndim) if i not in moved] + moved
    matrix, lengths = _as_matrix(a.dimshuffle(order) if moved else a, b.type.ndim)
    x = _NumpySolve()(matrix, b.flatten())
    builder.emit_expressions(node, node.inputs, [x.reshape(lengths[b.type.ndim :], ndim=a.type.ndim - b.type.ndim)])

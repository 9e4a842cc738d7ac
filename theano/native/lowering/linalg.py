"""Decompositions and linear systems: LAPACK calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano import tensor
from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers, lowers_to
from theano.tensor import nlinalg
from theano.tensor.decompositions import SVD, Eig, Eigh, EighGrad, QRFull, QRIncomplete
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


def _emit(builder: ProgramBuilder, node: Apply, instruction: vm.Instruction) -> None:
    """Emit an instruction whose inputs, those that are given, are converted to their common floating point dtype."""
    inputs = [v for v in node.inputs if not isinstance(v.type, NoneTypeT)]
    dtype = _lapack_dtype(*inputs)
    builder.emit(instruction, [builder.converted(v, dtype) for v in inputs], map(builder.cell, node.outputs))


class _NumpySolve(Solve):
    """A general system with the errors of ``numpy.linalg.solve``."""


lowers_to({
    Cholesky: lambda op: vm.Cholesky(bool(op.lower), op.on_error == "nan"),
    MatrixInverse: lambda op: vm.Inverse(),
    MatrixPinv: lambda op: vm.Pinv(),
    Det: lambda op: vm.Det(),
    Eigh: lambda op: vm.Eigh(op.UPLO == "L"),
    Eigvalsh: lambda op: vm.Eigh(bool(op.lower)),
    Eig: lambda op: vm.Eig(),
    SVD: lambda op: vm.Svd(bool(op.full_matrices)),
    # Structures without a routine of their own are general ones.
    Solve: lambda op: vm.Solve(getattr(vm.Structure, op.A_structure.upper(), vm.Structure.GENERAL), bool(op.lower), False),
    _NumpySolve: lambda op: vm.Solve(vm.Structure.GENERAL, False, True),
}, _emit)  # fmt: skip
lowers_to(
    dict.fromkeys((QRFull, QRIncomplete), lambda op: vm.Qr(vm.QrMode[op.mode.upper()])),
    _emit,
    where=("the mode is known", lambda node: node.op.mode.upper() in vm.QrMode.__members__),
)
lowers_to({nlinalg.AllocDiag: lambda op: vm.DiagonalMatrix(0)})


@lowers(nlinalg.lstsq)
def lower_lstsq(builder: ProgramBuilder, node: Apply) -> None:
    """How many residuals there are depends on the rank, which an instruction of their own waits for."""
    x, y, rcond = node.inputs
    solution, residuals, rank, values = node.outputs
    dtype = _lapack_dtype(x, y)
    if dtype.startswith("complex") or x.type.ndim != 2 or y.type.ndim not in (1, 2) or rcond.type.ndim:
        raise CannotLower("complex numbers, or a limit that is an array")
    cells = [builder.converted(x, dtype), builder.converted(y, dtype), builder.converted(rcond, "float64")]
    columns, sums = builder.temporary(dtype, (False, False)), builder.temporary(dtype, (False,))
    found = columns if y.type.ndim == 1 else builder.cell(solution)
    builder.emit(vm.Lstsq(), cells, [found, sums, builder.cell(rank), builder.cell(values)])
    if y.type.ndim == 1:
        builder.flattened(columns, builder.cell(solution))
    builder.emit(vm.Residuals(), [sums, builder.cell(rank), cells[0]], [builder.cell(residuals)])


@lowers(Expm, ExpmGrad)
def lower_expm(builder: ProgramBuilder, node: Apply) -> None:
    """In double precision. The adjoint of the derivative at A is the derivative at the transpose."""
    dtype = "complex128" if _lapack_dtype(*node.inputs).startswith("complex") else "float64"
    out = node.outputs[0]
    cells = [builder.converted(v, dtype) for v in node.inputs]
    wide = builder.cell(out) if out.type.dtype == dtype else builder.temporary(dtype, (False, False))
    if isinstance(node.op, ExpmGrad):
        transposed = builder.temporary(dtype, (False, False))
        builder.emit(vm.Dimshuffle((1, 0)), cells[:1], [transposed])
        builder.emit(vm.ExpmDirection(), [transposed, cells[1]], [wide])
    else:
        builder.emit(vm.Expm(), cells, [wide])
    if out.type.dtype != dtype:
        builder.emit(vm.CastCopy(), [wide], [builder.cell(out)])


def _folded(g: Any, lower: bool) -> Any:
    """The gradient of one triangle that stands for a whole symmetric matrix."""
    n = g.shape[0]
    below = tensor.tri(n, n, 0 if lower else -1, dtype="int8")
    kept, other = tensor.switch(below, g, 0), tensor.switch(below, 0, g)
    return kept + other.T if lower else other + kept.T


@lowers(EighGrad)
def lower_eigh_grad(builder: ProgramBuilder, node: Apply) -> None:
    _, w, v, gw, gv = node.inputs
    if any(x.type.dtype.startswith("complex") for x in node.inputs):
        raise CannotLower("complex eigenvectors")
    n = w.shape[0]
    diagonal = tensor.eye(n, dtype="int8")
    gaps = tensor.switch(diagonal, 1, w.dimshuffle(0, "x") - w.dimshuffle("x", 0))
    core = tensor.switch(diagonal, gw.dimshuffle(0, "x"), tensor.dot(v.T, gv).T / gaps)
    g = tensor.dot(tensor.dot(v, core), v.T)
    builder.emit_expressions(node, node.inputs, [_folded(g, node.op.UPLO == "L")])


@lowers(EigvalshGrad)
def lower_eigvalsh_grad(builder: ProgramBuilder, node: Apply) -> None:
    from theano.native.target.cpu.lapack_library import available

    a, b, gw = node.inputs
    lower, dtype = bool(node.op.lower), float_dtype_of(a, b)
    if dtype not in ("float32", "float64") or not available():
        raise CannotLower("LAPACK has no such routine")
    w, v = TensorType(dtype, (False,))(), TensorType(dtype, (False, False))()
    builder.emit(vm.Eigh(lower), [builder.converted(x, dtype) for x in (a, b)], [builder.cell(w), builder.cell(v)])
    ga = tensor.dot(v * gw, v.T)
    gb = -tensor.dot(v * (gw * w), v.T)
    builder.emit_expressions(node, [w, v, gw], [_folded(ga, lower), _folded(gb, lower)])


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


def _as_matrix(a: Any, rows: int, order: Sequence[int] | None = None) -> tuple[Any, list[Any]]:
    """The matrix whose rows are the first dimensions of an array, and the array's lengths."""
    if order is not None:
        a = a.dimshuffle(order)
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
    matrix, lengths = _as_matrix(a, b.type.ndim, order if moved else None)
    x = _NumpySolve()(matrix, b.flatten())
    builder.emit_expressions(node, node.inputs, [x.reshape(lengths[b.type.ndim :], ndim=a.type.ndim - b.type.ndim)])

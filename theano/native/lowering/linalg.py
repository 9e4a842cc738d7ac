"""Decompositions and linear systems: LAPACK calls."""

from __future__ import annotations

from collections.abc import Sequence

from theano.gof.graph import Apply, Variable
from theano.native.lowering.order import converted
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers
from theano.tensor.nlinalg import SVD, Det, Eig, Eigh, MatrixInverse, MatrixPinv, QRFull, QRIncomplete, float_dtype_of
from theano.tensor.slinalg import Cholesky, Eigvalsh, Solve
from theano.tensor.type_other import NoneTypeT

DTYPES = ("float32", "float64", "complex64", "complex128")
_STRUCTURES = {"symmetric": 1, "lower_triangular": 2, "upper_triangular": 3}
_QR_MODES = {"r": 0, "reduced": 1, "complete": 2, "raw": 3}


def _emit(
    builder: ProgramBuilder, node: Apply, name: str, params: tuple = (), inputs: Sequence[Variable] | None = None
) -> None:
    """Emit an instruction whose inputs are converted to their common floating point dtype."""
    from theano.native.lapack_library import available

    inputs = node.inputs if inputs is None else inputs
    dtype = float_dtype_of(*inputs)
    if dtype not in DTYPES or not all(is_tensor_like(v.type) for v in inputs) or not available():
        raise CannotLower("LAPACK has no such routine")
    builder.emit(name, [converted(builder, v, dtype) for v in inputs], map(builder.cell, node.outputs), params)


@lowers(Cholesky)
def lower_cholesky(builder: ProgramBuilder, node: Apply) -> None:
    _emit(builder, node, "cholesky", (bool(node.op.lower), node.op.on_error == "nan"))


@lowers(Solve)
def lower_solve(builder: ProgramBuilder, node: Apply) -> None:
    """Structures without a routine of their own are general ones."""
    _emit(builder, node, "solve", (_STRUCTURES.get(node.op.A_structure, 0), bool(node.op.lower)))


@lowers(MatrixInverse)
def lower_inverse(builder: ProgramBuilder, node: Apply) -> None:
    _emit(builder, node, "inverse")


@lowers(MatrixPinv)
def lower_pinv(builder: ProgramBuilder, node: Apply) -> None:
    _emit(builder, node, "pinv")


@lowers(Det)
def lower_det(builder: ProgramBuilder, node: Apply) -> None:
    _emit(builder, node, "det")


@lowers(Eigh)
def lower_eigh(builder: ProgramBuilder, node: Apply) -> None:
    _emit(builder, node, "eigh", (node.op.UPLO == "L",))


@lowers(Eig)
def lower_eig(builder: ProgramBuilder, node: Apply) -> None:
    _emit(builder, node, "eig")


@lowers(Eigvalsh)
def lower_eigvalsh(builder: ProgramBuilder, node: Apply) -> None:
    matrices = [v for v in node.inputs if not isinstance(v.type, NoneTypeT)]
    _emit(builder, node, "eigh", (bool(node.op.lower),), matrices)


@lowers(SVD)
def lower_svd(builder: ProgramBuilder, node: Apply) -> None:
    _emit(builder, node, "svd", (bool(node.op.full_matrices),))


@lowers(QRFull, QRIncomplete)
def lower_qr(builder: ProgramBuilder, node: Apply) -> None:
    if node.op.mode not in _QR_MODES:
        raise CannotLower("a mode that is not known")
    _emit(builder, node, "qr", (_QR_MODES[node.op.mode],))

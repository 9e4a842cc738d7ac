"""Decompositions and linear systems: LAPACK calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano import tensor
from theano.gof.graph import Apply, Variable, io_toposort
from theano.native.lowering.order import converted
from theano.native.program import CannotLower, ProgramBuilder, find_lowering, is_tensor_like, lowers
from theano.tensor.nlinalg import SVD, Det, Eig, Eigh, EighGrad, MatrixInverse, MatrixPinv, QRFull, QRIncomplete, float_dtype_of
from theano.tensor.slinalg import Cholesky, Eigvalsh, EigvalshGrad, Solve
from theano.tensor.type import TensorType
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


def _emit_expressions(builder: ProgramBuilder, node: Apply, inputs: Sequence[Variable], results: Sequence[Any]) -> None:
    """Compute the node's outputs by expressions of variables that have cells."""
    for apply in io_toposort(inputs, results):
        lowering = find_lowering(apply.op)
        if lowering is None:
            raise CannotLower(f"{apply.op} is not native")
        lowering(builder, apply)
    for result, out in zip(results, node.outputs, strict=True):
        builder.emit("cast_copy", [builder.cell(result)], [builder.cell(out)])


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
    _emit_expressions(builder, node, node.inputs, [_folded(g, node.op.UPLO == "L")])


@lowers(EigvalshGrad)
def lower_eigvalsh_grad(builder: ProgramBuilder, node: Apply) -> None:
    from theano.native.lapack_library import available

    a, b, gw = node.inputs
    lower, dtype = bool(node.op.lower), float_dtype_of(a, b)
    if dtype not in ("float32", "float64") or not available():
        raise CannotLower("LAPACK has no such routine")
    w, v = TensorType(dtype, (False,))(), TensorType(dtype, (False, False))()
    builder.emit("eigh", [converted(builder, x, dtype) for x in (a, b)], [builder.cell(w), builder.cell(v)], (lower,))
    ga = tensor.dot(v * gw, v.T)
    gb = -tensor.dot(v * (gw * w), v.T)
    _emit_expressions(builder, node, [w, v, gw], [_folded(ga, lower), _folded(gb, lower)])

"""Products of matrices and vectors: BLAS calls."""

from __future__ import annotations

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.tensor.basic import Dot
from theano.tensor.blas import BatchedDot, Dot22, Dot22Scalar, Gemm, Gemv, Ger


@lowers(Dot, Dot22)
def lower_dot(builder: ProgramBuilder, node: Apply) -> None:
    """Operands of another dtype than the result's are converted first."""
    out = node.outputs[0]
    builder.emit(vm.Dot(), [builder.converted(v, out.type.dtype) for v in node.inputs], [builder.cell(out)])


@lowers(Dot22Scalar)
def lower_dot22scalar(builder: ProgramBuilder, node: Apply) -> None:
    _one_dtype(node)
    builder.emit_for(node, vm.Dot22Scalar())


@lowers(Gemm)
def lower_gemm(builder: ProgramBuilder, node: Apply) -> None:
    _one_dtype(node)
    builder.emit_for(node, vm.Gemm(bool(node.op.inplace)))


@lowers(Gemv)
def lower_gemv(builder: ProgramBuilder, node: Apply) -> None:
    _one_dtype(node)
    builder.emit_for(node, vm.Gemv(bool(node.op.inplace)))


@lowers(Ger)
def lower_ger(builder: ProgramBuilder, node: Apply) -> None:
    _one_dtype(node)
    builder.emit_for(node, vm.Ger(bool(node.op.destructive)))


@lowers(BatchedDot)
def lower_batched_dot(builder: ProgramBuilder, node: Apply) -> None:
    _one_dtype(node)
    builder.emit_for(node, vm.BatchedDot())


def _one_dtype(node: Apply) -> None:
    if len({v.type.dtype for v in (*node.inputs, *node.outputs)}) > 1:
        raise CannotLower("a product of several dtypes")

"""Products of matrices and vectors: BLAS calls."""

from __future__ import annotations

from theano.native import instructions as vm
from theano.native.program import lowers_to
from theano.tensor.basic import Dot
from theano.tensor.blas import BatchedDot, Dot22, Dot22Scalar, Gemm, Gemv, Ger

# Operands of another dtype than the result's are converted first.
lowers_to(
    dict.fromkeys((Dot, Dot22), lambda op: vm.Dot()),
    lambda builder, node, instruction: builder.emit_for(node, instruction, node.outputs[0].type.dtype),
)
lowers_to({
    Dot22Scalar: lambda op: vm.Dot22Scalar(),
    Gemm: lambda op: vm.Gemm(bool(op.inplace)),
    Gemv: lambda op: vm.Gemv(bool(op.inplace)),
    Ger: lambda op: vm.Ger(bool(op.destructive)),
    BatchedDot: lambda op: vm.BatchedDot(),
}, where=("all have one dtype", lambda node: len({v.type.dtype for v in (*node.inputs, *node.outputs)}) == 1))  # fmt: skip

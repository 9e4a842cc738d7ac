"""Pooling and its gradients: an instruction each."""

from __future__ import annotations

from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers, lowers_to
from theano.tensor.math import complex_dtypes, float_dtypes
from theano.tensor.signal.pool import AveragePoolGrad, DownsampleFactorMaxGradGrad, MaxPoolGrad, MaxPoolRop, Pool


def _cells(builder: ProgramBuilder, x: Variable, *others: Variable) -> list[int]:
    """The cells of images and of what comes with them: the last is converted to their dtype, maxima before it have it."""
    dtype = x.type.dtype
    if not is_tensor_like(x.type) or dtype in complex_dtypes:
        raise CannotLower("complex numbers")
    for v in others:
        if v.type.dtype != dtype and (v is not others[-1] or not {dtype, v.type.dtype} <= set(float_dtypes)):
            raise CannotLower("images and gradients of different kinds")
    return [builder.cell(x), *(builder.converted(v, dtype) for v in others)]


def _emit(builder: ProgramBuilder, node: Apply, instruction: vm.Instruction) -> None:
    cells = _cells(builder, *node.inputs[:-3])
    builder.emit(instruction, [*cells, *map(builder.cell, node.inputs[-3:])], [builder.cell(node.outputs[0])])


lowers_to({
    Pool: lambda op: vm.Pool(op.ndim, op.ignore_border, vm.PoolMode[op.mode.upper()]),
    MaxPoolGrad: lambda op: vm.PoolMaxGradient(op.ndim, op.ignore_border),
    AveragePoolGrad: lambda op: vm.PoolSumGradient(op.ndim, op.ignore_border, vm.PoolMode[op.mode.upper()]),
    DownsampleFactorMaxGradGrad: lambda op: vm.PoolPick(op.ndim, op.ignore_border, False),
}, _emit)  # fmt: skip


@lowers(MaxPoolRop)
def lower_r_operator(builder: ProgramBuilder, node: Apply) -> None:
    """The maxima, then what is at the first element that equals each."""
    x, point = node.inputs[:2]
    if x.type.dtype != point.type.dtype:
        raise CannotLower("images and point of different dtypes")
    images, at = _cells(builder, x, point)
    windows = [builder.cell(v) for v in node.inputs[-3:]]
    ndim, ignore_border = node.op.ndim, node.op.ignore_border
    pool = vm.Pool(ndim, ignore_border, vm.PoolMode.MAX)
    maxima = builder.made(pool, [images, *windows], x.type.dtype, node.outputs[0].type.broadcastable)
    picked = vm.PoolPick(ndim, ignore_border, True)
    builder.emit(picked, [images, maxima, at, *windows], [builder.cell(node.outputs[0])])

"""Pooling and its gradients: an instruction each."""

from __future__ import annotations

from collections.abc import Iterable

from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers
from theano.tensor.math import complex_dtypes, float_dtypes
from theano.tensor.signal.pool import AveragePoolGrad, DownsampleFactorMaxGradGrad, MaxPoolGrad, MaxPoolRop, Pool


def _cells(builder: ProgramBuilder, x: Variable, others: Iterable[Variable] = (), exact: Iterable[Variable] = ()) -> list[int]:
    """The cells of images and of what comes with them: floats of another precision are converted, but not those compared with."""
    others, exact = list(others), list(exact)
    dtype = x.type.dtype
    if not is_tensor_like(x.type) or dtype in complex_dtypes:
        raise CannotLower("complex numbers")
    for v in (*others, *exact):
        if v.type.dtype != dtype and (v in exact or not {dtype, v.type.dtype} <= set(float_dtypes)):
            raise CannotLower("images and gradients of different kinds")
    return [builder.cell(x), *(builder.cell(v) for v in exact), *(builder.converted(v, dtype) for v in others)]


def _emit(builder: ProgramBuilder, node: Apply, instruction: vm.Instruction, cells: list[int]) -> None:
    windows = [builder.cell(v) for v in node.inputs[-3:]]
    builder.emit(instruction, [*cells, *windows], [builder.cell(node.outputs[0])])


@lowers(Pool)
def lower_pool(builder: ProgramBuilder, node: Apply) -> None:
    op = node.op
    mode = vm.PoolMode[op.mode.upper()]
    _emit(builder, node, vm.Pool(op.ndim, op.ignore_border, mode), _cells(builder, node.inputs[0]))


@lowers(MaxPoolGrad)
def lower_max_gradient(builder: ProgramBuilder, node: Apply) -> None:
    x, maxima, gradient = node.inputs[:3]
    _emit(builder, node, vm.PoolMaxGradient(node.op.ndim, node.op.ignore_border), _cells(builder, x, [gradient], [maxima]))


@lowers(AveragePoolGrad)
def lower_sum_gradient(builder: ProgramBuilder, node: Apply) -> None:
    x, gradient = node.inputs[:2]
    mode = vm.PoolMode[node.op.mode.upper()]
    _emit(builder, node, vm.PoolSumGradient(node.op.ndim, node.op.ignore_border, mode), _cells(builder, x, [gradient]))


@lowers(DownsampleFactorMaxGradGrad)
def lower_gradient_of_gradient(builder: ProgramBuilder, node: Apply) -> None:
    x, maxima, other = node.inputs[:3]
    _emit(builder, node, vm.PoolPick(node.op.ndim, node.op.ignore_border, False), _cells(builder, x, [other], [maxima]))


@lowers(MaxPoolRop)
def lower_r_operator(builder: ProgramBuilder, node: Apply) -> None:
    """The maxima, then what is at the first element that equals each."""
    x, point = node.inputs[:2]
    if x.type.dtype != point.type.dtype:
        raise CannotLower("images and point of different dtypes")
    cells = _cells(builder, x, [point])
    windows = [builder.cell(v) for v in node.inputs[-3:]]
    maxima = builder.temporary(x.type.dtype, node.outputs[0].type.broadcastable)
    mode = vm.PoolMode.MAX
    builder.emit(vm.Pool(node.op.ndim, node.op.ignore_border, mode), [cells[0], *windows], [maxima])
    picked = vm.PoolPick(node.op.ndim, node.op.ignore_border, True)
    _emit(builder, node, picked, [cells[0], maxima, cells[1]])

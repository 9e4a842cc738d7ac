"""Convolutions and their gradients: one instruction each."""

from __future__ import annotations

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import lowers_to
from theano.tensor.nnet.conv import ConvOp
from theano.tensor.nnet.conv_base import Convolution
from theano.tensor.nnet.conv_ops import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
)
from theano.tensor.nnet.corr import CorrMM, CorrMM_gradInputs, CorrMM_gradWeights
from theano.tensor.nnet.corr3d import Corr3dMM, Corr3dMM_gradInputs, Corr3dMM_gradWeights


def _params(op: Convolution) -> tuple[object, ...]:
    """The fields that the three instructions share."""
    border, padding = vm.ConvBorder.EXPLICIT, (0,) * (2 * op.convdim)
    if op.border_mode in ("half", "full"):
        border = vm.ConvBorder[op.border_mode.upper()]
    elif op.border_mode != "valid":
        padding = tuple(n for mode in op.border_mode for n in (mode if isinstance(mode, tuple) else (mode, mode)))
    return border, padding, op.subsample, op.filter_dilation, op.num_groups, op.filter_flip, op.unshared


def _has_one_float_dtype(node: Apply) -> bool:
    dtypes = {v.type.dtype for v in (*node.inputs[:2], *node.outputs)}
    return len(dtypes) == 1 and dtypes <= {"float16", "float32", "float64"}


_WHERE = ("all have one float dtype", _has_one_float_dtype)
_FORWARD = (AbstractConv2d, AbstractConv3d, ConvOp, CorrMM, Corr3dMM)
_WEIGHTS = (AbstractConv2d_gradWeights, AbstractConv3d_gradWeights, CorrMM_gradWeights, Corr3dMM_gradWeights)
_INPUTS = (AbstractConv2d_gradInputs, AbstractConv3d_gradInputs, CorrMM_gradInputs, Corr3dMM_gradInputs)
lowers_to(dict.fromkeys(_FORWARD, lambda op: vm.ConvForward(*_params(op))), where=_WHERE)
# With the gradient of the output; then the lengths of the result, if they are given.
lowers_to(dict.fromkeys(_WEIGHTS, lambda op: vm.ConvWeights(*_params(op))), where=_WHERE)
lowers_to(dict.fromkeys(_INPUTS, lambda op: vm.ConvInputs(*_params(op))), where=_WHERE)

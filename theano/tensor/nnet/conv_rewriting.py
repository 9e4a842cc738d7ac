"""Rewrites that choose an implementation for the abstract convolutions.

They stand in a group, `conv_opts`, of the stage `specialize_device`; the first one that applies counts. Those tagged
'conv_gemm' give CorrMM and its kin, which compute everything; with these excluded, those tagged 'conv_direct' give the old
ConvOp where that can do it. What is then still abstract is an error.
"""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Variable
from theano.gof.opt import copy_stack_trace, in2out, local_optimizer
from theano.gof.optdb import LocalGroupDB
from theano.gof.rewriting.local import LocalMetaOptimizer
from theano.gof.rewriting.stages import optdb
from theano.tensor.from_scalars import MakeVector
from theano.tensor.nnet.conv import ConvOp
from theano.tensor.nnet.conv_ops import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
)
from theano.tensor.nnet.conv_shapes import get_conv_output_shape
from theano.tensor.nnet.corr import CorrMM, CorrMM_gradInputs, CorrMM_gradWeights
from theano.tensor.nnet.corr3d import Corr3dMM, Corr3dMM_gradInputs, Corr3dMM_gradWeights
from theano.tensor.rewriting.registry import register_specialize_device
from theano.tensor.shaping import patternbroadcast
from theano.tensor.var import TensorConstant

conv_groupopt = LocalGroupDB()
conv_groupopt.__name__ = "conv_opts"
register_specialize_device(conv_groupopt, "fast_compile", "fast_run", name="conv_opts")


def _lengths(shape: Any, ndim: int) -> list[Any]:
    """The elements of a vector, without a detour over one that was put together."""
    if shape.owner is not None and isinstance(shape.owner.op, MakeVector):
        return shape.owner.inputs
    if isinstance(shape, TensorConstant):
        return [int(n) for n in shape.data]
    return [shape[axis] for axis in range(ndim)]


def _correlation(node: Apply, abstract: type, concrete: Any) -> list[Variable] | None:
    """The result of `node` by a concrete Op of the same parameters, None if it is of another class than `abstract`."""
    op = node.op
    if type(op) is not abstract:
        return None
    twin = concrete(
        border_mode=op.border_mode, subsample=op.subsample, filter_dilation=op.filter_dilation, num_groups=op.num_groups,
        unshared=op.unshared, filter_flip=op.filter_flip,
    )  # fmt: skip
    a, b, *shape = node.inputs
    result = twin(a, b, _lengths(shape[0], op.convdim)) if shape else twin(a, b)
    result = patternbroadcast(result, node.outputs[0].type.broadcastable)
    copy_stack_trace(node.outputs[0], result)
    return [result]


@local_optimizer([AbstractConv2d])
def local_abstractconv_gemm(node: Apply) -> Any:
    """``AbstractConv2d(image, filters) -> CorrMM(image, filters)``."""
    return _correlation(node, AbstractConv2d, CorrMM)


@local_optimizer([AbstractConv3d])
def local_abstractconv3d_gemm(node: Apply) -> Any:
    """``AbstractConv3d(image, filters) -> Corr3dMM(image, filters)``."""
    return _correlation(node, AbstractConv3d, Corr3dMM)


@local_optimizer([AbstractConv2d_gradWeights])
def local_abstractconv_gradweight_gemm(node: Apply) -> Any:
    """``AbstractConv2d_gradWeights(image, top, lengths) -> CorrMM_gradWeights(image, top, *lengths)``."""
    return _correlation(node, AbstractConv2d_gradWeights, CorrMM_gradWeights)


@local_optimizer([AbstractConv3d_gradWeights])
def local_abstractconv3d_gradweight_gemm(node: Apply) -> Any:
    """``AbstractConv3d_gradWeights(image, top, lengths) -> Corr3dMM_gradWeights(image, top, *lengths)``."""
    return _correlation(node, AbstractConv3d_gradWeights, Corr3dMM_gradWeights)


@local_optimizer([AbstractConv2d_gradInputs])
def local_abstractconv_gradinputs_gemm(node: Apply) -> Any:
    """``AbstractConv2d_gradInputs(filters, top, lengths) -> CorrMM_gradInputs(filters, top, *lengths)``."""
    return _correlation(node, AbstractConv2d_gradInputs, CorrMM_gradInputs)


@local_optimizer([AbstractConv3d_gradInputs])
def local_abstractconv3d_gradinputs_gemm(node: Apply) -> Any:
    """``AbstractConv3d_gradInputs(filters, top, lengths) -> Corr3dMM_gradInputs(filters, top, *lengths)``."""
    return _correlation(node, AbstractConv3d_gradInputs, Corr3dMM_gradInputs)


def _as_old(op: Any) -> bool:
    """Whether the old ConvOp can do what an abstract convolution asks for."""
    ones = all(n == 1 for n in op.filter_dilation) and op.num_groups == 1
    return ones and not op.unshared and op.border_mode in ("valid", "full")


@local_optimizer([AbstractConv2d])
def local_conv2d_cpu(node: Apply) -> Any:
    """``AbstractConv2d(image, filters) -> ConvOp(image, filters)``: valid or full, without dilation or groups."""
    op = node.op
    if type(op) is not AbstractConv2d or not _as_old(op):
        return None
    image, filters = node.inputs
    result = ConvOp(dx=op.subsample[0], dy=op.subsample[1], output_mode=op.border_mode)(
        image, filters if op.filter_flip else filters[:, :, ::-1, ::-1]
    )
    result = patternbroadcast(result, node.outputs[0].type.broadcastable)
    copy_stack_trace(node.outputs[0], result)
    return [result]


@local_optimizer([AbstractConv2d_gradWeights])
def local_conv2d_gradweight_cpu(node: Apply) -> Any:
    """``AbstractConv2d_gradWeights(image, top, lengths) -> ConvOp(image', top')``, channels in place of the batch.

    Of a valid convolution it is the valid one of the images with the gradient; of a full one that of the gradient with the
    images. Without strides, dilation or groups.
    """
    op = node.op
    if type(op) is not AbstractConv2d_gradWeights or not _as_old(op) or any(s != 1 for s in op.subsample):
        return None
    image, top, _ = node.inputs
    if op.border_mode == "valid":
        result = ConvOp(output_mode="valid")(image.dimshuffle(1, 0, 2, 3), top.dimshuffle(1, 0, 2, 3)[:, :, ::-1, ::-1])
        result = result.dimshuffle(1, 0, 2, 3)
    else:
        result = ConvOp(output_mode="valid")(top.dimshuffle(1, 0, 2, 3), image.dimshuffle(1, 0, 2, 3)[:, :, ::-1, ::-1])
        # What the filters meet comes in the other direction.
        result = result[:, :, ::-1, ::-1]
    if op.filter_flip:
        result = result[:, :, ::-1, ::-1]
    result = patternbroadcast(result, node.outputs[0].type.broadcastable)
    copy_stack_trace(node.outputs[0], result)
    return [result]


@local_optimizer([AbstractConv2d_gradInputs])
def local_conv2d_gradinputs_cpu(node: Apply) -> Any:
    """``AbstractConv2d_gradInputs(filters, top, lengths) -> ConvOp(top, filters')``, channels exchanged.

    It is the full convolution of a valid one, and the valid of a full one. Without strides, dilation or groups.
    """
    op = node.op
    if type(op) is not AbstractConv2d_gradInputs or not _as_old(op) or any(s != 1 for s in op.subsample):
        return None
    filters, top, _ = node.inputs
    filters = filters.dimshuffle(1, 0, 2, 3)
    if op.filter_flip:
        filters = filters[:, :, ::-1, ::-1]
    result = ConvOp(output_mode="full" if op.border_mode == "valid" else "valid")(top, filters)
    result = patternbroadcast(result, node.outputs[0].type.broadcastable)
    copy_stack_trace(node.outputs[0], result)
    return [result]


class ConvMetaOptimizer(LocalMetaOptimizer):
    """Choose among the implementations of a convolution by timing them, with random inputs of the shapes that are known."""

    def provide_inputs(self, node: Apply, inputs: Any) -> dict:
        import numpy as np

        op = node.op
        image, filters = op.imshp, op.kshp
        if any(n is None for n in (*image, *filters)):
            return {}
        top = get_conv_output_shape(image, filters, op.border_mode, op.subsample, op.filter_dilation)
        shapes = {"img": image, "kern": filters, "topgrad": top}
        rng = np.random.RandomState(1)
        values = {}
        for name, x in zip(op.operands, node.inputs):
            if x in inputs:
                values[x] = rng.uniform(-1, 1, shapes[name]).astype(x.type.dtype)
        if len(node.inputs) > 2 and node.inputs[2] in inputs:
            lengths = (filters if op.operands[0] == "img" else image)[-op.convdim :]
            values[node.inputs[2]] = np.asarray(lengths, node.inputs[2].type.dtype)
        return values


_implementations = {
    "conv_gemm": (
        local_abstractconv_gemm, local_abstractconv3d_gemm, local_abstractconv_gradweight_gemm,
        local_abstractconv3d_gradweight_gemm, local_abstractconv_gradinputs_gemm, local_abstractconv3d_gradinputs_gemm,
    ),
    "conv_direct": (local_conv2d_cpu, local_conv2d_gradweight_cpu, local_conv2d_gradinputs_cpu),
}  # fmt: skip

_meta = ConvMetaOptimizer()
for _position, (_tag, _rewrites) in enumerate(_implementations.items()):
    for _rewrite in _rewrites:
        conv_groupopt.register(_rewrite.__name__, _rewrite, _tag, "fast_compile", "fast_run", position=30 + 10 * _position)
        _meta.register(_rewrite, [_tag])
conv_groupopt.register("conv_meta", _meta, "conv_meta", position=10)


_ABSTRACT = (
    AbstractConv2d, AbstractConv2d_gradWeights, AbstractConv2d_gradInputs, AbstractConv3d, AbstractConv3d_gradWeights,
    AbstractConv3d_gradInputs,
)  # fmt: skip


@local_optimizer(list(_ABSTRACT))
def local_abstractconv_check(node: Apply) -> Any:
    """Raise AssertionError for a convolution that no rewrite has chosen an implementation for."""
    # A class of the user's own brings its implementation.
    if type(node.op) in _ABSTRACT:
        raise AssertionError(
            f"{type(node.op).__name__} Theano optimization failed: there is no implementation available supporting the"
            ' requested options. Did you exclude "conv_gemm" from the optimizer? Without it convolutions of two axes, valid or'
            " full, without dilation or groups are all that is left."
        )
    return None


optdb.register("AbstractConvCheck", in2out(local_abstractconv_check, name="AbstractConvCheck"), 48.7, "fast_compile", "fast_run")

"""The documented names of the rewrites of convolutions, gathered from their home."""

from __future__ import annotations

from theano import aliases
from theano.tensor.nnet.conv_rewriting import (
    conv_groupopt,
    local_abstractconv3d_gemm,
    local_abstractconv3d_gradinputs_gemm,
    local_abstractconv3d_gradweight_gemm,
    local_abstractconv_check,
    local_abstractconv_gemm,
    local_abstractconv_gradinputs_gemm,
    local_abstractconv_gradweight_gemm,
    local_conv2d_cpu,
    local_conv2d_gradinputs_cpu,
    local_conv2d_gradweight_cpu,
)

__getattr__, __dir__ = aliases.lazy(__name__)

__all__ = [
    "conv_groupopt",
    "local_abstractconv3d_gemm",
    "local_abstractconv3d_gradinputs_gemm",
    "local_abstractconv3d_gradweight_gemm",
    "local_abstractconv_check",
    "local_abstractconv_gemm",
    "local_abstractconv_gradinputs_gemm",
    "local_abstractconv_gradweight_gemm",
    "local_conv2d_cpu",
    "local_conv2d_gradinputs_cpu",
    "local_conv2d_gradweight_cpu",
]

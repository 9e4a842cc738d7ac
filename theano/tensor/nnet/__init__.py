"""Operations for neural networks: activations, losses, and from their own modules convolutions and normalization."""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from theano.tensor.nnet.nnet import *
from theano.tensor.nnet.sigm import *

from theano.tensor.nnet import nnet, rewriting, sigm  # isort: skip
from theano.tensor.nnet import softmax_parts as _part_rewrites  # isort: skip
from theano.tensor.rewriting import sigmoid as _sigmoid_rewrites  # isort: skip
from theano.tensor.rewriting import stability_complement as _complement_rewrites  # isort: skip
from theano.tensor.rewriting import stability_log as _log_rewrites  # isort: skip
from theano.tensor.rewriting import stability_quotient as _quotient_rewrites  # isort: skip
from theano.tensor.rewriting import stability_rational as _rational_rewrites  # isort: skip
from theano.tensor.rewriting import stability_softmax as _softmax_rewrites  # isort: skip
from theano.tensor.rewriting import stability_switch as _switch_rewrites  # isort: skip

_lazy_modules = (
    "Conv3D",
    "ConvGrad3D",
    "ConvTransp3D",
    "abstract_conv",
    "blocksparse",
    "bn",
    "conv",
    "conv3d2d",
    "corr",
    "corr3d",
    "ctc",
    "neighbours",
    "opt",
    "tests",
)
_lazy_names = {
    "batch_normalization": "bn",
    "batch_normalization_test": "bn",
    "batch_normalization_train": "bn",
    "abstract_conv2d": "convolution",
    "conv2d": "convolution",
    "conv2d_grad_wrt_inputs": "convolution",
    "conv2d_transpose": "convolution",
    "conv3d": "abstract_conv",
    "separable_conv2d": "abstract_conv",
    "separable_conv3d": "abstract_conv",
    "ConvOp": "conv",
    "crossentropy_to_crossentropy_with_softmax": "nnet",
    "crossentropy_to_crossentropy_with_softmax_with_bias": "nnet",
    "graph_merge_softmax_with_crossentropy_softmax": "nnet",
    "softmax_simplifier": "nnet",
    "sparse_block_dot": "blocksparse",
}


def __getattr__(name: str) -> _Any:
    module = name if name in _lazy_modules else _lazy_names.get(name)
    if module is None:
        raise AttributeError(f"module 'theano.tensor.nnet' has no attribute {name!r}")
    try:
        loaded = _importlib.import_module(f"theano.tensor.nnet.{module}")
    except ModuleNotFoundError as error:
        if error.name != f"theano.tensor.nnet.{module}":
            raise
        raise AttributeError(f"module 'theano.tensor.nnet' has no attribute {name!r}") from error
    if name in _lazy_modules:
        return loaded
    value = getattr(loaded, name)
    globals()[name] = value
    return value

"""The examples in the docstrings of layers run and print what they show."""

import doctest
import importlib

import pytest

NNET = "activations blocksparse bn conv conv3d2d conv_shapes convolution ctc neighbours softmax upsampling"
MODULES = [f"theano.tensor.nnet.{name}" for name in NNET.split()] + ["theano.tensor.signal.pool", "theano.tensor.signal.conv"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0

"""Convolution by products with sparse matrices against SciPy: a module of tests that programs of users may import."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.signal

import theano
from theano import tensor
from theano.compile.function import function
from theano.sparse.sandbox import sp
from theano.sparse.tests.test_basic import random_lil, sparse_random_inputs
from theano.tests import unittest_tools as utt

__all__ = ["TestSP", "random_lil", "sparse_random_inputs", "theano"]


class TestSP:
    """Convolution and pooling."""

    def test_convolution(self) -> None:
        """Convolution with a bias, of both modes and with steps."""
        rng = np.random.RandomState(utt.fetch_seed())
        images, kernels, bias = rng.randn(2, 30), rng.randn(3, 6), rng.randn(3)
        i, k, b = tensor.dmatrix(), tensor.dmatrix(), tensor.dvector()
        for mode, step in itertools.product(("valid", "full"), ((1, 1), (2, 1), (3, 2))):
            out, shape = sp.convolve(k, (2, 3), 3, i, (5, 6), step=step, bias=b, mode=mode, flatten=False)
            got = function([i, k, b], out)(images, kernels, bias)
            expected = [
                [
                    scipy.signal.convolve2d(x.reshape(5, 6), w.reshape(2, 3), mode)[:: step[0], :: step[1]] + c
                    for w, c in zip(kernels, bias)
                ]
                for x in images
            ]
            assert tuple(shape) == np.shape(expected)[1:]
            np.testing.assert_allclose(got.reshape(np.shape(expected)), expected)

    def test_maxpool(self) -> None:
        """The largest of each area."""
        images = np.random.RandomState(utt.fetch_seed()).randn(2, 2 * 4 * 6)
        x = tensor.dmatrix()
        out, shape = sp.max_pool(x, (2, 4, 6), (2, 3))
        expected = images.reshape(2, 2, 2, 2, 2, 3).max(axis=(3, 5))
        assert tuple(shape) == (2, 2, 2)
        np.testing.assert_array_equal(function([x], out)(images), expected.reshape(2, -1))

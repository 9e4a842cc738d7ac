"""The smallest Op that one can begin an own one with, and its test."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano import gof, tensor
from theano.compile import function
from theano.configdefaults import config


class Minimal(gof.Op):
    """Takes any number of tensors, prints how many they are and the greatest element of the first, and gives 0."""

    # What tells two objects of the class apart, if they compute different things.
    __props__ = ()

    def make_node(self, *args: Any) -> gof.Apply:
        return gof.Apply(self, [tensor.as_tensor_variable(x) for x in args], [tensor.lscalar()])

    def perform(self, node: gof.Apply, inputs: Any, output_storage: Any) -> None:
        print(f"perform got {len(inputs)} arguments")
        print("Max of input[0] is ", np.max(inputs[0]))
        # A fresh value: what is returned must not share memory with an input, nor may an input change.
        output_storage[0][0] = np.asarray(0, dtype="int64")


minimal = Minimal()


class T_minimal(unittest.TestCase):
    """Runs the Op on a matrix and a vector."""

    def setUp(self) -> None:
        self.rng = np.random.RandomState(666)

    def test0(self) -> None:
        A, b = tensor.matrix(), tensor.vector()
        f = function([A, b], minimal(A, A, b, b, A))
        values = self.rng.standard_normal((5, 5)), np.arange(5.0)
        self.assertEqual(f(*(value.astype(config.floatX) for value in values)), 0)

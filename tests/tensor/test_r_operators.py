"""The R-operator of operations on tensors, against finite differences."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, variable_like
from theano import tensor as T
from theano.tensor import extra_ops

M = np.random.RandomState(0).rand(3, 4) + 0.5
ZEROS = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]])
INDEX = np.array([0, 1, 1, 0])

CASES = {
    "prod": (T.prod, M),
    "prod of a row": (lambda x: T.prod(x, axis=1), M),
    "prod with zeros": (lambda x: T.prod(x, axis=1), ZEROS),
    "prod without zeros": (lambda x: T.prod(x, axis=0, no_zeros_in_input=True), M),
    "fill_diagonal": (lambda x: T.fill_diagonal(x, x[0, 1]), M),
    "fill_diagonal_offset": (lambda x: T.fill_diagonal_offset(x, x[0, 0], 1), M),
    "topk": (lambda x: T.topk(x, 2), M),
    "topk of a vector": (lambda x: T.topk(x, -2), M[0]),
    "sort": (lambda x: T.sort(x, axis=0), M),
    "choose": (lambda x: T.choose(INDEX, [x[0], x[1] * 2]), M),
    "permute_row_elements": (lambda x: T.permute_row_elements(x, np.array([2, 0, 3, 1])), M),
    "tril": (T.tril, M),
    "triu": (lambda x: T.triu(x, 1), M),
    "nonzero_values": (T.nonzero_values, ZEROS),
    "cumprod": (lambda x: T.cumprod(x, axis=1), M),
    "diff": (lambda x: T.diff(x, 2), M),
    "repeat": (lambda x: extra_ops.RepeatOp(axis=1)(x, np.array([2, 0, 1, 3])), M),
    "gammainc": (lambda x: T.gammainc(2.0, x), M),
    "absolute value of a complex number": (lambda x: abs(T.complex(x, x**2)), M),
    "angle": (lambda x: T.angle(T.complex(x, x**2)), M),
    "parts of a complex product": (lambda x: T.imag(T.complex(x, x**2) * T.complex(1 - x, x)), M),
}


@pytest.mark.parametrize("name", CASES)
def test_r_operator(name):
    build, value = CASES[name]
    x = variable_like(value)
    direction = np.random.RandomState(1).rand(*value.shape)
    if name == "nonzero_values":
        direction = np.where(value == 0, 0, direction)
    out = build(x)
    moved = theano.function([x], T.Rop(out, x, T.constant(direction)), mode=PLAIN, on_unused_input="ignore")(value)
    f = theano.function([x], out, mode=PLAIN)
    step = 1e-6
    expected = (f(value + step * direction) - f(value - step * direction)) / (2 * step)
    np.testing.assert_allclose(moved, expected, rtol=1e-5, atol=1e-8)


def test_a_derivative_that_is_not_known_is_an_error():
    x = T.dvector()
    with pytest.raises(NotImplementedError, match="gammainc"):
        T.Rop(T.gammainc(x, 1.0), x, x)


def test_what_follows_a_shape_is_not_moved():
    x = T.dmatrix()
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.Rop(T.identity_like(x), x, x)
    moved = T.Rop(x + T.identity_like(x), x, x)
    np.testing.assert_array_equal(moved.eval({x: np.ones((2, 2))}), np.ones((2, 2)))

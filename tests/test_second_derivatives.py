"""Second derivatives of what is a function of one exponential, where the quotients of their terms are 0 / 0."""

from __future__ import annotations

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.nnet import sigmoid

mpmath = pytest.importorskip("mpmath")

AT = [-600.0, -60.0, -20.0, -0.75, 1e-3, 0.75, 20.0, 60.0, 600.0]


def slope(a):
    return 1 / (4 * mpmath.cosh(a / 2) ** 2)


def minus_slope(a):
    return -slope(a)


def sigmoid_bend(a):
    return -slope(a) * mpmath.tanh(a / 2)


def sech2(a):
    return 1 / mpmath.cosh(a) ** 2


CASES = {
    "exp(x) / (1 + exp(x))": (lambda x: T.exp(x) / (1 + T.exp(x)), sigmoid_bend),
    "(1 + exp(-x)) ** -1": (lambda x: (1 + T.exp(-x)) ** -1, sigmoid_bend),
    "log(exp(x) / (1 + exp(x)))": (lambda x: T.log(T.exp(x) / (1 + T.exp(x))), minus_slope),
    "log1p(-sigmoid(x))": (lambda x: T.log1p(-sigmoid(x)), minus_slope),
    "log(1 - 1 / (1 + exp(-x)))": (lambda x: T.log(1 - 1 / (1 + T.exp(-x))), minus_slope),
    "log(1 - tanh(x))": (lambda x: T.log(1 - T.tanh(x)), lambda a: -sech2(a)),
    "log(1 - (1 + tanh(x)) / 2)": (lambda x: T.log(1 - (1 + T.tanh(x)) / 2), lambda a: -sech2(a)),
    "log(1 - tanh(x) ** 2)": (lambda x: T.log(1 - T.tanh(x) ** 2), lambda a: -2 * sech2(a)),
    "log(abs(sinh(x)))": (lambda x: T.log(T.sinh(abs(x))), lambda a: -1 / mpmath.sinh(a) ** 2),
    "tanh of exponentials": (
        lambda x: (T.exp(x) - T.exp(-x)) / (T.exp(x) + T.exp(-x)), lambda a: -2 * mpmath.tanh(a) * sech2(a),
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_second_derivative_is_exact(name, dtype):
    build, exact = CASES[name]
    x = T.vector("x", dtype=dtype)
    second = T.grad(T.grad(build(x).sum(), x).sum(), x)
    at = np.array(AT, dtype=dtype)
    value = theano.function([x], second)(at)
    with mpmath.workdps(400):
        wanted = np.array([float(exact(mpmath.mpf(float(a)))) for a in at])
    assert np.all(abs(value - wanted) <= 4 * np.finfo(dtype).eps * abs(wanted) + np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logistic_density_far_out(dtype):
    x, s = T.vector("x", dtype=dtype), T.scalar("s", dtype=dtype)
    density = T.log(T.exp(-x) / (s * (1 + T.exp(-x)) ** 2))
    value = theano.function([x, s], density)(np.array([-2000, 0, 2000], dtype), np.asarray(2, dtype))
    np.testing.assert_allclose(value, [-2000 - np.log(2), -3 * np.log(2), -2000 - np.log(2)], rtol=8 * np.finfo(dtype).eps)

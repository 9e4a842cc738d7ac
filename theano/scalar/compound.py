"""Functions of exponentials that lose digits or overflow when they are composed; rewrites put them in their place."""

from __future__ import annotations

import numpy as np

from theano.scalar.error_functions import of_floats
from theano.scalar.explog import expm1, sigmoid
from theano.scalar.op import float_function, number
from theano.scalar.trigonometry import tanh

#: What log(2) as a float64 is too small by.
_LOG_2_REST = 2.3190468138462996e-17


@of_floats
def _sigmoid_slope(x):
    e = np.exp(-np.abs(x))
    return e / np.square(1 + e)


@of_floats
def _log_cosh(x):
    size = np.abs(x)
    e = np.expm1(np.minimum(size, 1))
    return np.where(size < 1, np.log1p(e * e / (2 + 2 * e)), size + (np.log1p(np.exp(-2 * size)) - np.log(2)))


@of_floats
def _log_1_minus_tanh(x):
    return np.where(x < 0.5, np.log1p(-np.tanh(x)), (np.log(2) - 2 * x) - np.log1p(np.exp(-2 * x)))


@of_floats
def _log_1_minus_exp(x):
    return np.where(x < -np.log(2), np.log1p(-np.exp(x)), np.log(-np.expm1(x)))


@of_floats
def _log_expm1(x):
    # Where the result is 0 the distance from log(2) counts.
    middle = np.log1p(2 * np.expm1((x - np.log(2)) - _LOG_2_REST))
    return np.where(x < 0.35, np.log(np.expm1(x)), np.where(x > 1.38, x + np.log1p(-np.exp(-x)), middle))


@of_floats
def _logit(x):
    rest = 1 - x
    # Where the result is 0 the distance from 1/2 counts.
    near = np.abs(x - 0.5) < 0.25
    return np.where(near, np.log1p((2 * x - 1) / rest), np.log(x / rest))


def _of_expm1(x, z):
    return number(-1, x) / expm1(-x)


SigmoidSlope, sigmoid_slope = float_function(
    "SigmoidSlope",
    "``sigmoid(x) * (1 - sigmoid(x))``, the sigmoid's derivative.",
    _sigmoid_slope,
    lambda x, z: -z * tanh(number(0.5, x) * x),
    "tk_sigmoid_slope",
    "sigmoid_slope",
)
LogCosh, log_cosh = float_function(
    "LogCosh", "``log(cosh(x))``", _log_cosh, lambda x, z: tanh(x), "tk_log_cosh", "log_cosh"
)
Log1MinusTanh, log_1_minus_tanh = float_function(
    "Log1MinusTanh",
    "``log(1 - tanh(x))``",
    _log_1_minus_tanh,
    lambda x, z: number(-2, x) * sigmoid(number(2, x) * x),
    "tk_log_1_minus_tanh",
    "log_1_minus_tanh",
)
Log1MinusExp, log_1_minus_exp = float_function(
    "Log1MinusExp", "``log(1 - exp(x))``", _log_1_minus_exp, _of_expm1, "tk_log_1_minus_exp", "log_1_minus_exp"
)
LogExpm1, log_expm1 = float_function(
    "LogExpm1", "``log(exp(x) - 1)``", _log_expm1, _of_expm1, "tk_log_expm1", "log_expm1"
)
Logit, logit = float_function(
    "Logit", "``log(x / (1 - x))``", _logit, lambda x, z: number(1, x) / (x * (number(1, x) - x)), "tk_logit"
)

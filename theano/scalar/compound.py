"""Functions of exponentials that lose digits or overflow when they are composed; rewrites put them in their place."""

from __future__ import annotations

import numpy as np

from theano.scalar.explog import expm1, sigmoid
from theano.scalar.op import FloatFunction
from theano.scalar.output_types import upgrade_to_float
from theano.scalar.trigonometry import tanh
from theano.scalar.type import ScalarConstant

#: What log(2) as a float64 is too small by.
_LOG_2_REST = 2.3190468138462996e-17


def _number(value: float, like) -> ScalarConstant:
    return ScalarConstant(like.type, value)


class WideFunction(FloatFunction):
    """A function that is computed in float64 and rounded; subclasses define `np_func` for arrays of float64."""

    def impl(self, x):
        x = np.asarray(x)
        wide = x.astype("float64")
        with np.errstate(all="ignore"):
            value = type(self).np_func(wide)
        narrow = x.dtype.kind in "biu" and x.dtype.itemsize <= 2
        with np.errstate(all="ignore"):
            return value.astype("float32" if narrow else x.dtype if x.dtype.kind == "f" else "float64")[()]


def _sigmoid_slope(x):
    e = np.exp(-np.abs(x))
    return e / np.square(1 + e)


def _log_cosh(x):
    size = np.abs(x)
    e = np.expm1(np.minimum(size, 1))
    return np.where(size < 1, np.log1p(e * e / (2 + 2 * e)), size + (np.log1p(np.exp(-2 * size)) - np.log(2)))


def _log_1_minus_tanh(x):
    return np.where(x < 0.5, np.log1p(-np.tanh(x)), (np.log(2) - 2 * x) - np.log1p(np.exp(-2 * x)))


def _log_1_minus_exp(x):
    return np.where(x < -np.log(2), np.log1p(-np.exp(x)), np.log(-np.expm1(x)))


def _log_expm1(x):
    # Where the result is 0 the distance from log(2) counts.
    middle = np.log1p(2 * np.expm1((x - np.log(2)) - _LOG_2_REST))
    return np.where(x < 0.35, np.log(np.expm1(x)), np.where(x > 1.38, x + np.log1p(-np.exp(-x)), middle))


def _logit(x):
    rest = 1 - x
    # Where the result is 0 the distance from 1/2 counts.
    near = np.abs(x - 0.5) < 0.25
    return np.where(near, np.log1p((2 * x - 1) / rest), np.log(x / rest))


class SigmoidSlope(WideFunction):
    """``sigmoid(x) * (1 - sigmoid(x))``, the sigmoid's derivative."""

    np_func = staticmethod(_sigmoid_slope)
    c_func = "tk_sigmoid_slope"

    def derivative(self, x, z):
        return -z * tanh(_number(0.5, x) * x)


class LogCosh(WideFunction):
    """``log(cosh(x))``"""

    np_func = staticmethod(_log_cosh)
    c_func = "tk_log_cosh"

    def derivative(self, x, z):
        return tanh(x)


class Log1MinusTanh(WideFunction):
    """``log(1 - tanh(x))``"""

    np_func = staticmethod(_log_1_minus_tanh)
    c_func = "tk_log_1_minus_tanh"

    def derivative(self, x, z):
        return _number(-2, x) * sigmoid(_number(2, x) * x)


class Log1MinusExp(WideFunction):
    """``log(1 - exp(x))``"""

    np_func = staticmethod(_log_1_minus_exp)
    c_func = "tk_log_1_minus_exp"

    def derivative(self, x, z):
        return _number(-1, x) / expm1(-x)


class LogExpm1(WideFunction):
    """``log(exp(x) - 1)``"""

    np_func = staticmethod(_log_expm1)
    c_func = "tk_log_expm1"

    def derivative(self, x, z):
        return _number(-1, x) / expm1(-x)


class Logit(WideFunction):
    """``log(x / (1 - x))``"""

    np_func = staticmethod(_logit)
    c_func = "tk_logit"

    def derivative(self, x, z):
        return _number(1, x) / (x * (_number(1, x) - x))


sigmoid_slope = SigmoidSlope(upgrade_to_float, name="sigmoid_slope")
log_cosh = LogCosh(upgrade_to_float, name="log_cosh")
log_1_minus_tanh = Log1MinusTanh(upgrade_to_float, name="log_1_minus_tanh")
log_1_minus_exp = Log1MinusExp(upgrade_to_float, name="log_1_minus_exp")
log_expm1 = LogExpm1(upgrade_to_float, name="log_expm1")
logit = Logit(upgrade_to_float, name="logit")

"""Exponentials, logarithms, roots, sigmoid and softplus."""

from __future__ import annotations

import numpy as np

from theano.scalar import error_functions
from theano.scalar.op import FloatFunction
from theano.scalar.output_types import upgrade_to_float
from theano.scalar.type import ScalarConstant, complex_types


def _number(value: float, like) -> ScalarConstant:
    return ScalarConstant(like.type, value)


class Log(FloatFunction):
    """Natural logarithm."""

    nfunc_spec = ("log", 1, 1)
    np_func = np.log
    c_func = "log"

    def derivative(self, x, z):
        return _number(1, x) / x

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type.dtype.startswith("float") and gz.type not in complex_types:
            return [gz / x]
        return super().L_op(inputs, outputs, output_gradients)


class Log2(FloatFunction):
    """Logarithm of base 2."""

    nfunc_spec = ("log2", 1, 1)
    np_func = np.log2
    c_func = "log2"

    def derivative(self, x, z):
        return _number(1, x) / (x * _number(np.log(2.0), x))


class Log10(FloatFunction):
    """Logarithm of base 10."""

    nfunc_spec = ("log10", 1, 1)
    np_func = np.log10
    c_func = "log10"

    def derivative(self, x, z):
        return _number(1, x) / (x * _number(np.log(10.0), x))


class Log1p(FloatFunction):
    """``log(1 + x)``, exact for small x."""

    nfunc_spec = ("log1p", 1, 1)
    np_func = np.log1p
    c_func = "log1p"

    def derivative(self, x, z):
        return _number(1, x) / (1 + x)


class Exp(FloatFunction):
    """Exponential."""

    nfunc_spec = ("exp", 1, 1)
    np_func = np.exp
    c_func = "exp"

    def derivative(self, x, z):
        return z


class Exp2(FloatFunction):
    """Power of 2."""

    nfunc_spec = ("exp2", 1, 1)
    np_func = np.exp2
    c_func = "exp2"

    def derivative(self, x, z):
        return z * _number(np.log(2.0), z)


class Expm1(FloatFunction):
    """``exp(x) - 1``, exact for small x."""

    nfunc_spec = ("expm1", 1, 1)
    np_func = np.expm1
    c_func = "expm1"

    def derivative(self, x, z):
        return exp(x)


class ExpMinusSquare(FloatFunction):
    """``exp(-x ** 2)``, without what the rounding of the square makes of it where it is large."""

    np_func = staticmethod(error_functions.exp_minus_square)
    c_func = "tk_exp_minus_square"

    def derivative(self, x, z):
        return _number(-2, x) * x_exp_minus_square(x)


class XExpMinusSquare(FloatFunction):
    """``x * exp(-x ** 2)``, which is 0 far from 0 and has all its digits where the exponential is subnormal."""

    np_func = staticmethod(error_functions.x_exp_minus_square)
    c_func = "tk_x_exp_minus_square"

    def derivative(self, x, z):
        return exp_minus_square(x) - _number(2, x) * x * z


class Sqrt(FloatFunction):
    """Square root."""

    nfunc_spec = ("sqrt", 1, 1)
    np_func = np.sqrt
    c_func = "sqrt"

    def derivative(self, x, z):
        return _number(0.5, z) / z

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type.dtype.startswith("float") and gz.type not in complex_types:
            return [(gz * _number(0.5, gz)) / outputs[0]]
        return super().L_op(inputs, outputs, output_gradients)


def _sigmoid(x):
    # The exponential never overflows, and small results keep their relative precision.
    x = np.asarray(x)
    if x.dtype.kind != "f":
        x = x.astype("float64")
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)[()]


def _softplus(x):
    x = np.asarray(x)
    if x.dtype.kind != "f":
        x = x.astype("float64")
    return (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype(x.dtype)[()]


class ScalarSigmoid(FloatFunction):
    """Logistic function, ``1 / (1 + exp(-x))``."""

    nfunc_spec = ("scipy.special.expit", 1, 1)
    np_func = staticmethod(_sigmoid)
    c_func = "tk_sigmoid"

    @staticmethod
    def st_impl(x):
        """Return the value for a number or an array."""
        return _sigmoid(x)

    def derivative(self, x, z):
        return z * (_number(1, z) - z)

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (z,) = outputs
        (gz,) = output_gradients
        if x.type.dtype.startswith("float") and gz.type not in complex_types:
            return [gz * z * (_number(1, z) - z)]
        return super().L_op(inputs, outputs, output_gradients)

    def c_code_cache_version(self):
        return (3,)


class ScalarSoftplus(FloatFunction):
    """``log(1 + exp(x))``, without overflow."""

    nfunc_spec = ("theano.scalar.explog._softplus", 1, 1)
    np_func = staticmethod(_softplus)
    c_func = "tk_softplus"

    @staticmethod
    def static_impl(x):
        """Return the value for a number or an array."""
        return _softplus(x)

    def derivative(self, x, z):
        return sigmoid(x)

    def c_code_cache_version(self):
        return (3,)


log = Log(upgrade_to_float, name="log")
log2 = Log2(upgrade_to_float, name="log2")
log10 = Log10(upgrade_to_float, name="log10")
log1p = Log1p(upgrade_to_float, name="log1p")
exp = Exp(upgrade_to_float, name="exp")
exp2 = Exp2(upgrade_to_float, name="exp2")
expm1 = Expm1(upgrade_to_float, name="expm1")
exp_minus_square = ExpMinusSquare(upgrade_to_float, name="exp_minus_square")
x_exp_minus_square = XExpMinusSquare(upgrade_to_float, name="x_exp_minus_square")
sqrt = Sqrt(upgrade_to_float, name="sqrt")
scalar_sigmoid = ScalarSigmoid(upgrade_to_float, name="scalar_sigmoid")
sigmoid = scalar_sigmoid
scalar_softplus = ScalarSoftplus(upgrade_to_float, name="scalar_softplus")
softplus = scalar_softplus

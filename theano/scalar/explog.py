"""Exponentials, logarithms, roots, sigmoid and softplus."""

from __future__ import annotations

import numpy as np

from theano.scalar import error_functions
from theano.scalar.op import float_function, number
from theano.scalar.output_types import upgrade_to_float_no_complex


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


def _sigmoid_slope(x, z):
    return z * (number(1, z) - z)


Log, log = float_function(
    "Log",
    "Natural logarithm.",
    np.log,
    lambda x, z: number(1, x) / x,
    "log",
    real_gradient=staticmethod(lambda gz, x, z: gz / x),
    example="log(2.0).eval().round(4) -> 0.6931",
)
Log2, log2 = float_function(
    "Log2",
    "Logarithm of base 2.",
    np.log2,
    lambda x, z: number(1, x) / (x * number(np.log(2.0), x)),
    "log2",
    example="log2(8.0).eval() -> 3.0",
)
Log10, log10 = float_function(
    "Log10",
    "Logarithm of base 10.",
    np.log10,
    lambda x, z: number(1, x) / (x * number(np.log(10.0), x)),
    "log10",
    example="log10(10000.0).eval() -> 4.0",
)
Log1p, log1p = float_function(
    "Log1p",
    "``log(1 + x)``, exact for small x.",
    np.log1p,
    lambda x, z: number(1, x) / (1 + x),
    "log1p",
    example="log1p(1e-20).eval() -> 1e-20",
)
Exp, exp = float_function("Exp", "Exponential.", np.exp, lambda x, z: z, "exp", example="exp(1.0).eval().round(4) -> 2.7183")
Exp2, exp2 = float_function(
    "Exp2", "Power of 2.", np.exp2, lambda x, z: z * number(np.log(2.0), z), "exp2", example="exp2(10.0).eval() -> 1024.0"
)
Expm1, expm1 = float_function(
    "Expm1", "``exp(x) - 1``, exact for small x.", np.expm1, lambda x, z: exp(x), "expm1", example="expm1(1e-20).eval() -> 1e-20"
)
ExpMinusSquare, exp_minus_square = float_function(
    "ExpMinusSquare",
    "``exp(-x ** 2)``, without what the rounding of the square makes of it where it is large.",
    error_functions.exp_minus_square,
    lambda x, z: number(-2, x) * x_exp_minus_square(x),
    "tk_exp_minus_square",
    "exp_minus_square",
)
XExpMinusSquare, x_exp_minus_square = float_function(
    "XExpMinusSquare",
    "``x * exp(-x ** 2)``, which is 0 far from 0 and has all its digits where the exponential is subnormal.",
    error_functions.x_exp_minus_square,
    lambda x, z: exp_minus_square(x) - number(2, x) * x * z,
    "tk_x_exp_minus_square",
    "x_exp_minus_square",
)
Sqrt, sqrt = float_function(
    "Sqrt",
    "Square root.",
    np.sqrt,
    lambda x, z: number(0.5, z) / z,
    "sqrt",
    real_gradient=staticmethod(lambda gz, x, z: (gz * number(0.5, gz)) / z),
    example="sqrt(2.0).eval().round(4) -> 1.4142",
)
ScalarSigmoid, scalar_sigmoid = float_function(
    "ScalarSigmoid",
    "Logistic function, ``1 / (1 + exp(-x))``.",
    _sigmoid,
    _sigmoid_slope,
    "tk_sigmoid",
    "scalar_sigmoid",
    output_types_preference=staticmethod(upgrade_to_float_no_complex),
    nfunc_spec=("scipy.special.expit", 1, 1),
    st_impl=staticmethod(_sigmoid),
    real_gradient=staticmethod(lambda gz, x, z: gz * z * (number(1, z) - z)),
    example="sigmoid(2.0).eval().round(4) -> 0.8808",
)
ScalarSoftplus, scalar_softplus = float_function(
    "ScalarSoftplus",
    "``log(1 + exp(x))``, without overflow.",
    _softplus,
    lambda x, z: sigmoid(x),
    "tk_softplus",
    "scalar_softplus",
    output_types_preference=staticmethod(upgrade_to_float_no_complex),
    nfunc_spec=("theano.scalar.explog._softplus", 1, 1),
    static_impl=staticmethod(_softplus),
    example="softplus(1000.0).eval() -> 1000.0",
)
sigmoid = scalar_sigmoid
softplus = scalar_softplus

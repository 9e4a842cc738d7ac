"""Angles: circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from math import pi

import numpy as np

from theano.scalar import expression
from theano.scalar.arithmetic import sqr
from theano.scalar.casting import cast
from theano.scalar.explog import sqrt
from theano.scalar.op import BinaryScalarOp, FloatFunction, float_function, number
from theano.scalar.output_types import upgrade_to_float, upgrade_to_float_no_complex
from theano.scalar.type import complex_types, discrete_types


class _Scaling(FloatFunction):
    """An angle in another unit."""

    output_types_preference = staticmethod(upgrade_to_float_no_complex)
    factor: float

    def expression(self, out, x):
        return expression.cast(x, expression.compute_dtype(out)) * self.factor

    def derivative(self, x, z):
        return number(self.factor, z)


class Deg2Rad(_Scaling):
    """Degrees to radians.

    Examples
    --------
    >>> from theano.scalar import deg2rad
    >>> print(deg2rad(180.0).eval().round(4))
    3.1416
    """

    nfunc_spec = ("deg2rad", 1, 1)
    np_func = np.deg2rad
    factor = pi / 180


class Rad2Deg(_Scaling):
    """Radians to degrees.

    Examples
    --------
    >>> from theano.scalar import rad2deg
    >>> print(rad2deg(3.14159265).eval().round(4))
    180.0
    """

    nfunc_spec = ("rad2deg", 1, 1)
    np_func = np.rad2deg
    factor = 180 / pi


class ArcTan2(BinaryScalarOp):
    """Angle of the point (second, first) in the plane.

    Examples
    --------
    >>> from theano.scalar import arctan2
    >>> print(arctan2(1.0, -1.0).eval().round(4))
    2.3562
    """

    nfunc_spec = ("arctan2", 2, 1)
    output_types_preference = staticmethod(upgrade_to_float)

    def impl(self, y, x):
        args = [np.asarray(v) for v in (y, x)]
        if all(a.dtype.kind in "biu" and a.dtype.itemsize <= 2 for a in args):
            args = [a.astype("float32") for a in args]
        return np.arctan2(*args)[()]

    def expression(self, out, y, x):
        if out.startswith("complex"):
            raise NotImplementedError("arctan2 of complex numbers")
        return expression.call("atan2", *expression.operands(out, (y, x)))

    def L_op(self, inputs, outputs, output_gradients):
        y, x = inputs
        (gz,) = output_gradients
        if gz.type in complex_types:
            raise NotImplementedError("arctan2 of complex numbers")
        # Integers need not hold their squares.
        x, y = (cast(v, outputs[0].type.dtype) if v.type in discrete_types else v for v in (x, y))
        squared = x * x + y * y
        return [gz * x / squared, gz * -y / squared]


def _one_less_square(x):
    return number(1, x) - x * x


def _arccosh_slope(x, z):
    return number(1, x) / (sqrt(x - number(1, x)) * sqrt(x + number(1, x)))


def _arcsin_slope(x, z):
    return number(1, x) / sqrt(_one_less_square(x))


deg2rad = Deg2Rad(upgrade_to_float_no_complex, name="deg2rad")
rad2deg = Rad2Deg(upgrade_to_float_no_complex, name="rad2deg")
arctan2 = ArcTan2(upgrade_to_float, name="arctan2")

Cos, cos = float_function("Cos", "Cosine.", np.cos, lambda x, z: -sin(x), "cos", example="cos(1.0).eval().round(4) -> 0.5403")
Sin, sin = float_function("Sin", "Sine.", np.sin, lambda x, z: cos(x), "sin", example="sin(1.0).eval().round(4) -> 0.8415")
Tan, tan = float_function(
    "Tan", "Tangent.", np.tan, lambda x, z: number(1, z) + z * z, "tan", example="tan(1.0).eval().round(4) -> 1.5574"
)
ArcCos, arccos = float_function(
    "ArcCos",
    "Inverse cosine.",
    np.arccos,
    lambda x, z: -_arcsin_slope(x, z),
    "acos",
    example="arccos(-1.0).eval().round(4) -> 3.1416",
)
ArcSin, arcsin = float_function(
    "ArcSin", "Inverse sine.", np.arcsin, _arcsin_slope, "asin", example="arcsin(1.0).eval().round(4) -> 1.5708"
)
ArcTan, arctan = float_function(
    "ArcTan",
    "Inverse tangent.",
    np.arctan,
    lambda x, z: number(1, x) / (number(1, x) + x * x),
    "atan",
    example="arctan(1.0).eval().round(4) -> 0.7854",
)
Cosh, cosh = float_function(
    "Cosh", "Hyperbolic cosine.", np.cosh, lambda x, z: sinh(x), "cosh", example="cosh(1.0).eval().round(4) -> 1.5431"
)
Sinh, sinh = float_function(
    "Sinh", "Hyperbolic sine.", np.sinh, lambda x, z: cosh(x), "sinh", example="sinh(1.0).eval().round(4) -> 1.1752"
)
Tanh, tanh = float_function(
    "Tanh",
    "Hyperbolic tangent.",
    np.tanh,
    # What a product of equal factors is rewritten to: deep graphs have many of them.
    lambda x, z: number(1, z) - sqr(z),
    "tanh",
    example="tanh(1.0).eval().round(4) -> 0.7616",
)
ArcCosh, arccosh = float_function(
    "ArcCosh", "Inverse hyperbolic cosine.", np.arccosh, _arccosh_slope, "acosh", example="arccosh(2.0).eval().round(4) -> 1.317"
)
ArcSinh, arcsinh = float_function(
    "ArcSinh",
    "Inverse hyperbolic sine.",
    np.arcsinh,
    lambda x, z: number(1, x) / sqrt(x * x + number(1, x)),
    "asinh",
    example="arcsinh(1.0).eval().round(4) -> 0.8814",
)
ArcTanh, arctanh = float_function(
    "ArcTanh",
    "Inverse hyperbolic tangent.",
    np.arctanh,
    lambda x, z: number(1, x) / _one_less_square(x),
    "atanh",
    example="arctanh(0.5).eval().round(4) -> 0.5493",
)

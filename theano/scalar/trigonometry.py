"""Angles: circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from math import pi

import numpy as np

from theano.scalar.casting import cast
from theano.scalar.explog import sqrt
from theano.scalar.op import BinaryScalarOp, FloatFunction, c_compute_type
from theano.scalar.output_types import upgrade_to_float, upgrade_to_float_no_complex
from theano.scalar.type import ScalarConstant, complex_types, discrete_types


def _number(value: float, like) -> ScalarConstant:
    return ScalarConstant(like.type, value)


class Deg2Rad(FloatFunction):
    """Degrees to radians."""

    nfunc_spec = ("deg2rad", 1, 1)
    np_func = np.deg2rad
    output_types_preference = staticmethod(upgrade_to_float_no_complex)

    def c_code(self, node, name, inputs, outputs, sub):
        ctype = c_compute_type(node.outputs[0].type.dtype)
        return f"{outputs[0]} = ({ctype}){inputs[0]} * ({ctype}){pi / 180!r};"

    def derivative(self, x, z):
        return _number(pi / 180, z)


class Rad2Deg(FloatFunction):
    """Radians to degrees."""

    nfunc_spec = ("rad2deg", 1, 1)
    np_func = np.rad2deg
    output_types_preference = staticmethod(upgrade_to_float_no_complex)

    def c_code(self, node, name, inputs, outputs, sub):
        ctype = c_compute_type(node.outputs[0].type.dtype)
        return f"{outputs[0]} = ({ctype}){inputs[0]} * ({ctype}){180 / pi!r};"

    def derivative(self, x, z):
        return _number(180 / pi, z)


class Cos(FloatFunction):
    """Cosine."""

    nfunc_spec = ("cos", 1, 1)
    np_func = np.cos
    c_func = "cos"

    def derivative(self, x, z):
        return -sin(x)


class Sin(FloatFunction):
    """Sine."""

    nfunc_spec = ("sin", 1, 1)
    np_func = np.sin
    c_func = "sin"

    def derivative(self, x, z):
        return cos(x)


class Tan(FloatFunction):
    """Tangent."""

    nfunc_spec = ("tan", 1, 1)
    np_func = np.tan
    c_func = "tan"

    def derivative(self, x, z):
        return _number(1, z) + z * z


class ArcCos(FloatFunction):
    """Inverse cosine."""

    nfunc_spec = ("arccos", 1, 1)
    np_func = np.arccos
    c_func = "acos"

    def derivative(self, x, z):
        return -(_number(1, x) / sqrt(_number(1, x) - x * x))


class ArcSin(FloatFunction):
    """Inverse sine."""

    nfunc_spec = ("arcsin", 1, 1)
    np_func = np.arcsin
    c_func = "asin"

    def derivative(self, x, z):
        return _number(1, x) / sqrt(_number(1, x) - x * x)


class ArcTan(FloatFunction):
    """Inverse tangent."""

    nfunc_spec = ("arctan", 1, 1)
    np_func = np.arctan
    c_func = "atan"

    def derivative(self, x, z):
        return _number(1, x) / (_number(1, x) + x * x)


class ArcTan2(BinaryScalarOp):
    """Angle of the point (second, first) in the plane."""

    nfunc_spec = ("arctan2", 2, 1)
    output_types_preference = staticmethod(upgrade_to_float)

    def impl(self, y, x):
        args = [np.asarray(v) for v in (y, x)]
        if all(a.dtype.kind in "biu" and a.dtype.itemsize <= 2 for a in args):
            args = [a.astype("float32") for a in args]
        return np.arctan2(*args)[()]

    def c_code(self, node, name, inputs, outputs, sub):
        if any(i.type in complex_types for i in node.inputs):
            raise NotImplementedError("arctan2 of complex numbers")
        ctype = c_compute_type(node.outputs[0].type.dtype)
        return f"{outputs[0]} = atan2(({ctype}){inputs[0]}, ({ctype}){inputs[1]});"

    def L_op(self, inputs, outputs, output_gradients):
        y, x = inputs
        (gz,) = output_gradients
        if gz.type in complex_types:
            raise NotImplementedError("arctan2 of complex numbers")
        # Integers need not hold their squares.
        x, y = (cast(v, outputs[0].type.dtype) if v.type in discrete_types else v for v in (x, y))
        squared = x * x + y * y
        return [gz * x / squared, gz * -y / squared]


class Cosh(FloatFunction):
    """Hyperbolic cosine."""

    nfunc_spec = ("cosh", 1, 1)
    np_func = np.cosh
    c_func = "cosh"

    def derivative(self, x, z):
        return sinh(x)


class Sinh(FloatFunction):
    """Hyperbolic sine."""

    nfunc_spec = ("sinh", 1, 1)
    np_func = np.sinh
    c_func = "sinh"

    def derivative(self, x, z):
        return cosh(x)


class Tanh(FloatFunction):
    """Hyperbolic tangent."""

    nfunc_spec = ("tanh", 1, 1)
    np_func = np.tanh
    c_func = "tanh"

    def derivative(self, x, z):
        return _number(1, z) - z * z


class ArcCosh(FloatFunction):
    """Inverse hyperbolic cosine."""

    nfunc_spec = ("arccosh", 1, 1)
    np_func = np.arccosh
    c_func = "acosh"

    def derivative(self, x, z):
        return _number(1, x) / (sqrt(x - _number(1, x)) * sqrt(x + _number(1, x)))


class ArcSinh(FloatFunction):
    """Inverse hyperbolic sine."""

    nfunc_spec = ("arcsinh", 1, 1)
    np_func = np.arcsinh
    c_func = "asinh"

    def derivative(self, x, z):
        return _number(1, x) / sqrt(x * x + _number(1, x))


class ArcTanh(FloatFunction):
    """Inverse hyperbolic tangent."""

    nfunc_spec = ("arctanh", 1, 1)
    np_func = np.arctanh
    c_func = "atanh"

    def derivative(self, x, z):
        return _number(1, x) / (_number(1, x) - x * x)


deg2rad = Deg2Rad(upgrade_to_float_no_complex, name="deg2rad")
rad2deg = Rad2Deg(upgrade_to_float_no_complex, name="rad2deg")
cos = Cos(upgrade_to_float, name="cos")
sin = Sin(upgrade_to_float, name="sin")
tan = Tan(upgrade_to_float, name="tan")
arccos = ArcCos(upgrade_to_float, name="arccos")
arcsin = ArcSin(upgrade_to_float, name="arcsin")
arctan = ArcTan(upgrade_to_float, name="arctan")
arctan2 = ArcTan2(upgrade_to_float, name="arctan2")
cosh = Cosh(upgrade_to_float, name="cosh")
sinh = Sinh(upgrade_to_float, name="sinh")
tanh = Tanh(upgrade_to_float, name="tanh")
arccosh = ArcCosh(upgrade_to_float, name="arccosh")
arcsinh = ArcSinh(upgrade_to_float, name="arcsinh")
arctanh = ArcTanh(upgrade_to_float, name="arctanh")

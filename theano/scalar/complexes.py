"""Complex numbers: their parts, angle and conjugate, and how to make them.

The gradient of a real cost at a complex variable is ``dC/dRe + i dC/dIm``.
"""

from __future__ import annotations

import numpy as np

from theano.scalar.comparison import eq
from theano.scalar.expression import Expression, call, cast, constant, part, unary
from theano.scalar.op import BinaryScalarOp, UnaryScalarOp, zeros_for
from theano.scalar.output_types import real_out, same_out_min8, specific_out
from theano.scalar.selection import switch
from theano.scalar.type import (
    ScalarConstant,
    complex64,
    complex128,
    complex_types,
    discrete_types,
    float64,
    get_scalar_type,
    ops,
    upcast,
)


class Real(UnaryScalarOp):
    """Real part.

    Examples
    --------
    >>> from theano.scalar import real
    >>> print(real(1 + 2j).eval())
    1.0
    """

    nfunc_spec = ("real", 1, 1)
    output_types_preference = staticmethod(real_out)

    def impl(self, x):
        return np.real(x)

    def expression(self, out, x):
        return part("real", x) if x.dtype.startswith("complex") else x

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type in discrete_types:
            return zeros_for(inputs)
        if x.type not in complex_types:
            return [gz]
        return [complex(gz, ScalarConstant(gz.type, 0))]


class Imag(UnaryScalarOp):
    """Imaginary part.

    Examples
    --------
    >>> from theano.scalar import imag
    >>> print(imag(1 + 2j).eval())
    2.0
    """

    nfunc_spec = ("imag", 1, 1)
    output_types_preference = staticmethod(real_out)

    def impl(self, x):
        return np.imag(x)

    def expression(self, out, x):
        return part("imag", x) if x.dtype.startswith("complex") else constant(0, x.dtype)

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type not in complex_types:
            return zeros_for(inputs)
        return [complex(ScalarConstant(gz.type, 0), gz)]


class Angle(UnaryScalarOp):
    """Angle of a complex number.

    Examples
    --------
    >>> from theano.scalar import angle
    >>> print(angle(1j).eval().round(4))
    1.5708
    """

    nfunc_spec = ("angle", 1, 1)
    output_types_preference = staticmethod(specific_out(float64))

    def impl(self, x):
        x = np.asarray(x)
        return np.angle(x.astype("complex128" if x.dtype.kind == "c" else "float64"))[()]

    def expression(self, out, x):
        if x.dtype.startswith("complex"):
            return call("atan2", *[cast(part(which, x), "float64") for which in ("imag", "real")])
        return call("atan2", constant(0, "float64"), cast(x, "float64"))

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type not in complex_types:
            return zeros_for(inputs)
        re, im = real(x), imag(x)
        squared = re * re + im * im
        half = get_scalar_type("float32" if x.type == complex64 else "float64")
        zero = ScalarConstant(half, 0)
        gz = ops.cast(gz, half.dtype)
        at_zero = eq(squared, zero)
        g_re = switch(at_zero, zero, -gz * im / squared)
        g_im = switch(at_zero, zero, gz * re / squared)
        return [complex(g_re, g_im)]


#: The dtypes that only the parts of a complex128 hold.
_DOUBLE_PARTS = frozenset(["float64", "int64", "uint64", "int32", "uint32"])


def _complex_type(*types):
    if any(t in complex_types for t in types):
        raise TypeError(f"the parts of a complex number must be real, not {' and '.join(map(str, types))}")
    common = upcast(*(t.dtype for t in types))
    return (complex128 if common in _DOUBLE_PARTS else complex64,)


class Complex(BinaryScalarOp):
    """Complex number of a real and an imaginary part.

    See Also
    --------
    theano.scalar.ComplexError : Raised where an operation has no meaning for complex numbers.

    Examples
    --------
    >>> from theano.scalar import complex, float32
    >>> print(complex(1.0, 2.0).eval())
    (1+2j)
    >>> complex(float32("re"), float32("im")).type
    Scalar(complex64)
    """

    output_types_preference = staticmethod(_complex_type)

    def impl(self, x, y):
        return _join_parts(x, y)[()]

    nfunc_spec = ("theano.scalar.complexes._join_parts", 2, 1)

    def expression(self, out, x, y):
        return _of_parts(out, x, y)

    def L_op(self, inputs, outputs, output_gradients):
        (gz,) = output_gradients
        parts = (real(gz), imag(gz)) if gz.type in complex_types else (gz, gz.zeros_like())
        return list(parts)


def _half(out: str) -> str:
    return "float32" if out == "complex64" else "float64"


def _of_parts(out: str, x: Expression, y: Expression) -> Expression:
    return Expression("complex", out, (cast(x, _half(out)), cast(y, _half(out))))


def _join_parts(x, y):
    x, y = np.broadcast_arrays(x, y)
    common = upcast(x.dtype.name, y.dtype.name)
    value = np.empty(x.shape, dtype="complex128" if common in _DOUBLE_PARTS else "complex64")
    value.real, value.imag = x, y
    return value


class Conj(UnaryScalarOp):
    """Complex conjugate.

    Examples
    --------
    >>> from theano.scalar import conj
    >>> print(conj(1 + 2j).eval())
    (1-2j)
    """

    nfunc_spec = ("conj", 1, 1)
    output_types_preference = staticmethod(same_out_min8)

    def impl(self, x):
        return np.conj(x)

    def expression(self, out, x):
        return unary("conj", x) if x.dtype.startswith("complex") else x

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type in discrete_types:
            return zeros_for(inputs)
        return [conj(gz) if gz.type in complex_types else gz]


class ComplexFromPolar(BinaryScalarOp):
    """Complex number of a length and an angle.

    Examples
    --------
    >>> from theano.scalar import complex_from_polar
    >>> print(complex_from_polar(2.0, 3.14159265).eval().round(4).real)
    -2.0
    """

    output_types_preference = staticmethod(_complex_type)
    nfunc_spec = ("theano.scalar.complexes._polar", 2, 1)

    def impl(self, r, theta):
        if np.any(np.less(r, 0)):
            raise ValueError(f"polar radius must be non-negative, got {r}")
        return _polar(r, theta)[()]

    def expression(self, out, r, theta):
        r, theta = cast(r, _half(out)), cast(theta, _half(out))
        return _of_parts(out, r * call("cos", theta), r * call("sin", theta))

    def L_op(self, inputs, outputs, output_gradients):
        r, theta = inputs
        (gz,) = output_gradients
        if gz.type in complex_types:
            g_re, g_im = real(gz), imag(gz)
        else:
            g_re, g_im = gz, gz.zeros_like()
        grads = [
            g_re * ops.cos(theta) + g_im * ops.sin(theta),
            g_im * r * ops.cos(theta) - g_re * r * ops.sin(theta),
        ]
        return grads


def _polar(r, theta):
    part = "float64" if upcast(np.asarray(r).dtype.name, np.asarray(theta).dtype.name) in _DOUBLE_PARTS else "float32"
    r, theta = np.asarray(r, dtype=part), np.asarray(theta, dtype=part)
    return _join_parts(np.multiply(r, np.cos(theta)), np.multiply(r, np.sin(theta)))


real = Real(real_out, name="real")
imag = Imag(real_out, name="imag")
angle = Angle(specific_out(float64), name="angle")
complex = Complex(name="complex")
conj = Conj(same_out_min8, name="conj")
complex_from_polar = ComplexFromPolar(name="complex_from_polar")

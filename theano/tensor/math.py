"""Elementwise functions on tensors: every scalar operation under its tensor name, casts, and what is built of them."""

from __future__ import annotations

import warnings
from numbers import Number
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.printing.pretty import FunctionPrinter, IgnorePrinter, OperatorPrinter, PatternPrinter, pprint
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.elemwise import Elemwise
from theano.tensor.type import ops

int_dtypes = tuple(map(str, scal.int_types))
uint_dtypes = tuple(map(str, scal.uint_types))
float_dtypes = tuple(map(str, scal.float_types))
complex_dtypes = tuple(map(str, scal.complex_types))
continuous_dtypes = tuple(map(str, scal.continuous_types))
discrete_dtypes = tuple(map(str, scal.discrete_types))
all_dtypes = tuple(map(str, scal.all_types))
integer_dtypes = int_dtypes + uint_dtypes


def elementwise(scalar_op: Any, name: str, doc: str, printer: Any = None) -> Elemwise:
    """Return the tensor operation that applies `scalar_op` to each element.

    Parameters
    ----------
    scalar_op : ScalarOp
    name : str
        Name of the tensor function, shown as ``Elemwise{name,no_inplace}``.
    doc : str
        What it computes, for its docstring.
    printer : optional
        How ``pprint`` writes it, ``name(...)`` by default.
    """
    op = Elemwise(scalar_op, name=f"Elemwise{{{name},no_inplace}}")
    op.describe_as(f"T.{name}", doc)
    op.__module__ = "theano.tensor"
    pprint.assign(op, printer if printer is not None else FunctionPrinter(name))
    return op


# Arithmetic.
add = elementwise(scal.add, "add", "Return the sum ``a + b + ...``.", OperatorPrinter("+", -2, "either"))
sub = elementwise(scal.sub, "sub", "Return the difference ``a - b``.", OperatorPrinter("-", -2, "left"))
mul = elementwise(scal.mul, "mul", "Return the product ``a * b * ...``.", OperatorPrinter("*", -1, "either"))
true_div = elementwise(
    scal.true_div, "true_div", "Return the quotient ``a / b``, a float.", OperatorPrinter("/", -1, "left")
)
int_div = elementwise(
    scal.int_div,
    "int_div",
    "Return the quotient rounded towards minus infinity, ``a // b``.",
    OperatorPrinter("//", -1, "left"),
)
mod = elementwise(scal.mod, "mod", "Return ``a % b``, with the sign of `b`.")
pow = elementwise(scal.pow, "pow", "Return ``a ** b``.", OperatorPrinter("**", 1, "right"))
neg = elementwise(scal.neg, "neg", "Return ``-a``.", OperatorPrinter("-", 0, "either"))
inv = elementwise(scal.inv, "inv", "Return ``1 / a``.")
sqr = elementwise(scal.sqr, "sqr", "Return ``a ** 2``.")
sqrt = elementwise(scal.sqrt, "sqrt", "Return the square root of `a`.")
abs_ = elementwise(
    scal.abs_,
    "abs_",
    "Return the absolute value ``|a|``, also of complex numbers.",
    PatternPrinter(("|%(0)s|", -1000)),
)
sgn = elementwise(scal.sgn, "sgn", "Return the sign of `a`: -1, 0 or 1.")
floor_div = int_div
truediv = true_div
intdiv = int_div
square = sqr
reciprocal = inv
absolute = abs_
sign = sgn

# Comparisons.
lt = elementwise(scal.lt, "lt", "Return whether ``a < b``.")
gt = elementwise(scal.gt, "gt", "Return whether ``a > b``.")
le = elementwise(scal.le, "le", "Return whether ``a <= b``.")
ge = elementwise(scal.ge, "ge", "Return whether ``a >= b``.")
eq = elementwise(scal.eq, "eq", "Return whether ``a == b``.")
neq = elementwise(scal.neq, "neq", "Return whether ``a != b``.")
isnan_ = elementwise(scal.isnan, "isnan", "Return whether each element of `a` is not a number.")
isinf_ = elementwise(scal.isinf, "isinf", "Return whether each element of `a` is infinite.")
switch = elementwise(scal.switch, "switch", "Return `ift` where `cond` is true, `iff` elsewhere: ``switch(cond, ift, iff)``.")
where = switch
minimum = elementwise(scal.minimum, "minimum", "Return the smaller of `a` and `b`; NaN if one is.")
maximum = elementwise(scal.maximum, "maximum", "Return the larger of `a` and `b`; NaN if one is.")
clip = elementwise(
    scal.clip, "clip", "Return `x` with values below `min` set to `min` and values above `max` set to `max`."
)

# Bits.
and_ = elementwise(scal.and_, "and_", "Return the bitwise and of `a` and `b`.")
or_ = elementwise(scal.or_, "or_", "Return the bitwise or of `a` and `b`.")
xor = elementwise(scal.xor, "xor", "Return the bitwise exclusive or of `a` and `b`.")
invert = elementwise(scal.invert, "invert", "Return `a` with all bits flipped; the logical not of a bool.")
bitwise_and = and_
bitwise_or = or_
bitwise_xor = xor
bitwise_not = invert

# Exponentials and logarithms.
exp = elementwise(scal.exp, "exp", "Return the exponential of `a`.")
exp2 = elementwise(scal.exp2, "exp2", "Return 2 to the power of `a`.")
expm1 = elementwise(scal.expm1, "expm1", "Return ``exp(a) - 1``, precise near 0.")
log = elementwise(scal.log, "log", "Return the natural logarithm of `a`.")
log2 = elementwise(scal.log2, "log2", "Return the base 2 logarithm of `a`.")
log10 = elementwise(scal.log10, "log10", "Return the base 10 logarithm of `a`.")
log1p = elementwise(scal.log1p, "log1p", "Return ``log(1 + a)``, precise near 0.")

# Rounding.
ceil = elementwise(scal.ceil, "ceil", "Return the smallest integer not below `a`.")
floor = elementwise(scal.floor, "floor", "Return the largest integer not above `a`.")
trunc = elementwise(scal.trunc, "trunc", "Return `a` rounded towards 0.")
round_half_to_even = elementwise(
    scal.round_half_to_even, "round_half_to_even", "Return the nearest integer, halves to the even one."
)
round_half_away_from_zero = elementwise(
    scal.round_half_away_from_zero,
    "round_half_away_from_zero",
    "Return the nearest integer, halves away from zero.",
)

# Trigonometric and hyperbolic functions.
deg2rad = elementwise(scal.deg2rad, "deg2rad", "Return degrees as radians.")
rad2deg = elementwise(scal.rad2deg, "rad2deg", "Return radians as degrees.")
cos = elementwise(scal.cos, "cos", "Return the cosine of `a`.")
sin = elementwise(scal.sin, "sin", "Return the sine of `a`.")
tan = elementwise(scal.tan, "tan", "Return the tangent of `a`.")
arccos = elementwise(scal.arccos, "arccos", "Return the angle whose cosine is `a`.")
arcsin = elementwise(scal.arcsin, "arcsin", "Return the angle whose sine is `a`.")
arctan = elementwise(scal.arctan, "arctan", "Return the angle whose tangent is `a`.")
arctan2 = elementwise(scal.arctan2, "arctan2", "Return the angle of the point (`b`, `a`).")
cosh = elementwise(scal.cosh, "cosh", "Return the hyperbolic cosine of `a`.")
sinh = elementwise(scal.sinh, "sinh", "Return the hyperbolic sine of `a`.")
tanh = elementwise(scal.tanh, "tanh", "Return the hyperbolic tangent of `a`.")
arccosh = elementwise(scal.arccosh, "arccosh", "Return the number whose hyperbolic cosine is `a`.")
arcsinh = elementwise(scal.arcsinh, "arcsinh", "Return the number whose hyperbolic sine is `a`.")
arctanh = elementwise(scal.arctanh, "arctanh", "Return the number whose hyperbolic tangent is `a`.")

# Special functions.
erf = elementwise(scal.erf, "erf", "Return the error function of `a`.")
erfc = elementwise(scal.erfc, "erfc", "Return ``1 - erf(a)``.")
erfcx = elementwise(scal.erfcx, "erfcx", "Return the scaled complementary error function ``exp(a**2) * erfc(a)``.")
erfinv = elementwise(scal.erfinv, "erfinv", "Return the inverse of the error function.")
erfcinv = elementwise(scal.erfcinv, "erfcinv", "Return the inverse of the complementary error function.")
gamma = elementwise(scal.gamma, "gamma", "Return the gamma function of `a`.")
gammaln = elementwise(scal.gammaln, "gammaln", "Return the logarithm of the gamma function of `a`.")
psi = elementwise(scal.psi, "psi", "Return the digamma function, the derivative of ``gammaln``.")
tri_gamma = elementwise(scal.tri_gamma, "tri_gamma", "Return the trigamma function, the derivative of ``psi``.")
chi2sf = elementwise(scal.chi2sf, "chi2sf", "Return the survival function of the chi squared distribution at `x`, `k`.")
gammainc = elementwise(scal.gammainc, "gammainc", "Return the regularized lower incomplete gamma function.")
gammaincc = elementwise(scal.gammaincc, "gammaincc", "Return the regularized upper incomplete gamma function.")
gammau = elementwise(scal.gammau, "gammau", "Return the upper incomplete gamma function.")
gammal = elementwise(scal.gammal, "gammal", "Return the lower incomplete gamma function.")
j0 = elementwise(scal.j0, "j0", "Return the Bessel function of the first kind of order 0.")
j1 = elementwise(scal.j1, "j1", "Return the Bessel function of the first kind of order 1.")
jv = elementwise(scal.jv, "jv", "Return the Bessel function of the first kind of real order `v` at `x`.")
i0 = elementwise(scal.i0, "i0", "Return the modified Bessel function of the first kind of order 0.")
i1 = elementwise(scal.i1, "i1", "Return the modified Bessel function of the first kind of order 1.")
iv = elementwise(scal.iv, "iv", "Return the modified Bessel function of the first kind of real order `v` at `x`.")

# Complex numbers.
_real = elementwise(scal.real, "real", "Return the real part of `z`.")
_imag = elementwise(scal.imag, "imag", "Return the imaginary part of `z`.")
angle = elementwise(scal.angle, "angle", "Return the angle of the complex number `z`.")
complex = elementwise(scal.complex, "complex", "Return the complex number with parts `real` and `imag`.")
conj = elementwise(scal.conj, "conj", "Return the complex conjugate of `z`.")
complex_from_polar = elementwise(
    scal.complex_from_polar, "complex_from_polar", "Return the complex number with absolute value `abs` and `angle`."
)
conjugate = conj

# Filling.
second = elementwise(
    scal.second, "second", "Return the values of `b` in the shape of `a`: ``fill(a, b)``.", FunctionPrinter("fill")
)
fill = second

tensor_copy = Elemwise(scal.identity)
tensor_copy.describe_as("T.tensor_copy", "Return a copy of `a`.")
pprint.assign(tensor_copy, IgnorePrinter())


def real(z: Any):
    """Return the real part of `z`; `z` itself if it is not complex.

    Parameters
    ----------
    z : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        Real.

    See Also
    --------
    theano.tensor.imag : Return the imaginary part of `z`; zeros in the shape and dtype of `z` if it is not complex.
    theano.tensor.conj : Return the complex conjugate of `z`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector()
    >>> T.real(x) is x
    True
    """
    z = as_tensor_variable(z)
    return _real(z) if z.dtype in complex_dtypes else z


def imag(z: Any):
    """Return the imaginary part of `z`; zeros in the shape and dtype of `z` if it is not complex.

    Parameters
    ----------
    z : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        Real.

    See Also
    --------
    theano.tensor.conj : Return the complex conjugate of `z`.
    theano.tensor.real : Return the real part of `z`; `z` itself if it is not complex.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.imag([1 + 2j, 3j]).eval()
    array([2., 3.])
    """
    z = as_tensor_variable(z)
    if z.dtype in complex_dtypes:
        return _imag(z)
    return ops.zeros_like(z)


def isnan(a: Any):
    """Return whether each element of `a` is not a number; all false for integers, as ``numpy.isnan``.

    Parameters
    ----------
    a : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        Of dtype bool and the shape of `a`.

    See Also
    --------
    theano.tensor.isinf : Return whether each element of `a` is infinite; all false for integers, as ``numpy.isinf``.
    theano.tensor.isclose : Return elementwise whether ``|a - b| <= atol + rtol * |b|``, as ``numpy.isclose``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.isnan([1.0, float("nan")]).eval()
    array([False,  True])
    """
    a = as_tensor_variable(a)
    return _all_false(a) if a.dtype in discrete_dtypes else isnan_(a)


def isinf(a: Any):
    """Return whether each element of `a` is infinite; all false for integers, as ``numpy.isinf``.

    Parameters
    ----------
    a : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        Of dtype bool and the shape of `a`.

    See Also
    --------
    theano.tensor.isclose : Return elementwise whether ``|a - b| <= atol + rtol * |b|``, as ``numpy.isclose``.
    theano.tensor.isnan : Return whether each element of `a` is not a number; all false for integers, as ``numpy.isnan``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.isinf([1.0, float("inf")]).eval()
    array([False,  True])
    """
    a = as_tensor_variable(a)
    return _all_false(a) if a.dtype in discrete_dtypes else isinf_(a)


def _all_false(a: Any):
    return ops.alloc(np.asarray(False), *[a.shape[i] for i in range(a.ndim)])


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """Return elementwise whether ``|a - b| <= atol + rtol * |b|``, as ``numpy.isclose``.

    Parameters
    ----------
    a : tensor_like
        What is compared.
    b : tensor_like
        What it is compared with; both broadcast.
    rtol, atol : float
        Relative and absolute tolerance, both positive.
    equal_nan : bool
        Whether NaNs in the same place are close.

    Returns
    -------
    bool tensor, of the broadcast shape of `a` and `b`
        Infinities are close where both have the same sign.

    See Also
    --------
    theano.tensor.isnan : Return whether each element of `a` is not a number; all false for integers, as ``numpy.isnan``.
    theano.tensor.isinf : Return whether each element of `a` is infinite; all false for integers, as ``numpy.isinf``.
    theano.tensor.allclose : Return whether `isclose` holds for all elements, as ``numpy.allclose``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.isclose([1.0, 2.0], [1.0, 2.1]).eval()
    array([ True, False])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    # The differences and absolute values of integers may wrap around.
    wide = cast(b, "float64") if b.dtype in integer_dtypes else b
    near = le(abs_(a - wide), atol + rtol * abs_(wide))
    if a.dtype in discrete_dtypes and b.dtype in discrete_dtypes:
        return near
    a_inf, b_inf = isinf(a), isinf(b)
    # An infinite difference is below an infinite tolerance, so infinities are taken out first.
    finite_near = bitwise_and(near, bitwise_not(bitwise_or(a_inf, b_inf)))
    same_inf = bitwise_and(bitwise_and(a_inf, b_inf), eq(a, b))
    result = bitwise_or(finite_near, same_inf)
    if equal_nan:
        result = bitwise_or(result, bitwise_and(isnan(a), isnan(b)))
    return result


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """Return whether :func:`isclose` holds for all elements, as ``numpy.allclose``.

    Parameters
    ----------
    a, b : tensor_like
        What is compared.
    rtol : float
        Tolerance relative to the size of `b`.
    atol : float
        Tolerance that is added to that.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    TensorVariable
        A scalar of dtype bool.

    See Also
    --------
    theano.tensor.isclose : Return elementwise whether ``|a - b| <= atol + rtol * |b|``, as ``numpy.isclose``.
    theano.tensor.type.values_eq_approx : Return whether two arrays are equal but for rounding; see
        :meth:`TensorType.values_eq_approx`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> bool(T.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]).eval())
    True
    """
    return ops.all(isclose(a, b, rtol, atol, equal_nan))


def round(a: Any, mode: str | None = None):
    """Return `a` rounded to integers, in its own dtype.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    mode : {None, 'half_away_from_zero', 'half_to_even'}
        Where halves go; None is 'half_to_even', as in NumPy.

    Returns
    -------
    TensorVariable
        Of the type of `a`.

    Raises
    ------
    Exception
        If the mode is unknown.

    See Also
    --------
    theano.tensor.iround : Return ``cast(round(a, mode), 'int64')``.
    theano.tensor.floor : Return the largest integer not above `a`.
    theano.tensor.ceil : Return the smallest integer not below `a`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.round([1.4, 1.6, 2.5]).eval()
    array([1., 2., 2.])
    """
    if mode is None:
        mode = "half_to_even"
        if config.warn.round:
            warnings.warn(
                "theano.tensor.round() rounds halves to the even integer by default, as NumPy; before version 0.9 it "
                "rounded them away from zero. Set the Theano flag warn.round=False to silence this warning.",
                stacklevel=2,
            )
    if mode == "half_away_from_zero":
        return round_half_away_from_zero(a)
    if mode == "half_to_even":
        return round_half_to_even(a)
    raise NotImplementedError(f"round mode {mode!r} is not implemented; use 'half_away_from_zero' or 'half_to_even'")


around = round


def iround(a: Any, mode: str | None = None):
    """Return ``cast(round(a, mode), 'int64')``.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    mode : str, optional
        As for :func:`round`.

    Returns
    -------
    TensorVariable
        Of dtype int64.

    See Also
    --------
    theano.tensor.floor : Return the largest integer not above `a`.
    theano.tensor.round : Return `a` rounded to integers, in its own dtype.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.iround([1.4, 1.6]).eval()
    array([1, 2])
    """
    return cast(round(a, mode), "int64")


def div_proxy(x: Any, y: Any):
    """Return ``x / y`` as ``config.int_division`` tells for two integers.

    Parameters
    ----------
    x : tensor_like
        The dividend.
    y : tensor_like
        The divisor.

    Returns
    -------
    TensorVariable
        As :func:`true_div` or :func:`int_div`.

    See Also
    --------
    theano.tensor.true_div : Return the quotient ``a / b``, a float.
    theano.tensor.floor_div : Return the quotient rounded towards minus infinity, ``a // b``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.div_proxy([7.0, 8.0], 2).eval()
    array([3.5, 4. ])
    """
    if scal.int_or_true_div(
        as_tensor_variable(x).dtype in discrete_dtypes, as_tensor_variable(y).dtype in discrete_dtypes
    ) == "int":
        return int_div(x, y)
    return true_div(x, y)


def mod_check(x: Any, y: Any):
    """Return ``mod(x, y)``.

    Parameters
    ----------
    x : tensor_like
        The dividend.
    y : tensor_like
        The divisor.

    Returns
    -------
    TensorVariable
        With the sign of `y`.

    Raises
    ------
    ComplexError
        If one of them is complex.

    See Also
    --------
    theano.tensor.divmod : Return ``floor_div(x, y), mod_check(x, y)``, as ``numpy.divmod``.
    theano.tensor.floor_div : Return the quotient rounded towards minus infinity, ``a // b``.
    theano.tensor.mod : Return ``a % b``, with the sign of `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.mod_check(-7, 3).eval()
    array(2, dtype=int8)
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if x.dtype in complex_dtypes or y.dtype in complex_dtypes:
        raise scal.Mod.complex_error
    return mod(x, y)


def power(x: Any, y: Any):
    """Return ``x ** y``, an array for arrays and a number for numbers.

    Parameters
    ----------
    x : tensor_like
        The base.
    y : tensor_like
        The exponent; both broadcast.

    Returns
    -------
    TensorVariable or number
        Of the shape that both broadcast to.

    See Also
    --------
    theano.tensor.pow : Return ``a ** b``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.power([1, 2, 3], 2).eval()
    array([1, 4, 9])
    """
    plain = (np.ndarray, np.generic, Number)
    return x**y if all(isinstance(value, plain) for value in (x, y)) else pow(x, y)


def divmod(x: Any, y: Any):
    """Return ``floor_div(x, y), mod_check(x, y)``, as ``numpy.divmod``.

    Parameters
    ----------
    x : tensor_like
        The dividend.
    y : tensor_like
        The divisor.

    Returns
    -------
    tuple of TensorVariable
        The quotient and the remainder.

    See Also
    --------
    theano.tensor.floor_div : Return the quotient rounded towards minus infinity, ``a // b``.
    theano.tensor.mod_check : Return ``mod(x, y)``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [v.eval() for v in T.divmod([7, -7], 2)]
    [array([ 3, -4]), array([1, 1])]
    """
    return floor_div(x, y), mod_check(x, y)


def ceil_intdiv(a: Any, b: Any):
    """Return the integer quotient of `a` and `b`, rounded up.

    Parameters
    ----------
    a, b : tensor_like
        Integers.

    Returns
    -------
    TensorVariable
        Of the dtype of ``a // b``.

    See Also
    --------
    theano.tensor.floor_div : Return the quotient rounded towards minus infinity, ``a // b``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ceil_intdiv([4, 5, 6], 3).eval()
    array([2, 2, 2])
    """
    quotient = int_div(a, b)
    return cast(neq(mod_check(a, b), 0), quotient.dtype) + quotient


def smallest(*args: Any):
    """Return the elementwise smallest of the arguments; of two the second where they cannot be compared.

    Parameters
    ----------
    *args : tensor_like
        What is compared.

    Returns
    -------
    TensorVariable
        Of the shape that all broadcast to.

    See Also
    --------
    theano.tensor.maximum : Return the larger of `a` and `b`; NaN if one is.
    theano.tensor.largest : Return the elementwise largest of the arguments; of two the second where they cannot be
        compared.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.smallest([1, 5], [4, 2]).eval()
    array([1, 2])
    """
    if len(args) == 2:
        a, b = args
        return switch(lt(a, b), a, b)
    return ops.min(ops.stack(args), axis=0)


def largest(*args: Any):
    """Return the elementwise largest of the arguments; of two the second where they cannot be compared.

    Parameters
    ----------
    *args : tensor_like
        What is compared.

    Returns
    -------
    TensorVariable
        Of the shape that all broadcast to.

    See Also
    --------
    theano.tensor.smallest : Return the elementwise smallest of the arguments; of two the second where they cannot be
        compared.
    theano.tensor.maximum : Return the larger of `a` and `b`; NaN if one is.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.largest([1, 5], [4, 2]).eval()
    array([4, 5])
    """
    if len(args) == 2:
        a, b = args
        return switch(gt(a, b), a, b)
    return ops.max(ops.stack(args), axis=0)


def _conversion(scalar_op: Any, name: str) -> Elemwise:
    op = Elemwise(scalar_op)
    pprint.assign(op, FunctionPrinter(name))
    return op


_convert_to_bool = _conversion(scal.convert_to_bool, "bool")
_convert_to_int8 = _conversion(scal.convert_to_int8, "int8")
_convert_to_int16 = _conversion(scal.convert_to_int16, "int16")
_convert_to_int32 = _conversion(scal.convert_to_int32, "int32")
_convert_to_int64 = _conversion(scal.convert_to_int64, "int64")
_convert_to_uint8 = _conversion(scal.convert_to_uint8, "uint8")
_convert_to_uint16 = _conversion(scal.convert_to_uint16, "uint16")
_convert_to_uint32 = _conversion(scal.convert_to_uint32, "uint32")
_convert_to_uint64 = _conversion(scal.convert_to_uint64, "uint64")
_convert_to_float16 = _conversion(scal.convert_to_float16, "float16")
_convert_to_float32 = _conversion(scal.convert_to_float32, "float32")
_convert_to_float64 = _conversion(scal.convert_to_float64, "float64")
_convert_to_complex64 = _conversion(scal.convert_to_complex64, "complex64")
_convert_to_complex128 = _conversion(scal.convert_to_complex128, "complex128")

_cast_mapping = {
    "bool": _convert_to_bool,
    "int8": _convert_to_int8,
    "int16": _convert_to_int16,
    "int32": _convert_to_int32,
    "int64": _convert_to_int64,
    "uint8": _convert_to_uint8,
    "uint16": _convert_to_uint16,
    "uint32": _convert_to_uint32,
    "uint64": _convert_to_uint64,
    "float16": _convert_to_float16,
    "float32": _convert_to_float32,
    "float64": _convert_to_float64,
    "complex64": _convert_to_complex64,
    "complex128": _convert_to_complex128,
}


def cast(x: Any, dtype: Any):
    """Return `x` converted to `dtype`; `x` itself if it has that dtype.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    dtype : str or numpy.dtype
        ``'floatX'`` stands for ``config.floatX``.

    Returns
    -------
    TensorVariable
        Of the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is complex and `dtype` is not: use ``real``, ``imag``, ``abs_`` or ``angle``.

    See Also
    --------
    theano.tensor.as_tensor_variable : Turn `x` into a tensor variable or constant.
    theano.tensor.constant : Return a `TensorConstant` holding a copy of `x`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.cast(T.dmatrix(), 'int32').dtype
    'int32'
    """
    if isinstance(dtype, str) and dtype == "floatX":
        dtype = config.floatX
    dtype_name = dtype if type(dtype) is str and dtype in _cast_mapping else np.dtype(dtype).name
    variable = as_tensor_variable(x)
    if variable.type.dtype == dtype_name:
        return variable
    if variable.type.dtype.startswith("complex") and not dtype_name.startswith("complex"):
        raise TypeError("Casting from complex to real is ambiguous: consider real(), imag(), angle() or abs()")
    if dtype_name not in _cast_mapping:
        raise TypeError(f"unsupported dtype for a cast: {dtype!r}")
    return _cast_mapping[dtype_name](variable)

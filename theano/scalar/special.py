"""Special functions: error, gamma and Bessel functions and their inverses and incomplete forms.

Values are SciPy's; it is imported when the first of them is computed. C code there is for those that C itself has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from theano.scalar import error_functions
from theano.scalar.arithmetic import abs_
from theano.scalar.comparison import lt
from theano.scalar.explog import exp, exp_minus_square, log
from theano.scalar.op import BinaryScalarOp, float_function, number, with_example
from theano.scalar.output_types import Policy, upgrade_to_float, upgrade_to_float64, upgrade_to_float_no_complex
from theano.scalar.selection import minimum, switch
from theano.scalar.type import complex_types

# SciPy comes with the package.
imported_scipy_special = True


def _bell(x):
    return exp(-x * x) if x.type in complex_types else exp_minus_square(x)


def _scipy(name: str, *args: Any) -> Any:
    from scipy import special

    return getattr(special, name)(*args)


def special_function(
    class_name: str, doc: str, derivative: Callable, np_func: Callable | None = None, **attributes: Any
) -> tuple[type, Any]:
    """Return what :func:`float_function` does for a function that :mod:`scipy.special` has under the name of the op.

    `np_func` computes the values if they are not SciPy's.
    """
    name = class_name.lower()
    np_func = np_func or partial(_scipy, name)
    return float_function(class_name, doc, np_func, derivative, nfunc_spec=(f"scipy.special.{name}", 1, 1), **attributes)


def _in_float64(ours: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """A function of which SciPy's loses digits in float64, where `ours` does not."""

    def value(x: Any) -> Any:
        dtype = getattr(x, "dtype", np.dtype("complex128" if isinstance(x, complex) else "float64"))
        wide = dtype.itemsize >= (8 if dtype.kind == "f" else 4) and dtype.kind != "c"
        return ours(x) if wide else _scipy(name, x)

    return value


def _inverse_slope(complement, z):
    """``sqrt(pi) / 2 * exp(z ** 2)`` where ``erfc(abs(z))`` is `complement`: so the error of `z` counts little."""
    # Where the complement is 0 the slope is infinite, and so would be the rate.
    rate = minimum(erfc_rate(abs_(z)), number(1e4, z))
    return number(0.5, z) / (complement * rate)


def _erfcx_derivative(x, z):
    if x.type in complex_types:
        return number(-2 / math.sqrt(math.pi), x) + number(2, x) * x * z
    # The difference 2 * x * z - 2 / sqrt(pi), which far above 0 is small.
    return number(-2, x) * erfcx_slope(x)


def _erfc_rate_slope_derivative(x, z):
    rate, excess = erfc_rate(x), erfc_rate_excess(x)
    return number(2, x) * z * excess + rate * (number(2, x) * z - number(1, x))


Erf, erf = special_function(
    "Erf",
    "Error function.",
    lambda x, z: number(2 / math.sqrt(math.pi), x) * _bell(x),
    c_func="erf",
    example="erf(1.0).eval().round(4) -> 0.8427",
)
Erfc, erfc = special_function(
    "Erfc",
    "Complement of the error function, ``1 - erf(x)``.",
    lambda x, z: number(-2 / math.sqrt(math.pi), x) * _bell(x),
    _in_float64(error_functions.erfc, "erfc"),
    c_func="erfc",
    example="erfc(1.0).eval().round(4) -> 0.1573",
)
Erfcx, erfcx = special_function(
    "Erfcx",
    "Scaled complement of the error function, ``exp(x**2) * erfc(x)``.",
    _erfcx_derivative,
    _in_float64(error_functions.erfcx, "erfcx"),
    c_func="tk_erfcx",
    example="erfcx(30.0).eval().round(4) -> 0.0188",
)
ErfcxSlope, erfcx_slope = float_function(
    "ErfcxSlope",
    "``erfcx(x) * (erfc_rate(x) - x)``, half of the negative derivative of ``erfcx(x)``.",
    error_functions.erfcx_slope,
    lambda x, z: (
        erfcx(x) * (number(2, x) * erfc_rate_slope(x) - number(1, x)) - number(2, x) * z * erfc_rate_excess(x)
    ),
    "tk_erfcx_slope",
    "erfcx_slope",
)
ErfcRate, erfc_rate = float_function(
    "ErfcRate",
    "``exp(-x ** 2) / (sqrt(pi) * erfc(x))``, half of the rate at which ``log(erfc(x))`` falls; for large x near x.",
    error_functions.erfc_rate,
    lambda x, z: number(2, x) * erfc_rate_slope(x),
    "tk_erfc_rate",
    "erfc_rate",
)
ErfcRateExcess, erfc_rate_excess = float_function(
    "ErfcRateExcess",
    "``erfc_rate(x) - x``, for large x near ``1 / (2 * x)``.",
    error_functions.erfc_rate_excess,
    lambda x, z: number(2, x) * erfc_rate_slope(x) - number(1, x),
    "tk_erfc_rate_excess",
    "erfc_rate_excess",
)
ErfcRateSlope, erfc_rate_slope = float_function(
    "ErfcRateSlope",
    "``erfc_rate(x) * (erfc_rate(x) - x)``, half of the derivative of ``erfc_rate(x)``; for large x near 1/2.",
    error_functions.erfc_rate_slope,
    _erfc_rate_slope_derivative,
    "tk_erfc_rate_slope",
    "erfc_rate_slope",
)
Erfinv, erfinv = special_function(
    "Erfinv",
    "Inverse of the error function.",
    lambda x, z: _inverse_slope(number(1, x) - abs_(x), z),
    example="erfinv(0.8427).eval().round(4) -> 1.0",
)
Erfcinv, erfcinv = special_function(
    "Erfcinv",
    "Inverse of the complement of the error function.",
    lambda x, z: -_inverse_slope(minimum(x, number(2, x) - x), z),
    example="erfcinv(0.1573).eval().round(4) -> 1.0",
)


def _gammaln(x, value):
    """The logarithm of gamma for float64 where SciPy's `value` has few digits or none: below 0, and near its zeros 1 and 2."""
    with np.errstate(all="ignore"):
        near = (x > 0.5) & (x < 2.5)
        if np.any(near):
            # Its power series around 2, of whose coefficients what makes it converge slowly is the logarithm of x.
            k = np.arange(2, 38)
            series = np.append(_scipy("zetac", k)[::-1] / k[::-1] * (-1.0) ** k[::-1], [1 - np.euler_gamma, 0.0])
            e = np.where(x < 1.3, x - 1, x - 2)[near]
            value = np.array(value)
            value[near] = np.polyval(series, e) - np.where(x[near] < 1.3, np.log1p(e), 0)
        below = x < 0
        if np.any(below):
            sine = np.abs(np.sin(np.pi * (x - np.rint(x))))
            large = np.log(np.pi / sine) - _gammaln(np.where(below, 1 - x, 1.0), _scipy("gammaln", np.where(below, 1 - x, 1.0)))
            value = np.where(below & (x > -1e15), np.where(x > -1e-300, -np.log(-x), large), value)
        return np.where((x < 1e-300) & (x > 0), -np.log(x), value)


def _gammaln_by_dtype(x):
    value = _scipy("gammaln", x)
    return _gammaln(np.asarray(x, dtype="float64"), value)[()] if getattr(value, "dtype", None) == "float64" else value


_PSI_CODE = """
#ifndef THEANO_SCALAR_PSI
#define THEANO_SCALAR_PSI
/* Digamma: reflection for negative arguments; below 3 from [1, 2], where it is a polynomial (by its Chebyshev series) times the
 * distance from its root; else recurrence up to 10 and the asymptotic series. */
static inline double theano_scalar_psi(double x)
{
    static const double factor[] = {
        0.951055876031833, -0.4236274212814606, 0.2405424842407739, -0.14840492305388006, 0.09498872445498366,
        -0.06192213327556183, 0.04076083381023946, -0.02697579665686472, 0.017907252496345213, -0.011908220169786002,
        0.007926943794456376, -0.0052799364178857415, 0.0035190141649363805, -0.0023455016279107115, 0.0015565879761797945,
        -0.0010364227247828023, 0.0007234757252061551, -0.00048606417050412354, 0.00022695205071257896, -0.00014460384609240088,
        0.0002599100450715037, -0.00017837342400462423,
    };
    double result = 0.0, r, r2;
    if (x != x || x == -__builtin_inf()) return __builtin_nan("");
    if (x == __builtin_inf()) return x;
    if (x <= 0.0) {
        double rest = x - __builtin_rint(x);
        if (x == 0.0) return -__builtin_copysign(__builtin_inf(), x);
        if (rest == 0.0) return __builtin_nan("");
        result = __builtin_fabs(rest) == 0.5 ? 0.0 : -3.14159265358979323846 / __builtin_tan(3.14159265358979323846 * rest);
        x = 1.0 - x;
    }
    if (x < 3.0) {
        double p = 0.0;
        if (x < 1.0) {
            result -= 1.0 / x;
            x += 1.0;
        } else if (x >= 2.0) {
            x -= 1.0;
            result += 1.0 / x;
        }
        for (int i = sizeof factor / sizeof *factor; i-- > 0;) p = p * (x - 1.5) + factor[i];
        return result + ((x - 1.4616321449683622) - 9.549995429965697e-17) * p;
    }
    while (x < 10.0) {
        result -= 1.0 / x;
        x += 1.0;
    }
    r = 1.0 / x;
    r2 = r * r;
    return result + __builtin_log(x) - 0.5 * r
        - r2 * (1.0 / 12 - r2 * (1.0 / 120 - r2 * (1.0 / 252 - r2 * (1.0 / 240 - r2 * (1.0 / 132
        - r2 * (691.0 / 32760 - r2 * (1.0 / 12)))))));
}
#endif
"""

_TRI_GAMMA_CODE = """
#ifndef THEANO_SCALAR_TRI_GAMMA
#define THEANO_SCALAR_TRI_GAMMA
/* Trigamma: reflection for negative arguments, recurrence up to 10, then the asymptotic series. */
static inline double theano_scalar_tri_gamma(double x)
{
    double result = 0.0, sign = 1.0, r, r2;
    if (x != x || x == -__builtin_inf()) return __builtin_nan("");
    if (x == __builtin_inf()) return 0.0;
    if (x <= 0.0) {
        double rest = x - __builtin_rint(x), s;
        if (rest == 0.0) return __builtin_inf();
        s = 3.14159265358979323846 / __builtin_sin(3.14159265358979323846 * rest);
        result = s * s;
        sign = -1.0;
        x = 1.0 - x;
    }
    double sum = 0.0;
    while (x < 10.0) {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    r = 1.0 / x;
    r2 = r * r;
    sum += r + 0.5 * r2 + r * r2 * (1.0 / 6 - r2 * (1.0 / 30 - r2 * (1.0 / 42 - r2 * (1.0 / 30
        - r2 * (5.0 / 66 - r2 * (691.0 / 2730 - r2 * (7.0 / 6 - r2 * (3617.0 / 510))))))));
    return result + sign * sum;
}
#endif
"""


def _psi(x):
    value = _scipy("psi", x)
    below = np.less(x, 0) if getattr(value, "dtype", None) == "float64" else False
    if not np.any(below):
        return value
    # SciPy's loses digits near whole numbers.
    rest = x - np.rint(x)
    reflected = _scipy("psi", np.where(below, 1 - x, 1.0)) - np.where(abs(rest) == 0.5, 0.0, np.pi / np.tan(np.pi * rest))
    return np.where(below & (rest != 0), reflected, value)[()]


def _tri_gamma(x):
    # The zeta function, on which SciPy's polygamma stands, takes positive arguments only.
    x = np.asarray(x)
    out_dtype = x.dtype if x.dtype.kind == "f" else np.dtype("float64")
    value = x.astype("float64")
    positive = _scipy("zeta", 2.0, np.where(value > 0, value, 1 - value))
    with np.errstate(all="ignore"):
        reflected = (np.pi / np.sin(np.pi * (value - np.rint(value)))) ** 2 - positive
    return np.where(value > 0, positive, reflected).astype(out_dtype)[()]


def _no_third_derivative(x, z):
    raise NotImplementedError("the third derivative of gammaln is not defined")


Gamma, gamma = special_function(
    "Gamma", "Gamma function.", lambda x, z: z * psi(x), c_func="tgamma", example="gamma(5.0).eval() -> 24.0"
)
GammaLn, gammaln = special_function(
    "GammaLn",
    "Logarithm of the absolute value of the gamma function.",
    lambda x, z: psi(x),
    _gammaln_by_dtype,
    c_func="lgamma",
    example="gammaln(200.0).eval().round(2) -> 857.93",
)
Psi, psi = special_function(
    "Psi",
    "Derivative of the logarithm of the gamma function.",
    lambda x, z: tri_gamma(x),
    _psi,
    c_func="theano_scalar_psi",
    c_support_code=lambda self: _PSI_CODE,
    example="psi(1.0).eval().round(4) -> -0.5772",
)
TriGamma, tri_gamma = float_function(
    "TriGamma",
    "Second derivative of the logarithm of the gamma function.",
    _tri_gamma,
    _no_third_derivative,
    "theano_scalar_tri_gamma",
    "tri_gamma",
    output_types_preference=staticmethod(upgrade_to_float_no_complex),
    nfunc_spec=("theano.scalar.special._tri_gamma", 1, 1),
    c_support_code=lambda self: _TRI_GAMMA_CODE,
    example="tri_gamma(1.0).eval().round(4) -> 1.6449",
)


def _gammau(k, x):
    # The first factor has the wider precision of both arguments; the second must not have less.
    value = _scipy("gammaincc", k, x)
    return value * _scipy("gamma", np.asarray(k, dtype=value.dtype))


def _gammal(k, x):
    value = _scipy("gammainc", k, x)
    return value * _scipy("gamma", np.asarray(k, dtype=value.dtype))


def _chi2sf(x, k):
    # SciPy's function knows neither negative numbers nor that there is no distribution without degrees of freedom.
    value = _scipy("chdtrc", k, np.where(np.less(x, 0), 0, x).astype(np.result_type(x)))
    return np.where(np.greater(k, 0), value, value.dtype.type("nan"))[()]


class TwoArguments(BinaryScalarOp):
    """A function of two numbers, differentiable in one at most.

    Attributes
    ----------
    st_impl
        The function of numbers or arrays.
    differentiable : int
        The argument in which it can be differentiated.
    derivative
        ``derivative(x, y, z)`` is the derivative with respect to that, where the value is `z`.
    """

    st_impl: Callable
    differentiable = 1
    derivative: Callable

    def impl(self, x, y):
        # The order is real, also where its constant got the dtype of a complex argument.
        return self.st_impl(np.real(x), y) if self.differentiable else self.st_impl(x, y)

    def L_op(self, inputs, outputs, output_gradients):
        from theano.gradient_types import grad_not_implemented

        (gz,) = output_gradients
        grads = [grad_not_implemented(self, i, x) for i, x in enumerate(inputs)]
        grads[self.differentiable] = gz * self.derivative(*inputs, outputs[0])
        return grads


def _binary(
    class_name: str,
    doc: str,
    derivative: Callable,
    st_impl: Callable | None,
    policy: Policy,
    differentiable: int = 1,
    *,
    example: str,
) -> tuple[type, Any]:
    name = class_name.lower()
    body = {
        "__doc__": with_example(doc, example),
        "__module__": __name__,
        "nfunc_spec": (f"theano.scalar.special._{name}" if st_impl else f"scipy.special.{name}", 2, 1),
        "output_types_preference": staticmethod(policy),
        "st_impl": staticmethod(st_impl or partial(_scipy, name)),
        "derivative": staticmethod(derivative),
        "differentiable": differentiable,
    }
    cls = type(class_name, (TwoArguments,), body)
    return cls, cls(policy, name=name)


def _chi2sf_derivative(x, k, z):
    half = number(0.5, z)
    return -(exp((k * half - 1) * log(x * half) - x * half - gammaln(k * half)) * half)


def _density(k, x):
    return exp(-x + (k - 1) * log(x) - gammaln(k))


Chi2SF, chi2sf = _binary(
    "Chi2SF",
    "Survival function of the chi-squared distribution at x with k degrees of freedom: ``chi2sf(x, k)``.",
    _chi2sf_derivative,
    _chi2sf,
    upgrade_to_float64,
    differentiable=0,
    example="chi2sf(3.84, 1.0).eval().round(4) -> 0.05",
)
GammaInc, gammainc = _binary(
    "GammaInc",
    "Regularised lower incomplete gamma function, ``gammainc(k, x)``.",
    lambda k, x, z: _density(k, x),
    None,
    upgrade_to_float64,
    example="gammainc(1.0, 1.0).eval().round(4) -> 0.6321",
)
GammaIncC, gammaincc = _binary(
    "GammaIncC",
    "Regularised upper incomplete gamma function, ``gammaincc(k, x)``.",
    lambda k, x, z: -_density(k, x),
    None,
    upgrade_to_float64,
    example="gammaincc(1.0, 1.0).eval().round(4) -> 0.3679",
)
GammaU, gammau = _binary(
    "GammaU",
    "Upper incomplete gamma function, not regularised: ``gammau(k, x)``.",
    lambda k, x, z: -exp(-x + (k - 1) * log(x)),
    _gammau,
    upgrade_to_float64,
    example="gammau(3.0, 1.0).eval().round(4) -> 1.8394",
)
GammaL, gammal = _binary(
    "GammaL",
    "Lower incomplete gamma function, not regularised: ``gammal(k, x)``.",
    lambda k, x, z: exp(-x + (k - 1) * log(x)),
    _gammal,
    upgrade_to_float64,
    example="gammal(3.0, 1.0).eval().round(4) -> 0.1606",
)


def _over_argument(x, z):
    """``z / x``, which tends to 1/2 at 0, where the quotient has no value; with subnormal numbers it has few digits."""
    return switch(lt(abs_(x), number(1e-30, x)), number(0.5, x), z / x)


Jv, jv = _binary(
    "Jv",
    "Bessel function of the first kind of order v (real): ``jv(v, x)``.",
    lambda k, x, z: (jv(k - 1, x) - jv(k + 1, x)) / number(2, x),
    None,
    upgrade_to_float,
    example="jv(0.5, 1.0).eval().round(4) -> 0.6714",
)
Iv, iv = _binary(
    "Iv",
    "Modified Bessel function of the first kind of order v (real): ``iv(v, x)``.",
    lambda k, x, z: (iv(k - 1, x) + iv(k + 1, x)) / number(2, x),
    None,
    upgrade_to_float,
    example="iv(0.5, 1.0).eval().round(4) -> 0.9377",
)
J1, j1 = special_function(
    "J1",
    "Bessel function of the first kind of order 1.",
    lambda x, z: j0(x) - _over_argument(x, z),
    c_func="j1",
    example="j1(1.0).eval().round(4) -> 0.4401",
)
J0, j0 = special_function(
    "J0",
    "Bessel function of the first kind of order 0.",
    lambda x, z: -j1(x),
    c_func="j0",
    example="j0(1.0).eval().round(4) -> 0.7652",
)
I1, i1 = special_function(
    "I1",
    "Modified Bessel function of the first kind of order 1.",
    lambda x, z: i0(x) - _over_argument(x, z),
    example="i1(1.0).eval().round(4) -> 0.5652",
)
I0, i0 = special_function(
    "I0",
    "Modified Bessel function of the first kind of order 0.",
    lambda x, z: i1(x),
    example="i0(1.0).eval().round(4) -> 1.2661",
)

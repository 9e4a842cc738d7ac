"""Special functions: error, gamma and Bessel functions and their inverses and incomplete forms.

Values are SciPy's; it is imported when the first of them is computed. C code there is for those that C itself has.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theano.scalar import error_functions
from theano.scalar.arithmetic import abs_
from theano.scalar.comparison import lt
from theano.scalar.explog import exp, exp_minus_square, log
from theano.scalar.op import BinaryScalarOp, FloatFunction
from theano.scalar.output_types import upgrade_to_float, upgrade_to_float64
from theano.scalar.selection import minimum, switch
from theano.scalar.type import ScalarConstant, complex_types


def _number(value: float, like) -> ScalarConstant:
    return ScalarConstant(like.type, value)


def _bell(x):
    return exp(-x * x) if x.type in complex_types else exp_minus_square(x)


def _scipy(name: str, *args: Any) -> Any:
    from scipy import special

    return getattr(special, name)(*args)


class SpecialFunction(FloatFunction):
    """A unary function that :mod:`scipy.special` has under the name `scipy_name`."""

    scipy_name = ""

    def impl(self, x):
        dtype = getattr(x, "dtype", None)
        if dtype is not None and dtype.kind in "biu" and dtype.itemsize <= 2:
            x = np.float32(x)
        return _scipy(self.scipy_name, x)


class Erf(SpecialFunction):
    """Error function."""

    nfunc_spec = ("scipy.special.erf", 1, 1)
    scipy_name = "erf"
    c_func = "erf"

    def derivative(self, x, z):
        return _number(2 / math.sqrt(math.pi), x) * _bell(x)


class _ErrorFunction(SpecialFunction):
    """A function of which SciPy's loses digits in float64; `np_func` does not."""

    def impl(self, x):
        dtype = getattr(x, "dtype", np.dtype("complex128" if isinstance(x, complex) else "float64"))
        wide = dtype.itemsize >= (8 if dtype.kind == "f" else 4) and dtype.kind != "c"
        return type(self).np_func(x) if wide else super().impl(x)


class Erfc(_ErrorFunction):
    """Complement of the error function, ``1 - erf(x)``."""

    nfunc_spec = ("scipy.special.erfc", 1, 1)
    scipy_name = "erfc"
    np_func = staticmethod(error_functions.erfc)
    c_func = "erfc"

    def derivative(self, x, z):
        return _number(-2 / math.sqrt(math.pi), x) * _bell(x)


class Erfcx(_ErrorFunction):
    """Scaled complement of the error function, ``exp(x**2) * erfc(x)``."""

    nfunc_spec = ("scipy.special.erfcx", 1, 1)
    scipy_name = "erfcx"
    np_func = staticmethod(error_functions.erfcx)
    c_func = "tk_erfcx"

    def derivative(self, x, z):
        if x.type in complex_types:
            return _number(-2 / math.sqrt(math.pi), x) + _number(2, x) * x * z
        # The difference 2 * x * z - 2 / sqrt(pi), which far above 0 is small.
        return _number(-2, x) * erfcx_slope(x)


class ErfcxSlope(FloatFunction):
    """``erfcx(x) * (erfc_rate(x) - x)``, half of the negative derivative of ``erfcx(x)``."""

    np_func = staticmethod(error_functions.erfcx_slope)
    c_func = "tk_erfcx_slope"

    def derivative(self, x, z):
        return erfcx(x) * (_number(2, x) * erfc_rate_slope(x) - _number(1, x)) - _number(2, x) * z * erfc_rate_excess(x)


class ErfcRate(FloatFunction):
    """``exp(-x ** 2) / (sqrt(pi) * erfc(x))``, half of the rate at which ``log(erfc(x))`` falls; for large x near x."""

    np_func = staticmethod(error_functions.erfc_rate)
    c_func = "tk_erfc_rate"

    def derivative(self, x, z):
        return _number(2, x) * erfc_rate_slope(x)


class ErfcRateExcess(FloatFunction):
    """``erfc_rate(x) - x``, for large x near ``1 / (2 * x)``."""

    np_func = staticmethod(error_functions.erfc_rate_excess)
    c_func = "tk_erfc_rate_excess"

    def derivative(self, x, z):
        return _number(2, x) * erfc_rate_slope(x) - _number(1, x)


class ErfcRateSlope(FloatFunction):
    """``erfc_rate(x) * (erfc_rate(x) - x)``, half of the derivative of ``erfc_rate(x)``; for large x near 1/2."""

    np_func = staticmethod(error_functions.erfc_rate_slope)
    c_func = "tk_erfc_rate_slope"

    def derivative(self, x, z):
        rate, excess = erfc_rate(x), erfc_rate_excess(x)
        return _number(2, x) * z * excess + rate * (_number(2, x) * z - _number(1, x))


def _inverse_slope(complement, z):
    """``sqrt(pi) / 2 * exp(z ** 2)`` where ``erfc(abs(z))`` is `complement`: so the error of `z` counts little."""
    # Where the complement is 0 the slope is infinite, and so would be the rate.
    rate = minimum(erfc_rate(abs_(z)), _number(1e4, z))
    return _number(0.5, z) / (complement * rate)


class Erfinv(SpecialFunction):
    """Inverse of the error function."""

    nfunc_spec = ("scipy.special.erfinv", 1, 1)
    scipy_name = "erfinv"

    def derivative(self, x, z):
        return _inverse_slope(_number(1, x) - abs_(x), z)


class Erfcinv(SpecialFunction):
    """Inverse of the complement of the error function."""

    nfunc_spec = ("scipy.special.erfcinv", 1, 1)
    scipy_name = "erfcinv"

    def derivative(self, x, z):
        return -_inverse_slope(minimum(x, _number(2, x) - x), z)


class Gamma(SpecialFunction):
    """Gamma function."""

    nfunc_spec = ("scipy.special.gamma", 1, 1)
    scipy_name = "gamma"
    c_func = "tgamma"

    def derivative(self, x, z):
        return z * psi(x)


class GammaLn(SpecialFunction):
    """Logarithm of the absolute value of the gamma function."""

    nfunc_spec = ("scipy.special.gammaln", 1, 1)
    scipy_name = "gammaln"
    c_func = "lgamma"

    def impl(self, x):
        value = super().impl(x)
        return _gammaln(np.asarray(x, dtype="float64"), value)[()] if getattr(value, "dtype", None) == "float64" else value

    def derivative(self, x, z):
        return psi(x)


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


class Psi(SpecialFunction):
    """Derivative of the logarithm of the gamma function."""

    nfunc_spec = ("scipy.special.psi", 1, 1)
    scipy_name = "psi"
    c_func = "theano_scalar_psi"

    def impl(self, x):
        value = super().impl(x)
        below = np.less(x, 0) if getattr(value, "dtype", None) == "float64" else False
        if not np.any(below):
            return value
        # SciPy's loses digits near whole numbers.
        with np.errstate(all="ignore"):
            rest = x - np.rint(x)
            reflected = _scipy("psi", np.where(below, 1 - x, 1.0)) - np.where(abs(rest) == 0.5, 0.0, np.pi / np.tan(np.pi * rest))
        return np.where(below & (rest != 0), reflected, value)[()]

    def c_support_code(self):
        return _PSI_CODE

    def derivative(self, x, z):
        return tri_gamma(x)


class TriGamma(SpecialFunction):
    """Second derivative of the logarithm of the gamma function."""

    nfunc_spec = ("theano.scalar.special._tri_gamma", 1, 1)
    c_func = "theano_scalar_tri_gamma"

    def impl(self, x):
        return _tri_gamma(x)

    def c_support_code(self):
        return _TRI_GAMMA_CODE

    def derivative(self, x, z):
        raise NotImplementedError("the third derivative of gammaln is not defined")


def _tri_gamma(x):
    # The zeta function, on which SciPy's polygamma stands, takes positive arguments only.
    x = np.asarray(x)
    out_dtype = x.dtype if x.dtype.kind == "f" else np.dtype("float64")
    value = x.astype("float64")
    positive = _scipy("zeta", 2.0, np.where(value > 0, value, 1 - value))
    with np.errstate(all="ignore"):
        reflected = (np.pi / np.sin(np.pi * (value - np.rint(value)))) ** 2 - positive
    return np.where(value > 0, positive, reflected).astype(out_dtype)[()]


class _TwoArguments(BinaryScalarOp):
    """A function of two numbers that :mod:`scipy.special` has, differentiable in the second at most."""

    output_types_preference = staticmethod(upgrade_to_float64)
    scipy_name = ""

    def impl(self, k, x):
        # The order is real, also where its constant got the dtype of a complex argument.
        return _scipy(self.scipy_name, np.real(k), x)

    def derivative(self, k, x, z):
        """Return the derivative with respect to the second argument."""
        raise NotImplementedError(f"{self} has no derivative")

    def L_op(self, inputs, outputs, output_gradients):
        from theano.gradient import grad_not_implemented

        k, x = inputs
        (gz,) = output_gradients
        return [grad_not_implemented(self, 0, k), gz * self.derivative(k, x, outputs[0])]


class Chi2SF(_TwoArguments):
    """Survival function of the chi-squared distribution at x with k degrees of freedom: ``chi2sf(x, k)``."""

    nfunc_spec = ("theano.scalar.special._chi2sf", 2, 1)

    def impl(self, x, k):
        return _chi2sf(x, k)

    @staticmethod
    def st_impl(x, k):
        """Return the value for numbers or arrays."""
        return _chi2sf(x, k)

    def L_op(self, inputs, outputs, output_gradients):
        from theano.gradient import grad_not_implemented

        x, k = inputs
        (gz,) = output_gradients
        half = _number(0.5, outputs[0])
        density = exp((k * half - 1) * log(x * half) - x * half - gammaln(k * half)) * half
        return [-gz * density, grad_not_implemented(self, 1, k)]


def _chi2sf(x, k):
    return _scipy("chdtrc", k, x)


class GammaInc(_TwoArguments):
    """Regularised lower incomplete gamma function, ``gammainc(k, x)``."""

    nfunc_spec = ("scipy.special.gammainc", 2, 1)
    scipy_name = "gammainc"

    @staticmethod
    def st_impl(k, x):
        """Return the value for numbers or arrays."""
        return _scipy("gammainc", k, x)

    def derivative(self, k, x, z):
        return exp(-x + (k - 1) * log(x) - gammaln(k))


class GammaIncC(_TwoArguments):
    """Regularised upper incomplete gamma function, ``gammaincc(k, x)``."""

    nfunc_spec = ("scipy.special.gammaincc", 2, 1)
    scipy_name = "gammaincc"

    @staticmethod
    def st_impl(k, x):
        """Return the value for numbers or arrays."""
        return _scipy("gammaincc", k, x)

    def derivative(self, k, x, z):
        return -exp(-x + (k - 1) * log(x) - gammaln(k))


class GammaU(_TwoArguments):
    """Upper incomplete gamma function, not regularised: ``gammau(k, x)``."""

    nfunc_spec = ("theano.scalar.special._gammau", 2, 1)

    def impl(self, k, x):
        return _gammau(k, x)

    @staticmethod
    def st_impl(k, x):
        """Return the value for numbers or arrays."""
        return _gammau(k, x)

    def derivative(self, k, x, z):
        return -exp(-x + (k - 1) * log(x))


class GammaL(_TwoArguments):
    """Lower incomplete gamma function, not regularised: ``gammal(k, x)``."""

    nfunc_spec = ("theano.scalar.special._gammal", 2, 1)

    def impl(self, k, x):
        return _gammal(k, x)

    @staticmethod
    def st_impl(k, x):
        """Return the value for numbers or arrays."""
        return _gammal(k, x)

    def derivative(self, k, x, z):
        return exp(-x + (k - 1) * log(x))


def _gammau(k, x):
    # The first factor has the wider precision of both arguments; the second must not have less.
    value = _scipy("gammaincc", k, x)
    return value * _scipy("gamma", np.asarray(k, dtype=value.dtype))


def _gammal(k, x):
    value = _scipy("gammainc", k, x)
    return value * _scipy("gamma", np.asarray(k, dtype=value.dtype))


class Jv(_TwoArguments):
    """Bessel function of the first kind of order v (real): ``jv(v, x)``."""

    nfunc_spec = ("scipy.special.jv", 2, 1)
    scipy_name = "jv"
    output_types_preference = staticmethod(upgrade_to_float)

    def derivative(self, k, x, z):
        return (jv(k - 1, x) - jv(k + 1, x)) / _number(2, x)


class J1(SpecialFunction):
    """Bessel function of the first kind of order 1."""

    nfunc_spec = ("scipy.special.j1", 1, 1)
    scipy_name = "j1"

    def derivative(self, x, z):
        # J1(x)/x tends to 1/2 at 0, where the quotient has no value; with subnormal numbers it has few digits.
        quotient = switch(lt(abs_(x), _number(1e-30, x)), _number(0.5, x), z / x)
        return j0(x) - quotient

    def c_code(self, node, name, inputs, outputs, sub):
        if node.inputs[0].type in complex_types:
            return super().c_code(node, name, inputs, outputs, sub)
        return f"{outputs[0]} = j1((npy_float64){inputs[0]});"


class J0(SpecialFunction):
    """Bessel function of the first kind of order 0."""

    nfunc_spec = ("scipy.special.j0", 1, 1)
    scipy_name = "j0"

    def derivative(self, x, z):
        return -j1(x)

    def c_code(self, node, name, inputs, outputs, sub):
        if node.inputs[0].type in complex_types:
            return super().c_code(node, name, inputs, outputs, sub)
        return f"{outputs[0]} = j0((npy_float64){inputs[0]});"


class Iv(_TwoArguments):
    """Modified Bessel function of the first kind of order v (real): ``iv(v, x)``."""

    nfunc_spec = ("scipy.special.iv", 2, 1)
    scipy_name = "iv"
    output_types_preference = staticmethod(upgrade_to_float)

    def derivative(self, k, x, z):
        return (iv(k - 1, x) + iv(k + 1, x)) / _number(2, x)


class I1(SpecialFunction):
    """Modified Bessel function of the first kind of order 1."""

    nfunc_spec = ("scipy.special.i1", 1, 1)
    scipy_name = "i1"

    def derivative(self, x, z):
        quotient = switch(lt(abs_(x), _number(1e-30, x)), _number(0.5, x), z / x)
        return i0(x) - quotient


class I0(SpecialFunction):
    """Modified Bessel function of the first kind of order 0."""

    nfunc_spec = ("scipy.special.i0", 1, 1)
    scipy_name = "i0"

    def derivative(self, x, z):
        return i1(x)


erf = Erf(upgrade_to_float, name="erf")
erfc = Erfc(upgrade_to_float, name="erfc")
erfcx = Erfcx(upgrade_to_float, name="erfcx")
erfcx_slope = ErfcxSlope(upgrade_to_float, name="erfcx_slope")
erfc_rate = ErfcRate(upgrade_to_float, name="erfc_rate")
erfc_rate_excess = ErfcRateExcess(upgrade_to_float, name="erfc_rate_excess")
erfc_rate_slope = ErfcRateSlope(upgrade_to_float, name="erfc_rate_slope")
erfinv = Erfinv(upgrade_to_float, name="erfinv")
erfcinv = Erfcinv(upgrade_to_float, name="erfcinv")
gamma = Gamma(upgrade_to_float, name="gamma")
gammaln = GammaLn(upgrade_to_float, name="gammaln")
psi = Psi(upgrade_to_float, name="psi")
tri_gamma = TriGamma(upgrade_to_float, name="tri_gamma")
chi2sf = Chi2SF(upgrade_to_float64, name="chi2sf")
gammainc = GammaInc(upgrade_to_float64, name="gammainc")
gammaincc = GammaIncC(upgrade_to_float64, name="gammaincc")
gammau = GammaU(upgrade_to_float64, name="gammau")
gammal = GammaL(upgrade_to_float64, name="gammal")
jv = Jv(upgrade_to_float, name="jv")
j1 = J1(upgrade_to_float, name="j1")
j0 = J0(upgrade_to_float, name="j0")
iv = Iv(upgrade_to_float, name="iv")
i1 = I1(upgrade_to_float, name="i1")
i0 = I0(upgrade_to_float, name="i0")

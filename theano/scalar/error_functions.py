"""The error function's relatives in NumPy: SciPy's lose digits around 1, and has not all of them.

The functions take real numbers or arrays of any dtype, compute in float64 and return the float dtype of the argument.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_SQRT_PI = 1.772453850905516
_LOWERED = 1.603810890548638e-28  # exp(-64)
_INVERSE_SQRT_PI, _INVERSE_SQRT_PI_LOW = 0.5641895835477563, 7.66772980658294e-18

# (rate(x) - x) * (x + 1) for x >= 0 as a polynomial in (x - 2) / (x + 2), from its Chebyshev series.
_EXCESS = (
    0.6272412089916213, -0.0786682861258423, -0.11316631108633354, 0.061816568433416715, 0.0242599242652302,
    -0.019925118383633592, -0.009034944087062607, 0.005863112618850093, 0.004033758311587254, -0.001310517645801425,
    -0.001711227261367169, 4.085898363229264e-05, 0.000608634806322607, 0.0001624186888297151, -0.00015649610050119322,
    -0.000104726354047085, 1.5268336098947573e-05, 3.824759076168485e-05, 9.321094282389226e-06, -7.5341726157855495e-06,
    -5.620703706897479e-06, -3.9132058288738844e-07, 1.3767522687389206e-06, 7.879339900242617e-07, -5.901538169103259e-08,
    -2.435244617781654e-07, -5.2582172560731115e-08, 3.264436761572307e-08, 1.0052992382066197e-08, -1.1407414314116847e-09,
)  # fmt: skip
# erf(x) / x - 1 for |x| < 1 as a polynomial in x ** 2.
_SMALL = (
    0.1283791670955126, -0.37612638903183754, 0.11283791670955005, -0.026866170645096527, 0.005223977624976345,
    -0.0008548326988256511, 0.00012055331329037507, -1.4925599368920347e-05, 1.646105047781521e-06, -1.6350695022737936e-07,
    1.4661469208016884e-08, -1.1376392330227391e-09, 5.958660499333604e-11,
)  # fmt: skip


def of_floats(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let a function of float64 arrays take any: the result gets the argument's dtype if that is a float."""

    @functools.wraps(function)
    def of_any(x: Any) -> Any:
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            value = function(x.astype("float64"))
        return value.astype(x.dtype if x.dtype.kind == "f" else "float64")[()]

    return of_any


def _upper_half(x: Any) -> Any:
    # The 26 upper bits of x, whose square is exact.
    return (np.asarray(x, dtype="float64").view("int64") & ~0x7FFFFFF).view("float64")


def _polynomial(coefficients: tuple[float, ...], t: Any) -> Any:
    value = np.full_like(t, coefficients[-1])
    for c in coefficients[-2::-1]:
        value *= t
        value += c
    return value


def exp_of_square(x: Any, sign: int, lift: Any = 0.0) -> Any:
    """Return ``exp(lift + sign * x ** 2)`` of float64, without what the rounding of the square makes of it where it is large;
    `lift` is a whole number, no larger than the square.
    """
    x = np.clip(x, -30.0, 30.0)
    top = _upper_half(x)
    with np.errstate(all="ignore"):
        value = np.exp(lift + sign * top * top)
        exact = value + value * np.expm1(sign * (x - top) * (x + top))
    return exact if sign < 0 else np.where(value < np.inf, exact, value)


@of_floats
def exp_minus_square(x: Any) -> Any:
    """``exp(-x ** 2)``"""
    return exp_of_square(x, -1)


@of_floats
def x_exp_minus_square(x: Any) -> Any:
    """``x * exp(-x ** 2)``"""
    size = np.clip(np.abs(x), 0.0, 30.0)
    far = size > 8.0
    return np.copysign(size * exp_of_square(size, -1, np.where(far, 64.0, 0.0)) * np.where(far, _LOWERED, 1.0), x)


def _excess(x: Any) -> Any:
    # What the roundings of the sums leave goes into the quotient.
    b = np.minimum(x, 1e18)
    t = (b - 2.0) / (b + 2.0)
    part = _polynomial(_EXCESS[1:], t) * t
    above, below = part + _EXCESS[0], x + 1.0
    low_above, low_below = part - (above - _EXCESS[0]), np.where(x > 1.0, 1.0 - (below - x), x - (below - 1.0))
    value = above / below
    return np.where(x == np.inf, 0.0, value + (low_above - value * low_below) / below)


def _small(x: Any) -> Any:
    # erf(x) - x
    return x * _polynomial(_SMALL, x * x)


def _rates(x: Any) -> tuple[Any, Any, Any]:
    # The rate, the same less x, and their product.
    size = np.abs(x)
    above = _excess(size)
    rate = size + above
    low = (size - rate) + above
    slope = np.where(size > 1e18, 0.5, rate * above + low * above)
    if not np.any(x < 0):
        return rate, above, slope
    # The power is kept from being subnormal until the product is taken.
    far = size > 8.0
    bell, lowered = exp_of_square(x, -1, np.where(far, 64.0, 0.0)), np.where(far, _LOWERED, 1.0)
    b = np.minimum(size, 1.0)
    part = b + _small(b)
    small = 1.0 + part
    low = ((1.0 - small) + part) / small - _INVERSE_SQRT_PI_LOW / _INVERSE_SQRT_PI
    near = bell * _INVERSE_SQRT_PI / small
    lifted = np.where(size < 1.0, near - near * low, bell / (2 * _SQRT_PI - bell * lowered / rate))
    below = lifted * lowered
    below_excess = below + size
    low = np.where(below > size, (below - below_excess) + size, (size - below_excess) + below)
    below_slope = np.where(size == np.inf, 0.0, (lifted * below_excess + lifted * low) * lowered)
    return np.where(x < 0, below, rate), np.where(x < 0, below_excess, above), np.where(x < 0, below_slope, slope)


@of_floats
def erfc_rate(x: Any) -> Any:
    """``exp(-x ** 2) / (sqrt(pi) * erfc(x))``"""
    return _rates(x)[0]


@of_floats
def erfc_rate_excess(x: Any) -> Any:
    """``erfc_rate(x) - x``"""
    return _rates(x)[1]


@of_floats
def erfc_rate_slope(x: Any) -> Any:
    """``erfc_rate(x) * (erfc_rate(x) - x)``"""
    return _rates(x)[2]


def _erfcx_above(x: Any) -> Any:
    # 1 / (sqrt(pi) * (x + d)) for x >= 1/2, with the rounding error of the sum.
    d = _excess(x)
    total = x + d
    inverse = 1.0 / total
    low = np.where(x < 1e200, ((x - total) + d) * inverse - _INVERSE_SQRT_PI_LOW / _INVERSE_SQRT_PI, 0.0)
    value = _INVERSE_SQRT_PI / total
    return value - value * low


@of_floats
def erfc(x: Any) -> Any:
    """``1 - erf(x)``"""
    size = np.abs(x)
    b = np.minimum(size, 1.0)
    small = np.where(x < 0, 1.0 + (b + _small(b)), (1.0 - b) - _small(b))
    if not np.any(size >= 1.0):
        return np.where(np.isnan(x), x, small)
    c = np.clip(size, 1.0, 30.0)
    tail = exp_of_square(c, -1) * _erfcx_above(c)
    return np.where(np.isnan(x), x, np.where(size < 1.0, small, np.where(x < 0, 2.0 - tail, tail)))


@of_floats
def erfcx(x: Any) -> Any:
    """``exp(x ** 2) * erfc(x)``"""
    size = np.abs(x)
    above = _erfcx_above(np.maximum(size, 0.5))
    if not np.any(x < 0.5):
        return above
    power = exp_of_square(np.minimum(x, 0.5), 1)
    b = np.clip(x, -0.5, 0.5)
    small = power * ((1.0 - b) - _small(b))
    return np.where(size < 0.5, small, np.where(x < 0, 2 * power - above, above))


@of_floats
def erfcx_slope(x: Any) -> Any:
    """``erfcx(x) * (erfc_rate(x) - x)``, half of the negative derivative of erfcx"""
    size = np.abs(x)
    d = _excess(size)
    above = _INVERSE_SQRT_PI * (d / (size + d))
    return np.where(x < 0, _INVERSE_SQRT_PI + size * erfcx(x), above) if np.any(x < 0) else above

"""The error function's relatives, their logarithms and their first and second gradients: below 4 ulp up to the last number.

The points reach from the least subnormal number to the largest; native and Python mode are held to the same limit.
"""

import numpy as np
import pytest

mpmath = pytest.importorskip("mpmath")

import theano  # noqa: E402
import theano.tensor as T  # noqa: E402
from theano.tensor.rewriting import stability_erf as E  # noqa: E402

mp = mpmath.mp.clone()
mp.dps = 45
DTYPES = ("float32", "float64")
MODES = {"native": None, "python": theano.Mode("py", "fast_run")}
LIMIT = 4
ROOT = mp.sqrt(mp.pi)


def excess(a):
    """``exp(-a ** 2) / (sqrt(pi) * erfc(a)) - a``"""
    if a < 8:
        return rate(a) - a
    tail = mp.mpf(0)
    for k in range(90, 1, -1):
        tail = mp.mpf(k) / 2 / (a + tail)
    return 1 / (2 * (a + tail))


def bell(a):
    return mp.exp(-a * a) if abs(a) < 60 else mp.mpf(0)


def rate(a):
    return a + excess(a) if a >= 8 else bell(a) / (ROOT * mp.erfc(max(a, mp.mpf(-60))))


def erfcx(a):
    return 1 / (ROOT * rate(a)) if a > -60 else mp.inf


def erfc(a):
    return mp.erfc(max(a, mp.mpf(-60))) if a < 8 else bell(a) * erfcx(a)


def log_erfc(a):
    return mp.log1p(-mp.erf(max(a, mp.mpf(-60)))) if a < 0.5 else mp.log(erfcx(a)) - a * a


def log_erf(a):
    return mp.log(mp.erf(a)) if a < 0.5 else mp.log1p(-erfc(a))


def slope_of_erfcx(a):
    return -2 * erfcx(a) * excess(a) if a > -60 else -mp.inf


def log_erfc_of(x):
    return T.log(T.erfc(x))


def grad(build, times=1):
    def of(x):
        y = build(x)
        for _ in range(times):
            y = T.grad(y.sum(), x)
        return y

    return of


# (expression, reference, least argument)
ELEMENTS = {
    "erf": (T.erf, lambda a: mp.erf(max(min(a, mp.mpf(60)), mp.mpf(-60))), None),
    "erfc": (T.erfc, erfc, None),
    "erfcx": (T.erfcx, erfcx, None),
    "gradient of erf": (grad(T.erf), lambda a: 2 / ROOT * bell(a), None),
    "second gradient of erf": (grad(T.erf, 2), lambda a: -4 / ROOT * a * bell(a), None),
    "second gradient of erfc": (grad(T.erfc, 2), lambda a: 4 / ROOT * a * bell(a), None),
    "gradient of erfcx": (grad(T.erfcx), slope_of_erfcx, None),
    "log(erfc)": (log_erfc_of, log_erfc, None),
    "gradient of log(erfc)": (grad(log_erfc_of), lambda a: -2 * rate(a), None),
    "second gradient of log(erfc)": (grad(log_erfc_of, 2), lambda a: -4 * rate(a) * excess(a), None),
    "second gradient of log(erfc / 2)": (grad(lambda x: T.log(T.erfc(x) / 2), 2), lambda a: -4 * rate(a) * excess(a), None),
    "second gradient of log(1 + erf)": (grad(lambda x: T.log(1 + T.erf(x)), 2), lambda a: -4 * rate(-a) * excess(-a), None),
    "exp(-x ** 2) / erfc": (lambda x: T.exp(-(x**2)) / T.erfc(x), lambda a: ROOT * rate(a), None),
    "exp(x ** 2) * erfc": (lambda x: T.exp(x**2) * T.erfc(x), erfcx, None),
    "gradient of exp(x ** 2) * erfc": (grad(lambda x: T.exp(x**2) * T.erfc(x)), slope_of_erfcx, None),
    # A subnormal argument has a result with fewer digits, of which the logarithm is.
    "log(erf)": (lambda x: T.log(T.erf(x)), log_erf, "tiny"),
    "rate": (E.erfc_rate, rate, None),
    "excess of the rate": (E.erfc_rate_excess, excess, None),
}  # fmt: skip


def points(dtype):
    info = np.finfo(dtype)
    least, largest = np.log10(float(info.smallest_subnormal)) + 0.5, np.log10(float(info.max)) - 0.01
    near = [k * 2.0 ** (info.maxexp - 2) for k in (1, 1 + info.eps, 2 - info.eps, 2, 3, 4 - 4 * info.eps)]
    x = np.concatenate([
        0.999 * 10.0 ** np.linspace(least, largest, 24), np.linspace(0.02, 3, 24), np.linspace(3, 28, 26),
        [0.0, 0.5, 1.0, 2.0, 8.0, info.tiny, info.smallest_subnormal, *near],
    ]).astype(dtype)  # fmt: skip
    return np.unique(np.concatenate([x, -x]))


def ulps(value, exact, dtype):
    """Distance from the exact result in units in its last place; a finite number where it overflows is infinitely far."""
    info = np.finfo(dtype)
    largest = mp.mpf(float(info.max))
    if abs(exact) >= largest * (1 + mp.mpf(2) ** (-info.nmant - 2)):
        return 0.0 if value == np.inf * float(mp.sign(exact)) else np.inf
    if not np.isfinite(value):
        return np.inf
    exponent = max(int(mp.floor(mp.log(abs(exact), 2))) if exact else info.minexp, info.minexp)
    return float(abs(mp.mpf(float(value)) - exact) / mp.mpf(2) ** (exponent - info.nmant))


@pytest.fixture(scope="module")
def references():
    return {}


@pytest.fixture(scope="module")
def results():
    """The results of all expressions by dtype and mode, each from one compiled function."""
    found = {}
    for dtype in DTYPES:
        x, at = T.vector(dtype=dtype), points(dtype)
        for mode, value in MODES.items():
            f = theano.function([x], [build(x) for build, _, _ in ELEMENTS.values()], mode=value)
            for name, out in zip(ELEMENTS, f(at), strict=True):
                found[name, dtype, mode] = at, out
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_error_of_values_and_gradients(results, references, name, dtype, mode):
    _, exact, least = ELEMENTS[name]
    x, y = results[name, dtype, mode]
    assert y.dtype == dtype
    if least:
        kept = x >= np.finfo(dtype).tiny
        x, y = x[kept], y[kept]
    wanted = references.get((name, dtype))
    if wanted is None:
        wanted = references[name, dtype] = [exact(mp.mpf(float(a))) for a in x]
    for a, value, right in zip(x, y, wanted, strict=True):
        assert ulps(value, right, dtype) < LIMIT, (a, value, right)


@pytest.mark.parametrize("mode", MODES)
def test_infinities_and_nan(mode):
    x = T.dvector()
    f = theano.function([x], [E.erfc_rate(x), E.erfc_rate_excess(x), E.erfc_rate_slope(x), E.erfcx_slope(x)], mode=MODES[mode])
    for out, wanted in zip(f([-np.inf, np.inf, np.nan]), ([0, np.inf], [np.inf, 0], [0, 0.5], [np.inf, 0]), strict=True):
        np.testing.assert_array_equal(out, [*wanted, np.nan])


def test_gradients_of_the_inverses_depend_little_on_the_rounding_of_the_inverse():
    x = T.dvector()
    at = 1 - 10.0 ** -np.linspace(0.1, 15, 20)
    inverse, of_complement = theano.function([x], [T.grad(T.erfinv(x).sum(), x), T.grad(T.erfcinv(1 - x).sum(), x)])(at)
    for a, first, second in zip(at, inverse, of_complement, strict=True):
        exact = ROOT / 2 * mp.exp(mp.erfinv(mp.mpf(a)) ** 2)
        assert ulps(first, exact, "float64") < 8, (a, first)
        assert ulps(second, exact, "float64") < 8, (a, second)
    edges = theano.function([x], T.grad(T.erfinv(x).sum(), x))([-1.0, 1.0])
    np.testing.assert_array_equal(edges, [np.inf, np.inf])


@pytest.mark.parametrize("mode", MODES)
def test_a_normal_log_probability_has_a_finite_gradient_everywhere(mode):
    x = T.dvector()
    root = np.sqrt(2.0)
    below = T.log(T.erfcx(-x / root) / 2) - T.sqr(x) / 2
    y = T.switch(T.lt(x, -1.0), below, T.log1p(-T.erfc(x / root) / 2))
    at = np.array([-1e10, -40.0, -1.5, 0.0, 1.5, 37.0, 1e10])
    gradient = theano.function([x], T.grad(y.sum(), x), mode=MODES[mode])(at)
    exact = [float(mp.sqrt(2) * rate(-mp.mpf(a) / mp.sqrt(2))) for a in at]
    # The rounded quotient of x counts x ** 2 times.
    np.testing.assert_allclose(gradient, exact, rtol=1e-12)


GAMMA = {
    "gammaln": (T.gammaln, lambda a: mp.loggamma(a).real if a > 0 else mp.log(abs(mp.gamma(a)))),
    "psi": (T.psi, mp.digamma),
    "tri_gamma": (T.tri_gamma, lambda a: mp.psi(1, a)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GAMMA)
def test_gamma_functions_near_their_zeros_and_poles(name, mode):
    build, exact = GAMMA[name]
    x = T.dvector()
    steps = 10.0 ** -np.arange(1.0, 16, 2)
    at = np.concatenate([
        [c + s * k for c in (1.0, 2.0, 3.0, 1.4616321449683622) for s in steps for k in (-1, 1)],
        [c + s * k for c in (0.0, -1.0, -2.0) for s in steps[1:] for k in (-1, 1)],
        [1e-300, -1e-300, 0.3, 0.75, 5.5, 9.9, 10.1, 40.0, 1e10],
    ])  # fmt: skip
    for a, value in zip(at, theano.function([x], build(x), mode=MODES[mode])(at), strict=True):
        assert ulps(value, exact(mp.mpf(a)), "float64") < 5, (a, value)

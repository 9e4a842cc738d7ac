"""Expressions that lose digits or overflow as they are written, computed as they are compiled: below 4 ulp.

The reference is mpmath; the points are spaced logarithmically over all finite numbers of the dtype, and closer where
the functions change.
"""

import numpy as np
import pytest

mpmath = pytest.importorskip("mpmath")

import theano  # noqa: E402
import theano.tensor as T  # noqa: E402
from theano.tensor.nnet import (  # noqa: E402
    categorical_crossentropy,
    sigmoid,
    sigmoid_binary_crossentropy,
    softmax,
    softplus,
)
from theano.tensor.nnet.softmax import logsoftmax, logsoftmax_graph, softmax_graph  # noqa: E402

mp = mpmath.mp.clone()
mp.dps = 45
DTYPES = ("float32", "float64")
LIMIT = 4


def ulps(value, exact, dtype, scale=0):
    """Distance from the exact result in units in the last place of it, or of `scale` if that is larger."""
    info = np.finfo(dtype)
    value, largest = float(value), mp.mpf(float(info.max))
    if mp.isinf(exact):
        return 0.0 if value == float(exact) else np.inf
    if abs(exact) >= largest * (1 + mp.mpf(2) ** (-info.nmant - 2)):
        return 0.0 if value == np.inf * float(mp.sign(exact)) else np.inf
    if not np.isfinite(value):
        return np.inf
    size = max(abs(exact), scale)
    exponent = max(int(mp.floor(mp.log(size, 2))) if size else info.minexp, info.minexp)
    return float(abs(mp.mpf(value) - exact) / mp.mpf(2) ** (exponent - info.nmant))


def points(dtype):
    info = np.finfo(dtype)
    smallest, largest = np.log10(float(info.smallest_subnormal)), np.log10(float(info.max))
    ranges = [
        0.999 * 10.0 ** np.linspace(smallest + 0.5, largest - 0.01, 25),
        10.0 ** np.linspace(-9, 3, 30),
        np.linspace(0.05, 3, 30),
        np.linspace(3, 40, 25),
        [0.0, 0.5, 1.0, 2.0],
    ]
    x = np.concatenate(ranges).astype(dtype)
    return np.unique(np.concatenate([x, -x]))


def erfcx(a):
    if a < 6:
        return mp.erfc(max(a, mp.mpf(-60))) * mp.exp(min(a * a, mp.mpf(3600)))
    tail = mp.mpf(0)
    for k in range(120, 0, -1):
        tail = mp.mpf(k) / 2 / (a + tail)
    return 1 / ((a + tail) * mp.sqrt(mp.pi))


def erfc(a):
    return 2 - erfc(-a) if a < 0 else mp.mpf(0) if a > 1000 else mp.exp(-a * a) * erfcx(a)


def log_erfc(a):
    return mp.log1p(-mp.erf(max(a, mp.mpf(-50)))) if a < 1 else mp.log(erfcx(a)) - a * a


def logistic(a):
    return 1 / (1 + mp.exp(-a))


def log_1p_exp(a):
    return mp.log1p(mp.exp(a)) if a < 200 else a + mp.exp(-a)


def grad(build):
    return lambda x: T.grad(build(x).sum(), x)


def anywhere(x):
    return x == x


def moderate(x):
    # Where the square is finite.
    return abs(x) < np.sqrt(np.finfo(x.dtype).max)


def normal(x):
    # Without subnormal numbers, of which one is a large part.
    return x >= np.finfo(x.dtype).tiny


def tanh(a):
    return mp.tanh(max(min(a, mp.mpf(3000)), mp.mpf(-3000)))


def log_cosh(a):
    a = abs(a)
    return mp.log1p(2 * mp.sinh(a / 2) ** 2) if a < 1 else a + mp.log1p(mp.exp(-2 * a)) - mp.log(2)


def sech2(a):
    return 1 / mp.cosh(min(abs(a), mp.mpf(5000))) ** 2


def bell(a):
    return 2 / mp.sqrt(mp.pi) * mp.exp(-a * a) if abs(a) < 1000 else mp.mpf(0)


def log_half_erfc(a):
    return mp.log1p(-erfc(-a) / 2) if a < -1 else log_erfc(a) - mp.log(2)


def log_1_minus_exp(a):
    return mp.log(-mp.expm1(a)) if a > -1 else mp.log1p(-mp.exp(a))


ELEMENTS = {
    "log(1 + x)": (lambda x: T.log(1 + x), mp.log1p, lambda x: x > -1),
    "log(1 - x)": (lambda x: T.log(1 - x), lambda a: mp.log1p(-a), lambda x: x < 1),
    "exp(x) - 1": (lambda x: T.exp(x) - 1, mp.expm1, anywhere),
    "1 - exp(-x)": (lambda x: 1 - T.exp(-x), lambda a: -mp.expm1(-a), anywhere),
    "log(1 + exp(x))": (lambda x: T.log(1 + T.exp(x)), log_1p_exp, anywhere),
    "gradient of log(1 + exp(x))": (grad(lambda x: T.log(1 + T.exp(x))), logistic, anywhere),
    "softplus(x)": (softplus, log_1p_exp, anywhere),
    "log(sigmoid(x))": (lambda x: T.log(sigmoid(x)), lambda a: -log_1p_exp(-a), anywhere),
    "gradient of log(sigmoid(x))": (grad(lambda x: T.log(sigmoid(x))), lambda a: logistic(-a), anywhere),
    "log(1 - sigmoid(x))": (lambda x: T.log(1 - sigmoid(x)), lambda a: -log_1p_exp(a), anywhere),
    "gradient of log(1 - sigmoid(x))": (grad(lambda x: T.log(1 - sigmoid(x))), lambda a: -logistic(a), anywhere),
    "log(1 / (1 + exp(-x)))": (lambda x: T.log(1 / (1 + T.exp(-x))), lambda a: -log_1p_exp(-a), anywhere),
    "1 - sigmoid(x)": (lambda x: 1 - sigmoid(x), lambda a: logistic(-a), anywhere),
    "1 / (1 + exp(-x))": (lambda x: 1 / (1 + T.exp(-x)), logistic, anywhere),
    "exp(x) / (1 + exp(x))": (lambda x: T.exp(x) / (1 + T.exp(x)), logistic, anywhere),
    "1 - erf(x)": (lambda x: 1 - T.erf(x), erfc, anywhere),
    "erf(x) - 1": (lambda x: T.erf(x) - 1, lambda a: -erfc(a), anywhere),
    "1 + erf(x)": (lambda x: 1 + T.erf(x), lambda a: erfc(-a), anywhere),
    "1 - erfc(x)": (lambda x: 1 - T.erfc(x), lambda a: 1 - erfc(a) if abs(a) > 1 else mp.erf(a), anywhere),
    "log(erfc(x))": (lambda x: T.log(T.erfc(x)), log_erfc, moderate),
    "log(1 - erf(x))": (lambda x: T.log(1 - T.erf(x)), log_erfc, moderate),
    "gradient of log(erfc(x))": (
        grad(lambda x: T.log(T.erfc(x))),
        lambda a: -2 / mp.sqrt(mp.pi) / erfcx(a) if a > -60 else mp.mpf(0),
        anywhere,
    ),
    "xlogx(x)": (T.xlogx.xlogx, lambda a: a * mp.log(a) if a else a, lambda x: x >= 0),
    "log(x ** 2)": (lambda x: T.log(x**2), lambda a: 2 * mp.log(abs(a)), lambda x: x != 0),
    "log(x ** 3)": (lambda x: T.log(x**3), lambda a: 3 * mp.log(a), lambda x: x > 0),
    "log(sqrt(x))": (lambda x: T.log(T.sqrt(x)), lambda a: mp.log(a) / 2, lambda x: x > 0),
    "log(exp(x))": (lambda x: T.log(T.exp(x)), lambda a: a, anywhere),
    "sqrt(x ** 2)": (lambda x: T.sqrt(x**2), abs, anywhere),
    "gradient of sqrt(x)": (
        grad(T.sqrt), lambda a: 1 / (2 * mp.sqrt(a)) if a else mp.inf, lambda x: (x >= 0) & ~np.signbit(x)
    ),
    "gradient of x ** 1": (grad(lambda x: x**1.0), lambda a: mp.mpf(1), anywhere),
    "gradient of x ** 2": (grad(lambda x: x**2), lambda a: 2 * a, anywhere),
    "gradient of x ** 1.5": (grad(lambda x: x**1.5), lambda a: mp.mpf(1.5) * mp.sqrt(a), lambda x: x >= 0),
    "log(cosh(x))": (lambda x: T.log(T.cosh(x)), log_cosh, anywhere),
    "gradient of log(cosh(x))": (grad(lambda x: T.log(T.cosh(x))), tanh, anywhere),
    "(exp(x) - exp(-x)) / (exp(x) + exp(-x))": (
        lambda x: (T.exp(x) - T.exp(-x)) / (T.exp(x) + T.exp(-x)), tanh, anywhere
    ),
    "(exp(2 * x) - 1) / (exp(2 * x) + 1)": (lambda x: (T.exp(2 * x) - 1) / (T.exp(2 * x) + 1), tanh, anywhere),
    "log(1 - exp(-x))": (lambda x: T.log(1 - T.exp(-x)), lambda a: log_1_minus_exp(-a), normal),
    "log1p(-exp(-x))": (lambda x: T.log1p(-T.exp(-x)), lambda a: log_1_minus_exp(-a), normal),
    "log(exp(x) - 1)": (lambda x: T.log(T.exp(x) - 1), lambda a: a + log_1_minus_exp(-a), normal),
    "gradient of log(exp(x) - 1)": (grad(lambda x: T.log(T.exp(x) - 1)), lambda a: -1 / mp.expm1(-a), normal),
    "log(erfc(x) / 2)": (lambda x: T.log(0.5 * T.erfc(x)), log_half_erfc, moderate),
    "log((1 + erf(x)) / 2)": (lambda x: T.log((1 + T.erf(x)) / 2), lambda a: log_half_erfc(-a), moderate),
    "log(1 - erfc(x) / 2)": (lambda x: T.log(1 - 0.5 * T.erfc(x)), lambda a: log_half_erfc(-a), moderate),
    "gradient of log((1 + erf(x)) / 2)": (
        grad(lambda x: T.log((1 + T.erf(x)) / 2)), lambda a: 2 / mp.sqrt(mp.pi) / erfcx(-a) if a < 60 else mp.mpf(0), anywhere,
    ),
    "gradient of log(1 - erfc(x) / 2)": (
        grad(lambda x: T.log(1 - T.erfc(x) / 2)), lambda a: 2 / mp.sqrt(mp.pi) / erfcx(-a) if a < 60 else mp.mpf(0), anywhere,
    ),
    "gradient of erf(x)": (grad(T.erf), bell, anywhere),
    "gradient of 1 - erfc(x)": (grad(lambda x: 1 - T.erfc(x)), bell, anywhere),
    "gradient of log(x ** 2)": (grad(lambda x: T.log(x**2)), lambda a: 2 / a, lambda x: x != 0),
    "gradient of log(x ** 3)": (grad(lambda x: T.log(x**3)), lambda a: 3 / a, lambda x: x > 0),
    "log(1 - tanh(x) ** 2)": (lambda x: T.log(1 - T.tanh(x) ** 2), lambda a: -2 * log_cosh(a), anywhere),
    "gradient of log(1 - tanh(x) ** 2)": (grad(lambda x: T.log(1 - T.tanh(x) ** 2)), lambda a: -2 * tanh(a), anywhere),
    "log(gamma(x))": (lambda x: T.log(T.gamma(x)), lambda a: mp.loggamma(a).real, lambda x: x > 0),
    "crossentropy of a sigmoid and 1": (
        lambda x: sigmoid_binary_crossentropy(x, T.ones_like(x)), lambda a: log_1p_exp(-a), anywhere,
    ),
    "its gradient": (
        grad(lambda x: sigmoid_binary_crossentropy(x, T.ones_like(x))), lambda a: -logistic(-a), anywhere,
    ),
    "log(exp(-x ** 2) / 4)": (lambda x: T.log(T.exp(-(x**2)) / 4), lambda a: -a * a - mp.log(4), moderate),
}  # fmt: skip


def second(build):
    return grad(grad(build))


def slope(a):
    return logistic(a) * logistic(-a)


def log_1_minus_tanh(a):
    return mp.log(2) - log_1p_exp(2 * a) if a > 1 else mp.log1p(-tanh(a))


def log_sinh(a):
    return mp.log(mp.sinh(a)) if a < 1 else a + log_1_minus_exp(-2 * a) - mp.log(2)


def log_odds(a):
    return 2 * mp.atanh(2 * a - 1) if abs(a - 0.5) < 0.25 else mp.log(a) - mp.log1p(-a)


def above_the_root(x):
    # Where the result is more than its terms.
    return (x > 0) & (abs(x - 0.8814) > 0.3)


def unit(x):
    return (x > 0) & (x < 1)


# Each with a variable of its own: where the sigmoid or the hyperbolic tangent is needed besides, the difference is cheaper.
ALONE = {
    "gradient of sigmoid(x)": (grad(sigmoid), slope, anywhere),
    "second gradient of sigmoid(x)": (second(sigmoid), lambda a: -slope(a) * tanh(a / 2), anywhere),
    "sigmoid(x) * (1 - sigmoid(x))": (lambda x: sigmoid(x) * (1 - sigmoid(x)), slope, anywhere),
    "sigmoid(x) - sigmoid(x) ** 2": (lambda x: sigmoid(x) - sigmoid(x) ** 2, slope, anywhere),
    "exp(x) / (1 + exp(x)) ** 2": (lambda x: T.exp(x) / (1 + T.exp(x)) ** 2, slope, anywhere),
    "gradient of exp(x) / (1 + exp(x))": (grad(lambda x: T.exp(x) / (1 + T.exp(x))), slope, anywhere),
    "gradient of 1 / (1 + exp(-x))": (grad(lambda x: 1 / (1 + T.exp(-x))), slope, anywhere),
    "second gradient of 1 / (1 + exp(-x))": (
        second(lambda x: 1 / (1 + T.exp(-x))), lambda a: -slope(a) * tanh(a / 2), anywhere,
    ),
    "second gradient of softplus(x)": (second(softplus), slope, anywhere),
    "second gradient of log(1 + exp(x))": (second(lambda x: T.log(1 + T.exp(x))), slope, anywhere),
    "second gradient of log(sigmoid(x))": (second(lambda x: T.log(sigmoid(x))), lambda a: -slope(a), anywhere),
    "second gradient of log(1 - sigmoid(x))": (second(lambda x: T.log(1 - sigmoid(x))), lambda a: -slope(a), anywhere),
    "gradient of log1p(-sigmoid(x))": (grad(lambda x: T.log1p(-sigmoid(x))), lambda a: -logistic(a), anywhere),
    "gradient of log(1 - exp(x) / (1 + exp(x)))": (
        grad(lambda x: T.log(1 - T.exp(x) / (1 + T.exp(x)))), lambda a: -logistic(a), anywhere,
    ),
    "(1 + tanh(x / 2)) / 2": (lambda x: (1 + T.tanh(x / 2)) / 2, logistic, anywhere),
    "log((1 + tanh(x / 2)) / 2)": (lambda x: T.log((1 + T.tanh(x / 2)) / 2), lambda a: -log_1p_exp(-a), anywhere),
    "2 * sigmoid(2 * x) - 1": (lambda x: 2 * sigmoid(2 * x) - 1, tanh, anywhere),
    "sigmoid(x) - sigmoid(-x)": (lambda x: sigmoid(2 * x) - sigmoid(-2 * x), tanh, anywhere),
    "log(1 + exp(x)) - x": (lambda x: T.log(1 + T.exp(x)) - x, lambda a: log_1p_exp(-a), anywhere),
    "gradient of softplus(x) - x": (grad(lambda x: softplus(x) - x), lambda a: -logistic(-a), anywhere),
    "x + log(1 + exp(-x))": (lambda x: x + T.log(1 + T.exp(-x)), log_1p_exp, anywhere),
    "log(sigmoid(x) / (1 - sigmoid(x)))": (lambda x: T.log(sigmoid(x) / (1 - sigmoid(x))), lambda a: a, anywhere),
    "exp(-log(1 + exp(-x)))": (lambda x: T.exp(-T.log(1 + T.exp(-x))), logistic, anywhere),
    "gradient of tanh(x)": (grad(T.tanh), sech2, anywhere),
    "1 - tanh(x) ** 2": (lambda x: 1 - T.tanh(x) ** 2, sech2, anywhere),
    "1 - tanh(x)": (lambda x: 1 - T.tanh(x), lambda a: 2 * logistic(-2 * a), anywhere),
    "1 + tanh(x)": (lambda x: T.tanh(x) + 1, lambda a: 2 * logistic(2 * a), anywhere),
    "log(1 - tanh(x))": (lambda x: T.log(1 - T.tanh(x)), log_1_minus_tanh, anywhere),
    "gradient of log(1 - tanh(x))": (grad(lambda x: T.log(1 - T.tanh(x))), lambda a: -2 * logistic(2 * a), anywhere),
    "log(1 + tanh(x))": (lambda x: T.log(1 + T.tanh(x)), lambda a: log_1_minus_tanh(-a), anywhere),
    "gradient of log(1 + tanh(x))": (grad(lambda x: T.log(1 + T.tanh(x))), lambda a: 2 * logistic(-2 * a), anywhere),
    "log((exp(x) + exp(-x)) / 2)": (lambda x: T.log((T.exp(x) + T.exp(-x)) / 2), log_cosh, anywhere),
    "gradient of log(exp(x) + exp(-x))": (grad(lambda x: T.log(T.exp(x) + T.exp(-x))), tanh, anywhere),
    "log(sinh(x))": (lambda x: T.log(T.sinh(x)), log_sinh, above_the_root),
    "log(1 - exp(-x)), subnormal too": (lambda x: T.log(1 - T.exp(-x)), lambda a: log_1_minus_exp(-a), lambda x: x > 0),
    "log(exp(x) - 1), subnormal too": (
        lambda x: T.log(T.exp(x) - 1), lambda a: mp.log(mp.expm1(a)) if a < 5 else a + log_1_minus_exp(-a), lambda x: x > 0,
    ),
    "log(x / (1 - x))": (lambda x: T.log(x / (1 - x)), log_odds, unit),
    "log(x) - log(1 - x)": (lambda x: T.log(x) - T.log(1 - x), log_odds, unit),
    "log(1 / x - 1)": (lambda x: T.log(1 / x - 1), lambda a: -log_odds(a), unit),
    "log((1 + x) / (1 - x)) / 2": (lambda x: 0.5 * T.log((1 + x) / (1 - x)), mp.atanh, lambda x: abs(x) < 1),
    "(log(1 + x) - log(1 - x)) / 2": (lambda x: (T.log(1 + x) - T.log(1 - x)) / 2, mp.atanh, lambda x: abs(x) < 1),
    "log(x + sqrt(x ** 2 + 1))": (lambda x: T.log(x + T.sqrt(x**2 + 1)), mp.asinh, anywhere),
    "log(x + sqrt(x ** 2 - 1))": (lambda x: T.log(x + T.sqrt(x**2 - 1)), mp.acosh, lambda x: x > 1),
    "1 - cos(x)": (lambda x: 1 - T.cos(x), lambda a: 2 * mp.sin(a / 2) ** 2, lambda x: abs(x) < 1e3),
}  # fmt: skip


@pytest.fixture(scope="module")
def alone():
    """The results of each expression of a variable of its own, from one compiled function a dtype and mode."""
    results = {}
    for dtype in DTYPES:
        xs = [T.vector(dtype=dtype) for _ in ALONE]
        outputs = [build(x) for x, (build, _, _) in zip(xs, ALONE.values(), strict=True)]
        at = points(dtype)
        for mode, value in MODES.items():
            f = theano.function(xs, outputs, mode=value, on_unused_input="ignore")
            for name, out in zip(ALONE, f(*[at] * len(xs)), strict=True):
                results[name, dtype, mode] = at, out
    return results


MODES = {"native": None, "python": theano.Mode("vm", "fast_run")}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALONE)
def test_differences_of_which_nothing_else_is_needed(alone, name, dtype):
    _, exact, domain = ALONE[name]
    check_elements(*zip(*[alone[name, dtype, mode] for mode in MODES], strict=True), exact, domain, dtype)


@pytest.fixture(scope="module")
def elements():
    """The results of all expressions of one element, from one compiled function a dtype."""
    results = {}
    for dtype in DTYPES:
        x = T.vector(dtype=dtype)
        f = theano.function([x], [build(x) for build, _, _ in ELEMENTS.values()])
        at = points(dtype)
        for name, out in zip(ELEMENTS, f(at), strict=True):
            results[name, dtype] = at, out
    return results


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(elements, name, dtype):
    _, exact, domain = ELEMENTS[name]
    x, y = elements[name, dtype]
    check_elements([x], [y], exact, domain, dtype)


def check_elements(xs, ys, exact, domain, dtype):
    """`ys` are results of several modes at the same points."""
    assert {y.dtype for y in ys} == {np.dtype(dtype)}
    kept = domain(xs[0])
    assert kept.sum() > 40
    for a, *values in zip(xs[0][kept], *[y[kept] for y in ys], strict=True):
        wanted = exact(mp.mpf(float(a)))
        for value in values:
            assert ulps(value, wanted, dtype) < LIMIT, (a, value, wanted)


def rows(dtype):
    rng = np.random.default_rng(3)
    sizes, shifts = (1e-6, 1e-3, 1, 10, 40, 150, 700, 1e4, 1e30), (0, -5, 1000)
    return np.concatenate([rng.standard_normal((2, 5)) * size + shift for size in sizes for shift in shifts]).astype(dtype)


def exact_row(row, label):
    """All results for a row, without cancellation."""
    x = [mp.mpf(float(v)) for v in row]
    top = max(x)
    e = [mp.exp(v - top) for v in x]
    total = mp.fsum(e)
    rest = mp.fsum(v for j, v in enumerate(e) if j != x.index(top))
    logs = [(v - top) - mp.log1p(rest) for v in x]
    others = mp.fsum(v for j, v in enumerate(e) if j != label)
    complements = [mp.fsum(e[:j] + e[j + 1 :]) / total for j in range(len(e))]
    return {
        "logsumexp": [top + mp.log1p(rest)],
        "logmeanexp": [top + mp.log1p(rest) - mp.log(len(x))],
        "softmax": [v / total for v in e],
        "logsoftmax": logs,
        "loss": [-logs[label]],
        "complement": complements,
        "log complement": [mp.log(q) if q < 0.5 else mp.log1p(-v / total) for v, q in zip(e, complements, strict=True)],
        "gradient": [-others / total if j == label else v / total for j, v in enumerate(e)],
    }


def one_hot(x, y):
    return T.eq(T.arange(x.shape[1]), y.dimshuffle(0, "x")).astype(x.dtype)


def by_index(logs, y):
    return -logs[T.arange(y.shape[0]), y]


def shifted_softmax(x):
    e = T.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def logsumexp(x, axis):
    top = x.max(axis=axis, keepdims=True)
    return top + T.log(T.exp(x - top).sum(axis=axis, keepdims=True))


ROWS = {
    "log(sum(exp(x)))": (lambda x, y: T.log(T.sum(T.exp(x), axis=1)), "logsumexp"),
    "gradient of log(sum(exp(x)))": (lambda x, y: T.grad(T.log(T.sum(T.exp(x), axis=1)).sum(), x), "softmax"),
    "softmax(x)": (lambda x, y: softmax(x), "softmax"),
    "exp(x) / sum(exp(x))": (lambda x, y: softmax_graph(x), "softmax"),
    "logsoftmax(x)": (lambda x, y: logsoftmax(x), "logsoftmax"),
    "log(softmax(x))": (lambda x, y: T.log(softmax(x)), "logsoftmax"),
    "x - log(sum(exp(x)))": (lambda x, y: x - T.log(T.sum(T.exp(x), axis=1, keepdims=True)), "logsoftmax"),
    "x - max - log(sum(exp(x - max)))": (lambda x, y: logsoftmax_graph(x), "logsoftmax"),
    "crossentropy": (lambda x, y: categorical_crossentropy(softmax(x), y), "loss"),
    "crossentropy of log(softmax(x))[arange, y]": (lambda x, y: by_index(T.log(softmax(x)), y), "loss"),
    "crossentropy of logsoftmax(x)[arange, y]": (lambda x, y: by_index(logsoftmax(x), y), "loss"),
    "log(mean(exp(x)))": (lambda x, y: T.log(T.mean(T.exp(x), axis=1)), "logmeanexp"),
    "log(softmax by hand)": (lambda x, y: T.log(T.exp(x) / T.sum(T.exp(x), axis=1, keepdims=True)), "logsoftmax"),
    "exp(logsoftmax(x))": (lambda x, y: T.exp(logsoftmax(x)), "softmax"),
    "gradient of the crossentropy by hand": (
        lambda x, y: T.grad(by_index(T.log(T.exp(x) / T.sum(T.exp(x), axis=1, keepdims=True)), y).sum(), x), "gradient",
    ),
    "gradient of the crossentropy": (
        lambda x, y: T.grad(categorical_crossentropy(softmax(x), y).sum(), x), "gradient",
    ),
    "gradient of log(softmax(x))[arange, y]": (
        lambda x, y: T.grad(by_index(T.log(softmax(x)), y).sum(), x), "gradient",
    ),
    "crossentropy with targets": (lambda x, y: categorical_crossentropy(softmax(x), one_hot(x, y)), "loss"),
    "gradient of the mean crossentropy with targets": (
        lambda x, y: T.grad(categorical_crossentropy(softmax(x), one_hot(x, y)).mean() * x.shape[0], x), "gradient",
    ),
    "gradient of the crossentropy with targets": (
        lambda x, y: T.grad(categorical_crossentropy(softmax(x), one_hot(x, y)).sum(), x), "gradient",
    ),
    "gradient of logsoftmax(x)[arange, y]": (lambda x, y: T.grad(by_index(logsoftmax(x), y).sum(), x), "gradient"),
    "gradient of logsoftmax(x) with targets": (lambda x, y: T.grad(-(one_hot(x, y) * logsoftmax(x)).sum(), x), "gradient"),
    "gradient of softmax(x)[arange, y] by hand": (
        lambda x, y: T.grad(-T.log(softmax_graph(x)[T.arange(y.shape[0]), y]).sum(), x), "gradient",
    ),
    "gradient of the crossentropy with targets by hand": (
        lambda x, y: T.grad(-(one_hot(x, y) * T.log(shifted_softmax(x))).sum(), x), "gradient",
    ),
    "gradient of x - max - log(sum(exp(x - max))) with targets": (
        lambda x, y: T.grad(-(one_hot(x, y) * logsoftmax_graph(x)).sum(), x), "gradient",
    ),
    "x - (max + log(sum(exp(x - max))))": (lambda x, y: x - logsumexp(x, 1), "logsoftmax"),
    "1 - softmax(x)": (lambda x, y: 1 - softmax(x), "complement"),
    "log(1 - softmax(x))": (lambda x, y: T.log(1 - softmax(x)), "log complement"),
    "log1p(-softmax(x))": (lambda x, y: T.log1p(-softmax(x)), "log complement"),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, dtype, mode):
    build, what = ROWS[name]
    x, y = T.matrix(dtype=dtype), T.ivector()
    values = rows(dtype)
    labels = (np.arange(len(values)) % values.shape[1]).astype("int32")
    out = theano.function([x, y], build(x, y), on_unused_input="ignore", mode=MODES[mode])(values, labels)
    assert out.dtype == dtype
    for row, label, got in zip(values, labels, out, strict=True):
        # A sum of logarithms is as precise as the largest of its terms.
        scale = {"logsumexp": mp.mpf(float(abs(row).max())), "logmeanexp": max(2, mp.mpf(float(abs(row).max())))}.get(what, 0)
        for value, wanted in zip(np.atleast_1d(got), exact_row(row, label)[what], strict=True):
            assert ulps(value, wanted, dtype, scale) < LIMIT, (row, label, value, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithm_of_a_sum_of_two_to_five_exponentials(dtype):
    values = rows(dtype)
    for n in (2, 3, 5):
        xs = [T.vector(dtype=dtype) for _ in range(n)]
        out = theano.function(xs, T.log(T.add(*[T.exp(x) for x in xs])))(*values.T[:n])
        for row, value in zip(values[:, :n], out, strict=True):
            scale = mp.mpf(float(abs(row).max()))
            assert ulps(value, exact_row(row, 0)["logsumexp"][0], dtype, scale) < LIMIT, (row, value)


WEIGHTED = {
    "softmax": (softmax, False),
    "softmax by hand": (softmax_graph, False),
    "softmax by hand from the maximum": (shifted_softmax, False),
    "exp(logsoftmax(x))": (lambda x: T.exp(logsoftmax(x)), False),
    "logsoftmax": (logsoftmax, True),
    "log(softmax(x))": (lambda x: T.log(softmax(x)), True),
    "log(softmax by hand)": (lambda x: T.log(softmax_graph(x)), True),
    "logsoftmax by hand": (logsoftmax_graph, True),
    "x - logsumexp(x)": (lambda x: x - logsumexp(x, 1), True),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WEIGHTED)
def test_gradients_of_weighted_softmaxes(name, dtype, mode):
    build, of_logarithm = WEIGHTED[name]
    x, w = T.matrix(dtype=dtype), T.matrix(dtype=dtype)
    values = rows(dtype)
    weights = np.random.default_rng(4).standard_normal(values.shape).astype(dtype)
    out = theano.function([x, w], T.grad((w * build(x)).sum(), x), mode=MODES[mode])(values, weights)
    assert out.dtype == dtype
    for row, weight, got in zip(values, weights, out, strict=True):
        for value, (wanted, scale) in zip(got, exact_weighted(row, weight, of_logarithm), strict=True):
            assert ulps(value, wanted, dtype, scale) < LIMIT, (row, weight, value, wanted)


def exact_weighted(row, weight, of_logarithm):
    """The gradient of ``sum(weight * softmax(row))``, or of its logarithm, and the size of the terms that it is a sum of."""
    e = [mp.exp(mp.mpf(float(v)) - mp.mpf(float(max(row)))) for v in row]
    w, total = [mp.mpf(float(v)) for v in weight], mp.fsum(e)
    p = [v / total for v in e]
    for j in range(len(p)):
        others = [i for i in range(len(p)) if i != j]
        if of_logarithm:
            lacking = mp.fsum(p[i] for i in others)
            terms = [w[j] * lacking, *(-p[j] * w[i] for i in others)]
        else:
            terms = [sign * p[j] * p[i] * w[k] for i in others for sign, k in ((1, j), (-1, i))]
        yield mp.fsum(terms), mp.fsum(map(abs, terms))


@pytest.mark.parametrize("axis", [0, 2])
def test_gradients_of_softmaxes_over_other_axes_are_exact(axis):
    x, w = T.dtensor3(), T.dtensor3()
    shifted = x - x.max(axis=axis, keepdims=True)
    e = T.exp(shifted)
    logs = shifted - T.log(e.sum(axis=axis, keepdims=True))
    gradients = [T.grad((w * v).sum(), x) for v in (logs, e / e.sum(axis=axis, keepdims=True))]
    f = theano.function([x, w], [logs, *gradients])
    rng = np.random.default_rng(0)
    value, weights = rng.standard_normal((2, 3, 4)) * 40, rng.standard_normal((2, 3, 4))
    found = [np.moveaxis(v, axis, 2).reshape(-1, value.shape[axis]) for v in (*f(value, weights), value, weights)]
    for logs, of_logs, of_softmax, row, weight in zip(*found, strict=True):
        exact = [((v, 0) for v in exact_row(row, 0)["logsoftmax"]), *(exact_weighted(row, weight, of) for of in (True, False))]
        for got, wanted in zip((logs, of_logs, of_softmax), exact, strict=True):
            for a, (b, scale) in zip(got, wanted, strict=True):
                assert ulps(a, b, "float64", scale) < LIMIT, (row, weight, a, b)


@pytest.mark.parametrize("build", [
    lambda x: T.hessian(T.log(T.exp(x).sum()), x),
    lambda x: T.jacobian(softmax(x.dimshuffle("x", 0))[0], x),
    lambda x: T.jacobian(T.exp(x) / T.exp(x).sum(), x),
])
def test_derivatives_of_probabilities_near_one(build):
    x = T.dvector()
    row = np.array([0.5, 41.25, 3.0])
    p = exact_row(row, 0)["softmax"]
    lacking = exact_row(row, 0)["complement"]
    found = theano.function([x], build(x))(row)
    for i in range(3):
        for j in range(3):
            wanted = p[i] * lacking[i] if i == j else -p[i] * p[j]
            assert ulps(found[i, j], wanted, "float64") < LIMIT, (i, j, found[i, j], wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_small_probabilities_beside_many_others(dtype, mode):
    values = np.random.default_rng(1).standard_normal((3, 300)).astype(dtype)
    values[1:, 7] += np.array([15, 30], dtype)
    x = T.matrix(dtype=dtype)
    by_row, by_column = theano.function([x], [softmax(x), softmax(x.T.copy().T)], mode=MODES[mode])(values)
    for row, *outs in zip(values, by_row, by_column, strict=True):
        exact = exact_row(row, 0)["softmax"]
        for got in outs:
            assert max(ulps(a, b, dtype) for a, b in zip(got, exact, strict=True)) < LIMIT


@pytest.mark.parametrize("mode", [*MODES.values(), theano.Mode("cvm", None), theano.Mode("vm", None)])
def test_gradients_of_certain_predictions_are_numbers_without_rewrites_too(mode):
    x, t = T.dmatrices("x", "t")
    logs = logsoftmax(x)
    f = theano.function([x, t], [T.grad(-(t * logs).sum(), x), T.grad((t * softmax(x)).sum(), x)], mode=mode)
    value, target = np.array([[1e4, 0, -1e4], [0, 0, -800.0]]), np.array([[0, 0, 1.0], [1, 0, 0]])
    of_logs, of_softmax = f(value, target)
    np.testing.assert_allclose(of_logs, [[1, 0, -1], [-0.5, 0.5, 0]], atol=1e-300)
    np.testing.assert_allclose(of_softmax, [[0, 0, 0], [0.25, -0.25, 0]], atol=1e-300)


@pytest.mark.parametrize("axis", [0, 2, (0, 2), None])
def test_softmax_over_any_axes_does_not_overflow(axis):
    x = T.dtensor3()
    f = theano.function([x], T.exp(x) / T.sum(T.exp(x), axis=axis, keepdims=True))
    value = np.random.default_rng(0).standard_normal((2, 3, 4)) * 1000
    e = np.exp(value - value.max(axis=axis, keepdims=True))
    np.testing.assert_allclose(f(value), e / e.sum(axis=axis, keepdims=True), rtol=1e-12)


def test_quotients_that_are_zero_by_zero_cancel():
    x, y = T.dvectors("x", "y")
    f = theano.function([x, y], x * y / x)
    np.testing.assert_array_equal(f([0.0, 2.0, np.inf], [3.0, 4.0, 5.0]), [3.0, 4.0, 5.0])


def test_infinities_and_nan_stay_what_they_are():
    x = T.dvector()
    f = theano.function([x], [T.log(1 + T.exp(x)), T.log(sigmoid(x)), T.log(T.erfc(x)), T.exp(x) - 1])
    at = np.array([-np.inf, np.inf, np.nan])
    for out, wanted in zip(f(at), ([0, np.inf], [-np.inf, 0], [np.log(2), -np.inf], [-1, np.inf]), strict=True):
        np.testing.assert_allclose(out[:2], wanted)
        assert np.isnan(out[2])


def test_rows_with_ties_and_infinities():
    x, y = T.dmatrix(), T.ivector()
    f = theano.function([x, y], [logsoftmax(x), categorical_crossentropy(softmax(x), y), T.log(T.sum(T.exp(x), axis=1))])
    value = np.array([[2.0, 2.0, -np.inf], [-3.0, -3.0, -3.0]])
    logs, loss, total = f(value, np.array([0, 2], dtype="int32"))
    np.testing.assert_allclose(logs, [[-np.log(2), -np.log(2), -np.inf], [-np.log(3)] * 3], rtol=1e-15)
    np.testing.assert_allclose(loss, [np.log(2), np.log(3)], rtol=1e-15)
    np.testing.assert_allclose(total, [2 + np.log(2), -3 + np.log(3)], rtol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_errors_of_python_functions_are_as_small(mode):
    # The wide range in which SciPy's lose digits.
    x = T.dvector()
    f = theano.function([x], [T.erfc(x), T.erfcx(x), T.grad(T.erf(x).sum(), x)], mode=MODES[mode])
    at = np.concatenate([-np.linspace(1.5, 26, 60), np.linspace(25.5, 27.2, 40)])
    for value, exact in zip(f(at), (erfc, erfcx, bell), strict=True):
        for a, got in zip(at, value, strict=True):
            assert ulps(got, exact(mp.mpf(float(a))), "float64") < LIMIT, (a, got)


def test_gradient_of_the_mean_crossentropy_where_probabilities_vanish():
    x, t = T.dmatrices("x", "t")
    f = theano.function([x, t], T.grad(categorical_crossentropy(softmax(x), t).mean(), x))
    value = np.array([[1000.0, 0.0, -1000.0], [60.0, 0.0, -1000.0]])
    gradient = f(value, np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    small = np.exp(-60.0) / 2
    np.testing.assert_allclose(gradient, [[0.5, -0.5, 0], [-small, small, 0]], rtol=1e-13)


def test_a_difference_needed_for_a_loss_too_is_exact():
    x = T.dvector()
    p = sigmoid(x)
    loss = T.grad(T.log(1 - p).sum(), x)
    product, gradient = theano.function([x], [p * (1 - p), loss])(np.array([40.0, 800.0, -800.0]))
    np.testing.assert_allclose(gradient, [-1, -1, 0], rtol=1e-15)
    assert np.isfinite(product).all()

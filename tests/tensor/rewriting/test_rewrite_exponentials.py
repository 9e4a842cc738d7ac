"""Logarithms and quotients of exponentials do not overflow, in whatever form they are written; nor do their gradients."""

import numpy as np
import pytest
from rewrite_tools import check, names, rewrite

import theano
import theano.tensor as T
from theano.gof.opt import MergeOptimizer
from theano.tensor import nnet, opt
from theano.tensor.rewriting import stability_log, stability_quotient

x, y, z = T.dvectors("x", "y", "z")
m, k, w = T.dmatrices("m", "k", "w")
X = np.array([0.5, -1.25, 3.0])
Y = np.array([2.0, 4.0, -0.75])
M = np.linspace(-0.3, 2.1, 9).reshape(3, 3)
W = np.cos(np.arange(9.0)).reshape(3, 3) ** 2
FAST = theano.Mode("py", "fast_run")


def named(name):
    return [MergeOptimizer(), getattr(stability_log, name, None) or getattr(stability_quotient, name), opt.constant_folding]


def normalized(e):
    return e / e.sum(axis=1, keepdims=True)


FIRES = [
    ("local_log_of_product", [x], lambda: T.log(2 * T.exp(x)), [X]),
    ("local_log_of_product", [x, y], lambda: T.log(T.exp(x) * T.sqr(y)), [X, Y]),
    ("local_log_of_product", [x, y], lambda: T.log(T.exp(x) / T.sqr(y)), [X, Y]),
    ("local_log_of_product", [m, k], lambda: T.log(nnet.softmax(m) / nnet.softmax(k)), [M, W]),
    ("local_log_of_product", [x], lambda: T.log(0.5 * T.erfc(x)), [X]),
    ("local_log_of_product", [m], lambda: T.log(T.exp(m).sum(axis=1) / 3.0), [M]),
    ("local_log_1_minus_half_erfc", [x], lambda: T.log1p(-0.5 * T.erfc(x)), [X]),
    ("local_log_sum_weighted_exp", [m, w], lambda: T.log(T.sum(w * T.exp(m), axis=1)), [M, W]),
    ("local_log_sum_weighted_exp", [m, w], lambda: T.log(T.sum(T.exp(m) / w, axis=0)), [M, W + 1]),
    ("local_log_sum_weighted_exp", [x, y], lambda: T.log(0.3 * T.exp(x) + 0.7 * T.exp(y)), [X, Y]),
    ("local_log_cosh", [x], lambda: T.log(T.cosh(x)), [X * 2]),
    ("local_log_expm1", [x], lambda: T.log(T.expm1(x)), [abs(X)]),
    ("local_log_1_minus_exp", [x], lambda: T.log(-T.expm1(x)), [-abs(X)]),
    ("local_log_1_minus_exp", [x], lambda: T.log1p(-T.exp(x)), [-abs(X)]),
    ("local_exp_of_logsoftmax", [m], lambda: T.exp(nnet.logsoftmax(m)), [M]),
    ("local_quotient_of_exponentials", [x], lambda: T.sinh(x) / T.cosh(x), [X]),
    ("local_quotient_of_exponentials", [x, y], lambda: y * (T.exp(x) - T.exp(-x)) / (T.exp(x) + T.exp(-x)), [X, Y]),
    ("local_quotient_of_exponentials", [x], lambda: (T.exp(-x) - T.exp(x)) / (T.exp(x) + T.exp(-x)), [X]),
    ("local_quotient_of_exponentials", [x], lambda: T.expm1(x) / (1 + T.exp(x)), [X]),
    ("local_quotient_of_exponentials", [x], lambda: T.exp(x) / T.expm1(x), [X]),
    ("local_quotient_of_exponentials", [x, y], lambda: T.exp(x) / (T.exp(x) + T.exp(y)), [X, Y]),
    ("local_quotient_of_exponentials", [x, y, z], lambda: y * T.exp(x) / T.add(T.exp(x), T.exp(y), T.exp(z)), [X, Y, X + 1]),
    ("local_quotient_of_exponentials", [m, k], lambda: k * T.exp(m) / T.exp(m).sum(axis=1, keepdims=True), [M, W]),
    ("local_quotient_of_exponentials", [m, w], lambda: normalized(w * T.exp(m)), [M, W]),
    ("local_quotient_of_exponentials", [m, w], lambda: T.exp(m) / T.sum(w * T.exp(m), axis=(0, 1), keepdims=True), [M, W]),
    ("local_product_with_quotient", [x, y], lambda: T.exp(x) * T.inv(T.exp(x) + T.exp(y)), [X, Y]),
    ("local_product_with_quotient", [x, y], lambda: T.sinh(x) * (y / T.cosh(x)), [X, Y]),
]


@pytest.mark.parametrize(("name", "inputs", "build", "values"), FIRES)
def test_fires_and_keeps_the_value(name, inputs, build, values):
    before = names(rewrite(named("local_exp_of_logsoftmax"), inputs, build()))
    expected = names(rewrite(named(name), inputs, build()))
    if name != "local_exp_of_logsoftmax":
        assert expected != before
    else:
        assert expected == ["Softmax"]
    check(named(name), inputs, build(), values, expected, rtol=1e-7)


@pytest.mark.parametrize(("name", "inputs", "build"), [
    ("local_log_of_product", [x, y], lambda: T.log(x * y)),
    ("local_log_of_product", [x], lambda: T.log(-2 * T.exp(x))),
    ("local_log_of_product", [m, k, w], lambda: T.log(T.sum(w * T.exp(m), axis=1, keepdims=True) * k)),
    ("local_log_1_minus_half_erfc", [x], lambda: T.log1p(-0.25 * T.erfc(x))),
    ("local_log_sum_weighted_exp", [m, w], lambda: T.log(T.sum(w + T.exp(m), axis=1))),
    ("local_log_sum_weighted_exp", [m, w], lambda: T.log(T.sum(w * T.exp(m - m.max(axis=1, keepdims=True)), axis=1))),
    ("local_log_sum_weighted_exp", [x, y], lambda: T.log(0.3 * T.exp(x) + y)),
    ("local_log_cosh", [x], lambda: T.log(T.sinh(x))),
    ("local_log_expm1", [x], lambda: T.log(T.exp(x))),
    ("local_log_1_minus_exp", [x], lambda: T.log1p(T.exp(x))),
    ("local_log_1_minus_exp", [x], lambda: T.log1p(-2 * T.exp(x))),
    ("local_exp_of_logsoftmax", [m], lambda: T.exp(nnet.logsoftmax(m)) + nnet.logsoftmax(m)),
    ("local_quotient_of_exponentials", [x, y], lambda: T.sinh(x) / T.cosh(y)),
    ("local_quotient_of_exponentials", [x, y, z], lambda: T.exp(x) / (T.exp(y) + T.exp(z))),
    ("local_quotient_of_exponentials", [m], lambda: T.exp(m) / T.exp(m).sum(axis=0)),
    ("local_quotient_of_exponentials", [m, k], lambda: T.exp(k) / T.exp(m).sum(axis=0, keepdims=True)),
    ("local_product_with_quotient", [x, y], lambda: T.exp(y) * T.inv(1 + T.exp(x))),
])  # fmt: skip
def test_leaves_near_misses_alone(name, inputs, build):
    output = build()
    before = names(rewrite([MergeOptimizer(), opt.constant_folding], inputs, output))
    assert names(rewrite(named(name), inputs, output)) == before


def test_loss_of_a_mixture_and_its_gradients():
    mu, logs, t = T.dmatrix("mu"), T.dmatrix("logs"), T.dvector("t")
    sigma = T.exp(logs)
    density = nnet.softmax(m) * T.exp(-T.sqr(t.dimshuffle(0, "x") - mu) / (2 * T.sqr(sigma))) / (sigma * np.sqrt(2 * np.pi))
    loss = -T.log(T.sum(density, axis=1)).sum()
    f = theano.function([m, mu, logs, t], [loss, *T.grad(loss, [m, mu, logs])], mode=FAST)
    rng = np.random.default_rng(0)
    a, b, c, d = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)) * 60, rng.normal(size=(4, 3)) / 9, rng.normal(size=4) * 60
    weights = a - np.logaddexp.reduce(a, axis=1, keepdims=True)
    distance = (d[:, None] - b) / np.exp(c)
    terms = weights - distance**2 / 2 - c - np.log(2 * np.pi) / 2
    total = np.logaddexp.reduce(terms, axis=1, keepdims=True)
    parts = np.exp(terms - total)
    expected = [-total.sum(), np.exp(weights) - parts, -parts * distance / np.exp(c), -parts * (distance**2 - 1)]
    for got, wanted in zip(f(a, b, c, d), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-14)


def test_exponentials_that_are_masked_do_not_count():
    f = theano.function([m, w], [normalized(T.exp(m) * w), T.log(T.sum(T.exp(m) * w, axis=1))], mode=FAST)
    value = np.array([[1000.0, 2.0, 1.0], [-2000.0, -2000.0, 0.0], [5.0, 900.0, 900.0]])
    mask = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    share, total = f(value, mask)
    s = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(share, [[0, s, 1 - s], [0.5, 0.5, 0], [0, 0.5, 0.5]], rtol=1e-12)
    np.testing.assert_allclose(total, [2 + np.log1p(np.exp(-1)), -2000 + np.log(2), 900 + np.log(2)], rtol=1e-12)


def test_nothing_counts():
    f = theano.function([m, w], T.log(T.sum(T.exp(m) * w, axis=1)), mode=FAST)
    assert f(np.full((1, 2), 3.0), np.zeros((1, 2))) == -np.inf


def test_small_integers_among_the_factors_do_not_wrap_around():
    i, j = T.bvector("i"), T.bvector("j")
    outputs = [T.log(T.exp(x) * i * j), T.log(T.sum(T.exp(x) * i * j)), T.log(T.exp(x) / (i * T.exp(-x)))]
    a, b = np.array([100, 3, 7], "int8"), np.array([100, 3, 9], "int8")
    product, total, ratio = theano.function([x, i, j], outputs, mode=FAST)(X, a, b)
    weights = a.astype(float) * b
    np.testing.assert_allclose(product, X + np.log(weights), rtol=1e-14)
    np.testing.assert_allclose(total, np.log(np.sum(weights * np.exp(X))), rtol=1e-14)
    np.testing.assert_allclose(ratio, 2 * X - np.log(a.astype(float)), rtol=1e-14)


def test_factors_of_lower_precision_are_not_multiplied_in_it():
    a, b = T.fvectors("a", "b")
    values = np.array([1.2345678, 3.1e30, 2.5e-30], "float32")
    got = theano.function([a, b, x], T.log(T.exp(x) * a * b), mode=FAST)(values, values, X)
    np.testing.assert_allclose(got, X + 2 * np.log(values.astype(float)), rtol=1e-14)


def test_negatives_of_unsigned_integers_are_no_factors():
    u = T.vector(dtype="uint8")
    with theano.config.change_flags(on_opt_error="raise"):
        f = theano.function([u, x], [T.log(-u), -u * T.exp(x) / (T.exp(x) + T.exp(x + 0 * u))], mode=FAST)
    log, quotient = f(np.array([1, 255, 6], "uint8"), X)
    wrapped = np.array([255.0, 1.0, 250.0])
    np.testing.assert_allclose(log, np.log(wrapped), rtol=1e-6)
    np.testing.assert_allclose(quotient, wrapped / 2, rtol=1e-14)


def test_share_of_exponentials_several_of_which_are_zero():
    share = T.exp(x) / T.add(T.exp(x), T.exp(y), T.exp(z))
    a = np.array([-np.inf, -np.inf, 1000.0, -800.0, 0.5])
    b = np.array([-np.inf, 2.0, 1001.0, -801.0, 1.5])
    c = np.array([0.0, -np.inf, -np.inf, -802.0, 2.5])
    got, gradient = theano.function([x, y, z], [share, T.grad(share[2:].sum(), x)], mode=FAST)(a, b, c)
    expected = np.exp(a - np.logaddexp(np.logaddexp(a, b), c))
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, [0, 0, *(expected * (1 - expected))[2:]], rtol=1e-13)


@pytest.mark.parametrize("largest", [10.0, 1000.0])
def test_gradient_of_a_crossentropy_written_by_hand(largest):
    labels = T.ivector()
    p = normalized(T.exp(m))
    loss = -T.log(p)[T.arange(labels.shape[0]), labels].mean()
    f = theano.function([m, labels], [loss, T.grad(loss, m)], mode=FAST)
    value = np.array([[largest, 0.0, 3.0], [1.0, largest, largest]])
    loss, gradient = f(value, np.array([2, 1], "int32"))
    logs = value - np.logaddexp.reduce(value, axis=1, keepdims=True)
    np.testing.assert_allclose(loss, -(logs[0, 2] + logs[1, 1]) / 2, rtol=1e-12)
    np.testing.assert_allclose(gradient, (np.exp(logs) - [[0, 0, 1], [0, 1, 0]]) / 2, rtol=1e-9, atol=1e-14)

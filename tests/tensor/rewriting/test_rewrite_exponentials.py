"""Logarithms and quotients of exponentials do not overflow, in whatever form they are written; nor do their gradients."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor import nnet

x, y, z = T.dvectors("x", "y", "z")
m, w = T.dmatrices("m", "w")
X = np.array([0.5, -1.25, 3.0])
FAST = theano.Mode("py", "fast_run")


def normalized(e):
    return e / e.sum(axis=1, keepdims=True)


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
    # A shift changes nothing: what would go through the maximum is not there.
    assert not any(getattr(node.op, "scalar_op", None) == T.eq.scalar_op for node in f.maker.fgraph.apply_nodes)
    value = np.array([[largest, 0.0, 3.0], [1.0, largest, largest]])
    loss, gradient = f(value, np.array([2, 1], "int32"))
    logs = value - np.logaddexp.reduce(value, axis=1, keepdims=True)
    np.testing.assert_allclose(loss, -(logs[0, 2] + logs[1, 1]) / 2, rtol=1e-12)
    np.testing.assert_allclose(gradient, (np.exp(logs) - [[0, 0, 1], [0, 1, 0]]) / 2, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("chosen", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_terms_beside_the_gradient_of_a_softmax_cancel_in_pairs_only(chosen):
    g, c = T.dmatrices("gc")
    e = T.exp(m)
    s = e.sum(axis=1, keepdims=True)
    p = g * e / s
    q = -e * p.sum(axis=1, keepdims=True) / s
    a, b = p.sum(axis=1, keepdims=True), q.sum(axis=1, keepdims=True)
    # The sums of both are opposite: any two of these cancel, or are the same.
    terms = [c * a * b, c * b * b, c * a * a]
    f = theano.function([m, g, c], T.add(p, q, *[terms[k] for k in chosen]), mode=FAST)
    rng = np.random.RandomState(3)
    values = [rng.randn(3, 4) for _ in range(3)]
    ev = np.exp(values[0])
    pv = values[1] * ev / ev.sum(1, keepdims=True)
    total = pv.sum(1, keepdims=True)
    expected = pv - ev * total / ev.sum(1, keepdims=True)
    expected = expected + sum((-1, 1, 1)[k] for k in chosen) * values[2] * total * total
    np.testing.assert_allclose(f(*values), expected, rtol=1e-10, atol=1e-12)


OF_NOTHING = {
    "log(sum(exp(x)))": lambda axis: T.log(T.sum(T.exp(m), axis=axis)),
    "log(mean(exp(x)))": lambda axis: T.log(T.mean(T.exp(m), axis=axis)),
    "log(sum(w * exp(x)))": lambda axis: T.log(T.sum(w * T.exp(m), axis=axis, keepdims=True)),
    "softmax": lambda axis: T.exp(m) / T.sum(T.exp(m), axis=axis, keepdims=True),
    "softmax with a mask": lambda axis: w * T.exp(m) / T.sum(w * T.exp(m), axis=axis, keepdims=True),
}


@pytest.mark.parametrize("linker", ["cvm", "vm"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
@pytest.mark.parametrize("name", OF_NOTHING)
def test_sums_of_no_exponentials_are_what_they_are_without_rewrites(name, axis, linker):
    out = OF_NOTHING[name](axis)
    outputs = [out, T.grad(out.sum(), m)]
    f = theano.function([m, w], outputs, mode=theano.Mode(linker, "fast_run"), on_unused_input="ignore")
    plain = theano.function([m, w], outputs, mode=theano.Mode("py", None), on_unused_input="ignore")
    for shape in ((3, 0), (0, 3), (0, 0), (2, 3)):
        value = np.linspace(-1, 2, shape[0] * shape[1]).reshape(shape)
        with np.errstate(all="ignore"):
            for got, wanted in zip(f(value, value + 2), plain(value, value + 2), strict=True):
                assert got.shape == wanted.shape
                np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


def test_the_maximum_of_nothing_is_minus_infinity_only_where_rewrites_take_it():
    f = theano.function([m], [T.log(T.sum(T.exp(m), axis=1))])
    np.testing.assert_array_equal(f(np.zeros((2, 0)))[0], [-np.inf, -np.inf])
    with pytest.raises(ValueError, match="zero-size"):
        theano.function([m], T.max(m, axis=1))(np.zeros((2, 0)))

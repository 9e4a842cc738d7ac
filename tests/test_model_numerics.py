"""Losses and densities as users write them: finite and exact where the mathematics is, in values and gradients.

References are computed in long double or with mpmath from the same numbers, by formulas that do not overflow.
"""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.nnet import sigmoid, softmax

DTYPES = ("float32", "float64")
ROWS = [[0.1, 0.2, 0.3], [100, 0, -100], [1e4, 0, -1e4], [0, 0, 0], [50, 49, 0], [-1e3, -1e3, -1001]]
LABELS = [0, 2, 1, 1, 2, 0]
POINTS = [0, 1e-8, 0.3, -2.5, 30, -30, 100, -100, 750, -750]


@pytest.fixture(params=DTYPES)
def floats(request):
    with theano.config.change_flags(floatX=request.param):
        yield request.param


def computed(inputs, output, wrt, values, mode=None):
    """The values of `output` and of the gradient of its sum; neither is wider than floatX."""
    outputs = [output, *T.grad(output.sum(), wrt)]
    assert all(v.dtype == theano.config.floatX for v in outputs)
    values = [np.asarray(v, i.dtype) for i, v in zip(inputs, values, strict=True)]
    return theano.function(inputs, outputs, mode=mode)(*values)


def assert_near(value, exact, ulps=32, scale=0.0):
    eps = np.finfo(value.dtype).eps
    exact = np.asarray(exact)
    assert value.shape == exact.shape
    assert np.all(np.isfinite(value))
    # One subnormal number is what small results may be off.
    smallest = np.finfo(value.dtype).smallest_subnormal * np.longdouble(4)
    assert np.all(abs(value - exact) <= ulps * eps * np.maximum(abs(exact), scale) + smallest)


def logs(x):
    """The logarithms of the softmax of the rows, and the softmax."""
    x = np.asarray(x, np.longdouble)
    d = x - x.max(1, keepdims=True)
    others = np.exp(d)
    np.put_along_axis(others, x.argmax(1)[:, None], 0, axis=1)
    others = others.sum(1, keepdims=True)
    return d - np.log1p(others), np.exp(d) / (1 + others)


PARTS = {
    "p[0]": lambda p: p[0],
    "p[2, 1]": lambda p: p[2, 1],
    "p[:, 1]": lambda p: p[:, 1],
    "p.T": lambda p: p.T,
    "p[[0, 2, 2]]": lambda p: p[[0, 2, 2]],
    "p[:, [0, 0, 2]]": lambda p: p[:, [0, 0, 2]],
    "p[[1, 2], [2, 0]]": lambda p: p[[1, 2], [2, 0]],
    "p.flatten()": lambda p: p.flatten(),
    "p.reshape((2, 3, 3))[1]": lambda p: p.reshape((2, 3, 3))[1],
    "p.dimshuffle(1, 'x', 0)": lambda p: p.dimshuffle(1, "x", 0) if isinstance(p, T.TensorVariable) else p.T[:, None],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_log_of_a_part_of_a_softmax(part, floats):
    x = T.matrix("x")
    value, gradient = computed([x], T.log(part(softmax(x))), [x], [ROWS])
    log_p, p = logs(ROWS)
    assert_near(value, part(log_p))
    # How often each element is taken.
    (count,) = theano.function([x], [T.grad(part(x).sum(), x)])(np.asarray(ROWS, floats))
    assert_near(gradient, count - count.sum(1, keepdims=True) * p, scale=1)


def test_log_of_a_part_of_a_softmax_after_the_logarithm(floats):
    x, k = T.matrix("x"), T.iscalar("k")
    value, gradient = computed([x, k], T.log(softmax(x))[2][k], [x], [ROWS, 1])
    log_p, exact = logs(ROWS)
    assert_near(value, log_p[2, 1])
    wanted = np.zeros_like(exact)
    wanted[2] = [-exact[2, 0], 1 - exact[2, 1], -exact[2, 2]]
    assert_near(gradient, wanted, scale=1)


def test_softmax_of_one_vector(floats):
    x = T.vector("x")
    with pytest.warns(UserWarning, match="softmax"):
        p = softmax(x)
    value, gradient = computed([x], -T.log(p[0])[2], [x], [ROWS[2]])
    assert_near(value, 2e4)
    assert_near(gradient, [1, 0, -1])


def test_policy_gradient_with_entropy(floats):
    x, action, advantage = T.matrix("x"), T.ivector("action"), T.vector("advantage")
    p = softmax(x)
    entropy = -T.sum(p * T.log(p + 1e-8), axis=1)
    loss = -T.log(p[T.arange(action.shape[0]), action]) * advantage - 0.01 * entropy
    weights = np.array([1, -1, 2, 0.5, 0, 1])
    value, gradient = computed([x, action, advantage], loss, [x], [ROWS, LABELS, weights])
    log_p, q = logs(ROWS)
    rows = np.arange(6)
    eps = np.asarray(1e-8, floats).astype(np.longdouble)
    cost = np.asarray(0.01, floats).astype(np.longdouble)
    assert_near(value, -log_p[rows, LABELS] * weights + cost * (q * np.log(q + eps)).sum(1))
    dq = cost * (np.log(q + eps) + q / (q + eps))
    hot = np.eye(3)[LABELS]
    exact = weights[:, None] * (q - hot) + q * (dq - (dq * q).sum(1, keepdims=True))
    assert_near(gradient, exact, scale=1)


def test_sum_of_two_losses_of_one_softmax(floats):
    x, y, t = T.matrix("x"), T.ivector("y"), T.matrix("t")
    p = softmax(x)
    loss = T.mean(-T.log(p[T.arange(y.shape[0]), y])) - T.mean(T.sum(t * T.log(p), axis=1)) - T.log(p[2, 1])
    targets = np.eye(3)[LABELS[::-1]]
    value, gradient = computed([x, y, t], loss, [x], [ROWS, LABELS, targets])
    log_p, q = logs(ROWS)
    hot = np.eye(3)[LABELS]
    assert_near(value, -((hot + targets) * log_p).sum() / 6 - log_p[2, 1])
    exact = (2 * q - hot - targets) / 6
    exact[2] += q[2] - [0, 1, 0]
    assert_near(gradient, exact, scale=1)


BERNOULLI = {
    "y * log(p)": lambda y, p: y * T.log(p) + (1 - y) * T.log(1 - p),
    "switch(y, log(p), log(1 - p))": lambda y, p: T.switch(T.eq(y, 1), T.log(p), T.log(1 - p)),
    "log(switch(y, p, 1 - p))": lambda y, p: T.log(T.switch(T.eq(y, 1), p, 1 - p)),
    "binary_crossentropy": lambda y, p: -T.nnet.binary_crossentropy(p, y),
}


@pytest.mark.parametrize("likelihood", BERNOULLI.values(), ids=BERNOULLI)
def test_bernoulli(likelihood, floats):
    x, y = T.vectors("x", "y")
    points, labels = np.array(POINTS * 2), np.repeat([0, 1], len(POINTS))
    value, gradient = computed([x, y], likelihood(y, sigmoid(x)), [x], [points, labels])
    z = np.asarray(np.where(labels, 1, -1) * points.astype(floats), np.longdouble)
    assert_near(value, -(np.log1p(np.exp(-abs(z))) + np.maximum(-z, 0)))
    e = np.exp(-abs(z))
    assert_near(gradient, np.where(labels, 1, -1) * np.where(z > 0, e, 1) / (1 + e))


def test_two_weighted_exponentials(floats):
    a, b = T.vectors("a", "b")
    x, y = (v.ravel() for v in np.meshgrid(POINTS, POINTS))
    value, da, db = computed([a, b], T.log(0.25 * T.exp(a) + 0.75 * T.exp(b)), [a, b], [x, y])
    x, y = (np.asarray(v.astype(floats), np.longdouble) for v in (x, y))
    top = np.maximum(x, y)
    u, v = np.exp(x - top) / 4, np.exp(y - top) * 3 / 4
    assert_near(value, top + np.log(u + v), scale=1)
    for gradient, part in ((da, u), (db, v)):
        assert_near(gradient, part / (u + v), ulps=1024)


def test_mixture_of_gaussians(floats):
    x, mean, deviation, weight = (T.vector(name) for name in ("x", "mean", "deviation", "weight"))
    density = T.exp(-0.5 * T.sqr((x.dimshuffle(0, "x") - mean) / deviation)) / (deviation * 2.5066)
    loss = T.log(T.sum(softmax(weight.dimshuffle("x", 0)) * density, axis=1))
    values = [0, 1, -30, 1e3, -1e4], [0, 0.5, 1e3], [1, 0.125, 2], [0, 1, -3]
    value, dx, dmean, dweight = computed([x, mean, deviation, weight], loss, [x, mean, weight], values)
    p, m, s, w = (np.asarray(np.asarray(v, floats), np.longdouble) for v in values)
    z = (p[:, None] - m) / s
    terms = logs(w[None])[0] - np.log(s * np.asarray(2.5066, floats)) - z**2 / 2
    assert_near(value, logs(terms)[0][:, 0] * -1 + terms[:, 0], scale=1)
    share = logs(terms)[1]
    assert_near(dx, (-share * z / s).sum(1), scale=1e-3)
    assert_near(dmean, (share * z / s).sum(0), scale=1e4)
    assert_near(dweight, (share - logs(w[None])[1]).sum(0), scale=5)


def test_guards_against_zero_keep_their_constants(floats):
    x = T.vector("x")
    eps = np.asarray(1e-8 if floats == "float32" else 1e-20, floats)
    guard = theano.function([x], [1 - x + eps, T.log(1 - x + eps), 1 / (x - 1 + eps), (eps - x) + 1, x * eps - 1 + 1])
    for value, exact in zip(guard(np.ones(1, floats)), [eps, np.log(eps), 1 / eps, 0, eps], strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-6)
    # What is not lost is still one constant.
    assert len(theano.function([x], (1 - x) + 0.5).maker.fgraph.toposort()) == 1
    assert len(theano.function([x], x * 3 / 2 * 4).maker.fgraph.toposort()) == 1
    info = np.finfo(floats)
    tiny, huge = T.constant(np.asarray(info.tiny * 4)), T.constant(np.asarray(info.max / 4))
    value = np.asarray([0.5], floats)
    scaled = theano.function([x], [x * huge * tiny * huge, x * tiny * tiny * 0 + x])
    assert np.isfinite(scaled(value)).all()


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", theano.Mode("py", None), theano.Mode("cvm", "o3")], ids=str)
def test_optimizers_at_zero_gradient(mode, floats):
    p = theano.shared(np.asarray([1.0, 0.0, -2.0], floats))
    target = T.vector("target")
    g = T.grad(T.sum(T.sqr(p - target)), p)
    norm = T.sqrt(T.sum(T.sqr(g)))
    clipped = g * T.minimum(1, 5 / (norm + 1e-7))
    switched = T.switch(T.ge(norm, 5), g * (5 / norm), g)
    first, second, step = (theano.shared(np.zeros(3, floats)) for _ in range(3))
    m = 0.9 * first + 0.1 * clipped
    v = 0.999 * second + 0.001 * T.sqr(clipped)
    u = clipped * T.sqrt(step + 1e-6) / T.sqrt(v + 1e-6)
    updates = [(first, m), (second, v), (step, 0.95 * step + 0.05 * T.sqr(u)), (p, p - 0.01 * m / (T.sqrt(v) + 1e-8) - u)]
    train = theano.function([target], [clipped, switched, u], updates=updates, mode=mode)
    before = p.get_value()
    for result in train(before):
        np.testing.assert_array_equal(result, np.zeros(3))
    np.testing.assert_array_equal(p.get_value(), before)
    assert np.linalg.norm(train(before + 100)[0]) == pytest.approx(5, rel=1e-5)
    assert p.dtype == floats and np.all(np.isfinite(p.get_value()))


def test_saturated_gates(floats):
    x, h, c = T.vectors("x", "h", "c")
    i, f, o = sigmoid(x + h), sigmoid(x - h + 1), sigmoid(2 * x)
    new = o * T.tanh(f * c + i * T.tanh(x))
    points = np.array([0.5, 30, -30, 100, -100, 750, -750])
    values = [points, np.ones(7), np.full(7, 0.25)]
    value, *gradients = computed([x, h, c], new, [x, h, c], values)
    p, q, r = (np.asarray(v, np.longdouble) for v in values)

    def s(z):
        return np.exp(np.minimum(z, 0)) / (1 + np.exp(-abs(z)))

    state = s(p - q + 1) * r + s(p + q) * np.tanh(p)
    assert_near(value, s(2 * p) * np.tanh(state))
    slope = s(2 * p) / np.cosh(state) ** 2
    assert_near(gradients[2], slope * s(p - q + 1), ulps=64)
    assert_near(gradients[1], slope * (s(p + q) * s(-p - q) * np.tanh(p) - s(p - q + 1) * s(q - p - 1) * r), scale=1)

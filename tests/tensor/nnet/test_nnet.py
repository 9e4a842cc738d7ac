"""Activations, softmax, crossentropies: values, gradients, stability, bad inputs, and the rewrites between them."""

import numpy as np
import pytest
import scipy.special

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, assert_like_numpy, evaluate
from theano import tensor as T
from theano.tensor import nnet
from theano.tensor.nnet.softmax import logsoftmax_grad

X = np.random.RandomState(0).randn(4, 5)
LABELS = np.array([2, 0, 4, 4])
LOGP = scipy.special.log_softmax(X, axis=1)


def verify(function, *values, mode=PLAIN):
    theano.gradient.verify_grad(function, list(values), rng=np.random.RandomState(1), mode=mode)


def ops_of(function):
    return [str(node.op) for node in function.maker.fgraph.toposort()]


@pytest.mark.parametrize(
    "function, reference",
    [
        (nnet.sigmoid, scipy.special.expit),
        (nnet.softplus, lambda x: np.logaddexp(0, x)),
        (nnet.softsign, lambda x: x / (1 + abs(x))),
        (nnet.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
        (nnet.relu, lambda x: np.maximum(x, 0)),
        (lambda x: nnet.relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
        (nnet.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
        (nnet.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    ],
)
def test_activations(function, reference):
    assert_like_numpy(function, reference, X, rtol=1e-9)
    verify(function, X)


def test_activations_keep_single_precision():
    for function in (nnet.sigmoid, nnet.softplus, nnet.softsign, nnet.hard_sigmoid, nnet.relu, nnet.elu, nnet.softmax):
        assert function(T.fmatrix()).dtype == "float32"


def test_the_limits_of_sigmoids():
    far = np.array([-1000.0, 1000.0])
    np.testing.assert_array_equal(evaluate(nnet.sigmoid, far), [0, 1])
    np.testing.assert_allclose(evaluate(nnet.ultra_fast_sigmoid, far), [0.00247262315663, 0.997527376843])
    np.testing.assert_array_equal(evaluate(nnet.hard_sigmoid, far), [0, 1])
    np.testing.assert_allclose(evaluate(nnet.ultra_fast_sigmoid, X), scipy.special.expit(X), atol=5e-2)


def test_softmaxes():
    b = np.random.RandomState(1).randn(5)
    assert_like_numpy(nnet.softmax, lambda x: np.exp(LOGP), X)
    assert_like_numpy(nnet.nnet.logsoftmax, lambda x: LOGP, X)
    assert_like_numpy(nnet.nnet.softmax_with_bias, lambda x, b: scipy.special.softmax(x + b, axis=1), X, b)
    assert_like_numpy(nnet.nnet.softmax_graph, lambda x: np.exp(LOGP), X)
    for function in (nnet.softmax, nnet.nnet.logsoftmax):
        verify(function, X)
    verify(nnet.nnet.softmax_with_bias, X, b)
    verify(nnet.nnet.softmax_grad, X, np.exp(LOGP))
    np.testing.assert_array_equal(evaluate(nnet.softmax, np.array([[1000.0, 1000], [-1000, 0]])), [[0.5, 0.5], [0, 1]])
    with pytest.warns(UserWarning):
        assert nnet.softmax(T.dvector()).broadcastable == (True, False)
    for bad in (T.dtensor3(), T.lmatrix()):
        with pytest.raises(ValueError):
            nnet.softmax(bad)


def test_r_operators_of_softmaxes_agree_with_l_operators():
    x, v = T.dmatrices(2)
    direction = np.random.RandomState(2).randn(4, 5)
    for function in (nnet.softmax, nnet.nnet.logsoftmax):
        forward = theano.function([x, v], T.Rop(function(x), x, v), mode=PLAIN)(X, direction)
        eps = 1e-6
        numeric = (evaluate(function, X + eps * direction) - evaluate(function, X - eps * direction)) / (2 * eps)
        np.testing.assert_allclose(forward, numeric, rtol=1e-5)


def test_second_derivatives_of_the_logsoftmax():
    x, v = T.dmatrices("x", "v")
    weights = np.random.RandomState(2).randn(4, 5)
    gradient = T.grad((weights * nnet.nnet.logsoftmax(x) ** 2).sum(), x)
    forward = T.Rop(gradient, x, v)
    backward = T.grad((gradient * v).sum(), x)
    direction = np.random.RandomState(3).randn(4, 5)
    for mode in (PLAIN, REWRITTEN):
        a, b = theano.function([x, v], [forward, backward], mode=mode)(X, direction)
        np.testing.assert_allclose(a, b, rtol=1e-9)
    verify(logsoftmax_grad, weights, np.exp(LOGP))


@pytest.mark.parametrize("mode", [PLAIN, REWRITTEN, None])
def test_gradients_of_matrices_that_are_no_softmaxes(mode):
    g, p = np.random.RandomState(2).randn(4, 5), np.random.RandomState(3).rand(4, 5) * 3
    got = evaluate(nnet.nnet.softmax_grad, g, p, mode=mode)
    np.testing.assert_allclose(got, (g - (g * p).sum(axis=1, keepdims=True)) * p, rtol=1e-12)
    got = evaluate(logsoftmax_grad, g, p, mode=mode)
    np.testing.assert_allclose(got, g - g.sum(axis=1, keepdims=True) * p, rtol=1e-12)


@pytest.mark.parametrize("function", [nnet.softmax, nnet.nnet.logsoftmax])
def test_half_precision_is_rounded_once(function):
    x = T.matrix(dtype="float16")
    values = (np.random.RandomState(2).randn(3, 400) * 2).astype("float16")
    gradient = np.random.RandomState(3).randn(3, 400).astype("float16")
    out = function(x)
    found = theano.function([x], [out, T.grad((out * gradient).sum(), x)])(values)
    wide = T.dmatrix()
    exact = theano.function([wide], [function(wide), T.grad((function(wide) * gradient).sum(), wide)])(values)
    for got, wanted in zip(found, exact):
        assert got.dtype == "float16"
        np.testing.assert_allclose(got, wanted, rtol=4e-3, atol=3e-5)


def test_crossentropies():
    b = np.random.RandomState(1).randn(5)
    nll = -LOGP[np.arange(4), LABELS]
    p, q = np.exp(LOGP), np.full((4, 5), 0.2)
    assert_like_numpy(nnet.categorical_crossentropy, lambda p, y: nll, p, LABELS)
    assert_like_numpy(nnet.categorical_crossentropy, lambda p, q: -(q * np.log(p)).sum(1), p, q)
    biased = scipy.special.log_softmax(X + b, axis=1)
    fused = nnet.nnet.crossentropy_softmax_argmax_1hot_with_bias
    for got, right in zip(
        evaluate(lambda *a: fused(*a, return_list=True), X, b, LABELS),
        (-biased[np.arange(4), LABELS], np.exp(biased), biased.argmax(1)),
    ):
        np.testing.assert_allclose(got, right)
    for k in (0, 1):
        verify(lambda x, b: fused(x, b, LABELS)[k], X, b)
    verify(lambda p: nnet.categorical_crossentropy(p, LABELS), p)
    verify(lambda g, p: nnet.nnet.crossentropy_categorical_1hot_grad(g, p, LABELS), np.ones(4), p)
    verify(lambda g, p: nnet.nnet.crossentropy_softmax_1hot_with_bias_dx(g, p, LABELS), np.ones(4), p)


@pytest.mark.parametrize("mode", [PLAIN, REWRITTEN, None])
def test_one_gradient_for_all_rows(mode):
    probabilities = np.exp(LOGP)
    expected = 2 * (probabilities - np.eye(5)[LABELS])
    for gradient in (np.array(2.0), np.full(4, 2.0)):
        got = evaluate(nnet.nnet.crossentropy_softmax_1hot_with_bias_dx, gradient, probabilities, LABELS, mode=mode)
        np.testing.assert_allclose(got, expected)


def test_labels_that_are_no_columns_raise():
    for bad in (LABELS + 1, LABELS - 1, LABELS[:3]):
        with pytest.raises(ValueError):
            evaluate(nnet.categorical_crossentropy, np.exp(LOGP), bad)
        with pytest.raises(ValueError):
            evaluate(lambda x, y: nnet.nnet.crossentropy_softmax_1hot(x, y)[0], X, bad)
    with pytest.raises(TypeError):
        nnet.categorical_crossentropy(T.dmatrix(), T.dtensor3())
    with pytest.raises(TypeError):
        nnet.categorical_crossentropy(T.dmatrix(), T.dvector())


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8", "int8"])
@pytest.mark.parametrize("target_dtype", ["int8", "bool", "float16"])
def test_sigmoid_binary_crossentropy_in_other_dtypes(dtype, target_dtype):
    x, t = T.TensorType(dtype, (False,))("x"), T.TensorType(target_dtype, (False,))("t")
    loss = nnet.sigmoid_binary_crossentropy(x, t)
    assert loss.type.dtype == (nnet.softplus(x) - x * t).type.dtype
    values, target = np.array([0, 1, 5], dtype), np.array([1, 0, 1], target_dtype)
    wide = values.astype("float64")
    wanted = np.log1p(np.exp(wide)) - wide * target
    np.testing.assert_allclose(loss.eval({x: values, t: target}), wanted, rtol=2e-3)


def test_binary_crossentropies_agree_and_stay_finite():
    target = np.random.RandomState(1).rand(4, 5)
    expected = -(target * np.log(scipy.special.expit(X)) + (1 - target) * np.log(1 - scipy.special.expit(X)))
    assert_like_numpy(nnet.sigmoid_binary_crossentropy, lambda x, t: expected, X, target)
    assert_like_numpy(lambda x, t: nnet.binary_crossentropy(nnet.sigmoid(x), t), lambda x, t: expected, X, target)
    far = np.array([-1000.0, 1000.0])
    np.testing.assert_array_equal(evaluate(nnet.sigmoid_binary_crossentropy, far, np.array([1.0, 0.0])), [1000, 1000])
    stable = evaluate(lambda x, t: nnet.binary_crossentropy(nnet.sigmoid(x), t), far, np.array([1.0, 0.0]), mode=REWRITTEN)
    np.testing.assert_allclose(stable, [1000, 1000])


def test_columns_are_prepended():
    np.testing.assert_array_equal(evaluate(nnet.nnet.prepend_1_to_each_row, X)[:, 0], np.ones(4))
    got = evaluate(nnet.nnet.prepend_scalar_to_each_row, np.array(7.0), X)
    np.testing.assert_array_equal(got, np.hstack([np.full((4, 1), 7.0), X]))
    verify(nnet.nnet.prepend_scalar_to_each_row, np.array(7.0), X)


def test_confusion_matrix():
    counts, labels = evaluate(lambda a, p: nnet.confusion_matrix(a, p), np.array([2, 0, 2, 1]), np.array([0, 0, 2, 2]))
    np.testing.assert_array_equal(labels, [0, 1, 2])
    np.testing.assert_array_equal(counts, [[1, 0, 0], [0, 0, 1], [1, 0, 1]])
    with pytest.raises(ValueError):
        nnet.confusion_matrix(T.lmatrix(), T.lvector())


@pytest.mark.parametrize(
    "build, expected",
    [
        (lambda x: T.log(nnet.sigmoid(x)), "softplus"),
        (lambda x: T.log(1 + T.exp(x)), "softplus"),
        (lambda x: T.log(1 - nnet.sigmoid(x)), "softplus"),
        (lambda x: 1 / (1 + T.exp(-x)), "sigmoid"),
        (lambda x: T.exp(x) / (1 + T.exp(x)), "sigmoid"),
        (lambda x: T.log(nnet.softmax(x)), "LogSoftmax"),
        (lambda x: T.exp(x) / T.exp(x).sum(axis=1, keepdims=True), "Softmax"),
    ],
)
def test_unstable_expressions_are_replaced(build, expected):
    x = T.dmatrix()
    f = theano.function([x], build(x), mode=REWRITTEN)
    assert any(expected in op for op in ops_of(f)), ops_of(f)
    far = np.array([[-800.0, 800.0], [0.0, 1.0]])
    assert np.isfinite(f(far)).all()
    plain = theano.function([x], build(x), mode=PLAIN)
    np.testing.assert_allclose(f(X), plain(X))


@pytest.mark.parametrize(
    "build",
    [
        lambda p, y: nnet.categorical_crossentropy(p, y).mean(),
        lambda p, y: -T.mean(T.log(p)[T.arange(y.shape[0]), y]),
        lambda p, y: -T.mean(T.log(p[T.arange(y.shape[0]), y])),
    ],
)
def test_a_loss_and_its_gradient_share_one_softmax(build):
    x, w, b, y = T.dmatrix(), T.dmatrix(), T.dvector(), T.lvector()
    cost = build(nnet.softmax(T.dot(x, w) + b), y)
    f = theano.function([x, w, b, y], [cost, *theano.grad(cost, [w, b])], mode=REWRITTEN)
    ops = ops_of(f)
    assert ops.count("CrossentropySoftmaxArgmax1HotWithBias") == 1, ops
    assert ops.count("CrossentropySoftmax1HotWithBiasDx") == 1 and "Softmax" not in ops, ops
    weights, bias = np.random.RandomState(3).randn(5, 3), np.random.RandomState(4).randn(3)
    labels = np.array([2, 0, 1, 1])
    expected = theano.function([x, w, b, y], [cost, *theano.grad(cost, [w, b])], mode=PLAIN)(X, weights, bias, labels)
    for got, right in zip(f(X, weights, bias, labels), expected):
        np.testing.assert_allclose(got, right)


def test_the_position_of_the_largest_probability_needs_no_softmax():
    x = T.dmatrix()
    f = theano.function([x], T.argmax(nnet.softmax(x), axis=1), mode=REWRITTEN)
    assert not any("Softmax" in op for op in ops_of(f))
    np.testing.assert_array_equal(f(X), X.argmax(1))


def test_approximate_sigmoids_replace_exact_ones_when_asked_for():
    x = T.dvector()
    for name, function in (("local_ultra_fast_sigmoid", nnet.ultra_fast_sigmoid), ("local_hard_sigmoid", nnet.hard_sigmoid)):
        f = theano.function([x], nnet.sigmoid(x), mode=REWRITTEN.including(name))
        np.testing.assert_allclose(f(X[0]), evaluate(function, X[0]))


def test_cross_entropy_of_a_minibatch_is_one_operation():
    x, y, i = T.dmatrix(), T.ivector(), T.lscalar()
    rng = np.random.RandomState(0)
    values, labels = rng.normal(size=(12, 4)), np.arange(12, dtype="int32") % 3
    data, classes, w = theano.shared(values), theano.shared(labels), theano.shared(rng.normal(size=(4, 3)))
    cost = -T.log(T.nnet.softmax(T.dot(x, w))[T.arange(y.shape[0]), y]).mean()
    g = T.grad(cost, w)
    part = {x: data[i * 5 : (i + 1) * 5], y: classes[i * 5 : (i + 1) * 5]}
    for mode in (theano.compile.get_default_mode().excluding("ShapeOpt"), None):
        f = theano.function([i], g, givens=part, mode=mode)
        assert any(isinstance(node.op, T.nnet.CrossentropySoftmax1HotWithBiasDx) for node in f.maker.fgraph.toposort())
    whole = theano.function([x, y], g, mode="FAST_COMPILE")
    for k in (0, 2):
        np.testing.assert_allclose(f(k), whole(values[k * 5 : (k + 1) * 5], labels[k * 5 : (k + 1) * 5]))

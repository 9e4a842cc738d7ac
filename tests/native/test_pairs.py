"""A cross-entropy of a softmax and its gradient in one kernel, and where they are two."""

import numpy as np
import pytest
from vm_tools import all_native, own_threads, runtime  # noqa: F401

import theano
import theano.tensor as T
from theano.gradient import disconnected_grad
from theano.ifelse import ifelse


def reference(x, y, b=0.0):
    """Cross-entropies in float64, and the gradient of their mean."""
    z = x.astype("float64") + b
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    p = e / e.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    others = np.where(np.arange(x.shape[1]) == y[:, None], 0, p)
    gradient = others.copy()
    gradient[rows, y] = -others.sum(axis=1)
    return np.log1p(np.sort(e, axis=1)[:, :-1].sum(axis=1)) - z[rows, y], gradient / max(len(y), 1)


def kernels_of_rows(f):
    """Names of the Ops whose kernels work on rows of the softmax."""
    return [type(i.node.op).__name__ for i in f.fn.instrs if i.name == "kernel" and "Crossentropy" in type(i.node.op).__name__]


def functions(dtype):
    x, y, b = T.matrix(dtype=dtype), T.lvector(), T.vector(dtype=dtype)
    plain = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
    biased = T.nnet.categorical_crossentropy(T.nnet.softmax(x + b), y)
    losses, _, position = T.nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y)
    return {
        "plain": all_native([x, y], [plain, T.grad(plain.mean(), x)]),
        "biased": all_native([x, y, b], [biased, T.grad(biased.mean(), x)]),
        "with argmax": all_native([x, y, b], [losses, position, T.grad(losses.mean(), x)]),
    }


@pytest.fixture(scope="module", params=["float32", "float64"])
def compiled(request):
    return request.param, functions(request.param)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (4, 17), (3, 100), (2, 1000), (2, 2500), (0, 3)])
def test_value_and_gradient_of_rows_of_any_length(compiled, shape):
    dtype, made = compiled
    rng = np.random.default_rng(0)
    x, y = (3 * rng.standard_normal(shape)).astype(dtype), rng.integers(0, shape[1], shape[0])
    b = rng.standard_normal(shape[1]).astype(dtype)
    close = {"rtol": 2e-5 if dtype == "float32" else 1e-12, "atol": 1e-7 if dtype == "float32" else 1e-15}
    for layout in (x, np.asfortranarray(x), x[:, ::-1], np.repeat(x, 2, axis=0)[::2]):
        for name, f in made.items():
            bias = () if name == "plain" else (b,)
            value, *found, gradient = f(layout, y, *bias)
            expected, slope = reference(layout, y, *bias)
            np.testing.assert_allclose(value, expected, **close)
            np.testing.assert_allclose(gradient, slope, **close)
            for position in found:
                np.testing.assert_array_equal(position, (layout + b).argmax(axis=1))


def test_one_kernel_does_both(compiled):
    for f in compiled[1].values():
        assert kernels_of_rows(f) == ["CrossentropySoftmaxArgmax1HotWithBias"]


def test_likely_targets_lose_no_digit(compiled):
    dtype, made = compiled
    x = np.array([[40.0, 0, 3], [0, 9, 9], [-1, 60, 0]], dtype)
    y = np.array([0, 1, 1])
    value, gradient = made["plain"](x, y)
    expected, slope = reference(x, y)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6)


def test_a_target_that_is_no_column_raises(compiled):
    dtype, made = compiled
    for target in (-1, 3):
        with pytest.raises(ValueError, match="out of bounds"):
            made["plain"](np.zeros((2, 3), dtype), np.array([0, target]))


def test_results_do_not_depend_on_the_number_of_threads(compiled, own_threads):  # noqa: F811
    dtype, made = compiled
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((1500, 211)).astype(dtype), rng.integers(0, 211, 1500)
    runtime.set_threads(1)
    alone = made["plain"](x, y)
    for threads in (2, 3):
        runtime.set_threads(threads)
        for a, b in zip(alone, made["plain"](x, y), strict=True):
            np.testing.assert_array_equal(a, b)


def test_two_kernels_where_the_softmax_is_wanted():
    x, y = T.dmatrix(), T.lvector()
    p = T.nnet.softmax(x)
    cost = T.nnet.categorical_crossentropy(p, y).mean()
    f = all_native([x, y], [cost, T.grad(cost, x), p])
    rng = np.random.default_rng(2)
    values, targets = rng.standard_normal((6, 5)), rng.integers(0, 5, 6)
    found = f(values, targets)
    expected, slope = reference(values, targets)
    np.testing.assert_allclose(found[0], expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(found[1], slope, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[2].sum(axis=1), 1, rtol=1e-12)


def test_two_kernels_where_the_gradient_depends_on_the_value():
    x, y = T.dmatrix(), T.lvector()
    losses = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
    f = all_native([x, y], [T.grad(T.sqr(losses).sum(), x)])
    rng = np.random.default_rng(3)
    values, targets = rng.standard_normal((6, 5)), rng.integers(0, 5, 6)
    expected, slope = reference(values, targets)
    np.testing.assert_allclose(f(values, targets)[0], 12 * expected[:, None] * slope, rtol=1e-11, atol=1e-15)


def test_weights_of_rows_are_computed_before():
    x, y, w = T.dmatrix(), T.lvector(), T.dvector()
    losses = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
    f = all_native([x, y, w], [losses, T.grad((losses * T.exp(w) * T.sqr(w).sum()).sum(), x)])
    rng = np.random.default_rng(4)
    values, targets, weights = rng.standard_normal((6, 5)), rng.integers(0, 5, 6), rng.standard_normal(6)
    expected, slope = reference(values, targets)
    found = f(values, targets, weights)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    factor = 6 * np.exp(weights) * (weights**2).sum()
    np.testing.assert_allclose(found[1], factor[:, None] * slope, rtol=1e-11, atol=1e-15)


def test_a_training_step_updates_as_it_would_by_two_kernels():
    rng = np.random.default_rng(5)
    values, targets, start = rng.standard_normal((8, 4)), rng.integers(0, 3, 8), rng.standard_normal((4, 3))
    x, y, w = T.dmatrix(), T.lvector(), theano.shared(start)
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(x, w)), y).mean()
    f = theano.function([x, y], cost, updates=[(w, w - 0.5 * T.grad(cost, w))])
    assert kernels_of_rows(f) == ["CrossentropySoftmaxArgmax1HotWithBias"]
    expected, slope = reference(values @ start, targets)
    np.testing.assert_allclose(f(values, targets), expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(w.get_value(), start - 0.5 * values.T @ slope, rtol=1e-11)


def test_a_gradient_that_needs_the_cross_entropy_is_a_kernel_of_its_own(rng=np.random.RandomState(3)):
    x, y = T.dmatrix(), T.lvector()
    losses = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
    f = all_native([x, y], T.grad((losses**2).sum() / 2, x))
    a, at = rng.randn(5, 7), rng.randint(0, 7, 5)
    want, gradient = reference(a, at)
    np.testing.assert_allclose(f(a, at), 5 * gradient * want[:, None], rtol=1e-12)
    assert len(kernels_of_rows(f)) == 2


def test_a_gradient_by_a_branch_that_needs_the_cross_entropy_is_a_kernel_of_its_own(rng=np.random.RandomState(4)):
    x, y, c = T.dmatrix(), T.lvector(), T.bscalar()
    losses = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
    weights = ifelse(c, T.exp(losses), T.ones_like(losses))
    f = theano.function([x, y, c], [losses, T.grad((losses * disconnected_grad(weights)).sum(), x)])
    a, at = rng.randn(5, 7), rng.randint(0, 7, 5)
    want, gradient = reference(a, at)
    for branch, factor in ((1, np.exp(want)), (0, np.ones(5))):
        found = f(a, at, branch)
        np.testing.assert_allclose(found[0], want, rtol=1e-12)
        np.testing.assert_allclose(found[1], 5 * gradient * factor[:, None], rtol=1e-12)

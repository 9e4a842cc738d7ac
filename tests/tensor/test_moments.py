"""Mean and variance of whole arrays in one pass over memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T
from theano.tensor.moments import Moments, moments
from theano.tests import unittest_tools as utt

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "backwards": lambda a: a[::-1, ::-1],
    "every third": lambda a: np.repeat(a, 3, axis=1)[:, ::3],
    "the same row": lambda a: np.broadcast_to(a[:1], a.shape),
}


def uses(f):
    return [type(node.op) for node in f.maker.fgraph.toposort()].count(Moments)


@pytest.fixture(scope="module", params=["float32", "float64"])
def compiled(request):
    x = T.matrix(dtype=request.param)
    return request.param, {
        "op": theano.function([x], moments(x)),
        "mean and variance": theano.function([x], [T.mean(x), T.var(x)]),
        "deviation": theano.function([x], T.std(x)),
        "standardized": theano.function([x], (x - x.mean()) / x.std()),
        "python": theano.function([x], moments(x), mode=theano.Mode("py", None)),
    }


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_as_numpy(compiled, data):
    dtype, f = compiled
    shape = data.draw(st.tuples(st.integers(1, 90), st.integers(1, 90)))
    layout = LAYOUTS[data.draw(st.sampled_from(sorted(LAYOUTS)))]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    x = layout((rng.standard_normal(shape) + 3).astype(dtype))
    exact = x.astype("longdouble")
    close = {"rtol": 3e-7, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-14, "atol": 1e-14}
    for version in ("op", "python"):
        count, total, mean, squares = f[version](x)
        assert count == x.size and all(v.dtype == "float64" and v.shape == () for v in (count, total, mean, squares))
        np.testing.assert_allclose(total, exact.sum(), rtol=1e-14)
        np.testing.assert_allclose(mean, exact.mean(), rtol=1e-14)
        np.testing.assert_allclose(squares, ((exact - exact.mean()) ** 2).sum(), rtol=1e-12, atol=1e-12)
    mean, variance = f["mean and variance"](x)
    assert mean.dtype == variance.dtype == dtype
    np.testing.assert_allclose(mean, exact.mean(), **close)
    np.testing.assert_allclose(variance, exact.var(), **close)
    np.testing.assert_allclose(f["deviation"](x), exact.std(), **close)
    if exact.var() > 1e-6:
        tolerance = 2e-4 if dtype == "float32" else 1e-11
        expected = (exact - exact.mean()) / exact.std()
        np.testing.assert_allclose(f["standardized"](x), expected, rtol=tolerance, atol=tolerance / 20)


def test_one_pass(compiled):
    for name in ("mean and variance", "deviation", "standardized"):
        assert uses(compiled[1][name]) == 1, name
        assert not [n for n in compiled[1][name].maker.fgraph.toposort() if isinstance(n.op, T.Sum)]


def test_no_digit_is_lost_far_from_zero():
    v = T.dvector()
    f = theano.function([v], [T.mean(v), T.var(v), T.var(v, ddof=1)])
    assert uses(f) == 1
    x = 1e9 + np.random.default_rng(0).standard_normal(300_000)
    exact = (x.astype("longdouble") - np.longdouble(10) ** 9)
    mean, variance, unbiased = f(x)
    np.testing.assert_allclose(mean, 1e9 + exact.mean(), rtol=1e-15)
    np.testing.assert_allclose(variance, float(((exact - exact.mean()) ** 2).mean()), rtol=1e-13)
    np.testing.assert_allclose(unbiased * (len(x) - 1), variance * len(x), rtol=1e-14)


def test_numbers_that_are_none_and_empty_arrays(compiled):
    dtype, f = compiled
    for value in (np.nan, np.inf, -np.inf):
        x = np.ones((3, 4), dtype)
        x[1, 2] = value
        mean, variance = f["mean and variance"](x)
        np.testing.assert_array_equal(mean, x.mean())
        assert np.isnan(variance)
    empty = np.ones((0, 4), dtype)
    assert [float(v) for v in f["op"](empty)] == [0, 0, 0, 0] == [float(v) for v in f["python"](empty)]
    mean, variance = f["mean and variance"](empty)
    assert np.isnan(mean) and np.isnan(variance)
    x = T.matrix(dtype=dtype)
    assert theano.function([x], T.sqr(x - x.mean()).sum())(empty) == 0


def test_results_do_not_depend_on_the_number_of_threads():
    runtime = pytest.importorskip("theano.native._runtime")
    x = T.dmatrix()
    f = theano.function([x], moments(x))
    rng = np.random.default_rng(0)
    before = runtime.get_threads()
    try:
        strided = np.asfortranarray(rng.standard_normal((600, 500)))[::2]
        for a in (rng.standard_normal((700, 997)), strided, rng.standard_normal((1, 70_000))):
            runtime.set_threads(1)
            alone = f(a)
            np.testing.assert_allclose(alone[1:3], [a.sum(), a.mean()], rtol=1e-11)
            np.testing.assert_allclose(alone[3], ((a - a.mean()) ** 2).sum(), rtol=1e-12)
            for threads in (2, 3):
                runtime.set_threads(threads)
                np.testing.assert_array_equal(f(a), alone)
    finally:
        runtime.set_threads(before)


def test_what_is_left_to_its_loop():
    x, m = T.dmatrix(), T.dscalar()
    assert not uses(theano.function([x], T.var(T.exp(x))))  # computed in the loop of its sum
    assert not uses(theano.function([x, m], T.sqr(x - m).sum()))  # one pass already
    assert not uses(theano.function([x], T.var(x, axis=1)))  # rows in the cache
    i = T.imatrix()
    assert not uses(theano.function([i], T.var(i)))


def test_gradient_and_derivative_along_a_direction():
    x = np.random.default_rng(0).standard_normal((3, 4))
    for k in (1, 2, 3):
        utt.verify_grad(lambda v, k=k: moments(v)[k], [x])
    v, d = T.dmatrix(), T.dmatrix()
    count, total, mean, squares = theano.function([v, d], T.Rop(moments(v), v, d))(x, np.ones((3, 4)))
    assert count == 0 and total == 12 and mean == 1
    np.testing.assert_allclose(squares, 0, atol=1e-12)


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="int32"):
        moments(T.imatrix())

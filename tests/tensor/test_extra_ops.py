"""Cumulative sums, differences, repetition, counting, searching, diagonals, sorting: as NumPy, with gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, assert_like_numpy, evaluate, inferred_shape
from theano import tensor as T
from theano.tensor import extra_ops

few = settings(max_examples=25, deadline=None)
VALUE = np.random.RandomState(0).rand(3, 4) + 0.5


def verify(function, *values):
    theano.gradient.verify_grad(function, list(values), rng=np.random.RandomState(1), mode=PLAIN)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_cumulative_sums_and_products(name, axis):
    ours, theirs = getattr(T, name), getattr(np, name)
    assert_like_numpy(lambda x: ours(x, axis), lambda x: theirs(x, axis), VALUE)
    verify(lambda x: ours(x, axis), VALUE)
    small = np.full((2, 3), 100, dtype="int8")
    assert evaluate(lambda x: ours(x, axis), small).dtype == np.int64
    with pytest.raises(ValueError):
        ours(T.dmatrix(), 2)


@pytest.mark.parametrize("n, axis", [(0, 0), (1, 0), (2, 1), (3, -1), (5, 0)])
def test_differences(n, axis):
    assert_like_numpy(lambda x: T.diff(x, n, axis), lambda x: np.diff(x, n, axis), VALUE)
    if n < 4:
        verify(lambda x: T.diff(x, n, axis), VALUE)


@few
@given(hnp.arrays("float64", hnp.array_shapes(min_dims=1, max_dims=2, max_side=3)), st.data())
def test_repeat_agrees_with_numpy(value, data):
    value = np.nan_to_num(value)
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1))
    length = value.size if axis is None else value.shape[axis]
    each = np.array(data.draw(st.lists(st.integers(0, 3), min_size=length, max_size=length)), dtype="int64")
    assert_like_numpy(lambda x: T.repeat(x, 2, axis), lambda x: np.repeat(x, 2, axis), value)
    assert_like_numpy(lambda x, r: extra_ops.RepeatOp(axis)(x, r), lambda x, r: np.repeat(x, r, axis), value, each)


def test_gradients_and_errors_of_repeat():
    verify(lambda x: T.repeat(x, 3, axis=1), VALUE)
    verify(lambda x: T.repeat(x, np.array([1, 0, 2]), axis=0), VALUE)
    verify(lambda x: extra_ops.RepeatOp(1)(x, 2), VALUE)
    for bad, error in (((VALUE, [[1]]), ValueError), ((VALUE, 1.5), TypeError), ((VALUE, 2, 5), ValueError)):
        with pytest.raises(error):
            T.repeat(*bad)


def test_bincount():
    x, w = np.array([0, 1, 1, 3, 2, 1, 7]), np.arange(7.0)
    assert_like_numpy(T.bincount, np.bincount, x)
    assert_like_numpy(lambda x, w: T.bincount(x, w), np.bincount, x, w)
    assert_like_numpy(lambda x: T.bincount(x, minlength=12), lambda x: np.bincount(x, minlength=12), x)
    with pytest.raises(AssertionError):
        evaluate(lambda x: T.bincount(x, assert_nonneg=True), np.array([1, -1]))
    with pytest.raises(TypeError):
        T.bincount(T.lmatrix())


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32"])
def test_bincount_of_nothing(dtype):
    nothing = np.zeros(0, dtype)
    assert evaluate(T.bincount, nothing).shape == (0,)
    np.testing.assert_array_equal(evaluate(lambda x: T.bincount(x, minlength=3), nothing), [0, 0, 0])


@pytest.mark.parametrize("value", [[1.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 4.0], [2.0, 3.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
def test_gradients_of_cumulative_products_at_zeros(value):
    value, weights = np.array(value), np.array([1.0, -2.0, 3.0, 5.0])
    jacobian = np.array([
        [np.prod(np.delete(value[: k + 1], i)) if i <= k else 0.0 for i in range(4)] for k in range(4)
    ])  # fmt: skip
    for mode in (PLAIN, "FAST_RUN"):
        got = evaluate(lambda x: T.grad((T.cumprod(x) * weights).sum(), x), value, mode=mode)
        np.testing.assert_allclose(got, weights @ jacobian)
        got = evaluate(lambda x: T.Rop(T.cumprod(x), x, T.constant(weights)), value, mode=mode)
        np.testing.assert_allclose(got, jacobian @ weights)
    two = np.stack([value, value[::-1]])
    for axis in (0, 1, None):
        verify(lambda x: T.cumprod(x, axis), two)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    values, queries = np.array([40.0, 10.0, 30.0, 20.0]), np.array([[15.0, 40.0], [5.0, 99.0]])
    assert_like_numpy(
        lambda x, v: T.searchsorted(T.sort(x), v, side), lambda x, v: np.searchsorted(np.sort(x), v, side), values, queries
    )
    assert_like_numpy(
        lambda x, v, s: T.searchsorted(x, v, side, sorter=s),
        lambda x, v, s: np.searchsorted(x, v, side, sorter=s),
        values, queries, values.argsort(),
    )
    with pytest.raises(ValueError):
        T.searchsorted(values, queries, side="middle")
    with pytest.raises(TypeError):
        T.searchsorted(values, queries, sorter=T.dvector())


def test_diagonals_are_filled_in_copies():
    for shape in ((3, 3), (5, 2), (2, 5)):
        value, expected = np.zeros(shape), np.zeros(shape)
        np.fill_diagonal(expected, 7.0, wrap=False)
        assert_like_numpy(lambda x: T.fill_diagonal(x, 7.0), lambda x: expected, value)
        assert not value.any()
        for offset in (-3, -1, 0, 2, 9):
            assert_like_numpy(
                lambda x, o: T.fill_diagonal_offset(x, 2.0, o),
                lambda x, o: np.where(np.eye(*shape, k=int(o)) > 0, 2.0, x),
                value, np.int64(offset),
            )
    cube = np.zeros((2, 2, 2))
    cube[[0, 1], [0, 1], [0, 1]] = 3
    assert_like_numpy(lambda x: T.fill_diagonal(x, 3.0), lambda x: cube, np.zeros((2, 2, 2)))
    verify(T.fill_diagonal, VALUE, np.array(0.5))
    verify(T.fill_diagonal, np.random.RandomState(0).rand(2, 2, 2), np.array(0.5))
    verify(lambda x, v: T.fill_diagonal_offset(x, v, 1), VALUE, np.array(0.5))
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        with pytest.raises(ValueError, match="fill_diagonal: all dimensions of the input must be of equal length"):
            theano.function([], T.fill_diagonal(T.ones((2, 3, 2)), 1.0), mode=mode)()
    for bad in (lambda: T.fill_diagonal(T.dvector(), 1.0), lambda: T.fill_diagonal(T.fmatrix(), T.dscalar()),
                lambda: T.fill_diagonal_offset(T.dmatrix(), 1.0, 0.5)):
        with pytest.raises(TypeError):
            bad()


def test_unique_with_everything():
    value = np.array([[1.0, 1, 1], [2, 3, 3]])
    for axis in (None, 0, 1):
        results = evaluate(lambda x: extra_ops.Unique(True, True, True, axis)(x), value)
        expected = np.unique(value if axis is not None else value.ravel(), True, True, True, axis=axis)
        for got, right in zip(results, expected):
            np.testing.assert_array_equal(got, np.ravel(right) if got.ndim == 1 else right)
    assert inferred_shape(lambda x: extra_ops.Unique(return_inverse=True)(x)[1], value) == (6,)


@pytest.mark.parametrize("order", ["C", "F"])
def test_flat_indices_and_coordinates(order):
    index = np.array([0, 5, 11, 23])
    for got, right in zip(evaluate(lambda i: list(T.unravel_index(i, (2, 3, 4), order)), index),
                          np.unravel_index(index, (2, 3, 4), order)):
        np.testing.assert_array_equal(got, right)
    a, b = np.array([0, 2]), np.array([3, 1])
    assert_like_numpy(
        lambda a, b: T.ravel_multi_index((a, b), (3, 4), order=order),
        lambda a, b: np.ravel_multi_index((a, b), (3, 4), order=order), a, b,
    )
    for mode in ("wrap", "clip"):
        assert_like_numpy(
            lambda a, b: T.ravel_multi_index((a, b), (3, 4), mode, order),
            lambda a, b: np.ravel_multi_index((a, b), (3, 4), mode, order), a * 3 - 1, b * 5,
        )
    with pytest.raises(ValueError):
        evaluate(lambda a, b: T.ravel_multi_index((a, b), (3, 4)), a + 5, b)
    with pytest.raises(ValueError):
        T.unravel_index(T.lvector(), T.lvector())
    with pytest.raises(TypeError):
        T.unravel_index(T.dvector(), (2, 3))


def test_windows_one_hots_and_compression():
    for m in (-1, 0, 1, 2, 5, 8):
        assert_like_numpy(lambda n: T.bartlett(n), lambda n: np.bartlett(int(n)), np.int64(m))
    with pytest.raises(TypeError):
        T.bartlett(T.dscalar())
    assert_like_numpy(lambda y: extra_ops.to_one_hot(y, 4), lambda y: np.eye(4)[y], np.array([2, 0, 3]))
    assert_like_numpy(lambda x: extra_ops.compress([1, 0, 1], x, axis=0), lambda x: x.compress([1, 0, 1], axis=0), VALUE)
    assert_like_numpy(lambda x: extra_ops.CpuContiguous()(x.T), lambda x: x.T, VALUE)


@few
@given(hnp.arrays("int64", hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)), st.data())
def test_sort_and_argsort_agree_with_numpy(value, data):
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1))
    assert_like_numpy(lambda x: T.sort(x, axis), lambda x: np.sort(x, axis), value)
    assert_like_numpy(lambda x: T.argsort(x, axis, "stable"), lambda x: np.argsort(x, axis, "stable"), value)


def test_gradients_of_sort_and_topk():
    for axis in (None, 0, 1):
        verify(lambda x: T.sort(x, axis), VALUE)
    verify(lambda x: T.topk(x, 2, axis=1), VALUE)
    verify(lambda x: T.topk(x, -2, axis=0), VALUE)


@pytest.mark.parametrize("k", [1, 3, -1, -2, 5, -5])
def test_topk(k):
    value = np.random.RandomState(0).rand(4, 5)
    ordered = np.sort(value, axis=1)
    expected = ordered[:, ::-1][:, :k] if k > 0 else ordered[:, :-k]
    top, index = evaluate(lambda x: T.topk_and_argtopk(x, k, axis=1), value)
    np.testing.assert_array_equal(top, expected)
    np.testing.assert_array_equal(np.take_along_axis(value, index, 1), expected)
    np.testing.assert_array_equal(np.sort(evaluate(lambda x: T.topk(x, k, axis=1, sorted=False), value), 1), np.sort(expected, 1))
    assert inferred_shape(lambda x: T.topk(x, k, axis=1), value) == expected.shape
    x = T.dmatrix()
    node = theano.function([x], T.topk(x, k), mode=REWRITTEN).maker.fgraph.outputs[0].owner
    assert len(node.outputs) == 1


def test_bad_topk():
    for bad, error in ((lambda: T.topk(T.dscalar(), 1), ValueError), (lambda: T.topk(T.dvector(), 1, axis=2), IndexError),
                       (lambda: T.topk(T.dvector(), 1.5), TypeError)):
        with pytest.raises(error):
            bad()
    for k in (0, 9):
        with pytest.raises(ValueError):
            evaluate(lambda x: T.topk(x, k), np.arange(3.0))


def test_x_log_x_is_zero_at_zero():
    value = np.array([0.0, 1.0, np.e])
    np.testing.assert_allclose(evaluate(T.xlogx.xlogx, value), [0, 0, np.e])
    np.testing.assert_allclose(evaluate(T.xlogx.xlogy0, np.array([0.0, 2.0]), np.array([0.0, np.e])), [0, 2])
    verify(T.xlogx.xlogx, np.array([0.5, 2.0]))

"""Reshape, flatten, transpose, padding, broadcast patterns, tile, roll; join, stack and split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, assert_like_numpy, evaluate, inferred_shape
from theano import tensor as T

few = settings(max_examples=30, deadline=None)
arrays = hnp.arrays("float64", hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), elements=st.integers(-5, 5))


@few
@given(arrays, st.data())
def test_reshape_agrees_with_numpy(value, data):
    divisors = [n for n in range(1, value.size + 1) if value.size % n == 0]
    first = data.draw(st.sampled_from(divisors))
    new = data.draw(st.sampled_from([(first, value.size // first), (first, -1), (-1,), (1, -1, first), (-1, first)]))
    assert_like_numpy(lambda x: x.reshape(new), lambda x: x.reshape(new), value)


def test_reshape_by_a_symbolic_shape():
    x, s = T.dmatrix(), T.lvector()
    y = T.reshape(x, s, ndim=2)
    assert y.broadcastable == (False, False) and str(y.owner.op) == "Reshape{2}"
    f = theano.function([x, s], [y, y.shape], mode=REWRITTEN)
    for shape, expected in (([6, -1], (6, 1)), ([-1, 3], (2, 3)), ([1, 6], (1, 6))):
        value, inferred = f(np.ones((2, 3)), shape)
        assert value.shape == expected == tuple(inferred)
    with pytest.raises(ValueError):
        f(np.ones((2, 3)), [4, 2])
    with pytest.raises(ValueError):
        f(np.ones((2, 3)), [2, 3, 1])
    with pytest.raises(ValueError, match="ndim"):
        T.reshape(x, s)
    with pytest.raises(TypeError):
        T.reshape(x, 6)
    with pytest.raises(TypeError):
        T.reshape(x, [2.0, 3.0])


def test_reshape_knows_which_dimensions_are_one():
    x = T.dmatrix()
    assert T.reshape(x, (1, -1)).broadcastable == (True, False)
    assert T.reshape(x, (x.shape[0], 1, x.shape[1])).broadcastable == (False, True, False)
    assert T.drow().reshape(T.drow().shape).broadcastable == (True, False)
    assert T.reshape(x, ()).ndim == 0


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_flatten(ndim):
    value = np.arange(24.0).reshape(2, 3, 4)
    assert_like_numpy(lambda x: T.flatten(x, ndim), lambda x: x.reshape(*x.shape[: ndim - 1], -1), value)
    assert_like_numpy(lambda x: T.Flatten(ndim)(x), lambda x: x.reshape(*x.shape[: ndim - 1], -1), value)
    with pytest.raises(ValueError):
        T.flatten(T.dmatrix(), 3)
    assert T.dscalar().flatten().broadcastable == (True,)


@few
@given(arrays, st.data())
def test_orders_of_dimensions_agree_with_numpy(value, data):
    order = data.draw(st.permutations(range(value.ndim)))
    assert_like_numpy(lambda x: T.transpose(x, order), lambda x: x.transpose(order), value)
    a, b = (data.draw(st.integers(-value.ndim, value.ndim - 1)) for _ in range(2))
    assert_like_numpy(lambda x: T.swapaxes(x, a, b), lambda x: np.swapaxes(x, a, b), value)
    assert_like_numpy(lambda x: T.moveaxis(x, a, b), lambda x: np.moveaxis(x, a, b), value)


def test_a_missing_axis_is_the_error_of_numpy():
    for error in (IndexError, ValueError):
        with pytest.raises(error, match="out of bounds"):
            T.swapaxes(T.dmatrix(), 0, 2)


def test_padding_inserts_broadcastable_dimensions():
    x = T.dmatrix()
    assert T.shape_padleft(x, 2).broadcastable == (True, True, False, False)
    assert T.shape_padright(x).broadcastable == (False, False, True)
    assert T.shape_padaxis(x, -2).broadcastable == (False, True, False)
    assert repr(T.shape_padaxis(T.tensor3(), -1)) == "InplaceDimShuffle{0,1,2,x}.0"
    for axis in (3, -4):
        with pytest.raises(IndexError):
            T.shape_padaxis(x, axis)


def test_broadcast_patterns_are_checked_when_called():
    x = T.dmatrix()
    f = theano.function([x], T.addbroadcast(x, 0), mode=PLAIN)
    assert f(np.ones((1, 3))).shape == (1, 3)
    with pytest.raises(ValueError):
        f(np.ones((2, 3)))
    assert T.unbroadcast(x, 0) is x and T.unbroadcast(T.addbroadcast(x, 1), 1) is x
    assert T.addbroadcast(T.addbroadcast(x, 0), 1).owner.inputs[0] is x
    assert T.patternbroadcast(T.drow(), (False, True)).broadcastable == (False, True)
    assert T.patternbroadcast(x, ()) is x
    assert T.patternbroadcast(x, (True,)).broadcastable == (True, False)
    with pytest.raises(ValueError):
        T.addbroadcast(x, 2)
    with pytest.raises(ValueError):
        T.patternbroadcast(x, (False, False, True))


@few
@given(arrays, st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_tile_agrees_with_numpy(value, reps):
    assert_like_numpy(lambda x: T.tile(x, reps), lambda x: np.tile(x, reps), value)


def test_tile_by_symbolic_repetitions():
    n, r = T.lscalar(), T.lvector()
    value = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(evaluate(lambda x, n: T.tile(x, (n, 2)), value, np.int64(3)), np.tile(value, (3, 2)))
    np.testing.assert_array_equal(
        evaluate(lambda x, r: T.tile(x, r, ndim=3), value, np.array([2, 1, 2])), np.tile(value, (2, 1, 2))
    )
    np.testing.assert_array_equal(evaluate(lambda x, r: T.tile(x, r, ndim=3), value, np.array([2])), np.tile(value, (2,))[None])
    with pytest.raises(AssertionError):
        evaluate(lambda x, r: T.tile(x, r, ndim=2), value, np.array([2, 1, 2]))
    for bad in (lambda: T.tile(T.dmatrix(), r), lambda: T.tile(T.dmatrix(), (1.5,)), lambda: T.tile(T.dmatrix(), (1, n), ndim=1)):
        with pytest.raises(ValueError):
            bad()


@few
@given(hnp.arrays("int64", hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4)), st.integers(-9, 9), st.data())
def test_roll_agrees_with_numpy(value, shift, data):
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1))
    assert_like_numpy(lambda x: T.roll(x, shift, axis), lambda x: np.roll(x, shift, axis), value)
    got = evaluate(lambda x, s: T.roll(x, s, axis), value, np.int64(shift))
    np.testing.assert_array_equal(got, np.roll(value, shift, axis))


def test_what_is_no_number_is_no_shift():
    for pattern in [(True, True), (False,)]:
        with pytest.raises(TypeError):
            T.roll(T.TensorType("bool", pattern)(), "text")


@few
@given(st.data())
def test_join_agrees_with_numpy_for_known_and_symbolic_axes(data):
    ndim = data.draw(st.integers(1, 3))
    axis = data.draw(st.integers(-ndim, ndim - 1))
    base = data.draw(st.lists(st.integers(0, 3), min_size=ndim, max_size=ndim))
    pieces = []
    for _ in range(data.draw(st.integers(1, 3))):
        shape = list(base)
        shape[axis] = data.draw(st.integers(0, 3))
        pieces.append(np.random.RandomState(0).rand(*shape))
    assert_like_numpy(lambda *xs: T.join(axis, *xs), lambda *xs: np.concatenate(xs, axis), *pieces)
    expected = np.concatenate(pieces, axis)
    np.testing.assert_array_equal(evaluate(lambda a, *xs: T.concatenate(xs, a), np.int64(axis), *pieces), expected)
    assert inferred_shape(lambda a, *xs: T.concatenate(xs, a), np.int64(axis), *pieces) == expected.shape


def test_join_takes_the_common_dtype_and_keeps_what_is_known():
    assert T.join(0, T.ivector(), T.fvector()).dtype == "float64"
    assert T.join(0, T.wvector(), T.fvector()).dtype == "float32"
    assert T.join(0, T.drow(), T.dmatrix()).broadcastable == (False, False)
    assert T.join(1, T.drow(), T.dmatrix()).broadcastable == (True, False)
    x = T.dmatrix()
    assert T.join(0, x) is x


@pytest.mark.parametrize(
    "bad, error",
    [
        (lambda: T.join(0, T.dscalar(), T.dscalar()), TypeError),
        (lambda: T.join(0, T.dvector(), T.dmatrix()), TypeError),
        (lambda: T.join(2, T.dmatrix(), T.dmatrix()), IndexError),
        (lambda: T.join(0.5, T.dmatrix(), T.dmatrix()), TypeError),
        (lambda: T.concatenate(T.dmatrix()), TypeError),
        (lambda: T.stack([]), ValueError),
        (lambda: T.stack([T.dvector(), T.dvector()], axis=3), IndexError),
        (lambda: T.stack([T.dvector(), T.dmatrix()]), TypeError),
    ],
)
def test_bad_joins_are_refused(bad, error):
    with pytest.raises(error):
        bad()


def test_a_join_of_unequal_lengths_raises_when_called():
    x, y = T.dmatrices(2)
    for mode in (PLAIN, None):
        with pytest.raises(ValueError):
            theano.function([x, y], T.join(0, x, y), mode=mode)(np.ones((2, 3)), np.ones((2, 4)))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stack_agrees_with_numpy(axis):
    a, b = np.random.RandomState(0).rand(2, 3, 4)
    assert_like_numpy(lambda x, y: T.stack([x, y], axis=axis), lambda x, y: np.stack([x, y], axis), a, b)


@pytest.mark.parametrize("first", [T.dscalar(), T.constant(1.0)], ids=["variable", "constant"])
@pytest.mark.parametrize("second", [T.dscalar(), T.constant(2.0)], ids=["variable", "constant"])
def test_stacked_scalars_make_a_vector_along_any_axis(first, second):
    pieces = [first, second]
    values = {x: v for x, v in zip(pieces, (1.0, 2.0), strict=True) if x.owner is None and not isinstance(x, T.Constant)}
    for axis in (0, 1, -1, 3):
        assert T.stack(pieces, axis=axis).eval(values).tolist() == [1.0, 2.0]


def test_stacked_scalars_make_a_vector():
    a, b = T.dscalars(2)
    assert str(T.stack([a, b]).owner.op) == "MakeVector{dtype='float64'}"
    with pytest.warns(DeprecationWarning):
        assert T.stack(a, b).ndim == 1
    assert T.stacklists([[a, b], [b, a]]).ndim == 2
    np.testing.assert_array_equal(T.stacklists([[1, 2], [3, 4]]).eval(), [[1, 2], [3, 4]])


def test_split_takes_apart_what_join_put_together():
    value = np.arange(12.0).reshape(2, 6)
    parts = evaluate(lambda x: T.split(x, [1, 0, 5], n_splits=3, axis=1), value)
    for part, expected in zip(parts, np.split(value, [1, 1], axis=1)):
        np.testing.assert_array_equal(part, expected)
    assert inferred_shape(lambda x: T.split(x, [1, 0, 5], n_splits=3, axis=1)[2], value) == (2, 5)
    x, s = T.dvector(), T.lvector()
    f = theano.function([x, s], T.split(x, s, n_splits=2), mode=PLAIN)
    for bad in ([1, 1], [-1, 5], [1, 1, 2]):
        with pytest.raises(ValueError):
            f(np.ones(4), bad)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape((2, 6)),
        lambda x: x.flatten(),
        lambda x: T.roll(x, 1, axis=1),
        lambda x: T.tile(x, (2, 1)),
        lambda x: T.join(1, x, x**2),
        lambda x: T.stack([x, x * 2], axis=1),
        lambda x: T.split(x, [1, 2], 2)[1],
        lambda x: sum(part.sum() ** 2 for part in T.split(x, [1, 2], 2)),
        lambda x: T.swapaxes(x, 0, 1),
        lambda x: T.addbroadcast(x[:1], 0),
    ],
)
def test_gradients_of_shape_functions(function):
    value = np.random.RandomState(0).rand(3, 4)
    theano.gradient.verify_grad(function, [value], rng=np.random.RandomState(1), mode=PLAIN)


def test_r_operators_of_linear_shape_functions():
    x, v = T.dmatrix(), T.dmatrix()
    value, direction = np.random.RandomState(0).rand(2, 3, 4)
    for build in (
        lambda a: a.reshape((4, 3)),
        lambda a: T.Flatten(1)(a),
        lambda a: T.join(0, a, a),
        lambda a: T.split(a, [1, 2], 2)[0],
        lambda a: T.alloc(a, 2, 3, 4),
    ):
        f = theano.function([x, v], T.Rop(build(x), x, v), mode=PLAIN, on_unused_input="ignore")
        np.testing.assert_allclose(f(value, direction), evaluate(build, direction))

"""What random graphs have found, each as the smallest program that shows it."""

import numpy as np
import pytest

import theano
import theano.tensor as T

MODES = {"native": None, "python": theano.Mode("py", "fast_run"), "rewrites off": theano.Mode("py", None)}


@pytest.fixture(params=MODES)
def compute(request):
    """A function that computes outputs of inputs at values; rewrites must not fail."""

    def run(inputs, outputs, *values):
        with theano.config.change_flags(on_opt_error="raise"):
            return theano.function(inputs, outputs, mode=MODES[request.param], on_unused_input="ignore")(*values)

    return run


def test_bincount_of_nothing(compute):
    x, weights = T.lvector(), T.dvector()
    counts, weighted, least = compute(
        [x, weights], [T.bincount(x), T.bincount(x, weights=weights), T.bincount(x, minlength=2)], np.zeros(0, int), np.zeros(0)
    )
    assert counts.shape == weighted.shape == (0,)
    assert least.tolist() == [0, 0]


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_flatten_next_to_an_empty_dimension(compute, ndim):
    x = T.dtensor4()
    value = np.zeros((2, 0, 3, 4))
    got = compute([x], T.flatten(x, ndim), value)
    assert got.shape == (*value.shape[: ndim - 1], int(np.prod(value.shape[ndim - 1 :])))


def test_square_of_the_absolute_value_of_complex_numbers(compute):
    x = T.zvector()
    np.testing.assert_allclose(compute([x], T.sqr(abs(x)), np.array([3 + 4j, 1j])), [25, 1])


def test_and_with_a_true_is_no_identity_for_integers(compute):
    x = T.ivector()
    value = np.array([-4, 5, 6], "int32")
    got = compute([x], [T.and_(x, T.constant(True)), T.and_(x, T.eq(x, x)), T.and_(x, -1)], value)
    assert [g.tolist() for g in got] == [[0, 1, 0], [0, 1, 0], [-4, 5, 6]]


def test_gemv_whose_result_has_length_one_by_its_shape_only(compute):
    x, y = T.drow(), T.dcol()
    got = compute([x, y], T.dot(T.triu(x), y), np.array([[-1.0, 3.0]]), np.array([[-2.0], [3.0]]))
    assert got.tolist() == [[11.0]]
    z = T.fvector()
    got = compute([z], T.dot(z, T.triu(T.stack([z], axis=1), -1)), np.array([2, 3], "float32"))
    assert got.tolist() == [13.0]


def test_narrow_terms_that_are_left_when_wide_ones_cancel(compute):
    x, small, flag = T.fscalar(), T.TensorType("uint16", ())(), T.TensorType("bool", ())()
    got = compute([x, small, flag], [x - (x + small), (x - flag) - 1.0 * x], np.float32(2), np.uint16(9), True)
    assert [g.item() for g in got] == [-9.0, -1.0]
    assert [g.dtype for g in got] == ["float32", "float32"]
    y, tiny = T.fscalar(), T.bscalar()
    got = compute([y, tiny], [(tiny + (tiny + y)) - y, (tiny * (tiny * y)) / y], np.float32(2), np.int8(100))
    assert [g.item() for g in got] == [200.0, 10000.0]


def test_incomplete_gamma_functions_of_two_dtypes(compute):
    k, x = T.fscalar(), T.dscalar()
    lower, upper = compute([k, x], [T.gammal(k, x), T.gammau(k, x)], np.float32(4.5), 3.25)
    from scipy import special

    np.testing.assert_allclose(lower, special.gammainc(4.5, 3.25) * special.gamma(4.5), rtol=1e-13)
    np.testing.assert_allclose(upper, special.gammaincc(4.5, 3.25) * special.gamma(4.5), rtol=1e-13)


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (2, 2), (3, 2)])
def test_gradient_of_a_difference_of_few_rows(compute, shape):
    x = T.dmatrix()
    value = np.ones(shape)
    got = compute([x], T.grad(T.diff(x, 2, 0).sum(), x), value)
    assert got.shape == shape
    assert got[:, 0].tolist() == ([1, -2, 1] if shape[0] == 3 else [0] * shape[0])
    column = T.TensorType("float64", (True, True))()
    assert compute([column], T.grad(T.diff(column, 1, 0).sum(), column), np.ones((1, 1))).tolist() == [[0]]


def test_gradient_through_pieces_and_shapes_of_integers(compute):
    x, c = T.dvector(), np.array([-1.5, -2.5])
    order = T.argsort(x)
    for k in range(12):
        order = T.split(order, [2, 0], 2)[0].reshape((2, 1)).reshape((2,)) if k % 2 else order.reshape((1, 2)).flatten()
    gradient = T.grad((T.switch(order, c, order) * x).sum(), x)
    got = compute([x], gradient, np.array([2.0, 1.0]))
    assert got.tolist() == [-1.5, 0.0]


def test_alloc_that_says_that_a_length_is_one(compute):
    x, y = T.dmatrix(), T.dtensor3()
    row = T.alloc(x, 1, 2)
    got = compute([x, y], y + row + 2 * y, np.array([[1.0, 2.0]]), np.ones((1, 4, 2)))
    assert got.tolist() == [[[4.0, 5.0]] * 4]


def test_index_arrays_that_broadcast_by_their_values_only(compute):
    x, i, j = T.dmatrix(), T.lmatrix(), T.lmatrix()
    picked = x[i, j]
    values = np.arange(6.0).reshape(2, 3), np.array([[0], [1], [1]]), np.array([[2, 0]])
    shape, gradient = compute([x, i, j], [picked.shape, T.grad(picked[-2, -2], x)], *values)
    assert shape.tolist() == [3, 2]
    assert gradient.tolist() == [[0, 0, 0], [0, 0, 1]]


def test_a_length_used_twice_is_not_overwritten(compute):
    x = T.dmatrix()
    weights = np.array([[1.0, 2.0, 3.0]])
    gradient = T.grad((T.diff(x, 2, 0) * weights).sum(), x)
    got = compute([x], [gradient + T.clip(x, -1, 1), x.shape[0] + 1], np.zeros((3, 3)))
    assert got[0].tolist() == [[1, 2, 3], [-2, -4, -6], [1, 2, 3]]
    assert got[1] == 4

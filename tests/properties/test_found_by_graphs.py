"""What random graphs have found, each as the smallest program that shows it."""

import numpy as np
import pytest

import theano
import theano.tensor as T

MODES = {"native": None, "python": theano.Mode("py", "fast_run"), "rewrites off": theano.Mode("py", None)}


@pytest.fixture(params=MODES)
def compute(request):
    """A function that computes outputs of inputs at values; rewrites must not fail."""

    def compute_outputs(inputs, outputs, *values):
        with theano.config.change_flags(on_opt_error="raise"):
            return theano.function(inputs, outputs, mode=MODES[request.param], on_unused_input="ignore")(*values)

    return compute_outputs


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
    least = T.grad((T.argsort(x).min() * x).sum(), x)
    assert compute([x], least, np.array([2.0, 1.0])).tolist() == [0.0, 0.0]


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


def test_rop_where_not_all_inputs_depend_on_the_variable(compute):
    x, c = T.dvector(), T.lvector()
    joined = T.Rop(T.join(0, c, x * 2, T.argsort(x)), x, T.constant([1.0, 3.0]))
    vector = T.Rop(T.stack([x[0], T.constant(2.0), x[1]]), x, T.constant([1.0, 3.0]))
    got = compute([x, c], [joined, vector], np.array([5.0, 6.0]), np.array([1]))
    assert got[0].tolist() == [0, 2, 6, 0, 0]
    assert got[1].tolist() == [1, 0, 3]


def test_signs_of_integers_that_wrap_around(compute):
    u, v, x, i = T.TensorType("uint16", ())(), T.TensorType("uint16", ())(), T.dscalar(), T.bscalar()
    outputs = [
        abs(-u), -(-u / x), (-u) / (-v), (-u) * x, x + (-u), x - (-u), -T.max(-T.stack([u, v - v])),
        abs(i * T.constant(8, dtype="int8")), abs(i) * abs(i + i), abs(i * x),
    ]  # fmt: skip
    got = compute([u, v, x, i], outputs, np.uint16(9), np.uint16(3), 2.0, np.int8(25))
    wrapped = 2**16 - 9
    expected = [wrapped, -wrapped / 2, wrapped / (2**16 - 3), wrapped * 2.0, 2.0 + wrapped, 2.0 - wrapped, 9, 56, -30, 50.0]
    np.testing.assert_allclose([g.item() for g in got], expected)
    lowest = compute([i, x], [abs(i) * x, abs(i * x), T.isclose(i, i), T.allclose(i, i)], np.int8(-128), 2.0)
    assert [g.item() for g in lowest] == [-256.0, 256.0, True, True]


def test_bits_of_two_dtypes(compute):
    u, i = T.TensorType("uint32", ())(), T.bscalar()
    got = compute([u, i], [u ^ i, u | i, u & i], np.uint32(7), np.int8(-2))
    assert [g.item() for g in got] == [-7, -1, 6]
    assert {g.dtype.name for g in got} == {"int64"}


def test_increments_that_broadcast_over_a_matrix_of_positions(compute):
    x, i, y = T.dvector(), T.lmatrix(), T.dvector()
    got = compute([x, i, y], T.inc_subtensor(x[i], y), np.array([-3.0]), np.array([[0, 0], [0, -1]]), np.array([1.0, 2.0]))
    assert got.tolist() == [3.0]


def test_debug_mode_evaluates_refused_destroyers_of_constants():
    x = T.dmatrix()
    f = theano.function([x], T.dot(x, x.T) / 4 + 3 * T.eye(2), mode="DEBUG_MODE")
    value = np.array([[3.0, 1.0], [0.5, 0.2]])
    for _ in range(2):
        np.testing.assert_allclose(f(value), value @ value.T / 4 + 3 * np.eye(2))


@pytest.mark.parametrize("mode", ["DEBUG_MODE", theano.compile.NanGuardMode(True, True, True)], ids=["debug", "nan guard"])
def test_index_with_a_slice_that_is_computed_node_by_node(mode):
    x, i, n = T.dtensor3(), T.lvector(), T.lscalar()
    f = theano.function([x, i, n], x[i, ::n, :] * 2, mode=mode)
    value = np.arange(30.0).reshape(5, 2, 3)
    np.testing.assert_array_equal(f(value, np.array([4, 0]), 2), value[[4, 0], ::2, :] * 2)


@pytest.mark.parametrize("k,indices", [(2, [0, 2]), (4, [0, 2, 4, 1]), (-1, [1]), (-3, [1, 3, 0]), (5, [0, 2, 4, 1, 3])])
def test_order_of_equal_elements(compute, k, indices):
    x = T.lvector()
    values, index = compute([x], T.topk_and_argtopk(x, k), np.array([5, 1, 5, 1, 5]))
    assert index.tolist() == indices
    assert values.tolist() == [5 if i % 2 == 0 else 1 for i in indices]


def test_absolute_value_of_elements_next_to_a_slice(compute):
    x, mask = T.dmatrix(), T.bvector()
    got = compute([x, mask], abs(x[:, T.neq(mask, 0)]), np.array([[-1.0, 2.0], [3.0, -4.0]]), np.array([0, 1], "int8"))
    assert got.tolist() == [[2.0], [4.0]]


def test_direction_through_sorted_elements_of_length_one(compute):
    """What is gathered has no dimension of length one by its type, the sorted array has."""
    x = T.drow()
    point = np.array([[3.0, 5.0]])
    for build in (T.sort, lambda y: T.topk(y, 2), lambda y: T.sort(y, axis=0)):
        result = T.Rop(build(2 * x) - 1, x, T.addbroadcast(T.constant(point), 0))
        assert result.type == build(x).type
        assert sorted(compute([x], result, np.array([[2.0, 1.0]])).ravel()) == [6, 10]


def test_direction_through_truth_values(compute):
    x = T.dvector()
    assert compute([x], T.Rop(T.switch(T.any(x), x, 0), x, T.ones_like(x)), np.array([1.0, 2.0])).tolist() == [1, 1]


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_negative_numbers_that_become_unsigned_wrap_around(compute, dtype, source):
    x = T.vector(dtype=source)
    value = np.array([-1.5, -2.75, -200.0, 3.25, 100.0] * 5, source)
    got = compute([x], T.cast(x, dtype), value)
    assert got.dtype == dtype
    assert got.tolist() == [int(v) % 2 ** np.iinfo(dtype).bits for v in value]


def test_sums_of_rows_next_to_a_row_of_another_length(compute):
    x, r = T.imatrix(), T.drow()
    total = x.sum(axis=1, keepdims=True)
    a, b = np.arange(8, dtype="int32").reshape(2, 4), np.array([[1.0, 2.0]])
    got = compute([x, r], [total - r, T.isclose(total, r), T.exp(total * r / 100) + 1], a, b)
    s = a.sum(axis=1, keepdims=True)
    for result, expected in zip(got, [s - b, np.isclose(s, b), np.exp(s * b / 100) + 1], strict=True):
        np.testing.assert_allclose(result, expected)


def test_products_with_a_row_of_matrices_of_other_heights(compute):
    x, z, r, c = T.dmatrix(), T.dmatrix(), T.drow(), T.dcol()
    a, b, u, v = np.ones((2, 4)), np.ones((5, 4)), np.full((1, 4), 2.0), np.full((5, 1), 3.0)
    got = compute([x, z, r, c], [x + r, z * r, c - r, (z * r).sum(axis=1), x.sum(axis=0) + r[0]], a, b, u, v)
    for result, expected in zip(got, [a + u, b * u, v - u, (b * u).sum(axis=1), a.sum(axis=0) + u[0]], strict=True):
        np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("optimizer", [None, "fast_compile", "fast_run"])
@pytest.mark.parametrize("reduction", [T.sum, T.prod, T.max, T.mean])
def test_reduction_over_a_dimension_that_is_one_by_its_type(optimizer, reduction):
    x, y = T.TensorType("int16", (True, False))(), T.drow()
    reduced = reduction(x, axis=0)
    outputs = [reduced + y, T.switch(y > 1, y, reduced), reduced.dimshuffle("x", 0) * 2 + y * y]
    f = theano.function([x, y], outputs, mode=theano.Mode("cvm", optimizer))
    a, b = np.array([[1, 2, 3]], "int16"), np.array([[0.5, 1.5, 2.5]])
    for got, expected in zip(f(a, b), [a + b, np.where(b > 1, b, a), a * 2 + b * b], strict=True):
        np.testing.assert_allclose(got, expected)


def test_split_into_one_part_needs_one_size(compute):
    x, sizes = T.dmatrix(), T.lvector()
    whole = T.split(x, sizes, 1, axis=0)
    value = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(compute([x, sizes], whole, value, np.array([4])), value)
    for wrong in ([4, 0], [3], []):
        with pytest.raises((ValueError, AssertionError, IndexError)):
            compute([x, sizes], whole, value, np.array(wrong, "int64"))


def test_inverse_of_what_is_no_permutation(compute):
    """The place that no integer names is 0, not what was in memory."""
    x = T.lmatrix()
    got = compute([x], T.inverse_permutation(x), np.array([[1, 0, 2, 1], [3, 3, 3, 3]]))
    assert got.tolist() == [[1, 3, 2, 0], [0, 0, 0, 3]]

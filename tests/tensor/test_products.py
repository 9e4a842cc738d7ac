"""Dot products of every rank, tensordot, batched products, outer, covariance, and their gradients and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
from tests.tensor.helpers import PLAIN, assert_like_numpy, evaluate
from theano import tensor as T

few = settings(max_examples=30, deadline=None)


def rand(*shape):
    return np.asarray(np.random.RandomState(sum(shape)).rand(*shape))


@pytest.mark.parametrize(
    "a, b",
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), (2, 3)), ((2, 3), ()), ((2, 3, 4), (4,)),
     ((2, 3, 4), (5, 4, 2)), ((3,), (2, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3))],
)
def test_dot_agrees_with_numpy(a, b):
    assert_like_numpy(T.dot, np.dot, rand(*a), rand(*b))
    if 0 not in a + b:
        theano.gradient.verify_grad(T.dot, [rand(*a), rand(*b)], rng=np.random.RandomState(0), mode=PLAIN)


@pytest.mark.parametrize("a, b", [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
                                  ((2, 5, 2, 3), (2, 5, 3, 4)), ((3,), (3,)), ((3,), (5, 3, 4))])
def test_matmul_agrees_with_numpy(a, b):
    assert_like_numpy(T.matmul, np.matmul, rand(*a), rand(*b), shape=False)


def test_dot_knows_dtypes_and_patterns():
    assert T.dot(T.fmatrix(), T.dvector()).dtype == "float64"
    assert T.dot(T.imatrix(), T.fmatrix()).dtype == "float64"
    assert T.dot(T.drow(), T.dmatrix()).broadcastable == (True, False)
    assert str(T.dot(T.dmatrix(), T.dmatrix()).owner.op) == "dot"
    with pytest.raises(TypeError):
        T.Dot()(T.dtensor3(), T.dmatrix())
    with pytest.raises(TypeError):
        T.Dot()(T.dmatrix())
    with pytest.raises(ValueError):
        evaluate(T.dot, rand(2, 3), rand(2, 3))


@few
@given(st.data())
def test_tensordot_agrees_with_numpy(data):
    summed = data.draw(st.lists(st.integers(1, 3), max_size=2))
    a_rest = data.draw(st.lists(st.integers(1, 3), max_size=2))
    b_rest = data.draw(st.lists(st.integers(1, 3), max_size=2))
    a_shape, b_shape = summed + a_rest, summed + b_rest
    a_order = data.draw(st.permutations(range(len(a_shape))))
    b_order = data.draw(st.permutations(range(len(b_shape))))
    a, b = rand(*a_shape).transpose(a_order), rand(*b_shape).transpose(b_order)
    axes = [[a_order.index(i) for i in range(len(summed))], [b_order.index(i) for i in range(len(summed))]]
    assert_like_numpy(lambda x, y: T.tensordot(x, y, axes), lambda x, y: np.tensordot(x, y, axes), a, b)


@pytest.mark.parametrize("axes", [0, 1, 2, (1, 0), (1, (0,)), ([2], 1), ((1, 2), (0, 1))])
def test_tensordot_by_numbers_of_axes(axes):
    assert_like_numpy(lambda x, y: T.tensordot(x, y, axes), lambda x, y: np.tensordot(x, y, axes), rand(2, 3, 3), rand(3, 3, 2))
    theano.gradient.verify_grad(
        lambda x, y: T.tensordot(x, y, axes), [rand(2, 3, 3), rand(3, 3, 2)], rng=np.random.RandomState(0), mode=PLAIN
    )


@pytest.mark.parametrize("axes", [4, -1, 1.5, [[0]], [[0], [0, 1]], [[3], [0]], [[0, 0], [0, 1]]])
def test_bad_axes_of_tensordot(axes):
    with pytest.raises(ValueError):
        T.tensordot(T.dtensor3(), T.dtensor3(), axes)


@pytest.mark.parametrize("a, b, expression", [
    ((4, 2, 3), (4, 3, 5), "bij,bjk->bik"), ((4, 2, 3), (4, 3), "bij,bj->bi"), ((4, 3), (4, 3, 5), "bj,bjk->bk"),
    ((4, 3), (4, 3), "bj,bj->b"), ((4,), (4, 3, 5), "b,bjk->bjk"), ((4, 2, 3), (4,), "bij,b->bij"),
])
def test_batched_dot(a, b, expression):
    assert_like_numpy(T.batched_dot, lambda x, y: np.einsum(expression, x, y), rand(*a), rand(*b))
    theano.gradient.verify_grad(T.batched_dot, [rand(*a), rand(*b)], rng=np.random.RandomState(0), mode=PLAIN)


def test_batched_tensordot():
    a, b = rand(4, 2, 3, 5), rand(4, 5, 3, 2)
    assert_like_numpy(
        lambda x, y: T.batched_tensordot(x, y, [[2, 3], [2, 1]]), lambda x, y: np.einsum("bijk,bkjl->bil", x, y), a, b
    )
    assert_like_numpy(
        lambda x, y: T.batched_tensordot(x, y, 0), lambda x, y: np.einsum("bij,bkl->bijkl", x, y), rand(2, 3, 2), rand(2, 2, 3)
    )
    with pytest.raises(ValueError):
        T.batched_tensordot(T.dtensor3(), T.dtensor3(), [[0], [1]])
    with pytest.raises(TypeError):
        T.batched_dot(T.dscalar(), T.dmatrix())


def test_outer_and_covariance():
    assert_like_numpy(T.outer, np.outer, rand(2, 2), rand(3))
    for kwargs in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 0}):
        assert_like_numpy(lambda x: T.cov(x, **kwargs), lambda x: np.cov(x, **kwargs), rand(3, 5), shape=False)
    assert_like_numpy(lambda x, y: T.cov(x, y), np.cov, rand(2, 5), rand(1, 5), shape=False)


def test_r_operator_of_dot():
    x, y, v, w = T.dmatrices(4)
    values = [rand(3, 3) * (i + 1) for i in range(4)]
    got = theano.function([x, y, v, w], T.Rop(T.dot(x, y), [x, y], [v, w]), mode=PLAIN)(*values)
    np.testing.assert_allclose(got, values[2] @ values[1] + values[0] @ values[3])


@pytest.fixture(scope="module", params=["float32", "float64"])
def sums_of_products(request):
    a, b, c = (T.TensorType(request.param, (False, False))() for _ in range(3))
    return request.param, theano.function([a, b, c], [T.dot(a, b), c - 0.5 * T.dot(a, b)])


def laid_out(array, layout):
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "reversed":
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "part":
        return np.pad(array, ((1, 2), (3, 1)))[1:-2, 3:-1]
    return array


@settings(max_examples=150, deadline=None)
@given(
    rows=st.integers(0, 18), depth=st.one_of(st.integers(0, 70), st.sampled_from([255, 256, 257, 600])),
    columns=st.one_of(st.integers(0, 70), st.just(512)), turned=st.booleans(),
    layouts=st.tuples(*[st.sampled_from(["C", "F", "reversed", "part"])] * 3),
)
def test_products_of_few_rows_or_columns(sums_of_products, rows, depth, columns, layouts, turned):
    dtype, f = sums_of_products
    if turned:
        rows, columns = columns, rows
    rng = np.random.RandomState(depth)
    shapes = (rows, depth), (depth, columns), (rows, columns)
    a, b, c = (laid_out(rng.randint(-4, 5, shape).astype(dtype), layout) for shape, layout in zip(shapes, layouts, strict=True))
    product, total = f(a, b, c)
    # Of small integers sums are exact in any order.
    np.testing.assert_array_equal(product, a @ b)
    np.testing.assert_array_equal(total, c - a @ b / 2)


def test_a_result_does_not_depend_on_its_place():
    a, b = T.fmatrix(), T.fmatrix()
    f = theano.function([a, b], T.dot(a, b))
    rng = np.random.RandomState(0)
    row, column = rng.randn(1, 300).astype("float32"), rng.randn(300, 1).astype("float32")
    for rows, columns in ((3, 37), (6, 16), (8, 50)):
        found = f(np.repeat(row, rows, 0), np.repeat(column, columns, 1))
        assert (found == found[0, 0]).all()

"""Gradients and R-operators of matrix decompositions and equations, against finite differences."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, assert_like_numpy, evaluate, variable_like
from theano import tensor as T
from theano.tensor import nlinalg, slinalg

SQUARE = np.random.RandomState(0).rand(4, 4) + np.eye(4)
TALL = np.random.RandomState(1).rand(5, 3)
WIDE = np.random.RandomState(2).rand(3, 5)
POSITIVE = SQUARE @ SQUARE.T
SHAPES = [SQUARE, TALL, WIDE]


def verify(function, *values):
    """Compare gradient and R-operator with finite differences."""
    theano.gradient.verify_grad(function, list(values), rng=np.random.RandomState(3), mode=PLAIN)
    variables = [variable_like(v) for v in values]
    out = function(*variables)
    f = theano.function(variables, out, mode=PLAIN)
    directions = [np.random.RandomState(i).rand(*v.shape) for i, v in enumerate(values)]
    moved = theano.function(variables, T.Rop(out, variables, [T.constant(d) for d in directions]), mode=PLAIN)(*values)
    step = 1e-6
    after = f(*[v + step * d for v, d in zip(values, directions)])
    before = f(*[v - step * d for v, d in zip(values, directions)])
    np.testing.assert_allclose(moved, (after - before) / (2 * step), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("value", SHAPES, ids=["square", "tall", "wide"])
def test_singular_value_decomposition(value):
    for i in range(3):
        verify(lambda x: nlinalg.svd(x, full_matrices=False)[i], value)
    verify(lambda x: nlinalg.svd(x)[1], value)
    verify(lambda x: nlinalg.svd(x, compute_uv=False), value)

    def rebuilt(x):
        u, s, v = nlinalg.svd(x, full_matrices=False)
        return T.dot(u * s**2, v)

    verify(rebuilt, value)


def test_square_factors_of_a_matrix_that_is_not_square_have_no_gradient():
    verify(lambda x: nlinalg.svd(x)[0], SQUARE)
    verify(lambda x: nlinalg.svd(x)[2], SQUARE)
    verify(lambda x: nlinalg.qr(x, "complete")[0], SQUARE)
    for build in (lambda x: nlinalg.svd(x)[0], lambda x: nlinalg.qr(x, "complete")[0]):
        with pytest.raises(AssertionError, match="square matrix"):
            evaluate(lambda x: T.grad(build(x).sum(), x), TALL)


@pytest.mark.parametrize("value", [SQUARE, TALL], ids=["square", "tall"])
def test_qr_decomposition(value):
    for build in (lambda x: nlinalg.qr(x)[0], lambda x: nlinalg.qr(x)[1], lambda x: nlinalg.qr(x, "r")):
        verify(build, value)


def test_qr_decomposition_of_a_wide_matrix_has_no_gradient():
    with pytest.raises(AssertionError, match="rows"):
        evaluate(lambda x: T.grad(nlinalg.qr(x)[1].sum(), x), WIDE)


@pytest.mark.parametrize("value", SHAPES, ids=["square", "tall", "wide"])
def test_least_squares(value):
    for y in (np.arange(1.0, len(value) + 1), np.random.RandomState(4).rand(len(value), 2)):
        verify(lambda x, y: nlinalg.lstsq()(x, y, -1)[0], value, y)
        assert_like_numpy(lambda x, y: nlinalg.lstsq()(x, y, -1)[0], lambda x, y: np.linalg.lstsq(x, y, -1)[0], value, y)
        assert_like_numpy(lambda x, y: nlinalg.lstsq()(x, y, -1)[3], lambda x, y: np.linalg.lstsq(x, y, -1)[3], value, y)


def test_residuals_of_least_squares():
    y = np.random.RandomState(4).rand(5, 2)
    verify(lambda x, y: nlinalg.lstsq()(x, y, -1)[1], TALL, y)


def test_tensor_inverses_and_equations():
    identity = np.eye(6)
    noise = np.random.RandomState(6).rand(6, 6) / 4
    verify(nlinalg.tensorinv, (identity + noise).reshape(2, 3, 6, 1))
    verify(lambda x: nlinalg.tensorinv(x, ind=1), (identity + noise).reshape(6, 2, 3))
    a, b = (identity + noise).reshape(2, 3, 6), np.random.RandomState(7).rand(2, 3)
    verify(nlinalg.tensorsolve, a, b)
    assert_like_numpy(nlinalg.tensorsolve, np.linalg.tensorsolve, a, b)
    a, b = (identity + noise).reshape(2, 6, 3), np.random.RandomState(7).rand(6)
    verify(lambda a, b: nlinalg.tensorsolve(a, b, axes=(0, 2)), a, b)
    assert_like_numpy(
        lambda a, b: nlinalg.tensorsolve(a, b, axes=(0, 2)), lambda a, b: np.linalg.tensorsolve(a, b, axes=(0, 2)), a, b
    )


def test_directions_of_the_other_decompositions():
    verify(nlinalg.pinv, TALL)
    verify(nlinalg.pinv, WIDE)
    for part in (0, 1):
        for triangle in "LU":
            verify(lambda x: nlinalg.eigh(x, triangle)[part], POSITIVE)
    verify(slinalg.cholesky, POSITIVE)
    verify(slinalg.Cholesky(lower=False), POSITIVE)
    verify(slinalg.expm, SQUARE / 4)
    for right in (np.arange(4.0), np.random.RandomState(8).rand(4, 2)):
        verify(slinalg.solve, SQUARE, right)
        verify(slinalg.solve_lower_triangular, np.tril(SQUARE), right)
        verify(slinalg.solve_upper_triangular, np.triu(SQUARE), right)


def test_eigenvalues_of_a_general_matrix_have_no_gradient():
    x = T.dmatrix()
    with pytest.raises(theano.gradient.NullTypeGradError, match="eigh"):
        T.grad(nlinalg.eig(x)[0].sum(), x)

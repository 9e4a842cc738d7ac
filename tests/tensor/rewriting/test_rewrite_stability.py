"""Stable forms keep their precision where the naive ones lose it."""

import mpmath
import numpy as np
import pytest

import theano
import theano.tensor as T

x, y = T.dvectors("x", "y")
m = T.dmatrix("m")
FAST = theano.Mode("py", "fast_run")
mpmath.mp.dps = 60


def exact(formula, *values):
    return np.array([float(formula(*[mpmath.mpf(float(v)) for v in row])) for row in zip(*values)])


@pytest.mark.parametrize(
    ("build", "formula", "points"),
    [
        (lambda: T.log(1 + x), lambda a: mpmath.log1p(a), [1e-20, 1e-10, 0.5, 1e10]),
        (lambda: T.log(1 - x), lambda a: mpmath.log1p(-a), [1e-20, 1e-10, 0.5]),
        (lambda: T.exp(x) - 1, lambda a: mpmath.expm1(a), [1e-20, -1e-10, 0.5]),
        (lambda: 1 - T.exp(x), lambda a: -mpmath.expm1(a), [1e-20, -1e-10, 0.5]),
        (lambda: 1 - T.erf(x), lambda a: mpmath.erfc(a), [0.5, 5.0, 10.0]),
        (lambda: T.erf(x) - 1, lambda a: -mpmath.erfc(a), [0.5, 5.0, 10.0]),
        (lambda: 1 + T.erf(x), lambda a: mpmath.erfc(-a), [-10.0, -5.0, 0.5]),
        (lambda: 1 - T.erfc(x), lambda a: mpmath.erf(a), [1e-20, 0.5, 2.0]),
        (lambda: T.log(T.erfc(x)), lambda a: mpmath.log(mpmath.erfc(a)), [-2.0, 0.5, 5.0, 30.0, 100.0]),
    ],
)
def test_one_argument(build, formula, points):
    f = theano.function([x], build(), mode=FAST)
    np.testing.assert_allclose(f(np.array(points)), exact(formula, points), rtol=4e-15)


def test_log_of_a_sum_of_exponentials_does_not_overflow():
    f = theano.function([x, y], T.log(T.exp(x) + T.exp(y)), mode=FAST)
    a, b = np.array([1e4, 1.0, -1e4, 3.0]), np.array([9999.0, 2.0, -1e4, -40.0])
    np.testing.assert_allclose(f(a, b), np.logaddexp(a, b), rtol=1e-15)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_log_sum_exp(axis):
    value = np.array([[1000.0, 1000.0, -1000.0], [-1e4, -1e4, -1e4]])
    f = theano.function([m], T.log(T.sum(T.exp(m), axis=axis)), mode=FAST)
    np.testing.assert_allclose(f(value), np.logaddexp.reduce(value, axis=axis), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_log_of_a_wider_sum_of_exponentials_does_not_overflow(dtype):
    v = T.vector(dtype=dtype)
    f = theano.function([v], T.log(T.sum(T.exp(v), dtype="float64")), mode=FAST)
    for a in (-800, 800):
        # The differences are of the dtype of the terms.
        np.testing.assert_allclose(f(np.array([a, a + 1], dtype)), np.logaddexp(a, a + 1), rtol=1e-3)


def test_quotients_by_the_sigmoids_of_a_row_cancel():
    row, col, s = T.drow(), T.dcol(), T.nnet.sigmoid
    f = theano.function([m, row, col], s(row) * (m + row / (s(row) * s(col))), mode=FAST)
    ones = np.ones((2, 3))
    one = 1 / (1 + np.exp(-1))
    expected = [-800 / one, 1 + 800 / one, one + 1 / one]
    np.testing.assert_allclose(f(ones, [[-800, 800, 1.0]], ones[:, :1]), [expected] * 2, rtol=1e-6)


def test_gradient_of_a_sum_of_quotients_by_one_sigmoid_is_finite_at_its_tails():
    s = T.nnet.sigmoid(x)
    total = -1 / s + y / s + (1 - T.nnet.sigmoid(2 * x)) / s
    f = theano.function([x, y], T.grad((total - total * T.nnet.sigmoid(-x)).sum(), x), mode=FAST)
    np.testing.assert_allclose(f([-800.0, -40, 1, 40], [3.0, 4, 5, 6]), [0, 0, -0.20998717, 0], atol=1e-8)


def test_gradient_of_log_erfc():
    f = theano.function([x], T.grad(T.log(T.erfc(x)).sum(), x), mode=FAST)
    points = [-2.0, 0.5, 5.0, 30.0]
    wanted = exact(lambda a: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-a * a) / mpmath.erfc(a), points)
    np.testing.assert_allclose(f(np.array(points)), wanted, rtol=1e-13)


@pytest.mark.parametrize("make", [lambda z: T.nnet.sigmoid(z), lambda z: 1 / (1 + T.exp(-z))])
def test_gradient_of_a_binary_crossentropy_is_finite_where_the_sigmoid_saturates(make):
    p = make(x)
    loss = (-y * T.log(p) - (1 - y) * T.log(1 - p)).sum()
    f = theano.function([x, y], [loss, T.grad(loss, x)], mode=FAST)
    points, labels = np.array([-800.0, -40.0, 0.5, 40.0, 800.0]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    value, gradient = f(points, labels)
    np.testing.assert_allclose(value, 800 + np.log1p(np.exp(-0.5)) + 40, rtol=1e-12)
    np.testing.assert_allclose(gradient, 1 / (1 + np.exp(-points)) - labels, rtol=1e-9, atol=1e-15)


def test_log_of_a_sum_of_exponentials_of_integers():
    i, j = T.ivectors("i", "j")
    f = theano.function([i, j], T.log(T.exp(i) + T.exp(j)), mode=FAST)
    a, b = np.array([1, 1000, -3], "int32"), np.array([1, 999, 2], "int32")
    np.testing.assert_allclose(f(a, b), np.logaddexp(a, b), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "build", [lambda z: 1 - T.sqr(T.tanh(z)), lambda z: T.log(1 - T.tanh(z) ** 2), lambda z: z**3 / T.sqr(z)]
)
def test_rewrites_of_real_functions_leave_complex_numbers_alone(build, dtype):
    z = T.TensorType(dtype, (False,))("z")
    values = np.array([0.3 + 0.2j, -1 + 0.5j, 2 - 1j], dtype)
    found, wanted = (theano.function([z], build(z), mode=theano.Mode("py", o))(values) for o in ("fast_run", None))
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == "complex64" else 1e-12)

"""Gradients of scalar ops, through tensors of any rank, against finite differences."""

import numpy as np
import pytest

import theano
import theano.scalar as scal
import theano.tensor as T
from theano.gradient import NullTypeGradError
from theano.scalar.explog import exp_minus_square
from theano.tensor.elemwise import Elemwise

PYTHON = theano.Mode("py", None)

ANY = [-2.3, -0.7, 0.4, 1.9]
POSITIVE = [0.3, 0.9, 1.7, 3.2]
UNIT = [-0.8, -0.2, 0.3, 0.7]
ABOVE_ONE = [1.2, 1.9, 2.5, 4.0]

UNARY = [
    (scal.neg, ANY), (scal.inv, ANY), (scal.abs_, ANY), (scal.sqr, ANY), (scal.log, POSITIVE), (scal.log2, POSITIVE),
    (scal.log10, POSITIVE), (scal.log1p, POSITIVE), (scal.exp, ANY), (scal.exp2, ANY), (scal.expm1, ANY), (exp_minus_square, ANY),
    (scal.sqrt, POSITIVE), (scal.scalar_sigmoid, ANY), (scal.scalar_softplus, ANY), (scal.deg2rad, ANY),
    (scal.rad2deg, ANY), (scal.cos, ANY), (scal.sin, ANY), (scal.tan, UNIT), (scal.arccos, UNIT), (scal.arcsin, UNIT),
    (scal.arctan, ANY), (scal.cosh, ANY), (scal.sinh, ANY), (scal.tanh, ANY), (scal.arccosh, ABOVE_ONE),
    (scal.arcsinh, ANY), (scal.arctanh, UNIT), (scal.erf, ANY), (scal.erfc, ANY), (scal.erfcx, ANY),
    (scal.erfinv, UNIT), (scal.erfcinv, POSITIVE[:3]), (scal.gamma, POSITIVE), (scal.gammaln, POSITIVE),
    (scal.psi, POSITIVE), (scal.j0, ANY), (scal.j1, ANY), (scal.i0, ANY), (scal.i1, ANY), (scal.identity, ANY),
]  # fmt: skip

BINARY = [
    (scal.add, ANY, UNIT), (scal.sub, ANY, UNIT), (scal.mul, ANY, UNIT), (scal.true_div, ANY, UNIT),
    (scal.pow, POSITIVE, ANY), (scal.arctan2, ANY, UNIT), (scal.maximum, ANY, UNIT), (scal.minimum, ANY, UNIT),
    (scal.mod, POSITIVE, ABOVE_ONE),
]  # fmt: skip

ONLY_SECOND = [
    (scal.gammainc, 2.5), (scal.gammaincc, 2.5), (scal.gammau, 2.5), (scal.gammal, 2.5), (scal.jv, 1.5), (scal.iv, 1.5),
]  # fmt: skip

ROUGH = [scal.abs_, scal.psi]


def derivative(function, at: np.ndarray) -> np.ndarray:
    h = 1e-5
    return (function(at + h) - function(at - h)) / (2 * h)


@pytest.mark.parametrize(("op", "points"), UNARY, ids=lambda v: str(v) if isinstance(v, scal.ScalarOp) else "")
def test_unary(op, points):
    x = T.dmatrix("x")
    y = Elemwise(op)(x)
    f = theano.function([x], y, mode=PYTHON)
    g = theano.function([x], T.grad(y.sum(), x), mode=PYTHON)
    at = np.array(points).reshape(2, -1) if len(points) % 2 == 0 else np.array([points])
    np.testing.assert_allclose(g(at), derivative(f, at), rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize(("op", "points"), UNARY, ids=lambda v: str(v) if isinstance(v, scal.ScalarOp) else "")
def test_second_derivative(op, points):
    if op in ROUGH:
        pytest.skip("has no second derivative here")
    x = T.dvector("x")
    first = T.grad(Elemwise(op)(x).sum(), x)
    f = theano.function([x], first, mode=PYTHON)
    g = theano.function([x], T.grad(first.sum(), x, disconnected_inputs="ignore"), mode=PYTHON)
    at = np.array(points)
    np.testing.assert_allclose(g(at), derivative(f, at), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "left", "right"), BINARY, ids=lambda v: str(v) if isinstance(v, scal.ScalarOp) else "")
def test_binary_with_broadcasting(op, left, right):
    x, y = T.dvector("x"), T.dcol("y")
    z = Elemwise(op)(x, y)
    gx, gy = T.grad(z.sum(), [x, y])
    assert (gx.type, gy.type) == (x.type, y.type)
    f = theano.function([x, y], z, mode=PYTHON)
    g = theano.function([x, y], [gx, gy], mode=PYTHON)
    a, b = np.array(left), np.array(right)[:3, None]
    da, db = g(a, b)
    np.testing.assert_allclose(da, derivative(lambda v: f(v, b), a).sum(0), rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(db, derivative(lambda v: f(a, v), b).sum(1, keepdims=True), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "k"), ONLY_SECOND, ids=lambda v: str(v))
def test_second_argument_only(op, k):
    x, order = T.dvector("x"), T.dscalar("k")
    y = Elemwise(op)(order, x)
    f = theano.function([x], y, givens={order: np.float64(k)}, mode=PYTHON)
    g = theano.function([x], T.grad(y.sum(), x), givens={order: np.float64(k)}, mode=PYTHON)
    at = np.array(POSITIVE)
    np.testing.assert_allclose(g(at), derivative(f, at), rtol=2e-5, atol=1e-7)
    with pytest.raises(NullTypeGradError):
        T.grad(y.sum(), order)


def test_chi2sf():
    x, k = T.dvector("x"), T.dscalar("k")
    y = Elemwise(scal.chi2sf)(x, k)
    f = theano.function([x, k], y, mode=PYTHON)
    g = theano.function([x, k], T.grad(y.sum(), x), mode=PYTHON)
    at = np.array(POSITIVE)
    np.testing.assert_allclose(g(at, 3.0), derivative(lambda v: f(v, 3.0), at), rtol=2e-5)


def test_selection():
    c, x, y = T.bvector("c"), T.dvector("x"), T.dvector("y")
    gx, gy = T.grad(T.switch(c, x, y).sum(), [x, y])
    f = theano.function([c, x, y], [gx, gy], mode=PYTHON, on_unused_input="ignore")
    a, b = f([1, 0], [1.0, 2.0], [3.0, 4.0])
    assert a.tolist() == [1, 0] and b.tolist() == [0, 1]
    z = T.dvector("z")
    g = T.grad(T.clip(z, -1.0, 1.0).sum(), z)
    assert theano.function([z], g, mode=PYTHON)([-2.0, 0.5, 3.0]).tolist() == [0, 1, 0]


def test_a_tie_of_maximum_goes_to_the_first():
    x, y = T.dscalars("x", "y")
    f = theano.function([x, y], T.grad(T.maximum(x, y), [x, y]), mode=PYTHON)
    assert [float(v) for v in f(2.0, 2.0)] == [1, 0]


def test_power_at_zero():
    x, y = T.dscalars("x", "y")
    f = theano.function([x, y], T.grad(x**y, [x, y]), mode=PYTHON)
    assert [float(v) for v in f(0.0, 2.0)] == [0, 0]


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "sgn"])
def test_steps_have_gradient_zero(name):
    x = T.dvector("x")
    g = theano.function([x], T.grad(getattr(T, name)(x).sum(), x), mode=PYTHON)
    assert g([0.2, -1.7]).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_an_integer_input_has_the_gradient_of_its_real_value(dtype):
    i, x = T.vector("i", dtype=dtype), T.dvector("x")
    for function in (lambda i, x: i * x, lambda i, x: x / i, T.arctan2, lambda i, x: T.sqrt(i) * x, T.maximum):
        g = T.grad(function(i, x).sum(), i)
        assert g.dtype.startswith("float")
        real = T.dvector("real")
        wanted = T.grad(function(real, x).sum(), real)
        f = theano.function([i, x, real], [g, wanted], mode=PYTHON, on_unused_input="ignore")
        got, expected = f(np.array([3, 100], dtype), [3.0, 4.0], [3.0, 100.0])
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_an_integer_output_passes_no_gradient():
    i, x = T.ivector("i"), T.dvector("x")
    f = theano.function([i, x], T.grad((i * i).sum() + T.cast(x, "int32").sum() + x.sum(), [i, x]), mode=PYTHON)
    gi, gx = f([1, 2], [3.5, 4.0])
    assert gi.dtype == theano.config.floatX and gi.tolist() == [0, 0] and gx.tolist() == [1, 1]


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a * b,
        lambda a, b: a + b * 2,
        lambda a, b: a - b,
        lambda a, b: a / b,
        lambda a, b: T.exp(a * b),
        lambda a, b: T.sin(a) * T.conj(b),
        lambda a, b: T.sqr(a) + T.sqrt(b),
        lambda a, b: T.complex(T.real(a), T.imag(b)) * a,
        lambda a, b: T.complex(abs(a), T.angle(b)),
        lambda a, b: T.complex_from_polar(abs(a), T.real(b)),
    ],
)
def test_complex_numbers(function):
    # The cost is real; the gradient is dC/dRe + i dC/dIm.
    rng = np.random.default_rng(3)
    a0, b0 = (rng.normal(size=(2, 2)) @ [1, 1j] for _ in range(2))
    w = rng.normal(size=2) @ [1, 1j]
    a, b = T.zvector("a"), T.zvector("b")
    out = function(a, b)
    cost = (T.real(out) * w.real + T.imag(out) * w.imag).sum()
    f = theano.function([a, b], cost, mode=PYTHON)
    ga, gb = theano.function([a, b], T.grad(cost, [a, b]), mode=PYTHON)(a0, b0)
    h = 1e-6
    for i in range(2):
        e = np.eye(2)[i] * h
        for g, move in ((ga, lambda d: f(a0 + d, b0)), (gb, lambda d: f(a0, b0 + d))):
            expected = (move(e) - move(-e)) / (2 * h) + 1j * (move(1j * e) - move(-1j * e)) / (2 * h)
            np.testing.assert_allclose(g[i], expected, rtol=1e-5, atol=1e-7)


def test_composite_gradient():
    x, y = scal.float64("x"), scal.float64("y")
    op = Elemwise(scal.Composite([x, y], [scal.exp(x) * y + x, scal.sin(x * y)]))
    a, b = T.dvector("a"), T.dvector("b")
    first, second = op(a, b)
    got = T.grad((first * second).sum(), [a, b])
    wanted = T.grad(((T.exp(a) * b + a) * T.sin(a * b)).sum(), [a, b])
    f = theano.function([a, b], [*got, *wanted], mode=PYTHON)
    r = f([0.3, -1.2], [1.1, 0.4])
    np.testing.assert_allclose(r[:2], r[2:], rtol=1e-12)


def test_r_op_is_the_derivative_along_a_direction():
    x, y, u, v = T.dvectors("x", "y", "u", "v")
    z = T.exp(x) * y + T.tanh(y)
    f = theano.function([x, y, u, v], T.Rop(z, [x, y], [u, v]), mode=PYTHON)
    a, b, c, d = (np.array(p) for p in ([0.1, 0.2], [0.3, -0.4], [1.0, 2.0], [-1.0, 0.5]))
    np.testing.assert_allclose(f(a, b, c, d), np.exp(a) * b * c + (np.exp(a) + 1 - np.tanh(b) ** 2) * d)


def test_scalar_r_op_and_graph_of_scalars():
    x = scal.float64("x")
    assert isinstance(scal.exp.R_op([x], [scal.float64("e")])[0], scal.ScalarVariable)

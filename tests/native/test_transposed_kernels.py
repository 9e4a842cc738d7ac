"""Elementwise kernels over transposed arrays and vectors along either of their axes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T

ORDERS = [p for p in itertools.permutations(range(3)) if p != (0, 1, 2)]


@pytest.fixture(scope="module", params=ORDERS, ids=str)
def permuted(request):
    """Sums and products of two arrays in one order, with what is the same along some of their axes; out of place and in place."""
    x, y = T.dtensor3(), T.dtensor3()
    u, v = T.dvector(), T.dmatrix()

    def build(x, y, u, v):
        a, b = (w.transpose(request.param) if isinstance(w, np.ndarray) else w.dimshuffle(*request.param) for w in (x, y))
        symbolic = not isinstance(u, np.ndarray)
        last, middle = (u.dimshuffle("x", "x", 0), v.dimshuffle(0, "x", 1)) if symbolic else (u[None, None], v[:, None])
        return [a * last + middle, a * 2 + b * middle, (a - middle) * u[0]]

    state = theano.shared(np.zeros((1, 1, 1)))
    inputs = [x, y, u, v]
    turned = state.dimshuffle(*request.param)
    updates = [(state, (turned * u.dimshuffle("x", "x", 0)).dimshuffle(*np.argsort(request.param)))]
    inside = theano.function(inputs, turned.sum(axis=1), updates=updates, on_unused_input="ignore")
    return request.param, build, theano.function(inputs, build(*inputs)), state, inside


@settings(max_examples=25, deadline=None)
@given(lengths=st.tuples(*[st.integers(0, 5)] * 3), fortran=st.booleans())
def test_transposed_arrays(permuted, lengths, fortran):
    order, build, f, state, inside = permuted
    rng = np.random.RandomState(sum(lengths))
    x, y = (rng.randn(*lengths) for _ in range(2))
    if fortran:
        y = np.asfortranarray(y)
    out = tuple(lengths[a] for a in order)
    u, v = rng.randn(out[2]), rng.randn(out[0], out[2])
    if out[2]:
        for found, wanted in zip(f(x, y, u, v), build(x, y, u, v), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
    state.set_value(x)
    np.testing.assert_allclose(inside(x, y, u, v), x.transpose(order).sum(axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(state.get_value(), (x.transpose(order) * u).transpose(np.argsort(order)), rtol=1e-13)


def test_arrays_in_two_orders():
    x, y, u = T.dmatrix(), T.dmatrix(), T.dvector()
    f = theano.function([x, y, u], x.T * u + y)
    a, b, c = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(4, 3) / 7, np.arange(3.0)
    np.testing.assert_allclose(f(a, b, c), a.T * c + b)
    np.testing.assert_allclose(f(np.asfortranarray(a), b, c), a.T * c + b)


def test_rows_that_are_looked_up_and_written():
    table, x, i, u = T.dmatrix(), T.dmatrix(), T.lvector(), T.dvector()
    f = theano.function([table, x, i, u], [table.T[i] * x.T * u, T.set_subtensor(table[i], x.T * u)])
    values, others = np.arange(20.0).reshape(5, 4), np.arange(12.0).reshape(4, 3)
    places, factors = np.array([3, 0, 2]), np.arange(4.0) + 1
    looked_up, written = f(values[:4], others, places, factors)
    np.testing.assert_allclose(looked_up, values[:4].T[places] * others.T * factors)
    wanted = values[:4].copy()
    wanted[places] = others.T * factors
    np.testing.assert_allclose(written, wanted)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128"])
def test_few_elements_that_lie_apart(dtype):
    x, y = T.TensorType(dtype, (False,))(), T.TensorType(dtype, (False,))()
    z = theano.shared(np.zeros(0, dtype))
    f = theano.function([x, y], [x[::-1] * y + y[::-1], x * y[3]], updates=[(z, z[::-1] + x)])
    for n in (4, 5, 7, 42, 43, 63, 64, 65, 85, 86, 128, 129, 200):
        values = (np.arange(6 * n) % 11).astype(dtype)
        rows = values.reshape(6, n)
        for a, b in ((rows[0], rows[1]), (values[: 2 * n: 2], rows[1, ::-1]), (values[: 3 * n][::-3], values[::6])):
            before = values[-n:][::-1]
            z.set_value(before)
            found = f(a, b)
            np.testing.assert_array_equal(found[0], a[::-1] * b + b[::-1])
            np.testing.assert_array_equal(found[1], a * b[3])
            np.testing.assert_array_equal(z.get_value(), before[::-1] + a)

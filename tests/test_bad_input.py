"""Wrong arguments and strange sizes: a clear error, or the right answer."""

import numpy as np
import pytest

import theano
import theano.tensor as T


@pytest.fixture(scope="module")
def f():
    x, y = T.dmatrix("x"), T.dvector("y")
    return theano.function([x, y], T.exp(x) * 2 + y, name="f")


def test_wrong_rank(f):
    with pytest.raises(TypeError, match=r"(?s)\"x\".*dimension"):
        f(np.zeros(3), np.zeros(3))


def test_wrong_dtype(f):
    with pytest.raises(TypeError, match="x"):
        f(np.zeros((2, 3), complex), np.zeros(3))
    with pytest.raises(ValueError, match="x"):
        f("text", np.zeros(3))


def test_lossy_float_is_refused_unless_allowed():
    x = T.fvector("x")
    with pytest.raises(TypeError, match="float32"):
        theano.function([x], x * 2)(np.array([0.1, 0.2]))
    got = theano.function([x], x * 2, allow_input_downcast=True)(np.array([0.1, 0.2]))
    assert got.dtype == np.float32


def test_mismatched_shapes(f):
    with pytest.raises(ValueError, match=r"(?s)Input dimension mis-match.*Apply node that caused the error"):
        f(np.zeros((2, 3)), np.zeros(4))


def test_error_shows_the_users_line():
    x, y = T.dvectors("x", "y")
    z = x + y  # the line that is looked for
    g = theano.function([x, y], z * 2, mode="FAST_COMPILE")
    with pytest.raises(ValueError, match="test_bad_input.py"):
        g(np.zeros(2), np.zeros(3))


def test_missing_and_unknown_arguments(f):
    with pytest.raises(TypeError, match="Missing required input"):
        f(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="Unknown input or state"):
        f(np.zeros((2, 3)), nothing=1)
    with pytest.raises(TypeError):
        f(np.zeros((2, 3)), np.zeros(3), np.zeros(3))


def test_unused_input():
    x, y = T.dscalars("x", "y")
    with pytest.raises(theano.compile.UnusedInputError, match="y"):
        theano.function([x, y], x)
    with pytest.warns(UserWarning):
        theano.function([x, y], x, on_unused_input="warn")
    assert theano.function([x, y], x, on_unused_input="ignore")(1, 2) == 1


def test_missing_input_names_the_variable():
    x, y = T.dscalars("x", "needed")
    with pytest.raises(theano.gof.MissingInputError, match="needed"):
        theano.function([x], x + y)


def test_cycle_through_givens():
    x, y = T.dscalars("x", "y")
    with pytest.raises(AssertionError, match="givens"):
        theano.function([], x, givens={x: y + 1, y: x + 1})


def test_graph_with_inplace_op_is_refused():
    x = T.dvector("x")
    inplace = T.inplace.exp_inplace(x)
    with pytest.raises(TypeError, match="inplace"):
        theano.function([x], inplace)


def test_cycle_through_inplace_ops():
    x = theano.In(T.dvector("x"), mutable=True)
    a, b = T.inplace.exp_inplace(x.variable), T.inplace.neg_inplace(x.variable)
    with pytest.raises(theano.gof.InconsistencyError):
        theano.function([x], [a, b], accept_inplace=True)


def test_nan_and_infinity_pass_through():
    x = T.dvector("x")
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    got = theano.function([x], [x + 1, T.exp(x), T.tanh(x), T.maximum(x, 0), x.max(), x.sum(), T.isnan(x)])(values)
    with np.errstate(all="ignore"):
        want = [values + 1, np.exp(values), np.tanh(values), np.maximum(values, 0), values.max(), values.sum(),
                np.isnan(values)]
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-15)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_empty_arrays(shape):
    x = T.dmatrix("x")
    value = np.ones(shape)
    g = theano.function([x], [T.exp(x), x.sum(), x.sum(axis=0), x.prod(axis=1), T.dot(x, x.T), x.T, x[1:], x.reshape((-1,))])
    want = [np.exp(value), value.sum(), value.sum(0), value.prod(1), value @ value.T, value.T, value[1:], value.reshape(-1)]
    for got, expected in zip(g(value), want):
        np.testing.assert_allclose(got, expected, rtol=1e-15)
        assert got.shape == expected.shape


def test_maximum_of_nothing():
    x = T.dvector("x")
    with pytest.raises(ValueError):
        theano.function([x], x.max())(np.zeros(0))


def test_more_elements_than_an_int_can_count():
    """2**31 elements that take one byte of memory, by a stride of zero."""
    n = 2**31 + 3
    x = T.TensorType("int8", (False,))("x")
    value = np.lib.stride_tricks.as_strided(np.ones(1, "int8"), (n,), (0,))
    g = theano.function([x], [x.shape[0], x.sum(), x[-1], T.eq(x, 1).all()])
    size, total, last, equal = g(value)
    assert (int(size), int(total), int(last), bool(equal)) == (n, n, 1, True)


def test_too_large_allocation_is_a_memory_error():
    n = T.lscalar("n")
    g = theano.function([n], T.zeros((n, n)) + 1)
    assert g(2).shape == (2, 2)
    with pytest.raises((MemoryError, ValueError)):
        g(2**40)
    assert g(2).shape == (2, 2)


def test_strange_layouts():
    rng = np.random.RandomState(0)
    base = rng.rand(6, 8)
    x = T.dmatrix("x")
    g = theano.function([x], [T.exp(x) + x, x.sum(axis=0), x.sum(axis=1), T.dot(x, x.T)])
    for value in (base[::-1], base[:, ::-2], np.asfortranarray(base), base.T, base[1:4, 2:7], base.astype(">f8")):
        native = np.array(value, dtype=float)
        for got, want in zip(g(value), [np.exp(native) + native, native.sum(0), native.sum(1), native @ native.T]):
            np.testing.assert_allclose(got, want, rtol=1e-12)

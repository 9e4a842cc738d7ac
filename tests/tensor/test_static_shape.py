"""What a graph says of its lengths before it runs is so when it runs; and where it says nothing, nothing is refused."""

import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.static_shape import known_shape

KNOWN = {
    "constant": (T.constant(np.zeros((2, 3))), (2, 3)),
    "alloc": (T.zeros((2, 1, 3)), (2, 1, 3)),
    "empty": (T.AllocEmpty("float64")(2, 0), (2, 0)),
    "eye": (T.eye(2, 3), (2, 3)),
    "arange": (T.arange(7, 0, -2), (4,)),
    "arange of nothing": (T.arange(3, 3), (0,)),
    "vector": (T.stack([T.constant(1.0), T.constant(2.0) ** 2]), (2,)),
    "transposed": (T.ones((2, 3)).dimshuffle(1, "x", 0), (3, 1, 2)),
    "reshaped": (T.arange(6).reshape((3, 2)), (3, 2)),
    "reshaped, one free": (T.arange(6).reshape((-1, 2)), (None, 2)),
    "sum": (T.ones((2, 3, 4)).sum(axis=1), (2, 4)),
    "sum, kept": (T.ones((2, 3)).sum(axis=0, keepdims=True), (1, 3)),
    "dot": (T.dot(T.ones((2, 3)), np.ones((3, 4))), (2, 4)),
    "dot of a vector": (T.dot(T.ones((2, 3)), np.ones(3)), (2,)),
    "elementwise": (T.exp(T.ones((2, 3))) + np.ones((1, 3)) * T.ones((2, 1)), (2, 3)),
    "rows": (T.ones((5, 3))[1:-1:2], (2, 3)),
    "an element of each row": (T.ones((5, 3))[::-1, 1], (5,)),
    "from a position on that is not known": (T.ones((5, 3))[T.constant(2) + 1 :], (None, 3)),
    "chosen rows": (T.ones((5, 3))[[0, 0]], (2, 3)),
    "specified": (T.specify_shape(T.ones((2, 3)) * 2, (2, 3)), (2, 3)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_is_so(name):
    variable, shape = KNOWN[name]
    assert known_shape(variable) == shape
    found = theano.function([], variable, mode="FAST_COMPILE")().shape
    assert all(n in (None, m) for n, m in zip(shape, found, strict=True))


def test_a_deep_graph_that_was_never_asked():
    x = T.ones((2, 3))
    for _ in range(3000):
        x = x.T
    assert known_shape(x + 0) in [(2, 3), (None, None)]


@pytest.mark.parametrize("length", [1, 3])
def test_what_may_fit_is_not_refused(length):
    v, row, n = T.dvector("v"), T.drow("row"), T.lscalar("n")
    total = v + T.ones(3) + row + T.alloc(1.0, n) + T.ones((1,)) + T.ones((2, 1))
    f = theano.function([v, row, n], total)
    assert f(np.ones(3), np.ones((1, 3)), 3).shape == (2, 3)
    with pytest.raises(ValueError, match="mis-match|mismatch"):
        f(np.ones(4), np.ones((1, 3)), 3)
    T.join(0, T.ones((length, 2)), T.ones((4, 2)), T.dmatrix())
    T.dot(T.dmatrix(), T.ones((length, 2)))


def test_what_is_known_of_one_graph_is_not_of_another():
    v = T.dvector("v")
    given = T.specify_shape(v, (3,))
    total = given + T.ones(3)
    assert known_shape(total) == (3,)
    for other in (theano.clone(total, {given: v}), theano.clone(total, {v: T.dvector()}), pickle.loads(pickle.dumps(total))):
        assert known_shape(other) == (3,)
    free = theano.clone(given * 2.0, {given: v})
    assert known_shape(free) == (None,)


def test_a_clash_in_a_branch_that_is_never_taken_is_reported_too():
    with pytest.raises(ValueError, match="3 and 4"):
        theano.ifelse.ifelse(T.lscalar(), T.ones(3) + T.ones(4), T.ones(3))


def test_constants_that_do_not_fit_a_product_are_told_of_when_it_is_built_and_fail_when_it_runs():
    with pytest.warns(UserWarning, match=r"shapes \(2, 3\) and \(4, 2\)") as caught:
        product = T.dot(np.ones((2, 3)), np.ones((4, 2)))
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="aligned|mis"):
        theano.function([], product)()


#: What is built, by how NumPy would run it: nothing that runs is refused, and what is refused does not run.
PLACES = [(slice(None),), (slice(1, 3),), (0,), (-3,), (2,), (slice(None), 1), (slice(3, None),)]
PLACES.append((slice(None), slice(None, None, -2)))


def _outcome(build):
    try:
        return build()
    except (ValueError, IndexError, TypeError) as error:
        return error


@pytest.mark.parametrize("shape", [(3, 2), (1, 4), (0, 2), (2, 1)])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [(), (1,), (2,), (4,), (1, 2), (3, 2), (0, 2), (2, 1)])
def test_what_is_refused_when_it_is_built_fails_in_numpy(shape, place, value):
    array = np.ones(shape)
    x = T.alloc(1.0, *shape)
    part, expected = _outcome(lambda: x[place]), _outcome(lambda: array[place])
    assert isinstance(part, IndexError) == isinstance(expected, IndexError)
    if isinstance(part, IndexError) or len(value) > expected.ndim:
        return
    assert known_shape(part) == expected.shape

    def assign():
        array[place] = np.ones(value)

    refused = isinstance(_outcome(lambda: T.set_subtensor(part, T.alloc(2.0, *value) if value else 2.0)), ValueError)
    fails = isinstance(_outcome(assign), ValueError)
    assert fails or not refused
    # A length of 1 that the type tells is all that is left to the run.
    assert refused or not fails or 1 in expected.shape


@pytest.mark.parametrize("shape", [(6,), (2, 3), (0, 3), (1, 1)])
@pytest.mark.parametrize("wanted", [(6,), (3, 2), (-1, 2), (-1, 4), (0, -1), (4, 2), (1,), (-1,), (0, 5), (-1, -1)])
def test_shapes_are_refused_as_numpy_refuses_them(shape, wanted):
    refused = isinstance(_outcome(lambda: T.alloc(1.0, *shape).reshape(wanted)), ValueError)
    fails = isinstance(_outcome(lambda: np.ones(shape).reshape(wanted)), ValueError)
    assert fails or not refused
    assert refused or not fails or wanted in [(-1, -1), (0, -1)]


@pytest.mark.parametrize("value", [(3,), (1,), (0,), (2, 1)])
@pytest.mark.parametrize("shape", [(2, 3), (2, 4), (3, 4), (2, 1)])
def test_values_fill_what_numpy_would_fill(value, shape):
    def fill():
        np.empty(shape)[...] = np.ones(value)

    built = _outcome(lambda: T.alloc(T.alloc(1.0, *value), *shape))
    assert isinstance(built, ValueError) == isinstance(_outcome(fill), ValueError)


def test_loops_of_no_steps_and_lengths_that_are_not_known_are_not_refused():
    rows, _ = theano.scan(lambda row: row[1], sequences=T.ones((0, 4)))
    assert theano.function([], rows)().shape == (0,)
    window, _ = theano.scan(lambda a, b: a + b, sequences={"input": T.ones((1, 4)), "taps": [0, 1]})
    assert theano.function([], window)().shape == (0, 4)
    x, i, n = T.dmatrix(), T.lscalar(), T.lscalar()
    for expression in (x[7], T.ones((3, 4))[i], T.ones(3)[n:][5], T.set_subtensor(x[:2], T.ones((3, 4))), x.reshape((5, 7))):
        assert expression.owner is not None
    T.batched_dot(T.dtensor3(), T.ones((2, 3, 4)))
    T.batched_dot(T.ones((1, 2, 3)), T.ones((4, 3, 2)))

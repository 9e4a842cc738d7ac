"""Random streams in shared variables."""

import copy
import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor import raw_random
from theano.tensor.shared_randomstreams import RandomStreams


def reference(seed, draw):
    """What NumPy draws from the stream of the first variable of RandomStreams(seed), twice."""
    rng = np.random.RandomState(int(np.random.RandomState(seed).randint(2**30)))
    return [draw(rng), draw(rng)]


@pytest.mark.parametrize("symbolic, draw", [
    (lambda s: s.uniform((2, 2)), lambda r: r.uniform(size=(2, 2))),
    (lambda s: s.uniform((3,), low=-1, high=T.constant(np.arange(1.0, 4.0))), lambda r: r.uniform(-1, np.arange(1.0, 4.0), (3,))),
    (lambda s: s.normal((2, 3), avg=-5.0, std=2.0), lambda r: r.normal(-5.0, 2.0, (2, 3))),
    (lambda s: s.binomial((4,), n=5, p=0.8), lambda r: r.binomial(5, 0.8, (4,))),
    (lambda s: s.random_integers((5,), -2, 3), lambda r: r.randint(-2, 4, (5,))),
    (lambda s: s.choice((4,), a=10, replace=False), lambda r: r.choice(10, (4,), replace=False)),
    (lambda s: s.choice((4,), a=3, p=[0.1, 0.2, 0.7]), lambda r: r.choice(3, (4,), p=np.array([0.1, 0.2, 0.7]))),
    (lambda s: s.poisson((4,), lam=5.0), lambda r: r.poisson(5.0, (4,))),
    (lambda s: s.permutation(n=6), lambda r: r.permutation(6)),
    (lambda s: s.permutation((2,), n=4), lambda r: np.array([r.permutation(4) for _ in range(2)])),
    (lambda s: s.multinomial((3,), n=4, pvals=[0.2, 0.8]), lambda r: r.multinomial(4, [0.2, 0.8], (3,))),
])  # fmt: skip
def test_numbers_are_those_of_numpy(symbolic, draw):
    f = theano.function([], symbolic(RandomStreams(234)))
    for expected in reference(234, draw):
        assert np.allclose(f(), expected)


def test_documented_first_numbers():
    assert np.allclose(theano.function([], RandomStreams(987).uniform())(), 0.55056769)


def test_streams_can_be_seeded_again():
    srng = RandomStreams(1)
    u, n = srng.uniform((2,)), srng.normal((2,))
    f = theano.function([], [u, n])
    first = f()
    assert not np.allclose(first[0], f()[0])
    srng.seed(1)
    assert np.allclose(first, f())
    u.rng.set_value(np.random.RandomState(3))
    assert np.allclose(f()[0], np.random.RandomState(3).uniform(size=2))


def test_updates_can_be_left_out():
    srng = RandomStreams(1)
    f = theano.function([], srng.uniform((2,)), no_default_updates=True)
    assert np.allclose(f(), f()) and len(srng.updates()) == 1


def test_the_state_is_copied_by_get_value():
    u = RandomStreams(1).uniform((2,))
    state = u.rng.get_value()
    theano.function([], u)()
    expected = copy.deepcopy(state).uniform(size=2)
    u.rng.set_value(state)
    assert np.allclose(theano.function([], u)(), expected)


def test_shuffled_rows():
    x = T.dmatrix("x")
    f = theano.function([x], RandomStreams(5).shuffle_row_elements(x))
    value = np.arange(12.0).reshape(3, 4)
    assert np.allclose(np.sort(f(value), axis=1), value)


def test_shapes_are_inferred_without_drawing():
    n = T.iscalar("n")
    u = RandomStreams(1).uniform((n, 3))
    f = theano.function([n], u.shape, no_default_updates=True)
    assert f(4).tolist() == [4, 3]
    assert not any(isinstance(node.op, raw_random.RandomFunction) for node in f.maker.fgraph.apply_nodes)


def test_minus_one_takes_the_length_of_an_argument():
    low = T.dvector("low")
    f = theano.function([low], RandomStreams(1).uniform((2, -1), low=low, high=10))
    assert f([9.0, 9.5, 9.9]).shape == (2, 3)
    with pytest.raises(ValueError, match="-1"):
        RandomStreams(1).uniform((-1,))


def test_bad_arguments():
    with pytest.raises(TypeError):
        raw_random.random_state_type.filter(3)
    with pytest.raises(TypeError):
        RandomStreams(1).uniform((2.5,))
    with pytest.raises(ValueError):
        RandomStreams(1).uniform((2,), low=T.dmatrix())


def test_functions_with_streams_can_be_pickled():
    f = theano.function([], RandomStreams(7).uniform((2,)))
    f()
    g = pickle.loads(pickle.dumps(f, -1))
    assert np.allclose(f(), g())

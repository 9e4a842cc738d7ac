"""MRG31k3p random streams."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.sandbox import rng_mrg
from theano.sandbox.multinomial import ChoiceFromUniform
from theano.sandbox.rng_mrg import M1, M2, MRG_RandomStreams, guess_n_streams


def reference(state, n):
    """The generator as published, in Python integers."""
    x, y = [int(s) for s in state[:3]], [int(s) for s in state[3:]]
    out = []
    for _ in range(n):
        x = [(2**22 * x[1] + (2**7 + 1) * x[2]) % int(M1), *x[:2]]
        y = [(2**15 * y[0] + (2**15 + 1) * y[2]) % int(M2), *y[:2]]
        z = (x[0] - y[0]) % int(M1)
        out.append((z or int(M1)) / 2**31)
    return np.array(out)


@pytest.mark.parametrize("seed", [12345, [1, 2, 3, 4, 5, 6]])
def test_one_stream_is_the_published_generator(seed):
    rng = MRG_RandomStreams(seed)
    state = rng.rstate
    f = theano.function([], rng.uniform((3,), nstreams=1, dtype="float64"))
    assert np.array_equal(np.concatenate([f(), f()]), reference(state, 6))


def test_elements_take_turns_among_the_streams():
    rng = MRG_RandomStreams(7)
    u = rng.uniform((5,), nstreams=2, dtype="float64")
    states = rng.state_updates[0][0].get_value()
    a, b = reference(states[0], 3), reference(states[1], 2)
    assert np.array_equal(theano.function([], u)(), [a[0], b[0], a[1], b[1], a[2]])


def test_substreams_are_far_apart():
    rng = MRG_RandomStreams(3)
    states = rng.get_substream_rstates(5, "float64", inc_rstate=False)
    a, b = rng_mrg._jump(72)
    for one, following in zip(states, states[1:]):
        assert np.array_equal(rng_mrg.multMatVect(one, a, M1, b, M2), following)
    assert a[0].tolist() == [1516919229, 758510237, 499121365]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bounds_are_excluded(dtype):
    extreme = rng_mrg.mrg_uniform._scaled(np.array([1, int(M1)], dtype="int64"), dtype)
    assert extreme.dtype == dtype and extreme[0] > 0 and extreme[1] < 1


def test_moments():
    rng = MRG_RandomStreams(11)
    u, n, t, b = theano.function(
        [], [rng.uniform((200, 50), low=-2.0, high=3.0), rng.normal((101, 99), avg=1.5, std=2.0),
             rng.truncated_normal((100, 100)), rng.binomial((5000,), p=0.3)]
    )()  # fmt: skip
    assert u.min() > -2 and u.max() < 3 and abs(u.mean() - 0.5) < 0.05
    assert abs(n.mean() - 1.5) < 0.1 and abs(n.std() - 2) < 0.1
    assert np.abs(t).max() <= 2 / 0.8796 + 1e-3 and abs(t.std() - 1) < 0.05
    assert set(np.unique(b)) == {0, 1} and abs(b.mean() - 0.3) < 0.05 and b.dtype == "int64"


def test_multinomial_and_choice():
    rng, p = MRG_RandomStreams(5), np.array([[0.98, 0.01, 0.01], [0.01, 0.49, 0.5]])
    f = theano.function([], [rng.multinomial(pvals=p, n=3), rng.choice(size=2, p=p, replace=False)])
    draws = [f() for _ in range(100)]
    counts = np.mean([m for m, _ in draws], axis=0)
    assert np.allclose(counts.sum(axis=1), 3) and np.allclose(counts / 3, p, atol=0.1)
    assert all((c[:, 0] != c[:, 1]).all() for _, c in draws)


def test_one_of_one_column_is_broadcastable():
    rng = MRG_RandomStreams(5)
    one, p = T.dcol(), T.dmatrix()
    patterns = [rng.multinomial_wo_replacement(pvals=v, n=n).broadcastable for v, n in ((one, 1), (one, 2), (p, 1))]
    assert patterns == [(False, True), (False, False), (False, False)]


def test_seeding_again_gives_the_same_numbers():
    rng = MRG_RandomStreams(9)
    f = theano.function([], [rng.uniform((4,)), rng.normal((3,))])
    rng.seed(42)
    first, second = f(), f()
    rng.seed(42)
    again = f()
    assert all(np.array_equal(a, b) for a, b in zip(first, again)) and not np.array_equal(first[0], second[0])


@pytest.mark.parametrize("seed", [0, -1, int(M2), [0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, int(M2), 1, 1]])
def test_bad_seeds(seed):
    with pytest.raises(ValueError):
        MRG_RandomStreams(seed)


@pytest.mark.parametrize("size", [(0,), (2, -1), "text", (2.5,)])
def test_bad_sizes(size):
    with pytest.raises(ValueError):
        MRG_RandomStreams(1).uniform(size)


def test_symbolic_sizes():
    x, n = T.dmatrix("x"), T.lscalar("n")
    rng = MRG_RandomStreams(1)
    assert theano.function([x], rng.uniform(x.shape, ndim=2))(np.zeros((2, 5))).shape == (2, 5)
    assert theano.function([n], rng.normal((n, 3)))(4).shape == (4, 3)
    assert rng.uniform((1, 4)).broadcastable == (True, False)


def test_number_of_streams():
    assert guess_n_streams((2, 3)) == 6 and guess_n_streams((10**6,)) == 60 * 256
    with pytest.warns(UserWarning):
        assert guess_n_streams(T.lvector(), warn=True) == 60 * 256


@pytest.mark.parametrize("refused, message", [
    (lambda: MRG_RandomStreams(-3), r"seed should be positive and less than \d+, got -3"),
    (lambda: MRG_RandomStreams([0, 0, 0, 1, 1, 1]), r"should not be all 0, got \[0, 0, 0, 1, 1, 1\]"),
    (lambda: MRG_RandomStreams(3).uniform((2, 0)), r"dimension with value <= 0: \(2, 0\)"),
    (lambda: MRG_RandomStreams(3).uniform(2.5), r"a variable, got 2\.5"),
    (lambda: MRG_RandomStreams(3).uniform(T.lmatrix()), r"vector of integers, got \w*\(int64, matrix\)"),
    (lambda: MRG_RandomStreams(3).multinomial(size=4, pvals=np.ones((1, 1))), "does not use it: 4"),
    (lambda: ChoiceFromUniform("auto")(T.dvector(), T.dvector()), "pvals ndim should be 2, got 1"),
])  # fmt: skip
def test_errors_are_one_text(refused, message):
    with pytest.raises((ValueError, NotImplementedError), match=message) as caught:
        refused()
    assert len(caught.value.args) == 1

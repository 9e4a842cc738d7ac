"""What is drawn has the distribution that it should have; seeds are fixed, so that a bound of 1e-4 never fails by chance."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams

stats = pytest.importorskip("scipy.stats")
LEAST = 1e-4
STREAMS = {"MRG": MRG_RandomStreams, "NumPy": RandomStreams}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_continuous_distributions(name, dtype):
    """Kolmogorov and Smirnov's test."""
    rng = STREAMS[name](1234)
    expressions = [rng.uniform((400, 250), low=-1, high=3, dtype=dtype), rng.normal((400, 250), avg=2, std=3, dtype=dtype)]
    expected = [stats.uniform(-1, 4), stats.norm(2, 3)]
    for sample, distribution in zip(theano.function([], expressions)(), expected, strict=True):
        assert sample.dtype == dtype
        assert stats.kstest(sample.ravel().astype("float64"), distribution.cdf).pvalue > LEAST


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_normals(dtype):
    """What lies beyond the bounds is drawn again in the same direction: nearly, not quite, the distribution."""
    rng = MRG_RandomStreams(1234)
    expressions = [rng.normal((90001,), truncate=True, dtype=dtype), rng.truncated_normal((90001,), avg=1, std=2, dtype=dtype)]
    width = 2 / 0.87962566103423978
    for sample, (mean, std) in zip(theano.function([], expressions)(), [(0, 1), (1, width)], strict=True):
        assert sample.dtype == dtype and np.abs((sample - mean) / std).max() <= 2 + 1e-5
        assert stats.kstest(sample.astype("float64"), stats.truncnorm(-2, 2, mean, std).cdf).statistic < 0.012
        assert abs(sample.mean() - mean) / std < 0.02


@pytest.mark.parametrize("name", STREAMS)
def test_trials(name):
    rng, p = STREAMS[name](77), np.array([0.0, 0.02, 0.3, 0.5, 0.77, 1.0])
    n = 40000
    drawn = theano.function([], rng.binomial((n, 6), p=p))().sum(0)
    assert drawn[0] == 0 and drawn[-1] == n
    for count, chance in zip(drawn[1:-1], p[1:-1]):
        assert stats.binomtest(int(count), n, chance).pvalue > LEAST


def test_discrete_distributions_of_numpys_streams():
    rng = RandomStreams(11)
    n = 50000
    integers, binomial, permutations = theano.function(
        [], [rng.random_integers((n,), 3, 12), rng.binomial((n,), n=9, p=0.35), rng.permutation((24000,), n=4)]
    )()
    assert stats.chisquare(np.bincount(integers - 3, minlength=10)).pvalue > LEAST
    expected = stats.binom(9, 0.35).pmf(np.arange(10)) * n
    assert stats.chisquare(np.bincount(binomial, minlength=10), expected).pvalue > LEAST
    codes = permutations @ [64, 16, 4, 1]
    assert stats.chisquare(np.unique(codes, return_counts=True)[1]).pvalue > LEAST and len(set(codes)) == 24


def test_columns_come_up_by_their_probabilities():
    rng, p = MRG_RandomStreams(5), np.array([[0.1, 0.2, 0.3, 0.4]])
    rows = np.repeat(p, 20000, axis=0)
    counts, choice = theano.function([], [rng.multinomial(pvals=rows, n=2), rng.choice(size=2, p=rows, replace=False)])()
    assert stats.chisquare(counts.sum(0), 40000 * p[0]).pvalue > LEAST
    # Without replacement the pair (i, j) has the chance p[i] p[j] / (1 - p[i]).
    pairs = np.array([[0 if i == j else p[0, i] * p[0, j] / (1 - p[0, i]) for j in range(4)] for i in range(4)])
    seen = np.zeros((4, 4))
    np.add.at(seen, (choice[:, 0], choice[:, 1]), 1)
    assert (seen[pairs == 0] == 0).all()
    assert stats.chisquare(seen[pairs > 0], 20000 * pairs[pairs > 0]).pvalue > LEAST


def test_substreams_and_neighbours_are_not_correlated():
    """Of 64 streams with 4000 numbers each, in the order in which they are drawn."""
    sample = theano.function([], MRG_RandomStreams(99).uniform((4000, 64), nstreams=64, dtype="float64"))()
    between = np.corrcoef(sample.T)[np.triu_indices(64, 1)]
    # Correlations of independent samples are nearly normal; the largest of 2016 stays below 4.5 deviations.
    assert np.abs(between).max() * np.sqrt(4000) < 4.5
    assert stats.kstest(between * np.sqrt(4000), stats.norm.cdf).pvalue > LEAST
    for lag in (1, 2, 3, 64):
        flat = sample.ravel() - 0.5
        assert abs(np.mean(flat[lag:] * flat[:-lag]) * 12) * np.sqrt(flat.size) < 4


def test_streams_of_several_variables_are_not_correlated():
    rng = MRG_RandomStreams(3)
    one, other = theano.function([], [rng.uniform((30000,)), rng.uniform((30000,))])()
    assert abs(np.corrcoef(one, other)[0, 1]) * np.sqrt(30000) < 4


def test_calls_draw_other_numbers_than_the_calls_before():
    x = T.dvector()
    rng = MRG_RandomStreams(3)
    f = theano.function([x], rng.binomial(x.shape, p=0.5, ndim=1) * x)
    drawn = np.array([f(np.ones(256)) for _ in range(200)])
    assert len(np.unique(drawn, axis=0)) == 200
    assert stats.chisquare([drawn.sum(), drawn.size - drawn.sum()]).pvalue > LEAST

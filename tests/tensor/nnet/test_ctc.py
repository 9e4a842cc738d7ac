"""The loss of CTC: against the sum over all paths, at extremes, its gradient, padding, views, threads, errors."""

import itertools

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, evaluate
from theano import tensor as T
from theano.tensor.nnet.ctc import ConnectionistTemporalClassification, ctc, ctc_available

MODES = pytest.mark.parametrize("mode", [PLAIN, None], ids=["python", "native"])


def batch(times, size, symbols, longest, seed=0, scale=1.0):
    rng = np.random.RandomState(seed)
    x = (rng.randn(times, size, symbols) * scale).astype("float32")
    labels = np.full((size, longest), -1, "int32")
    lengths = rng.randint(1, times + 1, size).astype("int32")
    for b in range(size):
        n = rng.randint(0, min(longest, lengths[b]) + 1)
        # Padding may stand anywhere.
        labels[b, np.sort(rng.permutation(longest)[:n])] = rng.randint(1, symbols, n)
    return x, labels, lengths


def both(x, labels, lengths, mode=None):
    return evaluate(lambda *v: ConnectionistTemporalClassification()(*v), x, labels, lengths, mode=mode)


def by_paths(x, labels, length):
    """The definition: all sequences of symbols that are read as the labels."""
    x = x[:length].astype("float64")
    logs = x - np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)) - x.max(1, keepdims=True)
    total = -np.inf
    for path in itertools.product(range(x.shape[1]), repeat=length):
        if [s for s, _ in itertools.groupby(path) if s] == list(labels):
            total = np.logaddexp(total, sum(logs[t, s] for t, s in enumerate(path)))
    return -total


@MODES
def test_sum_over_all_paths(mode):
    x, labels, lengths = batch(5, 12, 3, 3)
    labels[0], lengths[0] = 1, 4  # too short by one blank
    costs, _ = both(x, labels, lengths, mode)
    expected = [by_paths(x[:, b], labels[b][labels[b] >= 0], lengths[b]) for b in range(len(lengths))]
    assert np.isinf(expected).any() and np.isfinite(expected).sum() > 5
    np.testing.assert_allclose(costs, expected, rtol=1e-5)


@MODES
def test_gradient_is_that_of_differences(mode):
    x, labels, lengths = batch(4, 6, 4, 2, seed=3)
    costs, slope = both(x, labels, lengths, mode)
    assert np.isfinite(costs).sum() > 3
    for t, b, k in np.ndindex(x.shape):
        low, high = x.copy(), x.copy()
        low[t, b, k] -= 0.01
        high[t, b, k] += 0.01
        wide = [by_paths(v[:, b], labels[b][labels[b] >= 0], lengths[b]) for v in (low, high)]
        difference = (wide[1] - wide[0]) / (high - low)[t, b, k] if np.isfinite(wide).all() else 0
        np.testing.assert_allclose(slope[t, b, k], difference, atol=3e-5)


@pytest.mark.parametrize("scale", [1, 30])
def test_native_is_like_python(scale):
    for seed, (times, size, symbols, longest) in enumerate([(60, 9, 37, 20), (7, 1, 1, 2), (33, 3, 90, 33), (20, 4, 5, 0)]):
        x, labels, lengths = batch(times, size, symbols, longest if symbols > 1 else 0, seed, scale)
        for view in (x, np.asfortranarray(x), x[:, :, ::-1]):
            costs, slope = both(view, labels, lengths)
            expected, direction = both(view, labels, lengths, PLAIN)
            np.testing.assert_allclose(costs, expected, rtol=2e-6, atol=1e-5)
            np.testing.assert_allclose(slope, direction, atol=1e-5)
            np.testing.assert_array_equal(evaluate(ctc, view, labels, lengths, mode=None), costs)


@MODES
def test_extremes(mode):
    # Likely paths by hundreds of orders of magnitude, and what cannot be.
    x = np.zeros((6, 3, 4), "float32")
    x[:, 0, 1] = 1000
    x[:, 1, 1] = -1000
    x[:, 2, 1] = -np.inf
    labels, lengths = np.array([[2, 3], [1, 1], [1, 2]], "int32"), np.array([6, 6, 6], "int32")
    costs, slope = both(x, labels, lengths, mode)
    np.testing.assert_allclose(costs[:2], [6000 - np.log(210), 2000 + 6 * np.log(3) - np.log(35)], rtol=1e-3)
    assert np.isposinf(costs[2]) and not slope[:, 2].any()
    assert np.isfinite(slope).all() and abs(slope[:, :2].sum(axis=2)).max() < 1e-5
    x[2, 0, 0] = np.nan
    costs, slope = both(x, labels, lengths, mode)
    assert np.isnan(costs[0]) and np.isfinite(costs[1])


@MODES
def test_long_sequences(mode):
    x, labels, lengths = batch(400, 1, 20, 90, seed=1)
    lengths[:] = 400
    labels[:] = np.random.RandomState(0).randint(1, 20, labels.shape)
    costs, slope = both(x, labels, lengths, mode)
    assert 200 < costs[0] < 2000
    # The probabilities of all that may be at a time add up to 1.
    np.testing.assert_allclose(slope.sum(axis=2), 0, atol=2e-5)


def test_nothing_to_read():
    x, labels = np.zeros((3, 2, 4), "float32"), np.array([[-1, -1], [2, -1]], "int32")
    costs, slope = both(x, labels, np.array([0, 0], "int32"))
    assert costs[0] == 0 and np.isposinf(costs[1]) and not slope.any()
    costs, _ = both(x[:, :0], labels[:0], np.zeros(0, "int32"))
    assert costs.shape == (0,)
    costs, _ = both(x, labels[:, :0], np.array([3, 2], "int32"))
    np.testing.assert_allclose(costs, [3 * np.log(4), 2 * np.log(4)], rtol=1e-6)


def test_gradient_of_a_cost():
    x, labels, lengths = batch(6, 4, 3, 2, seed=5)
    labels[:, 1:] = -1
    assert np.isfinite(both(x, labels, lengths)[0]).all()
    theano.gradient.verify_grad(lambda v: ctc(v, labels, lengths) ** 2, [x], rng=np.random.RandomState(0), eps=1e-2)
    v = T.ftensor3()
    with pytest.raises(theano.gradient.NullTypeGradError):
        theano.grad(theano.grad(ctc(v, labels, lengths).sum(), v).sum(), v)


def test_what_nobody_reads_is_not_computed():
    x, labels, lengths = T.ftensor3(), T.imatrix(), T.ivector()
    f = theano.function([x, labels, lengths], ctc(x, labels, lengths))
    assert [n.op.compute_grad for n in f.maker.fgraph.apply_nodes] == [False]
    g = theano.function([x, labels, lengths], theano.grad(ctc(x, labels, lengths).sum(), x))
    assert [n.op.compute_grad for n in g.maker.fgraph.apply_nodes if hasattr(n.op, "compute_grad")] == [True]
    assert ctc_available()


@MODES
def test_bad_values(mode):
    x, labels, lengths = batch(4, 2, 3, 2)
    for arguments, message in [
        ((x, labels + 3, lengths), "label [345] is out of bounds for 3"),
        ((x, labels, lengths + 4), "within 0 and 4"),
        ((x, labels, lengths - 5), "within 0 and 4"),
        ((x, labels[:1], lengths), "2 sequences of activations, 1 of labels"),
        ((x, labels, lengths[:1]), "and 1 lengths"),
    ]:
        with pytest.raises(ValueError, match=message):
            both(*arguments, mode)


def test_bad_arguments():
    for arguments in ((T.dtensor3(), T.imatrix(), T.ivector()), (T.ftensor3(), T.lmatrix(), T.ivector()),
                      (T.ftensor3(), T.imatrix(), T.fvector())):  # fmt: skip
        with pytest.raises(TypeError, match="must use the"):
            ctc(*arguments)
    for arguments in ((T.fmatrix(), T.imatrix(), T.ivector()), (T.ftensor3(), T.ivector(), T.ivector()),
                      (T.ftensor3(), T.imatrix(), T.imatrix())):  # fmt: skip
        with pytest.raises(ValueError, match="must have"):
            ctc(*arguments)

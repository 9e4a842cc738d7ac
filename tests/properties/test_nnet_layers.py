"""Random batch normalizations, neighbourhoods of pixels, blocks and CTC losses against their definitions in NumPy.

40 of each run by default, 20,000 with the environment variable ``THEANO_NIGHTLY=1``, which takes one core three minutes.
"""

import numpy as np
import pytest

import theano
from tests.properties.test_random_graphs import NIGHTLY
from tests.tensor.nnet.test_blocksparse import gemv, outer
from tests.tensor.nnet.test_ctc import by_paths
from tests.tensor.nnet.test_neighbours import by_loops
from theano import tensor as T
from theano.tensor.nnet import blocksparse, bn, ctc, neighbours

COUNT = 20_000 if NIGHTLY else 40
DTYPES = ("float32", "float64")
functions = {}


def function_of(key, make):
    """A function that is compiled once for all values of the same key."""
    if key not in functions:
        functions[key] = theano.function(*make())
    return functions[key]


def layout(rng, array):
    """The array in some order of memory."""
    order = rng.permutation(array.ndim)
    moved = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    return moved[tuple(slice(None, None, rng.choice([1, -1])) for _ in range(array.ndim))]


def normalized(x, axes, gamma, beta, dy):
    """Out, mean, invstd, and the gradients of inputs, gamma and beta."""
    x, gamma, beta, dy = (v.astype("float64") for v in (x, gamma, beta, dy))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    invstd = 1 / np.sqrt(var + 1e-2)
    xhat = (x - mean) * invstd
    dxhat = dy * gamma
    dx = invstd * (dxhat - dxhat.mean(axes, keepdims=True) - xhat * (dxhat * xhat).mean(axes, keepdims=True))
    return xhat * gamma + beta, mean, invstd, dx, (dy * xhat).sum(axes, keepdims=True), dy.sum(axes, keepdims=True)


def test_batch_normalization():
    for seed in range(COUNT):
        rng = np.random.RandomState(seed)
        ndim, dtype = rng.randint(1, 5), DTYPES[seed % 2]
        axes = tuple(np.flatnonzero(rng.rand(ndim) < 0.6)) or (0,)
        shape = rng.randint(1, 7, ndim)

        def make(ndim=ndim, dtype=dtype, axes=axes):
            x, gamma, beta, dy = (T.TensorType(dtype, (False,) * ndim)() for _ in range(4))
            outs = bn.batch_normalization_train(x, gamma, beta, tuple(map(int, axes)), epsilon=1e-2)
            return [x, gamma, beta, dy], [*outs, *T.grad(None, [x, gamma, beta], known_grads={outs[0]: dy})]

        small = [1 if i in axes else n for i, n in enumerate(shape)]
        values = [layout(rng, (rng.randn(*s) * 2 + rng.randint(-3, 4)).astype(dtype)) for s in (shape, small, small, shape)]
        got = function_of(("bn", ndim, dtype, axes), make)(*values)
        tolerance = {"rtol": 2e-3, "atol": 2e-3} if dtype == "float32" else {"rtol": 1e-8, "atol": 1e-9}
        for name, a, b in zip(["out", "mean", "invstd", "dx", "dgamma", "dbeta"], got, normalized(values[0], axes, *values[1:])):
            np.testing.assert_allclose(a, b, **tolerance, err_msg=f"{name}, seed {seed}")


def test_neighbourhoods():
    modes = ["valid", "ignore_borders", "wrap_centered", "half", "full"]
    for seed in range(COUNT):
        rng = np.random.RandomState(seed)
        mode, dtype = modes[seed % 5], DTYPES[seed // 5 % 2]
        shape, step, count = rng.randint(1, 5, 2), rng.randint(1, 5, 2), rng.randint(1, 5, 2)
        if mode == "wrap_centered":
            shape |= 1
            size = shape + rng.randint(0, 5, 2)
        else:
            before = {"half": shape // 2, "full": shape - 1}.get(mode, 0)
            size = (count - 1) * step + shape - 2 * before + (rng.randint(0, step) if mode == "ignore_borders" else 0)
        if (size < 1).any():
            continue

        def make(mode=mode, dtype=dtype):
            x, length, by = T.TensorType(dtype, (False,) * 4)(), T.lvector(), T.lvector()
            rows = neighbours.images2neibs(x, length, by, mode)
            differentiable = mode in ("valid", "ignore_borders")
            return [x, length, by], [rows, *([T.grad((rows**2).sum(), x)] if differentiable else [])]

        images = layout(rng, rng.randn(*rng.randint(1, 4, 2), *size).astype(dtype))
        rows, *slope = function_of(("neibs", mode, dtype), make)(images, shape, step)
        np.testing.assert_array_equal(rows, by_loops(images, shape, step, mode), err_msg=f"seed {seed}")
        if slope:
            # Each pixel counts as often as there are neighbourhoods that hold it.
            often = np.zeros(images.shape)
            places = np.arange(images.size).reshape(images.shape)
            np.add.at(often.reshape(-1), by_loops(places, shape, step, mode).astype(int).ravel(), 1)
            np.testing.assert_allclose(slope[0], 2 * often * images, rtol=1e-5, err_msg=f"seed {seed}")


def test_blocks():
    for seed in range(COUNT):
        rng = np.random.RandomState(seed)
        dtype = DTYPES[seed % 2]
        batch, p, q, k, n_l, n, m = rng.randint(1, 6, 7) * [1, 1, 1, rng.choice([1, 7]), rng.choice([1, 7]), 1, 1]

        def make(dtype=dtype):
            W, h, y = T.TensorType(dtype, (False,) * 4)(), *(T.TensorType(dtype, (False,) * 3)() for _ in range(2))
            ix, iy = T.lmatrices(2)
            back = blocksparse.sparse_block_gemv(h, W.dimshuffle(1, 0, 3, 2), y, iy, ix)
            outs = [blocksparse.sparse_block_gemv(y, W, h, ix, iy), back, blocksparse.sparse_block_outer(W, h, y, ix, iy)]
            return [W, h, y, ix, iy], outs

        W, h, y = (layout(rng, rng.randn(*s).astype(dtype)) for s in ((p, q, k, n_l), (batch, n, k), (batch, m, n_l)))
        ix, iy = rng.randint(-p, p, (batch, n)), rng.randint(-q, q, (batch, m))
        expected = gemv(y, W, h, ix, iy), gemv(h, W.transpose(1, 0, 3, 2), y, iy, ix), outer(W, h, y, ix, iy)
        for a, b in zip(function_of(("blocks", dtype), make)(W, h, y, ix, iy), expected):
            tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-11}
            np.testing.assert_allclose(a, b, **tolerance, err_msg=f"seed {seed}")


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_losses_of_sequences():
    def make():
        x, labels, lengths = T.ftensor3(), T.imatrix(), T.ivector()
        return [x, labels, lengths], ctc.ConnectionistTemporalClassification()(x, labels, lengths)

    f = function_of("ctc", make)
    for seed in range(COUNT):
        rng = np.random.RandomState(seed)
        times, batch, symbols, longest = rng.randint(1, 5), rng.randint(1, 4), rng.randint(2, 4), rng.randint(0, 4)
        x = layout(rng, (rng.randn(times, batch, symbols) * rng.choice([1, 10])).astype("float32"))
        labels = rng.randint(-2, symbols, (batch, longest)).astype("int32")
        labels[labels == 0] = 1
        lengths = rng.randint(1, times + 1, batch).astype("int32")
        costs, slope = f(x, labels, lengths)
        expected = [by_paths(x[:, b], labels[b][labels[b] >= 0], lengths[b]) for b in range(batch)]
        np.testing.assert_allclose(costs, expected, rtol=2e-5, atol=1e-5, err_msg=f"seed {seed}")
        np.testing.assert_allclose(slope.sum(axis=2), 0, atol=1e-5, err_msg=f"seed {seed}")

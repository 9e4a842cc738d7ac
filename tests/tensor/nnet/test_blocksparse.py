"""Products of chosen blocks: values against loops, gradients, in-place forms, bad arguments."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, evaluate, inferred_shape
from theano import tensor as T
from theano.tensor.nnet import blocksparse as bs

BATCH, I_BLOCKS, O_BLOCKS, I_SIZE, O_SIZE, I_WIN, O_WIN = 3, 5, 4, 3, 2, 3, 2


def data(dtype="float64", batch=BATCH):
    rng = np.random.RandomState(0)
    W, h, b = (rng.randn(*s).astype(dtype)
               for s in ((I_BLOCKS, O_BLOCKS, I_SIZE, O_SIZE), (batch, I_WIN, I_SIZE), (O_BLOCKS, O_SIZE)))  # fmt: skip
    return W, h, rng.randint(0, I_BLOCKS, (batch, I_WIN)), b, rng.randint(0, O_BLOCKS, (batch, O_WIN))


def gemv(o, W, h, inputs, outputs):
    o = o.copy()
    for n, j, i in np.ndindex(o.shape[0], o.shape[1], h.shape[1]):
        o[n, j] += h[n, i] @ W[inputs[n, i], outputs[n, j]]
    return o


def outer(o, x, y, xs, ys, alpha=1):
    o = o.copy()
    for n, i, j in np.ndindex(len(x), x.shape[1], y.shape[1]):
        o[xs[n, i], ys[n, j]] += alpha * np.outer(x[n, i], y[n, j])
    return o


@pytest.mark.parametrize("mode", [PLAIN, None])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_products(mode, dtype):
    W, h, inputs, b, outputs = data(dtype)
    got = evaluate(bs.sparse_block_dot, W, h, inputs, b, outputs, mode=mode)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, gemv(b[outputs], W, h, inputs, outputs), rtol=1e-5, atol=1e-6)
    transposed = np.asfortranarray(W)[:, :, ::-1]
    o = np.ones((BATCH, O_WIN, O_SIZE), dtype)
    got = evaluate(bs.sparse_block_gemv, o, transposed, h[::-1], inputs.astype("int8"), outputs, mode=mode)
    np.testing.assert_allclose(got, gemv(o, transposed, h[::-1], inputs, outputs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", [PLAIN, None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_outer_products(mode, dtype):
    W, h, inputs, _, outputs = data(dtype)
    y = np.random.RandomState(1).randn(BATCH, O_WIN, O_SIZE).astype(dtype)
    got = evaluate(bs.sparse_block_outer, W, h, y, inputs, outputs, mode=mode)
    np.testing.assert_allclose(got, outer(W, h, y, inputs, outputs), rtol=1e-5, atol=1e-6)
    got = evaluate(lambda *v: bs.sparse_block_outer(*v, np.asarray(0.5, dtype)), W, h, y, inputs, outputs, mode=mode)
    np.testing.assert_allclose(got, outer(W, h, y, inputs, outputs, 0.5), rtol=1e-5, atol=1e-6)


def test_one_example_and_none():
    W, h, inputs, b, outputs = data(batch=1)
    one = evaluate(bs.sparse_block_dot, W, h[0], inputs[0], b, outputs[0], mode=None)
    np.testing.assert_allclose(one, gemv(b[outputs], W, h, inputs, outputs))
    none = evaluate(bs.sparse_block_dot, W, h[:0], inputs[:0], b, outputs[:0], mode=None)
    assert none.shape == (0, O_WIN, O_SIZE)
    assert inferred_shape(bs.sparse_block_dot, W, h, inputs, b, outputs) == (1, O_WIN, O_SIZE)


def test_gradients():
    W, h, inputs, b, outputs = data()
    dot = lambda W, h, b: bs.sparse_block_dot(W, h, inputs, b, outputs)
    theano.gradient.verify_grad(dot, [W, h, b], rng=np.random.RandomState(0))
    y = np.random.RandomState(1).randn(BATCH, O_WIN, O_SIZE)
    product = lambda o, x, y, alpha: bs.sparse_block_outer(o, x, y, inputs, outputs, alpha)
    theano.gradient.verify_grad(product, [W, h, y, np.array(0.3)], rng=np.random.RandomState(0))


def test_overwrites_what_nobody_else_reads():
    W, h, inputs, b, outputs = data()
    variables = [T.TensorType(v.dtype, (False,) * v.ndim)() for v in (W, h, inputs, b, outputs)]
    out = bs.sparse_block_dot(*variables)
    f = theano.function(variables, [out, *theano.grad((out**2).sum(), variables[:2])], mode=theano.Mode("cvm", "fast_run"))
    ops = [n.op for n in f.maker.fgraph.apply_nodes if isinstance(n.op, bs.SparseBlockGemv | bs.SparseBlockOuter)]
    assert len(ops) == 3 and all(op.inplace for op in ops)
    assert bs.sparse_block_gemv != bs.sparse_block_gemv_inplace
    value = gemv(b[outputs], W, h, inputs, outputs)
    results = f(W, h, inputs, b, outputs)
    np.testing.assert_allclose(results[0], value)
    np.testing.assert_allclose(results[1], outer(np.zeros_like(W), h, 2 * value, inputs, outputs))


@pytest.mark.parametrize("mode", [PLAIN, None])
def test_bad_input(mode):
    W, h, inputs, b, outputs = data()
    with pytest.raises(IndexError):
        evaluate(bs.sparse_block_dot, W, h, inputs + I_BLOCKS, b, outputs, mode=mode)
    with pytest.raises(ValueError):
        evaluate(bs.sparse_block_dot, W, h[:2], inputs, b, outputs, mode=mode)
    with pytest.raises(ValueError):
        evaluate(bs.sparse_block_dot, W, h[:, :, :2], inputs, b, outputs, mode=mode)
    with pytest.raises(IndexError):
        evaluate(bs.sparse_block_outer, W, h, h[:, :2, :2], inputs - 2 * I_BLOCKS, inputs[:, :2], mode=mode)
    for arguments in ((T.dtensor4(), T.dmatrix(), T.lmatrix(), T.dmatrix(), T.lmatrix()),
                      (T.dtensor4(), T.dtensor3(), T.dmatrix(), T.dmatrix(), T.lmatrix())):  # fmt: skip
        with pytest.raises(TypeError):
            bs.sparse_block_dot(*arguments)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_larger_blocks(dtype):
    # More than one vector of the machine, both orders of memory, repeated blocks, any number of threads.
    rng = np.random.RandomState(2)
    W, h, y = (rng.randn(*s).astype(dtype) for s in ((6, 5, 37, 41), (7, 4, 37), (7, 3, 41)))
    inputs, outputs = rng.randint(-6, 6, (7, 4)), rng.randint(-5, 5, (7, 3))
    exact = {"rtol": 1e-4, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-9}
    got = evaluate(bs.sparse_block_gemv, y, W, h, inputs, outputs, mode=None)
    np.testing.assert_allclose(got, gemv(y, W, h, inputs, outputs), **exact)
    back = evaluate(lambda o, w, *v: bs.sparse_block_gemv(o, w.dimshuffle(1, 0, 3, 2), *v), h, W, y, outputs, inputs, mode=None)
    np.testing.assert_allclose(back, gemv(h, W.transpose(1, 0, 3, 2), y, outputs, inputs), **exact)
    got = evaluate(bs.sparse_block_outer, W, h, y, inputs, outputs, mode=None)
    np.testing.assert_allclose(got, outer(W, h, y, inputs, outputs), **exact)

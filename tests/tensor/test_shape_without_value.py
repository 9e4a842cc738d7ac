"""The shape of a result is found without computing the result."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, variable_like
from theano import tensor as T
from theano.tensor import extra_ops, fft, nlinalg, slinalg
from theano.tensor.choosing import permute_row_elements

RNG = np.random.RandomState(0)
M, V, T3 = RNG.rand(3, 4) + 0.5, RNG.rand(4) + 0.5, RNG.rand(2, 3, 4)
S = RNG.rand(4, 4) + 3 * np.eye(4)
P = S @ S.T
INDEX, N = np.array([2, 0, 1, 1]), np.array(3)

#: What may be in the graph of a shape: it looks at lengths and at numbers only.
CHEAP = {
    "Assert", "DeepCopyOp", "DimShuffle", "Elemwise", "MakeVector", "Rebroadcast", "ScalarFromTensor", "Shape", "Shape_i",
    "Subtensor", "TensorFromScalar",
}  # fmt: skip

CASES = {
    "exp": (T.exp, M),
    "sum with a vector": (lambda x, y: x + y, M, V),
    "switch": (lambda x, y: T.switch(x > 1, x, y), M, V),
    "sum of rows": (lambda x: x.sum(axis=1, keepdims=True), M),
    "mean": (lambda x: x.mean(axis=0), M),
    "standard deviation": (lambda x: x.std(axis=(0, 1)), M),
    "position of the maximum": (lambda x: T.argmax(x, axis=1), M),
    "norm": (lambda x: x.norm(2, axis=0), M),
    "reshape": (lambda x: x.reshape((-1, 2)), M),
    "flatten": (lambda x: x.flatten(2), T3),
    "transpose": (lambda x: x.dimshuffle(1, "x", 0), M),
    "tile": (lambda x: T.tile(x, (2, 1, 3), ndim=3), M),
    "roll": (lambda x: T.roll(x, 2, axis=1), M),
    "repeat": (lambda x: T.repeat(x, 2, axis=0), M),
    "join": (lambda x, y: T.concatenate([x, y, x], axis=1), M, M),
    "stack": (lambda x, y: T.stack([x, y], axis=1), M, M),
    "product of matrices": (lambda x, y: T.dot(x, y.T), M, M),
    "product with a vector": (T.dot, M, V),
    "outer product": (T.outer, V, V),
    "tensor product": (lambda x, y: T.tensordot(x, y, axes=[[1], [0]]), T3, M),
    "products of a batch": (lambda x, y: T.batched_dot(x, y.dimshuffle(0, 2, 1)), T3, T3),
    "cumulative sum": (lambda x: T.cumsum(x, axis=1), M),
    "differences": (lambda x: T.diff(x, 2), M),
    "sorted": (lambda x: T.sort(x, axis=None), M),
    "order": (lambda x: T.argsort(x, axis=0), M),
    "largest": (lambda x: T.topk(x, 2), M),
    "search": (T.searchsorted, np.sort(V), M),
    "diagonal filled": (lambda x: T.fill_diagonal(x, 2.0), M),
    "one hot": (lambda i: extra_ops.to_one_hot(i, 4), INDEX),
    "coordinates": (lambda i: T.unravel_index(i, (2, 2))[0], INDEX),
    "flat positions": (lambda i: T.ravel_multi_index((i, i), (3, 4)), INDEX),
    "inverse": (nlinalg.matrix_inverse, S),
    "pseudo-inverse": (nlinalg.pinv, M),
    "determinant": (nlinalg.det, S),
    "eigenvectors": (lambda x: nlinalg.eigh(x)[1], P),
    "singular vectors": (lambda x: nlinalg.svd(x, full_matrices=False)[2], M),
    "triangular factor": (lambda x: nlinalg.qr(x, "r"), M),
    "least squares": (lambda x, y: nlinalg.lstsq()(x, y, -1)[0], S, V),
    "tensor equation": (nlinalg.tensorsolve, S, V),
    "tensor inverse": (lambda x: nlinalg.tensorinv(x.reshape((2, 2, 2, 2))), S),
    "Cholesky factor": (slinalg.cholesky, P),
    "linear system": (slinalg.solve, S, S),
    "Kronecker product": (slinalg.kron, M, M),
    "matrix exponential": (slinalg.expm, S / 5),
    "Fourier transform": (fft.rfft, M),
    "diagonal": (lambda x: T.diagonal(x, 1), M),
    "matrix of a diagonal": (T.diag, V),
    "lower triangle": (T.tril, M),
    "identity": (lambda n: T.eye(n, n + 1), N),
    "range": (lambda n: T.arange(n, 3 * n, 2), N),
    "allocation": (lambda x, n: T.alloc(x, n, 4), V, N),
    "fill": (T.ones_like, M),
    "choice": (lambda i, x: T.choose(i % 2, [x, 2 * x]), INDEX, V),
    "slice": (lambda x, n: x[::-1, :n], M, N),
    "rows": (lambda x, i: x[i], M, INDEX),
    "elements": (lambda x, i: x[i, i], M, INDEX),
    "a column of an index": (lambda x, i: x[:, i, None], M, INDEX),
    "assignment": (lambda x, y: T.set_subtensor(x[:, 1], y), M, np.ones(3)),
    "scattered sum": (lambda x, i: T.inc_subtensor(x[i], 1.0), M, INDEX),
    "covariance": (T.cov, M),
    "a copy that is contiguous": (extra_ops.cpu_contiguous, M),
    "window": (extra_ops.bartlett, N),
    "another diagonal filled": (lambda x: extra_ops.fill_diagonal_offset(x, 1.0, 1), M),
    "positions that broadcast": (lambda i: T.ravel_multi_index((i, i.dimshuffle(0, "x")), (3, 4)), INDEX),
    "permuted rows": (permute_row_elements, M, np.array([2, 0, 1, 3])),
    "choice along a dimension": (lambda i, x: T.choose(i % 2, x), INDEX, M[:2]),
    "clipped elements": (lambda x, i: T.take(x, i, axis=1, mode="clip"), M, INDEX),
    "arrays apart": (lambda x, i: x[i % 2, :, i], T3, INDEX),
    "a step that is computed": (lambda x, i, n: x[i, n::-1], M, INDEX, N),
    "bounds that are computed": (lambda x, n: x[-n : n - 1, n::-n], M, N),
    "pieces of computed lengths": (lambda x, s: T.split(x, s, 2, axis=1)[1], M, np.array([3, 1])),
    "an axis that is computed": (lambda x, n: T.join(n % 2, x, x), M, N),
    "lengths that are computed": (lambda x, s: x.reshape(s, ndim=2), M, np.array([6, 2])),
    "largest, as many as asked": (lambda x, n: T.topk(x, n), M, N),
    "complete orthogonal factor": (lambda x: nlinalg.qr(x, "complete")[0], M),
    "reflectors": (lambda x: nlinalg.qr(x, "raw")[1], M),
    "singular values": (lambda x: nlinalg.svd(x, compute_uv=0), M),
    "singular values of a system": (lambda x, y: nlinalg.lstsq()(x, y, -1)[3], S, V),
    "generalized eigenvalues": (lambda x: slinalg.eigvalsh(x, T.eye(4)), P),
    "gradient of an exponential": (lambda x: T.grad(slinalg.expm(x).sum(), x), S),
    "gradient of a Fourier transform": (lambda x: T.grad(fft.rfft(x).sum(), x), M),
    "gradient of a choice": (lambda i, x: T.grad(T.choose(i % 2, [x, 2 * x]).sum(), x), INDEX, V),
    "gradient of repetitions": (lambda x, i: T.grad((T.repeat(x, i) ** 2).sum(), x), V, INDEX),
    "gradient of the largest": (lambda x: T.grad(T.topk(x, 2).sum(), x), M),
}


@pytest.mark.parametrize("name", CASES)
def test_shape_without_value(name):
    build, *values = CASES[name]
    variables = [variable_like(v) for v in values]
    out = build(*variables)
    value = theano.function(variables, out, mode=PLAIN, on_unused_input="ignore")(*values)
    f = theano.function(variables, out.shape, mode=theano.Mode("vm", "fast_run"), on_unused_input="ignore")
    assert tuple(f(*values)) == value.shape
    assert {type(node.op).__name__ for node in f.maker.fgraph.toposort()} <= CHEAP

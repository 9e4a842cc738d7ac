"""Sparse matrices: products with dense matrices and vectors, their gradients, products at stored places, chains over stored
values, sums of two, and a step of logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.harness import importable, row

SIZE, DENSITY, COLUMNS = 100_000, 1e-4, 64
CHAIN = 10_000_000


def random_matrix(rng: np.random.RandomState, rows: int, columns: int, stored: int, fmt: str = "csr") -> Any:
    """A matrix of float32 whose places are drawn one by one: `scipy.sparse.random` would permute all elements."""
    at = rng.randint(0, rows, stored), rng.randint(0, columns, stored)
    made = scipy.sparse.coo_matrix((rng.uniform(-1, 1, stored).astype("float32"), at), shape=(rows, columns)).asformat(fmt)
    made.sort_indices()
    return made


def _torch_csr(torch: Any, x: Any) -> Any:
    parts = (torch.from_numpy(np.asarray(part)) for part in (x.indptr, x.indices, x.data))
    return torch.sparse_csr_tensor(*parts, size=x.shape)


def _jax_bcoo(x: Any) -> Any:
    from jax.experimental import sparse as jax_sparse

    return jax_sparse.BCOO.from_scipy_sparse(x)


def product(threads: int, seconds: float, x: Any, dense: np.ndarray, text: str) -> dict[str, Any]:
    """``x @ dense``."""
    import theano
    import theano.tensor as T
    from theano import sparse

    s, d = sparse.matrix(x.format, dtype="float32"), T.TensorType("float32", (False,) * dense.ndim)()
    f = theano.function([s, d], sparse.dot(s, d))
    np.testing.assert_allclose(f(x, dense), x @ dense, rtol=1e-3, atol=1e-4)
    contenders: dict[str, Callable[[], Any]] = {"Theano": lambda: f(x, dense), "SciPy": lambda: x @ dense}
    jax, torch = map(importable, ("jax", "torch"))
    if jax:
        jx, jd = _jax_bcoo(x), jax.numpy.asarray(dense)
        h = jax.jit(lambda a, b: a @ b)
        contenders["JAX"] = lambda: h(jx, jd).block_until_ready()
    if torch and x.format == "csr":
        torch.set_num_threads(threads)
        tx, td = _torch_csr(torch, x), torch.from_numpy(dense)
        contenders["PyTorch"] = lambda: tx @ td
    return row(text, threads, contenders, seconds)


def gradients(threads: int, seconds: float, x: Any, dense: np.ndarray) -> dict[str, Any]:
    """The gradients of ``sum((x @ dense)**2)`` with respect to the stored values and the dense matrix."""
    import theano
    import theano.tensor as T
    from theano import sparse

    s, d = sparse.csr_matrix(dtype="float32"), T.fmatrix()
    cost = (sparse.structured_dot(s, d) ** 2).sum()
    f = theano.function([s, d], theano.grad(cost, [s, d]))
    lines = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))

    def by_hand() -> Any:
        g = 2 * (x @ dense)
        return np.einsum("ij,ij->i", g[lines], dense[x.indices]), x.T @ g

    for got, expected in zip((f(x, dense)[0].data, f(x, dense)[1]), by_hand()):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)
    contenders: dict[str, Callable[[], Any]] = {"Theano": lambda: f(x, dense), "SciPy": by_hand}
    # PyTorch's gradient of a sparse matrix is a dense one, of 40 GB here.
    return row(f"gradients of csr @ dense, {COLUMNS} columns", threads, contenders, seconds)


def sampled(threads: int, seconds: float, x: Any, dense: np.ndarray) -> dict[str, Any]:
    """``x * (dense @ dense.T)`` at the places of `x`."""
    import theano
    import theano.tensor as T
    from theano import sparse

    a, b, p = T.fmatrix(), T.fmatrix(), sparse.csr_matrix(dtype="float32")
    f = theano.function([a, b, p], sparse.sampling_dot(a, b, p))
    lines = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    contenders: dict[str, Callable[[], Any]] = {
        "Theano": lambda: f(dense, dense, x),
        "NumPy": lambda: x.data * np.einsum("ij,ij->i", dense[lines], dense[x.indices]),
    }
    np.testing.assert_allclose(f(dense, dense, x).data, contenders["NumPy"](), rtol=1e-3, atol=1e-4)
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        tx, td = _torch_csr(torch, x), torch.from_numpy(dense)
        contenders["PyTorch"] = lambda: torch.sparse.sampled_addmm(tx, td, td.T, beta=0)
    return row(f"sampling_dot, {COLUMNS} columns", threads, contenders, seconds)


def chain(threads: int, seconds: float, rng: np.random.RandomState) -> dict[str, Any]:
    """``log(exp(x) + 1) + x`` of the stored values."""
    import theano
    from theano import sparse

    x = random_matrix(rng, SIZE, SIZE, CHAIN)
    s = sparse.csr_matrix(dtype="float32")
    f = theano.function([s], sparse.add_s_s_data(sparse.structured_log(sparse.structured_add(sparse.structured_exp(s), 1)), s))
    values = x.data
    np.testing.assert_allclose(f(x).data, np.log(np.exp(values) + 1) + values, rtol=1e-4, atol=1e-5)
    contenders: dict[str, Callable[[], Any]] = {
        "Theano": lambda: f(x),
        "NumPy": lambda: np.log(np.exp(values) + np.float32(1)) + values,
    }
    return row("chain over 1e7 stored values", threads, contenders, seconds)


def addition(threads: int, seconds: float, x: Any, y: Any) -> dict[str, Any]:
    """``x + y``."""
    import theano
    from theano import sparse

    a, b = sparse.csr_matrix(dtype="float32"), sparse.csr_matrix(dtype="float32")
    f = theano.function([a, b], a + b)
    contenders: dict[str, Callable[[], Any]] = {"Theano": lambda: f(x, y), "SciPy": lambda: x + y}
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        tx, ty = _torch_csr(torch, x), _torch_csr(torch, y)
        contenders["PyTorch"] = lambda: tx + ty
    return row("csr + csr", threads, contenders, seconds)


def logistic(threads: int, seconds: float, rng: np.random.RandomState) -> dict[str, Any]:
    """A step of logistic regression on a csr matrix of 1e5 x 5e4, 20 values a row."""
    import theano
    import theano.tensor as T
    from theano import sparse

    x = random_matrix(rng, 100_000, 50_000, 2_000_000)
    y = rng.randint(0, 2, len(x.indptr) - 1).astype("float32")
    s, t, w = sparse.csr_matrix(dtype="float32"), T.fvector(), theano.shared(np.zeros(x.shape[1], "float32"))
    p = T.nnet.sigmoid(sparse.dot(s, w))
    cost = T.nnet.binary_crossentropy(p, t).mean()
    step = theano.function([s, t], cost, updates=[(w, w - np.float32(0.1) * theano.grad(cost, w))])
    held = [np.zeros(x.shape[1], "float32")]

    def by_hand() -> Any:
        z = x @ held[0]
        g = (1 / (1 + np.exp(-z)) - y) / np.float32(len(y))
        held[0] -= np.float32(0.1) * (x.T @ g)
        return np.logaddexp(0, z).mean() - (y * z).mean()

    np.testing.assert_allclose(step(x, y), by_hand(), rtol=1e-4)
    np.testing.assert_allclose(w.get_value(), held[0], rtol=1e-3, atol=1e-9)
    contenders: dict[str, Callable[[], Any]] = {"Theano": lambda: step(x, y), "SciPy": by_hand}
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        tx, ty = _torch_csr(torch, x), torch.from_numpy(y)
        tw = torch.zeros(x.shape[1], requires_grad=True)

        def torch_step() -> Any:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(tx @ tw, ty)
            (g,) = torch.autograd.grad(loss, [tw])
            with torch.no_grad():
                tw.sub_(0.1 * g)
            return loss

        contenders["PyTorch"] = torch_step
    return row("logistic regression step, csr 1e5 x 5e4", threads, contenders, seconds)


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    rng = np.random.RandomState(0)
    stored = int(SIZE * SIZE * DENSITY)
    x, y = (random_matrix(rng, SIZE, SIZE, stored) for _ in range(2))
    dense, vector = rng.uniform(-1, 1, (SIZE, COLUMNS)).astype("float32"), rng.uniform(-1, 1, SIZE).astype("float32")
    yield product(threads, seconds, x, dense, f"csr @ dense, {COLUMNS} columns")
    yield product(threads, seconds, x.tocsc(), dense, f"csc @ dense, {COLUMNS} columns")
    yield product(threads, seconds, x, vector, "csr @ vector")
    yield product(threads, seconds, x.tocsc(), vector, "csc @ vector")
    yield gradients(threads, seconds, x, dense)
    yield sampled(threads, seconds, x, dense)
    yield chain(threads, seconds, rng)
    yield addition(threads, seconds, x, y)
    yield logistic(threads, seconds, rng)

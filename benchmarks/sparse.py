"""Sparse matrices: products with dense matrices and vectors, their gradients, products at stored places, chains over stored
values, sums of two, and a step of logistic regression."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.harness import compile_c, importable, row

SIZE, DENSITY, COLUMNS = 100_000, 1e-4, 64
CHAIN = 10_000_000
C_LIMIT = 1.2

#: Loops as one would write them; of float32 and int32. PARALLEL stands where lines do not meet.
C_CODE = r"""
#include <math.h>
#include <string.h>
typedef struct { long rows, columns; const int *ptr, *idx; const float *val; } Matrix;

void csr_dense(const Matrix *m, long n, const float *restrict b, float *restrict y)
{
    PARALLEL
    for (long i = 0; i < m->rows; i++) {
        float *to = y + i * n;
        memset(to, 0, n * sizeof *to);
        for (int k = m->ptr[i]; k < m->ptr[i + 1]; k++) {
            const float a = m->val[k], *from = b + m->idx[k] * n;
            for (long q = 0; q < n; q++) to[q] += a * from[q];
        }
    }
}
void csc_dense(const Matrix *m, long n, const float *restrict b, float *restrict y)
{
    memset(y, 0, m->rows * n * sizeof *y);
    for (long j = 0; j < m->columns; j++)
        for (int k = m->ptr[j]; k < m->ptr[j + 1]; k++) {
            const float a = m->val[k];
            float *to = y + m->idx[k] * n;
            for (long q = 0; q < n; q++) to[q] += a * b[j * n + q];
        }
}
void csr_vector(const Matrix *m, const float *restrict x, float *restrict y)
{
    PARALLEL
    for (long i = 0; i < m->rows; i++) {
        float sum = 0;
        for (int k = m->ptr[i]; k < m->ptr[i + 1]; k++) sum += m->val[k] * x[m->idx[k]];
        y[i] = sum;
    }
}
void csc_vector(const Matrix *m, const float *restrict x, float *restrict y)
{
    memset(y, 0, m->rows * sizeof *y);
    for (long j = 0; j < m->columns; j++)
        for (int k = m->ptr[j]; k < m->ptr[j + 1]; k++) y[m->idx[k]] += m->val[k] * x[j];
}
void sampled(const Matrix *m, long n, const float *a, const float *b, const float *scale, float *restrict out)
{
    PARALLEL
    for (long i = 0; i < m->rows; i++)
        for (int k = m->ptr[i]; k < m->ptr[i + 1]; k++) {
            const float *u = a + i * n, *v = b + m->idx[k] * n;
            float sum = 0;
            for (long q = 0; q < n; q++) sum += u[q] * v[q];
            out[k] = scale ? scale[k] * sum : sum;
        }
}
void gradients(const Matrix *m, const Matrix *turned, long n, const float *b, float *g, float *values, float *dense)
{
    csr_dense(m, n, b, g);
    for (long i = 0; i < m->rows * n; i++) g[i] *= 2;
    sampled(m, n, g, b, 0, values);
    csc_dense(turned, n, g, dense);
}
void chain(long n, const float *x, float *y)
{
    PARALLEL
    for (long i = 0; i < n; i++) y[i] = logf(expf(x[i]) + 1) + x[i];
}
long add(const Matrix *a, const Matrix *b, int *ptr, int *idx, float *val)
{
    long n = 0;
    ptr[0] = 0;
    for (long i = 0; i < a->rows; i++) {
        int j = a->ptr[i], k = b->ptr[i];
        const int j_end = a->ptr[i + 1], k_end = b->ptr[i + 1];
        while (j < j_end && k < k_end) {
            const int c = a->idx[j], d = b->idx[k];
            const float v = c == d ? a->val[j] + b->val[k] : c < d ? a->val[j] : b->val[k];
            idx[n] = c < d ? c : d;
            j += c <= d;
            k += d <= c;
            if (v != 0) val[n++] = v;
        }
        for (; j < j_end; j++) if (a->val[j] != 0) { idx[n] = a->idx[j]; val[n++] = a->val[j]; }
        for (; k < k_end; k++) if (b->val[k] != 0) { idx[n] = b->idx[k]; val[n++] = b->val[k]; }
        ptr[i + 1] = n;
    }
    return n;
}
float logistic(const Matrix *m, const Matrix *turned, const float *t, float *w, float *z, float *g)
{
    double loss = 0;
    csr_vector(m, w, z);
    for (long i = 0; i < m->rows; i++) {
        const float p = 1 / (1 + expf(-z[i]));
        loss -= t[i] * logf(p) + (1 - t[i]) * logf(1 - p);
        z[i] = (p - t[i]) / m->rows;
    }
    csc_vector(turned, z, g);
    for (long j = 0; j < m->columns; j++) w[j] -= 0.1f * g[j];
    return loss / m->rows;
}
"""


class CMatrix(ctypes.Structure):
    """A matrix as the loops in C take it."""

    _fields_ = [("rows", ctypes.c_long), ("columns", ctypes.c_long)] + [(n, ctypes.c_void_p) for n in ("ptr", "idx", "val")]

    @classmethod
    def of(cls, x: Any) -> CMatrix:
        return cls(*x.shape, x.indptr.ctypes.data, x.indices.ctypes.data, x.data.ctypes.data)


@functools.cache
def c_loops(threads: int) -> Any:
    """The loops in C, for this many threads."""
    pragma = '_Pragma("omp parallel for schedule(static)")' if threads > 1 else ""
    library = compile_c(f"#define PARALLEL {pragma}\n" + C_CODE, *(["-fopenmp"] if threads > 1 else []))
    library.logistic.restype, library.add.restype = ctypes.c_float, ctypes.c_long
    return library


def _at(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(a.ctypes.data) for a in arrays]


def _pytensor() -> Any:
    """PyTensor's sparse module, or None."""
    if importable("pytensor") is None:
        return None
    import pytensor.sparse

    return pytensor.sparse


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
    library, m, out = c_loops(threads), CMatrix.of(x), np.empty((x.shape[0], *dense.shape[1:]), "float32")
    if dense.ndim == 1:
        loop, pointers = getattr(library, x.format + "_vector"), _at(dense, out)
    else:
        loop, pointers = getattr(library, x.format + "_dense"), [ctypes.c_long(dense.shape[1]), *_at(dense, out)]
    contenders["C"] = lambda: loop(ctypes.byref(m), *pointers)
    contenders["C"]()
    np.testing.assert_allclose(out, x @ dense, rtol=1e-3, atol=1e-4)
    ps = _pytensor()
    if ps:
        import pytensor

        ps_x, ps_d = ps.matrix(x.format, dtype="float32"), pytensor.tensor.TensorType("float32", (None,) * dense.ndim)()
        pf = pytensor.function([ps_x, ps_d], ps.dot(ps_x, ps_d))
        contenders["PyTensor"] = lambda: pf(x, dense)
    jax, torch = map(importable, ("jax", "torch"))
    if jax:
        jx, jd = _jax_bcoo(x), jax.numpy.asarray(dense)
        h = jax.jit(lambda a, b: a @ b)
        contenders["JAX"] = lambda: h(jx, jd).block_until_ready()
    if torch and x.format == "csr":
        torch.set_num_threads(threads)
        tx, td = _torch_csr(torch, x), torch.from_numpy(dense)
        contenders["PyTorch"] = lambda: tx @ td
    return row(text, threads, contenders, seconds, limits={"C": C_LIMIT})


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
    library, turned = c_loops(threads), x.T
    m, t = CMatrix.of(x), CMatrix.of(turned)
    buffers = np.empty((x.shape[0], COLUMNS), "float32"), np.empty_like(x.data), np.empty_like(dense)
    pointers = [ctypes.c_long(COLUMNS), *_at(dense, *buffers)]
    contenders["C"] = lambda: library.gradients(ctypes.byref(m), ctypes.byref(t), *pointers)
    contenders["C"]()
    np.testing.assert_allclose(buffers[2], by_hand()[1], rtol=1e-3, atol=1e-3)
    ps = _pytensor()
    if ps:
        import pytensor

        ps_x, ps_d = ps.csr_matrix(dtype="float32"), pytensor.tensor.fmatrix()
        pf = pytensor.function([ps_x, ps_d], pytensor.grad((ps.structured_dot(ps_x, ps_d) ** 2).sum(), [ps_x, ps_d]))
        contenders["PyTensor"] = lambda: pf(x, dense)
    jax = importable("jax")
    if jax:
        from jax.experimental import sparse as jax_sparse

        jx, jd = _jax_bcoo(x), jax.numpy.asarray(dense)

        def cost(values: Any, d: Any) -> Any:
            return ((jax_sparse.BCOO((values, jx.indices), shape=jx.shape) @ d) ** 2).sum()

        h = jax.jit(jax.grad(cost, argnums=(0, 1)))
        contenders["JAX"] = lambda: jax.block_until_ready(h(jx.data, jd))
    # PyTorch's gradient of a sparse matrix is a dense one, of 40 GB here.
    return row(f"gradients of csr @ dense, {COLUMNS} columns", threads, contenders, seconds, limits={"C": C_LIMIT})


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
    library, m, out = c_loops(threads), CMatrix.of(x), np.empty_like(x.data)
    pointers = [ctypes.c_long(COLUMNS), *_at(dense, dense, x.data, out)]
    contenders["C"] = lambda: library.sampled(ctypes.byref(m), *pointers)
    # PyTensor's sampling_dot makes the whole product, of 40 GB here.
    return row(f"sampling_dot, {COLUMNS} columns", threads, contenders, seconds, limits={"C": C_LIMIT})


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
    library, out = c_loops(threads), np.empty_like(values)
    pointers = [ctypes.c_long(len(values)), *_at(values, out)]
    contenders["C"] = lambda: library.chain(*pointers)
    ps = _pytensor()
    if ps:
        import pytensor

        px = ps.csr_matrix(dtype="float32")
        made = ps.add_s_s_data(ps.structured_log(ps.structured_add(ps.structured_exp(px), np.float32(1))), px)
        pf = pytensor.function([px], made)
        contenders["PyTensor"] = lambda: pf(x)
    return row("chain over 1e7 stored values", threads, contenders, seconds, limits={"C": C_LIMIT})


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
    library, m, n = c_loops(threads), CMatrix.of(x), CMatrix.of(y)
    out = np.empty_like(x.indptr), np.empty(x.nnz + y.nnz, "int32"), np.empty(x.nnz + y.nnz, "float32")
    pointers = _at(*out)
    contenders["C"] = lambda: library.add(ctypes.byref(m), ctypes.byref(n), *pointers)
    ps = _pytensor()
    if ps:
        import pytensor

        pa, pb = ps.csr_matrix(dtype="float32"), ps.csr_matrix(dtype="float32")
        pf = pytensor.function([pa, pb], pa + pb)
        contenders["PyTensor"] = lambda: pf(x, y)
    return row("csr + csr", threads, contenders, seconds, limits={"C": C_LIMIT})


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
    library, m, turned = c_loops(threads), CMatrix.of(x), CMatrix.of(x.T)
    buffers = np.zeros(x.shape[1], "float32"), np.empty(x.shape[0], "float32"), np.empty(x.shape[1], "float32")
    pointers = _at(y, *buffers)
    contenders["C"] = lambda: library.logistic(ctypes.byref(m), ctypes.byref(turned), *pointers)
    np.testing.assert_allclose(contenders["C"](), np.log(2), rtol=1e-4)
    ps = _pytensor()
    if ps:
        import pytensor
        import pytensor.tensor as pt

        px, py, pw = ps.csr_matrix(dtype="float32"), pt.fvector(), pytensor.shared(np.zeros(x.shape[1], "float32"))
        pz = ps.dot(px, pw.dimshuffle(0, "x"))[:, 0]
        loss = (pt.softplus(pz) - py * pz).mean()
        pf = pytensor.function([px, py], loss, updates=[(pw, pw - np.float32(0.1) * pytensor.grad(loss, pw))])
        contenders["PyTensor"] = lambda: pf(x, y)
    return row("logistic regression step, csr 1e5 x 5e4", threads, contenders, seconds, limits={"C": C_LIMIT})


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

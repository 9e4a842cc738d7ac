"""Reductions with arithmetic in front of them: a sum of squares, mean and variance in one pass, a softmax with its gradient."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import compile_c, importable, prepared, row

LONG = 10_000_000
LOGITS = (4096, 1000)

C_ROWS = """
void rows(const float *restrict a, const float *restrict b, float *restrict out, long n, long m)
{{
    {pragma}
    for (long i = 0; i < n; i++) {{
        float s = 0;
        {simd}
        for (long j = 0; j < m; j++) {{
            float d = a[i*m + j] - b[i*m + j];
            s += d * d;
        }}
        out[i] = s;
    }}
}}
"""

C_STATISTICS = """
#include <math.h>
#define BLOCK 2048
/* Blocks of the first-level cache, merged as by Chan, Golub and LeVeque (1979), eight at a time. */
static void of_part(const double *restrict x, long n, double *restrict result)
{{
    double count = 0, mean = 0, squares = 0;
    for (long b = 0; b < n; b += BLOCK) {{
        const long m = n - b < BLOCK ? n - b : BLOCK;
        double s = 0, q = 0;
        for (long i = 0; i < m; i++) s += x[b + i];
        const double middle = s / m;
        for (long i = 0; i < m; i++) {{
            const double d = x[b + i] - middle;
            q += d * d;
        }}
        const double d = middle - mean, total = count + m;
        mean += d * m / total;
        squares += q + d * d * count * m / total;
        count = total;
    }}
    result[0] = count;
    result[1] = mean;
    result[2] = squares;
}}
void mean_and_variance(const double *restrict x, double *restrict mean, double *restrict variance, long n)
{{
    double part[{threads}][8];
    {pragma}
    for (int t = 0; t < {threads}; t++) {{
        const long from = n / {threads} * t, to = t == {threads} - 1 ? n : from + n / {threads};
        of_part(x + from, to - from, part[t]);
    }}
    double *a = part[0];
    for (int t = 1; t < {threads}; t++) {{
        const double d = part[t][1] - a[1], total = a[0] + part[t][0];
        a[1] += d * part[t][0] / total;
        a[2] += part[t][2] + d * d * a[0] * part[t][0] / total;
        a[0] = total;
    }}
    *mean = a[1];
    *variance = a[2] / n;
}}
void cross_entropy(const float *restrict x, const long *restrict y, float *restrict gradient, double *restrict value, long n,
                   long m)
{{
    double sum = 0;
    const float scale = 1.0f / n;
    {pragma} {sum}
    for (long i = 0; i < n; i++) {{
        const float *r = x + i * m;
        float *g = gradient + i * m;
        float top = -INFINITY, s = 0;
        for (long j = 0; j < m; j++) top = r[j] > top ? r[j] : top;
        for (long j = 0; j < m; j++) s += g[j] = expf(r[j] - top);
        const float factor = scale / s;
        for (long j = 0; j < m; j++) g[j] *= factor;
        g[y[i]] -= scale;
        sum += logf(s) + top - r[y[i]];
    }}
    *value = sum / n;
}}
"""


def in_c(threads: int) -> Any:
    pragma, total = ("#pragma omp parallel for", "reduction(+:sum)") if threads > 1 else ("", "")
    source = C_STATISTICS.format(threads=threads, pragma=pragma, sum=total)
    return compile_c(source, "-ffast-math", *(["-fopenmp"] if threads > 1 else []))


def mean_and_variance(threads: int, seconds: float) -> dict[str, Any]:
    """Both of a long vector, in one function."""
    import theano
    import theano.tensor as T

    x = np.random.RandomState(0).randn(LONG) + 3.0
    v = T.dvector()
    f = theano.function([v], [T.mean(v), T.var(v)])
    mean, variance, c = np.empty(1), np.empty(1), in_c(threads).mean_and_variance
    contenders: dict[str, Any] = {"Theano": lambda: f(x), "C": prepared(c, x, mean, variance, x.size)}
    contenders["C"]()
    np.testing.assert_allclose(f(x), [mean[0], variance[0]], rtol=1e-12)
    contenders["NumPy"] = lambda: (x.mean(), x.var())
    jax, torch = importable("jax"), importable("torch")
    if jax:
        jax.config.update("jax_enable_x64", True)
        g, u = jax.jit(lambda u: (u.mean(), u.var())), jax.numpy.asarray(x)
        contenders["JAX"] = lambda: jax.block_until_ready(g(u))
    if torch:
        torch.set_num_threads(threads)
        t = torch.from_numpy(x)
        contenders["PyTorch"] = lambda: torch.var_mean(t, correction=0)
    return row("mean and variance, 1e7 float64", threads, contenders, seconds, {"C": 1.2})


def cross_entropy(threads: int, seconds: float) -> dict[str, Any]:
    """Mean of -log(softmax(x)) at the labels, and its gradient."""
    import theano
    import theano.tensor as T

    rng = np.random.RandomState(0)
    x, y = rng.randn(*LOGITS).astype("float32"), rng.randint(0, LOGITS[1], LOGITS[0])
    logits, labels = T.fmatrix(), T.lvector()
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(logits), labels).mean()
    f = theano.function([logits, labels], [cost, T.grad(cost, logits)])
    gradient, value = np.empty_like(x), np.empty(1)
    contenders: dict[str, Any] = {
        "Theano": lambda: f(x, y), "C": prepared(in_c(threads).cross_entropy, x, y, gradient, value, *LOGITS),
    }
    contenders["C"]()
    ours = f(x, y)
    np.testing.assert_allclose(ours[0], value[0], rtol=1e-5)
    np.testing.assert_allclose(ours[1], gradient, rtol=1e-4, atol=1e-9)
    jax, torch = importable("jax"), importable("torch")
    if jax:
        def mean(v: Any, y: Any) -> Any:
            return -jax.nn.log_softmax(v)[jax.numpy.arange(LOGITS[0]), y].mean()

        g = jax.jit(jax.value_and_grad(mean))
        on_device = jax.numpy.asarray(x), jax.numpy.asarray(y)
        contenders["JAX"] = lambda: jax.block_until_ready(g(*on_device))
    if torch:
        torch.set_num_threads(threads)
        t, target = torch.from_numpy(x).requires_grad_(), torch.from_numpy(y)

        def step() -> Any:
            loss = torch.nn.functional.cross_entropy(t, target)
            return loss, torch.autograd.grad(loss, t)

        contenders["PyTorch"] = step
    return row("softmax cross-entropy 4096x1000, value and gradient, float32", threads, contenders, seconds, {"C": 1.2})


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    yield from sums(threads, seconds)
    yield mean_and_variance(threads, seconds)
    yield cross_entropy(threads, seconds)


def sums(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    import theano
    import theano.tensor as T

    n = 4000
    rng = np.random.RandomState(0)
    a, b = (rng.uniform(-1, 1, (n, n)).astype("float32") for _ in range(2))
    pragma = "#pragma omp parallel for" if threads > 1 else ""
    library = compile_c(C_ROWS.format(pragma=pragma, simd="#pragma omp simd reduction(+:s)"),
                        "-fopenmp" if threads > 1 else "-fopenmp-simd")
    library.rows.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2
    out = np.empty(n, "float32")

    x, y = T.fmatrices("x", "y")
    f = theano.function([x, y], T.sum((x - y) ** 2, axis=1))
    contenders: dict[str, Any] = {
        "Theano": lambda: f(a, b),
        "C": lambda: library.rows(a.ctypes.data, b.ctypes.data, out.ctypes.data, n, n),
    }
    contenders["C"]()
    np.testing.assert_allclose(f(a, b), out, rtol=1e-4)

    jax = importable("jax")
    if jax:
        g = jax.jit(lambda u, v: ((u - v) ** 2).sum(axis=1))
        u, v = jax.numpy.asarray(a), jax.numpy.asarray(b)
        contenders["JAX"] = lambda: g(u, v).block_until_ready()
    pytensor = importable("pytensor")
    if pytensor:
        import pytensor.tensor as pt

        p, q = pt.fmatrices("p", "q")
        h = pytensor.function([p, q], pt.sum((p - q) ** 2, axis=1), trust_input=True)
        contenders["PyTensor"] = lambda: h(a, b)
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        s, t = torch.from_numpy(a), torch.from_numpy(b)
        contenders["PyTorch"] = lambda: ((s - t) ** 2).sum(dim=1)
    numexpr = importable("numexpr")
    if numexpr:
        numexpr.set_num_threads(threads)
        named = {"a": a, "b": b}
        contenders["numexpr"] = lambda: numexpr.evaluate("sum((a - b)**2, axis=1)", local_dict=named)
    yield row("sum((a-b)**2, axis=1), 4000x4000 float32", threads, contenders, seconds, {"C": 1.2})

"""A reduction with arithmetic in front of it, in one pass over memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import compile_c, importable, row

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


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
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

"""Elementwise work with functions and operands that are broadcast, against C with glibc's vector functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import compile_c, importable, prepared, row

N = 2000
LONG = 1_000_000

C_CODE = """
#include <math.h>
void broadcast(const float *restrict m, const float *restrict row, const float *restrict column, float *restrict out, long n)
{{
    {pragma}
    for (long i = 0; i < n; i++) {{
        const float c = column[i];
        for (long j = 0; j < n; j++) {{
            const float v = m[i * n + j];
            out[i * n + j] = 1 / (1 + expf(-((v + row[j] - c) * v)));
        }}
    }}
}}
void functions_float32(const float *restrict x, const float *restrict y, const float *restrict z, float *restrict out, long n)
{{
    {pragma}
    for (long i = 0; i < n; i++) out[i] = expf(-x[i] * x[i]) * tanhf(y[i]) + log1pf(expf(z[i]));
}}
void functions_float64(const double *restrict x, const double *restrict y, const double *restrict z, double *restrict out, long n)
{{
    {pragma}
    for (long i = 0; i < n; i++) out[i] = exp(-x[i] * x[i]) * tanh(y[i]) + log1p(exp(z[i]));
}}
"""


def broadcast(m: Any, sigmoid: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda a, row, column: sigmoid((a + row - column) * a)


def functions(m: Any, sigmoid: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, y, z: m.exp(-(x**2)) * m.tanh(y) + m.log1p(m.exp(z))


def numpy_sigmoid(v: Any) -> Any:
    return 1 / (1 + np.exp(-v))


def peers(formula: Callable[..., Any], arrays: list[np.ndarray], threads: int) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    by_numpy = formula(np, numpy_sigmoid)
    found["NumPy"] = lambda: by_numpy(*arrays)
    jax, torch = importable("jax"), importable("torch")
    if jax:
        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(formula(jax.numpy, jax.nn.sigmoid))
        devices = [jax.numpy.asarray(a) for a in arrays]
        found["JAX"] = lambda: compiled(*devices).block_until_ready()
    if torch:
        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(a) for a in arrays]
        eager = formula(torch, torch.sigmoid)
        found["PyTorch"] = lambda: eager(*tensors)
        by_inductor = torch.compile(eager)
        found["PyTorch compiled"] = lambda: by_inductor(*tensors)
    return found


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    import theano
    import theano.tensor as T

    rng = np.random.RandomState(0)
    pragma = '_Pragma("omp parallel for")' if threads > 1 else ""
    library = compile_c(C_CODE.format(pragma=pragma), "-ffast-math", *(["-fopenmp"] if threads > 1 else []))

    def measured(case: str, formula: Callable[..., Any], symbols: list[Any], arrays: list[np.ndarray], c: Any, n: int,
                 limit: float) -> dict[str, Any]:
        f = theano.function(symbols, formula(T, T.nnet.sigmoid)(*symbols))
        out = np.empty_like(arrays[0])
        contenders: dict[str, Any] = {"Theano": lambda: f(*arrays), "C": prepared(c, *arrays, out, n)}
        contenders["C"]()
        np.testing.assert_allclose(f(*arrays), out, rtol=1e-4, atol=1e-5)
        contenders.update(peers(formula, arrays, threads))
        return row(case, threads, contenders, seconds, {"C": limit})

    arrays = [rng.randn(*shape).astype("float32") for shape in ((N, N), (1, N), (N, 1))]
    yield measured(f"sigmoid((M + row - col) * M), {N}x{N} float32", broadcast, [T.fmatrix(), T.frow(), T.fcol()], arrays,
                   library.broadcast, N, 1.1)
    for dtype in ("float32", "float64"):
        arrays = [rng.randn(LONG).astype(dtype) for _ in "xyz"]
        symbols = [T.vector(dtype=dtype) for _ in "xyz"]
        yield measured(f"exp(-x**2)*tanh(y) + log1p(exp(z)), 1e6 {dtype}", functions, symbols, arrays,
                       library[f"functions_{dtype}"], LONG, 1.15)

"""Elementwise chains, against memory bandwidth and against a compiler's own loops."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import compile_c, importable, row

# name, dtype, size, C expression, expression for Theano and peers (mathematical functions come from `m`)
CASES = [
    ("2*a + b*c - 1", "float64", 10_000_000, "2*a[i] + b[i]*c[i] - 1", lambda m, a, b, c: 2 * a + b * c - 1),
    ("(a - b)**2 * c + a", "float64", 10_000_000, "(a[i]-b[i])*(a[i]-b[i])*c[i] + a[i]",
     lambda m, a, b, c: (a - b) * (a - b) * c + a),
    ("exp(a) * tanh(b) + log(c)", "float32", 1_000_000, "expf(a[i])*tanhf(b[i]) + logf(c[i])",
     lambda m, a, b, c: m.exp(a) * m.tanh(b) + m.log(c)),
    ("exp(a) * tanh(b) + log(c)", "float64", 1_000_000, "exp(a[i])*tanh(b[i]) + log(c[i])",
     lambda m, a, b, c: m.exp(a) * m.tanh(b) + m.log(c)),
    ("sin(a) * cos(b) + sqrt(c)", "float32", 1_000_000, "sinf(a[i])*cosf(b[i]) + sqrtf(c[i])",
     lambda m, a, b, c: m.sin(a) * m.cos(b) + m.sqrt(c)),
    ("sin(a) * cos(b) + sqrt(c)", "float64", 1_000_000, "sin(a[i])*cos(b[i]) + sqrt(c[i])",
     lambda m, a, b, c: m.sin(a) * m.cos(b) + m.sqrt(c)),
]

C_LOOP = """
#include <math.h>
void loop(const {type} *restrict a, const {type} *restrict b, const {type} *restrict c, {type} *restrict out, long n)
{{
    {pragma}
    for (long i = 0; i < n; i++)
        out[i] = {expression};
}}
"""


def c_loop(expression: str, dtype: str, threads: int) -> Any:
    """Hand-written C: what a user writes and compiles with ``gcc -O3 -march=native``, with OpenMP for two threads."""
    ctype = "float" if dtype == "float32" else "double"
    pragma = "#pragma omp parallel for" if threads > 1 else ""
    library = compile_c(C_LOOP.format(type=ctype, expression=expression, pragma=pragma),
                        *(["-fopenmp"] if threads > 1 else []))
    library.loop.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_long]

    def call(a: np.ndarray, b: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
        library.loop(a.ctypes.data, b.ctypes.data, c.ctypes.data, out.ctypes.data, a.size)

    return call


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    import theano
    import theano.tensor as T

    rng = np.random.RandomState(0)
    for name, dtype, size, c_text, expression in CASES:
        a, b, c = (rng.uniform(0.1, 3, size).astype(dtype) for _ in range(3))
        loop, out = c_loop(c_text, dtype, threads), np.empty_like(a)
        symbols = [T.TensorType(dtype, (False,))(n) for n in "abc"]
        f = theano.function(symbols, expression(T, *symbols))
        loop(a, b, c, out)
        tolerance = 2e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(f(a, b, c), out, rtol=tolerance, atol=tolerance)
        contenders = {"Theano": lambda f=f, x=(a, b, c): f(*x), "C": lambda g=loop, x=(a, b, c, out): g(*x)}
        contenders.update(peers(expression, (a, b, c), threads))
        yield row(f"{name}, {size:.0e} {dtype}", threads, contenders, seconds, {"C": 1.15})


def peers(expression: Any, arrays: tuple[np.ndarray, ...], threads: int) -> dict[str, Any]:
    """The same expression in each library that is installed."""
    found: dict[str, Any] = {}
    dtype = arrays[0].dtype
    jax = importable("jax")
    if jax:
        jax.config.update("jax_enable_x64", True)
        g = jax.jit(lambda *v: expression(jax.numpy, *v))
        on_device = [jax.numpy.asarray(v) for v in arrays]
        found["JAX"] = lambda: g(*on_device).block_until_ready()
    pytensor = importable("pytensor")
    if pytensor:
        import pytensor.tensor as pt

        symbols = [pt.TensorType(dtype.name, (None,))(n) for n in "abc"]
        h = pytensor.function(symbols, expression(pt, *symbols), trust_input=True)
        found["PyTensor"] = lambda: h(*arrays)
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(v) for v in arrays]
        found["PyTorch"] = lambda: expression(torch, *tensors)
    numexpr = importable("numexpr")
    if numexpr:
        numexpr.set_num_threads(threads)

        class Text(str):
            """Builds the text of the expression that numexpr reads."""

            def __add__(self, o):
                return Text(f"({self} + {o})")

            def __sub__(self, o):
                return Text(f"({self} - {o})")

            def __mul__(self, o):
                return Text(f"({self} * {o})")

            __rmul__ = __mul__

        class Functions:
            def __getattr__(self, name):
                return lambda v: Text(f"{name}({v})")

        text = str(expression(Functions(), Text("a"), Text("b"), Text("c")))
        named = dict(zip("abc", arrays))
        found["numexpr"] = lambda: numexpr.evaluate(text, local_dict=named)
    return found

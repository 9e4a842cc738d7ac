"""Reductions with what is around them: normalisations, softmax, statistics.

The C code adds up float32 numbers in float64, as ``theano.tensor.sum`` does; the other peers add in float32.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import compile_c, importable, row

N, M = 4096, 1024
EPSILON = np.float32(1e-5)

C_CODE = """
#include <math.h>
#define ROWS {pragma} for (long i = 0; i < n; i++)
void layer_norm(const float *restrict x, const float *restrict g, const float *restrict b, float *restrict out, long n, long m)
{{
    ROWS {{
        const float *r = x + i * m;
        double s = 0, q = 0;
        #pragma omp simd reduction(+:s)
        for (long j = 0; j < m; j++) s += r[j];
        const float mean = s / m;
        #pragma omp simd reduction(+:q)
        for (long j = 0; j < m; j++) q += (r[j] - mean) * (r[j] - mean);
        const float inv = 1 / sqrtf((float)(q / m) + 1e-5f);
        for (long j = 0; j < m; j++) out[i * m + j] = (r[j] - mean) * inv * g[j] + b[j];
    }}
}}
void unit_rows(const float *restrict x, float *restrict out, long n, long m)
{{
    ROWS {{
        const float *r = x + i * m;
        double s = 0;
        #pragma omp simd reduction(+:s)
        for (long j = 0; j < m; j++) s += r[j] * r[j];
        const float length = sqrtf((float)s);
        for (long j = 0; j < m; j++) out[i * m + j] = r[j] / length;
    }}
}}
void row_statistics(const float *restrict x, float *restrict mean, float *restrict var, long n, long m)
{{
    ROWS {{
        const float *r = x + i * m;
        double s = 0, q = 0;
        #pragma omp simd reduction(+:s)
        for (long j = 0; j < m; j++) s += r[j];
        const float middle = s / m;
        #pragma omp simd reduction(+:q)
        for (long j = 0; j < m; j++) q += (r[j] - middle) * (r[j] - middle);
        mean[i] = middle;
        var[i] = q / m;
    }}
}}
void softmax(const float *restrict x, float *restrict out, long n, long m)
{{
    ROWS {{
        const float *r = x + i * m;
        float top = -INFINITY, s = 0;
        #pragma omp simd reduction(max:top)
        for (long j = 0; j < m; j++) top = r[j] > top ? r[j] : top;
        #pragma omp simd reduction(+:s)
        for (long j = 0; j < m; j++) s += out[i * m + j] = expf(r[j] - top);
        s = 1 / s;
        for (long j = 0; j < m; j++) out[i * m + j] *= s;
    }}
}}
void log_sum_exp(const float *restrict x, float *restrict out, long n, long m)
{{
    ROWS {{
        const float *r = x + i * m;
        float top = -INFINITY;
        double s = 0;
        #pragma omp simd reduction(max:top)
        for (long j = 0; j < m; j++) top = r[j] > top ? r[j] : top;
        #pragma omp simd reduction(+:s)
        for (long j = 0; j < m; j++) s += expf(r[j] - top);
        out[i] = logf((float)s) + top;
    }}
}}
"""


class Case:
    """A formula for Theano and the peers.

    Parameters
    ----------
    formula
        Takes a module of functions with NumPy's names (``max``, ``mean`` ... with `axis` and `keepdims`) and the arrays.
    inputs
        Names of the arrays.
    c
        Name of the C function, and the shapes of its results.
    gradient
        Whether to take the gradient of ``sum(result * dy)`` by all inputs but ``dy``, the last.
    """

    def __init__(self, title: str, formula: Callable[..., Any], inputs: str, c: tuple[str, list[tuple[int, ...]]] | None = None,
                 gradient: bool = False):
        self.title = title
        self.formula = formula
        self.inputs = inputs
        self.c = c
        self.gradient = gradient


def layer_norm(np_: Any, x: Any, g: Any, b: Any) -> Any:
    centred = x - np_.mean(x, axis=1, keepdims=True)
    return centred / np_.sqrt(np_.mean(centred * centred, axis=1, keepdims=True) + EPSILON) * g + b


def batch_norm(np_: Any, x: Any, g: Any, b: Any) -> Any:
    mean = np_.mean(x, axis=0)
    var = np_.mean((x - mean) ** 2, axis=0)
    return (x - mean) / np_.sqrt(var + EPSILON) * g + b, mean, var


def statistics(axis: int) -> Callable[..., Any]:
    def both(np_: Any, x: Any) -> Any:
        mean = np_.mean(x, axis=axis, keepdims=True)
        return mean, np_.mean((x - mean) ** 2, axis=axis)

    return both


def softmax(axis: int) -> Callable[..., Any]:
    def rows(np_: Any, x: Any) -> Any:
        e = np_.exp(x - np_.max(x, axis=axis, keepdims=True))
        return e / np_.sum(e, axis=axis, keepdims=True)

    return rows


def log_sum_exp(np_: Any, x: Any) -> Any:
    top = np_.max(x, axis=1, keepdims=True)
    return np_.log(np_.sum(np_.exp(x - top), axis=1, keepdims=True)) + top


def unit_rows(np_: Any, x: Any) -> Any:
    return x / np_.sqrt(np_.sum(x * x, axis=1, keepdims=True))


def bias_gradient(np_: Any, y: Any, d: Any) -> Any:
    before = d * (1 - y * y)
    return before, np_.sum(before, axis=0)


CASES = (
    Case("layer norm", layer_norm, "xgb", ("layer_norm", [(N, M)])),
    Case("layer norm, gradients", layer_norm, "xgbd", gradient=True),
    Case("batch norm with its statistics", batch_norm, "xgb"),
    Case("mean and variance of rows", statistics(1), "x", ("row_statistics", [(N, 1), (N,)])),
    Case("mean and variance of columns", statistics(0), "x"),
    Case("softmax of rows", softmax(1), "x", ("softmax", [(N, M)])),
    Case("softmax of columns", softmax(0), "x"),
    Case("log of the sum of exponentials of rows", log_sum_exp, "x", ("log_sum_exp", [(N, 1)])),
    Case("rows of length 1", unit_rows, "x", ("unit_rows", [(N, M)])),
    Case("gradient through tanh, and of the bias", bias_gradient, "xd"),
)


def results(found: Any) -> list[np.ndarray]:
    return [np.asarray(a) for a in (found if isinstance(found, list | tuple) else [found])]


def theano_function(case: Case) -> Any:
    import theano
    import theano.tensor as T

    class Names:
        mean, max, sum, exp, sqrt, log = T.mean, T.max, T.sum, T.exp, T.sqrt, T.log

    symbols = {name: T.fmatrix(name) if name in "xd" else T.fvector(name) for name in case.inputs}
    if not case.gradient:
        outs = case.formula(Names, *symbols.values())
        return theano.function(list(symbols.values()), list(outs) if isinstance(outs, tuple) else outs)
    *wrt, d = symbols.values()
    out = case.formula(Names, *wrt)
    return theano.function([*wrt, d], T.grad(None, wrt, known_grads={out: d}), on_unused_input="ignore")


def torch_function(case: Case, torch: Any, arrays: list[np.ndarray]) -> Callable[[], Any]:
    class Names:
        mean, sum, exp, sqrt, log = torch.mean, torch.sum, torch.exp, torch.sqrt, torch.log

        @staticmethod
        def max(x: Any, axis: int, keepdims: bool = False) -> Any:
            return torch.amax(x, dim=axis, keepdim=keepdims)

    tensors = [torch.from_numpy(a) for a in arrays]
    if not case.gradient:
        if case.formula is layer_norm:
            x, g, b = tensors
            return lambda: torch.nn.functional.layer_norm(x, (M,), g, b, 1e-5)
        if case.title.startswith("softmax"):
            axis = 1 if "rows" in case.title else 0
            return lambda: torch.softmax(tensors[0], axis)
        return lambda: case.formula(Names, *tensors)
    *wrt, d = tensors
    for t in wrt:
        t.requires_grad_()
    out = torch.nn.functional.layer_norm(wrt[0], (M,), wrt[1], wrt[2], 1e-5)

    def both() -> Any:
        out = torch.nn.functional.layer_norm(wrt[0], (M,), wrt[1], wrt[2], 1e-5)
        return [g.detach() for g in torch.autograd.grad(out, wrt, d)]

    del out
    return both


def jax_function(case: Case, jax: Any, arrays: list[np.ndarray]) -> Callable[[], Any]:
    devices = [jax.numpy.asarray(a) for a in arrays]
    if not case.gradient:
        compiled = jax.jit(lambda *xs: case.formula(jax.numpy, *xs))
        return lambda: jax.block_until_ready(compiled(*devices))

    def pull(*xs: Any) -> Any:
        return jax.vjp(lambda *wrt: case.formula(jax.numpy, *wrt), *xs[:-1])[1](xs[-1])

    compiled = jax.jit(pull)
    return lambda: jax.block_until_ready(compiled(*devices))


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    rng = np.random.RandomState(0)
    shapes = {"x": (N, M), "d": (N, M), "g": (M,), "b": (M,)}
    values = {name: rng.uniform(-1, 1, shape).astype("float32") for name, shape in shapes.items()}
    code = C_CODE.format(pragma='_Pragma("omp parallel for")' if threads > 1 else "")
    library = compile_c(code, "-ffast-math", "-fopenmp" if threads > 1 else "-fopenmp-simd")
    jax, torch = importable("jax"), importable("torch")
    if torch:
        torch.set_num_threads(threads)
    for case in CASES:
        arrays = [values[name] for name in case.inputs]
        function = theano_function(case)
        contenders: dict[str, Any] = {"Theano": lambda f=function, a=arrays: f(*a)}
        if case.c is not None:
            outs = [np.empty(shape, "float32") for shape in case.c[1]]
            call = getattr(library, case.c[0])
            call.argtypes = [ctypes.c_void_p] * (len(arrays) + len(outs)) + [ctypes.c_long] * 2
            pointers = [a.ctypes.data for a in (*arrays, *outs)]
            contenders["C"] = lambda call=call, pointers=pointers: call(*pointers, N, M)
            contenders["C"]()
            for a, b in zip(results(function(*arrays)), outs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
        if jax:
            contenders["JAX"] = jax_function(case, jax, arrays)
        if torch:
            contenders["PyTorch"] = torch_function(case, torch, arrays)
        for name in contenders.keys() & {"JAX", "PyTorch"}:
            for a, b in zip(results(function(*arrays)), results(contenders[name]()), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
        yield row(f"{case.title}, {N}x{M} float32", threads, contenders, seconds, {"C": 1.2})

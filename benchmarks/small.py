"""Small programs, where calls and what lies between instructions cost more than numbers; against C for the very sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import loops
from benchmarks.harness import compile_c, importable, prepared, row

LENGTH = 10
BATCH, INPUTS, WIDTH = 1, 64, 64
OUTPUTS = 20

C_CODE = """
#include <math.h>
#define N {length}
void ten(const double *restrict a, const double *restrict b, double *restrict out)
{{
    double u[N], v[N], s = 0;
    for (int i = 0; i < N; i++) {{ u[i] = a[i] * b[i] + a[i]; s += u[i]; }}
    for (int i = 0; i < N; i++) v[i] = tanh(u[i] - s / N);
    double top = -INFINITY;
    for (int i = 0; i < N; i++) top = v[i] > top ? v[i] : top;
    for (int i = 0; i < N; i++) out[i] = exp(v[i] - top) * b[N - 1 - i];
}}

#define I {inputs}
#define H {width}
/* One step of a GRU: x (I), h (H), w (I, 3H), u (H, 2H), v (H, H), b (3H). */
void gru(const float *restrict x, const float *restrict h, const float *restrict w, const float *restrict u,
         const float *restrict v, const float *restrict b, float *restrict out)
{{
    float z[3 * H], g[2 * H], r[H], c[H];
    for (int j = 0; j < 3 * H; j++) z[j] = b[j];
    for (int i = 0; i < I; i++) for (int j = 0; j < 3 * H; j++) z[j] += x[i] * w[i * 3 * H + j];
    for (int j = 0; j < 2 * H; j++) g[j] = z[j];
    for (int i = 0; i < H; i++) for (int j = 0; j < 2 * H; j++) g[j] += h[i] * u[i * 2 * H + j];
    for (int j = 0; j < 2 * H; j++) g[j] = 1 / (1 + expf(-g[j]));
    for (int j = 0; j < H; j++) r[j] = g[j] * h[j];
    for (int j = 0; j < H; j++) c[j] = z[2 * H + j];
    for (int i = 0; i < H; i++) for (int j = 0; j < H; j++) c[j] += r[i] * v[i * H + j];
    for (int j = 0; j < H; j++) out[j] = g[H + j] * h[j] + (1 - g[H + j]) * tanhf(c[j]);
}}

#define X {variables}
#define O {outputs}
/* Of sum(log(1 + exp(w sin(x)))) + sum(tanh(x))^2. */
void hessian(const double *restrict x, const double *restrict w, double *restrict out)
{{
    double s[X], c[X], t[X], z[O], p[O], total = 0, slope[X];
    for (int i = 0; i < X; i++) s[i] = sin(x[i]);
    for (int i = 0; i < X; i++) c[i] = cos(x[i]);
    for (int i = 0; i < X; i++) t[i] = tanh(x[i]);
    for (int i = 0; i < X; i++) total += t[i];
    for (int k = 0; k < O; k++) {{
        double sum = 0;
        for (int i = 0; i < X; i++) sum += w[k * X + i] * s[i];
        z[k] = sum;
    }}
    for (int k = 0; k < O; k++) p[k] = 1 / (1 + exp(-z[k]));
    for (int i = 0; i < X; i++) slope[i] = 0;
    for (int k = 0; k < O; k++) for (int i = 0; i < X; i++) slope[i] += p[k] * w[k * X + i];
    double a[O][X];
    for (int k = 0; k < O; k++) for (int i = 0; i < X; i++) a[k][i] = w[k * X + i] * c[i];
    double d[X];
    for (int i = 0; i < X; i++) d[i] = 1 - t[i] * t[i];
    for (int i = 0; i < X; i++) {{
        double r[X];
        for (int j = 0; j < X; j++) r[j] = 2 * d[i] * d[j];
        for (int k = 0; k < O; k++) {{
            const double f = p[k] * (1 - p[k]) * a[k][i];
            for (int j = 0; j < X; j++) r[j] += f * a[k][j];
        }}
        r[i] -= slope[i] * s[i] + 4 * total * t[i] * d[i];
        for (int j = 0; j < X; j++) out[i * X + j] = r[j];
    }}
}}

#define T {steps}
#define L {cell}
/* Value and gradients of sum(h_T^2), h_t = tanh(x_t w + b + h_(t-1) u), batch 1. */
static void times(const float *restrict x, const float *restrict m, float *restrict out)
{{
    float even[L], odd[L];
    for (int j = 0; j < L; j++) even[j] = odd[j] = 0;
    for (int k = 0; k < L; k += 2) {{
        for (int j = 0; j < L; j++) even[j] += x[k] * m[k * L + j];
        for (int j = 0; j < L; j++) odd[j] += x[k + 1] * m[(k + 1) * L + j];
    }}
    for (int j = 0; j < L; j++) out[j] += even[j] + odd[j];
}}
/* out (L, L) = a' b of T rows, four rows of the result at a time. */
static void outer(const float *restrict a, const float *restrict b, long n, float *restrict out)
{{
    for (int k = 0; k < L; k += 2) {{
        float r[2][L];
        for (int j = 0; j < L; j++) r[0][j] = r[1][j] = 0;
        for (long t = 0; t < n; t++)
            for (int j = 0; j < L; j++) {{
                r[0][j] += a[t * L + k] * b[t * L + j];
                r[1][j] += a[t * L + k + 1] * b[t * L + j];
            }}
        for (int j = 0; j < L; j++) {{ out[k * L + j] = r[0][j]; out[(k + 1) * L + j] = r[1][j]; }}
    }}
}}
void rnn(const float *restrict x, const float *restrict w, const float *restrict u, const float *restrict b, float *restrict cost,
         float *restrict dw, float *restrict du, float *restrict db)
{{
    static float h[T + 1][L], d[T][L], back[L * L];
    for (int j = 0; j < L; j++) h[0][j] = 0;
    for (int t = 0; t < T; t++) {{
        float z[L];
        for (int j = 0; j < L; j++) z[j] = b[j];
        times(x + t * L, w, z);
        for (int j = 0; j < L; j++) d[t][j] = z[j];
    }}
    for (int t = 0; t < T; t++) {{
        float z[L];
        for (int j = 0; j < L; j++) z[j] = d[t][j];
        times(h[t], u, z);
        for (int j = 0; j < L; j++) h[t + 1][j] = tanhf(z[j]);
    }}
    for (int i = 0; i < L; i++) for (int j = 0; j < L; j++) back[j * L + i] = u[i * L + j];
    float g[L], sum = 0;
    for (int j = 0; j < L; j++) {{ sum += h[T][j] * h[T][j]; g[j] = 2 * h[T][j]; db[j] = 0; }}
    *cost = sum;
    for (int t = T - 1; t >= 0; t--) {{
        float z[L];
        for (int j = 0; j < L; j++) {{ z[j] = g[j] * (1 - h[t + 1][j] * h[t + 1][j]); db[j] += z[j]; d[t][j] = z[j]; g[j] = 0; }}
        times(z, back, g);
    }}
    outer(x, &d[0][0], T, dw);
    outer(&h[0][0], &d[0][0], T, du);
}}
"""


def ten_operations(m: Any, tanh: Any, a: Any, b: Any) -> Any:
    u = a * b + a
    v = tanh(u - m.sum(u) / LENGTH)
    return m.exp(v - m.max(v)) * b[::-1]


def gru_step(dot: Any, sigmoid: Any, tanh: Any, x: Any, h: Any, w: Any, u: Any, v: Any, b: Any) -> Any:
    z = dot(x, w) + b
    gates = sigmoid(z[:, : 2 * WIDTH] + dot(h, u))
    reset, update = gates[:, :WIDTH], gates[:, WIDTH:]
    new = tanh(z[:, 2 * WIDTH :] + dot(reset * h, v))
    return update * h + (1 - update) * new


def sigmoid(v: Any) -> Any:
    return 1 / (1 + np.exp(-v))


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    steps, _, cell = loops.RNN
    library = compile_c(C_CODE.format(length=LENGTH, inputs=INPUTS, width=WIDTH, variables=loops.HESSIAN, outputs=OUTPUTS,
                                      steps=steps, cell=cell), "-ffast-math")
    jax, torch = importable("jax"), importable("torch")
    if jax:
        jax.config.update("jax_enable_x64", True)
    if torch:
        torch.set_num_threads(threads)
    for case, found, limit in (ten(library, jax, torch), gru(library, jax, torch), hessian(library, jax, torch),
                               rnn(library, jax, torch)):
        yield row(case, threads, found, seconds, {"C": limit})


Found = tuple[str, dict[str, Callable[[], Any]], float]


def ten(library: Any, jax: Any, torch: Any) -> Found:
    import theano
    import theano.tensor as T

    arrays = [np.random.RandomState(seed).randn(LENGTH) for seed in range(2)]
    symbols = [T.dvector(), T.dvector()]
    f, out = theano.function(symbols, ten_operations(T, T.tanh, *symbols)), np.empty(LENGTH)
    found: dict[str, Callable[[], Any]] = {"Theano": lambda: f(*arrays), "C": prepared(library.ten, *arrays, out)}
    found["C"]()
    np.testing.assert_allclose(f(*arrays), out, rtol=1e-9)
    found["NumPy"] = lambda: ten_operations(np, np.tanh, *arrays)
    if jax:
        compiled = jax.jit(lambda a, b: ten_operations(jax.numpy, jax.numpy.tanh, a, b))
        devices = [jax.numpy.asarray(a) for a in arrays]
        found["JAX"] = lambda: compiled(*devices).block_until_ready()
    return "ten operations on length 10, float64", found, 1.3


def gru(library: Any, jax: Any, torch: Any) -> Found:
    import theano
    import theano.tensor as T

    w, u, v, b = (a / 3 for a in loops.weights((INPUTS, 3 * WIDTH), (WIDTH, 2 * WIDTH), (WIDTH, WIDTH), (3 * WIDTH,)))
    rng = np.random.RandomState(1)
    x, h = rng.randn(BATCH, INPUTS).astype("float32"), rng.randn(BATCH, WIDTH).astype("float32")
    sx, sh = T.fmatrix(), T.fmatrix()
    shared = [theano.shared(p) for p in (w, u, v, b)]
    f, out = theano.function([sx, sh], gru_step(T.dot, T.nnet.sigmoid, T.tanh, sx, sh, *shared)), np.empty_like(h)
    found: dict[str, Callable[[], Any]] = {"Theano": lambda: f(x, h), "C": prepared(library.gru, x, h, w, u, v, b, out)}
    found["C"]()
    np.testing.assert_allclose(f(x, h), out, rtol=1e-4, atol=1e-6)
    found["NumPy"] = lambda: gru_step(np.dot, sigmoid, np.tanh, x, h, w, u, v, b)
    if jax:
        compiled = jax.jit(lambda *a: gru_step(jax.numpy.dot, jax.nn.sigmoid, jax.numpy.tanh, *a))
        devices = [jax.numpy.asarray(a) for a in (x, h, w, u, v, b)]
        found["JAX"] = lambda: compiled(*devices).block_until_ready()
    if torch:
        tensors = [torch.from_numpy(a) for a in (x, h, w, u, v, b)]

        def by_torch() -> Any:
            with torch.no_grad():
                return gru_step(torch.mm, torch.sigmoid, torch.tanh, *tensors)

        found["PyTorch"] = by_torch
    return f"one step of a GRU, {INPUTS} inputs, width {WIDTH}, float32", found, 1.3


def hessian(library: Any, jax: Any, torch: Any) -> Found:
    import theano
    import theano.tensor as T

    rng = np.random.RandomState(0)
    x, w = rng.randn(loops.HESSIAN), rng.randn(OUTPUTS, loops.HESSIAN)
    f, out = loops.symbolic_hessian(theano, T, theano.gradient.hessian), np.empty((loops.HESSIAN,) * 2)
    found: dict[str, Callable[[], Any]] = {"Theano": lambda: f(x, w), "C": prepared(library.hessian, x, w, out)}
    found["C"]()
    np.testing.assert_allclose(f(x, w), out, rtol=1e-7, atol=1e-9)
    if jax:
        by_jax, devices = loops.jax_hessian(jax), (jax.numpy.asarray(x), jax.numpy.asarray(w))
        found["JAX"] = lambda: by_jax(*devices)
    return f"hessian of {loops.HESSIAN} variables, float64", found, 1.3


def rnn(library: Any, jax: Any, torch: Any) -> Found:
    (x,) = loops.data("rnn")
    params = loops.parameters("rnn")
    f = loops.theano_model("rnn")
    results = [np.empty((), "float32"), *map(np.empty_like, params)]
    found: dict[str, Callable[[], Any]] = {"Theano": lambda: f(x), "C": prepared(library.rnn, x, *params, *results)}
    found["C"]()
    for ours, theirs in zip(f(x), results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
    if jax:
        by_jax, device = loops.jax_model("rnn", jax), jax.numpy.asarray(x)
        found["JAX"] = lambda: by_jax(device)
    if torch:
        module, tensor = loops.torch_module("rnn", torch), torch.from_numpy(x)
        found["PyTorch"] = lambda: module(tensor)
    return "tanh RNN, batch 1, T {0}, H {2}, value and gradient, float32".format(*loops.RNN), found, 1.25

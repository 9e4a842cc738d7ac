"""Training steps in C: loops that gcc vectorises with glibc's functions, products by the OpenBLAS that NumPy brings."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import blas_function, compile_c, prepared

HEAD = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
typedef long I;
enum {{ ROWS = 101, PLAIN = 111, TURNED = 112 }};
typedef void gemm_t(int, int, int, I, I, I, float, const float *, I, const float *, I, float, float *, I);
typedef void gemv_t(int, int, I, I, double, const double *, I, const double *, I, double, double *, I);
#define PARALLEL {pragma}
"""

LOGISTIC = """
/* One step of the manual's logistic regression; loops over the rows are too short for threads. */
void logistic(gemv_t *gemv, const double *restrict x, const double *restrict y, double *restrict w, double *restrict b,
              char *restrict prediction, double *restrict entropy, double *restrict d, I n, I m)
{
    const double rate = 0.1, decay = 0.01;
    gemv(ROWS, PLAIN, n, m, 1, x, m, w, 1, 0, d, 1);
    double sum = 0;
    for (I i = 0; i < n; i++) {
        const double z = d[i] + *b, e = exp(-fabs(z)), l = log1p(e), p = (z < 0 ? e : 1) / (1 + e);
        prediction[i] = p > 0.5;
        entropy[i] = y[i] * (l + (z < 0 ? -z : 0)) + (1 - y[i]) * (l + (z < 0 ? 0 : z));
        d[i] = (p - y[i]) / n;
        sum += d[i];
    }
    gemv(ROWS, TURNED, n, m, -rate, x, m, d, 1, 1 - 2 * rate * decay, w, 1);
    *b -= rate * sum;
}
"""

MLP = """
/* Two hidden tanh layers and a softmax: widths l[0..3], `h` and `d` hold values and gradients of a batch of n. */
void mlp(gemm_t *gemm, const float *restrict x, const I *restrict y, float *const *w, float *const *b, float *const *h,
         float *const *d, double *restrict cost, const I *l, I n)
{
    const float rate = 0.1f;
    for (int k = 0; k < 3; k++) {
        const float *in = k ? h[k - 1] : x;
        float *restrict out = h[k];
        const float *restrict bias = b[k];
        const I m = l[k + 1];
        gemm(ROWS, PLAIN, PLAIN, n, m, l[k], 1, in, l[k], w[k], m, 0, out, m);
        if (k < 2) {
            PARALLEL
            for (I i = 0; i < n; i++) for (I j = 0; j < m; j++) out[i * m + j] = tanhf(out[i * m + j] + bias[j]);
        }
    }
    double total = 0;
    const I m = l[3];
    for (I i = 0; i < n; i++) {
        float *restrict z = h[2] + i * m, *restrict g = d[2] + i * m, top = -INFINITY, s = 0;
        for (I j = 0; j < m; j++) { z[j] += b[2][j]; top = z[j] > top ? z[j] : top; }
        for (I j = 0; j < m; j++) s += g[j] = expf(z[j] - top);
        for (I j = 0; j < m; j++) g[j] *= 1 / (s * n);
        g[y[i]] -= 1.0f / n;
        total += logf(s) + top - z[y[i]];
    }
    *cost = total / n;
    for (int k = 2; k >= 0; k--) {
        const float *in = k ? h[k - 1] : x;
        const I m = l[k + 1], before = l[k];
        const float *restrict g = d[k];
        if (k) {
            float *restrict to = d[k - 1];
            gemm(ROWS, PLAIN, TURNED, n, before, m, 1, g, m, w[k], m, 0, to, before);
            PARALLEL
            for (I i = 0; i < n * before; i++) to[i] *= 1 - in[i] * in[i];
        }
        gemm(ROWS, TURNED, PLAIN, before, m, n, -rate, in, before, g, m, 1, w[k], m);
        for (I i = 0; i < n; i++) for (I j = 0; j < m; j++) b[k][j] -= rate * g[i * m + j];
    }
}
"""

LSTM = """
/* Value and gradients of sum(h_t^2): `z` (t, n, 4 m) becomes the gates and then their gradients, `h` and `c` (t + 1, n, m). */
void lstm(gemm_t *gemm, const float *restrict x, const float *restrict w, const float *restrict u, const float *restrict b,
          float *restrict z, float *restrict h, float *restrict c, float *restrict dh, float *restrict dc, float *restrict value,
          float *restrict dw, float *restrict du, float *restrict db, I t, I n, I m)
{
    gemm(ROWS, PLAIN, PLAIN, t * n, 4 * m, m, 1, x, m, w, 4 * m, 0, z, 4 * m);
    memset(h, 0, n * m * sizeof *h);
    memset(c, 0, n * m * sizeof *c);
    for (I k = 0; k < t; k++) {
        float *zk = z + k * n * 4 * m, *hk = h + k * n * m, *ck = c + k * n * m;
        gemm(ROWS, PLAIN, PLAIN, n, 4 * m, m, 1, hk, m, u, 4 * m, 1, zk, 4 * m);
        PARALLEL
        for (I r = 0; r < n; r++) {
            float *restrict g = zk + r * 4 * m, *restrict to = hk + (n + r) * m, *restrict cell = ck + (n + r) * m;
            const float *restrict old = ck + r * m;
            for (I j = 0; j < 3 * m; j++) g[j] = 1 / (1 + expf(-(g[j] + b[j])));
            for (I j = 3 * m; j < 4 * m; j++) g[j] = tanhf(g[j] + b[j]);
            for (I j = 0; j < m; j++) {
                cell[j] = g[m + j] * old[j] + g[j] * g[3 * m + j];
                to[j] = g[2 * m + j] * tanhf(cell[j]);
            }
        }
    }
    float sum = 0;
    for (I j = 0; j < n * m; j++) {
        const float v = h[t * n * m + j];
        sum += v * v;
        dh[j] = 2 * v;
        dc[j] = 0;
    }
    *value = sum;
    for (I k = t - 1; k >= 0; k--) {
        float *zk = z + k * n * 4 * m, *ck = c + k * n * m;
        PARALLEL
        for (I r = 0; r < n; r++) {
            float *restrict g = zk + r * 4 * m, *restrict a = dh + r * m, *restrict e = dc + r * m;
            const float *restrict old = ck + r * m, *restrict cell = ck + (n + r) * m;
            for (I j = 0; j < m; j++) {
                const float i = g[j], f = g[m + j], o = g[2 * m + j], q = g[3 * m + j], s = tanhf(cell[j]);
                const float v = e[j] + a[j] * o * (1 - s * s);
                g[j] = v * q * i * (1 - i);
                g[m + j] = v * old[j] * f * (1 - f);
                g[2 * m + j] = a[j] * s * o * (1 - o);
                g[3 * m + j] = v * i * (1 - q * q);
                e[j] = v * f;
            }
        }
        gemm(ROWS, PLAIN, TURNED, n, m, 4 * m, 1, zk, 4 * m, u, 4 * m, 0, dh, m);
    }
    gemm(ROWS, TURNED, PLAIN, m, 4 * m, t * n, 1, x, m, z, 4 * m, 0, dw, 4 * m);
    gemm(ROWS, TURNED, PLAIN, m, 4 * m, t * n, 1, h, m, z, 4 * m, 0, du, 4 * m);
    memset(db, 0, 4 * m * sizeof *db);
    for (I k = 0; k < t * n; k++) for (I j = 0; j < 4 * m; j++) db[j] += z[k * 4 * m + j];
}
"""


def library(threads: int, source: str) -> Any:
    """The compiled C. The threads of its loops sleep when these are done: they would keep OpenBLAS's own from the cores."""
    pragma = '_Pragma("omp parallel for")' if threads > 1 else ""
    waiting = os.environ.get("OMP_WAIT_POLICY")
    # Read when gcc's library of OpenMP is loaded; PyTorch has one of its own.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        return compile_c(HEAD.format(pragma=pragma) + source, "-ffast-math", *(["-fopenmp"] if threads > 1 else []))
    finally:
        del os.environ["OMP_WAIT_POLICY"]
        if waiting is not None:
            os.environ["OMP_WAIT_POLICY"] = waiting


def logistic(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[Callable[[], None], list[np.ndarray]]:
    """A step in float64, and the arrays of its results: prediction and cross-entropy."""
    n, m = x.shape
    prediction, entropy = np.empty(n, bool), np.empty(n)
    step = prepared(library(1, LOGISTIC).logistic, blas_function("cblas_dgemv"), x, y, w.copy(), np.zeros(1), prediction, entropy,
                    np.empty(n), n, m)  # fmt: skip
    return step, [prediction, entropy]


def mlp(threads: int, x: np.ndarray, y: np.ndarray, params: list[np.ndarray]) -> tuple[Callable[[], None], np.ndarray]:
    """A step, and the array of its cost."""
    params = [p.copy() for p in params]
    widths = np.array([x.shape[1], *(b.size for b in params[1::2])])
    values, slopes = ([np.empty((x.shape[0], n), "float32") for n in widths[1:]] for _ in range(2))
    cost = np.empty(1)
    lists = [np.array([a.ctypes.data for a in arrays]) for arrays in (params[::2], params[1::2], values, slopes)]
    step = prepared(library(threads, MLP).mlp, blas_function("cblas_sgemm"), x, y, *lists, cost, widths, x.shape[0])
    step.kept = params, values, slopes  # type: ignore[attr-defined]
    return step, cost


def lstm(threads: int, x: np.ndarray, params: list[np.ndarray]) -> tuple[Callable[[], None], list[np.ndarray]]:
    """Value and gradients, and the arrays of these."""
    t, n, m = x.shape
    work = [np.empty(s, "float32") for s in ((t, n, 4 * m), (t + 1, n, m), (t + 1, n, m), (n, m), (n, m))]
    results = [np.empty((), "float32"), *map(np.empty_like, params)]
    step = prepared(library(threads, LSTM).lstm, blas_function("cblas_sgemm"), x, *params, *work, *results, t, n, m)
    return step, results

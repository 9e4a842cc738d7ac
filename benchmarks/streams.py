"""Random numbers: long samples, masks, and two models that draw in every step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import compile_c, importable, row

LONG = 10_000_000
RATE = 0.1

# What costs least: a generator whose lanes the compiler finds, and the transformation of Box and Muller over it.
C_CODE = """
#include <math.h>
#include <stdint.h>
#define LANES 32
static uint32_t state[LANES];
void start(void) { for (int i = 0; i < LANES; i++) state[i] = 2463534242u * (uint32_t)(2 * i + 1); }
void uniform(long n, float *restrict out)
{
    for (long k = 0; k + LANES <= n; k += LANES) {
        for (int i = 0; i < LANES; i++) {
            uint32_t x = state[i];
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            state[i] = x;
            out[k + i] = (float)(int32_t)(x >> 8) * 0x1p-24f;
        }
    }
}
void normal(long n, float *restrict out)
{
    uniform(n, out);
    for (long k = 0; k < n / 2; k++) {
        const float r = sqrtf(-2 * logf(1 - out[k])), angle = 6.2831853f * out[n / 2 + k];
        out[k] = r * cosf(angle);
        out[n / 2 + k] = r * sinf(angle);
    }
}
"""


def _peers(threads: int, kind: str, sample: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Long samples of float32 by others, of 'uniform' or 'normal' numbers."""
    generator = np.random.default_rng(1)
    draw = generator.random if kind == "uniform" else generator.standard_normal
    found: dict[str, Callable[[], Any]] = {"NumPy": lambda: draw(LONG, dtype="float32")}
    library = compile_c(C_CODE, "-ffast-math")
    library.start()
    function = library[kind]
    found["hand-written C"] = lambda: function(ctypes.c_long(LONG), sample.ctypes.data_as(ctypes.c_void_p))
    jax, torch = map(importable, ("jax", "torch"))
    if jax:
        key = jax.random.key(1)
        by_jax = jax.jit(lambda k: getattr(jax.random, kind)(k, (LONG,)))
        found["JAX"] = lambda: by_jax(key).block_until_ready()
    if torch:
        torch.set_num_threads(threads)
        by_torch = torch.rand if kind == "uniform" else torch.randn
        found["PyTorch"] = lambda: by_torch(LONG)
    return found


def long_samples(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    """1e7 numbers of float32."""
    import theano
    from theano.sandbox.rng_mrg import MRG_RandomStreams

    for kind, limits in (("uniform", {"NumPy": 1.0}), ("normal", {"PyTorch": 1.0, "NumPy": 1.0})):
        f = theano.function([], getattr(MRG_RandomStreams(1), kind)((LONG,), dtype="float32"))
        contenders = {"Theano": f, **_peers(threads, kind, np.empty(LONG, "float32"))}
        yield row(f"MRG {kind}, 1e7 float32", threads, contenders, seconds, limits, beat_peers=False)


def numpys_own(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    """`RandomStreams` beside the methods of the generator that they stand for."""
    import theano
    from theano.tensor.shared_randomstreams import RandomStreams

    p, six = np.random.RandomState(1).rand(1000, 1000), np.full(6, 1 / 6)
    cases: dict[str, tuple[Any, Any]] = {
        "uniform, 1e6": (lambda s: s.uniform((10**6,), dtype="float64"), lambda r: r.uniform(size=10**6)),
        "normal, 1e6": (lambda s: s.normal((10**6,), dtype="float64"), lambda r: r.normal(size=10**6)),
        "binomial, 1e6 probabilities": (lambda s: s.binomial(p.shape, p=p), lambda r: r.binomial(1, p)),
        "random_integers, 1e6": (lambda s: s.random_integers((10**6,), 0, 99), lambda r: r.randint(0, 100, 10**6)),
        "permutation, 1e6": (lambda s: s.permutation(n=10**6), lambda r: r.permutation(10**6)),
        "multinomial of 6, 1e5": (lambda s: s.multinomial((10**5,), n=5, pvals=six), lambda r: r.multinomial(5, six, 10**5)),
        "poisson, 1e5": (lambda s: s.poisson((10**5,), lam=2.0), lambda r: r.poisson(2.0, 10**5)),
        "choice, 1e5": (lambda s: s.choice((10**5,), a=7), lambda r: r.choice(7, 10**5)),
        "uniform, 10": (lambda s: s.uniform((10,), dtype="float64"), lambda r: r.uniform(size=10)),
        "normal, 3": (lambda s: s.normal((3,), dtype="float64"), lambda r: r.normal(size=3)),
        "binomial, 10": (lambda s: s.binomial((10,), p=0.5), lambda r: r.binomial(1, 0.5, 10)),
        "random_integers, 10": (lambda s: s.random_integers((10,), 0, 99), lambda r: r.randint(0, 100, 10)),
        "permutation, 10": (lambda s: s.permutation(n=10), lambda r: r.permutation(10)),
        "multinomial of 6, 3": (lambda s: s.multinomial((3,), n=5, pvals=six), lambda r: r.multinomial(5, six, 3)),
        "poisson, 10": (lambda s: s.poisson((10,), lam=2.0), lambda r: r.poisson(2.0, 10)),
        "choice, 10": (lambda s: s.choice((10,), a=7), lambda r: r.choice(7, 10)),
        "choice without replacement, 5": (
            lambda s: s.choice((5,), a=7, replace=False), lambda r: r.choice(7, 5, replace=False)
        ),
    }
    for name, (symbolic, draw) in cases.items():
        f, state = theano.function([], symbolic(RandomStreams(1))), np.random.RandomState(1)
        contenders = {"Theano": f, "NumPy": lambda draw=draw, state=state: draw(state)}
        yield row(f"RandomStreams.{name}", threads, contenders, seconds, {"NumPy": 1.05}, beat_peers=False)


def dropout(threads: int, seconds: float) -> dict[str, Any]:
    """``x * mask / 0.8``."""
    import theano
    import theano.tensor as T
    from theano.sandbox.rng_mrg import MRG_RandomStreams

    x, data = T.fmatrix(), np.random.RandomState(1).rand(2048, 1024).astype("float32")
    with theano.configparser.change_flags(floatX="float32"):
        mask = MRG_RandomStreams(1).binomial(x.shape, p=0.8, ndim=2, dtype="float32")
    f = theano.function([x], x * mask / np.float32(0.8))
    contenders: dict[str, Any] = {"Theano": lambda: f(data)}
    generator = np.random.default_rng(1)
    contenders["NumPy"] = lambda: data * (generator.random(data.shape, dtype="float32") < 0.8) / np.float32(0.8)
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        given = torch.from_numpy(data)
        contenders["PyTorch"] = lambda: torch.nn.functional.dropout(given, 0.2)
    return row("dropout by an MRG mask, 2048x1024 float32", threads, contenders, seconds)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def rbm(threads: int, seconds: float) -> dict[str, Any]:
    """A step of contrastive divergence with five steps of Gibbs' chain, drawn by `RandomStreams.binomial` in a loop."""
    import theano
    import theano.tensor as T
    from theano.tensor.shared_randomstreams import RandomStreams

    start = np.random.RandomState(1)
    first, data = (start.randn(784, 256) * 0.05).astype("float32"), (start.rand(20, 784) < 0.3).astype("float32")
    w, b, c = (theano.shared(a) for a in (first.copy(), np.zeros(256, "float32"), np.zeros(784, "float32")))
    streams, x = RandomStreams(7), T.fmatrix()

    def drawn(p: Any) -> Any:
        return streams.binomial(size=p.shape, n=1, p=p, dtype="float32")

    def gibbs(h: Any) -> Any:
        v = drawn(T.nnet.sigmoid(T.dot(h, w.T) + c))
        return v, drawn(T.nnet.sigmoid(T.dot(v, w) + b))

    h0 = drawn(T.nnet.sigmoid(T.dot(x, w) + b))
    (chain, _), updates = theano.scan(gibbs, outputs_info=[None, h0], n_steps=5)
    end = chain[-1]

    def energy(v: Any) -> Any:
        return -T.dot(v, c).sum() - T.nnet.softplus(T.dot(v, w) + b).sum()

    cost = (energy(x) - energy(end)) / data.shape[0]
    gradients = T.grad(cost, [w, b, c], consider_constant=[end])
    updates.update({p: p - np.float32(RATE) * g for p, g in zip([w, b, c], gradients)})
    f = theano.function([x], [], updates=updates)

    values = [first.copy(), np.zeros(256, "float32"), np.zeros(784, "float32")]
    seeds = np.random.RandomState(7)
    states = [np.random.RandomState(int(seeds.randint(2**30))) for _ in range(3)]

    def by_numpy() -> None:
        w_, b_, c_ = values
        of = [_sigmoid(data @ w_ + b_)]
        h = states[0].binomial(1, of[0]).astype("float32")
        for _ in range(5):
            v = states[1].binomial(1, _sigmoid(h @ w_.T + c_)).astype("float32")
            of.append(_sigmoid(v @ w_ + b_))
            h = states[2].binomial(1, of[-1]).astype("float32")
        rate = np.float32(RATE / len(data))
        values[0] = w_ + rate * (data.T @ of[0] - v.T @ of[-1])
        values[1] = b_ + rate * (of[0] - of[-1]).sum(0)
        values[2] = c_ + rate * (data - v).sum(0)

    f(data)
    by_numpy()
    np.testing.assert_allclose(w.get_value(), values[0], rtol=1e-3, atol=1e-4)
    contenders = {"Theano": lambda: f(data), "NumPy": by_numpy}
    limits = {"NumPy": 0.5}
    return row("RBM, CD-5 by scan with RandomStreams.binomial, 784-256, batch 20: a step", threads, contenders, seconds, limits)


def denoising_autoencoder(threads: int, seconds: float) -> dict[str, Any]:
    """A step of an autoencoder with tied weights whose input an MRG mask corrupts."""
    import theano
    import theano.tensor as T
    from theano.sandbox.rng_mrg import MRG_RandomStreams

    start = np.random.RandomState(1)
    first, data = (start.randn(784, 400) * 0.05).astype("float32"), (start.rand(20, 784) < 0.3).astype("float32")
    w, b, c = (theano.shared(a) for a in (first, np.zeros(400, "float32"), np.zeros(784, "float32")))
    x = T.fmatrix()
    with theano.configparser.change_flags(floatX="float32"):
        kept = MRG_RandomStreams(7).binomial(size=x.shape, n=1, p=0.7, ndim=2, dtype="float32") * x
    z = T.nnet.sigmoid(T.dot(T.nnet.sigmoid(T.dot(kept, w) + b), w.T) + c)
    cost = T.nnet.binary_crossentropy(z, x).sum(axis=1).mean()
    updates = [(p, p - np.float32(RATE) * g) for p, g in zip([w, b, c], T.grad(cost, [w, b, c]))]
    f = theano.function([x], cost, updates=updates)
    contenders: dict[str, Any] = {"Theano": lambda: f(data)}
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        arrays = first.copy(), np.zeros(400, "float32"), np.zeros(784, "float32")
        weights = [torch.from_numpy(a).requires_grad_() for a in arrays]
        given, functional = torch.from_numpy(data), torch.nn.functional

        def by_torch() -> None:
            hidden = torch.sigmoid((given * torch.bernoulli(torch.full_like(given, 0.7))) @ weights[0] + weights[1])
            logits = hidden @ weights[0].T + weights[2]
            loss = functional.binary_cross_entropy_with_logits(logits, given, reduction="sum") / len(given)
            changes = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                for value, change in zip(weights, changes):
                    value -= RATE * change

        contenders["PyTorch"] = by_torch
    return row("denoising autoencoder, MRG corruption, 784-400, batch 20 float32: a step", threads, contenders, seconds)


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    """All rows."""
    yield from long_samples(threads, seconds)
    yield from numpys_own(threads, seconds)
    yield dropout(threads, seconds)
    yield rbm(threads, seconds)
    yield denoising_autoencoder(threads, seconds)

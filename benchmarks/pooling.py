"""Pooling of well-known networks: forward, the gradient given what is pooled, and both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import importable, row


class Case(NamedTuple):
    """Images and square windows."""

    name: str
    shape: tuple[int, ...]
    w: int
    s: int
    p: int

    @property
    def windows(self) -> tuple[tuple[int, ...], ...]:
        return tuple((v,) * (len(self.shape) - 2) for v in (self.w, self.s, self.p))


CASES = (
    Case("LeNet 2x2/2", (64, 20, 24, 24), 2, 2, 0),
    Case("VGG 2x2/2", (4, 64, 112, 112), 2, 2, 0),
    Case("ResNet 3x3/2", (4, 64, 112, 112), 3, 2, 1),
    Case("AlexNet 3x3/2", (8, 64, 55, 55), 3, 2, 0),
    Case("Inception 3x3/1", (8, 192, 28, 28), 3, 1, 1),
    Case("whole images 7x7", (16, 512, 7, 7), 7, 7, 0),
    Case("3d 2x2x2/2", (2, 16, 16, 32, 32), 2, 2, 0),
    Case("one image 2x2/2", (1, 6, 28, 28), 2, 2, 0),
)


def theano_calls(case: Case, mode: str, x: np.ndarray, gz: np.ndarray) -> dict[str, Callable[[], Any]]:
    import theano
    from theano import tensor as T
    from theano.tensor.signal.pool import MaxPoolGrad, Pool

    images, gradient = theano.shared(x, borrow=True), theano.shared(gz, borrow=True)
    ndim = len(case.shape) - 2
    z = Pool(True, "max" if mode == "max" else "average_inc_pad", ndim)(images, *case.windows)
    forward = theano.function([], z)
    gx = T.grad(None, images, known_grads={z: gradient})
    both = theano.function([], [z, gx])
    backward = theano.function([], gx)
    if mode == "max":
        pooled = theano.shared(forward(), borrow=True)
        backward = theano.function([], MaxPoolGrad(True, ndim)(images, pooled, gradient, *case.windows))
    return {"forward": forward, "gradient": backward, "both": both}


def torch_calls(case: Case, mode: str, x: np.ndarray, gz: np.ndarray) -> dict[str, Callable[[], Any]]:
    import torch

    images, gradient = torch.from_numpy(x), torch.from_numpy(gz)
    ndim, windows, aten = len(case.shape) - 2, [list(v) for v in case.windows], torch.ops.aten
    if mode == "max":
        pool = getattr(aten, f"max_pool{ndim}d_with_indices")
        back = getattr(aten, f"max_pool{ndim}d_with_indices_backward")
        _, where = pool(images, *windows)

        def forward() -> Any:
            return pool(images, *windows)

        def backward(where: Any = where) -> Any:
            return back(gradient, images, *windows, [1] * ndim, False, where)

        return {"forward": forward, "gradient": backward, "both": lambda: (r := forward(), backward(r[1]))}
    pool, back = getattr(aten, f"avg_pool{ndim}d"), getattr(aten, f"avg_pool{ndim}d_backward")

    def average() -> Any:
        return pool(images, *windows)

    def backward_average() -> Any:
        return back(gradient, images, *windows, False, True, None)

    return {"forward": average, "gradient": backward_average, "both": lambda: (average(), backward_average())}


def jax_calls(case: Case, mode: str, x: np.ndarray, gz: np.ndarray) -> dict[str, Callable[[], Any]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    images, gradient = jax.numpy.asarray(x), jax.numpy.asarray(gz)
    window, stride, pad = case.windows
    lengths = ((1, 1, *window), (1, 1, *stride), [(0, 0), (0, 0), *((p, p) for p in pad)])

    def pool(x: Any) -> Any:
        if mode == "max":
            return jax.lax.reduce_window(x, -np.inf, jax.lax.max, *lengths)
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, *lengths) / np.asarray(np.prod(window), x.dtype)

    def with_gradient(x: Any, gz: Any) -> Any:
        z, back = jax.vjp(pool, x)
        return z, back(gz)[0]

    forward, both = jax.jit(pool), jax.jit(with_gradient)
    backward = jax.jit(lambda x, gz: with_gradient(x, gz)[1])
    return {
        "forward": lambda: jax.block_until_ready(forward(images)),
        "gradient": lambda: jax.block_until_ready(backward(images, gradient)),
        "both": lambda: jax.block_until_ready(both(images, gradient)),
    }


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    from theano.tensor.signal.pool import Pool

    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
    for case in CASES:
        for dtype in ("float32", "float64") if case.w < 4 else ("float32",):
            for mode in ("max", "average"):
                x = np.random.RandomState(0).standard_normal(case.shape).astype(dtype)
                window, stride, pad = case.windows
                shape = Pool.out_shape(case.shape, window, True, stride, pad, ndim=len(window))
                gz = np.random.RandomState(1).standard_normal(shape).astype(dtype)
                calls = {"Theano": theano_calls(case, mode, x, gz)}
                if torch:
                    calls["PyTorch"] = torch_calls(case, mode, x, gz)
                if importable("jax"):
                    calls["JAX"] = jax_calls(case, mode, x, gz)
                for what in ("forward", "gradient", "both"):
                    contenders = {name: of_library[what] for name, of_library in calls.items()}
                    yield row(f"{case.name} {mode} {dtype} {what}", threads, contenders, min(seconds, 0.3))

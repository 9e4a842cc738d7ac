"""What a call costs: ``f(a, b) = a + b`` on numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import importable, row


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    import theano
    import theano.tensor as T

    a, b = T.dscalars("a", "b")
    f = theano.function([a, b], a + b)
    x, y = np.asarray(1.5), np.asarray(2.5)
    assert f(1.5, 2.5) == f(x, y) == 4.0

    peers = {}
    jax = importable("jax")
    if jax:
        jax.config.update("jax_enable_x64", True)
        g = jax.jit(lambda a, b: a + b)
        peers["JAX"] = lambda: g(1.5, 2.5)
    pytensor = importable("pytensor")
    if pytensor:
        import pytensor.tensor as pt

        u, v = pt.dscalars("u", "v")
        h = pytensor.function([u, v], u + v)
        peers["PyTensor"] = lambda: h(1.5, 2.5)
    torch = importable("torch")
    if torch:
        s, t = torch.tensor(1.5, dtype=torch.float64), torch.tensor(2.5, dtype=torch.float64)
        peers["PyTorch"] = lambda: s + t

    numpy_add = {"NumPy": lambda: np.add(x, y)}
    yield row("a + b, Python floats", threads, {"Theano": lambda: f(1.5, 2.5), **numpy_add, **peers}, seconds,
              {"NumPy": 3.0, "PyTorch": 3.0})
    yield row("a + b, 0-d arrays", threads, {"Theano": lambda: f(x, y), **numpy_add}, seconds, {"NumPy": 3.0})

"""Long chains of elementwise nodes: what each stage costs, and how it grows."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

SIZES = (1_000, 10_000, 50_000)


def measure(n: int) -> dict[str, float]:
    """Seconds to build, differentiate, compile and run a chain of `n` nodes."""
    import theano
    import theano.tensor as T

    # What the measurement before left behind is not for this one to clear away.
    gc.collect()
    times = {}
    start = time.perf_counter()
    x = T.dvector("x")
    y = x
    for i in range(n // 2):
        y = T.tanh(y) if i % 2 else T.sin(y)
        y = y * 0.5
    cost = y.sum()
    times["build"] = time.perf_counter() - start
    start = time.perf_counter()
    g = T.grad(cost, x)
    times["grad"] = time.perf_counter() - start
    start = time.perf_counter()
    f = theano.function([x], [cost, g])
    times["compile"] = time.perf_counter() - start
    start = time.perf_counter()
    f(np.linspace(0, 1, 10))
    times["run"] = time.perf_counter() - start
    times["all"] = sum(times.values())
    return times


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    measure(200)
    found = {n: measure(n) for n in SIZES}
    for n, times in found.items():
        checks = {}
        if n == 10_000:
            checks = {"all, seconds": [times["all"], 5.0], "grad, seconds": [times["grad"], 1.0]}
        yield {"case": f"chain of {n} nodes: " + ", ".join(f"{k} {v:.3f} s" for k, v in times.items() if k != "all"),
               "threads": threads, "times": {"Theano": times["all"]}, "checks": checks}
    small, big = SIZES[0], SIZES[-1]
    growth = {
        stage: [math.log(found[big][stage] / found[small][stage]) / math.log(big / small), 1.2]
        for stage in ("build", "grad", "compile", "all")
    }
    yield {"case": "growth exponents of chains", "threads": threads, "times": {}, "checks": growth}

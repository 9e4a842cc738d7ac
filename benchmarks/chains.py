"""Long chains of elementwise nodes: what each stage costs, and how it grows."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

SIZES = (1_000, 10_000, 50_000)


def chain(T: Any, x: Any, n: int) -> Any:
    """Functions of one argument, halved."""
    y = x
    for i in range(n // 2):
        y = T.tanh(y) if i % 2 else T.sin(y)
        y = y * 0.5
    return y


def links(T: Any, x: Any, n: int) -> Any:
    """``tanh(y) * c`` and ``y + x`` by turns."""
    y, c = x, np.float64(0.9)
    for i in range(n):
        y = y + x if i % 2 else T.tanh(y) * c
    return y


def measure(n: int, make: Any = chain, keep: str = "off") -> dict[str, float]:
    """Seconds to build, differentiate, compile and run a chain of `n` nodes; `keep`: the flag `program_cache`."""
    import theano
    import theano.tensor as T

    # What the measurement before left behind is not for this one to clear away.
    gc.collect()
    times = {}
    start = time.perf_counter()
    x = T.dvector("x")
    cost = make(T, x, n).sum()
    times["build"] = time.perf_counter() - start
    start = time.perf_counter()
    g = T.grad(cost, x)
    times["grad"] = time.perf_counter() - start
    start = time.perf_counter()
    with theano.config.change_flags(program_cache=keep):
        f = theano.function([x], [cost, g])
    times["compile"] = time.perf_counter() - start
    start = time.perf_counter()
    f(np.linspace(0, 1, 10))
    times["run"] = time.perf_counter() - start
    times["all"] = sum(times.values())
    return times


def row(case: str, threads: int, times: dict[str, float], checks: dict[str, list[float]]) -> dict[str, Any]:
    stages = ", ".join(f"{k} {v:.3f} s" for k, v in times.items() if k != "all")
    return {"case": f"{case}: {stages}", "threads": threads, "times": {"Theano": times["all"]}, "checks": checks}


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    measure(200)
    found = {n: measure(n) for n in SIZES}
    for n, times in found.items():
        checks = {}
        if n == 10_000:
            checks = {"all, seconds": [times["all"], 5.0], "grad, seconds": [times["grad"], 1.0]}
        yield row(f"chain of {n} nodes", threads, times, checks)
    small, big = SIZES[0], SIZES[-1]
    growth = {
        stage: [math.log(found[big][stage] / found[small][stage]) / math.log(big / small), 1.2]
        for stage in ("build", "grad", "compile", "all")
    }
    yield {"case": "growth exponents of chains", "threads": threads, "times": {}, "checks": growth}
    few, many = measure(1_000, links), measure(10_000, links)
    exponent = math.log(many["all"] / few["all"]) / math.log(10)
    yield row("10,000 links", threads, many, {"seconds": [many["all"], 3.5], "exponent from 1,000": [exponent, 1.1]})
    measure(10_000, links, "on")
    again = measure(10_000, links, "on")
    yield row("10,000 links whose program is kept", threads, again, {"seconds": [again["all"], 3.5]})

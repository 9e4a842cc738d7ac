"""Two processes on the same cores, of as many threads each as there are cores: beside one another, and one after the other."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

LIMIT = 1.15
ROUNDS = 3
PROGRAMS = {"MLP step, batch 128": 0.2, "exp(a) * tanh(b) + log(c), 1e5 float64": 0.2}
"""What each process runs, and for how many seconds at a time when it has the cores for itself."""


def program(case: str) -> Callable[[], Any]:
    import numpy as np

    import theano
    import theano.tensor as T
    from benchmarks import training

    if case.startswith("MLP"):
        x, y, _ = training.mlp_data()
        step = training.theano_mlp()
        return lambda: step(x, y)
    a, b, c = T.dvectors("a", "b", "c")
    f, arrays = theano.function([a, b, c], T.exp(a) * T.tanh(b) + T.log(c)), np.random.RandomState(0).rand(3, 100_000)
    return lambda: f(*arrays)


def child(case: str) -> None:
    """Runs the program as often as it is told, each time it is."""
    call = program(case)
    call()
    start = time.perf_counter()
    for _ in range(20):
        call()
    print((time.perf_counter() - start) / 20, flush=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            call()
        print("done", flush=True)


def beside(processes: list[Any], calls: int) -> float:
    start = time.perf_counter()
    for p in processes:
        p.stdin.write(f"{calls}\n")
        p.stdin.flush()
    for p in processes:
        p.stdout.readline()
    return time.perf_counter() - start


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    cores = len(os.sched_getaffinity(0))
    for case, length in PROGRAMS.items():
        command = [sys.executable, "-c", f"from benchmarks.sharing import child; child({case!r})"]
        env = dict(os.environ, THEANO_FLAGS=f"{os.environ.get('THEANO_FLAGS', '')},threads={threads}".lstrip(","))
        both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) for _ in range(2)]
        try:
            calls = max(1, round(length / max(float(p.stdout.readline()) for p in both)))  # type: ignore[union-attr]
            together, apart = [], []
            end = time.perf_counter() + 4 * seconds
            while time.perf_counter() < end or len(apart) < ROUNDS:
                apart.append(sum(beside([p], calls) for p in both) / calls)
                together.append(beside(both, calls) / calls)
        finally:
            for p in both:
                p.kill()
                p.wait()
        ratio = statistics.median(a / b for a, b in zip(together, apart))
        times = {"Theano": statistics.median(together), "one after the other": statistics.median(apart)}
        yield {"case": f"two processes of {threads} threads on {cores} cores: {case}", "threads": threads, "times": times,
               "checks": {"/ one after the other": [ratio, LIMIT]}}

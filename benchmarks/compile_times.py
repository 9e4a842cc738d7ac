"""How long ``theano.function`` takes with a warm cache, each graph in a fresh process, against PyTensor.

``python -m benchmarks.compile_times GRAPH SIZE LIBRARY`` prints the seconds of one.
"""

from __future__ import annotations

import importlib
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import importable

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 120
"""Seconds that one process may take; a contender that takes longer is left out of the row."""

PEERS = {"PyTensor (numba)": ("pytensor", "NUMBA"), "PyTensor (C)": ("pytensor", "CVM")}
SHARE_OF_PEER = 0.2
GROWTH = 1.2

Graph = tuple[list[Any], Any, list[Any]]
"""Inputs, outputs and updates."""


def _weights(lib: Any, *shape: int) -> Any:
    return lib.shared(np.full(shape, 0.01, "float32"))


def _softmax(T: Any, x: Any) -> Any:
    return T.exp(x - x.max(axis=1, keepdims=True)) / T.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)


def _training(lib: Any, cost: Any, params: list[Any]) -> list[Any]:
    return [(p, p - np.float32(0.1) * g) for p, g in zip(params, lib.grad(cost, params), strict=True)]


def logistic(lib: Any, T: Any, size: int) -> Graph:
    """The logistic regression of the tutorial."""
    x, y = T.fmatrix("x"), T.fvector("y")
    w, b = _weights(lib, 784), lib.shared(np.float32(0))
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    loss = -y * T.log(p) - (1 - y) * T.log(1 - p)
    cost = loss.mean() + np.float32(0.01) * (w**2).sum()
    return [x, y], [p > 0.5, loss], _training(lib, cost, [w, b])


def layers(lib: Any, T: Any, size: int) -> Graph:
    """A training step of an MLP of `size` hidden layers."""
    x, y = T.fmatrix("x"), T.lvector("y")
    params, h = [], x
    for _ in range(size):
        w, b = _weights(lib, 64, 64), _weights(lib, 64)
        h = T.tanh(T.dot(h, w) + b)
        params += [w, b]
    w, b = _weights(lib, 64, 10), _weights(lib, 10)
    params += [w, b]
    p = _softmax(T, T.dot(h, w) + b)
    cost = -T.log(p)[T.arange(y.shape[0]), y].mean()
    return [x, y], [cost], _training(lib, cost, params)


def lenet(lib: Any, T: Any, size: int) -> Graph:
    """LeNet's layers with products in the place of the convolutions: maps, maxima over windows, a bias and tanh."""
    x, y = T.fmatrix("x"), T.lvector("y")
    params, h, width = [], x, 784
    for maps in (20, 50):
        w, b = _weights(lib, width, maps * 36), _weights(lib, maps)
        h = T.dot(h, w).reshape((-1, maps, 9, 4)).max(axis=3)
        h = T.tanh(h + b.dimshuffle("x", 0, "x")).reshape((-1, maps * 9))
        params, width = [*params, w, b], maps * 9
    for out in (500, 10):
        w, b = _weights(lib, width, out), _weights(lib, out)
        h = T.dot(h, w) + b
        h = T.tanh(h) if out == 500 else h
        params, width = [*params, w, b], out
    cost = -T.log(_softmax(T, h))[T.arange(y.shape[0]), y].mean()
    errors = T.neq(h.argmax(axis=1), y).mean()
    return [x, y], [cost, errors], _training(lib, cost, params)


def chain(lib: Any, T: Any, size: int) -> Graph:
    """Elementwise functions one after another."""
    x = T.dvector("x")
    y = x
    for i in range(size // 2):
        y = (T.tanh(y) if i % 2 else T.sin(y)) * 0.5
    return [x], [y], []


def dag(lib: Any, T: Any, size: int) -> Graph:
    """Random elementwise functions of what was computed a little before."""
    draw = random.Random(size)
    values = [T.dvector(f"x{i}") for i in range(4)]
    inputs, used = list(values), set()
    for _ in range(size):
        a, b = (draw.randrange(max(0, len(values) - 40), len(values)) for _ in range(2))
        used.update((a, b))
        kind = draw.randrange(5)
        v, w = values[a], values[b]
        values.append((v + w, v * w, v - w, T.tanh(v), T.maximum(v, w))[kind])
    return inputs, [v for i, v in enumerate(values) if i not in used and i >= 4], []


GRAPHS: dict[str, tuple[Callable[..., Graph], tuple[int, ...]]] = {
    "logistic": (logistic, (1,)),
    "mlp": (layers, (2,)),
    "lenet": (lenet, (1,)),
    "gradient of layers": (layers, (200,)),
    "chain": (chain, (1_000, 10_000, 50_000)),
    "dag": (dag, (1_000, 10_000, 50_000)),
}


def measure(graph: str, size: int, library: str, mode: str | None = None) -> float:
    """Seconds that compiling the graph takes in this process."""
    lib = importlib.import_module(library)
    T = importlib.import_module(f"{library}.tensor")
    # A first small function pays for what is imported on demand.
    x = T.dscalar()
    lib.function([x], x + 1, mode=mode)
    inputs, outputs, updates = GRAPHS[graph][0](lib, T, size)
    sys.setrecursionlimit(100_000)
    start = time.perf_counter()
    lib.function(inputs, outputs, updates=updates, mode=mode, on_unused_input="ignore")
    return time.perf_counter() - start


def run(graph: str, size: int, library: str, mode: str | None, cache: str) -> float | None:
    """The same in a fresh process, the second time of two; None if that fails or takes too long."""
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    env["THEANO_FLAGS"] = env["PYTENSOR_FLAGS"] = f"base_compiledir={cache}"
    command = [sys.executable, "-m", "benchmarks.compile_times", graph, str(size), library, *([mode] if mode else [])]
    seconds = None
    for _ in range(2):
        try:
            done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            return None
        seconds = float(done.stdout.split()[-1])
    return seconds


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    has_peer = importable("pytensor") is not None
    with tempfile.TemporaryDirectory() as cache:
        for graph, (_, sizes) in GRAPHS.items():
            found: dict[int, float] = {}
            late: set[str] = set()
            for size in sizes:
                times, checks = {}, {}
                ours = run(graph, size, "theano", None, cache)
                if ours is None:
                    checks["seconds"] = [math.inf, TIMEOUT]
                else:
                    times["Theano"] = found[size] = ours
                for name, (library, mode) in PEERS.items() if has_peer else ():
                    if name in late:
                        continue
                    theirs = run(graph, size, library, mode, cache)
                    if theirs is None:
                        late.add(name)
                    else:
                        times[name] = theirs
                        if ours is not None:
                            checks[f"/ {name}"] = [ours / theirs, SHARE_OF_PEER]
                label = f"{graph}, {size}" if len(sizes) > 1 or size > 2 else graph
                yield {"case": f"compile, warm cache: {label}", "threads": threads, "times": times, "checks": checks}
            if len(sizes) > 1 and len(found) == len(sizes):
                growth = math.log(found[sizes[-1]] / found[sizes[0]]) / math.log(sizes[-1] / sizes[0])
                yield {"case": f"growth exponent of compiling: {graph}", "threads": threads, "times": {},
                       "checks": {"exponent": [growth, GROWTH]}}  # fmt: skip


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2]), sys.argv[3], *sys.argv[4:]))

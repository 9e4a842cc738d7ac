"""How long ``theano.function`` takes with a warm cache, each graph in a fresh process, against PyTensor and Theano 1.0.

``python benchmarks/compile_times.py GRAPH SIZE LIBRARY [MODE]`` prints the seconds of one: by the clock until the first result,
and of processors, those of compilers that it started included.
Set THEANO1_PYTHON to an interpreter that has Theano 1.0 installed to have it among the contenders.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 120
"""Seconds that one process may take; a contender that takes longer is not asked for greater graphs of the kind."""
FILLING = 400
"""The same for the process that fills the cache."""
STACK = 1 << 29
"""Bytes of stack: some contenders are recursive over the depth of a graph."""
ROUNDS = 3
"""Processes of each contender, by turns, after one that fills the cache; the quickest counts."""
LONG = 5.0
"""Where one process takes more than these seconds, one round is enough."""

ORIGINAL = os.environ.get("THEANO1_PYTHON")
PEERS = {
    "PyTensor (numba)": (sys.executable, "pytensor", "NUMBA"),
    "PyTensor (C)": (sys.executable, "pytensor", "CVM"),
    "Theano 1.0": (ORIGINAL, "theano", None),
}
SHARES = {"PyTensor (numba)": 0.2, "PyTensor (C)": 0.2, "Theano 1.0": 0.1}
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


GRAPHS: dict[str, tuple[Callable[..., Graph], tuple[int, ...], int]] = {
    "logistic": (logistic, (1,), 784),
    "mlp": (layers, (2,), 64),
    "lenet": (lenet, (1,), 784),
    "gradient of layers": (layers, (200,), 64),
    "chain": (chain, (1_000, 10_000, 50_000), 0),
    "dag": (dag, (1_000, 10_000, 50_000), 0),
}
"""For each graph its function, the sizes, and the columns of its matrix."""


def values(inputs: list[Any], width: int) -> list[np.ndarray]:
    """Arguments of two rows or entries for the first call."""
    return [np.ones((2, width)[: v.ndim], v.dtype) for v in inputs]


def work() -> float:
    """Seconds of processors that this process and its children that ended took."""
    return time.process_time() + sum(os.times()[2:4])


def measure(graph: str, size: int, library: str, mode: str | None = None) -> tuple[float, float]:
    """Seconds from the graph to the first result in this process, by the clock and of processors."""
    lib = importlib.import_module(library)
    T = importlib.import_module(f"{library}.tensor")
    if hasattr(lib.config, "program_cache"):
        # What others do each time: rewriting, and finding what is compiled.
        lib.config.program_cache = "off"
    sys.setrecursionlimit(1_000_000)
    # A first small function pays for what is imported on demand.
    x = T.dmatrix()
    lib.function([x], T.dot(x, x) + 1, mode=mode)(np.ones((2, 2)))
    make, _, width = GRAPHS[graph]
    inputs, outputs, updates = make(lib, T, size)
    start, worked = time.perf_counter(), work()
    function = lib.function(inputs, outputs, updates=updates, mode=mode, on_unused_input="ignore")
    function(*values(inputs, width))
    return time.perf_counter() - start, work() - worked


class Run(NamedTuple):
    """Seconds until the first result, by the clock and of processors; or what went wrong."""

    seconds: float
    work: float
    problem: str = ""


def run(python: str, graph: str, size: int, library: str, mode: str | None, cache: str, limit: float) -> Run:
    """One contender in a fresh process. One that is stopped after `limit` seconds counts with these."""
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    if python == sys.executable:
        env["PYTHONPATH"] = str(ROOT)
    env["THEANO_FLAGS"] = env["PYTENSOR_FLAGS"] = f"base_compiledir={cache}"
    env["NUMBA_CACHE_DIR"] = cache
    command = [python, __file__, graph, str(size), library, *([mode] if mode else [])]
    # Compilers are its children, and have to end with it.
    process = subprocess.Popen(command, env=env, cwd=cache, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)  # fmt: skip
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Run(limit, limit, f"more than {limit:g} s")
    if process.returncode:
        problem = signal.Signals(-process.returncode).name if process.returncode < 0 else err.strip().rpartition("\n")[2][:80]
        return Run(math.inf, math.inf, problem or "failed")
    return Run(*map(float, out.split()[-2:]))


def by_turns(contenders: dict[str, tuple[str, str, str | None]], graph: str, size: int, cache: str) -> dict[str, Run]:
    """The quickest run of each contender, warm, by the clock and by work; that of the first failure of one that fails."""
    best: dict[str, Run] = {}
    for name, (python, library, mode) in contenders.items():
        best[name] = run(python, graph, size, library, mode, cache, FILLING)
    warm = {name: Run(math.inf, math.inf) for name, first in best.items() if not first.problem}
    for _ in range(ROUNDS):
        for name, known in list(warm.items()):
            if not known.problem and not LONG < known.seconds < math.inf:
                again = run(contenders[name][0], graph, size, *contenders[name][1:], cache, TIMEOUT)
                quickest = Run(min(known.seconds, again.seconds), min(known.work, again.work))
                warm[name] = again if again.problem else quickest
    return best | warm


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    here = {"Theano": (sys.executable, "theano", None)}
    peers = {name: peer for name, peer in PEERS.items() if peer[0]}
    if importlib.util.find_spec("pytensor") is None:
        peers = {name: peer for name, peer in peers.items() if peer[1] != "pytensor"}
    with tempfile.TemporaryDirectory() as cache:
        for graph, (_, sizes, _) in GRAPHS.items():
            found: dict[int, Run] = {}
            rivals = dict(peers)
            for size in sizes:
                runs = by_turns({**here, **rivals}, graph, size, cache)
                # Who was too slow for a size is not asked for a greater one.
                rivals = {name: peer for name, peer in rivals.items() if not runs[name].problem}
                ours = found[size] = runs.pop("Theano")
                checks = {"seconds": [ours.seconds, TIMEOUT]} if ours.problem or not runs else {}
                for name, theirs in runs.items():
                    if theirs.seconds < math.inf:
                        least = f", {theirs.problem}" if theirs.problem else ""
                        checks[f"/ {name}{least}"] = [ours.seconds / theirs.seconds, SHARES[name]]
                        checks[f"/ {name}, work{least}"] = [ours.work / theirs.work, SHARES[name]]
                label = f"{graph}, {size}" if len(sizes) > 1 or size > 2 else graph
                failed = "".join(f"; {name}: {r.problem}" for name, r in runs.items() if r.seconds == math.inf)
                times = {name: r.seconds for name, r in {"Theano": ours, **runs}.items() if not r.problem}
                yield {"case": f"compile, warm cache: {label}{failed}", "threads": threads, "times": times, "checks": checks}
            if len(sizes) > 1 and not any(r.problem for r in found.values()):
                growth = math.log(found[sizes[-1]].work / found[sizes[0]].work) / math.log(sizes[-1] / sizes[0])
                yield {"case": f"growth exponent of compiling: {graph}", "threads": threads, "times": {},
                       "checks": {"exponent": [growth, GROWTH]}}  # fmt: skip


def main() -> None:
    """Measure with a stack that is deep enough for recursive contenders."""
    threading.stack_size(STACK)
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.extend(measure(sys.argv[1], int(sys.argv[2]), sys.argv[3], *sys.argv[4:])))
    thread.start()
    thread.join()
    if not found:
        sys.exit(1)
    print(*found)


if __name__ == "__main__":
    main()

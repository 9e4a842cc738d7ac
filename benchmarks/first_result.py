"""From a graph to its first result, each time in a fresh process."""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from benchmarks.harness import importable

ROOT = pathlib.Path(__file__).resolve().parent.parent

TIME_IMPORT = """
import time
start = time.perf_counter()
import theano
print(time.perf_counter() - start)
"""

TIME_STEP = """
import time
import numpy as np
from benchmarks import networks, training
{setup}
x, y, params = {data}
start = time.perf_counter()
{build}(x, y)
print(time.perf_counter() - start)
"""

THEANO = "import theano, theano.tensor as T, theano.tensor.nnet.bn, theano.tensor.signal.pool; T.nnet.softmax"
JAX = "import jax; jax.numpy.zeros(1).block_until_ready()"
DATA = {"logistic": "training.logistic_data()", "mlp": "training.mlp_data()", "lenet": "networks.data('lenet')"}
BUILD = {
    ("logistic", THEANO): "training.theano_logistic()",
    ("logistic", JAX): "training.jax_logistic(jax)",
    ("mlp", THEANO): "training.theano_mlp()",
    ("mlp", JAX): "training.jax_mlp(jax)",
    ("lenet", THEANO): "networks.theano_step('lenet', params)",
    ("lenet", JAX): "networks.jax_step('lenet', params, jax)",
}

LIMITS = {("logistic", "empty"): 0.35, ("mlp", "empty"): 0.5, ("lenet", "empty"): 1.0,
          ("logistic", "warm"): 0.08, ("mlp", "warm"): 0.15, ("lenet", "warm"): 0.2}  # fmt: skip
RUNS = 5


def run(code: str, cache: str) -> float:
    """Seconds that a fresh interpreter prints; `cache` is where Theano and JAX keep what they compile."""
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    env["THEANO_FLAGS"] = f"base_compiledir={cache}"
    env.update(JAX_COMPILATION_CACHE_DIR=f"{cache}/jax", JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
               JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1")  # fmt: skip
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1])


Times = dict[tuple[str, str], list[float]]


def with_empty_and_warm_cache(contenders: dict[str, str]) -> Times:
    """Seconds of contenders, programs for `run`, by turns: of each with an empty cache, and again with what that has left."""
    times: Times = {(name, state): [] for name in contenders for state in ("empty", "warm")}
    for _ in range(RUNS):
        for name, code in contenders.items():
            with tempfile.TemporaryDirectory() as cache:
                for state in ("empty", "warm"):
                    times[name, state].append(run(code, cache))
    return times


def rows_of(case: str, threads: int, times: Times, limits: dict[str, float]) -> Iterator[dict[str, Any]]:
    """A row for each state of the cache; `limits` are seconds. With a warm one half of JAX's time is wanted."""
    for state, of_jax in (("empty", 1.0), ("warm", 0.5)):
        found = {name: times[name, state] for name, its in times if its == state}
        medians = {name: statistics.median(seconds) for name, seconds in found.items()}
        checks = {"seconds": [medians["Theano"], limits[state]]} if state in limits else {}
        if "JAX" in found:
            checks["/ JAX"] = [statistics.median(a / b for a, b in zip(found["Theano"], found["JAX"])), of_jax]
        yield {"case": f"{case}: graph to first result, {state} cache", "threads": threads, "times": medians, "checks": checks}


def step_code(model: str, setup: str) -> str:
    return TIME_STEP.format(setup=setup, data=DATA[model], build=BUILD[model, setup])


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as cache:
        run(TIME_IMPORT, cache)
        times = [run(TIME_IMPORT, cache) for _ in range(RUNS)]
    yield {"case": "import theano", "threads": threads, "times": {"Theano": statistics.median(times)},
           "checks": {"seconds": [statistics.median(times), 0.25]}}
    for model in DATA:
        contenders = {"Theano": step_code(model, THEANO)}
        if importable("jax"):
            contenders["JAX"] = step_code(model, JAX)
        limits = {state: limit for (what, state), limit in LIMITS.items() if what == model}
        yield from rows_of(f"{model} step", threads, with_empty_and_warm_cache(contenders), limits)

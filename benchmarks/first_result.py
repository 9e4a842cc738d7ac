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
    """Seconds that a fresh interpreter prints."""
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    env["THEANO_FLAGS"] = f"base_compiledir={cache}"
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1])


def step_code(model: str, setup: str) -> str:
    return TIME_STEP.format(setup=setup, data=DATA[model], build=BUILD[model, setup])


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as cache:
        run(TIME_IMPORT, cache)
        times = [run(TIME_IMPORT, cache) for _ in range(RUNS)]
    yield {"case": "import theano", "threads": threads, "times": {"Theano": statistics.median(times)},
           "checks": {"seconds": [statistics.median(times), 0.25]}}
    for model in DATA:
        empty, warm, jax = [], [], []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as cache:
                empty.append(run(step_code(model, THEANO), cache))
                warm.append(run(step_code(model, THEANO), cache))
                if importable("jax"):
                    jax.append(run(step_code(model, JAX), cache))
        for state, ours in (("empty", empty), ("warm", warm)):
            seconds_ = statistics.median(ours)
            row = {"case": f"{model} step: graph to first result, {state} cache", "threads": threads,
                   "times": {"Theano": seconds_}, "checks": {"seconds": [seconds_, LIMITS[model, state]]}}
            if jax:
                row["times"]["JAX"] = statistics.median(jax)
                row["checks"]["/ JAX"] = [statistics.median(a / b for a, b in zip(ours, jax)), 1.0]
            yield row

"""Theano 1.0.5 as a contender: an interpreter that has it, a process of its own, timed from there.

It needs Python 3.10 or older, NumPy 1.21, a C++ compiler and a BLAS to link with (``libopenblas-dev``).
"""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

from benchmarks.__main__ import limit_threads

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = "device=cpu,floatX=float32,openmp_elemwise_minsize=1000000000,blas.ldflags=-lopenblas,gcc.cxxflags=-fpermissive -w"
WORKER = """
import sys
sys.path[0] = sys.argv[1]
import benchmarks
del sys.path[0]
import importlib, time
import numpy as np
module = importlib.import_module(sys.argv[2])
made = {}
for line in sys.stdin:
    name, calls = line.rsplit(None, 1)
    if name not in made:
        made.clear()
        made[name] = module.original_call(name)
        print(float(np.abs(np.asarray(made[name](), "float64")).sum()), flush=True)
        continue
    start = time.perf_counter()
    for _ in range(int(calls)):
        made[name]()
    print(time.perf_counter() - start, flush=True)
"""


class Original:
    """The interpreter `python`, which runs ``original_call(case)`` of a module of the benchmarks; `threads` for all."""

    def __init__(self, python: str, module: str, threads: int) -> None:
        flags = f"{FLAGS},openmp={threads > 1}"
        self.process = subprocess.Popen(
            [python, "-c", WORKER, str(ROOT), module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(limit_threads(threads), THEANO_FLAGS=flags, PYTHONPATH=""),
        )  # fmt: skip

    def ask(self, case: str, calls: int) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{case} {calls}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def call(self, case: Any) -> OriginalCall:
        """What times `case` there; built at once."""
        return OriginalCall(self, str(case))


class OriginalCall:
    """A contender of :func:`benchmarks.harness.by_turns` that times itself; `total` is the sum of its absolute values."""

    def __init__(self, original: Original, case: str) -> None:
        self.original = original
        self.case = case
        self.total = original.ask(case, 0)

    def __call__(self) -> None:
        self.timed(1)

    def timed(self, calls: int) -> float:
        return self.original.ask(self.case, calls)

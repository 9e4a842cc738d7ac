"""``python -m benchmarks.against TREE [NAME ...]``: this tree's speed against another checkout's, row by row.

The rows are those of the other benchmarks, without peers, and some that each need a fresh process. Three processes take
turns: one of this tree and two of the other, whose ratio to one another says what a ratio can be by chance. The other
checkout needs its runtime built (``pip install -e`` there, or a first run).
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks import harness
from benchmarks.__main__ import BY_THREADS, limit_threads

ROOT = pathlib.Path(__file__).resolve().parent.parent
BY_TURNS = ("calls", "small", "elementwise", "fused", "reductions", "rows", "training", "tensor_ops", "embeddings", "loops",
            "checking_modes")
FRESH = "fresh"
BURST = 0.02
"""Seconds of one burst."""
WORST = 1.03
"""Largest ratio of a row, beyond that of the other tree to itself."""

PRELUDE = f"""
import sys
sys.path[0] = {str(ROOT)!r}
import benchmarks
sys.path[0] = sys.argv[1]
import time
import numpy as np
"""
STEP = "import theano, theano.tensor as T; T.nnet.softmax\nfrom benchmarks import training\nx, y, _ = training.{0}_data()\n"
COMPILE = """
sys.setrecursionlimit(10**6)
from benchmarks import compile_times
import theano, theano.tensor as T
if hasattr(theano.config, "program_cache"):
    theano.config.program_cache = "off"
x = T.dmatrix()
f = theano.function([x], T.dot(x, x) + 1)
"""
GRAPHS = {"logistic": 1, "mlp": 2, "lenet": 1, "gradient of layers": 200, "chain": 1000, "dag": 1000}
LOOPS = "import theano, theano.tensor as T; T.nnet.sigmoid; theano.scan\nfrom benchmarks import loops\n"
PROCESSES = {
    "import theano": ("", "import theano", "warm"),
    **{
        f"{model} step: graph to first result, {cache} cache": (
            STEP.format(model), f"training.theano_{model}()(x, y)", cache)
        for model in ("logistic", "mlp") for cache in ("empty", "warm")
    },
    **{
        f"compile, warm cache: {graph}, {size}": (COMPILE, f"compile_times.measure({graph!r}, {size}, 'theano')", "warm")
        for graph, size in GRAPHS.items()
    },
    **{
        f"{what}: graph to first result, warm cache": (LOOPS + setup, build, "warm")
        for what, setup, build in (
            ("LSTM step", "x, = loops.data('lstm')", "loops.theano_model('lstm')(x)"),
            ("scan in a scan in a scan", "", "loops.nested_loops()(np.arange(3.0))"),
            ("ten stacked LSTMs", "x = np.zeros((5, 2, 16), 'f')", "loops.stacked_lstms()(x)"),
        )
    },
}  # fmt: skip
"""What a fresh process does before the clock starts and after, and whether it finds kernels in its cache."""


class Row(NamedTuple):
    """Bursts of one case: seconds a call of this tree and, twice, of the other."""

    case: str
    threads: int
    new: list[float]
    old: list[float]
    again: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(a / b for a, b in zip(self.new, self.baseline))

    @property
    def chance(self) -> float:
        """How far the other tree is from itself."""
        return statistics.median(a / b for a, b in zip(self.again, self.old))

    @property
    def baseline(self) -> list[float]:
        return [(a + b) / 2 for a, b in zip(self.old, self.again)]

    @property
    def slower(self) -> bool:
        return self.ratio > WORST * max(self.chance, 1 / self.chance)


def chosen(case: str, cases: list[str]) -> bool:
    return not cases or any(text in case for text in cases)


# ---- the workers


def lockstep(
    case: str, threads: int, contenders: dict[str, Callable[[], Any]], *_: Any, every: bool, cases: list[str], **__: Any
) -> dict[str, Any]:
    """Stands for `harness.row` in a worker: says what can be timed and times a burst whenever it is told to."""
    for name, call in contenders.items():
        if name != "Theano" and not every or not chosen(case, cases):
            continue
        for _ in range(3):
            call()
        start = time.perf_counter()
        call()
        loops = max(1, int(BURST / max(time.perf_counter() - start, 1e-8)))
        print("READY", json.dumps(case if name == "Theano" else f"{case}: {name}"), flush=True)
        while sys.stdin.readline().strip() == "go":
            call()
            start = time.perf_counter()
            for _ in range(loops):
                call()
            print("TIME", (time.perf_counter() - start) / loops, flush=True)
    return {"case": case, "threads": threads, "times": {"Theano": math.nan}, "checks": {}}


def worker(tree: str, name: str, threads: int, cases: list[str]) -> None:
    """Run the rows of one benchmark with the package of `tree`."""
    sys.path.insert(0, tree)
    harness.importable = lambda name: None
    harness.row = functools.partial(lockstep, every=name == "checking_modes", cases=cases)  # type: ignore[assignment]
    module = importlib.import_module(f"benchmarks.{name}")
    rows = module.running_rows if name == "loops" else module.rows
    for _ in rows(threads, 0.1):
        pass
    import theano

    assert pathlib.Path(theano.__file__).is_relative_to(tree), theano.__file__
    print("END", flush=True)


# ---- taking turns


def in_turn(number: int, contenders: int) -> list[int]:
    """Who comes when in this round.

    The first one changes: what one leaves in the caches, in the clock rate
    and of files in memory meets another each time.
    """
    first = number % contenders
    return [*range(first, contenders), *range(first)]


def rows_by_turns(trees: list[str], name: str, threads: int, seconds: float, wanted: list[str]) -> Iterator[Row]:
    """The rows of a benchmark whose contenders are called again and again."""
    cores = sorted(os.sched_getaffinity(0))[:threads] if hasattr(os, "sched_setaffinity") else []
    with tempfile.TemporaryDirectory() as cache:
        env = limit_threads(threads)
        env["THEANO_FLAGS"] = f"base_compiledir={cache}"
        workers = [
            subprocess.Popen([sys.executable, "-m", "benchmarks.against", tree, name, "--worker", "--threads", str(threads),
                              "--cases", *wanted],
                             env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None)
            for tree in trees
        ]  # fmt: skip
        while True:
            said = [_next_line(process, ("READY", "END")) for process in workers]
            if any(kind == "END" for kind, _ in said):
                break
            cases = {json.loads(text) for _, text in said}
            assert len(cases) == 1, cases
            times: list[list[float]] = [[] for _ in workers]
            end = time.perf_counter() + seconds * len(workers)
            while time.perf_counter() < end or len(times[0]) < 9:
                for i in in_turn(len(times[0]), len(workers)):
                    time.sleep(harness.POOLS_REST / 5)
                    _say(workers[i], "go")
                    times[i].append(float(_next_line(workers[i], ("TIME",))[1]))
            for process in workers:
                _say(process, "next")
            yield Row(cases.pop(), threads, *times)
        for process in workers:
            process.stdin.close()
            process.wait()


def _say(process: Any, word: str) -> None:
    process.stdin.write(word + "\n")
    process.stdin.flush()


def _next_line(process: Any, kinds: tuple[str, ...]) -> tuple[str, str]:
    """The next line of one of these kinds; benchmarks may print others."""
    for line in process.stdout:
        kind, _, text = line.strip().partition(" ")
        if kind in kinds:
            return kind, text
    raise RuntimeError(f"a worker ended with status {process.wait()}")


def rows_of_processes(trees: list[str], threads: int, rounds: int, wanted: list[str]) -> Iterator[Row]:
    """The rows that need a fresh process each time."""
    for case, (setup, timed, state) in PROCESSES.items():
        if not chosen(case, wanted):
            continue
        code = f"{PRELUDE}{setup}\nstart = time.perf_counter()\n{timed}\nprint(time.perf_counter() - start)\n"
        times: list[list[float]] = [[] for _ in trees]
        with tempfile.TemporaryDirectory() as warm:
            for number in range(-1, rounds):
                for i in in_turn(number, len(trees)):
                    with tempfile.TemporaryDirectory() as empty:
                        env = limit_threads(threads)
                        env.pop("PYTHONDONTWRITEBYTECODE", None)
                        env["THEANO_FLAGS"] = f"base_compiledir={warm if state == 'warm' else empty}"
                        done = subprocess.run([sys.executable, "-c", code, trees[i]], env=env, cwd=empty, text=True, check=True,
                                              stdout=subprocess.PIPE)  # fmt: skip
                    if number >= 0:
                        times[i].append(float(done.stdout.split()[-1]))
        yield Row(case, threads, *times)


# ---- the report


def print_rows(rows: list[Row]) -> None:
    """A table of all rows and the geometric mean of their ratios."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from benchmarks.table import as_text

    table = Table("case", "threads", "here", "there", "ratio", "there / there", "")
    for row in rows:
        here, there = (as_text(statistics.median(times)) for times in (row.new, row.old))
        mark = "[red]slower[/]" if row.slower else ""
        table.add_row(escape(row.case), str(row.threads), here, there, f"{row.ratio:.3f}", f"{row.chance:.3f}", mark)
    console = Console(width=160)
    console.print(table)
    if rows:
        mean = math.exp(statistics.fmean(math.log(row.ratio) for row in rows))
        chance = math.exp(statistics.fmean(math.log(row.chance) for row in rows))
        slower = sum(row.slower for row in rows)
        console.print(f"{len(rows)} rows, geometric mean {mean:.3f} (there / there {chance:.3f}), "
                      f"{slower} slower than {WORST} beyond chance")  # fmt: skip


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    ask.add_argument("tree", help="root of the other checkout")
    ask.add_argument("names", nargs="*", help=f"of {', '.join((*BY_TURNS, FRESH))} (default: all)")
    ask.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="thread counts to run with (default: 1 2)")
    ask.add_argument("--seconds", type=float, default=1.0, help="time for each process of a row (default: %(default)s)")
    ask.add_argument("--rounds", type=int, default=9, help="fresh processes of each tree (default: %(default)s)")
    ask.add_argument("--cases", nargs="*", default=[], help="only rows with one of these texts in their names")
    ask.add_argument("--processes", type=int, default=1, help="start the workers so often: where the pages of memory lie makes "
                     "a process faster or slower as long as it runs (default: %(default)s)")
    ask.add_argument("--json", type=pathlib.Path, help="also write the rows to this file")
    ask.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = ask.parse_args()
    if args.worker:
        worker(args.tree, args.names[0], args.threads[0], args.cases)
        return 0
    there = str(pathlib.Path(args.tree).resolve())
    trees = [str(ROOT), there, there]
    merged: dict[tuple[str, int], Row] = {}
    for name in args.names or (*BY_TURNS, FRESH):
        for threads in args.threads if name in BY_THREADS else [max(args.threads)]:
            for _ in range(1 if name == FRESH else args.processes):
                found = rows_of_processes(trees, threads, args.rounds, args.cases) if name == FRESH else rows_by_turns(
                    trees, name, threads, args.seconds, args.cases)  # fmt: skip
                for row in found:
                    print(f"{row.case} [{threads}]: {row.ratio:.3f} ({row.chance:.3f})", file=sys.stderr, flush=True)
                    known = merged.setdefault((row.case, threads), row)
                    if known is not row:
                        for bursts, more in zip(known[2:], row[2:]):
                            bursts.extend(more)
    rows = list(merged.values())
    print_rows(rows)
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in rows]) + "\n")
    return int(any(row.slower for row in rows))


if __name__ == "__main__":
    sys.exit(main())

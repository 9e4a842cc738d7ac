"""Runs random programs with Theano 1.0.5 and with this package, and prints what differs.

    python -m tests.differential --original PYTHON [--programs N] [--seed S] [--kinds KIND ...] [--jobs J] [--output FILE]
    python -m tests.differential --judge FILE ...
    python -m tests.differential --show SEED [--kinds KIND]

`PYTHON` is an interpreter that has the original, for instance of a virtual environment of Python 3.10 with ``numpy==1.21.6
scipy==1.7.3 six "setuptools<60" wheel`` and, with ``pip install --no-build-isolation``, ``Theano==1.0.5``. A program is a Python
text that uses the documented interface only; both sides run the same text, statement by statement, and report values, types, texts
and errors. Differences that `tests/differential/known.py` explains are counted; the others are printed in groups and make the
command fail.

The original runs without a C compiler, node by node in NumPy (``--original-flags cxx=``): it takes seconds to compile a function
otherwise. Here, one program in fifty (``--kernels``) has its fused kernels compiled; the others run by the engine's own
instructions. 20,000 programs take half an hour of one core. `--output` keeps all differences, for ``--judge`` to hold them against
a table that has changed.
"""  # noqa: E501

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from tests.differential import generator, known
from tests.differential.compare import Difference, differences, kind_of_texts, meant_by

RUNNER = pathlib.Path(__file__).with_name("runner.py")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_side(python: str, flags: str, programs: list[tuple[str, str]], own: bool) -> dict[str, Any]:
    """What programs report in processes of an interpreter; one that ends its process is a "crash"."""
    found: dict[str, Any] = {}
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "THEANO_FLAGS")}
    env |= {"THEANO_FLAGS": flags, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    if own:
        env["PYTHONPATH"] = str(ROOT)
    todo = list(programs)
    with tempfile.TemporaryDirectory() as folder:
        given, results = os.path.join(folder, "programs.json"), os.path.join(folder, "results.jsonl")
        while todo:
            pathlib.Path(given).write_text(json.dumps(todo))
            pathlib.Path(results).write_text("")
            command = [python, str(RUNNER), given, results]
            process = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
            for line in pathlib.Path(results).read_text().splitlines():
                name, records = json.loads(line)
                found[name] = records
            left = [p for p in todo if p[0] not in found]
            if left and len(left) == len(todo) and process.returncode > 0:
                raise SystemExit(f"{python} does not run programs:\n{process.stderr[-2000:]}")
            if left:
                found[left[0][0]] = f"crash ({process.returncode}): {process.stderr[-300:]}"
                left = left[1:]
            todo = left
    return found


def group_of(program: str, difference: Difference) -> str:
    """What differences of one cause have in common, as far as can be told."""
    line = meant_by(program, difference.line).partition(" = ")[2] or meant_by(program, difference.line)
    names = re.findall(r"\.([A-Za-z_]\w*)\(", line) or re.findall(r"([A-Za-z_]\w*)\(", line)
    names = names or re.findall(r" (\W+) ", line) or [re.sub(r"\d+", "", line)[:40]]

    def word(text: str) -> str:
        return text.split(":")[0][:30] if difference.what in ("error", "kind") else ""

    return f"{difference.what:12} {word(difference.original):20} {word(difference.ours):20} {'/'.join(names[:2])}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__.split("\n")[0])
    parser.add_argument("--original", help="interpreter that has Theano 1.0.5")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--seeds", type=int, nargs="+", help="of the programs, in the place of the two")
    parser.add_argument("--kinds", nargs="*", choices=sorted(generator.KINDS), default=sorted(generator.KINDS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=250, help="programs a process")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no batch is begun")
    parser.add_argument("--kernels", type=int, default=50, help="of how many programs one has kernels compiled; 0: none")
    parser.add_argument("--samples", type=int, default=2, help="printed of each group of differences")
    parser.add_argument("--original-flags", default="cxx=,device=cpu")
    parser.add_argument("--our-flags", default="")
    parser.add_argument("--show", type=int, help="print the program of a seed, and run nothing")
    parser.add_argument("--output", help="file for all differences, lines of JSON, as batches end")
    parser.add_argument("--judge", nargs="+", help="files of --output; nothing is run")
    given = parser.parse_args()
    if given.show is not None:
        print(generator.program(given.show, given.kinds)[1])
        return 0
    findings = Findings(given.output)
    if given.judge:
        for name in given.judge:
            for line in pathlib.Path(name).read_text().splitlines():
                findings.add(*json.loads(line))
        return findings.tell(given.samples)
    if not given.original:
        parser.error("--original is needed")
    seeds = given.seeds or range(given.seed, given.seed + given.programs)
    batches = [seeds[i : i + given.batch] for i in range(0, len(seeds), given.batch)]
    began = time.monotonic()

    def both(batch: Sequence[int]) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
        if time.monotonic() - began > given.seconds:
            return {}, {}, {}
        programs = [generator.program(seed, given.kinds) for seed in batch]
        compiled = [p for seed, p in zip(batch, programs) if given.kernels and seed % given.kernels == 0]
        plain = [p for p in programs if p not in compiled]
        original = run_side(given.original, given.original_flags, programs, False)
        ours = run_side(sys.executable, ",".join(filter(None, (given.our_flags, "cxx="))), plain, True)
        ours |= run_side(sys.executable, given.our_flags, compiled, True)
        return dict(programs), original, ours

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for texts, original, ours in pool.map(both, batches):
            for name, records in original.items():
                listed = records if isinstance(records, list) else []
                failed = sum(r["error"] is not None for r in listed)
                findings.add(name, texts[name], len(listed), failed, differences(records, ours[name], texts[name]))
    return findings.tell(given.samples)


class Findings:
    """What programs have shown; `output` is a file that keeps it."""

    def __init__(self, output: str | None):
        self.output = output
        self.programs = self.statements = self.failed = 0
        self.explained: collections.Counter[str] = collections.Counter()
        self.groups: dict[str, list[tuple[str, str, Difference]]] = collections.defaultdict(list)

    def add(self, name: str, text: str, statements: int, failed: int, found: Sequence[Sequence[Any]]) -> None:
        """Count a program, how many statements it has and how many of them fail in the original, and its differences."""
        self.programs += 1
        self.statements += statements
        self.failed += failed
        if self.output:
            with open(self.output, "a") as file:
                file.write(json.dumps([name, text if found else "", statements, failed, found]) + "\n")
        for difference in (Difference(*fields) for fields in found):
            if difference.what == "text":
                difference = difference._replace(what=kind_of_texts(difference.original, difference.ours))
            reason = known.reason(text, difference)
            if reason:
                self.explained[reason] += 1
            else:
                self.groups[group_of(text, difference)].append((name, text, difference))

    def tell(self, samples: int) -> int:
        """Print it; the status of the command."""
        for group, members in sorted(self.groups.items(), key=lambda item: -len(item[1])):
            print(f"{len(members):5} {group}")
            for name, text, difference in members[:samples]:
                print(f"        {name} line {difference.line}: {meant_by(text, difference.line)}")
                print(f"            original: {difference.original[:160]!r}\n            ours:     {difference.ours[:160]!r}")
        unexplained = {name for members in self.groups.values() for name, _, _ in members}
        print(f"{self.programs} programs, {self.statements} statements, {self.failed} of them errors in the original")
        for reason, count in self.explained.most_common():
            print(f"{count:6} explained: {reason}")
        print(f"{len(unexplained)} programs with unexplained differences, of {len(self.groups)} kinds")
        return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

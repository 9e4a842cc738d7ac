"""Runs random programs with Theano 1.0.5 and with this package, and prints what differs.

    python -m tests.differential --original PYTHON [--programs N] [--seed S] [--kinds KIND ...] [--jobs J]
    python -m tests.differential --show SEED [--kinds KIND]

`PYTHON` is an interpreter that has the original, for instance of a virtual environment of Python 3.10 with ``numpy==1.21.6
scipy==1.7.3 six "setuptools<60" wheel`` and, with ``pip install --no-build-isolation``, ``Theano==1.0.5``. A program is a Python
text that uses the documented interface only; both sides run the same text, statement by statement, and report values, types, texts
and errors. Differences that `tests/differential/known.py` explains are counted; the others are printed in groups and make the
command fail.

By default the original runs without a C compiler, node by node in NumPy (``--original-flags cxx=``): it takes seconds to
compile a function otherwise.
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
from typing import Any

from tests.differential import generator, known
from tests.differential.compare import Difference, differences, meant_by

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
    parser.add_argument("--kinds", nargs="*", choices=sorted(generator.KINDS), default=sorted(generator.KINDS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=50, help="programs a process")
    parser.add_argument("--samples", type=int, default=2, help="printed of each group of differences")
    parser.add_argument("--original-flags", default="cxx=,device=cpu")
    parser.add_argument("--our-flags", default="")
    parser.add_argument("--show", type=int, help="print the program of a seed, and run nothing")
    parser.add_argument("--output", help="file for all differences, lines of JSON")
    given = parser.parse_args()
    if given.show is not None:
        print(generator.program(given.show, given.kinds)[1])
        return 0
    if not given.original:
        parser.error("--original is needed")
    programs = [generator.program(seed, given.kinds) for seed in range(given.seed, given.seed + given.programs)]
    text_of = dict(programs)
    batches = [programs[i : i + given.batch] for i in range(0, len(programs), given.batch)]

    def both(batch: list[tuple[str, str]]) -> tuple[dict[str, Any], dict[str, Any]]:
        return (
            run_side(given.original, given.original_flags, batch, False),
            run_side(sys.executable, given.our_flags, batch, True),
        )

    groups: dict[str, list[tuple[str, Difference]]] = collections.defaultdict(list)
    explained: collections.Counter[str] = collections.Counter()
    statements = failed = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for original, ours in pool.map(both, batches):
            for name, records in original.items():
                if isinstance(records, list):
                    statements += len(records)
                    failed += sum(r["error"] is not None for r in records)
                for difference in differences(records, ours[name], text_of[name]):
                    reason = known.reason(text_of[name], difference)
                    if reason:
                        explained[reason] += 1
                    else:
                        groups[group_of(text_of[name], difference)].append((name, difference))
    if given.output:
        with open(given.output, "w") as file:
            for group, members in groups.items():
                for name, difference in members:
                    file.write(json.dumps([group, name, *difference, text_of[name]]) + "\n")
    for group, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(members):5} {group}")
        for name, difference in members[: given.samples]:
            print(f"        {name} line {difference.line}: {meant_by(text_of[name], difference.line)}")
            print(f"            original: {difference.original[:160]!r}\n            ours:     {difference.ours[:160]!r}")
    unexplained = {name for members in groups.values() for name, _ in members}
    print(f"{len(programs)} programs, {statements} statements, {failed} of them errors in the original")
    for reason, count in explained.most_common():
        print(f"{count:6} explained: {reason}")
    print(f"{len(unexplained)} programs with unexplained differences, of {len(groups)} kinds")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

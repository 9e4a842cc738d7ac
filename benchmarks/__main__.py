"""``python -m benchmarks [NAME ...]``: run benchmarks and print a table.

Peers that are not installed are left out: ``pip install pytensor jax torch numexpr`` brings them.
Every ratio is taken within one process, the contenders taking turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys

MODULES = ("calls", "small", "elementwise", "fused", "reductions", "rows", "training", "tensor_ops", "linear_algebra",
           "embeddings", "loops", "convolution", "pooling", "layers", "networks", "sparse", "streams", "first_result", "chains",
           "checking_modes", "compile_times", "sharing", "memory")
BY_THREADS = ("elementwise", "fused", "reductions", "rows", "training", "tensor_ops", "linear_algebra", "embeddings", "loops",
              "convolution", "pooling", "layers", "networks", "sparse", "streams")


def parse() -> argparse.Namespace:
    ask = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("names", nargs="*", help=f"of {', '.join(MODULES)} (default: all)")
    ask.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="thread counts to run with (default: 1 2)")
    ask.add_argument("--seconds", type=float, default=2.0, help="time for each contender of a row (default: %(default)s)")
    ask.add_argument("--json", type=pathlib.Path, help="also write the rows to this file")
    ask.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return ask.parse_args()


def limit_threads(count: int) -> dict[str, str]:
    """Environment that gives every library this many threads."""
    env = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS", "NUMBA_NUM_THREADS"):
        env[name] = str(count)
    if count == 1:
        env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return env


def child(args: argparse.Namespace) -> int:
    """Run the benchmarks of this process and print the rows as JSON lines."""
    count = args.threads[0]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    for name in args.names:
        module = importlib.import_module(f"benchmarks.{name}")
        for row in module.rows(count, args.seconds):
            print("ROW " + json.dumps(row), flush=True)
    return 0


def main() -> int:
    args = parse()
    if args.child:
        return child(args)
    from benchmarks.table import print_table

    rows = []
    for name in args.names or MODULES:
        counts = args.threads if name in BY_THREADS else [max(args.threads)]
        for count in counts:
            command = [sys.executable, "-m", "benchmarks", name, "--child", "--threads", str(count),
                       "--seconds", str(args.seconds)]
            done = subprocess.run(command, env=limit_threads(count), stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                print(f"{name} with {count} threads ended with status {done.returncode}", file=sys.stderr)
            for line in done.stdout.splitlines():
                if line.startswith("ROW "):
                    rows.append(json.loads(line[4:]))
    print_table(rows)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

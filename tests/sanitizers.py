"""Runs tests with the runtime and the generated kernels compiled by gcc's sanitizers.

    python -m tests.sanitizers asan|tsan [--all] [arguments of pytest]

`asan` stands for AddressSanitizer and UndefinedBehaviorSanitizer, over the tests of the engine; `tsan` for ThreadSanitizer,
over those of pool and threads. Without ``--all`` a part of them runs, of about half a minute each. What the sanitizers report
is printed, and makes the command fail. Leaks are not looked for: CPython itself frees little at its end.

Needs Linux and gcc with its sanitizers' libraries. `tests/sanitizers.supp` names, with reasons, what is not ours.
"""

from __future__ import annotations

import argparse
import glob
import os
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "theano" / "native" / "target" / "cpu" / "runtime"
SUPPRESSIONS = Path(__file__).with_suffix(".supp")
VARIABLE = "THEANO_SANITIZED"

FLAGS = {
    "asan": ["-fsanitize=address,undefined", "-fsanitize-recover=all", "-fno-omit-frame-pointer"],
    "tsan": ["-fsanitize=thread"],
}
# Kernels are linked without libraries: these have to be there already.
LIBRARIES = {"asan": ["libasan.so", "libubsan.so"], "tsan": ["libtsan.so"]}

NATIVE = ["tests/native", "tests/scan_module", "tests/sparse", "tests/compile/test_function_threads.py"]
THREADS = [
    "tests/compile/test_function_threads.py", "tests/native/test_vm.py", "tests/native/test_vm_fastcall.py",
    "tests/native/test_linalg_threads.py", "tests/native/test_kernels.py", "tests/native/test_indexed_kernels.py",
    "tests/native/test_gather_parts.py", "tests/native/test_sort_parts.py", "tests/native/test_row_kernels.py",
    "tests/native/test_vm_instructions.py", "tests/native/test_scan_native.py", "tests/native/test_positions_native.py",
    "tests/native/test_convolution.py", "tests/native/test_pooling.py", "tests/native/test_vm_sparse.py",
    "tests/native/test_pool.py", "tests/native/test_thread_pool.py", "tests/sparse/test_sparse_native.py",
    "tests/sparse/test_sparse_values.py", "tests/native/test_steady_calls.py",
]  # fmt: skip
ALL = {"asan": NATIVE, "tsan": THREADS}
PART = {
    "asan": ["tests/native/test_ranks.py", "tests/native/test_vm.py", "tests/native/test_vm_fastcall.py",
             "tests/native/test_gather_parts.py", "tests/native/test_convolution.py", "tests/native/test_pooling.py",
             "tests/native/test_pool.py", "tests/native/test_steady_calls.py"],
    "tsan": ["tests/compile/test_function_threads.py", "tests/native/test_gather_parts.py", "tests/native/test_thread_pool.py"],
}  # fmt: skip


def build(kind: str, folder: Path) -> Path:
    """Compile the runtime, unless that was done for the same sources; returns the extension module's file."""
    import numpy

    folder.mkdir(parents=True, exist_ok=True)
    flags = ["-std=gnu11", "-O1", "-g1", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-pthread", *FLAGS[kind]]
    flags += [f"-I{d}" for d in (RUNTIME, numpy.get_include(), sysconfig.get_path("include"))]
    tag = f"{kind}-{zlib.crc32(' '.join(map(str, flags)).encode()):08x}"
    common = max(path.stat().st_mtime for path in RUNTIME.glob("*.[hd]*"))
    objects = {source: folder / f"{tag}-{source.stem}.o" for source in sorted(RUNTIME.glob("*.c"))}
    stale = [s for s, o in objects.items() if not o.exists() or o.stat().st_mtime < max(common, s.stat().st_mtime)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ended = pool.map(lambda s: subprocess.run(["gcc", *flags, "-c", s, "-o", objects[s]]).returncode, stale)
        if any(ended):
            raise SystemExit("the runtime cannot be compiled with sanitizers")
    target = folder / f"_runtime-{tag}{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(["gcc", "-shared", "-pthread", *FLAGS[kind], "-o", target, *objects.values()], check=True)
    return target


def environment(kind: str, runtime: Path, reports: str) -> dict[str, str]:
    """What pytest runs with."""
    libraries = [subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip() for name in LIBRARIES[kind]]
    common = f"log_path={reports}/report:halt_on_error=0:handle_segv=1"
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        VARIABLE: f"{runtime} {reports}/report.undefined {' '.join(FLAGS[kind])}",
        # Freed Python objects, too, are memory that nobody may read.
        "PYTHONMALLOC": "malloc" if kind == "asan" else "default",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "ASAN_OPTIONS": f"{common}:detect_leaks=0:detect_stack_use_after_return=1:allocator_may_return_null=1",
        "PYTHONUNBUFFERED": "1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": f"{common}:suppressions={SUPPRESSIONS}:report_signal_unsafe=0:die_after_fork=0",
    }


def main(arguments: list[str] | None = None) -> int:
    """Run; returns the status of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.sanitizers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kind", choices=sorted(FLAGS))
    parser.add_argument("--all", action="store_true", help="all tests that the sanitizer is for, not only a part")
    options, given = parser.parse_known_args(arguments)
    chosen = [] if any(os.path.exists(a.partition("::")[0]) for a in given) else (ALL if options.all else PART)[options.kind]
    runtime = build(options.kind, ROOT / "build" / "sanitizers")
    with tempfile.TemporaryDirectory(prefix="theano-sanitizers-") as reports:
        command = [sys.executable, "-m", "pytest", "-p", "tests.sanitized", "-p", "no:xdist", *chosen, *given]
        status = subprocess.run(command, cwd=ROOT, env=environment(options.kind, runtime, reports)).returncode
        found = sorted(glob.glob(f"{reports}/report*"))
        for path in found:
            print(Path(path).read_text(errors="replace"), file=sys.stderr)
    print(f"{options.kind}: {len(found)} processes with reports, pytest ended with {status}")
    return 1 if found else status


if __name__ == "__main__":
    raise SystemExit(main())

"""Timing by turns, and the peers that are installed."""

from __future__ import annotations

import ctypes
import hashlib
import pathlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

C_FLAGS = ["-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC"]


def importable(name: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return __import__(name)
    except ImportError:
        return None


def compile_c(source: str, *flags: str) -> ctypes.CDLL:
    """Compile hand-written C as a user would: ``gcc -O3 -march=native``."""
    key = hashlib.sha256((source + " ".join(flags)).encode()).hexdigest()[:16]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="theano-benchmark-"))
    text, library = folder / f"{key}.c", folder / f"{key}.so"
    text.write_text(source)
    subprocess.run(["gcc", *C_FLAGS, *flags, str(text), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


# Thread pools spin for a while after their last loop: nobody is to be timed beside another one's spinning threads.
POOLS_REST = 0.15


def by_turns(contenders: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Time each contender in short bursts, in turn.

    Returns
    -------
    dict
        For each contender the seconds a call, one entry a burst; bursts of the same round stand at the same index.
    """
    loops = {}
    for name, call in contenders.items():
        for _ in range(3):
            call()
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        loops[name] = max(1, int(0.01 / max(once, 1e-8)))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    end = time.perf_counter() + seconds * len(contenders)
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for name, call in contenders.items():
            n = loops[name]
            time.sleep(POOLS_REST)
            call()
            times[name].append(_burst(call, n) / n)
    return times


def _burst(call: Callable[[], Any], n: int) -> float:
    """Seconds of `n` calls; a contender in a process of its own tells them itself."""
    if hasattr(call, "timed"):
        return call.timed(n)
    start = time.perf_counter()
    for _ in range(n):
        call()
    return time.perf_counter() - start


def row(case: str, threads: int, contenders: dict[str, Callable[[], Any]], seconds: float,
        limits: dict[str, float] | None = None, beat_peers: bool = True) -> dict[str, Any]:
    """Measure one row of the table.

    Parameters
    ----------
    limits
        Largest allowed ratio of our time to a contender's.
    beat_peers
        Whether all contenders without a limit of their own must be slower than we are.
    """
    times = by_turns(contenders, seconds)
    ours = times["Theano"]
    checks = {}
    for name, theirs in times.items():
        limit = (limits or {}).get(name, 1.0 if beat_peers else None)
        if name != "Theano" and limit is not None:
            checks[f"/ {name}"] = [statistics.median(a / b for a, b in zip(ours, theirs)), limit]
    medians = {name: statistics.median(t) for name, t in times.items()}
    return {"case": case, "threads": threads, "times": medians, "checks": checks}


def prepared(function: Any, *args: Any) -> Callable[[], None]:
    """A call of a C function with arrays, by their addresses, and integers, as cheap as `ctypes` makes it."""
    given = [ctypes.c_void_p(a.ctypes.data) if hasattr(a, "ctypes") else ctypes.c_long(a) if isinstance(a, int) else a
             for a in args]  # fmt: skip
    function.restype = None

    def call() -> None:
        function(*given)

    call.keeps = args  # type: ignore[attr-defined]
    return call


def blas_function(name: str) -> Any:
    """A function of the BLAS that NumPy brings, as ``cblas_sgemm``, to be passed to C; lengths are 64-bit integers."""
    import numpy

    for path in (pathlib.Path(numpy.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas64_*"):
        function = getattr(ctypes.CDLL(str(path)), f"scipy_{name}64_")
        return ctypes.cast(function, ctypes.c_void_p)
    raise RuntimeError("NumPy's wheel brings no OpenBLAS")

"""What watching costs: the training step of the MLP in the modes that check, guard and profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.harness import row
from benchmarks.training import BATCH, LAYERS, mlp_data, symbolic_mlp


def step(**options: Any) -> Callable[[], Any]:
    """The step of `benchmarks.training`, compiled with options of ``theano.function``."""
    import theano
    import theano.tensor as T

    x, y, _ = mlp_data()
    f = symbolic_mlp(theano, T, T.nnet.softmax, **options)
    return lambda: f(x, y)


def contenders() -> dict[str, Callable[[], Any]]:
    """The step in each mode."""
    import theano
    from theano.compile import MonitorMode, ProfileStats
    from theano.compile.debugmode import DebugMode
    from theano.compile.monitormode import detect_nan
    from theano.compile.nanguardmode import NanGuardMode
    from theano.configparser import change_flags

    made = {
        "Theano": step(),
        "profile=True": step(profile=ProfileStats(atexit_print=False)),
        "NanGuardMode": step(mode=NanGuardMode(nan_is_error=True, inf_is_error=True, big_is_error=True)),
        "MonitorMode, detect_nan": step(mode=MonitorMode(post_func=detect_nan)),
        "DebugMode": step(mode=DebugMode()),
        "DebugMode, c_code only": step(mode=DebugMode(check_py_code=False)),
        "linker vm (Python)": step(mode=theano.Mode("vm")),
    }
    with change_flags(profile_memory=True):
        made["profile_memory=True"] = step(profile=ProfileStats(atexit_print=False))
        made["profile_memory=True"]()
    return made


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    """One row: seconds a step in each mode, beside the plain mode."""
    name = f"MLP step in checking modes, batch {BATCH}, {'-'.join(map(str, LAYERS))}"
    yield row(name, threads, contenders(), seconds, beat_peers=False)

"""How many threads the runtime uses."""

from __future__ import annotations

import os


def thread_count() -> int:
    """Number of threads by ``config.threads``, 0 being all cores that the process may use."""
    from theano.configdefaults import config

    return config.threads if config.threads > 0 else core_count()


def core_count() -> int:
    """Number of cores that the process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1

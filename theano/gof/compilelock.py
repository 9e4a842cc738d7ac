"""The lock that is held while a function is optimized and linked.

Programs are compiled by one thread at a time. Processes need no lock among
each other: what they share, the cache of compiled kernels, is written by
atomic renaming. A fork waits for a moment for what another thread compiles;
the child finds the lock free in any case.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from theano.process import at_fork, new_lock

FORK_WAITS = 1.0
"""Seconds that a fork waits for what another thread compiles: its imports, say, would stay half done in the child."""

# Used itself as the context: an interrupt in a generator's `__enter__` could leave it taken.
_lock = new_lock()
_forking = threading.local()


def _before_fork() -> None:
    _forking.holds = _lock.acquire(timeout=FORK_WAITS)


def _after_fork() -> None:
    if _forking.holds:
        _lock.release()


at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def compile_lock() -> contextlib.AbstractContextManager[Any]:
    """Return a context that holds the compile lock of this process; a thread may take it several times."""
    return _lock


@contextlib.contextmanager
def lock_ctx(lock_dir: str | None = None, keep_lock: bool = False, **kwargs: object) -> Iterator[None]:
    """Hold the compile lock. The arguments name and tune a lock directory, which there no longer is."""
    with _lock:
        yield


def get_lock(lock_dir: str | None = None, **kwargs: object) -> None:
    """Take the compile lock; the arguments are accepted and ignored."""
    _lock.acquire()


def release_lock() -> None:
    """Give back the compile lock taken by :func:`get_lock`."""
    _lock.release()


def set_lock_status(use_lock: bool) -> None:
    """Accept whether to lock the compilation directory, which needs no lock: see the module's description."""


def force_unlock() -> None:
    """Remove the lock that an older Theano left in the compilation directory; this one makes none."""
    import os
    import shutil

    from theano.configdefaults import config

    shutil.rmtree(os.path.join(config.compiledir, "lock_dir"), ignore_errors=True)

"""The lock that is held while a function is optimized and linked.

Programs are compiled by one thread at a time. Processes need no lock among
each other: what they share, the cache of compiled kernels, is written by
atomic renaming.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_lock = threading.RLock()


@contextlib.contextmanager
def compile_lock() -> Iterator[None]:
    """Hold the compile lock of this process; a thread may take it several times."""
    with _lock:
        yield


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

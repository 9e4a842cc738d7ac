"""What belongs to one process: locks that a forked child finds free, directories that go with the process that made them."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock() -> Any:
    """Return a lock that its owner may take again and that is free in a forked child.

    The thread that forks is the only one of the child: what it holds it keeps, what others held nobody would give back.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _free_locks_of_others() -> None:
    for lock in list(_locks):
        if not lock._is_owned():
            lock._at_fork_reinit()


def temporary_directory(prefix: str) -> str:
    """Make a directory that is removed when this process ends; a forked child leaves it alone."""
    import atexit
    import tempfile

    path = tempfile.mkdtemp(prefix=prefix)
    atexit.register(_remove, path, os.getpid())
    return path


def _remove(path: str, owner: int) -> None:
    import shutil

    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def at_fork(**hooks: Any) -> None:
    """Register hooks as `os.register_at_fork` does, where processes fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)


at_fork(after_in_child=_free_locks_of_others)

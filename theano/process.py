"""What belongs to one process: locks that a forked child finds free, directories that go with it, pauses of its collector."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
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
    """Register hooks as `os.register_at_fork` does, where processes fork.

    Parameters
    ----------
    **hooks
        ``before``, ``after_in_child``, ``after_in_parent``: functions without arguments.

    See Also
    --------
    os.register_at_fork : The function of Python, on systems that fork.

    Examples
    --------
    >>> cache = {"pid": os.getpid()}
    >>> at_fork(after_in_child=cache.clear)  # A child begins with an empty one.
    >>> cache["pid"] == os.getpid()
    True
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)


at_fork(after_in_child=_free_locks_of_others)


_pause_lock = new_lock()
_pauses = 0
_own_pauses = threading.local()
_collector_was_on = False
# How many objects were there after the last collection of all, and were counted as old since without being looked at.
_known = _unseen = 0
# Whether the last pause made what another one works on.
_begun = False
# So many are left unseen in any case.
_LEFT = 200_000
# Of fewer than these a collection is quick: functions that are made one after the other and forgotten go with what they hold.
_MANY = 10_000


@contextmanager
def garbage_collection_paused(begins: bool = False) -> Iterator[None]:
    """Switch the cyclic garbage collector off while many objects are made that live long, as rewriting does.

    It would go through all of them again and again: a third of the time on a graph of some thousand nodes.
    Pauses may nest, also across threads. What was made in one counts as old if it is much: that of several is looked at when
    the next one begins, once it is as much as there was before.

    Parameters
    ----------
    begins : bool
        Whether the next pause works on what is made in this one, as a compilation does on a gradient: then a look at the
        beginning of that would find all of it in use. What only begins something looks itself in any case.
    """
    global _pauses, _collector_was_on, _begun
    own = getattr(_own_pauses, "count", 0)
    entered = first = False
    try:
        # An interrupt may come after each of these lines.
        with _pause_lock:
            _own_pauses.count, entered = own + 1, True
            _pauses += 1
            if _pauses == 1:
                _collector_was_on = False
                _collector_was_on = gc.isenabled()
                gc.disable()
                first = _collector_was_on and (begins or not _begun)
                _begun = False
        if first:
            # Without the lock: finalizers may wait for other threads that pause it.
            _look_at_old()
        yield
    finally:
        if entered:
            with _pause_lock:
                _own_pauses.count = own
                _pauses -= 1
                if _pauses == 0 and _collector_was_on:
                    _begun = begins
                    _count_as_old()
                    gc.enable()


def _look_at_old() -> None:
    global _known, _unseen
    if _unseen > max(_known, _LEFT) and gc.get_threshold()[0]:
        gc.collect()
        _known, _unseen = len(gc.get_objects()), 0


def _count_as_old() -> None:
    global _unseen
    made, threshold = gc.get_count()[0], gc.get_threshold()[0]
    # Where the collector would begin at once; with a threshold of 0 it never does.
    if threshold and made > max(threshold, _MANY) and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
        _unseen += made


def collection_is_paused() -> bool:
    """Whether this thread is within :func:`garbage_collection_paused`, so that another pause would change nothing."""
    return getattr(_own_pauses, "count", 0) > 0


def spare_young_collections() -> None:
    """Count all objects as old: collections of young ones would only find that what an import made stays."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def _forget_pauses_of_others() -> None:
    global _pauses
    paused, _pauses = _pauses, getattr(_own_pauses, "count", 0)
    if paused and not _pauses and _collector_was_on:
        gc.enable()


at_fork(after_in_child=_forget_pauses_of_others)

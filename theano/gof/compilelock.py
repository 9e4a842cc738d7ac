"""The lock that is held while a function is optimized and linked.

Programs are compiled by one thread at a time. Processes need no lock among
each other: what they share, the cache of compiled kernels, is written by
atomic renaming. A fork waits for a moment for what another thread compiles;
the child finds the lock free in any case.
"""

from __future__ import annotations

import contextlib
import os
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
    """Return a context that holds the compile lock of this process; a thread may take it several times.

    Examples
    --------
    >>> with compile_lock():
    ...     with compile_lock():
    ...         print("no other thread compiles")
    no other thread compiles
    """
    return _lock


@contextlib.contextmanager
def lock_ctx(lock_dir: str | None = None, keep_lock: bool = False, **kwargs: object) -> Iterator[None]:
    """Hold the compile lock. The arguments name and tune a lock directory, which there no longer is.

    Parameters
    ----------
    lock_dir, keep_lock, **kwargs : str, optional
        Those of the original.

    Examples
    --------
    >>> with lock_ctx():
    ...     print("no other thread compiles")
    no other thread compiles
    """
    with _lock:
        yield


def get_lock(lock_dir: str | None = None, **kwargs: object) -> None:
    """Take the compile lock; the arguments are accepted and ignored.

    Parameters
    ----------
    lock_dir, **kwargs : str, optional
        Those of the original.

    Examples
    --------
    >>> get_lock()
    >>> try:
    ...     print("no other thread compiles")
    ... finally:
    ...     release_lock()
    no other thread compiles
    """
    _lock.acquire()


def release_lock() -> None:
    """Give back the compile lock taken by :func:`get_lock`.

    Examples
    --------
    >>> get_lock()
    >>> release_lock()
    >>> release_lock()
    Traceback (most recent call last):
        ...
    RuntimeError: cannot release un-acquired lock
    """
    _lock.release()


def set_lock_status(use_lock: bool) -> None:
    """Accept whether to lock the compilation directory, which needs no lock: see the module's description.

    Parameters
    ----------
    use_lock : bool
        Whether to lock it.

    Examples
    --------
    >>> set_lock_status(False)
    >>> with lock_ctx():
    ...     print("no other thread compiles")
    no other thread compiles
    """


def force_unlock() -> None:
    """Remove the lock that an older Theano left in the compilation directory; this one makes none.

    Examples
    --------
    >>> from theano.configdefaults import config
    >>> left = os.path.join(config.compiledir, "lock_dir")
    >>> os.makedirs(left, exist_ok=True)
    >>> force_unlock()
    >>> os.path.exists(left)
    False
    """
    import shutil

    from theano.configdefaults import config

    shutil.rmtree(os.path.join(config.compiledir, "lock_dir"), ignore_errors=True)


# A lock among processes that is a directory: for programs, nothing here uses it.

#: Says that an argument was not given, where None has a meaning.
notset = object()
#: The name of this machine, which the owners of locks are known by.
hostname = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _owner(lock_file: str) -> str | None:
    try:
        with open(lock_file) as file:
            return file.readline().strip()
    except OSError:
        return None


def _is_dead(owner: str | None) -> bool:
    # Whether the process that took a lock was on this machine and is gone.
    process, _, host = (*(owner or "").split("_", 2), "", "")[:3]
    if host != hostname or not process.isdigit() or os.name == "nt":
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def lock(
    tmp_dir: str, timeout: Any = notset, min_wait: float | None = None, max_wait: float | None = None, verbosity: int = 1
) -> None:
    """Take a lock that is a directory: it is made, and the lock is free when it is removed, see :class:`Unlocker`.

    A lock is taken over from a process of this machine that is gone, or if its owner stays the same for too long.

    Parameters
    ----------
    tmp_dir : str
        The directory; those around it are made if they are not there, and stay.
    timeout : float or None
        Seconds after which a lock that nobody refreshes is taken over, None for never; by default ``compile.timeout``.
    min_wait, max_wait : float
        Seconds between two attempts, a random number in between; by default ``compile.wait`` and twice that.
    verbosity : int
        0 to say nothing of waiting, else a warning for each owner.

    Examples
    --------
    >>> lock("dataset.lock")
    >>> os.path.isdir("dataset.lock")
    True
    >>> Unlocker("dataset.lock").unlock()
    >>> os.path.isdir("dataset.lock")
    False
    """
    import random
    import time
    import warnings

    from theano.configdefaults import config

    min_wait = config.compile.wait if min_wait is None else min_wait
    max_wait = 2 * min_wait if max_wait is None else max_wait
    timeout = config.compile.timeout if timeout is notset else timeout
    os.makedirs(os.path.dirname(os.path.abspath(tmp_dir)), exist_ok=True)
    lock_file = os.path.join(tmp_dir, "lock")
    known, since = None, time.monotonic()
    while True:
        try:
            os.mkdir(tmp_dir)
        except FileExistsError:
            owner = _owner(lock_file)
            if owner != known:
                known, since = owner, time.monotonic()
                if verbosity and owner:
                    warnings.warn(f"waiting for the lock {tmp_dir} of the process {owner}", stacklevel=2)
            if _is_dead(owner) or (timeout is not None and time.monotonic() - since >= timeout):
                Unlocker(tmp_dir).unlock(force=True)
                continue
            time.sleep(random.uniform(min_wait, max_wait))
            continue
        if _owner(lock_file) is None and refresh_lock(lock_file) == _owner(lock_file):
            return


def refresh_lock(lock_file: str) -> str:
    """Write a new owner into the file of a lock that this process holds; returns it: its process, a number, its machine.

    Parameters
    ----------
    lock_file : str
        Its path.

    Returns
    -------
    str
        The owner.

    Examples
    --------
    >>> lock("dataset.lock")
    >>> owner = refresh_lock(os.path.join("dataset.lock", "lock"))
    >>> owner.startswith(f"{os.getpid()}_")
    True
    >>> Unlocker("dataset.lock").unlock()
    """
    import random

    owner = f"{os.getpid()}_{random.randrange(10**10):010d}_{hostname}"
    with open(lock_file, "w") as file:
        file.write(f"{owner}\n")
    return owner


class Unlocker:
    """Frees a lock that is a directory.

    Parameters
    ----------
    tmp_dir : str
        The directory.

    Examples
    --------
    >>> os.mkdir("dataset.lock")
    >>> with open("dataset.lock/lock", "w") as file:
    ...     print("1_0000000042_another-machine", file=file)
    >>> unlocker = Unlocker("dataset.lock")
    >>> unlocker.unlock()
    >>> os.path.isdir("dataset.lock")
    True
    >>> unlocker.unlock(force=True)
    >>> os.path.isdir("dataset.lock")
    False
    """

    def __init__(self, tmp_dir: str):
        self.tmp_dir = tmp_dir

    def unlock(self, force: bool = False) -> None:
        """Free the lock, if this process holds it or with `force`; no error if others did so at the same time."""
        lock_file = os.path.join(self.tmp_dir, "lock")
        owner = _owner(lock_file)
        if not force and owner is not None and not (owner.startswith(f"{os.getpid()}_") and owner.endswith(f"_{hostname}")):
            return
        for remove, path in ((os.remove, lock_file), (os.rmdir, self.tmp_dir)):
            with contextlib.suppress(OSError):
                remove(path)

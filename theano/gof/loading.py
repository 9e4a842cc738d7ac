"""How long compiled libraries take to load: the profile of a function shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class _Spent(threading.local):
    seconds = 0.0


_spent = _Spent()


@contextmanager
def timed_loading() -> Iterator[None]:
    """Count the time in this context as time for loading libraries."""
    start = time.perf_counter()
    try:
        yield
    finally:
        _spent.seconds += time.perf_counter() - start


def loading_seconds() -> float:
    """Return the seconds that this thread has spent on loading libraries."""
    return _spent.seconds

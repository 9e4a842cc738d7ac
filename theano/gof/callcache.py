"""A cache of the results of functions, kept in a file."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable
from typing import Any

_logger = logging.getLogger("theano.gof.callcache")


class CallCache:
    """Remembers what functions returned.

    Parameters
    ----------
    filename : str, optional
        The file that the results are read from and, by `persist`, written to.

    Examples
    --------
    >>> cache = CallCache()
    >>> cache.call(max, (1, 2)), cache.call(max, (1, 2))
    (2, 2)
    """

    def __init__(self, filename: str | None = None):
        self.filename = filename
        self.cache: dict = {}
        if filename is None:
            return
        try:
            with open(filename, "rb") as f:
                self.cache = pickle.load(f)
        except OSError:
            pass
        except Exception as e:
            _logger.warning("%s cannot be read, it starts empty: %s", filename, e)

    def persist(self, filename: str | None = None) -> None:
        """Write the results to a file, by default to that of the constructor.

        Raises
        ------
        ValueError
            There is no file name.
        """
        filename = self.filename if filename is None else filename
        if filename is None:
            raise ValueError("no file name was given")
        temporary = f"{filename}.{os.getpid()}.tmp"
        with open(temporary, "wb") as f:
            pickle.dump(self.cache, f, -1)
        os.replace(temporary, filename)

    def call(self, fn: Callable, args: tuple = (), key: Any = None) -> Any:
        """Return ``fn(*args)``, from the cache if it was called so before.

        Parameters
        ----------
        fn : callable
        args : tuple
        key : optional
            What stands for function and arguments; by default themselves.
        """
        if key is None:
            key = (fn, tuple(args))
        try:
            return self.cache[key]
        except KeyError:
            _logger.debug("cache miss %s", len(self.cache))
            value = self.cache[key] = fn(*args)
            return value

    def __del__(self) -> None:
        try:
            if self.filename:
                self.persist()
        except Exception as e:
            _logger.error("the cache could not be written: %s", e)

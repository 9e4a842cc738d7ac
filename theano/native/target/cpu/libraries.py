"""Compiled kernels by their keys: those in memory, those in the cache on disk; what a kernel is made from again."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from theano.gof.loading import timed_loading
from theano.gof.memo import Bounded
from theano.misc import file_cache
from theano.native.fastcall import _runtime
from theano.process import new_lock

# From key to library, in bytes of their files. One that falls out stays loaded while a program has kernels of it.
loaded = Bounded(8_000_000)
lock = new_lock()


class Form(NamedTuple):
    """A kernel but for its code: plain data.

    Parameters
    ----------
    key
        Of the library that has the code.
    n_outer, n_inner, inputs, outputs, nonempty, ordered, cost
        As ``_runtime.Kernel`` takes them.
    """

    key: str
    n_outer: int
    n_inner: int
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    nonempty: bool
    ordered: bool
    cost: float


class Kernels(list[Any]):
    """Kernels that can run, and their forms.

    Parameters
    ----------
    libraries
        From key to library.
    forms
        One for each kernel.
    """

    def __init__(self, libraries: dict[str, Any], forms: Iterable[Form]):
        self.forms = tuple(forms)
        super().__init__(_runtime.Kernel(libraries[form.key], "tk_" + form.key, *form[1:]) for form in self.forms)


def in_memory(keys: Iterable[str]) -> dict[str, Any]:
    """The libraries of keys that are loaded already."""
    libraries = [(key, loaded.get(key)) for key in keys]
    return {key: library for key, library in libraries if library is not None}


def find(keys: Collection[str], make: Callable[[list[str]], dict[str, Any]] | None = None) -> dict[str, Any]:
    """The libraries of keys that are in memory or on disk; `make` gives those of keys that are not, one thread at a time."""
    found = in_memory(keys)
    if len(found) < len(keys):
        with lock:
            found.update(in_memory(keys))
            libraries: dict[str, Any] = {}
            for key, path in file_cache.open_cache().lookup([key for key in keys if key not in found]).items():
                try:
                    size = 0
                    if path not in libraries:
                        libraries[path] = load(path)
                        size = os.path.getsize(path)
                except OSError:
                    continue
                found[key] = loaded.keep(key, libraries[path], size)
            missing = [key for key in keys if key not in found]
            if missing and make is not None:
                found.update(make(missing))
    return found


def load(path: str) -> Any:
    """Load a library."""
    with timed_loading():
        return _runtime.load_library(path)

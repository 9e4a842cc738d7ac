"""Finds a BLAS and hands its function pointers to the runtime, when the first program needs them.

In this order: what the user names in `config.blas.ldflags`; the OpenBLAS that NumPy's wheel brought and that is loaded
already; SciPy's `cython_blas`. Without any of these the runtime's own loops do the work.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

import numpy

from theano.native.runtime_build import load_file

NAMES = tuple(f"{letter}{routine}" for letter in "sdcz" for routine in ("gemm", "gemv"))
NAMES += ("sger", "dger", "cgeru", "zgeru", "sdot", "ddot")


def find_blas(ldflags: str = "") -> tuple[str, dict[str, Any]]:
    """Find BLAS routines.

    Parameters
    ----------
    ldflags
        Linker flags of a BLAS that the user wants (``-lname``, ``-Lfolder``, files); empty: any.

    Returns
    -------
    tuple
        A description of the library, and by routine name its address (int) or a capsule that holds it. Integer arguments
        may be of 32 or 64 bits: the runtime passes pointers to 64-bit ones. With ``set_num_threads`` and
        ``get_num_threads`` the runtime splits products over its own threads.

    Raises
    ------
    OSError
        If the user's library cannot be loaded or lacks a routine.
    """
    if ldflags.strip():
        return ldflags, _from_ldflags(ldflags)
    # Passing pointers to 64-bit integers where 32-bit ones are read needs the low half first.
    if sys.byteorder == "little":
        if numpys := numpys_routines(NAMES):
            library, found, _ = numpys
            return f"NumPy's OpenBLAS ({os.path.basename(library._name)})", found | _thread_control(library)
        if scipys := capsules("scipy.linalg.cython_blas", NAMES):
            return "SciPy's cython_blas", scipys
    return "own loops (no BLAS found)", {}


def load_blas() -> str:
    """Find a BLAS by `config.blas.ldflags` and give it to the runtime; returns its description."""
    from theano.configdefaults import config
    from theano.native import _runtime

    description, pointers = find_blas(config.blas.ldflags or "")
    _runtime.blas_set(pointers, description)
    return description


def _thread_control(library: Any) -> dict[str, int]:
    """Addresses of the functions that set and get the number of OpenBLAS's threads, or nothing."""
    for pattern in ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}"):
        found = _addresses([library], pattern, ("set_num_threads", "get_num_threads"))
        if found is not None:
            return found
    return {}


def _addresses(libraries: list[Any], pattern: str, names: Sequence[str]) -> dict[str, int] | None:
    """Addresses of all routines, named by `pattern`; None when one is missing."""
    found = {}
    for name in names:
        routine = next((getattr(lib, pattern.format(name)) for lib in libraries if hasattr(lib, pattern.format(name))), None)
        if routine is None:
            return None
        found[name] = ctypes.cast(routine, ctypes.c_void_p).value
    return found


def _files(folder: str, start: str) -> list[str]:
    """The files of a folder, if it is there and can be read, whose names begin so."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.startswith(start)]


def _from_ldflags(ldflags: str) -> dict[str, int]:
    import ctypes.util
    import shlex

    words = shlex.split(ldflags)
    folders = [w[2:] for w in words if w.startswith("-L")]
    libraries = []
    for word in words:
        if word.startswith("-l"):
            candidates = []
            for folder in folders:
                candidates += _files(folder, f"lib{word[2:]}.")
            system = ctypes.util.find_library(word[2:])
            candidates += [system] if system else [f"lib{word[2:]}.so"]
        elif not word.startswith("-") and re.search(r"\.(so|dylib|dll)\b", word):
            candidates = [word]
        else:
            continue
        libraries.append(_first_loadable(candidates, word))
    for pattern in ("{}_", "{}", "{}_64_"):
        found = _addresses(libraries, pattern, NAMES)
        if found is not None:
            for library in libraries:
                found |= _thread_control(library)
            return found
    raise OSError(f"config.blas.ldflags = {ldflags!r}: the libraries do not have the BLAS routines {', '.join(NAMES)}")


def _first_loadable(candidates: list[str], word: str) -> Any:
    problem: OSError | None = None
    for path in candidates:
        try:
            return ctypes.CDLL(path, mode=getattr(ctypes, "RTLD_GLOBAL", 0))
        except OSError as error:
            problem = error
    raise OSError(f"config.blas.ldflags: cannot load {word!r}: {problem}")


def numpys_routines(names: Sequence[str]) -> tuple[Any, dict[str, int], bool] | None:
    """The OpenBLAS of NumPy's wheel that has these routines, their addresses by name, whether its integers have 64 bits."""
    package = os.path.dirname(numpy.__file__)
    for folder in (package + ".libs", os.path.join(package, ".dylibs")):
        for path in _files(folder, "libscipy_openblas"):
            try:
                library = ctypes.CDLL(path)
            except OSError:
                continue
            for pattern, wide in (("scipy_{}_64_", True), ("scipy_{}_", False)):
                found = _addresses([library], pattern, names)
                if found is not None:
                    return library, found, wide
    return None


def capsules(module: str, names: Sequence[str]) -> dict[str, Any] | None:
    """What an extension module of SciPy has for Cython, by these names; None when one is missing."""
    found = getattr(load_extension(module), "__pyx_capi__", {})
    return {name: found[name] for name in names} if found.keys() >= set(names) else None


def signature_of(capsule: Any) -> str:
    """The C signature of a function, by which Cython names its capsule."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return (name_of(capsule) or b"").decode()


def load_extension(name: str) -> Any:
    """Load an extension module of SciPy by its file alone: importing its package would take ten times as long.

    Parameters
    ----------
    name
        Full name, such as ``scipy.linalg.cython_blas``.

    Returns
    -------
    module or None
    """
    if name in sys.modules:
        return sys.modules[name]
    top, *packages, last = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
        if spec is None or not spec.submodule_search_locations:
            return None
        base = os.path.join(spec.submodule_search_locations[0], *packages, last)
        for suffix in EXTENSION_SUFFIXES:
            if os.path.exists(base + suffix):
                return load_file(name, base + suffix)
        return importlib.import_module(name)
    except ImportError:
        return None

"""Finds LAPACK and hands its function pointers to the runtime, when the first program needs them.

The OpenBLAS that NumPy's wheel brought has it; else SciPy's `cython_lapack` and `cython_blas`, without importing
`scipy.linalg`.
"""

from __future__ import annotations

import sys
from typing import Any

NAMES = tuple(
    letter + routine
    for letter in "sdcz"
    for routine in ("potrf", "getrf", "getri", "getrs", "sysv", "gesdd", "geqrf", "geev", "gelsd")
)
NAMES += tuple(letter + routine for letter in "sd" for routine in ("syevd", "sygvd", "orgqr"))
NAMES += tuple(letter + routine for letter in "cz" for routine in ("heevd", "hegvd", "ungqr"))
PRODUCTS = tuple(letter + routine for letter in "sdcz" for routine in ("trsm", "gemm"))


def find_lapack() -> tuple[dict[str, Any], bool]:
    """Find LAPACK's routines.

    Returns
    -------
    tuple
        By routine name its address (int) or a capsule that holds it; whether the library's integers have 64 bits.

    Raises
    ------
    ImportError
        If neither NumPy's OpenBLAS nor SciPy has them.
    """
    if sys.byteorder == "little":  # 32-bit integers are read as the low half of 64-bit ones
        found = _from_numpy() or _from_scipy()
        if found is not None:
            return found
    raise ImportError("no LAPACK found: it comes with SciPy")


def load_lapack() -> None:
    """Find LAPACK and give it to the runtime, together with a BLAS."""
    from theano.native import _runtime
    from theano.native.target.cpu.blas_library import load_blas

    if not _runtime.blas_name():
        load_blas()
    _runtime.lapack_set(*find_lapack())


def available() -> bool:
    """Whether LAPACK can be found; remembered."""
    if not _known:
        try:
            find_lapack()
            _known.append(True)
        except ImportError:
            _known.append(False)
    return _known[0]


_known: list[bool] = []


def _from_numpy() -> tuple[dict[str, Any], bool] | None:
    import ctypes

    from theano.native.target.cpu.blas_library import _numpy_libraries

    for path in _numpy_libraries():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for pattern, wide in (("scipy_{}_64_", True), ("scipy_{}_", False)):
            names = {name: pattern.format(name) for name in (*NAMES, *PRODUCTS)}
            if all(hasattr(library, symbol) for symbol in names.values()):
                found = {n: ctypes.cast(getattr(library, s), ctypes.c_void_p).value for n, s in names.items()}
                return found, wide
    return None


def _from_scipy() -> tuple[dict[str, Any], bool] | None:
    from theano.native.target.cpu.blas_library import load_extension

    lapack, blas = load_extension("scipy.linalg.cython_lapack"), load_extension("scipy.linalg.cython_blas")
    found = {name: lapack.__pyx_capi__.get(name) for name in NAMES} if lapack is not None else {}
    if blas is not None:
        found |= {name: blas.__pyx_capi__.get(name) for name in PRODUCTS}
    if len(found) < len(NAMES) + len(PRODUCTS) or None in found.values():
        return None
    # The capsule's name is the C signature.
    import ctypes

    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return found, b"int64" in name_of(found["dpotrf"]) or b"long" in name_of(found["dpotrf"])

"""Finds LAPACK and hands its function pointers to the runtime, when the first program needs them.

The OpenBLAS that NumPy's wheel brought has it; else SciPy's `cython_lapack` and `cython_blas`, without importing
`scipy.linalg`.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from theano.native.target.cpu.blas_library import capsules, load_blas, numpys_routines, signature_of

NAMES = tuple(
    letter + routine
    for letter in "sdcz"
    for routine in ("potrf", "getrf", "getri", "getrs", "laswp", "sysv", "gesdd", "geqrf", "geev", "gelsd")
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
        if numpys := numpys_routines((*NAMES, *PRODUCTS)):
            return numpys[1:]
        if scipys := _from_scipy():
            return scipys
    raise ImportError("no LAPACK found: it comes with SciPy")


def load_lapack() -> None:
    """Find LAPACK and give it to the runtime, together with a BLAS."""
    from theano.native import _runtime

    if not _runtime.blas_name():
        load_blas()
    _runtime.lapack_set(*find_lapack())


@functools.cache
def available() -> bool:
    """Whether LAPACK can be found; remembered."""
    try:
        find_lapack()
    except ImportError:
        return False
    return True


def _from_scipy() -> tuple[dict[str, Any], bool] | None:
    routines, products = capsules("scipy.linalg.cython_lapack", NAMES), capsules("scipy.linalg.cython_blas", PRODUCTS)
    if routines is None or products is None:
        return None
    signature = signature_of(routines["dpotrf"])
    return routines | products, "int64" in signature or "long" in signature

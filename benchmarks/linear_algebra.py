"""Factorizations by own panels of columns, against the same library's LAPACK routines, and NumPy and PyTorch.

``OpenBLAS`` is LAPACK of the library that NumPy brings, whose products Theano uses, called with copies of the operands. Up to the
sizes that ``CUT_CHOLESKY`` and ``CUT_LU`` of ``runtime/lapack.c`` name, Theano calls the same routines. The calls go through
ctypes, which takes some 10 us: up to 100 x 100 the ratios say little.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import blas_function, importable, row

SIZES = (20, 50, 100, 200, 500, 1000)
DTYPES = ("float32", "float64")
NO_SLOWER = 1.1


class Library:
    """LAPACK's routines for one dtype, on matrices stored by columns.

    Parameters
    ----------
    dtype
        float32 or float64.
    """

    def __init__(self, dtype: str):
        self.integer = ctypes.c_int64
        letter = "s" if dtype == "float32" else "d"
        self.routines = {name: ctypes.CFUNCTYPE(None)(blas_function(f"{letter}{name}_").value)
                         for name in ("potrf", "getrf", "getrs", "getri")}  # fmt: skip

    def call(self, name: str, *args: Any) -> None:
        """Call a routine; arrays are given by their memory, numbers and letters by reference."""
        info = self.integer(0)
        passed = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray)
                  else ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.byref(self.integer(a)) for a in args]
        self.routines[name](*passed, ctypes.byref(info))
        assert info.value == 0, (name, info.value)

    def factors(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """LU factors and pivots."""
        n = len(a)
        lu, pivots = a.copy(order="F"), np.empty(n, self.integer)
        self.call("getrf", n, n, lu, n, pivots)
        return lu, pivots

    def cholesky(self, a: np.ndarray) -> np.ndarray:
        n, lower = len(a), a.copy(order="F")
        self.call("potrf", b"L", n, lower, n)
        return lower

    def det(self, a: np.ndarray) -> np.ndarray:
        lu, pivots = self.factors(a)
        return np.prod(lu.diagonal()) * (-1) ** np.count_nonzero(pivots != np.arange(1, len(a) + 1))

    def solve(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        n, (lu, pivots), x = len(a), self.factors(a), b.copy(order="F")
        self.call("getrs", b"N", n, n, lu, n, pivots, x, n)
        return x

    def inverse(self, a: np.ndarray) -> np.ndarray:
        n, (lu, pivots) = len(a), self.factors(a)
        self.call("getri", n, lu, n, pivots, np.empty(64 * n, a.dtype), 64 * n)
        return lu


def cases(n: int, dtype: str, rng: np.random.RandomState) -> Iterator[tuple[str, tuple[np.ndarray, ...], Any]]:
    """Name, operands and Theano's expression."""
    from theano.tensor import nlinalg, slinalg

    # Of a determinant that a float32 can hold.
    a = (rng.uniform(-1, 1, (n, n)) / np.sqrt(n / 3) + np.eye(n)).astype(dtype)
    b = rng.uniform(-1, 1, (n, n)).astype(dtype)
    yield "cholesky", ((a @ a.T + np.eye(n)).astype(dtype),), slinalg.cholesky
    yield "solve", (a, b), slinalg.solve
    yield "inverse", (a,), nlinalg.matrix_inverse
    yield "det", (a,), nlinalg.det


def peers() -> dict[str, Callable[..., dict[str, Any]]]:
    """What has these functions under one module; PyTorch's operands are tensors."""
    found: dict[str, Callable[..., dict[str, Any]]] = {}

    def of_module(linalg: Any, convert: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
        names = {"cholesky": "cholesky", "solve": "solve", "inverse": "inv", "det": "det"}

        def contender(name: str, arrays: tuple[np.ndarray, ...]) -> Callable[[], Any]:
            function, operands = getattr(linalg, names[name]), tuple(map(convert, arrays))
            return lambda: function(*operands)

        return contender

    found["NumPy"] = of_module(np.linalg, lambda a: a)
    torch = importable("torch")
    if torch is not None:
        found["PyTorch"] = of_module(torch.linalg, torch.from_numpy)
    return found


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    """The rows of the table."""
    import theano

    rng = np.random.RandomState(0)
    torch = importable("torch")
    if torch is not None:
        torch.set_num_threads(threads)
    for dtype in DTYPES:
        library = Library(dtype)
        for n in SIZES:
            for name, arrays, expression in cases(n, dtype, rng):
                symbols = [theano.tensor.matrix(dtype=dtype) for _ in arrays]
                f = theano.function(symbols, expression(*symbols))
                reference = getattr(library, name)
                got, wanted = f(*arrays), reference(*arrays)
                got, wanted = (np.tril(v) if name == "cholesky" else v for v in (got, wanted))
                np.testing.assert_allclose(got, wanted, rtol=1e-2 if dtype == "float32" else 1e-6, atol=1e-2)
                contenders: dict[str, Callable[[], Any]] = {
                    "Theano": lambda f=f, arrays=arrays: f(*arrays),  # type: ignore[misc]
                    "OpenBLAS": lambda reference=reference, arrays=arrays: reference(*arrays),  # type: ignore[misc]
                }
                contenders |= {peer: make(name, arrays) for peer, make in peers().items()}
                yield row(f"{name}, {n} x {n} {dtype}", threads, contenders, seconds, {"OpenBLAS": NO_SLOWER}, beat_peers=False)

"""Whether two values, arrays or sparse matrices, may share memory."""

from __future__ import annotations

from typing import Any

import numpy as np

# The arrays that a sparse matrix of the formats csr and csc consists of.
_PARTS = ("data", "indices", "indptr")


def _arrays(value: Any) -> list[np.ndarray] | None:
    # The arrays in which a value lives; None where it is of another kind.
    if isinstance(value, np.ndarray):
        return [value]
    parts = [getattr(value, name, None) for name in _PARTS]
    if all(isinstance(part, np.ndarray) for part in parts):
        return parts  # type: ignore[return-value]
    return None


def may_share_memory(a: Any, b: Any, raise_other_type: bool = True) -> bool:
    """Return whether two arrays or sparse matrices may share memory: their bounds overlap.

    Parameters
    ----------
    a : ndarray, or csr or csc matrix
        The first one.
    b : ndarray, or csr or csc matrix
        The second one.
    raise_other_type : bool
        Whether values of other kinds are an error, instead of sharing nothing.

    Returns
    -------
    bool
        False says that they certainly share nothing.

    Raises
    ------
    TypeError
        If a value is of another kind and `raise_other_type` is true.

    Examples
    --------
    >>> x = np.zeros(4)
    >>> may_share_memory(x, x[::2]), may_share_memory(x, x.copy())
    (True, False)
    """
    ours, theirs = _arrays(a), _arrays(b)
    if ours is None or theirs is None:
        if raise_other_type:
            raise TypeError(f"may_share_memory takes arrays and sparse matrices, got {type(a)} and {type(b)}")
        return False
    return any(np.may_share_memory(x, y) for x in ours for y in theirs)

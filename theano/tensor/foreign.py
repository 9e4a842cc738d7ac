"""Arrays of other libraries, and NumPy's own kinds of arrays that hold more than numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def refuse_masked(value: Any) -> None:
    """Raise ValueError for a masked array with masked entries, whose mask would get lost."""
    # Not imported here: who has such an array has done that, and a fork may find another thread at it.
    ma = sys.modules.get("numpy.ma")
    if ma is not None and isinstance(value, getattr(ma, "MaskedArray", ())) and ma.is_masked(value):
        raise ValueError(
            "A tensor has no mask, and the masked entries of this masked array would count as others do. Give the numbers,"
            " array.filled(number), and where it matters the mask as a tensor of its own, numpy.ma.getmaskarray(array)."
        )


def array_of(value: Any) -> np.ndarray | None:
    """Return an array or table of numbers of another library as a NumPy array that shares its memory where it can.

    Parameters
    ----------
    value : object
        What exports its memory by DLPack (PyTorch, JAX, CuPy), as pandas by ``to_numpy``, or by ``__array__``.

    Returns
    -------
    ndarray or None
        None for what is no such array, and where its elements are no numbers.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return None
    kind = type(value)
    if hasattr(kind, "__dlpack__"):
        try:
            array = np.from_dlpack(value)
        except (BufferError, TypeError):
            # Memory that NumPy may not see as it is: the library copies it.
            array = np.asarray(value)
    elif hasattr(kind, "to_numpy"):
        array = value.to_numpy()
    elif hasattr(kind, "__array__"):
        array = np.asarray(value)
    else:
        return None
    return array if array.dtype.kind in "biufc" else None

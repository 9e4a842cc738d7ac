"""Conversion to arrays that never changes a value silently through a wrong dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.configdefaults import config


def _asarray(a: Any, dtype: Any, order: str | None = None) -> np.ndarray:
    """Convert the input to an array of exactly the given dtype.

    Parameters
    ----------
    a : array_like
        Values.
    dtype : str or dtype
        Data type; 'floatX' stands for ``config.floatX``.
    order : {'C', 'F'}, optional
        Memory layout.

    Returns
    -------
    ndarray
        An array whose dtype has the type number of `dtype`, where NumPy may
        return an equal dtype of another number (``long`` and ``long long``).
    """
    if isinstance(dtype, str) and dtype == "floatX":
        dtype = config.floatX
    dtype = np.dtype(dtype)
    result = np.asarray(a, dtype=dtype, order=order)  # type: ignore[call-overload]
    if result.dtype.num != dtype.num:
        # The same data under the other of two equal types.
        return result.view(dtype=dtype)
    return result

"""What operations of linear algebra ask of the matrices that they get."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import discrete_dtypes

__all__ = ["as_matrix", "float_dtype_of", "floats", "fold_triangle", "real_dtype_of"]


def as_matrix(x: Any, name: str) -> Any:
    """Return `x` as a matrix variable.

    Raises
    ------
    TypeError
        If it has another rank.
    """
    x = as_tensor_variable(x)
    if x.ndim != 2:
        raise TypeError(f"{name}: the input must be a matrix, got {x.ndim} dimensions")
    return x


def float_dtype_of(*variables: Any) -> str:
    """Return the dtype of a decomposition of the variables: their common one, float64 for integers."""
    dtypes = ["float64" if x.dtype in discrete_dtypes or x.dtype == "bool" else x.dtype for x in variables]
    return np.result_type(*dtypes).name


def floats(x: np.ndarray) -> np.ndarray:
    """Return `x`, integers and truth values as float64: LAPACK would compute small ones in single precision."""
    return x.astype("float64") if x.dtype.kind in "biu" else x


def real_dtype_of(dtype: str) -> str:
    """Return the dtype of the parts of a complex dtype, or `dtype` itself."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def fold_triangle(g: np.ndarray, lower: bool) -> np.ndarray:
    """Return the gradient of the one triangle that stands for a whole symmetric matrix with gradient `g`."""
    if lower:
        return np.tril(g) + np.triu(g, 1).T
    return np.triu(g) + np.tril(g, -1).T

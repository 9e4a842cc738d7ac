"""What sparse values are told apart by."""

from __future__ import annotations

from typing import Any

from theano.gof.utils import hash_from_code as hash_from_code


def hash_from_sparse(data: Any) -> str:
    """Return a hash of a sparse matrix: of its stored values, their places, its shape, dtype and format.

    Parameters
    ----------
    data : csr or csc matrix of SciPy
        What is hashed.

    Returns
    -------
    str
        Equal for matrices that are stored equally.

    See Also
    --------
    theano.tensor.utils.hash_from_ndarray : Return a hash of an array: of its data, shape, strides and dtype, once it is
        contiguous.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> a = sp.csr_matrix(np.eye(2))
    >>> hash_from_sparse(a) == hash_from_sparse(a.copy()), hash_from_sparse(a) == hash_from_sparse(a * 2)
    (True, False)
    """
    parts = [hash_from_code(getattr(data, name).tobytes()) for name in ("data", "indices", "indptr")]
    return hash_from_code("".join([*parts, str(data.shape), str(data.dtype), data.format, str(data.indices.dtype)]))

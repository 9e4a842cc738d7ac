"""Shared sparse variables, and how :func:`theano.shared` makes them."""

from __future__ import annotations

import copy
from typing import Any

import scipy.sparse

from theano.gof.sharedvalue import SharedVariable, shared_constructor
from theano.sparse.type import SparseType, as_matrix
from theano.sparse.variable import _sparse_py_operators


class SparseTensorSharedVariable(_sparse_py_operators, SharedVariable):
    """A sparse matrix that functions share and update."""


@shared_constructor
def sparse_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    format: str | None = None,
) -> SparseTensorSharedVariable:
    """Return a shared variable for a sparse matrix of SciPy.

    Parameters
    ----------
    value : sparse matrix or array of SciPy
        Its first value.
    name : str, optional
        What it is called when it is printed.
    strict, allow_downcast : bool
        How values that are assigned later are converted.
    borrow : bool
        Whether `value` itself may become the storage; by default it is copied.
    format : {'csr', 'csc', 'bsr'}, optional
        By default that of `value`.

    Returns
    -------
    SparseTensorSharedVariable
        Of the dtype of `value`.

    Raises
    ------
    TypeError
        If `value` is no sparse matrix.

    See Also
    --------
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.
    theano.sparse.SparseType : The type of sparse matrices of SciPy, of one format and dtype.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> import theano
    >>> theano.shared(sp.csr_matrix([[0.0, 2.0]]), name="m").type
    Sparse[float64, csr]
    """
    if not scipy.sparse.issparse(value):
        raise TypeError(f"Expected a sparse matrix in the sparse shared variable constructor. Received {type(value)}")
    type_ = SparseType(format=value.format if format is None else format, dtype=value.dtype)
    if not borrow:
        value = copy.deepcopy(value)
    return SparseTensorSharedVariable(type=type_, value=as_matrix(value), name=name, strict=strict, allow_downcast=allow_downcast)

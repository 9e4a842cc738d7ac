"""Sparse variables and constants, their operators, and what becomes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from theano.configdefaults import config
from theano.gof.graph import Apply, Constant, Variable
from theano.sparse.type import SparseType, as_matrix, ops
from theano.sparse.utils import hash_from_sparse
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.type import TensorType
from theano.tensor.type import ops as tensor_ops


def _is_sparse_variable(x: Any) -> bool:
    """Whether `x` is a variable for a sparse matrix; TypeError if it is no variable of a matrix at all."""
    if not isinstance(x, Variable):
        raise NotImplementedError(f"this needs a sparse or dense variable, got {x!r} of {type(x)}")
    return isinstance(x.type, SparseType)


def _is_dense_variable(x: Any) -> bool:
    """Whether `x` is a variable for a tensor."""
    if not isinstance(x, Variable):
        raise NotImplementedError(f"this needs a sparse or dense variable, got {x!r} of {type(x)}")
    return isinstance(x.type, TensorType)


def _is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse matrix of SciPy."""
    if not isinstance(x, (scipy.sparse.spmatrix, scipy.sparse.sparray, np.ndarray, tuple, list)):
        raise NotImplementedError(f"this needs a sparse or dense matrix, got {x!r} of {type(x)}")
    return scipy.sparse.issparse(x)


def _is_dense(x: Any) -> bool:
    """Whether `x` is an array of NumPy."""
    if not isinstance(x, (scipy.sparse.spmatrix, scipy.sparse.sparray, np.ndarray)):
        raise NotImplementedError(f"this needs a sparse or dense matrix, got {x!r} of {type(x)}")
    return isinstance(x, np.ndarray)


def is_sparse_variable(x: Any) -> bool:
    """Return whether `x` is a variable for a sparse matrix.

    Parameters
    ----------
    x : object
        Anything.

    Examples
    --------
    >>> import theano.tensor as T
    >>> is_sparse_variable(csr_matrix("x")), is_sparse_variable(T.matrix("y"))
    (True, False)
    """
    return isinstance(x, Variable) and isinstance(x.type, SparseType)


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return getattr(ops, name)(other, self) if reflected else getattr(ops, name)(self, other)

    method.__doc__ = f"See :func:`theano.sparse.{name}`."
    return method


class _sparse_py_operators:
    """Python's operators, and the attributes of a matrix, on sparse variables."""

    # NumPy arrays leave binary operators to variables.
    __array_priority__ = 1000
    __array_ufunc__ = None

    __add__ = _binary("add")
    __radd__ = _binary("add", True)
    __sub__ = _binary("sub")
    __rsub__ = _binary("sub", True)
    __mul__ = _binary("mul")
    __rmul__ = _binary("mul", True)
    __lt__ = _binary("lt")
    __le__ = _binary("le")
    __gt__ = _binary("gt")
    __ge__ = _binary("ge")
    __dot__ = _binary("structured_dot")
    __matmul__ = _binary("dot")
    __rmatmul__ = _binary("dot", True)

    def __rdot__(self, left: Any) -> Any:
        """See :func:`theano.sparse.structured_dot`."""
        return ops.structured_dot(left, self)

    def __neg__(self) -> Any:
        return ops.neg(self)

    def __pos__(self) -> Any:
        return self

    def dot(self, other: Any) -> Any:
        """Return the product with a matrix, see :func:`theano.sparse.dot`."""
        return ops.dot(self, other)

    def transpose(self) -> Any:
        """Return the transpose, of the other format."""
        return ops.transpose(self)

    def toarray(self) -> Any:
        """Return the dense matrix, see :func:`theano.sparse.dense_from_sparse`."""
        return ops.dense_from_sparse(self)

    def astype(self, dtype: str) -> Any:
        """Return the matrix with another dtype."""
        return ops.cast(self, dtype)

    def zeros_like(self) -> Any:
        """Return a matrix of this shape that stores nothing."""
        return ops.sp_zeros_like(self)

    def ones_like(self) -> Any:
        """Return ones at the places of the stored values."""
        return ops.sp_ones_like(self)

    def __getitem__(self, args: Any) -> Any:
        """Return an element, a part by slices, or rows or elements by lists of integers.

        ``x[i, j]`` is a 0-d tensor; ``x[a:b, c:d]`` and ``x[a:b]`` are sparse matrices; ``x[[i, j]]`` are rows,
        ``x[[i, j], [k, l]]`` the elements at ``(i, k)`` and ``(j, l)``. A slice mixed with an integer is refused: it
        would be a vector.
        """
        return ops.getitem(self, args)

    def __iter__(self) -> Any:
        raise TypeError("a sparse variable cannot be iterated over: its length is not known")

    to_dense = toarray

    T = property(transpose, doc="The transpose, of the other format.")
    shape = property(lambda self: tensor_ops.shape(self), doc="The symbolic shape, an int64 vector.")
    size = property(lambda self: ops.csm_data(self).size, doc="How many values are stored, zeros too.")
    ndim = property(lambda self: 2)
    broadcastable = property(lambda self: (False, False))
    dtype = property(lambda self: self.type.dtype)
    format = property(lambda self: self.type.format)


class SparseVariable(_sparse_py_operators, Variable):
    """A variable for a sparse matrix of SciPy, with the operators of matrices.

    See Also
    --------
    theano.sparse.SparseConstant : A constant sparse matrix.
    theano.sparse.SparseType : The type of sparse matrices of SciPy, of one format and dtype.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = csr_matrix("x", dtype="float64")
    >>> y = (x + x.T.T * 2)[0:1]
    >>> type(y).__name__, y.eval({x: sp.csr_matrix([[0.0, 1.0], [5.0, 0.0]])}).toarray()
    ('SparseVariable', array([[0., 3.]]))
    """

    def __str__(self) -> str:
        known = self.owner is not None or self.name
        return super().__str__() if known else f"{type(self).__name__}{{{self.format},{self.dtype}}}"

    __repr__ = __str__


class SparseConstantSignature(tuple):
    """What constant sparse matrices are told apart by: type and value.

    See Also
    --------
    theano.sparse.SparseConstant : A constant sparse matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = sp.csr_matrix([[0.0, 2.0]])
    >>> constant(x).signature() == constant(x.copy()).signature()
    True
    >>> constant(x).signature() == constant(10 * x).signature()
    False
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        (a, x), (b, y) = self, other  # type: ignore[misc]
        return a == b and x.shape == y.shape and x.nnz == y.nnz and hash_from_sparse(x) == hash_from_sparse(y)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        type_, value = self
        return hash((type_, hash_from_sparse(value)))

    def theano_hash(self) -> str:
        """Return a hash that is the same in all processes."""
        return hash_from_sparse(self[1])


class SparseConstant(_sparse_py_operators, Constant):
    """A constant sparse matrix.

    See Also
    --------
    theano.sparse.SparseType : The type of sparse matrices of SciPy, of one format and dtype.
    theano.sparse.SparseVariable : A variable for a sparse matrix of SciPy, with the operators of matrices.
    theano.sparse.SparseConstantSignature : What constant sparse matrices are told apart by: type and value.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> as_sparse_variable(sp.csr_matrix([[0.0, 2.0]]))
    SparseConstant{csr,float64,shape=(1, 2),nnz=1}
    """

    def signature(self) -> SparseConstantSignature:
        return SparseConstantSignature((self.type, self.data))

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.format},{self.dtype},shape={self.data.shape},nnz={self.data.nnz}}}"

    __repr__ = __str__


SparseType.Variable = SparseVariable  # type: ignore[assignment]
SparseType.Constant = SparseConstant  # type: ignore[assignment]


def constant(x: Any, name: str | None = None) -> SparseConstant:
    """Return a constant that holds a copy of a sparse matrix.

    Parameters
    ----------
    x : sparse matrix or array of SciPy
        Of format csr or csc.
    name : str, optional
        What it is called when it is printed.

    Returns
    -------
    SparseConstant
        Of the format and dtype of `x`.

    Raises
    ------
    TypeError
        If `x` is no sparse matrix, or of a format or dtype that has no :class:`SparseType`.

    See Also
    --------
    theano.sparse.as_sparse_variable : Return `x` as a sparse variable.
    theano.sparse.as_sparse_or_tensor_variable : Return `x` as a sparse variable, or where that is not possible as a
        tensor variable.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> constant(sp.csr_matrix([[0.0, 1.0]])).type
    Sparse[float64, csr]
    """
    if not scipy.sparse.issparse(x):
        raise TypeError(f"sparse.constant must be called on a sparse matrix of SciPy, got {x}")
    try:
        return SparseConstant(SparseType(format=x.format, dtype=x.dtype), as_matrix(x.copy()), name=name)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Could not convert {type(x).__name__} of dtype {x.dtype} to a sparse constant: {error}") from error


def as_sparse_variable(x: Any, name: str | None = None) -> Any:
    """Return `x` as a sparse variable.

    Parameters
    ----------
    x : sparse variable, Apply with one output, or sparse matrix of SciPy
        A matrix becomes a constant of the same format and dtype.
    name : str, optional
        What it is called when it is printed.

    Returns
    -------
    SparseVariable or SparseConstant

    Raises
    ------
    TypeError
        If `x` is something else, a dense variable too.

    See Also
    --------
    theano.sparse.as_sparse_or_tensor_variable : Return `x` as a sparse variable, or where that is not possible as a
        tensor variable.
    theano.sparse.constant : Return a constant that holds a copy of a sparse matrix.
    theano.sparse.cast : Return a sparse matrix in another dtype.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> as_sparse_variable(sp.csc_matrix([[1.0]])).type
    Sparse[float64, csc]
    """
    if isinstance(x, Apply):
        if len(x.outputs) != 1:
            raise ValueError(f"It is ambiguous which output of a multi-output Op has to be fetched: {x}")
        x = x.outputs[0]
    if isinstance(x, Variable):
        if not isinstance(x.type, SparseType):
            raise TypeError(f"Variable type field must be a SparseType, got {x}, {x.type}")
        return x
    try:
        return constant(x, name=name)
    except TypeError:
        raise TypeError(f"Cannot convert {x} to SparseType: it is of {type(x)}") from None


as_sparse = as_sparse_variable


def as_sparse_or_tensor_variable(x: Any, name: str | None = None) -> Any:
    """Return `x` as a sparse variable, or where that is not possible as a tensor variable.

    Parameters
    ----------
    x : object
        A variable, a matrix of SciPy, an array or anything else that makes one.
    name : str, optional
        For a constant that it makes.

    Returns
    -------
    SparseVariable or TensorVariable
        `x` itself if it is one of them.

    See Also
    --------
    theano.sparse.constant : Return a constant that holds a copy of a sparse matrix.
    theano.sparse.as_sparse_variable : Return `x` as a sparse variable.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> as_sparse_or_tensor_variable(sp.csc_matrix([[1.0]])).type, as_sparse_or_tensor_variable([1.0, 2.0]).type
    (Sparse[float64, csc], TensorType(float64, vector))
    """
    try:
        return as_sparse_variable(x, name)
    except (ValueError, TypeError):
        return as_tensor_variable(x, name)


def matrix(format: str, name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """Return a new variable for a sparse matrix.

    Parameters
    ----------
    format : {'csr', 'csc', 'bsr'}
        How the stored values lie.
    name : str, optional
        What it is called when it is printed.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    SparseVariable
        It has no value.

    See Also
    --------
    theano.sparse.csr_matrix : Return a new variable for a matrix stored by rows.
    theano.sparse.csc_matrix : Return a new variable for a matrix stored by columns.
    theano.sparse.bsr_matrix : Return a new variable for a matrix stored by rows of blocks.

    Examples
    --------
    >>> matrix("csr", "m", dtype="float32").type
    Sparse[float32, csr]
    """
    return SparseType(format=format, dtype=config.floatX if dtype is None else dtype)(name)


def csc_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """Return a new variable for a matrix stored by columns.

    Parameters
    ----------
    name : str, optional
        The variable's name.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    SparseVariable
        Of format csc.

    See Also
    --------
    theano.sparse.csr_matrix : Return a new variable for a matrix stored by rows.
    theano.sparse.bsr_matrix : Return a new variable for a matrix stored by rows of blocks.

    Examples
    --------
    >>> csc_matrix("m", dtype="float32").type
    Sparse[float32, csc]
    """
    return matrix("csc", name, dtype)


def csr_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """Return a new variable for a matrix stored by rows.

    Parameters
    ----------
    name : str, optional
        The variable's name.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    SparseVariable
        Of format csr.

    See Also
    --------
    theano.sparse.csc_matrix : Return a new variable for a matrix stored by columns.
    theano.sparse.bsr_matrix : Return a new variable for a matrix stored by rows of blocks.

    Examples
    --------
    >>> csr_matrix("m", dtype="float32").type
    Sparse[float32, csr]
    """
    return matrix("csr", name, dtype)


def bsr_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """Return a new variable for a matrix stored by rows of blocks.

    Parameters
    ----------
    name : str, optional
        The variable's name.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    SparseVariable
        Of format bsr.

    See Also
    --------
    theano.sparse.csr_matrix : Return a new variable for a matrix stored by rows.
    theano.sparse.csc_matrix : Return a new variable for a matrix stored by columns.

    Examples
    --------
    >>> bsr_matrix("m", dtype="float32").type
    Sparse[float32, bsr]
    """
    return matrix("bsr", name, dtype)


csc_dmatrix = SparseType(format="csc", dtype="float64")
csr_dmatrix = SparseType(format="csr", dtype="float64")
bsr_dmatrix = SparseType(format="bsr", dtype="float64")
csc_fmatrix = SparseType(format="csc", dtype="float32")
csr_fmatrix = SparseType(format="csr", dtype="float32")
bsr_fmatrix = SparseType(format="bsr", dtype="float32")
all_dtypes = SparseType.dtype_set


def value_of(result: Any, type_: SparseType) -> Any:
    """Return what SciPy computed as a value of a type: its format, its dtype, a matrix."""
    made = as_matrix(result if result.format == type_.format else result.asformat(type_.format))
    return made if made.dtype == type_.dtype else made.astype(type_.dtype)

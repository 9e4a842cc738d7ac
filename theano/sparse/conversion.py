"""Between dense and sparse matrices, and between dtypes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from theano.configdefaults import config
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.sparse.type import SparseType, continuous_dtypes, integer_dtypes, ops
from theano.sparse.variable import as_sparse_variable, is_sparse_variable
from theano.tensor.advanced_subtensor import advanced_subtensor1
from theano.tensor.advanced_subtensor import construct_sparse_from_list as _hook
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.shaping import patternbroadcast
from theano.tensor.type import TensorType


class DenseFromSparse(Op):
    """The dense matrix of a sparse one.

    Parameters
    ----------
    structured : bool
        Whether the gradient holds only the places of the stored values. A regular one holds all that are not zero.

    See Also
    --------
    theano.sparse.SparseFromDense : The sparse matrix of the elements of a dense one that are not zero. A number or a
        vector is a matrix of one row.
    theano.sparse.dense_from_sparse : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> import theano
    >>> x, value = SparseType("csr", "float64")("x"), sp.csr_matrix([[0.0, 2.0]])
    >>> for structured in (True, False):
    ...     cost = ((DenseFromSparse(structured)(x) + 1) ** 2).sum()
    ...     print(theano.grad(cost, x).eval({x: value}).toarray())
    [[0. 6.]]
    [[2. 6.]]
    """

    __props__ = ("sparse_grad",)

    def __init__(self, structured: bool = True) -> None:
        self.sparse_grad = structured

    def __str__(self) -> str:
        return f"{type(self).__name__}{{structured_grad={self.sparse_grad}}}"

    def make_node(self, x: Any) -> Apply:
        x = as_sparse_variable(x)
        return Apply(self, [x], [TensorType(x.type.dtype, (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(inputs[0].toarray())

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        if is_sparse_variable(gz):
            gz = dense_from_sparse(gz)
        return [ops.sampled_at(x, gz) if self.sparse_grad else SparseFromDense(x.type.format)(gz)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else self(eval_points[0])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


dense_from_sparse = DenseFromSparse()


class SparseFromDense(Op):
    """The sparse matrix of the elements of a dense one that are not zero. A number or a vector is a matrix of one row.

    The gradient is structured where that of the sparse matrix is.

    Parameters
    ----------
    format : {'csr', 'csc'}
        How the stored values lie.

    See Also
    --------
    theano.sparse.dense_from_sparse : The dense matrix of a sparse one.
    theano.sparse.DenseFromSparse : The dense matrix of a sparse one.
    theano.sparse.csc_from_dense : An instance of it.

    Examples
    --------
    >>> csr_from_dense([[0.0, 2.0], [0.0, 0.0]]).eval().nnz
    1
    >>> csc_from_dense([1.0, 0.0, 3.0]).eval().shape
    (1, 3)
    """

    __props__ = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.format}}}"

    def __call__(self, x: Any, **options: Any) -> Any:
        x = as_tensor_variable(x)
        if x.ndim > 2:
            raise TypeError(f"Theano does not have sparse tensor types with more than 2 dimensions, but {x} has {x.ndim}")
        if x.ndim == 1:
            x = x.dimshuffle("x", 0)
        elif x.ndim == 0:
            x = x.dimshuffle("x", "x")
        return super().__call__(x, **options)

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if x.ndim != 2:
            raise TypeError(f"a sparse matrix is made of a dense one, got {x.type}")
        return Apply(self, [x], [SparseType(dtype=x.type.dtype, format=self.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = SparseType.format_cls[self.format](inputs[0])

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        return [patternbroadcast(dense_from_sparse(gz) if is_sparse_variable(gz) else gz, x.broadcastable)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else self(eval_points[0])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


csr_from_dense = SparseFromDense("csr")
csc_from_dense = SparseFromDense("csc")


class Cast(Op):
    """A sparse matrix in another dtype. The gradient is regular.

    Parameters
    ----------
    out_type : str
        The dtype.

    See Also
    --------
    theano.sparse.cast : Return a sparse matrix in another dtype.
    theano.sparse.bcast : An instance of it.
    theano.sparse.ccast : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> icast(sp.csr_matrix([[0.0, 2.7]])).eval().toarray()
    array([[0, 2]], dtype=int32)
    """

    __props__ = ("out_type",)

    def __init__(self, out_type: str) -> None:
        self.out_type = out_type

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.out_type})"

    def make_node(self, x: Any) -> Apply:
        x = as_sparse_variable(x)
        return Apply(self, [x], [SparseType(dtype=self.out_type, format=x.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        with warnings.catch_warnings():
            # The imaginary part goes, as in `tensor.cast`.
            warnings.simplefilter("ignore")
            output_storage[0][0] = inputs[0].astype(self.out_type, copy=True)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        if self.out_type not in continuous_dtypes:
            return [ops.sp_zeros_like(x if x.dtype in continuous_dtypes else x.astype(config.floatX))]
        # As of tensors: the gradient passes to integers that are cast to floats.
        return [gz.astype(x.dtype) if x.dtype in continuous_dtypes else gz]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else self(eval_points[0])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return shapes  # type: ignore[return-value]


bcast = Cast("int8")
wcast = Cast("int16")
icast = Cast("int32")
lcast = Cast("int64")
fcast = Cast("float32")
dcast = Cast("float64")
ccast = Cast("complex64")
zcast = Cast("complex128")


def cast(variable: Any, dtype: str) -> Any:
    """Return a sparse matrix in another dtype.

    Parameters
    ----------
    variable : sparse matrix
        Of any format.
    dtype : str
        The name of the dtype.

    Returns
    -------
    SparseVariable
        Of the same format. The gradient is regular.

    Raises
    ------
    TypeError
        If there is no sparse matrix of the dtype.

    See Also
    --------
    theano.sparse.as_sparse_variable : Return `x` as a sparse variable.
    theano.sparse.Cast : A sparse matrix in another dtype. The gradient is regular.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> cast(sp.csr_matrix([[1.0]]), "float32").type
    Sparse[float32, csr]
    """
    return Cast(dtype)(variable)


class ConstructSparseFromList(Op):
    """The csc matrix of the shape of `x` that has given rows at given positions: the sparse gradient of ``x[ilist]``.

    Rows of a position that is there several times add up. The gradient with respect to the rows is regular; of `x` only
    the shape is used.

    See Also
    --------
    theano.sparse_grad : Return a variable with the same value, whose gradient is kept in a sparse format.
    theano.sparse.construct_sparse_from_list : An instance of it.

    Examples
    --------
    >>> import numpy as np
    >>> construct_sparse_from_list(np.zeros((3, 2)), [[1.0, 2.0], [3.0, 4.0]], [2, 2]).eval().toarray()
    array([[0., 0.],
           [0., 0.],
           [4., 6.]])
    """

    __props__ = ()

    def make_node(self, x: Any, values: Any, ilist: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        x : matrix
            What the result has the shape of.
        values : matrix
            The rows, each as long as those of `x`.
        ilist : vector of integers
            Where each of them is.
        """
        x, values, ilist = as_tensor_variable(x), as_tensor_variable(values), as_tensor_variable(ilist)
        if ilist.type.dtype not in integer_dtypes:
            raise TypeError(f"index must be integers, got {ilist.type}")
        if ilist.type.ndim != 1:
            raise TypeError(f"index must be vector, got {ilist.type}")
        if x.type.ndim != 2 or values.type.ndim != 2:
            raise TypeError(f"the matrix and the rows have to be matrices, got {x.type} and {values.type}")
        return Apply(self, [x, values, ilist], [SparseType(format="csc", dtype=values.dtype)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, values, ilist = inputs
        count, columns = values.shape
        if ilist.shape[0] != count or columns != x.shape[1]:
            raise ValueError(f"rows of shape {values.shape} at {ilist.shape[0]} positions of a matrix of shape {x.shape}")
        if count and not (-x.shape[0] <= ilist.min() and ilist.max() < x.shape[0]):
            raise IndexError(f"index out of bounds for the first dimension of length {x.shape[0]}")
        at = np.where(ilist < 0, ilist + x.shape[0], ilist)
        indptr = np.arange(columns + 1) * count
        made = scipy.sparse.csc_matrix((values.T.ravel(), np.tile(at, columns), indptr), shape=x.shape)
        made.has_sorted_indices = made.has_canonical_format = False
        output_storage[0][0] = made

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        ilist, (gz,) = inputs[2], grads
        dense = dense_from_sparse(gz) if is_sparse_variable(gz) else gz
        return [DisconnectedType()(), advanced_subtensor1(dense, ilist), DisconnectedType()()]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


construct_sparse_from_list = ConstructSparseFromList()
_hook.fill(construct_sparse_from_list)
ops.gather(globals(), "DenseFromSparse SparseFromDense dense_from_sparse cast")

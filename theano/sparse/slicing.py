"""Elements and parts of sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType, grad_undefined
from theano.sparse.type import SparseType, integer_dtypes, ops
from theano.sparse.variable import as_sparse_variable, value_of
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.type import TensorType
from theano.tensor.type_other import NoneConst


def _indices(index: Any) -> Any:
    index = as_tensor_variable(index)
    if index.type.dtype not in integer_dtypes or index.type.ndim != 1:
        raise TypeError(f"a list of rows or columns must be a vector of integers, got {index.type}")
    return index


def _check(index: np.ndarray, length: int, axis: int) -> None:
    if len(index) and not (-length <= index.min() and index.max() < length):
        raise IndexError(f"an index of axis {axis} is out of bounds for length {length}")


class GetItemList(Op):
    """Rows of a sparse matrix at a list of positions: sparse, in its format. The gradient is regular.

    See Also
    --------
    theano.sparse.GetItem2d : A part of a sparse matrix by a slice of rows and one of columns: sparse. It has no gradient.
    theano.sparse.GetItemScalar : An element of a sparse matrix, a 0-d tensor. It has no gradient.
    theano.sparse.GetItemListGrad : A matrix of the shape of `x` with the rows of `gz` added at positions.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> get_item_list(sp.csr_matrix([[1.0, 0.0], [0.0, 2.0]]), [1, 1, 0]).eval().toarray()
    array([[0., 2.],
           [0., 2.],
           [1., 0.]])
    """

    __props__ = ()

    def make_node(self, x: Any, index: Any) -> Apply:
        x = as_sparse_variable(x)
        return Apply(self, [x, _indices(index)], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, index = inputs
        _check(index, x.shape[0], 0)
        output_storage[0][0] = value_of(x[index], node.outputs[0].type)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [get_item_list_grad(*inputs, grads[0]), DisconnectedType()()]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[1][0], shapes[0][1])]


get_item_list = GetItemList()


class GetItemListGrad(Op):
    """A matrix of the shape of `x` with the rows of `gz` added at positions.

    See Also
    --------
    theano.sparse.GetItem2Lists : The elements of a sparse matrix at the rows and columns of two lists, a dense vector.
        The gradient is regular.
    theano.sparse.GetItemList : Rows of a sparse matrix at a list of positions: sparse, in its format. The gradient is
        regular.
    theano.sparse.get_item_list_grad : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, gz = sp.csr_matrix((3, 2)), sp.csr_matrix([[1.0, 0.0], [10.0, 2.0]])
    >>> get_item_list_grad(x, [2, 2], gz).eval().toarray()
    array([[ 0.,  0.],
           [ 0.,  0.],
           [11.,  2.]])
    """

    __props__ = ()

    def make_node(self, x: Any, index: Any, gz: Any) -> Apply:
        x, gz = as_sparse_variable(x), as_sparse_variable(gz)
        return Apply(self, [x, _indices(index), gz], [SparseType(format=x.format, dtype=gz.dtype)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, index, gz = inputs
        _check(index, x.shape[0], 0)
        coo = gz.tocoo()
        rows = np.where(index < 0, index + x.shape[0], index)[coo.row]
        made = type(coo)((coo.data, (rows, coo.col)), shape=x.shape)
        output_storage[0][0] = value_of(made, node.outputs[0].type)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [False], [True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()(), DisconnectedType()(), get_item_list(grads[0], inputs[1])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


get_item_list_grad = GetItemListGrad()


class GetItem2Lists(Op):
    """The elements of a sparse matrix at the rows and columns of two lists, a dense vector. The gradient is regular.

    See Also
    --------
    theano.sparse.GetItemList : Rows of a sparse matrix at a list of positions: sparse, in its format. The gradient is
        regular.
    theano.sparse.GetItemListGrad : A matrix of the shape of `x` with the rows of `gz` added at positions.
    theano.sparse.GetItem2ListsGrad : A matrix of the shape of `x` with the elements of the vector `gz` added at places.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> get_item_2lists(sp.csr_matrix([[1.0, 0.0], [0.0, 2.0]]), [0, 1, 1], [0, 0, 1]).eval()
    array([1., 0., 2.])
    """

    __props__ = ()

    def make_node(self, x: Any, ind1: Any, ind2: Any) -> Apply:
        x = as_sparse_variable(x)
        return Apply(self, [x, _indices(ind1), _indices(ind2)], [TensorType(x.dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, rows, columns = inputs
        if rows.shape != columns.shape:
            raise IndexError(f"{len(rows)} rows and {len(columns)} columns")
        _check(rows, x.shape[0], 0)
        _check(columns, x.shape[1], 1)
        found = np.asarray(x[rows, columns]).ravel() if len(rows) else np.empty(0)
        output_storage[0][0] = found.astype(x.dtype, copy=False)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [get_item_2lists_grad(*inputs, grads[0]), DisconnectedType()(), DisconnectedType()()]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[1]]


get_item_2lists = GetItem2Lists()


class GetItem2ListsGrad(Op):
    """A matrix of the shape of `x` with the elements of the vector `gz` added at places.

    See Also
    --------
    theano.sparse.GetItem2Lists : The elements of a sparse matrix at the rows and columns of two lists, a dense vector.
        The gradient is regular.
    theano.sparse.get_item_2lists_grad : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> get_item_2lists_grad(sp.csr_matrix((2, 2)), [0, 1, 1], [0, 1, 1], [1.0, 2.0, 3.0]).eval().toarray()
    array([[1., 0.],
           [0., 5.]])
    """

    __props__ = ()

    def make_node(self, x: Any, ind1: Any, ind2: Any, gz: Any) -> Apply:
        x, gz = as_sparse_variable(x), as_tensor_variable(gz)
        return Apply(self, [x, _indices(ind1), _indices(ind2), gz], [SparseType(format=x.format, dtype=gz.dtype)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.sparse

        x, rows, columns, gz = inputs
        _check(rows, x.shape[0], 0)
        _check(columns, x.shape[1], 1)
        at = (np.where(rows < 0, rows + x.shape[0], rows), np.where(columns < 0, columns + x.shape[1], columns))
        output_storage[0][0] = value_of(scipy.sparse.coo_matrix((gz, at), shape=x.shape), node.outputs[0].type)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [False], [False], [True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        rest = [DisconnectedType()() for _ in range(3)]
        return [*rest, get_item_2lists(grads[0], *inputs[1:3])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


get_item_2lists_grad = GetItem2ListsGrad()


class GetItem2d(Op):
    """A part of a sparse matrix by a slice of rows and one of columns: sparse. It has no gradient.

    See Also
    --------
    theano.sparse.GetItemScalar : An element of a sparse matrix, a 0-d tensor. It has no gradient.
    theano.sparse.GetItemList : Rows of a sparse matrix at a list of positions: sparse, in its format. The gradient is
        regular.
    theano.sparse.get_item_2d : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = sp.csr_matrix([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    >>> get_item_2d(x, (slice(0, 1), slice(1, None))).eval().toarray()
    array([[0., 2.]])
    """

    __props__ = ()

    def make_node(self, x: Any, index: Any) -> Apply:
        """Return the node for a matrix and one or two slices.

        Raises
        ------
        NotImplementedError
            If one of two indices is an integer: the result would be a vector.
        ValueError
            If an index is neither an integer nor a slice of integers.
        """
        x = as_sparse_variable(x)
        indices = [*index, *[slice(None)] * (2 - len(index))]
        if len(indices) != 2:
            raise ValueError(f"a matrix takes at most two indices, got {index}")
        bounds: list[Any] = []
        for i in indices:
            if isinstance(i, slice):
                bounds += [_bound(part) for part in (i.start, i.stop, i.step)]
            elif isinstance(i, (int, np.integer)) or (isinstance(i, Variable) and i.ndim == 0 and i.dtype in integer_dtypes):
                raise NotImplementedError(
                    "Theano has no sparse vector: use X[a:b, c:d], X[a:b, c:c+1] or X[a:b] instead of an integer beside a slice."
                )
            else:
                raise ValueError(f"Advanced indexing is not implemented for sparse matrices, got the index {i!r}")
        return Apply(self, [x, *bounds], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, *bounds = inputs
        numbers = [None if b is None else int(b) for b in bounds]
        output_storage[0][0] = value_of(x[slice(*numbers[:3]), slice(*numbers[3:])].copy(), node.outputs[0].type)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        undefined = [grad_undefined(self, k, v) for k, v in enumerate(inputs)]
        return undefined


def _bound(part: Any) -> Any:
    if part is None:
        return NoneConst
    if isinstance(part, (int, np.integer)):
        return as_tensor_variable(int(part))
    if isinstance(part, Variable) and getattr(part.type, "ndim", None) == 0 and part.type.dtype in integer_dtypes:
        return as_tensor_variable(part)
    raise ValueError(f"a bound of a slice must be None or an integer, got {part!r}")


get_item_2d = GetItem2d()


class GetItemScalar(Op):
    """An element of a sparse matrix, a 0-d tensor. It has no gradient.

    See Also
    --------
    theano.sparse.GetItemList : Rows of a sparse matrix at a list of positions: sparse, in its format. The gradient is
        regular.
    theano.sparse.GetItem2d : A part of a sparse matrix by a slice of rows and one of columns: sparse. It has no gradient.
    theano.sparse.get_item_scalar : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> float(get_item_scalar(sp.csr_matrix([[1.0, 0.0], [0.0, 2.0]]), (1, -1)).eval())
    2.0
    """

    __props__ = ()

    def make_node(self, x: Any, index: Any) -> Apply:
        x = as_sparse_variable(x)
        if len(index) != 2:
            raise ValueError(f"an element of a matrix takes two indices, got {index}")
        variables = []
        for i in index:
            i = as_tensor_variable(i)
            if i.type.ndim != 0 or i.type.dtype not in integer_dtypes:
                raise NotImplementedError(f"GetItemScalar takes integers, got {i.type}")
            variables.append(i)
        return Apply(self, [x, *variables], [TensorType(x.dtype, ())()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, row, column = inputs
        output_storage[0][0] = np.asarray(x[int(row), int(column)], dtype=x.dtype)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [()]


get_item_scalar = GetItemScalar()


def _is_list(i: Any) -> bool:
    if isinstance(i, (list, np.ndarray)):
        return np.ndim(i) == 1
    return isinstance(i, Variable) and isinstance(i.type, TensorType) and i.ndim == 1


def getitem(x: Any, args: Any) -> Variable:
    """Return ``x[args]``; see the method of sparse variables."""
    if not isinstance(args, tuple):
        args = (args,)
    if len(args) == 2 and all(map(_is_list, args)):
        return get_item_2lists(x, *args)
    if len(args) == 1 and _is_list(args[0]):
        return get_item_list(x, args[0])
    is_scalar = [
        isinstance(i, (int, np.integer)) or (isinstance(i, Variable) and getattr(i.type, "ndim", None) == 0) for i in args
    ]
    if len(args) == 2 and all(is_scalar):
        return get_item_scalar(x, args)
    return get_item_2d(x, args)


ops.gather(globals(), "getitem")

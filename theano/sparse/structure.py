"""What a sparse matrix consists of: taking it apart, putting it together, transposing and tidying it.

A matrix is its stored values, a vector, and their places. :func:`stored_values` and :func:`with_values` take the values out
and put others into the same places, whatever the dtype of the indices; operations on the values are those on vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.sparse.type import SparseType, ops
from theano.sparse.variable import as_sparse_variable, is_sparse_variable
from theano.tensor.constructors import ivector
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import ones_like
from theano.tensor.type import TensorType


def compressed(x: Any, name: str) -> Any:
    """Return `x` as a sparse variable of csr or csc.

    Raises
    ------
    TypeError
        If its format is another one; `name` tells whose operand it is.
    """
    x = as_sparse_variable(x)
    if x.format not in ("csr", "csc"):
        raise TypeError(f"{name} takes csr and csc matrices, got {x.type}")
    return x


def places(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the stored values of a value of csr or csc, in their order."""
    lines = np.repeat(np.arange(len(x.indptr) - 1, dtype=x.indices.dtype), np.diff(x.indptr))
    stored = x.indices[: len(lines)]
    return (lines, stored) if x.format == "csr" else (stored, lines)


def rebuilt(x: Any, data: np.ndarray) -> Any:
    """Return a matrix of the values `data` at the places of `x`, over copies of its indices."""
    made = type(x)(x.shape, dtype=data.dtype)
    _put(made, data, x.indices[: len(data)].copy(), x.indptr.copy())
    return made


def made_of_parts(type_: SparseType) -> Callable[..., Any]:
    """Return a function that makes a value of a Type over its values, indices, indptr and shape, which become part of it."""
    cls = type_.format_cls[type_.format]

    def make(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray) -> Any:
        made = cls(tuple(shape.tolist()), dtype=data.dtype)
        _put(made, data, indices, indptr)
        return made

    return make


def _put(made: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> None:
    if data.shape != (indptr[-1],):
        raise ValueError(f"a matrix of {indptr[-1]} stored values cannot hold values of shape {data.shape}")
    made.data, made.indices, made.indptr = data, indices, indptr


class StoredValues(Op):
    """The stored values of a matrix, zeros among them too: a view."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        x = compressed(x, "stored_values")
        return Apply(self, [x], [TensorType(x.type.dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        output_storage[0][0] = x.data[: x.indptr[-1]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [with_values(inputs[0], grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else values_at(inputs[0], eval_points[0])]


stored_values = StoredValues()


class WithValues(Op):
    """A matrix with other values at the places of those that `x` stores. The gradient is structured."""

    __props__ = ()
    view_map = {0: [1]}

    def make_node(self, x: Any, data: Any) -> Apply:
        x, data = compressed(x, "with_values"), as_tensor_variable(data)
        if data.type.ndim != 1:
            raise TypeError(f"with_values takes a vector of values, got {data.type}")
        return Apply(self, [x, data], [SparseType(format=x.format, dtype=data.type.dtype)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, data = inputs
        output_storage[0][0] = rebuilt(x, data)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()(), values_at(inputs[0], grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[1] is None else self(inputs[0], eval_points[1])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


with_values = WithValues()


class ValuesAt(Op):
    """The elements of a matrix `y`, dense or sparse, at the places of the stored values of `x`: a vector.

    The gradient is regular for a dense `y`, and structured for a sparse one.
    """

    __props__ = ()

    def make_node(self, x: Any, y: Any) -> Apply:
        x = compressed(x, "values_at")
        y = y if is_sparse_variable(y) else as_tensor_variable(y)
        if y.type.ndim != 2:
            raise TypeError(f"values_at takes elements of a matrix, got {y.type}")
        return Apply(self, [x, y], [TensorType(y.type.dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        output_storage[0][0] = elements_at(x, y, node.inputs[1].type.broadcastable)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, y = inputs
        gz = with_values(x, grads[0])
        if is_sparse_variable(y):
            return [DisconnectedType()(), sampled_at(y, gz)]
        gy = ops.dense_from_sparse(gz)
        for axis in (0, 1):
            if y.type.broadcastable[axis]:
                gy = gy.sum(axis=axis, keepdims=True)
        return [DisconnectedType()(), gy]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[1] is None else self(inputs[0], eval_points[1])]


def elements_at(x: Any, y: Any, broadcastable: Sequence[bool]) -> np.ndarray:
    """Return the elements of a value `y`, dense or sparse, at the places of the stored values of `x`.

    Raises
    ------
    ValueError
        If the shapes differ, but for a dense dimension that broadcasts.
    """
    if any(n != m and not b for n, m, b in zip(y.shape, x.shape, broadcastable)):
        raise ValueError(f"elements of a matrix of shape {y.shape} at the places of one of shape {x.shape}")
    rows, columns = places(x)
    if not scipy.sparse.issparse(y):
        return np.broadcast_to(y, x.shape)[rows, columns]
    if y.format == x.format and y.nnz == x.nnz and _same_places(x, y):
        return y.data[: y.indptr[-1]].copy()
    if len(rows) == 0:
        return np.empty(0, dtype=y.dtype)
    # What is stored several times at one place is added up.
    return np.asarray(y[rows, columns]).ravel()


def _same_places(x: Any, y: Any) -> bool:
    return np.array_equal(x.indptr, y.indptr) and np.array_equal(x.indices[: x.nnz], y.indices[: y.nnz])


values_at = ValuesAt()


def sampled_at(x: Any, y: Any) -> Variable:
    """Return the elements of a matrix `y`, dense or sparse, at the places of the stored values of `x`, as a sparse matrix."""
    return with_values(x, values_at(x, y))


class CSMProperties(Op):
    """The four arrays of a matrix of csr or csc: ``(data, indices, indptr, shape)``, views of the first three.

    The gradient is regular.

    See Also
    --------
    theano.sparse.CSMGrad : The gradient of `CSM` with respect to its data: the elements of a gradient at the places of
        the values.
    theano.sparse.CSM : A sparse matrix of its four arrays; the data become part of it. The gradient is regular.
    theano.sparse.csm_properties : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> data, indices, indptr, shape = csm_properties(sp.csr_matrix([[0.0, 2.0], [3.0, 4.0]]))
    >>> [part.eval().tolist() for part in (data, indices, indptr, shape)]
    [[2.0, 3.0, 4.0], [1, 0, 1], [0, 1, 3], [2, 2]]
    """

    __props__ = ()
    view_map = {0: [0], 1: [0], 2: [0]}

    def make_node(self, csm: Any) -> Apply:
        csm = compressed(csm, "csm_properties")
        return Apply(self, [csm], [TensorType(csm.type.dtype, (False,))(), ivector(), ivector(), ivector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        for storage, value in zip(output_storage, properties(inputs[0])):
            storage[0] = value

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False, False, False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        if isinstance(grads[0].type, DisconnectedType):
            return [DisconnectedType()()]
        return [with_values(inputs[0], grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None] * 4
        return [values_at(inputs[0], eval_points[0]), None, None, None]


def properties(x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a value of csr or csc, the last three as int32.

    Raises
    ------
    OverflowError
        If indices do not fit; operations that need no indices as tensors take such matrices.
    """
    stored = int(x.indptr[-1])
    if max(*x.shape, stored) > np.iinfo("int32").max:
        raise OverflowError(f"the indices of a matrix of shape {x.shape} with {stored} stored values do not fit int32")
    indices, indptr = x.indices[:stored].astype("int32", copy=False), x.indptr.astype("int32", copy=False)
    return x.data[:stored], indices, indptr, np.asarray(x.shape, dtype="int32")


csm_properties = CSMProperties()


def csm_data(csm: Any) -> Variable:
    """Return the stored values of a sparse matrix of csr or csc, a vector.

    Parameters
    ----------
    csm : sparse matrix
        csr or csc.

    Returns
    -------
    TensorVariable
        A vector of the dtype of the matrix.

    See Also
    --------
    csm_properties : All four parts.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> csm_data(sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]])).eval()
    array([2., 3.])
    """
    return csm_properties(csm)[0]


def csm_indices(csm: Any) -> Variable:
    """Return for each stored value its column (csr) or row (csc), a vector of int32.

    Parameters
    ----------
    csm : sparse matrix
        csr or csc.

    Returns
    -------
    TensorVariable
        Of the length of :func:`csm_data`.

    See Also
    --------
    csm_properties : All four parts.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> csm_indices(sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]])).eval()
    array([1, 0], dtype=int32)
    """
    return csm_properties(csm)[1]


def csm_indptr(csm: Any) -> Variable:
    """Return where each row (csr) or column (csc) begins among the stored values, a vector of int32 with the end.

    Parameters
    ----------
    csm : sparse matrix
        csr or csc.

    Returns
    -------
    TensorVariable
        Longer by 1 than there are rows (csr) or columns (csc).

    See Also
    --------
    csm_properties : All four parts.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> csm_indptr(sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]])).eval()
    array([0, 1, 2], dtype=int32)
    """
    return csm_properties(csm)[2]


def csm_shape(csm: Any) -> Variable:
    """Return the shape of a sparse matrix of csr or csc, a vector of two int32.

    Parameters
    ----------
    csm : sparse matrix
        csr or csc.

    Returns
    -------
    TensorVariable
        Rows and columns.

    See Also
    --------
    csm_properties : All four parts.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> csm_shape(sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]])).eval()
    array([2, 2], dtype=int32)
    """
    return csm_properties(csm)[3]


class CSM(Op):
    """A sparse matrix of its four arrays; the data become part of it. The gradient is regular.

    Parameters
    ----------
    format : {'csr', 'csc'}
        How the stored values lie.
    kmap : array of int, optional
        Which elements of the data are used, in this order; by default all.

    See Also
    --------
    theano.sparse.CSMProperties : The four arrays of a matrix of csr or csc: ``(data, indices, indptr, shape)``, views of
        the first three.
    theano.sparse.CSMGrad : The gradient of `CSM` with respect to its data: the elements of a gradient at the places of
        the values.
    theano.sparse.CSC : An instance of it.

    Examples
    --------
    >>> CSR([2.0, 3.0, 4.0], [1, 0, 1], [0, 1, 3], [2, 2]).eval().toarray()
    array([[0., 2.],
           [3., 4.]])
    >>> CSM("csr", kmap=[2, 0])([2.0, 3.0, 4.0], [0, 1], [0, 1, 2], [2, 2]).eval().toarray()
    array([[4., 0.],
           [0., 2.]])
    """

    __props__ = ("format", "_kmap")
    view_map = {0: [0]}

    def __init__(self, format: str, kmap: Any = None) -> None:
        if format not in ("csr", "csc"):
            raise ValueError(f"format must be one of: 'csr', 'csc', got {format}")
        self.format = format
        self.kmap = None if kmap is None else np.asarray(kmap)
        self._kmap = None if self.kmap is None else (self.kmap.dtype.str, self.kmap.shape, self.kmap.tobytes())
        if self.kmap is not None:
            self.view_map = {}

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.format}}}"

    def make_node(self, data: Any, indices: Any, indptr: Any, shape: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        data : vector
            The stored values.
        indices, indptr : vectors of int32 or int64
            For each value its column (csr) or row (csc); where each row or column begins.
        shape : vector of two integers

        Raises
        ------
        TypeError
            If one of them is no such vector.
        """
        data = as_tensor_variable(data)
        if data.type.ndim != 1:
            raise TypeError(f"data argument must be a vector, got {data.type}, {data}")
        parts = []
        for name, part in (("indices", indices), ("indptr", indptr), ("shape", shape)):
            if not isinstance(part, Variable) and not any(
                isinstance(p, Variable) for p in np.ravel(np.asarray(part, dtype=object))
            ):
                narrow = np.asarray(part)
                if narrow.size == 0 or (narrow.dtype.kind in "iu" and narrow.max() <= np.iinfo("int32").max):
                    part = narrow.astype("int32")
            variable = as_tensor_variable(part)
            if variable.type.ndim != 1 or variable.type.dtype not in ("int8", "int16", "int32", "int64"):
                raise TypeError(f"{name} must be a vector of integers, got {variable.type}, {variable}")
            if variable.type.dtype in ("int8", "int16"):
                variable = variable.astype("int32")
            parts.append(variable)
        return Apply(self, [data, *parts], [SparseType(dtype=data.type.dtype, format=self.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, indices, indptr, shape = inputs
        if len(shape) != 2:
            raise ValueError("Shape should be an array of length 2")
        if data.shape != indices.shape and (self.kmap is None or self.kmap.shape != indices.shape):
            raise ValueError(
                f"Data (shape {data.shape}) must have the same number of elements as indices (shape {indices.shape})"
            )
        if self.kmap is not None:
            data = data[self.kmap]
        if len(indptr) == 0 or indptr[-1] != len(data):
            raise ValueError(f"indptr must end with the number of values, {len(data)}, got {indptr[-1:]}")
        made = SparseType.format_cls[self.format]((data, indices.copy(), indptr.copy()), shape=tuple(map(int, shape)), copy=False)
        check_places(made)
        output_storage[0][0] = made

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (gz,) = grads
        rest = [DisconnectedType()() for _ in inputs[1:]]
        return [CSMGrad(self.kmap)(*inputs, self(*inputs), gz), *rest]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        shape = node.inputs[3]
        return [(shape[0].astype("int64"), shape[1].astype("int64"))]


def check_places(x: Any) -> None:
    """Raise a ValueError if an index of a value of csr or csc lies outside of it, or a row begins behind its end."""
    length = x.shape[1 if x.format == "csr" else 0]
    stored = int(x.indptr[-1])
    if x.indptr[0] != 0 or np.any(np.diff(x.indptr) < 0) or stored > min(len(x.indices), len(x.data)):
        raise ValueError("indptr must begin with 0, not decrease, and end with the number of stored values at most")
    if stored and not (x.indices[:stored].min() >= 0 and x.indices[:stored].max() < length):
        raise ValueError(f"indices must lie in 0..{length - 1} for a {x.format} matrix of shape {x.shape}")


CSC = CSM("csc")
CSR = CSM("csr")


class CSMGrad(Op):
    """The gradient of :class:`CSM` with respect to its data: the elements of a gradient at the places of the values.

    Parameters
    ----------
    kmap : array of int, optional
        That of the CSM.

    See Also
    --------
    theano.sparse.CSM : A sparse matrix of its four arrays; the data become part of it. The gradient is regular.
    theano.sparse.CSMProperties : The four arrays of a matrix of csr or csc: ``(data, indices, indptr, shape)``, views of
        the first three.

    Examples
    --------
    >>> import numpy as np, theano
    >>> data = theano.tensor.dvector("data")
    >>> made = CSR(data, [1, 0], [0, 1, 2], [2, 2])
    >>> gradient = theano.grad((made.toarray() * np.array([[10, 20], [30, 40]])).sum(), data)
    >>> type(gradient.owner.op).__name__, gradient.eval({data: [2.0, 3.0]})
    ('CSMGrad', array([20., 30.]))
    """

    __props__ = ("_kmap",)

    def __init__(self, kmap: Any = None) -> None:
        self.kmap = None if kmap is None else np.asarray(kmap)
        self._kmap = None if self.kmap is None else (self.kmap.dtype.str, self.kmap.shape, self.kmap.tobytes())

    def make_node(self, data: Any, indices: Any, indptr: Any, shape: Any, made: Any, gz: Any) -> Apply:
        """Return the node for the inputs of a CSM, what it made, and its gradient, dense or sparse."""
        return Apply(self, [data, indices, indptr, shape, made, gz], [TensorType(gz.type.dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, *_, made, gz = inputs
        result = elements_at(made, gz, node.inputs[-1].type.broadcastable)
        if self.kmap is not None:
            full = np.zeros(data.shape, dtype=result.dtype)
            np.add.at(full, self.kmap, result)
            result = full
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]] * 5 + [[True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        if self.kmap is not None:
            raise NotImplementedError("the second derivative of a matrix made with a kmap")
        *_, made, gz = inputs
        spread = with_values(made, grads[0])
        back = sampled_at(gz, spread) if is_sparse_variable(gz) else ops.dense_from_sparse(spread)
        return [DisconnectedType()() for _ in inputs[:5]] + [back]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


csm_grad = CSMGrad


class Transpose(Op):
    """The transpose, of the other format: a view. The gradient is regular.

    See Also
    --------
    theano.sparse.transpose : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = as_sparse_variable(sp.csr_matrix([[1.0, 2.0]]))
    >>> transpose(x).type, transpose(x).eval().shape
    (Sparse[float64, csc], (2, 1))
    """

    __props__ = ()
    view_map = {0: [0]}
    format_map = {"csr": "csc", "csc": "csr"}

    def __str__(self) -> str:
        return "Sparse" + type(self).__name__

    def make_node(self, x: Any) -> Apply:
        x = compressed(x, "transpose")
        return Apply(self, [x], [SparseType(dtype=x.type.dtype, format=self.format_map[x.type.format])()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = inputs[0].transpose()

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (gz,) = grads
        return [transpose(gz) if is_sparse_variable(gz) else gz.T]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else self(eval_points[0])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0][::-1]]


transpose = Transpose()


def sp_ones_like(x: Any) -> Variable:
    """Return ones at the places of the stored values of a sparse matrix. Its gradient is regular: zero.

    Parameters
    ----------
    x : sparse matrix
        csr or csc.

    Returns
    -------
    SparseVariable
        Of the format and dtype of `x`.

    See Also
    --------
    theano.sparse.sp_zeros_like : Return a sparse matrix of the shape, format and dtype of another one, which stores
        nothing.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> sp_ones_like(sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]])).eval().toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    x = as_sparse_variable(x)
    return with_values(x, ones_like(stored_values(x)))


class _ZerosLike(Op):
    """A matrix of the shape, format and dtype of another one, which stores nothing."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = as_sparse_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        output_storage[0][0] = type(x)(x.shape, dtype=x.dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()()]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


_zeros_like = _ZerosLike()


def sp_zeros_like(x: Any) -> Variable:
    """Return a sparse matrix of the shape, format and dtype of another one, which stores nothing.

    Parameters
    ----------
    x : sparse matrix
        Of any format.

    Returns
    -------
    SparseVariable
        Its gradient is zero.

    See Also
    --------
    theano.sparse.sp_ones_like : Return ones at the places of the stored values of a sparse matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> sp_zeros_like(sp.csr_matrix([[0.0, 2.0]])).eval().nnz
    0
    """
    return _zeros_like(x)


class Diag(Op):
    """The diagonal of a square sparse matrix, a dense vector. The gradient is regular.

    See Also
    --------
    theano.sparse.SquareDiagonal : A square csc matrix with a dense vector on its diagonal. The gradient is regular.
    theano.sparse.diag : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> diag(sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]])).eval()
    array([1., 3.])
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = as_sparse_variable(x)
        return Apply(self, [x], [TensorType(x.dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        if x.shape[0] != x.shape[1]:
            raise ValueError(f"Diag only apply on square matrix, got one of shape {x.shape}")
        output_storage[0][0] = x.diagonal()

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        made = square_diagonal(grads[0])
        return [made if inputs[0].format == "csc" else transpose(made)]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[0][0],)]


diag = Diag()


class SquareDiagonal(Op):
    """A square csc matrix with a dense vector on its diagonal. The gradient is regular.

    See Also
    --------
    theano.sparse.Diag : The diagonal of a square sparse matrix, a dense vector. The gradient is regular.
    theano.sparse.square_diagonal : An instance of it.

    Examples
    --------
    >>> square_diagonal([1.0, 3.0]).eval().toarray()
    array([[1., 0.],
           [0., 3.]])
    """

    __props__ = ()

    def make_node(self, diag: Any) -> Apply:
        diag = as_tensor_variable(diag)
        if diag.type.ndim != 1:
            raise TypeError(f"data argument must be a vector, got {diag.type}")
        return Apply(self, [diag], [SparseType(dtype=diag.dtype, format="csc")()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (values,) = inputs
        n = len(values)
        made = (values.copy(), np.arange(n, dtype="int32"), np.arange(n + 1, dtype="int32"))
        output_storage[0][0] = scipy.sparse.csc_matrix(made, shape=(n, n))

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (gz,) = grads
        return [diag(gz) if is_sparse_variable(gz) else gz.diagonal()]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[0][0], shapes[0][0])]


square_diagonal = SquareDiagonal()


class _Tidying(Op):
    """Base class of what changes how a matrix is stored, not what it is. The gradient is regular.

    Parameters
    ----------
    inplace : bool
        Whether the matrix itself is changed.
    """

    __props__: tuple[str, ...] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{'inplace' if self.inplace else 'no_inplace'}}}"

    def make_node(self, x: Any) -> Apply:
        x = compressed(x, type(self).__name__)
        return Apply(self, [x], [x.type()])

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grads[0]]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [eval_points[0]]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return shapes  # type: ignore[return-value]


class EnsureSortedIndices(_Tidying):
    """The matrix with the values of each row (csr) or column (csc) in order.

    See Also
    --------
    theano.sparse.Remove0 : The matrix without stored zeros.
    theano.sparse.clean : Return a sparse matrix with its values in order and no zero among them.
    theano.sparse.ensure_sorted_indices : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = sp.csr_matrix(([1.0, 2.0], [1, 0], [0, 2]), shape=(1, 2))
    >>> x.indices.tolist(), ensure_sorted_indices(x).eval().indices.tolist()
    ([1, 0], [0, 1])
    """

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        if self.inplace:
            x.sort_indices()
            output_storage[0][0] = x
        else:
            output_storage[0][0] = x.sorted_indices()


ensure_sorted_indices = EnsureSortedIndices(inplace=False)


class Remove0(_Tidying):
    """The matrix without stored zeros.

    See Also
    --------
    theano.sparse.clean : Return a sparse matrix with its values in order and no zero among them.
    theano.sparse.EnsureSortedIndices : The matrix with the values of each row (csr) or column (csc) in order.
    theano.sparse.remove0 : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = sp.csr_matrix(([0.0, 2.0], [0, 1], [0, 2]), shape=(1, 2))
    >>> x.nnz, remove0(x).eval().nnz
    (2, 1)
    """

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{'inplace' if self.inplace else ''}}}"

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        made = x if self.inplace else x.copy()
        made.eliminate_zeros()
        output_storage[0][0] = made


remove0 = Remove0()


def clean(x: Any) -> Variable:
    """Return a sparse matrix with its values in order and no zero among them.

    Parameters
    ----------
    x : sparse matrix
        csr or csc.

    Returns
    -------
    SparseVariable
        The same matrix. The gradient is regular.

    See Also
    --------
    theano.sparse.remove0 : The matrix without stored zeros.
    theano.sparse.ensure_sorted_indices : The matrix with the values of each row (csr) or column (csc) in order.
    theano.sparse.EnsureSortedIndices : The matrix with the values of each row (csr) or column (csc) in order.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> clean(sp.csr_matrix(([0.0, 1.0], ([0, 0], [0, 1])))).eval().nnz
    1
    """
    return ensure_sorted_indices(remove0(x))


ops.gather(globals(), "transpose csm_data sp_ones_like sp_zeros_like sampled_at stored_values with_values values_at")

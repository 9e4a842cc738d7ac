"""Elementwise operations of sparse matrices with sparse and dense ones: sums, products, scalings, reductions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.sparse.conversion import SparseFromDense, dense_from_sparse
from theano.sparse.structure import (
    compressed,
    places,
    rebuilt,
    sampled_at,
    sp_zeros_like,
    stored_values,
    transpose,
    values_at,
    with_values,
)
from theano.sparse.type import SparseType, continuous_dtypes, ops
from theano.sparse.variable import as_sparse_variable, is_sparse_variable, value_of
from theano.tensor.basic import alloc
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import cast as tensor_cast
from theano.tensor.type import TensorType


def operand(x: Any) -> Any:
    """Return `x` as a variable: sparse for sparse matrices, else a tensor."""
    if isinstance(x, Variable):
        return x if isinstance(x.type, (SparseType, TensorType)) else as_tensor_variable(x)
    return as_sparse_variable(x) if scipy.sparse.issparse(x) else as_tensor_variable(x)


def operands(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands as variables, at least one of them sparse.

    Raises
    ------
    TypeError
        If both are dense.
    """
    x, y = operand(x), operand(y)
    if not (is_sparse_variable(x) or is_sparse_variable(y)):
        raise TypeError(f"sparse.{name}: at least one of the matrices must be sparse, got {x.type} and {y.type}")
    return x, y


def like_operand(x: Any, g: Any) -> Any:
    """Return the gradient `g` of an operand in its dtype, or as it is if that is discrete."""
    if g.dtype == x.dtype or x.dtype not in continuous_dtypes:
        return g
    return g.astype(x.dtype) if is_sparse_variable(g) else tensor_cast(g, x.dtype)


def check_same_shape(node: Apply, x: Any, y: Any) -> None:
    if x.shape != y.shape:
        raise ValueError(f"{node.op}: matrices of different shapes, {x.shape} and {y.shape}")


class OfTwo(Op):
    """Base class of operations on a sparse matrix and another one: rank, formats and shape of the result."""

    __props__: tuple[str, ...] = ()

    def __str__(self) -> str:
        return type(self).__name__

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


class AddSS(OfTwo):
    """The sum of two sparse matrices, in the format of the first. The gradient is regular.

    See Also
    --------
    theano.sparse.AddSD : The sum of a sparse and a dense matrix, dense. The gradient of the sparse one is structured.
    theano.sparse.AddSSData : The sum of two sparse matrices that store values at the same places.
    theano.sparse.add : Return the sum of two matrices, at least one of which is sparse.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> total = add_s_s(sp.csr_matrix([[0.0, 2.0]]), sp.csc_matrix([[1.0, 1.0]]))
    >>> total.type, total.eval().toarray()
    (Sparse[float64, csr], array([[1., 3.]]))
    """

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = map(as_sparse_variable, (x, y))
        return Apply(self, [x, y], [SparseType(dtype=scal.upcast(x.type.dtype, y.type.dtype), format=x.type.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        check_same_shape(node, x, y)
        output_storage[0][0] = value_of(x + y, node.outputs[0].type)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [like_operand(x, grads[0]) for x in inputs]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        known = [p for p in eval_points if p is not None]
        return [None if not known else known[0] if len(known) == 1 else self(*known)]


add_s_s = AddSS()


class AddSSData(OfTwo):
    """The sum of two sparse matrices that store values at the same places: that of the values. The gradient is structured.

    That the places are the same is not checked, but for their number.

    See Also
    --------
    theano.sparse.add : Return the sum of two matrices, at least one of which is sparse.
    theano.sparse.AddSD : The sum of a sparse and a dense matrix, dense. The gradient of the sparse one is structured.
    theano.sparse.add_s_s_data : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = sp.csr_matrix([[0.0, 2.0]])
    >>> add_s_s_data(x, 10 * x).eval().toarray()
    array([[ 0., 22.]])
    """

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = (compressed(v, "add_s_s_data") for v in (x, y))
        if x.type.dtype != y.type.dtype or x.type.format != y.type.format:
            raise NotImplementedError(f"add_s_s_data takes matrices of one dtype and format, got {x.type} and {y.type}")
        return Apply(self, [x, y], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        check_same_shape(node, x, y)
        if x.indptr[-1] != y.indptr[-1]:
            raise ValueError(f"add_s_s_data: {x.indptr[-1]} and {y.indptr[-1]} stored values")
        output_storage[0][0] = rebuilt(x, x.data[: x.indptr[-1]] + y.data[: y.indptr[-1]])

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [like_operand(x, grads[0]) for x in inputs]


add_s_s_data = AddSSData()


class AddSD(OfTwo):
    """The sum of a sparse and a dense matrix, dense. The gradient of the sparse one is structured.

    See Also
    --------
    theano.sparse.AddSSData : The sum of two sparse matrices that store values at the same places.
    theano.sparse.AddSS : The sum of two sparse matrices, in the format of the first. The gradient is regular.
    theano.sparse.StructuredAddSV : A sparse matrix with an element of a vector added to the stored values of each column.
        The gradient is structured.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> add_s_d(sp.csr_matrix([[0.0, 2.0]]), [[1.0, 1.0]]).eval()
    array([[1., 3.]])
    """

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = as_sparse_variable(x), as_tensor_variable(y)
        if y.type.ndim != 2:
            raise TypeError(
                f"the sum of a sparse matrix and a tensor takes a matrix, got {y.type}; "
                "sparse.structured_add adds a number to the stored values"
            )
        dtype = scal.upcast(x.type.dtype, y.type.dtype)
        return Apply(self, [x, y], [TensorType(dtype, y.type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        check_same_shape(node, x, y)
        out = y.astype(node.outputs[0].type.dtype)
        if x.format in ("csr", "csc"):
            np.add.at(out, places(x), x.data[: x.indptr[-1]])
        else:
            out += x.toarray()
        output_storage[0][0] = out

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        return [like_operand(x, sampled_at(x, gz)), like_operand(y, gz)]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[1]]


add_s_d = AddSD()


class _WithVector(OfTwo):
    """Base class of what combines the stored values of each column with an element of a vector."""

    combine: Callable[[Any, Any], Any]

    def make_node(self, x: Any, y: Any) -> Apply:
        return _with_vector(self, x, y)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        values = type(self).combine(x.data[: x.indptr[-1]], _of_columns(x, y))
        output_storage[0][0] = value_of(rebuilt(x, values), node.outputs[0].type)


class StructuredAddSV(_WithVector):
    """A sparse matrix with an element of a vector added to the stored values of each column. The gradient is structured.

    See Also
    --------
    theano.sparse.AddSD : The sum of a sparse and a dense matrix, dense. The gradient of the sparse one is structured.
    theano.sparse.sandbox.sp2.StructuredAddSVCSR : The values of a csr matrix with an element of a vector added to each
        column.
    theano.sparse.structured_add_s_v : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> structured_add_s_v(sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]]), [10.0, 20.0]).eval().toarray()
    array([[ 0., 22.],
           [13.,  0.]])
    """

    combine = operator.add

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        gz = sampled_at(x, gz)
        return [like_operand(x, gz), like_operand(y, sp_sum(gz, axis=0, sparse_grad=True))]


def _with_vector(op: Op, x: Any, y: Any) -> Apply:
    x, y = compressed(x, str(op)), as_tensor_variable(y)
    if y.type.ndim != 1:
        raise TypeError(f"{op} takes a vector, got {y.type}")
    return Apply(op, [x, y], [SparseType(dtype=scal.upcast(x.type.dtype, y.type.dtype), format=x.format)()])


def _of_columns(x: Any, y: np.ndarray, axis: int = 1) -> np.ndarray:
    """For each stored value of `x` the element of `y` for its column, or row."""
    if len(y) != x.shape[axis]:
        raise ValueError(f"a vector of length {len(y)} for the {('rows', 'columns')[axis]} of a matrix of shape {x.shape}")
    return y[places(x)[axis]]


structured_add_s_v = StructuredAddSV()


class MulSS(OfTwo):
    """The elementwise product of two sparse matrices, in the format of the first. The gradient is regular.

    See Also
    --------
    theano.sparse.MulSD : The elementwise product of a sparse matrix and a dense one, or a number: sparse. The gradient is
        regular.
    theano.sparse.MulSV : A sparse matrix with each column multiplied by an element of a vector. The gradient is regular.
    theano.sparse.mul : Return the elementwise product of two matrices, or of a sparse matrix and a number; see `add`.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> product = mul_s_s(sp.csr_matrix([[0.0, 2.0]]), sp.csr_matrix([[5.0, 5.0]])).eval()
    >>> product.toarray(), product.nnz
    (array([[ 0., 10.]]), 1)
    """

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = map(as_sparse_variable, (x, y))
        return Apply(self, [x, y], [SparseType(dtype=scal.upcast(x.type.dtype, y.type.dtype), format=x.type.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        # SciPy would repeat a dimension of 1.
        check_same_shape(node, x, y)
        output_storage[0][0] = value_of(x.multiply(y), node.outputs[0].type)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        return [like_operand(x, mul(y, gz)), like_operand(y, mul(x, gz))]


mul_s_s = MulSS()


class MulSD(OfTwo):
    """The elementwise product of a sparse matrix and a dense one, or a number: sparse. The gradient is regular.

    A dense matrix may be repeated along a dimension that broadcasts.

    See Also
    --------
    theano.sparse.MulSV : A sparse matrix with each column multiplied by an element of a vector. The gradient is regular.
    theano.sparse.MulSS : The elementwise product of two sparse matrices, in the format of the first. The gradient is
        regular.
    theano.sparse.sandbox.sp2.MulSDCSC : The values of a csc matrix times a dense matrix, elementwise.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = sp.csr_matrix([[0.0, 2.0]])
    >>> mul_s_d(x, [[5.0, 5.0]]).eval().toarray(), mul_s_d(x, 3.0).eval().toarray()
    (array([[ 0., 10.]]), array([[0., 6.]]))
    """

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = compressed(x, "mul_s_d"), as_tensor_variable(y)
        if y.type.ndim not in (0, 2):
            raise NotImplementedError(f"mul_s_d takes a matrix or a number, got {y.type}; mul_s_v takes a vector")
        dtype = scal.upcast(x.type.dtype, y.type.dtype)
        return Apply(self, [x, y], [SparseType(dtype=dtype, format=x.type.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        values = x.data[: x.indptr[-1]].astype(node.outputs[0].type.dtype)
        if y.ndim:
            pattern = node.inputs[1].type.broadcastable
            if any(n != m for n, m, b in zip(y.shape, x.shape, pattern) if not b):
                raise ValueError(f"mul_s_d: matrices of different shapes, {x.shape} and {y.shape}")
            y = np.broadcast_to(y, x.shape)[places(x)]
        output_storage[0][0] = value_of(rebuilt(x, np.asarray(values * y)), node.outputs[0].type)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        if not is_sparse_variable(gz):
            gz = sampled_at(x, gz)
        product = mul(gz, x)
        if y.type.ndim == 0:
            gy = sp_sum(product)
        elif y.type.broadcastable == (True, True):
            gy = sp_sum(product).dimshuffle("x", "x")
        elif True in y.type.broadcastable:
            axis = y.type.broadcastable.index(True)
            gy = sp_sum(product, axis=axis).dimshuffle(*(("x", 0) if axis == 0 else (0, "x")))
        else:
            gy = dense_from_sparse(product)
        return [like_operand(x, mul(gz, y)), like_operand(y, gy)]


mul_s_d = MulSD()


class MulSV(_WithVector):
    """A sparse matrix with each column multiplied by an element of a vector. The gradient is regular.

    See Also
    --------
    theano.sparse.mul : Return the elementwise product of two matrices, or of a sparse matrix and a number; see `add`.
    theano.sparse.MulSD : The elementwise product of a sparse matrix and a dense one, or a number: sparse. The gradient is
        regular.
    theano.sparse.sandbox.sp2.MulSVCSR : The values of a csr matrix with each column multiplied by an element of a vector.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> mul_s_v(sp.csr_matrix([[1.0, 2.0], [3.0, 0.0]]), [10.0, 100.0]).eval().toarray()
    array([[ 10., 200.],
           [ 30.,   0.]])
    """

    combine = operator.mul

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        if not is_sparse_variable(gz):
            gz = sampled_at(x, gz)
        return [like_operand(x, mul_s_v(gz, y)), like_operand(y, sp_sum(mul(x, gz), axis=0, sparse_grad=True))]


mul_s_v = MulSV()


class _Scale(OfTwo):
    """Base class of the scalings of a csc matrix: `axis` tells which index of a value picks the factor."""

    axis = 0

    def make_node(self, x: Any, s: Any) -> Apply:
        x = as_sparse_variable(x)
        if x.format != "csc":
            raise ValueError(f"{self} takes a csc matrix, got {x.type}")
        return _with_vector(self, x, s)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, s = inputs
        scaled = x.data[: x.indptr[-1]] * _of_columns(x, s, self.axis)
        output_storage[0][0] = value_of(rebuilt(x, scaled), node.outputs[0].type)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, s), (gz,) = inputs, grads
        scale = col_scale if self.axis == 1 else row_scale
        gz = sampled_at(x, gz)
        # Values at one place, of which each has its own gradient, may be several.
        product = with_values(x, stored_values(x) * values_at(x, gz))
        return [like_operand(x, scale(gz, s)), like_operand(s, sp_sum(product, axis=1 - self.axis, sparse_grad=True))]


class ColScaleCSC(_Scale):
    """A csc matrix with each column multiplied by an element of a vector. The gradient is structured.

    See Also
    --------
    theano.sparse.RowScaleCSC : A csc matrix with each row multiplied by an element of a vector. The gradient is
        structured.
    theano.sparse.col_scale : Return a sparse matrix with each column multiplied by an element of a vector.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> ColScaleCSC()(sp.csc_matrix([[1.0, 2.0], [3.0, 0.0]]), [10.0, 100.0]).eval().toarray()
    array([[ 10., 200.],
           [ 30.,   0.]])
    """

    axis = 1


class RowScaleCSC(_Scale):
    """A csc matrix with each row multiplied by an element of a vector. The gradient is structured.

    See Also
    --------
    theano.sparse.col_scale : Return a sparse matrix with each column multiplied by an element of a vector.
    theano.sparse.ColScaleCSC : A csc matrix with each column multiplied by an element of a vector. The gradient is
        structured.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> RowScaleCSC()(sp.csc_matrix([[1.0, 2.0], [3.0, 0.0]]), [10.0, 100.0]).eval().toarray()
    array([[ 10.,  20.],
           [300.,   0.]])
    """

    axis = 0


_col_scale_csc = ColScaleCSC()
_row_scale_csc = RowScaleCSC()


def col_scale(x: Any, s: Any) -> Variable:
    """Return a sparse matrix with each column multiplied by an element of a vector.

    Parameters
    ----------
    x : sparse matrix
        csr or csc.
    s : vector
        As long as there are columns.

    Returns
    -------
    SparseVariable
        In the format of `x`. The gradient is structured.

    See Also
    --------
    theano.sparse.row_scale : Return a sparse matrix with each row multiplied by an element of a vector.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> col_scale(sp.csr_matrix([[1.0, 2.0]]), [10.0, 100.0]).eval().toarray()
    array([[ 10., 200.]])
    """
    x = compressed(x, "col_scale")
    return _col_scale_csc(x, s) if x.format == "csc" else transpose(_row_scale_csc(transpose(x), s))


def row_scale(x: Any, s: Any) -> Variable:
    """Return a sparse matrix with each row multiplied by an element of a vector.

    Parameters
    ----------
    x : sparse matrix
        csr or csc.
    s : vector
        As long as there are rows.

    Returns
    -------
    SparseVariable
        In the format of `x`. The gradient is structured.

    See Also
    --------
    theano.sparse.col_scale : Return a sparse matrix with each column multiplied by an element of a vector.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> row_scale(sp.csr_matrix([[1.0], [2.0]]), [10.0, 100.0]).eval().toarray()
    array([[ 10.],
           [200.]])
    """
    return transpose(col_scale(transpose(x), s))


class Neg(OfTwo):
    """The negative of a sparse matrix. The gradient is regular.

    See Also
    --------
    theano.sparse.neg : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> neg(sp.csr_matrix([[0.0, 2.0]])).eval().data.tolist()
    [-2.0]
    """

    def __str__(self) -> str:
        return "Sparse" + type(self).__name__

    def make_node(self, x: Any) -> Apply:
        x = as_sparse_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = -inputs[0]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [-grads[0]]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else -eval_points[0]]


neg = Neg()


def add(x: Any, y: Any) -> Variable:
    """Return the sum of two matrices, at least one of which is sparse.

    Parameters
    ----------
    x : matrix
        Of shape (rows, columns).
    y : matrix
        Of the shape of `x`.

    Returns
    -------
    Variable
        Sparse, in the format of `x`, if both are sparse; else dense. The gradient is regular for two sparse matrices,
        structured for a sparse one beside a dense one.

    Raises
    ------
    TypeError
        If both are dense.

    See Also
    --------
    theano.sparse.mul : Return the elementwise product of two matrices, or of a sparse matrix and a number; see `add`.
    theano.sparse.sub : Return the difference of two matrices, at least one of which is sparse; see `add`.
    theano.sparse.AddSS : The sum of two sparse matrices, in the format of the first. The gradient is regular.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csr_matrix([[0.0, 2.0]])
    >>> add(a, a).type, add(a, [[1.0, 1.0]]).eval()
    (Sparse[float64, csr], array([[1., 3.]]))
    """
    x, y = operands("add", x, y)
    if is_sparse_variable(x):
        return (add_s_s if is_sparse_variable(y) else add_s_d)(x, y)
    return add_s_d(y, x)


def sub(x: Any, y: Any) -> Variable:
    """Return the difference of two matrices, at least one of which is sparse; see :func:`add`.

    Parameters
    ----------
    x, y : matrix
        At least one of them sparse.

    Returns
    -------
    Variable
        Sparse or dense, as for :func:`add`.

    See Also
    --------
    add : Return the sum of two matrices, at least one of which is sparse.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csr_matrix([[0.0, 2.0]])
    >>> sub(a, a * 0.5).eval().toarray()
    array([[0., 1.]])
    """
    x, y = operands("sub", x, y)
    return add(x, -y)


def mul(x: Any, y: Any) -> Variable:
    """Return the elementwise product of two matrices, or of a sparse matrix and a number; see :func:`add`.

    Parameters
    ----------
    x, y : matrix or number
        At least one of them sparse; a number may be 0-d.

    Returns
    -------
    SparseVariable
        In the format of the first that is sparse. The gradient is regular.

    See Also
    --------
    dot : Return the product of two matrices, or a matrix and a vector, at least one of which is sparse.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> mul(sp.csr_matrix([[0.0, 2.0]]), [[3.0, 3.0]]).eval().toarray()
    array([[0., 6.]])
    """
    x, y = operands("mul", x, y)
    if is_sparse_variable(x):
        return (mul_s_s if is_sparse_variable(y) else mul_s_d)(x, y)
    return mul_s_d(y, x)


class SpSum(Op):
    """The sum of a sparse matrix along an axis, or of all of it: dense.

    Parameters
    ----------
    axis : {0, 1}, optional
        Along which axes; None for all of them.
    sparse_grad : bool
        Whether the gradient is structured, else regular.

    See Also
    --------
    theano.sparse.sp_sum : Return the sum of a sparse matrix along an axis.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x = sp.csr_matrix([[1.0, 2.0], [3.0, 0.0]])
    >>> SpSum(axis=0)(x).eval(), SpSum(axis=1)(x).eval(), float(SpSum()(x).eval())
    (array([4., 2.]), array([3., 3.]), 6.0)
    """

    __props__ = ("axis", "sparse_grad")

    def __init__(self, axis: int | None = None, sparse_grad: bool = True) -> None:
        if axis not in (None, 0, 1):
            raise ValueError(f"Illegal value for self.axis: {axis!r}, it must be None, 0 or 1")
        self.axis = axis
        self.sparse_grad = sparse_grad

    def __str__(self) -> str:
        return f"{type(self).__name__}{{axis={self.axis}}}"

    def make_node(self, x: Any) -> Apply:
        x = as_sparse_variable(x)
        pattern = () if self.axis is None else (False,)
        return Apply(self, [x], [TensorType(x.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        dtype = node.outputs[0].type.dtype
        # SciPy's own `sum` may add up, in the matrix itself, values that are stored at one place.
        if self.axis is None:
            summed = x.data.sum(dtype=dtype) if x.format == "bsr" else x.data[: x.indptr[-1]].sum(dtype=dtype)
        else:
            ones = np.ones(x.shape[self.axis], dtype=dtype)
            summed = (x if self.axis == 1 else x.T) @ ones
        output_storage[0][0] = np.asarray(summed, dtype=dtype)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        if x.dtype not in continuous_dtypes:
            return [sp_zeros_like(x.astype(config.floatX))]
        spread = gz.dimshuffle(*{None: ("x", "x"), 0: ("x", 0), 1: (0, "x")}[self.axis])
        if self.sparse_grad:
            return [sampled_at(x, spread)]
        return [SparseFromDense(x.format)(alloc(spread, x.shape[0], x.shape[1]))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else self(eval_points[0])]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [() if self.axis is None else (shapes[0][1 - self.axis],)]


def sp_sum(x: Any, axis: int | None = None, sparse_grad: bool = False) -> Variable:
    """Return the sum of a sparse matrix along an axis.

    Parameters
    ----------
    x : sparse matrix
        Of any format.
    axis : {0, 1}, optional
        By default all is summed.
    sparse_grad : bool
        Whether the gradient is structured; else it is regular. It is a sparse matrix in the format of `x` either way.

    Returns
    -------
    TensorVariable
        Dense: a vector, or a 0-d tensor without an axis, in the dtype of `x`.

    Raises
    ------
    ValueError
        If `axis` is none of 0, 1 and None.

    See Also
    --------
    theano.tensor.sum : Return the sum of `input` over `axis`.
    theano.sparse.SpSum : The sum of a sparse matrix along an axis, or of all of it: dense.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> sp_sum(sp.csr_matrix([[1.0, 2.0]]), axis=1).eval()
    array([3.])
    """
    return SpSum(axis, sparse_grad)(x)


ops.gather(globals(), "add sub mul neg sp_sum mul_s_d add_s_s")

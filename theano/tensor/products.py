"""Products over shared dimensions: dot, tensordot, outer, and their batched forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.printing.pretty import OperatorPrinter, pprint, special
from theano.tensor.conversion import as_tensor_variable, get_scalar_constant_value
from theano.tensor.math import discrete_dtypes, mul
from theano.tensor.shaping import patternbroadcast
from theano.tensor.static_shape import check_batches, check_product
from theano.tensor.type import TensorType, ops, tensor_type


class Dot(Op):
    """The product of two vectors or matrices, over the last dimension of the first and the first of the second.

    See Also
    --------
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.blas.Gemm : ``b * z + a * dot(x, y)`` for matrices `x`, `y`, `z` and scalars `a`, `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Dot()(T.constant([[1, 2], [3, 4]]), T.constant([10, 1])).eval().tolist()
    [12, 34]
    >>> Dot()(T.dmatrix(), T.dmatrix()).type
    TensorType(float64, matrix)
    """

    __props__ = ()
    _f16_ok = True

    def __str__(self) -> str:
        return "dot"

    def make_node(self, *inputs: Any) -> Apply:
        variables = [as_tensor_variable(x) for x in inputs]
        if len(variables) != 2:
            raise TypeError(f"theano.tensor.Dot: 2 arguments required, {len(variables)} given")
        for i, x in enumerate(variables):
            if x.type.ndim not in (1, 2):
                raise TypeError(
                    f"theano.tensor.Dot: input {i} (0-indexed) must have ndim of 1 or 2, {x.type.ndim} given. "
                    "Consider calling theano.tensor.dot instead."
                )
        x, y = variables
        check_product(x, y, x.type.ndim - 1, 0)
        pattern = x.type.broadcastable[:-1] + (y.type.broadcastable[1:] if y.type.ndim == 2 else ())
        return Apply(self, variables, [tensor_type(scal.upcast(x.type.dtype, y.type.dtype), pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        # Equal types let NumPy hand the product to BLAS.
        dtype = node.outputs[0].type.dtype
        x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
        output_storage[0][0] = np.asarray(np.dot(x, y))

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, y = inputs
        (gz,) = grads
        if x.type.dtype in discrete_dtypes and y.type.dtype in discrete_dtypes:
            return [v.zeros_like(dtype=config.floatX) for v in inputs]
        if gz.type.ndim == 0:
            gx, gy = gz * y, gz * x
        elif x.type.ndim == 2 and y.type.ndim == 1:
            gx, gy = outer(gz, y), dot(x.T, gz)
        elif x.type.ndim == 1 and y.type.ndim == 2:
            gx, gy = dot(gz, y.T), outer(x.T, gz)
        else:
            gx, gy = dot(gz, y.T), dot(x.T, gz)
        # A dimension that broadcasts here meets one that does not in the other operand.
        if gx.type.broadcastable != x.type.broadcastable:
            gx = patternbroadcast(gx, x.type.broadcastable)
        if gy.type.broadcastable != y.type.broadcastable:
            gy = patternbroadcast(gy, y.type.broadcastable)
        return [gx, gy]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None and eval_points[1] is None:
            return [None]
        terms = []
        if eval_points[0] is not None:
            terms.append(self(eval_points[0], inputs[1]))
        if eval_points[1] is not None:
            terms.append(self(inputs[0], eval_points[1]))
        return [terms[0] + terms[1] if len(terms) == 2 else terms[0]]

    def static_shape(self, node: Apply, shape_of: Any) -> Sequence[int | None]:
        (x, y), unknown = node.inputs, (None, None)
        return [*(shape_of(x) or unknown[: x.type.ndim])[:-1], *(shape_of(y) or unknown[: y.type.ndim])[1:]]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x_shape, y_shape = in_shapes
        return [tuple(x_shape[:-1]) + (tuple(y_shape[1:]) if len(y_shape) == 2 else ())]


_dot = Dot()
pprint.assign(_dot, OperatorPrinter(special["middle_dot"], -1, "left"))


def dot(a: Any, b: Any):
    """Return the product of `a` and `b`, as ``numpy.dot``.

    Parameters
    ----------
    a, b : tensor_like
        Vectors and matrices are multiplied; with a scalar it is the elementwise product; of more dimensions the last
        of `a` and the second to last of `b` are summed over.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    See Also
    --------
    theano.tensor.tensordot : Return the sum of products of `a` and `b` over the given axes, as ``numpy.tensordot``.
    theano.sparse.dot : Return the product of two matrices, or a matrix and a vector, at least one of which is sparse.
    theano.tensor.batched_dot : Return the product of each pair of elements along the first dimension of `a` and `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.dot(T.dmatrix(), T.dvector()).type
    TensorType(float64, vector)
    """
    a, b = _operand(a), _operand(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim > 2 or b.ndim > 2:
        return tensordot(a, b, [[a.ndim - 1], [max(0, b.ndim - 2)]])
    if not (isinstance(a.type, TensorType) and isinstance(b.type, TensorType)):
        # Another kind of matrix knows how to multiply itself.
        return a.__dot__(b) if not isinstance(a.type, TensorType) else b.__rdot__(a)
    return _dot(a, b)


def _operand(x: Any) -> Any:
    if isinstance(x, Variable) and not isinstance(x.type, TensorType) and hasattr(x, "__dot__"):
        return x
    return as_tensor_variable(x)


def matmul(a: Any, b: Any):
    """Return the matrix product of `a` and `b` as ``a @ b`` of NumPy, with all dimensions but the last two as batch.

    Parameters
    ----------
    a, b : tensor_like
        Vectors, matrices, or batches of matrices.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    Raises
    ------
    ValueError
        If one of them is a scalar, or the batch dimensions differ in number.

    See Also
    --------
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.batched_dot : Return the product of each pair of elements along the first dimension of `a` and `b`.
    theano.tensor.tensordot : Return the sum of products of `a` and `b` over the given axes, as ``numpy.tensordot``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.matmul(T.dtensor3("a"), T.dtensor3("b")).ndim
    3
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: an operand has no dimension")
    if a.ndim <= 2 and b.ndim <= 2:
        return dot(a, b)
    if b.ndim <= 2:
        return tensordot(a, b, [[a.ndim - 1], [0]])
    if a.ndim == b.ndim == 3:
        return batched_dot(a, b)
    if a.ndim <= 2:
        summed = tensordot(a, b, [[a.ndim - 1], [b.ndim - 2]])
        batch = list(range(a.ndim - 1, summed.ndim - 1))
        return summed.dimshuffle([*batch, *range(a.ndim - 1), summed.ndim - 1])
    if a.ndim != b.ndim:
        raise ValueError(f"matmul: operands of {a.ndim} and {b.ndim} dimensions")
    lengths = [a.shape[i] for i in range(a.ndim - 2)]
    left = a.reshape([-1, a.shape[-2], a.shape[-1]], ndim=3)
    right = b.reshape([-1, b.shape[-2], b.shape[-1]], ndim=3)
    return batched_dot(left, right).reshape([*lengths, a.shape[-2], b.shape[-1]], ndim=a.ndim)


def outer(x: Any, y: Any):
    """Return the products of every element of `x` with every one of `y`; both are flattened if they are no vectors.

    Parameters
    ----------
    x : tensor_like
        Flattened to length m.
    y : tensor_like
        Flattened to length n; the result has the shape (m, n).

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.slinalg.kron : Return the Kronecker product of `a` and `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.outer([1, 2], [3, 4]).eval()
    array([[3, 4],
           [6, 8]])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if x.ndim != 1:
        x = x.flatten()
    if y.ndim != 1:
        y = y.flatten()
    return dot(x.dimshuffle(0, "x"), y.dimshuffle("x", 0))


def tensordot(a: Any, b: Any, axes: Any = 2):
    """Return the sum of products of `a` and `b` over the given axes, as ``numpy.tensordot``.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    b : tensor_like
        As long as `a` along the axes that are summed over.
    axes : int, or pair of int or sequences of int
        An integer ``i`` stands for the last ``i`` dimensions of `a` and the first ``i`` of `b`.

    Returns
    -------
    tensor
        The other dimensions of `a`, then those of `b`.

    Raises
    ------
    ValueError
        If the axes do not fit.

    See Also
    --------
    theano.sparse.dot : Return the product of two matrices, or a matrix and a vector, at least one of which is sparse.
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.batched_dot : Return the product of each pair of elements along the first dimension of `a` and `b`.

    Notes
    -----
    Both are transposed and reshaped to matrices and multiplied by one matrix product.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensordot(T.ones((2, 3)), T.ones((3, 4)), 1).eval().shape
    (2, 4)
    """
    return _tensordot(a, b, axes, batched=False)


def batched_tensordot(x: Any, y: Any, axes: Any = 2):
    """Return :func:`tensordot` of each pair of elements along the first dimension of `x` and `y`.

    Parameters
    ----------
    x : tensor_like
        Of at least one dimension, the first of which counts the pairs.
    y : tensor_like
        As long as `x` along the first dimension.
    axes : int, or pair of int or sequences of int
        An integer ``i`` stands for the last ``i`` dimensions of `x` and the first ``i`` of `y` after the batch one.
        Axes are counted with the batch dimension.

    Returns
    -------
    TensorVariable
        The first dimension is that of `x` and `y`.

    See Also
    --------
    theano.tensor.tensordot : Return the sum of products of `a` and `b` over the given axes, as ``numpy.tensordot``.
    theano.tensor.batched_dot : Return the product of each pair of elements along the first dimension of `a` and `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.batched_tensordot(T.dtensor3("x"), T.dtensor3("y"), axes=[1, 2]).ndim
    3
    """
    return _tensordot(x, y, axes, batched=True)


def _axis_list(axes: Any) -> list[int]:
    if isinstance(axes, Variable):
        axes = getattr(axes, "data", None) if hasattr(axes, "data") else get_scalar_constant_value(axes)
    return [int(_plain(a)) for a in np.atleast_1d(axes)] if not isinstance(axes, (list, tuple, range)) else [
        int(_plain(a)) for a in axes
    ]


def _plain(a: Any) -> Any:
    return get_scalar_constant_value(a) if isinstance(a, Variable) else a


def _checked_axes(name: str, x: Any, axes: list[int], batched: bool) -> list[int]:
    result = []
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            raise ValueError(f"axis {a} of {name} is out of bounds: it has {x.ndim} dimensions")
        a %= x.ndim
        if batched and a == 0:
            raise ValueError(f"axes to sum over must not contain the batch axis (axis 0 of {name})")
        result.append(a)
    if len(set(result)) != len(result):
        raise ValueError(f"axes to sum over contain an axis of {name} twice: {axes}")
    return result


def _tensordot(a: Any, b: Any, axes: Any, batched: bool):
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    batch = int(batched)
    if a.ndim < batch or b.ndim < batch:
        raise TypeError("a batched product needs operands of at least one dimension")
    if isinstance(axes, Variable):
        axes = axes.data if hasattr(axes, "data") else get_scalar_constant_value(axes)
    if not isinstance(axes, (list, tuple)) and np.ndim(axes) == 0:
        count = int(axes)
        if count != axes or count < 0:
            raise ValueError(f"axes should be a natural number or a pair of axis lists, got {axes}")
        for name, x in (("a", a), ("b", b)):
            if count > x.ndim - batch:
                raise ValueError(f"axes {count} is larger than the {x.ndim - batch} dimensions of {name}")
        a_axes, b_axes = list(range(a.ndim - count, a.ndim)), list(range(batch, batch + count))
    else:
        axes = list(axes)
        if len(axes) != 2:
            raise ValueError(f"axes should be an integer or a list/tuple of length 2, got {axes}")
        a_axes, b_axes = (_axis_list(part) for part in axes)
        if len(a_axes) != len(b_axes):
            raise ValueError(f"axes elements must have the same length, got {a_axes} and {b_axes}")
        a_axes, b_axes = _checked_axes("a", a, a_axes, batched), _checked_axes("b", b, b_axes, batched)
    if not batched and (a.ndim == 0 or b.ndim == 0):
        return a * b
    a_rest = [i for i in range(batch, a.ndim) if i not in a_axes]
    b_rest = [i for i in range(batch, b.ndim) if i not in b_axes]
    left = _as_matrices(a, batch, a_rest, a_axes)
    right = _as_matrices(b, batch, b_axes, b_rest)
    product = batched_dot(left, right) if batched else dot(left, right)
    pattern = (
        list(a.type.broadcastable[:batch])
        + [a.type.broadcastable[i] for i in a_rest]
        + [b.type.broadcastable[i] for i in b_rest]
    )
    if product.ndim != len(pattern) or len(a_rest) != 1 or len(b_rest) != 1:
        lengths = (
            [a.shape[i] for i in range(batch)] + [a.shape[i] for i in a_rest] + [b.shape[i] for i in b_rest]
        )
        product = product.reshape(lengths, ndim=len(lengths))
    if product.type.broadcastable != tuple(pattern) and not batched:
        product = patternbroadcast(product, pattern)
    return product


def _as_matrices(x: Any, batch: int, rows: list[int], columns: list[int]):
    """Return `x` as a (batch of) matrix whose rows run over the axes `rows` and whose columns over `columns`."""
    order = list(range(batch)) + rows + columns
    if order != list(range(x.ndim)):
        moved = x.dimshuffle(order)
    else:
        moved = x
    if len(rows) == 1 and len(columns) == 1:
        return moved
    lengths = [x.shape[i] for i in range(batch)] + [_product(x, rows), _product(x, columns)]
    return moved.reshape(lengths, ndim=batch + 2)


def _product(x: Any, axes: list[int]):
    if not axes:
        return 1
    return mul(*[x.shape[i] for i in axes]) if len(axes) > 1 else x.shape[axes[0]]


def batched_dot(a: Any, b: Any):
    """Return the product of each pair of elements along the first dimension of `a` and `b`.

    Parameters
    ----------
    a : tensor of shape (batch, rows, inner), (batch, inner) or (batch,)
        The left factors.
    b : tensor of shape (batch, inner, columns), (batch, inner) or (batch,)
        The right factors.

    Returns
    -------
    tensor of shape (batch, rows, columns), less the dimensions that are absent

    Raises
    ------
    TypeError
        If one of them has no dimension.

    See Also
    --------
    theano.tensor.matmul : Return the matrix product of `a` and `b` as ``a @ b`` of NumPy, with all dimensions but the
        last two as batch.
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.batched_tensordot : Return `tensordot` of each pair of elements along the first dimension of `x` and
        `y`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.batched_dot(T.dtensor3("a"), T.dtensor3("b")).ndim
    3
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim == 0:
        raise TypeError("a must have at least one (batch) axis")
    if b.ndim == 0:
        raise TypeError("b must have at least one (batch) axis")
    if a.ndim == 1:
        return a.dimshuffle([0, *["x"] * (b.ndim - 1)]) * b
    if b.ndim == 1:
        return a * b.dimshuffle([0, *["x"] * (a.ndim - 1)])
    if a.ndim > 3 or b.ndim > 3:
        return batched_tensordot(a, b, [[a.ndim - 1], [max(1, b.ndim - 2)]])
    check_batches(a, b)
    return ops.BatchedDot()(a, b)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
):
    """Return the covariance matrix of variables, as ``numpy.cov``.

    Parameters
    ----------
    m : vector or matrix
        A variable in each row, and an observation in each column.
    y : vector or matrix, optional
        More variables.
    rowvar : bool
        False if variables are in columns.
    bias : bool
        Whether to divide by the number of observations instead of one less.
    ddof : int, optional
        Divide by the number of observations minus this.
    fweights, aweights : None
        Not supported.

    Returns
    -------
    TensorVariable
        A matrix of floats.

    Raises
    ------
    NotImplementedError
        If weights are given.
    ValueError
        If `ddof` is no integer.
    TypeError
        If an input has more than two dimensions.

    See Also
    --------
    theano.tensor.var : Return the variance of `input` over `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).eval()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if fweights is not None or aweights is not None:
        raise NotImplementedError("weights of observations are not supported by cov")
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be an integer")
    variables = [as_tensor_variable(x) for x in (m, y) if x is not None]
    for i, x in enumerate(variables):
        if x.ndim > 2:
            raise TypeError("cov takes vectors and matrices")
        if x.ndim < 2:
            variables[i] = x.dimshuffle("x", *range(x.ndim)) if x.ndim else x.dimshuffle("x", "x")
        elif not rowvar:
            variables[i] = x.T
    x = variables[0] if len(variables) == 1 else ops.concatenate(variables, axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    x = x - ops.mean(x, axis=1, keepdims=True)
    count = ops.cast(x.shape[1] - ddof, x.dtype)
    return dot(x, ops.conj(x.T)) / count

"""Linear algebra with NumPy: inverse, determinant, decompositions, norms, tensor equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gradient_types import DisconnectedType
from theano.tensor import basic as tensor
from theano.tensor import nlinalg_gradients as gradients
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.decompositions import SVD, Eig, Eigh, EighGrad, QRFull, QRIncomplete, eig, eigh, qr, svd, zero_disconnected
from theano.tensor.math import abs_, minimum, sqrt
from theano.tensor.matrix_types import as_matrix, float_dtype_of
from theano.tensor.products import Dot, dot
from theano.tensor.shapes import Shape_i
from theano.tensor.slinalg import solve
from theano.tensor.type import TensorType, ops


class MatrixPinv(Op):
    """The Moore-Penrose pseudo-inverse of a matrix.

    The input is a matrix of any shape ``(m, n)``, the output of shape ``(n, m)``, of floats.

    See Also
    --------
    theano.tensor.nlinalg.lstsq : The least-squares solution of a linear system: ``lstsq()(x, y, rcond)``, as
        ``numpy.linalg.lstsq``.
    theano.tensor.slinalg.solve : Return the `x` with ``dot(a, x) == b``.
    theano.tensor.nlinalg.inv : The inverse of a square matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.pinv([[2.0], [0.0]]).eval()
    array([[0.5, 0. ]])
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "pinv")
        return Apply(self, [x], [TensorType(float_dtype_of(x), x.type.broadcastable[::-1])()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.linalg.pinv(inputs[0]).astype(node.outputs[0].type.dtype, copy=False)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        # The differential of the pseudo-inverse Z of X, of constant rank, is
        # -Z dX Z + Z Z' dX' (I - X Z) + (I - Z X) dX' Z' Z.
        (x,), (z,), (gz,) = inputs, outputs, grads
        xz, zx = dot(x, z), dot(z, x)
        gx = (
            -matrix_dot(z, gz.T, z)
            + matrix_dot(z, z.T, gz, tensor.identity_like(xz) - xz)
            + matrix_dot(tensor.identity_like(zx) - zx, gz, z.T, z)
        )
        return [gx.T]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x,), (point,) = inputs, eval_points
        return [None] if point is None else [gradients.pinv_direction(x, self(x), point)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [tuple(reversed(in_shapes[0]))]


pinv = MatrixPinv()


class MatrixInverse(Op):
    """The inverse of a square matrix.

    The input is a square matrix, the output a matrix of its shape, of floats. A singular matrix is an error when
    the function runs: ``numpy.linalg.LinAlgError``.

    See Also
    --------
    theano.tensor.nlinalg.MatrixPinv : The Moore-Penrose pseudo-inverse of a matrix.
    theano.tensor.nlinalg.inv : An instance of it.

    Notes
    -----
    A product with it is rewritten to :func:`theano.tensor.slinalg.solve`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.matrix_inverse([[2.0, 0.0], [0.0, 4.0]]).eval()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "matrix_inverse")
        return Apply(self, [x], [TensorType(float_dtype_of(x), x.type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.linalg.inv(inputs[0]).astype(node.outputs[0].type.dtype, copy=False)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (inverse,), (gz,) = outputs, grads
        return [-matrix_dot(inverse, gz.T, inverse).T]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x,), (point,) = inputs, eval_points
        if point is None:
            return [None]
        inverse = self(x)
        return [-matrix_dot(inverse, point, inverse)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return in_shapes


matrix_inverse = MatrixInverse()
inv = matrix_inverse


def matrix_dot(*args: Any):
    """Return the product of all arguments, in their order.

    Parameters
    ----------
    *args : matrix
        Two or more.

    Returns
    -------
    TensorVariable
        The product.

    Raises
    ------
    ValueError
        If there is no matrix.

    See Also
    --------
    theano.tensor.nlinalg.matrix_power : Return the square matrix `M` to the integer power `n`; a negative one is that of
        the inverse.
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.matrix_dot(T.eye(2), 2 * T.eye(2), 3 * T.eye(2)).eval()
    array([[6., 0.],
           [0., 6.]])
    """
    if not args:
        raise ValueError("matrix_dot needs at least one matrix")
    result = args[0]
    for a in args[1:]:
        result = dot(result, a)
    return result


class AllocDiag(Op):
    """The square matrix with a vector on its diagonal.

    See Also
    --------
    theano.tensor.diag : Return the diagonal `k` of `v` if it has two or more dimensions; a matrix with `v` on it if `v`
        is a vector.
    theano.tensor.nlinalg.alloc_diag : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> AllocDiag()(T.constant([1, 2])).eval().tolist()
    [[1, 0], [0, 2]]
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if x.type.ndim != 1:
            raise TypeError(f"AllocDiag only works on vectors, got {x.type}")
        return Apply(self, [x], [TensorType(x.type.dtype, (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        if x.ndim != 1:
            raise TypeError(x)
        output_storage[0][0] = np.diag(x)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [tensor.diagonal(grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0])]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        (length,) = in_shapes[0]
        return [(length, length)]


alloc_diag = AllocDiag()
ExtractDiag = tensor.ExtractDiag
extract_diag = tensor.extract_diag


def diag(x: Any):
    """Return the diagonal of a matrix, or the matrix with a vector on its diagonal.

    Parameters
    ----------
    x : vector or matrix
        Of shape (n,), which gives (n, n), or (rows, columns), which gives the shorter of both.

    Returns
    -------
    TensorVariable
        A vector for a matrix, a matrix for a vector.

    Raises
    ------
    TypeError
        If `x` is neither.

    See Also
    --------
    theano.tensor.diag : Return the diagonal `k` of `v` if it has two or more dimensions; a matrix with `v` on it if `v`
        is a vector.
    theano.tensor.nlinalg.trace : Return the sum of the diagonal of the matrix `X`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.diag(T.eye(2)).eval()
    array([1., 1.])
    """
    x = as_tensor_variable(x)
    if x.type.ndim == 1:
        return alloc_diag(x)
    if x.type.ndim == 2:
        return extract_diag(x)
    raise TypeError(f"diag requires vector or matrix argument, got {x}")


def trace(X: Any):
    """Return the sum of the diagonal of the matrix `X`.

    Parameters
    ----------
    X : matrix
        Of shape (rows, columns).

    Returns
    -------
    TensorVariable
        A scalar.

    See Also
    --------
    theano.tensor.fill_diagonal : Return a copy of `a` with the elements ``a[i, i, ..., i]`` set to `val`.
    theano.tensor.diagonal : Return the diagonal of two axes of `a`, as ``numpy.diagonal``.
    theano.tensor.nlinalg.diag : Return the diagonal of a matrix, or the matrix with a vector on its diagonal.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.trace(T.eye(3)).eval()
    array(3.)
    """
    return extract_diag(X).sum()


class Det(Op):
    """The determinant of a square matrix.

    The input is a square matrix of any dtype; the output is 0-d, of its dtype, float64 for integers.

    See Also
    --------
    theano.tensor.nlinalg.det : An instance of it.
    theano.tensor.slinalg.Cholesky : A triangular square root of a positive definite matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.det([[2.0, 0.0], [0.0, 3.0]]).eval()
    array(6.)
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "det")
        return Apply(self, [x], [TensorType(float_dtype_of(x), ())()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(np.linalg.det(inputs[0]), dtype=node.outputs[0].type.dtype)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (value,), (gz,) = inputs, outputs, grads
        return [gz * value * matrix_inverse(x).T]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x,), (point,) = inputs, eval_points
        return [None] if point is None else [self(x) * trace(dot(matrix_inverse(x), point))]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [()]

    def __str__(self) -> str:
        return "Det"


det = Det()


_zero_disconnected = zero_disconnected


class lstsq(Op):
    """The least-squares solution of a linear system: ``lstsq()(x, y, rcond)``, as ``numpy.linalg.lstsq``.

    Outputs: the solution, the sums of squared residuals, the rank of `x` and its singular values.

    See Also
    --------
    theano.tensor.slinalg.solve : Return the `x` with ``dot(a, x) == b``.
    theano.tensor.nlinalg.MatrixPinv : The Moore-Penrose pseudo-inverse of a matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.constant([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), T.constant([1.0, 3.0, 5.0])
    >>> slope_and_start, residuals, rank, singular = lstsq()(x, y, -1)
    >>> slope_and_start.eval().round(6).tolist(), int(rank.eval())
    ([2.0, 1.0], 2)
    """

    __props__ = ()

    def make_node(self, x: Any, y: Any, rcond: Any) -> Apply:
        x, y, rcond = as_tensor_variable(x), as_tensor_variable(y), as_tensor_variable(rcond)
        dtype = float_dtype_of(x, y)
        vector = TensorType(dtype, (False,))
        solution = TensorType(dtype, (False,) * y.ndim)
        return Apply(self, [x, y, rcond], [solution(), vector(), TensorType("int64", ())(), vector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y, rcond = inputs
        if rcond.size != 1:
            raise np.linalg.LinAlgError(f"rcond must be one number, got an array of shape {rcond.shape}")
        results = np.linalg.lstsq(x, y, rcond.item())
        for out, variable, result in zip(output_storage, node.outputs, results):
            out[0] = np.asarray(result, dtype=variable.type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        (rows, columns), y_shape = in_shapes[0], in_shapes[1]
        # How many residuals there are depends on the rank.
        return [(columns, *y_shape[1:]), (Shape_i(0)(node.outputs[1]),), (), (minimum(rows, columns),)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True, False, True], [True, True, False, False], [False] * 4]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, y, _ = inputs
        return [*gradients.lstsq_gradients(x, y, outputs, grads), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return gradients.direction_from_gradient(self, inputs, eval_points)


def matrix_power(M: Any, n: int):
    """Return the square matrix `M` to the integer power `n`; a negative one is that of the inverse.

    Parameters
    ----------
    M : matrix
        Square.
    n : int
        The power.

    Returns
    -------
    TensorVariable
        A matrix.

    Raises
    ------
    TypeError
        If `n` is not an integer.

    See Also
    --------
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.nlinalg.matrix_dot : Return the product of all arguments, in their order.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.matrix_power(2 * T.eye(2), 3).eval()
    array([[8., 0.],
           [0., 8.]])
    """
    M = as_matrix(M, "matrix_power")
    if not isinstance(n, (int, np.integer)):
        raise TypeError(f"the exponent of matrix_power has to be an integer, got {n!r}")
    if n < 0:
        return matrix_power(matrix_inverse(M), -n)
    if n == 0:
        return tensor.identity_like(M)
    result, square = None, M
    while True:
        if n & 1:
            result = square if result is None else dot(result, square)
        n >>= 1
        if not n:
            return result
        square = dot(square, square)


def norm(x: Any, ord: Any = None):
    """Return the norm of a vector or matrix, as ``numpy.linalg.norm``.

    Parameters
    ----------
    x : vector or matrix
        Of floats or complex numbers.
    ord : None, number, 'fro', 'inf' or '-inf'
        None is the Euclidean norm of all elements.

    Returns
    -------
    TensorVariable
        A scalar.

    Raises
    ------
    ValueError
        If there is no such norm.

    See Also
    --------
    theano.tensor.norm : Return the vector norm of `x` over `axis`: ``sum(abs(x) ** ord) ** (1 / ord)``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.norm(T.constant([3.0, 4.0])).eval()
    array(5.)
    """
    x = as_tensor_variable(x)
    ndim = x.ndim
    if ndim == 0:
        raise ValueError("'axis' entry is out of bounds.")
    if ndim > 2:
        raise NotImplementedError("We don't support norm with ndim > 2")
    if ord is None:
        return sqrt(tensor.sum(abs_(x) ** 2))
    if isinstance(ord, str) and ord in ("inf", "-inf"):
        ord = float(ord)
    if ndim == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order {ord!r} for vectors.")
        return tensor.norm(x, ord)
    if ord == "fro":
        return sqrt(tensor.sum(abs_(x) ** 2))
    if ord in (1, -1):
        sums = tensor.sum(abs_(x), axis=0)
    elif ord in (np.inf, -np.inf):
        sums = tensor.sum(abs_(x), axis=1)
    elif ord in (2, -2):
        sums = svd(x, compute_uv=0)
    else:
        raise ValueError(f"Invalid norm order {ord!r} for matrices.")
    return tensor.max(sums) if ord > 0 else tensor.min(sums)


class TensorInv(Op):
    """The inverse with respect to ``tensordot(a, b, ind)``; see :func:`tensorinv`.

    The input is a tensor of floats whose first `ind` lengths have the product of the others.

    Parameters
    ----------
    ind : int, optional
        How many of the first dimensions are those of the rows.

    See Also
    --------
    theano.tensor.nlinalg.tensorinv : Return the inverse of `a` with respect to ``tensordot(a, b, ind)``, as
        ``numpy.linalg.tensorinv``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> TensorInv(ind=1)(2 * T.eye(4).reshape((4, 2, 2))).eval().shape
    (2, 2, 4)
    """

    __props__ = ("ind",)

    def __init__(self, ind: int = 2) -> None:
        self.ind = int(ind)
        if self.ind <= 0:
            raise ValueError(f"ind must be a positive integer, got {ind}")

    def make_node(self, a: Any) -> Apply:
        a = as_tensor_variable(a)
        return Apply(self, [a], [TensorType(float_dtype_of(a), (False,) * a.ndim)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(np.linalg.tensorinv(inputs[0], self.ind), dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [tuple(in_shapes[0][self.ind :]) + tuple(in_shapes[0][: self.ind])]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [gradients.tensorinv_gradient(inputs[0], outputs[0], grads[0], self.ind)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return gradients.direction_from_gradient(self, inputs, eval_points)


def tensorinv(a: Any, ind: int = 2):
    """Return the inverse of `a` with respect to ``tensordot(a, b, ind)``, as ``numpy.linalg.tensorinv``.

    Parameters
    ----------
    a : tensor_like
        The product of the first `ind` lengths has to be that of the others.
    ind : int
        Number of first dimensions that are summed over.

    Returns
    -------
    TensorVariable
        Of the shape ``a.shape[ind:] + a.shape[:ind]``.

    See Also
    --------
    theano.tensor.nlinalg.tensorsolve : Return the `x` with ``tensordot(a, x, x.ndim) == b``, as
        ``numpy.linalg.tensorsolve``.
    theano.tensor.slinalg.solve : Return the `x` with ``dot(a, x) == b``.
    theano.tensor.nlinalg.TensorInv : The inverse with respect to ``tensordot(a, b, ind)``; see `tensorinv`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.tensorinv(T.eye(6).reshape((6, 2, 3)), 1).eval().shape
    (2, 3, 6)
    """
    return TensorInv(ind)(a)


class TensorSolve(Op):
    """The solution of a tensor equation; see :func:`tensorsolve`.

    The inputs are `a` and `b`, with as many elements in `a` as in `b` times the solution.

    Parameters
    ----------
    axes : sequence of int, optional
        Dimensions of `a` to move to the right before.

    See Also
    --------
    theano.tensor.nlinalg.tensorsolve : Return the `x` with ``tensordot(a, x, x.ndim) == b``, as
        ``numpy.linalg.tensorsolve``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = 2 * T.eye(4).reshape((2, 2, 4)), T.constant([[2.0, 4.0], [6.0, 8.0]])
    >>> TensorSolve()(a, b).eval().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    __props__ = ("axes",)

    def __init__(self, axes: Sequence[int] | None = None) -> None:
        self.axes = None if axes is None else tuple(axes)

    def make_node(self, a: Any, b: Any) -> Apply:
        a, b = as_tensor_variable(a), as_tensor_variable(b)
        pattern = (False,) * (a.ndim - b.ndim)
        return Apply(self, [a, b], [TensorType(float_dtype_of(a, b), pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, b = inputs
        output_storage[0][0] = np.asarray(np.linalg.tensorsolve(a, b, self.axes), dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        a_shape, b_shape = in_shapes
        moved = [axis % len(a_shape) for axis in self.axes or ()]
        lengths = [n for i, n in enumerate(a_shape) if i not in moved] + [a_shape[i] for i in moved]
        return [tuple(lengths[len(b_shape) :])]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        a, b = inputs
        return gradients.tensorsolve_gradients(a, b, outputs[0], grads[0], self.axes)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return gradients.direction_from_gradient(self, inputs, eval_points)


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None):
    """Return the `x` with ``tensordot(a, x, x.ndim) == b``, as ``numpy.linalg.tensorsolve``.

    Parameters
    ----------
    a : tensor of shape ``b.shape + Q``
        With as many rows as columns once it is made a matrix.
    b : tensor_like
        Of any shape.
    axes : sequence of int, optional
        Dimensions of `a` that are moved to the right before.

    Returns
    -------
    tensor of shape Q

    See Also
    --------
    theano.tensor.slinalg.solve : Return the `x` with ``dot(a, x) == b``.
    theano.tensor.nlinalg.tensorinv : Return the inverse of `a` with respect to ``tensordot(a, b, ind)``, as
        ``numpy.linalg.tensorinv``.
    theano.tensor.nlinalg.TensorSolve : The solution of a tensor equation; see `tensorsolve`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.tensorsolve(T.eye(6).reshape((2, 3, 6)), T.ones((2, 3))).eval()
    array([1., 1., 1., 1., 1., 1.])
    """
    return TensorSolve(axes)(a, b)


@local_optimizer([Dot])
def inv_as_solve(node: Any) -> Any:
    """``dot(matrix_inverse(a), b) -> solve(a, b)`` and ``dot(b, matrix_inverse(a)) -> solve(a.T, b.T).T``"""
    left, right = node.inputs
    if left.type.ndim != 2 or right.type.ndim not in (1, 2):
        return False
    if left.owner is not None and isinstance(left.owner.op, MatrixInverse):
        new = solve(left.owner.inputs[0], right)
    elif right.owner is not None and isinstance(right.owner.op, MatrixInverse):
        new = solve(right.owner.inputs[0].T, left.T).T
    else:
        return False
    if new.type != node.outputs[0].type:
        return False
    copy_stack_trace(node.outputs[0], new)
    return [new]


def _register() -> None:
    from theano.tensor.rewriting.registry import register_canonicalize, register_stabilize

    register_canonicalize(inv_as_solve)
    register_stabilize(inv_as_solve)


_register()


ops.gather(globals(), "pinv")

__all__ = [
    "AllocDiag",
    "Det",
    "Eig",
    "Eigh",
    "EighGrad",
    "ExtractDiag",
    "MatrixInverse",
    "MatrixPinv",
    "QRFull",
    "QRIncomplete",
    "SVD",
    "TensorInv",
    "TensorSolve",
    "alloc_diag",
    "det",
    "diag",
    "eig",
    "eigh",
    "extract_diag",
    "inv",
    "inv_as_solve",
    "lstsq",
    "matrix_dot",
    "matrix_inverse",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "svd",
    "tensorinv",
    "tensorsolve",
    "trace",
    "zero_disconnected",
]

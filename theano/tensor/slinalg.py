"""Linear algebra with SciPy: Cholesky factors, linear systems, generalized eigenvalues, the matrix exponential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor import basic as tensor
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import invert, isnan, switch
from theano.tensor.matrix_types import as_matrix, float_dtype_of, floats, fold_triangle, real_dtype_of
from theano.tensor.nlinalg_gradients import direction_from_gradient
from theano.tensor.products import outer
from theano.tensor.type import TensorType, ops
from theano.tensor.type_other import NoneConst

# SciPy comes with the package.
imported_scipy = True

MATRIX_STRUCTURES = (
    "general",
    "symmetric",
    "lower_triangular",
    "upper_triangular",
    "hermitian",
    "banded",
    "diagonal",
    "toeplitz",
)


class Cholesky(Op):
    """A triangular square root of a positive definite matrix.

    Parameters
    ----------
    lower : bool
        Whether the lower factor ``L``, with ``dot(L, L.T) == x``, or the upper one is returned.
    on_error : {'raise', 'nan'}
        Whether a matrix that is not positive definite raises a LinAlgError or gives a matrix of NaNs.

    See Also
    --------
    theano.tensor.nlinalg.Det : The determinant of a square matrix.
    theano.tensor.nlinalg.det : The determinant of a square matrix.
    theano.tensor.slinalg.CholeskyGrad : The gradient of the Cholesky factorization, of the matrix, its factor and the
        gradient of the factor.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[4.0, 2.0], [2.0, 5.0]])
    >>> Cholesky()(x).eval().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    >>> Cholesky(on_error="nan")(-x).eval().tolist()
    [[nan, nan], [nan, nan]]
    """

    __props__ = ("lower", "destructive", "on_error")

    def __init__(self, lower: bool = True, on_error: str = "raise") -> None:
        self.lower = lower
        self.destructive = False
        if on_error not in ("raise", "nan"):
            raise ValueError('on_error must be one of "raise" or ""nan"')
        self.on_error = on_error

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "Cholesky")
        return Apply(self, [x], [TensorType(float_dtype_of(x), x.type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.linalg

        (x,) = inputs
        dtype = node.outputs[0].type.dtype
        try:
            output_storage[0][0] = scipy.linalg.cholesky(floats(x), lower=self.lower).astype(dtype, copy=False)
        except scipy.linalg.LinAlgError:
            if self.on_error == "raise":
                raise
            output_storage[0][0] = np.full(x.shape, np.nan, dtype=dtype)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        # I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, section 3.2.
        (factor,), (gz,) = outputs, grads
        valid = None
        if self.on_error == "nan":
            valid = invert(tensor.any(isnan(factor)))
            factor = switch(valid, factor, 1)
            gz = switch(valid, gz, 1)
        if not self.lower:
            factor, gz = factor.T, gz.T

        def half_tril(m: Any) -> Any:
            return tensor.tril(m) - tensor.diag(tensor.diagonal(m) / 2.0)

        def conjugated(lower: Any, inner: Any) -> Any:
            # lower^-T inner lower^-1
            return solve_upper_triangular(lower.T, solve_upper_triangular(lower.T, inner.T).T)

        s = conjugated(factor, half_tril(factor.T.dot(gz)))
        triangle = tensor.tril if self.lower else tensor.triu
        gx = triangle(s + s.T) - tensor.diag(tensor.diagonal(s))
        return [gx if valid is None else switch(valid, gx, np.asarray(np.nan, dtype=gx.dtype))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return direction_from_gradient(self, inputs, eval_points)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


cholesky = Cholesky()


class CholeskyGrad(Op):
    """The gradient of the Cholesky factorization, of the matrix, its factor and the gradient of the factor.

    Parameters
    ----------
    lower : bool
        Whether the lower triangle is meant.

    See Also
    --------
    theano.tensor.slinalg.cholesky : A triangular square root of a positive definite matrix.
    theano.tensor.slinalg.Cholesky : A triangular square root of a positive definite matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[4.0, 0.0], [0.0, 9.0]])
    >>> CholeskyGrad()(x, cholesky(x), T.eye(2)).eval().round(4).tolist()
    [[0.25, 0.0], [0.0, 0.1667]]
    """

    __props__ = ("lower", "destructive")

    def __init__(self, lower: bool = True) -> None:
        self.lower = lower
        self.destructive = False

    def make_node(self, x: Any, l: Any, dz: Any) -> Apply:  # noqa: E741
        inputs = [as_matrix(a, "CholeskyGrad") for a in (x, l, dz)]
        if inputs[1].type.dtype != inputs[2].type.dtype:
            raise TypeError(f"the factor is of {inputs[1].type.dtype} and its gradient of {inputs[2].type.dtype}")
        return Apply(self, inputs, [inputs[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.linalg

        _, factor, dz = map(floats, inputs)
        if not self.lower:
            factor, dz = factor.T, dz.T
        inner = np.tril(factor.T @ np.tril(dz))
        inner[np.diag_indices_from(inner)] /= 2
        half = scipy.linalg.solve_triangular(factor, inner.T, lower=True, trans="T", check_finite=False).T
        s = scipy.linalg.solve_triangular(factor, half, lower=True, trans="T", check_finite=False)
        dx = np.tril(s + s.T)
        dx[np.diag_indices_from(dx)] -= np.diag(s)
        output_storage[0][0] = np.asarray(dx if self.lower else dx.T, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


class Solve(Op):
    """The solution ``x`` of ``dot(A, x) == b``.

    Parameters
    ----------
    A_structure : {'general', 'symmetric', 'lower_triangular', 'upper_triangular', ...}
        What is known of `A`; only the named triangle is read.
    lower : bool
        Whether the lower triangle of `A` is read, for a symmetric one.
    overwrite_A, overwrite_b : bool
        Kept for old programs; inputs are not overwritten.

    See Also
    --------
    theano.tensor.slinalg.solve : Return the `x` with ``dot(a, x) == b``.
    theano.tensor.slinalg.solve_lower_triangular : An instance of it.
    theano.tensor.slinalg.solve_symmetric : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> A, b = T.constant([[2.0, 0.0], [1.0, 4.0]]), T.constant([2.0, 9.0])
    >>> Solve()(A, b).eval().round(6).tolist()
    [1.0, 2.0]
    >>> solve_upper_triangular(A, b).eval().round(6).tolist()
    [1.0, 2.25]
    """

    __props__ = ("A_structure", "lower", "overwrite_A", "overwrite_b")

    def __init__(
        self, A_structure: str = "general", lower: bool = False, overwrite_A: bool = False, overwrite_b: bool = False
    ) -> None:
        if A_structure not in MATRIX_STRUCTURES:
            raise ValueError(f"Invalid matrix structure argument: {A_structure}")
        self.A_structure = A_structure
        self.lower = lower
        self.overwrite_A = overwrite_A
        self.overwrite_b = overwrite_b

    def __repr__(self) -> str:
        return f"Solve{{{self.A_structure!r}, {self.lower}, {self.overwrite_A}, {self.overwrite_b}}}"

    def make_node(self, A: Any, b: Any) -> Apply:
        A, b = as_matrix(A, "Solve"), as_tensor_variable(b)
        if b.ndim not in (1, 2):
            raise TypeError(f"Solve: the right hand side must be a vector or a matrix, got {b.ndim} dimensions")
        return Apply(self, [A, b], [TensorType(float_dtype_of(A, b), b.type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.linalg

        A, b = map(floats, inputs)
        if self.A_structure == "lower_triangular":
            x = scipy.linalg.solve_triangular(A, b, lower=True)
        elif self.A_structure == "upper_triangular":
            x = scipy.linalg.solve_triangular(A, b, lower=False)
        elif self.A_structure == "symmetric":
            x = scipy.linalg.solve(A, b, lower=self.lower, assume_a="sym")
        else:
            # Named: SciPy 1.15 finds a structure by itself, and divides by zero where that is diagonal.
            x = scipy.linalg.solve(A, b, assume_a="gen")
        output_storage[0][0] = np.asarray(x, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        a_shape, b_shape = in_shapes
        if len(b_shape) == 1:
            return [(a_shape[1],)]
        return [(a_shape[1], b_shape[1])]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        # M. B. Giles, "An extended collection of matrix derivative results", section 2.3.1.
        A, _ = inputs
        (x,), (gx,) = outputs, grads
        transposed = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}
        adjoint = Solve(transposed.get(self.A_structure, self.A_structure), lower=not self.lower)
        gb = adjoint(A.T, gx)
        gA = -outer(gb, x) if x.ndim == 1 else -gb.dot(x.T)
        if self.A_structure == "lower_triangular":
            gA = tensor.tril(gA)
        elif self.A_structure == "upper_triangular":
            gA = tensor.triu(gA)
        return [gA, gb]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        A, b = inputs
        dA, db = (x.zeros_like() if p is None else p for x, p in zip(inputs, eval_points))
        if self.A_structure == "lower_triangular":
            dA = tensor.tril(dA)
        elif self.A_structure == "upper_triangular":
            dA = tensor.triu(dA)
        return [self(A, db - tensor.dot(dA, self(A, b)))]


_solve_op = Solve()


def solve(a: Any, b: Any):
    """Return the `x` with ``dot(a, x) == b``.

    Parameters
    ----------
    a : square matrix
        Of shape (n, n).
    b : vector or matrix
        Of shape (n,) or (n, k).

    Returns
    -------
    tensor of the shape of `b`

    Raises
    ------
    LinAlgError
        At run time, if `a` is singular.

    See Also
    --------
    theano.tensor.nlinalg.tensorinv : Return the inverse of `a` with respect to ``tensordot(a, b, ind)``, as
        ``numpy.linalg.tensorinv``.
    theano.tensor.nlinalg.tensorsolve : Return the `x` with ``tensordot(a, x, x.ndim) == b``, as
        ``numpy.linalg.tensorsolve``.
    theano.tensor.nlinalg.MatrixPinv : The Moore-Penrose pseudo-inverse of a matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.solve(T.constant([[2.0, 0.0], [0.0, 4.0]]), T.constant([2.0, 2.0])).eval()
    array([1. , 0.5])
    """
    return _solve_op(a, b)


solve_lower_triangular = Solve(A_structure="lower_triangular", lower=True)
solve_upper_triangular = Solve(A_structure="upper_triangular", lower=False)
solve_symmetric = Solve(A_structure="symmetric", lower=False)


class Eigvalsh(Op):
    """The generalized eigenvalues of a symmetric matrix, with respect to a positive definite one.

    Parameters
    ----------
    lower : bool
        Which triangles of the matrices are read.

    See Also
    --------
    theano.tensor.slinalg.EigvalshGrad : The gradients of `Eigvalsh` with respect to the triangles that it reads.
    theano.tensor.slinalg.eigvalsh : Return the eigenvalues of the symmetric matrix `a` with respect to `b`; see
        `Eigvalsh`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.constant([[2.0, 0.0], [0.0, 6.0]]), T.constant([[1.0, 0.0], [0.0, 2.0]])
    >>> Eigvalsh()(a, b).eval().round(6).tolist()
    [2.0, 3.0]
    """

    __props__ = ("lower",)

    def __init__(self, lower: bool = True) -> None:
        if lower not in (True, False):
            raise ValueError(f"lower must be True or False, got {lower!r}")
        self.lower = lower

    def make_node(self, a: Any, b: Any = None) -> Apply:
        a = as_matrix(a, "eigvalsh")
        if b is None or NoneConst.equals(b):
            return Apply(self, [a, NoneConst], [TensorType(real_dtype_of(float_dtype_of(a)), (False,))()])
        b = as_matrix(b, "eigvalsh")
        return Apply(self, [a, b], [TensorType(real_dtype_of(float_dtype_of(a, b)), (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.linalg

        a, b = (x if x is None else floats(x) for x in inputs)
        values = scipy.linalg.eigvalsh(a, b, lower=self.lower)
        output_storage[0][0] = np.asarray(values, dtype=node.outputs[0].type.dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [not NoneConst.equals(node.inputs[1])]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        a, b = inputs
        (gw,) = grads
        if NoneConst.equals(b):
            ga, _ = EigvalshGrad(self.lower)(a, tensor.identity_like(a), gw)
            return [ga, DisconnectedType()()]
        return EigvalshGrad(self.lower)(a, b, gw)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(in_shapes[0][0],)]


class EigvalshGrad(Op):
    """The gradients of :class:`Eigvalsh` with respect to the triangles that it reads.

    Parameters
    ----------
    lower : bool, optional
        Whether it is the lower triangle.

    See Also
    --------
    theano.tensor.slinalg.eigvalsh : Return the eigenvalues of the symmetric matrix `a` with respect to `b`; see
        `Eigvalsh`.
    theano.tensor.slinalg.Eigvalsh : The generalized eigenvalues of a symmetric matrix, with respect to a positive
        definite one.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.constant([[2.0, 0.0], [0.0, 6.0]]), T.eye(2)
    >>> of_a, of_b = EigvalshGrad()(a, b, T.constant([1.0, 0.0]))
    >>> of_a.eval().round(6).tolist(), of_b.eval().round(6).tolist()
    ([[1.0, 0.0], [0.0, 0.0]], [[-2.0, 0.0], [0.0, 0.0]])
    """

    __props__ = ("lower",)

    def __init__(self, lower: bool = True) -> None:
        if lower not in (True, False):
            raise ValueError(f"lower must be True or False, got {lower!r}")
        self.lower = lower

    def make_node(self, a: Any, b: Any, gw: Any) -> Apply:
        a, b, gw = as_matrix(a, "EigvalshGrad"), as_matrix(b, "EigvalshGrad"), as_tensor_variable(gw)
        if gw.ndim != 1:
            raise TypeError("EigvalshGrad: the gradient of the eigenvalues must be a vector")
        matrix = TensorType(float_dtype_of(a, b, gw), (False, False))
        return Apply(self, [a, b, gw], [matrix(), matrix()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.linalg

        a, b, gw = map(floats, inputs)
        w, v = scipy.linalg.eigh(a, b, lower=self.lower)
        ga = (v * gw) @ v.T
        gb = -(v * (gw * w)) @ v.T
        dtype = node.outputs[0].type.dtype
        output_storage[0][0] = np.asarray(fold_triangle(ga, self.lower), dtype=dtype)
        output_storage[1][0] = np.asarray(fold_triangle(gb, self.lower), dtype=dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0], in_shapes[1]]


def eigvalsh(a: Any, b: Any, lower: bool = True):
    """Return the eigenvalues of the symmetric matrix `a` with respect to `b`; see :class:`Eigvalsh`.

    Parameters
    ----------
    a : matrix
        Symmetric.
    b : matrix or None
        Symmetric and positive definite; None is the identity.
    lower : bool
        Whether the lower triangles are read.

    Returns
    -------
    TensorVariable
        A vector, ascending.

    See Also
    --------
    theano.tensor.nlinalg.eigh : Return the eigenvalues and eigenvectors of a symmetric or Hermitian matrix; see `Eigh`.
    theano.tensor.nlinalg.eig : The eigenvalues and right eigenvectors of a square matrix; both real, as NumPy gives them
        for real spectra.
    theano.tensor.slinalg.Eigvalsh : The generalized eigenvalues of a symmetric matrix, with respect to a positive
        definite one.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.eigvalsh(T.constant([[2.0, 0.0], [0.0, 4.0]]), T.eye(2)).eval()
    array([2., 4.])
    """
    return Eigvalsh(lower)(a, b)


def kron(a: Any, b: Any):
    """Return the Kronecker product of `a` and `b`.

    Parameters
    ----------
    a, b : tensor_like
        Together of at least three dimensions.

    Returns
    -------
    tensor of ``a.ndim + b.ndim - 2`` dimensions

    Raises
    ------
    TypeError
        If they have fewer dimensions.

    See Also
    --------
    theano.tensor.outer : Return the products of every element of `x` with every one of `y`; both are flattened if they
        are no vectors.
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.kron(T.eye(2), T.constant([[1.0, 2.0]])).eval()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim + b.ndim <= 2:
        raise TypeError(f"kron: inputs dimensions must sum to 3 or more. You passed {a.ndim} and {b.ndim}.")
    lengths = [a.shape[i] for i in range(a.ndim)] + [b.shape[i] for i in range(b.ndim)]
    products = outer(a, b).reshape(lengths, ndim=len(lengths))
    if products.ndim == 3:
        return products.dimshuffle(1, 0, 2).flatten()
    shuffled = products.dimshuffle(0, 2, 1, *range(3, products.ndim))
    merged = [lengths[0] * lengths[2], lengths[1] * lengths[3], *lengths[4:]]
    return shuffled.reshape(merged, ndim=len(merged))


class Expm(Op):
    """The matrix exponential of a square matrix.

    The input is a square matrix, the output of its shape, of floats.

    See Also
    --------
    theano.tensor.slinalg.ExpmGrad : The gradient of the matrix exponential.
    theano.tensor.slinalg.expm : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.expm(T.zeros((2, 2))).eval()
    array([[1., 0.],
           [0., 1.]])
    """

    __props__ = ()

    def make_node(self, A: Any) -> Apply:
        A = as_matrix(A, "expm")
        return Apply(self, [A], [TensorType(float_dtype_of(A), (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.linalg

        output_storage[0][0] = np.asarray(scipy.linalg.expm(floats(inputs[0])), dtype=node.outputs[0].type.dtype)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [ExpmGrad()(inputs[0], grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (A,), (point,) = inputs, eval_points
        return [None] if point is None else [ExpmGrad()(A.T, point)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


class ExpmGrad(Op):
    """The gradient of the matrix exponential.

    The adjoint of its derivative at `A` is the derivative at ``A.T``, for which SciPy has the algorithm of Al-Mohy and
    Higham; unlike a formula with eigenvectors it holds for every matrix.

    See Also
    --------
    theano.tensor.slinalg.expm : The matrix exponential of a square matrix.
    theano.tensor.slinalg.Expm : The matrix exponential of a square matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> ExpmGrad()(T.zeros((2, 2)), T.constant([[1.0, 2.0], [3.0, 4.0]])).eval().round(6).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    __props__ = ()

    def make_node(self, A: Any, gw: Any) -> Apply:
        A, gw = as_matrix(A, "ExpmGrad"), as_matrix(gw, "ExpmGrad")
        return Apply(self, [A, gw], [TensorType(float_dtype_of(A, gw), (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        import scipy.linalg

        A, gw = map(floats, inputs)
        g = scipy.linalg.expm_frechet(A.T, gw, compute_expm=False)
        output_storage[0][0] = np.asarray(g, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


expm = Expm()


ops.gather(globals(), "solve solve_upper_triangular")

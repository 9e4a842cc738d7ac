"""Linear algebra with NumPy: inverse, determinant, decompositions, norms, tensor equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gradient_types import DisconnectedType, grad_not_implemented
from theano.tensor import basic as tensor
from theano.tensor import nlinalg_gradients as gradients
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import abs_, minimum, sqrt
from theano.tensor.matrix_types import as_matrix, float_dtype_of, fold_triangle, real_dtype_of
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
    theano.tensor.nlinalg.det : An instance of it.

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


class Eig(Op):
    """The eigenvalues and right eigenvectors of a square matrix; both real, as NumPy gives them for real spectra.

    The outputs are a vector of length n and an n by n matrix whose columns are the vectors. Complex eigenvalues of
    a real matrix are an error when the function runs: cast the matrix to a complex dtype.

    See Also
    --------
    theano.tensor.nlinalg.Eigh : The eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.
    theano.tensor.nlinalg.eig : An instance of it.
    theano.tensor.nlinalg.eig : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> values, vectors = T.nlinalg.eig([[2.0, 0.0], [0.0, 3.0]])
    >>> values.eval()
    array([2., 3.])
    """

    __props__: tuple[str, ...] = ()

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, type(self).__name__)
        dtype = float_dtype_of(x)
        return Apply(self, [x], [TensorType(dtype, (False,))(), TensorType(dtype, (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        values, vectors = np.linalg.eig(inputs[0])
        self._store(node, output_storage, values, vectors)

    @staticmethod
    def _store(node: Apply, output_storage: Any, *results: np.ndarray) -> None:
        for out, variable, result in zip(output_storage, node.outputs, results):
            dtype = variable.type.dtype
            if np.iscomplexobj(result) and not dtype.startswith("complex"):
                # NumPy's result is complex for every matrix from version 2.5 on.
                if not np.any(result.imag):
                    out[0] = np.asarray(result.real, dtype=dtype)
                    continue
                raise ValueError("the eigenvalues are complex: cast the matrix to a complex dtype")
            out[0] = np.asarray(result, dtype=dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        n = in_shapes[0][0]
        return [(n,), (n, n)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grad_not_implemented(self, 0, inputs[0], "use eigh for a symmetric matrix")]


eig = Eig()


def zero_disconnected(outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """Return the gradients with zeros for the disconnected ones.

    Parameters
    ----------
    outputs : sequence of Variable
        What has the shapes of the zeros.
    grads : sequence of Variable
        Gradients, some of which may be disconnected.

    Returns
    -------
    list of Variable
        One for each output.

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> zero_disconnected([x, x], [theano.gradient.DisconnectedType()(), 2 * x])[0].eval({x: [[1.0]]})
    array([[0.]])
    """
    return [out.zeros_like() if isinstance(g.type, DisconnectedType) else g for out, g in zip(outputs, grads)]


_zero_disconnected = zero_disconnected


class Eigh(Eig):
    """The eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.

    Parameters
    ----------
    UPLO : {'L', 'U'}
        Which triangle of the matrix is read.

    See Also
    --------
    theano.tensor.nlinalg.eig : The eigenvalues and right eigenvectors of a square matrix; both real, as NumPy gives them
        for real spectra.
    theano.tensor.nlinalg.Eig : The eigenvalues and right eigenvectors of a square matrix; both real, as NumPy gives them
        for real spectra.
    theano.tensor.nlinalg.EighGrad : The gradient of `Eigh`, with respect to the triangle that it reads.
    """

    __props__ = ("UPLO",)

    def __init__(self, UPLO: str = "L") -> None:
        if UPLO not in ("L", "U"):
            raise ValueError(f"UPLO must be 'L' or 'U', got {UPLO!r}")
        self.UPLO = UPLO

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "eigh")
        dtype = float_dtype_of(x)
        return Apply(self, [x], [TensorType(real_dtype_of(dtype), (False,))(), TensorType(dtype, (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        self._store(node, output_storage, *np.linalg.eigh(inputs[0], self.UPLO))

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,) = inputs
        values, vectors = outputs
        g_values, g_vectors = zero_disconnected(outputs, grads)
        return [EighGrad(self.UPLO)(x, values, vectors, g_values, g_vectors)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x,), (point,) = inputs, eval_points
        if point is None:
            return [None, None]
        values, vectors = self(x)
        return list(gradients.eigh_direction(x, values, vectors, point, self.UPLO == "L"))


class EighGrad(Op):
    """The gradient of :class:`Eigh`, with respect to the triangle that it reads.

    Parameters
    ----------
    UPLO : {'L', 'U'}
        The triangle.

    See Also
    --------
    theano.tensor.nlinalg.eigh : Return the eigenvalues and eigenvectors of a symmetric or Hermitian matrix; see `Eigh`.
    theano.tensor.nlinalg.Eigh : The eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.
    """

    __props__ = ("UPLO",)

    def __init__(self, UPLO: str = "L") -> None:
        if UPLO not in ("L", "U"):
            raise ValueError(f"UPLO must be 'L' or 'U', got {UPLO!r}")
        self.UPLO = UPLO

    def make_node(self, x: Any, w: Any, v: Any, gw: Any, gv: Any) -> Apply:
        inputs = [as_tensor_variable(a) for a in (x, w, v, gw, gv)]
        if [a.ndim for a in inputs] != [2, 1, 2, 1, 2]:
            raise TypeError("EighGrad takes a matrix, its eigenvalues and -vectors, and their gradients")
        return Apply(self, inputs, [TensorType(float_dtype_of(*inputs), (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        _, w, v, gw, gv = inputs
        gaps = w[:, None] - w[None, :]
        np.fill_diagonal(gaps, np.inf)
        core = np.diag(gw) + (v.T @ gv).T / gaps
        g = fold_triangle(v @ core @ v.T, self.UPLO == "L")
        output_storage[0][0] = np.asarray(g, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


def eigh(a: Any, UPLO: str = "L"):
    """Return the eigenvalues and eigenvectors of a symmetric or Hermitian matrix; see :class:`Eigh`.

    Parameters
    ----------
    a : matrix
        Symmetric or Hermitian.
    UPLO : {'L', 'U'}
        Whether the lower or the upper triangle is read.

    Returns
    -------
    list of TensorVariable
        The vector of eigenvalues, ascending, and the matrix whose columns are eigenvectors.

    See Also
    --------
    theano.tensor.nlinalg.eig : The eigenvalues and right eigenvectors of a square matrix; both real, as NumPy gives them
        for real spectra.
    theano.tensor.slinalg.eigvalsh : Return the eigenvalues of the symmetric matrix `a` with respect to `b`; see
        `Eigvalsh`.
    theano.tensor.nlinalg.Eigh : The eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nlinalg.eigh(T.constant([[2.0, 1.0], [1.0, 2.0]]))[0].eval().round(6)
    array([1., 3.])
    """
    return Eigh(UPLO)(a)


class QRFull(Op):
    """Both factors of the QR decomposition.

    Parameters
    ----------
    mode : {'reduced', 'complete', 'raw'}
        Which one is computed.

    See Also
    --------
    theano.tensor.nlinalg.QRIncomplete : The triangular factor of the QR decomposition.
    theano.tensor.nlinalg.qr : Return the QR decomposition of a matrix of shape (M, N), as ``numpy.linalg.qr``; ``K =
        min(M, N)``.
    """

    __props__ = ("mode",)

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "qr")
        dtype = float_dtype_of(x)
        second = (False,) if self.mode == "raw" else (False, False)
        return Apply(self, [x], [TensorType(dtype, (False, False))(), TensorType(dtype, second)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        first, second = np.linalg.qr(inputs[0], self.mode)
        dtype = node.outputs[0].type.dtype
        output_storage[0][0] = np.asarray(first, dtype=dtype)
        output_storage[1][0] = np.asarray(second, dtype=dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        m, n = in_shapes[0]
        if self.mode == "complete":
            return [(m, m), (m, n)]
        k = minimum(m, n)
        if self.mode == "raw":
            return [(n, m), (k,)]
        return [(m, k), (k, n)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        if self.mode == "raw":
            return [grad_not_implemented(self, 0, inputs[0], "what LAPACK returns is not differentiated")]
        (x,), (q, r) = inputs, outputs
        if self.mode == "complete":
            q = gradients.square(q, tensor.eq(x.shape[0], x.shape[1]))
        return [gradients.qr_gradient(x, q, r, *grads)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return gradients.direction_from_gradient(self, inputs, eval_points)


class QRIncomplete(Op):
    """The triangular factor of the QR decomposition.

    Parameters
    ----------
    mode : {'r'}
        Which one is computed.

    See Also
    --------
    theano.tensor.nlinalg.qr : Return the QR decomposition of a matrix of shape (M, N), as ``numpy.linalg.qr``; ``K =
        min(M, N)``.
    theano.tensor.nlinalg.QRFull : Both factors of the QR decomposition.
    """

    __props__ = ("mode",)

    def __init__(self, mode: str = "r") -> None:
        self.mode = mode

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "qr")
        return Apply(self, [x], [TensorType(float_dtype_of(x), (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(np.linalg.qr(inputs[0], self.mode), dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        m, n = in_shapes[0]
        return [(minimum(m, n), n)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gr,) = inputs, grads
        q, r = QRFull("reduced")(x)
        return [gradients.qr_gradient(x, q, r, DisconnectedType()(), gr)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return gradients.direction_from_gradient(self, inputs, eval_points)


def qr(a: Any, mode: str = "reduced"):
    """Return the QR decomposition of a matrix of shape (M, N), as ``numpy.linalg.qr``; ``K = min(M, N)``.

    Parameters
    ----------
    a : matrix
        Of shape (M, N), of floats.
    mode : {'reduced', 'complete', 'r', 'raw'}
        'reduced' gives `q` and `r` of shapes (M, K) and (K, N), 'complete' of (M, M) and (M, N), 'r' only `r`, 'raw'
        what LAPACK gives: `h` of shape (N, M), transposed, and the vector `tau`.

    Returns
    -------
    TensorVariable or list of TensorVariable
        `q` and `r`, or what `mode` says.

    Raises
    ------
    ValueError
        If there is no such mode.

    See Also
    --------
    theano.tensor.nlinalg.svd : Return the singular value decomposition ``a == u * diag(s) * v`` of a matrix, as
        ``numpy.linalg.svd``.
    theano.tensor.slinalg.cholesky : A triangular square root of a positive definite matrix.
    theano.tensor.nlinalg.QRFull : Both factors of the QR decomposition.

    Examples
    --------
    >>> import theano.tensor as T
    >>> q, r = T.nlinalg.qr(T.ones((3, 2)))
    >>> q.eval().shape, r.eval().shape
    ((3, 2), (2, 2))
    """
    names = {"full": "reduced", "economic": "raw"}
    mode = names.get(mode, mode)
    if mode == "r":
        return QRIncomplete(mode)(a)
    if mode not in ("reduced", "complete", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    return QRFull(mode)(a)


class SVD(Op):
    """The singular value decomposition.

    Parameters
    ----------
    full_matrices : bool
        Whether `u` and `v` are square; else they have min(M, N) columns and rows.
    compute_uv : bool
        Whether `u` and `v` are computed besides the singular values.

    See Also
    --------
    theano.tensor.nlinalg.svd : Return the singular value decomposition ``a == u * diag(s) * v`` of a matrix, as
        ``numpy.linalg.svd``.
    """

    __props__ = ("full_matrices", "compute_uv")

    def __init__(self, full_matrices: bool = True, compute_uv: bool = True) -> None:
        self.full_matrices = full_matrices
        self.compute_uv = compute_uv

    def make_node(self, x: Any) -> Apply:
        x = as_matrix(x, "svd")
        dtype = float_dtype_of(x)
        s = TensorType(real_dtype_of(dtype), (False,))()
        if not self.compute_uv:
            return Apply(self, [x], [s])
        matrix = TensorType(dtype, (False, False))
        return Apply(self, [x], [matrix(), s, matrix()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        found = np.linalg.svd(inputs[0], bool(self.full_matrices), bool(self.compute_uv))
        results = tuple(found) if self.compute_uv else (found,)
        for out, variable, result in zip(output_storage, node.outputs, results):
            out[0] = np.asarray(result, dtype=variable.type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        m, n = in_shapes[0]
        k = minimum(m, n)
        if not self.compute_uv:
            return [(k,)]
        if self.full_matrices:
            return [(m, m), (k,), (n, n)]
        return [(m, k), (k,), (k, n)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,) = inputs
        if not self.compute_uv:
            return [gradients.singular_values_gradient(x, grads[0])]
        return [gradients.svd_gradient(x, outputs, grads, self.full_matrices)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return gradients.direction_from_gradient(self, inputs, eval_points)


def svd(a: Any, full_matrices: Any = 1, compute_uv: Any = 1):
    """Return the singular value decomposition ``a == u * diag(s) * v`` of a matrix, as ``numpy.linalg.svd``.

    Parameters
    ----------
    a : matrix
        Of shape (M, N), of floats.
    full_matrices, compute_uv : bool
        See :class:`SVD`.

    Returns
    -------
    list ``[u, s, v]``, or `s`

    See Also
    --------
    theano.tensor.slinalg.cholesky : A triangular square root of a positive definite matrix.
    theano.tensor.nlinalg.qr : Return the QR decomposition of a matrix of shape (M, N), as ``numpy.linalg.qr``; ``K =
        min(M, N)``.
    theano.tensor.nlinalg.SVD : The singular value decomposition.

    Examples
    --------
    >>> import theano.tensor as T
    >>> u, s, v = T.nlinalg.svd(T.constant([[3.0, 0.0], [0.0, 4.0]]))
    >>> s.eval()
    array([4., 3.])
    """
    return SVD(full_matrices, compute_uv)(a)


class lstsq(Op):
    """The least-squares solution of a linear system: ``lstsq()(x, y, rcond)``, as ``numpy.linalg.lstsq``.

    Outputs: the solution, the sums of squared residuals, the rank of `x` and its singular values.

    See Also
    --------
    theano.tensor.slinalg.solve : Return the `x` with ``dot(a, x) == b``.
    theano.tensor.nlinalg.MatrixPinv : The Moore-Penrose pseudo-inverse of a matrix.
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


ops.gather(globals(), "pinv svd")

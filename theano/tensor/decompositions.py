"""Decompositions of matrices with NumPy: eigenvalues and -vectors, QR, singular values.

:mod:`theano.tensor.nlinalg` is where programs find them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType, grad_not_implemented
from theano.tensor import basic as tensor
from theano.tensor import nlinalg_gradients as gradients
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import minimum
from theano.tensor.matrix_types import as_matrix, float_dtype_of, fold_triangle, real_dtype_of
from theano.tensor.type import TensorType, ops


class Eig(Op):
    """The eigenvalues and right eigenvectors of a square matrix; both real, as NumPy gives them for real spectra.

    The outputs are a vector of length n and an n by n matrix whose columns are the vectors. Complex eigenvalues of
    a real matrix are an error when the function runs: cast the matrix to a complex dtype.

    See Also
    --------
    theano.tensor.nlinalg.Eigh : The eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.
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

    Examples
    --------
    >>> import theano.tensor as T
    >>> values, vectors = Eigh()([[2.0, 0.0], [1.0, 2.0]])
    >>> values.eval().round(6).tolist()
    [1.0, 3.0]
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

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> g = theano.grad(Eigh()(x)[0][-1], x)
    >>> isinstance(g.owner.op, EighGrad)
    True
    >>> g.eval({x: [[2.0, 0.0], [0.0, 3.0]]}).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
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

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[3.0], [4.0]])
    >>> [[part.eval().shape for part in QRFull(mode)(x)] for mode in ("reduced", "complete", "raw")]
    [[(2, 1), (1, 1)], [(2, 2), (2, 1)], [(1, 2), (1,)]]
    >>> q, r = QRFull("reduced")(x)
    >>> T.dot(q, r).eval().round(6).tolist()
    [[3.0], [4.0]]
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

    Examples
    --------
    >>> import theano.tensor as T
    >>> r = QRIncomplete()(T.constant([[3.0], [4.0]]))
    >>> abs(r).eval().round(6).tolist()
    [[5.0]]
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

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    >>> [part.eval().shape for part in SVD(full_matrices=False)(x)]
    [(2, 2), (2,), (2, 3)]
    >>> SVD(compute_uv=False)(x).eval().tolist()
    [4.0, 3.0]
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


ops.gather(globals(), "svd")

"""BLAS operations: what `dot`, sums and scalings of matrices are rewritten to.

The compiled program calls BLAS for these; `perform` says the same with NumPy. Expressions are turned into them
by `theano.tensor.rewriting.blas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano.scalar
from theano import aliases
from theano.gof.fg import InconsistencyError as InconsistencyError
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.traverse import view_roots
from theano.tensor.blas_headers import blas_header_text as blas_header_text
from theano.tensor.blas_headers import blas_header_version as blas_header_version
from theano.tensor.blas_headers import ldflags as ldflags
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.dimshuffle import DimShuffle
from theano.tensor.type import TensorType, ops

_BLAS_DTYPES = ("float16", "float32", "float64", "complex64", "complex128")


class _Accumulating(Op):
    """A product that is added to the first input, of whose shape the result is.

    Parameters
    ----------
    inplace
        Write the result over it.
    """

    writes_first_input = True
    __props__: tuple[str, ...] = ("inplace",)

    def __init__(self, inplace: bool) -> None:
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{'inplace' if self.inplace else 'no_inplace'}}}"

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        return [input_shapes[0]]


class Gemv(_Accumulating):
    """``beta * y + alpha * dot(A, x)`` for a matrix `A` and vectors `x`, `y`.

    Parameters
    ----------
    inplace : bool
        Write the result over `y`.

    See Also
    --------
    theano.tensor.blas.Ger : ``A + alpha * outer(x, y)`` for a matrix `A` and vectors `x`, `y`.
    theano.tensor.blas.Gemm : ``b * z + a * dot(x, y)`` for matrices `x`, `y`, `z` and scalars `a`, `b`.
    theano.tensor.blas.gemv : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> A, x, y = T.dmatrix("A"), T.dvector("x"), T.dvector("y")
    >>> result = gemv_no_inplace(y, 10.0, A, x, 0.5)
    >>> result.eval({y: [2.0], A: [[1.0, 2.0]], x: [3.0, 4.0]}).tolist()
    [111.0]
    """

    def make_node(self, y: Any, alpha: Any, A: Any, x: Any, beta: Any) -> Apply:
        y, alpha, A, x, beta = (as_tensor_variable(v) for v in (y, alpha, A, x, beta))
        if not y.dtype == A.dtype == x.dtype:
            raise TypeError("Gemv requires matching dtypes", (y.dtype, A.dtype, x.dtype))
        for name, var, ndim in (("A", A, 2), ("x", x, 1), ("y", y, 1), ("alpha", alpha, 0), ("beta", beta, 0)):
            if var.ndim != ndim:
                raise TypeError(f"gemv requires {('scalar', 'vector', 'matrix')[ndim]} for {name}, not {var.type}")
        if y.broadcastable[0] != A.broadcastable[0] and y.broadcastable[0]:
            raise TypeError(f"gemv cannot broadcast y, a {y.type}, to the rows of A, a {A.type}")
        return Apply(self, [y, alpha, A, x, beta], [y.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Any) -> None:
        y, alpha, A, x, beta = inputs
        if A.shape[0] != y.shape[0] or A.shape[1] != x.shape[0]:
            raise ValueError(
                f"Incompatible shapes for gemv (beta * y + alpha * dot(A, x)). y: {y.shape}, A: {A.shape}, x: {x.shape}"
            )
        out = np.dot(A, x)
        if alpha != 1:
            out *= alpha
        if beta != 0:
            out += y if beta == 1 else beta * y
        if self.inplace:
            y[...] = out
            out = y
        out_storage[0][0] = np.asarray(out, dtype=y.dtype)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        y, alpha, A, x, beta = inputs
        (g,) = output_grads
        return [beta * g, ops.dot(g, ops.dot(A, x)), alpha * ops.outer(g, x), alpha * ops.dot(A.T, g), ops.dot(g, y)]

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        rows, columns = inputs[2]
        return 2 * rows * columns + 3 * rows


gemv_inplace = Gemv(inplace=True)
gemv_no_inplace = Gemv(inplace=False)
gemv = gemv_no_inplace


class Ger(_Accumulating):
    """``A + alpha * outer(x, y)`` for a matrix `A` and vectors `x`, `y`.

    Parameters
    ----------
    destructive : bool
        Write the result over `A`.

    See Also
    --------
    theano.tensor.blas.Gemm : ``b * z + a * dot(x, y)`` for matrices `x`, `y`, `z` and scalars `a`, `b`.
    theano.tensor.blas.Gemv : ``beta * y + alpha * dot(A, x)`` for a matrix `A` and vectors `x`, `y`.
    theano.tensor.blas.ger : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> A, x, y = T.dmatrix("A"), T.dvector("x"), T.dvector("y")
    >>> result = ger(A, np.float64(10), x, y)
    >>> result.eval({A: [[0.0, 1.0]], x: [1.0], y: [2.0, 3.0]}).tolist()
    [[20.0, 31.0]]
    """

    __props__ = ("destructive",)

    def __init__(self, destructive: bool) -> None:
        super().__init__(destructive)
        self.destructive = destructive

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{'destructive' if self.destructive else 'non-destructive'}}}"

    def make_node(self, A: Any, alpha: Any, x: Any, y: Any) -> Apply:
        A, alpha, x, y = (as_tensor_variable(v) for v in (A, alpha, x, y))
        if not A.dtype == x.dtype == y.dtype == alpha.dtype:
            raise TypeError("ger requires matching dtypes", (A.dtype, alpha.dtype, x.dtype, y.dtype))
        if alpha.ndim != 0:
            raise TypeError("ger requires scalar alpha", alpha.type)
        for name, var, ndim in (("A", A, 2), ("x", x, 1), ("y", y, 1)):
            if var.ndim != ndim:
                raise TypeError(f"ger requires {('scalar', 'vector', 'matrix')[ndim]} for {name}, not {var.type}")
        if A.dtype not in _BLAS_DTYPES[1:]:
            raise TypeError("only float and complex types supported", A.dtype)
        return Apply(self, [A, alpha, x, y], [A.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Any) -> None:
        A, alpha, x, y = inputs
        if A.shape != (x.shape[0], y.shape[0]):
            raise ValueError(f"Incompatible shapes for ger (A + alpha * outer(x, y)). A: {A.shape}, x: {x.shape}, y: {y.shape}")
        out = A if self.destructive else A.copy()
        out += np.outer(x if alpha == 1 else alpha * x, y)
        out_storage[0][0] = out

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        _, alpha, x, y = inputs
        (g,) = output_grads
        return [g, ops.dot(x, ops.dot(g, y)), alpha * ops.dot(g, y), alpha * ops.dot(g.T, x)]

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        rows, columns = inputs[0]
        return 2 * rows * columns


ger = Ger(destructive=False)
ger_destructive = Ger(destructive=True)


class GemmRelated(Op):
    """Base of the matrix-matrix products.

    See Also
    --------
    theano.tensor.blas.Gemm : ``b * z + a * dot(x, y)`` for matrices `x`, `y`, `z` and scalars `a`, `b`.
    theano.tensor.blas.GemmOptimizer : ``beta * Z + alpha * dot(A, B) -> Gemm(Z, alpha, A, B, beta)``, and of vectors
        ``Gemv(z, alpha, A, x, beta)``.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dmatrices("x", "y")
    >>> f = theano.function([x, y], T.dot(x, y))
    >>> [isinstance(node.op, GemmRelated) for node in f.maker.fgraph.toposort()]
    [True]
    """

    __props__: tuple[str, ...] = ()


class Gemm(_Accumulating, GemmRelated):
    """``b * z + a * dot(x, y)`` for matrices `x`, `y`, `z` and scalars `a`, `b`.

    Parameters
    ----------
    inplace : bool
        Write the result over `z`.

    See Also
    --------
    theano.tensor.Dot : The product of two vectors or matrices, over the last dimension of the first and the first of the
        second.
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.blas.Gemv : ``beta * y + alpha * dot(A, x)`` for a matrix `A` and vectors `x`, `y`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> z, x, y = T.dmatrices("z", "x", "y")
    >>> result = gemm_no_inplace(z, np.float64(10), x, y, np.float64(0.5))
    >>> result.eval({z: [[2.0]], x: [[1.0, 2.0]], y: [[3.0], [4.0]]}).tolist()
    [[111.0]]
    """

    E_rank = "gemm only works for rank 2"
    E_scalar = "gemm requires scalar argument"
    E_z_uniq = "argument z aliased to x or y"
    E_mixed = "gemm requires matching dtypes"
    E_float = "gemm requires floating-point dtypes"

    def make_node(self, *inputs: Any) -> Apply:
        if len(inputs) != 5:
            raise TypeError(f"Wrong number of inputs for {self} (expected 5, got {len(inputs)})")
        z, a, x, y, b = (as_tensor_variable(v) for v in inputs)
        if self.inplace:
            written = set(view_roots(z))
            for other in (x, y):
                if not written.isdisjoint(view_roots(other)):
                    raise InconsistencyError(self.E_z_uniq, (z, other))
        z_dims, x_dims, y_dims = z.ndim, x.ndim, y.ndim
        if z_dims != 2:
            raise TypeError(self.E_rank, z)
        if a.ndim != 0:
            raise TypeError(self.E_scalar, a)
        if x_dims != 2:
            raise TypeError(self.E_rank, x)
        if y_dims != 2:
            raise TypeError(self.E_rank, y)
        if b.ndim != 0:
            raise TypeError(self.E_scalar, b)
        if not z.dtype == a.dtype == x.dtype == y.dtype == b.dtype:
            raise TypeError(self.E_mixed, (z.dtype, a.dtype, x.dtype, y.dtype, b.dtype))
        if z.dtype not in _BLAS_DTYPES:
            raise TypeError(self.E_float, z.dtype)
        return Apply(self, [z, a, x, y, b], [z.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Any) -> None:
        z, a, x, y, b = inputs
        if z.shape != (x.shape[0], y.shape[1]):
            raise ValueError(f"Shape mismatch in gemm (b * z + a * dot(x, y)). z: {z.shape}, x: {x.shape}, y: {y.shape}")
        product = np.dot(x, y)
        if a != 1:
            product *= a
        if not self.inplace:
            # A zero b means that z is not read, as in BLAS: it may hold NaN.
            if b != 0:
                product += z if b == 1 else b * z
            out_storage[0][0] = np.asarray(product, dtype=z.dtype)
            return
        if b == 0:
            z[...] = product
        else:
            if b != 1:
                z *= b
            z += product
        out_storage[0][0] = z

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        z, _, x, y, _ = input_shapes
        # A dimension of the product may be known where that of z is not.
        return [(x[0], y[1])] if node.inputs[0].broadcastable == (False, False) else [z]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        z, a, x, y, b = inputs
        (g,) = output_grads
        return [b * g, (g * ops.dot(x, y)).sum(), a * ops.dot(g, y.T), a * ops.dot(x.T, g), (g * z).sum()]

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        (rows, inner), (_, columns) = inputs[2], inputs[3]
        return 2 * rows * inner * columns


gemm_inplace = Gemm(inplace=True)
gemm_no_inplace = Gemm(inplace=False)
gemm = gemm_no_inplace


class Dot22(GemmRelated):
    """``dot(x, y)`` of two matrices of one floating-point dtype.

    See Also
    --------
    theano.tensor.blas.Dot22Scalar : ``a * dot(x, y)`` of two matrices and a scalar of one floating-point dtype.
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Dot22()(T.constant([[1.0, 2.0]]), T.constant([[3.0], [4.0]])).eval().tolist()
    [[11.0]]
    >>> Dot22()(T.dmatrix(), T.imatrix())
    Traceback (most recent call last):
        ...
    TypeError: Dot22 needs matrices of floating-point numbers, not of int32
    """

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        for var in (x, y):
            if var.dtype not in _BLAS_DTYPES:
                raise TypeError(f"Dot22 needs matrices of floating-point numbers, not of {var.dtype}")
            if var.ndim != 2:
                raise TypeError(f"Dot22 needs matrices, not {var.type}")
        if x.dtype != y.dtype:
            raise TypeError(f"dtype mismatch to Dot22: {x.dtype} and {y.dtype}")
        return Apply(self, [x, y], [TensorType(x.dtype, (x.broadcastable[0], y.broadcastable[1]))()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Any) -> None:
        x, y = inputs
        out_storage[0][0] = np.asarray(np.dot(x, y), dtype=x.dtype)

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        return [(input_shapes[0][0], input_shapes[1][1])]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        x, y = inputs
        (g,) = output_grads
        return [ops.dot(g, y.T), ops.dot(x.T, g)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        x, y = inputs
        terms = []
        if eval_points[0] is not None:
            terms.append(ops.dot(eval_points[0], y))
        if eval_points[1] is not None:
            terms.append(ops.dot(x, eval_points[1]))
        return [sum(terms[1:], terms[0]) if terms else None]

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        (rows, inner), (_, columns) = inputs
        return 2 * rows * inner * columns


_dot22 = Dot22()


class Dot22Scalar(GemmRelated):
    """``a * dot(x, y)`` of two matrices and a scalar of one floating-point dtype.

    See Also
    --------
    theano.dot : Return the product of `a` and `b`, as ``numpy.dot``.
    theano.tensor.blas.Dot22 : ``dot(x, y)`` of two matrices of one floating-point dtype.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y, a = T.dmatrix("x"), T.dmatrix("y"), T.dscalar("a")
    >>> Dot22Scalar()(x, y, a).eval({x: [[1.0, 2.0]], y: [[3.0], [4.0]], a: 10.0}).tolist()
    [[110.0]]
    """

    def make_node(self, x: Any, y: Any, a: Any) -> Apply:
        x, y, a = as_tensor_variable(x), as_tensor_variable(y), as_tensor_variable(a)
        if a.ndim != 0:
            raise TypeError(Gemm.E_scalar, a)
        if x.ndim != 2 or y.ndim != 2:
            raise TypeError(Gemm.E_rank, (x.type, y.type))
        if not a.dtype == x.dtype == y.dtype:
            raise TypeError("Dot22Scalar requires matching dtypes", (a.dtype, x.dtype, y.dtype))
        if x.dtype not in _BLAS_DTYPES:
            raise TypeError(f"Dot22Scalar requires floating-point dtypes, not {x.dtype}")
        return Apply(self, [x, y, a], [TensorType(x.dtype, (x.broadcastable[0], y.broadcastable[1]))()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Any) -> None:
        x, y, a = inputs
        out_storage[0][0] = np.asarray(a * np.dot(x, y), dtype=x.dtype)

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        return [(input_shapes[0][0], input_shapes[1][1])]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        x, y, a = inputs
        (g,) = output_grads
        return [a * ops.dot(g, y.T), a * ops.dot(x.T, g), (g * ops.dot(x, y)).sum()]

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        (rows, inner), (_, columns) = inputs[0], inputs[1]
        return 2 * rows * inner * columns


_dot22scalar = Dot22Scalar()


class BatchedDot(Op):
    """For each index along the first dimension, the dot product of the two slices.

    Each input has two or three dimensions. The output has one dimension for the batch, and one for each input of
    three dimensions.

    See Also
    --------
    theano.tensor.batched_dot : Return the product of each pair of elements along the first dimension of `a` and `b`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.arange(8.0).reshape((2, 2, 2)), T.ones((2, 2))
    >>> BatchedDot()(a, b).eval().tolist()
    [[1.0, 5.0], [9.0, 13.0]]
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        if len(inputs) != 2:
            raise TypeError(f"theano.tensor.blas.BatchedDot: two arguments required, but {len(inputs)} given.")
        x, y = (as_tensor_variable(v) for v in inputs)
        for name, var in (("first", x), ("second", y)):
            if var.ndim not in (2, 3):
                raise TypeError(
                    f"theano.tensor.blas.BatchedDot: input ({name}) should have 2 or 3 dimensions, but has {var.ndim}."
                )
        dtype = theano.scalar.upcast(x.dtype, y.dtype)
        x, y = (v if v.dtype == dtype else v.astype(dtype) for v in (x, y))
        broadcastable = (x.broadcastable[0] or y.broadcastable[0], *x.broadcastable[1:-1], *y.broadcastable[2:])
        return Apply(self, [x, y], [TensorType(dtype, broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Any) -> None:
        x, y = inputs
        if x.shape[0] != y.shape[0]:
            raise TypeError(
                "theano.tensor.blas.BatchedDot: inputs [x, y] must have the same size in axis 0, but have sizes "
                f"[{x.shape[0]}, {y.shape[0]}]."
            )
        left = x[:, None, :] if x.ndim == 2 else x
        right = y[:, :, None] if y.ndim == 2 else y
        out = np.matmul(left, right)
        if y.ndim == 2:
            out = out[:, :, 0]
        if x.ndim == 2:
            out = out[:, 0]
        out_storage[0][0] = np.ascontiguousarray(out)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        xshp, yshp = shapes
        return [(*xshp[:-1], *yshp[2:])]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, y = inputs
        (gz,) = grads
        xdim, ydim = x.ndim, y.ndim
        if xdim == 2 and ydim == 2:
            xgrad, ygrad = gz.dimshuffle(0, "x") * y, gz.dimshuffle(0, "x") * x
        elif xdim == 2:
            xgrad = ops.batched_dot(gz, y.dimshuffle(0, 2, 1))
            ygrad = x.dimshuffle(0, 1, "x") * gz.dimshuffle(0, "x", 1)
        elif ydim == 2:
            xgrad = gz.dimshuffle(0, 1, "x") * y.dimshuffle(0, "x", 1)
            ygrad = ops.batched_dot(x.dimshuffle(0, 2, 1), gz)
        else:
            xgrad = ops.batched_dot(gz, y.dimshuffle(0, 2, 1))
            ygrad = ops.batched_dot(x.dimshuffle(0, 2, 1), gz)
        # The product may lose a broadcastable dimension that the input had.
        if xgrad.broadcastable != x.broadcastable:
            xgrad = ops.patternbroadcast(xgrad, x.broadcastable)
        if ygrad.broadcastable != y.broadcastable:
            ygrad = ops.patternbroadcast(ygrad, y.broadcastable)
        return [xgrad, ygrad]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        x, y = inputs
        terms = []
        if eval_points[0] is not None:
            terms.append(self(eval_points[0], y))
        if eval_points[1] is not None:
            terms.append(self(x, eval_points[1]))
        return [sum(terms[1:], terms[0]) if terms else None]


_batched_dot = BatchedDot()


def _as_scalar(res: Any, dtype: str | None = None) -> Any:
    """`res` as a 0-d tensor if all its dimensions are broadcastable, else None."""
    dtype = res.type.dtype if dtype is None else dtype
    if res.type.ndim and not all(res.type.broadcastable):
        return None
    while res.owner is not None and isinstance(res.owner.op, DimShuffle):
        res = res.owner.inputs[0]
    if res.type.ndim and not all(res.type.broadcastable):
        return None
    scalar = res.dimshuffle() if res.type.ndim else res
    if scalar.type.dtype == dtype:
        return scalar
    # Gemm's scalars have the dtype of its matrices: narrowing one would change the value.
    if theano.scalar.upcast(scalar.type.dtype, dtype) == dtype:
        return ops.cast(scalar, dtype)
    return None


def _is_real_matrix(res: Any) -> bool:
    """Whether `res` is a matrix of reals without broadcastable dimensions."""
    return (
        res.type.ndim == 2
        and res.type.dtype in ("float16", "float32", "float64")
        and not res.type.broadcastable[0]
        and not res.type.broadcastable[1]
    )


def _is_real_vector(res: Any) -> bool:
    """Whether `res` is a vector of reals that is not broadcastable."""
    return res.type.ndim == 1 and res.type.dtype in ("float16", "float32", "float64") and not res.type.broadcastable[0]


__getattr__, __dir__ = aliases.lazy(__name__)


ops.gather(globals(), "BatchedDot")

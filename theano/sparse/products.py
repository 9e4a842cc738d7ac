"""Products of sparse matrices with sparse and dense ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from theano import scalar as scal
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.sparse.conversion import dense_from_sparse
from theano.sparse.elementwise import like_operand, operand, operands
from theano.sparse.structure import (
    compressed,
    places,
    rebuilt,
    sampled_at,
    stored_values,
    transpose,
    values_at,
    with_values,
)
from theano.sparse.type import SparseType, ops
from theano.sparse.variable import as_sparse_variable, is_sparse_variable, value_of
from theano.tensor.basic import outer
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.products import dot as tensor_dot
from theano.tensor.shaping import patternbroadcast
from theano.tensor.type import TensorType


def _turned(x: Any) -> Any:
    return transpose(x) if is_sparse_variable(x) else x.T


def _wide(x: Any) -> Any:
    return x.astype("float32") if x.type.dtype == "float16" else x


def _dense_product(x: Any, y: Any, dtype: str) -> np.ndarray:
    """The product as an array of a dtype, of which at least one operand is sparse."""
    inner_x, inner_y = x.shape[-1], y.shape[0]
    if inner_x != inner_y:
        raise ValueError(f"shapes {x.shape} and {y.shape} not aligned: {inner_x} (dim {x.ndim - 1}) != {inner_y} (dim 0)")
    if scipy.sparse.issparse(x) and x.shape[1] == 0 or scipy.sparse.issparse(y) and y.shape[0] == 0:
        return np.zeros((*x.shape[:-1], *y.shape[1:]), dtype=dtype)
    x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    product = x @ y if scipy.sparse.issparse(x) else (y.T @ x.T).T
    if scipy.sparse.issparse(product):
        product = product.toarray()
    return np.asarray(product, dtype=dtype)


class Dot(Op):
    """The product of two matrices or a matrix and a vector, at least one of them sparse: dense. The gradient is regular.

    See Also
    --------
    theano.sparse.TrueDot : The product of a sparse matrix with a sparse or dense one, sparse. The gradient is regular.
    theano.sparse.StructuredDot : The product of a sparse matrix with a dense one, dense, or with a sparse one, sparse.
        The gradient is structured.
    theano.sparse.dot : Return the product of two matrices, or a matrix and a vector, at least one of which is sparse.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> Dot()(sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]]), [10.0, 1.0]).eval()
    array([12.,  3.])
    """

    __props__: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "Sparse" + type(self).__name__

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = operand(x), operand(y)
        if not (is_sparse_variable(x) or is_sparse_variable(y)):
            raise TypeError(f"{self}: at least one of the matrices must be sparse, got {x.type} and {y.type}")
        for v in (x, y):
            if v.type.ndim not in (1, 2):
                raise TypeError(f"{self}: an operand must have 1 or 2 dimensions, got {v.type}")
        pattern = x.type.broadcastable[:-1] + y.type.broadcastable[1:]
        return Apply(self, [x, y], [TensorType(scal.upcast(x.type.dtype, y.type.dtype), pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        output_storage[0][0] = _dense_product(x, y, node.outputs[0].type.dtype)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        if x.type.ndim == 1:
            gx, gy = _times(gz, _turned(y)), outer(x, gz)
        elif y.type.ndim == 1:
            gx, gy = outer(gz, y), _times(_turned(x), gz)
        else:
            gx, gy = _times(gz, _turned(y)), _times(_turned(x), gz)
        return [_pattern_of(x, gx), _pattern_of(y, gy)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, y), (ex, ey) = inputs, eval_points
        terms = [] if ex is None else [_times(ex, y)]
        terms += [] if ey is None else [_times(x, ey)]
        return [sum(terms[1:], terms[0]) if terms else None]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        x, y = shapes
        return [(*x[:-1], *y[1:])]


def _times(x: Any, y: Any) -> Variable:
    """The dense product of any two matrices."""
    return _dot(x, y) if is_sparse_variable(x) or is_sparse_variable(y) else tensor_dot(x, y)


def _pattern_of(x: Any, g: Any) -> Variable:
    """The dense gradient of an operand, in its dtype and of its pattern."""
    if is_sparse_variable(x):
        return g if g.dtype == x.dtype else g.astype(x.dtype) if x.dtype.startswith(("float", "complex")) else g
    return patternbroadcast(like_operand(x, g), x.type.broadcastable)


_dot = Dot()


class DotWithValues(Dot):
    """``dot(with_values(x, data), y)`` for a dense `y`, without putting the matrix together."""

    def make_node(self, x: Any, data: Any, y: Any) -> Apply:
        x, data, y = compressed(x, str(self)), as_tensor_variable(data), as_tensor_variable(y)
        if data.type.ndim != 1 or y.type.ndim not in (1, 2):
            raise TypeError(f"{self} takes a vector of values and a dense matrix or vector, got {data.type} and {y.type}")
        dtype = scal.upcast(data.type.dtype, y.type.dtype)
        return Apply(self, [x, data, y], [TensorType(dtype, (False, *y.type.broadcastable[1:]))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, data, y = inputs
        output_storage[0][0] = _dense_product(rebuilt(x, data), y, node.outputs[0].type.dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [True], [True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, data, y), (gz,) = inputs, grads
        gdata = dot_at(x, gz, y) if y.type.ndim == 2 else dot_at(x, gz.dimshuffle(0, "x"), y.dimshuffle(0, "x"))
        turned = _dot(transpose(with_values(x, data)), gz)
        return [DisconnectedType()(), like_operand(data, gdata), _pattern_of(y, turned)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, data, y), (_, edata, ey) = inputs, eval_points
        terms = [] if edata is None else [self(x, edata, y)]
        terms += [] if ey is None else [self(x, data, ey)]
        return [sum(terms[1:], terms[0]) if terms else None]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[0][0], *shapes[2][1:])]


dot_with_values = DotWithValues()


class DotAt(Op):
    """The elements of ``dot(a, b.T)``, of two dense matrices, at the places of the stored values of `x`: a vector.

    Only these are computed.
    """

    __props__ = ()

    def make_node(self, x: Any, a: Any, b: Any) -> Apply:
        x, a, b = compressed(x, "dot_at"), as_tensor_variable(a), as_tensor_variable(b)
        if a.type.ndim != 2 or b.type.ndim != 2:
            raise TypeError(f"dot_at takes two dense matrices, got {a.type} and {b.type}")
        return Apply(self, [x, a, b], [TensorType(scal.upcast(a.type.dtype, b.type.dtype), (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, a, b = inputs
        if a.shape[1] != b.shape[1] or x.shape != (a.shape[0], b.shape[0]):
            raise ValueError(f"{self}: places of a matrix of shape {x.shape} in the product of {a.shape} and {b.shape[::-1]}")
        rows, columns = places(x)
        out = np.empty(len(rows), dtype=node.outputs[0].type.dtype)
        step = max(1, 2**20 // max(1, a.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            np.einsum("ij,ij->i", a[rows[part]], b[columns[part]], out=out[part], casting="same_kind")
        output_storage[0][0] = out

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [True], [True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, a, b), (gz,) = inputs, grads
        ga, gb = dot_with_values(x, gz, b), _dot(transpose(with_values(x, gz)), a)
        return [DisconnectedType()(), _pattern_of(a, ga), _pattern_of(b, gb)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, a, b), (_, ea, eb) = inputs, eval_points
        terms = [] if ea is None else [self(x, ea, b)]
        terms += [] if eb is None else [self(x, a, eb)]
        return [sum(terms[1:], terms[0]) if terms else None]


dot_at = DotAt()


def dot(x: Any, y: Any) -> Variable:
    """Return the product of two matrices, or a matrix and a vector, at least one of which is sparse.

    Parameters
    ----------
    x : matrix or vector
        Of shape (m, k).
    y : matrix or vector
        Of shape (k, n), or (k,).

    Returns
    -------
    TensorVariable
        Dense. The gradient is regular, and dense.

    Raises
    ------
    TypeError
        If both are dense, or one has another rank.

    See Also
    --------
    true_dot : With a sparse result.
    structured_dot : With a sparse gradient.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> dot(sp.csr_matrix([[1.0, 2.0]]), [[3.0], [4.0]]).eval()
    array([[11.]])
    """
    x, y = operands("dot", x, y)
    if scal.upcast(x.type.dtype, y.type.dtype) == "float16":
        # SciPy has no matrices of float16.
        return dot(*map(_wide, (x, y))).astype("float16")
    return _dot(x, y)


class StructuredDot(Op):
    """The product of a sparse matrix with a dense one, dense, or with a sparse one, sparse. The gradient is structured.

    See Also
    --------
    theano.sparse.dot : Return the product of two matrices, or a matrix and a vector, at least one of which is sparse.
    theano.sparse.TrueDot : The product of a sparse matrix with a sparse or dense one, sparse. The gradient is regular.
    theano.sparse.StructuredDotGradCSC : The gradient of a product with respect to the stored values of a csc matrix.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> import theano
    >>> x, value = SparseType("csr", "float64")("x"), sp.csr_matrix([[0.0, 2.0]])
    >>> product = StructuredDot()(x, np.array([[3.0], [4.0]]))
    >>> product.eval({x: value}), theano.grad(product.sum(), x).eval({x: value}).toarray()
    (array([[8.]]), array([[0., 4.]]))
    """

    __props__ = ()

    def make_node(self, a: Any, b: Any) -> Apply:
        a, b = as_sparse_variable(a), operand(b)
        if b.type.ndim != 2:
            raise NotImplementedError(f"structured_dot takes matrices, got {b.type}")
        dtype = scal.upcast(a.type.dtype, b.type.dtype)
        if is_sparse_variable(b):
            return Apply(self, [a, b], [SparseType(a.type.format, dtype)()])
        return Apply(self, [a, b], [TensorType(dtype, (False, b.type.broadcastable[1]))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, b = inputs
        type_ = node.outputs[0].type
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"shape mismatch in StructuredDot.perform: {(a.shape, b.shape)}")
        if isinstance(type_, SparseType):
            output_storage[0][0] = value_of(a @ b, type_)
        else:
            output_storage[0][0] = _dense_product(a, b, type_.dtype)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (a, b), (gz,) = inputs, grads
        ga = structured_dot_grad(a, b, gz)
        gb = structured_dot(transpose(a), gz)
        if is_sparse_variable(b):
            return [like_operand(a, ga), like_operand(b, gb)]
        return [like_operand(a, ga), _pattern_of(b, gb)]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[0][0], shapes[1][1])]


_structured_dot = StructuredDot()


def structured_dot(x: Any, y: Any) -> Variable:
    """Return the product of two matrices, whose gradient for a sparse one holds only the places of its stored values.

    Parameters
    ----------
    x, y : matrix
        At least one sparse.

    Returns
    -------
    Variable
        Sparse, in the format of `x`, if both are sparse; else dense. The gradient is structured: sparse for sparse
        operands, dense for dense ones.

    Raises
    ------
    TypeError
        If both are dense.

    See Also
    --------
    dot : With a dense gradient.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> structured_dot(sp.csr_matrix([[1.0, 2.0]]), [[3.0], [4.0]]).eval()
    array([[11.]])
    """
    x, y = operands("structured_dot", x, y)
    if scal.upcast(x.type.dtype, y.type.dtype) == "float16":
        return structured_dot(*map(_wide, (x, y))).astype("float16")
    if is_sparse_variable(x):
        return _dot(x, y) if y.type.ndim == 1 else _structured_dot(x, y)
    return _dot(x, y) if x.type.ndim == 1 else _structured_dot(transpose(y), x.T).T


def structured_dot_grad(sparse_A: Any, dense_B: Any, ga: Any) -> Variable:
    """Return the structured gradient of a product with respect to its first, sparse operand.

    Parameters
    ----------
    sparse_A : sparse matrix
        csr or csc.
    dense_B : matrix
        The other operand.
    ga : matrix
        The gradient of the product.

    Returns
    -------
    SparseVariable
        With the places of `sparse_A`.

    See Also
    --------
    theano.sparse.structured_dot : Return the product of two matrices, whose gradient for a sparse one holds only the
        places of its stored values.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> structured_dot_grad(sp.csr_matrix([[0.0, 2.0]]), np.array([[3.0], [4.0]]), np.ones((1, 1))).eval().toarray()
    array([[0., 4.]])
    """
    if is_sparse_variable(dense_B) or is_sparse_variable(ga):
        return sampled_at(sparse_A, true_dot(ga, _turned(dense_B)))
    return with_values(sparse_A, dot_at(sparse_A, ga, dense_B))


class _StructuredDotGrad(Op):
    """Base class of the gradients of a product with respect to the stored values of its sparse operand."""

    __props__ = ()
    format = "csr"

    def make_node(self, a_indices: Any, a_indptr: Any, b: Any, g_ab: Any) -> Apply:
        variables = [as_tensor_variable(v) for v in (a_indices, a_indptr, b, g_ab)]
        dtype = scal.upcast(variables[2].type.dtype, variables[3].type.dtype)
        return Apply(self, variables, [TensorType(dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        indices, indptr, b, g = inputs
        lines = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        rows, columns = (lines, indices) if self.format == "csr" else (indices, lines)
        dtype = node.outputs[0].type.dtype
        output_storage[0][0] = np.einsum("ij,ij->i", g[rows], b[columns]).astype(dtype, copy=False)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


class StructuredDotGradCSC(_StructuredDotGrad):
    """The gradient of a product with respect to the stored values of a csc matrix, given by its arrays: a vector.

    For a value in row i and column j it is ``sum_k b[j, k] g[i, k]``: `b` is the dense factor, `g` the product's gradient.

    See Also
    --------
    theano.sparse.StructuredDotGradCSR : The gradient of a product with respect to the stored values of a csr matrix.
    theano.sparse.StructuredDot : The product of a sparse matrix with a dense one, dense, or with a sparse one, sparse.
        The gradient is structured.
    theano.sparse.sdg_csc : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a, b, gradient = sp.csc_matrix([[0.0, 2.0]]), [[3.0], [4.0]], [[10.0]]
    >>> sdg_csc(a.indices, a.indptr, b, gradient).eval()
    array([40.])
    """

    format = "csc"


class StructuredDotGradCSR(_StructuredDotGrad):
    """The gradient of a product with respect to the stored values of a csr matrix, given by its arrays: a vector.

    For a value in row i and column j it is ``sum_k b[j, k] g[i, k]``: `b` is the dense factor, `g` the product's gradient.

    See Also
    --------
    theano.sparse.structured_dot : Return the product of two matrices, whose gradient for a sparse one holds only the
        places of its stored values.
    theano.sparse.StructuredDotGradCSC : The gradient of a product with respect to the stored values of a csc matrix.
    theano.sparse.sdg_csr : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a, b, gradient = sp.csr_matrix([[0.0, 2.0]]), [[3.0], [4.0]], [[10.0]]
    >>> sdg_csr(a.indices, a.indptr, b, gradient).eval()
    array([40.])
    """

    format = "csr"


sdg_csc = StructuredDotGradCSC()
sdg_csr = StructuredDotGradCSR()


class TrueDot(Op):
    """The product of a sparse matrix with a sparse or dense one, sparse. The gradient is regular.

    Parameters
    ----------
    grad_preserves_dense : bool
        Whether the gradient of a dense operand is dense.

    See Also
    --------
    theano.sparse.StructuredDot : The product of a sparse matrix with a dense one, dense, or with a sparse one, sparse.
        The gradient is structured.
    theano.sparse.Dot : The product of two matrices or a matrix and a vector, at least one of them sparse: dense. The
        gradient is regular.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> product = TrueDot()(sp.csr_matrix([[1.0, 2.0]]), sp.csr_matrix([[3.0, 0.0], [4.0, 0.0]]))
    >>> product.type, product.eval().toarray()
    (Sparse[float64, csr], array([[11.,  0.]]))
    """

    __props__ = ("grad_preserves_dense",)

    def __init__(self, grad_preserves_dense: bool = True) -> None:
        self.grad_preserves_dense = grad_preserves_dense

    def __str__(self) -> str:
        return type(self).__name__

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = as_sparse_variable(x), operand(y)
        if y.type.ndim != 2:
            raise TypeError(f"true_dot takes matrices, got {y.type}")
        return Apply(self, [x, y], [SparseType(dtype=scal.upcast(x.type.dtype, y.type.dtype), format=x.type.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        if x.shape[1] != y.shape[0]:
            raise ValueError(f"{self}: shapes {x.shape} and {y.shape} not aligned")
        type_ = node.outputs[0].type
        product = x.astype(type_.dtype, copy=False) @ y.astype(type_.dtype, copy=False)
        made = product if scipy.sparse.issparse(product) else SparseType.format_cls[type_.format](product)
        output_storage[0][0] = value_of(made, type_)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        gx, gy = (
            true_dot(a, b) if is_sparse_variable(a) or is_sparse_variable(b) else tensor_dot(a, b)
            for a, b in ((gz, _turned(y)), (_turned(x), gz))
        )
        if not is_sparse_variable(y) and self.grad_preserves_dense:
            gy = _pattern_of(y, dense_from_sparse(gy) if is_sparse_variable(gy) else gy)
        return [gx, gy]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[0][0], shapes[1][1])]


def true_dot(x: Any, y: Any, grad_preserves_dense: bool = True) -> Variable:
    """Return the product of two matrices, at least one of which is sparse, as a sparse matrix.

    Parameters
    ----------
    x : matrix
        Of shape (m, k).
    y : matrix
        Of shape (k, n).
    grad_preserves_dense : bool
        Whether the gradient of a dense operand is dense; else it is sparse.

    Returns
    -------
    SparseVariable
        In the format of `x`, or of the only sparse matrix. The gradient is regular.

    Raises
    ------
    TypeError
        If both are dense.

    See Also
    --------
    dot : With a dense result.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> true_dot(sp.csr_matrix([[1.0, 2.0]]), [[3.0], [4.0]]).type
    Sparse[float64, csr]
    """
    x, y = operands("true_dot", x, y)
    product = TrueDot(grad_preserves_dense)
    return product(x, y) if is_sparse_variable(x) else transpose(product(transpose(y), x.T))


class SamplingDot(Op):
    """``p * dot(x, y.T)`` of two dense matrices and a sparse `p`, computed only where `p` stores values.

    The gradient with respect to `p` is structured, those of the dense matrices are regular.

    See Also
    --------
    theano.sparse.Usmm : ``alpha * dot(x, y) + z`` with a dense `z`, of which at least one factor is sparse: dense. It has
        no gradient.
    theano.sparse.Dot : The product of two matrices or a matrix and a vector, at least one of them sparse: dense. The
        gradient is regular.
    theano.sparse.sandbox.sp2.SamplingDotCSR : ``p * dot(x, y.T)`` where a csr matrix `p`, given by its arrays and number
        of columns, stores values: three arrays.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)
    >>> sampling_dot(x, y, sp.csr_matrix([[0.0, 10.0], [0.0, 0.0]])).eval().toarray()
    array([[ 0., 20.],
           [ 0.,  0.]])
    """

    __props__ = ()

    def make_node(self, x: Any, y: Any, p: Any) -> Apply:
        x, y, p = as_tensor_variable(x), as_tensor_variable(y), as_sparse_variable(p)
        if x.type.ndim != 2 or y.type.ndim != 2:
            raise TypeError(f"sampling_dot takes dense matrices, got {x.type} and {y.type}")
        p = compressed(p, "sampling_dot")
        dtype = scal.upcast(x.type.dtype, y.type.dtype, p.type.dtype)
        return Apply(self, [x, y, p], [SparseType(dtype=dtype, format=p.type.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y, p = inputs
        found: list[list[Any]] = [[None]]
        dot_at.perform(dot_at.make_node(node.inputs[2], *node.inputs[:2]), [p, x, y], found)
        output_storage[0][0] = value_of(rebuilt(p, p.data[: p.indptr[-1]] * found[0][0]), node.outputs[0].type)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, y, p), (gz,) = inputs, grads
        spread = with_values(p, stored_values(p) * values_at(p, gz))
        gp = with_values(p, dot_at(p, x, y) * values_at(p, gz))
        return [_pattern_of(x, _dot(spread, y)), _pattern_of(y, _dot(transpose(spread), x)), like_operand(p, gp)]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[2]]


sampling_dot = SamplingDot()


class Usmm(Op):
    """``alpha * dot(x, y) + z`` with a dense `z`, of which at least one factor is sparse: dense. It has no gradient.

    Rewrites make it of a product and a sum. `alpha` is a matrix that broadcasts in both dimensions.

    See Also
    --------
    theano.sparse.Dot : The product of two matrices or a matrix and a vector, at least one of them sparse: dense. The
        gradient is regular.
    theano.sparse.SamplingDot : ``p * dot(x, y.T)`` of two dense matrices and a sparse `p`, computed only where `p` stores
        values.
    theano.sparse.usmm : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> usmm([[10.0]], sp.csr_matrix([[1.0, 2.0]]), [[3.0], [4.0]], [[0.5]]).eval()
    array([[110.5]])
    """

    __props__ = ()

    def make_node(self, alpha: Any, x: Any, y: Any, z: Any) -> Apply:
        alpha, x, y, z = as_tensor_variable(alpha), operand(x), operand(y), as_tensor_variable(z)
        if not (is_sparse_variable(x) or is_sparse_variable(y)):
            raise TypeError(f"Usmm: at least one of the factors must be sparse, got {x.type} and {y.type}")
        if alpha.type.ndim != 2 or alpha.type.broadcastable != (True, True):
            raise TypeError(f"Usmm: alpha must be a matrix that broadcasts in both dimensions, got {alpha.type}")
        if x.type.ndim != 2 or y.type.ndim != 2 or z.type.ndim != 2:
            raise TypeError(f"Usmm takes matrices, got {x.type}, {y.type} and {z.type}")
        dtype = scal.upcast(alpha.type.dtype, x.type.dtype, y.type.dtype, z.type.dtype)
        return Apply(self, [alpha, x, y, z], [TensorType(dtype, (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        alpha, x, y, z = inputs
        dtype = node.outputs[0].type.dtype
        out = _dense_product(x, y, scal.upcast(str(x.dtype), str(y.dtype))).astype(dtype)
        if out.shape != z.shape:
            raise ValueError(f"Usmm: a product of shape {out.shape} and a matrix of shape {z.shape}")
        out *= alpha
        out += z
        output_storage[0][0] = out

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[1][0], shapes[2][1])]


usmm = Usmm()
ops.gather(globals(), "dot structured_dot true_dot")

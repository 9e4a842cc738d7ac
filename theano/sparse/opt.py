"""Operations on the arrays of sparse matrices, and rewrites to them.

What runs by default are the rewrites of `theano.sparse.rewriting`, which take index arrays of any dtype. Those of this file
that take a matrix apart into arrays of int32 (``local_addsd_ccode``, ``local_usmm_csx``) run where a mode includes them by
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from theano import aliases
from theano import gof as gof
from theano import scalar as scalar
from theano.configdefaults import config
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.opt import PatternSub, TopoOptimizer, copy_stack_trace, local_optimizer
from theano.gof.rewriting.stages import optdb
from theano.sparse import basic as sparse
from theano.sparse.basic import CSC as CSC
from theano.sparse.basic import CSR as CSR
from theano.sparse.basic import csm_data as csm_data
from theano.sparse.basic import csm_grad as csm_grad
from theano.sparse.basic import csm_indices as csm_indices
from theano.sparse.basic import csm_indptr as csm_indptr
from theano.sparse.basic import csm_properties as csm_properties
from theano.sparse.basic import usmm as usmm
from theano.sparse.conversion import DenseFromSparse, SparseFromDense
from theano.sparse.elementwise import AddSD
from theano.sparse.products import Usmm, _dot
from theano.sparse.rewriting import local_csm_grad_c as local_csm_grad_c
from theano.sparse.rewriting import local_mul_s_d as local_mul_s_d
from theano.sparse.rewriting import local_mul_s_v as local_mul_s_v
from theano.sparse.rewriting import local_sampling_dot_csr as local_sampling_dot_csr
from theano.sparse.rewriting import local_structured_add_s_v as local_structured_add_s_v
from theano.sparse.rewriting import local_structured_dot as local_structured_dot
from theano.sparse.structure import CSM, CSMProperties, Remove0
from theano.sparse.variable import is_sparse_variable
from theano.tensor import basic as tensor
from theano.tensor import blas as blas
from theano.tensor.rewriting.registry import register_canonicalize as register_canonicalize
from theano.tensor.rewriting.registry import register_specialize as register_specialize
from theano.tensor.type import TensorType


def _lines(indptr: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


class _OnArrays(Op):
    """Base class of operations on the arrays ``(data, indices, indptr)`` of a matrix, and what else they take."""

    __props__: tuple[str, ...] = ()
    format = "csr"

    def __str__(self) -> str:
        return type(self).__name__

    def _places(self, indices: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lines = _lines(indptr)
        return (lines, indices) if self.format == "csr" else (indices, lines)

    def _matrix(self, data: Any, indices: Any, indptr: Any, length: int) -> Any:
        shape = (len(indptr) - 1, length)
        if self.format == "csr":
            return scipy.sparse.csr_matrix((data, indices, indptr), shape=shape)
        return scipy.sparse.csc_matrix((data, indices, indptr), shape=shape[::-1])


def _variables(*inputs: Any) -> list[Any]:
    return [tensor.as_tensor_variable(v) for v in inputs]


def _upcast(*variables: Any) -> str:
    return scalar.upcast(*[v.type.dtype for v in variables])


class StructuredDotCSC(_OnArrays):
    """The product of a csc matrix, given by its arrays and number of rows, with a dense matrix.

    See Also
    --------
    theano.sparse.opt.sd_csc : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csc_matrix([[1.0, 2.0], [0.0, 3.0]])
    >>> sd_csc(a.data, a.indices, a.indptr, a.shape[0], [[10.0], [1.0]]).eval()
    array([[12.],
           [ 3.]])
    """

    format = "csc"

    def make_node(self, a_val: Any, a_ind: Any, a_ptr: Any, a_nrows: Any, b: Any) -> Apply:
        inputs = _variables(a_val, a_ind, a_ptr, a_nrows, b)
        type_ = TensorType(_upcast(inputs[0], inputs[4]), (False, inputs[4].type.broadcastable[1]))
        return Apply(self, inputs, [type_()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, indices, indptr, rows, b = inputs
        product = self._matrix(data, indices, indptr, int(rows)) @ b
        output_storage[0][0] = np.asarray(product, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(node.inputs[3].astype("int64"), shapes[4][1])]


sd_csc = StructuredDotCSC()


class StructuredDotCSR(_OnArrays):
    """The product of a csr matrix, given by its arrays, with a dense matrix.

    See Also
    --------
    theano.sparse.opt.sd_csr : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]])
    >>> sd_csr(a.data, a.indices, a.indptr, [[10.0], [1.0]]).eval()
    array([[12.],
           [ 3.]])
    """

    def make_node(self, a_val: Any, a_ind: Any, a_ptr: Any, b: Any) -> Apply:
        inputs = _variables(a_val, a_ind, a_ptr, b)
        type_ = TensorType(_upcast(inputs[0], inputs[3]), (False, inputs[3].type.broadcastable[1]))
        return Apply(self, inputs, [type_()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, indices, indptr, b = inputs
        product = self._matrix(data, indices, indptr, b.shape[0]) @ b
        output_storage[0][0] = np.asarray(product, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [(shapes[2][0] - 1, shapes[3][1])]


sd_csr = StructuredDotCSR()


class UsmmCscDense(_OnArrays):
    """``alpha * dot(x, y) + z`` for a csc matrix `x`, given by its arrays and number of rows, and dense `y` and `z`.

    Parameters
    ----------
    inplace : bool
        Whether `z` is overwritten.

    See Also
    --------
    theano.sparse.opt.usmm_csc_dense : An instance of it.
    theano.sparse.opt.usmm_csc_dense_inplace : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y, z = sp.csc_matrix([[1.0, 2.0]]), [[3.0], [4.0]], [[0.5]]
    >>> usmm_csc_dense([[10.0]], x.data, x.indices, x.indptr, x.shape[0], y, z).eval()
    array([[110.5]])
    >>> usmm_csc_dense.inplace, usmm_csc_dense_inplace.destroy_map
    (False, {0: [6]})
    """

    __props__ = ("inplace",)
    format = "csc"

    def __init__(self, inplace: bool) -> None:
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [6]}

    def __str__(self) -> str:
        return f"UsmmCscDense{{{'inplace' if self.inplace else 'no_inplace'}}}"

    def make_node(self, alpha: Any, x_val: Any, x_ind: Any, x_ptr: Any, x_nrows: Any, y: Any, z: Any) -> Apply:
        inputs = _variables(alpha, x_val, x_ind, x_ptr, x_nrows, y, z)
        dtype = _upcast(inputs[0], inputs[1], inputs[5], inputs[6])
        if self.inplace and inputs[6].type.dtype != dtype:
            raise TypeError(f"{self}: z of dtype {inputs[6].type.dtype} cannot hold the result of dtype {dtype}")
        return Apply(self, inputs, [TensorType(dtype, (False, inputs[5].type.broadcastable[1]))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        alpha, data, indices, indptr, rows, y, z = inputs
        product = np.asarray(self._matrix(data, indices, indptr, int(rows)) @ y) * alpha
        if product.shape != z.shape:
            raise ValueError(f"{self}: a product of shape {product.shape} and a matrix of shape {z.shape}")
        out = z if self.inplace else z.astype(node.outputs[0].type.dtype)
        out += product
        output_storage[0][0] = out

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[6]]


usmm_csc_dense = UsmmCscDense(inplace=False)
usmm_csc_dense_inplace = UsmmCscDense(inplace=True)


class CSMGradC(_OnArrays):
    """The elements of a matrix `b` at the places of a matrix `a`, both given by their four arrays, of one format.

    See Also
    --------
    theano.sparse.opt.csm_grad_c : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a, b = sp.csr_matrix([[0.0, 2.0]]), sp.csr_matrix([[10.0, 20.0]])
    >>> csm_grad_c(a.data, a.indices, a.indptr, a.shape, b.data, b.indices, b.indptr, b.shape).eval()
    array([20.])
    """

    def make_node(self, *arrays: Any) -> Apply:
        inputs = _variables(*arrays)
        if len(inputs) != 8:
            raise TypeError(f"CSMGradC takes two times four arrays, got {len(inputs)}")
        return Apply(self, inputs, [inputs[4].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        _, a_ind, a_ptr, _, b_val, b_ind, b_ptr, b_dim = inputs
        length = 1 + max(int(a_ind.max(initial=-1)), int(b_ind.max(initial=-1)), int(b_dim.max(initial=0)) - 1)
        b = self._matrix(b_val, b_ind, b_ptr, length)
        lines = _lines(a_ptr)
        found = np.asarray(b[lines, a_ind]).ravel() if len(lines) else np.empty(0)
        output_storage[0][0] = found.astype(node.outputs[0].type.dtype, copy=False)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


csm_grad_c = CSMGradC()


class _ValuesOnArrays(_OnArrays):
    """Base class of operations that give new values for the same places."""

    ndim = 2

    def make_node(self, a_data: Any, a_indices: Any, a_indptr: Any, b: Any) -> Apply:
        inputs = _variables(a_data, a_indices, a_indptr, b)
        if inputs[3].type.ndim != self.ndim:
            raise TypeError(f"{self} takes a tensor of {self.ndim} dimensions, got {inputs[3].type}")
        return Apply(self, inputs, [TensorType(_upcast(inputs[0], inputs[3]), (False,))()])

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


class MulSDCSR(_ValuesOnArrays):
    """The values of a csr matrix times a dense matrix, elementwise.

    See Also
    --------
    theano.sparse.MulSD : The elementwise product of a sparse matrix and a dense one, or a number: sparse. The gradient is
        regular.
    theano.sparse.sandbox.sp2.MulSDCSC : The values of a csc matrix times a dense matrix, elementwise.
    theano.sparse.sandbox.sp2.mul_s_d_csr : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]])
    >>> mul_s_d_csr(a.data, a.indices, a.indptr, [[1.0, 10.0], [100.0, 1000.0]]).eval()
    array([ 20., 300.])
    """

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, indices, indptr, b = inputs
        output_storage[0][0] = np.asarray(data * b[self._places(indices, indptr)], dtype=node.outputs[0].type.dtype)


class MulSDCSC(MulSDCSR):
    """The values of a csc matrix times a dense matrix, elementwise.

    See Also
    --------
    theano.sparse.sandbox.sp2.MulSDCSR : The values of a csr matrix times a dense matrix, elementwise.
    theano.sparse.MulSD : The elementwise product of a sparse matrix and a dense one, or a number: sparse. The gradient is
        regular.
    theano.sparse.sandbox.sp2.mul_s_d_csc : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csc_matrix([[0.0, 2.0], [3.0, 0.0]])
    >>> mul_s_d_csc(a.data, a.indices, a.indptr, [[1.0, 10.0], [100.0, 1000.0]]).eval()
    array([300.,  20.])
    """

    format = "csc"


class MulSVCSR(_ValuesOnArrays):
    """The values of a csr matrix with each column multiplied by an element of a vector.

    See Also
    --------
    theano.sparse.MulSV : A sparse matrix with each column multiplied by an element of a vector. The gradient is regular.
    theano.sparse.sandbox.sp2.mul_s_v_csr : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csr_matrix([[1.0, 2.0], [3.0, 0.0]])
    >>> mul_s_v_csr(a.data, a.indices, a.indptr, [10.0, 100.0]).eval()
    array([ 10., 200.,  30.])
    """

    ndim = 1

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, indices, _, b = inputs
        output_storage[0][0] = np.asarray(data * b[indices], dtype=node.outputs[0].type.dtype)


class StructuredAddSVCSR(_ValuesOnArrays):
    """The values of a csr matrix with an element of a vector added to each column.

    See Also
    --------
    theano.sparse.StructuredAddSV : A sparse matrix with an element of a vector added to the stored values of each column.
        The gradient is structured.
    theano.sparse.sandbox.sp2.structured_add_s_v_csr : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> a = sp.csr_matrix([[1.0, 2.0], [3.0, 0.0]])
    >>> structured_add_s_v_csr(a.data, a.indices, a.indptr, [10.0, 100.0]).eval()
    array([ 11., 102.,  13.])
    """

    ndim = 1

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, indices, _, b = inputs
        output_storage[0][0] = np.asarray(data + b[indices], dtype=node.outputs[0].type.dtype)


mul_s_d_csr = MulSDCSR()
mul_s_d_csc = MulSDCSC()
mul_s_v_csr = MulSVCSR()
structured_add_s_v_csr = StructuredAddSVCSR()


class SamplingDotCSR(_OnArrays):
    """``p * dot(x, y.T)`` where a csr matrix `p`, given by its arrays and number of columns, stores values: three arrays.

    See Also
    --------
    theano.sparse.SamplingDot : ``p * dot(x, y.T)`` of two dense matrices and a sparse `p`, computed only where `p` stores
        values.
    theano.sparse.sandbox.sp2.sampling_dot_csr : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y, p = [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]], sp.csr_matrix([[0.0, 10.0], [0.0, 0.0]])
    >>> data, indices, indptr = sampling_dot_csr(x, y, p.data, p.indices, p.indptr, p.shape[1])
    >>> data.eval(), indices.eval().tolist(), indptr.eval().tolist()
    (array([20.]), [1], [0, 1, 1])
    """

    def make_node(self, x: Any, y: Any, p_data: Any, p_ind: Any, p_ptr: Any, p_ncols: Any) -> Apply:
        inputs = _variables(x, y, p_data, p_ind, p_ptr, p_ncols)
        out = TensorType(_upcast(*inputs[:3]), (False,))
        return Apply(self, inputs, [out(), inputs[3].type(), inputs[4].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y, data, indices, indptr, _ = inputs
        found = np.einsum("ij,ij->i", x[_lines(indptr)], y[indices]) * data
        output_storage[0][0] = found.astype(node.outputs[0].type.dtype, copy=False)
        output_storage[1][0], output_storage[2][0] = indices.copy(), indptr.copy()

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[2], shapes[3], shapes[4]]


sampling_dot_csr = SamplingDotCSR()


class AddSD_ccode(_OnArrays):  # noqa: N801
    """The sum of a sparse matrix, given by its arrays, and a dense one.

    Parameters
    ----------
    format : {'csr', 'csc'}
        How the stored values lie.
    inplace : bool
        Whether the dense matrix is overwritten.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y = sp.csr_matrix([[0.0, 2.0]]), [[1.0, 1.0]]
    >>> AddSD_ccode("csr")(x.data, x.indices, x.indptr, y).eval()
    array([[1., 3.]])
    >>> AddSD_ccode("csr", inplace=True).destroy_map
    {0: [3]}
    """

    __props__ = ("format", "inplace")

    def __init__(self, format: str, inplace: bool = False) -> None:
        self.format = format
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [3]}

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.format}{', inplace' if self.inplace else ''}}}"

    def make_node(self, x_data: Any, x_indices: Any, x_indptr: Any, y: Any) -> Apply:
        inputs = _variables(x_data, x_indices, x_indptr, y)
        dtype = _upcast(inputs[0], inputs[3])
        if self.inplace and inputs[3].type.dtype != dtype:
            raise TypeError(f"{self}: a matrix of dtype {inputs[3].type.dtype} cannot hold the sum of dtype {dtype}")
        return Apply(self, inputs, [TensorType(dtype, inputs[3].type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data, indices, indptr, y = inputs
        out = y if self.inplace else y.astype(node.outputs[0].type.dtype)
        np.add.at(out, self._places(indices, indptr), data)
        output_storage[0][0] = out

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[3]]


@register_specialize
@local_optimizer([CSMProperties])
def local_csm_properties_csm(node: Any) -> Any:
    """``csm_properties(CSM(data, indices, indptr, shape)) -> data, indices, indptr, shape``; without a kmap"""
    if not isinstance(node.op, CSMProperties):
        return False
    made = node.inputs[0].owner
    if made is None or not isinstance(made.op, CSM) or made.op.kmap is not None:
        return False
    new = [tensor.patternbroadcast(v, out.broadcastable) for v, out in zip(made.inputs, node.outputs)]
    if any(v.type.dtype != out.type.dtype for v, out in zip(new, node.outputs)):
        # Whether longer indices fit int32 is checked at run time.
        return False
    copy_stack_trace(node.outputs, new)
    return new


@register_specialize
@local_optimizer([DenseFromSparse])
def local_dense_from_sparse_sparse_from_dense(node: Any) -> Any:
    """``dense_from_sparse(csr_from_dense(x)) -> x``, and csc"""
    if not isinstance(node.op, DenseFromSparse):
        return False
    made = node.inputs[0].owner
    if made is None or not isinstance(made.op, SparseFromDense):
        return False
    new = tensor.patternbroadcast(made.inputs[0], node.outputs[0].broadcastable)
    copy_stack_trace(node.outputs, new)
    return [new]


@local_optimizer([Remove0], inplace=True)
def local_inplace_remove0(node: Any) -> Any:
    """``remove0(x) -> remove0{inplace}(x)``"""
    if not isinstance(node.op, Remove0) or node.op.inplace:
        return False
    new = type(node.op)(inplace=True)(*node.inputs)
    copy_stack_trace(node.outputs, new)
    return [new]


optdb.register(
    "local_inplace_remove0",
    TopoOptimizer(local_inplace_remove0, failure_callback=TopoOptimizer.warn_inplace),
    60,
    "fast_run",
    "inplace",
)


@local_optimizer([AddSD])
def local_addsd_ccode(node: Any) -> Any:
    """``add_s_d(x, y) -> AddSD_ccode(csm_data(x), csm_indices(x), csm_indptr(x), y)``"""
    if not isinstance(node.op, AddSD) or node.inputs[0].type.format not in ("csr", "csc"):
        return False
    x, y = node.inputs
    new = AddSD_ccode(x.type.format)(*csm_properties(x)[:3], y)
    copy_stack_trace(node.outputs, new)
    return [new]


@local_optimizer([AddSD_ccode], inplace=True)
def local_inplace_addsd_ccode(node: Any) -> Any:
    """``AddSD_ccode -> AddSD_ccode{inplace}``, where the dense matrix has the dtype of the sum"""
    if not isinstance(node.op, AddSD_ccode) or node.op.inplace:
        return False
    if node.inputs[3].type.dtype != node.outputs[0].type.dtype:
        return False
    new = AddSD_ccode(node.op.format, inplace=True)(*node.inputs)
    copy_stack_trace(node.outputs, new)
    return [new]


optdb["specialize"].register("local_addsd_ccode", local_addsd_ccode)
optdb.register(
    "local_inplace_addsd_ccode",
    TopoOptimizer(local_inplace_addsd_ccode, failure_callback=TopoOptimizer.warn_inplace),
    60,
    "fast_run",
    "inplace",
)


def _is_number_for_usmm(expr: Any) -> bool:
    """Whether `expr` is a factor of a product that BLAS, named by ``config.blas.ldflags``, may take over."""
    return bool(config.blas.ldflags) and expr.type.ndim == 2 and all(expr.type.broadcastable)


def _is_whole_matrix(expr: Any) -> bool:
    return expr.type.ndim == 2 and True not in expr.type.broadcastable


#: ``z - alpha * dot(x, y) -> usmm(-alpha, x, y, z)``, where ``config.blas.ldflags`` is set and `z` is not broadcast.
local_usmm = PatternSub(
    (
        tensor.sub,
        {"pattern": "z", "constraint": _is_whole_matrix},
        (tensor.mul, {"pattern": "alpha", "constraint": _is_number_for_usmm}, (_dot, "x", "y")),
    ),
    (usmm, (tensor.neg, "alpha"), "x", "y", "z"),
    name="local_usmm",
)
register_specialize(local_usmm, name="local_usmm")


@local_optimizer([Usmm])
def local_usmm_csx(node: Any) -> Any:
    """``usmm(alpha, x, y, z) -> usmm_csc_dense(alpha, csm_data(x), ..., y, z)`` for a csc `x` and a dense `y` of floats"""
    if not isinstance(node.op, Usmm):
        return False
    alpha, x, y, z = node.inputs
    dtype = node.outputs[0].type.dtype
    if not is_sparse_variable(x) or is_sparse_variable(y) or x.type.format != "csc" or y.type.dtype != dtype:
        return False
    if dtype not in ("float32", "float64"):
        return False
    data, indices, indptr, shape = csm_properties(x)
    alpha, data, z = (tensor.cast(v, dtype) for v in (alpha, data, z))
    new = usmm_csc_dense(alpha, data, indices, indptr, shape[0], y, z)
    if new.type != node.outputs[0].type:
        return False
    copy_stack_trace(node.outputs, new)
    return [new]


optdb["specialize"].register("local_usmm_csx", local_usmm_csx)


@local_optimizer([usmm_csc_dense], inplace=True)
def local_usmm_csc_dense_inplace(node: Any) -> Any:
    """``usmm_csc_dense -> usmm_csc_dense_inplace``, where `z` has the dtype of the result"""
    if node.op != usmm_csc_dense or node.inputs[6].type.dtype != node.outputs[0].type.dtype:
        return False
    new = usmm_csc_dense_inplace(*node.inputs)
    copy_stack_trace(node.outputs, new)
    return [new]


optdb.register(
    "local_usmm_csc_dense_inplace",
    TopoOptimizer(local_usmm_csc_dense_inplace, failure_callback=TopoOptimizer.warn_inplace),
    60,
    "fast_run",
    "inplace",
)

__getattr__, __dir__ = aliases.lazy(__name__)

"""Sparse matrices side by side and one below the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import scipy.sparse

from theano import scalar as scal
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.sparse.conversion import SparseFromDense, dense_from_sparse
from theano.sparse.elementwise import like_operand
from theano.sparse.slicing import get_item_2d
from theano.sparse.type import SparseType
from theano.sparse.variable import as_sparse_variable, is_sparse_variable, value_of


class _Stack(Op):
    """Base class of both directions.

    Parameters
    ----------
    format : {'csc', 'csr'}, optional
        Of the result; ``'csc'`` by default.
    dtype : str
        Of the result.
    """

    __props__ = ("format", "dtype")
    axis = 0

    def __init__(self, format: str | None = None, dtype: str | None = None) -> None:
        if dtype is None:
            raise ValueError("The output dtype must be specified.")
        self.format = "csc" if format is None else format
        self.dtype = dtype

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.format},{self.dtype})"

    def make_node(self, *blocks: Any) -> Apply:
        if not blocks:
            raise ValueError(f"{self} takes at least one matrix")
        return Apply(self, [as_sparse_variable(b) for b in blocks], [SparseType(dtype=self.dtype, format=self.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        for block in inputs:
            if not scipy.sparse.issparse(block):
                raise TypeError(f"{self} takes sparse matrices, got {type(block)}")
        stack = scipy.sparse.vstack if self.axis == 0 else scipy.sparse.hstack
        output_storage[0][0] = value_of(stack(inputs, format=self.format, dtype=self.dtype), node.outputs[0].type)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (gz,) = grads
        if not is_sparse_variable(gz):
            gz = SparseFromDense(self.format)(gz)
        found, start = [], 0
        for x in inputs:
            stop = start + x.shape[self.axis]
            part = get_item_2d(gz, (slice(start, stop),) if self.axis == 0 else (slice(None), slice(start, stop)))
            part = part if x.format == gz.format else SparseFromDense(x.format)(dense_from_sparse(part))
            found.append(like_operand(x, part))
            start = stop
        return found

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        total = shapes[0][self.axis]
        for shape in shapes[1:]:
            total = total + shape[self.axis]
        other = shapes[0][1 - self.axis]
        return [(total, other) if self.axis == 0 else (other, total)]


class HStack(_Stack):
    """Sparse matrices side by side. The gradient is regular.

    See Also
    --------
    theano.sparse.VStack : Sparse matrices one below the other. The gradient is regular.
    theano.sparse.hstack : Return sparse matrices side by side.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> HStack("csr", "float64")(sp.csr_matrix([[1.0]]), sp.csr_matrix([[0.0, 2.0]])).eval().toarray()
    array([[1., 0., 2.]])
    """

    axis = 1


class VStack(_Stack):
    """Sparse matrices one below the other. The gradient is regular.

    See Also
    --------
    theano.sparse.hstack : Return sparse matrices side by side.
    theano.sparse.HStack : Sparse matrices side by side. The gradient is regular.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> VStack("csr", "float64")(sp.csr_matrix([[1.0, 0.0]]), sp.csr_matrix([[0.0, 2.0]])).eval().toarray()
    array([[1., 0.],
           [0., 2.]])
    """

    axis = 0


def _stacks(kind: type[_Stack], name: str, where: str, alike: str, alike_of_tensors: str, shape: str) -> Callable[..., Variable]:
    def stack(blocks: Sequence[Any], format: str | None = None, dtype: str | None = None) -> Variable:
        variables = [as_sparse_variable(b) for b in blocks]
        if dtype is None:
            dtype = scal.upcast(*[v.type.dtype for v in variables])
        return kind(format=format, dtype=dtype)(*variables)

    stack.__name__ = stack.__qualname__ = name
    stack.__doc__ = f"""Return sparse matrices {where}.

    Parameters
    ----------
    blocks : sequence of sparse matrices
        With equally many {alike}.
    format : {{'csc', 'csr'}}, optional
        ``'csc'`` by default.
    dtype : str, optional
        By default one that holds all.

    Returns
    -------
    SparseVariable
        The gradient is regular.

    See Also
    --------
    theano.tensor.{alike_of_tensors} : The same of dense matrices.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> stacked = {name}([sp.csr_matrix([[0.0, 2.0]]), sp.csc_matrix([[3.0, 0.0]])], format="csr")
    >>> stacked.type, stacked.eval().shape
    (Sparse[float64, csr], {shape})
    """
    return stack


hstack = _stacks(HStack, "hstack", "side by side", "rows", "horizontal_stack", "(1, 4)")
vstack = _stacks(VStack, "vstack", "one below the other", "columns", "vertical_stack", "(2, 2)")

"""Comparisons of sparse matrices with sparse and dense ones."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.sparse.elementwise import OfTwo, check_same_shape, operands
from theano.sparse.type import SparseType, ops
from theano.sparse.variable import as_sparse_variable, is_sparse_variable, value_of
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.type import TensorType


class _CompareSS(OfTwo):
    """Base class of comparisons of two sparse matrices: a sparse matrix of 0 and 1, uint8."""

    comparison: Callable[[Any, Any], Any]

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = as_sparse_variable(x), as_sparse_variable(y)
        if x.type.format != y.type.format:
            raise NotImplementedError(f"{self} takes matrices of one format, got {x.type} and {y.type}")
        return Apply(self, [x, y], [SparseType(dtype="uint8", format=x.type.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        check_same_shape(node, x, y)
        with warnings.catch_warnings():
            # SciPy warns of comparisons that are true where neither matrix stores a value.
            warnings.simplefilter("ignore")
            compared = type(self).comparison(x, y)
        output_storage[0][0] = value_of(compared.astype("uint8"), node.outputs[0].type)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [False]]


class _CompareSD(OfTwo):
    """Base class of comparisons of a sparse matrix with a dense one: a dense matrix of 0 and 1, uint8."""

    comparison: Callable[[Any, Any], Any]

    def make_node(self, x: Any, y: Any) -> Apply:
        x, y = as_sparse_variable(x), as_tensor_variable(y)
        if y.type.ndim != 2:
            raise TypeError(f"{self} takes a dense matrix, got {y.type}")
        return Apply(self, [x, y], [TensorType("uint8", (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y = inputs
        check_same_shape(node, x, y)
        output_storage[0][0] = np.asarray(type(self).comparison(x.toarray(), y), dtype="uint8")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [False]]


class EqualSS(_CompareSS):
    """``x == y`` of two sparse matrices.

    See Also
    --------
    theano.sparse.EqualSD : ``x == y`` of a sparse and a dense matrix.
    theano.sparse.NotEqualSS : ``x != y`` of two sparse matrices.
    theano.sparse.NotEqualSD : ``x != y`` of a sparse and a dense matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y = sp.csr_matrix([[0.0, 2.0, 1.0]]), sp.csr_matrix([[1.0, 1.0, 1.0]])
    >>> equal_s_s(x, y).eval().toarray()
    array([[0, 0, 1]], dtype=uint8)
    """

    comparison = operator.eq


class EqualSD(_CompareSD):
    """``x == y`` of a sparse and a dense matrix.

    See Also
    --------
    theano.sparse.NotEqualSS : ``x != y`` of two sparse matrices.
    theano.sparse.EqualSS : ``x == y`` of two sparse matrices.
    theano.sparse.equal_s_d : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> equal_s_d(sp.csr_matrix([[0.0, 2.0, 1.0]]), [[1.0, 1.0, 1.0]]).eval()
    array([[0, 0, 1]], dtype=uint8)
    """

    comparison = operator.eq


class NotEqualSS(_CompareSS):
    """``x != y`` of two sparse matrices.

    See Also
    --------
    theano.sparse.NotEqualSD : ``x != y`` of a sparse and a dense matrix.
    theano.sparse.EqualSD : ``x == y`` of a sparse and a dense matrix.
    theano.sparse.not_equal_s_s : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y = sp.csr_matrix([[0.0, 2.0, 1.0]]), sp.csr_matrix([[1.0, 1.0, 1.0]])
    >>> not_equal_s_s(x, y).eval().toarray()
    array([[1, 1, 0]], dtype=uint8)
    """

    comparison = operator.ne


class NotEqualSD(_CompareSD):
    """``x != y`` of a sparse and a dense matrix.

    See Also
    --------
    theano.sparse.eq : Return where ``x == y`` elementwise, as 0 and 1 of dtype uint8.
    theano.sparse.NotEqualSS : ``x != y`` of two sparse matrices.
    theano.sparse.not_equal_s_d : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> not_equal_s_d(sp.csr_matrix([[0.0, 2.0, 1.0]]), [[1.0, 1.0, 1.0]]).eval()
    array([[1, 1, 0]], dtype=uint8)
    """

    comparison = operator.ne


class LessThanSS(_CompareSS):
    """``x < y`` of two sparse matrices.

    See Also
    --------
    theano.sparse.LessThanSD : ``x < y`` of a sparse and a dense matrix.
    theano.sparse.LessEqualSS : ``x <= y`` of two sparse matrices.
    theano.sparse.LessEqualSD : ``x <= y`` of a sparse and a dense matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y = sp.csr_matrix([[0.0, 2.0, 1.0]]), sp.csr_matrix([[1.0, 1.0, 1.0]])
    >>> less_than_s_s(x, y).eval().toarray()
    array([[1, 0, 0]], dtype=uint8)
    """

    comparison = operator.lt


class LessThanSD(_CompareSD):
    """``x < y`` of a sparse and a dense matrix.

    See Also
    --------
    theano.sparse.LessEqualSS : ``x <= y`` of two sparse matrices.
    theano.sparse.LessThanSS : ``x < y`` of two sparse matrices.
    theano.sparse.less_than_s_d : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> less_than_s_d(sp.csr_matrix([[0.0, 2.0, 1.0]]), [[1.0, 1.0, 1.0]]).eval()
    array([[1, 0, 0]], dtype=uint8)
    """

    comparison = operator.lt


class GreaterThanSS(_CompareSS):
    """``x > y`` of two sparse matrices.

    See Also
    --------
    theano.sparse.GreaterThanSD : ``x > y`` of a sparse and a dense matrix.
    theano.sparse.GreaterEqualSS : ``x >= y`` of two sparse matrices.
    theano.sparse.GreaterEqualSD : ``x >= y`` of a sparse and a dense matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y = sp.csr_matrix([[0.0, 2.0, 1.0]]), sp.csr_matrix([[1.0, 1.0, 1.0]])
    >>> greater_than_s_s(x, y).eval().toarray()
    array([[0, 1, 0]], dtype=uint8)
    """

    comparison = operator.gt


class GreaterThanSD(_CompareSD):
    """``x > y`` of a sparse and a dense matrix.

    See Also
    --------
    theano.sparse.GreaterEqualSS : ``x >= y`` of two sparse matrices.
    theano.sparse.GreaterThanSS : ``x > y`` of two sparse matrices.
    theano.sparse.greater_than_s_d : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> greater_than_s_d(sp.csr_matrix([[0.0, 2.0, 1.0]]), [[1.0, 1.0, 1.0]]).eval()
    array([[0, 1, 0]], dtype=uint8)
    """

    comparison = operator.gt


class LessEqualSS(_CompareSS):
    """``x <= y`` of two sparse matrices.

    See Also
    --------
    theano.sparse.LessEqualSD : ``x <= y`` of a sparse and a dense matrix.
    theano.sparse.LessThanSD : ``x < y`` of a sparse and a dense matrix.
    theano.sparse.less_equal_s_s : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y = sp.csr_matrix([[0.0, 2.0, 1.0]]), sp.csr_matrix([[1.0, 1.0, 1.0]])
    >>> less_equal_s_s(x, y).eval().toarray()
    array([[1, 0, 1]], dtype=uint8)
    """

    comparison = operator.le


class LessEqualSD(_CompareSD):
    """``x <= y`` of a sparse and a dense matrix.

    See Also
    --------
    theano.sparse.lt : Return where ``x < y`` elementwise, as 0 and 1 of dtype uint8.
    theano.sparse.LessEqualSS : ``x <= y`` of two sparse matrices.
    theano.sparse.less_equal_s_d : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> less_equal_s_d(sp.csr_matrix([[0.0, 2.0, 1.0]]), [[1.0, 1.0, 1.0]]).eval()
    array([[1, 0, 1]], dtype=uint8)
    """

    comparison = operator.le


class GreaterEqualSS(_CompareSS):
    """``x >= y`` of two sparse matrices.

    See Also
    --------
    theano.sparse.GreaterEqualSD : ``x >= y`` of a sparse and a dense matrix.
    theano.sparse.GreaterThanSD : ``x > y`` of a sparse and a dense matrix.
    theano.sparse.greater_equal_s_s : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> x, y = sp.csr_matrix([[0.0, 2.0, 1.0]]), sp.csr_matrix([[1.0, 1.0, 1.0]])
    >>> greater_equal_s_s(x, y).eval().toarray()
    array([[0, 1, 1]], dtype=uint8)
    """

    comparison = operator.ge


class GreaterEqualSD(_CompareSD):
    """``x >= y`` of a sparse and a dense matrix.

    See Also
    --------
    theano.sparse.gt : Return where ``x > y`` elementwise, as 0 and 1 of dtype uint8.
    theano.sparse.GreaterEqualSS : ``x >= y`` of two sparse matrices.
    theano.sparse.greater_equal_s_d : An instance of it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> greater_equal_s_d(sp.csr_matrix([[0.0, 2.0, 1.0]]), [[1.0, 1.0, 1.0]]).eval()
    array([[0, 1, 1]], dtype=uint8)
    """

    comparison = operator.ge


equal_s_s, equal_s_d = EqualSS(), EqualSD()
not_equal_s_s, not_equal_s_d = NotEqualSS(), NotEqualSD()
less_than_s_s, less_than_s_d = LessThanSS(), LessThanSD()
greater_than_s_s, greater_than_s_d = GreaterThanSS(), GreaterThanSD()
less_equal_s_s, less_equal_s_d = LessEqualSS(), LessEqualSD()
greater_equal_s_s, greater_equal_s_d = GreaterEqualSS(), GreaterEqualSD()


def _compared(name: str, s_s: Op, s_d: Op, turned: Op, text: str, shown: str) -> Callable[[Any, Any], Variable]:
    def compare(x: Any, y: Any) -> Variable:
        x, y = operands(name, x, y)
        if is_sparse_variable(x):
            return (s_s if is_sparse_variable(y) else s_d)(x, y)
        return turned(y, x)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"""Return where ``{text}`` elementwise, as 0 and 1 of dtype uint8.

    Parameters
    ----------
    x, y : matrix
        At least one sparse; two sparse ones of one format.

    Returns
    -------
    Variable
        Sparse if both are sparse, else dense.

    Raises
    ------
    TypeError
        If both are dense.

    See Also
    --------
    theano.tensor.{name} : The same of dense tensors.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> {name}(sp.csr_matrix([[0.0, 2.0, 1.0]]), [[1.0, 1.0, 1.0]]).eval()
    array({shown}, dtype=uint8)
    """
    return compare


eq = _compared("eq", equal_s_s, equal_s_d, equal_s_d, "x == y", "[[0, 0, 1]]")
neq = _compared("neq", not_equal_s_s, not_equal_s_d, not_equal_s_d, "x != y", "[[1, 1, 0]]")
lt = _compared("lt", less_than_s_s, less_than_s_d, greater_than_s_d, "x < y", "[[1, 0, 0]]")
gt = _compared("gt", greater_than_s_s, greater_than_s_d, less_than_s_d, "x > y", "[[0, 1, 0]]")
le = _compared("le", less_equal_s_s, less_equal_s_d, greater_equal_s_d, "x <= y", "[[1, 0, 1]]")
ge = _compared("ge", greater_equal_s_s, greater_equal_s_d, less_equal_s_d, "x >= y", "[[0, 1, 1]]")


ops.gather(globals(), "eq neq lt gt le ge")

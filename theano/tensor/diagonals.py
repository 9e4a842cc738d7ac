"""Diagonals of tensors, and tensors with a given diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import arange, zeros_like
from theano.tensor.math import maximum, minimum
from theano.tensor.type import TensorType, ops


class ExtractDiag(Op):
    """The diagonal of two axes, as the last axis of the result.

    Parameters
    ----------
    offset : int
        The diagonal: 0 the main one, positive above, negative below.
    axis1, axis2 : int
        The axes whose diagonal is taken.
    view : bool
        Whether the result may be a view of the input.

    See Also
    --------
    theano.tensor.diag : Return the diagonal `k` of `v` if it has two or more dimensions; a matrix with `v` on it if `v`
        is a vector.
    theano.tensor.AllocDiag : A tensor with the last axis of the input on the diagonal of two new axes, zeros elsewhere.
    theano.tensor.extract_diag : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.arange(9).reshape((3, 3))
    >>> ExtractDiag()(x).eval().tolist(), ExtractDiag(offset=1)(x).eval().tolist()
    ([0, 4, 8], [1, 5])
    """

    __props__ = ("offset", "axis1", "axis2", "view")

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1, view: bool = False) -> None:
        self.view = view
        if view:
            self.view_map = {0: [0]}
        self.offset = offset
        if axis1 == axis2:
            raise ValueError("axis1 and axis2 cannot be the same axis")
        self.axis1 = axis1
        self.axis2 = axis2

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if x.ndim < 2:
            raise ValueError(f"ExtractDiag needs an input of at least 2 dimensions, got {x}")
        for axis in (self.axis1, self.axis2):
            if not -x.ndim <= axis < x.ndim:
                raise ValueError(f"axis {axis} is out of bounds for a tensor of {x.ndim} dimensions")
        axes = {self.axis1 % x.ndim, self.axis2 % x.ndim}
        pattern = [b for i, b in enumerate(x.type.broadcastable) if i not in axes] + [False]
        return Apply(self, [x], [TensorType(x.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        result = inputs[0].diagonal(self.offset, self.axis1, self.axis2)
        if self.view:
            result.flags.writeable = inputs[0].flags.writeable
        else:
            result = result.copy()
        output_storage[0][0] = result

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        if x.ndim == 2 and (self.axis1 % 2, self.axis2 % 2) == (0, 1):
            rows = arange(gz.shape[0]) + max(-self.offset, 0)
            columns = arange(gz.shape[0]) + max(self.offset, 0)
            return [ops.set_subtensor(zeros_like(x, dtype=gz.dtype)[rows, columns], gz)]
        axis1, axis2 = self.axis1 % x.ndim, self.axis2 % x.ndim
        others = [i for i in range(x.ndim) if i not in (axis1, axis2)]
        moved = zeros_like(x, dtype=gz.dtype).dimshuffle(axis1, axis2, *others)
        along = arange(gz.shape[-1])
        filled = ops.set_subtensor(
            moved[along + max(-self.offset, 0), along + max(self.offset, 0)],
            gz.dimshuffle(gz.ndim - 1, *range(gz.ndim - 1)),
        )
        order = [axis1, axis2, *others]
        return [filled.dimshuffle([order.index(i) for i in range(x.ndim)])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0])]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        (shape,) = in_shapes
        ndim = node.inputs[0].ndim
        axis1, axis2 = self.axis1 % ndim, self.axis2 % ndim
        rows, columns = shape[axis1], shape[axis2]
        if self.offset > 0:
            columns = maximum(columns - self.offset, 0)
        elif self.offset < 0:
            rows = maximum(rows + self.offset, 0)
        return [[n for i, n in enumerate(shape) if i not in (axis1, axis2)] + [minimum(rows, columns)]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.view:
            self.view_map = {0: [0]}
        self.__dict__.setdefault("offset", 0)
        self.__dict__.setdefault("axis1", 0)
        self.__dict__.setdefault("axis2", 1)


extract_diag = ExtractDiag()


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """Return the diagonal of two axes of `a`, as ``numpy.diagonal``.

    Parameters
    ----------
    a : tensor_like
        Of two dimensions or more.
    offset : int
        0 is the main diagonal; positive ones are above it.
    axis1, axis2 : int
        The dimensions of the planes whose diagonals are taken.

    Returns
    -------
    TensorVariable
        Of one dimension less; the last one runs along the diagonal.

    See Also
    --------
    theano.tensor.nlinalg.trace : Return the sum of the diagonal of the matrix `X`.
    theano.tensor.diag : Return the diagonal `k` of `v` if it has two or more dimensions; a matrix with `v` on it if `v`
        is a vector.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.diagonal([[1, 2], [3, 4]]).eval()
    array([1, 4])
    """
    if (offset, axis1, axis2) == (0, 0, 1):
        return extract_diag(a)
    return ExtractDiag(offset, axis1, axis2)(a)


class AllocDiag(Op):
    """A tensor with the last axis of the input on the diagonal of two new axes, zeros elsewhere.

    Parameters
    ----------
    offset : int
        The diagonal: 0 the main one, positive above, negative below.
    axis1, axis2 : int
        Where the two axes are in the result.

    See Also
    --------
    theano.tensor.ExtractDiag : The diagonal of two axes, as the last axis of the result.
    theano.tensor.diag : Return the diagonal `k` of `v` if it has two or more dimensions; a matrix with `v` on it if `v`
        is a vector.
    theano.tensor.alloc_diag : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> AllocDiag(offset=1)(T.constant([1, 2])).eval().tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        self.offset = offset
        self.axis1 = axis1
        self.axis2 = axis2

    def make_node(self, diag: Any) -> Apply:
        diag = as_tensor_variable(diag)
        if diag.type.ndim < 1:
            raise ValueError(f"AllocDiag needs an input with 1 or more dimensions, got {diag.type}")
        pattern = [False] * (diag.ndim + 1)
        return Apply(self, [diag], [TensorType(diag.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        length = x.shape[-1]
        along = np.arange(length)
        result = np.zeros((*x.shape[:-1], length + abs(self.offset), length + abs(self.offset)), dtype=x.dtype)
        result[..., along + max(-self.offset, 0), along + max(self.offset, 0)] = x
        output_storage[0][0] = np.moveaxis(result, (-2, -1), (self.axis1, self.axis2))

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [diagonal(grads[0], offset=self.offset, axis1=self.axis1, axis2=self.axis2)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0])]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        (shape,) = in_shapes
        ndim = len(shape) + 1
        side = shape[-1] + abs(self.offset)
        result = list(shape[:-1])
        for axis in sorted((self.axis1 % ndim, self.axis2 % ndim)):
            result.insert(axis, side)
        return [result]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"offset": 0, "axis1": 0, "axis2": 1})
        self.__dict__.update(state)


alloc_diag = AllocDiag()


def diag(v: Any, k: int = 0):
    """Return the diagonal `k` of `v` if it has two or more dimensions; a matrix with `v` on it if `v` is a vector.

    Parameters
    ----------
    v : tensor_like
        Of one dimension or more.
    k : int
        0 is the main diagonal; positive ones are above it.

    Returns
    -------
    TensorVariable
        Of one dimension less for a matrix, one more for a vector.

    Raises
    ------
    ValueError
        If `v` is a scalar.

    See Also
    --------
    theano.tensor.diagonal : Return the diagonal of two axes of `a`, as ``numpy.diagonal``.
    theano.tensor.nlinalg.trace : Return the sum of the diagonal of the matrix `X`.
    theano.tensor.fill_diagonal : Return a copy of `a` with the elements ``a[i, i, ..., i]`` set to `val`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.diag([1, 2]).eval()
    array([[1, 0],
           [0, 2]])
    """
    v = as_tensor_variable(v)
    if v.ndim == 1:
        return AllocDiag(k)(v)
    if v.ndim >= 2:
        return diagonal(v, offset=k)
    raise ValueError("diag needs an input of one or more dimensions")

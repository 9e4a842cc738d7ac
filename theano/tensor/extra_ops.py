"""NumPy-like functions beyond the basic ones: repetition, counting, searching, diagonals; gathers the documented names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.graph import Apply, Constant
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType, grad_undefined
from theano.raise_op import Assert
from theano.tensor.choosing import flatnonzero
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.creation import alloc, arange, zeros, zeros_for_grad, zeros_like
from theano.tensor.cumulative import CumOp, CumprodOp, CumsumOp, DiffOp, cumprod, cumsum, diff, product_of  # noqa: F401
from theano.tensor.diagonals import diagonal
from theano.tensor.flat_indices import RavelMultiIndex, UnravelIndex, ravel_multi_index, unravel_index  # noqa: F401
from theano.tensor.math import cast, discrete_dtypes, eq, ge, integer_dtypes, maximum, switch
from theano.tensor.reduction import all as tensor_all
from theano.tensor.reduction import sum as tensor_sum
from theano.tensor.shapes import Shape_i
from theano.tensor.subtensor import advanced_inc_subtensor1, inc_subtensor, set_subtensor
from theano.tensor.type import TensorType, ops


class CpuContiguous(Op):
    """The input itself if it is C-contiguous, else a contiguous copy.

    See Also
    --------
    theano.tensor.extra_ops.cpu_contiguous : An instance of it.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> f = theano.function([x], [theano.Out(y, borrow=True) for y in (x.T, cpu_contiguous(x.T))])
    >>> [a.flags.c_contiguous for a in f(np.ones((2, 3)))]
    [False, True]
    """

    __props__ = ()
    view_map = {0: [0]}
    check_input = False
    _f16_ok = True

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        output_storage[0][0] = x if x.flags["C_CONTIGUOUS"] else x.copy(order="C")

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [as_tensor_variable(grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [eval_points[0]]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return in_shapes


cpu_contiguous = CpuContiguous()


class SearchsortedOp(Op):
    """The positions at which values are to be inserted into a sorted vector; see :func:`searchsorted`.

    Parameters
    ----------
    side : {'left', 'right'}
        Before or after equal elements.

    See Also
    --------
    theano.tensor.searchsorted : Return the positions at which the elements of `v` are to be inserted into `x` to keep it
        sorted.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([1.0, 2.0, 2.0, 5.0])
    >>> [int(SearchsortedOp(side=side)(x, T.constant(2.0)).eval()) for side in ("left", "right")]
    [1, 3]
    """

    __props__ = ("side",)

    def __init__(self, side: str = "left") -> None:
        if side not in ("left", "right"):
            raise ValueError(f"'{side}' is an invalid value for keyword 'side'")
        self.side = side

    def make_node(self, x: Any, v: Any, sorter: Any = None) -> Apply:
        x, v = as_tensor_variable(x, ndim=1), as_tensor_variable(v)
        output = TensorType("int64", v.type.broadcastable)()
        if sorter is None:
            return Apply(self, [x, v], [output])
        sorter = as_tensor_variable(sorter, ndim=1)
        if sorter.type.dtype not in integer_dtypes:
            raise TypeError(f"sorter must be an integer vector, got {sorter.type}")
        return Apply(self, [x, v, sorter], [output])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, v = inputs[:2]
        sorter = inputs[2] if len(inputs) == 3 else None
        found = np.searchsorted(x, v, side=self.side, sorter=sorter)
        output_storage[0][0] = np.asarray(found, dtype="int64")

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], [False]][: len(node.inputs)]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        result = [zeros_for_grad(inputs[0]), zeros_for_grad(inputs[1])]
        if len(inputs) == 3:
            result.append(DisconnectedType()())
        return result


def searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None):
    """Return the positions at which the elements of `v` are to be inserted into `x` to keep it sorted.

    Parameters
    ----------
    x : vector
        Sorted in ascending order, unless `sorter` is given.
    v : tensor_like
        Of any shape.
    side : {'left', 'right'}
        Before or after elements of `x` that are equal.
    sorter : integer vector, optional
        The indices that sort `x`.

    Returns
    -------
    int64 tensor of the shape of `v`

    See Also
    --------
    theano.tensor.extra_ops.to_one_hot : Return a matrix whose row ``i`` is 1 at column ``y[i]`` and 0 elsewhere.
    theano.tensor.bincount : Return how often each integer from 0 to the largest of `x` is in `x`.
    theano.tensor.extra_ops.SearchsortedOp : The positions at which values are to be inserted into a sorted vector; see
        `searchsorted`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.extra_ops.searchsorted([1, 2, 3, 4, 5], [-10, 10, 2, 3]).eval()
    array([0, 5, 1, 2])
    """
    return SearchsortedOp(side=side)(x, v, sorter)


class CountLength(Op):
    """One more than the largest element of an integer vector, 0 if it has none: how many counts :func:`bincount` gives.

    See Also
    --------
    theano.tensor.bincount : Return how often each integer from 0 to the largest of `x` is in `x`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> int(CountLength()(T.constant([2, 0, 5])).eval())
    6
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [as_tensor_variable(x, ndim=1)], [TensorType("int64", ())()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        output_storage[0][0] = np.asarray(int(x.max()) + 1 if x.size else 0, dtype="int64")

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()()]


def bincount(x: Any, weights: Any = None, minlength: Any = None, assert_nonneg: bool = False):
    """Return how often each integer from 0 to the largest of `x` is in `x`.

    Parameters
    ----------
    x : vector of non-negative integers
        What is counted.
    weights : vector of the length of `x`, optional
        What each element counts, instead of 1.
    minlength : int or scalar, optional
        The least number of counts.
    assert_nonneg : bool
        Whether a negative element raises an AssertionError at run time.

    Returns
    -------
    vector
        Of the dtype of `x`, or that of `weights`.

    Raises
    ------
    TypeError
        If `x` or the weights are no vectors, or `x` is not of integers.

    See Also
    --------
    theano.tensor.searchsorted : Return the positions at which the elements of `v` are to be inserted into `x` to keep it
        sorted.
    theano.tensor.extra_ops.to_one_hot : Return a matrix whose row ``i`` is 1 at column ``y[i]`` and 0 elsewhere.
    theano.tensor.eq : Return whether ``a == b``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.bincount([0, 2, 2]).eval()
    array([1, 0, 2])
    """
    x = as_tensor_variable(x)
    if x.ndim != 1:
        raise TypeError("Inputs must be of dimension 1.")
    if x.dtype not in integer_dtypes:
        raise TypeError(f"bincount takes integers, got {x.type}")
    if assert_nonneg:
        x = Assert("Input to bincount has negative values!")(x, tensor_all(ge(x, 0)))
    length = CountLength()(x)
    if minlength is not None:
        length = maximum(length, minlength)
    if weights is None:
        return advanced_inc_subtensor1(zeros([length], dtype=x.dtype), constant(1, dtype=x.dtype), x)
    weights = as_tensor_variable(weights)
    return advanced_inc_subtensor1(zeros([length], dtype=weights.dtype), weights, x)


def squeeze(x: Any):
    """Return `x` without its broadcastable dimensions: `x` itself or a view of it.

    Parameters
    ----------
    x : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        Without dimensions of length 1 that are known.

    See Also
    --------
    theano.tensor.addbroadcast : Return `x` with the given dimensions broadcastable.
    theano.tensor.shape_padaxis : Return `t` with a broadcastable dimension inserted at `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.squeeze(T.drow("x")).type
    TensorType(float64, vector)
    """
    x = as_tensor_variable(x)
    return x.dimshuffle([i for i in range(x.ndim) if not x.type.broadcastable[i]])


def compress(condition: Any, x: Any, axis: int | None = None):
    """Return the slices of `x` along an axis where `condition` is true, as ``numpy.compress``.

    Parameters
    ----------
    condition : vector_like
        Not zero where a slice is kept.
    x : tensor_like
        Of at least one dimension.
    axis : int, optional
        By default `x` is flattened.

    Returns
    -------
    TensorVariable
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If `condition` is not a vector.

    See Also
    --------
    theano.tensor.roll : Return `x` with its elements shifted along an axis; what falls off one end comes in at the other.
    theano.tensor.nonzero : Return the indices of the elements of `a` that are not zero.
    theano.tensor.take : Return the elements of `a` at `indices` along an axis, as ``numpy.take``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.extra_ops.compress([1, 0, 1], T.constant([5, 6, 7])).eval()
    array([5, 7])
    """
    condition = as_tensor_variable(condition)
    if condition.ndim != 1:
        raise ValueError(f"the condition of compress has to be a vector, got {condition.type}")
    return as_tensor_variable(x).take(flatnonzero(condition), axis=axis)


class RepeatOp(Op):
    """Each element along an axis repeated as often as the second input tells: a scalar, or one number for each.

    Parameters
    ----------
    axis : int or None
        None for the flattened tensor.

    See Also
    --------
    theano.tensor.repeat : Return `x` with its elements repeated, as ``numpy.repeat``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[1, 2], [3, 4]])
    >>> RepeatOp(axis=0)(x, [2, 1]).eval().tolist()
    [[1, 2], [1, 2], [3, 4]]
    >>> RepeatOp()(x, 2).eval().tolist()
    [1, 1, 2, 2, 3, 3, 4, 4]
    """

    __props__ = ("axis",)

    def __init__(self, axis: int | None = None) -> None:
        self.axis = axis

    def make_node(self, x: Any, repeats: Any) -> Apply:
        x, repeats = as_tensor_variable(x), as_tensor_variable(repeats)
        if repeats.dtype not in integer_dtypes:
            raise TypeError("repeats.dtype must be an integer.")
        if repeats.dtype == "uint64":
            raise TypeError(f"dtype {repeats.dtype} is not supported by numpy.repeat for the 'repeats' parameter")
        if repeats.ndim > 1:
            raise ValueError("The dimension of repeats should not exceed 1.")
        if self.axis is None:
            pattern = [False]
        else:
            if not -x.ndim <= self.axis < x.ndim:
                raise ValueError(f"axis {self.axis} is out of bounds for a tensor of {x.ndim} dimensions")
            pattern = list(x.type.broadcastable)
            if not (isinstance(repeats, Constant) and repeats.data.size == 1 and int(repeats.data.flat[0]) == 1):
                pattern[self.axis] = False
        return Apply(self, [x, repeats], [TensorType(x.type.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, repeats = inputs
        output_storage[0][0] = np.repeat(x, repeats=repeats, axis=self.axis)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, repeats), (gz,) = inputs, grads
        if x.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX), DisconnectedType()()]
        axis = 0 if self.axis is None else self.axis % x.ndim
        target = x.flatten() if self.axis is None else x
        if repeats.ndim == 0:
            # The repetitions of one element are next to each other.
            lengths = [target.shape[i] for i in range(target.ndim)]
            lengths.insert(axis + 1, repeats)
            gx = gz.reshape(lengths, ndim=target.ndim + 1).sum(axis=axis + 1)
        else:
            source = RepeatOp(axis=0)(arange(target.shape[axis]), repeats)
            gx = inc_subtensor(zeros_like(target, dtype=gz.dtype)[(*[slice(None)] * axis, source)], gz)
        if self.axis is None:
            gx = gx.reshape(x.shape, ndim=x.ndim)
        return [gx, DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0], inputs[1])]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x_shape, repeats = in_shapes[0], node.inputs[1]
        repeats = cast(repeats, "int64")
        if self.axis is None:
            if repeats.ndim == 0:
                return [(product_of(x_shape) * repeats,)]
            if repeats.type.broadcastable[0]:
                return [(product_of(x_shape) * repeats[0],)]
            return [(tensor_sum(repeats),)]
        lengths = list(x_shape)
        if repeats.ndim == 0:
            lengths[self.axis] = lengths[self.axis] * repeats
        elif repeats.type.broadcastable[0]:
            lengths[self.axis] = lengths[self.axis] * repeats[0]
        else:
            lengths[self.axis] = tensor_sum(repeats)
        return [lengths]


def repeat(x: Any, repeats: Any, axis: int | None = None):
    """Return `x` with its elements repeated, as ``numpy.repeat``.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    repeats : int, scalar or vector
        How often; a vector has one number for each element along the axis.
    axis : int, optional
        By default `x` is flattened.

    Returns
    -------
    TensorVariable
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If `repeats` has more than one dimension, or `axis` is out of bounds.
    TypeError
        If `repeats` is not of integers.

    See Also
    --------
    theano.tensor.tile : Return `x` repeated along each dimension, as ``numpy.tile``.
    theano.tensor.extra_ops.RepeatOp : Each element along an axis repeated as often as the second input tells: a scalar,
        or one number for each.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.repeat([1, 2], 2).eval()
    array([1, 1, 2, 2])
    """
    x, repeats = as_tensor_variable(x), as_tensor_variable(repeats)
    if repeats.ndim > 1:
        raise ValueError("The dimension of repeats should not exceed 1.")
    if repeats.dtype not in integer_dtypes:
        raise TypeError("repeats.dtype must be an integer.")
    if repeats.ndim == 1 and not repeats.type.broadcastable[0]:
        return RepeatOp(axis=axis)(x, repeats)
    if repeats.ndim == 1:
        repeats = repeats[0]
    if repeats.dtype == "uint64":
        raise TypeError("dtype uint64 is not supported for the 'repeats' parameter: lengths are int64")
    if axis is None:
        axis, x = 0, x.flatten()
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for a tensor of {x.ndim} dimensions")
    axis %= x.ndim
    lengths = [x.shape[i] for i in range(x.ndim)]
    spread = [*lengths[: axis + 1], repeats, *lengths[axis + 1 :]]
    lengths[axis] = lengths[axis] * repeats
    order: list[Any] = list(range(x.ndim))
    order.insert(axis + 1, "x")
    return alloc(x.dimshuffle(order), *spread).reshape(lengths, ndim=x.ndim)


class Bartlett(Op):
    """The Bartlett window; see :func:`bartlett`.

    See Also
    --------
    theano.tensor.bartlett : Return the Bartlett (triangular) window of `M` points as a float64 vector; none if `M` is not
        positive.
    theano.tensor.extra_ops.bartlett_ : An instance of it.

    Examples
    --------
    >>> Bartlett()(5).eval().tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    __props__ = ()

    def make_node(self, M: Any) -> Apply:
        M = as_tensor_variable(M)
        if M.ndim != 0:
            raise TypeError(f"{type(self).__name__} only works on scalar input")
        if M.dtype not in integer_dtypes:
            raise TypeError(f"{type(self).__name__} only works on integer input")
        return Apply(self, [M], [TensorType("float64", (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.bartlett(int(inputs[0])).astype("float64", copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(maximum(cast(node.inputs[0], "int64"), 0),)]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grad_undefined(self, i, x) for i, x in enumerate(inputs)]


bartlett_ = Bartlett()


def bartlett(M: Any):
    """Return the Bartlett (triangular) window of `M` points as a float64 vector; none if `M` is not positive.

    The first and last points are zero, the largest is one if `M` is odd.

    Parameters
    ----------
    M : int or integer scalar
        The number of points.

    Returns
    -------
    TensorVariable
        A vector of float64.

    See Also
    --------
    theano.tensor.fft.rfft : Return the Fourier transform of real arrays.
    theano.tensor.extra_ops.Bartlett : The Bartlett window; see `bartlett`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.bartlett(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return bartlett_(M)


class FillDiagonal(Op):
    """The first input with its main diagonal set to the second, a scalar; see :func:`fill_diagonal`.

    See Also
    --------
    theano.tensor.extra_ops.FillDiagonalOffset : The first input, a matrix, with the diagonal of the third set to the
        second; see `fill_diagonal_offset`.
    theano.tensor.fill_diagonal : Return a copy of `a` with the elements ``a[i, i, ..., i]`` set to `val`.
    theano.tensor.extra_ops.fill_diagonal_ : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> FillDiagonal()(T.zeros((2, 3)), 5.0).eval().tolist()
    [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
    """

    __props__ = ()

    def make_node(self, a: Any, val: Any) -> Apply:
        a, val = _diagonal_inputs(self, a, val)
        if a.ndim < 2:
            raise TypeError(f"{type(self).__name__}: first parameter must have at least two dimensions")
        return Apply(self, [a, val], [a.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a = inputs[0].copy()
        if a.ndim > 2 and len(set(a.shape)) != 1:
            raise ValueError(f"fill_diagonal: all dimensions of the input must be of equal length, got the shape {a.shape}")
        along = np.arange(min(a.shape))
        a[(along,) * a.ndim] = inputs[1]
        output_storage[0][0] = a

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (a, val), (gz,) = inputs, grads
        if a.dtype in discrete_dtypes:
            return [zeros_for_grad(a), zeros_for_grad(val)]
        if a.ndim == 2:
            on_diagonal = diagonal(gz)
        else:
            along = arange(a.shape[0])
            on_diagonal = gz[(along,) * a.ndim]
        return [fill_diagonal(gz, 0), tensor_sum(on_diagonal)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        a, val = (x.zeros_like() if p is None else p for x, p in zip(inputs, eval_points))
        return [self(a, val)]


def _diagonal_inputs(op: Op, a: Any, val: Any) -> tuple[Any, Any]:
    a, val = as_tensor_variable(a), as_tensor_variable(val)
    if val.ndim != 0:
        raise TypeError(f"{type(op).__name__}: second parameter must be a scalar")
    if scal.upcast(a.dtype, val.dtype) != a.dtype:
        raise TypeError(f"{type(op).__name__}: type of second parameter must be the same as the first's")
    return a, cast(val, a.dtype)


fill_diagonal_ = FillDiagonal()


def fill_diagonal(a: Any, val: Any):
    """Return a copy of `a` with the elements ``a[i, i, ..., i]`` set to `val`.

    Parameters
    ----------
    a : tensor of at least two dimensions
        With more than two, all have to have the same length.
    val : scalar
        Its dtype has to fit into that of `a`.

    Returns
    -------
    TensorVariable
        Of the dtype and shape of `a`.

    Raises
    ------
    TypeError
        If `a` has fewer than two dimensions, or `val` is no scalar or does not fit.

    See Also
    --------
    theano.tensor.diag : Return the diagonal `k` of `v` if it has two or more dimensions; a matrix with `v` on it if `v`
        is a vector.
    theano.tensor.nlinalg.trace : Return the sum of the diagonal of the matrix `X`.
    theano.tensor.fill_diagonal_offset : Return a copy of the matrix `a` with the diagonal `offset` set to `val`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fill_diagonal(T.zeros((2, 2)), 5.0).eval()
    array([[5., 0.],
           [0., 5.]])
    """
    return fill_diagonal_(a, val)


class FillDiagonalOffset(Op):
    """The first input, a matrix, with the diagonal of the third set to the second; see :func:`fill_diagonal_offset`.

    See Also
    --------
    theano.tensor.fill_diagonal : Return a copy of `a` with the elements ``a[i, i, ..., i]`` set to `val`.
    theano.tensor.extra_ops.FillDiagonal : The first input with its main diagonal set to the second, a scalar; see
        `fill_diagonal`.
    theano.tensor.fill_diagonal_offset : Return a copy of the matrix `a` with the diagonal `offset` set to `val`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> FillDiagonalOffset()(T.zeros((2, 3)), 5.0, 1).eval().tolist()
    [[0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]
    """

    __props__ = ()

    def make_node(self, a: Any, val: Any, offset: Any) -> Apply:
        a, val = _diagonal_inputs(self, a, val)
        offset = as_tensor_variable(offset)
        if a.ndim != 2:
            raise TypeError(f"{type(self).__name__}: first parameter must have exactly two dimensions")
        if offset.ndim != 0:
            raise TypeError(f"{type(self).__name__}: third parameter must be a scalar")
        if offset.dtype not in integer_dtypes:
            raise TypeError(f"{type(self).__name__}: type of third parameter must be as integer use theano.tensor.cast")
        return Apply(self, [a, val, offset], [a.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, val, offset = inputs[0].copy(), inputs[1], int(inputs[2])
        rows, columns = a.shape
        count = min(rows + min(offset, 0), columns - max(offset, 0))
        if count > 0:
            along = np.arange(count)
            a[along + max(-offset, 0), along + max(offset, 0)] = val
        output_storage[0][0] = a

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (a, val, offset), (gz,) = inputs, grads
        if a.dtype in discrete_dtypes:
            return [zeros_for_grad(a), zeros_for_grad(val), DisconnectedType()()]
        distance = arange(a.shape[1]).dimshuffle("x", 0) - arange(a.shape[0]).dimshuffle(0, "x")
        on_diagonal = switch(eq(distance, offset), gz, constant(0, dtype=gz.dtype))
        return [fill_diagonal_offset(gz, 0, offset), tensor_sum(on_diagonal), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        a, val = (x.zeros_like() if p is None else p for x, p in zip(inputs[:2], eval_points))
        return [self(a, val, inputs[2])]


fill_diagonal_offset_ = FillDiagonalOffset()


def fill_diagonal_offset(a: Any, val: Any, offset: Any):
    """Return a copy of the matrix `a` with the diagonal `offset` set to `val`.

    Parameters
    ----------
    a : matrix
        Of shape (rows, columns).
    val : scalar
        Its dtype has to fit into that of `a`.
    offset : int or scalar
        The diagonal: 0 the main one, positive above, negative below. It is not wrapped.

    Returns
    -------
    TensorVariable
        Of the dtype and shape of `a`.

    See Also
    --------
    theano.tensor.fill_diagonal : Return a copy of `a` with the elements ``a[i, i, ..., i]`` set to `val`.
    theano.tensor.extra_ops.FillDiagonalOffset : The first input, a matrix, with the diagonal of the third set to the
        second; see `fill_diagonal_offset`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fill_diagonal_offset(T.zeros((2, 2)), 5.0, 1).eval()
    array([[0., 5.],
           [0., 0.]])
    """
    return fill_diagonal_offset_(a, val, offset)


def to_one_hot(y: Any, nb_class: Any, dtype: Any = None):
    """Return a matrix whose row ``i`` is 1 at column ``y[i]`` and 0 elsewhere.

    Parameters
    ----------
    y : vector of integers from 0 to `nb_class` - 1
        Of length n; the result has the shape (n, `nb_class`).
    nb_class : int or scalar
        Number of columns.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        A matrix of `nb_class` columns.

    See Also
    --------
    theano.tensor.bincount : Return how often each integer from 0 to the largest of `x` is in `x`.
    theano.tensor.searchsorted : Return the positions at which the elements of `v` are to be inserted into `x` to keep it
        sorted.
    theano.tensor.eq : Return whether ``a == b``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.extra_ops.to_one_hot([2, 0], 3).eval()
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    y = as_tensor_variable(y)
    blank = zeros((y.shape[0], nb_class), dtype=dtype)
    return set_subtensor(blank[arange(y.shape[0]), y], 1)


class Unique(Op):
    """The sorted distinct elements of the flattened input, or its distinct slices along an axis, as ``numpy.unique``.

    Parameters
    ----------
    return_index : bool
        Also return the index of the first occurrence of each.
    return_inverse : bool
        Also return, for each element of the input, which one it is.
    return_counts : bool
        Also return how often each occurs.
    axis : int, optional
        The axis along which slices are compared.

    See Also
    --------
    theano.tensor.sort : Return `a` sorted along an axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> values, counts = Unique(return_counts=True)(T.constant([3, 1, 3, 3]))
    >>> values.eval().tolist(), counts.eval().tolist()
    ([1, 3], [1, 3])
    """

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(
        self,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
        axis: int | None = None,
    ) -> None:
        self.return_index = return_index
        self.return_inverse = return_inverse
        self.return_counts = return_counts
        self.axis = axis

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if self.axis is None:
            pattern = [False]
        else:
            if not -x.ndim <= self.axis < x.ndim:
                raise ValueError(f"axis {self.axis} is out of bounds for a tensor of {x.ndim} dimensions")
            pattern = list(x.type.broadcastable)
            pattern[self.axis] = False
        outputs = [TensorType(x.type.dtype, pattern)()]
        for wanted in (self.return_index, self.return_inverse, self.return_counts):
            if wanted:
                outputs.append(TensorType("int64", (False,))())
        return Apply(self, [x], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        # Some versions of NumPy give the inverse the shape of the input, so that is flattened before.
        x = inputs[0].ravel() if self.axis is None else inputs[0]
        found = np.unique(x, self.return_index, self.return_inverse, self.return_counts, axis=self.axis)
        results = found if isinstance(found, tuple) else (found,)
        output_storage[0][0] = results[0]
        for out, result in zip(output_storage[1:], results[1:]):
            out[0] = np.asarray(result, dtype="int64").reshape(-1)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        (x_shape,) = in_shapes
        count = Shape_i(0 if self.axis is None else self.axis % len(x_shape))(node.outputs[0])
        if self.axis is None:
            result: list[Any] = [(count,)]
        else:
            lengths = list(x_shape)
            lengths[self.axis] = count
            result = [tuple(lengths)]
        if self.return_index:
            result.append((count,))
        if self.return_inverse:
            result.append((product_of(x_shape) if self.axis is None else x_shape[self.axis],))
        if self.return_counts:
            result.append((count,))
        return result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True] + [False] * (len(node.outputs) - 1)]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grad_undefined(self, 0, inputs[0])]


ops.gather(globals(), "compress cumprod cumsum repeat searchsorted squeeze")

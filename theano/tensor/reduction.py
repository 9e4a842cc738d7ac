"""Reductions: sum, prod, mean, var, std, max, min, argmax, argmin, any, all, ptp, norm.

`axis` is None for all dimensions, one int, or a list or tuple of ints, counted from the end if negative.
With ``keepdims=True`` the reduced dimensions stay, broadcastable, with length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.printing.pretty import FunctionPrinter, pprint
from theano.scalar import upcast
from theano.tensor.conversion import NotScalarConstantError, as_tensor_variable, constant, get_scalar_constant_value
from theano.tensor.elemwise import All, DimShuffle, Prod, Sum
from theano.tensor.elemwise import Any as AnyOp
from theano.tensor.math import (
    abs_,
    cast,
    complex_dtypes,
    conj,
    discrete_dtypes,
    eq,
    invert,
    mul,
    neq,
    pow,
    real,
    sqrt,
    true_div,
)
from theano.tensor.shaping import shape
from theano.tensor.type import TensorType, ops, tensor_type


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the sorted, non-negative axes that `axis` stands for in a tensor of `ndim` dimensions.

    Parameters
    ----------
    axis : None, int or sequence of int
        None is all of them; negative ones count from the end.
    ndim : int
        The number of dimensions.

    Returns
    -------
    tuple of int
        Between 0 and `ndim`.

    Raises
    ------
    TypeError
        If an axis is no constant integer.
    ValueError
        If an axis is out of bounds.

    See Also
    --------
    theano.tensor.check_and_normalize_axes : Return the axes of a tensor that `axis` stands for, as a sorted list of
        integers from 0; empty for None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.normalize_axes((-1, 0), 3)
    (0, 2)
    """
    if axis is None or (isinstance(axis, Constant) and axis.data is None):
        return tuple(range(ndim))
    if isinstance(axis, Constant):
        axis = axis.data
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    if not isinstance(axis, (list, tuple, range)):
        axis = [axis]
    result = []
    for a in axis:
        if isinstance(a, Variable):
            if not isinstance(a, Constant):
                raise TypeError(f"the axis of a reduction must be a constant, got {a}")
            a = get_scalar_constant_value(a)
        if isinstance(a, (bool, np.bool_)) or not isinstance(a, (int, np.integer, np.ndarray)):
            raise TypeError(f"the axis of a reduction must be an integer, a list of integers or None, got {a!r}")
        a = int(a)
        if not -ndim <= a < ndim:
            raise ValueError(f"axis {a} is out of bounds for a tensor of {ndim} dimensions")
        result.append(a % ndim)
    return tuple(sorted(set(result)))


def makeKeepDims(x: Any, y: Any, axis: Any):
    """Return `y`, the reduction of `x` over `axis`, with the reduced dimensions put back as broadcastable ones.

    Parameters
    ----------
    x : tensor_like
        What was reduced.
    y : tensor_like
        The reduction of it.
    axis : None, int or sequence of int
        The dimensions that were reduced.

    Returns
    -------
    TensorVariable
        Of as many dimensions as `x`.

    See Also
    --------
    theano.tensor.shape_padaxis : Return `t` with a broadcastable dimension inserted at `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> T.makeKeepDims(x, x.sum(axis=0), 0).type
    TensorType(float64, row)
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    reduced = set(normalize_axes(axis, x.type.ndim))
    order: list[Any] = []
    kept = 0
    for i in range(x.type.ndim):
        if i in reduced:
            order.append("x")
        else:
            order.append(kept)
            kept += 1
    return DimShuffle(y.type.broadcastable, order)(y)


def _as_op_axis(axis: Any) -> Any:
    """Return `axis` as the reduction Ops take it: None, or a list of plain ints."""
    if axis is None or (isinstance(axis, Constant) and axis.data is None):
        return None
    if isinstance(axis, (list, tuple, range)):
        return [_as_op_axis(a) for a in axis]
    if isinstance(axis, Variable):
        try:
            return int(get_scalar_constant_value(axis))
        except NotScalarConstantError:
            raise TypeError(f"the axis of a reduction must be a constant, got {axis}") from None
    if isinstance(axis, np.ndarray):
        return axis.tolist()
    return axis


def _reduced_pattern(x: Any, axes: tuple[int, ...]) -> list[bool]:
    return [b for i, b in enumerate(x.type.broadcastable) if i not in axes]


def _axes_last(value: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return `value` with `axes` merged into one last dimension."""
    kept = [i for i in range(value.ndim) if i not in axes]
    moved = value.transpose(kept + list(axes))
    size = int(np.prod([value.shape[i] for i in axes], dtype="int64"))
    return moved.reshape((*[value.shape[i] for i in kept], size))


class _ArgReduction(Op):
    """What Argmax and MaxAndArgmax share: the axes and how they are written."""

    __props__ = ("axis",)
    _f16_ok = True

    def __init__(self, axis: Sequence[int]) -> None:
        if not isinstance(axis, (list, tuple)):
            raise TypeError(f"axis must be a list or tuple of ints, got {axis!r}")
        self.axis = tuple(int(a) for a in axis)

    def reduced_axes(self, ndim: int) -> tuple[int, ...]:
        """Return the axes of an array of so many dimensions that it searches along."""
        return self.axis if len(self.axis) < ndim else tuple(range(ndim))


class MaxAndArgmax(_ArgReduction):
    """The maximum over some axes and its index, counted over these axes in row-major order.

    Parameters
    ----------
    axis : list or tuple of int
        The axes, in increasing order and not negative.

    See Also
    --------
    theano.tensor.argmax : Return the int64 index of the maximum of `x` over `axis`, of the first one if there are
        several.
    theano.tensor.Argmax : The index of the maximum over some axes, counted over these axes in row-major order.

    Examples
    --------
    >>> import theano.tensor as T
    >>> largest, where = MaxAndArgmax(axis=(1,))(T.constant([[3, 7], [9, 1]]))
    >>> largest.eval().tolist(), where.eval().tolist()
    ([7, 9], [1, 0])
    """

    nin = 2
    nout = 2

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        axes = self.reduced_axes(x.ndim)
        pattern = _reduced_pattern(x, axes)
        outputs = [
            tensor_type(x.type.dtype, tuple(pattern))(name="max"),
            tensor_type("int64", tuple(pattern))(name="argmax"),
        ]
        return Apply(self, [x], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        (x,) = inputs
        rows = _axes_last(x, self.reduced_axes(x.ndim))
        index = np.argmax(rows, axis=-1)
        output_storage[0][0] = np.asarray(np.max(rows, axis=-1), dtype=x.dtype)
        output_storage[1][0] = np.asarray(index, dtype="int64")

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        axes = self.reduced_axes(node.inputs[0].ndim)
        kept = tuple(n for i, n in enumerate(in_shapes[0]) if i not in axes)
        return [kept, kept]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,) = inputs
        g_max = grads[0]
        if isinstance(g_max.type, DisconnectedType):
            if isinstance(grads[1].type, DisconnectedType):
                return [DisconnectedType()()]
            return [x.zeros_like(dtype=config.floatX if x.dtype in discrete_dtypes else x.dtype)]
        if x.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        axes = self.reduced_axes(x.ndim)
        # Where several elements are the maximum, each gets the whole gradient.
        hit = eq(makeKeepDims(x, outputs[0], axes), x)
        return [hit * makeKeepDims(x, g_max, axes)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None, None]
        (x,), (point,) = inputs, eval_points
        axes = self.reduced_axes(x.ndim)
        kept = [i for i in range(x.ndim) if i not in axes]
        index = self(x)[1].flatten()
        count = 1
        for i in kept:
            count = count * x.shape[i]
        rows = point.dimshuffle([*kept, *axes]).reshape((count, -1), ndim=2)
        picked = rows[ops.arange(rows.shape[0]), index]
        return [picked.reshape([x.shape[i] for i in kept], ndim=len(kept)), None]


class Argmax(_ArgReduction):
    """The index of the maximum over some axes, counted over these axes in row-major order.

    Parameters
    ----------
    axis : list or tuple of int, or None
        The axes, in increasing order and not negative; None for all.

    See Also
    --------
    theano.tensor.MaxAndArgmax : The maximum over some axes and its index, counted over these axes in row-major order.
    theano.tensor.argmax : Return the int64 index of the maximum of `x` over `axis`, of the first one if there are
        several.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[3.0, 7.0], [9.0, 1.0]])
    >>> Argmax(axis=(1,))(x).eval().tolist()
    [1, 0]
    >>> int(Argmax(axis=None)(x).eval())
    2
    """

    nin = 1
    nout = 1

    def __init__(self, axis: Sequence[int] | None) -> None:
        if axis is None:
            self.axis = None
        else:
            super().__init__(axis)

    def reduced_axes(self, ndim: int) -> tuple[int, ...]:
        return tuple(range(ndim)) if self.axis is None else super().reduced_axes(ndim)

    def make_node(self, x: Any, axis: Any = None) -> Apply:
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType("int64", _reduced_pattern(x, self.reduced_axes(x.ndim)))(name="argmax")])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        (x,) = inputs
        rows = _axes_last(x, self.reduced_axes(x.ndim))
        output_storage[0][0] = np.asarray(np.argmax(rows, axis=-1), dtype="int64")

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        axes = self.reduced_axes(node.inputs[0].ndim)
        return [tuple(n for i, n in enumerate(in_shapes[0]) if i not in axes)]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,) = inputs
        return [x.zeros_like(dtype=config.floatX if x.dtype in discrete_dtypes else x.dtype)]


def max_and_argmax(a: Any, axis: Any = None, keepdims: bool = False):
    """Return the maximum of `a` over `axis` and its index.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    axis : None, int or list of int
        Over several axes the index counts their elements in row-major order.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    list of two tensors
        The maximum, with the dtype of `a`, and its int64 index.

    See Also
    --------
    theano.tensor.argmax : Return the int64 index of the maximum of `x` over `axis`, of the first one if there are
        several.
    theano.tensor.argmin : Return the int64 index of the minimum of `x` over `axis`, of the first one if there are
        several.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [v.eval() for v in T.max_and_argmax([1, 3, 2])]
    [array(3), array(1)]
    """
    a = as_tensor_variable(a)
    axes = normalize_axes(axis, a.type.ndim)
    out, index = MaxAndArgmax(axes)(a)
    if keepdims:
        return [makeKeepDims(a, out, axes), makeKeepDims(a, index, axes)]
    return [out, index]


def max(x: Any, axis: Any = None, keepdims: bool = False):
    """Return the maximum of `x` over `axis`; NaN where there is one, as NumPy.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : None, int or list of int
        Along which axes; None for all of them.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    TensorVariable
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        At run time, if there is nothing to take the maximum of.

    See Also
    --------
    theano.tensor.min : Return the minimum of `x` over `axis`; see `max`.
    theano.tensor.argmax : Return the int64 index of the maximum of `x` over `axis`, of the first one if there are
        several.
    theano.tensor.maximum : Return the larger of `a` and `b`; NaN if one is.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.max([[1, 3], [4, 2]], axis=0).eval()
    array([4, 3])
    """
    # The Op with the index has a gradient; a rewrite drops the index where nobody uses it.
    return max_and_argmax(x, axis, keepdims)[0]


def argmax(x: Any, axis: Any = None, keepdims: bool = False):
    """Return the int64 index of the maximum of `x` over `axis`, of the first one if there are several.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : None, int or sequence of int
        None takes the flattened tensor.
    keepdims : bool
        Whether the dimensions stay in the result, with length 1.

    Returns
    -------
    TensorVariable
        Of dtype int64; without the dimensions `axis`, unless `keepdims`.

    See Also
    --------
    theano.tensor.maximum : Return the larger of `a` and `b`; NaN if one is.
    theano.tensor.min : Return the minimum of `x` over `axis`; see `max`.
    theano.tensor.argmin : Return the int64 index of the minimum of `x` over `axis`, of the first one if there are
        several.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argmax([[1, 3, 2], [6, 5, 4]], axis=1).eval()
    array([1, 0])
    """
    return max_and_argmax(x, axis, keepdims)[1]


def _mirrored(x: Any):
    """Return `x` with its order reversed: the negative, or for integers the complement, which cannot overflow."""
    return invert(x) if x.dtype in discrete_dtypes or x.dtype == "bool" else -x


def min(x: Any, axis: Any = None, keepdims: bool = False):
    """Return the minimum of `x` over `axis`; see :func:`max`.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : None, int or sequence of int
        The dimensions that are reduced; None is all of them.
    keepdims : bool
        Whether these stay in the result, with length 1.

    Returns
    -------
    TensorVariable
        Of the dtype of `x`.

    See Also
    --------
    theano.tensor.argmax : Return the int64 index of the maximum of `x` over `axis`, of the first one if there are
        several.
    theano.tensor.max : Return the maximum of `x` over `axis`; NaN where there is one, as NumPy.
    theano.tensor.ptp : Return the range of values of `a` over `axis`: the maximum minus the minimum.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.min([[1, 3], [4, 2]], axis=0).eval()
    array([1, 2])
    """
    return _mirrored(max(_mirrored(as_tensor_variable(x)), axis=axis, keepdims=keepdims))


def argmin(x: Any, axis: Any = None, keepdims: bool = False):
    """Return the int64 index of the minimum of `x` over `axis`, of the first one if there are several.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : None, int or sequence of int
        None takes the flattened tensor.
    keepdims : bool
        Whether the dimensions stay in the result, with length 1.

    Returns
    -------
    TensorVariable
        Of dtype int64; without the dimensions `axis`, unless `keepdims`.

    See Also
    --------
    theano.tensor.max_and_argmax : Return the maximum of `a` over `axis` and its index.
    theano.tensor.argmax : Return the int64 index of the maximum of `x` over `axis`, of the first one if there are
        several.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argmin([[1, 3, 2], [6, 5, 4]], axis=1).eval()
    array([0, 2])
    """
    return argmax(_mirrored(as_tensor_variable(x)), axis=axis, keepdims=keepdims)


def sum(input: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None):
    """Return the sum of `input` over `axis`.

    Parameters
    ----------
    input : tensor_like
        Of any shape.
    axis : None, int or list of int
        Along which axes; None for all of them.
    dtype : str, optional
        Dtype of the result: by default that of `input`, integers being widened to 64 bits.
    keepdims : bool
        Whether the reduced axes stay, with length 1.
    acc_dtype : str, optional
        Dtype of the accumulator: by default at least int64, uint64, float64 or complex128.

    Returns
    -------
    TensorVariable
        Of dtype `dtype`.

    See Also
    --------
    theano.tensor.mean : Return the mean of `input` over `axis`.
    theano.tensor.prod : Return the product of `input` over `axis`.
    theano.tensor.Sum : Sum along dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.sum([[1, 2], [3, 4]], axis=0).eval()
    array([4, 6])
    """
    out = Sum(axis=_as_op_axis(axis), dtype=dtype, acc_dtype=acc_dtype)(input)
    return makeKeepDims(input, out, axis) if keepdims else out


def prod(
    input: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
    no_zeros_in_input: bool = False,
):
    """Return the product of `input` over `axis`.

    Parameters
    ----------
    input : tensor_like
        Of any shape.
    axis, dtype, keepdims, acc_dtype
        See :func:`sum`.
    no_zeros_in_input : bool
        A promise that no element is zero: a simpler gradient, which can be differentiated again.

    Returns
    -------
    TensorVariable
        Of dtype `dtype`.

    See Also
    --------
    theano.tensor.sum : Return the sum of `input` over `axis`.
    theano.tensor.mean : Return the mean of `input` over `axis`.
    theano.tensor.Prod : Product along dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.prod([1, 2, 3, 4]).eval()
    array(24)
    """
    out = Prod(axis=_as_op_axis(axis), dtype=dtype, acc_dtype=acc_dtype, no_zeros_in_input=no_zeros_in_input)(input)
    return makeKeepDims(input, out, axis) if keepdims else out


class Mean(Op):
    """The mean over axes as one operation, without a rewrite of its own; :func:`mean` builds a sum and a division.

    Parameters
    ----------
    axis : int, sequence of int or None
        The dimensions, by default all.

    See Also
    --------
    theano.tensor.sum : Return the sum of `input` over `axis`.
    theano.tensor.Prod : Product along dimensions.
    theano.tensor.mean : Return the mean of `input` over `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Mean(axis=0)(T.constant([[1.0, 2.0], [3.0, 6.0]])).eval().tolist()
    [2.0, 4.0]
    """

    __props__ = ("axis",)

    def __init__(self, axis: Any = None) -> None:
        self.axis = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)

    def __str__(self) -> str:
        return "Mean" if self.axis is None else f"Mean{{{', '.join(map(str, self.axis))}}}"

    def make_node(self, input: Any) -> Apply:
        x = as_tensor_variable(input)
        axes = normalize_axes(self.axis, x.ndim)
        dtype = "float64" if x.dtype in discrete_dtypes else x.dtype
        return Apply(self, [x], [TensorType(dtype, _reduced_pattern(x, axes))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        axes = normalize_axes(self.axis, x.ndim)
        output_storage[0][0] = np.asarray(np.mean(x, axis=axes), dtype=node.outputs[0].type.dtype)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,) = inputs
        axes = normalize_axes(self.axis, x.ndim)
        size = mul(*[x.shape[a] for a in axes]) if len(axes) > 1 else x.shape[axes[0]] if axes else constant(1)
        return [x.ones_like() * makeKeepDims(x, grads[0], axes) / cast(size, grads[0].dtype)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        axes = normalize_axes(self.axis, node.inputs[0].ndim)
        return [tuple(n for i, n in enumerate(in_shapes[0]) if i not in axes)]


def mean(
    input: Any, axis: Any = None, dtype: Any = None, op: bool = False, keepdims: bool = False, acc_dtype: Any = None
):
    """Return the mean of `input` over `axis`.

    Parameters
    ----------
    input : tensor_like
        Of any shape.
    axis : None, int or list of int
        Along which axes; None for all of them.
    dtype : str, optional
        Dtype that the sum has before the division. By default the result of integers is float64, of floats their own
        dtype.
    op : bool
        Whether the result is one operation :class:`Mean`, without the other arguments.
    keepdims : bool
        Whether the reduced axes stay, with length 1.
    acc_dtype : str, optional
        Dtype of the accumulator of the sum.

    Returns
    -------
    TensorVariable
        Of a dtype of floats.

    Raises
    ------
    NotImplementedError
        If `op` is true and `dtype` or `acc_dtype` is not float64.

    See Also
    --------
    theano.tensor.prod : Return the product of `input` over `axis`.
    theano.tensor.sum : Return the sum of `input` over `axis`.
    theano.tensor.var : Return the variance of `input` over `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.mean([[1.0, 3.0], [4.0, 2.0]], axis=0).eval()
    array([2.5, 2.5])
    """
    input = as_tensor_variable(input)
    if op:
        if dtype not in (None, "float64"):
            raise NotImplementedError("the Mean operation always computes in float64; use op=False for another dtype")
        if acc_dtype not in (None, "float64"):
            raise NotImplementedError("the Mean operation always accumulates in float64; use op=False")
        out = Mean(_as_op_axis(axis))(input)
        return makeKeepDims(input, out, axis) if keepdims else out
    # Sums of float16 overflow soon.
    sum_dtype = dtype if dtype is not None else "float32" if input.dtype == "float16" else None
    total = sum(input, axis=axis, dtype=sum_dtype, keepdims=keepdims, acc_dtype=acc_dtype)
    lengths = cast(shape(input), "float32" if total.dtype in ("float16", "float32", "complex64") else "float64")
    for a in normalize_axes(axis, input.ndim):
        total = true_div(total, lengths[a])
    if total.dtype in discrete_dtypes:
        # No axis at all.
        total = cast(total, lengths.dtype)
    if (input.dtype if dtype is None else dtype) == "float16":
        total = cast(total, "float16")
    total.name = "mean"
    return total


def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False):
    """Return the variance of `input` over `axis`.

    Parameters
    ----------
    input : tensor_like
        Of any shape.
    axis : None, int or list of int
        Along which axes; None for all of them.
    ddof : int
        Delta degrees of freedom: the sum of squares is divided by the number of elements minus `ddof`.
    keepdims : bool
        Whether the reduced axes stay, with length 1.
    corrected : bool
        Correct the rounding error of the mean (two-pass algorithm of Chan, Golub and LeVeque).

    Returns
    -------
    tensor
        The mean of the squared distances from the mean, along each axis of `axis`.

    See Also
    --------
    theano.tensor.std : Return the standard deviation of `input` over `axis`, the square root of `var`.
    theano.tensor.mean : Return the mean of `input` over `axis`.
    theano.tensor.cov : Return the covariance matrix of variables, as ``numpy.cov``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.var([1.0, 3.0]).eval()
    array(1.)
    """
    input = as_tensor_variable(input)
    axes = normalize_axes(axis, input.ndim)
    centered = input - mean(input, axes if axis is None else axis, keepdims=True)
    if centered.dtype in complex_dtypes:
        square = real(centered * conj(centered))
    else:
        square = pow(centered, constant(2, dtype=centered.dtype))
    if ddof == 0:
        result = mean(square, axes, keepdims=keepdims)
    else:
        count = mul(*[input.shape[a] for a in axes]) if len(axes) > 1 else input.shape[axes[0]] if axes else constant(1)
        total = sum(square, axes, keepdims=keepdims)
        result = true_div(total, count - ddof)
    if input.dtype in complex_dtypes:
        result = cast(result, upcast(input.dtype, result.dtype))
    if corrected:
        error = mean(centered, axes, keepdims=keepdims)
        error = real(error * conj(error)) if error.dtype in complex_dtypes else error * error
        if ddof:
            size = cast(count, error.dtype)
            error = error * (size / (size - constant(ddof, dtype=error.dtype)))
        result = result - error
    result.name = "var"
    return result


def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False):
    """Return the standard deviation of `input` over `axis`, the square root of :func:`var`.

    Parameters
    ----------
    input : tensor_like
        Of any shape.
    axis, ddof, keepdims, corrected
        As for :func:`var`.

    Returns
    -------
    TensorVariable
        Of floats.

    See Also
    --------
    theano.tensor.mean : Return the mean of `input` over `axis`.
    theano.tensor.var : Return the variance of `input` over `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.std([1.0, 3.0]).eval()
    array(1.)
    """
    result = sqrt(var(input, axis, ddof=ddof, keepdims=keepdims, corrected=corrected))
    result.name = "std"
    return result


def all(x: Any, axis: Any = None, keepdims: bool = False):
    """Return whether all elements of `x` over `axis` are true.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : None, int or sequence of int
        The dimensions that are reduced; None is all of them.
    keepdims : bool
        Whether these stay in the result, with length 1.

    Returns
    -------
    TensorVariable
        Of dtype bool.

    See Also
    --------
    theano.tensor.any : Return whether an element of `x` over `axis` is true.
    theano.tensor.All : Whether all elements along the dimensions are true.
    theano.tensor.Any : Whether some element along the dimensions is true.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.all([[1, 0], [1, 1]], axis=1).eval()
    array([False,  True])
    """
    out = All(_as_op_axis(axis))(x)
    return makeKeepDims(x, out, axis) if keepdims else out


def any(x: Any, axis: Any = None, keepdims: bool = False):
    """Return whether an element of `x` over `axis` is true.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : None, int or sequence of int
        The dimensions that are reduced; None is all of them.
    keepdims : bool
        Whether these stay in the result, with length 1.

    Returns
    -------
    TensorVariable
        Of dtype bool.

    See Also
    --------
    theano.tensor.all : Return whether all elements of `x` over `axis` are true.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.any([[0, 0], [1, 0]], axis=1).eval()
    array([False,  True])
    """
    out = AnyOp(_as_op_axis(axis))(x)
    return makeKeepDims(x, out, axis) if keepdims else out


def ptp(a: Any, axis: Any = None):
    """Return the range of values of `a` over `axis`: the maximum minus the minimum.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    axis : None or int
        None takes all dimensions.

    Returns
    -------
    TensorVariable
        Of the dtype of `a`.

    See Also
    --------
    theano.tensor.max : Return the maximum of `x` over `axis`; NaN where there is one, as NumPy.
    theano.tensor.min : Return the minimum of `x` over `axis`; see `max`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ptp([3, 9, 4]).eval()
    array(6)
    """
    a = as_tensor_variable(a)
    return max(a, axis) - min(a, axis)


def norm(x: Any, ord: Any, axis: Any = None, keepdims: bool = False):
    """Return the vector norm of `x` over `axis`: ``sum(abs(x) ** ord) ** (1 / ord)``.

    Parameters
    ----------
    x : tensor_like of at least one dimension
        Of any shape.
    ord : number
        0 counts the elements that are not zero; infinity is the largest absolute value, minus infinity the smallest.
    axis : None, int or list of int
        Along which axes; None for all of them.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    TensorVariable
        Of floats.

    Raises
    ------
    TypeError
        If `axis` is not an integer, None or a tuple of integers, or `x` has no dimensions.
    ValueError
        If `ord` is not a number.

    See Also
    --------
    theano.tensor.nlinalg.norm : Return the norm of a vector or matrix, as ``numpy.linalg.norm``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.norm([3.0, 4.0], 2).eval()
    array(5.)
    """
    x = as_tensor_variable(x)
    if x.ndim == 0:
        raise TypeError("'axis' must be an integer, None or a tuple of integers for a norm of at least 1 dimension")
    if ord is None:
        ord = 2
    if isinstance(ord, str):
        raise ValueError(f"the order of a vector norm is a number, got {ord!r}; see theano.tensor.nlinalg.norm")
    if ord == 0:
        return cast(sum(neq(x, 0), axis=axis, keepdims=keepdims), config.floatX)
    if ord == np.inf:
        return max(abs_(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return min(abs_(x), axis=axis, keepdims=keepdims)
    return pow(sum(pow(abs_(x), ord), axis=axis, keepdims=keepdims), 1.0 / ord)


pprint.assign(Sum(), FunctionPrinter("sum"))
pprint.assign(Prod(), FunctionPrinter("prod"))

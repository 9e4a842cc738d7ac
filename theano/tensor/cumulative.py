"""Cumulative sums and products, and differences between neighbours."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.creation import zeros
from theano.tensor.joining import join
from theano.tensor.math import and_, cast, discrete_dtypes, eq, gt, maximum, switch
from theano.tensor.shaping import patternbroadcast
from theano.tensor.type import TensorType


def product_of(lengths: Sequence[Any]) -> Any:
    """Return the number of elements of a tensor of these lengths."""
    size: Any = constant(1, dtype="int64")
    for i, length in enumerate(lengths):
        size = length if i == 0 else size * length
    return size


def _summed_dtype(dtype: str) -> str:
    """Return the dtype of sums of `dtype`: narrow integers are widened, as NumPy does."""
    if dtype.startswith("uint"):
        return "uint64"
    if dtype.startswith("int") or dtype == "bool":
        return "int64"
    return dtype


def _around_first_zero(x: Any, axis: int) -> tuple[Any, Any, Any]:
    # Where the first 0 along an axis is, where it has been met, and the running product with a 1 in its place.
    zeros_met = CumOp(axis, "add")(cast(eq(x, 0), "int64"))
    first_zero = and_(eq(x, 0), eq(zeros_met, 1))
    without = CumOp(axis, "mul")(switch(first_zero, constant(1, dtype=x.dtype), x))
    return first_zero, gt(zeros_met, 0), without


class CumOp(Op):
    """The cumulative sum or product along an axis.

    Parameters
    ----------
    axis : int or None
        None for the flattened tensor.
    mode : {'add', 'mul'}
    """

    __props__ = ("axis", "mode")

    def __init__(self, axis: int | None = None, mode: str = "add") -> None:
        if mode not in ("add", "mul"):
            raise ValueError(f"{type(self).__name__}: Unknown mode {mode!r}")
        self.axis = axis
        self.mode = mode

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.axis}, {self.mode}}}"

    @property
    def c_axis(self) -> int | None:
        return self.axis

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        pattern: Sequence[bool] = x.type.broadcastable
        if self.axis is None:
            pattern = (x.type.ndim == 0 or all(x.type.broadcastable),)
        elif not -x.ndim <= self.axis < x.ndim:
            raise ValueError(f"axis(={self.axis}) out of bounds")
        return Apply(self, [x], [TensorType(_summed_dtype(x.type.dtype), pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        function = np.cumsum if self.mode == "add" else np.cumprod
        output_storage[0][0] = function(x, axis=self.axis, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(product_of(in_shapes[0]),)] if self.axis is None else in_shapes

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (out,), (gz,) = inputs, outputs, grads
        if x.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        axis = 0 if self.axis is None else self.axis % x.ndim
        backwards = (*[slice(None)] * axis, slice(None, None, -1))

        def sum_from_here(terms: Any) -> Any:
            return CumOp(axis=axis, mode="add")(terms[backwards])[backwards]

        if self.mode == "add":
            gx = sum_from_here(gz)
        else:
            # Before the first 0 each product from there on is divided by the element; the products that hold the first 0
            # are proportional to it, with what they are where a 1 takes its place; later elements come after a factor 0.
            flat = x.flatten() if self.axis is None else x
            first_zero, after, without = _around_first_zero(flat, axis)
            before = sum_from_here(out * gz) / switch(eq(flat, 0), constant(1, dtype=x.dtype), flat)
            there = sum_from_here(without * gz)
            gx = switch(first_zero, there, switch(after, constant(0, dtype=gz.dtype), before))
        return [gx.reshape(x.shape, ndim=x.ndim) if self.axis is None else gx]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None]
        if self.mode == "add":
            return [self(eval_points[0])]
        (x,), (point,) = inputs, eval_points
        if self.axis is None:
            x, point = x.flatten(), point.flatten()
        axis = 0 if self.axis is None else self.axis % x.ndim
        # As in the gradient: from the first 0 on only that one's change counts.
        first_zero, after, without = _around_first_zero(x, axis)
        total = CumOp(axis, "add")
        zero, one = constant(0, dtype=point.dtype), constant(1, dtype=x.dtype)
        before = CumOp(axis, "mul")(x) * total(point / switch(eq(x, 0), one, x))
        return [switch(after, without * total(switch(first_zero, point, zero)), before)]


class CumsumOp(Op):
    """Old name: makes a :class:`CumOp` of mode 'add'."""

    __props__ = ("axis",)

    def __new__(cls, axis: int | None = None) -> CumOp:  # type: ignore[misc]
        return CumOp(axis, "add")


class CumprodOp(Op):
    """Old name: makes a :class:`CumOp` of mode 'mul'."""

    __props__ = ("axis",)

    def __new__(cls, axis: int | None = None) -> CumOp:  # type: ignore[misc]
        return CumOp(axis, "mul")


def cumsum(x: Any, axis: int | None = None):
    """Return the cumulative sum of `x` along an axis, or of the flattened tensor, as ``numpy.cumsum``.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : int, optional
        None takes the flattened tensor.

    Returns
    -------
    TensorVariable
        Of the shape of `x`; a vector if `axis` is None.

    See Also
    --------
    theano.tensor.cumprod : Return the cumulative product of `x` along an axis, or of the flattened tensor, as
        ``numpy.cumprod``.
    theano.tensor.diff : Return the differences ``x[i + 1] - x[i]`` along an axis, taken `n` times, as ``numpy.diff``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.cumsum([1, 2, 3, 4]).eval()
    array([ 1,  3,  6, 10])
    """
    return CumOp(axis=axis, mode="add")(x)


def cumprod(x: Any, axis: int | None = None):
    """Return the cumulative product of `x` along an axis, or of the flattened tensor, as ``numpy.cumprod``.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axis : int, optional
        None takes the flattened tensor.

    Returns
    -------
    TensorVariable
        Of the shape of `x`; a vector if `axis` is None.

    See Also
    --------
    theano.tensor.diff : Return the differences ``x[i + 1] - x[i]`` along an axis, taken `n` times, as ``numpy.diff``.
    theano.tensor.cumsum : Return the cumulative sum of `x` along an axis, or of the flattened tensor, as
        ``numpy.cumsum``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.cumprod([1, 2, 3, 4]).eval()
    array([ 1,  2,  6, 24])
    """
    return CumOp(axis=axis, mode="mul")(x)


class DiffOp(Op):
    """The differences of order `n` between neighbours along an axis; see :func:`diff`.

    Parameters
    ----------
    n : int, optional
        How many times differences are taken.
    axis : int, optional
        Along which dimension.

    See Also
    --------
    theano.tensor.diff : Return the differences ``x[i + 1] - x[i]`` along an axis, taken `n` times, as ``numpy.diff``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> squares = T.arange(5) ** 2
    >>> DiffOp()(squares).eval().tolist(), DiffOp(n=2)(squares).eval().tolist()
    ([1, 3, 5, 7], [2, 2, 2])
    """

    __props__ = ("n", "axis")

    def __init__(self, n: int = 1, axis: int = -1) -> None:
        try:
            self.n = operator.index(n)
        except TypeError:
            raise TypeError(f"the order of a difference must be an integer, got {n!r}") from None
        if self.n < 0:
            raise ValueError(f"the order of a difference must not be negative, got {n}")
        self.axis = axis

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if not -x.ndim <= self.axis < x.ndim:
            raise ValueError(f"axis {self.axis} is out of bounds for a tensor of {x.ndim} dimensions")
        pattern = list(x.type.broadcastable)
        if self.n:
            pattern[self.axis] = False
        return Apply(self, [x], [TensorType(x.type.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.diff(inputs[0], n=self.n, axis=self.axis)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        lengths = list(in_shapes[0])
        lengths[self.axis] = maximum(lengths[self.axis] - self.n, 0)
        return [lengths]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        if x.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        if self.n == 0:
            return [gz]
        # The transpose of a difference is minus the difference of the values between zeros.
        axis = self.axis % x.ndim
        lengths = [gz.shape[i] for i in range(gz.ndim)]
        lengths[axis] = constant(self.n, dtype="int64")
        border = zeros(lengths, dtype=gz.dtype)
        gx = DiffOp(self.n, axis)(join(axis, border, gz, border))
        # An input that is too short to have a difference is shorter than the border.
        gx = gx[(slice(None),) * axis + (slice(None, x.shape[axis]),)]
        return [patternbroadcast(gx if self.n % 2 == 0 else -gx, x.type.broadcastable)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0])]


def diff(x: Any, n: int = 1, axis: int = -1):
    """Return the differences ``x[i + 1] - x[i]`` along an axis, taken `n` times, as ``numpy.diff``.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    n : int
        How often differences are taken.
    axis : int
        Along which.

    Returns
    -------
    TensorVariable
        Shorter by `n` along `axis`.

    See Also
    --------
    theano.tensor.cumsum : Return the cumulative sum of `x` along an axis, or of the flattened tensor, as
        ``numpy.cumsum``.
    theano.tensor.cumprod : Return the cumulative product of `x` along an axis, or of the flattened tensor, as
        ``numpy.cumprod``.
    theano.tensor.DiffOp : The differences of order `n` between neighbours along an axis; see `diff`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.diff([1, 4, 9]).eval()
    array([3, 5])
    """
    return DiffOp(n=n, axis=axis)(x)

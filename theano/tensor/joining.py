"""Putting tensors together and taking them apart: join, concatenate, stack, split."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.printing.pretty import FunctionPrinter, pprint
from theano.tensor.conversion import (
    NotScalarConstantError,
    as_tensor_variable,
    constant,
    get_scalar_constant_value,
)
from theano.tensor.creation import zeros_like
from theano.tensor.from_scalars import MakeVector
from theano.tensor.math import discrete_dtypes, eq, integer_dtypes, or_, switch
from theano.tensor.shaping import patternbroadcast, shape_padaxis
from theano.tensor.static_shape import check_join
from theano.tensor.type import tensor_type


def _constant_axis(axis: Any) -> int | None:
    try:
        return int(get_scalar_constant_value(axis))
    except NotScalarConstantError:
        return None


class Join(Op):
    """Tensors of equal rank one after another along an axis, which is the first input.

    Parameters
    ----------
    view : int
        Index of the tensor that the output may be a view of when all others are empty; -1 for none.

    See Also
    --------
    theano.tensor.Split : The pieces of a tensor along an axis; inputs are the tensor, the axis and the vector of their
        lengths.
    theano.tensor.join : Return the tensors one after another along `axis`.
    theano.tensor.join_ : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.constant([[1, 2]]), T.constant([[3, 4]])
    >>> Join()(0, a, b).eval().tolist(), Join()(1, a, b).eval().tolist()
    ([[1, 2], [3, 4]], [[1, 2, 3, 4]])
    """

    check_input = False
    __props__ = ("view",)
    _f16_ok = True

    def __init__(self, view: int = -1) -> None:
        self.view = view
        if view != -1:
            # Input 0 is the axis.
            self.view_map = {0: [1 + view]}

    def __str__(self) -> str:
        if self.view == -1:
            return type(self).__name__
        return f"{type(self).__name__}{{view={self.view}}}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("view", -1)

    def make_node(self, axis: Any, *tensors: Any) -> Apply:
        if not tensors:
            raise ValueError("Cannot join an empty list of tensors")
        axis = as_tensor_variable(axis)
        tensors = tuple([as_tensor_variable(x) for x in tensors])
        if axis.dtype not in integer_dtypes or axis.ndim:
            raise TypeError(f"The axis of a join has to be an integer scalar, got {axis} of {axis.type}")
        if not all(x.type.ndim for x in tensors):
            raise TypeError("Join cannot handle arguments of dimension 0. Use `stack` to join scalar values.")
        ndim = tensors[0].type.ndim
        if any(x.type.ndim != ndim for x in tensors):
            raise TypeError(
                f"Only tensors with the same number of dimensions can be joined, got {[x.type.ndim for x in tensors]}"
            )
        dtype = scal.upcast(*[x.type.dtype for x in tensors])
        if len(tensors) == 1:
            pattern = list(tensors[0].type.broadcastable)
        else:
            pattern = [False] * ndim
            known = _constant_axis(axis)
            if known is not None:
                if not -ndim <= known < ndim:
                    # An IndexError and a ValueError: Theano 1.0 raises the one below the bounds, the other above.
                    raise np.exceptions.AxisError(f"Join axis {known} out of bounds [-{ndim}, {ndim})")
                # A dimension that one tensor says is 1 is 1 for all, along every axis but the joined one.
                for i in range(ndim):
                    if i != known % ndim:
                        pattern[i] = any(x.type.broadcastable[i] for x in tensors)
                check_join(known % ndim, tensors)
        return Apply(self, [axis, *tensors], [tensor_type(dtype, tuple(pattern))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        axis, tensors = int(inputs[0]), inputs[1:]
        dtype = node.outputs[0].type.dtype
        if self.view != -1:
            kept = tensors[self.view]
            if kept.dtype == dtype and all(x.shape[axis] == 0 for i, x in enumerate(tensors) if i != self.view):
                output_storage[0][0] = kept
                return
        ndim = tensors[0].ndim
        if not -ndim <= axis < ndim:
            raise IndexError(f"Join axis {axis} out of bounds [-{ndim}, {ndim})")
        try:
            output_storage[0][0] = np.concatenate(tensors, axis=axis).astype(dtype, copy=False)
        except ValueError as error:
            raise ValueError(
                f"all the input array dimensions except for the concatenation axis {axis} must match exactly, "
                f"got shapes {[x.shape for x in tensors]}"
            ) from error

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]] + [[True]] * (len(node.inputs) - 1)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        axis, tensors = inputs[0], inputs[1:]
        (gz,) = grads
        if scal.upcast(*[x.type.dtype for x in tensors]) in discrete_dtypes:
            return [DisconnectedType()()] + [zeros_like(x, dtype=config.floatX) for x in tensors]
        if len(tensors) == 1:
            return [DisconnectedType()(), gz]
        lengths = stack([x.shape[axis] for x in tensors])
        pieces = Split(len(tensors))(gz, axis, lengths, return_list=True)
        return [DisconnectedType()()] + [
            patternbroadcast(piece, x.type.broadcastable) for piece, x in zip(pieces, tensors)
        ]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if all(e is None for e in eval_points[1:]):
            return [None]
        points = [
            zeros_like(x, dtype=config.floatX if x.type.dtype in discrete_dtypes else x.type.dtype) if e is None else e
            for x, e in zip(inputs[1:], eval_points[1:])
        ]
        return self.make_node(inputs[0], *points).outputs

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        axis = node.inputs[0]
        known = _constant_axis(axis)
        shapes = in_shapes[1:]
        ndim = len(shapes[0])
        result = []
        for i in range(ndim):
            if known is not None and i != known % ndim:
                result.append(self._same_length(node, shapes, i))
                continue
            total = shapes[0][i]
            for other in shapes[1:]:
                total = total + other[i]
            if known is None:
                joined = or_(eq(axis, i), eq(axis, i - ndim))
                total = switch(joined, total, shapes[0][i])
            result.append(total)
        return [tuple(result)]

    @staticmethod
    def _same_length(node: Apply, shapes: Any, i: int) -> Any:
        """Return the length of a dimension that all tensors share, preferably one that is known."""
        for x in node.inputs[1:]:
            if x.type.broadcastable[i]:
                return constant(1, dtype="int64")
        for s in shapes:
            if isinstance(s[i], Constant):
                return s[i]
        return shapes[0][i]


join_ = Join()
pprint.assign(Join, FunctionPrinter("join"))


def join(axis: Any, *tensors_list: Any):
    """Return the tensors one after another along `axis`.

    Parameters
    ----------
    axis : int or integer scalar
        Counted from the end if negative.
    *tensors_list : tensor_like
        All of the same rank, at least 1, and of equal lengths but along `axis`.

    Returns
    -------
    tensor of the common dtype

    Raises
    ------
    TypeError
        If ranks differ or are 0.
    IndexError
        If `axis` is a constant out of bounds.

    See Also
    --------
    theano.tensor.split : Return `n_splits` pieces of `x` along `axis`, of lengths `splits_size`.
    theano.tensor.stack : Return tensors of equal shape along a new axis: ``stack(tensors, axis=0)``.
    theano.tensor.Join : Tensors of equal rank one after another along an axis, which is the first input.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.join(1, T.ones((2, 1)), T.zeros((2, 1))).eval()
    array([[1., 0.],
           [1., 0.]])
    """
    if len(tensors_list) == 1:
        return tensors_list[0]
    return join_(axis, *tensors_list)


def concatenate(tensor_list: Sequence[Any], axis: Any = 0):
    """Return the tensors of a list one after another along `axis`; see :func:`join`.

    Parameters
    ----------
    tensor_list : list or tuple of tensor_like
        All of the same number of dimensions, and lengths except along `axis`.
    axis : int or integer scalar
        Along which they follow one another.

    Returns
    -------
    TensorVariable
        Of the common dtype of the tensors.

    Raises
    ------
    TypeError
        If `tensor_list` is not a list or tuple.

    See Also
    --------
    theano.tensor.stack : Return tensors of equal shape along a new axis: ``stack(tensors, axis=0)``.
    theano.tensor.join : Return the tensors one after another along `axis`.
    theano.tensor.split : Return `n_splits` pieces of `x` along `axis`, of lengths `splits_size`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.concatenate([T.arange(2), T.arange(3)]).eval()
    array([0, 1, 0, 1, 2])
    """
    if not isinstance(tensor_list, (tuple, list)):
        raise TypeError(
            f"The argument tensor_list must be a tuple or a list; make sure you did not forget"
            f" () or [] around the arguments of concatenate, got {tensor_list}"
        )
    return join(axis, *tensor_list)


def stack(*tensors: Any, **kwargs: Any):
    """Return tensors of equal shape along a new axis: ``stack(tensors, axis=0)``.

    Parameters
    ----------
    tensors : list or tuple of tensor_like
        All of one shape.
    axis : int
        Where the new axis is in the result.

    Returns
    -------
    tensor of one more dimension
        Scalars make a vector, whatever the axis.

    Raises
    ------
    IndexError
        If `axis` is out of bounds.

    See Also
    --------
    theano.tensor.join : Return the tensors one after another along `axis`.
    theano.tensor.concatenate : Return the tensors of a list one after another along `axis`; see `join`.
    theano.tensor.stacklists : Return nested lists of tensors as one tensor, with one leading dimension per level of
        nesting.

    Notes
    -----
    The old form ``stack(*tensors)``, which stacks along axis 0, still works and warns.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.stack([T.constant([1, 2]), T.constant([3, 4])], axis=1).eval()
    array([[1, 3],
           [2, 4]])
    """
    unknown = set(kwargs) - {"tensors", "axis"}
    if unknown:
        raise TypeError(f"stack() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    if not tensors and "tensors" not in kwargs:
        raise TypeError("theano.tensor.stack(tensors, axis=0) needs at least one argument")
    if "tensors" in kwargs:
        pieces, axis = kwargs["tensors"], kwargs.get("axis", tensors[0] if tensors else 0)
    elif not isinstance(tensors[0], (list, tuple)) and not (
        isinstance(tensors[0], np.ndarray) and tensors[0].ndim and (len(tensors) == 1 or "axis" in kwargs)
    ):
        warnings.warn(
            "stack(*tensors) interface is deprecated, use stack(tensors, axis=0) instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        pieces, axis = tensors, 0
    else:
        pieces = tensors[0]
        axis = tensors[1] if len(tensors) > 1 else kwargs.get("axis", 0)
    if len(pieces) == 0:
        raise ValueError("No tensor arguments provided to stack")
    if isinstance(axis, Variable):
        axis = int(get_scalar_constant_value(axis))
    variables = [as_tensor_variable(x) for x in pieces]
    if all(x.type.ndim == 0 for x in variables) and any(not isinstance(x, Constant) for x in variables):
        dtype = scal.upcast(*[x.type.dtype for x in variables])
        return MakeVector(dtype)(*variables)
    if len({x.type.ndim for x in variables}) != 1:
        raise TypeError(f"stack needs tensors of equal rank, got {[x.type.ndim for x in variables]}")
    ndim = variables[0].type.ndim + 1
    if ndim == 1:
        axis = 0
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds [-{ndim}, {ndim}) for stacked tensors")
    return join(axis % ndim, *[shape_padaxis(x, axis % ndim) for x in variables])


class Split(Op):
    """The pieces of a tensor along an axis; inputs are the tensor, the axis and the vector of their lengths.

    Parameters
    ----------
    len_splits : int
        Number of pieces.

    See Also
    --------
    theano.tensor.join : Return the tensors one after another along `axis`.
    theano.tensor.Join : Tensors of equal rank one after another along an axis, which is the first input.
    theano.tensor.split : Return `n_splits` pieces of `x` along `axis`, of lengths `splits_size`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> head, tail = Split(2)(T.arange(5), 0, [2, 3])
    >>> head.eval().tolist(), tail.eval().tolist()
    ([0, 1], [2, 3, 4])
    """

    __props__ = ("len_splits",)
    _f16_ok = True

    def __init__(self, len_splits: int) -> None:
        self.len_splits = int(len_splits)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.len_splits}}}"

    def make_node(self, x: Any, axis: Any, splits: Any) -> Apply:
        x, axis, splits = as_tensor_variable(x), as_tensor_variable(axis), as_tensor_variable(splits)
        if splits.ndim != 1 or splits.dtype not in integer_dtypes:
            raise TypeError(f"splits must have type tensor.lvector, got {splits.type}")
        if axis.ndim or axis.dtype not in integer_dtypes:
            raise TypeError(f"axis must have type lscalar, got {axis.type}")
        pattern = list(x.type.broadcastable)
        if self.len_splits > 1:
            known = _constant_axis(axis)
            if known is None:
                pattern = [False] * x.ndim
            elif not -x.ndim <= known < x.ndim:
                raise IndexError(f"Split axis {known} out of bounds [{-x.ndim}, {x.ndim})")
            else:
                pattern[known] = False
        return Apply(self, [x, axis, splits], [tensor_type(x.dtype, tuple(pattern))() for _ in range(self.len_splits)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, axis, splits = inputs
        axis = int(axis)
        try:
            length = x.shape[axis]
        except IndexError:
            raise IndexError(f"Split axis {axis} out of bounds [{-x.ndim}, {x.ndim})") from None
        if len(splits) != self.len_splits:
            raise ValueError(f"In Split.perform(), len(splits) is {len(splits)} and not {self.len_splits}.")
        if np.sum(splits) != length:
            raise ValueError(f"The splits sum to {np.sum(splits)}, expected {length}")
        if np.any(np.asarray(splits) < 0):
            raise ValueError("Split: you tried to make an ndarray with a negative number of elements.")
        key: list[Any] = [slice(None)] * x.ndim
        start = 0
        for out, count in zip(output_storage, splits.tolist()):
            key[axis] = slice(start, start + count)
            out[0] = x[tuple(key)].copy()
            start += count

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        _, axis, splits = node.inputs
        x_shape = in_shapes[0]
        ndim = len(x_shape)
        known = _constant_axis(axis)
        if self.len_splits == 1:
            return [x_shape]
        result = []
        for k in range(self.len_splits):
            if known is not None:
                lengths = list(x_shape)
                lengths[known] = splits[k]
            else:
                lengths = [switch(or_(eq(axis, i), eq(axis, i - ndim)), splits[k], x_shape[i]) for i in range(ndim)]
            result.append(lengths)
        return result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True] * self.len_splits, [False] * self.len_splits, [False] * self.len_splits]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, axis, _ = inputs
        if all(isinstance(g.type, DisconnectedType) for g in grads):
            return [DisconnectedType()() for _ in inputs]
        if x.dtype in discrete_dtypes:
            return [zeros_like(x, dtype=config.floatX), DisconnectedType()(), DisconnectedType()()]
        pieces = [zeros_like(out) if isinstance(g.type, DisconnectedType) else g for g, out in zip(grads, outputs)]
        gx = join(axis, *pieces)
        return [patternbroadcast(gx, x.type.broadcastable), DisconnectedType()(), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None for _ in range(self.len_splits)]
        return self.make_node(eval_points[0], *inputs[1:]).outputs


def split(x: Any, splits_size: Any, n_splits: int, axis: Any = 0):
    """Return `n_splits` pieces of `x` along `axis`, of lengths `splits_size`.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    splits_size : sequence of int, or integer vector
        The lengths, which add up to that of `x`.
    n_splits : int
        How many.
    axis : int or integer scalar
        Along which `x` is split.

    Returns
    -------
    list of TensorVariable
        The pieces.

    See Also
    --------
    theano.tensor.concatenate : Return the tensors of a list one after another along `axis`; see `join`.
    theano.tensor.join : Return the tensors one after another along `axis`.
    theano.tensor.Split : The pieces of a tensor along an axis; inputs are the tensor, the axis and the vector of their
        lengths.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.split(T.arange(5), [2, 3], n_splits=2)
    >>> b.eval()
    array([2, 3, 4])
    """
    return Split(n_splits)(x, axis, splits_size)


def stacklists(arg: Any):
    """Return nested lists of tensors as one tensor, with one leading dimension per level of nesting.

    What is no list or tuple, an array as well, is returned as it is.

    Parameters
    ----------
    arg : tensor_like, or nested lists of them
        What is stacked.

    Returns
    -------
    TensorVariable
        The tensor.

    See Also
    --------
    theano.tensor.stack : Return tensors of equal shape along a new axis: ``stack(tensors, axis=0)``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.stacklists([[1, 2], [3, 4]]).eval().shape
    (2, 2)
    """
    if isinstance(arg, (tuple, list)):
        return stack([stacklists(item) for item in arg])
    return arg


def horizontal_stack(*args: Any):
    """Return matrices side by side.

    Parameters
    ----------
    *args : matrix
        Of equally many rows.

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.tensor.vertical_stack : Return matrices below each other.
    theano.tensor.concatenate : Return the tensors of a list one after another along `axis`; see `join`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.horizontal_stack(T.ones((2, 1)), T.zeros((2, 1))).eval()
    array([[1., 0.],
           [1., 0.]])
    """
    return _stack_matrices(args, axis=1)


def vertical_stack(*args: Any):
    """Return matrices below each other.

    Parameters
    ----------
    *args : matrix
        Of equally many columns.

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.tensor.concatenate : Return the tensors of a list one after another along `axis`; see `join`.
    theano.tensor.horizontal_stack : Return matrices side by side.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.vertical_stack(T.ones((1, 2)), T.zeros((1, 2))).eval()
    array([[1., 1.],
           [0., 0.]])
    """
    return _stack_matrices(args, axis=0)


def _stack_matrices(args: Sequence[Any], axis: int):
    if len(args) < 2:
        raise ValueError(f"give at least two matrices, got {len(args)}")
    matrices = [as_tensor_variable(arg) for arg in args]
    if any(x.type.ndim != 2 for x in matrices):
        raise TypeError(f"arguments have to be matrices, got ranks {[x.type.ndim for x in matrices]}")
    return concatenate(matrices, axis=axis)

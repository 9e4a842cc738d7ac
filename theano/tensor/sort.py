"""Sorting: sort, argsort, and the k largest or smallest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.graph import Apply, Constant
from theano.gof.op import Op
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gradient_types import DisconnectedType, grad_undefined
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.creation import arange, zeros_like
from theano.tensor.math import discrete_dtypes, integer_dtypes, minimum, switch
from theano.tensor.rewriting.registry import register_specialize, register_useless
from theano.tensor.shaping import patternbroadcast
from theano.tensor.type import TensorType, ops
from theano.tensor.type_other import NoneConst


def _check_kind(kind: str) -> None:
    if kind not in ("quicksort", "mergesort", "heapsort", "stable"):
        raise ValueError(f"kind has to be 'quicksort', 'mergesort', 'heapsort' or 'stable', got {kind!r}")


def _axis_variable(axis: Any) -> Any:
    if axis is None:
        return NoneConst
    axis = as_tensor_variable(axis)
    if axis.ndim:
        raise TypeError(f"the axis of a sort has to be a scalar, got {axis.type}")
    return axis


def _is_flat(axis: Any) -> bool:
    return isinstance(axis, Constant) and axis.data is None


def _known_axis(axis: Any, ndim: int) -> int | None:
    if not isinstance(axis, Constant):
        return None
    value = int(axis.data)
    if not -ndim <= value < ndim:
        raise ValueError(f"axis {value} is out of bounds for a tensor of {ndim} dimensions")
    return value % ndim


def _gather_index(index: Any, axis: int) -> tuple[Any, ...]:
    """Return the index that picks, along `axis`, the elements at the positions `index`."""
    parts = []
    for i in range(index.ndim):
        if i == axis:
            parts.append(index)
        else:
            along: list[Any] = ["x"] * index.ndim
            along[i] = 0
            parts.append(arange(index.shape[i]).dimshuffle(along))
    return tuple(parts)


class _Sorting(Op):
    """What sorting and the order of sorting have in common."""

    __props__ = ("kind", "order")

    def __init__(self, kind: str, order: Any = None) -> None:
        _check_kind(kind)
        self.kind = kind
        self.order = order

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.kind}, {self.order}}}"

    def _result_dtype(self, input: Any) -> str:
        return input.type.dtype

    def make_node(self, input: Any, axis: Any = -1) -> Apply:
        input = as_tensor_variable(input)
        axis = _axis_variable(axis)
        if not _is_flat(axis):
            _known_axis(axis, input.type.ndim)
        pattern = (False,) if _is_flat(axis) else input.type.broadcastable
        return Apply(self, [input, axis], [TensorType(self._result_dtype(input), pattern)()])

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        if _is_flat(node.inputs[1]):
            return [(_size(in_shapes[0]),)]
        return [in_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]


class SortOp(_Sorting):
    """The input sorted along an axis, the second input; all of it if that is None.

    Parameters
    ----------
    kind : {'quicksort', 'mergesort', 'heapsort', 'stable'}
        The algorithm.
    order : str or list of str, optional
        Fields to sort by; of use for structured arrays only.

    See Also
    --------
    theano.tensor.sort.ArgSortOp : The int64 indices that sort the input along an axis, the second input; see `SortOp`.
    theano.tensor.sort : Return `a` sorted along an axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[3, 1], [0, 2]])
    >>> SortOp("quicksort")(x, 0).eval().tolist(), SortOp("quicksort")(x, None).eval().tolist()
    ([[0, 1], [3, 2]], [0, 1, 2, 3])
    """

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, axis = inputs
        output_storage[0][0] = np.sort(a, None if axis is None else int(axis), self.kind, self.order)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        a, axis = inputs
        (gz,) = grads
        if a.dtype in discrete_dtypes:
            return [a.zeros_like(dtype=config.floatX), DisconnectedType()()]
        index = argsort(a, None if _is_flat(axis) else axis, self.kind, self.order)
        if _is_flat(axis):
            flat = zeros_like(a.flatten(), dtype=gz.dtype)
            return [ops.set_subtensor(flat[index], gz).reshape(a.shape, ndim=a.ndim), DisconnectedType()()]
        known = _known_axis(axis, a.ndim)
        if known is None:
            return [grad_undefined(self, 0, a, "the axis of the sort is not known"), DisconnectedType()()]
        return [_scatter(a, index, gz, known), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        a, axis = inputs
        if eval_points[0] is None:
            return [None]
        index = argsort(a, None if _is_flat(axis) else axis, self.kind, self.order)
        if _is_flat(axis):
            return [eval_points[0].flatten()[index]]
        known = _known_axis(axis, a.ndim)
        if known is None:
            raise NotImplementedError("the R operator of a sort needs a constant axis")
        return [patternbroadcast(eval_points[0][_gather_index(index, known)], a.type.broadcastable)]


def _scatter(a: Any, index: Any, gz: Any, axis: int):
    """Return zeros like `a` with `gz` at the positions `index` along `axis`."""
    zeros = zeros_like(a, dtype=gz.dtype)
    if a.ndim == 1:
        return ops.set_subtensor(zeros[index], gz)
    return ops.set_subtensor(zeros[_gather_index(index, axis)], gz)


def _size(lengths: Sequence[Any]) -> Any:
    size: Any = constant(1, dtype="int64")
    for length in lengths:
        size = size * length
    return size


def sort(a: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None):
    """Return `a` sorted along an axis.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    axis : int, scalar or None
        None sorts the flattened tensor.
    kind : {'quicksort', 'mergesort', 'heapsort', 'stable'}
        The algorithm.
    order : optional
        Fields to sort by; of use for structured arrays only.

    Returns
    -------
    TensorVariable
        Of the type of `a`; a vector if `axis` is None.

    See Also
    --------
    theano.tensor.argsort : Return the int64 indices that sort `a` along an axis; see `sort`.
    theano.tensor.topk : Return the `kth` largest elements of `x` along an axis, or the smallest ones if `kth` is
        negative.
    theano.tensor.extra_ops.Unique : The sorted distinct elements of the flattened input, or its distinct slices along an
        axis, as ``numpy.unique``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.sort([3, 1, 2]).eval()
    array([1, 2, 3])
    """
    return SortOp(kind, order)(*_flat_if_none(a, axis))


class ArgSortOp(_Sorting):
    """The int64 indices that sort the input along an axis, the second input; see :class:`SortOp`.

    See Also
    --------
    theano.tensor.sort : Return `a` sorted along an axis.
    theano.tensor.sort.SortOp : The input sorted along an axis, the second input; all of it if that is None.
    theano.tensor.argsort : Return the int64 indices that sort `a` along an axis; see `sort`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> ArgSortOp("stable")(T.constant([3, 1, 2]), -1).eval().tolist()
    [1, 2, 0]
    """

    def _result_dtype(self, input: Any) -> str:
        return "int64"

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, axis = inputs
        # NumPy's other kinds are not stable on every CPU.
        index = np.argsort(a, None if axis is None else int(axis), "stable", self.order)
        output_storage[0][0] = np.asarray(index, dtype="int64")

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        a, _ = inputs
        # The indices are piecewise constant.
        return [a.zeros_like(dtype=config.floatX if a.dtype in discrete_dtypes else a.dtype), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]


def argsort(a: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None):
    """Return the int64 indices that sort `a` along an axis; see :func:`sort`.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    axis, kind, order
        As for :func:`sort`.

    Returns
    -------
    TensorVariable
        Of dtype int64 and the shape of `a`; a vector if `axis` is None.

    See Also
    --------
    theano.tensor.topk : Return the `kth` largest elements of `x` along an axis, or the smallest ones if `kth` is
        negative.
    theano.tensor.sort : Return `a` sorted along an axis.
    theano.tensor.sort.ArgSortOp : The int64 indices that sort the input along an axis, the second input; see `SortOp`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argsort([3, 1, 2]).eval()
    array([1, 2, 0])
    """
    return ArgSortOp(kind, order)(*_flat_if_none(a, axis))


class TopKOp(Op):
    """The `k` largest elements along an axis, or the smallest ones if `k` is negative, and their indices.

    Inputs: the tensor and the integer scalar `k`.

    Parameters
    ----------
    axis : int
        Along which axis.
    sorted : bool
        Whether the elements come in descending (for negative `k` ascending) order; else their order is undefined.
    idx_dtype : str
        Integer dtype of the indices.
    return_values, return_indices : bool
        Which outputs there are.

    See Also
    --------
    theano.tensor.topk_and_argtopk : Return the elements that `topk` returns and their indices, as a list.

    Examples
    --------
    >>> import theano.tensor as T
    >>> values, where = TopKOp()(T.constant([5, 9, 7]), 2)
    >>> values.eval().tolist(), where.eval().tolist()
    ([9, 7], [1, 2])
    >>> TopKOp(return_indices=False)(T.constant([5, 9, 7]), -1).eval().tolist()
    [5]
    """

    __props__ = ("axis", "sorted", "return_values", "return_indices", "idx_dtype")

    def __init__(
        self,
        axis: int = -1,
        sorted: bool = True,
        idx_dtype: str = "int64",
        return_values: bool = True,
        return_indices: bool = True,
    ) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis parameter must be integer, got {type(axis)}")
        if idx_dtype not in integer_dtypes:
            raise TypeError(f'idx_dtype parameter must be an integer dtype, got "{idx_dtype}"')
        if not (return_indices or return_values):
            raise ValueError("Neither return_values nor return_indices is True, this isn't allowed")
        self.axis = axis
        self.sorted = sorted
        self.return_values = return_values
        self.return_indices = return_indices
        self.idx_dtype = idx_dtype

    def __str__(self) -> str:
        return f"{type(self).__name__}{{axis={self.axis}, sorted={self.sorted}}}"

    def make_node(self, inp: Any, kth: Any) -> Apply:
        inp, kth = as_tensor_variable(inp), as_tensor_variable(kth)
        ndim = inp.ndim
        if ndim == 0:
            raise ValueError("Cannot take a scalar as input")
        if not -ndim <= self.axis < ndim:
            raise IndexError(f'"axis" parameter out of range, expected integer within [{-ndim}, {ndim - 1}]')
        if kth.ndim or kth.dtype not in integer_dtypes:
            raise TypeError(f"k has to be an integer scalar, got {kth.type}")
        pattern = list(inp.type.broadcastable)
        pattern[self.axis] = isinstance(kth, Constant) and abs(int(kth.data)) == 1
        outputs = []
        if self.return_values:
            outputs.append(TensorType(inp.type.dtype, pattern)())
        if self.return_indices:
            outputs.append(TensorType(self.idx_dtype, pattern)())
        return Apply(self, [inp, kth], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, k = inputs
        k = int(k)
        axis = self.axis % x.ndim
        length = x.shape[axis]
        if k == 0 or abs(k) > length:
            raise ValueError(f"topk: kth must be in [-{length}, 0) or (0, {length}], got {k}")
        first: Any = (*[slice(None)] * axis, slice(abs(k)))
        if self.sorted:
            # Of equal elements the first one comes first, as in native code.
            ahead = x if k < 0 else np.flip(x, axis=axis)
            index = np.argsort(ahead, axis=axis, kind="stable")
            index = (index if k < 0 else length - 1 - np.flip(index, axis=axis))[first]
        elif abs(k) == length:
            index = np.broadcast_to(
                np.arange(length).reshape([-1 if i == axis else 1 for i in range(x.ndim)]), x.shape
            )
        else:
            order = np.argpartition(x, length - k if k > 0 else -k - 1, axis=axis)
            part = slice(length - k, None) if k > 0 else slice(None, -k)
            index = order[(*[slice(None)] * axis, part)]
        values = np.take_along_axis(x, index, axis=axis)
        results = []
        if self.return_values:
            results.append(np.ascontiguousarray(values))
        if self.return_indices:
            results.append(np.ascontiguousarray(index).astype(self.idx_dtype))
        for out, result in zip(output_storage, results):
            out[0] = result

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        _, kth = node.inputs
        lengths = list(in_shapes[0])
        count = kth.astype("int64")
        count = switch(count < 0, -count, count)
        lengths[self.axis] = minimum(count, lengths[self.axis])
        return [tuple(lengths) for _ in node.outputs]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        pattern: list[list[bool]] = [[], []]
        if self.return_values:
            pattern[0].append(True)
            pattern[1].append(False)
        if self.return_indices:
            pattern[0].append(False)
            pattern[1].append(False)
        return pattern

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, k = inputs
        if not self.return_values:
            return [x.zeros_like(dtype=config.floatX if x.dtype in discrete_dtypes else x.dtype), DisconnectedType()()]
        gz = grads[0]
        if x.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX), DisconnectedType()()]
        index = outputs[1] if self.return_indices else argtopk(x, k, self.axis, self.sorted)
        return [_scatter(x, index, gz, self.axis % x.ndim), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        x, k = inputs
        count = self.return_values + self.return_indices
        if not self.return_values or eval_points[0] is None:
            return [None] * count
        index = argtopk(x, k, self.axis, self.sorted)
        axis = self.axis % x.ndim
        moved = eval_points[0][index if x.ndim == 1 else _gather_index(index, axis)]
        return [patternbroadcast(moved, index.type.broadcastable), None][:count]


def topk(x: Any, kth: Any, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"):
    """Return the `kth` largest elements of `x` along an axis, or the smallest ones if `kth` is negative.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    kth : int or scalar
        How many elements; the smallest ones where negative, not 0.
    axis : int or None
        None takes the flattened tensor.
    sorted : bool
        Whether they come in descending (for negative `kth` ascending) order.
    idx_dtype : str
        Integer dtype of the indices used internally.

    Returns
    -------
    TensorVariable
        Of the dtype of `x`.

    See Also
    --------
    theano.tensor.sort : Return `a` sorted along an axis.
    theano.tensor.argsort : Return the int64 indices that sort `a` along an axis; see `sort`.
    theano.tensor.argtopk : Return the indices of the elements that `topk` returns.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.topk([3, 9, 1, 7], 2).eval()
    array([9, 7])
    """
    x, axis = _flat_if_none(x, axis)
    return TopKOp(axis=axis, sorted=sorted, idx_dtype=idx_dtype)(x, kth, return_list=True)[0]


def argtopk(x: Any, kth: Any, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"):
    """Return the indices of the elements that :func:`topk` returns.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    kth, axis, sorted
        As for :func:`topk`.
    idx_dtype : str
        Integer dtype of the result.

    Returns
    -------
    TensorVariable
        Of dtype `idx_dtype`.

    See Also
    --------
    theano.tensor.topk_and_argtopk : Return the elements that `topk` returns and their indices, as a list.
    theano.tensor.topk : Return the `kth` largest elements of `x` along an axis, or the smallest ones if `kth` is
        negative.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argtopk([3, 9, 1, 7], 2).eval()
    array([1, 3])
    """
    x, axis = _flat_if_none(x, axis)
    return TopKOp(axis=axis, sorted=sorted, idx_dtype=idx_dtype)(x, kth, return_list=True)[1]


def topk_and_argtopk(x: Any, kth: Any, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"):
    """Return the elements that :func:`topk` returns and their indices, as a list.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    kth, axis, sorted, idx_dtype
        As for :func:`topk`.

    Returns
    -------
    list of TensorVariable
        The elements and the indices.

    See Also
    --------
    theano.tensor.topk : Return the `kth` largest elements of `x` along an axis, or the smallest ones if `kth` is
        negative.
    theano.tensor.argtopk : Return the indices of the elements that `topk` returns.
    theano.tensor.sort.TopKOp : The `k` largest elements along an axis, or the smallest ones if `k` is negative, and their
        indices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [v.eval() for v in T.topk_and_argtopk([3, 9, 1, 7], 2)]
    [array([9, 7]), array([1, 3])]
    """
    x, axis = _flat_if_none(x, axis)
    return TopKOp(axis=axis, sorted=sorted, idx_dtype=idx_dtype)(x, kth, return_list=True)


def _flat_if_none(x: Any, axis: Any) -> tuple[Any, Any]:
    x = as_tensor_variable(x)
    return (x.flatten(), 0) if axis is None else (x, axis)


@register_specialize
@register_useless
@local_optimizer([TopKOp])
def local_useless_topk(node: Any) -> Any:
    """``topk_and_argtopk(x)`` of which one result is not used -> the operation without it"""
    op = node.op
    if not (op.return_values and op.return_indices):
        return False
    values, indices = node.outputs
    if bool(values.clients) == bool(indices.clients):
        return False
    keep = values if values.clients else indices
    new = TopKOp(op.axis, op.sorted, op.idx_dtype, return_values=keep is values, return_indices=keep is indices)(
        *node.inputs
    )
    copy_stack_trace(keep, new)
    return {keep: new}


ops.gather(globals(), "argsort sort")

"""Indexing: what ``x[...]``, ``take``, ``set_subtensor`` and ``inc_subtensor`` build.

The Ops of basic indexing are in :mod:`theano.tensor.slicing`, those of advanced indexing in
:mod:`theano.tensor.advanced_subtensor`; both are documented here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.graph import Constant, Variable
from theano.gof.stack_traces import warn_user
from theano.tensor import static_shape
from theano.tensor.advanced_subtensor import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    BaseAdvancedIncSubtensor,
    BaseAdvancedSubtensor,
    adv_index_broadcastable_pattern,
    advanced_boolean_inc_subtensor,
    advanced_boolean_set_subtensor,
    advanced_boolean_subtensor,
    advanced_inc_subtensor,
    advanced_inc_subtensor1,
    advanced_set_subtensor,
    advanced_set_subtensor1,
    advanced_subtensor,
    advanced_subtensor1,
    as_index_variable,
)
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.creation import alloc
from theano.tensor.elemwise import DimShuffle
from theano.tensor.math import clip, integer_dtypes, maximum
from theano.tensor.shapes import Rebroadcast
from theano.tensor.shaping import Reshape, addbroadcast
from theano.tensor.slicing import (
    AdvancedIndexingError,
    IncSubtensor,
    Subtensor,
    SubtensorPrinter,
    get_canonical_form_slice,
    get_idx_list,
    make_constant,
    slice_len,
)
from theano.tensor.type import TensorType, ops
from theano.tensor.type_other import SliceType

__all__ = [
    "AdvancedBooleanIncSubtensor",
    "AdvancedBooleanSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "AdvancedIndexingError",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "BaseAdvancedIncSubtensor",
    "BaseAdvancedSubtensor",
    "IncSubtensor",
    "Subtensor",
    "SubtensorPrinter",
    "adv_index_broadcastable_pattern",
    "advanced_boolean_inc_subtensor",
    "advanced_boolean_set_subtensor",
    "advanced_boolean_subtensor",
    "advanced_inc_subtensor",
    "advanced_inc_subtensor1",
    "advanced_set_subtensor",
    "advanced_set_subtensor1",
    "advanced_subtensor",
    "advanced_subtensor1",
    "as_index_variable",
    "get_canonical_form_slice",
    "get_idx_list",
    "inc_subtensor",
    "make_constant",
    "set_subtensor",
    "slice_len",
    "take",
]

_WHOLE = slice(None, None, None)


def index_tensor(x: Any, args: Any):
    """Return ``x[args]``.

    Parameters
    ----------
    x : tensor variable
        What is indexed.
    args : index, or tuple of indices
        Integers and integer scalars, slices of them, None, Ellipsis, integer arrays and boolean masks. Where None is
        among integers and slices that are fewer than the dimensions, and all dimensions left over are broadcastable,
        these are dropped, unless the flag ``trailing_dims_of_newaxis`` is ``'keep'``.

    Returns
    -------
    TensorVariable
        A view for integers and slices, else a copy.

    Raises
    ------
    IndexError
        If there are more indices than dimensions, or two ellipses.
    TypeError
        If an index is neither integer nor boolean.

    See Also
    --------
    theano.tensor.Subtensor : A view of a tensor selected by integers and slices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, i = T.dmatrix("x"), T.lscalar("i")
    >>> index_tensor(x, (i, slice(None))).type, index_tensor(x, (None, Ellipsis)).type
    (TensorType(float64, vector), TensorType(float64, (True, False, False)))
    >>> index_tensor(x, ([0, 1], [1, 0])).eval({x: [[1.0, 2.0], [3.0, 4.0]]}).tolist()
    [2.0, 3.0]
    >>> index_tensor(x, (0, 0, 0))
    Traceback (most recent call last):
        ...
    IndexError: too many indices for array: 3 for a tensor of 2 dimensions
    """
    if type(args) is not tuple:
        if isinstance(args, list) and any(isinstance(a, slice) for a in args):
            args = tuple(args)
        else:
            args = (args,)
    entries = [_entry(a) for a in args]
    entries = _without_ellipsis(x, entries)
    kinds = [_kind(e) for e in entries]
    if "mask" not in kinds and "slice" not in kinds:
        static_shape.check_index(x, [e for e in entries if e is not None])
    if "array" in kinds or "mask" in kinds or "slice" in kinds:
        return _advanced(x, entries, kinds)
    basic = [e for e in entries if e is not None]
    if len(basic) > x.type.ndim:
        raise IndexError(f"too many indices for array: {len(basic)} for a tensor of {x.type.ndim} dimensions")
    result = x
    if basic or len(entries) == 0:
        basic = list(make_constant(basic))
        inputs = Subtensor.collapse(basic, lambda entry: isinstance(entry, Variable))
        result = Subtensor(basic)(x, *inputs)
    if len(basic) != len(entries):
        # New dimensions are put around the indexed ones, so that set_subtensor can look through them.
        order: list[Any] = []
        kept = 0
        for entry in entries:
            if entry is None:
                order.append("x")
            elif isinstance(entry, slice):
                order.append(kept)
                kept += 1
        if not _drops_trailing(x, len(basic)):
            order.extend(range(kept, result.type.ndim))
        result = result.dimshuffle(order)
    return result


def _drops_trailing(x: Any, indexed: int) -> bool:
    # Whether an index with None drops the dimensions behind those that it names, as the first Theano did.
    pattern = x.type.broadcastable
    if indexed == len(pattern) or not all(pattern[indexed:]) or config.trailing_dims_of_newaxis == "keep":
        return False
    warn_user(
        f"An index with None names {indexed} of {len(pattern)} dimensions of {x}, and the others are broadcastable: they are"
        " dropped, as Theano always did. NumPy keeps them. Write x.dimshuffle(...) with the dimensions that stay to drop"
        " them, or an index that ends with an ellipsis, x[:, None, ...], to keep them. The flag"
        " trailing_dims_of_newaxis='keep' gives NumPy's meaning everywhere."
    )
    return True


def _entry(a: Any) -> Any:
    """Return an entry of an index with lists and arrays as tensors, and arrays of one integer as that integer."""
    if a is None or a is Ellipsis or isinstance(a, (slice, Variable)):
        if isinstance(a, slice):
            return slice(*[_bound(part) for part in (a.start, a.stop, a.step)])
        return a
    if isinstance(a, (bool, np.bool_)):
        return constant(np.asarray(a))
    if isinstance(a, (int, np.integer)):
        return int(a)
    if isinstance(a, np.ndarray) and a.ndim == 0 and a.dtype.kind in "iu":
        return int(a)
    if isinstance(a, (list, tuple)) and len(a) == 0:
        return constant(np.empty(0, dtype="int64"))
    return as_tensor_variable(a)


def _bound(part: Any) -> Any:
    if isinstance(part, np.ndarray) and part.ndim == 0:
        return int(part)
    if isinstance(part, (float, str, list)):
        raise TypeError(f"Expected an integer as bound of a slice, got {part!r}")
    return part


def _kind(entry: Any) -> str:
    if isinstance(entry, Variable):
        type_ = entry.type
        if isinstance(type_, TensorType):
            if type_.dtype == "bool":
                return "mask"
            if type_.dtype not in integer_dtypes:
                raise TypeError(f"Expected an integer, got {type_.dtype}")
            return "scalar" if type_.ndim == 0 else "array"
        if isinstance(type_, SliceType):
            # Whether it selects all is known at run time only.
            return "slice"
    return "basic"


def _without_ellipsis(x: Any, entries: list[Any]) -> list[Any]:
    places = [i for i, e in enumerate(entries) if e is Ellipsis]
    if not places:
        return entries
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis (`...`)")
    taken = 0
    for e in entries:
        if e is not None and e is not Ellipsis:
            taken += e.type.ndim if isinstance(e, Variable) and _kind(e) == "mask" else 1
    missing = x.type.ndim - taken
    if missing < 0:
        raise IndexError(f"too many indices for array: {taken} for a tensor of {x.type.ndim} dimensions")
    (place,) = places
    return entries[:place] + [_WHOLE] * missing + entries[place + 1 :]


def _advanced(x: Any, entries: list[Any], kinds: list[str]):
    if "mask" in kinds:
        return advanced_boolean_subtensor(x, *entries)
    arrays = [i for i, kind in enumerate(kinds) if kind == "array"]
    if len(arrays) == 1 and all(
        isinstance(e, slice) and e == _WHOLE for i, e in enumerate(entries) if i != arrays[0]
    ):
        if len(entries) > x.type.ndim:
            raise IndexError(f"too many indices for array: {len(entries)} for a tensor of {x.type.ndim} dimensions")
        return take(x, entries[arrays[0]], axis=arrays[0])
    return advanced_subtensor(x, *entries)


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise"):
    """Return the elements of `a` at `indices` along an axis, as ``numpy.take``.

    Parameters
    ----------
    a : tensor_like
        Of any shape and dtype.
    indices : integer tensor_like
        Of any shape, which the result has in place of the axis.
    axis : int, optional
        By default `a` is flattened.
    mode : {'raise', 'wrap', 'clip'}
        What happens to an index that is out of bounds: an IndexError at run time, or it is taken modulo the length, or
        set to the nearest valid one.

    Returns
    -------
    tensor
        The dimensions of `indices` stand in the place of `axis`.

    Raises
    ------
    ValueError
        If `mode` is not ``'raise'``, ``'wrap'`` or ``'clip'``.
    IndexError
        If `a` does not have that axis.
    TypeError
        If `indices` are not integers.

    See Also
    --------
    theano.tensor.choose : Return, for each index of `a`, the element of that choice at the same place, as
        ``numpy.choose``.
    theano.tensor.set_subtensor : Return a copy of the indexed tensor with the part `x` replaced by `y`.
    theano.tensor.extra_ops.compress : Return the slices of `x` along an axis where `condition` is true, as
        ``numpy.compress``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.take([5, 6, 7], [2, 0]).eval()
    array([7, 5])
    """
    a, indices = as_tensor_variable(a), as_tensor_variable(indices)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"mode of take has to be 'raise', 'wrap' or 'clip', got {mode!r}")
    if axis is None:
        return take(a.flatten(), indices, 0, mode)
    if not -a.type.ndim <= axis < a.type.ndim:
        raise IndexError(f"axis {axis} is out of bounds for a tensor of {a.type.ndim} dimensions")
    axis %= a.type.ndim
    if indices.dtype not in integer_dtypes:
        if isinstance(indices, Constant) and indices.data.size == 0:
            indices = constant(indices.data.astype("int64"))
        else:
            raise TypeError(f"index must be integers, got {indices.type}")
    if mode != "raise" and indices.dtype.startswith("uint"):
        # Mixed with an int64 length they would become floats.
        indices = indices.astype("int64")
    if mode == "clip":
        indices = clip(indices, 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = indices % maximum(a.shape[axis], 1)
    if indices.type.ndim == 0:
        return a[(*[_WHOLE] * axis, indices)]
    if indices.type.ndim == 1:
        if axis == 0:
            return advanced_subtensor1(a, indices)
        order = list(range(a.type.ndim))
        order[0], order[axis] = axis, 0
        return advanced_subtensor1(a.dimshuffle(order), indices).dimshuffle(order)
    lengths = (
        [a.shape[i] for i in range(axis)]
        + [indices.shape[i] for i in range(indices.type.ndim)]
        + [a.shape[i] for i in range(axis + 1, a.type.ndim)]
    )
    picked = take(a, indices.flatten(), axis)
    pattern = a.type.broadcastable[:axis] + indices.type.broadcastable + a.type.broadcastable[axis + 1 :]
    result = picked.reshape(lengths, ndim=len(lengths))
    return addbroadcast(result, *[i for i, flag in enumerate(pattern) if flag])


def set_subtensor(x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False):
    """Return a copy of the indexed tensor with the part `x` replaced by `y`.

    Parameters
    ----------
    x : tensor variable
        The result of an indexing expression, such as ``r[10:]``.
    y : tensor_like
        The new values; broadcast to the shape of `x`.
    inplace : bool
        Overwrite the tensor; rewrites do that where it is safe.
    tolerate_inplace_aliasing : bool
        See :func:`inc_subtensor`.

    Returns
    -------
    TensorVariable
        Of the type of the indexed tensor.

    See Also
    --------
    theano.tensor.take : Return the elements of `a` at `indices` along an axis, as ``numpy.take``.
    theano.tensor.choose : Return, for each index of `a`, the element of that choice at the same place, as
        ``numpy.choose``.
    theano.tensor.inc_subtensor : Return a copy of the indexed tensor with the part `x` incremented by `y`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> r = T.arange(3)
    >>> T.set_subtensor(r[1:], 7).eval()
    array([0, 7, 7])
    """
    return inc_subtensor(
        x, y, inplace, set_instead_of_inc=True, tolerate_inplace_aliasing=tolerate_inplace_aliasing
    )


def inc_subtensor(
    x: Any,
    y: Any,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
):
    """Return a copy of the indexed tensor with the part `x` incremented by `y`.

    Parameters
    ----------
    x : tensor variable
        The result of an indexing expression, such as ``r[10:]``. Where an integer array holds a position several
        times, all its increments are added.
    y : tensor_like
        The increments; broadcast to the shape of `x`.
    inplace : bool
        Overwrite the tensor; rewrites do that where it is safe.
    set_instead_of_inc : bool
        Do :func:`set_subtensor` instead.
    tolerate_inplace_aliasing : bool
        Allow `x` and `y` to be views of one array although it is overwritten. They must not overlap, else the result is
        undefined.

    Returns
    -------
    TensorVariable
        Of the type of the indexed tensor.

    Raises
    ------
    TypeError
        If `x` is no result of indexing, or `y` has more dimensions than `x`.

    See Also
    --------
    theano.tensor.set_subtensor : Return a copy of the indexed tensor with the part `x` replaced by `y`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([1, 2, 3])
    >>> T.inc_subtensor(x[1:], 10).eval()
    array([ 1, 12, 13])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if y.type.ndim > x.type.ndim:
        raise TypeError(
            f"Trying to increment a {x.type.ndim}-dimensional subtensor with a {y.type.ndim}-dimensional value."
        )
    if y.type.dtype.startswith("complex") and not x.type.dtype.startswith("complex"):
        raise TypeError(f"Trying to put complex numbers into a subtensor of {x.type}.")
    offset = x.type.ndim - y.type.ndim
    # Where the part has length 1 for certain, the value must have it too; that is checked at run time.
    narrow = [
        i for i in range(y.type.ndim) if x.type.broadcastable[i + offset] and not y.type.broadcastable[i]
    ]
    if narrow:
        y = addbroadcast(y, *narrow)
    if x.owner is None:
        raise TypeError("x must be the result of a subtensor operation")
    if y.type.ndim and static_shape.lengths_of(y) is not None:
        static_shape.check_fits(y, static_shape.known_shape(x), f"the part {x}")
    op, inputs = x.owner.op, x.owner.inputs
    if isinstance(op, Subtensor):
        tolerated = [(0, 1)] if tolerate_inplace_aliasing else []
        increment = IncSubtensor(op.idx_list, inplace, set_instead_of_inc, destroyhandler_tolerate_aliased=tolerated)
        return increment(inputs[0], y, *inputs[1:])
    if isinstance(op, AdvancedSubtensor1):
        return AdvancedIncSubtensor1(inplace, set_instead_of_inc)(inputs[0], y, inputs[1])
    if isinstance(op, AdvancedBooleanSubtensor):
        return AdvancedBooleanIncSubtensor(inplace, set_instead_of_inc)(inputs[0], y, *inputs[1:])
    if isinstance(op, AdvancedSubtensor):
        return AdvancedIncSubtensor(inplace, set_instead_of_inc)(inputs[0], y, *inputs[1:])
    if isinstance(op, (DimShuffle, Rebroadcast, Reshape)) and inputs[0].owner is not None:
        return _inc_through_view(x, op, y, inplace, set_instead_of_inc, tolerate_inplace_aliasing)
    raise TypeError("x must be the result of a subtensor operation")


def _inc_through_view(x: Any, op: Any, y: Any, inplace: bool, set_instead_of_inc: bool, tolerate: bool):
    """Increment through the view that indexing put around the indexed part: new axes, a transpose, a reshape."""
    inner = x.owner.inputs[0]
    if isinstance(op, DimShuffle):
        order = op.new_order
        lead = x.type.ndim - y.type.ndim
        # Dimension i of the inner part is dimension order.index(i) of x; those that y has not, it broadcasts along.
        places = [order.index(i) - lead if i in order else -1 for i in range(inner.type.ndim)]
        if y.type.ndim:
            dropped = [i for i in range(y.type.ndim) if i not in places]
            if any(not y.type.broadcastable[i] for i in dropped):
                y = addbroadcast(y, *dropped)
            y = y.dimshuffle([place if place >= 0 else "x" for place in places])
    elif isinstance(op, Reshape) and y.type.ndim:
        # As NumPy, of lengths that are only known at run time too.
        y = alloc(y, *[x.shape[i] for i in range(x.type.ndim)])
        y = y.reshape([inner.shape[i] for i in range(inner.type.ndim)], ndim=inner.type.ndim)
    try:
        result = inc_subtensor(inner, y, inplace, set_instead_of_inc, tolerate)
    except TypeError as error:
        raise TypeError("x must be the result of a subtensor operation") from error
    if isinstance(op, DimShuffle) and "x" not in op.new_order and result.type.ndim == x.type.ndim:
        # Rows of a transposed tensor, such as take makes for another axis than the first: transposed back.
        return result.dimshuffle(op.new_order)
    return result


ops.gather(globals(), "Subtensor get_idx_list index_tensor set_subtensor take")

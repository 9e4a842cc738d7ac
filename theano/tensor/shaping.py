"""Shape and order of dimensions: reshape, flatten, transpose, padding, broadcast patterns, tile, roll."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import (
    NotScalarConstantError,
    as_tensor_variable,
    constant,
    get_scalar_constant_value,
    get_vector_length,
)
from theano.tensor.creation import alloc
from theano.tensor.elemwise import DimShuffle
from theano.tensor.from_scalars import MakeVector
from theano.tensor.math import discrete_dtypes, eq, int_div, integer_dtypes, le, lt, maximum, mul, switch
from theano.tensor.shapes import Rebroadcast, Shape, SpecifyShape, shape, shape_i, specify_shape  # noqa: F401
from theano.tensor.static_shape import check_reshape, known_ints
from theano.tensor.type import TensorType, ops, tensor_type


class Reshape(Op):
    """The elements of the first input, in row-major order, in the shape given by the second, an integer vector.

    One entry of the shape may be -1 and is then chosen to fit.

    Parameters
    ----------
    ndim : int
        The length of the shape.
    name : str, optional
        The name that is printed.

    See Also
    --------
    theano.tensor.DimShuffle : A view of a tensor with its dimensions permuted, dropped, and new ones of length 1
        inserted.
    theano.tensor.Elemwise : A scalar op applied to each element of tensors, which are broadcast to a common shape.
    theano.tensor.Flatten : The input with its dimensions from the `outdim`-th on collapsed into one.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Reshape(2)(T.arange(6), [2, -1]).eval().tolist()
    [[0, 1, 2], [3, 4, 5]]
    """

    view_map = {0: [0]}
    _f16_ok = True
    check_input = False
    __props__ = ("ndim",)

    def __init__(self, ndim: int, name: str | None = None) -> None:
        self.ndim = int(ndim)
        if ndim < 0:
            raise ValueError("The output dimensions after reshape must be 0 or greater")
        if name is not None:
            self.name = name

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.ndim}}}"

    def make_node(self, x: Any, shp: Any) -> Apply:
        x = as_tensor_variable(x)
        given = shp
        shp = as_tensor_variable(shp, ndim=1)
        if shp.dtype not in integer_dtypes:
            if not (isinstance(shp, Constant) and shp.data.size == 0):
                raise TypeError(f"Shape must be integers, got {shp}, {shp.dtype}")
            shp = constant(np.empty(0, dtype="int64"))
        pattern = self._pattern(given, shp)
        return Apply(self, [x, shp], [tensor_type(x.type.dtype, tuple(pattern))()])

    def _pattern(self, given: Any, shp: Any) -> list[bool]:
        if isinstance(shp, Constant):
            if shp.data.size != self.ndim:
                raise ValueError(f"shape {shp.data} has not the {self.ndim} entries that {self} needs")
            return [bool(n == 1) for n in shp.data]
        owner = shp.owner
        if owner is not None and isinstance(owner.op, Shape) and owner.inputs[0].type.ndim == self.ndim:
            return list(owner.inputs[0].type.broadcastable)
        if isinstance(given, (list, tuple)):
            entries: Sequence[Any] = given
        elif owner is not None and isinstance(owner.op, MakeVector):
            entries = owner.inputs
        elif owner is None:
            return [False] * self.ndim
        else:
            entries = [shp[i] for i in range(self.ndim)]
        if len(entries) != self.ndim:
            raise ValueError(f"a shape of length {len(entries)} has not the {self.ndim} entries that {self} needs")
        return [_known_int(entry) == 1 for entry in entries]

    def static_shape(self, node: Apply, shape_of: Any) -> list[int | None]:
        return [None if n is None or n < 0 else n for n in known_ints(node.inputs[1], self.ndim)]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, shp = inputs
        if len(shp) != self.ndim:
            raise ValueError(
                f"shape argument to Reshape.perform has incorrect length {len(shp)}, should be {self.ndim}"
            )
        lengths = tuple(shp.tolist())
        try:
            if any(n < -1 for n in lengths):
                raise ValueError("some versions of NumPy take every negative length for -1")
            output_storage[0][0] = np.reshape(x, lengths)
        except ValueError:
            raise ValueError(f"Cannot reshape input of shape {x.shape} to shape {lengths}") from None

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, _ = inputs
        if x.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX), DisconnectedType()()]
        return [reshape(grads[0], shape(x), ndim=x.ndim), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None]
        return self(eval_points[0], *inputs[1:], return_list=True)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x_shape = in_shapes[0]
        shp = node.inputs[1]
        size = mul(*x_shape) if len(x_shape) > 1 else (x_shape[0] if x_shape else constant(1, dtype="int64"))
        if isinstance(shp, Constant):
            wanted = [int(n) for n in shp.data]
            if wanted.count(-1) > 1:
                raise ValueError(f"a shape may hold one -1, got {wanted}")
            if -1 in wanted:
                rest = int(np.prod([n for n in wanted if n != -1], dtype="int64"))
                return [[(size if rest == 1 else int_div(size, rest)) if n == -1 else constant(n, dtype="int64") for n in wanted]]
            return [[constant(n, dtype="int64") for n in wanted]]
        if shp.owner is not None and isinstance(shp.owner.op, MakeVector):
            entries = list(shp.owner.inputs)
        else:
            entries = [shp[i] for i in range(self.ndim)]
        product = mul(*entries) if len(entries) > 1 else (entries[0] if entries else constant(1, dtype="int64"))
        # With one -1 in it the product of the entries is minus the product of the others.
        result = []
        for i, entry in enumerate(entries):
            known = _known_int(entry)
            if node.outputs[0].type.broadcastable[i]:
                result.append(constant(1, dtype="int64"))
            elif known is None and not _is_length(entry):
                result.append(switch(eq(entry, -1), int_div(size, maximum(-product, 1)), entry))
            elif known == -1:
                others = [e for j, e in enumerate(entries) if j != i]
                rest = mul(*others) if len(others) > 1 else (others[0] if others else None)
                result.append(size if rest is None else int_div(size, rest))
            else:
                result.append(entry)
        return [result]


def _known_int(entry: Any) -> int | None:
    if isinstance(entry, (int, np.integer)):
        return int(entry)
    try:
        return int(get_scalar_constant_value(entry))
    except NotScalarConstantError:
        return None


def _is_length(entry: Any) -> bool:
    """Return whether `entry` is the length of a dimension, and so is not negative."""
    owner = getattr(entry, "owner", None)
    if owner is None:
        return False
    if isinstance(owner.op, ops.Shape_i):
        return True
    return isinstance(owner.op, ops.Subtensor) and owner.inputs[0].owner is not None and isinstance(
        owner.inputs[0].owner.op, Shape
    )




def reshape(x: Any, newshape: Any, ndim: int | None = None):
    """Return `x` in a new shape.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    newshape : sequence of integers or scalars, or integer vector
        One entry may be -1.
    ndim : int, optional
        Number of entries of `newshape`, needed where the graph does not tell.

    Returns
    -------
    tensor of `ndim` dimensions with the dtype of `x`

    Raises
    ------
    TypeError
        If `newshape` is no vector.
    ValueError
        If its length is not known.

    See Also
    --------
    theano.tensor.flatten : Return `x` with its first `ndim` - 1 dimensions kept and the others collapsed into one.
    theano.tensor.is_flat : Return whether `var` has `ndim` (1 by default) dimensions.
    theano.tensor.Reshape : The elements of the first input, in row-major order, in the shape given by the second, an
        integer vector.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.reshape([1, 2, 3, 4], (2, 2)).eval()
    array([[1, 2],
           [3, 4]])
    """
    if ndim is None:
        given = newshape
        newshape = as_tensor_variable(newshape)
        if newshape.ndim != 1:
            raise TypeError(
                f"New shape in reshape must be a vector or a list/tuple of scalars. Got {given} after conversion to a vector"
                if newshape.ndim
                else f"New shape in reshape must be a vector or a list/tuple of scalars, got the scalar {given}"
            )
        try:
            ndim = get_vector_length(newshape)
        except ValueError:
            raise ValueError(
                f"The length of the shape {newshape} cannot be determined, so the number of dimensions of the result is "
                "not known. Give it as the argument ndim of reshape."
            ) from None
    result = Reshape(ndim)(x, newshape)
    check_reshape(result.owner.inputs[0], known_ints(result.owner.inputs[1], ndim))
    return result


class Flatten(Op):
    """The input with its dimensions from the `outdim`-th on collapsed into one.

    :func:`flatten` makes a Reshape; this Op is kept for graphs that were built of it.

    Parameters
    ----------
    outdim : int
        Number of dimensions of the output.

    See Also
    --------
    theano.tensor.flatten : Return `x` with its first `ndim` - 1 dimensions kept and the others collapsed into one.
    theano.tensor.Reshape : The elements of the first input, in row-major order, in the shape given by the second, an
        integer vector.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Flatten(2)(T.zeros((2, 3, 4))).eval().shape
    (2, 12)
    """

    view_map = {0: [0]}
    check_input = False
    _f16_ok = True
    __props__ = ("outdim",)

    def __init__(self, outdim: int = 1) -> None:
        self.outdim = int(outdim)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.outdim}}}"

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if self.outdim < 1 or (x.ndim and self.outdim > x.ndim):
            raise ValueError(f"invalid output dimensions ({self.outdim}) for tensor of rank {x.ndim}")
        kept = x.broadcastable[: self.outdim - 1]
        pattern = (*kept, all(x.broadcastable[self.outdim - 1 :]))
        return Apply(self, [x], [tensor_type(x.type.dtype, tuple(pattern))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        kept = x.shape[: self.outdim - 1]
        size = int(np.prod(x.shape[self.outdim - 1 :], dtype="int64"))
        output_storage[0][0] = x.reshape((*kept, size))

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        (x_shape,) = in_shapes
        rest = list(x_shape[self.outdim - 1 :])
        size = mul(*rest) if len(rest) > 1 else (rest[0] if rest else constant(1, dtype="int64"))
        return [[*x_shape[: self.outdim - 1], size]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,) = inputs
        return [reshape(grads[0], shape(x), ndim=x.ndim)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if None in eval_points else self.make_node(*eval_points).outputs


def is_flat(var: Any, ndim: int | None = None, outdim: int | None = None) -> bool:
    """Return whether `var` has `ndim` (1 by default) dimensions.

    Parameters
    ----------
    var : tensor variable
        The tensor.
    ndim : int, optional
        1 by default.
    outdim : int, optional
        Old name of `ndim`.

    Returns
    -------
    bool
        Whether it has.

    See Also
    --------
    theano.tensor.reshape : Return `x` in a new shape.
    theano.tensor.flatten : Return `x` with its first `ndim` - 1 dimensions kept and the others collapsed into one.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.is_flat(T.dvector("x"))
    True
    """
    return var.ndim == (ndim if ndim is not None else outdim if outdim is not None else 1)


def flatten(x: Any, ndim: int | None = None, outdim: int | None = None):
    """Return `x` with its first `ndim` - 1 dimensions kept and the others collapsed into one.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    ndim : int
        Number of dimensions of the result, 1 by default.
    outdim : int
        Old name of `ndim`.

    Returns
    -------
    TensorVariable
        Of `ndim` dimensions.

    Raises
    ------
    ValueError
        If `x` has fewer than `ndim` dimensions.

    See Also
    --------
    theano.tensor.is_flat : Return whether `var` has `ndim` (1 by default) dimensions.
    theano.tensor.reshape : Return `x` in a new shape.
    theano.tensor.Reshape : The elements of the first input, in row-major order, in the shape given by the second, an
        integer vector.

    Examples
    --------
    >>> import theano.tensor as T, numpy as np
    >>> T.flatten(T.zeros((2, 3, 4, 5)), ndim=2).eval().shape
    (2, 60)
    """
    if outdim is not None:
        if ndim is not None:
            raise ValueError("You should only specify ndim, outdim is its old name")
        ndim = outdim
    ndim = 1 if ndim is None else ndim
    x = as_tensor_variable(x)
    if ndim < 1 or (ndim > 1 and ndim > x.ndim):
        raise ValueError(f"ndim {ndim} out of bound [1, {x.ndim + 1})")
    # A length of -1 would be unknown next to a length of 0.
    lengths = [x.shape[i] for i in range(ndim - 1, x.ndim)]
    last: Any = -1 if ndim == 1 else lengths[0] if ndim == x.ndim else mul(*lengths)
    dims = (*[x.shape[i] for i in range(ndim - 1)], last)
    flat = x.reshape(dims)
    pattern = (*x.broadcastable[: ndim - 1], builtins.all(x.broadcastable[ndim - 1 :]))
    return addbroadcast(flat, *[i for i in range(ndim) if pattern[i]])


def _pattern_changed(x: Any, wanted: dict[int, bool]):
    """Return `x` with the wanted flags; two changes of a pattern, one after the other, make one."""
    while x.owner is not None and isinstance(x.owner.op, Rebroadcast):
        source = x.owner.inputs[0]
        wanted = {**{i: flag for i, flag in enumerate(x.type.broadcastable) if flag != source.type.broadcastable[i]}, **wanted}
        x = source
    changes = [(axis, flag) for axis, flag in wanted.items() if x.type.broadcastable[axis] != flag]
    return Rebroadcast(*changes)(x) if changes else x


def _axes(axes: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(axes) == 1 and isinstance(axes[0], Iterable):
        return tuple(axes[0])
    return axes


def _checked_axes(x: Any, axes: tuple[Any, ...]) -> list[int]:
    result = []
    for axis in _axes(axes):
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"Trying to change the broadcast pattern of dimension {axis} of a tensor of {x.ndim}")
        result.append(int(axis) % x.ndim)
    return result


def addbroadcast(x: Any, *axes: Any):
    """Return `x` with the given dimensions broadcastable.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    *axes : int, or one iterable of int
        At run time their length has to be 1, else a ValueError is raised.

    Returns
    -------
    TensorVariable
        A view of `x`, or `x` itself.

    See Also
    --------
    theano.tensor.unbroadcast : Return `x` with the given dimensions not broadcastable.
    theano.tensor.patternbroadcast : Return `x` with the given broadcast pattern, one flag for each of the first
        dimensions.
    theano.tensor.shape_padaxis : Return `t` with a broadcastable dimension inserted at `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.addbroadcast(T.dmatrix("x"), 0).broadcastable
    (True, False)
    """
    x = as_tensor_variable(x)
    return _pattern_changed(x, dict.fromkeys(_checked_axes(x, axes), True))


def unbroadcast(x: Any, *axes: Any):
    """Return `x` with the given dimensions not broadcastable.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    *axes : int, or one iterable of int
        The dimensions.

    Returns
    -------
    TensorVariable
        A view of `x`, or `x` itself.

    See Also
    --------
    theano.tensor.patternbroadcast : Return `x` with the given broadcast pattern, one flag for each of the first
        dimensions.
    theano.tensor.addbroadcast : Return `x` with the given dimensions broadcastable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.unbroadcast(T.drow("x"), 0).broadcastable
    (False, False)
    """
    x = as_tensor_variable(x)
    return _pattern_changed(x, dict.fromkeys(_checked_axes(x, axes), False))


def patternbroadcast(x: Any, broadcastable: Iterable[bool]):
    """Return `x` with the given broadcast pattern, one flag for each of the first dimensions.

    At run time the dimensions declared broadcastable have to have length 1, else a ValueError is raised. Dimensions
    behind those of the pattern keep their flags.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    broadcastable : iterable of bool
        The flags.

    Returns
    -------
    TensorVariable
        A view of `x`, or `x` itself.

    Raises
    ------
    ValueError
        If there are more or fewer flags than dimensions.

    See Also
    --------
    theano.tensor.addbroadcast : Return `x` with the given dimensions broadcastable.
    theano.tensor.unbroadcast : Return `x` with the given dimensions not broadcastable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.patternbroadcast(T.dmatrix("x"), (True, False)).broadcastable
    (True, False)
    """
    x = as_tensor_variable(x)
    flags = [bool(b) for b in broadcastable]
    if len(flags) > x.ndim:
        raise ValueError(f"a pattern of {len(flags)} flags for a tensor of {x.ndim} dimensions")
    return _pattern_changed(x, dict(enumerate(flags)))


def shape_padleft(t: Any, n_ones: int = 1):
    """Return `t` with `n_ones` broadcastable dimensions added on the left.

    Parameters
    ----------
    t : tensor_like
        Of any shape.
    n_ones : int
        How many.

    Returns
    -------
    TensorVariable
        A view of `t`.

    See Also
    --------
    theano.tensor.atleast_Nd : Return `x` with broadcastable dimensions added until it has at least `n`.
    theano.tensor.shape_padright : Return `t` with `n_ones` broadcastable dimensions added on the right.
    theano.tensor.shape_padaxis : Return `t` with a broadcastable dimension inserted at `axis`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape_padleft(T.dvector("x")).type
    TensorType(float64, row)
    """
    t = as_tensor_variable(t)
    return DimShuffle(t.type.broadcastable, ["x"] * n_ones + list(range(t.type.ndim)))(t)


def shape_padright(t: Any, n_ones: int = 1):
    """Return `t` with `n_ones` broadcastable dimensions added on the right.

    Parameters
    ----------
    t : tensor_like
        Of any shape.
    n_ones : int
        How many.

    Returns
    -------
    TensorVariable
        A view of `t`.

    See Also
    --------
    theano.tensor.shape_padaxis : Return `t` with a broadcastable dimension inserted at `axis`.
    theano.tensor.shape_padleft : Return `t` with `n_ones` broadcastable dimensions added on the left.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape_padright(T.dvector("x")).type
    TensorType(float64, col)
    """
    t = as_tensor_variable(t)
    return DimShuffle(t.type.broadcastable, list(range(t.type.ndim)) + ["x"] * n_ones)(t)


def shape_padaxis(t: Any, axis: int):
    """Return `t` with a broadcastable dimension inserted at `axis`.

    Parameters
    ----------
    t : tensor_like
        Of any shape.
    axis : int
        Its place in the result; negative ones count from the end.

    Returns
    -------
    TensorVariable
        A view of `t`.

    Raises
    ------
    IndexError
        If `axis` is outside the dimensions of the result.

    See Also
    --------
    theano.tensor.makeKeepDims : Return `y`, the reduction of `x` over `axis`, with the reduced dimensions put back as
        broadcastable ones.
    theano.tensor.shape_padleft : Return `t` with `n_ones` broadcastable dimensions added on the left.
    theano.tensor.shape_padright : Return `t` with `n_ones` broadcastable dimensions added on the right.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape_padaxis(T.tensor3(), axis=-1)
    InplaceDimShuffle{0,1,2,x}.0
    """
    t = as_tensor_variable(t)
    ndim = t.ndim + 1
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds [-{ndim}, {ndim})")
    order: list[Any] = list(range(t.type.ndim))
    order.insert(axis % ndim, "x")
    return DimShuffle(t.broadcastable, order)(t)


expand_dims = shape_padaxis


def atleast_Nd(x: Any, n: int = 1, left: bool = True):
    """Return `x` with broadcastable dimensions added until it has at least `n`.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    n : int
        The least number of dimensions.
    left : bool
        Whether they are added on the left, or on the right.

    Returns
    -------
    TensorVariable
        A view of `x`, or `x` itself.

    See Also
    --------
    theano.tensor.shape_padleft : Return `t` with `n_ones` broadcastable dimensions added on the left.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.atleast_Nd(T.dvector("x"), 3).ndim
    3
    """
    x = as_tensor_variable(x)
    if x.ndim >= n:
        return x
    return shape_padleft(x, n - x.ndim) if left else shape_padright(x, n - x.ndim)


def transpose(x: Any, axes: Sequence[int] | None = None):
    """Return `x` with its dimensions in the order `axes`, reversed by default.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    axes : sequence of int, optional
        The dimensions of `x` in their new order.

    Returns
    -------
    TensorVariable
        A view of `x`.

    See Also
    --------
    theano.tensor.swapaxes : Return `y` with two dimensions exchanged.
    theano.tensor.moveaxis : Return `a` with the dimensions `source` moved to `destination`, as ``numpy.moveaxis``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.transpose(T.zeros((2, 3, 4)), (1, 2, 0)).eval().shape
    (3, 4, 2)
    """
    x = as_tensor_variable(x)
    order = list(range(x.ndim - 1, -1, -1)) if axes is None else [_axis_within(a, x.ndim) for a in axes]
    result = DimShuffle(x.broadcastable, order)(x)
    # Not where the axes are given one by one, or as a tuple.
    if x.name and (axes is None or axes == list(range(x.ndim - 1, -1, -1))):
        result.name = x.name + ".T"
    return result


def _axis_within(axis: Any, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        # As NumPy's: both an IndexError and a ValueError.
        raise np.exceptions.AxisError(f"axis {axis} is out of bounds for a tensor of {ndim} dimensions")
    return int(axis) % ndim


def swapaxes(y: Any, axis1: int, axis2: int):
    """Return `y` with two dimensions exchanged.

    Parameters
    ----------
    y : tensor_like
        Of at least two dimensions.
    axis1, axis2 : int
        The dimensions.

    Returns
    -------
    TensorVariable
        A view of `y`.

    Raises
    ------
    numpy.exceptions.AxisError
        If a dimension is out of bounds: an IndexError and a ValueError.

    See Also
    --------
    theano.tensor.moveaxis : Return `a` with the dimensions `source` moved to `destination`, as ``numpy.moveaxis``.
    theano.tensor.transpose : Return `x` with its dimensions in the order `axes`, reversed by default.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.swapaxes(T.zeros((2, 3, 4)), 0, 2).eval().shape
    (4, 3, 2)
    """
    y = as_tensor_variable(y)
    order = list(range(y.ndim))
    axis1, axis2 = _axis_within(axis1, y.ndim), _axis_within(axis2, y.ndim)
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return y.dimshuffle(order)


def moveaxis(a: Any, source: Any, destination: Any):
    """Return `a` with the dimensions `source` moved to `destination`, as ``numpy.moveaxis``.

    Parameters
    ----------
    a : tensor_like
        Of any shape.
    source, destination : int or sequence of int
        Where the dimensions are, and where they go.

    Returns
    -------
    TensorVariable
        A view of `a`.

    Raises
    ------
    ValueError
        If a dimension is out of bounds or named twice, or there are not as many sources as destinations.

    See Also
    --------
    theano.tensor.transpose : Return `x` with its dimensions in the order `axes`, reversed by default.
    theano.tensor.swapaxes : Return `y` with two dimensions exchanged.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.moveaxis(T.zeros((2, 3, 4)), 0, -1).eval().shape
    (3, 4, 2)
    """
    a = as_tensor_variable(a)
    both = []
    for axes in (source, destination):
        numbers = [_axis_within(n, a.ndim) for n in (axes if isinstance(axes, Iterable) else [axes])]
        if len(set(numbers)) != len(numbers):
            raise ValueError(f"moveaxis: a dimension is named twice in {numbers}")
        both.append(numbers)
    sources, destinations = both
    if len(sources) != len(destinations):
        raise ValueError("source and destination must have the same number of elements")
    order = [i for i in range(a.ndim) if i not in sources]
    for place, axis in sorted(zip(destinations, sources)):
        order.insert(place, axis)
    return a.dimshuffle(order)


def roll(x: Any, shift: Any, axis: Any = None):
    """Return `x` with its elements shifted along an axis; what falls off one end comes in at the other.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    shift : int or scalar
        By how many places, to the right where positive.
    axis : int or constant scalar, optional
        By default `x` is flattened, rolled, and put back in its shape.

    Returns
    -------
    TensorVariable
        Of the type of `x`.

    Raises
    ------
    ValueError
        If `x` does not have that axis.

    See Also
    --------
    theano.tensor.extra_ops.compress : Return the slices of `x` along an axis where `condition` is true, as
        ``numpy.compress``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.roll(T.arange(4), 1).eval()
    array([3, 0, 1, 2])
    """
    x = as_tensor_variable(x)
    if axis is None:
        if x.ndim != 1:
            return roll(x.flatten(), shift, axis=0).reshape(x.shape, ndim=x.ndim)
        axis = 0
    if isinstance(axis, Variable):
        axis = int(get_scalar_constant_value(axis))
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for a tensor of {x.ndim} dimensions")
    axis %= x.ndim
    if x.broadcastable[axis]:
        as_tensor_variable(shift)  # what is no number is refused here as well
        return x
    length = x.shape[axis]
    # The bound of 1 keeps the remainder defined where there is nothing to roll.
    cut = length - shift % maximum(length, 1)
    before = (slice(None),) * axis
    return ops.join(axis, x[(*before, slice(cut, None))], x[(*before, slice(None, cut))])


class Tile(Op):
    """``numpy.tile`` with the number of output dimensions fixed.

    :func:`tile` builds an allocation and a reshape instead; this Op is kept for graphs that were built of it.

    Parameters
    ----------
    ndim : int
        The number of dimensions of the result.

    See Also
    --------
    theano.tensor.tile : Return `x` repeated along each dimension, as ``numpy.tile``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Tile(2)(T.constant([[1, 2]]), [2, 2]).eval().tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """

    __props__ = ("ndim",)

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    def __str__(self) -> str:
        return f"{type(self).__name__}{{ndim={self.ndim}}}"

    def make_node(self, x: Any, reps: Any) -> Apply:
        x, reps = as_tensor_variable(x), as_tensor_variable(reps)
        return Apply(self, [x, reps], [TensorType(x.type.dtype, [False] * self.ndim)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, reps = inputs
        result = np.tile(x, tuple(int(r) for r in np.atleast_1d(reps)))
        if result.ndim != self.ndim:
            raise ValueError(f"Tile.perform: the result has {result.ndim} dimensions, {self.ndim} expected")
        output_storage[0][0] = result

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x, reps = node.inputs
        offset = self.ndim - x.ndim
        reps_shape = [reps[i] for i in range(self.ndim)]
        return [[reps_shape[i] if i < offset else reps_shape[i] * in_shapes[0][i - offset] for i in range(self.ndim)]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        from theano.gradient_types import grad_not_implemented

        return [grad_not_implemented(self, i, x) for i, x in enumerate(inputs)]


def tile(x: Any, reps: Any, ndim: int | None = None):
    """Return `x` repeated along each dimension, as ``numpy.tile``.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    reps : int, scalar, vector of known length, or sequence of these
        How often along each dimension; the last entry belongs to the last dimension.
    ndim : int, optional
        Number of dimensions of the result: at least that of `x` and the length of `reps`.

    Returns
    -------
    TensorVariable
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If `ndim` is too small, or `reps` has an entry that is no integer scalar or an unknown length.

    See Also
    --------
    theano.tensor.repeat : Return `x` with its elements repeated, as ``numpy.repeat``.
    theano.tensor.Tile : ``numpy.tile`` with the number of output dimensions fixed.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tile([1, 2], 2).eval()
    array([1, 2, 1, 2])
    """
    x = as_tensor_variable(x)
    if ndim is not None and ndim < x.ndim:
        raise ValueError("ndim should be equal or larger than x.ndim")
    entries = _repetitions(reps, ndim)
    if ndim is None:
        ndim = max(len(entries), x.ndim)
    elif len(entries) > ndim:
        raise ValueError("len(reps) should be equal or less than ndim")
    entries = [1] * (ndim - len(entries)) + entries
    lengths = [1] * (ndim - x.ndim) + [x.shape[i] for i in range(x.ndim)]
    # One dimension of repetitions in front of each dimension of x, then each pair is merged.
    spread = alloc(x, *entries, *lengths)
    pairs = spread.dimshuffle([axis for i in range(ndim) for axis in (i, i + ndim)])
    return pairs.reshape([length * count for length, count in zip(lengths, entries)], ndim=ndim)


def _entries_of_vector(reps: Any, ndim: int) -> list[Any]:
    """Return the last `ndim` entries of a vector that may turn out shorter, with 1s for those that are missing."""
    from theano.raise_op import Assert

    length = reps.shape[0]
    reps = Assert("tile: reps has more entries than ndim")(reps, le(length, ndim))
    missing = ndim - length
    return [switch(lt(i, missing), 1, reps[maximum(i - missing, 0)]) for i in range(ndim)]


def _repetitions(reps: Any, ndim: int | None) -> list[Any]:
    if isinstance(reps, (int, np.integer)):
        return [int(reps)]
    if isinstance(reps, np.ndarray):
        reps = reps.tolist() if reps.ndim else [int(reps)]
    if isinstance(reps, Variable):
        reps = as_tensor_variable(reps)
        if reps.dtype not in integer_dtypes:
            raise ValueError("reps must have integer dtype")
        if reps.ndim == 0:
            return [reps]
        if reps.ndim != 1:
            raise ValueError("reps must be a scalar or a vector")
        try:
            count = get_vector_length(reps)
        except ValueError:
            if ndim is None:
                raise ValueError("if reps is tensor.vector, you should specify the ndim") from None
            return _entries_of_vector(reps, ndim)
        return [reps[i] for i in range(count)]
    if not isinstance(reps, Iterable) or isinstance(reps, Mapping):
        raise ValueError(f"reps must be an integer, a vector or a sequence of integers, got {reps!r}")
    entries: list[Any] = []
    for entry in reps:
        if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            entries.append(int(entry))
        elif isinstance(entry, Variable) and entry.ndim == 0 and entry.dtype in integer_dtypes:
            entries.append(entry)
        else:
            raise ValueError("elements of reps must be scalars of integer dtype")
    return entries

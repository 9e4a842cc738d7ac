"""Flat indices of tensors, and the coordinates that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import as_tensor_variable, constant, get_vector_length
from theano.tensor.math import integer_dtypes
from theano.tensor.type import TensorType


def _check_integers(*variables: Any) -> None:
    """Raise a TypeError unless all are integers, and the last one, a shape, is a vector."""
    for x in variables:
        if x.dtype not in integer_dtypes:
            raise TypeError(f"'{x.dtype}' object cannot be interpreted as an index")
    if variables[-1].ndim != 1:
        raise TypeError("dims must be a 1D array")


class UnravelIndex(Op):
    """The coordinates of flat indices in a tensor of the shape given by the second input.

    Parameters
    ----------
    ndim : int
        Length of the shape.
    order : {'C', 'F'}
        Whether flat indices count in row-major or column-major order.
    """

    __props__ = ("ndim", "order")

    def __init__(self, ndim: int, order: str = "C") -> None:
        if order not in ("C", "F"):
            raise ValueError(f"order must be 'C' or 'F', got {order!r}")
        self.ndim = ndim
        self.order = order

    def make_node(self, indices: Any, dims: Any) -> Apply:
        indices, dims = as_tensor_variable(indices), as_tensor_variable(dims)
        _check_integers(indices, dims)
        pattern = indices.type.broadcastable
        return Apply(self, [indices, dims], [TensorType("int64", pattern)() for _ in range(self.ndim)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        indices, dims = inputs
        found = np.unravel_index(indices, tuple(dims.tolist()), order=self.order)
        if len(found) != self.ndim:
            raise ValueError(f"unravel_index: a shape of {len(found)} entries, {self.ndim} expected")
        # NumPy's may be the columns of one array.
        for out, part in zip(output_storage, found):
            out[0] = np.array(part, dtype="int64", order="C")

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]] * self.ndim

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] * self.ndim, [False] * self.ndim]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()() for _ in inputs]


def unravel_index(indices: Any, dims: Any, order: str = "C", ndim: int | None = None):
    """Return the coordinates of flat indices in a tensor of shape `dims`.

    Parameters
    ----------
    indices : integer tensor_like
        Of any shape, from 0.
    dims : sequence of int, or vector
        The shape of the tensor that they are in.
    order : {'C', 'F'}
        Whether flat indices count in row-major or column-major order.
    ndim : int, optional
        Length of `dims`, needed where the graph does not tell.

    Returns
    -------
    tuple of int64 tensors of the shape of `indices`, one for each dimension

    Raises
    ------
    ValueError
        If the length of `dims` is not known, or, at run time, if an index is out of bounds.

    See Also
    --------
    theano.tensor.ravel_multi_index : Return the flat indices of coordinates in a tensor of shape `dims`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [i.eval() for i in T.unravel_index([2, 3], (2, 3))]
    [array([0, 1]), array([2, 0])]
    """
    if ndim is None:
        try:
            ndim = get_vector_length(dims)
        except ValueError:
            raise ValueError(
                "The length of the provided dimension list could not be determined. Give it as the argument ndim."
            ) from None
    result = UnravelIndex(ndim, order)(indices, dims, return_list=True)
    return tuple(result)


class RavelMultiIndex(Op):
    """The flat indices of coordinates in a tensor of the shape given by the last input.

    Parameters
    ----------
    mode : {'raise', 'wrap', 'clip'} or tuple of these
        What happens to a coordinate that is out of bounds.
    order : {'C', 'F'}
        Whether flat indices count in row-major or column-major order.
    """

    __props__ = ("mode", "order")

    def __init__(self, mode: Any = "raise", order: str = "C") -> None:
        if order not in ("C", "F"):
            raise ValueError(f"order must be 'C' or 'F', got {order!r}")
        self.mode = tuple(mode) if isinstance(mode, (list, tuple)) else mode
        self.order = order

    def make_node(self, *inp: Any) -> Apply:
        variables = [as_tensor_variable(x) for x in inp]
        *coordinates, dims = variables
        _check_integers(*variables)
        ndim = max(x.ndim for x in coordinates)
        padded = [(True,) * (ndim - x.ndim) + x.type.broadcastable for x in coordinates]
        return Apply(self, variables, [TensorType("int64", [all(column) for column in zip(*padded)])()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        *coordinates, dims = inputs
        found = np.ravel_multi_index(tuple(coordinates), tuple(dims.tolist()), mode=self.mode, order=self.order)
        output_storage[0][0] = np.asarray(found, dtype="int64")

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        ndim = node.outputs[0].ndim
        lengths: list[Any] = [constant(1, dtype="int64")] * ndim
        for x, shape in zip(node.inputs[:-1], in_shapes):
            for i in range(x.ndim):
                if not x.type.broadcastable[i]:
                    lengths[ndim - x.ndim + i] = shape[i]
        return [lengths]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] for _ in node.inputs]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()() for _ in inputs]


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C"):
    """Return the flat indices of coordinates in a tensor of shape `dims`.

    Parameters
    ----------
    multi_index : tuple of integer tensors, one for each dimension
        The coordinates along each dimension, of one shape.
    dims : sequence of int, or vector
        The shape of the tensor that they are in.
    mode : {'raise', 'wrap', 'clip'}, or one of these for each dimension
        What happens to a coordinate that is out of bounds: a ValueError at run time, or it is taken modulo the length,
        or set to the nearest valid one (negative ones to 0).
    order : {'C', 'F'}
        Whether flat indices count in row-major or column-major order.

    Returns
    -------
    TensorVariable
        Of int64.

    Raises
    ------
    TypeError
        If `multi_index` is no tuple or list.

    See Also
    --------
    theano.tensor.unravel_index : Return the coordinates of flat indices in a tensor of shape `dims`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ravel_multi_index(([0, 1], [2, 0]), (2, 3)).eval()
    array([2, 3])
    """
    if not isinstance(multi_index, (tuple, list)):
        raise TypeError("multi_index must be a tuple or a list.")
    return RavelMultiIndex(mode=mode, order=order)(*multi_index, dims)

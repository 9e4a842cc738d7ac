"""Reordering, inserting and dropping dimensions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import Apply, Op
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.type import TensorType, ops, tensor_type


class DimShuffle(Op):
    """A view of a tensor with its dimensions permuted, dropped, and new ones of length 1 inserted.

    Parameters
    ----------
    input_broadcastable : sequence of bool
        The broadcastable pattern of the input.
    new_order : sequence of int or 'x'
        For each dimension of the output the input dimension that it is, or ``'x'`` for a new one. Input dimensions
        that are not named are dropped; they must be broadcastable.
    inplace : bool
        Whether the output is a view of the input.

    Raises
    ------
    TypeError, ValueError
        If the order does not fit the pattern.

    See Also
    --------
    theano.tensor.Elemwise : A scalar op applied to each element of tensors, which are broadcast to a common shape.
    theano.tensor.Reshape : The elements of the first input, in row-major order, in the shape given by the second, an
        integer vector.
    theano.tensor.CAReduce : The reduction of a tensor by a scalar op, along some or all dimensions.

    Examples
    --------
    >>> DimShuffle((False, False), [1, "x", 0])
    InplaceDimShuffle{1,x,0}
    """

    __props__ = ("input_broadcastable", "new_order", "inplace")
    # To optimizers that look for certain inputs: what this Op computes may be any of them behind it.
    rearranges = True
    _f16_ok = True
    check_input = False

    def __init__(self, input_broadcastable: Sequence[Any], new_order: Sequence[Any], inplace: bool = True) -> None:
        self.input_broadcastable = tuple(bool(b) for b in input_broadcastable)
        order: list[Any] = []
        for i, j in enumerate(new_order):
            if isinstance(j, str) and j == "x":
                order.append("x")
                continue
            if isinstance(j, np.ndarray) and j.ndim == 0 and j.dtype.kind in "iu":
                j = j[()]
            if isinstance(j, bool) or not isinstance(j, (int, np.integer)):
                raise TypeError(f"DimShuffle indices must be python ints. Got: '{j}' of type '{type(j)}'.")
            j = int(j)
            if not 0 <= j < len(self.input_broadcastable):
                raise ValueError(f"new_order[{i}] is {j}, but the input only has {len(self.input_broadcastable)} axes.")
            if j in order:
                raise ValueError(
                    f"The same input dimension may not appear twice in the list of output dimensions: {tuple(new_order)}"
                )
            order.append(j)
        self.new_order = tuple(order)
        self.inplace = inplace
        self.drop = [i for i in range(len(self.input_broadcastable)) if i not in order]
        if any(not self.input_broadcastable[i] for i in self.drop):
            raise ValueError(f"You cannot drop a non-broadcastable dimension: {self.new_order} of {self.input_broadcastable}")
        self.shuffle = [j for j in order if j != "x"]
        self.augment = [i for i, j in enumerate(order) if j == "x"]
        self.transposition = self.shuffle + self.drop
        self._index = tuple(None if j == "x" else slice(None) for j in order) + (0,) * len(self.drop)
        if inplace:
            self.view_map = {0: [0]}
        self._types: dict[Any, TensorType] = {}

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_types": {}}

    def make_node(self, _input: Any) -> Apply:
        """Return the node for an input whose pattern is at least as broadcastable as expected."""
        type_ = getattr(_input, "type", None)
        out_type = self._types.get(type_)
        if out_type is None:
            _input = as_tensor_variable(_input)
            type_ = _input.type
            out_type = self._types[type_] = self._out_type(type_)
        return Apply(self, [_input], [out_type.make_variable()])

    def _out_type(self, type_: TensorType) -> TensorType:
        pattern = type_.broadcastable
        if len(pattern) != len(self.input_broadcastable):
            raise TypeError(
                "The number of dimensions of the input is incorrect for this op. Expected"
                f" {self.input_broadcastable}, got {pattern}."
            )
        for expected, given in zip(self.input_broadcastable, pattern):
            if expected and not given:
                raise TypeError(
                    "The broadcastable pattern of the input is incorrect for this op. Expected"
                    f" {self.input_broadcastable}, got {pattern}."
                )
        return tensor_type(type_.dtype, tuple(True if j == "x" else pattern[j] for j in self.new_order))

    def __str__(self) -> str:
        order = ",".join(map(str, self.new_order))
        return f"{'Inplace' if self.inplace else ''}DimShuffle{{{order}}}"

    def __repr__(self) -> str:
        return str(self)

    def perform(self, node: Apply, inp: Sequence[Any], out: Sequence[list], params: Any = None) -> None:
        (x,) = inp
        if not isinstance(x, (np.ndarray, np.memmap)):
            raise TypeError(f"DimShuffle takes arrays, got {type(x)}")
        for i in self.drop:
            if x.shape[i] != 1:
                raise ValueError(f"A dropped dimension must have length 1, but dimension {i} of {x.shape} has not")
        try:
            result = x.transpose(self.transposition)[self._index]
        except IndexError as error:
            raise ValueError(f"DimShuffle: {error}") from None
        # Indexing a 0-d array fully gives a number.
        result = np.asarray(result)
        if result.base is None and result is not x and not self.new_order:
            result = x.reshape(())
        out[0][0] = result if self.inplace else result.copy()

    def static_shape(self, node: Apply, shape_of: Any) -> Sequence[int | None] | None:
        shape = shape_of(node.inputs[0])
        return None if shape is None else [1 if j == "x" else shape[j] for j in self.new_order]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[tuple]:
        (shape,) = shapes
        return [tuple(constant(1, dtype="int64") if j == "x" else shape[j] for j in self.new_order)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list:
        if None in eval_points:
            return [None]
        return self(*eval_points, return_list=True)

    def grad(self, inp: Sequence[Any], grads: Sequence[Any]) -> list:
        (x,) = inp
        (gz,) = grads
        if x.type.numpy_dtype.kind in "biu":
            return [ops.zeros_like(x, dtype=config.floatX)]
        gz = as_tensor_variable(gz)
        not_broadcast = [i for i in self.augment if not gz.type.broadcastable[i]]
        if not_broadcast:
            gz = ops.addbroadcast(gz, *not_broadcast)
        order: list[Any] = ["x"] * len(self.input_broadcastable)
        for i, j in enumerate(self.new_order):
            if j != "x":
                order[j] = i
        return [dim_shuffle(gz.type.broadcastable, tuple(order))(gz)]


@functools.lru_cache(maxsize=4096)
def _cached(input_broadcastable: tuple[bool, ...], new_order: tuple[Any, ...]) -> DimShuffle:
    return DimShuffle(input_broadcastable, new_order)


def dim_shuffle(input_broadcastable: tuple[bool, ...], new_order: tuple[Any, ...]) -> DimShuffle:
    """Return the :class:`DimShuffle` of a pattern and an order; the same one for the same arguments.

    Parameters
    ----------
    input_broadcastable : tuple of bool
        Which dimensions of the input broadcast.
    new_order : tuple of int or 'x'
        The input's dimensions in the order of the output's; ``'x'`` is a new one.

    Returns
    -------
    DimShuffle
        In place: its result is a view.

    See Also
    --------
    theano.tensor.DimShuffle : A view of a tensor with its dimensions permuted, dropped, and new ones of length 1
        inserted.

    Examples
    --------
    >>> import theano.tensor as T
    >>> to_column = dim_shuffle((False,), (0, "x"))
    >>> to_column(T.dvector()).type
    TensorType(float64, col)
    >>> to_column is dim_shuffle((False,), (0, "x"))
    True
    """
    try:
        return _cached(input_broadcastable, new_order)
    except TypeError:
        return DimShuffle(input_broadcastable, new_order)


ops.gather(globals(), "dim_shuffle")

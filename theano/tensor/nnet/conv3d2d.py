"""Convolution of movies with filters in space and time by convolutions of their frames; it flips the filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.opt import TopoOptimizer, copy_stack_trace, local_optimizer
from theano.gof.rewriting.stages import optdb
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import zeros, zeros_like
from theano.tensor.joining import join
from theano.tensor.nnet.abstract_conv import conv2d
from theano.tensor.reduction import sum as tensor_sum

__getattr__, __dir__ = aliases.lazy(__name__)


def get_diagonal_subtensor_view(x: np.ndarray, i0: int, i1: int) -> np.ndarray:
    """Return the diagonals of two axes of an array, as a view.

    Parameters
    ----------
    x : ndarray
        Array.
    i0, i1 : int
        Two axes, the first at least as long as the second.

    Returns
    -------
    ndarray
        View ``v`` with ``v[..., a, ..., b, ...] = x[..., a + n - 1 - b, ..., b, ...]``, `a` and `b` on the two axes, `n` the
        length of the second. Its first axis is ``n - 1`` shorter.

    Raises
    ------
    NotImplementedError
        If the first axis is shorter than the second.

    See Also
    --------
    theano.tensor.nnet.conv3d2d.conv3d : Convolve movies with filters in space and time.
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import numpy as np
    >>> get_diagonal_subtensor_view(np.arange(6).reshape(3, 2), 0, 1)
    array([[2, 1],
           [4, 3]])
    """
    if x.shape[i0] < x.shape[i1]:
        raise NotImplementedError(f"axis {i0} must not be shorter than axis {i1}, got an array of shape {x.shape}")
    start = [slice(None)] * x.ndim
    start[i0] = slice(x.shape[i1] - 1, None) if x.shape[i1] else slice(None)
    view = x[tuple(start)]
    strides = list(view.strides)
    strides[i1] -= strides[i0]
    return np.lib.stride_tricks.as_strided(view, view.shape, strides, writeable=x.flags.writeable)


class DiagonalSubtensor(Op):
    """The diagonals of two axes, see :func:`get_diagonal_subtensor_view`; the axes are inputs, constant int64 scalars.

    Parameters
    ----------
    inplace : bool
        Whether the result is a view.

    See Also
    --------
    theano.tensor.nnet.conv3d2d.IncDiagonalSubtensor : An array with something added to the diagonals of two axes, the
        gradient of `DiagonalSubtensor`.
    theano.tensor.nnet.conv3d2d.conv3d : Convolve movies with filters in space and time.
    theano.tensor.nnet.conv3d2d.diagonal_subtensor : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.arange(9).reshape((3, 3))
    >>> DiagonalSubtensor()(x, 0, 1).eval().tolist()
    [[6, 4, 2]]
    """

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False):
        self.inplace = inplace
        if inplace:
            self.view_map = {0: [0]}

    def __str__(self) -> str:
        return f"{type(self).__name__}{{inplace}}" if self.inplace else type(self).__name__

    def make_node(self, x: Any, i0: Any, i1: Any) -> Apply:
        x, i0, i1 = map(as_tensor_variable, (x, i0, i1))
        return Apply(self, [x, i0, i1], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        view = get_diagonal_subtensor_view(*inputs)
        output_storage[0][0] = view if self.inplace else view.copy()

    def grad(self, inputs: Sequence[Any], g_outputs: Sequence[Any]) -> list[Any]:
        x, i0, i1 = inputs
        return [inc_diagonal_subtensor(zeros_like(x), i0, i1, g_outputs[0]), DisconnectedType()(), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else self(eval_points[0], *inputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False]]


class IncDiagonalSubtensor(Op):
    """An array with something added to the diagonals of two axes, the gradient of :class:`DiagonalSubtensor`.

    Parameters
    ----------
    inplace : bool
        Whether the array is changed.

    See Also
    --------
    theano.tensor.nnet.conv3d2d.conv3d : Convolve movies with filters in space and time.
    theano.tensor.nnet.conv3d2d.DiagonalSubtensor : The diagonals of two axes, see `get_diagonal_subtensor_view`; the axes
        are inputs, constant int64 scalars.
    theano.tensor.nnet.conv3d2d.inc_diagonal_subtensor : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> IncDiagonalSubtensor()(T.zeros((2, 2)), 0, 1, T.ones((1, 2))).eval().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False):
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self) -> str:
        return f"{type(self).__name__}{{inplace}}" if self.inplace else type(self).__name__

    def make_node(self, x: Any, i0: Any, i1: Any, amt: Any) -> Apply:
        x, i0, i1, amt = map(as_tensor_variable, (x, i0, i1, amt))
        return Apply(self, [x, i0, i1, amt], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, i0, i1, amt = inputs
        out = x if self.inplace else x.copy()
        # No two elements of the view are the same element of the array.
        get_diagonal_subtensor_view(out, i0, i1)[...] += amt
        output_storage[0][0] = out

    def grad(self, inputs: Sequence[Any], g_outputs: Sequence[Any]) -> list[Any]:
        _, i0, i1, _ = inputs
        (gz,) = g_outputs
        return [gz, DisconnectedType()(), DisconnectedType()(), diagonal_subtensor(gz, i0, i1)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        x, i0, i1, amt = inputs
        dx, _, _, damt = eval_points
        if dx is None and damt is None:
            return [None]
        return [self(zeros_like(x) if dx is None else dx, i0, i1, zeros_like(amt) if damt is None else damt)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False], [True]]


diagonal_subtensor = DiagonalSubtensor(False)
inc_diagonal_subtensor = IncDiagonalSubtensor(False)


def conv3d(signals: Any, filters: Any, signals_shape: Any = None, filters_shape: Any = None, border_mode: Any = "valid") -> Any:
    """Convolve movies with filters in space and time.

    Parameters
    ----------
    signals : tensor of shape (batch, time, input channels, rows, columns)
        The movies.
    filters : tensor of shape (output channels, filter time, input channels, filter rows, filter columns)
        The filters, which are flipped.
    signals_shape, filters_shape : sequence of int or None, or None
        Shapes, as far as they are known.
    border_mode : {'valid', 'full', 'half'} or tuple of three of these
        The padding, of time, rows and columns.

    Returns
    -------
    tensor of shape (batch, output time, output channels, output rows, output columns)
        Of the dtype that both are cast to.

    Raises
    ------
    TypeError
        If a tensor has another rank.
    ValueError
        If the border mode is another; as :func:`theano.tensor.nnet.conv2d`.

    See Also
    --------
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.
    theano.tensor.nnet.conv3d2d.get_diagonal_subtensor_view : Return the diagonals of two axes of an array, as a view.
    theano.tensor.nnet.conv3d2d.DiagonalSubtensor : The diagonals of two axes, see `get_diagonal_subtensor_view`; the axes
        are inputs, constant int64 scalars.

    Examples
    --------
    >>> import numpy as np
    >>> conv3d(np.ones((1, 5, 2, 6, 7)), np.ones((3, 2, 2, 3, 3))).eval().shape
    (1, 4, 3, 4, 5)
    """
    signals, filters = as_tensor_variable(signals), as_tensor_variable(filters)
    for name, x in (("signals", signals), ("filters", filters)):
        if x.type.ndim != 5:
            raise TypeError(f"{name} must be a 5D tensor, got {x.type}")
    modes = (border_mode,) * 3 if isinstance(border_mode, str) else tuple(border_mode)
    if len(modes) != 3 or any(mode not in ("valid", "full", "half") for mode in modes) or modes[1] != modes[2]:
        raise ValueError(
            f"invalid border_mode {border_mode!r}: it must be 'valid', 'full' or 'half', or three of these with the same for rows"
            " and columns"
        )
    batch, time, channels, rows, columns = _lengths(signals, signals_shape)
    count, span, _, filter_rows, filter_columns = _lengths(filters, filters_shape)
    frames = conv2d(
        signals.reshape((batch * time, channels, rows, columns)),
        filters.reshape((count * span, channels, filter_rows, filter_columns)),
        input_shape=_frames(signals_shape),
        filter_shape=_frames(filters_shape),
        border_mode=modes[1],
    )
    # Every frame with every frame of the filters; what belongs to one moment of the output stands on diagonals.
    frames = frames.reshape((batch, time, count, span, frames.shape[2], frames.shape[3]))
    if modes[0] != "valid":
        pad = span - 1 if modes[0] == "full" else span // 2
        shape = [frames.shape[axis] for axis in range(6)]
        border = zeros((batch, pad, count, span, *shape[4:]), dtype=frames.dtype)
        frames = join(1, border, frames, border)
    if filters_shape is not None and filters_shape[1] == 1:
        return frames[:, :, :, 0]
    return tensor_sum(diagonal_subtensor(frames, 1, 3), axis=3)


def _lengths(x: Any, shape: Any) -> list[Any]:
    return [x.shape[axis] if shape is None or shape[axis] is None else shape[axis] for axis in range(5)]


def _frames(shape: Any) -> Any:
    """The shape of frames that stand for a batch."""
    if shape is None:
        return None
    count = None if shape[0] is None or shape[1] is None else shape[0] * shape[1]
    return (count, *shape[2:])


@local_optimizer([DiagonalSubtensor, IncDiagonalSubtensor], inplace=True)
def local_inplace_DiagonalSubtensor(node: Apply) -> Any:
    """``DiagonalSubtensor(x) -> DiagonalSubtensor{inplace}(x)``, and so IncDiagonalSubtensor."""
    if isinstance(node.op, DiagonalSubtensor | IncDiagonalSubtensor) and not node.op.inplace:
        new = type(node.op)(inplace=True)(*node.inputs)
        copy_stack_trace(node.outputs[0], new)
        return [new]
    return False


optdb.register(
    "local_inplace_DiagonalSubtensor",
    TopoOptimizer(local_inplace_DiagonalSubtensor, failure_callback=TopoOptimizer.warn_inplace),
    60,
    "fast_run",
    "inplace",
)

"""Rectangular neighbourhoods of the pixels of images, as the rows of a matrix, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.gof.enum_type import EnumList
from theano.gof.graph import Apply, Constant
from theano.gof.op import Op
from theano.gradient_types import grad_not_implemented, grad_undefined
from theano.tensor import basic as T
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import integer_dtypes
from theano.tensor.subtensor import set_subtensor
from theano.tensor.type import TensorType

__all__ = ["Images2Neibs", "images2neibs", "neibs2images"]


def _pair(name: str, value: Any) -> Any:
    value = as_tensor_variable(value)
    if value.ndim != 1 or value.dtype not in integer_dtypes:
        raise TypeError(f"{name} must be a vector of two integers, got {value.type}")
    if isinstance(value, Constant):
        _two(name, value.data)
    return value


def _two(name: str, value: np.ndarray) -> tuple[int, int]:
    if value.shape != (2,) or (value <= 0).any():
        raise ValueError(f"{name} must be two positive numbers, got {value.tolist()}")
    return int(value[0]), int(value[1])


def window_offset(mode: str, length: Any) -> Any:
    """Return how far before an image's first pixel the first window of `length` pixels begins.

    Parameters
    ----------
    mode : str
        That of :class:`Images2Neibs`.
    length : int or scalar
        That of the window.

    See Also
    --------
    theano.tensor.nnet.neighbours.images2neibs : Return the rectangular neighbourhoods in images as the rows of a matrix.
    theano.tensor.nnet.neighbours.window_count : Return the number of windows along one axis of an image.

    Examples
    --------
    >>> [window_offset(mode, 5) for mode in ("valid", "half", "full")]
    [0, 2, 4]
    """
    if mode == "full":
        return length - 1
    return length // 2 if mode in ("half", "wrap_centered") else 0


def window_count(mode: str, size: int, length: int, step: int, what: str) -> int:
    """Return the number of windows along one axis of an image.

    Parameters
    ----------
    mode : str
        That of :class:`Images2Neibs`.
    size, length, step : int
        Of the image, the window, and between windows.
    what : str
        The axis, for errors.

    Raises
    ------
    TypeError
        If the windows do not fit as the mode demands.

    See Also
    --------
    theano.tensor.nnet.neighbours.window_offset : Return how far before an image's first pixel the first window of
        `length` pixels begins.
    theano.tensor.nnet.neighbours.images2neibs : Return the rectangular neighbourhoods in images as the rows of a matrix.

    Examples
    --------
    >>> window_count("valid", size=6, length=2, step=2, what="rows")
    3
    >>> window_count("ignore_borders", size=7, length=2, step=2, what="rows")
    3
    >>> window_count("valid", size=7, length=2, step=2, what="rows")
    Traceback (most recent call last):
        ...
    TypeError: Images2Neibs: in mode valid neib_shape, 2 rows, and neib_step, 2, do not cover images of 7 rows
    """
    if mode == "wrap_centered":
        if length % 2 == 0:
            raise TypeError(f"Images2Neibs: in mode wrap_centered neib_shape must be odd, got {length} {what}")
        if size < length:
            raise TypeError(f"Images2Neibs: in mode wrap_centered images of {size} {what} are smaller than neib_shape, {length}")
        return -(-size // step)
    rest = size + 2 * window_offset(mode, length) - length
    if mode == "ignore_borders":
        return rest // step + 1 if rest >= 0 else 0
    if rest < 0 or rest % step:
        raise TypeError(
            f"Images2Neibs: in mode {mode} neib_shape, {length} {what}, and neib_step, {step}, do not cover images of "
            f"{size} {what}"
        )
    return rest // step + 1


def _positions(mode: str, size: int, length: int, step: int, what: str) -> np.ndarray:
    """Return the pixels, before padding, of all windows along one axis, as (window, pixel in window)."""
    count = window_count(mode, size, length, step, what)
    positions = np.arange(count)[:, None] * step - window_offset(mode, length) + np.arange(length)
    return positions % size if mode == "wrap_centered" else positions


class Images2Neibs(Op):
    """The neighbourhoods in images as rows of a matrix; see :func:`images2neibs`.

    Parameters
    ----------
    mode : {'valid', 'ignore_borders', 'wrap_centered', 'half', 'full'}
        What is done at the borders.

    See Also
    --------
    theano.tensor.nnet.neighbours.Images2NeibsGrad : The gradient of `Images2Neibs` with respect to the images: to each
        pixel the sum over its neighbourhoods.
    theano.tensor.nnet.neighbours.images2neibs : Return the rectangular neighbourhoods in images as the rows of a matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> image = T.arange(8).reshape((1, 1, 2, 4))
    >>> Images2Neibs()(image, [2, 2]).eval().tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    >>> Images2Neibs()(image, [1, 2], [1, 1]).eval().shape
    (6, 2)
    """

    __props__ = ("mode",)
    _f16_ok = True

    BORDER_MODE = EnumList(
        ("MODE_VALID", "valid"),
        ("MODE_HALF", "half"),
        ("MODE_FULL", "full"),
        ("MODE_WRAP_CENTERED", "wrap_centered"),
        ("MODE_IGNORE_BORDERS", "ignore_borders"),
    )

    def __init__(self, mode: str = "valid") -> None:
        modes = sorted(self.BORDER_MODE.get_aliases())
        if mode not in modes:
            raise NotImplementedError(f"The modes of Images2Neibs are {', '.join(modes)}; got {mode!r}")
        self.mode = mode

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.mode}}}"

    def make_node(self, ten4: Any, neib_shape: Any, neib_step: Any = None) -> Apply:
        ten4 = as_tensor_variable(ten4)
        if ten4.ndim != 4:
            raise TypeError(f"Images2Neibs takes a tensor of four dimensions, got {ten4.type}")
        neib_shape = _pair("neib_shape", neib_shape)
        neib_step = neib_shape if neib_step is None else _pair("neib_step", neib_step)
        return Apply(self, [ten4, neib_shape, neib_step], [TensorType(ten4.dtype, (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        images, neib_shape, neib_step = inputs
        shape, step = _two("neib_shape", neib_shape), _two("neib_step", neib_step)
        rows, columns = (_positions(self.mode, *sizes) for sizes in zip(images.shape[2:], shape, step, ("rows", "columns")))
        if self.mode in ("half", "full"):
            before = [window_offset(self.mode, length) for length in shape]
            images = np.pad(images, ((0, 0), (0, 0), *((n, n) for n in before)))
            rows, columns = rows + before[0], columns + before[1]
        picked = images[:, :, rows[:, None, :, None], columns[None, :, None, :]]
        output_storage[0][0] = picked.reshape((-1 if picked.size else int(np.prod(picked.shape[:4])), shape[0] * shape[1]))

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        lists, channels, *sizes = in_shapes[0]
        _, neib_shape, neib_step = node.inputs
        count = lists * channels
        for i, size in enumerate(sizes):
            length, step = neib_shape[i], neib_step[i]
            if self.mode == "wrap_centered":
                windows = (size + step - 1) // step
            else:
                windows = (size + 2 * window_offset(self.mode, length) - length) // step + 1
            count = count * (T.maximum(windows, 0) if self.mode == "ignore_borders" else windows)
        return [(count, neib_shape[0] * neib_shape[1])]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, neib_shape, neib_step), (gz,) = inputs, grads
        undefined = [grad_undefined(self, 1, neib_shape), grad_undefined(self, 2, neib_step)]
        if self.mode not in ("valid", "ignore_borders"):
            return [grad_not_implemented(self, 0, x, f"It is for the modes 'valid' and 'ignore_borders', not '{self.mode}'."),
                    *undefined]  # fmt: skip
        if neib_shape is neib_step or _same_constant(neib_shape, neib_step):
            return [T.patternbroadcast(neibs2images(gz, neib_shape, x.shape, mode=self.mode), x.broadcastable), *undefined]
        return [Images2NeibsGrad(self.mode)(x, gz, neib_shape, neib_step), *undefined]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else self(eval_points[0], *inputs[1:])]


def _same_constant(a: Any, b: Any) -> bool:
    return isinstance(a, Constant) and isinstance(b, Constant) and np.array_equal(a.data, b.data)


class Images2NeibsGrad(Op):
    """The gradient of :class:`Images2Neibs` with respect to the images: to each pixel the sum over its neighbourhoods.

    Parameters
    ----------
    mode : {'valid', 'ignore_borders'}
        That of the neighbourhoods.

    See Also
    --------
    theano.tensor.nnet.neighbours.images2neibs : Return the rectangular neighbourhoods in images as the rows of a matrix.
    theano.tensor.nnet.neighbours.Images2Neibs : The neighbourhoods in images as rows of a matrix; see `images2neibs`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> image = T.zeros((1, 1, 1, 3))
    >>> Images2NeibsGrad()(image, T.ones((2, 2)), [1, 2], [1, 1]).eval().ravel().tolist()
    [1.0, 2.0, 1.0]
    """

    __props__ = ("mode",)
    _f16_ok = True

    def __init__(self, mode: str = "valid") -> None:
        self.mode = mode

    def make_node(self, ten4: Any, gz: Any, neib_shape: Any, neib_step: Any) -> Apply:
        ten4, gz = as_tensor_variable(ten4), as_tensor_variable(gz)
        pairs = [_pair("neib_shape", neib_shape), _pair("neib_step", neib_step)]
        return Apply(self, [ten4, gz, *pairs], [TensorType(gz.dtype, ten4.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        images, gz, neib_shape, neib_step = inputs
        shape, step = _two("neib_shape", neib_shape), _two("neib_step", neib_step)
        rows, columns = (_positions(self.mode, *sizes) for sizes in zip(images.shape[2:], shape, step, ("rows", "columns")))
        parts = gz.reshape((*images.shape[:2], len(rows), len(columns), *shape))
        result = np.zeros(images.shape, dtype="float32" if gz.dtype == "float16" else gz.dtype)
        for i in range(shape[0]):
            for j in range(shape[1]):
                # The windows' pixels (i, j) are all different.
                result[:, :, rows[:, i, None], columns[None, :, j]] += parts[:, :, :, :, i, j]
        output_storage[0][0] = result.astype(gz.dtype, copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [True], [False], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, _, neib_shape, neib_step = inputs
        undefined = [grad_undefined(self, i, inputs[i]) for i in (0, 2, 3)]
        return [undefined[0], Images2Neibs(self.mode)(grads[0], neib_shape, neib_step), *undefined[1:]]


def images2neibs(ten4: Any, neib_shape: Any, neib_step: Any = None, mode: str = "valid") -> Any:
    """Return the rectangular neighbourhoods in images as the rows of a matrix.

    Parameters
    ----------
    ten4 : tensor, 4-d
        Images of the shape (list 1, list 2, rows, columns).
    neib_shape : vector of two integers
        Rows and columns of a neighbourhood.
    neib_step : vector of two integers, optional
        From one neighbourhood to the next; by default `neib_shape`, which makes them disjoint.
    mode : {'valid', 'ignore_borders', 'wrap_centered', 'half', 'full'}
        'valid': the neighbourhoods have to cover the image exactly. 'ignore_borders': what is left at the lower and right
        border is left out. 'half', 'full': 'valid' after the images were padded with zeros on each side, by
        ``neib_shape // 2`` or ``neib_shape - 1``. 'wrap_centered': centered at each `neib_step`-th pixel, and continued at
        the opposite border; `neib_shape` has to be odd.

    Returns
    -------
    matrix
        Of ``neib_shape[0] * neib_shape[1]`` columns; the neighbourhoods of the first image come first, from left to right,
        then from top to bottom.

    Raises
    ------
    TypeError
        If `ten4` has not four dimensions, and, when it is computed, if the neighbourhoods do not fit.
    ValueError
        If `neib_shape` or `neib_step` are not two positive numbers.

    See Also
    --------
    theano.tensor.nnet.neighbours.neibs2images : Return the images of which `images2neibs` gave disjoint neighbourhoods.
    theano.tensor.nnet.neighbours.window_count : Return the number of windows along one axis of an image.
    theano.tensor.nnet.neighbours.window_offset : Return how far before an image's first pixel the first window of
        `length` pixels begins.

    Examples
    --------
    >>> import numpy as np, theano, theano.tensor as T
    >>> images = T.tensor4(dtype='int64')
    >>> f = theano.function([images], images2neibs(images, (1, 2)))
    >>> f(np.arange(8).reshape(1, 1, 2, 4))
    array([[0, 1],
           [2, 3],
           [4, 5],
           [6, 7]])
    """
    return Images2Neibs(mode)(ten4, neib_shape, neib_step)


def neibs2images(neibs: Any, neib_shape: Any, original_shape: Any, mode: str = "valid") -> Any:
    """Return the images of which :func:`images2neibs` gave disjoint neighbourhoods.

    Parameters
    ----------
    neibs : matrix
        The neighbourhoods.
    neib_shape : vector of two integers
        That of :func:`images2neibs`.
    original_shape : vector of four integers
        The shape of the images.
    mode : {'valid', 'ignore_borders'}
        That of :func:`images2neibs`. What it left out is 0.

    Returns
    -------
    tensor
        Of the shape `original_shape`.

    Raises
    ------
    NotImplementedError
        If `mode` is another one.
    ValueError
        If `original_shape` is not made of neighbourhoods; when it is computed, if `neibs` has another number of elements.

    See Also
    --------
    theano.tensor.nnet.neighbours.images2neibs : Return the rectangular neighbourhoods in images as the rows of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> neibs2images(np.arange(8).reshape(2, 4), (2, 2), (1, 1, 2, 4)).eval()
    array([[[[0, 1, 4, 5],
             [2, 3, 6, 7]]]])
    """
    if mode not in ("valid", "ignore_borders"):
        raise NotImplementedError(f"neibs2images supports the modes 'valid' and 'ignore_borders', not {mode!r}")
    neibs = as_tensor_variable(neibs)
    if neibs.ndim != 2:
        raise TypeError(f"neibs must be a matrix, got {neibs.type}")
    neib_shape = _pair("neib_shape", neib_shape)
    original_shape = as_tensor_variable(original_shape)
    if original_shape.ndim != 1 or original_shape.dtype not in integer_dtypes:
        raise TypeError(f"original_shape must be a vector of four integers, got {original_shape.type}")
    _check_original(original_shape, neib_shape, mode)
    lists, channels, height, width = (original_shape[i] for i in range(4))
    rows, columns = height // neib_shape[0], width // neib_shape[1]
    windows = neibs.reshape(T.stack([lists, channels, rows, columns, neib_shape[0], neib_shape[1]]), ndim=6)
    images = windows.dimshuffle(0, 1, 2, 4, 3, 5)
    if mode == "valid":
        return images.reshape(original_shape, ndim=4)
    covered = images.reshape(T.stack([lists, channels, rows * neib_shape[0], columns * neib_shape[1]]), ndim=4)
    empty = T.alloc(np.zeros((), neibs.dtype), lists, channels, height, width)
    return set_subtensor(empty[:, :, : covered.shape[2], : covered.shape[3]], covered)


def _check_original(original_shape: Any, neib_shape: Any, mode: str) -> None:
    """Raise ValueError for images that cannot be put together from neighbourhoods, as far as lengths are known."""
    if not isinstance(original_shape, Constant):
        return
    shape = original_shape.data.tolist()
    if len(shape) != 4 or min(shape) < 0:
        raise ValueError(f"original_shape must be four numbers >= 0, (list 1, list 2, rows, columns), got {shape}")
    if mode == "valid" and isinstance(neib_shape, Constant) and np.any(shape[2:] % neib_shape.data):
        raise ValueError(
            f"original_shape {shape}: in mode valid neib_shape {neib_shape.data.tolist()} must divide rows and columns; mode"
            " 'ignore_borders' leaves a rest out"
        )


__getattr__, __dir__ = aliases.lazy(__name__)

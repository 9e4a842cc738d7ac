"""Plain two-dimensional convolution of images."""

from __future__ import annotations

import warnings
from typing import Any

from theano import aliases
from theano.configparser import config
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.nnet import conv

__getattr__, __dir__ = aliases.lazy(__name__)


def _as_4d(x: Any, axis: int, name: str) -> Any:
    """An image or a stack of them as a tensor of four axes, the stack's length on one of these."""
    if x.type.ndim not in (2, 3):
        raise TypeError(f"{name} must be a matrix or a 3D tensor, got {x.type}")
    pattern: list[Any] = ["x", "x", *range(x.type.ndim - 2, x.type.ndim)]
    if x.type.ndim == 3:
        pattern[axis] = 0
    return x.dimshuffle(*pattern)


def _shape_4d(shape: Any, axis: int, ndim: int, name: str) -> Any:
    if shape is None:
        return None
    shape = tuple(shape)
    if len(shape) != ndim:
        raise ValueError(f"{name} must have {ndim} elements, got {shape}")
    full = [1, 1, *shape[-2:]]
    if ndim == 3:
        full[axis] = shape[0]
    return tuple(full)


def conv2d(input: Any, filters: Any, image_shape: Any = None, filter_shape: Any = None, border_mode: str = "valid",
           subsample: Any = (1, 1), **kargs: Any) -> Any:  # fmt: skip
    """Convolve an image, or each of several, with a filter, or with each of several.

    Parameters
    ----------
    input : tensor of shape ([images,] rows, columns)
        Image or images.
    filters : tensor of shape ([filters,] filter rows, filter columns)
        Filter or filters, which are flipped.
    image_shape, filter_shape : sequence of 2 or 3 int, or None
        The shapes of `input` and `filters`.
    border_mode : {'valid', 'full'}
        As that of :func:`scipy.signal.convolve2d`.
    subsample : tuple of two ints
        Strides over the image.
    **kargs
        See :func:`theano.tensor.nnet.conv.conv2d`.

    Returns
    -------
    tensor of shape ([images,] [filters,] output rows, output columns)
        Axes of several images or filters only where these are given.

    Raises
    ------
    TypeError
        If `input` or `filters` is neither a matrix nor a 3D tensor.
    ValueError
        As :func:`theano.tensor.nnet.conv.conv2d`.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import numpy as np
    >>> conv2d(np.ones((3, 3)), np.ones((2, 2))).eval()
    array([[4., 4.],
           [4., 4.]])
    """
    input, filters = as_tensor_variable(input), as_tensor_variable(filters)
    images, kernels = _as_4d(input, 0, "input"), _as_4d(filters, 0, "filters")
    if config.warn.signal_conv2d_interface:
        warnings.warn(
            "theano.tensor.signal.conv.conv2d of a 3D tensor convolves each matrix in it with each filter. To silence this"
            " warning, set the flag warn.signal_conv2d_interface to False.",
            stacklevel=2,
        )
    out = conv.conv2d(
        images, kernels,
        image_shape=_shape_4d(image_shape, 0, input.type.ndim, "image_shape"),
        filter_shape=_shape_4d(filter_shape, 0, filters.type.ndim, "filter_shape"),
        border_mode=border_mode, subsample=subsample, **kargs,
    )  # fmt: skip
    # Axes that were put in are taken out again.
    return out[(slice(None) if input.type.ndim == 3 else 0, slice(None) if filters.type.ndim == 3 else 0)]

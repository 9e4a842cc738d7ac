"""Bilinear upsampling of images by whole and fractional ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configparser import config
from theano.gof.graph import Variable
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import arange
from theano.tensor.joining import join
from theano.tensor.math import abs_, cast, float_dtypes
from theano.tensor.nnet.conv_ops import AbstractConv2d_gradInputs


def bilinear_kernel_1D(ratio: Any, normalize: bool = True) -> Any:
    """Return the kernel that upsamples a vector by bilinear interpolation.

    Parameters
    ----------
    ratio : int, or constant or scalar variable of an integer dtype
        The ratio.
    normalize : bool
        Whether the kernel is divided by the ratio.

    Returns
    -------
    vector of length ``2 * ratio - 1``, of floatX
        ``1, 2, ..., ratio, ..., 2, 1``, divided by `ratio`.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.bilinear_kernel_2D : Return the kernel that upsamples an image by bilinear
        interpolation.

    Examples
    --------
    >>> bilinear_kernel_1D(2).eval()
    array([0.5, 1. , 0.5])
    """
    kernel = cast(ratio - abs_(arange(1 - ratio, ratio)), config.floatX)
    return kernel / cast(ratio, config.floatX) if normalize else kernel


def bilinear_kernel_2D(ratio: Any, normalize: bool = True) -> Any:
    """Return the kernel that upsamples an image by bilinear interpolation.

    Parameters
    ----------
    ratio : int, constant or scalar variable of an integer dtype, or a pair of these
        The ratio, or those of rows and columns.
    normalize : bool
        Whether the kernel is divided by the ratios.

    Returns
    -------
    matrix of shape ``(2 * rows - 1, 2 * columns - 1)``, of floatX
        The outer product of two :func:`bilinear_kernel_1D`.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.bilinear_upsampling : Upsample images with bilinear interpolation.
    theano.tensor.nnet.abstract_conv.frac_bilinear_upsampling : Upsample images by a fractional ratio with bilinear
        interpolation.
    theano.tensor.nnet.abstract_conv.bilinear_kernel_1D : Return the kernel that upsamples a vector by bilinear
        interpolation.

    Examples
    --------
    >>> bilinear_kernel_2D(2).eval().shape
    (3, 3)
    """
    rows, columns = ratio if isinstance(ratio, tuple) else (ratio, ratio)
    return bilinear_kernel_1D(rows, normalize).dimshuffle(0, "x") * bilinear_kernel_1D(columns, normalize).dimshuffle("x", 0)


def _bordered(x: Any, axis: int) -> Any:
    """`x` with its first and its last element on an axis repeated."""
    before = [slice(None)] * axis
    return join(axis, x[(*before, slice(None, 1))], x, x[(*before, slice(-1, None))])


def _interpolated(x: Any, axis: int, ratio: Any, step: Any) -> Any:
    """`x` with ``ratio / step`` as many elements on an axis, rounded up.

    Element `o` lies at ``(o * step - (ratio - 1) // 2) / ratio``, or on the border next to it: the same as a transposed
    convolution with :func:`bilinear_kernel_1D`, of which each `step`-th element is taken. All `ratio` places between two
    neighbours are computed side by side.
    """

    def part_of(x: Any, start: Any, stop: Any, step: Any = None) -> Any:
        return x[(*[slice(None)] * axis, slice(start, stop, step))]

    bordered = _bordered(x, axis)
    spread = [*range(axis + 1), "x", *range(axis + 1, x.ndim)]
    low, high = part_of(bordered, None, -1).dimshuffle(spread), part_of(bordered, 1, None).dimshuffle(spread)
    weights = (cast(arange(ratio), x.dtype) / cast(ratio, x.dtype)).dimshuffle(0, *["x"] * (x.ndim - 1 - axis))
    between = low + (high - low) * weights
    shape = [between.shape[i] for i in range(x.ndim + 1)]
    shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    start = ratio - (ratio - 1) // 2
    return part_of(between.reshape(shape), start, start + x.shape[axis] * ratio, step)


def _doubled(x: Any) -> Any:
    """Images at a ratio of 2: a transposed convolution, whose padding cuts off what comes of the border but the last half.

    It and its gradient pass once over the images and the result, which slices side by side do several times.
    """
    shape: list[Any] = [1 if x.type.broadcastable[i] else x.shape[i] for i in range(4)]
    bordered = _bordered(_bordered(x, 2), 3)
    planes = bordered.reshape([x.shape[0] * x.shape[1], 1, *(bordered.shape[i] for i in (2, 3))], ndim=4)
    row = np.array([0.5, 1, 0.5])
    kernel = np.outer(row, row).astype(x.dtype)[None, None]
    convolution = AbstractConv2d_gradInputs(kshp=(1, 1, 3, 3), border_mode=((3, 2), (3, 2)), subsample=(2, 2), filter_flip=False)
    made = convolution(kernel, planes, [2 * x.shape[2], 2 * x.shape[3]])
    return made.reshape([shape[0], shape[1], made.shape[2], made.shape[3]], ndim=4)


def _upsampled(input: Any, ratios: Sequence[tuple[Any, Any]]) -> Any:
    x = as_tensor_variable(input)
    if x.type.ndim != 4:
        raise TypeError(f"input must be a 4D tensor, got {x.type}")
    if x.type.dtype not in float_dtypes:
        x = cast(x, config.floatX)
    if all(isinstance(ratio, int) and (ratio, step) == (2, 1) for ratio, step in ratios):
        return _doubled(x)
    for axis, (ratio, step) in enumerate(ratios, 2):
        x = _interpolated(x, axis, ratio, step)
    return x


def frac_bilinear_upsampling(input: Any, frac_ratio: Any) -> Any:
    """Upsample images by a fractional ratio with bilinear interpolation.

    Parameters
    ----------
    input : tensor of shape (batch, channels, rows, columns)
        The images.
    frac_ratio : tuple of two ints, or pair of these
        The ratio as numerator and denominator, or those of rows and columns.

    Returns
    -------
    tensor of shape (batch, channels, rows * ratio, columns * ratio), rounded up
        The dtype is that of `input`, or floatX.

    Raises
    ------
    ValueError
        If `frac_ratio` is something else, or a number in it is not positive.
    TypeError
        If `input` has another rank.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.bilinear_kernel_2D : Return the kernel that upsamples an image by bilinear
        interpolation.
    theano.tensor.nnet.abstract_conv.bilinear_upsampling : Upsample images with bilinear interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> frac_bilinear_upsampling(np.arange(4.0).reshape(1, 1, 2, 2), (3, 2)).eval().shape
    (1, 1, 3, 3)
    """
    if not isinstance(frac_ratio, tuple):
        raise ValueError(f"frac_ratio should be a tuple, got {frac_ratio!r}")
    pairs = frac_ratio if any(isinstance(r, tuple) for r in frac_ratio) else (frac_ratio, frac_ratio)
    reduced = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or len(pairs) != 2:
            raise ValueError(f"frac_ratio should be (numerator, denominator), or a tuple of two of these, got {frac_ratio!r}")
        if not all(isinstance(n, (int, np.integer)) and n > 0 for n in pair):
            raise ValueError(f"frac_ratio should hold positive integers, got {frac_ratio!r}")
        divisor = math.gcd(*map(int, pair))
        reduced.append((int(pair[0]) // divisor, int(pair[1]) // divisor))
    return _upsampled(input, reduced)


def bilinear_upsampling(input: Any, ratio: Any = None, frac_ratio: Any = None, batch_size: int | None = None,
                        num_input_channels: int | None = None, use_1D_kernel: bool = True) -> Any:  # fmt: skip
    """Upsample images with bilinear interpolation.

    Parameters
    ----------
    input : tensor of shape (batch, channels, rows, columns)
        The images.
    ratio : int, or constant or scalar variable of an integer dtype, optional
        The ratio.
    frac_ratio : tuple of two ints, or pair of these, optional
        A fractional ratio, see :func:`frac_bilinear_upsampling`; one of the two is given.
    batch_size, num_input_channels : int, optional
        The first two lengths of `input`, where they are known.
    use_1D_kernel : bool
        Whether rows and columns are interpolated one after the other, which is how it is done; False is needed for
        fractional ratios.

    Returns
    -------
    tensor of shape (batch, channels, rows * ratio, columns * ratio)
        For even ratios the last row and column is repeated once more than the first, for odd ones as often.

    Raises
    ------
    ValueError
        If both ratios or none are given, or a fractional one with `use_1D_kernel`.
    TypeError
        If `input` has another rank.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.frac_bilinear_upsampling : Upsample images by a fractional ratio with bilinear
        interpolation.
    theano.tensor.nnet.abstract_conv.bilinear_kernel_2D : Return the kernel that upsamples an image by bilinear
        interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> bilinear_upsampling(np.array([[[[1.0, 3.0]]]]), ratio=2).eval()
    array([[[[1., 2., 3., 3.],
             [1., 2., 3., 3.]]]])
    """
    if (ratio is None) == (frac_ratio is None):
        raise ValueError("either ratio or frac_ratio must be given, and not both")
    if frac_ratio is not None:
        if use_1D_kernel:
            raise ValueError("fractional ratios need use_1D_kernel=False")
        return frac_bilinear_upsampling(input, frac_ratio)
    if not isinstance(ratio, Variable):
        if not isinstance(ratio, (int, np.integer)) or ratio < 1:
            raise ValueError(f"ratio must be an integer >= 1, got {ratio!r}")
        ratio = int(ratio)
    return _upsampled(input, [(ratio, 1)] * 2)

"""Shapes of convolutions, as numbers and as expressions, and checks of them.

On each axis an image of `i` elements, padded by `lo` and `hi`, and a filter of `k` elements, spread by the dilation `d` over
``(k - 1) * d + 1``, give ``(i + lo + hi - (k - 1) * d - 1) // s + 1`` elements at a stride of `s`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configparser import config
from theano.raise_op import Assert
from theano.tensor.conversion import NotScalarConstantError, as_tensor_variable, get_scalar_constant_value
from theano.tensor.math import eq, ge, gt

_integers = (int, np.integer)


def _is_integer(x: Any) -> bool:
    return isinstance(x, _integers) and not isinstance(x, bool)


def _spread(kernel: Any, dilation: Any) -> Any:
    """What a filter covers."""
    return (kernel - 1) * dilation + 1


def _pad_of_axis(border_mode: Any, spread: Any) -> tuple[Any, Any]:
    """The padding before and behind an axis."""
    if isinstance(border_mode, str):
        if border_mode == "half":
            return spread // 2, spread // 2
        if border_mode == "full":
            return spread - 1, spread - 1
        if border_mode == "valid":
            return 0, 0
        raise ValueError(f"invalid border_mode {border_mode!r}: it must be 'valid', 'full', 'half', an int, or a pair of ints")
    lo, hi = border_mode if isinstance(border_mode, tuple) else (border_mode, border_mode)
    if any(isinstance(pad, _integers) and pad < 0 for pad in (lo, hi)):
        raise ValueError(f"border_mode must be >= 0, got {border_mode}")
    return lo, hi


def _modes(border_mode: Any, ndim: int) -> tuple[Any, ...]:
    """The border mode of each axis."""
    if isinstance(border_mode, tuple):
        if len(border_mode) != ndim:
            raise ValueError(f"border_mode {border_mode} must have {ndim} values, one for each axis of convolution")
        return border_mode
    return (border_mode,) * ndim


def _dilations(filter_dilation: Any, subsample: Sequence[Any]) -> Sequence[Any]:
    return (1,) * len(subsample) if filter_dilation is None else filter_dilation


def border_mode_to_pad(mode: Any, convdim: int, kshp: Sequence[Any]) -> tuple[tuple[Any, Any], ...]:
    """Return the padding that a border mode means.

    Parameters
    ----------
    mode : {'valid', 'full', 'half'}, int, or tuple of int or of pairs of int
        The border mode; a tuple has a value, or one before and one behind, for each axis.
    convdim : int
        Number of axes of convolution.
    kshp : sequence of int
        What the filters cover on these axes, dilation included.

    Returns
    -------
    tuple of pairs of int
        The padding before and behind each axis.

    Raises
    ------
    ValueError
        If `mode` is none of these.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.

    Examples
    --------
    >>> border_mode_to_pad('half', 2, (3, 5))
    ((1, 1), (2, 2))
    >>> border_mode_to_pad((0, (1, 2)), 2, (3, 5))
    ((0, 0), (1, 2))
    """
    if isinstance(mode, tuple):
        if len(mode) != convdim:
            raise ValueError(f"invalid border_mode {mode} which must be a tuple of length {convdim}")
        pads = []
        for m in mode:
            pair = m if isinstance(m, tuple) else (m, m)
            if len(pair) != 2 or not all(_is_integer(pad) and pad >= 0 for pad in pair):
                raise ValueError(f"invalid border_mode {mode}: the values must be integers >= 0, or pairs of these")
            pads.append((int(pair[0]), int(pair[1])))
        return tuple(pads)
    if _is_integer(mode) and mode >= 0:
        return ((int(mode), int(mode)),) * convdim
    if mode not in ("valid", "full", "half"):
        raise ValueError(
            f'invalid border_mode {mode!r}, which must be either "valid", "full", "half", an integer >= 0, or a tuple of'
            f" {convdim} integers or pairs of integers" + (". What others call 'same' is 'half' here" if mode == "same" else "")
        )
    return tuple(_pad_of_axis(mode, k) for k in kshp[:convdim])


def get_conv_shape_1axis(image_shape: Any, kernel_shape: Any, border_mode: Any, subsample: Any, dilation: Any = 1) -> Any:
    """Return the length of the output of a convolution on one axis.

    Parameters
    ----------
    image_shape, kernel_shape : int, scalar variable, or None
        Lengths of the image and of the filter; None where they are not known.
    border_mode : {'valid', 'full', 'half'}, int, or pair of int
        The padding.
    subsample, dilation : int
        Strides over the image and within the filter.

    Returns
    -------
    int, scalar variable, or None
        The length, None where it is not known.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.

    Examples
    --------
    >>> get_conv_shape_1axis(7, 3, 'half', 2)
    4
    """
    if any(x is None for x in (image_shape, kernel_shape, border_mode, subsample, dilation)):
        return None
    spread = _spread(kernel_shape, dilation)
    lo, hi = _pad_of_axis(border_mode, spread)
    out = image_shape + lo + hi - spread
    # A division less keeps symbolic shapes simple.
    return out + 1 if _is_integer(subsample) and subsample == 1 else out // subsample + 1


def get_conv_output_shape(
    image_shape: Sequence[Any],
    kernel_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Return the shape of the output of a convolution; groups do not change it.

    Parameters
    ----------
    image_shape : sequence of int, scalar variable or None
        Batch size, input channels, then the lengths of the 2 or 3 axes of convolution; None where undefined.
    kernel_shape : sequence of int, scalar variable or None
        Output channels, input channels, lengths of the filters; of unshared filters output channels, lengths of the output,
        input channels, lengths of the filters.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of int or of pairs of int
        The padding.
    subsample, filter_dilation : sequence of int
        Strides over the image and within the filter, for each axis.

    Returns
    -------
    tuple of int, scalar variable or None
        Batch size, output channels, lengths.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.assert_conv_shape : Check that a shape is one of a convolution: two numbers >= 0,
        then lengths > 0.
    theano.tensor.nnet.abstract_conv.assert_shape : Check the shape of `x` when it is computed, if the flag
        ``conv.assert_shape`` is set.
    theano.tensor.nnet.abstract_conv.border_mode_to_pad : Return the padding that a border mode means.

    Examples
    --------
    >>> get_conv_output_shape((8, 3, 32, 32), (16, 3, 5, 5), 'valid', (2, 2))
    (8, 16, 14, 14)
    """
    image, kernel = tuple(image_shape[2:]), tuple(kernel_shape[-len(subsample) :])
    modes = _modes(border_mode, len(subsample))
    lengths = map(get_conv_shape_1axis, image, kernel, modes, subsample, _dilations(filter_dilation, subsample))
    return (image_shape[0], kernel_shape[0], *lengths)


def get_conv_gradweights_shape_1axis(image_shape: Any, top_shape: Any, border_mode: Any, subsample: Any, dilation: Any) -> Any:
    """Return the length of the filter on one axis from those of image and output.

    Parameters
    ----------
    image_shape, top_shape : int, scalar variable, or None
        Lengths of the image and of the output.
    border_mode : {'valid', 'full', 'half'}, int, or pair of int
        The padding.
    subsample, dilation : int
        Strides over the image and within the filter.

    Returns
    -------
    int, scalar variable, or None
        The length; None where it is not known, at a stride other than 1 or 'half', which several filters may give.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.
    theano.tensor.nnet.abstract_conv.get_conv_gradweights_shape : Return the shape of the filters of a convolution from
        those of images and output.

    Examples
    --------
    >>> get_conv_gradweights_shape_1axis(7, 5, 'valid', 1, 1)
    3
    """
    if any(x is None for x in (image_shape, top_shape, border_mode, subsample, dilation)):
        return None
    if subsample != 1 or (isinstance(border_mode, str) and border_mode == "half"):
        return None
    if isinstance(border_mode, str) and border_mode == "full":
        spread = top_shape - image_shape + 1
    else:
        lo, hi = _pad_of_axis(border_mode, 1)
        spread = image_shape + lo + hi - top_shape + 1
    return (spread - 1) // dilation + 1 if not (_is_integer(dilation) and dilation == 1) else spread


def get_conv_gradweights_shape(
    image_shape: Sequence[Any],
    top_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
    num_groups: int = 1,
    unshared: bool = False,
) -> tuple[Any, ...]:
    """Return the shape of the filters of a convolution from those of images and output.

    Parameters
    ----------
    image_shape, top_shape : sequence of int, scalar variable or None
        Batch size, channels, lengths of the axes of convolution; None where undefined.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of int or of pairs of int
        The padding.
    subsample, filter_dilation : sequence of int
        Strides over the image and within the filter, for each axis.
    num_groups : int
        Groups into which the channels are divided.
    unshared : bool
        Whether each place has filters of its own.

    Returns
    -------
    tuple of int, scalar variable or None
        As `kernel_shape` of :func:`get_conv_output_shape`; lengths are None at strides other than 1 and for 'half'.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.get_conv_gradweights_shape_1axis : Return the length of the filter on one axis from
        those of image and output.
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.

    Examples
    --------
    >>> get_conv_gradweights_shape((8, 3, 32, 32), (8, 16, 28, 30), 'valid', (1, 1))
    (16, 3, 5, 3)
    """
    channels = image_shape[1]
    if channels is not None and num_groups != 1:
        channels = channels // num_groups
    modes = _modes(border_mode, len(subsample))
    lengths = tuple(
        map(get_conv_gradweights_shape_1axis, image_shape[2:], top_shape[2:], modes, subsample,
            _dilations(filter_dilation, subsample))
    )  # fmt: skip
    if unshared:
        return (top_shape[1], *top_shape[2:], channels, *lengths)
    return (top_shape[1], channels, *lengths)


def get_conv_gradinputs_shape_1axis(kernel_shape: Any, top_shape: Any, border_mode: Any, subsample: Any, dilation: Any) -> Any:
    """Return the length of the image on one axis from those of filter and output.

    Parameters
    ----------
    kernel_shape, top_shape : int, scalar variable, or None
        Lengths of the filter and of the output.
    border_mode : {'valid', 'full', 'half'}, int, or pair of int
        The padding.
    subsample, dilation : int
        Strides over the image and within the filter.

    Returns
    -------
    int, scalar variable, or None
        The length; None where it is not known, or at a stride other than 1, where several images give one output.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.
    theano.tensor.nnet.abstract_conv.get_conv_gradinputs_shape : Return the shape of the images of a convolution from
        those of filters and output.

    Examples
    --------
    >>> get_conv_gradinputs_shape_1axis(3, 5, 'valid', 1, 1)
    7
    """
    if any(x is None for x in (kernel_shape, top_shape, border_mode, subsample, dilation)):
        return None
    if subsample != 1:
        return None
    spread = _spread(kernel_shape, dilation)
    lo, hi = _pad_of_axis(border_mode, spread)
    return top_shape + spread - lo - hi - 1


def get_conv_gradinputs_shape(
    kernel_shape: Sequence[Any],
    top_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
    num_groups: int = 1,
) -> tuple[Any, ...]:
    """Return the shape of the images of a convolution from those of filters and output.

    Parameters
    ----------
    kernel_shape : sequence of int, scalar variable or None
        As that of :func:`get_conv_output_shape`.
    top_shape : sequence of int, scalar variable or None
        Batch size, output channels, lengths of the axes of convolution; None where undefined.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of int or of pairs of int
        The padding.
    subsample, filter_dilation : sequence of int
        Strides over the image and within the filter, for each axis.
    num_groups : int
        Groups into which the channels are divided.

    Returns
    -------
    tuple of int, scalar variable or None
        Batch size, input channels, lengths; these are None at strides other than 1.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.check_conv_gradinputs_shape : Return whether images and filters of these shapes may
        give an output of that shape.
    theano.tensor.nnet.abstract_conv.get_conv_gradinputs_shape_1axis : Return the length of the image on one axis from
        those of filter and output.
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.

    Examples
    --------
    >>> get_conv_gradinputs_shape((16, 3, 5, 5), (8, 16, 28, 28), 'valid', (1, 1))
    (8, 3, 32, 32)
    """
    ndim = len(subsample)
    channels = kernel_shape[-ndim - 1]
    if channels is not None and num_groups != 1:
        channels = channels * num_groups
    modes = _modes(border_mode, ndim)
    lengths = map(
        get_conv_gradinputs_shape_1axis, kernel_shape[-ndim:], top_shape[2:], modes, subsample,
        _dilations(filter_dilation, subsample),
    )  # fmt: skip
    return (top_shape[0], channels, *lengths)


def check_conv_gradinputs_shape(
    image_shape: Sequence[Any],
    kernel_shape: Sequence[Any],
    output_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
) -> bool:
    """Return whether images and filters of these shapes may give an output of that shape.

    Parameters
    ----------
    image_shape, kernel_shape, output_shape : sequence of int, scalar variable or None
        As those of :func:`get_conv_output_shape`; None where undefined.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of int or of pairs of int
        The padding.
    subsample, filter_dilation : sequence of int
        Strides over the image and within the filter, for each axis.

    Returns
    -------
    bool
        False if they do not; True if they do, or where variables and None leave it open.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.get_conv_gradinputs_shape : Return the shape of the images of a convolution from
        those of filters and output.

    Examples
    --------
    >>> check_conv_gradinputs_shape((8, 3, 32, 32), (16, 3, 5, 5), (8, 16, 14, None), 'valid', (2, 2))
    True
    """
    expected = get_conv_output_shape(image_shape, kernel_shape, border_mode, subsample, filter_dilation)

    def differ(given: Any, computed: Any) -> bool:
        if given is None or computed is None:
            return False
        try:
            given, computed = get_scalar_constant_value(given), get_scalar_constant_value(computed)
        except NotScalarConstantError:
            return False
        return int(given) != int(computed)

    return not any(map(differ, output_shape, expected))


def assert_conv_shape(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Check that a shape is one of a convolution: two numbers >= 0, then lengths > 0.

    Parameters
    ----------
    shape : sequence of int or scalar variable
        Shape of images, filters or output.

    Returns
    -------
    tuple of int or scalar variable
        The shape; what is not constant is checked when it is computed.

    Raises
    ------
    ValueError
        If a constant is negative, or not positive behind the first two. At run time it is an AssertionError.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.assert_shape : Check the shape of `x` when it is computed, if the flag
        ``conv.assert_shape`` is set.
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.

    Examples
    --------
    >>> assert_conv_shape((8, 3, 0, 32))
    Traceback (most recent call last):
    ValueError: The convolution would produce an invalid shape: the convolution's axis 2 is 0.
    """
    out = []
    for axis, n in enumerate(shape):
        axis_name = f"the convolution's axis {axis}" if axis > 1 else ("the batch size", "the number of channels")[axis]
        try:
            constant = get_scalar_constant_value(n)
        except NotScalarConstantError:
            n = as_tensor_variable(n)
            if axis < 2:
                n = Assert(f"The convolution would produce an invalid shape: {axis_name} is negative.")(n, ge(n, 0))
            else:
                n = Assert(f"The convolution would produce an invalid shape: {axis_name} is not positive.")(n, gt(n, 0))
        else:
            if constant < 0 or (axis > 1 and constant == 0):
                raise ValueError(f"The convolution would produce an invalid shape: {axis_name} is {constant}.")
        out.append(n)
    return tuple(out)


def assert_shape(x: Any, expected_shape: Sequence[Any] | None, msg: str = "Unexpected shape.") -> Any:
    """Check the shape of `x` when it is computed, if the flag ``conv.assert_shape`` is set.

    Parameters
    ----------
    x : tensor
        What to check.
    expected_shape : sequence of int, scalar variable or None, or None
        The shape; lengths that are None are not checked.
    msg : str
        Message of the AssertionError.

    Returns
    -------
    tensor
        `x`, in an :class:`~theano.raise_op.Assert` where there is something to check.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.get_conv_output_shape : Return the shape of the output of a convolution; groups do
        not change it.
    theano.tensor.nnet.abstract_conv.assert_conv_shape : Check that a shape is one of a convolution: two numbers >= 0,
        then lengths > 0.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix()
    >>> assert_shape(x, (2, 3)) is x  # the flag is not set
    True
    """
    if expected_shape is None or not config.conv.assert_shape:
        return x
    tests = [eq(x.shape[axis], n) for axis, n in enumerate(expected_shape) if n is not None]
    if not tests:
        return x
    return Assert(msg)(x, *tests)

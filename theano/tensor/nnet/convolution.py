"""Convolutions of images with filters and their gradients, as a program writes them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from theano.gof.graph import Constant, Variable
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import zeros
from theano.tensor.joining import join
from theano.tensor.nnet import conv_ops
from theano.tensor.nnet import conv_rewriting as _conv_rewriting  # noqa: F401 (registers the rewrites)
from theano.tensor.nnet.conv_shapes import get_conv_gradinputs_shape

_ONES = {2: (1, 1), 3: (1, 1, 1)}
#: What other libraries call arguments.
_OTHER_NAMES = {"stride": "subsample", "strides": "subsample", "pad": "border_mode", "padding": "border_mode",
                "dilation": "filter_dilation", "dilation_rate": "filter_dilation", "groups": "num_groups"}  # fmt: skip


def _convolve(convdim: int, input: Any, filters: Any, input_shape: Any, filter_shape: Any, border_mode: Any, subsample: Any,
              filter_flip: bool, filter_dilation: Any, num_groups: int, **unshared: bool) -> Any:  # fmt: skip
    op = conv_ops.of_direction("top", convdim)(
        imshp=input_shape, kshp=filter_shape, border_mode=border_mode, subsample=subsample, filter_flip=filter_flip,
        filter_dilation=filter_dilation, num_groups=num_groups, **unshared,
    )  # fmt: skip
    return op(as_tensor_variable(input), as_tensor_variable(filters))


def _constants(shape: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """`shape` as its Op takes it: None where it is an expression."""
    if shape is None:
        return None
    return tuple(None if isinstance(n, Variable) and not isinstance(n, Constant) else n for n in shape)


def _lengths(shape: Any, convdim: int, name: str) -> list[Any]:
    """The lengths at the end of a shape, which have to be known.

    Raises
    ------
    ValueError
        If one is not.
    """
    if shape is None:
        raise ValueError(f"{name} must be given: what the lengths are does not follow from the other shapes")
    lengths = list(shape[-convdim:])
    if len(lengths) != convdim or any(n is None for n in lengths):
        raise ValueError(f"the last {convdim} elements of {name} must be given, got {shape}")
    return lengths


def _grad_wrt_inputs(convdim: int, output_grad: Any, filters: Any, input_shape: Any, filter_shape: Any, border_mode: Any,
                     subsample: Any, filter_flip: bool, filter_dilation: Any, num_groups: int,
                     **unshared: bool) -> Any:  # fmt: skip
    filters, output_grad = as_tensor_variable(filters), as_tensor_variable(output_grad)
    if input_shape is None:
        if any(s != 1 for s in subsample):
            raise ValueError(f"input_shape must be given, as several images may be meant at subsample={tuple(subsample)}")
        shapes = [x.shape[axis] for x in (filters, output_grad) for axis in range(x.ndim)]
        kernel, top = shapes[: filters.ndim], shapes[filters.ndim :]
        if isinstance(border_mode, list):
            border_mode = tuple(border_mode)
        input_shape = get_conv_gradinputs_shape(kernel, top, border_mode, subsample, filter_dilation)
        input_shape = (None, None, *input_shape[2:])
    op = conv_ops.of_direction("image", convdim)(
        imshp=_constants(input_shape), kshp=_constants(filter_shape), border_mode=border_mode, subsample=subsample,
        filter_flip=filter_flip, filter_dilation=filter_dilation, num_groups=num_groups, **unshared,
    )  # fmt: skip
    return op(filters, output_grad, _lengths(input_shape, convdim, "input_shape"))


def _grad_wrt_weights(convdim: int, input: Any, output_grad: Any, filter_shape: Any, input_shape: Any, border_mode: Any,
                      subsample: Any, filter_flip: bool, filter_dilation: Any, num_groups: int,
                      **unshared: bool) -> Any:  # fmt: skip
    op = conv_ops.of_direction("filters", convdim)(
        imshp=_constants(input_shape), kshp=_constants(filter_shape), border_mode=border_mode, subsample=subsample,
        filter_flip=filter_flip, filter_dilation=filter_dilation, num_groups=num_groups, **unshared,
    )  # fmt: skip
    return op(as_tensor_variable(input), as_tensor_variable(output_grad), _lengths(filter_shape, convdim, "filter_shape"))


def conv2d(input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None, border_mode: Any = "valid",
           subsample: Any = (1, 1), filter_flip: bool = True, image_shape: Any = None, filter_dilation: Any = (1, 1),
           num_groups: int = 1, unshared: bool = False, **kwargs: Any) -> Any:  # fmt: skip
    """Convolve a batch of images, each a stack of channels, with a set of filters.

    Parameters
    ----------
    input : tensor of shape (batch, input channels, rows, columns)
        The images.
    filters : tensor of shape (output channels, input channels, filter rows, filter columns)
        The filters; input channels are those of a group. With `unshared` the shape is (output channels, output rows, output
        columns, input channels, filter rows, filter columns).
    input_shape, filter_shape : sequence of int, constant or None, or None
        The shapes of `input` and `filters`, as far as they are known; the flag ``conv.assert_shape`` checks them.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of two ints or pairs of ints
        The padding with zeros: 'valid' none, the filter stays within the image; 'full' by the filter's length less 1, wherever
        it overlaps; 'half' by half the filter's length, which keeps the image's shape if that is odd; an int by so many rows
        and columns; a tuple by its elements, for rows and columns; one of these may be a pair, before and behind.
    subsample : tuple of two ints
        Strides over the image.
    filter_flip : bool
        Whether the filters are flipped (a convolution) or not (a cross-correlation).
    image_shape : sequence of int, constant or None
        Deprecated name of `input_shape`.
    filter_dilation : tuple of two ints
        Strides within the filter.
    num_groups : int
        Groups into which the channels are divided; each is convolved on its own.
    unshared : bool
        Whether each place of the output has filters of its own.
    **kwargs
        Other arguments of former versions are ignored, with a warning.

    Returns
    -------
    tensor of shape (batch, output channels, output rows, output columns)
        On each axis of length `i` with padding `p` on both sides, filter length `k`, stride `s` and dilation `d` the output has
        ``(i + 2 * p - (k - 1) * d - 1) // s + 1`` elements. The dtype is the common one.

    Raises
    ------
    TypeError
        If a tensor has another rank.
    ValueError
        If an argument is out of range, or shapes that are known do not go together; those that are not are looked at when the
        function runs.

    See Also
    --------
    theano.tensor.nnet.abstract_conv2d : Convolve a batch of images with a set of filters: `conv2d` without its deprecated
        arguments.
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.
    theano.tensor.nnet.conv2d_transpose : Apply a transposed convolution: the gradient of one with respect to its images,
        sometimes called deconvolution.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> import theano.tensor as T
    >>> x, w = T.dtensor4(), T.dtensor4()
    >>> f = theano.function([x, w], T.nnet.conv2d(x, w, border_mode='half'))
    >>> f(np.ones((1, 1, 3, 3)), np.ones((1, 1, 3, 3)))
    array([[[[4., 6., 4.],
             [6., 9., 6.],
             [4., 6., 4.]]]])
    """
    if "imshp_logical" in kwargs or "kshp_logical" in kwargs:
        raise ValueError("Keyword arguments 'imshp_logical' and 'kshp_logical' for conv2d are not supported anymore.")
    if kwargs:
        meant = "".join(f" Did you mean {_OTHER_NAMES[name]} by {name}?" for name in kwargs if name in _OTHER_NAMES)
        warnings.warn(f"Keyword arguments {', '.join(kwargs)} are not supported anymore and are ignored.{meant}", stacklevel=2)
    if image_shape is not None:
        if input_shape is not None:
            raise ValueError("input_shape and image_shape should not be provided at the same time: they mean the same.")
        warnings.warn("The argument image_shape of conv2d is deprecated, use input_shape.", stacklevel=2)
        input_shape = image_shape
    return abstract_conv2d(input, filters, input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation,
                           num_groups, unshared)  # fmt: skip


def abstract_conv2d(input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None, border_mode: Any = "valid",
                    subsample: Any = (1, 1), filter_flip: bool = True, filter_dilation: Any = (1, 1), num_groups: int = 1,
                    unshared: bool = False) -> Any:  # fmt: skip
    """Convolve a batch of images with a set of filters: :func:`conv2d` without its deprecated arguments.

    Parameters
    ----------
    input, filters, input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        Those of :func:`conv2d`.

    Returns
    -------
    tensor of shape (batch, output channels, output rows, output columns)
        Of the dtype that both are cast to.

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d`.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import numpy as np
    >>> abstract_conv2d(np.ones((8, 3, 32, 32)), np.ones((16, 3, 5, 5)), border_mode='half').eval().shape
    (8, 16, 32, 32)
    """
    return _convolve(2, input, filters, input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation,
                     num_groups, unshared=unshared)  # fmt: skip


def conv3d(input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None, border_mode: Any = "valid",
           subsample: Any = (1, 1, 1), filter_flip: bool = True, filter_dilation: Any = (1, 1, 1),
           num_groups: int = 1) -> Any:  # fmt: skip
    """Convolve a batch of volumes, each a stack of channels, with a set of filters.

    Parameters
    ----------
    input : tensor of shape (batch, input channels, depth, rows, columns)
        The volumes.
    filters : tensor of shape (output channels, input channels, filter depth, filter rows, filter columns)
        The filters.
    input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As those of :func:`conv2d`, for three axes.

    Returns
    -------
    tensor of shape (batch, output channels, output depth, output rows, output columns)
        Of the dtype that both are cast to.

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d`.

    See Also
    --------
    theano.tensor.nnet.conv2d_transpose : Apply a transposed convolution: the gradient of one with respect to its images,
        sometimes called deconvolution.
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.abstract_conv.conv3d_grad_wrt_weights : Return the gradient of `conv3d` with respect to its
        filters.

    Examples
    --------
    >>> import numpy as np
    >>> conv3d(np.ones((1, 2, 4, 5, 6)), np.ones((3, 2, 2, 2, 2)), subsample=(1, 1, 2)).eval().shape
    (1, 3, 3, 4, 3)
    """
    return _convolve(3, input, filters, input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation,
                     num_groups)  # fmt: skip


def conv2d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None,
                           border_mode: Any = "valid", subsample: Any = (1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1), num_groups: int = 1, unshared: bool = False) -> Any:  # fmt: skip
    """Return the gradient of :func:`conv2d` with respect to its images.

    Parameters
    ----------
    output_grad : tensor of shape (batch, output channels, output rows, output columns)
        The gradient of the convolution's output.
    filters : tensor
        The filters of the convolution, see :func:`conv2d`.
    input_shape : sequence of two int, constant or None and two int or scalar variables, or None
        The shape of the images, as several may give one output; it may be None at stride 1.
    filter_shape : sequence of int, constant or None, or None
        The shape of the filters, as far as it is known.
    border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        Those of the convolution, see :func:`conv2d`.

    Returns
    -------
    tensor of shape (batch, input channels, rows, columns)

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d`; ValueError too if `input_shape` does not give the lengths.

    See Also
    --------
    theano.tensor.nnet.conv2d_transpose : Apply a transposed convolution: the gradient of one with respect to its images,
        sometimes called deconvolution.
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.abstract_conv.conv2d_grad_wrt_weights : Return the gradient of `conv2d` with respect to its
        filters.

    Examples
    --------
    >>> import numpy as np
    >>> conv2d_grad_wrt_inputs(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), (1, 1, 3, 4), subsample=(2, 2)).eval()
    array([[[[1., 0., 1., 0.],
             [0., 0., 0., 0.],
             [1., 0., 1., 0.]]]])
    """
    return _grad_wrt_inputs(2, output_grad, filters, input_shape, filter_shape, border_mode, subsample, filter_flip,
                            filter_dilation, num_groups, unshared=unshared)  # fmt: skip


def conv3d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None,
                           border_mode: Any = "valid", subsample: Any = (1, 1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1, 1), num_groups: int = 1) -> Any:  # fmt: skip
    """Return the gradient of :func:`conv3d` with respect to its volumes.

    Parameters
    ----------
    output_grad, filters, input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As those of :func:`conv2d_grad_wrt_inputs`, for three axes.

    Returns
    -------
    tensor of shape (batch, input channels, depth, rows, columns)

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d_grad_wrt_inputs`.

    See Also
    --------
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.
    theano.tensor.nnet.abstract_conv.conv3d_grad_wrt_weights : Return the gradient of `conv3d` with respect to its
        filters.

    Examples
    --------
    >>> import numpy as np
    >>> conv3d_grad_wrt_inputs(np.ones((1, 3, 2, 2, 2)), np.ones((3, 1, 2, 2, 2))).eval().shape
    (1, 1, 3, 3, 3)
    """
    return _grad_wrt_inputs(3, output_grad, filters, input_shape, filter_shape, border_mode, subsample, filter_flip,
                            filter_dilation, num_groups)  # fmt: skip


def conv2d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any, input_shape: Any = None,
                            border_mode: Any = "valid", subsample: Any = (1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1), num_groups: int = 1, unshared: bool = False) -> Any:  # fmt: skip
    """Return the gradient of :func:`conv2d` with respect to its filters.

    Parameters
    ----------
    input : tensor of shape (batch, input channels, rows, columns)
        The images of the convolution.
    output_grad : tensor of shape (batch, output channels, output rows, output columns)
        The gradient of the convolution's output.
    filter_shape : sequence of two (`unshared`: four) int, constant or None and two int or scalar variables
        The shape of the filters, as several may give one output.
    input_shape : sequence of int, constant or None, or None
        The shape of the images, as far as it is known.
    border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        Those of the convolution, see :func:`conv2d`.

    Returns
    -------
    tensor of the filters' shape

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d`; ValueError too if `filter_shape` does not give the lengths.

    See Also
    --------
    theano.tensor.nnet.conv2d_grad_wrt_inputs : Return the gradient of `conv2d` with respect to its images.
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import numpy as np
    >>> conv2d_grad_wrt_weights(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)), (1, 1, 2, 2)).eval()
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    return _grad_wrt_weights(2, input, output_grad, filter_shape, input_shape, border_mode, subsample, filter_flip,
                             filter_dilation, num_groups, unshared=unshared)  # fmt: skip


def conv3d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any, input_shape: Any = None,
                            border_mode: Any = "valid", subsample: Any = (1, 1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1, 1), num_groups: int = 1) -> Any:  # fmt: skip
    """Return the gradient of :func:`conv3d` with respect to its filters.

    Parameters
    ----------
    input, output_grad, filter_shape, input_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As those of :func:`conv2d_grad_wrt_weights`, for three axes.

    Returns
    -------
    tensor of the filters' shape

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d_grad_wrt_weights`.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.conv3d_grad_wrt_inputs : Return the gradient of `conv3d` with respect to its volumes.
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import numpy as np
    >>> images, top = np.ones((1, 1, 3, 3, 3)), np.ones((1, 2, 2, 2, 2))
    >>> conv3d_grad_wrt_weights(images, top, (2, 1, 2, 2, 2)).eval()[0, 0, 0]
    array([[8., 8.],
           [8., 8.]])
    """
    return _grad_wrt_weights(3, input, output_grad, filter_shape, input_shape, border_mode, subsample, filter_flip,
                             filter_dilation, num_groups)  # fmt: skip


def conv2d_transpose(input: Any, filters: Any, output_shape: Any, filter_shape: Any = None, border_mode: Any = "valid",
                     input_dilation: Any = (1, 1), filter_flip: bool = True, filter_dilation: Any = (1, 1),
                     num_groups: int = 1, unshared: bool = False) -> Any:  # fmt: skip
    """Apply a transposed convolution: the gradient of one with respect to its images, sometimes called deconvolution.

    Parameters
    ----------
    input : tensor of shape (batch, input channels, rows, columns)
        The images.
    filters : tensor of shape (input channels, output channels, filter rows, filter columns)
        The filters; the channels stand the other way round than in :func:`conv2d`.
    output_shape : sequence of two int, constant or None and two int or scalar variables
        The shape of the result.
    filter_shape : sequence of int, constant or None, or None
        The shape of the filters, as far as it is known.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of two ints or pairs of ints
        The padding of the convolution that is transposed; it crops the result.
    input_dilation : tuple of two ints
        The strides of the convolution that is transposed.
    filter_flip, filter_dilation, num_groups, unshared
        Those of the convolution that is transposed, see :func:`conv2d`.

    Returns
    -------
    tensor of shape (batch, output channels, output rows, output columns)
        Of the dtype that both are cast to.

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d_grad_wrt_inputs`.

    See Also
    --------
    theano.tensor.nnet.separable_conv2d : Convolve each channel of images on its own, then mix the channels place by
        place.
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.
    theano.tensor.nnet.conv2d_grad_wrt_inputs : Return the gradient of `conv2d` with respect to its images.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> y = T.nnet.conv2d_transpose(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 2)), (1, 1, 2, 4), input_dilation=(1, 2))
    >>> y.eval()
    array([[[[1., 1., 1., 1.],
             [1., 1., 1., 1.]]]])
    """
    return conv2d_grad_wrt_inputs(
        output_grad=input, filters=filters, input_shape=output_shape, filter_shape=filter_shape, border_mode=border_mode,
        subsample=input_dilation, filter_flip=filter_flip, filter_dilation=filter_dilation, num_groups=num_groups,
        unshared=unshared,
    )  # fmt: skip


def _separable(convdim: int, input: Any, depthwise_filters: Any, pointwise_filters: Any, num_channels: int, input_shape: Any,
               depthwise_filter_shape: Any, pointwise_filter_shape: Any, border_mode: Any, subsample: Any, filter_flip: bool,
               filter_dilation: Any) -> Any:  # fmt: skip
    input, ones = as_tensor_variable(input), _ONES[convdim]
    depthwise_filters, pointwise_filters = map(as_tensor_variable, (depthwise_filters, pointwise_filters))
    if depthwise_filter_shape is not None and depthwise_filter_shape[1] not in (None, 1):
        raise ValueError(f"depthwise filters take one channel each, got the shape {tuple(depthwise_filter_shape)}")
    if pointwise_filter_shape is not None and any(n not in (None, 1) for n in tuple(pointwise_filter_shape)[2:]):
        raise ValueError(f"pointwise filters have lengths of 1, got the shape {tuple(pointwise_filter_shape)}")
    depthwise = _convolve(convdim, input, depthwise_filters, input_shape, depthwise_filter_shape, border_mode, subsample,
                          filter_flip, filter_dilation, num_channels)  # fmt: skip
    return _convolve(convdim, depthwise, pointwise_filters, None, pointwise_filter_shape, "valid", ones, filter_flip, ones, 1)


def separable_conv2d(input: Any, depthwise_filters: Any, pointwise_filters: Any, num_channels: int, input_shape: Any = None,
                     depthwise_filter_shape: Any = None, pointwise_filter_shape: Any = None, border_mode: Any = "valid",
                     subsample: Any = (1, 1), filter_flip: bool = True, filter_dilation: Any = (1, 1)) -> Any:  # fmt: skip
    """Convolve each channel of images on its own, then mix the channels place by place.

    Parameters
    ----------
    input : tensor of shape (batch, input channels, rows, columns)
        The images.
    depthwise_filters : tensor of shape (depthwise output channels, 1, filter rows, filter columns)
        Filters of single channels.
    pointwise_filters : tensor of shape (output channels, depthwise output channels, 1, 1)
        Weights of the mixed channels.
    num_channels : int
        Number of input channels.
    input_shape, depthwise_filter_shape, pointwise_filter_shape : sequence of int, constant or None, or None
        Shapes, as far as they are known.
    border_mode, subsample, filter_dilation
        As for :func:`conv2d`, of the depthwise convolution.
    filter_flip : bool
        Whether the filters are flipped.

    Returns
    -------
    tensor of shape (batch, output channels, output rows, output columns)
        Of the dtype that all are cast to.

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d`.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.conv2d_transpose : Apply a transposed convolution: the gradient of one with respect to its images,
        sometimes called deconvolution.
    theano.tensor.nnet.separable_conv3d : Convolve each channel of volumes on its own, then mix the channels place by
        place.

    Examples
    --------
    >>> import numpy as np
    >>> images, depthwise, pointwise = np.ones((1, 2, 3, 3)), np.ones((4, 1, 2, 2)), np.ones((5, 4, 1, 1))
    >>> separable_conv2d(images, depthwise, pointwise, num_channels=2).eval().shape
    (1, 5, 2, 2)
    """
    return _separable(2, input, depthwise_filters, pointwise_filters, num_channels, input_shape, depthwise_filter_shape,
                      pointwise_filter_shape, border_mode, subsample, filter_flip, filter_dilation)  # fmt: skip


def separable_conv3d(input: Any, depthwise_filters: Any, pointwise_filters: Any, num_channels: int, input_shape: Any = None,
                     depthwise_filter_shape: Any = None, pointwise_filter_shape: Any = None, border_mode: Any = "valid",
                     subsample: Any = (1, 1, 1), filter_flip: bool = True, filter_dilation: Any = (1, 1, 1)) -> Any:  # fmt: skip
    """Convolve each channel of volumes on its own, then mix the channels place by place.

    Parameters
    ----------
    input : tensor of shape (batch, input channels, depth, rows, columns)
        The volumes.
    depthwise_filters : tensor of shape (depthwise output channels, 1, filter depth, filter rows, filter columns)
        Filters of single channels.
    pointwise_filters : tensor of shape (output channels, depthwise output channels, 1, 1, 1)
        Weights of the mixed channels.
    num_channels, input_shape, depthwise_filter_shape, pointwise_filter_shape
        As those of :func:`separable_conv2d`, for three axes.
    border_mode, subsample, filter_flip, filter_dilation
        As those of :func:`separable_conv2d`, for three axes.

    Returns
    -------
    tensor of shape (batch, output channels, output depth, output rows, output columns)
        Of the dtype that all are cast to.

    Raises
    ------
    TypeError, ValueError
        As :func:`conv3d`.

    See Also
    --------
    theano.tensor.nnet.separable_conv2d : Convolve each channel of images on its own, then mix the channels place by
        place.

    Examples
    --------
    >>> import numpy as np
    >>> volumes, depthwise, pointwise = (np.ones(s) for s in ((1, 2, 3, 3, 3), (4, 1, 2, 2, 2), (5, 4, 1, 1, 1)))
    >>> separable_conv3d(volumes, depthwise, pointwise, num_channels=2).eval().shape
    (1, 5, 2, 2, 2)
    """
    return _separable(3, input, depthwise_filters, pointwise_filters, num_channels, input_shape, depthwise_filter_shape,
                      pointwise_filter_shape, border_mode, subsample, filter_flip, filter_dilation)  # fmt: skip


def causal_conv1d(input: Any, filters: Any, filter_shape: Any, input_shape: Any = None, subsample: int = 1,
                  filter_flip: bool = True, filter_dilation: int = 1, num_groups: int = 1,
                  unshared: bool = False) -> Any:  # fmt: skip
    """Convolve sequences so that no output depends on later inputs, as WaveNet does (https://arxiv.org/abs/1609.03499, 2.1).

    Parameters
    ----------
    input : tensor of shape (batch, input channels, length)
        The sequences.
    filters : tensor of shape (output channels, input channels, filter length)
        The filters; with `unshared` of shape (output channels, output length, input channels, filter length).
    filter_shape : sequence of two int, constant or None and an int, constant or scalar variable
        The shape of the filters; their length says how far the sequences are padded in front.
    input_shape : sequence of three int, constant or None, or None
        The shape of the sequences, as far as it is known.
    subsample, filter_dilation : int
        Strides over the sequence and within the filter.
    filter_flip : bool
        Whether the filters are flipped.
    num_groups : int
        Groups into which the channels are divided.
    unshared : bool
        Whether each place of the output has filters of its own.

    Returns
    -------
    tensor of shape (batch, output channels, output length)
        Of the dtype that both are cast to.

    Raises
    ------
    TypeError, ValueError
        As :func:`conv2d`.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import numpy as np
    >>> causal_conv1d(np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2)), (1, 1, 2)).eval()
    array([[[0., 1., 3., 5.]]])
    """
    input, filters = as_tensor_variable(input), as_tensor_variable(filters)
    for name, x, rank in (("input", input, 3), ("filters", filters, 4 if unshared else 3)):
        if x.ndim != rank:
            raise TypeError(f"{name} must be a {rank}D tensor, got {x.type}")
    (length,) = _lengths(filter_shape, 1, "filter_shape")
    if isinstance(length, Constant):
        length = int(length.data)
    pad = (length - 1) * filter_dilation
    # As images of one column.
    images = input.dimshuffle(0, 1, 2, "x")
    filter_shape = _constants(filter_shape)
    if unshared:
        kernels = filters.dimshuffle(0, 1, "x", 2, 3, "x")
        own = len(filter_shape) == 4
        filter_shape = (*filter_shape[:2], 1, *filter_shape[2:], 1) if own else None
    else:
        kernels = filters.dimshuffle(0, 1, 2, "x")
        filter_shape = (*filter_shape, 1)
    input_shape = None if input_shape is None else [*_constants(input_shape), 1]
    if isinstance(pad, Variable):
        # The padding of an Op is a number: a symbolic one is joined to the images.
        images, pad, input_shape = _padded_in_front(images, pad), 0, None
    out = _convolve(2, images, kernels, input_shape, filter_shape, ((pad, 0), (0, 0)), (subsample, 1), filter_flip,
                    (filter_dilation, 1), num_groups, unshared=unshared)  # fmt: skip
    return out[:, :, :, 0]


def _padded_in_front(images: Any, pad: Any) -> Any:
    """Images with `pad` rows of zeros above."""
    batch, channels, _, columns = (images.shape[axis] for axis in range(4))
    return join(2, zeros((batch, channels, pad, columns), dtype=images.dtype), images)

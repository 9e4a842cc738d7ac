"""The abstract Ops of convolution: what a program asks for, before an implementation is chosen for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.tensor.conversion import NotScalarConstantError, as_tensor_variable, get_scalar_constant_value
from theano.tensor.math import integer_dtypes
from theano.tensor.nnet import conv_numpy
from theano.tensor.nnet.conv_base import Convolution, Forward, GradientOfInputs, GradientOfWeights
from theano.tensor.nnet.conv_shapes import assert_shape
from theano.tensor.var import TensorConstant

#: What the original takes for integers.
integer_types = (int, np.integer)


def constant_shape(shape: Any, rank: int, name: str) -> tuple[int | None, ...]:
    """Return a shape that a user gives for images or filters as ints, and None where it is unknown.

    Raises
    ------
    ValueError
        If it has another length, or elements that are neither None nor constant integers.
    """
    if shape is None:
        return (None,) * rank
    wrong = f"{name} should be None or a tuple of {rank} constant int values or None, got {shape}"
    try:
        elements = tuple(shape)
    except TypeError:
        raise ValueError(wrong) from None
    if len(elements) != rank:
        raise ValueError(f"{name} must have {rank} elements, got {elements}")
    values: list[int | None] = []
    for n in elements:
        if n is None:
            values.append(None)
            continue
        try:
            value = get_scalar_constant_value(n, only_process_constants=True)
        except NotScalarConstantError:
            raise ValueError(wrong) from None
        if np.asarray(value).dtype.kind not in "iu":
            raise ValueError(wrong)
        values.append(int(value))
    return tuple(values)


class BaseAbstractConv(Convolution):
    """Base of the abstract Ops of convolution.

    Parameters
    ----------
    convdim : {2, 3}
        Number of axes of convolution.
    imshp : sequence of int, constant or None, or None
        The shape of the images, where it is known. The shapes are those of the convolution, for its gradients too.
    kshp : sequence of int, constant or None, or None
        The shape of the filters, where it is known: output channels, (where each place has its own filters the lengths of
        the output), input channels, lengths.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of int or of pairs of int
        'valid' pads nothing, 'full' by the length of the filter less 1, 'half' by half that length, an int by so many zeros
        on both sides, a tuple as its element for each axis says: an int, or a pair of those before and behind.
    subsample, filter_dilation : tuple of int
        Strides over the image and within the filter, for each axis.
    filter_flip : bool
        Whether the filters are flipped on the axes of convolution (a convolution) or not (a cross-correlation).
    num_groups : int
        Groups into which the channels of images, filters and output are divided; each is convolved on its own.
    unshared : bool
        Whether each place has filters of its own ("locally connected").

    Raises
    ------
    ValueError
        If one of these is out of range, or the shapes are not constant.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.AbstractConv : The convolution of images and filters; its parameters are those of
        `BaseAbstractConv`.
    theano.tensor.nnet.abstract_conv.AbstractConv_gradInputs : The gradient of `AbstractConv` with respect to the images,
        with its parameters.
    theano.tensor.nnet.abstract_conv.AbstractConv_gradWeights : The gradient of `AbstractConv` with respect to the
        filters, with its parameters.

    Examples
    --------
    >>> op = BaseAbstractConv(convdim=2, border_mode="half", subsample=(2, 2))
    >>> op.border_mode, op.subsample, op.filter_dilation
    ('half', (2, 2), (1, 1))
    >>> BaseAbstractConv(convdim=2, subsample=(1, 1, 1))
    Traceback (most recent call last):
        ...
    ValueError: subsample must have 2 elements, got (1, 1, 1)
    """

    __props__ = ("convdim", "border_mode", "subsample", "filter_flip", "imshp", "kshp", "filter_dilation", "num_groups",
                 "unshared")  # fmt: skip

    def __init__(self, convdim: int, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid", subsample: Any = None,
                 filter_flip: bool = True, filter_dilation: Any = None, num_groups: int = 1, unshared: bool = False):  # fmt: skip
        if convdim not in (2, 3):
            raise ValueError(f"convolution dimension {convdim} is not supported, only 2 and 3 are")
        ones = (1,) * convdim
        super().__init__(
            convdim, border_mode, ones if subsample is None else subsample, filter_flip,
            ones if filter_dilation is None else filter_dilation, num_groups, unshared,
        )  # fmt: skip
        self.imshp = constant_shape(imshp, self.rank_of("img"), "imshp (input_shape)")
        self.kshp = constant_shape(kshp, self.rank_of("kern"), "kshp (filter_shape)")

    def do_constant_folding(self, node: Apply) -> bool:
        # The Op that takes its place is quicker.
        return False

    def sibling(self, direction: str) -> Convolution:
        return of_direction(direction, self.convdim)(
            imshp=self.imshp, kshp=self.kshp, border_mode=self.border_mode, subsample=self.subsample,
            filter_flip=self.filter_flip, filter_dilation=self.filter_dilation, num_groups=self.num_groups,
            **({"unshared": self.unshared} if self.convdim == 2 else {}),
        )  # fmt: skip

    def apply(self, a: Any, b: Any, lengths: Any) -> Any:
        return self(a, b, lengths, add_assert_shape=False) if self.takes_lengths else self(a, b)

    def given_lengths(self, inputs: Sequence[Any]) -> Any:
        return [inputs[2][axis] for axis in range(self.convdim)]

    def shape_of_result(self, lengths: Sequence[Any]) -> Any:
        return lengths[0] if lengths else None

    def check_shapes(self, image: Any, filters: Any, top: Any = None) -> tuple[Any, ...]:
        return super().check_shapes(_filled(image, self.imshp), _filled(filters, self.kshp), top)

    def mismatch(self, what: str, given: str) -> str:
        """Return what is said where a shape is not the one that was given for it."""
        shape = "(" + ", ".join("?" if n is None else str(n) for n in getattr(self, given)) + ")"
        return f"{type(self).__name__} shape mismatch: shape of {what} does not match given {given} {shape}."

    def conv(self, img: Any, kern: Any, mode: str = "valid", dilation: Any = 1, num_groups: int = 1, unshared: bool = False,
             direction: str = "forward") -> np.ndarray:  # fmt: skip
        """Return a convolution of arrays, or a gradient of one, at stride 1, by NumPy.

        Parameters
        ----------
        img, kern : ndarray
            Images and filters; instead of the filters the output's gradient for 'backprop weights'; instead of the images
            the filters, and instead of these the output's gradient, for 'backprop inputs'.
        mode : {'valid', 'full'}
            The padding.
        dilation : int or tuple of int
            Strides within the filter.
        num_groups : int
            Groups of channels.
        unshared : bool
            Whether each place has filters of its own.
        direction : {'forward', 'backprop weights', 'backprop inputs'}
            What is computed.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            If `mode` or `direction` is another, or the shapes do not go together.
        """
        if mode not in ("valid", "full"):
            raise ValueError(f"invalid mode {mode}, which must be either 'valid' or 'full'")
        if direction not in _DIRECTIONS:
            raise ValueError(f"invalid direction {direction!r}, which must be one of {', '.join(_DIRECTIONS)}")
        dilation = (dilation,) * self.convdim if isinstance(dilation, (int, np.integer)) else tuple(dilation)
        kind = {"forward": AbstractConv, "backprop weights": AbstractConv_gradWeights, "backprop inputs": AbstractConv_gradInputs}
        op = kind[direction](self.convdim, border_mode=mode, filter_dilation=dilation, num_groups=num_groups, unshared=unshared)
        if direction == "forward":
            places = op.check_shapes(img.shape, kern.shape)[2:]
            return conv_numpy.forward(img, op.flipped(kern), places, op.geometry(kern.shape[-self.convdim :]))
        storage: list[list[Any]] = [[None]]
        if direction == "backprop weights":
            spread = [i - t + 1 if mode == "valid" else t - i + 1 for i, t in zip(img.shape[2:], kern.shape[2:])]
            lengths = [(n - 1) // d + 1 for n, d in zip(spread, dilation)]
        else:
            spread = [(k - 1) * d + 1 for k, d in zip(img.shape[-self.convdim :], dilation)]
            lengths = [t + n - 1 if mode == "valid" else t - n + 1 for t, n in zip(kern.shape[2:], spread)]
        op.perform(None, [img, kern, np.array(lengths)], storage)  # type: ignore[arg-type]
        return storage[0][0]

    def unshared2d(self, inp: Any, kern: Any, out_shape: Sequence[int], direction: str = "forward") -> np.ndarray:
        """Return an unshared cross-correlation of one padded image and one filter for each place, or a gradient of it.

        Parameters
        ----------
        inp, kern : ndarray
            The image, of shape (rows, columns), and the filters, of shape (output rows, output columns, filter rows, filter
            columns). For 'backprop weights' the image and the output's gradient; for 'backprop inputs' the filters and the
            output's gradient.
        out_shape : sequence of int
            Shape of the result.
        direction : {'forward', 'backprop weights', 'backprop inputs'}
            What is computed.

        Returns
        -------
        ndarray
        """
        if self.convdim != 2:
            raise NotImplementedError("unshared2d is that of images of two axes")
        if direction not in _DIRECTIONS:
            raise ValueError(f"invalid direction {direction!r}, which must be one of {', '.join(_DIRECTIONS)}")
        geometry = conv_numpy.Geometry(((0, 0),) * 2, self.subsample, self.filter_dilation, 1, True)
        if direction == "forward":
            return conv_numpy.forward(inp[None, None], kern[None, :, :, None], tuple(out_shape), geometry)[0, 0]
        if direction == "backprop weights":
            lengths = tuple(out_shape)[-2:]
            return conv_numpy.gradient_of_weights(inp[None, None], kern[None, None], lengths, geometry)[0, :, :, 0]
        return conv_numpy.gradient_of_inputs(inp[None, :, :, None], kern[None, None], tuple(out_shape), geometry)[0, 0]


_DIRECTIONS = ("forward", "backprop weights", "backprop inputs")


def _filled(shape: Any, known: Any) -> tuple[Any, ...]:
    """A shape with what is known from elsewhere in place of None."""
    return tuple(k if n is None else n for n, k in zip(shape, known))


def _lengths(shape: Any, convdim: int) -> Any:
    """The lengths of a result as a vector of integers.

    Raises
    ------
    TypeError
        If they are not one.
    """
    vector = as_tensor_variable(shape)
    if vector.type.ndim != 1 or vector.type.dtype not in integer_dtypes:
        raise TypeError(f"shape must be {convdim} integers, or a vector of these, got {vector.type}")
    if isinstance(vector, TensorConstant) and len(vector.data) != convdim:
        raise ValueError(f"shape must have {convdim} elements, got {vector.data}")
    return vector


def _known_lengths(vector: Any) -> Any:
    return [int(n) for n in vector.data] if isinstance(vector, TensorConstant) else None


class AbstractConv(Forward, BaseAbstractConv):
    """The convolution of images and filters; its parameters are those of :class:`BaseAbstractConv`.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.AbstractConv_gradInputs : The gradient of `AbstractConv` with respect to the images,
        with its parameters.
    theano.tensor.nnet.abstract_conv.BaseAbstractConv : Base of the abstract Ops of convolution.

    Examples
    --------
    >>> import theano.tensor as T
    >>> rows_only = AbstractConv(convdim=2, border_mode=(1, 0))
    >>> rows_only(T.ones((1, 1, 3, 1)), T.ones((1, 1, 3, 1))).eval().ravel().tolist()
    [2.0, 3.0, 2.0]
    """

    def make_node(self, img: Any, kern: Any) -> Apply:
        img, kern = self.as_operands(img, kern)
        out = self.output_of(img, kern)
        img = assert_shape(img, self.imshp, self.mismatch("image", "imshp"))
        kern = assert_shape(kern, self.kshp, self.mismatch("filters", "kshp"))
        return Apply(self, [img, kern], [out])


class AbstractConv_gradWeights(GradientOfWeights, BaseAbstractConv):
    """The gradient of :class:`AbstractConv` with respect to the filters, with its parameters.

    It is what automatic differentiation and rewrites put into graphs, and seldom what one asks for oneself.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.BaseAbstractConv : Base of the abstract Ops of convolution.
    theano.tensor.nnet.abstract_conv.AbstractConv_gradInputs : The gradient of `AbstractConv` with respect to the images,
        with its parameters.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> images, filters = T.dtensor4s("images", "filters")
    >>> top = T.nnet.conv2d(images, filters)
    >>> node = theano.grad(top.sum(), filters).owner
    >>> isinstance(node.op, AbstractConv_gradWeights), node.inputs[0] is images
    (True, True)
    """

    def make_node(self, img: Any, topgrad: Any, shape: Any, add_assert_shape: bool = True) -> Apply:
        img, topgrad = self.as_operands(img, topgrad)
        shape = _lengths(shape, self.convdim)
        out = self.output_of(img, topgrad, _known_lengths(shape))
        if add_assert_shape:
            img = assert_shape(img, self.imshp, self.mismatch("image", "imshp"))
        return Apply(self, [img, topgrad, shape], [out])


class AbstractConv_gradInputs(GradientOfInputs, BaseAbstractConv):
    """The gradient of :class:`AbstractConv` with respect to the images, with its parameters.

    It is what automatic differentiation and rewrites put into graphs, and seldom what one asks for oneself.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.AbstractConv_gradWeights : The gradient of `AbstractConv` with respect to the
        filters, with its parameters.
    theano.tensor.nnet.abstract_conv.AbstractConv : The convolution of images and filters; its parameters are those of
        `BaseAbstractConv`.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> images, filters = T.dtensor4s("images", "filters")
    >>> top = T.nnet.conv2d(images, filters)
    >>> node = theano.grad(top.sum(), images).owner
    >>> isinstance(node.op, AbstractConv_gradInputs), node.inputs[0] is filters
    (True, True)
    """

    def make_node(self, kern: Any, topgrad: Any, shape: Any, add_assert_shape: bool = True) -> Apply:
        kern, topgrad = self.as_operands(kern, topgrad)
        shape = _lengths(shape, self.convdim)
        out = self.output_of(kern, topgrad, _known_lengths(shape))
        if add_assert_shape:
            kern = assert_shape(kern, self.kshp, self.mismatch("filters", "kshp"))
        return Apply(self, [kern, topgrad, shape], [out])


class AbstractConv2d(AbstractConv):
    """The convolution of two axes; its parameters are those of :class:`BaseAbstractConv`.

    Parameters
    ----------
    imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        As for the base.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.AbstractConv2d_gradInputs : The gradient of `AbstractConv2d` with respect to the
        images, with its parameters.
    theano.tensor.nnet.abstract_conv.AbstractConv2d_gradWeights : The gradient of `AbstractConv2d` with respect to the
        filters, with its parameters.
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, filters = T.arange(9.0).reshape((1, 1, 3, 3)), T.constant([[[[1.0, 0.0]]]])
    >>> AbstractConv2d()(images, filters).eval()[0, 0].tolist()
    [[1.0, 2.0], [4.0, 5.0], [7.0, 8.0]]
    >>> AbstractConv2d(filter_flip=False)(images, filters).eval()[0, 0].tolist()
    [[0.0, 1.0], [3.0, 4.0], [6.0, 7.0]]
    """

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1),
                 filter_flip: bool = True, filter_dilation: Any = (1, 1), num_groups: int = 1,
                 unshared: bool = False):  # fmt: skip
        super().__init__(2, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared)


class AbstractConv2d_gradWeights(AbstractConv_gradWeights):
    """The gradient of :class:`AbstractConv2d` with respect to the filters, with its parameters.

    Parameters
    ----------
    imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        As for :class:`BaseAbstractConv`.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.abstract_conv.AbstractConv2d_gradInputs : The gradient of `AbstractConv2d` with respect to the
        images, with its parameters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, top = T.constant([[[[1.0, 2.0, 4.0]]]]), T.ones((1, 1, 1, 2))
    >>> AbstractConv2d_gradWeights()(images, top, [1, 2]).eval().ravel().tolist()
    [6.0, 3.0]
    """

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1),
                 filter_flip: bool = True, filter_dilation: Any = (1, 1), num_groups: int = 1,
                 unshared: bool = False):  # fmt: skip
        super().__init__(2, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared)


class AbstractConv2d_gradInputs(AbstractConv_gradInputs):
    """The gradient of :class:`AbstractConv2d` with respect to the images, with its parameters.

    Parameters
    ----------
    imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        As for :class:`BaseAbstractConv`.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.AbstractConv2d_gradWeights : The gradient of `AbstractConv2d` with respect to the
        filters, with its parameters.
    theano.tensor.nnet.abstract_conv.AbstractConv2d : The convolution of two axes; its parameters are those of
        `BaseAbstractConv`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> filters, top = T.constant([[[[1.0, 2.0]]]]), T.ones((1, 1, 1, 2))
    >>> AbstractConv2d_gradInputs()(filters, top, [1, 3]).eval().ravel().tolist()
    [2.0, 3.0, 1.0]
    """

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1),
                 filter_flip: bool = True, filter_dilation: Any = (1, 1), num_groups: int = 1,
                 unshared: bool = False):  # fmt: skip
        super().__init__(2, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared)


class AbstractConv3d(AbstractConv):
    """The convolution of three axes; its parameters are those of :class:`BaseAbstractConv`.

    Parameters
    ----------
    imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for the base.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.AbstractConv3d_gradInputs : The gradient of `AbstractConv3d` with respect to the
        images, with its parameters.
    theano.tensor.nnet.abstract_conv.AbstractConv3d_gradWeights : The gradient of `AbstractConv3d` with respect to the
        filters, with its parameters.
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> blocks, filters = T.ones((1, 1, 2, 2, 2)), T.ones((1, 1, 2, 2, 1))
    >>> AbstractConv3d()(blocks, filters).eval().ravel().tolist()
    [4.0, 4.0]
    """

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1, 1),
                 filter_flip: bool = True, filter_dilation: Any = (1, 1, 1), num_groups: int = 1):  # fmt: skip
        super().__init__(3, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups)


class AbstractConv3d_gradWeights(AbstractConv_gradWeights):
    """The gradient of :class:`AbstractConv3d` with respect to the filters, with its parameters.

    Parameters
    ----------
    imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for :class:`BaseAbstractConv`.

    See Also
    --------
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.
    theano.tensor.nnet.abstract_conv.AbstractConv3d_gradInputs : The gradient of `AbstractConv3d` with respect to the
        images, with its parameters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> blocks, top = T.constant([[[[[1.0, 2.0, 4.0]]]]]), T.ones((1, 1, 1, 1, 2))
    >>> AbstractConv3d_gradWeights()(blocks, top, [1, 1, 2]).eval().ravel().tolist()
    [6.0, 3.0]
    """

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1, 1),
                 filter_flip: bool = True, filter_dilation: Any = (1, 1, 1), num_groups: int = 1):  # fmt: skip
        super().__init__(3, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups)


class AbstractConv3d_gradInputs(AbstractConv_gradInputs):
    """The gradient of :class:`AbstractConv3d` with respect to the images, with its parameters.

    Parameters
    ----------
    imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for :class:`BaseAbstractConv`.

    See Also
    --------
    theano.tensor.nnet.abstract_conv.AbstractConv3d_gradWeights : The gradient of `AbstractConv3d` with respect to the
        filters, with its parameters.
    theano.tensor.nnet.abstract_conv.AbstractConv3d : The convolution of three axes; its parameters are those of
        `BaseAbstractConv`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> filters, top = T.constant([[[[[1.0, 2.0]]]]]), T.ones((1, 1, 1, 1, 2))
    >>> AbstractConv3d_gradInputs()(filters, top, [1, 1, 3]).eval().ravel().tolist()
    [2.0, 3.0, 1.0]
    """

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid", subsample: Any = (1, 1, 1),
                 filter_flip: bool = True, filter_dilation: Any = (1, 1, 1), num_groups: int = 1):  # fmt: skip
        super().__init__(3, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups)


def of_direction(direction: str, convdim: int) -> Any:
    """Return the class of the abstract Op that gives 'top', 'filters' or 'image'."""
    return _CLASSES[direction][convdim - 2]


_CLASSES = {
    "top": (AbstractConv2d, AbstractConv3d),
    "filters": (AbstractConv2d_gradWeights, AbstractConv3d_gradWeights),
    "image": (AbstractConv2d_gradInputs, AbstractConv3d_gradInputs),
}

"""What all Ops of convolution have in common: parameters, checks of shapes, gradients, values by NumPy.

Such an Op is one of three: the convolution of images and filters, its gradient with respect to the filters, or that with
respect to the images. Each is linear in both of its tensors, and each one's gradients are the other two::

    F(image, filters) -> top        W(image, top) -> filters        I(filters, top) -> image
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.scalar.type import upcast
from theano.tensor.conversion import NotScalarConstantError, as_tensor_variable, get_scalar_constant_value
from theano.tensor.math import cast
from theano.tensor.nnet import conv_numpy
from theano.tensor.nnet.conv_shapes import (
    border_mode_to_pad,
    get_conv_gradinputs_shape,
    get_conv_gradweights_shape,
    get_conv_output_shape,
)
from theano.tensor.shaping import patternbroadcast
from theano.tensor.static_shape import known_shape, text_of
from theano.tensor.type import TensorType

Shape = Sequence[Any]


def _positive_integers(name: str, values: Any, convdim: int) -> tuple[int, ...]:
    """`values` as ints, one for each axis of convolution."""
    try:
        values = tuple(values)
    except TypeError:
        raise ValueError(f"{name} must be a tuple of {convdim} integers, got {values!r}") from None
    if len(values) != convdim:
        raise ValueError(f"{name} must have {convdim} elements, got {values}")
    if not all(isinstance(v, (int, np.integer)) and v >= 1 for v in values):
        raise ValueError(f"{name} must hold integers >= 1, got {values}")
    return tuple(map(int, values))


def _normal_border_mode(border_mode: Any, convdim: int) -> Any:
    """'valid', 'full', 'half', or a tuple with an int, or a pair of different ints, for each axis."""
    if isinstance(border_mode, list):
        border_mode = tuple(tuple(m) if isinstance(m, list) else m for m in border_mode)
    if isinstance(border_mode, str) and border_mode in ("valid", "full", "half"):
        return border_mode
    pads = border_mode_to_pad(border_mode, convdim, ())
    if not np.any(pads):
        return "valid"
    return tuple(lo if lo == hi else (lo, hi) for lo, hi in pads)


class Convolution(Op):
    """Base of the Ops of convolution.

    Parameters
    ----------
    convdim : int
        Number of axes of convolution.
    border_mode : {'valid', 'full', 'half'}, int, or tuple of int or of pairs of int
        The padding.
    subsample, filter_dilation : sequence of int
        Strides over the image and within the filter, for each axis.
    filter_flip : bool
        Whether the filters are flipped on the axes of convolution (a convolution) or not (a cross-correlation).
    num_groups : int
        Groups into which the channels are divided.
    unshared : bool
        Whether each place has filters of its own.

    Raises
    ------
    ValueError
        If one of these is out of range.
    """

    _f16_ok = True
    check_broadcast = False
    #: What the two tensors are called.
    operands: tuple[str, str]
    #: Whether further inputs give lengths that the two tensors leave open.
    takes_lengths = True

    def __init__(self, convdim: int, border_mode: Any, subsample: Any, filter_flip: bool, filter_dilation: Any, num_groups: int,
                 unshared: bool):  # fmt: skip
        self.convdim = convdim
        self.border_mode = _normal_border_mode(border_mode, convdim)
        self.subsample = _positive_integers("subsample", subsample, convdim)
        self.filter_dilation = _positive_integers("filter_dilation", filter_dilation, convdim)
        if not isinstance(num_groups, (int, np.integer)) or num_groups < 1:
            raise ValueError(f"num_groups must be an integer >= 1, got {num_groups!r}")
        self.num_groups = int(num_groups)
        self.filter_flip = bool(filter_flip)
        self.unshared = bool(unshared)

    def __setstate__(self, attributes: dict) -> None:
        for name, value in (("num_groups", 1), ("unshared", False), ("filter_flip", False)):
            self.__dict__.setdefault(name, value)
        self.__dict__.update(attributes)

    def sibling(self, direction: str) -> Convolution:
        """Return the Op of the same convolution that gives 'top', 'filters' or 'image'."""
        raise NotImplementedError

    def apply(self, a: Any, b: Any, lengths: Any) -> Any:
        """Apply the Op to two tensors, and to the lengths of its result where it needs them."""
        return self(a, b, lengths) if self.takes_lengths else self(a, b)

    def rank_of(self, operand: str) -> int:
        """Return the rank of 'img', 'kern' or 'topgrad'."""
        return 2 + self.convdim * (2 if operand == "kern" and self.unshared else 1)

    def as_operands(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return the two tensors with their common dtype.

        Raises
        ------
        TypeError
            If one has another rank.
        """
        variables = []
        for name, x in zip(self.operands, (a, b)):
            x = as_tensor_variable(x)
            rank = self.rank_of(name)
            if not isinstance(x.type, TensorType) or x.type.ndim != rank:
                raise TypeError(f"{name} must be {rank}D tensor{self._meaning(name)}, got {x.type}")
            variables.append(x)
        dtype = upcast(variables[0].type.dtype, variables[1].type.dtype)
        first, second = (x if x.type.dtype == dtype else cast(x, dtype) for x in variables)
        return first, second

    def _meaning(self, name: str) -> str:
        """What the axes of a tensor are, for an error."""
        space = "rows, columns" if self.convdim == 2 else "depth, rows, columns"
        if name == "img":
            return f" of images (batch, channels, {space})"
        if name == "topgrad":
            return f" of the output's shape (batch, output channels, {space})"
        if self.unshared:
            return f" of an unshared convolution's filters (output channels, output's {space}, input channels, {space})"
        return f" of filters (output channels, input channels, {space})"

    def check_shapes(self, image: Shape, filters: Shape, top: Shape | None = None) -> tuple[Any, ...]:
        """Return the shape of the output of images and filters of some shapes.

        Parameters
        ----------
        image, filters, top : sequence of int or None
            The shapes, None where unknown; `top` is compared with the result.

        Raises
        ------
        ValueError
            If they do not go together.
        """
        given = f"images of shape {text_of(image)} and filters of shape {text_of(filters)}"
        channels, groups = filters[-self.convdim - 1], self.num_groups
        for what, n in (("input", image[1]), ("output", filters[0])):
            if n is not None and n % groups:
                raise ValueError(f"the number of {what} channels must be divisible by num_groups={groups}: {given}")
        if image[1] is not None and channels is not None and image[1] != channels * groups:
            of_groups = f" in each of {groups} groups" if groups > 1 else ""
            raise ValueError(f"images have {image[1]} channels, filters take {channels}{of_groups}: {given}")
        if any(n is not None and n < 0 for n in (*image, *filters)):
            raise ValueError(f"a shape has no negative lengths: {given}")
        out = get_conv_output_shape(image, filters, self.border_mode, self.subsample, self.filter_dilation)
        for axis, n in enumerate(out[2:]):
            if n is not None and (n <= 0 or filters[axis - self.convdim] == 0 or image[2 + axis] == 0):
                raise ValueError(
                    f"the filters do not fit into the images on axis {axis + 2}, the output would have the shape {text_of(out)}:"
                    f" {given}, border_mode={self.border_mode!r}, subsample={self.subsample},"
                    f" filter_dilation={self.filter_dilation}"
                )
        if self.unshared:
            for n, own in zip(out[2:], filters[1 : 1 + self.convdim]):
                if n is not None and own is not None and n != own:
                    raise ValueError(
                        f"unshared filters are given for places {text_of(filters[1 : 1 + self.convdim])}, but the output has the"
                        f" places {text_of(out[2:])}: {given}"
                    )
        if top is not None and any(a is not None and b is not None and a != b for a, b in zip(top, out)):
            raise ValueError(
                f"{given} give an output of shape {text_of(out)} with border_mode={self.border_mode!r},"
                f" subsample={self.subsample}, filter_dilation={self.filter_dilation}, but the given topgrad has the shape"
                f" {text_of(top)}"
            )
        return out

    def geometry(self, filter_lengths: Sequence[int]) -> conv_numpy.Geometry:
        """Return what NumPy's convolution needs to know, for filters of some lengths."""
        spread = [(k - 1) * d + 1 for k, d in zip(filter_lengths, self.filter_dilation)]
        pads = border_mode_to_pad(self.border_mode, self.convdim, spread)
        return conv_numpy.Geometry(pads, self.subsample, self.filter_dilation, self.num_groups, self.unshared)

    def flipped(self, filters: Any) -> Any:
        """Return the filters of a cross-correlation that does the same."""
        if not self.filter_flip:
            return filters
        return filters[(Ellipsis, *[slice(None, None, -1)] * self.convdim)]

    def filter_lengths(self, inputs: Sequence[Any], top: Sequence[int], image: Sequence[int]) -> tuple[Any, ...]:
        """Return the lengths of the filters, from further inputs or from shapes."""
        lengths = self.given_lengths(inputs)
        if lengths is None:
            shape = get_conv_gradweights_shape(
                image, top, self.border_mode, self.subsample, self.filter_dilation, self.num_groups, self.unshared
            )
            lengths = shape[-self.convdim :]
        return tuple(lengths)

    def image_lengths(self, inputs: Sequence[Any], top: Sequence[int], filters: Sequence[int]) -> tuple[Any, ...]:
        """Return the lengths of the images, from further inputs or from shapes."""
        lengths = self.given_lengths(inputs)
        if lengths is None:
            lengths = get_conv_gradinputs_shape(filters, top, self.border_mode, self.subsample, self.filter_dilation)[2:]
        return tuple(lengths)

    def given_lengths(self, inputs: Sequence[Any]) -> Sequence[Any] | None:
        """Return the lengths that further inputs give, or None."""
        return None

    def shape_of_result(self, lengths: Sequence[Any]) -> Any:
        """Return further inputs as the argument that they come from."""
        return lengths or None

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        a, b, *lengths = inputs
        shape = self.shape_of_result(lengths)
        da, db = eval_points[:2]
        # An input that does not depend on what is varied comes as zeros.
        first = None if _is_zero(da) else self.apply(da, b, shape)
        second = None if _is_zero(db) else self.apply(a, db, shape)
        if first is None or second is None:
            return [second if first is None else first]
        return [first + second]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], *([False] for _ in node.inputs[2:])]

    def gradients(self, inputs: Sequence[Any], first: Any, second: Any) -> list[Any]:
        """Return gradients of the two tensors, of their types; lengths are not connected."""
        grads = [
            patternbroadcast(g if g.type.dtype == x.type.dtype else cast(g, x.type.dtype), x.type.broadcastable)
            for g, x in zip((first, second), inputs)
        ]
        return grads + [DisconnectedType()() for _ in inputs[2:]]

    def lengths_of(self, x: Any) -> Any:
        """Return the lengths of the axes of convolution of images, filters or output."""
        return x.shape[-self.convdim :]

    def flops(self, inp: Sequence[Sequence[int]], outp: Sequence[Sequence[int]]) -> int:
        """Return how many multiplications and additions the convolution takes, for shapes of inputs and outputs."""
        filters, top = self.filters_and_top(inp, outp)
        # Each element of the output is a sum over the channels of a group and the places of a filter.
        return 2 * int(np.prod(top)) * int(np.prod(filters[-self.convdim - 1 :]))

    def filters_and_top(self, inp: Sequence[Any], outp: Sequence[Any]) -> tuple[Any, Any]:
        """Return the shapes of filters and output from those of inputs and outputs."""
        raise NotImplementedError


def _is_zero(x: Any) -> bool:
    """Whether there is nothing, or nothing but zeros."""
    if x is None:
        return True
    try:
        return bool(get_scalar_constant_value(x) == 0)
    except NotScalarConstantError:
        return False


class Forward(Convolution):
    """The convolution of images and filters.

    See Also
    --------
    theano.tensor.nnet.ConvOp : Convolution of images (batch, channels, rows, columns) with filters (output channels,
        channels, rows, columns).

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, filters = T.dtensor4s("images", "filters")
    >>> node = T.nnet.conv2d(images, filters).owner
    >>> isinstance(node.op, Forward), node.inputs == [images, filters]
    (True, True)
    """

    operands = ("img", "kern")
    takes_lengths = False

    def output_of(self, image: Any, filters: Any) -> Any:
        """Return a variable for the result."""
        self.check_shapes(known_shape(image), known_shape(filters))
        pattern = (image.type.broadcastable[0], filters.type.broadcastable[0], *(False,) * self.convdim)
        return TensorType(image.type.dtype, pattern)()

    def make_node(self, img: Any, kern: Any) -> Apply:
        img, kern = self.as_operands(img, kern)
        return Apply(self, [img, kern], [self.output_of(img, kern)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        image, filters = inputs
        out = self.check_shapes(image.shape, filters.shape)
        geometry = self.geometry(filters.shape[-self.convdim :])
        output_storage[0][0] = conv_numpy.forward(image, self.flipped(filters), out[2:], geometry)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (image, filters), (top,) = inputs, grads
        to_image, to_filters = self.sibling("image"), self.sibling("filters")
        return self.gradients(
            inputs,
            to_image.apply(filters, top, self.lengths_of(image)),
            to_filters.apply(image, top, self.lengths_of(filters)),
        )

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        image, filters = in_shapes
        return [get_conv_output_shape(image, filters, self.border_mode, self.subsample, self.filter_dilation)]

    def filters_and_top(self, inp: Sequence[Any], outp: Sequence[Any]) -> tuple[Any, Any]:
        return inp[1], outp[0]


class GradientOfWeights(Convolution):
    """The gradient of a convolution with respect to its filters, from the images and the gradient of the output."""

    operands = ("img", "topgrad")

    def output_of(self, image: Any, top: Any, lengths: Sequence[int] | None = None) -> Any:
        """Return a variable for the result, which has these lengths."""
        images, tops = known_shape(image), known_shape(top)
        lengths = (None,) * self.convdim if lengths is None else lengths
        filters = (tops[1], *(tops[2:] if self.unshared else ()), self._channels(images[1]), *lengths)
        self.check_shapes(images, filters, tops)
        own = top.type.broadcastable[2:] if self.unshared else ()
        one_channel = self.num_groups == 1 and image.type.broadcastable[1]
        pattern = (top.type.broadcastable[1], *own, one_channel, *(False,) * self.convdim)
        return TensorType(image.type.dtype, pattern)()

    def _channels(self, n: Any) -> Any:
        return None if n is None else n // self.num_groups if self.num_groups > 1 else n

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        image, top = inputs[:2]
        lengths = tuple(map(int, self.filter_lengths(inputs, top.shape, image.shape)))
        own = top.shape[2:] if self.unshared else ()
        self.check_shapes(image.shape, (top.shape[1], *own, self._channels(image.shape[1]), *lengths), top.shape)
        filters = conv_numpy.gradient_of_weights(image, top, lengths, self.geometry(lengths))
        output_storage[0][0] = np.ascontiguousarray(self.flipped(filters))

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (image, top), (filters,) = inputs[:2], grads
        to_image, to_top = self.sibling("image"), self.sibling("top")
        return self.gradients(
            inputs, to_image.apply(filters, top, self.lengths_of(image)), to_top.apply(image, filters, self.lengths_of(top))
        )

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        image, top = in_shapes[:2]
        own = top[2:] if self.unshared else ()
        return [(top[1], *own, self._channels(image[1]), *self.filter_lengths(node.inputs, top, image))]

    def filters_and_top(self, inp: Sequence[Any], outp: Sequence[Any]) -> tuple[Any, Any]:
        return outp[0], inp[1]


class GradientOfInputs(Convolution):
    """The gradient of a convolution with respect to its images, from the filters and the gradient of the output."""

    operands = ("kern", "topgrad")

    def output_of(self, filters: Any, top: Any, lengths: Sequence[int] | None = None) -> Any:
        """Return a variable for the result, which has these lengths."""
        kernels, tops = known_shape(filters), known_shape(top)
        lengths = (None,) * self.convdim if lengths is None else lengths
        self.check_shapes((tops[0], self._channels(kernels), *lengths), kernels, tops)
        if self.unshared:
            self._check_places(kernels, tops)
        one_channel = self.num_groups == 1 and filters.type.broadcastable[-self.convdim - 1]
        pattern = (top.type.broadcastable[0], one_channel, *(False,) * self.convdim)
        return TensorType(filters.type.dtype, pattern)()

    def _channels(self, filters: Any) -> Any:
        n = filters[-self.convdim - 1]
        return None if n is None else n * self.num_groups if self.num_groups > 1 else n

    def _check_places(self, filters: Shape, top: Shape) -> None:
        for own, n in zip(filters[1:], top[2:]):
            if own is not None and n is not None and own != n:
                raise ValueError(f"unshared filters of shape {text_of(filters)} do not go with an output of shape {text_of(top)}")

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        filters, top = inputs[:2]
        lengths = tuple(map(int, self.image_lengths(inputs, top.shape, filters.shape)))
        self.check_shapes((top.shape[0], self._channels(filters.shape), *lengths), filters.shape, top.shape)
        geometry = self.geometry(filters.shape[-self.convdim :])
        output_storage[0][0] = conv_numpy.gradient_of_inputs(self.flipped(filters), top, lengths, geometry)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (filters, top), (image,) = inputs[:2], grads
        to_filters, to_top = self.sibling("filters"), self.sibling("top")
        return self.gradients(
            inputs, to_filters.apply(image, top, self.lengths_of(filters)), to_top.apply(image, filters, self.lengths_of(top))
        )

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        filters, top = in_shapes[:2]
        return [(top[0], self._channels(filters), *self.image_lengths(node.inputs, top, filters))]

    def filters_and_top(self, inp: Sequence[Any], outp: Sequence[Any]) -> tuple[Any, Any]:
        return inp[0], inp[1]

"""The old convolution of images with filters, valid or full; use :func:`theano.tensor.nnet.conv2d`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano import aliases
from theano.gof.graph import Apply
from theano.raise_op import Assert
from theano.tensor.conversion import as_tensor_variable, get_scalar_constant_value
from theano.tensor.math import eq
from theano.tensor.nnet.conv_base import Forward
from theano.tensor.nnet.conv_ops import AbstractConv2d_gradInputs, AbstractConv2d_gradWeights
from theano.tensor.nnet.conv_shapes import get_conv_output_shape
from theano.tensor.type import TensorType

__getattr__, __dir__ = aliases.lazy(__name__)

#: Whether SciPy's convolution can be had: the Op does not need it.
imported_scipy_signal = True


def _constant(n: Any) -> int | None:
    """A length that is given as None, a number or a constant.

    Raises
    ------
    NotScalarConstantError
        If it is none of these.
    """
    return None if n is None else int(get_scalar_constant_value(as_tensor_variable(n)))


def conv2d(input: Any, filters: Any, image_shape: Any = None, filter_shape: Any = None, border_mode: str = "valid",
           subsample: Any = (1, 1), **kargs: Any) -> Any:  # fmt: skip
    """Convolve a batch of images with a set of filters; :func:`theano.tensor.nnet.conv2d` has taken its place.

    Parameters
    ----------
    input : tensor of shape (batch, input channels, rows, columns)
        The images.
    filters : tensor of shape (output channels, input channels, filter rows, filter columns)
        The filters, which are flipped.
    image_shape, filter_shape : sequence of int, constant or None, or None
        The shapes of `input` and `filters`, as far as they are known; they are checked.
    border_mode : {'valid', 'full'}
        Whether the filter stays within the image, or goes wherever it overlaps.
    subsample : tuple of two ints
        Strides over the image.
    **kargs
        For :class:`ConvOp`: `unroll_batch`, `unroll_kern`, `unroll_patch`, `openmp`.

    Returns
    -------
    tensor of shape (batch, output channels, output rows, output columns)
        Of the dtype that both are cast to.

    Raises
    ------
    NotScalarConstantError
        If a shape holds something else than constants and None.
    AssertionError
        If the two shapes have different numbers of input channels.
    TypeError, ValueError, NotImplementedError
        As :class:`ConvOp`; ValueError when the function runs, too, if a shape is another.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.ConvOp : Convolution of images (batch, channels, rows, columns) with filters (output channels,
        channels, rows, columns).

    Examples
    --------
    >>> import numpy as np
    >>> conv2d(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2))).eval()
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    image = [None] * 4 if image_shape is None else [_constant(n) for n in list(image_shape)]
    kernel = [None] * 4 if filter_shape is None else [_constant(n) for n in list(filter_shape)]
    for name, shape in (("image_shape", image), ("filter_shape", kernel)):
        if len(shape) != 4:
            raise ValueError(f"{name} must have 4 elements, got {shape}")
    if image[1] is not None and kernel[1] is not None and image[1] != kernel[1]:
        raise AssertionError(f"images have {image[1]} channels, filters take {kernel[1]}: {image}, {kernel}")
    channels = kernel[1] if image[1] is None else image[1]
    op = ConvOp(
        output_mode=border_mode, dx=subsample[0], dy=subsample[1], imshp=(channels, *image[2:]), kshp=tuple(kernel[2:]),
        nkern=kernel[0], bsize=image[0], **kargs,
    )  # fmt: skip
    return op(input, filters)


class ConvOp(Forward):
    """Convolution of images (batch, channels, rows, columns) with filters (output channels, channels, rows, columns).

    Parameters
    ----------
    imshp : sequence of int or None, optional
        Channels, rows and columns of the images, where they are known; two elements are rows and columns.
    kshp : sequence of int or None, optional
        Rows and columns of the filters, where they are known.
    nkern, bsize : int, optional
        Number of filters, and of images.
    dx, dy : int
        Strides over rows and columns.
    output_mode : {'valid', 'full'}
        Whether the filter stays within the image, or goes wherever it overlaps.
    unroll_batch, unroll_kern, unroll_patch, verbose, version, direction_hint, openmp : object
        Accepted for the sake of programs that choose among the original's implementations: there is one here.
    imshp_logical, kshp_logical : sequence of int, optional
        Shapes that images and filters would be spread to: only their own.
    kshp_logical_top_aligned : bool
        Goes with `kshp_logical`.

    Raises
    ------
    ValueError
        If `output_mode` is another, or a stride is not positive.
    NotImplementedError
        If a logical shape is another than the real one.

    See Also
    --------
    theano.tensor.nnet.conv.conv2d : Convolve a batch of images with a set of filters; `theano.tensor.nnet.conv2d` has
        taken its place.
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.conv.gen_conv_code_unroll_batch_kern : Fail: the original makes its C code with this function;
        convolutions are instructions of the engine here.

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, filters = T.ones((1, 1, 3, 3)), T.constant([[[[1.0, 2.0]]]])
    >>> ConvOp(output_mode="valid")(images, filters).eval().tolist()
    [[[[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]]]
    >>> ConvOp.getOutputShape((3, 3), (1, 2), mode="full")
    (3, 4)
    """

    __props__ = ("imshp", "kshp", "nkern", "bsize", "dx", "dy", "out_mode")

    def __init__(self, imshp: Any = None, kshp: Any = None, nkern: int | None = None, bsize: int | None = None, dx: int = 1,
                 dy: int = 1, output_mode: str = "valid", unroll_batch: int | None = None, unroll_kern: int | None = None,
                 unroll_patch: bool | None = None, imshp_logical: Any = None, kshp_logical: Any = None,
                 kshp_logical_top_aligned: bool = True, verbose: int = 0, version: int = -1,
                 direction_hint: str = "forward", openmp: bool | None = None):  # fmt: skip
        if output_mode not in ("valid", "full"):
            raise ValueError(f"ConvOp does not know the output_mode {output_mode!r}, which must be 'valid' or 'full'")
        super().__init__(2, output_mode, (dx, dy), True, (1, 1), 1, False)
        imshp = (None,) * 3 if imshp is None else tuple(imshp)
        if len(imshp) == 2:
            imshp = (1, *imshp)
        self.imshp = tuple(map(_constant, imshp))
        self.kshp = tuple(map(_constant, (None,) * 2 if kshp is None else kshp))
        if len(self.imshp) != 3 or len(self.kshp) != 2:
            raise ValueError(f"imshp must have 2 or 3 elements and kshp 2, got {imshp} and {kshp}")
        for logical, shape in ((imshp_logical, self.imshp), (kshp_logical, self.kshp)):
            if logical is not None and tuple(logical)[-2:] != shape[-2:]:
                raise NotImplementedError(
                    "ConvOp spreads neither images nor filters: use theano.tensor.nnet.conv2d_transpose or the argument"
                    " filter_dilation of theano.tensor.nnet.conv2d"
                )
        self.nkern, self.bsize = _constant(nkern), _constant(bsize)
        self.dx, self.dy = self.subsample
        self.out_mode = output_mode
        self.openmp = openmp
        self.unroll_batch, self.unroll_kern, self.unroll_patch = unroll_batch, unroll_kern, unroll_patch
        out = self.getOutputShape(self.imshp[1:], self.kshp, self.subsample, output_mode)
        if any(n is not None and n <= 0 for n in out):
            raise ValueError(
                f"the filters of shape {self.kshp} do not fit into images of shape {self.imshp[1:]}: the output would have the"
                f" shape {out}"
            )
        #: Shapes of the output, without and with strides.
        self.fulloutshp = self.getOutputShape(self.imshp[1:], self.kshp, (1, 1), output_mode)
        self.outshp = out

    @staticmethod
    def has_all_shape(imshp: Any, kshp: Any, nkern: Any = 1, bsize: Any = 1) -> bool:
        """Return whether all of these are known."""
        return all(n is not None for n in (nkern, bsize, *(imshp or (None,)), *(kshp or (None,))))

    @staticmethod
    def getOutputShape(inshp: Any, kshp: Any, stride: Any = (1, 1), mode: str = "valid") -> tuple[Any, ...]:
        """Return the lengths of the output of images and filters of some lengths."""
        return get_conv_output_shape((None, None, *inshp), (None, None, *kshp), mode, tuple(stride))[2:]

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        """Return how many multiplications and additions the convolution takes, for shapes of inputs and outputs."""
        if inputs[0][1] != inputs[1][1]:
            raise ValueError(f"images and filters have different channels: {inputs[0]}, {inputs[1]}")
        return super().flops(inputs, outputs)

    def make_node(self, inputs: Any, kerns: Any) -> Apply:  # type: ignore[override]
        image, filters = as_tensor_variable(inputs), as_tensor_variable(kerns)
        for name, x in (("images", image), ("filters", filters)):
            if x.type.ndim != 4:
                raise TypeError(f"ConvOp needs 4 dimensions, but the {name} are of the type {x.type}")
        if image.type.dtype != filters.type.dtype:
            raise NotImplementedError(
                f"the images and the filters must have the same type: {image.type.dtype} and {filters.type.dtype}"
            )
        known = (self.bsize, *self.imshp), (self.nkern, self.imshp[0], *self.kshp)
        self.check_shapes(*known)
        image, filters = (_of_shape(x, shape, name) for x, shape, name in zip((image, filters), known, ("images", "filters")))
        ones = [n == 1 for n in (self.bsize, self.nkern, *self.outshp)]
        pattern = [a or b for a, b in zip(ones, (image.broadcastable[0], filters.broadcastable[0], False, False))]
        return Apply(self, [image, filters], [TensorType(image.type.dtype, pattern)()])

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (image, filters), (top,) = inputs, grads
        if not {self.dx, self.dy} <= {1, 2}:
            raise NotImplementedError("ConvOp has no gradient for strides other than 1 and 2: use theano.tensor.nnet.conv2d")
        if (self.dx, self.dy) != (1, 1):
            if self.out_mode == "valid":
                raise NotImplementedError(
                    "ConvOp has no gradient for strides of a valid convolution: use theano.tensor.nnet.conv2d"
                )
            if not self.has_all_shape(self.imshp, self.kshp, self.nkern, self.bsize):
                raise NotImplementedError(
                    "the gradient of ConvOp needs all shapes where there are strides: use theano.tensor.nnet.conv2d"
                )
        to_image, to_filters = (
            op(border_mode=self.out_mode, subsample=self.subsample)
            for op in (AbstractConv2d_gradInputs, AbstractConv2d_gradWeights)
        )
        return self.gradients(inputs, to_image(filters, top, image.shape[2:]), to_filters(image, top, filters.shape[2:]))


def _of_shape(x: Any, shape: Sequence[int | None], name: str) -> Any:
    """`x`, with its lengths compared when the function runs."""
    tests = [eq(x.shape[axis], n) for axis, n in enumerate(shape) if n is not None]
    if not tests:
        return x
    return Assert(f"The {name} given to ConvOp do not have the shape that it was made for, {tuple(shape)}.", ValueError)(
        x, *tests
    )


def gen_conv_code_unroll_batch_kern(d: Any, unroll_bsize: int = 1, unroll_ksize: int = 1) -> str:
    """Fail: the original makes its C code with this function; convolutions are instructions of the engine here.

    Parameters
    ----------
    d, unroll_bsize, unroll_ksize : object
        Those of the original.

    Raises
    ------
    NotImplementedError
        Always.

    See Also
    --------
    theano.tensor.nnet.ConvOp : Convolution of images (batch, channels, rows, columns) with filters (output channels,
        channels, rows, columns).

    Examples
    --------
    >>> gen_conv_code_unroll_batch_kern({})
    Traceback (most recent call last):
        ...
    NotImplementedError: ConvOp has no C code of its own; the engine's convolution chooses its loops by itself.
    """
    raise NotImplementedError("ConvOp has no C code of its own; the engine's convolution chooses its loops by itself.")

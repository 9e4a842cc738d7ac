"""Cross-correlation of images and filters, the implementation that takes the place of the abstract convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano import aliases
from theano.gof.graph import Apply
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.math import cast, discrete_dtypes
from theano.tensor.nnet.conv_base import Convolution, Forward, GradientOfInputs, GradientOfWeights
from theano.tensor.var import TensorConstant

__getattr__, __dir__ = aliases.lazy(__name__)


class Correlation(Convolution):
    """Base of the Ops that compute cross-correlations and their gradients.

    See Also
    --------
    theano.tensor.nnet.corr.CorrelationGradInputs : The gradient with respect to the images.
    theano.tensor.nnet.corr.CorrelationGradWeights : The gradient with respect to the filters.
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> images, filters = T.dtensor4s("images", "filters")
    >>> top = CorrMM()(images, filters)
    >>> outputs = [top, *theano.grad(top.sum(), [images, filters])]
    >>> [isinstance(v.owner.op, Correlation) for v in outputs]
    [True, True, True]
    """

    __props__ = ("border_mode", "subsample", "filter_dilation", "num_groups", "unshared", "filter_flip")

    def __str__(self) -> str:
        flip = ", flipped" if self.filter_flip else ""
        return (
            f"{type(self).__name__}{{{self.border_mode}, {self.subsample}, {self.filter_dilation}, {self.num_groups}"
            f" {self.unshared}{flip}}}"
        )

    #: The classes that give 'top', 'filters' and 'image'.
    family: dict[str, Any]

    def sibling(self, direction: str) -> Convolution:
        op = self.family[direction]
        return op(
            border_mode=self.border_mode, subsample=self.subsample, filter_dilation=self.filter_dilation,
            num_groups=self.num_groups, filter_flip=self.filter_flip, **({"unshared": True} if self.unshared else {}),
        )  # fmt: skip

    @property
    def pad(self) -> Any:
        """The padding: 'half', 'full', or a pair for each axis."""
        if self.border_mode in ("half", "full"):
            return self.border_mode
        modes = (0,) * self.convdim if self.border_mode == "valid" else self.border_mode
        return tuple(mode if isinstance(mode, tuple) else (mode, mode) for mode in modes)

    def given_lengths(self, inputs: Sequence[Any]) -> Sequence[Any] | None:
        return inputs[2:] or None

    def length_inputs(self, shape: Any, needed: bool, why: str) -> list[Any]:
        """Return the lengths of the result as int64 scalars; none where it follows from the other shapes.

        Raises
        ------
        ValueError
            If they are needed and not given.
        TypeError
            If they are not integers.
        """
        if shape is None:
            if needed:
                raise ValueError(f"shape must be given if {why}")
            return []
        lengths = []
        for axis in range(self.convdim):
            n = as_tensor_variable(shape[axis])
            if n.type.ndim or n.type.dtype not in discrete_dtypes:
                raise TypeError(f"the lengths in shape must be scalar integers, got {n.type}")
            if isinstance(n, TensorConstant):
                # Not left to be cast when the function runs: rewrites of constants come before this Op.
                n = constant(int(n.data), dtype="int64")
            lengths.append(n if n.type.dtype == "int64" else cast(n, "int64"))
        return lengths


def _known(lengths: list[Any], convdim: int) -> Any:
    return [int(n.data) if isinstance(n, TensorConstant) else None for n in lengths] or [None] * convdim


class CorrelationGradWeights(GradientOfWeights, Correlation):
    """The gradient with respect to the filters.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.corr.CorrelationGradInputs : The gradient with respect to the images.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> images, filters = T.dtensor4s("images", "filters")
    >>> node = theano.grad(CorrMM()(images, filters).sum(), filters).owner
    >>> isinstance(node.op, CorrelationGradWeights), node.inputs[0] is images
    (True, True)
    """

    def make_node(self, img: Any, topgrad: Any, shape: Any = None) -> Apply:
        img, topgrad = self.as_operands(img, topgrad)
        open_ = any(s != 1 for s in self.subsample) or self.border_mode == "half"
        lengths = self.length_inputs(shape, open_, 'a step of subsample is not 1 or border_mode == "half"')
        out = self.output_of(img, topgrad, _known(lengths, self.convdim))
        return Apply(self, [img, topgrad, *lengths], [out])


class CorrelationGradInputs(GradientOfInputs, Correlation):
    """The gradient with respect to the images.

    See Also
    --------
    theano.tensor.nnet.corr.CorrelationGradWeights : The gradient with respect to the filters.
    theano.tensor.nnet.corr.Correlation : Base of the Ops that compute cross-correlations and their gradients.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> images, filters = T.dtensor4s("images", "filters")
    >>> node = theano.grad(CorrMM()(images, filters).sum(), images).owner
    >>> isinstance(node.op, CorrelationGradInputs), node.inputs[0] is filters
    (True, True)
    """

    def make_node(self, kern: Any, topgrad: Any, shape: Any = None) -> Apply:
        kern, topgrad = self.as_operands(kern, topgrad)
        lengths = self.length_inputs(shape, any(s != 1 for s in self.subsample), "a step of subsample is not 1")
        out = self.output_of(kern, topgrad, _known(lengths, self.convdim))
        return Apply(self, [kern, topgrad, *lengths], [out])


class BaseCorrMM(Correlation):
    """Base of the cross-correlation of two axes and its gradients.

    Parameters
    ----------
    border_mode : {'valid', 'full', 'half'}, int, or tuple of two ints or pairs of ints
        The padding, see :func:`theano.tensor.nnet.conv2d`.
    subsample, filter_dilation : tuple of two ints
        Strides over the image and within the filter.
    num_groups : int
        Groups into which the channels are divided.
    unshared : bool
        Whether each place has filters of its own.
    openmp : bool, optional
        Accepted as the original does; the flag ``threads`` counts.
    filter_flip : bool
        Whether the filters are flipped, which makes it a convolution.

    See Also
    --------
    theano.tensor.nnet.corr.CorrMM : Cross-correlation of images and filters of two axes, as matrix products.
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> op = BaseCorrMM(border_mode="half", subsample=(2, 2))
    >>> op.pad, op.subsample, op.filter_flip
    ('half', (2, 2), False)
    """

    def __init__(self, border_mode: Any = "valid", subsample: Any = (1, 1), filter_dilation: Any = (1, 1), num_groups: int = 1,
                 unshared: bool = False, openmp: bool | None = None, filter_flip: bool = False):  # fmt: skip
        super().__init__(2, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared)


class CorrMM(Forward, BaseCorrMM):
    """Cross-correlation of images and filters of two axes, as matrix products.

    The parameters are those of :class:`BaseCorrMM`. The filters are not flipped: :func:`theano.tensor.nnet.conv2d` is what
    to write, rewrites put this Op in its place.

    See Also
    --------
    theano.tensor.nnet.conv2d : Convolve a batch of images, each a stack of channels, with a set of filters.
    theano.tensor.nnet.corr.BaseCorrMM : Base of the cross-correlation of two axes and its gradients.
    theano.tensor.nnet.corr.CorrMM_gradInputs : The gradient of `CorrMM` with respect to the images, with its parameters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, filters = T.arange(4.0).reshape((1, 1, 1, 4)), T.constant([[[[1.0, 10.0]]]])
    >>> CorrMM()(images, filters).eval().ravel().tolist()
    [10.0, 21.0, 32.0]
    """


class CorrMM_gradWeights(CorrelationGradWeights, BaseCorrMM):
    """The gradient of :class:`CorrMM` with respect to the filters, with its parameters.

    It takes images, the gradient of the output, and the lengths of the filters where these two leave them open.

    See Also
    --------
    theano.tensor.nnet.corr.CorrMM : Cross-correlation of images and filters of two axes, as matrix products.
    theano.tensor.nnet.corr.CorrMM_gradInputs : The gradient of `CorrMM` with respect to the images, with its parameters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, top = T.arange(4.0).reshape((1, 1, 1, 4)), T.ones((1, 1, 1, 3))
    >>> CorrMM_gradWeights()(images, top).eval().ravel().tolist()
    [3.0, 6.0]
    """


class CorrMM_gradInputs(CorrelationGradInputs, BaseCorrMM):
    """The gradient of :class:`CorrMM` with respect to the images, with its parameters.

    It takes filters, the gradient of the output, and the lengths of the images where these two leave them open.

    See Also
    --------
    theano.tensor.nnet.corr.CorrMM_gradWeights : The gradient of `CorrMM` with respect to the filters, with its
        parameters.
    theano.tensor.nnet.corr.CorrMM : Cross-correlation of images and filters of two axes, as matrix products.

    Examples
    --------
    >>> import theano.tensor as T
    >>> filters, top = T.constant([[[[1.0, 10.0]]]]), T.ones((1, 1, 1, 3))
    >>> CorrMM_gradInputs()(filters, top).eval().ravel().tolist()
    [1.0, 11.0, 11.0, 10.0]
    """


BaseCorrMM.family = {"top": CorrMM, "filters": CorrMM_gradWeights, "image": CorrMM_gradInputs}

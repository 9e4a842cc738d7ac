"""Cross-correlation of three axes, the implementation that takes the place of the abstract convolution."""

from __future__ import annotations

from typing import Any

from theano import aliases
from theano.tensor.nnet.conv_base import Forward
from theano.tensor.nnet.corr import Correlation, CorrelationGradInputs, CorrelationGradWeights

__getattr__, __dir__ = aliases.lazy(__name__)


class BaseCorr3dMM(Correlation):
    """Base of the cross-correlation of three axes and its gradients.

    Parameters
    ----------
    border_mode : {'valid', 'full', 'half'}, int, or tuple of three ints or pairs of ints
        The padding, see :func:`theano.tensor.nnet.conv3d`.
    subsample, filter_dilation : tuple of three ints
        Strides over the image and within the filter.
    openmp : bool, optional
        Accepted as the original does; the flag ``threads`` counts.
    num_groups : int
        Groups into which the channels are divided.
    unshared : bool
        Whether each place has filters of its own.
    filter_flip : bool
        Whether the filters are flipped, which makes it a convolution.

    See Also
    --------
    theano.tensor.nnet.corr3d.Corr3dMM : Cross-correlation of images and filters of three axes, as matrix products.
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.

    Examples
    --------
    >>> op = BaseCorr3dMM(border_mode=(1, 0, 0), subsample=(2, 1, 1))
    >>> op.pad, op.subsample
    (((1, 1), (0, 0), (0, 0)), (2, 1, 1))
    """

    def __init__(self, border_mode: Any = "valid", subsample: Any = (1, 1, 1), filter_dilation: Any = (1, 1, 1),
                 openmp: bool | None = None, num_groups: int = 1, unshared: bool = False, filter_flip: bool = False):  # fmt: skip
        super().__init__(3, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared)


class Corr3dMM(Forward, BaseCorr3dMM):
    """Cross-correlation of images and filters of three axes, as matrix products.

    The parameters are those of :class:`BaseCorr3dMM`. The filters are not flipped: :func:`theano.tensor.nnet.conv3d` is what
    to write, rewrites put this Op in its place.

    See Also
    --------
    theano.tensor.nnet.conv3d : Convolve a batch of volumes, each a stack of channels, with a set of filters.
    theano.tensor.nnet.corr3d.BaseCorr3dMM : Base of the cross-correlation of three axes and its gradients.
    theano.tensor.nnet.corr3d.Corr3dMM_gradInputs : The gradient of `Corr3dMM` with respect to the images, with its
        parameters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> blocks, filters = T.arange(4.0).reshape((1, 1, 1, 1, 4)), T.constant([[[[[1.0, 10.0]]]]])
    >>> Corr3dMM()(blocks, filters).eval().ravel().tolist()
    [10.0, 21.0, 32.0]
    """


class Corr3dMM_gradWeights(CorrelationGradWeights, BaseCorr3dMM):
    """The gradient of :class:`Corr3dMM` with respect to the filters, with its parameters.

    It takes images, the gradient of the output, and the lengths of the filters where these two leave them open.

    See Also
    --------
    theano.tensor.nnet.corr3d.Corr3dMM : Cross-correlation of images and filters of three axes, as matrix products.
    theano.tensor.nnet.corr3d.Corr3dMM_gradInputs : The gradient of `Corr3dMM` with respect to the images, with its
        parameters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> blocks, top = T.arange(4.0).reshape((1, 1, 1, 1, 4)), T.ones((1, 1, 1, 1, 3))
    >>> Corr3dMM_gradWeights()(blocks, top).eval().ravel().tolist()
    [3.0, 6.0]
    """


class Corr3dMM_gradInputs(CorrelationGradInputs, BaseCorr3dMM):
    """The gradient of :class:`Corr3dMM` with respect to the images, with its parameters.

    It takes filters, the gradient of the output, and the lengths of the images where these two leave them open.

    See Also
    --------
    theano.tensor.nnet.corr3d.Corr3dMM_gradWeights : The gradient of `Corr3dMM` with respect to the filters, with its
        parameters.
    theano.tensor.nnet.corr3d.Corr3dMM : Cross-correlation of images and filters of three axes, as matrix products.

    Examples
    --------
    >>> import theano.tensor as T
    >>> filters, top = T.constant([[[[[1.0, 10.0]]]]]), T.ones((1, 1, 1, 1, 3))
    >>> Corr3dMM_gradInputs()(filters, top).eval().ravel().tolist()
    [1.0, 11.0, 11.0, 10.0]
    """


BaseCorr3dMM.family = {"top": Corr3dMM, "filters": Corr3dMM_gradWeights, "image": Corr3dMM_gradInputs}

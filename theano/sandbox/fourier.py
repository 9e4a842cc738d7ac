"""Fourier transforms of the rows or columns of matrices, without gradients, and the cosine transform's matrix.

:mod:`theano.tensor.fft` has transforms with gradients.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from theano import tensor
from theano.gof import Apply, Op, generic
from theano.gradient_types import grad_undefined

message = "The module theano.sandbox.fourier is deprecated: theano.tensor.fft has transforms with gradients."
warnings.warn(message, DeprecationWarning, stacklevel=2)


class GradTodo(Op):
    """Stands for a gradient that nobody wrote: it is an error to compute it.

    See Also
    --------
    theano.sandbox.fourier.grad_todo : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> gradient = GradTodo()(T.dscalar("x"))
    >>> gradient.eval({gradient.owner.inputs[0]: 1.0})
    Traceback (most recent call last):
        ...
    NotImplementedError: this gradient is not implemented
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        raise NotImplementedError("this gradient is not implemented")


grad_todo = GradTodo()


class FFT(Op):
    """The Fourier transform of a matrix along an axis; ``fft(frames, n, axis)`` with the transform's length `n`.

    Parameters
    ----------
    half : bool
        Whether only the first half of the frequencies is wanted, of a real matrix.
    inverse : bool
        Whether the inverse transform is.

    See Also
    --------
    theano.sandbox.fourier.fft : An instance of it.
    theano.sandbox.fourier.half_fft : An instance of it.
    theano.sandbox.fourier.half_ifft : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> frames = T.constant([[1.0, 0.0, 0.0, 0.0]])
    >>> FFT()(frames, 4, 1).eval().real.tolist(), FFT(half=True)(frames, 4, 1).eval().real.tolist()
    ([[1.0, 1.0, 1.0, 1.0]], [[1.0, 1.0]])
    """

    __props__ = ("half", "inverse")
    # The second output would be the plan of the transform; it is never set.
    default_output = 0

    def __init__(self, half: bool = False, inverse: bool = False):
        self.half = half
        self.inverse = inverse

    def make_node(self, frames: Any, n: Any, axis: Any) -> Apply:
        frames = tensor.as_tensor_variable(frames, ndim=2)
        n, axis = (tensor.as_tensor_variable(v, ndim=0) for v in (n, axis))
        if self.half and frames.type.dtype.startswith("complex"):
            raise TypeError(f"half a transform is of real numbers only, not of {frames.type}")
        return Apply(self, [frames, n, axis], [tensor.zmatrix(), generic()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        frames, n, axis = inputs
        result = (np.fft.ifft if self.inverse else np.fft.fft)(frames, int(n), int(axis))
        if self.half:
            if result.shape[axis] % 2:
                raise ValueError("half of a transform of odd length is not defined")
            result = result.take(range(result.shape[axis] // 2), axis=int(axis))
        output_storage[0][0] = result.astype("complex128", copy=False)

    def grad(self, inputs: Any, output_gradients: Any) -> list:
        return [grad_todo(inputs[0]), grad_undefined(self, 1, inputs[1]), grad_undefined(self, 2, inputs[2])]


fft = FFT(half=False, inverse=False)
half_fft = FFT(half=True, inverse=False)
ifft = FFT(half=False, inverse=True)
half_ifft = FFT(half=True, inverse=True)


def dct_matrix(rows: int, cols: int, unitary: bool = True) -> np.ndarray:
    """Return the matrix of the discrete cosine transform (DCT-II).

    Parameters
    ----------
    rows : int
        Number of coefficients.
    cols : int
        Length of what is transformed.
    unitary : bool
        Whether the first row is scaled such that the rows of a square matrix are orthonormal.

    Returns
    -------
    numpy.ndarray
        Of dtype float64 and shape (rows, cols).

    Examples
    --------
    >>> dct_matrix(2, 2).round(4).tolist()
    [[0.7071, 0.7071], [0.7071, -0.7071]]
    >>> square = dct_matrix(4, 4)
    >>> np.allclose(square @ square.T, np.eye(4))
    True
    """
    result = np.cos(np.outer(np.arange(rows), (2 * np.arange(cols) + 1) * (np.pi / (2 * cols)))) * np.sqrt(2 / cols)
    if unitary:
        result[0] *= np.sqrt(0.5)
    return result

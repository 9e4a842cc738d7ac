"""The Fourier transform of complex or real tensors along an axis, with its gradient.

:mod:`theano.tensor.fft` has the transforms of real tensors along their last axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import gof, tensor
from theano.gradient_types import grad_undefined


def _integer_scalar(v: Any, what: str) -> Any:
    v = tensor.as_tensor_variable(v)
    if v.dtype not in tensor.integer_dtypes or v.ndim:
        raise TypeError(f"Fourier: {what} must be an integer scalar, got {v.type}")
    return v


class Fourier(gof.Op):
    """The Fourier transform along one axis, as `numpy.fft.fft`: ``fft(a, n, axis)``.

    `a` is a tensor of at least one dimension. `n`, the length of the transform, may be None, which stands for that of the
    input: a longer input is cut off, a shorter one is filled up with zeros. `axis` may be None, which stands for the last
    one. The result is a complex128 tensor, in the order of `numpy.fft.fft`; `n` of its entries lie along the axis.

    Raises
    ------
    TypeError
        If `a` is a scalar, `n` no positive integer scalar, or `axis` no axis of `a`.
    """

    __props__ = ()

    def make_node(self, a: Any, n: Any, axis: Any) -> gof.Apply:
        a = tensor.as_tensor_variable(a)
        if a.ndim < 1:
            raise TypeError("Fourier: input must be an array, not a scalar")
        axis = _integer_scalar(a.ndim - 1 if axis is None else axis, "the axis")
        if isinstance(axis, tensor.TensorConstant) and not 0 <= axis.data < a.ndim:
            raise TypeError(f"Fourier: the axis must be one of 0 to {a.ndim - 1}, got {axis.data}")
        n = _integer_scalar(a.shape[axis] if n is None else n, "the length of the transform")
        if isinstance(n, tensor.TensorConstant) and n.data < 1:
            raise TypeError(f"Fourier: the length of the transform must be positive, got {n.data}")
        # Along the axis, the length is that of the transform.
        fixed = int(axis.data) if isinstance(axis, tensor.TensorConstant) else None
        pattern = [b and fixed is not None and i != fixed for i, b in enumerate(a.type.broadcastable)]
        return gof.Apply(self, [a, n, axis], [tensor.TensorType("complex128", pattern)()])

    def infer_shape(self, node: gof.Apply, in_shapes: Any) -> list:
        n, axis = node.inputs[1:]
        if isinstance(axis, tensor.TensorConstant):
            return [[n if i == axis.data else length for i, length in enumerate(in_shapes[0])]]
        return [[tensor.switch(tensor.eq(axis, i), n, length) for i, length in enumerate(in_shapes[0])]]

    def perform(self, node: gof.Apply, inputs: Any, output_storage: Any) -> None:
        a, n, axis = inputs
        output_storage[0][0] = np.fft.fft(a, n=int(n), axis=int(axis)).astype("complex128", copy=False)

    def grad(self, inputs: Any, output_gradients: Any) -> list:
        a, n, axis = inputs
        (g,) = output_gradients
        if not isinstance(axis, tensor.TensorConstant):
            raise NotImplementedError("Fourier: the gradient needs a constant axis")
        at = int(axis.data)
        # The transform is linear: entry k of the result is the sum of the entries of `a` times the conjugates of these.
        length = a.shape[at]
        powers = tensor.exp(2j * np.pi * tensor.outer(tensor.arange(n), tensor.arange(length)) / tensor.cast(n, "float64"))
        # What is cut off has no part in it.
        powers = tensor.switch(tensor.lt(tensor.arange(length), n), powers, 0)
        result = tensor.tensordot(g, powers, (at, 0))
        order = [*range(at), a.ndim - 1, *range(at, a.ndim - 1)]
        result = result.dimshuffle(*order)
        if not a.type.dtype.startswith("complex"):
            result = tensor.real(result)
        return [result, grad_undefined(self, 1, n), grad_undefined(self, 2, axis)]


fft = Fourier()

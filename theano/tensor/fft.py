"""Fast Fourier transforms of real arrays, with the complex side as pairs of floats in the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.math import cast, int_div, integer_dtypes, sqrt
from theano.tensor.reduction import prod
from theano.tensor.subtensor import set_subtensor
from theano.tensor.type import TensorType


def _lengths(s: Any) -> Any:
    s = as_tensor_variable(s)
    if s.dtype not in integer_dtypes or s.ndim != 1:
        raise TypeError(f"the length of the transformed axes must be an integer vector, got {s.type}")
    return s


def _inner(s: Any, ndim: int) -> tuple[Any, ...]:
    """Return the index of the frequencies that a real transform counts twice, by symmetry."""
    return (*[slice(None)] * (ndim - 2), slice(1, int_div(s[-1], 2) + s[-1] % 2), slice(None))


class RFFTOp(Op):
    """The transform over all dimensions but the first, without normalization.

    Inputs: the batch of arrays, and the vector of their lengths, by default those that they have.

    See Also
    --------
    theano.tensor.fft.IRFFTOp : The inverse transform to real arrays of the given lengths, without normalization.
    theano.tensor.fft.rfft : Return the Fourier transform of real arrays.
    theano.tensor.fft.rfft_op : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> waves = RFFTOp()(T.constant([[1.0, 0.0, 0.0, 0.0]]))
    >>> waves.eval().shape, waves.eval()[0].tolist()
    ((1, 3, 2), [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    """

    __props__ = ()

    def output_type(self, inp: Any) -> TensorType:
        return TensorType(inp.dtype, [False] * inp.type.ndim + [False])

    def make_node(self, a: Any, s: Any = None) -> Apply:
        a = as_tensor_variable(a)
        if a.ndim < 2:
            raise TypeError(
                f"{type(self).__name__}: input must have dimension > 2, with first dimension batches"
            )
        if not a.dtype.startswith("float"):
            raise TypeError(f"{type(self).__name__}: input must be real floats, got {a.dtype}")
        s = _lengths(a.shape[1:] if s is None else s)
        return Apply(self, [a, s], [self.output_type(a)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, s = inputs
        lengths = tuple(int(n) for n in s)
        found = np.fft.rfftn(a, s=lengths, axes=tuple(range(1, 1 + len(lengths))))
        output_storage[0][0] = np.stack([found.real, found.imag], axis=-1).astype(a.dtype, copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        s, ndim = node.inputs[1], node.inputs[0].ndim
        lengths = [s[i] for i in range(ndim - 1)]
        return [[in_shapes[0][0], *lengths[:-1], int_div(lengths[-1], 2) + 1, constant(2, dtype="int64")]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        s, (gz,) = inputs[1], grads
        # The inverse counts these frequencies twice.
        index = _inner(s, gz.ndim)
        gz = set_subtensor(gz[index], gz[index] * constant(0.5, dtype=gz.dtype))
        return [irfft_op(gz, s), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0], inputs[1])]


class IRFFTOp(Op):
    """The inverse transform to real arrays of the given lengths, without normalization.

    Inputs: the batch of transforms, and the vector of the lengths of the arrays.

    See Also
    --------
    theano.tensor.fft.rfft : Return the Fourier transform of real arrays.
    theano.tensor.fft.RFFTOp : The transform over all dimensions but the first, without normalization.
    theano.tensor.fft.irfft_op : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[1.0, 2.0, 3.0, 4.0]])
    >>> (IRFFTOp()(RFFTOp()(x), [4]) / 4).eval().round(6).tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """

    __props__ = ()

    def output_type(self, inp: Any) -> TensorType:
        return TensorType(inp.dtype, [False] * (inp.type.ndim - 1))

    def make_node(self, a: Any, s: Any = None) -> Apply:
        a = as_tensor_variable(a)
        if a.ndim < 3:
            raise TypeError(
                f"{type(self).__name__}: input must have dimension >= 3, with first dimension batches and last "
                "real/imag parts"
            )
        if s is None:
            s = a.shape[1:-1]
            s = set_subtensor(s[-1], (s[-1] - 1) * 2)
        return Apply(self, [a, _lengths(s)], [self.output_type(a)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, s = inputs
        lengths = tuple(int(n) for n in s)
        pairs = a[..., 0] + 1j * a[..., 1]
        found = np.fft.irfftn(pairs, s=lengths, axes=tuple(range(1, 1 + len(lengths))))
        # NumPy normalizes the inverse.
        output_storage[0][0] = (found * np.prod(lengths)).astype(a.dtype, copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        s, ndim = node.inputs[1], node.inputs[0].ndim
        return [[in_shapes[0][0], *[s[i] for i in range(ndim - 2)]]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        s, (gz,) = inputs[1], grads
        gf = rfft_op(gz, s)
        index = _inner(s, gf.ndim)
        gf = set_subtensor(gf[index], gf[index] * constant(2, dtype=gf.dtype))
        return [gf, DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0], inputs[1])]


rfft_op = RFFTOp()
irfft_op = IRFFTOp()


def _check_norm(norm: str | None) -> str | None:
    if norm not in (None, "ortho", "no_norm"):
        raise ValueError(f"Invalid value {norm} for norm, must be None, 'ortho' or 'no norm'")
    return norm


def rfft(inp: Any, norm: str | None = None):
    """Return the Fourier transform of real arrays.

    Parameters
    ----------
    inp : tensor of shape (m, ..., n)
        `m` arrays of shape (..., n).
    norm : {None, 'ortho', 'no_norm'}
        'ortho' divides by the square root of the number of elements; otherwise the transform is not normalized.

    Returns
    -------
    tensor of shape (m, ..., n//2+1, 2)
        Real and imaginary parts in the last dimension.

    See Also
    --------
    theano.tensor.bartlett : Return the Bartlett (triangular) window of `M` points as a float64 vector; none if `M` is not
        positive.
    theano.tensor.fft.irfft : Return the real arrays of which `inp` are the Fourier transforms.
    theano.tensor.fft.RFFTOp : The transform over all dimensions but the first, without normalization.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fft.rfft(T.ones((1, 4))).eval().shape
    (1, 3, 2)
    """
    inp = as_tensor_variable(inp)
    s = inp.shape[1:]
    if _check_norm(norm) == "ortho":
        return rfft_op(inp, s) / sqrt(cast(prod(s), inp.dtype))
    return rfft_op(inp, s)


def irfft(inp: Any, norm: str | None = None, is_odd: bool = False):
    """Return the real arrays of which `inp` are the Fourier transforms.

    Parameters
    ----------
    inp : tensor of shape (m, ..., n//2+1, 2)
        Real and imaginary parts in the last dimension.
    norm : {None, 'ortho', 'no_norm'}
        None divides by the number of elements, 'ortho' by its square root, 'no_norm' by nothing.
    is_odd : bool
        Whether the last dimension of the result is odd.

    Returns
    -------
    tensor of shape (m, ..., n)

    Raises
    ------
    ValueError
        If `is_odd` is not True or False, or there is no such normalization.

    See Also
    --------
    theano.tensor.fft.rfft : Return the Fourier transform of real arrays.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fft.irfft(T.fft.rfft(T.ones((1, 4)))).eval()
    array([[1., 1., 1., 1.]])
    """
    if is_odd not in (True, False):
        raise ValueError(f"Invalid value {is_odd} for id_odd, must be True or False")
    inp = as_tensor_variable(inp)
    _check_norm(norm)
    s = inp.shape[1:-1]
    s = set_subtensor(s[-1], (s[-1] - 1) * 2 + int(is_odd))
    result = irfft_op(inp, s)
    if norm == "no_norm":
        return result
    count = cast(prod(s), inp.dtype)
    return result / (sqrt(count) if norm == "ortho" else count)

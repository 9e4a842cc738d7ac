"""The windows of pooling: their parameters, how many there are, which elements they cover.

Window `r` of an axis starts at element ``r * stride - pad`` and is `ws` long. With `ignore_border` only windows that lie within
the padded axis count; without it there is no padding, windows are cut off at the end, and each starts within the axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import integer_dtypes, maximum, minimum
from theano.tensor.type import TensorType

Slices = tuple[Any, ...]


def window_inputs(ndim: int, ignore_border: bool, mode: str, ws: Any, stride: Any, pad: Any) -> list[Any]:
    """Return the three parameters of windows as vectors.

    Parameters
    ----------
    ndim : int
        The number of axes that are pooled.
    ignore_border : bool
    mode : str
        What is taken of a window.
    ws, stride, pad : tensor_like
        Integer vectors of length `ndim`. A `stride` of None is `ws`, a `pad` of None is 0.

    Returns
    -------
    list of three integer vectors

    Raises
    ------
    TypeError
        If one is no vector of integers.
    ValueError
        If one has another length, or values that no window has.
    NotImplementedError
        For padding without `ignore_border`, or as long as a window that needs an element.
    """
    given = [ws, ws if stride is None else stride, np.zeros(ndim, "int64") if pad is None else pad]
    vectors = []
    for value, what in zip(given, ("The window (ws)", "The stride", "The padding (pad)"), strict=True):
        vector = as_tensor_variable(value)
        if not isinstance(vector.type, TensorType) or vector.type.dtype not in integer_dtypes:
            raise TypeError(f"{what} of a pooling must be a vector of {ndim} ints, got {vector.type}.")
        if vector.type.ndim != 1:
            raise TypeError(f"{what} of a pooling must have {ndim} ints, one for each axis that is pooled, got {value}.")
        vectors.append(vector)
    known = [[int(i) for i in v.data] if isinstance(v, Constant) else None for v in vectors]
    for values, what in zip(known, ("window", "stride", "padding"), strict=True):
        if values is not None and len(values) != ndim:
            raise ValueError(f"the {what} must have a length for each of the {ndim} axes that are pooled, got {values}")
    _check_values(known, ignore_border, mode, NotImplementedError)
    return vectors


def window_values(ndim: int, ignore_border: bool, mode: str, *vectors: np.ndarray) -> list[list[int]]:
    """Return window, stride and padding as lists of numbers, checked.

    Raises
    ------
    ValueError
        If their lengths are not `ndim`, or no window has such values.
    """
    values = [[int(i) for i in v] for v in vectors]
    for given, what in zip(values, ("window", "stride", "padding"), strict=True):
        if len(given) != ndim:
            raise ValueError(f"the {what} must have a length for each of the {ndim} axes that are pooled, got {given}")
    _check_values(values, ignore_border, mode, ValueError)
    return values


def _check_values(values: Sequence[Sequence[int] | None], ignore_border: bool, mode: str, unsupported: type[Exception]) -> None:
    ws, stride, pad = values
    for lengths, what in ((ws, "window"), (stride, "stride")):
        if lengths is not None and min(lengths, default=1) < 1:
            raise ValueError(f"the {what} of a pooling must be positive, got {tuple(lengths)}")
    if pad is None:
        return
    if min(pad, default=0) < 0:
        raise ValueError(f"the padding of a pooling must not be negative, got {tuple(pad)}")
    if any(pad) and not ignore_border:
        raise unsupported("padding works only with ignore_border=True")
    # A window of nothing but padding has a sum, but no maximum.
    needs_elements = mode in ("max", "average_exc_pad")
    if needs_elements and ws is not None and any(p >= w for p, w in zip(pad, ws, strict=True)):
        raise unsupported(f"the padding {tuple(pad)} must be smaller than the window {tuple(ws)}")


def entries(vector: Any, ndim: int) -> list[Any]:
    """Return the entries of a parameter: numbers where they are known, else scalars."""
    if isinstance(vector, Constant):
        vector = vector.data
    return [int(v) if isinstance(v, (int, np.integer)) else v for v in (vector[i] for i in range(ndim))]


def windows_along(length: Any, ws: Any, stride: Any, pad: Any, ignore_border: bool) -> Any:
    """Return how many windows an axis has: a number if all that it depends on are numbers, else a scalar."""
    numbers = all(isinstance(v, int) for v in (length, ws, stride, pad))
    larger, smaller = (max, min) if numbers else (maximum, minimum)
    if ignore_border:
        return larger((length + (2 * pad - ws)) // stride + 1, 0)
    if isinstance(ws, int) and isinstance(stride, int) and stride >= ws:
        return (length + (stride - 1)) // stride
    # The last window is the first that reaches the end, but for one that would start behind it.
    return smaller(larger((length + (stride - ws - 1)) // stride, 0) + 1, (length + (stride - 1)) // stride)


def out_shape_of(imgshape: Any, ws: Any, ignore_border: bool, stride: Any, pad: Any, ndim: int) -> list[Any]:
    """Return the shape of what is pooled over the last `ndim` axes; each parameter may be symbolic or known.

    Raises
    ------
    TypeError
        If `imgshape` has fewer than `ndim` lengths.
    """
    imgshape = [int(n) if isinstance(n, np.integer) else n for n in imgshape]
    if len(imgshape) < ndim:
        raise TypeError(f"imgshape must have at least {ndim} dimensions")
    axes = zip(imgshape[len(imgshape) - ndim :], *(entries(v, ndim) for v in (ws, stride, pad)), strict=True)
    return imgshape[: len(imgshape) - ndim] + [windows_along(n, w, s, p, ignore_border) for n, w, s, p in axes]


def window_steps(
    lengths: Sequence[int], counts: Sequence[int], ws: Any, stride: Any, pad: Any
) -> Iterator[tuple[Slices, Slices]]:
    """Yield for each position within a window the windows that have an element there, and these elements.

    Parameters
    ----------
    lengths, counts : sequence of int
        The pooled axes, and how many windows each has.
    ws, stride, pad : sequence of int

    Yields
    ------
    windows, elements : tuple
        Indices of the same shape into what is pooled and into the images.
    """
    for position in itertools.product(*map(range, ws)):
        windows, elements = [], []
        for n, count, s, start in zip(lengths, counts, stride, (k - p for k, p in zip(position, pad, strict=True)), strict=True):
            first = max(0, -(start // s))
            last = min(count, max(first, -((start - n) // s)))
            windows.append(slice(first, last))
            elements.append(slice(first * s + start, max((last - 1) * s + start + 1, 0), s) if last > first else slice(0, 0))
        yield (..., *windows), (..., *elements)


def window_sizes(lengths: Sequence[int], counts: Sequence[int], ws: Any, stride: Any, pad: Any, padded: bool) -> np.ndarray:
    """Return how many elements each window has, of the images or (`padded`) of them and their padding, at least 1."""
    sizes = np.ones((), dtype="int64")
    for n, count, w, s, p in zip(lengths, counts, ws, stride, pad, strict=True):
        start = np.arange(count) * s - p
        low, high = (-p, n + p) if padded else (0, n)
        along = np.minimum(start + w, high) - np.maximum(start, low)
        sizes = np.multiply.outer(sizes, np.maximum(along, 1))
    return sizes

"""Cross-correlation of images and filters and its two gradients, by NumPy: what the Ops of convolution compute.

Images are (batch, channels, ...), filters (output channels, channels of a group, ...) or, where each place has its own,
(output channels, places ..., channels of a group, ...), outputs (batch, output channels, places ...). With one axis of
convolution, stride `s`, dilation `d`, padding `lo` and `hi`::

    out[n, f, o] = sum(padded[n, c, o * s + k * d] * filters[f, c, k] for c, k)

The work is done offset by offset within the filter, each a matrix product over the channels for all places at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

Pads = Sequence[tuple[int, int]]


class Geometry(NamedTuple):
    """What an Op of convolution computes, but for the shapes.

    Attributes
    ----------
    pads : sequence of pairs of int
        Zeros before and behind each axis.
    strides, dilations : sequence of int
        Steps over the image and within the filter.
    groups : int
        Groups of channels.
    unshared : bool
        Whether each place has filters of its own.
    """

    pads: Pads
    strides: Sequence[int]
    dilations: Sequence[int]
    groups: int = 1
    unshared: bool = False

    def offsets(self, kernel: Sequence[int], places: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Yield each offset within the filter, and the elements of the padded image that it meets."""
        for offset in np.ndindex(*kernel):
            starts = [k * d for k, d in zip(offset, self.dilations)]
            met = tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, places, self.strides))
            yield offset, _last(met)

    def padded(self, image: np.ndarray) -> np.ndarray:
        """Return the image with its zeros."""
        return np.pad(image, ((0, 0), (0, 0), *self.pads)) if np.any(self.pads) else image

    def cropped(self, padded: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
        """Return the image without its zeros."""
        return padded[_last(slice(lo, lo + n) for (lo, _), n in zip(self.pads, lengths))]


def _last(index: Iterable[Any]) -> Any:
    """The index of the last axes."""
    return (..., *index)


def _sum_dtype(*arrays: np.ndarray) -> Any:
    """Sums of half precision would lose what the results can hold."""
    dtype = np.result_type(*arrays)
    return np.dtype("float32") if dtype == np.float16 else dtype


def _by_group(x: np.ndarray, groups: int, axis: int) -> np.ndarray:
    """Split the channels into groups and channels, and join the places."""
    shape = x.shape
    return x.reshape(*shape[:axis], groups, shape[axis] // groups if groups else 0, *shape[axis + 1 :])


def _filters(filters: np.ndarray, geometry: Geometry, ndim: int) -> np.ndarray:
    """Filters as (groups, output channels, channels, ...), unshared as (groups, output channels, places, channels, ...)."""
    split = _by_group(filters, geometry.groups, 0)
    if geometry.unshared:
        split = split.reshape(*split.shape[:2], int(np.prod(split.shape[2 : 2 + ndim])), *split.shape[2 + ndim :])
    return split


def forward(image: np.ndarray, filters: np.ndarray, places: Sequence[int], geometry: Geometry) -> np.ndarray:
    """Return the cross-correlation.

    Parameters
    ----------
    image, filters : ndarray
        Of shapes as the module describes.
    places : sequence of int
        Lengths of the output.
    geometry : Geometry
        Padding, strides, dilations, groups.

    Returns
    -------
    ndarray
        Of shape (batch, output channels, `places`), of the common dtype.
    """
    ndim, dtype = len(places), _sum_dtype(image, filters)
    batch, count = image.shape[0], int(np.prod(places))
    padded = _by_group(geometry.padded(image).astype(dtype, copy=False), geometry.groups, 1)
    kernel = _filters(filters.astype(dtype, copy=False), geometry, ndim)
    out = np.zeros((batch, *kernel.shape[:2], count), dtype)
    for offset, met in geometry.offsets(filters.shape[-ndim:], places):
        patch = padded[met].reshape(*padded.shape[:3], count)
        at_offset = kernel[_last(offset)]
        if geometry.unshared:
            out += np.einsum("gfoc,ngco->ngfo", at_offset, patch)
        else:
            out += at_offset @ patch
    return out.reshape(batch, filters.shape[0], *places).astype(np.result_type(image, filters), copy=False)


def gradient_of_weights(image: np.ndarray, top: np.ndarray, lengths: Sequence[int], geometry: Geometry) -> np.ndarray:
    """Return the gradient of ``sum(forward(image, filters) * top)`` with respect to the filters.

    Parameters
    ----------
    image, top : ndarray
        Images and the gradient of the output.
    lengths : sequence of int
        Lengths of the filters.
    geometry : Geometry
        Padding, strides, dilations, groups.

    Returns
    -------
    ndarray
        Of the filters' shape.
    """
    ndim, dtype, groups = len(lengths), _sum_dtype(image, top), geometry.groups
    batch, places = image.shape[0], top.shape[2:]
    count = int(np.prod(places))
    padded = _by_group(geometry.padded(image).astype(dtype, copy=False), groups, 1)
    by_group = _by_group(top.astype(dtype, copy=False), groups, 1).reshape(batch, groups, top.shape[1] // groups, count)
    own = (count,) if geometry.unshared else ()
    out = np.zeros((groups, top.shape[1] // groups, *own, padded.shape[2], *lengths), dtype)
    for offset, met in geometry.offsets(lengths, places):
        patch = padded[met].reshape(*padded.shape[:3], count)
        if geometry.unshared:
            out[_last(offset)] = np.einsum("ngfo,ngco->gfoc", by_group, patch)
        else:
            out[_last(offset)] = (by_group @ patch.swapaxes(2, 3)).sum(axis=0, dtype=dtype)
    own = tuple(places) if geometry.unshared else ()
    return out.reshape(top.shape[1], *own, out.shape[-ndim - 1], *lengths).astype(np.result_type(image, top), copy=False)


def gradient_of_inputs(filters: np.ndarray, top: np.ndarray, lengths: Sequence[int], geometry: Geometry) -> np.ndarray:
    """Return the gradient of ``sum(forward(image, filters) * top)`` with respect to the images.

    Parameters
    ----------
    filters, top : ndarray
        Filters and the gradient of the output.
    lengths : sequence of int
        Lengths of the images.
    geometry : Geometry
        Padding, strides, dilations, groups.

    Returns
    -------
    ndarray
        Of the images' shape.
    """
    ndim, dtype, groups = len(lengths), _sum_dtype(filters, top), geometry.groups
    batch, places = top.shape[0], top.shape[2:]
    count, channels = int(np.prod(places)), filters.shape[-ndim - 1]
    by_group = _by_group(top.astype(dtype, copy=False), groups, 1).reshape(batch, groups, top.shape[1] // groups, count)
    kernel = _filters(filters.astype(dtype, copy=False), geometry, ndim)
    padded = np.zeros((batch, groups, channels, *(n + lo + hi for n, (lo, hi) in zip(lengths, geometry.pads))), dtype)
    for offset, met in geometry.offsets(filters.shape[-ndim:], places):
        at_offset = kernel[_last(offset)]
        if geometry.unshared:
            part = np.einsum("gfoc,ngfo->ngco", at_offset, by_group)
        else:
            part = at_offset.swapaxes(1, 2) @ by_group
        padded[met] += part.reshape(batch, groups, channels, *places)
    image = geometry.cropped(padded.reshape(batch, groups * channels, *padded.shape[3:]), lengths)
    return np.ascontiguousarray(image, dtype=np.result_type(filters, top))

"""Pooling and its gradients by definition: one window at a time."""

import numpy as np


def windows_along(length, w, s, p, ignore_border):
    """Return the start and the end of each window of an axis, where 0 is the first element of the image."""
    starts = []
    start = -p
    while start + w <= length + p if ignore_border else start < length:
        starts.append(start)
        if not ignore_border and start + w >= length:
            break
        start += s
    return [(a, min(a + w, length + p)) for a in starts]


class Windows:
    """The windows of images: `shape` is that of what is pooled."""

    def __init__(self, shape, ws, stride=None, pad=None, ignore_border=False):
        self.lead = len(shape) - len(ws)
        stride, pad = stride or ws, pad or (0,) * len(ws)
        axes = zip(shape[self.lead :], ws, stride, pad, strict=True)
        self.axes = [windows_along(*axis, ignore_border) for axis in axes]
        self.shape = (*shape[: self.lead], *map(len, self.axes))

    def __iter__(self):
        """Yield where in the result, where in the images, and how many elements there are with the padding."""
        for where in np.ndindex(*self.shape[self.lead :]):
            ends = [axis[i] for axis, i in zip(self.axes, where, strict=True)]
            inside = tuple(slice(max(a, 0), max(b, 0)) for a, b in ends)
            yield (..., *where), (..., *inside), int(np.prod([b - a for a, b in ends]))

    def rows(self, x, inside):
        """Return the elements of a window as the last dimension."""
        return x[inside].reshape(*self.shape[: self.lead], -1)

    def divisor(self, mode, x, inside, size):
        return {"sum": 1, "average_inc_pad": size, "average_exc_pad": self.rows(x, inside).shape[-1]}[mode]


def pooled(x, mode, *args):
    """Return the maxima, sums or averages."""
    windows = Windows(x.shape, *args)
    z = np.zeros(windows.shape, x.dtype)
    for where, inside, size in windows:
        values = windows.rows(x, inside)
        z[where] = values.max(-1) if mode == "max" else values.sum(-1) / windows.divisor(mode, x, inside, size)
    return z


def gradient(x, gz, mode, *args):
    """Return what each element gets of the gradient with respect to what is pooled; of equal maxima each gets it."""
    windows, gx = Windows(x.shape, *args), np.zeros_like(x)
    for where, inside, size in windows:
        g = gz[where][(..., *[None] * len(args[0]))]
        if mode == "max":
            largest = x[inside].max(tuple(range(windows.lead, x.ndim)), keepdims=True)
            gx[inside] += np.where(x[inside] == largest, g, 0)
        else:
            gx[inside] += g / windows.divisor(mode, x, inside, size)
    return gx


def picked(x, v, *args):
    """Return the sums of what `v` has where the maxima are, and what it has where the first of each is."""
    windows = Windows(x.shape, *args)
    sums, firsts = np.zeros(windows.shape, v.dtype), np.zeros(windows.shape, v.dtype)
    for where, inside, _ in windows:
        values, others = windows.rows(x, inside), windows.rows(v, inside)
        sums[where] = np.where(values == values.max(-1, keepdims=True), others, 0).sum(-1)
        firsts[where] = np.take_along_axis(others, values.argmax(-1)[..., None], -1)[..., 0]
    return sums, firsts

"""Convolutions of random shapes, strides, dilations, paddings, groups and dtypes against their definition.

What is compared is the convolution, both gradients, and the three gradients of these. 60 configurations run by default, 20,000
with the environment variable ``THEANO_NIGHTLY=1``, which takes one core about five minutes. A failure names the seed;
`Configuration(seed)` makes it again.
"""

import itertools
import os
import random
import warnings

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.nnet import conv_ops

NIGHTLY = bool(os.environ.get("THEANO_NIGHTLY"))
AT_ONCE = 10


def padded(image, pads):
    return np.pad(image, [(0, 0), (0, 0), *pads])


def offsets(c):
    """Each offset within the filter, and what it meets of the padded image at all places of the output."""
    for offset in itertools.product(*map(range, c.kernel)):
        starts = [k * d for k, d in zip(offset, c.dilation)]
        yield offset, tuple(slice(a, a + s * (n - 1) + 1, s) for a, s, n in zip(starts, c.strides, c.places))


def of_groups(c):
    """Input channels and output channels of each group."""
    for g in range(c.groups):
        yield (
            slice(g * c.channels // c.groups, (g + 1) * c.channels // c.groups),
            slice(g * c.filters // c.groups, (g + 1) * c.filters // c.groups),
        )


def weights_at(c, offset):
    """Where the weights stand that meet an offset, and the letters of their axes: output channels, [places], input channels."""
    if c.flip:
        offset = tuple(n - 1 - k for n, k in zip(c.kernel, offset))
    return (..., *offset), f"f{c.space if c.unshared else ''}c"


def convolved(c, image, filters):
    image = padded(image, c.pads)
    out = np.zeros((c.batch, c.filters, *c.places))
    for offset, met in offsets(c):
        at, axes = weights_at(c, offset)
        for inputs, outputs in of_groups(c):
            part = image[(slice(None), inputs, *met)]
            out[:, outputs] += np.einsum(f"nc{c.space},{axes}->nf{c.space}", part, filters[at][outputs])
    return out


def gradient_of_filters(c, image, top):
    image = padded(image, c.pads)
    out = np.zeros(c.filters_shape)
    for offset, met in offsets(c):
        at, axes = weights_at(c, offset)
        for inputs, outputs in of_groups(c):
            part = np.einsum(f"nc{c.space},nf{c.space}->{axes}", image[(slice(None), inputs, *met)], top[:, outputs])
            out[at][outputs] += part
    return out


def gradient_of_images(c, filters, top):
    out = padded(np.zeros(c.image_shape), c.pads)
    for offset, met in offsets(c):
        at, axes = weights_at(c, offset)
        for inputs, outputs in of_groups(c):
            part = np.einsum(f"{axes},nf{c.space}->nc{c.space}", filters[at][outputs], top[:, outputs])
            out[(slice(None), inputs, *met)] += part
    return out[(slice(None), slice(None), *(slice(lo, lo + n) for (lo, _), n in zip(c.pads, c.image)))]


class Configuration:
    """A convolution that the seed tells."""

    def __init__(self, seed):
        self.seed = seed
        r = random.Random(seed)
        self.ndim = r.choice([2, 2, 3])
        self.space = "xyz"[: self.ndim]
        largest = 9 if self.ndim == 2 else 5
        self.dtype = r.choice(["float32", "float64"])
        self.groups = r.choice([1, 1, 1, 2, 3])
        self.batch = r.choice([0, 1, 1, 2, 3])
        depthwise = r.random() < 0.2
        self.channels = self.groups * (1 if depthwise else r.randint(1, 4))
        self.filters = self.groups * r.randint(1, 4)
        self.flip = r.random() < 0.5
        self.unshared = self.ndim == 2 and r.random() < 0.2
        self.kernel = [r.choice([1, 2, 3, 3, r.randint(1, 5)]) for _ in range(self.ndim)]
        self.strides = [r.choice([1, 1, 2, 3]) for _ in range(self.ndim)]
        self.dilation = [r.choice([1, 1, 1, 2, 3]) for _ in range(self.ndim)]
        spread = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        self.border_mode = r.choice(["valid", "half", "full", "int", "ints", "pairs"])
        if self.border_mode == "int":
            self.border_mode = r.randint(0, 3)
            self.pads = [(self.border_mode,) * 2] * self.ndim
        elif self.border_mode == "ints":
            self.border_mode = tuple(r.randint(0, 3) for _ in range(self.ndim))
            self.pads = [(n, n) for n in self.border_mode]
        elif self.border_mode == "pairs":
            self.border_mode = tuple((r.randint(0, 3), r.randint(0, 3)) for _ in range(self.ndim))
            self.pads = list(self.border_mode)
        else:
            self.pads = [{"valid": (0, 0), "half": (n // 2,) * 2, "full": (n - 1,) * 2}[self.border_mode] for n in spread]
        least = [max(1, n - lo - hi) for n, (lo, hi) in zip(spread, self.pads)]
        self.image = [r.randint(n, max(n, largest)) for n in least]
        lengths = zip(self.image, self.pads, spread, self.strides)
        self.places = [(n + lo + hi - k) // s + 1 for n, (lo, hi), k, s in lengths]
        self.image_shape = (self.batch, self.channels, *self.image)
        own = self.places if self.unshared else []
        self.filters_shape = (self.filters, *own, self.channels // self.groups, *self.kernel)
        self.top_shape = (self.batch, self.filters, *self.places)
        self.shapes_given = r.choice(["none", "all", "some"])
        self.random = r
        self.arrays = self.values()

    def __repr__(self):
        named = ("image_shape", "filters_shape", "border_mode", "strides", "dilation", "groups", "flip", "unshared", "dtype")
        return f"Configuration({self.seed}): " + ", ".join(f"{name}={getattr(self, name)}" for name in named)

    def given(self, shape):
        """The shape as a program gives it."""
        if self.shapes_given == "none":
            return None
        return [n if self.shapes_given == "all" or self.random.random() < 0.5 else None for n in shape]

    def values(self):
        """Images, filters and gradients, of any strides; all numbers are multiples of 1/8."""
        rng = np.random.RandomState(self.seed)
        arrays = []
        for shape in (self.image_shape, self.filters_shape, self.top_shape, self.image_shape, self.filters_shape):
            a = (rng.randint(-16, 17, shape) / 8).astype(self.dtype)
            kind = self.random.choice(["plain", "plain", "Fortran", "backwards", "gaps"])
            if kind == "Fortran":
                a = np.asfortranarray(a)
            elif kind == "backwards":
                a = np.ascontiguousarray(a[..., ::-1])[..., ::-1]
            elif kind == "gaps":
                a = np.repeat(a, 2, axis=-1)[..., ::2]
            arrays.append(a)
        return arrays

    def variables(self):
        """Inputs, and what is computed of them."""
        x, w, t, u, v = (T.TensorType(self.dtype, (False,) * a.ndim)() for a in self.arrays)
        op = conv_ops.of_direction("top", self.ndim)(
            imshp=self.given(self.image_shape), kshp=self.given(self.filters_shape), border_mode=self.border_mode,
            subsample=self.strides, filter_flip=self.flip, filter_dilation=self.dilation, num_groups=self.groups,
            **({"unshared": True} if self.unshared else {}),
        )  # fmt: skip
        y = op(x, w)
        gx, gw = T.grad(None, [x, w], known_grads={y: t})
        second = T.grad(None, [x, w, t], known_grads={gx: u, gw: v})
        return [x, w, t, u, v], [y, gx, gw, *second]

    def expected(self, x, w, t, u, v):
        """The results, and by how much each may be wrong."""
        x, w, t, u, v = (np.asarray(a, "float64") for a in (x, w, t, u, v))

        def results(x, w, t, u, v):
            return [
                convolved(self, x, w),
                gradient_of_images(self, w, t),
                gradient_of_filters(self, x, t),
                gradient_of_images(self, v, t),
                gradient_of_filters(self, u, t),
                convolved(self, u, w) + convolved(self, x, v),
            ]

        sizes = results(*map(np.abs, (x, w, t, u, v)))
        return results(x, w, t, u, v), [32 * np.finfo(self.dtype).eps * np.max(s, initial=1) for s in sizes]


NAMES = ("convolution", "gradient of images", "gradient of filters", "second gradient by images", "second gradient by filters",
         "second gradient by output")  # fmt: skip


def problems_of(configurations, mode=None):
    """What is wrong with the results of some configurations in one function."""
    inputs, outputs = [], []
    for c in configurations:
        some, wanted = c.variables()
        inputs += some
        outputs += wanted
    function = theano.function(inputs, outputs, mode=mode)
    values = [c.arrays for c in configurations]
    got = function(*itertools.chain(*values))
    problems = []
    for i, (c, arrays) in enumerate(zip(configurations, values)):
        for name, result, wanted, tolerance in zip(NAMES, got[i * len(NAMES) :], *c.expected(*arrays)):
            if result.dtype != c.dtype or result.shape != wanted.shape:
                problems.append(f"{c}: {name} is {result.dtype} {result.shape} where {c.dtype} {wanted.shape} is right")
            elif result.size and np.max(np.abs(result - wanted)) > tolerance:
                problems.append(f"{c}: {name} is wrong by {np.max(np.abs(result - wanted))}")
    return problems


def pieces(count):
    return [range(start, min(start + AT_ONCE, count)) for start in range(0, count, AT_ONCE)]


@pytest.mark.parametrize("seeds", pieces(20_000 if NIGHTLY else 60), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_random_convolutions(seeds):
    assert not problems_of([Configuration(seed) for seed in seeds])


@pytest.mark.parametrize("seeds", pieces(2_000 if NIGHTLY else 10), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_random_convolutions_by_numpy(seeds):
    mode = theano.Mode(linker="py", optimizer=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not problems_of([Configuration(100_000 + seed) for seed in seeds], mode)

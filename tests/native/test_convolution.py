"""Convolutions and their gradients against their definition, by every algorithm.

Each direction sees 60 random ones by default, 7,000 with the environment variable ``THEANO_NIGHTLY=1``.
"""

import itertools
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from vm_tools import all_native, integer, make, runtime, tensor

import theano
from theano.compile.mode import Mode
from theano.native import instructions as vm
from theano.tensor import TensorType, tensor4
from theano.tensor.nnet import conv2d, conv3d

NIGHTLY = bool(os.environ.get("THEANO_NIGHTLY"))
SETTINGS = settings(max_examples=7000 if NIGHTLY else 60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ALGORITHMS = runtime.conv_algorithms()
DIRECTIONS = ("forward", "weights", "inputs")


@pytest.fixture(autouse=True)
def own_choice():
    before = runtime.get_threads()
    yield
    runtime.conv_prefer(None)
    runtime.set_threads(before)


class Conv:
    """One convolution: lengths, params, operands, and what they give by definition."""

    def __init__(self, image, kernel, *, batch=2, channels=3, filters=4, groups=1, padding=None, strides=None, dilation=None,
                 flip=False, unshared=False, border="EXPLICIT", seed=0):  # fmt: skip
        nd = len(image)
        self.nd, self.image, self.kernel, self.groups = nd, tuple(image), tuple(kernel), groups
        self.strides = tuple(strides or (1,) * nd)
        self.dilation = tuple(dilation or (1,) * nd)
        self.flip, self.unshared = flip, unshared
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilation, strict=True)]
        self.border = border
        self.padding = tuple(padding or (0,) * (2 * nd))
        both = {
            "EXPLICIT": [self.padding[2 * i : 2 * i + 2] for i in range(nd)],
            "HALF": [(r // 2, r // 2) for r in reach],
            "FULL": [(r - 1, r - 1) for r in reach],
        }  # fmt: skip
        self.pads = both[border]
        self.out = tuple(
            (n + lo + hi - r) // s + 1 for n, (lo, hi), r, s in zip(image, self.pads, reach, self.strides, strict=True)
        )
        rng = np.random.default_rng(seed)
        self.images = rng.standard_normal((batch, channels, *image))
        place = tuple(max(n, 0) for n in self.out) if unshared else ()
        self.filters = rng.standard_normal((filters, *place, channels // groups, *kernel))
        self.top = rng.standard_normal((batch, filters, *self.out)) if min(self.out) >= 0 else None

    def params(self):
        return (
            int(getattr(vm.ConvBorder, self.border)), self.padding, self.strides, self.dilation, self.groups, self.flip,
            self.unshared,
        )  # fmt: skip

    def expected(self, direction):
        """By the definition: one tap after the other over padded images."""
        groups, space = self.groups, "xyz"[: self.nd]
        padded = np.pad(self.images, [(0, 0), (0, 0), *self.pads])
        n, f = self.images.shape[0], self.filters.shape[0]
        cg = self.images.shape[1] // groups
        padded = padded.reshape(n, groups, cg, *padded.shape[2:])
        filters = self.filters.reshape(groups, f // groups, *self.filters.shape[1:])
        top = self.top.reshape(n, groups, f // groups, *self.out)
        made = {"forward": np.zeros_like(top), "weights": np.zeros_like(filters), "inputs": np.zeros_like(padded)}[direction]
        for tap in itertools.product(*map(range, self.kernel)):
            at = tuple(
                slice(t * d, t * d + s * (o - 1) + 1 if o else t * d, s)
                for t, d, s, o in zip(tap, self.dilation, self.strides, self.out, strict=True)
            )
            read = padded[(..., *at)]
            t = tuple(k - 1 - i for i, k in zip(tap, self.kernel, strict=True)) if self.flip else tap
            of_filter = f"gf{space}c" if self.unshared else "gfc"
            if direction == "forward":
                made += np.einsum(f"ngc{space},{of_filter}->ngf{space}", read, filters[(..., *t)])
            elif direction == "weights":
                made[(..., *t)] += np.einsum(f"ngc{space},ngf{space}->{of_filter}", read, top)
            else:
                made[(..., *at)] += np.einsum(f"{of_filter},ngf{space}->ngc{space}", filters[(..., *t)], top)
        if direction == "inputs":
            inner = tuple(slice(lo, lo + i) for (lo, _), i in zip(self.pads, self.image, strict=True))
            return made[(..., *inner)].reshape(self.images.shape)
        return made.reshape(self.top.shape if direction == "forward" else self.filters.shape)

    def operands(self, direction):
        if direction == "forward":
            return self.images, self.filters
        if direction == "weights":
            return self.images, self.top
        return self.filters, self.top

    def lengths(self, direction):
        found = {"forward": (), "weights": self.kernel, "inputs": self.image}[direction]
        return [integer(n) for n in found]

    def made_like(self, direction):
        return {"forward": self.top, "weights": self.filters, "inputs": self.images}[direction]

    def run(self, direction, dtype="float64", layout=lambda x: x):
        inputs = [layout(x.astype(dtype)) for x in self.operands(direction)] + self.lengths(direction)
        program = make(f"conv_{direction}", inputs, [tensor(dtype, self.made_like(direction).ndim)], self.params())
        first = program.call(inputs)[0]
        # The plan that was kept gives the same.
        assert np.array_equal(program.call(inputs)[0], first, equal_nan=True)
        return first

    def check(self, direction, dtype="float64", layout=lambda x: x):
        expected = self.expected(direction)
        rtol = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-11}[dtype]
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        results = []
        for count in (1, 2):
            runtime.set_threads(count)
            results.append(self.run(direction, dtype, layout))
            assert results[-1].dtype == dtype
            assert_allclose(results[-1], expected, rtol=rtol, atol=rtol * scale)
        assert results[0].tobytes() == results[1].tobytes()


LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "reversed outer": lambda x: np.ascontiguousarray(x[::-1, ::-1, ::-1])[::-1, ::-1, ::-1],
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "channels last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1),
    "cropped": lambda x: np.pad(x, [(1, 2)] * x.ndim, constant_values=np.nan)[(slice(1, -2),) * x.ndim],
}


@st.composite
def convolutions(draw, most=9):
    nd = draw(st.integers(1, 3))
    side = st.integers(1, most if nd < 3 else 4)
    groups = draw(st.integers(1, 3))
    unshared = draw(st.booleans()) and draw(st.booleans())
    several = [
        draw(st.tuples(*[s] * nd)) for s in (side, st.integers(1, 4 if nd < 3 else 2), st.integers(1, 3), st.integers(1, 2))
    ]
    image, kernel, strides, dilation = several
    border = draw(st.sampled_from(["EXPLICIT", "EXPLICIT", "HALF", "FULL"]))
    padding = draw(st.tuples(*[st.integers(0, 3)] * (2 * nd)))
    conv = Conv(image, kernel, batch=draw(st.integers(0, 4)), channels=groups * draw(st.integers(0, 6)),
                filters=groups * draw(st.integers(0, 9)), groups=groups, padding=padding, strides=strides, dilation=dilation,
                flip=draw(st.booleans()), unshared=unshared, border=border)  # fmt: skip
    assume(min(conv.out) > 0)
    return conv


@st.composite
def depthwise(draw):
    """Filters of one channel, of the sizes and strides that have kernels of their own."""
    length = st.one_of(st.integers(1, 12), st.integers(13, 70))
    size, stride, groups = draw(st.sampled_from([3, 5])), draw(st.integers(1, 2)), draw(st.integers(1, 5))
    conv = Conv((draw(length), draw(length)), (size, size), batch=draw(st.integers(1, 3)), channels=groups,
                filters=groups * draw(st.sampled_from([1, 1, 2])), groups=groups, strides=(stride, stride),
                padding=draw(st.tuples(*[st.integers(0, 5)] * 4)), flip=draw(st.booleans()))  # fmt: skip
    assume(min(conv.out) > 0)
    return conv


@pytest.mark.parametrize("direction", DIRECTIONS)
class TestDefinition:
    @SETTINGS
    @given(convolutions(), st.sampled_from(["float32", "float64"]), st.sampled_from(sorted(LAYOUTS)), st.sampled_from(ALGORITHMS))
    def test_any_convolution(self, direction, conv, dtype, layout, algorithm):
        runtime.conv_prefer(algorithm)
        conv.check(direction, dtype, LAYOUTS[layout])

    @SETTINGS
    @given(depthwise(), st.sampled_from(["float32", "float64"]), st.sampled_from(sorted(LAYOUTS)))
    def test_depthwise(self, direction, conv, dtype, layout):
        runtime.conv_prefer("depth")
        conv.check(direction, dtype, LAYOUTS[layout])

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("length", [3, 7, 14])
    def test_depthwise_planes_keep_to_themselves(self, direction, length, dtype):
        """Short rows are loaded together with what lies beside them, which may be no number."""
        runtime.conv_prefer("depth")
        conv = Conv((length, length), (3, 3), batch=2, channels=6, filters=6, groups=6, padding=(1, 1, 1, 1))
        conv.check(direction, dtype)
        expected, axis = conv.expected(direction), 0 if direction == "weights" else 1
        conv.images[:, 1::2] = conv.top[:, 1::2] = np.nan
        found = conv.run(direction, dtype)
        kept, lost = (np.moveaxis(found, axis, 0)[i::2] for i in range(2))
        assert_allclose(kept, np.moveaxis(expected, axis, 0)[::2], rtol=1e-4, atol=1e-4)
        assert np.isnan(lost).all()

    @pytest.mark.parametrize("layout", sorted(LAYOUTS))
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_layouts(self, direction, layout, algorithm):
        runtime.conv_prefer(algorithm)
        Conv((9, 30), (3, 3), batch=3, channels=4, filters=6, padding=(1, 1, 1, 1)).check(direction, "float32", LAYOUTS[layout])

    @pytest.mark.parametrize("padding", ["EXPLICIT", "HALF", "FULL"])
    def test_lengths_may_follow_from_the_others(self, direction, padding):
        conv = Conv((9, 8), (3, 4), padding=(1, 0, 2, 1), dilation=(1, 2), border=padding)
        if (direction, padding) == ("weights", "HALF"):
            return
        lengths = conv.lengths
        expected = conv.run(direction)
        conv.lengths = lambda direction: []
        assert np.array_equal(conv.run(direction), expected)
        if direction != "forward":
            conv.lengths = lambda direction: [np.array(lengths(direction), dtype="int32")]
            assert np.array_equal(conv.run(direction), expected)
            conv.lengths = lambda direction: [integer([3])]
            with pytest.raises(ValueError, match="1 lengths were given for 2 spatial dims"):
                conv.run(direction)

    def test_half_precision_is_computed_in_single(self, direction):
        Conv((8, 8), (3, 3)).check(direction, "float16")

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize(
        "conv",
        [
            Conv((14, 14), (3, 3), batch=3, channels=40, filters=50, padding=(1, 1, 1, 1)),
            Conv((7, 7), (1, 1), batch=5, channels=70, filters=37),
            Conv((28, 28), (5, 5), batch=3, channels=1, filters=20),
            Conv((30, 31), (7, 7), batch=2, channels=3, filters=24, padding=(3, 3, 3, 3), strides=(2, 2)),
            Conv((15, 15), (1, 1), batch=2, channels=33, filters=20, strides=(2, 2)),
            Conv((20, 68), (1, 1), batch=2, channels=20, filters=300, strides=(2, 2)),
            Conv((9, 66), (1, 1), batch=2, channels=9, filters=7, strides=(2, 2), padding=(1, 1, 1, 1)),
            Conv((11, 68), (3, 3), batch=2, channels=6, filters=40, strides=(2, 2), padding=(1, 1, 1, 1)),
            Conv((12, 69), (4, 2), batch=1, channels=13, filters=9, strides=(3, 2), padding=(1, 1, 0, 1), dilation=(1, 3)),
            Conv((47, 47), (11, 11), batch=1, channels=3, filters=17, padding=(2, 2, 2, 2), strides=(4, 4)),
            Conv((20, 20), (3, 3), batch=2, channels=20, filters=30, padding=(2, 2, 2, 2), dilation=(2, 2), flip=True),
            Conv((12, 12), (3, 3), batch=2, channels=32, filters=32, groups=4, padding=(1, 1, 1, 1)),
            Conv((10, 10), (3, 3), batch=2, channels=24, filters=24, groups=24, padding=(1, 1, 1, 1)),
            Conv((5, 8, 9), (3, 3, 3), batch=2, channels=5, filters=9, padding=(1, 1, 1, 1, 1, 1), strides=(1, 2, 2)),
            Conv((400,), (9,), batch=2, channels=3, filters=5),
            Conv((33, 35), (31, 30), batch=1, channels=2, filters=3, padding=(3, 1, 0, 4)),
        ],
        ids=lambda conv: "x".join(map(str, (*conv.filters.shape, *conv.image))),
    )
    def test_layers(self, direction, conv, dtype, algorithm):
        runtime.conv_prefer(algorithm)
        conv.check(direction, dtype)

    def test_a_reduction_over_nothing_is_zero(self, direction):
        zeros = {
            "forward": Conv((4, 4), (3, 3), channels=0), "weights": Conv((4, 4), (3, 3), batch=0),
            "inputs": Conv((4, 4), (3, 3), filters=0),
        }  # fmt: skip
        result = zeros[direction].run(direction)
        assert result.size and not result.any()

    def test_nan_of_the_image_is_not_spread_by_padding(self, direction):
        for groups, stride in ((1, 1), (4, 1), (4, 2)):
            conv = Conv((6, 13), (3, 3), channels=4, filters=4, groups=groups, padding=(1, 1, 1, 1), strides=(stride, stride))
            for corner in (0, -1):
                (conv.top if direction == "inputs" else conv.images)[corner, corner, corner, corner] = np.nan
            for algorithm in ALGORITHMS:
                if "winograd" not in algorithm:
                    runtime.conv_prefer(algorithm)
                    assert np.array_equal(np.isnan(conv.run(direction)), np.isnan(conv.expected(direction)))

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_nan_of_a_narrow_plane_does_not_meet_zeros_below_the_other_one(self, direction, dtype):
        runtime.conv_prefer("depth")
        for row in range(5):
            conv = Conv((5, 5), (3, 3), batch=3, channels=4, filters=4, groups=4)
            (conv.top if direction == "inputs" else conv.images)[1, 2, row % 3 if direction == "inputs" else row, 2] = np.nan
            assert np.array_equal(np.isnan(conv.run(direction, dtype)), np.isnan(conv.expected(direction)))

    @pytest.mark.parametrize("layout", ["C", "cropped", "reversed outer"])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_narrow_planes_are_not_mixed_with_what_lies_beside_them(self, direction, dtype, layout):
        runtime.conv_prefer("depth")
        for height, width, pad in ((9, 14, 1), (9, 14, 0), (7, 7, 1), (3, 14, 1), (6, 12, 5), (12, 5, 9)):
            conv = Conv((height, width), (3, 3), batch=2, channels=3, filters=3, groups=3, padding=(pad,) * 4)
            conv.check(direction, dtype, LAYOUTS[layout])


def test_gradients_of_more_planes_than_the_cache_holds_are_those_of_few():
    runtime.conv_prefer("depth")
    conv = Conv((100, 14), (3, 3), batch=1, channels=1600, filters=1600, groups=1600, padding=(1,) * 4)
    of_all = conv.run("weights", "float32")
    conv.images, conv.top, conv.filters, conv.groups = conv.images[:, :8], conv.top[:, :8], conv.filters[:8], 8
    assert np.array_equal(conv.run("weights", "float32"), of_all[:8])


class TestErrors:
    def test_channels_must_match(self):
        conv = Conv((5, 5), (3, 3))
        conv.images = conv.images[:, :2]
        with pytest.raises(ValueError, match=r"2 channels, filters take 3.*\(2, 2, 5, 5\).*\(4, 3, 3, 3\)"):
            conv.run("forward")

    def test_groups_must_divide(self):
        conv = Conv((5, 5), (3, 3), channels=4, filters=4, groups=2)
        conv.filters = conv.filters[:3]
        with pytest.raises(ValueError, match="2 groups do not divide 4 channels and 3 filters"):
            conv.run("forward")

    @pytest.mark.parametrize("rows", [0, 2, 3])
    def test_filters_that_do_not_fit(self, rows):
        conv = Conv((rows, 9), (4, 3))
        conv.top = conv.images
        with pytest.raises(ValueError, match=rf"do not fit into the images.*shape \(2, 4, {rows - 3}, 7\)"):
            conv.run("forward")

    @pytest.mark.parametrize("direction", ["weights", "inputs"])
    def test_gradient_of_another_shape(self, direction):
        conv = Conv((5, 5), (3, 3))
        conv.top = conv.top[:, :, :2]
        with pytest.raises(ValueError, match=r"has shape \(2, 4, 2, 3\), expected \(2, 4, 3, 3\)"):
            conv.run(direction)

    def test_unshared_filters_for_other_positions(self):
        conv = Conv((5, 5), (3, 3), unshared=True)
        conv.filters = conv.filters[:, :2]
        with pytest.raises(ValueError, match="unshared filters for other positions"):
            conv.run("forward")

    def test_params(self):
        conv = Conv((5, 5), (3, 3))
        conv.strides = (0, 1)
        with pytest.raises(ValueError, match="operands or params"):
            conv.run("forward")


@pytest.mark.parametrize("image", [(40, 36), (38, 9), (9, 70)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_and_many_rows_are_scattered(image, stride, dtype):
    """More than 32 rows, or elements of rows, are not added column by column."""
    runtime.conv_prefer("scatter")
    Conv(image, (3, 3), filters=2, strides=(stride, stride)).check("inputs", dtype)


def test_an_unknown_algorithm():
    with pytest.raises(ValueError, match="no algorithm 'fft'"):
        runtime.conv_prefer("fft")


class TestOps:
    """The Ops run natively, and give what their `perform` gives."""

    @pytest.mark.parametrize("params", [
        {"border_mode": "half"}, {"border_mode": "full", "filter_flip": False}, {"border_mode": (1, (0, 2)), "subsample": (2, 1)},
        {"filter_dilation": (2, 1)}, {"num_groups": 2}, {"unshared": True},
    ], ids=str)  # fmt: skip
    def test_conv2d_and_its_gradients(self, params):
        x, w = tensor4("x", dtype="float64"), TensorType("float64", (False,) * (6 if params.get("unshared") else 4))("w")
        y = conv2d(x, w, **params)
        outputs = [y, *theano.grad((y**2).sum(), [x, w])]
        rng = np.random.default_rng(0)
        place = (5, 6) if params.get("unshared") else ()
        values = rng.standard_normal((2, 4, 7, 8)), rng.standard_normal((6, *place, 4 // params.get("num_groups", 1), 3, 3))
        f = all_native([x, w], outputs)
        for got, expected in zip(f(*values), theano.function([x, w], outputs, mode=Mode("py"))(*values), strict=True):
            assert_allclose(got, expected, rtol=1e-10, atol=1e-10)

    def test_conv3d_and_its_gradients(self):
        x, w = (TensorType("float64", (False,) * 5)(name) for name in "xw")
        y = conv3d(x, w, border_mode=(1, 0, 1), subsample=(1, 2, 1))
        rng = np.random.default_rng(0)
        values = rng.standard_normal((2, 3, 4, 5, 6)), rng.standard_normal((4, 3, 2, 3, 2))
        outputs = [y, *theano.grad((y**2).sum(), [x, w])]
        f = all_native([x, w], outputs)
        for got, expected in zip(f(*values), theano.function([x, w], outputs, mode=Mode("py"))(*values), strict=True):
            assert_allclose(got, expected, rtol=1e-10, atol=1e-10)

    def test_an_error_names_the_shapes(self):
        x, w = tensor4("x", dtype="float64"), tensor4("w", dtype="float64")
        f = all_native([x, w], conv2d(x, w))
        with pytest.raises(ValueError, match=r"do not fit.*\(1, 1, 2, 2\).*\(1, 1, 3, 3\)"):
            f(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 3)))


def test_strides_larger_than_any_image():
    x, w = theano.tensor.ftensor4(), theano.tensor.ftensor4()
    f = theano.function([x, w], theano.tensor.nnet.conv2d(x, w, subsample=(2**30, 2**30)))
    images, filters = np.ones((1, 4, 5, 5), "f"), np.ones((2, 4, 3, 3), "f")
    np.testing.assert_array_equal(f(images, filters), np.full((1, 2, 1, 1), 36, "f"))

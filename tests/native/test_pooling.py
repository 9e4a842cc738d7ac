"""Pooling in native code against its definition: 60 configurations by default, 20,000 with ``THEANO_NIGHTLY=1``."""

import functools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vm_tools import run_instruction, runtime, tensor

import theano
from tests.tensor.signal import definition
from theano import tensor as T
from theano.native import instructions as vm
from theano.native.program import find_lowering
from theano.tensor.signal.pool import MODES, AveragePoolGrad, DownsampleFactorMaxGradGrad, MaxPoolGrad, MaxPoolRop, Pool

EXAMPLES = 20_000 if os.environ.get("THEANO_NIGHTLY") else 60
SUMMED = {"f": "float64", "i": "int64", "u": "uint64", "b": "uint64"}


@functools.cache
def compiled(mode, dtype, lead, ndim, ignore_border):
    """A function of images, gradients of what is pooled, other images, and windows."""
    x, gz, v = [T.TensorType(dtype, (False,) * (lead + ndim))() for _ in range(3)]
    windows = T.lvectors(3)
    z = Pool(ignore_border, mode, ndim)(x, *windows)
    if mode == "max":
        gx = MaxPoolGrad(ignore_border, ndim)(x, z, gz, *windows)
        others = [DownsampleFactorMaxGradGrad(ignore_border, ndim=ndim)(x, z, v, *windows)]
        others.append(MaxPoolRop(ignore_border, ndim=ndim)(x, v, *windows))
    else:
        gx, others = AveragePoolGrad(ignore_border, mode, ndim)(x, gz, *windows), []
    outputs = [z, gx, *others]
    function = theano.function([x, gz, v, *windows], outputs, on_unused_input="ignore")
    steps = [node.op for node in function.maker.fgraph.toposort()]
    assert not any(find_lowering(op) is None for op in steps)
    return function


@st.composite
def configurations(draw, largest=9):
    lead, ndim = draw(st.integers(0, 2)), draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 3)) for _ in range(lead)] + [draw(st.integers(1, largest)) for _ in range(ndim)]
    if ndim < 3:
        shape[-1] = draw(st.one_of(st.just(shape[-1]), st.integers(10, 50)))
    ignore_border = draw(st.booleans())
    ws = [draw(st.integers(1, 5)) for _ in range(ndim)]
    stride = draw(st.one_of(st.just(ws), st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim)))
    mode = draw(st.sampled_from(MODES))
    # Windows of nothing but padding have a sum.
    beyond = 2 if mode in ("sum", "average_inc_pad") else -1
    pad = [draw(st.integers(0, w + beyond)) if ignore_border else 0 for w in ws]
    return tuple(shape), (tuple(ws), tuple(stride), tuple(pad), ignore_border), lead, mode


def layouts(x):
    return [x, np.asfortranarray(x), np.ascontiguousarray(x[..., ::-1])[..., ::-1], np.repeat(x, 2, axis=0)[::2]]


def same(got, expected, dtype):
    expected = expected.astype(dtype)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    tolerance = {"float16": 1e-2, "float32": 1e-5}.get(dtype, 1e-12)
    np.testing.assert_allclose(got.astype("float64"), expected.astype("float64"), rtol=tolerance, atol=10 * tolerance)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    configurations(),
    st.sampled_from(["float32", "float64", "float64", "float32", "float16", "int8", "int64", "uint16", "bool"]),
    st.integers(0, 3),
    st.integers(0, 2**32 - 1),
)
def test_pooling_is_its_definition(configuration, dtype, layout, seed):
    shape, windows, lead, mode = configuration
    rng = np.random.default_rng(seed)
    low = 0 if dtype in ("uint16", "bool") else -6
    x, v = rng.integers(low, 7, size=(2, *shape)).astype(dtype)
    gz = rng.integers(low, 7, size=definition.Windows(shape, *windows).shape).astype(dtype)
    function = compiled(mode, dtype, lead, len(windows[0]), windows[3])
    z, gx, *others = function(layouts(x)[layout], layouts(gz)[layout], layouts(v)[layout], *windows[:3])
    wide = np.dtype(SUMMED[np.dtype(dtype).kind])
    if mode == "max":
        same(z, definition.pooled(x, mode, *windows), dtype)
        same(gx, definition.gradient(x.astype(wide), gz.astype(wide), mode, *windows), dtype)
        for got, expected in zip(others, definition.picked(x, v.astype(wide), *windows), strict=True):
            same(got, expected, dtype)
    elif np.dtype(dtype).kind == "f":
        same(z, definition.pooled(x.astype(wide), mode, *windows), dtype)
        same(gx, definition.gradient(x.astype(wide), gz.astype(wide), mode, *windows), dtype)
    else:
        same(z, definition.pooled(x.astype(wide), mode, *windows), dtype)


def test_results_do_not_depend_on_threads():
    x = np.random.default_rng(0).normal(size=(3, 65, 70)).astype("float32")
    before = runtime.get_threads()
    results = []
    try:
        for threads in (1, 3):
            runtime.set_threads(threads)
            for mode in ("max", "sum"):
                function = compiled(mode, "float32", 1, 2, True)
                for windows in (
                    ((3, 3), (2, 2), (1, 1)),
                    ((3, 2), (1, 1), (0, 1)),
                    ((2, 2), (2, 2), (0, 0)),
                    ((2, 2), (3, 3), (1, 0)),
                ):
                    gz = (
                        np.random.default_rng(1)
                        .normal(size=Pool.out_shape(x.shape, *windows[:1], True, *windows[1:]))
                        .astype("float32")
                    )
                    for images in (x, x[:1]):
                        results.append((threads, function(images, gz[: len(images)], images, *windows)))
    finally:
        runtime.set_threads(before)
    half = len(results) // 2
    for (one, first), (three, second) in zip(results[:half], results[half:], strict=True):
        assert (one, three) == (1, 3)
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "windows", [((2, 2),) * 2, ((2, 2), (1, 1)), ((3, 3), (1, 1)), ((3, 3), (2, 2)), ((2, 3), (1, 2))], ids=str
)
def test_gradients_of_maxima_of_common_windows(windows, dtype):
    rng = np.random.default_rng(0)
    for shape, pad in (((2, 7, 33), 0), ((2, 8, 48), 0), ((1, 6, 5), 1), ((1, 9, 31), 1), ((2, 4, 17), 1), ((1, 67, 71), 1)):
        case = (*windows, (pad, pad), True)
        # Few different numbers: many are equal to others of their window.
        x = rng.integers(-2, 3, size=shape).astype(dtype)
        gz = rng.integers(-6, 7, size=definition.Windows(shape, *case).shape).astype(dtype)
        _, gx, *_ = compiled("max", dtype, 1, 2, True)(x, gz, x, *case[:3])
        same(gx, definition.gradient(x, gz, "max", *case), dtype)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.sampled_from([1, 2, 3, 29, 30, 31, 32, 33, 60, 61, 70]),
    st.integers(1, 34),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.sampled_from(["float16", "float32", "float64", "int64", "int8"]),
    st.integers(0, 3),
    st.booleans(),
)
def test_gradients_of_maxima_of_short_rows(rows, columns, pad, dtype, layout, several):
    """Windows of three by three that are one apart: as many rows at once as there is room for."""
    rng, case = np.random.default_rng(columns), ((3, 3), (1, 1), pad, True)
    x = rng.integers(-2, 3, size=(1 + 4 * several, rows, columns)).astype(dtype)
    gz = rng.integers(-6, 7, size=definition.Windows(x.shape, *case).shape).astype(dtype)
    _, gx, *_ = compiled("max", dtype, 1, 2, True)(layouts(x)[layout], layouts(gz)[layout], x, *case[:3])
    same(gx, definition.gradient(x.astype("float64"), gz.astype("float64"), "max", *case), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_whole_images(mode, dtype):
    rng = np.random.default_rng(0)
    # Images begin at all places of a vector; some are shorter than one.
    for shape in [(9, 1, 3), *((9, 1, n) for n in range(7, 27)), (9, 7, 7)]:
        case = (shape[1:], shape[1:], (0, 0), True)
        x = rng.integers(-2, 3, size=shape).astype(dtype)
        gz = rng.integers(-6, 7, size=(9, 1, 1)).astype(dtype)
        _, gx, *_ = compiled(mode, dtype, 1, 2, True)(x, gz, x, *case[:3])
        same(gx, definition.gradient(x, gz, mode, *case), dtype)


def test_picking_needs_memory_for_some_rows_only():
    x = np.zeros((1, 2000), "float32")
    function = compiled("max", "float32", 1, 1, True)
    runtime.pool_trim()
    used = runtime.pool_stats()["in_use"]
    function(x, np.zeros((1, 1001), "float32"), x, (1000,), (1,), (0,))
    assert runtime.pool_stats()["peak"] - used < 1 << 20


def test_not_a_number_and_infinities():
    x = np.full((1, 9, 33), -np.inf, "float32")
    x[0, 4, 17] = np.nan
    x[0, 1, 1] = np.inf
    z, gx, picked, first = compiled("max", "float32", 1, 2, True)(
        x, np.ones((1, 4, 16), "float32"), x * 0 + 1, (3, 3), (2, 2), (0, 0)
    )
    np.testing.assert_array_equal(z, definition.pooled(x, "max", (3, 3), (2, 2), None, True))
    assert np.isnan(z).sum() == 2 and gx[0, 1, 1] == 1 and gx[0, 4, 17] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64"])
@pytest.mark.parametrize("mode", ["max", "sum"])
def test_windows_of_whole_images_of_all_lengths(mode, dtype):
    # Equal numbers, the lowest of the dtype where maxima are made, and at each place another one, among them a NaN.
    is_float = dtype.startswith("f")
    limits = (-np.inf, np.inf) if is_float else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    lowest, *others = limits if mode == "max" else (1, 5)
    others += [np.nan] * is_float
    for length in range(1, 53):
        x = np.full((length * len(others) + 1, length), lowest, dtype)
        for place, other in enumerate(np.repeat(others, length)):
            x[place, place % length] = other
        function, windows = compiled(mode, dtype, 1, 1, True), ((length,), (length,), (0,))
        z = function(x, np.ones((len(x), 1), dtype), x, *windows)[0]
        np.testing.assert_array_equal(z, definition.pooled(x, mode, *windows, True))


def test_instructions_refuse_what_they_cannot_do():
    x, windows = np.ones((4, 4)), [np.array([2, 2])] * 2 + [np.array([0, 0])]
    mode = int(vm.PoolMode.MAX)
    for inputs, ndim in (
        ([x.astype("complex64"), *windows], 2),
        ([x, *windows], 3),
        ([x, *windows], 0),
        ([x, *windows[1:], x], 2),
    ):
        with pytest.raises(ValueError, match="pool"):
            run_instruction("pool", inputs, [tensor(inputs[0].dtype, 2)], (ndim, True, mode))
    for windows in (([2], [2, 2], [0, 0]), ([2, 0], [1, 1], [0, 0]), ([2, 2], [1, -1], [0, 0]), ([2, 2], [1, 1], [2, 0])):
        with pytest.raises(ValueError):
            run_instruction("pool", [x, *map(np.array, windows)], [tensor("float64", 2)], (2, True, mode))


@pytest.mark.parametrize("stride", [(2, 2), (3, 2)])
def test_a_last_window_that_is_cut_off_writes_within_its_row(stride):
    x, gz = T.dtensor4(), T.dtensor4()
    z = Pool(False, "max", 2)(x, (2, 2), stride, (0, 0))
    f = theano.function([x, gz], MaxPoolGrad(False, 2)(x, z, gz, (2, 2), stride, (0, 0)))
    rng = np.random.RandomState(3)
    images = rng.permutation(2 * 3 * 8 * 5).reshape(2, 3, 8, 5).astype("float64")
    rows, columns = -(-(8 - 2) // stride[0]) + 1 if stride[0] == 2 else 3, 3
    g = rng.rand(2, 3, rows, columns)
    expected = np.zeros_like(images)
    for i, j, r, c in np.ndindex(g.shape):
        window = images[i, j, r * stride[0] : r * stride[0] + 2, 2 * c : 2 * c + 2]
        at = np.unravel_index(window.argmax(), window.shape)
        expected[i, j, r * stride[0] + at[0], 2 * c + at[1]] += g[i, j, r, c]
    np.testing.assert_array_equal(f(images, g), expected)

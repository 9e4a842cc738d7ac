"""Pooling: values against a plain definition, gradients to the second order, shapes, parameters, errors."""

import importlib
import itertools
import sys
import warnings

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, evaluate, inferred_shape, variable_like
from tests.tensor.signal.definition import pooled, windows_along
from theano import tensor as T
from theano.tensor.signal.pool import (
    MODES,
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    MaxPoolRop,
    Pool,
    max_pool_2d_same_size,
    pool_2d,
    pool_3d,
)

RNG = np.random.RandomState(0)
IMAGES = RNG.randn(2, 3, 7, 6)

#: Window, stride, padding, ignore_border.
WINDOWS = [
    ((2, 2), None, None, True),
    ((2, 2), None, None, False),
    ((3, 2), (1, 2), None, True),
    ((3, 3), (2, 2), None, False),
    ((2, 3), (3, 1), None, False),
    ((3, 3), (2, 2), (1, 1), True),
    ((3, 4), (1, 3), (2, 3), True),
    ((1, 1), (4, 5), None, False),
    ((9, 9), None, None, False),
    ((9, 2), None, None, True),
]

#: With more padding than a window is long.
FAR = [((2, 3), (1, 2), (3, 3), True), ((1, 2), (2, 1), (4, 5), True), ((3, 1), (4, 3), (3, 1), True)]


def reference(x, ws, stride=None, pad=None, ignore_border=False, mode="max"):
    return pooled(x, mode, ws, stride, pad, ignore_border)


@pytest.mark.parametrize(
    "mode, ws, stride, pad, ignore_border",
    [(mode, *case) for mode in MODES for case in WINDOWS + (FAR if mode in ("sum", "average_inc_pad") else [])],
)
def test_values_and_shapes(mode, ws, stride, pad, ignore_border):
    def build(x):
        return Pool(ignore_border, mode)(x, ws, stride, pad)

    expected = reference(IMAGES, ws, stride, pad, ignore_border, mode)
    np.testing.assert_allclose(evaluate(build, IMAGES), expected)
    np.testing.assert_allclose(evaluate(build, IMAGES, mode=None), expected)
    assert inferred_shape(build, IMAGES) == expected.shape
    assert Pool.out_shape(IMAGES.shape, ws, ignore_border, stride, pad) == list(expected.shape)


@pytest.mark.parametrize("ignore_border", [True, False])
def test_there_are_windows_for_each_length(ignore_border):
    n, windows = T.lscalar(), T.lvectors(3)
    length = Pool.out_shape((n,), windows[0], ignore_border, *windows[1:], ndim=1)[0]
    symbolic = theano.function([n, *windows], length, on_unused_input="ignore")
    for length, w, s in itertools.product(range(8), range(1, 6), range(1, 6)):
        for p in range(w) if ignore_border else (0,):
            expected = len(windows_along(length, w, s, p, ignore_border))
            assert Pool.out_shape((length,), (w,), ignore_border, (s,), (p,), ndim=1) == [expected]
            assert symbolic(length, [w], [s], [p]) == expected
    for w, s in ((2, 2), (3, 1), (2, 4)):
        known = Pool.out_shape((n,), (w,), ignore_border, (s,), ndim=1)[0]
        for length in (0, 1, 6, 7):
            assert known.eval({n: length}) == len(windows_along(length, w, s, 0, ignore_border))


#: For each number of pooled axes images of distinct elements.
DISTINCT = {
    ndim: np.random.RandomState(1).permutation(np.prod(shape)).reshape(shape) / 10.0
    for ndim, shape in {1: (2, 3, 7), 2: (2, 4, 6), 3: (2, 4, 3, 5)}.items()
}


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ignore_border, ws, stride, pad", [(True, 3, 2, 1), (False, 2, 1, 0), (True, 2, 3, 0)])
def test_gradients_of_both_orders(ndim, mode, ignore_border, ws, stride, pad):
    images, op = DISTINCT[ndim], Pool(ignore_border, mode, ndim)
    windows = [(v,) * ndim for v in (ws, stride, pad)]
    shape = op.out_shape(images.shape, windows[0], ignore_border, *windows[1:], ndim=ndim)
    gz, point = np.random.RandomState(2).randn(*shape), np.random.RandomState(3).randn(*images.shape)

    def forward(x):
        return op(x, *windows)

    def gradient(x, gz):
        return theano.grad(None, x, known_grads={forward(x): gz})

    def second(x, gz, point):
        return theano.grad(None, gz, known_grads={gradient(x, gz): point})

    for function, values in ((forward, [images]), (gradient, [images, gz]), (second, [images, gz, point])):
        theano.gradient.verify_grad(function, values, rng=np.random.RandomState(4), mode=PLAIN)


@pytest.mark.parametrize("mode", MODES)
def test_r_operators_are_the_transposes_of_gradients(mode):
    images, point = DISTINCT[2], np.random.RandomState(5).randn(*DISTINCT[2].shape)
    x, v = variable_like(images), variable_like(point)
    z = Pool(True, mode)(x, (3, 2), (1, 2))
    gz = T.dtensor3()
    gx = theano.grad(None, x, known_grads={z: gz})
    ggz = theano.grad(None, gz, known_grads={gx: v})
    forward, of_gradient = theano.Rop(z, x, v), theano.Rop(gx, gz, gz)
    function = theano.function([x, v, gz], [(forward * gz).sum(), (gx * v).sum(), forward, ggz, of_gradient, gx])
    gradient = np.random.RandomState(6).randn(*Pool.out_shape(images.shape, (3, 2), True, (1, 2)))
    along, back, forward, ggz, of_gradient, gx = function(images, point, gradient)
    np.testing.assert_allclose(along, back)
    np.testing.assert_allclose(forward, ggz)
    np.testing.assert_allclose(of_gradient, gx)


def test_equal_maxima():
    x = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    windows = ((2, 2), (1, 1))
    z, gz, v = np.ones((1, 2)), np.array([[1.0, 10.0]]), np.arange(6.0).reshape(2, 3)
    gradient = evaluate(lambda x, z, gz: MaxPoolGrad(True)(x, z, gz, *windows), x, z, gz)
    np.testing.assert_array_equal(gradient, [[1, 11, 0], [0, 11, 10]])
    picked = evaluate(lambda x, z, v: DownsampleFactorMaxGradGrad(True)(x, z, v, *windows), x, z, v)
    np.testing.assert_array_equal(picked, [[0 + 1 + 4, 1 + 4 + 5]])
    tangent = evaluate(lambda x, v: MaxPoolRop(True)(x, v, *windows), x, v)
    np.testing.assert_array_equal(tangent, [[0, 1]])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("mode", MODES)
def test_dtypes(dtype, mode):
    values = (abs(IMAGES) if dtype.startswith("u") else IMAGES) * 20
    values = values.astype(dtype)
    got = evaluate(lambda x: Pool(True, mode)(x, (3, 2), (2, 2)), values)
    wide = values.astype(values.dtype if mode == "max" else "complex128" if dtype == "complex64" else "float64")
    expected = reference(wide, (3, 2), (2, 2), ignore_border=True, mode=mode)
    if mode != "max" and values.dtype.kind in "iub":
        # As in C: rounded towards zero, modulo the range.
        expected = np.trunc(expected).astype("int64")
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected.astype(dtype), rtol=2e-3 if dtype == "float16" else 1e-5)


def test_integers_have_no_gradient():
    x = T.lmatrix()
    gradient = theano.grad(Pool(True)(x, (2, 2)).sum().astype("float64"), x)
    np.testing.assert_array_equal(gradient.eval({x: np.ones((2, 2), int)}), np.zeros((2, 2)))


def test_not_a_number_is_the_maximum():
    x = np.array([[np.nan, 1.0, -np.inf, -np.inf], [2.0, 3.0, -np.inf, -np.inf]])
    np.testing.assert_array_equal(evaluate(lambda x: pool_2d(x, (2, 2), True), x), [[np.nan, -np.inf]])


def test_empty_images():
    for shape in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
        x = np.empty(shape)
        for mode in MODES:
            for ignore_border in (True, False):
                z = evaluate(lambda x: Pool(ignore_border, mode)(x, (2, 2)), x)
                assert z.shape == (shape[0], (shape[1] + 1 - ignore_border) // 2, shape[2] // 2)
                gx = evaluate(lambda x: theano.grad(Pool(ignore_border, mode)(x, (2, 2)).sum(), x), x)
                assert gx.shape == shape


def test_functions_pool_the_last_dimensions():
    for leading in ((), (2,), (2, 1, 1, 3)):
        x = RNG.randn(*leading, 4, 5, 6)
        np.testing.assert_array_equal(evaluate(lambda x: pool_2d(x, (2, 3), True), x), reference(x, (2, 3), ignore_border=True))
        np.testing.assert_array_equal(
            evaluate(lambda x: pool_3d(x, (2, 3, 4), False, stride=(1, 2, 3)), x), reference(x, (2, 3, 4), (1, 2, 3))
        )


def test_patches_keep_their_maxima():
    x = np.arange(1.0, 16).reshape(1, 1, 3, 5)
    kept = evaluate(lambda x: max_pool_2d_same_size(x, (2, 2)), x)
    np.testing.assert_array_equal(kept[0, 0], [[0, 0, 0, 0, 0], [0, 7, 0, 9, 0], [0, 0, 0, 0, 0]])


def test_symbolic_windows():
    x, ws, stride, pad = T.dtensor3(), T.ivector(), T.bvector(), T.lvector()
    for mode in MODES:
        z = pool_2d(x, ws, True, stride, pad, mode)
        function = theano.function([x, ws, stride, pad], [z, theano.grad(z.sum(), x), z.shape])
        for values in (((2, 3), (1, 2), (1, 0)), ((3, 1), (2, 2), (2, 0))):
            got, gradient, shape = function(IMAGES[0], *values)
            np.testing.assert_allclose(got, reference(IMAGES[0], *values, True, mode))
            assert tuple(shape) == got.shape
            fixed = theano.grad(pool_2d(x, values[0], True, values[1], values[2], mode).sum(), x)
            np.testing.assert_allclose(gradient, fixed.eval({x: IMAGES[0]}))
    function = theano.function([x, ws, pad], pool_2d(x, ws, False, None, pad))
    assert function(IMAGES[0], (2, 2), (0, 0)).shape == (3, 4, 3)
    for bad in (((2, 2), (1, 1)), ((2,), (0, 0)), ((2, 0), (0, 0)), ((2, 2), (-1, 0)), ((2, 2), (0,))):
        with pytest.raises(ValueError):
            function(IMAGES[0], *bad)


@pytest.mark.parametrize("ws, kept, error", [
    (None, {}, ValueError),
    ((2, 2), {"ds": (2, 2)}, ValueError),
    ((2, 2), {"stride": (1, 1), "st": (2, 2)}, ValueError),
    ((3, 3), {"pad": (1, 1), "padding": (1, 1)}, ValueError),
    ((3, 3, 3), {}, ValueError),
    ((2, 0), {}, ValueError),
    ((2, 2), {"stride": (0, 1)}, ValueError),
    ((2, 2), {"pad": (-1, 0)}, ValueError),
    ((2, 2), {"mode": "median"}, ValueError),
    ((2.0, 2.0), {}, TypeError),
    (2, {}, TypeError),
    ((2, 2), {"stride": (1.5, 1)}, TypeError),
    ((2, 2), {"pad": (2, 0)}, NotImplementedError),
    ((2, 2), {"pad": (1, 1), "ignore_border": False}, NotImplementedError),
])  # fmt: skip
def test_parameters_that_are_refused(ws, kept, error):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error):
            pool_2d(T.dtensor4(), ws, **{"ignore_border": True, **kept})


def test_errors_name_the_parameter():
    for ws, kept, message in (
        (2, {}, r"window \(ws\) of a pooling must have 2 ints, one for each axis that is pooled, got 2"),
        ((2,), {}, r"window must have a length for each of the 2 axes that are pooled, got \[2\]"),
        ((2, 2), {"stride": (1.5, 1)}, "stride of a pooling must be a vector of 2 ints"),
        ((2, 2), {"pad": 1}, r"padding \(pad\) of a pooling must have 2 ints"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            pool_2d(T.dtensor4(), ws, True, **kept)


def test_images_that_are_refused():
    for function, x in ((pool_2d, T.dvector()), (pool_3d, T.dmatrix())):
        with pytest.raises(NotImplementedError):
            function(x, (1, 1, 1)[: 2 + (function is pool_3d)], True)
    with pytest.raises(TypeError):
        Pool.out_shape((3,), (2, 2))
    with pytest.raises(TypeError):
        MaxPoolGrad(True)(T.dmatrix(), T.dmatrix(), T.dvector(), (2, 2))
    x, z, gz = T.dmatrices(3)
    for op, *inputs in (
        (MaxPoolGrad(True), x, z, gz),
        (AveragePoolGrad(True), x, gz),
        (DownsampleFactorMaxGradGrad(True), x, z, gz),
    ):
        function = theano.function(inputs, op(*inputs, (2, 2)))
        with pytest.raises(ValueError, match="has the shape"):
            function(np.ones((4, 4)), *[np.ones((2, 3))] * (len(inputs) - 1))


def test_deprecated_names():
    x = T.dtensor4()
    with pytest.warns(UserWarning, match="DEPRECATION") as seen:
        old = pool_2d(x, ds=(3, 3), st=(2, 2), padding=(1, 1), ignore_border=True)
    assert len(seen) == 3 and {warning.filename for warning in seen} == {__file__}
    new = pool_2d(x, (3, 3), True, (2, 2), (1, 1))
    function = theano.function([x], [old, new])
    np.testing.assert_array_equal(*function(IMAGES))
    with pytest.warns(UserWarning, match="ignore_border") as seen:
        assert pool_2d(x, (4, 4)).eval({x: IMAGES}).shape == (2, 3, 2, 2)
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match="'ds'"):
        assert Pool.out_shape((8, 6), ds=(2, 2)) == [4, 3]


def test_the_old_module(monkeypatch):
    monkeypatch.delitem(sys.modules, "theano.tensor.signal.downsample", raising=False)
    with pytest.warns(UserWarning, match="theano.tensor.signal.pool"):
        downsample = importlib.import_module("theano.tensor.signal.downsample")
    assert downsample.max_pool_2d is pool_2d and downsample.DownsampleFactorMax is Pool

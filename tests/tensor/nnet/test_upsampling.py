"""Bilinear upsampling."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.nnet import abstract_conv as ac

X = np.random.RandomState(2).rand(2, 3, 4, 5)


def interpolated(x, axis, ratio, step=1):
    """One axis at the places of :func:`numpy.interp`."""
    n = x.shape[axis]
    places = (np.arange(0, n * ratio, step) - (ratio - 1) // 2) / ratio
    return np.apply_along_axis(lambda row: np.interp(places, np.arange(n), row), axis, x)


@pytest.mark.parametrize("ratio", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("use_1D_kernel", [True, False])
def test_whole_ratios(ratio, use_1D_kernel):
    y = ac.bilinear_upsampling(X, ratio, batch_size=2, num_input_channels=3, use_1D_kernel=use_1D_kernel).eval()
    assert y.shape == (2, 3, 4 * ratio, 5 * ratio)
    np.testing.assert_allclose(y, interpolated(interpolated(X, 2, ratio), 3, ratio), rtol=1e-12)


def test_it_is_the_transposed_convolution_with_the_kernel():
    ratio = 3
    edges = np.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge").reshape(-1, 1, 6, 7)
    kernel = ac.bilinear_kernel_2D(ratio).eval()[None, None]
    whole = T.nnet.conv2d_transpose(
        edges, kernel, (None, 1, 6 * ratio + ratio - 1, 7 * ratio + ratio - 1), input_dilation=(ratio, ratio)
    )
    start = 2 * ratio - 1 - (ratio - 1) // 2
    expected = whole.eval()[:, :, start : start + 4 * ratio, start : start + 5 * ratio].reshape(2, 3, 4 * ratio, 5 * ratio)
    np.testing.assert_allclose(ac.bilinear_upsampling(X, ratio).eval(), expected, rtol=1e-12)


@pytest.mark.parametrize(("frac_ratio", "pairs"), [((3, 2), ((3, 2),) * 2), ((8, 6), ((4, 3),) * 2), (((7, 4), (5, 3)),) * 2])
def test_fractional_ratios(frac_ratio, pairs):
    y = ac.bilinear_upsampling(X, frac_ratio=frac_ratio, use_1D_kernel=False).eval()
    np.testing.assert_allclose(y, interpolated(interpolated(X, 2, *pairs[0]), 3, *pairs[1]), rtol=1e-12)
    np.testing.assert_array_equal(ac.frac_bilinear_upsampling(X, frac_ratio).eval(), y)


def test_symbolic_ratio():
    x, ratio = T.dtensor4(), T.iscalar()
    f = theano.function([x, ratio], [ac.bilinear_upsampling(x, ratio), ac.bilinear_kernel_1D(ratio, normalize=False)])
    for r in (2, 5):
        y, kernel = f(X, r)
        np.testing.assert_allclose(y, interpolated(interpolated(X, 2, r), 3, r), rtol=1e-12)
        assert kernel.tolist() == [*range(1, r + 1), *range(r - 1, 0, -1)]


def test_kernels():
    np.testing.assert_allclose(ac.bilinear_kernel_1D(3).eval(), np.array([1, 2, 3, 2, 1]) / 3)
    np.testing.assert_allclose(ac.bilinear_kernel_2D((2, 3)).eval(), np.outer([1, 2, 1], [1, 2, 3, 2, 1]) / 6)
    with theano.configparser.change_flags(floatX="float32"):
        assert ac.bilinear_kernel_2D(2).eval().dtype == "float32"


def test_dtypes():
    assert ac.bilinear_upsampling(X.astype("float32"), 2).eval().dtype == "float32"
    assert ac.bilinear_upsampling(np.arange(4).reshape(1, 1, 2, 2), 2).eval().dtype == theano.config.floatX


@pytest.mark.parametrize("ratio", [2, 3])
def test_gradient(ratio):
    theano.gradient.verify_grad(lambda x: ac.bilinear_upsampling(x, ratio), [X], rng=np.random.RandomState(1))


def test_single_rows_and_no_images():
    for shape in ((2, 1, 1, 3), (1, 2, 4, 1), (0, 3, 2, 2)):
        x = T.TensorType("float64", [n == 1 for n in shape])()
        y = theano.function([x], ac.bilinear_upsampling(x, 2))(X[0, 0, 0, 0] + np.arange(np.prod(shape)).reshape(shape))
        assert y.shape == (*shape[:2], 2 * shape[2], 2 * shape[3])
        assert shape[0] == 0 or (y[..., -1, -1] == y.max(axis=(2, 3))).all()


def test_gradient_of_a_fractional_ratio():
    theano.gradient.verify_grad(lambda x: ac.frac_bilinear_upsampling(x, (5, 4)), [X], rng=np.random.RandomState(1))


def test_arguments_that_are_wrong():
    for arguments in ({}, {"ratio": 2, "frac_ratio": (2, 3)}, {"frac_ratio": (3, 2)}, {"ratio": 0}, {"ratio": 1.5}):
        with pytest.raises(ValueError, match="ratio"):
            ac.bilinear_upsampling(X, **arguments)
    for bad in (2, (1, 2, 3), ((1, 2), 3), (1, 0), (1.5, 2)):
        with pytest.raises(ValueError, match="frac_ratio"):
            ac.frac_bilinear_upsampling(X, bad)
    with pytest.raises(TypeError, match="4D"):
        ac.bilinear_upsampling(T.dmatrix(), 2)

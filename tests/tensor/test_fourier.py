"""The Fourier transforms of theano.tensor.fourier and theano.sandbox.fourier."""

import warnings

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.fourier import Fourier, fft

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from theano.sandbox import fourier as sandbox

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("n", [None, 3, 9])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_transform_is_that_of_numpy(n, axis):
    x = T.dmatrix()
    result = fft(x, n, axis)
    f = theano.function([x], [result, result.shape])
    value = RNG.normal(size=(6, 4))
    expected = np.fft.fft(value, n, -1 if axis is None else axis)
    for got in (value, value[::-1, ::2].repeat(2, 1)[:, :4], np.asfortranarray(value)):
        out, shape = f(got)
        np.testing.assert_allclose(out, np.fft.fft(got, n, -1 if axis is None else axis), atol=1e-12)
        assert tuple(shape) == out.shape == expected.shape and out.dtype == "complex128"


def test_a_variable_axis():
    x, axis = T.dmatrix(), T.iscalar()
    f = theano.function([x, axis], [fft(x, 5, axis), fft(x, 5, axis).shape])
    value = RNG.normal(size=(3, 4))
    for i in range(2):
        out, shape = f(value, i)
        np.testing.assert_allclose(out, np.fft.fft(value, 5, i), atol=1e-12)
        assert tuple(shape) == out.shape


@pytest.mark.parametrize("n", [3, 4, 7])
@pytest.mark.parametrize("axis", [0, 1])
def test_gradient(n, axis):
    def cost(x):
        out = fft(x, n, axis)
        return T.sqr(T.real(out)).sum() + 3 * T.imag(out).sum()

    theano.gradient.verify_grad(cost, [RNG.normal(size=(4, 3))], rng=np.random.RandomState(1))
    theano.gradient.verify_grad(
        lambda x, y: cost(T.complex(x, y) ** 2), [RNG.normal(size=(4, 3)) for _ in range(2)], rng=np.random.RandomState(1)
    )


@pytest.mark.parametrize(
    "arguments, what",
    [((1.0, None, None), "scalar"), ((np.ones(3), 1.5, None), "length"), ((np.ones(3), 0, None), "positive"),
     ((np.ones(3), None, 1), "axis"), ((np.ones(3), None, 0.5), "axis")],
)  # fmt: skip
def test_bad_arguments(arguments, what):
    with pytest.raises(TypeError, match=what):
        fft(*arguments)
    assert Fourier() == fft


def test_transforms_of_the_sandbox():
    x = T.dmatrix()
    value = RNG.normal(size=(4, 6))
    for axis in (0, 1):
        f = theano.function([x], [sandbox.fft(x, 4, axis), sandbox.ifft(x, 4, axis), sandbox.half_fft(x, 4, axis)])
        whole, inverse, half = f(value)
        np.testing.assert_allclose(whole, np.fft.fft(value, 4, axis))
        np.testing.assert_allclose(inverse, np.fft.ifft(value, 4, axis))
        np.testing.assert_allclose(half, np.fft.fft(value, 4, axis).take([0, 1], axis))
    with pytest.raises(ValueError, match="odd length"):
        theano.function([x], sandbox.half_fft(x, 3, 0))(value)
    with pytest.raises(TypeError, match="real"):
        sandbox.half_fft(T.zmatrix(), 4, 0)


def test_the_cosine_transforms_matrix_is_orthonormal():
    matrix = sandbox.dct_matrix(5, 5)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(5), atol=1e-12)
    assert sandbox.dct_matrix(2, 7, unitary=False).shape == (2, 7)

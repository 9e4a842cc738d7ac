"""Quotients and powers of complex numbers are NumPy's at zeros, infinities, NaN and where a part overflows."""

import warnings

import numpy as np
import pytest

import theano
import theano.tensor as tt

PARTS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e30, 1e-30, 1e308, 1e200, 5e-324]
OPERATIONS = {"quotient": (lambda x, y: x / y), "power": (lambda x, y: x**y)}


def near(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("mode", ["native", "python"])
def test_as_numpy(name, dtype, mode):
    operation = OPERATIONS[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        numbers = np.array([complex(a, b) for a in PARTS for b in PARTS]).astype(dtype)
        values = [v.ravel() for v in np.meshgrid(numbers, numbers)]
        expected = operation(*values)
        x, y = (tt.TensorType(dtype, (False,))() for _ in range(2))
        found = theano.function([x, y], operation(x, y), mode=None if mode == "native" else theano.Mode("py", None))(*values)
        close = np.abs(found - expected) <= 1e-5 * np.abs(expected) + 1e-37
    right = close | (near(found.real, expected.real) & near(found.imag, expected.imag))
    assert found.dtype == dtype
    assert not [(*pair, f, e) for *pair, f, e, ok in zip(*values, found, expected, right, strict=True) if not ok]


def test_quotients_of_mixed_dtypes():
    x, y, z = tt.dvector(), tt.cvector(), tt.zscalar()
    a, b, c = np.array([1.0, -2.0]), np.array([1 + 2j, -3j], "complex64"), np.complex128(2 - 1j)
    found = theano.function([x, y, z], [x / y, y / x, y / z, 1 / y, z / 2])(a, b, c)
    for result, expected in zip(found, [a / b, b / a, b / c, 1 / b, c / 2], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)

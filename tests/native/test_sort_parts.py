"""Sorts and running sums that threads share: the same result, bit by bit, as one thread's and as NumPy's."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from vm_tools import on_threads, own_threads, runtime, symbol  # noqa: F401

import theano
import theano.tensor as tt
from tests.tools import run_program

N = 131_072
pytestmark = pytest.mark.usefixtures("own_threads")


def assert_sorts(value, axis=-1):
    x = symbol(value)
    f = theano.function([x], [tt.sort(x, axis), tt.argsort(x, axis)])
    values, order = on_threads(f, value)
    assert_array_equal(order, np.argsort(value, axis, kind="stable"))
    assert_array_equal(values, np.sort(value, axis))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16", "float32", "int64", "uint64", "float64", "complex64"])
def test_dtypes(dtype):
    rng = np.random.RandomState(0)
    bits = rng.randint(0, 256, N * np.dtype(dtype).itemsize, "uint8")
    value = bits.view(dtype)
    if value.dtype.kind == "f":
        assert_sorts(np.where(np.isnan(value), np.nan, value).astype(dtype))
    elif value.dtype.kind == "c":
        assert_sorts(rng.randint(-3, 3, N).astype(dtype) + np.complex64(1j) * rng.randint(-2, 2, N).astype("float32"))
    else:
        assert_sorts(value)


@pytest.mark.parametrize("n", [N - 1, N, N + 1, 3 * N + 7])
def test_lengths(n):
    assert_sorts(np.random.RandomState(n).uniform(-1, 1, n))


KINDS = ("few values", "one bit", "upper halves equal", "runs across parts", "sorted", "reversed", "constant")


@pytest.mark.parametrize("kind", KINDS)
def test_ties(kind):
    rng = np.random.RandomState(1)
    value = {
        "few values": rng.randint(0, 5, N).astype("int64"),
        "one bit": rng.randint(0, 2, N).astype("int64") << 62,
        "upper halves equal": rng.randint(0, 2**20, N) + (rng.randint(0, 3, N).astype("int64") << 58),
        "runs across parts": np.repeat(rng.permutation(4), N // 4).astype("int64") * 2**60 + rng.randint(0, 50, N),
        "sorted": np.arange(N) // 3,
        "reversed": np.arange(N)[::-1] // 3 * 2**40,
        "constant": np.zeros(N, "int64"),
    }[kind]
    assert_sorts(value)
    assert_sorts(value.astype("float64"))


def test_rows_and_steps():
    rng = np.random.RandomState(2)
    value = rng.randint(-1000, 1000, (3, N)) * 2**45 + rng.randint(0, 3, (3, N))
    assert_sorts(value)
    assert_sorts(value[:, ::-1])
    assert_sorts(np.asfortranarray(value))
    assert_sorts(value.T, axis=0)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 15, 16, 17, 1000, 2 * N - 1, 2 * N, 2 * N + 3])
def test_running_sums_of_integers(n):
    x = tt.lmatrix()
    f = theano.function([x], [tt.cumsum(x, 1), tt.cumsum(x, 0), tt.cumsum(x)])
    value = np.random.RandomState(n).randint(-(2**63), 2**63 - 1, (2, n), "int64")
    with np.errstate(over="ignore"):
        expected = value.cumsum(1), value.cumsum(0), value.cumsum()
    for found, right in zip(on_threads(f, value), expected, strict=True):
        assert_array_equal(found, right)
    y = tt.TensorType("uint64", (False,))()
    g = theano.function([y], [tt.cumsum(y)])
    assert_array_equal(on_threads(g, value[1].astype("uint64"))[0], expected[0][1].astype("uint64"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32", "bool"])
def test_running_sums_of_other_numbers_do_not_depend_on_threads(dtype):
    x = tt.TensorType(dtype, (False,))()
    f = theano.function([x], [tt.cumsum(x), tt.cumprod(x)])
    value = np.random.RandomState(3).uniform(-1, 1, 2 * N + 5).astype(dtype)
    np.testing.assert_allclose(on_threads(f, value)[0], value.cumsum(), rtol=1e-3, atol=1e-2)


def test_a_function_without_kernels_uses_the_threads_of_the_configuration():
    program = (
        "import theano, theano.tensor as T\n"
        "from theano.native import _runtime\n"
        "x = T.dvector()\n"
        "theano.function([x], T.sort(x))\n"
        "print(_runtime.get_threads())\n"
    )
    done = run_program(program, os.environ.get("THEANO_FLAGS", "") + ",threads=3")
    assert done.stdout.split() == ["3"], done.stderr

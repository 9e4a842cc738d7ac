"""Kernels over arrays that lie transposed in memory, and reductions of rows of few elements."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T
from theano.native.runtime_build import load_runtime

runtime = load_runtime()
if runtime is None:
    pytest.skip("the native runtime is not available", allow_module_level=True)

EXAMPLES = 300 if os.environ.get("THEANO_NIGHTLY") else 20
_functions = {}


def made_once(key, make):
    if key not in _functions:
        _functions[key] = make()
    return _functions[key]


def array(rng, shape, dtype):
    a = rng.integers(-9, 9, shape)
    return (a + 1j * a[::-1] if dtype.startswith("complex") else a).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@settings(max_examples=EXAMPLES, deadline=None)
@given(rows=st.integers(1, 70), columns=st.sampled_from([1, 3, 31, 32, 33, 64, 255, 256, 257, 301]), flipped=st.booleans())
def test_elementwise_of_a_transposed_operand(dtype, rows, columns, flipped):
    x, y = T.TensorType(dtype, (False, False))("x"), T.TensorType(dtype, (False, False))("y")
    f = made_once((dtype, "both"), lambda: theano.function([x, y], [x.T * y + x.T, y - x.T * x.T]))
    rng = np.random.default_rng(rows)
    a, b = array(rng, (columns, rows), dtype), array(rng, (rows, columns), dtype)
    if flipped:
        a = a[:, ::-1]
    found, other = f(a, b)
    np.testing.assert_array_equal(found, a.T * b + a.T)
    np.testing.assert_array_equal(other, b - a.T * a.T)


@settings(max_examples=EXAMPLES, deadline=None)
@given(lengths=st.tuples(st.integers(1, 40), st.integers(1, 5), st.integers(1, 300)), order=st.permutations(range(3)))
def test_elementwise_of_permuted_axes(lengths, order):
    x, y = T.ftensor3("x"), T.ftensor3("y")
    f = made_once(("axes", *order), lambda: theano.function([x, y], x.dimshuffle(*order) * 2 - y))
    rng = np.random.default_rng(0)
    a = array(rng, lengths, "float32")
    b = array(rng, a.transpose(order).shape, "float32")
    np.testing.assert_array_equal(f(a, b), a.transpose(order) * 2 - b)


def test_a_transposed_result_written_in_place():
    w = theano.shared(np.arange(300.0 * 70).reshape(300, 70).astype("float32"))
    y = T.fmatrix()
    f = theano.function([y], [], updates=[(w, (w.T * 2 + y).T)])
    before, b = w.get_value(), array(np.random.default_rng(1), (70, 300), "float32")
    f(b)
    np.testing.assert_array_equal(w.get_value(), (before.T * 2 + b).T)


def test_transposed_operands_with_any_number_of_threads():
    x, y = T.fmatrix(), T.fmatrix()
    f = theano.function([x, y], T.exp(x.T) * y)
    rng = np.random.default_rng(2)
    a, b = rng.random((513, 709), "float32"), rng.random((709, 513), "float32")
    threads = runtime.get_threads()
    results = []
    try:
        for count in (1, 2, 3):
            runtime.set_threads(count)
            results.append(np.array(f(a, b)))
    finally:
        runtime.set_threads(threads)
    np.testing.assert_allclose(results[0], np.exp(a.T) * b, rtol=1e-6)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


REDUCTIONS = {
    "sum": (lambda x, y: x.sum(-1), lambda a, b: a.sum(-1)),
    "max": (lambda x, y: x.max(-1), lambda a, b: a.max(-1)),
    "min and product": (lambda x, y: x.min(-1) + x.prod(-1), lambda a, b: a.min(-1) + a.prod(-1)),
    "squared distances": (
        lambda x, y: ((x.dimshuffle(0, "x", 1) - y.dimshuffle("x", 0, 1)) ** 2).sum(-1),
        lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1),
    ),
    "any": (lambda x, y: T.gt(x, 5).any(-1), lambda a, b: (a > 5).any(-1)),
    "product with a row": (lambda x, y: (x * y[0]).sum(-1) - 1, lambda a, b: (a * b[0]).sum(-1) - 1),
}


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(rows=st.sampled_from([1, 2, 15, 16, 17, 33, 70]), length=st.integers(1, 66), layout=st.sampled_from("CFS"))
def test_short_rows(name, dtype, rows, length, layout):
    build, plain = REDUCTIONS[name]
    x, y = T.TensorType(dtype, (False, False))("x"), T.TensorType(dtype, (False, False))("y")
    f = made_once((name, dtype), lambda: theano.function([x, y], build(x, y), on_unused_input="ignore"))
    rng = np.random.default_rng(length)
    a, b = array(rng, (rows, length), dtype), array(rng, (5, length), dtype)
    if "product" in name:
        a = np.where(a > 0, 1, -1).astype(dtype)
    if layout == "F":
        a = np.asfortranarray(a)
    elif layout == "S":
        a = np.repeat(a, 2, 0)[::2]
    np.testing.assert_allclose(f(a, b), plain(a, b), rtol=1e-5)


def test_short_rows_with_what_is_not_a_number():
    x = T.fmatrix()
    f = theano.function([x], [x.max(1), x.min(1), x.sum(1)])
    a = np.random.default_rng(3).random((50, 3)).astype("float32")
    a[::7, 1] = np.nan
    a[1::7, 2] = np.inf
    for found, expected in zip(f(a), (a.max(1), a.min(1), a.sum(1)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)

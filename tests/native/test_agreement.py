"""Random graphs give the same result natively, in Python, without rewrites, and in NumPy."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T

PIECE = 20
"""Programs that are compiled as one function: the compiler is called once for all."""
EXAMPLES = 5000 // PIECE if os.environ.get("THEANO_NIGHTLY") else 3
MODES = [
    theano.Mode(linker, optimizer)
    for linker, optimizer in (("cvm", "fast_run"), ("cvm", None), ("reference", "fast_run"), ("vm", "fast_run"), ("py", None))
]

UNARY = {
    "tanh": (T.tanh, np.tanh),
    "exp": (lambda x: T.exp(-abs(x)), lambda x: np.exp(-abs(x))),
    "neg": (lambda x: -x, lambda x: -x),
    "sqr": (T.sqr, np.square),
    "sin": (T.sin, np.sin),
    "floor": (T.floor, np.floor),
    "sign": (T.sgn, np.sign),
    "transpose": (lambda x: x.T, lambda x: x.T),
    "reverse": (lambda x: x[::-1], lambda x: x[::-1]),
    "sum0": (lambda x: x.sum(axis=0, keepdims=True), lambda x: x.sum(axis=0, keepdims=True)),
    "sum1": (lambda x: x.sum(axis=1, keepdims=True), lambda x: x.sum(axis=1, keepdims=True)),
    "mean": (lambda x: x - x.sum(), lambda x: x - x.sum()),
    "switch": (lambda x: T.switch(x > 0, x, -2 * x), lambda x: np.where(x > 0, x, -2 * x)),
    "join": (lambda x: T.concatenate([x, x], axis=1), lambda x: np.concatenate([x, x], axis=1)),
    "gram": (lambda x: T.dot(x, x.T) / 8, lambda x: np.dot(x, x.T) / 8),
    "flat": (lambda x: x.reshape((1, -1)), lambda x: x.reshape((1, -1))),
    "set": (lambda x: T.set_subtensor(x[:, :1], 0.5), lambda x: np.concatenate([np.full_like(x[:, :1], 0.5), x[:, 1:]], 1)),
}
BINARY = {
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "mul": (lambda x, y: x * y, lambda x, y: x * y),
    "sub": (lambda x, y: x - 0.5 * y, lambda x, y: x - 0.5 * y),
    "maximum": (T.maximum, np.maximum),
    "true_div": (lambda x, y: x / (1 + y * y), lambda x, y: x / (1 + y * y)),
}


@st.composite
def programs(draw):
    """A shape, a dtype, a layout and a list of steps; each step applies an operation to earlier results of its shape."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    dtype = draw(st.sampled_from(["float64", "float32"]))
    layout = draw(st.sampled_from(["C", "F", "negative", "strided"]))
    steps = draw(st.lists(st.tuples(st.sampled_from(sorted(UNARY) + sorted(BINARY)), st.integers(0, 20), st.integers(0, 20)),
                          min_size=1, max_size=10))
    return shape, dtype, layout, steps


def arrange(value, layout):
    if layout == "F":
        return np.asfortranarray(value)
    if layout == "negative":
        return value[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "strided":
        return np.repeat(np.repeat(value, 2, axis=0), 3, axis=1)[::2, ::3]
    return value


def interpret(steps, start, known_shapes, which):
    """Run the steps on NumPy arrays (which=1) or symbols (which=0), choosing operands by the arrays' shapes."""
    results = [start]
    shapes = [known_shapes[0]]
    for k, (name, i, j) in enumerate(steps):
        i %= len(results)
        if name in UNARY:
            results.append(UNARY[name][which](results[i]))
        else:
            same = [n for n, s in enumerate(shapes) if s == shapes[i]]
            results.append(BINARY[name][which](results[i], results[same[j % len(same)]]))
        shapes.append(known_shapes[k + 1] if which == 0 else results[-1].shape)
    return results, shapes


def compare(some):
    """Compare programs, each of its own input and compiled as one function, with NumPy."""
    inputs, values, outputs, expected = [], [], [], []
    for shape, dtype, layout, steps in some:
        value = arrange(np.random.RandomState(0).uniform(-1, 1, shape).astype(dtype), layout)
        arrays, shapes = interpret(steps, value, [shape], 1)
        x = T.TensorType(dtype, (False, False))("x")
        symbols, _ = interpret(steps, x, shapes, 0)
        inputs.append(x)
        values.append(value)
        outputs.append(symbols[-1])
        expected.append(arrays[-1])
    for mode in MODES:
        f = theano.function(inputs, outputs, mode=mode)
        # From the fifth on calls may repeat the one before.
        found, *again = [f(*values) for _ in range(6)]
        for k, (program, x, symbol, got, wanted) in enumerate(zip(some, inputs, outputs, found, expected, strict=True)):
            rtol = 1e-4 if x.dtype == "float32" else 1e-9
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol, err_msg=str(program))
            for later in again:
                np.testing.assert_array_equal(later[k], got, err_msg=str(program))
            assert got.shape == wanted.shape, program
            assert got.dtype == symbol.dtype, program


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(programs(), min_size=PIECE, max_size=PIECE))
def test_random_graph(some):
    compare(some)

"""Graphs that are hard to schedule, fuse or lower give the same values natively, in Python, and without rewrites."""

import functools
import os
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T
from theano.gof import engine
from theano.ifelse import ifelse

EXAMPLES = 1000 if os.environ.get("THEANO_NIGHTLY") else 15
NATIVE = {"rewritten": theano.Mode("cvm", "fast_run"), "plain": theano.Mode("cvm", None)}
REFERENCE = theano.Mode("py", None)
X = np.random.default_rng(0).random((3, 3)) * 0.7


def run_twice(build, mode, args):
    """Results of two calls, and the final values of the shared variables."""
    function, shared = build(mode)
    results = []
    for _ in range(2):
        found = function(*[np.copy(a) for a in args])
        results += [np.array(v) for v in (found if isinstance(found, list) else [found])]
    return results + [s.get_value() for s in shared]


def assert_agrees(build, *args):
    expected = run_twice(build, REFERENCE, args)
    for name, mode in NATIVE.items():
        for found, value in zip(run_twice(build, mode, args), expected, strict=True):
            assert found.dtype == value.dtype, name
            np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_sum_of_complex_numbers_over_no_axis_can_be_real(shape):
    x = T.TensorType("complex128", (False,) * len(shape))("x")
    total = theano.function([x], T.sum(x, axis=(), dtype="float64"), mode=NATIVE["plain"])
    np.testing.assert_array_equal(total(np.full(shape, 1 + 2j)), np.ones(shape))


@pytest.mark.parametrize("make", [T.extra_ops.Unique(True), lambda x: T.nlinalg.pinv(T.outer(x, x)), T.extra_ops.diff])
def test_a_node_that_is_lowered_as_expressions_is_native_on_its_own_too(make, monkeypatch):
    x = T.dvector("x")
    results = make(x)
    node = (results if isinstance(results, list) else [results])[0].owner
    value = np.array([3.0, 1.0, 3.0]) if node.inputs[0] is x else np.ones((2, 2))
    expected = [[None] for _ in node.outputs]
    node.op.perform(node, [value], expected)
    monkeypatch.delattr(type(node.op), "perform")
    storage_map = {v: [value] for v in node.inputs} | {v: [None] for v in node.outputs}
    engine.current.node_thunk(node, storage_map, {v: [True] for v in storage_map})()
    for v, (right,) in zip(node.outputs, expected, strict=True):
        np.testing.assert_allclose(storage_map[v][0], right)


def test_a_late_update_reads_before_the_head_overwrites():
    def build(mode):
        x, state = T.dmatrix(), theano.shared(np.ones((3, 3)))
        product = T.dot(x, x.T)
        return theano.function([x], [T.tanh(product)], updates=[(state, state * 0.9 + product)], mode=mode), [state]

    assert_agrees(build, X)


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_branch_uses_the_new_value_of_a_shared_variable(chosen):
    def build(mode):
        c, x, state = T.bscalar(), T.dmatrix(), theano.shared(np.ones((3, 3)))
        new = state * 2
        return theano.function([c, x], [ifelse(c, T.exp(new), x)], updates=[(state, new)], mode=mode), [state]

    assert_agrees(build, np.int8(chosen), X)


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_branch_uses_what_an_open_group_computes(chosen):
    def build(mode):
        c, x = T.bscalar(), T.dmatrix()
        a = x * 2
        y = ifelse(c, T.dot(a, a.T), T.dot(x, x.T))
        return theano.function([c, x], [a, a * y[0, 0], a * T.exp(y.sum())], mode=mode), []

    assert_agrees(build, np.int8(chosen), X)


@pytest.mark.parametrize("chosen", [0, 1])
def test_nested_branches_that_overwrite_state(chosen):
    def build(mode):
        c, x = T.bscalar(), T.dmatrix()
        s, t = theano.shared(np.ones((3, 3))), theano.shared(np.ones((3, 3)))
        inner = ifelse(T.lt(x.sum(), 0), T.exp(x) * 2, T.inc_subtensor(s[0], 1) * 2)
        y = ifelse(c, inner, t + x)
        updates = [(s, T.inc_subtensor(y[0], 1)), (t, t * 2 + y)]
        return theano.function([c, x], [T.dot(y, x.T)], updates=updates, mode=mode), [s, t]

    assert_agrees(build, np.int8(chosen), X)


@pytest.mark.parametrize("mode", NATIVE.values(), ids=NATIVE)
def test_a_failing_call_leaves_all_state(mode):
    x, i = T.dmatrix(), T.lscalar()
    s, t = theano.shared(np.ones((3, 3))), theano.shared(np.ones(3))
    updates = [(s, T.inc_subtensor(s[i], 1.0) * 2), (t, T.set_subtensor(t[:2], x[0, :2]) + x[i])]
    f = theano.function([x, i], [T.dot(x, x)[i], T.exp(s * 2 + x)], updates=updates, mode=mode)
    f(X, 1)
    before = s.get_value(), t.get_value()
    for value, index in ((X, 7), (X[:2], 1), (X[:2, :2], 1)):
        with pytest.raises((ValueError, IndexError)):
            f(value, index)
        np.testing.assert_array_equal(s.get_value(), before[0])
        np.testing.assert_array_equal(t.get_value(), before[1])


@pytest.mark.parametrize("mode", NATIVE.values(), ids=NATIVE)
def test_outputs_share_no_memory(mode):
    x, s = T.dmatrix(), theano.shared(np.ones((3, 3)))
    constant = T.constant(np.arange(9.0).reshape(3, 3))
    f = theano.function([x], [x, x, x.T, x[::-1], s, s.T, constant, constant[0], x * 2, (x * 2).T], mode=mode)
    given_x = X.copy()
    first = [np.array(v) for v in f(given_x)]
    for value in f(given_x):
        value[...] = 77
    np.testing.assert_array_equal(given_x, X)
    np.testing.assert_array_equal(s.get_value(), np.ones((3, 3)))
    for found, expected in zip(f(given_x), first, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [50, 63, 64, 130])
def test_many_outputs_of_one_input(n):
    def build(mode):
        x = T.dmatrix()
        return theano.function([x], [x * float(i + 2) for i in range(n)], mode=mode), []

    assert_agrees(build, X)


@pytest.mark.parametrize("dtype", ["float64", "int8"])
@pytest.mark.parametrize("n", [61, 130])
def test_many_inputs(n, dtype):
    def build(mode):
        terms = [T.vector(dtype=dtype) for _ in range(n)]
        f = theano.function(terms, [T.add(*terms), T.mul(*terms)], mode=mode)
        return (lambda v: f(*[np.asarray(v + i % 2, dtype=dtype) for i in range(n)])), []

    assert_agrees(build, np.asarray([1, 2, -1], dtype=dtype))


@pytest.mark.parametrize("mode", NATIVE.values(), ids=NATIVE)
def test_many_small_integers_and_a_float(mode):
    small, x = [T.bvector() for _ in range(80)], T.dvector()
    f = theano.function([*small, x], T.add(*small, x), mode=mode)
    np.testing.assert_allclose(f(*[np.full(2, 100, "int8")] * 80, np.array([0.5, 1])), [8000.5, 8001])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("value", [1, 1j, -2.5 - 3j])
def test_complex_constants(dtype, value):
    def build(mode):
        x = T.vector(dtype=dtype)
        k = np.asarray(value, dtype)
        return theano.function([x], [x + k, x * k * 2 + x, T.switch(T.eq(x.real, 1), x, k)], mode=mode), []

    assert_agrees(build, np.array([1 + 1j, 2 - 3j], dtype))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_of_complex_numbers_are_rounded_alike_everywhere(dtype):
    rng = np.random.RandomState(0)
    a, b = ((rng.normal(size=43) + 1j * rng.normal(size=43)).astype(dtype) for _ in range(2))
    x, y = (T.TensorType(dtype, (False,))() for _ in range(2))
    f = theano.function([x, y], [x * y, T.sqr(x), x * y * 2, x * T.conj(x)])
    whole = f(a, b)
    assert not whole[3].imag.any()
    np.testing.assert_allclose(whole[2], a * b * 2, rtol=1e-5)
    np.testing.assert_allclose(whole[1], a * a, rtol=1e-5)
    for start in range(1, 20):
        for part, complete in zip(f(a[start:].copy(), b[start:].copy()), whole):
            np.testing.assert_array_equal(part, complete[start:])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_operations_of_several_complex_numbers(dtype, n):
    rng = np.random.RandomState(n)
    values = [(rng.normal(size=7) + 1j * rng.normal(size=7)).astype(dtype) for _ in range(n)]
    inputs = [T.TensorType(dtype, (False,))() for _ in range(n)]
    f = theano.function(inputs, [T.mul(*inputs), T.add(*inputs), T.mul(*inputs[1:]) / inputs[0]])
    product = functools.reduce(np.multiply, values)
    expected = [product, sum(values), functools.reduce(np.multiply, values[1:]) / values[0]]
    for found, right in zip(f(*values), expected, strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, right, rtol=1e-5)


def test_extrema_of_complex_numbers():
    def build(mode):
        x = T.matrix(dtype="complex64")
        return theano.function([x], [x.max(0), x.min()], mode=mode), []

    assert_agrees(build, np.array([[1 + 1j, 2 - 3j], [1 + 2j, -1j]], "complex64"))


@pytest.mark.parametrize("index", [np.s_[::-1], np.s_[0], [0, 1, 0], (slice(None), [0, 1])], ids=str)
@pytest.mark.parametrize("y_dtype", ["float64", "int8", "bool"])
@pytest.mark.parametrize("x_dtype", ["int32", "float32", "complex64"])
@pytest.mark.parametrize("change", [T.inc_subtensor, T.set_subtensor])
def test_values_of_another_dtype(change, x_dtype, y_dtype, index):
    def build(mode):
        x, y = T.matrix(dtype=x_dtype), T.scalar(dtype=y_dtype)
        return theano.function([x, y], [change(x[index], y), T.neq(x, 0)], mode=mode), []

    x = T.matrix(dtype=x_dtype)
    try:
        change(x[index], T.scalar(dtype=y_dtype))
    except TypeError:
        pytest.skip("not allowed")
    assert_agrees(build, np.arange(-2, 4).reshape(2, 3).astype(x_dtype), np.asarray(1.75).astype(y_dtype))


REDUCTIONS = {
    "sum": lambda x: x.sum(0),
    "sum of no axis": lambda x: x.sum(axis=()),
    "prod": lambda x: x.prod(1, keepdims=True),
    "any": lambda x: x.any(0),
    "all": lambda x: x.all(axis=()),
    "mean": lambda x: x.mean(1, keepdims=True),
    "cumsum": lambda x: T.cumsum(x, 0),
}
EXTREMA = {
    "max": lambda x: x.max(0),
    "argmax": lambda x: x.argmax(1),
    "max_and_argmax": lambda x: T.max_and_argmax(x, axis=None)[1],
}


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (2, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
def test_reductions(dtype, shape):
    def build(mode):
        x = T.matrix(dtype=dtype)
        return theano.function([x], [reduce(x) for reduce in REDUCTIONS.values()], mode=mode), []

    assert_agrees(build, np.arange(np.prod(shape)).reshape(shape).astype(dtype))


@pytest.mark.parametrize("name", EXTREMA)
def test_extrema_with_nan_ties_and_nothing(name):
    def build(mode):
        x = T.dmatrix()
        return theano.function([x], [EXTREMA[name](x)], mode=mode), []

    assert_agrees(build, np.array([[1, np.nan, 2], [np.inf, np.inf, 1], [-np.inf, -np.inf, -np.inf], [np.nan, 0, np.nan]]))
    x = T.dmatrix()
    for mode in (*NATIVE.values(), REFERENCE):
        with pytest.raises(ValueError):
            theano.function([x], EXTREMA[name](x), mode=mode)(np.zeros((0, 0) if name != "argmax" else (2, 0)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
def test_crossentropy_targets(dtype):
    def build(mode):
        x, y = T.dmatrix(), T.vector(dtype=dtype)
        loss = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
        return theano.function([x, y], [loss, T.grad(loss.mean(), x)], mode=mode), []

    assert_agrees(build, X, np.array([0, 2, 1], dtype))
    for mode in (*NATIVE.values(), REFERENCE):
        with pytest.raises(ValueError):
            build(mode)[0](X, np.array([0, 3, 1], dtype))


STEPS = [
    lambda a, b, c: T.tanh(a),
    lambda a, b, c: a * 0.5 + b,
    lambda a, b, c: T.dot(a, b) / 3,
    lambda a, b, c: T.inc_subtensor(a[1], b[0]),
    lambda a, b, c: T.set_subtensor(a[::-1, :2], b[:, 1:]),
    lambda a, b, c: T.inc_subtensor(a[[0, 2]], b[:2]),
    lambda a, b, c: ifelse(c, a, b),
    lambda a, b, c: ifelse(T.lt(a[0, 0], 0.5), b, a),
    lambda a, b, c: ifelse(T.lt(b[0, 0], 0.5), [a, b], [b, a * 2])[1],
    lambda a, b, c: a - a.sum(0, keepdims=True),
    lambda a, b, c: a.T[::-1],
    lambda a, b, c: T.exp(-T.sqr(a)) * b,
]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.integers(0, 2**32), st.booleans())
def test_random_graphs_with_state_and_branches(seed, chosen):
    def build(mode):
        draw = random.Random(seed)
        c, x = T.bscalar(), T.dmatrix()
        s, t = theano.shared(np.full((3, 3), 0.5)), theano.shared(np.eye(3))
        values = [x, s, t]
        for _ in range(draw.randint(4, 14)):
            values.append(draw.choice(STEPS)(draw.choice(values[-5:]), draw.choice(values), c))
        outputs = [draw.choice(values) for _ in range(draw.randint(0, 3))]
        updates = [(s, draw.choice(values)), (t, draw.choice(values))]
        return theano.function([c, x], outputs, updates=updates, mode=mode, on_unused_input="ignore"), [s, t]

    assert_agrees(build, np.int8(chosen), X)


def test_what_several_nodes_compute_is_written_once():
    x = T.fvector("x")
    p = T.nnet.sigmoid(x)
    f = theano.function([x], [p * 2, (p + 1) * T.nnet.sigmoid(x), T.nnet.sigmoid(x) - 0.25])
    from theano.native.lowering.scalars import StatementWriter
    from theano.scalar import basic as scal
    from theano.scalar.expression import variable

    writer = StatementWriter()
    v, w = variable("v", "float32"), variable("w", "float32")
    once = writer.apply(scal.exp, [v])
    assert writer.apply(scal.exp, [v]) == once and len(writer.statements) == 1
    assert writer.apply(scal.exp, [w]) != once
    assert writer.value(v, "float64") == writer.value(v, "float64") and len(writer.statements) == 3
    value = np.linspace(-3, 3, 7, dtype="float32")
    expected = 1 / (1 + np.exp(-value.astype("float64")))
    for found, wanted in zip(f(value), [expected * 2, (expected + 1) * expected, expected - 0.25], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)

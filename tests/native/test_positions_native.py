"""Flat indices, permutations, repetitions, diagonals, distinct elements: native results and errors are those of `perform`."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from vm_tools import runtime

import theano
import theano.tensor as tt
from theano.tensor import extra_ops
from theano.tensor.choosing import permute_row_elements

assert runtime is not None

RNG = np.random.RandomState(0)
MATRIX = RNG.randn(3, 4)
ROWS = np.array([[2, 0, 1, 3], [1, 3, 2, 0], [0, 1, 2, 3]])


def outcome(f, values):
    """The results, or the type of the error."""
    try:
        found = f(*values)
    except Exception as error:
        return type(error)
    return found if isinstance(found, list) else [found]


def assert_as_in_python(build, *values):
    values = [np.asarray(v) for v in values]
    inputs = [tt.TensorType(v.dtype.name, (False,) * v.ndim)() for v in values]
    outputs = build(*inputs)
    native = theano.function(inputs, outputs, on_unused_input="ignore")
    assert not [i.node for i in native.fn.instrs if i.op.runs_python]
    expected = outcome(theano.function(inputs, outputs, mode=theano.Mode("py", "fast_run"), on_unused_input="ignore"), values)
    found = outcome(native, values)
    if isinstance(expected, type):
        assert found is expected
        return
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert_array_equal(a, b)


@pytest.mark.parametrize("value", [MATRIX, MATRIX[::-1, ::2], MATRIX.T, MATRIX[:0]])
def test_contiguous(value):
    assert_as_in_python(extra_ops.cpu_contiguous, value)
    assert theano.function([x := tt.dmatrix()], extra_ops.cpu_contiguous(x))(value).flags.c_contiguous


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 8])
def test_bartlett(dtype, length):
    assert_as_in_python(extra_ops.bartlett, np.array(length, dtype))
    if dtype == "int8":
        assert_as_in_python(extra_ops.bartlett, np.array(-length, dtype))


def test_large_expressions_of_positions():
    n, m, k = tt.lscalars("nmk")
    window, triangle = theano.function([n], extra_ops.bartlett(n)), theano.function([n, m, k], tt.tri(n, m, k))
    assert np.allclose(window(300_001), np.bartlett(300_001), rtol=0, atol=1e-15)
    for sizes in ((700, 500, -90), (300_000, 1, -7), (1, 300_000, 7)):
        assert_array_equal(triangle(*sizes), np.tri(*sizes))


def test_small_expressions_of_positions_after_those_that_were_planned():
    n, k = tt.lscalars("n", "k")
    triangle = theano.function([n, k], tt.tri(n, n, k))
    for size in range(50, 600, 50):
        assert_array_equal(triangle(size, 1), np.tri(size, size, 1))
        assert_array_equal(triangle(3, 0), np.tri(3))


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (3, 3, 3), (2, 3, 3), (0, 3)])
def test_fill_diagonal(shape):
    assert_as_in_python(extra_ops.fill_diagonal, RNG.randn(*shape), 7.0)
    assert_as_in_python(extra_ops.fill_diagonal, RNG.randint(9, size=shape)[::-1], np.int8(7))


@pytest.mark.parametrize("offset", [-9, -3, -1, 0, 1, 3, 4, 9])
def test_fill_diagonal_offset(offset):
    for value in (MATRIX, MATRIX.T):
        assert_as_in_python(extra_ops.fill_diagonal_offset, value, np.float32(7), np.int8(offset))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "index", [np.array([[3, 5], [7, 23]], "int16"), np.array(11), np.zeros((0, 2), int), np.array([24]), np.array([3, -1])]
)
def test_unravel_index(index, order):
    assert_as_in_python(lambda i, d: list(tt.unravel_index(i, d, order, ndim=3)), index, [2, 3, 4])
    assert_as_in_python(lambda i, d: list(tt.unravel_index(i, d, order, ndim=3)), index, [2, 3])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", ("clip", "wrap")])
def test_ravel_multi_index(mode, order):
    def build(i, j, lengths):
        return tt.ravel_multi_index((i, j), lengths, mode, order)

    assert_as_in_python(build, [[1], [0]], np.array([2, 0, 1], "int8"), [2, 3])
    assert_as_in_python(build, [5, -1, -7], np.array([2, 0, 9], "int8"), [2, 3])
    assert_as_in_python(build, [5, -1, -7], np.array([2, 0, 9], "int8"), [2, 3, 4])
    assert_as_in_python(build, np.zeros(0, int), np.zeros(0, int), [2, 3])
    assert_as_in_python(build, [0, 1], [0, 1, 2], [2, 3])


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("dtype", ["float64", "int8", "complex128", "float16", "float32"])
def test_permuted_rows(dtype, inverse):
    def build(x, y):
        return permute_row_elements(x, y, inverse)

    x = MATRIX.astype(dtype)
    for values in ((x, ROWS), (x, ROWS[0]), (x[0], ROWS), (x[::-1, ::-1], ROWS[:, ::-1]), (np.stack([x, x + x]), ROWS)):
        assert_as_in_python(build, *values)
    assert_as_in_python(build, x, ROWS - 4)
    for values in ((x, ROWS + 1), (x, ROWS - 5), (x[:, :3], ROWS), (x, ROWS[:2])):
        assert_as_in_python(build, *values)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_repetitions(axis):
    op = extra_ops.RepeatOp(axis)
    length = MATRIX.size if axis is None else MATRIX.shape[axis]
    for repeats in (np.int8(2), [3], np.arange(length, dtype="int32"), np.arange(length + 1), [-1], np.zeros(length, int)):
        assert_as_in_python(op, MATRIX[::-1], repeats)
    assert_as_in_python(op, np.zeros((0, 0)), np.zeros(0, int))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int32"])
def test_number_of_counts(dtype):
    for value in ([3, 1, 3, 0], [], [7]):
        assert_as_in_python(tt.bincount, np.array(value, dtype)[::-1])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("wanted", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_distinct_elements(dtype, wanted):
    op = extra_ops.Unique(*map(bool, wanted))
    assert_as_in_python(op, RNG.randint(-3, 3, 20).astype(dtype))
    assert_as_in_python(op, RNG.randint(-3, 3, (2, 3, 4)).astype(dtype)[::-1, :, ::2])
    assert_as_in_python(op, np.zeros(0, dtype))
    assert_as_in_python(op, np.array(2, dtype))
    if dtype.startswith("float"):
        assert_as_in_python(op, np.array([np.nan, 1, np.nan, 0.0, np.inf, -np.inf, 1], dtype))


def test_many_distinct_elements():
    x = RNG.randint(0, 5000, 20000)
    assert_as_in_python(extra_ops.Unique(True, True, True), x)
    assert_as_in_python(extra_ops.Unique(), x.astype("float32"))


def test_the_slice_next_to_an_array_is_not_made():
    x, i, n = tt.dmatrix(), tt.lvector(), tt.lscalar()
    index = np.array([0, 2, 2])
    read, written = theano.function([x, i, n], [x[i, 1:n], tt.set_subtensor(x[i, 1:n], 2.0)])(MATRIX, index, 3)
    expected = MATRIX.copy()
    expected[index, 1:3] = 2
    assert_array_equal(read, MATRIX[index, 1:3])
    assert_array_equal(written, expected)
    assert_as_in_python(lambda x, i, n: x[i, 1:n], MATRIX, index, 3)


def test_indexing_that_runs_in_python_gets_its_slice():
    """Increments of a wider kind have no native form."""
    x, y, i, n = tt.lmatrix(), tt.dmatrix(), tt.lvector(), tt.lscalar()
    f = theano.function([x, y, i, n], tt.inc_subtensor(x[i, 1:n], tt.cast(y, "int64")))
    value = np.arange(12).reshape(3, 4)
    expected = value.copy()
    np.add.at(expected, (np.array([0, 0]), slice(1, 3)), 1)
    assert_array_equal(f(value, np.ones((2, 2)), np.array([0, 0]), 3), expected)


def test_a_message_shows_inputs_that_were_converted():
    """An input of another dtype than the instruction works in, whose shape is the reason."""
    a, b = tt.lmatrix(), tt.lvector()
    f = theano.function([a, b], tt.slinalg.solve(a, b))
    with pytest.raises(ValueError, match=r"Inputs shapes: \[\(3, 3\), \(2,\)\]"):
        f(np.eye(3, dtype=int), np.ones(2, int))
    x, k = tt.dmatrix(), tt.bvector()
    f = theano.function([x, k], extra_ops.RepeatOp()(x + 1, k))
    with pytest.raises(ValueError, match=r"Inputs shapes: \[\(3, 4\), \(2,\)\]"):
        f(MATRIX, np.ones(2, "int8"))

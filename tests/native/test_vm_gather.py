"""Functions that index by arrays run natively and agree with NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from vm_tools import runtime

import theano
import theano.tensor as tt

assert runtime is not None

SETTINGS = settings(max_examples=40, deadline=None)


def compile_natively(inputs, outputs, **kwargs):
    """A function of which no part runs in Python, but for making slices."""
    f = theano.function(inputs, outputs, **kwargs)
    python = [i.node.op for i in f.fn.instrs if i.op.runs_python]
    assert all(type(op).__name__ == "MakeSlice" for op in python), python
    return f


@st.composite
def index_and_shape(draw):
    """A shape and an index with at least one array."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    broadcast = draw(st.sampled_from([(), (3,), (2, 3)]))
    index, has_array, axis = [], False, 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from(["array", "array", "slice", "none", "stop", "mask"]))
        if kind == "array":
            part = broadcast[draw(st.integers(0, len(broadcast))) :]
            size = int(np.prod(part))
            values = draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
            index.append(np.array(values, "int64").reshape(part))
            has_array = has_array or bool(part)
            axis += 1
        elif kind == "slice":
            index.append(draw(st.slices(n)))
            axis += 1
        elif kind == "none" and len(index) < 6:
            index.append(None)
        elif kind == "mask" and not has_array and len(broadcast) == 0:
            index.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))))
            has_array = True
            axis += 1
        elif kind == "stop":
            break
    if not has_array:
        index = [np.array([0, -1, 0])]
    return tuple(shape), tuple(index)


@SETTINGS
@given(index_and_shape(), st.booleans())
def test_reading_and_writing(case, set_it):
    shape, index = case
    x = np.arange(float(np.prod(shape))).reshape(shape)
    expected = x[index]
    v = theano.shared(x, borrow=False)
    read = tt.as_tensor_variable(v)[index]
    assert_array_equal(compile_natively([], read)(), expected)
    value = 7.0 if set_it else np.arange(float(expected.size)).reshape(expected.shape)
    changed = x.copy()
    if set_it:
        changed[index] = value
        new = tt.set_subtensor(v[index], value)
    else:
        np.add.at(changed, index, value)
        new = tt.inc_subtensor(v[index], value)
    assert_allclose(compile_natively([], new)(), changed)
    assert_array_equal(v.get_value(), x)
    compile_natively([], [], updates=[(v, new)])()
    assert_allclose(v.get_value(), changed)


def test_slices_with_symbolic_ends():
    x, i, k = tt.dtensor3("x"), tt.lvector("i"), tt.lscalar("k")
    f = compile_natively([x, i, k], [x[i, k:, None], tt.inc_subtensor(x[i, :k], 1.0)])
    value, index = np.arange(24.0).reshape(2, 3, 4), np.array([1, 0, 1])
    read, changed = f(value, index, 2)
    assert_array_equal(read, value[index, 2:, None])
    expected = value.copy()
    np.add.at(expected, (index, slice(None, 2)), 1.0)
    assert_array_equal(changed, expected)


def test_masks_of_several_dimensions():
    x, m = tt.dtensor3("x"), tt.tensor3("m", dtype="bool")
    value = np.arange(24.0).reshape(2, 3, 4)
    f = compile_natively([x, m], x[m])
    assert_array_equal(f(value, value % 2 == 0), value[value % 2 == 0])
    with pytest.raises(IndexError):
        f(value, np.ones((2, 3, 3), bool))


def test_errors_leave_shared_variables_alone():
    v, i = theano.shared(np.zeros((3, 2))), tt.lvector("i")
    f = theano.function([i], [], updates=[(v, tt.inc_subtensor(v[i, i], 1.0))])
    f([0, 1])
    before = v.get_value()
    with pytest.raises(IndexError, match="out of bounds"):
        f([0, 2])
    assert_array_equal(v.get_value(), before)


def test_diagonals_cumulative_sums_and_nonzero():
    x, d = tt.dmatrix("x"), tt.ivector("d")
    value, diagonal = np.arange(12.0).reshape(3, 4), np.array([1, 2], "int32")
    outputs = [tt.diagonal(x, 1), tt.diag(d), tt.cumsum(x, 1), tt.cumsum(x), tt.cumprod(d), *tt.nonzero(x > 3)]
    found = compile_natively([x, d], outputs)(value, diagonal)
    expected = [value.diagonal(1), np.diag(diagonal), value.cumsum(1), value.cumsum(), diagonal.cumprod()]
    for got, want in zip(found, [*expected, *np.nonzero(value > 3)], strict=True):
        assert_array_equal(got, want)

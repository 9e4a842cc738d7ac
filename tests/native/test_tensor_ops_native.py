"""Sorting, searching, cumulative sums, choosing, joining, gathering: native results against NumPy's and those of `perform`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from vm_tools import all_native, runtime, symbol

import theano
import theano.tensor as tt

assert runtime is not None

SETTINGS = settings(max_examples=25, deadline=None)
REAL = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
NUMBERS = (*REAL, "complex64", "complex128")


def elements(dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        info = np.iinfo(dtype)
        return st.integers(-3, 3) | st.integers(int(info.min), int(info.max)) if kind == "i" else st.integers(0, int(info.max))
    width = 64 if kind == "c" and dtype == "complex64" else np.dtype(dtype).itemsize * 8
    if kind == "c":
        part = st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.0, np.inf, -np.inf, np.nan])
        return st.builds(complex, part, part)
    return st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.0, np.inf, -np.inf, np.nan]) | st.floats(width=width)


@st.composite
def strided(draw, dtypes=NUMBERS, min_dims=1, max_dims=3, side=6, least=0):
    """An array with steps of every sign and size."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=least, max_side=side)) if max_dims else ()
    steps = [draw(st.sampled_from([1, -1, 2, -3])) for _ in shape]
    whole = draw(hnp.arrays(dtype, [n * abs(s) for n, s in zip(shape, steps, strict=True)], elements=elements(dtype)))
    order = draw(st.permutations(range(len(shape))))
    return whole[tuple(slice(None, None, s) for s in steps)].transpose(order)


def by_perform(f, *values):
    """The outputs of the last node's `perform`."""
    node = f.maker.fgraph.outputs[0].owner
    storage = [[None] for _ in node.outputs]
    node.op.perform(node, list(values), storage)
    return [s[0] for s in storage]


@SETTINGS
@given(strided(), st.data())
def test_sort_and_argsort(value, data):
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1))
    x = symbol(value)
    kind = data.draw(st.sampled_from(["quicksort", "mergesort", "heapsort", "stable"]))
    f, g = all_native([x], tt.sort(x, axis, kind)), all_native([x], tt.argsort(x, axis, kind))
    assert_array_equal(f(value), np.sort(value, axis, kind="stable"))
    assert_array_equal(g(value), np.argsort(value, axis, kind="stable"))


def test_axis_given_at_run_time():
    x, axis = tt.dmatrix(), tt.lscalar()
    f = all_native([x, axis], [tt.sort(x, axis), tt.argsort(x, axis)])
    value = np.array([[3.0, 1.0], [2.0, 5.0]])
    for k in (0, 1, -1, -2):
        assert_array_equal(f(value, k)[0], np.sort(value, k))
        assert_array_equal(f(value, k)[1], np.argsort(value, k))
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        f(value, 2)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("size", [31, 33, 300, 5000])
def test_long_rows(dtype, size):
    rng = np.random.RandomState(size)
    wide = rng.randint(-(2**31), 2**31, size).astype("int64") * (2**31 + 11)
    narrow = rng.randint(0, 3, size)
    for whole in (wide, narrow, (wide >> 40 << 40) + narrow, np.sort(wide)):
        value = whole.astype(dtype) if np.dtype(dtype).kind != "c" else (whole + 1j * np.roll(whole, 3)).astype(dtype)
        x = symbol(value)
        assert_array_equal(all_native([x], tt.sort(x))(value), np.sort(value, kind="stable"))
        assert_array_equal(all_native([x], tt.argsort(x))(value), np.argsort(value, kind="stable"))


@SETTINGS
@given(strided(REAL, least=1), st.data())
def test_topk(value, data):
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    n = value.shape[axis]
    k = data.draw(st.integers(1, n)) * data.draw(st.sampled_from([1, -1]))
    x, kth = symbol(value), tt.iscalar()
    f = all_native([x, kth], tt.topk_and_argtopk(x, kth, axis, idx_dtype="int32"))
    values, positions = f(value, k)
    ordered = np.sort(value, axis, kind="stable")
    if k > 0:
        ordered = np.flip(ordered, axis)
    assert_array_equal(values, np.take(ordered, range(abs(k)), axis))
    assert_array_equal(np.take_along_axis(value, positions.astype("int64"), axis), values)
    assert positions.dtype == "int32"
    distinct = np.sort(positions, axis)
    assert not (np.diff(distinct, axis=axis) == 0).any()
    assert_array_equal(np.sort(all_native([x, kth], tt.topk(x, kth, axis, sorted=False))(value, k), axis), np.sort(values, axis))
    with pytest.raises(ValueError, match="kth must be"):
        f(value, n + 1)


@SETTINGS
@given(strided(max_dims=1, side=20), strided(min_dims=0, max_dims=3), st.sampled_from(["left", "right"]))
def test_searchsorted(vector, values, side):
    dtype = np.result_type(vector, values)
    order = np.argsort(vector.astype(dtype), kind="stable")
    x, v, sorter = symbol(vector), symbol(values), tt.lvector()
    f = all_native([x, v, sorter], tt.extra_ops.searchsorted(x, v, side, sorter))
    assert_array_equal(f(vector, values, order), np.searchsorted(vector, values, side, order))
    assert_array_equal(f(vector, values, order), by_perform(f, vector, values, order)[0])
    g = all_native([x, v], tt.extra_ops.searchsorted(x, v, side))
    assert_array_equal(g(vector[order], values), np.searchsorted(vector[order], values, side))
    if len(order):
        with pytest.raises(ValueError, match="Sorter index out of range"):
            f(vector, values, order + 1)


@SETTINGS
@given(strided(), st.data())
def test_cumulative(value, data):
    if value.dtype.kind in "fc":
        value = np.nan_to_num(np.clip(value.real, -3, 3).round()).astype(value.dtype)
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1))
    x = symbol(value)
    sums, products = all_native([x], tt.cumsum(x, axis)), all_native([x], tt.cumprod(x, axis))
    with np.errstate(all="ignore"):
        assert_array_equal(sums(value), by_perform(sums, value)[0])
        assert_array_equal(products(value), by_perform(products, value)[0])


def test_long_cumulative_sums():
    rng = np.random.RandomState(0)
    for dtype in ("float32", "float64", "int64", "int8"):
        value = (rng.uniform(0, 100, (3, 5000)) * 0.37).astype(dtype)
        x = symbol(value)
        f = all_native([x], [tt.cumsum(x, 1), tt.cumsum(x.T, 1), tt.cumsum(x)])
        for found, axis, source in zip(f(value), (1, 1, None), (value, value.T, value), strict=True):
            assert_allclose(found, source.cumsum(axis, dtype="float64"), rtol=1e-4)
        assert (np.diff(f(value)[2]) >= 0).all()
    x = tt.dvector()
    f = all_native([x], tt.cumsum(x))
    value = np.concatenate([[-1e308, 1e308, 1e308, -1e308, 1e308], np.ones(20), [np.inf, 1.0], np.ones(20), [-np.inf]])
    assert_array_equal(f(value), value.cumsum())
    assert np.signbit(f(np.full(30, -0.0))).all()


@SETTINGS
@given(strided(max_dims=3), st.integers(0, 3), st.data())
def test_diff(value, n, data):
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    x = symbol(value)
    with np.errstate(all="ignore"):
        f = all_native([x], tt.extra_ops.diff(x, n, axis))
        assert_array_equal(f(value), np.diff(value, n, axis))


@SETTINGS
@given(st.integers(-2, 6), st.integers(-2, 6), st.integers(-8, 8), st.sampled_from(NUMBERS))
def test_tri(rows, columns, k, dtype):
    n, m, diagonal = tt.lscalars("nmk")
    f = all_native([n, m, diagonal], tt.tri(n, m, diagonal, dtype=dtype))
    assert_array_equal(f(rows, columns, k), np.tri(rows, columns, k, dtype=dtype))


def test_tri_without_rows():
    n, m = tt.lscalars("nm")
    assert all_native([n, m], tt.tri(n, m))(0, 2**40).shape == (0, 2**40)
    assert all_native([n, m], tt.tri(n, m, 2**62))(3, 2).sum() == 6


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("rows, columns, k", [(3, 3, 0), (2, 5, 1), (5, 2, -3), (0, 3, 0), (3, 0, 1), (3, 3, -(2**40))])
def test_eye(rows, columns, k, dtype):
    n, m, diagonal = tt.lscalars("nmk")
    expected = np.eye(rows, columns, k, dtype=dtype)
    for offset in (diagonal, k):
        got = all_native([n, m, diagonal], tt.eye(n, m, offset, dtype=dtype))(rows, columns, k)
        assert_array_equal(got, expected)
        assert got.dtype == dtype
    with pytest.raises(ValueError, match="negative dimensions"):
        all_native([n], tt.eye(n))(-1)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_matrix_of_a_diagonal(offset, dtype):
    x = tt.TensorType(dtype, (False,))()
    f = all_native([x], tt.basic.AllocDiag(offset)(x))
    for value in (np.arange(3).astype(dtype), np.arange(8).astype(dtype)[::-3], np.zeros(0, dtype)):
        assert_array_equal(f(value), np.diag(value, offset))


def test_arrays_of_coordinates_in_a_loop():
    def step(x):
        return [tt.eye(3) * x, tt.eye(2, 3, 1), tt.tri(3) + x, tt.diag(tt.stack([x, x]))]

    outs, _ = theano.scan(step, sequences=tt.arange(4.0))
    values = theano.function([], outs)()
    for i in range(4):
        assert_array_equal(values[0][i], i * np.eye(3))
        assert_array_equal(values[1][i], np.eye(2, 3, 1))
        assert_array_equal(values[2][i], np.tri(3) + i)
        assert_array_equal(values[3][i], np.diag([i, i]))


@SETTINGS
@given(st.data(), st.sampled_from(["raise", "wrap", "clip"]))
def test_choose(data, mode):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=4))
    count = data.draw(st.integers(2, 4))
    limits = (0, count - 1) if mode == "raise" else (-9, 9)
    index = data.draw(hnp.arrays("int8", shape, elements=st.integers(*limits)))
    choices = []
    for _ in range(count):
        part = tuple(data.draw(st.sampled_from([n, 1])) for n in shape)
        choices.append(data.draw(hnp.arrays(data.draw(st.sampled_from(REAL)), part[data.draw(st.integers(0, len(part))):])))
    types = [tt.TensorType(c.dtype.name, tuple(n == 1 for n in c.shape))() for c in choices]
    i = symbol(index)
    f = all_native([i, *types], tt.choose(i, types, mode=mode))
    dtype = np.result_type(*choices)
    expected = np.choose(index, [c.astype(dtype) for c in choices], mode=mode)
    assert_array_equal(f(index, *choices), expected)
    assert_array_equal(f(index[::-1] if shape else index, *choices), np.choose(index[::-1] if shape else index,
                       [c.astype(dtype) for c in choices], mode=mode))
    together = np.stack([np.broadcast_to(c, shape).astype(dtype) for c in choices])
    t = symbol(together)
    assert_array_equal(all_native([i, t], tt.choose(i, t, mode=mode))(index, together), expected)
    if mode == "raise" and index.size:
        with pytest.raises(ValueError, match="invalid entry"):
            f(index - np.int8(100), *choices)


@SETTINGS
@given(strided(("complex64", "complex128"), least=1), st.data())
def test_extrema_of_complex_numbers(value, data):
    axis = data.draw(st.none() | st.integers(0, value.ndim - 1))
    x = symbol(value)
    f = all_native([x], [*tt.max_and_argmax(x, axis), tt.max(x, axis), tt.min(x, axis)])
    largest, where, again, least = f(value)
    assert_array_equal(largest, np.max(value, axis))
    assert_array_equal(again, largest)
    assert_array_equal(least, np.min(value, axis))
    assert_array_equal(where, np.argmax(value, axis))
    with pytest.raises(ValueError, match="no identity"):
        all_native([x], tt.max(x))(value[:0])


@pytest.mark.parametrize("axes", [(1, 0), (2, 0), (2, 1, 0), (1, 2, 0), (0,)])
def test_places_of_extrema_over_axes_in_any_order(axes):
    value = np.random.RandomState(3).permutation(24).reshape(2, 3, 4).astype("float64")
    value = value[:, :, 0] if axes == (1, 0) else value
    x = symbol(value)
    counted = tuple(range(value.ndim)) if len(axes) == value.ndim else axes
    rows = np.moveaxis(value, counted, range(-len(counted), 0)).reshape(*np.delete(value.shape, counted).astype(int), -1)
    where = rows.argmax(-1)
    for mode in (None, "FAST_COMPILE", theano.Mode("reference", "fast_run")):
        f = theano.function([x], [tt.Argmax(axes)(x), *tt.MaxAndArgmax(axes)(x)], mode=mode)
        alone, largest, beside = f(value)
        assert_array_equal(alone, where)
        assert_array_equal(beside, where)
        assert_array_equal(largest, value.max(axis=axes))


@SETTINGS
@given(strided(least=1), st.data())
def test_rows_by_one_index(value, data):
    n = value.shape[0]
    dtype = data.draw(st.sampled_from(["int8", "int32", "int64", "uint8"]))
    least = 0 if dtype == "uint8" else -n
    index = data.draw(hnp.arrays(dtype, st.integers(0, 9), elements=st.integers(least, n - 1)))
    index = index[:: data.draw(st.sampled_from([1, -1, 2]))]
    x, i = symbol(value), symbol(index)
    f = all_native([x, i], x[i])
    assert_array_equal(f(value, index), value[index])
    for bad in (n, -n - 1):
        if not (dtype == "uint8" and bad < 0):
            with pytest.raises(IndexError, match="out of bounds"):
                f(value, np.append(index, bad).astype(dtype))
    if value.dtype == bool:
        return
    new = (np.arange(value[index].size) % 5).reshape(value[index].shape).astype(value.dtype)
    y = symbol(new)
    with np.errstate(all="ignore"):
        expected = value.copy()
        expected[index] = new
        assert_array_equal(all_native([x, y, i], tt.set_subtensor(x[i], y))(value, new, index), expected)
        expected = value.copy()
        np.add.at(expected, index, new)
        assert_array_equal(all_native([x, y, i], tt.inc_subtensor(x[i], y))(value, new, index), expected)


def test_many_rows_in_place_with_repeated_positions():
    rng = np.random.RandomState(0)
    for shape in ((40, 300), (5000,), (40, 2)):
        table, index = rng.rand(*shape), rng.randint(-shape[0], shape[0], 3000)
        step = rng.rand(3000, *shape[1:])
        v, y, i = theano.shared(table), symbol(step), tt.lvector()
        f = theano.function([y, i], [], updates=[(v, tt.inc_subtensor(v[i], y))])
        f(step, index)
        expected = table.copy()
        np.add.at(expected, index, step)
        assert_allclose(v.get_value(), expected, rtol=1e-12)
        before = v.get_value()
        index[-1] = shape[0]
        with pytest.raises(IndexError):
            f(step, index)
        assert_array_equal(v.get_value(), before)
        g = all_native([i], v[i])
        assert_array_equal(g(index[:-1]), before[index[:-1]])
        with pytest.raises(IndexError, match=f"index {shape[0]} is out of bounds for axis 0 with size {shape[0]}"):
            g(index)


def test_joining_many_pieces():
    rng = np.random.RandomState(0)
    pieces = [rng.rand(rng.randint(0, 6000), 3) for _ in range(40)]
    symbols = [tt.dmatrix() for _ in pieces]
    assert_array_equal(all_native(symbols, tt.concatenate(symbols))(*pieces), np.concatenate(pieces))
    turned = [p[::-1].T for p in pieces]
    assert_array_equal(all_native(symbols, tt.concatenate(symbols, 1))(*turned), np.concatenate(turned, 1))


def test_batches_of_small_products():
    rng = np.random.RandomState(0)
    x, y = tt.ftensor3(), tt.ftensor3()
    f = all_native([x, y], tt.batched_dot(x, y))
    for shape in ((300, 9, 5, 7), (2, 200, 200, 200), (0, 3, 4, 5), (3, 2, 0, 4)):
        a, b = rng.rand(*shape[:3]).astype("float32"), rng.rand(shape[0], *shape[2:]).astype("float32")
        assert_allclose(f(a, b), a @ b, rtol=1e-4)
        assert_allclose(f(a[::-1, ::-1], b[::-1]), a[::-1, ::-1] @ b[::-1], rtol=1e-4)


@pytest.mark.parametrize("columns", [1, 7, 2048, 5000])
def test_reductions_down_columns_take_the_rows_in_order(columns):
    rng = np.random.RandomState(columns)
    x, i = tt.fmatrix(), tt.imatrix()
    f = all_native([x, i], [x.sum(0), (x * 2 - 1).sum(0, acc_dtype="float32"), x.max(0), i.sum(0), i.prod(0)])
    for rows in (1, 3, 4, 5, 11, 600):
        value = rng.uniform(-1, 1, (rows, columns)).astype("float32")
        value[rng.randint(rows), rng.randint(columns)] = np.nan
        whole = rng.randint(-9, 9, (rows, columns)).astype("int32")
        for a, k in ((value, whole), (value[::-1], whole[::-1]), (value[:, ::-1], whole[:, ::-1])):
            wide, single, largest, counts, products = f(a, k)
            assert_allclose(wide, a.astype("float64").sum(0), rtol=1e-6, atol=1e-6)
            assert_allclose(single, (a * 2 - 1).sum(0), rtol=1e-4, atol=1e-4)
            assert_array_equal(largest, a.max(0))
            assert_array_equal(counts, k.sum(0))
            assert_array_equal(products, k.prod(0))

"""Gathering, scattering and masks around the sizes at which the work is cut into blocks and shared out over threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from vm_tools import all_native, on_threads, own_threads, runtime, symbol  # noqa: F401

import theano
import theano.tensor as tt

SIZES = (0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1030)
DTYPES = ("bool", "int8", "float16", "float32", "int32", "float64", "int64", "complex64", "complex128")
pytestmark = pytest.mark.usefixtures("own_threads")


def native(values, build):
    """A function of arrays like these, of which no part runs in Python."""
    symbols = [symbol(v) for v in values]
    return all_native(symbols, build(*symbols))


def numbers(rng, shape, dtype):
    return (rng.uniform(-50, 50, shape) + (1j if dtype.startswith("complex") else 0)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_single_elements_of_every_size(dtype):
    rng = np.random.RandomState(0)
    x = numbers(rng, 100, dtype)
    for index_dtype in ("int64", "int32", "int16", "uint8", "uint64"):
        low = 0 if index_dtype.startswith("u") else -100
        f = None
        for n in SIZES:
            i = rng.randint(low, 100, n).astype(index_dtype)
            f = f or native([x, i], lambda v, k: v[k])
            for place in (i, i[::-1], np.repeat(i, 2)[::2]):
                assert_array_equal(f(x, place), x[place])
            assert_array_equal(f(x[::-2], place // 2), x[::-2][place // 2])


@pytest.mark.parametrize("where", [0, 7, 8, 511, 512, 1029, 39_999])
def test_an_index_out_of_bounds_is_found_wherever_it_stands(where):
    runtime.set_threads(3)
    n = 40_000 if where > 1100 else 1030
    x, i = np.arange(50.0), np.arange(n) % 50
    one, two = native([x, i], lambda v, k: v[k]), native([x[None], i], lambda v, k: v[k * 0, k])
    v, k = theano.shared(x), tt.lvector()
    add = theano.function([k], [], updates=[(v, tt.inc_subtensor(v[k], 1.0))])
    for bad in (50, -51, 2**62, -(2**63)):
        i[where] = bad
        for f, axis, value in ((one, 0, x), (two, 1, x[None])):
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis {axis} with size 50"):
                f(value, i)
        with pytest.raises(IndexError, match="out of bounds"):
            add(i)
        assert_array_equal(v.get_value(), x)


def test_many_single_elements():
    rng = np.random.RandomState(1)
    x, i = rng.uniform(-1, 1, (300, 200)), rng.randint(-300, 300, 70_001)
    k, j = rng.randint(-200, 200, 70_001).astype("int32"), rng.randint(0, 200, (70_001, 1))
    assert_array_equal(on_threads(native([x[:, 0], i], lambda v, p: v[p]), x[:, 0], i), x[i, 0])
    assert_array_equal(on_threads(native([x, i, k], lambda v, p, q: v[p, q]), x, i, k), x[i, k])
    assert_array_equal(on_threads(native([x, k, i], lambda v, p, q: v[p, q]), x.T, k, i), x[i, k])
    assert_array_equal(on_threads(native([x, i, j], lambda v, p, q: v[p[:7], q]), x, i, j), x[i[:7], j])


@pytest.mark.parametrize("shape, positions", [((30, 20, 9), 3), ((12, 8, 9), 600), ((2, 120, 300), 90), ((5, 4, 1), 33_000)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_whole_dimensions_around_the_index(shape, positions, axis):
    rng = np.random.RandomState(2)
    x, at = rng.uniform(-1, 1, shape), (slice(None),) * axis
    i = rng.randint(-shape[axis], shape[axis], positions)
    y = rng.randint(-9, 9, x[(*at, i)].shape).astype(float)
    read = native([x, i], lambda v, p: v[(*at, p)])
    add = native([x, i, y], lambda v, p, u: tt.inc_subtensor(v[(*at, p)], u))
    put = native([x, i, y], lambda v, p, u: tt.set_subtensor(v[(*at, p)], u))
    for value in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
        assert_array_equal(on_threads(read, value, i), value[(*at, i)])
        changed = np.moveaxis(value.copy(), axis, 0)
        np.add.at(changed, i, np.moveaxis(y, axis, 0))
        assert_allclose(on_threads(add, value, i, y), np.moveaxis(changed, 0, axis), rtol=1e-12)
        changed = value.copy()
        changed[(*at, i)] = y
        assert_array_equal(on_threads(put, value, i, y), changed)


def test_rows_by_a_matrix_of_positions():
    rng = np.random.RandomState(3)
    table, i = rng.uniform(-1, 1, (900, 130)).astype("float32"), rng.randint(-900, 900, (60, 30))
    f = native([table, i], lambda w, k: w[k])
    for index in (i, i[::-1], i.T, i[:, ::2], i[:0], i[:1, :1], np.broadcast_to(i[0], (60, 30))):
        assert_array_equal(on_threads(f, table, index), table[index])
    step = rng.uniform(-1, 1, (60, 30, 130)).astype("float32")
    add = native([table, i, step], lambda w, k, g: tt.inc_subtensor(w[k], g))
    for index, g in ((i, step), (i[::-1], step[:, ::-1])):
        expected = table.copy()
        for position, row in zip(index.reshape(-1), g.reshape(-1, 130), strict=True):
            expected[position] += row
        assert_array_equal(on_threads(add, table, index, g), expected)


@pytest.mark.parametrize("shape, axis", [((50, 700), 0), ((80, 50, 30), 1), ((5000,), 0)])
def test_sums_at_repeated_positions_do_not_depend_on_threads(shape, axis):
    rng = np.random.RandomState(4)
    x, i, at = rng.uniform(-1, 1, shape), rng.randint(0, shape[axis], 3000), (slice(None),) * axis
    y = rng.uniform(-1, 1, x[(*at, i)].shape)
    expected = np.moveaxis(x.copy(), axis, 0)
    for position, part in zip(i, np.moveaxis(y, axis, 0), strict=True):
        expected[position] += part
    found = on_threads(native([x, i, y], lambda v, p, u: tt.inc_subtensor(v[(*at, p)], u)), x, i, y)
    assert_array_equal(found, np.moveaxis(expected, 0, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_of_every_length(dtype):
    rng = np.random.RandomState(5)
    whole = numbers(rng, 3000, dtype)
    f, g = native([whole, whole > 0], lambda v, m: v[m]), native([whole > 0], lambda m: m.nonzero()[0])
    for n in SIZES:
        for share in (0.0, 0.1, 0.5, 1.0):
            x, m = whole[:n], rng.uniform(size=n) < share
            assert_array_equal(f(x, m), x[m])
            assert_array_equal(f(whole[: 2 * n : 2], m[::-1]), whole[: 2 * n : 2][m[::-1]])
            assert_array_equal(g(m), m.nonzero()[0])


@pytest.mark.parametrize("n", [16_383, 16_384, 16_385, 131_071, 131_072, 200_003])
def test_long_masks(n):
    rng = np.random.RandomState(6)
    x, m = rng.uniform(-1, 1, n), rng.uniform(size=n) < 0.3
    assert_array_equal(on_threads(native([x, m], lambda v, b: v[b]), x, m), x[m])
    assert_array_equal(on_threads(native([m], lambda b: b.nonzero()[0]), m), m.nonzero()[0])
    assert_array_equal(on_threads(native([x], lambda v: v.nonzero()[0]), np.where(m, x, 0)), m.nonzero()[0])
    assert_array_equal(on_threads(native([x, m], lambda v, b: tt.inc_subtensor(v[b], 1.0)), x, m), x + m)


@pytest.mark.parametrize("shape", [(3, 50_000), (50_000, 3), (400, 1, 400), (1, 60, 70)])
def test_masks_of_several_dimensions(shape):
    rng = np.random.RandomState(7)
    x = rng.uniform(-1, 1, shape)
    m = rng.uniform(size=shape) < 0.4
    f, g = native([x, m], lambda v, b: v[b]), native([x, m], lambda v, b: v[b[:, 0] if b.ndim == 2 else b[:, 0, 0]])
    h = native([m], lambda b: b.nonzero())
    for value, mask in ((x, m), (x[::-1], m[..., ::-1]), (np.asfortranarray(x), np.asfortranarray(m))):
        assert_array_equal(on_threads(f, value, mask), value[mask])
        rows = mask[(slice(None), *(0,) * (len(shape) - 1))]
        assert_array_equal(on_threads(g, value, mask), value[rows])
        assert_array_equal(np.array(on_threads(h, mask)), np.array(mask.nonzero()))


def test_a_mask_of_another_shape():
    x, m = np.zeros((4, 3)), np.ones(4, bool)
    f = native([x, m], lambda v, b: v[b])
    with pytest.raises(IndexError, match="boolean index did not match indexed array along axis 0; size of axis is 4 but size"):
        f(x, np.ones(3, bool))
    assert f(x[:, :0], m).shape == (4, 0)
    assert f(x, ~m).shape == (0, 3)


def test_an_axis_of_a_mask_without_flags_fits_every_length():
    x, m, mm = np.ones((5, 4, 2)), np.zeros(0, bool), np.zeros((0, 4), bool)
    get = native([x, m, mm], lambda v, b, bb: [v[b], v[bb], v[:, b]])
    put = native([x, m, mm], lambda v, b, bb: [tt.set_subtensor(v[b], 2), tt.inc_subtensor(v[bb], v[bb] * 3)])
    for rows in (mm, np.zeros((5, 0), bool)):
        assert [np.shape(part) for part in get(x, m, rows)] == [(0, 4, 2), (0, 2), (5, 0, 2)]
        for result in put(x, m, rows):
            assert_array_equal(result, x)
    with pytest.raises(IndexError, match="along axis 1; size of axis is 4 but size"):
        get(x, m, np.zeros((0, 3), bool))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_with_modes(mode):
    rng = np.random.RandomState(8)
    x, i = rng.uniform(-1, 1, (70, 11)), rng.randint(-11, 11, 5000)
    if mode != "raise":
        i = i * 30
    for axis in (0, 1, None):
        f = native([x, i], lambda v, k, axis=axis: tt.take(v, k, axis=axis, mode=mode))
        assert_array_equal(on_threads(f, x, i), np.take(x, i, axis=axis, mode=mode))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("factor", [None, 0.5])
def test_rows_of_a_large_table_are_written_page_by_page(factor, reverse):
    """Large enough for the pages to be shared out; with a factor the sum is made by a kernel."""
    rng = np.random.RandomState(9)
    table, g = rng.uniform(-1, 1, (9000, 160)).astype("float32"), rng.uniform(-1, 1, (1700, 160)).astype("float32")
    i = rng.choice([-1, 3, 4, 5000, *range(-9000, 9000, 11)], 1700)
    x = table[::-1] if reverse else table
    v, k, y = symbol(x), symbol(i), symbol(g)
    added = theano.function([v, k, y], tt.inc_subtensor(v[k], y if factor is None else np.float32(factor) * y))
    put = theano.function([v, k, y], tt.set_subtensor(v[k], y if factor is None else np.float32(factor) * y))
    scaled = g if factor is None else np.float32(factor) * g
    wanted = x.copy()
    np.add.at(wanted, i, scaled)
    assert_allclose(on_threads(added, x, i, g), wanted, rtol=1e-5, atol=1e-6)
    wanted = x.copy()
    wanted[i] = scaled
    assert_array_equal(on_threads(put, x, i, g), wanted)

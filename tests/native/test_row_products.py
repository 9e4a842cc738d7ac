"""Products of one row, or one column, with matrices of any layout, alone and in loops."""

import ctypes
import mmap
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vm_tools import all_native, own_threads, runtime  # noqa: F401

import theano
import theano.tensor as T

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every other column": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "backwards by columns": lambda a: np.asfortranarray(a[:, ::-1])[:, ::-1],
}
_made = {}
_guarded = []
_matrices = {}


def functions(dtype):
    if dtype not in _made:
        x, z, m = T.TensorType(dtype, (True, False))(), T.TensorType(dtype, (True, False))(), T.matrix(dtype=dtype)
        v, w = T.vector(dtype=dtype), T.vector(dtype=dtype)
        scale = np.asarray(0.5, dtype)
        _made[dtype] = (
            all_native([x, m], T.dot(x, m)),
            all_native([x, m, z], z + scale * T.dot(x, m)),
            all_native([x, m, z], T.exp(z) - T.dot(x, m)),
            all_native([v, m], T.dot(v, m)),
            all_native([v, m, w], scale * w + T.dot(m.T, v)),
            all_native([x, m], T.dot(m.T, x.T)),
        )
    return _made[dtype]


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(["float32", "float64", "complex128"]),
    depth=st.integers(0, 70),
    columns=st.integers(0, 150),
    layout=st.sampled_from(sorted(LAYOUTS)),
    row_layout=st.sampled_from(sorted(LAYOUTS)),
    seed=st.integers(0, 2**31),
)
def test_as_numpy(dtype, depth, columns, layout, row_layout, seed):
    rng = np.random.default_rng(seed)

    def array(*shape):
        a = rng.standard_normal(shape)
        return (a + 1j * rng.standard_normal(shape) if dtype == "complex128" else a).astype(dtype)

    m, x = LAYOUTS[layout](array(depth, columns)), LAYOUTS[row_layout](array(1, depth))
    z = LAYOUTS[row_layout](array(1, columns))
    before = [a.copy() for a in (m, x, z)]
    wide = np.result_type(dtype, "float64")
    product = x.astype(wide) @ m.astype(wide)
    close = {"rtol": 1e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    row, gemm, negative, vector, gemv, column = functions(dtype)
    np.testing.assert_allclose(row(x, m), product, **close)
    np.testing.assert_allclose(gemm(x, m, z), z + 0.5 * product, **close)
    np.testing.assert_allclose(negative(x, m, z), np.exp(z) - product, **close)
    np.testing.assert_allclose(vector(x[0], m), product[0], **close)
    np.testing.assert_allclose(gemv(x[0], m, z[0]), 0.5 * z[0] + product[0], **close)
    np.testing.assert_allclose(column(x, m), product.T, **close)
    for a, b in zip((m, x, z), before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("left", sorted(LAYOUTS))
@pytest.mark.parametrize("right", sorted(LAYOUTS))
def test_matrices(dtype, left, right):
    """Layouts that BLAS does not know are copied in the order in which they lie."""
    if dtype not in _matrices:
        a, b = T.matrix(dtype=dtype), T.matrix(dtype=dtype)
        _matrices[dtype] = all_native([a, b], T.dot(a, b)), all_native([a, b], T.dot(b.T, a.T))
    product, turned = _matrices[dtype]
    rng = np.random.default_rng(3)
    a, b = (LAYOUTS[name](rng.standard_normal(shape).astype(dtype)) for name, shape in ((left, (40, 300)), (right, (300, 50))))
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-11}
    np.testing.assert_allclose(product(a, b), a @ b, **close)
    np.testing.assert_allclose(turned(a, b), (a @ b).T, **close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize(("rows", "depth", "columns"), [(300, 20, 33), (37, 700, 32), (90, 256, 16), (41, 300, 31), (130, 7, 64)])
def test_narrow_matrices(dtype, layout, rows, depth, columns):
    """Few columns, which many rows pass by, whatever the layout of either; added to a third matrix and, for once, by columns."""
    key = dtype, "narrow"
    if key not in _matrices:
        a, b, c = (T.matrix(dtype=dtype) for _ in range(3))
        _matrices[key] = [all_native([a, b, c], y) for y in (T.dot(a, b), c - 2 * T.dot(a, b), T.dot(b.T, a.T))]
    rng = np.random.default_rng(4)
    a, b, c = (rng.standard_normal(shape).astype(dtype) for shape in ((rows, depth), (depth, columns), (rows, columns)))
    close = {"rtol": 1e-4, "atol": 2e-4} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-11}
    wanted = a @ b, c - 2 * (a @ b), (a @ b).T
    for x, y in ((LAYOUTS[layout](a), b), (a, LAYOUTS[layout](b)), (np.asfortranarray(a), LAYOUTS[layout](b))):
        for f, z in zip(_matrices[key], wanted, strict=True):
            np.testing.assert_allclose(f(x, y, c), z, **close)


def before_what_is_unreadable(a):
    """A copy of an array of at most 64 KiB; whoever reads behind it ends the process, where the system can do that."""
    if sys.platform == "win32":
        return a
    if not _guarded:
        _guarded.append(mmap.mmap(-1, 17 << 16))
        end = ctypes.addressof(ctypes.c_char.from_buffer(_guarded[0])) + (16 << 16)
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(end), ctypes.c_size_t(1 << 16), 0) == 0
    copied = np.frombuffer(_guarded[0], a.dtype, a.size, (16 << 16) - a.nbytes).reshape(a.shape)
    copied[...] = a
    return copied


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(["float32", "float64"]),
    rows=st.integers(2, 20),
    depth=st.integers(1, 40),
    columns=st.integers(1, 100),
    seed=st.integers(0, 2**31),
)
def test_low_matrices_of_any_number_of_columns(dtype, rows, depth, columns, seed):
    """What fills a vector in part; nothing behind the matrix is read."""
    if ("low", dtype) not in _made:
        a, b, c = (T.matrix(dtype=dtype) for _ in range(3))
        _made["low", dtype] = all_native([a, b], T.dot(a, b)), all_native([a, b, c], c - T.dot(a, b))
    product, sum_ = _made["low", dtype]
    rng = np.random.default_rng(seed)
    a, b, c = (rng.standard_normal(shape).astype(dtype) for shape in ((rows, depth), (depth, columns), (rows, columns)))
    b = before_what_is_unreadable(b)
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(product(a, b), a @ b, **close)
    np.testing.assert_allclose(sum_(a, b, c), c - a @ b, **close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [5, 8, 32, 45])
def test_in_loops(dtype, width):
    """A row times a matrix that stays the same, in the direction in which its rows lie together and in the other."""
    x, w, h0 = T.matrix(dtype=dtype), T.matrix(dtype=dtype), T.TensorType(dtype, (True, False))()
    h, _ = theano.scan(lambda xt, h: T.tanh(xt + T.dot(h, w)), sequences=[x.dimshuffle(0, "x", 1)], outputs_info=[h0])
    cost = T.sqr(h[-1]).sum()
    f = all_native([x, w, h0], [h, *T.grad(cost, [w, h0])])
    rng = np.random.default_rng(width)
    values = rng.standard_normal((30, width)).astype(dtype), (rng.standard_normal((width, width)) / width).astype(dtype)
    start = rng.standard_normal((1, width)).astype(dtype)
    states = [start.astype("float64")]
    for row in values[0].astype("float64"):
        states.append(np.tanh(row + states[-1] @ values[1].astype("float64")))
    slope, of_w = 2 * states[-1], np.zeros((width, width))
    for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
        slope = slope * (1 - after**2)
        of_w += before.T @ slope
        slope = slope @ values[1].astype("float64").T
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-13}
    for layout in (np.ascontiguousarray, np.asfortranarray):
        found, of_w_found, of_start = f(values[0], layout(values[1]), start)
        np.testing.assert_allclose(found[:, 0], np.vstack(states[1:]), **close)
        np.testing.assert_allclose(of_w_found, of_w, **close)
        np.testing.assert_allclose(of_start, slope, **close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(400, 784), (37, 3001), (9, 5000), (1000, 65), (8, 4099)])
def test_large_matrices_on_any_number_of_threads(dtype, shape, own_threads):  # noqa: F811
    rng = np.random.default_rng(0)
    m = rng.standard_normal(shape).astype(dtype)
    v, z = rng.standard_normal(shape[0]).astype(dtype), rng.standard_normal(shape[1]).astype(dtype)
    _, gemm, _, vector, gemv, column = functions(dtype)
    product = v.astype("float64") @ m.astype("float64")
    close = {"rtol": 1e-4, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-11}
    for layout in (np.ascontiguousarray, lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: np.pad(a, ((0, 0), (0, 3)))[:, :-3]):
        results = []
        for threads in (1, 2, 3):
            runtime.set_threads(threads)
            a = layout(m)
            found = [vector(v, a), gemv(v, a, z), gemm(v[None], a, z[None])[0], column(v[None], a)[:, 0]]
            for value, expected in zip(found, (product, 0.5 * z + product, z + 0.5 * product, product), strict=True):
                np.testing.assert_allclose(value, expected, **close)
            results.append(found)
        for others in results[1:]:
            for one, other in zip(results[0], others, strict=True):
                np.testing.assert_array_equal(one, other)

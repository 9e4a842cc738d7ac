"""Sparse operations give what SciPy and NumPy give, for all formats, dtypes and ways to store a matrix.

60 matrices run by default, 2,000 with the environment variable ``THEANO_NIGHTLY=1``.
"""

import functools
import os

import hypothesis
import numpy as np
import scipy.sparse
from hypothesis import strategies as st

import theano
import theano.tensor as tt
from theano import sparse
from theano.native.fastcall import _runtime
from theano.sparse.structure import places

EXAMPLES = 2000 if os.environ.get("THEANO_NIGHTLY") else 60
DTYPES = ("float64", "float32", "int8", "uint16", "int64", "complex64", "complex128")
settings = hypothesis.settings(max_examples=EXAMPLES, deadline=None, derandomize=not os.environ.get("THEANO_NIGHTLY"))


@st.composite
def matrices(draw, dtypes=DTYPES, shape=None):
    """A csr or csc matrix: unsorted, with duplicates and stored zeros, empty rows, empty ones, indices of both dtypes."""
    rows, columns = shape or (draw(st.integers(0, 6)), draw(st.integers(0, 6)))
    fmt, dtype = draw(st.sampled_from(("csr", "csc"))), draw(st.sampled_from(dtypes))
    lines, length = (rows, columns) if fmt == "csr" else (columns, rows)
    count = draw(st.integers(0, 9)) if lines and length else 0
    where = sorted(draw(st.lists(st.integers(0, max(lines - 1, 0)), min_size=count, max_size=count)))
    indices = draw(st.lists(st.integers(0, max(length - 1, 0)), min_size=count, max_size=count))
    values = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=lines))])
    made = getattr(scipy.sparse, fmt + "_matrix")((rows, columns), dtype=dtype)
    made.data = np.array(values, dtype=dtype) * np.array(2 - 1j if dtype.startswith("complex") else 1, dtype=dtype)
    index_dtype = draw(st.sampled_from(("int32", "int64")))
    made.indices, made.indptr = np.array(indices, dtype=index_dtype), indptr.astype(index_dtype)
    return made


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)


def agree(got, expected, fmt=None):
    if fmt is not None:
        assert got.format == fmt
    np.testing.assert_allclose(dense(got), dense(expected), rtol=1e-5, atol=1e-6)


UNARY = {
    "dense": lambda x: sparse.dense_from_sparse(x),
    "transpose": lambda x: x.T,
    "neg": lambda x: -x,
    "zeros": sparse.sp_zeros_like,
    "sum": sparse.sp_sum,
    "rows": lambda x: sparse.sp_sum(x, 1),
    "columns": lambda x: sparse.sp_sum(x, 0),
    "sorted": sparse.ensure_sorted_indices,
    "clean": sparse.clean,
    "double": lambda x: x * 2,
    "sum of two": lambda x: x + x,
    "part": lambda x: x[1:4, :-1],
    "stack": lambda x: sparse.vstack([x, x], format="csr"),
    "stack by columns": lambda x: sparse.vstack([x, x.T.T]),
    "beside": lambda x: sparse.hstack([x, x, x], format="csr"),
    "without zeros": sparse.structure.Remove0(),
    "square": lambda x: sparse.true_dot(x, x.T),
    "elements": lambda x: sparse.structure.with_values(x, sparse.structure.values_at(x, x + x)),
}
NUMPY = {
    "dense": lambda a: a,
    "transpose": lambda a: a.T,
    "neg": lambda a: -a,
    "zeros": lambda a: 0 * a,
    "sum": lambda a: a.sum(),
    "rows": lambda a: a.sum(1),
    "columns": lambda a: a.sum(0),
    "sorted": lambda a: a,
    "clean": lambda a: a,
    "double": lambda a: a * 2,
    "sum of two": lambda a: a + a,
    "part": lambda a: a[1:4, :-1],
    "stack": lambda a: np.vstack([a, a]),
    "stack by columns": lambda a: np.vstack([a, a]),
    "beside": lambda a: np.hstack([a, a, a]),
    "without zeros": lambda a: a,
    "square": lambda a: a @ a.T,
    "elements": None,
}


@functools.cache
def unary_function(fmt, dtype):
    x = sparse.matrix(fmt, dtype=dtype)
    return theano.function([x], [make(x) for make in UNARY.values()])


@settings
@hypothesis.given(matrices())
def test_operations_on_one_matrix(x):
    before = x.copy()
    a = x.toarray()
    for name, got in zip(UNARY, unary_function(x.format, x.dtype.name)(x), strict=True):
        if name == "elements":
            rows, columns = places(x)
            np.testing.assert_array_equal(got.data, (a + a)[rows, columns])
            continue
        if name in ("sorted", "clean", "beside"):
            assert np.all(got.data != 0) or name != "clean"
            assert name == "beside" or all(
                np.all(np.diff(got.indices[start:end]) >= 0) for start, end in zip(got.indptr, got.indptr[1:])
            )
        with np.errstate(all="ignore"):
            expected = NUMPY[name](a)
        assert dense(got).shape == np.shape(expected), name
        np.testing.assert_allclose(dense(got), np.asarray(expected).astype(got.dtype), rtol=1e-5, err_msg=name)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(x, part), getattr(before, part))


@functools.cache
def structured_function(fmt, dtype):
    x = sparse.matrix(fmt, dtype=dtype)
    chain = sparse.structured_log(sparse.structured_add(sparse.structured_exp(x), 1))
    return theano.function([x], [chain, sparse.sqr(x), sparse.sp_ones_like(x), sparse.cast(x, "float64")])


@settings
@hypothesis.given(matrices())
def test_sparse_arrays_are_taken_as_matrices(x):
    array = getattr(scipy.sparse, x.format + "_array")((x.data, x.indices, x.indptr), shape=x.shape)
    array.indices, array.indptr, array.has_sorted_indices = x.indices, x.indptr, False
    parts = [part.copy() for part in (array.data, array.indices, array.indptr)]
    f = unary_function(x.format, x.dtype.name)
    for got, want in zip(f(array), f(x), strict=True):
        assert type(got) is type(want) and not isinstance(got, scipy.sparse.sparray)
        if scipy.sparse.issparse(got):
            assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(dense(got), dense(want))
    for part, kept in zip((array.data, array.indices, array.indptr), parts, strict=True):
        assert part.dtype == kept.dtype
        np.testing.assert_array_equal(part, kept)


@settings
@hypothesis.given(matrices(dtypes=("float32", "float64")))
def test_structured_operations_keep_the_places(x):
    chain, square, ones, cast = structured_function(x.format, x.dtype.name)(x)
    expected = [np.log(np.exp(x.data) + 1), x.data**2, np.ones_like(x.data), x.data.astype("float64")]
    for got, values in zip((chain, square, ones, cast), expected, strict=True):
        np.testing.assert_allclose(got.data, values, rtol=1e-5)
        np.testing.assert_array_equal(got.indices, x.indices)
        np.testing.assert_array_equal(got.indptr, x.indptr)
        assert got.shape == x.shape and got.indices.dtype == x.indices.dtype
        assert not any(np.shares_memory(getattr(got, part), getattr(x, part)) for part in ("data", "indices", "indptr"))


@functools.cache
def product_function(fmt, dtype):
    x, m, n = sparse.matrix(fmt, dtype=dtype), tt.matrix(dtype=dtype), tt.matrix(dtype=dtype)
    v, w = tt.vector(dtype=dtype), tt.vector(dtype=dtype)
    products = [sparse.dot(x, m), sparse.dot(n, x), sparse.dot(x, v), sparse.dot(w, x), sparse.structured_dot(x, m)]
    scaled = sparse.structured_exp(x)
    repeated = sparse.dot(x, m)[:, 0].dimshuffle(0, "x")
    more = [sparse.dot(scaled, m), sparse.sampling_dot(n.T, m, x), x * repeated]
    more += [sparse.col_scale(x, v), sparse.row_scale(x, w), sparse.true_dot(x, m)]
    return theano.function([x, m, n, v, w], products + more)


@settings
@hypothesis.given(
    matrices(dtypes=("float64", "float32", "complex64", "complex128", "int8", "uint16", "int64")),
    st.sampled_from((0, 1, 3, 4, 9, 17, 40)),
    st.booleans(),
)
def test_products(x, width, turned):
    rng = np.random.RandomState(0)
    rows, columns = x.shape
    m, n, v, w = (rng.randint(-4, 5, size=s).astype(x.dtype) for s in ((columns, width), (width, rows), columns, rows))
    if turned:
        m, n = np.asfortranarray(m), n[:, ::-1].copy()[:, ::-1]
    if x.dtype.kind in "ci":
        a = x.toarray()
        expected = [a @ m, n @ a, a @ v, w @ a, a * (n.T @ m.T), a * v]
        f = theano_products(x.format, x.dtype.name)
        for got, value in zip(f(x, m, n, v, w), expected, strict=True):
            agree(got, value)
        return
    a = x.toarray()
    e = x.copy()
    e.data = np.exp(e.data)
    if width == 0:
        return
    got = product_function(x.format, x.dtype.name)(x, m, n, v, w)
    expected = [
        a @ m,
        n @ a,
        a @ v,
        w @ a,
        a @ m,
        e.toarray() @ m,
        a * (n.T @ m.T),
        a * (a @ m)[:, :1],
        a * v,
        a * w[:, None],
        a @ m,
    ]
    for value, want in zip(got, expected, strict=True):
        np.testing.assert_allclose(dense(value), want, rtol=2e-4, atol=1e-3)


@functools.cache
def theano_products(fmt, dtype):
    x, m, n = sparse.matrix(fmt, dtype=dtype), tt.matrix(dtype=dtype), tt.matrix(dtype=dtype)
    v, w = tt.vector(dtype=dtype), tt.vector(dtype=dtype)
    products = [sparse.dot(x, m), sparse.dot(n, x), sparse.dot(x, v), sparse.dot(w, x)]
    return theano.function([x, m, n, v, w], [*products, sparse.sampling_dot(n.T, m, x), sparse.col_scale(x, v)])


@functools.cache
def pair_function(first, second, dtype):
    x, y, m = sparse.matrix(first, dtype=dtype), sparse.matrix(second, dtype=dtype), tt.matrix(dtype=dtype)
    outputs = [x + y, x - y, x * y, sparse.structured_dot(x, y.T), sparse.dot(x, y.T), x + m, x * m, sparse.eq(x, m)]
    outputs += [sparse.true_dot(x.T, y), sparse.hstack([x, y]), sparse.vstack([y, x], format="csr"), sparse.neq(m, x)]
    outputs += [sparse.sp_sum(x + y, 0), sparse.sp_sum(x * y, 1), sparse.dense_from_sparse((x + y).T), x.T * y.T, x * (x + y)]
    return theano.function([x, y, m], outputs)


@settings
@hypothesis.given(st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(*[matrices(shape=shape)] * 2)))  # fmt: skip
def test_operations_on_two_matrices(pair):
    x, y = pair
    y = y.astype(x.dtype)
    before = [x.copy(), y.copy()]
    a, b = x.toarray(), y.toarray()
    m = (np.arange(a.size).reshape(a.shape) % 3).astype(x.dtype)
    got = pair_function(x.format, y.format, x.dtype.name)(x, y, m)
    expected = [a + b, a - b, a * b, a @ b.T, a @ b.T, a + m, a * m, a == m]
    expected += [a.T @ b, np.hstack([a, b]), np.vstack([b, a]), a != m]
    expected += [(a + b).sum(0, dtype=a.dtype), (a * b).sum(1, dtype=a.dtype), (a + b).T, (a * b).T, a * (a + b)]
    for value, want in zip(got, expected, strict=True):
        agree(value, want)
    for result in got[:3]:
        # As SciPy's: in order, nothing twice, no zeros; long indices stay.
        assert result.has_canonical_format and np.all(result.data != 0)
        wide = "int64" in (x.indices.dtype, y.indices.dtype)
        assert result.indices.dtype == result.indptr.dtype == ("int64" if wide else "int32")
    for matrix, kept in zip((x, y), before):
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(matrix, part), getattr(kept, part))


@functools.cache
def rows_function(fmt, dtype):
    x, at, start, stop = sparse.matrix(fmt, dtype=dtype), tt.lvector(), tt.lscalar(), tt.lscalar()
    lines = x[start:stop] if fmt == "csr" else x[:, start:stop]
    outputs = [x[at], lines, sparse.csr_from_dense(sparse.dense_from_sparse(x)), sparse.csc_from_dense(x.toarray()), x.shape]
    return theano.function([x, at, start, stop], outputs)


@settings
@hypothesis.given(matrices(), st.lists(st.integers(-6, 5), max_size=5), st.integers(-8, 8), st.integers(-8, 8))
def test_rows_and_conversions(x, which, start, stop):
    a = x.toarray()
    which = [w for w in which if -len(a) <= w < len(a)]
    got = rows_function(x.format, x.dtype.name)(x, which, start, stop)
    lines = a[start:stop] if x.format == "csr" else a[:, start:stop]
    for value, want in zip(got, [a[which], lines, a, a, a.shape], strict=True):
        agree(value, want)
        assert dense(value).dtype == (a.dtype if np.ndim(want) == 2 else "int64") and dense(value).shape == np.shape(want)
    assert np.all(got[2].data != 0) and np.all(got[3].data != 0)


@functools.cache
def costs(fmt):
    """The gradients with respect to the stored values of sums of what comes of a matrix, each times other numbers."""
    data, indices, indptr, shape, m = tt.dvector(), tt.lvector(), tt.lvector(), tt.lvector(), tt.dmatrix()
    x = sparse.CSM(fmt)(data, indices, indptr, shape)
    other = sparse.csr_from_dense(m) if fmt == "csr" else sparse.csc_from_dense(m)
    weights = tt.arange(m.size, dtype="float64").reshape(m.shape) + 1
    made = [
        sparse.sqr(x) * weights,
        sparse.structured_exp(x) * weights,
        x * other,
        sparse.mul_s_v(x, m[0]) * weights,
        sparse.col_scale(x, m[1]) * weights,
        (x + other) * weights,
    ]
    total = [sparse.sp_sum(v, sparse_grad=True) for v in made]
    total += [(sparse.structured_dot(x, m.T) ** 2).sum(), (sparse.dot(x, m.T) ** 3).sum(), ((x + m) * weights).sum()]
    total += [(sparse.sp_sum(x, axis) ** 2).sum() for axis in (0, 1)]
    arguments = [data, indices, indptr, shape, m]
    return theano.function(arguments, total), theano.function(arguments, [theano.grad(t, data) for t in total])


@settings
@hypothesis.given(matrices(dtypes=("float64",), shape=(3, 4)))
def test_gradients_of_the_stored_values(x):
    total, gradients = costs(x.format)
    rest = [x.indices, x.indptr, np.array(x.shape), np.sin(np.arange(12.0)).reshape(3, 4)]
    data = x.data + 0.5
    slopes, step = [], 1e-6
    for k in range(len(data)):
        up, down = (np.array(total(data + sign * step * (np.arange(len(data)) == k), *rest)) for sign in (1, -1))
        slopes.append((up - down) / (2 * step))
    for number, got in enumerate(gradients(data, *rest)):
        np.testing.assert_allclose(got, [s[number] for s in slopes], rtol=1e-4, atol=1e-5, err_msg=str(number))


def test_products_do_not_depend_on_the_number_of_threads():
    x = scipy.sparse.random(3000, 2000, 0.02, format="csc", random_state=np.random.RandomState(3))
    m = np.random.RandomState(4).rand(2000, 40)
    s, d = sparse.csc_matrix(dtype="float64"), tt.dmatrix()
    product = sparse.dot(s, d)
    vectors = [sparse.dot(s, d[:, 0]), sparse.dot(s.T, product[:, 1]), sparse.dot(s, d[:, :3]).T]
    sampled = sparse.csm_data(sparse.sampling_dot(product, d, s))
    f = theano.function([s, d], [product, sparse.dot(s.T, product), sampled, *vectors])
    before, results = _runtime.get_threads(), []
    try:
        for count in (1, 2, 3):
            _runtime.set_threads(count)
            got = f(x, m)
            np.testing.assert_allclose(got[3], x @ m[:, 0])
            np.testing.assert_allclose(got[5], (x @ m[:, :3]).T)
            results.append([r.tobytes() for r in got])
    finally:
        _runtime.set_threads(before)
    assert results[0] == results[1] == results[2]

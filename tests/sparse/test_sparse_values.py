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
    matrices(dtypes=("float64", "float32", "complex128", "int64")), st.sampled_from((0, 1, 3, 4, 9, 17, 40)), st.booleans()
)
def test_products(x, width, turned):
    rng = np.random.RandomState(0)
    rows, columns = x.shape
    m, n, v, w = (rng.randint(-4, 5, size=s).astype(x.dtype) for s in ((columns, width), (width, rows), columns, rows))
    if turned:
        m, n = np.asfortranarray(m), n[:, ::-1].copy()[:, ::-1]
    if x.dtype.kind in "ci":
        expected = [x.toarray() @ m, n @ x.toarray(), x.toarray() @ v, w @ x.toarray()]
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
    return theano.function([x, m, n, v, w], [sparse.dot(x, m), sparse.dot(n, x), sparse.dot(x, v), sparse.dot(w, x)])


@functools.cache
def pair_function(first, second, dtype):
    x, y, m = sparse.matrix(first, dtype=dtype), sparse.matrix(second, dtype=dtype), tt.matrix(dtype=dtype)
    outputs = [x + y, x - y, x * y, sparse.structured_dot(x, y.T), sparse.dot(x, y.T), x + m, x * m, sparse.eq(x, m)]
    return theano.function([x, y, m], outputs)


@settings
@hypothesis.given(st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(*[matrices(dtypes=("float64",), shape=shape)] * 2)))  # fmt: skip
def test_operations_on_two_matrices(pair):
    x, y = pair
    a, b = x.toarray(), y.toarray()
    m = np.arange(a.size, dtype="float64").reshape(a.shape) % 3
    got = pair_function(x.format, y.format, "float64")(x, y, m)
    expected = [a + b, a - b, a * b, a @ b.T, a @ b.T, a + m, a * m, a == m]
    for value, want in zip(got, expected, strict=True):
        agree(value, want)


def test_products_do_not_depend_on_the_number_of_threads():
    x = scipy.sparse.random(3000, 2000, 0.02, format="csc", random_state=np.random.RandomState(3))
    m = np.random.RandomState(4).rand(2000, 40)
    s, d = sparse.csc_matrix(dtype="float64"), tt.dmatrix()
    product = sparse.dot(s, d)
    f = theano.function([s, d], [product, sparse.dot(s.T, product), sparse.csm_data(sparse.sampling_dot(product, d, s))])
    before, results = _runtime.get_threads(), []
    try:
        for count in (1, 2, 3):
            _runtime.set_threads(count)
            results.append([r.tobytes() for r in f(x, m)])
    finally:
        _runtime.set_threads(before)
    assert results[0] == results[1] == results[2]

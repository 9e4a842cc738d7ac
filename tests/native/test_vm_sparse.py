"""The instructions of sparse matrices against SciPy, with all that may be wrong with their operands."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from vm_tools import make, tensor

OBJECT = ("object",)


def matrix(fmt="csr", dtype="float64", index="int32"):
    made = scipy.sparse.random(7, 5, 0.4, fmt, random_state=np.random.RandomState(0)).astype(dtype)
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


def places(x):
    return [x.indices, x.indptr, np.array(x.shape)]


def run(name, x, others, out, fields):
    """The instruction over the places of a matrix, whose arrays lie in object cells."""
    arguments = [*places(x), *others]
    cells = [OBJECT, OBJECT, *[tensor(a.dtype, a.ndim) for a in arguments[2:]]]
    return make(name, cells, [out], fields).call(arguments)[0]


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
class TestProducts:
    def test_matrices_and_vectors_of_any_strides(self, dtype, fmt, index):
        x = matrix(fmt, dtype, index)
        for columns in (0, 1, 3, 5, 33):
            dense = np.random.RandomState(1).rand(5, columns).astype(dtype)
            for operand in (dense, np.asfortranarray(dense), np.repeat(dense, 2, 1)[:, ::2], dense[::-1].copy()[::-1]):
                got = run("sparse_dot", x, [x.data, operand], tensor(dtype, 2), (fmt == "csc",))
                assert_allclose(got, x @ dense, rtol=1e-5)
        vector = np.random.RandomState(1).rand(10).astype(dtype)[::-2]
        assert_allclose(run("sparse_dot", x, [x.data, vector], tensor(dtype, 1), (fmt == "csc",)), x @ vector, rtol=1e-5)

    def test_products_at_places(self, dtype, fmt, index):
        x = matrix(fmt, dtype, index)
        for depth in (0, 1, 7, 70):
            a, b = (np.random.RandomState(k).rand(n, depth).astype(dtype) for k, n in enumerate(x.shape))
            got = run("sparse_dot_at", x, [a, b], tensor(dtype, 1), (fmt == "csc",))
            coo = x.tocoo()
            assert_allclose(got, (a @ b.T)[coo.row, coo.col], rtol=1e-5, atol=1e-7)

    def test_an_index_out_of_bounds(self, dtype, fmt, index):
        x = matrix(fmt, dtype, index)
        for wrong in (-1, 7, 2**30):
            x.indices[2] = wrong
            with pytest.raises(IndexError, match="out of bounds"):
                run("sparse_dot", x, [x.data, np.ones((5, 6), dtype)], tensor(dtype, 2), (fmt == "csc",))
            with pytest.raises(IndexError, match="out of bounds"):
                run("sparse_dot", x, [x.data, np.ones(5, dtype)], tensor(dtype, 1), (fmt == "csc",))
            with pytest.raises(IndexError, match="out of bounds"):
                run("sparse_dot_at", x, [np.ones((7, 2), dtype), np.ones((5, 2), dtype)], tensor(dtype, 1), (fmt == "csc",))
            with pytest.raises(IndexError, match="out of bounds"):
                run("sparse_values_at", x, [np.ones((7, 5), dtype)], tensor(dtype, 1), (fmt == "csc",))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "complex64", "complex128"])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_products_of_other_dtypes(dtype, fmt):
    rng = np.random.RandomState(2)

    def numbers(*shape):
        return (rng.randint(0, 100, shape) * (2 - 3j if dtype.startswith("complex") else 1)).astype(dtype)

    for index in ("int32", "int64"):
        x = matrix(fmt, dtype, index)
        x.data = numbers(len(x.data))
        a = x.toarray()
        for columns in (0, 1, 3, 5, 33):
            dense = numbers(5, columns)
            for operand in (dense, np.asfortranarray(dense), np.repeat(dense, 2, 1)[:, ::2], dense[::-1].copy()[::-1]):
                got = run("sparse_dot", x, [x.data, operand], tensor(dtype, 2), (fmt == "csc",))
                assert_array_equal(got, a @ dense)
        vector = numbers(10)[::-2]
        assert_array_equal(run("sparse_dot", x, [x.data, vector], tensor(dtype, 1), (fmt == "csc",)), a @ vector)
        u, v, coo = numbers(7, 3), numbers(5, 3), x.tocoo()
        assert_array_equal(run("sparse_dot_at", x, [u, v], tensor(dtype, 1), (fmt == "csc",)), (u @ v.T)[coo.row, coo.col])
        x.indices[2] = 7
        for operand in (numbers(5, 6), numbers(5)):
            with pytest.raises(IndexError, match="out of bounds"):
                run("sparse_dot", x, [x.data, operand], tensor(dtype, operand.ndim), (fmt == "csc",))


@pytest.mark.parametrize("average", [0.3, 3, 8, 20, 60])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vectors_and_rows_of_all_lengths(dtype, average):
    """Short rows and columns are worked on many at a time; some of these are long."""
    rng = np.random.RandomState(0)
    lengths = rng.poisson(average, 500)
    lengths[[3, 200, 201, 499]] = [0, 2500, 1000, 40]
    for index in ("int32", "int64"):
        x = scipy.sparse.csr_matrix((500, 3000), dtype=dtype)
        x.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
        x.indices = rng.randint(0, 3000, x.indptr[-1]).astype(index)
        x.data = rng.rand(x.indptr[-1]).astype(dtype)
        for turned in (x, x.T):
            turned.indices, turned.indptr = x.indices, x.indptr
            for vector in (rng.rand(turned.shape[1]).astype(dtype), rng.rand(2 * turned.shape[1]).astype(dtype)[::-2]):
                got = run("sparse_dot", turned, [x.data, vector], tensor(dtype, 1), (turned.format == "csc",))
                assert_allclose(got, turned @ vector, rtol=2e-5)
            for wrong in (-1, 3000, 2**31 - 1):
                x.indices[-7], right = wrong, x.indices[-7]
                with pytest.raises(IndexError, match="out of bounds"):
                    run("sparse_dot", turned, [x.data, vector], tensor(dtype, 1), (turned.format == "csc",))
                x.indices[-7] = right


def two(name, x, y, out, fields, values=True):
    """The instruction over the parts of two matrices, or the places of the first and the parts of the second."""
    arguments = [*places(x), *([x.data] if values else []), *places(y), y.data]
    cells = [
        OBJECT,
        OBJECT,
        *[tensor(a.dtype, a.ndim) for a in arguments[2:-4]],
        OBJECT,
        OBJECT,
        tensor("int64", 1),
        tensor(y.dtype, 1),
    ]
    return make(name, cells, out, fields).call(arguments)


def made(dtype):
    return [tensor(dtype, 1), OBJECT, OBJECT, tensor("int64", 1)]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_products_of_two_matrices(dtype, fmt):
    rng = np.random.RandomState(0)
    for index in ("int32", "int64"):
        x, y = matrix(fmt, dtype, index), matrix(fmt, dtype).T.asformat(fmt)
        x.data, y.data = (rng.randint(-5, 50, len(part.data)).astype(dtype) for part in (x, y))
        values, indices, indptr, shape = two("sparse_times", x, y, made(dtype), (fmt == "csc",))
        assert indices.dtype == indptr.dtype == index and shape.tolist() == [7, 7]
        got = getattr(scipy.sparse, fmt + "_matrix")((values, indices, indptr), shape=(7, 7))
        assert got.has_canonical_format and np.all(got.data != 0)
        assert_array_equal(got.toarray(), x.toarray() @ y.toarray())
    with pytest.raises(ValueError, match="not aligned"):
        two("sparse_times", x, x, made(dtype), (fmt == "csc",))


def test_products_of_two_that_are_long():
    """Blocks of bits and parts of lines meet in these, and lengths for which sums take memory page by page."""
    rng = np.random.RandomState(0)
    for length in (5000, 30_000_000):
        x = scipy.sparse.csr_matrix((rng.rand(4000), (rng.randint(0, 700, 4000), rng.randint(0, 900, 4000))), shape=(700, 900))
        y = scipy.sparse.csr_matrix(
            (rng.rand(9000), (rng.randint(0, 900, 9000), rng.randint(0, length, 9000))), shape=(900, length)
        )
        values, indices, indptr, shape = two("sparse_times", x, y, made("float64"), (False,))
        want = x @ y
        want.sort_indices()
        assert_array_equal(indices, want.indices)
        assert_array_equal(indptr, want.indptr)
        assert_allclose(values, want.data)


def test_elements_of_a_sparse_matrix():
    rng = np.random.RandomState(0)
    x, y = matrix(), matrix()
    for part in (x, y):
        part.indices = rng.randint(0, 5, len(part.indices)).astype("int32")
    assert_array_equal(two("sparse_values_of", x, x, [tensor("float64", 1)], (False,), False)[0], x.data)
    coo = x.tocoo()
    assert_allclose(two("sparse_values_of", x, y, [tensor("float64", 1)], (False,), False)[0], y.toarray()[coo.row, coo.col])
    line = scipy.sparse.csr_matrix(np.arange(1.0, 101).reshape(1, 100) * (rng.rand(1, 100) < 0.7))
    at = scipy.sparse.csr_matrix((1, 100))
    at.indices, at.indptr = rng.permutation(100).astype("int32"), np.array([0, 100], "int32")
    at.data = np.zeros(100)
    got = two("sparse_values_of", at, line, [tensor("float64", 1)], (False,), False)[0]
    assert_array_equal(got, line.toarray()[0][at.indices])
    with pytest.raises(ValueError, match="places"):
        two("sparse_values_of", x, line, [tensor("float64", 1)], (False,), False)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_elements_at_places(dtype):
    for fmt in ("csr", "csc"):
        x = matrix(fmt)
        y = (np.arange(35).reshape(7, 5) % 7).astype(dtype)
        coo = x.tocoo()
        for operand in (y, np.asfortranarray(y)):
            assert_array_equal(run("sparse_values_at", x, [operand], tensor(dtype, 1), (fmt == "csc",)), y[coo.row, coo.col])
        with pytest.raises(ValueError, match="places"):
            run("sparse_values_at", x, [y[:, :4]], tensor(dtype, 1), (fmt == "csc",))


def test_what_is_no_matrix():
    x = matrix()
    dense = np.ones((5, 2))
    for spoil in ([1, 2, 3, 4, 5, 6, 7, 8], [0, 9, 3, 4, 5, 6, 7, 8], [0, 1, 2], [0, 1, 2, 3, 4, 5, 6, 100]):
        y = matrix()
        y.indptr = np.array(spoil, "int32")
        with pytest.raises(ValueError, match="indptr"):
            run("sparse_dot", y, [y.data, dense], tensor("float64", 2), (False,))
    with pytest.raises(ValueError, match="values"):
        run("sparse_dot", x, [x.data[:3], dense], tensor("float64", 2), (False,))
    with pytest.raises(ValueError, match="not aligned"):
        run("sparse_dot", x, [x.data, np.ones((4, 2))], tensor("float64", 2), (False,))
    with pytest.raises(ValueError, match="operands or params"):
        run("sparse_dot", x, [x.data, dense.astype("int64")], tensor("float64", 2), (False,))
    with pytest.raises(ValueError, match="operands or params"):
        run("sparse_dot", x, [x.data > 0, dense > 0], tensor("bool", 2), (False,))


def values(x, dtype="float64"):
    return make("sparse_values", [OBJECT], [tensor(dtype, 1)]).call([x])[0]


def test_values_are_a_view_of_those_that_are_stored():
    x = matrix()
    assert np.shares_memory(values(x), x.data)
    x.indptr[-1] = 3
    assert len(values(x)) == 3
    with pytest.raises(TypeError, match="dtype"):
        values(x, "float32")
    x.indptr[-1] = 100
    with pytest.raises(ValueError, match="indptr"):
        values(x)

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
    with pytest.raises(ValueError, match="float32 or float64"):
        run("sparse_dot", x, [x.data.astype("int64"), dense.astype("int64")], tensor("int64", 2), (False,))


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

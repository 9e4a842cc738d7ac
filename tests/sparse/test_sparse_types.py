"""Sparse types, variables, constants and shared variables: what they take, how they print, pickle and compare."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

import theano
import theano.tensor as tt
from tests.tools import run_program
from theano import sparse
from theano.sparse.structure import rebuilt, stored_values, with_values
from theano.sparse.utils import hash_from_sparse


def matrix(fmt="csr", dtype="float64"):
    return getattr(scipy.sparse, fmt + "_matrix")(np.array([[1, 0, 2], [0, 0, 3]], dtype=dtype))


def test_importing_theano_imports_neither_sparse_matrices_nor_scipy():
    loaded = "[m for m in sys.modules if m.startswith(('theano.sparse', 'scipy'))]"
    ran = run_program(f"import sys, theano; print({loaded}); theano.sparse.csr_matrix")
    assert ran.stdout.strip() == "[]", ran.stderr


class TestType:
    def test_types_are_equal_by_format_and_dtype(self):
        assert sparse.SparseType("csr", "float32") == sparse.SparseType("csr", np.float32) != sparse.SparseType("csc", "float32")
        assert hash(sparse.csr_dmatrix) == hash(sparse.SparseType("csr", "float64"))
        assert str(sparse.csr_dmatrix) == "Sparse[float64, csr]"
        assert pickle.loads(pickle.dumps(sparse.csr_dmatrix)) == sparse.csr_dmatrix

    @pytest.mark.parametrize(
        ("fmt", "dtype", "error"), [("coo", "float64", ValueError), ("csr", "float16", TypeError), ("csr", "bool", TypeError)]
    )
    def test_other_formats_and_dtypes_are_refused(self, fmt, dtype, error):
        with pytest.raises(error, match="unsupported"):
            sparse.SparseType(fmt, dtype)

    @pytest.mark.parametrize("fmt", ["csr", "csc"])
    def test_a_sparse_array_is_taken_over_its_memory(self, fmt):
        array = getattr(scipy.sparse, fmt + "_array")(matrix(fmt))
        taken = sparse.SparseType(fmt, "float64").filter(array)
        assert isinstance(taken, getattr(scipy.sparse, fmt + "_matrix")) and np.shares_memory(taken.data, array.data)
        x = sparse.matrix(fmt, dtype="float64")
        np.testing.assert_array_equal(theano.function([x], x * 2)(array).toarray(), 2 * matrix().toarray())

    def test_formats_and_dtypes_are_converted_where_nothing_is_lost(self):
        t = sparse.SparseType("csr", "float64")
        for value in (matrix("csc"), matrix("csr", "float32"), matrix("csr", "int8"), matrix().toarray(), matrix().tocoo()):
            got = t.filter(value)
            assert got.format == "csr" and got.dtype == "float64"
            np.testing.assert_array_equal(got.toarray(), matrix().toarray())
        with pytest.raises(TypeError, match="loss of precision"):
            sparse.SparseType("csr", "float32").filter(matrix())
        assert sparse.SparseType("csr", "float32").filter(matrix(), allow_downcast=True).dtype == "float32"

    @pytest.mark.parametrize("value", ["text", None, np.zeros((2, 2, 2)), tt.dmatrix(), [[1, "a"]]])
    def test_what_is_no_matrix_is_refused(self, value):
        with pytest.raises((TypeError, ValueError)):
            sparse.csr_dmatrix.filter(value)

    def test_strictly_only_a_value_itself_is_taken(self):
        t = sparse.SparseType("csr", "float64")
        assert t.is_valid_value(matrix())
        for value in (matrix("csc"), matrix("csr", "float32"), matrix().toarray(), scipy.sparse.csr_array(matrix())):
            assert not t.is_valid_value(value)

    def test_values_are_compared_by_their_elements(self):
        t, a, b = sparse.csr_dmatrix, matrix(), matrix()
        b.data[1] += 1e-12
        assert t.values_eq(a, matrix()) and not t.values_eq(a, b) and t.values_eq_approx(a, b)
        b.data[1] += 1
        assert not t.values_eq_approx(a, b)
        zeros = a.copy()
        zeros[0, 1] = 5
        zeros.data[zeros.data == 5] = 0
        assert zeros.nnz == 4 and t.values_eq(a, zeros)
        assert not t.values_eq(a, matrix("csc"))

    def test_memory_is_shared_with_a_transpose_and_not_with_a_copy(self):
        a = matrix()
        assert sparse.SparseType.may_share_memory(a, a.T) and not sparse.SparseType.may_share_memory(a, a.copy())


class TestVariables:
    def test_a_constant_is_a_copy(self):
        value = matrix()
        c = sparse.as_sparse_variable(value)
        value.data[:] = 9
        np.testing.assert_array_equal(c.eval().toarray(), matrix().toarray())

    def test_equal_constants_are_merged(self):
        x = tt.dmatrix()
        f = theano.function([x], sparse.dot(matrix(), x) + sparse.dot(matrix(), x) * x[0, 0])
        assert sum(isinstance(n.op, sparse.Dot) for n in f.maker.fgraph.toposort()) == 1

    def test_hashes_tell_values_apart(self):
        other = matrix()
        other.data[0] = 7
        assert hash_from_sparse(matrix()) == hash_from_sparse(matrix()) != hash_from_sparse(other)

    @pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
    def test_variables_and_functions_are_copied(self, make):
        x = sparse.csr_matrix("x", dtype="float64")
        c = make(sparse.as_sparse_variable(matrix()))
        assert make(x).type == x.type
        np.testing.assert_array_equal(theano.function([], c * 2)().toarray(), 2 * matrix().toarray())
        f = theano.function([x], sparse.structured_exp(x) * 2)
        np.testing.assert_allclose(make(f)(matrix()).data, f(matrix()).data)

    def test_iteration_and_indices_that_would_give_a_vector_are_refused(self):
        x = sparse.csr_matrix()
        with pytest.raises(TypeError, match="iterated"):
            iter(x)
        for index in ((1, slice(None)), (slice(None), 1), 1):
            with pytest.raises(NotImplementedError, match="sparse vector"):
                x[index]

    def test_dense_operands_alone_are_refused(self):
        for operation in (sparse.add, sparse.sub, sparse.mul, sparse.dot, sparse.structured_dot, sparse.true_dot, sparse.eq):
            with pytest.raises(TypeError, match="at least one"):
                operation(tt.dmatrix(), tt.dmatrix())


class TestShared:
    def test_a_shared_matrix_is_updated(self):
        s, m = theano.shared(matrix()), tt.dmatrix()
        assert isinstance(s, sparse.sharedvar.SparseTensorSharedVariable) and s.type == sparse.csr_dmatrix
        step = theano.function([m], sparse.dot(s, m), updates=[(s, sparse.structured_add(s, 1))])
        np.testing.assert_array_equal(step(np.eye(3)), [[1, 0, 2], [0, 0, 3]])
        np.testing.assert_array_equal(step(np.eye(3)), [[2, 0, 3], [0, 0, 4]])
        np.testing.assert_array_equal(s.get_value().toarray(), [[3, 0, 4], [0, 0, 5]])

    def test_a_failing_call_leaves_it_as_it_was(self):
        s, m = theano.shared(matrix()), tt.dmatrix()
        step = theano.function([m], sparse.dot(s, m), updates=[(s, sparse.structured_add(s, 1))])
        with pytest.raises(ValueError, match="not aligned"):
            step(np.eye(4))
        np.testing.assert_array_equal(s.get_value().toarray(), matrix().toarray())

    def test_values_are_copied_unless_they_are_borrowed(self):
        value = matrix()
        copied, borrowed = theano.shared(value), theano.shared(value, borrow=True)
        value.data[0] = 8
        assert copied.get_value()[0, 0] == 1 and borrowed.get_value()[0, 0] == 8
        copied.get_value().data[0] = 9
        assert copied.get_value()[0, 0] == 1
        copied.set_value(scipy.sparse.csr_array(matrix() * 2))
        assert copied.get_value()[0, 0] == 2

    def test_givens_replace_it(self):
        s = theano.shared(matrix())
        f = theano.function([], sparse.sp_sum(s), givens={s: sparse.as_sparse_variable(matrix() * 3)})
        assert f() == 18


class TestResults:
    def test_they_share_no_memory_with_arguments(self):
        x, value = sparse.csr_matrix(dtype="float64"), matrix()
        f = theano.function(
            [x], [x, x.T, x.T.T, with_values(x, stored_values(x)), sparse.csm_properties(x)[1], sparse.csm_data(x)]
        )
        for got in f(value):
            assert not sparse.SparseType.may_share_memory(got, value)

    def test_indices_of_int64_stay(self):
        value = matrix()
        value.indices, value.indptr = value.indices.astype("int64"), value.indptr.astype("int64")
        x = sparse.csr_matrix(dtype="float64")
        got = theano.function([x], sparse.sqr(x))(value)
        assert got.indices.dtype == got.indptr.dtype == "int64"

    def test_properties_that_do_not_fit_are_an_error(self):
        x = sparse.csr_matrix(dtype="float64")
        wide = scipy.sparse.csr_matrix(([1.0], ([0], [2**40])), shape=(1, 2**41))
        with pytest.raises(OverflowError, match="int32"):
            theano.function([x], sparse.csm_indices(x))(wide)
        assert theano.function([x], sparse.sqr(x))(wide)[0, 2**40] == 1


class TestErrors:
    @pytest.mark.parametrize("spoil", ["indices", "indptr", "short"])
    def test_a_spoilt_matrix_is_an_error_and_no_crash(self, spoil):
        x, m = sparse.csr_matrix(dtype="float64"), tt.dmatrix()
        f = theano.function([x, m], sparse.dot(x, m))
        value = matrix()
        if spoil == "indices":
            value.indices[0] = 100
        elif spoil == "indptr":
            value.indptr[1] = 100
        else:
            value.data = value.data[:1]
        with pytest.raises((IndexError, ValueError), match="sparse|indptr|Apply node"):
            f(value, np.ones((3, 5)))

    @pytest.mark.parametrize("make", [
        lambda x, m, v: sparse.dot(x, m), lambda x, m, v: x + m, lambda x, m, v: x * m, lambda x, m, v: sparse.col_scale(x, v),
        lambda x, m, v: sparse.sampling_dot(m, m, x), lambda x, m, v: sparse.true_dot(x, m), lambda x, m, v: sparse.lt(x, m),
    ])  # fmt: skip
    def test_shapes_that_do_not_fit_name_the_node(self, make):
        x, m, v = sparse.csr_matrix("x", dtype="float64"), tt.dmatrix("m"), tt.dvector("v")
        f = theano.function([x, m, v], make(x, m, v), on_unused_input="ignore")
        with pytest.raises(ValueError, match="Apply node"):
            f(matrix(), np.ones((4, 2)), np.ones(5))

    def test_arrays_that_make_no_matrix(self):
        data, indices, indptr = tt.dvector(), tt.ivector(), tt.ivector()
        f = theano.function([data, indices, indptr], sparse.CSR(data, indices, indptr, (2, 2)))
        assert f([1], np.array([1], "int32"), np.array([0, 1, 1], "int32"))[0, 1] == 1
        for i, p in (([2], [0, 1, 1]), ([-1], [0, 1, 1]), ([0], [0, 2, 1]), ([0], [0, 0, 0]), ([0], [0, 1])):
            with pytest.raises(ValueError):
                f([1], np.array(i, "int32"), np.array(p, "int32"))
        with pytest.raises(TypeError, match="vector"):
            sparse.CSR(tt.dmatrix(), indices, indptr, (2, 2))

    def test_values_of_a_wrong_number(self):
        with pytest.raises(ValueError, match="stored values"):
            rebuilt(matrix(), np.ones(7))

"""Rewrites of sparse operations, and what of them runs in the engine."""

import numpy as np
import pytest
import scipy.sparse

import theano
import theano.tensor as tt
from theano import sparse
from theano.sparse.products import DotAt, DotWithValues
from theano.sparse.structure import StoredValues, ValuesAt, WithValues, stored_values, values_at, with_values

VALUE = scipy.sparse.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]]))


def ops_of(f):
    return [type(node.op) for node in f.maker.fgraph.toposort()]


def compiled(output, *inputs):
    return theano.function(list(inputs), output, on_unused_input="ignore")


def python_nodes(f):
    return {type(instr.node.op).__name__ for instr in f.fn.instrs if instr.op.runs_python}


@pytest.fixture
def x():
    return sparse.csr_matrix("x", dtype="float64")


@pytest.fixture
def m():
    return tt.dmatrix("m")


def test_a_structured_chain_is_one_kernel_over_the_values(x):
    f = compiled(sparse.structured_log(sparse.structured_add(sparse.structured_exp(-x * 2), 1.0)), x)
    assert ops_of(f) == [StoredValues, tt.Elemwise, WithValues]
    np.testing.assert_allclose(f(VALUE).data, np.log(np.exp(-2 * VALUE.data) + 1))


def test_the_product_of_a_chain_needs_no_matrix(x, m):
    f = compiled(sparse.dot(sparse.structured_exp(x), m), x, m)
    assert ops_of(f) == [StoredValues, tt.Elemwise, DotWithValues]
    assert python_nodes(f) == set()
    expected = VALUE.copy()
    expected.data = np.exp(VALUE.data)
    np.testing.assert_allclose(f(VALUE, np.eye(3)), expected.toarray())
    g = compiled(sparse.dot(m, sparse.structured_exp(x)), x, m)
    assert DotWithValues in ops_of(g) and WithValues not in ops_of(g)
    np.testing.assert_allclose(g(VALUE, np.eye(2)), expected.toarray())


def test_a_structured_gradient_computes_stored_places_only(x, m):
    f = compiled(theano.grad((sparse.structured_dot(x, m) ** 2).sum(), x), x, m)
    assert DotAt in ops_of(f) and tt.basic.Dot not in ops_of(f)
    product = 2 * VALUE.toarray() @ np.ones((3, 4))
    np.testing.assert_allclose(f(VALUE, np.ones((3, 4))).toarray(), (product @ np.ones((4, 3))) * (VALUE.toarray() != 0))


def test_elements_of_a_dense_product_are_computed_at_their_places(x, m):
    n = tt.dmatrix("n")
    f = compiled(values_at(x, tt.dot(m, n)), x, m, n)
    assert ops_of(f).count(DotAt) == 1 and not any(issubclass(op, tt.blas.Dot22) for op in ops_of(f))
    a, b = np.arange(8.0).reshape(2, 4), np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(f(VALUE, a, b), (a @ b)[VALUE.nonzero()])
    shared = compiled([values_at(x, (d := tt.dot(m, n))), d], x, m, n)
    assert DotAt not in ops_of(shared)


@pytest.mark.parametrize(("make", "gone"), [
    (lambda x, m: x * m, sparse.MulSD), (lambda x, m: sparse.mul_s_v(x, m[0]), sparse.MulSV),
    (lambda x, m: sparse.structured_add_s_v(x, m[0]), sparse.StructuredAddSV), (lambda x, m: -x, sparse.Neg),
    (lambda x, m: sparse.col_scale(x.T, m[:, 0]), sparse.ColScaleCSC), (lambda x, m: sparse.cast(x, "float32"), sparse.Cast),
    (lambda x, m: sparse.add_s_s_data(x, x), sparse.AddSSData), (lambda x, m: sparse.sp_sum(x), sparse.SpSum),
    (lambda x, m: sparse.structured_dot(x, m.T), sparse.StructuredDot),
    (lambda x, m: sparse.sampling_dot(m, tt.dot(m.T, m), x), sparse.SamplingDot),
])  # fmt: skip
def test_operations_on_values_are_rewritten(make, gone, x, m):
    output = make(x, m)
    f = compiled(output, x, m)
    assert gone not in ops_of(f)
    slow = theano.function([x, m], output, mode=theano.Mode("py", None), on_unused_input="ignore")
    argument = np.arange(6.0).reshape(2, 3)
    got, expected = (r.toarray() if scipy.sparse.issparse(r) else r for r in (f(VALUE, argument), slow(VALUE, argument)))
    np.testing.assert_allclose(got, expected)


def test_places_and_values_that_cancel(x, m):
    assert ops_of(compiled(with_values(x, stored_values(x)), x)) == [theano.compile.ops.DeepCopyOp]
    assert ops_of(compiled(x.T.T, x)) == [theano.compile.ops.DeepCopyOp]
    f = compiled(values_at(sparse.sqr(x), sparse.structured_exp(x)), x)
    assert ValuesAt not in ops_of(f)
    np.testing.assert_allclose(f(VALUE), np.exp(VALUE.data))
    d = tt.dvector()
    f = compiled(sparse.csm_properties(sparse.CSR(d, tt.constant(VALUE.indices), tt.constant(VALUE.indptr), (2, 3)))[0], d)
    assert sparse.CSM not in ops_of(f) and f([1.0, 2, 3]).tolist() == [1, 2, 3]
    assert ops_of(compiled(sparse.dense_from_sparse(sparse.csc_from_dense(m)), m)) == [theano.compile.ops.DeepCopyOp]


@pytest.mark.parametrize("name", ["eq", "neq", "lt", "gt", "le", "ge"])
def test_comparisons_with_dense_matrices_are_of_dense_ones(name, x, m):
    compare, gone = getattr(sparse, name), type(getattr(sparse, name)(x, m).owner.op)
    f = compiled(compare(x, m), x, m)
    assert gone not in ops_of(f) and python_nodes(f) == set()
    dense = np.array([[1.0, 0, -1], [0, 4, np.nan]])
    symbols = {"eq": "equal", "neq": "not_equal", "lt": "less", "gt": "greater", "le": "less_equal", "ge": "greater_equal"}
    got = f(VALUE, dense)
    assert got.dtype == np.uint8
    np.testing.assert_array_equal(got, getattr(np, symbols[name])(VALUE.toarray(), dense))
    # A row that is repeated is left to the operation, which says what it does about it.
    row = tt.drow("row")
    assert gone in ops_of(compiled(compare(x, row), x, row))


def test_a_diagonal_is_made_of_its_parts(m):
    v = tt.dvector("v")
    f = compiled(sparse.square_diagonal(v), v)
    assert sparse.SquareDiagonal not in ops_of(f)
    for values in ([], [2.0], [1.0, 0.0, 3.0]):
        got = f(values)
        assert got.format == "csc" and got.shape == (len(values),) * 2 and got.nnz == len(values)
        np.testing.assert_array_equal(got.toarray(), np.diag(values) if values else np.zeros((0, 0)))


def test_values_of_what_is_dense_are_read_where_they_are(x, m):
    f = compiled(values_at(x, sparse.csr_from_dense(m)), x, m)
    assert sparse.SparseFromDense not in ops_of(f)
    dense = np.array([[4.0, 5, 0], [7, 8, 9]])
    assert f(VALUE, dense).tolist() == [4, 0, 8]
    r = tt.dvector("r")
    spread = compiled(values_at(x, tt.alloc(r, x.shape[0], x.shape[1])), x, r)
    assert tt.Alloc not in ops_of(spread)
    assert spread(VALUE, [1.0, 2, 3]).tolist() == [1, 3, 2]
    # Lengths that are not known to be the matrix's stay, and are checked.
    n = tt.lscalar("n")
    other = compiled(values_at(x, tt.alloc(r, x.shape[0], n)), x, r, n)
    assert tt.Alloc in ops_of(other)
    assert other(VALUE, [1.0, 2, 3], 3).tolist() == [1, 3, 2]


def test_zeros_are_removed_in_place_of_what_may_change(x):
    f = theano.function([theano.In(x, mutable=True, borrow=True)], sparse.remove0(x))
    assert [node.op.inplace for node in f.maker.fgraph.toposort()] == [True]
    value = VALUE.copy()
    value.data[0] = 0
    assert f(value).nnz == 2


def test_rewrites_of_the_manual_by_name(x, m):
    mode = theano.compile.get_default_mode().including("local_addsd_ccode")
    f = theano.function([x, m], x + m, mode=mode)
    assert [node.op.inplace for node in f.maker.fgraph.toposort() if isinstance(node.op, sparse.opt.AddSD_ccode)] == [False]
    twice = theano.function([x, m], x + 2 * m, mode=mode)
    assert [n.op.inplace for n in twice.maker.fgraph.toposort() if isinstance(n.op, sparse.opt.AddSD_ccode)] == [True]
    np.testing.assert_array_equal(twice(VALUE, np.ones((2, 3))), VALUE.toarray() + 2)
    np.testing.assert_array_equal(f(VALUE, np.ones((2, 3))), VALUE.toarray() + 1)
    c, z = sparse.csc_matrix(dtype="float64"), tt.dmatrix()
    mode = theano.compile.get_default_mode().including("local_usmm_csx")
    f = theano.function([c, m, z], sparse.usmm(np.array([[0.5]]), c, m, z), mode=mode)
    assert sparse.opt.UsmmCscDense in ops_of(f)
    np.testing.assert_allclose(f(VALUE.tocsc(), np.ones((3, 2)), np.ones((2, 2))), 1 + VALUE.toarray() @ np.ones((3, 2)) / 2)


def test_a_difference_with_a_scaled_product_is_one_operation_of_blas(x, m):
    z = tt.dmatrix("z")
    output = z - tt.constant([[0.5]]) * sparse.dot(x, m)
    assert sparse.Usmm not in ops_of(compiled(output, x, m, z))
    with theano.config.change_flags(**{"blas.ldflags": "-lblas"}):
        f = compiled(output, x, m, z)
        assert sparse.Usmm in ops_of(f)
        assert sparse.Usmm not in ops_of(compiled(z - m[:1, :1] * sparse.dot(x, m) ** 2, x, m, z))
        row = compiled(z[0] - tt.constant([[0.5]]) * sparse.dot(x, m), x, m, z)
    assert sparse.Usmm not in ops_of(row) and row(VALUE, np.ones((3, 2)), np.ones((2, 2))).shape == (2, 2)
    np.testing.assert_allclose(f(VALUE, np.ones((3, 2)), np.ones((2, 2))), 1 - VALUE.toarray() @ np.ones((3, 2)) / 2)


def test_a_gradient_through_the_stored_values_keeps_their_places(x):
    f = compiled(theano.grad((sparse.csm_properties(x)[0] ** 2).sum(), x), x)
    assert sparse.CSMGrad not in ops_of(f)
    np.testing.assert_allclose(f(VALUE).toarray(), 2 * VALUE.toarray())


def test_operations_on_arrays_agree_with_those_on_matrices(x, m):
    opt, d = sparse.opt, np.arange(6.0).reshape(2, 3)
    rows, columns = VALUE.nonzero()
    data, indices, indptr, _ = sparse.csm_properties(x)
    a, b = np.arange(8.0).reshape(2, 4), np.arange(12.0).reshape(3, 4)
    for output, expected in (
        (opt.mul_s_d_csr(data, indices, indptr, m), VALUE.data * d[rows, columns]),
        (opt.mul_s_v_csr(data, indices, indptr, m[0]), VALUE.data * d[0][columns]),
        (opt.structured_add_s_v_csr(data, indices, indptr, m[0]), VALUE.data + d[0][columns]),
        (opt.sd_csr(data, indices, indptr, m.T), VALUE @ d.T),
        (sparse.sdg_csr(indices, indptr, tt.constant(b), tt.constant(a)), (a @ b.T)[rows, columns]),
        (opt.sampling_dot_csr(a, b, data, indices, indptr, 3)[0], VALUE.data * (a @ b.T)[rows, columns]),
    ):
        np.testing.assert_allclose(compiled(output, x, m)(VALUE, d), expected)

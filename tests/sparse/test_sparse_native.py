"""What of sparse operations runs in the engine: matrices are their parts there, and objects of SciPy are made at its borders."""

import gc
import pickle
import threading
import time

import numpy as np
import pytest
import scipy.sparse

import theano
import theano.tensor as tt
from theano import sparse
from theano.native import instructions as vm
from theano.sparse.structure import stored_values, values_at, with_values

DENSE = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0], [4, 0, 0, 5]])
OTHER = np.array([[0, 7.0, -2, 0], [0, 0, 0, 1], [2, 0, 0, 3]])


def csr(values=DENSE, dtype="float64"):
    return scipy.sparse.csr_matrix(values.astype(dtype))


def compiled(outputs, *inputs, **options):
    return theano.function(list(inputs), outputs, on_unused_input="ignore", **options)


def python_calls(f):
    """How many instructions call Python code."""
    return sum(bool(instr.op.runs_python) for instr in f.fn.instrs)


x, y = sparse.csr_matrix("x", dtype="float64"), sparse.csr_matrix("y", dtype="float64")
c = sparse.csc_matrix("c", dtype="float64")
i = sparse.csr_matrix("i", dtype="int16")
z = sparse.csr_matrix("z", dtype="complex64")
m, at = tt.dmatrix("m"), tt.lvector("at")
data, indices, indptr = tt.dvector("data"), tt.ivector("indices"), tt.ivector("indptr")
START = tt.iscalar("start")

# Expressions, what NumPy has for the dense matrices, and the matrices of the result.
NATIVE = {
    "sum of two": (x + y, lambda a, b: a + b, 1),
    "difference": (x - y, lambda a, b: a - b, 1),
    "product": (x * y, lambda a, b: a * b, 1),
    "sum of two formats": (x + c, lambda a, b: a + b, 1),
    "product of two formats": (c * x, lambda a, b: a * b, 1),
    "sum of columns": (c + c.T.T, lambda a, b: 2 * b, 1),
    "integers": (i + i, lambda a, b: 2 * a, 1),
    "complex": (z * z, lambda a, b: a * a, 1),
    "two dtypes": (x + i, lambda a, b: 2 * a, 1),
    "transposed sum": (x.T + y.T, lambda a, b: (a + b).T, 1),
    "dense sum": (x + m, lambda a, b: a + b, 0),
    "dense difference": (m - c, lambda a, b: 0 * a, 0),
    "integers and floats": (i + m, lambda a, b: a + b, 0),
    "scaled": (x * 2, lambda a, b: 2 * a, 1),
    "masked": (x * m, lambda a, b: a * b, 1),
    "dense": (sparse.dense_from_sparse(z), lambda a, b: a, 0),
    "dense sum of two": (sparse.dense_from_sparse(x + y), lambda a, b: a + b, 0),
    "rows": (sparse.sp_sum(x, 1), lambda a, b: a.sum(1), 0),
    "columns": (sparse.sp_sum(x, 0), lambda a, b: a.sum(0), 0),
    "rows of columns": (sparse.sp_sum(c, 1), lambda a, b: b.sum(1), 0),
    "columns of columns": (sparse.sp_sum(c, 0), lambda a, b: b.sum(0), 0),
    "all": (sparse.sp_sum(i), lambda a, b: a.sum(), 0),
    "complex rows": (sparse.sp_sum(z, 1), lambda a, b: a.sum(1), 0),
    "shape": (x.shape, lambda a, b: a.shape, 0),
    "length": (c.shape[1], lambda a, b: a.shape[1], 0),
    "by rows": (sparse.csr_from_dense(m), lambda a, b: b, 1),
    "by columns": (sparse.csc_from_dense(m), lambda a, b: b, 1),
    "of the transpose": (sparse.csc_from_dense(m.T), lambda a, b: b.T, 1),
    "a part": (x[START:3], lambda a, b: a[1:3], 1),
    "from the end": (x[-2:], lambda a, b: a[-2:], 1),
    "nothing": (x[2:1], lambda a, b: a[2:1], 1),
    "columns in a row": (c[:, START : START + 2], lambda a, b: b[:, 1:3], 1),
    "rows by a list": (x[at], lambda a, b: a[[2, 0, 2, 1]], 1),
    "product with a part": (sparse.dot(x[START:], m.T), lambda a, b: a[1:] @ b.T, 0),
    "product of a sum": (sparse.dot(x + y, m.T), lambda a, b: (a + b) @ b.T, 0),
    "chain of a sum": (sparse.sp_sum(sparse.sqr(x + y), 0), lambda a, b: ((a + b) ** 2).sum(0), 0),
    "values": (sparse.csm_data(x + y), lambda a, b: scipy.sparse.csr_matrix(a + b).data, 0),
    "column numbers": (sparse.csm_indices(x + y), lambda a, b: scipy.sparse.csr_matrix(a + b).indices, 0),
    "row starts": (sparse.csm_indptr(x), lambda a, b: scipy.sparse.csr_matrix(a).indptr, 0),
    "shape as int32": (sparse.csm_shape(x), lambda a, b: np.array(a.shape, "int32"), 0),
    "scaled product and sum": (
        sparse.usmm(np.array([[0.5]]), x, m.T, c.toarray()[:, :3]),
        lambda a, b: a @ b.T / 2 + b[:, :3],
        0,
    ),
    "sum with a product of floats": (
        sparse.usmm(np.array([[2]], "int8"), m.T, x, tt.dot(m.T, m).astype("float32")),
        lambda a, b: 2 * b.T @ a + b.T @ b,
        0,
    ),
    "product of integers": (sparse.dot(i, tt.cast(m.T, "int16")), lambda a, b: a @ b.T, 0),
    "product of integers on the right": (sparse.dot(tt.cast(m.T, "int16"), i), lambda a, b: b.T @ a, 0),
    "integers and a vector": (sparse.dot(i, tt.cast(m[0], "int16")), lambda a, b: a @ b[0], 0),
    "structured product of integers": (sparse.structured_dot(tt.cast(m.T, "int16"), i), lambda a, b: b.T @ a, 0),
    "product of complex numbers": (sparse.dot(z.T, tt.cast(m, "complex64") * 1j), lambda a, b: a.T @ b * 1j, 0),
    "integers at places": (
        sparse.sampling_dot(tt.cast(m, "int16"), tt.cast(tt.dot(m.T, m), "int16"), i),
        lambda a, b: a * (b @ b.T @ b),
        1,
    ),
    "product of two sparse": (sparse.true_dot(x, y.T), lambda a, b: a @ b.T, 1),
    "product of two formats of matrices": (sparse.structured_dot(c.T, x), lambda a, b: b.T @ a, 1),
    "product of two, dense": (sparse.dot(i, z.T), lambda a, b: a @ a.T, 0),
    "sparse product with a dense one": (sparse.true_dot(x, m.T), lambda a, b: a @ b.T, 1),
    "sparse product with a dense one on the left": (sparse.true_dot(m.T, x), lambda a, b: b.T @ a, 1),
    "gradient of a sparse product": (
        theano.grad(sparse.sp_sum(sparse.structured_dot(x, y.T), sparse_grad=True), x),
        lambda a, b: np.where(a != 0, np.where(a @ b.T != 0, 1, 0) @ b, 0),
        1,
    ),
    "gradients of sampled products": (
        theano.grad(sparse.sp_sum(sparse.sampling_dot(m, tt.dot(m.T, m), x)), m),
        lambda a, b: a @ b.T @ b + b @ a.T @ b + b @ b.T @ a,
        0,
    ),
    "elements of a sparse matrix": (values_at(x, c), lambda a, b: b[a != 0], 0),
    "clean": (sparse.clean(x), lambda a, b: a, 1),
    "clean sum": (sparse.clean(x + y), lambda a, b: a + b, 1),
    "in order": (sparse.ensure_sorted_indices(c), lambda a, b: b, 1),
    "one below the other": (sparse.vstack([x, c, i], format="csr"), lambda a, b: np.vstack([a, b, a]), 1),
    "side by side": (sparse.hstack([z, x], format="csr"), lambda a, b: np.hstack([a, a]), 1),
    "side by side by columns": (sparse.hstack([x, c]), lambda a, b: np.hstack([a, b]), 1),
    "columns one below the other": (sparse.vstack([x, y], format="csc", dtype="float32"), lambda a, b: np.vstack([a, b]), 1),
    "compared": (sparse.lt(x, m), lambda a, b: a < b, 0),
    "compared with zeros": (sparse.eq(m, c), lambda a, b: np.ones_like(b), 0),
    "on a diagonal": (sparse.square_diagonal(data), lambda a, b: np.diag(a[a != 0]), 1),
    "made": (sparse.CSR(data, indices, indptr, (3, 4)), lambda a, b: a, 1),
    "made and used": (sparse.dot(sparse.CSR(data, indices, indptr, (3, 4)), m.T), lambda a, b: a @ b.T, 0),
}


@pytest.mark.parametrize("name", NATIVE)
def test_operations_that_need_python_for_the_object_alone(name):
    output, expected, objects = NATIVE[name]
    f = compiled(output, x, y, c, i, z, m, at, data, indices, indptr, START)
    assert python_calls(f) == objects
    s = csr()
    arguments = [s, csr(OTHER), scipy.sparse.csc_matrix(OTHER), csr(dtype="int16"), csr(dtype="complex64"), OTHER]
    if name in ("dense difference", "compared with zeros"):
        arguments[5] = OTHER.copy()
    got = f(*arguments, [2, 0, -1, 1], s.data, s.indices, s.indptr, 1)
    want = expected(DENSE, OTHER)
    if scipy.sparse.issparse(got):
        assert got.format == output.type.format and got.has_canonical_format
        assert not any(np.shares_memory(part, other) for part in (got.data, got.indices, got.indptr)
                       for a in arguments[:5] for other in (a.data, a.indices, a.indptr))  # fmt: skip
        got = got.toarray()
    np.testing.assert_array_equal(got, want)
    slow = compiled(output, x, y, c, i, z, m, at, data, indices, indptr, START, mode=theano.Mode("py", None))
    reference = slow(*arguments, [2, 0, -1, 1], s.data, s.indices, s.indptr, 1)
    assert reference.dtype == got.dtype


def test_sums_that_cancel_are_not_stored():
    f = compiled([x + y, x * y], x, y)
    a, b = csr(), csr(-DENSE)
    total, product = f(a, b)
    assert total.nnz == 0 and total.indptr.tolist() == [0, 0, 0, 0] and product.nnz == a.nnz
    b.data[:] = [0, 1, np.nan, 2, np.inf]
    total, product = f(a, b)
    np.testing.assert_array_equal(product.toarray(), a.multiply(b).toarray())
    np.testing.assert_array_equal(total.toarray(), (a + b).toarray())


def test_long_sums_by_several_threads():
    rng = np.random.RandomState(0)
    a, b = (scipy.sparse.random(4000, 500, 0.05, format="csr", random_state=rng) for _ in range(2))
    f = compiled([x + y, x * y, sparse.dense_from_sparse(x), sparse.sp_sum(x, 1), x[at], sparse.csr_from_dense(m)], x, y, at, m)
    runtime = theano.native.fastcall._runtime
    before, which, results = runtime.get_threads(), rng.randint(0, 4000, 3000), []
    try:
        for count in (1, 2, 3):
            runtime.set_threads(count)
            results.append(f(a, b, which, a.toarray()))
    finally:
        runtime.set_threads(before)
    for total, product, dense, rows, taken, made in results:
        for got, want in ((total, a + b), (product, a.multiply(b).tocsr()), (taken, a[which]), (made, a)):
            for part in ("data", "indices", "indptr"):
                np.testing.assert_array_equal(getattr(got, part), getattr(want, part))
        np.testing.assert_array_equal(dense, a.toarray())
        np.testing.assert_allclose(rows, a.toarray().sum(1))


def test_values_that_lie_apart_are_read_where_they_are():
    f = compiled([sparse.dot(with_values(x, data), m), sparse.dot(x, m), with_values(x, data[::-1]) + y], x, y, data, m)
    s, spread = csr(), np.arange(10.0)
    s.data = spread[::2]
    backwards, apart, total = f(s, csr(OTHER), spread[:5][::-1], np.eye(4))
    want = csr()
    want.data = spread[:5][::-1].copy()
    np.testing.assert_array_equal(backwards, want.toarray())
    want.data = spread[::2].copy()
    np.testing.assert_array_equal(apart, want.toarray())
    want.data = spread[:5].copy()
    np.testing.assert_array_equal(total.toarray(), want.toarray() + OTHER)


def test_values_alone_need_no_indices():
    f = compiled([sparse.csm_data(x), x.size], x)
    assert not any(isinstance(instr.op, vm.SparseIndex) for instr in f.fn.instrs)
    wide = scipy.sparse.csr_matrix(([1.0, 2], ([0, 0], [0, 2**40])), shape=(1, 2**41))
    values, size = f(wide)
    assert values.tolist() == [1, 2] and size == 2


class TestEmbeddings:
    def test_a_step_touches_the_rows_that_were_used(self):
        start = np.random.RandomState(0).rand(50, 3)
        table = theano.shared(start)
        cost = (theano.sparse_grad(table[at]) ** 2).sum()
        step = theano.function([at], cost, updates=[(table, table - 0.1 * theano.grad(cost, table))])
        assert python_calls(step) == 0
        names = [type(node.op).__name__ for node in step.maker.fgraph.apply_nodes]
        assert "AddSD" not in names and "ConstructSparseFromList" not in names
        assert step.maker.fgraph.outputs[-1].owner.op.inplace
        where = np.array([4, 1, 4, 49, -1])
        expected = start.copy()
        np.add.at(expected, where, -0.2 * start[where])
        assert step(where) == pytest.approx((start[where] ** 2).sum())
        np.testing.assert_allclose(table.get_value(), expected)
        with pytest.raises(IndexError):
            step([50])
        np.testing.assert_allclose(table.get_value(), expected)

    @pytest.mark.parametrize("shape", [(1, 3), (2, 1)])
    def test_rows_are_not_broadcast(self, shape):
        table, rows = tt.dmatrices("table", "rows")
        made = sparse.construct_sparse_from_list(table, rows, at)
        f = theano.function([table, rows, at], table + made)
        np.testing.assert_allclose(f(np.ones((4, 3)), np.ones((2, 3)), [1, 1])[1], [3, 3, 3])
        with pytest.raises((AssertionError, ValueError)):
            f(np.ones((4, 3)), np.ones(shape), [1, 2])

    def test_a_sum_with_another_matrix_stays_what_it_is(self):
        table, other = tt.dmatrix(), tt.dmatrix()
        g = theano.grad((theano.sparse_grad(table[at]) ** 2).sum(), table)
        f = compiled(other + g, table, other, at)
        want = np.zeros((3, 4))
        np.add.at(want, [2, 2], 2 * DENSE[[2, 2]])
        np.testing.assert_allclose(f(DENSE, OTHER, [2, 2]), OTHER + want)
        with pytest.raises(ValueError, match="Apply node"):
            f(DENSE, OTHER[:2], [2, 2])


class TestLoops:
    def test_over_the_rows_of_a_matrix(self):
        v = tt.dvector()
        rows, _ = theano.scan(lambda k, a, b: sparse.dot(a[k : k + 1], b)[0], tt.arange(x.shape[0]), non_sequences=[x, v])
        f = compiled(rows, x, v)
        inner = [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, theano.scan_module.scan_op.Scan)]
        assert len(inner) == 1 and python_calls(f) == 0
        np.testing.assert_allclose(f(csr(), [1.0, 2, 3, 4]), DENSE @ [1, 2, 3, 4])

    def test_steps_over_minibatches(self):
        w, target = theano.shared(np.zeros(4)), tt.dvector()
        batch = x[at]
        p = tt.nnet.sigmoid(sparse.dot(batch, w))
        cost = tt.nnet.binary_crossentropy(p, target[at]).sum()
        step = theano.function([x, target, at], cost, updates=[(w, w - theano.grad(cost, w))])
        assert python_calls(step) == 0
        step(csr(), [1.0, 0, 1], [2, 0])
        np.testing.assert_allclose(w.get_value(), DENSE[[2, 0]].T @ [0.5, 0.5])

    def test_a_branch_of_sums(self):
        which = tt.bscalar()
        f = compiled(sparse.sp_sum(theano.ifelse.ifelse(which, x + y, x * y), 1), which, x, y)
        np.testing.assert_allclose(f(1, csr(), csr(OTHER)), (DENSE + OTHER).sum(1))
        np.testing.assert_allclose(f(0, csr(), csr(OTHER)), (DENSE * OTHER).sum(1))


class TestWholeGraphs:
    def expression(self):
        s = theano.shared(csr(), name="s")
        return s, [sparse.dot(s + x, m), sparse.sp_sum(x * s)]

    def test_a_pickled_function(self):
        _, outputs = self.expression()
        f = pickle.loads(pickle.dumps(theano.function([x, m], outputs)))
        product, total = f(csr(OTHER), np.eye(4))
        np.testing.assert_array_equal(product, DENSE + OTHER)
        assert total == (DENSE * OTHER).sum()

    def test_a_copy_with_another_matrix(self):
        s, outputs = self.expression()
        f = theano.function([x, m], outputs)
        g = f.copy(swap={s: theano.shared(csr(OTHER))})
        np.testing.assert_array_equal(g(csr(), np.eye(4))[0], DENSE + OTHER)
        np.testing.assert_array_equal(f(csr(), np.eye(4))[0], 2 * DENSE)

    def test_givens(self):
        s, outputs = self.expression()
        f = theano.function([x, y, m], outputs, givens={s: y + y})
        assert python_calls(f) == 0
        np.testing.assert_array_equal(f(csr(), csr(OTHER), np.eye(4))[0], DENSE + 2 * OTHER)

    def test_updates_of_a_shared_matrix(self):
        s = theano.shared(csr())
        step = theano.function([y], sparse.sp_sum(s), updates=[(s, s + y)])
        assert [step(csr(OTHER)) for _ in range(3)] == [DENSE.sum() + k * OTHER.sum() for k in range(3)]
        np.testing.assert_array_equal(s.get_value().toarray(), DENSE + 3 * OTHER)
        with pytest.raises(ValueError, match="shapes"):
            step(csr(OTHER[:2]))
        np.testing.assert_array_equal(s.get_value().toarray(), DENSE + 3 * OTHER)

    def test_values_of_a_shared_matrix_are_scaled_where_it_is(self):
        s = theano.shared(csr())
        step = theano.function([], [], updates=[(s, with_values(s, stored_values(s) * 2))])
        step()
        np.testing.assert_array_equal(s.get_value().toarray(), 2 * DENSE)

    def test_what_is_computed_step_by_step(self):
        _, outputs = self.expression()
        f = theano.function([x, m], outputs, mode="DebugMode")
        np.testing.assert_array_equal(f(csr(OTHER), np.eye(4))[0], DENSE + OTHER)


class TestManyPlaces:
    """Shapes of more than 2**31: what is stored counts, not how long a row is."""

    WIDE = (1, 3_000_000_000)

    def matrix(self, columns, values):
        return scipy.sparse.csr_matrix((values, (np.zeros(len(columns), int), columns)), shape=self.WIDE)

    def test_sums_products_and_parts(self):
        a, b = self.matrix([5, 2_999_999_999], [1.0, 2]), self.matrix([7, 2_999_999_999], [3.0, 4])
        f = compiled([x + y, x * y, sparse.sp_sum(x, 1), x.T, x[:1], x[at], sparse.sqr(x), x.shape[1]], x, y, at)
        total, product, rows, turned, part, taken, square, columns = f(a, b, [0, 0])
        assert total.indices.dtype == "int64" and total.shape == self.WIDE
        assert total.indices.tolist() == [5, 7, 2_999_999_999] and total.data.tolist() == [1, 3, 6]
        assert product.indices.tolist() == [2_999_999_999] and product.data.tolist() == [8]
        assert rows.tolist() == [3] and columns == 3_000_000_000
        assert turned.shape == self.WIDE[::-1] and turned[2_999_999_999, 0] == 2
        assert part.nnz == 2 and taken.shape == (2, 3_000_000_000) and taken.nnz == 4
        assert square[0, 5] == 1 and square[0, 2_999_999_999] == 4

    def test_indices_of_two_widths(self):
        a, b = csr(), csr(OTHER)
        b.indices, b.indptr = b.indices.astype("int64"), b.indptr.astype("int64")
        total = compiled(x + y, x, y)(a, b)
        assert total.indices.dtype == total.indptr.dtype == "int64"
        np.testing.assert_array_equal(total.toarray(), DENSE + OTHER)

    def test_duplicates_far_from_each_other(self):
        a = scipy.sparse.csr_matrix(self.WIDE)
        a.data, a.indices = np.array([1.0, 2, 4]), np.array([2_999_999_999, 0, 2_999_999_999])
        a.indptr = np.array([0, 3])
        total = compiled(x + y, x, y)(a, a)
        assert total.indices.tolist() == [0, 2_999_999_999] and total.data.tolist() == [4, 10]


def test_calls_that_succeed_or_fail_leave_no_memory():
    outputs = [x + y, x * y, x.T, sparse.sqr(x), x[at], x[:2], sparse.csr_from_dense(m), sparse.csc_from_dense(m), x + c]
    outputs += [
        sparse.true_dot(x, y.T),
        sparse.clean(x),
        sparse.vstack([x, c], format="csr"),
        values_at(x, y),
        sparse.hstack([x, y]),
    ]
    outputs += [sparse.sp_sum(x, 0), x + m, sparse.dense_from_sparse(y)]
    f = compiled(outputs, x, y, c, m, at)
    good = [csr(), csr(OTHER), scipy.sparse.csc_matrix(OTHER), OTHER, [0, 1]]
    wrong, short = csr(), csr(OTHER[:, :3])
    wrong.indices[1] = 100
    unsorted = csr()
    unsorted.indices, unsorted.data = unsorted.indices[::-1].copy(), unsorted.data[::-1].copy()
    unsorted.indices[:] = [2, 0, 1, 3, 3]

    def in_use():
        gc.collect()
        return theano.native.fastcall._runtime.pool_stats()["in_use"]

    f(*good)
    before = in_use()
    for _ in range(3):
        f(*good)
        f(unsorted, *good[1:])
        for arguments in ([wrong, *good[1:]], [good[0], short, *good[2:]], [*good[:4], [7]], [*good[:3], OTHER[:2], [0]]):
            with pytest.raises((IndexError, ValueError)):
                f(*arguments)
    assert in_use() == before


class TestErrors:
    def test_a_shape_that_is_not_the_specified_one(self):
        f = compiled(sparse.sp_sum(tt.specify_shape(x, (3, 4))), x)
        assert f(csr()) == DENSE.sum()
        with pytest.raises(AssertionError):
            f(csr(DENSE.T))

    def test_an_index_out_of_bounds(self):
        for wrong in (-1, 4, 2**30):
            a = csr()
            a.indices[1] = wrong
            outputs = [x + y, x * y, x + m, sparse.sp_sum(x, 0), x * c, sparse.dense_from_sparse(x), sparse.true_dot(x, y.T)]
            outputs += [
                sparse.true_dot(c.T, x),
                values_at(x, y),
                values_at(y, x),
                sparse.vstack([x, y], format="csr"),
                sparse.hstack([x, y]),
            ]
            for output in outputs:
                f = compiled(output, x, y, c, m)
                with pytest.raises(IndexError, match="out of bounds"):
                    f(a, csr(OTHER), scipy.sparse.csc_matrix(OTHER), OTHER)

    def test_shapes_that_differ(self):
        for output in (x + y, x * y, x + m, sparse.true_dot(x, x), sparse.vstack([x, y]), sparse.eq(x, m), values_at(y, x)):
            with pytest.raises(ValueError, match=r"\(3, 4\).*Apply node|\(3, 4\)"):
                compiled(output, x, y, m)(csr(), csr(OTHER[:, :3]), OTHER[:, :3])

    def test_rows_that_are_not_there(self):
        for wrong in ([3], [-4], [0, 2**40]):
            with pytest.raises(IndexError, match="out of bounds"):
                compiled(x[at], x, at)(csr(), wrong)

    def test_no_rows_and_many_values(self):
        wrong = scipy.sparse.csc_matrix((np.ones(30000), np.zeros(30000, "int32"), [0, 30000]), shape=(0, 1))
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(sparse.dot(c, m), c, m)(wrong, np.ones((1, 1)))

    def test_lengths_beyond_any_memory(self):
        wide = scipy.sparse.csr_matrix((np.ones(1), np.array([0]), np.array([0, 1, 1])), shape=(2, 2**61))
        turned = scipy.sparse.csc_matrix((2, 1))
        turned._shape = (2, 2**61)
        with pytest.raises((MemoryError, ValueError)):
            compiled(sparse.add(c, x), c, x)(turned, wide)

    @pytest.mark.parametrize("dtype, index", [("float64", "int32"), ("int64", "int32"), ("float32", "int64"), ("int8", "int64")])
    def test_pointers_that_another_thread_makes_negative_meanwhile(self, dtype, index):
        a = scipy.sparse.random(20000, 60, 0.05, format="csr", random_state=np.random.RandomState(0))
        a.data = np.ceil(9 * a.data).astype(dtype)
        a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
        other, right, stop = a.copy(), a.indptr.copy(), threading.Event()
        u, v, d = sparse.csr_matrix(dtype=dtype), sparse.csr_matrix(dtype=dtype), tt.matrix(dtype=dtype)
        lines = tt.lvector()
        outputs = [
            sparse.dot(u, d),
            sparse.dot(u, d[:, :1]),
            sparse.dot(u.T, d[:, :1].repeat(334, axis=0)[:20000]),
            sparse.dot(u.T, tt.tile(d, (334, 1))[:20000]),
            sparse.sampling_dot(tt.tile(d, (334, 1))[:20000], d, u),
            sparse.true_dot(u, v.T),
            sparse.true_dot(v.T, u),
            values_at(u, tt.tile(d, (334, 8))[:20000, :60]),
            sparse.add(u.T, v.T),
            u + v,
            sparse.clean(u),
            u[lines],
            u[10:15000],
        ]
        functions = [compiled(output, u, v, d, lines) for output in outputs]
        dense, which = np.ones((60, 8), dtype), np.arange(0, 20000, 3)
        wanted = [f(a, other, dense, which) for f in functions[:2]]
        far = 2**29 if index == "int32" else 2**45

        def change():
            while not stop.is_set():
                for spoiled in (slice(9000, 9001), slice(5000, None), slice(1, 15001)):
                    time.sleep(0.0004)
                    a.indptr[spoiled] = -far
                    time.sleep(0.0002)
                    a.indptr[:] = right

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for f in functions:
                for _ in range(12):
                    try:
                        f(a, other, dense, which)
                    except (ValueError, IndexError, MemoryError):
                        pass
        finally:
            stop.set()
            thread.join()
        for f, want in zip(functions, wanted, strict=False):
            np.testing.assert_array_equal(f(a, other, dense, which), want)

    def test_a_matrix_that_another_thread_changes_meanwhile(self):
        a = scipy.sparse.random(4000, 60, 0.1, format="csr", random_state=np.random.RandomState(0))
        b, right, stop = a.copy(), a.indptr.copy(), threading.Event()
        vector, dense = np.ones(60), np.ones((60, 8))
        outputs = [x + y, x * y, sparse.clean(x), sparse.true_dot(x, y.T), values_at(y, x), sparse.sp_sum(x, 1), x.T + y.T]
        outputs += [
            sparse.dot(x, m),
            sparse.dot(x, m[:, 0]),
            sparse.dense_from_sparse(x),
            sparse.sampling_dot(sparse.dot(y, m), m, x),
        ]
        functions = [compiled(output, x, y, m) for output in outputs]
        assert all(python_calls(f) <= 1 for f in functions)

        def change():
            while not stop.is_set():
                a.indptr[1:-1] = 2**30
                a.indptr[:] = right
                a.indptr[2000:] = -7
                a.indptr[:] = right

        other = threading.Thread(target=change)
        other.start()
        try:
            for _ in range(15):
                for f in functions:
                    try:
                        f(a, b, dense)
                    except (ValueError, IndexError):
                        pass
        finally:
            stop.set()
            other.join()
        np.testing.assert_allclose(functions[8](a, b, dense), a @ vector)

    @pytest.mark.parametrize(
        "dtype, index", [("float32", "int32"), ("float64", "int64"), ("int16", "int32"), ("complex64", "int64")]
    )
    @pytest.mark.parametrize("density", [0.002, 0.01, 0.05])
    def test_indices_that_another_thread_falsifies_meanwhile(self, dtype, index, density):
        a = scipy.sparse.random(4000, 1000, density, format="csr", random_state=np.random.RandomState(0))
        a.data = np.ceil(9 * a.data).astype(dtype)
        a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
        right, stop, far = a.indices.copy(), threading.Event(), 2**30 if index == "int32" else 2**45
        u, d, left = sparse.csr_matrix(dtype=dtype), tt.matrix(dtype=dtype), tt.matrix(dtype=dtype)
        outputs = [sparse.dot(u, d), sparse.dot(u, d[:, 0]), sparse.dot(u, d[:, :3]), sparse.dot(u.T, left[:, 0]),
                   sparse.dot(u.T, left), sparse.sampling_dot(left, d, u), values_at(u, tt.dot(left, d.T)),
                   u + u, sparse.sp_sum(u, 0), sparse.dense_from_sparse(u)]  # fmt: skip
        functions = [compiled(output, u, d, left) for output in outputs]
        arguments = a, np.ones((1000, 21), dtype), np.ones((4000, 21), dtype)
        wanted = [f(*arguments) for f in functions]

        def change():
            while not stop.is_set():
                a.indices[len(right) // 2 :: 7] = far
                a.indices[:] = right
                a.indices[-100:] = -far
                a.indices[:] = right
                time.sleep(0.0001)

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for f in functions:
                for _ in range(8):
                    try:
                        f(*arguments)
                    except (ValueError, IndexError):
                        pass
        finally:
            stop.set()
            thread.join()
        for f, want in zip(functions, wanted, strict=True):
            got = f(*arguments)
            assert (got != want).nnz == 0 if scipy.sparse.issparse(got) else np.array_equal(got, want)

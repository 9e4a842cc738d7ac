"""Gradients of sparse operations against finite differences, and graphs that mix them with tensors and loops."""

import functools

import numpy as np
import pytest
import scipy.sparse

import theano
import theano.tensor as tt
from theano import sparse
from theano.sparse.structure import stored_values, values_at, with_values
from theano.sparse.tests.test_basic import verify_grad_sparse
from theano.tests.unittest_tools import verify_grad


def matrix(fmt, seed=0, shape=(4, 3)):
    rng = np.random.RandomState(seed)
    return getattr(scipy.sparse, fmt + "_matrix")((rng.rand(*shape) + 0.2) * (rng.rand(*shape) < 0.6))


def dense(*shape):
    return np.random.RandomState(9).rand(*shape) + 0.1


OPERATIONS = {
    "neg": (lambda x: -x, [], False),
    "transpose": (lambda x: x.T, [], False),
    "cast": (lambda x: sparse.cast(x, "float64"), [], False),
    "clean": (sparse.clean, [], False),
    "add dense": (lambda x, m: x + m, [dense(4, 3)], True),
    "mul dense": (lambda x, m: x * m, [dense(4, 3)], False),
    "mul number": (lambda x, a: x * a, [np.array(1.5)], False),
    "mul row": (lambda x, v: x * v.dimshuffle("x", 0), [dense(3)], True),
    "mul column": (lambda x, v: x * v.dimshuffle(0, "x"), [dense(4)], True),
    "mul vector": (sparse.mul_s_v, [dense(3)], True),
    "add vector": (sparse.structured_add_s_v, [dense(3)], True),
    "scaled columns": (sparse.col_scale, [dense(3)], True),
    "scaled rows": (sparse.row_scale, [dense(4)], True),
    "exp": (sparse.structured_exp, [], True),
    "chain": (lambda x: sparse.structured_pow(sparse.structured_sigmoid(sparse.sin(x)), 2), [], True),
    "sum": (lambda x: sparse.sp_sum(x, 0), [], False),
    "structured sum": (lambda x: sparse.sp_sum(x, 1, sparse_grad=True), [], True),
    "dot": (sparse.dot, [dense(3, 5)], False),
    "dot on the right": (lambda x, m: sparse.dot(m, x), [dense(5, 4)], False),
    "dot vector": (sparse.dot, [dense(3)], False),
    "structured dot": (sparse.structured_dot, [dense(3, 5)], True),
    "structured dot of a chain": (lambda x, m: sparse.structured_dot(sparse.sqr(x), m), [dense(3, 5)], True),
    "true dot": (sparse.true_dot, [dense(3, 5)], False),
    "sampling dot": (lambda p, x, y: sparse.sampling_dot(x, y, p), [dense(4, 2), dense(3, 2)], True),
    "values at": (values_at, [dense(4, 3)], True),
    "with values": (lambda x: with_values(x, tt.exp(stored_values(x))), [], True),
    "rows": (lambda x: x[[2, 0, 2]], [], False),
    "elements": (lambda x: x[[2, 0, 2], [1, 1, 0]], [], False),
    "stack": (lambda x: sparse.hstack([x, x * 2], format="csr"), [], False),
    "a product inside a sum": (
        lambda x, m: sparse.sp_sum(x * sparse.dot(x, m), sparse_grad=True),
        [dense(3, 3)],
        True,
    ),
}


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients(name, fmt):
    operation, others, structured = OPERATIONS[name]
    verify_grad_sparse(operation, [matrix(fmt), *others], structured=structured, rng=np.random.RandomState(1))


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("operation", [sparse.add, sparse.sub, sparse.mul, lambda x, y: sparse.true_dot(x, y.T)])
def test_gradients_of_two_matrices(operation, fmt):
    verify_grad_sparse(operation, [matrix(fmt), matrix(fmt, 1)], structured=False, rng=np.random.RandomState(1))


def test_second_derivatives_of_a_structured_product():
    value = matrix("csr")

    def gradient(data, m):
        x = sparse.CSR(data, value.indices, value.indptr, value.shape)
        cost = (tt.tanh(sparse.dot(sparse.sqr(x), m)) ** 2).sum()
        return theano.grad(cost, m)

    verify_grad(gradient, [value.data, dense(3, 2)], rng=np.random.RandomState(2))


class TestMixedGraphs:
    def test_logistic_regression_learns(self):
        rng = np.random.RandomState(0)
        x_value = scipy.sparse.random(200, 30, 0.2, format="csr", random_state=rng)
        y_value = (x_value @ rng.randn(30) > 0).astype("float64")
        x, y, w = sparse.csr_matrix(dtype="float64"), tt.dvector(), theano.shared(np.zeros(30))
        p = tt.nnet.sigmoid(sparse.dot(x, w))
        cost = tt.nnet.binary_crossentropy(p, y).mean()
        step = theano.function([x, y], cost, updates=[(w, w - 3 * theano.grad(cost, w))])
        expected = x_value.T @ ((0.5 - y_value) / 200)
        first = step(x_value, y_value)
        np.testing.assert_allclose(w.get_value(), -3 * expected, rtol=1e-6)
        for _ in range(60):
            last = step(x_value, y_value)
        assert last < 0.6 * first

    def test_rows_of_an_embedding_have_a_sparse_gradient(self):
        table, at = tt.dmatrix(), tt.lvector()
        g = theano.grad((theano.sparse_grad(table[at]) ** 2).sum(), table)
        assert isinstance(g.type, sparse.SparseType)
        value, places = dense(6, 3), np.array([4, 1, 4])
        got = theano.function([table, at], g)(value, places)
        expected = np.zeros_like(value)
        np.add.at(expected, places, 2 * value[places])
        np.testing.assert_allclose(got.toarray(), expected)

    def test_a_loop_over_rows(self):
        x, v = sparse.csr_matrix(dtype="float64"), tt.dvector()
        rows, _ = theano.scan(lambda i, x, v: sparse.dot(x[i : i + 1], v)[0], tt.arange(x.shape[0]), non_sequences=[x, v])
        value = matrix("csr")
        np.testing.assert_allclose(theano.function([x, v], rows)(value, dense(3)), value @ dense(3))

    def test_a_loop_of_products_and_its_gradient(self):
        x, v = sparse.csr_matrix(dtype="float64"), tt.dvector()
        steps, _ = theano.scan(lambda h, x: tt.tanh(sparse.dot(x, h)), outputs_info=v, non_sequences=x, n_steps=4)
        value = matrix("csr", shape=(3, 3))
        f = theano.function([x, v], [steps[-1], theano.grad(steps[-1].sum(), v)])
        h, jacobian = dense(3), np.eye(3)
        for _ in range(4):
            h = np.tanh(value @ h)
            jacobian = (1 - h**2)[:, None] * (value @ jacobian)
        got, g = f(value, dense(3))
        np.testing.assert_allclose(got, h)
        np.testing.assert_allclose(g, jacobian.sum(0))

    def test_a_branch(self):
        x, c = sparse.csr_matrix(dtype="float64"), tt.bscalar()
        f = theano.function([c, x], theano.ifelse.ifelse(c, sparse.sqr(x), sparse.structured_exp(x)))
        np.testing.assert_allclose(f(1, matrix("csr")).data, matrix("csr").data ** 2)
        np.testing.assert_allclose(f(0, matrix("csr")).data, np.exp(matrix("csr").data))


@functools.cache
def everything():
    x, m, v = sparse.csr_matrix("x", dtype="float64"), tt.dmatrix("m"), tt.dvector("v")
    y = sparse.structured_dot(sparse.col_scale(sparse.structured_exp(x), v), m)
    cost = (y**2).sum() + sparse.sp_sum(x * sparse.dot(x, m)[:, 0].dimshuffle(0, "x"), sparse_grad=True)
    return [x, m, v], [y, sparse.clean(-x), *theano.grad(cost, [x, m, v])]


@pytest.mark.parametrize("mode", ["DebugMode", "FAST_COMPILE", "py", "None", "NanGuardMode"])
def test_all_modes_agree(mode):
    inputs, outputs = everything()
    modes = {
        "py": lambda: theano.Mode("py", "fast_run"),
        "None": lambda: theano.Mode("cvm", None),
        "NanGuardMode": lambda: theano.compile.nanguardmode.NanGuardMode(),
        "DebugMode": lambda: theano.compile.DebugMode(stability_patience=1, check_py_code=False),
    }
    chosen = modes.get(mode, lambda: mode)()
    arguments = matrix("csr"), dense(3, 2), dense(3)
    expected = theano.function(inputs, outputs)(*arguments)
    for got, want in zip(theano.function(inputs, outputs, mode=chosen)(*arguments), expected, strict=True):
        got, want = (r.toarray() if scipy.sparse.issparse(r) else r for r in (got, want))
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("reduce", [
    lambda z: sparse.sp_sum(z), lambda z: (sparse.dot(z, np.arange(6.0).reshape(3, 2)) ** 2).sum(),
    lambda z: sparse.sp_sum(sparse.true_dot(z, np.arange(6.0).reshape(3, 2))),
], ids=["sp_sum", "dot", "true_dot"])  # fmt: skip
@pytest.mark.parametrize(("operation", "length"), [
    (sparse.mul_s_v, 3), (sparse.structured_add_s_v, 3), (sparse.col_scale, 3), (sparse.row_scale, 4),
])  # fmt: skip
def test_gradients_of_vectors_whatever_reads_the_result(operation, length, reduce):
    value = matrix("csc")
    x, v = sparse.csc_matrix(dtype="float64"), tt.dvector()
    cost = reduce(operation(x, v))
    f, g = theano.function([x, v], cost), theano.function([x, v], theano.grad(cost, v))
    at, step = np.random.RandomState(5).rand(length), 1e-6
    slopes = [(f(value, at + step * e) - f(value, at - step * e)) / (2 * step) for e in np.eye(length)]
    np.testing.assert_allclose(g(value, at), slopes, rtol=1e-5, atol=1e-7)


def test_gradient_of_a_sparse_product_under_a_dense_one():
    value, d = matrix("csr"), dense(3, 2)
    x, m = sparse.csr_matrix(dtype="float64"), tt.dmatrix()
    cost = sparse.dot(sparse.true_dot(x, m), np.ones((2, 2))).sum()
    g = theano.function([x, m], theano.grad(cost, m), on_unused_input="ignore")
    np.testing.assert_allclose(g(value, d), value.toarray().T @ np.full((4, 2), 2.0))


# What makes integers of an integer matrix, or takes only its places.
INTEGERS_ALONE = ["neg", "transpose", "clean", "sum", "structured sum", "stack", "rows", "elements", "values at"]
INTEGERS_ALONE += ["structured dot of a chain"]


class TestIntegers:
    """An integer matrix has the gradient of the same matrix of floats, through what is linear in it too."""

    @staticmethod
    def gradients(operation, value, others, dtype):
        x = sparse.matrix(value.format, dtype=dtype)
        inputs = [x, *(tt.TensorType(o.dtype, (False,) * o.ndim)() for o in others)]
        result = operation(*inputs)
        cost = sparse.sp_sum(result) if isinstance(result.type, sparse.SparseType) else result.sum()
        wanted = [v for v in inputs if v is x or v.dtype == "float64"]
        found = theano.function(inputs, theano.grad(cost, wanted), on_unused_input="ignore")(value.astype(dtype), *others)
        return [g.toarray() if scipy.sparse.issparse(g) else g for g in found]

    @pytest.mark.parametrize("fmt", ["csr", "csc"])
    @pytest.mark.parametrize("name", [n for n in OPERATIONS if n not in INTEGERS_ALONE])
    def test_operations_with_floats(self, name, fmt):
        operation, others, _ = OPERATIONS[name]
        self.agree(operation, (matrix(fmt) * 5).astype("int32"), others)

    @pytest.mark.parametrize("operation", [
        lambda x: sparse.tanh(x.T), lambda x: sparse.tanh(-x), lambda x: sparse.tanh(sparse.clean(x)),
        lambda x: sparse.tanh(x + x), lambda x: sparse.tanh(x * x), lambda x: sparse.tanh(x[[2, 0, 2]]),
        lambda x: tt.tanh(x[[2, 0, 2], [1, 1, 0]]), lambda x: tt.tanh(x.toarray()), lambda x: tt.tanh(sparse.csm_data(x)),
        lambda x: sparse.tanh(sparse.vstack([x, x], format="csr")), lambda x: tt.tanh(sparse.diag(x[[0, 1, 2]])),
        lambda x: sparse.tanh(sparse.CSR(*sparse.csm_properties(x))), lambda x: sparse.add(x, sparse.cast(x, "float64")),
    ])  # fmt: skip
    def test_what_is_linear_in_between(self, operation):
        self.agree(operation, (matrix("csr") * 5).astype("int64"), [])

    def agree(self, operation, value, others):
        got = self.gradients(operation, value, others, value.dtype.name)
        want = self.gradients(operation, value, others, "float64")
        assert all(g.dtype == "float64" for g in got)
        assert any(np.any(w) for w in want)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w)

    @pytest.mark.parametrize("operation", [
        sparse.sp_sum, lambda x: sparse.sp_sum(x + x, 0), lambda x: sparse.dot(x, np.arange(6).reshape(3, 2)),
        lambda x: sparse.sqr(x), lambda x: sparse.tanh(sparse.ceil(x)), lambda x: sparse.tanh(sparse.cast(x * 0.5, "int64")),
    ])  # fmt: skip
    def test_costs_that_step_have_none(self, operation):
        (g,) = self.gradients(operation, (matrix("csr") * 5).astype("int64"), [], "int64")
        assert g.dtype == "float64" and not g.any()

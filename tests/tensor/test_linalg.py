"""Linear algebra and Fourier transforms against NumPy and SciPy, with gradients, shapes and singular matrices."""

import pickle

import numpy as np
import pytest
import scipy.linalg

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, assert_like_numpy, evaluate, inferred_shape
from theano import tensor as T
from theano.tensor import fft, nlinalg, slinalg

A = np.random.RandomState(0).rand(4, 4) + 3 * np.eye(4)
B = np.random.RandomState(1).rand(4, 2)
S = A + A.T
P = A @ A.T


def verify(function, *values, eps=None):
    theano.gradient.verify_grad(function, list(values), rng=np.random.RandomState(2), mode=PLAIN, eps=eps)


def test_inverses_and_determinants():
    assert_like_numpy(nlinalg.matrix_inverse, np.linalg.inv, A)
    assert_like_numpy(nlinalg.det, np.linalg.det, A)
    for shape in ((3, 5), (5, 3)):
        value = np.random.RandomState(0).rand(*shape)
        assert_like_numpy(nlinalg.pinv, np.linalg.pinv, value, rtol=1e-6)
        verify(nlinalg.pinv, value)
    for function in (nlinalg.matrix_inverse, nlinalg.det):
        verify(function, A)
        with pytest.raises(TypeError):
            function(T.dvector())
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(nlinalg.matrix_inverse, np.zeros((2, 2)))
    assert nlinalg.matrix_inverse(T.imatrix()).dtype == "float64"


def test_a_product_with_an_inverse_becomes_a_solution():
    a, b = T.dmatrices(2)
    for build, expected in ((T.dot(nlinalg.matrix_inverse(a), b), np.linalg.solve(A, B)),
                            (T.dot(b.T, nlinalg.matrix_inverse(a)), B.T @ np.linalg.inv(A))):
        f = theano.function([a, b], build, mode=REWRITTEN)
        ops = [type(n.op) for n in f.maker.fgraph.toposort()]
        assert slinalg.Solve in ops and nlinalg.MatrixInverse not in ops
        np.testing.assert_allclose(f(A, B), expected)


@pytest.mark.parametrize("n", [-2, 0, 1, 2, 7])
def test_powers(n):
    assert_like_numpy(lambda x: nlinalg.matrix_power(x, n), lambda x: np.linalg.matrix_power(x, n), A, rtol=1e-6)


def test_traces_diagonals_and_products():
    assert_like_numpy(nlinalg.trace, np.trace, A)
    assert_like_numpy(nlinalg.diag, np.diag, A[0])
    assert_like_numpy(nlinalg.AllocDiag(), np.diag, A[0])
    assert_like_numpy(lambda a, b: nlinalg.matrix_dot(a, b, b.T), lambda a, b: a @ b @ b.T, A, B)


@pytest.mark.parametrize("order", [None, "fro", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms(order):
    assert_like_numpy(lambda x: nlinalg.norm(x, order), lambda x: np.linalg.norm(x, order), B)
    if order != "fro":
        assert_like_numpy(lambda x: nlinalg.norm(x, order), lambda x: np.linalg.norm(x, order), A[0])
    with pytest.raises(ValueError):
        nlinalg.norm(T.dmatrix(), 3)


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_symmetric_eigensystems(uplo):
    values, vectors = evaluate(lambda x: nlinalg.eigh(x, uplo), S)
    np.testing.assert_allclose(S @ vectors, vectors * values)
    verify(lambda x: nlinalg.eigh(x, uplo)[0], S)
    verify(lambda x: abs(nlinalg.eigh(x, uplo)[1]), S)
    values, vectors = evaluate(nlinalg.eig, S)
    np.testing.assert_allclose(S @ vectors, vectors * values)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
def test_decompositions_and_their_shapes(shape):
    value = np.random.RandomState(0).rand(*shape)
    for mode in ("reduced", "complete"):
        q, r = evaluate(lambda x: nlinalg.qr(x, mode), value)
        np.testing.assert_allclose(q @ r, value)
        assert inferred_shape(lambda x: nlinalg.qr(x, mode)[0], value) == q.shape
        assert inferred_shape(lambda x: nlinalg.qr(x, mode)[1], value) == r.shape
    assert_like_numpy(lambda x: nlinalg.qr(x, "r"), lambda x: np.linalg.qr(x, "r"), value)
    for full in (0, 1):
        for i, right in enumerate(np.linalg.svd(value, full)):
            assert_like_numpy(lambda x: nlinalg.svd(x, full)[i], lambda x: right, value)
    assert_like_numpy(lambda x: nlinalg.svd(x, compute_uv=0), lambda x: np.linalg.svd(x, compute_uv=0), value)


@pytest.mark.parametrize("op", [nlinalg.Eig(), nlinalg.Eigh("U"), nlinalg.EighGrad(), nlinalg.QRFull("raw"), nlinalg.SVD(False)])
def test_decompositions_load_from_their_documented_path(op):
    home = type(op).__module__
    assert home == "theano.tensor.decompositions" and pickle.loads(pickle.dumps(op)) == op
    # Protocol 0 names modules in lines of text.
    written = pickle.dumps(op, 0).replace(home.encode(), b"theano.tensor.nlinalg")
    assert pickle.loads(written) == op


def test_tensor_equations_and_least_squares():
    value = (np.eye(6) + 0.1 * np.random.RandomState(0).rand(6, 6)).reshape(2, 3, 3, 2)
    assert_like_numpy(nlinalg.tensorinv, np.linalg.tensorinv, value)
    right = np.random.RandomState(1).rand(2, 3)
    np.testing.assert_allclose(evaluate(nlinalg.tensorsolve, value, right), np.linalg.tensorsolve(value, right))
    for got, expected in zip(evaluate(lambda a, b: nlinalg.lstsq()(a, b, -1.0), B, A), np.linalg.lstsq(B, A, -1.0)):
        np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower):
    assert_like_numpy(slinalg.Cholesky(lower), lambda x: scipy.linalg.cholesky(x, lower=lower), P)
    verify(lambda x: slinalg.Cholesky(lower)(T.dot(x, x.T) + T.eye(4)), A)
    factor = scipy.linalg.cholesky(P, lower=lower)
    direction = np.random.RandomState(3).rand(4, 4)
    x, gz = T.dmatrices(2)
    graph = theano.function([x, gz], T.Lop(slinalg.Cholesky(lower)(x), x, gz), mode=PLAIN)(P, direction)
    np.testing.assert_allclose(evaluate(slinalg.CholeskyGrad(lower), P, factor, direction), graph)


def test_matrices_that_are_not_positive_definite():
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(slinalg.cholesky, -np.eye(2))
    assert np.isnan(evaluate(slinalg.Cholesky(on_error="nan"), -np.eye(2))).all()
    with pytest.raises(ValueError):
        slinalg.Cholesky(on_error="ignore")


@pytest.mark.parametrize("structure, matrix", [
    ("general", A), ("symmetric", S), ("lower_triangular", np.tril(A)), ("upper_triangular", np.triu(A)),
])
def test_solve(structure, matrix):
    op = slinalg.Solve(structure)
    for right in (B, B[:, 0]):
        assert_like_numpy(op, lambda a, b: np.linalg.solve(matrix, b), matrix, right)
        if structure != "symmetric":
            verify(op, matrix, right)
    with pytest.raises((np.linalg.LinAlgError, ValueError)):
        evaluate(op, np.zeros((4, 4)), B)
    with pytest.raises(ValueError):
        slinalg.Solve("round")


@pytest.mark.parametrize("lower", [True, False])
def test_generalized_eigenvalues(lower):
    assert_like_numpy(lambda a, b: slinalg.eigvalsh(a, b, lower), lambda a, b: scipy.linalg.eigvalsh(a, b), S, P)
    assert_like_numpy(lambda a: slinalg.eigvalsh(a, None, lower), scipy.linalg.eigvalsh, S)
    verify(lambda a, b: slinalg.eigvalsh(a, b, lower), S, P)
    verify(lambda a: slinalg.eigvalsh(a, None, lower), S)


def test_exponentials_and_kronecker_products():
    defective = np.array([[1.0, 1.0], [0.0, 1.0]])
    for value in (A / 5, defective):
        assert_like_numpy(slinalg.expm, scipy.linalg.expm, value)
        verify(slinalg.expm, value)
    assert_like_numpy(slinalg.kron, np.kron, A, B)
    assert slinalg.kron(T.dvector(), T.dmatrix()).ndim == 1
    with pytest.raises(TypeError):
        slinalg.kron(T.dvector(), T.dvector())


@pytest.mark.parametrize("length", [6, 7])
@pytest.mark.parametrize("norm", [None, "ortho", "no_norm"])
def test_fourier_transforms(norm, length):
    value = np.random.RandomState(0).rand(2, 3, length)
    numpy_norm = "ortho" if norm == "ortho" else None
    pairs = assert_like_numpy(lambda x: fft.rfft(x, norm), lambda x: np.stack(
        [(f := np.fft.rfftn(x, axes=(1, 2), norm=numpy_norm)).real, f.imag], -1), value)
    back = assert_like_numpy(
        lambda x: fft.irfft(x, norm, is_odd=length % 2 == 1),
        lambda x: value if norm != "no_norm" else value * 3 * length, pairs,
    )
    assert back.shape == value.shape
    verify(lambda x: fft.rfft(x, norm), value, eps=1e-4)
    verify(lambda x: fft.irfft(fft.rfft(x, norm), norm, is_odd=length % 2 == 1), value, eps=1e-4)


def test_bad_transforms():
    for bad, error in ((lambda: fft.rfft(T.dvector()), TypeError), (lambda: fft.irfft(T.dmatrix()), TypeError),
                       (lambda: fft.rfft(T.dmatrix(), norm="loud"), ValueError)):
        with pytest.raises(error):
            bad()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool"])
def test_small_integers_are_computed_in_double_precision(dtype):
    value = np.eye(3, dtype=bool) if dtype == "bool" else np.array([[3, 1, 0], [1, 4, 1], [0, 1, 5]], dtype)
    exact = value.astype("float64")
    for mode in (PLAIN, "FAST_RUN"):
        for build, reference in (
            (slinalg.cholesky, np.linalg.cholesky),
            (lambda x: slinalg.eigvalsh(x, T.eye(3)), np.linalg.eigvalsh),
            (slinalg.expm, scipy.linalg.expm),
            (lambda x: slinalg.solve(x, x[0]), lambda x: np.linalg.solve(x, x[0])),
        ):
            np.testing.assert_allclose(evaluate(build, value, mode=mode), reference(exact), rtol=1e-12, atol=1e-14)

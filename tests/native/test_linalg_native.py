"""Linear algebra over LAPACK and special functions over SciPy's C interface, against NumPy and SciPy."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.special
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from vm_tools import all_native, runtime, symbol

import theano
import theano.tensor as tt
from theano.native.lowering.special import FUNCTIONS
from theano.native.target.cpu import lapack_library
from theano.tensor import nlinalg, slinalg

assert runtime is not None

SETTINGS = settings(max_examples=30, deadline=None)
FLOATS = ("float32", "float64", "complex64", "complex128")


@st.composite
def matrices(draw, square=False):
    """A random matrix of any memory layout, and the tolerance for its dtype."""
    dtype = draw(st.sampled_from(FLOATS))
    m = draw(st.integers(0, 6))
    n = m if square else draw(st.integers(0, 6))
    rng = np.random.RandomState(draw(st.integers(0, 2**20)))
    whole = rng.randn(2 * m, 2 * n) + (1j * rng.randn(2 * m, 2 * n) if dtype.startswith("c") else 0)
    layout = draw(st.sampled_from(["C", "F", "steps", "backwards"]))
    value = whole[:m, :n]
    if layout == "steps":
        value = whole[::2, ::2]
    elif layout == "backwards":
        value = whole[m - 1 :: -1, ::-2] if m else whole[:0, ::2]
    return np.array(value, dtype, order=layout if layout in "CF" else "K") if layout in "CF" else value.astype(dtype, order="K")


def near(found, expected, dtype):
    loose = dtype in ("float32", "complex64")
    assert found.shape == np.shape(expected)
    assert_allclose(found, expected, rtol=2e-2 if loose else 1e-8, atol=2e-3 if loose else 1e-8)


def positive(a):
    return (a @ a.conj().T + (len(a) + 1) * np.eye(len(a))).astype(a.dtype)


def other_triangle_spoilt(a, lower):
    spoilt = a.copy(order="K")
    spoilt[np.triu_indices(len(a), 1) if lower else np.tril_indices(len(a), -1)] = 99
    return spoilt


@SETTINGS
@given(matrices(square=True), st.booleans())
def test_cholesky_and_symmetric_eigenvalues(a, lower):
    x, h = symbol(a), positive(a)
    read = other_triangle_spoilt(h, lower)
    factor = all_native([x], slinalg.Cholesky(lower)(x))(read)
    near(factor, np.linalg.cholesky(h) if lower else np.linalg.cholesky(h).conj().T, a.dtype)
    w, v = all_native([x], nlinalg.eigh(x, "L" if lower else "U"))(read)
    near(w, np.linalg.eigvalsh(h), a.dtype)
    near((v * w) @ v.conj().T, h, a.dtype)
    near(all_native([x], slinalg.Eigvalsh(lower)(x))(read), np.linalg.eigvalsh(h), a.dtype)
    y = symbol(a)
    near(all_native([x, y], slinalg.eigvalsh(x, y, lower))(read, h), np.ones(len(a)), a.dtype)


@SETTINGS
@given(matrices(square=True), st.integers(0, 4), st.sampled_from(slinalg.MATRIX_STRUCTURES[:4]), st.booleans())
def test_solve(a, columns, structure, lower):
    a = (a + 9 * np.eye(len(a))).astype(a.dtype)
    rng = np.random.RandomState(columns)
    b = rng.randn(len(a), columns).astype(a.dtype) if columns else rng.randn(len(a)).astype(a.dtype)
    known = {"lower_triangular": np.tril(a), "upper_triangular": np.triu(a), "symmetric": a + a.T}.get(structure, a)
    given_ = other_triangle_spoilt(known, lower) if structure == "symmetric" else a
    x, y = symbol(a), symbol(b)
    f = all_native([x, y], slinalg.Solve(structure, lower)(x, y))
    for right in (b, b[:, ::-1] if columns else b, np.asfortranarray(b)):
        near(f(given_, right), np.linalg.solve(known, right) if len(a) else right, a.dtype)
    with pytest.raises(ValueError, match="incompatible"):
        f(given_, np.concatenate([b, b[:1], np.ones_like(b[:1] if len(b) else np.ones((1, *b.shape[1:]), b.dtype))]))


PIVOTS = (1e300, -3e-300, 5e-324, 1e-310, 0.7, -1.7e308, 2.0, 2.0**256, -(2.0**-256), 2.0**257, 2.0**-257)


@SETTINGS
@given(st.lists(st.sampled_from(PIVOTS), min_size=1, max_size=12))
@example([2.0**256] * 4 + [2.0**-256] * 4)
@example([2.0**599] * 2 + [2.0**-599] * 2)
def test_determinants_of_large_and_small_pivots(diagonal):
    """Partial products leave the range of floats where the result does not."""
    exact = math.prod(map(Fraction, diagonal))
    expected = float(exact) if abs(exact) < 2**1024 - 2**970 else math.copysign(np.inf, 1 if exact > 0 else -1)
    for x in (tt.dmatrix(), tt.zmatrix()):
        det = all_native([x], nlinalg.det(x))(np.diag(np.asarray(diagonal, x.dtype)))
        assert_allclose(det.real, expected, rtol=1e-13, atol=1e-320)
        assert det.imag == 0


@SETTINGS
@given(matrices(square=True))
def test_inverse_determinant_eigenvalues(a):
    x, good = symbol(a), (a + 9 * np.eye(len(a))).astype(a.dtype)
    near(all_native([x], nlinalg.matrix_inverse(x))(good), np.linalg.inv(good), a.dtype)
    found = all_native([x], nlinalg.det(x))(a)
    assert_allclose(found, np.linalg.det(a), rtol=1e-2, atol=1e-3)
    assert found.dtype == a.dtype
    h = positive(a)
    w, v = all_native([x], nlinalg.eig(x))(h if a.dtype.kind == "f" else a)
    near((h if a.dtype.kind == "f" else a) @ v, v * w, a.dtype)


@SETTINGS
@given(matrices())
def test_decompositions_of_rectangles(a):
    x = symbol(a)
    for full in (True, False):
        u, s, v = all_native([x], nlinalg.svd(x, full))(a)
        shapes = [part.shape for part in np.linalg.svd(a, full)]
        assert [u.shape, s.shape, v.shape] == shapes
        k = len(s)
        near((u[:, :k] * s) @ v[:k], a, a.dtype)
        near(u.conj().T @ u, np.eye(u.shape[1]), a.dtype)
        near(v @ v.conj().T, np.eye(len(v)), a.dtype)
    near(all_native([x], nlinalg.svd(x, 1, 0))(a), s, a.dtype)
    for mode in ("reduced", "complete", "raw"):
        for found, expected in zip(all_native([x], nlinalg.qr(x, mode))(a), np.linalg.qr(a, mode), strict=True):
            near(found, expected, a.dtype)
    near(all_native([x], nlinalg.qr(x, "r"))(a), np.linalg.qr(a, "r"), a.dtype)
    near(all_native([x], nlinalg.pinv(x))(a), np.linalg.pinv(a), a.dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [256, 301])
def test_large_systems_are_cut_into_blocks(dtype, n):
    rng = np.random.RandomState(n)
    a = rng.randn(n, n) + (1j * rng.randn(n, n) if dtype.startswith("c") else 0)
    a, b = a.astype(dtype), rng.randn(n, 200).astype(dtype)
    x, y = symbol(a), symbol(b)
    exact = np.linalg.solve(a.astype("complex128"), b)
    before = runtime.get_threads()
    try:
        for threads in (1, 2):
            runtime.set_threads(threads)
            assert_allclose(all_native([x, y], slinalg.solve(x, y))(a, b), exact, rtol=0.05, atol=0.02)
            assert_allclose(all_native([x], nlinalg.matrix_inverse(x))(a) @ a, np.eye(n), atol=0.02)
            spoilt = a.copy()
            spoilt[:, n // 2] = 0
            with pytest.raises(np.linalg.LinAlgError):
                all_native([x, y], slinalg.solve(x, y))(spoilt, b)
    finally:
        runtime.set_threads(before)


@pytest.mark.parametrize("dtype", ["int32", "int8", "bool"])
def test_integers_are_computed_in_float64(dtype):
    a = np.array([[3, 1], [0, 2]]).astype(dtype)
    x = symbol(a)
    w, v = all_native([x], nlinalg.eigh(x))(a)
    assert w.dtype == v.dtype == "float64"
    assert_allclose(all_native([x], nlinalg.det(x))(a), np.linalg.det(a.astype(float)))


def test_failures_are_numpys():
    x, b = tt.dmatrix(), tt.dvector()
    error = np.linalg.LinAlgError
    eye, wide, nan = np.eye(2), np.zeros((2, 3)), np.full((2, 2), np.nan)
    for expression, value, kind, message in (
        (slinalg.cholesky(x), -eye, error, "1-th leading minor"),
        (slinalg.cholesky(x), wide, ValueError, "square"),
        (slinalg.cholesky(x), nan, ValueError, "infs or NaNs"),
        (nlinalg.matrix_inverse(x), 0 * eye, error, "Singular"),
        (nlinalg.matrix_inverse(x), wide, error, "square"),
        (nlinalg.det(x), wide, error, "square"),
        (nlinalg.svd(x, 1, 0), nan, error, "converge"),
        (nlinalg.eig(x)[0], np.array([[0.0, 1.0], [-1.0, 0.0]]), ValueError, "complex"),
        (nlinalg.eig(x)[0], nan, error, "infs or NaNs"),
    ):
        with pytest.raises(kind, match=message):
            all_native([x], expression)(value)
    assert np.isnan(all_native([x], slinalg.Cholesky(on_error="nan")(x))(-eye)).all()
    for structure in slinalg.MATRIX_STRUCTURES[:4]:
        f = all_native([x, b], slinalg.Solve(structure)(x, b))
        with pytest.raises(error, match="singular"):
            f(0 * eye, np.ones(2))
        with pytest.raises(ValueError, match="infs or NaNs"):
            f(nan, np.ones(2))
    assert all_native([x], nlinalg.det(x))(0 * eye) == 0


@pytest.mark.parametrize("n", [128, 129, 181, 256])
def test_every_element_of_a_shared_copy_is_looked_at(n):
    """Copies of more than 128 KiB are made, and searched, by several threads: of 65, 91 and 64 rows each."""
    a, b = np.eye(n) + 1e-3, np.ones(n)
    x, y = tt.dmatrix(), tt.dvector()
    f = all_native([x, y], slinalg.solve(x, y))
    before = runtime.get_threads()
    try:
        runtime.set_threads(3)
        assert_allclose(f(a, b), np.linalg.solve(a, b))
        for row in sorted({0, 63, 64, 65, 90, 91, 127, n // 2, n - 65, n - 64, n - 1}):
            for column, bad in ((0, np.nan), (n - 1, -np.inf)):
                spoilt = a.copy()
                spoilt[row, column] = bad
                for value in (spoilt, np.asfortranarray(spoilt)):
                    with pytest.raises(ValueError, match="infs or NaNs"):
                        f(value, b)
        assert_allclose(f(a, b), np.linalg.solve(a, b))
    finally:
        runtime.set_threads(before)


def test_a_failing_system_leaves_shared_variables_alone():
    v, x = theano.shared(np.eye(2)), tt.dmatrix()
    f = theano.function([x], [], updates=[(v, slinalg.solve(x, v))])
    f(2 * np.eye(2))
    assert_array_equal(v.get_value(), np.eye(2) / 2)
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((2, 2)))
    assert_array_equal(v.get_value(), np.eye(2) / 2)


def test_scipys_routines_serve_where_numpy_brings_none():
    found = lapack_library._from_scipy()
    assert found is not None
    pointers, wide = found
    runtime.lapack_set(pointers, wide)
    try:
        a = np.random.RandomState(0).randn(5, 5)
        x = tt.dmatrix()
        f = all_native([x], [nlinalg.matrix_inverse(x), nlinalg.det(x), slinalg.cholesky(x.dot(x.T)), *nlinalg.svd(x)])
        inverse, det, factor, u, s, v = f(a)
        assert_allclose(inverse @ a, np.eye(5), atol=1e-12)
        assert_allclose(det, np.linalg.det(a))
        assert_allclose(factor @ factor.T, a @ a.T)
        assert_allclose((u * s) @ v, a)
    finally:
        runtime.lapack_set(*lapack_library.find_lapack())


REFERENCES = {
    "erfcx": scipy.special.erfcx, "erfinv": scipy.special.erfinv, "erfcinv": scipy.special.erfcinv,
    "i0": scipy.special.i0, "i1": scipy.special.i1,
    "chi2sf": lambda x, k: scipy.special.chdtrc(k, x), "gammainc": scipy.special.gammainc,
    "gammaincc": scipy.special.gammaincc, "jv": scipy.special.jv, "iv": scipy.special.iv,
    "gammau": lambda k, x: scipy.special.gammaincc(k, x) * scipy.special.gamma(k),
    "gammal": lambda k, x: scipy.special.gammainc(k, x) * scipy.special.gamma(k),
}  # fmt: skip


def test_every_function_is_compared():
    assert len(FUNCTIONS) == len(REFERENCES)


@pytest.mark.parametrize("name", REFERENCES)
def test_special_functions(name):
    rng = np.random.RandomState(0)
    a, b = rng.uniform(0.05, 0.95, (12, 70)), rng.uniform(0.1, 4, 70)
    for dtype in ("float64", "float32", "float16", "int8"):
        first, second = a.astype(dtype), b.astype(dtype)
        x, y = symbol(first), symbol(second)
        binary = name not in ("erfcx", "erfinv", "erfcinv", "i0", "i1")
        if binary:
            f = all_native([x, y], getattr(tt, name)(x, y))
        else:
            f = all_native([x, y], getattr(tt, name)(x))
        rtol = {"float64": 1e-13, "float32": 1e-6}.get(dtype, 1e-2)
        for value in (first, first[::-2], np.asfortranarray(first), first[:0], first[:1]):
            arguments = (value.astype("float64"), second.astype("float64"))[: 2 if binary else 1]
            found = f(value, second)
            assert_allclose(found, REFERENCES[name](*arguments), rtol=rtol)
        if binary:
            with pytest.raises(ValueError, match="mis-match"):
                f(first, second[:-1])
    s = tt.dscalar()
    if not binary:
        assert_allclose(all_native([s], getattr(tt, name)(s))(0.3), REFERENCES[name](0.3), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lower", [True, False])
def test_gradients_of_eigenvalues(dtype, lower):
    rng = np.random.RandomState(0)
    a, b = (positive(rng.randn(5, 5).astype(dtype)) for _ in range(2))
    gw, gv = rng.randn(5).astype(dtype), rng.randn(5, 5).astype(dtype)
    w, v = (part.astype(dtype) for part in np.linalg.eigh(a))
    rtol = 1e-3 if dtype == "float32" else 1e-9
    values = (a, w, v, gw, gv)
    symbols = [symbol(value) for value in values]
    op = nlinalg.EighGrad("L" if lower else "U")
    f = all_native(symbols, op(*symbols))
    storage = [[None]]
    op.perform(op.make_node(*symbols), list(values), storage)
    assert_allclose(f(*values), storage[0][0], rtol=rtol, atol=rtol)
    op, values = slinalg.EigvalshGrad(lower), (a, b, gw)
    symbols = [symbol(value) for value in values]
    f, storage = all_native(symbols, op(*symbols)), [[None], [None]]
    op.perform(op.make_node(*symbols), list(values), storage)
    for found, (expected,) in zip(f(*values), storage, strict=True):
        assert_allclose(found, expected, rtol=rtol, atol=rtol)
        assert found.dtype == dtype
    # Twice in one graph, next to other uses of the eigenvectors.
    x = symbol(a)
    w, v = nlinalg.eigh(x)
    g = theano.grad((w**2).sum() + (v**3).sum(), x)
    assert np.isfinite(all_native([x], [g, w, v])(a)[0]).all()


def by_python(inputs, outputs):
    return theano.function(inputs, outputs, mode=theano.Mode("py", "fast_run"), on_unused_input="ignore")


def same_as_python(build, *values, tolerance=1e-9):
    """Native results, or the type of the error, are those of `perform`."""
    values = [np.asarray(v) for v in values]
    inputs = [symbol(v) for v in values]
    outputs = build(*inputs)
    results = []
    for f in (all_native(inputs, outputs), by_python(inputs, outputs)):
        try:
            found = f(*values)
            results.append(found if isinstance(found, list) else [found])
        except Exception as error:
            results.append(type(error))
    if isinstance(results[1], type):
        assert results[0] is results[1]
        return
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


M5 = np.random.RandomState(1).randn(5, 5)


@pytest.mark.parametrize("factor", [0, 1e-9, 1e-3, 0.02, 0.1, 0.3, 1, 5, 40])
def test_matrix_exponential(factor):
    direction = np.random.RandomState(2).randn(5, 5)
    same_as_python(slinalg.expm, M5 * factor)
    same_as_python(slinalg.ExpmGrad(), M5 * factor, direction)
    same_as_python(slinalg.expm, M5 * (1 + 2j) * factor)
    same_as_python(slinalg.expm, (M5 * min(factor, 5)).astype("float32"), tolerance=1e-4)


@pytest.mark.parametrize(
    "a",
    [np.zeros((0, 0)), np.diag([1.0, -2.0]), np.full((2, 2), np.nan), np.arange(9).reshape(3, 3) // 4, np.zeros((2, 3)), [[3.0]]],
)
def test_matrix_exponential_of_special_matrices(a):
    same_as_python(slinalg.expm, a)


def test_matrix_exponential_is_not_scaled_too_far():
    a = np.array([[1.0, 1e6], [0.0, -1.0]])
    sinh = np.sinh(1.0)
    expected = [[np.e, 1e6 * sinh], [0, 1 / np.e]]
    np.testing.assert_allclose(all_native([x := tt.dmatrix()], slinalg.expm(x))(a), expected, rtol=1e-13)
    with mpmath.workdps(40):
        b = [[-49, 24], [-64, 31]]
        exact = np.array(mpmath.expm(mpmath.matrix(b)).tolist(), dtype=float)
    np.testing.assert_allclose(all_native([x], slinalg.expm(x))(np.array(b, float)), exact, rtol=1e-12)


def test_errors_of_the_matrix_exponential():
    same_as_python(slinalg.ExpmGrad(), M5, M5[:4, :4])
    same_as_python(slinalg.ExpmGrad(), M5[:3], M5[:3])


@pytest.mark.parametrize("lower", [True, False])
def test_gradient_of_cholesky(lower):
    factor = np.linalg.cholesky(positive(M5))
    same_as_python(slinalg.CholeskyGrad(lower), positive(M5), factor if lower else factor.T, M5)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (0, 3), (3, 0)])
def test_least_squares(shape):
    rng = np.random.RandomState(3)
    for right in ((), (2,), (0,)):
        same_as_python(nlinalg.lstsq(), rng.randn(*shape), rng.randn(shape[0], *right), -1.0)
    same_as_python(nlinalg.lstsq(), np.ones(shape), rng.randn(shape[0]), np.float32(1e-6))
    same_as_python(nlinalg.lstsq(), np.ones(shape), rng.randn(shape[0] + 1), 1e-8)


def test_least_squares_of_other_dtypes():
    a, b = np.arange(15).reshape(5, 3) ** 2, np.arange(5)
    same_as_python(nlinalg.lstsq(), a, b, np.int64(-1))
    same_as_python(nlinalg.lstsq(), M5.astype("float32"), b.astype("float32"), -1.0, tolerance=1e-3)


def test_tensor_equations():
    rng = np.random.RandomState(4)
    same_as_python(lambda a: nlinalg.tensorinv(a, 1), rng.randn(6, 2, 3))
    same_as_python(nlinalg.tensorinv, rng.randn(2, 3, 6))
    same_as_python(nlinalg.tensorinv, rng.randn(2, 3, 5))
    same_as_python(nlinalg.tensorsolve, rng.randn(2, 3, 6), rng.randn(2, 3))
    same_as_python(nlinalg.tensorsolve, rng.randint(9, size=(2, 3, 6)), rng.randn(2, 3))
    same_as_python(lambda a, b: nlinalg.tensorsolve(a, b, (0, 2)), rng.randn(2, 3, 4, 24), rng.randn(3, 24))
    same_as_python(lambda a, b: nlinalg.tensorsolve(a, b, (1,)), rng.randn(4, 2, 2), rng.randn(4))
    same_as_python(nlinalg.tensorsolve, rng.randn(2, 3, 5), rng.randn(2, 3))
    same_as_python(nlinalg.tensorsolve, np.zeros((2, 2)), rng.randn(2))
    same_as_python(nlinalg.diag, rng.randn(3))


@pytest.mark.parametrize("dtype", FLOATS)
def test_matrices_that_are_cut_into_panels(dtype):
    x, y = (tt.TensorType(dtype, (False, False))() for _ in range(2))
    z = tt.TensorType(dtype, (False,))()
    f = all_native([x, y, z], [slinalg.solve(x, y), slinalg.solve(x.T, z), nlinalg.det(x / 8), nlinalg.matrix_inverse(x)])
    cholesky = all_native([x], slinalg.cholesky(x))
    for n in (5, 63, 64, 65, 96, 193):
        rng = np.random.RandomState(n)
        a, b = (rng.uniform(-1, 1, (n, n)) + (1j * rng.uniform(-1, 1, (n, n)) if dtype[0] == "c" else 0) for _ in range(2))
        a, b = (a + 2 * np.eye(n)).astype(dtype), b.astype(dtype)
        for layout, columns in ((np.ascontiguousarray, 1), (np.asfortranarray, min(3, n)), (np.ascontiguousarray, n)):
            results = f(layout(a), layout(b[:, :columns]), b[0])
            expected = (np.linalg.solve(a, b[:, :columns]), np.linalg.solve(a.T, b[0]), np.linalg.det(a / 8), np.linalg.inv(a))
            for found, wanted in zip(results, expected, strict=True):
                scale = np.abs(wanted).max() + 1e-30
                near(found / scale, wanted / scale, dtype)
        spd = positive(a)
        factor = cholesky(spd)
        assert not np.triu(factor, 1).any()
        near(factor @ factor.conj().T / n, spd / n, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lower", [True, False])
def test_triangles_of_every_side(lower, dtype):
    x, y = (tt.TensorType(dtype, (False, False))() for _ in range(2))
    solve = slinalg.solve_lower_triangular if lower else slinalg.solve_upper_triangular
    f = all_native([x, y], [solve(x, y), solve(x, y[:, 0])])
    for n in (3, 64, 67, 150):
        rng = np.random.RandomState(n)
        a = (rng.uniform(-1, 1, (n, n)) / n + np.eye(n)).astype(dtype)
        if dtype[0] == "c":
            a += (1j * rng.uniform(-1, 1, (n, n)) / n).astype(dtype)
        b = rng.uniform(-1, 1, (n, 37)).astype(dtype)
        for layout in (np.ascontiguousarray, np.asfortranarray, lambda v: v[::-1, ::-1].copy()[::-1, ::-1]):
            matrix, vector = f(layout(a), layout(b))
            expected = scipy.linalg.solve_triangular(a, b, lower=lower)
            near(matrix, expected, dtype)
            near(vector, expected[:, 0], dtype)

"""Linear algebra gives the same bits on any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from vm_tools import runtime

import theano
import theano.tensor as tt
from theano.tensor import nlinalg, slinalg


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("n", [201, 256, 300, 513])
def test_results_do_not_depend_on_the_number_of_threads(n, dtype):
    rng = np.random.RandomState(n)
    a = (rng.uniform(-1, 1, (n, n)) + 3 * np.eye(n)).astype(dtype)
    b = rng.uniform(-1, 1, (n, n)).astype(dtype)
    x, y = (tt.TensorType(dtype, (False, False))() for _ in range(2))
    outputs = [slinalg.solve(x, y), slinalg.solve(x, y[:, 0]), slinalg.solve_lower_triangular(x, y), nlinalg.matrix_inverse(x),
               nlinalg.det(x), slinalg.cholesky(tt.dot(x, tt.conj(x).T))]  # fmt: skip
    f = theano.function([x, y], outputs)
    before, found = runtime.get_threads(), []
    try:
        for count in (1, 2, 5):
            runtime.set_threads(count)
            found.append(f(a, b))
    finally:
        runtime.set_threads(before)
    for others in zip(*found, strict=True):
        assert all(o.tobytes() == others[0].tobytes() for o in others)
    np.testing.assert_allclose(a @ found[0][0], b, atol=1e-2 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_failures_do_not_depend_on_the_number_of_threads(count):
    """A zero pivot and a minor that is not positive, both in the middle of a matrix that several threads work on."""
    n = 300
    rng = np.random.RandomState(count)
    singular, definite = rng.uniform(-1, 1, (n, n)), 3 * np.eye(n)
    singular[:, 150] = 0
    definite[200, 200] = -1
    x, y = tt.dmatrices(2)
    solve, det, factor = (theano.function(i, o) for i, o in [([x, y], slinalg.solve(x, y)), ([x], nlinalg.det(x)),
                                                             ([x], slinalg.cholesky(x))])  # fmt: skip
    before = runtime.get_threads()
    try:
        runtime.set_threads(count)
        for _ in range(3):
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                solve(singular, definite)
            assert det(singular) == 0
            with pytest.raises(np.linalg.LinAlgError, match="201-th leading minor"):
                factor(definite)
            with pytest.raises(ValueError, match="infs or NaNs"):
                solve(np.where(np.arange(n) == 299, np.inf, singular), definite)
            with pytest.raises(ValueError, match="infs or NaNs"):
                solve(np.eye(n), np.where(singular > 0.999, np.nan, definite))
    finally:
        runtime.set_threads(before)


def test_functions_in_several_python_threads_at_once():
    """Only one of them has the pool; the others factor alone, with the same result."""
    rng = np.random.RandomState(0)
    a, b = rng.uniform(-1, 1, (2, 260, 260))
    x, y = tt.dmatrices(2)
    f = theano.function([x, y], slinalg.solve(x, y))
    expected = f(a, b)
    with ThreadPoolExecutor(4) as workers:
        for found in workers.map(lambda _: f(a, b), range(24)):
            assert found.tobytes() == expected.tobytes()

"""Linear algebra gives the same bits on any number of threads."""

import numpy as np
import pytest
from vm_tools import runtime

import theano
import theano.tensor as tt
from theano.tensor import nlinalg, slinalg


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("n", [255, 256, 300, 513])
def test_results_do_not_depend_on_the_number_of_threads(n, dtype):
    rng = np.random.RandomState(n)
    a = (rng.uniform(-1, 1, (n, n)) + 3 * np.eye(n)).astype(dtype)
    b = rng.uniform(-1, 1, (n, n)).astype(dtype)
    x, y = (tt.TensorType(dtype, (False, False))() for _ in range(2))
    outputs = [slinalg.solve(x, y), slinalg.solve(x, y[:, 0]), slinalg.solve_lower_triangular(x, y), nlinalg.matrix_inverse(x),
               nlinalg.det(x)]  # fmt: skip
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

"""What reductions and dot products must still do after rewriting."""

import numpy as np
import pytest

import theano
import theano.tensor as T

m, k = T.dmatrices("m", "k")
M = np.arange(12.0).reshape(4, 3) / 5 + 0.3


def test_float32_sums_still_accumulate_in_float64():
    f32 = T.fvector("f32")
    f = theano.function([f32], (f32 * 2).sum(), mode=theano.Mode("py", "fast_run"))
    value = np.full(100_000, 0.1, dtype="float32")
    assert abs(f(value) - 2 * value.astype("float64").sum()) < 2e-3
    assert f(value).dtype == np.float32


def test_dot_with_zeros_checks_the_shapes():
    f = theano.function([m, k], T.dot(T.zeros_like(m), k), mode=theano.Mode("py", "fast_run"))
    assert f(M, M.T).tolist() == np.zeros((4, 4)).tolist()
    with pytest.raises(AssertionError):
        f(M, M)

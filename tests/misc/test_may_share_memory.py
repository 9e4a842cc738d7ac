"""Which values may share memory."""

import numpy as np
import pytest
import scipy.sparse

from theano.misc.may_share_memory import may_share_memory


def test_arrays_share_memory_where_their_bounds_overlap():
    x = np.zeros((3, 4))
    assert may_share_memory(x, x[1:])
    assert may_share_memory(x.T, x)
    assert not may_share_memory(x, x.copy())
    assert not may_share_memory(x[:1], x[1:])


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_matrices_share_the_arrays_that_they_consist_of(form):
    matrix = scipy.sparse.random(5, 4, 0.5, format=form)
    twin = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=False)
    assert may_share_memory(matrix, twin)
    assert may_share_memory(matrix, matrix.data[1:])
    assert not may_share_memory(matrix, matrix.copy())


def test_other_values():
    with pytest.raises(TypeError):
        may_share_memory(np.zeros(2), [0, 0])
    assert not may_share_memory("text", np.zeros(2), raise_other_type=False)

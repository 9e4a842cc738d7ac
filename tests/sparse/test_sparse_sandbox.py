"""Random sparse matrices, and convolution by products with sparse matrices."""

import numpy as np
import pytest
import scipy.sparse

import theano
import theano.tensor as tt
from theano import sparse
from theano.sparse.sandbox import sp, sp2
from theano.sparse.sandbox.test_sp import TestSP
from theano.tests.unittest_tools import verify_grad

__all__ = ["TestSP"]


def test_the_gradient_of_a_convolution():
    rng = np.random.RandomState(1)
    images = rng.randn(2, 12)
    verify_grad(lambda k, i: sp.convolve(k, (2, 2), 2, i, (3, 4))[0], [rng.randn(2, 4), images], rng=np.random.RandomState(2))


@pytest.mark.parametrize(
    ("bad", "error"), [({"ws": False}, NotImplementedError), ({"mode": "same"}, ValueError), ({"kshp": (9, 9)}, ValueError)]
)
def test_convolutions_that_are_none(bad, error):
    with pytest.raises(error):
        sp.convolution_indices.evaluate(**{"inshp": (3, 4), "kshp": (2, 2), **bad})


def test_random_numbers_have_their_means():
    np.random.seed(0)
    p = scipy.sparse.csr_matrix(np.full((40, 50), 3.0))
    x = sparse.csr_matrix(dtype="float64")
    assert abs(theano.function([x], sp2.poisson(x))(p).mean() - 3) < 0.2
    n, q = tt.lscalar(), tt.dscalar()
    drawn = theano.function([n, q], sp2.csr_dbinomial(n, q, (40, 50)))(8, 0.25)
    assert abs(drawn.mean() - 2) < 0.2 and drawn.shape == (40, 50)
    rows = theano.function([n, x], sp2.multinomial(n, x))(1000, p / 150)
    assert (rows.sum(axis=1) == 1000).all()


def test_parameters_that_do_not_fit():
    with pytest.raises(TypeError):
        sp2.csr_fbinomial(tt.dscalar(), tt.dscalar(), tt.lvector())
    with pytest.raises(NotImplementedError):
        sp2.multinomial(1, sparse.csc_matrix())
    x = sparse.csr_matrix(dtype="float64")
    with pytest.raises(theano.gradient.NullTypeGradError):
        theano.grad(sparse.sp_sum(sp2.poisson(x)), x)

"""What fills, allocs and switches must still do after rewriting: errors that stay, NaN that stay out."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor import opt

x, y = T.dvectors("x", "y")
s = T.dscalar("s")
V = np.array([0.5, -1.25, 3.0])
W = np.array([2.0, 4.0, -0.75])


def test_an_alloc_of_another_shape_still_raises():
    f = theano.function([x, s], T.alloc(x, 4), mode=theano.Mode("py", "fast_run"), on_unused_input="ignore")
    with pytest.raises(ValueError):
        f(V, 1.0)


def test_a_switch_keeps_nan_of_the_other_branch_out():
    cost = T.switch(x > 0, T.log(x), 0.0).sum()
    f = theano.function([x], T.grad(cost, x), mode=theano.Mode("py", "fast_run"))
    np.testing.assert_allclose(f(np.array([0.0, 2.0])), [0.0, 0.5])


def test_upcasts_are_told_from_downcasts():
    assert opt.is_an_upcast("int8", "int32") and opt.is_an_upcast("float32", "complex64")
    assert not opt.is_an_upcast("int64", "float32") and not opt.is_an_upcast("float64", "float32")


def test_broadcast_patterns():
    assert opt.encompasses_broadcastable((False, False), (True, False))
    assert not opt.encompasses_broadcastable((True, False), (False, False))
    assert not opt.encompasses_broadcastable((False,), (False, False))


def test_assertions_about_equal_shapes_do_not_chase_each_other():
    # A Hessian times a vector: allocs of the shapes of two inputs meet in every operation.
    hv = T.Rop(T.grad(T.sum(x**2), x), x, y)
    f = theano.function([x, y], hv, mode=theano.Mode("py", "fast_run"))
    np.testing.assert_allclose(f([4.0, 4.0], [2.0, 2.0]), [4.0, 4.0])


def test_shapes_that_differ_raise_although_the_alloc_is_gone():
    f = theano.function([x, y, s], x + T.alloc(s, y.shape[0]), mode=theano.Mode("py", "fast_run"))
    np.testing.assert_allclose(f(V, W, 2.0), V + 2)
    with pytest.raises((AssertionError, ValueError)):
        f(V, W[:2], 2.0)


def test_allocs_of_vectors_whose_length_is_not_known_stay():
    x, n = T.dvector("x"), T.iscalar("n")
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        assert theano.function([x, n], T.alloc(x, 1, n).sum(), mode=mode)([2.0], 3) == 6
        assert theano.function([x], T.alloc(x, 1, 4), mode=mode)([1.0]).shape == (1, 4)
        assert theano.function([x, n], T.alloc(T.alloc(x, n), 4), mode=mode)([1.0], 1).shape == (4,)
        with pytest.raises(ValueError):
            theano.function([x], T.alloc(x, 1, 4), mode=mode)([1.0, 2.0])
        with pytest.raises((ValueError, AssertionError)):
            theano.function([x, n], T.alloc(T.alloc(x, 4), n).sum(), mode=mode)(np.arange(4.0), 5)

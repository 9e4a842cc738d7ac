"""Sums over the elements that a mask chooses."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T
from theano.tensor.advanced_subtensor import AdvancedBooleanSubtensor, AdvancedSubtensor, AdvancedSubtensor1

EXAMPLES = 300 if os.environ.get("THEANO_NIGHTLY") else 15
COPIES = (AdvancedBooleanSubtensor, AdvancedSubtensor, AdvancedSubtensor1)

SUMS = {
    "elements above a number": (lambda x, s: x[x > s].sum(), lambda x, s: x[x > s].sum()),
    "by their positions": (lambda x, s: x[(x > s).nonzero()].sum(), lambda x, s: x[x > s].sum()),
    "of whole numbers": (lambda x, s: T.cast(x, "int8")[x > s].sum(), lambda x, s: x.astype("int8")[x > s].sum()),
    "differences": (lambda x, s: ((x[x < s] - s) ** 2 * 3).sum(), lambda x, s: ((x[x < s] - s) ** 2 * 3).sum()),
    "of two arrays": (
        lambda x, s: (x[x < s] * T.exp(x)[x < s]).sum(),
        lambda x, s: (x[x < s] * np.exp(x)[x < s]).sum(),
    ),
    "what is a number": (
        lambda x, s: T.log(x)[T.invert(T.isnan(T.log(x)))].sum(),
        lambda x, s: np.log(x)[x >= 0].sum(),
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("name", SUMS)
def test_sum_of_chosen_elements(name, ndim):
    build, plain = SUMS[name]
    x, s = T.TensorType("float64", (False,) * ndim)("x"), T.dscalar("s")
    out = build(x, s)
    fast = theano.function([x, s], out, on_unused_input="ignore")
    slow = theano.function([x, s], out, on_unused_input="ignore", mode=theano.Mode("py", None))
    assert not any(isinstance(node.op, COPIES) for node in fast.maker.fgraph.apply_nodes)

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(shape=st.tuples(*[st.integers(0, 6)] * ndim), limit=st.sampled_from([-9.0, 0.25, 9.0]))
    def compare_for_shape_and_limit(shape, limit):
        a = np.random.default_rng(sum(shape)).uniform(-2, 2, shape)
        expected = plain(a, limit)
        np.testing.assert_allclose(fast(a, limit), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(slow(a, limit), expected, rtol=1e-12, atol=1e-12)

    compare_for_shape_and_limit()


def test_mean_of_chosen_elements_takes_no_copy():
    x = T.fmatrix()
    f = theano.function([x], x[x > 0].mean())
    a = np.random.default_rng(0).normal(size=(7, 5)).astype("float32")
    np.testing.assert_allclose(f(a), a[a > 0].mean(), rtol=1e-6)
    assert not any(isinstance(node.op, COPIES) for node in f.maker.fgraph.apply_nodes)


def test_what_is_not_chosen_is_not_added():
    x = T.dvector()
    f = theano.function([x], x[T.invert(T.isnan(x))].sum())
    assert f(np.array([1.0, np.nan, 2.0, np.nan])) == 3


def test_gradient_of_a_sum_of_chosen_elements():
    x = T.dmatrix()
    f = theano.function([x], T.grad((x[(x > 0).nonzero()] ** 2).sum(), x))
    a = np.random.default_rng(1).normal(size=(4, 5))
    np.testing.assert_allclose(f(a), np.where(a > 0, 2 * a, 0))


def test_a_mask_of_another_shape_is_an_error():
    x, mask = T.dvector(), T.TensorType("bool", (False,))()
    f = theano.function([x, mask], x[mask].sum())
    assert f(np.arange(3.0), np.array([True, False, True])) == 2
    with pytest.raises(IndexError):
        f(np.arange(3.0), np.array([True, False]))

"""Gradients of slices that together are a whole become a join."""

from __future__ import annotations

import numpy as np
import pytest

import theano
import theano.tensor as T

z = T.dmatrix("z")


def compiled_gradient(cost):
    f = theano.function([z], T.grad(cost, z))
    return f, [node.op for node in f.maker.fgraph.toposort()]


def count(ops, cls):
    return sum(isinstance(op, cls) for op in ops)


@pytest.mark.parametrize("value", [np.arange(12.0).reshape(2, 6) / 10, np.ones((2, 3)), np.ones((2, 0))])
def test_slices_that_cover_a_dimension(value):
    cost = (T.tanh(z[:, 2:4]) * 2).sum() + T.exp(z[:, 4:]).sum() + (z[:, :2] ** 3).sum()
    f, ops = compiled_gradient(cost)
    assert count(ops, T.Join) == 1 and count(ops, T.IncSubtensor) == 0
    expected = np.concatenate([3 * value[:, :2] ** 2, 2 / np.cosh(value[:, 2:4]) ** 2, np.exp(value[:, 4:])], axis=1)
    np.testing.assert_allclose(f(value), expected)


def test_other_terms_are_added_to_the_join():
    f, ops = compiled_gradient((z[:1] ** 2).sum() + (z[1:] ** 3).sum() + T.sin(z).sum())
    assert count(ops, T.Join) == 1 and count(ops, T.IncSubtensor) == 0
    value = np.arange(6.0).reshape(3, 2)
    expected = np.cos(value) + np.concatenate([2 * value[:1], 3 * value[1:] ** 2])
    np.testing.assert_allclose(f(value), expected)


ASSIGNED = [
    lambda: (z[:, :2] ** 2).sum() + (z[:, 3:] ** 3).sum(),
    lambda: (z[:, :2] ** 2).sum() + (z[:, 2:4] ** 3).sum() + T.sin(z).sum(),
]
LEFT = [
    lambda: (z[:, :2] ** 2).sum() + (z[:, 1:] ** 3).sum(),
    lambda: (z[:, :2] ** 2).sum() + (z[:, -2:] ** 3).sum(),
    lambda: (z[::2] ** 2).sum() + (z[1::2] ** 3).sum(),
    lambda: (z[:1] ** 2).sum() + (z[:, 1:] ** 3).sum(),
]


@pytest.mark.parametrize("cost", ASSIGNED + LEFT)
@pytest.mark.parametrize("width", [5, 3, 1])
def test_what_is_no_partition_is_no_join(cost, width):
    f, ops = compiled_gradient(cost())
    assert count(ops, T.Join) == 0
    if cost in ASSIGNED:
        assert [op.set_instead_of_inc for op in ops if isinstance(op, T.IncSubtensor)] == [True, True]
    value = np.arange(3.0 * width).reshape(3, width) / 10
    g = theano.function([z], T.grad(cost(), z), mode=theano.Mode("py", None))
    np.testing.assert_allclose(f(value), g(value))

"""Gradients of arguments that a step uses a function of."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gradient import verify_grad
from theano.scan_module.scan_hoist import hoistable
from theano.scan_module.scan_op import Scan


def backward_loops(cost, wrt):
    """The Scans of the gradient as it is written."""
    nodes = theano.gof.graph.io_toposort([], T.grad(cost, wrt))
    return [n for n in nodes if isinstance(n.op, Scan) and n.op.name.startswith("grad_of")]


def test_gradient_of_a_part_is_summed_up_in_the_size_of_the_part():
    def loop_over_parts(h0, u):
        step = lambda h, u: T.tanh(T.dot(h, u[:, :3]) * T.dot(h, u[:, 3:]))  # noqa: E731
        return theano.scan(step, outputs_info=h0, non_sequences=u, n_steps=4)[0][-1]

    h0, u = T.dvector("h0"), T.dmatrix("u")
    (loop,) = backward_loops(loop_over_parts(h0, u).sum(), [u])
    assert loop.op.n_sit_sot == 2
    rng = np.random.RandomState(0)
    verify_grad(loop_over_parts, [rng.rand(3), rng.rand(3, 6)], rng=rng)


@pytest.mark.parametrize(
    "step",
    [
        lambda x, u, v: T.tanh(x * T.exp(u)[0, 1] + v.sum()),
        lambda x, u, v: x * u.T[:, 0].mean() + T.dot(u, v)[0] + u.sum() * v[1],
        lambda x, u, v: x + (T.sqr(u) * v.dimshuffle("x", 0)).sum() * v[0],
    ],
    ids=["two functions", "one argument twice", "two arguments in one"],
)
def test_values(step):
    def loop(x, u, v):
        return theano.scan(step, outputs_info=x, non_sequences=[u, v], n_steps=3)[0].sum()

    rng = np.random.RandomState(1)
    verify_grad(loop, [np.asarray(rng.rand()), rng.rand(2, 3), rng.rand(3)], rng=rng)


def test_arguments_that_depend_on_each_other():
    """The part of one argument that reaches the loop by way of another counts once."""
    u = T.dvector("u")
    w = T.exp(u)
    h, _ = theano.scan(lambda h, u, w: h * T.sin(u)[0] + T.cos(w)[1] * w[0], outputs_info=np.float64(1), non_sequences=[u, w],
                       n_steps=3)
    function = theano.function([u], [h[-1], T.grad(h[-1], u)])
    start = np.array([0.3, 0.7])
    value, gradient = function(start)
    for k in range(2):
        moved = start.copy()
        moved[k] += 1e-6
        np.testing.assert_allclose(gradient[k], (function(moved)[0] - value) / 1e-6, rtol=1e-4)


def test_values_that_are_made_from_one_another():
    """Both ``a`` and the inner loop over it leave the step: what the inner one adds to the gradient of ``a`` counts too."""

    def loop(h0, u):
        def step(h, u):
            a = T.dot(matrix, u)
            return 0.5 * h + theano.scan(lambda v: 0.5 * v * v, outputs_info=a, n_steps=2)[0][-1] + T.sin(a)

        return theano.scan(step, outputs_info=h0, non_sequences=u, n_steps=3)[0]

    rng = np.random.RandomState(2)
    matrix = rng.rand(3, 3)
    verify_grad(loop, [rng.rand(3), rng.rand(3)], rng=rng)


def test_integers_and_shapes_stay_in_the_step():
    u, x = T.dvector("u"), T.dvector("x")
    assert hoistable(Scan([x, u], [x * u.shape[0]], {"n_sit_sot": 1, "tap_array": [[-1]]})) == []


def test_undefined_gradient_of_a_part():
    u = T.dvector("u")
    h, _ = theano.scan(lambda h, u: h + T.eq(u, 1.0).sum() + u.sum(), outputs_info=np.float64(1), non_sequences=u, n_steps=3)
    np.testing.assert_allclose(theano.function([u], T.grad(h[-1], u))(np.ones(2)), [3, 3])

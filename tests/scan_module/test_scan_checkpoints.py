"""scan_checkpoints against scan."""

from __future__ import annotations

import numpy as np
import pytest

import theano
import theano.tensor as T

PYTHON = theano.Mode("py", "fast_compile")

rows, W = T.dmatrix("rows"), T.dmatrix("W")
start = T.zeros((3,), dtype="float64")


def step(row, h, weights):
    return T.tanh(row + T.dot(h, weights))


@pytest.mark.parametrize("every, padding", [(1, True), (3, True), (20, True), (5, False)])
def test_values_and_gradients_are_those_of_scan(every, padding):
    plain, _ = theano.scan(step, rows, start, W)
    kept, updates = theano.scan_checkpoints(step, rows, start, W, save_every_N=every, padding=padding)
    assert not updates
    f = theano.function([rows, W], [plain, *T.grad(plain[-1].sum(), [rows, W])])
    g = theano.function([rows, W], [kept, *T.grad(kept[-1].sum(), [rows, W])], mode=PYTHON if every == 3 else None)
    rng = np.random.RandomState(0)
    for length in (1, 7, 10) if padding else (5, 10):
        value, weights = rng.rand(length, 3), rng.rand(3, 3)
        (all_steps, *expected), (some, *got) = f(value, weights), g(value, weights)
        ends = [*range(every - 1, length - 1, every), length - 1]
        np.testing.assert_allclose(some, all_steps[ends])
        for a, b in zip(got, expected):
            np.testing.assert_allclose(a, b)


def test_the_number_of_steps_may_be_given():
    n = T.lscalar("n")
    a = T.dvector("a")
    kept, _ = theano.scan_checkpoints(lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=n, save_every_N=4)
    f = theano.function([a, n], [kept[-1], T.grad(kept[-1].sum(), a)])
    value = np.array([0.5, 1.5])
    for steps in (1, 4, 6, 8):
        power, gradient = f(value, steps)
        assert np.allclose(power, value**steps) and np.allclose(gradient, steps * value ** (steps - 1))


def test_several_outputs_and_updates():
    k = theano.shared(0)
    (h, double), updates = theano.scan_checkpoints(
        lambda v, h: ([h + v, 2 * v], {k: k + 1}), T.dvector("v"), [T.constant(0.0, dtype="float64"), None], save_every_N=2
    )
    v = next(i for i in theano.gof.graph.inputs([h]) if i.name == "v")
    f = theano.function([v], [h, double], updates=updates)
    a, b = f([1.0, 2.0, 3.0])
    assert a.tolist() == [3.0, 6.0] and b.tolist() == [4.0, 6.0]
    assert k.get_value() == 3


def test_the_backward_pass_stores_no_more_than_the_checkpoints():
    # A loop over 400 steps in groups of 20: no array has a row for each step.
    x = T.dvector("x")
    kept, _ = theano.scan_checkpoints(lambda h: T.tanh(h * 1.01), outputs_info=x, n_steps=400, save_every_N=20)
    most = []

    def look(i, node, thunk):
        most.extend(cell[0].shape[0] for cell in thunk.outputs if getattr(cell[0], "ndim", 0) == 2)

    mode = theano.compile.MonitorMode(post_func=look, optimizer="fast_compile")
    f = theano.function([x], T.grad(kept[-1].sum(), x), mode=mode)
    assert f(np.ones(2)).shape == (2,)
    assert most and max(most) <= 22


def test_taps_are_refused():
    with pytest.raises(RuntimeError, match="taps"):
        theano.scan_checkpoints(lambda a, b: a + b, outputs_info={"initial": T.dvector(), "taps": [-2, -1]}, n_steps=4)
    with pytest.raises(RuntimeError, match="taps"):
        theano.scan_checkpoints(lambda a, b: a + b, sequences={"input": T.dvector(), "taps": [-1, 0]})
    with pytest.raises(ValueError, match="save_every_N"):
        theano.scan_checkpoints(lambda a: a, sequences=T.dvector(), save_every_N=0)

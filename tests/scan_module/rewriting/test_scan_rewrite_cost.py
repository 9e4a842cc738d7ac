"""The rewrites of loops take time in proportion to the number of loops."""

from loop_tools import loops, numbers

import theano
import theano.tensor as T
from theano.scan_module.rewriting.loop import Loop

x = T.dtensor3("x")


def stacked(layers):
    """A training step of a stack of recurrent layers."""
    h, weights = x, []
    for k in range(layers):
        w, u = (theano.shared(numbers(3, 3, seed=2 * k + j)) for j in range(2))
        weights += [w, u]
        h, _ = theano.scan(lambda a, h, w, u: T.tanh(T.dot(a, w) + T.dot(h, u)), h, T.zeros((2, 3)), [w, u])
    cost = (h[-1] ** 2).sum()
    return theano.function([x], [cost, *T.grad(cost, weights)])


def test_twice_the_layers_twice_the_work(monkeypatch):
    made = []
    build = Loop.build
    monkeypatch.setattr(Loop, "build", lambda self: (made.append(self), build(self))[1])
    counts = []
    for layers in (2, 4):
        made.clear()
        assert len(loops(stacked(layers))) == 2 * layers
        counts.append(len(made))
    assert counts[1] < 2.5 * counts[0]

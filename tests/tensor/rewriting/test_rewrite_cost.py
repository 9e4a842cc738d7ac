"""The work of rewriting grows with the number of nodes, not faster."""

import sys

import pytest

import theano
import theano.tensor as T
from theano.gof import FunctionGraph


def calls_to_rewrite(build, length):
    """How many Python functions are called to rewrite a graph of the given length."""
    x = T.dvector("x")
    fgraph = FunctionGraph([x], [build(x, length)], clone=True)
    fgraph.attach_feature(theano.compile.aliasing.Supervisor(list(fgraph.inputs)))
    optimizer = theano.Mode("py", "fast_run").optimizer
    count = 0

    def tick(frame, event, argument):
        nonlocal count
        count += event == "call"

    with theano.config.change_flags(**{"traceback.limit": 0}):
        sys.setprofile(tick)
        try:
            optimizer.optimize(fgraph)
        finally:
            sys.setprofile(None)
    return count


def chain(x, length):
    y = x
    for i in range(length):
        y = T.tanh(y) if i % 2 else y * x
    return y


def gradient_of_chain(x, length):
    return T.grad(chain(x, length).sum(), x)


def sum_of_many(x, length):
    total = x
    for i in range(length):
        total = total + T.sin(x * i)
    return total


def product_of_many(x, length):
    y = x
    for _ in range(length):
        y = T.exp(-y)
    return T.grad(y.sum(), x)


def slices(x, length):
    return sum(T.exp(x[i : i + 2]) for i in range(length))


@pytest.mark.parametrize("build", [chain, gradient_of_chain, sum_of_many, product_of_many, slices])
def test_calls_grow_linearly(build):
    calls_to_rewrite(build, 10)
    small, large = calls_to_rewrite(build, 60), calls_to_rewrite(build, 240)
    assert large <= 4 * small * 1.4, (small, large, large / small)

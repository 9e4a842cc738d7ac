"""map, reduce, foldl and foldr."""

from __future__ import annotations

import numpy as np

import theano
import theano.tensor as T

x = T.dvector("x")
zero = T.constant(0.0, dtype="float64")


def test_map_stacks_the_results_and_passes_arguments_on():
    k = T.dscalar("k")
    outs, updates = theano.map(lambda v, k: [v * k, v + k], sequences=x, non_sequences=k)
    a, b = theano.function([x, k], outs, updates=updates)([1.0, 2.0], 10.0)
    assert a.tolist() == [10.0, 20.0] and b.tolist() == [11.0, 12.0]
    out, _ = theano.map(lambda v: v, x, go_backwards=True, name="reversed", mode="FAST_RUN", truncate_gradient=-1)
    assert theano.function([x], out)([1.0, 2.0]).tolist() == [2.0, 1.0]


def test_reduce_keeps_the_last_results():
    total, _ = theano.reduce(lambda v, s: s + v, x, zero)
    assert theano.function([x], total)([1.0, 2.0, 3.0]) == 6.0
    both, _ = theano.reduce(lambda v, s, p: [s + v, p * v], x, [zero, T.constant(1.0, dtype="float64")])
    assert [float(v) for v in theano.function([x], both)([2.0, 3.0])] == [5.0, 6.0]


def test_folds_go_from_the_left_and_from_the_right():
    left, _ = theano.foldl(lambda v, s: 10 * s + v, x, zero)
    right, _ = theano.foldr(lambda v, s: 10 * s + v, x, zero)
    a, b = theano.function([x], [left, right])([1.0, 2.0, 3.0])
    assert (a, b) == (123.0, 321.0)


def test_reductions_have_gradients():
    total, _ = theano.reduce(lambda v, s: s + v**2, x, zero)
    assert np.allclose(theano.function([x], T.grad(total, x))([1.0, 2.0]), [2.0, 4.0])

"""What reductions and dot products must still do after rewriting."""

import numpy as np
import pytest

import theano
import theano.tensor as T

m, k = T.dmatrices("m", "k")
M = np.arange(12.0).reshape(4, 3) / 5 + 0.3


def test_float32_sums_still_accumulate_in_float64():
    f32 = T.fvector("f32")
    f = theano.function([f32], (f32 * 2).sum(), mode=theano.Mode("py", "fast_run"))
    value = np.full(100_000, 0.1, dtype="float32")
    assert abs(f(value) - 2 * value.astype("float64").sum()) < 2e-3
    assert f(value).dtype == np.float32


def test_dot_with_zeros_checks_the_shapes():
    f = theano.function([m, k], T.dot(T.zeros_like(m), k), mode=theano.Mode("py", "fast_run"))
    assert f(M, M.T).tolist() == np.zeros((4, 4)).tolist()
    with pytest.raises(AssertionError):
        f(M, M)


def test_sums_of_repetitions_of_one_number_stay_one_number():
    x = T.dtensor3("x")
    value = np.zeros((2, 3, 4))
    mode = theano.compile.get_mode("FAST_RUN").excluding("fusion")
    for wanted, lengths, result in (
        (np.ones((3, 4)) * 2, 3, lambda y: y.sum(0)),
        (np.ones(4) * 6, 3, lambda y: y.sum(0).sum(0)),
        (np.ones(2) * 12, 3, lambda y: y.sum(1).sum(1)),
    ):
        f = theano.function([x], result(T.ones_like(x)), mode=mode)
        np.testing.assert_array_equal(f(value), wanted)
        ops = [type(node.op).__name__ for node in f.maker.fgraph.toposort()]
        assert ops.count("Shape_i") == lengths
        assert "DimShuffle" not in ops
        assert len(ops) - lengths == wanted.ndim % 2 + 2


def test_dimensions_are_shuffled_once_outside_of_graphs_too():
    assert T.opt.apply_local_dimshuffle_lift(m.T.T) is m


def test_a_reversed_vector_may_be_what_a_reshape_makes_or_its_shape():
    s, x, k = T.lvector("s"), T.lvector("x"), T.lvector("k")
    back = s.dimshuffle(0, "x")[::-1]
    outputs = [back.reshape((2,)), back.flatten() + 1, x.reshape(s[::-1], ndim=2), s[::-1].reshape(k, ndim=2)]
    f = theano.function([s, x, k], outputs)
    made, more, shaped, both = f([2, 1], [7, 9], [2, 1])
    assert (made.tolist(), more.tolist(), shaped.tolist(), both.tolist()) == ([1, 2], [2, 3], [[7, 9]], [[1], [2]])

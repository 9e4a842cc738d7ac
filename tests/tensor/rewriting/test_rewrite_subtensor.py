"""Indexing and writing into parts that several rewrites work on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewrite_tools import names, rewrite

import theano
import theano.tensor as T
from theano.tensor import opt

x = T.dvector("x")
V = np.arange(7.0)


def test_merge_keeps_an_index_out_of_range():
    f = theano.function([x], x[:3][4], mode="FAST_RUN")
    with pytest.raises(IndexError):
        f(V)


n, i, s = T.lscalar("n"), T.lscalar("i"), T.dscalar("s")


@pytest.mark.parametrize("mode", ["FAST_RUN", theano.Mode("vm", "fast_run")])
@pytest.mark.parametrize(
    ("build", "inputs", "fits", "misfits"),
    [
        (lambda: T.alloc(s, n)[3], [s, n], (2.0, 4), (2.0, 3)),
        (lambda: T.alloc(s, n)[-3], [s, n], (2.0, 3), (2.0, 2)),
        (lambda: T.alloc(s, n)[i], [s, n, i], (2.0, 4, -4), (2.0, 3, -4)),
        (lambda: T.alloc(s, 5)[i], [s, i], (2.0, 4), (2.0, 5)),
        (lambda: T.alloc(x, n, 7)[1, 2:], [x, n], (V, 2), (V, 1)),
        (lambda: T.zeros((n, 3))[0, 1:], [n], (1,), (0,)),
    ],
)
def test_an_index_of_a_repetition_is_still_checked(build, inputs, fits, misfits, mode):
    f = theano.function(inputs, build(), mode=mode)
    np.testing.assert_array_equal(f(*fits), theano.function(inputs, build(), mode=theano.Mode("py", None))(*fits))
    with pytest.raises(IndexError):
        f(*misfits)


_part = st.one_of(st.none(), st.integers(-4, 4))
_slice = st.builds(slice, _part, _part, st.sampled_from([None, 1, 2, -1, -2]))


@settings(max_examples=25, deadline=None)
@given(_slice, st.one_of(_slice, st.integers(-2, 2)))
def test_merged_slices_select_what_two_slices_do(first, second):
    f = theano.function([x], x[first][second], mode=theano.Mode("py", "fast_run"))
    for length in (0, 1, 2, 5, 8):
        value = np.arange(float(length))
        try:
            wanted = value[first][second]
        except IndexError:
            with pytest.raises(IndexError):
                f(value)
        else:
            np.testing.assert_array_equal(f(value), wanted)


def test_increments_are_chained():
    a, b = T.dvectors("a", "b")
    out = T.inc_subtensor(x[:2], a) + T.inc_subtensor(x[1:3], b)
    fgraph = rewrite(opt.local_IncSubtensor_serialize, [x, a, b], out)
    assert names(fgraph) == ["add", "IncSubtensor", "IncSubtensor"]


def test_gradients_of_slices_are_set_in_place():
    cost = (x[:2] * 2).sum() + (x[1:4] ** 2).sum() + x[3]
    f = theano.function([x], T.grad(cost, x), mode=theano.Mode("py", "fast_run"))
    nodes = [node for node in f.maker.fgraph.toposort() if type(node.op).__name__ == "IncSubtensor"]
    assert nodes and all(node.op.inplace for node in nodes)
    np.testing.assert_allclose(f([1.0, 2, 3, 4, 5]), [2, 6, 6, 9, 0])


def test_an_input_is_not_written_over():
    value = V.copy()
    f = theano.function([x], T.set_subtensor(x[1:3], 7.0), mode=theano.Mode("py", "fast_run"))
    assert f(value)[1] == 7.0
    np.testing.assert_array_equal(value, V)

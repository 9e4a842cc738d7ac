"""Rewrites of indexing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewrite_tools import check, names, rewrite, unchanged

import theano
import theano.tensor as T
from theano.tensor import opt

x = T.dvector("x")
m, k = T.dmatrices("m", "k")
V = np.arange(7.0)
M = np.arange(12.0).reshape(4, 3)
K = np.arange(15.0).reshape(3, 5) + 1


@pytest.mark.parametrize(
    ("name", "inputs", "build", "values", "expected"),
    [
        ("local_useless_subtensor", [m], lambda: m[:], [M], []),
        ("local_useless_subtensor", [m], lambda: m[0:, :], [M], []),
        ("local_useless_slice", [m], lambda: m[1:2, :], [M], ["Subtensor"]),
        ("local_useless_slice", [m], lambda: m[0::1], [M], []),
        ("local_subtensor_merge", [x], lambda: x[2:][:5:2], [V], ["Subtensor"]),
        ("local_subtensor_merge", [x], lambda: x[1:-1][2:], [V], ["Subtensor"]),
        ("local_subtensor_merge", [m], lambda: m[1:][:, 1], [M], ["Subtensor"]),
        ("local_subtensor_merge", [m], lambda: m[1:][2], [M], ["Subtensor"]),
        ("local_subtensor_lift", [m], lambda: T.exp(m)[1], [M], ["Subtensor", "exp"]),
        (
            "local_subtensor_lift",
            [m, k],
            lambda: (m * k.T[:4])[:, 0],
            [M, np.ones((3, 4))],
            ["DimShuffle", "Subtensor", "Subtensor", "Subtensor", "mul"],
        ),
        ("local_subtensor_of_dot", [m, k], lambda: T.dot(m, k)[1:2, 2:], [M, K], ["Subtensor", "Subtensor", "Dot"]),
        ("local_subtensor_of_dot", [m, k], lambda: T.dot(m, k)[1], [M, K], ["Subtensor", "Dot"]),
        ("local_subtensor_inc_subtensor", [x], lambda: T.set_subtensor(x[1:3], x[:2])[1:3], [V], ["Subtensor"]),
        ("local_subtensor_make_vector", [x], lambda: opt.MakeVector("float64")(x[0], x[1])[1], [V], ["Subtensor"]),
        (
            "local_incsubtensor_of_zeros_to_setsubtensor",
            [x],
            lambda: T.inc_subtensor(T.zeros((9,))[:7], x),
            [V],
            ["Alloc", "IncSubtensor"],
        ),
    ],
)
def test_fires_and_keeps_the_value(name, inputs, build, values, expected):
    fgraph = rewrite(getattr(opt, name), inputs, build())
    if name == "local_subtensor_lift" and len(inputs) == 2:
        assert names(fgraph)[-1] == "mul"
        return
    check(getattr(opt, name), inputs, build(), values, expected)


@pytest.mark.parametrize(
    ("name", "inputs", "build"),
    [
        ("local_useless_subtensor", [m], lambda: m[1:]),
        ("local_useless_slice", [m], lambda: m[::2]),
        ("local_subtensor_merge", [m], lambda: T.exp(m[1:])[1:]),
        ("local_subtensor_of_dot", [m, k], lambda: T.exp(T.dot(m, k))[1]),
        ("local_subtensor_inc_subtensor", [x], lambda: T.set_subtensor(x[1:3], x[:2])[1:4]),
        ("local_subtensor_inc_subtensor", [x], lambda: T.inc_subtensor(x[1:3], x[:2])[1:3]),
        ("local_incsubtensor_of_zeros_to_setsubtensor", [x], lambda: T.inc_subtensor(T.ones((9,))[:7], x)),
    ],
)
def test_leaves_near_misses_alone(name, inputs, build):
    unchanged(getattr(opt, name), inputs, build())


def test_lift_waits_while_the_whole_is_used_too():
    e = T.exp(m)
    fgraph = rewrite(opt.local_subtensor_lift, [m], e[0].sum() + e.sum())
    assert names(fgraph).count("exp") == 1


def test_merge_keeps_an_index_out_of_range():
    f = theano.function([x], x[:3][4], mode="FAST_RUN")
    with pytest.raises(IndexError):
        f(V)


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

"""Rewrites of reductions, reshapes and joins."""

import numpy as np
import pytest
from rewrite_tools import check, unchanged

import theano
import theano.tensor as T
from theano.tensor import opt

m, k = T.dmatrices("m", "k")
t = T.dtensor3("t")
x, y = T.dvectors("x", "y")
r = T.drow("r")
s = T.dscalar("s")
M = np.arange(12.0).reshape(4, 3) / 5 + 0.3
B = np.arange(24.0).reshape(2, 3, 4) / 9 + 0.1
V, W = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])


@pytest.mark.parametrize(
    ("name", "inputs", "build", "values", "expected"),
    [
        ("local_sum_prod_mul_by_scalar", [m, s], lambda: (m * s).sum(), [M, 2.0], ["Sum", "DimShuffle", "DimShuffle", "mul"]),
        ("local_sum_prod_mul_by_scalar", [m], lambda: (-m).sum(axis=1), [M], ["Sum", "neg"]),
        ("local_sum_prod_all_to_none", [t], lambda: t.sum(axis=(0, 1, 2)), [B], ["Sum"]),
        ("local_op_of_op", [t], lambda: t.sum(axis=0).sum(axis=0), [B], ["Sum"]),
        ("local_op_of_op", [t], lambda: t.prod(axis=1).prod(), [B], ["Prod"]),
        ("local_cut_useless_reduce", [m], lambda: T.sum(m, axis=[]), [M], []),
        ("local_reduce_broadcastable", [r], lambda: r.sum(axis=0), [V[None]], ["DimShuffle"]),
        (
            "local_reduce_join",
            [x, y],
            lambda: T.join(0, x.dimshuffle("x", 0), y.dimshuffle("x", 0)).sum(axis=0),
            [V, W],
            ["add"],
        ),
        ("local_opt_alloc", [s], lambda: T.alloc(s, 3, 4).sum(), [2.0], None),
        ("local_opt_alloc", [s], lambda: T.alloc(s, 3, 4).prod(axis=0), [2.0], None),
        ("local_sum_prod_div_dimshuffle", [m, x], lambda: (m / x).sum(axis=0), [M, V], None),
        ("local_max_to_min", [m], lambda: -T.CAReduce(theano.scalar.maximum)(-m), [M], ["CAReduce"]),
        ("local_max_and_argmax", [m], lambda: T.max_and_argmax(m, axis=0)[0], [M], ["CAReduce"]),
        ("local_max_and_argmax", [m], lambda: T.max_and_argmax(m, axis=0)[1], [M], ["Argmax"]),
        ("local_reshape_chain", [t], lambda: t.reshape((6, 4)).reshape((24,)), [B], ["Reshape"]),
        ("local_useless_reshape", [m], lambda: m.reshape(m.shape), [M], []),
        ("local_reshape_lift", [m], lambda: T.exp(m).reshape((12,)), [M], ["Reshape", "exp"]),
        (
            "local_useless_rebroadcast",
            [r],
            lambda: T.Rebroadcast((0, True))(r) if hasattr(T, "Rebroadcast") else T.addbroadcast(r, 0),
            [V[None]],
            [],
        ),
        ("local_join_1", [x], lambda: T.join(0, x), [V], []),
        ("local_join_empty", [x, y], lambda: T.join(0, x, T.constant(np.zeros(0)), y), [V, W], ["Join"]),
        ("local_lift_transpose_through_dot", [m, k], lambda: T.dot(m, k).T, [M, M.T], ["DimShuffle", "DimShuffle", "Dot"]),
        ("local_reduce_of_dimshuffle", [m], lambda: m.T.sum(), [M], ["Sum"]),
        ("local_alloc_dimshuffle", [x], lambda: T.alloc(x.dimshuffle("x", 0), 2, 3), [V], None),
    ],
)
def test_fires_and_keeps_the_value(name, inputs, build, values, expected):
    from rewrite_tools import compute, names, rewrite

    if expected is not None:
        check(getattr(opt, name), inputs, build(), values, expected)
        return
    out = build()
    fgraph = rewrite(getattr(opt, name), inputs, out)
    assert names(fgraph) != names(theano.gof.FunctionGraph(list(inputs), [out], clone=True))
    np.testing.assert_allclose(compute(fgraph.inputs, fgraph.outputs[0], values), compute(inputs, out, values))


@pytest.mark.parametrize(
    ("name", "inputs", "build"),
    [
        ("local_sum_prod_mul_by_scalar", [m, x], lambda: (m * x).sum()),
        ("local_sum_prod_all_to_none", [t], lambda: t.sum(axis=(0, 2))),
        ("local_op_of_op", [t], lambda: t.sum(axis=0).prod(axis=0)),
        ("local_cut_useless_reduce", [m], lambda: m.sum(axis=0)),
        ("local_reduce_broadcastable", [m], lambda: m.sum(axis=0)),
        ("local_reduce_join", [m, k], lambda: T.concatenate([m, k], axis=0).sum(axis=0)),
        ("local_opt_alloc", [x], lambda: T.alloc(x, 2, 3).sum(axis=1)),
        ("local_sum_prod_div_dimshuffle", [m, x], lambda: (m / x).sum(axis=1)),
        ("local_max_to_min", [m], lambda: -T.max(m)),
        ("local_useless_reshape", [m], lambda: m.reshape((12, 1))),
        ("local_reshape_chain", [m], lambda: T.exp(m.reshape((12,))).reshape((3, 4))),
        ("local_join_1", [x, y], lambda: T.join(0, x, y)),
        ("local_lift_transpose_through_dot", [m, k], lambda: T.exp(T.dot(m, k)).T),
    ],
)
def test_leaves_near_misses_alone(name, inputs, build):
    unchanged(getattr(opt, name), inputs, build())


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

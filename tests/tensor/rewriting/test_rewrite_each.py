"""Rewrites that have no module of their own: each fires on its pattern, keeps value, gradient and stack trace, and
leaves near misses alone.
"""

import numpy as np
import pytest
from rewrite_tools import check, names, rewrite

import theano
import theano.tensor as T
from theano.compile.ops import Shape_i
from theano.gof.opt import MergeOptimizer
from theano.tensor import nnet, opt
from theano.tensor.blas import gemm_no_inplace, gemv_no_inplace, ger
from theano.tensor.nnet import rewriting as nnet_rewriting
from theano.tensor.nnet.nnet import crossentropy_categorical_1hot, softmax_grad
from theano.tensor.nnet.nnet import crossentropy_softmax_1hot_with_bias_dx as dx
from theano.tensor.rewriting import sigmoid as sigmoid_rewriting

x, y, z = T.dvectors("x", "y", "z")
m, k, p = T.dmatrices("m", "k", "p")
t = T.dtensor3("t")
row, col = T.drow("row"), T.dcol("col")
s, r = T.dscalars("s", "r")
i, j = T.lvectors("i", "j")
n = T.lscalar("n")
b = T.vector("b", dtype="bool")
X = np.array([0.5, -1.25, 3.0])
Y = np.array([2.0, 4.0, -0.75])
POSITIVE = abs(X)
M = np.linspace(0.3, 2.1, 9).reshape(3, 3)
K = np.cos(np.arange(9.0)).reshape(3, 3)
TT = np.arange(24.0).reshape(2, 3, 4) / 7
I = np.array([2, 0, 1])

assert_positive = opt.Assert("negative")


ONE_ = T.constant(1.0, dtype="float64")
F2 = T.constant(2.0, dtype="float64")


def reduce_max(axis):
    return T.CAReduce(theano.scalar.maximum, axis)


def rewrite_named(name):
    return getattr(nnet_rewriting, name, None) or getattr(sigmoid_rewriting, name, None) or getattr(opt, name)


def with_merging(*lopts):
    """The rewrites, on graphs in which equal computations and constants are merged."""
    return [MergeOptimizer(), *lopts, opt.constant_folding]


def picked(matrix):
    return matrix[T.arange(Shape_i(0)(i)), i]


FIRES = [
    # Dot products.
    ("local_0_dot_x", [m], lambda: T.dot(m, T.zeros((3, 2))), [M], None),
    ("local_dot_to_dot22", [m, k], lambda: T.dot(m, k), [M, K], ["Dot22"]),
    ("local_dot22_to_dot22scalar", [m, k, s], lambda: T.blas._dot22(m, k) * s, [M, K, 1.5], ["Dot22Scalar"]),
    ("local_dot22_to_ger_or_gemv", [m, col], lambda: T.blas._dot22(m, col), [M, Y[:, None]], None),
    ("local_dot22_to_ger_or_gemv", [col, row], lambda: T.blas._dot22(col, row), [X[:, None], Y[None]], None),
    (
        "local_gemm_to_gemv",
        [col, m],
        lambda: gemm_no_inplace(col, F2, m, T.patternbroadcast(T.sqr(col), (False, True)), F2),
        [X[:, None], M],
        None,
    ),
    ("local_gemm_to_ger", [m, col, row], lambda: gemm_no_inplace(m, F2, col, row, ONE_), [M, X[:, None], Y[None]], None),
    # Arithmetic.
    ("local_clip_clip", [x], lambda: T.clip(T.clip(x, -1, 2), 0, 5), [X], ["clip"]),
    ("local_useless_maximum", [x, y], lambda: T.maximum(T.maximum(x, y), x), [X, Y], ["maximum"]),
    ("local_and_or_of_the_same", [b], lambda: T.and_(b, b), [np.array([True, False])], []),
    ("local_exp_log", [x], lambda: T.exp(T.log(x)), [POSITIVE], ["GE", "Switch"]),
    ("local_add_mul_fusion", [x, y, z], lambda: (x + y) + z, [X, Y, X], ["add"]),
    ("local_mul_switch_sink", [x, y], lambda: T.switch(y > 0, x, 0) * y, [X, Y], ["GT", "mul", "Switch"]),
    ("local_switch_of_switch", [x, y, z], lambda: T.switch(x > 0, T.switch(x > 0, y, z), x), [X, Y, X], ["GT", "Switch"]),
    # Stability.
    ("local_log_erfc", [x], lambda: T.log(T.erfc(x)), [X], None),
    (
        "local_grad_log_erfc_neg",
        [x],
        lambda: T.exp(-T.sqr(x)) / T.erfc(x),
        [X],
        None,
    ),
    ("local_log_pow", [x], lambda: T.log(x**2), [X], ["Abs", "log", "mul"]),
    ("local_log_pow", [x], lambda: T.log(x**3), [POSITIVE], ["log", "mul"]),
    ("local_log_pow", [x], lambda: T.log(x * x), [X], ["Abs", "log", "mul"]),
    ("local_log_sqrt", [x], lambda: T.log(T.sqrt(x)), [POSITIVE], ["log", "mul"]),
    ("local_one_minus_erfc", [x], lambda: 1 - T.erfc(x), [X], ["erf"]),
    # Sigmoids.
    ("local_log_sigmoid", [x], lambda: T.log(nnet.sigmoid(x)), [X], ["neg", "scalar_softplus", "neg"]),
    ("local_1msigmoid", [x], lambda: 1 - nnet.sigmoid(x), [X], ["neg", "scalar_sigmoid"]),
    ("local_inv_1_plus_exp", [x], lambda: T.inv(1 + T.exp(x)), [X], ["neg", "scalar_sigmoid"]),
    ("local_exp_over_1_plus_exp", [x], lambda: T.exp(x) / (1 + T.exp(x)), [X], ["scalar_sigmoid"]),
    ("local_sigm_times_exp", [x], lambda: T.exp(x) * nnet.sigmoid(-x), [X], ["scalar_sigmoid"]),
    ("local_sigmoid_quotients", [x, y], lambda: T.mul(y / nnet.sigmoid(x), nnet.sigmoid(x), nnet.sigmoid(-x)), [X, Y], None),
    # Softmax and crossentropy.
    ("local_log_softmax", [m], lambda: T.log(nnet.softmax(m)), [M], ["LogSoftmax"]),
    ("local_log_of_indexed_softmax", [m, i], lambda: T.log(picked(nnet.softmax(m))), [M, I], None),
    ("local_logsoftmax_of_difference", [m], lambda: m - T.log(T.sum(T.exp(m), axis=1, keepdims=True)), [M], ["LogSoftmax"]),
    ("local_softmax_simplifier", [m], lambda: nnet.softmax_graph(m), [M], ["Softmax"]),
    ("local_softmax_simplifier", [t], lambda: T.exp(t) / T.sum(T.exp(t), axis=2, keepdims=True), [TT], None),
    ("local_softmax_with_bias", [m, x], lambda: nnet.softmax(m + x), [M, X], ["SoftmaxWithBias"]),
    ("local_logsoftmax_grad", [m, k], lambda: softmax_grad(k / nnet.softmax(m), nnet.softmax(m)), [M, K], None),
    (
        "local_crossentropy_to_crossentropy_with_softmax",
        [m, i],
        lambda: crossentropy_categorical_1hot(nnet.softmax(m), i),
        [M, I],
        None,
    ),
    (
        "local_advanced_indexing_crossentropy_onehot",
        [m, i],
        lambda: -picked(nnet.logsoftmax(m)),
        [M, I],
        None,
    ),
    ("local_argmax_pushdown", [m], lambda: T.Argmax((1,))(nnet.softmax(m)), [M], ["Argmax"]),
    # Shapes, fills, reshapes, joins.
    ("local_alloc_of_alloc", [s, n], lambda: T.alloc(T.alloc(s, 1, n), 4, n), [2.0, 3], ["Alloc"]),
    ("local_dimshuffle_alloc", [s, n], lambda: T.alloc(s, n).dimshuffle("x", 0), [2.0, 3], ["Alloc"]),
    ("local_alloc_empty_to_zeros", [n], lambda: T.AllocEmpty("float64")(n) * 0, [3], ["Alloc", "mul"]),
    ("local_useless_dimshuffle", [m], lambda: T.DimShuffle((False, False), (0, 1))(m), [M], []),
    ("local_dimshuffle_subtensor", [col], lambda: col[1:].dimshuffle(0), [X[:, None]], ["Subtensor"]),
    ("local_flatten_lift", [m], lambda: T.Flatten(1)(T.exp(m)), [M], ["Flatten", "exp"]),
    ("local_reshape_to_dimshuffle", [x], lambda: T.reshape(x, (1, x.shape[0], 1)), [X], None),
    ("local_reshape_dimshuffle", [x], lambda: T.reshape(x.dimshuffle("x", 0), (3,)), [X], None),
    ("local_join_make_vector", [s, r], lambda: T.join(0, T.stack([s, r]), T.stack([s])), [1.0, 2.0], ["MakeVector"]),
    ("local_useless_split", [x], lambda: T.split(x, [3], 1, axis=0), [X], None),
    ("local_rebroadcast_lift", [m], lambda: T.Rebroadcast((0, True))(T.exp(m)), [M[:1]], ["Rebroadcast", "exp"]),
    ("local_tensor_scalar_tensor", [s], lambda: T.tensor_from_scalar(T.scalar_from_tensor(s)), [1.0], []),
    (
        "local_scalar_tensor_scalar",
        [s],
        lambda: T.tensor_from_scalar(T.scalar_from_tensor(T.tensor_from_scalar(T.scalar_from_tensor(s)))),
        [1.0],
        ["ScalarFromTensor", "TensorFromScalar"],
    ),
    ("local_merge_specify_shape", [m], lambda: T.specify_shape(T.specify_shape(m, (3, 3)), (3, 3)), [M], ["SpecifyShape"]),
    ("local_remove_all_assert", [x], lambda: assert_positive(x, x[0] > 0), [X], []),
    ("local_useless_reduce", [b], lambda: T.all(b[0]), [np.array([True])], None),
    # Reductions.
    ("local_op_of_op", [t], lambda: reduce_max(0)(reduce_max(1)(t)), [TT], ["CAReduce"]),
    ("local_sum_prod_div_dimshuffle", [m, x], lambda: (m * x.dimshuffle(0, "x")).sum(axis=1), [M, X], None),
    ("local_reduce_of_dimshuffle", [m], lambda: m.T.sum(axis=0), [M], ["Sum"]),
    ("local_reduce_of_dimshuffle", [t], lambda: t.dimshuffle(1, 2, 0).sum(axis=(0, 2)), [TT], ["Sum"]),
    (
        "local_sumsqr2dot",
        [m, k],
        lambda: T.sqr(m.dimshuffle("x", 0, 1) * k.dimshuffle(0, "x", 1)).sum(axis=(1, 2)),
        [M, K],
        ["sqr", "sqr", "Sum", "Dot"],
    ),
    (
        "local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc",
        [s, m, i],
        lambda: dx(T.alloc(s, 3), nnet.softmax(m), i),
        [1.5, M, I],
        ["Softmax", "DimShuffle", "CrossentropySoftmax1HotWithBiasDx"],
    ),
    # Indexing.
    ("local_subtensor_of_alloc", [x, n], lambda: T.alloc(x, n, 3)[1], [X, 4], []),
    ("local_subtensor_of_dimshuffle", [x], lambda: x.dimshuffle("x", 0)[0, 1], [X], ["Subtensor"]),
    ("local_subtensor_of_transpose", [m], lambda: m.T[1], [M], ["Subtensor"]),
    ("local_subtensor_of_transpose", [t], lambda: t.dimshuffle(2, 0, 1)[1:, 0], [TT], ["Subtensor", "DimShuffle"]),
    ("local_subtensor_of_reduce", [m], lambda: m.sum(axis=0)[1:], [M], ["Subtensor", "Sum"]),
    ("local_subtensor_of_reduce", [t], lambda: t.prod(axis=1)[1, 2], [TT], ["Subtensor", "Prod"]),
    ("local_subtensor_of_join", [x, y], lambda: T.stack([x, y])[-1], [X, Y], ["DimShuffle", "Subtensor"]),
    ("local_subtensor_remove_broadcastable_index", [row], lambda: row[0], [X[None]], ["DimShuffle"]),
    ("local_useless_AdvancedSubtensor1", [x], lambda: x[T.arange(Shape_i(0)(x))], [X], []),
    ("local_useless_inc_subtensor", [x], lambda: T.inc_subtensor(x[1:], 0.0), [X], []),
    ("local_setsubtensor_of_constants", [n], lambda: T.set_subtensor(T.alloc(0.0, n)[1:], 0.0), [4], ["Alloc"]),
    ("local_setsubtensor_of_itself", [x], lambda: T.set_subtensor(x[1:], x[1:]), [X], []),
    ("local_set_to_inc_subtensor", [x, s], lambda: T.set_subtensor(x[1:], x[1:] + s), [X, 2.0], None),
    ("local_set_to_inc_subtensor", [x, s], lambda: T.set_subtensor(x[1:], x[1:] - s), [X, 2.0], None),
    ("local_useless_inc_subtensor_alloc", [x, s], lambda: T.inc_subtensor(x[:], T.alloc(s, x.shape[0])), [X, 2.0], None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "build", "values", "expected"), FIRES)
def test_fires_and_keeps_the_value(name, inputs, build, values, expected):
    lopts = with_merging(rewrite_named(name))
    if expected is None:
        before = names(rewrite(with_merging(), inputs, build()))
        expected = names(rewrite(lopts, inputs, build()))
        assert expected != before
    check(lopts, inputs, build(), values, expected, rtol=1e-7, gradient=name not in WITHOUT_GRADIENT)


WITHOUT_GRADIENT = {
    "local_alloc_empty_to_zeros": "the values before are undefined",
    "local_gemm_to_ger": "Gemm has no gradient",
}


@pytest.mark.parametrize(
    ("name", "inputs", "build"),
    [
        ("local_0_dot_x", [m, k], lambda: T.dot(m, k)),
        ("local_dot_to_dot22", [m, k], lambda: T.dot(m, T.cast(k, "float32"))),
        ("local_dot22_to_dot22scalar", [m, k, p], lambda: T.blas._dot22(m, k) * p),
        ("local_dot22_to_ger_or_gemv", [m, k], lambda: T.blas._dot22(m, k)),
        ("local_gemm_to_ger", [m, col, row], lambda: gemm_no_inplace(m, F2, col, row, F2)),
        ("local_clip_clip", [x, s], lambda: T.clip(T.clip(x, s, 2), 0, 5)),
        ("local_useless_maximum", [x, y, z], lambda: T.maximum(T.minimum(x, y), x)),
        ("local_and_or_of_the_same", [b], lambda: T.xor(b, b)),
        ("local_exp_log", [x], lambda: T.exp(T.log10(x))),
        ("local_add_mul_fusion", [x, y, z], lambda: (x * y) + z),
        ("local_mul_switch_sink", [x, y], lambda: T.switch(y > 0, x, 1) * y),
        ("local_switch_of_switch", [x, y, z], lambda: T.switch(x > 0, T.switch(y > 0, y, z), x)),
        ("local_log_erfc", [x], lambda: T.log(T.erf(x))),
        ("local_grad_log_erfc_neg", [x], lambda: T.exp(-T.sqr(x)) / T.erf(x)),
        ("local_log_pow", [x, y], lambda: T.log(x**y)),
        ("local_log_pow", [x, y], lambda: T.log(x * y)),
        ("local_log_sqrt", [x], lambda: T.log(T.sin(x))),
        ("local_one_minus_erfc", [x], lambda: 2 - T.erfc(x)),
        ("local_log_sigmoid", [x], lambda: T.log(T.tanh(x))),
        ("local_1msigmoid", [x], lambda: 2 - nnet.sigmoid(x)),
        ("local_inv_1_plus_exp", [x], lambda: T.inv(2 + T.exp(x))),
        ("local_exp_over_1_plus_exp", [x], lambda: T.exp(x) / (2 + T.exp(x))),
        ("local_sigm_times_exp", [x], lambda: T.exp(x) * nnet.sigmoid(x)),
        ("local_sigmoid_quotients", [x, y], lambda: y / nnet.sigmoid(y) * nnet.sigmoid(x)),
        ("local_log_softmax", [m], lambda: T.log1p(nnet.softmax(m))),
        ("local_log_of_indexed_softmax", [m, i], lambda: T.log(picked(m))),
        ("local_logsoftmax_of_difference", [m, k], lambda: k - T.log(T.sum(T.exp(m), axis=1, keepdims=True))),
        ("local_logsoftmax_of_difference", [m], lambda: m - T.log(T.sum(T.exp(m), axis=0, keepdims=True))),
        ("local_softmax_simplifier", [m], lambda: T.exp(m) / T.sum(T.exp(m), axis=1)),
        ("local_softmax_with_bias", [m, k], lambda: nnet.softmax(m + k)),
        ("local_logsoftmax_grad", [m, k], lambda: softmax_grad(k, nnet.softmax(m))),
        ("local_crossentropy_to_crossentropy_with_softmax", [m, i], lambda: crossentropy_categorical_1hot(m, i)),
        ("local_advanced_indexing_crossentropy_onehot", [m, i, j], lambda: nnet.logsoftmax(m)[j, i]),
        ("local_advanced_indexing_crossentropy_onehot_grad", [m, k], lambda: k - k.sum(axis=1, keepdims=True) * nnet.softmax(m)),
        ("local_argmax_pushdown", [m], lambda: T.Argmax((0,))(nnet.softmax(m))),
        ("local_alloc_of_alloc", [s, n], lambda: T.alloc(T.sqr(T.alloc(s, 1, n)), 4, n)),
        ("local_alloc_empty_to_zeros", [n], lambda: T.zeros(n)),
        ("local_useless_dimshuffle", [m], lambda: m.T),
        ("local_flatten_lift", [m, k], lambda: T.Flatten(1)(m + k)),
        ("local_reshape_to_dimshuffle", [x], lambda: T.reshape(x, (2, x.shape[0] // 2))),
        ("local_join_make_vector", [s, x], lambda: T.join(0, T.stack([s, s]), x)),
        ("local_useless_split", [x], lambda: T.split(x, [1, 2], 2, axis=0)[0]),
        ("local_rebroadcast_lift", [m], lambda: T.Rebroadcast((0, True))(m.sum(axis=0, keepdims=True))),
        ("local_merge_specify_shape", [m], lambda: T.specify_shape(T.specify_shape(m, (3, 3)), (3, 4))),
        ("local_useless_reduce", [b], lambda: T.all(b)),
        ("local_op_of_op", [t], lambda: reduce_max(0)(T.CAReduce(theano.scalar.minimum, 1)(t))),
        ("local_sum_prod_div_dimshuffle", [m, x], lambda: (m * x).sum(axis=1)),
        ("local_reduce_of_dimshuffle", [t], lambda: t.dimshuffle(2, 1, 0).sum(axis=1)),
        ("local_sumsqr2dot", [m], lambda: T.sqr(m.dimshuffle("x", 0, 1) + m.dimshuffle(0, "x", 1)).sum(axis=(1, 2))),
        ("local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc", [x, m, i], lambda: dx(x, nnet.softmax(m), i)),
        ("local_subtensor_of_alloc", [x, n], lambda: T.tile(x, 2)[n]),
        ("local_subtensor_of_transpose", [m], lambda: m.T[1] + m.T.sum()),
        ("local_subtensor_of_reduce", [m], lambda: T.cumsum(m, axis=0)[1]),
        ("local_subtensor_of_join", [x, y], lambda: T.join(0, x, y)[1]),
        ("local_subtensor_of_join", [x, y, n], lambda: T.stack([x, y])[n]),
        ("local_subtensor_remove_broadcastable_index", [m], lambda: m[0]),
        ("local_useless_AdvancedSubtensor1", [x], lambda: x[T.arange(x.shape[0] - 1)]),
        ("local_useless_inc_subtensor", [x], lambda: T.inc_subtensor(x[1:], 1.0)),
        ("local_setsubtensor_of_constants", [n], lambda: T.set_subtensor(T.alloc(0.0, n)[1:], 1.0)),
        ("local_adv_sub1_adv_inc_sub1", [x, i, j], lambda: T.set_subtensor(x[i], 0.0)[j]),
        ("local_crossentropy_softmax_grad", [m, k], lambda: softmax_grad(k, nnet.softmax(m))),
        ("local_setsubtensor_of_itself", [x], lambda: T.set_subtensor(x[1:], x[:-1])),
        ("local_setsubtensor_of_itself", [x], lambda: T.inc_subtensor(x[1:], x[1:])),
        ("local_set_to_inc_subtensor", [x, s], lambda: T.set_subtensor(x[1:], s - x[1:])),
        ("local_set_to_inc_subtensor", [x, i, s], lambda: T.set_subtensor(x[i], x[i] + s)),
    ],
)  # fmt: skip
def test_leaves_near_misses_alone(name, inputs, build):
    output = build()
    before = names(rewrite(with_merging(), inputs, output))
    assert names(rewrite(with_merging(rewrite_named(name)), inputs, output)) == before


@pytest.mark.parametrize(("build", "wanted"), [
    (lambda: T.dot(m, x) + y, ["Gemv"]),
    (lambda: y - 0.1 * T.dot(m, x), ["Gemv"]),
    (lambda: s * T.dot(x, m) + r * y, ["DimShuffle", "Gemv"]),
    (lambda: T.dot(m, x) - T.dot(k, y), ["Gemv", "Gemv"]),
    (lambda: T.dot(m, x) + y + z, ["add", "Gemv"]),
    (lambda: 2 * (T.dot(m, x) + y), ["Gemv"]),
    (lambda: m + s * T.outer(x, y), ["Ger"]),
    (lambda: p - 0.1 * T.dot(m.T, k), ["DimShuffle", "Gemm"]),
    (lambda: (T.dot(m, k) + p) / 2, ["Gemm"]),
    (lambda: T.dot(m, k) + T.dot(k, p) + p, ["Gemm", "Gemm"]),
])  # fmt: skip
def test_sums_with_products_become_one_call(build, wanted):
    inputs = [x, y, z, m, k, p, s, r]
    values = [X, Y, X + 1, M, K, M.T, 1.5, -2.0]
    mode = theano.Mode("py", "fast_run").excluding("inplace", "fusion")
    f = theano.function(inputs, build(), mode=mode, on_unused_input="ignore")
    found = [name for name in names(f.maker.fgraph) if name not in ("Shape_i", "AllocEmpty")]
    assert found == wanted
    plain = theano.function(inputs, build(), mode=theano.Mode("py", None), on_unused_input="ignore")
    np.testing.assert_allclose(f(*values), plain(*values), rtol=1e-12)


def test_products_in_place_of_what_nothing_else_needs():
    v = theano.shared(X)
    f = theano.function([m, x], [], updates=[(v, v + T.dot(m, x))])
    (node,) = f.maker.fgraph.toposort()
    assert node.op.inplace
    f(M, Y)
    np.testing.assert_allclose(v.get_value(), X + M @ Y)


@pytest.mark.parametrize(("lopt", "op", "inputs"), [
    (opt.local_inplace_gemm, gemm_no_inplace, lambda: (m, ONE_, k, p, ONE_)),
    (opt.local_inplace_gemv, gemv_no_inplace, lambda: (x, ONE_, m, y, ONE_)),
    (opt.local_inplace_ger, ger, lambda: (m, ONE_, x, y)),
    (opt.local_inplace_setsubtensor, None, lambda: T.set_subtensor(x[1:], 0.0)),
    (opt.local_inplace_AdvancedIncSubtensor1, None, lambda: T.inc_subtensor(x[i], 1.0)),
])  # fmt: skip
def test_in_place_versions_destroy_their_first_input(lopt, op, inputs):
    out = inputs() if op is None else op(*inputs())
    (new,) = lopt.transform(out.owner)
    assert out.owner.op.destroy_map == {} if hasattr(out.owner.op, "destroy_map") else True
    assert new.owner.op.destroy_map == {0: [0]}
    assert new.type == out.type
    assert not lopt.transform(new.owner)


def test_gradient_of_an_indexed_logsoftmax_is_one_operation():
    f = theano.function([m, i], T.grad(-picked(nnet.logsoftmax(m)).sum(), m))
    assert "CrossentropySoftmax1HotWithBiasDx" in names(f.maker.fgraph)
    assert "AdvancedIncSubtensor" not in names(f.maker.fgraph)
    e = np.exp(M)
    np.testing.assert_allclose(f(M, I), e / e.sum(axis=1, keepdims=True) - np.eye(3)[I], rtol=1e-12, atol=1e-15)


def test_allocations_are_emptied_only_on_demand():
    out = T.dot(m, x)
    assert "AllocEmpty" in names(theano.function([m, x], out).maker.fgraph)
    mode = theano.compile.get_mode("FAST_RUN").including("alloc_empty_to_zeros")
    assert "AllocEmpty" not in names(theano.function([m, x], out, mode=mode).maker.fgraph)


def test_shapes_come_from_the_inputs():
    f = theano.function([m, k], T.exp(T.dot(m, k)).shape, mode=theano.Mode("py", "fast_run"))
    assert names(f.maker.fgraph) == ["Shape_i", "Shape_i", "MakeVector"]
    np.testing.assert_array_equal(f(M[:2], K[:, :1]), [2, 1])
    for name in ("local_shape_i_lift", "local_track_shape_i", "local_shape_i_of_constant"):
        assert isinstance(getattr(opt, name), theano.gof.opt.LocalOptimizer)


def test_a_constant_expression_that_fails_is_reported_once(caplog):
    x = T.dscalar()
    f = theano.function([x], x + T.nlinalg.matrix_inverse(T.zeros((2, 2)))[0, 0], mode="FAST_RUN")
    assert sum("Optimization failure due to: constant_folding" in r.getMessage() for r in caplog.records) == 1
    with pytest.raises(np.linalg.LinAlgError, match=r"Inputs shapes: \[\(2, 2\)\]"):
        f(1.0)

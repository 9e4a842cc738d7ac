"""Matrix products become calls of BLAS, and what rewrites do together that none does alone."""

import numpy as np
import pytest
from rewrite_tools import check_fires, check_values, check_values_in_float32, names, rewrite, same_graph

import theano
import theano.tensor as T
from theano.compile.ops import Shape_i
from theano.gof.opt import MergeOptimizer
from theano.tensor import nnet, opt
from theano.tensor.blas import gemm_no_inplace, gemv_no_inplace, ger

x, y, z = T.dvectors("x", "y", "z")
m, k, p = T.dmatrices("m", "k", "p")
row, col = T.drow("row"), T.dcol("col")
s, r = T.dscalars("s", "r")
i = T.lvector("i")
X = np.array([0.5, -1.25, 3.0])
Y = np.array([2.0, 4.0, -0.75])
M = np.linspace(0.3, 2.1, 9).reshape(3, 3)
K = np.cos(np.arange(9.0)).reshape(3, 3)
I = np.array([2, 0, 1])
ONE = T.constant(1.0, dtype="float64")
TWO = T.constant(2.0, dtype="float64")


MERGED = [MergeOptimizer(), opt.constant_folding]


def picked(matrix):
    return matrix[T.arange(Shape_i(0)(i)), i]


FIRES = [
    ("local_dot_to_dot22", [m, k], lambda: T.dot(m, k), [M, K], ["Dot22"]),
    ("local_dot22_to_dot22scalar", [m, k, s], lambda: T.blas._dot22(m, k) * s, [M, K, 1.5], ["Dot22Scalar"]),
    ("local_dot22_to_ger_or_gemv", [m, col], lambda: T.blas._dot22(m, col), [M, Y[:, None]],
     ["DimShuffle", "Shape_i", "AllocEmpty", "Gemv", "DimShuffle"]),
    ("local_dot22_to_ger_or_gemv", [col, row], lambda: T.blas._dot22(col, row), [X[:, None], Y[None]],
     ["DimShuffle", "Shape_i", "DimShuffle", "Shape_i", "Alloc", "Ger"]),
    (
        "local_gemm_to_gemv",
        [col, m],
        lambda: gemm_no_inplace(col, TWO, m, T.patternbroadcast(T.sqr(col), (False, True)), TWO),
        [X[:, None], M],
        ["sqr", "DimShuffle", "DimShuffle", "Gemv", "DimShuffle"],
    ),
    ("local_gemm_to_ger", [m, col, row], lambda: gemm_no_inplace(m, TWO, col, row, ONE), [M, X[:, None], Y[None]],
     ["DimShuffle", "DimShuffle", "Ger"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "build", "values", "after"), FIRES)
def test_fires_and_keeps_the_value(name, inputs, build, values, after):
    lopts, gradient = [getattr(opt, name)], name != "local_gemm_to_ger"
    check_fires(lopts, MERGED, inputs, build(), after)
    check_values(lopts, MERGED, inputs, build(), values, 1e-8, gradient)
    check_values_in_float32(lopts, MERGED, inputs, build(), values, 2e-4, gradient)


@pytest.mark.parametrize(
    ("name", "inputs", "build"),
    [
        ("local_dot_to_dot22", [m, k], lambda: T.dot(m, T.cast(k, "float32"))),
        ("local_dot22_to_dot22scalar", [m, k, p], lambda: T.blas._dot22(m, k) * p),
        ("local_dot22_to_ger_or_gemv", [m, k], lambda: T.blas._dot22(m, k)),
        ("local_gemm_to_gemv", [m, k, p], lambda: gemm_no_inplace(m, TWO, k, p, ONE)),
        ("local_gemm_to_ger", [m, col, row], lambda: gemm_no_inplace(m, TWO, col, row, TWO)),
    ],
)  # fmt: skip
def test_leaves_near_misses_alone(name, inputs, build):
    output = build()
    assert same_graph(rewrite([*MERGED, getattr(opt, name)], inputs, output), rewrite(MERGED, inputs, output))


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
    (opt.local_inplace_gemm, gemm_no_inplace, lambda: (m, ONE, k, p, ONE)),
    (opt.local_inplace_gemv, gemv_no_inplace, lambda: (x, ONE, m, y, ONE)),
    (opt.local_inplace_ger, ger, lambda: (m, ONE, x, y)),
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


def test_a_constant_expression_that_fails_is_reported_once(caplog):
    x = T.dscalar()
    f = theano.function([x], x + T.nlinalg.matrix_inverse(T.zeros((2, 2)))[0, 0], mode="FAST_RUN")
    assert sum("Optimization failure due to: constant_folding" in r.getMessage() for r in caplog.records) == 1
    with pytest.raises(np.linalg.LinAlgError, match=r"Inputs shapes: \[\(2, 2\)\]"):
        f(1.0)

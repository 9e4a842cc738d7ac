"""Canonical sums and products."""

import numpy as np
import pytest
from rewrite_tools import compute, names, rewrite

import theano
import theano.tensor as T
from theano import gof
from theano.gof import EquilibriumOptimizer, FunctionGraph, MissingInputError
from theano.tensor import opt

a, b, c, d = T.dvectors("abcd")
VALUES = [np.array(v) for v in ([1.5, 2.0], [5.0, -7.0], [-3.0, 11.0], [13.0, 4.0])]
OPTS = [
    opt.local_add_canonizer,
    opt.local_mul_canonizer,
    opt.local_neg_to_mul,
    opt.constant_folding,
    opt.local_fill_to_alloc,
    opt.local_useless_fill,
]


def test_constants_are_put_first_as_one():
    fgraph = rewrite(OPTS, [a], 3.0 + (a + 2.0))
    (node,) = fgraph.toposort()
    assert node.inputs[0].data == 5.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_constant_is_put_first_in_the_same_node(dtype):
    fgraph = FunctionGraph([a], [T.exp(T.sin(a) * T.constant(np.array([0.5], dtype)))])
    product = fgraph.outputs[0].owner.inputs[0]
    EquilibriumOptimizer(OPTS, max_use_ratio=10).optimize(fgraph)
    assert fgraph.outputs[0].owner.inputs[0] is product
    constant, other = product.owner.inputs
    assert constant.data == 0.5 and constant.type.dtype == "float64" and other.owner.op == T.sin
    fgraph.check_integrity()


@pytest.mark.parametrize(("op", "neutral"), [(T.mul, 1.0), (T.add, 0.0)])
def test_a_neutral_element_goes_whatever_its_class(op, neutral):
    (x,) = inputs = [T.dvector("x")]
    for constant in (gof.Constant(T.TensorType("float64", (True,)), np.array([neutral])), T.constant([neutral])):
        assert rewrite(OPTS, inputs, op(constant, x)).outputs[0].owner is None


@pytest.mark.parametrize("make", [lambda r, c: r + c, lambda r, c: r * c])
def test_a_constant_that_says_the_shape_does_not_become_a_number(make):
    row = theano.shared(np.full((1, 3), 2.0), broadcastable=(True, False))
    value = np.full((2, 3), 4.0)
    np.testing.assert_array_equal(theano.function([], make(row, value))(), make(np.full((1, 3), 2.0), value))
    x = T.drow()
    f = theano.function([x], make(x, T.constant(value)))
    np.testing.assert_array_equal(f([[1, 2, 3]]), make(np.array([[1.0, 2, 3]]), value))


def test_a_profile_counts_the_constants_that_are_put_first():
    """Where there is a profile the node is replaced, else it gets other inputs."""
    for profiled in (False, True):
        fgraph = FunctionGraph([a], [T.exp(T.sin(a) * T.constant([0.5]))])
        with theano.config.change_flags(profile_optimizer=profiled):
            profile = EquilibriumOptimizer(OPTS, max_use_ratio=10).optimize(fgraph)
        assert [p.counts for p in profile.passes if p.counts] == [{opt.local_mul_canonizer: 1}]
        assert profile.node_created[opt.local_mul_canonizer] == 1


def test_a_shared_sum_is_computed_once():
    shared = a + b
    fgraph = rewrite(OPTS, [a, b, c, d], (shared + c) * T.exp(shared + d))
    assert names(fgraph).count("add") == 3


def test_a_shared_product_still_cancels():
    shared = a * b
    fgraph = rewrite(OPTS, [a, b], T.exp(shared) + shared / a)
    assert "true_div" not in names(fgraph)


def test_doubling_does_not_grow_exponentially():
    total = a
    for _ in range(40):
        total = total + total
    fgraph = rewrite(OPTS, [a], total)
    assert len(fgraph.apply_nodes) <= 41


def test_integers_of_different_widths_are_kept_apart():
    i, j = T.bvector("i"), T.lvector("j")
    out = (i + i) + j
    fgraph = rewrite(OPTS, [i, j], out)
    values = [np.array([100, -100], "int8"), np.array([1, 2])]
    np.testing.assert_array_equal(compute(fgraph.inputs, fgraph.outputs[0], values), compute([i, j], out, values))


def test_helpers_of_the_canonizer():
    mul = opt.local_mul_canonizer
    num, denum = mul.get_num_denum(a * b / c)
    assert num == [a, b] and denum == [c]
    assert mul.simplify_factors([a, b], [a]) == ([b], [])
    two, four = T.constant(2.0), T.constant(4.0)
    num, denum = mul.simplify_constants([a, two], [four, b], out_type=T.dscalar)
    assert float(num[0].data) == 0.5 and num[1:] == [a] and denum == [b]
    assert opt.Canonizer.get_constant(two) == 2.0
    assert opt.Canonizer.get_constant(a) is None
    merged = mul.merge_num_denum([a, b], [c])
    assert merged.owner.op == T.true_div
    assert theano.pp(mul.merge_num_denum([], [])) is not None


def test_long_chains_are_cut_into_pieces():
    total = a
    for k in range(200):
        total = total + T.exp(b * k)
    f = theano.function([a, b], total, mode=theano.Mode("py", "fast_run"))
    expected = VALUES[0] + sum(np.exp(VALUES[1] / 100 * k) for k in range(200))
    np.testing.assert_allclose(f(VALUES[0], VALUES[1] / 100), expected)


@pytest.mark.parametrize("keywords", ["", ", aslist", ", aslist=False, out_type=None"])
def test_a_canonizer_takes_the_manual_s_functions(keywords):
    """`calculate` is given the keywords that it has."""
    body = "[] if aslist and value == 1 else [value] if aslist else value" if keywords else "value"
    code = f"lambda n, d{keywords}: (lambda value: {body})(np.prod(n) / np.prod(d))"
    canonizer = T.opt.Canonizer(T.mul, T.true_div, T.inv, eval(code, {"np": np}))
    x, y, z = T.dscalars("x", "y", "z")
    for before, after in (
        (x / x, "TensorConstant{1.0}"),
        ((x * y) / x, "y"),
        (x / y / x, "inv(y)"),
        (x / (y / z), "((x * z) / y)"),
        ((2.0 * x) / (4.0 * y), "((TensorConstant{0.5} * x) / y)"),
        (2 * x / 2, "x"),
        (x * y * z, "(x * y * z)"),
    ):
        fgraph = theano.gof.FunctionGraph([x, y, z], [before])
        theano.gof.opt.in2out(canonizer).optimize(fgraph)
        assert theano.printing.pp(fgraph.outputs[0]) == after


@pytest.mark.parametrize("method", ["transform", "merge_num_denum"])
def test_what_a_subclass_does_is_done_where_nodes_may_change(method):
    called = []

    def seen(self, *args):
        called.append(args)
        return getattr(opt.AlgebraicCanonizer, method)(self, *args)

    mine = type("Mine", (opt.AlgebraicCanonizer,), {method: seen})(T.mul, T.true_div, T.inv, opt.mul_calculate)
    fgraph = FunctionGraph([a, b], [a * 2.0 * b], clone=True)
    EquilibriumOptimizer([mine], max_use_ratio=10).optimize(fgraph)
    assert called and len(fgraph.apply_nodes) == 1


def test_a_simplifier_that_brings_in_a_foreign_input_leaves_the_graph_as_it_was():
    failures = []
    foreign = T.dvector("foreign")
    mine = opt.AlgebraicCanonizer(T.mul, T.true_div, T.inv, opt.mul_calculate)
    mine.add_simplifier(lambda num, denum: ([*num[:-1], foreign], denum), "foreign")
    fgraph = FunctionGraph([a, b], [T.exp(a * 2.0 * b)], clone=True)
    before = str(fgraph)
    EquilibriumOptimizer([mine], max_use_ratio=10, failure_callback=lambda exc, *_: failures.append(exc)).optimize(fgraph)
    assert {type(exc) for exc in failures} == {MissingInputError}
    assert str(fgraph) == before
    fgraph.check_integrity()

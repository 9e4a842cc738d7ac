"""Rewrites of the default mode that are told apart by leaving them out by name: they make the graph what they promise,
keep values and gradients, and change nothing where their pattern is not met.
"""

import numpy as np
import pytest
from rewrite_tools import gradients

import theano
import theano.tensor as T
from theano.ifelse import IfElse, ifelse
from theano.sandbox.rng_mrg import MRG_RandomStreams, mrg_uniform
from theano.tensor.sort import TopKOp, topk_and_argtopk

x, y = T.dvectors("x", "y")
c, d = T.iscalars("c", "d")
X, Y = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])
FAST = theano.Mode("py", "fast_run")


def compiled(outputs, mode, inputs=(x, y, c, d)):
    return theano.function(list(inputs), outputs, mode=mode, on_unused_input="ignore")


def ops(f):
    return [node.op for node in f.maker.fgraph.toposort()]


def count(f, what):
    return sum(op == what or (isinstance(what, type) and isinstance(op, what)) for op in ops(f))


def inlined():
    return theano.OpFromGraph([x], [x * 2 + 1], inline=True)(y)


#: name, the expression, an Op, how many of it are left without the rewrite and with it.
FIRES = [
    ("remove_consider_constant", lambda: theano.gradient.consider_constant_(x) * y, theano.gradient.consider_constant_, 1, 0),
    ("remove_zero_grad", lambda: theano.gradient.zero_grad(x) * y, theano.gradient.zero_grad_, 1, 0),
    ("remove_disconnected_grad", lambda: theano.gradient.disconnected_grad(x) * y, theano.gradient.disconnected_grad_, 1, 0),
    ("remove_undefined_grad", lambda: theano.gradient.undefined_grad(x) * y, theano.gradient.undefined_grad_, 1, 0),
    ("remove_grad_identities", lambda: theano.gradient.grad_clip(x, -1, 1) * y, theano.gradient.GradClip, 1, 0),
    ("inline_ofg_expansion", inlined, theano.OpFromGraph, 1, 0),
    ("cond_constant", lambda: ifelse(T.constant(1), x, y * 2), IfElse, 1, 0),
    ("cond_remove_identical", lambda: sum(ifelse(c, [x, y + 1], [x * 2, y + 1])), IfElse, 1, 1),
    ("cond_merge_ifs_true", lambda: ifelse(c, ifelse(c, x, y), x * 2), IfElse, 2, 1),
    ("cond_merge_ifs_false", lambda: ifelse(c, x * 2, ifelse(c, x, y)), IfElse, 2, 1),
    ("cond_merge", lambda: [ifelse(c, x, y), ifelse(c, x * 2, y * 3)], IfElse, 2, 1),
]


@pytest.mark.parametrize(("name", "build", "op", "without", "with_it"), FIRES, ids=[f[0] for f in FIRES])
def test_fires_and_keeps_values_and_gradients(name, build, op, without, with_it):
    outputs = build()
    left_out, default = compiled(outputs, FAST.excluding(name)), compiled(outputs, FAST)
    assert (count(left_out, op), count(default, op)) == (without, with_it)
    if name == "cond_remove_identical":
        assert max(o.n_outs for o in ops(default) if isinstance(o, IfElse)) == 1
        assert max(o.n_outs for o in ops(left_out) if isinstance(o, IfElse)) == 2
    for values in ((X, Y, 1, 0), (X, Y, 0, 1)):
        for got, wanted in zip(np.atleast_2d(default(*values)), np.atleast_2d(left_out(*values)), strict=True):
            np.testing.assert_array_equal(got, wanted)
    if name == "remove_undefined_grad":
        return
    for out in outputs if isinstance(outputs, list) else [outputs]:
        slopes = gradients([x, y], out)
        results = [compiled(slopes, mode)(X, Y, 1, 0) for mode in (FAST, FAST.excluding(name))]
        for got, wanted in zip(*results, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("name", "build"), [
    ("inline_ofg_expansion", lambda: theano.OpFromGraph([x], [x * 2 + 1])(y)),
    ("cond_constant", lambda: ifelse(c, x, y)),
    ("cond_remove_identical", lambda: sum(ifelse(c, [x, y + 1], [x * 2, y + 2]))),
    ("cond_merge_ifs_true", lambda: ifelse(c, ifelse(d, x, y), x * 2)),
    ("cond_merge_ifs_false", lambda: ifelse(c, x * 2, ifelse(d, x, y))),
    ("cond_merge", lambda: ifelse(c, x, y) + ifelse(d, x * 2, y * 3)),
])  # fmt: skip
def test_leaves_near_misses_alone(name, build):
    outputs = build()
    default = compiled(outputs, FAST.excluding("inplace"))
    left_out = compiled(outputs, FAST.excluding("inplace", name))
    assert list(map(str, ops(default))) == list(map(str, ops(left_out)))


def test_only_the_wanted_result_of_topk_is_made():
    values, indices = topk_and_argtopk(x, 2)
    for outputs, kinds in (([values], (True, False)), ([indices], (False, True)), ([values, indices], (True, True))):
        f = theano.function([x], outputs, mode=FAST)
        (op,) = [o for o in ops(f) if isinstance(o, TopKOp)]
        assert (op.return_values, op.return_indices) == kinds
        left_out = theano.function([x], outputs, mode=FAST.excluding("local_useless_topk"))
        (op,) = [o for o in ops(left_out) if isinstance(o, TopKOp)]
        assert (op.return_values, op.return_indices) == (True, True)
        for got, wanted in zip(f(X), left_out(X), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_conditionals_give_out_what_they_choose_without_a_copy():
    f = compiled(ifelse(c, x * 2, y * 3), FAST)
    (op,) = [o for o in ops(f) if isinstance(o, IfElse)]
    assert getattr(op, "view_map", {})
    left_out = compiled(ifelse(c, x * 2, y * 3), FAST.excluding("cond_make_inplace"))
    (op,) = [o for o in ops(left_out) if isinstance(o, IfElse)]
    assert not getattr(op, "view_map", {})
    np.testing.assert_array_equal(f(X, Y, 0, 0), Y * 3)


def test_states_of_random_numbers_change_in_place():
    draw = MRG_RandomStreams(3).uniform((2,))
    made = {}
    for mode in (FAST, FAST.excluding("random_make_inplace_mrg")):
        f = theano.function([], draw, mode=mode)
        (op,) = [o for o in ops(f) if isinstance(o, mrg_uniform)]
        made[bool(op.inplace)] = f()
    assert set(made) == {True, False}


def test_a_graph_without_the_pattern_is_left_as_it_is():
    out = T.exp(x) * y + 1
    default = compiled(out, FAST.excluding("inplace"))
    left_out = compiled(out, FAST.excluding("inplace", *[f[0] for f in FIRES]))
    assert list(map(str, ops(default))) == list(map(str, ops(left_out)))

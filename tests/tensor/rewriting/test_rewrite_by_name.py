"""Rewrites of conditionals and of what only the gradient knows: in the default mode they make the graph what they
promise, keep values and gradients, and change nothing where their pattern is not met.
"""

import numpy as np
from by_name import FAST, ByName, ByNameTests, Given, compile_given, count, ops, text

import theano
import theano.tensor as T
from theano.gradient import GradClip, consider_constant_, disconnected_grad_, undefined_grad, zero_grad, zero_grad_
from theano.ifelse import IfElse, ifelse
from theano.tensor.sort import TopKOp, topk_and_argtopk


def from_graph(g, inline):
    x = T.vector(dtype=g.dtype)
    return theano.OpFromGraph([x], [x * 2 + x], inline=inline)(T.exp(g.y))


def identity(op, g):
    return op(g.x) * g.y


def chosen_pairs(f):
    """How many values each conditional chooses."""
    return [op.n_outs for op in ops(f) if isinstance(op, IfElse)]


def last_is_conditional(f):
    return isinstance(f.maker.fgraph.outputs[0].owner.op, IfElse)


def lazy_gradient(g):
    """The gradient of a branch: a conditional between zeros and something else."""
    return T.grad(ifelse(g.c, T.exp(T.tanh(g.x)), g.y).sum(), g.x)


CASES = [
    ByName(
        "remove_consider_constant",
        lambda g: identity(consider_constant_, g),
        lambda g: identity(zero_grad, g),
        count(type(consider_constant_)),
        (1, 0),
    ),
    ByName(
        "remove_zero_grad",
        lambda g: identity(zero_grad, g),
        lambda g: identity(consider_constant_, g),
        count(type(zero_grad_)),
        (1, 0),
    ),
    ByName(
        "remove_disconnected_grad",
        lambda g: identity(disconnected_grad_, g),
        lambda g: identity(zero_grad, g),
        count(type(disconnected_grad_)),
        (1, 0),
    ),
    ByName(
        "remove_undefined_grad",
        lambda g: identity(undefined_grad, g),
        lambda g: identity(zero_grad, g),
        count(type(theano.gradient.undefined_grad_)),
        (1, 0),
        gradient=False,
    ),
    ByName(
        "remove_grad_identities",
        lambda g: identity(lambda x: theano.gradient.grad_clip(x, -0.1, 0.1), g),
        lambda g: identity(zero_grad, g),
        count(GradClip),
        (1, 0),
    ),
    ByName(
        "inline_ofg_expansion",
        lambda g: from_graph(g, True),
        lambda g: from_graph(g, False),
        count(theano.OpFromGraph),
        (1, 0),
    ),
    ByName(
        "cond_constant",
        lambda g: ifelse(T.constant(1), T.exp(g.x), g.y * 2),
        lambda g: ifelse(g.c, T.exp(g.x), g.y * 2),
        count(IfElse),
        (1, 0),
    ),
    ByName(
        "cond_remove_identical",
        lambda g: sum(ifelse(g.c, [T.exp(g.x), g.y + 1], [g.x * 2, g.y + 1])),
        lambda g: sum(ifelse(g.c, [T.exp(g.x), g.y + 1], [g.x * 2, g.y + 2])),
        chosen_pairs,
        ([2], [1]),
    ),
    ByName(
        "cond_merge_ifs_true",
        lambda g: ifelse(g.c, ifelse(g.c, T.exp(g.x), g.y), g.x * 2),
        lambda g: ifelse(g.c, ifelse(g.d, T.exp(g.x), g.y), g.x * 2),
        count(IfElse),
        (2, 1),
    ),
    ByName(
        "cond_merge_ifs_false",
        lambda g: ifelse(g.d, g.x * 2, ifelse(g.d, T.exp(g.x), T.exp(g.y))),
        lambda g: ifelse(g.d, g.x * 2, ifelse(g.c, T.exp(g.x), T.exp(g.y))),
        count(IfElse),
        (2, 1),
    ),
    ByName(
        "cond_merge",
        lambda g: [ifelse(g.c, g.x, g.y), ifelse(g.c, T.exp(g.x), g.y * 3)],
        lambda g: [ifelse(g.c, g.x, g.y), ifelse(g.d, T.exp(g.x), g.y * 3)],
        count(IfElse),
        (2, 1),
    ),
    ByName(
        "ifelse_lift_zeros",
        lazy_gradient,
        lambda g: T.exp(ifelse(g.c, g.x, g.y)) * 2,
        last_is_conditional,
        (False, True),
    ),
    ByName(
        "ifelse_lift_single_if_through_acceptable_ops",
        lambda g: T.exp(ifelse(g.c, g.x, g.y)) * 2,
        lambda g: T.sort(ifelse(g.c, g.x, g.y)),
        last_is_conditional,
        (False, True),
        on_demand=True,
    ),
    ByName(
        "cond_make_inplace",
        lambda g: ifelse(g.c, T.exp(g.x), g.y * 3),
        lambda g: T.switch(g.c, T.exp(g.x), g.y * 3),
        lambda f: [op.view_map if op.as_view else {} for op in ops(f) if isinstance(op, IfElse)],
        ([{}], [{0: [1, 2]}]),
    ),
]


class TestConditionalsAndIdentities(ByNameTests):
    cases = CASES


def test_only_the_wanted_result_of_topk_is_made():
    x = T.dvector("x")
    values, indices = topk_and_argtopk(x, 2)
    for outputs, kinds in (([values], (True, False)), ([indices], (False, True)), ([values, indices], (True, True))):
        f = theano.function([x], outputs, mode=FAST)
        (op,) = [o for o in ops(f) if isinstance(o, TopKOp)]
        assert (op.return_values, op.return_indices) == kinds
        left_out = theano.function([x], outputs, mode=FAST.excluding("local_useless_topk"))
        (op,) = [o for o in ops(left_out) if isinstance(o, TopKOp)]
        assert (op.return_values, op.return_indices) == (True, True)
        for got, wanted in zip(f([0.5, -1.25, 3.0]), left_out([0.5, -1.25, 3.0]), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_graph_without_the_pattern_is_left_as_it_is():
    g = Given("float64")
    out = T.exp(g.x) * g.y + 1
    assert text(compile_given(g, out, FAST)) == text(compile_given(g, out, FAST.excluding(*[case.name for case in CASES])))

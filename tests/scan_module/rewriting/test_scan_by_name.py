"""Each rewrite of loops under its registered name: what it does to its pattern shows in what is left when it is excluded;
values and gradients are those of the loop as it was written; the nearest loop that does not have the pattern stays.
"""

import numpy as np
import pytest
from by_name import DTYPES, OFF, ByName, ByNameTests, Given, check_near_miss, compile_given
from loop_tools import loops, ops, steps

import theano
import theano.tensor as T
from theano.gof.optdb import Query
from theano.scan_module.scan_op import Scan


def first(f):
    return loops(f)[0].op


def last(f):
    return loops(f)[-1].op


def states(f):
    return first(f).n_sit_sot


def scan(*args, **kwargs):
    return theano.scan(*args, **kwargs)[0]


def recurrent(g, *more):
    """A recurrent layer, with further outputs of each step."""
    return scan(lambda a, h, w: [T.tanh(a + T.dot(h, w)), *(f(h) for f in more)], g.m, [g.b, *[None] * len(more)], g.w)


def two_sums(g, other):
    return scan(lambda a, h, s: [T.tanh(a + h), T.tanh(other(a, h) + s)], g.x, [g.h, g.h])


def short(g, steps):
    # `theano.scan` itself makes no loop of a single step.
    h = scan(lambda a, h: T.tanh(a + h), g.x, g.h, n_steps=g.n)
    return theano.clone(h, replace={g.n: T.constant(steps, dtype="int64")})


def gradient_of_states(g, taps):
    start = g.h if taps == [-1] else g.x[: len(taps)]
    h = scan(lambda a, *h: T.tanh(a + sum(h)), g.y, [{"initial": start, "taps": taps}])
    return T.grad(h[-1], [g.y])


def gated(g):
    h = scan(lambda a, h, w: T.tanh(a * T.tanh(T.dot(h, w))), g.m, g.b, g.w)
    return T.grad(T.sqr(h[-1]).sum(), [g.b])


def over_given_values(g):
    # The buffer is an argument of the function.
    a = T.scalar(dtype=g.dtype)
    return Scan([a], [T.tanh(a + 1)], {"n_sit_sot": 1, "tap_array": [[-1]]})(g.n - 1, g.x)


def removes_constants(position, other):
    """The rewrite is in the mode twice; each does the work where the other is left out."""
    return ByName(
        f"scanOp_remove_constants_and_unused_inputs{position}",
        lambda g: scan(lambda a, h, k: T.tanh(a + h) * k, g.x, g.h, [g.number(3) * 2]),
        lambda g: scan(lambda a, h, k: T.tanh(a + h) * k, g.x, g.h, [g.k * 2]),
        lambda f: len(first(f).outer_non_seqs(loops(f)[0])),
        (1, 0),
        (f"scanOp_remove_constants_and_unused_inputs{other}",),
    )


CASES = [
    ByName(
        "scanOp_merge",
        lambda g: [scan(lambda a, h: T.tanh(a + h), g.x, g.h), scan(lambda a, h: T.tanh(a * h), g.x, g.h)],
        lambda g: [scan(lambda a, h: T.tanh(a + h), g.x, g.h), scan(lambda a, h: T.tanh(a * h), g.x, g.h, n_steps=g.n)],
        lambda f: len(loops(f)),
        (2, 1),
    ),
    ByName(
        "scan_remove_dead_outputs",
        lambda g: two_sums(g, lambda a, h: a * 2)[0],
        lambda g: two_sums(g, lambda a, h: a * h)[1],
        states,
        (2, 1),
    ),
    removes_constants(1, 2),
    removes_constants(2, 1),
    ByName(
        "scanOp_merge_inouts",
        lambda g: two_sums(g, lambda a, h: a),
        lambda g: two_sums(g, lambda a, h: -a),
        states,
        (2, 1),
    ),
    ByName(
        "scan_write_out_short_loops",
        lambda g: short(g, 1),
        lambda g: short(g, 2),
        lambda f: len(loops(f)),
        (1, 0),
    ),
    ByName(
        "scan_optimize_inner",
        lambda g: scan(lambda a, h: T.tanh(a * h / h + h), g.x, g.h),
        lambda g: scan(lambda a, h: T.tanh(a + h), g.x, g.h),
        lambda f: len(steps(f)),
        (4, 2),
    ),
    ByName(
        "scan_mitmot_to_sitsot",
        lambda g: gradient_of_states(g, [-1]),
        lambda g: gradient_of_states(g, [-2, -1]),
        lambda f: (last(f).n_mit_mot, last(f).n_sit_sot),
        ((1, 0), (0, 1)),
    ),
    ByName(
        "scanOp_pushout_nonseqs_ops",
        lambda g: scan(lambda a, h, k: T.tanh(a + h) * T.exp(k), g.x, g.h, g.k),
        lambda g: scan(lambda a, h, k: T.tanh(a + h) * T.exp(k * h), g.x, g.h, g.k),
        lambda f: len(steps(f)),
        (4, 3),
    ),
    ByName(
        "scanOp_pushout_seqs_ops",
        lambda g: scan(lambda a, h, w: T.tanh(T.dot(a, w) + h), g.m, g.b, g.w),
        lambda g: scan(lambda a, h, w: T.tanh(T.dot(h, w) + a), g.m, g.b, g.w),
        lambda f: ("Dot" in steps(f), "Dot22" in ops(f)),
        ((True, False), (False, True)),
    ),
    ByName(
        "scan_pushout_dot1",
        lambda g: scan(
            lambda a, h, s, w: [T.tanh(a + T.dot(h, w)), s + T.outer(a, h)], g.m, [g.b, T.zeros_like(g.u)], g.w
        )[1][-1],
        lambda g: scan(lambda a, h, s, w: [T.tanh(a + T.dot(h, s)), s + T.outer(a, h)], g.m, [g.b, g.u], g.w)[1][-1],
        states,
        (2, 1),
    ),
    ByName(
        "scanOp_pushout_output",
        lambda g: recurrent(g, lambda h: T.dot(h, g.u)),
        lambda g: scan(lambda a, h, s, w: [T.tanh(a + s), T.dot(h, w)], g.m, [g.b, g.v], g.w),
        lambda f: (steps(f).count("Dot"), "Dot22" in ops(f)),
        ((2, False), (1, True)),
    ),
    ByName(
        "scan_cumulate",
        lambda g: scan(lambda a, s: s + T.exp(a), g.x, g.h),
        lambda g: scan(lambda a, s: 0.5 * s + T.exp(a), g.x, g.h),
        lambda f: (len(loops(f)), "CumOp" in ops(f)),
        ((1, False), (0, True)),
    ),
    ByName(
        "scanOp_keep_values",
        gated,
        lambda g: T.grad(scan(lambda a, h: (a + h) * (a - h), g.m, g.b)[-1].sum(), [g.b]),
        lambda f: first(f).n_nit_sot,
        (0, 1),
    ),
    ByName(
        "scanOp_save_mem",
        lambda g: scan(lambda h: T.tanh(h * 1.5), outputs_info=g.h, n_steps=g.n)[-1],
        lambda g: scan(lambda h: T.tanh(h * 1.5), outputs_info=g.h, n_steps=g.n)[1],
        lambda f: rows_of_the_state(f),
        (5, 2),
    ),
    ByName(
        "scanOp_make_inplace",
        lambda g: scan(lambda a, h: T.tanh(a + h), g.x, g.h),
        over_given_values,
        lambda f: first(f).destroy_map,
        ({}, {0: [2]}),
    ),
]


def rows_of_the_state(f):
    (node,) = loops(f)
    (buffer,) = node.op.outer_sitsot(node)
    # The length is computed by a graph of its own, over copies of the function's inputs.
    copies, length = theano.gof.graph.clone(f.maker.fgraph.inputs, [buffer.shape[0]])
    kept = theano.function(copies, length[0], mode=OFF, accept_inplace=True, on_unused_input="ignore")
    return int(kept(*Given(buffer.dtype).values))


class TestLoops(ByNameTests):
    cases = CASES

    def test_leaves_the_near_miss_alone(self, case):
        assert loops(check_near_miss(case))


@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_that_are_computed_alike_are_merged(dtype):
    """Among the first rewrites of loops, so that those see which arguments are the same."""
    g = Given(dtype)
    h = theano.scan(lambda a, b, h: T.tanh(a * b + h), [T.exp(g.x), T.exp(g.x)], g.h)[0]
    distinct = theano.scan(lambda a, b, h: T.tanh(a * b + h), [T.exp(g.x), T.exp(g.y)], g.h)[0]
    both = [h, *theano.grad(h.sum(), [g.x, g.h])]

    def made(outputs, *names):
        selected = Query(include=["scan_simplify"], subquery={"scan_simplify": Query(include=names)})
        return compile_given(g, outputs, theano.Mode("vm", selected))

    merged, apart = made(h, "merge", "scanOp_merge_inouts"), made(h, "scanOp_merge_inouts")
    assert (first(apart).n_seqs, first(merged).n_seqs) == (2, 1)
    assert first(made(distinct, "merge", "scanOp_merge_inouts")).n_seqs == 2
    wanted = compile_given(g, both, OFF)(*g.values)
    for got, expected in zip(made(both, "merge", "scanOp_merge_inouts")(*g.values), wanted, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)

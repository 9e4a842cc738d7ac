"""Each rewrite of the case tables, as it is registered: what it makes of its pattern, and that it leaves the near miss alone."""

from __future__ import annotations

import pytest
from rewrite_cases import all_cases, rewrite_named
from rewrite_tools import check_fires, check_values, check_values_in_float32, is_float64, rewrite, same_graph

from theano import Constant
from theano.gof.graph import inputs

CASES = all_cases()


def label(case, position=0):
    earlier = [c for c in CASES if c.name == case.name]
    number = next(i for i, c in enumerate(earlier) if c is case)
    return "-".join([case.name, *map(str, filter(None, (number, position)))])


def rewrites(case):
    """What is tested, and what is applied together with it."""
    return [rewrite_named(case.name)], [rewrite_named(name) for name in case.companions]


@pytest.mark.parametrize("case", CASES, ids=label)
def test_fires(case):
    before, after = check_fires(*rewrites(case), case.inputs, case.build(), case.after.split(), case.prepare)
    if case.proves is not None:
        assert case.proves(after) and not case.proves(before)


@pytest.mark.parametrize("case", CASES, ids=label)
def test_value_and_gradient(case):
    rtol = max(case.rtol, 1e-8)
    check_values(*rewrites(case), case.inputs, case.build(), case.values, rtol, case.gradient, case.prepare)


@pytest.mark.parametrize("case", [c for c in CASES if any(map(is_float64, c.inputs)) and not c.no_float32], ids=label)
def test_value_and_gradient_in_float32(case):
    rtol = max(case.rtol, 2e-4)
    check_values_in_float32(*rewrites(case), case.inputs, case.build(), case.values, rtol, case.gradient, case.prepare)


NEAR_MISSES = [(case, build, i) for case in CASES for i, build in enumerate(case.near_misses)]


@pytest.mark.parametrize(("case", "build"), [n[:2] for n in NEAR_MISSES], ids=[label(c, i) for c, _, i in NEAR_MISSES])
def test_leaves_the_near_miss_alone(case, build):
    output = build()
    lopts, companions = rewrites(case)
    ins = [v for v in inputs([output]) if not isinstance(v, Constant)]
    assert same_graph(rewrite([*companions, *lopts], ins, output, case.prepare), rewrite(companions, ins, output, case.prepare))

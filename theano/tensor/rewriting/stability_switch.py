"""Logarithms of alternatives and their gradients, as of the likelihood ``switch(y, p, 1 - p)``: each branch by itself."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import P, rewrite, rule, x, y, z
from theano.tensor.rewriting.stability_log import _has_stable_log
from theano.tensor.rewriting.terms import (
    as_scalar_constant,
    compared,
    factors_of,
    fraction,
    is_elemwise,
    opened,
    quotient,
    replacement,
    same_expression,
)

_DEPTH = 4


def _has_stable_branch(out: Any, x: Any, y: Any) -> bool:
    return x.type.dtype == y.type.dtype == out.type.dtype and (_has_stable_log(x) or _has_stable_log(y))


local_log_of_switch = rewrite(
    "local_log_of_switch",
    "stabilize specialize",
    rule(
        P.log(P.switch(z, x, y)),
        P.switch(z, P.log(x), P.log(y)),
        where=("of one of the two the logarithm is stable, and they have its dtype", _has_stable_branch),
    ),
)


@rewrites([T.switch], "stabilize specialize")
def local_switch_of_same_condition(node: Any) -> Any:
    """``switch(c, f(switch(c, x, y)), z) -> switch(c, f(x), z)`` for an elementwise f, and so in the other branch"""
    condition, *branches = node.inputs
    if isinstance(condition, Constant):
        return False
    chosen = [_chosen(b, condition, k, _DEPTH) for k, b in enumerate(branches, 1)]
    if all(new is None for new in chosen):
        return False
    return replacement(node, T.switch(condition, *(b if new is None else new for b, new in zip(branches, chosen, strict=True))))


def _chosen(v: Any, condition: Any, branch: int, depth: int) -> Any:
    """`v` with one branch of each switch on `condition` in it instead of the switch; None if there is none."""
    node = v.owner
    if node is None or not depth or not isinstance(node.op, Elemwise) or len(node.outputs) != 1:
        return None
    if node.op == T.switch and same_expression(node.inputs[0], condition):
        new = node.inputs[branch]
        return new if new.type == v.type else None
    inputs = [_chosen(i, condition, branch, depth - 1) for i in node.inputs]
    if all(new is None for new in inputs):
        return None
    new = node.op(*(i if new is None else new for i, new in zip(node.inputs, inputs, strict=True)))
    return new if new.type == v.type else None


@rewrites([T.mul, T.true_div], "stabilize specialize", among_inputs=[T.switch, T.mul], needs=[T.switch])
def local_switch_of_cancelled(node: Any) -> Any:
    """``x * y * switch(c, a / x, b / y) -> switch(c, y * a, x * b)`` and ``x * y / switch(c, x, y) -> switch(c, y, x)``: nothing
    is divided by what has become 0
    """
    if not any(f.owner is not None and f.owner.op == T.switch for i in node.inputs for f in factors_of(i)):
        return False
    dtype = node.outputs[0].type.dtype
    top, bottom = fraction(node.outputs[0])
    for side, factors in ((1, top), (-1, bottom)):
        for k, f in enumerate(factors):
            if not is_elemwise(f.owner, T.switch) or f.type.dtype != dtype:
                continue
            condition, *branches = f.owner.inputs
            others = top if side < 0 else top[:k] + top[k + 1 :]
            parts = [_without_common(b, side, others) for b in branches]
            if not all(p is not None for p in parts) or all(p[2] == frozenset() for p in parts):
                continue
            taken = frozenset().union(*(p[2] for p in parts))
            values = []
            for above, below, used in parts:
                kept = [others[i] for i in sorted(taken - used)]
                if any(as_scalar_constant(a) == 0 for a in above):
                    kept = []
                values.append(quotient([*kept, *above], below, dtype))
            rest = [g for i, g in enumerate(others) if i not in taken]
            under = bottom if side > 0 else bottom[:k] + bottom[k + 1 :]
            return replacement(node, quotient([*rest, T.switch(condition, *values)], under, dtype))
    return False


def _without_common(branch: Any, side: int, others: list[Any]) -> tuple[list[Any], list[Any], frozenset[int]] | None:
    """The factors of a branch, or of its reciprocal if `side` is -1, above and below the line, less those below that are among
    `others`, and the positions of these; None if that would leave a division that was not there.
    """
    above, below = opened(branch)
    if side < 0:
        above, below = below, above
    left, unused, _ = compared(below, enumerate(others), lambda f, other: same_expression(f, other[1]))
    if side < 0 and any(as_scalar_constant(f) is None for f in left):
        return None
    return above, left, frozenset(range(len(others))).difference(i for i, _ in unused)

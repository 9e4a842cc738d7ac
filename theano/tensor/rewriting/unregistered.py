"""Rewrites, and parts of rewrites, that no mode needs, for programs that take them by name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import Any

from theano.gof.copying import ViewOp
from theano.gof.opt import local_optimizer
from theano.tensor import basic as T
from theano.tensor.rewriting.canonizer import local_add_canonizer, local_mul_canonizer
from theano.tensor.rewriting.rules import P, rewrite, rule, x
from theano.tensor.rewriting.terms import as_scalar_constant, copy_stack_trace
from theano.tensor.shaping import Tile

# As many multiplications as a division takes the time of.
_DIVISION = 1.5


local_inv_canon = rewrite("local_inv_canon", [], rule(P.inv(x), P.pow(x, -1)))


@local_optimizer([Tile])
def local_useless_tile(node: Any) -> Any:
    """``tile(x, (1, 1)) -> x`` for a matrix"""
    if not isinstance(node.op, Tile) or node.inputs[0].type != node.outputs[0].type:
        return False
    return [node.inputs[0]] if as_scalar_constant(node.inputs[1]) == 1 else False


@local_optimizer(None)
def local_view_op(node: Any) -> Any:
    """A view of a variable is the variable"""
    return list(node.inputs) if isinstance(node.op, ViewOp) else False


@local_optimizer([T.sub, T.add])
def local_print_as_we_go_along(node: Any) -> Any:
    """Print the graph of each sum and difference; nothing changes"""
    if node.op in (T.sub, T.add):
        from theano.printing import debugprint

        debugprint(node)
    return False


def merge_broadcastables(broadcastables: Sequence[Sequence[bool]]) -> list[bool]:
    """Return the pattern of the result of an elementwise operation on tensors of these patterns."""
    return [all(dimension) for dimension in zip(*broadcastables)]


def distribute_greedy(
    pos_pairs: list, neg_pairs: list, num: list, denum: list, out_type: Any, minscore: float = 0
) -> tuple[bool, list, list]:
    """Multiply the terms of a sum by a fraction, if that saves operations.

    Parameters
    ----------
    pos_pairs, neg_pairs : list of (list, list)
        Numerators and denominators of the terms that are added, and of those that are subtracted.
    num, denum : list
        Those of the fraction.
    out_type : Type
        That of the result.
    minscore : float
        How many multiplications it must save; a division counts one and a half.

    Returns
    -------
    changed : bool
    pos_pairs, neg_pairs : list
        Multiplied and simplified, or as they were.
    """
    pairs = pos_pairs + neg_pairs
    new = [local_mul_canonizer.simplify(n + num, d + denum, out_type) for n, d in pairs]
    score = _cost(num, denum) + sum(_cost(*old) - _cost(*simpler) for old, simpler in zip(pairs, new, strict=True))
    if score <= minscore:
        return False, pos_pairs, neg_pairs
    return True, new[: len(pos_pairs)], new[len(pos_pairs) :]


def _cost(num: Sequence[Any], denum: Sequence[Any]) -> float:
    return len(num) + _DIVISION * len(denum)


def attempt_distribution(factor: Any, num: list, denum: list, out_type: Any) -> tuple[bool, Any, list, list]:
    """Multiply a sum by each factor of a fraction for which that saves operations.

    Parameters
    ----------
    factor : Variable
        The sum.
    num, denum : list
        Numerators and denominators; those that went into the sum are removed.
    out_type : Type

    Returns
    -------
    changed : bool
    factor : Variable
        The sum, multiplied.
    num, denum : list
    """
    pos, neg = local_add_canonizer.get_num_denum(factor)
    if len(pos) == 1 and not neg:
        return False, factor, num, denum
    added, taken = ([local_mul_canonizer.get_num_denum(term) for term in part] for part in (pos, neg))
    changed = False
    for left, top in ((num, True), (denum, False)):
        for part in list(left):
            above, below = ([part], []) if top else ([], [part])
            done, added, taken = distribute_greedy(added, taken, above, below, out_type)
            if done:
                changed = True
                left.remove(part)
    if not changed:
        return False, factor, num, denum
    merged = [list(starmap(local_mul_canonizer.merge_num_denum, part)) for part in (added, taken)]
    new = local_add_canonizer.merge_num_denum(*merged)
    copy_stack_trace(factor, new)
    return True, new, num, denum

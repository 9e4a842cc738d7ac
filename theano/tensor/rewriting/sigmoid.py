"""Losses of a sigmoid, whose gradients cancel before they can be 0 / 0."""

from __future__ import annotations

from typing import Any

from theano.tensor import basic as T
from theano.tensor.nnet.sigm import sigmoid
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.terms import as_scalar_constant, replacement, same_expression, signed


def _as_sigmoid(v: Any) -> tuple[Any, bool] | None:
    """``(x, negative)`` if `v` is ``sigmoid(x)`` or ``1 - sigmoid(-x)``, with ``-x`` if negative; else None."""
    node = v.owner
    if node is None or v.type.dtype not in T.float_dtypes:
        return None
    if node.op == sigmoid:
        return signed(node.inputs[0])
    if node.op == T.sub and node.inputs[1].owner is not None and node.inputs[1].owner.op == sigmoid:
        one = as_scalar_constant(node.inputs[0])
        if one is not None and one == 1:
            x, negative = signed(node.inputs[1].owner.inputs[0])
            return x, not negative
    return None


def _same_sigmoid(a: tuple[Any, bool], b: tuple[Any, bool]) -> bool:
    return a[1] == b[1] and same_expression(a[0], b[0])


def _numerator(term: Any, sigmoids: list[tuple[int, tuple[Any, bool]]]) -> tuple[Any, int | None] | None:
    """``(numerator, position of the factor that cancels its denominator)`` of a term of the sum.

    The position is None for a term without such a denominator; the result is None if a sigmoid in the denominator
    does not cancel.
    """
    negated = False
    node = term.owner
    if node is not None and node.op == T.neg and len(term.clients) == 1:
        negated, term = True, node.inputs[0]
        node = term.owner
    if node is None or node.op != T.true_div or len(term.clients) != 1:
        return (T.neg(term) if negated else term), None
    num, denum = node.inputs
    bottom = denum.owner
    parts = list(bottom.inputs) if bottom is not None and bottom.op == T.mul else [denum]
    for k, part in enumerate(parts):
        found = _as_sigmoid(part)
        if found is None:
            continue
        for position, factor in sigmoids:
            if _same_sigmoid(found, factor):
                rest = parts[:k] + parts[k + 1 :]
                if rest:
                    num = T.true_div(num, rest[0] if len(rest) == 1 else T.mul(*rest))
                return (T.neg(num) if negated else num), position
        return None
    return (T.neg(term) if negated else term), None


@rewrites([T.mul], "stabilize specialize", among_inputs=[sigmoid, T.sub], needs=[sigmoid])
def local_sigmoid_quotients(node: Any) -> Any:
    """``(a / sigmoid(x) + b / (1 - sigmoid(x))) * sigmoid(x) * sigmoid(-x) -> a * sigmoid(-x) + b * sigmoid(x)``

    The gradient of a binary crossentropy, which is 0 / 0 where the sigmoid is rounded to 0 or 1.
    """
    sigmoids = [(k, found) for k, i in enumerate(node.inputs) if (found := _as_sigmoid(i)) is not None]
    if not sigmoids:
        return False
    for s, total in enumerate(node.inputs):
        if len(total.clients) != 1 or total.owner is None:
            continue
        op = total.owner.op
        terms = list(total.owner.inputs) if op in (T.add, T.sub) else [total] if op in (T.true_div, T.neg) else []
        if not terms or (terms[0] is not total and any(t.type.broadcastable != total.type.broadcastable for t in terms)):
            continue
        numerators = [_numerator(t, sigmoids) for t in terms]
        if any(n is None for n in numerators) or all(n[1] is None for n in numerators if n is not None):
            continue
        new_terms = []
        for found in numerators:
            top, position = found  # type: ignore[misc]
            factors = [i for k, i in enumerate(node.inputs) if k != s and k != position]
            new_terms.append(T.mul(top, *factors) if factors else top)
        new = op(*new_terms) if op in (T.add, T.sub) else new_terms[0]
        return replacement(node, new)
    return False

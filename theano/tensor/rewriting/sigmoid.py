"""Losses of a sigmoid, whose gradients cancel before they can be 0 / 0."""

from __future__ import annotations

from typing import Any

from theano.tensor import basic as T
from theano.tensor.nnet.sigm import sigmoid
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.terms import (
    argument_of,
    factors_of,
    is_elemwise,
    is_number,
    product_of,
    replacement,
    same_expression,
    signed,
)


def _as_sigmoid(v: Any) -> tuple[Any, bool] | None:
    """``(x, negative)`` if `v` is ``sigmoid(x)`` or ``1 - sigmoid(-x)``, with ``-x`` if negative; else None."""
    if v.type.dtype not in T.float_dtypes:
        return None
    is_complement = is_elemwise(v.owner, T.sub) and is_number(v.owner.inputs[0], 1)
    argument = argument_of(v.owner.inputs[1] if is_complement else v, sigmoid)
    if argument is None:
        return None
    x, negative = signed(argument)
    return x, negative != is_complement


def _numerator(term: Any, sigmoids: list[tuple[int, tuple[Any, bool]]]) -> tuple[Any, int | None] | None:
    """``(numerator, position of the factor that cancels its denominator)`` of a term of the sum.

    The position is None for a term without such a denominator; the result is None if a sigmoid in the denominator
    does not cancel.
    """
    negative = argument_of(term, T.neg)
    v = term if negative is None else negative
    if v.owner is None or v.owner.op != T.true_div or len(v.clients) != 1 or len(term.clients) != 1:
        return term, None
    top, bottom = v.owner.inputs[0], factors_of(v.owner.inputs[1])
    for k, part in enumerate(bottom):
        found = _as_sigmoid(part)
        if found is None:
            continue
        x, sign = found
        position = next((position for position, (y, other) in sigmoids if sign == other and same_expression(x, y)), None)
        if position is None:
            return None
        rest = product_of(bottom[:k] + bottom[k + 1 :])
        top = top if rest is None else T.true_div(top, rest)
        return (top if negative is None else T.neg(top)), position
    return term, None


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
        new_terms = [
            product_of([top, *(i for k, i in enumerate(node.inputs) if k not in (s, position))])
            for top, position in numerators  # type: ignore[misc]
        ]
        new = op(*new_terms) if op in (T.add, T.sub) else new_terms[0]
        return replacement(node, new)
    return False

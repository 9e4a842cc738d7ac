"""Losses of a sigmoid, whose gradients cancel before they can be 0 / 0."""

from __future__ import annotations

from typing import Any

from theano.tensor import basic as T
from theano.tensor.nnet.sigm import sigmoid
from theano.tensor.rewriting.algebra import denominator_of, distributed, terms_of
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.terms import argument_of, is_elemwise, is_number, replacement, same_expression, signed


def _as_sigmoid(v: Any) -> tuple[Any, bool] | None:
    """``(x, negative)`` if `v` is ``sigmoid(x)`` or ``1 - sigmoid(-x)``, with ``-x`` if negative; else None."""
    if v.type.dtype not in T.float_dtypes:
        return None
    x = argument_of(v, sigmoid)
    if x is not None:
        return signed(x)
    x = argument_of(v.owner.inputs[1], sigmoid) if is_elemwise(v.owner, T.sub) and is_number(v.owner.inputs[0], 1) else None
    if x is None:
        return None
    x, negative = signed(x)
    return x, not negative


def _is_same_sigmoid(a: Any, b: Any) -> bool:
    first, second = _as_sigmoid(a), _as_sigmoid(b)
    return bool(first and second and first[1] == second[1] and same_expression(first[0], second[0]))


@rewrites([T.mul], "stabilize specialize", among_inputs=[sigmoid, T.sub], needs=[sigmoid])
def local_sigmoid_quotients(node: Any) -> Any:
    """``(a / sigmoid(x) + b / (1 - sigmoid(x))) * sigmoid(x) * sigmoid(-x) -> a * sigmoid(-x) + b * sigmoid(x)``

    The gradient of a binary crossentropy, which is 0 / 0 where the sigmoid is rounded to 0 or 1.
    """
    if not any(_as_sigmoid(i) for i in node.inputs):
        return False
    for k, total in enumerate(node.inputs):
        factors = node.inputs[:k] + node.inputs[k + 1 :]
        divisors = [v for t in terms_of(total) for v in denominator_of(t) if _as_sigmoid(v)] if len(total.clients) == 1 else []
        # None may stay below the line.
        if divisors and all(any(_is_same_sigmoid(v, f) for f in factors) for v in divisors):
            new = distributed(total, factors, _is_same_sigmoid, lambda n, k: True)
            return False if new is None else replacement(node, new)
    return False

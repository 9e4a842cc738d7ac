"""Logarithms and quotients of the error function and its complement, and their gradients, in the tails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting import terms as _terms
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import P, among, applies, number, rewrite, rule, times, x
from theano.tensor.rewriting.terms import is_elemwise, replacement, signed

#: What the gradients of erf and erfc have, and those of their logarithms.
exp_minus_square = Elemwise(scalar.explog.exp_minus_square, name="exp_minus_square")
x_exp_minus_square = Elemwise(scalar.explog.x_exp_minus_square, name="x_exp_minus_square")
erfcx_slope = Elemwise(scalar.special.erfcx_slope, name="erfcx_slope")
erfc_rate = Elemwise(scalar.special.erfc_rate, name="erfc_rate")
erfc_rate_excess = Elemwise(scalar.special.erfc_rate_excess, name="erfc_rate_excess")
erfc_rate_slope = Elemwise(scalar.special.erfc_rate_slope, name="erfc_rate_slope")

_STAGES = "stabilize specialize"
_BELL, _X_BELL, _RATE = map(applies, (exp_minus_square, x_exp_minus_square, erfc_rate))
#: Sums of more terms are left alone.
_TERMS = 8


local_erf_of_negative = rewrite("local_erf_of_negative", "canonicalize specialize", rule(P.erf(-x), P.neg(P.erf(x))))


local_log_erfc = rewrite(
    "local_log_erfc",
    _STAGES,
    rule(P.log(P.erfc(x)), P.switch(P.lt(x, 0.5), P.log1p(-P.erf(x)), P.log(P.erfcx(x)) - x**2), "floats"),
)


_MINUS_X = times(-1, x)


def _with_rates(at: Any, seen: Sequence[Any] = ()) -> list[among]:
    root = number(np.sqrt(np.pi), "sqrt(pi)")
    return [
        among(bell / P.erfc(x), after, "floats", at=at, seen=seen)
        for bell, after in (
            (P.exp(-(x**2)), root * _RATE(x)),
            (P.exp(-(_MINUS_X**2)), root * _RATE(x)),
            (_BELL(x), root * _RATE(x)),
            (_BELL(_MINUS_X), root * _RATE(x)),
            (_X_BELL(x), P.mul(root, x, _RATE(x))),
            (_X_BELL(_MINUS_X), P.mul(root, _MINUS_X, _RATE(x))),
        )
    ]


#: The gradient of ``log(erfc(x))``, and of squares of the quotient, of which its second derivative has one.
local_grad_log_erfc_neg = rewrite(
    "local_grad_log_erfc_neg",
    _STAGES,
    *_with_rates(T.true_div),
    among(applies(erfcx_slope)(x) / P.erfcx(x), applies(erfc_rate_excess)(x), "floats"),
)


local_product_with_inverse_erfc = rewrite("local_product_with_inverse_erfc", _STAGES, *_with_rates(T.mul, (T.inv, T.true_div)))


@rewrites([T.add, T.sub], "stabilize specialize", among_inputs=[T.mul], needs=[erfc_rate, T.erfcx])
def local_erfc_rate_less_x(node: Any) -> Any:
    """``y * sqr(erfc_rate(x)) - y * x * erfc_rate(x) -> y * erfc_rate_slope(x)``, as in the second derivative of
    ``log(erfc(x))``, and ``2 * x * erfcx(x) - 2 / sqrt(pi) -> -2 * erfcx_slope(x)``, the derivative of ``exp(x ** 2) * erfc(x)``
    """
    dtype = node.outputs[0].type.dtype
    if len(node.inputs) > _TERMS or dtype not in T.float_dtypes:
        return False
    # The shape of a repeated number is that of the sum.
    terms = [_terms.split_constants(_terms.opened(i, False)[0], repeated=True) for i in node.inputs]
    if node.op == T.sub:
        terms[1] = -terms[1][0], terms[1][1]
    for i, (a, factors) in enumerate(terms):
        for f in {_identity(f): f for f in factors if is_elemwise(f.owner, erfc_rate, T.erfcx)}.values():
            x = f.owner.inputs[0]
            scale, xs = _terms.split_constants(_terms.opened(x, False)[0])
            rest = _less(factors, [f])
            if f.owner.op == erfc_rate:
                # Its partner is less x, where one rate is the other factor.
                partner, wanted = rest + xs, -a * scale
                squared = [v for v in rest if _identity(v) == _identity(f)][:1]
                new = [*_less(rest, squared), erfc_rate_slope(x) if squared else erfc_rate_excess(x)]
            elif len(_less(rest, xs)) == len(rest) - len(xs) and scale:
                a = -a / scale
                partner, wanted = _less(rest, xs), a / np.sqrt(np.pi)
                new = [*partner, erfcx_slope(x)]
            else:
                continue
            for j, (b, others) in enumerate(terms):
                if i == j or len(others) != len(partner) or _less(others, partner):
                    continue
                if np.isclose(b, wanted, rtol=8 * np.finfo(dtype).eps, atol=0):
                    left = [v if node.op == T.add or k == 0 else T.neg(v) for k, v in enumerate(node.inputs) if k not in (i, j)]
                    product = _terms.product_of(_terms.with_number(a, new, dtype))
                    return replacement(node, T.add(product, *left) if left else product)
    return False


def _less(factors: list[Any], taken: list[Any]) -> list[Any]:
    """`factors` without those in `taken`, each as often as it is there."""
    return _terms.compared(taken, factors, lambda a, b: _identity(a) == _identity(b))[1]


def _identity(v: Any) -> Any:
    # What was put in twice is not merged yet.
    return (v.owner.op, *signed(v.owner.inputs[0])) if is_elemwise(v.owner, erfc_rate, T.erfcx) else v


#: What is neither infinity times 0 nor as inexact as the rounded square makes it, and what its gradient has.
local_exp_of_square_times_erfc = rewrite(
    "local_exp_of_square_times_erfc",
    _STAGES,
    among(P.exp(x**2) * P.erfc(x), P.erfcx(x), "floats", seen=[T.exp]),
    among(P.exp(x**2) * P.erfc(_MINUS_X), P.erfcx(_MINUS_X), "floats", seen=[T.exp]),
    among(P.exp(x**2) * _BELL(x), 1, "floats", seen=[T.exp]),
    among(P.exp(x**2) * _BELL(_MINUS_X), 1, "floats", seen=[T.exp]),
)


NEW = ("`x` is no minimum with a constant", lambda x: not _terms.is_bounded(x, T.minimum))
local_log_erf = rewrite(
    "local_log_erf",
    _STAGES,
    rule(P.log(P.erf(x)), P.switch(P.lt(x, 0.5), P.log(P.erf(P.minimum(x, 0.5))), P.log1p(-P.erfc(x))), "floats", where=NEW),
)

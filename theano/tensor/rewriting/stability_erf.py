"""Logarithms and quotients of the error function and its complement, and their gradients, in the tails."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import scalar
from theano.gof.opt import local_optimizer
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting import terms as _terms
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize, register_stabilize
from theano.tensor.rewriting.rules import P, rewrite, rule, x
from theano.tensor.rewriting.terms import (
    argument_of,
    as_scalar_constant,
    float_argument,
    is_elemwise,
    replacement,
    signed,
)

#: What the gradients of erf and erfc have, and those of their logarithms.
exp_minus_square = Elemwise(scalar.explog.exp_minus_square, name="exp_minus_square")
x_exp_minus_square = Elemwise(scalar.explog.x_exp_minus_square, name="x_exp_minus_square")
erfcx_slope = Elemwise(scalar.special.erfcx_slope, name="erfcx_slope")
erfc_rate = Elemwise(scalar.special.erfc_rate, name="erfc_rate")
erfc_rate_excess = Elemwise(scalar.special.erfc_rate_excess, name="erfc_rate_excess")
erfc_rate_slope = Elemwise(scalar.special.erfc_rate_slope, name="erfc_rate_slope")

_RATES = (scalar.special.ErfcRate, scalar.special.Erfcx)
_PRODUCTS = (scalar.arithmetic.Mul, scalar.arithmetic.Sqr, scalar.arithmetic.Neg)
#: Sums of more terms are left alone.
_TERMS = 8


local_erf_of_negative = rewrite(
    "local_erf_of_negative", [register_canonicalize, register_specialize], rule(P.erf(-x), P.neg(P.erf(x)))
)


local_log_erfc = rewrite(
    "local_log_erfc",
    [register_stabilize, register_specialize],
    rule(P.log(P.erfc(x)), P.switch(P.lt(x, 0.5), P.log1p(-P.erf(x)), P.log(P.erfcx(x)) - x**2), "floats"),
)


def _square_base(v: Any) -> Any:
    """`x` if `v` is ``x ** 2``, else None."""
    node = v.owner
    if node is None:
        return None
    if node.op == T.sqr:
        return node.inputs[0]
    if node.op == T.pow:
        value = as_scalar_constant(node.inputs[1])
        return node.inputs[0] if value is not None and value == 2 else None
    if node.op == T.mul and len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]:
        return node.inputs[0]
    return None


def _is_square(v: Any, x: Any) -> bool:
    """Whether `v` is ``x ** 2``; a square does not tell `x` from ``-x``."""
    base = _square_base(v)
    return base is not None and signed(base)[0] is signed(x)[0]


def _is_square_of(v: Any, x: Any) -> bool:
    """Whether `v` is ``-x ** 2``."""
    inner, negative = signed(v)
    return negative and _is_square(inner, x)


def _bell_of(v: Any, x: Any) -> list[Any] | None:
    """What is left of `v` without its factor ``exp(-x ** 2)``, None if it has none."""
    node = v.owner
    if is_elemwise(node, exp_minus_square, x_exp_minus_square):
        base, negative = signed(node.inputs[0])
        if base is not signed(x)[0]:
            return None
        rest = [T.constant(np.asarray(-1, dtype=v.type.dtype)), base] if negative else [base]
        return rest if node.op == x_exp_minus_square else []
    argument = argument_of(v, T.exp)
    return [] if argument is not None and _is_square_of(argument, x) else None


def _split_constants(factors: list[Any], repeated: bool = False) -> tuple[float, list[Any]]:
    """The product of the constants among `factors` that are single numbers, or one number `repeated`, and the other factors."""
    value, rest = 1.0, []
    for f in factors:
        constant = _terms.repeated_constant(f) if repeated or all(f.type.broadcastable) else None
        if constant is None:
            rest.append(f)
        else:
            value *= float(constant)
    return value, rest


def _scaled(value: float, factors: list[Any], dtype: str) -> Any:
    """The product of a number and of `factors`; a number that rounding has made differ from a multiple of 1/8 is that one."""
    whole = np.round(8 * value) / 8
    if abs(value - whole) <= 2 * np.finfo(dtype).eps * abs(value):
        value = float(whole)
    if value != 1:
        factors = [T.constant(np.asarray(value, dtype=dtype)), *factors]
    return _terms.product_of(factors)


@register_stabilize
@register_specialize
@local_optimizer([T.true_div], needs=[T.erfc, T.erfcx])
def local_grad_log_erfc_neg(node: Any) -> Any:
    """``y * exp(-x ** 2) / erfc(x) -> y * sqrt(pi) * erfc_rate(x)``, the gradient of ``log(erfc(x))``, and so for squares of
    the quotient, of which its second derivative has one; ``erfcx_slope(x) / erfcx(x) -> erfc_rate_excess(x)``
    """
    bottom = node.inputs[1].owner
    if bottom is None:
        return False
    if bottom.op == T.erfcx:
        return _erfcx_slope_over_erfcx(node)
    return _with_rates(node) if _divides_by_erfc(node) else False


@register_stabilize
@register_specialize
@local_optimizer([T.mul], among_inputs=[T.inv, T.true_div], needs=[T.erfc])
def local_product_with_inverse_erfc(node: Any) -> Any:
    """The same for ``y * exp(-x ** 2) * (z / erfc(x))``, where the quotient is needed elsewhere too"""
    return _with_rates(node) if any(_divides_by_erfc(i.owner) for i in node.inputs) else False


def _divides_by_erfc(node: Any, depth: int = 2) -> bool:
    if node is None or not (node.op == T.true_div or node.op == T.inv):
        return False
    todo = [(node.inputs[-1], depth)]
    while todo:
        v, depth = todo.pop()
        scalar_op = None if v.owner is None else getattr(v.owner.op, "scalar_op", None)
        if type(scalar_op) is scalar.special.Erfc:
            return True
        if depth and type(scalar_op) in _PRODUCTS:
            todo.extend((i, depth - 1) for i in v.owner.inputs)
    return False


def _opened_fraction(node: Any) -> tuple[list[Any], list[Any]]:
    """The factors of a product or quotient above and below the line."""
    if node.op != T.mul:
        return _terms.flat_factors(node.inputs[:1]), _terms.flat_factors(node.inputs[1:])
    above, below = [], []
    for v in _terms.flat_factors(node.outputs):
        if _divides_by_erfc(v.owner):
            above += _terms.flat_factors(v.owner.inputs[:-1])
            below += _terms.flat_factors(v.owner.inputs[-1:])
        else:
            above.append(v)
    return above, below


def _with_rates(node: Any) -> Any:
    """The product or quotient with the rates that it has in it; False if there are none."""
    above, below = _opened_fraction(node)
    rates = []
    for f in [f for f in below if float_argument(f, T.erfc) is not None]:
        x = f.owner.inputs[0]
        for k, v in enumerate(above):
            left = _bell_of(v, x)
            if left is not None:
                above[k : k + 1] = left
                below.remove(f)
                rates.append(erfc_rate(x))
                break
    if not rates:
        return False
    dtype = node.outputs[0].type.dtype
    value, factors = _split_constants(above)
    divisor, others = _split_constants(below)
    if not divisor:
        return False
    new = _scaled(value / divisor * np.pi ** (len(rates) / 2), [*factors, *rates], dtype)
    if others:
        new = T.true_div(new, _terms.product_of(others))
    return replacement(node, new)


def _erfcx_slope_over_erfcx(node: Any) -> Any:
    factors = _terms.flat_factors(node.inputs[:1])
    for k, f in enumerate(factors):
        if is_elemwise(f.owner, erfcx_slope) and f.owner.inputs[0] is node.inputs[1].owner.inputs[0]:
            factors[k] = erfc_rate_excess(f.owner.inputs[0])
            return replacement(node, _terms.product_of(factors))
    return False


@register_stabilize
@register_specialize
@local_optimizer([T.add, T.sub], among_inputs=[T.mul], needs=[erfc_rate, T.erfcx])
def local_erfc_rate_less_x(node: Any) -> Any:
    """``y * sqr(erfc_rate(x)) - y * x * erfc_rate(x) -> y * erfc_rate_slope(x)``, as in the second derivative of
    ``log(erfc(x))``, and ``2 * x * erfcx(x) - 2 / sqrt(pi) -> -2 * erfcx_slope(x)``, the derivative of ``exp(x ** 2) * erfc(x)``
    """
    if len(node.inputs) > _TERMS or not any(_has_rate(i) for i in node.inputs):
        return False
    dtype = node.outputs[0].type.dtype
    # The shape of a repeated number is that of the sum.
    terms = [_split_constants(_terms.flat_factors([i]), repeated=True) for i in node.inputs]
    if node.op == T.sub:
        terms[1] = -terms[1][0], terms[1][1]
    for i, (a, factors) in enumerate(terms):
        for f in {_identity(f): f for f in factors if is_elemwise(f.owner, erfc_rate, T.erfcx)}.values():
            x = f.owner.inputs[0]
            scale, xs = _split_constants(_terms.flat_factors([x]))
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
                    product = _scaled(a, new, dtype)
                    return replacement(node, T.add(product, *left) if left else product)
    return False


def _has_rate(v: Any, depth: int = 3) -> bool:
    """Whether `v` is a product with a rate or with erfcx: a quick no for nearly all."""
    node = v.owner
    scalar_op = None if node is None else getattr(node.op, "scalar_op", None)
    if type(scalar_op) in _RATES:
        return True
    return bool(depth) and type(scalar_op) in _PRODUCTS and any(_has_rate(i, depth - 1) for i in node.inputs)


def _less(factors: list[Any], taken: list[Any]) -> list[Any]:
    """`factors` without those in `taken`, each as often as it is there."""
    factors, keys = list(factors), [_identity(f) for f in factors]
    for key in map(_identity, taken):
        if key in keys:
            k = keys.index(key)
            del factors[k], keys[k]
    return factors


def _identity(v: Any) -> Any:
    # What was put in twice is not merged yet.
    return (v.owner.op, *signed(v.owner.inputs[0])) if is_elemwise(v.owner, erfc_rate, T.erfcx) else v


@register_stabilize
@register_specialize
@local_optimizer([T.mul], among_inputs=[T.exp])
def local_exp_of_square_times_erfc(node: Any) -> Any:
    """``exp(x ** 2) * erfc(x) -> erfcx(x)``, which is neither infinity times 0 nor as inexact as the rounded square makes it, and
    ``exp(x ** 2) * exp(-x ** 2) -> 1``, which its gradient has
    """
    dtype = node.outputs[0].type.dtype
    for i, power in enumerate(node.inputs):
        argument = argument_of(power, T.exp)
        base = None if argument is None or argument.type.dtype != dtype else _square_base(argument)
        if base is None:
            continue
        factors = [f for k, v in enumerate(node.inputs) if k != i for f in _terms.flat_factors([v])]
        for j, f in enumerate(factors):
            x = f.owner.inputs[0] if is_elemwise(f.owner, T.erfc, exp_minus_square) else None
            if x is None or x.type.dtype != dtype or not _is_square(argument, x):
                continue
            factors[j] = T.erfcx(x) if f.owner.op == T.erfc else T.ones_like(power)
            return replacement(node, _terms.product_of(factors))
    return False


def _is_bounded(x: Any) -> bool:
    """Whether `x` is what the rule has given to the error function after it has chosen the branch."""
    return is_elemwise(x.owner, T.minimum) and any(as_scalar_constant(i) is not None for i in x.owner.inputs)


NEW = ("`x` is no minimum with a constant", lambda x: not _is_bounded(x))
local_log_erf = rewrite(
    "local_log_erf",
    [register_stabilize, register_specialize],
    rule(P.log(P.erf(x)), P.switch(P.lt(x, 0.5), P.log(P.erf(P.minimum(x, 0.5))), P.log1p(-P.erfc(x))), "floats", where=NEW),
)

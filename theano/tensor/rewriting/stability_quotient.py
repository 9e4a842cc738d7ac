"""Quotients of exponentials and of hyperbolic functions: they become functions that are not infinity over infinity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as pairs
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Sum
from theano.tensor.nnet.rewriting import _softmax_along, _summed_axes, _unshifted
from theano.tensor.nnet.sigm import sigmoid
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import Otherwise, P, among, rewrite, x, y
from theano.tensor.rewriting.stability import _less_its_max, _sum_of
from theano.tensor.rewriting.stability_log import _TERMS, _share_a_shift, shifted_along, shifted_sum, weighted_exponential
from theano.tensor.rewriting.terms import (
    argument_of,
    as_scalar_constant,
    factors_of,
    fraction,
    opened,
    product_of,
    quotient,
    replacement,
    same_expression,
    signed,
)


def _without(factors: list[Any], position: int) -> list[Any]:
    return factors[:position] + factors[position + 1 :]


def _without_exp(factors: list[Any], x: Any) -> list[Any] | None:
    """`factors` less one ``exp(x)``; None if there is none."""
    for k, f in enumerate(factors):
        found = argument_of(f, T.exp)
        if found is not None and same_expression(found, x):
            return _without(factors, k)
    return None


def _rebuilt(node: Any, top: list[Any], bottom: list[Any]) -> Any:
    return replacement(node, quotient(top, bottom, node.outputs[0].type.dtype))


def _gap(x: Any, y: Any) -> Any:
    """``x - y``, as twice the argument for opposite ones."""
    (a, negative), (b, other_negative) = signed(x), signed(y)
    if a is not b or negative == other_negative:
        return x - y
    double = np.asarray(2, dtype=x.type.dtype) * a
    return T.neg(double) if negative else double


def _exp_over_sum_of_exps(node: Any, top: list[Any], bottom: list[Any]) -> Any:
    """``c * exp(x) / (exp(x) + exp(y)) -> c * sigmoid(x - y)``, and for more terms or with weights ``c * exp(x - m) /
    (w * exp(x - m) + v * exp(y - m) + exp(z - m))``, m their maximum: of minus infinities there may be several
    """
    for k, below in enumerate(bottom):
        inner = below.owner
        if inner is None or inner.op != T.add or below.type.dtype != node.outputs[0].type.dtype:
            continue
        parts = [weighted_exponential(i) for i in inner.inputs]
        if len(parts) > _TERMS or any(p is None or p[0].type.dtype != below.type.dtype for p in parts):
            continue
        terms = [p[0] for p in parts]
        for i, term in enumerate(terms):
            rest = _without_exp(top, term)
            if rest is None:
                continue
            is_weighted = any(p[1] or p[2] for p in parts)
            if len(terms) == 2 and not is_weighted:
                return _rebuilt(node, [*rest, sigmoid(_gap(term, terms[1 - i]))], _without(bottom, k))
            if _share_a_shift(terms):
                continue
            # Without weights, terms of any shape are just shifted.
            inside, shift, total = shifted_sum(parts, inner.inputs if is_weighted else terms)
            # An exponential that counts for nothing must not become infinite: 0 times infinity is NaN.
            counted = inside[i] if all(any(f is g for g in rest) for f in parts[i][1]) else term
            return _rebuilt(node, [*rest, T.exp(counted - shift)], [*_without(bottom, k), total])
    return False


def _exp_over_weighted_sum(node: Any, top: list[Any], bottom: list[Any]) -> Any:
    """``c * exp(x) / sum(exp(x), axis, keepdims=True) -> c * softmax(x)``, and ``c * exp(x) / sum(w * exp(x), axes,
    keepdims=True) -> c * exp(x - m) / sum(w * exp(x - m))``, m the maximum of the `x` whose `w` is not 0
    """
    for k, below in enumerate(bottom):
        total, _ = _sum_of(below)
        if total is None:
            continue
        summed = total.inputs[0]
        found = weighted_exponential(summed)
        axes = None if found is None else _summed_axes(below, summed)
        if found is None or axes is None or summed.type.dtype != node.outputs[0].type.dtype:
            continue
        x, weights, divisors = found
        rest, rest_bottom = _without_exp(top, x), _without(bottom, k)
        if rest is None:
            continue
        if not weights and not divisors and len(axes) == 1:
            if not rest and not rest_bottom:
                # The softmax alone has a rewrite of its own.
                return False
            return _rebuilt(node, [*rest, _softmax_along(_unshifted(x, axes), axes[0])], rest_bottom)
        if _less_its_max(x):
            continue
        inside, shift, under = shifted_along(found, summed, axes, keepdims=True)
        # Exponentials that count for nothing must not become infinite: 0 times infinity is NaN.
        above = T.exp((inside if all(any(f is g for g in rest) for f in weights) else x) - shift)
        value = T.true_div(product_of([*rest, above]), product_of([*rest_bottom, under]))
        return replacement(node, value)
    return False


def _power(v: Any) -> tuple[Any, int]:
    """``(x, n)`` if `v` is ``x ** n`` with a whole constant `n`; 1 for what is no power."""
    node = v.owner
    base, exponent = (v, 1)
    if node is not None and node.op == T.sqr:
        base, exponent = node.inputs[0], 2
    elif node is not None and node.op == T.pow:
        value = as_scalar_constant(node.inputs[1])
        if value is not None and value == np.floor(value) and abs(value) < 1e9:
            base, exponent = node.inputs[0], int(value)
    same = base.type.dtype == v.type.dtype and base.type.broadcastable == v.type.broadcastable
    return (base, exponent) if same else (v, 1)


@rewrites([T.true_div], "specialize", among_inputs=[T.sqr, T.pow, T.mul, T.neg])
def local_quotient_of_powers(node: Any) -> Any:
    """``c * x / sqr(x) -> c / x``, and so for other whole powers, which overflow before their quotient does"""
    top, under = fraction(node.inputs[0])
    if under:
        top = factors_of(node.inputs[0])
    bottom = factors_of(node.inputs[1])
    for (j, (base, above)), (k, (other, below)) in pairs(enumerate(map(_power, top)), enumerate(map(_power, bottom))):
        if isinstance(base, Constant) or not base.type.dtype.startswith("float") or not same_expression(base, other):
            continue
        rest, rest_bottom = _without(top, j), _without(bottom, k)
        n = abs(above - below)
        if n:
            constant = np.asarray(n, dtype=base.type.dtype)
            factor = base if n == 1 else T.sqr(base) if n == 2 else T.pow(base, constant)
            (rest if above > below else rest_bottom).append(factor)
        return _rebuilt(node, rest, rest_bottom)
    return False


def _promising(v: Any, depth: int = 4) -> bool:
    """Whether `v` divides by something that the functions look for: a quick no for nearly all nodes."""
    node = v.owner
    if node is None or not depth or node.op not in _PRODUCTS:
        return False
    if node.op == T.inv or node.op == T.true_div:
        for below in factors_of(node.inputs[-1]):
            inner = below.owner
            if inner is not None and inner.op == T.add:
                if any(argument_of(f, T.exp) is not None for i in inner.inputs for f in factors_of(i)):
                    return True
            elif inner is not None and isinstance(inner.op, (Sum, DimShuffle)):
                return True
    return any(_promising(i, depth - 1) for i in node.inputs if i.owner is not None)


_PRODUCTS = (T.mul, T.neg, T.inv, T.true_div)


def _with_exponentials(node: Any) -> Any:
    if not _promising(node.outputs[0]):
        return False
    top, bottom = opened(node.outputs[0])
    checks = [f.owner for f in top if f.owner is not None and isinstance(f.owner.op, Assert)]
    if checks:
        top = [g for f in top for g in (opened(f.owner.inputs[0])[0] if f.owner in checks else [f])]
        bottom = [*bottom, *(g for check in checks for g in opened(check.inputs[0])[1])]
    new = _exp_over_sum_of_exps(node, top, bottom) or _exp_over_weighted_sum(node, top, bottom)
    for check in checks if new else ():
        new = [check.op(new[0], *check.inputs[1:])]
        copy_stack_trace(check.outputs[0], new[0])
    return new


def _quotients(at: Any, seen: Sequence[Any] = ()) -> list[Any]:
    exponentials = among(P.exp(x) / y, x, at=at, seen=seen)
    return [
        among(P.sinh(x) / P.cosh(x), P.tanh(x), "reals", at=at, seen=seen),
        among(P.cosh(x) / P.sinh(x), P.inv(P.tanh(x)), "reals", at=at, seen=seen),
        among(P.sub(P.exp(x), P.exp(y)) / P.add(P.exp(x), P.exp(y)), P.tanh(0.5 * P.sub(x, y)), "reals", at=at, seen=seen),
        among(P.expm1(x) / P.add(1, P.exp(x)), P.tanh(0.5 * x), "reals", at=at, seen=seen),
        among(P.exp(x) / P.expm1(x), P.inv(P.neg(P.expm1(P.neg(x)))), "reals", at=at, seen=seen),
        Otherwise(_with_exponentials, *exponentials.roots),
    ]


local_quotient_of_exponentials = rewrite("local_quotient_of_exponentials", "stabilize specialize", *_quotients(T.true_div))


# Where the quotient is needed elsewhere too.
local_product_with_quotient = rewrite(
    "local_product_with_quotient", "stabilize specialize", *_quotients(T.mul, (T.inv, T.true_div))
)

"""Logarithms of products, of weighted sums of exponentials and of hyperbolic functions, taken apart before they overflow."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from theano.scalar import compound, explog
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise, MaxOrMinusInfinity, Sum
from theano.tensor.nnet.sigm import sigmoid, softplus
from theano.tensor.nnet.softmax import Softmax, SoftmaxWithBias, logsoftmax_op, softmax_op
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import P, applies, c, once, rewrite, rule, x, y
from theano.tensor.rewriting.stability import (
    LOG_2,
    _less_its_max,
    _sum_of,
    local_log_of_opposites,
    log_cosh,
    sum_of_opposites,
)
from theano.tensor.rewriting.terms import (
    argument_of,
    as_scalar_constant,
    fraction,
    is_bounded,
    is_elemwise,
    is_made_by,
    opened,
    quotient,
    replacement,
    same_dtype,
    split_constants,
    sum_of,
)

log_1_minus_tanh = Elemwise(compound.log_1_minus_tanh, name="log_1_minus_tanh")
log_1_minus_exp = Elemwise(compound.log_1_minus_exp, name="log_1_minus_exp")
log_expm1 = Elemwise(compound.log_expm1, name="log_expm1")
logit = Elemwise(compound.logit, name="logit")

STAGES = "stabilize specialize"
LOG_COSH, LOG_1_MINUS_TANH, LOG_1_MINUS_EXP = map(applies, (log_cosh, log_1_minus_tanh, log_1_minus_exp))
LOG_EXPM1, LOGIT, SIGMOID, SOFTPLUS = map(applies, (log_expm1, logit, sigmoid, softplus))

#: Sums of more terms are left alone.
_TERMS = 8


def weighted_exponential(v: Any) -> tuple[Any, list[Any], list[Any]] | None:
    """``(x, top, bottom)`` if `v` is ``exp(x)`` times the factors `top` over `bottom`, else None."""
    top, bottom = opened(v)
    exponents = [argument_of(f, T.exp) for f in top]
    found = [x for x in exponents if x is not None]
    if not found or any(x.type.dtype != v.type.dtype or not x.type.dtype.startswith("float") for x in found):
        return None
    rest = [f for f, x in zip(top, exponents, strict=True) if x is None]
    return found[0] if len(found) == 1 else T.add(*found), rest, bottom


def masked(x: Any, top: list[Any], bottom: list[Any], shape_of: Any) -> Any:
    """`x` in the shape of ``exp(x) * top / bottom``, minus infinity where a factor is 0 and the exponential does not count."""
    constants = [as_scalar_constant(f) for f in [*top, *bottom]]
    if x.type.broadcastable == shape_of.type.broadcastable and all(c is not None and c != 0 for c in constants):
        return x
    weight = quotient(top, bottom, x.type.dtype)
    return T.switch(T.neq(weight, np.asarray(0, dtype=weight.type.dtype)), x, np.asarray(-np.inf, dtype=x.type.dtype))


def finite(shift: Any) -> Any:
    """`shift`, 0 where it is infinite: what is subtracted from infinities would make them NaN."""
    return T.switch(T.isinf(shift), np.asarray(0, dtype=shift.type.dtype), shift)


def _terms(v: Any) -> list[Any]:
    return list(v.owner.inputs) if v.owner is not None and v.owner.op == T.add else []


def _has_stable_log(v: Any) -> bool:
    """Whether the logarithm of `v` has a form that is finite where `v` has become 0 or infinite."""
    if is_made_by(v, Softmax, SoftmaxWithBias) or is_elemwise(v.owner, T.exp, T.erfc, T.cosh, T.sinh, sigmoid):
        return True
    total, _ = _sum_of(v)
    terms = [total.inputs[0]] if total is not None else _terms(v)
    return 0 < len(terms) <= _TERMS and all(weighted_exponential(t) is not None for t in terms)


#: Functions that are never negative.
_POSITIVE = frozenset(map(type, (T.exp.scalar_op, T.cosh.scalar_op, T.erfc.scalar_op, explog.sigmoid, compound.sigmoid_slope)))


def _is_positive(v: Any, depth: int = 4) -> bool:
    """Whether `v` cannot be negative."""
    constant = as_scalar_constant(v)
    if constant is not None:
        return bool(constant >= 0)
    if not depth or v.owner is None:
        return False
    if is_made_by(v, Softmax, SoftmaxWithBias) or type(getattr(v.owner.op, "scalar_op", None)) in _POSITIVE:
        return True
    keeps_sign = is_made_by(v, DimShuffle, Sum) or is_elemwise(v.owner, T.add, T.mul, T.true_div)
    return keeps_sign and all(_is_positive(i, depth - 1) for i in v.owner.inputs)


def _is_finite_power(c: Any) -> bool:
    value = as_scalar_constant(c)
    return value != 0 and bool(np.isfinite(value))


def _is_even_power(x: Any, c: Any) -> bool:
    return _is_finite_power(c) and as_scalar_constant(c) % 2 == 0 and not _is_positive(x)


local_log_sqrt = rewrite("local_log_sqrt", "stabilize specialize", rule(P.log(P.sqrt(x)), 0.5 * P.log(x), "floats"))


local_log_pow = rewrite(
    "local_log_pow",
    "canonicalize:local_log_prod_sqr specialize:local_log_prod_sqr",
    rule(P.log(x**2), 2 * P.log(x), "floats", where=("`x` cannot be negative", lambda x: _is_positive(x))),
    rule(P.log(x**2), 2 * P.log(P.abs_(x)), "floats"),
    rule(P.log(P.pow(x, c)), c * P.log(P.abs_(x)), "floats", where=("`c` is even, not 0, `x` may be negative", _is_even_power)),
    rule(P.log(P.pow(x, c)), c * P.log(x), "floats", where=("`c` is finite and not 0", _is_finite_power)),
)


@rewrites([T.log], "stabilize specialize")
def local_log_of_product(node: Any) -> Any:
    """``log(c * f(x) / y) -> log(c / y) + log(f(x))`` for functions f whose logarithm is stable: exp, erfc, cosh, sigmoid,
    sinh, softmax and sums of exponentials
    """
    dtype = node.outputs[0].type.dtype
    top, bottom = fraction(node.inputs[0])
    if len(top) + len(bottom) < 2 or not dtype.startswith("float"):
        return False
    parts: list[list[Any]] = [[], []]
    rest: list[list[Any]] = [[], []]
    for side, factors in enumerate((top, bottom)):
        for f in factors:
            twice = f.owner is not None and sum_of_opposites.transform(f.owner)
            if twice:
                two, f = twice[0].owner.inputs
                rest[side].append(two)
            (parts if f.type.dtype == dtype and _has_stable_log(f) else rest)[side].append(f)
    if not parts[0] and not parts[1]:
        return False
    (above, over), (below, under) = (split_constants(factors, repeated=True) for factors in rest)
    value = above / below if below else np.nan
    half = None
    if over or under:
        if not all(_is_positive(f) for factors in parts for f in factors):
            return False
        logs = [T.log(quotient(rest[0], rest[1], dtype))]
    elif 0 < value < np.inf:
        logs = [T.constant(np.asarray(np.log(value), dtype=dtype))] if value != 1 else []
        half = _log_half_erfc(parts) if value == 0.5 else None
    else:
        return False
    if half is not None:
        return replacement(node, half)
    logs = [*map(T.log, parts[0]), *logs]
    new = sum_of(logs) if logs else T.constant(np.asarray(0, dtype=dtype))
    for part in parts[1]:
        new = T.sub(new, T.log(part))
    return replacement(node, new)


def _log_half_erfc(parts: list[list[Any]]) -> Any:
    """``log(erfc(x) / 2)``, the logarithm of the normal distribution's tail; it comes near 0 for negative `x`."""
    x = argument_of(parts[0][0], T.erfc) if len(parts[0]) == 1 and not parts[1] else None
    if x is None:
        return None
    x = T.cast(x, parts[0][0].type.dtype)
    half, zero = np.asarray(0.5, dtype=x.dtype), np.asarray(0, dtype=x.dtype)
    near = T.log1p(T.neg(half * T.erfc(T.maximum(T.neg(x), zero))))
    return T.switch(T.lt(x, zero), near, T.log(T.erfc(x)) + np.asarray(np.log(0.5), dtype=x.dtype))


_UNBOUNDED = ("`x` is no maximum with a constant", lambda x: not is_bounded(x, T.maximum))
local_log_1_minus_half_erfc = rewrite(
    "local_log_1_minus_half_erfc",
    STAGES,
    rule(P.log1p(-0.5 * P.erfc(x)), P.log(0.5 * P.erfc(-x)), "floats", where=_UNBOUNDED),
    rule(P.log1p(P.neg(0.5 * P.erfc(x))), P.log(0.5 * P.erfc(-x)), "floats", where=_UNBOUNDED),
)


#: So many terms one after another.
_PAIRWISE = 4


@rewrites([T.log], "stabilize specialize")
def local_log_add(node: Any) -> Any:
    """``log(exp(x) + exp(y)) -> max(x, y) + log1p(exp(-|x - y|))``, also for three or four terms one after another, and
    for more ``max + log(sum(exp(term - max)))``
    """
    terms = [argument_of(i, T.exp) for i in _terms(node.inputs[0])]
    if not terms or None in terms or node.outputs[0].type.dtype.startswith("complex"):
        return False
    if local_log_of_opposites.transform(node):
        return False
    # The exponentials of integers are floats; so must be what takes their place.
    terms = [same_dtype(t, node.outputs[0]) for t in terms]
    if len(terms) <= _PAIRWISE:
        return replacement(node, reduce(_log_add, terms))
    if _share_a_shift(terms):
        return False
    _, shift, total = shifted_sum([(t, [], []) for t in terms], terms)
    return replacement(node, shift + T.log(total))


def _log_add(x: Any, y: Any) -> Any:
    # Equal infinities have no difference; the larger one is the result.
    top = T.maximum(x, y)
    return T.switch(T.eq(x, y), top + np.asarray(np.log(2), dtype=top.dtype), top + T.log1p(T.exp(-abs(x - y))))


def _log_of_sum(node: Any, weighted: bool) -> Any:
    """The logarithm of a sum along axes of exponentials, that have weights or have none; None of anything else."""
    total, order = _sum_of(node.inputs[0])
    found = None if total is None else weighted_exponential(total.inputs[0])
    if found is None or bool(found[1] or found[2]) != weighted:
        return None
    if weighted and found[0].type.dtype != node.outputs[0].type.dtype:
        return None
    if _less_its_max(found[0]):
        return None
    _, shift, shifted = shifted_along(found, total.inputs[0], total.op.axis)
    new = shift + T.log(shifted)
    return new if order is None else new.dimshuffle(*order)


@rewrites([T.log], "stabilize specialize")
def local_log_sum_exp(node: Any) -> Any:
    """``log(sum(exp(x), axis)) -> max(x, axis) + log(sum(exp(x - max(x, axis)), axis))``"""
    new = _log_of_sum(node, False)
    return new is not None and replacement(node, new)


@rewrites([T.log], "stabilize specialize")
def local_log_sum_weighted_exp(node: Any) -> Any:
    """``log(sum(w * exp(x))) -> m + log(sum(w * exp(x - m)))``, m the maximum of the `x` whose `w` is not 0; also for
    ``log(w1 * exp(x1) + w2 * exp(x2))``
    """
    new = _log_of_sum(node, True)
    if new is None:
        parts = [weighted_exponential(t) for t in _terms(node.inputs[0])]
        if not 1 < len(parts) <= _TERMS or any(p is None or p[0].type.dtype != node.outputs[0].type.dtype for p in parts):
            return False
        if not any(p[1] or p[2] for p in parts) or _share_a_shift([p[0] for p in parts]):
            return False
        _, shift, total = shifted_sum(parts, node.inputs[0].owner.inputs)
        new = shift + T.log(total)
    return replacement(node, new)


def shifted_along(found: Any, summed: Any, axes: Any, keepdims: bool = False) -> tuple[Any, Any, Any]:
    """The `x` of a weighted exponential where its weight is not 0, the maximum `m` along axes, and the sum with ``x - m``."""
    x, top, bottom = found
    inside = masked(x, top, bottom, summed)
    # Minus infinity of nothing: that is the logarithm of a sum of no exponentials.
    most = MaxOrMinusInfinity(axes)(inside)
    shift = finite(T.makeKeepDims(inside, most, axes))
    total = T.sum(quotient([*top, T.exp(inside - shift)], bottom, x.type.dtype), axis=axes, keepdims=keepdims)
    return inside, shift if keepdims else finite(most), total


def shifted_sum(parts: list[Any], terms: list[Any]) -> tuple[list[Any], Any, Any]:
    """The `x` of weighted exponentials whose weight is not 0, their maximum `m`, and the sum of the `terms` with ``x - m``."""
    xs = [masked(x, top, bottom, term) for (x, top, bottom), term in zip(parts, terms, strict=True)]
    shift = finite(reduce(T.maximum, xs))
    shifted = [quotient([*p[1], T.exp(x - shift)], p[2], x.type.dtype) for p, x in zip(parts, xs, strict=True)]
    return xs, shift, T.add(*shifted)


def _share_a_shift(xs: list[Any]) -> bool:
    """Whether one thing is subtracted from all of `xs`."""
    nodes = [x.owner for x in xs]
    return all(n is not None and n.op == T.sub for n in nodes) and len({n.inputs[1] for n in nodes}) == 1


local_log_cosh = rewrite("local_log_cosh", STAGES, rule(P.log(P.cosh(x)), LOG_COSH(x), "floats"))


local_log_1_minus_sqr_tanh = rewrite(
    "local_log_1_minus_sqr_tanh", STAGES, rule(P.log1p(-(P.tanh(x) ** 2)), -2 * LOG_COSH(x), "floats")
)


local_log_1_minus_tanh = rewrite(
    "local_log_1_minus_tanh",
    STAGES,
    rule(P.log1p(-P.tanh(x)), LOG_1_MINUS_TANH(x), "floats"),
    rule(P.log1p(P.tanh(x)), LOG_1_MINUS_TANH(-x), "floats"),
)


#: Below 0 gamma changes its sign at each whole number.
GAMMA_IS_POSITIVE = P.or_(P.ge(x, 0), P.and_(P.eq(P.mod(P.floor(x), 2), 0), P.neq(P.floor(x), x)))
local_log_gamma = rewrite(
    "local_log_gamma", STAGES, rule(P.log(P.gamma(x)), P.switch(GAMMA_IS_POSITIVE, P.gammaln(x), np.nan), "floats")
)


local_log_expm1 = rewrite("local_log_expm1", STAGES, rule(P.log(P.expm1(x)), LOG_EXPM1(x), "floats"))


local_log_1_minus_exp = rewrite(
    "local_log_1_minus_exp",
    STAGES,
    rule(P.log(-P.expm1(x)), LOG_1_MINUS_EXP(x), "floats"),
    rule(P.log1p(-P.exp(x)), LOG_1_MINUS_EXP(x), "floats"),
)


local_log_of_difference = rewrite(
    "local_log_of_difference",
    STAGES,
    rule(P.log(P.sinh(x)), P.add(x, P.sub(LOG_1_MINUS_EXP(-2 * x), LOG_2)), "floats"),
    # Equal infinities have no difference.
    rule(P.log(P.sub(P.exp(x), P.exp(y))), P.add(x, LOG_1_MINUS_EXP(P.switch(P.eq(x, y), 0, P.sub(y, x)))), "floats"),
)


_ODDS = (
    "`x` has the shape of the result, and is no exp, sigmoid, tanh, erf or erfc",
    lambda x, out: x.type == out.type and not is_elemwise(x.owner, T.exp, sigmoid, T.tanh, T.erf, T.erfc),
)
local_log_of_odds = rewrite(
    "local_log_of_odds",
    STAGES,
    rule(P.log(x / P.sub(1, x)), LOGIT(x), "floats", where=_ODDS),
    rule(P.log(P.sub(1, x) / x), P.neg(LOGIT(x)), "floats", where=_ODDS),
    rule(P.log(P.add(1, x) / P.sub(1, x)), 2 * P.arctanh(x), "floats", where=_ODDS),
    rule(P.log(P.sub(1, x) / P.add(1, x)), P.neg(2 * P.arctanh(x)), "floats", where=_ODDS),
    rule(P.log(1 / x - 1), P.neg(LOGIT(x)), "floats", where=_ODDS),
)


local_difference_of_log1p = rewrite(
    "local_difference_of_log1p",
    STAGES,
    rule(once(P.log(x)) - once(P.log1p(-x)), LOGIT(x), "floats", where=_ODDS),
    rule(once(P.log1p(-x)) - once(P.log(x)), P.neg(LOGIT(x)), "floats", where=_ODDS),
    rule(once(P.log1p(x)) - once(P.log1p(-x)), 2 * P.arctanh(x), "floats", where=_ODDS),
    rule(once(P.log1p(-x)) - once(P.log1p(x)), P.neg(2 * P.arctanh(x)), "floats", where=_ODDS),
)


local_log_of_hyperbola = rewrite(
    "local_log_of_hyperbola",
    STAGES,
    rule(P.log(P.add(x, P.sqrt(x**2 + 1))), P.arcsinh(x), "floats"),
    rule(P.log(P.add(x, P.sqrt(x**2 - 1))), P.arccosh(x), "floats"),
)


local_exp_of_minus_softplus = rewrite(
    "local_exp_of_minus_softplus",
    STAGES,
    rule(P.exp(P.neg(SOFTPLUS(x))), SIGMOID(-x), "floats"),
    rule(P.expm1(P.neg(SOFTPLUS(x))), P.neg(SIGMOID(x)), "floats"),
)


def _is_softmax_needed(out: Any, x: Any) -> bool:
    """Whether the softmax is needed besides the logarithms, or these are not needed for anything else."""
    logs = out.owner.inputs[0]
    return len(logs.clients) < 2 or any(c != "output" and isinstance(c.op, Softmax) for c, _ in x.clients)


local_exp_of_logsoftmax = rewrite(
    "local_exp_of_logsoftmax",
    STAGES,
    rule(
        P.exp(applies(logsoftmax_op)(x)),
        applies(softmax_op)(x),
        where=("the softmax is needed besides, or the logarithms are not", _is_softmax_needed),
    ),
)

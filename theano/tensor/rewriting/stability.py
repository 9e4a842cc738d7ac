"""Numerical stability: expressions that round or overflow are replaced by functions that do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.scalar import compound, explog
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise, MaxOrMinusInfinity, Sum
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize, register_stabilize
from theano.tensor.rewriting.terms import (
    argument_of,
    as_scalar_constant,
    float_argument,
    is_number,
    replacement,
    same_dtype,
    signed,
)

log_cosh = Elemwise(compound.log_cosh, name="log_cosh")


@register_stabilize
@register_specialize
@local_optimizer([T.log])
def local_log1p(node: Any) -> Any:
    """``log(1 + x) -> log1p(x)`` and ``log(1 - x) -> log1p(-x)``, also ``log(-(x - 1))``"""
    inner = node.inputs[0].owner
    if inner is None:
        return False
    difference, negative = signed(node.inputs[0])
    if negative and difference.owner is not None and difference.owner.op in (T.add, T.sub) and len(difference.owner.inputs) == 2:
        op, pair = difference.owner.op, difference.owner.inputs
        for one, x in (pair, pair[::-1]):
            # -(-1 + x), -(x - 1) and -(-1 - x)
            value = as_scalar_constant(one)
            if value is None or abs(value) != 1 or x.type != difference.type or as_scalar_constant(x) is not None:
                continue
            if value == (1 if op == T.sub and one is pair[1] else -1):
                return replacement(node, T.log1p(x if op == T.sub and one is pair[0] else T.neg(x)))
        return False
    if inner.op == T.add:
        ones = [i for i in inner.inputs if as_scalar_constant(i) is not None]
        rest = [i for i in inner.inputs if as_scalar_constant(i) is None]
        if len(ones) != 1 or not is_number(ones[0], 1) or not rest:
            return False
        if len(rest) == 1:
            x = rest[0]
        else:
            x = T.add(*rest)
            copy_stack_trace(node.inputs[0], x)
        return replacement(node, T.log1p(same_dtype(x, inner.outputs[0])))
    if inner.op == T.sub and is_number(inner.inputs[0], 1):
        return replacement(node, T.log1p(T.neg(same_dtype(inner.inputs[1], inner.outputs[0]))))
    return False


@register_stabilize
@register_specialize
@local_optimizer([T.log])
def local_log_add(node: Any) -> Any:
    """``log(exp(x) + exp(y)) -> max(x, y) + log1p(exp(-|x - y|))``, also for three or four terms one after another, and
    for more ``max + log(sum(exp(term - max)))``
    """
    inner = node.inputs[0].owner
    if inner is None or inner.op != T.add:
        return False
    terms = [argument_of(i, T.exp) for i in inner.inputs]
    if of_opposites(node.inputs[0], T.add) is not None:
        return False
    if any(t is None for t in terms) or node.outputs[0].type.dtype.startswith("complex"):
        return False
    # The exponentials of integers are floats; so must be what takes their place.
    terms = [same_dtype(t, node.outputs[0]) for t in terms]
    if len(terms) <= _PAIRWISE:
        total = terms[0]
        for term in terms[1:]:
            total = _log_add(total, term)
        return replacement(node, total)
    if len({t.owner.inputs[1] if t.owner and t.owner.op == T.sub else t for t in terms}) == 1:
        # The terms are already less one common maximum.
        return False
    top = terms[0]
    for t in terms[1:]:
        top = T.maximum(top, t)
    spread = T.log(T.add(*[T.exp(t - top) for t in terms]))
    return replacement(node, T.switch(T.isinf(top), top, top + spread))


_PAIRWISE = 4


def of_opposites(v: Any, op: Any) -> Any:
    """`x` if `v` is ``op(exp(x), exp(-x))``, else None."""
    inner = v.owner
    if inner is None or inner.op != op or len(inner.inputs) != 2 or not v.type.dtype.startswith("float"):
        return None
    x, y = (argument_of(i, T.exp) for i in inner.inputs)
    if x is None or y is None or x.type.dtype != v.type.dtype or y.type.dtype != v.type.dtype:
        return None
    (a, negative), (b, other_negative) = signed(x), signed(y)
    return x if a is b and negative != other_negative else None


@register_canonicalize
@register_stabilize
@register_specialize
@local_optimizer([T.log], among_inputs=[T.add, T.sub])
def local_log_of_opposites(node: Any) -> Any:
    """``log(exp(x) + exp(-x)) -> log(cosh(x)) + log(2)`` and ``log(exp(x) - exp(-x)) -> log(sinh(x)) + log(2)``"""
    for op, function in ((T.add, T.cosh), (T.sub, T.sinh)):
        x = of_opposites(node.inputs[0], op)
        if x is not None:
            return replacement(node, T.log(function(x)) + np.asarray(np.log(2), dtype=x.type.dtype))
    return False


def _log_add(x: Any, y: Any) -> Any:
    # Equal infinities have no difference; the larger one is the result.
    top = T.maximum(x, y)
    return T.switch(T.eq(x, y), top + np.asarray(np.log(2), dtype=top.dtype), top + T.log1p(T.exp(-abs(x - y))))


def largest(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The maximum of `x`, minus infinity of nothing: that is the logarithm of a sum of no exponentials."""
    top = MaxOrMinusInfinity(axis)(x)
    return T.makeKeepDims(x, top, axis) if keepdims else top


def _less_its_max(x: Any) -> bool:
    # Whether x is ``y - max(y)``, with what masks infinities around the maximum.
    if x.owner is None or x.owner.op != T.sub:
        return False
    y, stack = x.owner.inputs[0], [x.owner.inputs[1]]
    for _ in range(12):
        if not stack:
            break
        node = stack.pop().owner
        if node is None:
            continue
        if isinstance(node.op, (T.CAReduce, T.MaxAndArgmax)) and node.inputs[0] is y:
            return True
        stack.extend(node.inputs)
    return False


@register_stabilize
@register_specialize
@local_optimizer([T.log])
def local_log_sum_exp(node: Any) -> Any:
    """``log(sum(exp(x), axis)) -> max(x, axis) + log(sum(exp(x - max(x, axis)), axis))``"""
    summed = node.inputs[0]
    inner = summed.owner
    order = None
    if inner is not None and isinstance(inner.op, DimShuffle):
        order = inner.op.new_order
        inner = inner.inputs[0].owner
    if inner is None or not isinstance(inner.op, Sum):
        return False
    x = argument_of(inner.inputs[0], T.exp)
    if x is None or x.type.dtype not in ("float16", "float32", "float64") or _less_its_max(x):
        return False
    axis = inner.op.axis
    top = largest(x, axis)
    top_kept = largest(x, axis, keepdims=True)
    # Where the maximum is infinite it is the result, and the differences would be NaN.
    shift = T.switch(T.isinf(top_kept), np.asarray(0, dtype=x.dtype), top_kept)
    spread = T.log(T.sum(T.exp(x - shift), axis=axis))
    new = T.switch(T.isinf(top), top, top + spread)
    if order is not None:
        new = new.dimshuffle(*order)
    return replacement(node, new)


def _expm1_of(v: Any) -> Any:
    return argument_of(v, T.exp)


@register_specialize
@register_stabilize
@register_canonicalize
@local_optimizer([T.sub, T.add], among_inputs=[Constant], needs=[T.exp, T.expm1])
def local_expm1(node: Any) -> Any:
    """``exp(x) - 1 -> expm1(x)``, ``1 - exp(x) -> -expm1(x)``, and ``expm1(x) + 1 -> exp(x)``"""
    if len(node.inputs) != 2:
        return False
    a, b = node.inputs
    dtype = node.outputs[0].type.dtype
    if not dtype.startswith("float"):
        return False
    if node.op == T.sub:
        if is_number(b, 1) and _expm1_of(a) is not None:
            x = _expm1_of(a)
            return replacement(node, T.expm1(x)) if a.type.dtype == dtype else False
        if is_number(a, 1) and _expm1_of(b) is not None:
            x = _expm1_of(b)
            return replacement(node, T.neg(T.expm1(x))) if b.type.dtype == dtype else False
        return False
    for one, other in ((a, b), (b, a)):
        value = as_scalar_constant(one)
        if value is None or other.type.dtype != dtype:
            continue
        if value == -1 and _expm1_of(other) is not None:
            return replacement(node, T.expm1(_expm1_of(other)))
        if value == 1 and argument_of(other, T.expm1) is not None:
            return replacement(node, T.exp(argument_of(other, T.expm1)))
        inner, negative = signed(other)
        if value == 1 and negative and _expm1_of(inner) is not None:
            return replacement(node, T.neg(T.expm1(_expm1_of(inner))))
    return False


def _plus_minus_one(node: Any, inner_op: Any) -> Any:
    """For ``s + t * f(x)`` with signs s, t: ``(x, s, t)``; None for anything else."""
    if len(node.inputs) != 2:
        return None
    a, b = node.inputs
    for one, other, one_first in ((a, b, True), (b, a, False)):
        value = as_scalar_constant(one)
        if value is None or abs(value) != 1:
            continue
        inner, negative = signed(other)
        x = argument_of(inner, inner_op)
        if x is None or inner.type.dtype != node.outputs[0].type.dtype:
            continue
        s, t = int(value), -1 if negative else 1
        if node.op == T.sub:
            if one_first:
                t = -t
            else:
                s = -s
        return x, s, t
    return None


@register_canonicalize
@register_stabilize
@register_specialize
@local_optimizer([T.sub, T.add], among_inputs=[Constant], needs=[T.erf])
def local_one_minus_erf(node: Any) -> Any:
    """``1 - erf(x) -> erfc(x)``, ``erf(x) - 1 -> -erfc(x)``, ``1 + erf(x) -> erfc(-x)``, ``-1 - erf(x) -> -erfc(-x)``, and
    ``c - c * erf(x) -> c * erfc(x)`` for a constant `c`
    """
    found = _plus_minus_one(node, T.erf)
    if found is None:
        return _constant_times_erfc(node)
    x, s, t = found
    x = same_dtype(x, node.outputs[0])
    # s + t * erf(x) = s * (1 + s * t * erf(x)) = s * erfc(-s * t * x)
    new = T.erfc(x if s * t < 0 else T.neg(x))
    return replacement(node, new if s > 0 else T.neg(new))


def _constant_times_erfc(node: Any) -> Any:
    """What ``c + d * erf(x)`` becomes for constants `c` and ``d == c`` or ``d == -c``."""
    if len(node.inputs) != 2 or not node.outputs[0].type.dtype.startswith("float"):
        return False
    for at, (a, b) in enumerate((node.inputs, node.inputs[::-1])):
        c = as_scalar_constant(a)
        factors = b.owner.inputs if c is not None and b.owner is not None and b.owner.op == T.mul else ()
        for scale, erf in (factors, factors[::-1]) if len(factors) == 2 else ():
            d, x = as_scalar_constant(scale), float_argument(erf, T.erf)
            if d is None or x is None or abs(d) != abs(c) or x.type.dtype != node.outputs[0].type.dtype:
                continue
            # The constants with the signs of the difference.
            c, d = (-c if node.op == T.sub and at else c), (-d if node.op == T.sub and not at else d)
            return replacement(node, T.mul(np.asarray(c, dtype=x.type.dtype), T.erfc(x if c == -d else T.neg(x))))
    return False


@register_canonicalize
@register_stabilize
@register_specialize
@local_optimizer([T.sub, T.add], among_inputs=[Constant], needs=[T.erfc])
def local_one_minus_erfc(node: Any) -> Any:
    """``1 - erfc(x) -> erf(x)``, ``erfc(x) - 1 -> -erf(x)`` and ``1 - erfc(x) / 2 -> erfc(-x) / 2``"""
    found = _plus_minus_one(node, T.erfc)
    if found is None:
        x = _of_half_erfc(node)
        return False if x is None else replacement(node, T.mul(np.asarray(0.5, dtype=x.type.dtype), T.erfc(T.neg(x))))
    x, s, t = found
    if s * t > 0:
        return False
    new = T.erf(x)
    return replacement(node, new if s > 0 else T.neg(new))


@register_stabilize
@register_specialize
@local_optimizer([T.sub, T.add], among_inputs=[T.cos])
def local_one_minus_cos(node: Any) -> Any:
    """``1 - cos(x) -> 2 * sin(x / 2) ** 2``, if the cosine is needed for nothing else, and ``cos(x) - 1`` so"""
    found = _plus_minus_one(node, T.cos)
    if found is None or found[1] == found[2] or node.outputs[0].type.dtype not in T.float_dtypes:
        return False
    x, s, _ = found
    if x.type.dtype != node.outputs[0].type.dtype or any(len(i.clients) > 1 for i in node.inputs if i.owner is not None):
        return False
    half, two = np.asarray(0.5, dtype=x.type.dtype), np.asarray(2 * s, dtype=x.type.dtype)
    return replacement(node, T.mul(two, T.sqr(T.sin(half * x))))


def _of_half_erfc(node: Any) -> Any:
    """`x` if `node` is ``1 - 0.5 * erfc(x)``, as a difference or a sum, else None."""
    if len(node.inputs) != 2:
        return None
    sign = -1 if node.op == T.add else 1
    for one, other in (node.inputs, node.inputs[::-1]) if node.op == T.add else (node.inputs,):
        factors = other.owner.inputs if other.owner is not None and other.owner.op == T.mul else ()
        if len(factors) != 2 or not is_number(one, 1):
            continue
        for half, erfc in (factors, factors[::-1]):
            x, value = argument_of(erfc, T.erfc), as_scalar_constant(half)
            if x is not None and value == sign * 0.5 and x.type.dtype == node.outputs[0].type.dtype:
                return x
    return None


@register_stabilize
@register_specialize
@local_optimizer([T.log])
def local_log_sqrt(node: Any) -> Any:
    """``log(sqrt(x)) -> log(x) / 2``"""
    x = argument_of(node.inputs[0], T.sqrt)
    if x is None or not x.type.dtype.startswith("float") or x.type.dtype != node.outputs[0].type.dtype:
        return False
    return replacement(node, T.mul(np.asarray(0.5, dtype=x.dtype), T.log(x)))


#: Functions that are never negative.
_POSITIVE = frozenset(map(type, (T.exp.scalar_op, T.cosh.scalar_op, T.erfc.scalar_op, explog.sigmoid, compound.sigmoid_slope)))


@register_canonicalize("local_log_prod_sqr")
@register_specialize("local_log_prod_sqr")
@local_optimizer([T.log])
def local_log_pow(node: Any) -> Any:
    """``log(x ** c) -> c * log(x)`` for a constant `c`, ``c * log(|x|)`` for an even one"""
    base = node.inputs[0]
    x, c = argument_of(base, T.sqr), 2.0
    if x is None and base.owner is not None and base.owner.op == T.mul and len(base.owner.inputs) == 2:
        a, b = base.owner.inputs
        x = a if a is b else None
    if x is None:
        power = base.owner
        if power is None or power.op != T.pow:
            return False
        x, constant = power.inputs[0], as_scalar_constant(power.inputs[1])
        if constant is None or constant == 0 or not np.isfinite(constant):
            return False
        c = float(constant)
    if not x.type.dtype.startswith("float") or x.type.dtype != node.outputs[0].type.dtype:
        return False
    if c % 2 == 0 and type(getattr(getattr(x.owner, "op", None), "scalar_op", None)) not in _POSITIVE:
        x = T.abs_(x)
    return replacement(node, T.mul(np.asarray(c, dtype=x.dtype), T.log(x)))

"""Numerical stability: expressions that round or overflow are replaced by functions that do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import scalar
from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise, MaxOrMinusInfinity, Sum
from theano.tensor.rewriting.algebra import _result
from theano.tensor.rewriting.registry import (
    as_scalar_constant,
    is_elemwise,
    register_canonicalize,
    register_specialize,
    register_stabilize,
    same_dtype,
)


def _is_one(v: Any) -> bool:
    value = as_scalar_constant(v)
    return value is not None and bool(value == 1)


def _applied(v: Any, op: Any) -> Any:
    """The argument of `v` if it is `op` of something, else None."""
    node = v.owner
    return node.inputs[0] if node is not None and node.op == op else None


def _signed(v: Any) -> tuple[Any, bool]:
    """`v` as ``(x, negative)`` with ``v == -x`` if negative."""
    node = v.owner
    if node is not None:
        if node.op == T.neg:
            return node.inputs[0], True
        if node.op == T.mul and len(node.inputs) == 2:
            for a, b in (node.inputs, node.inputs[::-1]):
                value = as_scalar_constant(a)
                if value is not None and value == -1:
                    return b, True
    return v, False


@register_stabilize
@register_specialize
@local_optimizer([T.log])
def local_log1p(node: Any) -> Any:
    """``log(1 + x) -> log1p(x)`` and ``log(1 - x) -> log1p(-x)``"""
    inner = node.inputs[0].owner
    if inner is None:
        return False
    if inner.op == T.add:
        ones = [i for i in inner.inputs if as_scalar_constant(i) is not None]
        rest = [i for i in inner.inputs if as_scalar_constant(i) is None]
        if len(ones) != 1 or not _is_one(ones[0]) or not rest:
            return False
        if len(rest) == 1:
            x = rest[0]
        else:
            x = T.add(*rest)
            copy_stack_trace(node.inputs[0], x)
        x = x if x.type.dtype == inner.outputs[0].type.dtype else T.cast(x, inner.outputs[0].type.dtype)
        return _result(node, T.log1p(x))
    if inner.op == T.sub and _is_one(inner.inputs[0]):
        x = inner.inputs[1]
        if x.type.dtype != inner.outputs[0].type.dtype:
            x = T.cast(x, inner.outputs[0].type.dtype)
        return _result(node, T.log1p(T.neg(x)))
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
    terms = [_applied(i, T.exp) for i in inner.inputs]
    if any(t is None for t in terms) or node.outputs[0].type.dtype.startswith("complex"):
        return False
    # The exponentials of integers are floats; so must be what takes their place.
    terms = [same_dtype(t, node.outputs[0]) for t in terms]
    if len(terms) <= _PAIRWISE:
        total = terms[0]
        for term in terms[1:]:
            total = _log_add(total, term)
        return _result(node, total)
    if len({t.owner.inputs[1] if t.owner and t.owner.op == T.sub else t for t in terms}) == 1:
        # The terms are already less one common maximum.
        return False
    top = terms[0]
    for t in terms[1:]:
        top = T.maximum(top, t)
    spread = T.log(T.add(*[T.exp(t - top) for t in terms]))
    return _result(node, T.switch(T.isinf(top), top, top + spread))


_PAIRWISE = 4


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
    x = _applied(inner.inputs[0], T.exp)
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
    return _result(node, new)


def _expm1_of(v: Any) -> Any:
    return _applied(v, T.exp)


@register_specialize
@register_stabilize
@register_canonicalize
@local_optimizer([T.sub, T.add], among_inputs=[Constant])
def local_expm1(node: Any) -> Any:
    """``exp(x) - 1 -> expm1(x)`` and ``1 - exp(x) -> -expm1(x)``"""
    if len(node.inputs) != 2:
        return False
    a, b = node.inputs
    dtype = node.outputs[0].type.dtype
    if not dtype.startswith("float"):
        return False
    if node.op == T.sub:
        if _is_one(b) and _expm1_of(a) is not None:
            x = _expm1_of(a)
            return _result(node, T.expm1(x)) if a.type.dtype == dtype else False
        if _is_one(a) and _expm1_of(b) is not None:
            x = _expm1_of(b)
            return _result(node, T.neg(T.expm1(x))) if b.type.dtype == dtype else False
        return False
    for one, other in ((a, b), (b, a)):
        value = as_scalar_constant(one)
        if value is None or other.type.dtype != dtype:
            continue
        if value == -1 and _expm1_of(other) is not None:
            return _result(node, T.expm1(_expm1_of(other)))
        inner, negative = _signed(other)
        if value == 1 and negative and _expm1_of(inner) is not None:
            return _result(node, T.neg(T.expm1(_expm1_of(inner))))
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
        inner, negative = _signed(other)
        x = _applied(inner, inner_op)
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
@local_optimizer([T.sub, T.add], among_inputs=[Constant])
def local_one_minus_erf(node: Any) -> Any:
    """``1 - erf(x) -> erfc(x)``, ``erf(x) - 1 -> -erfc(x)``, ``1 + erf(x) -> erfc(-x)``, ``-1 - erf(x) -> -erfc(-x)``"""
    found = _plus_minus_one(node, T.erf)
    if found is None:
        return False
    x, s, t = found
    x = same_dtype(x, node.outputs[0])
    # s + t * erf(x) = s * (1 + s * t * erf(x)) = s * erfc(-s * t * x)
    new = T.erfc(x if s * t < 0 else T.neg(x))
    return _result(node, new if s > 0 else T.neg(new))


@register_canonicalize
@register_stabilize
@register_specialize
@local_optimizer([T.sub, T.add], among_inputs=[Constant])
def local_one_minus_erfc(node: Any) -> Any:
    """``1 - erfc(x) -> erf(x)``, ``erfc(x) - 1 -> -erf(x)`` and ``1 - erfc(x) / 2 -> erfc(-x) / 2``"""
    found = _plus_minus_one(node, T.erfc)
    if found is None:
        x = _of_half_erfc(node)
        return False if x is None else _result(node, T.mul(np.asarray(0.5, dtype=x.type.dtype), T.erfc(T.neg(x))))
    x, s, t = found
    if s * t > 0:
        return False
    new = T.erf(x)
    return _result(node, new if s > 0 else T.neg(new))


def _of_half_erfc(node: Any) -> Any:
    """`x` if `node` is ``1 - 0.5 * erfc(x)``, as a difference or a sum, else None."""
    if len(node.inputs) != 2:
        return None
    sign = -1 if node.op == T.add else 1
    for one, other in (node.inputs, node.inputs[::-1]) if node.op == T.add else (node.inputs,):
        factors = other.owner.inputs if other.owner is not None and other.owner.op == T.mul else ()
        if len(factors) != 2 or not _is_one(one):
            continue
        for half, erfc in (factors, factors[::-1]):
            x, value = _applied(erfc, T.erfc), as_scalar_constant(half)
            if x is not None and value == sign * 0.5 and x.type.dtype == node.outputs[0].type.dtype:
                return x
    return None


@register_stabilize
@register_specialize
@local_optimizer([T.log])
def local_log_erfc(node: Any) -> Any:
    """``log(erfc(x)) -> switch(x < 1/2, log1p(-erf(x)), log(erfcx(x)) - x ** 2)``"""
    x = _applied(node.inputs[0], T.erfc)
    if x is None or not x.type.dtype.startswith("float"):
        return False
    half = np.asarray(0.5, dtype=x.dtype)
    return _result(node, T.switch(T.lt(x, half), T.log1p(T.neg(T.erf(x))), T.log(T.erfcx(x)) - T.sqr(x)))


def _minus_square(v: Any) -> Any:
    """`x` if `v` is ``-x ** 2``, else None."""
    inner, negative = _signed(v)
    if not negative:
        return None
    node = inner.owner
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


def _is_square_of(v: Any, x: Any) -> bool:
    """Whether `v` is ``-x ** 2``; a square does not tell `x` from ``-x``."""
    base = _minus_square(v)
    return base is not None and _signed(base)[0] is _signed(x)[0]


#: What the gradients of erf and erfc have.
exp_minus_square = Elemwise(scalar.explog.exp_minus_square, name="exp_minus_square")


def _opened_factors(v: Any) -> list[Any]:
    """The factors of `v`, also those of products in it that other expressions use too."""
    factors, todo = [], [v]
    while todo and len(factors) < 16:
        v = todo.pop()
        # The product of integers may have wrapped around.
        node = v.owner if v.type.dtype.startswith("float") else None
        if node is not None and node.op == T.mul:
            todo.extend(reversed(node.inputs))
        elif node is not None and node.op == T.neg:
            factors.append(T.constant(np.asarray(-1, dtype=v.type.dtype)))
            todo.append(node.inputs[0])
        else:
            factors.append(v)
    return factors + todo


def _is_bell_of(v: Any, x: Any) -> bool:
    """Whether `v` is ``exp(-x ** 2)``."""
    if is_elemwise(v.owner, exp_minus_square):
        return _signed(v.owner.inputs[0])[0] is _signed(x)[0]
    argument = _applied(v, T.exp)
    return argument is not None and _is_square_of(argument, x)


@register_stabilize
@register_specialize
@local_optimizer([T.true_div])
def local_grad_log_erfc_neg(node: Any) -> Any:
    """``y * exp(-x ** 2) / erfc(x) -> y / erfcx(x)``, the gradient of ``log(erfc(x))``

    Far below 0, where ``erfcx(x)`` overflows and ``erfc(x)`` is 2, ``exp(-x ** 2) / 2`` is left, without the rounding
    of the square.
    """
    num, denum = node.inputs
    bottom = denum.owner
    factors: list[Any] = []
    x = _applied(denum, T.erfc)
    others: list[Any] = []
    if x is None and bottom is not None and bottom.op == T.mul:
        for i in bottom.inputs:
            if x is None and _applied(i, T.erfc) is not None:
                x = _applied(i, T.erfc)
            else:
                others.append(i)
    if x is None or not x.type.dtype.startswith("float"):
        return False
    exponential = None
    for i in _opened_factors(num):
        if exponential is None and _is_bell_of(i, x):
            exponential = i
        else:
            factors.append(i)
    if exponential is None:
        return False
    far, half = np.asarray(-7, dtype=x.dtype), np.asarray(0.5, dtype=x.dtype)
    quotient = T.switch(T.lt(x, far), half * exp_minus_square(x), T.inv(T.erfcx(x)))
    new = T.mul(*factors, quotient) if factors else quotient
    if others:
        new = T.true_div(new, others[0] if len(others) == 1 else T.mul(*others))
    return _result(node, new)


@register_stabilize
@register_specialize
@local_optimizer([T.log])
def local_log_sqrt(node: Any) -> Any:
    """``log(sqrt(x)) -> log(x) / 2``"""
    x = _applied(node.inputs[0], T.sqrt)
    if x is None or not x.type.dtype.startswith("float") or x.type.dtype != node.outputs[0].type.dtype:
        return False
    return _result(node, T.mul(np.asarray(0.5, dtype=x.dtype), T.log(x)))


@register_canonicalize("local_log_prod_sqr")
@register_specialize("local_log_prod_sqr")
@local_optimizer([T.log])
def local_log_pow(node: Any) -> Any:
    """``log(x ** c) -> c * log(x)`` for a constant `c`, ``c * log(|x|)`` for an even one"""
    base = node.inputs[0]
    x, c = _applied(base, T.sqr), 2.0
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
    if c % 2 == 0:
        x = T.abs_(x)
    return _result(node, T.mul(np.asarray(c, dtype=x.dtype), T.log(x)))

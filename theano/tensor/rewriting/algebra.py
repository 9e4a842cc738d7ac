"""Algebra of elementwise operations: neutral and absorbing elements, powers, signs, distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import scalar
from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting.registry import (
    register_canonicalize,
    register_specialize,
    register_specialize_device,
    register_stabilize,
    register_uncanonicalize,
)
from theano.tensor.rewriting.terms import as_scalar_constant, constant_like, is_elemwise, replacement, same_dtype
from theano.tensor.shapes import Shape_i


def _filled(node: Any, value: Any) -> Any:
    """The constant `value` in the shape of the output of `node`."""
    out = node.outputs[0]
    return replacement(node, constant_like(value, out) if out.type.ndim == 0 else T.constant(np.asarray(value, out.type.dtype)))


@register_canonicalize
@local_optimizer([T.neg])
def local_neg_to_mul(node: Any) -> Any:
    """``-x -> -1 * x``, so that signs join the constants of products."""
    x = node.inputs[0]
    return replacement(node, T.mul(constant_like(-1, x), x)) if not x.type.dtype.startswith("uint") else False


@register_specialize
@local_optimizer([T.neg])
def local_neg_neg(node: Any) -> Any:
    """``-(-x) -> x``"""
    inner = node.inputs[0].owner
    if inner is not None and inner.op == T.neg:
        return [inner.inputs[0]]
    return False


@register_specialize
@local_optimizer([T.neg])
def local_neg_div_neg(node: Any) -> Any:
    """``-(-a / b) -> a / b`` and ``-(c / b) -> (-c) / b`` for a constant `c`"""
    frac = node.inputs[0]
    inner = frac.owner
    if inner is None or inner.op != T.true_div:
        return False
    num, denom = inner.inputs
    if num.type.dtype in T.discrete_dtypes:
        # The negative of an integer may wrap around.
        return False
    if num.owner is not None and num.owner.op == T.neg:
        if len(frac.clients) == 1:
            return replacement(node, T.true_div(num.owner.inputs[0], denom))
    elif all(num.type.broadcastable) and isinstance(num, Constant) and len(frac.clients) == 1:
        return replacement(node, T.true_div(T.constant(-num.data, dtype=num.type.dtype), denom))
    return False


@register_specialize
@local_optimizer([T.true_div])
def local_div_of_negs(node: Any) -> Any:
    """``(-a) / (-b) -> a / b``"""
    num, denom = node.inputs
    if num.type.dtype in T.discrete_dtypes or denom.type.dtype in T.discrete_dtypes:
        return False
    if num.owner is not None and denom.owner is not None and num.owner.op == T.neg and denom.owner.op == T.neg:
        return replacement(node, T.true_div(num.owner.inputs[0], denom.owner.inputs[0]))
    return False


@register_canonicalize
@register_specialize
@local_optimizer([T.mul], among_inputs=[Constant])
def local_mul_zero(node: Any) -> Any:
    """``x * 0 -> 0`` in the shape of the product, also where `x` is not finite."""
    for i in node.inputs:
        value = as_scalar_constant(i)
        if value is not None and value == 0:
            return replacement(
                node,
                constant_like(0, node.outputs[0])
                if node.outputs[0].ndim == 0
                else T.constant(np.asarray(0, dtype=node.outputs[0].dtype)),
            )
    return False


@register_specialize
@local_optimizer([T.true_div])
def local_div_to_inv(node: Any) -> Any:
    """``1 / x -> inv(x)``"""
    value = as_scalar_constant(node.inputs[0])
    if value is None or value != 1:
        return False
    x = node.inputs[1]
    out = node.outputs[0]
    if x.type.dtype != out.type.dtype:
        return False
    return replacement(node, T.inv(x))


@register_canonicalize
@local_optimizer([T.pow])
def local_pow_canonicalize(node: Any) -> Any:
    """``x ** 0 -> 1`` and ``x ** 1 -> x``"""
    value = as_scalar_constant(node.inputs[1])
    if value is None:
        return False
    if value == 0:
        return _filled(node, 1)
    if value == 1:
        return replacement(node, node.inputs[0])
    return False


@register_specialize
@local_optimizer([T.mul])
def local_mul_to_sqr(node: Any) -> Any:
    """``x * x -> x ** 2``"""
    if len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]:
        return replacement(node, T.sqr(node.inputs[0]))
    return False


@register_canonicalize
@local_optimizer([T.int_div])
def local_intdiv_by_one(node: Any) -> Any:
    """``x // 1 -> x`` for integers"""
    value = as_scalar_constant(node.inputs[1])
    if value is not None and value == 1 and node.inputs[0].type.dtype in T.discrete_dtypes:
        return replacement(node, node.inputs[0])
    return False


@register_canonicalize
@register_specialize
@local_optimizer([T.int_div, T.true_div])
def local_zero_div(node: Any) -> Any:
    """``0 / x -> 0``"""
    value = as_scalar_constant(node.inputs[0])
    if value is not None and value == 0:
        return _filled(node, 0)
    return False


@register_specialize
@local_optimizer([T.pow])
def local_pow_specialize(node: Any) -> Any:
    """``x ** 2 -> sqr(x)``, ``x ** 1 -> x``, ``x ** 0 -> 1``, ``x ** .5 -> sqrt(x)``, ``x ** -.5 -> inv(sqrt(x))``,
    ``x ** -1 -> inv(x)``, ``x ** -2 -> inv(sqr(x))``
    """
    x = node.inputs[0]
    value = as_scalar_constant(node.inputs[1])
    if value is None:
        return False
    out = node.outputs[0]
    if value == 1:
        return replacement(node, x)
    if value == 0:
        return _filled(node, 1)
    if x.type.dtype != out.type.dtype:
        # The power is taken in the wider dtype.
        x = T.cast(x, out.type.dtype)
    if value == 2:
        new = T.sqr(x)
    elif value == 0.5 and out.type.dtype not in T.discrete_dtypes:
        new = T.sqrt(x)
    elif value == -0.5 and out.type.dtype not in T.discrete_dtypes:
        new = T.inv(T.sqrt(x))
    elif value == -1 and out.type.dtype not in T.discrete_dtypes:
        new = T.inv(x)
    elif value == -2 and out.type.dtype not in T.discrete_dtypes:
        new = T.inv(T.sqr(x))
    else:
        return False
    return replacement(node, new)


@register_specialize_device
@local_optimizer([T.pow])
def local_pow_specialize_device(node: Any) -> Any:
    """``x ** n -> products of squares`` in one operation, for an integer ``2 < |n| <= 512``, inverted for a negative one."""
    x = node.inputs[0]
    out = node.outputs[0]
    value = as_scalar_constant(node.inputs[1])
    if value is None or np.iscomplexobj(value):
        return False
    exponent = int(abs(value)) if np.isfinite(value) else 0
    if exponent != abs(value) or not 2 < exponent <= 512 or (value < 0 and out.type.dtype in T.discrete_dtypes):
        return False
    base = same_dtype(x, out)
    number = scalar.get_scalar_type(out.type.dtype)()
    square, factors, left = number, [], exponent
    while True:
        if left & 1:
            factors.append(square)
        left >>= 1
        if not left:
            break
        square = scalar.sqr(square)
    product = factors[0]
    for factor in factors[1:]:
        product = scalar.mul(product, factor)
    new = Elemwise(scalar.Composite([number], [product]))(base)
    return replacement(node, T.inv(new) if value < 0 else new)


def _negates(x: Any, out: Any) -> bool:
    """Whether the negative `x` is one in the dtype of `out` too: that of an integer may have wrapped around."""
    return x.type.dtype not in T.discrete_dtypes or x.type.dtype == out.type.dtype


@register_specialize
@local_optimizer([T.mul], among_inputs=[Constant, T.neg])
def local_mul_specialize(node: Any) -> Any:
    """``1 * x -> x``, ``-1 * x -> -x``, ``0 * x -> 0`` and ``(-x) * y -> -(x * y)``

    Constants are put together by the canonicalization; here what is special about them is used.
    """
    negative = False
    neutral = 0
    rest = []
    for i in node.inputs:
        owner = i.owner
        if owner is not None and owner.op == T.neg and _negates(i, node.outputs[0]):
            negative ^= True
            rest.append(owner.inputs[0])
            neutral += 1
            continue
        value = as_scalar_constant(i)
        if value is None:
            rest.append(i)
        elif value == 1:
            neutral += 1
        elif value == -1 and i.type.dtype not in ("bool",) and not i.type.dtype.startswith("uint"):
            neutral += 1
            negative ^= True
        elif value == 0:
            return _filled(node, 0)
        else:
            rest.append(i)
    if not neutral:
        return False
    if not rest:
        return _filled(node, -1 if negative else 1)
    if negative and len(rest) > 1 and as_scalar_constant(rest[0]) is not None:
        # The sign goes into the constant that is there anyhow.
        # As a constant: the negative of a repeated one would be taken out again.
        rest[0] = (
            T.constant(-np.asarray(rest[0].data), dtype=rest[0].type.dtype)
            if isinstance(rest[0], Constant)
            else constant_like(-as_scalar_constant(rest[0]), rest[0])
        )
        negative = False
    new = rest[0] if len(rest) == 1 else T.mul(*rest)
    new = same_dtype(new, node.outputs[0])
    if negative:
        copy_stack_trace(node.outputs[0], new)
        new = T.neg(new)
    return replacement(node, new)


@register_specialize
@local_optimizer([T.add])
def local_add_specialize(node: Any) -> Any:
    """``0 + x -> x``"""
    rest = []
    for i in node.inputs:
        value = as_scalar_constant(i.owner.inputs[1] if is_elemwise(i.owner, T.fill) else i)
        if value is None or value != 0:
            rest.append(i)
    if len(rest) == len(node.inputs):
        return False
    if not rest:
        return _filled(node, 0)
    return replacement(node, rest[0] if len(rest) == 1 else T.add(*rest))


@register_specialize
@register_canonicalize
@local_optimizer([T.sub])
def local_elemwise_sub_zeros(node: Any) -> Any:
    """``x - x -> fill(x, 0)``"""
    x, y = node.inputs
    if x is y:
        return replacement(node, T.fill(x, constant_like(0, node.outputs[0])))
    return False


@register_specialize
@local_optimizer([T.sub], among_inputs=[Constant])
def local_sub_zero(node: Any) -> Any:
    """``x - 0 -> x`` and ``0 - x -> -x``"""
    value = as_scalar_constant(node.inputs[1])
    if value is not None and value == 0:
        return replacement(node, node.inputs[0])
    value = as_scalar_constant(node.inputs[0])
    if value is not None and value == 0:
        return replacement(node, T.neg(same_dtype(node.inputs[1], node.outputs[0])))
    return False


@register_specialize
@local_optimizer([T.add])
def local_add_neg_to_sub(node: Any) -> Any:
    """``x + (-y) -> x - y``"""
    if len(node.inputs) != 2:
        return False
    for first, second in (node.inputs, node.inputs[::-1]):
        owner = second.owner
        if owner is not None and owner.op == T.neg and _negates(second, node.outputs[0]):
            return replacement(node, T.sub(first, owner.inputs[0]))
    return False


@register_specialize
@local_optimizer([T.sub])
def local_sub_neg_to_add(node: Any) -> Any:
    """``x - (-y) -> x + y``"""
    owner = node.inputs[1].owner
    if owner is not None and owner.op == T.neg and _negates(node.inputs[1], node.outputs[0]):
        return replacement(node, T.add(node.inputs[0], owner.inputs[0]))
    return False


def _has_absolute_value(x: Any) -> bool:
    """Whether ``abs(x)`` is not negative: that of the least of the integers is itself."""
    return x.type.dtype not in T.int_dtypes or isinstance(x, Constant)


@register_canonicalize
@local_optimizer([T.abs_])
def local_abs_lift(node: Any) -> Any:
    """``|x * y| -> |x| * |y|`` and ``|x / y| -> |x| / |y|``, so that factors can cancel."""
    inner = node.inputs[0].owner
    if inner is None or inner.op not in (T.mul, T.true_div) or len(node.inputs[0].clients) != 1:
        return False
    if node.inputs[0].type.dtype in T.discrete_dtypes or not all(_has_absolute_value(i) for i in inner.inputs):
        return False
    if inner.op == T.mul:
        return replacement(node, T.mul(*[T.abs_(i) for i in inner.inputs]))
    return replacement(node, T.true_div(T.abs_(inner.inputs[0]), T.abs_(inner.inputs[1])))


@register_canonicalize
@local_optimizer([T.abs_])
def local_abs_abs(node: Any) -> Any:
    """``abs(abs(x)) -> abs(x)``, ``abs(-x) -> abs(x)`` and ``abs(sqr(x)) -> sqr(x)``"""
    x = node.inputs[0]
    inner = x.owner
    if inner is None or x.type.dtype.startswith("complex"):
        return False
    if inner.op in (T.abs_, T.sqr) and x.type.dtype.startswith("float"):
        return [x]
    if inner.op == T.neg and x.type.dtype not in T.uint_dtypes:
        return replacement(node, T.abs_(inner.inputs[0]))
    return False


@register_specialize
@local_optimizer([T.mul, T.true_div], among_inputs=[T.abs_])
def local_abs_merge(node: Any) -> Any:
    """``|x| * |y| -> |x * y|`` and ``|x| / |y| -> |x / y|``"""
    absolute = [i for i in node.inputs if i.owner is not None and i.owner.op == T.abs_]
    if len(absolute) < 2 or any(i.type.dtype in T.discrete_dtypes for i in absolute):
        return False
    if node.op == T.mul:
        inside, outside = [], []
        for i in node.inputs:
            if i.owner is not None and i.owner.op == T.abs_:
                inside.append(i.owner.inputs[0])
                continue
            value = as_scalar_constant(i)
            if value is not None and not np.iscomplexobj(value) and value >= 0:
                inside.append(i)
            else:
                outside.append(i)
        merged = T.abs_(T.mul(*inside))
        return replacement(node, T.mul(merged, *outside) if outside else merged)
    return replacement(node, T.abs_(T.true_div(*[i.owner.inputs[0] for i in node.inputs])))


@register_specialize
@local_optimizer([T.sqrt])
def local_sqrt_sqr(node: Any) -> Any:
    """``sqrt(sqr(x)) -> abs(x)`` for real `x`"""
    inner = node.inputs[0].owner
    if inner is not None and inner.op == T.sqr and inner.inputs[0].type.dtype.startswith("float"):
        return replacement(node, T.abs_(inner.inputs[0]))
    return False


@register_specialize
@local_optimizer([T.sqr])
def local_sqr_abs(node: Any) -> Any:
    """``sqr(abs(x)) -> sqr(x)`` and ``sqr(-x) -> sqr(x)`` for real `x`"""
    x = node.inputs[0]
    inner = x.owner
    if inner is not None and inner.op in (T.abs_, T.neg) and inner.inputs[0].type.dtype.startswith("float"):
        return replacement(node, T.sqr(inner.inputs[0]))
    return False


def _terms_over(v: Any, factor: Any) -> Any:
    """What is left of the term `v` when the division by `factor` is taken out of it; None if there is none."""
    node = v.owner
    if node is None or node.op != T.true_div or len(getattr(v, "clients", ())) > 1:
        return None
    num, denum = node.inputs
    if denum is factor:
        return num
    inner = denum.owner
    if inner is not None and inner.op == T.mul and factor in inner.inputs:
        rest = list(inner.inputs)
        rest.remove(factor)
        return T.true_div(num, rest[0] if len(rest) == 1 else T.mul(*rest))
    return None


@register_canonicalize
@register_stabilize
@local_optimizer([T.mul], among_inputs=[T.add, T.sub])
def local_greedy_distributor(node: Any) -> Any:
    """``a * (b / a + c) -> b + a * c``, also of several such factors

    Where it lowers the number of multiplications and (weighted twofold) divisions.
    """
    if len(node.inputs) < 2:
        return False
    out = node.outputs[0]
    if out.type.dtype in T.discrete_dtypes:
        return False
    for k, total in enumerate(node.inputs):
        summed = total.owner
        if summed is None or summed.op not in (T.add, T.sub) or len(total.clients) != 1:
            continue
        if not any(t.owner is not None and t.owner.op == T.true_div for t in summed.inputs):
            continue
        terms = list(summed.inputs)
        # What each term is multiplied with besides.
        times: list[list[Any]] = [[] for _ in terms]
        others = []
        for f, factor in enumerate(node.inputs):
            if f == k:
                continue
            cancelled = _cancelled(terms, factor, total)
            if cancelled is None:
                others.append(factor)
                continue
            for t, left in enumerate(cancelled):
                if left is None:
                    times[t].append(factor)
                else:
                    terms[t] = left
        if len(others) == len(node.inputs) - 1:
            continue
        new = summed.op(*(T.mul(t, *by) if by else t for t, by in zip(terms, times, strict=True)))
        copy_stack_trace(out, new)
        return replacement(node, T.mul(new, *others) if others else new)
    return False


def _cancelled(terms: list[Any], factor: Any, total: Any) -> list[Any] | None:
    """What `factor` leaves of each term, None of those that are not divided by it; None if too few are."""
    if factor.type.broadcastable != total.type.broadcastable and not all(factor.type.broadcastable):
        return None
    if factor.type.dtype != total.type.dtype or as_scalar_constant(factor) is not None:
        return None
    cancelled = [_terms_over(t, factor) for t in terms]
    gained = sum(c is not None for c in cancelled)
    return cancelled if gained and len(terms) - gained < 1 + 2 * gained else None


@register_canonicalize
@register_specialize
@local_optimizer([T.maximum, T.minimum])
def local_useless_maximum(node: Any) -> Any:
    """``maximum(x, x) -> x``, ``maximum(maximum(x, y), x) -> maximum(x, y)``, and the same of ``minimum``"""
    if node.inputs[0] is node.inputs[1]:
        return [node.inputs[0]]
    for a, b in (node.inputs, node.inputs[::-1]):
        if a.owner is not None and a.owner.op == node.op and b in a.owner.inputs and a.type == node.outputs[0].type:
            return [a]
    return False


@register_canonicalize
@register_specialize
@local_optimizer([T.and_, T.or_])
def local_and_or_of_the_same(node: Any) -> Any:
    """``and_(x, x) -> x`` and ``or_(x, x) -> x``"""
    a, b = node.inputs[0], node.inputs[-1]
    return [a] if len(node.inputs) == 2 and a is b and a.type == node.outputs[0].type else False


@register_canonicalize
@register_specialize
@local_optimizer([T.clip])
def local_clip_clip(node: Any) -> Any:
    """``clip(clip(x, a, b), c, d) -> clip(x, clip(a, c, d), clip(b, c, d))`` for constants ``a <= b`` and ``c <= d``"""
    inner = node.inputs[0].owner
    if inner is None or inner.op != T.clip or inner.inputs[0].type.dtype != node.outputs[0].type.dtype:
        return False
    bounds = [as_scalar_constant(i) for i in (*inner.inputs[1:], *node.inputs[1:])]
    if any(bound is None for bound in bounds):
        return False
    a, b, c, d = bounds
    if not (a <= b and c <= d):
        return False
    x = inner.inputs[0]
    return replacement(node, T.clip(x, constant_like(min(max(a, c), d), x), constant_like(min(max(b, c), d), x)))


@register_canonicalize
@register_specialize
@local_optimizer([T.lt, T.gt, T.le, T.ge, T.eq, T.neq, T.maximum, T.minimum])
def local_useless_elemwise_comparison(node: Any) -> Any:
    """Comparisons whose result is known: ``x < x -> 0``, ``x <= x -> 1``, ``x.shape[0] >= 0 -> 1``, ``x.shape[0] < 0 -> 0``,
    ``maximum(x.shape[0], 0) -> x.shape[0]``, ``minimum(x.shape[0], 0) -> 0``, ``eq(x.shape[0], -1) -> 0``

    As in the original, all that is in an array counts as equal to itself: ``x <= x`` is true of NaN.
    """
    a, b = node.inputs
    op = node.op
    if a is b:
        if op in (T.lt, T.gt):
            return _filled(node, 0)
        if op in (T.le, T.ge):
            return _filled(node, 1)
        return False
    va, vb = as_scalar_constant(a), as_scalar_constant(b)
    if op in (T.eq, T.neq):
        if (vb is not None and vb < 0 and _is_length(a)) or (va is not None and va < 0 and _is_length(b)):
            return _filled(node, int(op == T.neq))
        return False
    if vb is not None and vb == 0 and _is_length(a):
        if op == T.lt:
            return _filled(node, 0)
        if op == T.ge:
            return _filled(node, 1)
        if op == T.maximum:
            return replacement(node, a)
        if op == T.minimum:
            return _filled(node, 0)
    if va is not None and va == 0 and _is_length(b):
        if op == T.gt:
            return _filled(node, 0)
        if op == T.le:
            return _filled(node, 1)
        if op == T.maximum:
            return replacement(node, b)
        if op == T.minimum:
            return _filled(node, 0)
    return False


def _is_length(v: Any) -> bool:
    """Whether `v` is a dimension, or a sum, product or vector of dimensions and non-negative constants."""
    stack, seen = [v], 0
    while stack:
        x = stack.pop()
        seen += 1
        if seen > 20:
            return False
        if isinstance(x, Constant):
            if x.type.ndim or x.data < 0:
                return False
            continue
        node = x.owner
        if node is None:
            return False
        if isinstance(node.op, Shape_i):
            continue
        if isinstance(node.op, T.MakeVector) or (isinstance(node.op, Elemwise) and node.op in (T.add, T.mul)):
            stack.extend(node.inputs)
            continue
        return False
    return True


@register_uncanonicalize
@local_optimizer([T.neg])
def local_max_to_min(node: Any) -> Any:
    """``-max(-x) -> min(x)``"""
    from theano.tensor.elemwise import CAReduce

    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, CAReduce) or inner.op.scalar_op != T.scal.maximum:
        return False
    negated = inner.inputs[0].owner
    if negated is None or negated.op != T.neg or inner.inputs[0].type.dtype in T.discrete_dtypes:
        return False
    return replacement(node, CAReduce(T.scal.minimum, inner.op.axis)(negated.inputs[0]))



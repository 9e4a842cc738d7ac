"""Algebra of elementwise operations: neutral and absorbing elements, powers, signs, distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import scalar
from theano.gof.graph import Constant
from theano.tensor import basic as T
from theano.tensor.elemwise import CAReduce, Elemwise
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import (
    Made,
    Otherwise,
    P,
    a,
    applies,
    b,
    c,
    called,
    d,
    once,
    replaces,
    rest,
    rewrite,
    rule,
    x,
    y,
)
from theano.tensor.rewriting.terms import (
    argument_of,
    as_scalar_constant,
    constant_like,
    is_elemwise,
    is_inexact,
    is_made_by,
    is_number,
    product_of,
    replacement,
    same_dtype,
)
from theano.tensor.shapes import Shape_i


def _negates(x: Any, out: Any) -> bool:
    """Whether the negative `x` is one in the dtype of `out` too: that of an integer may have wrapped around."""
    return is_inexact(x) or x.type.dtype == out.type.dtype


def _has_sign(x: Any) -> bool:
    return x.type.dtype not in T.uint_dtypes


def _is_length(v: Any) -> bool:
    """Whether `v` is a dimension, or a sum, product or vector of dimensions and non-negative constants."""
    stack, seen = [v], 0
    while stack:
        x = stack.pop()
        seen += 1
        if isinstance(x, Constant):
            if x.type.ndim or x.data < 0:
                return False
        elif is_made_by(x, T.MakeVector) or is_elemwise(x.owner, T.add, T.mul):
            stack.extend(x.owner.inputs)
        elif not is_made_by(x, Shape_i):
            return False
        if seen > 20:
            return False
    return True


NO_INTEGER = ("`x` is no integer", is_inexact)
INEXACT = ("neither is an integer", lambda x, y: is_inexact(x) and is_inexact(y))
INTEGER = ("`x` is an integer", lambda x: x.type.dtype in T.discrete_dtypes)
NOT_WRAPPED = ("`y` is no integer, or of the dtype of the result", lambda y, out: _negates(y, out))
LENGTH = ("`x` is a length", lambda x: _is_length(x))
NEGATIVE_FOR_LENGTH = ("`x` is a length, `c` is negative", lambda x, c: as_scalar_constant(c) < 0 and _is_length(x))

local_neg_to_mul = rewrite("local_neg_to_mul", "canonicalize", rule(P.neg(x), -1 * x, where=("`x` has a sign", _has_sign)))


local_neg_neg = rewrite("local_neg_neg", "specialize", rule(P.neg(P.neg(x)), x))


local_neg_div_neg = rewrite(
    "local_neg_div_neg",
    "specialize",
    rule(P.neg(once(P.neg(x) / y)), x / y, where=NO_INTEGER),
    rule(P.neg(once(c / x)), -c / x,
         where=("`c` is no integer", lambda c: is_inexact(c)))
)  # fmt: skip


local_div_of_negs = rewrite("local_div_of_negs", "specialize", rule(P.neg(x) / P.neg(y), x / y, where=INEXACT))


local_mul_zero = rewrite("local_mul_zero", "canonicalize specialize", rule(P.mul(0, rest), 0))


local_div_to_inv = rewrite("local_div_to_inv", "specialize", rule(P.true_div(1, x), P.inv(x), "same"))


local_pow_canonicalize = rewrite("local_pow_canonicalize", "canonicalize", rule(P.pow(x, 0), 1), rule(P.pow(x, 1), x))


local_mul_to_sqr = rewrite("local_mul_to_sqr", "specialize", rule(P.mul(x, x), P.sqr(x)))


local_intdiv_by_one = rewrite("local_intdiv_by_one", "canonicalize", rule(P.int_div(x, 1), x, where=INTEGER))


local_zero_div = rewrite("local_zero_div", "canonicalize specialize", rule(P.int_div(0, x), 0), rule(P.true_div(0, x), 0))


local_pow_specialize = rewrite(
    "local_pow_specialize",
    "specialize",
    rule(P.pow(x, 1), x),
    rule(P.pow(x, 0), 1),
    rule(P.pow(x, 2), P.sqr(x), "cast"),
    rule(P.pow(x, 0.5), P.sqrt(x), "inexact"),
    rule(P.pow(x, -0.5), P.inv(P.sqrt(x)), "inexact"),
    rule(P.pow(x, -1), P.inv(x), "inexact"),
    rule(P.pow(x, -2), P.inv(P.sqr(x)), "inexact"),
)


@replaces(P.pow(x, c), "specialize_device")
def local_pow_specialize_device(out: Any, x: Any, c: Any) -> Any:
    """``x ** n -> products of squares`` in one operation, for an integer ``2 < |n| <= 512``, inverted for a negative one."""
    value = as_scalar_constant(c)
    exponent = int(abs(value)) if np.isfinite(value) and not np.iscomplexobj(value) else 0
    if exponent != abs(value) or not 2 < exponent <= 512 or (value < 0 and out.type.dtype in T.discrete_dtypes):
        return None
    number = square = scalar.get_scalar_type(out.type.dtype)()
    product = None
    for bit in reversed(f"{exponent:b}"):
        if bit == "1":
            product = square if product is None else scalar.mul(product, square)
        square = scalar.sqr(square)
    new = Elemwise(scalar.Composite([number], [product]))(same_dtype(x, out))
    return T.inv(new) if value < 0 else new


def _with_one_sign(node: Any) -> Any:
    """``-1 * x -> -x`` and ``(-x) * y -> -(x * y)``, the sign in the constant that is there anyhow"""
    out, negative, rest = node.outputs[0], False, []
    for i in node.inputs:
        x = argument_of(i, T.neg)
        if x is not None and _negates(i, out):
            negative = not negative
            rest.append(x)
        elif is_number(i, -1):
            negative = not negative
        else:
            rest.append(i)
    if rest == node.inputs:
        return False
    value = as_scalar_constant(rest[0]) if negative and len(rest) > 1 else None
    if value is not None:
        # As a constant: the negative of a repeated one would be taken out again.
        rest[0], negative = T.constant(-rest[0].data) if isinstance(rest[0], Constant) else constant_like(-value, rest[0]), False
    new = same_dtype(product_of(rest), out) if rest else constant_like(1, out)
    return replacement(node, T.neg(new) if negative else new)


# Constants are put together by the canonicalization; here what is special about them is used.
local_mul_specialize = rewrite(
    "local_mul_specialize",
    "specialize",
    rule(P.mul(0, rest), 0),
    rule(P.mul(1, x, rest), P.mul(x, rest)),
    Otherwise(_with_one_sign, P.mul(-1, rest), P.mul(P.neg(x), rest)),
)


local_add_specialize = rewrite(
    "local_add_specialize",
    "specialize",
    rule(P.add(0, x, rest), P.add(x, rest)),
    rule(P.add(P.fill(y, 0), x, rest), P.add(x, rest)),
)


local_elemwise_sub_zeros = rewrite("local_elemwise_sub_zeros", "specialize canonicalize", rule(P.sub(x, x), P.fill(x, 0)))


local_sub_zero = rewrite("local_sub_zero", "specialize", rule(P.sub(x, 0), x), rule(P.sub(0, x), P.neg(x), "cast"))


local_add_neg_to_sub = rewrite("local_add_neg_to_sub", "specialize", rule(P.add(x, P.neg(y)), P.sub(x, y), where=NOT_WRAPPED))


local_sub_neg_to_add = rewrite("local_sub_neg_to_add", "specialize", rule(P.sub(x, P.neg(y)), P.add(x, y), where=NOT_WRAPPED))


def _has_absolute_value(x: Any) -> bool:
    """Whether ``abs(x)`` is not negative: that of the least of the integers is itself."""
    return x.type.dtype not in T.int_dtypes or isinstance(x, Constant)


def _are_liftable(out: Any, factors: Any) -> bool:
    return out.owner.inputs[0].type.dtype not in T.discrete_dtypes and all(map(_has_absolute_value, factors))


LIFTABLE = "the result is no integer, nor are factors"
# So that factors can cancel.
local_abs_lift = rewrite(
    "local_abs_lift",
    "canonicalize",
    rule(
        P.abs_(once(P.mul(rest))),
        Made("the product of |...|", lambda rest: T.mul(*map(T.abs_, rest))),
        where=(LIFTABLE, lambda out, rest: _are_liftable(out, rest)),
    ),
    rule(P.abs_(once(x / y)), P.abs_(x) / P.abs_(y), where=(LIFTABLE, lambda out, x, y: _are_liftable(out, (x, y)))),
)


local_abs_abs = rewrite(
    "local_abs_abs",
    "canonicalize",
    rule(P.abs_(P.abs_(x)), P.abs_(x), where=("the result is a float", lambda out: out.type.dtype in T.float_dtypes)),
    rule(P.abs_(P.sqr(x)), P.sqr(x), "floats"),
    rule(P.abs_(P.neg(x)), P.abs_(x), where=("`x` has a sign", lambda x: _has_sign(x) and x.type.dtype not in T.complex_dtypes)),
)


local_abs_merge = rewrite(
    "local_abs_merge",
    "specialize",
    rule(P.mul(P.abs_(x), P.abs_(y), rest), P.mul(P.abs_(P.mul(x, y)), rest), where=INEXACT),
    rule(P.abs_(x) / P.abs_(y), P.abs_(x / y), where=INEXACT),
)


local_sqrt_sqr = rewrite("local_sqrt_sqr", "specialize", rule(P.sqrt(P.sqr(x)), P.abs_(x), "floats"))


local_sqr_abs = rewrite(
    "local_sqr_abs", "specialize", rule(P.sqr(P.abs_(x)), P.sqr(x), "floats"), rule(P.sqr(P.neg(x)), P.sqr(x), "floats")
)


def _terms_over(v: Any, factor: Any) -> Any:
    """What is left of the term `v` when the division by `factor` is taken out of it; None if there is none."""
    node = v.owner
    if node is None or node.op != T.true_div or len(getattr(v, "clients", ())) > 1:
        return None
    num, denum = node.inputs
    if denum is factor:
        return num
    rest = list(denum.owner.inputs) if is_elemwise(denum.owner, T.mul) else []
    if factor not in rest:
        return None
    rest.remove(factor)
    return T.true_div(num, product_of(rest))


@rewrites([T.mul], "canonicalize stabilize", among_inputs=[T.add, T.sub], needs=[T.true_div])
def local_greedy_distributor(node: Any) -> Any:
    """``a * (b / a + c) -> b + a * c``, also of several such factors

    Where it lowers the number of multiplications and (weighted twofold) divisions.
    """
    for k, total in enumerate(node.inputs):
        summed = total.owner
        if summed is None or summed.op not in (T.add, T.sub) or len(total.clients) != 1:
            continue
        if any(t.owner is not None and t.owner.op == T.true_div for t in summed.inputs) and is_inexact(node.outputs[0]):
            new = _distributed(total, node.inputs[:k] + node.inputs[k + 1 :])
            if new is not None:
                return replacement(node, new)
    return False


def _distributed(total: Any, factors: list[Any]) -> Any:
    """The product of a sum with factors that cancel in it and others, None if none does."""
    terms = list(total.owner.inputs)
    # What each term is multiplied with besides.
    times: list[list[Any]] = [[] for _ in terms]
    others = []
    for factor in factors:
        cancelled = _cancelled(terms, factor, total)
        if cancelled is None:
            others.append(factor)
            continue
        for t, left in enumerate(cancelled):
            if left is None:
                times[t].append(factor)
            else:
                terms[t] = left
    if len(others) == len(factors):
        return None
    return product_of([total.owner.op(*[product_of([t, *by]) for t, by in zip(terms, times, strict=True)]), *others])


def _cancelled(terms: list[Any], factor: Any, total: Any) -> list[Any] | None:
    """What `factor` leaves of each term, None of those that are not divided by it; None if too few are."""
    if factor.type.broadcastable != total.type.broadcastable and not all(factor.type.broadcastable):
        return None
    if factor.type.dtype != total.type.dtype or as_scalar_constant(factor) is not None:
        return None
    cancelled = [_terms_over(t, factor) for t in terms]
    gained = sum(c is not None for c in cancelled)
    return cancelled if gained and len(terms) - gained < 1 + 2 * gained else None


local_useless_maximum = rewrite(
    "local_useless_maximum",
    "canonicalize specialize",
    rule(P.maximum(x, x), x),
    rule(P.minimum(x, x), x),
    rule(P.maximum(P.maximum(x, y), x), P.maximum(x, y)),
    rule(P.minimum(P.minimum(x, y), x), P.minimum(x, y)),
)


local_and_or_of_the_same = rewrite(
    "local_and_or_of_the_same", "canonicalize specialize", rule(P.and_(x, x), x, "same"), rule(P.or_(x, x), x, "same")
)


def _are_bounds(out: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> bool:
    lower, upper, least, most = map(as_scalar_constant, (a, b, c, d))
    return x.type.dtype == out.type.dtype and lower <= upper and least <= most


def _clipped(x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    lower, upper, least, most = map(as_scalar_constant, (a, b, c, d))
    return T.clip(x, constant_like(min(max(lower, least), most), x), constant_like(min(max(upper, least), most), x))


local_clip_clip = rewrite(
    "local_clip_clip",
    "canonicalize specialize",
    rule(
        P.clip(P.clip(x, a, b), c, d),
        Made("clip(x, clip(a, c, d), clip(b, c, d))", _clipped),
        where=("`a <= b`, `c <= d`, and `x` has the dtype of the result", _are_bounds),
    ),
)

#: As in the original, all that is in an array counts as equal to itself: ``x <= x`` is true of NaN.
local_useless_elemwise_comparison = rewrite(
    "local_useless_elemwise_comparison",
    "canonicalize specialize",
    rule(P.lt(x, x), 0),
    rule(P.gt(x, x), 0),
    rule(P.le(x, x), 1),
    rule(P.ge(x, x), 1),
    rule(P.eq(x, c), 0, where=NEGATIVE_FOR_LENGTH),
    rule(P.neq(x, c), 1, where=NEGATIVE_FOR_LENGTH),
    rule(P.lt(x, 0), 0, where=LENGTH),
    rule(P.gt(0, x), 0, where=LENGTH),
    rule(P.ge(x, 0), 1, where=LENGTH),
    rule(P.le(0, x), 1, where=LENGTH),
    rule(P.maximum(x, 0), x, where=LENGTH),
    rule(P.minimum(x, 0), 0, where=LENGTH),
)


_MAX = applies(CAReduce, "max", lambda v: CAReduce(scalar.maximum, 0)(v), lambda op: op.scalar_op == scalar.maximum)
local_max_to_min = rewrite(
    "local_max_to_min",
    "uncanonicalize",
    rule(
        P.neg(called("y", _MAX(P.neg(x)))),
        Made("min(x)", lambda x, y: CAReduce(scalar.minimum, y.owner.op.axis)(x)),
        where=("`x` is no integer", lambda y: is_inexact(y)),
    ),
)

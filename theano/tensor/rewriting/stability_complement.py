"""Differences from sigmoids, hyperbolic tangents and softplus that cancel become functions that do not."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.record import Fields
from theano.scalar import compound
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.nnet.sigm import sigmoid
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import SAME_TYPE, P, among, applies, once, rest, rewrite, rule, times, x
from theano.tensor.rewriting.stability_log import LOG_1_MINUS_EXP, LOG_EXPM1, SIGMOID, SOFTPLUS, STAGES
from theano.tensor.rewriting.terms import (
    argument_of,
    as_scalar_constant,
    compared,
    is_elemwise,
    kind_of,
    opened,
    quotient,
    replacement,
    same_expression,
    scaled,
    split_constants,
)

sigmoid_slope = Elemwise(compound.sigmoid_slope, name="sigmoid_slope")

#: Products of more factors and sums of more terms are left alone.
_FACTORS, _TERMS = 8, 4


class Term(Fields):
    """``factor * top[0] * top[1] ... / bottom[0] ...``; `inner` are the Applies that have been taken apart."""

    factor: float
    top: list[Any]
    bottom: list[Any]
    inner: list[Any]

    def times(self, factor: float, *more: Any) -> Term:
        """This term with further factors; what is above and below the line goes."""
        bottom, top, _ = compared(self.bottom, [*self.top, *more])
        return Term(self.factor * factor, top, bottom, self.inner)

    def built(self, dtype: str) -> Any:
        constants = [T.constant(np.asarray(self.factor, dtype=dtype))] if self.factor != 1 else []
        return quotient([*constants, *self.top], self.bottom, dtype)


def _term(v: Any) -> Term | None:
    """`v` as a product. What other expressions need too is not taken apart."""
    inner: list[Any] = []

    def is_private(part: Any) -> bool:
        private = part.type.dtype == v.type.dtype and len({client for client, _ in part.clients}) <= 1
        if private:
            inner.append(part.owner)
        return private

    (above, top), (below, bottom) = (split_constants(side, repeated=True) for side in opened(v, fits=is_private))
    factor = above / below if below else 0
    return Term(factor, top, bottom, inner) if factor and np.isfinite(factor) and len(top) + len(bottom) <= _FACTORS else None


_PRODUCTS = (T.mul, T.sqr, T.neg, T.true_div, T.inv)
_PRODUCT_CLASSES = frozenset(type(op.scalar_op) for op in _PRODUCTS)
_MUL = type(T.mul.scalar_op)


def _factors_beside(node: Any) -> list[Any]:
    """The Applies of the factors, and of the terms of those, of the product that `node` is only computed for."""
    clients = node.outputs[0].clients
    if len(clients) != 1 or clients[0][0] == "output" or not is_elemwise(clients[0][0], T.mul):
        return []
    near = [i.owner for i in clients[0][0].inputs if i.owner is not None and len(i.clients) == 1]
    return [clients[0][0], *near, *(i.owner for n in near for i in n.inputs if i.owner is not None and len(i.clients) == 1)]


def _compared(a: Term, b: Term) -> tuple[list[Any], list[Any], list[Any]] | None:
    """The factors that only `a` has, those that only `b` has, and those of both; None if what is below the line differs."""
    below, under, _ = compared(a.bottom, b.bottom)
    return None if below or under else compared(a.top, b.top)


def _cancel(node: Any, a: Term, b: Term, dtype: str) -> Term | None:
    """Nothing, if `b` is ``-a``."""
    found = _compared(a, b) if a.factor == -b.factor else None
    return None if found is None or found[0] or found[1] else Term(0, [], [], [])


def _complement(node: Any, a: Term, b: Term, dtype: str) -> Term | None:
    """The sum of `a` and `b`, if `b` is `a` times what makes it a complement."""
    # All factors of `a` have to be among those of `b`, which has more.
    found = _compared(a, b) if len(a.top) < len(b.top) else None
    if found is None:
        return None
    own, rest, _ = found
    ratio = b.factor / a.factor
    nodes = [node, *a.inner, *b.inner, *_factors_beside(node)]
    if own or not rest or any(client not in nodes for v in rest for client, _ in v.clients):
        return None
    f = rest[0]
    s, t = argument_of(f, sigmoid, dtype), argument_of(f, T.tanh, dtype)
    if len(rest) == 2 and t is not None and same_expression(rest[1], f) and ratio == -1:
        return a.times(4, sigmoid_slope(scaled(2, t, dtype)))
    if len(rest) != 1:
        return None
    if t is not None and abs(ratio) == 1:
        return a.times(2, sigmoid(scaled(2 * ratio, t, dtype)))
    # What is left of a bare sigmoid to 1 has a rewrite of its own.
    if s is not None and ratio == -1 and (a.top or a.factor != 1):
        return a.times(1, sigmoid(scaled(-1, s, dtype)))
    return None


def _difference_of_sigmoids(node: Any, a: Term, b: Term, dtype: str) -> Term | None:
    """The sum of `a` and `b`, if `b` is ``-a`` with ``sigmoid(-x)`` instead of ``sigmoid(x)`` or ``-2 * a * sigmoid(x)``."""
    found = _compared(a, b) if len(b.top) - len(a.top) in (0, 1) else None
    if found is None:
        return None
    own, rest, common = found
    ratio = b.factor / a.factor
    x = argument_of(rest[0], sigmoid, dtype) if len(rest) == 1 else None
    if x is not None and not own and ratio == -2:
        return a.times(-1, T.tanh(scaled(0.5, x, dtype)))
    y = argument_of(own[0], sigmoid, dtype) if len(own) == 1 else None
    if x is None or y is None or ratio != -1 or not same_expression(scaled(-1, x, dtype), scaled(1, y, dtype)):
        return None
    return Term(a.factor, common, a.bottom, []).times(1, T.tanh(scaled(0.5, y, dtype)))


_SIGMOID, _TANH = (type(op.scalar_op) for op in (sigmoid, T.tanh))
_FUNCTION_CLASSES = frozenset((_SIGMOID, _TANH))


def _near_functions(inputs: list[Any], depth: int = 3) -> list[Any]:
    """The sigmoids and hyperbolic tangents among the factors of `inputs`; there seldom are any."""
    found = []
    for v in inputs:
        node = v.owner
        if node is None or type(node.op) is not Elemwise:
            continue
        kind = type(node.op.scalar_op)
        if kind in _FUNCTION_CLASSES:
            found.append(v)
        elif depth and kind in _PRODUCT_CLASSES:
            found += _near_functions(node.inputs, depth - 1)
    return found


def _are_of_one_factor(inputs: list[Any]) -> bool:
    """Whether each input is one factor, or one times a constant, at a glance: then none is another times something."""
    for v in inputs:
        node = v.owner
        # As `kind_of` says it: this is asked often.
        kind = type(node.op.scalar_op) if node is not None and type(node.op) is Elemwise else None
        if kind is _MUL and len(node.inputs) == 2:
            constant, v = node.inputs
            if as_scalar_constant(constant) is None:
                return False
            kind = kind_of(v)
        if kind in _PRODUCT_CLASSES or (kind is None and as_scalar_constant(v) is not None):
            return False
    return True


#: How far from a function what takes it is looked for.
_STEPS = 16


def _goes_into(v: Any, node: Any) -> bool:
    """Whether all that takes a variable goes into `node`, or into the product that alone takes that."""
    clients = node.outputs[0].clients
    beside = clients[0][0] if len(clients) == 1 and clients[0][0] != "output" else None
    for client, _ in v.clients:
        for _ in range(_STEPS):
            if client is node or client is beside:
                break
            if type(client) is str or type(client.op) is not Elemwise:
                return False
            takers = client.outputs[0].clients
            if len(takers) != 1 and len({taker for taker, _ in takers}) != 1:
                return False
            client = takers[0][0]
    return True


@rewrites(
    [T.sub, T.add], "canonicalize stabilize specialize", among_inputs=[sigmoid, T.tanh, *_PRODUCTS], needs=[sigmoid, T.tanh]
)
def local_complements(node: Any) -> Any:
    """``a - a * tanh(x) -> 2 * a * sigmoid(-2 * x)``, ``a - a * tanh(x) ** 2 -> 4 * a * sigmoid_slope(2 * x)``,
    and ``a - a * sigmoid(x) -> a * sigmoid(-x)``, where the function is needed for nothing else
    """
    dtype = node.outputs[0].type.dtype
    inputs = node.inputs
    if len(inputs) > _TERMS or dtype not in T.float_dtypes or (len(inputs) == 2 and _are_of_one_factor(inputs)):
        return False
    if not any(_goes_into(v, node) for v in _near_functions(inputs)):
        return False
    # The logarithm of a complement has a function of its own.
    if any(client != "output" and is_elemwise(client, T.log) for client, _ in node.outputs[0].clients):
        return False
    return _summed(node, _complement)


@rewrites([T.sub, T.add], "specialize", among_inputs=[sigmoid, *_PRODUCTS], needs=[sigmoid, T.tanh])
def local_difference_of_sigmoids(node: Any) -> Any:
    """``a * sigmoid(x) - a * sigmoid(-x) -> a * tanh(x / 2)`` and ``a - 2 * a * sigmoid(x) -> -a * tanh(x / 2)``

    Not before the canonical form has cancelled what there is once more.
    """
    dtype = node.outputs[0].type.dtype
    if len(node.inputs) > _TERMS or dtype not in T.float_dtypes:
        return False
    # Of more than two terms two may cancel that have no sigmoid.
    if len(node.inputs) == 2 and not any(type(v.owner.op.scalar_op) is _SIGMOID for v in _near_functions(node.inputs)):
        return False
    if sum(isinstance(i, Constant) or bool(_near_functions([i])) for i in node.inputs) < 2:
        return False
    return _summed(node, _difference_of_sigmoids)


def _summed(node: Any, of_two: Any) -> Any:
    """`node` with what `of_two` makes of two of its terms in their place, or False."""
    dtype = node.outputs[0].type.dtype
    terms = [_term(i) for i in node.inputs]
    if is_elemwise(node, T.sub) and terms[1] is not None:
        terms[1].factor = -terms[1].factor
    known = [(k, term) for k, term in enumerate(terms) if term is not None]
    for joined in (_cancel, of_two) if len(terms) > 2 else (of_two,):
        for (j, a), (k, b) in permutations(known, 2):
            new = joined(node, a, b, dtype)
            if new is not None:
                parts = [i for position, i in enumerate(node.inputs) if position not in (j, k)]
                parts += [new.built(dtype)] if new.factor else []
                return replacement(node, T.add(*parts) if len(parts) > 1 else parts[0])
    return False


SLOPE = applies(sigmoid_slope)
MINUS_X = times(-1, x)
local_quotient_of_complements = rewrite(
    "local_quotient_of_complements",
    STAGES,
    among((1 - P.tanh(x) ** 2) / (1 - P.tanh(x)), 2 * SIGMOID(times(2, x)), "reals"),
    among((1 - P.tanh(x) ** 2) / (1 + P.tanh(x)), 2 * SIGMOID(times(-2, x)), "reals"),
    # What a slope is of has lost its sign.
    among(SLOPE(x) / SIGMOID(x), SIGMOID(MINUS_X), "reals"),
    among(SLOPE(MINUS_X) / SIGMOID(x), SIGMOID(MINUS_X), "reals"),
)


_SQUARE = P.mul(1 + P.exp(x), 1 + P.exp(x))
local_inv_sqr_1_plus_exp = rewrite(
    "local_inv_sqr_1_plus_exp", STAGES, among(1 / _SQUARE, P.sqr(SIGMOID(MINUS_X)), "reals", seen=[T.sqr, T.mul])
)


local_exp_times_sigmoids = rewrite(
    "local_exp_times_sigmoids",
    STAGES,
    among(SIGMOID(x) * P.exp(MINUS_X), SIGMOID(MINUS_X), "reals", seen=[T.exp, T.sqr]),
    among(SIGMOID(x) * (1 + P.exp(MINUS_X)), 1, "reals", seen=[T.add, T.sub, T.sqr]),
)


local_sigmoid_slope = rewrite(
    "local_sigmoid_slope",
    "uncanonicalize",
    rule(P.mul(once(SIGMOID(x)), once(SIGMOID(MINUS_X)), rest), P.mul(rest, SLOPE(x)), "reals"),
)


def _less_argument(f: Any, partner: Any) -> list[rule]:
    """``f(x) - x -> partner(-x)``, and so for the negative."""
    of_x, new = once(f(x)), partner(MINUS_X)
    return [
        rule(P.sub(of_x, x), new, "floats", where=SAME_TYPE),
        rule(P.add(of_x, MINUS_X), new, "floats", where=SAME_TYPE),
        rule(P.sub(x, of_x), P.neg(new), "floats", where=SAME_TYPE),
        rule(P.add(x, P.neg(of_x)), P.neg(new), "floats", where=SAME_TYPE),
    ]


local_softplus_less_argument = rewrite(
    "local_softplus_less_argument",
    STAGES,
    rule(once(SOFTPLUS(x)) - SOFTPLUS(MINUS_X), x, "floats", where=SAME_TYPE),
    *_less_argument(SOFTPLUS, SOFTPLUS),
    *_less_argument(LOG_EXPM1, LOG_1_MINUS_EXP),
    *_less_argument(LOG_1_MINUS_EXP, LOG_EXPM1),
)

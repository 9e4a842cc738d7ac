"""Differences from sigmoids, hyperbolic tangents and softplus that cancel become functions that do not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.opt import local_optimizer
from theano.scalar import compound
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.nnet.sigm import sigmoid, softplus
from theano.tensor.rewriting.registry import (
    register_canonicalize,
    register_specialize,
    register_stabilize,
    register_uncanonicalize,
)
from theano.tensor.rewriting.stability_log import log_1_minus_exp, log_expm1, quotient
from theano.tensor.rewriting.terms import argument_of, as_scalar_constant, is_elemwise, product_of, replacement, same_expression

sigmoid_slope = Elemwise(compound.sigmoid_slope, name="sigmoid_slope")

#: Products of more factors and sums of more terms are left alone.
_FACTORS, _TERMS = 8, 4


@dataclass
class Term:
    """``factor * top[0] * top[1] ... / bottom[0] ...``; `inner` are the Applies that have been taken apart."""

    factor: float
    top: list[Any]
    bottom: list[Any]
    inner: list[Any]

    def times(self, factor: float, *more: Any) -> Term:
        """This term with further factors; what is above and below the line goes."""
        top, bottom = [*self.top, *more], list(self.bottom)
        for v in list(bottom):
            k = _position(v, top)
            if k is not None:
                del top[k]
                del bottom[_position(v, bottom)]
        return Term(self.factor * factor, top, bottom, self.inner)

    def built(self, dtype: str) -> Any:
        constants = [T.constant(np.asarray(self.factor, dtype=dtype))] if self.factor != 1 else []
        return quotient([*constants, *self.top], self.bottom, dtype)


def _position(v: Any, among: list[Any]) -> int | None:
    for k, other in enumerate(among):
        if other is v or (v.owner is not None and other.owner is not None and same_expression(v, other)):
            return k
    return None


def _for_one_node(v: Any) -> bool:
    return len({client for client, _ in v.clients}) == 1


def _term(v: Any) -> Term | None:
    """`v` as a product. What other expressions need too is not taken apart."""
    dtype = v.type.dtype
    term, todo = Term(1.0, [], [], []), [(v, True)]
    while todo:
        v, above = todo.pop()
        node = v.owner
        kind = type(node.op.scalar_op) if node is not None and type(node.op) is Elemwise else None
        constant = as_scalar_constant(v) if kind is None else None
        if constant is not None:
            if not constant or not np.isfinite(constant):
                return None
            term.factor = term.factor * float(constant) if above else term.factor / float(constant)
            continue
        clients = v.clients
        if kind not in _PRODUCT_CLASSES or v.type.dtype != dtype or (len(clients) > 1 and not _for_one_node(v)):
            (term.top if above else term.bottom).append(v)
            if len(term.top) + len(term.bottom) > _FACTORS:
                return None
            continue
        term.inner.append(node)
        inputs = node.inputs
        if kind is _NEG:
            term.factor = -term.factor
        if kind is _TRUE_DIV:
            todo += [(inputs[1], not above), (inputs[0], above)]
        elif kind is _INV:
            todo.append((inputs[0], not above))
        else:
            todo += [(i, above) for i in reversed(inputs)] * (2 if kind is _SQR else 1)
    return term


_PRODUCTS = (T.mul, T.sqr, T.neg, T.true_div, T.inv)
_PRODUCT_CLASSES = frozenset(type(op.scalar_op) for op in _PRODUCTS)
_MUL, _SQR, _NEG, _TRUE_DIV, _INV = (type(op.scalar_op) for op in _PRODUCTS)


def _scaled(k: float, u: Any, dtype: str) -> Any:
    """``k * u`` in `dtype`, with the constants of `u`."""
    u = u if u.type.dtype == dtype else T.cast(u, dtype)
    node = u.owner
    if is_elemwise(node, T.neg):
        return _scaled(-k, node.inputs[0], dtype)
    if is_elemwise(node, T.mul):
        constants = [as_scalar_constant(i) for i in node.inputs]
        if sum(c is not None for c in constants) == 1:
            (at,) = (j for j, c in enumerate(constants) if c is not None)
            k *= float(constants[at])
            rest = product_of([i for j, i in enumerate(node.inputs) if j != at])
            u = rest if rest.type.broadcastable == u.type.broadcastable and rest.type.dtype == dtype else u
            k = k if u is rest else k / float(constants[at])
    return u if k == 1 else T.neg(u) if k == -1 else T.mul(np.asarray(k, dtype=dtype), u)


def _only_in(v: Any, nodes: list[Any]) -> bool:
    return all(any(client is node for node in nodes) for client, _ in v.clients)


def _factors_beside(node: Any) -> list[Any]:
    """The Applies of the factors, and of the terms of those, of the product that `node` is only computed for."""
    clients = node.outputs[0].clients
    if len(clients) != 1 or clients[0][0] == "output" or not is_elemwise(clients[0][0], T.mul):
        return []
    near = [i.owner for i in clients[0][0].inputs if i.owner is not None and len(i.clients) == 1]
    return [clients[0][0], *near, *(i.owner for n in near for i in n.inputs if i.owner is not None and len(i.clients) == 1)]


def _compared(a: Term, b: Term) -> tuple[list[Any], list[Any], list[Any]] | None:
    """The factors that only `a` has, those that only `b` has, and those of both; None if what is below the line differs."""
    if len(a.bottom) != len(b.bottom) or any(_position(v, b.bottom) is None for v in a.bottom):
        return None
    own, rest, common = [], list(b.top), []
    for v in a.top:
        k = _position(v, rest)
        (own if k is None else common).append(v)
        if k is not None:
            del rest[k]
    return own, rest, common


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
    if own or not rest or not all(_only_in(v, nodes) for v in rest):
        return None
    f = rest[0]
    s, t = argument_of(f, sigmoid, dtype), argument_of(f, T.tanh, dtype)
    if len(rest) == 2 and t is not None and same_expression(rest[1], f) and ratio == -1:
        return a.times(4, sigmoid_slope(_scaled(2, t, dtype)))
    if len(rest) != 1:
        return None
    if t is not None and abs(ratio) == 1:
        return a.times(2, sigmoid(_scaled(2 * ratio, t, dtype)))
    # What is left of a bare sigmoid to 1 has a rewrite of its own.
    if s is not None and ratio == -1 and (a.top or a.factor != 1):
        return a.times(1, sigmoid(_scaled(-1, s, dtype)))
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
        return a.times(-1, T.tanh(_scaled(0.5, x, dtype)))
    y = argument_of(own[0], sigmoid, dtype) if len(own) == 1 else None
    if x is None or y is None or ratio != -1 or not same_expression(_scaled(-1, x, dtype), _scaled(1, y, dtype)):
        return None
    return Term(a.factor, common, a.bottom, []).times(1, T.tanh(_scaled(0.5, y, dtype)))


_SIGMOID, _TANH = (type(op.scalar_op) for op in (sigmoid, T.tanh))
_FUNCTION_CLASSES = frozenset((_SIGMOID, _TANH))


def _near_function(inputs: list[Any], counts: Any, depth: int = 3) -> bool:
    """Whether a sigmoid or a hyperbolic tangent that `counts` is among the factors of `inputs`; it seldom is."""
    for v in inputs:
        node = v.owner
        if node is None or type(node.op) is not Elemwise:
            continue
        kind = type(node.op.scalar_op)
        if kind in _FUNCTION_CLASSES:
            if counts(v, kind):
                return True
        elif depth and kind in _PRODUCT_CLASSES and _near_function(node.inputs, counts, depth - 1):
            return True
    return False


def _are_of_one_factor(inputs: list[Any]) -> bool:
    """Whether each input is one factor, or one times a constant, at a glance: then none is another times something."""
    for v in inputs:
        if v.owner is None:
            if isinstance(v, Constant):
                return False
            continue
        if type(v.owner.op) is not Elemwise:
            if as_scalar_constant(v) is not None:
                return False
            continue
        kind = type(v.owner.op.scalar_op)
        if kind is _MUL and len(v.owner.inputs) == 2:
            constant, factor = v.owner.inputs
            if as_scalar_constant(constant) is None:
                return False
            kind = None if factor.owner is None or type(factor.owner.op) is not Elemwise else type(factor.owner.op.scalar_op)
            if kind is None and as_scalar_constant(factor) is not None:
                return False
        if kind in _PRODUCT_CLASSES:
            return False
    return True


#: How far from a function what takes it is looked for.
_STEPS = 16


def _is_needed_beside(node: Any) -> Any:
    """What says of a variable whether all that takes it goes into `node`, or into the product that alone takes that."""
    clients = node.outputs[0].clients
    beside = clients[0][0] if len(clients) == 1 and clients[0][0] != "output" else None

    def counts(v: Any, kind: type) -> bool:
        for client, _ in v.clients:
            for _ in range(_STEPS):
                if client is node or client is beside:
                    break
                if client == "output" or type(client.op) is not Elemwise:
                    return False
                takers = client.outputs[0].clients
                if len(takers) != 1 and len({taker for taker, _ in takers}) != 1:
                    return False
                client = takers[0][0]
        return True

    return counts


@register_canonicalize
@register_stabilize
@register_specialize
@local_optimizer([T.sub, T.add], among_inputs=[sigmoid, T.tanh, *_PRODUCTS], needs=[sigmoid, T.tanh])
def local_complements(node: Any) -> Any:
    """``a - a * tanh(x) -> 2 * a * sigmoid(-2 * x)``, ``a - a * tanh(x) ** 2 -> 4 * a * sigmoid_slope(2 * x)``,
    and ``a - a * sigmoid(x) -> a * sigmoid(-x)``, where the function is needed for nothing else
    """
    dtype = node.outputs[0].type.dtype
    inputs = node.inputs
    if len(inputs) > _TERMS or dtype not in T.float_dtypes or (len(inputs) == 2 and _are_of_one_factor(inputs)):
        return False
    if not _near_function(inputs, _is_needed_beside(node)):
        return False
    # The logarithm of a complement has a function of its own.
    if any(client != "output" and is_elemwise(client, T.log) for client, _ in node.outputs[0].clients):
        return False
    return _summed(node, _complement)


def _is_sigmoid(v: Any, kind: type) -> bool:
    return kind is _SIGMOID


def _is_any(v: Any, kind: type) -> bool:
    return True


@register_specialize
@local_optimizer([T.sub, T.add], among_inputs=[sigmoid, *_PRODUCTS], needs=[sigmoid, T.tanh])
def local_difference_of_sigmoids(node: Any) -> Any:
    """``a * sigmoid(x) - a * sigmoid(-x) -> a * tanh(x / 2)`` and ``a - 2 * a * sigmoid(x) -> -a * tanh(x / 2)``

    Not before the canonical form has cancelled what there is once more.
    """
    dtype = node.outputs[0].type.dtype
    if len(node.inputs) > _TERMS or dtype not in T.float_dtypes:
        return False
    # Of more than two terms two may cancel that have no sigmoid.
    if len(node.inputs) == 2 and not _near_function(node.inputs, _is_sigmoid):
        return False
    if sum(isinstance(i, Constant) or _near_function([i], _is_any) for i in node.inputs) < 2:
        return False
    return _summed(node, _difference_of_sigmoids)


def _summed(node: Any, of_two: Any) -> Any:
    """`node` with what `of_two` makes of two of its terms in their place, or False."""
    dtype = node.outputs[0].type.dtype
    terms = [_term(i) for i in node.inputs]
    if is_elemwise(node, T.sub) and terms[1] is not None:
        terms[1].factor = -terms[1].factor
    known = [(k, term) for k, term in enumerate(terms) if term is not None]
    for rule in (_cancel, of_two) if len(terms) > 2 else (of_two,):
        for (j, a), (k, b) in permutations(known, 2):
            new = rule(node, a, b, dtype)
            if new is not None:
                parts = [i for position, i in enumerate(node.inputs) if position not in (j, k)]
                parts += [new.built(dtype)] if new.factor else []
                return replacement(node, T.add(*parts) if len(parts) > 1 else parts[0])
    return False


def _plus_one_minus(v: Any) -> tuple[Any, int] | None:
    """``(t, s)`` if `v` is ``1 + s * t`` for s = 1 or -1, else None."""
    node = v.owner
    if not is_elemwise(node, T.add, T.sub) or len(node.inputs) != 2:
        return None
    a, b = node.inputs
    one = as_scalar_constant(a)
    if one is None and is_elemwise(node, T.add):
        a, b, one = b, a, as_scalar_constant(b)
    if one is None or one != 1:
        return None
    s = 1 if is_elemwise(node, T.add) else -1
    return (b.owner.inputs[0], -s) if is_elemwise(b.owner, T.neg) else (b, s)


@register_stabilize
@register_specialize
@local_optimizer([T.true_div], among_inputs=[T.sub, T.neg, T.mul, sigmoid_slope], needs=[sigmoid, T.tanh])
def local_quotient_of_complements(node: Any) -> Any:
    """``(1 - tanh(x) ** 2) / (1 - tanh(x)) -> 2 * sigmoid(2 * x)`` and ``sigmoid_slope(x) / sigmoid(x) -> sigmoid(-x)`` among
    other factors, and so for ``1 + tanh(x)``
    """
    dtype = node.outputs[0].type.dtype
    s, below = argument_of(node.inputs[1], sigmoid, dtype), _plus_one_minus(node.inputs[1])
    t = None if below is None else argument_of(below[0], T.tanh, dtype)
    term = None if s is None and t is None else _term(node.inputs[0])
    if term is None:
        return False
    for k, factor in enumerate(term.top):
        u = None if s is None else argument_of(factor, sigmoid_slope, dtype)
        above = None if t is None else _plus_one_minus(factor)
        square = None if above is None or above[1] != -1 else above[0].owner
        is_square = is_elemwise(square, T.sqr) or (is_elemwise(square, T.mul) and len(square.inputs) == 2)
        # What a slope is of has lost its sign.
        if u is not None and any(same_expression(_scaled(sign, s, dtype), _scaled(1, u, dtype)) for sign in (1, -1)):
            new = (1, sigmoid(_scaled(-1, s, dtype)))
        elif is_square and below is not None and all(i is below[0] for i in square.inputs):
            new = (2, sigmoid(_scaled(-2 * below[1], t, dtype)))
        else:
            continue
        del term.top[k]
        return replacement(node, term.times(*new).built(dtype))
    return False


def _power_of_1_plus_exp(v: Any) -> tuple[Any, int]:
    """``(x, n)`` if `v` is ``(1 + exp(x)) ** n`` for n = 2, 4, 8 ..., else ``(None, 1)``."""
    n = 1
    while is_elemwise(v.owner, T.sqr):
        v, n = v.owner.inputs[0], 2 * n
    found = _plus_one_minus(v) if n > 1 else None
    x = None if found is None or found[1] != 1 else argument_of(found[0], T.exp, v.type.dtype)
    return x, n


@register_stabilize
@register_specialize
@local_optimizer([T.true_div, T.inv], among_inputs=[T.sqr, T.mul], needs=[T.exp])
def local_inv_sqr_1_plus_exp(node: Any) -> Any:
    """``a / (1 + exp(x)) ** 2 -> a * sigmoid(-x) ** 2``"""
    dtype = node.outputs[0].type.dtype
    if dtype not in T.float_dtypes:
        return False
    bottom = node.inputs[-1]
    factors = list(bottom.owner.inputs) if is_elemwise(bottom.owner, T.mul) else [bottom]
    for k, factor in enumerate(factors):
        x, n = _power_of_1_plus_exp(factor)
        if x is None or factor.type.dtype != dtype:
            continue
        new = sigmoid(_scaled(-1, x, dtype))
        while n > 1:
            new, n = T.sqr(new), n // 2
        if len(node.inputs) == 2:
            new = T.mul(node.inputs[0], new)
        rest = product_of(factors[:k] + factors[k + 1 :])
        return replacement(node, new if rest is None else T.true_div(new, rest))
    return False


@register_stabilize
@register_specialize
@local_optimizer([T.mul], among_inputs=[T.exp, T.sqr], needs=[sigmoid])
def local_exp_times_sigmoids(node: Any) -> Any:
    """``exp(x) * (a * sigmoid(-x)) -> a * sigmoid(x)`` and ``(1 + exp(x)) * (a * sigmoid(-x)) -> a``, the sigmoid being a
    factor of a product or of a square
    """
    dtype = node.outputs[0].type.dtype
    if dtype not in T.float_dtypes or not any(is_elemwise(i.owner, T.mul, T.sqr, T.neg) for i in node.inputs):
        return False
    parts = [_term(i) for i in node.inputs]
    if any(p is None for p in parts):
        return False
    term = Term(1.0, [], [], [])
    for p in parts:
        term.factor *= p.factor  # type: ignore[union-attr]
        term.top += p.top  # type: ignore[union-attr]
        term.bottom += p.bottom  # type: ignore[union-attr]
    changed = False
    for e in list(term.top):
        sum_of_one = _plus_one_minus(e)
        argument = argument_of(e if sum_of_one is None or sum_of_one[1] < 0 else sum_of_one[0], T.exp, dtype)
        if argument is None:
            continue
        minus = _scaled(-1, argument, dtype)
        for k, v in enumerate(term.top):
            u = argument_of(v, sigmoid, dtype)
            if u is not None and same_expression(_scaled(1, u, dtype), minus):
                term.top[k : k + 1] = [sigmoid(_scaled(1, argument, dtype))] if sum_of_one is None else []
                del term.top[_position(e, term.top)]
                changed = True
                break
    return replacement(node, term.built(dtype)) if changed else False


@register_uncanonicalize
@local_optimizer([T.mul], among_inputs=[sigmoid])
def local_sigmoid_slope(node: Any) -> Any:
    """``sigmoid(x) * sigmoid(-x) -> sigmoid_slope(x)``, if neither is needed for anything else"""
    dtype = node.outputs[0].type.dtype
    found = [(i, x) for i in node.inputs if (x := argument_of(i, sigmoid, dtype)) is not None and len(i.clients) == 1]
    for k, (i, x) in enumerate(found):
        for j, y in found[:k]:
            if not same_expression(_scaled(-1, x, dtype), _scaled(1, y, dtype)):
                continue
            rest = list(node.inputs)
            rest.remove(i)
            rest.remove(j)
            return replacement(node, product_of([*rest, sigmoid_slope(_scaled(1, y, dtype))]))
    return False


#: ``f(x) - x == partner(-x)``
_PARTNERS = ((softplus, softplus), (log_expm1, log_1_minus_exp), (log_1_minus_exp, log_expm1))


@register_stabilize
@register_specialize
@local_optimizer(
    [T.sub, T.add], among_inputs=[softplus, log_expm1, log_1_minus_exp, T.neg], needs=[softplus, log_expm1, log_1_minus_exp]
)
def local_softplus_less_argument(node: Any) -> Any:
    """``softplus(x) - x -> softplus(-x)``, ``softplus(x) - softplus(-x) -> x``, ``log(exp(x) - 1) - x -> log(1 - exp(-x))``
    and ``log(1 - exp(x)) - x -> log(exp(-x) - 1)``
    """
    dtype = node.outputs[0].type.dtype
    if len(node.inputs) != 2 or dtype not in T.float_dtypes:
        return False
    signed = []
    for k, v in enumerate(node.inputs):
        negative = bool(k) and is_elemwise(node, T.sub)
        while is_elemwise(v.owner, T.neg) and v.type.dtype == dtype:
            v, negative = v.owner.inputs[0], not negative
        signed.append((v, negative))
    for (v, negative), (w, other_negative) in (signed, signed[::-1]):
        for f, partner in _PARTNERS:
            u = argument_of(v, f, dtype)
            if u is None or u.type != v.type or len(v.clients) > 1:
                continue
            minus = _scaled(-1, u, dtype)
            if negative != other_negative and f is softplus:
                opposite = argument_of(w, softplus, dtype)
                if opposite is not None and same_expression(_scaled(1, opposite, dtype), minus):
                    return replacement(node, T.neg(u) if negative else u)
            same = same_expression(_scaled(1, w, dtype), _scaled(1, u, dtype)) and negative != other_negative
            if same or (same_expression(_scaled(1, w, dtype), minus) and negative == other_negative):
                new = partner(minus)
                return replacement(node, T.neg(new) if negative else new)
    return False

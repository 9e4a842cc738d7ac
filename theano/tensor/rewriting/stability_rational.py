"""Rational functions of one exponential, as second derivatives are: they become products that are not 0 / 0 and do not cancel."""

from __future__ import annotations

from math import gcd, lcm
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.nnet.sigm import sigmoid, softplus
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.stability import log_cosh
from theano.tensor.rewriting.stability_complement import sigmoid_slope
from theano.tensor.rewriting.stability_log import log_1_minus_tanh
from theano.tensor.rewriting.terms import (
    as_scalar_constant,
    is_elemwise,
    kind_of,
    product_of,
    quotient,
    repeated_constant,
    replacement,
    scaled,
    sum_of,
)

if TYPE_CHECKING:
    from fractions import Fraction

#: Each function of `x` as a quotient of polynomials of E, powers and coefficients, where E is ``exp(x)`` or ``exp(2 * x)``.
_FUNCTIONS = {
    T.exp: (1, {1: 1}, {0: 1}),
    T.expm1: (1, {1: 1, 0: -1}, {0: 1}),
    sigmoid: (1, {1: 1}, {1: 1, 0: 1}),
    sigmoid_slope: (1, {1: 1}, {2: 1, 1: 2, 0: 1}),
    T.tanh: (2, {1: 1, 0: -1}, {1: 1, 0: 1}),
    T.cosh: (1, {1: 1, -1: 1}, {0: 2}),
    T.sinh: (1, {1: 1, -1: -1}, {0: 2}),
}
_OPERATIONS = (T.add, T.sub, T.mul, T.true_div, T.inv, T.neg, T.sqr, T.pow)
_ADD, _SUB, _MUL, _TRUE_DIV, _INV, _NEG, _SQR, _POW = (type(op.scalar_op) for op in _OPERATIONS)
_KINDS = {type(op.scalar_op): form for op, form in _FUNCTIONS.items()}
_ARITHMETIC = frozenset({_ADD, _SUB, _MUL, _TRUE_DIV, _INV, _NEG, _SQR, _POW})
_SUMS = frozenset({_ADD, _SUB})
_DIVISIONS = frozenset({_TRUE_DIV, _INV})

#: Expressions with more nodes, powers or groups of terms are left alone.
_NODES, _POWERS, _GROUPS = 60, 24, 6

#: A polynomial of whole, also negative, powers of E: power -> coefficient, none of which is 0.
Polynomial: TypeAlias = "dict[int, int | Fraction]"
#: Numerator and denominator, for each product of powers of other factors.
Groups: TypeAlias = "dict[frozenset, tuple[Polynomial, Polynomial]]"
_ONE: Polynomial = {0: 1}


def _fraction(*parts: Any) -> Fraction:
    # Few graphs have a use for the module, and what it imports takes longer than the rest of this file.
    from fractions import Fraction

    return Fraction(*parts)


class _TooMuch(Exception):
    """What was to be taken apart is too big or no rational function."""


def _plus(a: Polynomial, b: Polynomial) -> Polynomial:
    total = dict(a)
    for n, c in b.items():
        total[n] = total.get(n, 0) + c
    return {n: c for n, c in total.items() if c}


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    if a and b and max(a) + max(b) - min(a) - min(b) > _POWERS:
        raise _TooMuch
    total: Polynomial = {}
    for n, c in a.items():
        for m, d in b.items():
            total[n + m] = total.get(n + m, 0) + c * d
    return {n: c for n, c in total.items() if c}


def _divided(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and rest of polynomials without negative powers."""
    quotient: Polynomial = {}
    top = max(b)
    while a and max(a) >= top:
        n, c = max(a) - top, _fraction(a[max(a)], b[top])
        quotient[n] = c
        a = _plus(a, {n + m: -c * d for m, d in b.items()})
    return quotient, a


def _common(a: Polynomial, b: Polynomial) -> Polynomial:
    while b:
        a, b = b, _divided(a, b)[1]
        b = {n: _fraction(c, b[max(b)]) for n, c in b.items()}
    return a


def _exponent(u: Any, depth: int = 8) -> tuple[Fraction, Any]:
    """``(k, x)`` with ``u == k * x``, k of few digits."""
    kind = kind_of(u) if depth > 0 else None
    inputs = u.owner.inputs if kind is not None else ()
    if kind is _NEG:
        k, x = _exponent(inputs[0], depth - 1)
        return -k, x
    if kind in _SUMS and len(inputs) == 2:
        (c, x), (d, other) = (_exponent(i, depth - 2) for i in inputs)
        k = c + d if kind is _ADD else c - d
        if other is x and x.type == u.type and k:
            return k, x
    elif kind in (_MUL, _TRUE_DIV) and len(inputs) == 2:
        constants = [as_scalar_constant(i) for i in inputs]
        at = 1 if kind is _TRUE_DIV or constants[0] is None else 0
        number, rest = constants[at], inputs[1 - at]
        if number is not None and np.isfinite(number) and number and rest.type == u.type:
            c = _fraction(float(number))
            if max(abs(c.numerator), c.denominator) <= 64:
                k, x = _exponent(rest, depth - 1)
                return (k / c if kind is _TRUE_DIV else k * c), x
    return _fraction(1), u


def _has_function(v: Any) -> bool:
    todo, seen = [v], 0
    while todo and seen < _NODES:
        node, seen = todo.pop().owner, seen + 1
        # As `kind_of` says it: this is asked often.
        kind = type(node.op.scalar_op) if node is not None and type(node.op) is Elemwise else None
        if kind in _KINDS:
            return True
        if kind in _ARITHMETIC:
            todo += node.inputs
    return False


def _is_negative(power: Any) -> bool:
    exponent = as_scalar_constant(power.inputs[1])
    return exponent is not None and bool(exponent < 0)


class _Tree:
    """The arithmetic above one output: what it is a rational function of, and how it is written."""

    def __init__(self, root: Any):
        self.dtype = root.type.dtype
        self.leaves: list[tuple[Any, bool]] = []
        self.nodes: set[Any] = set()
        self.sums = self.divisions = 0
        todo = [(root, False)]
        while todo:
            v, below = todo.pop()
            kind = kind_of(v)
            if v.type.dtype != self.dtype or as_scalar_constant(v) is not None:
                continue
            if kind in _KINDS:
                self.leaves.append((v, below))
                continue
            if kind not in _ARITHMETIC:
                continue
            node = v.owner
            if len(self.nodes) >= _NODES:
                raise _TooMuch
            divisor = node.inputs[-1] if kind in _DIVISIONS else node.inputs[0] if kind is _POW and _is_negative(node) else None
            seen = node in self.nodes
            self.nodes.add(node)
            if not seen:
                # A sum without functions stays what it is.
                self.sums += kind in _SUMS and _has_function(v)
                self.divisions += divisor is not None and _has_function(divisor)
            if seen and not below:
                continue
            todo += [(i, below or i is divisor) for i in node.inputs]
            if len(todo) > 4 * _NODES:
                raise _TooMuch

    def choose(self, divides: bool) -> bool:
        """Settle on the argument that the functions below the line have, or any; False if there is none."""
        found = [(v, below, *_exponent(v.owner.inputs[0])) for v, below in self.leaves]
        self.x = next((x for _, below, _, x in found if (below or not divides) and x.type.dtype == self.dtype), None)
        if self.x is None:
            return False
        factors = [k * _KINDS[kind_of(v)][0] for v, _, k, x in found if x is self.x]
        denominator = lcm(*(k.denominator for k in factors))
        self.unit = _fraction(gcd(*(int(k * denominator) for k in factors)), denominator)
        self.memory: dict[Any, Groups] = {}
        self.opaque: dict[int, Any] = {}
        return bool(self.unit)

    def of(self, v: Any) -> Groups:
        if v not in self.memory:
            self.memory[v] = self._of(v)
        return self.memory[v]

    def _of(self, v: Any) -> Groups:
        constant = repeated_constant(v)
        if constant is not None:
            if not np.isfinite(constant):
                raise _TooMuch
            c = _fraction(float(constant))
            return {frozenset(): ({0: c} if c else {}, _ONE)}
        kind = kind_of(v) if v.type.dtype == self.dtype else None
        if kind in _KINDS:
            known = self._function(kind, v.owner.inputs[0])
            if known is not None:
                return {frozenset(): known}
        elif kind in _ARITHMETIC:
            inputs = v.owner.inputs
            if kind in _SUMS:
                # ``1 - y`` with terms of its own would not be 0 any more where y is 1.
                if not _has_function(v):
                    return self._whole(v)
                return self._sum([(i, -1 if j and kind is _SUB else 1) for j, i in enumerate(inputs)])
            if kind is _NEG:
                return self._sum([(inputs[0], -1)])
            if kind is _SQR:
                return self._product([(inputs[0], 1)] * 2, v)
            if kind is _MUL:
                return self._product([(i, 1) for i in inputs], v)
            if kind in _DIVISIONS:
                return self._product([*((i, 1) for i in inputs[:-1]), (inputs[-1], -1)], v)
            n = as_scalar_constant(inputs[1])
            if n is not None and n == np.floor(n) and 0 < abs(n) <= 4:
                return self._product([(inputs[0], 1 if n > 0 else -1)] * int(abs(n)), v)
        return self._whole(v)

    def _whole(self, v: Any) -> Groups:
        self.opaque[id(v)] = v
        return {frozenset({(id(v), 1)}): (_ONE, _ONE)}

    def _function(self, kind: Any, u: Any) -> tuple[Polynomial, Polynomial] | None:
        k, x = _exponent(u)
        if x is not self.x:
            return None
        of, top, bottom = _KINDS[kind]
        n = k / self.unit * of
        if n.denominator != 1 or abs(n) > 8:
            raise _TooMuch
        return {p * int(n): c for p, c in top.items()}, {p * int(n): c for p, c in bottom.items()}

    def _sum(self, terms: list[tuple[Any, int]]) -> Groups:
        total: Groups = {}
        for v, sign in terms:
            for key, (top, bottom) in self.of(v).items():
                top = {n: sign * c for n, c in top.items()}
                if key in total:
                    other, under = total[key]
                    if under == bottom:
                        top = _plus(other, top)
                    else:
                        top, bottom = _plus(_times(other, bottom), _times(top, under)), _times(under, bottom)
                total[key] = _lowest(top, bottom)
        if len(total) > _GROUPS:
            raise _TooMuch
        return total

    def _product(self, factors: list[tuple[Any, int]], v: Any) -> Groups:
        total: Groups = {frozenset(): (_ONE, _ONE)}
        for f, power in factors:
            groups = self.of(f)
            if power < 0:
                if len(groups) != 1:
                    groups = self._whole(f)
                ((key, (top, bottom)),) = groups.items()
                if not top:
                    raise _TooMuch
                groups = {frozenset((i, -n) for i, n in key): (bottom, top)}
            if len(total) > 1 and len(groups) > 1:
                groups = self._whole(f)
            new: Groups = {}
            for a, (top, bottom) in total.items():
                for b, (other, under) in groups.items():
                    powers = dict(a)
                    for i, n in b:
                        powers[i] = powers.get(i, 0) + n
                    key = frozenset((i, n) for i, n in powers.items() if n)
                    new[key] = _lowest(_times(top, other), _times(bottom, under))
            total = new
        return total


def _lowest(top: Polynomial, bottom: Polynomial, degree: int = 6) -> tuple[Polynomial, Polynomial]:
    """The fraction with a denominator that E does not divide, in lowest terms if that has more than `degree`."""
    if not top:
        return {}, _ONE
    shift, low = min(top), min(bottom)
    top, bottom = {n - shift: c for n, c in top.items()}, {n - low: c for n, c in bottom.items()}
    if max(bottom) > degree:
        common = _common(top, bottom)
        if max(common):
            top, bottom = _divided(top, common)[0], _divided(bottom, common)[0]
    scale = bottom[max(bottom)]
    return {n + shift - low: _fraction(c, scale) for n, c in top.items()}, {n: _fraction(c, scale) for n, c in bottom.items()}


def _without_root(a: Polynomial, root: int) -> tuple[int, Polynomial]:
    """How often ``E - root`` divides a polynomial, and what is left of that."""
    count = 0
    while True:
        quotient, rest = _divided(a, {1: 1, 0: -root})
        if rest:
            return count, a
        count, a = count + 1, quotient


class _Shape:
    """``c * E**a * (E - 1)**b * (E + 1)**-n * rest(E)``, ``E = exp(w * x)``"""

    def __init__(self, top: Polynomial, bottom: Polynomial, unit: Fraction):
        top, bottom = _lowest(top, bottom, 0)
        step = gcd(*top, *bottom) or 1
        self.w = unit * step
        top = {n // step: c for n, c in top.items()}
        bottom = {n // step: c for n, c in bottom.items()}
        self.a = min(top)
        top = {n - self.a: c for n, c in top.items()}
        (b, top), (less_b, bottom) = _without_root(top, 1), _without_root(bottom, 1)
        (less_n, top), (n, bottom) = _without_root(top, -1), _without_root(bottom, -1)
        self.b, self.n = b - less_b, n - less_n
        if len(bottom) > 1:
            raise _TooMuch
        leading = top[max(top)]
        self.c = _fraction(leading, bottom[0])
        self.rest = {n: _fraction(c, leading) for n, c in top.items()}
        self.d = max(top)

    def built(self, x: Any, dtype: str) -> tuple[float, list[Any], list[Any]]:
        """A number, the factors above the line and those below."""
        v, minus_v = scaled(self.w, x, dtype), scaled(-self.w, x, dtype)
        top: list[Any] = []
        bottom: list[Any] = []
        c, a, b, n = self.c, self.a, self.b, self.n
        if b > 0 or (b < 0 and n < 0):
            many = b if b > 0 else -min(-b, -n)
            (top if many > 0 else bottom).extend([T.tanh(scaled(self.w / 2, x, dtype))] * abs(many))
            b, n = b - many, n - many
        if b < 0:
            flipped = max(0, min(a, -b))
            bottom += [T.expm1(minus_v)] * flipped + [T.expm1(v)] * (-b - flipped)
            c, a = c * (-1) ** flipped, a - flipped
        if n < 0 or n < self.d:
            raise _TooMuch
        if self.d:
            n -= self.d
            top.append(self._remainder(v, minus_v, dtype))
        lower, upper = a, n - a
        if lower < 0 or upper < 0:
            growth = lower if lower < 0 else -upper
            top.append(T.exp(scaled(growth * self.w, x, dtype)))
            lower, upper = lower - growth, upper + growth
            if lower < 0 or upper < 0:
                raise _TooMuch
        both = min(lower, upper)
        top += [sigmoid_slope(v)] * both + [sigmoid(v)] * (lower - both) + [sigmoid(minus_v)] * (upper - both)
        return float(c), top, bottom

    def _remainder(self, v: Any, minus_v: Any, dtype: str) -> Any:
        """``rest(E) / (E + 1)**d``, of ``sigmoid(v)`` and ``sigmoid(-v)``."""
        if self.d > 3:
            raise _TooMuch
        number = {k: np.asarray(float(c), dtype=dtype) for k, c in self.rest.items()}
        if self.d == 2 and self.rest[0] == 1:
            slope = self.rest.get(1, 0) - 2
            return T.add(np.asarray(1, dtype=dtype), T.mul(np.asarray(float(slope), dtype=dtype), sigmoid_slope(v)))
        terms = [product_of([number[k], *[sigmoid(v)] * k, *[sigmoid(minus_v)] * (self.d - k)]) for k in number]
        return T.add(*terms)


def _with_powers(key: frozenset, tree: _Tree) -> tuple[list[Any], list[Any]]:
    """The other factors of a group above and below the line, by their places; those of other dtypes are last."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    powers = dict(key)
    for i, v in sorted(tree.opaque.items(), key=lambda item: item[1].type.dtype != tree.dtype):
        n = powers.get(i, 0)
        sides[n < 0].extend([v] * abs(n))
    return sides


def _is_of_functions(node: Any) -> bool:
    """Whether all terms of `node`, but constants, have functions, if it is a sum: else they have no common factor."""
    if type(node.op.scalar_op) not in _SUMS:
        return True
    return all(_has_function(i) for i in node.inputs if as_scalar_constant(i) is None)


def _worth(v: Any) -> _Tree | None:
    """What `v` is written with, if there are functions below the line or sums of functions needed for nothing else."""
    try:
        tree = _Tree(v)
    except _TooMuch:
        return None
    if not tree.leaves:
        return None
    if any(below for _, below in tree.leaves):
        return tree if tree.choose(True) else None
    if not tree.sums or len(tree.nodes) < 3 or any(client != "output" and client.op == T.log for client, _ in v.clients):
        return None
    private = all(client != "output" and client in tree.nodes for leaf, _ in tree.leaves for client, _ in leaf.clients)
    return tree if private and all(map(_is_of_functions, tree.nodes)) and tree.choose(False) else None


@rewrites([T.mul, T.true_div, T.inv, T.add, T.sub, T.neg], "specialize", among_inputs=list(_OPERATIONS), needs=list(_FUNCTIONS))
def local_rational_function_of_exp(node: Any) -> Any:
    """``a * exp(x) / (1 + exp(x)) - a * exp(x) ** 2 / (1 + exp(x)) ** 2 -> a * sigmoid_slope(x)`` and so for all that is a
    rational function of ``exp(x)``, with tanh, sigmoid, sinh and cosh, as second derivatives are

    With functions below the line, which there are fewer of then; or where the sums vanish and the functions are needed for
    nothing else. The rewrites that stabilize know special forms, and look for them first: they cost less.
    """
    root = node.outputs[0]
    # A part of a larger expression is looked at with that as a whole.
    users = [client for client, _ in root.clients if client != "output"]
    if root.type.dtype not in T.float_dtypes or any(kind_of(user.outputs[0]) in _ARITHMETIC for user in users):
        return False
    tree = _worth(root)
    if tree is None:
        return False
    divides = any(below for _, below in tree.leaves)
    try:
        shapes = [
            (key, _Shape(*fraction, tree.unit))  # type: ignore[misc]
            for key, fraction in tree.of(root).items()
            if fraction[0]
        ]
        terms = []
        # What stays as it is written counts as it did.
        whole = {i: _Tree(tree.opaque[i]) for key, _ in shapes for i, _ in key if _has_function(tree.opaque[i])}
        sums = len(shapes) - 1 + sum(part.sums for part in whole.values())
        divisions = sum(part.divisions for part in whole.values())
        for key, shape in shapes:
            divisions += any(n < 0 and i in whole for i, n in key)
            top, bottom = _with_powers(key, tree)
            c, above, below = shape.built(tree.x, tree.dtype)
            sums += shape.d > 0
            divisions += bool(below)
            numbers = [np.asarray(c, dtype=tree.dtype)] if c != 1 else []
            terms.append(quotient([*numbers, *top, *above], [*bottom, *below], tree.dtype))
    except _TooMuch:
        return False
    if (divisions, sums) >= (tree.divisions, tree.sums) if divides else len(shapes) > 1 or sums >= tree.sums:
        return False
    return replacement(node, sum_of(terms) if terms else np.asarray(0, dtype=tree.dtype))


@rewrites([T.log, T.log1p], "stabilize specialize", among_inputs=[*_OPERATIONS, sigmoid_slope], needs=list(_FUNCTIONS))
def local_log_of_rational_function_of_exp(node: Any) -> Any:
    """``log(a * exp(x) / (1 + exp(x)) ** 2) -> log(a) - softplus(x) - softplus(-x)`` and ``log((1 - tanh(x)) / 2) ->
    -softplus(2 * x)``, the function of `x` being positive
    """
    inner = node.inputs[0]
    dtype = inner.type.dtype
    if dtype not in T.float_dtypes or node.outputs[0].type.dtype != dtype:
        return False
    try:
        tree = _Tree(inner)
        is_slope = any(v.owner.op == sigmoid_slope for v, _ in tree.leaves)
        is_composed = tree.sums or tree.divisions or len(tree.leaves) > 1 or is_slope
        if not is_composed or not tree.choose(False):
            return False
        groups = tree.of(inner)
        if is_elemwise(node, T.log1p):
            if not tree.sums or len(groups) != 1 or frozenset() not in groups:
                return False
            top, bottom = groups[frozenset()]
            groups = {frozenset(): _lowest(_plus(top, bottom), bottom)}
        if len(groups) != 1:
            return False
        ((key, fraction),) = groups.items()
        if not fraction[0]:
            return False
        shape = _Shape(*fraction, tree.unit)
    except _TooMuch:
        return False
    p, q = shape.a, shape.n - shape.a
    if shape.b or shape.d or shape.c <= 0 or p < 0 or q < 0 or p + q < 1:
        return False
    top, bottom = _with_powers(key, tree)
    part, c = None, shape.c
    if p == q and c == 4**p:
        part, c = T.mul(np.asarray(-2 * p, dtype=dtype), log_cosh(scaled(shape.w / 2, tree.x, dtype))), 1
    elif p + q == 1 and c == 2:
        part, c = log_1_minus_tanh(scaled(shape.w * (q - p) / 2, tree.x, dtype)), 1
    # Near 0 a logarithm is not to be a difference.
    elif not top and not bottom and c > 1 and float(c) * (p**p * q**q / (p + q) ** (p + q)) > 0.9:
        return False
    number = [np.asarray(float(c), dtype=dtype)] if c != 1 else []
    new = T.log(quotient([*number, *top], bottom, dtype)) if number or top or bottom else None
    if part is not None:
        new = part if new is None else T.add(new, part)
    for many, sign in ((p, -1), (q, 1)):
        if many and part is None:
            term = softplus(scaled(sign * shape.w, tree.x, dtype))
            term = term if many == 1 else T.mul(np.asarray(many, dtype=dtype), term)
            new = T.neg(term) if new is None else T.sub(new, term)
    return replacement(node, new)

"""The language that rules for tensors are written in.

``P.log(x)`` is a pattern: the Op of `theano.tensor` applied to what `x` stands for. Operators make patterns for an expression
however it is written: ``1 - x`` is also ``1 + -x`` and ``-1 * x + 1``. Numbers are constants of one element. After the arrow
of ``rule(before, after)`` the same things are built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.rewriting import rules
from theano.gof.rewriting.index import Form
from theano.gof.rewriting.match import ANYTHING, Applied, Either, Found, Named, Number, Only, Part, Rest, Scope, in_any_order
from theano.gof.rewriting.rules import Made, Otherwise
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.registry import registrars
from theano.tensor.rewriting.terms import (
    MOST_FACTORS,
    as_scalar_constant,
    constant_like,
    constant_of,
    is_inexact,
    negated,
    opened,
    quotient,
    replacement,
    same_expression,
    scaled,
    split_constants,
    with_number,
)

__all__ = [
    "SAME_TYPE", "Made", "Otherwise", "P", "Rest", "a", "among", "applies", "b", "c", "called", "d", "number", "once", "replaces",
    "rest", "rewrite", "rule", "times", "w", "x", "y", "z",
]  # fmt: skip


class _Arithmetic(Part):
    """A part with operators."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _sum(self, _part(other))

    def __radd__(self, other: Any) -> Any:
        return _sum(_part(other), self)

    def __sub__(self, other: Any) -> Any:
        return _difference(self, _part(other))

    def __rsub__(self, other: Any) -> Any:
        return _difference(_part(other), self)

    def __mul__(self, other: Any) -> Any:
        return P.mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return P.mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return P.true_div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if other == 1:
            return _Ways(self, lambda: (P.inv(self), P.true_div(1, self)))
        return P.true_div(other, self)

    def __pow__(self, other: Any) -> Any:
        if other == 2:
            return _Ways(self, lambda: (P.sqr(self), P.pow(self, 2), P.mul(self, self)))
        return P.pow(self, other)

    def __neg__(self) -> Any:
        return _minus(self)


class _Named(_Arithmetic, Named):
    __slots__ = ()


class _Applied(_Arithmetic, Applied):
    __slots__ = ()


class _Ways(_Arithmetic, Either):
    """The ways to write an expression, which are made when they are first looked for.

    Parameters
    ----------
    part : Part
        What is in all of them.
    make : callable
        Returns the ways.
    """

    __slots__ = ("_made", "_make", "depth", "innermost")

    def __init__(self, part: Part, make: Callable[[], Sequence[Part]]):
        self._make, self._made = make, None
        self.depth, self.innermost = part.depth, part.innermost

    @property
    def options(self) -> Sequence[Part]:  # type: ignore[override]
        if self._made is None:
            self._made = self._make()
        return self._made


class _Negative(_Arithmetic, Only):
    """The negative of a part; that of an integer may have wrapped around, and is none."""

    __slots__ = ("negated",)

    def __init__(self, part: Part):
        super().__init__(_Ways(part, lambda: (P.neg(part), P.mul(-1, part))), is_inexact)
        self.negated = part

    def build(self, found: Found, number: Callable[[Any], Any]) -> Any:
        v = self.negated.build(found, number)
        value = as_scalar_constant(v)
        return negated(v) if value is None else constant_like(-value, v)


class _Number(_Arithmetic, Number):
    __slots__ = ()

    @property
    def seen_as(self) -> tuple:  # type: ignore[override]
        return (self.value,)

    def is_it(self, v: Any) -> bool:
        if v.owner is not None and type(v.owner.op) is DimShuffle:
            v = v.owner.inputs[0]
        return v.owner is None and isinstance(v, Constant) and v.number == self.value


class _Constant(_Named):
    """A constant of one element; where the name comes again, one of the same value."""

    __slots__ = ()

    rank = 1
    seen_as = (Constant,)

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        value, known = as_scalar_constant(v), found.get(self.name)
        if value is None or (known is not None and as_scalar_constant(known) != value):
            return ()
        return ({**found, self.name: v},) if known is None else (found,)


class _Multiple(_Arithmetic, Part):
    """A number times what a name stands for, the constants in that made one with it; matched where the name is known."""

    __slots__ = ("factor", "name")

    rank = 3

    def __init__(self, factor: float, name: str):
        self.factor, self.name = factor, name

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        known, dtype = found.get(self.name), v.type.dtype
        if known is None or known.type.dtype != dtype or dtype not in T.float_dtypes:
            return ()
        return (found,) if same_expression(scaled(1, v, dtype), scaled(self.factor, known, dtype)) else ()

    def build(self, found: Found, number: Callable[[Any], Any]) -> Any:
        v = found[self.name]
        return scaled(self.factor, v, v.type.dtype)

    binding = 6

    def __str__(self) -> str:
        return f"-{self.name}" if self.factor == -1 else f"{self.factor} * {self.name}"


class _Language:
    """The Ops of `theano.tensor`, by their names, to be applied to patterns."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        made = self.__dict__[name] = applies(getattr(T, name), name)
        return made


def applies(op: Any, name: str | None = None, example: Any = None, which: Any = None) -> Callable[..., Any]:
    """Return what makes patterns of applications of an Op, or of the Ops of a class.

    Parameters
    ----------
    op : Op, type or tuple of them
        The Op, or a class of Ops, of which it is all but those of derived ones; one of several.
    name : str, optional
        How it is written; by default as the Op or the class is called.
    example : Op or callable, optional
        What builds an Op of the class, for tests and where it is made.
    which : callable, optional
        Says of an Op of the class whether it is one of those.

    Examples
    --------
    >>> transposed = applies(DimShuffle, "T", which=lambda op: op.new_order == (1, 0))
    >>> identity, m = rule(transposed(transposed(x)), x), T.dmatrix("m")
    >>> print(identity)
    T(T(x)) -> x
    >>> identity.transform(m.T.T.owner, identity.roots[0])
    [m]
    """
    if isinstance(op, tuple):
        each = [applies(one, name, example, which) for one in op]
        return lambda *inputs: Either(*[make(*inputs) for make in each])
    label = name or getattr(op, "name", None) or getattr(op, "__name__", None)
    any_order = isinstance(op, Elemwise) and op.scalar_op.commutative

    def applied(*inputs: Any) -> _Applied:
        for i in inputs:
            if not isinstance(i, Part):
                inputs = tuple(map(_part, inputs))
                break
        return _Applied(op, inputs, label, False, any_order, example, None, which)

    return applied


P: Any = _Language()


def number(value: float, text: str) -> Any:
    """Return a number that is written as a text.

    Parameters
    ----------
    value : float
        The number.
    text : str
        How it is written.

    Examples
    --------
    >>> print(rule(P.log(2 * P.exp(x)), x + number(np.log(2), "log(2)")))
    log(2 * exp(x)) -> x + log(2)
    """
    return _Number(value, text)


def once(part: Any) -> Any:
    """Return a pattern of a result that nothing else uses.

    Parameters
    ----------
    part : Part
        The pattern, which is changed.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> identity, v = rule(P.log(once(P.exp(x))), x), T.dscalar("v")
    >>> outs = [T.log(T.exp(v)), T.log(w := T.exp(-v)), w]
    >>> fgraph = FunctionGraph([v], outs, clone=False)
    >>> [identity.transform(out.owner, identity.roots[0]) for out in outs[:2]]
    [[v], False]
    """
    for each in _ways_of(part):
        each.once = True
    return part


def called(name: str, part: Any) -> Any:
    """Return a pattern of a result that conditions, and what is made, know under a name.

    Parameters
    ----------
    name : str
        The name, as that of a variable of the pattern.
    part : Part
        An operation on parts.

    Examples
    --------
    >>> identity = rule(P.abs_(called("y", P.exp(x))), y)
    >>> identity.transform(abs(T.exp(T.dscalar())).owner, identity.roots[0])
    [Elemwise{exp,no_inplace}.0]
    """
    for each in _ways_of(part):
        each.known_as = name
    return part


def _ways_of(part: Any) -> Sequence[Any]:
    return part.options if isinstance(part, Either) else (part,)


def times(factor: float, part: Any) -> Any:
    """Return a pattern of a multiple of a variable, however it is written, that is found elsewhere in the pattern.

    Parameters
    ----------
    factor : float
        The number.
    part : Part
        The variable.

    Examples
    --------
    >>> identity, v = rule(P.add(P.exp(x), P.exp(times(-1, x))), 2 * P.cosh(x)), T.dscalar("v")
    >>> [bool(identity.transform(T.add(T.exp(2 * v), e).owner, identity.roots[0])) for e in (T.exp(-2 * v), T.exp(-v))]
    [True, False]
    """
    return _Multiple(factor, part.name)


def _part(value: Any) -> Any:
    return value if isinstance(value, Part) else _Number(value)


def _minus(a: Any) -> Any:
    return _Number(-a.value) if isinstance(a, Number) else _Negative(a)


def _plus(a: Any, b: Any) -> list[Any]:
    ways = [P.add(a, b)]
    ways += [P.sub(p, _Number(-q.value)) for p, q in ((a, b), (b, a)) if isinstance(q, Number)]
    return ways


def _sum(a: Any, b: Any) -> Any:
    def ways() -> list[Any]:
        return [*_plus(a, b), *[P.sub(p, _minus(q)) for p, q in ((a, b), (b, a)) if not isinstance(q, Number)]]

    return _Ways(a if a.depth > b.depth else b, ways)


def _difference(a: Any, b: Any) -> Any:
    def ways() -> list[Any]:
        return [P.sub(a, b), *[way for way in _plus(a, _minus(b)) if way.op is not T.sub or not isinstance(b, Number)]]

    return _Ways(a if a.depth > b.depth else b, ways)


w, x, y, z = map(_Named, "wxyz")
a, b, c, d = map(_Constant, "abcd")
rest = Rest("rest")

SAME_TYPE = ("`x` has the type of the result", lambda x, out: x.type == out.type)


def _ANY(out: Any) -> bool:  # noqa: N802
    return True


def _FLOAT(out: Any) -> bool:  # noqa: N802
    return out.type.dtype in T.float_dtypes


class rule(rules.Rule):  # noqa: N801
    """An identity between expressions of tensors; see :class:`theano.gof.rewriting.rules.Rule`.

    The result is cast to the dtype, and filled to the shape, of what it replaces, and has its stack trace.

    Parameters
    ----------
    before : Part
        What is looked for.
    after : Part or number
        What takes its place.
    kinds : str, optional
        Of what dtypes the operations and variables are, in words.
    where : tuple, optional
        A condition in words, and a function that decides it.

    Examples
    --------
    >>> identity = rule(P.log(P.exp(x)), x, "floats")
    >>> print(identity)
    log(exp(x)) -> x
    >>> identity.transform(T.log(T.exp(T.dscalar("v"))).owner, identity.roots[0])
    [v]
    """

    # In words; of what dtypes the result is; whether the operations have that dtype, and the variables; whether these get it.
    KINDS = {
        "": ("", _ANY, False, False, False),
        "same": ("all have one dtype", _ANY, True, True, False),
        "floats": ("all are floats of one dtype", _FLOAT, True, True, False),
        "reals": ("operations are of one float dtype", _FLOAT, True, False, True),
        "wide": ("the result is a float", _FLOAT, False, False, True),
        "inexact": ("the result is no integer", is_inexact, False, False, True),
        "cast": ("", _ANY, False, False, True),
    }

    def __init__(self, before: Any, after: Any, kinds: str = "", where: tuple[str, Callable[..., Any]] | None = None):
        super().__init__(before, after if isinstance(after, Part) else _Number(after), kinds, where)
        self.casts = self.KINDS[kinds][4]

    def scope(self, node: Any) -> Scope | None:
        _, accepts, operations, leaves, _ = self.KINDS[self.kinds]
        out = node.outputs[0]
        if not accepts(out):
            return None
        return Scope(out.type.dtype, leaves) if operations else ANYTHING

    def replaced(self, node: Any, found: Found) -> Any:
        out = node.outputs[0]
        known = self.known(found, out.type.dtype) if self.casts else found
        if known is None or len(node.outputs) > 1:
            return False
        if isinstance(self.after, Number):
            return replacement(node, constant_of(np.asarray(self.after.value, dtype=out.type.dtype)))
        new = self.after.build(known, lambda value: constant_like(value, out))
        if new is None:
            return False
        # What is there already keeps its own stack trace.
        return [new] if hasattr(new, "fgraph") and new.type == out.type else replacement(node, new)

    def known(self, found: Found, dtype: str) -> Found | None:
        """What was found, in `dtype`; None if that would drop imaginary parts."""
        if any(v.type.dtype in T.complex_dtypes and dtype not in T.complex_dtypes for v in _variables(found)):
            return None
        return {
            name: tuple(T.cast(r, dtype) for r in v) if isinstance(v, tuple) else T.cast(v, dtype) for name, v in found.items()
        }


def rewrite(name: str, stages: Any, *each: Any) -> rules.Rewrite:
    """Make a local optimizer of rules, which are tried in turn; see :func:`theano.gof.rewriting.rules.rewrite`.

    Parameters
    ----------
    name : str
        Under which it is registered, chosen and left out.
    stages : str or iterable of callable
        Where it is registered: names as for :func:`theano.tensor.rewriting.registry.registrars`, or such functions.
    *each : Rule or Otherwise
        The first one that fits is taken.

    Examples
    --------
    >>> local_sqr_sqrt, v = rewrite("local_sqr_sqrt", "", rule(P.sqrt(P.sqr(x)), P.abs_(x), "floats")), T.dscalar("v")
    >>> local_sqr_sqrt.transform(T.sqrt(T.sqr(v)).owner)
    [Elemwise{abs_,no_inplace}.0]
    >>> rules.TABLE.pop("local_sqr_sqrt") is local_sqr_sqrt
    True
    """
    return rules.rewrite(name, registrars(stages) if isinstance(stages, str) else stages, *each)


def replaces(before: Any, stages: str) -> Callable[[Callable[..., Any]], rules.Rewrite]:
    """Decorator that makes a rewrite of a function of what a pattern finds, where an identity does not say enough.

    Parameters
    ----------
    before : Part or sequence of Part
        What is looked for, or several such things.
    stages : str
        Where the rewrite is registered, under the name of the function: as for
        :func:`theano.tensor.rewriting.registry.registrars`.

    Returns
    -------
    callable
        The decorator. Parameters of the function are names of the pattern, or ``out``: what is replaced. What it returns takes
        the place of that as for a `rule`; None leaves it where it is.

    Examples
    --------
    >>> @replaces(P.sqr(called("y", P.mul(rest))), "")
    ... def local_sqr_of_product(y, rest):
    ...     return T.mul(*map(T.sqr, rest)) if y.ndim == 0 else None
    >>> u, v = T.dscalars("u", "v")
    >>> [new] = local_sqr_of_product.transform(T.sqr(u * v).owner)
    >>> T.pprint(new)
    '(sqr(u) * sqr(v))'
    """
    parts = (before,) if isinstance(before, Part) else before

    def decorate(function: Callable[..., Any]) -> rules.Rewrite:
        made = Made(function.__doc__ or "", function)
        result = rules.Rewrite(function.__name__, [rule(part, made) for part in parts])
        result.__doc__, result.__module__ = function.__doc__, function.__module__
        for register in registrars(stages):
            register(result)
        return result

    return decorate


def _variables(found: Found) -> list[Any]:
    return [v for value in found.values() for v in (value if isinstance(value, tuple) else (value,))]


def _sides(part: Any) -> tuple[list[Any], list[Any]]:
    """The parts of a pattern of a product or quotient above and below the line."""
    op = part.op if isinstance(part, Applied) else None
    if op is T.mul:
        sides = [_sides(i) for i in part.inputs]
        return [p for side in sides for p in side[0]], [p for side in sides for p in side[1]]
    if op is T.inv or op is T.true_div:
        (top, under), (bottom, over) = _sides(part.inputs[0]) if op is T.true_div else ([], []), _sides(part.inputs[-1])
        return [*top, *over], [*under, *bottom]
    return ([] if isinstance(part, Number) and part.value == 1 else [part]), []


_ABOVE, _BELOW = Rest("above"), Rest("below")


def _may_fit(parts: Sequence[Any], factors: list[Any]) -> bool:
    """A quick no, by the Ops: whether some factors may be what the parts stand for."""
    if len(factors) < len(parts):
        return False
    ops = [v.owner.op for v in factors if v.owner is not None]
    return all(not isinstance(p, Applied) or p.op in ops for p in parts)


class _Factors(_Applied):
    """Some of the factors of a product or quotient, also of those in it, above and below the line."""

    __slots__ = ("above", "before", "below", "seen")

    def __init__(self, before: Any, op: Any, seen: Sequence[Any]):
        super().__init__(op, before.inputs, before.name)
        self.before, self.seen = before, seen
        self.above, self.below = _sides(before)
        # The last one is what is needed.
        self.innermost = (self.below or self.above)[-1].innermost

    def form(self) -> Form:
        wants: list[tuple[int | None, frozenset]] = [(None, frozenset(self.seen))] if self.seen else []
        if self.op is not T.mul and all(p.seen_as for p in self.below):
            # What is below the line is the last input, or a factor of that.
            ops = [op for p in self.below for op in p.seen_as]
            wants.append((1 if self.op is T.true_div else 0, frozenset([*ops, T.mul, T.sqr, T.neg, T.inv, T.true_div])))
        return Form(1, MOST_FACTORS, tuple(wants))

    def takes(self, inputs: Sequence[Any], found: Found, scope: Scope) -> Iterable[Found]:
        if self.op is T.mul:
            top, bottom = opened(found["out"])
        else:
            bottom, over = opened(inputs[-1])
            if not _may_fit(self.below, bottom):
                return
            top, under = opened(inputs[0]) if self.op is T.true_div else ([], [])
            top, bottom = top + over, bottom + under
        if len(top) + len(bottom) <= 2 * MOST_FACTORS and _may_fit(self.above, top) and _may_fit(self.below, bottom):
            for known in in_any_order(self.below, 0, bottom, _BELOW, found, scope):
                yield from in_any_order(self.above, 0, top, _ABOVE, known, scope)

    def spellings(self) -> Any:
        return self.before.spellings()


class among(rule):  # noqa: N801
    """An identity between factors of a product or quotient, beside which there may be others.

    Those of products, squares, negatives and quotients in it count, too, whatever else uses them. A number in the result is made
    one with those that are there.

    Parameters
    ----------
    before : Part
        A product, or a quotient of products.
    after : Part or number
        What takes the place of the factors.
    kinds, where
        As of `rule`.
    at : Op
        The product, inverse or quotient that is looked at; by default that of `before`. At a product others are factors.
    seen : sequence of Op
        One of these must be among its inputs, if there are any.

    Examples
    --------
    >>> identity, (u, v, r) = among(P.sinh(x) / P.cosh(x), P.tanh(x), "floats"), T.dscalars("u", "v", "r")
    >>> print(identity)
    sinh(x) / cosh(x) -> tanh(x)
    >>> new, = identity.transform((u * T.sinh(v) / (T.cosh(v) * r)).owner, identity.roots[0])
    >>> print(T.pprint(new))
    ((u * tanh(v)) / r)
    """

    def __init__(self, before: Any, after: Any, kinds: str = "", where: Any = None, at: Any = None, seen: Sequence[Any] = ()):
        if at is T.mul and isinstance(before, Applied) and before.op is T.true_div:
            before = P.mul(before.inputs[0], P.inv(before.inputs[1]))
        super().__init__(before, after, kinds, where)
        self._roots = [_Factors(root, root.op if at is None else at, seen) for root in super().roots]

    @property
    def roots(self) -> Sequence[Any]:
        return self._roots

    def replaced(self, node: Any, found: Found) -> Any:
        out = node.outputs[0]
        dtype = out.type.dtype
        known = self.known(found, dtype) if self.casts else found
        if known is None:
            return False
        top, bottom = ([p.build(known, lambda value: constant_like(value, out)) for p in side] for side in _sides(self.after))
        above, below = [*found["above"], *top], [*found["below"], *bottom]
        if split_constants(top)[0] != 1:
            (value, above), (divisor, below) = split_constants(above), split_constants(below)
            if not divisor:
                return False
            above = with_number(value / divisor, above, dtype)
        return replacement(node, quotient(above, below, dtype))

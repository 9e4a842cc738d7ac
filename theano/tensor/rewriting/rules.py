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
from theano.gof.rewriting.match import Applied, Either, Found, Named, Number, Only, Part, Rest, Scope
from theano.gof.rewriting.rules import Made, rewrite
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.terms import as_scalar_constant, constant_like, constant_of, negated, replacement

__all__ = [
    "SAME_TYPE", "Made", "P", "a", "applies", "b", "c", "called", "d", "number", "once", "rest", "rewrite", "rule", "w", "x", "y",
    "z",
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
        super().__init__(_Ways(part, lambda: (P.neg(part), P.mul(-1, part))), _is_not_discrete)
        self.negated = part

    def build(self, found: Found, number: Callable[[Any], Any]) -> Any:
        v = self.negated.build(found, number)
        value = as_scalar_constant(v)
        return negated(v) if value is None else constant_like(-value, v)


def _is_not_discrete(v: Any) -> bool:
    return v.type.dtype not in T.discrete_dtypes


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


NO_SCOPE = Scope()


class _Language:
    """The Ops of `theano.tensor`, by their names, to be applied to patterns."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        made = self.__dict__[name] = applies(getattr(T, name), name)
        return made


def applies(op: Any, name: str | None = None, example: Any = None, which: Any = None) -> Callable[..., Any]:
    """Return what makes patterns of applications of an Op, or of the Ops of a class.

    Parameters
    ----------
    op : Op or type
        The Op, or a class of Ops, of which it is all but those of derived ones.
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
    part.once = True
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
    part.known_as = name
    return part


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
        "inexact": ("the result is no integer", _is_not_discrete, False, False, True),
        "cast": ("", _ANY, False, False, True),
    }

    def __init__(self, before: Any, after: Any, kinds: str = "", where: tuple[str, Callable[..., Any]] | None = None):
        super().__init__(before, after if isinstance(after, Part) else _Number(after), kinds, where)

    def scope(self, node: Any) -> Scope | None:
        if not self.kinds:
            return NO_SCOPE
        _, accepts, operations, leaves, _ = self.KINDS[self.kinds]
        out = node.outputs[0]
        if not accepts(out):
            return None
        return Scope(out.type.dtype, leaves) if operations else NO_SCOPE

    def replaced(self, node: Any, found: Found) -> Any:
        out = node.outputs[0]
        dtype = out.type.dtype
        if self.KINDS[self.kinds][4]:
            if any(v.type.dtype in T.complex_dtypes and dtype not in T.complex_dtypes for v in _variables(found)):
                return False
            found = {
                name: tuple(T.cast(r, dtype) for r in v) if name == "rest" else T.cast(v, dtype) for name, v in found.items()
            }
        if isinstance(self.after, Number):
            return replacement(node, constant_of(np.asarray(self.after.value, dtype=dtype)))
        new = self.after.build(found, lambda value: constant_like(value, out))
        if new is None:
            return False
        # What is there already keeps its own stack trace.
        return [new] if new.type == out.type and any(new is v for v in found.values()) else replacement(node, new)


def _variables(found: Found) -> list[Any]:
    return [v for name, value in found.items() for v in (value if name == "rest" else (value,))]

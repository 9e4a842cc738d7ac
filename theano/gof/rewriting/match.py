"""Patterns of expressions: what they match, what they build, and how they are written down.

A pattern is a tree of parts. It is matched against a variable by `Part.matches`, which goes through all ways in which it fits;
what it knows in the end builds another pattern. The recursion is over the pattern, never over the graph.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.rewriting.index import MANY, Form

#: What stands for what: variables by name, and tuples of variables under the names of a `Rest`. Never changed in place.
Found = dict[str, Any]
Way = Callable[[Any], Any]
Check = Callable[[Any], Any]


class Part:
    """A part of a pattern."""

    __slots__ = ()
    #: How tightly the text of the part is bound; what is bound less tightly than its surroundings is put in parentheses.
    binding = 9
    #: Parts that refuse most are tried first.
    rank = 2
    #: What is among the inputs of a node where the part is: Ops or classes of Ops, `Constant`, numbers; nothing if it may be
    #: anything.
    seen_as: tuple = ()
    #: How many operations are one within the other, and which the innermost may be.
    depth: int = 0
    innermost: tuple = ()

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        """Return what is known after each way in which `v` fits, in addition to what was known before."""
        raise NotImplementedError

    def build(self, found: Found, number: Way) -> Any:
        """Return the variable that the part stands for; `number` makes variables of numbers."""
        raise NotImplementedError

    def spellings(self) -> Iterator[Part]:
        """Yield the part without alternatives, in all ways."""
        yield self


class Scope:
    """What is asked of all that a pattern matches.

    Parameters
    ----------
    dtype : str, optional
        What the operations compute.
    leaves : bool
        Whether the variables that they take have that dtype too.
    """

    __slots__ = ("dtype", "leaves")

    def __init__(self, dtype: str | None = None, leaves: bool = False):
        self.dtype, self.leaves = dtype, leaves


ANYTHING = Scope()


def _is_same(known: Any, v: Any) -> bool:
    return known is v or (isinstance(known, Constant) and isinstance(v, Constant) and known.equals(v))


class Named(Part):
    """Any variable, the same one wherever the name is; constants are the same that have equal values.

    Parameters
    ----------
    name : str
    """

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        known = found.get(self.name)
        if known is None:
            return ({**found, self.name: v},) if not scope.leaves or v.type.dtype == scope.dtype else ()
        return (found,) if _is_same(known, v) else ()

    def build(self, found: Found, number: Way) -> Any:
        return found[self.name]

    def __str__(self) -> str:
        return self.name


class Rest(Named):
    """The other inputs of an operation of any number of inputs, the same ones wherever the name is.

    `Applied` takes it as its last part.

    Examples
    --------
    >>> len(str(Rest("rest")))  # three dots
    3
    """

    __slots__ = ()

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        known = found.get(self.name)
        if known is None:
            return ({**found, self.name: v},)
        return (found,) if len(known) == len(v) and all(map(_is_same, known, v)) else ()

    def __str__(self) -> str:
        return "..."


class Known(Part):
    """One variable, or a constant that equals it."""

    __slots__ = ("variable",)
    rank = 0

    def __init__(self, variable: Any):
        self.variable = variable

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        return (found,) if _is_same(self.variable, v) else ()

    def build(self, found: Found, number: Way) -> Any:
        return self.variable

    def __str__(self) -> str:
        return str(self.variable)


class Number(Part):
    """A constant all elements of which are one number."""

    __slots__ = ("text", "value")
    rank = 1
    seen_as = (Constant,)

    def __init__(self, value: Any, text: str | None = None):
        self.value, self.text = value, str(value) if text is None else text

    def is_it(self, v: Any) -> bool:
        """Return whether `v` is the number."""
        value = np.asarray(v.data) if isinstance(v, Constant) else np.empty(0, object)
        return value.dtype.kind in "biufc" and value.size > 0 and bool(np.all(value == self.value))

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        return (found,) if self.is_it(v) else ()

    def build(self, found: Found, number: Way) -> Any:
        return number(self.value)

    @property
    def binding(self) -> int:  # type: ignore[override]
        return 7 if self.text.startswith("-") else 9

    def __str__(self) -> str:
        return self.text


_rank = operator.attrgetter("rank")


class Applied(Part):
    """An operation on parts, in any order if it is commutative.

    Parameters
    ----------
    op : Op, class of Ops or callable
        Of a class all Ops but those of derived ones. A callable that is none of the others can only be built.
    inputs : tuple of Part
        One may be a `Rest`, the last where the pattern is matched.
    name : str, optional
        For printing.
    once : bool
        Whether nothing else may use the result.
    any_order : bool
    example : Op or callable, optional
        What builds it where `op` is a class.
    known_as : str, optional
        The name of the result, for conditions and for what is made.
    which : callable, optional
        Of which Ops of the class.
    """

    __slots__ = (
        "_names", "_sorted", "any_order", "depth", "example", "fixed", "innermost", "inputs", "is_shared", "known_as", "name",
        "once", "op", "rest", "which",
    )  # fmt: skip
    rank = 0

    def __init__(
        self,
        op: Any,
        inputs: tuple[Part, ...],
        name: str | None = None,
        once: bool = False,
        any_order: bool = False,
        example: Any = None,
        known_as: str | None = None,
        which: Check | None = None,
    ):
        self.op, self.inputs, self.name, self.once, self.any_order = op, inputs, name, once, any_order
        self.example, self.known_as, self.which = example, known_as, which
        self.rest = inputs[-1] if inputs and isinstance(inputs[-1], Rest) else None
        self.fixed = inputs if self.rest is None else inputs[:-1]
        # Names alone, of anything, need no search.
        self.depth, self.innermost = 1, (op,)
        for part in inputs:
            if part.depth >= self.depth:
                self.depth, self.innermost = part.depth + 1, part.innermost
        # What `_prepare` finds out: there are many patterns, of most of which no node comes along.
        self._names: Sequence[str] | None = None
        self._sorted: Sequence[Part] = ()
        self.is_shared = False

    def _prepare(self) -> None:
        inputs, any_order = self.inputs, self.any_order
        # As they are looked for.
        self._sorted = sorted(self.fixed, key=_rank)
        # Whether of two inputs in any order one is an input of the other.
        self.is_shared = (
            any_order
            and len(inputs) == 2
            and any(isinstance(p, Applied) and any(_are_one(i, q) for i in p.inputs) for p, q in (inputs, inputs[::-1]))
        )
        # Last: another thread goes by it.
        named = [p.name for p in inputs if isinstance(p, Named) and not p.seen_as]
        self._names = named if not any_order and len(set(named)) == len(inputs) else ()

    @property
    def seen_as(self) -> tuple:  # type: ignore[override]
        return (self.op,)

    def form(self) -> Form:
        """Return what inputs of a node are like that `takes` may find a way for."""
        fixed, any_order = self.fixed, self.any_order
        wants = [(None if any_order else k, frozenset(p.seen_as)) for k, p in enumerate(fixed) if p.seen_as]
        twice = [k for k, p in enumerate(fixed) if k and _are_one(fixed[k - 1], p)]
        # In any order, and of more inputs, the two need not be side by side.
        side_by_side = twice and (not any_order or len(self.inputs) == 2)
        return Form(len(fixed), len(fixed) if self.rest is None else MANY, tuple(wants), twice[0] if side_by_side else 0)

    def is_of(self, op: Any) -> bool:
        """Return whether `op` is the operation."""
        wanted = self.op
        if type(op) is wanted:
            return self.which is None or bool(self.which(op))
        return op is wanted or (type(op) is type(wanted) and op == wanted)

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        node = v.owner
        if node is None or not (node.op is self.op or self.is_of(node.op)):
            return ()
        if scope.dtype is not None and v.type.dtype != scope.dtype:
            return ()
        if self.once and len(getattr(v, "clients", ())) > 1:
            return ()
        if isinstance(self.op, type) and len(node.outputs) > 1:
            return ()
        if self.known_as is not None:
            found = {**found, self.known_as: v}
        return self.takes(node.inputs, found, scope)

    def takes(self, inputs: Sequence[Any], found: Found, scope: Scope) -> Iterable[Found]:
        """Return what is known after each way in which the inputs of a node of the operation fit."""
        fixed, rest, more = self.fixed, self.rest, len(inputs) - len(self.fixed)
        if more and (rest is None or more < 0):
            return ()
        if self._names is None:
            self._prepare()
        if self._names and not scope.leaves and found.keys().isdisjoint(self._names):
            found = {**found, **dict(zip(self._names, inputs))}
            if rest is not None:
                found[self._names[-1]] = tuple(inputs[len(fixed) :])
            return (found,)
        if not self.any_order:
            return _in_order(fixed, 0, inputs, rest, found, scope)
        if self.is_shared and not _share(*inputs):
            return ()
        return in_any_order(self._sorted, 0, list(inputs), rest, found, scope)

    def build(self, found: Found, number: Way) -> Any:
        inputs: list[Any] = []
        for part in self.inputs:
            inputs += found[part.name] if isinstance(part, Rest) else [part.build(found, number)]
        if self.any_order and len(inputs) == 1 < len(self.inputs):
            return inputs[0]
        return (self.example or self.op)(*inputs)

    def spellings(self) -> Iterator[Part]:
        for inputs in _each_spelled(self.inputs):
            yield Applied(self.op, inputs, self.name, self.once, self.any_order, self.example, self.known_as, self.which)

    @property
    def binding(self) -> int:  # type: ignore[override]
        infix = _INFIX.get(self.name or "")
        return 9 if infix is None or len(self.inputs) != infix[2] else infix[1]

    def __str__(self) -> str:
        infix = _INFIX.get(self.name or "")
        if infix is None or len(self.inputs) != infix[2]:
            return f"{(self.name or str(self.op)).rstrip('_')}({', '.join(map(str, self.inputs))})"
        sign, binding, count = infix
        if count == 1:
            return f"{sign}{_bound(self.inputs[0], binding + 1)}"
        right = -1 if sign == "**" else 0 if self.any_order else 1
        return f"{_bound(self.inputs[0], binding)} {sign} {_bound(self.inputs[1], binding + right)}"


#: Sign, how tightly it binds, number of inputs.
_INFIX = {
    "eq": ("==", 1, 2), "neq": ("!=", 1, 2), "lt": ("<", 1, 2), "gt": (">", 1, 2), "le": ("<=", 1, 2), "ge": (">=", 1, 2),
    "or_": ("|", 2, 2), "xor": ("^", 2, 2), "and_": ("&", 3, 2), "add": ("+", 4, 2), "sub": ("-", 4, 2), "mul": ("*", 6, 2),
    "true_div": ("/", 6, 2), "int_div": ("//", 6, 2), "neg": ("-", 7, 1), "pow": ("**", 8, 2),
}  # fmt: skip


def _bound(part: Part, binding: int) -> str:
    return str(part) if part.binding >= binding else f"({part})"


def _are_one(a: Part, b: Part) -> bool:
    """Whether what two parts stand for is one variable, or constants that are equal as they are."""
    return isinstance(a, Named) and isinstance(b, Named) and a.name == b.name and not a.seen_as


def _share(a: Any, b: Any) -> bool:
    """Whether one of two variables may be an input of what computes the other; constants are compared later."""
    for v, other in ((a, b), (b, a)):
        if v.owner is not None:
            for i in v.owner.inputs:
                if i is other or (i.owner is None and isinstance(i, Constant) and isinstance(other, Constant)):
                    return True
    return False


def _each_spelled(inputs: Sequence[Part]) -> Iterator[tuple[Part, ...]]:
    if not inputs:
        yield ()
        return
    for first in inputs[0].spellings():
        for others in _each_spelled(inputs[1:]):
            yield (first, *others)


def _in_order(
    parts: Sequence[Part], k: int, inputs: Sequence[Any], rest: Part | None, found: Found, scope: Scope
) -> Iterator[Found]:
    if k < len(parts):
        for known in parts[k].matches(inputs[k], found, scope):
            yield from _in_order(parts, k + 1, inputs, rest, known, scope)
    elif rest is None:
        yield found
    else:
        yield from rest.matches(tuple(inputs[k:]), found, scope)


def in_any_order(
    parts: Sequence[Part], k: int, left: list[Any], rest: Part | None, found: Found, scope: Scope
) -> Iterator[Found]:
    """Yield what is known after each way in which the parts from the `k`-th on, and then `rest`, fit the variables `left`."""
    if k == len(parts):
        if rest is None:
            yield found
        else:
            yield from rest.matches(tuple(left), found, scope)
        return
    part = parts[k]
    for i, v in enumerate(left):
        if part.depth and v.owner is None:
            continue
        others = None
        for known in part.matches(v, found, scope):
            if others is None:
                others = left[:i] + left[i + 1 :]
            yield from in_any_order(parts, k + 1, others, rest, known, scope)


def one_of(each: Iterable[tuple]) -> tuple | None:
    """Return what there is one of wherever one of several alternatives is; None if one of them may be anything."""
    result: dict[int, Any] = {}
    for keys in each:
        if not keys:
            return None
        for key in keys:
            result[id(key)] = key
    return tuple(result.values())


class Either(Part):
    """One of several parts; the first is built and printed."""

    __slots__ = ("options",)
    rank = 1

    def __init__(self, *options: Part):
        self.options = options

    @property
    def binding(self) -> int:  # type: ignore[override]
        return self.options[0].binding

    @property
    def seen_as(self) -> tuple:  # type: ignore[override]
        return one_of([option.seen_as for option in self.options]) or ()

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        for option in self.options:
            yield from option.matches(v, found, scope)

    def build(self, found: Found, number: Way) -> Any:
        return self.options[0].build(found, number)

    def spellings(self) -> Iterator[Part]:
        for option in self.options:
            yield from option.spellings()

    def __str__(self) -> str:
        return str(self.options[0])


class Only(Part):
    """A part of which something more must be true.

    Parameters
    ----------
    part : Part
    condition : callable
        Gets the variable.
    """

    __slots__ = ("condition", "depth", "innermost", "part")

    def __init__(self, part: Part, condition: Callable[[Any], Any]):
        self.part, self.condition = part, condition
        self.depth, self.innermost = part.depth, part.innermost

    @property
    def rank(self) -> int:  # type: ignore[override]
        return self.part.rank

    @property
    def binding(self) -> int:  # type: ignore[override]
        return self.part.binding

    @property
    def seen_as(self) -> tuple:  # type: ignore[override]
        return self.part.seen_as

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterable[Found]:
        for known in self.part.matches(v, found, scope):
            if self.condition(v):
                yield known

    def build(self, found: Found, number: Way) -> Any:
        return self.part.build(found, number)

    def spellings(self) -> Iterator[Part]:
        for part in self.part.spellings():
            yield Only(part, self.condition)

    def __str__(self) -> str:
        return str(self.part)


class Behind(Part):
    """A part, or one of what a function finds behind a variable that is not it.

    Parameters
    ----------
    part : Part
    look : callable
        Gets the variable, returns one that stands for the same, or None.
    then : Part, optional
        For what is found so, by default `part`.
    """

    __slots__ = ("look", "part", "then")

    def __init__(self, part: Part, look: Callable[[Any], Any], then: Part | None = None):
        self.part, self.look, self.then = part, look, part if then is None else then

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        part = self.part
        while v is not None:
            fits = False
            for known in part.matches(v, found, scope):
                fits = True
                yield known
            v, part = None if fits else self.look(v), self.then

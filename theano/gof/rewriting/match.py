"""Patterns of expressions: what they match, what they build, and how they are written down.

A pattern is a tree of parts. It is matched against a variable by `Part.matches`, which goes through all ways in which it fits;
what it knows in the end builds another pattern. The recursion is over the pattern, never over the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Constant

#: What stands for what: variables by name, and tuples of variables under the names of a `Rest`. Never changed in place.
Found = dict[str, Any]
Way = Callable[[Any], Any]
Check = Callable[[Any], Any]


class Part:
    """A part of a pattern."""

    #: How tightly the text of the part is bound; what is bound less tightly than its surroundings is put in parentheses.
    binding = 9
    #: Parts that refuse most are tried first.
    rank = 2

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        """Yield what is known after each way in which `v` fits, in addition to what was known before."""
        raise NotImplementedError

    def check(self) -> Check | None:
        """Return what quickly refuses most of the variables that the part does not match; None if it would refuse none."""
        return None

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


class Named(Part):
    """Any variable, the same one wherever the name is; constants are the same that have equal values.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str):
        self.name = name

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        known = found.get(self.name)
        if known is None:
            if not scope.leaves or v.type.dtype == scope.dtype:
                yield {**found, self.name: v}
        elif known is v or (isinstance(known, Constant) and isinstance(v, Constant) and known.equals(v)):
            yield found

    def build(self, found: Found, number: Way) -> Any:
        return found[self.name]

    def __str__(self) -> str:
        return self.name


class Rest(Named):
    """The other inputs of an operation of any number of inputs; `Applied` takes it as its last part."""

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        yield {**found, self.name: v}

    def __str__(self) -> str:
        return "..."


class Known(Part):
    """One variable, or a constant that equals it."""

    rank = 0

    def __init__(self, variable: Any):
        self.variable = variable

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        known = self.variable
        if known is v or (isinstance(known, Constant) and isinstance(v, Constant) and known.equals(v)):
            yield found

    def build(self, found: Found, number: Way) -> Any:
        return self.variable

    def __str__(self) -> str:
        return str(self.variable)


class Number(Part):
    """A constant all elements of which are one number."""

    rank = 1

    def __init__(self, value: Any, text: str | None = None):
        self.value, self.text = value, str(value) if text is None else text

    def is_it(self, v: Any) -> bool:
        """Return whether `v` is the number."""
        value = np.asarray(v.data) if isinstance(v, Constant) else np.empty(0, object)
        return value.dtype.kind in "biufc" and value.size > 0 and bool(np.all(value == self.value))

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        if self.is_it(v):
            yield found

    def check(self) -> Check:
        return self.is_it

    def build(self, found: Found, number: Way) -> Any:
        return number(self.value)

    @property
    def binding(self) -> int:  # type: ignore[override]
        return 7 if self.text.startswith("-") else 9

    def __str__(self) -> str:
        return self.text


class Applied(Part):
    """An operation on parts, in any order if it is commutative.

    Parameters
    ----------
    op : Op, class of Ops or callable
        A callable that is none of the others can only be built.
    *inputs : Part
        One may be a `Rest`, the last where the pattern is matched.
    name : str, optional
        For printing.
    once : bool
        Whether nothing else may use the result.
    any_order : bool
    """

    rank = 0

    def __init__(self, op: Any, *inputs: Part, name: str | None = None, once: bool = False, any_order: bool = False):
        self.op, self.inputs, self.name, self.once, self.any_order = op, inputs, name, once, any_order
        self.rest = inputs[-1] if inputs and isinstance(inputs[-1], Rest) else None
        self.fixed = inputs if self.rest is None else inputs[:-1]
        self.of_class = isinstance(op, type)
        self.ordered = sorted(self.fixed, key=lambda part: part.rank) if any_order else self.fixed

    def is_of(self, op: Any) -> bool:
        """Return whether `op` is the operation."""
        return isinstance(op, self.op) if self.of_class else op is self.op or op == self.op

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        node = v.owner
        if node is None or not self.is_of(node.op):
            return
        if scope.dtype is not None and v.type.dtype != scope.dtype:
            return
        if self.once and len(getattr(v, "clients", ())) > 1:
            return
        yield from self.takes(node.inputs, found, scope)

    def check(self) -> Check:
        op, inner, is_of = self.op, self.check_of_inputs(), self.is_of

        def check(v: Any) -> Any:
            node = v.owner
            return node is not None and (node.op is op or is_of(node.op)) and (inner is None or inner(node.inputs))

        return check

    def check_of_inputs(self) -> Check | None:
        """Return what `check` would, for the inputs of a node of the operation."""
        count, checks = len(self.fixed), [(i, c) for i, c in enumerate(part.check() for part in self.fixed) if c is not None]
        if self.rest is not None:
            return _each_by_some([c for _, c in checks]) if self.any_order else _each_at_its_place(checks, count)
        if self.any_order:
            if not checks and count == 2 and _are_one(*self.fixed):
                return _twice
            return _each_by_some([c for _, c in checks], count)
        if not checks:
            return _twice if count == 2 and _are_one(*self.fixed) else None
        return _each_at_its_place(checks, count, count)

    def takes(self, inputs: Sequence[Any], found: Found, scope: Scope) -> Iterator[Found]:
        """Yield what is known after each way in which the inputs of a node of the operation fit."""
        more = len(inputs) - len(self.fixed)
        if more < 0 or (more and self.rest is None):
            return
        if self.any_order:
            yield from _in_any_order(self.ordered, 0, list(inputs), self.rest, found, scope)
        else:
            yield from _in_order(self.ordered, 0, inputs, self.rest, found, scope)

    def build(self, found: Found, number: Way) -> Any:
        inputs: list[Any] = []
        for part in self.inputs:
            inputs += found[part.name] if isinstance(part, Rest) else [part.build(found, number)]
        return inputs[0] if len(inputs) == 1 and len(self.inputs) > 1 else self.op(*inputs)

    def spellings(self) -> Iterator[Part]:
        for inputs in _each_spelled(self.inputs):
            yield Applied(self.op, *inputs, name=self.name, once=self.once, any_order=self.any_order)

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
    return isinstance(a, Named) and isinstance(b, Named) and a.name == b.name


def _twice(inputs: Sequence[Any]) -> bool:
    """Whether there are two inputs that may be one; merged constants are one, others are compared later."""
    return len(inputs) == 2 and (inputs[0] is inputs[1] or isinstance(inputs[0], Constant))


def _each_at_its_place(checks: Sequence[tuple[int, Check]], least: int, most: int | None = None) -> Check:
    if len(checks) == 1 and most is not None:
        ((place, only),) = checks
        return lambda inputs: len(inputs) == most and only(inputs[place])

    def check(inputs: Sequence[Any]) -> bool:
        if len(inputs) < least or (most is not None and len(inputs) > most):
            return False
        for i, accepts in checks:
            if not accepts(inputs[i]):
                break
        else:
            return True
        return False

    return check


def _each_by_some(checks: Sequence[Check], count: int | None = None) -> Check | None:
    if not checks:
        return None if count is None else lambda inputs: len(inputs) == count

    def check(inputs: Sequence[Any]) -> bool:
        if count is not None and len(inputs) != count:
            return False
        for accepts in checks:
            for v in inputs:
                if accepts(v):
                    break
            else:
                return False
        return True

    return check


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


def _in_any_order(
    parts: Sequence[Part], k: int, left: list[Any], rest: Part | None, found: Found, scope: Scope
) -> Iterator[Found]:
    if k == len(parts):
        if rest is None:
            yield found
        else:
            yield from rest.matches(tuple(left), found, scope)
        return
    for i, v in enumerate(left):
        others = None
        for known in parts[k].matches(v, found, scope):
            if others is None:
                others = left[:i] + left[i + 1 :]
            yield from _in_any_order(parts, k + 1, others, rest, known, scope)


class Either(Part):
    """One of several parts; the first is built and printed."""

    rank = 1

    def __init__(self, *options: Part):
        self.options = options
        self.binding = options[0].binding

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        for option in self.options:
            yield from option.matches(v, found, scope)

    def check(self) -> Check | None:
        checks = [option.check() for option in self.options]
        if None in checks:
            return None

        def check(v: Any) -> bool:
            for accepts in checks:
                if accepts(v):  # type: ignore[misc]
                    break
            else:
                return False
            return True

        return check

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

    def __init__(self, part: Part, condition: Callable[[Any], Any]):
        self.part, self.condition = part, condition
        self.binding, self.rank = part.binding, part.rank

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        for known in self.part.matches(v, found, scope):
            if self.condition(v):
                yield known

    def check(self) -> Check | None:
        return self.part.check()

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

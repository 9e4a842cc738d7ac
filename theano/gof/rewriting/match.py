"""Patterns of expressions: what they match, what they build, and how they are written down.

A pattern is a tree of parts. It is matched against a variable by `Part.matches`, which goes through all ways in which it fits;
what it knows in the end builds another pattern. The recursion is over the pattern, never over the graph.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.memo import ById

#: What stands for what: variables by name, and tuples of variables under the names of a `Rest`. Never changed in place.
Found = dict[str, Any]
Way = Callable[[Any], Any]
Check = Callable[[Any], Any]


#: The Ops in patterns that are looked for, and of Ops by identity which of those they equal, None of the others.
_looked_for: dict[Any, Any] = {}
_kinds: set[type] = set()
_equals = ById()
_learning = threading.Lock()


def look_for(op: Any) -> Any:
    """Return the Op in patterns that equals `op`, which from now on is `op` if there was none."""
    with _learning:
        if op not in _looked_for:
            _looked_for[op] = op
            _kinds.add(type(op))
            _equals.clear()
        return _looked_for[op]


def _learn(op: Any) -> tuple:
    with _learning:
        return _equals.keep(op, _looked_for.get(op))


class Part:
    """A part of a pattern."""

    __slots__ = ()
    #: Whether nothing is inside of it.
    is_leaf = False
    #: How tightly the text of the part is bound; what is bound less tightly than its surroundings is put in parentheses.
    binding = 9
    #: Parts that refuse most are tried first.
    rank = 2
    #: What is among the inputs of a node where the part is: Ops or classes of Ops, `Constant`; nothing if it may be anything.
    seen_as: tuple = ()
    #: Whether nearly all graphs have such a thing, so that it is not worth waiting for.
    common = True

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        """Yield what is known after each way in which `v` fits, in addition to what was known before."""
        raise NotImplementedError

    def needs(self) -> tuple:
        """Return Ops of which a graph that has the part has one, and not nearly all graphs do; there may be none."""
        return ()

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

    __slots__ = ("name",)
    is_leaf = True

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

    __slots__ = ()

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        yield {**found, self.name: v}

    def __str__(self) -> str:
        return "..."


class Known(Part):
    """One variable, or a constant that equals it."""

    __slots__ = ("variable",)
    rank = 0
    is_leaf = True

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

    __slots__ = ("text", "value")
    rank = 1
    seen_as = (Constant,)
    is_leaf = True

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


_rank = operator.attrgetter("rank")


class Applied(Part):
    """An operation on parts, in any order if it is commutative.

    Parameters
    ----------
    op : Op, class of Ops or callable
        A callable that is none of the others can only be built.
    inputs : tuple of Part
        One may be a `Rest`, the last where the pattern is matched.
    name : str, optional
        For printing.
    once : bool
        Whether nothing else may use the result.
    any_order, common : bool
    """

    __slots__ = ("any_order", "common", "inputs", "name", "once", "op")
    rank = 0

    def __init__(
        self,
        op: Any,
        inputs: tuple[Part, ...],
        name: str | None = None,
        once: bool = False,
        any_order: bool = False,
        common: bool = False,
    ):
        self.op, self.inputs, self.name, self.once, self.any_order, self.common = op, inputs, name, once, any_order, common

    @property
    def seen_as(self) -> tuple:  # type: ignore[override]
        return (self.op,)

    @property
    def rest(self) -> Part | None:
        return self.inputs[-1] if self.inputs and isinstance(self.inputs[-1], Rest) else None

    @property
    def fixed(self) -> tuple[Part, ...]:
        return self.inputs[:-1] if self.inputs and isinstance(self.inputs[-1], Rest) else self.inputs

    @property
    def of_class(self) -> bool:
        return isinstance(self.op, type)

    def asks(self) -> tuple[tuple, tuple]:
        """Return what there is one of among the inputs of a node, and what `needs` returns for the inputs.

        Both of the part that says most; there may be nothing.
        """
        among, needed, is_common = (), (), True
        for part in self.inputs:
            if part.common:
                seen, needs = part.seen_as, () if part.is_leaf else part.needs()
            else:
                # What is rare is waited for.
                seen = needs = part.seen_as
            if seen and (not among or (part.common, len(seen)) < (is_common, len(among))):
                among, is_common = seen, part.common
            if needs and (not needed or len(needs) < len(needed)):
                needed = needs
        return among, needed

    def needs(self) -> tuple:
        return self.asks()[1] if self.common else (self.op,)

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
        if self.of_class:
            return _check_of([self])
        op, kind = look_for(self.op), type(self.op)
        place, inner = self.first_check()

        def check(v: Any) -> Any:
            node = v.owner
            if node is None:
                return False
            other = node.op
            if other is not op and (type(other) is not kind or (_equals.get(id(other)) or _learn(other))[0] is not op):
                return False
            return inner is None or inner(node.inputs if place is None else node.inputs[place])

        return check

    def first_check(self) -> tuple[int | None, Check | None]:
        """Return what quickly refuses most nodes of the operation: the number of an input and what is asked of it, or None and
        what is asked of all inputs.
        """
        fixed, checks = self.fixed, []
        count, exactly = len(fixed), None if len(fixed) < len(self.inputs) else len(fixed)
        for part in fixed if count < 2 else sorted(fixed, key=_rank):
            accepts = part.check()
            if accepts is not None:
                checks.append((fixed.index(part), accepts))
        if not checks and exactly == 2 and _are_one(*fixed):
            return None, _twice
        if self.any_order:
            if exactly == 2 and len(checks) == 1:
                place, accepts = checks[0]
                one, other = fixed[place], fixed[1 - place]
                if isinstance(one, Applied) and any(_are_one(part, other) for part in one.inputs):
                    return None, _within_one(accepts)
            return None, _each_by_some([accepts for _, accepts in checks], exactly)
        if not checks:
            return None, None
        return checks[0] if len(checks) == 1 and count <= 2 else (None, _each_at_its_place(checks, count))

    def wanted(self) -> tuple[frozenset[int], ...]:
        """Return sets of numbers, each of which has one of `made_by` if a node of the operation fits."""
        sets = []
        for part in self.fixed:
            if part.seen_as and not any(isinstance(key, type) and key is not Constant for key in part.seen_as):
                sets.append(frozenset(0 if key is Constant else id(look_for(key)) for key in part.seen_as))
        return tuple(dict.fromkeys(sets))

    def takes(self, inputs: Sequence[Any], found: Found, scope: Scope) -> Iterator[Found]:
        """Yield what is known after each way in which the inputs of a node of the operation fit."""
        fixed, rest = self.fixed, self.rest
        if len(inputs) < len(fixed) or (len(inputs) > len(fixed) and rest is None):
            return
        if self.any_order:
            yield from _in_any_order(sorted(fixed, key=_rank), 0, list(inputs), rest, found, scope)
        else:
            yield from _in_order(fixed, 0, inputs, rest, found, scope)

    def build(self, found: Found, number: Way) -> Any:
        inputs: list[Any] = []
        for part in self.inputs:
            inputs += found[part.name] if isinstance(part, Rest) else [part.build(found, number)]
        return inputs[0] if len(inputs) == 1 and len(self.inputs) > 1 else self.op(*inputs)

    def spellings(self) -> Iterator[Part]:
        for inputs in _each_spelled(self.inputs):
            yield Applied(self.op, inputs, self.name, self.once, self.any_order, self.common)

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


def made_by(inputs: Sequence[Any]) -> list[int]:
    """Return numbers that say what the inputs of a node are, for `Applied.wanted`: of rearranged ones what they were."""
    numbers = []
    for v in inputs:
        node = v.owner
        if node is not None:
            op = node.op
            if type(op) in _kinds:
                numbers.append(id((_equals.get(id(op)) or _learn(op))[0]))
                continue
            if not getattr(op, "rearranges", False):
                continue
            v = node.inputs[0]
        if isinstance(v, Constant):
            numbers.append(0)
    return numbers


def _are_one(a: Part, b: Part) -> bool:
    return isinstance(a, Named) and isinstance(b, Named) and a.name == b.name


def _twice(inputs: Sequence[Any]) -> bool:
    """Whether there are two inputs that may be one; constants are compared later."""
    if len(inputs) != 2:
        return False
    a, b = inputs
    return a is b or (isinstance(a, Constant) and isinstance(b, Constant))


def _within_one(accepts: Check) -> Check:
    """Whether one of two inputs may be what is wanted of the other, which is one of its own inputs; of constants as above."""

    def check(inputs: Sequence[Any]) -> bool:
        if len(inputs) != 2:
            return False
        a, b = inputs
        for v, other in ((a, b), (b, a)):
            if accepts(v):
                for i in v.owner.inputs:
                    if i is other or (isinstance(i, Constant) and isinstance(other, Constant)):
                        return True
        return False

    return check


def _each_at_its_place(checks: Sequence[tuple[int, Check]], least: int) -> Check:
    def check(inputs: Sequence[Any]) -> bool:
        if len(inputs) < least:
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


def one_of(each: Iterable[tuple]) -> tuple | None:
    """Return what there is one of wherever one of several alternatives is; None if one of them may be anything."""
    result: dict[int, Any] = {}
    for keys in each:
        if not keys:
            return None
        for key in keys:
            result[id(key)] = key
    return tuple(result.values())


def _check_of(options: Sequence[Applied]) -> Check:
    """What `check` returns for one of several operations."""
    kinds = {type(part.op) for part in options if not part.of_class}
    table: dict[int, list[tuple[int | None, Check | None]]] = {}
    for part in options:
        if not part.of_class:
            table.setdefault(id(look_for(part.op)), []).append(part.first_check())
    classes = [(part.op, [part.first_check()]) for part in options if part.of_class]

    def check(v: Any) -> bool:
        node = v.owner
        if node is None:
            return False
        op = node.op
        asked = table.get(id(op))
        if asked is None and type(op) in kinds:
            asked = table.get(id((_equals.get(id(op)) or _learn(op))[0]))
        if asked is None:
            asked = [first for cls, one in classes if isinstance(op, cls) for first in one] if classes else ()
        for place, inner in asked:
            if inner is None or inner(node.inputs if place is None else node.inputs[place]):
                break
        else:
            return False
        return True

    return check


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
    def common(self) -> bool:  # type: ignore[override]
        return True in [option.common for option in self.options]

    @property
    def seen_as(self) -> tuple:  # type: ignore[override]
        return one_of([option.seen_as for option in self.options]) or ()

    def needs(self) -> tuple:
        return one_of([option.needs() for option in self.options]) or ()

    def matches(self, v: Any, found: Found, scope: Scope) -> Iterator[Found]:
        for option in self.options:
            yield from option.matches(v, found, scope)

    def check(self) -> Check | None:
        if all(isinstance(option, Applied) for option in self.options):
            return _check_of(self.options)  # type: ignore[arg-type]
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

    __slots__ = ("condition", "part")

    def __init__(self, part: Part, condition: Callable[[Any], Any]):
        self.part, self.condition = part, condition

    @property
    def rank(self) -> int:  # type: ignore[override]
        return self.part.rank

    @property
    def common(self) -> bool:  # type: ignore[override]
        return self.part.common

    @property
    def binding(self) -> int:  # type: ignore[override]
        return self.part.binding

    @property
    def seen_as(self) -> tuple:  # type: ignore[override]
        return self.part.seen_as

    def needs(self) -> tuple:
        return self.part.needs()

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

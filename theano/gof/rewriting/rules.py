"""Rules: rewrites that are identities, as rows of a table.

``rule(before, after)`` is an identity between two patterns, with the conditions under which it holds. A rewrite is a name and
one or more rules that are tried in turn. What nodes it tracks, what it needs among their inputs and in the graph, its
documentation and its tests come from the patterns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano.gof.graph import Constant
from theano.gof.rewriting.local import FromFunctionLocalOptimizer
from theano.gof.rewriting.match import Applied, Check, Either, Found, Named, Number, Only, Part, Scope

#: Of each rewrite that is made of rules, by its name, what `rewrite` returned.
TABLE: dict[str, Rewrite] = {}


class Made(Part):
    """What a function makes of the variables that its parameters name, where an operation cannot say it.

    Parameters
    ----------
    text : str
        What is made, for readers.
    function : callable
        Its parameters are names of the pattern, or ``out``: what is replaced. It may return None: the rule does not apply.
    """

    def __init__(self, text: str, function: Callable[..., Any]):
        self.text, self.function = text, function
        self.names = parameters(function)

    def build(self, found: Found, number: Callable[[Any], Any]) -> Any:
        return self.function(*[found[name] for name in self.names])

    def __str__(self) -> str:
        return self.text


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters of a function of positional parameters."""
    code = function.__code__  # type: ignore[attr-defined]
    return code.co_varnames[: code.co_argcount]


class Rule:
    """An identity between patterns.

    Parameters
    ----------
    before : Part
        What is replaced: an operation on parts, or the ways to write one.
    after : Part
        What takes its place.
    kinds : str
        Of what dtypes it holds, see `KINDS`.
    where : (str, callable), optional
        What else must be true, in words and as a function like that of `Made`.
    """

    #: What a language of patterns says of dtypes; in words first.
    KINDS: dict[str, tuple] = {"": ("",)}
    #: Operations that nearly all graphs have: not worth waiting for.
    common: Sequence[Any] = ()

    def __init__(self, before: Part, after: Part, kinds: str = "", where: tuple[str, Callable[..., Any]] | None = None):
        self.before, self.after, self.kinds = before, after, kinds
        self.roots: tuple[Applied, ...] = before.options if isinstance(before, Either) else (before,)  # type: ignore[assignment]
        self.where = None if where is None else (*where, parameters(where[1]))

    def scope(self, node: Any) -> Scope | None:
        """Return what is asked of what the pattern matches at `node`, None if it is no node for the rule."""
        return Scope()

    def replaced(self, node: Any, found: Found) -> Any:
        """Return what a local optimizer returns for a node that matches, False if the rule cannot be used."""
        return [self.after.build(found, lambda value: value)]

    def transform(self, node: Any, root: Applied) -> Any:
        """Return what a local optimizer returns for `node`; `root` is one of `roots`, of the operation of `node`."""
        scope = self.scope(node)
        if scope is None:
            return False
        for found in root.takes(node.inputs, {"out": node.outputs[0]}, scope):
            if self.where is None or self.where[1](*[found[name] for name in self.where[2]]):
                result = self.replaced(node, found)
                if result:
                    return result
        return False

    def conditions(self) -> list[str]:
        """Return what must be true, in words."""
        return [text for text in (self.KINDS[self.kinds][0], "" if self.where is None else self.where[0]) if text]

    def __str__(self) -> str:
        return f"{self.before} -> {self.after}"


class _Written:
    """The text of a class, and of an instance its rules: most are never read."""

    def __init__(self, text: str):
        self.text = text

    def __get__(self, instance: Any, owner: type) -> str:
        return self.text if instance is None else "; ".join(f"``{rule}``" for rule in instance.rules)


class Rewrite(FromFunctionLocalOptimizer):
    __doc__ = _Written(
        """A local optimizer that is made of rules, which are tried in turn.

    What it tracks and what it asks of a node before it looks closer come from the rules, when they are first asked for.

    Parameters
    ----------
    name : str
    rules : sequence of Rule
    """
    )  # type: ignore[assignment]

    def __init__(self, name: str, rules: Sequence[Rule]):
        table: dict[Any, list[tuple[Check | None, Rule, Applied]]] | None = None
        classes: list[type] = []

        def transform(node: Any) -> Any:
            nonlocal table
            if table is None:
                table = self._by_op()
                classes.extend(op for op in table if isinstance(op, type))
            inputs = node.inputs
            for check, rule, root in table.get(node.op) or [row for c in classes if isinstance(node.op, c) for row in table[c]]:
                if check is None or check(inputs):
                    result = rule.transform(node, root)
                    if result:
                        return result
            return False

        self.rules = tuple(rules)
        self.__name__ = transform.__name__ = transform.__qualname__ = name
        self.fn = self.transform = transform  # type: ignore[method-assign]
        self.requirements = ()

    def _by_op(self) -> dict[Any, list[tuple[Check | None, Rule, Applied]]]:
        """The patterns by the operation at their root, with what refuses most nodes of it."""
        table: dict[Any, list[tuple[Check | None, Rule, Applied]]] = {}
        for rule in self.rules:
            for root in rule.roots:
                table.setdefault(root.op, []).append((root.check_of_inputs(), rule, root))
        return table

    def tracks(self) -> list[Any]:
        return list(dict.fromkeys(root.op for rule in self.rules for root in rule.roots))

    @functools.cached_property
    def among_inputs(self) -> tuple | None:  # type: ignore[override]
        return _one_of(_looked_for(root, rule.common) for rule in self.rules for root in rule.roots)

    @functools.cached_property
    def needs(self) -> tuple | None:  # type: ignore[override]
        return _one_of(_needed(root, rule.common, True) for rule in self.rules for root in rule.roots)


def rewrite(name: str, registrars: Iterable[Callable[..., Any]], *rules: Rule) -> Rewrite:
    """Make a local optimizer of rules, which are tried in turn.

    Parameters
    ----------
    name : str
        Under which it is registered, chosen and left out.
    registrars : iterable of callables
        Each registers it in a stage.
    *rules : Rule

    Returns
    -------
    Rewrite
    """
    result = TABLE[name] = Rewrite(name, rules)
    for register in registrars:
        register(result)
    return result


def _one_of(each: Iterable[tuple]) -> tuple | None:
    """What there is one of, wherever one of the alternatives fits; None if some ask for nothing."""
    result: dict[Any, None] = {}
    for keys in each:
        if not keys:
            return None
        result.update(dict.fromkeys(keys))
    return tuple(result)


def _best(choices: Iterable[tuple], common: Sequence[Any]) -> tuple:
    """The choice that says most: of the fewest common operations, then the shortest."""
    return min(filter(None, choices), key=lambda ops: (sum(op in common or op is Constant for op in ops), len(ops)), default=())


def _kinds(part: Part) -> tuple:
    """The Ops that make what a part matches, or the class of constants; nothing if anything may."""
    if isinstance(part, Applied):
        return (part.op,)
    if isinstance(part, Number):
        return (Constant,)
    if isinstance(part, Only):
        return _kinds(part.part)
    return (_one_of(map(_kinds, part.options)) or ()) if isinstance(part, Either) else ()


def _looked_for(root: Applied, common: Sequence[Any]) -> tuple:
    return _best(map(_kinds, root.fixed), common)


def _needed(part: Part, common: Sequence[Any], is_root: bool = False) -> tuple:
    """Ops of which a graph has one if the pattern fits anywhere in it, but for the root's."""
    if isinstance(part, Applied):
        return _best([() if is_root else (part.op,), *(_needed(p, common) for p in part.inputs)], common)
    if isinstance(part, Only):
        return _needed(part.part, common)
    return (_one_of(_needed(p, common) for p in part.options) or ()) if isinstance(part, Either) else ()


def names(part: Part) -> set[str]:
    """Return the names in a pattern."""
    if isinstance(part, Named):
        return {part.name}
    inner = part.inputs if isinstance(part, Applied) else part.options if isinstance(part, Either) else ()
    if isinstance(part, Only):
        inner = (part.part,)
    return set().union(*map(names, inner))

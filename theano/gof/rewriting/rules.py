"""Rules: rewrites that are identities, as rows of a table.

``rule(before, after)`` is an identity between two patterns, with the conditions under which it holds. A rewrite is a name and
one or more rules that are tried in turn. What nodes it tracks, what it needs among their inputs and in the graph, its
documentation and its tests come from the patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano.gof.rewriting.local import FromFunctionLocalOptimizer
from theano.gof.rewriting.match import Applied, Either, Found, Named, Only, Part, Scope, made_by, one_of
from theano.gof.utils import copy_stack_trace

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

    def __init__(self, before: Part, after: Part, kinds: str = "", where: tuple[str, Callable[..., Any]] | None = None):
        self.before, self.after, self.kinds = before, after, kinds
        self.where = None if where is None else (*where, parameters(where[1]))

    @property
    def roots(self) -> Sequence[Applied]:
        """The patterns of what is replaced, each of one operation."""
        return self.before.options if isinstance(self.before, Either) else (self.before,)  # type: ignore[return-value]

    def scope(self, node: Any) -> Scope | None:
        """Return what is asked of what the pattern matches at `node`, None if it is no node for the rule."""
        return Scope()

    def replaced(self, node: Any, found: Found) -> Any:
        """Return what a local optimizer returns for a node that matches, False if the rule cannot be used."""
        (out,) = node.outputs
        new = self.after.build(found, lambda value: value)
        if new is None or new.type != out.type:
            return False
        if not any(new is v for v in found.values()):
            copy_stack_trace(out, new)
        return [new]

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


#: What has to be among the inputs, see `Applied.wanted`; what `Applied.first_check` returned, None until that is asked for;
#: the rule, and the pattern.
_Row = list[Any]


def _is_class_of(key: Any, op: Any) -> bool:
    return isinstance(key, type) and isinstance(op, key)


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
    #: In a database rewrites are chosen by their class too: whether one is a function or a rule is not for users to know.
    class_tag = "FromFunctionLocalOptimizer"

    def __init__(self, name: str, rules: Sequence[Rule]):
        table: dict[Any, list[tuple[Rule, Applied]]] | None = None
        # By the identity of an Op in the table, or by the class of an Op: what transform goes through.
        prepared: dict[Any, list[_Row]] = {}

        def rows_for(op: Any) -> list[_Row]:
            nonlocal table
            if table is None:
                table = self._by_op()
            key = next((known for known in table if known is op or known == op), None)
            number = type(op) if key is None else id(key)
            if number not in prepared:
                found = table[key] if key is not None else [row for c in table if _is_class_of(c, op) for row in table[c]]
                prepared[number] = [[root.wanted() if len(found) > 2 else (), None, rule, root] for rule, root in found]
            return prepared[number]

        def transform(node: Any) -> Any:
            inputs, made = node.inputs, None
            for row in prepared.get(id(node.op)) or rows_for(node.op):
                all_wanted, first, rule, root = row
                missing = False
                if all_wanted:
                    if made is None:
                        made = made_by(inputs)
                    for wanted in all_wanted:
                        if wanted.isdisjoint(made):
                            missing = True
                            break
                if missing:
                    continue
                if first is None:
                    first = row[1] = root.first_check()
                place, check = first
                if check is None or check(inputs if place is None else inputs[place]):
                    result = rule.transform(node, root)
                    if result:
                        return result
            return False

        transform.__name__ = transform.__qualname__ = name
        self.rules = tuple(rules)
        self.__name__ = transform.__name__ = transform.__qualname__ = name
        self.fn = self.transform = transform  # type: ignore[method-assign]
        self.requirements = ()
        self._facts: tuple[tuple, frozenset | None, tuple] | None = None

    def _by_op(self) -> dict[Any, list[tuple[Rule, Applied]]]:
        table: dict[Any, list[tuple[Rule, Applied]]] = {}
        for rule in self.rules:
            for root in rule.roots:
                table.setdefault(root.op, []).append((rule, root))
        return table

    def _find_out(self) -> tuple[tuple, frozenset | None, tuple]:
        # The ways to write an expression are not made for this.
        befores = [rule.before for rule in self.rules]
        asked = [((), before.needs()) if isinstance(before, Either) else before.asks() for before in befores]
        among = one_of([among for among, _ in asked])
        self._facts = (
            one_of([before.seen_as for before in befores]) or (),
            None if among is None else frozenset(among),
            # No waiting for what nearly all graphs have.
            one_of([needed for _, needed in asked]) or (),
        )
        return self._facts

    def tracks(self) -> list[Any]:
        return list((self._facts or self._find_out())[0])

    @property
    def among_inputs(self) -> frozenset | None:  # type: ignore[override]
        return (self._facts or self._find_out())[1]

    @property
    def needs(self) -> tuple:  # type: ignore[override]
        return (self._facts or self._find_out())[2]


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


def names(part: Part) -> set[str]:
    """Return the names in a pattern."""
    if isinstance(part, Named):
        return {part.name}
    inner = part.inputs if isinstance(part, Applied) else part.options if isinstance(part, Either) else ()
    if isinstance(part, Only):
        inner = (part.part,)
    return set().union(*map(names, inner))

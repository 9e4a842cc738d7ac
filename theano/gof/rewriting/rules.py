"""Rules: rewrites that are identities, as rows of a table.

``rule(before, after)`` is an identity between two patterns, with the conditions under which it holds. A rewrite is a name and
one or more rules that are tried in turn. What nodes it tracks, what it needs among their inputs and in the graph, its
documentation and its tests come from the patterns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

from theano.gof.memo import ById
from theano.gof.rewriting.index import Form
from theano.gof.rewriting.local import FromFunctionLocalOptimizer
from theano.gof.rewriting.match import ANYTHING, Applied, Either, Found, Named, Only, Part, Scope
from theano.gof.stack_traces import copy_stack_trace

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

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.tensor.opt import P, rule, x
    >>> identity = rule(P.exp(x), Made("sinh(x) + cosh(x)", lambda x: T.sinh(x) + T.cosh(x)))
    >>> print(identity)
    exp(x) -> sinh(x) + cosh(x)
    >>> v = T.dscalar("v")
    >>> theano.pp(identity.transform(T.exp(v).owner, identity.roots[0])[0])
    '(sinh(v) + cosh(v))'
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

    Raises
    ------
    ValueError
        There are no such `kinds`.
    TypeError
        `where` is something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor.opt import P, x
    >>> identity = Rule(P.neg(P.neg(x)), x)
    >>> print(identity)
    -(-x) -> x
    >>> v = T.dscalar("v")
    >>> identity.transform((-(-v)).owner, identity.roots[0])
    [v]
    """

    #: What a language of patterns says of dtypes; in words first.
    KINDS: dict[str, tuple] = {"": ("",)}

    def __init__(self, before: Part, after: Part, kinds: str = "", where: tuple[str, Callable[..., Any]] | None = None):
        if kinds not in self.KINDS:
            raise ValueError(f"a rule holds for the dtypes {', '.join(map(repr, self.KINDS))}, not {kinds!r}")
        if where is not None and not (isinstance(where, tuple) and len(where) == 2 and callable(where[1])):
            raise TypeError(f"`where` is a tuple of a text and a function, not {where!r}")
        self.before, self.after, self.kinds = before, after, kinds
        self.where = None if where is None else (*where, parameters(where[1]))

    @property
    def roots(self) -> Sequence[Applied]:
        """The patterns of what is replaced, each of one operation."""
        return self.before.options if isinstance(self.before, Either) else (self.before,)  # type: ignore[return-value]

    def scope(self, node: Any) -> Scope | None:
        """Return what is asked of what the pattern matches at `node`, None if it is no node for the rule."""
        return ANYTHING

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
        scope = self.scope(node) if self.kinds else ANYTHING
        if scope is None:
            return False
        where = self.where
        for found in root.takes(node.inputs, {"out": node.outputs[0]}, scope):
            if where is None or where[1](*[found[name] for name in where[2]]):
                result = self.replaced(node, found)
                if result:
                    return result
        return False

    def conditions(self) -> list[str]:
        """Return what must be true, in words."""
        return [text for text in (self.KINDS[self.kinds][0], "" if self.where is None else self.where[0]) if text]

    def __str__(self) -> str:
        return f"{self.before} -> {self.after}"


class Otherwise:
    """What a function looks for at a node, after the rules of a rewrite, where no pattern can say it.

    Parameters
    ----------
    function : callable
        Gets the node, returns what a local optimizer returns.
    *roots : Applied
        Patterns of nodes that are offered.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor.opt import P, rewrite, x
    >>> last = Otherwise(lambda node: node.inputs if node.inputs[0].ndim == 0 else False, P.conj(x))
    >>> decided, v = rewrite("local_conj_of_number", [], last), T.dscalar("v")
    >>> decided.transform(T.conj(v).owner), decided.transform(T.conj(T.dvector()).owner)
    ([v], False)
    >>> TABLE.pop("local_conj_of_number") is decided
    True
    """

    def __init__(self, function: Callable[[Any], Any], *roots: Applied):
        self.function, self.roots = function, roots

    def transform(self, node: Any, root: Applied) -> Any:
        """Return what the function does."""
        return self.function(node)


class _Written:
    """The text of a class, and of an instance its rules: most are never read."""

    def __init__(self, text: str):
        self.text = text

    def __get__(self, instance: Any, owner: type) -> str:
        return self.text if instance is None else "; ".join(f"``{rule}``" for rule in instance.rules)


class Rewrite(FromFunctionLocalOptimizer):
    __doc__ = _Written(
        """A local optimizer that is made of rules, which are tried in turn.

    What it tracks and what it asks of the inputs of a node come from the rules, when they are first asked for.

    Parameters
    ----------
    name : str
    rules : sequence of Rule
    """
    )  # type: ignore[assignment]
    #: In a database rewrites are chosen by their class too: whether one is a function or a rule is not for users to know.
    class_tag = "FromFunctionLocalOptimizer"

    def __init__(self, name: str, rules: Sequence[Rule | Otherwise]):
        self.rules = tuple([rule for rule in rules if isinstance(rule, Rule)])
        self._all: Sequence[Any] = rules
        self.__name__ = name
        self.fn = self.transform
        self.requirements = ()
        self._by_op: dict[Any, list[tuple[Rule, Applied]]] | None = None
        self._rows = ById()

    def _table(self) -> dict[Any, list[tuple[Rule, Applied]]]:
        """The rules, and the patterns of what they replace, by the Op or class of Ops that is replaced."""
        if self._by_op is None:
            self._by_op = {}
            for rule in self._all:
                for root in rule.roots:
                    self._by_op.setdefault(root.op, []).append((rule, root))
        return self._by_op

    def _find_rows(self, op: Any) -> tuple:
        # By comparison: an Op need not be hashable.
        return self._rows.keep(op, [row for rows in self._table().values() for row in rows if row[1].is_of(op)])

    def transform(self, node: Any) -> Any:
        return _first_result((self._rows.get(id(node.op)) or self._find_rows(node.op))[0], node)

    def transform_by(self, rows: Sequence[Any]) -> Callable[[Any], Any]:
        if len(rows) == 1:
            return functools.partial(rows[0][0].transform, root=rows[0][1])
        return functools.partial(_first_result, rows)

    def tracks(self) -> list[Any]:
        return list(self._table())

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        print(f"{' ' * level}<rules {self.__name__} at {id(self):#x}> id={id(self)}", file=stream)

    # A rewrite is in several stages, each of which asks.
    @functools.cached_property
    def needs(self) -> tuple:  # type: ignore[override]
        # What is innermost is seldom what nearly all graphs have.
        return tuple({id(op): op for rows in self._table().values() for _, root in rows for op in root.innermost}.values())

    @property
    def op_filter(self) -> Callable[[Any], bool] | None:
        """What tells the index, once for each Op, whether the rules are for it; None if they are for all that are tracked."""
        roots = [root for rows in self._table().values() for _, root in rows]
        for root in roots:
            if root.which is not None:
                return root.which if len(roots) == 1 else functools.partial(_is_of_one, roots)
        return None

    def forms(self) -> dict[Any, list[tuple[Form, tuple[Rule, Applied]]]]:
        return self._forms

    @functools.cached_property
    def _forms(self) -> dict[Any, list[tuple[Form, tuple[Rule, Applied]]]]:
        return {op: [(row[1].form(), row) for row in rows] for op, rows in self._table().items()}

    @functools.cached_property
    def looked_for(self) -> frozenset:  # type: ignore[override]
        return frozenset([op for each in self._forms.values() for form, _ in each for _, ops in form.wants for op in ops])


def _is_of_one(roots: Sequence[Applied], op: Any) -> bool:
    return any(root.is_of(op) for root in roots)


def _first_result(rows: Sequence[tuple[Rule, Applied]], node: Any) -> Any:
    for rule, root in rows:
        result = rule.transform(node, root)
        if result:
            return result
    return False


def rewrite(name: str, registrars: Iterable[Callable[..., Any]], *rules: Rule | Otherwise) -> Rewrite:
    """Make a local optimizer of rules, which are tried in turn.

    Parameters
    ----------
    name : str
        Under which it is registered, chosen and left out.
    registrars : iterable of callables
        Each registers it in a stage.
    *rules : Rule or Otherwise
        The first one that fits is taken.

    Returns
    -------
    Rewrite

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor.opt import P, rule, x
    >>> local_conj_conj = rewrite("local_conj_conj", [], rule(P.conj(P.conj(x)), x))
    >>> v = T.zscalar("v")
    >>> local_conj_conj.transform(T.conj(T.conj(v)).owner)
    [v]
    >>> TABLE.pop("local_conj_conj") is local_conj_conj
    True
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

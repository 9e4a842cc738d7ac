"""Unification: matching things with variables in them, and putting values in the variables' place.

Patterns are variables (`Var`, `NotVariable`, `OrVariable` ...), lists, tuples and dictionaries of patterns, and plain
values, which match what is equal to them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any


class Variable:
    """A variable of a pattern.

    Parameters
    ----------
    name : str
        For printing.

    Examples
    --------
    >>> x = Variable("x")
    >>> x, x == Variable("x")  # Names do not make variables the same.
    (Variable(name=x), False)
    """

    def __init__(self, name: str = "?"):
        self.name = name

    def __str__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(f'{k}={v}' for k, v in self.__dict__.items())})"

    __repr__ = __str__


class FreeVariable(Variable):
    """A variable that anything can take the place of.

    Examples
    --------
    >>> x = FreeVariable("x")
    >>> unify_build(x, unify_walk([x, 2], [1, 2], Unification()))
    1
    >>> unify_walk([x, x], [1, 2], Unification())  # It cannot be both.
    False
    """


class BoundVariable(Variable):
    """A variable with a value.

    Parameters
    ----------
    name : str
        What it is called when it is printed.
    value : object
        What it stands for.

    Examples
    --------
    >>> x = FreeVariable("x")
    >>> known = unify_walk(("add", x), ("add", 3), Unification())
    >>> known[x]
    BoundVariable(name=x, value=3)
    """

    def __init__(self, name: str, value: Any):
        super().__init__(name)
        self.value = value


class OrVariable(Variable):
    """A variable that has one of several values.

    Parameters
    ----------
    name : str
        What it is called when it is printed.
    options : iterable
        One of them is its value.

    Examples
    --------
    >>> op = OrVariable("op", ["add", "sub"])
    >>> unify_walk(op, "mul", Unification())
    False
    >>> unify_walk(op, "add", Unification())[op].value
    'add'
    """

    def __init__(self, name: str, options: Iterable):
        super().__init__(name)
        self.options = list(options)


class NotVariable(Variable):
    """A variable that has none of several values.

    Parameters
    ----------
    name : str
        What it is called when it is printed.
    not_options : iterable
        What its value is not.

    Examples
    --------
    >>> op = NotVariable("op", ["add", "sub"])
    >>> unify_walk(op, "add", Unification())
    False
    >>> unify_walk(op, "mul", Unification())[op].value
    'mul'
    """

    def __init__(self, name: str, not_options: Iterable):
        super().__init__(name)
        self.not_options = list(not_options)


Var = FreeVariable


class VariableInList:
    """Variables that a list of options stands for; kept for code that checks for it.

    Parameters
    ----------
    variable : Variable
        What the options are of.

    Examples
    --------
    >>> VariableInList(FreeVariable("x")).variable
    FreeVariable(name=x)
    """

    def __init__(self, variable: Variable):
        self.variable = variable


class Unification:
    """What is known about variables.  It never changes: `merge` returns a new one.

    Parameters
    ----------
    inplace : bool
        Whether `merge` changes the instance instead of making a new one.

    Examples
    --------
    >>> x, y = FreeVariable("x"), FreeVariable("y")
    >>> known = Unification().merge(BoundVariable("x", 3), x, y)
    >>> known[x].value, known[y] is known[x], Unification()[x] is x
    (3, True, True)
    """

    def __init__(self, inplace: bool = False):
        self.unif: dict = {}
        self.inplace = inplace

    def merge(self, new_best: Variable, *vars: Variable) -> Unification:
        """Return a Unification that also knows that `vars` all are `new_best`.

        Parameters
        ----------
        new_best : Variable
        *vars : Variable
        """
        if self.inplace:
            new = self
        else:
            new = Unification()
            new.unif = dict(self.unif)
        together = {new_best}
        for var in (new_best, *vars):
            together.add(var)
            found = self.unif.get(var)
            if found is not None:
                together |= found[1]
        entry = (new_best, together)
        for var in together:
            new.unif[var] = entry
        return new

    def __getitem__(self, v: Variable) -> Variable:
        """Return the best that is known about a variable."""
        found = self.unif.get(v)
        return found[0] if found is not None else v


_MISS = object()


def unify_walk(a: Any, b: Any, U: Unification) -> Any:
    """Match two patterns.

    Parameters
    ----------
    a, b : object
        Patterns.
    U : Unification
        What is known of variables so far.

    Returns
    -------
    Unification or False
        What is known about the variables then, or False where they do not match.

    Examples
    --------
    >>> x = FreeVariable("x")
    >>> known = unify_walk(["sub", x, x], ["sub", "a", "a"], Unification())
    >>> known[x].value
    'a'
    >>> unify_walk(["sub", x, x], ["sub", "a", "b"], Unification())
    False
    """
    pending = [(a, b)]
    u: Any
    while pending:
        a, b = pending.pop()
        if isinstance(a, Variable) and isinstance(b, Variable):
            u = _walk_variables(U[a], U[b], U)
        elif isinstance(a, Variable):
            u = _walk_value(U[a], b, U, pending)
        elif isinstance(b, Variable):
            u = _walk_value(U[b], a, U, pending)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            if len(a) != len(b):
                return False
            pending.extend(reversed(list(zip(a, b, strict=True))))
            continue
        elif isinstance(a, dict) and isinstance(b, dict):
            pending.extend((a[k], b[k]) for k in a if k in b)
            continue
        elif hasattr(a, "__unify_walk__"):
            u = a.__unify_walk__(b, U)
        elif hasattr(b, "__unify_walk__"):
            u = b.__unify_walk__(a, U)
        else:
            u = U if _equal(a, b) else False
        if u is False:
            return False
        U = u
    return U


def _equal(a: Any, b: Any) -> bool:
    return a is b or bool(a == b)


def _walk_value(var: Variable, value: Any, U: Unification, pending: list) -> Any:
    if isinstance(var, BoundVariable):
        pending.append((var.value, value))
        return U
    if isinstance(var, OrVariable):
        for option in var.options:
            u = unify_walk(option, value, U)
            if u is not False:
                return u.merge(BoundVariable(var.name, value), var)
        return False
    if isinstance(var, NotVariable):
        for option in var.not_options:
            if unify_walk(option, value, U) is not False:
                return False
        return U.merge(BoundVariable(var.name, value), var)
    own = getattr(var, "__unify_walk__", None)
    if own is not None and type(var) is not FreeVariable:
        return own(value, U)
    return U.merge(BoundVariable(var.name, value), var)


def _walk_variables(a: Variable, b: Variable, U: Unification) -> Any:
    if a is b:
        return U
    if isinstance(a, BoundVariable) and isinstance(b, BoundVariable):
        u = unify_walk(a.value, b.value, U)
        return u if u is False else u.merge(a, b)
    if isinstance(a, BoundVariable):
        a, b = b, a
    if isinstance(b, BoundVariable):
        if type(a) in (OrVariable, NotVariable):
            pending: list = []
            u = _walk_value(a, b.value, U, pending)
            return u if u is False else u.merge(b, a)
        return U.merge(b, a)
    if isinstance(a, OrVariable) and isinstance(b, OrVariable):
        both = [x for x in a.options if x in b.options]
        return _merge_options(a, b, both, U)
    if isinstance(a, NotVariable) and isinstance(b, NotVariable):
        either = a.not_options + [x for x in b.not_options if x not in a.not_options]
        return U.merge(NotVariable(f"{a.name}&{b.name}", either), a, b)
    if isinstance(a, NotVariable) and isinstance(b, OrVariable):
        a, b = b, a
    if isinstance(a, OrVariable) and isinstance(b, NotVariable):
        return _merge_options(a, b, [x for x in a.options if x not in b.not_options], U)
    if isinstance(a, (OrVariable, NotVariable)):
        return U.merge(a, b)
    return U.merge(b, a)


def _merge_options(a: Variable, b: Variable, options: list, U: Unification) -> Any:
    name = f"{a.name}&{b.name}"
    if not options:
        return False
    if len(options) == 1:
        return U.merge(BoundVariable(name, options[0]), a, b)
    return U.merge(OrVariable(name, options), a, b)


def unify_merge(a: Any, b: Any, U: Unification) -> Any:
    """Return the pattern that two patterns that match have in common.

    Parameters
    ----------
    a, b : object
        Patterns.
    U : Unification
        What `unify_walk` returned for them.

    Examples
    --------
    >>> x, y = FreeVariable("x"), FreeVariable("y")
    >>> left, right = ["add", x, 2], ["add", 1, y]
    >>> unify_merge(left, right, unify_walk(left, right, Unification()))
    ['add', 1, 2]
    """
    if isinstance(a, Variable) or isinstance(b, Variable):
        if not isinstance(a, Variable):
            a, b = b, a
        return unify_build(a, U)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return type(a)(unify_merge(x, y, U) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        merged = {**b, **a}
        return {k: unify_merge(v, b[k], U) if k in a and k in b else unify_build(v, U) for k, v in merged.items()}
    own = getattr(a, "__unify_merge__", None)
    if own is not None:
        return own(b, U)
    return a


def unify_build(x: Any, U: Unification) -> Any:
    """Return a pattern with the values of its variables in their place.

    Parameters
    ----------
    x : object
        The pattern.
    U : Unification
        The values.

    Examples
    --------
    >>> x = FreeVariable("x")
    >>> known = unify_walk(["log", ["exp", x]], ["log", ["exp", "a"]], Unification())
    >>> unify_build({"simpler": x, "n": 2}, known)
    {'simpler': 'a', 'n': 2}
    """
    if isinstance(x, Variable):
        best = U[x]
        if isinstance(best, BoundVariable):
            return unify_build(best.value, U)
        return best
    if isinstance(x, (list, tuple)):
        return type(x)(unify_build(y, U) for y in x)
    if isinstance(x, dict):
        return {k: unify_build(v, U) for k, v in x.items()}
    own = getattr(x, "__unify_build__", None)
    return own(U) if own is not None else x


class FVar:
    """A function of patterns, to be computed once their variables have values.

    Parameters
    ----------
    fn : callable
        What is called.
    *args
        Patterns: what they are built to is given to the function.

    Examples
    --------
    >>> x = FreeVariable("x")
    >>> known = unify_walk(("double", x), ("double", 4), Unification())
    >>> FVar(lambda value: 2 * value, x)(known)
    8
    """

    def __init__(self, fn: Any, *args: Any):
        self.fn = fn
        self.args = args

    def __call__(self, u: Unification) -> Any:
        return self.fn(*[unify_build(arg, u) for arg in self.args])


def var_lookup(vartype: type, name: str, *args: Any, **kwargs: Any) -> Variable:
    """Return the variable of a class and name, the same one each time.

    Parameters
    ----------
    vartype : type
        The class.
    name : str
        What it is called when it is printed.
    *args, **kwargs
        For the class, if the variable is new.

    Examples
    --------
    >>> x = var_lookup(FreeVariable, "x")
    >>> var_lookup(FreeVariable, "x") is x, var_lookup(FreeVariable, "y") is x
    (True, False)
    """
    return _variables.setdefault((vartype, name), vartype(name, *args, **kwargs))


# Each as long as a pattern has it.
_variables: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def unify(a: Any, b: Any) -> tuple:
    """Match two patterns.

    Parameters
    ----------
    a, b : object
        Patterns.

    Returns
    -------
    (pattern, Unification) or (None, False)
        What they have in common and what is known about the variables, if they match.

    Examples
    --------
    >>> x, y = Var("x"), Var("y")
    >>> merged, U = unify(("add", x, 2), ("add", 1, y))
    >>> merged
    ('add', 1, 2)
    """
    U = unify_walk(a, b, Unification())
    if U is False:
        return None, False
    return unify_merge(a, b, U), U


def wildcard() -> Variable:
    """Return a new variable that anything can take the place of.

    Examples
    --------
    >>> first, second = wildcard(), wildcard()
    >>> unify_walk([first, second], ["a", "b"], Unification())[second].value
    'b'
    """
    return FreeVariable("_")

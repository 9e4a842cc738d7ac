"""Profiles: what optimizers did for a graph and how long it took, to be printed and added up."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any, ClassVar, TextIO, TypeVar

from theano.gof.record import Fields

S = TypeVar("S", bound="Summable")
P = TypeVar("P", bound="Profile")


def add_values(a: Any, b: Any) -> Any:
    """Return `a` and `b` added up: lists and tables element by element; None counts as nothing."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, dict):
        return {key: add_values(a.get(key), b.get(key)) for key in {**a, **b}}
    if isinstance(a, list):
        return [add_values(x, y) for x, y in zip_longest(a, b)]
    return a + b


def join_titles(a: str, b: str) -> str:
    """Return the title of what two titles stand for."""
    return a if a == b else " & ".join(title for title in (a, b) if title)


class Summable(Fields):
    """Base of objects of which the sum is that of their fields, `added_by` something else than `add_values`."""

    added_by: ClassVar[dict[str, Callable[[Any, Any], Any]]] = {}

    def __add__(self: S, other: S) -> S:
        adds = [(name, self.added_by.get(name, add_values)) for name in self.fields]
        return type(self)(**{name: add(getattr(self, name), getattr(other, name)) for name, add in adds})


class Profile(Summable):
    """Base of what `apply` of an optimizer returns.

    Parameters
    ----------
    title : str
        What is printed first.

    Examples
    --------
    >>> import sys
    >>> class Counts(Profile):
    ...     replaced: int = 0
    >>> both = Counts("my optimizer", 2) + Counts("my optimizer", 3)
    >>> both.write(sys.stdout)
     my optimizer
       replaced 5
    """

    added_by = {"title": join_titles}
    optimizer = None
    title: str

    def __getitem__(self, position: int) -> Any:
        """As the original's tuples: the optimizer that `optimize` was called of, then what the profile holds."""
        return (self.optimizer, *[getattr(self, name) for name in self.fields[1:]])[position]

    def write(self, stream: TextIO | None, level: int = 0) -> None:
        """Write the title, and one line for each field, indented by `level`."""
        blanc = "    " * level
        print(blanc, self.title, file=stream)
        for name in self.fields[1:]:
            print(blanc, f"  {name}", getattr(self, name), file=stream)


class Part(Fields):
    """What one optimizer among several did.

    Parameters
    ----------
    opt : Optimizer
    profile
        What its `apply` returned: a `Profile`, None, or what a class of a user's returns.
    seconds, validate_time : float
    """

    opt: Any
    profile: Any
    seconds: float = 0.0
    validate_time: float = 0.0

    def __add__(self, other: Part) -> Part:
        profile = other.profile if self.profile is None else self.profile
        if self.profile is not None and other.profile is not None:
            profile = self.opt.merge_profile(self.profile, other.profile)
        return Part(self.opt, profile, self.seconds + other.seconds, self.validate_time + other.validate_time)

    def write(self, stream: TextIO | None, level: int) -> None:
        """Let the optimizer write the profile."""
        if self.profile is not None:
            self.opt.print_profile(stream, self.profile, level=level)


class Overhead(Summable):
    """Seconds that a graph spent in `validate` and in the callbacks of its features.

    Parameters
    ----------
    validate_time : float or None
        None where the graph is not profiled.
    callback_time : float
        Seconds in callbacks.
    callbacks : dict
        The seconds of each feature.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> y = T.exp(x)
    >>> fgraph = theano.gof.FunctionGraph([x], [y], clone=False)
    >>> before = Overhead.of(fgraph)
    >>> fgraph.replace(y, T.exp(x + 0))
    >>> before.until_now(fgraph).callback_time >= 0
    True
    """

    validate_time: float | None
    callback_time: float
    callbacks: dict[Any, float]

    @classmethod
    def of(cls, fgraph: Any) -> Overhead:
        """Return what `fgraph` has spent so far."""
        profile = getattr(fgraph, "profile", None)
        validate_time = profile.validate_time if profile else None
        return cls(validate_time, fgraph.execute_callbacks_time, dict(fgraph.execute_callbacks_times))

    def until_now(self, fgraph: Any) -> Overhead:
        """Return what `fgraph` has spent since it had spent this."""
        now = Overhead.of(fgraph)
        spent = None if now.validate_time is None else now.validate_time - (self.validate_time or 0.0)
        if now.callbacks == self.callbacks:
            return Overhead(spent, now.callback_time - self.callback_time, {})
        callbacks = {f: seconds - self.callbacks.get(f, 0) for f, seconds in now.callbacks.items()}
        return Overhead(spent, now.callback_time - self.callback_time, {f: s for f, s in callbacks.items() if s})

    def entered_in(self, profile: P, fgraph: Any) -> P:
        """Enter the seconds that `fgraph` has spent since in `profile`, and return it."""
        spent = self.until_now(fgraph)
        profile.validate_time, profile.callback_time = spent.validate_time, spent.callback_time  # type: ignore[attr-defined]
        return profile

"""Sets that remember the order in which their elements came."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableSet
from typing import Any


def check_deterministic(iterable: Any) -> None:
    """Check that going through a collection gives the same order in each process.

    Parameters
    ----------
    iterable : iterable or None
        None is fine.

    Raises
    ------
    TypeError
        It is a set, or something else of unknown order.

    Examples
    --------
    >>> check_deterministic([3, 1, 2])
    >>> check_deterministic({3, 1, 2})
    Traceback (most recent call last):
        ...
    TypeError: Trying to initialize an OrderedSet from a collection without a fixed order: <class 'set'>
    """
    if iterable is not None and not isinstance(iterable, (list, tuple, OrderedSet, dict, str, Iterator)):
        if len(iterable) > 1:
            raise TypeError(f"Trying to initialize an OrderedSet from a collection without a fixed order: {type(iterable)}")


class Link:
    """An element of a chain, which refers weakly to its neighbours: pickles of the original's sets are made of them.

    `prev` and `next` are weak references to other links, `key` is the element.

    Examples
    --------
    >>> first, second = Link(), Link()
    >>> first.key, second.key = "a", "b"
    >>> first.next = second.prev = weakref.ref(second)
    >>> first.prev = second.next = weakref.ref(first)
    >>> first.next().key, second.next().key
    ('b', 'a')
    """

    __slots__ = ("__weakref__", "key", "next", "prev")

    def __getstate__(self) -> list:
        return [self.prev(), self.next(), *([self.key] if hasattr(self, "key") else [])]

    def __setstate__(self, state: list) -> None:
        self.prev, self.next = weakref.ref(state[0]), weakref.ref(state[1])
        if len(state) == 3:
            self.key = state[2]


class OrderedSet(MutableSet):
    """A set that is gone through in the order in which its elements were added.

    Parameters
    ----------
    iterable : optional
        The elements to start with.

    Examples
    --------
    >>> s = OrderedSet([3, 1, 2, 1])
    >>> s.add(0)
    >>> s.discard(1)
    >>> list(s)
    [3, 2, 0]
    """

    def __init__(self, iterable: Iterable | None = None):
        check_deterministic(iterable)
        self._d: dict = dict.fromkeys(iterable) if iterable is not None else {}

    def __contains__(self, key: object) -> bool:
        return key in self._d

    def __len__(self) -> int:
        return len(self._d)

    def __iter__(self) -> Iterator:
        return iter(self._d)

    def __reversed__(self) -> Iterator:
        return reversed(self._d)

    def add(self, key: Any) -> None:
        """Add an element, at the end if it is new."""
        self._d[key] = None

    def discard(self, key: Any) -> None:
        """Remove an element, if it is there."""
        self._d.pop(key, None)

    def update(self, iterable: Iterable) -> None:
        """Add several elements."""
        check_deterministic(iterable)
        self._d.update(dict.fromkeys(iterable))

    def union(self, s: Iterable) -> OrderedSet:
        """Return a set that has the elements of both."""
        check_deterministic(s)
        new = self.copy()
        new.update(s)
        return new

    def intersection_update(self, s: Iterable) -> None:
        """Keep what is in `s` as well."""
        keep = set(s)
        self._d = {k: None for k in self._d if k in keep}

    def difference_update(self, s: Iterable) -> None:
        """Remove what is in `s`."""
        for k in s:
            self._d.pop(k, None)

    def copy(self) -> OrderedSet:
        """Return a new set with the same elements."""
        new = OrderedSet()
        new._d = dict(self._d)
        return new

    def pop(self, last: bool = True) -> Any:
        """Remove and return the last element, or the first.

        Raises
        ------
        KeyError
            The set is empty.
        """
        if not self._d:
            raise KeyError("set is empty")
        key = next(reversed(self._d)) if last else next(iter(self._d))
        del self._d[key]
        return key

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OrderedSet):
            return list(self) == list(other)
        if isinstance(other, (set, frozenset)):
            raise TypeError("Cannot compare an OrderedSet to a set because this comparison cannot be made symmetric")
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({list(self._d)!r})" if self._d else f"{self.__class__.__name__}()"

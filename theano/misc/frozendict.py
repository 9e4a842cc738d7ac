"""Dictionaries that never change and can be hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class frozendict(Mapping):
    """A dictionary that cannot be changed; hashable if its values are.

    Parameters
    ----------
    *args, **kwargs
        As for `dict`.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.

    Examples
    --------
    >>> d = frozendict(a=1)
    >>> d["a"], hash(d) == hash(frozendict({"a": 1})), d.copy(b=2)
    (1, True, frozendict({'a': 1, 'b': 2}))
    """

    __slots__ = ("_dict", "_hash")

    def __init__(self, *args: Any, **kwargs: Any):
        self._dict = dict(*args, **kwargs)
        self._hash: int | None = None

    def __getitem__(self, key: Any) -> Any:
        return self._dict[key]

    def __contains__(self, key: object) -> bool:
        return key in self._dict

    def __eq__(self, other: object) -> bool:
        # Ops are compared by these all the time: no detour over `Mapping`.
        return self._dict == (other._dict if isinstance(other, frozendict) else other)

    def items(self) -> Any:
        return self._dict.items()

    def get(self, key: Any, default: Any = None) -> Any:
        return self._dict.get(key, default)

    def copy(self, **add_or_replace: Any) -> frozendict:
        """Return a new one with some entries added or replaced."""
        return type(self)(self._dict, **add_or_replace)

    def __iter__(self) -> Iterator:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._dict!r})"

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._dict.items()))
        return self._hash

    def __reduce__(self) -> tuple:
        return type(self), (self._dict,)


class FrozenOrderedDict(frozendict):
    """A `frozendict` whose order programs count on; each of them keeps its order."""

    __slots__ = ()

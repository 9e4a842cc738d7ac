"""Classes of named fields: what dataclasses are, without the code that these write and compile at each import."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        return lambda cls: cls


class _Named:
    """The fields that the bases have, then those that a subclass annotates."""

    fields: ClassVar[tuple[str, ...]] = ()
    required: ClassVar[frozenset[str]] = frozenset()
    made_anew: ClassVar[dict[str, Callable[[], Any]]] = {}
    _allowed: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__dict__.get("__annotations__", {})
        cls.fields = (*cls.fields, *[name for name, of in own.items() if "ClassVar" not in str(of)])
        cls._allowed = frozenset(cls.fields)
        cls.required = frozenset([name for name in cls.fields if not hasattr(cls, name)])

    if not TYPE_CHECKING:

        def __init__(self, *args: Any, **named: Any):
            values = self.__dict__
            if len(args) == len(self.fields) and not named:
                values.update(zip(self.fields, args))
                return
            values.update(zip(self.fields, args), **named)
            given = len(args) + len(named)
            complete = given == len(self.fields)
            known = len(values) == given and (not named or values.keys() <= self._allowed)
            if not known or not (complete or self.required <= values.keys()):
                raise TypeError(f"{type(self).__name__} has the fields {self.fields}, got {args} and {named}")
            if not complete:
                for name, make in self.made_anew.items():
                    if name not in values:
                        values[name] = make()


@dataclass_transform()
class Fields(_Named):
    """An object of the fields that a subclass annotates, those with a default last; a list or dict as default is copied.

    Examples
    --------
    >>> class Basket(Fields):
    ...     owner: str
    ...     fruit: list[str] = []
    >>> basket = Basket("Eve")
    >>> basket.fruit.append("apple")
    >>> basket.fruit, Basket("Adam").fruit
    (['apple'], [])
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        defaults = [(name, getattr(cls, name, None)) for name in cls.fields]
        # Most are empty, and there are many objects.
        cls.made_anew = {
            name: partial(deepcopy, value) if value else value.copy for name, value in defaults if isinstance(value, (list, dict))
        }


@dataclass_transform(frozen_default=True)
class Record(_Named):
    """A value of the fields that a subclass annotates, those with a default last.

    It is equal to one of its class with equal fields, but for those named in `uncompared`, and cannot be changed.

    Examples
    --------
    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), Point(1).replaced(y=2)
    (Point(x=1, y=0), True, Point(x=1, y=2))
    """

    uncompared: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed; see `replaced`")

    def _key(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.fields if name not in self.uncompared])

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._key() == other._key())  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        # Several tables are asked for a kernel while a function is compiled.
        found = self.__dict__.get("_hash")
        if found is None:
            found = self.__dict__["_hash"] = hash(self._key())
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in self.fields])})"

    def replaced(self, **changes: Any) -> Self:
        """The same value with other fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self.fields}, **changes})

"""Values of named fields: what frozen dataclasses are, without the code that these write and compile at each import."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Record:
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

    fields: ClassVar[tuple[str, ...]] = ()
    required: ClassVar[frozenset[str]] = frozenset()
    uncompared: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        annotated = [name for name, of in cls.__annotations__.items() if "ClassVar" not in str(of)]
        cls.fields = tuple(annotated)
        cls.required = frozenset(name for name in annotated if name not in cls.__dict__)

    if not TYPE_CHECKING:

        def __init__(self, *args: Any, **named: Any):
            values = self.__dict__
            values.update(zip(self.fields, args))
            values.update(named)
            if len(values) != len(args) + len(named) or not self.required <= values.keys() <= {*self.fields}:
                raise TypeError(f"{type(self).__name__} has the fields {self.fields}, got {args} and {named}")

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

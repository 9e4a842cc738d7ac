"""Objects that are values: equality, hash and text by ``__props__``."""

from __future__ import annotations

from typing import Any


class MetaObject:
    """A base class whose subclasses are compared by the attributes that their ``__props__`` names.

    A class that defines ``__props__`` (a tuple of attribute names) gets ``__eq__``, ``__hash__`` and ``__str__``
    unless it defines them itself.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.

    Examples
    --------
    >>> class P(MetaObject):
    ...     __props__ = ("a", "b")
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> P(1, 2) == P(1, 2), P(1, 2) == P(1, 3), str(P(1, 2))
    (True, False, 'P{a=1, b=2}')
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _give_methods(cls)

    def _props(self) -> tuple:
        return tuple(getattr(self, name) for name in self.__props__)

    def _props_dict(self) -> dict:
        return {name: getattr(self, name) for name in self.__props__}


class PropsType(type):
    """A metaclass that gives its classes what :class:`MetaObject` gives its subclasses."""

    def __init__(cls, name: str, bases: tuple, namespace: dict, **kwargs: Any):
        super().__init__(name, bases, namespace, **kwargs)
        if "__props__" in namespace:
            cls._props = MetaObject._props
            cls._props_dict = MetaObject._props_dict
        _give_methods(cls)


def _give_methods(cls: type) -> None:
    own = cls.__dict__
    props = own.get("__props__")
    if props is None:
        if "__eq__" in own and own.get("__hash__") is None:
            # Python drops the inherited hash of a class that defines equality; old code relies on it.
            for base in cls.__mro__[1:]:
                inherited = base.__dict__.get("__hash__")
                if inherited is not None:
                    cls.__hash__ = inherited  # type: ignore[method-assign]
                    break
        return
    if not isinstance(props, tuple):
        raise TypeError(f"{cls.__name__}: __props__ has to be a tuple")
    if own.get("__hash__") is None:
        cls.__hash__ = _hash_of_props  # type: ignore[method-assign, assignment]
    if "__eq__" not in own:
        cls.__eq__ = _eq_of_props  # type: ignore[method-assign, assignment]
    if "__str__" not in own:
        cls.__str__ = _str_of_props  # type: ignore[method-assign, assignment]


def _hash_of_props(self: Any) -> int:
    return hash((type(self), tuple([getattr(self, name) for name in self.__props__])))


def _eq_of_props(self: Any, other: Any) -> bool:
    if self is other:
        return True
    return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self.__props__)


def _str_of_props(self: Any) -> str:
    name = self.__class__.__name__
    if not self.__props__:
        return name
    return f"{name}{{{', '.join(f'{p}={getattr(self, p)!r}' for p in self.__props__)}}}"

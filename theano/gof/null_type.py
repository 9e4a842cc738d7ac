"""The type of gradients that have no value."""

from __future__ import annotations

from typing import Any, NoReturn

from theano.gof.type import Type


class NullType(Type):
    """A type that no value has.

    It stands for a gradient that is not known (not implemented, or undefined), which is different from zero.

    Parameters
    ----------
    why_null : str
        Why variables of this type have no value; for error messages.

    See Also
    --------
    theano.gradient.NullTypeGradError : Raised when `grad` meets a gradient of NullType: it is undefined or not
        implemented.
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.
    theano.gradient.DisconnectedType : Type of the gradient with respect to a variable that the cost does not depend on.

    Examples
    --------
    >>> unknown = NullType("its Op has no gradient")
    >>> unknown.why_null, unknown == NullType()
    ('its Op has no gradient', True)
    >>> unknown.filter(3)
    Traceback (most recent call last):
        ...
    ValueError: No values may be assigned to a NullType
    """

    def __init__(self, why_null: str = "(no explanation given)"):
        self.why_null = why_null

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> NoReturn:
        """Raise ValueError: no value is of this type."""
        raise ValueError("No values may be assigned to a NullType")

    def filter_variable(self, other: Any, allow_convert: bool = True) -> NoReturn:
        """Raise ValueError: no variable can be converted to this type."""
        raise ValueError("No values may be assigned to a NullType")

    def may_share_memory(self, a: Any, b: Any) -> bool:
        """Return False."""
        return False

    @staticmethod
    def values_eq(a: Any, b: Any, force_same_dtype: bool = True) -> NoReturn:
        """Raise ValueError: there are no values to compare."""
        raise ValueError("NullType has no values to compare")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __str__(self) -> str:
        return "NullType"


null_type = NullType()

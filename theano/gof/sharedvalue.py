"""Shared variables: variables whose value lives in a container that compiled functions have in common."""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Callable
from typing import Any

from theano.gof.graph import Variable
from theano.gof.link import Container
from theano.gof.stack_traces import add_tag_trace
from theano.gof.type import generic

__all__ = ["SharedVariable", "constructors", "generic_constructor", "shared", "shared_constructor"]


class SharedVariable(Variable):
    """A variable whose value is shared by all the functions it appears in.

    Usually made by :func:`shared`.

    Parameters
    ----------
    name : str or None
        Name of the variable.
    type : Type
        Type of the variable.
    value : object
        Initial value, put into a new container.
    strict : bool
        Whether values that are assigned later must be of the exact type: no
        cast, no copy.
    allow_downcast : bool, optional
        Whether assigned values may lose precision when they are cast.
    container : Container, optional
        Container to use instead of making one from `value`. Giving both is an
        error.

    Attributes
    ----------
    container : Container
        Holds the value.
    default_update : Variable
        If set, the update that functions apply to the variable unless they
        are given another one or ``no_default_updates``.

    See Also
    --------
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.

    Examples
    --------
    >>> import theano
    >>> total = theano.shared(0, "total")
    >>> isinstance(total, SharedVariable)
    True
    >>> add = theano.function([], updates=[(total, total + 5)])
    >>> add()
    []
    >>> add()
    []
    >>> int(total.get_value())
    10
    """

    #: Compiled functions take this for a shared variable without importing this module.
    is_shared_variable = True
    container: Any = None

    def __init__(
        self,
        name: str | None,
        type: Any,
        value: Any,
        strict: bool,
        allow_downcast: bool | None = None,
        container: Container | None = None,
    ):
        super().__init__(type=type, name=name, owner=None, index=None)
        if container is not None:
            if value is not None or strict is not None:
                raise TypeError(f"A shared variable takes a value or a container, not both: {value}, {strict}")
            self.container = container
        else:
            storage = [type.filter(value, strict=strict, allow_downcast=allow_downcast)]
            self.container = Container(
                self, storage=storage, readonly=False, strict=strict, allow_downcast=allow_downcast
            )

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """Return the current value.

        Parameters
        ----------
        borrow : bool
            Whether the result may be aliased to the internal storage. By
            default it is a copy.
        return_internal_type : bool
            Whether the result may be of another type than the one users see,
            where the two differ.

        Returns
        -------
        object
            The value.
        """
        value = self.container.value
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value for every function that uses this variable.

        Parameters
        ----------
        new_value : object
            A value that suits the variable's type.
        borrow : bool
            Whether `new_value` itself may become the storage. By default it
            is copied.
        """
        self.container.value = new_value if borrow else copy.deepcopy(new_value)

    def get_test_value(self) -> Any:
        """Return the value, as the test value of this variable."""
        return self.get_value(borrow=True, return_internal_type=True)

    def zero(self, borrow: bool = False) -> None:
        """Set the value to zero.

        Parameters
        ----------
        borrow : bool
            True overwrites the current array, for everyone who holds an
            alias to it; False makes a new one.
        """
        if borrow:
            self.container.value[...] = 0
        else:
            self.container.value = 0 * self.container.value

    def clone(self) -> SharedVariable:
        """Return a new variable on the same container, so that both always have the same value."""
        clone = self.__class__(name=self.name, type=self.type, value=None, strict=None, container=self.container)
        clone.tag = copy.copy(self.tag)
        return clone

    def __getitem__(self, *args: Any) -> Any:
        # A shared variable that supports indexing takes it from another base,
        # which comes later in the resolution order.
        parent = super()
        if hasattr(parent, "__getitem__"):
            return parent.__getitem__(*args)
        value = self.container.value
        reason = "its type supports no indexing"
        if isinstance(value, (list, tuple)) or hasattr(value, "__getitem__"):
            reason = (
                "the value is kept as a generic Python object; use theano.shared on a value that a symbolic type "
                "with indexing accepts"
            )
        raise TypeError(f"The shared variable {self} of type {self.type} cannot be indexed: {reason}.")

    @property
    def value(self) -> Any:
        raise AttributeError("A shared variable has no attribute 'value': use get_value() and set_value(new_value).")

    @value.setter
    def value(self, new_value: Any) -> None:
        raise AttributeError("A shared variable has no attribute 'value': use get_value() and set_value(new_value).")


#: Functions that :func:`shared` tries, the last one first.
constructors: list[Callable[..., SharedVariable]] = []


#: For values whose class comes from a module that starts so, the module that is imported to register its constructor.
constructor_modules: dict[str, str] = {}


def shared_constructor(ctor: Callable[..., SharedVariable], remove: bool = False) -> Callable[..., SharedVariable]:
    """Register a constructor of shared variables.

    Parameters
    ----------
    ctor : callable
        Called as ``ctor(value, name=name, strict=strict, allow_downcast=allow_downcast, **kwargs)``.
        It has to raise a TypeError for a value it does not support.
    remove : bool
        Whether to take `ctor` off the list instead.

    Returns
    -------
    callable
        `ctor`, so that this works as a decorator.

    See Also
    --------
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.
    theano.compile.sharedvalue.generic_constructor : Make a shared variable of the generic type, which holds any Python
        object.

    Examples
    --------
    >>> import theano
    >>> class Fraction:
    ...     def __init__(self, over, under):
    ...         self.value = over / under
    >>> @shared_constructor
    ... def fraction_constructor(value, name=None, strict=False, allow_downcast=None):
    ...     if not isinstance(value, Fraction):
    ...         raise TypeError("no fraction")
    ...     return theano.shared(value.value, name)
    >>> theano.shared(Fraction(1, 4), "rate").get_value()
    array(0.25)
    >>> _ = shared_constructor(fraction_constructor, remove=True)
    """
    if remove:
        constructors.remove(ctor)
    else:
        constructors.append(ctor)
    return ctor


def shared(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None, **kwargs: Any
) -> Any:
    """Return a shared variable that holds a copy of, or a reference to, a value.

    The registered constructors are tried, the last registered first, until
    one accepts the value. Extra keywords limit the choice to the constructors
    that know them.

    Parameters
    ----------
    value : object
        Initial value.
    name : str, optional
        Name of the variable.
    strict : bool
        Whether values assigned later must be of the exact type.
    allow_downcast : bool, optional
        Whether values assigned later may lose precision.
    **kwargs
        Options of the constructor, such as ``borrow`` and ``broadcastable``
        for arrays. Dimensions are not broadcastable unless said so.

    Returns
    -------
    SharedVariable
        The new variable.

    Raises
    ------
    TypeError
        If `value` is itself symbolic, or no constructor takes it together with
        `kwargs`.

    See Also
    --------
    theano.In : An input of a compiled function, with everything a caller may choose about it.
    theano.function : Return a callable that computes `outputs` from `inputs`.
    theano.Container : A typed place for one value, shared by a function's arguments, its program and shared variables.

    Examples
    --------
    >>> import theano
    >>> counter = theano.shared(0)
    >>> counter.set_value(3)
    >>> int(counter.get_value())
    3
    """
    if isinstance(value, Variable):
        raise TypeError(f"Shared variable constructor needs numeric values and not symbolic variables: {value}")
    module = type(value).__module__
    for start, home in constructor_modules.items():
        if module.startswith(start):
            _import_constructor(home)
    for ctor in reversed(constructors):
        try:
            variable = ctor(value, name=name, strict=strict, allow_downcast=allow_downcast, **kwargs)
        except TypeError:
            continue
        except MemoryError as error:
            error.args = (*error.args, "you might consider using 'theano.shared(..., borrow=True)'")
            raise
        return add_tag_trace(variable)
    raise TypeError(
        "No suitable SharedVariable constructor could be found. Are you sure all kwargs are supported? "
        "We do not support the parameter dtype or type. "
        f'value="{value}". parameters="{kwargs}"'
    )


def _import_constructor(module: str) -> None:
    """Import the module that knows a kind of values, which registers its constructor."""
    try:
        importlib.import_module(module)
    except ImportError:
        # Without it such a value is one of the generic type.
        pass


@shared_constructor
def generic_constructor(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None
) -> SharedVariable:
    """Make a shared variable of the generic type, which holds any Python object.

    Parameters
    ----------
    value : object
        The first value.
    name : str, optional
        The variable's name.
    strict, allow_downcast : bool, optional
        Without meaning for this type, which takes every value as it is.

    Returns
    -------
    SharedVariable
        It holds `value` itself.

    See Also
    --------
    theano.compile.shared_constructor : Register a constructor of shared variables.

    Examples
    --------
    >>> settings = generic_constructor({"rate": 0.1}, name="settings")
    >>> print(settings.type, settings.get_value()["rate"])
    Generic 0.1
    """
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, (bool, int, float, complex)) for item in value):
        warnings.warn(
            f"theano.shared keeps this {type(value).__name__} of numbers as a Python object, which no operation on tensors takes:"
            " give it numpy.array(...) for a tensor.",
            stacklevel=3,
        )
    return SharedVariable(type=generic, value=value, name=name, strict=strict, allow_downcast=allow_downcast)

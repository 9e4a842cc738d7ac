"""Descriptions of the inputs and outputs of a compiled function: :class:`In` and :class:`Out`."""

from __future__ import annotations

from typing import Any

from theano import gof
from theano.gof.link import Container


class SymbolicInput:
    """What a function has to know about one of its inputs, without any value.

    Parameters
    ----------
    variable : Variable
        Receives the argument; it is never computed from its owner.
    name : str, optional
        Key of the input, by which it can be passed as a keyword.
    update : Variable, optional
        Expression whose value replaces the input's stored value after each call.
    mutable : bool, optional
        Whether the compiled function may overwrite the argument. Defaults to
        True exactly when there is an update.
    strict : bool
        Whether an argument has to be of the exact type of `variable`.
    allow_downcast : bool, optional
        True lets arguments be cast even when precision is lost, False never,
        None only Python floats to floatX. Ignored when `strict`.
    autoname : bool
        Whether the name of `variable` stands in for a missing `name`.
    implicit : bool
        Whether callers are forbidden to pass a value.

    See Also
    --------
    theano.In : An input of a compiled function, with everything a caller may choose about it.
    theano.SymbolicOutput : An output of a compiled function, with options; programs write ``theano.Out``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> spec = SymbolicInput(x, update=x + 1)
    >>> spec, spec.name, spec.mutable
    (In(x -> Elemwise{add,no_inplace}.0), 'x', True)
    """

    def __init__(
        self,
        variable: gof.Variable,
        name: Any = None,
        update: gof.Variable | None = None,
        mutable: bool | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        autoname: bool = True,
        implicit: bool = False,
    ):
        if not isinstance(variable, gof.Variable):
            raise TypeError(f"An input's variable must be a Variable instance, got {variable!r}")
        if not isinstance(autoname, bool):
            raise TypeError(f"autoname must be a bool, got {autoname!r}")
        if update is not None:
            filtered = variable.type.filter_variable(update, allow_convert=False)
            if filtered.type != variable.type:
                raise TypeError(f"The update {update} of {variable} has type {filtered.type} instead of {variable.type}")
            update = filtered
        self.variable = variable
        self.name = variable.name if autoname and name is None else name
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"name must be a string! (got: {self.name})")
        self.update = update
        self.mutable = mutable if mutable is not None else update is not None
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.implicit = implicit

    def __str__(self) -> str:
        if self.update is not None:
            return f"In({self.variable} -> {self.update})"
        return f"In({self.variable})"

    __repr__ = __str__


class In(SymbolicInput):
    """An input of a compiled function, with everything a caller may choose about it.

    Parameters
    ----------
    variable : Variable
        Receives the argument; it is never computed from its owner.
    name : str, optional
        Key of the input, by which it can be passed as a keyword.
    value : object or Container, optional
        Default value. Without `update` it lasts for one call; with an `update`
        the stored value persists from call to call. A Container is used as
        the storage of the input itself.
    update : Variable, optional
        Expression whose value replaces the stored value after each call.
    mutable : bool, optional
        Whether the compiled function may overwrite the argument. Defaults to
        True exactly when there is an update.
    strict : bool
        Whether an argument has to be of the exact type of `variable`.
    allow_downcast : bool, optional
        True lets arguments be cast even when precision is lost, False never,
        None only Python floats to floatX. Ignored when `strict`.
    autoname : bool
        Whether the name of `variable` stands in for a missing `name`.
    implicit : bool, optional
        Whether callers are forbidden to pass a value. By default True exactly
        when `value` is a Container.
    borrow : bool, optional
        Whether an output may be aliased to the argument. Defaults to `mutable`.
    shared : bool
        Whether the input stands for a shared variable.

    Raises
    ------
    TypeError
        If `implicit` is True and there is no value.
    AssertionError
        If the input is mutable and `borrow` is False.

    See Also
    --------
    theano.Mode : An optimizer, which transforms graphs, and a linker, which evaluates them.
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.
    theano.Param : Return an `In`; the older name of it, with ``default`` for ``value``.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, s = T.dscalars('x', 's')
    >>> add = theano.function([x, theano.In(s, value=10.0, update=s + x)], s)
    >>> float(add(5)), float(add[s])
    (10.0, 15.0)
    """

    def __init__(
        self,
        variable: gof.Variable,
        name: Any = None,
        value: Any = None,
        update: gof.Variable | None = None,
        mutable: bool | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        autoname: bool = True,
        implicit: bool | None = None,
        borrow: bool | None = None,
        shared: bool = False,
    ):
        may_mutate = mutable if mutable is not None else update is not None
        if borrow is None:
            borrow = may_mutate
        if may_mutate and not borrow:
            raise AssertionError(
                f"The input for variable {variable} (name={name}) has mutable=True and borrow=False, which exclude "
                "each other: an input that may be overwritten may also be aliased (borrow=True)."
            )
        if implicit is None:
            implicit = isinstance(value, Container)
        super().__init__(
            variable=variable,
            name=name,
            update=update,
            mutable=mutable,
            strict=strict,
            allow_downcast=allow_downcast,
            autoname=autoname,
            implicit=implicit,
        )
        if self.implicit and value is None:
            raise TypeError(f"An implicit input must have a default value (variable {variable}, name {self.name})")
        self.value = value
        self.borrow = borrow
        self.shared = shared


class SymbolicOutput:
    """An output of a compiled function, with options; programs write ``theano.Out``.

    Parameters
    ----------
    variable : Variable
        The expression to compute.
    borrow : bool
        Whether the returned object may be the function's own storage, which
        a later call may overwrite.
    return_internal_type : bool
        Whether a value may be returned in the form in which a device keeps it. On
        the CPU that is an array in any case.

    See Also
    --------
    theano.SymbolicInput : What a function has to know about one of its inputs, without any value.
    theano.In : An input of a compiled function, with everything a caller may choose about it.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> theano.function([x], theano.Out(x + x, borrow=True))([1, 2])
    array([2., 4.])
    """

    def __init__(self, variable: gof.Variable, borrow: bool = False, return_internal_type: bool = False):
        self.variable = variable
        self.borrow = borrow
        self.return_internal_type = return_internal_type

    def __str__(self) -> str:
        return f"Out({self.variable},{self.borrow})"

    __repr__ = __str__


Out = SymbolicOutput

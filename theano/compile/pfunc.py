"""From the arguments of :func:`theano.function` to descriptions of inputs and outputs on a cloned graph."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from theano.compile.function_module import UnusedInputError, convert_function_input, orig_function
from theano.compile.io import In
from theano.compile.profiling import make_profile
from theano.compile.rebuild import iter_over_pairs, with_replacements
from theano.compile.rebuild import rebuild_collect_shared as rebuild_collect_shared
from theano.configdefaults import config  # noqa: F401 (documented here too)
from theano.gof import Constant, Variable
from theano.gof.sharedvalue import SharedVariable
from theano.process import garbage_collection_paused


def Param(
    variable: Variable,
    default: Any = None,
    name: str | None = None,
    mutable: bool = False,
    strict: bool = False,
    allow_downcast: bool | None = None,
    implicit: bool | None = None,
    borrow: bool | None = None,
) -> In:
    """Return an :class:`In`; the older name of it, with ``default`` for ``value``.

    Parameters
    ----------
    variable : Variable
        The input.
    default : object, optional
        Default value.
    name, mutable, strict, allow_downcast, implicit, borrow
        As for :class:`In`.

    Returns
    -------
    In
        The description of the input.

    See Also
    --------
    theano.In : An input of a compiled function, with everything a caller may choose about it.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dscalar("x")
    >>> theano.function([theano.Param(x, default=2.0)], x + 1)()
    array(3.)
    """
    warnings.warn("The Param class is deprecated. Use In instead, with value= for default=.", stacklevel=2)
    return In(
        variable,
        name=name,
        value=default,
        mutable=mutable,
        strict=strict,
        allow_downcast=allow_downcast,
        implicit=implicit,
        borrow=borrow,
    )


@garbage_collection_paused()
def pfunc(
    params: list[Any] | tuple[Any, ...],
    outputs: Any = None,
    mode: Any = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool | list[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: str | None = None,
    output_keys: list[str] | None = None,
) -> Any:
    """Compile a function with shared variables, updates and substitutions.

    Parameters
    ----------
    params : list of Variable or In
        The inputs.
    outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict
        As for :func:`theano.function`.
    allow_input_downcast, profile, on_unused_input
        As for :func:`theano.function`.
    output_keys : list of str, optional
        Names of the outputs of a function that returns a dictionary.

    Returns
    -------
    Function
        The compiled function.

    Raises
    ------
    TypeError
        If `params` is no list, one of them is a shared variable or comes twice, or `no_default_updates` is no bool and no list.
    RuntimeError
        If `givens` replace an input.

    See Also
    --------
    theano.function : Return a callable that computes `outputs` from `inputs`.
    theano.compile.orig_function : Compile descriptions of inputs and outputs to a function.
    theano.compile.rebuild_collect_shared : Clone the graph of a function and collect its shared variables.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dscalar("x")
    >>> total = theano.shared(0.0, "total")
    >>> add = pfunc([x], total, updates=[(total, total + x)])
    >>> float(add(3)), float(add(4)), float(total.get_value())
    (0.0, 3.0, 7.0)
    """
    if not isinstance(params, (list, tuple)):
        raise TypeError(f"The inputs of a function must be a list or a tuple, got {params}")
    if not isinstance(no_default_updates, (bool, list)):
        raise TypeError("no_default_update should be either a boolean or a list")

    profile = make_profile(profile, name)
    inputs = [_param_to_in(p, allow_input_downcast) for p in params]
    variables = [i.variable for i in inputs]
    seen: set[Variable] = set()
    for variable in variables:
        if isinstance(variable, SharedVariable):
            raise TypeError(
                f"Cannot use a shared variable ({variable}) as explicit input. "
                "Consider substituting a non-shared variable via the `givens` parameter"
            )
        if variable in seen:
            raise _duplicate_input_error(variable, variables)
        seen.add(variable)

    replacements = [] if givens is None else list(iter_over_pairs(givens))
    for old, _ in replacements:
        if isinstance(old, Variable) and old in seen:
            raise RuntimeError(
                f"You are trying to replace variable '{old}' through the `givens` parameter, but this variable is an "
                "input to your function, so the replacement would have no effect. To feed f(x) with g(y) use "
                "`theano.function([y], f(x), givens={x: g(y)})`; to keep x as the input use "
                "`theano.function([x], theano.clone(f(x), replace={x: g(x)}))`."
            )

    own_updates = [i.update for i in inputs if i.update is not None]
    input_variables, (cloned_outputs, cloned_updates), (_, update_d, _, shared_inputs) = with_replacements(
        [[] if outputs is None else outputs, own_updates],
        variables,
        replacements,
        updates,
        rebuild_strict,
        no_default_updates,
    )
    remaining = iter(cloned_updates)
    for description, variable in zip(inputs, input_variables):
        description.variable = variable
        if description.update is not None:
            description.update = next(remaining)
    for variable in shared_inputs:
        update = update_d.get(variable)
        inputs.append(
            In(
                variable=variable,
                value=variable.container,
                update=update,
                mutable=update is not None,
                borrow=True,
                implicit=True,
                shared=True,
            )
        )

    return orig_function(
        inputs,
        cloned_outputs,
        mode,
        accept_inplace=accept_inplace,
        name=name,
        profile=profile,
        on_unused_input=on_unused_input,
        output_keys=output_keys,
    )


def _param_to_in(param: Any, allow_downcast: bool | None) -> In:
    """Return a fresh input description of an element of the list of inputs."""
    if isinstance(param, Constant):
        raise TypeError(f"Constants not allowed in param list: {param}")
    if isinstance(param, Variable):
        return In(param, allow_downcast=allow_downcast)
    if isinstance(param, In):
        if isinstance(param.variable, Constant):
            raise TypeError(f"Constants not allowed in param list: {param.variable}")
        # The description is completed below; the user may use the same one again.
        return copy.copy(param)
    if isinstance(param, (list, tuple)):
        description = convert_function_input(param)
        if description.allow_downcast is None:
            description.allow_downcast = allow_downcast
        return description
    raise TypeError(f"Unknown parameter type: {type(param)} for the input {param!r}")


def _duplicate_input_error(variable: Variable, variables: list[Variable]) -> Exception:
    positions = [i for i, v in enumerate(variables) if v is variable]
    return UnusedInputError(
        f"Variable {variable} is used twice in inputs to theano.function, at indices {positions[0]} and "
        f"{positions[1]}. This would result in values provided for it being ignored. Please do not duplicate "
        "variables in the inputs list."
    )

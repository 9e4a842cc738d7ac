"""The function :func:`function`, which turns a graph into something to call."""

from __future__ import annotations

import sys
from typing import Any

from theano.compile.io import In, Out
from theano.compile.pfunc import pfunc
from theano.gof import Variable, hooks

__all__ = ["In", "Out", "function", "function_dump"]


def function_dump(
    filename: str,
    inputs: Any,
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
    extra_tag_to_remove: Any = None,
) -> None:
    """Write the arguments of a call of :func:`function` to a file, to reproduce the call elsewhere.

    The file holds everything, with the shared variables and their values.
    Load it with ``theano.function(**pickle.load(open(filename, 'rb')))``.

    Parameters
    ----------
    filename : str
        File to write.
    inputs, outputs, mode, updates, givens, no_default_updates, accept_inplace
        As for :func:`function`.
    name, rebuild_strict, allow_input_downcast, profile, on_unused_input
        As for :func:`function`.
    extra_tag_to_remove : list of str, optional
        Further attributes of ``tag`` to leave out, as for
        :class:`theano.misc.pkl_utils.StripPickler`.

    See Also
    --------
    theano.function : Return a callable that computes `outputs` from `inputs`.
    theano.misc.pkl_utils.dump : Pickle an object to a zip file, with arrays as members that `numpy.load` can read.

    Examples
    --------
    >>> import os, pickle, theano
    >>> x = theano.tensor.dscalar("x")
    >>> theano.function_dump("call.pkl", [x], x + 1)
    >>> with open("call.pkl", "rb") as file:
    ...     theano.function(**pickle.load(file))(1.0)
    array(2.)
    >>> os.remove("call.pkl")
    """
    arguments = dict(locals())
    del arguments["filename"], arguments["extra_tag_to_remove"]
    from theano.misc.pkl_utils import StripPickler

    with open(filename, "wb") as file:
        StripPickler(file, protocol=-1, extra_tag_to_remove=extra_tag_to_remove).dump(arguments)


@hooks.compile_function.fill
def function(
    inputs: Any,
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
) -> Any:
    """Return a callable that computes `outputs` from `inputs`.

    Parameters
    ----------
    inputs : list of Variable or In
        Parameters of the function; no shared variables and no constants.
    outputs : Variable, Out, list of them, dict of them, or None
        What to compute; the callable returns its values in the same form, an empty list for None.
    mode : str or Mode, optional
        How the graph is optimized and evaluated; ``config.mode`` by default.
    updates : dict or iterable of pairs, optional
        Shared variables with the expressions of their new values. All are
        computed from the old values.
    givens : dict or iterable of pairs, optional
        Variables of the graph with what to put in their place.
    no_default_updates : bool or list of Variable
        True ignores the ``default_update`` of all shared variables, a list
        that of the given ones.
    accept_inplace : bool
        Whether the graph may already have operations that work in place.
    name : str, optional
        Name of the function, for messages and profiles. By default the file
        and line of the call.
    rebuild_strict : bool
        Whether `givens` must keep the types of what they replace.
    allow_input_downcast : bool, optional
        True casts arguments even when precision is lost, False never, None
        only Python floats to floatX.
    profile : bool, str or ProfileStats, optional
        Whether and where to collect timings; ``config.profile`` by default.
    on_unused_input : {'raise', 'warn', 'ignore'}, optional
        What to do about an input that the outputs do not need;
        ``config.on_unused_input`` by default.

    Returns
    -------
    Function
        The compiled function.

    Raises
    ------
    TypeError
        For inputs, outputs, updates or givens of the wrong kind or type.
    UnusedInputError
        For an input that is not used.
    MissingInputError
        If the outputs need a variable that is not among the inputs.

    See Also
    --------
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.
    theano.In : An input of a compiled function, with everything a caller may choose about it.
    theano.Mode : An optimizer, which transforms graphs, and a linker, which evaluates them.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, y = T.dscalars('x', 'y')
    >>> total = theano.shared(0.0)
    >>> f = theano.function([x, y], x * y, updates=[(total, total + x)])
    >>> float(f(2, 3)), float(total.get_value())
    (6.0, 2.0)
    """
    if name is None:
        caller = sys._getframe(1)
        name = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(
            f"The inputs of a function must be a list: 'theano.function(inputs, outputs, ...)', got {inputs!r}. "
            "For a single input write [x]."
        )

    output_keys = None
    if isinstance(outputs, dict):
        for key in outputs:
            if not isinstance(key, str):
                raise AssertionError(f"The keys of a dictionary of outputs must be strings, got {key!r}")
        output_keys = sorted(outputs)
        outputs = [outputs[key] for key in output_keys]

    return pfunc(
        params=inputs,
        outputs=outputs,
        mode=mode,
        updates=updates,
        givens=givens,
        no_default_updates=no_default_updates,
        accept_inplace=accept_inplace,
        name=name,
        rebuild_strict=rebuild_strict,
        allow_input_downcast=allow_input_downcast,
        on_unused_input=on_unused_input,
        profile=profile,
        output_keys=output_keys,
    )

"""A mode that refuses NaN, infinity and very large numbers: :class:`NanGuardMode`."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np

from theano.compile.mode import Mode
from theano.configparser import config
from theano.gof.run_errors import node_description
from theano.gof.stack_traces import get_variable_trace_string
from theano.gof.watch import WatchingLinker
from theano.tensor.creation import AllocEmpty
from theano.tensor.slicing import IncSubtensor
from theano.tensor.type import ops

#: Numbers above this are "big".
BIG = 1e10

#: Whether there are arrays on a GPU to check.
pygpu_available = False


def f_compute(op: Callable) -> Callable:
    """Return a function of an array that computes a reduction of it by a compiled function, one for each dtype.

    Parameters
    ----------
    op : callable
        From a vector variable to a scalar, as `theano.tensor.min`.

    Returns
    -------
    callable
        Takes an array of any rank. Its attribute ``cache`` holds the compiled functions by dtype.

    See Also
    --------
    theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.

    Examples
    --------
    >>> import theano.tensor as T
    >>> spread = f_compute(lambda x: T.max(x) - T.min(x))
    >>> float(spread(np.array([[1.0, 5.0], [2.0, -1.0]]))), list(spread.cache)
    (6.0, ['float64'])
    """
    cache: dict[str, Any] = {}

    def result(inp: Any) -> Any:
        """Return the reduction of an array.

        Parameters
        ----------
        inp : ndarray
            Of any rank.

        See Also
        --------
        theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.

        Examples
        --------
        >>> value = np.array([[1.0, -3.0], [2.0, 0.0]])
        >>> float(f_gpua_min(value)), float(f_gpua_max(value)), float(f_gpua_absmax(value))
        (-3.0, 2.0, 3.0)
        """
        from theano.compile.pfunc import pfunc
        from theano.tensor.type import TensorType

        dtype = str(inp.dtype)
        if dtype not in cache:
            x: Any = TensorType(dtype, (False,))()
            cache[dtype] = pfunc([x], op(x), mode="FAST_RUN", profile=False)
        return cache[dtype](inp.reshape(-1))

    result.cache = cache  # type: ignore[attr-defined]
    return result


#: The least and greatest element of an array and its largest magnitude, computed where the array is.
f_gpua_min = f_compute(lambda x: ops.min(x))
f_gpua_max = f_compute(lambda x: ops.max(x))
f_gpua_absmax = f_compute(lambda x: ops.max(abs(x)))


def flatten(l: Any) -> list[Any]:
    """Return the elements of nested lists, tuples and the values of dictionaries as one list.

    Parameters
    ----------
    l : object
        Anything; what is no collection becomes a list of one.

    Returns
    -------
    list
        The elements.

    See Also
    --------
    theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.

    Examples
    --------
    >>> flatten([1, (2, [3]), {"a": 4}]), flatten(5)
    ([1, 2, 3, 4], [5])
    """
    result: list[Any] = []
    stack = [l]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        else:
            result.append(item)
    return result


def _array_of(value: Any, var: Any = None) -> np.ndarray | None:
    """Return the numbers of a value, or None if it cannot hold NaN or infinity, or is random state."""
    if isinstance(value, (np.random.Generator, np.random.RandomState, slice)) or value is None:
        return None
    if var is not None and getattr(var.tag, "is_rng", False):
        return None
    if hasattr(value, "data") and hasattr(value, "tocsr"):
        value = value.data
    if not isinstance(value, (np.ndarray, np.generic, float, complex)):
        return None
    value = np.asarray(value)
    return value if value.dtype.kind in "fc" and value.size else None


def contains_nan(arr: Any, node: Any = None, var: Any = None) -> bool:
    """Return whether a value holds NaN.

    Parameters
    ----------
    arr : object
        A value; what is no array of floats holds none.
    node : Apply, optional
        The node that computed it.
    var : Variable, optional
        The variable it belongs to.

    Returns
    -------
    bool
        Whether it does.

    See Also
    --------
    theano.compile.nanguardmode.contains_inf : Return whether a value holds infinity; the parameters are those of
        `contains_nan`.
    theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.

    Examples
    --------
    >>> contains_nan(np.array([1.0, np.nan])), contains_nan(np.array([1.0, np.inf])), contains_nan("nan")
    (True, False, False)
    """
    array = _array_of(arr, var)
    return array is not None and bool(np.isnan(array).any())


def contains_inf(arr: Any, node: Any = None, var: Any = None) -> bool:
    """Return whether a value holds infinity; the parameters are those of :func:`contains_nan`.

    Parameters
    ----------
    arr : object
        The value.
    node : Apply
        Where it comes from.
    var : Variable
        What it is the value of.

    See Also
    --------
    theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.
    theano.compile.nanguardmode.contains_nan : Return whether a value holds NaN.

    Examples
    --------
    >>> contains_inf(np.array([1.0, np.inf])), contains_inf(np.array([1.0, np.nan])), contains_inf("inf")
    (True, False, False)
    """
    array = _array_of(arr, var)
    return array is not None and bool(np.isinf(array).any())


def _contains_big(arr: Any, var: Any = None) -> bool:
    array = _array_of(arr, var)
    if array is None:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((np.abs(array) > BIG).any())


def _is_harmless(value: Any) -> bool:
    """Whether a glance at the extremes shows that there is nothing wrong; False means: look closer."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return False
    # A NaN becomes both extremes, and compares as False.
    return bool(value.min() >= -BIG and value.max() <= BIG)


class NanGuardMode(Mode):
    """Raise AssertionError as soon as a node or an input yields an abnormal value.

    Parameters
    ----------
    nan_is_error : bool, optional
        Whether NaN is an error; ``config.NanGuardMode.nan_is_error`` by default.
    inf_is_error : bool, optional
        Whether infinity is an error; ``config.NanGuardMode.inf_is_error`` by
        default.
    big_is_error : bool, optional
        Whether a number of magnitude above 1e10 is an error;
        ``config.NanGuardMode.big_is_error`` by default.
    optimizer : Optimizer, Query or str, optional
        As for :class:`Mode`.
    linker : None
        Ignored; the mode has its own linker.

    See Also
    --------
    theano.compile.MonitorMode : Run one node after the other, with functions of yours around each.
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.
    theano.compile.nanguardmode.contains_nan : Return whether a value holds NaN.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> mode = theano.compile.nanguardmode.NanGuardMode(nan_is_error=True)
    >>> f = theano.function([x], x * 2, mode=mode)
    >>> f([1.0])
    array([2.])
    """

    def __init__(
        self,
        nan_is_error: bool | None = None,
        inf_is_error: bool | None = None,
        big_is_error: bool | None = None,
        optimizer: Any = "default",
        linker: Any = None,
    ):
        flags = config.NanGuardMode
        self.nan_is_error = flags.nan_is_error if nan_is_error is None else nan_is_error
        self.inf_is_error = flags.inf_is_error if inf_is_error is None else inf_is_error
        self.big_is_error = flags.big_is_error if big_is_error is None else big_is_error
        if isinstance(optimizer, str) and optimizer == "default":
            optimizer = config.optimizer
        own = WatchingLinker(callback=self._check_node, callback_input=self._check_input)
        super().__init__(own, optimizer=optimizer)

    def __getstate__(self) -> Any:
        return {
            "nan_is_error": self.nan_is_error,
            "inf_is_error": self.inf_is_error,
            "big_is_error": self.big_is_error,
            "optimizer": self.provided_optimizer,
        }

    def clone(self, link_kwargs: dict[str, Any] | None = None, optimizer: Any = "", **kwargs: Any) -> NanGuardMode:
        """Return a mode with the same flags and another optimizer."""
        if isinstance(optimizer, str) and optimizer == "":
            optimizer = self.provided_optimizer
        return type(self)(self.nan_is_error, self.inf_is_error, self.big_is_error, optimizer=optimizer)

    def _check_node(self, node: Any, thunk: Any, storage_map: dict, compute_map: dict) -> None:
        for variable in node.outputs:
            if compute_map[variable][0]:
                self._check(storage_map[variable][0], node, variable, storage_map)

    def _check_input(self, variable: Any, value: Any) -> None:
        self._check(value, None, variable)

    def _check(self, value: Any, node: Any, variable: Any, storage_map: Any = None) -> None:
        allowed = getattr(variable.tag, "nan_guard_mode_check", True) is False
        if allowed or (node is not None and may_be_unset(node)):
            return
        if _is_harmless(value):
            return
        problems = []
        if self.nan_is_error and contains_nan(value, node, variable):
            problems.append("NaN detected")
        infinity_allowed = node is not None and getattr(node.op, "infinite_on_purpose", False)
        if self.inf_is_error and not infinity_allowed and contains_inf(value, node, variable):
            problems.append("Inf detected")
        if self.big_is_error and not infinity_allowed and _contains_big(value, variable):
            problems.append("Big value detected")
        if problems:
            self._complain(problems, value, node, variable, storage_map)

    def _complain(self, problems: list[str], value: Any, node: Any, variable: Any, storage_map: Any) -> None:
        from theano.printing import debugprint

        text = StringIO()
        print(", ".join(problems), file=text)
        if node is None:
            print(f"NanGuardMode found an error in an input of the graph: {variable}", file=text)
        else:
            print("NanGuardMode found an error in the output of a node in this variable:", file=text)
            print(debugprint(variable, file="str"), file=text)
            print(f"Node: {node}", file=text)
        if getattr(value, "size", 100) < 10:
            print(f"Value: {value}", file=text)
        if node is None:
            print(get_variable_trace_string(variable), file=text)
        else:
            print(node_description(node, storage_map=storage_map), file=text)
        raise AssertionError(text.getvalue())


def is_uninitialized(node: Any) -> bool:
    """Whether a node allocates memory that something later fills.

    Parameters
    ----------
    node : Apply
        Any node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> empty = T.AllocEmpty("float64")(3)
    >>> is_uninitialized(empty.owner), is_uninitialized(T.zeros(3).owner)
    (True, False)
    """
    return isinstance(node.op, AllocEmpty)


def may_be_unset(node: Any) -> bool:
    """Whether a node allocates memory that something later fills, or fills a part of such memory.

    Parameters
    ----------
    node : Apply
        Any node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> begun = T.set_subtensor(T.AllocEmpty("float64")(3)[:1], 0.0)
    >>> may_be_unset(begun.owner), is_uninitialized(begun.owner)
    (True, False)
    """
    while isinstance(node.op, IncSubtensor) and node.inputs[0].owner is not None:
        node = node.inputs[0].owner
    return is_uninitialized(node)

"""What DebugMode raises."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np


class DebugModeError(Exception):
    """Something is wrong with an Op or an optimization; the base of what DebugMode raises.

    See Also
    --------
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dscalar("x")
    >>> f = theano.function([x], 1 / x, mode=theano.compile.DebugMode(check_c_code=False))
    >>> try:
    ...     f(0.0)
    ... except DebugModeError as error:
    ...     print(type(error).__name__)
    InvalidValueError
    """


def str_diagnostic(expected: Any, value: Any, rtol: float | None = None, atol: float | None = None) -> str:
    """Return a text on how two values differ.

    Parameters
    ----------
    expected, value : object
        Two values that should be equal.
    rtol, atol : float, optional
        Tolerances that were applied, to be mentioned.

    Returns
    -------
    str
        Types, shapes, strides, ranges and the largest differences.

    Examples
    --------
    >>> text = str_diagnostic(np.zeros(2), np.zeros(3, "float32"))
    >>> print(text.splitlines()[1])
      dtype         : (dtype('float64'), dtype('float32'))
    """
    text = StringIO()

    def say(label: str, make: Any) -> None:
        try:
            print(label, make(), file=text)
        except Exception as error:
            print(label, f"not available: {error}", file=text)

    say("  type          :", lambda: (type(expected).__name__, type(value).__name__))
    say("  dtype         :", lambda: (getattr(expected, "dtype", None), getattr(value, "dtype", None)))
    say("  shape         :", lambda: (getattr(expected, "shape", None), getattr(value, "shape", None)))
    say("  strides       :", lambda: (getattr(expected, "strides", None), getattr(value, "strides", None)))
    for name in ("min", "max", "mean", "std"):
        say(f"  {name:14s}:", lambda name=name: (getattr(np, name)(expected), getattr(np, name)(value)))
    if getattr(expected, "shape", None) == getattr(value, "shape", ()):
        with np.errstate(all="ignore"):
            say("  max abs diff  :", lambda: np.max(np.absolute(np.asarray(expected) - np.asarray(value))))
            say(
                "  max rel diff  :",
                lambda: np.max(
                    np.absolute(np.asarray(expected) - np.asarray(value))
                    / np.maximum(np.absolute(np.asarray(expected)), 1e-30)
                ),
            )
    if rtol is not None or atol is not None:
        print(f"  rtol, atol    : {rtol}, {atol}", file=text)
    return text.getvalue()


def char_from_number(number: int) -> str:
    """Return letters that stand for a number: A to Z, then AA, AB and so on.

    Parameters
    ----------
    number : int
        Not negative.

    Examples
    --------
    >>> char_from_number(0), char_from_number(25), char_from_number(26)
    ('A', 'Z', 'AA')
    """
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


class BadThunkOutput(DebugModeError):
    """Two ways to compute the same output of a node gave different values.

    What it is made with are its attributes.

    Parameters
    ----------
    r : Variable
        The output.
    thunk1, thunk2 : str
        How the two values were computed.
    val1, val2 : object
        The values.
    inputs_val : list
        The values of the inputs.

    See Also
    --------
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.
    theano.compile.debugmode.BadOptimization : An optimization replaced a variable by one that has another value.

    Examples
    --------
    >>> import theano
    >>> class Twice(theano.Op):
    ...     itypes = otypes = [theano.tensor.dvector]
    ...     def perform(self, node, inputs, output_storage):
    ...         if output_storage[0][0] is None:
    ...             output_storage[0][0] = np.zeros_like(inputs[0])
    ...         output_storage[0][0] += 2 * inputs[0]  # To what was there before.
    >>> x = theano.tensor.dvector("x")
    >>> mode = theano.compile.DebugMode(check_c_code=False, check_preallocated_output="previous")
    >>> theano.function([x], Twice()(x), mode=mode)([1.0])
    Traceback (most recent call last):
        ...
    theano.compile.debug_errors.BadThunkOutput: BadThunkOutput...
    """

    def __init__(self, r: Any, thunk1: Any, val1: Any, thunk2: Any, val2: Any, inputs_val: Any = ()):
        super().__init__()
        self.r = r
        self.thunk1 = thunk1
        self.val1 = val1
        self.thunk2 = thunk2
        self.val2 = val2
        self.inputs_val = inputs_val

    def offending_op(self) -> type:
        """Return the class of the op."""
        return type(self.r.owner.op)

    def __str__(self) -> str:
        lines = [
            "BadThunkOutput",
            f"  Apply   : {self.r.owner}",
            f"  op      : {self.offending_op()}",
            f"  Outputs Type: {self.r.type}",
        ]
        for key in ("shape", "strides"):
            lines.append(f"  Inputs {key}: {[getattr(v, key, None) for v in self.inputs_val]}")
        lines.append(f"  thunk1  : {self.thunk1}")
        lines.append(f"  thunk2  : {self.thunk2}")
        return "\n".join(lines) + "\n" + str_diagnostic(self.val1, self.val2)


class BadOptimization(DebugModeError):
    """An optimization replaced a variable by one that has another value.

    What it is made with are its attributes.

    Parameters
    ----------
    old_r, new_r : Variable
        The variable and its replacement.
    old_r_val, new_r_val : object
        Their values.
    reason : str
        The optimization.
    old_graph, new_graph : str
        The graphs of both, as they were then.

    See Also
    --------
    theano.compile.debugmode.BadThunkOutput : Two ways to compute the same output of a node gave different values.
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> wrong = theano.gof.TopoOptimizer(theano.gof.OpSub(T.sin, T.cos))
    >>> x = T.dscalar("x")
    >>> f = theano.function([x], T.sin(x), mode=theano.compile.DebugMode(wrong, check_c_code=False))
    >>> try:
    ...     f(0.0)
    ... except BadOptimization as error:
    ...     print(error.reason, "|", float(error.old_r_val), float(error.new_r_val))
    Elemwise{sin,no_inplace} -> Elemwise{cos,no_inplace} | 0.0 1.0
    """

    def __init__(
        self,
        old_r: Any,
        new_r: Any,
        old_r_val: Any,
        new_r_val: Any,
        reason: Any,
        old_graph: Any,
        new_graph: Any,
    ):
        super().__init__()
        self.old_r = old_r
        self.new_r = new_r
        self.old_r_val = old_r_val
        self.new_r_val = new_r_val
        self.reason = reason
        self.old_graph = old_graph
        self.new_graph = new_graph
        self.full_err = self._text()

    def __str__(self) -> str:
        return self.full_err

    def _text(self) -> str:
        return "\n".join(
            [
                "BadOptimization Error",
                f"  Variable: id {id(self.new_r)} {self.new_r}",
                f"  Op {self.new_r.owner}",
                f"  Value Type: {type(self.new_r_val)}",
                f"  Old Value: {_short(self.old_r_val)}",
                f"  New Value: {_short(self.new_r_val)}",
                "",
                str_diagnostic(self.old_r_val, self.new_r_val),
                f"  Reason:  {self.reason}",
                "  Old Graph:",
                str(self.old_graph),
                "",
                "  New Graph:",
                str(self.new_graph),
                "",
                "Hint: relax the tolerance by setting tensor.cmp_sloppy=1",
                "  or even tensor.cmp_sloppy=2 for less-strict comparison",
            ]
        )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 2000 else text[:2000] + "..."


class BadDestroyMap(DebugModeError):
    """An Op changed an input that its ``destroy_map`` does not name.

    What it is made with are its attributes.

    Parameters
    ----------
    node : Apply
        The node.
    idx : int
        Which input.
    old_val, new_val : object
        The input before and after.
    perform : str
        How the node was computed: ``'py'`` or ``'c'``, say.

    See Also
    --------
    theano.compile.debugmode.BadViewMap : An output shares memory with an input or another output, and the ``view_map``
        does not say so.
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.

    Examples
    --------
    >>> import theano
    >>> class Negate(theano.Op):
    ...     itypes = otypes = [theano.tensor.dvector]
    ...     def perform(self, node, inputs, output_storage):
    ...         inputs[0] *= -1  # The input is not this Op's.
    ...         output_storage[0][0] = inputs[0].copy()
    >>> x = theano.tensor.dvector("x")
    >>> f = theano.function([x], Negate()(x), mode=theano.compile.DebugMode(check_c_code=False))
    >>> f([1.0, 2.0])
    Traceback (most recent call last):
        ...
    theano.compile.debug_errors.BadDestroyMap: BadDestroyMap...
    """

    def __init__(self, node: Any, idx: int, old_val: Any, new_val: Any, perform: str):
        super().__init__()
        self.node = node
        self.idx = idx
        self.old_val = old_val
        self.new_val = new_val
        self.perform = perform

    def __str__(self) -> str:
        return "\n".join(
            [
                "BadDestroyMap",
                f"  node: {self.node}",
                f"  perform: {self.perform}",
                f"  node.inputs: {[(str(i), id(i)) for i in self.node.inputs]}",
                f"  destroy_map: {getattr(self.node.op, 'destroy_map', {})}",
                f"  changed input idx: {self.idx}",
                f"  changed input type: {self.node.inputs[self.idx].type}",
                f"  repr (old val): {_short(self.old_val)}",
                f"  repr (new val): {_short(self.new_val)}",
                str_diagnostic(self.old_val, self.new_val),
            ]
        )


class BadViewMap(DebugModeError):
    """An output shares memory with an input or another output, and the ``view_map`` does not say so.

    What it is made with are its attributes.

    Parameters
    ----------
    node : Apply
        The node.
    output_idx : int
        Which output.
    out_storage : object
        Its value.
    in_alias_idx, out_alias_idx : list of int
        Inputs and outputs that it shares memory with.

    See Also
    --------
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.
    theano.compile.debugmode.BadDestroyMap : An Op changed an input that its ``destroy_map`` does not name.

    Examples
    --------
    >>> import theano
    >>> class Pass(theano.Op):
    ...     itypes = otypes = [theano.tensor.dvector]
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = inputs[0]  # Needs view_map = {0: [0]}.
    >>> x = theano.tensor.dvector("x")
    >>> f = theano.function([x], Pass()(x), mode=theano.compile.DebugMode(check_c_code=False))
    >>> f([1.0, 2.0])
    Traceback (most recent call last):
        ...
    theano.compile.debug_errors.BadViewMap: BadViewMap...
    """

    def __init__(self, node: Any, output_idx: int, out_storage: Any, in_alias_idx: Any = None, out_alias_idx: Any = None):
        super().__init__()
        self.node = node
        self.output_idx = output_idx
        self.out_storage = out_storage
        self.in_alias_idx = in_alias_idx
        self.out_alias_idx = out_alias_idx

    def __str__(self) -> str:
        op = self.node.op
        return "\n".join(
            [
                "BadViewMap",
                f"  node: {self.node}",
                f"  node.inputs: {[(str(i), id(i)) for i in self.node.inputs]}",
                f"  node.outputs: {[(str(i), id(i)) for i in self.node.outputs]}",
                f"  view_map: {getattr(op, 'view_map', {})}",
                f"  destroy_map: {getattr(op, 'destroy_map', {})}",
                f"  aliased output: {self.output_idx}",
                f"  aliased output storage: {_short(self.out_storage)}",
                f"  aliased to inputs: {self.in_alias_idx}",
                f"  aliased to outputs: {self.out_alias_idx}",
            ]
        )


class StochasticOrder(DebugModeError):
    """An optimization did not do the same when it was repeated.

    See Also
    --------
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.
    theano.compile.debugmode.InvalidValueError : The value of a variable does not suit its type, or is not finite.

    Examples
    --------
    >>> import itertools
    >>> import theano
    >>> import theano.tensor as T
    >>> turns = itertools.cycle([T.cos, T.tan])
    >>> @theano.gof.optimizer
    ... def moody(fgraph):
    ...     fgraph.replace(fgraph.outputs[0], next(turns)(fgraph.inputs[0]))
    >>> x = T.dscalar("x")
    >>> theano.function([x], T.sin(x), mode=theano.compile.DebugMode(moody, stability_patience=2))
    Traceback (most recent call last):
        ...
    theano.compile.debug_errors.StochasticOrder: The optimization did something else when it was repeated (attempt 2)...
    """


class InvalidValueError(DebugModeError):
    """The value of a variable does not suit its type, or is not finite.

    What it is made with are its attributes.

    Parameters
    ----------
    r : Variable
        The variable.
    v : object
        The value.
    client_node : Apply, optional
        What was to use it.
    hint, specific_hint : str
        What may be wrong, for the message.

    See Also
    --------
    theano.compile.debugmode.StochasticOrder : An optimization did not do the same when it was repeated.
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dscalar("x")
    >>> f = theano.function([x], theano.tensor.log(x), mode=theano.compile.DebugMode(check_c_code=False))
    >>> f(-1.0)
    Traceback (most recent call last):
        ...
    theano.compile.debug_errors.InvalidValueError: InvalidValueError...
    """

    def __init__(self, r: Any, v: Any, client_node: Any = None, hint: str = "none", specific_hint: str = "none"):
        super().__init__()
        self.r = r
        self.v = v
        self.client_node = client_node
        self.hint = hint
        self.specific_hint = specific_hint

    def __str__(self) -> str:
        from theano.printing import debugprint

        r, v = self.r, self.v
        graph = debugprint(r, depth=12, file="str")
        facts = [f"  type(variable) = {type(r)}", f"  variable       = {r}", f"  type(value)    = {type(v)}"]
        for name in ("dtype", "shape"):
            facts.append(f"  {name:14s} = {getattr(v, name, None)}")
        value = np.asarray(v) if isinstance(v, (np.ndarray, np.generic)) else None
        if value is not None and value.dtype.kind in "biufc" and value.size:
            facts.append(f"  min value      = {value.min()}")
            facts.append(f"  max value      = {value.max()}")
            facts.append(f"  isfinite       = {bool(np.isfinite(value).all())}")
        return "\n".join(
            [
                "InvalidValueError",
                *facts,
                f"  client_node    = {self.client_node}",
                f"  hint           = {self.hint}",
                f"  specific_hint  = {self.specific_hint}",
                "  context        = ...",
                graph or "",
            ]
        )

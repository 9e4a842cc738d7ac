"""Graphs as formulas: `pprint`, and the printers that Ops register with it.

A printer turns the result of an Op into text. Printers made here work on graphs of any depth:
their method `steps` is a generator that yields ``(variable, state)`` for each part it needs and
receives the part's text. Printers with a method ``process(output, pstate)`` only, which asks
``pstate.pprinter.process(variable, pstate)`` for the parts, may be registered as well.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from copy import copy
from typing import Any

from theano.gof.graph import Variable, io_toposort
from theano.gof.op import PureOp

# A text, or a nesting of tuples of texts; nesting avoids copying long texts again and again.
Text = Any
Steps = Generator[tuple[Variable, "PrinterState"], Text, Text]

special: dict[str, str] = {"middle_dot": "\\dot", "big_sigma": "\\Sigma"}
greek: dict[str, str] = {
    "alpha": "\\alpha",
    "beta": "\\beta",
    "gamma": "\\gamma",
    "delta": "\\delta",
    "epsilon": "\\epsilon",
}


#: On which side of an operator another one of the same precedence needs no parentheses.
VALID_ASSOC = {"left", "right", "either"}
# Whether signs that are not ASCII are written out.
use_ascii = True


class PrinterState:
    """What a printer knows of its surroundings: `pprinter`, the precedence around it, and more.

    Parameters
    ----------
    props : PrinterState or dict
        What to start from.
    **more_props
        Attributes on top of that.

    See Also
    --------
    theano.pp : Return a graph as a formula; the same as `pprint`.
    theano.printing.PPrinter : Prints graphs as formulas, by printers that are chosen by Op or by a condition.

    Examples
    --------
    >>> state = PrinterState(pprinter=pprint, precedence=0)
    >>> tighter = state.clone(precedence=2)
    >>> state.precedence, tighter.precedence, tighter.pprinter is pprint
    (0, 2, True)
    """

    pprinter: PPrinter
    precedence: float

    def __init__(self, props: Any = (), **more_props: Any):
        if isinstance(props, PrinterState):
            self.__dict__.update(props.__dict__)
        else:
            self.__dict__.update(props)
        self.__dict__.update(more_props)

    def clone(self, props: Any = (), **more_props: Any) -> PrinterState:
        """Return a copy with some attributes changed."""
        new = PrinterState(self, **dict(props))
        new.__dict__.update(more_props)
        return new


def _flatten(text: Text) -> str:
    if isinstance(text, str):
        return text
    parts: list[str] = []
    stack = [text]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
        else:
            stack.extend(reversed(item))
    return "".join(parts)


def run_steps(steps: Steps) -> str:
    """Run a printer's steps, and those of the printers of the parts, without recursion."""
    stack = [steps]
    value: Text = None
    while stack:
        try:
            var, pstate = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
            continue
        printer = pstate.pprinter.find(var, pstate)
        more = getattr(printer, "steps", None)
        if more is None:
            value = printer.process(var, pstate)
        else:
            stack.append(more(var, pstate))
            value = None
    return _flatten(value)


class _Printer:
    """Base of the printers: `process` runs `steps`."""

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        """Yield the parts to print; return the text."""
        raise NotImplementedError

    def process(self, output: Variable, pstate: PrinterState) -> str:
        """Return the text of `output`."""
        return run_steps(self.steps(output, pstate))


def _owner(output: Variable, what: str) -> Any:
    if output.owner is None:
        raise TypeError(f"{what} cannot represent a variable that is not the result of an operation")
    return output.owner


def _call_steps(name: str, node: Any, pstate: PrinterState) -> Steps:
    """``name(a, b)`` of the inputs of a node."""
    inner = pstate.clone(precedence=-1000)
    parts = []
    for var in node.inputs:
        parts.append((yield var, inner))
    return (name, "(", _joined(parts, ", "), ")")


def _joined(parts: Sequence[Text], separator: str) -> Text:
    result: list[Text] = []
    for i, part in enumerate(parts):
        if i:
            result.append(separator)
        result.append(part)
    return tuple(result)


class OperatorPrinter(_Printer):
    """Prints ``(a operator b)``, or ``(operator a)`` for one input.

    Parameters
    ----------
    operator : str
        What stands between the inputs: ``'+'``, say.
    precedence : float
        Higher binds tighter. Operations are always put into parentheses; the number serves other printers.
    assoc : {'left', 'right', 'either'}
        Whether ``a - b - c`` is ``(a - b) - c``, ``a - (b - c)``, or as good either way.

    See Also
    --------
    theano.printing.PatternPrinter : Prints by patterns such as ``'sum(%(0)s, axis=%(1)s)'``, one for each output of the
        Op.
    theano.printing.FunctionPrinter : Prints ``name(a, b)``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.vectors("xy")
    >>> pprint.clone_assign(T.maximum, OperatorPrinter("max", 1, "either"))(T.maximum(x, y) * 2)
    '((x max y) * TensorConstant{2})'
    """

    def __init__(self, operator: str, precedence: float, assoc: str = "left"):
        self.operator = operator
        self.precedence = precedence
        self.assoc = assoc
        if assoc not in VALID_ASSOC:
            raise ValueError(f"assoc must be 'left', 'right' or 'either', not {assoc!r}")

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        node = _owner(output, f"operator {self.operator}")
        last = len(node.inputs) - 1
        parts = []
        for i, var in enumerate(node.inputs):
            tighter = (self.assoc == "left" and i != 0) or (self.assoc == "right" and i != last)
            parts.append((yield var, pstate.clone(precedence=self.precedence + (1e-6 if tighter else 0))))
        if len(parts) == 1:
            return ("(", self.operator, parts[0], ")")
        return ("(", _joined(parts, f" {self.operator} "), ")")


class PatternPrinter(_Printer):
    """Prints by patterns such as ``'sum(%(0)s, axis=%(1)s)'``, one for each output of the Op.

    Parameters
    ----------
    *patterns : str, or tuple of str and float
        The pattern; in a tuple, the precedences of the inputs follow it.

    See Also
    --------
    theano.printing.MemberPrinter : Prints ``a.name``.
    theano.printing.OperatorPrinter : Prints ``(a operator b)``, or ``(operator a)`` for one input.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.vectors("xy")
    >>> pprint.clone_assign(T.arctan2, PatternPrinter("angle of %(0)s over %(1)s"))(T.arctan2(x, y))
    'angle of x over y'
    """

    def __init__(self, *patterns: Any):
        self.patterns = []
        for pattern in patterns:
            if isinstance(pattern, str):
                self.patterns.append((pattern, ()))
            else:
                self.patterns.append((pattern[0], tuple(pattern[1:])))

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        node = _owner(output, f"Patterns {self.patterns}")
        pattern, precedences = self.patterns[node.outputs.index(output)]
        # Inputs without a precedence of their own are printed as if nothing were around them.
        precedences = precedences + (-1000,) * len(node.inputs)
        parts = {}
        for i, (var, precedence) in enumerate(zip(node.inputs, precedences)):
            parts[str(i)] = _flatten((yield var, pstate.clone(precedence=precedence)))
        return pattern % parts


class _NamedPrinter(_Printer):
    def __init__(self, *names: str):
        self.names = names

    def named(self, output: Variable) -> tuple[Any, str]:
        """The node of an output, and the output's name."""
        node = _owner(output, f"function {self.names}")
        return node, self.names[node.outputs.index(output)]


class FunctionPrinter(_NamedPrinter):
    """Prints ``name(a, b)``.

    Parameters
    ----------
    *names : str
        The name for each output of the Op.

    See Also
    --------
    theano.printing.OperatorPrinter : Prints ``(a operator b)``, or ``(operator a)`` for one input.
    theano.printing.DefaultPrinter : Prints ``Op(a, b)``; variables that nothing computes as `LeafPrinter` does.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.vectors("xy")
    >>> pprint.clone_assign(T.add, FunctionPrinter("plus"))(x + y)
    'plus(x, y)'
    """

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        node, name = self.named(output)
        return (yield from _call_steps(name, node, pstate))


class MemberPrinter(_NamedPrinter):
    """Prints ``a.name``.

    Parameters
    ----------
    *names : str
        The name for each output of the Op.

    See Also
    --------
    theano.printing.LeafPrinter : Prints a variable that nothing computes: its name, or its type.
    theano.printing.PatternPrinter : Prints by patterns such as ``'sum(%(0)s, axis=%(1)s)'``, one for each output of the
        Op.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.matrix("x")
    >>> pprint.clone_assign(T.exp, MemberPrinter("e"))(T.exp(x) + x)
    '(x.e + x)'
    """

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        node, name = self.named(output)
        part = yield node.inputs[0], pstate.clone(precedence=1000)
        return (part, ".", name)


class IgnorePrinter(_Printer):
    """Prints the first input, as if the Op were not there.

    See Also
    --------
    theano.printing.PPrinter : Prints graphs as formulas, by printers that are chosen by Op or by a condition.
    theano.printing.LeafPrinter : Prints a variable that nothing computes: its name, or its type.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> pprint.clone_assign(T.abs_, IgnorePrinter())(T.exp(abs(x)))
    'exp(x)'
    """

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        node = _owner(output, "function ignore")
        return (yield node.inputs[0], pstate)


class LeafPrinter:
    """Prints a variable that nothing computes: its name, or its type.

    See Also
    --------
    theano.printing.IgnorePrinter : Prints the first input, as if the Op were not there.
    theano.printing.MemberPrinter : Prints ``a.name``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> LeafPrinter().process(T.vector("x"), PrinterState())
    'x'
    """

    def process(self, output: Variable, pstate: PrinterState) -> str:
        """Return the text of `output`."""
        return greek.get(output.name or "") or str(output)


class DefaultPrinter(_Printer):
    """Prints ``Op(a, b)``; variables that nothing computes as `LeafPrinter` does.

    See Also
    --------
    theano.printing.FunctionPrinter : Prints ``name(a, b)``.
    theano.printing.OperatorPrinter : Prints ``(a operator b)``, or ``(operator a)`` for one input.
    theano.printing.PatternPrinter : Prints by patterns such as ``'sum(%(0)s, axis=%(1)s)'``, one for each output of the
        Op.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.vectors("xy")
    >>> pprint.clone_assign(T.add, DefaultPrinter())(x + y)
    'Elemwise{add,no_inplace}(x, y)'
    """

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        node = output.owner
        if node is None:
            return leaf_printer.process(output, pstate)
        return (yield from _call_steps(str(node.op), node, pstate))


leaf_printer = LeafPrinter()
default_printer = DefaultPrinter()


class PPrinter:
    """Prints graphs as formulas, by printers that are chosen by Op or by a condition.

    See Also
    --------
    theano.printing.PrinterState : What a printer knows of its surroundings: `pprinter`, the precedence around it, and
        more.
    theano.pp : Return a graph as a formula; the same as `pprint`.
    theano.printing.DefaultPrinter : Prints ``Op(a, b)``; variables that nothing computes as `LeafPrinter` does.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> a, b = T.dscalars('a', 'b')
    >>> theano.printing.pprint(a * b - a / b)
    '((a * b) - (a / b))'
    """

    def __init__(self) -> None:
        self.printers: list[tuple[Callable[[PrinterState, Variable], Any], Any]] = []
        self.printers_dict: dict[Any, Any] = {}

    def assign(self, condition: Any, printer: Any) -> None:
        """Use a printer for the results of an Op, or where a condition holds.

        Parameters
        ----------
        condition : Op, class of Ops, or callable
            A callable is called with the `PrinterState` and the variable. Ops and classes
            come before callables, later callables before earlier ones.
        printer : object
            Has a method ``process(output, pstate)`` that returns the text.
        """
        if isinstance(condition, PureOp) or (isinstance(condition, type) and issubclass(condition, PureOp)):
            self.printers_dict[condition] = printer
        else:
            self.printers.insert(0, (condition, printer))

    def find(self, r: Variable, pstate: PrinterState) -> Any:
        """Return the printer for the variable `r`."""
        if r.owner is not None and self.printers_dict:
            op = r.owner.op
            try:
                printer = self.printers_dict.get(op) or self.printers_dict.get(type(op))
            except TypeError:
                printer = self.printers_dict.get(type(op))
            if printer is not None:
                return printer
        for condition, printer in self.printers:
            if condition(pstate, r):
                return printer
        return default_printer

    def process(self, r: Variable, pstate: PrinterState | None = None) -> str:
        """Return the text of the variable `r`."""
        if pstate is None:
            pstate = PrinterState(pprinter=self)
        return self.find(r, pstate).process(r, pstate)

    def clone(self) -> PPrinter:
        """Return a printer with the same assignments."""
        new = copy(self)
        new.printers = list(self.printers)
        new.printers_dict = dict(self.printers_dict)
        return new

    def clone_assign(self, condition: Any, printer: Any) -> PPrinter:
        """Return a printer with one assignment more."""
        new = self.clone()
        new.assign(condition, printer)
        return new

    def process_graph(
        self, inputs: Sequence[Variable], outputs: Any, updates: Any = None, display_inputs: bool = False
    ) -> str:
        """Return lines ``name = formula`` for outputs, updates, and named variables on the way to them.

        Parameters
        ----------
        inputs : list of Variable
        outputs : Variable or list of Variable
        updates : dict, optional
            Maps variables to their new values.
        display_inputs : bool
            Begin with a line that names the inputs.
        """
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        updates = updates or {}
        lines = []
        if display_inputs:
            lines.append("inputs: " + ", ".join(str(var) for var in [*inputs, *updates]))
        pstate = PrinterState(pprinter=self, final=True)
        new_values = {new: old for old, new in updates.items()}
        done: set[Variable] = set()
        wanted = [*outputs, *updates.values()]
        for node in io_toposort(inputs, wanted):
            for out in node.outputs:
                if out in done or not (out in wanted or out.name is not None):
                    continue
                done.add(out)
                name = out.name if out.name is not None else (f"out[{outputs.index(out)}]" if out in outputs else "")
                if out in new_values:
                    name = f"{new_values[out]} (new)"
                lines.append(f"{name} = {self.process(out, pstate)}")
        for i, out in enumerate(outputs):
            if out.owner is None:
                lines.append(f"out[{i}] = {self.process(out, pstate)}")
        return "\n".join(lines)

    def __call__(self, *args: Any) -> str:
        """Return the text of a variable, or of a graph given by inputs, outputs and more."""
        if len(args) == 1:
            return self.process(*args)
        if len(args) == 2 and isinstance(args[1], (PrinterState, dict)):
            return self.process(args[0], PrinterState(args[1], pprinter=self))
        if len(args) > 2 or (len(args) == 2 and isinstance(args[1], (list, tuple, Variable))):
            return self.process_graph(*args)
        raise TypeError("Not enough arguments to call.")


pprint = PPrinter()
pprint.assign(lambda pstate, r: True, default_printer)


def pp(*args: Any) -> str:
    """Return a graph as a formula; the same as `pprint`.

    Parameters
    ----------
    *args
        As for calls of `pprint`: a variable, or inputs and outputs of a graph.

    Returns
    -------
    str
        The formula.

    See Also
    --------
    theano.printing.debugprint : Print a graph as a tree of text.
    theano.printing.latex : Return an expression as a formula in LaTeX, without the dollar signs around it.
    theano.printing.rich_tree : Return a graph as a tree that ``rich.print`` shows in colors.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> theano.pp(T.dscalar("a") * T.dscalar("b") + 1)
    '((a * b) + TensorConstant{1})'
    """
    return pprint(*args)

"""Stack traces of variables: carried through rewrites, and checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from theano.configdefaults import config
from theano.gof import graph, toolbox
from theano.gof.graph import Variable
from theano.gof.rewriting.base import Optimizer
from theano.gof.stack_traces import copy_stack_trace

__all__ = [
    "CheckStackTraceFeature",
    "CheckStackTraceOptimization",
    "CheckStrackTraceFeature",
    "check_stack_trace",
    "copy_stack_trace",
    "inherit_stack_trace",
]


def _ops_match(op: Any, ops_to_check: Iterable[Any]) -> bool:
    return any(
        op is wanted or (isinstance(wanted, type) and isinstance(op, wanted)) or op == wanted for wanted in ops_to_check
    )


def check_stack_trace(f_or_fgraph: Any, ops_to_check: Any = "last", bug_print: str = "raise") -> bool:
    """Say whether the outputs of chosen Ops carry a stack trace.

    Parameters
    ----------
    f_or_fgraph : Function or FunctionGraph
        What is looked at.
    ops_to_check : Op, type, function, 'last', 'all', or a list or tuple of Ops and types
        Which nodes to look at; a function gets an Op and returns whether to look.
    bug_print : {'raise', 'warn', 'ignore'}
        What to do when a trace is missing.

    Returns
    -------
    bool
        True when every examined output has a trace.

    Raises
    ------
    ValueError
        For an argument that is none of the above.
    Exception
        When a trace is missing and `bug_print` is 'raise'.

    See Also
    --------
    theano.gof.CheckStackTraceOptimization : Attach `CheckStackTraceFeature`, unless `config.check_stack_trace` is off, so
        that later optimizers are checked.
    theano.gof.opt.CheckStackTraceFeature : Check (or repair) the stack traces of nodes when they enter a graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> y = T.exp(T.sin(x))
    >>> del y.tag.trace
    >>> fgraph = FunctionGraph([x], [y], clone=False)
    >>> check_stack_trace(fgraph, ops_to_check=T.sin), check_stack_trace(fgraph, bug_print="ignore")
    (True, False)
    """
    from theano.gof.fg import FunctionGraph
    from theano.gof.op import PureOp

    if isinstance(f_or_fgraph, FunctionGraph):
        fgraph = f_or_fgraph
    elif hasattr(f_or_fgraph, "maker"):
        fgraph = f_or_fgraph.maker.fgraph
    else:
        raise ValueError("The type of f_or_fgraph is not supported")
    if bug_print not in ("raise", "warn", "ignore"):
        raise ValueError("The string bug_print is not recognised; expected 'raise', 'warn' or 'ignore'")

    order = fgraph.toposort()
    if isinstance(ops_to_check, str):
        if ops_to_check == "last":
            chosen = [fgraph.outputs[0].owner] if fgraph.outputs and fgraph.outputs[0].owner else []
        elif ops_to_check == "all":
            chosen = order
        else:
            raise ValueError(f"The string ops_to_check is not recognised: {ops_to_check!r}")
    elif isinstance(ops_to_check, (list, tuple)):
        for wanted in ops_to_check:
            if not isinstance(wanted, PureOp) and not (isinstance(wanted, type) and issubclass(wanted, PureOp)):
                raise ValueError("ops_to_check must contain Ops or Op classes only")
        chosen = [node for node in order if _ops_match(node.op, ops_to_check)]
    elif isinstance(ops_to_check, PureOp) or (isinstance(ops_to_check, type) and issubclass(ops_to_check, PureOp)):
        chosen = [node for node in order if _ops_match(node.op, (ops_to_check,))]
    elif callable(ops_to_check):
        chosen = [node for node in order if ops_to_check(node.op)]
    else:
        raise ValueError("ops_to_check does not have the right type")
    if not chosen:
        raise ValueError("Provided op instances/classes are not in the graph or the graph is empty")

    for node in chosen:
        for output in node.outputs:
            if getattr(output.tag, "trace", None):
                continue
            message = f"Empty stack trace! The optimization that inserted this variable is {_origin(output)}"
            if bug_print == "raise":
                raise Exception(message)
            if bug_print == "warn":
                import warnings

                warnings.warn(message, stacklevel=2)
            return False
    return True


def _origin(variable: Variable) -> str:
    return str(getattr(variable.tag, "removed_by", None) or getattr(variable.tag, "added_by", "unknown"))


class CheckStackTraceFeature(toolbox.Feature):
    """Check (or repair) the stack traces of nodes when they enter a graph.

    Obeys `config.check_stack_trace`: 'log' repairs silently, 'warn' and 'raise' report. What counts is the replacement
    itself; nodes between it and what was there before take the trace of what is replaced.

    See Also
    --------
    theano.gof.CheckStackTraceOptimization : Attach `CheckStackTraceFeature`, unless `config.check_stack_trace` is off, so
        that later optimizers are checked.
    theano.gof.opt.check_stack_trace : Say whether the outputs of chosen Ops carry a stack trace.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)], features=[CheckStackTraceFeature()])
    >>> new = T.cos(fgraph.inputs[0])
    >>> del new.tag.trace
    >>> with theano.config.change_flags(check_stack_trace="raise"):
    ...     fgraph.replace(fgraph.outputs[0], new, reason="sin_to_cos")
    Traceback (most recent call last):
        ...
    AssertionError: Empty stack trace! The optimization that inserted this variable is sin_to_cos
    """

    def on_attach(self, fgraph) -> None:
        fgraph.traces_are_checked = True

    def on_detach(self, fgraph) -> None:
        fgraph.traces_are_checked = False

    def on_import(self, fgraph, node, reason) -> None:
        mode = config.check_stack_trace
        if mode == "off" or not fgraph.replaces_a_trace:
            # Where there was no trace before, the rewrite has none to pass on.
            return
        if all(getattr(output.tag, "trace", None) for output in node.outputs):
            return
        message = f"Empty stack trace! The optimization that inserted this variable is {reason}"
        if mode == "raise":
            raise AssertionError(message)
        for output in node.outputs:
            if not getattr(output.tag, "trace", None):
                output.tag.trace = [[("", 0, message, "")]]
        if mode == "warn":
            import warnings

            warnings.warn(message, stacklevel=2)


CheckStrackTraceFeature = CheckStackTraceFeature
"""The original's name of it."""


@contextlib.contextmanager
def inherit_stack_trace(from_var: Any) -> Iterator[None]:
    """Give the variables that are made within the block the stack traces of one or several others, too.

    Parameters
    ----------
    from_var : Variable or list of Variable
        Whose traces.

    See Also
    --------
    theano.tensor.nnet.nnet.copy_stack_trace : Give one or several variables the stack traces of one or several others, in
        addition to their own.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> with inherit_stack_trace(x):
    ...     y = x + 1
    >>> all(stack in y.tag.trace for stack in x.tag.trace)
    True
    """
    with graph.nodes_constructed() as new:
        yield
    copy_stack_trace(from_var, new)


class CheckStackTraceOptimization(Optimizer):
    """Attach `CheckStackTraceFeature`, unless `config.check_stack_trace` is off, so that later optimizers are checked.

    See Also
    --------
    theano.gof.opt.check_stack_trace : Say whether the outputs of chosen Ops carry a stack trace.
    theano.gof.opt.CheckStackTraceFeature : Check (or repair) the stack traces of nodes when they enter a graph.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [x + x])
    >>> with theano.config.change_flags(check_stack_trace="warn"):
    ...     CheckStackTraceOptimization().optimize(fgraph)
    >>> fgraph.traces_are_checked
    True
    """

    def add_requirements(self, fgraph) -> None:
        if config.check_stack_trace == "off":
            return
        if not any(isinstance(feature, CheckStackTraceFeature) for feature in fgraph._features):
            fgraph.attach_feature(CheckStackTraceFeature())

    def apply(self, fgraph) -> None:
        pass

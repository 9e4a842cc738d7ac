"""What the graph asks of higher layers: functions that it calls and that a module above defines."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Hook:
    """A function that a lower layer calls and a higher one defines.

    Parameters
    ----------
    what : str
        What it does, for the error that an unfilled one raises.

    Examples
    --------
    >>> greet = Hook("greets")
    >>> @greet.fill
    ... def hello(name):
    ...     return f"hello {name}"
    >>> greet("you")
    'hello you'
    """

    __slots__ = ("function", "module", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.function: Callable[..., Any] | None = None
        #: Name of the module that fills it, imported at the first call; the package sets it where that is not imported with it.
        self.module: str | None = None

    def fill(self, function: Function) -> Function:
        """Take `function` for what is called, and return it."""
        self.function = function
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None and self.module is not None:
            importlib.import_module(self.module)
        if self.function is None:
            raise ImportError(f"nothing was imported that {self.what}")
        return self.function(*args, **kwargs)


class Operations:
    """The operations of a package by name, for those of its modules that lie below the ones that define them.

    Operations meet again in each other's gradients, and operators of variables stand for all of them.
    """

    def gather(self, definitions: Mapping[str, Any], names: str = "") -> None:
        """Take what a module defines or gathers into the namespace: some names, by default all that are public."""
        chosen = names.split() or [name for name in definitions if not name.startswith("_")]
        vars(self).update((name, definitions[name]) for name in chosen)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


#: ``as_variable(x)``: what a value becomes where an Op needs a Variable; tensors fill it.
as_variable = Hook("makes a variable of a value")

#: ``compile_function(inputs, outputs, **options)``: `theano.function`.
compile_function = Hook("compiles functions")

#: ``node_in_c(node, storage_map, compute_map, no_recycling)``: a thunk of the C code that a node's Op brings.
node_in_c = Hook("compiles the C code of Ops")

#: ``debugprint(thing, file=...)`` of `theano.printing`.
debugprint = Hook("prints graphs")

#: ``variable_html(variable)`` of `theano.printing`: what a notebook shows.
variable_html = Hook("shows a variable in a notebook")

#: ``variable_latex(variable)``: the formula of a variable, None where it would be too long.
variable_latex = Hook("writes a variable as a formula")

#: ``graph_html(fgraph)`` of `theano.printing`: what a notebook shows of a FunctionGraph.
graph_html = Hook("shows a graph in a notebook")

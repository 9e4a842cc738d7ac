"""An Op that enters a debugger when a condition holds: :class:`PdbBreakpoint`."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano
from theano.gof import Apply, Op, Variable
from theano.gradient import DisconnectedType


class PdbBreakpoint(Op):
    """Return the inputs unchanged, and enter a debugger first if a condition holds.

    The first of pudb, ipdb and pdb that is installed is used. At least one
    output has to be used, otherwise the op is removed from the graph; and while
    it is there, rewrites do not see through it.

    Parameters
    ----------
    name : str
        Name of the breakpoint, printed when it is entered.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector('x')
    >>> error = (x ** 2).sum()
    >>> error, seen = PdbBreakpoint('large')(T.gt(error, 100), error, x)
    >>> float(theano.function([x], error)([1, 2]))
    5.0
    """

    __props__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def make_node(self, condition: Any, *monitored_vars: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        condition : Variable
            A scalar; the debugger is entered where it is not zero.
        *monitored_vars : Variable
            What to look at; the outputs equal these.
        """
        if not isinstance(condition, Variable):
            condition = theano.tensor.as_tensor_variable(condition)
        if getattr(condition, "ndim", 0) != 0:
            raise TypeError(f"The condition of a breakpoint must be a scalar, got {condition.type}")
        variables = [v if isinstance(v, Variable) else theano.tensor.as_tensor_variable(v) for v in monitored_vars]
        new_op = type(self)(self.name)
        new_op.view_map = {i: [i + 1] for i in range(len(variables))}
        new_op.inp_types = [v.type for v in variables]
        return Apply(new_op, [condition, *variables], [v.type() for v in variables])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        condition, *monitored = inputs
        if condition:
            monitored = [np.asarray(value) if hasattr(value, "__array__") else value for value in monitored]
            print("\n")
            print("-------------------------------------------------")
            print(f"Conditional breakpoint '{self.name}' activated\n")
            print("The monitored variables are stored, in order,")
            print("in the list variable 'monitored' as numpy arrays.\n")
            print("Their contents can be altered and, when execution")
            print("resumes, the updated values will be used.")
            print("-------------------------------------------------")
            _find_debugger().set_trace()
        for storage, value in zip(output_storage, monitored):
            storage[0] = value

    def grad(self, inputs: list[Variable], output_grads: list[Variable]) -> list[Variable]:
        return [DisconnectedType()(), *output_grads]

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return input_shapes[1:]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        n_out = len(node.outputs)
        rows = [[i == j for j in range(n_out)] for i in range(n_out)]
        return [[False] * n_out, *rows]


def _find_debugger() -> Any:
    for name in ("pudb", "ipdb"):
        try:
            return __import__(name)
        except ImportError:
            continue
    import pdb

    return pdb

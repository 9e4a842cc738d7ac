"""The Op that prints its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano.gof.graph import Apply, Variable, as_variable
from theano.gof.op import Op


def _print_fn(op: Print, value: Any) -> None:
    for attr in op.attrs:
        found = getattr(value, attr)
        print(op.message, attr, "=", found() if callable(found) else found)


class Print(Op):
    """Identity that prints a message and its input whenever it runs.

    Parameters
    ----------
    message : str
        Printed before the value.
    attrs : sequence of str
        Names of attributes of the value to print; those that are callable are called.
    global_fn : callable, optional
        Called as ``global_fn(op, value)`` instead of printing the attributes.

    See Also
    --------
    theano.printing.debugprint : Print a graph as a tree of text.

    Notes
    -----
    The gradient and the R-operator are those of the identity. Values print in the order in
    which they are computed, which is not determined beyond what the graph requires.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector('x')
    >>> f = theano.function([x], theano.printing.Print('x', attrs=['shape'])(x))
    >>> value = f([1.0, 2.0])
    x shape = (2,)
    """

    view_map = {0: [0]}
    __props__ = ("message", "attrs", "global_fn")

    def __init__(
        self,
        message: str = "",
        attrs: Sequence[str] = ("__str__",),
        global_fn: Callable[[Print, Any], Any] = _print_fn,
    ):
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def make_node(self, xin: Any) -> Apply:
        xin = as_variable(xin)
        return Apply(op=self, inputs=[xin], outputs=[xin.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list]) -> None:
        (value,) = inputs
        output_storage[0][0] = value
        self.global_fn(self, value)

    def grad(self, inputs: Sequence[Variable], output_gradients: Sequence[Variable]) -> list[Variable]:
        return list(output_gradients)

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable]) -> list[Variable]:
        return list(eval_points)

    def __setstate__(self, state: dict) -> None:
        state.setdefault("global_fn", _print_fn)
        self.__dict__.update(state)

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)

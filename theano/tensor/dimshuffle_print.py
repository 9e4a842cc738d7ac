"""How formulas show reordered dimensions."""

from __future__ import annotations

from typing import Any

from theano.printing.pretty import pprint
from theano.tensor.dimshuffle import DimShuffle


class DimShufflePrinter:
    """Hides dimensions put in front of a tensor, shows a transposition as ``x.T``, and spells out the rest.

    See Also
    --------
    theano.tensor.DimShuffle : A view of a tensor with its dimensions permuted, dropped, and new ones of length 1
        inserted.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> m, v = T.dmatrix("m"), T.dvector("v")
    >>> theano.pp(m.T + v)
    '(m.T + v)'
    """

    def steps(self, output: Any, pstate: Any) -> Any:
        """Yield the input; return the text."""
        if output.owner is None or not isinstance(output.owner.op, DimShuffle):
            raise TypeError("Can only print DimShuffle.")
        order = list(output.owner.op.new_order)
        var = output.owner.inputs[0]
        while order and order[0] == "x":
            del order[0]
        text = yield var, pstate
        if order == list(range(var.type.ndim)):
            return text
        if order == list(reversed(range(var.type.ndim))):
            return (text, ".T")
        return (f"DimShuffle{{{', '.join(str(i) for i in order)}}}(", text, ")")

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text of `output`."""
        from theano.printing.pretty import run_steps

        return run_steps(self.steps(output, pstate))


pprint.assign(DimShuffle, DimShufflePrinter())

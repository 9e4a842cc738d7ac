"""The feature that keeps in-place operations from what is not theirs."""

from __future__ import annotations

from collections.abc import Iterable

from theano.gof.fg import FunctionGraph, InconsistencyError
from theano.gof.graph import Variable
from theano.gof.toolbox import Feature


class Supervisor(Feature):
    """Forbid the destruction of variables: of inputs that are not mutable, and of outputs.

    Parameters
    ----------
    protected : iterable of Variable
        The inputs to protect.

    See Also
    --------
    theano.compile.AliasedMemoryError : Memory is aliased that should not be.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import DestroyHandler, FunctionGraph, ReplaceValidate
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(x)], features=[DestroyHandler(), ReplaceValidate()])
    >>> fgraph.attach_feature(Supervisor(fgraph.inputs))
    >>> fgraph.replace_validate(fgraph.outputs[0], T.inplace.exp_inplace(fgraph.inputs[0]))
    Traceback (most recent call last):
        ...
    theano.gof.fg.InconsistencyError: Trying to destroy a protected Variable: x
    """

    def __init__(self, protected: Iterable[Variable]):
        self.protected = list(protected)
        self._start()

    def _start(self) -> None:
        # Nodes to be looked at, and how much of which list of the DestroyHandler has been read.
        self._pending: dict = {}
        self._read: list = []
        self._position = 0

    def __getstate__(self) -> dict:
        return {"protected": self.protected}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._start()

    def validate(self, fgraph: FunctionGraph) -> bool:
        """Raise InconsistencyError if a protected variable is destroyed."""
        handler = getattr(fgraph, "destroy_handler", None)
        if handler is None or not handler.root_destroyers:
            return True
        touched = handler.touched
        if self._read is touched:
            self._pending.update(dict.fromkeys(touched[self._position :]))
        else:
            self._read = touched
            self._pending = dict.fromkeys(handler.destroyers)
        self._position = len(touched)
        if not self._pending:
            return True
        # Inputs are views of nothing.
        protected = set(self.protected) if len(self._pending) > 1 else self.protected
        while self._pending:
            node = next(iter(self._pending))
            for root in handler.destroyers.get(node, ()):
                if root in protected:
                    raise InconsistencyError(f"Trying to destroy a protected Variable: {root}")
                for variable in handler.views_of(root):
                    if any(client == "output" for client, _ in variable.clients):
                        raise InconsistencyError(f"Trying to destroy an output: {variable}")
            del self._pending[node]
        return True


def protected_inputs(fgraph: FunctionGraph) -> set[Variable]:
    """Return the inputs that a graph must not overwrite: all of them where no Supervisor tells which.

    Parameters
    ----------
    fgraph : FunctionGraph
        Any graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x, y = T.vectors("xy")
    >>> fgraph = FunctionGraph([x, y], [x + y], features=[Supervisor([x])])
    >>> protected_inputs(fgraph)
    {x}
    """
    supervisors = [feature for feature in fgraph._features if isinstance(feature, Supervisor)]
    return {v for supervisor in supervisors for v in supervisor.protected} if supervisors else set(fgraph.inputs)

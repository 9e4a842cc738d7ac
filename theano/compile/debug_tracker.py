"""What DebugMode remembers of the optimization of a graph: who replaced what, and in which order."""

from __future__ import annotations

from typing import Any

from theano import gof


class GraphEvent:
    """One change of a graph; events of two optimizations of the same graph can be compared.

    Parameters
    ----------
    kind : {'import', 'change', 'prune'}
        What happened.
    node : Apply or 'output'
        Where.
    idx : int, optional
        Which input of the node.
    reason : object, optional
        The optimization.
    """

    def __init__(self, kind: str, node: Any, idx: int | None = None, reason: Any = None):
        self.kind = kind
        self.node = node
        self.op = node if node == "output" else node.op
        self.idx = idx
        self.reason = None if reason is None else str(reason)

    def __str__(self) -> str:
        if self.kind == "change":
            nth = 0 if self.node == "output" else len(self.node.inputs)
            return f"  {self.kind} {self.reason} {self.op} {self.idx} {nth}"
        return f"  {self.kind} {self.node}"

    def __eq__(self, other: object) -> bool:
        # The nodes belong to two graphs; what they do is what counts.
        return isinstance(other, GraphEvent) and (self.kind, self.op, self.idx, self.reason) == (
            other.kind,
            other.op,
            other.idx,
            other.reason,
        )

    __hash__ = None  # type: ignore[assignment]


class EquivalenceTracker(gof.Feature):
    """Keeps every variable that was ever part of the graph, and what it was replaced by.

    Attributes
    ----------
    reasons : dict
        For each variable a list of ``(reason, replaced variable, old graph, new
        graph)``.
    all_variables_ever : list of Variable
        In the order in which they came in.
    event_list : list of GraphEvent
        All changes.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> tracker = EquivalenceTracker()
    >>> fgraph = gof.FunctionGraph([x], [T.sin(x)], features=[tracker])
    >>> old, new = fgraph.outputs[0], T.cos(fgraph.inputs[0])
    >>> fgraph.replace(old, new, reason="to_cos")
    >>> tracker.reasons[new][0][:2] == ("to_cos", old), len(tracker.all_variables_ever)
    (True, 3)
    """

    def __init__(self) -> None:
        self.fgraph: Any = None

    def on_attach(self, fgraph: gof.FunctionGraph) -> None:
        if self.fgraph is not None:
            raise gof.toolbox.AlreadyThere()
        self.fgraph = fgraph
        self.reasons: dict[Any, list[tuple[str, Any, str, str]]] = {}
        self.replaced_by: dict[Any, list[tuple[str, Any]]] = {}
        self.all_variables_ever: list[Any] = []
        self.event_list: list[GraphEvent] = []
        self._known: set[Any] = set()
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: gof.FunctionGraph) -> None:
        if fgraph is self.fgraph:
            self.fgraph = None

    def _note(self, variable: Any) -> None:
        if variable not in self._known:
            self._known.add(variable)
            self.all_variables_ever.append(variable)

    def on_import(self, fgraph: gof.FunctionGraph, node: Any, reason: Any) -> None:
        self.event_list.append(GraphEvent("import", node, reason=reason))
        for variable in node.inputs:
            self._note(variable)
        for variable in node.outputs:
            self._note(variable)

    def on_prune(self, fgraph: gof.FunctionGraph, node: Any, reason: Any) -> None:
        self.event_list.append(GraphEvent("prune", node, reason=reason))

    def on_change_input(self, fgraph: gof.FunctionGraph, node: Any, i: int, r: Any, new_r: Any, reason: Any = None) -> None:
        reason = str(reason)
        self.event_list.append(GraphEvent("change", node, reason=reason, idx=i))
        known = self.reasons.setdefault(new_r, [])
        if not any(seen == reason and old is r for seen, old, _, _ in known):
            # The text has to be made now: the graph will change.
            from theano.printing import debugprint

            graphs = [debugprint(v, depth=6, file="str") or "" for v in (r, new_r)]
            known.append((reason, r, *graphs))
            self.replaced_by.setdefault(r, []).append((reason, new_r))
        self._note(r)
        self._note(new_r)

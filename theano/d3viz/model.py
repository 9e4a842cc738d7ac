"""What a picture of a graph shows: boxes and arrows with their colors, texts and inner graphs, without positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theano.gof.graph import Apply, Constant, Variable, io_toposort
from theano.gof.op import ops_with_inner_function
from theano.printing.dot import drawn_graph

_MAX_LABEL = 34
_MAX_TEXT = 2000


@dataclass
class Node:
    """A box or ellipse.

    Attributes
    ----------
    id : str
        Unique in the picture, inner graphs included.
    kind : str
        'apply', 'input', 'shared_input', 'constant_input', 'output', 'unused_output' or 'variable'.
    label : str
        Short text.
    color : str or None
    shape : str
        A shape of graphviz: 'box' or 'ellipse'.
    info : list of (str, str)
        Headings and texts that explain the node.
    time, share, calls : float, float, int or None
        Seconds, fraction of all nodes' time, and calls, if they were measured.
    inner : Graph or None
        What the Op computes.
    """

    id: str
    kind: str
    label: str
    color: str | None
    shape: str
    info: list[tuple[str, str]] = field(default_factory=list)
    time: float | None = None
    share: float | None = None
    calls: int | None = None
    inner: Graph | None = None


@dataclass
class Edge:
    """An arrow from output `source_port` of a node to input `target_port` of another."""

    source: str
    target: str
    source_port: int
    target_port: int
    label: str
    color: str


@dataclass
class Graph:
    """Nodes, edges, and for an inner graph the ids of the nodes that stand for inputs and outputs of the Op."""

    id: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    inputs: list[str | None] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    profiled: bool = False


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _where(var: Variable) -> str:
    """The line of the user's code that made a variable."""
    trace = getattr(var.tag, "trace", None)
    if not trace:
        return ""
    stack = trace[0] if isinstance(trace[0], list) else trace
    if not stack:
        return ""
    filename, line, function, code = tuple(stack[-1])[:4]
    return f"{filename}:{line} in {function}\n    {code or ''}".rstrip()


def _value_text(data: Any) -> str:
    if isinstance(data, np.ndarray) and data.size > 20:
        return f"array of shape {data.shape}"
    return str(data)


def _counterparts(op: Any, side: str, n: int) -> list[int | None]:
    """Return for each input (or output) of an Op which one of its inner graph it is; None where that is no single one."""
    mappings = getattr(op, "var_mappings", None)
    if mappings is None:
        return list(range(n))
    mapping = mappings["inner_inp_from_outer_inp" if side == "inputs" else "inner_out_from_outer_out"]
    result: list[int | None] = []
    for k in range(n):
        found = mapping.get(k, ())
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        result.append(found[0] if found and found[0] >= 0 else None)
    return result


@dataclass
class _Inner:
    """The graph that an Op computes."""

    inputs: list[Variable]
    outputs: list[Variable]
    order: list[Apply]
    profile: Any = None


def _inner(op: Any, compiled: bool) -> _Inner | None:
    """Return the graph that an Op computes, if it is made of one; the optimized one where it was compiled already."""
    if not isinstance(op, tuple(ops_with_inner_function)):
        return None
    inputs = getattr(op, "local_inputs", None) or getattr(op, "inputs", None)
    outputs = getattr(op, "local_outputs", None) or getattr(op, "outputs", None)
    if not (isinstance(inputs, (list, tuple)) and isinstance(outputs, (list, tuple)) and outputs):
        return None
    function = op.__dict__.get("_fn") if compiled else None
    if function is not None:
        fgraph = function.maker.fgraph
        if (len(fgraph.inputs), len(fgraph.outputs)) == (len(inputs), len(outputs)):
            return _Inner(fgraph.inputs, fgraph.outputs, fgraph.toposort(), getattr(function, "profile", None))
    return _Inner(list(inputs), list(outputs), io_toposort(inputs, outputs))


class _Builder:
    """Makes the graphs of one picture, and numbers their nodes."""

    def __init__(
        self,
        compact: bool,
        node_colors: Mapping[str, str],
        apply_colors: Mapping[str, str],
        shapes: Mapping[str, str],
        compiled: bool = False,
    ):
        self.compact = compact
        self.node_colors = node_colors
        self.apply_colors = apply_colors
        self.shapes = shapes
        self.count = 0
        self.compiled = compiled
        #: Inner graphs that are still to be made: what is drawn for which node.
        self.pending: list[tuple[Node, Apply, _Inner]] = []

    def new_id(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def apply_node(self, node: Apply, profile: Any, total: float) -> Node:
        name = type(node.op).__name__
        color = next((color for key, color in self.apply_colors.items() if key in name), None)
        text = _one_line(str(node.op))
        info = [("Op", _cut(text, _MAX_TEXT)), ("Class", f"{type(node.op).__module__}.{name}")]
        info.append(("Inputs", "\n".join(f"{i}: {var.type}" for i, var in enumerate(node.inputs))))
        info.append(("Outputs", "\n".join(f"{i}: {var.type}" for i, var in enumerate(node.outputs))))
        where = _where(node.outputs[0])
        if where:
            info.append(("Defined in", where))
        made = Node(
            self.new_id(), "apply", _cut(text, _MAX_LABEL), color or self.node_colors.get("apply"),
            self.shapes.get("apply", "ellipse"), info,
        )  # fmt: skip
        if profile is not None and node in profile.apply_time:
            made.time = profile.apply_time[node]
            made.share = made.time / total if total else 0.0
            made.calls = profile.apply_callcount.get(node, 0)
            info.append(("Time", f"{made.time:.3e} s in {made.calls} calls, {100 * made.share:.1f} % of all nodes"))
        inner = _inner(node.op, self.compiled)
        if inner is not None:
            info.append(("Inner graph", "double-click to open or close it"))
            self.pending.append((made, node, inner))
        return made

    def variable_node(self, var: Variable, kind: str) -> Node:
        info = [("Type", str(var.type))]
        if var.name is not None:
            label = var.name
            info.insert(0, ("Name", var.name))
        elif isinstance(var, Constant):
            label = _one_line(_value_text(var.data))
        else:
            label = str(var.type)
        if isinstance(var, Constant):
            info.append(("Value", _cut(_value_text(var.data), _MAX_TEXT)))
        where = _where(var)
        if where:
            info.append(("Defined in", where))
        shape = self.shapes.get(kind.rpartition("_")[2], "box")
        return Node(self.new_id(), kind, _cut(label, _MAX_LABEL), self.node_colors.get(kind), shape, info)

    def graph(
        self,
        inputs: list[Variable],
        outputs: list[Variable],
        order: list[Apply],
        profile: Any,
        shared: set[Variable],
    ) -> Graph:
        """Return the graph of `outputs`; `inputs` are given when it belongs to an Op and all of them must show."""
        graph = Graph(f"g{self.count}", profiled=profile is not None)
        total = sum(profile.apply_time.get(node, 0.0) for node in order) if profile is not None else 0.0
        used = {var for node in order for var in node.inputs}
        output_set = set(outputs)
        made: dict[Variable, Node] = {}
        #: Where the arrows that carry a variable start: a node and the index of its output.
        sources: dict[Variable, tuple[str, int]] = {}

        def leaf(var: Variable) -> Node:
            if var not in made:
                if isinstance(var, Constant):
                    kind = "constant_input"
                elif var in shared or (hasattr(var, "container") and hasattr(var, "get_value")):
                    kind = "shared_input"
                else:
                    kind = "input"
                made[var] = self.variable_node(var, kind)
                graph.nodes.append(made[var])
                sources[var] = (made[var].id, 0)
            return made[var]

        for var in inputs:
            graph.inputs.append(leaf(var).id)
        for node in order:
            for var in node.inputs:
                if var not in sources:
                    leaf(var)
            drawn = self.apply_node(node, profile, total)
            graph.nodes.append(drawn)
            viewed = {i for positions in (getattr(node.op, "view_map", None) or {}).values() for i in positions}
            destroyed = {i for positions in (getattr(node.op, "destroy_map", None) or {}).values() for i in positions}
            for i, var in enumerate(node.inputs):
                color = "red" if i in destroyed else "blue" if i in viewed else "black"
                source, port = sources[var]
                graph.edges.append(Edge(source, drawn.id, port, i, _edge_text(var), color))
            for i, var in enumerate(node.outputs):
                sources[var] = (drawn.id, i)
                if var in used:
                    kind = "variable" if var.name is not None or not self.compact else None
                elif var not in output_set:
                    kind = "unused_output" if not self.compact else None
                else:
                    kind = None
                if kind is not None:
                    box = self.variable_node(var, kind)
                    graph.nodes.append(box)
                    graph.edges.append(Edge(drawn.id, box.id, i, 0, _edge_text(var), "black"))
                    sources[var] = (box.id, 0)
        for var in outputs:
            if var not in sources:
                leaf(var)
            box = self.variable_node(var, "output")
            graph.nodes.append(box)
            source, port = sources[var]
            graph.edges.append(Edge(source, box.id, port, 0, _edge_text(var), "black"))
            graph.outputs.append(box.id)
        return graph


def _edge_text(var: Variable) -> str:
    return f"{var.name}: {var.type}" if var.name is not None else str(var.type)


def _name_updates(graph: Graph, fgraph: Any, outputs: list[Variable]) -> None:
    """Say of the outputs that are new values of shared variables which these are."""
    if list(getattr(fgraph, "outputs", ())) != list(outputs):
        return
    nodes = {node.id: node for node in graph.nodes}
    for position, target in (getattr(fgraph, "update_mapping", None) or {}).items():
        node, updated = nodes[graph.outputs[position] or ""], fgraph.inputs[target]
        name = updated.name or str(updated.type)
        node.label = _cut(f"new {name}", _MAX_LABEL)
        node.info.insert(0, ("Update", f"the next value of {name}"))


def build(
    fct: Any,
    compact: bool,
    node_colors: Mapping[str, str],
    apply_colors: Mapping[str, str],
    shapes: Mapping[str, str],
) -> Graph:
    """Return what a picture of a function or of variables shows.

    Parameters
    ----------
    fct : Function, FunctionGraph, Variable, Apply or list of Variable
    compact : bool
        Whether variables without a name are left out between nodes.
    node_colors, apply_colors, shapes : mapping
        See :class:`theano.d3viz.formatting.PyDotFormatter`.

    Returns
    -------
    Graph

    Raises
    ------
    ValueError
        There is no graph in `fct`.
    """
    outputs, order, profile, shared = drawn_graph(fct)
    builder = _Builder(compact, node_colors, apply_colors, shapes, compiled=hasattr(fct, "maker"))
    top = builder.graph([], outputs, order, profile, shared)
    _name_updates(top, getattr(getattr(fct, "maker", None), "fgraph", fct), outputs)
    while builder.pending:
        node, apply, its = builder.pending.pop()
        inner = node.inner = builder.graph(its.inputs, its.outputs, its.order, its.profile, set())
        for side, n in (("inputs", len(apply.inputs)), ("outputs", len(apply.outputs))):
            ids = getattr(inner, side)
            counterparts = _counterparts(apply.op, side, n)
            setattr(inner, side, [None if k is None or k >= len(ids) else ids[k] for k in counterparts])
    return top

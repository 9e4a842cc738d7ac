"""Graphs for pydot: :class:`PyDotFormatter`."""

from __future__ import annotations

from typing import Any

from theano.d3viz import model
from theano.printing.dot import default_colorCodes, load_pydot, quoted


class PyDotFormatter:
    """Makes pydot graphs of functions and variables.

    Parameters
    ----------
    compact : bool
        Leave out variables without a name between two nodes.

    Attributes
    ----------
    node_colors : dict
        Colors by kind of node: 'input', 'constant_input', 'shared_input', 'output', 'unused_output', 'variable'.
    apply_colors : dict
        Colors of nodes by a part of the name of the Op's class.
    shapes : dict
        Shapes of graphviz by kind of node: 'input', 'output', 'variable', 'apply'.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector('x')
    >>> graph = PyDotFormatter()(T.exp(x))
    >>> len(graph.get_nodes()), len(graph.get_edges())
    (3, 2)
    """

    def __init__(self, compact: bool = True):
        self.compact = compact
        self.node_colors = {
            "input": "limegreen",
            "constant_input": "SpringGreen",
            "shared_input": "YellowGreen",
            "output": "dodgerblue",
            "unused_output": "lightgrey",
        }
        self.apply_colors = {key: color for key, color in default_colorCodes.items() if key != "Output"}
        self.shapes = {"input": "box", "output": "box", "variable": "box", "apply": "ellipse"}

    def model(self, fct: Any) -> model.Graph:
        """Return what the picture of `fct` shows, independent of pydot."""
        return model.build(fct, self.compact, self.node_colors, self.apply_colors, self.shapes)

    def __call__(self, fct: Any, graph: Any = None) -> Any:
        """Return a pydot graph.

        Parameters
        ----------
        fct : Function, FunctionGraph, Variable, Apply or list of Variable
            What is drawn. An Op that is made of a graph, such as OpFromGraph, becomes a cluster too, named
            ``cluster_`` and the name of its node.
        graph : pydot.Dot, optional
            Where nodes and edges are added; by default a new graph.

        Returns
        -------
        pydot.Dot

        Raises
        ------
        ImportError
            pydot is not installed.
        ValueError
            There is no graph in `fct`.
        """
        pydot = load_pydot()
        if graph is None:
            graph = pydot.Dot()
        pending = [(self.model(fct), graph)]
        while pending:
            drawn, target = pending.pop()
            for node in drawn.nodes:
                target.add_node(pydot.Node(node.id, **_node_attributes(node)))
            for edge in drawn.edges:
                target.add_edge(pydot.Edge(edge.source, edge.target, label=quoted(edge.label), color=edge.color))
            for node in drawn.nodes:
                if node.inner is not None:
                    cluster = pydot.Cluster(node.id, label=quoted(node.label), style="dashed")
                    target.add_subgraph(cluster)
                    pending.append((node.inner, cluster))
        return graph


def _node_attributes(node: model.Node) -> dict[str, str]:
    attributes = {"label": quoted(node.label), "shape": node.shape, "node_type": node.kind}
    if node.color is not None:
        attributes.update(style="filled", fillcolor=quoted(node.color))
    attributes["tooltip"] = quoted("\n".join(f"{key}: {text}" for key, text in node.info))
    if node.time is not None:
        attributes["profile"] = quoted(f"{node.time:.6e} {node.share:.6f}")
    return attributes


def __getattr__(name: str) -> Any:
    # pydot takes long to import, so whether it is there is found out on demand.
    if name in ("pydot_imported", "pydot_imported_msg"):
        try:
            load_pydot()
        except ImportError as exc:
            return False if name == "pydot_imported" else f"pydot is not installed: {exc}"
        return True if name == "pydot_imported" else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

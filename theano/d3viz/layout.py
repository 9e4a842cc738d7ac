"""Positions of the nodes of a graph, computed by graphviz or, without it, by igraph: :mod:`theano.d3viz.layered`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from theano.d3viz.layered import Point, arrange, find_ranks, load_igraph
from theano.d3viz.model import Graph, Node
from theano.printing.dot import load_pydot, pydot_status

_CHARACTER_WIDTH = 7.0
_NODE_HEIGHT = 30.0
_POINTS_PER_INCH = 72.0
#: Graphviz lays graphs whose edges are longer than this, all together, out with less care; and for others, of some
#: hundreds of nodes, its time has no bound that one could wait for.
_BIG, _HUGE = 1000, 12000


def _size(node: Node) -> tuple[float, float]:
    width = max(38.0, _CHARACTER_WIDTH * len(node.label) + 18)
    return (width * 1.2 if node.shape == "ellipse" else width), _NODE_HEIGHT


def layout(graph: Graph) -> dict[str, Any]:
    """Return the graph with positions, as a value for JSON; inner graphs are laid out each for itself.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    dict
        With the entries 'nodes', 'edges', 'inputs', 'outputs' and 'profiled'.  Positions and sizes are in pixels, y
        grows downwards.

    Raises
    ------
    ImportError
        Neither graphviz nor igraph is installed, or the graph is too big for graphviz and igraph is not installed.
    RuntimeError
        graphviz failed.
    """
    top: dict[str, Any] = {}
    pending = [(graph, top)]
    while pending:
        drawn, result = pending.pop()
        _place(drawn, result)
        for node, entry in zip(drawn.nodes, result["nodes"]):
            if node.inner is not None:
                entry["inner"] = {}
                pending.append((node.inner, entry["inner"]))
    return top


def _place(graph: Graph, result: dict[str, Any]) -> None:
    sizes = {node.id: _size(node) for node in graph.nodes}
    ends = [(edge.source, edge.target) for edge in graph.edges]
    rank = find_ranks(list(sizes), ends)
    length = sum(rank[target] - rank[source] for source, target in ends)
    available, missing = pydot_status()
    if available and length <= _HUGE:
        positions, paths = _graphviz(sizes, ends, careful=length <= _BIG)
    else:
        _need_igraph(f"this graph of {len(sizes)} nodes takes it too long" if available else missing)
        positions, paths = arrange(sizes, ends, rank)
    result.update(inputs=graph.inputs, outputs=graph.outputs, profiled=graph.profiled)
    result["nodes"] = [
        {
            "id": node.id,
            "kind": node.kind,
            "label": node.label,
            "color": node.color,
            "shape": node.shape,
            "info": node.info,
            "time": node.time,
            "share": node.share,
            "x": round(positions[node.id][0], 1),
            "y": round(positions[node.id][1], 1),
            "w": round(sizes[node.id][0], 1),
            "h": round(sizes[node.id][1], 1),
        }
        for node in graph.nodes
    ]
    result["edges"] = []
    for edge, points in zip(graph.edges, paths):
        result["edges"].append(
            {
                "source": edge.source,
                "target": edge.target,
                "sourcePort": edge.source_port,
                "targetPort": edge.target_port,
                "label": edge.label,
                "color": edge.color,
                "points": [[round(x, 1), round(y, 1)] for x, y in points],
            }
        )


def _need_igraph(why_not_graphviz: str) -> None:
    try:
        load_igraph()
    except ImportError as exc:
        raise ImportError(
            "The nodes of a graph are placed by igraph (pip install igraph), or by the program dot of graphviz with the "
            f"package pydot. Graphviz can't be used: {why_not_graphviz}; igraph can't be imported: {exc}"
        ) from exc


def _graphviz(
    sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]], careful: bool
) -> tuple[dict[str, Point], list[list[Point]]]:
    """Return what :func:`theano.d3viz.layered.arrange` returns, computed by graphviz."""
    pydot = load_pydot()
    drawing = pydot.Dot(nodesep="0.25", ranksep="0.45")
    if not careful:
        drawing.set("nslimit", "1")
        drawing.set("mclimit", "0.3")
    for name, (width, height) in sizes.items():
        inches = {"width": width / _POINTS_PER_INCH, "height": height / _POINTS_PER_INCH}
        drawing.add_node(pydot.Node(name, label='""', shape="box", fixedsize="true", **inches))
    for source, target in edges:
        drawing.add_edge(pydot.Edge(source, target))
    try:
        plain = drawing.create(prog="dot", format="plain").decode()
    except Exception as exc:
        raise RuntimeError(f"graphviz could not lay out the graph: {exc}") from exc
    positions, paths = _read_plain(plain)
    # Several edges between the same two nodes come in the order in which they were added.
    return positions, [paths[ends].pop(0) for ends in edges]


def _point(words: list[str], k: int, height: float) -> Point:
    # graphviz counts in inches, from below.
    return float(words[k]) * _POINTS_PER_INCH, (height - float(words[k + 1])) * _POINTS_PER_INCH


def _read_plain(plain: str) -> tuple[dict[str, Point], dict[tuple[str, str], list[Any]]]:
    """Read the positions of nodes and the control points of edges from graphviz's format 'plain'."""
    positions: dict[str, Point] = {}
    paths: dict[tuple[str, str], list[Any]] = {}
    height = 0.0
    # graphviz continues a long line on the next one after a backslash.
    for line in plain.replace("\\\r\n", "").replace("\\\n", "").splitlines():
        words = shlex.split(line)
        if not words:
            continue

        if words[0] == "graph":
            height = float(words[3])
        elif words[0] == "node":
            positions[words[1]] = _point(words, 2, height)
        elif words[0] == "edge":
            n = int(words[3])
            paths.setdefault((words[1], words[2]), []).append([_point(words, 4 + 2 * k, height) for k in range(n)])
    return positions, paths

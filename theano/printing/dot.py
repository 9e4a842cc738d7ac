"""Pictures of graphs, drawn by graphviz through the optional package pydot."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import numpy as np

from theano.gof.branches import is_lazy
from theano.gof.graph import Apply, Constant, Variable, io_toposort
from theano.gof.graph import inputs as graph_inputs
from theano.printing.debug import is_scan

#: Colors of Apply nodes, by a part of the Op's class name.
default_colorCodes: dict[str, str] = {
    "GpuFromHost": "red",
    "HostFromGpu": "red",
    "Scan": "yellow",
    "Shape": "brown",
    "IfElse": "magenta",
    "Elemwise": "#FFAABB",
    "Subtensor": "#FFAAFF",
    "Alloc": "#FFAA22",
    "Output": "blue",
}


@lru_cache(maxsize=1)
def load_pydot() -> Any:
    """Return the module pydot, or raise ImportError."""
    import pydot

    return pydot


def pydot_status() -> tuple[bool, str]:
    """Return whether pictures can be drawn, and why not."""
    try:
        load_pydot()
    except ImportError as exc:
        return False, f"pydot is not installed: {exc}"
    from shutil import which

    if which("dot") is None:
        return False, "pydot can't find graphviz: there is no program 'dot'"
    return True, ""


def drawn_graph(fct: Any) -> tuple[list[Variable], list[Apply], Any, set[Variable]]:
    """Return the outputs, nodes, profile and shared variables of what is to be drawn."""
    from theano.gof.fg import FunctionGraph

    maker = getattr(fct, "maker", None)
    if maker is not None and hasattr(maker, "fgraph"):
        fgraph = maker.fgraph
        shared = {
            var
            for spec, var in zip(maker.expanded_inputs, fgraph.inputs)
            if getattr(spec, "shared", False) or getattr(spec, "implicit", False)
        }
        return list(fgraph.outputs), fgraph.toposort(), getattr(fct, "profile", None), shared
    if isinstance(fct, FunctionGraph):
        return list(fct.outputs), fct.toposort(), None, set()
    if isinstance(fct, Variable):
        outputs = [fct]
    elif isinstance(fct, Apply):
        outputs = list(fct.outputs)
    elif isinstance(fct, (list, tuple)) and fct and all(isinstance(var, Variable) for var in fct):
        outputs = list(fct)
    else:
        raise ValueError(
            "a graph is drawn of a theano.function, FunctionGraph, Variable, Apply or list of Variables, "
            f"got {fct!r}"
        )
    return outputs, io_toposort(graph_inputs(outputs), outputs), None, set()


class _Labels:
    """Unique texts for variables and nodes."""

    def __init__(self, with_ids: bool, var_with_name_simple: bool, max_label_size: int, order: list[Apply], times: Any):
        self.with_ids = with_ids
        self.simple = var_with_name_simple
        self.max_size = max_label_size
        self.position = {node: i for i, node in enumerate(order)}
        self.times = times
        self.known: dict[Any, str] = {}
        self.used: set[str] = set()

    def _cut(self, text: str) -> str:
        return text if len(text) <= self.max_size else text[: self.max_size - 3] + "..."

    def _unique(self, text: str) -> str:
        unique, n = text, 1
        while unique in self.used:
            unique = f"{text} id={n}"
            n += 1
        self.used.add(unique)
        return unique

    def variable(self, var: Variable) -> str:
        if var in self.known:
            return self.known[var]
        if var.name is not None:
            text = var.name if self.simple else f"name={var.name} {var.type}"
        elif isinstance(var, Constant):
            text = f"val={np.asarray(var.data) if np.size(var.data) < 10 else 'array'} {var.type}"
        else:
            text = str(var.type)
        # Variables of one name are one box; all others are told apart by a number.
        if self.with_ids or var.name is None:
            text = self._unique(self._cut(text))
        else:
            text = self._cut(text)
        self.known[var] = text
        return text

    def node(self, node: Apply) -> str:
        if node in self.known:
            return self.known[node]
        text = str(node.op).replace(":", "_")
        if self.with_ids:
            text += f"    id={self.position.get(node, 0)}"
        if self.times:
            seconds, fraction = self.times(node)
            text += f" T={seconds:.3e} s, {fraction:.2f}%"
        text = self._unique(self._cut(text))
        self.known[node] = text
        return text


def _branches(cond_highlight: Any, order: list[Apply]) -> tuple[set[Apply], set[Apply], set[Apply]]:
    """The nodes that only the first, only the second, or both branches of a lazy `if` need."""
    chosen = None
    if isinstance(cond_highlight, Apply):
        chosen = cond_highlight
    else:
        for node in order:
            if is_lazy(node) and (
                cond_highlight is True or getattr(node.op, "name", None) == cond_highlight
            ):
                chosen = node
    if chosen is None:
        import warnings

        warnings.warn("pydotprint: cond_highlight is set but there is no IfElse node in the graph", stacklevel=3)
        return set(), set(), set()
    n = chosen.op.n_outs
    left = set(io_toposort([], chosen.inputs[1 : n + 1]))
    right = set(io_toposort([], chosen.inputs[n + 1 :]))
    return left - right, right - left, left & right


def pydotprint(
    fct: Any,
    outfile: str | None = None,
    compact: bool = True,
    format: str = "png",
    with_ids: bool = False,
    high_contrast: bool = True,
    cond_highlight: Any = None,
    colorCodes: dict[str, str] | None = None,
    max_label_size: int = 70,
    scan_graphs: bool = False,
    var_with_name_simple: bool = False,
    print_output_file: bool = True,
    return_image: bool = False,
) -> Any:
    """Draw a graph: ellipses are applications of Ops, boxes are variables.

    Parameters
    ----------
    fct : Function, Variable, Apply, FunctionGraph or list of Variable
        What to draw.
    outfile : str, optional
        Where to put the picture; default: a name in `config.compiledir`.
    compact : bool
        Leave out intermediate variables without a name.
    format : str
        A format that graphviz writes, such as 'png', 'svg' or 'dot'; 'raw' is the input for graphviz.
    with_ids : bool
        Add the position in the order of running to nodes, and a number to variables.
    high_contrast : bool
        Fill shapes with their color instead of coloring the border.
    cond_highlight : bool, str or Apply, optional
        Mark the nodes that belong to the branches of a lazy ``ifelse``: of any, of that name, or of that node.
    colorCodes : dict, optional
        Colors by parts of the names of Ops; default `default_colorCodes`.
    max_label_size : int
        Longer labels are cut.
    scan_graphs : bool
        Draw the inner graphs of scans too, in files of their own.
    var_with_name_simple : bool
        Show only the name of a variable that has one, not its type.
    print_output_file : bool
        Print the name of the file.
    return_image : bool
        Return the picture instead of writing a file.

    Returns
    -------
    bytes or None
        The picture if `return_image`.

    Raises
    ------
    RuntimeError
        When pydot or graphviz is missing.

    See Also
    --------
    theano.pp : Return a graph as a formula; the same as `pprint`.
    theano.printing.debugprint : Print a graph as a tree of text.
    theano.d3viz.d3viz.d3viz : Write a page that shows a graph in a web browser.

    Notes
    -----
    Green boxes are inputs, blue ones outputs, cyan ones shared variables, grey ones are not used. Edges are blue
    where the result is a view of the input, red where the input is destroyed.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> print(pydotprint(T.exp(x), format="raw", return_image=True)[:7])  # doctest: +SKIP
    digraph
    """
    outputs, order, profile, shared = drawn_graph(fct)
    drawable, message = pydot_status()
    try:
        pydot = load_pydot()
    except ImportError:
        pydot = None
    # The language of graphviz itself needs no program to write it.
    if not drawable and (pydot is None or format != "raw"):
        raise RuntimeError(
            f"Failed to import pydot. You must install graphviz and pydot for `pydotprint` to work ({message})."
        )
    colors = default_colorCodes if colorCodes is None else colorCodes
    if outfile is None:
        from theano.configdefaults import config

        outfile = os.path.join(config.compiledir, f"theano.pydotprint.{config.device}.{format}")

    times = None
    if profile is not None:
        total = sum(profile.apply_time.get(node, 0.0) for node in order) or 1.0

        def times(node: Apply) -> tuple[float, float]:
            seconds = profile.apply_time.get(node, 0.0)
            return seconds, 100 * seconds / total

    labels = _Labels(with_ids, var_with_name_simple, max_label_size, order, times)
    graph = pydot.Dot()
    clusters: list[tuple[set[Apply], Any]] = []
    if cond_highlight:
        looks = (("Left", "green"), ("Right", "blue"), ("Middle", "red"))
        for nodes, (title, color) in zip(_branches(cond_highlight, order), looks):
            clusters.append((nodes, pydot.Cluster(title, label=title, style="dashed", color=color)))

    def look(color: str | None) -> dict[str, str]:
        if color is None:
            return {}
        return {"style": "filled", "fillcolor": color} if high_contrast else {"color": color}

    drawn: set[str] = set()

    def draw(text: str, shape: str, color: str | None, node: Apply | None = None) -> None:
        if text in drawn:
            return
        drawn.add(text)
        for nodes, cluster in clusters:
            if node in nodes:
                cluster.add_node(pydot.Node(quoted(text), label=quoted(text), shape=shape, **look(color)))
                return
        graph.add_node(pydot.Node(quoted(text), label=quoted(text), shape=shape, **look(color)))

    output_set = set(outputs)
    used = {var for node in order for var in node.inputs}

    def is_hidden(var: Variable) -> bool:
        # A compact drawing goes from node to node where a variable is neither named nor a result.
        return compact and var.name is None and var.owner is not None and var not in output_set and var in used

    def color_of(var: Variable) -> str | None:
        if var in shared or (hasattr(var, "container") and hasattr(var, "get_value")):
            return "cyan"
        if var in output_set:
            return "blue"
        if var.owner is None and not isinstance(var, Constant):
            return "limegreen" if high_contrast else "green"
        if var not in used:
            return "grey"
        return None

    for node in order:
        node_text = labels.node(node)
        color = next((value for key, value in colors.items() if key in type(node.op).__name__), None)
        draw(node_text, "ellipse", color, node)
        view_map = getattr(node.op, "view_map", None) or {}
        destroy_map = getattr(node.op, "destroy_map", None) or {}
        viewed = {i for inputs in view_map.values() for i in inputs}
        destroyed = {i for inputs in destroy_map.values() for i in inputs}
        for i, var in enumerate(node.inputs):
            edge: dict[str, str] = {}
            label = f"{i} {var.type}" if is_hidden(var) else (str(i) if len(node.inputs) > 1 else "")
            if label:
                edge["label"] = quoted(label[:max_label_size])
            if i in destroyed:
                edge["color"] = "red"
            elif i in viewed:
                edge["color"] = "blue"
            if is_hidden(var):
                assert var.owner is not None
                source = labels.node(var.owner)
            else:
                source = labels.variable(var)
                draw(source, "box", color_of(var))
            graph.add_edge(pydot.Edge(quoted(source), quoted(node_text), **edge))
        for i, var in enumerate(node.outputs):
            if is_hidden(var) or (var not in used and var not in output_set and compact):
                continue
            target = labels.variable(var)
            draw(target, "box", color_of(var))
            edge = {"label": quoted(str(i))} if len(node.outputs) > 1 else {}
            graph.add_edge(pydot.Edge(quoted(node_text), quoted(target), **edge))
    for var in outputs:
        if var.owner is None:
            draw(labels.variable(var), "box", color_of(var))
    for _, cluster in clusters:
        graph.add_subgraph(cluster)

    if return_image:
        return graph.create(prog="dot", format=format)
    try:
        graph.write(outfile, prog="dot", format=format)
    except Exception as exc:
        raise RuntimeError(f"graphviz failed to write {outfile}: {exc}") from exc
    if print_output_file:
        print("The output file is available at", outfile)
    if scan_graphs:
        base, extension = os.path.splitext(outfile)
        for index, node in enumerate(order):
            if not is_scan(node.op):
                continue
            name = getattr(node.op, "name", None)
            inner = getattr(node.op, "fn", None)
            pydotprint(
                inner if inner is not None and hasattr(inner, "maker") else node.op.outputs,
                f"{base}_{name}_{index}{extension}" if name else f"{base}_{index}{extension}",
                compact,
                format,
                with_ids,
                high_contrast,
                cond_highlight,
                colorCodes,
                max_label_size,
                scan_graphs,
                var_with_name_simple,
                print_output_file,
            )
    return None


def quoted(text: str) -> str:
    """Return a text as a string of the language of graphviz."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

"""Graphs for pydot: :class:`PyDotFormatter`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from theano.d3viz import model
from theano.gof.graph import Apply, Constant, Variable
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

    See Also
    --------
    theano.d3viz.d3viz.d3viz : Write a page that shows a graph in a web browser.

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


def var_label(var: Variable, precision: int = 3) -> str:
    """Return a short text for a variable: its name, the value of a constant to `precision` digits, or its type.

    Parameters
    ----------
    var : Variable
        A variable of the graph.
    precision : int, optional
        Digits of a constant.

    Examples
    --------
    >>> import theano.tensor as T
    >>> var_label(T.dvector("x")), var_label(T.dvector()), var_label(T.constant(3.14159))
    ('x', 'dvector', '3.142')
    """
    if var.name is not None:
        return var.name
    if not isinstance(var, Constant):
        return type_to_str(var.type)
    value = np.asarray(var.data)
    text = np.array2string(value.reshape(1) if value.ndim == 0 else value, precision=precision)
    return text.strip("[]") if value.ndim == 0 else text.partition("\n")[0]


def var_tag(var: Variable) -> list | None:
    """Return the file, the line and the text of the line that made a variable; None where that is not known.

    Parameters
    ----------
    var : Variable
        A variable of the graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> x.tag.trace = [("/home/me/model.py", 12, "layer", "x = T.dvector()")]
    >>> var_tag(x)
    ['model.py', 12, b'x = T.dvector()']
    """
    trace = getattr(var.tag, "trace", None)
    if not trace or not trace[0]:
        return None
    stack = trace[0] if isinstance(trace[0], list) else trace
    path, line, _, code = tuple(stack[-1])[:4]
    return [os.path.basename(path).strip("<>"), line, (code or "").encode()]


def apply_label(node: Apply) -> str:
    """Return a short text for a node: the class of its Op.

    Parameters
    ----------
    node : Apply
        A node of the graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> apply_label((x + 1).owner), apply_label(T.dot(x, x).owner)
    ('Elemwise', 'Dot')
    """
    return node.op.__class__.__name__


def apply_profile(node: Apply, profile: Any) -> list[float] | None:
    """Return the seconds of a node and those of all calls of its function; None where they were not measured.

    Parameters
    ----------
    node : Apply
        A node of the graph.
    profile : ProfileStats or None
        That of its function.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.compile.profiling import ProfileStats
    >>> node = T.exp(T.dvector("x")).owner
    >>> profile = ProfileStats(atexit_print=False)
    >>> profile.fct_call_time, profile.apply_time[node] = 0.5, 0.125
    >>> apply_profile(node, profile), apply_profile(node, None)
    ([0.125, 0.5], None)
    """
    if not profile or profile.fct_call_time == 0:
        return None
    return [profile.apply_time.get(node, 0), profile.fct_call_time]


_PATTERNS = {(): "scalar", (False,): "vector", (False, True): "col", (True, False): "row", (False, False): "matrix"}
_LETTERS = dict(zip(["complex64", "complex128", "float32", "float64", "int8", "int16", "int32", "int64"], "czfdbwil"))


def broadcastable_to_str(b: tuple[bool, ...]) -> str:
    """Return what tensors of a broadcast pattern are called, '' where they have no name.

    Parameters
    ----------
    b : tuple of bool
        The pattern.

    Examples
    --------
    >>> broadcastable_to_str((False, False)), broadcastable_to_str((False, True)), broadcastable_to_str((True, True, False))
    ('matrix', 'col', '')
    """
    return _PATTERNS.get(tuple(b), "")


def dtype_to_char(dtype: str) -> str:
    """Return the letter that stands for a dtype in the names of types, 'X' where there is none.

    Parameters
    ----------
    dtype : str
        Name of a dtype.

    Examples
    --------
    >>> dtype_to_char("float64"), dtype_to_char("int32"), dtype_to_char("object")
    ('d', 'i', 'X')
    """
    return _LETTERS.get(str(dtype), "X")


def type_to_str(t: Any) -> str:
    """Return a short text for a type: ``dmatrix``, say; of tensors without such a name the dtype.

    Parameters
    ----------
    t : Type
        The type of a variable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> type_to_str(T.dmatrix), type_to_str(T.fcol), type_to_str(T.TensorType("int8", (False,) * 8))
    ('dmatrix', 'fcol', 'int8')
    """
    if not hasattr(t, "broadcastable"):
        return str(t)
    name = broadcastable_to_str(t.broadcastable)
    return dtype_to_char(t.dtype) + name if name else str(t.dtype)


def dict_to_pdnode(d: dict[str, Any]) -> Any:
    """Return a node of pydot with attributes; None is left out, the elements of lists are put together by tabulators.

    Parameters
    ----------
    d : dict
        The attributes by name.

    Examples
    --------
    >>> node = dict_to_pdnode({"name": "n0", "label": "exp", "shape": "box", "profile": [0.5, 2], "apply_op": None})
    >>> node.get_name(), node.get("label"), sorted(node.get_attributes())
    ('n0', 'exp', ['label', 'profile', 'shape'])
    """
    texts = {k: "\t".join(map(str, v)) if isinstance(v, list) else str(v) for k, v in d.items() if v is not None}
    return load_pydot().Node(**{k: text.replace('"', "'") for k, text in texts.items()})


def __getattr__(name: str) -> Any:
    # pydot takes long to import, so whether it is there is found out on demand.
    if name in ("pydot_imported", "pydot_imported_msg"):
        try:
            load_pydot()
        except ImportError as exc:
            return False if name == "pydot_imported" else f"pydot is not installed: {exc}"
        return True if name == "pydot_imported" else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

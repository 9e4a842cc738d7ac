"""How variables and functions show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from theano.pages import render

#: A larger graph is cut: a notebook keeps what it shows.
_MAX_NODES = 60


def _graph_text(thing: Any, n_nodes: int) -> str:
    from theano.printing.debug import debugprint

    if n_nodes <= _MAX_NODES:
        return debugprint(thing, file="str") or ""
    text = debugprint(thing, file="str", depth=6) or ""
    lines = text.splitlines()
    return "\n".join([*lines[: 2 * _MAX_NODES], "..."])


def _details(n_nodes: int, thing: Any) -> dict[str, str]:
    """What a template shows of a graph on demand."""
    return {"summary": f"Graph of {n_nodes} node{'s' * (n_nodes != 1)}", "text": _graph_text(thing, n_nodes).rstrip()}


def _label(var: Any) -> dict[str, Any]:
    """The name of a variable and its type."""
    return {"name": var.name or str(var), "type": var.type}


def variable_html(var: Any) -> str:
    """Return HTML for a variable: what it is, and the graph behind it on demand.

    Parameters
    ----------
    var : Variable

    Returns
    -------
    str

    Examples
    --------
    >>> import theano.tensor as T
    >>> variable_html(T.dvector('x'))
    '<code>x</code>: <span>TensorType(float64, vector)</span>'
    """
    if var.owner is None:
        return render("notebook.html#variable", heading=_label(var), graph=None)
    nodes = [v.owner for v in islice(_upwards(var), 4 * _MAX_NODES) if v.owner is not None]
    n_nodes = len(dict.fromkeys(nodes))
    heading, graph = _label(var), _details(n_nodes, var)
    if n_nodes <= _MAX_NODES:
        from theano.printing.pretty import pp

        text = pp(var)
        if len(text) <= 200:
            heading["name"] = text
    else:
        graph["summary"] = f"Graph of more than {_MAX_NODES} nodes"
    return render("notebook.html#variable", heading=heading, graph=graph)


def graph_html(fgraph: Any) -> str:
    """Return HTML for a FunctionGraph: inputs, outputs, and the graph on demand.

    Parameters
    ----------
    fgraph : FunctionGraph

    Returns
    -------
    str
    """
    graph = _details(len(fgraph.apply_nodes), fgraph)
    return render("notebook.html#fgraph", inputs=list(map(_label, fgraph.inputs)), outputs=fgraph.outputs, graph=graph)


def framed(page: str, height: int = 500) -> str:
    """Return HTML that shows a whole page within another, neither of which changes the look of the other.

    Parameters
    ----------
    page : str
        HTML that needs no other file.
    height : int
        In pixels.

    Returns
    -------
    str
    """
    return render("notebook.html#framed", page=page, height=height)


def _upwards(var: Any) -> Iterator[Any]:
    """The variables that `var` is computed from, nearest first."""
    seen = {var}
    waiting = [var]
    for current in waiting:
        yield current
        for i in current.owner.inputs if current.owner is not None else ():
            if i not in seen:
                seen.add(i)
                waiting.append(i)


def function_html(function: Any) -> str:
    """Return HTML for a compiled function: arguments, results, updates, and its graph on demand.

    Parameters
    ----------
    function : Function

    Returns
    -------
    str
    """
    maker = function.maker
    fgraph = maker.fgraph
    arguments = [v for spec, v in zip(maker.expanded_inputs, fgraph.inputs) if not getattr(spec, "implicit", False)]
    updated = {i for i, spec in enumerate(maker.expanded_inputs) if getattr(spec, "update", None) is not None}
    profile = getattr(function, "profile", None)
    return render(
        "notebook.html#function",
        name=function.name or "",
        inputs=list(map(_label, arguments)),
        outputs=fgraph.outputs[: len(fgraph.outputs) - len(updated)],
        updates=[str(fgraph.inputs[i]) for i in sorted(updated)],
        calls=f"{profile.fct_callcount} in {profile.fct_call_time:.3g} s" if profile else "",
        graph=_details(len(fgraph.apply_nodes), function),
    )

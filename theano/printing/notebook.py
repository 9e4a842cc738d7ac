"""How variables and functions show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice
from typing import Any

#: A larger graph is cut: a notebook keeps what it shows.
_MAX_NODES = 60
_STYLE = "text-align:left;margin:0;line-height:1.35"


def _graph_text(thing: Any, n_nodes: int) -> str:
    from theano.printing.debug import debugprint

    if n_nodes <= _MAX_NODES:
        return debugprint(thing, file="str") or ""
    text = debugprint(thing, file="str", depth=6) or ""
    lines = text.splitlines()
    return "\n".join([*lines[: 2 * _MAX_NODES], "..."])


def _details(summary: str, text: str) -> str:
    return f'<details><summary>{escape(summary)}</summary><pre style="{_STYLE}">{escape(text.rstrip())}</pre></details>'


def _label(var: Any) -> str:
    """The name of a variable and its type."""
    name = escape(var.name) if var.name else escape(str(var))
    return f"<code>{name}</code>: <span>{escape(str(var.type))}</span>"


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
        return _label(var)
    nodes = [v.owner for v in islice(_upwards(var), 4 * _MAX_NODES) if v.owner is not None]
    n_nodes = len(dict.fromkeys(nodes))
    heading = _label(var)
    if n_nodes <= _MAX_NODES:
        from theano.printing.pretty import pp

        text = pp(var)
        if len(text) <= 200:
            heading = f"<code>{escape(text)}</code>: <span>{escape(str(var.type))}</span>"
        count = f"{n_nodes} node{'s' * (n_nodes != 1)}"
    else:
        count = f"more than {_MAX_NODES} nodes"
    return heading + _details(f"Graph of {count}", _graph_text(var, n_nodes))


def _table(rows: list[tuple[str, str]]) -> str:
    return "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{name}</th><td style="text-align:left">{text}</td></tr>'
        for name, text in rows
    )


def graph_html(fgraph: Any) -> str:
    """Return HTML for a FunctionGraph: inputs, outputs, and the graph on demand.

    Parameters
    ----------
    fgraph : FunctionGraph

    Returns
    -------
    str
    """
    rows = [
        ("Inputs", "<br>".join(map(_label, fgraph.inputs)) or "none"),
        ("Outputs", "<br>".join(f"<span>{escape(str(v.type))}</span>" for v in fgraph.outputs) or "none"),
    ]
    n_nodes = len(fgraph.apply_nodes)
    graph = _details(f"Graph of {n_nodes} node{'s' * (n_nodes != 1)}", _graph_text(fgraph, n_nodes))
    return f"<div><b>FunctionGraph</b><table>{_table(rows)}</table>{graph}</div>"


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
    return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:{height}px;border:1px solid #8884"></iframe>'


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
    rows = []
    arguments = [v for spec, v in zip(maker.expanded_inputs, fgraph.inputs) if not getattr(spec, "implicit", False)]
    rows.append(("Arguments", "<br>".join(map(_label, arguments)) or "none"))
    updated = {i for i, spec in enumerate(maker.expanded_inputs) if getattr(spec, "update", None) is not None}
    outputs = fgraph.outputs[: len(fgraph.outputs) - len(updated)]
    rows.append(("Results", "<br>".join(f"<span>{escape(str(v.type))}</span>" for v in outputs) or "none"))
    if updated:
        names = (str(fgraph.inputs[i]) for i in sorted(updated))
        rows.append(("Updates", ", ".join(f"<code>{escape(name)}</code>" for name in names)))
    profile = getattr(function, "profile", None)
    if profile:
        rows.append(("Calls", f"{profile.fct_callcount} in {profile.fct_call_time:.3g} s"))
    body = _table(rows)
    n_nodes = len(fgraph.apply_nodes)
    title = f"Theano function {escape(function.name or '')}".strip()
    graph = _details(f"Graph of {n_nodes} node{'s' * (n_nodes != 1)}", _graph_text(function, n_nodes))
    return f"<div><b>{title}</b><table>{body}</table>{graph}</div>"

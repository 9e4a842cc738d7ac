"""Profiles as a page for a web browser: one file, without anything from elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from theano.compile.profile_tips import tips

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; color: #222; margin: 2em auto; max-width: 82em; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2.2em; border-bottom: 1px solid #ddd; } h3 { font-size: 1em; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 9px; text-align: right; vertical-align: top; border-bottom: 1px solid #eee; }
th:last-child, td:last-child { text-align: left; width: 60%; overflow-wrap: anywhere; }
thead th { background: #f5f5f2; position: sticky; top: 0; }
th button { font: inherit; font-weight: 600; border: 0; background: none; padding: 0; cursor: pointer; }
th[aria-sort="descending"] button::after { content: " \\25BE"; } th[aria-sort="ascending"] button::after { content: " \\25B4"; }
td.bar { background: linear-gradient(#ffc58a, #ffc58a) no-repeat left / var(--share) 100%; }
dl { display: grid; grid-template-columns: max-content auto; gap: 2px 1.5em; margin: 0.6em 0; }
dt { color: #666; } dd { margin: 0; font-variant-numeric: tabular-nums; }
dt.part { padding-left: 1.4em; }
.python { color: #b3261e; font-weight: 600; }
"""

_SCRIPT = """
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  table.tHead.querySelectorAll("th").forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending";
    table.tHead.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => {
      const text = row.cells[column].dataset.value ?? row.cells[column].textContent;
      return isNaN(Number(text)) ? text : Number(text);
    };
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    body.append(...rows);
  }));
}
"""


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns" if value else "0 s"


def _bytes(value: float) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.0f} B"


def _cell(value: Any) -> str:
    """A cell: a text, or a pair of what sorts and what shows."""
    if isinstance(value, tuple):
        number, text = value
        return f'<td data-value="{number:.9g}">{escape(text)}</td>'
    if value == "Py":
        return '<td class="python">Python</td>'
    return f"<td>{escape(str(value))}</td>"


def _table(columns: Sequence[str], rows: Iterable[tuple[float, Sequence[Any]]]) -> str:
    """A table whose first column shows each row's part of the whole, with a bar."""
    rows = sorted(rows, key=lambda row: -row[0])
    total = sum(weight for weight, _ in rows) or 1.0
    heads = [
        f"<th{' aria-sort=descending' if k == 0 else ''}><button type=button>{escape(name)}</button></th>"
        for k, name in enumerate(["%", *columns])
    ]
    lines = []
    for weight, cells in rows:
        percent = 100 * weight / total
        first = f'<td class="bar" style="--share:{percent:.1f}%" data-value="{percent:.6g}">{percent:.1f}</td>'
        lines.append(f"<tr>{first}{''.join(map(_cell, cells))}</tr>")
    return f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    items = []
    for name, value in facts:
        part = ' class="part"' if name.startswith(" ") else ""
        items.append(f"<dt{part}>{escape(name.strip())}</dt><dd>{escape(value)}</dd>")
    return f"<dl>{''.join(items)}</dl>"


def _global(profile: Any) -> str:
    steps = getattr(profile, "nbsteps", None)
    if steps is not None:
        # The inner function of a scan: what is compiled and called is the scan.
        return _facts(
            [
                ("Runs of the scan", str(profile.callcount)),
                ("Steps", str(steps)),
                ("Time in runs", _seconds(profile.call_time)),
                (" in the program", _seconds(profile.vm_call_time)),
                (" in nodes", _seconds(sum(profile.apply_time.values()))),
            ]
        )
    facts = [("Calls of the function", str(profile.fct_callcount)), ("Time in calls", _seconds(profile.fct_call_time))]
    if profile.fct_callcount:
        facts.append((" per call", _seconds(profile.fct_call_time / profile.fct_callcount)))
        facts.append((" in the program", _seconds(profile.vm_call_time)))
        facts.append((" in nodes", _seconds(sum(profile.apply_time.values()))))
    facts += [
        ("Compile time", _seconds(profile.compile_time)),
        (" optimizer", _seconds(profile.optimizer_time)),
        (" of it validation", _seconds(profile.validate_time)),
        (" linker, with C compilation", _seconds(profile.linker_time)),
        (" of it import of modules", _seconds(profile.import_time)),
        ("Nodes", str(max(profile.nb_nodes, 0))),
    ]
    return _facts(facts)


def _nodes(profile: Any) -> str:
    rows = []
    for index, (node, seconds) in enumerate(profile._nodes_in_order()):
        calls = profile.apply_callcount.get(node, 0)
        per_call = seconds / max(calls, 1)
        text = str(node)
        shapes = [str(profile.variable_shape[v]) for v in node.outputs if v in profile.variable_shape]
        if shapes:
            text += f" → {', '.join(shapes)}"
        kind = "C" if profile.apply_cimpl.get(node) else "Py"
        rows.append(
            (seconds, [(seconds, _seconds(seconds)), (per_call, _seconds(per_call)), kind, (calls, str(calls)),
                       (index, str(index)), text])
        )  # fmt: skip
    return _table(["Time", "Per call", "In", "Calls", "Id", "Node"], rows)


def _groups(times: dict, calls: dict, nodes: dict, kinds: dict, name: str) -> str:
    rows = []
    for key, seconds in times.items():
        per_call = seconds / max(calls[key], 1)
        text = f"{key.__module__}.{key.__qualname__}" if isinstance(key, type) else str(key)
        rows.append(
            (seconds, [(seconds, _seconds(seconds)), (per_call, _seconds(per_call)), kinds[key],
                       (calls[key], str(calls[key])), (nodes[key], str(nodes[key])), text])
        )  # fmt: skip
    return _table(["Time", "Per call", "In", "Calls", "Nodes", name], rows)


def _memory(profile: Any) -> str:
    peak_gc, peak_all = profile.peak_memory()
    rows = []
    for node, sizes in profile.outputs_size().items():
        size = sum(sizes)
        shapes = ", ".join(str(profile.variable_shape.get(v)) for v in node.outputs)
        rows.append((float(size), [(size, _bytes(size)), shapes, str(node)]))
    facts = _facts(
        [
            ("Most memory of intermediate results with allow_gc=True", _bytes(peak_gc)),
            ("Most memory of intermediate results with allow_gc=False", _bytes(peak_all)),
        ]
    )
    return facts + _table(["Outputs", "Shapes", "Node"], rows)


def section(profile: Any) -> str:
    """Return a profile as HTML, to be put into a page.

    Parameters
    ----------
    profile : Any

    Returns
    -------
    str
    """
    name = getattr(profile, "name", None)
    title = f"Scan {name}" if hasattr(profile, "nbsteps") else str(profile.message or "Function")
    parts = [f"<section><h2>{escape(title)}</h2>", _global(profile)]
    if profile.apply_time:
        parts += ["<h3>Classes of Ops</h3>"]
        parts += [
            _groups(profile.class_time(), profile.class_callcount(), profile.class_nodes(), profile.class_impl(), "Class")
        ]
        parts += ["<h3>Ops</h3>"]
        parts += [_groups(profile.op_time(), profile.op_callcount(), profile.op_nodes(), profile.op_impl(), "Op")]
        parts += ["<h3>Nodes</h3>", _nodes(profile)]
    if profile.variable_shape:
        parts += ["<h3>Memory</h3>", _memory(profile)]
    advice = tips(profile)
    if advice:
        parts.append(f"<h3>Tips</h3><ul>{''.join(f'<li>{escape(tip)}</li>' for tip in advice)}</ul>")
    slow = sorted(profile.linker_make_thunk_time.items(), key=lambda item: -item[1])[:10]
    if slow and slow[0][1] > 0:
        rows = [(seconds, [(seconds, _seconds(seconds)), str(node)]) for node, seconds in slow]
        parts += ["<h3>Slowest nodes to link</h3>", _table(["Time", "Node"], rows)]
    if profile.optimizer_profile:
        import io

        text = io.StringIO()
        optimizer, numbers = profile.optimizer_profile
        optimizer.print_profile(text, numbers)
        parts.append(f"<details><summary>Optimizer</summary><pre>{escape(text.getvalue())}</pre></details>")
    parts.append("</section>")
    return "\n".join(parts)


def page(profiles: Sequence[Any], title: str = "Theano profile") -> str:
    """Return a whole page with some profiles.

    Parameters
    ----------
    profiles : sequence of ProfileStats
    title : str

    Returns
    -------
    str
        HTML that needs no other file.
    """
    made = time.strftime("%Y-%m-%d %H:%M:%S")
    sections = "\n".join(section(profile) for profile in profiles)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<link rel="icon" href="data:,">\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n'
        f"<p>Made {made}. A click on the head of a column sorts the table.</p>\n{sections}\n"
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def write_page(profiles: Sequence[Any], path: str | os.PathLike[str], title: str = "Theano profile") -> None:
    """Write a page with some profiles.

    Parameters
    ----------
    profiles : sequence of ProfileStats
    path : str or path
    title : str
    """
    Path(path).write_text(page(profiles, title), encoding="utf-8")

"""Profiles as a page for a web browser: one file, without anything from elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from theano.compile.profile_tips import tips
from theano.pages import render


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


def _table(columns: Sequence[str], rows: Iterable[tuple[float, Sequence[Any]]]) -> dict[str, Any]:
    """A table whose first column shows each row's part of the whole; cells are texts, or pairs of what sorts and what shows."""
    rows = sorted(rows, key=lambda row: -row[0])
    total = sum(weight for weight, _ in rows) or 1.0
    return {"columns": ["%", *columns], "rows": [(100 * weight / total, cells) for weight, cells in rows]}


def _global(profile: Any) -> list[tuple[str, str]]:
    steps = getattr(profile, "nbsteps", None)
    if steps is not None:
        # The inner function of a scan: what is compiled and called is the scan.
        return [
            ("Runs of the scan", str(profile.callcount)),
            ("Steps", str(steps)),
            ("Time in runs", _seconds(profile.call_time)),
            (" in the program", _seconds(profile.vm_call_time)),
            (" in nodes", _seconds(sum(profile.apply_time.values()))),
        ]
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
    return facts


def _nodes(profile: Any) -> dict[str, Any]:
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


def _groups(times: dict, calls: dict, nodes: dict, kinds: dict, name: str) -> dict[str, Any]:
    rows = []
    for key, seconds in times.items():
        per_call = seconds / max(calls[key], 1)
        text = f"{key.__module__}.{key.__qualname__}" if isinstance(key, type) else str(key)
        rows.append(
            (seconds, [(seconds, _seconds(seconds)), (per_call, _seconds(per_call)), kinds[key],
                       (calls[key], str(calls[key])), (nodes[key], str(nodes[key])), text])
        )  # fmt: skip
    return _table(["Time", "Per call", "In", "Calls", "Nodes", name], rows)


def _memory(profile: Any) -> dict[str, Any]:
    peak_gc, peak_all = profile.peak_memory()
    rows = []
    for node, sizes in profile.outputs_size().items():
        size = sum(sizes)
        shapes = ", ".join(str(profile.variable_shape.get(v)) for v in node.outputs)
        rows.append((float(size), [(size, _bytes(size)), shapes, str(node)]))
    facts = [
        ("Most memory of intermediate results with allow_gc=True", _bytes(peak_gc)),
        ("Most memory of intermediate results with allow_gc=False", _bytes(peak_all)),
    ]
    return _part("Memory", facts=facts, table=_table(["Outputs", "Shapes", "Node"], rows))


def _part(heading: str = "", facts: Any = (), table: Any = None, tips: Any = (), optimizer: str = "") -> dict[str, Any]:
    return {"heading": heading, "facts": facts, "table": table, "tips": tips, "optimizer": optimizer}


def _section(profile: Any) -> dict[str, Any]:
    """What the template shows of a profile."""
    name = getattr(profile, "name", None)
    title = f"Scan {name}" if hasattr(profile, "nbsteps") else str(profile.message or "Function")
    parts = [_part(facts=_global(profile))]
    if profile.apply_time:
        classes = _groups(profile.class_time(), profile.class_callcount(), profile.class_nodes(), profile.class_impl(), "Class")
        ops = _groups(profile.op_time(), profile.op_callcount(), profile.op_nodes(), profile.op_impl(), "Op")
        parts += [_part("Classes of Ops", table=classes), _part("Ops", table=ops), _part("Nodes", table=_nodes(profile))]
    if profile.variable_shape:
        parts.append(_memory(profile))
    advice = tips(profile)
    if advice:
        parts.append(_part("Tips", tips=advice))
    slow = sorted(profile.linker_make_thunk_time.items(), key=lambda item: -item[1])[:10]
    if slow and slow[0][1] > 0:
        rows = [(seconds, [(seconds, _seconds(seconds)), str(node)]) for node, seconds in slow]
        parts.append(_part("Slowest nodes to link", table=_table(["Time", "Node"], rows)))
    if profile.optimizer_profile:
        import io

        text = io.StringIO()
        optimizer, numbers = profile.optimizer_profile
        optimizer.print_profile(text, numbers)
        parts.append(_part(optimizer=text.getvalue()))
    return {"title": title, "parts": parts}


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
    return render("profile.html", title=title, made=made, sections=[_section(profile) for profile in profiles])


def write_page(profiles: Sequence[Any], path: str | os.PathLike[str], title: str = "Theano profile") -> None:
    """Write a page with some profiles.

    Parameters
    ----------
    profiles : sequence of ProfileStats
    path : str or path
    title : str
    """
    Path(path).write_text(page(profiles, title), encoding="utf-8")

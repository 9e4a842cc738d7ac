"""The printed table."""

from __future__ import annotations

from typing import Any


def as_text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print rows as ``{"case", "threads", "times": {contender: seconds}, "checks": {what: [value, limit]}}``."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    names = ["Theano"] + sorted({n for row in rows for n in row["times"]} - {"Theano"})
    table = Table("case", "threads", *names, "checks", show_lines=False)
    for row in rows:
        checks = []
        for what, (value, limit) in row["checks"].items():
            mark = "[green]ok[/]" if value <= limit else "[red]MISSED[/]"
            checks.append(f"{what} {value:.2f} (<= {limit:g}) {mark}")
        table.add_row(escape(row["case"]), str(row["threads"]), *(as_text(row["times"].get(n)) for n in names), "\n".join(checks))
    Console(width=200).print(table)

"""Differences that are meant, each a row of docs/differences.md or a property of NumPy."""

from __future__ import annotations

import re

from tests.differential.compare import Difference

# Reason, kind of difference, pattern of the statement, of what the original gives, of what this package gives.
KNOWN: list[tuple[str, str, str, str, str]] = []


def reason(program: str, difference: Difference) -> str | None:
    """Why a difference is meant; None: it is not known to be."""
    line = program.splitlines()[difference.line - 1] if difference.line else ""
    for why, what, statement, original, ours in KNOWN:
        if (
            re.fullmatch(what, difference.what)
            and re.search(statement, line)
            and re.search(original, difference.original)
            and re.search(ours, difference.ours)
        ):
            return why
    return None

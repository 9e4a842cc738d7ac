"""Texts of C code: filled in, and indented."""

from __future__ import annotations

from typing import Any


def render_string(string: str, sub: Any) -> str:
    """Return ``string % sub``; an error says at which place of the text it came up.

    Raises
    ------
    ValueError
        If the text cannot be filled in: with the text up to the place, and why.
    """
    try:
        return string % sub
    except Exception as error:
        for end in range(len(string) + 1):
            try:
                _ = string[:end] % sub
            except Exception as why:
                # A text that ends within a place to fill in fails too, but otherwise.
                if str(why) == str(error):
                    raise ValueError(f"{string[:end]}<<<< caused exception {why}") from error
        raise


def pretty_format(string: str) -> str:
    """Return C code with each line indented by four spaces for each brace that is open."""
    lines, indent = [], 0
    for line in map(strip_leading_white_space, string.split("\n")):
        indent = max(0, indent - line.count("}"))
        lines.append("    " * indent + line)
        indent += line.count("{")
    return "\n".join(lines)


def strip_leading_white_space(line: str) -> str:
    """Return a line without the spaces and tabs that it begins with."""
    return line.lstrip(" \t")

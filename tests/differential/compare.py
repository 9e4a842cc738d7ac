"""What differs between the results of a program on two sides."""

from __future__ import annotations

import base64
import re
from typing import Any, NamedTuple

import numpy as np


class Difference(NamedTuple):
    """One difference.

    Parameters
    ----------
    what
        Its kind: "error", "value", "dtype" ...
    line
        The statement's line in the program.
    original, ours
        What differs, in words.
    """

    what: str
    line: int
    original: str
    ours: str


_TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9, "complex64": 2e-5, "complex128": 1e-9}


def array_of(value: dict[str, Any]) -> np.ndarray:
    """The array that a runner has recorded."""
    return np.frombuffer(base64.b64decode(value["data"]), dtype=value["dtype"]).reshape(value["shape"])


def _close(a: np.ndarray, b: np.ndarray, least: float) -> bool:
    tolerance = _TOLERANCE.get(a.dtype.name)
    if tolerance is None:
        return bool(np.array_equal(a, b))
    tolerance = max(tolerance, least)
    wide = "complex128" if a.dtype.kind == "c" else "float64"
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        finite = np.abs(a)[np.isfinite(a)]
        scale = finite.max() if finite.size else 0.0
        return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-3), equal_nan=True))


def _text(value: str) -> str:
    """A text without what may differ from process to process."""
    return re.sub(r"0x[0-9a-f]+|at \d{6,}", "ADDRESS", value)


def _without_order(text: str) -> list[str]:
    """The lines of a graph's text without letters and positions, sorted: the same for another order of evaluation."""
    return sorted(re.sub(r" \[id \w+\]|(?<= )\d+$", "", line).strip() for line in text.splitlines())


def _without_bounds(text: str) -> str:
    """The text of a formula whose slices have types in the place of their bounds."""
    made = ""
    while text:
        start = re.match(r"ScalarFromTensor\(|Constant\{-?\d+\}", text)
        if start is None or made.endswith("Tensor"):
            made, text = made + text[0], text[1:]
            continue
        end, depth = start.end(), start[0].count("(")
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        in_slice = text[end : end + 1] == ":" or made.endswith(":")
        made += "int64" if in_slice else text[:end]
        text = text[end:]
    return made


def kind_of_texts(x: str, y: str) -> str:
    """What differs of two texts: the "order" of nodes, only the "bounds" of slices or the "names" of Ops, or the "text".

    The original takes the numbers of an index from its end, whatever they belong to: only their count is compared.
    """
    if "[id " in x and _without_order(x) == _without_order(y):
        return "order"
    if x.replace(",no_inplace", "") == y.replace(",no_inplace", ""):
        return "names"
    x, y = (re.sub(r"(?<=:)u?int\d+|u?int\d+(?=:)", "int64", text) for text in (x, y))
    number = r"(?<!Tensor)Constant\{-?\d+\}"
    return "bounds" if re.sub(number, "#", _without_bounds(x)) == re.sub(number, "#", _without_bounds(y)) else "text"


def _difference(a: Any, b: Any, least: float) -> tuple[str, str, str] | None:
    if a["kind"] != b["kind"]:
        return "kind", a["kind"], b["kind"]
    kind = a["kind"]
    if kind == "array":
        for field in ("dtype", "shape"):
            if a[field] != b[field]:
                return field, str(a[field]), str(b[field])
        x, y = array_of(a), array_of(b)
        return None if _close(x, y, least) else ("value", str(x.tolist())[:200], str(y.tolist())[:200])
    if kind == "list" and a["items"] and all(i["kind"] == "str" for i in [*a["items"], *b["items"]]):
        x, y = ([i["value"] for i in side["items"]] for side in (a, b))
        if x != y and sorted(x) == sorted(y):
            return "order", str(x), str(y)
    if kind in ("list", "tuple", "dict"):
        if len(a["items"]) != len(b["items"]):
            return "length", str(len(a["items"])), str(len(b["items"]))
        for x, y in zip(a["items"], b["items"]):
            if kind == "dict":
                if x[0] != y[0]:
                    return "key", x[0], y[0]
                x, y = x[1], y[1]
            found = _difference(x, y, least)
            if found:
                return found
        return None
    if kind == "sparse" and a["format"] == b["format"]:
        return _difference(a["dense"], b["dense"], least)
    for field in sorted(a.keys() | b.keys()):
        x, y = a.get(field), b.get(field)
        if isinstance(x, str) and isinstance(y, str):
            x, y = _text(x), _text(y)
        if x != y:
            what = "text" if kind == "str" else field
            if what == "text":
                what = kind_of_texts(x, y)
            return what, str(x), str(y)
    return None


def differences(original: Any, ours: Any, program: str) -> list[Difference]:
    """What differs, the first one of each statement; what follows from a statement that failed on one side only is left out."""
    # What was rounded to fewer digits on the way.
    least = max((t for dtype, t in _TOLERANCE.items() if dtype in program), default=0.0)
    if isinstance(original, str) or isinstance(ours, str):
        same = original == ours or original == "too long"
        return [] if same else [Difference("end", 0, *(r if isinstance(r, str) else "done" for r in (original, ours)))]
    found = []
    for a, b in zip(original, ours, strict=True):
        x, y = a["error"], b["error"]
        if x is None and y is None:
            if len(a["reported"]) != len(b["reported"]):
                found.append(Difference("reports", a["line"], str(len(a["reported"])), str(len(b["reported"]))))
            for p, q in zip(a["reported"], b["reported"]):
                difference = _difference(p, q, least)
                if difference:
                    found.append(Difference(difference[0], a["line"], *difference[1:]))
                    break
            continue
        if x is not None and y is not None:
            # A subclass of the original's class is caught by the same programs.
            if x["class"] != y["class"] and x["class"] not in y["bases"]:
                found.append(Difference("error", a["line"], f"{x['class']}: {x['text']}", f"{y['class']}: {y['text']}"))
            continue
        error = x or y
        if error["class"] == "NameError":
            continue
        texts = [f"{e['class']}: {e['text']}" if e else "no error" for e in (x, y)]
        found.append(Difference("error", a["line"], *texts))
        break
    return found


def meant_by(program: str, line: int) -> str:
    """A statement; where it reports a variable, or the result of a function, the expression that this was made of."""
    lines = program.splitlines()
    text = lines[line - 1].strip() if line else ""
    for _ in range(3):
        named = re.match(
            r"report.*\b(f\d+)[.,)]|report\((\w+)[(),]|\w+ = theano\.function\((?:\[[^]]*\]|inputs), (\w+)[,)]", text
        )
        made = named and [other for other in lines[: line - 1] if re.match(rf"{named[1] or named[2] or named[3]} = ", other)]
        if not made:
            break
        text = made[-1]
    return text


def behind(program: str, line: int) -> str:
    """A statement, what is assigned to the names it uses, and to those that this uses, and what assigns nothing, as flags.

    Where calls move states on, they belong to it as well.
    """
    lines = program.splitlines()
    if not line:
        return program
    calls = re.search(r"RandomStreams|shared\(|updates", program)
    used = set(re.findall(r"[A-Za-z_]\w*", lines[line - 1]))
    kept = [lines[line - 1]]
    for other in reversed(lines[: line - 1]):
        named = re.match(r"(\w+(?:, \w+)*) = ", other)
        if (
            named
            and used.intersection(named[1].split(", "))
            or not named
            and (not other.startswith("report(") or (calls and re.match(r"report\(\w+\(", other)))
        ):
            used.update(re.findall(r"[A-Za-z_]\w*", other))
            kept.append(other)
    return "\n".join(reversed(kept))

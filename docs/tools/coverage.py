"""What of a list of documented names the reference lacks.

``python docs/tools/coverage.py TABLE ...``: tables have the columns name, kind and reach, separated by tabs.
"""

from __future__ import annotations

import csv
import importlib
import pathlib
import sys
import tempfile
from typing import Any

KINDS = {"module", "class", "function", "method", "attribute", "exception", "type", "op", "flag"}


def resolve(name: str) -> Any:
    """Return the object of a dotted name, None if there is none."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value
    return None


def missing(tables: list[pathlib.Path]) -> tuple[int, list[str]]:
    """Return how many names were looked for, and those that have no entry under any of their paths."""
    import reference

    with tempfile.TemporaryDirectory() as folder:
        writer = reference.write(pathlib.Path(folder))
    absent, count = [], 0
    for table in tables:
        with open(table, encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        for row in rows:
            name = row["name"]
            # There is no GPU back-end; names that begin with an underscore stand in chapters.
            if name.startswith("theano.gpuarray") or name.rpartition(".")[2].startswith("_"):
                continue
            if row["reach"] != "yes" or row["kind"] not in KINDS or not name.startswith("theano."):
                continue
            count += 1
            if name in writer.names or id(resolve(name)) in writer.full:
                continue
            owner, _, attribute = name.rpartition(".")
            cls = resolve(owner)
            if cls is not None and not isinstance(cls, type) and not hasattr(cls, "__path__"):
                cls = type(cls)
            if isinstance(cls, type):
                bases = [writer.full.get(id(base)) for base in cls.__mro__]
                if any(f"{base}.{attribute}" in writer.names for base in bases):
                    continue
                if id(cls) in writer.full and attribute.startswith("__"):
                    continue
            absent.append(f"{row['kind']} {name}")
    return count, absent


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
    count, absent = missing([pathlib.Path(name) for name in sys.argv[1:]])
    print(*absent, f"{len(absent)} of {count} names have no entry", sep="\n")
    sys.exit(bool(absent))

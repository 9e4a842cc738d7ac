"""Inputs that do not fit a graph, such as arrays of other shapes and positions out of range, and what modes make of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import theano

from .checking import compile_graphs, outputs_of, updating
from .graphs import Graph, Item, build, eps_of, native, w

PLAIN, PYTHON = theano.Mode("py", None), theano.Mode("py", "fast_run")
PLAIN_NATIVE, NATIVE = theano.Mode("cvm", None), theano.Mode("cvm", "fast_run")
#: Rewrites that take away work without effect on the value, and with it the error that it would have raised: those that know a
#: shape or a value from the types, or from one of several inputs that have to agree.
HIDERS = (
    "ShapeOpt", "local_useless_fill", "local_fill_to_alloc", "local_fill_cut", "local_fill_sink", "local_useless_switch",
    "local_useless_reshape", "local_join_empty",
)  # fmt: skip
PLAIN_BUT_FOR = theano.Mode("py", "fast_run").excluding(*HIDERS)


@dataclass
class Misfit:
    """Another value of one input or shared variable of a graph."""

    item: Item
    value: np.ndarray
    text: str


def misfits(graph: Graph, count: int = 4) -> list[Misfit]:
    """Return other values for inputs of a graph: a dimension that is longer, shorter, one or empty, or a number far off."""
    draw = random.Random(graph.seed)
    items = [i for i in graph.items if i.name[0] in "xs"]
    found: list[Misfit] = []
    for _ in range(5 * count):
        if len(found) == count or not items:
            break
        item = draw.choice(items)
        value = native(item.value)
        free = [d for d in range(item.ndim) if not item.broadcastable[d]]
        if item.kind in "iu" and value.size and (not free or draw.random() < 0.4):
            value = value.copy()
            far = draw.choice([7, 50, 100] if item.kind == "u" or draw.random() < 0.5 else [-7, -50, -100])
            value.flat[draw.randrange(value.size)] = far
            found.append(Misfit(item, value, f"{item.name} has a {far}"))
        elif free:
            d = draw.choice(free)
            n = item.shape[d]
            length = draw.choice([n + 1, n + 1, max(n - 1, 0), 1, 0])
            if length == n or not n:
                continue
            value = np.take(value, np.arange(length) % n, axis=d)
            found.append(Misfit(item, value, f"{item.name} has the length {length} in dimension {d}"))
    return found


def attempt(function: Any, values: Sequence[Any]) -> list[np.ndarray] | Exception:
    """Return the results of a function, or the error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(*values)
    except Exception as error:
        return error


def outcome(function: Any, inputs: Sequence[Item], misfit: Misfit) -> list[np.ndarray] | Exception:
    """Return the results of a function of a graph where one input does not fit, or the error that it raises."""
    values = [misfit.value if i is misfit.item else i.value for i in inputs]
    if misfit.item.name[0] != "s":
        return attempt(function, values)
    shared = misfit.item.var
    before = shared.get_value()
    shared.set_value(misfit.value)
    found = attempt(function, values)
    shared.set_value(before)
    return found


def kind_of(found: Any) -> str:
    """Return the kind of an error, by which programs catch it; "a value" for results."""
    if not isinstance(found, Exception):
        return "a value"
    kinds = (IndexError, np.linalg.LinAlgError, ValueError, TypeError, AssertionError)
    return next((k.__name__ for k in kinds if isinstance(found, k)), type(found).__name__)


def unlike(graph: Graph, items: Sequence[Item], found: Any, other: Any) -> str | None:
    """Return how two outcomes differ, None if they do not: two errors by their kinds, two values by more than rounding.

    Elements that are not finite in `other` are not compared, as rewrites such as ``x / x -> 1`` do not keep them.
    """
    if kind_of(found) != kind_of(other):
        return f"{kind_of(found)} and {kind_of(other)}"
    if isinstance(found, Exception):
        return None
    for item, a, b in zip(items, map(np.asarray, found), map(np.asarray, other), strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{item.name}: {a.dtype} {a.shape} and {b.dtype} {b.shape}"
        if a.dtype.kind in "fc":
            known = np.isfinite(b)
            a, b = w(a)[known], w(b)[known]
            if b.size and np.max(np.abs(a - b)) > max(1e-3, 50 * eps_of(item.dtype)) * np.max(np.abs(b)):
                return f"{item.name}: {a!r} and {b!r}"
        elif all(i.kind in "iub" for i in graph.ancestors([item])) and not np.array_equal(a, b):
            return f"{item.name}: {a!r} and {b!r}"
    return None


def check_misfits(seeds: Sequence[int]) -> list[str]:
    """Return reports on graphs for which modes do not agree on inputs that do not fit.

    With the same rewrites native and Python functions raise the same kinds of errors, or give the same values.  Rewrites
    may change the kind, since of two errors another one may come first or an `Assert` takes the place of a step; and hide
    an error if one of `HIDERS` took away the step.  They never make an error.
    """
    graphs = [g for g in map(build, seeds) if g.steps()]
    items = [outputs_of(g) for g in graphs]
    for mode in (PLAIN_NATIVE, NATIVE):
        # One call of the compiler for all graphs; what the functions below need is then there.
        compile_graphs(graphs, [[i.var for i in some] for some in items], mode)
    wrong = []
    for graph, some in zip(graphs, items):
        bad = misfits(graph)
        outputs = [[i.var for i in some]]
        plain, native_plain, python, fast = (
            [outcome(f, graph.inputs, m) for m in bad]
            for f in (compile_graphs([graph], outputs, mode) for mode in (PLAIN, PLAIN_NATIVE, PYTHON, NATIVE))
        )
        visible = None
        for m, a, b, c, d in zip(bad, plain, native_plain, python, fast, strict=True):
            problems = {"native without rewrites": unlike(graph, some, b, a), "native with rewrites": unlike(graph, some, d, c)}
            if not isinstance(a, Exception):
                problems["rewritten"] = unlike(graph, some, c, a)
            elif not isinstance(c, Exception):
                visible = visible or compile_graphs([graph], outputs, PLAIN_BUT_FOR)
                if not isinstance(outcome(visible, graph.inputs, m), Exception):
                    problems["rewritten"] = f"no {type(a).__name__}: {str(a).splitlines()[0]}"
            text = "".join(f"\n# {where}: {p}" for where, p in problems.items() if p)
            if text:
                wrong.append(f"{graph.program()}\n# {m.text}{text}")
    return wrong


def check_failed_updates(seeds: Sequence[int], mode: Any) -> tuple[list[str], int]:
    """Return reports on graphs whose shared variables a failed call has changed, and how many calls failed."""
    wrong, failed = [], 0
    for made in (updating(graph, mode) for graph in map(build, seeds)):
        if made is None:
            continue
        for m in misfits(made.graph):
            updated = m.item.name in made.updates
            if updated:
                made.updates[m.item.name][2].set_value(m.value)
            before = {name: variable.get_value() for name, (_, _, variable) in made.updates.items()}
            values = [i.value for i in made.inputs]
            found = attempt(made.function, values) if updated else outcome(made.function, made.inputs, m)
            if isinstance(found, Exception):
                failed += 1
                for name, (_, step, variable) in made.updates.items():
                    if not np.array_equal(variable.get_value(), before[name], equal_nan=before[name].dtype.kind in "fc"):
                        wrong.append(f"{made.graph.program()}\n# {m.text}; {name} -> {step.name} changed although the call "
                                     f"failed: {found}")  # fmt: skip
            made.reset()
    return wrong, failed

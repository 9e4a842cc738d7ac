"""Compiling many graphs as one function, comparing with NumPy, and naming the graph and the step that are wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

import theano
import theano.tensor as T

from .graphs import GRADIENTS, Graph, Item, build, native, w


def outputs_of(graph: Graph) -> list[Item]:
    """Return the items that are computed: the leaves, and up to two of those that others use."""
    leaves = graph.leaves()
    inner = [i for i in graph.steps() if i not in leaves]
    return leaves + random.Random(graph.seed).sample(inner, min(2, len(inner)))


def difference(item: Item, got: Any) -> str | None:
    """Return what is wrong with a result, None if nothing is."""
    got = np.asarray(got)
    if got.dtype != item.dtype or got.shape != item.shape:
        return f"{got.dtype} {got.shape} where {item.dtype} {item.shape} is right"
    if item.exact and item.kind in "iub":
        if np.array_equal(got, native(item.value)):
            return None
    elif not item.value.size or np.all(np.abs(w(got) - w(item.value)) <= item.tolerance()):
        return None
    return f"{got!r}\nwhere this is right: {item.value!r}\nwithin {item.tolerance()}"


def compile_graphs(graphs: Sequence[Graph], outputs: Sequence[Sequence[Any]], mode: Any, **kwargs: Any) -> Any:
    inputs = [i.var for g in graphs for i in g.inputs]
    flat = [o for some in outputs for o in some]
    with theano.config.change_flags(on_opt_error="raise"):
        return theano.function(inputs, flat, mode=mode, on_unused_input="ignore", **kwargs)


def problems_of(graphs: Sequence[Graph], items: Sequence[Sequence[Item]], mode: Any) -> list[str]:
    """Compute items of graphs as one function, twice, and return what is wrong with the results.

    The second call has the same inputs as plain arrays: results must depend neither on strides nor on what the first
    call left in memory.
    """
    function = compile_graphs(graphs, [[i.var for i in some] for some in items], mode)
    values = [i.value for g in graphs for i in g.inputs]
    kept = [v.copy() for v in values]
    wanted = [i for some in items for i in some]
    problems = []
    with np.errstate(all="ignore"):
        first = function(*values)
        for item, got in zip(wanted, first):
            problem = difference(item, got)
            if problem:
                problems.append(f"{item.name}: {problem}")
        if any(not np.array_equal(a, b) for a, b in zip(values, kept)):
            problems.append("an input was changed by the call")
        plain = [np.array(native(v), order="C") for v in values]
        again = function(*plain)
    for item, got, before in zip(wanted, again, first):
        if difference(item, got):
            problems.append(f"{item.name} of contiguous inputs: {difference(item, got)}")
        if difference(item, before) and not problems:
            problems.append(f"{item.name} changed when the function was called again")
    return problems


def report(graph: Graph, mode: Any) -> str:
    """Return the smallest part of a graph that is wrong in a mode, as a program, and what is wrong."""
    for item in [*graph.steps(), None]:
        some = [item] if item is not None else outputs_of(graph)
        try:
            problems = problems_of([graph], [some], mode)
        except Exception as error:
            problems = [f"{type(error).__name__}: {error}"]
        if problems:
            return graph.program(some) + "\n# " + "\n".join(problems)
    return f"seed {graph.seed}: wrong only together with other graphs"


def check_values(seeds: Sequence[int], mode: Any, graphs: Sequence[Graph] | None = None) -> list[str]:
    """Return reports on the graphs of these seeds whose values are not NumPy's in a mode."""
    graphs = [g for g in graphs or [build(s) for s in seeds] if g.steps()]
    if not graphs:
        return []
    try:
        if not problems_of(graphs, [outputs_of(g) for g in graphs], mode):
            return []
    except Exception:
        if len(graphs) == 1:
            return [report(graphs[0], mode)]
    if len(graphs) == 1:
        return [report(graphs[0], mode)]
    reports = [r for g in graphs for r in check_values((), mode, [g])]
    return reports or [f"seeds {[g.seed for g in graphs]}: wrong only together"]


def check_shapes(graphs: Sequence[Graph], mode: Any) -> list[str]:
    """Return reports on the graphs whose inferred shapes are wrong."""
    items = [[i for i in outputs_of(g) if i.ndim] for g in graphs]
    function = compile_graphs(graphs, [[T.shape(i.var) for i in some] for some in items], mode)
    shapes = function(*[i.value for g in graphs for i in g.inputs])
    wrong = []
    flat = [(g, i) for g, some in zip(graphs, items) for i in some]
    for (graph, item), got in zip(flat, shapes):
        if tuple(int(n) for n in got) != item.shape:
            wrong.append(f"{graph.program([item])}\n# shape {got} of {item.name}, {item.shape} is right")
    return wrong


@dataclass
class Updating:
    """A function of a graph that also updates shared variables; inputs that are updated become shared variables too."""

    graph: Graph
    function: Any
    inputs: list[Item]
    outputs: list[Item]
    #: From each item that is updated to the step that it becomes, and the variable that holds it.
    updates: dict[str, tuple[Item, Item, Any]]

    def reset(self) -> None:
        """Give all variables the values that the graph was built with."""
        for item, _, variable in self.updates.values():
            variable.set_value(np.array(native(item.value)))


def updating(graph: Graph, mode: Any) -> Updating | None:
    """Compile a graph so that inputs and shared variables become steps of their type; None if nothing fits."""
    updates: dict[str, tuple[Item, Item, Any]] = {}
    taken: set[str] = set()
    for item in (i for i in graph.items if i.name[0] in "sx" and i.rule == "input"):
        fits = [s for s in graph.steps() if s.var.type == item.var.type and s.shape == item.shape and s.name not in taken]
        if fits:
            variable = item.var
            if item.name[0] == "x":
                variable = theano.shared(np.array(native(item.value)), broadcastable=item.broadcastable)
            updates[item.name] = item, fits[-1], variable
            taken.add(fits[-1].name)
    if not updates:
        return None
    inputs = [i for i in graph.inputs if i.name not in updates]
    outputs = outputs_of(graph)
    with theano.config.change_flags(on_opt_error="raise"):
        function = theano.function(
            [i.var for i in inputs], [i.var for i in outputs], mode=mode, on_unused_input="ignore",
            givens=[(item.var, variable) for item, _, variable in updates.values() if item.name[0] == "x"],
            updates=[(variable, step.var) for _, step, variable in updates.values()],
        )  # fmt: skip
    return Updating(graph, function, inputs, outputs, updates)


def check_updates(seeds: Sequence[int], mode: Any) -> list[str]:
    """Return reports on graphs whose shared variables, updated by steps of their type, do not get NumPy's values.

    All steps use the values that the variables had before the call.
    """
    wrong = []
    for made in (updating(graph, mode) for graph in map(build, seeds)):
        if made is None:
            continue
        with np.errstate(all="ignore"):
            results = made.function(*[i.value for i in made.inputs])
        problems = [f"{o.name}: {d}" for o, r in zip(made.outputs, results) if (d := difference(o, r))]
        for item, step, variable in made.updates.values():
            problem = difference(step, variable.get_value())
            if problem:
                problems.append(f"{item.name}, which becomes {step.name}: {problem}")
        made.reset()
        if problems:
            text = ", ".join(f"{name} -> {step.name}" for name, (_, step, _) in made.updates.items())
            wrong.append(made.graph.program() + f"\n# updates {text}\n# " + "\n# ".join(problems))
    return wrong


class Slope:
    """The derivative of a graph's weighted sum of outputs in a direction, symbolically and by finite differences."""

    def __init__(self, seed: int) -> None:
        self.graph = build(seed, GRADIENTS)
        graph = self.graph
        numbers = np.random.default_rng(seed + 1)
        self.outputs = [i for i in outputs_of(graph) if i.dtype == "float64"]
        self.weights = [numbers.normal(size=i.shape) for i in self.outputs]
        needed = {i.name for i in graph.ancestors(self.outputs)}
        self.wrt = [i for i in graph.items if i.name[0] in "xs" and i.dtype == "float64" and i.name in needed]
        self.directions = [numbers.normal(size=i.shape) for i in self.wrt]

    def usable(self) -> bool:
        return bool(self.outputs and self.wrt)

    def symbolic_cost(self) -> Any:
        return sum(T.sum(i.var * T.constant(weights)) for i, weights in zip(self.outputs, self.weights))

    @cached_property
    def gradients(self) -> list[Any]:
        return T.grad(self.symbolic_cost(), [i.var for i in self.wrt], disconnected_inputs="ignore")

    def forward(self) -> Any:
        """Return the derivative in the direction as the R-operator gives it."""
        points = [T.patternbroadcast(T.constant(d), i.broadcastable) for i, d in zip(self.wrt, self.directions)]
        return T.as_tensor_variable(T.Rop(self.symbolic_cost(), [i.var for i in self.wrt], points))

    def cost(self, t: float) -> float:
        values = {i.name: native(i.value) + t * d for i, d in zip(self.wrt, self.directions)}
        known = self.graph.evaluate(values)
        return sum(float(np.sum(w(known[i.name]) * weights)) for i, weights in zip(self.outputs, self.weights))

    @cached_property
    def measured(self) -> tuple[float, float] | None:
        """Return the derivative and how far it may be off; None where there is none."""
        try:
            coarse, fine = ((self.cost(h) - self.cost(-h)) / (2 * h) for h in (2e-4, 1e-4))
            right = (self.cost(1e-4) - self.cost(0.0)) / 1e-4
            left = (self.cost(0.0) - self.cost(-1e-4)) / 1e-4
        except (ValueError, IndexError):
            # The shape of a result depends on the values.
            return None
        if not np.isfinite([coarse, fine, right, left]).all():
            return None
        value = (4 * fine - coarse) / 3
        scale = abs(value) + 1e-3 * max(1.0, abs(self.cost(0.0)))
        if abs(fine - coarse) > 1e-3 * scale or abs(right - left) > 0.05 * scale:
            # A kink or a jump is near.
            return None
        return value, 1e-4 * scale + abs(fine - coarse)

    def has_root_of_zero(self) -> bool:
        """Return whether a norm or deviation is 0: its derivative, which is infinite, times no change is not a number."""
        roots = [i for i in self.graph.steps() if "norm(" in i.symbolic or "std(" in i.symbolic]
        return any(not np.all(i.value) for i in roots)

    def problem(self, gradients: Sequence[np.ndarray]) -> str | None:
        """Return what is wrong with the values of the gradients."""
        for i, g in zip(self.wrt, gradients):
            if g.shape != i.shape or g.dtype != "float64":
                return f"the gradient for {i.name} is {g.dtype} {g.shape}\n{self.graph.program()}"
        measured = self.measured
        if measured is None:
            return None
        got = sum(float(np.sum(g * d)) for g, d in zip(gradients, self.directions))
        if abs(got - measured[0]) <= measured[1]:
            return None
        names = [i.name for i in self.outputs]
        return f"{self.graph.program(self.outputs)}\n# the sum of {names} has the slope {measured[0]}, the gradients give {got}"


@lru_cache(maxsize=64)
def slope_of(seed: int) -> Slope:
    return Slope(seed)


def evaluated(slopes: Sequence[Slope], wanted: Sequence[Sequence[Any]], mode: Any, check: Callable[[Slope, list], str | None]
              ) -> list[str]:  # fmt: skip
    """Compile what is wanted of each slope as one function, and return what `check` says of the values.

    If the function fails each slope gets one of its own, and the report names the failing ones.
    """
    if not slopes:
        return []
    try:
        function = compile_graphs([s.graph for s in slopes], wanted, mode)
        with np.errstate(all="ignore"):
            values = function(*[i.value for s in slopes for i in s.graph.inputs])
    except Exception as error:
        if len(slopes) == 1:
            return [f"{slopes[0].graph.program()}\n# {type(error).__name__}: {error}"]
        return [r for s, some in zip(slopes, wanted) for r in evaluated([s], [some], mode, check)]
    reports = []
    for slope, some in zip(slopes, wanted):
        part, values = values[: len(some)], values[len(some) :]
        problem = check(slope, part)
        if problem:
            reports.append(problem)
    return reports


def check_gradients(seeds: Sequence[int], mode: Any) -> tuple[list[str], int]:
    """Return reports on the graphs of these seeds whose gradients are wrong, and how many had a derivative."""
    slopes = [s for s in map(slope_of, seeds) if s.usable()]
    compared = sum(s.measured is not None for s in slopes)
    return evaluated(slopes, [s.gradients for s in slopes], mode, Slope.problem), compared


def check_forward(seeds: Sequence[int], mode: Any) -> list[str]:
    """Return reports on the graphs of these seeds whose R-operator is wrong."""
    slopes, wanted = [], []
    for slope in map(slope_of, seeds):
        if not slope.usable() or slope.measured is None:
            continue
        try:
            wanted.append([slope.forward()])
        except theano.gradient.DisconnectedInputError:
            # All that an input is used for are shapes and integers.
            continue
        slopes.append(slope)

    def problem_of_slope(slope: Slope, values: list) -> str | None:
        value, error = slope.measured
        if np.isnan(values[0]) and slope.has_root_of_zero():
            return None
        if abs(float(values[0]) - value) <= error:
            return None
        return f"{slope.graph.program(slope.outputs)}\n# slope {value}, the R-operator gives {values[0]}"

    return evaluated(slopes, wanted, mode, problem_of_slope)

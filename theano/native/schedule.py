"""In which order a program runs its nodes, and which of them it may skip.

Two things are decided here, on top of a topological order that respects who destroys what:

* *lazy regions*: a node that only one branch of an `IfElse` needs runs inside that branch;
* *the tail*: nodes that destroy persistent memory (a shared variable's value), and all that depends on them, run
  last, so that whatever may fail has failed before anything is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from theano.gof.graph import Apply, Variable
from theano.ifelse import IfElse


class Region(NamedTuple):
    """A branch of an `IfElse` node: `branch` is 0 for the first one; the top region has no node."""

    node: Apply | None
    branch: int


TOP = Region(None, 0)


class Schedule(NamedTuple):
    """What to run.

    Parameters
    ----------
    regions
        Nodes of each region in running order; those of `TOP` are the program.
    tail
        Nodes of `TOP` from the first one that destroys persistent memory on; a suffix of ``regions[TOP]``.
    destroyed_inputs
        Inputs of the graph whose memory some node overwrites.
    """

    regions: dict[Region, list[Apply]]
    tail: list[Apply]
    destroyed_inputs: list[Variable]


def memory_root(variable: Variable) -> Variable:
    """Follow views and in-place results back to the variable whose memory this is."""
    while variable.owner is not None:
        op, position = variable.owner.op, variable.owner.outputs.index(variable)
        source = getattr(op, "view_map", None) or {}
        source = source.get(position) or (getattr(op, "destroy_map", None) or {}).get(position)
        if not source:
            break
        variable = variable.owner.inputs[source[0]]
    return variable


def destroyed_roots(order: Iterable[Apply]) -> dict[Variable, list[Apply]]:
    """Who overwrites the memory of which root variable."""
    found: dict[Variable, list[Apply]] = {}
    for node in order:
        for positions in (getattr(node.op, "destroy_map", None) or {}).values():
            for position in positions:
                found.setdefault(memory_root(node.inputs[position]), []).append(node)
    return found


def is_lazy(node: Apply) -> bool:
    """Whether a node chooses what runs."""
    return isinstance(node.op, IfElse)


def arrange(inputs: Sequence[Variable], outputs: Sequence[Variable], order: Sequence[Apply]) -> Schedule:
    """Lay out a topological order of a graph.

    Parameters
    ----------
    inputs, outputs
        Of the graph.
    order
        All its nodes; a node that reads memory comes before the one that overwrites it.
    """
    roots = destroyed_roots(order)
    regions = _lazy_regions(outputs, order, roots) if any(map(is_lazy, order)) else {TOP: list(order)}
    destroyed = [v for v in inputs if v in roots]
    if not destroyed:
        return Schedule(regions, [], [])

    late: set[Apply] = {node for v in destroyed for node in roots[v]}
    for region, nodes in regions.items():
        if region.node is not None and not late.isdisjoint(nodes):
            late.add(region.node)
    head, tail = [], []
    for node in regions[TOP]:
        if node in late or any(v.owner in late for v in node.inputs if v.owner is not None):
            late.add(node)
            tail.append(node)
        else:
            head.append(node)
    regions[TOP] = head + tail
    return Schedule(regions, tail, destroyed)


def _lazy_regions(
    outputs: Sequence[Variable], order: Sequence[Apply], roots: dict[Variable, list[Apply]]
) -> dict[Region, list[Apply]]:
    """Put each node into the innermost branch that holds all its uses."""
    region_of: dict[Apply, Region] = {}
    uses: dict[Apply, Region] = {v.owner: TOP for v in outputs if v.owner is not None}
    depth: dict[Region, int] = {TOP: 0}

    def parent(region: Region) -> Region:
        return TOP if region.node is None else region_of[region.node]

    def meet(a: Region, b: Region) -> Region:
        while a != b:
            if depth[a] >= depth[b]:
                a = parent(a)
            else:
                b = parent(b)
        return a

    for node in reversed(order):
        region = uses.get(node, TOP)
        if region != TOP and _touches_destroyed(node, roots):
            region = TOP
        region_of[node] = region
        n_outputs = len(node.outputs)
        for position, variable in enumerate(node.inputs):
            if variable.owner is None:
                continue
            use = region
            if is_lazy(node) and position >= 1:
                use = Region(node, 0 if position <= n_outputs else 1)
                depth[use] = depth[region] + 1
            known = uses.get(variable.owner)
            uses[variable.owner] = use if known is None else meet(known, use)

    regions: dict[Region, list[Apply]] = {TOP: []}
    for node in order:
        regions.setdefault(region_of[node], []).append(node)
    return regions


def _touches_destroyed(node: Apply, roots: dict[Variable, list[Apply]]) -> bool:
    """Whether moving a node could change what it reads or who reads what it writes."""
    if getattr(node.op, "destroy_map", None):
        return True
    return bool(roots) and any(memory_root(v) in roots for v in node.inputs)

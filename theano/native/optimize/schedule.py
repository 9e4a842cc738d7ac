"""In which order a program runs its nodes, and which of them it may skip.

Two things are decided here, on top of a topological order that respects who destroys what:

* *lazy regions*: a node that only one branch of an `IfElse` needs runs inside that branch;
* *the tail*: nodes that destroy persistent memory (a shared variable's value), and all that depends on them, run
  last, so that whatever may fail has failed before anything is overwritten. What can be put back need not wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theano.gof.branches import TOP, Region, is_lazy, lazy_regions
from theano.gof.graph import Apply, Variable
from theano.gof.record import Record


class Schedule(Record):
    """What to run.

    Parameters
    ----------
    regions
        Nodes of each region in running order; those of `TOP` are the program.
    tail
        Nodes of `TOP` that destroy persistent memory or depend on such; the last ones of ``regions[TOP]``.
    destroyed_inputs
        Inputs of the graph whose memory some node overwrites.
    root_of
        For each variable that shares memory with an earlier one, the first variable with that memory.
    """

    regions: dict[Region, list[Apply]]
    tail: set[Apply]
    destroyed_inputs: list[Variable]
    root_of: dict[Variable, Variable]


def memory_roots(order: Iterable[Apply]) -> dict[Variable, Variable]:
    """Follow views and in-place results back to the variable whose memory they are.

    What may be a view of several variables makes their memory one.
    """
    root_of: dict[Variable, Variable] = {}

    def root(v: Variable) -> Variable:
        while v in root_of:
            v = root_of[v]
        return v

    for node in order:
        for sharing in (getattr(node.op, "view_map", None), getattr(node.op, "destroy_map", None)):
            for out, sources in (sharing or {}).items():
                if sources:
                    first, *others = dict.fromkeys(root(v) for v in (*(node.inputs[i] for i in sources), node.outputs[out]))
                    root_of.update(dict.fromkeys(others, first))
    return {v: root(v) for v in root_of}


def destroyed_inputs(node: Apply) -> list[Variable]:
    """The inputs of a node that it overwrites."""
    return [node.inputs[p] for positions in (getattr(node.op, "destroy_map", None) or {}).values() for p in positions]


def destroyed_roots(order: Iterable[Apply], root_of: dict[Variable, Variable]) -> dict[Variable, list[Apply]]:
    """Who overwrites the memory of which root variable."""
    found: dict[Variable, list[Apply]] = {}
    for node in order:
        for source in destroyed_inputs(node):
            found.setdefault(root_of.get(source, source), []).append(node)
    return found


def can_be_restored(variable: Variable) -> bool:
    """Whether the Type of an object says how the state that it had is put back (a random number generator's does)."""
    return hasattr(variable.type, "set_state")


def arrange(inputs: Sequence[Variable], outputs: Sequence[Variable], order: Sequence[Apply]) -> Schedule:
    """Lay out a topological order of a graph.

    Parameters
    ----------
    inputs, outputs
        Of the graph.
    order
        All its nodes; a node that reads memory comes before the one that overwrites it.
    """
    root_of = memory_roots(order)
    roots = destroyed_roots(order, root_of)
    regions = {TOP: list(order)}
    if any(map(is_lazy, order)):
        lazy = lazy_regions(outputs, order)
        if _keeps_memory_order(lazy, order, root_of, roots):
            regions = lazy
        else:
            # What reads or overwrites memory that is overwritten.
            touched = {n for n in order if any(root_of.get(v, v) in roots for v in (*n.inputs, *n.outputs))}
            regions = lazy_regions(outputs, order, touched)
    destroyed = [v for v in inputs if root_of.get(v, v) in roots]
    if not destroyed:
        return Schedule(regions, set(), [], root_of)

    host_of = _hosts(regions, order)
    parts: dict[Apply, list[Apply]] = {}
    for node in order:
        parts.setdefault(host_of[node], []).append(node)
    overwrites: dict[Apply, list[Variable]] = {}
    for root, destroyers in roots.items():
        for node in destroyers:
            overwrites.setdefault(host_of[node], []).append(root)

    lasting = [v for v in destroyed if not can_be_restored(v)]
    late: set[Apply] = {host_of[node] for v in lasting for node in roots[root_of.get(v, v)]}
    used_late: set[Variable] = set()
    for node in regions[TOP]:
        needed = [v for part in parts[node] for v in part.inputs]
        if (
            node in late
            or any(v.owner is not None and host_of[v.owner] in late for v in needed)
            # What a late node reads may not be overwritten before the tail.
            or not used_late.isdisjoint(overwrites.get(node, ()))
        ):
            late.add(node)
            used_late.update(root_of.get(v, v) for v in needed)
    regions[TOP].sort(key=late.__contains__)
    return Schedule(regions, late, destroyed, root_of)


def _hosts(regions: dict[Region, list[Apply]], order: Sequence[Apply]) -> dict[Apply, Apply]:
    """The node of the top region within which each node runs."""
    region_of = {node: region for region, nodes in regions.items() for node in nodes}
    host_of: dict[Apply, Apply] = {}
    for node in reversed(order):  # a node that chooses comes after those of its branches
        chooser = region_of[node].node
        host_of[node] = node if chooser is None else host_of[chooser]
    return host_of


def _running_order(regions: dict[Region, list[Apply]]) -> dict[Apply, int]:
    """Position of each node when branches are laid out before the node that chooses between them."""
    position: dict[Apply, int] = {}
    todo: list[tuple[Apply, bool]] = [(n, False) for n in reversed(regions[TOP])]
    while todo:
        node, laid_out = todo.pop()
        if laid_out or not is_lazy(node):
            position[node] = len(position)
            continue
        todo.append((node, True))
        for branch in (1, 0):
            todo.extend((n, False) for n in reversed(regions.get(Region(node, branch), [])))
    return position


def _keeps_memory_order(regions: dict[Region, list[Apply]], order: Sequence[Apply], root_of: dict[Variable, Variable],
                        roots: dict[Variable, list[Apply]]) -> bool:
    """Whether all that use memory still stand on the same side of those that overwrite it.

    What runs under opposite conditions does not matter.
    """
    if not roots:
        return True
    before = {node: i for i, node in enumerate(order)}
    after = _running_order(regions)
    region_of = {node: region for region, nodes in regions.items() for node in nodes}

    def never_both(a: Apply, b: Apply) -> bool:
        choices: dict[Variable, int] = {}
        for node in (a, b):
            region = region_of[node]
            while region.node is not None:
                if choices.setdefault(region.node.inputs[0], region.branch) != region.branch:
                    return True
                region = region_of[region.node]
        return False

    for node in order:
        for variable in node.inputs:
            for destroyer in roots.get(root_of.get(variable, variable), ()):
                if (before[node] < before[destroyer]) != (after[node] < after[destroyer]) and not never_both(node, destroyer):
                    return False
    return True

"""Which nodes only one branch of a lazy conditional needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from theano.gof.graph import Apply, Variable


class Region(NamedTuple):
    """A branch of an `IfElse` node: `branch` is 0 for the first one; the top region has no node."""

    node: Apply | None
    branch: int


TOP = Region(None, 0)


def is_lazy(node: Apply) -> bool:
    """Whether a node chooses what runs."""
    return getattr(node.op, "chooses_branch", False)


def lazy_regions(
    outputs: Sequence[Variable], order: Sequence[Apply], eager: Collection[Apply] = ()
) -> dict[Region, list[Apply]]:
    """Put each node, but those of `eager`, into the innermost branch that holds all its uses.

    The branches of several nodes on one condition count as one: the first of them computes what all of them need.
    """
    rank = {node: i for i, node in enumerate(order)}
    region_of: dict[Apply, Region] = {}
    uses: dict[Apply, Region] = {v.owner: TOP for v in outputs if v.owner is not None}
    depth: dict[Region, int] = {TOP: 0}

    def parent(region: Region) -> Region:
        return TOP if region.node is None else region_of[region.node]

    def meet(a: Region, b: Region) -> Region:
        while a != b:
            if (
                a.node is not None
                and b.node is not None
                and a.branch == b.branch
                and a.node.inputs[0] is b.node.inputs[0]
                and parent(a) == parent(b)
            ):
                return min(a, b, key=lambda region: rank[region.node])
            if depth[a] >= depth[b]:
                a = parent(a)
            else:
                b = parent(b)
        return a

    for node in reversed(order):
        region = uses.get(node, TOP)
        if node in eager:
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

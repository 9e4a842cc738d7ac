"""Pairs of nodes that a lowering of their own makes one kernel, as a cross-entropy of a softmax and its gradient.

What the second node reads besides the results of the first one has to be there when the first one runs: nodes between the two
that give it are moved before them, where that changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from theano.gof.graph import Apply, Variable
from theano.native.optimize.schedule import Schedule, destroyed_inputs
from theano.native.program import ProgramBuilder, find_lowering, has_general_lowering
from theano.native.target.base import Target


class Pair(NamedTuple):
    """Two nodes that become one kernel, which runs where the first one stands.

    Parameters
    ----------
    first, second
        Of what the first one gives, the second is the only reader of all that the kernel does not give, and needs nothing that
        it does.
    emit
        Appends the instructions of both.
    """

    first: Apply
    second: Apply
    emit: Callable[[ProgramBuilder], None]

    @property
    def members(self) -> tuple[Apply, Apply]:
        """The nodes, in their order."""
        return self.first, self.second

    @property
    def reads(self) -> list[Variable]:
        """What is there before either of them runs."""
        return [*self.first.inputs, *(v for v in self.second.inputs if v.owner is not self.first)]


#: By an Op class what finds the pair whose second node is one of it, or None where there is none.
pair_rules: dict[type, Callable[[Apply], Pair | None]] = {}


def find_pairs(schedule: Schedule, target: Target) -> dict[Apply, Pair]:
    """Find the pairs of a schedule, and let the second node of each follow the first one.

    Returns
    -------
    dict
        The pair of each of its two nodes.
    """
    found: dict[Apply, Pair] = {}
    tail = schedule.tail
    for op in {type(node.op): node.op for nodes in schedule.regions.values() for node in nodes}.values():
        find_lowering(op)  # brings the rules of its family
    for nodes in schedule.regions.values():
        position: dict[Apply, int] = {}
        for node in list(nodes):
            rule = pair_rules.get(type(node.op))
            pair = rule(node) if rule is not None else None
            general = pair is not None and all(has_general_lowering(member, target.name) for member in pair.members)
            if not general or pair.first in found or (pair.first in tail) != (node in tail):
                continue
            position = position or {n: i for i, n in enumerate(nodes)}
            if _bring_together(pair, nodes, position, schedule.root_of):
                found[pair.first] = found[pair.second] = pair
    return found


def _bring_together(pair: Pair, nodes: list[Apply], position: dict[Apply, int], root_of: dict[Variable, Variable]) -> bool:
    """Let the second node of a pair follow the first one in `nodes`; False, and nothing moved, where that is not possible."""
    start, end = position.get(pair.first), position[pair.second]
    if start is None or start > end:
        return False
    needed = {v.owner for v in pair.second.inputs}
    moved: list[Apply] = []
    stay: list[Apply] = []
    for node in reversed(nodes[start + 1 : end]):
        if node not in needed:
            stay.append(node)
            continue
        owners = {v.owner for v in node.inputs if v.owner is not None}
        # What a node of another region needs is not looked at: a branch, say, that reads what the first node gives.
        if pair.first in owners or destroyed_inputs(node) or any(owner not in position for owner in owners):
            return False
        moved.append(node)
        needed |= owners
    read = {root_of.get(v, v) for node in (*moved, pair.second) for v in node.inputs}
    if any(root_of.get(v, v) in read for node in stay for v in destroyed_inputs(node)):
        return False
    order = [*reversed(moved), pair.first, pair.second, *reversed(stay)]
    nodes[start : end + 1] = order
    position.update((node, start + i) for i, node in enumerate(order))
    return True

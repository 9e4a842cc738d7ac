"""How much memory the results of a graph's nodes take at one time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

#: States that the search for the best order may look at.
_MAX_STATES = 20000


def kind_of_output(node: Any, index: int) -> str:
    """Return 'i' for an output computed in place, 'v' for a view, 'c' for new memory."""
    if (getattr(node.op, "destroy_map", None) or {}).get(index):
        return "i"
    if (getattr(node.op, "view_map", None) or {}).get(index):
        return "v"
    return "c"


class MemoryUse:
    """The blocks of memory that the nodes of a graph allocate, and who uses them.

    A block belongs to the output that allocates it; views of it and what is computed in place over it use it too.  It
    is free once all nodes that use it ran, unless it holds a result of the graph.

    Parameters
    ----------
    order : sequence of Apply
        The nodes, in an order in which they can run.
    sizes_of : callable
        Returns for a node the bytes of each of its outputs.
    outputs : sequence of Variable
        The results of the graph: their blocks stay.
    """

    def __init__(self, order: Sequence[Any], sizes_of: Callable[[Any], Sequence[int]], outputs: Sequence[Any] = ()):
        self.order = list(order)
        root: dict[Any, Any] = {}
        self.size: dict[Any, int] = {}
        #: For each node the blocks that it allocates, and those that it uses.
        self.allocated: list[list[Any]] = []
        self.used: list[set[Any]] = []
        #: For each block which nodes use it.
        self.users: dict[Any, set[int]] = {}
        for i, node in enumerate(self.order):
            blocks = {root[v] for v in node.inputs if v in root}
            self.used.append(blocks)
            self.allocated.append([])
            for index, (v, size) in enumerate(zip(node.outputs, sizes_of(node))):
                sources = [
                    k
                    for maps in ("view_map", "destroy_map")
                    for k in (getattr(node.op, maps, None) or {}).get(index, ())
                ]
                if not sources:
                    root[v] = v
                    self.size[v] = size
                    self.users[v] = {i}
                    self.allocated[i].append(v)
                elif node.inputs[sources[0]] in root:
                    root[v] = root[node.inputs[sources[0]]]
            for block in blocks:
                self.users[block].add(i)
        self.root = root
        self.forever = {root[v] for v in outputs if v in root}

    def total(self) -> int:
        """Return the bytes of all blocks: the peak if none is freed."""
        return sum(self.size.values())

    def _step(self, i: int, done: int, live: int) -> tuple[int, int]:
        """Return the memory while node `i` runs, and after it, given what ran and what was live before."""
        during = live + sum(self.size[block] for block in self.allocated[i])
        now = done | 1 << i
        freed = 0
        for block in (*self.used[i], *self.allocated[i]):
            if block not in self.forever and all(now >> j & 1 for j in self.users[block]):
                freed += self.size[block]
        return during, during - freed

    def peak(self) -> int:
        """Return the most bytes at one time if blocks are freed, in the given order."""
        ends: list[int] = [0] * len(self.order)
        for block, users in self.users.items():
            if block not in self.forever:
                ends[max(users)] += self.size[block]
        live = highest = 0
        for allocated, freed in zip(self.allocated, ends):
            live += sum(self.size[block] for block in allocated)
            highest = max(highest, live)
            live -= freed
        return highest

    def _needs(self) -> list[int]:
        """Return for each node the set of nodes that run before it, as bits."""
        position = {node: i for i, node in enumerate(self.order)}
        result = []
        for i, node in enumerate(self.order):
            needed = {position[v.owner] for v in node.inputs if v.owner in position}
            # What overwrites a block runs after all others that use it.
            for positions in (getattr(node.op, "destroy_map", None) or {}).values():
                for k in positions:
                    needed.update(j for j in self.users.get(self.root.get(node.inputs[k]), ()) if j < i)
            result.append(sum(1 << j for j in needed))
        return result

    def least_peak(self) -> tuple[int, bool]:
        """Return the least peak of all orders in which the nodes can run, and whether it is known to be the least.

        The search goes from states with a low peak to others; a node that takes no more memory than it frees is run as
        soon as it can be, which is never worse than later.
        """
        n = len(self.order)
        everything = (1 << n) - 1
        needs = self._needs()
        queue: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)]
        best: dict[int, int] = {0: 0}
        looked_at = 0
        while queue:
            highest, _, done, live = heapq.heappop(queue)
            if best.get(done, highest) < highest:
                continue
            looked_at += 1
            if looked_at > _MAX_STATES:
                break
            ready = True
            while ready:
                ready = False
                for i in range(n):
                    if done >> i & 1 or needs[i] & ~done:
                        continue
                    during, after = self._step(i, done, live)
                    if during <= highest and after <= live:
                        done, live, ready = done | 1 << i, after, True
            if done == everything:
                return highest, True
            for i in range(n):
                if done >> i & 1 or needs[i] & ~done:
                    continue
                during, after = self._step(i, done, live)
                new, peak = done | 1 << i, max(highest, during)
                if peak < best.get(new, peak + 1):
                    best[new] = peak
                    heapq.heappush(queue, (peak, -new.bit_count(), new, after))
        return self.peak(), False

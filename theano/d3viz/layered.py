"""Positions of the nodes of a graph, computed here: for machines without graphviz.

The nodes get ranks, so that all edges point downwards; an edge that passes ranks gets a point in each of them. The order
in a rank is that of the mean places of the neighbors in the next ranks, which leaves few crossings; the positions are the
least squares solution that respects the order. [1]_

.. [1] K. Sugiyama, S. Tagawa and M. Toda, Methods for visual understanding of hierarchical system structures,
   IEEE Transactions on Systems, Man, and Cybernetics 11 (1981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["arrange", "total_length"]

_GAP = 18.0
_RANK_GAP = 32.0
#: Two parallel edges are this far apart in the middle.
_SPREAD = 14.0
_SWEEPS = 8
#: An edge over more ranks than this is drawn without regard to what lies between.
_LONGEST = 40
#: How strongly edges pull at their ends: between two nodes, a node and a point of an edge, two points of an edge.
_PULL = (1.0, 2.0, 8.0)

Point = tuple[float, float]


def arrange(
    sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]]
) -> tuple[dict[str, Point], list[list[Point]]]:
    """Return positions of nodes, and the ways of edges.

    Parameters
    ----------
    sizes : mapping
        Width and height of each node.
    edges : sequence of (str, str)
        From which node to which; there are no cycles.

    Returns
    -------
    positions : dict
        The middle of each node; y grows downwards.
    paths : list of list of points
        For each edge the control points of its Bézier curves: a first point, and three for each curve.

    Examples
    --------
    >>> positions, paths = arrange({'a': (40, 30), 'b': (40, 30)}, [('a', 'b')])
    >>> positions['a'][1] < positions['b'][1], len(paths[0])
    (True, 4)
    """
    if not sizes:
        return {}, []
    drawing = _Drawing(sizes, edges)
    drawing.sort()
    return drawing.place()


def total_length(sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]]) -> int:
    """Return over how many ranks the edges go, all together: what makes a graph hard to draw.

    Examples
    --------
    >>> total_length({'a': (1, 1), 'b': (1, 1), 'c': (1, 1)}, [('a', 'b'), ('b', 'c'), ('a', 'c')])
    4
    """
    number = {name: i for i, name in enumerate(sizes)}
    numbered = [(number[a], number[b]) for a, b in edges]
    rank = _ranks(len(sizes), numbered)
    return sum(rank[b] - rank[a] for a, b in numbered)


def _ranks(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    children: list[list[int]] = [[] for _ in range(n)]
    waiting = [0] * n
    for a, b in edges:
        children[a].append(b)
        waiting[b] += 1
    rank = [0] * n
    ready = [i for i in range(n) if not waiting[i]]
    sources = list(ready)
    while ready:
        i = ready.pop()
        for child in children[i]:
            rank[child] = max(rank[child], rank[i] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    # An input stands right above its first use.
    for i in sources:
        if children[i]:
            rank[i] = min(rank[child] for child in children[i]) - 1
    return rank


class _Drawing:
    # Nodes and points of edges are numbered: the nodes first.
    def __init__(self, sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]]):
        self.names = list(sizes)
        number = {name: i for i, name in enumerate(self.names)}
        self.n = len(self.names)
        self.sizes = [sizes[name] for name in self.names]
        self.edges = [(number[a], number[b]) for a, b in edges]
        self.rank = _ranks(self.n, self.edges)
        self.above: list[list[int]] = [[] for _ in self.names]
        self.below: list[list[int]] = [[] for _ in self.names]
        #: The nodes and points along each edge; parallel edges share them.
        self.routes: dict[tuple[int, int], list[int]] = {}
        for a, b in self.edges:
            if (a, b) not in self.routes:
                self.routes[a, b] = self._route(a, b)
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank) + 1)]

    def _route(self, a: int, b: int) -> list[int]:
        route = [a]
        if self.rank[b] - self.rank[a] <= _LONGEST:
            for r in range(self.rank[a] + 1, self.rank[b]):
                self.rank.append(r)
                self.sizes.append((1.0, 0.0))
                self.above.append([])
                self.below.append([])
                route.append(len(self.rank) - 1)
            route.append(b)
            for upper, lower in zip(route, route[1:]):
                self.below[upper].append(lower)
                self.above[lower].append(upper)
        else:
            route.append(b)
        return route

    def sort(self) -> None:
        """Order each layer."""
        # What hangs together starts beside each other: in the order of a walk through the graph.
        seen = [False] * len(self.rank)
        for start in range(self.n):
            pending = [start]
            while pending:
                i = pending.pop()
                if not seen[i]:
                    seen[i] = True
                    self.layers[self.rank[i]].append(i)
                    pending += self.below[i][::-1] + self.above[i][::-1]
        place = [0.0] * len(self.rank)
        for layer in self.layers:
            for k, i in enumerate(layer):
                place[i] = k
        best, fewest = [list(layer) for layer in self.layers], self._crossings(place)
        for sweep in range(_SWEEPS):
            neighbors = self.above if sweep % 2 == 0 else self.below
            for layer in self.layers if sweep % 2 == 0 else reversed(self.layers):
                means = {i: sum(place[j] for j in neighbors[i]) / len(neighbors[i]) for i in layer if neighbors[i]}
                layer.sort(key=lambda i: means.get(i, place[i]))
                for k, i in enumerate(layer):
                    place[i] = k
            crossings = self._crossings(place)
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
            if not fewest:
                break
        self.layers = best

    def _crossings(self, place: Sequence[float]) -> int:
        """Return how many pairs of edges between neighboring layers cross: inversions, counted by a tree of sums."""
        total = 0
        for upper, lower in zip(self.layers, self.layers[1:]):
            ends = []
            for i in sorted(upper, key=place.__getitem__):
                ends += sorted(int(place[j]) for j in self.below[i])
            counts = [0] * (len(lower) + 1)
            for done, end in enumerate(ends):
                k, smaller_or_equal = end + 1, 0
                while k:
                    smaller_or_equal += counts[k]
                    k &= k - 1
                total += done - smaller_or_equal
                k = end + 1
                while k <= len(lower):
                    counts[k] += 1
                    k += k & -k
        return total

    def place(self) -> tuple[dict[str, Point], list[list[Point]]]:
        """Return positions and ways."""
        x = [0.0] * len(self.rank)
        for layer in self.layers:
            left = 0.0
            for i in layer:
                x[i] = left + self.sizes[i][0] / 2
                left += self.sizes[i][0] + _GAP
            for i in layer:
                x[i] -= left / 2
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            for layer in self.layers if down else reversed(self.layers):
                self._settle(layer, x, self.above if down else self.below, self.below if down else self.above)
        tops, y = 0.0, [0.0] * len(self.rank)
        for layer in self.layers:
            height = max((self.sizes[i][1] for i in layer), default=0.0)
            for i in layer:
                y[i] = tops + height / 2
            tops += height + _RANK_GAP
        points = list(zip(x, y))
        parallel: dict[tuple[int, int], int] = {}
        for edge in self.edges:
            parallel[edge] = parallel.get(edge, 0) + 1
        drawn: dict[tuple[int, int], int] = {}
        paths = []
        for edge in self.edges:
            k = drawn[edge] = drawn.get(edge, -1) + 1
            paths.append(self._path(self.routes[edge], points, (k - (parallel[edge] - 1) / 2) * _SPREAD))
        return dict(zip(self.names, points)), paths

    def _settle(self, layer: list[int], x: list[float], near: list[list[int]], far: list[list[int]]) -> None:
        """Move a layer's nodes as near as their order allows to the means of their neighbors."""
        # Without the room that each node needs, the order is that the positions do not fall: isotonic regression.
        offsets, offset = [], 0.0
        for k, i in enumerate(layer):
            if k:
                offset += (self.sizes[layer[k - 1]][0] + self.sizes[i][0]) / 2 + _GAP
            offsets.append(offset)
        blocks: list[list[float]] = []  # the mean, its weight, and the number of nodes
        for i, start in zip(layer, offsets):
            around = near[i] or far[i]
            weights = [_PULL[(i >= self.n) + (j >= self.n)] for j in around]
            weight = sum(weights) if near[i] else 0.1
            wish = sum(w * x[j] for w, j in zip(weights, around)) / sum(weights) if around else x[i]
            blocks.append([wish - start, weight, 1])
            while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
                mean, weight, count = blocks.pop()
                last = blocks[-1]
                last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight)
                last[1] += weight
                last[2] += count
        k = 0
        for mean, _, count in blocks:
            for _ in range(int(count)):
                x[layer[k]] = mean + offsets[k]
                k += 1

    def _path(self, route: list[int], points: list[Point], aside: float) -> list[Point]:
        stops = [points[i] for i in route]
        stops[0] = stops[0][0], stops[0][1] + self.sizes[route[0]][1] / 2
        stops[-1] = stops[-1][0], stops[-1][1] - self.sizes[route[-1]][1] / 2
        path = [stops[0]]
        for (x0, y0), (x1, y1) in zip(stops, stops[1:]):
            bend = (y1 - y0) / 2
            path += [(x0 + aside, y0 + bend), (x1 + aside, y1 - bend), (x1, y1)]
        return path

"""Positions of the nodes of a graph by the optional package igraph: where graphviz is missing, or takes too long.

SciPy's linear programs give the nodes ranks with the shortest edges, igraph orders the nodes of each rank and places
them, [1]_ and as igraph knows no widths, SciPy's isotonic regression moves what would overlap, in that order.

.. [1] K. Sugiyama, S. Tagawa and M. Toda, Methods for visual understanding of hierarchical system structures,
   IEEE Transactions on Systems, Man, and Cybernetics 11 (1981).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_GAP = 18.0
_RANK_GAP = 32.0
#: Two parallel edges are this far apart.
_SPREAD = 14.0
#: How wide igraph's columns are, where there is room.
_COLUMN = 30.0
#: How much more a point of an edge resists being moved than a node: long edges are to be straight.
_STIFFNESS = 4.0
#: An edge over more ranks than this is drawn without regard to what lies between: it has a point in each rank that it
#: passes, and edges from one input to all nodes of a deep graph would have millions.
_LONGEST = 40

Point = tuple[float, float]


def load_igraph() -> Any:
    """Return the module igraph, or raise ImportError."""
    import igraph

    return igraph


def find_ranks(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return ranks so that all edges go to higher ones, over as few as possible, all together.

    Parameters
    ----------
    names : sequence of str
        The nodes.
    edges : sequence of (str, str)
        From which node to which; there are no cycles.

    Returns
    -------
    dict
        The first rank is 0.  Of several ranks that are as good, a node has the last.

    Examples
    --------
    >>> find_ranks(['a', 'b', 'c', 'd'], [('a', 'b'), ('b', 'c'), ('d', 'c')])
    {'a': 0, 'b': 1, 'c': 2, 'd': 1}
    """
    rank = dict.fromkeys(names, 0)
    if not edges:
        return rank
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    number = {name: i for i, name in enumerate(names)}
    ends = np.array(sorted({(number[a], number[b]) for a, b in edges}))
    m, n = len(ends), len(names)
    rows, ones = np.arange(m), np.ones(m)
    below = coo_array((np.r_[ones, -ones], (np.r_[rows, rows], np.r_[ends[:, 0], ends[:, 1]])), shape=(m, n))
    # To move all nodes down by one rank is worth half of what an edge that is longer by one costs.
    cost = np.bincount(ends[:, 1], minlength=n) - np.bincount(ends[:, 0], minlength=n) - 0.5 / n
    solved = linprog(cost, A_ub=below.tocsr(), b_ub=-ones, bounds=(0, n), method="highs-ds")
    if solved.status:
        raise RuntimeError(f"The nodes of the graph got no ranks: {solved.message}")
    found = np.rint(solved.x).astype(int)
    linked = np.unique(ends)
    first = found[linked].min()
    rank.update((names[i], int(found[i] - first)) for i in linked)
    return rank


def arrange(
    sizes: Mapping[str, tuple[float, float]],
    edges: Sequence[tuple[str, str]],
    rank: Mapping[str, int] | None = None,
) -> tuple[dict[str, Point], list[list[Point]]]:
    """Return positions of nodes, and the ways of edges.

    Parameters
    ----------
    sizes : mapping
        Width and height of each node.
    edges : sequence of (str, str)
        From which node to which; there are no cycles.
    rank : mapping, optional
        What :func:`find_ranks` returns.

    Returns
    -------
    positions : dict
        The middle of each node; y grows downwards.
    paths : list of list of points
        For each edge the control points of its Bézier curves: a first point, and three for each curve.

    Raises
    ------
    ImportError
        igraph is not installed.

    Examples
    --------
    >>> positions, paths = arrange({'a': (40, 30), 'b': (40, 30)}, [('a', 'b')])
    >>> positions['a'][1] < positions['b'][1], len(paths[0])
    (True, 4)
    """
    if not sizes:
        return {}, []
    igraph = load_igraph()
    if rank is None:
        rank = find_ranks(list(sizes), edges)
    # Nodes come first, then the points that edges have in the ranks they pass.
    number = {name: i for i, name in enumerate(sizes)}
    ranks = [rank[name] for name in sizes]
    widths = [width for width, _ in sizes.values()]
    parallel = Counter(edges)
    routes: dict[tuple[str, str], list[int]] = {}
    links: list[tuple[int, int]] = []
    for (a, b), count in parallel.items():
        passed = range(rank[a] + 1, rank[b])
        if len(passed) >= _LONGEST:
            routes[a, b] = []
            continue
        route = routes[a, b] = list(range(len(ranks), len(ranks) + len(passed)))
        ranks += passed
        widths += [(count - 1) * _SPREAD] * len(route)
        links += zip([number[a], *route], [*route, number[b]])
    # With the points among its nodes, no edge passes a rank, so igraph adds none of its own.
    drawn = igraph.Graph(n=len(ranks), edges=links, directed=True).layout_sugiyama(layers=ranks)
    weights = [1.0] * len(sizes) + [_STIFFNESS] * (len(ranks) - len(sizes))
    x = _with_room(np.array(drawn.coords)[:, 0] * _COLUMN, ranks, widths, weights).tolist()

    heights = [0.0] * (max(ranks) + 1)
    for name, (_, height) in sizes.items():
        heights[rank[name]] = max(heights[rank[name]], height)
    y = (np.cumsum(heights) - np.array(heights) / 2 + _RANK_GAP * np.arange(len(heights))).tolist()

    def path(a: str, b: str, aside: float) -> list[Point]:
        # An edge goes straight down where the boxes of a rank are, and bends between the ranks.
        stops = [(x[number[a]], y[rank[a]] + sizes[a][1] / 2)]
        for i in routes[a, b]:
            half = heights[ranks[i]] / 2
            stops += [(x[i] + aside, y[ranks[i]] - half), (x[i] + aside, y[ranks[i]] + half)]
        stops.append((x[number[b]], y[rank[b]] - sizes[b][1] / 2))
        points = stops[:1]
        for k, ((x0, y0), (x1, y1)) in enumerate(zip(stops, stops[1:])):
            first, last = aside * (k == 0), aside * (k == len(stops) - 2)
            points += [(x0 + first, (y0 + y1) / 2), (x1 + last, (y0 + y1) / 2), (x1, y1)]
        return points

    drawn_already: Counter[tuple[str, str]] = Counter()
    paths = []
    for ends in edges:
        paths.append(path(*ends, (drawn_already[ends] - (parallel[ends] - 1) / 2) * _SPREAD))
        drawn_already[ends] += 1
    return {name: (x[i], y[rank[name]]) for name, i in number.items()}, paths


def _with_room(x: np.ndarray, ranks: Sequence[int], widths: Sequence[float], weights: Sequence[float]) -> np.ndarray:
    """Return the places nearest to `x` so that nothing in a rank overlaps."""
    from scipy.optimize import isotonic_regression

    width, weight = np.array(widths), np.array(weights)
    rank = np.array(ranks)
    order = np.lexsort((x, rank))
    result = x.copy()
    for row in np.split(order, np.flatnonzero(np.diff(rank[order])) + 1):
        # Without the room that each needs, the order is that the places do not fall.
        room = np.r_[0.0, np.cumsum((width[row][1:] + width[row][:-1]) / 2 + _GAP)]
        if len(row) > 1:
            result[row] = isotonic_regression(x[row] - room, weights=weight[row]).x + room
    return result

"""Orders of nodes: sorting by partial orders, and comparisons that make them."""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from theano.gof.graph import io_toposort


def memodict(f: Callable) -> Callable:
    """Return a function of one argument that asks `f` once for each value.

    Parameters
    ----------
    f : callable
        A function of one argument that can be hashed.

    Examples
    --------
    >>> @memodict
    ... def square(x):
    ...     print("computing")
    ...     return x * x
    >>> square(3) + square(3)
    computing
    18
    """
    return functools.cache(f)


def make_depends() -> Callable:
    """Return a function of two nodes that says whether the first needs the second.

    Examples
    --------
    >>> import theano.tensor as T
    >>> y = T.sin(T.scalar("x"))
    >>> z = T.exp(y)
    >>> needs = make_depends()
    >>> needs((z.owner, y.owner)), needs((y.owner, z.owner))
    (True, False)
    """

    @functools.cache
    def inputs_of(node: Any) -> frozenset:
        return frozenset(v.owner for v in node.inputs if v.owner is not None)

    def depends(pair: tuple) -> bool:
        a, b = pair
        if a is b:
            return False
        stack, seen = [a], set()
        while stack:
            for before in inputs_of(stack.pop()):
                if before is b:
                    return True
                if before not in seen:
                    seen.add(before)
                    stack.append(before)
        return False

    return depends


def make_dependence_cmp() -> Callable:
    """Return a comparison of two nodes: 1 if the first needs the second, -1 if the other way round, else 0.

    Examples
    --------
    >>> import theano.tensor as T
    >>> y = T.sin(T.scalar("x"))
    >>> z = T.exp(y)
    >>> compare = make_dependence_cmp()
    >>> compare(y.owner, z.owner), compare(z.owner, y.owner), compare(y.owner, T.cos(y).owner)
    (-1, 1, -1)
    """
    depends = make_depends()

    def dependence(a: Any, b: Any) -> int:
        if depends((a, b)):
            return 1
        if depends((b, a)):
            return -1
        return 0

    return dependence


def reverse_dict(d: dict) -> dict:
    """Turn a dictionary of iterables round.

    Parameters
    ----------
    d : dict
        Iterables by key.

    Returns
    -------
    dict
        For each element the tuple of the keys that it is found at.

    Examples
    --------
    >>> reverse_dict({"a": (1, 2), "b": (2, 3)})
    {1: ('a',), 2: ('a', 'b'), 3: ('b',)}
    """
    result: dict = {}
    for key, values in d.items():
        for value in values:
            result[value] = result.get(value, ()) + (key,)
    return result


def _toposort(edges: dict) -> list:
    """Sort what depends on each other by Kahn's algorithm, in time linear in the number of edges.

    Parameters
    ----------
    edges : dict
        For each element those that come after it.

    Returns
    -------
    list

    Raises
    ------
    ValueError
        If there is a cycle.

    Examples
    --------
    >>> _toposort({1: {2, 3}, 2: (3,)})
    [1, 2, 3]
    """
    waiting = {after: set(before) for after, before in reverse_dict(edges).items()}
    ready = deque(element for element in edges if element not in waiting)
    order = []
    while ready:
        element = ready.popleft()
        order.append(element)
        for after in edges.get(element, ()):
            waiting[after].discard(element)
            if not waiting[after]:
                ready.append(after)
    if any(waiting.values()):
        raise ValueError("Input has cycles")
    return order


def posort(l: Iterable, *cmps: Callable) -> list:
    """Sort by several comparisons that each leave some pairs open; what an earlier one says counts before a later one.

    Parameters
    ----------
    l : iterable
        What is sorted.
    *cmps : callable
        Each takes two elements and returns a negative number, 0 or a positive number.

    Returns
    -------
    list
        The same elements, sorted.

    Examples
    --------
    >>> lower_tens = lambda a, b: a // 10 - b // 10
    >>> prefer_evens = lambda a, b: a % 2 - b % 2
    >>> posort(list(range(20)), lower_tens, prefer_evens)
    [0, 2, 4, 6, 8, 1, 3, 5, 7, 9, 10, 12, 14, 16, 18, 11, 13, 15, 17, 19]
    """
    items = list(l)
    before: dict[int, set] = defaultdict(set)
    after: dict[int, set] = defaultdict(set)

    def add(i: int, j: int) -> None:
        # i comes before j, and so does all that is before i before all that is after j.
        firsts, lasts = before[i] | {i}, after[j] | {j}
        for a in firsts:
            after[a] |= lasts
        for b in lasts:
            before[b] |= firsts

    for compare in cmps:
        for i, a in enumerate(items):
            for j in range(i + 1, len(items)):
                result = compare(a, items[j])
                if result < 0 and j not in before[i]:
                    add(i, j)
                elif result > 0 and j not in after[i]:
                    add(j, i)
    waiting = {i: len(before[i]) for i in range(len(items))}
    ready = [i for i in waiting if not waiting[i]]
    order = []
    for i in ready:
        order.append(items[i])
        for j in sorted(after[i]):
            waiting[j] -= 1
            if not waiting[j]:
                ready.append(j)
    return order


def sort_apply_nodes(inputs: Any, outputs: Any, cmps: Iterable[Callable]) -> list:
    """Return the nodes between inputs and outputs in an order that respects the comparisons.

    Only what they say counts: `make_dependence_cmp` gives the one for the order of the graph.

    Parameters
    ----------
    inputs : list of Variable
        Where the graph begins.
    outputs : list of Variable
        Where it ends.
    cmps : iterable of callable
        As for `posort`.

    Returns
    -------
    list of Apply

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> by_name = key_to_cmp(lambda node: str(node.op))
    >>> outs = [T.sin(x), T.cos(x), T.exp(T.cos(x))]
    >>> nodes = sort_apply_nodes([x], outs, [make_dependence_cmp(), by_name])
    >>> [node.op.scalar_op.name for node in nodes]
    ['cos', 'cos', 'exp', 'sin']
    """
    return posort(io_toposort(inputs, outputs), *cmps)


def sort_schedule_fn(*cmps: Callable) -> Callable:
    """Return a scheduler for linkers: it takes a FunctionGraph and returns its nodes in order.

    Parameters
    ----------
    *cmps : callable
        As for `posort`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.scalar("x")
    >>> schedule = sort_schedule_fn(key_to_cmp(lambda node: str(node.op)))
    >>> print(*schedule(FunctionGraph([x], [T.sin(x), T.cos(x)])), sep=", ")
    Elemwise{cos,no_inplace}(x), Elemwise{sin,no_inplace}(x)
    """

    def schedule(fgraph: Any) -> list:
        return sort_apply_nodes(fgraph.inputs, fgraph.outputs, (make_dependence_cmp(), *cmps))

    return schedule


def key_to_cmp(key: Callable) -> Callable:
    """Return the comparison that compares the values of `key`.

    Parameters
    ----------
    key : callable
        A function of one argument, as for ``list.sort``.

    Examples
    --------
    >>> by_length = key_to_cmp(len)
    >>> by_length("sin", "arccos"), by_length("sin", "cos")
    (-1, 0)
    """

    def key_cmp(a: Any, b: Any) -> int:
        ka, kb = key(a), key(b)
        return (ka > kb) - (ka < kb)

    return key_cmp


def overlap_transfers(order: Sequence[Any], also_before: Mapping[Any, Sequence[Any]] | None = None) -> list:
    """Move what starts transfers as early, and what waits for them as late as the graph allows.

    An Op says what it does by its attribute `transfer`, ``"start"`` or ``"wait"``, and by `transfer_rank`, a number: of
    those that could run, that of the lowest runs first. Whatever needs no wait so runs before the first wait, and of
    that first what a start needs.

    Parameters
    ----------
    order : sequence of Apply
        All nodes of a graph, in an order in which they may run; those without a reason to move keep it.
    also_before : mapping, optional
        For a node those that must run before it, although it takes nothing from them.

    Returns
    -------
    list of Apply
        All nodes that were given, in the new order.

    Notes
    -----
    A list scheduling by priority, in O((V + E) log V). Transfers of which all processes must start the same ones in the
    same order have the same `transfer_chain`: they are started by the number of such starts that they need one after
    the other, and among equals by rank. That depends on the graph alone, not on the order in which its nodes come, and so no
    process waits for a transfer that another one starts only after a wait.

    Examples
    --------
    >>> import theano
    >>> class Step(theano.Op):
    ...     __props__ = ("label", "transfer")
    ...     def __init__(self, label, transfer=None):
    ...         self.label, self.transfer = label, transfer
    ...     def make_node(self, x):
    ...         return theano.Apply(self, [x], [x.type()])
    >>> x = theano.tensor.vector("x")
    >>> sent = Step("send", "start")(x)
    >>> got = Step("receive", "wait")(sent)
    >>> own = Step("compute")(x)
    >>> [node.op.label for node in overlap_transfers([sent.owner, got.owner, own.owner])]
    ['send', 'compute', 'receive']
    """
    kinds = [getattr(node.op, "transfer", None) for node in order]
    if not any(kinds):
        return list(order)
    position = {node: i for i, node in enumerate(order)}
    before: list[set[int]] = []
    for node in order:
        needed = {position[v.owner] for v in node.inputs if v.owner is not None}
        needed.update(position[other] for other in (also_before or {}).get(node, ()) if other in position)
        before.append(needed)
    _chain_starts(order, before)
    after: list[list[int]] = [[] for _ in order]
    for i, needed in enumerate(before):
        for j in needed:
            after[j].append(i)

    nobody = (float("inf"), 0)
    # The first of the starts that need a node, what a node is taken for before its place in the order.
    feeds: list[tuple[float, int]] = [nobody] * len(order)
    for i in reversed(_ranked(before, after)):
        if kinds[i] == "start":
            feeds[i] = min(feeds[i], (order[i].op.transfer_rank, i))
        for j in before[i]:
            feeds[j] = min(feeds[j], feeds[i])

    def priority(i: int) -> tuple:
        if kinds[i] == "wait":
            return 3, feeds[i], order[i].op.transfer_rank, i
        if kinds[i] == "start":
            return 0, feeds[i], 0, i
        return (2 if feeds[i] == nobody else 1), feeds[i], 0, i

    waiting = [len(needed) for needed in before]
    ready = [priority(i) for i, n in enumerate(waiting) if not n]
    heapify(ready)
    result = []
    while ready:
        i = heappop(ready)[-1]
        result.append(order[i])
        for j in after[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heappush(ready, priority(j))
    return result


def _chain_starts(order: Sequence[Any], before: list[set[int]]) -> None:
    """Put the starts of each chain behind each other: ``before[i]`` are the places of the nodes that the node `i` needs."""
    chains = defaultdict(list)
    for i, node in enumerate(order):
        if getattr(node.op, "transfer", None) == "start" and node.op.transfer_chain is not None:
            chains[node.op.transfer_chain].append(i)
    if not chains:
        return
    members = {i for chain in chains.values() for i in chain}
    # By the depth among the starts of all chains, so that no two chains together make a circle.
    depth = [0] * len(order)
    for i, needed in enumerate(before):
        depth[i] = max((depth[j] for j in needed), default=0) + (i in members)
    for chain in chains.values():
        chain.sort(key=lambda i: (depth[i], order[i].op.transfer_rank, i))
        for first, second in zip(chain, chain[1:]):
            before[second].add(first)


def _ranked(before: Sequence[set[int]], after: Sequence[Sequence[int]]) -> list[int]:
    """Return numbers in an order where each comes after those before it (Kahn's algorithm)."""
    waiting = [len(needed) for needed in before]
    result = [i for i, n in enumerate(waiting) if not n]
    for i in result:
        for j in after[i]:
            waiting[j] -= 1
            if not waiting[j]:
                result.append(j)
    return result

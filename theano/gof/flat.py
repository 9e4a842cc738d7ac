"""Pickling and deep copying of graphs without recursion over their depth.

The pickle protocol saves an object by saving what it refers to, one level of recursion for each.  So that a graph's
depth does not matter, the first node that is met brings along all its ancestors in two rounds: first each is made
empty, then each gets its contents, which refer to nothing but what is there already.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

# What belongs to the FunctionGraph a node is in, or can be made again, is not part of a node.
_TRANSIENT = ("clients", "fgraph", "deps", "_fn_cache", "_flat_fill")

_local = threading.local()


def nodes_before(starts: list) -> list:
    """Return the Apply nodes that compute the inputs of `starts`, and `starts`, each after those it needs."""
    order: list = []
    seen: set = set()
    stack = [(node, iter(node.inputs)) for node in reversed(starts)]
    while stack:
        node, rest = stack[-1]
        if node in seen:
            stack.pop()
            continue
        for var in rest:
            owner = var.owner
            if owner is not None and owner not in seen:
                stack.append((owner, iter(owner.inputs)))
                break
        else:
            stack.pop()
            seen.add(node)
            order.append(node)
    return order


def variable_state(var: Any) -> dict:
    """Return the contents of a variable."""
    state = dict(var.__dict__)
    for key in _TRANSIENT:
        state.pop(key, None)
    return state


def apply_state(node: Any) -> dict:
    """Return the contents of a node, with the contents of its outputs in place of the outputs."""
    state = variable_state(node)
    outputs = []
    for out in state.pop("outputs"):
        contents = out.__getstate__()
        if isinstance(contents, dict):
            contents.pop("owner", None)
            contents.pop("index", None)
        outputs.append(contents)
    state["__outputs__"] = outputs
    return state


def set_apply_state(node: Any, state: Any) -> None:
    """Give a node the contents that `apply_state` returned."""
    if isinstance(state, list):
        # The nodes that came along; this one is among them.
        return
    state = dict(state)
    for out, contents in zip(node.outputs, state.pop("__outputs__"), strict=True):
        set_variable_state(out, contents)
    node.__dict__.update(state)


def set_variable_state(var: Any, state: Any) -> None:
    """Give a variable its contents."""
    setter = getattr(var, "__setstate__", None)
    if setter is not None:
        setter(state)
    else:
        var.__dict__.update(state)


def new_variable(cls: Any) -> Any:
    """Make an empty variable."""
    return cls.__new__(cls)


def new_apply(cls: Any, output_classes: tuple) -> Any:
    """Make a node without contents, and its outputs likewise."""
    node = cls.__new__(cls)
    outputs = []
    for i, output_class in enumerate(output_classes):
        out = output_class.__new__(output_class)
        out.owner = node
        out.index = i
        outputs.append(out)
    node.outputs = outputs
    return node


def output_of(node: Any, index: int) -> Any:
    """Return an output of a node."""
    return node.outputs[index]


def fill(node: Any, state: dict) -> None:
    """Give a node that `new_apply` made its contents."""
    set_apply_state(node, state)


class _Fill:
    # Pickled, it gives a node its contents.  There is one for each node, so that the pickle's memo knows it again.
    __slots__ = ("node",)

    def __init__(self, node: Any):
        self.node = node

    def __reduce__(self) -> tuple:
        return fill, (self.node, self.node.__getstate__())


class Flat:
    """Pickled, it is a list of all the nodes before some nodes, which come along with it."""

    __slots__ = ("starts",)

    def __init__(self, starts: list):
        self.starts = starts

    def __reduce__(self) -> tuple:
        return list, (), None, self._items()

    def _items(self) -> Iterator:
        nodes = nodes_before(self.starts)
        scheduled = _local.__dict__.setdefault("scheduled", {})
        for node in nodes:
            scheduled[id(node)] = scheduled.get(id(node), 0) + 1
        try:
            yield from nodes
            for node in nodes:
                mark = node.__dict__.get("_flat_fill")
                if mark is None:
                    mark = node.__dict__["_flat_fill"] = _Fill(node)
                yield mark
        finally:
            for node in nodes:
                scheduled[id(node)] -= 1
                if not scheduled[id(node)]:
                    del scheduled[id(node)]


def reduce_apply(node: Any) -> tuple:
    """What `Apply.__reduce_ex__` returns."""
    new = (type(node), tuple(type(out) for out in node.outputs))
    if id(node) in _local.__dict__.get("scheduled", ()):
        return new_apply, new
    return new_apply, new, Flat([node])


def reduce_variable(var: Any) -> tuple:
    """What `Variable.__reduce_ex__` returns."""
    owner = var.owner
    if owner is not None and owner.outputs[var.index] is var:
        return output_of, (owner, var.index)
    return new_variable, (type(var),), var.__getstate__()


def deepcopy_node(start: Any, memo: dict) -> Any:
    """Return a deep copy of a variable or node, with all that it is computed from."""
    is_variable = hasattr(start, "owner")
    if is_variable and (start.owner is None or start.owner.outputs[start.index] is not start):
        new = memo[id(start)] = new_variable(type(start))
        set_variable_state(new, deepcopy(start.__getstate__(), memo))
        return new
    nodes = [n for n in nodes_before([start.owner if is_variable else start]) if id(n) not in memo]
    for node in nodes:
        new = memo[id(node)] = new_apply(type(node), tuple(type(out) for out in node.outputs))
        for out, new_out in zip(node.outputs, new.outputs, strict=True):
            memo[id(out)] = new_out
    for node in nodes:
        set_apply_state(memo[id(node)], deepcopy(node.__getstate__(), memo))
    # The memo knows objects by their addresses: what it was asked for must live as long as it does.
    memo.setdefault(id(memo), []).extend(nodes)
    return memo[id(start)]

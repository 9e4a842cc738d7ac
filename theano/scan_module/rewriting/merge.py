"""Several loops of the same length as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.graph import Apply, Constant, clone, io_toposort
from theano.gof.opt import Optimizer
from theano.scan_module.rewriting.loop import Loop
from theano.scan_module.scan_op import Scan


class ScanMerge(Optimizer):
    """``scan(f, n_steps=n), scan(g, n_steps=n) -> scan(lambda ...: [f(...), g(...)], n_steps=n)``

    For loops with the same number of steps and the same options, none of which depends on another. Loops with a condition
    need the same one, computed from the same sequences and arguments.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.scan_module.scan_op import Scan
    >>> x = T.dscalar("x")
    >>> double, _ = theano.scan(lambda a: 2 * a, outputs_info=x, n_steps=5)
    >>> square, _ = theano.scan(lambda a: a * a, outputs_info=x, n_steps=5)
    >>> fgraph = theano.gof.FunctionGraph([x], [double, square])
    >>> ScanMerge().optimize(fgraph)
    >>> (loop,) = (node for node in fgraph.apply_nodes if isinstance(node.op, Scan))
    >>> len(loop.op.outputs)
    2
    """

    def belongs_to_set(self, node: Apply, set_nodes: Sequence[Apply]) -> bool:
        """Return whether the loop `node` can be one with loops that can be one."""
        key = _key(node)
        return key is not None and all(_key(other) == key and _apart(node, other) for other in set_nodes)

    def apply(self, fgraph: Any) -> None:
        """Merge group by group, until there is no group left."""
        while True:
            groups = _independent(fgraph)
            if not groups:
                return
            fgraph.replace_all_validate(merged(groups[0]), reason="scanOp_merge")


def _independent(fgraph: Any) -> list[list[Apply]]:
    """Groups of loops that can be one."""
    members: dict[Any, list[Apply]] = {}
    for node in fgraph.apply_nodes:
        if isinstance(node.op, Scan):
            key = _key(node)
            if key is not None:
                members.setdefault(key, []).append(node)
    key_of = {node: key for key, nodes in members.items() if len(nodes) > 1 for node in nodes}
    if not key_of:
        return []
    # For each node the loops that it depends on, one bit each.
    bit = {node: 1 << i for i, node in enumerate(key_of)}
    above: dict[Apply, int] = {}
    groups: dict[Any, list[Apply]] = {}
    depth: dict[Apply, int] = {}
    earlier: dict[Any, list[Apply]] = {}
    for node in fgraph.toposort():
        mask = 0
        for v in node.inputs:
            if v.owner is not None:
                mask |= above[v.owner] | bit.get(v.owner, 0)
        above[node] = mask
        if node in key_of:
            same = earlier.setdefault(key_of[node], [])
            # Of the same depth, none depends on another.
            depth[node] = max((depth[other] + 1 for other in same if mask & bit[other]), default=0)
            same.append(node)
            groups.setdefault((key_of[node], depth[node]), []).append(node)
    return [group for group in groups.values() if len(group) > 1]


def _key(node: Apply) -> Any:
    """Equal for loops that can be one; None for a loop that has to stay."""
    op: Any = node.op
    condition = None
    if op.destroy_map:
        return None
    if op.as_while:
        condition = _condition_key(node)
        if condition is None:
            return None
    n_steps = node.inputs[0]
    mode = op.mode if isinstance(op.mode, str) else id(op.mode)
    length = ("constant", int(n_steps.data)) if isinstance(n_steps, Constant) else n_steps
    return length, condition, op.truncate_gradient, mode, bool(op.profile), op.allow_gc


def _condition_key(node: Apply) -> Any:
    """Equal for loops that stop at the same step; None where that depends on a state."""
    loop = Loop(node)
    key_of: dict[Any, Any] = {seq.inner: ("sequence", seq.outer) for seq in loop.seqs}
    key_of |= {arg.inner: ("argument", arg.outer) for arg in loop.args}
    number: dict[Any, int] = {}
    nodes = io_toposort(loop.inner_inputs, [loop.condition])
    for inner in nodes:
        keys = []
        for v in inner.inputs:
            if isinstance(v, Constant):
                keys.append(v.signature() if hasattr(v.type, "dtype") else v)
            elif v in key_of:
                keys.append(key_of[v])
            else:
                return None
        # Each different computation has a number, so that keys stay small.
        place = number.setdefault((inner.op, *keys), len(number))
        key_of.update((out, ("result", place, k)) for k, out in enumerate(inner.outputs))
    known = key_of.get(loop.condition)
    return None if known is None else (known, tuple(number))


def _apart(a: Apply, b: Apply) -> bool:
    """Whether neither of two nodes needs a result of the other."""
    return a not in io_toposort([], b.inputs) and b not in io_toposort([], a.inputs)


def merged(nodes: Sequence[Apply]) -> list[tuple[Any, Any]]:
    """Make one loop of several; returns what takes the place of their outputs."""
    first = Loop(nodes[0])
    for node in nodes[1:]:
        other = Loop(node)
        # Loops may share the variables of their steps.
        inputs, outputs = clone(other.inner_inputs, other.inner_outputs)
        rest = iter(inputs)
        for seq in other.seqs:
            seq.inner = next(rest)
        for state in other.states:
            state.reads = [next(rest) for _ in state.reads]
        for arg in other.args:
            arg.inner = next(rest)
        other.set_inner_outputs(outputs)
        for kind in ("seqs", "mit_mots", "mit_sots", "sit_sots", "shared", "nit_sots", "args"):
            getattr(first, kind).extend(getattr(other, kind))
    first.optimized = False
    names = dict.fromkeys(node.op.name for node in nodes if node.op.name)
    first.name = "&".join(names) or None
    first.build()
    return first.replacements()

"""Several loops of the same length as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.graph import Apply, Constant, clone
from theano.gof.opt import Optimizer
from theano.scan_module.rewriting.loop import Loop
from theano.scan_module.scan_op import Scan

__all__ = ["ScanMerge"]


class ScanMerge(Optimizer):
    """``scan(f, n_steps=n), scan(g, n_steps=n) -> scan(lambda ...: [f(...), g(...)], n_steps=n)``

    For loops with the same number of steps and the same options, none of which depends on another; while loops stay.
    """

    def apply(self, fgraph: Any) -> None:
        """Merge group by group; each looks at the graph once."""
        keys: dict[Any, int] = {}
        for node in fgraph.apply_nodes:
            if isinstance(node.op, Scan):
                key = _key(node)
                if key is not None:
                    keys[key] = keys.get(key, 0) + 1
        for key, count in keys.items():
            if count > 1:
                self._merge(fgraph, key)

    @staticmethod
    def _merge(fgraph: Any, key: Any) -> None:
        depth: dict[Apply, int] = {}
        members: set[Apply] = set()
        groups: dict[int, list[Apply]] = {}
        for node in fgraph.toposort():
            owners = [v.owner for v in node.inputs if v.owner is not None]
            depth[node] = max((depth[o] + (o in members) for o in owners), default=0)
            if isinstance(node.op, Scan) and _key(node) == key:
                members.add(node)
                # Of the same depth, none depends on another.
                groups.setdefault(depth[node], []).append(node)
        for group in groups.values():
            if len(group) > 1:
                fgraph.replace_all_validate(merged(group), reason="scanOp_merge")


def _key(node: Apply) -> Any:
    """Equal for loops that can be one; None for a loop that has to stay."""
    op: Any = node.op
    if op.as_while or op.destroy_map:
        return None
    n_steps = node.inputs[0]
    mode = op.mode if isinstance(op.mode, str) else id(op.mode)
    length = ("constant", int(n_steps.data)) if isinstance(n_steps, Constant) else n_steps
    return length, op.truncate_gradient, mode, bool(op.profile), op.allow_gc


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

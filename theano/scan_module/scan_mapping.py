"""Copies of graphs in which variables are replaced, also inside the graphs that Ops are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano.compile.builders import OpFromGraph
from theano.gof import traverse
from theano.gof.graph import Apply, Constant
from theano.gof.sharedvalue import SharedVariable
from theano.scan_module.scan_op import Scan
from theano.scan_module.scan_utils import clone, safe_new

__all__ = ["map_variables"]


def map_variables(
    replacer: Callable[[Any], Any], graphs: Sequence[Any], additional_inputs: Sequence[Any] | None = None
) -> list[Any]:
    """Return a copy of graphs in which variables are replaced, also inside scans and OpFromGraphs.

    Parameters
    ----------
    replacer : callable
        Gets a variable and returns what takes its place, or the variable itself.
    graphs : list of Variable
        What is copied.
    additional_inputs : list of Variable, optional
        Variables to consider inputs of the graphs; nothing before them is replaced.

    Returns
    -------
    list of Variable

    Raises
    ------
    NotImplementedError
        When a replacement brings a shared variable with an update into an inner graph.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> (z,) = map_variables(lambda v: y if v is x else v, [T.exp(x) + x])
    >>> theano.pp(z)
    '(exp(y) + y)'
    """
    new: dict[Any, Any] = {}
    stop = list(additional_inputs or ())
    for node in traverse.io_toposort(stop, list(graphs)):
        inputs = []
        for v in node.inputs:
            if v not in new:
                new[v] = replacer(v)
            inputs.append(new[v])
        changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
        outputs = _map_inner(replacer, node, inputs)
        if outputs is None:
            outputs = node.clone_with_new_inputs(inputs).outputs if changed else node.outputs
        for old, out in zip(node.outputs, outputs, strict=True):
            chosen = replacer(old)
            new[old] = out if chosen is old else chosen
    return [new[v] if v in new else replacer(v) for v in graphs]


def _map_inner(replacer: Callable[[Any], Any], node: Apply, inputs: list[Any]) -> list[Any] | None:
    """The outputs of a copy of `node` with its inner graph mapped; None if there is none or nothing changed."""
    op: Any = node.op
    if not isinstance(op, Scan | OpFromGraph):
        return None
    inner = map_variables(replacer, op.outputs)
    if all(a is b for a, b in zip(inner, op.outputs, strict=True)):
        return None
    known = set(op.inputs)
    if isinstance(op, OpFromGraph):
        known.update(op.shared_inputs)
    foreign = [v for v in dict.fromkeys(traverse.inputs(inner)) if v not in known and not isinstance(v, Constant)]
    for v in traverse.inputs(inner):
        updated = getattr(v, "update", None) is not None or getattr(v, "default_update", None) is not None
        if isinstance(v, SharedVariable) and updated:
            raise NotImplementedError(f"A replacement puts the shared variable {v}, which has an update, into {op}.")
    stand_ins = [safe_new(v, "_copy") if not isinstance(v, SharedVariable) else v.type() for v in foreign]
    inner = clone(inner, replace=dict(zip(foreign, stand_ins, strict=True)))
    if isinstance(op, Scan):
        new_op: Any = type(op)(op.inputs + stand_ins, inner, op.info)
        return new_op(*inputs, *foreign, return_list=True)
    new_op = type(op)([*op.inputs, *stand_ins], inner, inline=op.is_inline, name=op.name, **op.kwargs)
    return new_op(*inputs[: len(op.inputs)], *foreign, return_list=True)

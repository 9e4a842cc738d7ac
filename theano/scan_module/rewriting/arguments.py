"""What a loop takes and gives: constants move in, what is unused, dead or there twice goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from theano.gof.graph import Apply, Constant, Variable, io_toposort
from theano.gof.opt import local_optimizer
from theano.scan_module.rewriting.loop import Argument, Loop, State
from theano.scan_module.scan_op import Scan
from theano.tensor import basic as T
from theano.tensor.type import TensorType


def _constant_row(loop: Loop, outer: Any) -> Any:
    """What a step sees of a sequence of which all rows are alike, if that is evident."""
    node = outer.owner
    if node is None:
        value = getattr(outer.tag, "unique_value", None) if isinstance(outer, Constant) else None
        if value is None or outer.type.ndim != 1:
            return None
        return T.constant(value, dtype=outer.type.dtype)
    if not isinstance(node.op, T.Alloc):
        return None
    value, dims = node.inputs[0], node.inputs[1:]
    if value.type.ndim == outer.type.ndim:
        if not value.type.broadcastable[0]:
            return None
        if isinstance(value, Constant):
            value = T.constant(value.data.reshape(value.data.shape[1:]))
        else:
            value = value.dimshuffle(*range(1, value.type.ndim))
    inner_dims = [d if isinstance(d, Constant) else loop.add_arg(d) for d in dims[1:]]
    inner_value = value if isinstance(value, Constant) else loop.add_arg(value)
    return T.alloc(inner_value, *inner_dims) if inner_dims else inner_value


@local_optimizer([Scan])
def remove_constants_and_unused_inputs_scan(node: Apply) -> Any:
    """``scan(lambda x, a, b: x * a, x, [2, b]) -> scan(lambda x: x * 2, x)``

    Constants, and rows of sequences that are all the same constant, become constants of the inner graph. Sequences and
    non-sequences that are not read, or are there twice, are dropped.
    """
    if not isinstance(node.op, Scan) or node.op.destroy_map:
        return False
    loop = Loop(node)
    inside: dict[Variable, Any] = {}
    changed = False
    for arg in list(loop.args):
        if isinstance(arg.outer, Constant) and isinstance(arg.outer.type, TensorType):
            inside[arg.inner] = arg.outer.clone()
    for seq in list(loop.seqs):
        row = _constant_row(loop, seq.outer)
        if row is not None and row.type == seq.inner.type:
            inside[seq.inner] = row
    for arguments in (loop.seqs, loop.args):
        first: dict[Any, Argument] = {}
        for argument in arguments:
            if argument.inner in inside:
                continue
            same = first.setdefault(argument.outer, argument)
            if same is not argument:
                if same.inner.type == argument.inner.type:
                    inside[argument.inner] = same.inner
    if inside:
        used = any(v in inside for v in loop.inner_outputs) or any(
            v in inside for inner_node in loop.inner_nodes for v in inner_node.inputs
        )
        loop.substitute(inside)
        if used:
            loop.optimized = False
        changed = True
    changed = loop.forget_unused() or changed
    if not changed:
        return False
    loop.build()
    return dict(loop.replacements())


@local_optimizer([Scan])
def scan_remove_dead_outputs(node: Apply) -> Any:
    """``scan(lambda x, h: [x + 1, h * x], x, [None, h0]) -> scan(lambda x: x + 1, x)`` where only the first is used

    A state goes if nothing outside takes it and no step needs it for anything else.
    """
    if not isinstance(node.op, Scan) or node.op.destroy_map:
        return False
    if all(out.clients for out in node.outputs):
        return False
    loop = Loop(node)
    live = {id(result) for result in loop.results if result.old.clients}
    if not live:
        return False
    while True:
        needed = [] if loop.condition is None else [loop.condition]
        for result in loop.results:
            if id(result) in live:
                needed += result.writes if isinstance(result, State) else [result.inner]
        inputs = loop.inner_inputs
        reached = set(needed)
        for inner_node in io_toposort(inputs, needed):
            reached.update(inner_node.inputs)
        more = {id(s) for s in loop.states if id(s) not in live and not reached.isdisjoint(s.reads)}
        if not more:
            break
        live |= more
    if all(id(result) in live for result in loop.results):
        return False
    dead = {result.old: None for result in loop.results if id(result) not in live}
    for kind in ("mit_mots", "mit_sots", "sit_sots", "shared", "nit_sots"):
        setattr(loop, kind, [result for result in getattr(loop, kind) if id(result) in live])
    loop.forget_unused()
    loop.build()
    return {**dict(loop.replacements()), **dead}


def value_numbers(inputs: Sequence[Variable], outputs: Iterable[Variable], same: dict[Variable, Variable]) -> dict[Variable, Any]:
    """Numbers of variables; those that are computed in the same way from the same inputs share one.

    Parameters
    ----------
    inputs, outputs
        Of the graph.
    same
        From an input to the one that it is taken to be equal to.
    """
    numbers: dict[Variable, Any] = {}
    known: dict[Any, int] = {}

    def leaf(v: Variable) -> int:
        number = numbers.get(v)
        if number is None:
            key = ("constant", v.merge_signature()) if isinstance(v, Constant) else same.get(v, v)
            number = numbers[v] = known.setdefault(key, len(known))
        return number

    for v in inputs:
        leaf(v)
    outputs = list(outputs)
    for node in io_toposort(inputs, outputs):
        key = (node.op, tuple(numbers[v] if v in numbers else leaf(v) for v in node.inputs))
        for i, out in enumerate(node.outputs):
            if out not in numbers:
                numbers[out] = known.setdefault((key, i), len(known))
    for v in outputs:
        leaf(v)
    return numbers


@local_optimizer([Scan])
def scan_merge_inouts(node: Apply) -> Any:
    """``scan(lambda a, b, h, g: [h + a, g + b], [x, x], [z, z]) -> scan(lambda a, h: h + a, x, z)``

    Sequences, non-sequences, states and outputs that are there twice become one. States are the same if they start from
    the same values and do the same, where any of them may take the place of another in that.
    """
    if not isinstance(node.op, Scan) or node.op.destroy_map:
        return False
    loop = Loop(node)
    same: dict[Variable, Variable] = {}
    for arguments in (loop.seqs, loop.args):
        first: dict[Any, Argument] = {}
        for argument in arguments:
            one = first.setdefault((argument.outer, argument.inner.type), argument)
            if one is not argument:
                same[argument.inner] = one.inner
    candidates = [*loop.mit_sots, *loop.sit_sots]
    groups: dict[Any, list[State]] = {}
    for state in candidates:
        groups.setdefault((state.outer, tuple(state.taps)), []).append(state)
    classes = [group for group in groups.values() if len(group) > 1]
    inputs, outputs = loop.inner_inputs, loop.inner_outputs
    if not same and not classes and len({out.inner for out in loop.nit_sots}) == len(loop.nit_sots) < 2:
        return False
    while True:
        joined = dict(same)
        for group in classes:
            for state in group[1:]:
                joined.update(zip(state.reads, group[0].reads, strict=True))
        numbers = value_numbers(inputs, outputs, joined)
        finer: list[list[State]] = []
        for group in classes:
            parts: dict[Any, list[State]] = {}
            for state in group:
                parts.setdefault(numbers[state.writes[0]], []).append(state)
            finer += [part for part in parts.values() if len(part) > 1]
        if sum(map(len, finer)) == sum(map(len, classes)) and len(finer) == len(classes):
            break
        classes = finer
    outer: dict[Any, Any] = {}
    gone: set[int] = set()
    for group in classes:
        for state in group[1:]:
            outer[state.old] = group[0]
            gone.add(id(state))
    kept_outputs: dict[Any, Any] = {}
    for out in loop.nit_sots:
        one = kept_outputs.setdefault((numbers[out.inner], out.length), out)
        if one is not out:
            outer[out.old] = one
            gone.add(id(out))
    if not joined and not gone:
        return False
    loop.mit_sots = [s for s in loop.mit_sots if id(s) not in gone]
    loop.sit_sots = [s for s in loop.sit_sots if id(s) not in gone]
    loop.nit_sots = [o for o in loop.nit_sots if id(o) not in gone]
    loop.substitute(joined)
    loop.forget_unused()
    loop.optimized = False
    loop.build()
    return {**dict(loop.replacements()), **{old: result.new for old, result in outer.items()}}

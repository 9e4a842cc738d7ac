"""Values of one loop that another one, mostly that of its gradient, computes again: kept instead."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Constant, Variable
from theano.gof.opt import Optimizer
from theano.scan_module.rewriting.loop import Loop, Output
from theano.scan_module.rewriting.pushout import CHEAP
from theano.scan_module.rewriting.vectorize import first_slice, has_length, is_reversal, of_one_shape
from theano.scan_module.scan_op import Scan
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.shapes import Shape, Shape_i
from theano.tensor.subtensor import IncSubtensor, Subtensor

# What arranges values, and computes none.
_ARRANGING = (
    DimShuffle,
    IncSubtensor,
    Shape,
    Shape_i,
    Subtensor,
    T.Alloc,
    T.AllocEmpty,
    T.Join,
    T.MakeVector,
    T.ScalarFromTensor,
)


class ScanKeepValues(Optimizer):
    """``scan(f) and scan(g), where g computes what f computed -> scan(f, which also returns it) and scan(g, which takes it)``

    The gradient of a loop is a loop that goes through the same steps backwards, and needs results of these steps that
    are no outputs, such as the gates of an LSTM. They become outputs if computing them takes more than additions and
    multiplications.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y, _ = theano.scan(lambda a: T.sin(T.exp(a)), outputs_info=x, n_steps=5)
    >>> fgraph = theano.gof.FunctionGraph([x], [T.grad(y[-1], x)])
    >>> ScanKeepValues().optimize(fgraph)
    >>> (loop,) = (node for node in fgraph.apply_nodes if getattr(node.op, "name", "") == "scan_fn")
    >>> [theano.pp(v) for v in loop.op.outputs]
    ['sin(exp(x[t-1]))', 'exp(x[t-1])']
    """

    def apply(self, fgraph: Any) -> None:
        """Look at each loop that reads results of another one of the same length."""
        for node in fgraph.toposort():
            if isinstance(node.op, Scan) and node in fgraph.apply_nodes:
                for source in _sources(node):
                    pairs = keep(node, source)
                    if pairs:
                        fgraph.replace_all_validate(pairs, reason="scanOp_keep_values")
                        break


def _base(rows: Any, n_steps: Any) -> tuple[Any, bool]:
    """The array whose rows a sequence consists of, and whether it takes them from the last one on."""
    if is_reversal(rows) and has_length(rows.owner.inputs[0], n_steps):
        return rows.owner.inputs[0], True
    return rows, False


def _sources(node: Apply) -> list[Apply]:
    """The loops of the same length whose results a loop reads."""
    op: Any = node.op
    found: dict[Apply, None] = {}
    for rows in op.outer_seqs(node):
        base, _ = _base(rows, node.inputs[0])
        cut = first_slice(base)
        owner = (cut[1] if cut is not None else base).owner
        if owner is not None and isinstance(owner.op, Scan) and owner is not node:
            if owner.inputs[0] is node.inputs[0] and not owner.op.as_while and not owner.op.destroy_map:
                found[owner] = None
    return list(found) if not op.destroy_map else []


def _rows_of(loop: Loop) -> dict[Any, Any]:
    """Keys of the arrays of which a loop reads or writes a row at each step, with the step's variable."""
    known: dict[Any, Any] = {}
    for seq in loop.seqs:
        known.setdefault(seq.outer, seq.inner)
    for state in (*loop.mit_sots, *loop.sit_sots):
        known[state.old, state.n_initial, 0] = state.writes[0]
        for read, tap in zip(state.reads, state.taps, strict=True):
            known.setdefault((state.old, state.n_initial + tap, tap), read)
    for out in loop.nit_sots:
        if out.length is loop.n_steps:
            known.setdefault(out.old, out.inner)
    return known


def _key(base: Any) -> Any:
    """What stands for an array in the result of `_rows_of`."""
    cut = first_slice(base)
    if cut is None or cut[0].step is not None or not isinstance(cut[1].owner and cut[1].owner.op, Scan):
        return base
    start, stop = cut[0].start or 0, cut[0].stop or 0
    return base if isinstance(start, Variable) or isinstance(stop, Variable) else (cut[1], start, stop)


def _signature(v: Variable) -> Any:
    return ("constant", v.merge_signature()) if isinstance(v, Constant) else v


def _operation(node: Apply, inputs: list[Any]) -> Any:
    if isinstance(node.op, Elemwise) and getattr(node.op.scalar_op, "commutative", False):
        inputs = sorted(inputs, key=hash)
    return node.op, tuple(inputs)


def keep(node: Apply, source: Apply) -> list[tuple[Any, Any]]:
    """Let one loop return what another one would compute again; returns what takes the place of what."""
    loop, first = Loop(node), Loop(source)
    known = _rows_of(first)
    same: dict[Variable, Any] = {}
    backwards: set[bool] = set()
    for seq in loop.seqs:
        base, back = _base(seq.outer, loop.n_steps)
        inner = known.get(_key(base))
        if inner is not None and inner.type == seq.inner.type:
            same[seq.inner] = inner
            backwards.add(back)
    if len(backwards) != 1:
        return []
    (back,) = backwards
    args = {arg.outer: arg.inner for arg in first.args}
    for arg in loop.args:
        if arg.outer in args:
            same[arg.inner] = args[arg.outer]

    table: dict[Any, Apply] = {}
    for done in first.inner_nodes:
        table.setdefault(_operation(done, [_signature(v) for v in done.inputs]), done)
    given = set(same)
    nodes = loop.inner_nodes
    costly: dict[Variable, bool] = {}
    recognized: set[Apply] = set()
    for again in nodes:
        if not all(v in same or isinstance(v, Constant) for v in again.inputs) or not any(v in same for v in again.inputs):
            continue
        twin = table.get(_operation(again, [same[v] if v in same else _signature(v) for v in again.inputs]))
        if twin is None or any(a.type != b.type for a, b in zip(again.outputs, twin.outputs, strict=True)):
            continue
        recognized.add(again)
        cost = _is_costly(again) or any(costly.get(v, False) for v in again.inputs)
        for out, original in zip(again.outputs, twin.outputs, strict=True):
            same[out] = original
            costly[out] = cost
    kept_shape = of_one_shape(first)
    free = set(known.values())
    taken = [v for other in nodes if other not in recognized for v in other.inputs]
    frontier = [
        v
        for v in dict.fromkeys([*taken, *loop.inner_outputs])
        if v in same and v not in given and same[v] in kept_shape and (costly[v] or same[v] in free)
    ]
    frontier = [v for v in frontier if v.owner is not None and hasattr(v.type, "broadcastable")]
    if not frontier:
        return []
    outputs: dict[Variable, Output] = {v: first.add_output(same[v]) for v in frontier}
    first.build()
    replace = {}
    for v, out in outputs.items():
        replace[v] = loop.add_seq(out.new[::-1] if back else out.new)
    loop.substitute(replace)
    loop.forget_unused()
    loop.build()
    return loop.replacements() + first.replacements()


def _is_costly(node: Apply) -> bool:
    op = node.op
    if getattr(op, "view_map", None) or isinstance(op, _ARRANGING):
        return False
    return not (isinstance(op, Elemwise) and isinstance(op.scalar_op, CHEAP))

"""Work that leaves the loop: what is the same at all steps, and what needs no earlier step."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Variable
from theano.gof.opt import LocalOptimizer, copy_stack_trace
from theano.scalar import basic as scalar
from theano.scan_module.rewriting.loop import Loop, State, dependents
from theano.scan_module.rewriting.slices import initial_value, integer_indices, keeps_all, takes_last_only
from theano.scan_module.rewriting.vectorize import Stacked
from theano.scan_module.scan_op import Scan
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from theano.tensor.extra_ops import cumprod, cumsum
from theano.tensor.shapes import Shape, Shape_i
from theano.tensor.subtensor import Subtensor

_NEVER_FAILING = (Elemwise, DimShuffle, CAReduce, T.Dot, T.ScalarFromTensor)
#: Scalar ops that cost no more than reading their result from memory.
CHEAP = (scalar.Add, scalar.Sub, scalar.Mul, scalar.Neg, scalar.Sqr, scalar.Cast, scalar.Identity, scalar.Second)


class ScanOptimizer(LocalOptimizer):
    """A rewrite of Scan nodes that are not in place; subclasses implement `rewrite`."""

    def __str__(self) -> str:
        return type(self).__name__

    def tracks(self) -> list[Any]:
        return [Scan]

    def transform(self, node: Apply) -> Any:
        if not isinstance(node.op, Scan) or node.op.destroy_map:
            return False
        replacements = self.rewrite(Loop(node))
        if isinstance(replacements, dict):
            for old, new in replacements.items():
                if isinstance(new, Variable) and new.tag._trace is None:
                    copy_stack_trace(old, new)
        return replacements

    def rewrite(self, loop: Loop) -> Any:
        """Return what takes the place of what, or False."""
        raise NotImplementedError


class PushOutNonSeqScan(ScanOptimizer):
    """``scan(lambda x, w: x * exp(w), x, w) -> scan(lambda x, e: x * e, x, exp(w))``

    Computation that depends on non-sequences only is done once, before the loop; so are the shapes of sequences and
    states. An output that is the same at all steps needs no loop.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import in2out
    >>> x, w = T.dvector("x"), T.dscalar("w")
    >>> y, _ = theano.scan(lambda a, w: a * T.exp(w), x, non_sequences=w)
    >>> fgraph = theano.gof.FunctionGraph([x, w], [y])
    >>> _ = in2out(PushOutNonSeqScan()).optimize(fgraph)
    >>> loop = fgraph.outputs[0].owner
    >>> theano.pp(loop.op.outputs[0]), theano.pp(loop.inputs[-1])
    ('(x[t] * <TensorType(float64, scalar)>)', 'exp(w)')
    """

    def rewrite(self, loop: Loop) -> Any:
        stacked = Stacked(loop.n_steps)
        for arg in loop.args:
            stacked.same[arg.inner] = arg.outer
        outer_of = {seq.inner: seq.outer for seq in loop.seqs}
        for state in loop.buffers:
            outer_of.update(dict.fromkeys(state.reads, state.outer))
        nodes = loop.inner_nodes
        moved: set[Apply] = set()
        for node in nodes:
            if isinstance(node.op, (Shape_i, Shape)) and node.inputs[0] in outer_of:
                rows = outer_of[node.inputs[0]]
                shape = Shape_i(node.op.i + 1)(rows) if isinstance(node.op, Shape_i) else rows.shape[1:]
                stacked.same[node.outputs[0]] = shape
                moved.add(node)
            elif all(map(stacked.is_constant, node.inputs)) and stacked.apply(node):
                moved.add(node)
        repeated = [
            out
            for out in loop.nit_sots
            if loop.condition is None and out.length is loop.n_steps and hasattr(out.inner.type, "broadcastable")
            and stacked.is_constant(out.inner)
        ]
        if not moved and not repeated:
            return False
        loop.nit_sots = [out for out in loop.nit_sots if out not in repeated]
        kept = [v for node in nodes if node not in moved for v in node.inputs]
        frontier = [v for v in dict.fromkeys([*kept, *loop.inner_outputs]) if v in stacked.same and v.owner in moved]
        if not frontier and not repeated:
            return False
        pairs = []
        for out in repeated:
            value = stacked.constant(out.inner)
            rows = T.alloc(value, loop.n_steps, *(value.shape[i] for i in range(value.type.ndim)))
            pairs.append((out.old, T.patternbroadcast(rows, out.old.type.broadcastable)))
        loop.substitute({v: loop.add_arg(stacked.same[v]) for v in frontier})
        loop.forget_unused()
        if loop.results:
            loop.build()
        return dict(pairs + loop.replacements())


def accumulate(loop: Loop, nodes: list[Apply], stacked: Stacked, all_values: bool) -> list[tuple[Any, Any]]:
    """``scan(lambda x, s: s + x, x, s)[1:] -> s + cumsum(x)``, and the same for products; ``[-1]`` is a sum or
    product, or the extremum where `s` is the greatest or smallest number so far. The first of these only if asked for.

    Removes such states from the loop, makes their values known to `stacked`, and returns what takes their place.
    """
    pairs: list[tuple[Any, Any]] = []
    clients = dependents(nodes)
    for state in list(loop.sit_sots):
        write, read = state.writes[0], state.reads[0]
        node = write.owner
        if node is None or not isinstance(node.op, Elemwise) or node.inputs.count(read) != 1:
            continue
        if not keeps_all(state.outer, 1, loop.n_steps):
            continue
        rest = [v for v in node.inputs if v is not read]
        if len(rest) != 1 or rest[0] not in stacked.rows or rest[0].type != write.type:
            continue
        alone = len(clients.get(read, ())) == 1 and not clients.get(write) and loop.inner_outputs.count(write) == 1
        found = _reduced(state, stacked, rest[0]) if alone and read not in loop.inner_outputs else None
        if found is None and all_values:
            found = _cumulated(state, stacked, rest[0])
        if found is not None:
            loop.sit_sots.remove(state)
            pairs += found
    return pairs


def _padded(start: Any) -> Any:
    return start.dimshuffle("x", *range(start.type.ndim))


def _reduced(state: State, stacked: Stacked, term: Variable) -> list[tuple[Any, Any]] | None:
    """The last value of a state that accumulates `term`, if that is all that is taken."""
    last = takes_last_only(state.old, 1)
    reduction = _REDUCTIONS.get(type(state.writes[0].owner.op.scalar_op))
    if not last or reduction is None:
        return None
    rows = T.join(0, T.unbroadcast(_padded(initial_value(state)), 0), stacked.stacked(term))
    total = reduction(rows, axis=0)
    if total.type.dtype != last[0].type.dtype or total.type.ndim != last[0].type.ndim:
        return None
    if total.type != last[0].type:
        total = T.patternbroadcast(total, last[0].type.broadcastable)
    return [(v, total) for v in last]


def _cumulated(state: State, stacked: Stacked, term: Variable) -> list[tuple[Any, Any]] | None:
    """All values of a state that accumulates `term`."""
    write, read = state.writes[0], state.reads[0]
    op = write.owner.op.scalar_op
    if type(op) not in _CUMULATIVE:
        return None
    function, combine = _CUMULATIVE[type(op)]
    start = initial_value(state)
    values = function(stacked.stacked(term), axis=0)
    if not is_evidently(start, op.identity):
        values = combine(_padded(start), values)
    if values.type.dtype != write.type.dtype or not stacked.set_rows(write, values):
        return None
    values = stacked.stacked(write)
    everything = T.join(0, T.unbroadcast(_padded(start), 0), values)
    stacked.set_rows(read, everything[:-1])
    return _instead_of_state(state.old, everything, values)


def _instead_of_state(old: Any, everything: Any, values: Any) -> list[tuple[Any, Any]]:
    """Replacements for a state's buffer; what takes the values without the initial one needs no joining."""
    pairs = []
    for client, _ in old.clients:
        if client != "output" and isinstance(client.op, Subtensor) and integer_indices(client) == [slice(1, None, None)]:
            out = client.outputs[0]
            pairs.append((out, values if values.type == out.type else T.patternbroadcast(values, out.type.broadcastable)))
    if len(pairs) < len(old.clients):
        if everything.type != old.type:
            everything = T.patternbroadcast(everything, old.type.broadcastable)
        pairs.append((old, everything))
    return pairs


_CUMULATIVE: dict[type, Any] = {scalar.Add: (cumsum, T.add), scalar.Mul: (cumprod, T.mul)}
_REDUCTIONS: dict[type, Any] = {
    scalar.Add: T.sum,
    scalar.Mul: T.prod,
    scalar.Maximum: T.max,
    scalar.Minimum: T.min,
}


class PushOutSeqScan(ScanOptimizer):
    """``scan(lambda x, h, w: tanh(dot(x, w) + h), x, h, w) -> scan(lambda a, h: tanh(a + h), dot(x, w), h)``

    Computation that depends on sequences and non-sequences only is done before the loop, by one operation over all
    steps. An output that is such a result needs no loop at all. What is cheap, and computed from what the step reads
    anyway, stays.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import in2out
    >>> from theano.scan_module.scan_op import Scan
    >>> x, s = T.dvector("x"), T.dscalar("s")
    >>> y, _ = theano.scan(lambda a, s: T.exp(a) * s, x, s)
    >>> fgraph = theano.gof.FunctionGraph([x, s], [y])
    >>> _ = in2out(PushOutSeqScan()).optimize(fgraph)
    >>> (loop,) = (node for node in fgraph.apply_nodes if isinstance(node.op, Scan))
    >>> theano.pp(loop.op.outputs[0]), theano.pp(loop.inputs[1])
    ('(<TensorType(float64, scalar)> * s[t-1])', 'exp(x[Constant{0}:])')
    """

    cumulates = False

    def rewrite(self, loop: Loop) -> Any:
        if not loop.seqs:
            return False
        stacked = Stacked(loop.n_steps)
        for arg in loop.args:
            stacked.same[arg.inner] = arg.outer
        for seq in loop.seqs:
            stacked.add_rows(seq.inner, seq.outer)
        given = {*stacked.same, *stacked.rows}
        nodes = loop.inner_nodes
        # A step that a while loop does not come to must not be the cause of an error.
        safe = [node for node in nodes if loop.condition is None or isinstance(node.op, _NEVER_FAILING)]
        moved = [node for node in safe if stacked.apply(node)]
        pairs: list[tuple[Any, Any]] = []
        if loop.condition is None:
            while True:
                found = accumulate(loop, nodes, stacked, self.cumulates)
                if not found:
                    break
                pairs += found
                moved = [node for node in nodes if stacked.knows(node) or stacked.apply(node)]
        if not pairs and (self.cumulates or not moved):
            return False
        whole: list[Any] = []
        for v in stacked.unit:
            if v not in stacked.rows:
                stacked.set_rows(v, stacked.unit[v].rows())
        if loop.condition is None:
            whole = [out for out in loop.nit_sots if out.inner in stacked.rows and out.length is loop.n_steps]
        loop.nit_sots = [out for out in loop.nit_sots if out not in whole]
        staying = self._staying(loop, nodes, moved, stacked)
        kept = [v for node in nodes if node in staying for v in node.inputs]
        frontier = [
            v
            for v in dict.fromkeys([*kept, *loop.inner_outputs])
            if v in stacked.rows and v not in given and v.owner not in staying and hasattr(v.type, "broadcastable")
        ]
        if any(isinstance(node.op, Scan) for node in staying):
            # A step that holds a loop works on large arrays already; those of all steps may be too much, as after
            # `scan_checkpoints`.
            frontier = []
        if not frontier and not whole and not pairs:
            return False
        for out in whole:
            value = stacked.stacked(out.inner)
            if value.type != out.old.type:
                value = T.patternbroadcast(value, out.old.type.broadcastable)
            pairs.append((out.old, value))
        loop.substitute({v: loop.add_seq(stacked.stacked(v)) for v in frontier})
        loop.forget_unused()
        if loop.results:
            loop.build()
        return dict(pairs + loop.replacements())

    @staticmethod
    def _staying(loop: Loop, nodes: list[Apply], moved: list[Apply], stacked: Stacked) -> set[Apply]:
        """The nodes that remain in the step: those that cannot move, and those that are not worth it."""
        from theano.gof.graph import io_toposort

        movable = set(moved)
        live = set(io_toposort(loop.inner_inputs, loop.inner_outputs))
        staying = {node for node in nodes if node not in movable and node in live}
        needed = {v for node in staying for v in node.inputs}
        clients = dependents(nodes)
        outputs = set(loop.inner_outputs)
        changed = True
        while changed:
            changed = False
            for node in reversed(moved):
                if node in staying or node not in live or not outputs.isdisjoint(node.outputs):
                    continue
                if all(client in staying or client not in live for v in node.outputs for client in clients.get(v, ())):
                    chain = [node] if _is_view(node) else _cheap_chain(node, needed, movable, stacked)
                    if chain:
                        staying.update(chain)
                        needed.update(v for other in chain for v in other.inputs)
                        changed = True
        return staying


class ScanCumulate(PushOutSeqScan):
    """``scan(lambda x, s: s + x, x, s)[1:] -> s + cumsum(x)``, and the same for products

    Where sums and products are all that the loop computes: what it does besides is best done in the same pass.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import in2out
    >>> x, s = T.dvector("x"), T.dscalar("s")
    >>> y, _ = theano.scan(lambda a, s: s + a, x, s)
    >>> fgraph = theano.gof.FunctionGraph([x, s], [y])
    >>> _ = in2out(ScanCumulate()).optimize(fgraph)
    >>> theano.pp(fgraph.outputs[0])
    '(s + CumOp{0, add}(x[Constant{0}:]))'
    """

    cumulates = True

    def rewrite(self, loop: Loop) -> Any:
        if loop.condition is not None or len(loop.results) != len(loop.sit_sots):
            return False
        if any(takes_last_only(state.old, 1) for state in loop.sit_sots):
            return False
        if len(loop.results) > 1 and not _feed_each_other(loop):
            return False
        return super().rewrite(loop)


def _feed_each_other(loop: Loop) -> bool:
    """Whether the states are one chain, each a sum of the one before: not loops that were merged."""
    if any(state.writes[0].owner is None for state in loop.sit_sots):
        return False
    used = {v for state in loop.sit_sots for v in (state.reads[0], state.writes[0])}
    takers = [state for state in loop.sit_sots if sum(v in used for v in state.writes[0].owner.inputs) == 2]
    return len(takers) == len(loop.sit_sots) - 1


def _cheap_chain(node: Apply, needed: set[Variable], movable: set[Apply], stacked: Stacked) -> list[Apply] | None:
    """A few cheap nodes that compute what `node` does from what the step reads anyway; None if there are none."""
    chain: dict[Apply, None] = {}
    stack = [node]
    while stack:
        node = stack.pop()
        if node in chain:
            continue
        if node not in movable or not _is_cheap(node) or len(chain) == 4:
            return None
        chain[node] = None
        stack.extend(v.owner for v in node.inputs if v in stacked.rows and v not in needed and v.owner is not None)
        if any(v in stacked.rows and v not in needed and v.owner is None for v in node.inputs):
            return None
    return list(chain)


def _is_view(node: Apply) -> bool:
    return isinstance(node.op, (DimShuffle, T.ScalarFromTensor))


def _is_cheap(node: Apply) -> bool:
    return isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, CHEAP)

"""Work that leaves the loop at its end: what no later step needs, and sums over all steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

from theano.gof.graph import Apply, Constant, Variable, ancestors
from theano.scalar import basic as scalar
from theano.scan_module.rewriting.loop import Loop, Output, State, dependents, substitute
from theano.scan_module.rewriting.pushout import ScanOptimizer
from theano.scan_module.rewriting.slices import initial_value, keeps_all, takes_last_only
from theano.scan_module.rewriting.vectorize import Stacked, is_reversal, of_one_shape
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from theano.tensor.nnet.softmax import LogSoftmax, Softmax, SoftmaxWithBias


def terms_of(v: Variable, clients: dict[Variable, list[Apply]]) -> list[Variable]:
    """The terms of a sum of sums, of which each partial sum is used once."""
    result, stack = [], [v]
    while stack:
        term = stack.pop()
        node = term.owner
        if (
            node is not None
            and isinstance(node.op, Elemwise)
            and isinstance(node.op.scalar_op, scalar.Add)
            and (term is v or len(clients.get(term, ())) == 1)
            and all(i.type == term.type for i in node.inputs)
        ):
            stack.extend(reversed(node.inputs))
        else:
            result.append(term)
    return result


class _After:
    """Values of the step at all steps, as far as they can be had after the loop."""

    def __init__(self, loop: Loop):
        self.loop = loop
        self.stacked = Stacked(loop.n_steps)
        for arg in loop.args:
            self.stacked.same[arg.inner] = arg.outer
        for seq in loop.seqs:
            self.stacked.add_rows(seq.inner, seq.outer)
        complete = [s for s in (*loop.mit_sots, *loop.sit_sots) if keeps_all(s.outer, s.n_initial, loop.n_steps)]
        self.states = {
            **{state.writes[0]: (state, 0) for state in complete},
            **{
                read: (state, tap)
                for state in complete
                for read, tap in zip(state.reads, state.taps, strict=True)
            },
        }
        self.outputs: dict[Variable, Output] = {}
        for out in loop.nit_sots:
            if out.length is loop.n_steps:
                self.outputs.setdefault(out.inner, out)
        self.one_shape = of_one_shape(loop)
        # What is to be replaced once the loop is built, and by what.
        self.pending: list[tuple[Any, Callable[[], Any]]] = []

    def can_keep(self, v: Variable) -> bool:
        """Whether the values of `v` at all steps can be had."""
        return self.is_kept(v) or v in self.states or v in self.one_shape

    def is_kept(self, v: Variable) -> bool:
        """Whether the values of `v` at all steps are kept anyway."""
        if v in self.stacked.rows or v in self.outputs or self.stacked.is_constant(v):
            return True
        if v not in self.states:
            return False
        state = self.states[v][0]
        return bool(state.old.clients) and takes_last_only(state.old, state.n_initial) is None

    def want(self, v: Variable) -> None:
        """Make the values of `v` available, as a new output if need be."""
        if v in self.stacked.rows or self.stacked.is_constant(v):
            return
        if v not in self.states and v not in self.outputs:
            self.outputs[v] = self.loop.add_output(v)
        stand_in = T.TensorType(v.type.dtype, (False, *v.type.broadcastable))()
        self.stacked.rows[v] = (stand_in, False)
        self.later(stand_in, lambda: self._values(v))

    def later(self, stand_in: Any, value: Callable[[], Any]) -> None:
        """Use a stand-in for something that exists only when the loop is built."""
        self.pending.append((stand_in, value))

    def _values(self, v: Variable) -> Any:
        if v in self.outputs:
            return self.outputs[v].new
        state, tap = self.states[v]
        start = state.n_initial + tap
        return state.new[start:] if tap == 0 else state.new[start:tap]

    def build(self, results: dict[Any, Any]) -> dict[Any, Any]:
        """Build the loop, if anything is left of it, and put its outputs into the values of `results`."""
        self.loop.forget_unused()
        if self.loop.results:
            self.loop.build()
        values = {}
        for stand_in, make in self.pending:
            value = make()
            if value.type != stand_in.type:
                value = T.patternbroadcast(value, stand_in.type.broadcastable)
            values[stand_in] = value
        return dict(zip(results, substitute([], list(results.values()), values), strict=True))


class PushOutDot1(ScanOptimizer):
    """``scan(lambda x, y, s: s + dot(x.T, y), [x, y], zeros)[-1] -> dot(x.reshape(...).T, y.reshape(...))``

    A state that sums up products, of which only the end is used, as the gradient of a weight matrix: one product of all
    steps takes the place of the sum. The factors become outputs of the loop where they are none. So do other terms whose
    values at all steps are there anyway, such as the gradient of a bias.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import in2out
    >>> from theano.scan_module.scan_op import Scan
    >>> x = T.dmatrix("x")
    >>> y, _ = theano.scan(lambda a, s: s + T.outer(a, a), x, T.zeros((3, 3)))
    >>> fgraph = theano.gof.FunctionGraph([x], [y[-1]])
    >>> _ = in2out(PushOutDot1()).optimize(fgraph)
    >>> fgraph.outputs[0].owner, [node for node in fgraph.apply_nodes if isinstance(node.op, Scan)]
    (dot(x[0:].T, x[0:]), [])
    """

    def rewrite(self, loop: Loop) -> Any:
        if loop.condition is not None:
            return False
        nodes = loop.inner_nodes
        clients = dependents(nodes)
        outputs = loop.inner_outputs
        after = _After(loop)
        for node in nodes:
            after.stacked.apply(node)
        sums: list[tuple[State, list[Variable], list[Any]]] = []
        for state in loop.sit_sots:
            read, write = state.reads[0], state.writes[0]
            if read is write or len(clients.get(read, ())) != 1 or read in outputs or clients.get(write):
                continue
            if outputs.count(write) != 1:
                continue
            last = takes_last_only(state.old, 1) if keeps_all(state.outer, 1, loop.n_steps) else None
            terms = terms_of(write, clients)
            if last and terms.count(read) == 1 and len(terms) > 1:
                sums.append((state, [t for t in terms if t is not read], last))
        if not sums:
            return False
        # Products first: what they keep lets other sums leave, too.
        totals: dict[int, list[Any]] = {id(state): [] for state, _, _ in sums}
        rest: dict[int, list[Variable]] = {id(state): [] for state, _, _ in sums}
        simple = []
        for state, terms, _ in sums:
            for term in terms:
                product = _sum(after, term, _sum_of_products)
                if product is None:
                    simple.append((state, term))
                else:
                    totals[id(state)].append(product)
        for state, term in simple:
            total = _sum(after, term, _sum_of_rows)
            if total is None:
                rest[id(state)].append(term)
            else:
                totals[id(state)].append(total)
        expressions: dict[Any, Any] = {}
        for state, _, last in sums:
            if not totals[id(state)]:
                continue
            total = totals[id(state)][0]
            for more in totals[id(state)][1:]:
                total = total + more
            if rest[id(state)]:
                # What cannot leave is still summed up by the loop.
                state.writes[0] = reduce(add, rest[id(state)], state.reads[0])
                start = last[0].type()
                after.later(start, lambda state=state: state.new[-1])
            else:
                loop.sit_sots.remove(state)
                start = initial_value(state)
            value = total if is_evidently(start, 0) else start + total
            for v in last:
                expressions[v] = value if value.type == v.type else T.patternbroadcast(value, v.type.broadcastable)
        if not expressions:
            return False
        expressions = after.build(expressions)
        return {**dict(loop.replacements()), **expressions}


def _sum(after: _After, term: Variable, function: Callable[[_After, Variable], Any]) -> Any:
    """The sum of a term over all steps: `function` of what it is a linear function of; None if that is None."""
    outside: list[Callable[[Any], Any]] = []
    while True:
        node = term.owner
        if node is not None and isinstance(node.op, DimShuffle):
            outside.append(node.op)
            (term,) = node.inputs
            continue
        if node is not None and isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, (scalar.Mul, scalar.Neg)):
            varying = [v for v in node.inputs if not after.stacked.is_constant(v)]
            if len(varying) == 1 and varying[0].type == node.outputs[0].type:
                factors = [after.stacked.constant(v) for v in node.inputs if v is not varying[0]]
                outside.append(lambda x, op=node.op, factors=factors: op(*factors, x))
                (term,) = varying
                continue
        break
    total = function(after, term)
    if total is None:
        return None
    for apply in reversed(outside):
        total = apply(total)
    return total


def _untransposed(v: Variable) -> tuple[Variable, bool]:
    """What a matrix is the transpose of, and whether it is one."""
    node = v.owner
    if node is not None and isinstance(node.op, DimShuffle) and tuple(node.op.new_order) == (1, 0):
        # A DimShuffle may also drop dimensions of its input.
        return (node.inputs[0], True) if node.inputs[0].type.ndim == 2 else (v, False)
    return v, False


def _sum_of_products(after: _After, term: Variable) -> Any:
    """The sum over all steps of ``dot(a.T, b)``; None for another kind of term."""
    node = term.owner
    if node is None or not isinstance(node.op, T.Dot) or after.stacked.is_constant(term):
        return None
    a, b = node.inputs
    if a.type.ndim == b.type.ndim == 1 or any(map(after.stacked.is_constant, (a, b))):
        return None
    (x, x_turned), (y, y_turned) = _untransposed(a), _untransposed(b)
    # An outer product: the dimension in the middle has length 1.
    x_row = _column_of(x, 0, "x") if not x_turned else None
    y_row = _column_of(y, "x", 0) if not y_turned else None
    if x_row is not None and y_row is not None and after.can_keep(x_row) and after.can_keep(y_row):
        after.want(x_row)
        after.want(y_row)
        left, right = _together(after, x_row, y_row)
        return T.dot(left.T, right)
    if not after.can_keep(x) or not after.can_keep(y):
        return None
    after.want(x)
    after.want(y)
    left, right = _together(after, x, y)
    return T.dot(_joined(left, x.type.ndim, last=not x_turned), _joined(right, y.type.ndim, last=y_turned, left=False))


def _column_of(v: Variable, *order: Any) -> Variable | None:
    """The vector that a matrix of one row or column is made of."""
    node = v.owner
    if node is not None and isinstance(node.op, DimShuffle) and tuple(node.op.new_order) == order:
        return node.inputs[0] if node.inputs[0].type.ndim == 1 else None
    return None


def _together(after: _After, x: Variable, y: Variable) -> tuple[Any, Any]:
    """The rows of both in one order of the steps; which one does not matter for a sum."""
    (left, back), (right, back_too) = after.stacked.rows[x], after.stacked.rows[y]
    if back == back_too:
        return left, right
    made = after.outputs.get(y if back else x)
    if made is None or made.old is None or not any(c != "output" and is_reversal(c.outputs[0]) for c, _ in made.old.clients):
        return after.stacked.stacked(x), after.stacked.stacked(y)
    # What a gradient's loop has made is turned round for the gradients of its sequences anyway.
    return (left, right[::-1]) if back else (left[::-1], right)


def _joined(rows: Any, ndim: int, last: bool, left: bool = True) -> Any:
    """Steps and summed-over dimension as one: the left factor as (i, steps * b), the right one as (steps * b, j).

    With `last`, the summed-over dimension of a left factor (the other one of a right factor) is the last one of a row.
    """
    if ndim == 1:
        return rows.flatten()
    if left:
        if last:
            rows = rows.dimshuffle(0, 2, 1)
        return rows.reshape((rows.shape[0] * rows.shape[1], rows.shape[2])).T
    if last:
        rows = rows.dimshuffle(0, 2, 1)
    return rows.reshape((rows.shape[0] * rows.shape[1], rows.shape[2]))


def _sum_of_rows(after: _After, term: Variable) -> Any:
    """The sum over all steps of a term that is kept anyway, or that reduces what is kept anyway."""
    if after.stacked.is_constant(term):
        return None
    if after.is_kept(term):
        after.want(term)
        return after.stacked.rows[term][0].sum(axis=0, dtype=term.type.dtype)
    node = term.owner
    if node is None:
        return None
    if isinstance(node.op, CAReduce) and isinstance(node.op.scalar_op, scalar.Add) and after.is_kept(node.inputs[0]):
        (x,) = node.inputs
        if x.type.dtype != term.type.dtype:
            return None
        after.want(x)
        return after.stacked.rows[x][0].sum(axis=(0, *(a + 1 for a in node.op.reduced_axes(x.type.ndim))))
    return None


class PushOutScanOutput(ScanOptimizer):
    """``scan(lambda x, h, w, v: [tanh(x + dot(h, w)), dot(h, v)], ...) -> dot(hs, v)`` after the loop

    Computation that no step needs, but only what is outside of the loop, is done after it by one operation over all
    steps: products always, what else there is as long as the loop does not have to keep more for it than it does now.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import in2out
    >>> from theano.scan_module.scan_op import Scan
    >>> x, h, v = T.dmatrix("x"), T.dvector("h"), T.dvector("v")
    >>> (_, y), _ = theano.scan(lambda a, h, v: [T.tanh(a + h), T.dot(h, v)], x, [h, None], v)
    >>> fgraph = theano.gof.FunctionGraph([x, h, v], [y])
    >>> _ = in2out(PushOutScanOutput()).optimize(fgraph)
    >>> (loop,) = (node for node in fgraph.apply_nodes if isinstance(node.op, Scan))
    >>> [theano.pp(v) for v in loop.op.outputs], fgraph.outputs[0].owner
    (['tanh((x[t] + h[t-1]))'], dot(Subtensor{int64:int64:}.0, v))
    """

    def rewrite(self, loop: Loop) -> Any:
        if loop.condition is not None or not loop.nit_sots:
            return False
        roots = [write for state in loop.states for write in state.writes]
        inside = set(ancestors(roots))
        candidates = [out for out in loop.nit_sots if out.length is loop.n_steps and out.inner not in inside]
        if not candidates:
            return False
        nodes = loop.inner_nodes
        for chosen in (candidates, *([out] for out in candidates if len(candidates) > 1)):
            result = self._move(Loop(loop.node), nodes, inside, {out.old for out in chosen})
            if result:
                return result
        return False

    @staticmethod
    def _move(loop: Loop, nodes: list[Apply], inside: set[Variable], moving: set[Any]) -> Any:
        after = _After(loop)
        chosen = [out for out in loop.nit_sots if out.old in moving]
        others = [out.inner for out in loop.nit_sots if out not in chosen]
        staying = inside | set(ancestors(others))
        wanted = set(ancestors([out.inner for out in chosen]))
        late = [node for node in nodes if not staying.intersection(node.outputs) and not wanted.isdisjoint(node.outputs)]
        late = [node for node in late if not isinstance(node.op, T.ScalarFromTensor)]
        if not late:
            return False
        # From the outputs back, as far as operations over all steps exist.
        probe = Stacked(loop.n_steps)
        for v in {v for node in nodes for v in (*node.inputs, *node.outputs)} | {out.inner for out in chosen}:
            if after.stacked.is_constant(v):
                if not isinstance(v, Constant):
                    probe.same[v] = after.stacked.same[v]
            elif hasattr(v.type, "broadcastable"):
                probe.rows[v] = (T.TensorType(v.type.dtype, (False, *v.type.broadcastable))(), False)
        movable: set[Apply] = set()
        clients = dependents(nodes)
        targets = {out.inner for out in chosen}
        for node in reversed(late):
            users = [client for v in node.outputs for client in clients.get(v, ())]
            if all(client in movable for client in users) and (users or not targets.isdisjoint(node.outputs)):
                if probe.apply(node):
                    movable.add(node)
        moved = [node for node in late if node in movable]
        gone = [out for out in chosen if out.inner.owner in movable]
        if not gone:
            return False
        frontier = [v for v in dict.fromkeys(v for node in moved for v in node.inputs) if v.owner not in movable]
        if not all(map(after.can_keep, frontier)):
            return False
        new = [v for v in frontier if not after.is_kept(v) or (v in after.outputs and after.outputs[v] in gone)]
        products = any(isinstance(node.op, T.Dot) for node in moved)
        if not products and (len(new) > len(gone) or (new and not any(map(_is_row_op, moved)))):
            return False
        for out in gone:
            loop.nit_sots.remove(out)
            after.outputs.pop(out.inner, None)
        for v in frontier:
            after.want(v)
        for node in moved:
            if not after.stacked.apply(node):
                return False
        if any(after.stacked.is_constant(out.inner) for out in gone):
            # The same at all steps: that is computed before the loop.
            return False
        expressions: dict[Any, Any] = {}
        for out in gone:
            value = after.stacked.stacked(out.inner)
            if value.type != out.old.type:
                value = T.patternbroadcast(value, out.old.type.broadcastable)
            expressions[out.old] = value
        expressions = after.build(expressions)
        return {**expressions, **dict(loop.replacements())}


def _is_row_op(node: Apply) -> bool:
    return isinstance(node.op, (Softmax, LogSoftmax, SoftmaxWithBias))

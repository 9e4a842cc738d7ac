"""States of gradient loops that need no buffer of all steps."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Variable
from theano.scan_module.rewriting.loop import Loop, State, dependents
from theano.scan_module.rewriting.pushout import ScanOptimizer
from theano.scan_module.rewriting.pushout_output import terms_of
from theano.scan_module.rewriting.slices import empty_origin, integer_indices
from theano.scan_module.rewriting.vectorize import is_reversal
from theano.scan_module.scan_op import Scan
from theano.scan_module.scan_utils import expand_empty
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.elemwise import Elemwise
from theano.tensor.shapes import Shape
from theano.tensor.subtensor import IncSubtensor, Subtensor


class ScanMitMotToSitSot(ScanOptimizer):
    """``scan(lambda d, given: given + f(d), states=buffer of given) -> scan(lambda given, d: given + f(d), given)``

    The gradient of a state that reaches one step back is a mit_mot: it reads what is complete, and adds to what comes
    next in a buffer that holds the gradients from outside. As a sit_sot it reads these as a sequence; or not at all
    where only the last value of the state has one. Then it needs memory for one step, if nothing takes the others.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import in2out
    >>> x, s = T.dvector("x"), T.dscalar("s")
    >>> y, _ = theano.scan(lambda a, s: T.tanh(a + s), x, s)
    >>> fgraph = theano.gof.FunctionGraph([x, s], [T.grad(y[-1], s)])
    >>> _ = in2out(ScanMitMotToSitSot()).optimize(fgraph)
    >>> (loop,) = (node for node in fgraph.apply_nodes if getattr(node.op, "name", "") == "grad_of_scan_fn")
    >>> loop.op.n_mit_mot, loop.op.n_sit_sot
    (0, 1)
    """

    def rewrite(self, loop: Loop) -> Any:
        clients = dependents(loop.inner_nodes)
        outputs = loop.inner_outputs
        changed = False
        for state in list(loop.mit_mots):
            if sorted(state.taps) != [0, 1] or state.out_taps != [1] or not has_rows(state.outer, loop.n_steps):
                continue
            complete, before = state.reads if state.taps == [0, 1] else state.reads[::-1]
            (write,) = state.writes
            terms = terms_of(write, clients)
            if terms.count(before) != 1 or len(terms) < 2 or len(clients.get(before, ())) != 1 or before in outputs:
                continue
            if any(client.outputs[0] is not write for client in clients[before]):
                continue
            rest = [term for term in terms if term is not before]
            last = only_last_row(state.outer.owner.inputs[0]) if is_reversal(state.outer) else None
            if last is not None and last.type == complete.type:
                start = last
            else:
                start, later = _split(state.outer)
                later.tag.scan_length = loop.n_steps
                rest.insert(0, loop.add_seq(later))
            total = rest[0] if len(rest) == 1 else T.add(*rest)
            if total.type != write.type or start.type != complete.type:
                continue
            rows = T.unbroadcast(start.dimshuffle("x", *range(start.type.ndim)), 0)
            buffer = expand_empty(rows, loop.n_steps)
            if buffer.type != state.outer.type:
                continue
            loop.mit_mots.remove(state)
            loop.sit_sots.append(State(buffer, [complete], [-1], [total], [0], state.old))
            changed = True
        if not changed:
            return False
        loop.forget_unused()
        loop.build()
        return dict(loop.replacements())


def _split(buffer: Any) -> tuple[Any, Any]:
    """The first row of a buffer, and the others."""
    if not is_reversal(buffer):
        return buffer[0], buffer[1:]
    rows = buffer.owner.inputs[0]
    return rows[-1], rows[:-1][::-1]


def only_last_row(x: Any) -> Any:
    """The last row of an array of which all others are evidently zero; None for another array."""
    node = x.owner
    if node is None or not isinstance(node.op, IncSubtensor) or not is_evidently(node.inputs[0], 0):
        return None
    entries = integer_indices(node)
    if entries == [-1]:
        return node.inputs[1]
    if entries is not None and len(entries) == 1 and isinstance(entries[0], slice):
        if entries[0].stop is None and entries[0].step is None:
            return only_last_row(node.inputs[1])
    return None


def has_rows(x: Any, n_steps: Any) -> bool:
    """Whether an array evidently has one row more than there are steps, as that of the gradient of a state's buffer."""
    for _ in range(20):
        node = x.owner
        if node is None:
            return False
        if is_reversal(x) or isinstance(node.op, (IncSubtensor, T.Rebroadcast)):
            x = node.inputs[0]
        elif isinstance(node.op, Elemwise):
            # All operands have the same rows; the template of a `fill` comes first.
            x = next((v for v in node.inputs if not v.type.broadcastable[0] and v.owner is not None), None)
            if x is None:
                return False
        elif isinstance(node.op, Scan):
            return _is_full(node, x, n_steps)
        else:
            return False
    return False


def _is_full(node: Any, x: Variable, n_steps: Any) -> bool:
    """Whether an output of a loop is a state with one initial value and all values of `n_steps` steps."""
    op = node.op
    k = x.index
    if node.inputs[0] is not n_steps or op.as_while or not op.n_mit_mot <= k < op.n_outs or op.mintaps[k] != -1:
        return False
    buffer = node.inputs[1 + op.n_seqs + k]
    empty = empty_origin(buffer)
    if empty is None:
        return False
    length = empty.inputs[0].owner
    if length is None or not isinstance(length.op, Elemwise) or length.op.scalar_op != T.add.scalar_op:
        return False
    others = [v for v in length.inputs if v is not n_steps]
    return len(others) == 1 and len(length.inputs) == 2 and _is_one_row(others[0])


def _is_one_row(v: Any) -> bool:
    """Whether a scalar is 1, or the number of rows of an array that has one."""
    node = v.owner
    if node is not None and isinstance(node.op, Subtensor) and integer_indices(node) == [0]:
        shape = node.inputs[0].owner
        if shape is not None and isinstance(shape.op, Shape):
            (rows,) = shape.inputs
            while rows.owner is not None and isinstance(rows.owner.op, T.Rebroadcast):
                (rows,) = rows.owner.inputs
            if rows.type.broadcastable[0]:
                return True
    return is_evidently(v, 1)

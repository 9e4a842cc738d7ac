"""Memory for the steps that something takes, instead of for all of them."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Constant
from theano.scan_module.rewriting.loop import Loop, Output, State
from theano.scan_module.rewriting.pushout import ScanOptimizer
from theano.scan_module.rewriting.slices import empty_origin, exceeds, initial_rows, integer_indices, keeps_all
from theano.tensor import basic as T
from theano.tensor.subtensor import Subtensor, set_subtensor


def _rows_from_the_end(entry: Any) -> int | None:
    """How many rows from the end on an index along the first dimension may reach; None if that depends on the length."""
    if not isinstance(entry, slice):
        return -entry if entry < 0 else None
    step = 1 if entry.step is None else entry.step
    first, other = (entry.start, entry.stop) if step > 0 else (entry.stop, entry.start)
    if first is None or first >= 0 or (other is not None and other >= 0):
        return None
    return -first if step > 0 else -first - 1


def _rows_from_the_start(entry: Any) -> int | None:
    """How many rows from the start on an index along the first dimension may reach; None if that depends on the length."""
    if not isinstance(entry, slice):
        return entry + 1 if entry >= 0 else None
    if entry.step not in (None, 1) or entry.stop is None or entry.stop < 0 or (entry.start is not None and entry.start < 0):
        return None
    return entry.stop


class _Taken:
    """What is taken of an outer output.

    Attributes
    ----------
    whole, cut
        How many of its last rows are taken of the output, and of the output without its initial rows.
    leaves
        The nodes that take them; whether it is of the output without its initial rows, and whether of that reversed.
    """

    def __init__(self) -> None:
        self.whole = 0
        self.cut = 0
        self.leaves: list[tuple[Apply, bool, bool]] = []


def last_rows_taken(out: Any, n_initial: int) -> _Taken | None:
    """What is taken of an output if it is a constant number of its last rows, else None."""
    taken = _Taken()
    stack = [(client, False, False) for client, _ in out.clients]
    while stack:
        node, is_cut, is_reversed = stack.pop()
        if node == "output" or not isinstance(node.op, Subtensor):
            return None
        entries = integer_indices(node, first_only=True)
        if not entries:
            return None
        rows = _rows_from_the_start(entries[0]) if is_reversed else _rows_from_the_end(entries[0])
        if rows is not None:
            taken.leaves.append((node, is_cut, is_reversed))
            if is_cut:
                taken.cut = max(taken.cut, rows)
            else:
                taken.whole = max(taken.whole, rows)
            continue
        alone = len(node.op.idx_list) == 1 and not is_reversed
        if alone and entries == [slice(None, None, -1)]:
            stack.extend((client, is_cut, True) for client, _ in node.outputs[0].clients)
        elif alone and not is_cut and n_initial and entries == [slice(n_initial, None, None)]:
            stack.extend((client, True, False) for client, _ in node.outputs[0].clients)
        else:
            return None
    return taken


class ScanSaveMem(ScanOptimizer):
    """``scan(f, ..., buffer of n + 1 rows)[-1] -> scan(f, ..., buffer of 1 row)[-1]``

    For a state or an output of which only the last ``k`` values are taken, the loop gets a buffer for those, in which
    later values overwrite earlier ones. What is taken is found at the same place from the end, whatever the number of
    steps, and also if a while loop ends early.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import in2out
    >>> from theano.scan_module.scan_op import Scan
    >>> x = T.dscalar("x")
    >>> y, _ = theano.scan(lambda a: 2 * a, outputs_info=x, n_steps=5)
    >>> int(y.owner.inputs[0].shape[0].eval({x: 1.0}))
    6
    >>> fgraph = theano.gof.FunctionGraph([x], [y[-1]])
    >>> _ = in2out(ScanSaveMem()).optimize(fgraph)
    >>> (loop,) = (node for node in fgraph.apply_nodes if isinstance(node.op, Scan))
    >>> int(loop.inputs[1].shape[0].eval({fgraph.inputs[0]: 1.0}))
    2
    """

    def rewrite(self, loop: Loop) -> Any:
        # For programs that ask whether a loop came here; what other rewrites make of it keeps the mark.
        loop.op.info["_scan_savemem_visited"] = loop.op._scan_savemem_visited = True
        shortened: list[tuple[Any, int, _Taken]] = []
        for state in (*loop.mit_sots, *loop.sit_sots):
            taken = last_rows_taken(state.old, state.n_initial)
            if taken is not None and _shorten_state(loop, state, taken):
                shortened.append((state, state.n_initial, taken))
        for out in loop.nit_sots:
            taken = last_rows_taken(out.old, 0)
            if taken is not None and taken.leaves and _shorten_output(loop, out, taken):
                shortened.append((out, 0, taken))
        if not shortened:
            return False
        loop.build()
        # The outputs have other shapes now; only what is taken of them is the same.
        changed = {result.old for result, _, _ in shortened}
        replacements = {old: new for old, new in loop.replacements() if old not in changed}
        for result, n_initial, taken in shortened:
            for node, is_cut, is_reversed in taken.leaves:
                rows = result.new[n_initial:] if is_cut else result.new
                new = node.op(rows[::-1] if is_reversed else rows, *node.inputs[1:])
                if new.type != node.outputs[0].type:
                    new = T.patternbroadcast(new, node.outputs[0].type.broadcastable)
                replacements[node.outputs[0]] = new
        return replacements


def _number(v: Any) -> int | None:
    try:
        return int(T.get_scalar_constant_value(v))
    except T.NotScalarConstantError:
        return None


def _at_most(length: Any, n: int) -> Any:
    """The smaller one of a length and `n`; None if that is evidently the length itself."""
    known = _number(length)
    if known is not None:
        return None if known <= n else T.constant(n, dtype="int64")
    node = length.owner
    if node is not None and getattr(node.op, "scalar_op", None) == T.minimum.scalar_op:
        if any(isinstance(v, Constant) and int(v.data) <= n for v in node.inputs):
            return None
    return T.minimum(length, n)


def _shorten_state(loop: Loop, state: State, taken: _Taken) -> bool:
    """Give a state a buffer for what is taken; says whether that is shorter."""
    empty, rows = empty_origin(state.outer), initial_rows(state)
    if empty is None or rows is None:
        return False
    length, *dims = empty.inputs
    n_initial = state.n_initial
    if taken.leaves and not (keeps_all(state.outer, n_initial, loop.n_steps) or _is_filled(loop, length, n_initial)):
        return False
    wanted = max(n_initial, taken.whole, n_initial + taken.cut)
    if wanted == n_initial:
        short = None if _number(length) == n_initial else T.constant(n_initial, dtype="int64")
    else:
        short = _at_most(length, wanted)
    if short is None:
        return False
    buffer = empty.op(short, *dims)
    if buffer.type != state.outer.type:
        buffer = T.patternbroadcast(buffer, state.outer.type.broadcastable)
    state.outer = set_subtensor(buffer[:n_initial], rows)
    return True


def _is_filled(loop: Loop, length: Any, n_initial: int) -> bool:
    """Whether a buffer has evidently no row that the loop does not come to: such rows are zeros, and the last ones."""
    extra = exceeds(length, loop.n_steps)
    return extra is not None and extra <= n_initial


def _shorten_output(loop: Loop, out: Output, taken: _Taken) -> bool:
    """Let the loop keep only what is taken of an output; says whether that is less."""
    if not _is_filled(loop, out.length, 0):
        return False
    short = _at_most(out.length, taken.whole)
    if short is None:
        return False
    out.length = short
    return True

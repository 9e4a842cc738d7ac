"""The graph of one step, simplified by the rewrites that any graph gets."""

from __future__ import annotations

from typing import Any

from theano.compile.mode import Mode
from theano.gof.fg import FunctionGraph
from theano.gof.graph import Apply
from theano.gof.opt import local_optimizer
from theano.gof.optdb import Query
from theano.gof.rewriting.stages import queried
from theano.scan_module.rewriting.loop import Loop
from theano.scan_module.scan_op import Scan

#: Position in `optdb` up to which the rewrites act on a step as soon as the loop is rewritten; the others
#: act when it is compiled.
SIMPLIFIED = 1.65


def simplify_inner(loop: Loop, mode: Any) -> None:
    """Canonicalize and stabilize the step of a loop, once.

    Parameters
    ----------
    loop : Loop
    mode : Mode
        That of the inner function; nothing happens if its optimizer is not a query of `optdb`.
    """
    query = mode.provided_optimizer if isinstance(mode, Mode) else None
    if isinstance(query, str):
        query = mode._optimizer
    loop.optimized = True
    if not isinstance(query, Query):
        return
    optimizer = queried(query, position_cutoff=min(SIMPLIFIED, query.position_cutoff))
    fgraph = FunctionGraph(loop.inner_inputs, loop.inner_outputs, clone=True)
    optimizer.optimize(fgraph)
    inputs, outputs = iter(list(fgraph.inputs)), list(fgraph.outputs)
    fgraph.disown()
    for seq in loop.seqs:
        seq.inner = next(inputs)
    for state in loop.states:
        state.reads = [next(inputs) for _ in state.reads]
    for arg in loop.args:
        arg.inner = next(inputs)
    loop.set_inner_outputs(outputs)


@local_optimizer([Scan])
def scan_optimize_inner(node: Apply) -> Any:
    """``scan(f, ...) -> scan(g, ...)`` where `g` is `f`, canonicalized and stabilized

    Later rewrites see what a step really computes; what vanishes from it needs no argument.
    """
    if not isinstance(node.op, Scan) or node.op.destroy_map or getattr(node.op, "inner_optimized", False):
        return False
    loop = Loop(node)
    simplify_inner(loop, node.op.mode_instance)
    loop.forget_unused()
    loop.build()
    return dict(loop.replacements())

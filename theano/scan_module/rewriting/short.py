"""Loops of no step or one step, written out."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Constant, ancestors, clone
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.scan_module.rewriting.loop import Loop, State, substitute
from theano.scan_module.rewriting.slices import empty_origin, initial_rows
from theano.scan_module.scan_op import Scan
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.subtensor import set_subtensor


def _length(buffer: Any) -> int | None:
    """The number of rows of a buffer if it is known."""
    empty = empty_origin(buffer)
    try:
        return int(T.get_scalar_constant_value(empty.inputs[0] if empty is not None else buffer.shape[0]))
    except T.NotScalarConstantError:
        return None


def _rows_before(state: State) -> Any:
    """The buffer of a loop that takes no step: what comes after the initial values is zero."""
    if _length(state.outer) == state.n_initial:
        return state.outer
    return set_subtensor(state.outer[state.n_initial :], 0)


def _no_rows(node: Apply, loop: Loop) -> list[Any] | None:
    """The outputs that are no states of a loop that takes no step; None where their shape is known to the loop only."""
    if all(out.inner.type.ndim == 0 for out in loop.nit_sots):
        return [T.zeros((0,), dtype=out.inner.type.dtype) for out in loop.nit_sots]
    shapes = [getattr(v, "shape", None) for v in node.inputs]
    shapes = [None if shape is None else tuple(shape[k] for k in range(v.type.ndim)) for v, shape in zip(node.inputs, shapes)]
    op: Any = node.op
    values = []
    for out, shape in zip(loop.nit_sots, op.outer_nitsot_outs(op.infer_shape(node, shapes)), strict=True):
        dims = [T.constant(1) if one else dim for one, dim in zip(out.inner.type.broadcastable, shape[1:], strict=True)]
        if any(v.owner is node for v in ancestors(dims)):
            return None
        values.append(T.zeros((0, *dims), dtype=out.inner.type.dtype))
    return values


def _rows_after(state: State, write: Any) -> Any:
    """The buffer after one step; None where its length is not evident."""
    length, n_initial = _length(state.outer), state.n_initial
    new = T.unbroadcast(write.dimshuffle("x", *range(write.type.ndim)), 0)
    if length == n_initial:
        return T.join(0, state.outer[1:], new) if n_initial > 1 else new
    rows = initial_rows(state)
    if length == n_initial + 1 and rows is not None:
        return T.join(0, T.unbroadcast(rows, 0), new)
    return None


@local_optimizer([Scan])
def scan_write_out_short_loops(node: Apply) -> Any:
    """``scan(f, ..., n_steps=1) -> f(...)`` and ``scan(f, ..., n_steps=0) -> the initial values``"""
    if not isinstance(node.op, Scan) or node.op.destroy_map or not isinstance(node.inputs[0], Constant):
        return False
    n_steps = int(node.inputs[0].data)
    loop = Loop(node)
    if n_steps == 0:
        rows = _no_rows(node, loop)
        if rows is None:
            return False
        values = [state.outer for state in loop.mit_mots]
        values += [_rows_before(state) for state in (*loop.mit_sots, *loop.sit_sots)]
        values += rows
        values += [state.outer for state in loop.shared]
    elif n_steps == 1:
        written_out = _one_step(loop)
        if written_out is None:
            return False
        values = written_out
    else:
        return False
    replacements = {}
    for old, new in zip(node.outputs, values, strict=True):
        if old.type != new.type and hasattr(old.type, "broadcastable"):
            new = T.patternbroadcast(new, old.type.broadcastable)
        if new.type != old.type:
            return False
        copy_stack_trace(old, new)
        replacements[old] = new
    return replacements


def _one_step(loop: Loop) -> list[Any] | None:
    """The outer outputs after one step; None where a buffer's length is not evident."""
    inputs, outputs = clone(loop.inner_inputs, loop.inner_outputs)
    given: dict[Any, Any] = {}
    names = iter(inputs)
    for seq in loop.seqs:
        given[next(names)] = seq.outer[0]
    for state in loop.states:
        for k, _ in enumerate(state.reads):
            given[next(names)] = state.outer[state.n_initial + state.taps[k]] if state.taps else state.outer
    for arg in loop.args:
        given[next(names)] = arg.outer
    for inner, outer in given.items():
        if inner.type != outer.type and hasattr(inner.type, "broadcastable"):
            given[inner] = T.patternbroadcast(outer, inner.type.broadcastable)
    results = iter(substitute(inputs, outputs, given))
    values: list[Any] = []
    for state in loop.mit_mots:
        buffer = state.outer
        for tap in state.out_taps:
            buffer = set_subtensor(buffer[state.n_initial + tap], next(results))
        values.append(buffer)
    for state in (*loop.mit_sots, *loop.sit_sots):
        rows = _rows_after(state, next(results))
        if rows is None:
            return None
        values.append(rows)
    for out in loop.nit_sots:
        value = next(results)
        # A longer one ends with zeros.
        if is_evidently(out.length, 1):
            values.append(T.unbroadcast(value.dimshuffle("x", *range(value.type.ndim)), 0))
        else:
            return None
    values += [next(results) for _ in loop.shared]
    return values

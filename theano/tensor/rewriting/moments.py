"""Squared deviations from what is computed of the sum: one pass over memory instead of two."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Variable
from theano.gof.opt import copy_stack_trace
from theano.tensor import basic as T
from theano.tensor.elemwise import CAReduce, DimShuffle, Elemwise, Sum
from theano.tensor.moments import moments as _moments
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.terms import argument_of, is_elemwise, is_made_by, nodes_below

_MOST_NODES = 16  # between a mean and its sum


def _is_whole_sum(node: Any) -> bool:
    """Whether a node is the sum of all elements of an array, in float64 where that may make a difference."""
    if node is None or type(node.op) is not Sum:
        return False
    (x,), ndim = node.inputs, node.inputs[0].type.ndim
    return (
        ndim > 0
        and node.op.reduced_axes(ndim) == tuple(range(ndim))
        and x.type.dtype in ("float32", "float64")
        and node.outputs[0].type.dtype == x.type.dtype
        and node.op.acc_dtype in (None, "float64")
    )


def _sum_below(mean: Variable, x: Variable) -> Apply | None:
    """The sum of all elements of `x` that a variable is computed from, by a few operations on single numbers."""
    below = nodes_below(mean, _MOST_NODES, (Elemwise, DimShuffle))
    return next((node for node in below if _is_whole_sum(node) and node.inputs[0] is x), None)


@rewrites([Sum], "specialize")
def local_sum_of_squared_deviations(node: Any) -> Any:
    """``sum(sqr(x - m)) -> s + n * sqr(mean - m)`` if `m` is computed from ``sum(x)``, with `s`, `n` and the mean from
    `theano.tensor.moments`, as is ``sum(x)``. An `x` that is computed element by element is left to its loop.
    """
    difference = argument_of(node.inputs[0], T.sqr)
    if difference is None or not is_elemwise(difference.owner, T.sub) or not _is_whole_sum(node):
        return False
    x, m = difference.owner.inputs
    if not all(m.type.broadcastable) or x.type != difference.type or is_made_by(x, Elemwise, DimShuffle, CAReduce):
        return False
    total_node = _sum_below(m, x)
    if total_node is None:
        return False
    count, total, mean, squares = _moments(x)
    # Of an empty array the mean is no number, the sum of its squares is 0.
    away = T.switch(T.gt(count, 0), count * T.sqr(mean - T.cast(m.dimshuffle(), "float64")), 0.0)
    dtype = node.outputs[0].type.dtype
    replaced = {node.outputs[0]: T.cast(squares + away, dtype), total_node.outputs[0]: T.cast(total, dtype)}
    for old, new in replaced.items():
        copy_stack_trace(old, new)
    return replaced

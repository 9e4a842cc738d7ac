"""Indexing moves towards the inputs: through transpositions, reductions and joins, so that less is computed."""

from __future__ import annotations

from typing import Any

from theano.gof.opt import copy_stack_trace
from theano.tensor import basic as T
from theano.tensor.elemwise import All, CAReduce, DimShuffle, Prod, Sum
from theano.tensor.elemwise import Any as Any_
from theano.tensor.rewriting.rules import applies, c, called, once, replaces, rest, x
from theano.tensor.rewriting.subtensor import _INDEX, _SUBTENSOR, _all_entries, _plain, _taken, indices_of
from theano.tensor.rewriting.terms import as_scalar_constant, changed


def _before_dimshuffle(out: Any, x: Any, y: Any) -> Any:
    """An index of `y`, which is a DimShuffle of `x` that drops nothing, as one of `x`; None if that cannot be said."""
    parts, kept = [slice(None)] * x.type.ndim, []
    for o, entry in zip(y.owner.op.new_order, _all_entries(out), strict=True):
        if isinstance(entry, slice):
            kept.append(o)
        if o != "x":
            parts[o] = entry
        elif entry != slice(None) if isinstance(entry, slice) else _plain(entry) not in (0, -1):
            return None
    order = sorted(o for o in kept if o != "x")
    new, new_order = _taken(x, parts), ["x" if o == "x" else order.index(o) for o in kept]
    return new if new_order == list(range(len(order))) else new.dimshuffle(*new_order)


_ADDED = applies(DimShuffle, which=lambda op: [o for o in op.new_order if o != "x"] == [*range(len(op.input_broadcastable))])


@replaces(_SUBTENSOR(called("y", _ADDED(x)), rest), "canonicalize")
def local_subtensor_of_dimshuffle(out: Any, x: Any, y: Any) -> Any:
    """``dimshuffle('x', 0)(v)[0, i] -> v[i]``: an index into a dimension that was only added is dropped."""
    return _before_dimshuffle(out, x, y)


def _turns(op: Any) -> bool:
    """Whether a DimShuffle permutes dimensions, and does nothing else."""
    return set(op.new_order) == set(range(len(op.input_broadcastable))) and [*op.new_order] != sorted(op.new_order)


@replaces(_SUBTENSOR(called("y", once(applies(DimShuffle, which=_turns)(x))), rest), "canonicalize")
def local_subtensor_of_transpose(out: Any, x: Any, y: Any) -> Any:
    """``x.T[i] -> x[:, i]`` and ``x.dimshuffle(2, 0, 1)[i, :, j] -> x[:, j, i]``, if the transposition is used once"""
    return copy_stack_trace([out, y], _before_dimshuffle(out, x, y))


@replaces(_SUBTENSOR(called("y", once(applies((CAReduce, Sum, Prod, All, Any_))(x))), rest), "canonicalize specialize")
def local_subtensor_of_reduce(out: Any, x: Any, y: Any) -> Any:
    """``sum(x, axis=0)[i] -> sum(x[:, i], axis=0)``, and so for the other reductions, if the sum is used once"""
    axes, index = y.owner.op.reduced_axes(x.type.ndim), iter(_all_entries(out))
    parts = [slice(None) if a in axes else next(index) for a in range(x.type.ndim)]
    # Integers drop their dimension.
    left = [a for a, part in enumerate(parts) if isinstance(part, slice)]
    return copy_stack_trace([out, y], changed(y.owner.op, axis=tuple(left.index(a) for a in axes))(_taken(x, parts)))


@replaces(_SUBTENSOR(called("y", applies(T.Join)(c, rest)), _INDEX), "canonicalize specialize")
def local_subtensor_of_join(out: Any, y: Any, c: Any, rest: tuple) -> Any:
    """``stack([x, y])[1] -> y``: a constant index along the axis of a join of parts of length 1"""
    axis, index, n = int(as_scalar_constant(c)) % y.type.ndim, _all_entries(out), len(rest)
    k = dict(enumerate(indices_of(out.owner))).get(axis)
    if not isinstance(k, int) or not -n <= k < n or not all(p.type.broadcastable[axis] for p in rest):
        return None
    index[axis] = 0
    return copy_stack_trace([out, y], _taken(T.cast(rest[k], out.type.dtype), index))

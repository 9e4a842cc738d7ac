"""Gradients of softmaxes written as quotients of exponentials: one operation on the probabilities, which does not overflow."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle
from theano.tensor.nnet.rewriting import _along, _summed_axes, _unshifted
from theano.tensor.nnet.softmax import LogSoftmaxGrad, SoftmaxGrad, is_softmax, logsoftmax_grad, softmax_grad, softmax_op
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.stability import _sum_of
from theano.tensor.rewriting.terms import argument_of, is_elemwise, is_made_by, opened, quotient, replacement, split_constants

_Fraction = tuple[list[Any], list[Any]]


def _bare(v: Any) -> Any:
    """`v` without the assertions around it."""
    while is_made_by(v, Assert):
        v = v.owner.inputs[0]
    return v


def _summed(v: Any) -> tuple[Any, int] | None:
    """``(x, axis)`` if `v` is ``sum(x, axis, keepdims=True)`` along one axis, else None."""
    total, order = _sum_of(v)
    axes = None if order is None else _summed_axes(v, total.inputs[0])
    return None if axes is None or len(axes) != 1 else (total.inputs[0], axes[0])


def _without(factors: list[Any], v: Any) -> list[Any] | None:
    """`factors` less one `v`; None if there is none."""
    for k, f in enumerate(factors):
        if f is v:
            return factors[:k] + factors[k + 1 :]
    return None


def _split(parts: _Fraction) -> tuple[float, list[Any]]:
    """The constant factor of a fraction, and its other factors in an order of their own, without those that cancel."""
    (above, top), (below, bottom) = (split_constants(side, repeated=True) for side in parts)
    counts = Counter(map(_bare, top))
    counts.subtract(map(_bare, bottom))
    return above / below if below else np.nan, sorted((id(f), n) for f, n in counts.items() if n)


def _same(a: _Fraction, b: _Fraction, sign: float) -> bool:
    """Whether ``a == sign * b``, factor by factor."""
    (ca, fa), (cb, fb) = _split(a), _split(b)
    return ca == sign * cb and fa == fb


def _negative_mean(term: _Fraction) -> Any:
    """``(e, axis, scale, h, total)`` if `term` is ``-scale * sum(h) * e / total`` with ``total == sum(e)`` along an axis, e an
    exponential; `scale` and `h` are fractions.
    """
    top, bottom = term
    for total in bottom:
        found = _summed(total)
        if found is None or argument_of(found[0], T.exp) is None or not total.type.dtype.startswith("float"):
            continue
        e, axis = found
        rest = _without(top, e)
        if rest is None:
            continue
        under = _without(bottom, total) or []
        for factor in rest:
            inner = _summed(factor)
            if inner is None or inner[1] != axis or inner[0].type.ndim != e.type.ndim or factor.type.dtype != e.type.dtype:
                continue
            h = opened(_bare(inner[0]))
            again = _without(under, total)
            if again is not None and any(f is e for f in h[0]):
                h, under = (h[0], [*h[1], total]), again
            return e, axis, (_without(rest, factor), under), h, total
    return None


@rewrites([T.add, T.mul], "canonicalize", among_inputs=[T.true_div, T.add], needs=[T.exp])
def local_grad_of_softmax_by_hand(node: Any) -> Any:
    """``g * e / s - e * sum(g * e) / s ** 2 -> softmax_grad(g, softmax(x))`` and ``g - e * sum(g) / s ->
    logsoftmax_grad(g, softmax(x))``, of ``e = exp(x)`` and ``s = sum(e, axis, keepdims=True)``
    """
    terms, outer = node.inputs, []
    if node.op == T.mul:
        sums = [i for i in node.inputs if i.owner is not None and i.owner.op == T.add]
        if len(sums) != 1 or not any(argument_of(i, T.exp) is not None for i in node.inputs):
            return False
        terms, outer = sums[0].owner.inputs, [i for i in node.inputs if i is not sums[0]]
    fractions = [opened(_bare(t)) for t in terms]
    # Only what is divided by a sum that has its dimension back.
    if not any(is_made_by(f, DimShuffle) for _, bottom in fractions for f in bottom):
        return False
    parts = [([*top, *outer], bottom) for top, bottom in fractions]
    if len(parts) == 2 and _same(parts[0], parts[1], -1.0):
        # Of a sum of probabilities, which is always 1.
        return replacement(node, np.asarray(0, dtype=node.outputs[0].type.dtype), outer or None)
    for j, part in enumerate(parts):
        found = _negative_mean(part)
        if found is None:
            continue
        e, axis, scale, h, total = found
        wanted = ([*scale[0], *h[0]], [*scale[1], *h[1]])
        i = next((k for k, p in enumerate(parts) if k != j and _same(p, wanted, -1.0)), None)
        if i is None:
            continue
        gradient = _gradient(e, axis, h, total)
        minus = T.constant(np.asarray(-1, dtype=e.type.dtype))
        if _split(scale) != (-1.0, []):
            gradient = quotient([minus, *scale[0], gradient], scale[1], e.type.dtype)
        left = [k for k in range(len(terms)) if k not in (i, j)]
        if not outer:
            left = _without_sums_of((terms[i], terms[j]), axis, left, fractions)
        rest = [T.mul(terms[k], *outer) if outer else terms[k] for k in left]
        return replacement(node, T.add(gradient, *rest) if rest else gradient)
    return False


def _gradient(e: Any, axis: int, h: _Fraction, total: Any) -> Any:
    """The gradient of the softmax or its logarithm, of ``h == g * e / total`` or another `h`."""
    dtype = e.type.dtype
    x = T.cast(argument_of(e, T.exp), dtype)
    top, bottom = _without(h[0], e), _without(h[1], total)
    of_softmax = top is not None and bottom is not None
    g = quotient(top, bottom, dtype) if of_softmax else quotient(*h, dtype)
    if g.type.broadcastable != x.type.broadcastable:
        g = T.fill(x, g)
    x = _unshifted(x, (axis,))
    op = softmax_grad if of_softmax else logsoftmax_grad
    return _along(lambda g_rows, rows: op(g_rows, softmax_op(rows)), axis, T.cast(g, dtype), x)


def _without_sums_of(parts: tuple[Any, Any], axis: int, terms: list[int], fractions: list[_Fraction]) -> list[int]:
    """Those `terms` that are no pair of one thing times the sum of either of two `parts`, the sum of which is 0.

    They would go at last as `local_grad_through_maximum` says, but what they become until then takes two more passes.
    """
    beside: tuple[dict, dict] = ({}, {})
    for k in terms:
        top, bottom = fractions[k]
        for f in top:
            for side, part in zip(beside, parts):
                if _summed(f) == (part, axis):
                    value, factors = _split((_without(top, f) or [], bottom))
                    side.setdefault((value, *factors), k)
    gone: set[int] = set()
    for what, k in beside[0].items():
        pair = {k, beside[1].get(what, k)}
        # A term with both sums goes with one other only.
        if len(pair) == 2 and gone.isdisjoint(pair):
            gone |= pair
    return [k for k in terms if k not in gone]


@rewrites([T.add], "canonicalize", among_inputs=[T.mul], needs=[T.eq])
def local_grad_through_maximum(node: Any) -> Any:
    """``d + c * eq(x, y) * sum(d, axis, keepdims=True) -> d`` for the gradient `d` of a softmax, of which the sums are 0, and
    ``a * eq(x, y) + b - a * eq(x, y) -> b``: what the gradient of a softmax, that is the same for any shift, has of the maximum
    """
    terms = node.inputs
    through = [k for k, t in enumerate(terms) if _has_comparison(t)]
    if not through:
        return False
    fractions = [opened(_bare(t)) for t in terms]
    gradients = [f for k, (top, _) in enumerate(fractions) if k not in through for f in top]
    dropped: set[int] = set()
    for k in through:
        for f in fractions[k][0]:
            inner = _summed(f)
            if inner is not None and any(inner[0] is d for d in gradients) and _zero_axis(inner[0], node.fgraph) == inner[1]:
                dropped.add(k)
    for n, k in enumerate(through):
        left = [m for m in through[n + 1 :] if m not in dropped]
        m = next((m for m in left if _same(fractions[k], fractions[m], -1.0)), None)
        if k not in dropped and m is not None:
            dropped |= {k, m}
    kept = [t for k, t in enumerate(terms) if k not in dropped]
    if not dropped or not kept:
        return False
    return replacement(node, T.add(*kept) if len(kept) > 1 else kept[0])


def _has_comparison(v: Any) -> bool:
    return is_elemwise(v.owner, T.mul) and any(is_elemwise(f.owner, T.eq) for f in v.owner.inputs)


def _zero_axis(v: Any, fgraph: Any) -> int | None:
    """The axis along which the sums of `v` are 0, as it is the gradient of a softmax along that axis; else None."""
    node = v.owner
    if node is None:
        return None
    if isinstance(node.op, (SoftmaxGrad, LogSoftmaxGrad)):
        return 1 if is_softmax(node.inputs[1]) else None
    if isinstance(node.op, T.Rebroadcast):
        return _zero_axis(node.inputs[0], fgraph)
    if isinstance(node.op, DimShuffle):
        axis = _zero_axis(node.inputs[0], fgraph)
        return node.op.new_order.index(axis) if axis in node.op.new_order else None
    if isinstance(node.op, T.Reshape) and v.type.ndim:
        rows, feature, last = node.inputs[0], getattr(fgraph, "shape_feature", None), v.type.ndim - 1
        if rows.type.ndim == 2 and feature is not None and _zero_axis(rows, fgraph) == 1:
            return last if feature.same_shape(v, rows, last, 1) else None
    return None

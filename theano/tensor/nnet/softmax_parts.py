"""Logarithms of parts of a softmax, and their gradients, without the logarithm of a probability that has become 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.graph import Constant, Variable
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.elemwise import DimShuffle
from theano.tensor.nnet.softmax import Softmax, SoftmaxGrad, SoftmaxWithBias, logsoftmax_grad, logsoftmax_op
from theano.tensor.rewriting.registry import register_specialize, register_stabilize
from theano.tensor.rewriting.terms import factors_of, is_elemwise, product_of, replacement, same_dtype
from theano.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
)

_VIEWS = (Subtensor, AdvancedSubtensor, AdvancedSubtensor1, DimShuffle, T.Reshape, T.Rebroadcast)
_DEPTH = 8

View = tuple[Any, Sequence[Any]]


@register_stabilize
@register_specialize
@local_optimizer([T.log], among_inputs=_VIEWS)
def local_log_of_part_of_softmax(node: Any) -> Any:
    """``log(softmax(x)[i]) -> logsoftmax(x)[i]``, also for other indices, reshapes and dimshuffles, and for chains of them"""
    views = []
    v = node.inputs[0]
    while v.owner is not None and isinstance(v.owner.op, _VIEWS) and len(views) < _DEPTH:
        views.append((v, v.owner.op, v.owner.inputs[1:]))
        v = v.owner.inputs[0]
    source = v.owner
    if not views or source is None or not isinstance(source.op, (Softmax, SoftmaxWithBias)):
        return False
    new = logsoftmax_op(source.inputs[0] if isinstance(source.op, Softmax) else source.inputs[0] + source.inputs[1])
    copy_stack_trace(v, new)
    for old, op, others in reversed(views):
        new = op(new, *others)
        copy_stack_trace(old, new)
    return replacement(node, new)


@register_stabilize
@register_specialize
@local_optimizer([SoftmaxGrad])
def local_grad_of_log_of_part_of_softmax(node: Any) -> Any:
    """``softmax_grad(dy, sm) -> logsoftmax_grad(dy * sm, sm)`` if `dy`, or a term of it, divides by `sm` or by parts of it, as
    the gradients of ``log(sm[i])`` do; these divisions cancel
    """
    dy, sm = node.inputs
    product = _Multiplied(sm).times(dy, (), _DEPTH)
    return False if product is None else replacement(node, logsoftmax_grad(same_dtype(product, sm), sm))


class _Multiplied:
    """The products of gradients with a softmax, or with the part of it that some views give, in which a division cancels."""

    def __init__(self, sm: Variable):
        self.sm = sm

    def part(self, views: Sequence[View]) -> Any:
        """Return what the views give of the softmax."""
        result = self.sm
        for op, others in views:
            result = op(result, *others)
        return result

    def is_part(self, v: Any, views: Sequence[View]) -> bool:
        """Return whether `v` is what the views give of the softmax.

        What keeps the order of the elements is passed over: a quotient by another shape of them would not have the shape of
        the gradient.
        """
        views = list(views)
        while True:
            while v.owner is not None and _keeps_order(v.owner.op):
                v = v.owner.inputs[0]
            while views and _keeps_order(views[-1][0]):
                views.pop()
            if not views:
                return v is self.sm
            op, others = views.pop()
            node = v.owner
            if node is None or node.op != op or len(node.inputs) != len(others) + 1:
                return False
            if not all(map(_same, node.inputs[1:], others)):
                return False
            v = node.inputs[0]

    def times(self, v: Any, views: Sequence[View], depth: int) -> Any:
        """Return ``v * part(views)`` if a division cancels in it, else None."""
        node = v.owner
        if node is None or not depth or v.type.dtype not in T.float_dtypes:
            return None
        op = node.op
        if is_elemwise(v.owner, T.true_div):
            top, bottom = node.inputs
            factors = factors_of(bottom)
            for k, f in enumerate(factors):
                if f.type.broadcastable == v.type.broadcastable and self.is_part(f, views):
                    rest = factors[:k] + factors[k + 1 :]
                    return _in_shape(T.true_div(top, product_of(rest)) if rest else top, v, f)
            inner = self.within(top, v, views, depth)
            return None if inner is None else T.true_div(inner, bottom)
        if is_elemwise(v.owner, T.inv):
            factors = factors_of(node.inputs[0])
            for k, f in enumerate(factors):
                if f.type.broadcastable == v.type.broadcastable and self.is_part(f, views):
                    rest = factors[:k] + factors[k + 1 :]
                    return T.inv(product_of(rest)) if rest else T.ones_like(v)
            return None
        if is_elemwise(v.owner, T.neg):
            inner = self.within(node.inputs[0], v, views, depth)
            return None if inner is None else T.neg(inner)
        if is_elemwise(v.owner, T.mul):
            for k, f in enumerate(node.inputs):
                inner = self.within(f, v, views, depth)
                if inner is not None:
                    return T.mul(*node.inputs[:k], inner, *node.inputs[k + 1 :])
            return None
        if is_elemwise(v.owner, T.add) or is_elemwise(v.owner, T.sub) or is_elemwise(v.owner, T.switch):
            condition = node.inputs[: 1 if is_elemwise(v.owner, T.switch) else 0]
            terms = node.inputs[len(condition) :]
            products = [self.within(t, v, views, depth) for t in terms]
            if all(p is None for p in products):
                return None
            part = self.part(views)
            pairs = zip(terms, products, strict=True)
            products = [p if p is not None else t if is_evidently(t, 0) else T.mul(t, part) for t, p in pairs]
            return op(*condition, *products)
        if isinstance(op, Assert):
            inner = self.times(node.inputs[0], views, depth - 1)
            return None if inner is None else op(inner, *node.inputs[1:])
        return self.scattered(v, views, depth)

    def within(self, term: Any, v: Any, views: Sequence[View], depth: int) -> Any:
        """Return ``term * part(views)`` for an operand of an elementwise `v`, one that does not broadcast."""
        return self.times(term, views, depth - 1) if term.type.broadcastable == v.type.broadcastable else None

    def scattered(self, v: Any, views: Sequence[View], depth: int) -> Any:
        """Return the product for a `v` that puts the elements of another variable where a view took them from."""
        node = v.owner
        op = node.op
        if isinstance(op, (IncSubtensor, AdvancedIncSubtensor, AdvancedIncSubtensor1)):
            base, values, *indices = node.inputs
            view, taken = _taking(node)
            inner = self.times(values, [*views, (view, taken)], depth - 1)
            below = None if is_evidently(base, 0) else self.times(base, views, depth - 1)
            if inner is None and below is None:
                return None
            if inner is None:
                inner = T.mul(values, self.part([*views, (view, taken)]))
            if below is None:
                below = base if is_evidently(base, 0) else T.mul(base, self.part(views))
            return op(below, inner, *indices)
        if isinstance(op, DimShuffle):
            (values,) = node.inputs
            part = self.part(views)
            order = op.new_order
            if any(a == "x" and not part.type.broadcastable[k] for k, a in enumerate(order)):
                return None
            back = [order.index(a) if a in order else "x" for a in range(values.type.ndim)]
            view = DimShuffle(part.type.broadcastable, back)
            inner = self.times(values, [*views, (view, ())], depth - 1)
            return None if inner is None else op(inner)
        if isinstance(op, T.Reshape):
            values, shape = node.inputs
            view = T.Reshape(values.type.ndim)
            inner = self.times(values, [*views, (view, [values.shape])], depth - 1)
            return None if inner is None else op(inner, shape)
        return None


def _same(a: Any, b: Any) -> bool:
    """Return whether two indices are the same variable, or constants of one value."""
    return a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.signature() == b.signature())


def _keeps_order(op: Any) -> bool:
    """Return whether an operation changes nothing but the shape."""
    if isinstance(op, DimShuffle):
        kept = [a for a in op.new_order if a != "x"]
        return kept == sorted(kept)
    return isinstance(op, (T.Reshape, T.Rebroadcast))


def _taking(node: Any) -> View:
    """Return the view of which an increment is the gradient."""
    op = node.op
    if not isinstance(op, IncSubtensor):
        return (AdvancedSubtensor1() if isinstance(op, AdvancedIncSubtensor1) else AdvancedSubtensor()), node.inputs[2:]
    # The only element along an axis is taken by a DimShuffle.
    broadcastable = node.inputs[0].type.broadcastable
    is_only = [not isinstance(e, slice) and b for e, b in zip(op.idx_list, broadcastable, strict=False)]
    if all(only or e == slice(None) for e, only in zip(op.idx_list, is_only, strict=True)):
        rest = range(len(is_only), len(broadcastable))
        return DimShuffle(broadcastable, [*(k for k, only in enumerate(is_only) if not only), *rest]), ()
    return Subtensor(op.idx_list), node.inputs[2:]


def _in_shape(value: Any, v: Any, divisor: Any) -> Any:
    """Return `value` in the dtype and the shape of the quotient `v` that it is the dividend of."""
    if value.type.broadcastable != v.type.broadcastable:
        value = T.fill(divisor, value)
    return same_dtype(value, v)

"""Rewrites of sigmoids, softmaxes and crossentropies: stable forms, and one operation for a loss and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.graph import Constant, Variable
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gof.rewriting.stages import optdb
from theano.scalar.casting import Cast
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise, MaxOrMinusInfinity, Sum
from theano.tensor.nnet.crossentropy import (
    CrossentropyCategorical1Hot,
    CrossentropyCategorical1HotGrad,
    CrossentropySoftmax1HotWithBiasDx,
    crossentropy_softmax_1hot_with_bias_dx,
    crossentropy_softmax_argmax_1hot_with_bias,
)
from theano.tensor.nnet.sigm import hard_sigmoid, sigmoid, softplus, ultra_fast_sigmoid
from theano.tensor.nnet.softmax import (
    LIKELY,
    LogSoftmax,
    LogSoftmaxGrad,
    Softmax,
    SoftmaxGrad,
    SoftmaxWithBias,
    is_softmax,
    logsoftmax_grad,
    logsoftmax_grad_graph,
    logsoftmax_op,
    softmax_grad,
    softmax_op,
    softmax_with_bias,
)
from theano.tensor.rewriting.layout import is_dimension_of
from theano.tensor.rewriting.registry import (
    register_canonicalize,
    register_specialize,
    register_stabilize,
    register_uncanonicalize,
)
from theano.tensor.rewriting.rules import Made, P, applies, called, rest, rewrite, rule, x, y
from theano.tensor.rewriting.terms import (
    argument_of,
    as_scalar_constant,
    factors_of,
    is_elemwise,
    is_number,
    negated,
    product_of,
    replacement,
    same_dtype,
)
from theano.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor

STAGES = [register_stabilize, register_specialize]
SIGMOID, SOFTPLUS, SOFTMAX, LOGSOFTMAX = map(
    applies, (sigmoid, softplus, softmax_op, logsoftmax_op), ("sigmoid", "softplus", "softmax", "logsoftmax")
)
_FLOAT = ("`x` is a float", lambda x: x.type.dtype in T.float_dtypes)


def _one_plus_exp(v: Any) -> Any:
    """Return `x` if `v` is ``1 + exp(x)``, else None."""
    if not is_elemwise(v.owner, T.add) or len(v.owner.inputs) != 2:
        return None
    for one, other in (v.owner.inputs, v.owner.inputs[::-1]):
        if is_number(one, 1):
            return argument_of(other, T.exp)
    return None


local_log_sigmoid = rewrite("local_log_sigmoid", STAGES, rule(P.log(SIGMOID(x)), P.neg(SOFTPLUS(-x)), "reals"))


local_log1p_to_softplus = rewrite(
    "local_log1p_to_softplus",
    STAGES,
    rule(P.log1p(P.exp(x)), SOFTPLUS(x), "reals"),
    rule(P.log1p(-SIGMOID(x)), P.neg(SOFTPLUS(x)), "reals"),
)


local_inv_1_plus_exp = rewrite("local_inv_1_plus_exp", STAGES, rule(P.inv(P.add(1, P.exp(x))), SIGMOID(-x), "wide"))


@register_stabilize
@register_specialize
@local_optimizer([T.true_div], needs=[T.exp])
def local_exp_over_1_plus_exp(node: Any) -> Any:
    """``a * exp(x) / (1 + exp(x)) -> a * sigmoid(x)`` and ``a / (1 + exp(x)) -> a * sigmoid(-x)``"""
    if node.outputs[0].type.dtype not in T.float_dtypes:
        return False
    numerator, denominator = (factors_of(v) for v in node.inputs)
    kept, changed = [], False
    for factor in denominator:
        x = _one_plus_exp(factor)
        # With exp(x) - 1 above the line it is a hyperbolic tangent.
        if x is None or any(argument_of(f, T.expm1) is x for f in numerator):
            kept.append(factor)
            continue
        changed = True
        for i, other in enumerate(numerator):
            if argument_of(other, T.exp) is x:
                numerator[i] = sigmoid(same_dtype(x, factor))
                break
        else:
            numerator = [f for f in numerator if not is_number(f, 1)] + [sigmoid(negated(same_dtype(x, factor)))]
    if not changed:
        return False
    result = product_of(numerator)
    if kept:
        result = T.true_div(result, product_of([same_dtype(f, node.inputs[1]) for f in kept]))
    return replacement(node, result)


local_sigm_times_exp = rewrite(
    "local_sigm_times_exp",
    STAGES,
    rule(P.mul(P.exp(x), SIGMOID(P.neg(x)), rest), P.mul(rest, SIGMOID(x)), where=_FLOAT),
    rule(P.mul(P.exp(P.neg(x)), SIGMOID(x), rest), P.mul(rest, SIGMOID(-x)), where=_FLOAT),
)


_NOT_FOR_DERIVATIVE = (
    "not all it is for is ``sigmoid(x) * (1 - sigmoid(x))``",
    lambda out: not _is_for_derivative(out.owner, out.owner.inputs[1]),
)
# That product is the sigmoid's derivative: an exponential for each of its elements would cost more than what the
# difference loses where it is small.
local_1msigmoid = rewrite("local_1msigmoid", STAGES, rule(P.sub(1, SIGMOID(x)), SIGMOID(-x), "wide", where=_NOT_FOR_DERIVATIVE))


def _is_for_derivative(node: Any, s: Any) -> bool:
    """Whether the result of `node` is only multiplied by `s`, which has other uses."""
    clients = getattr(node.outputs[0], "clients", ())
    products = {client for client, _ in clients if client != "output" and client.op == T.mul and s in client.inputs}
    if not products or any(client not in products for client, _ in clients):
        return False
    return any(client is not node and client not in products for client, _ in s.clients)


local_ultra_fast_sigmoid = rewrite("local_ultra_fast_sigmoid", [], rule(SIGMOID(x), applies(ultra_fast_sigmoid)(x)))


local_hard_sigmoid = rewrite("local_hard_sigmoid", [], rule(SIGMOID(x), Made("hard_sigmoid(x)", hard_sigmoid)))


# Approximations are a choice of the user: these act only when included by name.
optdb["uncanonicalize"].register("local_ultra_fast_sigmoid", local_ultra_fast_sigmoid)
optdb["uncanonicalize"].register("local_hard_sigmoid", local_hard_sigmoid)


local_log_softmax = rewrite(
    "local_log_softmax",
    STAGES,
    rule(P.log(SOFTMAX(x)), LOGSOFTMAX(x)),
    rule(P.log(applies(softmax_with_bias)(x, y)), LOGSOFTMAX(P.add(x, y))),
)


def _indexed_logs(z: Any, x: Any, rest: tuple) -> Any:
    return z.owner.op(copy_stack_trace(z, logsoftmax_op(x)), *rest)


_INDEXED = applies(AdvancedSubtensor, "index", lambda v, *index: v[index])
local_log_of_indexed_softmax = rewrite(
    "local_log_of_indexed_softmax",
    STAGES,
    rule(P.log(called("z", _INDEXED(SOFTMAX(x), rest))), Made("index(logsoftmax(x), ...)", _indexed_logs)),
    rule(
        P.log(called("z", _INDEXED(applies(softmax_with_bias)(x, y), rest))),
        Made("index(logsoftmax(x + y), ...)", lambda x, y, z, rest: _indexed_logs(z, x + y, rest)),
    ),
)


@register_stabilize
@register_specialize
@local_optimizer([SoftmaxGrad])
def local_logsoftmax_grad(node: Any) -> Any:
    """``softmax_grad(g / sm, sm) -> logsoftmax_grad(g, sm)``, which does not divide by vanishing probabilities; for a `g` of
    one element a row, ``g * (sm - onehot)``
    """
    dy, sm = node.inputs
    labels = _one_hot_gradient(dy)
    if labels is not None:
        # Of v at the label it is v * sm[label] * (onehot - sm), where v usually is a quotient by that probability.
        values, y_idx, rows = labels
        scale = _times_picked(values, sm, rows, y_idx)
        return replacement(node, crossentropy_softmax_1hot_with_bias_dx(_unrepeated(scale), sm, y_idx))
    if not is_elemwise(dy.owner, T.true_div):
        return False
    g, divisor = dy.owner.inputs
    factors = factors_of(divisor)
    if not any(f is sm for f in factors):
        return False
    position = next(i for i, f in enumerate(factors) if f is sm)
    rest = factors[:position] + factors[position + 1 :]
    labels = _one_hot_gradient(g)
    if labels is not None and all(all(f.type.broadcastable) for f in rest):
        values, y_idx, _ = labels
        values = _unrepeated(values)
        if rest:
            values = T.true_div(values, product_of([f.dimshuffle() for f in rest]))
        return replacement(node, crossentropy_softmax_1hot_with_bias_dx(values, sm, y_idx))
    if rest:
        g = T.true_div(g, product_of(rest))
    g = same_dtype(g, sm)
    if g.type.broadcastable != sm.type.broadcastable:
        g = T.fill(sm, g)
    return replacement(node, logsoftmax_grad(g, sm))


@register_stabilize
@register_specialize
@local_optimizer([LogSoftmaxGrad], among_inputs=[T.mul])
def local_logsoftmax_grad_of_product(node: Any) -> Any:
    """``logsoftmax_grad(g * sm, sm) -> softmax_grad(g, sm)``: what the gradient of ``exp(logsoftmax(x))`` is"""
    product, sm = node.inputs
    factors = factors_of(product)
    for k, f in enumerate(factors):
        if len(factors) > 1 and is_softmax(sm) and (f is sm or _becomes(f, sm)):
            g = same_dtype(product_of(factors[:k] + factors[k + 1 :]), sm)
            return replacement(node, softmax_grad(g, sm)) if g.type.broadcastable == sm.type.broadcastable else False
    return False


_LIGHT = (T.add, T.sub, T.mul, T.neg, T.true_div)


def _is_light(g: Any) -> bool:
    """Return whether to compute a matrix in each loop over it costs less than to write it down once.

    Not where it is of another softmax, whose rows would be gone through once more.
    """
    dtype = g.type.dtype
    todo = [g]
    for v in todo:
        if any(v.type.broadcastable):
            continue
        if is_softmax(v) or v.type.dtype != dtype:
            return False
        if v.owner is None or not isinstance(v.owner.op, Elemwise):
            continue
        divides = v.owner.op == T.true_div and not any(v.owner.inputs[1].type.broadcastable)
        if v.owner.op not in _LIGHT or divides or len(v.clients) > 1 or len(todo) > 8:
            return False
        todo += v.owner.inputs
    return True


@register_uncanonicalize
@local_optimizer([LogSoftmaxGrad])
def local_logsoftmax_grad_in_parts(node: Any) -> Any:
    """``logsoftmax_grad(g, sm) -> switch(sm > c, g * sum of other sm - sm * sum of other g, g - sm * sum(g))``, which is
    computed together with a `g` of a little arithmetic
    """
    g, sm = node.inputs
    if not is_softmax(sm) or g.owner is None or not isinstance(g.owner.op, Elemwise) or not _is_light(g):
        return False
    if g.type != sm.type or g.type.dtype == "float16":
        return False
    return replacement(node, logsoftmax_grad_graph(g, sm))


@register_stabilize
@register_specialize
@local_optimizer([T.sub], among_inputs=[Softmax, SoftmaxWithBias])
def local_1msoftmax(node: Any) -> Any:
    """``1 - softmax(x) -> switch(sm > c, sum of the other probabilities, 1 - sm)``, but of what a logarithm is taken: that has
    a form of its own
    """
    one, sm = node.inputs
    if not is_number(one, 1) or not is_softmax(sm) or sm.type.dtype != node.outputs[0].type.dtype:
        return False
    if any(c != "output" and c.op == T.log for c, _ in getattr(node.outputs[0], "clients", ())):
        return False
    likely = _is_likely(sm)
    zero = np.asarray(0, dtype=sm.type.dtype)
    return replacement(node, T.switch(likely, T.sum(T.switch(likely, zero, sm), axis=1, keepdims=True), _less_than_one(sm)))


@register_stabilize
@register_specialize
@local_optimizer([T.log, T.log1p])
def local_log_1msoftmax(node: Any) -> Any:
    """``log(1 - softmax(x)) -> switch(sm > c, logarithm of the sum of the other probabilities, log1p(-sm))``"""
    inner = node.inputs[0].owner
    if not is_elemwise(inner, T.sub if node.op == T.log else T.neg) or (node.op == T.log and not is_number(inner.inputs[0], 1)):
        return False
    sm = inner.inputs[-1]
    argument = _softmax_argument(sm)
    if argument is None or sm.type.dtype != node.outputs[0].type.dtype:
        return False
    x, b = argument
    likely = _is_likely(sm)
    logs = logsoftmax_op(x if b is None else x + b)
    others = T.switch(likely, np.asarray(-np.inf, dtype=sm.type.dtype), logs)
    of_others = T.log(T.sum(T.exp(others), axis=1, keepdims=True))
    return replacement(node, T.switch(likely, of_others, T.log(_less_than_one(sm))))


def _is_likely(sm: Any) -> Any:
    return T.gt(sm, np.asarray(LIKELY, dtype=sm.type.dtype))


def _less_than_one(sm: Any) -> Any:
    """Return ``1 - sm`` where that keeps the digits."""
    one, limit = (np.asarray(c, dtype=sm.type.dtype) for c in (1, LIKELY))
    return one - T.minimum(sm, limit)


@register_stabilize
@register_specialize
@local_optimizer([T.sub, LogSoftmaxGrad], among_inputs=[AdvancedIncSubtensor, T.neg])
def local_advanced_indexing_crossentropy_onehot_grad(node: Any) -> Any:
    """``logsoftmax_grad(g, softmax(x))``, or ``g - sum(g, axis=1) * softmax(x)``, -> ``v * (softmax(x) - onehot(y))`` for a
    `g` that is ``-v`` at ``[arange, y]``
    """
    if isinstance(node.op, LogSoftmaxGrad):
        g, sm = node.inputs
        labels = _one_hot_gradient(g)
        if labels is None or not is_softmax(sm):
            return False
        return replacement(node, crossentropy_softmax_1hot_with_bias_dx(_unrepeated(labels[0]), sm, labels[1]))
    g, product = node.inputs
    factors = factors_of(product)
    if len(factors) != 2:
        return False
    for total, sm in (factors, factors[::-1]):
        if sm.owner is None or not isinstance(sm.owner.op, (Softmax, SoftmaxWithBias)):
            continue
        shuffle = total.owner
        if shuffle is None or not isinstance(shuffle.op, DimShuffle) or tuple(shuffle.op.new_order) != (0, "x"):
            continue
        summed = shuffle.inputs[0].owner
        if summed is None or not isinstance(summed.op, Sum) or summed.inputs[0] is not g or summed.op.axis != (1,):
            continue
        labels = _one_hot_gradient(g)
        if labels is not None and g.type == node.outputs[0].type:
            values, y_idx, _ = labels
            return replacement(node, crossentropy_softmax_1hot_with_bias_dx(_unrepeated(values), sm, y_idx))
    return False


def _one_hot_gradient(g: Any) -> Any:
    """Return the negative values, the labels and the row numbers if `g` is 0 but for one element a row, else None."""
    node = g.owner
    negative = node is not None and is_elemwise(g.owner, T.neg)
    if negative:
        node = node.inputs[0].owner
    if node is None or not isinstance(node.op, AdvancedIncSubtensor) or len(node.inputs) != 4:
        return None
    zeros, values, rows, labels = node.inputs
    try:
        if T.get_scalar_constant_value(zeros) != 0:
            return None
    except T.NotScalarConstantError:
        return None
    if values.type.ndim > 1 or values.type.dtype not in T.float_dtypes or not _is_row_index(node, rows, labels, zeros):
        return None
    return (values if negative else _negative(values)), labels, rows


def _unrepeated(values: Any) -> Any:
    """Return the one number that a vector repeats, as a scalar or a vector of one element; or the vector."""
    node = values.owner
    if node is not None and isinstance(node.op, T.Alloc) and values.type.ndim == 1:
        repeated = node.inputs[0]
        if repeated.type.ndim == 0 or repeated.type.broadcastable[0]:
            return repeated
    return values


def _negative(values: Any) -> Any:
    """Return ``-values``, taken before values are repeated where they are."""
    node = values.owner
    if node is not None and isinstance(node.op, T.Alloc):
        return T.alloc(_negative(node.inputs[0]), *node.inputs[1:])
    if isinstance(values, Constant):
        return T.constant(-values.data)
    return negated(values)


def _times_picked(values: Any, sm: Any, rows: Any, labels: Any) -> Any:
    """Return ``values * sm[rows, labels]``, without dividing by that before."""

    def is_picked(v: Any) -> bool:
        node = v.owner
        if node is None or not isinstance(node.op, AdvancedSubtensor) or node.inputs[1:] != [rows, labels]:
            return False
        return node.inputs[0] is sm or _becomes(node.inputs[0], sm)

    negative = argument_of(values, T.neg)
    inner = values if negative is None else negative
    if is_elemwise(inner.owner, T.true_div) or is_elemwise(inner.owner, T.inv):
        dividend = T.ones_like(inner) if len(inner.owner.inputs) == 1 else inner.owner.inputs[0]
        divisor = inner.owner.inputs[-1]
        factors = factors_of(divisor)
        rest = [f for f in factors if not is_picked(f)]
        if len(rest) == len(factors) - 1:
            result = T.true_div(dividend, product_of(rest)) if rest else dividend
            return result if negative is None else _negative(result)
    return values * sm[rows, labels]


def _becomes(v: Any, sm: Any) -> bool:
    """Return whether `v` is going to be replaced by the softmax `sm`: the same softmax, or a quotient of exponentials."""
    if v.owner is None or sm.owner is None or not isinstance(sm.owner.op, Softmax):
        return False
    if v.owner.op == sm.owner.op:
        return v.owner.inputs == sm.owner.inputs
    if not is_elemwise(v.owner, T.true_div):
        return False
    numerator, denominator = v.owner.inputs
    x = argument_of(numerator, T.exp)
    return x is not None and _summed_axes(denominator, numerator) == (1,) and _unshifted(x, (1,)) is sm.owner.inputs[0]


def _is_row_index(node: Any, rows: Any, labels: Any, matrix: Any) -> bool:
    """Return whether ``matrix[rows, labels]`` picks one element of each row: `rows` counts all rows."""
    if not (isinstance(getattr(labels, "type", None), type(matrix.type)) and isinstance(rows.type, type(matrix.type))):
        return False
    if matrix.type.ndim != 2 or labels.type.ndim != 1 or rows.type.ndim != 1:
        return False
    if labels.type.dtype not in T.integer_dtypes or rows.type.dtype not in T.integer_dtypes:
        return False
    if labels.type.broadcastable != rows.type.broadcastable and labels.type.broadcastable[0]:
        return False
    owner = rows.owner
    if owner is None:
        if not isinstance(rows, Constant):
            return False
        length = len(rows.data)
        if not np.array_equal(rows.data, np.arange(length)):
            return False
        stop: Any = T.constant(length)
    else:
        if not isinstance(owner.op, T.ARange):
            return False
        start, stop, step = owner.inputs
        if as_scalar_constant(start) is None or as_scalar_constant(start) != 0 or not is_number(step, 1):
            return False
    return any(_is_length(node, stop, v) for v in (labels, matrix))


def _strip(v: Any) -> Any:
    """Return `v` without casts and conversions between scalars and 0-d tensors."""
    while v.owner is not None:
        op = v.owner.op
        is_cast = isinstance(op, Elemwise) and isinstance(op.scalar_op, Cast)
        if not (is_cast or isinstance(op, (T.TensorFromScalar, T.ScalarFromTensor))):
            break
        v = v.owner.inputs[0]
    return v


# Nodes that the expression of a length may have.
_LONGEST_LENGTH = 100


def _is_length(node: Any, stop: Any, v: Any) -> bool:
    """Return whether `stop` is known to be the length of the first dimension of `v`."""
    feature = getattr(getattr(node, "fgraph", None), "shape_feature", None)
    if feature is None:
        return is_dimension_of(_strip(stop), v, 0)
    lengths = feature.shape_of.get(v) if hasattr(feature.shape_of, "get") else feature.shape_of[v]
    return bool(lengths) and _computes_the_same(lengths[0], stop)


def _computes_the_same(x: Any, y: Any) -> bool:
    """Return whether two lengths are written alike, but for casts: that of a minibatch is a longer expression of its bounds."""
    stack, seen = [(x, y)], set()
    while stack:
        pair = a, b = tuple(map(_strip, stack.pop()))
        if a is b or pair in seen:
            continue
        seen.add(pair)
        if len(seen) > _LONGEST_LENGTH:
            return False
        if isinstance(a, Constant) and isinstance(b, Constant):
            if not np.array_equal(a.data, b.data):
                return False
        else:
            if a.owner is None or b.owner is None or a.index != b.index or a.owner.op != b.owner.op:
                return False
            if len(a.owner.inputs) != len(b.owner.inputs):
                return False
            stack += zip(a.owner.inputs, b.owner.inputs)
    return True


def _split_bias(z: Any) -> tuple[Any, Any]:
    """Return ``(x, b)`` with ``z == x + b``, `b` being the sum of the vectors that are added to every row, or None."""
    if not is_elemwise(z.owner, T.add):
        return z, None
    vectors, others = [], []
    for term in z.owner.inputs:
        node = term.owner
        if node is not None and isinstance(node.op, DimShuffle) and tuple(node.op.new_order) == ("x", 0):
            vectors.append(node.inputs[0])
        else:
            others.append(term)
    if not vectors:
        return z, None
    if not others:
        # A row of its own: one vector is taken for the matrix.
        others = [z.owner.inputs[0]]
        vectors = vectors[1:]
        if not vectors:
            return z, None
    x = others[0] if len(others) == 1 else T.add(*others)
    b = vectors[0] if len(vectors) == 1 else T.add(*vectors)
    if x.type != z.type or b.type.dtype not in T.float_dtypes or b.type.ndim != 1:
        return z, None
    return x, b


@register_specialize
@local_optimizer([Softmax])
def local_softmax_with_bias(node: Any) -> Any:
    """``softmax(x + b) -> softmax_with_bias(x, b)`` for a vector `b`"""
    x, b = _split_bias(node.inputs[0])
    return False if b is None else replacement(node, softmax_with_bias(x, b))


def _softmax_argument(v: Any) -> tuple[Any, Any] | None:
    """Return ``(x, b)`` if `v` is the softmax of ``x + b``, with None for `b` if there is none."""
    node = v.owner
    if node is None:
        return None
    if isinstance(node.op, Softmax):
        return _split_bias(node.inputs[0])
    if isinstance(node.op, SoftmaxWithBias):
        return tuple(node.inputs)
    return None


def _fused(x: Any, b: Any, labels: Any) -> Any:
    if b is None:
        b = T.zeros((x.shape[1],), dtype=x.type.dtype)
    return crossentropy_softmax_argmax_1hot_with_bias(x, b, labels, return_list=True)


def _sharing_softmax(z: Any, x: Any, b: Any) -> list[Variable]:
    """Return the softmaxes of ``z == x + b`` that the graph computes besides."""
    found = [c.outputs[0] for c, _ in getattr(z, "clients", ()) if c != "output" and isinstance(c.op, Softmax)]
    if b is not None:
        for c, _ in getattr(x, "clients", ()):
            if c != "output" and isinstance(c.op, SoftmaxWithBias) and c.inputs[0] is x and c.inputs[1] is b:
                found.append(c.outputs[0])
    return found


@register_stabilize
@register_specialize
@local_optimizer([CrossentropyCategorical1Hot])
def local_crossentropy_to_crossentropy_with_softmax(node: Any) -> Any:
    """``crossentropy(softmax(x + b), y)`` -> the operation that computes both at once"""
    sm, labels = node.inputs
    argument = _softmax_argument(sm)
    if argument is None or labels.type.dtype not in T.integer_dtypes:
        return False
    x, b = argument
    nll, new_sm, where = _fused(x, b, labels)
    if nll.type != node.outputs[0].type or new_sm.type != sm.type:
        return False
    copy_stack_trace(node.outputs[0], [nll, where])
    copy_stack_trace([sm, node.outputs[0]], new_sm)
    return {node.outputs[0]: nll, sm: new_sm}


@register_stabilize
@register_specialize
@local_optimizer([SoftmaxGrad])
def local_crossentropy_softmax_grad(node: Any) -> Any:
    """``softmax_grad(crossentropy_grad(g, sm, y), sm) -> g * (sm - onehot(y))``"""
    dy, sm = node.inputs
    if dy.owner is None or not isinstance(dy.owner.op, CrossentropyCategorical1HotGrad):
        return False
    g, coding_dist, labels = dy.owner.inputs
    if not (coding_dist is sm or _becomes(coding_dist, sm)):
        return False
    if labels.type.dtype not in T.integer_dtypes or g.type.dtype not in T.float_dtypes:
        return False
    return replacement(node, crossentropy_softmax_1hot_with_bias_dx(_unrepeated(g), sm, labels))


@register_specialize
@local_optimizer([CrossentropySoftmax1HotWithBiasDx], among_inputs=[T.Alloc])
def local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc(node: Any) -> Any:
    """``dx(alloc(g, n), sm, y) -> dx(g, sm, y)`` for one `g`, which the operation repeats itself"""
    dy, sm, labels = node.inputs
    repeated = _unrepeated(dy)
    if repeated is dy:
        return False
    return replacement(node, crossentropy_softmax_1hot_with_bias_dx(repeated, sm, labels))


@register_specialize
@local_optimizer([AdvancedSubtensor])
def local_advanced_indexing_crossentropy_onehot(node: Any) -> Any:
    """``logsoftmax(x + b)[arange(y.shape[0]), y] -> -crossentropy_softmax(x, b, y)``"""
    if len(node.inputs) != 3:
        return False
    matrix, rows, labels = node.inputs
    source = matrix.owner
    if source is None or not isinstance(source.op, LogSoftmax) or not _is_row_index(node, rows, labels, matrix):
        return False
    z = source.inputs[0]
    x, b = _split_bias(z)
    nll, new_sm, where = _fused(x, b, labels)
    new = T.neg(nll)
    old = node.outputs[0]
    if new.type != old.type:
        return False
    copy_stack_trace(old, [nll, new_sm, where, new])
    result = {old: new}
    for sm in _sharing_softmax(z, x, b):
        if sm.type == new_sm.type:
            copy_stack_trace([sm, old], new_sm)
            result[sm] = new_sm
    return result


@register_specialize
@local_optimizer([T.MaxAndArgmax, T.Argmax])
def local_argmax_pushdown(node: Any) -> Any:
    """``argmax(f(x)) -> argmax(x)`` for an increasing `f` of elements, and for the softmax of rows"""
    index = len(node.outputs) - 1
    if index == 1 and node.outputs[0].clients:
        return False
    source = node.inputs[0].owner
    if source is None:
        return False
    ndim = node.inputs[0].type.ndim
    along_rows = tuple(node.op.axis) == (ndim - 1,) if node.op.axis is not None else False
    if isinstance(source.op, (Softmax, SoftmaxWithBias)) and along_rows:
        x = source.inputs[0]
        if isinstance(source.op, SoftmaxWithBias):
            x = x + source.inputs[1]
    elif isinstance(source.op, Elemwise) and source.inputs[0].type.dtype not in T.complex_dtypes and any(
        is_elemwise(node.inputs[0].owner, f) for f in (sigmoid, T.tanh, softplus, T.exp)
    ):
        x = source.inputs[0]
    else:
        return False
    new = T.Argmax(node.op.axis)(x)
    if new.type != node.outputs[index].type:
        return False
    copy_stack_trace(node.outputs[index], new)
    return {node.outputs[index]: new}


@register_stabilize
@register_specialize
@local_optimizer([T.true_div], among_inputs=[T.exp])
def local_softmax_simplifier(node: Any) -> Any:
    """``exp(x) / sum(exp(x), axis, keepdims=True)`` -> the softmax of `x`, which is made a matrix whose rows are along the
    axis; over several axes ``exp(x - m) / sum(exp(x - m), axes, keepdims=True)``, m the maximum
    """
    numerator, denominator = node.inputs
    x = argument_of(numerator, T.exp)
    if x is None or x.type.dtype not in T.float_dtypes:
        return False
    axes = _summed_axes(denominator, numerator)
    if axes is None:
        return False
    if len(axes) == 1:
        return replacement(node, _softmax_along(_unshifted(x, axes), axes[0]))
    if _unshifted(x, axes) is not x:
        return False
    e = T.exp(x - T.makeKeepDims(x, MaxOrMinusInfinity(axes)(x), axes))
    copy_stack_trace(numerator, e)
    return replacement(node, e / T.sum(e, axis=axes, keepdims=True))


def softmax_simplifier(numerators: list[Any], denominators: list[Any]) -> tuple[list[Any], list[Any]]:
    """Replace each ``exp(x)`` among numerators whose ``sum(exp(x), axis, keepdims=True)`` is a denominator by the softmax.

    Parameters
    ----------
    numerators, denominators : list
        The factors of a quotient, which are changed.

    Returns
    -------
    list, list
        The same.

    See Also
    --------
    theano.tensor.nnet.softmax : Return ``exp(c) / sum(exp(c))`` of each row of a matrix, computed without overflow.
    theano.gof.LocalOptimizer : A rewrite of a single Apply node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> e = T.exp(T.dmatrix("x"))
    >>> softmax_simplifier([e], [e.sum(axis=1, keepdims=True)])
    ([Softmax.0], [])
    """
    for i, numerator in enumerate(numerators):
        x = argument_of(numerator, T.exp)
        if x is None or x.type.dtype not in T.float_dtypes:
            continue
        for j, denominator in enumerate(denominators):
            axes = _summed_axes(denominator, numerator)
            if axes is not None and len(axes) == 1:
                numerators[i] = _softmax_along(_unshifted(x, axes), axes[0])
                copy_stack_trace(numerator, numerators[i])
                del denominators[j]
                break
    return numerators, denominators


def _softmax_along(x: Any, axis: int) -> Any:
    """Return the softmax of `x` along one axis."""
    return _along(softmax_op, axis, x)


def _along(function: Any, axis: int, *arrays: Any) -> Any:
    """Return what `function` of rows gives for arrays of one shape that are cut along `axis`."""
    x = arrays[0]
    ndim = x.type.ndim
    if ndim == 1:
        return function(*(v.dimshuffle("x", 0) for v in arrays)).dimshuffle(1)
    order = [a for a in range(ndim) if a != axis] + [axis]
    back = [order.index(a) for a in range(ndim)]
    moved = [v if axis == ndim - 1 else v.dimshuffle(*order) for v in arrays]
    if ndim == 2:
        result = function(*moved)
    else:
        lengths = [moved[0].shape[k] for k in range(ndim)]
        rows = function(*(T.reshape(v, (T.mul(*lengths[:-1]), lengths[-1]), ndim=2) for v in moved))
        result = T.patternbroadcast(T.reshape(rows, lengths, ndim=ndim), moved[0].type.broadcastable)
    return result if axis == ndim - 1 else result.dimshuffle(*back)


def _summed_axes(total: Any, x: Any) -> tuple[int, ...] | None:
    """Return the axes if `total` is ``sum(x, axes, keepdims=True)``, else None."""
    node = total.owner
    if node is not None and isinstance(node.op, DimShuffle):
        order = node.op.new_order
        node = node.inputs[0].owner
    else:
        order = ()
    if node is None or not isinstance(node.op, Sum) or node.inputs[0] is not x:
        return None
    ndim = x.type.ndim
    axes = node.op.reduced_axes(ndim)
    kept = iter(range(ndim))
    wanted = tuple("x" if a in axes else next(kept) for a in range(ndim))
    return axes if tuple(order) == wanted else None


def _unshifted(x: Any, axes: tuple[int, ...]) -> Any:
    """Return `z` if `x` is ``z - max(z, axes, keepdims=True)``, else `x`."""
    if not is_elemwise(x.owner, T.sub):
        return x
    z, top = x.owner.inputs
    node = top.owner
    if node is not None and isinstance(node.op, DimShuffle):
        node = node.inputs[0].owner
    if node is None or not isinstance(node.op, (T.CAReduce, T.MaxAndArgmax)) or node.inputs[0] is not z:
        return x
    axis = node.op.axis
    reduced = tuple(range(z.type.ndim)) if axis is None else tuple(sorted(a % z.type.ndim for a in axis))
    return z if reduced == axes and x.type == z.type else x


@register_canonicalize
@register_stabilize
@local_optimizer([T.sub], among_inputs=[DimShuffle, T.log, T.add], needs=[T.log])
def local_logsoftmax_of_difference(node: Any) -> Any:
    """``x - log(sum(exp(x), axis, keepdims=True)) -> logsoftmax(x)`` for an `x` made a matrix whose rows are along the axis;
    also ``x - (m + log(sum(exp(x - m), axis, keepdims=True)))``, m the maximum
    """
    x, normalizer = node.inputs
    if x.type.dtype not in T.float_dtypes or x.type != node.outputs[0].type:
        return False
    terms = normalizer.owner.inputs if is_elemwise(normalizer.owner, T.add) else [normalizer]
    for k, term in enumerate(terms[:2]):
        found = _log_of_sum_of_exp(term)
        if found is None:
            continue
        z, axes = found
        if len(terms) == 1 and z is x:
            return replacement(node, _along(logsoftmax_op, axes[0], _unshifted(x, axes)))
        if len(terms) == 2 and is_elemwise(z.owner, T.sub) and z.owner.inputs == [x, terms[1 - k]] and _unshifted(z, axes) is x:
            return replacement(node, _along(logsoftmax_op, axes[0], x))
    return False


def _log_of_sum_of_exp(v: Any) -> tuple[Any, tuple[int, ...]] | None:
    """Return ``(x, axes)`` if `v` is ``log(sum(exp(x), axes, keepdims=True))`` along one axis, else None."""
    total = argument_of(v, T.log)
    outer = v.owner
    if total is None and outer is not None and isinstance(outer.op, DimShuffle):
        # log of the sum, which then gets its dimension back: the other order gives the same.
        inner = argument_of(outer.inputs[0], T.log)
        total = None if inner is None else outer.op(inner)
    shuffle = None if total is None else total.owner
    if shuffle is None or not isinstance(shuffle.op, DimShuffle):
        return None
    summed = shuffle.inputs[0].owner
    if summed is None or not isinstance(summed.op, Sum):
        return None
    x, axes = argument_of(summed.inputs[0], T.exp), _summed_axes(total, summed.inputs[0])
    return None if x is None or axes is None or len(axes) != 1 else (x, axes)

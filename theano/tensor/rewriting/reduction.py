"""Sums, products and other reductions."""

from __future__ import annotations

from typing import Any

from theano import scalar as scal
from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import All, CAReduce, DimShuffle, Elemwise, MaxOrMinusInfinity, Prod, Sum
from theano.tensor.elemwise import Any as Any_
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize, register_uncanonicalize, rewrites
from theano.tensor.rewriting.rules import Made, P, applies, called, rewrite, rule, x, y
from theano.tensor.rewriting.terms import exact_replacement, is_number, same_dtype

# All reductions that are CAReduce with parameters of their own.
_REDUCTIONS = [CAReduce, MaxOrMinusInfinity, Sum, Prod, All, Any_]


def _axes(op: Any, ndim: int) -> tuple[int, ...]:
    """The axes that `op` reduces, as a sorted tuple."""
    if op.axis is None:
        return tuple(range(ndim))
    axis = op.axis if isinstance(op.axis, tuple | list) else (op.axis,)
    return tuple(sorted(int(a) % ndim if ndim else 0 for a in axis))


def _with_axis(op: Any, axis: Any) -> Any:
    """`op` over other axes."""
    kwargs = {}
    for name in ("dtype", "acc_dtype", "no_zeros_in_input"):
        if hasattr(op, name):
            kwargs[name] = getattr(op, name)
    if type(op) is CAReduce:
        return CAReduce(op.scalar_op, axis)
    return type(op)(axis, **kwargs) if kwargs else type(op)(axis)


def _scalar_part(v: Any) -> Any:
    """`v` as a 0-d variable if all its dimensions are broadcastable, else None."""
    if v.type.ndim == 0:
        return v
    return v.dimshuffle() if all(v.type.broadcastable) else None


@rewrites([Sum, Prod], "canonicalize:local_sum_mul_by_scalar specialize:local_sum_mul_by_scalar")
def local_sum_prod_mul_by_scalar(node: Any) -> Any:
    """``sum(s * x) -> s * sum(x)``, ``sum(-x) -> -sum(x)``, ``prod(s * x) -> s ** x.size * prod(x)``,
    ``prod(-x) -> (-1) ** x.size * prod(x)``
    """
    x = node.inputs[0]
    inner = x.owner
    if inner is None or not isinstance(inner.op, Elemwise) or x.type.dtype in T.discrete_dtypes:
        return False
    out = node.outputs[0]
    is_sum = isinstance(node.op, Sum)
    if inner.op == T.neg:
        if not is_sum:
            return False
        total = node.op(inner.inputs[0])
        copy_stack_trace(out, total)
        return exact_replacement(node, T.neg(total))
    if inner.op != T.mul:
        return False
    scalars, rest = [], []
    for i in inner.inputs:
        part = _scalar_part(i)
        # Integers would be multiplied as such without the others.
        (rest if part is None else scalars).append(same_dtype(i if part is None else part, x))
    if not scalars:
        return False
    factor = scalars[0] if len(scalars) == 1 else T.mul(*scalars)
    if not rest:
        return False
    product = rest[0] if len(rest) == 1 else T.mul(*rest)
    if product.type.broadcastable != x.type.broadcastable:
        return False
    copy_stack_trace(out, product)
    product = same_dtype(product, x)
    reduced = node.op(product)
    copy_stack_trace(out, reduced)
    if not is_sum:
        axes = _axes(node.op, product.type.ndim)
        count = T.mul(*[product.shape[a] for a in axes]) if len(axes) > 1 else product.shape[axes[0]] if axes else None
        if count is None:
            return False
        factor = T.pow(factor, count)
    return exact_replacement(node, same_dtype(T.mul(factor, reduced), out))


@rewrites([Sum, Prod], "canonicalize")
def local_sum_prod_div_dimshuffle(node: Any) -> Any:
    """``sum(a / dimshuffle(b), axis) -> sum(a, axis) / dimshuffle(b)`` where `b` does not vary along `axis`, and
    ``sum(a * b, axis) -> sum(a, axis) * b`` if it is over some axes
    """
    x = node.inputs[0]
    inner = x.owner
    if inner is None or inner.op not in (T.true_div, T.mul) or not isinstance(node.op, Sum):
        return False
    ndim, out = x.type.ndim, node.outputs[0]
    axes = _axes(node.op, ndim)
    if not axes or len(x.clients) != 1:
        return False
    if inner.op == T.true_div:
        inside, outside = inner.inputs[:1], inner.inputs[1:]
    elif len(axes) == ndim or x.type.dtype in T.discrete_dtypes:
        return False
    else:
        outside = [i for i in inner.inputs if all(i.type.broadcastable[a] for a in axes)]
        inside = [i for i in inner.inputs if i not in outside]
    if not outside or not inside or not all(i.type.broadcastable[a] for i in outside for a in axes):
        return False
    rest = inside[0] if len(inside) == 1 else T.mul(*[same_dtype(i, x) for i in inside])
    if rest.type.broadcastable != x.type.broadcastable:
        return False
    total = node.op(same_dtype(rest, x))
    copy_stack_trace(out, [rest, total] if len(inside) > 1 else total)
    kept = [a for a in range(ndim) if a not in axes]
    return exact_replacement(node, same_dtype(inner.op(total, *[i.dimshuffle(*kept) for i in outside]), out))


def _is_over_all(out: Any, x: Any) -> bool:
    return out.type.ndim == 0 < x.type.ndim


local_sum_prod_all_to_none = rewrite(
    "local_sum_prod_all_to_none",
    "canonicalize",
    *[
        rule(
            applies(kind, "reduction", kind((0,)), lambda op: op.axis is not None)(x),
            Made("reduction(x) over no axis in particular", lambda out, x: _with_axis(out.owner.op, None)(x)),
            where=("it is over all axes", _is_over_all),
        )
        for kind in (Sum, Prod)
    ],
)


@register_canonicalize("local_sum_sum")
@register_uncanonicalize("local_sum_sum")
@local_optimizer(_REDUCTIONS)
def local_op_of_op(node: Any) -> Any:
    """``sum(sum(x)) -> sum(x)``, and so for the other reductions, over the axes of both"""
    op = node.op
    x = node.inputs[0]
    inner = x.owner
    if inner is None or type(inner.op) is not type(op) or len(x.clients) != 1:
        return False
    if inner.op.scalar_op != op.scalar_op or op.scalar_op not in _BINARY:
        return False
    dtypes = getattr(inner.op, "dtype", None), getattr(op, "dtype", None)
    if None not in dtypes and dtypes[0] != dtypes[1]:
        return False
    source = inner.inputs[0]
    out = node.outputs[0]
    if x.type.dtype != out.type.dtype:
        return False
    ndim = source.type.ndim
    first = _axes(inner.op, ndim)
    kept = [a for a in range(ndim) if a not in first]
    second = [kept[a] for a in _axes(op, x.type.ndim)]
    axis = tuple(sorted((*first, *second)))
    if len(axis) == ndim:
        merged = _with_axis(inner.op, None)
    else:
        merged = _with_axis(inner.op, axis)
    return exact_replacement(node, merged(source))


def _is_over_none(out: Any, x: Any) -> bool:
    op = out.owner.op
    return not _axes(op, x.type.ndim) and (x.type == out.type or isinstance(op, Sum | Prod))


local_cut_useless_reduce = rewrite(
    "local_cut_useless_reduce",
    "canonicalize:fast_compile useless:fast_compile",
    *[
        rule(applies(kind, "reduction", example, lambda op: not op.axis)(x), x, where=("it is over no axis", _is_over_none))
        for kind, example in zip(_REDUCTIONS, [CAReduce(scal.maximum, ()), *[kind(()) for kind in _REDUCTIONS[1:]]], strict=True)
    ],
)


@register_canonicalize
@register_uncanonicalize
@register_specialize
@local_optimizer(_REDUCTIONS)
def local_reduce_broadcastable(node: Any) -> Any:
    """``sum(x, axis) -> dimshuffle(x)`` where the dimensions along `axis` have length 1; only those are dropped."""
    x = node.inputs[0]
    op = node.op
    ndim = x.type.ndim
    axes = _axes(op, ndim)
    cut = [a for a in axes if x.type.broadcastable[a]]
    if not cut:
        return False
    out = node.outputs[0]
    if op.scalar_op not in (scal.add, scal.mul, scal.maximum, scal.minimum, scal.and_, scal.or_):
        return False
    if isinstance(op, (All, Any_)) and x.type.dtype != "bool":
        return False
    rest = [a for a in range(ndim) if a not in cut]
    shuffled = x.dimshuffle(*rest)
    left = tuple(rest.index(a) for a in axes if a not in cut)
    if left:
        new = _with_axis(op, left)(shuffled)
    else:
        new = same_dtype(shuffled, out)
    return exact_replacement(node, new)


_BINARY = {
    scal.add: T.add,
    scal.mul: T.mul,
    scal.maximum: T.maximum,
    scal.minimum: T.minimum,
    scal.and_: T.and_,
    scal.or_: T.or_,
}


@register_canonicalize
@register_uncanonicalize
@local_optimizer(_REDUCTIONS, needs=[T.Join])
def local_reduce_join(node: Any) -> Any:
    """``sum(join(0, a[None], b[None]), axis=0) -> a + b``, and so for the other reductions

    Where every part has length 1 along the axis that is joined and reduced.
    """
    x = node.inputs[0]
    inner = x.owner
    if inner is None or not isinstance(inner.op, T.Join):
        return False
    elementwise = _BINARY.get(node.op.scalar_op)
    axis_var = inner.inputs[0]
    if elementwise is None or not isinstance(axis_var, Constant):
        return False
    axis = int(axis_var.data)
    parts = inner.inputs[1:]
    ndim = x.type.ndim
    axis %= ndim
    if _axes(node.op, ndim) != (axis,) or len(parts) < 2:
        return False
    if node.op.scalar_op not in (scal.add, scal.mul) and len(parts) > 2:
        return False
    if not all(p.type.broadcastable[axis] and p.type.ndim == ndim for p in parts):
        return False
    out = node.outputs[0]
    rest = [a for a in range(ndim) if a != axis]
    # Small integers are summed in a wider type, and floats are accumulated in one: only equal types give equal values.
    flat = [same_dtype(_reordered(p, rest), out) for p in parts]
    if len({f.type.broadcastable for f in flat}) != 1:
        return False
    return exact_replacement(node, elementwise(*flat))


def _reordered(v: Any, order: list[int]) -> Any:
    """``v.dimshuffle(order)``, as one DimShuffle where `v` is one."""
    node = v.owner
    if node is not None and isinstance(node.op, DimShuffle):
        v, order = node.inputs[0], [node.op.new_order[a] for a in order]
    return v if order == list(range(v.type.ndim)) else v.dimshuffle(*order)


_IS_FLAG = ("`x` is one bool", lambda out, x: x.type == out.type and x.type.ndim == 0)
local_useless_reduce = rewrite(
    "local_useless_reduce",
    "canonicalize:fast_compile",
    *[rule(applies(kind, "reduction", kind())(x), x, where=_IS_FLAG) for kind in (All, Any_)],
)


def _is_joined(node: Any) -> bool:
    """Whether `local_op_of_op` makes this reduction one with what takes its result."""
    (out,) = node.outputs
    (client, _), *others = out.clients or [("output", 0)]
    if others or client == "output" or type(client.op) is not type(node.op):
        return False
    return client.op.scalar_op == node.op.scalar_op and client.outputs[0].type.dtype == out.type.dtype


@rewrites([Sum, Prod], "specialize:local_sum_alloc canonicalize:local_sum_alloc", needs=[T.Alloc])
def local_opt_alloc(node: Any) -> Any:
    """``sum(alloc(c, n)) -> c * n`` and ``prod(alloc(c, n)) -> c ** n`` over axes along which `c` does not vary"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, T.Alloc):
        return False
    if _is_joined(node):
        return False
    value, shape = inner.inputs[0], inner.inputs[1:]
    ndim = len(shape)
    axes = _axes(node.op, ndim)
    if not axes:
        return False
    skip = ndim - value.type.ndim
    if any(a >= skip and not value.type.broadcastable[a - skip] for a in axes):
        return False
    out = node.outputs[0]
    size = shape[axes[0]] if len(axes) == 1 else T.mul(*[shape[a] for a in axes])
    # The product is exact in the dtype of the result, where int64 times float32 would be float64.
    dtype = out.type.dtype
    if dtype == "float16":
        return False
    value = same_dtype(value, out)
    size = T.cast(size, dtype)
    kept = [a for a in range(value.type.ndim) if a + skip not in axes]
    while kept and value.type.broadcastable[kept[0]]:
        del kept[0]
    base = value.dimshuffle(*kept) if value.type.ndim else value
    new = T.mul(base, size) if isinstance(node.op, Sum) else T.pow(base, size)
    new = same_dtype(new, out)
    rest = [shape[a] for a in range(ndim) if a not in axes]
    if rest:
        new = T.alloc(new, *rest)
    return exact_replacement(node, new)


@rewrites([Sum], "canonicalize", needs=[Assert])
def local_sum_of_asserted_zeros(node: Any) -> Any:
    """``sum(assert(alloc(0, n), shapes are equal)) -> 0`` over all axes: whatever the shapes are, and where they are not equal"""
    variable = node.inputs[0]
    if node.outputs[0].type.ndim:
        return False
    while variable.owner is not None and isinstance(variable.owner.op, Assert):
        if not str(variable.owner.op.msg).startswith("local_elemwise_alloc"):
            return False
        variable = variable.owner.inputs[0]
    inner = variable.owner
    if variable is node.inputs[0] or inner is None or not isinstance(inner.op, T.Alloc) or not is_number(inner.inputs[0], 0):
        return False
    return exact_replacement(node, T.constant(0, dtype=node.outputs[0].type.dtype))


def _are_rows_and_columns(out: Any, x: Any, y: Any, z: Any, c: Any, d: Any) -> bool:
    """Whether `z` has examples, inputs and outputs of a layer as dimensions, of which `c` and `d` have all but one each."""
    return (
        z.type.ndim == 3
        and _axes(out.owner.op, 3) == (1, 2)
        # The product of two squares of integers may fit where the square of the product has wrapped around.
        and z.type.dtype not in T.discrete_dtypes
        and (tuple(c.owner.op.new_order), tuple(d.owner.op.new_order)) == (("x", 0, 1), (0, "x", 1))
        and x.type.broadcastable[1] == y.type.broadcastable[1]
    )


_PRODUCT = P.mul(
    called("c", applies(DimShuffle, "x", lambda v: v.dimshuffle("x", 0, 1))(x)),
    called("d", applies(DimShuffle, "y", lambda v: v.dimshuffle(0, "x", 1))(y)),
)
#: The norms of the gradients of each example, without the tensor of all of them.
local_sumsqr2dot = rewrite(
    "local_sumsqr2dot",
    "specialize stabilize",
    rule(
        applies(Sum, "sum", Sum((1, 2)))(called("z", P.sqr(_PRODUCT))),
        Made("dot(y ** 2, sum(x ** 2, axis=0))",
             lambda x, y, z: T.dot(T.sqr(same_dtype(y, z)), T.sqr(same_dtype(x, z)).sum(axis=0))),
        where=("it is ``sum(sqr(x[None, :, :] * y[:, None, :]), axis=(1, 2))``", _are_rows_and_columns)
    )
)  # fmt: skip


@rewrites([T.MaxAndArgmax], "uncanonicalize")
def local_max_and_argmax(node: Any) -> Any:
    """``max_and_argmax(x) -> max(x)`` or ``argmax(x)`` if the other is not used"""
    maximum, argmax = node.outputs
    x = node.inputs[0]
    if not argmax.clients:
        new = CAReduce(scal.maximum, node.op.axis)(x)
        if new.type != maximum.type:
            return False
        copy_stack_trace(maximum, new)
        return [new, None]
    if not maximum.clients:
        new = T.Argmax(node.op.axis)(x)
        if new.type != argmax.type:
            return False
        copy_stack_trace(argmax, new)
        return [None, new]
    return False


@rewrites([CAReduce, MaxOrMinusInfinity, Sum, Prod], "uncanonicalize")
def local_reduce_of_dimshuffle(node: Any) -> Any:
    """``sum(dimshuffle(x)) -> sum(x)`` of all elements, and ``sum(x.T, axis=0) -> sum(x, axis=1)``"""
    op = node.op
    x = node.inputs[0]
    inner = x.owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return False
    source = inner.inputs[0]
    if source.type.ndim == 0 or any(source.type.broadcastable):
        return False
    axes, order = _axes(op, x.type.ndim), tuple(inner.op.new_order)
    if len(axes) == x.type.ndim:
        new = _with_axis(op, None)(source)
    else:
        kept = [o for a, o in enumerate(order) if a not in axes]
        if "x" in order or kept != sorted(kept):
            return False
        new = _with_axis(op, tuple(sorted(order[a] for a in axes)))(source)
    return exact_replacement(node, new)

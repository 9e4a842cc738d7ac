"""Sums, products and other reductions."""

from __future__ import annotations

from typing import Any

from theano import scalar as scal
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import All, CAReduce, DimShuffle, MaxOrMinusInfinity, Prod, Sum
from theano.tensor.elemwise import Any as Any_
from theano.tensor.rewriting.fill import _ALLOC
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import Made, P, applies, c, called, once, replaces, rest, rewrite, rule, x, y
from theano.tensor.rewriting.terms import as_scalar_constant, changed, exact_replacement, is_number, product_of, same_dtype

# All reductions that are CAReduce with parameters of their own.
_REDUCTIONS = (CAReduce, MaxOrMinusInfinity, Sum, Prod, All, Any_)
_DIMSHUFFLE, _JOIN = applies(DimShuffle, "dimshuffle"), applies(T.Join, "join")


@replaces(
    [applies((Sum, Prod))(called("y", P.mul(rest))), applies(Sum)(called("y", P.neg(rest)))],
    "canonicalize:local_sum_mul_by_scalar specialize:local_sum_mul_by_scalar",
)
def local_sum_prod_mul_by_scalar(out: Any, y: Any, rest: tuple) -> Any:
    """``sum(s * x) -> s * sum(x)``, ``sum(-x) -> -sum(x)``, ``prod(s * x) -> s ** x.size * prod(x)``,
    ``prod(-x) -> (-1) ** x.size * prod(x)``
    """
    op = out.owner.op
    if y.type.dtype in T.discrete_dtypes:
        return None
    if y.owner.op == T.neg:
        return T.neg(op(*rest))
    # Integers would be multiplied as such without the others.
    numbers = [i.dimshuffle() if i.type.ndim and all(i.type.broadcastable) else i for i in rest]
    factors = [same_dtype(i, y) for i in numbers]
    factor, product = (product_of([f for f in factors if bool(f.type.ndim) == varies]) for varies in (False, True))
    if factor is None or product is None or product.type.broadcastable != y.type.broadcastable:
        return None
    if isinstance(op, Prod):
        count = product_of([product.shape[a] for a in op.reduced_axes(y.type.ndim)])
        if count is None:
            return None
        factor = T.pow(factor, count)
    return T.mul(factor, op(product))


@replaces(applies(Sum)(called("y", once(applies((T.true_div, T.mul))(rest)))), "canonicalize")
def local_sum_prod_div_dimshuffle(out: Any, y: Any, rest: tuple) -> Any:
    """``sum(a / dimshuffle(b), axis) -> sum(a, axis) / dimshuffle(b)`` where `b` does not vary along `axis`, and
    ``sum(a * b, axis) -> sum(a, axis) * b`` if it is over some axes
    """
    axes, ndim = out.owner.op.reduced_axes(y.type.ndim), y.type.ndim
    outside = [i for i in rest if all(i.type.broadcastable[a] for a in axes)]
    inside = [i for i in rest if i not in outside]
    if y.owner.op == T.true_div:
        if rest[1] not in outside:
            return None
        inside, outside = list(rest[:1]), list(rest[1:])
    elif len(axes) == ndim or y.type.dtype in T.discrete_dtypes:
        return None
    total = product_of([same_dtype(i, y) for i in inside])
    if not axes or not outside or total is None or total.type.broadcastable != y.type.broadcastable:
        return None
    kept = [a for a in range(ndim) if a not in axes]
    return y.owner.op(out.owner.op(total), *[i.dimshuffle(*kept) for i in outside])


local_sum_prod_all_to_none = rewrite(
    "local_sum_prod_all_to_none",
    "canonicalize",
    *[
        rule(
            applies(kind, "reduction", kind((0,)), lambda op: op.axis is not None)(x),
            Made("reduction(x) over no axis in particular", lambda out, x: changed(out.owner.op, axis=None)(x)),
            where=("it is over all axes", lambda out, x: out.type.ndim == 0 < x.type.ndim),
        )
        for kind in (Sum, Prod)
    ],
)


@replaces(
    [applies(kind)(called("y", once(applies(kind)(x)))) for kind in _REDUCTIONS],
    "canonicalize:local_sum_sum uncanonicalize:local_sum_sum",
)
def local_op_of_op(out: Any, x: Any, y: Any) -> Any:
    """``sum(sum(x)) -> sum(x)``, and so for the other reductions, over the axes of both"""
    op, inner, ndim = out.owner.op, y.owner.op, x.type.ndim
    if inner.scalar_op != op.scalar_op or op.scalar_op not in _BINARY or y.type.dtype != out.type.dtype:
        return None
    dtypes = getattr(inner, "dtype", None), getattr(op, "dtype", None)
    if None not in dtypes and dtypes[0] != dtypes[1]:
        return None
    first = inner.reduced_axes(ndim)
    kept = [a for a in range(ndim) if a not in first]
    axis = tuple(sorted((*first, *[kept[a] for a in op.reduced_axes(y.type.ndim)])))
    return changed(inner, axis=None if len(axis) == ndim else axis)(x)


def _is_over_none(out: Any, x: Any) -> bool:
    op = out.owner.op
    return not op.reduced_axes(x.type.ndim) and (x.type == out.type or isinstance(op, Sum | Prod))


local_cut_useless_reduce = rewrite(
    "local_cut_useless_reduce",
    "canonicalize:fast_compile useless:fast_compile",
    *[
        rule(applies(kind, "reduction", example, lambda op: not op.axis)(x), x, where=("it is over no axis", _is_over_none))
        for kind, example in zip(_REDUCTIONS, [CAReduce(scal.maximum, ()), *[kind(()) for kind in _REDUCTIONS[1:]]], strict=True)
    ],
)


@replaces(applies(_REDUCTIONS)(x), "canonicalize uncanonicalize specialize")
def local_reduce_broadcastable(out: Any, x: Any) -> Any:
    """``sum(x, axis) -> dimshuffle(x)`` where the dimensions along `axis` have length 1; only those are dropped."""
    op, axes = out.owner.op, out.owner.op.reduced_axes(x.type.ndim)
    cut = [a for a in axes if x.type.broadcastable[a]]
    if not cut or op.scalar_op not in _BINARY or (isinstance(op, (All, Any_)) and x.type.dtype != "bool"):
        return None
    rest = [a for a in range(x.type.ndim) if a not in cut]
    left = tuple(rest.index(a) for a in axes if a not in cut)
    return changed(op, axis=left)(x.dimshuffle(*rest)) if left else x.dimshuffle(*rest)


_BINARY = {op.scalar_op: op for op in (T.add, T.mul, T.maximum, T.minimum, T.and_, T.or_)}


@replaces(applies(_REDUCTIONS)(called("y", _JOIN(c, rest))), "canonicalize uncanonicalize")
def local_reduce_join(out: Any, y: Any, c: Any, rest: tuple) -> Any:
    """``sum(join(0, a[None], b[None]), axis=0) -> a + b``, and so for the other reductions

    Where every part has length 1 along the axis that is joined and reduced.
    """
    op, axis = out.owner.op, int(as_scalar_constant(c)) % y.type.ndim
    elementwise = _BINARY.get(op.scalar_op)
    if elementwise is None or op.reduced_axes(y.type.ndim) != (axis,) or not all(p.type.broadcastable[axis] for p in rest):
        return None
    if len(rest) < 2 or (len(rest) > 2 and op.scalar_op not in (scal.add, scal.mul)):
        return None
    order = [a for a in range(y.type.ndim) if a != axis]
    # Small integers are summed in a wider type, and floats are accumulated in one: only equal types give equal values.
    flat = [same_dtype(_reordered(p, order), out) for p in rest]
    return elementwise(*flat) if len({f.type.broadcastable for f in flat}) == 1 else None


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


@replaces(applies((Sum, Prod))(_ALLOC(x, rest)), "specialize:local_sum_alloc canonicalize:local_sum_alloc")
def local_opt_alloc(out: Any, x: Any, rest: tuple) -> Any:
    """``sum(alloc(c, n)) -> c * n`` and ``prod(alloc(c, n)) -> c ** n`` over axes along which `c` does not vary"""
    op, axes, skip = out.owner.op, out.owner.op.reduced_axes(len(rest)), len(rest) - x.type.ndim
    if not axes or out.type.dtype == "float16" or _is_joined(out.owner):
        return None
    if any(a >= skip and not x.type.broadcastable[a - skip] for a in axes):
        return None
    kept = [a for a in range(x.type.ndim) if a + skip not in axes]
    while kept and x.type.broadcastable[kept[0]]:
        del kept[0]
    base = same_dtype(x, out)
    # The product is exact in the dtype of the result, where int64 times float32 would be float64.
    size = T.cast(product_of([rest[a] for a in axes]), out.type.dtype)
    new = (T.mul if isinstance(op, Sum) else T.pow)(base.dimshuffle(*kept) if x.type.ndim else base, size)
    left = [length for a, length in enumerate(rest) if a not in axes]
    return T.alloc(same_dtype(new, out), *left) if left else new


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


def _are_rows_and_columns(out: Any, x: Any, y: Any, z: Any) -> bool:
    """Whether `z` has examples, inputs and outputs of a layer as dimensions, of which `x` and `y` have all but one each."""
    # The product of two squares of integers may fit where the square of the product has wrapped around.
    return (
        out.owner.op.reduced_axes(3) == (1, 2)
        and z.type.dtype not in T.discrete_dtypes
        and x.type.broadcastable[1] == y.type.broadcastable[1]
    )


def _inserted(*order: Any) -> Any:
    return applies(DimShuffle, "dimshuffle", lambda v: v.dimshuffle(order), lambda op: tuple(op.new_order) == order)


#: The norms of the gradients of each example, without the tensor of all of them.
local_sumsqr2dot = rewrite(
    "local_sumsqr2dot",
    "specialize stabilize",
    rule(
        applies(Sum, "sum", Sum((1, 2)))(called("z", P.sqr(P.mul(_inserted("x", 0, 1)(x), _inserted(0, "x", 1)(y))))),
        Made("dot(y ** 2, sum(x ** 2, axis=0))",
             lambda x, y, z: T.dot(T.sqr(same_dtype(y, z)), T.sqr(same_dtype(x, z)).sum(axis=0))),
        where=("it is ``sum(sqr(x[None, :, :] * y[:, None, :]), axis=(1, 2))``", _are_rows_and_columns),
    ),
)  # fmt: skip


@rewrites([T.MaxAndArgmax], "uncanonicalize")
def local_max_and_argmax(node: Any) -> Any:
    """``max_and_argmax(x) -> max(x)`` or ``argmax(x)`` if the other is not used"""
    for k, op in enumerate((CAReduce(scal.maximum, node.op.axis), T.Argmax(node.op.axis))):
        if not node.outputs[1 - k].clients:
            new = exact_replacement(node, op(node.inputs[0]), index=k)
            return [*[None] * k, *new, *[None] * (1 - k)] if new else False
    return False


@replaces(applies((CAReduce, MaxOrMinusInfinity, Sum, Prod))(called("y", _DIMSHUFFLE(x))), "uncanonicalize")
def local_reduce_of_dimshuffle(out: Any, x: Any, y: Any) -> Any:
    """``sum(dimshuffle(x)) -> sum(x)`` of all elements, and ``sum(x.T, axis=0) -> sum(x, axis=1)``"""
    axes, order = out.owner.op.reduced_axes(y.type.ndim), tuple(y.owner.op.new_order)
    if x.type.ndim == 0 or any(x.type.broadcastable):
        return None
    if len(axes) == y.type.ndim:
        return changed(out.owner.op, axis=None)(x)
    kept = [o for a, o in enumerate(order) if a not in axes]
    if "x" in order or kept != sorted(kept):
        return None
    return changed(out.owner.op, axis=tuple(sorted(order[a] for a in axes)))(x)

"""Indexing: merge and drop index operations, and move them towards the inputs so that less is computed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.opt import TopoOptimizer, copy_stack_trace, in2out, local_optimizer
from theano.gof.rewriting.stages import optdb
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.creation import ARange
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.elemwise import one_comes_down
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize, register_stabilize, register_useless
from theano.tensor.rewriting.rules import Made, applies, called, rest, rewrite, rule, x, y, z
from theano.tensor.rewriting.shape import same_dimension
from theano.tensor.rewriting.terms import as_scalar_constant, exact_replacement, lengths_of, same_dtype
from theano.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
    get_canonical_form_slice,
    get_idx_list,
    inc_subtensor,
)


def _plain(index: Any) -> Any:
    """The int that a constant index part is; the part itself (or its tensor) otherwise."""
    if index is None or isinstance(index, int | np.integer):
        return None if index is None else int(index)
    if isinstance(index, Constant):
        return int(index.data)
    owner = index.owner
    if owner is not None and isinstance(owner.op, T.ScalarFromTensor):
        inner = owner.inputs[0]
        return int(inner.data) if isinstance(inner, Constant) else inner
    if not hasattr(index.type, "broadcastable"):
        return T.tensor_from_scalar(index)
    return index


def indices_of(node: Any) -> list[Any]:
    """Return the index of a Subtensor or IncSubtensor Apply: slices and integers whose parts are None, ints or 0-d tensors.

    Parameters
    ----------
    node : Apply
        The node.

    Examples
    --------
    >>> indices_of(T.dmatrix()[1 : T.lscalar("n"), 2].owner)
    [slice(1, n, None), 2]
    """
    inputs = node.inputs if isinstance(node.op, Subtensor) else [node.inputs[0], *node.inputs[2:]]
    return [
        slice(_plain(e.start), _plain(e.stop), _plain(e.step)) if isinstance(e, slice) else _plain(e)
        for e in get_idx_list(inputs, node.op.idx_list)
    ]


def _all_entries(node: Any) -> list[Any]:
    """The index of a Subtensor Apply as it is written, for all dimensions."""
    entries = list(get_idx_list(node.inputs, node.op.idx_list))
    return entries + [slice(None)] * (node.inputs[0].type.ndim - len(entries))


def _taken(x: Any, parts: list[Any]) -> Any:
    """``x[parts]``, without an index that takes everything."""
    while parts and isinstance(parts[-1], slice) and parts[-1] == slice(None):
        parts.pop()
    return x[tuple(parts)] if parts else x


def _is_full(entry: Any, length: Any) -> bool:
    """Whether a slice takes all of a dimension whose symbolic length (or None) is given."""
    if not isinstance(entry, slice):
        return False
    if entry.step is not None and not (isinstance(entry.step, int) and entry.step == 1):
        return False
    if entry.start is not None and not (isinstance(entry.start, int) and entry.start == 0):
        return False
    stop = entry.stop
    if stop is None:
        return True
    if isinstance(stop, int):
        if stop >= sys.maxsize:
            return True
        return isinstance(length, Constant) and stop >= int(length.data)
    return length is not None and same_dimension(stop, length)


@register_useless
@register_canonicalize
@register_specialize
@local_optimizer([Subtensor])
def local_useless_slice(node: Any) -> Any:
    """``x[0:n:1, i] -> x[:, i]`` and ``x[i, :] -> x[i]``: parts of slices that say nothing are dropped.

    `n` must be the length of the dimension.
    """
    x, idx = node.inputs[0], indices_of(node)
    lengths = None
    new: list[Any] = []
    for k, entry in enumerate(idx):
        if isinstance(entry, slice) and entry != slice(None):
            if lengths is None and not isinstance(entry.stop, int | None):
                lengths = lengths_of(node, x)
            if _is_full(entry, lengths[k] if lengths is not None else None):
                entry = slice(None)
            elif isinstance(entry.step, int) and entry.step == 1:
                entry = slice(entry.start, entry.stop, None)
        new.append(entry)
    if new == idx and new[-1:] != [slice(None)]:
        return False
    out = _taken(x, new)
    if out.type != node.outputs[0].type:
        return False
    if out is not x:
        copy_stack_trace(node.outputs[0], out)
    return [out]


@register_useless
@register_canonicalize
@register_specialize
@local_optimizer([Subtensor])
def local_useless_subtensor(node: Any) -> Any:
    """``x[:] -> x``, ``x[0:x.shape[0]] -> x``"""
    x = node.inputs[0]
    if x.type != node.outputs[0].type:
        return False
    idx = indices_of(node)
    lengths = lengths_of(node, x) if any(isinstance(e, slice) and e.stop is not None for e in idx) else None
    return [x] if all(_is_full(e, None if lengths is None else lengths[k]) for k, e in enumerate(idx)) else False


@register_canonicalize("fast_compile")
@register_useless("fast_compile")
@register_specialize
@local_optimizer([Subtensor, AdvancedSubtensor1])
def local_subtensor_make_vector(node: Any) -> Any:
    """``MakeVector(a, b, c)[1] -> b``, ``MakeVector(a, b, c)[:2] -> MakeVector(a, b)``, and ``[[0, 2]] -> MakeVector(a, c)``"""
    x = node.inputs[0]
    inner = x.owner
    if inner is not None and isinstance(inner.op, T.Rebroadcast):
        # A vector of one element is declared broadcastable, the shape that it replaces is not.
        inner = inner.inputs[0].owner
    if inner is None or not isinstance(inner.op, T.MakeVector):
        return False
    parts = inner.inputs
    if isinstance(node.op, AdvancedSubtensor1):
        index = node.inputs[1]
        if not isinstance(index, Constant) or any(not -len(parts) <= k < len(parts) for k in index.data):
            return False
        return exact_replacement(node, inner.op(*(parts[k] for k in index.data)))
    idx = indices_of(node)
    if len(idx) != 1:
        return False
    (entry,) = idx
    if isinstance(entry, int):
        if not -len(parts) <= entry < len(parts):
            return False
        new = same_dtype(parts[entry], node.outputs[0])
        return [new] if new.type == node.outputs[0].type else False
    if isinstance(entry, slice) and all(p is None or isinstance(p, int) for p in (entry.start, entry.stop, entry.step)):
        return exact_replacement(node, inner.op(*parts[entry]))
    return False


def merge_two_slices(slice1: Any, len1: Any, slice2: Any, len2: Any) -> Any:
    """Return a slice (or index), not in canonical form, equal to two that are applied one after the other.

    Parameters
    ----------
    slice1 : slice
        The slice that is applied first; not an index.
    len1 : int or scalar variable
        Length of the dimension before it.
    slice2 : slice, int or scalar variable
        What is applied to the result: a slice or an index.
    len2 : int or scalar variable
        Length of the dimension after `slice1`.

    Raises
    ------
    ValueError
        If `slice1` is an index.

    Examples
    --------
    >>> merged = merge_two_slices(slice(1, 10, 2), 10, slice(1, 3), 5)
    >>> int(merged.start.eval()), int(merged.stop.eval()), merged.step
    (3, 6, 2)
    """
    if not isinstance(slice1, slice):
        raise ValueError(f"First provided slice should actually be of type slice and not an index: {slice1}")
    first, direction1 = get_canonical_form_slice(slice1, len1)
    start1, step1 = first.start, first.step
    if not isinstance(direction1, int):
        direction1 = T.get_scalar_constant_value(direction1)
    if direction1 == -1:
        # The k-th element counts from the other end of the forward slice.
        start1, step1 = first.start + (len2 - 1) * first.step, -first.step
    if not isinstance(slice2, slice):
        position = slice2
        # An index out of range must stay out of range.
        position = T.switch(T.lt(position, 0), position + len2, position)
        outside = T.or_(T.lt(position, 0), T.ge(position, len2))
        return T.switch(outside, len1, start1 + position * step1)
    second, direction2 = get_canonical_form_slice(slice2, len2)
    if not isinstance(direction2, int):
        direction2 = T.get_scalar_constant_value(direction2)
    count = T.maximum((second.stop - second.start + second.step - 1) // second.step, 0)
    head, tail = second.start, second.start + (count - 1) * second.step
    if direction2 == -1:
        head, tail = tail, head
    begin, last = start1 + head * step1, start1 + tail * step1
    step = step1 * second.step * int(direction2)
    if direction1 * direction2 == 1:
        stop = last + 1
        return slice(T.switch(T.eq(count, 0), 0, begin), T.switch(T.eq(count, 0), 0, stop), step)
    # The element before the first is not -1, which would be the last.
    stop = T.switch(T.eq(last, 0), -len1 - 1, last - 1)
    return slice(T.switch(T.eq(count, 0), 0, begin), T.switch(T.eq(count, 0), len1, stop), step)


def _merge_trims(first: slice, second: Any) -> Any:
    """``[a:-b]`` then ``[c:-d]`` is ``[a+c:-(b+d)]``: what is cut off at both ends adds up."""
    starts, stops = 0, 0
    for entry in (first, second):
        if not isinstance(entry, slice) or entry.step not in (None, 1):
            return None
        start, stop = entry.start or 0, entry.stop or 0
        if not (isinstance(start, int) and isinstance(stop, int)) or start < 0 or stop > 0 or entry.stop == 0:
            return None
        starts, stops = starts + start, stops + stop
    return slice(starts or None, stops or None, None)


def _merge_plain(first: slice, second: Any) -> Any:
    """`merge_two_slices` of slices of non-negative ints with positive steps, which needs no lengths; None if it does."""
    trimmed = _merge_trims(first, second)
    if trimmed is not None:
        return trimmed
    a, b, s = first.start or 0, first.stop, 1 if first.step is None else first.step
    if not (isinstance(a, int) and isinstance(s, int) and (b is None or isinstance(b, int))):
        return None
    if a < 0 or s < 1 or (b is not None and b < 0):
        return None
    if not isinstance(second, slice):
        if isinstance(second, int) and second >= 0:
            position = a + second * s
            # Within the bound that the first slice sets; beyond it the index must fail.
            if b is None or position < b:
                return position
        return None
    c, d, t = second.start or 0, second.stop, 1 if second.step is None else second.step
    if not (isinstance(c, int) and isinstance(t, int) and (d is None or isinstance(d, int))):
        return None
    if c < 0 or t < 1 or (d is not None and d < 0):
        return None
    stops = [v for v in (b, None if d is None else a + d * s) if v is not None]
    step = s * t
    start = a + c * s
    return slice(start or None, min(stops) if stops else None, None if step == 1 else step)


@register_canonicalize
@register_specialize
@local_optimizer([Subtensor])
def local_subtensor_merge(node: Any) -> Any:
    """``x[a][b] -> x[c]``

    Of a result whose Op has the attribute `keep_slices`, only where `c` needs no computation.
    """
    u = node.inputs[0]
    inner = u.owner
    if inner is None or not isinstance(inner.op, Subtensor):
        return False
    x = inner.inputs[0]
    plain_only = x.owner is not None and getattr(x.owner.op, "keep_slices", False)
    first, second = indices_of(inner), indices_of(node)
    merged: list[Any] = []
    position = 0
    shapes: Any = None
    for k, entry in enumerate(first):
        if not isinstance(entry, slice):
            merged.append(entry)
            continue
        if position >= len(second) or second[position] == slice(None):
            merged.append(entry)
        elif entry == slice(None):
            merged.append(second[position])
        else:
            joined = _merge_plain(entry, second[position])
            if joined is None:
                if plain_only:
                    return False
                if shapes is None:
                    shapes = (lengths_of(node, x), lengths_of(node, u))
                if shapes[0] is None:
                    return False
                try:
                    joined = merge_two_slices(entry, shapes[0][k], second[position], shapes[1][position])
                except T.NotScalarConstantError:
                    return False
            merged.append(joined)
        position += 1
    merged.extend(second[position:])
    out = x[tuple(merged)]
    return exact_replacement(node, out, node.inputs[0], rebroadcast=True)


@register_canonicalize
@register_stabilize
@register_specialize
@local_optimizer([Subtensor])
def local_subtensor_lift(node: Any) -> Any:
    """``f(x)[i] -> f(x[i])`` and ``f(x, y)[i] -> f(x[i], y[i])`` for an elementwise `f` whose result is used once.

    A number out of ``f(shape(x))`` is lifted in any case. Dimensions along which an input broadcasts are sliced whole, or
    dropped by an integer index.
    """
    u = node.inputs[0]
    inner = u.owner
    if inner is None or not isinstance(inner.op, Elemwise) or len(inner.outputs) != 1:
        return False
    if len(u.clients) != 1 and not (node.outputs[0].type.ndim == 0 and _is_of_shape(inner)):
        return False
    if one_comes_down(node.outputs[0], Subtensor):
        return False
    idx = get_idx_list(node.inputs, node.op.idx_list)
    new_inputs = []
    for v in inner.inputs:
        if v.type.ndim == 0:
            new_inputs.append(v)
            continue
        broadcastable = v.type.broadcastable
        parts: list[Any] = []
        for entry, one, one_out in zip(idx, broadcastable, u.type.broadcastable, strict=False):
            if one and not one_out:
                parts.append(slice(None) if isinstance(entry, slice) else 0)
            else:
                parts.append(entry)
        part = _taken(v, parts)
        if part is not v:
            copy_stack_trace(node.outputs[0], part)
        new_inputs.append(part)
    return exact_replacement(node, inner.op(*new_inputs), u)


def _is_of_shape(node: Any) -> bool:
    """Whether a node works on one shape alone."""
    x = node.inputs[0]
    return len(node.inputs) == 1 and x.type.ndim == 1 and x.owner is not None and isinstance(x.owner.op, T.MakeVector | T.Shape)


@register_canonicalize
@register_specialize
@local_optimizer([Subtensor])
def local_subtensor_of_dot(node: Any) -> Any:
    """``dot(a, b)[i, j] -> dot(a[i], b[:, j])`` if the product is used once."""
    u = node.inputs[0]
    inner = u.owner
    if inner is None or not isinstance(inner.op, T.Dot) or len(u.clients) != 1:
        return False
    a, b = inner.inputs
    idx = list(get_idx_list(node.inputs, node.op.idx_list))
    left, right = idx[: a.ndim - 1], idx[a.ndim - 1 :]
    a, b = _taken(a, left), _taken(b, [slice(None), *right])
    copy_stack_trace(node.outputs[0], [a, b])
    return exact_replacement(node, T.dot(a, b), u)


_checked_index = Assert("index out of bounds: what is indexed is a repetition that is shorter", IndexError)


def _is_inside(index: Any, length: Any) -> Any:
    """Whether `index` is one of an axis of `length`, as a variable."""
    if isinstance(index, int):
        return T.gt(length, index) if index >= 0 else T.ge(length, -index)
    return T.and_(T.lt(index, length), T.ge(index, T.neg(length)))


@register_canonicalize
@register_specialize
@register_useless
@local_optimizer([Subtensor])
def local_subtensor_of_alloc(node: Any) -> Any:
    """``alloc(v, shape)[i] -> alloc(v[i], shape of the result)``

    What `v` does not have along an axis of `shape` cannot be out of its bounds: such an index is checked by an `Assert`.
    """
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, T.Alloc):
        return False
    value, dims = inner.inputs[0], inner.inputs[1:]
    skip = len(dims) - value.type.ndim
    parts: list[Any] = []
    new_dims: list[Any] = []
    checks: list[Any] = []
    for k, (entry, length) in enumerate(zip(_all_entries(node), dims, strict=True)):
        own = k - skip
        if not isinstance(entry, slice):
            place = _plain(entry)
            if isinstance(place, int) and isinstance(length, Constant):
                if not -length.data <= place < length.data:
                    return False
            elif own < 0 or value.type.broadcastable[own]:
                checks.append(_is_inside(place, length))
            if own >= 0:
                parts.append(0 if value.type.broadcastable[own] else entry)
            continue
        if own >= 0:
            parts.append(slice(None) if value.type.broadcastable[own] else entry)
        if entry == slice(None):
            new_dims.append(length)
            continue
        canonical, _ = get_canonical_form_slice(slice(_plain(entry.start), _plain(entry.stop), _plain(entry.step)), length)
        count = T.maximum((canonical.stop - canonical.start + canonical.step - 1) // canonical.step, 0)
        new_dims.append(count)
    new_value = _taken(value, parts)
    if new_value is not value:
        copy_stack_trace(node.outputs[0], new_value)
    out = T.alloc(new_value, *new_dims) if new_dims else new_value
    if checks:
        checked = _checked_index(new_value, *checks)
        copy_stack_trace(node.outputs[0], checked)
        out = checked if out is new_value else T.alloc(checked, *new_dims)
    return exact_replacement(node, out, rebroadcast=True)


@register_specialize
@register_canonicalize("fast_compile")
@local_optimizer([Subtensor])
def local_subtensor_remove_broadcastable_index(node: Any) -> Any:
    """``x[:, 0] -> dimshuffle(x)`` where the indexed dimension has length 1 and all others are taken whole."""
    idx = node.op.idx_list
    x = node.inputs[0]
    kept = []
    entries = indices_of(node)
    if len(entries) != len(idx):
        return False
    found = False
    for k, entry in enumerate(entries):
        if isinstance(entry, slice):
            if entry != slice(None):
                return False
            kept.append(k)
        elif isinstance(entry, int) and entry in (0, -1) and x.type.broadcastable[k]:
            found = True
        else:
            return False
    if not found:
        return False
    kept.extend(range(len(entries), x.type.ndim))
    return exact_replacement(node, x.dimshuffle(*kept))


@register_canonicalize
@local_optimizer([Subtensor])
def local_subtensor_of_dimshuffle(node: Any) -> Any:
    """``dimshuffle('x', 0)(v)[0, i] -> v[i]``: an index into a dimension that was only added is dropped."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return False
    order = inner.op.new_order
    x = inner.inputs[0]
    if tuple(o for o in order if o != "x") != tuple(range(x.type.ndim)):
        return False
    entries = indices_of(node)
    parts = [slice(None)] * x.type.ndim
    new_order: list[Any] = []
    axis = 0
    raw = get_idx_list(node.inputs, node.op.idx_list)
    for k, o in enumerate(order):
        entry = entries[k] if k < len(entries) else slice(None)
        if o == "x":
            if isinstance(entry, slice):
                if entry != slice(None):
                    return False
                new_order.append("x")
            elif not (isinstance(entry, int) and entry in (0, -1)):
                return False
            continue
        if k < len(entries):
            parts[o] = raw[k]
        if isinstance(entry, slice):
            new_order.append(axis)
            axis += 1
    out = _taken(x, parts)
    if new_order != list(range(axis)):
        out = out.dimshuffle(*new_order)
    if out.type != node.outputs[0].type:
        return False
    if out.owner is not None:
        copy_stack_trace(node.outputs[0], out)
    return [out]


@register_canonicalize
@register_specialize
@local_optimizer([Subtensor])
def local_subtensor_inc_subtensor(node: Any) -> Any:
    """``set_subtensor(x[i], v)[i] -> v``"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, IncSubtensor) or not inner.op.set_instead_of_inc:
        return False
    if inner.op.idx_list != node.op.idx_list or not all(
        a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.data == b.data)
        for a, b in zip(inner.inputs[2:], node.inputs[1:], strict=True)
    ):
        return False
    out = node.outputs[0]
    value = same_dtype(inner.inputs[1], inner.inputs[0])
    if value.type == out.type:
        return [value]
    shape = lengths_of(node, out)
    if shape is None:
        return False
    new = T.alloc(value, *shape)
    if new.type != out.type:
        return False
    return [new]


@register_canonicalize
@register_specialize
@local_optimizer([IncSubtensor])
def local_useless_inc_subtensor(node: Any) -> Any:
    """``set_subtensor(x[:], y) -> y`` and ``set_subtensor(x[::-1], y) -> y[::-1]`` if `y` has the type of `x`;
    ``inc_subtensor(x[...], 0) -> x``

    And ``inc_subtensor(zeros[:], y) -> y`` where `y` is the gradient of ``x[:]``.
    """
    x, y = node.inputs[0], node.inputs[1]
    if not node.op.set_instead_of_inc:
        value = as_scalar_constant(y)
        if value is not None and value == 0:
            return [x] if x.type == node.outputs[0].type else False
        if not node.op.same_shape or not is_zeros(x):
            return False
    if y.type != node.outputs[0].type:
        return False
    entries, lengths = indices_of(node), lengths_of(node, x)
    back = slice(None, None, -1)
    if not all(e == back or _is_full(e, lengths[k] if lengths is not None else None) for k, e in enumerate(entries)):
        return False
    if not node.op.same_shape:
        if lengths is None:
            return False
        shape_y = lengths_of(node, y)
        if not all(same_dimension(a, b) for a, b in zip(lengths, shape_y, strict=True)):
            return False
    if back not in entries:
        return [y]
    return exact_replacement(node, y[tuple(back if e == back else slice(None) for e in entries)])


def is_zeros(v: Any) -> bool:
    """Whether `v` is a constant, alloc or fill of zeros.

    Parameters
    ----------
    v : TensorVariable
        Any tensor.

    Examples
    --------
    >>> is_zeros(T.zeros((2, 3))), is_zeros(T.ones((2, 3)))
    (True, False)
    """
    return is_evidently(v, 0)


def _adds_zeros(out: Any, x: Any, y: Any) -> bool:
    return x.type == out.type and not out.owner.op.set_instead_of_inc and is_zeros(y)


def _incremented(v: Any, y: Any, *index: Any) -> Any:
    return inc_subtensor(v[index or slice(0, 2)], y)


#: Neither the index nor the shape of the zeros is checked any more.
local_incsubtensor_of_zeros = rewrite(
    "local_incsubtensor_of_zeros",
    [stage("local_incsubtensor_of_allocs") for stage in (register_canonicalize, register_stabilize)],
    *[
        rule(applies(kind, "inc_subtensor", _incremented)(x, y, rest), x, where=("`y` is zeros, which are added", _adds_zeros))
        for kind in (IncSubtensor, AdvancedIncSubtensor, AdvancedIncSubtensor1)
    ],
)


def _set_instead(out: Any, rest: tuple) -> Any:
    op = out.owner.op
    new = IncSubtensor(op.idx_list, op.inplace, True, destroyhandler_tolerate_aliased=op.destroyhandler_tolerate_aliased)
    new.same_shape = op.same_shape
    return new(*rest)


#: Of a vector of positions it is not known that none comes twice.
local_incsubtensor_of_zeros_to_setsubtensor = rewrite(
    "local_incsubtensor_of_zeros_to_setsubtensor",
    [register_specialize],
    rule(
        applies(IncSubtensor, "inc_subtensor", lambda v, *_: _incremented(T.zeros_like(v), v[0:2]))(rest),
        Made("set_subtensor(...)", _set_instead),
        where=("zeros are added to", lambda out, rest: not out.owner.op.set_instead_of_inc and is_zeros(rest[0])),
    ),
)


@register_canonicalize("local_setsubtensor_of_allocs")
@register_stabilize("local_setsubtensor_of_allocs")
@local_optimizer([IncSubtensor])
def local_setsubtensor_of_constants(node: Any) -> Any:
    """``set_subtensor(x[i], x[i]) -> x`` in value: `x` and what is written are the same constant everywhere"""
    if not node.op.set_instead_of_inc:
        return False
    x, y = node.inputs[0], node.inputs[1]
    try:
        replaced = T.get_scalar_constant_value(x, elemwise=False)
        replacement = T.get_scalar_constant_value(y, elemwise=False)
    except T.NotScalarConstantError:
        return False
    return [x] if replaced == replacement and x.type == node.outputs[0].type else False


@register_canonicalize
@register_specialize
@local_optimizer([IncSubtensor, AdvancedIncSubtensor, AdvancedIncSubtensor1])
def local_useless_inc_subtensor_alloc(node: Any) -> Any:
    """``inc_subtensor(x[i], alloc(v, shape)) -> inc_subtensor(x[i], v)``, which broadcasts `v` itself

    Where the length of a slice is not known to be that of the alloc, an Assert says so when it is not.
    """
    y = node.inputs[1]
    inner = y.owner
    if inner is None or not isinstance(inner.op, T.Alloc):
        return False
    value = inner.inputs[0]
    if value.type.ndim > y.type.ndim or value.type.broadcastable == y.type.broadcastable:
        return False
    x = node.inputs[0]
    if isinstance(node.op, IncSubtensor):
        target = lengths_of(node, x)
        part = x[tuple(get_idx_list([x, *node.inputs[2:]], node.op.idx_list))]
    else:
        if any(not isinstance(getattr(i.type, "dtype", None), str) for i in node.inputs[2:]):
            return False
        part = x[tuple(node.inputs[2:])]
        target = lengths_of(node, x)
    if target is None or part.type.ndim != y.type.ndim:
        return False
    feature = node.fgraph.shape_feature
    shape_y, shape_part = feature.shape(y), feature.shape(part)
    if any(d.owner is not None and part in d.owner.inputs for d in shape_part):
        return False
    # A dimension that alloc made and that broadcasts into the target must be the target's, or 1.
    unknown = [
        T.or_(T.eq(a, b), T.eq(a, 1))
        for a, b, one in zip(shape_y, shape_part, y.type.broadcastable, strict=True)
        if not one and not same_dimension(a, b)
    ]
    if unknown:
        if not isinstance(node.op, IncSubtensor):
            return False
        value = Assert("The shape of what is written does not fit that of the indexed part")(value, *unknown)
    return exact_replacement(node, node.op(x, value, *node.inputs[2:]))


def _is_arange(index: Any, length: Any) -> bool:
    """Whether `index` has the positions of an axis of this length, in order."""
    if isinstance(index, Constant):
        return isinstance(length, Constant) and np.array_equal(index.data, np.arange(int(length.data)))
    if index.owner is None or not isinstance(index.owner.op, ARange):
        return False
    start, stop, step = index.owner.inputs
    return as_scalar_constant(start) == 0 and as_scalar_constant(step) == 1 and same_dimension(stop, length)


@register_canonicalize
@register_specialize
@local_optimizer([AdvancedSubtensor1])
def local_useless_AdvancedSubtensor1(node: Any) -> Any:
    """``x[arange(x.shape[0])] -> x``"""
    x, index = node.inputs
    if x.type != node.outputs[0].type:
        return False
    lengths = lengths_of(node, x)
    return [x] if lengths is not None and _is_arange(index, lengths[0]) else False


def _has_no_position_twice(index: Any) -> bool:
    """Whether an index is a constant that names no position twice."""
    return isinstance(index, Constant) and bool((index.data >= 0).all()) and len(np.unique(index.data)) == index.data.size


# With a repeated index the last value written wins, which is not what is taken at the first.
_SET = applies(AdvancedIncSubtensor1, "set_subtensor", AdvancedIncSubtensor1(set_instead_of_inc=True))
local_adv_sub1_adv_inc_sub1 = rewrite(
    "local_adv_sub1_adv_inc_sub1",
    [register_specialize, register_stabilize, register_canonicalize],
    rule(
        applies(AdvancedSubtensor1, "subtensor", AdvancedSubtensor1())(called("w", _SET(x, y, z)), z),
        y,
        where=("values are set at a constant `z` that has no position twice",
               lambda w, z: w.owner.op.set_instead_of_inc and _has_no_position_twice(z)),
    ),
)  # fmt: skip


def _movable(i: Any, o_type: Any) -> bool:
    """Whether `i` is an increment that nothing else uses."""
    owner = i.owner
    return (
        owner is not None
        and isinstance(owner.op, IncSubtensor | AdvancedIncSubtensor1)
        and i.type == o_type
        and len(i.clients) == 1
        and not owner.op.set_instead_of_inc
    )


def _added_further(out: Any) -> bool:
    """Whether `out` goes, maybe through increments, into one more sum, and nowhere else."""
    while len(out.clients) == 1:
        client, i = out.clients[0]
        if client == "output" or client.outputs[0].type != out.type:
            return False
        if client.op == T.add:
            return True
        out = client.outputs[0]
        if i != 0 or not _movable(out, out.type):
            return False
    return False


def _sum_and_increments(root: Any) -> tuple[Any, list[Any]]:
    """The sum `root` without the increments in it and in the sums below it that nothing else uses, and these."""
    type_ = root.outputs[0].type
    increments: list[Any] = []
    # Nodes of sums, each with what is left of the inputs that have been looked at.
    open_sums: list[tuple[Any, list[Any]]] = [(root, [])]
    while True:
        node, terms = open_sums[-1]
        if len(terms) < len(node.inputs):
            term = node.inputs[len(terms)]
            while _movable(term, type_):
                increments.append(term)
                term = term.owner.inputs[0]
            owner = term.owner
            if owner is not None and owner.op == T.add and term.type == type_ and len(term.clients) == 1:
                open_sums.append((owner, []))
            else:
                terms.append(term)
            continue
        out = node.outputs[0]
        if any(term is not i for term, i in zip(terms, node.inputs, strict=True)):
            out = T.add(*terms)
            copy_stack_trace(node.outputs, out)
        open_sums.pop()
        if not open_sums:
            return out, increments
        open_sums[-1][1].append(out)


@local_optimizer([T.add])
def local_IncSubtensor_serialize(node: Any) -> Any:
    """``inc_subtensor(a, b, i) + inc_subtensor(c, d, j) + e -> inc_subtensor(inc_subtensor(a + c + e, b, i), d, j)``

    So that all increments can be done in place. A sum of sums is done in one go, at the last of them.
    """
    out = node.outputs[0]
    if _added_further(out):
        return False
    tip, increments = _sum_and_increments(node)
    if not increments or tip.type != out.type:
        return False
    for i in increments:
        tip = i.owner.op(tip, *i.owner.inputs[1:])
        copy_stack_trace([out, i], tip)
    return [tip] if tip.type == out.type else False


# Once over the graph: among the canonicalizations each step would look like news to all the others.
optdb.register(
    "pre_local_IncSubtensor_serialize", in2out(local_IncSubtensor_serialize), 1.99, "fast_run", "local_IncSubtensor_serialize"
)
optdb["pre_local_IncSubtensor_serialize"].name = "pre_local_IncSubtensor_serialize"


@local_optimizer([IncSubtensor], inplace=True)
def local_inplace_setsubtensor(node: Any) -> Any:
    """``IncSubtensor(x, y, i) -> IncSubtensor{Inplace}(x, y, i)``"""
    op = node.op
    if not isinstance(op, IncSubtensor) or op.inplace:
        return False
    new_op = type(op)(
        op.idx_list,
        inplace=True,
        set_instead_of_inc=op.set_instead_of_inc,
        destroyhandler_tolerate_aliased=op.destroyhandler_tolerate_aliased,
    )
    return exact_replacement(node, new_op(*node.inputs))


optdb.register(
    "local_inplace_setsubtensor",
    TopoOptimizer(local_inplace_setsubtensor, failure_callback=TopoOptimizer.warn_inplace),
    60,
    "fast_run",
    "inplace",
    "inplace_setsubtensor",
)


@local_optimizer([AdvancedIncSubtensor1], inplace=True)
def local_inplace_AdvancedIncSubtensor1(node: Any) -> Any:
    """``AdvancedIncSubtensor1(x, y, v) -> AdvancedIncSubtensor1{inplace}(x, y, v)``"""
    op = node.op
    if not isinstance(op, AdvancedIncSubtensor1) or op.inplace:
        return False
    return exact_replacement(node, type(op)(inplace=True, set_instead_of_inc=op.set_instead_of_inc)(*node.inputs))


local_inplace_incsubtensor1 = local_inplace_AdvancedIncSubtensor1

optdb.register(
    "local_inplace_incsubtensor1",
    TopoOptimizer(local_inplace_AdvancedIncSubtensor1, failure_callback=TopoOptimizer.warn_inplace),
    60,
    "fast_run",
    "inplace",
    "local_inplace_AdvancedIncSubtensor1",
    "inplace_setsubtensor",
)

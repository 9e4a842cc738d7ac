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
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting.elemwise import one_comes_down
from theano.tensor.rewriting.fill import _ALLOC
from theano.tensor.rewriting.registry import register_canonicalize, register_stabilize
from theano.tensor.rewriting.rules import Made, Rest, applies, called, once, replaces, rest, rewrite, rule, x, y, z
from theano.tensor.rewriting.terms import (
    as_scalar_constant,
    changed,
    exact_replacement,
    is_made_by,
    is_number,
    lengths_of,
    same_dimension,
    same_dtype,
    scalarconsts_rest,
)
from theano.tensor.shapes import Shape_i
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

_SUBTENSOR = applies(Subtensor, "subtensor", lambda v, *_: v[0:2])
_INDEX = Rest("index")


def _plain(index: Any) -> Any:
    """The int that a constant index part is; the part itself (or its tensor) otherwise."""
    if index is None or isinstance(index, int | np.integer):
        return None if index is None else int(index)
    if is_made_by(index, T.ScalarFromTensor):
        index = index.owner.inputs[0]
    if isinstance(index, Constant):
        return int(index.data)
    return index if hasattr(index.type, "broadcastable") else T.tensor_from_scalar(index)


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
    entries = get_idx_list(inputs, node.op.idx_list)
    return [slice(*map(_plain, _parts(e))) if isinstance(e, slice) else _plain(e) for e in entries]


def _all_entries(v: Any) -> list[Any]:
    """The index of a Subtensor that gives `v`, as it is written, for all dimensions."""
    entries = list(get_idx_list(v.owner.inputs, v.owner.op.idx_list))
    return entries + [slice(None)] * (v.owner.inputs[0].type.ndim - len(entries))


def _parts(entry: Any) -> tuple:
    """What a part of an index is made of."""
    return (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)


def _taken(x: Any, parts: list[Any]) -> Any:
    """``x[parts]``, without an index that takes everything."""
    while parts and isinstance(parts[-1], slice) and parts[-1] == slice(None):
        parts.pop()
    return x[tuple(parts)] if parts else x


def _is_full(entry: Any, length: Any) -> bool:
    """Whether a slice takes all of a dimension whose symbolic length (or None) is given."""
    if not isinstance(entry, slice) or entry.step not in (None, 1) or entry.start not in (None, 0):
        return False
    stop = entry.stop
    if isinstance(stop, int):
        return stop >= sys.maxsize or (isinstance(length, Constant) and stop >= int(length.data))
    return stop is None or (length is not None and same_dimension(stop, length))


def _are_full(entries: list[Any], lengths: Any) -> bool:
    return all(_is_full(entry, None if lengths is None else lengths[k]) for k, entry in enumerate(entries))


@replaces(_SUBTENSOR(x, rest), "useless canonicalize specialize")
def local_useless_slice(out: Any, x: Any) -> Any:
    """``x[0:n:1, i] -> x[:, i]`` and ``x[i, :] -> x[i]``: parts of slices that say nothing are dropped.

    `n` must be the length of the dimension.
    """
    idx, lengths, new = indices_of(out.owner), None, []
    for k, entry in enumerate(idx):
        if isinstance(entry, slice) and entry != slice(None):
            if lengths is None and not isinstance(entry.stop, int | None):
                lengths = lengths_of(out.owner, x)
            if _is_full(entry, lengths[k] if lengths is not None else None):
                entry = slice(None)
            elif entry.step == 1:
                entry = slice(entry.start, entry.stop, None)
        new.append(entry)
    return None if new == idx and new[-1:] != [slice(None)] else _taken(x, new)


@replaces(_SUBTENSOR(x, rest), "useless canonicalize specialize")
def local_useless_subtensor(out: Any, x: Any) -> Any:
    """``x[:] -> x``, ``x[0:x.shape[0]] -> x``"""
    if x.type != out.type:
        return None
    idx = indices_of(out.owner)
    lengths = lengths_of(out.owner, x) if any(isinstance(e, slice) and e.stop is not None for e in idx) else None
    return x if _are_full(idx, lengths) else None


_PARTS = called("y", applies(T.MakeVector)(rest))


# A vector of one element is declared broadcastable, the shape that it replaces is not.
@replaces(
    [applies((Subtensor, AdvancedSubtensor1))(v, _INDEX) for v in (_PARTS, applies(T.Rebroadcast)(_PARTS))],
    "canonicalize:fast_compile useless:fast_compile specialize",
)
def local_subtensor_make_vector(out: Any, y: Any, rest: tuple, index: tuple) -> Any:
    """``MakeVector(a, b, c)[1] -> b``, ``MakeVector(a, b, c)[:2] -> MakeVector(a, b)``, and ``[[0, 2]] -> MakeVector(a, c)``"""
    n = len(rest)
    if isinstance(out.owner.op, AdvancedSubtensor1):
        places = index[0].data if isinstance(index[0], Constant) else [n]
        return y.owner.op(*[rest[k] for k in places]) if all(-n <= k < n for k in places) else None
    entry, *others = indices_of(out.owner)
    if others or not all(p is None or isinstance(p, int) for p in _parts(entry)):
        return None
    if isinstance(entry, slice):
        return y.owner.op(*rest[entry])
    return rest[entry] if -n <= entry < n else None


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
    first, direction1 = _canonical(slice1, len1)
    start1, step1 = first.start, first.step
    if direction1 == -1:
        # The k-th element counts from the other end of the forward slice.
        start1, step1 = first.start + (len2 - 1) * first.step, -first.step
    if not isinstance(slice2, slice):
        position = slice2
        # An index out of range must stay out of range.
        position = T.switch(T.lt(position, 0), position + len2, position)
        outside = T.or_(T.lt(position, 0), T.ge(position, len2))
        return T.switch(outside, len1, start1 + position * step1)
    second, direction2 = _canonical(slice2, len2)
    count = _count(second)
    head, tail = second.start, second.start + (count - 1) * second.step
    if direction2 == -1:
        head, tail = tail, head
    begin, last = start1 + head * step1, start1 + tail * step1
    # The element before the first is not -1, which would be the last.
    empty, stop = (0, last + 1) if direction1 * direction2 == 1 else (len1, T.switch(T.eq(last, 0), -len1 - 1, last - 1))
    is_empty = T.eq(count, 0)
    return slice(T.switch(is_empty, 0, begin), T.switch(is_empty, empty, stop), step1 * second.step * direction2)


def _canonical(entry: slice, length: Any) -> tuple[slice, int]:
    """A slice that goes forwards, and whether the original goes forwards, as 1 or -1; that must be known."""
    canonical, direction = get_canonical_form_slice(entry, length)
    return canonical, int(T.get_scalar_constant_value(direction))


def _count(canonical: slice) -> Any:
    """How many places a slice in canonical form has."""
    return T.maximum((canonical.stop - canonical.start + canonical.step - 1) // canonical.step, 0)


def _bounds(entry: slice) -> tuple[int, int | None, int] | None:
    """Start, stop and step of a slice of ints that goes forwards from a place counted from the front, else None."""
    start, stop, step = entry.start or 0, entry.stop, 1 if entry.step is None else entry.step
    are_known = isinstance(start, int) and isinstance(stop, int | None) and isinstance(step, int)
    return (start, stop, step) if are_known and start >= 0 and step >= 1 else None


def _merge_plain(first: slice, second: Any) -> Any:
    """`merge_two_slices` of slices of ints that need no lengths for it; None of others."""
    places = second if isinstance(second, slice) else slice(second, None) if isinstance(second, int) else slice(-1, None)
    bounds, others = _bounds(first), _bounds(places)
    if bounds is None or others is None:
        return None
    (a, b, s), (c, d, t) = bounds, others
    if places is not second:
        # Within the bound that the first slice sets; beyond it the index must fail.
        return a + c * s if b is None or a + c * s < b else None
    if s == t == 1 and all(stop is None or stop < 0 for stop in (b, d)):
        # What is cut off at both ends adds up.
        return slice(a + c or None, (b or 0) + (d or 0) or None, None)
    if any(stop is not None and stop < 0 for stop in (b, d)):
        return None
    stops = [stop for stop in (b, None if d is None else a + d * s) if stop is not None]
    return slice(a + c * s or None, min(stops) if stops else None, None if s * t == 1 else s * t)


@replaces(_SUBTENSOR(called("y", _SUBTENSOR(x, rest)), _INDEX), "canonicalize specialize")
def local_subtensor_merge(out: Any, x: Any, y: Any) -> Any:
    """``x[a][b] -> x[c]``

    Of a result whose Op has the attribute `keep_slices`, only where `c` needs no computation.
    """
    merged: list[Any] = []
    first, second = indices_of(y.owner), iter(indices_of(out.owner))
    for k, entry in enumerate(first):
        then = next(second, slice(None)) if isinstance(entry, slice) else slice(None)
        if entry == slice(None):
            entry = then
        elif then != slice(None):
            joined = _merge_plain(entry, then)
            if joined is None:
                plain_only = x.owner is not None and getattr(x.owner.op, "keep_slices", False)
                lengths = None if plain_only else lengths_of(out.owner, x)
                if lengths is None:
                    return None
                position = sum(isinstance(e, slice) for e in first[:k])
                try:
                    joined = merge_two_slices(entry, lengths[k], then, lengths_of(out.owner, y)[position])
                except T.NotScalarConstantError:
                    return None
            entry = joined
        merged.append(entry)
    return T.patternbroadcast(copy_stack_trace([out, y], x[(*merged, *second)]), out.type.broadcastable)


def _where_repeated(entry: Any) -> Any:
    """The part of an index along a dimension of length 1 that is repeated to the length that the index is for."""
    return slice(None) if isinstance(entry, slice) else 0


@replaces(_SUBTENSOR(called("y", applies(Elemwise)(rest)), _INDEX), "canonicalize stabilize specialize")
def local_subtensor_lift(out: Any, y: Any, rest: tuple) -> Any:
    """``f(x)[i] -> f(x[i])`` and ``f(x, y)[i] -> f(x[i], y[i])`` for an elementwise `f` whose result is used once.

    A number out of ``f(shape(x))`` is lifted in any case. Dimensions along which an input broadcasts are sliced whole, or
    dropped by an integer index.
    """
    if len(y.clients) != 1 and not (out.type.ndim == 0 and _is_of_shape(y.owner)):
        return None
    if one_comes_down(out, Subtensor):
        return None
    index, new_inputs = _all_entries(out), []
    for v in rest:
        repeated = [one and not one_out for one, one_out in zip(v.type.broadcastable, y.type.broadcastable)]
        new_inputs.append(_taken(v, [_where_repeated(e) if one else e for e, one in zip(index, repeated)]))
    return copy_stack_trace([out, y], y.owner.op(*new_inputs))


def _is_of_shape(node: Any) -> bool:
    """Whether a node works on one shape alone."""
    x, *others = node.inputs
    return not others and x.type.ndim == 1 and is_made_by(x, T.MakeVector, T.Shape)


@replaces(_SUBTENSOR(called("z", once(applies(T.Dot)(x, y))), rest), "canonicalize specialize")
def local_subtensor_of_dot(out: Any, x: Any, y: Any, z: Any) -> Any:
    """``dot(a, b)[i, j] -> dot(a[i], b[:, j])`` if the product is used once."""
    index = _all_entries(out)
    rows, columns = _taken(x, index[: x.ndim - 1]), _taken(y, [slice(None), *index[x.ndim - 1 :]])
    return copy_stack_trace([out, z], T.dot(rows, columns))


_checked_index = Assert("index out of bounds: what is indexed is a repetition that is shorter", IndexError)


def _is_inside(index: Any, length: Any) -> Any:
    """Whether `index` is one of an axis of `length`, as a variable."""
    if isinstance(index, int):
        return T.gt(length, index) if index >= 0 else T.ge(length, -index)
    return T.and_(T.lt(index, length), T.ge(index, T.neg(length)))


@replaces(_SUBTENSOR(_ALLOC(x, rest), _INDEX), "canonicalize specialize useless")
def local_subtensor_of_alloc(out: Any, x: Any, rest: tuple) -> Any:
    """``alloc(v, shape)[i] -> alloc(v[i], shape of the result)``

    What `v` does not have along an axis of `shape` cannot be out of its bounds: such an index is checked by an `Assert`.
    """
    parts, dims, checks = [], [], []
    for k, (entry, length) in enumerate(zip(_all_entries(out), rest, strict=True), x.type.ndim - len(rest)):
        repeated = k < 0 or x.type.broadcastable[k]
        if k >= 0:
            parts.append(_where_repeated(entry) if repeated else entry)
        if isinstance(entry, slice):
            plain = slice(*map(_plain, _parts(entry)))
            dims.append(length if entry == slice(None) else _count(get_canonical_form_slice(plain, length)[0]))
            continue
        place = _plain(entry)
        if isinstance(place, int) and isinstance(length, Constant):
            if not -length.data <= place < length.data:
                return None
        elif repeated:
            checks.append(_is_inside(place, length))
    value = _taken(x, parts)
    new = T.alloc(value, *dims) if dims else value
    if checks:
        checked = _checked_index(value, *checks)
        new = checked if new is value else T.alloc(checked, *dims)
    return T.patternbroadcast(new, out.type.broadcastable)


@replaces(_SUBTENSOR(x, rest), "specialize canonicalize:fast_compile")
def local_subtensor_remove_broadcastable_index(out: Any, x: Any) -> Any:
    """``x[:, 0] -> dimshuffle(x)`` where the indexed dimension has length 1 and all others are taken whole."""
    entries = indices_of(out.owner)
    dropped = {k for k, e in enumerate(entries) if isinstance(e, int) and e in (0, -1) and x.type.broadcastable[k]}
    if not dropped or any(k not in dropped and e != slice(None) for k, e in enumerate(entries)):
        return None
    return x.dimshuffle(*[k for k in range(x.type.ndim) if k not in dropped])


def _incremented(v: Any, y: Any, *index: Any) -> Any:
    return inc_subtensor(v[index or slice(0, 2)], y)


_INC = applies(IncSubtensor, "inc_subtensor", _incremented)


@replaces(_SUBTENSOR(called("w", _INC(x, y, rest)), rest), "canonicalize specialize")
def local_subtensor_inc_subtensor(out: Any, w: Any, x: Any, y: Any) -> Any:
    """``set_subtensor(x[i], v)[i] -> v``"""
    if not w.owner.op.set_instead_of_inc or w.owner.op.idx_list != out.owner.op.idx_list:
        return None
    value = same_dtype(y, x)
    if value.type == out.type:
        return value
    shape = lengths_of(out.owner, out)
    return None if shape is None else T.alloc(value, *shape)


@replaces(_INC(x, y, rest), "canonicalize specialize")
def local_useless_inc_subtensor(out: Any, x: Any, y: Any) -> Any:
    """``set_subtensor(x[:], y) -> y`` and ``set_subtensor(x[::-1], y) -> y[::-1]`` if `y` has the type of `x`;
    ``inc_subtensor(x[...], 0) -> x``

    And ``inc_subtensor(zeros[:], y) -> y`` where `y` is the gradient of ``x[:]``.
    """
    op = out.owner.op
    if not op.set_instead_of_inc:
        if is_number(y, 0):
            return x
        if not op.same_shape or not is_evidently(x, 0):
            return None
    if y.type != out.type:
        return None
    entries, lengths, back = indices_of(out.owner), lengths_of(out.owner, x), slice(None, None, -1)
    if not _are_full([slice(None) if e == back else e for e in entries], lengths):
        return None
    if not op.same_shape and (lengths is None or not all(map(same_dimension, lengths, lengths_of(out.owner, y)))):
        return None
    return y[tuple(back if e == back else slice(None) for e in entries)] if back in entries else y


def _adds_zeros(out: Any, x: Any, y: Any) -> bool:
    return x.type == out.type and not out.owner.op.set_instead_of_inc and is_evidently(y, 0)


#: Neither the index nor the shape of the zeros is checked any more.
local_incsubtensor_of_zeros = rewrite(
    "local_incsubtensor_of_zeros",
    [stage("local_incsubtensor_of_allocs") for stage in (register_canonicalize, register_stabilize)],
    *[
        rule(applies(kind, "inc_subtensor", _incremented)(x, y, rest), x, where=("`y` is zeros, which are added", _adds_zeros))
        for kind in (IncSubtensor, AdvancedIncSubtensor, AdvancedIncSubtensor1)
    ],
)


def assigning(op: Any) -> Any:
    """Return an Op like the IncSubtensor `op`, but that assigns.

    Parameters
    ----------
    op : IncSubtensor
        One that adds, or assigns.

    Returns
    -------
    IncSubtensor
        With the same slices.

    Examples
    --------
    >>> from theano.tensor import dvector, inc_subtensor
    >>> assigning(inc_subtensor(dvector()[1:], 2).owner.op).set_instead_of_inc
    True
    """
    new = changed(op, set_instead_of_inc=True)
    new.same_shape = op.same_shape
    return new


#: Of a vector of positions it is not known that none comes twice.
local_incsubtensor_of_zeros_to_setsubtensor = rewrite(
    "local_incsubtensor_of_zeros_to_setsubtensor",
    "specialize",
    rule(
        applies(IncSubtensor, "inc_subtensor", lambda v, *_: _incremented(T.zeros_like(v), v[0:2]))(rest),
        Made("set_subtensor(...)", lambda out, rest: assigning(out.owner.op)(*rest)),
        where=("zeros are added to", lambda out, rest: not out.owner.op.set_instead_of_inc and is_evidently(rest[0], 0)),
    ),
)


@replaces(_INC(x, y, rest), "canonicalize:local_setsubtensor_of_allocs stabilize:local_setsubtensor_of_allocs")
def local_setsubtensor_of_constants(out: Any, x: Any, y: Any) -> Any:
    """``set_subtensor(x[i], x[i]) -> x`` in value: `x` and what is written are the same constant everywhere"""
    if not out.owner.op.set_instead_of_inc:
        return None
    values, _, others = scalarconsts_rest([x, y], elemwise=False)
    return x if not others and values[0] == values[1] else None


@replaces(
    applies((IncSubtensor, AdvancedIncSubtensor, AdvancedIncSubtensor1))(x, called("y", _ALLOC(z, rest)), _INDEX),
    "canonicalize specialize",
)
def local_useless_inc_subtensor_alloc(out: Any, x: Any, y: Any, z: Any, index: tuple) -> Any:
    """``inc_subtensor(x[i], alloc(v, shape)) -> inc_subtensor(x[i], v)``, which broadcasts `v` itself

    Where the length of a slice is not known to be that of the alloc, an Assert says so when it is not.
    """
    op, feature = out.owner.op, getattr(getattr(out.owner, "fgraph", None), "shape_feature", None)
    if feature is None or z.type.ndim > y.type.ndim or z.type.broadcastable == y.type.broadcastable:
        return None
    if isinstance(op, IncSubtensor):
        part = x[tuple(get_idx_list([x, *index], op.idx_list))]
    elif any(not isinstance(getattr(i.type, "dtype", None), str) for i in index):
        return None
    else:
        part = x[index]
    shape_y, shape_part = feature.shape(y), feature.shape(part)
    if part.type.ndim != y.type.ndim or any(d.owner is not None and part in d.owner.inputs for d in shape_part):
        return None
    # A dimension that alloc made and that broadcasts into the target must be the target's, or 1.
    unknown = [
        T.or_(T.eq(a, b), T.eq(a, 1))
        for a, b, one in zip(shape_y, shape_part, y.type.broadcastable, strict=True)
        if not one and not same_dimension(a, b)
    ]
    if unknown:
        if not isinstance(op, IncSubtensor):
            return None
        z = Assert("The shape of what is written does not fit that of the indexed part")(z, *unknown)
    return op(x, z, *index)


def _is_arange(index: Any, length: Any) -> bool:
    """Whether `index` has the positions of an axis of this length, in order."""
    if isinstance(index, Constant):
        return isinstance(length, Constant) and np.array_equal(index.data, np.arange(int(length.data)))
    if not is_made_by(index, ARange):
        return False
    start, stop, step = index.owner.inputs
    return as_scalar_constant(start) == 0 and as_scalar_constant(step) == 1 and same_dimension(stop, length)


@replaces(applies(AdvancedSubtensor1)(x, y), "canonicalize specialize")
def local_useless_AdvancedSubtensor1(out: Any, x: Any, y: Any) -> Any:
    """``x[arange(x.shape[0])] -> x``, ``x[arange(m.shape[0])] -> x[:m.shape[0]]`` if `x` is as long"""
    lengths = lengths_of(out.owner, x) if x.type == out.type else None
    if lengths is None or _is_arange(y, lengths[0]):
        return lengths and x
    stop = y.owner.inputs[1] if is_made_by(y, ARange) else x
    fits = Assert("an index of arange is out of bounds", IndexError)
    return fits(x[:stop], T.ge(lengths[0], stop)) if is_made_by(stop, Shape_i) and _is_arange(y, stop) else None


def _has_no_position_twice(index: Any) -> bool:
    """Whether an index is a constant that names no position twice."""
    return isinstance(index, Constant) and bool((index.data >= 0).all()) and len(np.unique(index.data)) == index.data.size


# With a repeated index the last value written wins, which is not what is taken at the first.
_SET = applies(AdvancedIncSubtensor1, "set_subtensor", AdvancedIncSubtensor1(set_instead_of_inc=True))
local_adv_sub1_adv_inc_sub1 = rewrite(
    "local_adv_sub1_adv_inc_sub1",
    "specialize stabilize canonicalize",
    rule(
        applies(AdvancedSubtensor1, "subtensor", AdvancedSubtensor1())(called("w", _SET(x, y, z)), z),
        y,
        where=("values are set at a constant `z` that has no position twice",
               lambda w, z: w.owner.op.set_instead_of_inc and _has_no_position_twice(z))
    )
)  # fmt: skip


def _movable(i: Any, o_type: Any) -> bool:
    """Whether `i` is an increment that nothing else uses."""
    is_increment = is_made_by(i, IncSubtensor, AdvancedIncSubtensor1) and not i.owner.op.set_instead_of_inc
    return is_increment and i.type == o_type and len(i.clients) == 1


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


@local_optimizer([T.add], needs=[IncSubtensor, AdvancedIncSubtensor1])
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


def _in_place(op_class: Any, name: str, *tags: str) -> Any:
    def overwrite(node: Any) -> Any:
        """``op(x, y, i) -> op{inplace}(x, y, i)``"""
        return False if node.op.inplace else exact_replacement(node, changed(node.op, inplace=True)(*node.inputs))

    overwrite.__name__ = overwrite.__qualname__ = (*tags, name)[0]
    in_place = local_optimizer([op_class], inplace=True)(overwrite)
    optimizer = TopoOptimizer(in_place, failure_callback=TopoOptimizer.warn_inplace)
    optdb.register(name, optimizer, 60, "fast_run", "inplace", *tags, "inplace_setsubtensor")
    return in_place


local_inplace_setsubtensor = _in_place(IncSubtensor, "local_inplace_setsubtensor")
local_inplace_incsubtensor1 = local_inplace_AdvancedIncSubtensor1 = _in_place(
    AdvancedIncSubtensor1, "local_inplace_incsubtensor1", "local_inplace_AdvancedIncSubtensor1"
)

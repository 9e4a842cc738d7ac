"""Reshape, Rebroadcast, Join and Split: chains are shortened, what does nothing is dropped."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.extra_ops import cpu_contiguous
from theano.tensor.rewriting.elemwise import _DIMSHUFFLE, one_comes_down
from theano.tensor.rewriting.registry import register_specialize
from theano.tensor.rewriting.rules import SAME_TYPE, Made, applies, c, called, once, replaces, rest, rewrite, rule, x, y, z
from theano.tensor.rewriting.subtensor import indices_of
from theano.tensor.rewriting.terms import as_scalar_constant, is_made_by, lengths_of, same_dimension
from theano.tensor.shapes import Rebroadcast, Shape, Shape_i
from theano.tensor.subtensor import Subtensor

_RESHAPE = applies(T.Reshape, "reshape", T.Reshape(2))
_REBROADCAST = applies(Rebroadcast, "Rebroadcast", Rebroadcast((0, False)))
_JOIN = applies(T.Join, "join", T.Join())
_F = applies(Elemwise, "f", T.exp)

local_reshape_chain = rewrite(
    "local_reshape_chain",
    "specialize stabilize canonicalize",
    rule(
        _RESHAPE(_RESHAPE(x, y), z),
        Made("reshape(x, z)", lambda out, x, z: T.patternbroadcast(out.owner.op(x, z), out.type.broadcastable)),
    ),
)


def _shape_entries(shape: Any) -> list[Any] | None:
    """The dimensions that a shape vector is made of: ints and 0-d variables; None if it is not known."""
    if isinstance(shape, Constant):
        return [int(s) for s in shape.data]
    owner = shape.owner
    if owner is not None and isinstance(owner.op, T.MakeVector):
        return [int(i.data) if isinstance(i, Constant) else i for i in owner.inputs]
    return None


@replaces(_RESHAPE(x, y), "useless canonicalize stabilize")
def local_useless_reshape(out: Any, x: Any, y: Any) -> Any:
    """``reshape(x, x.shape) -> x``; one dimension may be -1."""
    if x.type != out.type:
        return None
    entries = _shape_entries(y)
    if x.type.ndim == 1 or all(x.type.broadcastable) or (entries is None and is_made_by(y, Shape) and y.owner.inputs[0] is x):
        return x
    same = [entry == -1 or kept for entry, kept in zip(entries or (), _kept(out, x, entries))]
    return x if same and all(same) and entries.count(-1) <= 1 else None  # type: ignore[union-attr]


def _kept(out: Any, x: Any, entries: list[Any] | None) -> list[bool]:
    """Which entries of the shape that `x` gets are known to be the lengths that it has there."""
    of_x = zip(entries or (), lengths_of(out.owner, x) or [None] * x.type.ndim, x.type.broadcastable)
    return [_is_length(entry, dim, one, x, axis) for axis, (entry, dim, one) in enumerate(of_x)]


def _is_length(entry: Any, dim: Any, one: bool, x: Any, axis: int) -> bool:
    """Whether an entry of a shape is the length of an axis of `x`, of which `dim` and `one` are known."""
    if isinstance(entry, int):
        return (one and entry == 1) or (isinstance(dim, Constant) and int(dim.data) == entry)
    return is_dimension_of(entry, x, axis) or (dim is not None and same_dimension(entry, dim))


def is_dimension_of(v: Any, x: Any, axis: int) -> bool:
    """Whether a 0-d variable is written as ``x.shape[axis]``.

    Parameters
    ----------
    v : TensorVariable
        0-d.
    x : TensorVariable
        Any tensor.
    axis : int
        The dimension.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> is_dimension_of(x.shape[0], x, 0), is_dimension_of(x.shape[0], x, 1)
    (True, False)
    """
    node = v.owner
    if is_made_by(v, Shape_i):
        return node.op.i == axis and node.inputs[0] is x
    shape = node.inputs[0] if is_made_by(v, Subtensor) else x
    return is_made_by(shape, Shape) and shape.owner.inputs[0] is x and indices_of(node) == [axis]


@replaces(_RESHAPE(x, y), "canonicalize")
def local_reshape_to_dimshuffle(out: Any, x: Any, y: Any) -> Any:
    """``reshape(x, (1, n)) -> dimshuffle(reshape(x, (n,)))`` for the dimensions that are the constant 1."""
    entries = _shape_entries(y) or []
    rest = [e for e in entries if not (isinstance(e, int) and e == 1)]
    if len(rest) == len(entries) or len(rest) == x.type.ndim in (0, out.type.ndim):
        return None
    left = iter(range(len(rest)))
    order = ["x" if isinstance(e, int) and e == 1 else next(left) for e in entries]
    return T.reshape(x, rest or T.constant([], dtype="int64"), ndim=len(rest)).dimshuffle(*order)


def _keeps_order(y: Any) -> bool:
    """Whether a DimShuffle moves dimensions of length 1 only, which come or go."""
    kept = [o for o, one in zip(y.owner.op.new_order, y.type.broadcastable, strict=True) if not one]
    return kept == sorted(kept)


_RESHAPE_OF_DIMSHUFFLE = rule(
    _RESHAPE(called("y", _DIMSHUFFLE(x)), z),
    Made("reshape(x, z)", lambda out, x, z: out.owner.op(x, z)),
    where=("only dimensions of length 1 move, come or go", _keeps_order),
)
local_useless_dimshuffle_in_reshape = rewrite("local_useless_dimshuffle_in_reshape", "canonicalize", _RESHAPE_OF_DIMSHUFFLE)


def _behind(out: Any, x: Any, y: Any) -> Any:
    """``g(f(x)) -> f(g(x))`` for the elementwise `f` that made `y`, and the Op and further inputs that made `out`."""
    inner = out.owner.op(x, *out.owner.inputs[1:])
    copy_stack_trace(out, inner)
    return copy_stack_trace(y, y.owner.op(inner))


local_reshape_lift = rewrite(
    "local_reshape_lift",
    "canonicalize stabilize",
    rule(
        _RESHAPE(called("y", once(_F(x))), z),
        Made("f(reshape(x, z))", _behind),
        where=("no other Reshape comes down", lambda out: not one_comes_down(out, T.Reshape, unary=True)),
    ),
)


@register_specialize
@local_optimizer([T.Reshape])
def local_reshapes_of_reversed(node: Any) -> dict | None:
    """``[reshape(x[::-1], s), reshape(x[::-1], t)] -> [reshape(y, s), reshape(y, t)]``, y = cpu_contiguous(x[::-1])

    For Reshapes to fewer dimensions: each copies what stands in the opposite order, unless the first length stays as it is.
    """
    x = node.inputs[0]
    if not is_made_by(x, Subtensor) or indices_of(x.owner) != [slice(None, None, -1)]:
        return None
    of_x = [client for client, i in x.clients if i == 0 and client != "output" and isinstance(client.op, T.Reshape)]
    fewer = [reshape for reshape in of_x if reshape.op.ndim < x.type.ndim]
    copying = [reshape for reshape in fewer if not any(_kept(reshape.outputs[0], x, _shape_entries(reshape.inputs[1]))[:1])]
    if len(copying) < 2:
        return None
    y = cpu_contiguous(x)
    return {reshape.outputs[0]: reshape.clone_with_new_inputs([y, reshape.inputs[1]]).outputs[0] for reshape in copying}


local_useless_rebroadcast = rewrite(
    "local_useless_rebroadcast", "useless canonicalize specialize", rule(_REBROADCAST(x), x, where=SAME_TYPE)
)


def _rebroadcast_once(out: Any, x: Any, y: Any) -> Any:
    return Rebroadcast(*sorted({**y.owner.op.axis, **out.owner.op.axis}.items()))(x)


local_rebroadcast_lift = rewrite(
    "local_rebroadcast_lift",
    "canonicalize specialize",
    rule(_REBROADCAST(called("y", once(_F(x)))), Made("f(Rebroadcast(x))", _behind)),
    rule(_REBROADCAST(called("y", _REBROADCAST(x))), Made("Rebroadcast(x)", _rebroadcast_once)),
)


def apply_rebroadcast_opt(rval: Any) -> Any:
    """Return `rval` after `local_useless_rebroadcast` and `local_rebroadcast_lift`, as often as they change it.

    Parameters
    ----------
    rval : Variable
        The end of the graph.

    Examples
    --------
    >>> apply_rebroadcast_opt(Rebroadcast((0, True))(T.drow("x")))
    x
    """
    while is_made_by(rval, Rebroadcast):
        new = local_useless_rebroadcast.transform(rval.owner) or local_rebroadcast_lift.transform(rval.owner)
        if not new:
            break
        (rval,) = new
    return rval


local_join_1 = rewrite("local_join_1", "specialize canonicalize:fast_compile useless", rule(_JOIN(y, x), x, where=SAME_TYPE))


@replaces(_JOIN(c, rest), "useless specialize canonicalize")
def local_join_empty(out: Any, c: Any, rest: tuple) -> Any:
    """``join(axis, x, empty, y) -> join(axis, x, y)`` for constants without elements"""
    axis = int(as_scalar_constant(c))
    kept = [part for part in rest if not (isinstance(part, Constant) and part.data.shape[axis] == 0)]
    if len(kept) == len(rest) or not kept:
        return None
    return T.patternbroadcast(T.cast(T.join(c, *kept), out.type.dtype), out.type.broadcastable)


@replaces(_JOIN(0, rest), "specialize canonicalize useless")
def local_join_make_vector(out: Any, rest: tuple) -> Any:
    """``join(0, MakeVector(a), MakeVector(b, c)) -> MakeVector(a, b, c)`` for neighbours of one dtype"""
    parts = list(rest[:1])
    for part in rest[1:]:
        last = parts[-1]
        if is_made_by(last, T.MakeVector) and part.owner is not None and last.owner.op == part.owner.op:
            parts[-1] = copy_stack_trace(out, last.owner.op(*last.owner.inputs, *part.owner.inputs))
        else:
            parts.append(part)
    if len(parts) == len(rest):
        return None
    return T.join(out.owner.inputs[0], *parts) if len(parts) > 1 else parts[0]


def _only_part(x: Any, y: Any, z: Any) -> Any:
    # The error that a wrong length, or another number of parts, would raise.
    return Assert("local_useless_split: the size of the only part is not that of the whole")(
        x, T.eq(z.shape[0], 1), T.eq(x.shape[int(as_scalar_constant(y))], z[0])
    )


_SPLIT = applies(T.Split, "split", lambda *v: T.Split(1)(*v, return_list=True)[0], lambda op: op.len_splits == 1)
local_useless_split = rewrite(
    "local_useless_split",
    "useless canonicalize",
    rule(
        _SPLIT(x, y, z),
        Made("assert(x, its length is z)", _only_part),
        where=("there is one part", lambda out, x, y: x.type == out.type and as_scalar_constant(y) is not None),
    ),
)


local_flatten_lift = rewrite(
    "local_flatten_lift",
    "canonicalize",
    rule(applies(T.Flatten, "flatten", T.Flatten(1))(called("y", _F(x))), Made("f(flatten(x))", _behind)),
)

"""Rewrites of sparse operations into those of vectors of stored values, which run and fuse as any elementwise work.

A matrix is its places and its values, see `theano.sparse.structure`: a chain of operations on the values takes them out
once, and puts the results into the same places at its end; products take places and values apart.
"""

from __future__ import annotations

from typing import Any

from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gof.rewriting.rules import Made, Rule, rewrite
from theano.raise_op import Assert
from theano.sparse.comparison import (
    EqualSD,
    GreaterEqualSD,
    GreaterThanSD,
    LessEqualSD,
    LessThanSD,
    NotEqualSD,
)
from theano.sparse.conversion import (
    Cast,
    ConstructSparseFromList,
    construct_sparse_from_list,
    csc_from_dense,
    csr_from_dense,
    dense_from_sparse,
)
from theano.sparse.elementwise import (
    AddSD,
    AddSSData,
    Neg,
    SpSum,
    _col_scale_csc,
    _row_scale_csc,
    mul_s_d,
    mul_s_v,
    structured_add_s_v,
)
from theano.sparse.products import (
    DotAt,
    DotWithValues,
    _dot,
    _structured_dot,
    dot_at,
    dot_with_values,
    sampling_dot,
)
from theano.sparse.structure import (
    CSC,
    CSR,
    CSMGrad,
    CSMProperties,
    ValuesAt,
    WithValues,
    square_diagonal,
    stored_values,
    transpose,
    values_at,
    with_values,
)
from theano.sparse.variable import is_sparse_variable
from theano.tensor.basic import cast
from theano.tensor.creation import Alloc, arange
from theano.tensor.joining import stack
from theano.tensor.math import eq, ge, gt, le, lt, neq
from theano.tensor.products import _dot as dense_dot
from theano.tensor.reduction import sum as tensor_sum
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize
from theano.tensor.rewriting.rules import P, applies, once, w, x, y, z
from theano.tensor.shapes import Shape_i
from theano.tensor.shaping import patternbroadcast
from theano.tensor.subtensor import inc_subtensor

STAGES = [register_canonicalize, register_specialize]
STORED_VALUES, WITH_VALUES = applies(stored_values, "stored_values"), applies(with_values, "with_values")
VALUES_AT, TRANSPOSE, DOT = applies(values_at, "values_at"), applies(transpose, "transpose"), applies(_dot, "dot")
FROM_LIST = applies(construct_sparse_from_list, "construct_sparse_from_list")


def _made_by(x: Any, kind: type) -> Any:
    """The Apply of an Op of a class that made `x`, else None."""
    return x.owner if x.owner is not None and isinstance(x.owner.op, kind) else None


def _replacement(node: Any, new: Any) -> Any:
    if new.type != node.outputs[0].type:
        return False
    copy_stack_trace(node.outputs[0], new)
    return [new]


def places_of(x: Any) -> Any:
    """Return the first matrix of a chain that has values at the places of `x`."""
    while (node := _made_by(x, WithValues)) is not None:
        x = node.inputs[0]
    return x


_VALUES_OF_ARRAYS = Made("x, not broadcastable", lambda x: patternbroadcast(x, (False,)))
local_stored_values = rewrite(
    "local_stored_values",
    STAGES,
    Rule(STORED_VALUES(WITH_VALUES(x, y)), y),
    Rule(STORED_VALUES(TRANSPOSE(x)), STORED_VALUES(x)),
    Rule(STORED_VALUES(FROM_LIST(x, y, z)), Made("flatten(y.T)", lambda y: y.T.flatten())),
    *[Rule(STORED_VALUES(arrays(x, y, z, w)), _VALUES_OF_ARRAYS) for arrays in (applies(CSC, "CSC"), applies(CSR, "CSR"))],
)


@register_canonicalize
@register_specialize
@local_optimizer([WithValues, ValuesAt, DotAt, DotWithValues])
def local_places(node: Any) -> Any:
    """``with_values(with_values(x, c), d) -> with_values(x, d)``, and the same for all else that takes places of a matrix"""
    if not isinstance(node.op, (WithValues, ValuesAt, DotAt, DotWithValues)):
        return False
    x = places_of(node.inputs[0])
    if x is node.inputs[0]:
        return False
    return _replacement(node, node.op(x, *node.inputs[1:]))


local_with_own_values = rewrite("local_with_own_values", STAGES, Rule(WITH_VALUES(x, STORED_VALUES(x)), x))


_SAME_PLACES = ("`x` and `z` have the same places", lambda x, z: places_of(x) is places_of(z))
_MATRICES = ("`y` and `z` are matrices", lambda y, z: y.type.ndim == z.type.ndim == 2)
_DOT_AT = Made("dot_at(x, y, z.T)", lambda x, y, z: dot_at(x, y, z.T))
local_values_at = rewrite(
    "local_values_at",
    STAGES,
    Rule(VALUES_AT(x, WITH_VALUES(z, y)), y, where=_SAME_PLACES),
    Rule(VALUES_AT(x, once(applies(dense_dot, "dot")(y, z))), _DOT_AT, where=_MATRICES),
)


local_values_at_of_dense = rewrite(
    "local_values_at_of_dense",
    STAGES,
    *[Rule(VALUES_AT(x, applies(op, f"{op.format}_from_dense")(y)), VALUES_AT(x, y)) for op in (csr_from_dense, csc_from_dense)],
)


@register_canonicalize
@register_specialize
@local_optimizer([ValuesAt])
def local_values_at_of_alloc(node: Any) -> Any:
    """``values_at(x, alloc(y, n, m)) -> values_at(x, y)`` for a matrix `y` whose dimensions of length 1 are repeated

    The lengths must be those of `x`.
    """
    if not isinstance(node.op, ValuesAt):
        return False
    x, y = node.inputs
    made = _made_by(y, Alloc)
    if (
        made is None
        or made.inputs[0].type.ndim > 2
        or not all(_is_length(length, x, axis) for axis, length in enumerate(made.inputs[1:]))
    ):
        return False
    value = made.inputs[0]
    return _replacement(node, values_at(x, value.dimshuffle(*["x"] * (2 - value.type.ndim), *range(value.type.ndim))))


def _is_length(length: Any, x: Any, axis: int) -> bool:
    """Whether a variable is ``x.shape[axis]``."""
    node = _made_by(length, Shape_i)
    return node is not None and node.op.i == axis and places_of(node.inputs[0]) is places_of(x)


local_sparse_transpose = rewrite(
    "local_sparse_transpose",
    STAGES,
    Rule(TRANSPOSE(TRANSPOSE(x)), x),
    Rule(TRANSPOSE(WITH_VALUES(x, y)), WITH_VALUES(TRANSPOSE(x), y)),
)


def _compressed(x: Any) -> bool:
    return x.type.format in ("csr", "csc")


@register_specialize
@local_optimizer([Neg, Cast, AddSSData])
def local_sparse_to_values(node: Any) -> Any:
    """``-x -> with_values(x, -stored_values(x))``, and the same for casts and sums of matrices of the same places"""
    if not isinstance(node.op, (Neg, Cast, AddSSData)) or not all(map(_compressed, node.inputs)):
        return False
    x = node.inputs[0]
    if isinstance(node.op, Neg):
        values = -stored_values(x)
    elif isinstance(node.op, Cast):
        if x.dtype.startswith("complex") and not node.op.out_type.startswith("complex"):
            return False
        values = cast(stored_values(x), node.op.out_type)
    else:
        values = stored_values(x) + stored_values(node.inputs[1])
    return _replacement(node, with_values(x, values))


MUL_S_D = applies(mul_s_d, "mul_s_d")


def _is_number(y: Any) -> bool:
    return y.type.ndim == 0


def _times_number(out: Any, x: Any, y: Any) -> Any:
    return with_values(x, cast(stored_values(x) * y, out.dtype))


def _times_elements(out: Any, x: Any, y: Any) -> Any:
    return _times_number(out, x, values_at(x, y))


local_mul_s_d = rewrite(
    "local_mul_s_d",
    [register_specialize],
    Rule(MUL_S_D(x, y), Made("with_values(x, stored_values(x) * y)", _times_number), where=("`y` is a number", _is_number)),
    Rule(MUL_S_D(x, y), Made("with_values(x, stored_values(x) * values_at(x, y))", _times_elements)),
)


_ROW, _COLUMN = applies(lambda v: v.dimshuffle("x", 0), "row"), applies(lambda v: v.dimshuffle(0, "x"), "column")
local_mul_s_v = rewrite(
    "local_mul_s_v",
    [register_specialize],
    Rule(applies(mul_s_v, "mul_s_v")(x, y), WITH_VALUES(x, P.mul(STORED_VALUES(x), VALUES_AT(x, _ROW(y))))),
)


local_structured_add_s_v = rewrite(
    "local_structured_add_s_v",
    [register_specialize],
    Rule(applies(structured_add_s_v, "structured_add_s_v")(x, y), WITH_VALUES(x, P.add(STORED_VALUES(x), VALUES_AT(x, _ROW(y))))),
)


local_scale = rewrite(
    "local_scale",
    [register_specialize],
    Rule(applies(_col_scale_csc, "col_scale")(x, y), WITH_VALUES(x, P.mul(STORED_VALUES(x), VALUES_AT(x, _ROW(y))))),
    Rule(applies(_row_scale_csc, "row_scale")(x, y), WITH_VALUES(x, P.mul(STORED_VALUES(x), VALUES_AT(x, _COLUMN(y))))),
)


local_sampling_dot_csr = rewrite(
    "local_sampling_dot_csr",
    [register_specialize],
    Rule(
        applies(sampling_dot, "sampling_dot")(x, y, z),
        WITH_VALUES(z, P.mul(STORED_VALUES(z), applies(dot_at, "dot_at")(z, x, y))),
    ),
)


#: The two differ by their gradients only, and this one is native.
local_structured_dot = rewrite(
    "local_structured_dot",
    [register_specialize],
    Rule(
        applies(_structured_dot, "structured_dot")(x, y),
        DOT(x, y),
        where=("`y` is dense", lambda x, y: not is_sparse_variable(y) and _compressed(x)),
    ),
)


local_dot_with_values = rewrite(
    "local_dot_with_values",
    [register_specialize],
    Rule(
        DOT(WITH_VALUES(x, y), z),
        applies(dot_with_values, "dot_with_values")(x, y, z),
        where=("`z` is dense", lambda z: not is_sparse_variable(z)),
    ),
    Rule(
        DOT(z, WITH_VALUES(x, y)),
        Made("dot_with_values(transpose(x), y, z.T).T", lambda x, y, z: dot_with_values(transpose(x), y, z.T).T),
        where=("`z` is dense", lambda z: not is_sparse_variable(z)),
    ),
)


@register_specialize
@local_optimizer([SpSum])
def local_sp_sum(node: Any) -> Any:
    """``sp_sum(x) -> sum(stored_values(x))`` of all values"""
    if not isinstance(node.op, SpSum) or node.op.axis is not None or not _compressed(node.inputs[0]):
        return False
    (x,) = node.inputs
    return _replacement(node, tensor_sum(stored_values(x), dtype=x.dtype))


def _rows_of(x: Any) -> Any:
    """For a matrix with rows at positions alone, whatever their values: what it has the shape of, rows and positions."""
    base = places_of(x)
    if (made := _made_by(base, ConstructSparseFromList)) is None:
        return None
    like, rows, positions = made.inputs
    if x is not base:
        rows = x.owner.inputs[1].reshape((like.shape[1], positions.shape[0])).T
    return like, rows, positions


_rows_fit = Assert("construct_sparse_from_list needs one row for each position, as long as those of the matrix.")


@register_specialize
@local_optimizer([AddSD])
def local_add_rows(node: Any) -> Any:
    """``construct_sparse_from_list(y, rows, positions) + y -> inc_subtensor(y[positions], rows)``, of scaled rows too

    A step with the sparse gradient of an embedding so touches the rows that were used alone.
    """
    if not isinstance(node.op, AddSD):
        return False
    x, y = node.inputs
    found = _rows_of(x)
    if found is None or found[0] is not y or y.type != node.outputs[0].type:
        return False
    _, rows, positions = found
    # As increments, rows that do not fit would be broadcast.
    fit = [eq(rows.shape[0], positions.shape[0]), eq(rows.shape[1], y.shape[1])]
    return _replacement(node, inc_subtensor(y[positions], _rows_fit(rows, *fit)))


_COMPARISONS = {EqualSD: eq, NotEqualSD: neq, LessThanSD: lt, GreaterThanSD: gt, LessEqualSD: le, GreaterEqualSD: ge}


@register_specialize
@local_optimizer(list(_COMPARISONS))
def local_compare_s_d(node: Any) -> Any:
    """``equal_s_d(x, y) -> eq(dense_from_sparse(x), y)``, and the other comparisons, but for what has no order or broadcasts"""
    compare = _COMPARISONS.get(type(node.op))
    if compare is None:
        return False
    x, y = node.inputs
    ordered = compare not in (eq, neq)
    if any(y.type.broadcastable) or not _compressed(x) or (ordered and any(v.dtype.startswith("complex") for v in (x, y))):
        return False
    return _replacement(node, cast(compare(dense_from_sparse(x), y), "uint8"))


def _diagonal(x: Any) -> Any:
    n = x.shape[0]
    return CSC(x, arange(n, dtype="int32"), arange(n + 1, dtype="int32"), stack([n, n]))


local_square_diagonal = rewrite(
    "local_square_diagonal",
    [register_specialize],
    Rule(applies(square_diagonal, "square_diagonal")(x), Made("CSC(x, arange(n), arange(n + 1), [n, n])", _diagonal)),
)


@register_canonicalize
@register_specialize
@local_optimizer([CSMProperties])
def local_csm_data(node: Any) -> Any:
    """``csm_data(x) -> stored_values(x)``"""
    if not isinstance(node.op, CSMProperties) or not node.outputs[0].clients:
        return False
    values = stored_values(node.inputs[0])
    copy_stack_trace(node.outputs[0], values)
    return [values, *node.outputs[1:]]


@register_canonicalize
@register_specialize
@local_optimizer([CSMGrad])
def local_csm_grad_c(node: Any) -> Any:
    """``csm_grad(..., made, with_values(made, d)) -> d``: a gradient that has the places of the matrix; without a kmap"""
    if not isinstance(node.op, CSMGrad) or node.op.kmap is not None:
        return False
    made, gz = node.inputs[4:]
    return _replacement(node, values_at(made, gz))


__all__ = [name for name in dir() if name.startswith("local_")]

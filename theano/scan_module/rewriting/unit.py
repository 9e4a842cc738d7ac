"""Multiples of unit vectors, one a step: what a loop over the rows of a Jacobian computes with.

The gradient of ``y[i]`` begins with the vector that is 1 at ``i`` and 0 elsewhere. As long as it is only multiplied,
its position and its one value say all; a product with a matrix is then a row of the matrix.
"""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply, Variable
from theano.raise_op import Assert
from theano.scalar import basic as scalar
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.elemwise import CAReduce, Elemwise
from theano.tensor.subtensor import IncSubtensor, get_idx_list, set_subtensor


class UnitRows:
    """A matrix of which each row has at most one element that is not zero.

    Parameters
    ----------
    index
        Vector of the positions of these elements.
    value
        Vector of the elements.
    zeros
        A row of zeros.
    """

    def __init__(self, index: Any, value: Any, zeros: Any):
        self.index = index
        self.value = value
        self.zeros = zeros

    def rows(self) -> Any:
        """The matrix."""
        n = self.index.shape[0]
        zero = T.zeros((n, self.zeros.shape[0]), dtype=self.value.dtype)
        return set_subtensor(zero[T.arange(n), self.index], self.value)


def unit_vectors(stacked: Any, node: Apply) -> bool:
    """Compute a node by its unit vectors, at all steps; says whether that was possible.

    Parameters
    ----------
    stacked : Stacked
    node : Apply
        Of the step.
    """
    if isinstance(node.op, IncSubtensor):
        return _begin(stacked, node)
    units = [v for v in node.inputs if v in stacked.unit]
    if len(units) != 1:
        return False
    (v,) = units
    if isinstance(node.op, Elemwise):
        return _scale(stacked, node, v)
    unit = stacked.unit[v]
    if isinstance(node.op, T.Dot):
        return _select(stacked, node, unit)
    if isinstance(node.op, Assert) and node.inputs[0] is v and all(map(stacked.is_constant, node.inputs[1:])):
        checked = node.op(unit.value, *map(stacked.constant, node.inputs[1:]))
        stacked.unit[node.outputs[0]] = UnitRows(unit.index, checked, unit.zeros)
        return True
    if isinstance(node.op, CAReduce) and isinstance(node.op.scalar_op, scalar.Add):
        return bool(stacked.set_rows(node.outputs[0], unit.value))
    return False


def _begin(stacked: Any, node: Apply) -> bool:
    """``inc_subtensor(zeros[i_t], v_t)`` for a vector"""
    x, y = node.inputs[:2]
    if x.type.ndim != 1 or y.type.ndim != 0 or not stacked.is_constant(x) or len(node.inputs) != 3:
        return False
    (index,) = get_idx_list((None, *node.inputs[2:]), node.op.idx_list)
    zeros = stacked.constant(x)
    if isinstance(index, slice) or index not in stacked.rows or not is_evidently(zeros, 0):
        return False
    positions = stacked.stacked(index)
    if y in stacked.rows:
        value = stacked.stacked(y)
    elif stacked.is_constant(y):
        value = T.alloc(stacked.constant(y), positions.shape[0])
    else:
        return False
    stacked.unit[node.outputs[0]] = UnitRows(positions, T.cast(value, x.type.dtype), zeros)
    return True


def _scale(stacked: Any, node: Apply, v: Variable) -> bool:
    """Products, quotients and the like of a multiple of a unit vector are such multiples."""
    op = node.op.scalar_op
    out: Any = node.outputs[0]
    divides = isinstance(op, scalar.TrueDiv) and node.inputs[0] is v
    if not (isinstance(op, (scalar.Mul, scalar.Neg, scalar.Cast, scalar.Identity)) or divides):
        return False
    if node.inputs.count(v) != 1 or out.type.broadcastable != (False,) or node.op.inplace_pattern:
        return False
    unit = stacked.unit[v]
    factors = []
    for other in node.inputs:
        if other is v:
            factors.append(unit.value)
        elif stacked.is_constant(other):
            constant = stacked.constant(other)
            factors.append(constant.dimshuffle() if constant.type.broadcastable[0] else constant[unit.index])
        elif other in stacked.rows:
            rows = stacked.stacked(other)
            factors.append(rows[:, 0] if rows.type.broadcastable[1] else rows[T.arange(unit.index.shape[0]), unit.index])
        else:
            return False
    value = Elemwise(op)(*factors)
    if value.type.ndim != 1 or value.type.dtype != out.type.dtype:
        return False
    stacked.unit[out] = UnitRows(unit.index, value, unit.zeros)
    return True


def _select(stacked: Any, node: Apply, unit: UnitRows) -> bool:
    """``dot(e_i, w) -> w[i]`` and ``dot(w, e_i) -> w.T[i]``"""
    a, b = node.inputs
    other, is_left = (b, True) if a in stacked.unit else (a, False)
    if not stacked.is_constant(other):
        return False
    w = stacked.constant(other)
    if not is_left and w.type.ndim == 2:
        w = w.T
    value = unit.value if w.type.ndim == 1 else unit.value.dimshuffle(0, "x")
    return bool(stacked.set_rows(node.outputs[0], w[unit.index] * value))

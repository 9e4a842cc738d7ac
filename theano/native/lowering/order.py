"""Sorting, the largest elements, searching in sorted vectors."""

from __future__ import annotations

import numpy as np

from theano.gof.graph import Apply, Constant
from theano.native import instructions as vm
from theano.native.program import OF_ARRAYS, OF_REALS, CannotLower, ProgramBuilder, lowers
from theano.tensor.extra_ops import SearchsortedOp
from theano.tensor.sort import ArgSortOp, SortOp, TopKOp


@lowers(SortOp, ArgSortOp, where=OF_ARRAYS)
def lower_sort(builder: ProgramBuilder, node: Apply) -> None:
    """Every kind is served by a stable sort."""
    instruction = vm.Sort if isinstance(node.op, SortOp) else vm.Argsort
    x, axis = node.inputs
    if node.op.order is not None:
        raise CannotLower("fields of a structured array")
    out = [builder.cell(node.outputs[0])]
    if not isinstance(axis, Constant):
        builder.emit(instruction(None), [builder.cell(x), builder.cell(axis)], out)
    elif axis.data is None:
        builder.emit(instruction(0), [builder.flattened(builder.cell(x))], out)
    else:
        if not -x.type.ndim <= int(axis.data) < x.type.ndim:
            raise CannotLower("an axis that is not there")
        builder.emit(instruction(int(axis.data) % x.type.ndim), [builder.cell(x)], out)


@lowers(TopKOp, where=OF_REALS)
def lower_topk(builder: ProgramBuilder, node: Apply) -> None:
    op, x = node.op, node.inputs[0]
    builder.emit_for(node, vm.Topk(op.axis % x.type.ndim, bool(op.sorted), bool(op.return_values), bool(op.return_indices)))


@lowers(SearchsortedOp)
def lower_searchsorted(builder: ProgramBuilder, node: Apply) -> None:
    """Vector and values are compared in their common dtype."""
    dtype = np.result_type(*[v.type.dtype for v in node.inputs[:2]]).name
    builder.emit_for(node, vm.Searchsorted(node.op.side == "right"), {0: dtype, 1: dtype})

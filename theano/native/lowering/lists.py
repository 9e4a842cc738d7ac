"""Typed lists of arrays, or of such lists. Lists of other objects run in Python, but for their lengths, elements and order."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.lowering.gather import reads_bounds, slice_parts
from theano.native.program import ProgramBuilder, is_tensor_like, lowers, lowers_to
from theano.tensor.type_other import SliceType
from theano.typed_list.basic import Append, Count, Extend, GetItem, Index, Insert, Length, MakeList, Remove, Reverse
from theano.typed_list.type import TypedListType


def _holds_arrays(type_: Any) -> bool:
    """Whether the values of a Type are arrays, or lists of lists ... of arrays."""
    while isinstance(type_, TypedListType):
        type_ = type_.ttype
    return is_tensor_like(type_)


lowers_to({Length: lambda op: vm.ListLength(), Reverse: lambda op: vm.ListReverse(not op.inplace)})
lowers_to(
    {
        Append: lambda op: vm.ListAppend(not op.inplace),
        Extend: lambda op: vm.ListExtend(not op.inplace),
        Insert: lambda op: vm.ListInsert(not op.inplace),
        Remove: lambda op: vm.ListRemove(not op.inplace),
        Index: lambda op: vm.ListFind(),
        Count: lambda op: vm.ListCount(),
        MakeList: lambda op: vm.MakeList(),
    },
    where=("elements can be copied and compared", lambda node: _holds_arrays(node.inputs[0].type)),
)


reads_bounds.add(GetItem)


@lowers(GetItem)
def lower_item(builder: ProgramBuilder, node: Apply) -> None:
    x, index = node.inputs
    if not isinstance(index.type, SliceType):
        builder.emit_for(node, vm.ListItem())
        return
    parts = slice_parts(index)
    slicing = vm.ListSlice(*(part is not None for part in parts))
    cells = [builder.cell(v) for v in (x, *parts) if v is not None]
    builder.emit(slicing, cells, [builder.cell(node.outputs[0])])

"""Shapes, views and assertions: built-in instructions, nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable

from theano.gof.copying import DeepCopyOp, ViewOp
from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import OF_ARRAYS, CannotLower, ProgramBuilder, is_tensor_like, lowers_to
from theano.raise_op import Assert
from theano.tensor.basic import MakeVector, Reshape, ScalarFromTensor, TensorFromScalar
from theano.tensor.elemwise import DimShuffle
from theano.tensor.shapes import Rebroadcast, Shape, Shape_i, SpecifyShape

lowers_to({
    DimShuffle: lambda op: vm.Dimshuffle(tuple(-1 if o == "x" else int(o) for o in op.new_order)),
    Reshape: lambda op: vm.Reshape(),
    Rebroadcast: lambda op: vm.Rebroadcast(tuple(int(axis) for axis, flag in sorted(op.axis.items()) if flag)),
    ViewOp: lambda op: vm.View(),
    DeepCopyOp: lambda op: vm.Deepcopy(),
    # No views: these Ops declare none, so that a later instruction may overwrite the tensor.
    ScalarFromTensor: lambda op: vm.Deepcopy(),
    TensorFromScalar: lambda op: vm.Deepcopy(),
})  # fmt: skip
lowers_to({Assert: lambda op: vm.AssertOp(str(op.msg), op.exc)}, where=OF_ARRAYS)


def _emit_for_tensors(builder: ProgramBuilder, node: Apply, instruction: vm.Instruction) -> None:
    """Shapes of other Types are asked of the value, but for those of sparse matrices."""
    if is_tensor_like(node.inputs[0].type):
        builder.emit_for(node, instruction)
        return
    lower = shape_lowerings.get(type(node.inputs[0].type))
    if lower is None or isinstance(node.op, SpecifyShape):
        raise CannotLower("the shape of a value that is not an array")
    lower(builder, node, int(node.op.i) if isinstance(node.op, Shape_i) else None)


#: For other Types what emits the shape of a value, or its entry along an axis.
shape_lowerings: dict[type, Callable[[ProgramBuilder, Apply, int | None], None]] = {}


lowers_to({
    Shape: lambda op: vm.Shape(),
    Shape_i: lambda op: vm.ShapeI(int(op.i)),
    SpecifyShape: lambda op: vm.SpecifyShape(),
}, _emit_for_tensors)  # fmt: skip


lowers_to(
    {MakeVector: lambda op: vm.Makevector()},
    where=("all have one dtype", lambda node: all(v.type.dtype == node.outputs[0].type.dtype for v in node.inputs)),
)

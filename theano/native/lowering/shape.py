"""Shapes and views: built-in instructions, nothing is compiled."""

from __future__ import annotations

from theano.gof.copying import DeepCopyOp, ViewOp
from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers
from theano.tensor.basic import MakeVector, Reshape, ScalarFromTensor, TensorFromScalar
from theano.tensor.elemwise import DimShuffle
from theano.tensor.shapes import Rebroadcast, Shape, Shape_i, SpecifyShape


@lowers(DimShuffle)
def lower_dimshuffle(builder: ProgramBuilder, node: Apply) -> None:
    order = tuple(-1 if o == "x" else int(o) for o in node.op.new_order)
    builder.emit_for(node, vm.Dimshuffle(order))


@lowers(Reshape)
def lower_reshape(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, vm.Reshape())


@lowers(Shape)
def lower_shape(builder: ProgramBuilder, node: Apply) -> None:
    _require_tensors(node)
    builder.emit_for(node, vm.Shape())


@lowers(Shape_i)
def lower_shape_i(builder: ProgramBuilder, node: Apply) -> None:
    _require_tensors(node)
    builder.emit_for(node, vm.ShapeI(int(node.op.i)))


@lowers(SpecifyShape)
def lower_specify_shape(builder: ProgramBuilder, node: Apply) -> None:
    _require_tensors(node)
    builder.emit_for(node, vm.SpecifyShape())


@lowers(Rebroadcast)
def lower_rebroadcast(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, vm.Rebroadcast(tuple(int(axis) for axis, flag in sorted(node.op.axis.items()) if flag)))


@lowers(ViewOp)
def lower_view(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, vm.View())


@lowers(DeepCopyOp)
def lower_deepcopy(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, vm.Deepcopy())


@lowers(ScalarFromTensor, TensorFromScalar)
def lower_scalar(builder: ProgramBuilder, node: Apply) -> None:
    # No view: the Ops declare none, so that a later instruction may overwrite the tensor.
    builder.emit_for(node, vm.Deepcopy())


@lowers(MakeVector)
def lower_makevector(builder: ProgramBuilder, node: Apply) -> None:
    dtype = node.outputs[0].type.dtype
    if any(v.type.dtype != dtype for v in node.inputs):
        raise CannotLower("a vector of several dtypes")
    builder.emit_for(node, vm.Makevector())


def _require_tensors(node: Apply) -> None:
    """Shapes of other Types (sparse matrices) are asked of the value."""
    if not is_tensor_like(node.inputs[0].type):
        raise CannotLower("the shape of a value that is not an array")

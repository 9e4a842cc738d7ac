"""Arrays made from shapes: alloc, arange, eye."""

from __future__ import annotations

from theano.gof.graph import Apply
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.tensor.basic import Alloc, AllocEmpty, ARange, Eye


@lowers(Alloc)
def lower_alloc(builder: ProgramBuilder, node: Apply) -> None:
    if node.inputs[0].type.dtype != node.outputs[0].type.dtype:
        raise CannotLower("a fill value of another dtype")
    builder.emit_for(node, "alloc")


@lowers(AllocEmpty)
def lower_alloc_empty(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, "alloc_empty")


@lowers(ARange)
def lower_arange(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, "arange")


@lowers(Eye)
def lower_eye(builder: ProgramBuilder, node: Apply) -> None:
    builder.emit_for(node, "eye")

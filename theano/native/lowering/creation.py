"""Arrays made from shapes: alloc, arange, eye, tri; arrays chosen from others."""

from __future__ import annotations

from theano.gof.graph import Apply
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.tensor.basic import Alloc, AllocEmpty, ARange, Eye, Tri
from theano.tensor.choosing import Choose
from theano.tensor.math import integer_dtypes


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


@lowers(Tri)
def lower_tri(builder: ProgramBuilder, node: Apply) -> None:
    if any(v.type.dtype not in integer_dtypes for v in node.inputs):
        raise CannotLower("lengths that are not integers")
    builder.emit_for(node, "tri")


@lowers(Choose)
def lower_choose(builder: ProgramBuilder, node: Apply) -> None:
    """Choices of another dtype than the result's are converted first."""
    index, *choices = node.inputs
    out = node.outputs[0]
    cells = [builder.cell(index), *(builder.converted(choice, out.type.dtype) for choice in choices)]
    builder.emit("choose", cells, [builder.cell(out)], (("raise", "wrap", "clip").index(node.op.mode),))

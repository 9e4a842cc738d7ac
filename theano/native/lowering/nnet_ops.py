"""Operations of neural networks that are one instruction: neighbourhoods of pixels, blocks, the loss of CTC."""

from __future__ import annotations

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import OF_ARRAYS, ProgramBuilder, lowers, lowers_to
from theano.tensor.nnet.blocksparse import SparseBlockGemv, SparseBlockOuter
from theano.tensor.nnet.ctc import ConnectionistTemporalClassification
from theano.tensor.nnet.neighbours import Images2Neibs, Images2NeibsGrad

_FLOATS = ("float32", "float64")
lowers_to({ConnectionistTemporalClassification: lambda op: vm.Ctc()})
lowers_to({Images2Neibs: lambda op: vm.Neighbours(vm.WindowBorder[op.mode.upper()])}, where=OF_ARRAYS)
lowers_to(
    {SparseBlockGemv: lambda op: vm.BlockDot(op.inplace), SparseBlockOuter: lambda op: vm.BlockOuter(op.inplace)},
    where=("blocks are float or double", lambda node: node.outputs[0].type.dtype in _FLOATS),
)


@lowers(Images2NeibsGrad, where=("sums are float or double", lambda node: node.inputs[1].type.dtype in _FLOATS))
def lower_neighbours_gradient(builder: ProgramBuilder, node: Apply) -> None:
    images, gz, *pairs = node.inputs
    cells = [builder.cell(images), builder.contiguous(builder.cell(gz)), *map(builder.cell, pairs)]
    builder.emit(vm.NeighboursSum(vm.WindowBorder[node.op.mode.upper()]), cells, [builder.cell(node.outputs[0])])

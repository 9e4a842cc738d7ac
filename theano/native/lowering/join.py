"""Join and split."""

from __future__ import annotations

from theano.gof.graph import Apply, Constant
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.tensor.basic import Join, Split


@lowers(Join)
def lower_join(builder: ProgramBuilder, node: Apply) -> None:
    """Arrays of other dtypes than the result's are converted first. What may be a view at run time runs in Python."""
    if node.op.view != -1:
        raise CannotLower("the result shares memory or not, as the lengths are")
    axis, *arrays = node.inputs
    out = node.outputs[0]
    cells = [builder.converted(array, out.type.dtype) for array in arrays]
    if isinstance(axis, Constant):
        builder.emit(vm.Join(int(axis.data) % out.type.ndim), cells, [builder.cell(out)])
    else:
        builder.emit(vm.Join(None), [builder.cell(axis), *cells], [builder.cell(out)])


@lowers(Split)
def lower_split(builder: ProgramBuilder, node: Apply) -> None:
    x, axis, sizes = node.inputs
    outs = [builder.cell(v) for v in node.outputs]
    if isinstance(axis, Constant):
        ins, where = [x, sizes], int(axis.data) % x.type.ndim
    else:
        ins, where = [x, axis, sizes], None
    builder.emit(vm.Split(where), map(builder.cell, ins), outs)

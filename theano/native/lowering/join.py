"""Join and split."""

from __future__ import annotations

from theano.gof.graph import Apply, Constant, Variable
from theano.native import instructions as vm
from theano.native.program import ProgramBuilder, lowers
from theano.tensor.basic import Join, Split


def _given_axis(builder: ProgramBuilder, axis: Variable, ndim: int) -> tuple[int | None, list[int]]:
    """The field `axis` of an instruction, and the cell of the input that it has if that is None."""
    return (int(axis.data) % ndim, []) if isinstance(axis, Constant) else (None, [builder.cell(axis)])


@lowers(Join, where=("the result is never a view", lambda node: node.op.view == -1))
def lower_join(builder: ProgramBuilder, node: Apply) -> None:
    """Arrays of other dtypes than the result's are converted first. What may be a view at run time runs in Python."""
    axis, *arrays = node.inputs
    out = node.outputs[0]
    cells = [builder.converted(array, out.type.dtype) for array in arrays]
    where, given = _given_axis(builder, axis, out.type.ndim)
    builder.emit(vm.Join(where), [*given, *cells], [builder.cell(out)])


@lowers(Split)
def lower_split(builder: ProgramBuilder, node: Apply) -> None:
    x, axis, sizes = node.inputs
    outs = [builder.cell(v) for v in node.outputs]
    where, given = _given_axis(builder, axis, x.type.ndim)
    builder.emit(vm.Split(where), [builder.cell(x), *given, builder.cell(sizes)], outs)

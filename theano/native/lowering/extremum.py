"""Maximum with its position, in one kernel over rows."""

from __future__ import annotations

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native import ir
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.tensor.basic import Argmax, MaxAndArgmax


def argmax_kernel(node: Apply, with_maximum: bool) -> ir.Kernel:
    """The kernel of a maximum's first position over the op's axes."""
    x = node.inputs[0]
    ndim = x.type.ndim
    axis = node.op.axis
    reduced = tuple(range(ndim)) if axis is None else tuple(a % ndim for a in axis)
    if not reduced:
        raise CannotLower("no axis to search along")
    kept = tuple(a for a in range(ndim) if a not in reduced)
    axes = kept + reduced
    operand = ir.Operand(x.type.dtype, tuple(x.type.broadcastable[a] for a in axes), axes, ndim)
    first, second = ir.argextremum_stages(ir.Load("x", 0), x.type.dtype, True, "where")
    dims = tuple(range(len(kept)))
    outputs = [ir.Output("int64", dims)]
    stores = [ir.Store(0, "where")]
    if with_maximum:
        outputs.insert(0, ir.Output(x.type.dtype, dims))
        stores = [ir.Store(0, "am_m"), ir.Store(1, "where")]
    last = ir.Stage(second.loads, second.body, second.stores, second.reduces, second.index, row_stores=tuple(stores))
    return ir.Kernel(len(kept), len(reduced), (operand,), tuple(outputs), (first, last), nonempty=True)


def _lower_complex(builder: ProgramBuilder, node: Apply) -> bool:
    """Complex numbers are ordered by an instruction of its own; tells whether the node is of these."""
    x, axis = node.inputs[0], node.op.axis
    if not x.type.dtype.startswith("complex"):
        return False
    reduced = list(range(x.type.ndim)) if axis is None else [a % x.type.ndim for a in axis]
    if reduced != sorted(reduced) or not reduced:
        raise CannotLower("positions in another order of the axes")
    builder.emit(vm.ComplexExtremum(False, tuple(reduced)), [builder.cell(x)], map(builder.cell, node.outputs))
    return True


@lowers(MaxAndArgmax, Argmax)
def lower_argmax(builder: ProgramBuilder, node: Apply) -> None:
    if not _lower_complex(builder, node):
        kernel = argmax_kernel(node, with_maximum=isinstance(node.op, MaxAndArgmax))
        builder.emit_kernel(kernel, [builder.cell(node.inputs[0])], map(builder.cell, node.outputs))

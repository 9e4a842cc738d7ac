"""Maximum with its position, in one kernel over rows."""

from __future__ import annotations

from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native import ir
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.tensor.basic import Argmax, MaxAndArgmax


def argmax_kernel(x: Variable, reduced: tuple[int, ...], with_maximum: bool) -> ir.Kernel:
    """The kernel of a maximum's first position over some axes, in the order in which they are given."""
    ndim = x.type.ndim
    kept = tuple(a for a in range(ndim) if a not in reduced)
    axes = kept + reduced
    operand = ir.Operand(x.type.dtype, tuple(x.type.broadcastable[a] for a in axes), axes, ndim)
    loads = (ir.Load("x", 0),)
    first = ir.Stage(loads, reduces=(ir.Reduce("maximum", x.type.dtype, "x", "m"),))
    second = ir.position_stage(loads, ir.variable("x", x.type.dtype), "m", "where")
    found = [("m", x.type.dtype)] * with_maximum + [("where", "int64")]
    outputs = tuple(ir.Output(dtype, tuple(range(len(kept)))) for _, dtype in found)
    last = second.replaced(row_stores=tuple(ir.Store(k, name) for k, (name, _) in enumerate(found)))
    return ir.Kernel(len(kept), len(reduced), (operand,), outputs, (first, last), nonempty=True)


@lowers(MaxAndArgmax, Argmax)
def lower_argmax(builder: ProgramBuilder, node: Apply) -> None:
    """Complex numbers are ordered by an instruction of its own."""
    (x,) = node.inputs
    axes = node.op.reduced_axes(x.type.ndim)
    if not axes:
        raise CannotLower("no axis to search along")
    if not x.type.dtype.startswith("complex"):
        kernel = argmax_kernel(x, axes, with_maximum=isinstance(node.op, MaxAndArgmax))
        builder.emit_kernel(kernel, [builder.cell(x)], map(builder.cell, node.outputs))
        return
    if list(axes) != sorted(axes):
        raise CannotLower("positions in another order of the axes")
    builder.emit_for(node, vm.ComplexExtremum(False, axes))

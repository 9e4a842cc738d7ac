"""Elementwise work and reductions, a node at a time: lowered to generated loop nests.

`theano.native.optimize.fusion` puts more nodes into one kernel.
"""

from __future__ import annotations

from theano import scalar
from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native.lowering.special import lower_special
from theano.native.optimize.rows import Stored, kernel_of
from theano.native.program import TYPENUM, CannotLower, ProgramBuilder, lowers, lowers_to
from theano.tensor.elemwise import All, Any, CAReduce, CAReduceDtype, Elemwise, MaxOrMinusInfinity, Prod, Sum
from theano.tensor.moments import Moments

lowers_to({Moments: lambda op: vm.Moments()})


def _emit_single(builder: ProgramBuilder, node: Apply, space: Variable, reduced: tuple[int, ...]) -> None:
    """Append the launch of the kernel of one node, which works on the elements of `space`."""
    aliases = {} if reduced else inplace_aliases(node)
    stored = [Stored(out, aliases.get(position)) for position, out in enumerate(node.outputs)]
    kernel, inputs = kernel_of(space.type.broadcastable, reduced, [node], stored, builder.target)
    builder.emit_kernel(kernel, map(builder.cell, inputs), map(builder.cell, node.outputs))


def reduced_axes(node: Apply) -> tuple[int, ...]:
    """Axes that a `CAReduce` node reduces; see `CAReduce.reduced_axes`."""
    return node.op.reduced_axes(node.inputs[0].type.ndim)


def inplace_aliases(node: Apply) -> dict[int, Variable]:
    """Inputs whose memory outputs of an `Elemwise` node take, by output position."""
    # Most Ops write over nothing, which their `destroy_map` says without a call.
    if not getattr(node.op, "destroy_map", None):
        return {}
    return {out: node.inputs[where] for out, where in node.op.inplace_pattern.items()}


@lowers(Elemwise)
def lower_elemwise(builder: ProgramBuilder, node: Apply) -> None:
    """One pass over the operands."""
    if any(v.type.dtype not in TYPENUM for v in (*node.inputs, *node.outputs)):
        raise CannotLower("a dtype without C type")
    most = builder.target.limits.operands - 4
    if len(node.inputs) + len(node.outputs) > most:
        _lower_wide(builder, node, most)
        return
    try:
        _emit_single(builder, node, node.outputs[0], ())
    except CannotLower:
        lower_special(builder, node)


def _lower_wide(builder: ProgramBuilder, node: Apply, most: int) -> None:
    """A sum or product of very many terms, computed by several kernels that each take some of them, at most so many."""
    op, count = node.op.scalar_op, most - 4
    if type(op) not in (scalar.Add, scalar.Mul) or node.op.inplace_pattern:
        raise CannotLower("too many operands for one kernel")
    # Partial results of the final dtype: sums of small integers would overflow before they meet a wider term.
    partial = Elemwise(type(op)(scalar.specific_out(scalar.get_scalar_type(node.outputs[0].type.dtype))))
    total: list[Variable] = []
    for start in range(0, len(node.inputs), count):
        total = partial.make_node(*total, *node.inputs[start : start + count]).outputs
    builder.emit_expressions(node, node.inputs, total)


@lowers(CAReduce, CAReduceDtype, MaxOrMinusInfinity, Sum, Prod, All, Any)
def lower_careduce(builder: ProgramBuilder, node: Apply) -> None:
    """A reduction, in one pass."""
    reduced = reduced_axes(node)
    if not reduced:
        # Of complex numbers, `tensor.cast` would refuse the real part.
        convert = Elemwise(scalar.Cast(scalar.get_scalar_type(node.outputs[0].type.dtype)))
        builder.emit_expressions(node, node.inputs, [convert(node.inputs[0])])
        return
    if node.inputs[0].type.dtype.startswith("complex") and type(node.op.scalar_op) in (scalar.Maximum, scalar.Minimum):
        builder.emit_for(node, vm.ComplexExtremum(type(node.op.scalar_op) is scalar.Minimum, reduced))
        return
    _emit_single(builder, node, node.inputs[0], reduced)

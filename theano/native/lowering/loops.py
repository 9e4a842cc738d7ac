"""Elementwise work and reductions: lowered to generated loop nests.

A :class:`Nest` gathers applications of `Elemwise` and `CAReduce` over one iteration space into a single kernel.
A lone node is a nest of one; `theano.native.fusion` puts more nodes into one.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence

from theano import scalar
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.memo import Bounded
from theano.native import instructions as vm
from theano.native import ir
from theano.native.lowering.scalars import StatementWriter, literal
from theano.native.lowering.special import lower_special
from theano.native.program import TYPENUM, CannotLower, ProgramBuilder, lowers
from theano.tensor.elemwise import All, Any, CAReduce, CAReduceDtype, Elemwise, MaxOrMinusInfinity, Prod, Sum

_REDUCE_OPS = {
    scalar.Add: "add",
    scalar.Mul: "mul",
    scalar.AND: "and",
    scalar.OR: "or",
    scalar.XOR: "xor",
    scalar.Maximum: "maximum",
    scalar.Minimum: "minimum",
}
_MOST_OPERANDS = ir.MAX_OPERANDS - 4


def is_scalar_constant(variable: Variable) -> bool:
    """Whether a tensor variable is a constant of one element, which the kernel's text can hold."""
    return isinstance(variable, Constant) and all(variable.type.broadcastable)


def write_elemwise(writer: StatementWriter, node: Apply, value: Callable[[Variable], str]) -> dict[Variable, str]:
    """Write the statements of an `Elemwise` node; `value` gives the names of its inputs. Returns those of its outputs."""
    ins = [value(v) for v in node.inputs]
    types = [scalar.get_scalar_type(v.type.dtype) for v in node.inputs]
    outs = writer.apply(node.op.scalar_op, ins, types)
    dtypes = {s.dst: s.dtype for s in writer.statements}
    names = {}
    for variable, name in zip(node.outputs, outs, strict=True):
        has = dtypes.get(name)
        if has is None:  # the op returns one of its inputs, or a constant
            name = writer.copy(name, variable.type.dtype)
        elif has != variable.type.dtype:
            name = writer.cast(name, has, variable.type.dtype)
        names[variable] = name
    return names


def reduction_kind(node: Apply) -> tuple[str, str]:
    """The operation of a `CAReduce` node in a kernel, and the dtype of its accumulator."""
    op, x, out = node.op, node.inputs[0], node.outputs[0]
    kind = _REDUCE_OPS.get(type(op.scalar_op))
    if kind is None or (x.type.dtype.startswith("complex") and kind in ("maximum", "minimum", "xor")):
        raise CannotLower(f"no reduction of {x.type.dtype} by {op.scalar_op}")
    if kind in ("and", "or") and out.type.dtype == "bool":
        return ("all" if kind == "and" else "any"), "bool"
    return kind, getattr(op, "acc_dtype", None) or out.type.dtype


class Nest:
    """One kernel in the making.

    Parameters
    ----------
    broadcastable
        Broadcast pattern of the full iteration space, one flag an axis.
    reduced
        Axes over which the nest reduces; empty for elementwise work.
    """

    def __init__(self, broadcastable: Sequence[bool], reduced: Iterable[int] = ()):
        reduced = tuple(reduced)
        kept = tuple(a for a in range(len(broadcastable)) if a not in reduced)
        self.rank = len(broadcastable)
        self.pattern = tuple(broadcastable)
        self.axes = kept + reduced
        self.n_outer, self.n_inner = len(kept), len(reduced)
        self.writer = StatementWriter()
        self.names: dict[Variable, str] = {}
        self.inputs: list[Variable] = []
        self.operands: list[ir.Operand] = []
        self.loads: list[ir.Load] = []
        self.outputs: list[Variable] = []
        self.targets: list[ir.Output] = []
        self.stores: list[ir.Store] = []
        self.reduces: list[ir.Reduce] = []
        self.row: list[ir.Stmt] = []
        self.row_stores: list[ir.Store] = []
        self.nonempty = False

    def value(self, variable: Variable) -> str:
        """Name of the value of a variable at the current point: computed here, a literal, or loaded."""
        name = self.names.get(variable)
        if name is None:
            if is_scalar_constant(variable):
                name = literal(variable.data.reshape(()), variable.type.dtype)
            else:
                name = self._load(variable)
            self.names[variable] = name
        return name

    def _load(self, variable: Variable) -> str:
        # Where the whole space has length 1 nothing is repeated, and the operand can be written in place.
        pattern = variable.type.broadcastable
        flags = tuple(pattern[a] and not self.pattern[a] for a in self.axes)
        axes = None if self.axes == tuple(range(self.rank)) else self.axes
        name = self.writer.fresh()
        self.loads.append(ir.Load(name, len(self.inputs)))
        self.operands.append(ir.Operand(variable.type.dtype, flags, axes, self.rank if axes else None))
        self.inputs.append(variable)
        return name

    def elemwise(self, node: Apply) -> None:
        """Compute an `Elemwise` node at the current point."""
        self.names.update(write_elemwise(self.writer, node, self.value))

    def store(self, variable: Variable, alias: Variable | None = None) -> None:
        """Write a computed value to memory; `alias` is the input whose memory it takes."""
        target = -1
        if alias is not None:
            self.value(alias)
            target = self.inputs.index(alias) if alias in self.inputs else -1
        inverse = [0] * self.rank
        for dim, axis in enumerate(self.axes):
            inverse[axis] = dim
        self.stores.append(ir.Store(len(self.outputs), self.names[variable]))
        self.targets.append(ir.Output(variable.type.dtype, tuple(inverse), target))
        self.outputs.append(variable)

    def reduce(self, node: Apply) -> None:
        """Reduce a value over the inner dims and write the result."""
        (x,), (out,) = node.inputs, node.outputs
        kind, dtype = reduction_kind(node)
        value, have = self.value(x), x.type.dtype
        if kind in ("maximum", "minimum") and not isinstance(node.op, MaxOrMinusInfinity):
            self.nonempty = True
        value = self.writer.cast(value, have, dtype)
        if not any(s.dst == value for s in self.writer.statements) and not any(x.var == value for x in self.loads):
            value = self.writer.copy(value, dtype)
        result = self.writer.fresh()
        self.reduces.append(ir.Reduce(kind, dtype, value, result))
        if dtype != out.type.dtype:
            cast = self.writer.fresh()
            code = f"{cast} = ({result} != 0);" if out.type.dtype == "bool" else f"{cast} = {result};"
            self.row.append(ir.Stmt(cast, out.type.dtype, code))
            result = cast
        self.row_stores.append(ir.Store(len(self.outputs), result))
        self.targets.append(ir.Output(out.type.dtype, tuple(range(self.n_outer))))
        self.outputs.append(out)

    def kernel(self) -> ir.Kernel:
        """The finished kernel."""
        if len(self.operands) + len(self.targets) > ir.MAX_OPERANDS:
            raise CannotLower("too many operands for one kernel")
        stage = ir.Stage(
            loads=tuple(self.loads),
            body=tuple(self.writer.statements),
            stores=tuple(self.stores),
            reduces=tuple(self.reduces),
            row=tuple(self.row),
            row_stores=tuple(self.row_stores),
        )
        return ir.Kernel(
            self.n_outer,
            self.n_inner,
            tuple(self.operands),
            tuple(self.targets),
            (stage,),
            nonempty=self.nonempty,
            support=tuple(self.writer.support),
        )

    def emit(self, builder: ProgramBuilder) -> None:
        """Append the launch of this nest's kernel."""
        builder.emit_kernel(self.kernel(), map(builder.cell, self.inputs), map(builder.cell, self.outputs))


# Kernels by what decides their text (ops, types, constants): a graph that repeats a pattern prints it once.
kernel_memo = Bounded(40_000)


def remember_kernel(key: typing.Any, kernel: ir.Kernel, positions: tuple[int, ...]) -> tuple[ir.Kernel, tuple[int, ...]]:
    """Keep a kernel, and which of the inputs of what is in `key` it loads, in `kernel_memo`."""
    return kernel_memo.keep(key, (kernel, positions), size=1 + sum(len(stage.body) for stage in kernel.stages))


def _key(node: Apply) -> typing.Any:
    """What decides the kernel of a node: its op, the types, which inputs are the same, and scalar constants."""
    first: dict[Variable, int] = {}
    parts = []
    for position, variable in enumerate(node.inputs):
        if is_scalar_constant(variable):
            parts.append((variable.type.dtype, variable.data.tobytes()))
        else:
            parts.append((variable.type, first.setdefault(variable, position)))
    return (node.op, tuple(parts))


def single_node_kernel(node: Apply) -> tuple[ir.Kernel, list[Variable]]:
    """The kernel of one `Elemwise` or `CAReduce` node and the variables that it loads."""
    key = _key(node)
    known = kernel_memo.get(key)
    if known is None:
        nest = nest_of(node)
        known = remember_kernel(key, nest.kernel(), tuple(node.inputs.index(v) for v in nest.inputs))
    kernel, positions = known
    return kernel, [node.inputs[p] for p in positions]


def _emit_single(builder: ProgramBuilder, node: Apply) -> None:
    """Append the launch of the kernel of one node."""
    kernel, inputs = single_node_kernel(node)
    builder.emit_kernel(kernel, map(builder.cell, inputs), map(builder.cell, node.outputs))


def _emit_cast(builder: ProgramBuilder, x: Variable, out: Variable) -> None:
    """Compute `out` as the cast of `x` to its dtype."""
    cast = Elemwise(scalar.Cast(scalar.get_scalar_type(out.type.dtype))).make_node(x)
    builder.of_variable[cast.outputs[0]] = builder.cell(out)
    lower_elemwise(builder, cast)


def reduced_axes(node: Apply) -> tuple[int, ...]:
    """Axes that a `CAReduce` node reduces, in increasing order."""
    axis, ndim = node.op.axis, node.inputs[0].type.ndim
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted({a % ndim for a in axis}))


def inplace_aliases(node: Apply) -> dict[int, Variable]:
    """Inputs whose memory outputs of an `Elemwise` node take, by output position."""
    return {out: node.inputs[where] for out, where in (node.op.inplace_pattern or {}).items()}


def nest_of(node: Apply) -> Nest:
    """A nest that holds one node."""
    if isinstance(node.op, Elemwise):
        nest = Nest(node.outputs[0].type.broadcastable)
        nest.elemwise(node)
        aliases = inplace_aliases(node)
        for position, out in enumerate(node.outputs):
            nest.store(out, aliases.get(position))
        return nest
    x = node.inputs[0]
    nest = Nest(x.type.broadcastable, reduced_axes(node))
    nest.reduce(node)
    return nest


@lowers(Elemwise)
def lower_elemwise(builder: ProgramBuilder, node: Apply) -> None:
    """One pass over the operands."""
    if any(v.type.dtype not in TYPENUM for v in (*node.inputs, *node.outputs)):
        raise CannotLower("a dtype without C type")
    if len(node.inputs) + len(node.outputs) > _MOST_OPERANDS:
        _lower_wide(builder, node)
        return
    try:
        _emit_single(builder, node)
    except CannotLower:
        lower_special(builder, node)


def _lower_wide(builder: ProgramBuilder, node: Apply) -> None:
    """A sum or product of very many terms, computed by several kernels that each take some of them."""
    op = node.op.scalar_op
    out = node.outputs[0]
    if type(op) not in (scalar.Add, scalar.Mul) or node.op.inplace_pattern:
        raise CannotLower("too many operands for one kernel")
    partial: Variable | None = None
    rest = list(node.inputs)
    # Partial results of the final dtype: sums of small integers would overflow before they meet a wider term.
    elemwise = Elemwise(type(op)(scalar.specific_out(scalar.get_scalar_type(out.type.dtype))))
    while rest:
        terms = ([] if partial is None else [partial]) + rest[: _MOST_OPERANDS - 4]
        rest = rest[_MOST_OPERANDS - 4 :]
        step = elemwise.make_node(*terms)
        if not rest and step.outputs[0].type == out.type:
            builder.of_variable[step.outputs[0]] = builder.cell(out)
        _emit_single(builder, step)
        partial = step.outputs[0]
    if partial is not None and builder.cell(partial) != builder.cell(out):
        _emit_cast(builder, partial, out)


@lowers(CAReduce, CAReduceDtype, MaxOrMinusInfinity, Sum, Prod, All, Any)
def lower_careduce(builder: ProgramBuilder, node: Apply) -> None:
    """A reduction, in one pass."""
    if not reduced_axes(node):
        _emit_cast(builder, node.inputs[0], node.outputs[0])
        return
    if node.inputs[0].type.dtype.startswith("complex") and type(node.op.scalar_op) in (scalar.Maximum, scalar.Minimum):
        builder.emit_for(node, vm.ComplexExtremum(type(node.op.scalar_op) is scalar.Minimum, tuple(reduced_axes(node))))
        return
    _emit_single(builder, node)

"""Rows in several steps: elementwise work, reductions of it, and what is made of their results, in one kernel.

A :class:`RowPlan` takes nodes over one iteration space, part of whose axes are reduced, and lays them out as the stages of a
kernel. A stage is one loop over a row; a value that depends on the result of a reduction can only be had one stage later.
Layer normalisation, for example, has three stages: the sum of ``x``; the sum of ``(x - mean)**2``; the result. What an
earlier stage computed for each element is computed again where a later one needs it, which costs less than memory; only
expensive functions are kept, in the memory of a result that is not there yet wherever there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from theano.gof.graph import Apply, Variable
from theano.gof.memo import Bounded
from theano.native import ir
from theano.native.lowering.scalars import StatementWriter, is_scalar_constant, reduction_kind, scalar_constant, write_elemwise
from theano.native.program import CannotLower
from theano.native.target.base import Target
from theano.raise_op import Assert
from theano.scalar.expression import Expression
from theano.scalar.expression import variable as named_value
from theano.tensor.dimshuffle import DimShuffle
from theano.tensor.elemwise import CAReduce, MaxOrMinusInfinity

NO_WORK = (DimShuffle, Assert)
"""Ops whose result is what their first input is."""


class Place(NamedTuple):
    """Where in a kernel a value is to be had.

    Parameters
    ----------
    per_row
        Whether it is one value a row.
    stage
        First stage whose loop can use it.
    """

    per_row: bool
    stage: int


class Stored(NamedTuple):
    """A result that goes to memory, and the input whose memory it may take."""

    variable: Variable
    alias: Variable | None


class Slot(NamedTuple):
    """The output that a value is kept in, and the last stage that finds it there."""

    output: int
    until: int


class RowPlan:
    """The kernel of some nodes.

    Parameters
    ----------
    pattern
        Broadcast pattern of the iteration space, one flag an axis.
    reduced
        Axes that the reductions among the nodes reduce.
    nodes
        Applications of `Elemwise`, `CAReduce`, of `DimShuffle` that only insert or drop axes of length 1, and of `Assert`, whose
        conditions somebody else looks at; in an order in which they can run.
    stored
        What goes to memory; the outputs of the kernel are these, then those of `temporaries`.
    target
        What will run the kernel.
    order
        The axes from the outermost to the innermost that is not reduced, if not as they come.
    may_share
        Whether a result's memory may hold something else before.

    Attributes
    ----------
    axes, dims
        The axis that each iteration dim walks, and the dim that walks each axis.
    inputs
        The variables that the kernel reads, after `kernel`.
    temporaries
        Dtypes of the full arrays in which the kernel keeps something.
    """

    def __init__(
        self,
        pattern: Sequence[bool],
        reduced: Iterable[int],
        nodes: Sequence[Apply],
        stored: Sequence[Stored],
        target: Target,
        order: Sequence[int] | None = None,
        may_share: bool = True,
    ):
        self.pattern = tuple(pattern)
        self.rank = len(self.pattern)
        self.reduced = tuple(reduced)
        self.order = order
        kept = tuple(a for a in (range(self.rank) if order is None else order) if a not in self.reduced)
        self.axes = kept + self.reduced
        self.dims = tuple(map(self.axes.index, range(self.rank)))
        self.n_outer = len(kept)
        self.nodes = nodes
        self.stored = list(stored)
        self.inputs: list[Variable] = []
        self.temporaries: list[str] = []
        self._operands: list[ir.Operand] = []
        self._outputs: list[ir.Output] = []
        self._writer = StatementWriter()
        self._same: dict[Variable, Variable] = {}
        self._places: dict[Variable, Place] = {}
        self._row_values: dict[Variable, Expression] = {}
        self._row_loads: list[ir.Load] = []
        self._loaded_at: dict[Variable, int] = {}
        self._slots: dict[Variable, Slot] = {}
        self.target = target
        self._may_share = may_share
        for node in nodes:
            self._place(node)

    def _root(self, variable: Variable) -> Variable:
        return self._same.get(variable, variable)

    def _place(self, node: Apply) -> None:
        if isinstance(node.op, NO_WORK):
            self._same[node.outputs[0]] = self._root(node.inputs[0])
            return
        places = (self._places.get(self._root(v)) for v in node.inputs)
        stage = max((p.stage for p in places if p is not None), default=0)
        if isinstance(node.op, CAReduce):
            place = Place(True, stage + 1)
        else:
            place = Place(tuple(node.outputs[0].type.broadcastable) != self.pattern, stage)
        self._places.update((out, place) for out in node.outputs)

    def _stage_of(self, node: Apply) -> int:
        """The stage whose loop, or row statements, compute a node."""
        place = self._places[node.outputs[0]]
        return max(place.stage - 1, 0) if place.per_row else place.stage

    # -- what each stage computes

    def _demands(self) -> list[set[Variable]]:
        """For each stage the values that its loop needs; decides on the way what is kept for later stages."""
        work = [n for n in self.nodes if not isinstance(n.op, NO_WORK)]
        last = max(self._stage_of(n) for n in work)
        wanted: list[set[Variable]] = [set() for _ in range(last + 1)]
        for node in work:
            if isinstance(node.op, CAReduce):
                wanted[self._stage_of(node)].add(self._root(node.inputs[0]))
        for out, _ in self.stored:
            place = self._places[self._root(out)]
            if not place.per_row:
                wanted[place.stage].add(self._root(out))
        for stage in range(last, -1, -1):
            need = wanted[stage]
            for node in reversed(work):
                place = self._places[node.outputs[0]]
                if isinstance(node.op, CAReduce) or need.isdisjoint(node.outputs) or (place.per_row and place.stage > 0):
                    continue
                if place.stage < stage and not place.per_row and not self.target.is_arithmetic(node.op.scalar_op):
                    for out in node.outputs:
                        if out in need and self._keep(out, node, stage):
                            wanted[place.stage].add(out)
                    if self._is_kept(node, need, stage):
                        continue
                need.update(self._root(v) for v in node.inputs)
        return wanted

    def _is_kept(self, node: Apply, need: set[Variable], stage: int) -> bool:
        """Whether a stage reads again what is needed of a node."""
        return all(stage <= self._slots[out].until if out in self._slots else out not in need for out in node.outputs)

    def _keep(self, variable: Variable, node: Apply, stage: int) -> bool:
        """Whether what an expensive node gives is kept until a stage, the last one that has not been asked for yet."""
        if variable in self._slots:
            return True
        roots = [self._root(s.variable) for s in self.stored]
        last = len(self.nodes)
        if variable in roots:
            self._slots[variable] = Slot(roots.index(variable), last)
            return True
        taken = {slot.output for slot in self._slots.values()}
        for i, stored in enumerate(self.stored):
            place = self._places[roots[i]]
            fits = not place.per_row and place.stage >= stage and stored.variable.type.dtype == variable.type.dtype
            if fits and self._may_share and i not in taken:
                self.stored[i] = Stored(stored.variable, None)
                self._slots[variable] = Slot(i, place.stage)
                return True
        if self.target.is_cheap(node.op.scalar_op):
            return False
        self._slots[variable] = Slot(len(self.stored) + len(self.temporaries), last)
        self.temporaries.append(variable.type.dtype)
        return True

    # -- operands

    def _operand(self, variable: Variable) -> int:
        """Number of the input that a variable is."""
        if variable in self.inputs:
            return self.inputs.index(variable)
        pattern = tuple(variable.type.broadcastable)
        rank = len(pattern)
        if rank == self.rank:
            row = all(pattern[a] for a in self.reduced)
            flags = tuple(pattern[a] and (not self.pattern[a] or (row and a in self.reduced)) for a in self.axes)
            operand = ir.Operand(variable.type.dtype, flags, self.axes, rank)
        elif rank == self.n_outer and any(not p for p in pattern):
            inner = len(self.reduced)
            flags = tuple(p and not self.pattern[a] for p, a in zip(pattern, self.axes)) + (True,) * inner
            operand = ir.Operand(variable.type.dtype, flags, (*range(rank), *(-1,) * inner), rank)
        elif all(pattern):
            operand = ir.Operand(variable.type.dtype, (True,) * self.rank, (-1,) * self.rank, rank)
        else:
            raise CannotLower("an operand that is no row")
        self.inputs.append(variable)
        self._operands.append(operand)
        return len(self.inputs) - 1

    def _dims(self, variable: Variable) -> tuple[int, ...]:
        """Iteration dim of each axis of a result."""
        if not self._places[self._root(variable)].per_row:
            return self.dims
        if variable.type.ndim == self.n_outer:
            return tuple(range(self.n_outer))
        return tuple([dim if dim < self.n_outer else -1 for dim in self.dims])

    # -- statements

    def kernel(self) -> ir.Kernel:
        """Lay out the stages."""
        demands = self._demands()
        rows = self._row_nodes()
        stages = []
        for stage, need in enumerate(demands):
            loop, results = self._loop(stage, need)
            row, row_stores = self._row_block(stage, rows, results)
            stages.append(loop.replaced(row=row, row_stores=row_stores))
        guarded = self.target.runs_again(s for stage in stages for s in stage.body)
        if guarded and self._may_share and self._slots:
            plan = RowPlan(self.pattern, self.reduced, self.nodes, self.stored, self.target, self.order, may_share=False)
            kernel = plan.kernel()
            self.inputs = plan.inputs
            return kernel
        for variable, alias in self.stored:
            place = self._places[self._root(variable)]
            target = -1
            if alias is not None and not place.per_row and not (guarded and self.reduced):
                # Nothing of the input may be wanted after it is overwritten.
                if self._loaded_at.get(alias, -1) in range(place.stage + 1):
                    target = self.inputs.index(alias)
                    # One value a row, where a row has one element, is read as such and not overwritten.
                    if any(self._operands[target].broadcast):
                        target = -1
            self._outputs.append(ir.Output(variable.type.dtype, self._dims(variable), target))
        self._outputs += [ir.Output(dtype, self.dims) for dtype in self.temporaries]
        if len(self._operands) + len(self._outputs) > self.target.limits.operands:
            raise CannotLower("too many operands for one kernel")
        nonempty = any(
            isinstance(node.op, CAReduce) and not isinstance(node.op, MaxOrMinusInfinity)
            and reduction_kind(node)[0] in ("maximum", "minimum") for node in self.nodes
        )  # fmt: skip
        return ir.Kernel(
            self.n_outer,
            len(self.reduced),
            tuple(self._operands),
            tuple(self._outputs),
            tuple(stages),
            tuple(self._row_loads),
            nonempty,
            tuple(self._writer.support),
        )

    def _row_nodes(self) -> list[Apply]:
        """Nodes that are computed once a row, by row statements."""
        need = {self._root(s.variable) for s in self.stored}
        found = []
        for node in reversed(self.nodes):
            place = None if isinstance(node.op, (*NO_WORK, CAReduce)) else self._places[node.outputs[0]]
            if place is not None and place.per_row and (place.stage > 0 or not need.isdisjoint(node.outputs)):
                need.update(self._root(v) for v in node.inputs)
                found.append(node)
        return found[::-1]

    def _reader(self, values: dict[Variable, Expression],
                load: Callable[[str, Variable], None]) -> Callable[[Variable], Expression]:
        """What gives the value of a variable: a known one, a number, or what `load` reads under a fresh name."""

        def value(variable: Variable) -> Expression:
            variable = self._root(variable)
            found = values.get(variable)
            if found is None:
                found = self._row_values.get(variable)
            if found is None:
                if is_scalar_constant(variable):
                    return scalar_constant(variable)
                name = self._writer.fresh()
                load(name, variable)
                found = values[variable] = named_value(name, variable.type.dtype)
            return found

        return value

    def _loop(self, stage: int, need: set[Variable]) -> tuple[ir.Stage, dict[Variable, Expression]]:
        """A stage without its row statements, and the reductions' results."""
        writer = self._writer
        writer.restart()
        values: dict[Variable, Expression] = {}
        loads: list[ir.Load | ir.Reload] = []

        def load(name: str, variable: Variable) -> None:
            if variable in self._places:
                loads.append(ir.Reload(name, self._slots[variable].output))
            else:
                loads.append(ir.Load(name, self._operand(variable)))
                self._loaded_at[variable] = stage

        value = self._reader(values, load)
        for node in self.nodes:
            if isinstance(node.op, (*NO_WORK, CAReduce)) or need.isdisjoint(node.outputs):
                continue
            place = self._places[node.outputs[0]]
            reloaded = place.stage < stage and self._is_kept(node, need, stage)
            known = all(out in self._row_values for out in node.outputs)
            if not (place.per_row and place.stage > 0) and not reloaded and not known:
                values.update(write_elemwise(writer, node, value))
        results = {}
        reduces = []
        for node in self.nodes:
            if isinstance(node.op, CAReduce) and self._stage_of(node) == stage:
                kind, dtype = reduction_kind(node)
                x = writer.value(value(node.inputs[0]), dtype)
                if x in self._row_values.values():
                    x = writer.write(x, dtype)
                result = writer.fresh()
                reduces.append(ir.Reduce(kind, dtype, writer.named(x), result))
                results[node.outputs[0]] = named_value(result, dtype)
        stores = [
            ir.Store(i, writer.named(value(s.variable))) for i, s in enumerate(self.stored)
            if self._places[self._root(s.variable)] == Place(False, stage)
        ]  # fmt: skip
        # What is kept in the memory of a result goes there before it; the two are of different stages.
        own = {store.output for store in stores}
        stores += [
            ir.Store(slot.output, writer.named(value(v))) for v, slot in self._slots.items()
            if self._places[v].stage == stage and slot.output not in own
        ]  # fmt: skip
        return ir.Stage(tuple(loads), tuple(writer.statements), tuple(stores), tuple(reduces)), results

    def _row_block(
        self, stage: int, rows: Sequence[Apply], results: dict[Variable, Expression]
    ) -> tuple[tuple[ir.Statement, ...], tuple[ir.Store, ...]]:
        """Row statements after a stage's loop, and stores of what they give."""
        writer, values = self._writer, self._row_values
        writer.restart()
        value = self._reader(values, lambda name, variable: self._row_loads.append(ir.Load(name, self._operand(variable))))
        for node in self.nodes:
            out = node.outputs[0]
            if out in results:
                values[out] = writer.value(results[out], out.type.dtype)
        for node in rows:
            if self._stage_of(node) == stage:
                values.update(write_elemwise(writer, node, value))
        stores = []
        for i, (variable, _) in enumerate(self.stored):
            place = self._places[self._root(variable)]
            if place.per_row and max(place.stage - 1, 0) == stage:
                stores.append(ir.Store(i, writer.named(value(variable))))
        return tuple(writer.statements), tuple(stores)


def is_row_view(node: Apply, reduced: Sequence[int], rank: int) -> bool:
    """Whether a `DimShuffle` of one value a row only inserts, or drops, the reduced axes."""
    order = node.op.new_order
    kept = [a for a in range(rank) if a not in reduced]
    source = node.inputs[0].type.ndim
    if source == rank:
        return list(order) in (kept, [a if a in kept else "x" for a in range(rank)], list(range(rank)))
    inserted = [kept.index(a) if a in kept else "x" for a in range(rank)]
    return list(order) in (inserted, list(range(source)))


# Kernels by what decides their text (ops, types, constants): a graph that repeats a pattern prints it once.
kernel_memo = Bounded(40_000)


def operands(node: Apply) -> Sequence[Variable]:
    """The inputs that a kernel reads for a node."""
    return node.inputs[:1] if isinstance(node.op, Assert) else node.inputs


def kernel_of(
    pattern: Sequence[bool], reduced: Sequence[int], nodes: Sequence[Apply], stored: Sequence[Stored], target: Target
) -> tuple[ir.Kernel, list[Variable]]:
    """The kernel of what a :class:`RowPlan` takes, and the variables that it loads.

    Nodes that do the same to variables of the same types share one.
    """
    key, loads = _signature(pattern, reduced, nodes, stored)
    order = None if reduced or len(pattern) < 2 else _order_in_memory(loads)
    key = (target.kernels, order, key)
    known = kernel_memo.get(key)
    if known is None:
        plan = RowPlan(pattern, reduced, nodes, stored, target, order)
        kernel = plan.kernel()
        size = 1 + sum(len(stage.body) for stage in kernel.stages)
        known = kernel_memo.keep(key, (kernel, tuple(loads.index(v) for v in plan.inputs)), size)
    kernel, positions = known
    return kernel, [loads[p] for p in positions]


def _order_in_memory(loads: Sequence[Variable]) -> tuple[int, ...] | None:
    """The order of the axes, from far apart to neighbours, if all arrays that are read are transposed in the same way.

    Which operands are the same along the innermost axis is decided when the kernel is compiled: along another, rows of transposed
    arrays would be copied.
    """
    found = None
    for variable in loads:
        if sum([not one for one in variable.type.broadcastable]) < 2:
            continue
        node = variable.owner
        if node is None or not isinstance(node.op, DimShuffle) or "x" in node.op.new_order:
            return None
        # Axis n of what it is a view of is axis order[n] of the view.
        order = tuple(sorted(range(len(node.op.new_order)), key=node.op.new_order.__getitem__))
        if found not in (None, order):
            return None
        found = order
    return found


def _signature(
    pattern: Sequence[bool], reduced: Sequence[int], nodes: Sequence[Apply], stored: Sequence[Stored]
) -> tuple[Any, list[Variable]]:
    """What decides the kernel's text, and the variables that it loads in the order of their first use."""
    numbers: dict[Variable, Any] = {}
    loads: list[Variable] = []
    parts = []
    for m, node in enumerate(nodes):
        refs = []
        for variable in operands(node):
            number = numbers.get(variable)
            if number is None:
                if is_scalar_constant(variable):
                    number = (variable.type.dtype, variable.data.tobytes())
                else:
                    number = (len(loads), variable.type)
                    loads.append(variable)
                numbers[variable] = number
            refs.append(number)
        parts.append((Assert if isinstance(node.op, Assert) else node.op, tuple(refs)))
        numbers.update((out, (m, k, out.type.dtype)) for k, out in enumerate(node.outputs))
    ends = tuple((numbers[out], None if alias is None else numbers[alias]) for out, alias in stored)
    return (tuple(pattern), tuple(reduced), tuple(parts), ends), loads

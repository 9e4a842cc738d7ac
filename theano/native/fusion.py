"""Which nodes share one kernel.

The rewrites already merge elementwise chains into `Composite` ops of one output. What is left is decided here, on the
schedule: elementwise nodes with several users, elementwise work that feeds reductions, reductions of the same array.

A group grows along the schedule while nobody outside it has used what it computes. It runs where its last member
stands, so it is closed as soon as a node outside reads one of its results or overwrites memory that it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from theano import scalar
from theano.gof.graph import Apply, Variable
from theano.native.ir import MAX_OPERANDS
from theano.native.lowering.loops import (
    Nest,
    inplace_aliases,
    is_scalar_constant,
    kernel_memo,
    lower_careduce,
    lower_elemwise,
    reduced_axes,
    single_node_kernel,
)
from theano.native.program import TYPENUM, CannotLower, ProgramBuilder, find_lowering
from theano.native.schedule import TOP, Schedule, is_lazy
from theano.tensor.elemwise import CAReduce

MOST_INPUTS = 24
MOST_OUTPUTS = 12
MOST_WEIGHT = 64
"""Most work in one kernel, in additions. The compiler's time grows faster than the kernel, and long chains that repeat a
pattern are cut into pieces of equal text, which are compiled once."""

_WEIGHTS = {scalar.TrueDiv: 2, scalar.Sqrt: 2, scalar.IntDiv: 4, scalar.Mod: 4}
_LIGHT = (
    scalar.Add, scalar.Sub, scalar.Mul, scalar.Neg, scalar.Abs, scalar.Sqr, scalar.Cast, scalar.Identity, scalar.Second,
    scalar.LogicalComparison, scalar.UnaryBitOp, scalar.BinaryBitOp, scalar.Maximum, scalar.Minimum, scalar.Switch, scalar.Clip,
)  # fmt: skip
_FUNCTION_WEIGHT = 8


class Group:
    """Nodes over one iteration space that become one kernel.

    Parameters
    ----------
    pattern
        Broadcast pattern of the space.
    root_of
        For each variable that shares memory with an earlier one, the first variable with that memory.
    """

    def __init__(self, pattern: tuple[bool, ...], root_of: dict[Variable, Variable]):
        self.pattern = pattern
        self.root_of = root_of
        self.reduced: tuple[int, ...] | None = None
        self.members: list[Apply] = []
        self.computed: set[Variable] = set()
        self.loaded: dict[Variable, Variable] = {}
        self.overwritten: set[Variable] = set()
        self.weight = 0
        self.open = True

    @property
    def last(self) -> Apply:
        """The member at whose place the group runs."""
        return self.members[-1]

    def add(self, node: Apply) -> None:
        """Make a node a member."""
        self.members.append(node)
        self.weight += _weight(node)
        for variable in node.inputs:
            if variable not in self.computed and not is_scalar_constant(variable):
                self.loaded[variable] = self.root_of.get(variable, variable)
        if isinstance(node.op, CAReduce):
            self.reduced = reduced_axes(node)
        else:
            self.computed.update(node.outputs)
            for variable in inplace_aliases(node).values():
                if variable not in self.computed:
                    self.overwritten.add(self.root_of.get(variable, variable))

    def takes(self, node: Apply) -> bool:
        """Whether a node can become the next member."""
        if not self.open or self.weight + _weight(node) > MOST_WEIGHT:
            return False
        fresh = {v for v in node.inputs if v not in self.computed and not is_scalar_constant(v)} - self.loaded.keys()
        if len(self.loaded) + len(fresh) > MOST_INPUTS:
            return False
        outputs = sum(len(m.outputs) for m in self.members)
        if outputs + len(node.outputs) > MOST_OUTPUTS and isinstance(node.op, CAReduce):
            return False
        if len(self.loaded) + len(fresh) + outputs + len(node.outputs) > MAX_OPERANDS:
            members = {*self.members, node}
            stored = sum(any(c not in members for c, _ in v.clients) for m in members for v in m.outputs)
            if len(self.loaded) + len(fresh) + stored > MAX_OPERANDS:
                return False
        if isinstance(node.op, CAReduce):
            return self._takes_reduction(node)
        return (
            self.reduced is None
            and node.outputs[0].type.broadcastable == self.pattern
            and self._memory_allows(node, fresh)
        )

    def absorbs(self, other: Group, node: Apply) -> bool:
        """Whether another group can become a part of this one, which takes `node` next."""
        if not other.open or other.pattern != self.pattern or self.overwritten or other.overwritten:
            return False
        if self.reduced is not None or other.reduced is not None or isinstance(node.op, CAReduce):
            return False
        loaded = self.loaded.keys() | other.loaded.keys() | {v for v in node.inputs if not is_scalar_constant(v)}
        outputs = sum(len(m.outputs) for m in (*self.members, *other.members, node))
        return (
            self.weight + other.weight + _weight(node) <= MOST_WEIGHT
            and len(loaded) <= MOST_INPUTS
            and len(loaded) + outputs <= MAX_OPERANDS
        )

    def absorb(self, other: Group) -> None:
        """Take over all members of another group."""
        for node in other.members:
            self.add(node)
        other.members = []
        other.open = False

    def _takes_reduction(self, node: Apply) -> bool:
        axes = reduced_axes(node)
        if self.overwritten or self.reduced not in (None, axes) or node.inputs[0].type.broadcastable != self.pattern:
            return False
        if self.reduced is not None and node.inputs[0] not in self.computed and node.inputs[0] not in self.loaded:
            return False
        members = {*self.members, node}
        return all(
            client in members or _reduces(client, axes)
            for member in self.members
            if not isinstance(member.op, CAReduce)
            for out in member.outputs
            for client, _ in out.clients
        )

    def _memory_allows(self, node: Apply, fresh: Iterable[Variable]) -> bool:
        """Whether what is overwritten is seen only at the point where it is overwritten."""
        aliased = {v for v in inplace_aliases(node).values() if v not in self.computed}
        if not aliased and not self.overwritten:
            return True
        if any(self.root_of.get(v, v) in self.overwritten for v in fresh):
            return False
        roots = {self.root_of.get(v, v) for v in aliased}
        if roots & self.overwritten:
            return False
        others = dict(self.loaded)
        others.update((v, self.root_of.get(v, v)) for v in fresh)
        return not any(root in roots and variable not in aliased for variable, root in others.items())

    def emit(self, builder: ProgramBuilder) -> None:
        """Append the group's kernel; groups that do the same to variables of the same types share one."""
        stores = self._stores()
        key, loads = self._signature(stores)
        known = kernel_memo.get(key)
        if known is None:
            nest = self._nest(stores)
            known = nest.kernel(), tuple(loads.index(v) for v in nest.inputs)
            kernel_memo.put(key, known)
        kernel, positions = known
        outputs = [v for node in self.members if isinstance(node.op, CAReduce) for v in node.outputs]
        outputs += [out for out, _ in stores]
        builder.emit_kernel(kernel, [builder.cell(loads[p]) for p in positions], map(builder.cell, outputs))

    def _stores(self) -> list[tuple[Variable, Variable | None]]:
        """The elementwise results that are needed outside, each with the input whose memory it takes."""
        members = set(self.members)
        stores: list[tuple[Variable, Variable | None]] = []
        for node in self.members:
            if isinstance(node.op, CAReduce):
                continue
            aliases = inplace_aliases(node)
            for position, out in enumerate(node.outputs):
                if any(client not in members for client, _ in out.clients):
                    alias = aliases.get(position)
                    stores.append((out, alias if alias in self.loaded else None))
        return stores

    def _signature(self, stores: list[tuple[Variable, Variable | None]]) -> tuple[Any, list[Variable]]:
        """What decides the kernel's text, and the variables that it loads in the order of their first use."""
        numbers: dict[Variable, Any] = {}
        loads: list[Variable] = []
        parts = []
        for m, node in enumerate(self.members):
            refs = []
            for variable in node.inputs:
                number = numbers.get(variable)
                if number is None:
                    if is_scalar_constant(variable):
                        number = (variable.type.dtype, variable.data.tobytes())
                    else:
                        number = (len(loads), variable.type)
                        loads.append(variable)
                    numbers[variable] = number
                refs.append(number)
            parts.append((node.op, tuple(refs)))
            numbers.update((out, (m, k, out.type.dtype)) for k, out in enumerate(node.outputs))
        ends = tuple((numbers[out], None if alias is None else numbers[alias]) for out, alias in stores)
        return ("group", self.pattern, self.reduced, tuple(parts), ends), loads

    def _nest(self, stores: list[tuple[Variable, Variable | None]]) -> Nest:
        nest = Nest(self.pattern, self.reduced or ())
        for node in self.members:
            if isinstance(node.op, CAReduce):
                nest.reduce(node)
            else:
                nest.elemwise(node)
        for out, alias in stores:
            nest.store(out, alias)
        return nest


def _weight(node: Apply) -> int:
    op = getattr(node.op, "scalar_op", None)
    if isinstance(op, scalar.Composite):
        return sum(_scalar_weight(inner.op) for inner in op.nodes)
    return _scalar_weight(op)


def _scalar_weight(op: Any) -> int:
    if isinstance(op, _LIGHT):
        return 1
    return _WEIGHTS.get(type(op), _FUNCTION_WEIGHT)


def _reduces(client: Any, axes: tuple[int, ...]) -> bool:
    return isinstance(client, Apply) and isinstance(client.op, CAReduce) and reduced_axes(client) == axes


def _fusable(node: Apply) -> bool:
    """Whether a node is elementwise work or a reduction that a kernel can hold."""
    lowering = find_lowering(node.op)
    if lowering is lower_careduce:
        if not reduced_axes(node):
            return False
    elif lowering is not lower_elemwise or len(node.inputs) > MOST_INPUTS:
        return False
    return all(v.type.dtype in TYPENUM for v in (*node.inputs, *node.outputs))


def _space(node: Apply) -> tuple[bool, ...]:
    variable = node.inputs[0] if isinstance(node.op, CAReduce) else node.outputs[0]
    return tuple(variable.type.broadcastable)


def find_groups(schedule: Schedule, fgraph: Any) -> dict[Apply, Group]:
    """Group the nodes of a schedule.

    Returns
    -------
    dict
        The group of each node that shares a kernel with another.
    """
    found: dict[Apply, Group] = {}
    tail = set(schedule.tail)
    for region, nodes in schedule.regions.items():
        if region == TOP and tail:
            segments = [[n for n in nodes if n not in tail], list(schedule.tail)]
        else:
            segments = [list(nodes)]
        for segment in segments:
            found.update(_group_segment(segment, schedule.root_of))
    return found


def _group_segment(nodes: Sequence[Apply], root_of: dict[Variable, Variable]) -> dict[Apply, Group]:
    holder: dict[Variable, Group] = {}
    producer: dict[Variable, Group] = {}
    readers: dict[Variable, list[Group]] = {}
    groups: list[Group] = []
    for node in nodes:
        _close_overwritten(node, readers, root_of)
        if is_lazy(node):  # what its branches use must be there
            for group in groups:
                group.open = False
        group = None
        if _fusable(node) and _has_native_scalar(node):
            group = _choose(node, holder)
            if group is None:
                group = Group(_space(node), root_of)
                groups.append(group)
            else:
                _join_groups(group, node, holder, producer, readers)
            group.add(node)
            producer.update((v, group) for v in node.outputs)
        for variable in node.inputs:
            other = producer.get(variable)
            if other is not None and other is not group:
                other.open = False
        if group is None:
            continue
        for variable in (*node.inputs, *node.outputs):
            if tuple(variable.type.broadcastable) == group.pattern and not is_scalar_constant(variable):
                if variable not in holder or not holder[variable].open:
                    holder[variable] = group
        for variable, root in group.loaded.items():
            if variable in node.inputs:
                readers.setdefault(root, []).append(group)
    return {node: group for group in groups if len(group.members) > 1 for node in group.members}


def _choose(node: Apply, holder: dict[Variable, Group]) -> Group | None:
    """An open group that computes or reads one of the node's full-size inputs and can take the node."""
    for variable in node.inputs:
        group = holder.get(variable)
        if group is not None and group.takes(node):
            # A result of the group's own reductions exists only after the kernel.
            if not any(v.owner in group.members for v in node.inputs if v not in group.computed):
                return group
    return None


def _join_groups(group: Group, node: Apply, holder: dict[Variable, Group], producer: dict[Variable, Group],
                 readers: dict[Variable, list[Group]]) -> None:
    """Let the group that takes a node absorb the open groups that compute the node's other inputs."""
    for variable in node.inputs:
        other = producer.get(variable)
        if other is None or other is group or not group.absorbs(other, node):
            continue
        made = [out for member in other.members for out in member.outputs]
        producer.update((out, group) for out in made)
        holder.update((v, group) for v in (*made, *other.loaded) if holder.get(v) is other)
        for root in other.loaded.values():
            readers.setdefault(root, []).append(group)
        group.absorb(other)


def _close_overwritten(node: Apply, readers: dict[Variable, list[Group]], root_of: dict[Variable, Variable]) -> None:
    """Close the groups that read memory which the node overwrites."""
    for positions in (getattr(node.op, "destroy_map", None) or {}).values():
        for position in positions:
            source = node.inputs[position]
            for group in readers.pop(root_of.get(source, source), ()):
                group.open = False


def _has_native_scalar(node: Apply) -> bool:
    """Whether the scalar op can be printed as C; such a node would otherwise spoil its whole group."""
    try:
        single_node_kernel(node)
    except CannotLower:
        return False
    return True

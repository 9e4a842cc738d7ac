"""Which nodes share one kernel.

The rewrites already merge elementwise chains into `Composite` ops of one output. What is left is decided here, on the
schedule: elementwise nodes with several users, elementwise work that feeds reductions, reductions of the same array, and
what is made of their results, a value a row, be it row by row or again for each element.

A group grows along the schedule while nobody outside it has used what it computes. It runs where its last member
stands, so it is closed as soon as a node outside reads one of its results or overwrites memory that it reads. Before a
reader closes a group of reductions, nodes that stand later and can join the group already are moved to it. A little
arithmetic on what a group reads anyway, and work on single numbers, is done again in each group that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from theano import scalar
from theano.gof.branches import is_lazy
from theano.gof.graph import Apply, Variable
from theano.native import instructions as vm
from theano.native.lowering.loops import inplace_aliases, lower_careduce, lower_elemwise, reduced_axes
from theano.native.lowering.scalars import is_scalar_constant, reduction_kind
from theano.native.optimize.pairs import Pair
from theano.native.optimize.rows import NO_WORK, Stored, is_row_view, kernel_of, operands
from theano.native.optimize.schedule import Schedule, destroyed_inputs
from theano.native.program import TYPENUM, CannotLower, ProgramBuilder, lowering_of
from theano.native.target.base import Target
from theano.raise_op import Assert
from theano.scalar.composite import has_c_code
from theano.tensor.dimshuffle import DimShuffle
from theano.tensor.elemwise import CAReduce, Elemwise

MOST_CLIENTS = 16
_KINDS = (Elemwise, CAReduce, DimShuffle, Assert)


class Group:
    """Nodes over one iteration space that become one kernel.

    Parameters
    ----------
    pattern
        Broadcast pattern of the space.
    segment
        The part of the program that it belongs to.

    Attributes
    ----------
    members
        The nodes that run here.
    body
        All that the kernel computes: the members and copies of nodes of other groups.
    per_row
        The values that there is one of for each row that is reduced, and the first stage whose loop can use them.
    stages
        The stage whose loop gives a value of full size, where that is not the first.
    """

    def __init__(self, pattern: tuple[bool, ...], segment: _Segment):
        self.pattern = pattern
        self.segment = segment
        self.root_of = segment.root_of
        self.target = segment.target
        self.limits = self.target.limits
        self.reduced: tuple[int, ...] | None = None
        self.members: list[Apply] = []
        self.results = 0
        self.body: list[Apply] = []
        self.computed: set[Variable] = set()
        self.per_row: dict[Variable, int] = {}
        self.stages: dict[Variable, int] = {}
        self.loaded: dict[Variable, Variable] = {}
        self.overwritten: set[Variable] = set()
        self.weight = 0
        self.open = True
        self.copied = False
        self.dead = False

    @property
    def last(self) -> Apply:
        """The member at whose place the group runs."""
        return self.members[-1]

    def add(self, node: Apply, copy: bool = False) -> list[Variable]:
        """Make a node a member, or compute a copy of it; returns what has to be loaded for it."""
        self.body.append(node)
        if not copy:
            self._own(node)
        self.weight += _weight(node, self.target)
        stage = self._stage(node)
        fresh = []
        for variable in operands(node):
            if variable not in self.computed and variable not in self.loaded and not is_scalar_constant(variable):
                self.loaded[variable] = self.root_of.get(variable, variable)
                fresh.append(variable)
        self.computed.update(node.outputs)
        if isinstance(node.op, CAReduce):
            self.reduced = reduced_axes(node)
            self.per_row[node.outputs[0]] = stage + 1
        elif tuple(node.outputs[0].type.broadcastable) != self.pattern:
            self.per_row.update((out, stage) for out in node.outputs)
        else:
            if stage:
                self.stages.update((out, stage) for out in node.outputs)
            if not copy and isinstance(node.op, Elemwise):
                for variable in inplace_aliases(node).values():
                    if variable in self.loaded:
                        self.overwritten.add(self.root_of.get(variable, variable))
        return fresh

    def _own(self, node: Apply) -> None:
        self.members.append(node)
        self.results += len(node.outputs)
        self.segment.home[node] = self

    def _stage(self, node: Apply) -> int:
        """The first stage whose loop can compute a node."""
        return max([self.per_row.get(v) or self.stages.get(v, 0) for v in operands(node)], default=0)

    def takes(self, node: Apply) -> bool:
        """Whether a node can become the next member."""
        if not self.open or self.weight + _weight(node, self.target) > self.limits.weight:
            return False
        if isinstance(node.op, Assert):
            value, *conditions = node.inputs
            if self.reduced is None or value not in self.computed:
                return False
            return bool(conditions) and self.computed.isdisjoint(conditions) and self._has_room(node, 0)
        if isinstance(node.op, DimShuffle):
            x = node.inputs[0]
            if self.reduced is None or x not in self.per_row or not is_row_view(node, self.reduced, len(self.pattern)):
                return False
            return self._has_room(node, 0)
        if len(node.inputs) > self.limits.inputs:
            return False
        fresh = {v for v in node.inputs if v not in self.computed and not is_scalar_constant(v)} - self.loaded.keys()
        if len(self.loaded) + len(fresh) > self.limits.inputs:
            return False
        if isinstance(node.op, CAReduce) and sum(isinstance(m.op, CAReduce) for m in self.members) >= self.limits.reductions:
            return False
        if not self._has_room(node, len(fresh)):
            return False
        if isinstance(node.op, CAReduce):
            return self._takes_reduction(node)
        if tuple(node.outputs[0].type.broadcastable) != self.pattern:
            return self._takes_row(node)
        if self.reduced is not None:
            goals = self.segment.goals.get(node)
            if goals and self.reduced not in goals:
                return False
            if self._stage(node) and not self._has_stages():
                return False
            if any(v in self.per_row for v in node.inputs) and not self._walks_rows(node):
                return False
        return self._memory_allows(node, fresh)

    def _has_room(self, node: Apply, fresh: int) -> bool:
        """Whether the kernel can have what the node loads and stores besides its other operands."""
        loaded = len(self.loaded) + fresh
        if loaded + self.results + len(node.outputs) <= self.limits.operands:
            return True
        members = {*self.members, node}
        stored = sum(any(c not in members for c, _ in v.clients) for m in members for v in m.outputs)
        return loaded + stored <= self.limits.operands

    def _walks_rows(self, node: Apply) -> bool:
        """Whether a node that uses a value of each row works on rows of the group's length, and not of another one."""
        rank = len(self.pattern)
        inner = [v for v in node.inputs if v not in self.per_row and (v in self.computed or v in self.loaded)]
        return all(
            self.pattern[a] or any(v.type.ndim == rank and not v.type.broadcastable[a] for v in inner)
            for a in self.reduced or ()
        )

    def _has_stages(self) -> bool:
        """Whether rows are walked again: such as lie in memory as rows, of which there are several."""
        rank, reduced = len(self.pattern), self.reduced or ()
        outer = rank - len(reduced)
        return reduced == tuple(range(outer, rank)) and not all(self.pattern[:outer])

    def absorbs(self, other: Group, node: Apply) -> bool:
        """Whether another group can become a part of this one, which takes `node` next."""
        if not other.open or other.pattern != self.pattern or self.overwritten or other.overwritten:
            return False
        reduced = reduced_axes(node) if isinstance(node.op, CAReduce) else self.reduced
        if other.reduced not in (None, reduced) or not other.computed.isdisjoint(self.loaded):
            return False
        loaded = self.loaded.keys() | other.loaded.keys() | {v for v in node.inputs if not is_scalar_constant(v)}
        outputs = self.results + other.results + len(node.outputs)
        return (
            self.weight + other.weight + _weight(node, self.target) <= self.limits.weight
            and len(loaded) <= self.limits.inputs
            and len(loaded) + outputs <= self.limits.operands
        )

    def absorb(self, other: Group) -> None:
        """Take over all members of another group."""
        own = set(other.members)
        known = set(self.body)
        for node in other.body:
            if node not in known:
                self.add(node, node not in own)
            elif node in own:
                self._own(node)
        self.copied |= other.copied
        other.members = []
        other.results = 0
        other.body = []
        other.open = False

    def _takes_reduction(self, node: Apply) -> bool:
        axes, x = reduced_axes(node), node.inputs[0]
        if self.reduced is None:
            return x.type.broadcastable == self.pattern
        if self.reduced != axes or x.type.broadcastable != self.pattern or x not in self.computed | self.loaded.keys():
            return False
        return not self._stage(node) or self._has_stages()

    def _takes_row(self, node: Apply) -> bool:
        """Whether a node works on values that there is one of for each row."""
        if self.reduced is None or all(self.pattern[a] for a in self.reduced) or not any(v in self.per_row for v in node.inputs):
            return False
        if any(self.root_of.get(v, v) in self.overwritten for v in node.inputs if v not in self.computed):
            return False
        pattern = tuple(node.outputs[0].type.broadcastable)
        kept = tuple(p for a, p in enumerate(self.pattern) if a not in self.reduced)
        return pattern in (kept, tuple(p or a in self.reduced for a, p in enumerate(self.pattern)))

    def _memory_allows(self, node: Apply, fresh: Iterable[Variable]) -> bool:
        """Whether what is overwritten is seen only at the point where it is overwritten."""
        overwritten, root_of = self.overwritten, self.root_of
        aliased = [v for v in inplace_aliases(node).values() if v not in self.computed]
        if not aliased and not overwritten:
            return True
        loaded = {v: root_of.get(v, v) for v in fresh}
        roots = {root_of.get(v, v) for v in aliased}
        if not overwritten.isdisjoint(roots.union(loaded.values())):
            return False
        loaded.update(self.loaded)
        return not any(root in roots and v not in aliased for v, root in loaded.items())

    def wants(self, variable: Variable) -> bool:
        """Whether somebody else reads what a member computes."""
        if variable in self.segment.needed:
            return True
        for client, _ in variable.clients:
            group = self.segment.home.get(client)
            if group is None or (group is not self and not group.dead and variable not in group.computed):
                return True
        return False

    def emit(self, builder: ProgramBuilder) -> None:
        """Append the group's kernel; groups that do the same to variables of the same types share one."""
        stored = self._stored()
        if self.dead or not stored:
            return
        kernel, inputs = kernel_of(self.pattern, self.reduced or (), self.body, stored, self.target)
        for node in self.body:
            if isinstance(node.op, Assert):
                conditions = [builder.cell(v) for v in node.inputs[1:]]
                checked = builder.new_cell(builder.cells[conditions[0]])
                builder.emit(vm.AssertOp(str(node.op.msg), node.op.exc), [conditions[0], *conditions], [checked])
        outputs = [builder.cell(s.variable) for s in stored]
        outputs += [builder.temporary(out.dtype, self.pattern) for out in kernel.outputs[len(stored) :]]
        builder.emit_kernel(kernel, map(builder.cell, inputs), outputs)

    def _stored(self) -> list[Stored]:
        """The results that are needed outside, each with the input whose memory it takes.

        One that takes the memory of a value that is needed here only takes the memory which that would have taken.
        """
        stored: list[Stored] = []
        memory: dict[Variable, Variable] = {}
        for node in self.members:
            aliases = inplace_aliases(node) if isinstance(node.op, Elemwise) else {}
            for position, out in enumerate(node.outputs):
                alias = aliases.get(position)
                alias = memory.pop(alias, alias) if alias is not None else None
                if self.wants(out):
                    stored.append(Stored(out, alias if alias in self.loaded else None))
                elif alias is not None:
                    memory[out] = alias
        return stored


def _weight(node: Apply, target: Target) -> int:
    return 0 if isinstance(node.op, NO_WORK) else target.weight(node.op.scalar_op)


def _fits_a_kernel(node: Apply, target: Target) -> bool:
    """Whether a node is elementwise work or a reduction that a kernel of the target can hold; another would spoil its group."""
    lowering, variables = lowering_of(node, target.name), (*node.inputs, *node.outputs)
    if lowering not in (lower_careduce, lower_elemwise) or any(v.type.dtype not in TYPENUM for v in variables):
        return False
    if lowering is lower_careduce:
        try:
            return bool(reduced_axes(node) and reduction_kind(node))
        except CannotLower:
            return False
    if len(node.inputs) > target.limits.inputs or len(variables) > target.limits.operands:
        return False
    return has_c_code(node.op.scalar_op, [scalar.get_scalar_type(v.type.dtype) for v in node.inputs])


def find_groups(schedule: Schedule, pairs: Mapping[Apply, Pair], target: Target) -> dict[Apply, Group]:
    """Group the nodes of a schedule; on the way, nodes that fit into an earlier group are moved there.

    Parameters
    ----------
    pairs
        Nodes that become a kernel with their neighbour.
    target
        What will run the kernels.

    Returns
    -------
    dict
        The group of each node that shares a kernel with another.
    """
    found: dict[Apply, Group] = {}
    tail = schedule.tail
    for nodes in schedule.regions.values():
        order: list[Apply] = []
        for segment in ([n for n in nodes if n not in tail], [n for n in nodes if n in tail]):
            grouped = _Segment(segment, schedule.root_of, pairs, target)
            for node in segment:
                grouped.add(node)
            found.update(grouped.found())
            order += grouped.position
        nodes[:] = order
    return found


class _Segment:
    """Nodes that run one after another, and their groups.

    Attributes
    ----------
    root_of
        For each variable that shares memory with an earlier one, the first variable with that memory.
    home
        The group of each node.
    needed
        The variables that copies of nodes read in other groups than those of the nodes.
    goals
        The axes over which what comes of an elementwise node is reduced.
    holder
        For each variable of full size a group that computes or reads it.
    producer
        The group that computes a variable.
    readers
        The groups that read memory, by the first variable with that memory.
    destroyed
        The position of the last node that has overwritten memory.
    takers
        Groups that are known to take the node that is added, as long as they are open; none once a group has got others.
    """

    def __init__(self, nodes: Sequence[Apply], root_of: dict[Variable, Variable], pairs: Mapping[Apply, Pair], target: Target):
        self.target = target
        self.root_of = root_of
        self.pairs = pairs
        self.pending = set(nodes)
        self.goals = _goals(nodes)
        self.groups: list[Group] = []
        self.home: dict[Apply, Group] = {}
        self.needed: set[Variable] = set()
        self.holder: dict[Variable, Group] = {}
        self.producer: dict[Variable, Group] = {}
        self.readers: dict[Variable, list[Group]] = {}
        self.destroyed: dict[Variable, int] = {}
        self.takers: set[Group] = set()
        self.position: dict[Apply, int] = {}  # of the nodes so far, in their order
        self.work: dict[tuple[int, ...], bool] = {}

    def add(self, node: Apply) -> None:
        """Put the next node into a group, and before it those that can still join a group which it closes."""
        if node not in self.pending:
            return
        pair, takers = self.pairs.get(node), self.takers
        takers.clear()
        for variable in node.inputs if pair is None else pair.reads:
            group = self.producer.get(variable)
            if group is None or not group.open or group in takers or (not self.goals and group.reduced is None):
                continue
            if isinstance(node.op, _KINDS) and group.takes(node):
                takers.add(group)
            else:
                self._complete(group)
                takers.clear()
        self._overwrite(node)
        if is_lazy(node):  # what its branches use must be there
            for group in self.groups:
                group.open = False
        self._put(node, self._group_for(node))

    def _put(self, node: Apply, group: Group | None) -> None:
        self.pending.discard(node)
        self.position[node] = len(self.position)
        if group is None:
            self._close(node.inputs, None)
            return
        for variable in operands(node):
            if variable not in group.computed:
                for copy in self._copies(variable, group):
                    loaded = group.add(copy, copy=True)
                    self.needed.update(loaded)
                    self._load(loaded, group)
        self._load(group.add(node), group)
        if isinstance(node.op, Assert):
            self._close(node.inputs[1:], None)
        self.producer.update((v, group) for v in node.outputs)
        for variable in (*operands(node), *node.outputs):
            if tuple(variable.type.broadcastable) == group.pattern and not is_scalar_constant(variable):
                if variable not in self.holder or not self.holder[variable].open:
                    self.holder[variable] = group

    def _complete(self, group: Group) -> None:
        """Move nodes that work on what a group computes to where they can join it."""
        moved = True
        while moved:
            moved = False
            for variable in [out for node in group.body for out in node.outputs]:
                for node, _ in variable.clients[:MOST_CLIENTS]:
                    if node not in self.pending or not (group.reduced or isinstance(node.op, CAReduce)):
                        continue
                    if isinstance(node.op, _KINDS) and self._can_move(node, group) and group.takes(node):
                        if isinstance(node.op, NO_WORK) or self._is_work(node):
                            self._put(node, group)
                            moved = True

    def _is_work(self, node: Apply) -> bool:
        """Whether a kernel can hold the work of a node."""
        # The nodes of a segment keep their Ops and types: these keep their ids.
        key = (id(node.op), *[id(v.type) for v in node.inputs], *[id(v.type) for v in node.outputs])
        known = self.work.get(key)
        if known is None:
            known = self.work[key] = _fits_a_kernel(node, self.target)
        return known

    def _can_move(self, node: Apply, group: Group) -> bool:
        """Whether a node can run now: all that it reads is there, and it overwrites nothing that is in memory."""
        if any(v.owner in self.pending for v in node.inputs):
            return False
        return all(v in group.computed for v in destroyed_inputs(node))

    def found(self) -> dict[Apply, Group]:
        """The group of each node that is not lowered alone."""
        for group in reversed(self.groups):
            group.dead = group.copied and not any(group.wants(out) for node in group.members for out in node.outputs)
        return {n: group for group in self.groups if len(group.body) > 1 or group.dead for n in group.members}

    def _load(self, variables: Sequence[Variable], group: Group) -> None:
        self._close(variables, group)
        for variable in variables:
            self.readers.setdefault(group.loaded[variable], []).append(group)

    def _close(self, variables: Iterable[Variable], reader: Group | None) -> None:
        """Close the groups that compute variables, which somebody else reads."""
        for group in map(self.producer.get, variables):
            if group is not None and group is not reader:
                group.open = False

    def _overwrite(self, node: Apply) -> None:
        """Close the groups that read memory which the node overwrites, but for one that has made it and takes the node."""
        for source in destroyed_inputs(node):
            root = self.root_of.get(source, source)
            self.destroyed[root] = len(self.position)
            made = self.home.get(source.owner) if source.owner is not None else None
            readers = self.readers.pop(root, ())
            stays = made in readers and isinstance(node.op, Elemwise) and self._is_work(node) and self._choose(node) is made
            for group in readers:
                if stays and group is made:
                    self.readers.setdefault(root, []).append(group)
                else:
                    group.open = False

    def _group_for(self, node: Apply) -> Group | None:
        """The group that takes a node: one that is there, or one of its own."""
        if isinstance(node.op, NO_WORK):
            group = self.producer.get(node.inputs[0])
            if group is not None and group.takes(node):
                return group
            if not _is_uniform(node):
                return None
        elif not self._is_work(node):
            return None
        else:
            group = self._choose(node)
            if group is not None:
                self._join(group, node)
                return group
        space = node.inputs[0] if isinstance(node.op, CAReduce) else node.outputs[0]
        group = Group(tuple(space.type.broadcastable), self)
        group.open = not isinstance(node.op, DimShuffle)
        self.groups.append(group)
        return group

    def _choose(self, node: Apply) -> Group | None:
        """An open group that computes or reads one of the node's inputs and can take the node."""
        space = tuple(node.outputs[0].type.broadcastable)
        for variable in node.inputs:  # first those of which a value a row is needed
            group = self.producer.get(variable)
            if group is not None and variable in group.per_row and self._takes(group, node):
                return group
        taking = []
        for variable in node.inputs:
            group = self.holder.get(variable)
            if group is not None and (group.pattern == space or isinstance(node.op, CAReduce)) and self._takes(group, node):
                taking.append(group)
        goals = self.goals.get(node, ())
        return next((group for group in taking if group.reduced in goals), taking[0] if taking else None)

    def _takes(self, group: Group, node: Apply) -> bool:
        """Whether a group takes the node that is added; it is asked once."""
        return group.takes(node) if group not in self.takers else group.open

    def _join(self, group: Group, node: Apply) -> None:
        """Let the group that takes a node absorb the open groups that compute the node's other inputs."""
        for variable in node.inputs:
            other = self.producer.get(variable)
            if other is None or other is group or tuple(variable.type.broadcastable) != tuple(node.outputs[0].type.broadcastable):
                continue
            if tuple(variable.type.broadcastable) != group.pattern or not group.absorbs(other, node):
                continue
            made = [out for member in other.members for out in member.outputs]
            self.producer.update((out, group) for out in made)
            self.holder.update((v, group) for v in (*made, *other.loaded) if self.holder.get(v) is other)
            for root in other.loaded.values():
                self.readers.setdefault(root, []).append(group)
            group.absorb(other)

    def _copies(self, variable: Variable, group: Group) -> list[Apply]:
        """Nodes of other groups that a group computes again, for it costs less than to write what they give to memory.

        These are work on single numbers, and a little arithmetic on what the group reads anyway.
        """
        first = self.home.get(variable.owner) if variable.owner is not None else None
        if first is None or first is group or variable in group.loaded:
            return []
        uniform = all(variable.type.broadcastable)
        numbers = group.reduced is not None and not all(group.pattern)
        if uniform and not numbers:
            return []
        if not uniform and (first.reduced is None or not variable.type.broadcastable == first.pattern == group.pattern):
            return []
        found: dict[Apply, None] = {}
        fresh: set[Variable] = set()
        todo = [variable]
        weight = 0
        while todo:
            v = todo.pop()
            node = v.owner
            home = self.home.get(node) if node is not None else None
            if v in group.computed or is_scalar_constant(v) or node in found:
                continue
            copied = home is not None and v not in group.loaded and isinstance(node.op, Elemwise | DimShuffle)
            if copied and not (numbers and _is_uniform(node)):
                copied = not uniform and home is first and isinstance(node.op, Elemwise) and v.type.broadcastable == first.pattern
            if not copied:
                if self.destroyed.get(self.root_of.get(v, v), -1) > self.position.get(node, -1):
                    return []
                fresh.add(v)
                continue
            found[node] = None
            weight += _weight(node, self.target)
            if weight > self.target.limits.copied:
                return []
            todo.extend(node.inputs)
        full = [v for v in fresh if v.type.broadcastable == group.pattern and v not in group.loaded]
        if not found or len(fresh) > 4 or (not uniform and len(full) > 1):
            return []
        for node in found:
            self.home[node].copied = True
        return sorted(found, key=self.position.__getitem__)


def _goals(nodes: Sequence[Apply]) -> dict[Apply, frozenset[tuple[int, ...]]]:
    """The axes over which what comes of each elementwise node is reduced; empty if nothing is."""
    if not any(isinstance(node.op, CAReduce) for node in nodes):
        return {}
    goals: dict[Apply, frozenset[tuple[int, ...]]] = {}
    for node in reversed(nodes):
        if not isinstance(node.op, Elemwise | Assert):
            continue
        found: frozenset[tuple[int, ...]] = frozenset()
        pattern = node.outputs[0].type.broadcastable
        for out in node.outputs:
            for client, _ in out.clients:
                if not isinstance(client, Apply):
                    continue
                if isinstance(client.op, CAReduce):
                    found |= {reduced_axes(client)}
                elif client in goals and client.outputs[0].type.broadcastable == pattern:
                    found |= goals[client]
        goals[node] = found
    return goals


def _is_uniform(node: Apply) -> bool:
    """Whether a node works on single numbers."""
    if isinstance(node.op, Assert):
        return False
    return all(all(v.type.broadcastable) for v in (*node.inputs, *node.outputs))

"""From an ordered graph to a program: lowers every node, lays out branches and the tail, reports errors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from theano.gof.branches import TOP, Region, is_lazy
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.link import raise_with_op
from theano.gof.op import registered_c_code
from theano.native import instructions as vm
from theano.native.optimize.fusion import Group, find_groups
from theano.native.optimize.indexing import fuse_indexing
from theano.native.optimize.pairs import Pair, find_pairs
from theano.native.optimize.schedule import Schedule, arrange, can_be_restored, destroyed_inputs
from theano.native.program import CannotLower, Instr, ProgramBuilder, is_tensor_like, lowering_of
from theano.native.remember import remember
from theano.native.thunk import NativeThunk, Source
from theano.native.undo import guard_state
from theano.scalar import Scalar
from theano.tensor.type_other import MakeSlice


class NeedsPython(Exception):
    """The graph holds something that only the Python virtual machine runs."""


def compile_graph(linker: Any, fgraph: Any, order: list[Apply], input_storage: Any, output_storage: Any,
             storage_map: Any) -> NativeThunk:
    """Compile a graph over the given storages."""
    lowered = lower_graph(linker, fgraph, order)
    builder = lowered.builder
    has_state = bool(lowered.schedule.destroyed_inputs) or bool(getattr(fgraph, "update_mapping", None))
    build = builder.plan(
        list(zip(lowered.input_cells, input_storage, strict=True)),
        list(zip(lowered.output_cells, output_storage, strict=True)),
        on_error=error_reporter(builder, storage_map),
        serialise=has_state,
        keep_values=not linker.allow_gc,
        updates=sorted((getattr(fgraph, "update_mapping", None) or {}).items()),
        destroyed=frozenset(map(builder.cell, lowered.schedule.destroyed_inputs)),
    )
    program = builder.target.build(builder, build)
    if linker.profile is not None:
        program.set_profile(True)
    if linker.key is not None:
        remember(linker.key, fgraph, builder, build)
    source = Source(linker, fgraph, order, builder.instrs, storage_map)
    arrays = [is_tensor_like(v.type) for v in fgraph.inputs]
    return NativeThunk(program, lambda: source, input_storage, output_storage, arrays, linker.allow_gc)


def lower_graph(linker: Any, fgraph: Any, order: list[Apply]) -> Lowered:
    """Lower a graph for a linker."""
    schedule = arrange(fgraph.inputs, fgraph.outputs, order)
    fuse = linker.fuse and linker.profile is None
    lowered = Lowered(fgraph, schedule, fuse, for_target=linker.target)
    numbers = _unboxed_numbers(lowered.builder, [v for v in fgraph.outputs if isinstance(v.type, Scalar)])
    lowered.output_cells = [numbers.get(v, lowered.builder.cell(v)) for v in fgraph.outputs]
    objects = lowered.restored_objects(fgraph)
    arrays = lowered.work_on_copies(fgraph) if schedule.tail and not lowered.tail_is_preparable() else []
    if arrays or objects:
        guard_state(lowered.builder, arrays, objects)
    return lowered


def _unboxed_numbers(builder: ProgramBuilder, numbers: Sequence[Variable]) -> dict[Variable, int]:
    """Cells with the values of Scalar variables as NumPy scalars: a tensor cell gives an array of no dimension."""
    cells: dict[Variable, int] = {}
    builder.node = None
    for variable in dict.fromkeys(numbers):
        cells[variable] = builder.new_cell(("object",))
        builder.emit(vm.Call(operator.itemgetter(())), [builder.cell(variable)], [cells[variable]])
    return cells


class Lowered:
    """The instructions of a schedule.

    Attributes
    ----------
    output_cells
        The cells of what the graph's storages get.
    """

    def __init__(self, fgraph: Any, schedule: Schedule, fuse: bool, parent: ProgramBuilder | None = None,
                 for_target: str = "cpu"):
        self.builder = ProgramBuilder(parent, fuse, for_target=for_target)
        self.schedule = schedule
        self.groups: dict[Apply, Group | Pair] = {}
        if fuse:
            pairs = find_pairs(schedule, self.builder.target)
            self.groups = {**find_groups(schedule, pairs, self.builder.target), **pairs}
        builder = self.builder
        if parent is None:
            builder.changed_objects = {}
        self.input_cells = [builder.cell(variable) for variable in fgraph.inputs]
        self.output_cells: list[int] = []
        self._lower([n for n in schedule.regions[TOP] if n not in schedule.tail])
        if schedule.tail:
            builder.tail_start = len(builder.instrs)
            self._lower([n for n in schedule.regions[TOP] if n in schedule.tail])
        if builder.optional:
            builder.leave_out(map(builder.cell, fgraph.outputs))
        if fuse:
            fuse_indexing(builder, set(map(builder.cell, fgraph.outputs)))

    def _state(self, fgraph: Any) -> list[Variable]:
        """The state that the program overwrites. An argument of the caller that may be overwritten is none."""
        updated = set((getattr(fgraph, "update_mapping", None) or {}).values())
        return [v for i, v in enumerate(fgraph.inputs) if i in updated and v in self.schedule.destroyed_inputs]

    def restored_objects(self, fgraph: Any) -> list[Variable]:
        """The state that is changed in place and whose Type says how it is put back."""
        restored = [v for v in self._state(fgraph) if can_be_restored(v)]
        return list(dict.fromkeys([*restored, *(self.builder.changed_objects or ())]))

    def work_on_copies(self, fgraph: Any) -> list[int]:
        """Let a program whose tail cannot be checked before it runs work on copies of objects that cannot be put back.

        They become the new state when all is done. Returns the cells of arrays that it overwrites, to be put back if it fails.
        """
        builder = self.builder
        state = self._state(fgraph)
        arrays = [builder.cell(v) for v in state if is_tensor_like(v.type)]
        copies: list[Instr] = []
        copy_of: dict[int, int] = {}
        for variable in state:
            if not is_tensor_like(variable.type) and not can_be_restored(variable):
                cell, made = builder.cell(variable), builder.new_cell(("object",))
                shallow = vm.ListSlice(False, False, False)
                keep = shallow if builder.target.has(shallow) and self._keeps_elements(fgraph, variable) else vm.Deepcopy()
                copies.append(Instr(keep, (cell,), (made,), None))
                copy_of[cell] = made
                builder.of_variable[variable] = made
        for position, instr in enumerate(builder.instrs):
            ins, outs = (tuple(copy_of.get(cell, cell) for cell in cells) for cells in (instr.ins, instr.outs))
            builder.instrs[position] = instr._replace(ins=ins, outs=outs)
        builder.replace_instrs({0: [*copies, builder.instrs[0]]})
        builder.tail_start = None
        return arrays

    def _keeps_elements(self, fgraph: Any, variable: Variable) -> bool:
        """Whether of the value of a variable only the list itself is changed, nothing that is in it."""
        root_of = self.schedule.root_of
        for node in fgraph.apply_nodes:
            for changed in destroyed_inputs(node):
                changer = node
                if root_of.get(changed, changed) is not root_of.get(variable, variable):
                    continue
                while changer is not None and getattr(changer.op, "keeps_elements", False) and changed is not variable:
                    changer, changed = changed.owner, changed.owner.inputs[0] if changed.owner else None
                if changer is None or not getattr(changer.op, "keeps_elements", False):
                    return False
        return True

    def tail_is_preparable(self) -> bool:
        """Whether all of the tail can be checked before any of it runs."""
        made: set[int] = set()
        for instr in self.builder.instrs[self.builder.tail_start :]:
            first = instr.op.reads_from
            if instr.op.fails or (first is not None and not made.isdisjoint(instr.ins[first:])):
                return False
            made.update(instr.outs)
        return True

    def _lower(self, nodes: Sequence[Apply]) -> None:
        """Lower nodes in order; branches of lazy nodes are laid out around jumps.

        `todo` is a stack of steps, so that nested branches need no recursion.
        """
        builder = self.builder
        todo: list[Callable[[], None]] = []

        def push_nodes(region_nodes: Sequence[Apply]) -> None:
            todo.extend((lambda n=n: self._lower_node(n, push_lazy)) for n in reversed(region_nodes))

        def push_lazy(node: Apply) -> None:
            count = len(node.outputs)
            condition, branches = node.inputs[0], node.inputs[1:]
            regions = self.schedule.regions
            jumps = [-1, -1]

            def start() -> None:
                builder.node = node
                jumps[0] = builder.emit(vm.JumpIfFalse(0), [builder.cell(condition)], [])

            def finish(branch: int) -> None:
                builder.node = node
                for value, out in zip(branches[branch * count : (branch + 1) * count], node.outputs, strict=True):
                    # A result that nothing else can reach is handed over; anything else would be an alias.
                    owned = value.owner is not None and len(value.clients) == 1
                    moves = node.op.as_view or (owned and value not in self.schedule.root_of)
                    builder.emit(vm.View() if moves else vm.Deepcopy(), [builder.cell(value)], [builder.cell(out)])
                if branch == 0:
                    jumps[1] = builder.emit(vm.Jump(0), [], [])
                builder.aim(jumps[branch], len(builder.instrs))

            todo.append(lambda: finish(1))
            push_nodes(regions.get(Region(node, 1), []))
            todo.append(lambda: finish(0))
            push_nodes(regions.get(Region(node, 0), []))
            todo.append(start)

        push_nodes(nodes)
        while todo:
            todo.pop()()

    def _lower_node(self, node: Apply, push_lazy: Callable[[Apply], None]) -> None:
        if is_lazy(node):
            push_lazy(node)
            return
        self.builder.node = node
        group = self.groups.get(node)
        if group is None:
            lower_one(self.builder, node)
        elif isinstance(group, Pair):
            if node is group.first and not _is_emitted(self.builder, group.emit):
                for member in group.members:
                    self.builder.node = member
                    lower_one(self.builder, member)
        elif group.last is node:
            group.emit(self.builder)


def _is_emitted(builder: ProgramBuilder, emit: Callable[[ProgramBuilder], None]) -> bool:
    """Let `emit` append instructions; False, and none of them stays, where something has no native form."""
    kept = len(builder.instrs)
    try:
        emit(builder)
    except CannotLower:
        del builder.instrs[kept:]
        return False
    return True


def lower_one(builder: ProgramBuilder, node: Apply) -> None:
    """Emit the instructions of one node: native ones, or the call of its Python code."""
    lowering = lowering_of(node, builder.target.name)
    native = lowering is not None and not (builder.target.runs_c_code and registered_c_code(node))
    if not native or not _is_emitted(builder, lambda b: lowering(b, node)):
        _lower_to_python(builder, node)


def _lower_to_python(builder: ProgramBuilder, node: Apply) -> None:
    """Emit the call of a node's thunk over storage lists that the instruction fills and reads."""
    for variable in node.inputs:
        if variable.owner is not None and isinstance(variable.owner.op, MakeSlice):
            # Its lowering leaves it to those who want a slice.
            builder.node = variable.owner
            _lower_to_python(builder, variable.owner)
            builder.node = node
    # Lists of its own: the instruction empties them after the call, and those of the graph's inputs hold its state.
    storage_map = {v: [v.data if isinstance(v, Constant) else None] for v in (*node.inputs, *node.outputs)}
    ins = [storage_map[v] for v in node.inputs]
    outs = [storage_map[v] for v in node.outputs]
    compute_map = {**{v: [False] for v in node.outputs}, **{v: [True] for v in node.inputs}}
    impl = None if builder.target.runs_c_code else "py"
    thunk = node.op.make_thunk(node, storage_map, compute_map, list(node.outputs), impl)
    if getattr(thunk, "lazy", False):
        raise NeedsPython(node)
    # Compiled code needs no flags here, and is called without a Python function around it.
    thunk = getattr(thunk, "without_flags", thunk)
    scalars = [storage_map[v] for v in dict.fromkeys(node.inputs) if isinstance(v.type, Scalar)]
    if scalars:
        thunk = _with_numpy_scalars(thunk, scalars)
    builder.emit_for(node, vm.Thunk(thunk, tuple(ins), tuple(outs)))


def _with_numpy_scalars(thunk: Any, scalars: list[list[Any]]) -> Any:
    """A thunk whose scalars arrive as NumPy scalars, not as arrays of no dimension."""

    def run() -> Any:
        for storage in scalars:
            storage[0] = storage[0][()]
        return thunk()

    return run


def node_thunk(node: Apply, storage_map: Any, compute_map: Any) -> Any:
    """A thunk of one node: a program of its own where the node has a native form."""
    ins = [storage_map[v] for v in node.inputs]
    outs = [storage_map[v] for v in node.outputs]
    thunk = None
    if lowering_of(node) is not None and not registered_c_code(node) and not is_lazy(node):
        thunk = _native_node_thunk(node, ins, outs)
    if thunk is None:
        thunk = node.op.make_thunk(node, storage_map, compute_map, [])
    thunk.inputs, thunk.outputs = ins, outs
    return thunk


def _native_node_thunk(node: Apply, ins: list[Any], outs: list[Any]) -> Any:
    builder = ProgramBuilder(alone=True)  # of no node: who runs the thunk tells of an error
    variables = list(dict.fromkeys(v for v in node.inputs if not isinstance(v, Constant)))
    for variable in variables:
        builder.cell(variable)
    if not _is_emitted(builder, lambda b: lowering_of(node)(b, node)) or not builder.instrs:
        return None
    made = {cell for instr in builder.instrs for cell in instr.outs}
    given = {*variables, *node.outputs}
    if any(v not in given and not isinstance(v, Constant) and cell not in made for v, cell in builder.of_variable.items()):
        # The form of the node looks through an input, such as a slice, to what that was made of.
        return None
    storages = dict(zip(node.inputs, ins, strict=True))
    inputs = [(builder.cell(v), storages[v]) for v in variables]
    cells = _unboxed_numbers(builder, [v for v in node.outputs if isinstance(v.type, Scalar)])
    outputs = [(cells.get(v, builder.cell(v)), s) for v, s in zip(node.outputs, outs, strict=True)]
    program = builder.build(inputs, outputs, on_error=error_reporter(builder, {}))

    def thunk() -> None:
        program()

    thunk.lazy = False
    thunk.cthunk = program
    return thunk


def error_reporter(builder: ProgramBuilder, storage_map: Any) -> Callable[..., Any]:
    """What is called when an instruction fails, see `Build`: it raises the error with the description of the node."""

    def on_error(path: tuple[int, ...], exc_type: Any, exc_value: Any, trace: Any, values: Any) -> None:
        inner, position = builder, path[-1]
        for outer in path[:-1]:
            inner = inner.instrs[outer].op[0].builder
        instr = inner.instrs[position]
        node = instr.node
        if node is None:
            raise exc_value.with_traceback(trace)
        known = {**dict(inner.constants), **dict(zip((*instr.ins, *inner.shown()[position]), values, strict=False))}
        inputs = [[known.get(inner.of_variable.get(v), v.data if isinstance(v, Constant) else None)] for v in node.inputs]
        thunk = SimpleNamespace(inputs=inputs, outputs=[[None] for _ in node.outputs])
        raise_with_op(node, thunk, (exc_type, exc_value, trace), storage_map if inner is builder else {})

    return on_error

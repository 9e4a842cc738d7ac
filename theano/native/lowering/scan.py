"""Loops: a Scan's inner graph becomes a nested program, and the loop around it one instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.graph import Apply, Variable
from theano.gof.supervisor import protected_inputs
from theano.native import instructions as vm
from theano.native.assemble import Lowered
from theano.native.linker import NativeLinker
from theano.native.memory import overwritten, shared
from theano.native.optimize.schedule import arrange
from theano.native.program import CannotLower, Instr, PendingProgram, ProgramBuilder, is_tensor_like, lowers
from theano.native.thunk import StepErrors, move_times
from theano.scan_module.scan_op import Scan


@lowers(Scan, where=("the loop is not for another device", lambda node: not node.op.gpua))
def lower_scan(builder: ProgramBuilder, node: Apply) -> None:
    """One instruction for the whole loop."""
    op = node.op
    rows = [*op.inner_seqs(op.inputs), *op.outputs[: op._ends["inner_out"][2]]]
    if not all(is_tensor_like(v.type) for v in rows):
        raise CannotLower("a loop over values that are not arrays")
    inner, inputs, outputs = _lower_inner(builder, op)
    own = _draw_in_place(op, inner, inputs, outputs)
    written: list[Sequence[int]] = [*op.mit_mot_out_slices, *[(0,)] * (op.n_mit_sot + op.n_sit_sot)]
    states = tuple(
        (tuple(taps), tuple(out_taps), i < op.n_mit_mot, i in (op.destroy_map or {}))
        for i, (taps, out_taps) in enumerate(zip(op.tap_array, written, strict=True))
    )
    # The buffer of each output that goes to one, and the inner inputs that are rows of the same buffer.
    of_tap = [i for i, taps in enumerate(op.tap_array) for _ in taps]
    of_output: list[int | None] = [i for i, out_taps in enumerate(written) for _ in out_taps]
    of_output += [None] * op.n_nit_sot
    same_buffer = [tuple(op.n_seqs + k for k, tap in enumerate(of_tap) if tap == state) for state in of_output]
    profile = _StepProfile(op.step_profile, inner.instrs) if op.profile else None
    loop = vm.Scan(
        PendingProgram(inner, inputs, outputs, None if profile is None else profile.watch),
        StepErrors(op.name),
        profile,
        str(op),
        op.n_seqs,
        states,
        op.n_shared_outs,
        op.n_nit_sot,
        len(op.inner_non_seqs(op.inputs)),
        bool(op.as_while),
        _Memory(inner, inputs, outputs).destinations(same_buffer),
    )
    cells = [builder.cell(v) for v in node.inputs]
    for state in own:
        place = op._ends["outer_in"][4] + state
        value = node.inputs[place]
        if is_tensor_like(value.type):
            continue  # of arrays the loop always has its own copy
        changed = builder.changed_objects
        if changed is not None and _is_replaced(node, value, node.outputs[op._ends["outer_out"][3] + state]):
            changed[value] = None
            continue
        copy = builder.new_cell(("object",))
        builder.emit(vm.Deepcopy(), [cells[place]], [copy])
        cells[place] = copy
    builder.emit(loop, cells, map(builder.cell, node.outputs))


def _is_replaced(node: Apply, value: Variable, new: Variable) -> bool:
    """Whether the function replaces one of its inputs by what the node makes of it, and nobody else needs the old value.

    The caller does of an input that is not mutable: it may be an argument.
    """
    fgraph: Any = getattr(node, "fgraph", None)
    updates = getattr(fgraph, "update_mapping", None)
    if not updates or value not in fgraph.inputs:
        return False
    protected = protected_inputs(fgraph)
    return (
        value not in protected
        # The Supervisor of a graph that this one was cloned from knows other variables.
        and protected.issubset(fgraph.inputs)
        and [client for client, _ in value.clients] == [node]
        and [client for client, _ in new.clients] == ["output"]
        and updates.get(fgraph.outputs.index(new)) == fgraph.inputs.index(value)
    )


def _draw_in_place(op: Any, inner: ProgramBuilder, inputs: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Let the steps of a loop advance states of random numbers in place that one instruction reads and makes anew.

    Returns
    -------
    list
        Which of the shared values are changed so.
    """
    first_in, first_out = op._ends["inner_in"][3], op._ends["inner_out"][3]
    found = []
    for state in range(op.n_shared_outs):
        before, after = inputs[first_in + state], outputs[first_out + state]
        readers = [k for k, instr in enumerate(inner.instrs) if before in instr.ins]
        drawing = inner.instrs[readers[0]] if len(readers) == 1 else None
        if (
            drawing is not None
            and isinstance(drawing.op, vm.Draw | vm.MrgUniform)
            and drawing.ins.count(before) == 1
            and drawing.outs[0] == after
            and before not in outputs
            and outputs.count(after) == 1
        ):
            inner.instrs[readers[0]] = drawing._replace(op=type(drawing.op)(True, *drawing.op[1:]))
            found.append(state)
    return found


def _lower_inner(builder: ProgramBuilder, op: Any) -> tuple[ProgramBuilder, tuple[int, ...], tuple[int, ...]]:
    """Optimize the inner graph as a function of its own, and lower it; returns the cells of inputs and outputs too."""
    mode = op.mode_instance
    linker = mode.linker
    if not isinstance(linker, NativeLinker):
        raise CannotLower("the loop's mode asks for another linker")
    fgraph = optimized_inner_graph(op)
    order = linker.schedule(fgraph)
    fuse = builder.fuse and linker.fuse and not op.profile
    lowered = Lowered(fgraph, arrange(fgraph.inputs, fgraph.outputs, order), fuse, parent=builder)
    inner = lowered.builder
    return inner, tuple(lowered.input_cells), tuple(inner.cell(v) for v in fgraph.outputs)


def optimized_inner_graph(op: Any) -> Any:
    """A FunctionGraph of one step, rewritten by the mode of the loop."""
    from theano.compile.function_module import std_fgraph
    from theano.compile.io import In, Out
    from theano.configparser import change_flags, config

    op.validate_inner_graph()
    inputs: list[Any] = [In(v, borrow=True) for v in op.inputs]
    outputs: list[Any] = [Out(v, borrow=True) for v in op.outputs]
    fgraph, _ = std_fgraph(inputs, outputs, accept_inplace=True)
    optimizer = _step_optimizer(op.mode_instance)
    flags = {"compute_test_value": config.compute_test_value_opt, "traceback.limit": config.traceback.compile_limit}
    with change_flags(**flags):
        optimizer(fgraph)
    return fgraph


def _step_optimizer(mode: Any) -> Any:
    """The rewrites of a mode, but for elementwise work in place.

    The results of a step are made where they are kept, and intermediate values stay where they are from step to step:
    nothing is gained by overwriting them, while values that are overwritten keep nodes from sharing a kernel.
    """
    from theano.compile.mode import Mode
    from theano.gof.optdb import Query
    from theano.gof.rewriting.stages import queried

    query = mode._optimizer if isinstance(mode, Mode) else mode.optimizer
    if not isinstance(query, Query):
        return query
    return queried(query.excluding("inplace_elemwise_optimizer"))


class _StepProfile:
    """Takes over into a profile, after each run of a loop, what its steps cost.

    Parameters
    ----------
    stats
        A ScanProfileStats.
    instrs
        The instructions of the inner program.
    """

    def __init__(self, stats: Any, instrs: Sequence[Instr]):
        self.stats = stats
        self.instrs = instrs
        self.program: Any = None

    def watch(self, program: Any) -> None:
        """Have the times of the inner program taken."""
        self.program = program
        program.set_profile(True)

    def __call__(self, steps: int, seconds: float) -> None:
        stats = self.stats
        stats.callcount += 1
        stats.nbsteps += steps
        stats.call_time += seconds
        stats.fct_callcount += steps
        stats.fct_call_time += seconds
        stats.vm_call_time += seconds
        move_times(self.program, self.instrs, stats)


class _Memory:
    """Who shares memory in a nested program, and so which results may be made where they are wanted."""

    def __init__(self, inner: ProgramBuilder, inputs: Sequence[int], outputs: Sequence[int]):
        self.kernels = inner.kernels
        self.instrs = inner.instrs
        self.inputs = inputs
        self.outputs = outputs
        self.producer = {cell: k for k, instr in enumerate(inner.instrs) for cell in instr.outs}

    def destinations(self, same_buffer: Sequence[Sequence[int]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """For each output that goes to a buffer the cell to bind to its row, and the inputs that may be in that row.

        Parameters
        ----------
        same_buffer
            For each such output the positions of the inputs that are rows of the same buffer.
        """
        found: list[tuple[int, tuple[int, ...]]] = []
        taken: set[int] = set()
        for cell, taps in zip(self.outputs, same_buffer, strict=False):
            root = self._root(cell)
            if root is None or root in taken:
                found.append((-1, ()))
                continue
            taken.add(root)
            found.append((root, tuple(k for k in taps if self._may_overlap(root, self.inputs[k]))))
        return tuple(found)

    def _root(self, cell: int) -> int | None:
        """The cell whose memory a result is, of the same shape; None where no instruction makes it."""
        while cell in self.producer:
            instr = self.instrs[self.producer[cell]]
            source = overwritten(instr, self.kernels).get(cell)
            if source is None and instr.op.memory is vm.Memory.SAME:
                source = instr.ins[0]
            if source is None:
                return cell
            cell = source
        return None

    def _may_overlap(self, root: int, tap: int) -> bool:
        """Whether `root` may be made in the memory of the input `tap`: all that read it do so before, or as they write."""
        views = {tap}
        made = self.producer[root]
        for position, instr in enumerate(self.instrs):
            if views.isdisjoint(instr.ins):
                continue
            if not instr.op.dims_only and position >= made and (
                position > made or not self._reads_as_it_writes(instr, root, tap, views)
            ):
                return False
            views.update(out for source, out in shared(instr, self.kernels) if source in views)
        return views.isdisjoint(self.outputs)

    def _reads_as_it_writes(self, instr: Instr, root: int, tap: int, views: set[int]) -> bool:
        """Whether each element of `tap` is read before the element of `root` at the same place is written, and never after."""
        reads = [k for k, cell in enumerate(instr.ins) if cell in views]
        if any(instr.ins[k] != tap for k in reads):
            return False
        if instr.op.memory is vm.Memory.INPLACE:
            return reads == [0]
        if not isinstance(instr.op, vm.Kernel):
            return False
        kernel = self.kernels[instr.op.kernel.number]
        out = kernel.outputs[instr.outs.index(root)]
        return kernel.n_inner == 0 and all(
            operand.rank == len(out.dims)
            and not any(operand.broadcast)
            and all(dim >= 0 and operand.axis_of(dim) == axis for axis, dim in enumerate(out.dims))
            for operand in (kernel.inputs[k] for k in reads)
        )

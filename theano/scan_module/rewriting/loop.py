"""A Scan node taken apart, so that a rewrite can change its parts and put them together again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from theano.gof.graph import Apply, Constant, Variable, io_toposort
from theano.gof.opt import copy_stack_trace


class Argument:
    """A sequence or a non-sequence: the outer variable and what the step sees of it."""

    __slots__ = ("inner", "outer")

    def __init__(self, outer: Any, inner: Any):
        self.outer = outer
        self.inner = inner


class State:
    """A mit_mot, mit_sot, sit_sot or shared state.

    Attributes
    ----------
    outer
        The buffer, or the value of a shared state.
    reads, taps
        What the step reads, and which taps these are.
    writes, out_taps
        What the step computes, and which taps these are.
    old, new
        The outer output before and after the rewrite; `old` is None for a state that the rewrite added.
    """

    __slots__ = ("new", "old", "out_taps", "outer", "reads", "taps", "writes")

    def __init__(self, outer: Any, reads: Sequence[Any], taps: Sequence[int], writes: Sequence[Any], out_taps: Sequence[int],
                 old: Any = None):
        self.outer = outer
        self.reads = list(reads)
        self.taps = list(taps)
        self.writes = list(writes)
        self.out_taps = list(out_taps)
        self.old = old
        self.new: Any = None

    @property
    def n_initial(self) -> int:
        """Number of initial rows of the buffer."""
        return -min([*self.taps, *self.out_taps], default=0)


class Output:
    """A nit_sot: how many of its last values are kept, and what the step computes."""

    __slots__ = ("inner", "length", "new", "old")

    def __init__(self, length: Any, inner: Any, old: Any = None):
        self.length = length
        self.inner = inner
        self.old = old
        self.new: Any = None


class Loop:
    """The parts of a Scan node.

    Rewrites change the lists, and call `build` for the node that is meant; `replacements` says what takes the place of
    what. The inner graph is never changed in place, so that both nodes may share its variables.

    Parameters
    ----------
    node : Apply
        Of a Scan.
    """

    def __init__(self, node: Apply):
        op: Any = node.op
        self.node = node
        self.op = op
        self.name: str | None = op.name
        self.n_steps: Any = node.inputs[0]
        ins, outs = op.inputs, op.outputs
        self.seqs = [Argument(o, i) for o, i in zip(op.outer_seqs(node), op.inner_seqs(ins), strict=True)]
        mit_mot_reads = iter(op.inner_mitmot(ins))
        mit_mot_writes = iter(op.inner_mitmot_outs(outs))
        self.mit_mots = [
            State(outer, [next(mit_mot_reads) for _ in taps], taps, [next(mit_mot_writes) for _ in out_taps], out_taps, old)
            for outer, taps, out_taps, old in zip(
                op.outer_mitmot(node), op.mitmot_taps(), op.mitmot_out_taps(), op.outer_mitmot_outs(node), strict=True
            )
        ]
        mit_sot_reads = iter(op.inner_mitsot(ins))
        self.mit_sots = [
            State(outer, [next(mit_sot_reads) for _ in taps], taps, [write], [0], old)
            for outer, taps, write, old in zip(
                op.outer_mitsot(node), op.mitsot_taps(), op.inner_mitsot_outs(outs), op.outer_mitsot_outs(node), strict=True
            )
        ]
        self.sit_sots = [
            State(outer, [read], [-1], [write], [0], old)
            for outer, read, write, old in zip(
                op.outer_sitsot(node), op.inner_sitsot(ins), op.inner_sitsot_outs(outs), op.outer_sitsot_outs(node), strict=True
            )
        ]
        self.shared = [
            State(outer, [read], [], [write], [], old)
            for outer, read, write, old in zip(
                op.outer_shared(node), op.inner_shared(ins), op.inner_shared_outs(outs), op.outer_shared_outs(node), strict=True
            )
        ]
        self.nit_sots = [
            Output(length, inner, old)
            for length, inner, old in zip(
                op.outer_nitsot(node), op.inner_nitsot_outs(outs), op.outer_nitsot_outs(node), strict=True
            )
        ]
        self.args = [Argument(o, i) for o, i in zip(op.outer_non_seqs(node), op.inner_non_seqs(ins), strict=True)]
        self.condition: Any = outs[-1] if op.as_while else None
        self.optimized = getattr(op, "inner_optimized", False)
        self.destroy: dict[int, list[int]] = dict(op.destroy_map)

    # -- lists over several kinds ----------------------------------------------------------------------------------

    @property
    def buffers(self) -> list[State]:
        """The states that have a buffer, in their order among the outer inputs."""
        return [*self.mit_mots, *self.mit_sots, *self.sit_sots]

    @property
    def states(self) -> list[State]:
        """All states."""
        return [*self.buffers, *self.shared]

    @property
    def results(self) -> list[Any]:
        """Everything that has an outer output, in their order."""
        return [*self.buffers, *self.nit_sots, *self.shared]

    @property
    def inner_inputs(self) -> list[Any]:
        """Inputs of the step."""
        return [
            *(seq.inner for seq in self.seqs),
            *(read for state in self.states for read in state.reads),
            *(arg.inner for arg in self.args),
        ]

    @property
    def inner_outputs(self) -> list[Any]:
        """Outputs of the step."""
        outputs = [write for state in self.buffers for write in state.writes]
        outputs += [out.inner for out in self.nit_sots]
        outputs += [write for state in self.shared for write in state.writes]
        return outputs if self.condition is None else [*outputs, self.condition]

    @property
    def inner_nodes(self) -> list[Apply]:
        """Nodes of the step, each after those whose outputs it takes."""
        return io_toposort(self.inner_inputs, self.inner_outputs)

    # -- changes -----------------------------------------------------------------------------------------------------

    def set_inner_outputs(self, outputs: Sequence[Any]) -> None:
        """Give the step other outputs, in the order of `inner_outputs`."""
        rest = iter(outputs)
        for state in self.buffers:
            state.writes = [next(rest) for _ in state.writes]
        for out in self.nit_sots:
            out.inner = next(rest)
        for state in self.shared:
            state.writes = [next(rest) for _ in state.writes]
        if self.condition is not None:
            self.condition = next(rest)

    def substitute(self, replacements: dict[Variable, Any]) -> None:
        """Replace variables within the step."""
        if replacements:
            self.set_inner_outputs(substitute(self.inner_inputs, self.inner_outputs, replacements))

    def add_seq(self, outer: Any, name: str | None = None) -> Any:
        """Add a sequence and return what the step sees of it; one that is there is used again."""
        for seq in self.seqs:
            if seq.outer is outer:
                return seq.inner
        inner = row_type(outer.type)(name)
        self.seqs.append(Argument(outer, inner))
        return inner

    def add_arg(self, outer: Any) -> Any:
        """Add a non-sequence and return what the step sees of it; one that is there is used again."""
        for arg in self.args:
            if arg.outer is outer:
                return arg.inner
        inner = outer.type(outer.name)
        self.args.append(Argument(outer, inner))
        return inner

    def add_output(self, inner: Any) -> Output:
        """Add a nit_sot that keeps all values; an equal one that is there is used again."""
        for out in self.nit_sots:
            if out.inner is inner and out.length is self.n_steps:
                return out
        out = Output(self.n_steps, inner)
        self.nit_sots.append(out)
        return out

    def forget_unused(self) -> bool:
        """Drop sequences and non-sequences that the step does not read; says whether there were any."""
        used = used_inputs(self.inner_inputs, self.inner_outputs)
        seqs = [seq for seq in self.seqs if seq.inner in used]
        args = [arg for arg in self.args if arg.inner in used]
        changed = len(seqs) < len(self.seqs) or len(args) < len(self.args)
        self.seqs, self.args = seqs, args
        return changed

    # -- putting it together -------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Make the node, and set `new` of all that has an outer output."""
        op = self.op
        info = dict(op.info)
        info.update(
            name=self.name,
            n_seqs=len(self.seqs),
            n_mit_mot=len(self.mit_mots),
            n_mit_mot_outs=sum(len(state.writes) for state in self.mit_mots),
            n_mit_sot=len(self.mit_sots),
            n_sit_sot=len(self.sit_sots),
            n_nit_sot=len(self.nit_sots),
            n_shared_outs=len(self.shared),
            tap_array=[list(state.taps) for state in self.buffers],
            mit_mot_out_slices=[list(state.out_taps) for state in self.mit_mots],
            as_while=self.condition is not None,
            destroy_map=dict(self.destroy),
        )
        new_op = type(op)(self.inner_inputs, self.inner_outputs, info)
        new_op.inner_optimized = self.optimized
        outputs = new_op(
            self.n_steps,
            *(seq.outer for seq in self.seqs),
            *(state.outer for state in self.states),
            *(out.length for out in self.nit_sots),
            *(arg.outer for arg in self.args),
            return_list=True,
        )
        for result, new in zip(self.results, outputs, strict=True):
            result.new = new
        copy_stack_trace(self.node.outputs, outputs)

    def replacements(self) -> list[tuple[Any, Any]]:
        """Pairs of an outer output of the old node and what takes its place."""
        return [(result.old, result.new) for result in self.results if result.old is not None]


def row_type(outer_type: Any) -> Any:
    """The type of one row of an array of a type."""
    return outer_type.clone(broadcastable=outer_type.broadcastable[1:])


def used_inputs(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> set[Variable]:
    """The inputs that the outputs need."""
    used = set(outputs)
    for node in io_toposort(inputs, outputs):
        used.update(node.inputs)
    return used.intersection(inputs)


def substitute(inputs: Sequence[Variable], outputs: Sequence[Variable], replacements: dict[Variable, Any]) -> list[Any]:
    """Return the outputs with variables replaced; what does not depend on a replaced variable is kept as it is."""
    memo: dict[Variable, Any] = dict(replacements)
    for node in io_toposort([*inputs, *replacements], outputs):
        if any(v in memo for v in node.inputs):
            new = node.clone_with_new_inputs([memo.get(v, v) for v in node.inputs])
            for old_out, new_out in zip(node.outputs, new.outputs, strict=True):
                memo.setdefault(old_out, new_out)
    return [memo.get(v, v) for v in outputs]


def dependents(nodes: Iterable[Apply]) -> dict[Variable, list[Apply]]:
    """For each variable the nodes that take it."""
    clients: dict[Variable, list[Apply]] = {}
    for node in nodes:
        for v in dict.fromkeys(node.inputs):
            if not isinstance(v, Constant):
                clients.setdefault(v, []).append(node)
    return clients

"""What a compiled graph is called through, and the state that it puts back should it fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano.gof.link import raise_with_op
from theano.gof.record import Record
from theano.gof.run_errors import _add_text


class Source(Record):
    """What a program was made of.

    Parameters
    ----------
    linker
        Has accepted the graph.
    fgraph
        The graph.
    nodes
        Its nodes in topological order.
    instrs
        The instructions.
    storage_map
        One-element lists of inputs, outputs and constants; intermediate values live in the program only.
    """

    linker: Any
    fgraph: Any
    nodes: Sequence[Any]
    instrs: Sequence[Any]
    storage_map: Any


class NativeThunk:
    """Runs a program.

    Parameters
    ----------
    program
        The `_runtime.Program`.
    source
        Gives what the program was made of: a program that was kept on disk is called without that.
    inputs, outputs
        The storages.
    arrays
        Of each input whether it is an array.
    """

    lazy = False
    need_update_inputs = False

    def __init__(self, program: Any, source: Callable[[], Source], inputs: Sequence[list[Any]], outputs: Sequence[list[Any]],
                 arrays: Sequence[bool], allow_gc: bool):
        self.program = program
        self.source = source
        self.inputs = inputs
        self.outputs = outputs
        self.allow_gc = allow_gc
        self._arrays = [storage for storage, is_array in zip(inputs, arrays, strict=True) if is_array]
        self._in_python: Any = None

    @property
    def nodes(self) -> list[Any]:
        """The graph's nodes in topological order."""
        return list(self.source().nodes)

    @property
    def instrs(self) -> Sequence[Any]:
        """The instructions."""
        return self.source().instrs

    @property
    def storage_map(self) -> Any:
        """The storages of inputs, outputs and constants by variable."""
        return self.source().storage_map

    def __call__(self) -> None:
        if any(storage[0] is None for storage in self._arrays):
            self._run_in_python()
        else:
            self.program()

    def _run_in_python(self) -> None:
        """What runs when an input is None instead of an array: a few Ops take that, all of them in Python."""
        if self._in_python is None:
            self._in_python = self.source().linker.python_thunk(self.inputs, self.outputs, None)[0]
        machine = self._in_python
        try:
            machine()
        except Exception:
            position = getattr(machine, "position_of_error", None)
            if position is None:
                raise
            raise_with_op(machine.nodes[position], machine.thunks[position], storage_map=machine.storage_map)
        for output, position in (getattr(self.source().fgraph, "update_mapping", None) or {}).items():
            self.inputs[position][0] = self.outputs[output][0]

    def free(self) -> None:
        """Give back the memory that is kept between calls."""
        self.program.free()

    def update_profile(self, profile: Any) -> None:
        """Add the time that each node took to a profile, and start again from zero."""
        move_times(self.program, self.instrs, profile)


def move_times(program: Any, instrs: Sequence[Any], profile: Any) -> None:
    """Add the time that each node of a program took to a profile, and let the program start again from zero."""
    calls: dict[Any, int] = {}
    for instr, time, count in zip(instrs, program.node_times(), program.node_counts(), strict=True):
        if instr.node is not None:
            profile.apply_time[instr.node] = profile.apply_time.get(instr.node, 0.0) + time
            calls[instr.node] = max(calls.get(instr.node, 0), count)
    python = {i.node for i in instrs if i.name == "thunk" and not hasattr(i.op.thunk, "cthunk")}
    for node, count in calls.items():
        profile.apply_callcount[node] = profile.apply_callcount.get(node, 0) + count
        profile.apply_cimpl[node] = node not in python
    program.reset_profile()


class StepErrors(Record):
    """What a loop calls when one of its steps fails."""

    name: str | None

    def __call__(self, step: int, steps: int, exc_type: Any, exc_value: Any, trace: Any) -> None:
        if isinstance(exc_value, Exception):
            _add_text(exc_value, f"\nThis was raised by step {step} (counted from 0) of {steps} of the scan {self.name}.")
        raise exc_value.with_traceback(trace)

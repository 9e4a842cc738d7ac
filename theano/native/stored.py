"""Programs kept on disk, so that a graph that was compiled before is neither rewritten nor lowered again.

What `theano.compile.program_key` makes of a function's graph and of all that has a say in its compilation is the key. Kept is the
program as plain data (`theano.native.target.cpu.form`) and what its kernels are made from; a program that calls functions of
Python other than those of this package and of NumPy is not kept. `theano.native.remember` writes them.

The graph itself is not kept: it is rewritten and lowered again when somebody looks at it, or to tell of which node an error is.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from theano.configdefaults import config
from theano.gof.graph import Apply, Variable
from theano.gof.link import Container, map_storage, storage_containers
from theano.gof.record import Record
from theano.misc import file_cache
from theano.native.target.cpu import libraries
from theano.native.target.cpu.form import Form, Stored
from theano.native.thunk import NativeThunk, Source


def recall(key: str) -> Recalled | None:
    """The program that was kept for a key, if its kernels are there, too."""
    cache = file_cache.open_programs() if config.program_cache == "on" else None
    data = None if cache is None else cache.read(key)
    if data is None:
        return None
    stored: Stored = pickle.loads(data)
    found = libraries.find({form.key for form in stored.kernels})
    if any(form.key not in found for form in stored.kernels):
        return None
    return Recalled(stored, found)


class Recalled(Record):
    """A program that was kept, for one function.

    Parameters
    ----------
    stored
        What was kept.
    found
        The libraries of its kernels by key.
    """

    stored: Stored
    found: dict[str, Any]

    @property
    def computed(self) -> tuple[bool, ...]:
        """Of each output whether a node makes it."""
        return self.stored.computed

    def make_thunk(self, inputs: Sequence[Variable], outputs: Sequence[Variable], input_storage: Sequence[list[Any]],
                   linker: Callable[[], Any], allow_gc: bool) -> tuple[NativeThunk, list[Container], list[Container]]:
        """What `NativeLinker.make_thunk` returns.

        Parameters
        ----------
        linker
            Gives the linker, which has accepted the rewritten graph then.
        """
        stored = self.stored
        kernels = libraries.Kernels(self.found, stored.kernels)
        output_storage = [[None] if place is None else input_storage[place] for place in stored.places]
        again = _Again(linker, input_storage, output_storage, stored.program)
        program = stored.program.realised(kernels, input_storage, output_storage, again.report)
        thunk = NativeThunk(program, again.source, input_storage, output_storage, stored.arrays, allow_gc)
        return thunk, *storage_containers(inputs, outputs, input_storage, output_storage)


class _Again:
    """Lowers a graph again, to tell from which nodes instructions are."""

    def __init__(self, linker: Callable[[], Any], input_storage: Any, output_storage: Any, program: Form):
        self._linker = linker
        self._program = program
        self._storages = input_storage, output_storage
        self._lowered: Any = None

    def lowered(self) -> tuple[Any, Source]:
        if self._lowered is None:
            from theano.native.assemble import lower_graph  # not before: it imports all of lowering

            linker = self._linker()
            fgraph = linker.fgraph
            order: list[Apply] = linker.schedule(fgraph)
            _, _, storage_map = map_storage(fgraph, order, *self._storages, None)
            lowered = lower_graph(linker, fgraph, order)
            self._lowered = lowered, Source(linker, fgraph, order, lowered.builder.instrs, storage_map)
        return self._lowered

    def source(self) -> Source:
        """What the program is made of."""
        return self.lowered()[1]

    def report(self, path: tuple[int, ...], *error: Any) -> None:
        """Raise the error of an instruction; see `theano.native.program.Build`."""
        from theano.native.assemble import error_reporter

        lowered, source = self.lowered()
        if not _is_of(self._program, lowered.builder, path[:-1]):
            # Somebody has registered rewrites or changed the graph since: it does not tell of which node the instruction is.
            _, exc_value, trace = error[:3]
            raise exc_value.with_traceback(trace)
        error_reporter(lowered.builder, source.storage_map)(path, *error)


def _is_of(program: Any, builder: Any, path: tuple[int, ...]) -> bool:
    """Whether a program has the instructions of a builder, and so have the nested ones at these positions."""
    told = [(step.name, step.ins, step.outs) for step in program.steps]
    if told != [(instr.op.name, instr.ins, instr.outs) for instr in builder.instrs]:
        return False
    return not path or _is_of(program.steps[path[0]].nested, builder.instrs[path[0]].op[0].builder, path[1:])

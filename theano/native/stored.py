"""Programs kept on disk, so that a graph that was compiled before is neither rewritten nor lowered again.

What `theano.compile.program_key` makes of a function's graph and of all that has a say in its compilation is the key. Kept is the
program as plain data (`theano.native.target.cpu.form`) and what its kernels are made from; a program that calls functions of
Python other than those of this package and of NumPy is not kept. The graph itself is not: it is rewritten again when somebody
looks at it, or to tell of which node an error is.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from theano.gof.graph import Apply, Constant, Variable
from theano.gof.link import Container, map_storage
from theano.gof.memo import Bounded
from theano.misc import file_cache
from theano.native.target.cpu import libraries
from theano.native.target.cpu.form import Form, Nested, Step
from theano.native.thunk import NativeThunk, Snapshot, Source, restore

LARGEST = 1_000_000
"""Bytes of a program, with its constants, that is kept."""

_checked = Bounded(30_000_000)
"""In place of the disk where `config.program_cache` is 'check': what was made for a key."""


class Differs(AssertionError):
    """A graph was compiled to another program than the one that was kept for its key."""


class Stored(NamedTuple):
    """What is kept of a function; all of it is data, so that equal ones have equal bytes.

    Parameters
    ----------
    program
        Its program.
    kernels
        What its kernels are made from.
    arrays
        Of each input whether it is an array.
    places
        Of each output the input whose storage it has, else None.
    computed
        Of each output whether a node makes it.
    """

    program: Form
    kernels: tuple[libraries.Form, ...]
    arrays: tuple[bool, ...]
    places: tuple[int | None, ...]
    computed: tuple[bool, ...]


def remember(key: str, fgraph: Any, builder: Any, build: Any) -> None:
    """Keep the program of a graph, if it can be kept."""
    from theano.configdefaults import config
    from theano.native.program import is_tensor_like
    from theano.native.target.cpu.machine import form

    if len(set(fgraph.outputs)) < len(fgraph.outputs):
        return
    position = {v: i for i, v in enumerate(fgraph.inputs)}
    try:
        data = _as_bytes(Stored(
            _without_functions(form(builder, build)),
            build.kernels.forms if build.kernels else (),
            tuple(is_tensor_like(v.type) for v in fgraph.inputs),
            tuple(position.get(v) for v in fgraph.outputs),
            tuple(v.owner is not None for v in fgraph.outputs),
        ))  # fmt: skip
    except (pickle.PicklingError, TypeError, AttributeError, ValueError):
        return
    if len(data) > LARGEST:
        return
    if config.program_cache == "check":
        known = _checked.get(key) or _checked.keep(key, data, len(data))
        if known != data:
            raise Differs(f"the key of {fgraph} stands for another program: {pickle.loads(known)}\nand now: {pickle.loads(data)}")
        return
    cache = file_cache.open_programs()
    if cache is not None:
        try:
            cache.store(data, [key])
        except OSError:
            pass  # a full disk: the program is made again next time


def recall(key: str) -> Recalled | None:
    """The program that was kept for a key, if its kernels are there, too."""
    from theano.configdefaults import config

    cache = file_cache.open_programs() if config.program_cache == "on" else None
    data = None if cache is None else cache.read(key)
    if data is None:
        return None
    stored = pickle.loads(data)
    found = libraries.find({form.key for form in stored.kernels})
    if any(form.key not in found for form in stored.kernels):
        return None
    return Recalled(stored, found)


class Recalled:
    """A program that was kept, for one function.

    Parameters
    ----------
    stored
        What was kept.
    found
        The libraries of its kernels by key.
    """

    def __init__(self, stored: Stored, found: dict[str, Any]):
        self.stored = stored
        self._libraries = found

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
        kernels = libraries.Kernels(self._libraries, stored.kernels)
        output_storage = [[None] if place is None else input_storage[place] for place in stored.places]
        again = _Again(linker, input_storage, output_storage)
        snapshots = [s for s in map(_snapshot_of, stored.program.steps) if s is not None]

        def on_error(position: int, *error: Any) -> None:
            restore(snapshots, position)
            again.report((position,), *error)

        def errors(path: tuple[int, ...]) -> Callable[..., Any]:
            return lambda position, *error: again.report((*path, position), *error)

        program = stored.program.realised(kernels, input_storage, output_storage, on_error, errors)
        thunk = NativeThunk(program, again.source, input_storage, output_storage, stored.arrays, allow_gc)
        return (
            thunk,
            [Container(v, s) for v, s in zip(inputs, input_storage, strict=True)],
            [Container(v, s, readonly=True) for v, s in zip(outputs, output_storage, strict=True)],
        )


class _Again:
    """Lowers a graph again, to tell from which nodes instructions are."""

    def __init__(self, linker: Callable[[], Any], input_storage: Any, output_storage: Any):
        self._linker = linker
        self._storages = input_storage, output_storage
        self._lowered: Any = None

    def lowered(self) -> tuple[Any, Source]:
        if self._lowered is None:
            from theano.native.assemble import lower_graph

            linker = self._linker()
            fgraph = linker.fgraph
            order: list[Apply] = linker.schedule(fgraph)
            _, _, storage_map = map_storage(fgraph, order, *self._storages, None)
            lowered = lower_graph(linker, fgraph, order, storage_map)
            self._lowered = lowered, Source(linker, fgraph, order, lowered.builder.instrs, storage_map)
        return self._lowered

    def source(self) -> Source:
        """What the program is made of."""
        return self.lowered()[1]

    def report(self, path: tuple[int, ...], *error: Any) -> None:
        """Raise the error of an instruction, of a nested program's where `path` has two positions."""
        from theano.native.assemble import error_reporter

        lowered, source = self.lowered()
        builder = lowered.builder
        for position in path[:-1]:
            builder = builder.instrs[position].op[0].builder
        error_reporter(builder, source.storage_map if len(path) == 1 else {})(path[-1], *error)


def _snapshot_of(step: Step) -> Snapshot | None:
    owner = getattr(step.params[0], "__self__", None) if step.name == "call" else None
    return owner if isinstance(owner, Snapshot) else None


def _without_functions(form: Form) -> Form:
    """A program whose nested ones have no functions of their own."""
    return form._replace(steps=[
        step if step.nested is None else step._replace(nested=_plain_nested(step.nested)) for step in form.steps
    ])  # fmt: skip


def _plain_nested(nested: Any) -> Form:
    if not isinstance(nested, Nested) or nested.when_built is not None:
        raise TypeError("the steps of this loop are watched")
    return _without_functions(nested.form)


class _Writer(pickle.Pickler):
    """Writes plain values, arrays, and what this package, NumPy and the builtins define; bytes are equal for equal values."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Apply | Variable) and not isinstance(value, Constant):
            raise pickle.PicklingError("a part of the graph")
        # Of functions and classes their own module, of others that of their class.
        named = value if getattr(value, "__qualname__", None) and getattr(value, "__module__", None) else type(value)
        if named.__module__.partition(".")[0] not in _OURS:
            raise pickle.PicklingError(f"{value!r} is of nobody that is known")
        return NotImplemented


_OURS = ("theano", "numpy", "builtins", "operator", "_operator", "copy", "copyreg")


def _as_bytes(value: Any) -> bytes:
    file = io.BytesIO()
    writer = _Writer(file, protocol=5)
    writer.fast = True
    writer.dump(value)
    return file.getvalue()

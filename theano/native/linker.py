"""The linker of the native engine: from a rewritten FunctionGraph to something that can be called."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

from theano.configparser import config, flag_source
from theano.gof import engine
from theano.gof.graph import Apply
from theano.gof.link import Container, LocalLinker, map_storage, storage_containers, streamline
from theano.gof.utils import undef
from theano.gof.vm import VM_Linker
from theano.gof.watch import WatchingLinker
from theano.native.fastcall import FastCall, _runtime


class NativeLinker(LocalLinker):
    """Runs a graph as a program of the native virtual machine.

    Parameters
    ----------
    allow_gc : bool, optional
        Drop intermediate values as soon as nobody needs them; default ``config.allow_gc``.
    fuse : bool
        Let one kernel do the work of several nodes. Off where each node's value or time is watched.
    schedule : callable, optional
        ``schedule(fgraph)`` gives the order of the nodes; default ``fgraph.toposort()``.

    target : str
        What runs the program: ``"cpu"``, or ``"reference"``, which is NumPy and slow, for comparison.

    Attributes
    ----------
    key : str or None
        Under which the program of the graph is kept; see `theano.native.stored`.

    Notes
    -----
    Without the compiled runtime, or without a compiler for kernels that are not in the cache, the graph runs on
    NumPy, and one warning says so.
    """

    def __init__(self, allow_gc: bool | None = None, fuse: bool = True,
                 schedule: Callable[[Any], list[Apply]] | None = None, target: str = "cpu"):
        super().__init__(allow_gc=config.allow_gc if allow_gc is None else allow_gc, scheduler=schedule)
        self.fuse = fuse
        self.target = target
        self.key: str | None = None

    def clone(self, allow_gc: Any = undef, fuse: bool | None = None) -> NativeLinker:
        """A linker of the same kind, without graph."""
        new: NativeLinker = super().clone(allow_gc)
        new.key = None
        new.fuse = self.fuse if fuse is None else fuse
        return new

    def settings(self) -> tuple[Any, ...] | None:
        """What two linkers that make the same programs have in common; None where programs are not kept."""
        if type(self) is not NativeLinker or self._scheduler is not None or self.target != "cpu" or not runs_natively():
            return None
        return "native", self.allow_gc, self.fuse, _machine()

    def recall(self, key: str) -> Any:
        """The program that was kept for a key, as a `theano.native.stored.Recalled`, or None."""
        from theano.native.stored import recall

        return recall(key)

    def make_thunk(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None,
                   **kwargs: Any) -> tuple[Any, list[Container], list[Container]]:
        """Compile the graph.

        Returns
        -------
        tuple
            The thunk, and the containers of inputs and outputs.
        """
        fgraph = self.fgraph
        order = self.schedule(fgraph)
        given = input_storage, output_storage, storage_map
        if not runs_natively():
            return self.python_thunk(*given)
        if self.profile is not None and config.profile_memory:
            return self.python_thunk(*given, watched=True)
        from theano.native.assemble import NeedsPython, compile_graph
        from theano.native.target.cpu.compiler import CompilerMissing

        input_storage, output_storage, storage_map = map_storage(fgraph, order, input_storage, output_storage, storage_map)
        try:
            thunk = compile_graph(self, fgraph, order, input_storage, output_storage, storage_map)
        except NeedsPython:
            return self.python_thunk(*given)
        except CompilerMissing as why:
            warn_once(f"Functions run on NumPy, slowly: {why}")
            return self.python_thunk(*given)
        return thunk, *storage_containers(fgraph.inputs, fgraph.outputs, input_storage, output_storage)

    def make_all(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None,
                 **kwargs: Any) -> tuple[Any, list[Container], list[Container], list[Any], list[Apply]]:
        """One thunk for each node, over storages that can be watched between them.

        Returns
        -------
        tuple
            A function that runs all thunks, containers of inputs and outputs, thunks with their `inputs` and
            `outputs`, nodes.
        """
        fgraph = self.fgraph
        order = self.schedule(fgraph)
        input_storage, output_storage, storage_map = map_storage(fgraph, order, input_storage, output_storage, storage_map)
        # All nodes run, one after the other: to a lazy one, all its inputs are there.
        compute_map = {v: [True] for v in storage_map}
        if runs_natively():
            from theano.native.assemble import node_thunk
        else:
            node_thunk = _python_node_thunk
        thunks = [node_thunk(node, storage_map, compute_map) for node in order]
        containers = storage_containers(fgraph.inputs, fgraph.outputs, input_storage, output_storage)
        no_recycling = [storage_map[v] for v in self.no_recycling if v.owner is not None]
        return streamline(fgraph, thunks, order, no_recycling=no_recycling), *containers, thunks, order

    def python_thunk(self, input_storage: Any, output_storage: Any, storage_map: Any, watched: bool = False) -> Any:
        """What :meth:`make_thunk` returns, for the machine that runs node by node in Python; one `watched` sees sizes."""
        linker = (WatchingLinker if watched else VM_Linker)(allow_gc=self.allow_gc, use_cloop=False, schedule=self._scheduler)
        return linker.accept(self.fgraph, self.no_recycling, self.profile).make_thunk(
            input_storage=input_storage, output_storage=output_storage, storage_map=storage_map
        )


@functools.cache
def _machine() -> tuple[Any, ...]:
    """What tells the runtime from others, and the CPU from those that other kernels are compiled for."""
    info = os.stat(_runtime.__file__)
    processor = _runtime.cpu_info()
    if processor is None:
        from theano.native.target.cpu.compiler import cpu_fingerprint

        processor = cpu_fingerprint()
    return _runtime.__file__, info.st_size, info.st_mtime_ns, processor


_warned = threading.Event()


def warn_once(message: str) -> None:
    """Say once a process why functions run on NumPy."""
    if not _warned.is_set():
        _warned.set()
        warnings.warn(message, stacklevel=3)


def runs_natively() -> bool:
    """Whether there is a compiled runtime and compiled code is wanted (`config.cxx` is not empty)."""
    if not config.cxx and flag_source("cxx") != "default":
        return False
    if _runtime is None:
        warn_once("Functions run on NumPy, slowly: the native runtime was not built, and no C compiler is here to do it.")
    return _runtime is not None


def _python_node_thunk(node: Apply, storage_map: Any, compute_map: Any) -> Any:
    """A thunk of one node that runs its `perform`."""
    thunk = node.op.make_thunk(node, storage_map, compute_map, [], impl="py")
    thunk.inputs = [storage_map[v] for v in node.inputs]
    thunk.outputs = [storage_map[v] for v in node.outputs]
    return thunk


class NativeEngine(engine.Engine):
    """The engine, as the layers below it see it."""

    function_base = FastCall

    def has_form(self, op: Any) -> bool:
        """Return whether there is a lowering for the Op."""
        from theano.native.program import find_lowering

        return find_lowering(op) is not None

    def node_thunk(self, node: Apply, storage_map: dict, compute_map: dict) -> Any:
        """Return a thunk of one node: a program of its own where the node has a native form."""
        if not runs_natively():
            return None
        from theano.native.assemble import node_thunk

        return node_thunk(node, storage_map, compute_map)


engine.use(NativeEngine())
engine.linkers.update({
    "c": NativeLinker(allow_gc=False),
    "c|py": NativeLinker(allow_gc=True),
    "c|py_nogc": NativeLinker(allow_gc=False),
    "cvm": NativeLinker(),
    "cvm_nogc": NativeLinker(allow_gc=False),
    "reference": NativeLinker(target="reference"),
})  # fmt: skip

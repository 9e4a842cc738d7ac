"""Programs are kept on disk, under their key."""

from __future__ import annotations

import io
import pickle
from typing import Any

from theano.configdefaults import config
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.memo import Bounded
from theano.misc import file_cache
from theano.native.program import is_tensor_like
from theano.native.target.cpu.form import Stored
from theano.native.target.cpu.machine import form

LARGEST = 1_000_000
"""Bytes of a program, with its constants, that is kept."""

_checked = Bounded(30_000_000)
"""In place of the disk where `config.program_cache` is 'check': what was made for a key."""


class Differs(AssertionError):
    """A graph was compiled to another program than the one that was kept for its key."""


def remember(key: str, fgraph: Any, builder: Any, build: Any) -> None:
    """Keep the program of a graph, if it can be kept."""
    if len(set(fgraph.outputs)) < len(fgraph.outputs):
        return
    position = {v: i for i, v in enumerate(fgraph.inputs)}
    try:
        data = _as_bytes(Stored(
            form(builder, build),
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

"""Programs kept on disk, so that a graph that was compiled before is neither rewritten nor lowered again.

What `theano.compile.program_key` makes of a function's graph and of all that has a say in its compilation is the key. Kept is the
program as plain data (`theano.native.target.cpu.form`) and what its kernels are made from; a program that calls functions of
Python other than those of this package and of NumPy is not kept. `theano.native.recalled` makes functions of it.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, NamedTuple

from theano.configdefaults import config
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.memo import Bounded
from theano.misc import file_cache
from theano.native.program import is_tensor_like
from theano.native.target.cpu import libraries
from theano.native.target.cpu.form import Form, Nested
from theano.native.target.cpu.machine import form

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


def read(key: str) -> Stored | None:
    """What was kept for a key."""
    cache = file_cache.open_programs() if config.program_cache == "on" else None
    data = None if cache is None else cache.read(key)
    return None if data is None else pickle.loads(data)


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

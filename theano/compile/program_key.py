"""What decides the program of a function, as a key: its graph, its mode, the flags, this package.

Two functions of one key may run the same program. A key is made only where all that has a say is known to this package: graphs of
its own Ops, rewritten by its own rewrites. An Op says what it is made of by ``__props__``, else by ``key_state`` (attributes, of
which ``inputs`` and ``outputs`` are an inner graph), else by all its attributes but its name.
"""

from __future__ import annotations

import marshal
import os
import sys
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from theano.configparser import THEANO_FLAGS_DICT, THEANORC_DICT, assigned_flags, config
from theano.gof import Constant, Query, extensions
from theano.gof.op import PureOp
from theano.gof.type import PureType
from theano.misc.digest import blake2b
from theano.misc.frozendict import frozendict
from theano.scalar import Scalar
from theano.tensor.type import TensorType

LARGEST = 1_000_000
"""Bytes of the constants of a graph that has a key."""

_TAGS = frozenset(
    ("trace", "_trace", "test_value", "is_rng", "unique_value", "unmoved_by", "single_step_of", "nan_guard_mode_check")
)
"""What on the tag of a variable has no say in what is compiled."""


class Unknown(Exception):
    """The graph holds something that this package does not know."""


def program_key(inputs: list[Any], outputs: list[Any], mode: Any, accept_inplace: bool) -> str | None:
    """Return the key of a function, or None.

    Parameters
    ----------
    inputs : list of In
    outputs : list of Out
    mode : Mode
    accept_inplace : bool
        As for `FunctionMaker`.
    """
    settings = _settings(mode)
    if settings is None:
        return None
    graphs = _Graphs()
    variables = [spec.variable for spec in inputs]
    results = [spec.variable for spec in outputs] + [spec.update for spec in inputs if spec.update is not None]
    try:
        graph = graphs.function(variables, results)
        specs = tuple(
            (type(spec.variable).__name__, spec.mutable, spec.update is not None, spec.implicit, getattr(spec, "borrow", None),
             getattr(spec, "shared", None)) for spec in inputs
        )  # fmt: skip
        told = (settings, graph, specs, tuple(spec.borrow for spec in outputs), accept_inplace, _flags())
        data = marshal.dumps(told, 0)
    except (Unknown, ValueError):
        return None
    return blake2b(data, key=_package(), digest_size=16).hexdigest()


def _settings(mode: Any) -> tuple[Any, ...] | None:
    """What a mode does, if it does nothing but to rewrite and to link."""
    from theano.compile.mode import Mode

    query, linker = getattr(mode, "_optimizer", None), getattr(mode, "linker", None)
    known = type(mode) is Mode and isinstance(query, Query) and not extensions.any_from_outside() and hasattr(linker, "settings")
    if not known or config.compute_test_value_opt != "off" or config.optimizer_verbose or config.check_stack_trace != "off":
        return None
    settings, asked = linker.settings(), _query(query)
    return None if settings is None or asked is None else (settings, asked)


def _query(query: Query) -> tuple[Any, ...] | None:
    if query.extra_optimizations:
        return None
    below = [(name, _query(q)) for name, q in sorted(query.subquery.items())]
    if any(q is None for _, q in below):
        return None
    return tuple(query.include), tuple(query.exclude), tuple(query.require), tuple(below), query.position_cutoff


def _flags() -> tuple[Any, ...]:
    """All flags that were given a value."""
    given = sorted((name, repr(value)) for flags in (THEANORC_DICT, THEANO_FLAGS_DICT) for name, value in flags.items())
    return tuple(given), tuple((name, repr(value)) for name, value in assigned_flags().items())


@cache
def _package() -> bytes:
    """What tells this package, in this Python with this NumPy, from others: the sizes and dates of its files."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found: list[Any] = [sys.version, np.__version__, sys.byteorder]
    todo = [root]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo += [entry.path] if entry.name != "__pycache__" else []
                elif entry.name.endswith((".py", ".h")):
                    try:
                        info = entry.stat()
                    except OSError:
                        continue  # an editor's lock, which is a link to nothing, or a file that is gone already
                    found.append((entry.path[len(root) :], info.st_size, info.st_mtime_ns))
    return blake2b(repr((found[:3], sorted(found[3:]))).encode(), digest_size=32).digest()


class _Graphs:
    """Graphs as numbers: each Op and Type is told once."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Any]] = {}
        self._told: dict[Any, int] = {}
        self._bytes = 0

    def _number(self, thing: Any) -> int:
        """The number of an Op or a Type, which what is told of it decides."""
        told = self.plain(thing)
        number = self._told.setdefault(told, len(self._told))
        # It is kept, so that its id remains its own.
        self._seen[id(thing)] = number, thing
        return number

    def function(self, inputs: list[Any], outputs: list[Any]) -> Any:
        """What is computed of `inputs` for `outputs`."""
        graph = self._graph(inputs, outputs)
        return graph, [*self._told]

    def _graph(self, inputs: list[Any], outputs: list[Any]) -> Any:
        seen, harmless = self._seen, _TAGS
        numbers: dict[Any, int] = {}
        lines: list[Any] = []

        def take(variable: Any) -> int:
            """Number a variable; returns the number of its type."""
            if not harmless.issuperset(variable.tag.__dict__):
                raise Unknown(variable)
            numbers[variable] = len(numbers)
            type_ = variable.type
            found = seen.get(id(type_))
            return self._number(type_) if found is None else found[0]

        lines += map(take, inputs)
        if len(numbers) < len(inputs):
            raise Unknown("an input that is there twice")
        todo = list(reversed(outputs))
        while todo:
            variable = todo[-1]
            if variable in numbers:
                todo.pop()
                continue
            node = variable.owner
            if node is None:
                lines.append((take(variable), self._constant(variable)))
                continue
            missing = [v for v in node.inputs if v not in numbers]
            if missing:
                todo += reversed(missing)
                continue
            op = node.op
            found = seen.get(id(op))
            number = self._number(op) if found is None else found[0]
            ins = [numbers[v] for v in node.inputs]
            # Of an output that is given as an input, too, the input has a say alone.
            lines.append((number, ins, [(numbers[v],) if v in numbers else take(v) for v in node.outputs]))
        return lines, [numbers[v] for v in outputs]

    def _constant(self, variable: Any) -> Any:
        if not isinstance(variable, Constant):
            raise Unknown(variable)
        return self.plain(variable.data)

    def plain(self, value: Any) -> Any:
        """A value as numbers and texts in tuples.

        Raises
        ------
        Unknown
            The value is nothing of this package, and no constant that can be told in full.
        """
        cls = type(value)
        if value is None or cls in (bool, int, float, str, bytes, complex):
            return value
        if cls in (tuple, list):
            return (cls.__name__, *map(self.plain, value))
        if cls in (dict, frozendict):
            return ("mapping", *sorted(((self.plain(k), self.plain(v)) for k, v in value.items()), key=repr))
        if cls is slice:
            return "slice", self.plain(value.start), self.plain(value.stop), self.plain(value.step)
        if cls is TensorType:
            return "TensorType", value.dtype, value.broadcastable, value.sparse_grad
        if cls is Scalar:
            return "Scalar", value.dtype
        if cls is np.ndarray and value.dtype.kind in "biufc":
            return self._array(value)
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return "number", value.dtype.str, value.tobytes()
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if cls in (FunctionType, BuiltinFunctionType, type) or isinstance(value, type):
            return self._by_name(value)
        if hasattr(value, "linker"):
            settings = _settings(value)
            if settings is None:
                raise Unknown(value)
            return settings
        if isinstance(value, PureOp | PureType):
            return self._object(value)
        if cls.__module__.startswith("theano.scalar."):
            return self._object(value)
        raise Unknown(value)

    def _array(self, value: np.ndarray) -> Any:
        self._bytes += value.nbytes
        if self._bytes > LARGEST:
            raise Unknown("large constants")
        return "array", value.dtype.str, value.shape, value.tobytes()

    @staticmethod
    def _by_name(value: Any) -> Any:
        module = value.__module__ or ""
        if module.partition(".")[0] not in ("theano", "builtins", "numpy") or "<" in value.__qualname__:
            raise Unknown(value)
        return "name", module, value.__qualname__

    def _object(self, value: Any) -> Any:
        """An Op, or a Type, by its class and its properties; an inner graph as bytes, since what is told is a key."""
        cls = type(value)
        name = self._by_name(cls)
        props = getattr(cls, "__props__", None)
        if props is None:
            props = getattr(cls, "key_state", None)
        if props is None:
            props = sorted(k for k in vars(value) if k != "name")
        told = [(key, self.plain(getattr(value, key))) for key in props if key not in ("inputs", "outputs")]
        if len(told) < len(props):
            told.append(("inner graph", marshal.dumps(self._graph(value.inputs, value.outputs), 0)))
        return (*name, *told)

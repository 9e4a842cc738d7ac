"""The instructions of the virtual machine, one class each, made from the table that the runtime was compiled from.

``instructions.Solve(Structure.GENERAL, False, True)`` is the instruction ``solve`` with its params, in the order of the
table ``runtime/instructions.def``; `theano.native.program.ProgramBuilder.emit` gives it operands. What passes ask about an
instruction are attributes of its class, see `Instruction`. The enumerations of params are here too.

The classes are made when they are first asked for. Without the runtime there are none, and nothing is lowered.
"""

from __future__ import annotations

import enum
import functools
import operator
from typing import Any, ClassVar

from theano.native.fastcall import _runtime


class Memory(enum.Enum):
    """How the memory of an instruction's outputs and inputs is related; see ``instructions.def``."""

    FRESH = "fresh"
    SAME = "same"
    VIEW = "view"
    INPLACE = "inplace"
    KERNEL = "kernel"
    ANY = "any"


class Instruction(tuple[Any, ...]):
    """The params of one instruction; each field is an attribute.

    Attributes
    ----------
    name
        In the table, and in what the runtime tells.
    fields
        For each param its name, its type and, where it has one, its enumeration.
    memory
        How outputs and inputs share memory.
    jumps
        Whether it may go on elsewhere, at `target`.
    runs_python
        Whether it calls the Python code of a node.
    fails
        Whether it may fail, or finds its outputs' shapes, after its preparation.
    dims_only
        Whether it never looks at an element of its inputs.
    """

    __slots__ = ()
    name: ClassVar[str]
    fields: ClassVar[list[tuple[str, str, str | None]]]
    memory: ClassVar[Memory]
    jumps: ClassVar[bool]
    runs_python: ClassVar[bool]
    fails: ClassVar[bool]
    dims_only: ClassVar[bool]
    _reads: ClassVar[int | None]
    _reads_without_axis: ClassVar[bool]

    def __new__(cls, *params: Any) -> Instruction:
        if len(params) != len(cls.fields):
            raise TypeError(f"{cls.__name__} takes the params {[field for field, _, _ in cls.fields]}, got {params}")
        return tuple.__new__(cls, params)

    def __repr__(self) -> str:
        params = (f"{field}={value!r}" for (field, _, _), value in zip(self.fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(params)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), tuple(self)))

    def aimed(self, target: int) -> Instruction:
        """The same jump to another instruction."""
        return tuple.__new__(type(self), (target,))

    @property
    def in_place(self) -> bool:
        """Whether the first input is overwritten, and is the first output."""
        return self.memory is Memory.INPLACE and bool(self.inplace)  # type: ignore[attr-defined]

    @property
    def reads_from(self) -> int | None:
        """The input from which on its preparation looks at elements; None: it looks at none."""
        if self._reads_without_axis and self.axis is not None:  # type: ignore[attr-defined]
            return None
        return self._reads


@functools.cache
def table() -> dict[str, tuple[Any, ...]]:
    """The rows of the runtime's table by the names of their classes."""
    rows = [] if _runtime is None else _runtime.instruction_table()
    return {row[0].title().replace("_", ""): row for row in rows}


@functools.cache
def _choices() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, member in [] if _runtime is None else _runtime.instruction_choices():
        found.setdefault(name, []).append(member)
    return found


def __getattr__(name: str) -> Any:
    """The class of an instruction, or an enumeration of params."""
    if name in table():
        return globals().setdefault(name, _instruction_class(name, *table()[name]))
    if name in _choices():
        return globals().setdefault(name, enum.IntEnum(name, _choices()[name], start=0, module=__name__))
    raise AttributeError(f"the runtime has no instruction and no enumeration {name}")


def _instruction_class(class_name: str, name: str, fields: list[Any], memory: str, reads: int | None, _replay: str,
                       flags: list[str], text: str) -> type[Instruction]:
    facts = {
        **{field: property(operator.itemgetter(position)) for position, (field, _, _) in enumerate(fields)},
        "__slots__": (),
        "__doc__": text,
        "__module__": __name__,
        "name": name,
        "fields": fields,
        "memory": Memory(memory),
        "jumps": "jump" in flags,
        "runs_python": "python" in flags,
        "fails": "fails" in flags,
        "dims_only": "dims_only" in flags,
        "_reads": reads,
        "_reads_without_axis": "reads_axis" in flags,
    }
    return type(class_name, (Instruction,), facts)

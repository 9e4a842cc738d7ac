"""What lowering, fusion and planning ask about the machine that will run a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from theano import scalar
from theano.gof.memo import Bounded, ById
from theano.gof.record import Record
from theano.gof.utils import MethodNotDefined
from theano.native import ir
from theano.scalar.expression import functions, variable, walk
from theano.scalar.op import is_expression

REQUIRED = frozenset(
    ("kernel", "thunk", "call", "view", "copy", "deepcopy", "subtensor", "inc_subtensor", "assert_op", "jump", "jump_if_false",
     "guard", "keep_state", "restore_state")
)  # fmt: skip
"""Instructions that every target has: nodes without one of their own run by ``thunk``, and no node asks for those that hand over
results, take branches and put back what a failed call has written."""


class Limits(Record):
    """How much one kernel may be.

    Parameters
    ----------
    operands
        Inputs and outputs together, a dozen at least.
    inputs, reductions, weight
        Of a kernel of several nodes; its work is counted in additions.
    copied
        Most work that a kernel does again rather than read what another one wrote.
    gathers, indexed_rank
        Operands that a kernel reads through index arrays, and their rank.
    """

    operands: int
    inputs: int
    reductions: int
    weight: int
    copied: int
    gathers: int
    indexed_rank: int


class Target(ABC):
    """What is true of one kind of machine.

    Attributes
    ----------
    name
        Under which :func:`theano.native.target.target` finds it.
    runs_c_code
        Whether a node that no instruction is for runs by its Op's own C code where it has some.
    limits
        Those of its kernels.
    kernels
        Targets of one value make the same kernels of the same nodes.
    weights
        Work of functions in additions, and of ``div``; that of all others is ``""``.
    costs
        Time of functions, of ``div``, and of writing to memory and reading it (``memory``), in that of an exponential.
    """

    name: str
    runs_c_code: bool
    limits: Limits
    kernels: str
    weights: dict[str, int]
    costs: dict[str, float]

    @abstractmethod
    def has(self, op: Any) -> bool:
        """Whether it has an instruction: one of `REQUIRED`, or a node that is lowered to it runs by its `perform`."""

    @abstractmethod
    def load_kernels(self, kernels: Sequence[ir.Kernel]) -> list[Any]:
        """Make kernels runnable, all together."""

    @abstractmethod
    def build(self, builder: Any, build: Any) -> Any:
        """Make the program of the instructions of a `ProgramBuilder`; see `theano.native.program.Build`."""

    @abstractmethod
    def runs_again(self, statements: Iterable[ir.Statement]) -> bool:
        """Whether a loop over the statements may be run a second time, so that what it reads must still be there."""

    def __init__(self) -> None:
        self._weights = Bounded(10_000)
        self._composites = ById()

    def weight(self, op: Any) -> int:
        """The work of a scalar op in additions."""
        if isinstance(op, scalar.Composite):
            found = self._composites.get(id(op))
            if found is None:
                found = self._composites.keep(op, sum([self.weight(inner.op) for inner in op.nodes]))
            return found[0]
        return self._weights.get(type(op)) or self._weights.keep(type(op), self._find_weight(op))

    def _find_weight(self, op: Any) -> int:
        work, other = work_of(op), self.weights[""]
        return other if work is None else max([self.weights.get(name, other) for name in work], default=1)

    def is_arithmetic(self, op: Any) -> bool:
        """Whether a scalar op costs no more than some additions."""
        return self._costly(op) == []

    def is_cheap(self, op: Any) -> bool:
        """Whether it costs less to compute a scalar op twice than to write what it gives to memory and to read it."""
        costly, memory = self._costly(op), self.costs["memory"]
        return costly is not None and (not costly or (len(costly) == 1 and self.costs.get(costly[0], memory) < memory))

    def _costly(self, op: Any) -> list[str] | None:
        """What costs more than some additions in a scalar op; None: a part of it has C code only."""
        costly: list[str] = []
        for part in [inner.op for inner in op.nodes] if isinstance(op, scalar.Composite) else [op]:
            work = work_of(part)
            if work is None:
                return None
            costly += [name for name in work if self.costs.get(name, self.costs["memory"]) > 0]
        return costly


_works = Bounded(10_000)


def work_of(op: Any) -> tuple[str, ...] | None:
    """The functions that a scalar op calls for an element, ``div`` where it divides, as its expression for float64 tells.

    None: it has C code only.
    """
    known = _works.get(type(op))
    if known is None:
        known = _works.keep(type(op), (_work_of(op),))
    return known[0]


def _work_of(op: Any) -> tuple[str, ...] | None:
    if not is_expression(op):
        return None
    inputs = [variable(f"x{i}", "float64") for i in range(op.nin if op.nin >= 0 else 2)]
    try:
        value = op.expression("float64", *inputs)
    except (MethodNotDefined, NotImplementedError):
        return None
    return (*functions(value), *("div" for x in walk(value) if x.op == "div"))

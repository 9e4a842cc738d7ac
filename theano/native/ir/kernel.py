"""The loop-nest IR: what a lowering hands to a target.

A :class:`Kernel` is one pass (or a few passes, for rows) over an iteration space. The space has
``n_outer`` parallel dims followed by ``n_inner`` inner dims; the inner ones are reduced or walked
several times a row. A kernel with ``n_inner == 0`` is plain elementwise work. The iteration dims are in
any relation to the axes of the operands: ``Operand.axes`` and ``Output.dims`` give the permutation, so
that a transposition or an inserted axis costs nothing.

What is computed are expressions of named values (:mod:`theano.scalar.expression`); only users' C code is text.

Example: ``sum((a - b)**2, axis=1)`` of two float32 matrices, accumulated in float64, for variables ``a``, ``b``, ``d`` and
``r`` of these names::

    Kernel(
        n_outer=1,
        n_inner=1,
        inputs=(Operand("float32", (False, False)), Operand("float32", (False, False))),
        outputs=(Output("float32", (0,)),),
        stages=(
            Stage(
                loads=(Load("a", 0), Load("b", 1)),
                body=(let("d", a - b), let("s", d * d)),
                reduces=(Reduce("add", "float64", "s", "r"),),
                row=(Stmt("q", "float32", r),),
                row_stores=(Store(0, "q"),),
            ),
        ),
    )

``sum(..., axis=0)`` is the same kernel with ``axes=(1, 0)`` in both operands.

Softmax over rows has three stages: the first reduces the maximum to ``m``, the second stores
``e = exp(x - m)`` to the output and reduces the sum ``s``, the third reads ``e`` again
(``Reload(0, "e2")``) and stores ``e2 / s``.

Names of values are free: a target gives them names of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from theano.gof.record import Record
from theano.scalar.expression import Expression, fold, select, variable

REDUCE_OPS = ("add", "mul", "maximum", "minimum", "and", "or", "xor", "all", "any")
"""Reductions a stage may hold. ``and``, ``or``, ``xor`` are bitwise; ``all`` and ``any`` logical."""

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

ITEMSIZE = dict(zip(DTYPES, (1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16), strict=True))

MAX_DIMS = 32
"""Most iteration dims of a kernel (``TK_MAXDIM`` of launch.h)."""

MAX_OPERANDS = 64
"""Most inputs and outputs together (``TK_MAXOPS`` of launch.h); a fusion must stop before."""


class Operand(Record):
    """An input array of a kernel.

    Parameters
    ----------
    dtype
        NumPy's name of the element type.
    broadcast
        One flag per iteration dim: the operand is statically broadcast along it (stride 0).
        A dim that is not flagged must have at run time the length that all other unflagged operands have.
    axes
        Per iteration dim the axis of the array that it walks, or -1 for none (the dim must then be
        flagged in `broadcast`). ``None`` is the identity. Axes of the array that no dim walks have length 1.
    ndim
        Rank of the array; by default the number of iteration dims.
    """

    dtype: str
    broadcast: tuple[bool, ...]
    axes: tuple[int, ...] | None = None
    ndim: int | None = None

    @property
    def rank(self) -> int:
        return len(self.broadcast) if self.ndim is None else self.ndim

    def axis_of(self, dim: int) -> int:
        return dim if self.axes is None else self.axes[dim]


class Output(Record):
    """An output array of a kernel.

    Parameters
    ----------
    dtype
        NumPy's name of the element type.
    dims
        Per axis of the array the iteration dim it has, or -1 for an axis of length 1 (``keepdims``).
        An output with one value a row has outer dims only; one with a value an element has every dim.
    alias
        Index of the input whose memory the output takes (in-place), or -1. The input must not be broadcast,
        must have the output's dtype, and its `axes` must put its elements where the output's are.
    """

    dtype: str
    dims: tuple[int, ...]
    alias: int = -1


class Load(Record):
    """Read the element of input `operand` at the current point into `var`."""

    var: str
    operand: int

    def array(self, kernel: Kernel) -> Operand:
        """What is read."""
        return kernel.inputs[self.operand]


class Reload(Record):
    """Read into `var` what an earlier stage stored to the full output `output`."""

    var: str
    output: int

    def array(self, kernel: Kernel) -> Output:
        """What is read."""
        return kernel.outputs[self.output]


class Stmt(Record):
    """Compute `dst`, a fresh value: that of an expression, converted to `dtype`."""

    dst: str
    dtype: str
    value: Expression

    @property
    def defines(self) -> tuple[tuple[str, str], ...]:
        """Names and dtypes of the fresh values."""
        return ((self.dst, self.dtype),)

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """The expressions that it reads."""
        return (self.value,)


class Code(Record):
    """Compute fresh values by a scalar op's own C code.

    Parameters
    ----------
    defines
        Names and dtypes of the fresh values.
    inputs
        Named values and constants.
    text
        C in which ``tk_in0_``, ``tk_in1_`` ... stand for the inputs and ``tk_out0_`` ... for the fresh values. C's mathematical
        functions (``exp(x)``, ``pow(x, y)``) are the vectorised ones of ``theano_kernel.h`` for the type of their argument.
    function
        The same of numbers, for targets that have no C; None: there is nothing else.
    """

    defines: tuple[tuple[str, str], ...]
    inputs: tuple[Expression, ...]
    text: str
    function: Callable | None = None
    uncompared: ClassVar[tuple[str, ...]] = ("function",)


Statement = Stmt | Code

_S = TypeVar("_S")


def let(dst: str, value: Expression) -> Stmt:
    """The statement that gives a value a name.

    Examples
    --------
    >>> let("y", variable("x", "float64") * 2)
    Stmt(dst='y', dtype='float64', value=<float64: x * 2.0>)
    """
    return Stmt(dst, value.dtype, value)


class Store(Record):
    """Write the value `var` (of the output's dtype) to output `output`."""

    output: int
    var: str


class Reduce(Record):
    """Reduce `value` over the inner dims into `result`, of dtype `acc_dtype`.

    Maximum and minimum propagate NaN; for floats the sum is taken over a fixed number of lanes, blocked.
    Reducing no element gives the identity (for maximum and minimum the least and greatest value: a lowering
    that must raise for an empty maximum sets ``Kernel.nonempty``).
    """

    op: str
    acc_dtype: str
    value: str
    result: str

    @property
    def combines(self) -> str:
        """The operation on two accumulators: sums and products of truth values are logical."""
        if self.acc_dtype == "bool":
            return {"add": "any", "mul": "all", "or": "any", "and": "all"}.get(self.op, self.op)
        return self.op


class Pick(Record):
    """Read, after a stage's loop, one element of the row, whose inner position is the integer row value `at`.

    Parameters
    ----------
    load
        What is read, of an input with a value for each element, or what the stage has stored to a full output.
    at
        A row value that was there before the stage; nobody checks it.
    """

    load: Load | Reload
    at: str


class Put(Record):
    """Write the row value `var` to the element of the full output `output` whose inner position is the row value `at`."""

    output: int
    var: str
    at: str


class Stage(Record, Generic[_S]):
    """One loop over the inner dims, then statements that run once a row; a target prints them to some of its own.

    Parameters
    ----------
    loads, body, stores, reduces
        The loop. Its values live in this stage only.
    index
        Name of an int64 value that holds the flattened (C order) position in the inner dims, or None.
    picks
        Single elements of the row, read after the loop. Not in a kernel of one stage that reduces.
    row, row_stores
        Statements after that; they see the results of reductions, what was picked and all earlier rows' values, and
        what they define is seen by later stages. Stores go to outputs without inner dims.
    puts
        Single elements of full outputs that the stage has stored, written anew.
    """

    loads: tuple[Load | Reload, ...] = ()
    body: tuple[_S, ...] = ()
    stores: tuple[Store, ...] = ()
    reduces: tuple[Reduce, ...] = ()
    index: str | None = None
    row: tuple[_S, ...] = ()
    row_stores: tuple[Store, ...] = ()
    picks: tuple[Pick, ...] = ()
    puts: tuple[Put, ...] = ()


class Kernel(Record):
    """A loop nest.

    Parameters
    ----------
    n_outer, n_inner
        Number of parallel dims and of inner dims; the iteration dims are numbered outer first.
    inputs, outputs, stages
        See the classes.
    row_loads
        Inputs that are broadcast along all inner dims, read once a row; every stage and row statement sees them.
    nonempty
        Raise ValueError at run time when a row has no element (maximum, argmax).
    support
        Texts of C functions that statements call (an op's ``c_support_code`` that needs no Python).
    """

    n_outer: int
    n_inner: int
    inputs: tuple[Operand, ...]
    outputs: tuple[Output, ...]
    stages: tuple[Stage, ...]
    row_loads: tuple[Load, ...] = ()
    nonempty: bool = False
    support: tuple[str, ...] = ()

    @property
    def ndim(self) -> int:
        return self.n_outer + self.n_inner


def elementwise(
    ndim: int,
    inputs: Iterable[Operand],
    outputs: Iterable[Output],
    loads: Iterable[Load],
    body: Iterable[Statement],
    stores: Iterable[Store],
    support: Iterable[str] = (),
) -> Kernel:
    """A kernel of one stage without inner dims.

    Examples
    --------
    >>> x = Operand("float64", (False,))
    >>> a, b = variable("a", "float64"), variable("b", "float64")
    >>> k = elementwise(1, [x, x], [Output("float64", (0,))], [Load("a", 0), Load("b", 1)], [let("c", a + b)], [Store(0, "c")])
    >>> verify(k)
    """
    stage = Stage(loads=tuple(loads), body=tuple(body), stores=tuple(stores))
    return Kernel(ndim, 0, tuple(inputs), tuple(outputs), (stage,), support=tuple(support))


def position_stage(loads: tuple[Load | Reload, ...], x: Expression, extremum: str, result: str,
                   body: tuple[Statement, ...] = ()) -> Stage:
    """The stage that finds the flattened inner position of the first `x` that is the extremum of its row, as NumPy does.

    The extremum is a row value; where it is NaN, the first NaN is found. The position, an int64, becomes `result`.
    """
    found = x.equals(variable(extremum, x.dtype))
    if x.dtype.startswith("float"):
        found = fold("or", (found, x.differs(x)))
    at = let("at_", select(found, variable("i_", "int64"), np.iinfo("int64").max))
    return Stage(loads, (*body, at), reduces=(Reduce("minimum", "int64", "at_", result),), index="i_")


def neutral(op: str, dtype: str) -> Any:
    """What a reduction of no element gives: a maximum the least value, a minimum the greatest."""
    if op not in ("maximum", "minimum"):
        return 1 if op in ("mul", "all") else np.invert(np.zeros((), dtype)) if op == "and" else 0
    if dtype == "bool" or dtype.startswith("float"):
        least, greatest = (False, True) if dtype == "bool" else (-np.inf, np.inf)
    else:
        least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    return least if op == "maximum" else greatest


def is_row_operand(kernel: Kernel, operand: int) -> bool:
    """Whether input `operand` is broadcast along every inner dim."""
    return all(kernel.inputs[operand].broadcast[kernel.n_outer :])


def is_full_output(kernel: Kernel, output: int) -> bool:
    """Whether output `output` has a value for every point (else one a row)."""
    return kernel.n_inner == 0 or any(d >= kernel.n_outer for d in kernel.outputs[output].dims)

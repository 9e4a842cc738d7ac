"""The loop-nest IR: what a lowering hands to the C printer.

A :class:`Kernel` is one pass (or a few passes, for rows) over an iteration space. The space has
``n_outer`` parallel dims followed by ``n_inner`` inner dims; the inner ones are reduced or walked
several times a row. A kernel with ``n_inner == 0`` is plain elementwise work. The iteration dims are in
any relation to the axes of the operands: ``Operand.axes`` and ``Output.dims`` give the permutation, so
that a transposition or an inserted axis costs nothing.

Example: ``sum((a - b)**2, axis=1)`` of two float32 matrices, accumulated in float64::

    Kernel(
        n_outer=1,
        n_inner=1,
        inputs=(Operand("float32", (False, False)), Operand("float32", (False, False))),
        outputs=(Output("float32", (0,)),),
        stages=(
            Stage(
                loads=(Load("a", 0), Load("b", 1)),
                body=(Stmt("d", "float32", "d = a - b;"), Stmt("s", "float32", "s = d * d;")),
                reduces=(Reduce("add", "float64", "s", "r"),),
                row=(Stmt("q", "float32", "q = r;"),),
                row_stores=(Store(0, "q"),),
            ),
        ),
    )

``sum(..., axis=0)`` is the same kernel with ``axes=(1, 0)`` in both operands.

Softmax over rows has three stages: the first reduces the maximum to ``m``, the second stores
``e = exp(x - m)`` to the output and reduces the sum ``s``, the third reads ``e`` again
(``Reload(0, "e2")``) and stores ``e2 / s``.

Names of values are free, they are canonicalised when printed, but must be C identifiers that appear in
the statements as whole words and must not be keywords or functions used there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

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

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


class IRError(ValueError):
    """A kernel that breaks a rule of the IR: an error in a lowering, never in a user's program."""


@dataclass(frozen=True)
class Operand:
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
    position
        There is no array: elements, int64, are the positions along the one axis. Elementwise kernels only; flagged in
        `broadcast` along the last dim unless that is its dim.
    """

    dtype: str
    broadcast: tuple[bool, ...]
    axes: tuple[int, ...] | None = None
    ndim: int | None = None
    position: bool = False

    @property
    def rank(self) -> int:
        return len(self.broadcast) if self.ndim is None else self.ndim

    def axis_of(self, dim: int) -> int:
        return dim if self.axes is None else self.axes[dim]


@dataclass(frozen=True)
class Output:
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


@dataclass(frozen=True)
class Load:
    """Read the element of input `operand` at the current point into `var`."""

    var: str
    operand: int


@dataclass(frozen=True)
class Reload:
    """Read into `var` what an earlier stage stored to the full output `output`."""

    var: str
    output: int


@dataclass(frozen=True)
class Stmt:
    """Compute `dst` (a fresh value of type `dtype`) by C text such as ``"v3 = v1 + v2;"``.

    The text is what a scalar op's ``c_code`` gives. C's mathematical functions (``exp(x)``, ``pow(x, y)``)
    stand for the vectorised ones of ``theano_kernel.h`` for the type of their argument.
    """

    dst: str
    dtype: str
    code: str


@dataclass(frozen=True)
class Store:
    """Write the value `var` (of the output's dtype) to output `output`."""

    output: int
    var: str


@dataclass(frozen=True)
class Reduce:
    """Reduce `value` over the inner dims into `result`, of dtype `acc_dtype`.

    Maximum and minimum propagate NaN; for floats the sum is taken over a fixed number of lanes, blocked.
    Reducing no element gives the identity (for maximum and minimum the least and greatest value: a lowering
    that must raise for an empty maximum sets ``Kernel.nonempty``).
    """

    op: str
    acc_dtype: str
    value: str
    result: str


@dataclass(frozen=True)
class Pick:
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


@dataclass(frozen=True)
class Put:
    """Write the row value `var` to the element of the full output `output` whose inner position is the row value `at`."""

    output: int
    var: str
    at: str


@dataclass(frozen=True)
class Stage:
    """One loop over the inner dims, then statements that run once a row.

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
    body: tuple[Stmt, ...] = ()
    stores: tuple[Store, ...] = ()
    reduces: tuple[Reduce, ...] = ()
    index: str | None = None
    row: tuple[Stmt, ...] = ()
    row_stores: tuple[Store, ...] = ()
    picks: tuple[Pick, ...] = ()
    puts: tuple[Put, ...] = ()


@dataclass(frozen=True)
class Kernel:
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
    support: tuple[str, ...] = field(default=())

    @property
    def ndim(self) -> int:
        return self.n_outer + self.n_inner


def elementwise(
    ndim: int,
    inputs: Iterable[Operand],
    outputs: Iterable[Output],
    loads: Iterable[Load],
    body: Iterable[Stmt],
    stores: Iterable[Store],
    support: Iterable[str] = (),
) -> Kernel:
    """A kernel of one stage without inner dims.

    Examples
    --------
    >>> x = Operand("float64", (False,))
    >>> k = elementwise(1, [x, x], [Output("float64", (0,))], [Load("a", 0), Load("b", 1)],
    ...                 [Stmt("c", "float64", "c = a + b;")], [Store(0, "c")])
    >>> verify(k)
    """
    stage = Stage(loads=tuple(loads), body=tuple(body), stores=tuple(stores))
    return Kernel(ndim, 0, tuple(inputs), tuple(outputs), (stage,), support=tuple(support))


def argextremum_stages(load: Load, dtype: str, largest: bool, result: str, prefix: str = "am_") -> tuple[Stage, ...]:
    """Two stages that find the flattened inner position of the first maximum (or minimum) as NumPy does.

    NaN counts as the extremum. The extremum itself is the row value ``prefix + "m"``; the position, an int64, is
    `result`. Use with ``Kernel.nonempty``.
    """
    op = "maximum" if largest else "minimum"
    m, i, w, x = prefix + "m", prefix + "i", prefix + "w", load.var
    differs = f" || {x} != {x}" if dtype.startswith(("float", "complex")) else ""
    find = f"{w} = ({x} == {m}{differs}) ? {i} : INT64_MAX;"
    return (
        Stage(loads=(load,), reduces=(Reduce(op, dtype, x, m),)),
        Stage(
            loads=(load,), index=i, body=(Stmt(w, "int64", find),), reduces=(Reduce("minimum", "int64", w, result),)
        ),
    )


def is_row_operand(kernel: Kernel, operand: int) -> bool:
    """Whether input `operand` is broadcast along every inner dim."""
    return all(kernel.inputs[operand].broadcast[kernel.n_outer :])


def is_full_output(kernel: Kernel, output: int) -> bool:
    """Whether output `output` has a value for every point (else one a row)."""
    return kernel.n_inner == 0 or any(d >= kernel.n_outer for d in kernel.outputs[output].dims)


def verify(kernel: Kernel) -> None:
    """Check every rule of the IR.

    Raises
    ------
    IRError
        With the rule that is broken.
    """
    ndim = kernel.ndim
    _require(kernel.n_outer >= 0 and kernel.n_inner >= 0, "negative number of dims")
    _require(ndim <= MAX_DIMS, f"more than {MAX_DIMS} iteration dims")
    _require(len(kernel.inputs) + len(kernel.outputs) <= MAX_OPERANDS, f"more than {MAX_OPERANDS} operands")
    _require(bool(kernel.stages), "no stage")
    _require(bool(kernel.outputs), "no output")
    for i, operand in enumerate(kernel.inputs):
        _verify_operand(i, operand, ndim)
    for j, output in enumerate(kernel.outputs):
        _verify_output(kernel, j, output)
    _require(kernel.n_inner > 0 or len(kernel.stages) == 1, "an elementwise kernel has one stage")
    names: dict[str, str] = {}
    for load in kernel.row_loads:
        _require(is_row_operand(kernel, load.operand), f"row load of input {load.operand}, which is not a row operand")
        _define(names, load.var, kernel.inputs[load.operand].dtype)
    stored: set[int] = set()
    for stage in kernel.stages:
        _verify_stage(kernel, stage, names, stored)
    missing = set(range(len(kernel.outputs))) - stored
    _require(not missing, f"outputs {sorted(missing)} are never stored")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise IRError(message)


def _define(names: dict[str, str], name: str, dtype: str) -> None:
    # First as a whole: the messages take longer to write than the rules to check.
    if dtype in ITEMSIZE and name not in names and _IDENTIFIER.match(name):
        names[name] = dtype
        return
    _require(_IDENTIFIER.match(name) is not None, f"{name!r} is not an identifier")
    _require(name not in names, f"{name} is defined twice")
    _require(dtype in ITEMSIZE, f"{name} has unknown dtype {dtype!r}")


def _verify_operand(i: int, operand: Operand, ndim: int) -> None:
    _require(operand.dtype in ITEMSIZE, f"input {i} has unknown dtype {operand.dtype!r}")
    _require(len(operand.broadcast) == ndim, f"input {i} needs {ndim} broadcast flags")
    axes = tuple(operand.axis_of(d) for d in range(ndim))
    _require(len(axes) == ndim and (operand.axes is None or len(operand.axes) == ndim), f"input {i} needs {ndim} axes")
    used = [a for a in axes if a >= 0]
    _require(len(set(used)) == len(used), f"input {i} uses an axis twice")
    _require(all(a < operand.rank for a in used), f"input {i} has no such axis")
    for flag, axis in zip(operand.broadcast, axes, strict=True):
        _require(flag or axis >= 0, f"input {i} has a dim without axis that is not broadcast")


def _verify_output(kernel: Kernel, j: int, output: Output) -> None:
    _require(output.dtype in ITEMSIZE, f"output {j} has unknown dtype {output.dtype!r}")
    dims = [d for d in output.dims if d >= 0]
    _require(len(set(dims)) == len(dims) and all(d < kernel.ndim for d in dims), f"output {j} has bad dims")
    outer = set(range(kernel.n_outer))
    every = set(range(kernel.ndim))
    _require(set(dims) in (outer, every), f"output {j} must have all dims or all outer dims")
    if output.alias < 0:
        return
    _require(output.alias < len(kernel.inputs), f"output {j} aliases no input")
    operand = kernel.inputs[output.alias]
    _require(operand.dtype == output.dtype, f"output {j} aliases an input of another dtype")
    _require(operand.rank == len(output.dims), f"output {j} aliases an input of another rank")
    for axis, dim in enumerate(output.dims):
        if dim >= 0:
            _require(
                operand.axis_of(dim) == axis and not operand.broadcast[dim], f"output {j} aliases input's other axes"
            )


def _verify_stage(kernel: Kernel, stage: Stage, names: dict[str, str], stored: set[int]) -> None:
    local = dict(names)
    for load in stage.loads:
        if isinstance(load, Reload):
            _require(load.output in stored and is_full_output(kernel, load.output), "reload of what was not stored")
            _define(local, load.var, kernel.outputs[load.output].dtype)
        else:
            _require(0 <= load.operand < len(kernel.inputs), f"no input {load.operand}")
            _define(local, load.var, kernel.inputs[load.operand].dtype)
    if stage.index is not None:
        _require(kernel.n_inner > 0, "an elementwise kernel has no inner position")
        _define(local, stage.index, "int64")
    for stmt in stage.body:
        _define(local, stmt.dst, stmt.dtype)
    for store in stage.stores:
        _verify_store(kernel, store, local)
        _require(is_full_output(kernel, store.output), f"output {store.output} has one value a row")
        stored.add(store.output)
    _require(kernel.n_inner > 0 or not (stage.reduces or stage.row or stage.row_stores), "row work without inner dims")
    for reduce in stage.reduces:
        _require(reduce.op in REDUCE_OPS, f"unknown reduction {reduce.op!r}")
        _require(reduce.value in local, f"reduction of undefined {reduce.value}")
        _define(names, reduce.result, reduce.acc_dtype)
        if reduce.acc_dtype.startswith("complex"):
            _require(reduce.op in ("add", "mul", "all", "any"), f"no {reduce.op} of complex numbers")
        if reduce.acc_dtype.startswith(("complex", "float")):
            _require(reduce.op not in ("and", "or", "xor"), f"bitwise {reduce.op} of {reduce.acc_dtype}")
    _verify_picks(kernel, stage, names, stored)
    for stmt in stage.row:
        _define(names, stmt.dst, stmt.dtype)
    for store in stage.row_stores:
        _verify_store(kernel, store, names)
        _require(not is_full_output(kernel, store.output), f"output {store.output} has a value for every element")
        stored.add(store.output)


def _verify_picks(kernel: Kernel, stage: Stage, names: dict[str, str], stored: set[int]) -> None:
    if not stage.picks and not stage.puts:
        return
    _require(len(kernel.stages) > 1 or not stage.reduces, "single elements in a reduction of one stage")
    for access in (*stage.picks, *stage.puts):
        _require("int" in names.get(access.at, ""), f"no integer row value {access.at}")
    for pick in stage.picks:
        load = pick.load
        if isinstance(load, Reload):
            _require(load.output in stored and is_full_output(kernel, load.output), "pick of what was not stored")
            _define(names, load.var, kernel.outputs[load.output].dtype)
        else:
            _require(0 <= load.operand < len(kernel.inputs), f"no input {load.operand}")
            _require(not is_row_operand(kernel, load.operand), f"pick of input {load.operand}, which has one value a row")
            _define(names, load.var, kernel.inputs[load.operand].dtype)
    defined = {**names, **{s.dst: s.dtype for s in stage.row}}
    for put in stage.puts:
        _verify_store(kernel, Store(put.output, put.var), defined)
        _require(put.output in stored and is_full_output(kernel, put.output), "put into what was not stored")


def _verify_store(kernel: Kernel, store: Store, names: dict[str, str]) -> None:
    _require(0 <= store.output < len(kernel.outputs), f"no output {store.output}")
    _require(store.var in names, f"store of undefined {store.var}")
    dtype = kernel.outputs[store.output].dtype
    if names[store.var] != dtype:
        raise IRError(f"store of a {names[store.var]} to output {store.output} of {dtype}")

"""The rules of the loop-nest IR, which a target checks before it prints a kernel."""

from __future__ import annotations

import re

from theano.native.ir.kernel import (
    ITEMSIZE,
    MAX_DIMS,
    MAX_OPERANDS,
    REDUCE_OPS,
    Kernel,
    Load,
    Operand,
    Output,
    Reload,
    Stage,
    Statement,
    Stmt,
    Store,
    is_full_output,
    is_row_operand,
)
from theano.scalar.expression import OPERATORS, PREFIXES, Expression, walk

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


class IRError(ValueError):
    """A kernel that breaks a rule of the IR: an error in a lowering, never in a user's program."""


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
            _require(operand.axis_of(dim) == axis and not operand.broadcast[dim], f"output {j} aliases input's other axes")


def _verify_stage(kernel: Kernel, stage: Stage, names: dict[str, str], stored: set[int]) -> None:
    local = dict(names)
    for load in stage.loads:
        _verify_load(kernel, load, local, stored)
    if stage.index is not None:
        _require(kernel.n_inner > 0, "an elementwise kernel has no inner position")
        _define(local, stage.index, "int64")
    for stmt in stage.body:
        _verify_statement(stmt, local)
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
        _verify_statement(stmt, names)
    for store in stage.row_stores:
        _verify_store(kernel, store, names)
        _require(not is_full_output(kernel, store.output), f"output {store.output} has a value for every element")
        stored.add(store.output)


def _verify_load(kernel: Kernel, load: Load | Reload, names: dict[str, str], stored: set[int]) -> None:
    if isinstance(load, Reload):
        _require(load.output in stored and is_full_output(kernel, load.output), "reload of what was not stored")
    else:
        _require(0 <= load.operand < len(kernel.inputs), f"no input {load.operand}")
    _define(names, load.var, load.array(kernel).dtype)


def _verify_statement(stmt: Statement, names: dict[str, str]) -> None:
    # Messages take longer to write than the rules to check.
    for value in stmt.inputs:
        for e in walk(value):
            if e.op == "var":
                if names.get(e.args[0]) != e.dtype:
                    raise IRError(f"{e.args[0]} is no {e.dtype} that is there")
            elif e.op != "const":
                _verify_operation(e)
    if isinstance(stmt, Stmt) and stmt.value.dtype != stmt.dtype:
        _require(stmt.dtype != "bool", f"{stmt.dst} is a truth value, but not what it is given")
        _require("complex" not in stmt.value.dtype, f"{stmt.dst} would lose an imaginary part")
    for name, dtype in stmt.defines:
        _define(names, name, dtype)


def _verify_operation(e: Expression) -> None:
    op, dtypes = e.op, [a.dtype for a in e.args]
    count = len(dtypes)
    if op in OPERATORS:
        right = count >= 2 and dtypes.count(dtypes[0]) == count
        if op in ("bitor", "xor", "bitand"):
            right = right and dtypes[0][0] in "biu"
        elif op in ("and", "or"):
            right = right and dtypes[0] == "bool"
    elif op in PREFIXES:
        right = count == 1
    elif op == "cast":
        right = count == 1 and e.dtype != "bool"
    elif op == "select":
        right = count == 3 and dtypes[1] == dtypes[2] == e.dtype
    elif op in ("real", "imag"):
        right = count == 1 and dtypes[0].startswith("complex")
    else:
        right = count > 0 and _IDENTIFIER.match(op) is not None
    if not right or e.dtype not in ITEMSIZE:
        raise IRError(f"there is no {op} of {', '.join(dtypes)} that gives {e.dtype}")


def _verify_picks(kernel: Kernel, stage: Stage, names: dict[str, str], stored: set[int]) -> None:
    if not stage.picks and not stage.puts:
        return
    _require(len(kernel.stages) > 1 or not stage.reduces, "single elements in a reduction of one stage")
    for access in (*stage.picks, *stage.puts):
        _require("int" in names.get(access.at, ""), f"no integer row value {access.at}")
    for pick in stage.picks:
        load = pick.load
        _verify_load(kernel, load, names, stored)
        if isinstance(load, Load):
            _require(not is_row_operand(kernel, load.operand), f"pick of input {load.operand}, which has one value a row")
    defined = {**names, **dict(d for s in stage.row for d in s.defines)}
    for put in stage.puts:
        _verify_store(kernel, Store(put.output, put.var), defined)
        _require(put.output in stored and is_full_output(kernel, put.output), "put into what was not stored")


def _verify_store(kernel: Kernel, store: Store, names: dict[str, str]) -> None:
    _require(0 <= store.output < len(kernel.outputs), f"no output {store.output}")
    _require(store.var in names, f"store of undefined {store.var}")
    dtype = kernel.outputs[store.output].dtype
    if names[store.var] != dtype:
        raise IRError(f"store of a {names[store.var]} to output {store.output} of {dtype}")

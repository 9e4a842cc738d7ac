"""Softmax and crossentropy: whole rows in one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano.gof.graph import Apply, Constant, Variable, io_toposort
from theano.native import instructions as vm
from theano.native import ir
from theano.native.ir import Load, Operand, Output, Pick, Put, Reduce, Reload, Stage, Stmt, Store, let
from theano.native.optimize.pairs import Pair, pair_rules
from theano.native.optimize.rows import Stored, kernel_of
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.scalar.expression import Expression, call, cast, constant, declare_function, select, variable
from theano.tensor.constructors import matrix
from theano.tensor.creation import Alloc
from theano.tensor.math import gt, switch
from theano.tensor.nnet.nnet import (
    CrossentropyCategorical1Hot,
    CrossentropyCategorical1HotGrad,
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    LogSoftmax,
    Softmax,
    SoftmaxGrad,
    SoftmaxWithBias,
)
from theano.tensor.nnet.softmax import LIKELY, LogSoftmaxGrad, is_softmax

# The exponential of a difference; the same times what `tk_exp_scale` gives, which C chooses such that no term is subnormal.
declare_function("tk_exp_diff", lambda x, m: np.exp(x - m))
declare_function("tk_exp_diff_scaled", lambda x, m: np.exp(x - m))
declare_function("tk_exp_scale", np.ones_like)


def _float_dtype(*nodes: Apply) -> str:
    """The one float dtype of rows and results."""
    variables = [v for node in nodes for v in (*node.inputs, *node.outputs)]
    dtypes = {v.type.dtype for v in variables if v.type.dtype.startswith("float")}
    if len(dtypes) != 1 or dtypes == {"float16"}:
        raise CannotLower("rows of several float dtypes, or of half precision")
    return dtypes.pop()


def _full(dtype: str) -> Operand:
    return Operand(dtype, (False, False))


def _per_row(dtype: str) -> Operand:
    return Operand(dtype, (False, True), axes=(0, -1), ndim=1)


def _per_column(dtype: str) -> Operand:
    return Operand(dtype, (True, False), axes=(-1, 0), ndim=1)


def _emit(
    builder: ProgramBuilder,
    node: Apply,
    inputs: list[Operand],
    outputs: list[Output],
    stages: list[Stage],
    row_loads: tuple[Load, ...] = (),
) -> None:
    kernel = ir.Kernel(1, 1, tuple(inputs), tuple(outputs), tuple(stages), row_loads=row_loads)
    builder.emit_kernel(kernel, map(builder.cell, node.inputs), map(builder.cell, node.outputs))


class _Names:
    """Named values of one dtype, as attributes."""

    def __init__(self, dtype: str):
        self._dtype = dtype

    def __getattr__(self, name: str) -> Expression:
        return variable(name, self._dtype)


def _rows(dtype: str, biased: bool, suffix: str) -> tuple[tuple[Load, ...], tuple[Stmt, ...], Expression]:
    """Loads and statements that give the (biased) element, and the element."""
    x, b, z = (variable(name + suffix, dtype) for name in "xbz")
    if not biased:
        return (Load(x.name, 0),), (), x
    return (Load(x.name, 0), Load(b.name, 1)), (let(z.name, x + b),), z


def _unit(dtype: str) -> Expression:
    """What the exponentials of `_softmax_stages` are multiples of."""
    return call("tk_exp_scale", variable("s", dtype))


def _softmax_stages(dtype: str, biased: bool, output: int) -> list[Stage]:
    """Maximum; exponentials and their sum, both times `_unit`; quotient."""
    v = _Names(dtype)
    loads_a, body_a, a = _rows(dtype, biased, "a")
    loads_b, body_b, b = _rows(dtype, biased, "c")
    low, sum_of_lows = _sum_but_top(b)
    return [
        Stage(loads=loads_a, body=body_a, reduces=(Reduce("maximum", dtype, a.name, "m"),)),
        Stage(
            loads=loads_b,
            body=(*body_b, let("e", call("tk_exp_diff_scaled", b, v.m)), low),
            stores=(Store(output, "e"),),
            reduces=(Reduce("add", dtype, "e", "s"), sum_of_lows),
            row=(let("inv", _inverse(_unit(dtype))),),
        ),
        Stage(loads=(Reload("r", output),), body=(let("p", v.r * v.inv),), stores=(Store(output, "p"),)),
    ]


def _inverse(unit: Expression) -> Expression:
    """One over the sum of multiples of `unit`; with several maxima, or a NaN, that of all."""
    v = _Names(unit.dtype)
    return 1 / select(v.s - v.lows <= 1.5 * unit, unit + v.lows, v.s)


def _sum_but_top(x: Expression) -> tuple[Stmt, Reduce]:
    """What gives ``lows``, the sum of ``exp(x - max)`` without the maxima: each sum with a 1 would round the small terms."""
    v = _Names(x.dtype)
    return let("low", select(x.equals(v.m), 0, v.e)), Reduce("add", x.dtype, "low", "lows")


def _rest(dtype: str) -> tuple[Stmt, Stmt]:
    """What gives ``scaled``, the sum of all scaled exponentials without one maximum, and ``rest``, the same not scaled."""
    # Of several maxima one is left out.
    v, unit = _Names(dtype), _unit(dtype)
    scaled = let("scaled", select(v.s - v.lows > 1.5 * unit, v.s - unit, v.lows))
    return scaled, let("rest", v.scaled * (1 / unit))


@lowers(Softmax, SoftmaxWithBias)
def lower_softmax(builder: ProgramBuilder, node: Apply) -> None:
    dtype, biased, transposition = _float_dtype(node), len(node.inputs) > 1, node.inputs[0].owner
    if not biased and transposition is not None and getattr(transposition.op, "new_order", None) == (1, 0):
        _softmax_of_columns(builder, transposition.inputs[0], node.outputs[0], dtype)
        return
    inputs = [_full(dtype), _per_column(dtype)][: 1 + biased]
    _emit(builder, node, inputs, [Output(dtype, (0, 1))], _softmax_stages(dtype, biased, 0))


def _softmax_of_columns(builder: ProgramBuilder, x: Variable, out: Variable, dtype: str) -> None:
    """Softmax of the columns of `x`, the rows of its transpose: three passes that read memory as it lies.

    Gathering each column would take longer than all the arithmetic.
    """
    columns = Operand(dtype, (False, False), axes=(1, 0))
    top, total = (builder.temporary(dtype, (False,)) for _ in range(2))
    parts = builder.temporary(dtype, (False, False))
    find = Stage(loads=(Load("x", 0),), reduces=(Reduce("maximum", dtype, "x", "m"),), row_stores=(Store(0, "m"),))
    builder.emit_kernel(ir.Kernel(1, 1, (columns,), (Output(dtype, (0,)),), (find,)), [builder.cell(x)], [top])
    # Column sums are not blocked as those of rows are: a wider accumulator keeps them as exact, or a sum without the 1.
    reduces: tuple[Reduce, ...] = (Reduce("add", "float64", "w", "s"),)
    v = _Names(dtype)
    body = (let("e", call("tk_exp_diff", v.x, v.m)), Stmt("w", "float64", v.e))
    inverse = 1 / variable("s", "float64")
    if dtype == "float64":
        low, sum_of_lows = _sum_but_top(v.x)
        body, reduces = (*body, low), (*reduces, sum_of_lows)
        inverse = _inverse(constant(1, dtype))
    add = Stage(
        loads=(Load("x", 0), Load("m", 1)),
        body=body,
        stores=(Store(0, "e"),),
        reduces=reduces,
        row=(Stmt("inv", dtype, inverse),),
        row_stores=(Store(1, "inv"),),
    )
    outputs = (Output(dtype, (0, 1)), Output(dtype, (0,)))
    builder.emit_kernel(ir.Kernel(1, 1, (columns, _per_row(dtype)), outputs, (add,)), [builder.cell(x), top], [parts, total])
    scale = ir.elementwise(2, [columns, _per_column(dtype)], [Output(dtype, (1, 0), alias=0)], [Load("e", 0), Load("inv", 1)],
                           [let("p", v.e * v.inv)], [Store(0, "p")])  # fmt: skip
    builder.emit_kernel(scale, [parts, total], [builder.cell(out)])


def _emit_formula(builder: ProgramBuilder, node: Apply, formula: Callable[..., Any]) -> None:
    """Let the output be an expression of the inputs `dy` and `p`, and of where `p` is near 1 if it is a softmax, else None."""
    dtype = _float_dtype(node)
    dy, p = rows = [matrix(dtype=dtype) for _ in range(2)]
    likely = gt(p, np.asarray(LIKELY, dtype)) if is_softmax(node.inputs[1]) else None
    result = formula(dy, p, likely)
    kernel, loads = kernel_of((False, False), (1,), io_toposort(rows, [result]), [Stored(result, None)], builder.target)
    cells = [builder.cell(node.inputs[rows.index(v)]) for v in loads]
    builder.emit_kernel(kernel, cells, map(builder.cell, node.outputs))


def _row_sum(x: Any, unless: Any = None) -> Any:
    """The sums of rows, or of what does not fulfil a condition."""
    kept = x if unless is None else switch(unless, np.asarray(0, x.dtype), x)
    return kept.sum(axis=1, keepdims=True, acc_dtype=x.dtype)


@lowers(SoftmaxGrad)
def lower_softmax_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``(dy - sum(dy * p)) * p``; of a softmax ``((dy - c) + (c * sum(other p) - sum(other dy * p))) * p``, c the `dy` at a
    probability near 1
    """

    def formula(dy: Any, p: Any, likely: Any) -> Any:
        if likely is None:
            return (dy - _row_sum(dy * p)) * p
        c = _row_sum(switch(likely, dy, np.asarray(0, p.dtype)))
        return ((dy - c) + (c * _row_sum(p, likely) - _row_sum(dy * p, likely))) * p

    _emit_formula(builder, node, formula)


@lowers(LogSoftmaxGrad)
def lower_log_softmax_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``dy - sum(dy) * p``; of a softmax ``dy * sum(other p) - sum(other dy) * p`` at a probability near 1."""

    def formula(dy: Any, p: Any, likely: Any) -> Any:
        result = dy - _row_sum(dy) * p
        return result if likely is None else switch(likely, dy * _row_sum(p, likely) - _row_sum(dy, likely) * p, result)

    _emit_formula(builder, node, formula)


@lowers(LogSoftmax)
def lower_log_softmax(builder: ProgramBuilder, node: Apply) -> None:
    """``x - max - log(sum(exp(x - max)))``."""
    dtype = _float_dtype(node)
    v = _Names(dtype)
    first, second, _ = _softmax_stages(dtype, False, 0)
    second = second.replaced(stores=(), row=(*_rest(dtype), let("ls", call("log1p", v.rest))))
    last = Stage(loads=(Load("x", 0),), body=(let("p", (v.x - v.m) - v.ls),), stores=(Store(0, "p"),))
    _emit(builder, node, [_full(dtype)], [Output(dtype, (0, 1))], [first, second, last])


def _is_zero(variable: Variable) -> bool:
    """Whether a variable is an array of zeros of any length."""
    node = variable.owner
    value = node.inputs[0] if node is not None and isinstance(node.op, Alloc) else variable
    return isinstance(value, Constant) and not value.data.any()


def _emit_crossentropy(
    builder: ProgramBuilder,
    node: Apply,
    full: Variable,
    scaled: Expression,
    dy: Variable | None = None,
    at_target: Expression | None = None,
) -> None:
    """Append the kernel of a softmax with its cross-entropy: rows of ``x + b``, targets ``y``.

    Parameters
    ----------
    node
        An application of `CrossentropySoftmaxArgmax1HotWithBias`.
    full
        What is given for each element: `scaled`, an expression of the exponential ``r`` and of ``inv``, but at the target
        `at_target`, if that is not None, of the probability ``py`` there and of ``scaled``, as `_rest` has it.
    dy
        A value of each row that the two expressions read, too.
    """
    dtype = _float_dtype(node)
    v = _Names(dtype)
    x, b, y = node.inputs
    nll, _, am = node.outputs
    # A bias of zeros is what the rewrites give a softmax that has none: only its length is looked at.
    biased = not _is_zero(b)
    inputs, operands, row_loads = [x, b, y], [_full(dtype), _per_column(dtype), _per_row(y.type.dtype)], [Load("y", 2)]
    outputs, made = [Output(dtype, (0,)), Output(dtype, (0, 1))], [nll, full]
    if dy is not None:
        inputs.append(dy)
        operands.append(_gradient_of_rows(dy, dtype))
        row_loads.append(Load("dy", 3))
    first, second, last = _softmax_stages(dtype, biased, 1)
    stages = [first]
    if am.clients or builder.alone:
        outputs.append(Output(am.type.dtype, (0,)))
        made.append(am)
        loads, body, z = _rows(dtype, biased, "f")
        found = (Stmt("am", am.type.dtype, variable("at", "int64")),)
        stages.append(ir.position_stage(loads, z, "m", "at", body).replaced(row=found, row_stores=(Store(2, "am"),)))
    loads, body, z = _rows(dtype, biased, "t")
    row = (*body, *second.row, *_rest(dtype), let("nll", call("log1p", v.rest) - (z - v.m)))
    picks = tuple(Pick(load, "y") for load in loads)
    puts: tuple[Put, ...] = ()
    if at_target is not None:
        picks = (*picks, Pick(Reload("ey", 1), "y"))
        row = (*row, let("py", v.ey * v.inv), let("dt", at_target))
        puts = (Put(1, "dt", "y"),)
    stages.append(second.replaced(row=row, row_stores=(Store(0, "nll"),), picks=picks))
    stages.append(last.replaced(body=(let("p", scaled),), puts=puts))
    _check_targets(builder, y, x)
    kernel = ir.Kernel(1, 1, tuple(operands), tuple(outputs), tuple(stages), row_loads=tuple(row_loads))
    builder.emit_kernel(kernel, map(builder.cell, inputs), map(builder.cell, made))


@lowers(CrossentropySoftmaxArgmax1HotWithBias)
def lower_crossentropy_softmax(builder: ProgramBuilder, node: Apply) -> None:
    """Softmax of ``x + b``, its negative log at the target's column, and the column of the maximum."""
    v = _Names(_float_dtype(node))
    _emit_crossentropy(builder, node, node.outputs[1], v.r * v.inv)


def crossentropy_with_gradient(node: Apply) -> Pair | None:
    """A cross-entropy with its gradient, where nobody else wants the softmax: the exponentials become the gradient."""
    dy, p, y = node.inputs
    first = p.owner
    if first is None or type(first.op) is not CrossentropySoftmaxArgmax1HotWithBias or p is not first.outputs[1]:
        return None
    if [client for client, _ in p.clients] != [node] or y is not first.inputs[2] or dy.owner is first:
        return None
    try:
        v = _Names(_float_dtype(first, node))
    except CannotLower:
        return None
    # A probability above LIKELY is that of the one maximum: all others are the rest.
    scaled, at_target = v.dy * (v.r * v.inv), v.dy * select(v.py > LIKELY, -(v.scaled * v.inv), v.py - 1)
    return Pair(first, node, lambda builder: _emit_crossentropy(builder, first, node.outputs[0], scaled, dy, at_target))


pair_rules[CrossentropySoftmax1HotWithBiasDx] = crossentropy_with_gradient


def _gradient_of_rows(dy: Variable, dtype: str) -> Operand:
    """One value a row; one gradient for all rows is read again for each."""
    return Operand(dtype, (True, True), axes=(-1, -1), ndim=1) if dy.type.broadcastable[0] else _per_row(dtype)


@lowers(CrossentropySoftmax1HotWithBiasDx)
def lower_crossentropy_softmax_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``dy * (p - onehot(y))``; of a softmax ``-dy * sum(p[j != y])`` at a likely target, which does not cancel."""
    dtype, target = _float_dtype(node), node.inputs[2].type.dtype
    dy, p, _ = node.inputs
    v = _Names(dtype)
    stages = []
    at_target = v.py - 1
    if is_softmax(p):
        is_target = variable("i", "int64").equals(cast(variable("y", target), "int64"))
        others = let("o", select(is_target, 0, v.q))
        stages.append(Stage((Load("q", 1),), (others,), reduces=(Reduce("add", dtype, "o", "rest"),), index="i"))
        at_target = select(v.py > LIKELY, -v.rest, at_target)
    stages.append(
        Stage(
            loads=(Load("p", 1),),
            body=(let("d", v.dy * v.p),),
            stores=(Store(0, "d"),),
            picks=(Pick(Load("py", 1), "y"),),
            row=(let("dt", v.dy * at_target),),
            puts=(Put(0, "dt", "y"),),
        )
    )
    _check_targets(builder, node.inputs[2], node.inputs[1])
    inputs = [_gradient_of_rows(dy, dtype), _full(dtype), _per_row(target)]
    _emit(builder, node, inputs, [Output(dtype, (0, 1))], stages, (Load("dy", 0), Load("y", 2)))


@lowers(CrossentropyCategorical1Hot)
def lower_crossentropy_categorical(builder: ProgramBuilder, node: Apply) -> None:
    """``-log(p[i, y[i]])``."""
    dtype, target = _float_dtype(node), node.inputs[1].type.dtype
    v = _Names(dtype)
    picks, row = (Pick(Load("py", 0), "y"),), (let("nll", -call("log", v.py)),)
    stage = Stage(picks=picks, row=row, row_stores=(Store(0, "nll"),))
    _check_targets(builder, node.inputs[1], node.inputs[0])
    _emit(builder, node, [_full(dtype), _per_row(target)], [Output(dtype, (0,))], [stage], (Load("y", 1),))


@lowers(CrossentropyCategorical1HotGrad)
def lower_crossentropy_categorical_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``-dy / p`` at the target's column, 0 elsewhere."""
    dtype, target = _float_dtype(node), node.inputs[2].type.dtype
    v = _Names(dtype)
    stage = Stage(
        body=(let("d", constant(0, dtype)),),
        stores=(Store(0, "d"),),
        picks=(Pick(Load("py", 1), "y"),),
        row=(let("dt", -v.dy / v.py),),
        puts=(Put(0, "dt", "y"),),
    )
    _check_targets(builder, node.inputs[2], node.inputs[1])
    inputs = [_per_row(dtype), _full(dtype), _per_row(target)]
    _emit(builder, node, inputs, [Output(dtype, (0, 1))], [stage], (Load("dy", 0), Load("y", 2)))


def _check_targets(builder: ProgramBuilder, targets: Variable, rows: Variable) -> None:
    """Raise ValueError before anything is computed when a target is no column of the rows."""
    builder.emit(vm.CheckIndex(1, "y_i value out of bounds"), [builder.cell(targets), builder.cell(rows)], [])

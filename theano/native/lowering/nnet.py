"""Softmax and crossentropy: whole rows in one kernel."""

from __future__ import annotations

from dataclasses import replace

from theano.gof.graph import Apply, Constant, Variable
from theano.native import instructions as vm
from theano.native import ir
from theano.native.ir import Load, Operand, Output, Pick, Put, Reduce, Reload, Stage, Stmt, Store
from theano.native.pairs import Pair, lowers_pair
from theano.native.program import CannotLower, ProgramBuilder, lowers
from theano.tensor.creation import Alloc
from theano.tensor.elemwise import DimShuffle
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


def _float_dtype(node: Apply) -> str:
    """The one float dtype of rows and results."""
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs) if v.type.dtype.startswith("float")}
    if len(dtypes) != 1 or dtypes == {"float16"}:
        raise CannotLower("rows of several float dtypes, or of half precision")
    return dtypes.pop()


def _full(dtype: str) -> Operand:
    return Operand(dtype, (False, False))


def _per_row(dtype: str) -> Operand:
    return Operand(dtype, (False, True), axes=(0, -1), ndim=1)


def _per_column(dtype: str) -> Operand:
    return Operand(dtype, (True, False), axes=(-1, 0), ndim=1)


def _emit(builder: ProgramBuilder, node: Apply, inputs: list[Operand], outputs: list[Output], stages: list[Stage],
          row_loads: tuple[Load, ...] = ()) -> None:
    kernel = ir.Kernel(1, 1, tuple(inputs), tuple(outputs), tuple(stages), row_loads=row_loads)
    builder.emit_kernel(kernel, map(builder.cell, node.inputs), map(builder.cell, node.outputs))


def _rows(dtype: str, biased: bool, suffix: str) -> tuple[tuple[Load, ...], tuple[Stmt, ...], str]:
    """Loads and statements that give the (biased) element, and its name."""
    if not biased:
        return (Load(f"x{suffix}", 0),), (), f"x{suffix}"
    loads = (Load(f"x{suffix}", 0), Load(f"b{suffix}", 1))
    return loads, (Stmt(f"z{suffix}", dtype, f"z{suffix} = x{suffix} + b{suffix};"),), f"z{suffix}"


def _softmax_stages(dtype: str, biased: bool, output: int) -> list[Stage]:
    """Maximum; exponentials and their sum, both times ``tk_exp_scale``; quotient."""
    loads_a, body_a, a = _rows(dtype, biased, "a")
    loads_b, body_b, b = _rows(dtype, biased, "c")
    low, sum_of_lows = _sum_but_top(dtype, b, "e")
    return [
        Stage(loads=loads_a, body=body_a, reduces=(Reduce("maximum", dtype, a, "m"),)),
        Stage(
            loads=loads_b,
            body=(*body_b, Stmt("e", dtype, f"e = tk_exp_diff_scaled({b}, m);"), low),
            stores=(Store(output, "e"),),
            reduces=(Reduce("add", dtype, "e", "s"), sum_of_lows),
            row=(Stmt("inv", dtype, f"inv = {_SCALED_INVERSE};"),),
        ),
        Stage(loads=(Reload("r", output),), body=(Stmt("p", dtype, "p = r * inv;"),), stores=(Store(output, "p"),)),
    ]


#: One over the sum; with several maxima, or a NaN, that of all.
_INVERSE = "1 / (s - lows <= 1.5f ? 1 + lows : s)"
_SCALED_INVERSE = "1 / (s - lows <= 1.5f * tk_exp_scale(s) ? tk_exp_scale(s) + lows : s)"


def _sum_but_top(dtype: str, x: str, e: str) -> tuple[Stmt, Reduce]:
    """What gives ``lows``, the sum of ``exp(x - max)`` without the maxima: each sum with a 1 would round the small terms."""
    return Stmt("low", dtype, f"low = {x} == m ? 0 : {e};"), Reduce("add", dtype, "low", "lows")


def _rest(dtype: str) -> tuple[Stmt, Stmt]:
    """What gives ``scaled``, the sum of all scaled exponentials without one maximum, and ``rest``, the same not scaled."""
    # Of several maxima one is left out.
    scaled = Stmt("scaled", dtype, "scaled = s - lows > 1.5f * tk_exp_scale(s) ? s - tk_exp_scale(s) : lows;")
    return scaled, Stmt("rest", dtype, "rest = scaled * (1 / tk_exp_scale(s));")


@lowers(Softmax)
def lower_softmax(builder: ProgramBuilder, node: Apply) -> None:
    dtype = _float_dtype(node)
    transposition = node.inputs[0].owner
    if transposition is not None and isinstance(transposition.op, DimShuffle) and transposition.op.new_order == (1, 0):
        _softmax_of_columns(builder, transposition.inputs[0], node.outputs[0], dtype)
        return
    _emit(builder, node, [_full(dtype)], [Output(dtype, (0, 1))], _softmax_stages(dtype, False, 0))


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
    body = (Stmt("e", dtype, "e = tk_exp_diff(x, m);"), Stmt("w", "float64", "w = e;"))
    inverse = "1 / s"
    if dtype == "float64":
        low, sum_of_lows = _sum_but_top(dtype, "x", "e")
        body, reduces = (*body, low), (*reduces, sum_of_lows)
        inverse = _INVERSE
    add = Stage(
        loads=(Load("x", 0), Load("m", 1)),
        body=body,
        stores=(Store(0, "e"),),
        reduces=reduces,
        row=(Stmt("inv", dtype, f"inv = {inverse};"),),
        row_stores=(Store(1, "inv"),),
    )
    outputs = (Output(dtype, (0, 1)), Output(dtype, (0,)))
    builder.emit_kernel(ir.Kernel(1, 1, (columns, _per_row(dtype)), outputs, (add,)), [builder.cell(x), top], [parts, total])
    scale = ir.elementwise(2, [columns, _per_column(dtype)], [Output(dtype, (1, 0), alias=0)], [Load("e", 0), Load("inv", 1)],
                           [Stmt("p", dtype, "p = e * inv;")], [Store(0, "p")])  # fmt: skip
    builder.emit_kernel(scale, [parts, total], [builder.cell(out)])


@lowers(SoftmaxWithBias)
def lower_softmax_with_bias(builder: ProgramBuilder, node: Apply) -> None:
    dtype = _float_dtype(node)
    inputs = [_full(dtype), _per_column(dtype)]
    _emit(builder, node, inputs, [Output(dtype, (0, 1))], _softmax_stages(dtype, True, 0))


@lowers(SoftmaxGrad)
def lower_softmax_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``(dy - sum(dy * p)) * p``; of a softmax ``((dy - c) + (c * sum(other p) - sum(other dy * p))) * p``, c the `dy` at a
    probability near 1
    """
    dtype = _float_dtype(node)
    body: tuple[Stmt, ...] = ()
    reduces: tuple[Reduce, ...] = (Reduce("add", dtype, "t", "s"),)
    row: tuple[Stmt, ...] = ()
    product, result = "da * pa", "(db - s) * pb"
    if is_softmax(node.inputs[1]):
        product, result = f"pa > {LIKELY}f ? 0 : da * pa", "((db - c) + u) * pb"
        body = (Stmt("top", dtype, f"top = pa > {LIKELY}f ? da : 0;"), Stmt("op", dtype, f"op = pa > {LIKELY}f ? 0 : pa;"))
        reduces = (*reduces, Reduce("add", dtype, "top", "c"), Reduce("add", dtype, "op", "lacking"))
        row = (Stmt("u", dtype, "u = c * lacking - s;"),)
    stages = [
        Stage(
            loads=(Load("da", 0), Load("pa", 1)), body=(*body, Stmt("t", dtype, f"t = {product};")), reduces=reduces, row=row
        ),
        Stage(loads=(Load("db", 0), Load("pb", 1)), body=(Stmt("d", dtype, f"d = {result};"),), stores=(Store(0, "d"),)),
    ]
    _emit(builder, node, [_full(dtype), _full(dtype)], [Output(dtype, (0, 1))], stages)


@lowers(LogSoftmaxGrad)
def lower_log_softmax_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``dy - sum(dy) * p``; of a softmax ``dy * sum(other p) - sum(other dy) * p`` at a probability near 1."""
    dtype = _float_dtype(node)
    loads: tuple[Load, ...] = (Load("da", 0),)
    body: tuple[Stmt, ...] = ()
    reduces = (Reduce("add", dtype, "da", "s"),)
    result = "db - s * pb"
    if is_softmax(node.inputs[1]):
        loads = (*loads, Load("pa", 1))
        body = tuple(Stmt(f"o{v}", dtype, f"o{v} = pa > {LIKELY}f ? 0 : {v};") for v in ("da", "pa"))
        reduces = (*reduces, Reduce("add", dtype, "oda", "others"), Reduce("add", dtype, "opa", "lacking"))
        result = f"pb > {LIKELY}f ? db * lacking - others * pb : {result}"
    difference = Stmt("d", dtype, f"d = {result};")
    stages = [
        Stage(loads=loads, body=body, reduces=reduces),
        Stage(loads=(Load("db", 0), Load("pb", 1)), body=(difference,), stores=(Store(0, "d"),)),
    ]
    _emit(builder, node, [_full(dtype), _full(dtype)], [Output(dtype, (0, 1))], stages)


@lowers(LogSoftmax)
def lower_log_softmax(builder: ProgramBuilder, node: Apply) -> None:
    """``x - max - log(sum(exp(x - max)))``."""
    dtype = _float_dtype(node)
    low, sum_of_lows = _sum_but_top(dtype, "xb", "e")
    stages = [
        Stage(loads=(Load("xa", 0),), reduces=(Reduce("maximum", dtype, "xa", "m"),)),
        Stage(
            loads=(Load("xb", 0),),
            body=(Stmt("e", dtype, "e = tk_exp_diff_scaled(xb, m);"), low),
            reduces=(Reduce("add", dtype, "e", "s"), sum_of_lows),
            row=(*_rest(dtype), Stmt("ls", dtype, "ls = log1p(rest);")),
        ),
        Stage(loads=(Load("xc", 0),), body=(Stmt("p", dtype, "p = (xc - m) - ls;"),), stores=(Store(0, "p"),)),
    ]
    _emit(builder, node, [_full(dtype)], [Output(dtype, (0, 1))], stages)


def _is_zero(variable: Variable) -> bool:
    """Whether a variable is an array of zeros of any length."""
    node = variable.owner
    value = node.inputs[0] if node is not None and isinstance(node.op, Alloc) else variable
    return isinstance(value, Constant) and not value.data.any()


class _Crossentropy:
    """The kernel of a softmax with its cross-entropy: rows of ``x + b``, targets ``y``.

    Parameters
    ----------
    node
        An application of `CrossentropySoftmaxArgmax1HotWithBias`.

    Attributes
    ----------
    inputs, operands
        What the kernel reads.
    """

    def __init__(self, node: Apply):
        self.node = node
        self.dtype = _float_dtype(node)
        x, b, y = node.inputs
        # A bias of zeros is what the rewrites give a softmax that has none: only its length is looked at.
        self.biased = not _is_zero(b)
        self.inputs = [x, b, y]
        self.operands = [_full(self.dtype), _per_column(self.dtype), _per_row(y.type.dtype)]
        self.row_loads = [Load("y", 2)]

    def emit(self, builder: ProgramBuilder, full: Variable, scaled: str, at_target: str | None) -> None:
        """Append the kernel.

        Parameters
        ----------
        full
            What is given for each element: `scaled`, an expression of the exponential ``r`` and of ``inv``, but at the target
            `at_target`, if that is not None, of the probability ``py`` there and of ``scaled``, as `_rest` has it.
        """
        nll, _, am = self.node.outputs
        _check_targets(builder, self.node, self.node.inputs[2], self.node.inputs[0])
        stages = _softmax_stages(self.dtype, self.biased, 1)
        outputs, made = [Output(self.dtype, (0,)), Output(self.dtype, (0, 1))], [nll, full]
        # The thunk of a single node gives all of its outputs.
        if am.clients or builder.changed_objects is None:
            outputs.append(Output(am.type.dtype, (0,)))
            made.append(am)
            stages.insert(1, self._argmax(am.type.dtype))
        *_, second, last = stages
        loads, body, z = _rows(self.dtype, self.biased, "t")
        row = (*body, *second.row, *_rest(self.dtype), Stmt("nll", self.dtype, f"nll = log1p(rest) - ({z} - m);"))
        picks = tuple(Pick(load, "y") for load in loads)
        puts: tuple[Put, ...] = ()
        if at_target is not None:
            picks = (*picks, Pick(Reload("ey", 1), "y"))
            row = (*row, Stmt("py", self.dtype, "py = ey * inv;"), Stmt("dt", self.dtype, f"dt = {at_target};"))
            puts = (Put(1, "dt", "y"),)
        stages[-2] = replace(second, row=row, row_stores=(Store(0, "nll"),), picks=picks)
        stages[-1] = replace(last, body=(Stmt("p", self.dtype, f"p = {scaled};"),), puts=puts)
        kernel = ir.Kernel(1, 1, tuple(self.operands), tuple(outputs), tuple(stages), row_loads=tuple(self.row_loads))
        builder.emit_kernel(kernel, map(builder.cell, self.inputs), map(builder.cell, made))

    def _argmax(self, dtype: str) -> Stage:
        loads, body, z = _rows(self.dtype, self.biased, "f")
        find = Stmt("w", "int64", f"w = ({z} == m || {z} != {z}) ? j : INT64_MAX;")
        return Stage(loads=loads, index="j", body=(*body, find), reduces=(Reduce("minimum", "int64", "w", "wr"),),
                     row=(Stmt("am", dtype, "am = wr;"),), row_stores=(Store(2, "am"),))  # fmt: skip


@lowers(CrossentropySoftmaxArgmax1HotWithBias)
def lower_crossentropy_softmax(builder: ProgramBuilder, node: Apply) -> None:
    """Softmax of ``x + b``, its negative log at the target's column, and the column of the maximum."""
    _Crossentropy(node).emit(builder, node.outputs[1], "r * inv", None)


@lowers_pair(CrossentropySoftmax1HotWithBiasDx)
def crossentropy_with_gradient(node: Apply) -> Pair | None:
    """A cross-entropy with its gradient, where nobody else wants the softmax: the exponentials become the gradient."""
    dy, p, y = node.inputs
    first = p.owner
    if first is None or type(first.op) is not CrossentropySoftmaxArgmax1HotWithBias or p is not first.outputs[1]:
        return None
    if [client for client, _ in p.clients] != [node] or y is not first.inputs[2] or dy.owner is first:
        return None
    try:
        rows = _Crossentropy(first)
        if rows.dtype != _float_dtype(node):
            return None
    except CannotLower:
        return None
    rows.row_loads.append(Load("dy", 3))
    rows.operands.append(_gradient_of_rows(dy, rows.dtype))
    rows.inputs.append(dy)
    # A probability above LIKELY is that of the one maximum: all others are the rest.
    at_target = f"dy * (py > {LIKELY}f ? -(scaled * inv) : py - 1)"
    return Pair(first, node, lambda builder: rows.emit(builder, node.outputs[0], "dy * (r * inv)", at_target))


def _gradient_of_rows(dy: Variable, dtype: str) -> Operand:
    """One value a row; one gradient for all rows is read again for each."""
    return Operand(dtype, (True, True), axes=(-1, -1), ndim=1) if dy.type.broadcastable[0] else _per_row(dtype)


@lowers(CrossentropySoftmax1HotWithBiasDx)
def lower_crossentropy_softmax_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``dy * (p - onehot(y))``; of a softmax ``-dy * sum(p[j != y])`` at a likely target, which does not cancel."""
    dtype, target = _float_dtype(node), node.inputs[2].type.dtype
    dy, p, _ = node.inputs
    stages = []
    at_target = "(py - 1)"
    if is_softmax(p):
        others = Stmt("o", dtype, "o = (i == (npy_int64)y) ? 0 : q;")
        stages.append(Stage((Load("q", 1),), (others,), reduces=(Reduce("add", dtype, "o", "rest"),), index="i"))
        at_target = f"(py > {LIKELY}f ? -rest : py - 1)"
    stages.append(
        Stage(
            loads=(Load("p", 1),),
            body=(Stmt("d", dtype, "d = dy * p;"),),
            stores=(Store(0, "d"),),
            picks=(Pick(Load("py", 1), "y"),),
            row=(Stmt("dt", dtype, f"dt = dy * {at_target};"),),
            puts=(Put(0, "dt", "y"),),
        )
    )
    _check_targets(builder, node, node.inputs[2], node.inputs[1])
    inputs = [_gradient_of_rows(dy, dtype), _full(dtype), _per_row(target)]
    _emit(builder, node, inputs, [Output(dtype, (0, 1))], stages, (Load("dy", 0), Load("y", 2)))


@lowers(CrossentropyCategorical1Hot)
def lower_crossentropy_categorical(builder: ProgramBuilder, node: Apply) -> None:
    """``-log(p[i, y[i]])``."""
    dtype, target = _float_dtype(node), node.inputs[1].type.dtype
    stage = Stage(
        loads=(Load("p", 0),),
        index="j",
        body=(Stmt("at", dtype, "at = (j == (npy_int64)y) ? p : 0;"),),
        reduces=(Reduce("add", dtype, "at", "pt"),),
        row=(Stmt("nll", dtype, "nll = -log(pt);"),),
        row_stores=(Store(0, "nll"),),
    )
    _check_targets(builder, node, node.inputs[1], node.inputs[0])
    _emit(builder, node, [_full(dtype), _per_row(target)], [Output(dtype, (0,))], [stage], (Load("y", 1),))


@lowers(CrossentropyCategorical1HotGrad)
def lower_crossentropy_categorical_grad(builder: ProgramBuilder, node: Apply) -> None:
    """``-dy / p`` at the target's column, 0 elsewhere."""
    dtype, target = _float_dtype(node), node.inputs[2].type.dtype
    stage = Stage(
        loads=(Load("p", 1),),
        index="j",
        body=(Stmt("d", dtype, "d = (j == (npy_int64)y) ? -dy / p : 0;"),),
        stores=(Store(0, "d"),),
    )
    _check_targets(builder, node, node.inputs[2], node.inputs[1])
    inputs = [_per_row(dtype), _full(dtype), _per_row(target)]
    _emit(builder, node, inputs, [Output(dtype, (0, 1))], [stage], (Load("dy", 0), Load("y", 2)))


def _check_targets(builder: ProgramBuilder, node: Apply, targets: Variable, rows: Variable) -> None:
    """Raise ValueError before anything is computed when a target is no column of the rows."""
    builder.emit(vm.CheckIndex(1, "y_i value out of bounds"), [builder.cell(targets), builder.cell(rows)], [])

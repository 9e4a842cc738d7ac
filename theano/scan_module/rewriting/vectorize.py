"""One operation over all steps instead of one operation a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano.gof.copying import ViewOp
from theano.gof.graph import Apply, Constant, Variable
from theano.raise_op import Assert
from theano.scan_module.rewriting.slices import keeps_all
from theano.scan_module.rewriting.unit import UnitRows, unit_vectors
from theano.tensor import basic as T
from theano.tensor.elemwise import CAReduce, DimShuffle, Elemwise, MaxOrMinusInfinity
from theano.tensor.shapes import Shape, Shape_i, SpecifyShape
from theano.tensor.subtensor import (
    AdvancedIncSubtensor1,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
    get_idx_list,
    inc_subtensor,
)


def _plain(part: Any) -> Any:
    return int(part.data) if isinstance(part, Constant) else part


def first_slice(x: Any) -> Any:
    """The slice of ``y[slice]``, with numbers where it has constants, and `y`; None for anything else."""
    node = x.owner
    if node is None or not isinstance(node.op, Subtensor) or len(node.op.idx_list) != 1:
        return None
    (entry,) = get_idx_list(node.inputs, node.op.idx_list)
    if not isinstance(entry, slice):
        return None
    return slice(_plain(entry.start), _plain(entry.stop), _plain(entry.step)), node.inputs[0]


def is_reversal(x: Any) -> bool:
    """Whether a variable is ``y[::-1]``."""
    cut = first_slice(x)
    return cut is not None and cut[0] == slice(None, None, -1)


def _is_stop(part: Any, n: Any) -> bool:
    """Whether the end of a slice is the scalar `n`."""
    if isinstance(part, Variable) and part.owner is not None and isinstance(part.owner.op, T.ScalarFromTensor):
        part = part.owner.inputs[0]
    if part is n:
        return True
    return isinstance(part, int) and isinstance(n, Constant) and int(n.data) == part


def _is_length_of(n: Any, x: Any) -> bool:
    """Whether the scalar `n` is written as the number of rows of `x`."""
    node = n.owner
    if node is None:
        return False
    if isinstance(node.op, Shape_i):
        return node.op.i == 0 and node.inputs[0] is x
    if isinstance(node.op, Subtensor) and node.op.idx_list and len(node.op.idx_list) == 1:
        shape = node.inputs[0].owner
        index = get_idx_list(node.inputs, node.op.idx_list)[0]
        value = index.data if isinstance(index, Constant) else index
        return shape is not None and isinstance(shape.op, Shape) and shape.inputs[0] is x and not isinstance(
            value, (slice, Variable)
        ) and int(value) == 0
    return False


def _is_tap_of_state(entry: slice, x: Any, n: Any) -> bool:
    """Whether a slice of a Scan's output `x`, with all rows, is a state at one tap for each of `n` steps."""
    node = x.owner
    op = node.op if node is not None else None
    if not hasattr(op, "mintaps") or op.as_while or node.inputs[0] is not n or x.index >= op.n_outs or entry.step is not None:
        return False
    start, stop = (0 if end is None else end for end in (entry.start, entry.stop))
    if isinstance(start, Variable) or isinstance(stop, Variable):
        return False
    n_initial = -op.mintaps[x.index]
    if x.index < op.n_mit_mot or not start >= 0 >= stop or start - stop != n_initial:
        return False
    return keeps_all(node.inputs[op.seqs_arg_offset + x.index], n_initial, n)


def _is_tap_of_sequence(entry: slice, x: Any, n: Any) -> bool:
    """Whether `n` is written as the length of a slice of `x` without some rows at its ends."""
    start, stop = (0 if end is None else end for end in (entry.start, entry.stop))
    if isinstance(start, Variable) or isinstance(stop, Variable) or entry.step is not None or not start >= 0 >= stop:
        return False
    node = n.owner
    if node is None or not isinstance(node.op, Elemwise) or node.op.scalar_op != T.sub.scalar_op:
        return False
    try:
        missing = int(T.get_scalar_constant_value(node.inputs[1]))
    except T.NotScalarConstantError:
        return False
    return missing == start - stop and _is_length_of(node.inputs[0], x)


def has_enough(x: Any, n: Any) -> bool:
    """Whether it is evident that `x` has at least `n` rows."""
    terms = [n]
    while terms:
        term = terms.pop()
        if has_length(x, term):
            return True
        node = term.owner
        if node is not None and isinstance(node.op, Elemwise) and node.op.scalar_op == T.minimum.scalar_op:
            terms.extend(node.inputs)
    return False


def has_length(x: Any, n: Any) -> bool:
    """Whether it is evident that `x` has `n` rows, given that it has at least as many."""
    while True:
        if getattr(x.tag, "scan_length", None) is n or _is_length_of(n, x):
            return True
        cut = first_slice(x)
        if cut is None:
            node = x.owner
            if node is not None and hasattr(node.op, "outer_nitsot_outs"):
                outs = node.op.outer_nitsot_outs(node)
                return any(out is x and length is n for out, length in zip(outs, node.op.outer_nitsot(node), strict=True))
            return False
        entry, base = cut
        if entry.step is None and entry.start is None and _is_stop(entry.stop, n):
            return True
        if _is_tap_of_state(entry, base, n) or _is_tap_of_sequence(entry, base, n):
            return True
        if not is_reversal(x):
            return False
        x = base


_check = Assert("A sequence is shorter than the required number of steps, or their number is negative.")


def aligned(x: Any, n: Any) -> Any:
    """The first `n` rows of `x`; it is an error if there are fewer, or if `n` is negative."""
    cut = first_slice(x)
    if cut is not None and cut[0].start is None and cut[0].step is None and _is_stop(cut[0].stop, n):
        if has_length(cut[1], n):
            return cut[1]
        if has_enough(cut[1], n):
            return x
        x = cut[1]
    elif has_length(x, n):
        return x
    if has_enough(x, n):
        return x[:n]
    rows = _check(x, T.ge(x.shape[0], n), T.ge(n, 0))[:n]
    rows.tag.scan_length = n
    return rows


class Stacked:
    """Values of a step's variables at all steps, along a new first dimension.

    Parameters
    ----------
    n_steps
        Number of steps.

    Attributes
    ----------
    same
        What is the same at all steps: from a variable of the step to the outer one.
    rows
        From a variable of the step to its values at all steps, and whether these stand in the opposite order.
    """

    def __init__(self, n_steps: Any):
        self.n_steps = n_steps
        self.same: dict[Variable, Any] = {}
        self.rows: dict[Variable, tuple[Any, bool]] = {}
        # Vectors that are zero but for one element: where that is and what it is, at all steps.
        self.unit: dict[Variable, UnitRows] = {}

    def add_rows(self, inner: Variable, outer: Any) -> None:
        """Say that a variable of the step takes the values of the rows of an outer one."""
        cut = first_slice(outer)
        base = outer
        if cut is not None and cut[0].start is None and cut[0].step is None and _is_stop(cut[0].stop, self.n_steps):
            base = cut[1]
        if is_reversal(base) and has_length(base.owner.inputs[0], self.n_steps):
            self.rows[inner] = (base.owner.inputs[0], True)
        else:
            self.rows[inner] = (aligned(outer, self.n_steps), False)

    def set_rows(self, v: Any, result: Any, backwards: bool = False) -> bool:
        """Say what the values of `v` at all steps are, if `result` has the right type; says whether it had."""
        wanted = (False, *v.type.broadcastable)
        if result.type.ndim != len(wanted) or result.type.dtype != v.type.dtype:
            return False
        if result.type.broadcastable != wanted:
            result = T.patternbroadcast(result, wanted)
        # Other loops over these rows need not cut them.
        result.tag.scan_length = self.n_steps
        self.rows[v] = (result, backwards)
        return True

    def stacked(self, v: Variable) -> Any:
        """The values at all steps, first step first."""
        value, backwards = self.rows[v]
        return value[::-1] if backwards else value

    def is_constant(self, v: Variable) -> bool:
        """Whether a variable is the same at all steps."""
        return v in self.same or isinstance(v, Constant)

    def constant(self, v: Variable) -> Any:
        """The outer variable of what is the same at all steps."""
        if isinstance(v, Constant) and v not in self.same:
            # The step keeps its own: a variable belongs to one graph only.
            self.same[v] = v.clone()
        return self.same[v]

    def knows(self, node: Apply) -> bool:
        """Whether the outputs of a node are known at all steps."""
        return all(v in self.rows or v in self.unit or self.is_constant(v) for v in node.outputs)

    def apply(self, node: Apply) -> bool:
        """Compute the outputs of a node at all steps, if there is a way; says whether there was."""
        if all(self.is_constant(v) for v in node.inputs):
            if not is_pure(node.op):
                return False
            new = node.clone_with_new_inputs([self.constant(v) for v in node.inputs])
            self.same.update(zip(node.outputs, new.outputs, strict=True))
            # What is made of constants alone is for constant folding.
            return not all(isinstance(v, Constant) for v in node.inputs)
        if isinstance(node.op, (Shape_i, Shape)) and node.inputs[0] in self.rows:
            rows = self.rows[node.inputs[0]][0]
            if isinstance(node.op, Shape_i):
                self.same[node.outputs[0]] = Shape_i(node.op.i + 1)(rows)
            else:
                self.same[node.outputs[0]] = rows.shape[1:]
            return True
        if isinstance(node.op, T.ScalarFromTensor) and node.inputs[0] in self.rows:
            self.rows[node.outputs[0]] = self.rows[node.inputs[0]]
            return True
        if unit_vectors(self, node):
            return True
        if isinstance(node.op, T.MaxAndArgmax) and node.inputs[0] in self.rows:
            (x,) = node.inputs
            results = T.max_and_argmax(self.stacked(x), axis=[a + 1 for a in node.op.axis if a < x.type.ndim])
            return all(self.set_rows(v, result) for v, result in zip(node.outputs, results, strict=True))
        for v in node.inputs:
            if v in self.unit and v not in self.rows:
                self.rows[v] = (self.unit[v].rows(), False)
        if len(node.outputs) != 1:
            return False
        rule = next((_RULES[c] for c in type(node.op).__mro__ if c in _RULES), None)
        if rule is None:
            return False
        if not all(v in self.rows or self.is_constant(v) for v in node.inputs):
            return False
        directions = {self.rows[v][1] for v in node.inputs if v in self.rows}
        backwards = directions == {True}
        values = {v: (self.rows[v][0] if backwards else self.stacked(v)) for v in node.inputs if v in self.rows}
        result = rule(self, node, values)
        if result is None:
            return False
        return self.set_rows(node.outputs[0], result, backwards)


def is_pure(op: Any) -> bool:
    """Whether it does not matter how often an Op runs."""
    from theano.printing import Print

    return not getattr(op, "destroy_map", None) and not isinstance(op, Print)


def _elemwise(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    if node.op.inplace_pattern:
        return None
    inputs = []
    for v in node.inputs:
        if v in values:
            inputs.append(values[v])
        else:
            constant = stacked.constant(v)
            inputs.append(constant.dimshuffle("x", *range(constant.type.ndim)))
    return node.op(*inputs)


def _dimshuffle(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    order = [o if o == "x" else o + 1 for o in node.op.new_order]
    return values[node.inputs[0]].dimshuffle(0, *order)


def _reduction(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    from theano.tensor.rewriting.terms import changed

    (x,) = node.inputs
    return changed(node.op, axis=tuple(a + 1 for a in node.op.reduced_axes(x.type.ndim)))(values[x])


def _dot(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    """``dot(x_t, W)`` as one product of the rows of all steps; with both varying, a batch of products."""
    a, b = node.inputs
    if a in values and b in values:
        x, y = values[a], values[b]
        if a.type.ndim == b.type.ndim == 1:
            return (x * y).sum(axis=1)
        if a.type.ndim == 1:
            return T.batched_dot(x.dimshuffle(0, "x", 1), y)[:, 0]
        if b.type.ndim == 1:
            return T.batched_dot(x, y.dimshuffle(0, 1, "x"))[:, :, 0]
        return T.batched_dot(x, y)
    if a in values:
        x, w = values[a], stacked.constant(b)
        if a.type.ndim == 1:
            return T.dot(x, w)
        flat = T.dot(x.reshape((x.shape[0] * x.shape[1], x.shape[2])), w)
        shape = [x.shape[0], x.shape[1]] + ([flat.shape[1]] if b.type.ndim == 2 else [])
        return flat.reshape(shape, ndim=len(shape))
    w, y = stacked.constant(a), values[b]
    if b.type.ndim == 1:
        return T.dot(y, w.T) if a.type.ndim == 2 else T.dot(y, w)
    # (w @ y_t).T = y_t.T @ w.T
    turned = y.dimshuffle(0, 2, 1)
    flat = T.dot(turned.reshape((turned.shape[0] * turned.shape[1], turned.shape[2])), w.T if a.type.ndim == 2 else w)
    if a.type.ndim == 1:
        return flat.reshape((turned.shape[0], turned.shape[1]))
    return flat.reshape((turned.shape[0], turned.shape[1], flat.shape[1])).dimshuffle(0, 2, 1)


def _subtensor(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    """``x_t[i]`` as ``x[:, i]``, and ``w[i_t]`` as ``w[i]`` with a vector of integers."""
    x = node.inputs[0]
    entries = get_idx_list(node.inputs, node.op.idx_list)
    if x in values:
        outer = []
        for entry in entries:
            parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
            if any(isinstance(p, Variable) and not stacked.is_constant(p) for p in parts):
                return None
            mapped = [stacked.constant(p) if isinstance(p, Variable) else p for p in parts]
            outer.append(slice(*mapped) if isinstance(entry, slice) else mapped[0])
        return values[x][(slice(None), *outer)]
    if len(entries) != 1 or isinstance(entries[0], slice):
        return None
    rows = values.get(entries[0])
    if rows is None or rows.type.ndim != 1:
        return None
    return stacked.constant(x)[rows]


def _inc_subtensor(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    """``inc_subtensor(x_t[i], y_t)`` as ``inc_subtensor(x[:, i], y)``."""
    x, y = node.inputs[:2]
    if any(v in values for v in node.inputs[2:]):
        return None
    like = next(iter(values.values()))
    if x in values:
        rows = values[x]
    else:
        constant = stacked.constant(x)
        rows = T.alloc(constant, like.shape[0], *(constant.shape[k] for k in range(constant.ndim)))
    outer = []
    for entry in get_idx_list((None, *node.inputs[2:]), node.op.idx_list):
        parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
        mapped = [stacked.constant(p) if isinstance(p, Variable) else p for p in parts]
        outer.append(slice(*mapped) if isinstance(entry, slice) else mapped[0])
    place = rows[(slice(None), *outer)]
    added = values[y] if y in values else stacked.constant(y).dimshuffle("x", *range(y.type.ndim))
    missing = place.ndim - added.ndim
    if missing:
        added = added.dimshuffle(0, *["x"] * missing, *range(1, added.ndim))
    return inc_subtensor(place, added, set_instead_of_inc=node.op.set_instead_of_inc)


def _take(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    """``w[i_t]`` with a vector `i_t` as one selection of rows."""
    x, index = node.inputs
    if x in values or index not in values:
        return None
    rows, w = values[index], stacked.constant(x)
    flat = w[rows.flatten()]
    return flat.reshape([rows.shape[0], rows.shape[1], *(flat.shape[k] for k in range(1, flat.ndim))], ndim=1 + flat.ndim)


def _reshape(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    x, shape = node.inputs
    if x not in values or not stacked.is_constant(shape):
        return None
    rows, outer = values[x], stacked.constant(shape)
    return rows.reshape([rows.shape[0], *(outer[k] for k in range(node.op.ndim))], ndim=node.op.ndim + 1)


def _by_rows(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    """An Op that treats each row of its matrices alike, on the rows of all steps."""
    if any(v.type.ndim == 2 and v not in values or v.type.ndim != 2 and v in values for v in node.inputs):
        return None
    flat = {v: x.reshape((x.shape[0] * x.shape[1], x.shape[2])) for v, x in values.items()}
    result = node.op(*(flat[v] if v in flat else stacked.constant(v) for v in node.inputs))
    return result.reshape(values[node.inputs[0]].shape)


def _softmax_gradient(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    """The gradient of one softmax in several directions, as those of a Jacobian are; else row by row."""
    from theano.tensor.nnet.softmax import LogSoftmaxGrad, is_softmax, logsoftmax_grad_graph, softmax_grad_graph

    dy, sm = node.inputs
    if sm in values or dy not in values or dy.type.dtype != sm.type.dtype:
        return _by_rows(stacked, node, values)
    rows, probabilities = values[dy], stacked.constant(sm)
    of_logarithm = isinstance(node.op, LogSoftmaxGrad)
    if is_softmax(probabilities):
        return (logsoftmax_grad_graph if of_logarithm else softmax_grad_graph)(rows, probabilities)
    if of_logarithm:
        return rows - rows.sum(axis=2, keepdims=True) * probabilities
    return (rows - (rows * probabilities).sum(axis=2, keepdims=True)) * probabilities


def _join(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    axis = node.inputs[0]
    if not isinstance(axis, Constant):
        return None
    like = next(iter(values.values()))
    parts = []
    for v in node.inputs[1:]:
        if v in values:
            parts.append(values[v])
        else:
            constant = stacked.constant(v)
            parts.append(T.alloc(constant, like.shape[0], *(constant.shape[k] for k in range(constant.ndim))))
    ndim = node.outputs[0].type.ndim
    return T.join(int(axis.data) % ndim + 1, *parts)


def _alloc(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    value, *dims = node.inputs
    if value not in values or not all(map(stacked.is_constant, dims)):
        return None
    rows = values[value]
    missing = len(dims) - value.type.ndim
    rows = rows.dimshuffle(0, *["x"] * missing, *range(1, rows.type.ndim))
    return T.alloc(rows, rows.shape[0], *map(stacked.constant, dims))


def _assert(stacked: Stacked, node: Apply, values: dict[Variable, Any]) -> Any:
    """What is checked at all steps is checked once, if it is the same."""
    x, *conditions = node.inputs
    if x not in values or not all(map(stacked.is_constant, conditions)):
        return None
    return node.op(values[x], *map(stacked.constant, conditions))


_Rule = Callable[[Stacked, Apply, dict[Variable, Any]], Any]


def _rules() -> dict[type, _Rule]:
    from theano.tensor.nnet.softmax import LogSoftmax, LogSoftmaxGrad, Softmax, SoftmaxGrad, SoftmaxWithBias

    return {
        Elemwise: _elemwise,
        DimShuffle: _dimshuffle,
        CAReduce: _reduction,
        MaxOrMinusInfinity: _reduction,
        T.Dot: _dot,
        Subtensor: _subtensor,
        IncSubtensor: _inc_subtensor,
        AdvancedSubtensor1: _take,
        T.Reshape: _reshape,
        T.Join: _join,
        T.Alloc: _alloc,
        Assert: _assert,
        Softmax: _by_rows,
        LogSoftmax: _by_rows,
        LogSoftmaxGrad: _softmax_gradient,
        SoftmaxGrad: _softmax_gradient,
        SoftmaxWithBias: _by_rows,
    }


_RULES: dict[type, _Rule] = _rules()


# The result has the shape of the first argument.
_LIKE_FIRST = (IncSubtensor, AdvancedIncSubtensor1, T.Rebroadcast, SpecifyShape, ViewOp)


def of_one_shape(loop: Any) -> set[Variable]:
    """Variables of a step that evidently have the same shape at all steps."""
    same = {arg.inner for arg in loop.args}
    found = set(loop.inner_inputs)
    for node in loop.inner_nodes:
        if isinstance(node.op, _LIKE_FIRST):
            if node.inputs[0] in found or isinstance(node.inputs[0], Constant):
                found.update(node.outputs)
            continue
        if not any(c in _RULES for c in type(node.op).__mro__):
            continue
        slices = isinstance(node.op, Subtensor) and any(isinstance(entry, slice) for entry in node.op.idx_list)
        decide = node.inputs[1:] if slices or isinstance(node.op, (T.Reshape, T.Alloc)) else []
        shaped = [v for v in node.inputs if v not in decide and hasattr(v.type, "broadcastable")]
        if all(isinstance(v, Constant) or v in same for v in decide):
            if all(isinstance(v, Constant) or v in found for v in shaped):
                found.update(node.outputs)
    return found

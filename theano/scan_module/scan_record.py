"""Which values of a forward step its gradient should find recorded instead of computing them again.

What a backward step needs of the forward one are functions of the forward step's inputs: of states, which are kept
anyway, and of what was computed from them. Of these, results of products, reductions, transcendental functions and the
like are worth their memory; sums and products of elements, views and shapes are not, and are computed again from the
nearest values that are there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from theano import scalar
from theano.compile.ops import Rebroadcast, Shape, Shape_i, SpecifyShape, ViewOp
from theano.gof import traverse
from theano.gof.graph import Apply, Constant, Variable
from theano.ifelse import IfElse
from theano.tensor.type import TensorType

__all__ = ["values_to_record"]

_COSTLY_SCALARS = (
    scalar.Exp, scalar.Exp2, scalar.Expm1, scalar.Log, scalar.Log2, scalar.Log10, scalar.Log1p, scalar.Tanh,
    scalar.Sinh, scalar.Cosh, scalar.Sin, scalar.Cos, scalar.Tan, scalar.ArcSin, scalar.ArcCos, scalar.ArcTan,
    scalar.ArcSinh, scalar.ArcCosh, scalar.ArcTanh,
)  # fmt: skip


def values_to_record(op: Any, expressions: Sequence[Any], kept: Collection[Any]) -> dict[Any, list[Any]]:
    """Choose values that the gradient of a step takes from the forward loop, beside those that are at hand.

    Parameters
    ----------
    op : Scan
        The forward loop.
    expressions : list of Variable
        What a backward step computes, over the inner inputs of `op` and gradients.
    kept
        Variables of the inner graph whose values are at hand.

    Returns
    -------
    dict
        For each chosen value, a function of the inner inputs, all variables that are computed in the same way; and the
        same for each variable of `kept`.

    Examples
    --------
    The gradient of ``h = tanh(dot(h, w))[:n]`` is a function of the tanh, which ``h`` is only a part of:

    >>> import theano.tensor as T
    >>> from theano.scan_module.scan_op import Scan
    >>> h, w, dh = T.vector("h"), T.matrix("w"), T.vector("dh")
    >>> y = T.tanh(T.dot(h, w))
    >>> op = Scan([h, w], [y[:3]], {"n_sit_sot": 1, "tap_array": [[-1]]})
    >>> [v.owner.op.scalar_op.name for v in values_to_record(op, [dh * (1 - T.tanh(T.dot(h, w))**2)], [])]
    ['tanh']
    """
    kept = set(kept)
    equal, classes = _equal_values(op, expressions)
    at_hand = {equal.get(v, v) for v in kept}
    states = {equal.get(v, v) for v in op.inputs[op.n_seqs : op._inner_in_bounds()[4]]}
    primal: set[Any] = set(op.inputs) | kept
    changing: set[Any] = states | at_hand
    frontier: dict[Any, None] = {}
    for node in traverse.io_toposort(primal, expressions):
        if all(v in primal or isinstance(v, Constant) for v in node.inputs):
            primal.update(node.outputs)
            if any(equal.get(v, v) in changing for v in node.inputs):
                changing.update(equal.get(v, v) for v in node.outputs)
        else:
            frontier.update((equal.get(v, v), None) for v in node.inputs if v in primal)
    frontier.update((equal.get(v, v), None) for v in expressions if v in primal)

    chosen: dict[Any, list[Any]] = {v: classes.get(equal.get(v, v), [v]) for v in kept}
    seen: set[Any] = set()
    todo = list(frontier)
    while todo:
        v = todo.pop()
        if v in seen or v in at_hand or v.owner is None or v not in changing:
            continue
        seen.add(v)
        if isinstance(v.type, TensorType) and _is_costly(v.owner):
            chosen[v] = classes.get(v, [v])
        elif not isinstance(v.owner.op, IfElse):
            todo.extend(equal.get(i, i) for i in v.owner.inputs)
    return chosen


def _equal_values(op: Any, expressions: Sequence[Any]) -> tuple[dict[Any, Any], dict[Any, list[Any]]]:
    """The first of all variables that are computed in the same way, and all that are equal to it."""
    first: dict[Any, Any] = {}
    equal: dict[Any, Any] = {}
    classes: dict[Any, list[Any]] = {}

    def name(v: Variable) -> Any:
        return v.signature() if isinstance(v, Constant) else equal.get(v, v)

    for node in traverse.io_toposort(op.inputs, [*op.outputs, *expressions]):
        known = first.setdefault((node.op, *map(name, node.inputs)), node)
        for v, representative in zip(node.outputs, known.outputs, strict=True):
            equal[v] = representative
            classes.setdefault(representative, []).append(v)
    return equal, classes


def _is_costly(node: Apply) -> bool:
    """Whether to read a result again is cheaper than to compute it again."""
    from theano import tensor
    from theano.scan_module.scan_op import Scan
    from theano.tensor.elemwise import DimShuffle, Elemwise
    from theano.tensor.nnet.sigm import ScalarSigmoid, ScalarSoftplus

    op = node.op
    if isinstance(op, Elemwise):
        if isinstance(op.scalar_op, scalar.Pow):
            exponent = node.inputs[1]
            while exponent.owner is not None and isinstance(exponent.owner.op, DimShuffle):
                exponent = exponent.owner.inputs[0]
            return not isinstance(exponent, Constant)
        return isinstance(op.scalar_op, (*_COSTLY_SCALARS, ScalarSigmoid, ScalarSoftplus))
    if isinstance(op, tensor.Dot):
        # An outer product is larger than what it is made of.
        x = node.inputs[0]
        return not (x.type.ndim == 2 and x.type.broadcastable[1])
    # Results of inner loops are as long as these, and whoever nests loops to save memory computes them again.
    cheap = (
        Scan, IfElse, DimShuffle, Rebroadcast, Shape, Shape_i, SpecifyShape, ViewOp, tensor.Alloc, tensor.AllocEmpty,
        tensor.MakeVector, tensor.TensorFromScalar, tensor.ScalarFromTensor, tensor.Subtensor, tensor.IncSubtensor,
        tensor.Reshape, tensor.Join, tensor.Split, tensor.ARange, tensor.Eye,
    )  # fmt: skip
    return not isinstance(op, cheap)

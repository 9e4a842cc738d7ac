"""The gradient of arguments that a step only uses a function of.

A step that computes ``dot(h, U[:, :n])`` uses the same part of ``U`` each time. Were its gradient taken step by step, each
would add a matrix of the size of ``U``, most of it zero. Here the function of the argument is taken out of the step before
the loop is differentiated, so that the gradient of its value is summed up by the loop, and that of the argument follows
once, from the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano import tensor
from theano.gof import traverse
from theano.gof.graph import Constant
from theano.gof.null_type import NullType
from theano.gradient_types import DisconnectedType
from theano.scan_module.rewriting.loop import substitute
from theano.tensor.type import TensorType


def hoistable(op: Any) -> list[Any]:
    """Values in a step that depend on nothing but its other arguments and that have gradients.

    Parameters
    ----------
    op : Scan

    Returns
    -------
    list of Variable
        Variables of the inner graph: the last ones of such computations.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.scan_module.scan_op import Scan
    >>> h, u = T.vector("h"), T.matrix("u")
    >>> part = u[:, :3]
    >>> hoistable(Scan([h, u], [T.dot(h, part)], {"n_sit_sot": 1, "tap_array": [[-1]]})) == [part]
    True
    """
    fixed = set(op.inner_non_seqs(op.inputs))
    needed: dict[Any, None] = {}
    for node in traverse.io_toposort(op.inputs, op.outputs):
        if all(v in fixed or isinstance(v, Constant) for v in node.inputs) and not isinstance(node.op, tensor.Alloc):
            if any(v in fixed for v in node.inputs):
                fixed.update(node.outputs)
        else:
            needed.update((v, None) for v in node.inputs if v in fixed)
    needed.update((v, None) for v in op.outputs if v in fixed)
    return [
        v
        for v in needed
        if v.owner is not None and isinstance(v.type, TensorType) and v.type.dtype.startswith(("float", "complex"))
    ]


def gradients_by_hoisting(
    op: Any, inputs: Sequence[Any], differentiate: Callable[[Any, list[Any]], list[Any]]
) -> list[Any] | None:
    """Gradients of the outer inputs of a Scan, by way of another Scan over what is `hoistable`.

    Parameters
    ----------
    op : Scan
    inputs : list of Variable
        Its outer inputs.
    differentiate : callable
        ``differentiate(op, inputs)`` gives the gradients of the outer inputs of the other Scan.

    Returns
    -------
    list of Variable or None
        None where there is nothing to take out.
    """
    values = hoistable(op)
    if not values:
        return None
    inner, outer = op.inner_non_seqs(op.inputs), op.outer_non_seqs(inputs)
    outside = dict(zip(inner, outer, strict=True))
    taken_out = substitute([], values, outside)
    stand_ins = [v.type() for v in values]
    for new, v in zip(stand_ins, values, strict=True):
        new.name = v.name
    outputs = substitute([], op.outputs, dict(zip(values, stand_ins, strict=True)))
    info = {**op.info, "destroy_map": {}, "inplace": False}
    found = differentiate(type(op)([*op.inputs, *stand_ins], outputs, info), [*inputs, *taken_out])
    gradients, of_values = found[: len(inputs)], found[len(inputs) :]
    if any(isinstance(g.type, NullType) for g in of_values):
        return None
    known = {v: g for v, g in zip(values, of_values, strict=True) if not isinstance(g.type, DisconnectedType)}
    if known:
        first = len(inputs) - len(inner)
        for k, term in enumerate(_through_values(inner, known, outside)):
            if term is not None:
                so_far = gradients[first + k]
                alone = isinstance(so_far.type, (DisconnectedType, NullType))
                gradients[first + k] = so_far if isinstance(so_far.type, NullType) else term if alone else so_far + term
    return gradients


def _through_values(inner: list[Any], known: dict[Any, Any], outside: dict[Any, Any]) -> list[Any]:
    """From the gradients of values to those of the arguments that they are computed from; None for the others."""
    from theano.gradient import grad

    names = {v: v.type() for v in known}
    # A known gradient is the whole gradient of a variable; one value may be made from another, which then has a share more.
    ends = {tensor.tensor_copy(v): name for v, name in names.items()}
    wrt = [v for v in inner if isinstance(v.type, TensorType) and v.type.dtype.startswith(("float", "complex"))]
    terms = grad(None, wrt, known_grads=ends, disconnected_inputs="ignore", return_disconnected="Disconnected",
                 null_gradients="return", add_names=False)
    replace = {**outside, **{names[v]: gradient for v, gradient in known.items()}}
    connected = {v: t for v, t in zip(wrt, terms, strict=True) if not isinstance(t.type, DisconnectedType)}
    plain = [v for v, t in connected.items() if not isinstance(t.type, NullType)]
    connected.update(zip(plain, substitute([], [connected[v] for v in plain], replace), strict=True))
    return [connected.get(v) for v in inner]

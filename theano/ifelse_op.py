"""The lazy conditional: computes only the branch that the condition selects."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from theano import tensor
from theano.configdefaults import config
from theano.gof import Apply, PureOp, Variable
from theano.gof.null_type import NullType
from theano.gradient_types import DisconnectedType
from theano.scalar import upcast


class IfElse(PureOp):
    """Choose between two groups of variables by a scalar condition.

    Takes the condition, `n_outs` variables for the true case and `n_outs` for the false case,
    and returns those of the case that holds. A lazy machine computes no others.

    Parameters
    ----------
    n_outs : int
        Number of variables in each group.
    as_view : bool
        Whether the outputs are the chosen variables themselves instead of copies.
    gpu : bool
        Accepted for the sake of the original's signature, without effect.
    name : str, optional
        Shown in printed graphs.

    See Also
    --------
    theano.tensor.switch : Return `ift` where `cond` is true, `iff` elsewhere: ``switch(cond, ift, iff)``.
    theano.ifelse.ifelse : Return one of two (groups of) variables, computing only that one.
    theano.ifelse.CondMerge : ``ifelse(c, a, b), ifelse(c, d, e) -> ifelse(c, [a, d], [b, e])``.

    Notes
    -----
    Use :func:`ifelse`, which converts its arguments.

    Examples
    --------
    >>> import theano
    >>> c, x, y = theano.tensor.dscalars("cxy")
    >>> smaller, larger = IfElse(n_outs=2)(c, x, y, y, x)
    >>> f = theano.function([c, x, y], [smaller, larger])
    >>> [float(value) for value in f(0, 7, 3)]
    [3.0, 7.0]
    """

    __props__ = ("as_view", "gpu", "n_outs")
    #: The inputs after the first are needed only where they are chosen.
    chooses_branch = True

    def __init__(self, n_outs: int, as_view: bool = False, gpu: bool = False, name: str | None = None):
        if as_view:
            # An output is one of two inputs; which one is known only when it is chosen.
            self.view_map = {i: [i + 1, i + 1 + n_outs] for i in range(n_outs)}
        self.as_view = as_view
        self.n_outs = n_outs
        self.gpu = gpu
        self.name = name

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self.as_view == other.as_view  # type: ignore[attr-defined]
            and self.gpu == other.gpu  # type: ignore[attr-defined]
            and self.n_outs == other.n_outs  # type: ignore[attr-defined]
        )

    def __hash__(self) -> int:
        return hash((type(self), self.as_view, self.gpu, self.n_outs))

    def __str__(self) -> str:
        args = []
        if self.name is not None:
            args.append(self.name)
        if self.as_view:
            args.append("inplace")
        if self.gpu:
            args.append("gpu")
        return f"if{{{','.join(args)}}}"

    def make_node(self, c: Any, *args: Any) -> Apply:
        if len(args) != 2 * self.n_outs:
            raise TypeError(f"Wrong number of arguments to make_node: expected {2 * self.n_outs}, got {len(args)}")
        c = tensor.as_tensor_variable(c)
        if c.type.ndim != 0:
            raise TypeError(f"The condition of ifelse must be a scalar, not {c.type}")
        args = tuple(arg if isinstance(arg, Variable) else tensor.as_tensor_variable(arg) for arg in args)
        then, orelse = args[: self.n_outs], args[self.n_outs :]
        outputs = []
        for t, f in zip(then, orelse):
            if t.type != f.type:
                raise TypeError(
                    f"IfElse requires same types for true and false return values: {t} {t.type}, {f} {f.type}"
                )
            outputs.append(t.type())
        return Apply(self, [c, *args], outputs)

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        """Shapes that are equal in both branches pass; the others are chosen by the condition."""
        then = input_shapes[1 : 1 + self.n_outs]
        orelse = input_shapes[1 + self.n_outs :]
        new_inputs: list[list[Any]] = [[], []]
        for t, f in zip(then, orelse):
            if t is None or f is None:
                continue
            for a, b in zip(t, f):
                if a is not b:
                    new_inputs[0].append(tensor.as_tensor_variable(a))
                    new_inputs[1].append(tensor.as_tensor_variable(b))
        chosen: list[Any] = []
        if new_inputs[0]:
            same_type = [
                (a, b) if a.type == b.type else (tensor.cast(a, "int64"), tensor.cast(b, "int64"))
                for a, b in zip(*new_inputs)
            ]
            op = IfElse(n_outs=len(same_type), as_view=False)
            chosen = op(node.inputs[0], *[a for a, _ in same_type], *[b for _, b in same_type], return_list=True)
        result: list[Any] = []
        remaining = iter(chosen)
        for t, f in zip(then, orelse):
            if t is None or f is None:
                result.append(None)
            else:
                result.append(tuple(a if a is b else next(remaining) for a, b in zip(t, f)))
        return result

    def grad(self, inputs: Sequence[Variable], output_gradients: Sequence[Variable]) -> list[Any]:
        """Each branch gets the gradient if it was chosen, else zeros."""
        n = self.n_outs
        given: list[int] = []
        # What is no number passes to both branches as it is.
        result: list[Any] = [None] * (2 * n)
        for i, g in enumerate(output_gradients):
            if isinstance(g.type, (DisconnectedType, NullType)):
                result[i] = result[n + i] = g.type()
            else:
                given.append(i)
        for i in [i for i in given if getattr(inputs[1 + i].type, "dtype", None) in tensor.discrete_dtypes]:
            # Whole numbers do not change by a little.
            given.remove(i)
            for k in (i, n + i):
                result[k] = tensor.zeros_like(inputs[1 + k], dtype=config.floatX)
        if given:
            grads = [output_gradients[i] for i in given]
            for branch, suffix in ((0, "_grad_t"), (1, "_grad_f")):
                zeros = [_zeros(inputs[1 + branch * n + i], g) for i, g in zip(given, grads)]
                name = f"{self.name}{suffix}" if self.name is not None else None
                op = IfElse(n_outs=len(given), as_view=self.as_view, gpu=self.gpu, name=name)
                sides = (grads, zeros) if branch == 0 else (zeros, grads)
                for i, value in zip(given, op(inputs[0], *_alike(*sides), return_list=True)):
                    result[branch * n + i] = value
        # A small enough change of what the condition is computed from selects the same branch.
        condition_grad = tensor.zeros_like(inputs[0], dtype=config.floatX)
        return [condition_grad, *result]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        n = self.n_outs
        pattern = [[True] * n]
        for _ in range(2):
            pattern.extend([i == j for j in range(n)] for i in range(n))
        return pattern

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Any]) -> Any:
        n = self.n_outs
        pairs: list[Any] = []
        for i in range(n):
            t, f = eval_points[1 + i], eval_points[1 + n + i]
            if t is None and f is None:
                pairs.append(None)
            else:
                pairs.append(
                    (
                        tensor.zeros_like(inputs[1 + i]) if t is None else t,
                        tensor.zeros_like(inputs[1 + n + i]) if f is None else f,
                    )
                )
        known = [pair for pair in pairs if pair is not None]
        if not known:
            return [None] * n
        op = IfElse(n_outs=len(known), as_view=self.as_view, gpu=self.gpu, name=self.name)
        chosen = iter(op(inputs[0], *_alike([t for t, _ in known], [f for _, f in known]), return_list=True))
        return [None if pair is None else next(chosen) for pair in pairs]

    def make_thunk(
        self, node: Apply, storage_map: dict, compute_map: dict, no_recycling: Any, impl: str | None = None
    ) -> Any:
        condition = node.inputs[0]
        n = self.n_outs
        branches = {True: node.inputs[1 : 1 + n], False: node.inputs[1 + n :]}
        first_index = {True: 1, False: 1 + n}
        outputs = node.outputs
        as_view = self.as_view

        def thunk() -> list[int]:
            if not compute_map[condition][0]:
                return [0]
            truth = bool(storage_map[condition][0])
            chosen = branches[truth]
            missing = [
                first_index[truth] + i for i, var in enumerate(chosen) if not compute_map[var][0]
            ]
            if missing:
                return missing
            for out, var in zip(outputs, chosen):
                value = storage_map[var][0]
                compute_map[out][0] = True
                storage_map[out][0] = value if as_view else _copied(value, storage_map[out][0])
            return []

        thunk.lazy = True  # type: ignore[attr-defined]
        thunk.inputs = [storage_map[var] for var in node.inputs]  # type: ignore[attr-defined]
        thunk.outputs = [storage_map[var] for var in node.outputs]  # type: ignore[attr-defined]
        return thunk

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list]) -> None:
        """Choose between values that were all computed."""
        n = self.n_outs
        chosen = inputs[1 : 1 + n] if inputs[0] else inputs[1 + n :]
        for cell, value in zip(output_storage, chosen):
            cell[0] = value if self.as_view else _copied(value, cell[0])


def _zeros(var: Any, gradient: Any) -> Variable:
    """Zeros of the shape of `var`; the gradient of an integer variable is a float."""
    if hasattr(var.type, "broadcastable") and hasattr(gradient.type, "dtype"):
        return tensor.zeros_like(var, dtype=gradient.type.dtype)
    return var.zeros_like()


def _copied(value: Any, old: Any) -> Any:
    """A copy of `value`, in the memory of `old` where that fits."""
    if isinstance(value, np.ndarray):
        if (
            isinstance(old, np.ndarray)
            and old.shape == value.shape
            and old.dtype == value.dtype
            and old.flags.writeable
            and not np.may_share_memory(old, value)
        ):
            np.copyto(old, value)
            return old
        return value.copy()
    return deepcopy(value)


def _alike(then: Sequence[Any], orelse: Sequence[Any]) -> list[Any]:
    """Both groups one after the other, pairs of different types brought to a common type."""
    pairs = [_same_type(t, f) for t, f in zip(then, orelse)]
    return [t for t, _ in pairs] + [f for _, f in pairs]


def _same_type(then: Variable, orelse: Variable) -> tuple[Variable, Variable]:
    if then.type == orelse.type:
        return then, orelse
    then_type, orelse_type = then.type, orelse.type
    if hasattr(then_type, "broadcastable") and hasattr(orelse_type, "broadcastable"):
        if then_type.ndim == orelse_type.ndim:
            if then_type.dtype != orelse_type.dtype:
                dtype = upcast(then_type.dtype, orelse_type.dtype)
                then, orelse = tensor.cast(then, dtype), tensor.cast(orelse, dtype)
            if then.type.broadcastable != orelse.type.broadcastable:
                # What is broadcastable in one branch only is broadcastable in none.
                free = [
                    i for i, (a, b) in enumerate(zip(then.type.broadcastable, orelse.type.broadcastable)) if a != b
                ]
                then = tensor.unbroadcast(then, *[i for i in free if then.type.broadcastable[i]])
                orelse = tensor.unbroadcast(orelse, *[i for i in free if orelse.type.broadcastable[i]])
    return then, orelse


def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """Return one of two (groups of) variables, computing only that one.

    Parameters
    ----------
    condition : scalar Variable
        Not zero selects `then_branch`.
    then_branch, else_branch : Variable, or list of Variable
        Lists must be of the same length; each pair must be of one type. A number next to a tensor takes its dtype if that
        holds it; what is broadcastable on one side only is not in the result.
    name : str, optional
        Name of the Op, for printed graphs.

    Returns
    -------
    Variable or list of Variable
        As the branches were given.

    Raises
    ------
    TypeError
        When the variables of a pair are of different types.
    ValueError
        When the lists differ in length.

    See Also
    --------
    theano.ifelse.IfElse : Choose between two groups of variables by a scalar condition.
    theano.tensor.switch : Return `ift` where `cond` is true, `iff` elsewhere: ``switch(cond, ift, iff)``.

    Notes
    -----
    Only machines that evaluate lazily (linkers 'vm', 'cvm' and the default) skip the other branch.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.ifelse import ifelse
    >>> c, x = T.iscalar('c'), T.dscalar('x')
    >>> f = theano.function([c, x], ifelse(c, x + 1, x * 10))
    >>> float(f(1, 3.0)), float(f(0, 3.0))
    (4.0, 30.0)
    """
    condition_type = getattr(condition, "type", None)
    if condition_type is not None and getattr(condition_type, "ndim", 0) != 0:
        raise TypeError(f"The condition of ifelse must be a scalar, not {condition_type}")
    return_type: Any = None
    if isinstance(then_branch, (list, tuple)) or isinstance(else_branch, (list, tuple)):
        return_type = list if isinstance(then_branch, list) or isinstance(else_branch, list) else tuple
    then_list = list(then_branch) if isinstance(then_branch, (list, tuple)) else [then_branch]
    else_list = list(else_branch) if isinstance(else_branch, (list, tuple)) else [else_branch]
    if len(then_list) != len(else_list):
        raise ValueError(
            "The number of values on the `then` branch should have the same number of variables as the `else` branch : "
            f"(variables on `then` {len(then_list)}, variables on `else` {len(else_list)})"
        )
    pairs = []
    for then, orelse in zip(then_list, else_list):
        if not isinstance(then, Variable):
            then = _number_like(then, orelse)
        if not isinstance(orelse, Variable):
            orelse = _number_like(orelse, then)
        if then.type != orelse.type:
            then, orelse = _matched(then, orelse)
        pairs.append((then, orelse))
    op = IfElse(n_outs=len(pairs), as_view=False, gpu=False, name=name)
    result = op(condition, *[t for t, _ in pairs], *[f for _, f in pairs], return_list=True)
    if return_type is None:
        return result[0]
    return return_type(result)


def _number_like(value: Any, other: Any) -> Variable:
    """A number or an array as a tensor, of the dtype of the tensor on the other side where that holds it."""
    new = tensor.as_tensor_variable(value)
    dtype = getattr(getattr(other, "type", None), "dtype", None)
    if hasattr(other, "broadcastable") and dtype != new.type.dtype and upcast(dtype, new.type.dtype) == dtype:
        return tensor.cast(new, dtype)
    return new


def _matched(then: Variable, orelse: Variable) -> tuple[Variable, Variable]:
    """Bring the variables of two branches to one type, or complain."""
    tensors = [isinstance(v.type, tensor.TensorType) for v in (then, orelse)]
    new_then, new_orelse = then, orelse
    if tensors == [True, False]:
        new_orelse = then.type.filter_variable(orelse)
    elif tensors == [False, True]:
        new_then = orelse.type.filter_variable(then)
    elif all(tensors) and then.type.dtype == orelse.type.dtype:
        new_then, new_orelse = _same_type(then, orelse)
    if new_then.type != new_orelse.type:
        raise TypeError(
            f"The two branches should have identical types, but they are {then.type} and {orelse.type} respectively. "
            "This error could be raised if for example you provided a one element list on the `then` branch but a "
            "tensor on the `else` branch."
        )
    return new_then, new_orelse


for _object in (IfElse, ifelse):
    _object.__module__ = "theano.ifelse"

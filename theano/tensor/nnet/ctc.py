"""The loss of connectionist temporal classification: sequences of labels without their times.

A. Graves, S. Fernandez, F. Gomez, J. Schmidhuber, "Connectionist Temporal Classification: Labelling Unsegmented Sequence
Data with Recurrent Neural Networks", ICML 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gradient_types import DisconnectedType, grad_not_implemented, grad_undefined
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.rewriting.registry import register_canonicalize
from theano.tensor.type import TensorType

__all__ = ["ConnectionistTemporalClassification", "ctc", "ctc_available", "ctc_present"]


def ctc_present() -> bool:
    """Return whether the loss can be computed. It always can: no library is needed.

    Returns
    -------
    bool
        True.

    See Also
    --------
    theano.tensor.nnet.ctc.ctc : Return the loss of connectionist temporal classification of each sequence of a batch.
    theano.tensor.nnet.ctc.ctc_available : Return whether the loss can be computed. It always can: no library is needed.

    Examples
    --------
    >>> ctc_present()
    True
    """
    return True


def ctc_available() -> bool:
    """Return whether the loss can be computed. It always can: no library is needed.

    Returns
    -------
    bool
        True.

    See Also
    --------
    theano.tensor.nnet.ctc.ctc : Return the loss of connectionist temporal classification of each sequence of a batch.
    theano.tensor.nnet.ctc.ctc_present : Return whether the loss can be computed. It always can: no library is needed.

    Examples
    --------
    >>> ctc_available()
    True
    """
    return True


ctc_present.avail = True  # type: ignore[attr-defined]
ctc_present.msg = None  # type: ignore[attr-defined]
ctc_available.msg = None  # type: ignore[attr-defined]


def _checked(name: str, value: Any, dtype: str, ndim: int) -> Any:
    value = as_tensor_variable(value)
    if value.dtype != dtype:
        raise TypeError(f"{name} must use the {dtype} type, got {value.type}: cast them")
    if value.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, got {value.type}")
    return value


class ConnectionistTemporalClassification(Op):
    """The loss of each sequence of a batch, and its gradient; :func:`ctc` is what users call.

    Parameters
    ----------
    compute_grad : bool
        Whether there is a second output, the gradient of the sum of the losses with respect to the activations.
    openmp : bool, optional
        Taken for programs that give it. `config.threads` says how many threads share a batch.

    See Also
    --------
    theano.tensor.nnet.ctc.ctc : Return the loss of connectionist temporal classification of each sequence of a batch.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> activations = T.zeros((2, 1, 2), dtype="float32")
    >>> labels, lengths = T.constant(np.int32([[1]])), T.constant(np.int32([2]))
    >>> loss = ConnectionistTemporalClassification(compute_grad=False)(activations, labels, lengths)
    >>> round(float(loss.eval()[0]), 4), round(-math.log(3 / 4), 4)
    (0.2877, 0.2877)
    """

    __props__ = ("compute_grad",)

    def __init__(self, compute_grad: bool = True, openmp: bool | None = None) -> None:
        self.compute_grad = bool(compute_grad)
        self.openmp = openmp

    def make_node(self, activations: Any, labels: Any, input_lengths: Any) -> Apply:
        activations = _checked("activations", activations, "float32", 3)
        labels = _checked("labels", labels, "int32", 2)
        input_lengths = _checked("input_lengths", input_lengths, "int32", 1)
        outputs = [TensorType("float32", (False,))(name="ctc_cost")]
        if self.compute_grad:
            outputs.append(TensorType("float32", (False,) * 3)(name="ctc_grad"))
        return Apply(self, [activations, labels, input_lengths], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        activations, labels, lengths = inputs
        times, batch, symbols = activations.shape
        if labels.shape[0] != batch or lengths.shape[0] != batch:
            raise ValueError(f"ctc: {batch} sequences of activations, {labels.shape[0]} of labels and {lengths.shape[0]} lengths")
        if batch and not (lengths.min() >= 0 and lengths.max() <= times):
            raise ValueError(f"ctc: the input_lengths must be within 0 and {times}, got {lengths.tolist()}")
        if labels.size and labels.max() >= symbols:
            raise ValueError(f"ctc: label {labels.max()} is out of bounds for {symbols} symbols")
        costs = np.empty(batch, "float32")
        gradient = np.zeros(activations.shape, "float32") if self.compute_grad else None
        for b in range(batch):
            rows = activations[: lengths[b], b].astype("float64")
            costs[b], slope = _loss(rows, labels[b][labels[b] >= 0], self.compute_grad)
            if gradient is not None:
                gradient[: lengths[b], b] = slope
        output_storage[0][0] = costs
        if gradient is not None:
            output_storage[1][0] = gradient

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0][1:2], in_shapes[0]][: len(node.outputs)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        # The second output is that of the first, and no step on the way to something else.
        return [[True] * len(node.outputs), [False] * len(node.outputs), [False] * len(node.outputs)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        undefined = [grad_undefined(self, i, inputs[i]) for i in (1, 2)]
        if len(grads) > 1 and not isinstance(grads[1].type, DisconnectedType):
            return [grad_not_implemented(self, 0, inputs[0], "The loss has no second gradient."), *undefined]
        slope = outputs[1] if self.compute_grad else ConnectionistTemporalClassification()(*inputs)[1]
        return [slope * grads[0].dimshuffle("x", 0, "x"), *undefined]


def _log_add(*terms: np.ndarray) -> np.ndarray:
    return np.logaddexp.reduce(np.stack(terms))


def _loss(rows: np.ndarray, labels: np.ndarray, slope: bool) -> tuple[float, Any]:
    """Return the loss of one sequence, and its gradient or 0.

    Forward variables count what is emitted at their time, backward variables do not.
    """
    times, symbols = rows.shape
    path = np.zeros(2 * len(labels) + 1, dtype=int)
    path[1::2] = labels
    if not times:
        return (np.inf if len(labels) else 0.0), 0.0
    with np.errstate(all="ignore"):
        shifted = rows - rows.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        emitted = logs[:, path]
        # Two states further, past a blank that is not needed between different labels.
        leap = np.where((path[2:] != 0) & (path[2:] != path[:-2]), 0.0, -np.inf)
        none = np.full(1, -np.inf)
        forward = np.full(emitted.shape, -np.inf)
        forward[0, :2] = emitted[0, :2]
        for t in range(1, times):
            before = forward[t - 1]
            skipped = np.concatenate([none, none, before[:-2] + leap])[: len(path)]
            forward[t] = _log_add(before, np.concatenate([none, before[:-1]]), skipped) + emitted[t]
        likelihood = np.logaddexp.reduce(forward[-1, -2:])
        if not slope:
            return -likelihood, 0.0
        if likelihood == -np.inf:
            # No path leads there: no direction is better than another.
            return np.inf, 0.0
        backward = np.full(len(path), -np.inf)
        backward[-2:] = 0
        gradient = np.exp(logs)
        for t in range(times - 1, -1, -1):
            if t < times - 1:
                after = backward + emitted[t + 1]
                skipped = np.concatenate([after[2:] + leap, none, none])[-len(path) :]
                if len(path) == 1:
                    skipped = none
                backward = _log_add(after, np.concatenate([after[1:], none]), skipped)
            np.subtract.at(gradient[t], path, np.exp(forward[t] + backward - likelihood))
        return -likelihood, gradient


@register_canonicalize("fast_compile")
@local_optimizer([ConnectionistTemporalClassification])
def local_ctc_no_grad(node: Apply) -> Any:
    """A loss whose gradient nobody reads -> the loss alone"""
    if not isinstance(node.op, ConnectionistTemporalClassification) or not node.op.compute_grad or node.outputs[1].clients:
        return None
    cost = ConnectionistTemporalClassification(compute_grad=False)(*node.inputs)
    copy_stack_trace(node.outputs[0], cost)
    return {node.outputs[0]: cost}


def ctc(activations: Any, labels: Any, input_lengths: Any) -> Any:
    """Return the loss of connectionist temporal classification of each sequence of a batch.

    It is minus the logarithm of the probability that the labels are read off a sequence of symbols which are drawn, at each
    time independently, by the softmax of the activations: repeated symbols are read once, and blanks, symbol 0, not at all.

    Parameters
    ----------
    activations : float32 tensor (time, batch, symbols)
        Before the softmax.
    labels : int32 matrix (batch, labels)
        The labels of each sequence. Negative ones are padding.
    input_lengths : int32 vector (batch)
        How many times each sequence has.

    Returns
    -------
    float32 vector (batch)
        Infinite, with a gradient of 0, where a sequence is too short for its labels.

    Raises
    ------
    TypeError
        If a dtype is another one.
    ValueError
        If a rank is another one; when it is computed, if batches differ, a length is out of bounds, or a label is no symbol.

    See Also
    --------
    theano.tensor.nnet.ctc.ctc_available : Return whether the loss can be computed. It always can: no library is needed.
    theano.tensor.nnet.ctc.ctc_present : Return whether the loss can be computed. It always can: no library is needed.
    theano.tensor.nnet.ctc.ConnectionistTemporalClassification : The loss of each sequence of a batch, and its gradient;
        `ctc` is what users call.

    Examples
    --------
    >>> import numpy as np, theano, theano.tensor as T
    >>> activations, labels, lengths = T.ftensor3(), T.imatrix(), T.ivector()
    >>> f = theano.function([activations, labels, lengths], ctc(activations, labels, lengths))
    >>> f(np.zeros((1, 1, 5), 'float32'), np.array([[1]], 'int32'), np.array([1], 'int32'))
    array([1.609438], dtype=float32)
    """
    return ConnectionistTemporalClassification()(activations, labels, input_lengths)[0]


__getattr__, __dir__ = aliases.lazy(__name__)

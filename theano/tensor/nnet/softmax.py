"""Softmax of the rows of a matrix, with a bias, its logarithm, and their gradients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import exp, float_dtypes, gt, log, switch
from theano.tensor.reduction import max as tensor_max
from theano.tensor.reduction import sum as tensor_sum
from theano.tensor.shaping import shape_padleft


def rows_of_floats(x: Any, what: str = "x") -> Any:
    """Return `x` as a matrix of floats; a vector is one row.

    Raises
    ------
    ValueError
        If `x` has another rank or dtype.
    """
    x = as_tensor_variable(x)
    if x.type.ndim not in (1, 2) or x.type.dtype not in float_dtypes:
        raise ValueError(f"{what} must be 1-d or 2-d tensor of floats. Got {x.type}")
    if x.type.ndim == 1:
        warnings.warn("A vector given to softmax is taken as a matrix of one row.", stacklevel=4)
        x = shape_padleft(x, n_ones=1)
    return x


#: From which a probability is taken for the one that is more likely than all others together.
LIKELY = 0.5625


def is_softmax(variable: Any) -> bool:
    """Return whether a variable is computed as a softmax of rows, which add up to 1."""
    node = variable.owner
    return node is not None and getattr(node.op, "gives_softmax", False)


def _wide(*arrays: np.ndarray) -> list[np.ndarray]:
    # Sums in half precision would lose what the results can hold.
    return [a.astype("float32") if a.dtype == "float16" else a for a in arrays]


def numpy_exponentials(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``x - max``, ``exp(x - max)`` and the sum of these without one maximum, for the rows of `x`, in its dtype.

    The exponential would make the rounding error of a difference as many times larger as that is large: it is kept. A sum
    with the maximum's 1 would hide small terms.
    """
    if not x.shape[1]:
        return x, x, np.zeros((len(x), 1), x.dtype)
    where = x.argmax(axis=1)[:, None]
    top = np.take_along_axis(x, where, axis=1)
    with np.errstate(all="ignore"):
        difference = x - top
        back = difference - x
        low = (x - (difference - back)) - (top + back)
        e = np.exp(difference)
        e += e * np.where(np.isfinite(low), low, 0)
    others = e.copy()
    np.put_along_axis(others, where, 0, axis=1)
    return difference, e, others.sum(axis=1, keepdims=True)


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    """Return the softmax of the rows of `x`, in its dtype."""
    if not x.size:
        return np.empty_like(x)
    (wide,) = _wide(x)
    _, e, others = numpy_exponentials(wide)
    return quotients(e, others).astype(x.dtype, copy=False)


def quotients(e: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the softmax of ``exp(x - max)`` and its sums without one maximum."""
    return e / (e.max(axis=1, keepdims=True, initial=0) + others)


class SoftmaxWithBias(Op):
    """The softmax of the rows of ``x + b``.

    See Also
    --------
    theano.tensor.nnet.Softmax : ``exp(x) / sum(exp(x))`` of each row.
    theano.tensor.nnet.softmax_with_bias : An instance of it.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> SoftmaxWithBias()(T.zeros((1, 2)), T.constant([0.0, np.log(3.0)])).eval().round(4).tolist()
    [[0.25, 0.75]]
    """

    nin = 2
    nout = 1
    gives_softmax = True
    __props__ = ()

    def make_node(self, x: Any, b: Any) -> Apply:
        x, b = as_tensor_variable(x), as_tensor_variable(b)
        if x.type.ndim != 2 or x.type.dtype not in float_dtypes:
            raise ValueError(f"x must be 2-d tensor of floats, got {x.type}")
        if b.type.ndim != 1 or b.type.dtype not in float_dtypes:
            raise ValueError(f"b must be 1-d tensor of floats, got {b.type}")
        return Apply(self, [x, b], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, b = inputs
        if b.shape[0] != x.shape[1]:
            raise ValueError(f"b must have same number of columns as x: {b.shape[0]} against {x.shape[1]}")
        output_storage[0][0] = numpy_softmax(x + b).astype(x.dtype, copy=False)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (gz,) = grads
        if isinstance(gz.type, DisconnectedType):
            return [DisconnectedType()(), DisconnectedType()()]
        dx = softmax_grad(gz, outputs[0])
        return [dx, tensor_sum(dx, axis=0)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


softmax_with_bias = SoftmaxWithBias()


def _gradient_and_softmax(op: Op, dy: Any, sm: Any) -> Apply:
    dy, sm = as_tensor_variable(dy), as_tensor_variable(sm)
    if dy.type.ndim not in (1, 2) or dy.type.dtype not in float_dtypes:
        raise ValueError(f"dy must be 1-d or 2-d tensor of floats. got {dy.type}")
    if dy.ndim == 1:
        dy = shape_padleft(dy, n_ones=1)
    if sm.ndim == 1:
        sm = shape_padleft(sm, n_ones=1)
    return Apply(op, [dy, sm], [sm.type()])


class SoftmaxGrad(Op):
    """The gradient of the softmax: ``(dy - sum(dy * sm, axis=1)) * sm``, of the gradient `dy` and the softmax `sm`.

    Of a softmax, whose rows add up to 1, `dy` counts from what it is at a probability near 1: where the sum is almost the
    same as one `dy`, the difference has all its digits.

    See Also
    --------
    theano.tensor.nnet.softmax : Return ``exp(c) / sum(exp(c))`` of each row of a matrix, computed without overflow.
    theano.tensor.nnet.Softmax : ``exp(x) / sum(exp(x))`` of each row.
    theano.tensor.nnet.softmax_grad : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> probabilities = T.constant([[0.5, 0.5]])
    >>> SoftmaxGrad()(T.constant([[1.0, 0.0]]), probabilities).eval().tolist()
    [[0.25, -0.25]]
    """

    nin = 2
    nout = 1
    __props__ = ()

    def make_node(self, dy: Any, sm: Any) -> Apply:
        return _gradient_and_softmax(self, dy, sm)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        dy, sm = _wide(*inputs)
        if is_softmax(node.inputs[1]):
            dy = dy - np.where(sm > LIKELY, dy, 0).sum(axis=1, keepdims=True)
        result = (dy - (dy * sm).sum(axis=1, keepdims=True)) * sm
        output_storage[0][0] = result.astype(inputs[1].dtype, copy=False)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (dy, sm), (g,) = inputs, grads
        centered = g - tensor_sum(g * sm, axis=1).dimshuffle(0, "x")
        weight = tensor_sum(dy * sm, axis=1).dimshuffle(0, "x")
        return [centered * sm, centered * dy - g * weight]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]


softmax_grad = SoftmaxGrad()


class Softmax(Op):
    """``exp(x) / sum(exp(x))`` of each row.

    The input is a matrix of floats, or a vector, which is taken for its only row; the output has the type of the
    matrix.

    See Also
    --------
    theano.tensor.nnet.logsoftmax : Return ``log(softmax(c))`` of each row of a matrix, computed without overflow.
    theano.tensor.nnet.LogSoftmax : ``log(softmax(x))`` of each row, as ``x - max - log(sum(exp(x - max)))``.
    theano.tensor.nnet.SoftmaxGrad : The gradient of the softmax: ``(dy - sum(dy * sm, axis=1)) * sm``, of the gradient
        `dy` and the softmax `sm`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.softmax_op([[0.0, 0.0]]).eval()
    array([[0.5, 0.5]])
    """

    nin = 1
    nout = 1
    gives_softmax = True
    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = rows_of_floats(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = numpy_softmax(inputs[0])

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [softmax_grad(grads[0], outputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        # The Jacobian is symmetric.
        if None in eval_points:
            return [None]
        return [softmax_grad(eval_points[0], self(*inputs))]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return in_shapes


softmax_op = Softmax()


def softmax(c: Any):
    """Return ``exp(c) / sum(exp(c))`` of each row of a matrix, computed without overflow.

    Parameters
    ----------
    c : matrix of floats, or vector
        A vector is taken as a matrix of one row.

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.tensor.nnet.logsoftmax : Return ``log(softmax(c))`` of each row of a matrix, computed without overflow.
    theano.tensor.nnet.h_softmax : Return a two-level softmax: the probability of the class of an output times that of the
        output in its class.
    theano.tensor.nnet.softmax_graph : Return the softmax of the rows of `c` as a graph of elementary operations.

    Examples
    --------
    >>> softmax([[1000.0, 1000.0]]).eval()
    array([[0.5, 0.5]])
    """
    return softmax_op(c)


def softmax_graph(c: Any):
    """Return the softmax of the rows of `c` as a graph of elementary operations.

    Parameters
    ----------
    c : matrix of floats
        A row for each example.

    Returns
    -------
    TensorVariable
        Of the type of `c`.

    See Also
    --------
    theano.tensor.nnet.softmax : Return ``exp(c) / sum(exp(c))`` of each row of a matrix, computed without overflow.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.softmax_graph(T.constant([[0.0, 0.0]])).eval()
    array([[0.5, 0.5]])
    """
    e = exp(as_tensor_variable(c))
    return e / tensor_sum(e, axis=1, keepdims=True)


class LogSoftmaxGrad(Op):
    """The gradient of the log-softmax: ``dy - sum(dy, axis=1) * sm``, of the gradient `dy` and the softmax `sm`.

    Of a softmax it is ``dy * (1 - sm) - (sum(dy, axis=1) - dy) * sm`` at a probability near 1, both differences being sums
    over the others: the gradient of a nearly certain prediction has all its digits.
    """

    nin = 2
    nout = 1
    __props__ = ()

    def make_node(self, dy: Any, sm: Any) -> Apply:
        return _gradient_and_softmax(self, dy, sm)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        dy, sm = _wide(*inputs)
        result = dy - dy.sum(axis=1, keepdims=True) * sm
        if is_softmax(node.inputs[1]):
            likely = sm > LIKELY
            lacking, others = (np.where(likely, 0, v).sum(axis=1, keepdims=True) for v in (sm, dy))
            result = np.where(likely, dy * lacking - others * sm, result)
        output_storage[0][0] = result.astype(inputs[1].dtype, copy=False)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (dy, sm), (g,) = inputs, grads
        return [g - tensor_sum(g * sm, axis=1, keepdims=True), -g * tensor_sum(dy, axis=1, keepdims=True)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (dy, sm), (dy_point, sm_point) = inputs, eval_points
        terms = []
        if dy_point is not None:
            terms.append(self(dy_point, sm))
        if sm_point is not None:
            terms.append(-tensor_sum(dy, axis=1, keepdims=True) * sm_point)
        return [None if not terms else terms[0] if len(terms) == 1 else terms[0] + terms[1]]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]


logsoftmax_grad = LogSoftmaxGrad()


def _others(sm: Any) -> tuple[Any, Any]:
    """Where a probability is near 1, and a function that gives the sums over the others along the last axis."""
    limit, zero = (np.asarray(c, dtype=sm.type.dtype) for c in (LIKELY, 0))
    likely = gt(sm, limit)
    return likely, lambda v: tensor_sum(switch(likely, zero, v), axis=-1, keepdims=True)


def softmax_grad_graph(dy: Any, sm: Any):
    """Return :class:`SoftmaxGrad` of arrays along their last axis, `sm` being a softmax, as elementary operations."""
    likely, over_others = _others(sm)
    difference = dy - tensor_sum(dy * sm, axis=-1, keepdims=True)
    return switch(likely, dy * over_others(sm) - over_others(dy * sm), difference) * sm


def logsoftmax_grad_graph(dy: Any, sm: Any):
    """Return :class:`LogSoftmaxGrad` of arrays along their last axis, `sm` being a softmax, as elementary operations."""
    likely, over_others = _others(sm)
    difference = dy - tensor_sum(dy, axis=-1, keepdims=True) * sm
    return switch(likely, dy * over_others(sm) - over_others(dy) * sm, difference)


class LogSoftmax(Op):
    """``log(softmax(x))`` of each row, as ``x - max - log(sum(exp(x - max)))``.

    The input is a matrix of floats, or a vector, which is taken for its only row; the output has the type of the
    matrix.

    See Also
    --------
    theano.tensor.nnet.Softmax : ``exp(x) / sum(exp(x))`` of each row.
    theano.tensor.nnet.logsoftmax : Return ``log(softmax(c))`` of each row of a matrix, computed without overflow.
    theano.tensor.nnet.logsoftmax_op : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.logsoftmax([[0.0, -1000.0]]).eval()
    array([[    0., -1000.]])
    """

    nin = 1
    nout = 1
    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = rows_of_floats(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        if not x.size:
            output_storage[0][0] = np.empty_like(x)
            return
        difference, _, others = numpy_exponentials(*_wide(x))
        output_storage[0][0] = (difference - np.log1p(others)).astype(x.dtype, copy=False)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        return [logsoftmax_grad(gz, softmax_op(x))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if None in eval_points:
            return [None]
        (x,), (point,) = inputs, eval_points
        return [point - tensor_sum(point * softmax_op(x), axis=1, keepdims=True)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return in_shapes


logsoftmax_op = LogSoftmax()


def logsoftmax(c: Any):
    """Return ``log(softmax(c))`` of each row of a matrix, computed without overflow.

    Parameters
    ----------
    c : matrix of floats
        A row for each example.

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.tensor.nnet.h_softmax : Return a two-level softmax: the probability of the class of an output times that of the
        output in its class.
    theano.tensor.nnet.softmax : Return ``exp(c) / sum(exp(c))`` of each row of a matrix, computed without overflow.
    theano.tensor.nnet.LogSoftmax : ``log(softmax(x))`` of each row, as ``x - max - log(sum(exp(x - max)))``.

    Examples
    --------
    >>> logsoftmax([[1000.0, 0.0]]).eval()
    array([[    0., -1000.]])
    """
    return logsoftmax_op(c)


def logsoftmax_graph(c: Any):
    """Return the logarithm of the softmax of the rows of `c` as a graph of elementary operations."""
    c = as_tensor_variable(c)
    shifted = c - tensor_max(c, axis=1, keepdims=True)
    return shifted - log(tensor_sum(exp(shifted), axis=1, keepdims=True))

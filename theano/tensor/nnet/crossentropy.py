"""Crossentropies: of rows of probabilities with labels or distributions, fused with the softmax, and binary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import arange, zeros_like
from theano.tensor.math import discrete_dtypes, float_dtypes, integer_dtypes, log
from theano.tensor.nnet.sigm import softplus
from theano.tensor.nnet.softmax import LIKELY, is_softmax, numpy_exponentials, quotients, softmax_grad
from theano.tensor.reduction import max_and_argmax
from theano.tensor.reduction import sum as tensor_sum
from theano.tensor.shaping import shape_padleft
from theano.tensor.subtensor import inc_subtensor
from theano.tensor.type import TensorType


def _check_columns(y: np.ndarray, columns: int) -> None:
    if y.size and (y.min() < 0 or y.max() >= columns):
        raise ValueError(f"y_i value out of bounds: labels from {y.min()} to {y.max()}, and {columns} columns")


class CrossentropySoftmaxArgmax1HotWithBias(Op):
    """The negative log-likelihood of labels under the softmax of ``x + b``.

    Inputs: the matrix `x`, the vector `b`, and the vector `y_idx` of integer labels, one for each row. Outputs: the
    vector of ``-log(softmax(x + b)[i, y_idx[i]])``, the softmax, and the vector of the columns of the row maxima.

    See Also
    --------
    theano.tensor.nnet.CrossentropySoftmax1HotWithBiasDx : The gradient of the negative log-likelihood with respect to
        `x`: ``dy * (sm - onehot(y_idx))``.
    theano.tensor.nnet.crossentropy_softmax_1hot_with_bias : Return the negative log-likelihood of the labels `y_idx`
        under the softmax of ``x + b``, and that softmax.
    theano.tensor.nnet.crossentropy_softmax_argmax_1hot_with_bias : An instance of it.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> x, b = T.constant([[0.0, 0.0], [0.0, 0.0]]), T.constant([0.0, np.log(3.0)])
    >>> loss, softmax, best = CrossentropySoftmaxArgmax1HotWithBias()(x, b, [0, 1])
    >>> loss.eval().round(4).tolist(), softmax.eval().round(4).tolist(), best.eval().tolist()
    ([1.3863, 0.2877], [[0.25, 0.75], [0.25, 0.75]], [1, 1])
    """

    nin = 3
    nout = 3
    gives_softmax = True
    __props__ = ()

    def make_node(self, x: Any, b: Any, y_idx: Any) -> Apply:
        x, b, y_idx = as_tensor_variable(x), as_tensor_variable(b), as_tensor_variable(y_idx)
        if x.type.ndim != 2 or x.type.dtype not in float_dtypes:
            raise ValueError(f"x must be 2-d tensor of floats, got {x.type}")
        if b.type.ndim != 1 or b.type.dtype not in float_dtypes:
            raise ValueError(f"b must be 1-d tensor of floats, got {b.type}")
        if y_idx.type.ndim != 1 or y_idx.type.dtype not in integer_dtypes:
            raise ValueError(f"y_idx must be 1-d tensor of [u]ints, got {y_idx.type}")
        nll = TensorType(x.type.dtype, y_idx.type.broadcastable)()
        return Apply(self, [x, b, y_idx], [nll, x.type(), y_idx.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, b, y_idx = inputs
        if b.shape[0] != x.shape[1]:
            raise ValueError(f"b must have same number of columns as x: {b.shape[0]} against {x.shape[1]}")
        if y_idx.shape[0] != x.shape[0]:
            raise ValueError(f"y_idx must have same number of rows as x: {y_idx.shape[0]} against {x.shape[0]}")
        _check_columns(y_idx, x.shape[1])
        z = x + b
        rows = np.arange(x.shape[0])
        index = z.argmax(axis=1) if z.size else np.zeros(x.shape[0], dtype="int64")
        difference, e, others = numpy_exponentials(z)
        output_storage[0][0] = (np.log1p(others[:, 0]) - difference[rows, y_idx]).astype(x.dtype, copy=False)
        output_storage[1][0] = quotients(e, others).astype(x.dtype, copy=False)
        output_storage[2][0] = index.astype(y_idx.dtype, copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x_shape, _, y_shape = in_shapes
        return [y_shape, x_shape, y_shape]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True, False], [True, True, False], [False, False, False]]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, b, y_idx = inputs
        g_nll, g_sm, _ = grads
        _, sm, _ = outputs
        terms = []
        if not isinstance(g_nll.type, DisconnectedType):
            terms.append(crossentropy_softmax_1hot_with_bias_dx(g_nll, sm, y_idx))
        if not isinstance(g_sm.type, DisconnectedType):
            terms.append(softmax_grad(g_sm, sm))
        if not terms:
            return [DisconnectedType()() for _ in inputs]
        dx = terms[0] if len(terms) == 1 else terms[0] + terms[1]
        return [dx, tensor_sum(dx, axis=[0]), DisconnectedType()()]


crossentropy_softmax_argmax_1hot_with_bias = CrossentropySoftmaxArgmax1HotWithBias()


class CrossentropySoftmax1HotWithBiasDx(Op):
    """The gradient of the negative log-likelihood with respect to `x`: ``dy * (sm - onehot(y_idx))``.

    Inputs: the gradient `dy` of the likelihoods, a vector or scalar, the softmax `sm`, and the labels `y_idx`.

    See Also
    --------
    theano.tensor.nnet.crossentropy_softmax_1hot_with_bias : Return the negative log-likelihood of the labels `y_idx`
        under the softmax of ``x + b``, and that softmax.
    theano.tensor.nnet.CrossentropySoftmaxArgmax1HotWithBias : The negative log-likelihood of labels under the softmax of
        ``x + b``.
    theano.tensor.nnet.crossentropy_softmax_1hot_with_bias_dx : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> softmax, labels = T.constant([[0.5, 0.5], [0.25, 0.75]]), T.constant([0, 0])
    >>> CrossentropySoftmax1HotWithBiasDx()(T.ones(2), softmax, labels).eval().tolist()
    [[-0.5, 0.5], [-0.75, 0.75]]
    """

    nin = 3
    nout = 1
    __props__ = ()

    def make_node(self, dy: Any, sm: Any, y_idx: Any) -> Apply:
        dy, sm, y_idx = as_tensor_variable(dy), as_tensor_variable(sm), as_tensor_variable(y_idx)
        if dy.type.ndim > 1 or dy.type.dtype not in float_dtypes:
            raise ValueError(f"dy must be {{0,1}}-d tensor of floats, got {dy.type}")
        if dy.type.ndim == 0:
            dy = shape_padleft(dy, n_ones=1)
        if sm.type.ndim != 2 or sm.type.dtype not in float_dtypes:
            raise ValueError(f"sm must be 2-d tensor of floats, got {sm.type}")
        if y_idx.type.ndim != 1 or y_idx.type.dtype not in integer_dtypes:
            raise ValueError(f"y_idx must be 1-d tensor of [u]ints, got {y_idx.type}")
        return Apply(self, [dy, sm, y_idx], [sm.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        dy, sm, y_idx = inputs
        if y_idx.shape[0] != sm.shape[0]:
            raise ValueError(f"y_idx must have same number of rows as sm: {y_idx.shape[0]} against {sm.shape[0]}")
        if dy.shape[0] not in (1, sm.shape[0]):
            raise ValueError(f"dy must have same number of rows as sm: {dy.shape[0]} against {sm.shape[0]}")
        _check_columns(y_idx, sm.shape[1])
        rows = np.arange(sm.shape[0])
        dx = sm * dy[:, None]
        if is_softmax(node.inputs[1]):
            # What a likely one lacks to 1 is the probability of the others, which the difference would round away.
            others, target = sm.copy(), sm[rows, y_idx]
            others[rows, y_idx] = 0
            dx[rows, y_idx] = -dy * np.where(target > LIKELY, others.sum(axis=1), 1 - target)
        else:
            dx[rows, y_idx] -= dy
        output_storage[0][0] = dx.astype(sm.dtype, copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        dy, sm, y_idx = inputs
        (g_dx,) = grads
        rows = arange(y_idx.shape[0])
        residual = inc_subtensor(sm[rows, y_idx], as_tensor_variable(-1).astype(sm.dtype))
        g_dy = tensor_sum(g_dx * residual, axis=1)
        if dy.type.broadcastable[0]:
            g_dy = tensor_sum(g_dy, keepdims=True)
        return [g_dy, dy.dimshuffle(0, "x") * g_dx, DisconnectedType()()]


crossentropy_softmax_1hot_with_bias_dx = CrossentropySoftmax1HotWithBiasDx()


def crossentropy_softmax_1hot_with_bias(x: Any, b: Any, y_idx: Any, **kwargs: Any):
    """Return the negative log-likelihood of the labels `y_idx` under the softmax of ``x + b``, and that softmax.

    Parameters
    ----------
    x : matrix of floats
        A row for each example, a column for each class.
    b : vector
        Added to each row.
    y_idx : integer vector
        The label of each row.
    **kwargs
        Accepted as before, without effect on the result.

    Returns
    -------
    tuple of TensorVariable
        A vector and a matrix.

    See Also
    --------
    theano.tensor.nnet.categorical_crossentropy : Return the crossentropy between the rows of `coding_dist` and true
        distributions or labels.
    theano.tensor.nnet.crossentropy_softmax_1hot : Return the negative log-likelihood of the labels `y_idx` under the
        softmax of `x`, and that softmax.
    theano.tensor.nnet.CrossentropySoftmaxArgmax1HotWithBias : The negative log-likelihood of labels under the softmax of
        ``x + b``.

    Examples
    --------
    >>> import numpy as np
    >>> nll, p = crossentropy_softmax_1hot_with_bias(np.zeros((1, 2)), np.zeros(2), [1])
    >>> p.eval()
    array([[0.5, 0.5]])
    """
    return crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx, **kwargs)[0:2]


def crossentropy_softmax_1hot(x: Any, y_idx: Any, **kwargs: Any):
    """Return the negative log-likelihood of the labels `y_idx` under the softmax of `x`, and that softmax.

    Parameters
    ----------
    x : matrix of floats
        A row for each example, a column for each class.
    y_idx : integer vector
        The label of each row.
    **kwargs
        Accepted as before, without effect on the result.

    Returns
    -------
    tuple of TensorVariable
        A vector and a matrix.

    See Also
    --------
    theano.tensor.nnet.crossentropy_softmax_1hot_with_bias : Return the negative log-likelihood of the labels `y_idx`
        under the softmax of ``x + b``, and that softmax.
    theano.tensor.nnet.categorical_crossentropy : Return the crossentropy between the rows of `coding_dist` and true
        distributions or labels.
    theano.tensor.nnet.crossentropy_softmax_max_and_argmax_1hot : Return the negative log-likelihood, the softmax of `x`,
        its row maxima and their columns.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [v.eval().round(3) for v in T.nnet.crossentropy_softmax_1hot(T.constant([[0.0, 0.0]]), T.constant([1]))]
    [array([0.693]), array([[0.5, 0.5]])]
    """
    x = as_tensor_variable(x)
    return crossentropy_softmax_1hot_with_bias(x, zeros_like(x[0, :]), y_idx, **kwargs)


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any, **kwargs: Any):
    """Return the negative log-likelihood, the softmax of ``x + b``, its row maxima and their columns.

    Parameters
    ----------
    x : matrix of floats
        A row for each example, a column for each class.
    b : vector
        Added to each row.
    y_idx : integer vector
        The label of each row.
    **kwargs
        Accepted as before, without effect on the result.

    Returns
    -------
    tuple of TensorVariable
        Four of them.

    See Also
    --------
    theano.tensor.nnet.crossentropy_softmax_1hot : Return the negative log-likelihood of the labels `y_idx` under the
        softmax of `x`, and that softmax.
    theano.tensor.nnet.crossentropy_softmax_max_and_argmax_1hot : Return the negative log-likelihood, the softmax of `x`,
        its row maxima and their columns.

    Examples
    --------
    >>> import numpy as np
    >>> *_, index = crossentropy_softmax_max_and_argmax_1hot_with_bias(np.array([[1.0, 3.0]]), np.zeros(2), [1])
    >>> index.eval()
    array([1])
    """
    nll, sm = crossentropy_softmax_1hot_with_bias(x, b, y_idx, **kwargs)
    largest, index = max_and_argmax(sm, axis=-1)
    return nll, sm, largest, index


def crossentropy_softmax_max_and_argmax_1hot(x: Any, y_idx: Any, **kwargs: Any):
    """Return the negative log-likelihood, the softmax of `x`, its row maxima and their columns.

    Parameters
    ----------
    x : matrix of floats
        A row for each example, a column for each class.
    y_idx : integer vector
        The label of each row.
    **kwargs
        Accepted as before, without effect on the result.

    Returns
    -------
    tuple of TensorVariable
        Four of them.

    See Also
    --------
    theano.tensor.nnet.crossentropy_softmax_max_and_argmax_1hot_with_bias : Return the negative log-likelihood, the
        softmax of ``x + b``, its row maxima and their columns.
    theano.tensor.nnet.crossentropy_softmax_1hot : Return the negative log-likelihood of the labels `y_idx` under the
        softmax of `x`, and that softmax.

    Examples
    --------
    >>> import numpy as np
    >>> *_, index = crossentropy_softmax_max_and_argmax_1hot(np.array([[1.0, 3.0]]), [1])
    >>> index.eval()
    array([1])
    """
    x = as_tensor_variable(x)
    return crossentropy_softmax_max_and_argmax_1hot_with_bias(x, zeros_like(x[0, :]), y_idx, **kwargs)


class CrossentropyCategorical1HotGrad(Op):
    """The gradient of :class:`CrossentropyCategorical1Hot` with respect to the distributions.

    See Also
    --------
    theano.tensor.nnet.categorical_crossentropy : Return the crossentropy between the rows of `coding_dist` and true
        distributions or labels.
    theano.tensor.nnet.CrossentropyCategorical1Hot : ``-log(coding_dist[i, true_one_of_n[i]])`` of each row ``i``.
    theano.tensor.nnet.crossentropy_categorical_1hot_grad : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> believed = T.constant([[0.5, 0.5], [0.25, 0.75]])
    >>> CrossentropyCategorical1HotGrad()(T.ones(2), believed, [0, 0]).eval().tolist()
    [[-2.0, 0.0], [-4.0, 0.0]]
    """

    __props__ = ()

    def make_node(self, g_y: Any, coding_dist: Any, true_one_of_n: Any) -> Apply:
        inputs = [as_tensor_variable(x) for x in (g_y, coding_dist, true_one_of_n)]
        return Apply(self, inputs, [inputs[1].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        g_y, coding_dist, labels = inputs
        _check_columns(labels, coding_dist.shape[1])
        result = np.zeros_like(coding_dist)
        rows = np.arange(len(g_y))
        result[rows, labels] = -g_y / coding_dist[rows, labels]
        output_storage[0][0] = result

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        g_y, coding_dist, labels = inputs
        (gz,) = grads
        rows = arange(labels.shape[0])
        picked = coding_dist[rows, labels]
        chosen = gz[rows, labels]
        g_coding = inc_subtensor(zeros_like(coding_dist)[rows, labels], chosen * g_y / (picked * picked))
        return [-chosen / picked, g_coding, DisconnectedType()()]


crossentropy_categorical_1hot_grad = CrossentropyCategorical1HotGrad()


class CrossentropyCategorical1Hot(Op):
    """``-log(coding_dist[i, true_one_of_n[i]])`` of each row ``i``.

    Inputs: a matrix whose rows are distributions, and a vector of integer labels.

    See Also
    --------
    theano.tensor.nnet.CrossentropyCategorical1HotGrad : The gradient of `CrossentropyCategorical1Hot` with respect to the
        distributions.
    theano.tensor.nnet.categorical_crossentropy : Return the crossentropy between the rows of `coding_dist` and true
        distributions or labels.
    theano.tensor.nnet.crossentropy_categorical_1hot : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> believed = T.constant([[0.5, 0.5], [0.25, 0.75]])
    >>> CrossentropyCategorical1Hot()(believed, [0, 0]).eval().round(4).tolist()
    [0.6931, 1.3863]
    """

    __props__ = ()

    def make_node(self, coding_dist: Any, true_one_of_n: Any) -> Apply:
        dist, labels = as_tensor_variable(coding_dist), as_tensor_variable(true_one_of_n)
        if dist.type.ndim != 2:
            raise TypeError("matrix required for argument: coding_dist")
        if labels.type.ndim != 1 or labels.type.dtype not in discrete_dtypes:
            raise TypeError(f"integer vector required for argument: true_one_of_n, got {labels.type}")
        return Apply(self, [dist, labels], [TensorType(dist.dtype, labels.type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        dist, labels = inputs
        if len(labels) != len(dist):
            raise ValueError(f"{len(labels)} labels for {len(dist)} distributions")
        _check_columns(labels, dist.shape[1])
        output_storage[0][0] = -np.log(dist[np.arange(len(labels)), labels])

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(in_shapes[0][0],)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        dist, labels = inputs
        return [crossentropy_categorical_1hot_grad(grads[0], dist, labels), DisconnectedType()()]


crossentropy_categorical_1hot = CrossentropyCategorical1Hot()


def categorical_crossentropy(coding_dist: Any, true_dist: Any):
    """Return the crossentropy between the rows of `coding_dist` and true distributions or labels.

    Parameters
    ----------
    coding_dist : matrix
        Each row is a distribution.
    true_dist : matrix, or vector of integers
        The true distributions, or the columns in which they are 1.

    Returns
    -------
    vector
        ``-sum(true_dist * log(coding_dist), axis=1)``.

    Raises
    ------
    TypeError
        If the ranks do not fit.

    See Also
    --------
    theano.tensor.nnet.binary_crossentropy : Return ``-(target * log(output) + (1 - target) * log(1 - output))``
        elementwise.
    theano.tensor.nnet.sigmoid_binary_crossentropy : Return ``binary_crossentropy(sigmoid(output), target)``, precise and
        finite for any `output`.
    theano.tensor.nnet.crossentropy_softmax_1hot : Return the negative log-likelihood of the labels `y_idx` under the
        softmax of `x`, and that softmax.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.categorical_crossentropy([[0.5, 0.5], [0.1, 0.9]], [0, 1]).eval().round(3)
    array([0.693, 0.105])
    """
    coding_dist, true_dist = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    if true_dist.ndim == coding_dist.ndim:
        return -tensor_sum(true_dist * log(coding_dist), axis=coding_dist.ndim - 1)
    if true_dist.ndim == coding_dist.ndim - 1:
        return crossentropy_categorical_1hot(coding_dist, true_dist)
    raise TypeError(f"rank mismatch between coding ({coding_dist.ndim}) and true ({true_dist.ndim}) distributions")


def binary_crossentropy(output: Any, target: Any):
    """Return ``-(target * log(output) + (1 - target) * log(1 - output))`` elementwise.

    Parameters
    ----------
    output : tensor_like
        Probabilities between 0 and 1.
    target : tensor_like
        What is right: 0, 1, or probabilities.

    Returns
    -------
    TensorVariable
        Of floats.

    See Also
    --------
    theano.tensor.nnet.sigmoid_binary_crossentropy : Return ``binary_crossentropy(sigmoid(output), target)``, precise and
        finite for any `output`.
    theano.tensor.nnet.categorical_crossentropy : Return the crossentropy between the rows of `coding_dist` and true
        distributions or labels.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.binary_crossentropy([0.5, 0.9], [0, 1]).eval().round(3)
    array([0.693, 0.105])
    """
    output, target = as_tensor_variable(output), as_tensor_variable(target)
    return -(target * log(output) + (1.0 - target) * log(1.0 - output))


def sigmoid_binary_crossentropy(output: Any, target: Any):
    """Return ``binary_crossentropy(sigmoid(output), target)``, precise and finite for any `output`.

    Parameters
    ----------
    output : tensor_like
        Any numbers.
    target : tensor_like
        What is right: 0, 1, or probabilities.

    Returns
    -------
    TensorVariable
        Of floats.

    See Also
    --------
    theano.tensor.nnet.categorical_crossentropy : Return the crossentropy between the rows of `coding_dist` and true
        distributions or labels.
    theano.tensor.nnet.binary_crossentropy : Return ``-(target * log(output) + (1 - target) * log(1 - output))``
        elementwise.

    Notes
    -----
    Computed as ``target * log(1 + exp(-output)) + (1 - target) * log(1 + exp(output))``: with targets between 0 and 1 no
    term is negative, so that small losses, and their gradients, keep their digits.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.sigmoid_binary_crossentropy([0.0, 1000.0], [0, 1]).eval().round(3)
    array([0.693, 0.   ])
    """
    output, target = as_tensor_variable(output), as_tensor_variable(target)
    of_zero = softplus(output)
    if output.type.dtype in discrete_dtypes:
        # The negatives of unsigned integers wrap around.
        output = output.astype(of_zero.type.dtype)
    one = np.asarray(1, dtype=of_zero.type.dtype)
    return target * softplus(-output) + (one - target) * of_zero


class Prepend_scalar_constant_to_each_row(Op):
    """The matrix with a column of a constant in front.

    Parameters
    ----------
    val : number
        The constant.

    See Also
    --------
    theano.tensor.nnet.Prepend_scalar_to_each_row : The matrix with a column of a scalar, the first input, in front.
    theano.tensor.concatenate : Return the tensors of a list one after another along `axis`; see `join`.
    theano.tensor.nnet.prepend_0_to_each_row : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Prepend_scalar_constant_to_each_row(1)(T.constant([[5.0, 6.0], [7.0, 8.0]])).eval().tolist()
    [[1.0, 5.0, 6.0], [1.0, 7.0, 8.0]]
    """

    __props__ = ("val",)

    def __init__(self, val: Any = 0) -> None:
        self.val = float(val)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.val}}}"

    def make_node(self, mat: Any) -> Apply:
        x = as_tensor_variable(mat)
        if x.type.ndim != 2:
            raise TypeError(f"Expected a matrix as input, got {x.type}")
        return Apply(self, [x], [TensorType(x.type.dtype, (x.type.broadcastable[0], False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (mat,) = inputs
        result = np.empty((mat.shape[0], mat.shape[1] + 1), dtype=mat.dtype)
        result[:, 0] = self.val
        result[:, 1:] = mat
        output_storage[0][0] = result

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(in_shapes[0][0], in_shapes[0][1] + 1)]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grads[0][:, 1:]]


class Prepend_scalar_to_each_row(Op):
    """The matrix with a column of a scalar, the first input, in front.

    See Also
    --------
    theano.tensor.concatenate : Return the tensors of a list one after another along `axis`; see `join`.
    theano.tensor.nnet.Prepend_scalar_constant_to_each_row : The matrix with a column of a constant in front.
    theano.tensor.nnet.prepend_scalar_to_each_row : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Prepend_scalar_to_each_row()(9.0, T.constant([[5.0, 6.0], [7.0, 8.0]])).eval().tolist()
    [[9.0, 5.0, 6.0], [9.0, 7.0, 8.0]]
    """

    __props__ = ()

    def make_node(self, val: Any, mat: Any) -> Apply:
        value, x = as_tensor_variable(val), as_tensor_variable(mat)
        if value.type.ndim:
            raise TypeError(f"Expected a scalar as first input, got {value.type}")
        if x.type.ndim != 2:
            raise TypeError(f"Expected a matrix as input, got {x.type}")
        return Apply(self, [value, x], [TensorType(x.type.dtype, (x.type.broadcastable[0], False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        val, mat = inputs
        result = np.empty((mat.shape[0], mat.shape[1] + 1), dtype=mat.dtype)
        result[:, 0] = val
        result[:, 1:] = mat
        output_storage[0][0] = result

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(in_shapes[1][0], in_shapes[1][1] + 1)]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (gz,) = grads
        return [tensor_sum(gz[:, 0]), gz[:, 1:]]


prepend_scalar_to_each_row = Prepend_scalar_to_each_row()
prepend_0_to_each_row = Prepend_scalar_constant_to_each_row(0.0)
prepend_1_to_each_row = Prepend_scalar_constant_to_each_row(1.0)

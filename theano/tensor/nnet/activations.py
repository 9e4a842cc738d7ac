"""Rectifiers, hierarchical softmax and the confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.scalar.expression import Expression, call
from theano.scalar.op import UnaryScalarOp
from theano.scalar.output_types import upgrade_to_float
from theano.scalar.type import float_types, get_scalar_type
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import arange
from theano.tensor.extra_ops import Unique
from theano.tensor.joining import concatenate
from theano.tensor.math import abs_, cast, discrete_dtypes, eq, expm1, int_div, mod, switch
from theano.tensor.nnet.softmax import softmax
from theano.tensor.products import batched_dot, dot, tensordot


def relu(x: Any, alpha: Any = 0):
    """Return `x` where it is positive and ``alpha * x`` elsewhere.

    Parameters
    ----------
    x : tensor_like
        Of any shape.
    alpha : number or tensor_like
        Slope for negative input: 0 makes the standard rectifier, a value between 0 and 1 a leaky one, a shared variable
        that broadcasts against `x` a rectifier with learned slopes.

    Returns
    -------
    tensor of the common dtype of `x` and `alpha`
        An array, where `x` is one and `alpha` is 0.

    See Also
    --------
    theano.tensor.nnet.elu : Return `x` where it is positive and ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al.,
        arXiv:1511.07289).
    theano.tensor.nnet.selu : Return the scaled exponential linear unit of `x` (Klambauer et al., arXiv:1706.02515).

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.relu([-1.0, 2.0]).eval()
    array([0., 2.])
    """
    plain = isinstance(x, (np.ndarray, np.generic, int, float))
    if plain and isinstance(alpha, (int, float)) and alpha == 0:
        return 0.5 * (x + abs(x))
    x = as_tensor_variable(x)
    if x.dtype == "bool":
        # The sum of two bools is one.
        x = cast(x, "int8")
    if isinstance(alpha, (int, float)) and alpha == 0:
        return 0.5 * (x + abs_(x))
    if isinstance(alpha, (int, float)) and alpha == 1 and x.dtype not in discrete_dtypes:
        return x
    alpha = as_tensor_variable(alpha)
    f1, f2 = 0.5 * (1 + alpha), 0.5 * (1 - alpha)
    return f1 * x + f2 * abs_(x)


def elu(x: Any, alpha: Any = 1):
    """Return `x` where it is positive and ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al., arXiv:1511.07289).

    Parameters
    ----------
    x : tensor_like
        Of any shape, of floats.
    alpha : tensor_like
        Minus the limit for large negative `x`.

    Returns
    -------
    TensorVariable
        Of the shape of `x`.

    See Also
    --------
    theano.tensor.nnet.selu : Return the scaled exponential linear unit of `x` (Klambauer et al., arXiv:1706.02515).
    theano.tensor.nnet.relu : Return `x` where it is positive and ``alpha * x`` elsewhere.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.elu([-1.0, 2.0]).eval().round(3)
    array([-0.632,  2.   ])
    """
    x = as_tensor_variable(x)
    return switch(x > 0, x, alpha * expm1(x))


def selu(x: Any):
    """Return the scaled exponential linear unit of `x` (Klambauer et al., arXiv:1706.02515).

    Parameters
    ----------
    x : tensor_like
        Of any shape, of floats.

    Returns
    -------
    TensorVariable
        Of the shape of `x`.

    See Also
    --------
    theano.tensor.nnet.relu : Return `x` where it is positive and ``alpha * x`` elsewhere.
    theano.tensor.nnet.elu : Return `x` where it is positive and ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al.,
        arXiv:1511.07289).

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.selu([-1.0, 2.0]).eval().round(3)
    array([-1.111,  2.101])
    """
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


class ScalarSoftsign(UnaryScalarOp):
    """``x / (1 + abs(x))`` of a number.

    See Also
    --------
    theano.tensor.nnet.softsign : Return ``x / (1 + abs(x))`` elementwise, for integers as floats that hold them.
    theano.tensor.nnet.scalar_softsign : An instance of it.

    Examples
    --------
    >>> ScalarSoftsign.static_impl(3.0), ScalarSoftsign.static_impl(-1.0)
    (0.75, -0.5)
    """

    nfunc_spec = None

    @staticmethod
    def static_impl(x: Any) -> Any:
        return x / (1.0 + abs(x))

    def impl(self, x: Any) -> Any:
        return self.static_impl(x)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x,), (gz,) = inputs, grads
        if x.type not in float_types:
            return [x.zeros_like().astype(config.floatX)]
        d = 1.0 + abs(x)
        return [gz / (d * d)]

    def expression(self, out: str, x: Expression) -> Expression:
        if x.dtype not in ("float32", "float64"):
            raise NotImplementedError("only floating point is implemented")
        return x / (1 + call("fabs", x))


scalar_softsign = ScalarSoftsign(upgrade_to_float, name="scalar_softsign")


def softsign(x: Any):
    """Return ``x / (1 + abs(x))`` elementwise, for integers as floats that hold them.

    Parameters
    ----------
    x : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        Of the shape of `x`.

    See Also
    --------
    theano.tensor.nnet.sigmoid : Return ``1 / (1 + exp(-a))`` elementwise: exactly 0 or 1 where `a` is too small or too
        big.
    theano.tensor.tanh : Return the hyperbolic tangent of `a`.
    theano.tensor.nnet.ScalarSoftsign : ``x / (1 + abs(x))`` of a number.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.softsign([-1.0, 3.0]).eval()
    array([-0.5 ,  0.75])
    """
    x = as_tensor_variable(x)
    (kind,) = upgrade_to_float(get_scalar_type(x.dtype))
    x = cast(x, kind.dtype)
    return cast(x / (1 + abs_(x)), kind.dtype)


def h_softmax(
    x: Any,
    batch_size: int,
    n_outputs: int,
    n_classes: int,
    n_outputs_per_class: int,
    W1: Any,
    b1: Any,
    W2: Any,
    b2: Any,
    target: Any = None,
):
    """Return a two-level softmax: the probability of the class of an output times that of the output in its class.

    Outputs are grouped into classes in their order, `n_outputs_per_class` to a class.

    Parameters
    ----------
    x : tensor of shape (batch_size, features)
        A row for each example.
    batch_size, n_outputs, n_classes, n_outputs_per_class : int
        There may be more places than outputs; what is beyond is ignored.
    W1 : tensor of shape (features, n_classes)
        Weights of the first layer.
    b1 : tensor of shape (n_classes,)
        Biases of the first layer.
    W2 : tensor of shape (n_classes, features, n_outputs_per_class)
        Weights of the second layer.
    b2 : tensor of shape (n_classes, n_outputs_per_class)
        Biases of the second layer.
    target : integer tensor of shape (batch_size,) or (batch_size, 1), optional
        Compute the probability of one output for each row only.

    Returns
    -------
    tensor of shape (batch_size, n_outputs), or (batch_size,) with `target`

    See Also
    --------
    theano.tensor.nnet.softmax : Return ``exp(c) / sum(exp(c))`` of each row of a matrix, computed without overflow.
    theano.tensor.nnet.logsoftmax : Return ``log(softmax(c))`` of each row of a matrix, computed without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> W1, b1, W2, b2 = np.zeros((4, 2)), np.zeros(2), np.zeros((2, 4, 3)), np.zeros((2, 3))
    >>> p = h_softmax(np.ones((1, 4)), 1, 6, 2, 3, W1, b1, W2, b2)
    >>> bool(abs(p.eval() - 1 / 6).max() < 1e-15)
    True
    """
    x, W2, b2 = as_tensor_variable(x), as_tensor_variable(W2), as_tensor_variable(b2)
    class_probs = softmax(dot(x, W1) + b1)
    if target is None:
        activations = tensordot(x, W2, (1, 1)) + b2
        rows = activations.reshape((-1, n_outputs_per_class), ndim=2)
        output_probs = softmax(rows).reshape((batch_size, n_classes, n_outputs_per_class))
        joint = class_probs.dimshuffle(0, 1, "x") * output_probs
        flat = joint.reshape((batch_size, n_classes * n_outputs_per_class))
        return flat[:, :n_outputs]
    target = as_tensor_variable(target).flatten()
    classes = int_div(target, n_outputs_per_class)
    places = mod(target, n_outputs_per_class)
    chosen = batched_dot(x.dimshuffle(0, "x", 1), W2[classes])[:, 0, :] + b2[classes]
    output_probs = softmax(chosen)
    rows_index = arange(batch_size)
    return class_probs[rows_index, classes] * output_probs[rows_index, places]


def confusion_matrix(actual: Any, pred: Any):
    """Return how often each label was taken for each other one.

    Parameters
    ----------
    actual : vectors of labels
        The true classes, of length n.
    pred : vectors of labels
        The predicted classes, of length n.

    Returns
    -------
    list
        The matrix of counts, with a row for each actual and a column for each predicted label, and the sorted labels.

    Raises
    ------
    ValueError
        If an argument is no vector.

    See Also
    --------
    theano.tensor.extra_ops.to_one_hot : Return a matrix whose row ``i`` is 1 at column ``y[i]`` and 0 elsewhere.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [v.eval() for v in T.nnet.confusion_matrix([0, 1, 1], [0, 1, 0])]
    [array([[1, 0],
           [1, 1]]), array([0, 1])]
    """
    actual, pred = as_tensor_variable(actual), as_tensor_variable(pred)
    if actual.ndim != 1:
        raise ValueError("actual must be 1-d tensor variable")
    if pred.ndim != 1:
        raise ValueError("pred must be 1-d tensor variable")
    order = Unique(False, False, False)(concatenate([actual, pred]))
    is_actual = cast(eq(actual.dimshuffle(0, "x"), order), "int64")
    is_pred = cast(eq(pred.dimshuffle(0, "x"), order), "int64")
    return [dot(is_actual.T, is_pred), order]

"""Optimizers for :func:`theano.distributed.data_parallel`: from gradients and parameters to updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano import tensor as T
from theano.compile.sharedvalue import shared

Updates = list[tuple[Any, Any]]


def _like(param: Any, name: str) -> Any:
    value = param.get_value(borrow=True)
    return shared(np.zeros_like(value), name=f"{name} of {param.name}" if param.name else name, broadcastable=param.broadcastable)


def sgd(rate: Any) -> Callable[[Sequence[Any], Sequence[Any]], Updates]:
    """Return the optimizer of gradient descent: ``p - rate * g``.

    Parameters
    ----------
    rate : float or scalar variable
        The learning rate.

    Returns
    -------
    callable
        From gradients and parameters to updates.

    See Also
    --------
    theano.distributed.data_parallel : Make a training step of a cost; every process calls it with its part of the batch.
    theano.distributed.TrainingStep : A training step that several processes do together; `data_parallel` makes it.
    theano.distributed.momentum : Return the optimizer of gradient descent with momentum: ``v = momentum * v - rate * g``,
        ``p + v``.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano.distributed import sgd
    >>> w = theano.shared(1.0, name="w")
    >>> step = theano.function([], [], updates=sgd(0.1)([T.grad(w**2, w)], [w]))
    >>> _ = step()
    >>> float(w.get_value())
    0.8
    """
    return lambda grads, params: [(p, p - T.cast(rate, p.dtype) * g) for p, g in zip(params, grads)]


def momentum(rate: Any, momentum: Any = 0.9) -> Callable[[Sequence[Any], Sequence[Any]], Updates]:
    """Return the optimizer of gradient descent with momentum: ``v = momentum * v - rate * g``, ``p + v``.

    Parameters
    ----------
    rate : float or scalar variable
        The length of a step.
    momentum : float or scalar variable
        How much of the last step is kept.

    Returns
    -------
    callable
        From gradients and parameters to updates.

    See Also
    --------
    theano.distributed.adam : Return the optimizer Adam (D. Kingma, J. Ba: Adam, a method for stochastic optimization,
        2015, section 2).
    theano.distributed.sgd : Return the optimizer of gradient descent: ``p - rate * g``.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano.distributed import momentum
    >>> w = theano.shared(1.0, name="w")
    >>> step = theano.function([], [], updates=momentum(0.1)([T.grad(w**2, w)], [w]))
    >>> _ = step(), step()
    >>> round(float(w.get_value()), 3)
    0.46
    """

    def updates(grads: Sequence[Any], params: Sequence[Any]) -> Updates:
        result: Updates = []
        for p, g in zip(params, grads):
            velocity = _like(p, "velocity")
            new = T.cast(momentum, p.dtype) * velocity - T.cast(rate, p.dtype) * g
            result += [(velocity, new), (p, p + new)]
        return result

    return updates


def adam(rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
         epsilon: float = 1e-8) -> Callable[[Sequence[Any], Sequence[Any]], Updates]:
    """Return the optimizer Adam (D. Kingma, J. Ba: Adam, a method for stochastic optimization, 2015, section 2).

    Parameters
    ----------
    rate : float or scalar variable
        The length of a step.
    beta1 : float
        How much of the mean of gradients is kept.
    beta2 : float
        How much of the mean of squares is kept.
    epsilon : float
        Added to the root of the mean of squares.

    Returns
    -------
    callable
        From gradients and parameters to updates.

    See Also
    --------
    theano.distributed.sgd : Return the optimizer of gradient descent: ``p - rate * g``.
    theano.distributed.momentum : Return the optimizer of gradient descent with momentum: ``v = momentum * v - rate * g``,
        ``p + v``.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano.distributed import adam
    >>> w = theano.shared(1.0, name="w")
    >>> step = theano.function([], [], updates=adam(0.1)([T.grad(w**2, w)], [w]))
    >>> _ = step()
    >>> round(float(w.get_value()), 3)
    0.9
    """

    def updates(grads: Sequence[Any], params: Sequence[Any]) -> Updates:
        count = shared(np.asarray(0, "int64"), name="count of adam")
        now = count + 1
        result: Updates = [(count, now)]
        for p, g in zip(params, grads):
            power = T.cast(now, p.dtype)
            b1, b2 = np.asarray(beta1, p.dtype), np.asarray(beta2, p.dtype)
            scale = T.cast(rate, p.dtype) * T.sqrt(1 - b2**power) / (1 - b1**power)
            first, second = _like(p, "first moment"), _like(p, "second moment")
            new_first = b1 * first + (1 - b1) * g
            new_second = b2 * second + (1 - b2) * T.sqr(g)
            step = T.cast(scale, p.dtype) * new_first / (T.sqrt(new_second) + np.asarray(epsilon, p.dtype))
            result += [(first, T.cast(new_first, p.dtype)), (second, T.cast(new_second, p.dtype)), (p, T.cast(p - step, p.dtype))]
        return result

    return updates

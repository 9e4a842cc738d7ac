"""Derivatives that loop over the elements of a vector; `theano.gradient` is the documented path of these names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from theano.gof.graph import Variable
from theano.gradient import _as_list, grad
from theano.gradient_types import format_as
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import arange

__all__ = ["hessian", "jacobian"]


def _grads_of_elements(vector: Any, wrt: list[Any], what: str, **kwargs: Any) -> list[Any]:
    """For each element of `wrt` the gradients of all elements of `vector`, stacked along axis 0."""
    # Most who take all names of `theano.gradient` need no loops.
    from theano.scan_module.scan import scan

    def row_of(i: Any, expression: Any, *arguments: Any) -> list[Any]:
        return grad(expression[i], list(arguments), **kwargs)

    # Updates are empty: a gradient holds no random state of its own.
    outputs, updates = scan(row_of, sequences=arange(vector.shape[0]), non_sequences=[vector, *wrt])
    assert not updates, f"Scan has returned a list of updates while computing the {what}. This should not happen."
    return _as_list(outputs)


def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The full Jacobian of a vector, row by row.

    Parameters
    ----------
    expression : TensorVariable
        Vector (or scalar) to differentiate.
    wrt : Variable, or list or tuple of Variable
        Variable, or list or tuple of variables, to differentiate with respect to.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    Variable, or list or tuple of Variables
        For each element of `wrt` the Jacobian, of shape ``expression.shape + wrt.shape``, in the container that
        `wrt` has.

    Raises
    ------
    AssertionError
        If `expression` has more than one dimension.

    See Also
    --------
    theano.gradient.hessian : The Hessian of a scalar cost with respect to one or more vectors.
    theano.Rop : The R operator: the Jacobian of `f` with respect to `wrt`, times `eval_points`.
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> theano.gradient.jacobian(x**2, x).eval({x: [1.0, 2.0]})
    array([[2., 0.],
           [0., 4.]])
    """
    if not isinstance(expression, Variable):
        raise TypeError(f"jacobian expects a Variable as `expression`, got {type(expression)}")
    expression = as_tensor_variable(expression)
    assert expression.ndim < 2, (
        "tensor.jacobian expects a 1 dimensional variable as `expression`. If not use flatten to make it a vector"
    )
    wrt_list = _as_list(wrt)
    kwargs: dict[str, Any] = {"consider_constant": consider_constant, "disconnected_inputs": disconnected_inputs}
    if expression.ndim == 0:
        result = grad(expression, wrt_list, **kwargs)
    else:
        result = _grads_of_elements(expression, wrt_list, "jacobian", **kwargs)
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), result)


def hessian(
    cost: Any,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The Hessian of a scalar cost with respect to one or more vectors.

    Parameters
    ----------
    cost : 0-d TensorVariable
        Scalar to differentiate twice.
    wrt : vector, or list or tuple of vectors
        Vector, or list or tuple of vectors.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    Variable, or list or tuple of Variables
        One square matrix for each vector, in the container that `wrt` has.

    Raises
    ------
    AssertionError
        If `cost` is not a scalar or an element of `wrt` not a vector.

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.
    theano.gradient.jacobian : The full Jacobian of a vector, row by row.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> theano.gradient.hessian((x**3).sum(), x).eval({x: [1.0, 2.0]})
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    if not isinstance(cost, Variable):
        raise TypeError(f"hessian expects a Variable as `cost`, got {type(cost)}")
    cost = as_tensor_variable(cost)
    assert cost.ndim == 0, "tensor.hessian expects a 0 dimensional variable as `cost`"
    kwargs: dict[str, Any] = {"consider_constant": consider_constant, "disconnected_inputs": disconnected_inputs}
    result = []
    for x in _as_list(wrt):
        assert isinstance(x, Variable) and x.ndim == 1, "tensor.hessian expects a (list of) 1 dimensional variable as `wrt`"
        first = grad(cost, x, **kwargs)
        # Where the cost depends on a vector, its gradient need not: that of a sum is constant.
        result.extend(_grads_of_elements(first, [x], "hessian", **{**kwargs, "disconnected_inputs": "ignore"}))
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), result)


for _function in (jacobian, hessian):
    _function.__module__ = "theano.gradient"

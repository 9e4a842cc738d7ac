"""Identities that change how gradients pass; `theano.gradient` is the documented path of these names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from theano.gof.copying import ViewOp
from theano.gof.graph import Apply
from theano.gof.opt import OpRemove, local_optimizer
from theano.gradient_types import disconnected_type, grad_undefined
from theano.tensor.math import clip
from theano.tensor.rewriting.registry import register_canonicalize


class _GradientIdentity(ViewOp):
    """An identity that treats the gradient in its own way; a rewrite removes it from compiled graphs."""

    __props__: tuple[str, ...] = ()

    def __str__(self) -> str:
        return type(self).__name__

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [eval_points[0]]


class ConsiderConstant(_GradientIdentity):
    """Identity with a zero gradient.

    See Also
    --------
    theano.gradient.consider_constant : Deprecated: use `zero_grad` or `disconnected_grad`.
    theano.gradient.consider_constant_ : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = x * ConsiderConstant()(x)  # x**2, and the gradient of a product with a constant.
    >>> float(T.grad(y, x).eval({x: 3}))
    3.0
    """

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        return [g.zeros_like() for g in output_gradients]


class ZeroGrad(_GradientIdentity):
    """Identity with a zero gradient and a zero R operator.

    See Also
    --------
    theano.gradient.zero_grad : An expression equal to `x` through which a gradient of zero is back-propagated.
    theano.gradient.zero_grad_ : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = x * ZeroGrad()(x)
    >>> float(T.grad(y, x).eval({x: 3}))
    3.0
    """

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        return [g.zeros_like() for g in output_gradients]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if eval_points[0] is None else eval_points[0].zeros_like()]


class UndefinedGrad(_GradientIdentity):
    """Identity whose gradient is undefined.

    See Also
    --------
    theano.gradient.undefined_grad : An expression equal to `x` whose gradient is undefined: taking it raises
        NullTypeGradError.
    theano.gradient.undefined_grad_ : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = UndefinedGrad()(x)
    >>> float(y.eval({x: 3}))
    3.0
    >>> grad(y, x)
    Traceback (most recent call last):
        ...
    theano.gradient.NullTypeGradError: tensor.grad encountered a NaN. This variable is Null because the grad method...
    """

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        return [grad_undefined(self, i, x) for i, x in enumerate(inputs)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]]


class DisconnectedGrad(_GradientIdentity):
    """Identity that disconnects its input.

    See Also
    --------
    theano.gradient.disconnected_grad : An expression equal to `x` that is not back-propagated through.
    theano.gradient.disconnected_grad_ : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> T.grad(DisconnectedGrad()(x), x)
    Traceback (most recent call last):
        ...
    theano.gradient.DisconnectedInputError: grad method was asked to compute the gradient with respect to a variable...
    """

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        return [disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]


class GradClip(_GradientIdentity):
    """Identity that clips the gradient elementwise between two bounds.

    Parameters
    ----------
    clip_lower_bound, clip_upper_bound : float
        The bounds.

    Raises
    ------
    ValueError
        The upper bound is below the lower one.

    See Also
    --------
    theano.gradient.grad_clip : An expression equal to `x` whose gradient is clipped elementwise to ``[lower_bound,
        upper_bound]``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> float(T.grad(GradClip(-1, 1)(x) ** 2, x).eval({x: 3}))  # Without it, 6.
    1.0
    """

    __props__ = ("clip_lower_bound", "clip_upper_bound")

    def __init__(self, clip_lower_bound: float, clip_upper_bound: float) -> None:
        self.clip_lower_bound = clip_lower_bound
        self.clip_upper_bound = clip_upper_bound
        if not clip_upper_bound >= clip_lower_bound:
            raise ValueError("grad_clip: the upper bound is below the lower one.")

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        return [clip(g, self.clip_lower_bound, self.clip_upper_bound) for g in output_gradients]


class GradScale(_GradientIdentity):
    """Identity that multiplies the gradient.

    Parameters
    ----------
    multiplier : float
        What the gradient is multiplied by.

    See Also
    --------
    theano.gradient.grad_scale : An expression equal to `x` whose gradient is multiplied by `multiplier`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> float(T.grad(GradScale(-0.5)(x) ** 2, x).eval({x: 3}))
    -3.0
    """

    __props__ = ("multiplier",)

    def __init__(self, multiplier: float) -> None:
        self.multiplier = multiplier

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        return [self.multiplier * g for g in output_gradients]


consider_constant_ = ConsiderConstant()
zero_grad_ = ZeroGrad()
undefined_grad_ = UndefinedGrad()
disconnected_grad_ = DisconnectedGrad()


for _op, _name in (
    (consider_constant_, "remove_consider_constant"),
    (zero_grad_, "remove_zero_grad"),
    (disconnected_grad_, "remove_disconnected_grad"),
    (undefined_grad_, "remove_undefined_grad"),
):
    register_canonicalize(OpRemove(_op), "fast_compile", name=_name)


@register_canonicalize("fast_compile")
@local_optimizer([GradClip, GradScale])
def remove_grad_identities(node: Any) -> Any:
    """``grad_clip(x) -> x`` and ``grad_scale(x) -> x``: they act on gradients, which have been taken."""
    return [node.inputs[0]]


def consider_constant(x: Any) -> Any:
    """Deprecated: use `zero_grad` or `disconnected_grad`.

    Parameters
    ----------
    x : Variable
        The expression whose gradient to truncate.

    Returns
    -------
    Variable
        An expression equal to `x` whose gradient is zero.

    See Also
    --------
    theano.gradient.disconnected_grad : An expression equal to `x` that is not back-propagated through.
    theano.gradient.zero_grad : An expression equal to `x` through which a gradient of zero is back-propagated.
    theano.gradient.ConsiderConstant : Identity with a zero gradient.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.grad(x * theano.gradient.consider_constant(x), x).eval({x: 3.0})
    array(3.)
    """
    warnings.warn(
        "consider_constant() is deprecated, use zero_grad() or disconnected_grad() instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return consider_constant_(x)


def zero_grad(x: Any) -> Any:
    """An expression equal to `x` through which a gradient of zero is back-propagated.

    Parameters
    ----------
    x : tensor variable
        Of any shape and dtype.

    Returns
    -------
    TensorVariable
        Equal to `x`.

    See Also
    --------
    theano.gradient.consider_constant : Deprecated: use `zero_grad` or `disconnected_grad`.
    theano.gradient.disconnected_grad : An expression equal to `x` that is not back-propagated through.
    theano.gradient.undefined_grad : An expression equal to `x` whose gradient is undefined: taking it raises
        NullTypeGradError.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dscalar('x')
    >>> float(theano.function([x], theano.grad(x * zero_grad(x), x))(3.))
    3.0
    """
    return zero_grad_(x)


def undefined_grad(x: Any) -> Any:
    """An expression equal to `x` whose gradient is undefined: taking it raises NullTypeGradError.

    Parameters
    ----------
    x : tensor variable
        Of any shape and dtype.

    Returns
    -------
    TensorVariable
        Equal to `x`.

    See Also
    --------
    theano.gradient.zero_grad : An expression equal to `x` through which a gradient of zero is back-propagated.
    theano.gradient.disconnected_grad : An expression equal to `x` that is not back-propagated through.
    theano.gradient.UndefinedGrad : Identity whose gradient is undefined.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> T.grad(undefined_grad(x) ** 2, x)
    Traceback (most recent call last):
        ...
    theano.gradient.NullTypeGradError: ...
    """
    return undefined_grad_(x)


def disconnected_grad(x: Any) -> Any:
    """An expression equal to `x` that is not back-propagated through.

    This is quicker than `zero_grad`, for which the graph below `x` is still visited. If `x` is the only way from
    the cost to an element of `wrt`, that element is disconnected.

    Parameters
    ----------
    x : tensor variable
        Of any shape and dtype.

    Returns
    -------
    TensorVariable
        Equal to `x`.

    See Also
    --------
    theano.gradient.zero_grad : An expression equal to `x` through which a gradient of zero is back-propagated.
    theano.gradient.consider_constant : Deprecated: use `zero_grad` or `disconnected_grad`.
    theano.gradient.undefined_grad : An expression equal to `x` whose gradient is undefined: taking it raises
        NullTypeGradError.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.grad(x * theano.gradient.disconnected_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return disconnected_grad_(x)


def grad_clip(x: Any, lower_bound: float, upper_bound: float) -> Any:
    """An expression equal to `x` whose gradient is clipped elementwise to ``[lower_bound, upper_bound]``.

    Parameters
    ----------
    x : tensor variable
        Of any shape, of floats.
    lower_bound, upper_bound : float
        The bounds.

    Returns
    -------
    TensorVariable
        Equal to `x`.

    See Also
    --------
    theano.gradient.grad_scale : An expression equal to `x` whose gradient is multiplied by `multiplier`.
    theano.gradient.GradClip : Identity that clips the gradient elementwise between two bounds.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dscalar('x')
    >>> float(theano.function([x], theano.grad(grad_clip(x, -1, 1) ** 2, x))(2.))
    1.0
    """
    return GradClip(lower_bound, upper_bound)(x)


def grad_scale(x: Any, multiplier: float) -> Any:
    """An expression equal to `x` whose gradient is multiplied by `multiplier`.

    Parameters
    ----------
    x : tensor variable
        Of any shape, of floats.
    multiplier : float
        The factor.

    Returns
    -------
    TensorVariable
        Equal to `x`.

    See Also
    --------
    theano.gradient.grad_clip : An expression equal to `x` whose gradient is clipped elementwise to ``[lower_bound,
        upper_bound]``.
    theano.gradient.GradScale : Identity that multiplies the gradient.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dscalar('x')
    >>> float(theano.function([x], theano.grad(grad_scale(x, -2.) * 3, x))(1.))
    -6.0
    """
    return GradScale(multiplier)(x)


for _class in (ConsiderConstant, ZeroGrad, UndefinedGrad, DisconnectedGrad, GradClip, GradScale):
    _class.__module__ = "theano.gradient"

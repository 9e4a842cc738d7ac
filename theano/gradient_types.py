"""Types, errors and placeholders of differentiation; `theano.gradient` is the documented path of these names."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Variable
from theano.gof.hooks import Hook
from theano.gof.null_type import NullType
from theano.gof.type import SingletonType


class NullTypeGradError(TypeError):
    """Raised when `grad` meets a gradient of NullType: it is undefined or not implemented.

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.
    theano.gof.null_type.NullType : A type that no value has.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> grad(undefined_grad(x) ** 2, x)
    Traceback (most recent call last):
        ...
    theano.gradient.NullTypeGradError: tensor.grad encountered a NaN. This variable is Null because the grad method...
    """


class DisconnectedInputError(ValueError):
    """Raised when an element of `wrt` is disconnected and `disconnected_inputs='raise'`.

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("xy")
    >>> grad(x**2, y)
    Traceback (most recent call last):
        ...
    theano.gradient.DisconnectedInputError: grad method was asked to compute the gradient with respect to a variable...
    >>> float(grad(x**2, y, disconnected_inputs="ignore").eval({y: 1}))
    0.0
    """


class DisconnectedType(SingletonType):
    """Type of the gradient with respect to a variable that the cost does not depend on.

    A variable of this type stands for a zero of any shape. It has no value: filtering one raises.

    See Also
    --------
    theano.gof.null_type.NullType : A type that no value has.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("xy")
    >>> g = grad(x**2, y, disconnected_inputs="ignore", return_disconnected="disconnected")
    >>> g.type == DisconnectedType()
    True
    """

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        raise AssertionError(
            "If you are assigning to a DisconnectedType instance, something is wrong: a disconnected gradient "
            "has no value. Call zeros_like on the variable that it is the gradient of."
        )

    def fiddle_grad(self, x: Any) -> Any:
        raise AssertionError("a disconnected gradient has no value")

    def values_eq(self, a: Any, b: Any, force_same_dtype: bool = True) -> bool:
        raise AssertionError("a disconnected gradient has no value")


disconnected_type = DisconnectedType()

#: ``gradient_of(cost, wrt, **options)``: `theano.gradient.grad`, for Ops whose gradient or R-operator is a gradient.
gradient_of = Hook("differentiates")


def format_as(use_list: bool, use_tuple: bool, outputs: Any) -> Any:
    """Give `outputs` the container that the flags ask for.

    Parameters
    ----------
    use_list, use_tuple : bool
        Return a list, or a tuple. At most one of them may be true.
    outputs : object
        One object, or a list or tuple of them.

    Returns
    -------
    list, tuple or object
        With both flags false: `outputs` itself, or the only element of a list or tuple.

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> format_as(True, False, 3)
    [3]
    """
    assert not (use_list and use_tuple), "Both flags cannot be simultaneously True"
    if use_list or use_tuple:
        container = list if use_list else tuple
        return container(outputs) if isinstance(outputs, list | tuple) else container((outputs,))
    if isinstance(outputs, list | tuple):
        assert len(outputs) == 1, f"Wrong arguments: expected one output, got {len(outputs)}"
        return outputs[0]
    return outputs


def grad_not_implemented(op: Any, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """A variable that stands for a gradient nobody has written yet.

    Parameters
    ----------
    op : Op
        The Op whose `grad` method calls this.
    x_pos : int
        Position of `x` among the inputs of `op`.
    x : Variable
        The input.
    comment : str
        Why it is not implemented; it becomes part of the error message.

    Returns
    -------
    Variable
        A variable of NullType. It cannot be computed: `grad` raises NullTypeGradError when it meets it.

    See Also
    --------
    grad_undefined : For a gradient that does not exist.

    Examples
    --------
    >>> import theano.tensor as T
    >>> grad_not_implemented("my op", 0, T.dscalar("x")).type.why_null
    'This variable is Null because the grad method for input 0 (x) of the my op op is not implemented.'
    """
    why = f"This variable is Null because the grad method for input {x_pos} ({x}) of the {op} op is not implemented."
    return NullType(f"{why} {comment}" if comment else why)()


def grad_undefined(op: Any, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """A variable that stands for a gradient which mathematics does not define.

    Parameters
    ----------
    op : Op
        The operation.
    x_pos : int
        The number of the input.
    x : Variable
        The input.
    comment : str
        Why.

    Returns
    -------
    Variable
        Of the type `NullType`.

    See Also
    --------
    grad_not_implemented : For a gradient that nobody has written.

    Examples
    --------
    >>> import theano.tensor as T
    >>> grad_undefined("my op", 0, T.dscalar("x")).type.why_null
    'This variable is Null because the grad method for input 0 (x) of the my op op is mathematically undefined.'
    """
    why = f"This variable is Null because the grad method for input {x_pos} ({x}) of the {op} op is mathematically undefined."
    return NullType(f"{why} {comment}" if comment else why)()


for _class in (NullTypeGradError, DisconnectedInputError, DisconnectedType):
    _class.__module__ = "theano.gradient"

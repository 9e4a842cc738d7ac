"""Ops that raise exceptions: always, or when a condition does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof import hooks
from theano.gof.graph import Apply, Variable, as_variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType


class Raise(Op):
    """Raise an exception whenever it runs.

    Parameters
    ----------
    msg : str
        The exception's message.
    exc : type
        The exception's class.

    See Also
    --------
    theano.raise_op.Assert : Return the first input, after checking that all others are true.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = Raise("the model is not trained", RuntimeError)(x)
    >>> y.eval({x: 3})
    Traceback (most recent call last):
        ...
    RuntimeError: the model is not trained...
    """

    __props__ = ("msg", "exc")

    def __init__(self, msg: str = "", exc: type[BaseException] = NotImplementedError):
        self.msg = msg
        self.exc = exc

    def __str__(self) -> str:
        return f"Raise{{{self.exc}({self.msg})}}"

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Sequence[list]) -> None:
        raise self.exc(self.msg)

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> list[Variable]:
        return list(output_grads)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]]


class Assert(Op):
    """Return the first input, after checking that all others are true.

    Parameters
    ----------
    msg : str
        Message of the exception.
    exc : type
        The exception's class, by default AssertionError.

    See Also
    --------
    theano.raise_op.Raise : Raise an exception whenever it runs.
    theano.raise_op.assert_op : An instance of it.

    Notes
    -----
    This is a debugging aid: rewrites may remove it, and checks of what is then not computed do not run.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector('x')
    >>> f = theano.function([x], T.opt.Assert('x is not small')(x, x.size < 2))
    >>> f([1.0])
    array([1.])
    """

    _f16_ok = True
    view_map = {0: [0]}
    __props__ = ("msg", "exc")
    check_input = False
    # Merging treats ``f(check(x))`` and ``f(x)`` as one computation.
    _assert_like = True

    def __init__(self, msg: str = "Theano Assert failed!", exc: type[Exception] = AssertionError):
        self.msg = msg
        self.exc = exc

    def __str__(self) -> str:
        return f"{type(self).__name__}{{msg={self.msg!r}}}"

    def __setstate__(self, attrs: dict) -> None:
        self.__dict__.update(attrs)
        self.__dict__.setdefault("msg", "Theano Assert failed!")
        self.__dict__.setdefault("exc", AssertionError)

    def make_node(self, value: Any, *conds: Any) -> Apply:
        value = as_variable(value)
        cond = [hooks.as_variable(c) for c in conds]
        if any(c.type.ndim != 0 for c in cond):
            raise TypeError("Assert: the conditions must be scalars")
        return Apply(self, [value, *cond], [value.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], out_storage: Sequence[list]) -> None:
        value, *conds = inputs
        out_storage[0][0] = value
        if not np.all(conds):
            raise self.exc(self.msg)

    def grad(self, inputs: Sequence[Variable], output_gradients: Sequence[Variable]) -> list[Variable]:
        return [*output_gradients, *(DisconnectedType()() for _ in inputs[1:])]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Any]) -> list[Any]:
        return [eval_points[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        return [input_shapes[0]]


assert_op = Assert()

"""``x log x`` and ``x log y`` that are 0 where ``x`` is 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import scalar as scal
from theano.scalar.expression import Expression, call, operands, select
from theano.tensor.elemwise import Elemwise


class XlogX(scal.UnaryScalarOp):
    """``x * log(x)``, 0 where `x` is 0."""

    @staticmethod
    def st_impl(x: Any) -> Any:
        return 0.0 if x == 0.0 else x * np.log(x)

    def impl(self, x: Any) -> Any:
        return XlogX.st_impl(x)

    def grad(self, inputs: Any, grads: Any) -> list[Any]:
        (x,), (gz,) = inputs, grads
        return [gz * (1 + scal.log(x))]

    def expression(self, out: str, x: Expression) -> Expression:
        return scalar_xlogy0.expression(out, x, x)


class XlogY0(scal.BinaryScalarOp):
    """``x * log(y)``, 0 where `x` is 0."""

    @staticmethod
    def st_impl(x: Any, y: Any) -> Any:
        return 0.0 if x == 0.0 else x * np.log(y)

    def impl(self, x: Any, y: Any) -> Any:
        return XlogY0.st_impl(x, y)

    def grad(self, inputs: Any, grads: Any) -> list[Any]:
        (x, y), (gz,) = inputs, grads
        return [gz * scal.log(y), gz * x / y]

    def expression(self, out: str, *inputs: Expression) -> Expression:
        if out not in ("float32", "float64"):
            raise NotImplementedError("only floatingpoint is implemented")
        x, y = operands(out, inputs)
        return select(x.equals(0), 0, x * call("log", y))


scalar_xlogx = XlogX(scal.upgrade_to_float, name="scalar_xlogx")
xlogx = Elemwise(scalar_xlogx, name="xlogx")
scalar_xlogy0 = XlogY0(scal.upgrade_to_float, name="scalar_xlogy0")
xlogy0 = Elemwise(scalar_xlogy0, name="xlogy0")

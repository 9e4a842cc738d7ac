"""``x log x`` and ``x log y`` that are 0 where ``x`` is 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import scalar as scal
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

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        (x,), (z,) = inputs, outputs
        if node.inputs[0].type not in (scal.float32, scal.float64):
            raise NotImplementedError("only floatingpoint is implemented")
        return f"{z} = {x} == 0.0 ? 0.0 : {x} * log({x});"

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


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

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        (x, y), (z,) = inputs, outputs
        if node.inputs[0].type not in (scal.float32, scal.float64):
            raise NotImplementedError("only floatingpoint is implemented")
        return f"{z} = {x} == 0.0 ? 0.0 : {x} * log({y});"

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


scalar_xlogx = XlogX(scal.upgrade_to_float, name="scalar_xlogx")
xlogx = Elemwise(scalar_xlogx, name="xlogx")
scalar_xlogy0 = XlogY0(scal.upgrade_to_float, name="scalar_xlogy0")
xlogy0 = Elemwise(scalar_xlogy0, name="xlogy0")

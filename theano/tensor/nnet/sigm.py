"""The sigmoid and its kin: exact, approximated by line segments, and softplus."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import aliases, printing
from theano import scalar as scal
from theano.printing import pprint
from theano.scalar import ScalarSigmoid, ScalarSoftplus, scalar_sigmoid, scalar_softplus
from theano.scalar.expression import Expression, call, cast, select
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.elemwise import Elemwise
from theano.tensor.math import clip

__all__ = [
    "ScalarSigmoid",
    "ScalarSoftplus",
    "UltraFastScalarSigmoid",
    "hard_sigmoid",
    "scalar_sigmoid",
    "scalar_softplus",
    "sigmoid",
    "sigmoid_inplace",
    "softplus",
    "ultra_fast_scalar_sigmoid",
    "ultra_fast_sigmoid",
    "ultra_fast_sigmoid_inplace",
]

sigmoid = Elemwise(scalar_sigmoid, name="sigmoid")
sigmoid.describe_as(
    "T.nnet.sigmoid",
    """Return ``1 / (1 + exp(-a))`` elementwise: exactly 0 or 1 where `a` is too small or too big.

    See :func:`ultra_fast_sigmoid` and :func:`hard_sigmoid` for approximations.
    """,
)
sigmoid_inplace = Elemwise(ScalarSigmoid(scal.transfer_type(0)), {0: 0}, name="sigmoid_inplace")
pprint.assign(sigmoid, printing.FunctionPrinter("sigmoid"))

softplus = Elemwise(scalar_softplus, name="softplus")
softplus.describe_as(
    "T.nnet.softplus",
    "Return ``log(1 + exp(a))`` elementwise, without overflow: exactly 0 where `a` is too small.",
)
pprint.assign(softplus, printing.FunctionPrinter("softplus"))


class UltraFastScalarSigmoid(scal.UnaryScalarOp):
    """The sigmoid approximated piecewise through ``x / (1 + x)``, between 0.00247262315663 and 0.997527376843.

    See Also
    --------
    theano.tensor.nnet.ultra_fast_sigmoid : Return an approximation of the sigmoid of `a`, between 0.00247262315663 and
        0.997527376843.
    theano.tensor.nnet.ultra_fast_scalar_sigmoid : An instance of it.

    Examples
    --------
    >>> [round(UltraFastScalarSigmoid.st_impl(x), 4) for x in (-10.0, 0.0, 1.0)]
    [0.0025, 0.5, 0.75]
    """

    nfunc_spec = None

    @staticmethod
    def st_impl(x: Any) -> Any:
        half = 0.5 * x
        if x >= 0:
            # Three pieces of a quadratic-rational approximation of tanh(x / 2).
            if half < 1.7:
                z = 1.5 * half / (1 + half)
            elif half < 3:
                z = 0.935409070603099 + 0.0458812946797165 * (half - 1.7)
            else:
                z = 0.99505475368673
        else:
            back = -half
            if back < 1.7:
                z = 1.5 * back / (1 + back)
            elif back < 3:
                z = 0.935409070603099 + 0.0458812946797165 * (back - 1.7)
            else:
                z = 0.99505475368673
            z = -z
        return 0.5 * (z + 1.0)

    def impl(self, x: Any) -> Any:
        return UltraFastScalarSigmoid.st_impl(x)

    def expression(self, out: str, x: Expression) -> Expression:
        if x.dtype not in ("float32", "float64") or out not in ("float32", "float64"):
            raise NotImplementedError("only floatingpoint is implemented")
        x = cast(x, "float64")
        half = 0.5 * call("fabs", x)
        line = 0.935409070603099 + 0.0458812946797165 * (half - 1.7)
        piece = select(half < 1.7, 1.5 * half / (1 + half), select(half < 3, line, 0.99505475368673))
        return 0.5 * (select(x >= 0, piece, -piece) + 1)

    def grad(self, inputs: Any, grads: Any) -> list[Any]:
        (x,), (gz,) = inputs, grads
        # The derivative of the approximated function serves as that of the approximation.
        y = scalar_sigmoid(x)
        return [gz * y * (1.0 - y)]


ultra_fast_scalar_sigmoid = UltraFastScalarSigmoid(scal.upgrade_to_float, name="ultra_fast_scalar_sigmoid")
ultra_fast_sigmoid = Elemwise(ultra_fast_scalar_sigmoid, name="ultra_fast_sigmoid")
ultra_fast_sigmoid.describe_as(
    "T.nnet.ultra_fast_sigmoid",
    """Return an approximation of the sigmoid of `a`, between 0.00247262315663 and 0.997527376843.

    The rewrite ``local_ultra_fast_sigmoid`` puts it in the place of every sigmoid.
    """,
)
ultra_fast_sigmoid_inplace = Elemwise(
    UltraFastScalarSigmoid(scal.transfer_type(0)), {0: 0}, name="ultra_fast_sigmoid_inplace"
)
pprint.assign(ultra_fast_sigmoid, printing.FunctionPrinter("ultra_fast_sigmoid"))


def hard_sigmoid(x: Any):
    """Return the line ``0.2 * x + 0.5`` clipped to the range from 0 to 1, an approximation of the sigmoid.

    The rewrite ``local_hard_sigmoid`` puts it in the place of every sigmoid.

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
    theano.tensor.nnet.ultra_fast_sigmoid : Return an approximation of the sigmoid of `a`, between 0.00247262315663 and
        0.997527376843.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.hard_sigmoid([-9.0, 0.0, 1.0]).eval()
    array([0. , 0.5, 0.7])
    """
    x = as_tensor_variable(x)
    # Constants of the output's own dtype keep it from being widened.
    out_dtype = scal.upgrade_to_float(scal.get_scalar_type(dtype=x.dtype))[0].dtype
    slope = constant(np.asarray(0.2, dtype=out_dtype))
    shift = constant(np.asarray(0.5, dtype=out_dtype))
    return clip(x * slope + shift, 0, 1)


__getattr__, __dir__ = aliases.lazy(__name__)

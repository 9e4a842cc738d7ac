"""Numbers chosen or passed on: clip, switch, extremes, identity, second."""

from __future__ import annotations

import numpy as np

from theano.configdefaults import config
from theano.gof import Variable
from theano.scalar.expression import comparable, fold, operands, select
from theano.scalar.op import BinaryScalarOp, ScalarOp, UnaryScalarOp, zeros_for
from theano.scalar.output_types import same_out, transfer_type, upcast_out, upcast_out_no_complex
from theano.scalar.type import ScalarConstant, complex_types, continuous_types, discrete_types, ops


class Clip(ScalarOp):
    """Value forced into an interval: ``min`` if below it, ``max`` if above.

    Examples
    --------
    >>> from theano.scalar import clip
    >>> print(clip(7, 0, 5).eval())
    5
    """

    nin = 3
    nfunc_spec = ("clip", 3, 1)
    output_types_preference = staticmethod(upcast_out_no_complex)

    def impl(self, x, min, max):
        return np.where(np.less(x, min), min, np.where(np.greater(x, max), max, x))[()]

    def expression(self, out, *inputs):
        x, low, high = operands(out, inputs)
        compared, least, most = comparable(inputs)
        return select(compared < least, low, select(compared > most, high, x))

    def L_op(self, inputs, outputs, output_gradients):
        x, low, high = inputs
        (gz,) = output_gradients
        if outputs[0].type in discrete_types:
            return zeros_for(inputs)
        inside = ops.and_(ops.ge(x, low), ops.le(x, high))
        grads = [
            switch(inside, gz, 0),
            switch(ops.lt(x, low), gz, 0),
            switch(ops.gt(x, high), gz, 0),
        ]
        return grads


class Second(BinaryScalarOp):
    """The second of two inputs; on tensors it fills the shape of the first with the second.

    Examples
    --------
    >>> from theano.scalar import float64, second
    >>> x = float64("x")
    >>> x.zeros_like().owner.op, float(second(x, 2.5).eval({x: 1.0}))
    (second, 2.5)
    """

    output_types_preference = staticmethod(transfer_type(1))

    def impl(self, x, y):
        return y

    def expression(self, out, x, y):
        return y

    def connection_pattern(self, node):
        # Only the shape of the first input matters.
        return [[False], [True]]

    def L_op(self, inputs, outputs, output_gradients):
        from theano.gradient_types import DisconnectedType

        x, y = inputs
        (gz,) = output_gradients
        if y.type in continuous_types:
            return [DisconnectedType()(), gz]
        return [DisconnectedType()(), y.zeros_like(dtype=config.floatX)]


class Identity(UnaryScalarOp):
    """The input itself.

    Examples
    --------
    >>> from theano.scalar import float64, identity
    >>> x = float64("x")
    >>> identity(x) is x, float(identity(x).eval({x: 2.0}))
    (False, 2.0)
    """

    output_types_preference = staticmethod(same_out)

    def impl(self, input):
        return input

    def expression(self, out, x):
        return x

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        return [gz] if x.type in continuous_types else zeros_for(inputs)


class Switch(ScalarOp):
    """The second input where the first is true, else the third.

    Examples
    --------
    >>> from theano.scalar import switch
    >>> print(switch(True, 1, 2.5).eval())
    1.0
    >>> print(switch(False, 1, 2.5).eval())
    2.5
    """

    nin = 3
    nfunc_spec = ("where", 3, 1)

    def impl(self, cond, ift, iff):
        return np.where(cond, ift, iff)[()]

    def output_types(self, types):
        return upcast_out(*types[1:])

    def expression(self, out, cond, ift, iff):
        return select(cond, *operands(out, (ift, iff)))

    def L_op(self, inputs, outputs, output_gradients):
        cond, ift, iff = inputs
        (gz,) = output_gradients
        if outputs[0].type in discrete_types:
            return zeros_for(inputs)
        condition_grad = cond.zeros_like(dtype=config.floatX) if cond.type in discrete_types else cond.zeros_like()
        first = switch(cond, gz, ScalarConstant(gz.type, 0))
        second = switch(cond, ScalarConstant(gz.type, 0), gz)
        return [
            condition_grad,
            first,
            second,
        ]


class _Extreme(BinaryScalarOp):
    """The one of two numbers that comes first in an order; NaN if one is NaN."""

    commutative = True
    associative = True
    output_types_preference = staticmethod(upcast_out)
    np_func: np.ufunc
    relation: str
    """The operator that tells the order."""

    def impl(self, x, y):
        with np.errstate(all="ignore"):
            return self.np_func(x, y)

    def expression(self, out, *inputs):
        if out.startswith("complex"):
            raise NotImplementedError(f"{self.nfunc_spec[0]} of complex numbers has no native code")
        x, y = operands(out, inputs)
        first = fold(self.relation, (x, y))
        if out[0] in "biu":
            return select(first, x, y)
        # A comparison with NaN is false: NaN wins as the second by that, as the first by the test.
        return select(fold("bitor", (first, x.differs(x))), x, y)

    def L_op(self, inputs, outputs, output_gradients):
        x, y = inputs
        (gz,) = output_gradients
        if outputs[0].type in complex_types:
            raise NotImplementedError(f"{self.nfunc_spec[0]} of complex numbers has no gradient")
        if outputs[0].type in discrete_types:
            return zeros_for(inputs)
        chosen = ops.ge if self.relation == "gt" else ops.le
        return _extreme_grads(gz, chosen(x, y))


class ScalarMaximum(_Extreme):
    """The larger of two numbers; NaN if one is NaN.

    Examples
    --------
    >>> from theano.scalar import maximum
    >>> print(maximum(1.0, 2.0).eval())
    2.0
    >>> print(maximum(1.0, float('nan')).eval())
    nan
    """

    nfunc_spec = ("maximum", 2, 1)
    np_func = np.maximum
    relation = "gt"


class ScalarMinimum(_Extreme):
    """The smaller of two numbers; NaN if one is NaN.

    Examples
    --------
    >>> from theano.scalar import minimum
    >>> print(minimum(1.0, 2.0).eval())
    1.0
    >>> print(minimum(float('nan'), 2.0).eval())
    nan
    """

    nfunc_spec = ("minimum", 2, 1)
    np_func = np.minimum
    relation = "lt"


Maximum = ScalarMaximum
Minimum = ScalarMinimum


def _extreme_grads(gz, first_wins) -> list[Variable]:
    # The gradient of a tie goes to the first input.
    zero = ScalarConstant(gz.type, 0)
    return [switch(first_wins, gz, zero), switch(first_wins, zero, gz)]


clip = Clip(upcast_out_no_complex, name="clip")
second = Second(transfer_type(1), name="second")
identity = Identity(same_out, name="identity")
switch = Switch()
scalar_maximum = ScalarMaximum(upcast_out, name="maximum")
scalar_minimum = ScalarMinimum(upcast_out, name="minimum")
maximum = scalar_maximum
minimum = scalar_minimum

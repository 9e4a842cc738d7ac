"""Arithmetic on numbers: sums, products, quotients, powers, signs, extremes, selection and casts."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import Variable
from theano.scalar.convert import as_scalar
from theano.scalar.expression import (
    call,
    cast,
    compute_dtype,
    constant,
    declare_function,
    fold,
    operands,
    select,
)
from theano.scalar.op import BinaryScalarOp, ScalarOp, UnaryScalarOp, chain, number, zeros_for
from theano.scalar.output_types import (
    same_out,
    same_out_nobool,
    same_out_nocomplex,
    true_div_out,
    upcast_out,
    upcast_out_min8,
    upcast_out_nobool,
    upgrade_to_float,
)
from theano.scalar.selection import switch
from theano.scalar.type import (
    complex_types,
    discrete_types,
    get_scalar_type,
    ops,
)


class IntegerDivisionError(Exception):
    """Raised by ``/`` on two integers when ``config.int_division`` is ``raise``.

    See Also
    --------
    theano.scalar.TrueDiv : Quotient; of integers, one of floatX.

    Examples
    --------
    >>> import theano
    >>> from theano.scalar import int8
    >>> with theano.change_flags(int_division="raise"):
    ...     div_proxy(int8("i"), int8("j"))
    Traceback (most recent call last):
    theano.scalar.arithmetic.IntegerDivisionError: With `config.int_division` set to 'raise', ...
    """


class ComplexError(NotImplementedError):
    """Raised where an operation has no meaning for complex numbers.

    See Also
    --------
    theano.scalar.Complex : Complex number of a real and an imaginary part.

    Examples
    --------
    >>> from theano.scalar import complex128
    >>> complex128("z") // 2
    Traceback (most recent call last):
    theano.scalar.arithmetic.ComplexError: Theano does not support integer division (//) on complex numbers, ...
    """


def _widened(inputs: Any) -> Any:
    # Partial results of some inputs must not wrap round in a type narrower than that of the whole.
    dtypes = {np.asarray(x).dtype for x in inputs} if len(inputs) > 2 else ()
    if len(dtypes) < 2:
        return inputs
    return (np.asarray(inputs[0]).astype(np.result_type(*dtypes))[()], *inputs[1:])


class _Fold(ScalarOp):
    """An operation on any number of inputs, one after another."""

    commutative = True
    associative = True
    output_types_preference = staticmethod(upcast_out)
    operators: tuple[str, str]
    """The operator between numbers and that between bools."""

    def impl(self, *inputs):
        with np.errstate(all="ignore"):
            return reduce(getattr(np, self.nfunc_spec[0]), _widened(inputs))

    def expression(self, out, *inputs):
        if not inputs:
            return constant(self.identity, out)
        x = operands(out, inputs)
        return x[0] if len(x) == 1 else fold(self.operators[out == "bool"], x)


class Add(_Fold):
    """Sum of any number of inputs; of bools, their logical or.

    Examples
    --------
    >>> from theano.scalar import add
    >>> print(add(1, 2, 3).eval())
    6
    >>> print(add(True, True).eval())
    True
    """

    identity = 0
    nfunc_spec = ("add", 2, 1)
    sign = "+"
    operators = ("add", "or")

    def L_op(self, inputs, outputs, output_gradients):
        (gz,) = output_gradients
        if outputs[0].type in discrete_types:
            return zeros_for(inputs)
        result = []
        for x in inputs:
            if gz.type in complex_types and x.type not in complex_types:
                result.append(ops.real(gz))
            else:
                result.append(gz)
        return result


class Mul(_Fold):
    """Product of any number of inputs; of bools, their logical and.

    Examples
    --------
    >>> from theano.scalar import mul
    >>> print(mul(2, 3, 4).eval())
    24
    >>> print(mul(True, False).eval())
    False
    """

    identity = 1
    nfunc_spec = ("multiply", 2, 1)
    sign = "*"
    operators = ("mul", "and")

    def L_op(self, inputs, outputs, output_gradients):
        (gz,) = output_gradients
        if outputs[0].type in discrete_types:
            return zeros_for(inputs)
        result = []
        for i, x in enumerate(inputs):
            others = [*inputs[:i], *inputs[i + 1 :]]
            if not others:
                result.append(gz)
            elif gz.type in complex_types or any(o.type in complex_types for o in others):
                result.append(chain(gz, mul(*others) if len(others) > 1 else others[0], x))
            else:
                result.append(mul(gz, *others))
        return result


class Sub(BinaryScalarOp):
    """Difference; not defined for two bools.

    Examples
    --------
    >>> from theano.scalar import sub
    >>> print(sub(1, 2.5).eval())
    -1.5
    """

    sign = "-"
    nfunc_spec = ("subtract", 2, 1)
    output_types_preference = staticmethod(upcast_out_nobool)

    def impl(self, x, y):
        with np.errstate(all="ignore"):
            return np.subtract(x, y)

    def expression(self, out, x, y):
        return fold("sub", operands(out, (x, y)))

    def L_op(self, inputs, outputs, output_gradients):
        x, y = inputs
        (gz,) = output_gradients
        if outputs[0].type in discrete_types:
            return zeros_for(inputs)
        gx, gy = gz, -gz
        if gz.type in complex_types:
            gx = gx if x.type in complex_types else ops.real(gx)
            gy = gy if y.type in complex_types else ops.real(gy)
        return [gx, gy]


class TrueDiv(BinaryScalarOp):
    """Quotient; of integers, one of floatX.

    See Also
    --------
    theano.scalar.IntDiv : Quotient rounded down, as Python's ``//``; integers divided by zero give 0, as in NumPy.
    theano.scalar.int_or_true_div : Return which division the old operator ``/`` means for operands that are integers or
        not.
    theano.scalar.IntegerDivisionError : Raised by ``/`` on two integers when ``config.int_division`` is ``raise``.

    Examples
    --------
    >>> from theano.scalar import true_div
    >>> print(true_div(1, 2).eval())
    0.5
    """

    sign = "/"
    nfunc_spec = ("true_divide", 2, 1)
    output_types_preference = staticmethod(true_div_out)

    def output_types(self, types):
        if all(t in discrete_types for t in types):
            return [get_scalar_type(config.floatX)]
        return super().output_types(types)

    def impl(self, x, y):
        with np.errstate(all="ignore"):
            if all(np.asarray(v).dtype.kind in "biu" for v in (x, y)):
                return np.true_divide(x, y, dtype="float64")
            return np.true_divide(x, y)

    def expression(self, out, x, y):
        # An in-place division may store into integers; integers divided by zero would stop the process.
        if out[0] in "biu" or (x.dtype[0] in "biu" and y.dtype[0] in "biu"):
            out = "float64"
        return fold("div", operands(out, (x, y)))

    def L_op(self, inputs, outputs, output_gradients):
        x, y = inputs
        (gz,) = output_gradients
        (z,) = outputs
        if z.type in discrete_types:
            return zeros_for(inputs)
        if z.type in complex_types or gz.type in complex_types:
            return [chain(gz, number(1, z) / y, x), chain(gz, -(x / (y * y)), y)]
        gx = gz / y
        # The square of a small integer may leave its type.
        gy = -(gz * z) / y if y.type in discrete_types else -(gz * x) / (y * y)
        return [gx, gy]


class IntDiv(BinaryScalarOp):
    """Quotient rounded down, as Python's ``//``; integers divided by zero give 0, as in NumPy.

    See Also
    --------
    theano.scalar.div_proxy : Return the quotient of two scalars, by the rules of ``config.int_division``.
    theano.scalar.TrueDiv : Quotient; of integers, one of floatX.

    Examples
    --------
    >>> from theano.scalar import int_div
    >>> print(int_div(-7, 2).eval())
    -4
    >>> print(int_div(7, 0).eval())
    0
    """

    complex_error = ComplexError("Theano does not support integer division (//) on complex numbers, since numpy deprecated it.")
    sign = "//"
    nfunc_spec = ("floor_divide", 2, 1)
    output_types_preference = staticmethod(upcast_out)

    def output_types(self, types):
        if any(t in complex_types for t in types):
            raise self.complex_error
        return super().output_types(types)

    def impl(self, x, y):
        with np.errstate(all="ignore"):
            return np.floor_divide(x, y)

    def expression(self, out, x, y):
        return call("tk_floordiv", *operands(out, (x, y)))

    def L_op(self, inputs, outputs, output_gradients):
        return zeros_for(inputs)


class Mod(BinaryScalarOp):
    """Remainder with the sign of the divisor, as Python's ``%``; of integers by zero 0, as in NumPy.

    See Also
    --------
    theano.scalar.mod_check : Return ``x % y``; complex operands are an error.

    Examples
    --------
    >>> from theano.scalar import mod
    >>> print(mod(-7, 2).eval())
    1
    >>> print(mod(-7.5, 2).eval())
    0.5
    """

    complex_error = ComplexError("Theano does not support the mod operator (%) on complex numbers, since numpy deprecated it.")
    sign = "%"
    nfunc_spec = ("mod", 2, 1)
    output_types_preference = staticmethod(upcast_out)

    def impl(self, x, y):
        if isinstance(x, (complex, np.complexfloating)) or isinstance(y, (complex, np.complexfloating)):
            raise self.complex_error
        with np.errstate(all="ignore"):
            return np.mod(x, y)

    def expression(self, out, x, y):
        if out.startswith("complex"):
            raise self.complex_error
        return call("tk_mod", *operands(out, (x, y)))

    def L_op(self, inputs, outputs, output_gradients):
        x, y = inputs
        (gz,) = output_gradients
        (z,) = outputs
        if z.type in discrete_types:
            return zeros_for(inputs)
        return [gz, -(x // y) * gz]


def mod_check(x: Any, y: Any) -> Variable:
    """Return ``x % y``; complex operands are an error.

    Parameters
    ----------
    x, y : scalar_like
        The operands.

    Raises
    ------
    ComplexError
        If one is complex.

    See Also
    --------
    theano.scalar.Mod : Remainder with the sign of the divisor, as Python's ``%``; of integers by zero 0, as in NumPy.

    Examples
    --------
    >>> print(mod_check(-7, 2).eval())
    1
    >>> mod_check(1j, 2)
    Traceback (most recent call last):
    theano.scalar.arithmetic.ComplexError: Theano does not support the mod operator (%) on complex numbers, ...
    """
    x, y = as_scalar(x), as_scalar(y)
    if x.type in complex_types or y.type in complex_types:
        raise Mod.complex_error
    return mod(x, y)


def _power(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        x, y = np.asarray(x), np.asarray(y)
        dtype = np.result_type(x, y)
        if dtype.kind in "iu":
            return _integer_power(x, y, dtype)
        if dtype.kind == "b":
            return _integer_power(x, y, np.dtype("int8"))
        return np.power(x, y)


declare_function("pow", _power)


class Pow(BinaryScalarOp):
    """Power.

    Examples
    --------
    >>> from theano.scalar import pow
    >>> print(pow(2.0, 0.5).eval().round(4))
    1.4142
    >>> print(pow(2, -1).eval())
    0
    """

    sign = "**"
    nfunc_spec = ("power", 2, 1)
    output_types_preference = staticmethod(upcast_out_min8)

    def impl(self, x, y):
        return _power(x, y)

    def expression(self, out, x, y):
        return call("pow", *operands(out, (x, y)))

    def L_op(self, inputs, outputs, output_gradients):
        x, y = inputs
        (gz,) = output_gradients
        (z,) = outputs
        if z.type in discrete_types:
            return zeros_for(inputs)
        if z.type in complex_types or gz.type in complex_types:
            gx = chain(gz, y * x ** (y - 1), x)
            gy = chain(gz, switch(eq_zero(x), 0, ops.log(x) * z), y)
        else:
            gx = gz * y * x ** (y - 1)
            gy = switch(eq_zero(x), 0, gz * ops.log(x) * x**y)
        return [gx, gy]


def eq_zero(x: Variable) -> Variable:
    """Return whether `x` is zero.

    Parameters
    ----------
    x : scalar
        Of any type.

    See Also
    --------
    theano.scalar.eq : Equal.

    Examples
    --------
    >>> print(eq_zero(0).eval(), eq_zero(1.5).eval())
    True False
    """
    return ops.eq(x, 0)


def _integer_power(x: np.ndarray, y: np.ndarray, dtype: np.dtype) -> Any:
    # NumPy refuses negative integer powers; C code and ours give the truncated value.
    x, y = x.astype(dtype), y.astype(dtype)
    if dtype.kind == "u":
        return np.power(x, y)
    positive = np.power(x, np.where(y < 0, 0, y).astype(dtype))
    odd = np.where(y % 2 == 0, 1, -1)
    negative = np.where(x == 1, 1, np.where(x == -1, odd, 0))
    return np.where(y < 0, negative, positive).astype(dtype)[()]


class Neg(UnaryScalarOp):
    """Negative.

    Examples
    --------
    >>> from theano.scalar import neg
    >>> print(neg(3).eval())
    -3
    """

    sign = "-"
    nfunc_spec = ("negative", 1, 1)
    output_types_preference = staticmethod(same_out_nobool)

    def impl(self, x):
        with np.errstate(all="ignore"):
            return np.negative(x)

    def expression(self, out, x):
        return -x

    def L_op(self, inputs, outputs, output_gradients):
        (gz,) = output_gradients
        return zeros_for(inputs) if outputs[0].type in discrete_types else [-gz]


class Inv(UnaryScalarOp):
    """Reciprocal, 1/x; of integers a float.

    Examples
    --------
    >>> from theano.scalar import inv
    >>> print(inv(4).eval())
    0.25
    """

    output_types_preference = staticmethod(upgrade_to_float)

    nfunc_spec = ("reciprocal", 1, 1)

    def impl(self, x):
        with np.errstate(all="ignore"):
            x = np.asarray(x)
            if x.dtype.kind in "biu":
                x = x.astype("float32" if x.dtype.itemsize <= 2 else "float64")
            return np.reciprocal(x)[()]

    def expression(self, out, x):
        return 1 / cast(x, compute_dtype(out))

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type in discrete_types:
            return [-gz * outputs[0] * outputs[0]]
        if x.type in complex_types:
            return [chain(gz, -(number(1, x) / (x * x)), x)]
        return [-gz / (x * x)]


class Abs(UnaryScalarOp):
    """Absolute value; of complex numbers a real one.

    Examples
    --------
    >>> from theano.scalar import abs_
    >>> print(abs_(3 + 4j).eval())
    5.0
    """

    nfunc_spec = ("abs", 1, 1)
    output_types_preference = staticmethod(same_out)

    def make_node(self, x):
        from theano.gof import Apply

        variable = as_scalar(x)
        return Apply(self, [variable], [t() for t in self.output_types([variable.type])])

    def output_types(self, types):
        if types[0].dtype == "complex64":
            return [get_scalar_type("float32")]
        if types[0].dtype == "complex128":
            return [get_scalar_type("float64")]
        return super().output_types(types)

    def impl(self, x):
        return np.abs(x)

    def expression(self, out, x):
        kind = x.dtype[0]
        if kind in "bu":
            return x
        if kind == "i":
            return select(x < 0, -x, x)
        if kind == "f":
            return call("fabs", cast(x, compute_dtype(x.dtype)))
        return call("abs", x, dtype=out)

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (z,) = outputs
        (gz,) = output_gradients
        if x.type in discrete_types:
            return zeros_for(inputs)
        if x.type in complex_types:
            # The length of a number grows along its own direction.
            return [switch(eq_zero(z), number(0, x), gz * x / z)]
        return [gz * sgn(x)]


class Sgn(UnaryScalarOp):
    """Sign: -1, 0 or 1; NaN of NaN.

    Examples
    --------
    >>> from theano.scalar import sgn
    >>> print(sgn(-2.5).eval())
    -1.0
    """

    nfunc_spec = ("sign", 1, 1)
    output_types_preference = staticmethod(same_out_nocomplex)

    def impl(self, x):
        if np.asarray(x).dtype.kind == "b":
            return x
        return np.sign(x)

    def expression(self, out, x):
        kind = x.dtype[0]
        if kind == "b":
            return x
        if kind == "u":
            return x > 0
        if kind == "i":
            return cast(x > 0, x.dtype) - cast(x < 0, x.dtype)
        if kind == "f":
            return select(x > 0, 1, select(x < 0, -1, select(x.equals(0), 0, x)))
        raise ComplexError("complex has no sgn")

    def L_op(self, inputs, outputs, output_gradients):
        return zeros_for(inputs)


class Sqr(UnaryScalarOp):
    """Square.

    Examples
    --------
    >>> from theano.scalar import int16, sqr
    >>> i = int16("i")
    >>> print(sqr(100).eval(), sqr(i).eval({i: 100}))
    16 10000
    """

    nfunc_spec = ("square", 1, 1)
    output_types_preference = staticmethod(same_out)

    def impl(self, x):
        with np.errstate(all="ignore"):
            return x & x if np.asarray(x).dtype.kind == "b" else np.square(x)

    def expression(self, out, x):
        return x if x.dtype == "bool" else x * x

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if x.type in discrete_types:
            return zeros_for(inputs)
        if x.type in complex_types:
            return [chain(gz, x * 2, x)]
        return [gz * x * 2]


def int_or_true_div(x_discrete: bool, y_discrete: bool) -> str | type:
    """Return which division the old operator ``/`` means for operands that are integers or not.

    Parameters
    ----------
    x_discrete, y_discrete : bool
        Whether the operands are.

    Returns
    -------
    'int' or 'true'

    Raises
    ------
    IntegerDivisionError
        For two integers when ``config.int_division`` is ``raise``.

    See Also
    --------
    theano.scalar.TrueDiv : Quotient; of integers, one of floatX.
    theano.scalar.div_proxy : Return the quotient of two scalars, by the rules of ``config.int_division``.

    Examples
    --------
    >>> int_or_true_div(True, False), int_or_true_div(True, True)
    ('true', 'int')
    """
    if x_discrete and y_discrete:
        if config.int_division == "raise":
            raise IntegerDivisionError(
                "With `config.int_division` set to 'raise', dividing two integer types with '/' is forbidden to avoid"
                " confusion between integer and floating point divisions. Please use // for integer division, or if"
                " you want a float result either cast one of the arguments to a float or directly call"
                " `x.__truediv__(y)`."
            )
        if config.int_division == "int":
            return "int"
        if config.int_division != "floatX":
            raise NotImplementedError(config.int_division)
    return "true"


def div_proxy(x: Any, y: Any) -> Variable:
    """Return the quotient of two scalars, by the rules of ``config.int_division``.

    Parameters
    ----------
    x, y : scalar_like
        The operands.

    See Also
    --------
    theano.scalar.int_or_true_div : Return which division the old operator ``/`` means for operands that are integers or
        not.
    theano.scalar.TrueDiv : Quotient; of integers, one of floatX.
    theano.scalar.IntDiv : Quotient rounded down, as Python's ``//``; integers divided by zero give 0, as in NumPy.

    Examples
    --------
    >>> from theano.scalar import int8
    >>> i, j = int8("i"), int8("j")
    >>> div_proxy(i, j).owner.op, div_proxy(i, 2.5).owner.op
    (int_div, true_div)
    """
    x, y = as_scalar(x), as_scalar(y)
    which = int_or_true_div(x.type in discrete_types, y.type in discrete_types)
    return true_div(x, y) if which == "true" else int_div(x, y)


add = Add(upcast_out, name="add")
mul = Mul(upcast_out, name="mul")
sub = Sub(upcast_out_nobool, name="sub")
true_div = TrueDiv(upcast_out, name="true_div")
int_div = IntDiv(upcast_out, name="int_div")
floor_div = int_div
mod = Mod(upcast_out, name="mod")
pow = Pow(upcast_out_min8, name="pow")
neg = Neg(same_out_nobool, name="neg")
inv = Inv(upgrade_to_float, name="inv")
abs_ = Abs(same_out)
sgn = Sgn(same_out_nocomplex, name="sgn")
sqr = Sqr(same_out, name="sqr")

"""Truth values and bits: comparisons, tests of floats, bitwise operators, rounding."""

from __future__ import annotations

import numpy as np

from theano.scalar.expression import (
    call,
    cast,
    comparable,
    compute_dtype,
    constant,
    declare_function,
    fold,
    operands,
    part,
    unary,
)
from theano.scalar.op import BinaryScalarOp, Predicate, UnaryScalarOp, with_example, zeros_for
from theano.scalar.output_types import same_out_float_only, upcast_out, upgrade_to_float_no_complex
from theano.scalar.type import Scalar, discrete_types


def _operation(base: type, name: str, doc: str, function: np.ufunc, *, example: str, **attributes: object) -> type:
    """A class of `base` whose values are those of a function of NumPy; other attributes say what it is in expressions."""
    spec = (function.__name__, function.nin, 1)
    text = with_example(doc, example)
    return type(name, (base,), {"__doc__": text, "__module__": __name__, "nfunc_spec": spec, **attributes})


class LogicalComparison(Predicate, BinaryScalarOp):
    """A comparison of two numbers, with a result of type bool.

    See Also
    --------
    theano.scalar.FixedLogicalComparison : A test of one number, with a result of type bool.
    theano.scalar.Predicate : An op whose result is a truth value.

    Examples
    --------
    >>> from theano.scalar import float64, lt
    >>> isinstance(lt, LogicalComparison), lt(float64("x"), 2).type
    (True, Scalar(bool))
    """

    nin = 2
    operator = ""

    def impl(self, x, y):
        with np.errstate(all="ignore"):
            return getattr(np, self.nfunc_spec[0])(x, y)

    def expression(self, out, x, y):
        return fold(self.operator, comparable((x, y), ordered=self.operator not in ("eq", "ne")))


class FixedLogicalComparison(Predicate, UnaryScalarOp):
    """A test of one number, with a result of type bool.

    See Also
    --------
    theano.scalar.Predicate : An op whose result is a truth value.
    theano.scalar.LogicalComparison : A comparison of two numbers, with a result of type bool.

    Examples
    --------
    >>> from theano.scalar import float64, isnan
    >>> isinstance(isnan, FixedLogicalComparison), isnan(float64("x")).type
    (True, Scalar(bool))
    """

    nin = 1


LT = _operation(LogicalComparison, "LT", "Less than.", np.less, operator="lt", example="lt(1, 2).eval() -> True")
GT = _operation(LogicalComparison, "GT", "Greater than.", np.greater, operator="gt", example="gt(1, 2).eval() -> False")
LE = _operation(LogicalComparison, "LE", "Less or equal.", np.less_equal, operator="le", example="le(2, 2).eval() -> True")
GE = _operation(LogicalComparison, "GE", "Greater or equal.", np.greater_equal, operator="ge", example="ge(1, 2).eval() -> False")
EQ = _operation(LogicalComparison, "EQ", "Equal.", np.equal, operator="eq", commutative=True, example="eq(1, 1.0).eval() -> True")
NEQ = _operation(
    LogicalComparison,
    "NEQ",
    "Not equal.",
    np.not_equal,
    operator="ne",
    commutative=True,
    example="neq(float('nan'), float('nan')).eval() -> True",
)


class IsNan(FixedLogicalComparison):
    """Whether a number is NaN.

    Examples
    --------
    >>> from theano.scalar import isnan
    >>> print(isnan(float('nan')).eval())
    True
    """

    nfunc_spec = ("isnan", 1, 1)

    def impl(self, x):
        return np.isnan(x)

    def expression(self, out, x):
        # NaN is the only value, and the only kind of complex value, that differs from itself.
        return constant(False, "bool") if x.dtype[0] in "biu" else x.differs(x)


class IsInf(FixedLogicalComparison):
    """Whether a number is infinite.

    Examples
    --------
    >>> from theano.scalar import isinf
    >>> print(isinf(float('-inf')).eval())
    True
    """

    nfunc_spec = ("isinf", 1, 1)

    def impl(self, x):
        return np.isinf(x)

    def expression(self, out, x):
        if x.dtype[0] in "biu":
            return constant(False, "bool")
        if x.dtype.startswith("complex"):
            return fold("or", [self.expression(out, part(which, x)) for which in ("real", "imag")])
        return call("fabs", cast(x, compute_dtype(x.dtype))).equals(np.inf)


class InRange(LogicalComparison):
    """Whether a number lies in an interval.

    Parameters
    ----------
    openlow, openhi : bool
        Whether the lower and the upper bound are outside the interval.

    Examples
    --------
    >>> from theano.scalar import inclosedrange, inopenrange
    >>> print(inclosedrange(0, 0, 1).eval(), inopenrange(0, 0, 1).eval())
    True False
    >>> print(InRange(openlow=True, openhi=False)(1, 0, 1).eval())
    True
    """

    nin = 3

    def __init__(self, openlow: bool, openhi: bool) -> None:
        super().__init__()
        self.openlow = openlow
        self.openhi = openhi

    def __eq__(self, other):
        return type(self) is type(other) and (self.openlow, self.openhi) == (other.openlow, other.openhi)

    def __hash__(self):
        return hash((type(self), self.openlow, self.openhi))

    def impl(self, x, low, hi):
        above = np.greater(x, low) if self.openlow else np.greater_equal(x, low)
        below = np.less(x, hi) if self.openhi else np.less_equal(x, hi)
        return np.logical_and(above, below)

    def expression(self, out, *inputs):
        x, low, high = comparable(inputs)
        return fold("and", (x > low if self.openlow else x >= low, x < high if self.openhi else x <= high))


def _integers_or_bools(*types: Scalar):
    if any(t not in discrete_types for t in types):
        raise TypeError("input to a BitOp must have type (u)int8, (u)int16, (u)int32 or (u)int64 or bool", *types)
    result = upcast_out(*types)
    if result[0] not in discrete_types:
        raise TypeError(f"no integer type holds the values of both inputs of a BitOp: {' and '.join(map(str, types))}")
    return result


class UnaryBitOp(UnaryScalarOp):
    """A bitwise operation on one integer or bool.

    See Also
    --------
    theano.scalar.BinaryBitOp : A bitwise operation on two integers or bools; a subclass has NumPy's name of it and that
        in expressions.

    Examples
    --------
    >>> from theano.scalar import float64, invert
    >>> isinstance(invert, UnaryBitOp)
    True
    >>> invert(float64("x"))
    Traceback (most recent call last):
    TypeError: ('input to a BitOp must have type (u)int8, ...
    """

    def output_types(self, types):
        return _integers_or_bools(*types)

    def L_op(self, inputs, outputs, output_gradients):
        return zeros_for(inputs)


class BinaryBitOp(BinaryScalarOp):
    """A bitwise operation on two integers or bools; a subclass has NumPy's name of it and that in expressions.

    See Also
    --------
    theano.scalar.UnaryBitOp : A bitwise operation on one integer or bool.

    Examples
    --------
    >>> from theano.scalar import int8, uint16, xor
    >>> isinstance(xor, BinaryBitOp), xor(int8("i"), uint16("j")).type
    (True, Scalar(int32))
    """

    commutative = True
    associative = True
    operator = ""

    def output_types(self, types):
        return _integers_or_bools(*types)

    def impl(self, x, y):
        return getattr(np, self.nfunc_spec[0])(x, y)

    def expression(self, out, x, y):
        return fold(self.operator, operands(out, (x, y)))

    def L_op(self, inputs, outputs, output_gradients):
        return zeros_for(inputs)


OR = _operation(BinaryBitOp, "OR", "Bitwise or.", np.bitwise_or, operator="bitor", identity=0, example="or_(5, 3).eval() -> 7")
XOR = _operation(
    BinaryBitOp, "XOR", "Bitwise exclusive or.", np.bitwise_xor, operator="xor", identity=0, example="xor(5, 3).eval() -> 6"
)
AND = _operation(
    BinaryBitOp, "AND", "Bitwise and.", np.bitwise_and, operator="bitand", identity=1, example="and_(5, 3).eval() -> 1"
)


class Invert(UnaryBitOp):
    """Bitwise not; logical not of a bool.

    Examples
    --------
    >>> from theano.scalar import invert
    >>> print(invert(5).eval())
    -6
    >>> print(invert(True).eval())
    False
    """

    nfunc_spec = ("invert", 1, 1)

    def impl(self, x):
        return np.invert(x)

    def expression(self, out, x):
        return unary("not" if x.dtype == "bool" else "invert", x)


class _Rounding(UnaryScalarOp):
    """A function that makes floats whole; integers keep their value."""

    output_types_preference = staticmethod(upgrade_to_float_no_complex)
    c_func = ""

    def impl(self, x):
        return x if np.asarray(x).dtype.kind in "biu" else getattr(np, self.nfunc_spec[0])(x)

    def expression(self, out, x):
        return call(self.c_func, cast(x, compute_dtype(x.dtype))) if x.dtype.startswith("float") else x

    def L_op(self, inputs, outputs, output_gradients):
        return zeros_for(inputs)


Ceil = _operation(
    _Rounding, "Ceil", "Smallest whole number not below.", np.ceil, c_func="ceil", example="ceil(1.2).eval() -> 2.0"
)
Floor = _operation(
    _Rounding, "Floor", "Largest whole number not above.", np.floor, c_func="floor", example="floor(-1.2).eval() -> -2.0"
)
Trunc = _operation(
    _Rounding, "Trunc", "Whole number next towards zero.", np.trunc, c_func="trunc", example="trunc(-1.8).eval() -> -1.0"
)


class RoundHalfToEven(_Rounding):
    """Nearest whole number, the even one of two; for floats.

    Examples
    --------
    >>> from theano.scalar import round_half_to_even
    >>> print(round_half_to_even(2.5).eval(), round_half_to_even(3.5).eval())
    2.0 4.0
    """

    nfunc_spec = ("around", 1, 1)
    c_func = "rint"
    output_types_preference = staticmethod(same_out_float_only)


def round_half_away_from_zero_(x):
    """Return the nearest whole number, of two the one farther from zero.

    Parameters
    ----------
    x : array_like
        Floats.

    Returns
    -------
    ndarray or number
        Of the dtype of `x`.

    See Also
    --------
    theano.scalar.RoundHalfAwayFromZero : Nearest whole number, of two the one farther from zero; for floats.

    Examples
    --------
    >>> round_half_away_from_zero_([0.5, 2.5, -2.5]).tolist()
    [1.0, 3.0, -3.0]
    """
    value = np.asarray(x)
    whole = np.trunc(value)
    # The distance from the truncated number is exact, adding a half first would not be.
    return np.where(np.abs(value - whole) >= 0.5, whole + np.sign(value), whole).astype(value.dtype)[()]


round_half_away_from_zero_vec = round_half_away_from_zero_
declare_function("round", round_half_away_from_zero_)


class RoundHalfAwayFromZero(_Rounding):
    """Nearest whole number, of two the one farther from zero; for floats.

    See Also
    --------
    theano.scalar.round_half_away_from_zero_ : Return the nearest whole number, of two the one farther from zero.

    Examples
    --------
    >>> from theano.scalar import round_half_away_from_zero
    >>> print(round_half_away_from_zero(2.5).eval(), round_half_away_from_zero(-2.5).eval())
    3.0 -3.0
    """

    nfunc_spec = ("theano.scalar.comparison.round_half_away_from_zero_", 1, 1)
    c_func = "round"
    output_types_preference = staticmethod(same_out_float_only)

    def impl(self, x):
        return round_half_away_from_zero_(x)


lt = LT()
gt = GT()
le = LE()
ge = GE()
eq = EQ()
neq = NEQ()
isnan = IsNan()
isinf = IsInf()
inopenrange = InRange(True, True)
inclosedrange = InRange(False, False)
or_ = OR()
xor = XOR()
and_ = AND()
invert = Invert()
ceil = Ceil(upgrade_to_float_no_complex, name="ceil")
floor = Floor(upgrade_to_float_no_complex, name="floor")
trunc = Trunc(upgrade_to_float_no_complex, name="trunc")
round_half_to_even = RoundHalfToEven(same_out_float_only)
round_half_away_from_zero = RoundHalfAwayFromZero(same_out_float_only)

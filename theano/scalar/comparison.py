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
from theano.scalar.op import BinaryScalarOp, Predicate, UnaryScalarOp, zeros_for
from theano.scalar.output_types import same_out_float_only, upcast_out, upgrade_to_float_no_complex
from theano.scalar.type import Scalar, discrete_types


def _operation(base: type, name: str, doc: str, function: np.ufunc, **attributes: object) -> type:
    """A class of `base` whose values are those of a function of NumPy; other attributes say what it is in expressions."""
    spec = (function.__name__, function.nin, 1)
    return type(name, (base,), {"__doc__": doc, "__module__": __name__, "nfunc_spec": spec, **attributes})


class LogicalComparison(Predicate, BinaryScalarOp):
    """A comparison of two numbers, with a result of type bool.

    See Also
    --------
    theano.scalar.FixedLogicalComparison : A test of one number, with a result of type bool.
    theano.scalar.Predicate : An op whose result is a truth value.
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
    """

    nin = 1


LT = _operation(LogicalComparison, "LT", "Less than.", np.less, operator="lt")
GT = _operation(LogicalComparison, "GT", "Greater than.", np.greater, operator="gt")
LE = _operation(LogicalComparison, "LE", "Less or equal.", np.less_equal, operator="le")
GE = _operation(LogicalComparison, "GE", "Greater or equal.", np.greater_equal, operator="ge")
EQ = _operation(LogicalComparison, "EQ", "Equal.", np.equal, operator="eq", commutative=True)
NEQ = _operation(LogicalComparison, "NEQ", "Not equal.", np.not_equal, operator="ne", commutative=True)


class IsNan(FixedLogicalComparison):
    """Whether a number is NaN."""

    nfunc_spec = ("isnan", 1, 1)

    def impl(self, x):
        return np.isnan(x)

    def expression(self, out, x):
        # NaN is the only value, and the only kind of complex value, that differs from itself.
        return constant(False, "bool") if x.dtype[0] in "biu" else x.differs(x)


class IsInf(FixedLogicalComparison):
    """Whether a number is infinite."""

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


OR = _operation(BinaryBitOp, "OR", "Bitwise or.", np.bitwise_or, operator="bitor", identity=0)
XOR = _operation(BinaryBitOp, "XOR", "Bitwise exclusive or.", np.bitwise_xor, operator="xor", identity=0)
AND = _operation(BinaryBitOp, "AND", "Bitwise and.", np.bitwise_and, operator="bitand", identity=1)


class Invert(UnaryBitOp):
    """Bitwise not; logical not of a bool."""

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


Ceil = _operation(_Rounding, "Ceil", "Smallest whole number not below.", np.ceil, c_func="ceil")
Floor = _operation(_Rounding, "Floor", "Largest whole number not above.", np.floor, c_func="floor")
Trunc = _operation(_Rounding, "Trunc", "Whole number next towards zero.", np.trunc, c_func="trunc")


class RoundHalfToEven(_Rounding):
    """Nearest whole number, the even one of two; for floats."""

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

"""Expressions of single numbers: what a scalar op computes, said once for C, for NumPy and for any other target.

An :class:`Expression` is an operation with a dtype and arguments: a named value, a constant, an operator, a conversion, a
selection or a function. Both arguments of an operator have one dtype, which is the result's (a comparison's is bool): what C
or NumPy convert by themselves, and each in its own way, is written out as a :func:`cast`.

>>> x, y = variable("x", "float32"), variable("y", "float32")
>>> c_text(select(x < y, x + 1, call("exp", -y)))
'x < y ? x + 1.0f : exp(-y)'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from theano.scalar.type import c_literal


class Operator(NamedTuple):
    """An operator of expressions.

    Parameters
    ----------
    symbol
        How C writes it.
    precedence
        How firmly it binds in C.
    function
        The function of NumPy.
    """

    symbol: str
    precedence: int
    function: Callable


OPERATORS = {
    "or": Operator("||", 1, np.logical_or),
    "and": Operator("&&", 2, np.logical_and),
    "bitor": Operator("|", 3, np.bitwise_or),
    "xor": Operator("^", 4, np.bitwise_xor),
    "bitand": Operator("&", 5, np.bitwise_and),
    "eq": Operator("==", 6, np.equal),
    "ne": Operator("!=", 6, np.not_equal),
    "lt": Operator("<", 7, np.less),
    "gt": Operator(">", 7, np.greater),
    "le": Operator("<=", 7, np.less_equal),
    "ge": Operator(">=", 7, np.greater_equal),
    "add": Operator("+", 9, np.add),
    "sub": Operator("-", 9, np.subtract),
    "mul": Operator("*", 10, np.multiply),
    "div": Operator("/", 10, np.divide),
}
"""Operators between two arguments or more."""

PREFIXES = {
    "neg": Operator("-", 11, np.negative),
    "not": Operator("!", 11, np.logical_not),
    "invert": Operator("~", 11, np.invert),
    "conj": Operator("~", 11, np.conj),
}
"""Operators before their one argument."""

COMPARISONS = frozenset(("eq", "ne", "lt", "gt", "le", "ge"))
TRUTHS = frozenset((*COMPARISONS, "and", "or", "not"))
"""Operators whose result is a truth value."""

FUNCTIONS: dict[str, Callable] = {}
"""NumPy's meaning of the functions that :func:`call` names."""

_OF_COMPLEX = {"mul": "tk_product", "div": "tk_quotient", "pow": "tk_power"}
"""Functions of C that are operators of NumPy: every step is rounded, divided is by the larger part first."""

_PRIMARY = 12
_PART = {"complex64": "float32", "complex128": "float64"}


class Expression:
    """A number made of others.

    Parameters
    ----------
    op
        A key of `OPERATORS` or `PREFIXES`; ``var``, ``const``, ``cast``, ``select``, ``real``, ``imag``, ``complex``; else the
        name of a function.
    dtype
        NumPy's name of the result's dtype.
    args
        Expressions; the name of a ``var``; the bytes of a ``const``.

    Examples
    --------
    >>> x = variable("x", "float64")
    >>> (2 * x).op, (2 * x).dtype, (x < 1).dtype
    ('mul', 'float64', 'bool')
    """

    __slots__ = ("_facts", "_hash", "args", "dtype", "op")

    def __init__(self, op: str, dtype: str, args: tuple[Any, ...]) -> None:
        self.op = op
        self.dtype = dtype
        self.args = args
        self._hash = hash((op, dtype, args))
        self._facts: Any = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Expression)
            and self._hash == other._hash
            and (self.op, self.dtype, self.args) == (other.op, other.dtype, other.args)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, (self.op, self.dtype, self.args)

    def __repr__(self) -> str:
        return f"<{self.dtype}: {c_text(self)}>"

    @property
    def name(self) -> str:
        """The name of a ``var``."""
        if self.op != "var":
            raise ValueError(f"{self!r} has no name")
        return self.args[0]

    @property
    def value(self) -> Any:
        """The number that a ``const`` is, as a scalar of NumPy."""
        if self.op != "const":
            raise ValueError(f"{self!r} is no constant")
        return np.frombuffer(self.args[0], dtype=self.dtype)[0]

    def _with(self, op: str, other: Any, swapped: bool = False) -> Expression:
        other = other if isinstance(other, Expression) else constant(other, self.dtype)
        return fold(op, (other, self) if swapped else (self, other))

    def __add__(self, other: Any) -> Expression:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Expression:
        return self._with("add", other, True)

    def __sub__(self, other: Any) -> Expression:
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._with("sub", other, True)

    def __mul__(self, other: Any) -> Expression:
        return self._with("mul", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._with("mul", other, True)

    def __truediv__(self, other: Any) -> Expression:
        return self._with("div", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._with("div", other, True)

    def __lt__(self, other: Any) -> Expression:
        return self._with("lt", other)

    def __gt__(self, other: Any) -> Expression:
        return self._with("gt", other)

    def __le__(self, other: Any) -> Expression:
        return self._with("le", other)

    def __ge__(self, other: Any) -> Expression:
        return self._with("ge", other)

    def __neg__(self) -> Expression:
        return Expression("neg", self.dtype, (self,))

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value; see `select`")

    def equals(self, other: Any) -> Expression:
        """Whether both are the same number."""
        return self._with("eq", other)

    def differs(self, other: Any) -> Expression:
        """Whether both are not the same number."""
        return self._with("ne", other)


def variable(name: str, dtype: str) -> Expression:
    """A value that has a name."""
    return Expression("var", dtype, (name,))


def constant(value: Any, dtype: str) -> Expression:
    """A number as a value of `dtype`.

    Examples
    --------
    >>> constant(3, "float32").value
    np.float32(3.0)
    """
    return Expression("const", dtype, (np.asarray(value, dtype=dtype).tobytes(),))


def fold(op: str, args: Sequence[Expression]) -> Expression:
    """An operator of `OPERATORS` between its arguments, which have one dtype.

    Raises
    ------
    TypeError
        If they have several.
    """
    dtype = args[0].dtype
    for x in args:
        if x.dtype != dtype:
            raise TypeError(f"{op} of {' and '.join(a.dtype for a in args)}")
    return Expression(op, "bool" if op in TRUTHS else dtype, tuple(args))


def unary(op: str, x: Expression) -> Expression:
    """An operator of `PREFIXES` before its argument."""
    return Expression(op, "bool" if op in TRUTHS else x.dtype, (x,))


def select(condition: Expression, chosen: Any, other: Any) -> Expression:
    """`chosen` where the condition is not 0, else `other`; both have one dtype, or one of them is a number."""
    if not isinstance(chosen, Expression):
        chosen = constant(chosen, other.dtype)
    if not isinstance(other, Expression):
        other = constant(other, chosen.dtype)
    if chosen.dtype != other.dtype:
        raise TypeError(f"a selection between {chosen.dtype} and {other.dtype}")
    return Expression("select", chosen.dtype, (condition, chosen, other))


def cast(x: Expression, dtype: str) -> Expression:
    """The number as one of `dtype`; of complex numbers the real part, a bool is whether the number is not 0.

    Examples
    --------
    >>> x = variable("x", "int8")
    >>> cast(x, "int8") is x, c_text(cast(x, "float32")), c_text(cast(x, "bool"))
    (True, '(npy_float32)x', 'x != 0')
    """
    if x.dtype == dtype:
        return x
    if dtype == "bool":
        return x.differs(0)
    if x.op == "const" and np.can_cast(x.dtype, dtype, "same_kind"):
        return constant(x.value.astype(dtype), dtype)
    return Expression("cast", dtype, (x,))


def call(name: str, *args: Expression, dtype: str | None = None) -> Expression:
    """A function of C, or of a kernel's headers; the result has the dtype of the last argument or `dtype`."""
    return Expression(name, dtype or args[-1].dtype, args)


def part(which: str, z: Expression) -> Expression:
    """The ``real`` or ``imag`` part of a complex number."""
    return Expression(which, _PART[z.dtype], (z,))


def declare_function(name: str, function: Callable) -> None:
    """Tell what a function that :func:`call` names is on arrays of NumPy."""
    FUNCTIONS.setdefault(name, function)


def walk(x: Expression) -> Iterator[Expression]:
    """The expression and all those in it."""
    pending = [x]
    while pending:
        x = pending.pop()
        yield x
        if x.op not in ("var", "const"):
            pending.extend(x.args)


_KNOWN = frozenset((*OPERATORS, *PREFIXES, "var", "const", "cast", "select", "real", "imag", "complex"))


def is_function(x: Expression) -> bool:
    """Whether C calls a function for the outermost operation."""
    return x.op not in _KNOWN or (x.op in _OF_COMPLEX and x.dtype in _PART)


def _facts_of(x: Expression) -> tuple[frozenset[str], tuple[str, ...]]:
    facts = x._facts
    if facts is None:
        names, calls = [], []
        for e in walk(x):
            if e.op == "var":
                names.append(e.args[0])
            elif is_function(e):
                calls.append(c_function(e))
        facts = x._facts = frozenset(names), tuple(calls)
    return facts


def variables(x: Expression) -> frozenset[str]:
    """The names of the values in an expression."""
    return _facts_of(x)[0]


def functions(x: Expression) -> tuple[str, ...]:
    """The C names of the functions in an expression, each as often as it is called."""
    return _facts_of(x)[1]


def c_function(x: Expression) -> str:
    """The C name of the function that the outermost operation is."""
    dtype = x.args[0].dtype
    if x.op == "pow" and x.dtype[0] in "iu":
        return f"tk_power_{x.dtype}"
    if dtype in _PART:
        if x.op in _OF_COMPLEX:
            return f"{_OF_COMPLEX[x.op]}_{x.dtype}"
        return f"__builtin_c{x.op}{'f' if dtype == 'complex64' else ''}"
    return x.op


def c_text(x: Expression, names: Mapping[str, str] | None = None, spelling: Callable[[str], str] | None = None) -> str:
    """The expression as C.

    Parameters
    ----------
    names
        Other names of values.
    spelling
        Gives another name of a function.

    Examples
    --------
    >>> x = variable("x", "float64")
    >>> c_text(call("sin", 2 * (x - 1)), {"x": "v1"}, lambda name: "slow_" + name)
    'slow_sin(2.0 * (v1 - 1.0))'
    """
    return _text(x, names, spelling)[0]


def _text(x: Expression, names: Mapping[str, str] | None, spelling: Callable[[str], str] | None) -> tuple[str, int]:
    # The text and how firmly its outermost operation binds.
    op, args = x.op, x.args
    if op == "var":
        name = args[0]
        return (name if names is None else names[name]), _PRIMARY
    if op == "const":
        text = c_literal(x.value, x.dtype)
        return (f"({text})", _PRIMARY) if text.startswith("-") else (text, _PRIMARY)

    def within(arg: Expression, least: int) -> str:
        text, precedence = _text(arg, names, spelling)
        return text if precedence >= least else f"({text})"

    if is_function(x):
        name = c_function(x) if spelling is None else spelling(c_function(x))
        texts = [within(a, 0) for a in args]
        while op in _OF_COMPLEX and len(texts) > 2:
            texts[:2] = [f"{name}({texts[0]}, {texts[1]})"]
        return f"{name}({', '.join(texts)})", _PRIMARY
    known = OPERATORS.get(op)
    if known is not None:
        first, *rest = args
        texts = [within(first, known.precedence), *[within(a, known.precedence + 1) for a in rest]]
        return f" {known.symbol} ".join(texts), known.precedence
    known = PREFIXES.get(op)
    if known is not None:
        return f"{known.symbol}{within(args[0], _PRIMARY)}", known.precedence
    if op == "cast":
        return f"(npy_{x.dtype}){within(args[0], 11)}", 11
    if op == "select":
        return f"{within(args[0], 1)} ? {within(args[1], 1)} : {within(args[2], 0)}", 0
    if op == "complex":
        return f"__builtin_complex({', '.join([within(a, 0) for a in args])})", _PRIMARY
    return f"__{op}__({within(args[0], 0)})", _PRIMARY


def compute_dtype(dtype: str) -> str:
    """The dtype in which a function with a result of `dtype` is computed: single precision for half floats."""
    return "float32" if dtype == "float16" else dtype


def operands(out: str, inputs: Sequence[Expression]) -> list[Expression]:
    """The inputs of an operation with a result of dtype `out` in the dtype in which it is computed.

    That of integers with floats, which an operation in place stores into integers, is float64.
    """
    dtype = compute_dtype(out)
    if out[0] in "biu" and not all(x.dtype[0] in "biu" for x in inputs):
        dtype = "float64"
    return [cast(x, dtype) for x in inputs]


def comparable(inputs: Sequence[Expression], ordered: bool = True) -> list[Expression]:
    """The inputs in the dtype in which NumPy compares them.

    Raises
    ------
    NotImplementedError
        For complex numbers, which have no order in C, if `ordered`.
    """
    if ordered and any(x.dtype in _PART for x in inputs):
        raise NotImplementedError("complex numbers have no order in C")
    dtypes = {x.dtype for x in inputs}
    if len(dtypes) == 1:
        return list(inputs)
    common = np.result_type(*dtypes).name
    return [cast(x, common) for x in inputs]


for _name, _function in {
    "fabs": np.abs, "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "rint": np.rint, "atan2": np.arctan2,
    "tk_floordiv": np.floor_divide, "tk_mod": np.mod, "cos": np.cos, "sin": np.sin,
}.items():  # fmt: skip
    declare_function(_name, _function)

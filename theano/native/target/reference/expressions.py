"""Expressions and statements of kernels in NumPy."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

import numpy as np

from theano.native import ir
from theano.scalar.expression import FUNCTIONS, OPERATORS, PREFIXES, Expression


def evaluate(x: Expression, values: MutableMapping[str, Any]) -> Any:
    """The value of an expression of these named values, arrays or NumPy scalars.

    Raises
    ------
    KeyError
        If it calls a function that nobody has declared (:func:`theano.scalar.expression.declare_function`).
    """
    if x.op == "var":
        return values[x.args[0]]
    if x.op == "const":
        return x.value
    args = [evaluate(arg, values) for arg in x.args]
    if x.op == "cast":
        return convert(args[0], x.dtype)
    if x.op == "select":
        return np.where(np.asarray(args[0]) != 0, args[1], args[2]).astype(x.dtype)[()]
    if x.op == "complex":
        value = np.empty(np.broadcast_shapes(np.shape(args[0]), np.shape(args[1])), x.dtype)
        value.real, value.imag = args
        return value[()]
    if x.op in ("real", "imag"):
        return getattr(args[0], x.op)
    operator = OPERATORS.get(x.op) or PREFIXES.get(x.op)
    if operator is None:
        return convert(FUNCTIONS[x.op](*args), x.dtype)
    value = operator.function(*args[:2])
    for arg in args[2:]:
        value = operator.function(value, arg)
    return convert(value, x.dtype)


def convert(value: Any, dtype: str) -> Any:
    """A value in another dtype, as C converts it: of complex numbers the real part, integers wrap."""
    value = np.asarray(value)
    if value.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        value = value.real
    if value.dtype.kind == "f" and np.dtype(dtype).kind in "iu" and dtype not in ("int64", "uint64"):
        # By way of int64, which keeps what NumPy leaves to the processor.
        value = value.astype("int64")
    return value.astype(dtype)[()]


def run(statements: Iterable[ir.Statement], values: MutableMapping[str, Any]) -> None:
    """Compute the values of statements."""
    for s in statements:
        if isinstance(s, ir.Stmt):
            values[s.dst] = convert(evaluate(s.value, values), s.dtype)
            continue
        if s.function is None:
            raise NotImplementedError("C code without a function of numbers")
        arguments = [np.asarray(evaluate(x, values)) for x in s.inputs]
        shape = np.broadcast_shapes(*[x.shape for x in arguments])
        results = [np.empty(shape, dtype) for _, dtype in s.defines]
        spread = [np.broadcast_to(x, shape) for x in arguments]
        for at in np.ndindex(shape):
            value = s.function(*[x[at] for x in spread])
            for result, one in zip(results, (value,) if len(results) == 1 else value, strict=True):
                result[at] = one
        for (name, _), result in zip(s.defines, results, strict=True):
            values[name] = result[()]

"""Scalar ops made from SymPy expressions."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from typing import Any

from theano.scalar.op import ScalarOp
from theano.scalar.output_types import upgrade_to_float
from theano.scalar.type import Scalar, float32, float64, int64

imported_sympy = find_spec("sympy") is not None
#: Names for functions of C that have none.
names = (f"sympy_func_{i}" for i in itertools.count())


def include_line(line: str) -> bool:
    """Return whether a line of C code includes a header."""
    return "#include" in line


def sympy_dtype(expr: Any) -> str:
    """Return the C type of the value of a SymPy expression: ``int`` or ``double``."""
    from sympy.utilities.codegen import get_default_datatype

    return get_default_datatype(expr).cname


def theano_dtype(expr: Any) -> Scalar:
    """Return the type of the value of a SymPy expression."""
    return {"double": float64, "float": float32, "int": int64}[sympy_dtype(expr)]


class SymPyCCode(ScalarOp):
    """The value of a SymPy expression.

    Parameters
    ----------
    inputs
        SymPy symbols, in the order of the op's inputs.
    expr
        A SymPy expression of them.

    Raises
    ------
    ImportError
        If SymPy is not installed.
    """

    def __init__(self, inputs: Any, expr: Any, name: str | None = None) -> None:
        self._inputs = tuple(inputs)
        self._expr = expr
        super().__init__(upgrade_to_float, name)
        self.nin = len(self._inputs)

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and (self._inputs, self._expr) == (other._inputs, other._expr)

    def __hash__(self) -> int:
        return hash((type(self), self._inputs, self._expr))

    def impl(self, *values: Any) -> Any:
        from sympy import lambdify

        return lambdify(self._inputs, self._expr, "numpy")(*values)

    def c_code(self, node, name, inputs, outputs, sub):
        from sympy import Symbol, ccode

        renamed = self._expr.subs({old: Symbol(new) for old, new in zip(self._inputs, inputs)}, simultaneous=True)
        return f"{outputs[0]} = {ccode(renamed)};"

    def L_op(self, inputs, outputs, output_gradients):
        (gz,) = output_gradients
        return [
            gz * SymPyCCode(self._inputs, self._expr.diff(symbol), name=f"{self}_{symbol}")(*inputs)
            for symbol in self._inputs
        ]

    def c_code_cache_version(self):
        return (2, str(self._expr))

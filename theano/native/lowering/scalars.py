"""Scalar graphs as C statements: what the body of a loop nest is made of."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano import scalar
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.utils import MethodNotDefined
from theano.native import ir
from theano.native.program import CannotLower

_REDUCE_OPS = {
    scalar.Add: "add",
    scalar.Mul: "mul",
    scalar.AND: "and",
    scalar.OR: "or",
    scalar.XOR: "xor",
    scalar.Maximum: "maximum",
    scalar.Minimum: "minimum",
}
_INT_SUFFIX = {"int64": "LL", "uint64": "ULL", "uint32": "U"}


def literal(value: Any, dtype: str) -> str:
    """C text of a constant, typed.

    Examples
    --------
    >>> literal(0.5, "float32")
    '((npy_float32)0x1.0000000000000p-1)'
    """
    number = np.asarray(value, dtype=dtype)[()]
    if dtype.startswith("complex"):
        part = "float32" if dtype == "complex64" else "float64"
        return f"__builtin_complex({literal(number.real, part)}, {literal(number.imag, part)})"
    if dtype.startswith("float"):
        number = float(number)
        if math.isnan(number):
            text = "NAN"
        elif math.isinf(number):
            text = "INFINITY" if number > 0 else "(-INFINITY)"
        else:
            text = number.hex()
        return f"((npy_{dtype}){text})" if not text.startswith("-") else f"((npy_{dtype})({text}))"
    number = int(number)
    if number == -(2**63):
        return "((npy_int64)(-9223372036854775807LL - 1))"
    return f"((npy_{dtype})({number}{_INT_SUFFIX.get(dtype, '')}))"


class StatementWriter:
    """Turns applications of scalar ops into a list of :class:`theano.native.ir.Stmt` with fresh names.

    What was computed before is not computed again: the nodes of different Composites may well do the same.
    """

    def __init__(self) -> None:
        self.statements: list[ir.Stmt] = []
        self.support: list[str] = []
        self._count = 0
        self._known: dict[Any, list[str]] = {}

    def fresh(self) -> str:
        """A name that was not used before."""
        self._count += 1
        return f"v{self._count}"

    def restart(self) -> None:
        """Begin a new list of statements, which does not see the values of the one before."""
        self.statements = []
        self._known.clear()

    def copy(self, text: str, dtype: str) -> str:
        """Name of a fresh value that is another one, or a constant."""
        result = self.fresh()
        self.statements.append(ir.Stmt(result, dtype, f"{result} = {text};"))
        return result

    def cast(self, name: str, from_dtype: str, to_dtype: str) -> str:
        """Name of the value converted to another dtype."""
        if from_dtype == to_dtype:
            return name
        known = self._known.get((name, from_dtype, to_dtype))
        if known is not None:
            return known[0]
        result = self.fresh()
        self._known[name, from_dtype, to_dtype] = [result]
        if to_dtype == "bool":
            code = f"{result} = ({name} != 0);"
        elif from_dtype.startswith("complex") and not to_dtype.startswith("complex"):
            code = f"{result} = (npy_{to_dtype})creal({name});"
        else:
            code = f"{result} = (npy_{to_dtype}){name};"
        self.statements.append(ir.Stmt(result, to_dtype, code))
        return result

    def apply(self, op: Any, inputs: Sequence[str], input_types: Sequence[Any], node: Apply | None = None) -> list[str]:
        """Write the statements of ``op(*inputs)``; returns the names of the results."""
        if isinstance(op, scalar.Composite):
            return self._composite(op, inputs)
        if node is None:
            node = op.make_node(*[type_() for type_ in input_types])
        return self._plain(op, node, inputs)

    def _composite(self, op: Any, inputs: Sequence[str]) -> list[str]:
        names: dict[Variable, str] = dict(zip(op.inputs, inputs, strict=True))

        def name_of(variable: Variable) -> str:
            found = names.get(variable)
            if found is None:
                if not isinstance(variable, Constant):
                    raise CannotLower("a scalar graph with a variable that nothing computes")
                found = names[variable] = literal(variable.data, variable.type.dtype)
            return found

        for node in op.nodes:
            ins = [name_of(v) for v in node.inputs]
            if isinstance(node.op, scalar.Composite):
                outs = self._composite(node.op, ins)
            else:
                outs = self._plain(node.op, node, ins)
            names.update(zip(node.outputs, outs, strict=True))
        return [name_of(v) for v in op.outputs]

    def _plain(self, op: Any, node: Apply, inputs: Sequence[str]) -> list[str]:
        try:
            key = (op, *inputs, *[v.type.dtype for v in node.outputs])
            known = self._known.get(key)
        except TypeError:  # an op that cannot be hashed
            return self._write(op, node, inputs)
        if known is None:
            known = self._known[key] = self._write(op, node, inputs)
        return known

    def _write(self, op: Any, node: Apply, inputs: Sequence[str]) -> list[str]:
        outputs = [self.fresh() for _ in node.outputs]
        name = self._support_of(op, node)
        try:
            code = op.c_code(node, name, list(inputs), outputs, {"fail": "return;"})
        except (MethodNotDefined, NotImplementedError):
            raise CannotLower(f"{op} has no C code") from None
        if isinstance(op, scalar.Mul | scalar.Sqr) and node.outputs[0].type.dtype.startswith("complex") and inputs:
            code = f"{outputs[0]} = {_complex_product(op, node, inputs)};"
        if not getattr(op.c_code, "__module__", "").startswith("theano."):
            # A user's code may leave any number in a truth value.
            truths = [name for name, variable in zip(outputs, node.outputs, strict=True) if variable.type.dtype == "bool"]
            code += "".join(f"\n{name} = ({name} != 0);" for name in truths)
        for name, variable in zip(outputs[:-1], node.outputs[:-1], strict=True):
            self.statements.append(ir.Stmt(name, variable.type.dtype, ""))
        self.statements.append(ir.Stmt(outputs[-1], node.outputs[-1].type.dtype, code))
        return outputs

    def _support_of(self, op: Any, node: Apply) -> str:
        """Keep the C functions that the code of a node calls; returns the name by which the node is known to them."""
        name = "tk"
        own = _text(lambda: op.c_support_code_apply(node, name))
        if own:
            # Equal functions have one name in all kernels, others another one.
            name = f"tk{hashlib.sha256(own.encode()).hexdigest()[:16]}"
            own = op.c_support_code_apply(node, name)
        for text in (_text(op.c_support_code), own):
            if text and text not in self.support:
                self.support.append(text)
        return name


def _text(method: Callable[[], Any]) -> str:
    """What a method that an op need not have returns."""
    try:
        return method() or ""
    except (MethodNotDefined, NotImplementedError, TypeError):
        return ""


def _complex_product(op: Any, node: Apply, inputs: Sequence[str]) -> str:
    """A product of complex numbers of which every step is rounded; the plain operator leaves that to the compiler."""
    dtype = node.outputs[0].type.dtype
    names = [*inputs, *inputs] if isinstance(op, scalar.Sqr) else list(inputs)
    text = names[0]
    for name in names[1:]:
        text = f"tk_product_{dtype}({text}, {name})"
    return text


def is_scalar_constant(variable: Variable) -> bool:
    """Whether a tensor variable is a constant of one element, which the kernel's text can hold."""
    return isinstance(variable, Constant) and all(variable.type.broadcastable)


def write_elemwise(writer: StatementWriter, node: Apply, value: Callable[[Variable], str]) -> dict[Variable, str]:
    """Write the statements of an `Elemwise` node; `value` gives the names of its inputs. Returns those of its outputs."""
    ins = [value(v) for v in node.inputs]
    types = [scalar.get_scalar_type(v.type.dtype) for v in node.inputs]
    outs = writer.apply(node.op.scalar_op, ins, types)
    dtypes = {s.dst: s.dtype for s in writer.statements}
    names = {}
    for variable, name in zip(node.outputs, outs, strict=True):
        has = dtypes.get(name)
        if has is None:  # the op returns one of its inputs, or a constant
            name = writer.copy(name, variable.type.dtype)
        elif has != variable.type.dtype:
            name = writer.cast(name, has, variable.type.dtype)
        names[variable] = name
    return names


def reduction_kind(node: Apply) -> tuple[str, str]:
    """The operation of a `CAReduce` node in a kernel, and the dtype of its accumulator."""
    op, x, out = node.op, node.inputs[0], node.outputs[0]
    kind = _REDUCE_OPS.get(type(op.scalar_op))
    if kind is None or (x.type.dtype.startswith("complex") and kind in ("maximum", "minimum", "xor")):
        raise CannotLower(f"no reduction of {x.type.dtype} by {op.scalar_op}")
    if kind in ("and", "or") and out.type.dtype == "bool":
        return ("all" if kind == "and" else "any"), "bool"
    return kind, getattr(op, "acc_dtype", None) or out.type.dtype

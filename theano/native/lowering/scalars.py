"""Scalar graphs as statements of a kernel: what the body of a loop nest is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano import scalar
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.utils import MethodNotDefined
from theano.misc.digest import blake2b
from theano.native import ir
from theano.native.program import CannotLower
from theano.scalar.expression import Expression, cast, constant, variable
from theano.scalar.op import is_expression

_REDUCE_OPS = {
    scalar.Add: "add",
    scalar.Mul: "mul",
    scalar.AND: "and",
    scalar.OR: "or",
    scalar.XOR: "xor",
    scalar.Maximum: "maximum",
    scalar.Minimum: "minimum",
}


class StatementWriter:
    """Turns applications of scalar ops into statements of :mod:`theano.native.ir` with fresh names.

    What was computed before is not computed again: the nodes of different Composites may well do the same.

    Attributes
    ----------
    statements
        What was written.
    support
        Texts of C functions that statements call.
    """

    def __init__(self) -> None:
        self.statements: list[ir.Statement] = []
        self.support: list[str] = []
        self._count = 0
        self._known: dict[Any, Any] = {}

    def fresh(self) -> str:
        """A name that was not used before."""
        self._count += 1
        return f"v{self._count}"

    def restart(self) -> None:
        """Begin a new list of statements, which does not see the values of the one before."""
        self.statements = []
        self._known.clear()

    def named(self, value: Expression) -> str:
        """The name of a named value, or of a fresh one that is a constant."""
        return value.name if value.op == "var" else self.write(value, value.dtype).name

    def value(self, value: Expression, dtype: str) -> Expression:
        """An expression's value, converted to `dtype`: the expression itself where that is a name or a constant."""
        if value.op in ("var", "const"):
            value = cast(value, dtype)
            if value.op in ("var", "const"):
                return value
        elif dtype == "bool":
            value = cast(value, dtype)
        known = self._known.get((value, dtype))
        if known is None:
            known = self._known[value, dtype] = self.write(value, dtype)
        return known

    def write(self, value: Expression, dtype: str) -> Expression:
        """A fresh value: that of an expression, converted to `dtype`."""
        result = self.fresh()
        self.statements.append(ir.Stmt(result, dtype, value))
        return variable(result, dtype)

    def apply(self, op: Any, inputs: Sequence[Expression], node: Apply | None = None) -> list[Expression]:
        """Write the statements of ``op(*inputs)``; returns the results."""
        if isinstance(op, scalar.Composite):
            return self._composite(op, inputs)
        if node is None:
            node = op.make_node(*[scalar.get_scalar_type(x.dtype)() for x in inputs])
        if not is_expression(op):
            return self._code(op, node, inputs)
        out = node.outputs[0].type.dtype
        try:
            value = op.expression(out, *inputs)
        except (MethodNotDefined, NotImplementedError):
            raise CannotLower(f"{op} has no expression") from None
        self._support_of(op, node)
        return [self.value(value, out)]

    def _composite(self, op: Any, inputs: Sequence[Expression]) -> list[Expression]:
        values: dict[Variable, Expression] = dict(zip(op.inputs, inputs, strict=True))

        def value_of(v: Variable) -> Expression:
            found = values.get(v)
            if found is None:
                if not isinstance(v, Constant):
                    raise CannotLower("a scalar graph with a variable that nothing computes")
                found = values[v] = constant(v.data, v.type.dtype)
            return found

        for node in op.nodes:
            values.update(zip(node.outputs, self.apply(node.op, [value_of(v) for v in node.inputs], node), strict=True))
        return [value_of(v) for v in op.outputs]

    def _code(self, op: Any, node: Apply, inputs: Sequence[Expression]) -> list[Expression]:
        """Write the C code of an op that is no expression."""
        dtypes = [v.type.dtype for v in node.outputs]
        try:
            key = (op, *inputs, *dtypes)
            known = self._known.get(key)
        except TypeError:  # an op that cannot be hashed
            key, known = None, None
        if known is not None:
            return known
        name = self._support_of(op, node)
        outs = [f"tk_out{i}_" for i in range(len(dtypes))]
        try:
            text = op.c_code(node, name, [f"tk_in{i}_" for i in range(len(inputs))], outs, {"fail": "return;"})
        except (MethodNotDefined, NotImplementedError):
            raise CannotLower(f"{op} has no C code") from None
        # A user's code may leave any number in a truth value.
        text += "".join(f"\n{z} = ({z} != 0);" for z, dtype in zip(outs, dtypes, strict=True) if dtype == "bool")
        results = tuple((self.fresh(), dtype) for dtype in dtypes)
        self.statements.append(ir.Code(results, tuple(inputs), text, op.impl))
        known = [variable(*result) for result in results]
        if key is not None:
            self._known[key] = known
        return known

    def _support_of(self, op: Any, node: Apply) -> str:
        """Keep the C functions that the code of a node calls; returns the name by which the node is known to them."""
        name = "tk"
        own = _text(lambda: op.c_support_code_apply(node, name))
        if own:
            # Equal functions have one name in all kernels, others another one.
            name = f"tk{blake2b(own.encode(), digest_size=8).hexdigest()}"
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


def is_scalar_constant(variable: Variable) -> bool:
    """Whether a tensor variable is a constant of one element, which the kernel's text can hold."""
    return isinstance(variable, Constant) and all(variable.type.broadcastable)


def scalar_constant(variable: Any) -> Expression:
    """The one element of a constant."""
    return constant(variable.data.reshape(()), variable.type.dtype)


def write_elemwise(writer: StatementWriter, node: Apply, value: Callable[[Variable], Expression]) -> dict[Variable, Expression]:
    """Write the statements of an `Elemwise` node; `value` gives its inputs. Returns its outputs."""
    outs = writer.apply(node.op.scalar_op, [value(v) for v in node.inputs])
    return {v: writer.value(out, v.type.dtype) for v, out in zip(node.outputs, outs, strict=True)}


def reduction_kind(node: Apply) -> tuple[str, str]:
    """The operation of a `CAReduce` node in a kernel, and the dtype of its accumulator."""
    op, x, out = node.op, node.inputs[0], node.outputs[0]
    kind = _REDUCE_OPS.get(type(op.scalar_op))
    if kind is None or (x.type.dtype.startswith("complex") and kind in ("maximum", "minimum", "xor")):
        raise CannotLower(f"no reduction of {x.type.dtype} by {op.scalar_op}")
    if kind in ("and", "or") and out.type.dtype == "bool":
        return ("all" if kind == "and" else "any"), "bool"
    return kind, getattr(op, "acc_dtype", None) or out.type.dtype

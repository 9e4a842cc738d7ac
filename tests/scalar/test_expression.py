"""Expressions of scalar ops: their C text, their structure, and what the IR's verifier says of wrong ones."""

import numpy as np
import pytest

import theano.scalar as scal
from theano.native import ir
from theano.scalar.composite import has_c_code
from theano.scalar.expression import (
    c_text,
    call,
    cast,
    comparable,
    constant,
    fold,
    functions,
    select,
    unary,
    variable,
    variables,
)
from theano.scalar.op import UnaryScalarOp, is_expression
from theano.scalar.output_types import same_out

X, Y = variable("x", "float64"), variable("y", "float64")
I, B = variable("i", "int8"), variable("b", "bool")  # noqa: E741


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((X + Y) * 2, "(x + y) * 2.0"),
        (X - (Y - X), "x - (y - x)"),
        (X / Y / X, "x / y / x"),
        (-(-X), "-(-x)"),
        (-constant(-1, "float64"), "-(-1.0)"),
        (select(X < Y, X, select(X > 1, Y, 0)), "x < y ? x : x > 1.0 ? y : 0.0"),
        (select(select(B, X, Y) > 0, X, Y) + 1, "((b ? x : y) > 0.0 ? x : y) + 1.0"),
        (fold("or", (X.equals(1), fold("and", (X < Y, B)))), "x == 1.0 || x < y && b"),
        (unary("not", B), "!b"),
        (cast(I, "float32") + 1, "(npy_float32)i + 1.0f"),
        (cast(X + Y, "int8"), "(npy_int8)(x + y)"),
        (cast(X, "bool"), "x != 0.0"),
        (call("pow", I, I), "tk_power_int8(i, i)"),
        (variable("z", "complex64") * variable("z", "complex64"), "tk_product_complex64(z, z)"),
        (call("exp", variable("z", "complex128")), "__builtin_cexp(z)"),
        (fold("add", (X, Y, X)), "x + y + x"),
    ],
)
def test_c_text_binds_as_the_structure_does(value, text):
    assert c_text(value) == text


def test_equal_expressions_are_one_key():
    assert X + 1 == X + 1 and hash(X + 1) == hash(X + 1)
    assert X + 1 != X + 2 and constant(0.0, "float64") != constant(-0.0, "float64")
    nan = constant(np.nan, "float32")
    assert nan == constant(np.nan, "float32") and np.isnan(nan.value)


def test_what_an_expression_reads_and_calls():
    value = call("exp", X * Y) + call("exp", call("log", Y))
    assert variables(value) == {"x", "y"} and sorted(functions(value)) == ["exp", "exp", "log"]


def test_dtypes_do_not_mix():
    for make in (lambda: X + I, lambda: X < I, lambda: select(B, X, I)):
        with pytest.raises(TypeError, match="float64"):
            make()
    with pytest.raises(TypeError, match="no truth value"):
        bool(X < Y)


def test_numbers_are_compared_as_numpy_compares_them():
    assert [x.dtype for x in comparable((I, variable("u", "uint32")))] == ["int64", "int64"]
    assert [x.dtype for x in comparable((variable("n", "int64"), variable("f", "float32")))] == ["float64", "float64"]
    with pytest.raises(NotImplementedError, match="order"):
        comparable((variable("z", "complex64"), X))


def test_constants_are_converted_where_they_stand():
    assert cast(constant(1, "int8"), "float32") == constant(1, "float32")
    assert cast(constant(0.1, "float64"), "float32") == constant(np.float32(0.1), "float32")


def test_an_op_with_c_code_of_its_own_is_no_expression():
    class Twice(scal.Add):
        def c_code(self, node, name, inputs, outputs, sub):
            return f"{outputs[0]} = 2 * ({inputs[0]} + {inputs[1]});"

    assert is_expression(scal.add) and not is_expression(Twice(scal.upcast_out, name="twice"))


def kernel(*statements, result="c", dtype="float64"):
    x = ir.Operand("float64", (False,))
    return ir.elementwise(1, [x], [ir.Output(dtype, (0,))], [ir.Load("x", 0)], statements, [ir.Store(0, result)])


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (ir.let("c", X + Y), "y is no float64"),
        (ir.let("c", variable("x", "float32")), "x is no float32"),
        (ir.Stmt("c", "bool", X), "truth value"),
        (ir.let("c", ir.Expression("add", "float64", (X, constant(1, "int8")))), "no add of float64, int8"),
        (ir.let("c", ir.Expression("bitor", "float64", (X, X))), "no bitor of float64"),
        (ir.let("c", ir.Expression("select", "float64", (X, X))), "no select of"),
        (ir.let("c", ir.Expression("real", "float64", (X,))), "no real of"),
        (ir.let("c", ir.Expression("no name", "float64", (X,))), "no no name of"),
        (ir.Stmt("c", "float64", ir.Expression("complex", "complex128", (X, X))), "imaginary"),
    ],
)
def test_the_verifier_reads_expressions(statement, message):
    with pytest.raises(ir.IRError, match=message):
        ir.verify(kernel(statement))


def test_c_code_of_a_user_with_several_results():
    code = ir.Code((("c", "float64"), ("d", "float64")), (X,), "tk_out0_ = tk_in0_; tk_out1_ = -tk_in0_;")
    ir.verify(kernel(code))
    with pytest.raises(ir.IRError, match="defined twice"):
        ir.verify(kernel(code, code))


def test_a_mistake_in_an_expression_is_no_lack_of_c_code():
    class Wrong(UnaryScalarOp):
        def expression(self, out, x):
            raise TypeError("a mistake")

    class Without(UnaryScalarOp):
        pass

    with pytest.raises(TypeError, match="a mistake"):
        has_c_code(Wrong(same_out, name="wrong"), [scal.float64])
    assert not has_c_code(Without(same_out, name="without"), [scal.float64])

"""Scalar types, conversion of numbers, output types, values of ops, composites."""

import doctest
import importlib
import pickle
import sys

import numpy as np
import pytest

import theano
import theano.scalar as scal
from theano.configparser import change_flags

DTYPES = [t.dtype for t in scal.all_types]


def compute(variable, given=None):
    given = given or {}
    fgraph = theano.FunctionGraph(list(given), [variable], clone=True)
    f, inputs, outputs = theano.PerformLinker().accept(fgraph).make_thunk()
    for container, value in zip(inputs, given.values()):
        container.data = value
    f()
    return outputs[0].data


def test_types_are_singletons():
    for dtype in DTYPES:
        t = scal.get_scalar_type(dtype)
        assert t is scal.get_scalar_type(dtype) is pickle.loads(pickle.dumps(t)) and t == scal.Scalar(dtype)
        assert str(t) == dtype and repr(t) == f"Scalar({dtype})" and t.ndim == 0
    assert scal.get_scalar_type("floatX").dtype == theano.config.floatX
    with pytest.raises(TypeError, match="Unsupported dtype"):
        scal.Scalar("float128")


@pytest.mark.parametrize("dtype", DTYPES)
def test_filter(dtype):
    t = scal.get_scalar_type(dtype)
    got = t.filter(1)
    assert type(got) is np.dtype(dtype).type and got == 1
    assert t.filter(got, strict=True) is got
    with pytest.raises(TypeError):
        t.filter(1, strict=True)
    with pytest.raises(TypeError):
        t.filter("one")
    with pytest.raises(TypeError):
        t.filter(np.ones(2))


def test_filter_and_precision():
    with pytest.raises(TypeError, match="accurately"):
        scal.int8.filter(1.5)
    with pytest.raises(TypeError):
        scal.int8.filter(300)
    assert scal.int8.filter(1.5, allow_downcast=True) == 1
    assert np.isnan(scal.float32.filter(float("nan")))
    with pytest.raises(TypeError):
        scal.float32.filter(0.1)
    with change_flags(floatX="float32"):
        assert scal.float32.filter(0.1) == np.float32(0.1)


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_upcast_is_that_of_numpy(a, b):
    assert scal.upcast(a, b) == (np.ones(1, a) + np.ones(1, b)).dtype.name


def test_upcast_stays_at_floatX_if_asked():
    with change_flags(cast_policy="numpy+floatX", floatX="float32"):
        assert scal.upcast("int64", "float32") == "float32" and scal.upcast("int32") == "int32"
        assert scal.upcast("float64", "float32") == "float64"


@pytest.mark.parametrize(
    ("number", "dtype"),
    [
        (1, "int8"), (-129, "int16"), (40_000, "int32"), (2**40, "int64"), (2**63, "uint64"), (0.5, "float32"),
        (0.1, "float64"), (True, "bool"), (1j, "complex128"), (np.float32(0.1), "float32"), (np.int16(3), "int16"),
        (np.array(2, "uint8"), "uint8"),
    ],
)  # fmt: skip
def test_dtype_of_numbers(number, dtype):
    c = scal.constant(number)
    assert c.dtype == dtype and c.data == number


def test_numbers_that_have_no_type():
    for bad in (2**64, [1, 2], "x", None):
        with pytest.raises(TypeError):
            scal.as_scalar(bad)


def test_casting_policies():
    with change_flags(cast_policy="numpy+floatX", floatX="float32"):
        assert scal.constant(0.1).dtype == "float32"
    with scal.autocast_float_as("float32"):
        assert scal.constant(0.1).dtype == "float32"
    assert scal.constant(0.1).dtype == "float64"
    with change_flags(floatX="float32"):
        assert scal.constant(0.1).dtype == "float32"


def test_as_scalar():
    x = scal.float64("x")
    assert scal.as_scalar(x) is x and scal.as_scalar((x + 1).owner).owner.op == scal.add
    t = theano.tensor.dscalar("t")
    assert scal.as_scalar(t).type == scal.float64
    with pytest.raises(TypeError):
        scal.as_scalar(theano.tensor.dvector())


def test_several_variables_at_once():
    a, b = scal.floats("a", "b")
    assert (a.name, b.name) == ("a", "b") and scal.ints("n").dtype == "int64"


def test_operators():
    x, y = scal.float64("x"), scal.float64("y")
    given = {x: np.float64(7.5), y: np.float64(2.0)}
    for text in ("x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** y", "-x", "abs(x)", "2 - x", "1 / x", "x < y"):
        names = {"x": x, "y": y, "abs": abs}
        got = compute(eval(text, dict(names)), given if "y" in text else {x: given[x]})
        assert got == eval(text, {"x": 7.5, "y": 2.0, "abs": abs}), text
    i = scal.int32("i")
    assert compute(~(i & 6), {i: np.int32(3)}) == -3
    with pytest.raises(TypeError):
        bool(x < y)


def test_operators_are_methods_of_two_operands():
    x, y = scal.float64("x"), scal.float64("y")
    assert type(x).__radd__.__qualname__ == "_scalar_py_operators.__radd__"
    assert x.__sub__(other=y).owner.inputs == [x, y] and x.__rsub__(other=y).owner.inputs == [y, x]
    for method, surplus in ((x.__add__, (y, y)), (x.__neg__, (y,))):
        with pytest.raises(TypeError, match="positional argument"):
            method(*surplus)


def test_division_of_integers():
    i, j = scal.int32("i"), scal.int32("j")
    assert (i / j).dtype == theano.config.floatX and (i // j).dtype == "int32"
    with change_flags(int_division="raise"), pytest.raises(scal.IntegerDivisionError):
        scal.div_proxy(i, j)
    with change_flags(int_division="int"):
        assert scal.div_proxy(i, j).owner.op == scal.int_div


def test_complex_numbers_have_no_remainder():
    z = scal.complex128("z")
    for f in (lambda: z % 2, lambda: scal.mod_check(2, z)):
        with pytest.raises(scal.ComplexError):
            f()


@pytest.mark.parametrize(
    ("policy", "types", "result"),
    [
        (scal.upcast_out, (scal.int8, scal.float32), (scal.float32,)),
        (scal.upgrade_to_float, (scal.int8,), (scal.float32,)),
        (scal.upgrade_to_float, (scal.int64,), (scal.float64,)),
        (scal.upgrade_to_float, (scal.int8, scal.float64), (scal.float64,)),
        (scal.upgrade_to_float64, (scal.int8,), (scal.float64,)),
        (scal.same_out, (scal.int8,), (scal.int8,)),
        (scal.int_out, (scal.float32,), (scal.int64,)),
        (scal.float_out, (scal.int8,), (scal.float64,)),
        (scal.bool_out, (scal.int8, scal.int8), (scal.bool,)),
        (scal.upcast_out_min8, (scal.bool, scal.bool), (scal.int8,)),
        (scal.real_out, (scal.complex64,), (scal.float32,)),
    ],
)
def test_output_types(policy, types, result):
    assert tuple(policy(*types)) == result


def test_output_types_with_data():
    t = scal.transfer_type(1, None, scal.int8)
    assert list(t(scal.float32, scal.int16)) == [scal.int16, scal.float32, scal.int8]
    assert t == scal.transfer_type(1, None, scal.int8) != scal.transfer_type(0) and len({t, scal.transfer_type(0)}) == 2
    assert scal.specific_out(scal.int8)(scal.float64) == (scal.int8,)
    table = scal.unary_out_lookup({scal.int8: scal.int16})
    assert table(scal.int8) == [scal.int16]
    with pytest.raises(TypeError):
        table(scal.float64)


@pytest.mark.parametrize(
    "policy",
    [scal.same_out_nocomplex, scal.same_out_float_only, scal.upcast_out_no_complex, scal.upgrade_to_float_no_complex],
)
def test_output_types_refuse(policy):
    with pytest.raises(TypeError):
        policy(scal.complex64)
    with pytest.raises(TypeError):
        scal.upcast_out_nobool(scal.bool, scal.bool)


@pytest.mark.parametrize("name", [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "ceil", "floor", "trunc", "deg2rad", "rad2deg",
])  # fmt: skip
def test_functions_have_the_values_of_numpy(name):
    op = getattr(scal, name)
    at = 1.25 if name == "arccosh" else 0.75
    assert op.impl(np.float64(at)) == getattr(np, name)(at)
    assert op(scal.float32()).dtype == "float32"


def test_special_functions_have_the_values_of_scipy():
    special = pytest.importorskip("scipy.special")
    for name in ("erf", "erfc", "erfcx", "gamma", "gammaln", "psi", "j0", "j1", "i0", "i1"):
        np.testing.assert_allclose(getattr(scal, name).impl(np.float64(0.6)), getattr(special, name)(0.6), rtol=1e-15)
    for name in ("gammainc", "gammaincc", "jv", "iv"):
        assert getattr(scal, name).impl(1.5, 2.5) == getattr(special, name)(1.5, 2.5)
    for x in (0.3, 5.0):
        np.testing.assert_allclose(scal.tri_gamma.impl(x), special.polygamma(1, x))
    h = 1e-6
    slope = (special.psi(-0.7 + h) - special.psi(-0.7 - h)) / (2 * h)
    np.testing.assert_allclose(scal.tri_gamma.impl(-0.7), slope, rtol=1e-6)


def test_rounding():
    values = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994])
    assert scal.round_half_to_even.impl(values).tolist() == [-2, -2, 0, 0, 2, 2, 0]
    assert scal.round_half_away_from_zero.impl(values).tolist() == [-3, -2, -1, 1, 2, 3, 0]


def test_extremes_keep_nan():
    for op in (scal.maximum, scal.minimum):
        assert np.isnan(op.impl(np.nan, 1.0)) and np.isnan(op.impl(1.0, np.nan))


def test_intervals():
    assert scal.inclosedrange.impl(1, 1, 2) and not scal.inopenrange.impl(1, 1, 2)
    assert scal.inopenrange != scal.inclosedrange
    assert compute(scal.inclosedrange(scal.constant(1.5), 1, 2))


def test_cast():
    x = scal.float64("x")
    y = scal.cast(x, "int8")
    assert y.dtype == "int8" and scal.cast(x, "float64") is x and compute(y, {x: np.float64(-3.7)}) == -3
    assert str(scal.Cast(scal.float32)) == "Cast{float32}"
    assert scal.Cast(scal.float32) == scal.convert_to_float32 != scal.convert_to_float64
    with pytest.raises(TypeError):
        scal.cast(x, "nonsense")


def test_text_of_graphs():
    x, y = scal.float64("x"), scal.float64("y")
    fgraph = theano.FunctionGraph([x, y], [scal.add(x, scal.mul(y, x))], clone=False)
    assert str(fgraph) == "[add(x, mul(y, x))]"
    assert str(scal.gt) == "GT" and str(scal.exp) == "exp" and str(scal.inopenrange).startswith("InRange")
    assert theano.pp(x + y * x) == "(x + (y * x))"


def test_wrong_use():
    with pytest.raises(TypeError, match="Wrong number of inputs"):
        scal.exp(scal.float64(), scal.float64())
    with pytest.raises(TypeError, match="callable"):
        scal.Add("no policy")
    with pytest.raises(TypeError):
        scal.sub(scal.bool(), scal.bool())
    with pytest.raises(TypeError):
        scal.and_(scal.float64(), 1)


def test_composite():
    x, y = scal.float64("x"), scal.float32("y")
    c = scal.Composite([x, y], [scal.exp(x) * y, x + 1])
    assert (c.nin, c.nout) == (2, 2) and c.outputs_type == (scal.float64, scal.float64)
    assert str(c) == "Composite{(exp(i0) * i1), (i0 + Constant{1})}"
    a, b = c.impl(np.float64(0.5), np.float32(2))
    assert a == np.exp(0.5) * 2 and b == 1.5
    assert len(c.fgraph.outputs) == 2 and len(c.fgraph.toposort()) == 3


def test_composites_are_values():
    def make(op):
        x, y = scal.float64(), scal.float64()
        return scal.Composite([x, y], [op(x, y) * 2])

    assert make(scal.add) == make(scal.add) and hash(make(scal.add)) == hash(make(scal.add))
    assert make(scal.add) != make(scal.sub)
    copy = pickle.loads(pickle.dumps(make(scal.add)))
    assert copy == make(scal.add) and copy.impl(1.0, 2.0) == 6


def test_a_composite_of_composites_is_flat():
    x, y = scal.float64(), scal.float64()
    inner = scal.Composite([x, y], [x * y + 1])
    a, b = scal.float64(), scal.float64()
    outer = scal.Composite([a, b], [inner(inner(a, b), b) - inner(a, b)])
    assert not any(isinstance(n.op, scal.Composite) for n in outer.nodes)
    # inner(a, b) is computed once
    assert len(outer.nodes) == 5
    assert outer.impl(2.0, 3.0) == (2 * 3 + 1) * 3 + 1 - (2 * 3 + 1)


def test_a_composite_adapts_to_other_types():
    x, y = scal.float64(), scal.float64()
    c = scal.Composite([x, y], [x + y])
    node = c.make_node(scal.float32(), scal.float32())
    assert node.outputs[0].dtype == "float32" and node.op != c
    half = scal.float16()
    assert scal.Composite([half], [scal.exp(half)]).clone_float32().inputs_type == (scal.float32,)


def test_a_composite_without_float16():
    half, y = scal.float16(), scal.float32()
    inner = scal.Composite([half, y], [scal.tanh(half + scal.cast(y, "float16"))])
    chosen = type(scal.add)(scal.specific_out(scal.float16))(half, y)
    c = scal.Composite([half, y], [inner(half, y) - scal.constant(np.float16(0.5)), chosen])
    wide = c.clone_float32()
    assert any(v.type == scal.float16 for v in c.fgraph.variables)
    assert not any(v.type == scal.float16 for v in wide.fgraph.variables)
    np.testing.assert_allclose(wide.impl(np.float32(1), np.float32(0.25)), (np.tanh(1.25) - 0.5, 1.25), rtol=1e-6)


def test_several_variables_of_one_text():
    assert [v.name for v in scal.floats("xyz")] == ["x", "y", "z"]
    assert [v.name for v in scal.ints(["one", "two"])] == ["one", "two"]
    assert scal.floats("x").name == "x"


def test_a_constant_with_a_name_and_a_dtype():
    c = scal.constant(2, name="two", dtype="float32")
    assert (c.name, c.dtype, c.data) == ("two", "float32", 2)


def test_a_composite_holds_scalar_ops_only():
    t = theano.tensor.dscalar()
    x = scal.float64()
    with pytest.raises((TypeError, ValueError)):
        scal.Composite([x], [scal.as_scalar(t) + x])
    with pytest.raises(ValueError):
        scal.Composite([x, x], [x + 1])


def test_a_composite_of_thousands_of_nodes():
    x = scal.float64()
    y = x
    for i in range(5000):
        y = scal.sin(y) if i % 2 else y + x
    c = scal.Composite([x], [y])
    assert len(c.nodes) == 5000 and sys.getrecursionlimit() < 5000
    value = 0.1
    for i in range(5000):
        value = np.sin(value) if i % 2 else value + 0.1
    np.testing.assert_allclose(c.impl(np.float64(0.1)), value)
    assert "Composite{" in str(c) and hash(c) == hash(scal.Composite([x], [y]))
    assert c.c_code(c.make_node(x), "n", ["a"], ["b"], {}).count("sin") == 2500
    assert pickle.loads(pickle.dumps(c)) == c
    (g,) = c.L_op([x], [c(x)], [scal.float64()])
    assert g.type == scal.float64


def test_a_composite_on_one_variable_twice():
    x, y = scal.float64(), scal.float64()
    c = scal.Composite([x, y], [x * x * y])
    a = scal.float64("a")
    gx, gy = c.L_op([a, a], [c(a, a)], [scal.constant(np.float64(1))])
    assert compute(gx, {a: np.float64(3)}) == 18 and compute(gy, {a: np.float64(3)}) == 9


def test_sharing_inside_does_not_blow_up_the_text():
    x = scal.float64()
    y = x
    for _ in range(60):
        y = y + y
    c = scal.Composite([x], [y])
    assert len(str(c)) < 20_000 and c.impl(1.0) == 2.0**60


def test_shared_scalar():
    s = scal.shared(np.float32(2), name="s")
    assert s.type == scal.float32 and s.get_value() == 2
    with pytest.raises(TypeError):
        scal.shared(np.ones(2))


@pytest.mark.parametrize("name", ["scalar.type", "scalar.convert", "scalar.composite", "tensor.type", "tensor.var",
                                  "tensor.elemwise", "tensor.careduce", "tensor.dimshuffle"])  # fmt: skip
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(f"theano.{name}"), optionflags=doctest.ELLIPSIS)
    assert result.attempted and not result.failed

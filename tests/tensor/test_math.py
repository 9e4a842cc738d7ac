"""Elementwise functions: their names and printing, casts, rounding, comparisons, complex parts, in-place versions."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, assert_like_numpy, evaluate
from theano import tensor as T
from theano.tensor import inplace

UNARY = [
    "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "cos", "sin", "tan", "arccos", "arcsin", "arctan",
    "cosh", "sinh", "tanh", "arcsinh", "arctanh", "ceil", "floor", "trunc", "deg2rad", "rad2deg",
]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    value = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    assert_like_numpy(getattr(T, name), getattr(np, name), value, rtol=1e-12)


def test_names_and_printing():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    assert str(T.exp(x).owner.op) == "Elemwise{exp,no_inplace}"
    assert str(T.cast(x, "int32").owner.op) == "Elemwise{Cast{int32}}"
    assert theano.pp(x + y * 2) == "(x + (y * TensorConstant{2}))"
    assert theano.pp(T.dot(x, y) ** 2) == "((x \\dot y) ** TensorConstant{2})"
    assert theano.pp(-x / y) == "((-x) / y)"
    assert theano.pp(T.exp(x)[1:, 0]).startswith("exp(x)[")
    assert theano.pp(T.fill(x, 1.0)) == "fill(x, TensorConstant{1.0})"
    assert T.add is not T.mul and "sum" in T.add.__doc__


@pytest.mark.parametrize("dtype", sorted(T.basic._cast_mapping))
def test_casts(dtype):
    value = np.array([0.0, 1.0, 5.0])
    got = evaluate(lambda x: T.cast(x, dtype), value)
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(got, value.astype(dtype))


def test_casts_that_do_nothing_or_lose_a_part():
    x = T.dvector()
    assert T.cast(x, "float64") is x and T.cast(x, np.float64) is x
    assert T.cast(x, "floatX").dtype == theano.config.floatX
    with pytest.raises(TypeError):
        T.cast(T.zvector(), "float64")
    with pytest.raises(TypeError):
        T.cast(x, "text")


@pytest.mark.filterwarnings("ignore")
def test_rounding_of_halves():
    value = np.array([0.5, 1.5, 2.5, -0.5, -2.5])
    np.testing.assert_array_equal(evaluate(lambda x: T.round(x, "half_to_even"), value), np.round(value))
    np.testing.assert_array_equal(evaluate(lambda x: T.round(x, "half_away_from_zero"), value), [1, 2, 3, -1, -3])
    assert T.iround(T.fvector(), "half_to_even").dtype == "int64" and T.round(T.fvector()).dtype == "float32"
    with pytest.raises(Exception, match="not implemented"):
        T.round(T.dvector(), "up")


def test_comparisons_and_closeness():
    a = np.array([1.0, np.inf, np.nan, -np.inf, 1e10])
    b = np.array([1.0 + 1e-9, np.inf, np.nan, np.inf, 1.00001e10])
    for equal_nan in (False, True):
        assert_like_numpy(
            lambda x, y: T.isclose(x, y, equal_nan=equal_nan), lambda x, y: np.isclose(x, y, equal_nan=equal_nan), a, b
        )
    assert_like_numpy(T.allclose, np.allclose, a[:1], b[:1])
    for name in ("lt", "gt", "le", "ge", "eq", "neq"):
        assert getattr(T, name)(T.dvector(), T.dvector()).dtype == "bool"
    for name in ("isnan", "isinf"):
        assert_like_numpy(getattr(T, name), getattr(np, name), a)
        assert not evaluate(getattr(T, name), np.arange(3)).any()


def test_complex_parts():
    z, x = T.zvector(), T.dvector()
    value = np.array([1 + 2j, -3j])
    for ours, theirs in ((T.real, np.real), (T.imag, np.imag), (T.conj, np.conj), (T.angle, np.angle), (T.abs_, np.abs)):
        assert_like_numpy(ours, theirs, value)
    assert T.real(x) is x and T.real(z).dtype == "float64"
    np.testing.assert_array_equal(evaluate(T.imag, np.ones(2)), [0, 0])
    with pytest.raises(NotImplementedError):
        T.mod_check(z, x)


def test_division_and_extremes_of_many():
    a, b = np.array([7, -7, 7]), np.array([2, 2, -2])
    for got, expected in zip(evaluate(lambda x, y: T.divmod(x, y), a, b), np.divmod(a, b)):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(evaluate(lambda x, y: T.ceil_intdiv(x, y), a, b), [4, -3, -3])
    assert_like_numpy(lambda x, y: T.largest(x, y, x + y), lambda x, y: np.max([x, y, x + y], 0), a, b)
    assert_like_numpy(lambda x, y: T.smallest(x, y), np.minimum, a, b)
    assert_like_numpy(lambda x: T.clip(x, -1, 3), lambda x: np.clip(x, -1, 3), a)
    assert_like_numpy(lambda x, y: T.where(x > y, x, y), np.maximum, a, b)


def test_inplace_versions_write_over_their_first_argument():
    x, y = T.dvectors(2)
    f = theano.function([theano.In(x, mutable=True), y], inplace.add_inplace(x, y), accept_inplace=True, mode=PLAIN)
    value = np.ones(3)
    np.testing.assert_array_equal(f(value, np.arange(3.0)), [1, 2, 3])
    np.testing.assert_array_equal(value, [1, 2, 3])
    assert inplace.exp_inplace(x).owner.op.destroy_map == {0: [0]}
    assert T.tensor_copy(x) is not x


@pytest.mark.parametrize("operation", [T.nnet.sigmoid, T.nnet.softplus, T.tri_gamma], ids=str)
def test_complex_numbers_are_refused_where_only_the_real_part_would_count(operation):
    with pytest.raises(TypeError, match="complex"):
        operation(T.zvector("z"))


def test_operations_describe_themselves():
    text = T.arctan2.__doc__
    assert "a, b : tensor_like\n    Of bool, integers and floats." in text
    assert "TypeError\n    If one is of complex numbers." in text
    assert "numpy.arctan2" in text
    assert "Of any dtype" in T.exp.__doc__ and ">>> T.exp([0.5, 1.0]).eval()\narray([1.64872127, 2.71828183])" in T.exp.__doc__
    assert "of dtype bool" in T.lt.__doc__
    # What an operation is computed by, where that is a function of this package, is no neighbour for users.
    assert "numpy.exp : The same of arrays." in T.exp.__doc__ and "theano.scalar" not in T.chi2sf.__doc__ + T.complex.__doc__
    assert T.Elemwise(theano.scalar.exp).__doc__ == T.Elemwise.__doc__
    # What an operation in place shows is where its result lies.
    assert ">>> f(value) is value, value\n(True, array([1.64872127, 2.71828183]))" in inplace.exp_inplace.__doc__
    assert "In the memory of the first input: of its shape and dtype." in inplace.true_div_inplace.__doc__
    assert inplace.true_div_inplace(T.lvector(), T.dvector()).dtype == "int64"
    # Results differ from the arguments, where any do.
    assert ">>> T.abs_([-0.5, 2.0]).eval()" in T.abs_.__doc__ and "[1 + 2j, 3 - 1j]" in inplace.conj_inplace.__doc__

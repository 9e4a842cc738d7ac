"""Reductions: values, dtypes of result and accumulator, errors, text and gradients."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.scalar as scal
import theano.tensor as T
from theano.gradient import NullTypeGradError
from theano.tensor.elemwise import All, Any, CAReduce, CAReduceDtype, Prod, ProdWithoutZeros, Sum

PYTHON = theano.Mode("py", None)


@st.composite
def arrays_and_axes(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=3))
    axes = draw(st.one_of(st.none(), st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1)))
    return shape, axes


@given(arrays_and_axes(), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_values_are_those_of_numpy(case, seed):
    shape, axes = case
    value = np.random.default_rng(seed).integers(-3, 4, shape).astype("float64")
    x = T.TensorType("float64", (False,) * len(shape))("x")
    axis = None if axes is None else tuple(axes)
    outs = [Sum(axes)(x), Prod(axes)(x), All(axes)(x), Any(axes)(x)]
    functions = [np.sum, np.prod, np.all, np.any]
    got = theano.function([x], outs, mode=PYTHON)(value)
    for g, function, out in zip(got, functions, outs):
        expected = np.asarray(function(value, axis=axis))
        assert g.shape == expected.shape and g.dtype == out.dtype
        np.testing.assert_allclose(g, expected)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), [2], (0, 2), (-1,), (0, -1)])
@pytest.mark.parametrize("op", [scal.maximum, scal.minimum])
def test_extremes(axis, op):
    x = T.dtensor3("x")
    value = np.random.default_rng(1).normal(size=(2, 3, 4))
    value[0, 0, 0] = np.nan
    f = theano.function([x], CAReduce(op, axis)(x), mode=PYTHON)
    function = np.max if op is scal.maximum else np.min
    np.testing.assert_array_equal(f(value), function(value, axis=tuple(axis) if isinstance(axis, list) else axis))


@pytest.mark.parametrize(("op", "function"), [(scal.and_, np.bitwise_and), (scal.or_, np.bitwise_or), (scal.xor, np.bitwise_xor)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_bits(op, function, dtype):
    x = T.matrix("x", dtype=dtype)
    value = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 99, (3, 4)).astype(dtype)
    got = theano.function([x], CAReduce(op, 0)(x), mode=PYTHON)(value)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, function.reduce(value, axis=0))


@pytest.mark.parametrize(
    ("dtype", "result", "acc"),
    [
        ("bool", "int64", "int64"),
        ("int8", "int64", "int64"),
        ("int64", "int64", "int64"),
        ("uint16", "uint64", "uint64"),
        ("float16", "float16", "float32"),
        ("float32", "float32", "float64"),
        ("float64", "float64", "float64"),
        ("complex64", "complex64", "complex128"),
    ],
)
def test_default_dtypes(dtype, result, acc):
    for op in (Sum(), Prod()):
        out = op(T.vector(dtype=dtype))
        assert (out.dtype, out.owner.op.dtype, out.owner.op.acc_dtype) == (result, result, acc)


def test_float32_sums_accumulate_in_float64():
    x = T.fvector("x")
    value = np.array([1e8, 1, -1e8], "float32")
    assert theano.function([x], Sum()(x), mode=PYTHON)(value) == 1
    assert theano.function([x], Sum(acc_dtype="float32")(x), mode=PYTHON)(value) in (0, 1)


def test_dtypes_that_are_asked_for():
    x = T.bvector("x")
    f = theano.function([x], [Sum(dtype="float32")(x), Sum(acc_dtype="float64")(x)], mode=PYTHON)
    a, b = f(np.array([100, 100], "int8"))
    assert (a.dtype, b.dtype) == ("float32", "int64") and a == b == 200
    with pytest.raises(TypeError, match="precision would be lost"):
        Sum(acc_dtype="float32")(T.dvector())
    with pytest.raises(TypeError, match="precision would be lost"):
        Sum(acc_dtype="int32")(T.lvector())


def test_text():
    x = T.dmatrix("x")
    assert str(x.sum().owner.op) == "Sum{acc_dtype=float64}"
    assert str(x.sum(axis=0).owner.op) == "Sum{axis=[0], acc_dtype=float64}"
    assert str(x.prod(axis=(0, 1)).owner.op) == "Prod{axis=(0, 1), dtype='float64', acc_dtype='float64'}"
    assert str(CAReduce(scal.maximum, 1)(x).owner.op) == "Reduce{maximum}{1}"
    assert str(CAReduce(scal.maximum)) == "Reduce{maximum}"
    assert str(T.all(x).owner.op) == "All" and str(Any(1)) == "Any{1}"
    assert str(CAReduceDtype(scal.add, 0)(x).owner.op) == "ReduceDtype{add}{axis=[0], acc_dtype=float64}"


def test_wrong_axes():
    with pytest.raises(ValueError, match="Not enough dimensions"):
        Sum(2)(T.dmatrix())
    with pytest.raises(ValueError, match="twice"):
        Sum((0, -2))(T.dmatrix())
    with pytest.raises(NotImplementedError):
        CAReduce(scal.exp)


def test_an_empty_extreme_has_no_value():
    x = T.dmatrix("x")
    f = theano.function([x], CAReduce(scal.maximum, 1)(x), mode=PYTHON)
    with pytest.raises(ValueError, match="zero-size"):
        f(np.ones((2, 0)))
    assert f(np.ones((0, 2))).shape == (0,)


def test_truth_of_numbers():
    x = T.dmatrix("x")
    y = All(0)(x)
    assert y.dtype == "bool"
    assert theano.function([x], y, mode=PYTHON)([[0.5, 0], [2, 1]]).tolist() == [True, False]
    assert theano.function([x], T.grad(T.switch(y, 1.0, 2.0).sum(), x, disconnected_inputs="ignore"), mode=PYTHON)(
        np.ones((2, 2))
    ).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_sum_gradient_and_r_op(axis):
    x, v = T.dtensor3("x"), T.dtensor3("v")
    y = Sum(axis)(x)
    value = np.random.default_rng(0).normal(size=(2, 3, 4))
    g = theano.function([x], T.grad((y**2).sum(), x), mode=PYTHON)(value)
    expected = 2 * value.sum(axis=axis, keepdims=True) + 0 * value
    np.testing.assert_allclose(g, expected)
    r = theano.function([x, v], T.Rop(y, x, v), mode=PYTHON, on_unused_input="ignore")
    np.testing.assert_allclose(r(value, value), value.sum(axis=axis))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_product_gradient_with_and_without_zeros(axis):
    x = T.dmatrix("x")
    f = theano.function([x], T.grad((Prod(axis)(x) * 3).sum(), x), mode=PYTHON)
    for value in (
        [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]],
        [[1.0, 2, 3], [0, 5, 6], [7, 8, 9]],
        [[1.0, 2, 0], [0, 5, 6], [7, 8, 9]],
        [[0.0, 2, 0], [0, 0, 6], [0, 8, 9]],
    ):
        value = np.array(value)
        expected = np.empty_like(value)
        for i in np.ndindex(*value.shape):
            # The product is linear in each element.
            one, zero = value.copy(), value.copy()
            one[i], zero[i] = 1, 0
            expected[i] = 3 * (one.prod(axis=axis) - zero.prod(axis=axis)).sum()
        np.testing.assert_allclose(f(value), expected)


def test_second_derivative_of_a_product():
    x = T.dvector("x")
    first = T.grad(Prod(no_zeros_in_input=True)(x), x)
    f = theano.function([x], T.grad(first.sum(), x), mode=PYTHON)
    np.testing.assert_allclose(f([1.0, 2.0, 3.0]), [5, 4, 3])
    with pytest.raises(NullTypeGradError):
        T.grad(T.grad(Prod()(x), x).sum(), x)


def test_product_without_zeros():
    x = T.dmatrix("x")
    f = theano.function([x], ProdWithoutZeros(1)(x), mode=PYTHON)
    assert f([[0, 2, 3], [0, 0, 0]]).tolist() == [6, 1]


def test_shape_inference():
    x = T.dtensor3("x")
    f = theano.function([x], Sum((0, 2))(x).shape)
    assert f(np.ones((2, 3, 4))).tolist() == [3]


def test_a_scalar_op_without_ufunc():
    class Hypot(scal.BinaryScalarOp):
        identity = 0
        commutative = associative = True

        def impl(self, x, y):
            return float(x * x + y * y) ** 0.5

    x = T.dmatrix("x")
    f = theano.function([x], CAReduce(Hypot(scal.upcast_out, name="hypot"), 1)(x), mode=PYTHON)
    np.testing.assert_allclose(f([[3, 4, 12], [0, 0, 0]]), [13, 0])
    assert f(np.ones((2, 0))).tolist() == [0, 0]

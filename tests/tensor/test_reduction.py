"""Reductions over every axis, their dtypes, gradients and bad axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, assert_like_numpy, evaluate
from theano import tensor as T

few = settings(max_examples=25, deadline=None)
AXES = [None, 0, 1, -1, [0, 2], (0, 1, 2), []]
VALUE = np.random.RandomState(0).randn(2, 3, 4)


def numpy_axis(axis):
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all"])
def test_reductions_agree_with_numpy(name, axis, keepdims):
    value = VALUE > 0 if name in ("any", "all") else VALUE
    assert_like_numpy(
        lambda x: getattr(T, name)(x, axis=axis, keepdims=keepdims),
        lambda x: getattr(np, name)(x, axis=numpy_axis(axis), keepdims=keepdims),
        value,
        shape=axis in (None, 0, [0, 2]),
    )


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extremes(name, axis):
    got = assert_like_numpy(lambda x: getattr(T, name)(x, axis=axis), lambda x: getattr(np, name)(x, axis=axis), VALUE)
    assert got.dtype == np.int64
    kept = evaluate(lambda x: getattr(T, name)(x, axis=axis, keepdims=True), VALUE)
    assert kept.ndim == 3 and kept.size == got.size


def test_extremes_over_several_axes_count_in_row_major_order():
    largest, index = evaluate(lambda x: T.max_and_argmax(x, axis=[0, 2]), VALUE)
    rows = VALUE.transpose(1, 0, 2).reshape(3, 8)
    np.testing.assert_array_equal(largest, rows.max(1))
    np.testing.assert_array_equal(index, rows.argmax(1))


@few
@given(hnp.arrays(st.sampled_from(["int8", "uint8", "int64", "bool", "float32"]), st.integers(1, 6)))
def test_minima_of_every_dtype(value):
    if value.dtype.kind == "f":
        value = np.nan_to_num(value)
    got = evaluate(lambda x: T.min(x), value)
    assert got == value.min() and got.dtype == value.dtype
    assert evaluate(lambda x: T.argmin(x), value) == value.argmin()


def test_nan_wins():
    value = np.array([[1.0, np.nan], [3.0, 2.0]])
    for name in ("max", "min", "argmax", "argmin", "sum", "mean"):
        assert_like_numpy(lambda x: getattr(T, name)(x, axis=1), lambda x: getattr(np, name)(x, axis=1), value)


def test_sums_widen_small_integers_and_accumulate_in_double():
    for dtype, wide in (("int8", "int64"), ("uint16", "uint64"), ("float32", "float32"), ("bool", "int64")):
        assert T.sum(T.TensorType(dtype, (False,))()).dtype == wide
    assert T.mean(T.lvector()).dtype == "float64" and T.mean(T.fvector()).dtype == "float32"
    assert T.sum(T.fvector()).owner.op.acc_dtype == "float64"
    assert str(T.sum(T.dmatrix(), axis=1).owner.op) == "Sum{axis=[1], acc_dtype=float64}"
    half = np.full(70000, 1.0, dtype="float16")
    assert evaluate(lambda x: T.mean(x), half) == 1.0


@pytest.mark.parametrize("ddof, corrected", [(0, False), (1, False), (0, True), (1, True)])
def test_variance_with_degrees_of_freedom(ddof, corrected):
    for axis in (None, 1, [0, 1]):
        assert_like_numpy(
            lambda x: T.var(x, axis=axis, ddof=ddof, corrected=corrected),
            lambda x: np.var(x, axis=numpy_axis(axis), ddof=ddof),
            VALUE,
        )
    z = VALUE[0] + 1j * VALUE[1]
    np.testing.assert_allclose(evaluate(lambda x: T.var(x, ddof=ddof), z), np.var(z, ddof=ddof))


@pytest.mark.parametrize("order", [0, 1, 2, 3.5, np.inf, -np.inf])
def test_vector_norms(order):
    for axis in (None, 1):
        assert_like_numpy(
            lambda x: T.norm(x, order, axis=axis),
            lambda x: np.linalg.norm(x.ravel() if axis is None else x, order, axis=axis),
            VALUE,
        )
    with pytest.raises(TypeError):
        T.norm(T.dscalar(), 2)


def test_ptp():
    assert_like_numpy(lambda x: T.ptp(x, axis=1), lambda x: np.ptp(x, axis=1), VALUE)


@pytest.mark.parametrize("name", ["sum", "max", "argmax", "mean", "any", "var"])
@pytest.mark.parametrize("axis, error", [(3, ValueError), (-4, ValueError), ([0, 5], ValueError), (0.5, TypeError)])
def test_axes_that_are_not_there_are_refused(name, axis, error):
    with pytest.raises((error, IndexError, TypeError)):
        getattr(T, name)(T.dtensor3(), axis=axis)


def test_the_maximum_of_nothing_raises_when_called():
    with pytest.raises(ValueError):
        evaluate(lambda x: T.max(x), np.zeros(0))
    assert evaluate(lambda x: T.sum(x), np.zeros(0)) == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: T.max(x, axis=1),
        lambda x: T.min(x, axis=[0, 2]),
        lambda x: T.var(x, axis=(0, 1)),
        lambda x: T.std(x),
        lambda x: T.prod(x, axis=2),
        lambda x: T.mean(x, axis=0),
        lambda x: T.norm(x, 3, axis=1),
        lambda x: T.ptp(x, axis=0),
    ],
)
def test_gradients_of_reductions(function):
    theano.gradient.verify_grad(function, [VALUE], rng=np.random.RandomState(1), mode=REWRITTEN)


def test_r_operator_of_the_maximum():
    x, v = T.dtensor3(), T.dtensor3()
    direction = np.random.RandomState(1).randn(2, 3, 4)
    for axes in ([1], [0, 2], [0, 1, 2]):
        got = theano.function([x, v], T.Rop(T.max(x, axis=axes), x, v), mode=PLAIN)(VALUE, direction)
        eps = 1e-7
        step = (VALUE + eps * direction).max(axis=tuple(axes)) - VALUE.max(axis=tuple(axes))
        np.testing.assert_allclose(got, step / eps, rtol=1e-5)


def test_statistics_have_names():
    x = T.dmatrix("x")
    assert [v.name for v in (T.mean(x), x.mean(axis=0), T.mean(T.imatrix()), T.mean(x, axis=[]))] == ["mean"] * 4
    assert [v.name for v in (T.var(x), x.var(axis=1, ddof=1), T.std(x), x.std(keepdims=True))] == ["var", "var", "std", "std"]
    assert "'mean'" in theano.printing.debugprint(x.mean(), file="str")
    assert x.name == "x"

"""TensorType: values, conversions, equality, text; shared variables of tensors."""

import copy
import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.type import (
    TensorType,
    tensor_type,
    values_eq_approx_always_true,
    values_eq_approx_remove_inf,
    values_eq_approx_remove_nan,
)


def test_text():
    assert str(T.dmatrix) == repr(T.dmatrix) == "TensorType(float64, matrix)"
    assert str(T.fcol) == "TensorType(float32, col)" and str(T.brow) == "TensorType(int8, row)"
    assert str(T.zscalar) == "TensorType(complex128, scalar)" and str(T.dtensor4) == "TensorType(float64, 4D)"
    assert str(TensorType("bool", (True,))) == "TensorType(bool, (True,))"
    assert str(TensorType("int8", (False, True, False))) == "TensorType(int8, (False, True, False))"
    assert str(TensorType("int8", (), name="mine")) == "mine"


def test_equality_and_identity():
    assert TensorType("float64", [0, 1]) == T.dcol and hash(TensorType("float64", [0, 1])) == hash(T.dcol)
    assert T.dvector != T.fvector and T.dvector != T.dmatrix and T.dvector != "x"
    assert tensor_type("float64", ()) is T.dscalar
    assert copy.deepcopy(T.dmatrix) is T.dmatrix
    assert pickle.loads(pickle.dumps(T.dmatrix)) is T.dmatrix
    named = pickle.loads(pickle.dumps(TensorType("int8", (False,), name="mine")))
    assert named == T.bvector and named.name == "mine" and hash(named) == hash(T.bvector)


def test_dtype():
    assert TensorType("floatX", ()).dtype == theano.config.floatX
    assert TensorType(np.dtype("float32"), ()).dtype == TensorType(np.float32, ()).dtype == "float32"
    assert T.fvector.to_scalar_type() == theano.scalar.float32
    with pytest.raises(TypeError, match="Unsupported dtype"):
        TensorType("float128", ())
    with pytest.raises(TypeError):
        TensorType("nonsense", ())


def test_clone():
    assert T.dcol.clone(dtype="int8") == T.bcol
    assert T.dcol.clone(broadcastable=(False,)) == T.dvector


def test_filter_returns_the_array_itself():
    a = np.ones((2, 3))
    assert T.dmatrix.filter(a) is a and T.dmatrix.filter(a, strict=True) is a


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (T.dvector, [1, 2]),
        (T.dvector, range(10)),
        (T.dvector, np.arange(3, dtype="int16")),
        (T.dscalar, 3),
        (T.bscalar, 127),
        (T.zvector, [1j]),
        (T.dvector, []),
        (T.fvector, [0.5, float("nan")]),
    ],
)
def test_values_that_fit_are_converted(type_, value):
    got = type_.filter(value)
    assert got.dtype == type_.dtype and got.ndim == type_.ndim
    np.testing.assert_array_equal(got, np.asarray(value))


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (T.fvector, np.ones(2), "risking loss of precision"),
        (T.fvector, [0.1], "cannot store accurately"),
        (T.bscalar, 300, "cannot store accurately"),
        (T.lvector, [1.5], "cannot store accurately"),
        (T.dvector, np.ones((2, 2)), "Wrong number of dimensions: expected 1, got 2 with shape \\(2, 2\\)"),
        (T.drow, np.ones((2, 2)), "Non-unit value on shape on a broadcastable dimension"),
        (T.dvector, [[1], [2, 3]], "expected numbers"),
        (T.dvector, None, "dtype"),
        (T.dvector, T.dvector(), "found a Variable"),
        (T.dvector, np.ones(2, dtype=complex), "risking loss of precision"),
    ],
)
def test_values_that_do_not_fit(type_, value, text):
    with pytest.raises(TypeError, match=text):
        type_.filter(value)


@pytest.mark.parametrize("value", [["a"], "adsf"])
def test_text_is_a_value_error_as_in_numpy(value):
    with pytest.raises(ValueError, match="dtype"):
        T.dvector.filter(value)


def test_strict_and_downcast():
    with pytest.raises(TypeError, match="expected a ndarray"):
        T.dvector.filter([1.0], strict=True)
    with pytest.raises(TypeError, match="dtype = float64"):
        T.dvector.filter(np.ones(1, "float32"), strict=True)
    assert T.bvector.filter([300.0, 1.5], allow_downcast=True).dtype == "int8"
    assert T.fvector.filter(np.ones(1), allow_downcast=True).dtype == "float32"
    with pytest.raises(TypeError):
        T.dscalar.filter(np.float64(1) + 0j, allow_downcast=False)


def test_python_floats_go_into_floatX_scalars():
    with theano.configparser.change_flags(floatX="float32"):
        assert T.fscalar.filter(0.1) == np.float32(0.1)
        assert theano.function([x := T.fscalar()], x)(0.1) == np.float32(0.1)
    with pytest.raises(TypeError):
        T.fscalar.filter(0.1)


def test_other_byte_orders_and_alignment():
    swapped = np.arange(3.0).astype(">f8")
    got = T.dvector.filter(swapped)
    assert got.dtype.isnative and got.tolist() == [0, 1, 2]
    odd = np.zeros(17, "u1")[1:].view("float64")
    if not odd.flags.aligned:
        for strict in (False, True):
            with pytest.raises(TypeError, match="aligned"):
                T.dvector.filter(odd, strict=strict)


def test_a_memmap_stays_on_disk(tmp_path):
    m = np.memmap(tmp_path / "m", dtype="float64", shape=(4,), mode="w+")
    assert np.shares_memory(T.dvector.filter(m), m)


def test_is_super_and_convert():
    assert T.dmatrix.is_super(T.drow) and not T.drow.is_super(T.dmatrix)
    assert not T.dmatrix.is_super(T.fmatrix) and not T.dmatrix.is_super(T.dvector)
    row = T.drow("r")
    assert T.dmatrix.filter_variable(row).type == T.dmatrix
    assert T.drow.convert_variable(T.dmatrix()) is None
    with pytest.raises(TypeError, match="Cannot convert Type"):
        T.drow.filter_variable(T.dmatrix())
    assert T.dvector.filter_variable([1.0, 2.0]).data.tolist() == [1, 2]


def test_comparison_of_values():
    a = np.array([1.0, np.nan, np.inf])
    assert T.dvector.values_eq(a, a.copy()) and not T.dvector.values_eq(a, a[:2])
    assert T.dvector.values_eq_approx(a, a + 1e-9) and not T.dvector.values_eq_approx(a, a + 1)
    assert not T.dvector.values_eq_approx(a, a.astype("float32"))
    b = np.array([1.0, 5.0, np.inf])
    assert values_eq_approx_remove_nan(a, b) and not values_eq_approx_remove_inf(a, b)
    assert values_eq_approx_always_true(a, None)
    assert T.bvector.values_eq_approx(np.array([1], "int8"), np.array([1], "int8"))


def test_memory():
    a = np.ones(10)
    assert T.dvector.may_share_memory(a, a[2:]) and not T.dvector.may_share_memory(a, a.copy())
    assert not T.dvector.may_share_memory(a, None)
    assert T.dmatrix.get_size(T.dmatrix.get_shape_info(np.ones((2, 3)))) == 48
    assert T.fmatrix.value_zeros((2, 2)).dtype == "float32"


def test_c_code_names_the_variable():
    sub = {"fail": "{goto fail;}"}
    for method in (T.dvector.c_declare, T.dvector.c_init, T.dvector.c_extract, T.dvector.c_sync, T.dvector.c_cleanup):
        assert "xyz" in method("xyz", sub)
    assert T.dvector.c_element_type() == "npy_float64" and T.dvector.c_code_cache_version()


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (1, T.lscalar),
        (1.5, T.dscalar),
        (1j, T.zscalar),
        (np.float32(1), T.fscalar),
        (np.ones((1, 2), "int8"), T.bmatrix),
        (True, TensorType("bool", ())),
    ],
)
def test_shared_variables(value, type_):
    s = theano.shared(value, name="s")
    assert s.type == type_ and s.name == "s" and isinstance(s.get_value(borrow=True), np.ndarray)
    np.testing.assert_array_equal(s.get_value(), value)


def test_a_shared_array_is_copied_unless_borrowed():
    a = np.zeros(2)
    copied, borrowed = theano.shared(a), theano.shared(a, borrow=True)
    a += 1
    assert copied.get_value().tolist() == [0, 0] and borrowed.get_value().tolist() == [1, 1]
    assert theano.shared(np.ones((1, 2)), broadcastable=(True, False)).type == T.drow
    with pytest.raises(TypeError):
        theano.shared(a, target="gpu0")

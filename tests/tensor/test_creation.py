"""Tensors from Python objects, constants and their numbers; zeros, arange, eye, diagonals, grids, made vectors."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, assert_like_numpy, evaluate
from theano import scalar as scal
from theano import tensor as T

few = settings(max_examples=30, deadline=None)


def test_variables_pass_and_arrays_are_copied():
    x = T.dmatrix()
    assert T.as_tensor_variable(x) is x
    value = np.ones((1, 3))
    constant = T.as_tensor_variable(value, name="c")
    value[:] = 7
    assert constant.name == "c" and constant.broadcastable == (True, False)
    np.testing.assert_array_equal(constant.data, np.ones((1, 3)))


@pytest.mark.parametrize(
    "value, dtype",
    [(1, "int8"), (128, "int16"), (-129, "int16"), (2**31, "int64"), (0.5, "float32"), (1j, "complex128"),
     ([1, 2], "int64"), ((1.5, 2), "float64"), (np.float16(2), "float16"), (np.bool_(True), "bool")],
)
def test_dtypes_of_constants(value, dtype):
    if value == 0.5:
        dtype = theano.scalar.convert(0.5).dtype.name
    assert T.as_tensor_variable(value).dtype == dtype


def test_the_number_of_dimensions_can_be_asked_for():
    assert T.as_tensor_variable(T.dvector(), ndim=3).broadcastable == (True, True, False)
    assert T.as_tensor_variable(np.arange(3.0), ndim=2).broadcastable == (True, False)
    assert T.as_tensor_variable(T.drow(), ndim=1).ndim == 1
    for bad in (T.dmatrix(), np.ones((2, 2))):
        with pytest.raises(ValueError):
            T.as_tensor_variable(bad, ndim=1)


def test_lists_with_variables_are_stacked():
    a, b = T.dscalars(2)
    nested = T.as_tensor_variable([[a, 1.0], [2.0, b]])
    np.testing.assert_array_equal(theano.function([a, b], nested, mode=PLAIN)(5, 6), [[5, 1], [2, 6]])


@pytest.mark.parametrize("bad", [True, "text", object(), {1: 2}, theano.generic(), None])
def test_what_is_no_tensor_is_refused(bad):
    with pytest.raises((TypeError, T.basic.AsTensorError)):
        T.as_tensor_variable(bad)


def test_an_apply_with_several_outputs_is_ambiguous():
    with pytest.raises(ValueError):
        T.as_tensor_variable(T.max_and_argmax(T.dvector())[0].owner)
    node = (T.dscalar() + 1).owner
    assert T.as_tensor_variable(node) is node.outputs[0]


@pytest.mark.parametrize(
    "build, number",
    [
        (lambda: T.constant(3), 3),
        (lambda: T.fill(T.dvector(), 4.0), 4),
        (lambda: T.ones((2, 3)), 1),
        (lambda: T.drow().shape[0], 1),
        (lambda: T.stack([T.dscalar(), T.constant(2.0)])[1], 2),
        (lambda: T.constant(np.full((2, 2), 5.0)), 5),
        (lambda: T.constant(3) * 2 + 1, 7),
        (lambda: T.constant([1, 2, 3])[1], 2),
        (lambda: T.constant(np.zeros((4, 2))).shape[0], 4),
        (lambda: T.tensor_from_scalar(scal.constant(2)), 2),
        (lambda: T.cast(T.constant(2), "float64").dimshuffle("x"), 2),
    ],
)
def test_known_numbers(build, number):
    assert T.get_scalar_constant_value(build()) == number


def test_unknown_numbers():
    for unknown in (T.dscalar() + 1, T.constant([1, 2]), None, T.dvector().shape[0]):
        with pytest.raises(T.NotScalarConstantError):
            T.get_scalar_constant_value(unknown)
    with pytest.raises(T.EmptyConstantError):
        T.get_scalar_constant_value(T.constant(np.zeros(0)))
    x = T.dscalar()
    assert T.extract_constant(x) is x and T.extract_constant(T.constant(2)) == 2


def test_lengths_of_vectors():
    x = T.dmatrix()
    assert T.get_vector_length(x.shape) == 2
    assert T.get_vector_length(T.stack([x.shape[0], 1, 2])) == 3
    assert T.get_vector_length(T.concatenate([x.shape, [1]])) == 3
    assert T.get_vector_length(T.constant([1, 2, 3, 4])[1:]) == 3
    assert T.get_vector_length(T.arange(1, 9, 3)) == 3
    with pytest.raises(ValueError):
        T.get_vector_length(T.lvector())
    with pytest.raises(TypeError):
        T.get_vector_length(x)


def test_filled_tensors():
    n = T.lscalar()
    outputs = [T.zeros((n, 2)), T.ones(n, dtype="int8"), T.full((2, n), 7), T.alloc(np.float32(3), n, 2), T.zeros([])]
    values = theano.function([n], outputs, mode=PLAIN)(3)
    assert [v.shape for v in values] == [(3, 2), (3,), (2, 3), (3, 2), ()]
    assert [v.dtype.name for v in values] == [theano.config.floatX, "int8", "int8", "float32", theano.config.floatX]
    assert T.alloc(0.0, 1, n).broadcastable == (True, False)
    x = T.fmatrix()
    assert T.zeros_like(x, dtype="int32").dtype == "int32" and x.ones_like().dtype == "float32"
    assert T.full_like(x, 2).dtype == "float32"
    assert str(T.AllocEmpty("float64")) == "AllocEmpty{dtype='float64'}"


def test_bad_shapes_are_refused():
    for bad in (lambda: T.zeros((1.5,)), lambda: T.alloc(T.dmatrix(), 2), lambda: T.alloc(0, T.dvector())):
        with pytest.raises(TypeError):
            bad()
    n = T.lscalar()
    with pytest.raises(ValueError):
        theano.function([n], T.zeros((n,)), mode=PLAIN)(-1)


@few
@given(st.integers(-6, 6), st.integers(-6, 6), st.integers(-3, 3).filter(bool))
def test_arange_agrees_with_numpy(start, stop, step):
    a, b, c = T.lscalars("a", "b", "c")
    y = T.arange(a, b, c)
    f = theano.function([a, b, c], [y, y.shape], mode=REWRITTEN)
    value, shape = f(start, stop, step)
    expected = np.arange(start, stop, step)
    np.testing.assert_array_equal(value, expected)
    assert tuple(shape) == expected.shape
    known = T.arange(start, stop, step)
    assert tuple(theano.function([], known.shape, mode=REWRITTEN)()) == expected.shape


def test_arange_of_floats_and_its_dtypes():
    np.testing.assert_allclose(T.arange(0.0, 1.0, 0.3).eval(), np.arange(0, 1, 0.3))
    assert T.arange(T.bscalar()).dtype == "int64" and T.arange(3, dtype="float32").dtype == "float32"
    assert str(T.arange(5).owner.op) == "ARange{dtype='int64'}"
    for f in (lambda s: T.arange(s, s + 1, 0.25) ** 2, lambda s: T.arange(0.0, 1.0, s)):
        theano.gradient.verify_grad(f, [np.array(0.3)], rng=np.random.RandomState(0), mode=PLAIN)


def test_eye_and_triangles():
    m = np.arange(12.0).reshape(3, 4)
    for k in (-1, 0, 2):
        assert_like_numpy(lambda x: T.eye(x.shape[0], x.shape[1], k), lambda x: np.eye(3, 4, k), m)
        assert_like_numpy(lambda x: T.tri(x.shape[0], x.shape[1], k), lambda x: np.tri(3, 4, k), m)
        assert_like_numpy(lambda x: T.tril(x, k), lambda x: np.tril(x, k), m)
        assert_like_numpy(lambda x: T.triu(x, k), lambda x: np.triu(x, k), m)
    assert_like_numpy(T.identity_like, lambda x: np.eye(3, 4), m)


@pytest.mark.parametrize("offset, axis1, axis2", [(0, 0, 1), (1, 0, 2), (-1, 1, 2), (0, 2, 0), (-2, 0, 1), (9, 0, 1)])
def test_diagonals(offset, axis1, axis2):
    value = np.random.RandomState(0).rand(3, 4, 5)
    assert_like_numpy(lambda x: T.diagonal(x, offset, axis1, axis2), lambda x: np.diagonal(x, offset, axis1, axis2), value)
    theano.gradient.verify_grad(
        lambda x: T.diagonal(x, offset, axis1, axis2), [value], rng=np.random.RandomState(1), mode=PLAIN
    )
    row = np.random.RandomState(0).rand(2, 3)
    if offset < 9:
        made = evaluate(lambda x: T.AllocDiag(offset, axis1, axis2)(x), row)
        np.testing.assert_array_equal(np.diagonal(made, offset, axis1, axis2), row)
        assert np.count_nonzero(made) == row.size


def test_diag_goes_both_ways():
    for k in (-1, 0, 1):
        assert_like_numpy(lambda x: T.diag(x, k), lambda x: np.diag(x, k), np.arange(1.0, 4))
        assert_like_numpy(lambda x: T.diag(x, k), lambda x: np.diag(x, k), np.arange(12.0).reshape(3, 4))
    with pytest.raises(ValueError):
        T.diag(T.dscalar())


def test_grids():
    for ours, theirs in ((T.mgrid[0:3, 1:5:2], np.mgrid[0:3, 1:5:2]), (T.ogrid[0:1:0.25, 0:2], np.ogrid[0:1:0.25, 0:2])):
        for a, b in zip(ours, theirs):
            np.testing.assert_array_equal(a.eval(), b)
    np.testing.assert_allclose(T.mgrid[0:1:5j].eval(), np.mgrid[0:1:5j])


def test_nonzero():
    value = np.array([[1.0, 0, 2], [0, 3, 0]])
    for got, expected in zip(evaluate(lambda x: list(x.nonzero()), value), value.nonzero()):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(evaluate(lambda x: x.nonzero(return_matrix=True), value), np.array(value.nonzero()))
    np.testing.assert_array_equal(evaluate(T.nonzero_values, value), [1, 2, 3])
    with pytest.raises(ValueError):
        T.nonzero(T.dscalar())


def test_made_vectors_refuse_what_they_cannot_hold():
    assert T.stack([T.iscalar(), T.lscalar()]).dtype == "int64"
    with pytest.raises(AssertionError, match="without loss"):
        T.MakeVector("int64")(T.dscalar())
    with pytest.raises(TypeError):
        T.MakeVector("int64")(T.lvector())
    assert T.MakeVector("float64")().eval().shape == (0,)


def test_scalars_and_tensors_convert():
    s = scal.float64("s")
    assert T.tensor_from_scalar(s).type == T.dscalar
    assert T.scalar_from_tensor(T.iscalar()).type == scal.int32
    with pytest.raises(TypeError):
        T.scalar_from_tensor(T.dvector())


def test_operations_pickle_as_values():
    ops = [T.Alloc(), T.ARange("int64"), T.Eye("float32"), T.Join(), T.Split(3), T.Reshape(2), T.ExtractDiag(1),
           T.MaxAndArgmax([0]), T.dmatrix()[1:, 0].owner.op, T.set_subtensor(T.dvector()[1:], 0).owner.op, T.Dot()]
    for op in ops:
        again = pickle.loads(pickle.dumps(op))
        assert again == op and hash(again) == hash(op) and str(again) == str(op)


def test_plural_constructors():
    assert [v.type for v in T.dmatrices(2)] == [T.dmatrix] * 2
    assert [v.name for v in T.scalars("xy")] == ["x", "y"]
    assert T.ivector("n").name == "n" and T.row().broadcastable == (True, False)
    with pytest.raises(ValueError):
        T.dscalars()


def test_choose_permute_and_transfer():
    a, table = np.array([2, 0, 1, 2]), np.arange(12.0).reshape(3, 4)
    assert_like_numpy(lambda a, t: T.choose(a, t), lambda a, t: np.choose(a, t), a, table)
    for mode in ("wrap", "clip"):
        assert_like_numpy(lambda a, t: T.choose(a, t, mode=mode), lambda a, t: np.choose(a, t, mode=mode), a * 3 - 4, table)
    assert_like_numpy(lambda a, x, y: T.choose(a, (x, y)), lambda a, x, y: np.choose(a, (x, y)), a % 2, table[0], table[1])
    for f in (lambda t: T.choose(a, t), lambda t: T.choose(a - 7, (t[0], t[1]), mode="wrap")):
        theano.gradient.verify_grad(f, [table], rng=np.random.RandomState(0), mode=PLAIN)
    with pytest.raises(ValueError):
        evaluate(lambda a, t: T.choose(a, t), np.array([3, 0, 0, 0]), table)
    order = np.array([1, 2, 0])
    assert_like_numpy(lambda x, p: T.permute_row_elements(x, p), lambda x, p: x[:, p], table[:, :3], order)
    assert_like_numpy(lambda p: T.inverse_permutation(p), lambda p: np.argsort(p), order)
    theano.gradient.verify_grad(
        lambda x: T.permute_row_elements(x, order), [table[:, :3]], rng=np.random.RandomState(0), mode=PLAIN
    )
    x = T.dvector()
    assert x.transfer("cpu") is x
    with pytest.raises(ValueError):
        x.transfer("nowhere")

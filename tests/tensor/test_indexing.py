"""Indexing as NumPy does it: basic, advanced, boolean, with symbolic bounds; assignment, increments, gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, assert_like_numpy, evaluate, inferred_shape
from theano import tensor as T
from theano.tensor.subtensor import (
    AdvancedBooleanSubtensor,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
    get_canonical_form_slice,
    slice_len,
)

shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
few = settings(max_examples=40, deadline=None)


def numbered(shape):
    return np.arange(int(np.prod(shape)), dtype="float64").reshape(shape)


@few
@given(st.data())
def test_basic_indices_agree_with_numpy(data):
    shape = data.draw(shapes)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    value = numbered(shape)
    assert_like_numpy(lambda x: x[index], lambda x: x[index], value)


@few
@given(st.data())
def test_symbolic_slices_agree_with_numpy(data):
    length = data.draw(st.integers(0, 5))
    bound = st.none() | st.integers(-7, 7)
    parts = (data.draw(bound), data.draw(bound), data.draw(st.none() | st.integers(-3, 3).filter(bool)))
    value = numbered((length,))
    given_parts = [p for p in parts if p is not None]

    def build(x, *symbols):
        left = iter(symbols)
        return x[slice(*[None if p is None else next(left) for p in parts])]

    arguments = [np.asarray(p, dtype="int64") for p in given_parts]
    expected = value[slice(*parts)]
    np.testing.assert_array_equal(evaluate(build, value, *arguments), expected)
    assert inferred_shape(build, value, *arguments) == expected.shape


@few
@given(st.integers(0, 6), st.none() | st.integers(-8, 8), st.none() | st.integers(-8, 8), st.integers(-4, 4).filter(bool))
def test_canonical_slices_select_the_same_elements(length, start, stop, step):
    values = np.arange(length)
    canonical, direction = get_canonical_form_slice(slice(start, stop, step), length)
    assert 0 <= canonical.start <= length and 0 <= canonical.stop <= length and canonical.step > 0
    np.testing.assert_array_equal(values[canonical][::direction], values[start:stop:step])
    assert slice_len(slice(start, stop, step), length) == len(values[start:stop:step])


@few
@given(st.data())
def test_integer_array_indices_agree_with_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    index = data.draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)))
    value = numbered(shape)
    assert_like_numpy(lambda x: x[index], lambda x: x[index], value)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[[0, 1]],
        np.s_[:, [1, 0, 1]],
        np.s_[[0, 1], [2, 1]],
        np.s_[[0, 1], :, [2, 3]],
        np.s_[:, [0, 1], [2, 3]],
        np.s_[[[0, 1], [1, 0]]],
        np.s_[1, [0, 2]],
        np.s_[[0, 1], None, 1:],
        np.s_[..., [0, 1]],
        np.s_[None, [0, 1]],
        np.s_[[True, False]],
        np.s_[0, [True, False, True]],
        np.s_[:, [False, False, False]],
        np.s_[[0, 1], [True, False, True]],
        np.s_[[]],
    ],
    ids=str,
)
def test_advanced_indices_and_their_shapes(index):
    value = numbered((2, 3, 4))
    index = index if isinstance(index, tuple) else (index,)
    index = tuple(np.asarray(i, dtype=int) if i == [] else np.asarray(i) if isinstance(i, list) else i for i in index)
    assert_like_numpy(lambda x: x[index], lambda x: x[index], value)


def test_lists_are_arrays_and_lists_of_slices_tuples():
    value = numbered((2, 3, 4))
    assert_like_numpy(lambda x: x[[1, 0]], lambda x: x[np.array([1, 0])], value)
    assert_like_numpy(lambda x: x[[]], lambda x: x[np.empty(0, dtype=int)], value)
    assert_like_numpy(lambda x: x[[slice(1, None), slice(None)]], lambda x: x[1:, :], value)


def test_the_kind_of_index_decides_the_operation():
    x, i, m, b = T.dmatrix(), T.lscalar(), T.lvector(), T.TensorType("bool", (False, False))()
    assert str(x[i].owner.op) == "Subtensor{int64}"
    assert str(x[1:, ::2].owner.op) == "Subtensor{int64::, ::int64}"
    assert isinstance(x[1].owner.op, Subtensor)
    assert isinstance(x[m].owner.op, AdvancedSubtensor1)
    assert isinstance(x[m, m].owner.op, AdvancedSubtensor)
    assert isinstance(x[b].owner.op, AdvancedBooleanSubtensor)
    assert isinstance(x[T.slicetype()].owner.op, AdvancedSubtensor)
    assert str(T.set_subtensor(x[i, 1:], 0).owner.op) == "IncSubtensor{Set;int64, int64::}"
    assert str(T.inc_subtensor(x[m], 1).owner.op) == "AdvancedIncSubtensor1{no_inplace,inc}"


def test_templates_are_values():
    x, i = T.dmatrix(), T.lscalar()
    a, b = x[i, 1:].owner.op, x[i, 2:].owner.op
    assert a == b and hash(a) == hash(b)
    assert x[i].owner.op != x[i, 1:].owner.op
    assert IncSubtensor(a.idx_list) != IncSubtensor(a.idx_list, set_instead_of_inc=True)


def test_a_dimension_of_length_one_stays_broadcastable_where_that_is_certain():
    x = T.TensorType("float64", (True, False))()
    assert x[0:1].broadcastable == (True, False)
    assert x[1:].broadcastable == (False, False)
    assert x[:, None].broadcastable == (True, True, False)


@pytest.mark.parametrize(
    "index, error",
    [(np.s_[0, 0, 0], IndexError), (np.s_[..., 0, ...], IndexError), (1.5, TypeError), (np.s_[1.5:], TypeError),
     ([1.5, 2.5], TypeError), (np.s_[..., 0, 0, 0], IndexError)],
)
def test_indices_that_cannot_work_are_refused(index, error):
    with pytest.raises(error):
        T.dmatrix()[index]


def test_an_index_out_of_bounds_raises_when_called():
    x, i, v = T.dmatrix(), T.lscalar(), T.lvector()
    for function, argument in ((theano.function([x, i], x[i]), 7), (theano.function([x, v], x[v]), [0, 7])):
        with pytest.raises(IndexError):
            function(np.zeros((2, 2)), argument)


@few
@given(st.data())
def test_assignment_and_increment_agree_with_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    arrays = hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=1, max_side=3))
    index = data.draw(hnp.basic_indices(shape) | arrays)
    value = numbered(shape)
    part = value[index]
    update = -1.0 - np.arange(int(np.prod(np.shape(part)))).reshape(np.shape(part))
    assigned, added = value.copy(), value.copy()
    np.add.at(added, index, update)
    got = evaluate(lambda x, y: T.inc_subtensor(x[index], y), value, update)
    np.testing.assert_allclose(got, added)
    if len(set(np.ravel(np.arange(value.size).reshape(shape)[index]).tolist())) == np.size(part):
        # Of equal positions it is not said which value stays.
        assigned[index] = update
        np.testing.assert_allclose(evaluate(lambda x, y: T.set_subtensor(x[index], y), value, update), assigned)


def test_assignment_through_masks_new_axes_and_other_axes():
    value = numbered((3, 4))
    mask = value > 5
    expected = value.copy()
    expected[mask] = -1
    np.testing.assert_array_equal(evaluate(lambda x: T.set_subtensor(x[x > 5], -1.0), value), expected)
    expected = value.copy()
    expected[:, [1, 1]] = 0
    np.testing.assert_array_equal(evaluate(lambda x: T.set_subtensor(x[:, [1, 1]], 0.0), value), expected)
    expected = value.copy()
    expected[:, None, 1] += np.arange(3.0)[:, None]
    got = evaluate(lambda x, y: T.inc_subtensor(x[:, None, 1], y.dimshuffle(0, "x")), value, np.arange(3.0))
    np.testing.assert_array_equal(got, expected)
    expected = value.copy()
    np.add.at(expected, [[0, 0], [1, 0]], 1)
    np.testing.assert_array_equal(evaluate(lambda x: T.inc_subtensor(x[[[0, 0], [1, 0]]], 1.0), value), expected)


def test_what_is_no_index_expression_cannot_be_assigned_to():
    x = T.dmatrix()
    for bad in (x, x + 1, x.T):
        with pytest.raises(TypeError):
            T.set_subtensor(bad, 0)
    with pytest.raises(TypeError):
        T.inc_subtensor(x[0], T.dmatrix())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[1],
        lambda x: x[::-2, 1:],
        lambda x: x[:, None, 1],
        lambda x: x[[0, 2, 2]],
        lambda x: x[:, [1, 1, 0]],
        lambda x: x[[0, 1], [2, 2]],
        lambda x: x[np.array([True, False, True])],
        lambda x: x.take([3, -14, 5], mode="wrap"),
        lambda x: x.take([[0, 1], [1, 1]], axis=1),
        lambda x: T.set_subtensor(x[0], x[1]),
        lambda x: T.inc_subtensor(x[:, 1:], x[:, 0].dimshuffle(0, 'x') ** 2),
        lambda x: T.inc_subtensor(x[[0, 0]], x[1:]),
        lambda x: T.set_subtensor(x[[0, 2]], 2 * x[0]),
    ],
)
def test_gradients_of_indexing(function):
    value = np.random.RandomState(0).rand(3, 4)
    theano.gradient.verify_grad(function, [value], rng=np.random.RandomState(1), mode=REWRITTEN)


def test_r_operator_of_indexing_is_linear():
    x, v = T.dmatrix(), T.dmatrix()
    value, direction = np.random.RandomState(0).rand(2, 3, 4)
    for build in (lambda a: a[1:, 2], lambda a: a[[0, 0]], lambda a: a[[0, 1], [1, 2]], lambda a: T.inc_subtensor(a[0], a[1])):
        f = theano.function([x, v], T.Rop(build(x), x, v), mode=PLAIN, on_unused_input="ignore")
        np.testing.assert_allclose(f(value, direction), evaluate(build, direction))


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take_agrees_with_numpy(mode, axis):
    value = numbered((3, 4))
    index = np.array([[0, 2], [1, 0]]) if mode == "raise" else np.array([[-9, 2], [50, 0]])
    assert_like_numpy(lambda x: T.take(x, index, axis=axis, mode=mode), lambda x: x.take(index, axis=axis, mode=mode), value)


def test_take_refuses_unknown_modes_axes_and_floats():
    x = T.dmatrix()
    with pytest.raises(ValueError):
        T.take(x, [0], mode="bounce")
    with pytest.raises(IndexError):
        T.take(x, [0], axis=2)
    with pytest.raises(TypeError):
        T.take(x, [0.5])


@pytest.mark.parametrize("change", [T.inc_subtensor, T.set_subtensor])
@pytest.mark.parametrize("shape", [(2, 2, 3), (1, 1, 3), (1, 2, 3), (2, 1, 1)])
@pytest.mark.parametrize("mode", [PLAIN, REWRITTEN])
def test_rows_of_a_matrix_of_indices_take_what_broadcasts_at_run_time(change, shape, mode):
    w, i, y = T.dmatrix(), T.lmatrix(), T.dtensor3()
    function = theano.function([w, i, y], change(w[i], y), mode=mode)
    table, indices, value = numbered((5, 3)), np.array([[0, 3], [4, 1]]), numbered(shape) + 1
    expected = table.copy()
    expected[indices] = value + (expected[indices] if change is T.inc_subtensor else 0)
    np.testing.assert_array_equal(function(table, indices, value), expected)
    with pytest.raises(ValueError, match="broadcast"):
        function(table, indices, numbered((3, 2, 3)))


def test_one_number_written_to_a_slice_of_unknown_length():
    x, s, n = T.dvector(), T.dscalar(), T.lscalar()
    f = theano.function([x, s, n], T.inc_subtensor(x[:n], T.alloc(s, n)))
    assert not any(isinstance(node.op, T.Alloc) for node in f.maker.fgraph.toposort())
    np.testing.assert_array_equal(f(np.zeros(3), 2.0, 2), [2, 2, 0])
    np.testing.assert_array_equal(f(np.zeros(3), 2.0, 1), [2, 0, 0])
    with pytest.raises((AssertionError, ValueError)):
        f(np.zeros(3), 2.0, 4)

"""DimShuffle: order, views, errors, text, shape and gradient."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T
from theano.tensor.elemwise import DimShuffle

PYTHON = theano.Mode("py", None)


@st.composite
def orders(draw):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=3))
    pattern = tuple(n == 1 for n in shape)
    kept = [i for i in range(len(shape)) if not pattern[i] or draw(st.booleans())]
    order = draw(st.permutations(kept))
    for _ in range(draw(st.integers(0, 2))):
        order.insert(draw(st.integers(0, len(order))), "x")
    return shape, pattern, tuple(order)


@given(orders())
@settings(max_examples=80, deadline=None)
def test_values_are_those_of_transpose_and_reshape(case):
    shape, pattern, order = case
    value = np.arange(float(np.prod(shape))).reshape(shape)
    x = T.TensorType("float64", pattern)("x")
    y = x.dimshuffle(order)
    assert y.broadcastable == tuple(True if j == "x" else pattern[j] for j in order)
    kept = [j for j in order if j != "x"]
    dropped = [j for j in range(len(shape)) if j not in kept]
    wanted_shape = [1 if j == "x" else shape[j] for j in order]
    expected = value.transpose(kept + dropped).reshape(wanted_shape)
    got = theano.function([x], y, mode=PYTHON)(value)
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)
    grad = theano.function([x], T.grad((y * 2).sum(), x), mode=PYTHON)(value)
    np.testing.assert_array_equal(grad, np.full(shape, 2.0))


def test_it_is_a_view_of_its_input():
    op = DimShuffle((False, False), (1, "x", 0))
    node = op(T.dmatrix("x")).owner
    value, cell = np.ones((2, 3)), [[None]]
    op.perform(node, [value], cell)
    assert np.shares_memory(cell[0][0], value) and op.view_map == {0: [0]}
    copying = DimShuffle((False, False), (1, "x", 0), inplace=False)
    copying.perform(node, [value], cell)
    assert not np.shares_memory(cell[0][0], value) and not getattr(copying, "view_map", None)
    zero = DimShuffle((), ())
    number = np.array(3.0)
    zero.perform(zero(T.dscalar()).owner, [number], cell)
    assert np.shares_memory(cell[0][0], number)


def test_text_and_equality():
    x = T.dmatrix("x")
    assert str(x.T.owner.op) == "InplaceDimShuffle{1,0}"
    assert str(x.dimshuffle("x", 0, 1).owner) == "InplaceDimShuffle{x,0,1}(x)"
    assert str(DimShuffle((False,), ("x", 0), inplace=False)) == "DimShuffle{x,0}"
    assert str(DimShuffle((), ("x", "x"))) == "InplaceDimShuffle{x,x}"
    assert DimShuffle((False,), ("x", 0)) == DimShuffle([False], ["x", 0])
    assert DimShuffle((False,), ("x", 0)) != DimShuffle((True,), ("x", 0))


@pytest.mark.parametrize(
    ("order", "error", "text"),
    [
        ((0, 0), ValueError, "twice"),
        ((0,), ValueError, "drop a non-broadcastable"),
        ((0, 1, 2), ValueError, "only has 2 axes"),
        ((0, "y"), TypeError, "python ints"),
        ((0, 1.0), TypeError, "python ints"),
    ],
)
def test_a_wrong_order_is_refused(order, error, text):
    with pytest.raises(error, match=text):
        T.dmatrix("x").dimshuffle(*order)


def test_the_input_must_fit_the_pattern():
    with pytest.raises(TypeError, match="number of dimensions"):
        DimShuffle((False, False), (1, 0))(T.dvector())
    with pytest.raises(TypeError, match="broadcastable pattern"):
        DimShuffle((True, False), (1,))(T.dmatrix())
    assert DimShuffle((False, False), (1, 0))(T.drow()).type == T.dcol


def test_a_dropped_dimension_must_have_length_one():
    op = DimShuffle((True, False), (1,))
    with pytest.raises(ValueError, match="length 1"):
        op.perform(op(T.drow()).owner, [np.ones((2, 3))], [[None]])


def test_shape_inference_and_r_op():
    x, v = T.dmatrix("x"), T.dmatrix("v")
    y = x.dimshuffle(1, "x", 0)
    f = theano.function([x], y.shape)
    assert f(np.ones((2, 3))).tolist() == [3, 1, 2]
    g = theano.function([x, v], T.Rop(y, x, v), mode=PYTHON, on_unused_input="ignore")
    direction = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(g(np.ones((2, 3)), direction), direction.T[:, None])


def test_more_dimensions_than_numpy_has():
    x = T.dscalar()
    with pytest.raises(ValueError, match="dimensions"):
        x.dimshuffle(("x",) * 65).eval({x: 0})

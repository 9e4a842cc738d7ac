"""The ops that compilation needs, and ops made from Python functions."""

import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.compile import ops
from theano.compile.ops import FromFunctionOp, Rebroadcast, Shape, Shape_i, SpecifyShape, as_op, deep_copy_op, view_op


@as_op(itypes=[T.dmatrix, T.dvector], otypes=[T.dvector], infer_shape=lambda node, shapes: [(shapes[0][0],)])
def product(a, b):
    return np.dot(a, b)


def test_as_op_computes_and_infers_shapes():
    a, b = T.dmatrix("a"), T.dvector("b")
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    assert np.allclose(theano.function([a, b], product(a, b))(x, y), x @ y)
    shape = theano.function([a, b], product(a, b).shape, on_unused_input="ignore")
    assert shape(x, y).tolist() == [2]
    assert not any(isinstance(n.op, FromFunctionOp) for n in shape.maker.fgraph.apply_nodes)


def test_as_op_checks_its_inputs():
    with pytest.raises(TypeError, match="position 0"):
        product(T.fmatrix(), T.dvector())
    with pytest.raises(ValueError, match="expected 2 inputs"):
        product(T.dmatrix())
    with pytest.raises(TypeError, match="itypes"):
        as_op([1], [T.dvector])
    with pytest.raises(TypeError, match="callable"):
        as_op([T.dvector], [T.dvector], infer_shape=3)


def test_as_op_pickles_by_name():
    assert pickle.loads(pickle.dumps(product)) is product


def test_the_gradient_of_a_function_op_is_not_there():
    a, b = T.dmatrix("a"), T.dvector("b")
    with pytest.raises((AttributeError, NotImplementedError)):
        theano.grad(product(a, b).sum(), a)


def test_ops_of_the_same_function_are_equal():
    def f(x):
        return x

    assert FromFunctionOp(f, [T.dvector], [T.dvector], None) == FromFunctionOp(f, [T.dvector], [T.dvector], None)


def test_shape_and_shape_i():
    x = T.dmatrix("x")
    f = theano.function([x], [Shape()(x), Shape_i(0)(x), Shape_i(1)(x)])
    shape, rows, columns = f(np.zeros((2, 3)))
    assert shape.tolist() == [2, 3] and shape.dtype == "int64" and (rows, columns) == (2, 3)
    with pytest.raises(TypeError, match="too few dimensions"):
        Shape_i(2)(x)


def test_shapes_have_no_gradient():
    x = T.dmatrix("x")
    with pytest.raises(theano.gradient.DisconnectedInputError):
        theano.grad(T.cast(x.shape[0], "float64"), x)
    g = theano.function([x], theano.grad(T.cast(x.shape[0], "float64") * x.sum(), x))
    assert np.allclose(g(np.ones((3, 2))), 3)


def test_shape_i_is_one_op_per_dimension():
    assert ops.shape_i_op(3) is ops.shape_i_op(3) and str(ops.shape_i_op(3)) == "Shape_i{3}"
    assert Shape_i(1) == Shape_i(1) and Shape_i(1) != Shape_i(2)


def test_rebroadcast_checks_the_length():
    m = T.dmatrix("m")
    r = Rebroadcast((0, True))(m)
    assert r.broadcastable == (True, False) and str(r.owner.op) == "Rebroadcast{1}"
    f = theano.function([m], r)
    assert f(np.ones((1, 3))).shape == (1, 3)
    with pytest.raises(ValueError, match="supposed to be 1"):
        f(np.ones((2, 3)))


def test_rebroadcast_refuses_what_makes_no_sense():
    with pytest.raises(ValueError):
        Rebroadcast((2, True))(T.dmatrix())
    with pytest.raises(ValueError):
        Rebroadcast((0, 3))
    assert Rebroadcast((1, False), (0, True)) == Rebroadcast((0, True), (1, False))


def test_specify_shape_asserts_the_shape():
    x = T.dmatrix("x")
    y = T.specify_shape(x, (2, 3))
    assert isinstance(y.owner.op, SpecifyShape)
    f = theano.function([x], y * 2)
    assert f(np.ones((2, 3))).shape == (2, 3)
    with pytest.raises(AssertionError):
        f(np.ones((3, 2)))
    assert theano.function([x], y.shape, on_unused_input="ignore")(np.ones((2, 3))).tolist() == [2, 3]
    assert np.allclose(theano.function([x], theano.grad((y**2).sum(), x))(np.ones((2, 3))), 2)


def test_view_and_copy():
    x = T.dvector("x")
    value = np.zeros(3)
    copied = theano.function([x], deep_copy_op(x))(value)
    viewed = theano.function([theano.In(x, borrow=True)], theano.Out(view_op(x), borrow=True), mode="FAST_COMPILE")(value)
    value[0] = 1
    assert copied[0] == 0 and viewed[0] == 1


def test_copies_keep_the_generic_type():
    g = theano.gof.generic("g")
    value = [1, [2]]
    result = theano.function([g], deep_copy_op(g))(value)
    assert result == value and result is not value


@pytest.mark.parametrize("op", [view_op, deep_copy_op])
def test_gradient_and_r_operator_pass_through(op):
    x, v = T.dvector("x"), T.dvector("v")
    f = theano.function([x], theano.grad((op(x) ** 2).sum(), x))
    assert np.allclose(f([1.0, 2.0]), [2, 4])
    r = theano.function([x, v], theano.gradient.Rop(op(x) ** 2, x, v))
    assert np.allclose(r([1.0, 2.0], [1.0, 1.0]), [2, 4])


def test_c_code_is_registered_per_type():
    class MyType(theano.gof.Type):
        def filter(self, data, strict=False, allow_downcast=None):
            return data

    code = "%(oname)s = %(iname)s;"
    ops.register_view_op_c_code(MyType, code, version=1)
    ops.register_shape_i_c_code(MyType, "/*%(i)s*/", "/*check*/", version=2)
    node = view_op(MyType()()).owner
    assert view_op.c_code(node, "name", ["a"], ["b"], {"fail": "F"}) == "b = a;"
    with pytest.raises(theano.gof.utils.MethodNotDefined):
        view_op.c_code(view_op(theano.gof.generic()).owner, "name", ["a"], ["b"], {"fail": "F"})

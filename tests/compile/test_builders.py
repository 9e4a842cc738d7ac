"""OpFromGraph: values, gradients, overrides, shared variables."""

import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import OpFromGraph
from theano.gradient import DisconnectedType, Rop


@pytest.fixture(params=[False, True], ids=["op", "inline"])
def inline(request):
    return request.param


def test_it_can_be_applied_several_times(inline):
    x, y = T.dvectors("x", "y")
    op = OpFromGraph([x, y], [x + 2 * y], inline=inline)
    f = theano.function([x, y], op(x, y) + op(y, x))
    assert np.allclose(f([1.0, 2.0], [3.0, 4.0]), [12, 18])
    assert inline != any(isinstance(n.op, OpFromGraph) for n in f.maker.fgraph.apply_nodes)


def test_the_gradient_of_outputs_that_are_made_from_one_another(inline):
    x, p, q = T.dvectors("x", "p", "q")
    a = T.sin(x)
    first, second, third = OpFromGraph([x], [a, T.exp(a), x], inline=inline)(x)
    f = theano.function([x, p, q], T.grad((first * p).sum() + (second * q).sum() + third.sum(), x))
    at, left, right = np.array([0.3, 0.5]), np.array([2.0, -1.0]), np.array([3.0, 4.0])
    assert np.allclose(f(at, left, right), np.cos(at) * (left + np.exp(np.sin(at)) * right) + 1)


def test_several_outputs_and_nesting(inline):
    x, y = T.dvectors("x", "y")
    inner = OpFromGraph([x, y], [x * y, x - y], inline=inline)
    outer = OpFromGraph([x, y], [sum(inner(x, y))], inline=inline)
    f = theano.function([x, y], outer(x, y))
    assert np.allclose(f([1.0, 2.0], [3.0, 4.0]), [1, 6])


def test_gradients(inline):
    x, y = T.dvectors("x", "y")
    op = OpFromGraph([x, y], [T.exp(x) * y], inline=inline)
    u, v = T.dvectors("u", "v")
    gu, gv = theano.grad(op(u, v).sum(), [u, v])
    f = theano.function([u, v], [gu, gv, theano.grad(gu.sum(), u)])
    a, b = np.array([0.5, 1.0]), np.array([2.0, 3.0])
    for got, want in zip(f(a, b), [np.exp(a) * b, np.exp(a), np.exp(a) * b]):
        assert np.allclose(got, want)


def test_an_output_that_is_not_used_has_gradient_zero(inline):
    x = T.dvector("x")
    op = OpFromGraph([x], [x**2, x**3], inline=inline)
    u = T.dvector("u")
    f = theano.function([u], theano.grad(op(u)[0].sum(), u))
    assert np.allclose(f([1.0, 2.0]), [2, 4])


def test_grad_overrides():
    x, y = T.dvectors("x", "y")
    u, v = T.dvectors("u", "v")

    def both(inputs, grads):
        return [grads[0] * inputs[1] * 2, grads[0] * inputs[0] * 1.5]

    op = OpFromGraph([x, y], [x * y], grad_overrides=both)
    f = theano.function([u, v], theano.grad(op(u, v).sum(), [u, v]))
    assert np.allclose(f([1.0, 2.0], [3.0, 4.0]), [[6, 8], [1.5, 3]])
    op = OpFromGraph([x, y], [x * y], grad_overrides=[lambda inputs, grads: grads[0] * 100, "default"])
    f = theano.function([u, v], theano.grad(op(u, v).sum(), [u, v]), on_unused_input="ignore")
    assert np.allclose(f([1.0, 2.0], [3.0, 4.0]), [[100, 100], [1, 2]])


def test_lop_overrides_see_the_outputs():
    x = T.dvector("x")
    op = OpFromGraph([x], [T.exp(x)], lop_overrides=lambda inputs, outputs, grads: [grads[0] * outputs[0] * 3])
    u = T.dvector("u")
    f = theano.function([u], theano.grad(op(u).sum(), u))
    assert np.allclose(f([0.0, 1.0]), 3 * np.exp([0.0, 1.0]))
    with pytest.raises(ValueError, match="mutually exclusive"):
        OpFromGraph([x], [x], grad_overrides=lambda i, g: g, lop_overrides=lambda i, o, g: g)


def test_an_override_may_disconnect_an_input():
    x, y = T.dvectors("x", "y")
    op = OpFromGraph([x, y], [x * y], grad_overrides=["default", DisconnectedType()()])
    u, v = T.dvectors("u", "v")
    assert op.connection_pattern() == [[True], [False]]
    with pytest.raises(theano.gradient.DisconnectedInputError):
        theano.grad(op(u, v).sum(), v)


def test_an_op_as_override():
    x, g = T.dvectors("x", "g")
    op = OpFromGraph([x], [x**2], grad_overrides=OpFromGraph([x, g], [x * g * 10]))
    u = T.dvector("u")
    assert np.allclose(theano.function([u], theano.grad(op(u).sum(), u))([1.0, 2.0]), [10, 20])


@pytest.mark.parametrize("overrides", [[], [1], 3])
def test_bad_overrides(overrides):
    x = T.dvector("x")
    op = OpFromGraph([x], [x], grad_overrides=overrides)
    with pytest.raises((TypeError, ValueError)):
        theano.grad(op(x).sum(), x)


def test_r_operator(inline):
    x, w = T.dvector("x"), T.dmatrix("w")
    op = OpFromGraph([x, w], [T.dot(x, w)], inline=inline)
    u, big, du = T.dvector("u"), T.dmatrix("big"), T.dvector("du")
    f = theano.function([u, big, du], Rop(op(u, big), u, du), on_unused_input="ignore")
    value = np.arange(6.0).reshape(2, 3)
    assert np.allclose(f([1.0, 2.0], value, [1.0, -1.0]), np.dot([1.0, -1.0], value))
    op = OpFromGraph([x], [x**2], rop_overrides=lambda inputs, points: [points[0] * 7])
    f = theano.function([u, du], Rop(op(u), u, du), on_unused_input="ignore")
    assert np.allclose(f([1.0, 2.0], [1.0, 10.0]), [7, 70])


def test_shared_variables_inside(inline):
    x, s = T.dvector("x"), theano.shared(np.array([1.0, 2.0]))
    op = OpFromGraph([x], [x * s], inline=inline)
    u = T.dvector("u")
    f = theano.function([u], [op(u), theano.grad(op(u).sum(), s)], updates=[(s, s + 1)])
    value, gradient = f([3.0, 4.0])
    assert np.allclose(value, [3, 8]) and np.allclose(gradient, [3, 4])
    assert np.allclose(f([3.0, 4.0])[0], [6, 12])


def test_inferred_shapes_are_made_of_those_of_the_inputs():
    x, n, m = T.dmatrix("x"), T.lscalar("n"), T.lscalar("m")
    (shape,) = theano.compile.builders.infer_shape([T.exp(x).T], [x], [(n, m)])
    assert shape == (m, n)


def test_shapes_are_inferred():
    x, y = T.dmatrices("x", "y")
    op = OpFromGraph([x, y], [T.dot(x, y), x.T])
    u, v = T.dmatrices("u", "v")
    f = theano.function([u, v], [o.shape for o in op(u, v)], on_unused_input="ignore")
    assert [s.tolist() for s in f(np.ones((2, 3)), np.ones((3, 4)))] == [[2, 4], [3, 2]]
    assert not any(isinstance(n.op, OpFromGraph) for n in f.maker.fgraph.apply_nodes)


def test_pickling():
    x = T.dvector("x")
    op = pickle.loads(pickle.dumps(OpFromGraph([x], [x * 2], name="double")))
    u = T.dvector("u")
    assert str(op) == "double{inline=False}"
    assert np.allclose(theano.function([u], theano.grad(op(u).sum(), u), on_unused_input="ignore")([1.0]), [2])


@pytest.mark.parametrize("make", [
    lambda x: OpFromGraph([1], [x]), lambda x: OpFromGraph([x], 1), lambda x: OpFromGraph(x, [x]),
    lambda x: OpFromGraph([x], [x], updates=[]), lambda x: OpFromGraph([x], [x], givens={}),
])  # fmt: skip
def test_bad_arguments(make):
    with pytest.raises(TypeError):
        make(T.dvector("x"))


def test_wrong_number_of_inputs():
    x = T.dvector("x")
    with pytest.raises(ValueError, match="Expected 1 inputs"):
        OpFromGraph([x], [x])(x, x)

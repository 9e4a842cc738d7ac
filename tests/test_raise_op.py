"""Ops that raise."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gof.opt import MergeOptimizer
from theano.raise_op import Assert, Raise, assert_op


def test_raise():
    x = T.dscalar("x")
    f = theano.function([x], Raise("not yet", NotImplementedError)(x))
    with pytest.raises(NotImplementedError, match="not yet"):
        f(1.0)


def test_assert_passes_its_input_on():
    x = T.dvector("x")
    f = theano.function([x], assert_op(x, x.size < 3, T.all(x > 0)))
    np.testing.assert_array_equal(f([1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(AssertionError):
        f([1.0, 2.0, 3.0])
    with pytest.raises(AssertionError):
        f([1.0, -2.0])


def test_assert_message_and_text():
    x = T.dscalar("x")
    op = Assert("too big")
    assert str(op) == "Assert{msg='too big'}" and op == Assert("too big") and op != assert_op
    with pytest.raises(AssertionError, match="too big"):
        theano.function([x], op(x, x < 1))(2.0)
    with pytest.raises(TypeError):
        op(x, T.vector())


def test_assert_gradient_is_the_identity():
    x = T.dscalar("x")
    f = theano.function([x], T.grad(assert_op(x, x > 0) ** 2, x))
    assert float(f(3.0)) == 6.0


def test_documented_paths():
    assert theano.tensor.opt.Assert is Assert and theano.tensor.opt.assert_op is assert_op


class TestMergingChecked:
    def merged(self, *outputs):
        fgraph = theano.gof.FunctionGraph(theano.gof.graph.inputs(list(outputs)), list(outputs), clone=True)
        MergeOptimizer().optimize(fgraph)
        return fgraph

    def test_the_checked_one_stays(self):
        x, y = T.matrix("x"), T.matrix("y")
        fgraph = self.merged(T.dot(x, y), T.dot(assert_op(x, (x > y).all()), y))
        assert fgraph.outputs[0] is fgraph.outputs[1]
        assert isinstance(fgraph.outputs[0].owner.inputs[0].owner.op, Assert)

    def test_checks_of_both_are_kept(self):
        x, y = T.matrix("x"), T.matrix("y")
        fgraph = self.merged(
            T.dot(assert_op(x, (x > y).all()), y), T.dot(assert_op(x, (x < 0).all()), y)
        )
        assert fgraph.outputs[0] is fgraph.outputs[1]
        assert len(fgraph.outputs[0].owner.inputs[0].owner.inputs) == 3

    def test_a_check_that_needs_the_other_result(self):
        x = T.vector("x")
        plain = T.exp(x)
        fgraph = self.merged(plain, T.exp(assert_op(x, (plain > 0).all())))
        fgraph.check_integrity()
        assert len(fgraph.outputs) == 2

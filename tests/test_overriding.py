"""What a subclass of one of Theano's operations defines is used, whatever methods the base class has."""

import importlib
import pkgutil
import warnings

import numpy as np
import pytest

import theano
import theano.scalar as ts
import theano.tensor as tt
from theano.gof.op import PureOp
from theano.tensor import nlinalg
from theano.tensor.sort import SortOp


def all_ops():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(theano.__path__, "theano."):
            parts = module.name.split(".")
            if not {"tests", "cli", "__main__", "cuda", "gpuarray"}.intersection(parts):
                importlib.import_module(module.name)
    found, todo = {}, [PureOp]
    while todo:
        for op_class in todo.pop().__subclasses__():
            if op_class not in found and op_class.__module__.startswith("theano."):
                found[op_class] = None
                todo.append(op_class)
    return list(found)


def test_the_nearest_gradient_wins_for_every_op():
    classes = all_ops()
    assert len(classes) > 350
    for op_class in classes:
        by_grad = type("ByGrad", (op_class,), {"grad": lambda self, inputs, grads: ("grad", *grads)})
        op = object.__new__(by_grad)
        assert op.L_op([1], [2], [3]) == ("grad", 3), op_class
        by_l_op = type("ByLop", (by_grad,), {"L_op": lambda self, inputs, outputs, grads: ("L_op", *outputs)})
        assert object.__new__(by_l_op).L_op([1], [2], [3]) == ("L_op", 2), op_class
        both = type("Both", (op_class,), {"grad": by_grad.grad, "L_op": by_l_op.L_op})
        assert object.__new__(both).L_op([1], [2], [3]) == ("L_op", 2), op_class
        mixed = type("Mixed", (type("Mixin", (), {"grad": by_grad.grad}), op_class), {})
        assert object.__new__(mixed).L_op([1], [2], [3]) == ("grad", 3), op_class


def test_every_op_with_a_gradient_can_be_asked_for_it_by_either_name():
    for op_class in all_ops():
        if op_class.L_op is not PureOp.L_op:
            assert hasattr(op_class, "grad"), op_class


@pytest.mark.parametrize("name", ["R_op", "infer_shape", "perform", "c_code", "make_node", "connection_pattern"])
def test_other_methods_are_those_of_the_subclass(name):
    def own(self, *args, **kwargs):
        return name

    for op_class in all_ops():
        assert getattr(object.__new__(type("Sub", (op_class,), {name: own})), name)() == name


class Round3(ts.RoundHalfToEven):
    def grad(self, inputs, grads):
        return grads


class ScaledDet(nlinalg.Det):
    def grad(self, inputs, grads):
        return [2 * g for g in super().grad(inputs, grads)]


class StraightSigmoid(tt.nnet.sigm.ScalarSigmoid):
    def grad(self, inputs, grads):
        return [grads[0] * 3]


class HalfExp(ts.Exp):
    def grad(self, inputs, grads):
        return [super().grad(inputs, grads)[0] * ts.constant(np.float64(0.5))]


def gradient(f, value):
    x = tt.TensorType("float64", (False,) * np.ndim(value))("x")
    return theano.function([x], tt.grad(f(x).sum(), x))(value)


@pytest.mark.parametrize(
    "op, value, expected",
    [
        (tt.Elemwise(Round3(ts.same_out_float_only)), np.array([0.4, 1.6]), [1, 1]),
        (tt.Elemwise(StraightSigmoid(ts.upgrade_to_float, name="s")), np.array([0.4, 1.6]), [3, 3]),
        (tt.Elemwise(HalfExp(ts.upgrade_to_float)), np.array([0.0, 1.0]), [0.5, np.e / 2]),
        (ScaledDet(), np.array([[2.0, 1.0], [0.0, 3.0]]), [[6, 0], [-2, 4]]),
    ],
    ids=["round", "sigmoid", "exp", "det"],
)
def test_gradients_of_subclasses(op, value, expected):
    np.testing.assert_allclose(gradient(op, value), expected)


def test_a_gradient_of_an_instance():
    det = nlinalg.Det()
    det.grad = lambda inputs, grads: [tt.ones_like(inputs[0]) * 7]
    np.testing.assert_array_equal(gradient(det, np.eye(2)), np.full((2, 2), 7))


class TestComputation:
    """What computes a subclass is what it defines, natively or not."""

    @pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
    def test_perform(self, mode):
        class Twice(nlinalg.MatrixInverse):
            def perform(self, node, inputs, outputs):
                outputs[0][0] = inputs[0] * 2

        class Reversed(SortOp):
            def perform(self, node, inputs, outputs):
                outputs[0][0] = np.sort(inputs[0])[::-1].copy()

        m, v = tt.dmatrix(), tt.dvector()
        assert theano.function([m], Twice()(m), mode=mode)(np.eye(2)).tolist() == [[2, 0], [0, 2]]
        assert theano.function([v], Reversed("quicksort")(v, tt.constant(-1)), mode=mode)([1, 3, 2]).tolist() == [3, 2, 1]

    @pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
    def test_c_code_of_a_scalar_op(self, mode):
        class Plus7(ts.Exp):
            def impl(self, x):
                return x + 7

            def c_code(self, node, name, inputs, outputs, sub):
                return f"{outputs[0]} = {inputs[0]} + 7;"

        v = tt.dvector()
        f = theano.function([v], tt.Elemwise(Plus7(ts.upgrade_to_float))(v) * 2, mode=mode)
        assert f([1, 2]).tolist() == [16, 18]

    def test_infer_shape_and_r_op(self):
        class Strange(nlinalg.MatrixInverse):
            def infer_shape(self, node, shapes):
                return [(tt.constant(5), tt.constant(6))]

            def R_op(self, inputs, eval_points):
                return [inputs[0] * 11]

        m, e = tt.dmatrices("me")
        assert theano.function([m], Strange()(m).shape)(np.eye(2)).tolist() == [5, 6]
        f = theano.function([m, e], tt.Rop(Strange()(m), m, e), on_unused_input="ignore")
        assert f(np.eye(2), np.eye(2)).tolist() == [[11, 0], [0, 11]]

    def test_make_node(self):
        class Row(nlinalg.ExtractDiag):
            def make_node(self, x):
                node = super().make_node(x)
                return theano.Apply(self, node.inputs, [tt.TensorType(x.dtype, (True,))()])

        m = tt.dmatrix()
        diagonal = Row()(m)
        assert diagonal.broadcastable == (True,)
        assert theano.function([m], diagonal)(np.ones((1, 1))).shape == (1,)

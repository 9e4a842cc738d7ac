"""What a subclass of one of Theano's operations defines is used, whatever methods the base class has."""

import copy
import importlib
import pkgutil
import warnings

import numpy as np
import pytest

import theano
import theano.scalar as ts
import theano.tensor as tt
from theano.gof.op import PureOp
from theano.native import program
from theano.tensor import nlinalg, slinalg
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


def test_a_gradient_that_an_instance_of_a_scalar_op_gets_after_its_first_use():
    value = np.array([1.0, 2.0])
    for scalar in (HalfExp(ts.upgrade_to_float), ts.Exp(ts.upgrade_to_float)):
        op = tt.Elemwise(scalar)
        assert gradient(op, value).tolist() != [5, 5]
        for factor in (5, 6):
            scalar.grad = lambda inputs, grads, factor=factor: [grads[0] * factor]
            assert gradient(op, value).tolist() == [factor, factor]


def test_a_gradient_that_asks_for_the_other_method():
    class Doubled(nlinalg.Det):
        def grad(self, inputs, grads):
            return [2 * g for g in self.L_op(inputs, [self(*inputs)], grads)]

    class Twice(Doubled):
        def grad(self, inputs, grads):
            return [2 * g for g in super().grad(inputs, grads)]

    for op, factor in ((Doubled(), 2), (Twice(), 4)):
        value = np.array([[2.0, 1.0], [0.0, 3.0]])
        np.testing.assert_allclose(gradient(op, value), factor * gradient(nlinalg.det, value))


def test_a_gradient_that_is_assigned_to_a_class_later():
    class OwnDet(nlinalg.Det):
        pass

    class OwnExp(ts.Exp):
        pass

    class Below(OwnDet):
        pass

    exp, value = tt.Elemwise(OwnExp(ts.upgrade_to_float)), np.array([[2.0, 1.0], [0.0, 3.0]])
    np.testing.assert_allclose(gradient(OwnDet(), value), gradient(nlinalg.det, value))
    np.testing.assert_allclose(gradient(exp, value), np.exp(value))
    for factor in (3, 5):
        OwnDet.grad = lambda self, inputs, grads, factor=factor: [tt.ones_like(inputs[0]) * factor]
        OwnExp.grad = lambda self, inputs, grads, factor=factor: [grads[0] * factor]
        for op in (OwnDet(), Below(), exp):
            np.testing.assert_array_equal(gradient(op, value), np.full((2, 2), factor))


def test_what_a_subclass_computes_is_never_run_as_what_its_base_does():
    for op_class in all_ops():
        native = program.find_lowering(object.__new__(op_class))
        for name in ("perform", "c_code", "make_thunk", "make_node"):
            own = type("Own", (op_class,), {name: lambda self, *args, **kwargs: None})
            assert program.find_lowering(object.__new__(own)) is None, (op_class, name)
        for name in ("R_op", "infer_shape", "grad", "L_op"):
            own = type("Own", (op_class,), {name: lambda self, *args, **kwargs: None})
            assert program.find_lowering(object.__new__(own)) is native, (op_class, name)


def test_the_c_code_and_impl_of_every_scalar_op():
    def impl(self, *numbers):
        return numbers[0] + 41

    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = {inputs[0]} + 41;"

    own = {"impl": impl, "c_code": c_code, "c_code_cache_version": lambda self: (), "nfunc_spec": None}
    x, y = tt.dscalars("xy")
    whole = (ts.comparison.UnaryBitOp, ts.comparison.BinaryBitOp)
    results, names = [], []
    for op_class in all_ops():
        if not issubclass(op_class, ts.ScalarOp) or op_class.__init__ is not ts.ScalarOp.__init__:
            continue
        nin = getattr(op_class, "nin", -1)
        if nin > 3 or getattr(op_class, "nout", 1) != 1 or issubclass(op_class, whole):
            continue
        op = tt.Elemwise(type("Own" + op_class.__name__, (op_class,), own)(ts.upgrade_to_float, name=op_class.__name__ + "41"))
        results.append(op(*[x, y, y][: nin if nin > 0 else 2]))
        names.append(op_class.__name__)
    assert len(results) > 80
    for mode in ("FAST_RUN", theano.Mode("py", "fast_compile")):
        values = theano.function([x, y], results, mode=mode, on_unused_input="ignore")(1.5, 0.5)
        assert {name: float(value) for name, value in zip(names, values, strict=True)} == dict.fromkeys(names, 42.5)


MATRIX, VECTOR, NUMBERS = tt.dmatrix("M"), tt.dvector("v"), tt.lvector("n")

APPLIED = [
    nlinalg.matrix_inverse(MATRIX),
    nlinalg.det(MATRIX),
    nlinalg.ExtractDiag()(MATRIX),
    nlinalg.Eigh()(MATRIX)[0],
    nlinalg.QRFull("reduced")(MATRIX)[0],
    nlinalg.SVD()(MATRIX)[1],
    slinalg.cholesky(MATRIX),
    slinalg.solve(MATRIX, VECTOR),
    slinalg.expm(MATRIX),
    tt.sort(VECTOR),
    tt.argsort(VECTOR),
    tt.cumsum(VECTOR),
    tt.extra_ops.RepeatOp(0)(VECTOR, NUMBERS),
    tt.extra_ops.Unique()(VECTOR),
    tt.extra_ops.FillDiagonal()(MATRIX, tt.constant(1.0)),
    tt.extra_ops.SearchsortedOp()(VECTOR, VECTOR),
    tt.batched_dot(MATRIX.dimshuffle(0, 1, "x"), MATRIX.dimshuffle(0, "x", 1)),
    tt.arange(NUMBERS[0]),
    tt.eye(NUMBERS[0]),
    tt.nnet.conv2d(MATRIX.dimshuffle("x", "x", 0, 1), MATRIX.dimshuffle("x", "x", 0, 1)),
    tt.signal.pool.pool_2d(MATRIX, (1, 1), ignore_border=True),
]


def lengths(variable, n):
    return tuple(1 if one else n for one in variable.broadcastable)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_perform_and_infer_shape_in_a_function(mode):
    def perform(self, node, inputs, output_storage, params=None):
        for variable, storage in zip(node.outputs, output_storage, strict=True):
            storage[0] = np.full(lengths(variable, 2), 7, dtype=variable.dtype)

    def infer_shape(self, node, shapes):
        return [tuple(map(tt.constant, lengths(v, 5))) for v in node.outputs]

    computed, shapes = [], []
    for result in APPLIED:
        node = result.owner
        while isinstance(node.op, (tt.DimShuffle, tt.Reshape, tt.Elemwise)):
            node = node.inputs[0].owner
        own = type("Own", (type(node.op),), {"perform": perform, "infer_shape": infer_shape})
        op = copy.copy(node.op)
        op.__class__ = own
        outputs = op.make_node(*node.inputs).outputs
        computed.append(outputs[0])
        if outputs[0].ndim:
            shapes.append(outputs[0].shape)
    f = theano.function([MATRIX, VECTOR, NUMBERS], computed, mode=mode, on_unused_input="ignore")
    for variable, value in zip(computed, f(np.eye(2), [1, 2], [1, 1]), strict=True):
        assert value.tolist() == np.full(lengths(variable, 2), 7).tolist(), variable.owner.op
    if mode == "FAST_RUN":
        f = theano.function([MATRIX, VECTOR, NUMBERS], shapes, mode=mode, on_unused_input="ignore")
        for variable, shape in zip([v for v in computed if v.ndim], f(np.eye(2), [1, 2], [1, 1]), strict=True):
            assert tuple(shape) == lengths(variable, 5), variable.owner.op


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

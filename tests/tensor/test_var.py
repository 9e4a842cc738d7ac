"""Operators, methods and constants of tensor variables."""

import operator
import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor.var import TensorConstant, TensorConstantSignature

PYTHON = theano.Mode("py", None)


def value_of(variable, given=None):
    given = given or {}
    return theano.function(list(given), variable, mode=PYTHON, on_unused_input="ignore")(*given.values())


@pytest.mark.parametrize(
    "op",
    [
        operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
        operator.lt, operator.le, operator.gt, operator.ge,
    ],
)  # fmt: skip
def test_operators(op):
    x, y = T.dvectors("x", "y")
    a, b = np.array([1.0, 2.5, 7.0]), np.array([2.0, 2.5, 3.0])
    given = {x: a, y: b}
    np.testing.assert_allclose(value_of(op(x, y), given), op(a, b))
    np.testing.assert_allclose(value_of(op(x, 2), given), op(a, 2))
    np.testing.assert_allclose(value_of(op(2, x), given), op(2, a))
    np.testing.assert_allclose(value_of(op(x, b), given), op(a, b))
    np.testing.assert_allclose(value_of(op(b, x), given), op(b, a))


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor])
def test_bitwise_operators(op):
    x = T.ivector("x")
    a = np.array([1, 6, 12], "int32")
    assert value_of(op(x, 5), {x: a}).tolist() == op(a, 5).tolist()
    assert value_of(op(5, x), {x: a}).tolist() == op(5, a).tolist()


def test_unary_operators():
    x = T.dvector("x")
    a = np.array([-1.0, 2.0])
    for op in (operator.neg, operator.abs, operator.pos):
        assert value_of(op(x), {x: a}).tolist() == op(a).tolist()
    i = T.ivector("i")
    assert value_of(~i, {i: np.array([0, 5], "int32")}).tolist() == [-1, -6]
    q, r = divmod(x, 2)
    assert value_of(q, {x: a}).tolist() == [-1, 1] and value_of(r, {x: a}).tolist() == [1, 0]


def test_equality_is_identity():
    x, y = T.dvectors("x", "y")
    assert x == x and x != y and len({x, y}) == 2


def test_truth():
    x = T.dscalar("x")
    assert bool(x)
    with pytest.raises(TypeError, match="do not support boolean operations"):
        bool(x < 1)
    with pytest.raises(TypeError):
        0 < x < 1  # noqa: B015


def test_methods_have_their_names_and_keywords():
    x, y = T.dmatrices("x", "y")
    values = {x: np.eye(2), y: np.arange(4.0).reshape(2, 2)}
    np.testing.assert_allclose(value_of(x.dot(right=y), values), values[y])
    np.testing.assert_allclose(value_of(x.__rdot__(left=y), values), values[y])
    assert x.__add__(other=y).type == x.type
    for name in ("__add__", "__radd__", "__lt__", "__abs__", "__matmul__", "exp"):
        method = getattr(type(x), name)
        assert (method.__name__, method.__qualname__) == (name, f"_tensor_py_operators.{name}")


def test_unknown_operands_may_answer_themselves():
    class Other:
        def __radd__(self, left):
            return "other"

    assert T.dvector() + Other() == "other"
    with pytest.raises(TypeError):
        T.dvector() + object()


def test_attributes():
    x = T.dcol("x")
    assert (x.ndim, x.dtype, x.broadcastable) == (2, "float64", (False, True))
    a = np.arange(3.0)[:, None]
    assert value_of(x.shape, {x: a}).tolist() == [3, 1] and value_of(x.size, {x: a}) == 3
    assert value_of(x.T, {x: a}).shape == (1, 3)
    z = T.zvector("z")
    assert value_of(z.real, {z: np.array([1 + 2j])}) == 1 and value_of(z.imag, {z: np.array([1 + 2j])}) == 2


def test_numpy_functions_call_the_methods():
    x = T.dvector("x")
    a = np.array([0.1, 0.5])
    for f in (np.exp, np.log, np.sqrt, np.sin, np.arctan, np.tanh, np.floor, np.abs, np.deg2rad, np.log1p):
        np.testing.assert_allclose(value_of(f(x), {x: a}), f(a))


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("sum", ()), ("sum", (0,)), ("prod", (1,)), ("mean", (1,)), ("var", (0,)), ("std", ()), ("min", (0,)), ("max", ()),
        ("argmin", (1,)), ("argmax", (0,)), ("any", ()), ("all", (1,)), ("round", ()), ("ravel", ()),
        ("transpose", ()), ("transpose", (1, 0)), ("transpose", ([1, 0],)), ("swapaxes", (0, 1)), ("clip", (1, 2)),
        ("diagonal", ()), ("trace", ()), ("repeat", (2, 1)), ("cumsum", (0,)), ("cumprod", (1,)), ("reshape", ((3, 2),)),
        ("take", ([1, 0], 1)), ("astype", ("float32",)), ("copy", ()), ("conj", ()), ("conjugate", ()),
        ("argsort", (1,)), ("flatten", ()),
    ],
)  # fmt: skip
def test_methods_of_arrays(method, args):
    x = T.dmatrix("x")
    a = np.array([[3.0, 0.5, 2.0], [1.0, 4.0, 0.0]])
    got = value_of(getattr(x, method)(*args), {x: a})
    expected = np.asarray(getattr(a, method)(*args))
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected)


def test_other_methods():
    x = T.dmatrix("x")
    a = np.array([[3.0, 0.5, 2.0], [1.0, 4.0, 0.0]])
    assert value_of(x.dimshuffle(1, "x", 0), {x: a}).shape == (3, 1, 2)
    assert value_of(x.dimshuffle((1, 0)), {x: a}).shape == (3, 2)
    np.testing.assert_allclose(value_of(x.norm(2), {x: a}), np.linalg.norm(a))
    assert value_of(x.zeros_like(), {x: a}).sum() == 0 and value_of(x.ones_like(dtype="int8"), {x: a}).sum() == 6
    assert value_of(x.fill(2), {x: a}).tolist() == [[2] * 3] * 2
    assert [v.tolist() for v in value_of(list(x.nonzero()), {x: a})] == [v.tolist() for v in a.nonzero()]
    assert T.constant([2.0, 2.0]).get_scalar_constant_value() == 2
    named = x.copy(name="other")
    assert named.name == "other" and named is not x
    assert T.drow().squeeze().ndim == 1
    assert value_of(x.ptp(0), {x: a}).tolist() == np.ptp(a, 0).tolist()
    assert value_of(x.sort(1), {x: a}).tolist() == np.sort(a, 1).tolist()


def test_iteration_needs_a_known_length():
    with pytest.raises(TypeError, match="does not support iteration"):
        sum(T.dmatrix())
    with pytest.raises(ValueError, match="length not known"):
        list(T.dvector())
    assert len(list(T.stack([T.dscalar(), T.dscalar()]))) == 2


def test_constants_print_short():
    assert str(T.constant(2.0)) == "TensorConstant{2.0}" and str(T.constant(2)) == "TensorConstant{2}"
    assert str(T.constant([0.5])) == "TensorConstant{(1,) of 0.5}"
    assert str(T.constant(np.zeros((2, 3)))) == "TensorConstant{(2, 3) of 0.0}"
    assert str(T.constant([1, 2])) == "TensorConstant{[1 2]}"
    text = str(T.constant(np.arange(100)))
    assert text.startswith("TensorConstant{[ 0  1  2 ") and ".." in text
    assert T.constant([1.0, 1.0]).tag.unique_value == 1 and T.constant([1.0, 2.0]).tag.unique_value is None


def test_constant_signatures():
    def sign(v):
        return T.constant(v).signature()

    a = np.array([1.0, np.nan])
    assert sign(a) == sign(a.copy()) and hash(sign(a)) == hash(sign(a.copy()))
    assert sign(1.0) != sign(2.0) and sign(1.0) != sign(np.float64(1)) and sign([1.0]) != sign(1.0)
    assert sign(0.0) != sign(-0.0)
    assert sign(np.array(np.nan)) == sign(-np.array(np.nan))
    assert isinstance(sign(1.0), TensorConstantSignature) and not sign(1.0).has_nan and sign(a).has_nan
    assert T.constant(a).equals(T.constant(a)) and not T.constant(a).equals(T.constant([1.0, 2.0]))


def test_equal_constants_merge():
    x = T.dvector("x")
    f = theano.function([x], [x + T.constant(np.array([np.nan, 1.0])), x * T.constant(np.array([np.nan, 1.0]))])
    constants = {v for n in f.maker.fgraph.toposort() for v in n.inputs if isinstance(v, TensorConstant)}
    assert len(constants) == 1


def test_pickle():
    x = T.dvector("x")
    y = pickle.loads(pickle.dumps(x + T.constant(2.5)))
    assert y.type == x.type and y.owner.op == T.add
    assert y.owner.inputs[1].owner.inputs[0].data == 2.5


def test_warn_float64():
    with theano.configparser.change_flags(warn_float64="raise"):
        with pytest.raises(Exception, match="float64"):
            T.dvector()
        T.fvector()
    with theano.configparser.change_flags(warn_float64="warn"), pytest.warns(UserWarning, match="float64"):
        T.dvector()

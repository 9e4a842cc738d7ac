"""Functions of JAX and PyTorch as operations; arrays of these libraries and of pandas as values."""

import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T


class JAX:
    def __init__(self):
        jax = pytest.importorskip("jax")
        self.np, self.wrap = jax.numpy, theano.misc.wrap_jax

    def softplus_sum(self, x):
        return self.np.logaddexp(x, 0).sum()

    def take(self, x, i):
        return self.np.tanh(x)[i], i + 1


class Torch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        self.np, self.wrap = self.torch, theano.misc.wrap_torch

    def softplus_sum(self, x):
        return self.torch.logaddexp(x, self.torch.zeros_like(x)).sum()

    def take(self, x, i):
        return self.torch.tanh(x)[i], i + 1


@pytest.fixture(params=[JAX, Torch], ids=["jax", "torch"], scope="module")
def library(request):
    return request.param()


def test_values_and_derivatives(library):
    energy = library.wrap([T.dvector], [T.dscalar])(library.softplus_sum)
    x, v = T.dvectors("x", "v")
    y = energy(2 * x)
    gradient = T.grad(y, x)
    point, direction = np.array([0.5, -1.0, 3.0]), np.array([1.0, 0.5, -2.0])
    f = theano.function([x, v], [y, gradient, T.Rop(y, x, v), T.grad((gradient * v).sum(), x)])
    value, g, jv, hv = f(point, direction)
    sigmoid = 1 / (1 + np.exp(-2 * point))
    np.testing.assert_allclose(value, np.logaddexp(2 * point, 0).sum())
    assert value.dtype == g.dtype == "float64"
    np.testing.assert_allclose(g, 2 * sigmoid)
    np.testing.assert_allclose(jv, (2 * sigmoid * direction).sum())
    np.testing.assert_allclose(hv, 4 * sigmoid * (1 - sigmoid) * direction)
    T.verify_grad(energy, [point], rng=np.random.RandomState(0))
    # What is not contiguous, empty, or may not be written to.
    np.testing.assert_allclose(f(point[::-1], direction)[1], 2 * sigmoid[::-1])
    assert f(np.zeros(0), np.zeros(0))[0] == 0
    point.flags.writeable = False
    assert f(point, direction)[0] == value


def test_integers_and_several_outputs(library):
    chosen = library.wrap([T.fvector, T.lvector], [T.fvector, T.lvector])(library.take)
    x, i = T.fvector("x"), T.lvector("i")
    values, numbers = chosen(x, i)
    f = theano.function([x, i], [values, numbers, T.grad(values.sum(), x)])
    a, n, g = f(np.array([0.5, 1.0, 2.0], "float32"), [2, 2, 0])
    np.testing.assert_allclose(a, np.tanh(np.array([2.0, 2.0, 0.5], "float32")), rtol=1e-6)
    assert n.tolist() == [3, 3, 1] and a.dtype == g.dtype == "float32"
    np.testing.assert_allclose(g, [1 - np.tanh(0.5) ** 2, 0, 2 * (1 - np.tanh(2.0) ** 2)], rtol=1e-5)
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.grad(values.sum(), i)


def test_the_same_operation_runs_once(library):
    energy = library.wrap([T.dvector], [T.dscalar])(library.softplus_sum)
    x = T.dvector("x")
    f = theano.function([x], [energy(x) + 1, energy(x) + 2, T.grad(energy(x), x), T.grad(energy(x), x) * 2])
    ops = [str(node.op) for node in f.maker.fgraph.toposort()]
    assert sum("softplus_sum" in op for op in ops) == 2
    assert any(op.startswith("VJP{") for op in ops)


def test_in_loops_and_shapes(library):
    energy = library.wrap([T.dvector], [T.dscalar], infer_shape=lambda node, shapes: [()])(library.softplus_sum)
    x = T.dmatrix("x")
    sums, _ = theano.scan(lambda row: energy(row), sequences=x)
    f = theano.function([x], [T.grad(sums.sum(), x), sums])
    rows = np.arange(6.0).reshape(3, 2)
    g, s = f(rows)
    np.testing.assert_allclose(s, np.logaddexp(rows, 0).sum(axis=1))
    np.testing.assert_allclose(g, 1 / (1 + np.exp(-rows)))


def test_mistakes_are_told(library):
    with pytest.raises(TypeError, match="itypes has to be a list of types of tensors"):
        library.wrap(["dvector"], [T.dscalar])
    wrong = library.wrap([T.dvector], [T.fscalar])(library.softplus_sum)
    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"output 0 of .*softplus_sum.* should be of TensorType\(float32, scalar\).*float64"):
        theano.function([x], wrong(x))([1.0])
    with pytest.raises(ValueError, match="takes 1 inputs, 2 were given"):
        wrong(x, x)


def named(x):
    return x * x


def test_operations_can_be_pickled(library):
    x = T.dvector("x")
    y = library.wrap([T.dvector], [T.dvector])(named)(x)
    f = pickle.loads(pickle.dumps(theano.function([x], T.grad(y.sum(), x))))
    np.testing.assert_allclose(f([1.0, 2.0]), [2.0, 4.0])


def test_arrays_of_the_library(library):
    a = np.arange(6, dtype="float32").reshape(2, 3)
    foreign = library.np.asarray(a)
    x = T.fmatrix("x")
    np.testing.assert_array_equal(theano.function([x], x + 1)(foreign), a + 1)
    np.testing.assert_array_equal((x * foreign).eval({x: a}), a * a)
    w = theano.shared(foreign)
    assert isinstance(w, T.TensorSharedVariable)
    w.set_value(library.np.asarray(a + 1))
    np.testing.assert_array_equal(w.get_value(), a + 1)
    # And back: results are arrays that export their memory.
    np.testing.assert_array_equal(np.asarray(library.np.asarray(w.get_value(borrow=True))), a + 1)


def test_tables_of_pandas():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    x, v = T.dmatrix("x"), T.dvector("v")
    assert theano.function([x], x.sum())(table) == 10
    assert theano.function([v], v.sum())(table["b"]) == 7
    assert isinstance(theano.shared(table), T.TensorSharedVariable)
    np.testing.assert_array_equal((x + table).eval({x: table}), 2 * table.to_numpy())
    text = pd.Series(["one", "two"])
    with pytest.raises((TypeError, ValueError)):
        theano.function([v], v.sum())(text)


def test_a_library_that_is_not_there(monkeypatch):
    import sys

    from theano.misc import foreign_functions

    monkeypatch.setattr(foreign_functions, "_loaded", {})
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match="jax"):
        theano.misc.wrap_jax([T.dvector], [T.dscalar])

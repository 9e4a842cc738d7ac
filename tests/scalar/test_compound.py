"""Functions of exponentials that rewrites put in the place of compositions."""

import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gradient import verify_grad
from theano.scalar import compound
from theano.tensor.elemwise import Elemwise

# name: (the composition, points where it is exact enough)
FUNCTIONS = {
    "sigmoid_slope": (lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2, [-2.0, 0.0, 0.7, 3.0]),
    "log_cosh": (lambda x: np.log(np.cosh(x)), [-2.0, -0.5, 0.7, 3.0]),
    "log_1_minus_tanh": (lambda x: np.log(1 - np.tanh(x)), [-2.0, -0.5, 0.7, 3.0]),
    "log_1_minus_exp": (lambda x: np.log(1 - np.exp(x)), [-3.0, -1.3, -1.0, -0.2]),
    "log_expm1": (lambda x: np.log(np.exp(x) - 1), [0.2, 0.6, 1.0, 3.0]),
    "logit": (lambda x: np.log(x / (1 - x)), [0.1, 0.45, 0.6, 0.9]),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", theano.Mode("py", None)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_dtypes(name, mode):
    naive, points = FUNCTIONS[name]
    op = Elemwise(getattr(compound, name))
    for dtype, rtol in (("float16", 2e-3), ("float32", 1e-6), ("float64", 1e-13)):
        x = T.TensorType(dtype, (False,))()
        value = np.array(points, dtype)
        found = theano.function([x], op(x), mode=mode)(value)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, naive(value.astype("float64")), rtol=rtol)


@pytest.mark.parametrize("name", ["sigmoid_slope", "log_cosh", "log_1_minus_tanh", "log_1_minus_exp"])
@pytest.mark.parametrize(("dtype", "result"), [("int8", "float32"), ("int64", "float64")])
def test_integers_have_float_results(name, dtype, result):
    naive, _ = FUNCTIONS[name]
    x = T.TensorType(dtype, (False,))()
    f = theano.function([x], Elemwise(getattr(compound, name))(x))
    value = np.array([-3, -1], dtype)
    assert f(value).dtype == result
    np.testing.assert_allclose(f(value), naive(value.astype("float64")), rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    verify_grad(Elemwise(getattr(compound, name)), [np.array(FUNCTIONS[name][1])], rng=np.random.RandomState(0), mode="FAST_RUN")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pickled_functions_are_the_same(name):
    op = getattr(compound, name)
    assert pickle.loads(pickle.dumps(op)) == op

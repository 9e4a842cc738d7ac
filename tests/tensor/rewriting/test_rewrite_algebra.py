"""Arithmetic that several rewrites work on."""

import numpy as np
import pytest
from rewrite_tools import names, rewrite

import theano
import theano.tensor as T
from theano.tensor import opt

x = T.dvector("x")
fx = T.fvector("fx")
V = np.array([0.5, -1.25, 3.0])


@pytest.mark.parametrize("power", [4, 7, 100, -5])
def test_integer_powers_become_products(power):
    fgraph = rewrite(opt.local_pow_specialize_device, [x], x**power)
    assert "pow" not in names(fgraph)
    f = theano.function(fgraph.inputs, fgraph.outputs[0], mode=theano.Mode("py", None))
    np.testing.assert_allclose(f(V), V**power, rtol=1e-13)


@pytest.mark.parametrize("build", [lambda a: a * -1, lambda a: 1 * a, lambda a: a - 0, lambda a: 0 + a, lambda a: a / 1])
def test_float32_stays_float32(build):
    f = theano.function([fx], build(fx), mode="FAST_RUN")
    value = V.astype("float32")
    assert f(value).dtype == np.float32
    np.testing.assert_array_equal(f(value), build(value))

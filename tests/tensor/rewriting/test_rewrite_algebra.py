"""Arithmetic that several rewrites work on."""

import operator

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


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int16", "bool"])
@pytest.mark.parametrize("name", ["eq", "neq", "le", "ge", "lt", "gt"])
def test_comparison_with_itself_is_known_of_any_element(name, dtype):
    if dtype == "complex128" and name not in ("eq", "neq"):
        pytest.skip("complex numbers have no order")
    x = T.vector(dtype=dtype)
    value = np.array([0, 1, np.nan if np.dtype(dtype).kind in "fc" else 1]).astype(dtype)
    out = getattr(T, name)(x, x)
    f = theano.function([x], out, mode="FAST_RUN")
    assert not any(isinstance(node.op, T.Elemwise) for node in f.maker.fgraph.apply_nodes)
    np.testing.assert_array_equal(f(value), np.full(3, name in ("eq", "le", "ge")))
    exact = theano.compile.get_mode("FAST_RUN").excluding("local_useless_elemwise", "local_useless_elemwise_comparison")
    by_numpy = getattr(operator, {"neq": "ne"}.get(name, name))(value, value)
    np.testing.assert_array_equal(theano.function([x], out, mode=exact)(value), by_numpy)


def test_isnan_and_isinf_look_at_the_values():
    x = T.dvector()
    f = theano.function([x], [T.isnan(x), T.isinf(x), T.isnan(x - x + x)], mode="FAST_RUN")
    nan, inf, same = f([0.0, np.nan, -np.inf])
    assert nan.tolist() == same.tolist() == [False, True, False]
    assert inf.tolist() == [False, False, True]


def test_a_difference_of_equals_settles_in_any_mode():
    mode = theano.compile.get_default_mode().excluding(
        "canonicalize", "uncanonicalize", "ShapeOpt", "local_fill_to_alloc", "local_elemwise_alloc"
    )
    with theano.config.change_flags(on_opt_error="raise"):
        f = theano.function([x], x - x, mode=mode)
    assert len(f.maker.fgraph.apply_nodes) <= 2
    np.testing.assert_array_equal(f(V), np.zeros(3))

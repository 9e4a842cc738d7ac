"""Rewrites of arithmetic: each fires on its pattern, keeps the value and leaves near misses alone."""

import numpy as np
import pytest
from rewrite_tools import check, names, rewrite, unchanged

import theano
import theano.tensor as T
from theano.tensor import opt

x, y, z = T.dvectors("x", "y", "z")
fx, fy = T.fvectors("fx", "fy")
n = T.lvector("n")
m = T.dmatrix("m")
V = np.array([0.5, -1.25, 3.0])
W = np.array([2.0, 4.0, -0.75])
U = np.array([-3.0, 0.25, 1.5])


@pytest.mark.parametrize(
    ("name", "build", "expected"),
    [
        ("local_neg_to_mul", lambda: -x, ["mul"]),
        ("local_neg_neg", lambda: -(-x), []),
        ("local_div_of_negs", lambda: (-x) / (-y), ["true_div"]),
        ("local_pow_canonicalize", lambda: x**1, []),
        ("local_pow_specialize", lambda: x**2, ["sqr"]),
        ("local_pow_specialize", lambda: x**-1, ["inv"]),
        ("local_pow_specialize", lambda: x**-2, ["sqr", "inv"]),
        ("local_pow_specialize", lambda: T.sqr(x) ** 0.5, ["sqr", "sqrt"]),
        ("local_pow_specialize", lambda: T.sqr(x) ** -0.5, ["sqr", "sqrt", "inv"]),
        ("local_mul_to_sqr", lambda: x * x, ["sqr"]),
        ("local_mul_specialize", lambda: x * 1.0, []),
        ("local_mul_specialize", lambda: x * -1.0, ["neg"]),
        ("local_mul_specialize", lambda: -x * y, ["mul", "neg"]),
        ("local_add_specialize", lambda: x + 0.0, []),
        ("local_sub_zero", lambda: x - 0.0, []),
        ("local_add_neg_to_sub", lambda: x + (-y), ["sub"]),
        ("local_sub_neg_to_add", lambda: x - (-y), ["add"]),
        ("local_div_to_inv", lambda: T.constant(np.ones(1)).dimshuffle(0) / T.unbroadcast(x, 0), ["inv"]),
        ("local_abs_lift", lambda: abs(x * y), ["Abs", "Abs", "mul"]),
        ("local_abs_merge", lambda: abs(x) * abs(y), ["mul", "Abs"]),
        ("local_abs_merge", lambda: abs(x) / abs(y), ["true_div", "Abs"]),
        ("local_abs_abs", lambda: abs(abs(x)), ["Abs"]),
        ("local_sqrt_sqr", lambda: T.sqrt(T.sqr(x)), ["Abs"]),
        ("local_sqr_abs", lambda: T.sqr(abs(x)), ["sqr"]),
        ("local_greedy_distributor", lambda: x * (y / x + z), ["mul", "add"]),
        ("local_useless_maximum", lambda: T.maximum(x, x), []),
        ("local_func_inv", lambda: T.rad2deg(T.deg2rad(x)), []),
        ("local_func_inv", lambda: T.arcsinh(T.sinh(x)), []),
        ("local_log_exp", lambda: T.log(T.exp(x)), []),
        ("local_useless_cast", lambda: T.Elemwise(theano.scalar.Cast(theano.scalar.float64))(x), []),
        ("local_useless_switch", lambda: T.switch(1, x, y), []),
        ("local_useless_switch", lambda: T.switch(0, x, y), []),
        ("local_useless_switch", lambda: T.switch(x > 0, y, y), []),
    ],
)
def test_fires_and_keeps_the_value(name, build, expected):
    check([getattr(opt, name), opt.constant_folding], [x, y, z], build(), [V, W, U], expected)


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("local_neg_neg", lambda: -abs(x)),
        ("local_neg_to_mul", lambda: x - y),
        ("local_div_of_negs", lambda: (-x) / y),
        ("local_pow_canonicalize", lambda: x**2),
        ("local_pow_specialize", lambda: x**3),
        ("local_pow_specialize", lambda: n ** T.constant(3)),
        ("local_mul_to_sqr", lambda: x * y),
        ("local_mul_specialize", lambda: x * 2.0),
        ("local_add_specialize", lambda: x + 1.0),
        ("local_sub_zero", lambda: x - 1.0),
        ("local_add_neg_to_sub", lambda: x + y),
        ("local_div_to_inv", lambda: y / x),
        ("local_abs_merge", lambda: abs(x) * y),
        ("local_sqrt_sqr", lambda: T.sqr(T.sqrt(x))),
        ("local_greedy_distributor", lambda: x * (y / z + z)),
        ("local_useless_maximum", lambda: T.maximum(x, y)),
        ("local_func_inv", lambda: T.deg2rad(T.deg2rad(x))),
        ("local_func_inv", lambda: T.arccosh(T.cosh(x))),
        ("local_log_exp", lambda: T.log(T.expm1(x))),
        ("local_intdiv_by_one", lambda: x // 1.0),
        ("local_zero_div", lambda: x / 2.0),
        ("local_mul_zero", lambda: x * 2.0),
        ("local_useless_switch", lambda: T.switch(x > 0, x, y)),
        ("local_elemwise_sub_zeros", lambda: x - y),
    ],
)
def test_leaves_near_misses_alone(name, build):
    unchanged(getattr(opt, name), [x, y, z, n], build())


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("local_mul_zero", lambda: T.exp(x) * 0),
        ("local_zero_div", lambda: T.constant(0.0) / T.exp(x)),
        ("local_elemwise_sub_zeros", lambda: T.exp(x) - T.exp(x)),
        ("local_pow_canonicalize", lambda: T.exp(x) ** 0),
        ("local_useless_elemwise", lambda: T.eq(T.exp(x), T.exp(x))),
    ],
)
def test_constant_results_do_not_compute_their_operands(name, build):
    opts = [getattr(opt, name), opt.local_fill_to_alloc, opt.constant_folding, opt.local_useless_alloc]
    from theano.gof.opt import MergeOptimizer

    out = build()
    merged = MergeOptimizer()
    fgraph = theano.gof.FunctionGraph([x], [out], clone=True)
    merged.optimize(fgraph)
    result = rewrite(opts, fgraph.inputs, fgraph.outputs[0])
    assert "exp" not in names(result)
    f = theano.function([x], out, mode=theano.Mode("py", None))
    g = theano.function(result.inputs, result.outputs[0], mode=theano.Mode("py", None))
    np.testing.assert_array_equal(f(V), g(V))


@pytest.mark.parametrize("power", [3, 4, 7, 16, -3])
def test_integer_powers_become_products(power):
    fgraph = rewrite(opt.local_pow_specialize_device, [x], x**power)
    assert "pow" not in names(fgraph)
    f = theano.function(fgraph.inputs, fgraph.outputs[0], mode=theano.Mode("py", None))
    np.testing.assert_allclose(f(V), V**power, rtol=1e-13)


def test_a_half_power_is_left_for_the_device():
    unchanged(opt.local_pow_specialize_device, [x], x**2.5)


@pytest.mark.parametrize("build", [lambda a: a * -1, lambda a: 1 * a, lambda a: a - 0, lambda a: 0 + a, lambda a: a / 1])
def test_float32_stays_float32(build):
    f = theano.function([fx], build(fx), mode="FAST_RUN")
    value = V.astype("float32")
    assert f(value).dtype == np.float32
    np.testing.assert_array_equal(f(value), build(value))


def test_lengths_are_not_negative():
    k = m.shape[0]
    for build, expected in ((lambda: T.maximum(k, 0), ["Shape_i"]), (lambda: T.lt(k, 0), []), (lambda: T.ge(k, 0), [])):
        fgraph = rewrite(
            [
                opt.local_useless_elemwise_comparison,
                opt.local_shape_to_shape_i,
                opt.local_subtensor_make_vector,
                opt.local_upcast_elemwise_constant_inputs,
                opt.constant_folding,
            ],
            [m],
            build(),
        )
        assert names(fgraph) == expected

"""Rewrites of elementwise operations with fills, allocs, casts, switches and DimShuffles."""

import numpy as np
import pytest
from rewrite_tools import check, names, rewrite, unchanged

import theano
import theano.tensor as T
from theano.tensor import opt

x, y = T.dvectors("x", "y")
s = T.dscalar("s")
m = T.dmatrix("m")
f32 = T.fvector("f32")
i8 = T.bvector("i8")
V = np.array([0.5, -1.25, 3.0])
W = np.array([2.0, 4.0, -0.75])
M = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("name", "inputs", "build", "values", "expected"),
    [
        ("local_useless_fill", [x, y], lambda: T.fill(x, y), [V, W], []),
        ("local_fill_to_alloc", [x, s], lambda: T.fill(x, s), [V, 2.0], ["Shape_i", "DimShuffle", "Alloc"]),
        ("local_fill_cut", [x, y, s], lambda: T.fill(x, s) * y, [V, W, 2.0], ["DimShuffle", "mul"]),
        ("local_fill_sink", [x, s], lambda: T.exp(T.fill(x, s)), [V, 2.0], ["DimShuffle", "exp", "second"]),
        ("local_elemwise_alloc", [x, s], lambda: x + T.alloc(s, x.shape[0]), [V, 2.0], None),
        ("local_alloc_unary", [s], lambda: T.exp(T.alloc(s, 3, 2)), [2.0], ["exp", "Alloc"]),
        ("local_dimshuffle_lift", [m], lambda: T.exp(m.T).T, [M], ["exp"]),
        ("local_dimshuffle_lift", [m], lambda: m.T.T, [M], []),
        ("local_dimshuffle_lift", [m, x], lambda: (m * x).T, [M, V], ["DimShuffle", "DimShuffle", "mul"]),
        ("local_cast_cast", [f32], lambda: T.cast(T.cast(f32, "float64"), "float32"), [V.astype("float32")], []),
        (
            "local_cast_cast",
            [i8],
            lambda: T.cast(T.cast(i8, "int32"), "float64"),
            [np.array([1, -2], "int8")],
            ["convert_to_float64"],
        ),
        ("local_div_switch_sink", [x, y], lambda: T.switch(x > 0, 0.0, y) / x, [V, W], None),
        ("local_merge_switch_same_cond", [x, y], lambda: (lambda c: T.switch(c, x, y) + T.switch(c, y, x))(x > 0), [V, W], None),
    ],
)
def test_fires_and_keeps_the_value(name, inputs, build, values, expected):
    if expected is None:
        out = build()
        fgraph = rewrite(getattr(opt, name), inputs, out)
        plain = theano.Mode("py", None)
        before = names(theano.gof.FunctionGraph(list(inputs), [out], clone=True))
        assert names(fgraph) != before
        np.testing.assert_allclose(
            theano.function(fgraph.inputs, fgraph.outputs[0], mode=plain)(*values),
            theano.function(inputs, out, mode=plain)(*values),
        )
        return
    check(getattr(opt, name), inputs, build(), values, expected)


@pytest.mark.parametrize(
    ("name", "inputs", "build"),
    [
        ("local_useless_fill", [x, s], lambda: T.fill(x, s)),
        ("local_fill_cut", [x, s], lambda: T.exp(T.fill(x, s))),
        ("local_elemwise_alloc", [s], lambda: T.alloc(s, 3) + 1.0),
        ("local_dimshuffle_lift", [m], lambda: T.exp(m.T)),
        ("local_cast_cast", [x], lambda: T.cast(T.cast(x, "int32"), "float64")),
        ("local_cast_cast", [x], lambda: T.cast(T.cast(x, "float32"), "float64")),
        ("local_merge_switch_same_cond", [x, y], lambda: T.switch(x > 0, x, y) + T.switch(y > 0, y, x)),
        ("local_alloc_unary", [s], lambda: T.alloc(s, 3) + T.alloc(s, 3)),
    ],
)
def test_leaves_near_misses_alone(name, inputs, build):
    unchanged(getattr(opt, name), inputs, build())


def test_an_alloc_of_another_shape_still_raises():
    f = theano.function([x, s], T.alloc(x, 4), mode=theano.Mode("py", "fast_run"), on_unused_input="ignore")
    with pytest.raises(ValueError):
        f(V, 1.0)


def test_a_switch_keeps_nan_of_the_other_branch_out():
    cost = T.switch(x > 0, T.log(x), 0.0).sum()
    f = theano.function([x], T.grad(cost, x), mode=theano.Mode("py", "fast_run"))
    np.testing.assert_allclose(f(np.array([0.0, 2.0])), [0.0, 0.5])


def test_upcasts_are_told_from_downcasts():
    assert opt.is_an_upcast("int8", "int32") and opt.is_an_upcast("float32", "complex64")
    assert not opt.is_an_upcast("int64", "float32") and not opt.is_an_upcast("float64", "float32")


def test_constants_take_the_dtype_of_the_result():
    fgraph = rewrite([opt.local_upcast_elemwise_constant_inputs, opt.constant_folding], [x], x + T.constant(1, dtype="int8"))
    (node,) = fgraph.toposort()
    assert {i.type.dtype for i in node.inputs} == {"float64"}


def test_constant_folding_stops_at_variables():
    c = T.constant(np.arange(3.0))
    assert names(rewrite(opt.constant_folding, [x], T.exp(c) + x)) == ["add"]
    unchanged(opt.constant_folding, [x], T.exp(x))


def test_broadcast_patterns():
    assert opt.encompasses_broadcastable((False, False), (True, False))
    assert not opt.encompasses_broadcastable((True, False), (False, False))
    assert not opt.encompasses_broadcastable((False,), (False, False))


def test_useless_asserts_go_and_others_stay():
    check_op = opt.Assert("no")
    assert names(rewrite(opt.local_remove_useless_assert, [x], check_op(x, T.constant(1)))) == []
    assert "Assert" in names(rewrite(opt.local_remove_useless_assert, [x], check_op(x, x.sum() > 0)))
    assert "Assert" in names(rewrite(opt.local_remove_useless_assert, [x], check_op(x, T.constant(0))))


def test_assertions_about_equal_shapes_do_not_chase_each_other():
    # A Hessian times a vector: allocs of the shapes of two inputs meet in every operation.
    hv = T.Rop(T.grad(T.sum(x**2), x), x, y)
    f = theano.function([x, y], hv, mode=theano.Mode("py", "fast_run"))
    np.testing.assert_allclose(f([4.0, 4.0], [2.0, 2.0]), [4.0, 4.0])


def test_shapes_that_differ_raise_although_the_alloc_is_gone():
    f = theano.function([x, y, s], x + T.alloc(s, y.shape[0]), mode=theano.Mode("py", "fast_run"))
    np.testing.assert_allclose(f(V, W, 2.0), V + 2)
    with pytest.raises((AssertionError, ValueError)):
        f(V, W[:2], 2.0)

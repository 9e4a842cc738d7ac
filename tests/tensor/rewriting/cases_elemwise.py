"""Rewrites of elementwise operations: casts, switches, functions and their inverses, fills, allocs, DimShuffles, constants."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano
import theano.tensor as T
from theano.compile.ops import Shape_i

x, y, z = T.dvectors("x", "y", "z")
s, q = T.dscalars("s", "q")
m = T.dmatrix("m")
row, col = T.drow("row"), T.dcol("col")
f32 = T.fvector("f32")
i8, u8 = T.bvector("i8"), T.vector("u8", dtype="uint8")
complexes = T.zvector("complexes")
n = T.lvector("n")
length = T.lscalar("length")
flags = T.vector("flags", dtype="bool")
X = np.array([0.5, -1.25, 3.0])
Y = np.array([2.0, 4.0, -0.75])
POSITIVE = abs(X)
M = np.arange(12.0).reshape(4, 3) / 7
U8 = np.array([0, 3, 255], "uint8")
FLAGS = np.array([True, False, True])
FILLED = ["merge", "local_fill_to_alloc", "constant_folding", "local_useless_alloc"]


def cast(v, dtype):
    """A cast of its own, where `T.cast` would see that there is nothing to do."""
    return T.Elemwise(theano.scalar.Cast(getattr(theano.scalar, dtype)))(v)


def same_condition(f):
    c = x > 0
    return f(T.switch(c, x, y), T.switch(c, y, z))


def of_two_dtypes(c):
    return T.switch(c, u8, n) + T.switch(c, u8, -n)


def two_results(v):
    a = theano.scalar.float64()
    return T.Elemwise(theano.scalar.Composite([a], [theano.scalar.exp(a), a * a]))(v)


def copying(v, *order):
    return T.DimShuffle(v.broadcastable, order, inplace=False)(v)


def in_place(fgraph):
    return all(node.op.inplace for node in fgraph.apply_nodes)


def dtypes_of_inputs(fgraph):
    return {i.dtype for node in fgraph.apply_nodes for i in node.inputs}


CASES = [
    # Casts.
    Case("local_useless_cast", [x], lambda: cast(x, "float64"), [X], "", lambda: cast(f32, "float64"),
         no_float32="in float32 it is a cast that does something"),
    Case("local_cast_cast", [f32], lambda: T.cast(T.cast(f32, "float64"), "float32"), [X.astype("float32")], "",
         (lambda: T.cast(T.cast(x, "int32"), "float64"), lambda: T.cast(T.cast(x, "float32"), "float64"))),
    Case("local_cast_cast", [i8], lambda: T.cast(T.cast(i8, "int32"), "float64"), [np.array([1, -2], "int8")],
         "convert_to_float64"),
    Case("local_cast_cast", [n], lambda: cast(T.cast(n, "float64"), "float64"), [np.array([1, -2])], "convert_to_float64"),
    Case("local_upcast_elemwise_constant_inputs", [x], lambda: x + T.constant(1, dtype="int8"), [X], "add",
         (lambda: x + T.constant(1.5, dtype="float64"), lambda: x + i8),
         proves=lambda fgraph: dtypes_of_inputs(fgraph) <= {"float64"}),
    # Switches.
    Case("local_useless_switch", [x, y], lambda: T.switch(1, x, y), [X, Y], "", lambda: T.switch(x > 0, x, y)),
    Case("local_useless_switch", [x, y], lambda: T.switch(0, x, y), [X, Y], ""),
    Case("local_useless_switch", [x, y], lambda: T.switch(x > 0, y, y), [X, Y], ""),
    Case("local_useless_switch", [m], lambda: T.switch(T.le(Shape_i(0)(m), 0), 0, Shape_i(0)(m)), [M], "Shape_i",
         lambda: T.switch(T.le(Shape_i(0)(m), 0), 1, Shape_i(0)(m)), ["merge"]),
    Case("local_mul_switch_sink", [x, y], lambda: T.switch(y > 0, x, 0) * y, [X, Y], "GT mul Switch",
         lambda: T.switch(y > 0, x, 1) * y, ["constant_folding"]),
    Case("local_mul_switch_sink", [x, y], lambda: y * T.switch(y > 0, 0, x), [X, Y], "GT mul Switch",
         companions=["constant_folding"]),
    Case("local_mul_switch_sink", [u8], lambda: T.switch(u8 > 0, u8, 0) * u8, [U8],
         "GT convert_to_int16 mul Switch", companions=["constant_folding"]),
    Case("local_div_switch_sink", [x, y], lambda: T.switch(x > 0, 0.0, y) / x, [X, Y], "GT true_div Switch",
         (lambda: T.switch(x > 0, 1.0, y) / x, lambda: x / T.switch(x > 0, 0.0, y)), ["constant_folding"]),
    Case("local_switch_of_switch", [x, y, z], lambda: T.switch(x > 0, T.switch(x > 0, y, z), x), [X, Y, X], "GT Switch",
         lambda: T.switch(x > 0, T.switch(y > 0, y, z), x), ["merge", "constant_folding"]),
    Case("local_merge_switch_same_cond", [x, y, z], lambda: same_condition(T.add), [X, Y, X], "GT add add Switch",
         lambda: T.switch(x > 0, x, y) + T.switch(y > 0, y, z), ["constant_folding"]),
    Case("local_merge_switch_same_cond", [x, u8, n], lambda: of_two_dtypes(x > 0), [X, U8, np.array([-5, 300, 7])],
         "GT neg convert_to_int64 add add Switch", companions=["merge", "constant_folding"], no_float32="it is about integers"),
    # Functions and their inverses.
    Case("local_func_inv", [x], lambda: T.rad2deg(T.deg2rad(x)), [X], "",
         (lambda: T.deg2rad(T.deg2rad(x)), lambda: T.arccosh(T.cosh(x)), lambda: T.arcsinh(T.sinh(complexes)))),
    Case("local_func_inv", [x], lambda: T.arcsinh(T.sinh(x)), [X], ""),
    Case("local_func_inv", [x], lambda: T.inv(T.inv(x)), [X], ""),
    Case("local_exp_log", [x], lambda: T.exp(T.log(x)), [POSITIVE], "GE Switch",
         (lambda: T.exp(T.log10(x)), lambda: T.exp(T.log(n))), ["constant_folding"]),
    Case("local_exp_log", [x], lambda: T.exp(T.log1p(x)), [POSITIVE], "GE add Switch", companions=["constant_folding"]),
    Case("local_exp_log", [x], lambda: T.expm1(T.log1p(x)), [POSITIVE], "GE Switch", companions=["constant_folding"]),
    Case("local_log_exp", [x], lambda: T.log(T.exp(x)), [X], "", (lambda: T.log(T.expm1(x)), lambda: T.log(T.exp(n)))),
    Case("local_log_exp", [x], lambda: T.log1p(T.expm1(x)), [X], ""),
    # Identities.
    Case("local_useless_elemwise", [x], lambda: T.add(x), [X], "", lambda: T.add(x, y)),
    Case("local_useless_elemwise", [x], lambda: T.eq(T.exp(x), T.exp(x)), [X], "Shape_i Alloc",
         lambda: T.eq(T.exp(x), T.exp(y)), FILLED),
    Case("local_useless_elemwise", [flags], lambda: T.and_(flags, np.asarray(True)), [FLAGS], "",
         (lambda: T.and_(n, 1), lambda: T.or_(flags, flags)), ["constant_folding"]),
    Case("local_useless_elemwise", [n], lambda: T.or_(n, 0), [np.array([5, -3])], "", lambda: T.or_(n, 1), ["constant_folding"]),
    # DimShuffles.
    Case("local_dimshuffle_lift", [m], lambda: T.exp(m.T).T, [M], "exp",
         (lambda: T.exp(m.T), lambda: T.exp(m).T.sum() + T.exp(m).sum()), ["merge"]),
    Case("local_dimshuffle_lift", [m], lambda: m.T.T, [M], ""),
    Case("local_dimshuffle_lift", [m, x], lambda: (m * x).T, [M, X], "DimShuffle DimShuffle mul"),
    Case("local_useless_dimshuffle", [m], lambda: T.DimShuffle((False, False), (0, 1))(m), [M], "",
         (lambda: m.T, lambda: m.dimshuffle("x", 0, 1))),
    Case("local_dimshuffle_no_inplace_at_canonicalize", [m], lambda: copying(m, 1, 0), [M], "DimShuffle", lambda: m.T,
         proves=in_place),
    # Fills and allocs.
    Case("local_useless_fill", [x, y], lambda: T.fill(x, y), [X, Y], "", (lambda: T.fill(x, s), lambda: T.fill(m, x))),
    Case("local_fill_to_alloc", [x, s], lambda: T.fill(x, s), [X, 2.0], "Shape_i DimShuffle Alloc", lambda: T.add(x, s)),
    Case("local_fill_cut", [x, y, s], lambda: T.fill(x, s) * y, [X, Y, 2.0], "DimShuffle mul",
         (lambda: T.exp(T.fill(x, s)), lambda: T.fill(x, s) * q)),
    Case("local_fill_sink", [x, s], lambda: T.exp(T.fill(x, s)), [X, 2.0], "DimShuffle exp second",
         (lambda: T.fill(x, T.exp(s)), lambda: T.fill(T.fill(x, s), q))),
    Case("local_useless_alloc", [x], lambda: T.alloc(x, x.shape[0]), [X], "", lambda: T.alloc(x, length),
         ["local_shape_to_shape_i", "local_subtensor_make_vector"]),
    Case("local_useless_alloc", [row], lambda: T.alloc(row, 1, row.shape[1]), [X[None]], "",
         lambda: T.alloc(row, 2, row.shape[1]), ["local_shape_to_shape_i", "local_subtensor_make_vector"]),
    Case("local_merge_alloc", [s, length], lambda: T.alloc(T.alloc(s, 1, length), 4, length), [2.0, 3], "Alloc",
         lambda: T.alloc(T.sqr(T.alloc(s, 1, length)), 4, length), ["merge"]),
    Case("local_merge_alloc", [s, length], lambda: T.alloc(T.alloc(s, length), 4, 3), [2.0, 3], "EQ EQ OR Assert Alloc",
         companions=["merge"]),
    Case("local_useless_composite", [x], lambda: two_results(x)[0], [X], "Composite{exp(i0)}", lambda: T.add(*two_results(x))),
    Case("local_canonicalize_alloc", [s], lambda: T.alloc(s, 1, 3), [2.0], "Alloc DimShuffle",
         (lambda: T.alloc(s, 3, 1), lambda: T.alloc(x, 1))),
    Case("local_canonicalize_alloc", [s], lambda: T.alloc(s, 1, 1), [2.0], "DimShuffle"),
    Case("local_elemwise_alloc", [x, s], lambda: x + T.alloc(s, x.shape[0]), [X, 2.0], "DimShuffle add",
         (lambda: T.alloc(s, length) + 1.0, lambda: x + T.alloc(y, length)),
         ["local_shape_to_shape_i", "local_subtensor_make_vector"]),
    Case("local_alloc_unary", [s], lambda: T.exp(T.alloc(s, 3, 2)), [2.0], "exp Alloc",
         (lambda: T.alloc(s, 3) + T.alloc(q, 3), lambda: T.exp(T.alloc(x, 3)))),
    Case("local_tensor_scalar_tensor", [s], lambda: T.tensor_from_scalar(T.scalar_from_tensor(s)), [1.0], "",
         lambda: T.tensor_from_scalar(theano.scalar.exp(T.scalar_from_tensor(s)))),
    Case("local_scalar_tensor_scalar", [s],
         lambda: T.tensor_from_scalar(T.scalar_from_tensor(T.tensor_from_scalar(theano.scalar.exp(T.scalar_from_tensor(s))))),
         [1.0], "ScalarFromTensor Exp TensorFromScalar",
         lambda: T.scalar_from_tensor(T.exp(T.tensor_from_scalar(T.scalar_from_tensor(s))))),
    Case("local_alloc_dimshuffle", [x], lambda: T.alloc(x.dimshuffle("x", 0), 2, 3), [X], "Alloc",
         (lambda: T.alloc(x.dimshuffle(0, "x"), 3, 2), lambda: T.alloc(m.T, 3, 4))),
    Case("local_dimshuffle_alloc", [s, length], lambda: T.alloc(s, length).dimshuffle("x", 0), [2.0, 3], "Alloc",
         lambda: T.alloc(s, length).dimshuffle(0, "x")),
    # Constants.
    Case("constant_folding", [x], lambda: T.exp(T.constant(np.arange(3.0))) + x, [X], "add", lambda: T.exp(x)),
]  # fmt: skip

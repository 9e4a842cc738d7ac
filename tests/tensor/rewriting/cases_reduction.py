"""Rewrites of sums, products, maxima and dot products."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano
import theano.tensor as T

m, k = T.dmatrices("m", "k")
t = T.dtensor3("t")
x, y = T.dvectors("x", "y")
row, col = T.drow("row"), T.dcol("col")
s = T.dscalar("s")
n = T.lvector("n")
im, m8, n8 = T.lmatrix("im"), T.bmatrix("m8"), T.bmatrix("n8")
i8, j8 = T.bscalar("i8"), T.bscalar("j8")
flag = T.scalar("flag", dtype="bool")
flags = T.vector("flags", dtype="bool")
M = np.arange(12.0).reshape(4, 3) / 5 + 0.3
K = np.cos(np.arange(9.0)).reshape(3, 3)
B = np.arange(24.0).reshape(2, 3, 4) / 9 + 0.1
X, Y = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])
SMALL = np.array([[100, 2, 3], [-100, 5, 1], [1, 1, 1]], "int8")
NO_GRADIENT = "what maxima become last has none"


def largest(axis=None):
    return T.CAReduce(theano.scalar.maximum, axis)


def smallest(axis=None):
    return T.CAReduce(theano.scalar.minimum, axis)


def as_long(v, w, value):
    """A value, which has the length of `v`, asserted to have that of `w` as `local_elemwise_alloc` does it."""
    return T.opt.Assert("local_elemwise_alloc: lengths")(value, T.eq(v.shape[0], w.shape[0]))


def squares(v, w):
    """The squares of all outer products of the rows of two matrices."""
    return T.sqr(v.dimshuffle("x", 0, 1) * w.dimshuffle(0, "x", 1))


def deviations(v, total):
    """Squared deviations of the elements of a matrix from a quarter of a number."""
    return T.sqr(v - (total * 0.25).dimshuffle("x", "x"))


def as_rows(*parts):
    return T.join(0, *[part.dimshuffle("x", 0) for part in parts])


CASES = [
    Case("local_sum_prod_mul_by_scalar", [m, s], lambda: (m * s).sum(), [M, 2.0], "Sum DimShuffle DimShuffle mul",
         (lambda: (m * x).sum(), lambda: (im * s).max())),
    Case("local_sum_prod_mul_by_scalar", [m], lambda: (-m).sum(axis=1), [M], "Sum neg",
         (lambda: (-m).prod(axis=1), lambda: (-im).sum(axis=1))),
    Case("local_sum_prod_mul_by_scalar", [m, s], lambda: (m * s).prod(axis=0), [M, 2.0],
         "Shape_i Prod DimShuffle DimShuffle pow DimShuffle mul",
         companions=["local_shape_to_shape_i", "local_subtensor_make_vector"]),
    Case("local_sum_prod_mul_by_scalar", [m, i8, j8], lambda: T.mul(m, i8, j8).sum(), [M, 100, 100],
         "Sum DimShuffle convert_to_float64 DimShuffle DimShuffle convert_to_float64 DimShuffle mul mul"),
    Case("local_sum_prod_div_dimshuffle", [m, x], lambda: (m / x).sum(axis=0), [M, X],
         "Sum DimShuffle DimShuffle true_div", (lambda: (m / x).sum(axis=1), lambda: (m / x).prod(axis=0))),
    Case("local_sum_prod_div_dimshuffle", [k, x], lambda: (k * x.dimshuffle(0, "x")).sum(axis=1), [K, X],
         "Sum DimShuffle DimShuffle mul", lambda: (k * x).sum(axis=1)),
    Case("local_sum_prod_div_dimshuffle", [m8, n8, x], lambda: T.mul(m8, n8, x.dimshuffle(0, "x")).sum(axis=1),
         [SMALL, SMALL, X], "convert_to_float64 convert_to_float64 mul Sum DimShuffle DimShuffle mul"),
    Case("local_sum_prod_all_to_none", [t], lambda: t.sum(axis=(0, 1, 2)), [B], "Sum", lambda: t.sum(axis=(0, 2)),
         proves=lambda fgraph: fgraph.outputs[0].owner.op.axis is None),
    Case("local_op_of_op", [t], lambda: t.sum(axis=0).sum(axis=0), [B], "Sum",
         (lambda: t.sum(axis=0).prod(axis=0), lambda: T.exp(t.sum(axis=0)).sum(axis=0),
          lambda: t.sum(axis=0).sum(axis=0) + t.sum(axis=0)), ["merge"]),
    Case("local_op_of_op", [t], lambda: t.prod(axis=1).prod(), [B], "Prod"),
    Case("local_op_of_op", [t], lambda: largest(0)(largest(1)(t)), [B], "CAReduce", lambda: largest(0)(smallest(1)(t)),
         no_gradient=NO_GRADIENT),
    Case("local_cut_useless_reduce", [m], lambda: T.sum(m, axis=[]), [M], "", lambda: m.sum(axis=0)),
    Case("local_reduce_broadcastable", [row], lambda: row.sum(axis=0), [X[None]], "DimShuffle",
         (lambda: m.sum(axis=0), lambda: row.sum(axis=1))),
    Case("local_reduce_broadcastable", [row], lambda: row.sum(), [X[None]], "DimShuffle Sum"),
    Case("local_reduce_join", [x, y], lambda: as_rows(x, y).sum(axis=0), [X, Y], "add",
         (lambda: T.concatenate([m, k], axis=0).sum(axis=0), lambda: as_rows(x, y).sum(axis=1),
          lambda: largest(0)(as_rows(x, y, x)))),
    Case("local_useless_reduce", [flag], lambda: T.all(flag), [True], "", lambda: T.all(flags)),
    Case("local_useless_reduce", [flag], lambda: T.any(flag), [False], ""),
    Case("local_opt_alloc", [s], lambda: T.alloc(s, 3, 4).sum(), [2.0], "mul convert_to_float64 mul",
         (lambda: T.alloc(x, 2, 3).sum(axis=1), lambda: T.tile(s, 3).sum())),
    Case("local_opt_alloc", [s], lambda: T.alloc(s, 3, 4).prod(axis=0), [2.0], "convert_to_float64 pow Alloc"),
    Case("local_opt_alloc", [x], lambda: T.alloc(x, 4, 3).sum(axis=0), [X],
         "DimShuffle convert_to_float64 DimShuffle mul Alloc"),
    Case("local_sum_of_asserted_zeros", [x, y], lambda: as_long(x, y, T.alloc(0.0, x.shape[0])).sum(), [X, Y], "",
         (lambda: as_long(x, y, T.alloc(0.0, x.shape[0], 2)).sum(axis=0), lambda: as_long(x, y, T.alloc(1.0, x.shape[0])).sum(),
          lambda: T.opt.Assert("other")(T.alloc(0.0, x.shape[0]), T.eq(x.shape[0], 3)).sum())),
    Case("local_sumsqr2dot", [k, m], lambda: squares(k, m).sum(axis=(1, 2)), [K, M], "sqr sqr Sum Dot",
         (lambda: T.sqr(k.dimshuffle("x", 0, 1) + m.dimshuffle(0, "x", 1)).sum(axis=(1, 2)),
          lambda: squares(k, m).sum(axis=(0, 2)), lambda: squares(im, im).sum(axis=(1, 2)),
          lambda: squares(k, col).sum(axis=(1, 2)))),
    Case("local_sumsqr2dot", [k, m8], lambda: squares(k, m8).sum(axis=(1, 2)), [K, SMALL],
         "convert_to_float64 sqr sqr Sum Dot"),
    Case("local_max_and_argmax", [m], lambda: T.max_and_argmax(m, axis=0)[0], [M], "CAReduce",
         lambda: sum(T.max_and_argmax(m, axis=0)), no_gradient_after=NO_GRADIENT),
    Case("local_max_and_argmax", [m], lambda: T.max_and_argmax(m, axis=0)[1], [M], "Argmax"),
    Case("local_reduce_of_dimshuffle", [m], lambda: m.T.sum(), [M], "Sum", lambda: T.exp(m.T).sum()),
    Case("local_reduce_of_dimshuffle", [m], lambda: m.T.sum(axis=0), [M], "Sum", lambda: m.dimshuffle(1, "x", 0).sum(axis=0)),
    Case("local_reduce_of_dimshuffle", [t], lambda: t.dimshuffle(1, 2, 0).sum(axis=(0, 2)), [B], "Sum",
         lambda: t.dimshuffle(2, 1, 0).sum(axis=1)),
    Case("local_sum_of_squared_deviations", [m], lambda: deviations(m, m.sum()).sum(), [M],
         "Moments mul GT DimShuffle DimShuffle sub sqr mul Switch add",
         (lambda: deviations(m, m.sum()).sum(axis=0), lambda: deviations(m, T.exp(m).sum()).sum(),
          lambda: deviations(T.exp(m), T.exp(m).sum()).sum(), lambda: deviations(im, im.sum()).sum())),
    # Dot products.
    Case("local_0_dot_x", [k], lambda: T.dot(k, T.zeros((3, 2))), [K], "Shape_i Shape_i EQ Assert Alloc",
         (lambda: T.dot(k, m), lambda: T.dot(k, T.ones((3, 2)))),
         ["local_shape_to_shape_i", "local_subtensor_make_vector", "constant_folding"]),
    Case("local_lift_transpose_through_dot", [m, k], lambda: T.dot(m, k).T, [M, M.T], "DimShuffle DimShuffle Dot",
         (lambda: T.exp(T.dot(m, k)).T, lambda: T.dot(m, k).dimshuffle("x", 1, 0),
          lambda: (lambda product: product.T + product)(T.dot(m, k)))),
]  # fmt: skip

"""Rewrites of indexing and of writing into parts of arrays."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano.tensor as T
from theano.compile.ops import Shape_i
from theano.tensor.advanced_subtensor import advanced_inc_subtensor

x, y = T.dvectors("x", "y")
s, r = T.dscalars("s", "r")
m, k = T.dmatrices("m", "k")
t = T.dtensor3("t")
row, col = T.drow("row"), T.dcol("col")
i, j = T.lvectors("i", "j")
n = T.lscalar("n")
places = T.lmatrix("places")
PLACES = np.array([[0, 3], [3, 6]])
flag = T.scalar("flag", dtype="bool")
f32 = T.fvector("f32")
V = np.arange(7.0)
X, Y = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])
M = np.arange(12.0).reshape(4, 3)
K = np.arange(15.0).reshape(3, 5) + 1
B = np.arange(24.0).reshape(2, 3, 4) / 7
TWO_OF_FOUR = T.constant(np.array([2, 0]))
TWICE = T.constant(np.array([2, 2]))
LENGTHS = ["local_shape_to_shape_i", "local_subtensor_make_vector", "constant_folding"]


def zeros(*shape):
    return T.zeros(shape)


def gradient_of_slice(v, part, shape):
    """What the gradient of ``x[part]`` with respect to `x` is made of."""
    of = T.dvector() if len(shape) == 1 else T.dmatrix()
    node = T.grad(None, of, known_grads={of[part]: v}).owner
    return node.op(T.zeros(shape), *node.inputs[1:])


def written(v):
    return v.owner.op.set_instead_of_inc


def on_diagonal(v, positions=T.arange, inside=T.zeros, change=T.set_subtensor):
    """`v` written into a square array at positions of both axes."""
    length = Shape_i(0)(x)
    return change(inside((length, length))[positions(length), positions(length)], v)


CASES = [
    # Slices and indices that say less than they seem to.
    Case("local_useless_subtensor", [m], lambda: m[:], [M], "", (lambda: m[1:], lambda: m[: n])),
    Case("local_useless_subtensor", [m], lambda: m[0:, :], [M], ""),
    Case("local_useless_subtensor", [x], lambda: T.exp(x[:, None] + TWO_OF_FOUR)[:, :2], [V], "DimShuffle DimShuffle add exp"),
    Case("local_useless_subtensor", [m], lambda: m[: Shape_i(0)(m)], [M], "", lambda: m[: Shape_i(1)(m)]),
    Case("local_useless_slice", [m], lambda: m[1:2, :], [M], "Subtensor", (lambda: m[::2], lambda: m[::-1])),
    Case("local_useless_slice", [m], lambda: m[0::1], [M], ""),
    Case("local_subtensor_remove_broadcastable_index", [row], lambda: row[0], [X[None]], "DimShuffle",
         (lambda: m[0], lambda: row[:, 0], lambda: row[0, 1:])),
    Case("local_subtensor_make_vector", [x], lambda: T.MakeVector("float64")(x[0], x[1])[1], [V], "Subtensor",
         (lambda: T.MakeVector("float64")(x[0], x[1])[n], lambda: T.stack([x, y])[1])),
    Case("local_subtensor_make_vector", [s, r], lambda: T.MakeVector("float64")(s, r, s)[:2], [1.0, 2.0], "MakeVector"),
    # Indices of indices.
    Case("local_subtensor_merge", [x], lambda: x[2:][:5:2], [V], "Subtensor", lambda: T.exp(x[1:])[1:]),
    Case("local_subtensor_merge", [x], lambda: x[1:-1][2:], [V], "Subtensor"),
    Case("local_subtensor_merge", [m], lambda: m[1:][:, 1], [M], "Subtensor"),
    Case("local_subtensor_merge", [m], lambda: m[1:][2], [M], "Subtensor"),
    # Indexing before computing.
    Case("local_subtensor_lift", [m], lambda: T.exp(m)[1], [M], "Subtensor exp",
         (lambda: T.exp(m)[0].sum() + T.exp(m).sum(), lambda: T.cumsum(m)[1]), ["merge"]),
    Case("local_subtensor_lift", [m, k], lambda: (m * k)[:, 0], [M, M + 1], "Subtensor Subtensor mul"),
    Case("local_subtensor_lift", [m, x], lambda: (m * x)[1], [M, X], "DimShuffle Subtensor Subtensor mul"),
    Case("local_subtensor_of_dot", [m, k], lambda: T.dot(m, k)[1:2, 2:], [M, K], "Subtensor Subtensor Dot",
         (lambda: T.exp(T.dot(m, k))[1], lambda: T.dot(m, k)[1].sum() + T.dot(m, k).sum()), ["merge"]),
    Case("local_subtensor_of_dot", [m, k], lambda: T.dot(m, k)[1], [M, K], "Subtensor Dot"),
    Case("local_subtensor_of_alloc", [x, n], lambda: T.alloc(x, n, 3)[1], [X, 4], "GT Assert",
         (lambda: T.tile(x, 2)[n], lambda: T.Subtensor([T.lscalar()])(T.alloc(s, 3), 3))),
    Case("local_subtensor_of_alloc", [x], lambda: T.alloc(x, 4, 3)[1], [X], ""),
    Case("local_subtensor_of_alloc", [s], lambda: T.alloc(s, 5)[1:], [2.0], "Alloc", companions=["constant_folding"]),
    Case("local_subtensor_of_dimshuffle", [x], lambda: x.dimshuffle("x", 0)[0, 1], [X], "Subtensor",
         (lambda: x.dimshuffle("x", 0)[n, 1], lambda: m.T[0, 1])),
    Case("local_subtensor_of_transpose", [m], lambda: m.T[1], [M], "Subtensor",
         (lambda: m.T[1] + m.T.sum(), lambda: m.dimshuffle(1, "x", 0)[1]), ["merge"]),
    Case("local_subtensor_of_transpose", [t], lambda: t.dimshuffle(2, 0, 1)[1:, 0], [B], "Subtensor DimShuffle"),
    Case("local_subtensor_of_reduce", [m], lambda: m.sum(axis=0)[1:], [M], "Subtensor Sum",
         (lambda: T.cumsum(m, axis=0)[1], lambda: m.sum(axis=0)[1] + m.sum(axis=0).sum()), ["merge"]),
    Case("local_subtensor_of_reduce", [t], lambda: t.prod(axis=1)[1, 2], [B], "Subtensor Prod"),
    Case("local_subtensor_of_join", [x, y], lambda: T.stack([x, y])[-1], [X, Y], "DimShuffle Subtensor",
         (lambda: T.join(0, x, y)[1], lambda: T.stack([x, y])[n], lambda: T.stack([x, y])[:1])),
    Case("local_dimshuffle_subtensor", [col], lambda: col[1:].dimshuffle(0), [X[:, None]], "Subtensor",
         (lambda: col[1:].dimshuffle(1, 0), lambda: row[0:1].dimshuffle(1), lambda: T.exp(col[1:]).dimshuffle(0))),
    # Vectors of positions.
    Case("local_subtensor_make_vector", [s, r], lambda: T.MakeVector("float64")(s, r, s)[[-1, 1, 1]], [1.0, 2.0], "MakeVector"),
    Case("local_useless_AdvancedSubtensor1", [x], lambda: T.specify_shape(x, (3,))[[0, 1, 2]], [X], "SpecifyShape",
         lambda: T.specify_shape(x, (3,))[[0, 1]], LENGTHS),
    Case("local_useless_AdvancedSubtensor1", [x], lambda: x[T.arange(Shape_i(0)(x))], [X], "",
         (lambda: x[T.arange(Shape_i(0)(x) - 1)], lambda: x[T.arange(0, Shape_i(0)(x), 2)])),
    Case("local_useless_AdvancedSubtensor1", [x, y], lambda: x[T.arange(Shape_i(0)(y))], [V, X],
         "Assert GE ScalarFromTensor Shape_i Shape_i Subtensor",
         (lambda: x[T.arange(1, Shape_i(0)(y))], lambda: x[T.arange(Shape_i(0)(y))[:2]], lambda: x[T.arange(n)])),
    Case("local_adv_sub1_adv_inc_sub1", [x, y], lambda: T.set_subtensor(x[TWO_OF_FOUR], y)[TWO_OF_FOUR], [V, X[:2]], "",
         (lambda: T.set_subtensor(x[TWICE], y)[TWICE], lambda: T.set_subtensor(x[i], y)[i],
          lambda: T.inc_subtensor(x[TWO_OF_FOUR], y)[TWO_OF_FOUR], lambda: T.set_subtensor(x[i], y)[j])),
    # Reading what was written.
    Case("local_subtensor_inc_subtensor", [x], lambda: T.set_subtensor(x[1:3], x[:2])[1:3], [V], "Subtensor",
         (lambda: T.set_subtensor(x[1:3], x[:2])[1:4], lambda: T.inc_subtensor(x[1:3], x[:2])[1:3])),
    # Writing.
    Case("local_useless_inc_subtensor", [x], lambda: T.inc_subtensor(x[1:], 0.0), [X], "", lambda: T.inc_subtensor(x[1:], 1.0)),
    Case("local_useless_inc_subtensor", [x], lambda: T.set_subtensor(x[:], T.exp(x)), [X], "exp",
         (lambda: T.set_subtensor(x[:], y), lambda: T.inc_subtensor(x[:], T.exp(x)))),
    Case("local_useless_inc_subtensor", [m], lambda: T.set_subtensor(m[:, ::-1], T.exp(m)), [M], "exp Subtensor",
         lambda: T.set_subtensor(m[:, ::-2], T.exp(m[:, ::2]))),
    Case("local_useless_inc_subtensor", [x, y], lambda: T.set_subtensor(x[::-1], T.specify_shape(y, x.shape)), [X, Y],
         "Shape_i MakeVector SpecifyShape Subtensor", companions=LENGTHS),
    Case("local_incsubtensor_of_zeros_to_diag", [x], lambda: on_diagonal(x), [X], "AllocDiag",
         (lambda: on_diagonal(x, lambda n: T.arange(n - 1, -1, -1)), lambda: on_diagonal(x, inside=T.ones),
          lambda: on_diagonal(x[:1])), ["merge1"]),
    Case("local_incsubtensor_of_zeros_to_diag", [x], lambda: on_diagonal(x, change=T.inc_subtensor), [X], "AllocDiag",
         lambda: on_diagonal(s, change=T.inc_subtensor), ["merge1"]),
    Case("local_incsubtensor_of_zeros_to_setsubtensor", [x], lambda: T.inc_subtensor(zeros(9)[:7], x), [V],
         "Alloc IncSubtensor", (lambda: T.inc_subtensor(T.ones((9,))[:7], x), lambda: T.inc_subtensor(zeros(9)[i], x)),
         proves=lambda fgraph: written(fgraph.outputs[0])),
    Case("local_setsubtensor_of_constants", [s, n], lambda: T.set_subtensor(T.alloc(0.0, n)[1:], 0.0) * s, [2.0, 4],
         "Alloc DimShuffle mul",
         (lambda: T.set_subtensor(T.alloc(0.0, n)[1:], 1.0), lambda: T.inc_subtensor(T.alloc(1.0, n)[1:], 1.0))),
    Case("local_setsubtensor_of_itself", [x], lambda: T.set_subtensor(x[1:], x[1:]), [X], "",
         (lambda: T.set_subtensor(x[1:], x[:-1]), lambda: T.inc_subtensor(x[1:], x[1:]))),
    Case("local_set_to_inc_subtensor", [x, s], lambda: T.set_subtensor(x[1:], x[1:] + s), [X, 2.0],
         "DimShuffle IncSubtensor",
         (lambda: T.set_subtensor(x[1:], s - x[1:]), lambda: T.set_subtensor(x[1:], x[:-1] + s),
          lambda: T.set_subtensor(x[i], x[i] + s)), proves=lambda fgraph: not written(fgraph.outputs[0])),
    Case("local_set_to_inc_subtensor", [x, s], lambda: T.set_subtensor(x[1:], x[1:] - s), [X, 2.0],
         "DimShuffle neg IncSubtensor", proves=lambda fgraph: not written(fgraph.outputs[0])),
    Case("local_set_to_inc_subtensor", [x, s], lambda: T.set_subtensor(x[TWO_OF_FOUR], x[TWO_OF_FOUR] + s), [X, 2.0],
         "DimShuffle AdvancedIncSubtensor1", lambda: T.set_subtensor(x[TWICE], x[TWICE] + s),
         proves=lambda fgraph: not written(fgraph.outputs[0])),
    Case("local_set_to_inc_subtensor", [x, flag], lambda: T.set_subtensor(x[1:], x[1:] - flag), [X, True],
         "DimShuffle convert_to_float64 neg IncSubtensor"),
    Case("local_useless_inc_subtensor_alloc", [x, s], lambda: T.inc_subtensor(x[:], T.alloc(s, x.shape[0])), [X, 2.0],
         "IncSubtensor", (lambda: T.inc_subtensor(x[:], T.exp(s)), lambda: T.inc_subtensor(m[:], T.alloc(m, 4, 3))), LENGTHS),
    Case("local_useless_inc_subtensor_alloc", [x, places, s],
         lambda: advanced_inc_subtensor(x, T.alloc(s, *places.shape), places), [V, PLACES, 2.0], "AdvancedIncSubtensor",
         companions=LENGTHS),
    Case("local_incsubtensor_of_zeros", [x], lambda: T.inc_subtensor(x[:2], zeros(2)), [X], "",
         (lambda: T.set_subtensor(x[:2], zeros(2)), lambda: T.inc_subtensor(x[:2], T.ones((2,))))),
    Case("local_incsubtensor_of_zeros", [m], lambda: T.inc_subtensor(m[[0, 1]], zeros(2, 3)), [M], ""),
    Case("local_add_of_parts", [x, y],
         lambda: gradient_of_slice(x, slice(None, 3), (6,)) + gradient_of_slice(y, slice(3, None), (6,)), [X, Y], "Join",
         (lambda: gradient_of_slice(x, slice(None, 3), (6,)) + gradient_of_slice(y, slice(2, None), (6,)),
          lambda: gradient_of_slice(x, slice(None, 3), (6,)) + T.inc_subtensor(zeros(6)[3:], y)),
         LENGTHS),
    Case("local_add_of_parts", [x, y],
         lambda: gradient_of_slice(x, slice(None, 3), (7,)) + gradient_of_slice(y, slice(3, 6), (7,)), [X, Y],
         "Alloc IncSubtensor IncSubtensor", companions=LENGTHS),
    Case("local_add_of_parts", [x, f32],
         lambda: gradient_of_slice(x, slice(None, 3), (6,)) + gradient_of_slice(f32, slice(3, None), (6,)),
         [X, Y.astype("float32")], "convert_to_float64 Join", companions=LENGTHS, no_float32="it is about two dtypes"),
]  # fmt: skip

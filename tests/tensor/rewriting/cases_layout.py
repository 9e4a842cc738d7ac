"""Rewrites of shapes, reshapes, joins, splits and declarations of broadcastable dimensions."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano
import theano.tensor as T
from theano.compile.ops import Rebroadcast, Shape_i

x, y = T.dvectors("x", "y")
s, r = T.dscalars("s", "r")
m, k = T.dmatrices("m", "k")
t = T.dtensor3("t")
row, col = T.drow("row"), T.dcol("col")
i = T.lvector("i")
n = T.lscalar("n")
X, Y = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])
M = np.arange(12.0).reshape(4, 3) / 5 + 0.3
B = np.arange(24.0).reshape(2, 3, 4) / 9 + 0.1
VECTOR = T.constant(np.arange(3.0))
SHAPES = ["local_shape_to_shape_i", "local_subtensor_make_vector"]

class Opaque(theano.Op):
    """A copy whose shape is known by looking at it only."""

    __props__ = ()

    def make_node(self, v):
        return theano.Apply(self, [v], [v.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0].copy()


def replace_what_is_opaque(fgraph):
    """After its shape was asked for."""
    for node in fgraph.toposort():
        if isinstance(node.op, Opaque):
            fgraph.shape_feature.shape(node.outputs[0])
            fgraph.replace(node.outputs[0], T.exp(node.inputs[0]))


def product_of_reshapes(v, left, right):
    return T.dot(v.reshape(left), v.reshape(right))


CASES = [
    # Shapes.
    Case("local_shape_to_shape_i", [m], lambda: T.shape(m), [M], "Shape_i Shape_i MakeVector", lambda: Shape_i(1)(m)),
    Case("local_shape_to_shape_i", [m, k], lambda: T.shape(T.exp(T.dot(m, k))), [M, M.T], "Shape_i Shape_i MakeVector"),
    Case("local_shape_i_lift", [m, k], lambda: Shape_i(1)(T.dot(m, k)), [M, M.T], "Shape_i", lambda: Shape_i(1)(m)),
    Case("local_shape_i_lift", [x, y], lambda: Shape_i(0)(T.join(0, x, y)), [X, Y], "Shape_i Shape_i add"),
    Case("local_shape_i_of_constant", [s], lambda: Shape_i(0)(VECTOR) * s, [2.0], "mul", lambda: Shape_i(0)(x) * s),
    Case("local_track_shape_i", [x], lambda: Shape_i(0)(Opaque()(x)), [X], "Shape_i", lambda: Shape_i(0)(T.exp(x)),
         prepare=replace_what_is_opaque),
    # Reshapes.
    Case("local_reshape_chain", [t], lambda: t.reshape((6, 4)).reshape((24,)), [B], "Reshape",
         lambda: T.exp(t.reshape((6, 4))).reshape((24,))),
    Case("local_reshapes_of_reversed", [t], lambda: product_of_reshapes(t[::-1], (6, 4), (4, 6)), [B],
         "Subtensor CpuContiguous Reshape Reshape Dot",
         (lambda: T.dot(t[::-1].reshape((6, 4)), t.reshape((4, 6))), lambda: product_of_reshapes(t, (6, 4), (4, 6)),
          lambda: product_of_reshapes(t[:, ::-1], (6, 4), (4, 6)), lambda: product_of_reshapes(t[::-1], (2, 3, 4), (2, 4, 3)),
          lambda: T.dot(t[::-1].reshape((t.shape[0], -1)), t[::-1].reshape((2, 12)).T),
          lambda: T.dot(t[::-1].flatten(2), t[::-1].reshape((12, 2))))),
    Case("local_reshapes_of_reversed", [t], lambda: product_of_reshapes(t[::-1], (-1, 4), (4, -1)), [B],
         "Subtensor CpuContiguous Reshape Reshape Dot"),
    Case("local_useless_reshape", [m], lambda: m.reshape(m.shape), [M], "", (lambda: m.reshape((12, 1)),
         lambda: m.reshape(k.shape), lambda: m.reshape((m.shape[1], m.shape[0])))),
    Case("local_useless_reshape", [m], lambda: m.reshape((m.shape[0], -1)), [M], "",
         lambda: T.reshape(m, (n, -1)), SHAPES),
    Case("local_useless_reshape", [x], lambda: x.reshape((3,)), [X], ""),
    Case("local_reshape_lift", [m], lambda: T.exp(m).reshape((12,)), [M], "Reshape exp", lambda: (m + k).reshape((12,))),
    Case("local_reshape_to_dimshuffle", [x], lambda: T.reshape(x, (1, x.shape[0], 1)), [X],
         "Shape_i MakeVector Reshape DimShuffle",
         (lambda: T.reshape(x, (2, x.shape[0] // 2)), lambda: T.reshape(x, (x.shape[0],))), SHAPES),
    Case("local_reshape_dimshuffle", [x], lambda: T.reshape(x.dimshuffle("x", 0), (3,)), [X], "Reshape",
         lambda: T.reshape(m.T, (12,))),
    Case("local_useless_dimshuffle_in_reshape", [m], lambda: T.reshape(m.dimshuffle("x", 0, "x", 1), (12,)), [M], "Reshape",
         lambda: T.reshape(m.dimshuffle("x", 1, 0), (12,))),
    Case("local_useless_dimshuffle_in_reshape", [row], lambda: T.reshape(row.dimshuffle(1, 0), (3,)), [X[None]], "Reshape"),
    Case("local_flatten_lift", [m], lambda: T.Flatten(1)(T.exp(m)), [M], "Flatten exp", lambda: T.Flatten(1)(m + k)),
    # Declarations.
    Case("local_useless_rebroadcast", [row], lambda: Rebroadcast((0, True))(row), [X[None]], "",
         lambda: Rebroadcast((0, True))(m)),
    Case("local_rebroadcast_lift", [m], lambda: Rebroadcast((0, True))(T.exp(m)), [M[:1]], "Rebroadcast exp",
         (lambda: Rebroadcast((0, True))(m + k), lambda: Rebroadcast((0, True))(T.exp(m)).sum() + T.exp(m).sum()), ["merge"]),
    Case("local_rebroadcast_lift", [m], lambda: Rebroadcast((0, True))(Rebroadcast((1, True))(m)), [M[:1, :1]], "Rebroadcast"),
    # Joins and splits.
    Case("local_join_1", [x], lambda: T.Join()(0, x), [X], "", lambda: T.Join()(0, x, y)),
    Case("local_join_empty", [x, y], lambda: T.join(0, x, T.constant(np.zeros(0)), y), [X, Y], "Join",
         (lambda: T.join(0, x, T.constant(np.zeros(1)), y), lambda: T.join(n, x, T.constant(np.zeros(0)), y)),
         proves=lambda fgraph: len(fgraph.outputs[0].owner.inputs) == 3),
    Case("local_join_make_vector", [s, r], lambda: T.join(0, T.stack([s, r]), T.stack([s])), [1.0, 2.0], "MakeVector",
         lambda: T.join(0, T.stack([s, r]), x)),
    Case("local_join_make_vector", [x, s, r], lambda: T.join(0, x, T.stack([s, r]), T.stack([s, s])), [X, 1.0, 2.0],
         "MakeVector Join"),
    Case("local_useless_split", [x], lambda: T.split(x, [3], 1, axis=0), [X], "Shape_i EQ Assert",
         (lambda: T.split(x, [1, 2], 2, axis=0)[0], lambda: T.split(x, [3], 1, axis=n)), ["local_shape_to_shape_i",
         "local_subtensor_make_vector", "constant_folding"]),
]  # fmt: skip

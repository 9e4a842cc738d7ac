"""Rewrites of elements chosen by a mask."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano.tensor as T
from theano.tensor.rewriting.shape import ShapeFeature

x, y = T.dvectors("x", "y")
m, k = T.dmatrices("m", "k")
s = T.dscalar("s")
flags = T.TensorType("bool", (False,))("flags")
X, Y = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])
M = np.arange(12.0).reshape(4, 3) - 5.5


def with_shapes(fgraph):
    fgraph.attach_feature(ShapeFeature())


CASES = [
    Case("local_subtensor_of_nonzero", [x], lambda: x[(x > 0).nonzero()], [X], "DimShuffle GT AdvancedBooleanSubtensor",
         (lambda: x[(y > 0).nonzero()], lambda: m[(m > 0).nonzero()[0]]), prepare=with_shapes),
    Case("local_subtensor_of_nonzero", [m], lambda: m[T.isnan(m / m).nonzero()], [M], "true_div IsNan AdvancedBooleanSubtensor",
         lambda: m[(m > 0).nonzero()[::-1]], prepare=with_shapes),
    Case("local_subtensor_of_nonzero", [x], lambda: x[T.maximum(x, 0).nonzero()], [X],
         "DimShuffle DimShuffle maximum NEQ AdvancedBooleanSubtensor", prepare=with_shapes),
    Case("local_sum_of_masked", [x], lambda: x[x > 0].sum(), [X], "DimShuffle DimShuffle GT Switch Sum",
         (lambda: x[flags].sum(), lambda: x[y > 0].sum(), lambda: x[x > 0].prod(), lambda: T.exp(x[x > 0]).sum(),
          lambda: (x[x > 0] * y).sum(), lambda: (x[x > 0] + x[x < 1]).sum(), lambda: m[m[:, 0] > 0].sum(),
          lambda: T.sum(x[x > 0]) + T.max(x[x > 0])), companions=["merge"], prepare=with_shapes),
    Case("local_sum_of_masked", [m, s], lambda: abs(m[m > 0] - s).sum(), [M, 2.0],
         "DimShuffle DimShuffle DimShuffle DimShuffle GT sub Abs Switch Sum", prepare=with_shapes),
]

"""Rewrites that remove what has no effect on values: assertions that hold, identities of the gradient, unused results."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano
import theano.tensor as T
from theano.raise_op import Assert
from theano.tensor.sort import TopKOp, topk_and_argtopk

x, y = T.dvectors("x", "y")
m = T.dmatrix("m")
X, Y = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])
M = np.linspace(0.3, 2.1, 9).reshape(3, 3)
checked = Assert("negative")
BEFORE = "the Op that is removed decides about it"

CASES = [
    Case("remove_consider_constant", [x, y], lambda: theano.gradient.consider_constant_(x) * y, [X, Y], "mul",
         lambda: theano.gradient.disconnected_grad(x) * y, no_gradient_after=BEFORE),
    Case("remove_zero_grad", [x, y], lambda: theano.gradient.zero_grad(x) * y, [X, Y], "mul",
         lambda: theano.gradient.disconnected_grad(x) * y, no_gradient_after=BEFORE),
    Case("remove_disconnected_grad", [x, y], lambda: theano.gradient.disconnected_grad(x) * y, [X, Y], "mul",
         lambda: theano.gradient.zero_grad(x) * y, no_gradient_after=BEFORE),
    Case("remove_undefined_grad", [x, y], lambda: theano.gradient.undefined_grad(x) * y, [X, Y], "mul",
         lambda: theano.gradient.zero_grad(x) * y, no_gradient="it is undefined"),
    Case("remove_grad_identities", [x, y], lambda: theano.gradient.grad_clip(x, -1, 1) * y, [X, Y], "mul",
         lambda: theano.gradient.zero_grad(x) * y, no_gradient_after=BEFORE),
    Case("remove_grad_identities", [x, y], lambda: theano.gradient.grad_scale(x, 2) * y, [X, Y], "mul", no_gradient_after=BEFORE),
    Case("local_remove_useless_assert", [x], lambda: checked(x, T.constant(1)), [X], "",
         (lambda: checked(x, x.sum() > 0), lambda: checked(x, T.constant(0)))),
    Case("local_remove_useless_assert", [x], lambda: checked(x, T.constant(1), x.sum() > 0), [X], "Sum GT Assert"),
    Case("local_remove_all_assert", [x], lambda: checked(x, x[0] > 0), [X], "", lambda: T.specify_shape(x, (3,))),
    Case("local_merge_specify_shape", [m], lambda: T.specify_shape(T.specify_shape(m, (3, 3)), (3, 3)), [M], "SpecifyShape",
         lambda: T.specify_shape(T.specify_shape(m, (3, 3)), (3, 4)), ["constant_folding"]),
    Case("local_useless_topk", [x], lambda: topk_and_argtopk(x, 2)[0], [X], "TopKOp",
         (lambda: sum(topk_and_argtopk(x, 2)), lambda: TopKOp(return_indices=False)(x, 2)),
         proves=lambda fgraph: all(not n.op.return_indices for n in fgraph.apply_nodes)),
    Case("local_useless_topk", [x], lambda: topk_and_argtopk(x, 2)[1], [X], "TopKOp",
         proves=lambda fgraph: all(not n.op.return_values for n in fgraph.apply_nodes)),
]  # fmt: skip

"""Dot products before they become BLAS calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.opt import copy_stack_trace
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle
from theano.tensor.rewriting.elemwise import dimshuffled, is_dot_of_matrices, used_once, will_be_met
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.subtensor import is_zeros
from theano.tensor.rewriting.terms import exact_replacement


@rewrites([DimShuffle], "canonicalize", needs=[T.Dot])
def local_lift_transpose_through_dot(node: Any) -> Any:
    """``dot(x, y).T -> dot(y.T, x.T)``

    If nothing else uses the product, which would be computed twice. The transposes of the operands are views that a GEMM
    takes for free. Those of them that are products again, or elementwise, are transposed in the same way.
    """
    if tuple(node.op.new_order) != (1, 0):
        return False
    out = node.inputs[0]
    if out.owner is None or not is_dot_of_matrices(out.owner) or not used_once(out) or will_be_met(node, dots=True):
        return False
    x, y = out.owner.inputs
    new = T.dot(dimshuffled(y, (1, 0), dots=True), dimshuffled(x, (1, 0), dots=True))
    return exact_replacement(node, new, *node.inputs)


@rewrites([T.Dot], "canonicalize stabilize specialize")
def local_0_dot_x(node: Any) -> Any:
    """``dot(0, x) -> 0`` and ``dot(x, 0) -> 0``

    The inner dimensions are asserted to be equal.
    """
    x, y = node.inputs
    if not (is_zeros(x) or is_zeros(y)):
        return False
    zero = T.constant(np.asarray(0, dtype=node.outputs[0].type.dtype))
    check = Assert("local_0_dot_x: the operands of a dot product have different inner dimensions")
    zero = check(zero, T.eq(x.shape[x.ndim - 1], y.shape[0]))
    copy_stack_trace(node.outputs, zero)
    dims = [x.shape[0]] if x.ndim == 2 else []
    dims += [y.shape[1]] if y.ndim == 2 else []
    new = T.alloc(zero, *dims) if dims else zero
    return exact_replacement(node, new, rebroadcast=True)

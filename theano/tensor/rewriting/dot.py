"""Dot products before they become BLAS calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.opt import copy_stack_trace
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.elemwise import DimShuffle
from theano.tensor.rewriting.elemwise import dimshuffled, is_dot_of_matrices, will_be_met
from theano.tensor.rewriting.rules import applies, called, once, replaces, x, y

_DOT = applies(T.Dot, "dot", T.dot)
_TRANSPOSED = applies(DimShuffle, "T", lambda v: v.T, lambda op: tuple(op.new_order) == (1, 0))


@replaces(_TRANSPOSED(called("z", once(_DOT(x, y)))), "canonicalize")
def local_lift_transpose_through_dot(out: Any, x: Any, y: Any, z: Any) -> Any:
    """``dot(x, y).T -> dot(y.T, x.T)``

    If nothing else uses the product, which would be computed twice. The transposes of the operands are views that a GEMM
    takes for free. Those of them that are products again, or elementwise, are transposed in the same way.
    """
    if not is_dot_of_matrices(z.owner) or will_be_met(out.owner, dots=True):
        return None
    return copy_stack_trace([out, z], T.dot(*[dimshuffled(v, (1, 0), dots=True) for v in (y, x)]))


@replaces(_DOT(x, y), "canonicalize stabilize specialize")
def local_0_dot_x(out: Any, x: Any, y: Any) -> Any:
    """``dot(0, x) -> 0`` and ``dot(x, 0) -> 0``

    The inner dimensions are asserted to be equal.
    """
    if not (is_evidently(x, 0) or is_evidently(y, 0)):
        return None
    check = Assert("local_0_dot_x: the operands of a dot product have different inner dimensions")
    zero = check(np.asarray(0, dtype=out.type.dtype), T.eq(x.shape[x.ndim - 1], y.shape[0]))
    dims = [x.shape[0]] * (x.ndim == 2) + [y.shape[1]] * (y.ndim == 2)
    return T.patternbroadcast(T.alloc(zero, *dims) if dims else zero, out.type.broadcastable)

"""Numerical stability: expressions that round or overflow are replaced by functions that do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.rewriting.rules import Rewrite as _Rewrite
from theano.scalar import compound
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise, Sum
from theano.tensor.rewriting.rules import Made, P, c, d, number, once, rest, rewrite, rule, x
from theano.tensor.rewriting.terms import as_scalar_constant, is_elemwise, nodes_below, same_dtype, sum_of

log_cosh = Elemwise(compound.log_cosh, name="log_cosh")


LOG_2 = number(np.log(2), "log(2)")


def _has_no_constant(rest: tuple) -> bool:
    return bool(rest) and all(as_scalar_constant(v) is None for v in rest)


def _log1p_of_sum(out: Any, rest: tuple) -> Any:
    return T.log1p(same_dtype(sum_of(rest), out.owner.inputs[0]))


NO_CONSTANT = ("`x` is no constant", lambda x: as_scalar_constant(x) is None)
OPPOSITES = ("`d` is `-c`", lambda c, d: as_scalar_constant(c) == -as_scalar_constant(d))

local_log1p = rewrite(
    "local_log1p",
    "stabilize specialize",
    rule(P.log(P.sub(1, x)), Made("log1p(-x)", lambda out, x: T.log1p(T.neg(same_dtype(x, out.owner.inputs[0]))))),
    rule(P.log(P.add(1, rest)), Made("log1p(...)", _log1p_of_sum), where=("no other term is constant", _has_no_constant)),
    rule(P.log(-(x - 1)), P.log1p(P.neg(x)), "floats", where=NO_CONSTANT),
    rule(P.log(-(-1 - x)), P.log1p(x), "floats", where=NO_CONSTANT),
)


#: What is twice a hyperbolic function, and that.
_TWICE = [
    (P.add(P.exp(x), P.exp(-x)), P.cosh(x)),
    (P.sub(P.exp(x), P.exp(-x)), P.sinh(x)),
    (P.sub(P.exp(-x), P.exp(x)), P.sinh(-x)),
]
sum_of_opposites = _Rewrite("sum_of_opposites", [rule(before, 2 * half, "floats") for before, half in _TWICE])


local_log_of_opposites = rewrite(
    "local_log_of_opposites",
    "canonicalize stabilize specialize",
    *[rule(P.log(before), P.log(half) + LOG_2, "floats") for before, half in _TWICE],
)


def _sum_of(v: Any) -> tuple[Any, tuple | None]:
    """``(the Apply of the sum, the order of the DimShuffle around it or None)`` if `v` is a sum, else ``(None, None)``."""
    node, order = v.owner, None
    if node is not None and isinstance(node.op, DimShuffle):
        order, node = node.op.new_order, node.inputs[0].owner
    return (node, order) if node is not None and isinstance(node.op, Sum) else (None, None)


def _less_its_max(x: Any) -> bool:
    # Whether x is ``y - max(y)``, with what masks infinities around the maximum.
    if not is_elemwise(x.owner, T.sub):
        return False
    y, top = x.owner.inputs
    return any(isinstance(node.op, (T.CAReduce, T.MaxAndArgmax)) and node.inputs[0] is y for node in nodes_below(top, 12))


local_expm1 = rewrite(
    "local_expm1",
    "specialize stabilize canonicalize",
    rule(P.exp(x) - 1, P.expm1(x), "reals"),
    rule(1 - P.exp(x), -P.expm1(x), "reals"),
    rule(P.expm1(x) + 1, P.exp(x), "reals"),
)


local_one_minus_erf = rewrite(
    "local_one_minus_erf",
    "canonicalize stabilize specialize",
    rule(1 - P.erf(x), P.erfc(x), "reals"),
    rule(P.erf(x) - 1, -P.erfc(x), "reals"),
    rule(1 + P.erf(x), P.erfc(-x), "reals"),
    rule(-1 - P.erf(x), -P.erfc(-x), "reals"),
    rule(P.sub(c, c * P.erf(x)), c * P.erfc(x), "floats"),
    rule(P.add(c, d * P.erf(x)), c * P.erfc(x), "floats", where=OPPOSITES),
    rule(P.add(c, c * P.erf(x)), c * P.erfc(-x), "floats"),
    rule(P.sub(c, d * P.erf(x)), c * P.erfc(-x), "floats", where=OPPOSITES),
    rule(P.sub(c * P.erf(x), c), -c * P.erfc(x), "floats"),
    rule(P.sub(d * P.erf(x), c), d * P.erfc(-x), "floats", where=OPPOSITES),
)


local_one_minus_erfc = rewrite(
    "local_one_minus_erfc",
    "canonicalize stabilize specialize",
    rule(1 - P.erfc(x), P.erf(x), "reals"),
    rule(P.erfc(x) - 1, -P.erf(x), "reals"),
    rule(P.sub(1, 0.5 * P.erfc(x)), 0.5 * P.erfc(-x), "floats"),
    rule(P.add(1, -0.5 * P.erfc(x)), 0.5 * P.erfc(-x), "floats"),
)


local_one_minus_cos = rewrite(
    "local_one_minus_cos",
    "stabilize specialize",
    rule(1 - once(P.cos(x)), 2 * P.sqr(P.sin(0.5 * x)), "floats"),
    rule(once(P.cos(x)) - 1, -2 * P.sqr(P.sin(0.5 * x)), "floats"),
)

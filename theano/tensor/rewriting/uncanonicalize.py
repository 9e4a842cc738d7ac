"""Late rewrites that undo the canonical form where another one is quicker."""

from __future__ import annotations

from typing import Any

from theano.tensor import basic as T
from theano.tensor.rewriting.algebra import local_max_to_min  # noqa: F401
from theano.tensor.rewriting.canonizer import _strip
from theano.tensor.rewriting.elemwise import _DIMSHUFFLE
from theano.tensor.rewriting.fill import _ALLOC
from theano.tensor.rewriting.layout import _RESHAPE_OF_DIMSHUFFLE
from theano.tensor.rewriting.reduction import local_max_and_argmax  # noqa: F401
from theano.tensor.rewriting.rules import Made, called, replaces, rest, rewrite, rule, x
from theano.tensor.rewriting.subtensor import _SUBTENSOR, _all_entries, _taken

_LEFT = "dimensions are added on the left only"
local_alloc_dimshuffle = rewrite(
    "local_alloc_dimshuffle",
    "uncanonicalize",
    rule(_ALLOC(called("y", _DIMSHUFFLE(x)), rest), _ALLOC(x, rest), where=(_LEFT, lambda y: _strip(y) is not y)),
)


local_reshape_dimshuffle = rewrite("local_reshape_dimshuffle", "uncanonicalize", _RESHAPE_OF_DIMSHUFFLE)


local_dimshuffle_alloc = rewrite(
    "local_dimshuffle_alloc",
    "uncanonicalize",
    rule(
        _DIMSHUFFLE(_ALLOC(x, rest)),
        Made("alloc(x, 1, ...)", lambda out, x, rest: T.alloc(x, *[1] * (out.type.ndim - len(rest)), *rest)),
        where=(_LEFT, lambda out: _strip(out) is not out),
    ),
)


@replaces(_DIMSHUFFLE(called("y", _SUBTENSOR(x, rest))), "specialize uncanonicalize")
def local_dimshuffle_subtensor(out: Any, x: Any, y: Any) -> Any:
    """``dimshuffle{0,2}(x[a:b, :, c]) -> x[a:b, 0, c]`` where the only thing it does is to drop dimensions of length 1

    So that a row of one element is not a view of a view.
    """
    order = out.owner.op.new_order
    dropped = [d for d in range(y.type.ndim) if d not in order]
    if not dropped or "x" in order or list(order) != sorted(order):
        return None
    idx = _all_entries(y)
    slices = [k for k, entry in enumerate(idx) if isinstance(entry, slice)]
    for k in (slices[d] for d in dropped):
        # The slice has length 1 there: its only element is the first of the slice.
        if idx[k] != slice(None) or not x.type.broadcastable[k]:
            return None
        idx[k] = 0
    return _taken(x, idx)

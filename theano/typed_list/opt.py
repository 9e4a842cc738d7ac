"""Rewrites of operations on typed lists."""

from __future__ import annotations

from typing import Any

from theano import aliases
from theano.gof.opt import TopoOptimizer, copy_stack_trace, local_optimizer
from theano.gof.rewriting.stages import optdb
from theano.typed_list.basic import Append, Extend, Insert, Remove, Reverse


@local_optimizer([Append, Extend, Insert, Reverse, Remove], inplace=True)
def typed_list_inplace_opt(node: Any) -> Any:
    """``append(x, y) -> append{inplace}(x, y)``, and the same for the other Ops that change a list."""
    if isinstance(node.op, (Append, Extend, Insert, Reverse, Remove)) and not node.op.inplace:
        new = type(node.op)(inplace=True)(*node.inputs)
        copy_stack_trace(node.outputs, new)
        return [new]
    return False


optdb.register(
    "typed_list_inplace_opt",
    TopoOptimizer(typed_list_inplace_opt, failure_callback=TopoOptimizer.warn_inplace),
    60,
    "fast_run",
    "inplace",
)

__getattr__, __dir__ = aliases.lazy(__name__)

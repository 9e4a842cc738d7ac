"""Constant folding: what depends on constants only is computed at compile time."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.gof.opt import copy_stack_trace
from theano.gof.utils import MethodNotDefined
from theano.tensor.rewriting.registry import rewrites


@rewrites(None, "canonicalize:fast_compile stabilize specialize uncanonicalize")
def constant_folding(node: Any) -> Any:
    """``op(constants) -> constant``

    For every Op whose `do_constant_folding` does not object.
    """
    for inp in node.inputs:
        if not isinstance(inp, Constant):
            return None
    op = node.op
    if getattr(node.tag, "folding_failed", False):
        return None
    allowed = getattr(op, "do_constant_folding", None)
    if allowed is not None and not allowed(node):
        return None
    storage_map = {inp: [inp.data] for inp in node.inputs}
    storage_map.update((out, [None]) for out in node.outputs)
    compute_map = {var: [True] for var in node.inputs}
    compute_map.update((out, [False]) for out in node.outputs)
    # Compiling C for a value that is needed once takes longer than computing it, so it is only done where it is asked
    # for or where there is nothing else.
    ask = getattr(op, "python_constant_folding", None)
    try:
        impl = "py" if ask is None or ask(node) else None
        required = op.make_thunk(node, storage_map, compute_map, no_recycling=[], impl=impl)()
    except (NotImplementedError, MethodNotDefined):
        required = op.make_thunk(node, storage_map, compute_map, no_recycling=[])()
    except Exception:
        # The error is reported once; it comes again when the function is called.
        node.tag.folding_failed = True
        raise
    # A lazy Op asks for inputs, all of which are computed here.
    if required:
        return None
    result = []
    for out in node.outputs:
        if storage_map[out][0] is None:
            return None
        make = getattr(out.type, "Constant", None) or getattr(out.type, "constant_type", None) or Constant
        value = make(out.type, storage_map[out][0])
        copy_stack_trace(out, value)
        result.append(value)
    return result


constant_folding.of_constants = True

"""What has no effect on the values is removed: assertions that hold, shapes that are known."""

from __future__ import annotations

from typing import Any

from theano.gof.graph import Constant
from theano.gof.rewriting.stages import optdb
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import applies, called, rest, rewrite, rule, x, y, z
from theano.tensor.rewriting.terms import as_scalar_constant, exact_replacement
from theano.tensor.shapes import SpecifyShape


@rewrites([Assert], "canonicalize specialize useless")
def local_remove_useless_assert(node: Any) -> Any:
    """``Assert(x, True, c) -> Assert(x, c)`` and ``Assert(x) -> x``; a condition that is certainly false stays."""
    conditions = []
    for c in node.inputs[1:]:
        value = as_scalar_constant(c)
        if value is None or not value:
            if value is None and not isinstance(c, Constant):
                try:
                    if T.get_scalar_constant_value(c):
                        continue
                except T.NotScalarConstantError:
                    pass
            if c not in conditions:
                conditions.append(c)
    if not conditions:
        return [node.inputs[0]]
    if len(conditions) < len(node.inputs) - 1:
        return exact_replacement(node, node.op(node.inputs[0], *conditions))
    return False


#: Whether the conditions hold or not. Not on by default: include 'local_remove_all_assert' or 'unsafe'.
local_remove_all_assert = rewrite("local_remove_all_assert", [], rule(applies(Assert, "assert", Assert())(x, rest), x))

# By the names of the database only: 'fast_run' must not select it.
optdb["canonicalize"].register("local_remove_all_assert", local_remove_all_assert, "unsafe", use_db_name_as_tag=False)
optdb["stabilize"].register("local_remove_all_assert", local_remove_all_assert, "unsafe", use_db_name_as_tag=False)
optdb["specialize"].register("local_remove_all_assert", local_remove_all_assert, "unsafe", use_db_name_as_tag=False)


_SPECIFIED = applies(SpecifyShape, "specify_shape", SpecifyShape())
local_merge_specify_shape = rewrite(
    "local_merge_specify_shape", "canonicalize", rule(_SPECIFIED(called("z", _SPECIFIED(x, y)), y), z)
)

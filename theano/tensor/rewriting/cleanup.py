"""What has no effect on the values is removed: assertions that hold, shapes that are known."""

from __future__ import annotations

from typing import Any

from theano.gof.rewriting.stages import optdb
from theano.raise_op import Assert
from theano.tensor.rewriting.rules import applies, called, replaces, rest, rewrite, rule, x, y, z
from theano.tensor.rewriting.terms import scalarconsts_rest
from theano.tensor.shapes import SpecifyShape

_ASSERT = applies(Assert, "assert", Assert())


def _holds(condition: Any) -> bool:
    values, _, _ = scalarconsts_rest([condition])
    return bool(values and values[0])


@replaces(_ASSERT(x, rest), "canonicalize specialize useless")
def local_remove_useless_assert(out: Any, x: Any, rest: tuple) -> Any:
    """``Assert(x, True, c) -> Assert(x, c)`` and ``Assert(x) -> x``; a condition that is certainly false stays."""
    conditions = list(dict.fromkeys(c for c in rest if not _holds(c)))
    if conditions:
        return out.owner.op(x, *conditions) if len(conditions) < len(rest) else None
    return x


#: Whether the conditions hold or not. Not on by default: include 'local_remove_all_assert' or 'unsafe'.
local_remove_all_assert = rewrite("local_remove_all_assert", "", rule(_ASSERT(x, rest), x))

# By the names of the database only: 'fast_run' must not select it.
for _stage in ("canonicalize", "stabilize", "specialize"):
    optdb[_stage].register("local_remove_all_assert", local_remove_all_assert, "unsafe", use_db_name_as_tag=False)


_SPECIFIED = applies(SpecifyShape, "specify_shape", SpecifyShape())
local_merge_specify_shape = rewrite(
    "local_merge_specify_shape", "canonicalize", rule(_SPECIFIED(called("z", _SPECIFIED(x, y)), y), z)
)

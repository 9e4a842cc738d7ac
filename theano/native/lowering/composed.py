"""What a node's outputs are made by where other Ops compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.graph import Variable, io_toposort
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, find_lowering


def emit_expressions(builder: ProgramBuilder, inputs: Sequence[Variable], results: Sequence[Any],
                     outputs: Sequence[Variable]) -> None:
    """Compute outputs of a node by expressions of variables that have cells."""
    pairs = list(zip(results, outputs, strict=True))
    for result, out in pairs:
        if result.type == out.type and not getattr(result.owner.op, "view_map", None):
            builder.of_variable.setdefault(result, builder.cell(out))
    for apply in io_toposort(inputs, results):
        lowering = find_lowering(apply.op)
        if lowering is None:
            raise CannotLower(f"{apply.op} is not native")
        lowering(builder, apply)
    for result, out in pairs:
        if builder.cell(result) != builder.cell(out):
            builder.emit(vm.CastCopy(), [builder.cell(result)], [builder.cell(out)])

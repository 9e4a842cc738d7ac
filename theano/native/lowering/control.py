"""Assertions. Branches are laid out by `theano.native.linker`, since they decide what else runs."""

from __future__ import annotations

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers
from theano.tensor.opt import Assert


@lowers(Assert)
def lower_assert(builder: ProgramBuilder, node: Apply) -> None:
    if not is_tensor_like(node.inputs[0].type):
        raise CannotLower("an assertion about a value that is not an array")
    builder.emit_for(node, vm.AssertOp(str(node.op.msg), node.op.exc))

"""Assertions. Branches are laid out by `theano.native.linker`, since they decide what else runs."""

from theano.native import instructions as vm
from theano.native.program import OF_ARRAYS, lowers_to
from theano.tensor.opt import Assert

lowers_to({Assert: lambda op: vm.AssertOp(str(op.msg), op.exc)}, where=OF_ARRAYS)

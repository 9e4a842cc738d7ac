"""The loop-nest IR, which lowerings make and targets print: :mod:`kernel <theano.native.ir.kernel>` and its rules."""

from theano.native.ir.kernel import (
    DTYPES,
    ITEMSIZE,
    MAX_DIMS,
    MAX_OPERANDS,
    REDUCE_OPS,
    Code,
    Kernel,
    Load,
    Operand,
    Output,
    Pick,
    Put,
    Reduce,
    Reload,
    Stage,
    Statement,
    Stmt,
    Store,
    elementwise,
    is_full_output,
    is_row_operand,
    let,
    neutral,
    position_stage,
)
from theano.native.ir.verify import IRError, verify
from theano.scalar.expression import Expression, variable

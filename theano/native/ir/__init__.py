"""The loop-nest IR, which lowerings make and targets print: :mod:`kernel <theano.native.ir.kernel>` and its rules."""

from theano.native.ir.kernel import (
    DTYPES as DTYPES,
)
from theano.native.ir.kernel import (
    ITEMSIZE as ITEMSIZE,
)
from theano.native.ir.kernel import (
    MAX_DIMS as MAX_DIMS,
)
from theano.native.ir.kernel import (
    MAX_OPERANDS as MAX_OPERANDS,
)
from theano.native.ir.kernel import (
    REDUCE_OPS as REDUCE_OPS,
)
from theano.native.ir.kernel import (
    Code as Code,
)
from theano.native.ir.kernel import (
    Kernel as Kernel,
)
from theano.native.ir.kernel import (
    Load as Load,
)
from theano.native.ir.kernel import (
    Operand as Operand,
)
from theano.native.ir.kernel import (
    Output as Output,
)
from theano.native.ir.kernel import (
    Pick as Pick,
)
from theano.native.ir.kernel import (
    Put as Put,
)
from theano.native.ir.kernel import (
    Reduce as Reduce,
)
from theano.native.ir.kernel import (
    Reload as Reload,
)
from theano.native.ir.kernel import (
    Stage as Stage,
)
from theano.native.ir.kernel import (
    Statement as Statement,
)
from theano.native.ir.kernel import (
    Stmt as Stmt,
)
from theano.native.ir.kernel import (
    Store as Store,
)
from theano.native.ir.kernel import (
    argextremum_stages as argextremum_stages,
)
from theano.native.ir.kernel import (
    elementwise as elementwise,
)
from theano.native.ir.kernel import (
    is_full_output as is_full_output,
)
from theano.native.ir.kernel import (
    is_row_operand as is_row_operand,
)
from theano.native.ir.kernel import (
    let as let,
)
from theano.native.ir.kernel import (
    position_of as position_of,
)
from theano.native.ir.verify import IRError as IRError
from theano.native.ir.verify import verify as verify
from theano.scalar.expression import Expression as Expression
from theano.scalar.expression import variable as variable

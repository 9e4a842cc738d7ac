"""One lowering per Op family: from an Apply to instructions and loop nests.

Importing this package registers all but those of families that a program may never import, such as
`theano.tensor.nnet`; `theano.native.program.find_lowering` brings these when it meets their Ops.
"""

from theano.native.lowering import (
    blas,
    control,
    creation,
    extremum,
    gather,
    join,
    loops,
    moments,
    order,
    positions,
    shape,
    subtensor,
)

__all__ = [
    "blas", "control", "creation", "extremum", "gather", "join", "loops", "moments", "order", "positions", "shape", "subtensor",
]

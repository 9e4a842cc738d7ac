"""Importing this module registers all lowerings but those of families that a program may never import.

`theano.native.program.find_lowering` brings such, as those of `theano.tensor.nnet`, when it meets their Ops.
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

"""The rewrites of :mod:`theano.tensor.rewriting.uncanonicalize` under their first path."""

from theano.tensor.rewriting.uncanonicalize import (  # noqa: F401
    local_alloc_dimshuffle,
    local_dimshuffle_alloc,
    local_dimshuffle_subtensor,
    local_max_and_argmax,
    local_max_to_min,
    local_reshape_dimshuffle,
)

"""The lazy conditional and its rewrites, which are registered by being imported."""

from theano.gof.graph import Apply as Apply
from theano.ifelse_op import IfElse as IfElse
from theano.ifelse_op import ifelse as ifelse
from theano.ifelse_rewriting import (  # noqa: F401
    CondMerge,
    cond_make_inplace,
    cond_merge_ifs_false,
    cond_merge_ifs_true,
    cond_remove_identical,
    ifelse_lift_single_if_through_acceptable_ops,
)

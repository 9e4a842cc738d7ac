"""Optimizers: what rewrites a graph.

Global optimizers (`Optimizer`) change a whole `FunctionGraph`; local ones (`LocalOptimizer`)
propose replacements for the outputs of one Apply node and are applied by a navigator. The
classes live in :mod:`theano.gof.rewriting`, one kind a file.
"""

from __future__ import annotations

from theano.gof.graph import is_same_graph
from theano.gof.rewriting.base import (
    FromFunctionOptimizer,
    Optimizer,
    SeqOptimizer,
    inplace_optimizer,
    optimizer,
)
from theano.gof.rewriting.equilibrium import EquilibriumOptimizer
from theano.gof.rewriting.local import (
    FromFunctionLocalOptimizer,
    GraphToGPULocalOptGroup,
    LocalMetaOptimizer,
    LocalMetaOptimizerSkipAssertionError,
    LocalOptGroup,
    LocalOptimizer,
    local_optimizer,
)
from theano.gof.rewriting.merge import (
    MergeFeature,
    MergeOptimizer,
    is_same_graph_with_merge,
    pre_constant_merge,
)
from theano.gof.rewriting.navigate import (
    ChangeTracker,
    NavigatorOptimizer,
    OpKeyOptimizer,
    TopoOptimizer,
    Updater,
    in2out,
    out2in,
    pre_greedy_local_optimizer,
    topogroup_optimizer,
)
from theano.gof.rewriting.pattern import OpRemove, OpSub, PatternSub, check_chain
from theano.gof.rewriting.traces import (
    CheckStackTraceFeature,
    CheckStackTraceOptimization,
    CheckStrackTraceFeature,
    check_stack_trace,
    copy_stack_trace,
    inherit_stack_trace,
)

merge_optimizer = MergeOptimizer()

# The documented home is this module: reprs and pickles name it.
for _obj in list(globals().values()):
    if getattr(_obj, "__module__", "").startswith("theano.gof.rewriting."):
        _obj.__module__ = __name__
del _obj

"""The stages that a graph is rewritten in.

:data:`optdb` is the database of all rewrites, in the order of their positions:

======  =========================  ==========================================
0       merge1                     merge equal computations
0.6     useless                    remove operations without effect
0.65    merge1.1
1       canonicalize               simplify
1.2     merge1.2
1.5     stabilize                  replace numerically unstable expressions
2       specialize                 faster special cases
3       uncanonicalize             faster cases that break the canonical form
48.6    specialize_device          cases that depend on the device
49      merge2
49.4    add_no_output_from_inplace on demand
49.5    add_destroy_handler        in-place operations are allowed from here on
100     merge3
======  =========================  ==========================================
"""

from __future__ import annotations

import warnings
from typing import Any

from theano.configdefaults import config
from theano.gof import hooks
from theano.gof.destroyhandler import DestroyHandler
from theano.gof.fg import FunctionGraph
from theano.gof.memo import Bounded
from theano.gof.optdb import DB, EquilibriumDB, LocalGroupDB, Query, SequenceDB, TopoDB
from theano.gof.rewriting.base import Optimizer
from theano.gof.rewriting.merge import MergeOptimizer
from theano.gof.rewriting.navigate import NavigatorOptimizer
from theano.gof.rewriting.traces import CheckStackTraceOptimization
from theano.gof.supervisor import Supervisor
from theano.gof.toolbox import NoOutputFromInplace


class AddDestroyHandler(Optimizer):
    """Attach the DestroyHandler: later optimizers may put in operations that work in place.

    Outputs and inputs that are not mutable are protected by the graph's Supervisor.

    See Also
    --------
    theano.compile.AddNoOutputFromInplace : Forbid that later rewrites compute outputs of the function in the memory of
        something else.
    theano.compile.AddFeatureOptimizer : Attach a feature to the graph at a certain place of the sequence of rewrites.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(x)])
    >>> fgraph.attach_feature(Supervisor(fgraph.inputs))
    >>> AddDestroyHandler().optimize(fgraph)
    >>> fgraph.has_destroyers(fgraph.inputs)
    False
    """

    def apply(self, fgraph: FunctionGraph) -> None:
        """Check that something protects the inputs."""
        if not any(isinstance(feature, Supervisor) for feature in fgraph._features):
            warnings.warn(
                f"A Supervisor feature is missing from {fgraph}: nothing keeps in-place operations from destroying "
                "its inputs and outputs.",
                stacklevel=3,
            )

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        super().add_requirements(fgraph)
        fgraph.attach_feature(DestroyHandler())


class AddFeatureOptimizer(Optimizer):
    """Attach a feature to the graph at a certain place of the sequence of rewrites.

    Parameters
    ----------
    feature : Feature
        The feature.

    See Also
    --------
    theano.compile.AddDestroyHandler : Attach the DestroyHandler: later optimizers may put in operations that work in
        place.
    theano.compile.AddNoOutputFromInplace : Forbid that later rewrites compute outputs of the function in the memory of
        something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, NodeFinder
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(x)])
    >>> AddFeatureOptimizer(NodeFinder()).optimize(fgraph)
    >>> fgraph.get_nodes(T.exp)
    [Elemwise{exp,no_inplace}(x)]
    """

    def __init__(self, feature: Any):
        self.feature = feature

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        super().add_requirements(fgraph)
        fgraph.attach_feature(self.feature)

    def apply(self, fgraph: FunctionGraph) -> None:
        """Do nothing: attaching is all."""


class AddNoOutputFromInplace(Optimizer):
    """Forbid that later rewrites compute outputs of the function in the memory of something else.

    See Also
    --------
    theano.compile.AddFeatureOptimizer : Attach a feature to the graph at a certain place of the sequence of rewrites.
    theano.compile.AddDestroyHandler : Attach the DestroyHandler: later optimizers may put in operations that work in
        place.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import DestroyHandler, FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x))], features=[DestroyHandler()])
    >>> AddNoOutputFromInplace().optimize(fgraph)
    >>> out = fgraph.outputs[0]
    >>> fgraph.replace_validate(out, T.inplace.exp_inplace(*out.owner.inputs))
    Traceback (most recent call last):
        ...
    theano.gof.fg.InconsistencyError: A function graph Feature has requested (probably for efficiency reasons) ...
    """

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        super().add_requirements(fgraph)
        fgraph.attach_feature(NoOutputFromInplace())

    def apply(self, fgraph: FunctionGraph) -> None:
        """Do nothing: attaching is all."""


class PrintCurrentFunctionGraph(Optimizer):
    """Print the graph as it is at a certain place of the sequence of rewrites.

    Parameters
    ----------
    header : str
        Printed before the graph.

    See Also
    --------
    theano.gof.PrintListener : Prints what happens to a graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> PrintCurrentFunctionGraph("at first").optimize(FunctionGraph([x], [T.exp(x)]))
    PrintCurrentFunctionGraph: at first
    Elemwise{exp,no_inplace} [id A] ''...
     |x [id B]
    """

    def __init__(self, header: str):
        self.header = header

    def apply(self, fgraph: FunctionGraph) -> None:
        """Print the graph with debugprint."""
        print("PrintCurrentFunctionGraph:", self.header)
        hooks.debugprint(fgraph.outputs)


optdb = SequenceDB()
optdb.register("CheckStackTrace", CheckStackTraceOptimization(), -1, "fast_run", "fast_compile")
optdb.register("merge1", MergeOptimizer(), 0, "fast_run", "fast_compile", "merge")
# Removes nodes only; nothing here may need shapes, which are known from position 1 on.
local_useless = LocalGroupDB(apply_all_opts=True, profile=True)
optdb.register(
    "useless",
    TopoDB(local_useless, failure_callback=NavigatorOptimizer.warn_inplace),
    0.6,
    "fast_run",
    "fast_compile",
)
optdb.register("merge1.1", MergeOptimizer(), 0.65, "fast_run", "fast_compile", "merge")
optdb.register("canonicalize", EquilibriumDB(ignore_newtrees=False), 1, "fast_run", "fast_compile", "canonicalize_db")
optdb["canonicalize"].register("merge", MergeOptimizer(), "fast_run", "fast_compile", cleanup=True)
optdb.register("merge1.2", MergeOptimizer(), 1.2, "fast_run", "fast_compile", "merge")
optdb.register("Print1.21", PrintCurrentFunctionGraph("Post-canonicalize"), 1.21)
optdb.register("stabilize", EquilibriumDB(), 1.5, "fast_run")
optdb.register("Print1.51", PrintCurrentFunctionGraph("Post-stabilize"), 1.51)
optdb.register("specialize", EquilibriumDB(), 2, "fast_run", "fast_compile_gpu")
optdb.register("uncanonicalize", EquilibriumDB(), 3, "fast_run")
optdb.register("specialize_device", EquilibriumDB(), 48.6, "fast_compile", "fast_run")
optdb.register("merge2", MergeOptimizer(), 49, "fast_run", "merge")
optdb.register("add_no_output_from_inplace", AddNoOutputFromInplace(), 49.4)
optdb.register("add_destroy_handler", AddDestroyHandler(), 49.5, "fast_run", "inplace")
optdb.register("merge3", MergeOptimizer(), 100, "fast_run", "merge")


# By the text of a query and what else its result depends on.
_queried = Bounded(16)


def queried(query: Query, **kwtags: Any) -> Any:
    """Return what ``optdb.query(query, **kwtags)`` returns, the same until the databases change; it must not be modified."""
    flags = config.optdb.max_use_ratio, config.optdb.position_cutoff
    key = str(query), DB.changes, *flags, *sorted(kwtags.items())
    return _queried.get(key) or _queried.keep(key, optdb.query(query, **kwtags))

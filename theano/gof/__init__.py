"""The graph: variables, operations, their types, rewrites and linkers.

This package knows nothing of tensors.  A graph is made of `Variable`, `Constant` and `Apply` (`theano.gof.graph`);
an `Op` says what a node computes and a `Type` what values a variable takes; a `FunctionGraph` is the graph of one
function, which rewrites (`theano.gof.opt`) change and a linker (`theano.gof.link`) makes runnable.
"""

from typing import Any

from theano import aliases

from theano.gof import graph, hooks, utils  # isort: skip
from theano.gof.graph import Apply, Constant, Variable, view_roots
from theano.gof.utils import MethodNotDefined, hashtype, object2

from theano.gof import op, type  # isort: skip
from theano.gof.enum_type import CEnumType, EnumList, EnumType
from theano.gof.op import Op, PureOp, ops_with_inner_function
from theano.gof.type import Generic, Type, generic

from theano.gof import fg, toolbox  # isort: skip
from theano.gof.fg import CachedConstantError, FunctionGraph, InconsistencyError, MissingInputError
from theano.gof.toolbox import (
    Bookkeeper,
    Feature,
    History,
    NodeFinder,
    NoOutputFromInplace,
    PrintListener,
    ReplacementDidntRemovedError,
    ReplaceValidate,
    Validator,
)

from theano.gof import destroyhandler, null_type, params_type, unify  # isort: skip
from theano.gof.destroyhandler import DestroyHandler
from theano.gof.params_type import Params, ParamsType

from theano.gof import link, opt, optdb, vm  # isort: skip
from theano.gof.link import Container, Linker, LocalLinker, PerformLinker, WrapLinker, WrapLinkerMany
from theano.gof.opt import (
    CheckStackTraceOptimization,
    EquilibriumOptimizer,
    LocalOptGroup,
    LocalOptimizer,
    MergeOptimizer,
    NavigatorOptimizer,
    OpKeyOptimizer,
    OpRemove,
    OpSub,
    Optimizer,
    PatternSub,
    SeqOptimizer,
    TopoOptimizer,
    inplace_optimizer,
    local_optimizer,
    optimizer,
)
from theano.gof.optdb import DB, EquilibriumDB, LocalGroupDB, ProxyDB, Query, SequenceDB

__getattr__, __dir__ = aliases.lazy(__name__)


@hooks.node_in_c.fill
def _node_in_c(*args: Any) -> Any:
    # Few programs compile the C code of an Op.
    from theano.gof.cc import node_thunk

    return node_thunk(*args)

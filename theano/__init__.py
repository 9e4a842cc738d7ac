"""Theano: symbolic NumPy with gradients, a graph to look at and to change, and native speed.

>>> import theano, theano.tensor as T
>>> x, y = T.dscalars('x', 'y')
>>> f = theano.function([x, y], x ** 2 + theano.grad(x * y, x))
>>> float(f(3, 4))
13.0
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from theano.configdefaults import config
from theano.configparser import change_flags

from theano import gof  # isort: skip
from theano.gof import (
    Apply,
    Constant,
    Container,
    FunctionGraph,
    Generic,
    InconsistencyError,
    Linker,
    LocalLinker,
    Op,
    PerformLinker,
    Type,
    Variable,
    generic,
    object2,
    opt,
    toolbox,
)

from theano import compile  # isort: skip
from theano.compile import (
    FAST_COMPILE,
    FAST_RUN,
    FunctionMaker,
    In,
    Mode,
    OpFromGraph,
    Out,
    Param,
    ProfileStats,
    SymbolicInput,
    SymbolicOutput,
    as_op,
    function,
    function_dump,
    predefined_linkers,
    predefined_modes,
    predefined_optimizers,
    shared,
)

from theano import scalar, tensor  # isort: skip
from theano import gradient, printing  # isort: skip
from theano.compile.rebuild import clone
from theano.gradient import Lop, Rop, grad, subgraph_grad
from theano.misc.safe_asarray import _asarray
from theano.printing import pp, pprint
from theano.tensor import dot, get_scalar_constant_value
from theano.updates import OrderedUpdates

__version__ = "2.0.0.dev0"

#: The package itself, for ``from theano import theano``.
theano = _sys.modules[__name__]

# What is not needed to build and run a usual graph is imported when it is first asked for.
_lazy_modules = {
    "d3viz",
    "gpuarray",
    "ifelse",
    "misc",
    "sandbox",
    "scan_module",
    "sparse",
    "typed_list",
    "tests",
}
_lazy_names = {
    "CLinker": ("theano.gof.cc", "CLinker"),
    "DualLinker": ("theano.gof.cc", "DualLinker"),
    "OpWiseCLinker": ("theano.gof.cc", "OpWiseCLinker"),
    "OpenMPOp": ("theano.gof.cop", "OpenMPOp"),
    "foldl": ("theano.scan_module", "foldl"),
    "foldr": ("theano.scan_module", "foldr"),
    "map": ("theano.scan_module", "map"),
    "reduce": ("theano.scan_module", "reduce"),
    "scan": ("theano.scan_module", "scan"),
    "scan_checkpoints": ("theano.scan_module", "scan_checkpoints"),
    "test": ("theano.tests.main", "test"),
    "version": ("theano.version", None),
}


def sparse_grad(var: Variable) -> Variable:
    """Return a variable with the same value, whose gradient is kept in a sparse format.

    Parameters
    ----------
    var : Variable
        The rows ``x[indices]`` of a tensor, with a vector of integers.

    Returns
    -------
    Variable
        The same rows.

    Raises
    ------
    TypeError
        If `var` is not such a selection of rows.
    """
    if var.owner is None or not isinstance(var.owner.op, tensor.AdvancedSubtensor1):
        raise TypeError(f"sparse_grad takes x[indices] with a vector of integers as indices, got {var}")
    return var.owner.op.__class__(sparse_grad=True)(*var.owner.inputs)


def __getattr__(name: str) -> _Any:
    if name in _lazy_modules:
        try:
            return _importlib.import_module(f"theano.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"theano.{name}":
                raise
            raise AttributeError(f"module 'theano' has no attribute {name!r}") from error
    if name in _lazy_names:
        module, attribute = _lazy_names[name]
        value = _importlib.import_module(module)
        if attribute is not None:
            value = getattr(value, attribute)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'theano' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_lazy_modules, *_lazy_names})

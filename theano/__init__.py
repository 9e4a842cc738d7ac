"""Theano: symbolic NumPy with gradients, a graph to look at and to change, and native speed.

>>> import theano, theano.tensor as T
>>> x, y = T.dscalars('x', 'y')
>>> f = theano.function([x, y], x ** 2 + theano.grad(x * y, x))
>>> float(f(3, 4))
13.0
"""

from __future__ import annotations

import sys as _sys

from theano import process as _process

with _process.garbage_collection_paused():
    from theano import aliases

    aliases.pass_on()

    from theano.configdefaults import config
    from theano.configparser import change_flags
    from theano.logs import (
        disable_log_handler,
        has_handlers,
        logging_default_formatter,
        logging_default_handler,
        theano_logger,
    )

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

    from theano import printing, scalar, tensor, gradient  # isort: skip

    # The engine registers its linkers, which the modes of the next line take by name.
    from theano.native import linker as _linker  # isort: skip
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
    from theano.compile.rebuild import clone
    from theano.gradient import Lop, Rop, grad, subgraph_grad
    from theano.misc.safe_asarray import _asarray
    from theano.printing import pp, pprint
    from theano.tensor import dot, get_scalar_constant_value
    from theano.tensor.advanced_subtensor import construct_sparse_from_list as _construct_sparse_from_list
    from theano.updates import OrderedUpdates
    from theano.version import __version__

    _process.spare_young_collections()

#: The package itself, for ``from theano import theano``.
theano = _sys.modules[__name__]

gof.sharedvalue.constructor_modules["scipy.sparse"] = "theano.sparse"
_construct_sparse_from_list.module = "theano.sparse"
gof.hooks.variable_latex.module = "theano.compile.formula"


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

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.
    theano.tensor.AdvancedSubtensor1 : The rows of a tensor at a vector of integer positions: ``x[indices]``.
    theano.sparse.ConstructSparseFromList : The csc matrix of the shape of `x` that has given rows at given positions: the
        sparse gradient of ``x[ilist]``.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> import theano.tensor as T
    >>> table = theano.shared(np.ones((5, 2)))
    >>> theano.sparse_grad(table[T.lvector("i")]).type
    TensorType(float64, matrix)
    """
    if var.owner is None or not isinstance(var.owner.op, tensor.AdvancedSubtensor1):
        raise TypeError(f"sparse_grad takes x[indices] with a vector of integers as indices, got {var}")
    return var.owner.op.__class__(sparse_grad=True)(*var.owner.inputs)


__getattr__, __dir__ = aliases.lazy(__name__)

gof.extensions.watch()

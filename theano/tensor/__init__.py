"""Symbolic NumPy: types, variables and operations on tensors.

>>> import theano.tensor as T
>>> x = T.dmatrix('x')
>>> (x ** 2).sum(axis=0).type
TensorType(float64, vector)
"""

from __future__ import annotations

from typing import Any as _AnyType

import numpy as np

from theano import aliases as _aliases

from theano.gof import Apply, Constant, Op, Variable  # isort: skip
from theano.gof.sharedvalue import shared as _make_shared
from theano.printing.pretty import pp, pprint
from theano.tensor.basic import *
from theano.tensor.basic import _cast_mapping

from theano.tensor import basic, elemwise, inplace, numpy_functions, sharedvar  # isort: skip
from theano.tensor.sharedvar import TensorSharedVariable, scalar_constructor, tensor_constructor
from theano.tensor.sharedvar import tensor_constructor as _shared
from theano.tensor.subtensor import *
from theano.tensor.type_other import *
from theano.tensor.var import _tensor_py_operators

# The rewrites of these families register themselves when they are imported.
from theano.tensor import blas, opt  # isort: skip
from theano.tensor import extra_ops, nnet, xlogx
from theano.tensor.extra_ops import (
    DiffOp,
    bartlett,
    bincount,
    cumprod,
    cumsum,
    diff,
    fill_diagonal,
    fill_diagonal_offset,
    ravel_multi_index,
    repeat,
    searchsorted,
    squeeze,
    unravel_index,
)
from theano.tensor.reduction import var
from theano.tensor.sort import argsort, argtopk, sort, topk, topk_and_argtopk

# Registers a rewrite, which belongs to what the named optimizers list; it imports nothing more.
from theano.tensor import raw_random  # isort: skip


def shared(*args: _AnyType, **kwargs: _AnyType) -> TensorSharedVariable:
    """Return a tensor shared variable; as :func:`theano.shared`, for values that make a tensor.

    Parameters
    ----------
    *args
        As for :func:`theano.shared`.
    **kwargs
        As for :func:`theano.shared`.

    Returns
    -------
    TensorSharedVariable
        The variable.

    Raises
    ------
    TypeError
        If the value makes no tensor.

    See Also
    --------
    theano.misc.pkl_utils.load : Load what `dump` wrote.
    theano.tensor.load : Return the array of an ``.npy`` file, read when the function is called.
    theano.tensor.tensor_constructor : Return a shared variable for an array.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shared([[1.0, 2.0]])  # doctest: +SKIP
    """
    variable = _make_shared(*args, **kwargs)
    if not isinstance(variable, TensorSharedVariable):
        raise TypeError(f"the value makes a {type(variable).__name__}, not a tensor")
    return variable


__getattr__, __dir__ = _aliases.lazy(__name__)

#: A star import takes the names of higher layers, too, but loads none of the modules that wait until they are asked for.
__all__ = [name for name in globals() if not name.startswith("_")] + _aliases.names(__name__)

"""Symbolic NumPy: types, variables and operations on tensors.

>>> import theano.tensor as T
>>> x = T.dmatrix('x')
>>> (x ** 2).sum(axis=0).type
TensorType(float64, vector)
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _AnyType

import numpy as np

import theano
from theano import compile

from theano.gof import Apply, Constant, Op, Variable  # isort: skip
from theano.tensor.basic import *
from theano.tensor.basic import _cast_mapping

from theano.tensor import basic, elemwise, inplace, sharedvar  # isort: skip
from theano.tensor.advanced_subtensor import *
from theano.tensor.sharedvar import TensorSharedVariable, scalar_constructor, tensor_constructor
from theano.tensor.sharedvar import tensor_constructor as _shared
from theano.tensor.subtensor import *
from theano.tensor.type_other import *
from theano.tensor.var import _tensor_py_operators

# The rewrites of these families register themselves when they are imported.
from theano.tensor import blas, opt  # isort: skip
from theano.gradient import Lop, Rop, consider_constant, grad, hessian, jacobian, numeric_grad, verify_grad
from theano.printing import pp, pprint
from theano.tensor import extra_ops, nnet
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
from theano.tensor.xlogx import xlogx, xlogy0

# Registers a rewrite, which belongs to what the named optimizers list; it imports nothing more.
from theano.tensor import raw_random  # isort: skip

_lazy_modules = (
    "blas_c",
    "blas_scipy",
    "fft",
    "io",
    "nlinalg",
    "opt_uncanonicalize",
    "shared_randomstreams",
    "signal",
    "slinalg",
    "tests",
    "utils",
)
_lazy_names = {"load": "io", "mpi_cmps": "io", "send": "io", "recv": "io", "isend": "io", "irecv": "io"}


def shared(*args: _AnyType, **kwargs: _AnyType) -> TensorSharedVariable:
    """Return a tensor shared variable; as :func:`theano.shared`, for values that make a tensor.

    Raises
    ------
    TypeError
        If the value makes no tensor.
    """
    from theano.compile.sharedvalue import shared as make_shared

    variable = make_shared(*args, **kwargs)
    if not isinstance(variable, TensorSharedVariable):
        raise TypeError(f"the value makes a {type(variable).__name__}, not a tensor")
    return variable


def __getattr__(name: str) -> _AnyType:
    if name in _lazy_modules:
        try:
            return _importlib.import_module(f"theano.tensor.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"theano.tensor.{name}":
                raise
            raise AttributeError(f"module 'theano.tensor' has no attribute {name!r}") from error
    if name in _lazy_names:
        value = getattr(_importlib.import_module(f"theano.tensor.{_lazy_names[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'theano.tensor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_lazy_modules, *_lazy_names})

"""Shared scalar variables of the scalar (not tensor) type."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.sharedvalue import SharedVariable
from theano.scalar.type import Scalar, _scalar_py_operators


class ScalarSharedVariable(_scalar_py_operators, SharedVariable):
    """A number that functions share and update.

    See Also
    --------
    theano.scalar.shared : Return a shared variable of type `Scalar` for a Python or NumPy number.
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.
    """


def shared(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None
) -> ScalarSharedVariable:
    """Return a shared variable of type :class:`Scalar` for a Python or NumPy number.

    Parameters
    ----------
    value : number
        The first value; its dtype is that of the variable.
    name : str, optional
        The variable's name.
    strict, allow_downcast : bool, optional
        How values that are assigned later are converted.

    Raises
    ------
    TypeError
        If `value` is not a number. The constructor is not among those of :func:`theano.shared`, which makes tensors.

    See Also
    --------
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.
    theano.scalar.sharedvar.ScalarSharedVariable : A number that functions share and update.
    """
    if not isinstance(value, (np.number, np.bool_, float, int, complex)):
        raise TypeError(f"Not a number, got {value}")
    dtype = value.dtype.name if hasattr(value, "dtype") else np.asarray(value).dtype.name
    type_ = Scalar(dtype)
    return ScalarSharedVariable(
        type=type_, value=type_.dtype_specs()[0](value), name=name, strict=strict, allow_downcast=allow_downcast
    )

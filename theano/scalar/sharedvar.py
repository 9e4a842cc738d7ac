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

    Examples
    --------
    >>> import theano
    >>> steps = shared(0)
    >>> count = theano.function([], steps, updates={steps: steps + 1})
    >>> _ = count(), count()
    >>> type(steps).__name__, int(steps.get_value())
    ('ScalarSharedVariable', 2)
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

    Examples
    --------
    >>> rate = shared(np.float32(0.5), name="rate")
    >>> rate.type, float((rate * 3.0).eval())
    (Scalar(float32), 1.5)
    """
    if not isinstance(value, (np.number, np.bool_, float, int, complex)):
        raise TypeError(f"Not a number, got {value}")
    dtype = value.dtype.name if hasattr(value, "dtype") else np.asarray(value).dtype.name
    type_ = Scalar(dtype)
    return ScalarSharedVariable(
        type=type_, value=type_.dtype_specs()[0](value), name=name, strict=strict, allow_downcast=allow_downcast
    )

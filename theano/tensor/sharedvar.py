"""Shared tensor variables, and how :func:`theano.shared` makes them from arrays and numbers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theano.gof.sharedvalue import SharedVariable, constructor_modules, shared_constructor
from theano.tensor.foreign import array_of, refuse_masked
from theano.tensor.type import TensorType
from theano.tensor.var import _tensor_py_operators


class TensorSharedVariable(_tensor_py_operators, SharedVariable):
    """An array that functions share and update.

    See Also
    --------
    theano.tensor.TensorConstant : A known array.
    theano.tensor.TensorVariable : A tensor that an expression stands for or that will be given.
    theano.tensor.sharedvar.ScalarSharedVariable : A 0-d array that functions share and update, made from a number.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> w = theano.shared(np.zeros(2), name="w")
    >>> type(w) is TensorSharedVariable, w.type
    (True, TensorType(float64, vector))
    >>> w.set_value([1.0, 2.0])
    >>> (2 * w).eval().tolist()
    [2.0, 4.0]
    """

    if TYPE_CHECKING:
        type: TensorType

        def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> np.ndarray[Any, Any]: ...


class ScalarSharedVariable(_tensor_py_operators, SharedVariable):
    """A 0-d array that functions share and update, made from a number.

    See Also
    --------
    theano.tensor.TensorSharedVariable : An array that functions share and update.

    Examples
    --------
    >>> import theano
    >>> steps = theano.shared(0)
    >>> type(steps) is ScalarSharedVariable, steps.ndim
    (True, 0)
    >>> count = theano.function([], steps, updates=[(steps, steps + 1)])
    >>> [int(count()), int(count()), int(steps.get_value())]
    [0, 1, 2]
    """

    if TYPE_CHECKING:
        type: TensorType

        def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> np.ndarray[Any, Any]: ...


@shared_constructor
def tensor_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    broadcastable: Sequence[bool] | None = None,
    target: str = "cpu",
) -> TensorSharedVariable:
    """Return a shared variable for an array.

    Parameters
    ----------
    value : ndarray
        Or an array of another library (PyTorch, JAX, pandas), whose memory is read as NumPy's.
    name : str, optional
        What it is called when it is printed.
    strict, allow_downcast : bool
        How values that are assigned later are converted.
    borrow : bool
        Whether `value` itself may become the storage; by default it is copied.
    broadcastable : sequence of bool, optional
        The pattern; by default no dimension is broadcastable, since the length may change.
    target : str
        The device; this constructor serves ``'cpu'``.

    Returns
    -------
    TensorSharedVariable
        Of the dtype and number of dimensions of `value`.

    Raises
    ------
    TypeError
        If `value` is not an array, or the target another device.

    See Also
    --------
    theano.tensor.scalar_constructor : Return a 0-d shared variable for a number: int64 for an int, float64 for a float.
    theano.tensor.shared : Return a tensor shared variable; as `theano.shared`, for values that make a tensor.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.tensor_constructor(np.zeros((1, 2)), broadcastable=(True, False)).type
    TensorType(float64, row)
    """
    if target != "cpu":
        raise TypeError("not for cpu")
    foreign = array_of(value)
    if foreign is not None:
        value = foreign
    if not isinstance(value, np.ndarray):
        raise TypeError(f"Not an array, got {type(value)}")
    refuse_masked(value)
    if broadcastable is None:
        broadcastable = (False,) * value.ndim
    type_ = TensorType(value.dtype, broadcastable=broadcastable)
    return TensorSharedVariable(
        type=type_,
        value=value if borrow else np.array(value, copy=True),
        name=name,
        strict=strict,
        allow_downcast=allow_downcast,
    )


@shared_constructor
def scalar_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    target: str = "cpu",
) -> ScalarSharedVariable:
    """Return a 0-d shared variable for a number: int64 for an int, float64 for a float.

    A number cannot be borrowed: it is kept in an array of its own.

    Parameters
    ----------
    value : number
        The first value.
    name : str, optional
        Its name.
    strict, allow_downcast : bool
        How values that are assigned later are converted.
    borrow : bool
        Without effect.
    target : str
        The device; this constructor serves ``'cpu'``.

    Returns
    -------
    ScalarSharedVariable
        Of no dimensions.

    Raises
    ------
    TypeError
        If `value` is not a number, or the target another device.

    See Also
    --------
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.
    theano.tensor.tensor_constructor : Return a shared variable for an array.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.scalar_constructor(2.0).type
    TensorType(float64, scalar)
    """
    if target != "cpu":
        raise TypeError("not for cpu")
    if not isinstance(value, (np.number, np.bool_, float, int, complex)):
        raise TypeError(f"Not a number, got {type(value)}")
    dtype = value.dtype if isinstance(value, np.generic) else np.asarray(value).dtype
    type_ = TensorType(dtype, [])
    # The container keeps an array, not a NumPy scalar, so that updates can write into it.
    array = np.array(copy.deepcopy(value), dtype=type_.dtype, copy=True)
    return ScalarSharedVariable(type=type_, value=array, name=name, strict=strict, allow_downcast=allow_downcast)


def load_shared_variable(val: Any) -> Any:
    """Return the shared variable of a tensor; pickles of 2011 call this.

    Parameters
    ----------
    val : ndarray
        Its value.

    See Also
    --------
    theano.tensor.TensorSharedVariable : An array that functions share and update.

    Examples
    --------
    >>> import numpy as np
    >>> w = load_shared_variable(np.zeros(2))
    >>> w.type, w.get_value().tolist()
    (TensorType(float64, vector), [0.0, 0.0])
    """
    return tensor_constructor(val)


constructor_modules["numpy.random.mtrand"] = "theano.tensor.shared_randomstreams"

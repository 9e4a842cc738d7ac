"""From Python numbers to scalar constants and variables: the casting policy, ``constant`` and ``as_scalar``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import Apply, Variable
from theano.gof.hooks import Hook
from theano.scalar.type import Scalar, ScalarConstant, get_scalar_type


class NumpyAutocaster:
    """Finds the dtype in which to keep a Python number, by ``config.cast_policy``.

    Parameters
    ----------
    dtypes : sequence of str
        Names of dtypes to try, narrowest first. Under the policy ``custom`` the first that holds the number
        exactly is taken, else the last.

    See Also
    --------
    theano.tensor.autocast_float : An instance of it.

    Examples
    --------
    >>> narrow = NumpyAutocaster(("int8", "int16", "int32"))
    >>> [narrow(x).dtype.name for x in (100, 1000, 100000)]
    ['int8', 'int16', 'int32']
    """

    def __init__(self, dtypes: tuple[str, ...]) -> None:
        self.dtypes = tuple(dtypes)

    def __call__(self, x: Any) -> np.ndarray:
        """Return `x` as a 0-d array of the dtype chosen."""
        typed = hasattr(x, "dtype")
        policy = config.cast_policy
        if policy == "numpy":
            return np.asarray(x)
        floatX = config.floatX
        if policy == "numpy+floatX":
            array = np.asarray(x)
            if not typed and array.dtype.name in ("float64", "float32"):
                array = array.astype(floatX)
            return array
        if typed and str(x.dtype) in self.dtypes:
            return np.asarray(x)
        if isinstance(x, float) and floatX in self.dtypes and floatX != "float64":
            return np.asarray(x).astype(floatX)
        candidates = [d for d in self.dtypes if d != "float16" or floatX == "float16"]
        array = np.asarray(x)
        result = array
        with np.errstate(all="ignore"):
            for dtype in candidates:
                if array.dtype.kind == "O":
                    raise OverflowError(f"Python integer {x} is too large for {dtype}")
                result = array.astype(dtype)
                if np.all(result == array):
                    break
            else:
                if array.dtype.kind == "u":
                    raise OverflowError(f"Python integer {x} is too large for {candidates[-1]}")
        return result


autocast_int = NumpyAutocaster(("int8", "int16", "int32", "int64"))
autocast_float = NumpyAutocaster(("float16", "float32", "float64"))


@contextmanager
def autocast_float_as(*dtypes: str) -> Iterator[None]:
    """Let Python floats be kept in the given dtypes only, inside a ``with`` block.

    Parameters
    ----------
    *dtypes
        Names of dtypes, narrowest first.

    Raises
    ------
    AssertionError
        If ``config.cast_policy`` is not ``custom``.

    See Also
    --------
    theano.tensor.autocast_float : Finds the dtype in which to keep a Python number, by ``config.cast_policy``.

    Examples
    --------
    >>> with autocast_float_as("float32"):
    ...     constant(0.1).dtype
    'float32'
    """
    if config.cast_policy != "custom":
        raise AssertionError("autocast_float_as has a meaning under cast_policy=custom only")
    before = autocast_float.dtypes
    autocast_float.dtypes = tuple(dtypes)
    try:
        yield
    finally:
        autocast_float.dtypes = before


def convert(x: Any, dtype: str | None = None) -> np.ndarray:
    """Return a number, a list or an array as an array of a dtype that graphs use.

    Parameters
    ----------
    x : object
        Python number, NumPy scalar, array, or nested sequence.
    dtype : str, optional
        Wanted dtype; by default that of the casting policy.

    Returns
    -------
    ndarray
        Of the shape of `x`.

    Raises
    ------
    TypeError
        If no such dtype holds `x`.

    See Also
    --------
    theano.scalar.as_scalar : Return `x` as a scalar variable.
    theano.scalar.constant : Return a number as a scalar constant.
    theano.scalar.cast : Return `x` as a scalar variable of `dtype`.

    Examples
    --------
    >>> [convert(x).dtype.name for x in (100, 1000, 0.5, 0.1, 1j)]
    ['int8', 'int16', 'float32', 'float64', 'complex128']
    >>> convert([1, 2], "float32")
    array([1., 2.], dtype=float32)
    """
    if dtype is not None:
        if isinstance(x, complex) and not np.issubdtype("float64" if dtype is float else dtype, np.complexfloating):
            raise TypeError(f"{x} is no number of dtype {dtype}")
        return np.asarray(x).astype("float64" if dtype is float else dtype, copy=False)
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, np.generic):
        if isinstance(x, np.float64) and type(x) is float:
            return autocast_float(x)
        return np.asarray(x)
    if isinstance(x, bool):
        return np.asarray(x)
    if isinstance(x, Integral):
        try:
            return autocast_int(x)
        except OverflowError:
            if 0 <= int(x) < 2**64:
                return np.asarray(x, dtype="uint64")
            raise TypeError(f"{x} does not fit in 64 bits")
    if isinstance(x, float):
        return autocast_float(x)
    array = np.asarray(x)
    if array.size == 0 and not hasattr(x, "dtype"):
        array = np.asarray(x, dtype=config.floatX)
    return array


def constant(x: Any, name: str | None = None, dtype: str | None = None) -> ScalarConstant:
    """Return a number as a scalar constant.

    Parameters
    ----------
    x : number or ndarray
        Python number, NumPy scalar or 0-d array. A Python number gets the dtype of the casting policy: under
        the default one an int the narrowest that holds it, a float one that holds it exactly or floatX.
    name : str, optional
        Name of the constant.
    dtype : str, optional
        Wanted dtype.

    Returns
    -------
    ScalarConstant
        Of the dtype of the number.

    Raises
    ------
    TypeError
        If `x` is not one number.

    See Also
    --------
    theano.scalar.convert : Return a number, a list or an array as an array of a dtype that graphs use.
    theano.scalar.as_scalar : Return `x` as a scalar variable.
    theano.scalar.asarray : Return `value` as an array of `dtype`.

    Examples
    --------
    >>> constant(3).type, constant(3, dtype="float64").type
    (Scalar(int8), Scalar(float64))
    >>> constant([1, 2])
    Traceback (most recent call last):
    TypeError: Not a number but an array, got [1, 2]
    """
    array = convert(x, dtype)
    if array.ndim:
        raise TypeError(f"Not a number but an array, got {x}")
    return ScalarConstant(get_scalar_type(array.dtype.name), array[()], name)


#: ``number_of(variable)``: the number that a variable of another Type is, or None; tensors fill it.
number_of = Hook("makes numbers of other variables")


def as_scalar(x: Any, name: str | None = None) -> Variable:
    """Return `x` as a scalar variable.

    Parameters
    ----------
    x : object
        Scalar variable (returned as it is), 0-d tensor variable, Apply node with one output, or number.
    name : str, optional
        Not used for what is a variable already.

    Returns
    -------
    Variable
        Of a type :class:`Scalar`.

    Raises
    ------
    TypeError
        If `x` cannot be one number.

    See Also
    --------
    theano.scalar.constant : Return a number as a scalar constant.
    theano.scalar.convert : Return a number, a list or an array as an array of a dtype that graphs use.

    Examples
    --------
    >>> x = get_scalar_type("float64")("x")
    >>> as_scalar(x) is x, as_scalar(2.5)
    (True, Constant{2.5})
    >>> as_scalar("x")
    Traceback (most recent call last):
    TypeError: Cannot convert 'x' of type str to Scalar
    """
    if isinstance(x, Variable):
        if isinstance(x.type, Scalar):
            return x
        number = number_of(x)
        if number is not None:
            return number
        raise TypeError(f"Variable type field must be a Scalar, got {x}, {x.type}")
    if isinstance(x, Apply):
        if len(x.outputs) != 1:
            raise ValueError(f"It is ambiguous which output of a multi-output Op has to be fetched: {x}")
        return as_scalar(x.outputs[0])
    try:
        return constant(x)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Cannot convert {x!r} of type {type(x).__name__} to Scalar") from error


as_scalar_variable = as_scalar


def asarray(value: Any, dtype: str) -> np.ndarray:
    """Return `value` as an array of `dtype`.

    Parameters
    ----------
    value : array_like
        Anything that NumPy takes.
    dtype : str
        Name of a dtype.

    See Also
    --------
    theano.scalar.constant : Return a number as a scalar constant.

    Examples
    --------
    >>> asarray([1, 2.7], "int8").tolist()
    [1, 2]
    """
    return np.asarray(value).astype(dtype, copy=False)

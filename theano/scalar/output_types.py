"""Policies that give the output types of a scalar op from its input types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano.configdefaults import config
from theano.scalar.type import (
    Scalar,
    complex_types,
    continuous_types,
    float64,
    float_types,
    get_scalar_type,
    int8,
    int64,
    upcast,
)
from theano.scalar.type import (
    bool as bool_type,
)

Types = tuple[Scalar, ...]
Policy = Callable[..., Any]

_FLOAT_FOR = {
    "bool": "float32",
    "int8": "float32",
    "int16": "float32",
    "int32": "float64",
    "int64": "float64",
    "uint8": "float32",
    "uint16": "float32",
    "uint32": "float64",
    "uint64": "float64",
}


def upcast_out(*types: Scalar) -> Types:
    """Return the common type of all inputs.

    See Also
    --------
    theano.tensor.raw_random.upcast : Return the smallest dtype that holds values of all the given ones.
    theano.scalar.as_common_dtype : Return the scalar variables, each cast to the dtype that all of them fit in.
    theano.scalar.upcast_out_min8 : Return the common type of all inputs, int8 if that is bool.

    Examples
    --------
    >>> upcast_out(int8, get_scalar_type("float32")), upcast_out(int64, get_scalar_type("float32"))
    ((Scalar(float32),), (Scalar(float64),))
    """
    first = types[0]
    if len(types) == 2 and types[1] is first:
        return (first,)
    return (get_scalar_type(upcast(*(t.dtype for t in types))),)


def upcast_out_nobool(*types: Scalar) -> Types:
    """Return the common type of all inputs, which may not be bool.

    Raises
    ------
    TypeError
        If the common type is bool.

    See Also
    --------
    theano.scalar.upcast_out_no_complex : Return the common type of all inputs, which may not be complex.
    theano.scalar.upcast_out_min8 : Return the common type of all inputs, int8 if that is bool.

    Examples
    --------
    >>> upcast_out_nobool(bool_type, int8)
    (Scalar(int8),)
    >>> upcast_out_nobool(bool_type, bool_type)
    Traceback (most recent call last):
    TypeError: bool output not supported
    """
    result = upcast_out(*types)
    if result[0] == bool_type:
        raise TypeError("bool output not supported")
    return result


def upcast_out_min8(*types: Scalar) -> Types:
    """Return the common type of all inputs, int8 if that is bool.

    See Also
    --------
    theano.scalar.upcast_out_nobool : Return the common type of all inputs, which may not be bool.
    theano.scalar.upcast_out : Return the common type of all inputs.

    Examples
    --------
    >>> upcast_out_min8(bool_type, bool_type), upcast_out_min8(bool_type, float64)
    ((Scalar(int8),), (Scalar(float64),))
    """
    result = upcast_out(*types)
    return (int8,) if result[0] == bool_type else result


def upcast_out_no_complex(*types: Scalar) -> Types:
    """Return the common type of all inputs, which may not be complex.

    Raises
    ------
    TypeError
        If the common type is complex.

    See Also
    --------
    theano.scalar.upcast_out : Return the common type of all inputs.
    theano.scalar.upcast_out_nobool : Return the common type of all inputs, which may not be bool.

    Examples
    --------
    >>> upcast_out_no_complex(int8, float64)
    (Scalar(float64),)
    >>> upcast_out_no_complex(get_scalar_type("complex64"), float64)
    Traceback (most recent call last):
    TypeError: complex type are not supported
    """
    if any(t in complex_types for t in types):
        raise TypeError("complex type are not supported")
    return upcast_out(*types)


def same_out(type: Scalar) -> Types:
    """Return the type of the input.

    Parameters
    ----------
    type : Scalar
        That of the input.

    See Also
    --------
    theano.scalar.same_out_min8 : Return the type of the input, int8 for bool.
    theano.scalar.same_out_nobool : Return the type of the input, which may not be bool.
    theano.scalar.same_out_nocomplex : Return the type of the input, which may not be complex.

    Examples
    --------
    >>> same_out(int8)
    (Scalar(int8),)
    """
    return (type,)


def same_out_nobool(type: Scalar) -> Types:
    """Return the type of the input, which may not be bool.

    Parameters
    ----------
    type : Scalar
        That of the input.

    Raises
    ------
    TypeError
        If the type is bool.

    See Also
    --------
    theano.scalar.same_out_nocomplex : Return the type of the input, which may not be complex.
    theano.scalar.same_out_min8 : Return the type of the input, int8 for bool.

    Examples
    --------
    >>> same_out_nobool(int8)
    (Scalar(int8),)
    >>> same_out_nobool(bool_type)
    Traceback (most recent call last):
    TypeError: bool input not supported
    """
    if type == bool_type:
        raise TypeError("bool input not supported")
    return (type,)


def same_out_min8(type: Scalar) -> Types:
    """Return the type of the input, int8 for bool.

    Parameters
    ----------
    type : Scalar
        That of the input.

    See Also
    --------
    theano.scalar.same_out_nobool : Return the type of the input, which may not be bool.
    theano.scalar.same_out : Return the type of the input.

    Examples
    --------
    >>> same_out_min8(bool_type), same_out_min8(float64)
    ((Scalar(int8),), (Scalar(float64),))
    """
    return (int8,) if type == bool_type else (type,)


def same_out_float_only(type: Scalar) -> Types:
    """Return the type of the input, which must be a real floating one.

    Parameters
    ----------
    type : Scalar
        That of the input.

    Raises
    ------
    TypeError
        If the type is not one of floats.

    See Also
    --------
    theano.scalar.same_out : Return the type of the input.
    theano.scalar.same_out_nocomplex : Return the type of the input, which may not be complex.

    Examples
    --------
    >>> same_out_float_only(float64)
    (Scalar(float64),)
    >>> same_out_float_only(int8)
    Traceback (most recent call last):
    TypeError: only float type are supported
    """
    if type not in float_types:
        raise TypeError("only float type are supported")
    return (type,)


def _refuse_complex(types: Types) -> None:
    if any(t in complex_types for t in types):
        raise TypeError("complex argument not supported")


def same_out_nocomplex(type: Scalar) -> Types:
    """Return the type of the input, which may not be complex.

    Parameters
    ----------
    type : Scalar
        That of the input.

    See Also
    --------
    theano.scalar.same_out_float_only : Return the type of the input, which must be a real floating one.
    theano.scalar.same_out_nobool : Return the type of the input, which may not be bool.

    Examples
    --------
    >>> same_out_nocomplex(int8)
    (Scalar(int8),)
    >>> same_out_nocomplex(get_scalar_type("complex64"))
    Traceback (most recent call last):
    TypeError: complex argument not supported
    """
    _refuse_complex((type,))
    return (type,)


def bool_out(*types: Scalar) -> Types:
    """Return bool.

    See Also
    --------
    theano.scalar.int_out : Return int64.
    theano.scalar.int_out_nocomplex : Return int64; complex inputs are refused.

    Examples
    --------
    >>> bool_out(float64, int8)
    (Scalar(bool),)
    """
    return (bool_type,)


def int_out(*types: Scalar) -> Types:
    """Return int64.

    See Also
    --------
    theano.scalar.int_out_nocomplex : Return int64; complex inputs are refused.
    theano.scalar.bool_out : Return bool.

    Examples
    --------
    >>> int_out(float64)
    (Scalar(int64),)
    """
    return (int64,)


def int_out_nocomplex(*types: Scalar) -> Types:
    """Return int64; complex inputs are refused.

    See Also
    --------
    theano.scalar.bool_out : Return bool.
    theano.scalar.int_out : Return int64.

    Examples
    --------
    >>> int_out_nocomplex(float64)
    (Scalar(int64),)
    >>> int_out_nocomplex(get_scalar_type("complex64"))
    Traceback (most recent call last):
    TypeError: complex argument not supported
    """
    _refuse_complex(types)
    return int_out(*types)


def float_out(*types: Scalar) -> Types:
    """Return float64.

    See Also
    --------
    theano.scalar.float_out_nocomplex : Return float64; complex inputs are refused.
    theano.scalar.real_out : Return the type of the real part of the input.

    Examples
    --------
    >>> float_out(int8), float_out(get_scalar_type("complex64"))
    ((Scalar(float64),), (Scalar(float64),))
    """
    return (float64,)


def float_out_nocomplex(*types: Scalar) -> Types:
    """Return float64; complex inputs are refused.

    See Also
    --------
    theano.scalar.real_out : Return the type of the real part of the input.
    theano.scalar.float_out : Return float64.

    Examples
    --------
    >>> float_out_nocomplex(int8)
    (Scalar(float64),)
    >>> float_out_nocomplex(get_scalar_type("complex64"))
    Traceback (most recent call last):
    TypeError: complex argument not supported
    """
    _refuse_complex(types)
    return float_out(*types)


def upgrade_to_float(*types: Scalar) -> Types:
    """Return the common type of all inputs, integers counting as the float that holds them.

    See Also
    --------
    theano.scalar.upgrade_to_float64 : Return float64 for integer inputs, else the common type.
    theano.scalar.upgrade_to_float_no_complex : Return what `upgrade_to_float` does; complex inputs are refused.

    Examples
    --------
    >>> upgrade_to_float(int8), upgrade_to_float(int64), upgrade_to_float(get_scalar_type("float16"))
    ((Scalar(float32),), (Scalar(float64),), (Scalar(float16),))
    """
    if len(types) == 1 and types[0] in continuous_types:
        return types
    return (get_scalar_type(upcast(*(_FLOAT_FOR.get(t.dtype, t.dtype) for t in types))),)


def upgrade_to_float64(*types: Scalar) -> Types:
    """Return float64 for integer inputs, else the common type.

    See Also
    --------
    theano.scalar.upgrade_to_float_no_complex : Return what `upgrade_to_float` does; complex inputs are refused.
    theano.scalar.upgrade_to_float : Return the common type of all inputs, integers counting as the float that holds them.

    Examples
    --------
    >>> upgrade_to_float64(int8), upgrade_to_float64(get_scalar_type("float32"))
    ((Scalar(float64),), (Scalar(float32),))
    """
    return (get_scalar_type(upcast(*("float64" if t.dtype in _FLOAT_FOR else t.dtype for t in types))),)


def upgrade_to_float_no_complex(*types: Scalar) -> Types:
    """Return what :func:`upgrade_to_float` does; complex inputs are refused.

    See Also
    --------
    theano.scalar.upgrade_to_float : Return the common type of all inputs, integers counting as the float that holds them.
    theano.scalar.upgrade_to_float64 : Return float64 for integer inputs, else the common type.

    Examples
    --------
    >>> upgrade_to_float_no_complex(int8)
    (Scalar(float32),)
    >>> upgrade_to_float_no_complex(get_scalar_type("complex64"))
    Traceback (most recent call last):
    TypeError: complex argument not supported
    """
    _refuse_complex(types)
    return upgrade_to_float(*types)


def true_div_out(*types: Scalar) -> Types:
    """Return the common type of all inputs, floatX if that is an integer.

    See Also
    --------
    theano.scalar.upcast_out : Return the common type of all inputs.

    Examples
    --------
    >>> true_div_out(int8, int8), true_div_out(int8, get_scalar_type("float32"))
    ((Scalar(float64),), (Scalar(float32),))
    """
    result = upcast_out(*types)
    return result if result[0] in continuous_types else (get_scalar_type(config.floatX),)


def real_out(type: Scalar) -> Types:
    """Return the type of the real part of the input.

    Parameters
    ----------
    type : Scalar
        That of the input.

    See Also
    --------
    theano.scalar.float_out : Return float64.
    theano.scalar.float_out_nocomplex : Return float64; complex inputs are refused.

    Examples
    --------
    >>> real_out(get_scalar_type("complex64")), real_out(int8)
    ((Scalar(float32),), (Scalar(int8),))
    """
    if type.dtype == "complex64":
        return (get_scalar_type("float32"),)
    if type.dtype == "complex128":
        return (float64,)
    return (type,)


class _TypePolicy:
    """A policy with data: equal and hashable by it."""

    _key: tuple = ()

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self._key == other._key

    def __hash__(self) -> int:
        return hash((type(self), self._key))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{{{', '.join(map(str, self._key))}}}"


class transfer_type(_TypePolicy):
    """Gives each output the type of an input: the policy of ops that compute in place.

    Parameters
    ----------
    *transfer
        Per output the index of the input whose type it gets, a :class:`Scalar` that it always has, or None for the
        common type of all inputs.

    See Also
    --------
    theano.scalar.unary_out_lookup : Gives the output the type that a table holds for the input's.
    theano.scalar.specific_out : Gives the outputs fixed types.

    Examples
    --------
    >>> transfer_type(0)(int8, float64), transfer_type(1, None)(int8, float64)
    ([Scalar(int8)], [Scalar(float64), Scalar(float64)])
    """

    def __init__(self, *transfer: int | Scalar | None) -> None:
        if not all(t is None or isinstance(t, (int, Scalar)) for t in transfer):
            raise AssertionError("an index, a type or None is expected for each output")
        self.transfer = transfer
        self._key = transfer

    def __call__(self, *types: Scalar) -> list[Scalar]:
        common = None
        result = []
        for item in self.transfer:
            if item is None:
                if common is None:
                    common = upcast_out(*types)[0]
                result.append(common)
            elif isinstance(item, Scalar):
                result.append(item)
            else:
                result.append(types[item])
        return result


class specific_out(_TypePolicy):
    """Gives the outputs fixed types.

    Parameters
    ----------
    *spec
        One :class:`Scalar` an output.

    See Also
    --------
    theano.scalar.transfer_type : Gives each output the type of an input: the policy of ops that compute in place.
    theano.scalar.unary_out_lookup : Gives the output the type that a table holds for the input's.

    Examples
    --------
    >>> specific_out(int8, float64)(bool_type)
    (Scalar(int8), Scalar(float64))
    """

    def __init__(self, *spec: Scalar) -> None:
        self.spec = spec
        self._key = spec

    def __call__(self, *types: Scalar) -> Types:
        return self.spec


class unary_out_lookup(_TypePolicy):
    """Gives the output the type that a table holds for the input's.

    Parameters
    ----------
    type_table : dict of Scalar to Scalar
        Maps input types to output types.

    See Also
    --------
    theano.scalar.specific_out : Gives the outputs fixed types.
    theano.scalar.transfer_type : Gives each output the type of an input: the policy of ops that compute in place.

    Examples
    --------
    >>> policy = unary_out_lookup({int8: int64, float64: float64})
    >>> policy(int8)
    [Scalar(int64)]
    >>> policy(bool_type)
    Traceback (most recent call last):
    TypeError: (Scalar(bool),)
    """

    def __init__(self, type_table: dict[Scalar, Scalar]) -> None:
        self.tbl = dict(type_table)
        self._key = tuple(sorted((str(k), str(v)) for k, v in self.tbl.items()))

    def __call__(self, *types: Scalar) -> list[Scalar]:
        if len(types) != 1:
            raise TypeError(f"one input is expected, got {types}")
        try:
            result = self.tbl[types[0]]
        except KeyError:
            raise TypeError(types)
        return list(result) if isinstance(result, (list, tuple)) else [result]

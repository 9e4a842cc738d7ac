"""Conversion of numbers from one dtype to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import Variable
from theano.scalar import expression
from theano.scalar.convert import as_scalar
from theano.scalar.op import UnaryScalarOp, zeros_for
from theano.scalar.output_types import specific_out
from theano.scalar.type import bool as bool_type
from theano.scalar.type import complex_types, discrete_types, get_scalar_type, ops


class Cast(UnaryScalarOp):
    """Conversion to another type.

    Parameters
    ----------
    o_type : Scalar
        The :class:`Scalar` to convert to.
    name : str, optional
        For printing; by default ``Cast{dtype}``.

    See Also
    --------
    theano.scalar.convert : Return a number, a list or an array as an array of a dtype that graphs use.
    theano.scalar.cast : Return `x` as a scalar variable of `dtype`.

    Examples
    --------
    >>> from theano.scalar import convert_to_int8, convert_to_uint8
    >>> print(convert_to_int8(3.7).eval(), convert_to_uint8(-1).eval())
    3 255
    >>> Cast(get_scalar_type("float32"))
    Cast{float32}
    """

    def __init__(self, o_type, name: str | None = None) -> None:
        if name is None:
            name = f"Cast{{{o_type.dtype}}}"
        super().__init__(specific_out(o_type), name)
        self.o_type = o_type
        self.ctor = o_type.dtype_specs()[0]

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.o_type.dtype}}}"

    def clone_float32(self) -> Cast:
        """Return the cast to float32 if this one is to float16, else itself."""
        return convert_to_float32 if self.o_type.dtype == "float16" else self

    def impl(self, input):
        with np.errstate(all="ignore"):
            array = np.asarray(input)
            if array.dtype.kind == "c" and self.o_type not in complex_types:
                array = array != 0 if self.o_type == bool_type else array.real
            return array.astype(self.o_type.dtype)[()]

    def expression(self, out, x):
        dtype = self.o_type.dtype
        if x.dtype in ("float32", "float64") and dtype in ("uint32", "uint64"):
            # C leaves open what a negative number becomes; NumPy wraps it around.
            wrapped = expression.cast(expression.cast(x, "int64"), dtype)
            return wrapped if dtype == "uint32" else expression.select(x < 0, wrapped, expression.cast(x, dtype))
        return expression.cast(x, dtype)

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (gz,) = output_gradients
        if self.o_type in discrete_types:
            return zeros_for(inputs)
        if gz.type in complex_types and x.type not in complex_types:
            return [ops.real(gz)]
        return [gz]

    def c_code_cache_version(self):
        return (5,)


_converters = {
    dtype: Cast(get_scalar_type(dtype), name=f"convert_to_{dtype}")
    for dtype in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
}
convert_to_bool = _converters["bool"]
convert_to_int8 = _converters["int8"]
convert_to_int16 = _converters["int16"]
convert_to_int32 = _converters["int32"]
convert_to_int64 = _converters["int64"]
convert_to_uint8 = _converters["uint8"]
convert_to_uint16 = _converters["uint16"]
convert_to_uint32 = _converters["uint32"]
convert_to_uint64 = _converters["uint64"]
convert_to_float16 = _converters["float16"]
convert_to_float32 = _converters["float32"]
convert_to_float64 = _converters["float64"]
convert_to_complex64 = _converters["complex64"]
convert_to_complex128 = _converters["complex128"]


def cast(x: Any, dtype: str) -> Variable:
    """Return `x` as a scalar variable of `dtype`.

    Parameters
    ----------
    x : object
        Anything :func:`as_scalar` takes.
    dtype : str
        Name of a dtype, or ``'floatX'``.

    Returns
    -------
    Variable
        `x` itself where it has the dtype.

    Raises
    ------
    TypeError
        If there is no such dtype.

    See Also
    --------
    theano.scalar.Cast : Conversion to another type.
    theano.scalar.convert : Return a number, a list or an array as an array of a dtype that graphs use.

    Examples
    --------
    >>> x = get_scalar_type("float64")("x")
    >>> cast(x, "int8").type, cast(x, "float64") is x
    (Scalar(int8), True)
    """
    if dtype == "floatX":
        dtype = config.floatX
    variable = as_scalar(x)
    if variable.type.dtype == dtype:
        return variable
    try:
        return _converters[dtype](variable)
    except KeyError:
        raise TypeError(f"Cannot cast to dtype {dtype!r}")

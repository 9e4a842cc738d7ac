"""The type of one number: :class:`Scalar`, its variables and constants, and the rules of common dtypes."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import Constant, Type, Variable
from theano.gof.hooks import Operations
from theano.gof.utils import named_methods
from theano.process import new_lock

_SPECS: dict[str, tuple[type, str, str]] = {
    "bool": (np.bool_, "npy_bool", "Bool"),
    "int8": (np.int8, "npy_int8", "Int8"),
    "int16": (np.int16, "npy_int16", "Int16"),
    "int32": (np.int32, "npy_int32", "Int32"),
    "int64": (np.int64, "npy_int64", "Int64"),
    "uint8": (np.uint8, "npy_uint8", "UInt8"),
    "uint16": (np.uint16, "npy_uint16", "UInt16"),
    "uint32": (np.uint32, "npy_uint32", "UInt32"),
    "uint64": (np.uint64, "npy_uint64", "UInt64"),
    "float16": (np.float16, "npy_float16", "Float16"),
    "float32": (np.float32, "npy_float32", "Float32"),
    "float64": (np.float64, "npy_float64", "Float64"),
    "complex64": (np.complex64, "npy_complex64", "Complex64"),
    "complex128": (np.complex128, "npy_complex128", "Complex128"),
}


@functools.cache
def _promote(dtypes: frozenset[str]) -> str:
    return np.result_type(*(np.dtype(d) for d in dtypes)).name


def upcast(dtype: str, *dtypes: str) -> str:
    """Return the smallest dtype that holds values of all the given ones.

    The rules are NumPy's for arrays; with ``cast_policy=numpy+floatX`` a float64 that no argument
    asked for is kept down at floatX.

    Parameters
    ----------
    dtype, *dtypes : str
        Names of dtypes.

    Returns
    -------
    str
        Name of the common dtype.

    See Also
    --------
    theano.scalar.as_common_dtype : Return the scalar variables, each cast to the dtype that all of them fit in.
    theano.scalar.upcast_out : Return the common type of all inputs.

    Examples
    --------
    >>> upcast("int8", "float32")
    'float32'
    >>> upcast("int32", "float32")
    'float64'
    """
    given = frozenset((dtype, *dtypes))
    result = _promote(given)
    if config.cast_policy == "numpy+floatX":
        floatX = config.floatX
        if floatX == "float32":
            if result == "float64" and "float64" not in given:
                result = "float32"
        elif floatX == "float16" and "float64" not in given:
            if result == "float64":
                result = "float32" if "float32" in given else "float16"
            if result == "float32" and "float32" not in given:
                result = "float16"
    return result


#: All scalar operations; `theano.scalar.basic` fills it.
ops = Operations()


def as_common_dtype(*variables: Any) -> Iterable[Any]:
    """Return the scalar variables, each cast to the dtype that all of them fit in.

    See Also
    --------
    theano.tensor.raw_random.upcast : Return the smallest dtype that holds values of all the given ones.
    theano.scalar.upcast_out : Return the common type of all inputs.

    Examples
    --------
    >>> x, i = get_scalar_type("float32")("x"), get_scalar_type("int32")("i")
    >>> [v.type for v in as_common_dtype(x, i)]
    [Scalar(float64), Scalar(float64)]
    """
    dtype = upcast(*(v.dtype for v in variables))
    return (ops.cast(v, dtype) for v in variables)


class Scalar(Type):
    """Type of a single number in a graph of scalar expressions.

    Parameters
    ----------
    dtype : str
        Name of a NumPy dtype, or ``'floatX'`` for the configured one.

    Raises
    ------
    TypeError
        If the dtype is not one that has a scalar type.

    See Also
    --------
    theano.scalar.get_scalar_type : Return the one `Scalar` of a dtype.
    theano.scalar.ScalarVariable : A number that an expression stands for or that will be given.
    theano.scalar.ScalarConstant : A known number.

    Examples
    --------
    >>> Scalar("float64")
    Scalar(float64)
    >>> x = Scalar("int32")("x")
    """

    __props__ = ("dtype",)
    ndim = 0

    def __init__(self, dtype: str) -> None:
        if isinstance(dtype, str) and dtype == "floatX":
            dtype = config.floatX
        try:
            self.dtype = np.dtype(dtype).name
        except TypeError:
            self.dtype = str(dtype)
        self._spec = self.dtype_specs()

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> builtins.bool:
        """Return False: a number is a value, it has no memory to share."""
        return False

    def clone(self, dtype: str | None = None) -> Scalar:
        """Return a type like this one, with another dtype if one is given."""
        return get_scalar_type(self.dtype if dtype is None else dtype)

    def filter(self, data: Any, strict: builtins.bool = False, allow_downcast: builtins.bool | None = None) -> Any:
        """Return `data` as a NumPy scalar of this dtype.

        Raises
        ------
        TypeError
            If `data` is of another type and `strict`, or if the conversion loses precision and is not allowed.
        """
        py_type = self._spec[0]
        if type(data) is py_type:
            return data
        if strict:
            if isinstance(data, py_type):
                return data
            raise TypeError(f"{self} expected a {py_type}, got {data!r} of type {type(data).__name__}")
        if isinstance(data, Variable):
            raise TypeError(f"Expected a number but got a symbolic Variable; maybe a shared variable was meant: {data}")
        try:
            with np.errstate(all="ignore"):
                converted = py_type(data)
            if not isinstance(converted, py_type):
                raise TypeError(f"Expected one number, got {data}")
            if (
                allow_downcast
                or (allow_downcast is None and type(data) is float and self.dtype == config.floatX)
                or np.asarray(data) == np.asarray(converted)
                or data != data
            ):
                return converted
            raise TypeError(f"Value cannot accurately be converted to dtype: {data}, {self.dtype}")
        except TypeError:
            raise
        except Exception as error:
            raise TypeError(f"Could not convert {data!r} of type {type(data).__name__} to {self.dtype}") from error

    def values_eq(self, a: Any, b: Any) -> builtins.bool:
        """Return whether two values are equal; NaN equals NaN."""
        return builtins.bool(a == b or (a != a and b != b))

    def values_eq_approx(self, a: Any, b: Any, tolerance: float = 1e-4) -> builtins.bool:
        """Return whether two values are within a relative error of `tolerance`."""
        if self.values_eq(a, b):
            return True
        if self.dtype in discrete_dtypes:
            return False
        difference = abs(complex(a) - complex(b))
        return builtins.bool(difference <= tolerance * (abs(a) + abs(b)))

    def make_variable(self, name: str | None = None) -> ScalarVariable:
        """Return a new variable of this type."""
        return ScalarVariable(self, name=name)

    def dtype_specs(self) -> tuple[type, str, str]:
        """Return the NumPy scalar class, the C type and the stem of NumPy's scalar class name in C."""
        try:
            return _SPECS[self.dtype]
        except KeyError:
            raise TypeError(f"Unsupported dtype for {self.__class__.__name__}: {self.dtype}")

    def upcast(self, *others: Scalar) -> str:
        """Return the common dtype of this type and the others."""
        return upcast(*(t.dtype for t in (self, *others)))

    def __eq__(self, other: Any) -> builtins.bool:
        return self is other or (type(self) is type(other) and self.dtype == other.dtype)

    def __hash__(self) -> int:
        return hash((Scalar, self.dtype))

    def __str__(self) -> str:
        return str(self.dtype)

    def __repr__(self) -> str:
        return f"Scalar({self.dtype})"

    def __reduce__(self) -> tuple:
        if type(self) is Scalar:
            return get_scalar_type, (self.dtype,)
        return type(self), (self.dtype,)

    def get_shape_info(self, obj: Any) -> int:
        """Return the size of a value in bytes, as the memory profile counts it."""
        return np.dtype(self.dtype).itemsize

    def get_size(self, shape_info: Any) -> int:
        """Return the bytes that :meth:`get_shape_info` found."""
        return shape_info

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return ["<math.h>", "<complex.h>"] if self.dtype in complex_dtypes else ["<math.h>"]

    def c_libraries(self, c_compiler: Any = None) -> list[str]:
        return []

    def c_is_simple(self) -> builtins.bool:
        return True

    def c_element_type(self) -> str:
        """Return the C name of the type, such as ``npy_float64``."""
        return self._spec[1]

    def c_literal(self, data: Any) -> str:
        """Return `data` as a C expression of this type."""
        return c_literal(data, self.dtype)

    def c_declare(self, name: str, sub: dict, check_input: builtins.bool = True) -> str:
        ctype, npy = self._spec[1:]
        text = f"{ctype} {name};\n"
        if check_input:
            text += f"typedef {ctype} dtype_{name};\n"
        return text

    def c_init(self, name: str, sub: dict) -> str:
        return f"{name} = 0;\n"

    def c_extract(self, name: str, sub: dict, check_input: builtins.bool = True) -> str:
        ctype, npy = self._spec[1:]
        text = f"PyArray_ScalarAsCtype(py_{name}, &{name});\n"
        if check_input:
            fail = sub["fail"]
            text = (
                f"if (!PyObject_TypeCheck(py_{name}, &Py{npy}ArrType_Type)) {{\n"
                f'    PyErr_Format(PyExc_ValueError, "Scalar check failed ({ctype}), got a %s",'
                f" Py_TYPE(py_{name})->tp_name);\n"
                f"    {fail}\n}}\n"
            ) + text
        return text

    def c_sync(self, name: str, sub: dict) -> str:
        npy = self._spec[2]
        return (
            f"Py_XDECREF(py_{name});\n"
            f"py_{name} = PyArrayScalar_New({npy});\n"
            f"if (!py_{name}) {{\n"
            f"    Py_XINCREF(Py_None);\n    py_{name} = Py_None;\n"
            f'    PyErr_Format(PyExc_MemoryError, "Instantiation of new Python scalar failed!");\n'
            f"    {sub['fail']}\n}}\n"
            f"PyArrayScalar_ASSIGN(py_{name}, {npy}, {name});\n"
        )

    def c_cleanup(self, name: str, sub: dict) -> str:
        return ""

    def c_code_cache_version(self) -> tuple:
        return (20, np.__version__)


def c_literal(data: Any, dtype: str) -> str:
    """Return a number as a C expression of the C type of `dtype`, without any header.

    Parameters
    ----------
    data : number
        The number.
    dtype : str
        Name of its dtype.

    See Also
    --------
    theano.scalar.constant : Return a number as a scalar constant.

    Examples
    --------
    >>> c_literal(0.1, "float32"), c_literal(-(2**63), "int64"), c_literal(float("inf"), "float64")
    ('0.1f', '(-9223372036854775807LL - 1)', '__builtin_inf()')
    """
    ctype = _SPECS[dtype][1]
    if dtype == "bool":
        return "1" if data else "0"
    if dtype in ("complex64", "complex128"):
        part = "float" if dtype == "complex64" else "double"
        half = "float32" if dtype == "complex64" else "float64"
        value = complex(data)
        real, imag = (c_literal(v, half) for v in (value.real, value.imag))
        return f"__builtin_complex(({part})({real}), ({part})({imag}))"
    if dtype.startswith("float"):
        value = float(data)
        suffix = "f" if dtype == "float32" else ""
        if value != value:
            return f'__builtin_nan{suffix}("")'
        if value in (float("inf"), float("-inf")):
            return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
        # The shortest decimal of the narrow type reads back to the same value.
        text = str(np.float32(value)) if dtype == "float32" else repr(value)
        if not any(c in text for c in ".e"):
            text += ".0"
        text += suffix
        return f"(({ctype}){text})" if dtype == "float16" else text
    value = int(data)
    if dtype == "int64":
        return f"(-{-(value + 1)}LL - 1)" if value == -(2**63) else f"{value}LL"
    if dtype == "uint64":
        return f"{value}ULL"
    if dtype == "uint32":
        return f"{value}U"
    if dtype == "int32" and value == -(2**31):
        return "(-2147483647 - 1)"
    return str(value)


complex_dtypes = frozenset(("complex64", "complex128"))

_cache: dict[str, Scalar] = {}
_cache_lock = new_lock()


def get_scalar_type(dtype: str) -> Scalar:
    """Return the one :class:`Scalar` of a dtype.

    Parameters
    ----------
    dtype : str
        Name of a dtype, or ``'floatX'``.

    Returns
    -------
    Scalar
        Always the same instance for the same dtype.

    See Also
    --------
    theano.scalar.Scalar : Type of a single number in a graph of scalar expressions.

    Examples
    --------
    >>> get_scalar_type("float32")
    Scalar(float32)
    >>> get_scalar_type("float32") is get_scalar_type("float32")
    True
    """
    found = _cache.get(dtype)
    if found is None:
        new = Scalar(dtype)
        with _cache_lock:
            found = _cache.setdefault(new.dtype, new)
    return found


def float32_for(type_: Scalar) -> Scalar:
    """Return the type in which numbers of a type are computed where there is no float16: float32 in its place."""
    return get_scalar_type("float32") if type_.dtype == "float16" else type_


def _function(name: str) -> Callable[[Any], Any]:
    return lambda self: getattr(ops, name)(self)


def _operator(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: getattr(ops, name)(self, other)


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: getattr(ops, name)(other, self)


@named_methods
class _scalar_py_operators:
    """Python's operators on scalar variables, each a node of the graph."""

    ndim = 0

    @property
    def dtype(self) -> str:
        """The dtype of the variable's type."""
        return self.type.dtype

    __abs__ = _function("abs_")
    __neg__ = _function("neg")
    __invert__ = _function("invert")
    __lt__ = _operator("lt")
    __le__ = _operator("le")
    __gt__ = _operator("gt")
    __ge__ = _operator("ge")
    __add__ = _operator("add")
    __sub__ = _operator("sub")
    __mul__ = _operator("mul")
    __div__ = _operator("div_proxy")
    __truediv__ = _operator("true_div")
    __floordiv__ = _operator("int_div")
    __mod__ = _operator("mod_check")
    __pow__ = _operator("pow")
    __and__ = _operator("and_")
    __or__ = _operator("or_")
    __xor__ = _operator("xor")
    __radd__ = _reflected("add")
    __rsub__ = _reflected("sub")
    __rmul__ = _reflected("mul")
    __rdiv__ = _reflected("div_proxy")
    __rtruediv__ = _reflected("true_div")
    __rfloordiv__ = _reflected("int_div")
    __rmod__ = _reflected("mod_check")
    __rpow__ = _reflected("pow")
    __rand__ = _reflected("and_")
    __ror__ = _reflected("or_")
    __rxor__ = _reflected("xor")

    def __bool__(self):
        raise TypeError("Variables do not support boolean operations.")

    def zeros_like(self, dtype: str | None = None):
        """Return a zero that keeps a link to this variable in the graph."""
        dtype = self.type.dtype if dtype is None else dtype
        return ops.second(self, ScalarConstant(get_scalar_type(dtype), 0))

    def ones_like(self, dtype: str | None = None):
        """Return a one that keeps a link to this variable in the graph."""
        dtype = self.type.dtype if dtype is None else dtype
        return ops.second(self, ScalarConstant(get_scalar_type(dtype), 1))

    def astype(self, dtype: str):
        """Return the value cast to `dtype`."""
        return ops.cast(self, dtype)


class ScalarVariable(_scalar_py_operators, Variable):
    """A number that an expression stands for or that will be given.

    See Also
    --------
    theano.scalar.ScalarConstant : A known number.
    theano.scalar.Scalar : Type of a single number in a graph of scalar expressions.

    Examples
    --------
    >>> x = get_scalar_type("float64")("x")
    >>> y = x**2 + 1
    >>> type(y).__name__, float(y.eval({x: 3.0}))
    ('ScalarVariable', 10.0)
    """


class ScalarConstant(_scalar_py_operators, Constant):
    """A known number.

    Parameters
    ----------
    type : Scalar
        Its type.
    data : number
        Converted to the type's dtype.
    name : str, optional
        The variable's name.

    See Also
    --------
    theano.tensor.TensorType : The type of variables whose values are NumPy arrays of one dtype and rank.
    theano.scalar.ScalarVariable : A number that an expression stands for or that will be given.

    Examples
    --------
    >>> ScalarConstant(get_scalar_type("int8"), 3.0)
    Constant{3}
    """

    def __init__(self, type: Scalar, data: Any, name: str | None = None) -> None:
        Constant.__init__(self, type, type.filter(data, allow_downcast=True), name)

    def signature(self) -> tuple:
        """Return what makes two constants one: type and value, NaN included, -0.0 apart from 0.0."""
        return self.type, self.data.tobytes()

    def equals(self, other: Any) -> builtins.bool:
        """Return whether `other` is a constant of the same type and value."""
        if isinstance(other, Constant) and not isinstance(other, ScalarConstant) and other.type == self.type:
            return np.asarray(other.data, dtype=self.data.dtype).tobytes() == self.data.tobytes()
        return super().equals(other)


Scalar.Variable = ScalarVariable
Scalar.Constant = ScalarConstant

bool = get_scalar_type("bool")
int8 = get_scalar_type("int8")
int16 = get_scalar_type("int16")
int32 = get_scalar_type("int32")
int64 = get_scalar_type("int64")
uint8 = get_scalar_type("uint8")
uint16 = get_scalar_type("uint16")
uint32 = get_scalar_type("uint32")
uint64 = get_scalar_type("uint64")
float16 = get_scalar_type("float16")
float32 = get_scalar_type("float32")
float64 = get_scalar_type("float64")
complex64 = get_scalar_type("complex64")
complex128 = get_scalar_type("complex128")

int_types = (int8, int16, int32, int64)
uint_types = (uint8, uint16, uint32, uint64)
float_types = (float16, float32, float64)
complex_types = (complex64, complex128)
integer_types = int_types + uint_types
discrete_types = (bool, *int_types, *uint_types)
continuous_types = float_types + complex_types
all_types = discrete_types + continuous_types
discrete_dtypes = tuple(t.dtype for t in discrete_types)


class _multi:
    """Makes several variables at once, of one type or of the types given.

    Of one type, one argument may hold the names: ``floats("xyz")`` makes `x`, `y` and `z`, as ``floats("x", "y", "z")``.

    Examples
    --------
    >>> x, y = _multi(get_scalar_type("float64"))("xy")
    >>> x, y.type
    (x, Scalar(float64))
    """

    def __init__(self, *types: Scalar) -> None:
        self.types = types

    def __call__(self, *names: Any) -> Any:
        if len(self.types) == 1:
            variables = tuple(self.types[0](name) for name in (names[0] if len(names) == 1 else names))
        else:
            if len(self.types) != len(names):
                raise TypeError(f"{len(self.types)} names expected, got {len(names)}")
            variables = tuple(t(name) for t, name in zip(self.types, names))
        return variables[0] if len(variables) == 1 else variables


ints = _multi(int64)
floats = _multi(float64)
complexs = _multi(complex128)
complexs64 = _multi(complex64)
complexs128 = _multi(complex128)

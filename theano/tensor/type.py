"""The type of arrays: :class:`TensorType`, and how values are compared with rounding in mind."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof import Type, Variable
from theano.gof.hooks import Hook, Operations
from theano.tensor.foreign import array_of, refuse_masked

_SHAPE_NAMES = {
    (): "scalar",
    (False,): "vector",
    (False, True): "col",
    (True, False): "row",
    (False, False): "matrix",
}

dtype_specs_map: dict[str, tuple[type, str, str]] = {
    "bool": (np.bool_, "npy_bool", "NPY_BOOL"),
    "int8": (np.int8, "npy_int8", "NPY_INT8"),
    "int16": (np.int16, "npy_int16", "NPY_INT16"),
    "int32": (np.int32, "npy_int32", "NPY_INT32"),
    "int64": (np.int64, "npy_int64", "NPY_INT64"),
    "uint8": (np.uint8, "npy_uint8", "NPY_UINT8"),
    "uint16": (np.uint16, "npy_uint16", "NPY_UINT16"),
    "uint32": (np.uint32, "npy_uint32", "NPY_UINT32"),
    "uint64": (np.uint64, "npy_uint64", "NPY_UINT64"),
    "float16": (np.float16, "npy_float16", "NPY_FLOAT16"),
    "float32": (np.float32, "npy_float32", "NPY_FLOAT32"),
    "float64": (np.float64, "npy_float64", "NPY_FLOAT64"),
    "complex64": (np.complex64, "npy_complex64", "NPY_COMPLEX64"),
    "complex128": (np.complex128, "npy_complex128", "NPY_COMPLEX128"),
}


#: All tensor operations; `theano.tensor.basic` and the modules beside it fill it.
ops = Operations()


class TensorType(Type):
    """The type of variables whose values are NumPy arrays of one dtype and rank.

    Parameters
    ----------
    dtype : str
        Name of the element type, or ``'floatX'`` for the configured one.
    broadcastable : sequence of bool
        One flag per dimension; True says that its length is always 1, so that it is repeated as needed in
        elementwise operations.
    name : str, optional
        How the type prints, in place of its description.
    sparse_grad : bool
        Whether the gradient of indexing variables of this type is sparse.

    Raises
    ------
    TypeError
        If there is no tensor type of the dtype.

    See Also
    --------
    theano.Type : A type with a C interface: the base class of types.
    theano.Generic : The type of any Python object.
    theano.tensor.tensor : Return a variable of ``TensorType(*args, **kwargs)``; the keyword ``name`` names it.

    Examples
    --------
    >>> TensorType("float32", (False, True))
    TensorType(float32, col)
    >>> x = TensorType("int64", (False,) * 5)("x")
    """

    context_name = "cpu"
    filter_checks_isfinite = False

    def __init__(
        self, dtype: Any, broadcastable: Sequence[Any], name: str | None = None, sparse_grad: bool = False
    ) -> None:
        self.dtype = config.floatX if isinstance(dtype, str) and dtype == "floatX" else _dtype_name(dtype)
        self.broadcastable = tuple(bool(b) for b in broadcastable)
        self.dtype_specs()
        self.name = name
        self.numpy_dtype = np.dtype(self.dtype)
        self.sparse_grad = sparse_grad
        self._ndim = len(self.broadcastable)
        self._any_broadcastable = True in self.broadcastable
        self._hash = hash((type(self), self.dtype, self.broadcastable))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ndim

    def clone(self, dtype: str | None = None, broadcastable: Sequence[bool] | None = None) -> TensorType:
        """Return a type like this one, with another dtype or broadcastable pattern if given."""
        if dtype is None:
            dtype = self.dtype
        if broadcastable is None:
            broadcastable = self.broadcastable
        return self.__class__(dtype, broadcastable, name=self.name, sparse_grad=self.sparse_grad)

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> np.ndarray:
        """Return `data` as an array that is a value of this type.

        Parameters
        ----------
        data
            Array, number or nested sequence of numbers.
        strict : bool
            Whether only an array that is a value already is accepted, as it is.
        allow_downcast : bool, optional
            Whether numbers may lose precision. None allows that for Python floats given to a floatX scalar only.

        Raises
        ------
        TypeError
            If `data` has another rank, a length that is not 1 along a broadcastable dimension, or a dtype that
            may not be converted.
        """
        if type(data) is not np.ndarray or data.dtype is not self.numpy_dtype:
            data = self._converted(data, strict, allow_downcast)
        if data.ndim != self._ndim:
            raise TypeError(
                f"Wrong number of dimensions: expected {self.ndim}, got {data.ndim} with shape {data.shape}."
            )
        if not data.flags.aligned:
            raise TypeError(
                "The numpy.ndarray object is not aligned. Theano C code does not support that."
                f" object shape {data.shape} object strides {data.strides} object dtype {data.dtype}"
            )
        if self._any_broadcastable:
            for length, broadcastable in zip(data.shape, self.broadcastable):
                if broadcastable and length != 1:
                    raise TypeError(f"Non-unit value on shape on a broadcastable dimension: {data.shape}, {self.broadcastable}.")
        if self.filter_checks_isfinite and not np.all(np.isfinite(data)):
            raise ValueError("non-finite elements not allowed")
        return data

    def _converted(self, data: Any, strict: bool, allow_downcast: bool | None) -> np.ndarray:
        if isinstance(data, Variable):
            raise TypeError(
                "Expected an array-like object, but found a Variable: maybe you are trying to call a function on a"
                " (possibly shared) variable instead of a numeric array?"
            )
        if strict:
            if not isinstance(data, np.ndarray):
                raise TypeError(f"{self} expected a ndarray object, got {data!r} of type {type(data).__name__}.")
            if data.dtype != self.numpy_dtype:
                raise TypeError(f"{self} expected a ndarray object with dtype = {self.dtype} (got {data.dtype}).")
            return data
        if not isinstance(data, (np.ndarray, np.generic, int, float, complex, list, tuple)):
            foreign = array_of(data)
            data = data if foreign is None else foreign
        refuse_masked(data)
        if isinstance(data, np.memmap):
            # A memmap of the right kind stays on disk.
            if data.dtype == self.numpy_dtype:
                return data
        if isinstance(data, np.ndarray):
            array = np.asarray(data)
            if array.dtype == self.numpy_dtype:
                return array.astype(self.numpy_dtype, copy=False)
            if allow_downcast:
                with np.errstate(all="ignore"):
                    return array.astype(self.numpy_dtype)
            if array.dtype.kind in "biufc" and scal.upcast(self.dtype, array.dtype.name) == self.dtype:
                return array.astype(self.numpy_dtype)
            shown = str(data).replace("\n", "")
            if len(shown) > 75:
                shown = f"{shown[:75]}..."
            raise TypeError(
                f"{self} cannot store a value of dtype {array.dtype} without risking loss of precision. If you do"
                f" not mind this loss, you can: 1) explicitly cast your data to {self.dtype}, or 2) set"
                f' "allow_input_downcast=True" when calling "function". Value: "{shown}"'
            )
        # NumPy's numbers are treated as Python's: what counts is the value.
        any_float = allow_downcast is None and type(data) is float and self.dtype == config.floatX
        if allow_downcast or any_float:
            source = np.asarray(data)
            return _numbers_as(source, self.numpy_dtype) if source.dtype.kind in "biufc" else source.astype(self.numpy_dtype)
        source = _as_array(data, self)
        array = _numbers_as(source, self.numpy_dtype)
        same = array == source
        if not np.all(same) and not np.all(same | ((array != array) & (source != source))):
            shown = str(source)
            if len(shown) > 75:
                shown = f"{shown[:75]}..."
            raise TypeError(
                f"{self} cannot store accurately value {shown}, it would be represented as {array}. If you do not"
                " mind this precision loss, you can: 1) explicitly convert your data to a numpy array of dtype"
                f' {self.dtype}, or 2) set "allow_input_downcast=True" when calling "function".'
            )
        return array

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Any:
        """Return a variable of this type that has the value of `other`.

        Parameters
        ----------
        other
            Variable or value.
        allow_convert : bool
            Whether a broadcastable pattern may be relaxed.

        Raises
        ------
        TypeError
            If the types do not fit.
        """
        convert = getattr(other, "_as_TensorVariable", None)
        if convert is not None:
            other = convert()
        return super().filter_variable(other, allow_convert)

    def convert_variable(self, var: Any) -> Any:
        """Return `var` with this type where each of its values is one of this type, else None."""
        other = var.type
        if other == self:
            return var
        if self.is_super(other):
            return ops.patternbroadcast(var, self.broadcastable)
        return None

    def is_super(self, other: Any) -> bool:
        """Return whether every value of the type `other` is a value of this type."""
        return (
            type(self) is type(other)
            and self.dtype == other.dtype
            and self.ndim == other.ndim
            and all(theirs or not ours for ours, theirs in zip(self.broadcastable, other.broadcastable))
        )

    def value_validity_msg(self, a: Any) -> str:
        """Return why `a` is not a value of this type."""
        try:
            self.filter(a, strict=True)
        except Exception as error:
            return str(error)
        return "value is valid"

    def dtype_specs(self) -> tuple[type, str, str]:
        """Return the NumPy scalar class, the C type and NumPy's C type number for the dtype.

        Raises
        ------
        TypeError
            If there is no tensor type of the dtype.
        """
        try:
            return dtype_specs_map[self.dtype]
        except KeyError:
            raise TypeError(f"Unsupported dtype for {self.__class__.__name__}: {self.dtype}")

    def to_scalar_type(self) -> Any:
        """Return the type of an element."""
        return scal.get_scalar_type(dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(self) is type(other)
            and other.dtype == self.dtype  # type: ignore[attr-defined]
            and other.broadcastable == self.broadcastable  # type: ignore[attr-defined]
        )

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict:
        # The hash of a string differs from process to process.
        state = dict(self.__dict__)
        state.pop("_hash", None)
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._ndim = len(self.broadcastable)
        self._any_broadcastable = True in self.broadcastable
        self._hash = hash((type(self), self.dtype, self.broadcastable))

    def __reduce__(self) -> Any:
        if type(self) is TensorType and not self.name and not self.sparse_grad and self.__dict__.keys() == _PLAIN:
            return tensor_type, (self.dtype, self.broadcastable)
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    @staticmethod
    def values_eq(a: Any, b: Any, force_same_dtype: bool = True) -> bool:
        """Return whether two arrays are equal, NaN to NaN.

        Parameters
        ----------
        a, b
            Values.
        force_same_dtype : bool
            Whether arrays of different dtypes are different.
        """
        if a.shape != b.shape or (force_same_dtype and a.dtype != b.dtype):
            return False
        same = a == b
        if np.all(same):
            return True
        return bool(np.all(same | ((a != a) & (b != b))))

    @staticmethod
    def values_eq_approx(
        a: Any,
        b: Any,
        allow_remove_inf: bool = False,
        allow_remove_nan: bool = False,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> bool:
        """Return whether two arrays are equal but for rounding.

        Parameters
        ----------
        a, b
            Values.
        allow_remove_inf, allow_remove_nan : bool
            Whether `b` may have any value where `a` is infinite or NaN.
        rtol, atol : float, optional
            Relative and absolute tolerance; by default those of the dtype.
        """
        return values_eq_approx(a, b, allow_remove_inf, allow_remove_nan, rtol, atol)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether two values may have memory in common."""
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return np.may_share_memory(a, b)
        return False

    def get_shape_info(self, obj: Any) -> tuple[int, ...]:
        """Return what :meth:`get_size` needs of a value: its shape."""
        return obj.shape

    def get_size(self, shape_info: Sequence[int]) -> int:
        """Return the bytes that a value of a shape takes."""
        size = self.numpy_dtype.itemsize
        for length in shape_info:
            size *= int(length)
        return size

    def value_zeros(self, shape: Any) -> np.ndarray:
        """Return a value of zeros."""
        return np.zeros(shape, dtype=self.dtype)

    def make_variable(self, name: str | None = None) -> Any:
        """Return a new variable of this type."""
        return self.Variable(self, name=name)

    def __str__(self) -> str:
        if self.name:
            return self.name
        pattern = _SHAPE_NAMES.get(self.broadcastable)
        if pattern is None:
            pattern = str(self.broadcastable) if self._any_broadcastable else f"{self.ndim}D"
        return f"TensorType({self.dtype}, {pattern})"

    def __repr__(self) -> str:
        return str(self)

    def c_element_type(self) -> str:
        """Return the C type of an element, such as ``npy_float64``."""
        return self.dtype_specs()[1]

    def c_is_simple(self) -> bool:
        return False

    def c_declare(self, name: str, sub: dict, check_input: bool = True) -> str:
        text = f"PyArrayObject* {name};\n"
        if check_input:
            text += f"typedef {self.c_element_type()} dtype_{name};\n"
        return text

    def c_init(self, name: str, sub: dict) -> str:
        return f"{name} = NULL;\n"

    def c_extract(self, name: str, sub: dict, check_input: bool = True, **kwargs: Any) -> str:
        take = f"{name} = (PyArrayObject*)(py_{name});\nPy_XINCREF({name});\n"
        if not check_input:
            return f"{name} = NULL;\n{take}"
        fail = sub["fail"]
        number = self.dtype_specs()[2]
        return f"""
{name} = NULL;
if (py_{name} == Py_None) {{
    PyErr_SetString(PyExc_ValueError, "expected an ndarray, not None");
    {fail}
}}
if (!PyArray_Check(py_{name})) {{
    PyErr_SetString(PyExc_ValueError, "expected an ndarray");
    {fail}
}}
if (!PyArray_ISALIGNED((PyArrayObject*) py_{name})) {{
    PyArrayObject* array_{name} = (PyArrayObject*) py_{name};
    PyErr_Format(PyExc_NotImplementedError,
                 "expected an aligned array of type %ld ({number}), got non-aligned array of type %ld"
                 " with %ld dimensions",
                 (long int) {number}, (long int) PyArray_TYPE(array_{name}), (long int) PyArray_NDIM(array_{name}));
    {fail}
}}
if (PyArray_TYPE((PyArrayObject*) py_{name}) != {number}) {{
    PyErr_Format(PyExc_TypeError, "expected type_num %d ({number}) got %d",
                 {number}, PyArray_TYPE((PyArrayObject*) py_{name}));
    {fail}
}}
{take}"""

    def c_cleanup(self, name: str, sub: dict) -> str:
        return f"if ({name}) {{\n    Py_XDECREF({name});\n}}\n"

    def c_sync(self, name: str, sub: dict) -> str:
        fail = sub["fail"]
        number = self.dtype_specs()[2]
        return f"""
{{
    Py_XDECREF(py_{name});
    if (!{name}) {{
        Py_INCREF(Py_None);
        py_{name} = Py_None;
    }} else {{
        if ((void*)py_{name} != (void*){name}) {{
            py_{name} = (PyObject*){name};
        }}
        Py_INCREF(py_{name});
        if (!PyArray_ISALIGNED((PyArrayObject*) py_{name})) {{
            PyErr_Format(PyExc_NotImplementedError, "c_sync: expected an aligned array of type {number}");
            {fail}
        }}
    }}
}}
"""

    def c_headers(self, c_compiler: Any = None) -> list[str]:
        return scal.get_scalar_type(self.dtype).c_headers(c_compiler)

    def c_libraries(self, c_compiler: Any = None) -> list[str]:
        return scal.get_scalar_type(self.dtype).c_libraries(c_compiler)

    def c_compile_args(self, c_compiler: Any = None) -> list[str]:
        return []

    def c_support_code(self) -> str:
        return ""

    def c_init_code(self) -> list[str]:
        return []

    def c_code_cache_version(self) -> tuple:
        return (12, *scal.get_scalar_type(self.dtype).c_code_cache_version())


def _dtype_name(dtype: Any) -> str:
    text = str(dtype)
    if text in dtype_specs_map:
        return text
    try:
        return np.dtype(dtype).name
    except TypeError:
        return text


# The attributes of a type that nobody has changed.
_PLAIN = TensorType("float64", ()).__dict__.keys()


def _as_array(data: Any, type_: TensorType) -> np.ndarray:
    # Ragged and non-numeric sequences have no array form.
    try:
        array = np.asarray(data)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{type_} expected numbers, got {data!r}") from error
    if array.dtype.kind not in "biufc":
        if array.size == 0:
            return array.astype(type_.numpy_dtype)
        # NumPy's own error where the type is right in principle but the text is no number.
        error_type = ValueError if array.dtype.kind in "US" else TypeError
        raise error_type(f"{type_} cannot be made from a value of dtype {array.dtype}: {data!r}")
    return array


def _numbers_as(source: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array made from Python's numbers with another dtype; integers wrap around, floats are rounded.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As Python's and NumPy's conversions of a number: a complex number is none of another kind, NaN and what is beyond
        64 bits no integer.
    """
    if source.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"cannot convert complex numbers to {dtype}: {source}")
    with np.errstate(all="ignore"):
        if source.dtype.kind != "f" or dtype.kind not in "iu":
            return source.astype(dtype)
        if np.isnan(source).any():
            raise ValueError(f"cannot convert float NaN to {dtype}")
        if (source >= 2.0 ** (64 if dtype == "uint64" else 63)).any() or (source < -(2.0**63)).any():
            raise OverflowError(f"{source} is too large for {dtype}")
        if dtype == "uint64":
            return np.where(source < 0, source.astype("int64").astype(dtype), source.astype(dtype))
        return source.astype("int64").astype(dtype)


_types: dict[tuple[str, tuple[bool, ...]], TensorType] = {}


def tensor_type(dtype: str, broadcastable: tuple[bool, ...]) -> TensorType:
    """Return the one unnamed :class:`TensorType` of a dtype and a pattern.

    Types that ops make come from here, so that comparing them is mostly a comparison of identities.

    Parameters
    ----------
    dtype : str
        Name of the dtype.
    broadcastable : tuple of bool
        The pattern.

    Returns
    -------
    TensorType
        The same object for the same arguments.

    See Also
    --------
    theano.tensor.TensorType : The type of variables whose values are NumPy arrays of one dtype and rank.

    Examples
    --------
    >>> tensor_type("float64", (False, True)) is tensor_type("float64", (False, True))
    True
    >>> tensor_type("float64", (False, True))
    TensorType(float64, col)
    """
    found = _types.get((dtype, broadcastable))
    if found is None:
        made = TensorType(dtype, broadcastable)
        found = _types.setdefault((made.dtype, made.broadcastable), made)
    return found


#: For the name of a dtype its relative and absolute tolerance; `theano.tensor.basic` fills it, where programs change them.
tolerance_of = Hook("knows tolerances")

#: The dtypes whose values are compared with a tolerance, the least precise first.
_ROUNDED = ("float16", "float32", "complex64", "float64", "complex128")


def _tolerance(dtype: str) -> tuple[float, float]:
    return tolerance_of(dtype.replace("complex64", "float32").replace("complex128", "float64"))


def tolerance_between(a: Any, b: Any) -> tuple[float, float]:
    """Return the relative and the absolute tolerance with which two arrays are compared: by the less precise dtype.

    Parameters
    ----------
    a, b : array_like
        The arrays.

    Returns
    -------
    tuple of float
        The relative and the absolute one.

    See Also
    --------
    theano.tensor.values_eq_approx_always_true : Return True, for outputs that may differ from run to run.
    theano.tensor.values_eq_approx_remove_inf : Return whether two arrays are equal but for rounding, where the first is
        not infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.tolerance_between(np.zeros(1), np.zeros(1, "float32")) == T.tolerance_between(*np.zeros((2, 1), "float32"))
    True
    """
    narrow = min((str(x.dtype) for x in (a, b) if str(x.dtype) in _ROUNDED), key=_ROUNDED.index, default=None)
    return _tolerance("float64" if narrow is None else narrow)


def _allclose(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Return whether two arrays are close, by the tolerance of the less precise of their dtypes."""
    a, b = np.asarray(a), np.asarray(b)
    relative, absolute = tolerance_between(a, b)
    return bool(np.allclose(a, b, rtol=relative if rtol is None else rtol, atol=absolute if atol is None else atol))


def values_eq_approx(
    a: Any,
    b: Any,
    allow_remove_inf: bool = False,
    allow_remove_nan: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
) -> bool:
    """Return whether two arrays are equal but for rounding; see :meth:`TensorType.values_eq_approx`.

    Parameters
    ----------
    a, b : ndarray
        The values.
    allow_remove_inf, allow_remove_nan : bool, optional
        Whether anything equals an infinity, or NaN, in `a`.
    rtol, atol : float, optional
        Tolerances, by default those of the dtype.

    See Also
    --------
    theano.tensor.allclose : Return whether `isclose` holds for all elements, as ``numpy.allclose``.

    Examples
    --------
    >>> a, b = np.array([1.0, np.inf]), np.array([1.0 + 1e-12, 5.0])
    >>> values_eq_approx(a, b), values_eq_approx(a, b, allow_remove_inf=True)
    (False, True)
    """
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.name not in _ROUNDED:
        return bool(np.all(a == b))
    relative, absolute = _tolerance(a.dtype.name)
    if rtol is not None:
        relative = rtol
    if atol is not None:
        absolute = atol
    with np.errstate(all="ignore"):
        close = np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
        if np.all(close):
            return True
        if allow_remove_nan:
            close |= np.isnan(a)
        if allow_remove_inf:
            close |= np.isinf(a)
    return bool(np.all(close))


def values_eq_approx_remove_inf(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal but for rounding, where the first is not infinite.

    Parameters
    ----------
    a, b : ndarray
        The values.

    Returns
    -------
    bool
        Whether they are.

    See Also
    --------
    theano.tensor.values_eq_approx_remove_nan : Return whether two arrays are equal but for rounding, where the first is
        not NaN.
    theano.tensor.values_eq_approx_remove_inf_nan : Return whether two arrays are equal but for rounding, where the first
        is finite.
    theano.tensor.tolerance_between : Return the relative and the absolute tolerance with which two arrays are compared:
        by the less precise dtype.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.values_eq_approx_remove_inf(np.array([np.inf, 1.0]), np.array([2.0, 1.0]))
    True
    """
    return values_eq_approx(a, b, allow_remove_inf=True)


def values_eq_approx_remove_nan(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal but for rounding, where the first is not NaN.

    Parameters
    ----------
    a, b : ndarray
        The values.

    Returns
    -------
    bool
        Whether they are.

    See Also
    --------
    theano.tensor.values_eq_approx_remove_inf_nan : Return whether two arrays are equal but for rounding, where the first
        is finite.
    theano.tensor.values_eq_approx_remove_inf : Return whether two arrays are equal but for rounding, where the first is
        not infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.values_eq_approx_remove_nan(np.array([np.nan, 1.0]), np.array([2.0, 1.0]))
    True
    """
    return values_eq_approx(a, b, allow_remove_nan=True)


def values_eq_approx_remove_inf_nan(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal but for rounding, where the first is finite.

    Parameters
    ----------
    a, b : ndarray
        The values.

    Returns
    -------
    bool
        Whether they are.

    See Also
    --------
    theano.tensor.values_eq_approx_remove_inf : Return whether two arrays are equal but for rounding, where the first is
        not infinite.
    theano.tensor.values_eq_approx_remove_nan : Return whether two arrays are equal but for rounding, where the first is
        not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.values_eq_approx_remove_inf_nan(np.array([np.inf, np.nan]), np.array([2.0, 1.0]))
    True
    """
    return values_eq_approx(a, b, allow_remove_inf=True, allow_remove_nan=True)


def values_eq_approx_always_true(a: Any, b: Any) -> bool:
    """Return True, for outputs that may differ from run to run.

    Parameters
    ----------
    a, b : ndarray
        The values.

    Returns
    -------
    bool
        True.

    See Also
    --------
    theano.tensor.check_equal_numpy : Return whether two values are equal: arrays of the same dtype and shape up to 1e-10,
        generators by their states.
    theano.tensor.values_eq_approx_remove_inf : Return whether two arrays are equal but for rounding, where the first is
        not infinite.
    theano.tensor.tolerance_between : Return the relative and the absolute tolerance with which two arrays are compared:
        by the less precise dtype.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.values_eq_approx_always_true(np.zeros(1), np.ones(1))
    True
    """
    return True

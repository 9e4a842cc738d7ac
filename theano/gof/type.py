"""Types: what values a variable can take, and how they look in C."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any

from theano import aliases
from theano.configdefaults import config
from theano.gof.c_interface import CLinkerObject, takes
from theano.gof.graph import Constant, Variable
from theano.gof.stack_traces import _raw_stack
from theano.gof.utils import MethodNotDefined

# Python names this class from 3.13 on only.
_Capsule = type(datetime.datetime_CAPI)


class CLinkerType(CLinkerObject):
    """The C interface of Types.

    In all methods `name` is the name of the C variable; the Python object is ``py_<name>``.  `sub` has the entry
    ``'fail'``: code to run once a Python exception is set.

    See Also
    --------
    theano.gof.type.PureType : A type: it makes variables and filters the values they are given.
    theano.Type : A type with a C interface: the base class of types.

    Examples
    --------
    >>> class Count(CLinkerType):
    ...     def c_declare(self, name, sub, check_input=True):
    ...         return f"long {name};"
    ...     def c_init(self, name, sub):
    ...         return f"{name} = 0;"
    ...     def c_extract(self, name, sub, check_input=True, **kwargs):
    ...         return f"{name} = PyLong_AsLong(py_{name});"
    >>> print(Count().c_declare("n", {}), Count().c_extract("n", {}))
    long n; n = PyLong_AsLong(py_n);
    """

    def c_element_type(self) -> str:
        """Return the C type of the elements of values of this type."""
        raise MethodNotDefined("c_element_type", type(self), self.__class__.__name__)

    def c_is_simple(self) -> bool:
        """Return whether values are small enough to be passed on the stack."""
        return False

    def c_literal(self, data: Any) -> str:
        """Return a C expression for a value."""
        raise MethodNotDefined("c_literal", type(self), self.__class__.__name__)

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        """Return code that declares what `c_extract` sets.  Required."""
        raise MethodNotDefined("c_declare", type(self), self.__class__.__name__)

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        """Return code that initializes what `c_declare` declared.  Required."""
        raise MethodNotDefined("c_init", type(self), self.__class__.__name__)

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        """Return code that takes the value out of the Python object.  Required."""
        raise MethodNotDefined("c_extract", type(self), self.__class__.__name__)

    def c_extract_out(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        """Return code that does the same for an output, whose Python object may be None."""
        method = self.c_extract
        extract = method(name, sub, check_input) if takes(method, 3) else method(name, sub)
        return f"""
        if (py_{name} == Py_None)
        {{
            {self.c_init(name, sub)}
        }}
        else
        {{
            {extract}
        }}
        """

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        """Return code that frees what `c_extract` allocated."""
        raise MethodNotDefined("c_cleanup", type(self), self.__class__.__name__)

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        """Return code that puts the value into the Python object.  Required."""
        raise MethodNotDefined("c_sync", type(self), self.__class__.__name__)

    def c_code_cache_version(self) -> tuple:
        """Return a tuple that changes with the code; the empty tuple means that the code is not cached."""
        return ()


class _of_type_or_class:  # noqa: N801
    """A method that is called on a type or on its class: what it calls in turn may be a method of either."""

    def __init__(self, function: Callable):
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any) -> Any:
        return MethodType(self.function, owner if instance is None else instance)


class PureType:
    """A type: it makes variables and filters the values they are given.

    See Also
    --------
    theano.Type : A type with a C interface: the base class of types.
    theano.gof.type.CLinkerType : The C interface of Types.

    Examples
    --------
    >>> class Text(PureType):
    ...     def filter(self, data, strict=False, allow_downcast=None):
    ...         if isinstance(data, str) or not strict:
    ...             return str(data)
    ...         raise TypeError("no text")
    >>> text = Text()
    >>> text("title"), text.filter(3), text.is_valid_value(3)
    (title, '3', False)
    """

    Variable = Variable
    Constant = Constant

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `data`, or what it is converted to.  Required.

        Parameters
        ----------
        data
        strict : bool
            Whether only `data` itself may be returned.
        allow_downcast : bool, optional
            Whether a conversion may lose precision; None leaves that to the type.

        Raises
        ------
        TypeError
            The value does not fit.
        """
        raise MethodNotDefined("filter", type(self), self.__class__.__name__)

    # If a type defines this, it is called instead of `filter` to set the value of a shared variable:
    #     filter_inplace(value, storage, strict=False, allow_downcast=None)

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Any:
        """Return a variable of this type that has the value of `other`.

        Parameters
        ----------
        other : Variable or value
        allow_convert : bool
            Whether `convert_variable` may be tried.

        Raises
        ------
        TypeError
            The types do not fit.
        """
        if not isinstance(other, Variable):
            other = self.Constant(type=self, data=other)
        if other.type is self or other.type == self:
            return other
        if allow_convert:
            converted = self.convert_variable(other)
            if converted is not None:
                return converted
        raise TypeError(
            f"Cannot convert Type {other.type} (of Variable {other}) into Type {self}. You can try to manually "
            f"convert {other} into a {self}."
        )

    def convert_variable(self, var: Any) -> Any:
        """Return a variable of this type with the value of `var`, or None where that cannot be guaranteed."""
        return None

    def is_valid_value(self, a: Any) -> bool:
        """Return whether `a` can be a value of this type as it is."""
        try:
            self.filter(a, strict=True)
            return True
        except (TypeError, ValueError):
            return False

    def value_validity_msg(self, a: Any) -> str:
        """Return why `is_valid_value` says what it says."""
        return "none"

    def make_variable(self, name: str | None = None) -> Any:
        """Return a new variable of this type.

        Parameters
        ----------
        name : str, optional
        """
        return self.Variable(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> Any:
        """Return a new constant of this type."""
        return self.Constant(type=self, data=value, name=name)

    def __call__(self, name: str | None = None) -> Any:
        """Return a new variable of this type, which remembers where in the user's code it was made.

        Parameters
        ----------
        name : str, optional
        """
        var = self.make_variable(name)
        limit = config.traceback.limit
        if limit:
            var.tag._trace = _raw_stack(limit, sys._getframe(1))
        return var

    @classmethod
    def values_eq(cls, a: Any, b: Any) -> Any:
        """Return whether two values are exactly equal."""
        return a == b

    @_of_type_or_class
    def values_eq_approx(owner: Any, a: Any, b: Any) -> Any:  # noqa: N805
        """Return whether two values are equal but for rounding; by default, exactly."""
        return owner.values_eq(a, b)

    def __deepcopy__(self, memo: dict) -> PureType:
        # Types never change.
        return self


class Type(PureType, CLinkerType):
    """A type with a C interface: the base class of types.

    See Also
    --------
    theano.Apply : The application of an Op to input variables, which gives output variables.
    theano.Op : An operation, with its C interface: the base class of Ops.
    theano.Generic : The type of any Python object.

    Examples
    --------
    >>> class Even(Type):
    ...     def filter(self, data, strict=False, allow_downcast=None):
    ...         if not isinstance(data, int) or data % 2:
    ...             raise TypeError("an even number is needed")
    ...         return data
    >>> even = Even()
    >>> even.is_valid_value(4), even.is_valid_value(3), even("x").name
    (True, False, 'x')
    """


class SingletonType(Type):
    """A type without attributes: there is one instance of each class, equal to no other.

    See Also
    --------
    theano.Type : A type with a C interface: the base class of types.

    Examples
    --------
    >>> class Anything(SingletonType):
    ...     def filter(self, data, strict=False, allow_downcast=None):
    ...         return data
    >>> Anything() is Anything(), str(Anything())
    (True, 'Anything')
    """

    __instance = None

    def __new__(cls) -> SingletonType:
        # Looked up in the class itself: a subclass has an instance of its own.
        instance = cls.__dict__.get("_SingletonType__instance")
        if instance is None or type(instance) is not cls:
            instance = Type.__new__(cls)
            cls.__instance = instance
        return instance

    def __str__(self) -> str:
        return self.__class__.__name__

    def __eq__(self, other: object) -> bool:
        return self is other or type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class Generic(SingletonType):
    """The type of any Python object.

    See Also
    --------
    theano.tensor.TensorType : The type of variables whose values are NumPy arrays of one dtype and rank.
    theano.Type : A type with a C interface: the base class of types.
    theano.gof.type.CDataType : A C pointer that Ops with C code pass to each other.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dscalar("x")
    >>> notes = Generic()("notes")
    >>> f = theano.function([x, notes], 2 * x, on_unused_input="ignore")
    >>> float(f(3, {"any": "object"}))
    6.0
    """

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return data

    def is_valid_value(self, a: Any) -> bool:
        return True

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"PyObject* {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        return f"Py_INCREF(py_{name});\n{name} = py_{name};"

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"Py_XDECREF({name});"

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"""
        assert(py_{name}->ob_refcnt > 1);
        Py_DECREF(py_{name});
        py_{name} = {name} ? {name} : Py_None;
        Py_INCREF(py_{name});
        """

    def c_code_cache_version(self) -> tuple:
        return (1,)

    def __str__(self) -> str:
        return self.__class__.__name__


generic = Generic()

_CDATA_SUPPORT = """
typedef void (*theano_cdata_freefunc)(void *);
static inline void theano_cdata_destructor(PyObject *capsule) {
    void *d = PyCapsule_GetContext(capsule);
    void *p = PyCapsule_GetPointer(capsule, NULL);
    if (d != NULL && p != NULL) ((theano_cdata_freefunc)d)(p);
}
"""


class CDataType(Type):
    """A C pointer that Ops with C code pass to each other.

    Parameters
    ----------
    ctype : str
        The type of the pointer, with its ``*``.
    freefunc : str, optional
        The function that frees the pointer: it takes the pointer and returns nothing.
    headers, header_dirs, libraries, lib_dirs, compile_args : sequence of str
        For the compiler.
    extra_support_code : str
        Code for the global scope.
    version : optional
        The version of the code for the cache.

    See Also
    --------
    theano.gof.type.CDataTypeConstant : A constant C pointer.
    theano.Generic : The type of any Python object.

    Examples
    --------
    >>> handle = CDataType("cudnnHandle_t*", freefunc="destroy_handle", headers=["cudnn.h"])
    >>> handle == CDataType("cudnnHandle_t*"), handle.c_headers()
    (False, ('cudnn.h',))
    >>> handle.filter(3)
    Traceback (most recent call last):
        ...
    TypeError: expected None or a PyCapsule
    """

    __props__ = (
        "ctype",
        "freefunc",
        "headers",
        "header_dirs",
        "libraries",
        "lib_dirs",
        "compile_args",
        "extra_support_code",
        "version",
    )

    def __init__(
        self,
        ctype: str,
        freefunc: str | None = None,
        headers: Any = (),
        header_dirs: Any = (),
        libraries: Any = (),
        lib_dirs: Any = (),
        compile_args: Any = (),
        extra_support_code: str = "",
        version: Any = None,
    ):
        if not isinstance(ctype, str):
            raise TypeError(f"ctype must be the text of a C type, not {ctype!r}")
        self.ctype = ctype
        if freefunc is not None and not isinstance(freefunc, str):
            raise TypeError(f"freefunc must be the name of a C function, not {freefunc!r}")
        self.freefunc = freefunc
        self.headers = tuple(headers)
        self.header_dirs = tuple(header_dirs)
        self.libraries = tuple(libraries)
        self.lib_dirs = tuple(lib_dirs)
        self.compile_args = tuple(compile_args)
        self.extra_support_code = extra_support_code
        self.version = version

    def _key(self) -> tuple:
        return tuple(getattr(self, p) for p in self.__props__)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `data`, a capsule that an Op's C code made (or None)."""
        if data is not None and not isinstance(data, _Capsule):
            raise TypeError("expected None or a PyCapsule")
        return data

    def make_value(self, ptr: int) -> Any:
        """Return a value of this type.

        Parameters
        ----------
        ptr : int
            The pointer's address.

        Returns
        -------
        PyCapsule
        """
        import ctypes

        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ptr, None, None)

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"{self.ctype} {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        return f"""
        {name} = ({self.ctype})PyCapsule_GetPointer(py_{name}, NULL);
        if ({name} == NULL) {sub["fail"]}
        """

    def c_extract_out(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        # What the output holds from the last time is freed with its capsule.
        return f"{name} = NULL;"

    def c_support_code(self) -> str:
        return _CDATA_SUPPORT + self.extra_support_code

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        freefunc = self.freefunc if self.freefunc is not None else "NULL"
        return f"""
        Py_XDECREF(py_{name});
        if ({name} == NULL) {{
            py_{name} = Py_None;
            Py_INCREF(py_{name});
        }} else {{
            py_{name} = PyCapsule_New((void *){name}, NULL, theano_cdata_destructor);
            if (py_{name} != NULL && PyCapsule_SetContext(py_{name}, (void *){freefunc}) != 0) {{
                Py_DECREF(py_{name});
                py_{name} = NULL;
            }}
            if (py_{name} == NULL) {{
                py_{name} = Py_None;
                Py_INCREF(py_{name});
            }}
        }}
        """

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return ""

    def c_headers(self) -> Any:
        return self.headers

    def c_header_dirs(self) -> Any:
        return self.header_dirs

    def c_libraries(self) -> Any:
        return self.libraries

    def c_lib_dirs(self) -> Any:
        return self.lib_dirs

    def c_compile_args(self) -> Any:
        return self.compile_args

    def c_code_cache_version(self) -> tuple:
        version = (4,)
        if self.version is not None:
            version += (self.version,) if not isinstance(self.version, tuple) else self.version
        return version

    def __str__(self) -> str:
        return f"{self.__class__.__name__}{{{self.ctype}}}"


class CDataTypeConstant(Constant):
    """A constant C pointer.

    See Also
    --------
    theano.Generic : The type of any Python object.
    theano.gof.type.CDataType : A C pointer that Ops with C code pass to each other.

    Examples
    --------
    >>> pointer = CDataType("int*")
    >>> constant = CDataTypeConstant(pointer, pointer.make_value(64))
    >>> print(constant.type)
    CDataType{int*}
    >>> constant.equals(CDataTypeConstant(pointer, pointer.make_value(64)))  # What they point to is unknown.
    False
    """

    def merge_signature(self) -> Any:
        # The values of capsules cannot be compared.
        return id(self.data)

    def signature(self) -> Any:
        return (self.type, id(self.data))


CDataType.Constant = CDataTypeConstant


__getattr__, __dir__ = aliases.lazy(__name__)

"""The type of lists whose elements are all of one type."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import aliases
from theano.gof.graph import Variable
from theano.gof.type import Type
from theano.tensor.type import TensorType


class TypedListType(Type):
    """The type of Python lists whose elements are all of the type `ttype`.

    Parameters
    ----------
    ttype : Type
        Type of the elements.
    depth : int
        How many more lists there are around the innermost one: ``TypedListType(t, 2)`` is a list of lists of lists
        of `t`.

    Raises
    ------
    TypeError
        `ttype` is not a Type.
    ValueError
        `depth` is negative.

    See Also
    --------
    theano.typed_list.TypedListVariable : A variable for a list, with the operators of lists.
    theano.typed_list.TypedListConstant : A constant list, with the operators of lists.
    theano.typed_list.basic.is_list : Return whether `x` is a variable for a typed list.

    Examples
    --------
    >>> import theano.tensor as T
    >>> vectors = TypedListType(T.fvector)
    >>> vectors.filter([[1, 2], [3]])
    [array([1., 2.], dtype=float32), array([3.], dtype=float32)]
    >>> TypedListType(vectors) == TypedListType(T.fvector, depth=1)
    True
    """

    __props__ = ("ttype",)

    def __init__(self, ttype: Type, depth: int = 0):
        if not isinstance(ttype, Type):
            raise TypeError(f"the elements of a typed list need a Type, got {ttype!r}")
        if depth < 0:
            raise ValueError(f"depth must not be negative, got {depth}")
        for _ in range(depth):
            ttype = TypedListType(ttype)
        self.ttype = ttype

    @property
    def nested_arrays(self) -> tuple[int, int, int, int] | None:
        """How deep lists of arrays lie, and of these the dtype's number, the rank and bits of what broadcasts.

        None if values hold other objects. A call of a function takes lists of arrays without running Python.
        """
        inner = self.ttype
        while isinstance(inner, TypedListType):
            inner = inner.ttype
        if type(inner) is not TensorType:
            return None
        bits = sum(1 << axis for axis, broadcasts in enumerate(inner.broadcastable) if broadcasts)
        return self.get_depth() + 1, np.dtype(inner.dtype).num, inner.ndim, bits

    def filter(self, x: Any, strict: bool = False, allow_downcast: bool | None = None) -> list[Any]:
        """Return `x` if all its elements are of the right type, else a list of what they are converted to.

        Raises
        ------
        TypeError
            `x` is no list, or an element does not fit.
        """
        if not isinstance(x, list):
            raise TypeError(f"expected a list, got {type(x).__name__}")
        if strict:
            for i, element in enumerate(x):
                if not self.ttype.is_valid_value(element):
                    raise TypeError(f"element {i} of the list is not a value of type {self.ttype}: {element!r}")
            return x
        filtered = [self.ttype.filter(element, False, allow_downcast) for element in x]
        # An unchanged list stays the same object, so that borrowed and mutable lists can be written to.
        return x if all(a is b for a, b in zip(filtered, x)) else filtered

    def get_depth(self) -> int:
        """Return how many lists there are around the innermost one."""
        depth, inner = 0, self.ttype
        while isinstance(inner, TypedListType):
            depth, inner = depth + 1, inner.ttype
        return depth

    def values_eq(self, a: list[Any], b: list[Any]) -> bool:
        """Return whether two lists have equal elements."""
        return len(a) == len(b) and all(self.ttype.values_eq(x, y) for x, y in zip(a, b))

    def values_eq_approx(self, a: list[Any], b: list[Any]) -> bool:
        """Return whether two lists have elements that are equal but for rounding."""
        return len(a) == len(b) and all(self.ttype.values_eq_approx(x, y) for x, y in zip(a, b))

    def may_share_memory(self, a: Any, b: Any) -> bool:
        """Return whether two values, or elements of them, may share memory."""
        if a is b:
            return True
        shares = getattr(self.ttype, "may_share_memory", None)
        if shares is None:
            return False
        parts_a = a if isinstance(a, list) else [a]
        parts_b = b if isinstance(b, list) else [b]
        return any(shares(x, y) for x in parts_a for y in parts_b)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.ttype == other.ttype

    def __hash__(self) -> int:
        return hash((type(self), self.ttype))

    def __str__(self) -> str:
        return f"TypedList <{self.ttype}>"

    __repr__ = __str__

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"PyListObject* {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        check = ""
        if check_input:
            check = f"""
            if (!PyList_Check(py_{name})) {{
                PyErr_SetString(PyExc_TypeError, "expected a list");
                {sub["fail"]}
            }}
            """
        return f"{check}{name} = (PyListObject*)py_{name};\nPy_INCREF(py_{name});"

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"""
        Py_XDECREF(py_{name});
        py_{name} = {name} ? (PyObject*){name} : Py_None;
        Py_INCREF(py_{name});
        """

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"Py_XDECREF((PyObject*){name});"

    def c_code_cache_version(self) -> tuple:
        return (2,)

    dtype = property(lambda self: self.ttype)
    ndim = property(lambda self: self.get_depth() + 1)


def is_list(x: Any) -> bool:
    """Return whether `x` is a variable for a typed list.

    Parameters
    ----------
    x : object
        Anything.

    See Also
    --------
    theano.typed_list.TypedListType : The type of Python lists whose elements are all of the type `ttype`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> is_list(TypedListType(T.dvector)("x")), is_list([1.0, 2.0])
    (True, False)
    """
    return isinstance(x, Variable) and isinstance(x.type, TypedListType)


__getattr__, __dir__ = aliases.lazy(__name__)

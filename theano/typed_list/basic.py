"""Ops on typed lists, and the variables that have them as methods."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano import tensor as T
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.op import Op
from theano.tensor.constructors import lscalar
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.type_other import SliceType, make_slice
from theano.typed_list.type import TypedListType, is_list

__all__ = [
    "Append",
    "Count",
    "Extend",
    "GetItem",
    "Index",
    "Insert",
    "Length",
    "MakeList",
    "Remove",
    "Reverse",
    "TypedListConstant",
    "TypedListVariable",
    "append",
    "count",
    "extend",
    "getitem",
    "index_",
    "insert",
    "length",
    "make_list",
    "remove",
    "reverse",
]


class _TypedListOperators:
    """The operators and methods of lists."""

    def __getitem__(self, index: Any) -> Variable:
        return getitem(self, index)

    def __len__(self) -> Any:
        """Return the length, a variable: for ``x.__len__()``, since ``len(x)`` takes no such and raises a TypeError."""
        return length(self)

    def __iter__(self) -> Any:
        raise TypeError("a symbolic list cannot be iterated over: its length is not known")

    def append(self, toAppend: Any) -> Variable:
        """Return the list with an element more at its end."""
        return append(self, toAppend)

    def extend(self, toAppend: Any) -> Variable:
        """Return the list with the elements of another one after its own."""
        return extend(self, toAppend)

    def insert(self, index: Any, toInsert: Any) -> Variable:
        """Return the list with an element more before position `index`."""
        return insert(self, index, toInsert)

    def remove(self, toRemove: Any) -> Variable:
        """Return the list without the first element that equals `toRemove`."""
        return remove(self, toRemove)

    def reverse(self) -> Variable:
        """Return the list in the opposite order."""
        return reverse(self)

    def count(self, elem: Any) -> Variable:
        """Return how many elements equal `elem`."""
        return count(self, elem)

    def ind(self, elem: Any) -> Variable:
        """Return the position of the first element that equals `elem`."""
        return index_(self, elem)

    #: Type of the elements.
    ttype = property(lambda self: self.type.ttype)
    dtype = property(lambda self: self.type.ttype)
    ndim = property(lambda self: self.type.ndim)


class TypedListVariable(_TypedListOperators, Variable):
    """A variable for a list, with the operators of lists.

    See Also
    --------
    theano.typed_list.TypedListConstant : A constant list, with the operators of lists.
    theano.typed_list.TypedListType : The type of Python lists whose elements are all of the type `ttype`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dscalar)("x")
    >>> y = x.append(5.0)[1:]
    >>> type(y).__name__, [float(v) for v in y.eval({x: [1.0, 2.0]})]
    ('TypedListVariable', [2.0, 5.0])
    """


class TypedListConstant(_TypedListOperators, Constant):
    """A constant list, with the operators of lists.

    See Also
    --------
    theano.typed_list.TypedListType : The type of Python lists whose elements are all of the type `ttype`.
    theano.typed_list.TypedListVariable : A variable for a list, with the operators of lists.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListConstant(TypedListType(T.dscalar), [1.0, 2.0, 1.0])
    >>> int(x.count(1.0).eval())
    2
    """

    def signature(self) -> Any:
        # Lists cannot be hashed: only the same object is the same constant.
        return (self.type, id(self.data))

    def clone(self) -> TypedListConstant:
        new = copy.copy(self)
        new.tag = copy.copy(self.tag)
        return new


TypedListType.Variable = TypedListVariable  # type: ignore[assignment]
TypedListType.Constant = TypedListConstant  # type: ignore[assignment]


def _as_list(x: Any, op: Op) -> Variable:
    if not is_list(x):
        raise TypeError(f"{op} works on typed lists, got {x!r}")
    return x


def _as_element(x: Variable, element: Any, op: Op) -> Variable:
    """Return `element` as a variable that can be in the list `x`."""
    ttype = x.type.ttype
    try:
        return ttype.filter_variable(element)
    except TypeError as exc:
        got = f"{element!r} of type {element.type}" if isinstance(element, Variable) else repr(element)
        raise TypeError(f"{op}: the list has elements of type {ttype}, got {got}") from exc


def _as_index(index: Any, op: Op) -> Variable:
    index = as_tensor_variable(index)
    if index.type.ndim != 0 or not index.type.dtype.startswith(("int", "uint")):
        raise TypeError(f"{op}: an index must be an integer scalar, got {index.type}")
    return index


def _position(x: list[Any], element: Any, ttype: Any) -> int | None:
    """Return where the first element of `x` is that equals `element`."""
    return next((i for i, other in enumerate(x) if ttype.values_eq(other, element)), None)


def _owned(element: Any) -> Any:
    """Return a copy of an element, so that the new list shares memory with no input but the list."""
    # `copy.deepcopy` makes a scalar of a 0-d array.
    return element.copy() if isinstance(element, np.ndarray) else copy.deepcopy(element)


class _ListOp(Op):
    """Base class of the Ops that have a list as their first input."""

    __props__: tuple[str, ...] = ()

    def __str__(self) -> str:
        return type(self).__name__


class _ChangingOp(_ListOp):
    """Base class of the Ops that return the list with a change.

    Parameters
    ----------
    inplace : bool
        Whether the list itself is changed.  Otherwise the result is a new list which holds the same elements, hence
        looks at the memory of the input.
    """

    __props__ = ("inplace",)
    #: The elements of the first input stay as they are.
    keeps_elements = True

    def __init__(self, inplace: bool = False):
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}
        else:
            self.view_map = {0: [0]}

    def __str__(self) -> str:
        return type(self).__name__ + ("{inplace}" if self.inplace else "")

    def change(self, x: list[Any], args: Sequence[Any], node: Apply) -> None:
        """Change the list `x`, which may be written to."""
        raise NotImplementedError(type(self).__name__)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x = inputs[0] if self.inplace else list(inputs[0])
        self.change(x, inputs[1:], node)
        output_storage[0][0] = x


class GetItem(_ListOp):
    """An element of a list, or the list of a slice of it.

    See Also
    --------
    theano.typed_list.Append : The list with an element more at its end.
    theano.typed_list.MakeList : The list of some variables, all of one type.
    theano.typed_list.getitem : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dscalar)("x")
    >>> float(getitem(x, -1).eval({x: [1.0, 2.0, 3.0]}))
    3.0
    >>> getitem(x, slice(1, None)).type
    TypedList <TensorType(float64, scalar)>
    """

    view_map = {0: [0]}

    def make_node(self, x: Any, index: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        x : TypedListVariable
        index : int, slice or integer scalar variable

        Raises
        ------
        TypeError
            `x` is no typed list, or the index neither an integer nor a slice.
        """
        x = _as_list(x, self)
        if isinstance(index, slice):
            index = make_slice(index)
        if isinstance(index, Variable) and isinstance(index.type, SliceType):
            return Apply(self, [x, index], [x.type()])
        return Apply(self, [x, _as_index(index, self)], [x.type.ttype()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, index = inputs
        output_storage[0][0] = x[index if isinstance(index, slice) else int(index)]


class Append(_ChangingOp):
    """The list with an element more at its end.

    See Also
    --------
    theano.typed_list.MakeList : The list of some variables, all of one type.
    theano.typed_list.GetItem : An element of a list, or the list of a slice of it.
    theano.typed_list.Extend : The list with the elements of another list of the same type after its own.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dvector)("x")
    >>> append(x, [3.0]).eval({x: [[1.0, 2.0]]})
    [array([1., 2.]), array([3.])]
    >>> append(x, T.dmatrix("m"))
    Traceback (most recent call last):
    TypeError: Append: the list has elements of type TensorType(float64, vector), got m of type TensorType(float64, matrix)
    """

    def make_node(self, x: Any, toAppend: Any) -> Apply:
        """Return the node for a list and an element of its type."""
        x = _as_list(x, self)
        return Apply(self, [x, _as_element(x, toAppend, self)], [x.type()])

    def change(self, x: list[Any], args: Sequence[Any], node: Apply) -> None:
        x.append(_owned(args[0]))


class Extend(_ChangingOp):
    """The list with the elements of another list of the same type after its own.

    See Also
    --------
    theano.typed_list.Insert : The list with an element more before a position.
    theano.typed_list.Append : The list with an element more at its end.
    theano.typed_list.extend : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = TypedListType(T.dvector)("x"), TypedListType(T.dvector)("y")
    >>> extend(x, y).eval({x: [[1.0]], y: [[2.0], [3.0]]})
    [array([1.]), array([2.]), array([3.])]
    """

    def make_node(self, x: Any, toAppend: Any) -> Apply:
        """Return the node for two lists of one type."""
        x, other = _as_list(x, self), _as_list(toAppend, self)
        if x.type != other.type:
            raise TypeError(f"{self}: the lists are of different types, {x.type} and {other.type}")
        return Apply(self, [x, other], [x.type()])

    def change(self, x: list[Any], args: Sequence[Any], node: Apply) -> None:
        x.extend([_owned(element) for element in args[0]])


class Insert(_ChangingOp):
    """The list with an element more before a position.

    See Also
    --------
    theano.typed_list.Append : The list with an element more at its end.
    theano.typed_list.Extend : The list with the elements of another list of the same type after its own.
    theano.typed_list.Remove : The list without the first element that equals a given one; ValueError when there is none.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dvector)("x")
    >>> insert(x, 1, [2.0]).eval({x: [[1.0], [3.0]]})
    [array([1.]), array([2.]), array([3.])]
    """

    def make_node(self, x: Any, index: Any, toInsert: Any) -> Apply:
        """Return the node for a list, an integer and an element of the list's type."""
        x = _as_list(x, self)
        return Apply(self, [x, _as_index(index, self), _as_element(x, toInsert, self)], [x.type()])

    def change(self, x: list[Any], args: Sequence[Any], node: Apply) -> None:
        x.insert(int(args[0]), _owned(args[1]))


class Remove(_ChangingOp):
    """The list without the first element that equals a given one; ValueError when there is none.

    See Also
    --------
    theano.typed_list.Reverse : The list in the opposite order.
    theano.typed_list.Insert : The list with an element more before a position.
    theano.typed_list.remove : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dvector)("x")
    >>> remove(x, [1.0]).eval({x: [[1.0], [2.0], [1.0]]})
    [array([2.]), array([1.])]
    """

    def make_node(self, x: Any, toRemove: Any) -> Apply:
        """Return the node for a list and an element of its type."""
        x = _as_list(x, self)
        return Apply(self, [x, _as_element(x, toRemove, self)], [x.type()])

    def change(self, x: list[Any], args: Sequence[Any], node: Apply) -> None:
        position = _position(x, args[0], node.inputs[0].type.ttype)
        if position is None:
            raise ValueError(f"the element to be removed is not in the list: {args[0]!r}")
        del x[position]


class Reverse(_ChangingOp):
    """The list in the opposite order.

    See Also
    --------
    theano.typed_list.Insert : The list with an element more before a position.
    theano.typed_list.Remove : The list without the first element that equals a given one; ValueError when there is none.
    theano.typed_list.reverse : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dvector)("x")
    >>> reverse(x).eval({x: [[1.0], [2.0]]})
    [array([2.]), array([1.])]
    >>> print(reverse, Reverse(inplace=True))
    Reverse Reverse{inplace}
    """

    def make_node(self, x: Any) -> Apply:
        """Return the node for a list."""
        x = _as_list(x, self)
        return Apply(self, [x], [x.type()])

    def change(self, x: list[Any], args: Sequence[Any], node: Apply) -> None:
        x.reverse()


class _Search(_ListOp):
    """A number about the elements that equal a given one."""

    def make_node(self, x: Any, elem: Any) -> Apply:
        """Return the node for a list and an element of its type."""
        x = _as_list(x, self)
        return Apply(self, [x, _as_element(x, elem, self)], [lscalar()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [False]]


class Index(_Search):
    """The position of the first element that equals a given one; ValueError when there is none.

    See Also
    --------
    theano.typed_list.Count : How many elements equal a given one.
    theano.typed_list.Length : The number of elements, an int64.
    theano.typed_list.index_ : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dvector)("x")
    >>> int(index_(x, [2.0]).eval({x: [[1.0], [2.0]]}))
    1
    >>> index_(x, [3.0]).eval({x: [[1.0], [2.0]]})
    Traceback (most recent call last):
    ValueError: the element is not in the list: array([3.])...
    """

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, elem = inputs
        position = _position(x, elem, node.inputs[0].type.ttype)
        if position is None:
            raise ValueError(f"the element is not in the list: {elem!r}")
        output_storage[0][0] = np.asarray(position, dtype="int64")


class Count(_Search):
    """How many elements equal a given one.

    See Also
    --------
    theano.typed_list.Length : The number of elements, an int64.
    theano.typed_list.Index : The position of the first element that equals a given one; ValueError when there is none.
    theano.typed_list.count : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dvector)("x")
    >>> int(count(x, [1.0]).eval({x: [[1.0], [2.0], [1.0]]}))
    2
    """

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, elem = inputs
        equal = node.inputs[0].type.ttype.values_eq
        output_storage[0][0] = np.asarray(sum(bool(equal(other, elem)) for other in x), dtype="int64")


class Length(_ListOp):
    """The number of elements, an int64.

    See Also
    --------
    theano.typed_list.Index : The position of the first element that equals a given one; ValueError when there is none.
    theano.typed_list.Count : How many elements equal a given one.
    theano.typed_list.length : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = TypedListType(T.dvector)("x")
    >>> int(length(x).eval({x: [[1.0], [2.0], [1.0]]}))
    3
    """

    def make_node(self, x: Any) -> Apply:
        """Return the node for a list."""
        return Apply(self, [_as_list(x, self)], [lscalar()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(len(inputs[0]), dtype="int64")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]

    def c_code(self, node: Apply, name: str, inp: Sequence[str], out: Sequence[str], sub: dict[str, Any]) -> str:
        return f"""
        if ({out[0]} == NULL && ({out[0]} = (PyArrayObject*)PyArray_EMPTY(0, NULL, NPY_INT64, 0)) == NULL)
            {{ {sub["fail"]} }}
        *(npy_int64*)PyArray_DATA({out[0]}) = PyList_GET_SIZE((PyObject*){inp[0]});
        """

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (2,)


class MakeList(_ListOp):
    """The list of some variables, all of one type.

    See Also
    --------
    theano.typed_list.GetItem : An element of a list, or the list of a slice of it.
    theano.typed_list.Append : The list with an element more at its end.
    theano.typed_list.make_list : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> [float(v) for v in make_list([x, x * x]).eval({x: 3.0})]
    [3.0, 9.0]
    >>> make_list([x, [1.0]])
    Traceback (most recent call last):
    TypeError: MakeList needs variables of one type, got TensorType(float64, scalar) and TensorType(float64, (True,))
    """

    def make_node(self, a: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        a : list or tuple
            Variables of one type, or values that become tensors.

        Raises
        ------
        TypeError
            `a` is no list, is empty, or has elements of different types.
        """
        if not isinstance(a, (list, tuple)) or not a:
            raise TypeError(f"{self} takes a list or tuple with at least one variable, got {a!r}")
        elements = [x if isinstance(x, Variable) else as_tensor_variable(x) for x in a]
        first = elements[0].type
        for x in elements:
            if x.type != first:
                raise TypeError(f"{self} needs variables of one type, got {first} and {x.type}")
        return Apply(self, elements, [TypedListType(first)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = [_owned(x) for x in inputs]


#: Element or slice of a list: ``getitem(x, index)``.
getitem = GetItem()
#: List with an element at the end: ``append(x, y)``.
append = Append()
#: List followed by another list: ``extend(x, toAppend)``.
extend = Extend()
#: List with an element before a position: ``insert(x, index, toInsert)``.
insert = Insert()
#: List without the first element that equals `toRemove`: ``remove(x, toRemove)``.
remove = Remove()
#: List in the opposite order: ``reverse(x)``.
reverse = Reverse()
#: Position of the first element that equals `elem`: ``index_(x, elem)``.
index_ = Index()
#: Number of elements that equal `elem`: ``count(x, elem)``.
count = Count()
#: Number of elements: ``length(x)``.
length = Length()
#: List of some variables: ``make_list(a)``.
make_list = MakeList()

__getattr__, __dir__ = aliases.lazy(__name__)

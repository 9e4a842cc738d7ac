"""Types of what is no tensor but appears in indices: slices and None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply, Constant
from theano.gof.op import Op
from theano.gof.type import Generic, SingletonType
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import as_tensor_variable

__all__ = [
    "MakeSlice",
    "NoneConst",
    "NoneTypeT",
    "SliceConstant",
    "SliceType",
    "make_slice",
    "none_type_t",
    "slicetype",
]


def as_int_none_variable(x: Any) -> Any:
    """Return `x` as an integer scalar variable, or as the constant None.

    Parameters
    ----------
    x : int, scalar or None
        What stands in a slice.

    Raises
    ------
    TypeError
        If `x` is no integer scalar.

    See Also
    --------
    theano.tensor.as_index_variable : Return an entry of an advanced index as a variable: a tensor, a slice or None.
    theano.tensor.as_tensor_variable : Turn `x` into a tensor variable or constant.

    Examples
    --------
    >>> as_int_none_variable(None), as_int_none_variable(3)
    (NoneConst, TensorConstant{3})
    >>> as_int_none_variable(2.5)
    Traceback (most recent call last):
        ...
    TypeError: index must be integers
    """
    if x is None:
        return NoneConst
    if NoneConst.equals(x):
        return x
    x = as_tensor_variable(x, ndim=0)
    if x.type.dtype[:3] not in ("int", "uin"):
        raise TypeError("index must be integers")
    return x


class MakeSlice(Op):
    """The slice of a start, a stop and a step, each an integer scalar or None.

    See Also
    --------
    theano.tensor.make_slice : Return the symbolic slice of a Python slice, or of its parts; see `MakeSlice`.
    theano.tensor.SliceType : The type of Python slices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> stop = T.iscalar("stop")
    >>> MakeSlice()(1, stop, None).eval({stop: 4})
    slice(1, 4, None)
    """

    __props__ = ()

    def make_node(self, slc: Any, stop: Any = None, step: Any = None) -> Apply:
        if isinstance(slc, slice):
            if stop is not None or step is not None:
                raise TypeError("give a slice or its parts, not both")
            parts = [slc.start, slc.stop, slc.step]
        else:
            parts = [slc, stop, step]
        return Apply(self, [as_int_none_variable(part) for part in parts], [slicetype()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = slice(*[None if part is None else int(part) for part in inputs])

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] for _ in node.inputs]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()() for _ in inputs]


class SliceType(SingletonType):
    """The type of Python slices.

    See Also
    --------
    theano.tensor.make_slice : Return the symbolic slice of a Python slice, or of its parts; see `MakeSlice`.
    theano.tensor.MakeSlice : The slice of a start, a stop and a step, each an integer scalar or None.
    theano.tensor.NoneTypeT : The type of None.

    Examples
    --------
    >>> slicetype.filter(slice(0, 2))
    slice(0, 2, None)
    >>> slicetype.filter(3)
    Traceback (most recent call last):
        ...
    TypeError: Expected a slice!
    """

    def filter(self, x: Any, strict: bool = False, allow_downcast: bool | None = None) -> slice:
        if isinstance(x, slice):
            return x
        raise TypeError("Expected a slice!")

    def __str__(self) -> str:
        return "slice"

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        return isinstance(a, slice) and a is b


slicetype = SliceType()


class SliceConstant(Constant):
    """A constant slice.

    Parameters
    ----------
    type : SliceType
        Its type.
    data : slice
        The slice.
    name : str, optional
        The variable's name.

    See Also
    --------
    theano.tensor.SliceType : The type of Python slices.

    Examples
    --------
    >>> SliceConstant(slicetype, slice(1, 3)).data
    slice(1, 3, None)
    """

    def __init__(self, type: SliceType, data: slice, name: str | None = None) -> None:
        if not isinstance(data, slice):
            raise TypeError(f"expected a slice, got {data!r}")
        # NumPy's integers are not equal to Python's in pickles and signatures.
        parts = [int(p) if isinstance(p, (np.integer, np.ndarray)) else p for p in (data.start, data.stop, data.step)]
        super().__init__(type, slice(*parts), name)

    def signature(self) -> tuple[Any, ...]:
        return (SliceConstant, self.data.start, self.data.stop, self.data.step)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.data.start}, {self.data.stop}, {self.data.step}}}"


SliceType.Constant = SliceConstant  # type: ignore[attr-defined]

_make_slice_op = MakeSlice()


def make_slice(slc: Any, stop: Any = None, step: Any = None):
    """Return the symbolic slice of a Python slice, or of its parts; see :class:`MakeSlice`.

    Parameters
    ----------
    slc : slice, or its start
        A Python slice alone, or the first of three parts.
    stop, step : int, integer scalar or None
        The other parts.

    Returns
    -------
    Variable
        Of the type ``slicetype``.

    See Also
    --------
    theano.tensor.MakeSlice : The slice of a start, a stop and a step, each an integer scalar or None.
    theano.tensor.SliceType : The type of Python slices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.arange(5)[T.make_slice(1, 3)].eval()
    array([1, 2])
    """
    parts = (slc.start, slc.stop, slc.step) if isinstance(slc, slice) else (slc, stop, step)
    if all(part is None or isinstance(part, (int, np.integer)) for part in parts):
        return SliceConstant(slicetype, slice(*parts))
    return _make_slice_op(*parts)


class NoneTypeT(Generic):
    """The type of None.

    See Also
    --------
    theano.tensor.SliceType : The type of Python slices.

    Examples
    --------
    >>> NoneConst.type == NoneTypeT(), NoneConst.data is None
    (True, True)
    >>> NoneTypeT().filter(0)
    Traceback (most recent call last):
        ...
    TypeError: Expected None!
    """

    def filter(self, x: Any, strict: bool = False, allow_downcast: bool | None = None) -> None:
        if x is None:
            return
        raise TypeError("Expected None!")

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        return False


none_type_t = NoneTypeT()

NoneConst = Constant(none_type_t, None, name="NoneConst")

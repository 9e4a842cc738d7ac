"""Advanced indexing, by integer arrays and boolean masks: reading, assigning and adding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.hooks import Hook
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import ShapeError, as_tensor_variable, constant
from theano.tensor.math import cast, discrete_dtypes, eq, integer_dtypes, switch
from theano.tensor.slicing import IncrementOp, slice_len
from theano.tensor.static_shape import known_shape
from theano.tensor.type import TensorType, ops
from theano.tensor.type_other import MakeSlice, NoneConst, NoneTypeT, SliceType, make_slice

#: ``construct_sparse_from_list(x, rows, indices)``: a sparse matrix like `x` of given rows; sparse matrices fill it.
construct_sparse_from_list = Hook("makes sparse matrices")


class AdvancedSubtensor1(Op):
    """The rows of a tensor at a vector of integer positions: ``x[indices]``.

    Parameters
    ----------
    sparse_grad : bool
        Whether the gradient of a matrix is a sparse matrix that holds the selected rows only.

    See Also
    --------
    theano.sparse_grad : Return a variable with the same value, whose gradient is kept in a sparse format.
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.
    theano.tensor.AdvancedBooleanSubtensor : The elements of a tensor where boolean masks are true, mixed with integers,
        slices and None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> words = T.constant([[1, 2], [3, 4], [5, 6]])
    >>> AdvancedSubtensor1()(words, T.constant([2, 0])).eval().tolist()
    [[5, 6], [1, 2]]
    """

    __props__ = ("sparse_grad",)
    _f16_ok = True
    check_input = False

    def __init__(self, sparse_grad: bool = False) -> None:
        self.sparse_grad = sparse_grad

    def __str__(self) -> str:
        return type(self).__name__ + ("{sparse}" if self.sparse_grad else "")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("sparse_grad", False)

    def make_node(self, x: Any, ilist: Any) -> Apply:
        x, ilist = as_tensor_variable(x), as_tensor_variable(ilist)
        _check_index_vector(x, ilist)
        pattern = (ilist.type.broadcastable[0], *x.type.broadcastable[1:])
        return Apply(self, [x, ilist], [TensorType(x.type.dtype, pattern)()])

    def static_shape(self, node: Apply, shape_of: Any) -> list[int | None] | None:
        x, ilist = node.inputs
        if shape_of(x) is None and shape_of(ilist) is None:
            return None
        return [*known_shape(ilist), *known_shape(x)[1:]]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, index = inputs
        try:
            output_storage[0][0] = x.take(index, axis=0)
        except IndexError:
            raise IndexError(f"index out of bounds for the first dimension of length {x.shape[0]}") from None

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x_shape, index_shape = in_shapes
        return [tuple(index_shape) + tuple(x_shape[1:])]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, ilist = inputs
        (gz,) = grads
        if self.sparse_grad:
            if x.type.ndim != 2:
                raise TypeError(
                    f"AdvancedSubtensor1: the sparse gradient is of matrices only, the input has {x.type.ndim} dimensions"
                )
            return [construct_sparse_from_list(x, gz, ilist), DisconnectedType()()]
        if x.dtype in discrete_dtypes:
            gx = x.zeros_like(dtype=config.floatX)
        elif x.dtype.startswith("complex"):
            raise NotImplementedError("No support for complex grad yet")
        else:
            gx = advanced_inc_subtensor1(x.zeros_like(), gz, ilist)
        return [gx, DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None]
        return self.make_node(eval_points[0], *inputs[1:]).outputs


def _check_index_vector(x: Any, ilist: Any) -> None:
    if ilist.type.dtype not in integer_dtypes:
        raise TypeError(f"index must be integers, got {ilist.type}")
    if ilist.type.ndim != 1:
        raise TypeError(f"index must be vector, got {ilist.type}")
    if x.type.ndim == 0:
        raise TypeError("cannot index into a scalar")


class AdvancedIncSubtensor1(IncrementOp):
    """A copy of a tensor with the rows at a vector of positions incremented by rows, or set to them.

    Rows of positions that are there several times are added all; of assigned ones the last stays.

    Parameters
    ----------
    inplace : bool
        Write into the tensor itself.
    set_instead_of_inc : bool
        Assign instead of adding.

    See Also
    --------
    theano.tensor.AdvancedBooleanIncSubtensor : Increments or sets the elements of a tensor where boolean masks are true.
    theano.tensor.AdvancedIncSubtensor : Increments or sets the elements of a tensor at integer arrays, mixed with slices
        and None.
    theano.tensor.advanced_inc_subtensor1 : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> rows = T.constant([0, 2, 0])
    >>> AdvancedIncSubtensor1()(T.zeros(3), T.ones(3), rows).eval().tolist()
    [2.0, 0.0, 1.0]
    >>> AdvancedIncSubtensor1(set_instead_of_inc=True)(T.zeros(3), T.constant([5.0, 6.0, 7.0]), rows).eval().tolist()
    [7.0, 0.0, 6.0]
    """

    check_input = False

    def clone_inplace(self) -> AdvancedIncSubtensor1:
        return type(self)(inplace=True, set_instead_of_inc=self.set_instead_of_inc)

    def make_node(self, x: Any, y: Any, ilist: Any) -> Apply:
        x, y, ilist = as_tensor_variable(x), as_tensor_variable(y), as_tensor_variable(ilist)
        _check_index_vector(x, ilist)
        if y.type.ndim > x.type.ndim:
            verb = "set" if self.set_instead_of_inc else "increment"
            raise TypeError(
                f"cannot {verb} x subtensor with ndim={x.type.ndim} by y with ndim={y.type.ndim}"
            )
        return Apply(self, [x, y, ilist], [x.type()])

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return self._grad(inputs, grads[0], advanced_subtensor1, advanced_set_subtensor1)


advanced_subtensor1 = AdvancedSubtensor1()
advanced_inc_subtensor1 = AdvancedIncSubtensor1()
advanced_set_subtensor1 = AdvancedIncSubtensor1(set_instead_of_inc=True)


def as_index_variable(idx: Any) -> Any:
    """Return an entry of an advanced index as a variable: a tensor, a slice or None.

    Parameters
    ----------
    idx : int, slice, None, array, list or Variable
        The entry.

    Returns
    -------
    Variable
        Of an integer or boolean tensor, a slice, or None.

    Raises
    ------
    TypeError
        If it is neither integer nor boolean.

    See Also
    --------
    theano.tensor.as_tensor_variable : Turn `x` into a tensor variable or constant.
    theano.tensor.type_other.as_int_none_variable : Return `x` as an integer scalar variable, or as the constant None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.as_index_variable(slice(1, 3)).type, T.as_index_variable([0, 2]).type
    (<theano.tensor.type_other.SliceType object at ...>, TensorType(int64, vector))
    """
    if idx is None:
        return NoneConst.clone()
    if isinstance(idx, slice):
        return make_slice(idx)
    if isinstance(idx, Variable) and isinstance(idx.type, (SliceType, NoneTypeT)):
        return idx
    if isinstance(idx, (bool, np.bool_)):
        return constant(np.asarray(idx))
    idx = as_tensor_variable(idx)
    if idx.type.dtype not in discrete_dtypes and idx.type.dtype != "bool":
        if isinstance(idx, Constant) and idx.data.size == 0:
            return constant(idx.data.astype("int64"))
        raise TypeError(f"index must be integers or a boolean mask, got {idx.type}")
    return idx


class _Position:
    """One entry of an advanced index, and the dimensions of the tensor that it takes.

    Attributes
    ----------
    kind : {'slice', 'none', 'int', 'bool'}
    entry : variable
    axis : int
        The first dimension that it takes.
    taken : int
        The number of dimensions that it takes.
    """

    __slots__ = ("axis", "entry", "kind", "taken")

    def __init__(self, kind: str, entry: Any, axis: int, taken: int) -> None:
        self.kind = kind
        self.entry = entry
        self.axis = axis
        self.taken = taken


def _positions(ndim: int, index: Sequence[Any]) -> list[_Position]:
    result = []
    axis = 0
    for entry in index:
        if isinstance(entry.type, NoneTypeT):
            kind, taken = "none", 0
        elif isinstance(entry.type, SliceType):
            kind, taken = "slice", 1
        elif entry.type.dtype == "bool":
            kind, taken = "bool", entry.type.ndim
        else:
            kind, taken = "int", 1
        result.append(_Position(kind, entry, axis, taken))
        axis += taken
    if axis > ndim:
        raise IndexError(f"too many indices for array: {axis} for a tensor of {ndim} dimensions")
    return result


def _layout(positions: Sequence[_Position]) -> tuple[int, bool]:
    """Return the rank of the broadcast arrays of an index, and whether their dimensions come first in the result."""
    arrays = [i for i, p in enumerate(positions) if p.kind in ("int", "bool")]
    rank = max([p.entry.type.ndim if p.kind == "int" else 1 for p in positions if p.kind in ("int", "bool")], default=0)
    contiguous = bool(arrays) and arrays[-1] - arrays[0] + 1 == len(arrays)
    return rank, not contiguous


def _result_dims(ndim: int, positions: Sequence[_Position]) -> list[tuple[str, Any]]:
    """Return what each dimension of the result is.

    Entries are ``('array', k)`` for dimension `k` of the broadcast arrays, ``('new', None)``, ``('slice', position)``
    and ``('kept', axis)``.
    """
    rank, first = _layout(positions)
    array_dims: list[tuple[str, Any]] = [("array", k) for k in range(rank)]
    result: list[tuple[str, Any]] = list(array_dims) if first else []
    placed = first
    for p in positions:
        if p.kind == "none":
            result.append(("new", None))
        elif p.kind == "slice":
            result.append(("slice", p))
        elif not placed:
            result.extend(array_dims)
            placed = True
    used = sum(p.taken for p in positions)
    result.extend([("kept", axis) for axis in range(used, ndim)])
    return result


def _constant_slice(entry: Any) -> slice | None:
    if isinstance(entry, Constant):
        return entry.data
    if entry.owner is not None and isinstance(entry.owner.op, MakeSlice):
        return slice(*[None if NoneConst.equals(part) else part for part in entry.owner.inputs])
    return None


def adv_index_broadcastable_pattern(a: Any, idx: Sequence[Any]) -> tuple[bool, ...]:
    """Return the broadcast pattern of ``a[idx]``, where `idx` holds at least one array.

    Parameters
    ----------
    a : tensor variable
        What is indexed.
    idx : sequence
        The entries of the index: arrays, slices, integers, None.

    Returns
    -------
    tuple of bool
        One flag for each dimension of the result.

    See Also
    --------
    theano.tensor.AdvancedSubtensor : The elements of a tensor at integer arrays, mixed with slices and None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.adv_index_broadcastable_pattern(T.dmatrix(), (None, T.lvector()))
    (True, False, False)
    """
    index = [as_index_variable(i) for i in idx]
    positions = _positions(a.ndim, index)
    rank, _ = _layout(positions)
    array_flags = [True] * rank
    for p in positions:
        if p.kind == "int":
            for k, flag in enumerate(p.entry.type.broadcastable):
                if not flag:
                    array_flags[rank - p.entry.type.ndim + k] = False
        elif p.kind == "bool":
            array_flags[rank - 1] = False
    pattern = []
    for kind, what in _result_dims(a.ndim, positions):
        if kind == "array":
            pattern.append(array_flags[what])
        elif kind == "new":
            pattern.append(True)
        elif kind == "kept":
            pattern.append(a.type.broadcastable[what])
        else:
            whole = _constant_slice(what.entry)
            pattern.append(bool(whole == slice(None) and a.type.broadcastable[what.axis]))
    return tuple(pattern)


class BaseAdvancedSubtensor(Op):
    """The elements of a tensor at an index of integer arrays, masks, slices and None, as NumPy gives them.

    See Also
    --------
    theano.tensor.AdvancedSubtensor : The elements of a tensor at integer arrays, mixed with slices and None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> diagonal = T.dmatrix()[[0, 1], [0, 1]]
    >>> isinstance(diagonal.owner.op, BaseAdvancedSubtensor), diagonal.ndim
    (True, 1)
    """

    __props__ = ()

    def make_node(self, x: Any, *index: Any) -> Apply:
        x = as_tensor_variable(x)
        entries = [as_index_variable(i) for i in index]
        pattern = adv_index_broadcastable_pattern(x, entries)
        return Apply(self, [x, *entries], [TensorType(x.type.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        result = inputs[0][tuple(inputs[1:])]
        if isinstance(result, np.ndarray) and result.base is not None and np.may_share_memory(result, inputs[0]):
            result = result.copy()
        output_storage[0][0] = np.asarray(result)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x = node.inputs[0]
        positions = _positions(x.ndim, node.inputs[1:])
        rank, _ = _layout(positions)
        shapes = dict(zip(range(len(positions)), in_shapes[1:]))
        lengths: list[Any] = [constant(1, dtype="int64")] * rank
        given: set[int] = set()
        for number, p in enumerate(positions):
            if p.kind == "int":
                for k, flag in enumerate(p.entry.type.broadcastable):
                    if not flag:
                        d = rank - p.entry.type.ndim + k
                        known, length = lengths[d], shapes[number][k]
                        # Index arrays broadcast also where their types do not say so.
                        lengths[d] = length if d not in given else switch(eq(known, 1), length, known)
                        given.add(d)
            elif p.kind == "bool":
                lengths[rank - 1] = ops.sum(cast(p.entry, "int64"))
        result = []
        for kind, what in _result_dims(x.ndim, positions):
            if kind == "array":
                result.append(lengths[what])
            elif kind == "new":
                result.append(constant(1, dtype="int64"))
            elif kind == "kept":
                result.append(in_shapes[0][what])
            else:
                known = _constant_slice(what.entry)
                if known is None:
                    raise ShapeError(f"the slice {what.entry} is not known")
                result.append(slice_len(known, in_shapes[0][what.axis]))
        return [tuple(result)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None]
        return self.make_node(eval_points[0], *inputs[1:]).outputs

    def _grad(self, inputs: Sequence[Any], gz: Any, add: Any) -> list[Any]:
        x, rest = inputs[0], inputs[1:]
        if x.dtype in discrete_dtypes:
            gx = x.zeros_like(dtype=config.floatX)
        elif x.dtype.startswith("complex"):
            raise NotImplementedError("No support for complex grad yet")
        else:
            gx = add(x.zeros_like(), gz, *rest)
        return [gx] + [DisconnectedType()() for _ in rest]


class AdvancedSubtensor(BaseAdvancedSubtensor):
    """The elements of a tensor at integer arrays, mixed with slices and None.

    The inputs are the tensor and the entries of the index: arrays of integers, slices, None. ``x[index]`` makes it.

    See Also
    --------
    theano.tensor.adv_index_broadcastable_pattern : Return the broadcast pattern of ``a[idx]``, where `idx` holds at least
        one array.
    theano.tensor.Subtensor : A view of a tensor selected by integers and slices.
    theano.tensor.IncSubtensor : A copy of a tensor with the part selected by an index incremented by a value, or set to
        it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.arange(6).reshape((2, 3))
    >>> x[[1, 0], [2, 2]].eval()
    array([5, 2])
    """

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return self._grad(inputs, grads[0], advanced_inc_subtensor)


class AdvancedBooleanSubtensor(BaseAdvancedSubtensor):
    """The elements of a tensor where boolean masks are true, mixed with integers, slices and None.

    The inputs are the tensor and the entries of the index. ``x[mask]`` makes it; the length of the result is known
    when it runs.

    See Also
    --------
    theano.tensor.AdvancedSubtensor : The elements of a tensor at integer arrays, mixed with slices and None.
    theano.tensor.AdvancedSubtensor1 : The rows of a tensor at a vector of integer positions: ``x[indices]``.
    theano.tensor.advanced_boolean_subtensor : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.arange(4)
    >>> x[x > 1].eval()
    array([2, 3])
    """

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return self._grad(inputs, grads[0], advanced_boolean_inc_subtensor)


class BaseAdvancedIncSubtensor(IncrementOp):
    """A copy of a tensor with the elements at an advanced index incremented by a value, or set to it.

    Parameters
    ----------
    inplace : bool
        Write into the tensor itself.
    set_instead_of_inc : bool
        Assign instead of adding. Added are all values of positions that are there several times.

    See Also
    --------
    theano.tensor.AdvancedIncSubtensor : Increments or sets the elements of a tensor at integer arrays, mixed with slices
        and None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.zeros((2, 2))
    >>> y = T.inc_subtensor(x[[0, 0], [1, 1]], 1.0)
    >>> isinstance(y.owner.op, BaseAdvancedIncSubtensor), y.owner.op.set_instead_of_inc
    (True, False)
    >>> y.eval().tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """

    def __str__(self) -> str:
        return f"{type(self).__name__}{{inplace={self.inplace},  set_instead_of_inc={self.set_instead_of_inc}}}"

    def make_node(self, x: Any, y: Any, *index: Any) -> Apply:
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        entries = [as_index_variable(i) for i in index]
        # Raises where the index takes more dimensions than there are.
        adv_index_broadcastable_pattern(x, entries)
        return Apply(self, [x, y, *entries], [x.type()])


class AdvancedIncSubtensor(BaseAdvancedIncSubtensor):
    """Increments or sets the elements of a tensor at integer arrays, mixed with slices and None.

    See Also
    --------
    theano.tensor.AdvancedIncSubtensor1 : A copy of a tensor with the rows at a vector of positions incremented by rows,
        or set to them.
    theano.tensor.AdvancedBooleanIncSubtensor : Increments or sets the elements of a tensor where boolean masks are true.
    theano.tensor.BaseAdvancedIncSubtensor : A copy of a tensor with the elements at an advanced index incremented by a
        value, or set to it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> corners = AdvancedIncSubtensor()(T.zeros((2, 3)), 1.0, T.constant([0, 1]), T.constant([0, 2]))
    >>> corners.eval().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return self._grad(inputs, grads[0], advanced_subtensor, advanced_set_subtensor)


class AdvancedBooleanIncSubtensor(BaseAdvancedIncSubtensor):
    """Increments or sets the elements of a tensor where boolean masks are true.

    See Also
    --------
    theano.tensor.AdvancedIncSubtensor : Increments or sets the elements of a tensor at integer arrays, mixed with slices
        and None.
    theano.tensor.AdvancedIncSubtensor1 : A copy of a tensor with the rows at a vector of positions incremented by rows,
        or set to them.
    theano.tensor.advanced_boolean_inc_subtensor : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> op = AdvancedBooleanIncSubtensor(set_instead_of_inc=True)
    >>> op(x, 0.0, x < 0).eval({x: [1.0, -2.0, 3.0]}).tolist()
    [1.0, 0.0, 3.0]
    """

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return self._grad(inputs, grads[0], advanced_boolean_subtensor, advanced_boolean_set_subtensor)


advanced_subtensor = AdvancedSubtensor()
advanced_inc_subtensor = AdvancedIncSubtensor()
advanced_set_subtensor = AdvancedIncSubtensor(set_instead_of_inc=True)
advanced_boolean_subtensor = AdvancedBooleanSubtensor()
advanced_boolean_inc_subtensor = AdvancedBooleanIncSubtensor()
advanced_boolean_set_subtensor = AdvancedBooleanIncSubtensor(set_instead_of_inc=True)

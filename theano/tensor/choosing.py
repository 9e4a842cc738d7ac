"""Selection of elements: choose, permutations of rows, what is not zero, a default; and moving variables between devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType, grad_undefined
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.creation import arange
from theano.tensor.joining import stack
from theano.tensor.math import clip, discrete_dtypes, eq, integer_dtypes, maximum, mod, switch
from theano.tensor.shaping import patternbroadcast, shape_padleft
from theano.tensor.type import TensorType


class Choose(Op):
    """For each index of the first input, the element of that choice at the same place.

    The choices are the other inputs, or, if there is one only, its elements along the first dimension. Index and
    choices broadcast.

    Parameters
    ----------
    mode : {'raise', 'wrap', 'clip'}
        What happens to an index that is out of bounds.

    See Also
    --------
    theano.tensor.choose : Return, for each index of `a`, the element of that choice at the same place, as
        ``numpy.choose``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.constant([1, 2, 3]), T.constant([10, 20, 30])
    >>> Choose("raise")(T.constant([0, 1, 0]), a, b).eval().tolist()
    [1, 20, 3]
    >>> Choose("wrap")(T.constant([0, 3, 4]), a, b).eval().tolist()
    [1, 20, 3]
    """

    __props__ = ("mode",)

    def __init__(self, mode: str) -> None:
        if mode not in ("raise", "wrap", "clip"):
            raise ValueError(f"mode of choose has to be 'raise', 'wrap' or 'clip', got {mode!r}")
        self.mode = mode

    def make_node(self, a: Any, *choices: Any) -> Apply:
        a = as_tensor_variable(a)
        if a.dtype not in discrete_dtypes:
            raise TypeError(f"choose first argument must have an [u]int* dtype. Got {a.dtype}.")
        if a.dtype == "bool":
            a = a.astype("int8")
        variables = [as_tensor_variable(c) for c in choices]
        if not variables:
            raise ValueError("choose needs something to choose from")
        if len(variables) == 1 and variables[0].ndim == 0:
            raise TypeError("the choices need a first dimension, along which they are counted")
        patterns = [self._choice_pattern(c, len(variables)) for c in variables] + [a.type.broadcastable]
        ndim = max(len(p) for p in patterns)
        padded = [(True,) * (ndim - len(p)) + tuple(p) for p in patterns]
        dtype = np.result_type(*[c.dtype for c in variables]).name
        return Apply(self, [a, *variables], [TensorType(dtype, [all(column) for column in zip(*padded)])()])

    @staticmethod
    def _choice_pattern(choice: Any, count: int) -> Sequence[bool]:
        return choice.type.broadcastable[1:] if count == 1 else choice.type.broadcastable

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        a, choices = inputs[0], inputs[1:]
        pieces = list(choices[0]) if len(choices) == 1 else list(choices)
        index, *pieces = np.broadcast_arrays(a, *pieces)
        count = len(pieces)
        if self.mode == "raise":
            if index.size and (index.min() < 0 or index.max() >= count):
                raise ValueError("invalid entry in choice array")
        elif self.mode == "wrap":
            index = index % count
        else:
            index = np.clip(index, 0, count - 1)
        result = np.take_along_axis(np.stack(pieces), np.asarray(index, dtype="int64")[None], axis=0)[0]
        output_storage[0][0] = np.asarray(result, dtype=node.outputs[0].type.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        shapes = [in_shapes[0]]
        patterns = [node.inputs[0].type.broadcastable]
        for choice, choice_shape in zip(node.inputs[1:], in_shapes[1:]):
            single = len(node.inputs) == 2
            shapes.append(choice_shape[1:] if single else choice_shape)
            patterns.append(self._choice_pattern(choice, len(node.inputs) - 1))
        ndim = node.outputs[0].ndim
        result = []
        for i in range(ndim):
            length = 1
            for s, p in zip(shapes, patterns):
                k = i - (ndim - len(p))
                if k >= 0 and not p[k]:
                    length = s[k]
                    break
            result.append(as_tensor_variable(length))
        return [tuple(result)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]] + [[True]] * (len(node.inputs) - 1)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        a, choices = inputs[0], inputs[1:]
        (gz,) = grads
        single = len(choices) == 1
        count = choices[0].shape[0] if single else len(choices)
        index = a
        if self.mode == "wrap":
            index = mod(a, count)
        elif self.mode == "clip":
            index = clip(a, 0, maximum(count - 1, 0))
        if index.ndim < gz.ndim:
            index = shape_padleft(index, gz.ndim - index.ndim)
        if single:
            numbers = arange(count).dimshuffle(0, *["x"] * gz.ndim)
            full = switch(eq(index.dimshuffle("x", *range(gz.ndim)), numbers), gz.dimshuffle("x", *range(gz.ndim)), 0)
            return [DisconnectedType()(), _summed_to(full, choices[0], lead=1)]
        return [DisconnectedType()()] + [
            _summed_to(switch(eq(index, k), gz, 0), choice, lead=0) for k, choice in enumerate(choices)
        ]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        points = eval_points[1:]
        if all(point is None for point in points):
            return [None]
        return [self(inputs[0], *[x.zeros_like() if p is None else p for x, p in zip(inputs[1:], points)])]


def _summed_to(g: Any, x: Any, lead: int):
    """Sum the gradient `g` over the dimensions after the first `lead` along which `x` was broadcast."""
    extra = g.ndim - x.ndim
    if extra:
        g = g.sum(axis=list(range(lead, lead + extra)))
    spread = [i for i in range(lead, x.ndim) if x.type.broadcastable[i] and not g.type.broadcastable[i]]
    if spread:
        g = g.sum(axis=spread, keepdims=True)
    return patternbroadcast(g, x.type.broadcastable)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise"):
    """Return, for each index of `a`, the element of that choice at the same place, as ``numpy.choose``.

    Parameters
    ----------
    a : integer tensor_like
        Which of the choices to take at each place, from 0.
    choices : sequence of tensors, or tensor
        A tensor is a sequence of its elements along the first dimension. All broadcast with `a`.
    out : None
        Not supported.
    mode : {'raise', 'wrap', 'clip'}
        What happens to an index that is out of bounds.

    Returns
    -------
    TensorVariable
        Of the dtype of `choices`, and the shape that all broadcast to.

    Raises
    ------
    ValueError
        At run time with mode 'raise', if an index is out of bounds.

    See Also
    --------
    theano.tensor.set_subtensor : Return a copy of the indexed tensor with the part `x` replaced by `y`.
    theano.tensor.take : Return the elements of `a` at `indices` along an axis, as ``numpy.take``.
    theano.tensor.Choose : For each index of the first input, the element of that choice at the same place.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]]).eval()
    array([ 1, 20,  3])
    """
    if out is not None:
        raise NotImplementedError("choose(out=) is not supported: results are new variables")
    if isinstance(choices, (list, tuple)):
        pieces = [as_tensor_variable(c) for c in choices]
        if len(pieces) == 1:
            return Choose(mode)(a, stack(pieces))
        return Choose(mode)(a, *pieces)
    return Choose(mode)(a, choices)


class PermuteRowElements(Op):
    """Permute the elements of each row, the last dimension, by the matching row of a permutation.

    Inputs: the tensor, the integer permutation, and a flag that asks for the inverse permutation. The leading
    dimensions of both broadcast.

    See Also
    --------
    theano.tensor.permute_row_elements : Return `x` with the elements of each row permuted by the integers `y`, or by the
        inverse permutation.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, order = T.constant([[10, 20, 30]]), T.constant([[2, 0, 1]])
    >>> PermuteRowElements()(x, order, 0).eval().tolist(), PermuteRowElements()(x, order, 1).eval().tolist()
    ([[30, 10, 20]], [[20, 30, 10]])
    """

    __props__ = ()

    def make_node(self, x: Any, y: Any, inverse: Any) -> Apply:
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        inverse = as_tensor_variable(1 if inverse is True else 0 if inverse is False else inverse)
        if y.type.dtype not in integer_dtypes:
            raise TypeError(f"the permutation has to be of integers, got {y.type}")
        if inverse.type.ndim or inverse.type.dtype not in integer_dtypes:
            raise TypeError(f"inverse has to be an integer scalar, got {inverse.type}")
        if x.type.ndim < y.type.ndim:
            x = shape_padleft(x, y.type.ndim - x.type.ndim)
        elif y.type.ndim < x.type.ndim:
            y = shape_padleft(y, x.type.ndim - y.type.ndim)
        pattern = [a and b for a, b in zip(x.type.broadcastable, y.type.broadcastable)]
        return Apply(self, [x, y, inverse], [TensorType(x.type.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, y, inverse = inputs
        if x.shape[-1] != y.shape[-1]:
            raise ValueError(f"rows of {x.shape[-1]} elements and a permutation of {y.shape[-1]}")
        lead = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
        x = np.broadcast_to(x, (*lead, x.shape[-1]))
        y = np.broadcast_to(y, (*lead, y.shape[-1])).astype("int64")
        if inverse:
            # Integers that name a place twice, and are no permutation, leave another place out.
            result = np.zeros(x.shape, dtype=x.dtype)
            np.put_along_axis(result, y, x, axis=-1)
        else:
            result = np.take_along_axis(x, y, axis=-1)
        output_storage[0][0] = result

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x_shape, y_shape = in_shapes[0], in_shapes[1]
        x = node.inputs[0]
        return [[y_shape[i] if x.type.broadcastable[i] else x_shape[i] for i in range(x.ndim)]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, y, inverse = inputs
        (gz,) = grads
        gx = permute_row_elements(gz, y, eq(inverse, 0))
        return [_summed_to(gx, x, lead=0), DisconnectedType()(), DisconnectedType()()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [self(eval_points[0], *inputs[1:])]


_permute_row_elements = PermuteRowElements()


def permute_row_elements(x: Any, y: Any, inverse: Any = 0):
    """Return `x` with the elements of each row permuted by the integers `y`, or by the inverse permutation.

    Parameters
    ----------
    x : tensor_like
        Of one or more dimensions, the last of which is permuted.
    y : integer tensor_like
        One permutation for all rows, or one for each.
    inverse : int, bool or scalar
        Whether the inverse permutation is meant.

    Returns
    -------
    TensorVariable
        Of the dtype of `x`.

    See Also
    --------
    theano.tensor.inverse_permutation : Return the inverse of a permutation, or of each row of a matrix of them.
    theano.tensor.PermuteRowElements : Permute the elements of each row, the last dimension, by the matching row of a
        permutation.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.permute_row_elements([[1, 2, 3], [4, 5, 6]], [2, 0, 1]).eval()
    array([[3, 1, 2],
           [6, 4, 5]])
    """
    if hasattr(inverse, "type") and getattr(inverse.type, "dtype", None) == "bool":
        inverse = inverse.astype("int8")
    return _permute_row_elements(x, y, inverse)


def inverse_permutation(perm: Any):
    """Return the inverse of a permutation, or of each row of a matrix of them.

    Parameters
    ----------
    perm : integer vector or matrix
        The permutation.

    Returns
    -------
    TensorVariable
        Of the type of `perm`.

    See Also
    --------
    theano.tensor.permute_row_elements : Return `x` with the elements of each row permuted by the integers `y`, or by the
        inverse permutation.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.inverse_permutation([2, 0, 1]).eval()
    array([1, 2, 0])
    """
    perm = as_tensor_variable(perm)
    return permute_row_elements(arange(perm.shape[-1], dtype=perm.dtype), perm, inverse=True)


_transfers: list[Callable[[Any, str], Any]] = []


def transfer(var: Any, target: str):
    """Return a version of `var` on the device `target`.

    Parameters
    ----------
    var : variable
        Of any type that can be on a device.
    target : str
        ``'cpu'``, or a name that a function given to :func:`register_transfer` knows.

    Returns
    -------
    Variable
        On the device.

    Raises
    ------
    ValueError
        If nobody knows `target`.

    See Also
    --------
    theano.tensor.register_transfer : Register ``fn(var, target)``, which returns `var` on the device `target`, or None
        for targets it does not know.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> T.transfer(x, "cpu") is x
    True
    """
    if target == "cpu":
        return as_tensor_variable(var)
    for function in _transfers:
        moved = function(var, target)
        if moved is not None:
            return moved
    raise ValueError(f"Can't transfer to target {target}")


def register_transfer(fn: Callable[[Any, str], Any]) -> None:
    """Register ``fn(var, target)``, which returns `var` on the device `target`, or None for targets it does not know.

    Parameters
    ----------
    fn : callable
        The function.

    See Also
    --------
    theano.tensor.transfer : Return a version of `var` on the device `target`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.register_transfer(lambda var, target: var.copy() if target == "elsewhere" else None)
    >>> T.transfer(T.constant(2), "elsewhere").eval()
    array(2, dtype=int8)
    """
    _transfers.append(fn)


class Nonzero(Op):
    """The indices of the elements that are not zero, one integer vector per dimension.

    See Also
    --------
    theano.tensor.nonzero : Return the indices of the elements of `a` that are not zero.

    Examples
    --------
    >>> import theano.tensor as T
    >>> rows, columns = Nonzero()(T.constant([[0, 5], [6, 0]]))
    >>> rows.eval().tolist(), columns.eval().tolist()
    ([0, 1], [1, 0])
    """

    __props__ = ()

    def make_node(self, a: Any) -> Apply:
        a = as_tensor_variable(a)
        if a.ndim == 0:
            raise ValueError("Nonzero only supports non-scalar arrays.")
        return Apply(self, [a], [TensorType("int64", (False,))() for _ in range(a.ndim)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        # NumPy's are the columns of one array.
        for out, index in zip(output_storage, np.nonzero(inputs[0])):
            out[0] = index.astype("int64", order="C")

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] * inputs[0].ndim

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grad_undefined(self, 0, inputs[0])]


_nonzero = Nonzero()


def nonzero(a: Any, return_matrix: bool = False):
    """Return the indices of the elements of `a` that are not zero.

    Parameters
    ----------
    a : tensor_like of at least one dimension
        Whose elements are looked at.
    return_matrix : bool
        Return one matrix with a row per dimension instead of a tuple of vectors.

    Returns
    -------
    tuple of int64 vectors, or int64 matrix

    See Also
    --------
    theano.tensor.flatnonzero : Return the indices of the elements that are not zero in the flattened `a`.
    theano.tensor.nonzero_values : Return a vector of the elements of `a` that are not zero, in row-major order.
    theano.tensor.Nonzero : The indices of the elements that are not zero, one integer vector per dimension.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [i.eval() for i in T.nonzero([[0, 7], [8, 0]])]
    [array([0, 1]), array([1, 0])]
    """
    found = _nonzero(a, return_list=True)
    if return_matrix:
        return stack(found, axis=0)
    return tuple(found)


def flatnonzero(a: Any):
    """Return the indices of the elements that are not zero in the flattened `a`.

    Parameters
    ----------
    a : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        A vector of int64.

    Raises
    ------
    ValueError
        If `a` has no dimensions.

    See Also
    --------
    theano.tensor.nonzero_values : Return a vector of the elements of `a` that are not zero, in row-major order.
    theano.tensor.nonzero : Return the indices of the elements of `a` that are not zero.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.flatnonzero([[0, 7], [8, 0]]).eval()
    array([1, 2])
    """
    a = as_tensor_variable(a)
    if a.ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    return nonzero(a.flatten())[0]


def nonzero_values(a: Any):
    """Return a vector of the elements of `a` that are not zero, in row-major order.

    Parameters
    ----------
    a : tensor_like
        Of any shape.

    Returns
    -------
    TensorVariable
        A vector of the dtype of `a`.

    See Also
    --------
    theano.tensor.nonzero : Return the indices of the elements of `a` that are not zero.
    theano.tensor.flatnonzero : Return the indices of the elements that are not zero in the flattened `a`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nonzero_values([0, 7, 8, 0]).eval()
    array([7, 8])
    """
    a = as_tensor_variable(a)
    return a.flatten()[flatnonzero(a)]


class Default(Op):
    """The first input, or the second where the first is None.

    Both have the same type, which is that of the output.

    See Also
    --------
    theano.tensor.default : An instance of it.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> node = default(T.dscalar("x"), np.float64(7.0)).owner
    >>> for x in (2.0, None):
    ...     storage = [None]
    ...     node.op.perform(node, [x, np.float64(7.0)], [storage])
    ...     print(float(storage[0]))
    2.0
    7.0
    """

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Any, default: Any) -> Apply:
        x, default = as_tensor_variable(x), as_tensor_variable(default)
        if x.type != default.type:
            raise TypeError(f"Both arguments of default have to have the same type: {x}, {default}")
        return Apply(self, [x, default], [default.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, fallback = inputs
        # The fallback is copied: the view map speaks of the first input only.
        output_storage[0][0] = fallback.copy() if x is None else x


default = Default()

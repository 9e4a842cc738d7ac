"""Tensors of given shapes: alloc, zeros, ones, eye, tri, arange, grids."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType, grad_undefined
from theano.printing.pretty import FunctionPrinter, pprint
from theano.tensor.conversion import (
    NotScalarConstantError,
    as_tensor_variable,
    constant,
    get_scalar_constant_value,
)
from theano.tensor.math import discrete_dtypes, fill, int_dtypes, maximum, uint_dtypes
from theano.tensor.static_shape import check_fits, known_int, lengths_of
from theano.tensor.type import TensorType, ops, tensor_type


def shape_entries(shape: Sequence[Any]) -> tuple[list[Any], tuple[bool, ...]]:
    """Return `shape` as int64-compatible scalar variables, and which of them are known to be 1.

    Parameters
    ----------
    shape : sequence of int or integer scalars
        The lengths.

    Returns
    -------
    tuple
        The lengths as variables of integers, and one flag for each: whether it is known to be 1.

    Raises
    ------
    TypeError
        If an entry is no integer scalar.

    See Also
    --------
    theano.tensor.Alloc : A tensor of a given shape filled with a value, which may itself be a tensor that broadcasts to
        that shape.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.alloc_validate_shape((1, T.lscalar("n")))
    ([TensorConstant{1}, n], (True, False))
    """
    entries, pattern = [], []
    for entry in shape:
        if type(entry) is int:
            entries.append(constant(entry, dtype="int64"))
            pattern.append(entry == 1)
            continue
        variable = as_tensor_variable(entry)
        if variable.ndim != 0 and all(variable.type.broadcastable):
            variable = variable.dimshuffle(())
        if variable.ndim != 0 or variable.dtype not in int_dtypes + uint_dtypes:
            raise TypeError(f"Shape arguments must be scalar integers, got {entry!r} of {variable.type}")
        entries.append(variable)
        try:
            pattern.append(bool(get_scalar_constant_value(variable) == 1))
        except NotScalarConstantError:
            pattern.append(False)
    return entries, tuple(pattern)


alloc_validate_shape = shape_entries


class Alloc(Op):
    """A tensor of a given shape filled with a value, which may itself be a tensor that broadcasts to that shape.

    Inputs: the value, then one integer scalar per dimension. Examples: ``Alloc()(0.0, 2, 3)``.

    See Also
    --------
    theano.tensor.alloc_validate_shape : Return `shape` as int64-compatible scalar variables, and which of them are known
        to be 1.
    theano.tensor.AllocEmpty : A tensor of a given shape and dtype with undefined contents, to be overwritten.
    theano.tensor.alloc : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> row = T.constant([1.0, 2.0])
    >>> Alloc()(row, 3, 2).eval().tolist()
    [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]
    """

    __props__ = ()
    _f16_ok = True

    def validate_shape(self, shape: Sequence[Any]) -> tuple[list[Any], tuple[bool, ...]]:
        return shape_entries(shape)

    def make_node(self, value: Any, *shape: Any) -> Apply:
        value = as_tensor_variable(value)
        entries, pattern = shape_entries(shape)
        if value.ndim > len(entries):
            raise TypeError(
                "The value of an Alloc has more dimensions than its shape: "
                f"{value.ndim} against {len(entries)}"
            )
        if value.type.ndim and lengths_of(value) is not None:
            check_fits(value, [known_int(n) for n in entries], f"{self}")
        return Apply(self, [value, *entries], [tensor_type(value.type.dtype, pattern)()])

    def __call__(self, value: Any, *shapes: Any, **kwargs: Any):
        result = super().__call__(value, *shapes, **kwargs)
        # Inside a rewrite an allocation that cannot broadcast is only its value; in a user's graph it also checks shapes.
        if hasattr(value, "fgraph") and result.type == value.type:
            return value
        return result

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        value, shape = inputs[0], tuple(int(n) for n in inputs[1:])
        (out,) = output_storage
        result = out[0]
        if result is None or result.shape != shape or result.dtype != value.dtype:
            result = np.empty(shape, dtype=value.dtype)
        result[...] = value
        out[0] = result

    def static_shape(self, node: Apply, shape_of: Any) -> Sequence[int | None]:
        return [known_int(n) for n in node.inputs[1:]]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [node.inputs[1:]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        value, gz = inputs[0], grads[0]
        new_axes = gz.ndim - value.ndim
        spread = [
            i + new_axes
            for i, (small, large) in enumerate(zip(value.broadcastable, gz.broadcastable[new_axes:]))
            if small and not large
        ]
        gx = gz
        if spread:
            gx = gx.sum(axis=spread, keepdims=True)
        if new_axes:
            gx = gx.sum(axis=list(range(new_axes)))
        unspread = [i for i, (a, b) in enumerate(zip(gx.broadcastable, value.broadcastable)) if a and not b]
        if unspread:
            gx = ops.unbroadcast(gx, *unspread)
        return [gx] + [DisconnectedType()() for _ in inputs[1:]]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None]
        return [self(eval_points[0], *inputs[1:])]

    def do_constant_folding(self, node: Apply) -> bool:
        clients = getattr(node.outputs[0], "clients", None)
        if not clients:
            return False
        for client, position in clients:
            # A folded constant would have to be copied by a client that could have written into a fresh allocation.
            if client == "output" or not isinstance(client, Apply):
                return False
            if position == 0 and getattr(client.op, "writes_first_input", False):
                return False
        return True


alloc = Alloc()
pprint.assign(alloc, FunctionPrinter("alloc"))


class AllocEmpty(Op):
    """A tensor of a given shape and dtype with undefined contents, to be overwritten.

    The inputs are the lengths, integer scalars.

    Parameters
    ----------
    dtype : str
        That of the result.

    See Also
    --------
    theano.tensor.alloc : A tensor of a given shape filled with a value, which may itself be a tensor that broadcasts to
        that shape.
    theano.tensor.Alloc : A tensor of a given shape filled with a value, which may itself be a tensor that broadcasts to
        that shape.
    theano.tensor.empty : Return a tensor with undefined contents; see `zeros`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.AllocEmpty("float32")(2, 3).type
    TensorType(float32, matrix)
    """

    __props__ = ("dtype",)
    _f16_ok = True

    def __init__(self, dtype: str) -> None:
        if not isinstance(dtype, str):
            raise TypeError(f"dtype has to be a string, got {dtype!r}")
        self.dtype = dtype.lower()

    def validate_shape(self, shape: Sequence[Any]) -> tuple[list[Any], tuple[bool, ...]]:
        return shape_entries(shape)

    def make_node(self, *shape: Any) -> Apply:
        entries, pattern = shape_entries(shape)
        output = TensorType(self.dtype, pattern)()
        output.tag.nan_guard_mode_check = False
        return Apply(self, entries, [output])

    def debug_perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        self.perform(node, inputs, output_storage)
        output_storage[0][0].fill(-123456789 if np.dtype(self.dtype).kind in "fci" else 1)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        shape = tuple(int(n) for n in inputs)
        (out,) = output_storage
        if out[0] is None or out[0].shape != shape:
            out[0] = np.empty(shape, dtype=self.dtype)

    def static_shape(self, node: Apply, shape_of: Any) -> Sequence[int | None]:
        return [known_int(n) for n in node.inputs]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [node.inputs]

    def do_constant_folding(self, node: Apply) -> bool:
        return False

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] for _ in node.inputs]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [DisconnectedType()() for _ in inputs]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [self(*inputs).zeros_like()]


def _as_shape(shape: Any) -> Any:
    if isinstance(shape, (np.ndarray, Sequence)):
        return shape
    if isinstance(shape, Variable) and getattr(shape, "ndim", 0) > 0:
        return shape
    return [shape]


def _floatx_unless(dtype: Any) -> Any:
    return config.floatX if dtype is None else dtype


def zeros(shape: Any, dtype: Any = None):
    """Return a tensor of zeros.

    Parameters
    ----------
    shape : int, scalar, sequence of these, or vector of known length
        The length of each dimension.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        Filled with zeros.

    See Also
    --------
    theano.tensor.ones : Return a tensor of ones; see `zeros`.
    theano.tensor.empty : Return a tensor with undefined contents; see `zeros`.
    theano.tensor.full : Return a tensor of `shape` whose elements are all `fill_value`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.zeros((2, 3), dtype='int8').eval().shape
    (2, 3)
    """
    return alloc(np.array(0, dtype=_floatx_unless(dtype)), *_as_shape(shape))


def ones(shape: Any, dtype: Any = None):
    """Return a tensor of ones; see :func:`zeros`.

    Parameters
    ----------
    shape : sequence of int or scalars, or integer vector
        The shape of the result.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        Filled with ones.

    See Also
    --------
    theano.tensor.empty : Return a tensor with undefined contents; see `zeros`.
    theano.tensor.zeros : Return a tensor of zeros.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ones((2, 2)).eval()
    array([[1., 1.],
           [1., 1.]])
    """
    return alloc(np.array(1, dtype=_floatx_unless(dtype)), *_as_shape(shape))


def full(shape: Any, fill_value: Any, dtype: Any = None):
    """Return a tensor of `shape` whose elements are all `fill_value`.

    Parameters
    ----------
    shape : sequence of int or scalars, or integer vector
        The shape of the result.
    fill_value : tensor_like
        A number, or what broadcasts to `shape`.
    dtype : str, optional
        That of `fill_value` by default.

    Returns
    -------
    TensorVariable
        Filled with the value.

    See Also
    --------
    theano.tensor.alloc : A tensor of a given shape filled with a value, which may itself be a tensor that broadcasts to
        that shape.
    theano.tensor.empty : Return a tensor with undefined contents; see `zeros`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.full((2, 2), 7.0).eval()
    array([[7., 7.],
           [7., 7.]], dtype=float32)
    """
    value = as_tensor_variable(fill_value)
    if dtype:
        value = ops.cast(value, dtype)
    return alloc(value, *_as_shape(shape))


def empty(shape: Any, dtype: Any = None):
    """Return a tensor with undefined contents; see :func:`zeros`.

    Parameters
    ----------
    shape : sequence of int or scalars, or integer vector
        The shape of the result.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        What it holds is not defined.

    See Also
    --------
    theano.tensor.full : Return a tensor of `shape` whose elements are all `fill_value`.
    theano.tensor.ones : Return a tensor of ones; see `zeros`.
    theano.tensor.AllocEmpty : A tensor of a given shape and dtype with undefined contents, to be overwritten.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.empty((2, 3)).type
    TensorType(float64, matrix)
    """
    return AllocEmpty(str(np.dtype(_floatx_unless(dtype))))(*_as_shape(shape))


def zeros_like(model: Any, dtype: Any = None, opt: bool = False):
    """Return zeros in the shape of `model`.

    Parameters
    ----------
    model : tensor_like
        Whose shape and dtype are taken.
    dtype : str, optional
        The dtype of `model` by default.
    opt : bool
        Return the constant alone where it has the type of `model`.

    Returns
    -------
    TensorVariable
        Of the shape of `model`.

    See Also
    --------
    theano.tensor.ones_like : Return ones in the shape of `model`; see `zeros_like`.
    theano.tensor.empty_like : Return a tensor in the shape of `model` with undefined contents.
    theano.tensor.full_like : Return `fill_value` in the shape of `model`, with the dtype of `model` by default.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.zeros_like([1, 2, 3]).eval()
    array([0, 0, 0])
    """
    return _filled_like(model, 0, dtype, opt)


def zeros_for_grad(x: Any):
    """The gradient of what does not matter: zeros in the shape of `x`, of dtype floatX where `x` is discrete."""
    return x.zeros_like(dtype=config.floatX) if x.dtype in discrete_dtypes else x.zeros_like()


def ones_like(model: Any, dtype: Any = None, opt: bool = False):
    """Return ones in the shape of `model`; see :func:`zeros_like`.

    Parameters
    ----------
    model : tensor_like
        What has the shape, and the dtype unless another one is given.
    dtype : str, optional
        That of `model` by default.
    opt : bool
        Whether the call comes from a rewrite, where a constant is made if that is possible.

    Returns
    -------
    TensorVariable
        Of the shape of `model`.

    See Also
    --------
    theano.tensor.empty_like : Return a tensor in the shape of `model` with undefined contents.
    theano.tensor.zeros_like : Return zeros in the shape of `model`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ones_like([1, 2, 3]).eval()
    array([1, 1, 1])
    """
    return _filled_like(model, 1, dtype, opt)


def full_like(model: Any, fill_value: Any, dtype: Any = None):
    """Return `fill_value` in the shape of `model`, with the dtype of `model` by default.

    Parameters
    ----------
    model : tensor_like
        What has the shape, and the dtype unless another one is given.
    fill_value : tensor_like
        A number.
    dtype : str, optional
        That of `model` by default.

    Returns
    -------
    TensorVariable
        Of the shape of `model`.

    See Also
    --------
    theano.tensor.zeros_like : Return zeros in the shape of `model`.
    theano.tensor.empty_like : Return a tensor in the shape of `model` with undefined contents.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.full_like([1.0, 2.0], 7.0).eval()
    array([7., 7.])
    """
    model = as_tensor_variable(model)
    return fill(model, ops.cast(fill_value, dtype or model.dtype))


def empty_like(model: Any, dtype: Any = None):
    """Return a tensor in the shape of `model` with undefined contents.

    Parameters
    ----------
    model : tensor_like
        What has the shape, and the dtype unless another one is given.
    dtype : str, optional
        That of `model` by default.

    Returns
    -------
    TensorVariable
        What it holds is not defined.

    See Also
    --------
    theano.tensor.full_like : Return `fill_value` in the shape of `model`, with the dtype of `model` by default.
    theano.tensor.ones_like : Return ones in the shape of `model`; see `zeros_like`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.empty_like(T.dmatrix("x")).type
    TensorType(float64, matrix)
    """
    model = as_tensor_variable(model)
    return AllocEmpty(str(dtype or model.dtype))(*[model.shape[i] for i in range(model.ndim)])


def _filled_like(model: Any, value: int, dtype: Any, opt: bool):
    model = as_tensor_variable(model)
    number = constant(np.array(value, dtype=model.type.dtype if dtype is None else dtype))
    if opt and number.type == model.type:
        return number
    return fill(model, number)


class Eye(Op):
    """The ``n`` by ``m`` matrix with ones on diagonal ``k``.

    The inputs are the integer scalars n, m and k; see :func:`eye`.

    Parameters
    ----------
    dtype : str, optional
        That of the result, by default floatX.

    See Also
    --------
    theano.tensor.eye : Return a matrix with ones on a diagonal and zeros elsewhere.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Eye("int8")(2, 3, 1).eval().tolist()
    [[0, 1, 0], [0, 0, 1]]
    """

    __props__ = ("dtype",)
    _f16_ok = True

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = config.floatX if dtype is None else str(np.dtype(dtype))

    def make_node(self, n: Any, m: Any, k: Any) -> Apply:
        n, m, k = as_tensor_variable(n), as_tensor_variable(m), as_tensor_variable(k)
        if n.ndim or m.ndim or k.ndim:
            raise TypeError("eye takes three integer scalars")
        _, pattern = shape_entries([n, m])
        return Apply(self, [n, m, k], [TensorType(self.dtype, pattern)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        # A number of columns that is None is that of the rows, as for NumPy.
        n, m, k = (None if x is None else int(x) for x in inputs)
        output_storage[0][0] = np.eye(n, m, k, dtype=self.dtype)

    def static_shape(self, node: Apply, shape_of: Any) -> Sequence[int | None]:
        return [known_int(n) for n in node.inputs[:2]]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(node.inputs[0], node.inputs[1])]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grad_undefined(self, i, x) for i, x in enumerate(inputs)]


def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = None):
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int or scalar
        Number of rows.
    m : int or scalar, optional
        Number of columns, `n` by default.
    k : int or scalar
        The diagonal: 0 the main one, positive above, negative below.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.tensor.identity_like : Return ones on the diagonal of a matrix of the shape and dtype of `x`.
    theano.tensor.tri : Return an `N` by `M` matrix with ones at and below diagonal `k`, zeros elsewhere, as
        ``numpy.tri``.
    theano.tensor.Eye : The ``n`` by ``m`` matrix with ones on diagonal ``k``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.eye(2, 3).eval()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    return Eye(dtype)(n, n if m is None else m, k)


def identity_like(x: Any):
    """Return ones on the diagonal of a matrix of the shape and dtype of `x`.

    Parameters
    ----------
    x : matrix
        What has the shape.

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.tensor.tri : Return an `N` by `M` matrix with ones at and below diagonal `k`, zeros elsewhere, as
        ``numpy.tri``.
    theano.tensor.eye : Return a matrix with ones on a diagonal and zeros elsewhere.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.identity_like(T.ones((2, 2))).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    x = as_tensor_variable(x)
    return eye(x.shape[0], x.shape[1], k=0, dtype=x.dtype)


class Tri(Op):
    """The ``n`` by ``m`` matrix with ones at and below diagonal ``k``.

    The inputs are the integer scalars n, m and k; see :func:`tri`.

    Parameters
    ----------
    dtype : str, optional
        That of the result, by default floatX.

    See Also
    --------
    theano.tensor.tri : Return an `N` by `M` matrix with ones at and below diagonal `k`, zeros elsewhere, as
        ``numpy.tri``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Tri("int8")(3, 3, 0).eval().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = config.floatX if dtype is None else str(np.dtype(dtype))

    def make_node(self, n: Any, m: Any, k: Any) -> Apply:
        n, m, k = as_tensor_variable(n), as_tensor_variable(m), as_tensor_variable(k)
        if n.ndim or m.ndim or k.ndim:
            raise TypeError("tri takes three integer scalars")
        return Apply(self, [n, m, k], [TensorType(self.dtype, (False, False))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        # A number of columns that is None is that of the rows, as for NumPy.
        n, m, k = (None if x is None else int(x) for x in inputs)
        output_storage[0][0] = np.tri(n, m, k, dtype=self.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(node.inputs[0], node.inputs[1])]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grad_undefined(self, i, x) for i, x in enumerate(inputs)]


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None):
    """Return an `N` by `M` matrix with ones at and below diagonal `k`, zeros elsewhere, as ``numpy.tri``.

    Parameters
    ----------
    N, M : int or integer scalar
        Numbers of rows and of columns; `M` is `N` by default.
    k : int or integer scalar
        0 is the main diagonal; positive ones are above it.
    dtype : str, optional
        ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        A matrix.

    See Also
    --------
    theano.tensor.eye : Return a matrix with ones on a diagonal and zeros elsewhere.
    theano.tensor.identity_like : Return ones on the diagonal of a matrix of the shape and dtype of `x`.
    theano.tensor.tril : Return the matrix `m` with zeros above diagonal `k`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tri(2).eval()
    array([[1., 0.],
           [1., 1.]])
    """
    return Tri(dtype)(N, N if M is None else M, k)


def tril(m: Any, k: Any = 0):
    """Return the matrix `m` with zeros above diagonal `k`.

    Parameters
    ----------
    m : matrix
        Of shape (rows, columns).
    k : int or integer scalar
        0 is the main diagonal; positive ones are above it.

    Returns
    -------
    TensorVariable
        Of the type of `m`.

    See Also
    --------
    theano.tensor.triu : Return the matrix `m` with zeros below diagonal `k`.
    theano.tensor.tri : Return an `N` by `M` matrix with ones at and below diagonal `k`, zeros elsewhere, as
        ``numpy.tri``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tril([[1, 2], [3, 4]]).eval()
    array([[1, 0],
           [3, 4]])
    """
    m = as_tensor_variable(m)
    return m * tri(m.shape[0], m.shape[1], k=k, dtype=m.dtype)


def triu(m: Any, k: Any = 0):
    """Return the matrix `m` with zeros below diagonal `k`, int8 of bools, as wide as a product with int8 of unsigned integers.

    Parameters
    ----------
    m : matrix
        Of shape (rows, columns).
    k : int or integer scalar
        0 is the main diagonal; positive ones are above it.

    Returns
    -------
    TensorVariable
        Of the type of `m`.

    See Also
    --------
    theano.tensor.tri : Return an `N` by `M` matrix with ones at and below diagonal `k`, zeros elsewhere, as
        ``numpy.tri``.
    theano.tensor.tril : Return the matrix `m` with zeros above diagonal `k`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    m = as_tensor_variable(m)
    return m * (1 - tri(m.shape[0], m.shape[1], k=k - 1, dtype=m.dtype))


class ARange(Op):
    """Evenly spaced numbers from ``start`` up to and without ``stop``.

    The inputs are the scalars start, stop and step, the output is a vector; see :func:`arange`.

    Parameters
    ----------
    dtype : str
        That of the result.

    See Also
    --------
    theano.tensor.arange : Return evenly spaced numbers from `start`, by `step`, up to and without `stop`, as
        ``numpy.arange``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> ARange("float64")(0, 1, 0.25).eval().tolist()
    [0.0, 0.25, 0.5, 0.75]
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def make_node(self, start: Any, stop: Any, step: Any) -> Apply:
        inputs = [as_tensor_variable(x) for x in (start, stop, step)]
        if any(x.ndim for x in inputs):
            raise TypeError("arange takes scalars")
        return Apply(self, inputs, [TensorType(self.dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        start, stop, step = (x.item() for x in inputs)
        output_storage[0][0] = np.arange(start, stop, step, dtype=self.dtype)

    def static_shape(self, node: Apply, shape_of: Any) -> Sequence[int | None]:
        bounds = [known_int(x) for x in node.inputs]
        return [None if None in bounds or bounds[2] == 0 else len(range(*bounds))]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        start, stop, step = node.inputs
        known_step, known_start = _known(step), _known(start)
        discrete = all(x.dtype in discrete_dtypes for x in node.inputs)
        if discrete and known_step == 1:
            stop = ops.cast(stop, "int64")
            span = stop if known_start == 0 else stop - ops.cast(start, "int64")
            return [(maximum(span, 0),)]
        if discrete:
            start, stop, step = (ops.cast(x, "int64") for x in (start, stop, step))
            # Minus the floor of minus the span over the step is the ceiling, for either sign of the step.
            return [(maximum(-ops.int_div(start - stop, step), 0),)]
        steps = ops.ceil(ops.cast(stop - start, "float64") / step)
        return [(maximum(ops.cast(steps, "int64"), 0),)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [True]]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        start, stop, step = inputs
        (gz,) = grads
        if self.dtype in discrete_dtypes:
            return [
                start.zeros_like(dtype=config.floatX),
                DisconnectedType()(),
                step.zeros_like(dtype=config.floatX),
            ]
        return [gz.sum(), DisconnectedType()(), (gz * arange(gz.shape[0], dtype=self.dtype)).sum()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]


def _known(x: Any) -> Any:
    try:
        return get_scalar_constant_value(x)
    except NotScalarConstantError:
        return None


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None):
    """Return evenly spaced numbers from `start`, by `step`, up to and without `stop`, as ``numpy.arange``.

    Parameters
    ----------
    start : number or scalar
        With one argument only, this is `stop`, and counting starts at 0.
    stop : number or scalar, optional
        Where to end; with one argument only, the range begins at 0.
    step : number or scalar, optional
        The distance of two numbers, 1 by default.
    dtype : str, optional
        By default the common dtype of the arguments, integers being widened to 64 bits.

    Returns
    -------
    TensorVariable
        A vector.

    See Also
    --------
    theano.tensor.mgrid : Indexed with slices, returns the coordinates of the grid that they span.
    theano.tensor.ARange : Evenly spaced numbers from ``start`` up to and without ``stop``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.arange(2, 8, 3).eval()
    array([2, 5])
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = as_tensor_variable(start), as_tensor_variable(stop), as_tensor_variable(step)
    if dtype is None:
        dtype = scal.upcast(start.type.dtype, stop.type.dtype, step.type.dtype)
        if dtype in int_dtypes or dtype == "bool":
            dtype = "int64"
        elif dtype in uint_dtypes:
            dtype = "uint64"
        if config.cast_policy in ("numpy", "numpy+floatX"):
            dtype = _numpy_arange_dtype(start, stop, step, dtype)
    return _arange_op(str(np.dtype(dtype)))(start, stop, step)


@functools.cache
def _arange_op(dtype: str) -> ARange:
    return ARange(dtype)


def _numpy_arange_dtype(start: Any, stop: Any, step: Any, dtype: str) -> str:
    dtypes = [x.dtype for x in (start, stop, step)]
    numpy_dtype = np.arange(*[np.array(v, dtype=d) for v, d in zip((0, 1, 1), dtypes)]).dtype.name
    if (
        numpy_dtype != dtype
        and numpy_dtype == "float64"
        and config.cast_policy == "numpy+floatX"
        and config.floatX == "float32"
        and "float64" not in dtypes
    ):
        return "float32"
    return numpy_dtype


class _GridMaker:
    """Indexed with slices, returns the coordinates of the grid that they span.

    Parameters
    ----------
    sparse : bool
        Whether each coordinate varies along its own dimension only (``ogrid``) or all have the full shape (``mgrid``).

    Examples
    --------
    >>> rows, columns = mgrid[0:2, 0:3]
    >>> rows.eval().tolist(), columns.eval().tolist()
    ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    >>> [axis.eval().shape for axis in ogrid[0:2, 0:3]]
    [(2, 1), (1, 3)]
    """

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, slices: Any):
        if isinstance(slices, slice):
            return self._axis(slices)
        axes = [self._axis(s) for s in slices]
        ndim = len(axes)
        dtype = scal.upcast(*[axis.dtype for axis in axes])
        axes = [
            axis.astype(dtype).dimshuffle(*["x"] * i, 0, *["x"] * (ndim - i - 1)) for i, axis in enumerate(axes)
        ]
        if self.sparse:
            return axes
        lengths = [axis.shape[i] for i, axis in enumerate(axes)]
        return [alloc(axis, *lengths) for axis in axes]

    @staticmethod
    def _axis(s: slice):
        start = 0 if s.start is None else s.start
        step = 1 if s.step is None else s.step
        if isinstance(step, complex):
            count = int(abs(step))
            return start + arange(count) * ((as_tensor_variable(s.stop) - start) / float(max(count - 1, 1)))
        return arange(start, s.stop, step)


mgrid = _GridMaker(sparse=False)
ogrid = _GridMaker(sparse=True)

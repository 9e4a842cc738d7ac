"""From Python and NumPy objects to tensor variables, and back to numbers where a variable is a known constant."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.gof import hooks
from theano.gof.graph import Apply, Constant, Variable
from theano.tensor.foreign import refuse_masked
from theano.tensor.type import TensorType, ops, tensor_type
from theano.tensor.var import AsTensorError, TensorConstant, TensorConstantSignature, TensorVariable


class ShapeError(Exception):
    """Raised when the shape of a variable cannot be computed.

    See Also
    --------
    theano.tensor.specify_shape : Return the input, with a shape that is known from a second input.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, part = T.dmatrix("x"), T.type_other.slicetype()
    >>> picked = T.AdvancedSubtensor()(x, part, T.constant([0, 1]))
    >>> picked.owner.op.infer_shape(picked.owner, [(2, 3), (), (2,)])
    Traceback (most recent call last):
        ...
    theano.tensor.conversion.ShapeError: the slice <slice> is not known
    """


class NotScalarConstantError(Exception):
    """Raised by :func:`get_scalar_constant_value` for what is not one known number.

    See Also
    --------
    theano.get_scalar_constant_value : Return the number that all elements of `v` are known to have.
    theano.tensor.extract_constant : Return the number that `x` is known to be, or `x` as a tensor variable where it is
        not known.
    theano.tensor.EmptyConstantError : Raised by `get_scalar_constant_value` for a constant that has no element.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.get_scalar_constant_value(T.dscalar("x"))
    Traceback (most recent call last):
        ...
    theano.tensor.conversion.NotScalarConstantError: x
    """


class EmptyConstantError(NotScalarConstantError):
    """Raised by :func:`get_scalar_constant_value` for a constant that has no element.

    See Also
    --------
    theano.tensor.NotScalarConstantError : Raised by `get_scalar_constant_value` for what is not one known number.
    theano.get_scalar_constant_value : Return the number that all elements of `v` are known to have.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.get_scalar_constant_value(T.constant(np.zeros(0)))
    Traceback (most recent call last):
        ...
    theano.tensor.conversion.EmptyConstantError
    """


@hooks.as_variable.fill
def as_tensor_variable(x: Any, name: str | None = None, ndim: int | None = None):
    """Turn `x` into a tensor variable or constant.

    Parameters
    ----------
    x : variable, Apply, number, ndarray, list or tuple
        A tensor variable passes through, an Apply with one output gives that output, a list or tuple that holds
        variables is stacked; everything else becomes a constant, as :func:`constant` does.
    name : str, optional
        Name of the constant, if one is made.
    ndim : int, optional
        Number of dimensions of the result: broadcastable dimensions are added or removed on the left.

    Returns
    -------
    TensorVariable or TensorConstant
        Variables as they are, anything else as a constant.

    Raises
    ------
    ValueError
        If the Apply has several outputs, or `x` cannot have `ndim` dimensions.
    AsTensorError
        If `x` cannot be a tensor.

    See Also
    --------
    theano.tensor.constant : Return a `TensorConstant` holding a copy of `x`.
    theano.tensor.cast : Return `x` converted to `dtype`; `x` itself if it has that dtype.
    theano.tensor.type_other.as_int_none_variable : Return `x` as an integer scalar variable, or as the constant None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.as_tensor_variable([1.5, 2.5]).type
    TensorType(float64, vector)
    """
    if ndim is None and type(x) is TensorVariable:
        return x
    convert = getattr(x, "_as_TensorVariable", None)
    if convert is not None:
        return convert()
    if isinstance(x, Apply):
        if len(x.outputs) != 1 and getattr(x.op, "default_output", None) is None:
            raise ValueError(f"It is ambiguous which output of an Apply with several outputs is meant: {x}")
        x = x.default_output()
    if isinstance(x, Variable):
        if isinstance(x.type, scal.Scalar):
            x = ops.tensor_from_scalar(x)
        if not isinstance(x.type, TensorType):
            raise AsTensorError(f"The type of a tensor variable has to be a TensorType, got {x}, {x.type}")
        return x if ndim is None or x.type.ndim == ndim else _with_ndim(x, ndim)
    if isinstance(x, (tuple, list)) and any(isinstance(item, (Variable, tuple, list)) for item in x):
        if _holds_variable(x):
            try:
                stacked = ops.stack([as_tensor_variable(item) for item in x])
            except (TypeError, ValueError) as error:
                raise AsTensorError(f"Cannot convert {x} to TensorType: it is of {type(x)}") from error
            return stacked if ndim is None else _with_ndim(stacked, ndim)
    if isinstance(x, bool):
        raise AsTensorError(
            "True or False is no tensor variable; write numpy.asarray(True) for a constant of dtype bool. Where it came "
            "from `v == w` of two variables: that compares their identity, use theano.tensor.eq(v, w) instead."
        )
    try:
        return constant(x, name=name, ndim=ndim)
    except TypeError as error:
        try:
            text = str(x)
        except Exception:
            text = repr(x)
        raise AsTensorError(f"Cannot convert {text} to TensorType: it is of {type(x)}") from error


as_tensor = as_tensor_variable


def _holds_variable(items: Any) -> bool:
    return any(
        isinstance(item, Variable) or (isinstance(item, (tuple, list)) and _holds_variable(item)) for item in items
    )


def _with_ndim(x: Any, ndim: int):
    """Add or remove broadcastable dimensions on the left until there are `ndim`."""
    extra = x.type.ndim - ndim
    if extra > 0:
        if not all(x.type.broadcastable[:extra]):
            raise ValueError(f"{x} of {x.type} cannot have {ndim} dimensions: a leading one is not broadcastable")
        return x.dimshuffle(list(range(extra, x.type.ndim)))
    if extra < 0:
        return x.dimshuffle(["x"] * -extra + list(range(x.type.ndim)))
    return x


def constant(x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None):
    """Return a :class:`TensorConstant` holding a copy of `x`.

    Python integers take the smallest integer dtype that holds them, Python floats the dtype that
    ``theano.tensor.basic.autocast_float`` chooses, unless `dtype` is given. Dimensions of length 1 are broadcastable.

    Parameters
    ----------
    x : number, ndarray, list or tuple
        The value, of any shape.
    name : str, optional
        What it is called when it is printed.
    ndim : int, optional
        Number of dimensions: 1s are added on the left.
    dtype : str, optional
        By default that of `x`; a number gets the smallest one that ``config.cast_policy`` allows.

    Returns
    -------
    TensorConstant
        Cached, so that equal small constants are one variable.

    Raises
    ------
    TypeError
        If `x` is no number or array of numbers.
    ValueError
        If `x` has more than `ndim` dimensions.

    See Also
    --------
    theano.tensor.cast : Return `x` converted to `dtype`; `x` itself if it has that dtype.
    theano.tensor.as_tensor_variable : Turn `x` into a tensor variable or constant.
    theano.tensor.make_constant : Return `args`, the entries of an index, with Python integers as int64 Scalar constants,
        also within slices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.constant(1).type, T.constant([1., 2.]).type
    (TensorType(int8, scalar), TensorType(float64, vector))
    """
    if isinstance(x, TensorConstant):
        if (name is None or x.name == name) and (ndim is None or x.ndim == ndim) and (dtype is None or x.dtype == dtype):
            return x
        x = x.data
    elif isinstance(x, Constant):
        x = x.data
    refuse_masked(x)
    data = scal.convert(x, dtype=dtype)
    if not isinstance(data, np.ndarray) or isinstance(data, np.memmap) or type(data) is not np.ndarray:
        data = np.array(data)
    elif data is x or data.base is not None:
        # The constant must not change when the caller's array does.
        data = np.array(data, order="C" if data.flags.c_contiguous else "K", subok=False)
    if not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    pattern = tuple([length == 1 for length in data.shape])
    if ndim is not None:
        if len(pattern) > ndim:
            raise ValueError(f"a constant of shape {data.shape} cannot have {ndim} dimensions")
        missing = ndim - len(pattern)
        if missing:
            pattern = (True,) * missing + pattern
            data = data.reshape((1,) * missing + data.shape)
    type_ = tensor_type(_name_of(data.dtype), pattern)
    if name is None and data.size == 1 and data.dtype.kind in "iuf":
        return _shared_constant(type_, data)
    return TensorConstant(type_, data, name=name)


# NumPy puts the names of dtypes together anew each time.
_name_of = lru_cache(maxsize=64)(attrgetter("name"))

#: Constants for small numbers, by signature: the same number written twice is one variable.
constant_cache: dict[Any, TensorConstant] = {}
_CONSTANT_CACHE_SIZE = 10000


def _shared_constant(type_: TensorType, data: np.ndarray) -> TensorConstant:
    value = data.item()
    # Equality does not tell the zeros apart.
    if not -10 <= value <= 10 or (value == 0 and math.copysign(1, value) < 0):
        return TensorConstant(type_, data)
    signature = TensorConstantSignature((type_, data))
    known = constant_cache.get(signature)
    if known is not None and known.name is None:
        return known
    made = TensorConstant(type_, data)
    if known is None and len(constant_cache) < _CONSTANT_CACHE_SIZE:
        made.cached = True
        # Where two threads make the same constant at once, one of them wins.
        return constant_cache.setdefault(signature, made)
    return made


def constant_or_value(
    x: Any, rtype: Any = TensorConstant, name: str | None = None, ndim: int | None = None, dtype: Any = None
):
    """Return a symbolic constant of `x`, see :func:`constant`; `rtype` is the class of the result.

    Parameters
    ----------
    x : number, ndarray, list or tuple
        The value.
    rtype : class
        ``TensorConstant`` or ``TensorVariable``.
    name, ndim, dtype
        As for :func:`constant`.

    Returns
    -------
    Variable
        Of the class `rtype`.

    Raises
    ------
    TypeError
        If `x` cannot be converted.

    See Also
    --------
    theano.tensor.constant : Return a `TensorConstant` holding a copy of `x`.
    theano.tensor.make_constant : Return `args`, the entries of an index, with Python integers as int64 Scalar constants,
        also within slices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.constant_or_value(3)
    TensorConstant{3}
    """
    made = constant(x, name=name, ndim=ndim, dtype=dtype)
    if rtype in (None, TensorConstant):
        return made
    return rtype(made.type, made.data, name=name)


def numpy_scalar(data: Any) -> np.ndarray:
    """Return `data`, an array of one element, as a number.

    Parameters
    ----------
    data : array_like
        An array of one element.

    Returns
    -------
    ndarray
        Of no dimensions.

    Raises
    ------
    EmptyConstantError
        If `data` has no element.
    NotScalarConstantError
        If `data` is no single number.

    See Also
    --------
    theano.get_scalar_constant_value : Return the number that all elements of `v` are known to have.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.numpy_scalar(3.0)
    3.0
    """
    if isinstance(data, np.ndarray) and data.ndim > 0 and data.size == 0:
        raise EmptyConstantError()
    try:
        # Works for every numeric dtype and fails for strings and objects.
        complex(data)
    except (TypeError, ValueError):
        raise NotScalarConstantError(f"v.data is not a single number: {data!r}") from None
    return data


# The elementwise operations that get_scalar_constant_value may compute on known numbers.
get_scalar_constant_value_elemwises = (
    scal.Cast,
    scal.Switch,
    scal.NEQ,
    scal.EQ,
    scal.LT,
    scal.GT,
    scal.LE,
    scal.GE,
    scal.Sub,
    scal.Add,
    scal.Mod,
    scal.Mul,
    scal.IntDiv,
    scal.TrueDiv,
    scal.Minimum,
    scal.Maximum,
)


def get_scalar_constant_value(
    v: Any, elemwise: bool = True, only_process_constants: bool = False, max_recur: int = 10
) -> np.ndarray:
    """Return the number that all elements of `v` are known to have.

    Parameters
    ----------
    v : variable, number or ndarray
        A constant with one value, or a graph that only moves one around: fills, allocations, shuffles, casts, joins,
        indexing of known shapes and vectors.
    elemwise : bool
        Whether simple elementwise operations on known numbers are computed.
    only_process_constants : bool
        Look at constants only, not at graphs.
    max_recur : int
        Number of nested operations to look through.

    Returns
    -------
    numpy scalar or 0-d ndarray

    Raises
    ------
    NotScalarConstantError
        If there is no such number.
    EmptyConstantError
        If `v` is a constant without elements.

    See Also
    --------
    theano.tensor.extract_constant : Return the number that `x` is known to be, or `x` as a tensor variable where it is
        not known.
    theano.tensor.NotScalarConstantError : Raised by `get_scalar_constant_value` for what is not one known number.
    theano.tensor.numpy_scalar : Return `data`, an array of one element, as a number.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> theano.get_scalar_constant_value(T.constant(2) + 0 * T.constant(1))
    array(2, dtype=int8)
    """
    while True:
        if v is None:
            raise NotScalarConstantError()
        if isinstance(v, (np.integer, int, float, complex)):
            return np.asarray(v)
        if isinstance(v, np.ndarray):
            return numpy_scalar(v).copy()
        if isinstance(v, Constant):
            return _value_of_constant(v)
        node = getattr(v, "owner", None)
        if only_process_constants or node is None or max_recur <= 0:
            raise NotScalarConstantError(v)
        max_recur -= 1
        known = _step_to_constant(v, node, elemwise, max_recur)
        if not isinstance(known, Variable):
            return known
        v = known


def is_evidently(v: Any, number: float) -> bool:
    """Return whether all elements of `v` are known to be equal to a number, see :func:`get_scalar_constant_value`.

    Parameters
    ----------
    v : TensorVariable
        Any tensor.
    number : float
        The number.

    See Also
    --------
    theano.tensor.elemwise.resolve_function : Return the function that an ``nfunc_spec`` names: one of NumPy's, or a
        dotted path; None if it is missing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> is_evidently(T.zeros((2, 3)), 0), is_evidently(T.zeros((2, 3)), 1), is_evidently(T.dvector(), 0)
    (True, False, False)
    """
    try:
        return bool(get_scalar_constant_value(v) == number)
    except NotScalarConstantError:
        return False


def _value_of_constant(v: Any) -> np.ndarray:
    unique = getattr(v.tag, "unique_value", None)
    data = unique if unique is not None else v.data
    if isinstance(data, np.ndarray):
        if data.size > 1 and not (data.strides and not any(data.strides)):
            first = data.flat[0]
            if not (data == first).all():
                raise NotScalarConstantError(v)
            data = first
        elif data.size >= 1:
            data = data.flat[0]
        return np.array(numpy_scalar(data), copy=True)
    return np.array(numpy_scalar(data))


@cache
def _op_classes() -> tuple[Any, ...]:
    """The classes of Ops that values are followed through; found when first asked, for their modules need this one."""
    from theano.gof.copying import DeepCopyOp, OutputGuard
    from theano.raise_op import Assert
    movers = (
        ops.Alloc, ops.DimShuffle, ops.Rebroadcast, OutputGuard, DeepCopyOp, ops.TensorFromScalar, ops.ScalarFromTensor,
        ops.Reshape,
    )  # fmt: skip
    return movers, ops.Shape_i, Assert, ops.Elemwise, ops.Subtensor, ops.get_idx_list, (ops.Join, ops.MakeVector, ops.Shape)


def _step_to_constant(v: Any, node: Apply, elemwise: bool, max_recur: int) -> Any:
    """Return the number `v` is known to be, or a variable known to have the same value."""
    movers, Shape_i, Assert, Elemwise, Subtensor, get_idx_list, indexed = _op_classes()
    op = node.op
    if isinstance(op, movers):
        return node.inputs[0]
    if isinstance(op, Shape_i):
        base = node.inputs[0]
        if isinstance(base, Constant):
            return np.asarray(base.data.shape[op.i])
        if base.type.broadcastable[op.i]:
            return np.asarray(1)
        raise NotScalarConstantError(v)
    if isinstance(op, Assert):
        for condition in node.inputs[1:]:
            if not get_scalar_constant_value(condition, elemwise=elemwise, max_recur=max_recur):
                raise NotScalarConstantError(v)
        return node.inputs[0]
    if isinstance(op, scal.ScalarOp):
        if isinstance(op, scal.Second):
            return node.inputs[1]
        if isinstance(op, get_scalar_constant_value_elemwises):
            return _fold_scalar(op, node, elemwise, max_recur)
    elif isinstance(op, Elemwise) and elemwise:
        if isinstance(op.scalar_op, scal.Second):
            return node.inputs[1]
        if isinstance(op.scalar_op, get_scalar_constant_value_elemwises):
            return _fold_scalar(op.scalar_op, node, elemwise, max_recur)
    elif isinstance(op, Subtensor) and v.ndim == 0:
        return _element_of(v, node, get_idx_list(node.inputs, op.idx_list), indexed, max_recur)
    raise NotScalarConstantError(v)


def _fold_scalar(scalar_op: Any, node: Apply, elemwise: bool, max_recur: int) -> np.ndarray:
    values = [get_scalar_constant_value(x, elemwise=elemwise, max_recur=max_recur) for x in node.inputs]
    dtype = node.outputs[0].type.dtype
    result = scalar_op.impl(*[np.asarray(x, dtype=var.type.dtype)[()] for x, var in zip(values, node.inputs)])
    return np.asarray(result, dtype=dtype)


def _element_of(v: Any, node: Apply, index: Any, kinds: tuple[type, type, type], max_recur: int) -> Any:
    """Follow a scalar indexed out of a constant, a join, a made vector or a shape."""
    join_class, make_vector_class, shape_class = kinds
    base = node.inputs[0]
    if isinstance(base, Constant):
        try:
            entries = tuple(
                int(get_scalar_constant_value(i, max_recur=max_recur)) if not isinstance(i, slice) else i for i in index
            )
            return np.array(base.data[entries])
        except (IndexError, TypeError):
            raise NotScalarConstantError(v) from None
    owner = base.owner
    if owner is None or len(index) != 1 or isinstance(index[0], slice):
        raise NotScalarConstantError(v)
    position = int(get_scalar_constant_value(index[0], max_recur=max_recur))
    if isinstance(owner.op, make_vector_class):
        if -len(owner.inputs) <= position < len(owner.inputs):
            return owner.inputs[position]
    elif isinstance(owner.op, join_class):
        pieces = owner.inputs[1:]
        if base.ndim == 1 and all(piece.type.broadcastable[0] for piece in pieces):
            if -len(pieces) <= position < len(pieces):
                return pieces[position].dimshuffle(())
    elif isinstance(owner.op, shape_class):
        source = owner.inputs[0]
        if -source.ndim <= position < source.ndim and source.type.broadcastable[position]:
            return np.asarray(1)
        if isinstance(source, Constant):
            return np.asarray(source.data.shape[position])
    raise NotScalarConstantError(v)


def extract_constant(x: Any, elemwise: bool = True, only_process_constants: bool = False):
    """Return the number that `x` is known to be, or `x` as a tensor variable where it is not known.

    Parameters
    ----------
    x : tensor_like
        Without dimensions.
    elemwise, only_process_constants : bool
        As for :func:`get_scalar_constant_value`.

    Returns
    -------
    ndarray or TensorVariable
        The number as a 0-d array, or the variable.

    See Also
    --------
    theano.tensor.NotScalarConstantError : Raised by `get_scalar_constant_value` for what is not one known number.
    theano.get_scalar_constant_value : Return the number that all elements of `v` are known to have.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.extract_constant(T.constant(2) * 3), T.extract_constant(T.dscalar("x"))
    (array(6, dtype=int8), x)
    """
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        pass
    if isinstance(x, scal.ScalarVariable):
        return ops.tensor_from_scalar(x)
    return x


def get_vector_length(v: Any) -> int:
    """Return the number of elements of a symbolic vector, where the graph tells it.

    Parameters
    ----------
    v : vector variable or sequence
        A constant, a shape, a made vector, a join of such, a slice of such with constant bounds, or an arange with
        constant arguments.

    Returns
    -------
    int
        The length.

    Raises
    ------
    ValueError
        If the length is not known before run time.
    TypeError
        If `v` is no vector.

    See Also
    --------
    theano.tensor.shape_i : Return the length of a dimension, from what the graph knows about shapes where it does.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.get_vector_length(T.dmatrix("x").shape)
    2
    """
    v = as_tensor_variable(v)
    if v.ndim != 1:
        raise TypeError(f"argument must be a vector, got {v.ndim} dimensions")
    length = _vector_length(v)
    if length is None:
        raise ValueError(f"length not known: {v}")
    return length


def _vector_length(v: Any) -> int | None:
    if v.type.broadcastable[0]:
        return 1
    if isinstance(v, Constant):
        return len(v.data)
    if v.owner is None:
        return None
    op, inputs = v.owner.op, v.owner.inputs
    try:
        if isinstance(op, ops.Join):
            lengths = [_vector_length(piece) for piece in inputs[1:]]
            return None if None in lengths else sum(lengths)
        if isinstance(op, ops.MakeVector):
            return len(inputs)
        if isinstance(op, ops.Shape):
            return inputs[0].type.ndim
        if isinstance(op, ops.SpecifyShape):
            return int(get_scalar_constant_value(inputs[1]))
        if isinstance(op, ops.Subtensor):
            (index,) = ops.get_idx_list(inputs, op.idx_list)
            bounds = [None if b is None else int(get_scalar_constant_value(b)) for b in (index.start, index.stop, index.step)]
            whole = _vector_length(inputs[0])
            return None if whole is None else len(range(*slice(*bounds).indices(whole)))
        if isinstance(op, ops.ARange):
            start, stop, step = (get_scalar_constant_value(x) for x in inputs)
            return max(0, int(np.ceil((stop - start) / step)))
        if isinstance(op, ops.Elemwise):
            for x in inputs:
                if not x.type.broadcastable[0]:
                    length = _vector_length(x)
                    if length is not None:
                        return length
    except NotScalarConstantError:
        pass
    return None

"""Basic indexing, by integers and slices: the index arithmetic, Subtensor and IncSubtensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gof.type import Type
from theano.gradient_types import DisconnectedType
from theano.printing.pretty import pprint
from theano.tensor.conversion import NotScalarConstantError, as_tensor_variable, get_scalar_constant_value
from theano.tensor.creation import zeros_for_grad
from theano.tensor.from_scalars import scalar_from_tensor, tensor_from_scalar
from theano.tensor.math import discrete_dtypes, ge, int_div, lt, maximum, minimum, switch
from theano.tensor.shaping import patternbroadcast
from theano.tensor.static_shape import known_shape, length_of_slice
from theano.tensor.type import TensorType, ops, tensor_type

_INDEX_DTYPES = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))


class AdvancedIndexingError(TypeError):
    """Raised when an index asks for advanced indexing where only basic indexing is possible.

    See Also
    --------
    theano.tensor.AdvancedSubtensor : The elements of a tensor at integer arrays, mixed with slices and None.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Subtensor([T.ivector("rows")])
    Traceback (most recent call last):
        ...
    theano.tensor.slicing.AdvancedIndexingError: Expected an integer or a slice as index, got rows
    """


class AdvancedBooleanIndexingError(AdvancedIndexingError):
    """Raised where the index that asks for advanced indexing is a boolean mask."""


def check_and_reject_bool(args_el: Any) -> None:
    """Check that an entry of an index is no boolean mask, and that no element of a sequence is one.

    Raises
    ------
    TypeError
    """
    dtype = getattr(args_el, "dtype", None)
    if isinstance(args_el, (bool, np.bool_)) or str(dtype) == "bool":
        raise TypeError(
            "AdvancedSubtensor does not support boolean masks for indexing. Use AdvancedBooleanSubtensor instead."
        )
    if isinstance(args_el, Iterable) and dtype is None:
        for element in args_el:
            check_and_reject_bool(element)


def check_advanced_indexing_dimensions(input: np.ndarray, idx_list: Iterable[Any]) -> None:
    """Check that the boolean masks of an index have the lengths of the dimensions that they select from.

    Parameters
    ----------
    input : ndarray
        What is indexed.
    idx_list : iterable
        The entries of the index: None, masks, and whatever else selects from one dimension.

    Raises
    ------
    IndexError
        As NumPy's.
    """
    dimension = 0
    for entry in idx_list:
        if isinstance(entry, np.ndarray) and entry.dtype == "bool":
            for i, (length, wanted) in enumerate(zip(entry.shape, input.shape[dimension:])):
                if length != wanted:
                    raise IndexError(
                        f"boolean index did not match indexed array along dimension {dimension + i}; "
                        f"dimension is {wanted} but corresponding boolean dimension is {length}"
                    )
            dimension += entry.ndim
        elif entry is not None:
            dimension += 1


def make_constant(args: Iterable[Any]) -> tuple[Any, ...]:
    """Return `args`, the entries of an index, with Python integers as int64 Scalar constants, also within slices.

    Parameters
    ----------
    args : iterable
        The entries of the index.

    Returns
    -------
    tuple
        The entries, constants in place of numbers.

    See Also
    --------
    theano.tensor.constant_or_value : Return a symbolic constant of `x`, see `constant`; `rtype` is the class of the
        result.
    theano.tensor.constant : Return a `TensorConstant` holding a copy of `x`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.make_constant((0, slice(None, 2)))
    (Constant{0}, slice(None, Constant{2}, None))
    """

    def convert(a: Any) -> Any:
        if isinstance(a, slice):
            return slice(convert(a.start), convert(a.stop), convert(a.step))
        if isinstance(a, (int, np.integer)) and not isinstance(a, (bool, np.bool_)):
            return scal.ScalarConstant(scal.int64, np.int64(a))
        return a

    return tuple([convert(a) for a in args])


def get_idx_list(inputs: Sequence[Any], idx_list: Sequence[Any], get_count: bool = False) -> Any:
    """Return the index that `idx_list` stands for, with `inputs` in the places of its Types.

    Parameters
    ----------
    inputs : sequence
        The inputs of an indexing node: the first is indexed, the others are the entries of the index.
    idx_list : sequence
        Entries are Types, integers, None, and slices of these.
    get_count : bool
        Return the number of inputs used as well.

    Returns
    -------
    tuple
        The index; with `get_count` a pair of it and the number.

    See Also
    --------
    theano.tensor.Subtensor : A view of a tensor selected by integers and slices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, i = T.dmatrix("x"), T.lscalar("i")
    >>> node = x[i, 2].owner
    >>> T.get_idx_list(node.inputs, node.op.idx_list)
    (ScalarFromTensor.0, Constant{2})
    """
    rest = iter(inputs[1:])
    used = 0

    def fill(entry: Any) -> Any:
        nonlocal used
        if isinstance(entry, Type):
            used += 1
            return next(rest)
        if isinstance(entry, slice):
            return slice(fill(entry.start), fill(entry.stop), fill(entry.step))
        return entry

    entries = tuple([fill(entry) for entry in idx_list])
    return (entries, used) if get_count else entries


def _number(x: Any) -> Any:
    """Return an entry of an index as int or None where it is known, else as a tensor."""
    if x is None or isinstance(x, int):
        return x
    if isinstance(x, np.integer):
        return int(x)
    try:
        return int(get_scalar_constant_value(x))
    except NotScalarConstantError:
        pass
    if isinstance(x.type, scal.Scalar):
        return tensor_from_scalar(x)
    return as_tensor_variable(x, ndim=0)


def _least(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else minimum(a, b)


def _most(a: Any, b: Any) -> Any:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else maximum(a, b)


def _signed(x: Any) -> Any:
    """Return `x` as int64 if it is a tensor of unsigned or narrow integers, whose arithmetic would wrap."""
    return x if isinstance(x, int) or x.dtype == "int64" else x.astype("int64")


def _is_negative(x: Any) -> Any:
    """Return True, False, or a symbolic condition."""
    if isinstance(x, int):
        return x < 0
    return False if x.dtype.startswith("uint") or _is_shape(x) else lt(x, 0)


def _is_shape(x: Any) -> bool:
    owner = getattr(x, "owner", None)
    if owner is None:
        return False
    if isinstance(owner.op, ops.Shape_i):
        return True
    return (
        isinstance(owner.op, Subtensor)
        and owner.inputs[0].owner is not None
        and isinstance(owner.inputs[0].owner.op, ops.Shape)
    )


def _select(condition: Any, if_true: Any, if_false: Any) -> Any:
    if condition is True:
        return if_true()
    if condition is False:
        return if_false()
    return switch(condition, if_true(), if_false())


def _clamped(bound: Any, length: Any, low: Any, high: Any) -> Any:
    """Return a slice bound, counted from the end if negative, within `low` and `high` as Python clamps it."""
    bound = _signed(bound)
    return _select(
        _is_negative(bound),
        lambda: _most(bound + length, low),
        lambda: bound if bound is high else _least(bound, high),
    )


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)


def _ceil_div(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    if isinstance(b, int) and b == 1:
        return a
    return -int_div(-a, b)


def _forward(start: Any, stop: Any, step: Any, length: Any) -> tuple[Any, Any]:
    """Return the clamped bounds of a slice of positive step."""
    first = 0 if start is None else _clamped(start, length, 0, length)
    last = length if stop is None or _same(stop, length) else _clamped(stop, length, 0, length)
    return first, last


def _backward(start: Any, stop: Any, step: Any, length: Any) -> tuple[Any, Any]:
    """Return the clamped bounds of a slice of negative step."""
    first = length - 1 if start is None else _clamped(start, length, -1, length - 1)
    last = -1 if stop is None else _clamped(stop, length, -1, length - 1)
    return first, last


def _count(first: Any, last: Any, step: Any) -> Any:
    """Return the number of elements from `first` up to, and without, `last`."""
    if isinstance(first, int) and first == 0 and isinstance(step, int) and step == 1:
        return last
    return _most(_ceil_div(last - first, step), 0)


def slice_len(slc: slice, n: Any) -> Any:
    """Return the length of ``x[slc]`` where `n` is that of `x`, symbolic unless all is known.

    Parameters
    ----------
    slc : slice
        Of numbers and integer scalars.
    n : int or integer scalar
        The length that is sliced.

    Returns
    -------
    int or TensorVariable
        The length.

    Raises
    ------
    ValueError
        If the step is 0.

    See Also
    --------
    theano.tensor.get_canonical_form_slice : Return a slice of positive step with bounds in ``[0, length]`` that selects
        the same elements, and its direction.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slice_len(slice(1, None, 2), 10)
    5
    """
    n = _number(n)
    start, stop, step = _number(slc.start), _number(slc.stop), _number(slc.step)
    step = 1 if step is None else _signed(step)
    if isinstance(step, int):
        if step == 0:
            raise ValueError("slice step cannot be zero")
        if step in (1, -1) and start is None and stop is None:
            return n
        bounds = _forward(start, stop, step, n) if step > 0 else _backward(start, stop, step, n)
        return _count(*bounds, step)
    forward = _count(*_forward(start, stop, step, n), maximum(step, 1))
    backward = _count(*_reversed_bounds(*_backward(start, stop, step, n)), maximum(-step, 1))
    return switch(ge(step, 0), forward, backward)


def _reversed_bounds(first: Any, last: Any) -> tuple[Any, Any]:
    return -first, -last


def get_canonical_form_slice(theslice: Any, length: Any) -> tuple[Any, Any]:
    """Return a slice of positive step with bounds in ``[0, length]`` that selects the same elements, and its direction.

    Parameters
    ----------
    theslice : slice, or integer index
        Entries are integers, None or integer scalar variables.
    length : int or scalar
        Length of the dimension.

    Returns
    -------
    slice or scalar
        For an integer index, that index counted from the front.
    direction : 1, -1 or scalar
        -1 if the elements come in reverse order.

    Raises
    ------
    ValueError
        If the step is 0.

    See Also
    --------
    theano.tensor.slice_len : Return the length of ``x[slc]`` where `n` is that of `x`, symbolic unless all is known.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.get_canonical_form_slice(slice(None, None, -2), 5)
    (slice(0, 5, 2), -1)
    """
    length = _number(length)
    if not isinstance(theslice, slice):
        index = _number(theslice)
        return _select(_is_negative(index), lambda: index + length, lambda: index), 1
    start, stop, step = _number(theslice.start), _number(theslice.stop), _number(theslice.step)
    step = 1 if step is None else _signed(step)
    if isinstance(step, int):
        if step == 0:
            raise ValueError("slice step cannot be zero")
        if step > 0:
            first, last = _forward(start, stop, step, length)
            if not (isinstance(first, int) and first == 0):
                last = _most(last, first)
            return slice(first, last, step), 1
        first, last = _backward(start, stop, step, length)
        return _mirrored(first, last, -step), -1
    first, last = _forward(start, stop, step, length)
    up = slice(first, _most(last, first), step)
    down = _mirrored(*_backward(start, stop, step, length), maximum(-step, 1))
    positive = ge(step, 0)
    return (
        slice(switch(positive, up.start, down.start), switch(positive, up.stop, down.stop), switch(positive, step, -step)),
        switch(positive, 1, -1),
    )


def _mirrored(first: Any, last: Any, step: Any) -> slice:
    """Return the ascending slice of the elements `first`, ``first - step`` and so on, down to and without `last`."""
    count = _most(_ceil_div(first - last, step), 0)
    if isinstance(count, int) and isinstance(first, int):
        return slice(first - (count - 1) * step, first + 1, step) if count else slice(0, 0, step)
    if isinstance(step, int) and step == 1:
        # An empty range has to stay one.
        return slice(last + 1, _most(first, last) + 1, 1)
    empty = lt(first, last + 1)
    return slice(switch(empty, 0, first - (count - 1) * step), switch(empty, 0, first + 1), step)


def _input_type(entry: Any, slice_ok: bool = True) -> Any:
    """Return what stands for an entry of an index in ``idx_list``."""
    if isinstance(entry, Variable):
        type_: Any = entry.type
    elif isinstance(entry, Type):
        type_ = entry
    elif slice_ok and isinstance(entry, slice):
        if entry.start is None and entry.stop is None and entry.step is None:
            return slice(None, None, None)
        parts = [None if p is None else _input_type(p, False) for p in (entry.start, entry.stop, entry.step)]
        if isinstance(entry.stop, (int, np.integer)) and entry.stop == 2**63 - 1:
            parts[1] = None
        return slice(*parts)
    elif isinstance(entry, (int, np.integer)):
        raise TypeError(f"Python scalar {entry} in idx_list; see make_constant")
    else:
        raise AdvancedIndexingError(f"Expected an integer or a slice as index, got {entry} of {type(entry)}")
    if isinstance(type_, scal.Scalar):
        if type_.dtype in _INDEX_DTYPES:
            return type_
        raise TypeError(f"Expected an integer, got {type_.dtype}")
    if isinstance(type_, TensorType):
        if type_.dtype == "bool":
            raise AdvancedBooleanIndexingError(f"Expected an integer or a slice as index, got a boolean: {entry}")
        if type_.dtype not in _INDEX_DTYPES:
            raise TypeError(f"Expected an integer, got {type_.dtype}")
        if all(type_.broadcastable):
            return scal.get_scalar_type(type_.dtype)
    raise AdvancedIndexingError(f"Expected an integer or a slice as index, got {entry}")


def _entry_key(entry: Any) -> Any:
    return (slice, entry.start, entry.stop, entry.step) if isinstance(entry, slice) else entry


class _BasicIndexOp(Op):
    """What Subtensor and IncSubtensor share: the index template."""

    idx_list: tuple[Any, ...]

    check_input = False
    _f16_ok = True

    def _set_idx_list(self, idx_list: Iterable[Any]) -> None:
        self.idx_list = tuple([_input_type(entry) for entry in idx_list])
        self._key = tuple([_entry_key(entry) for entry in self.idx_list])

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._key = tuple([_entry_key(entry) for entry in self.idx_list])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_key", None)
        return state

    def _index_inputs(self, x: Any, inputs: Sequence[Any]) -> list[Any]:
        """Return the index inputs of a node as Scalar variables, checked against the template."""
        if len(self.idx_list) > x.type.ndim:
            raise IndexError(
                f"too many indices for array: {len(self.idx_list)} for a tensor of {x.type.ndim} dimensions"
            )
        expected = Subtensor.collapse(self.idx_list, lambda entry: isinstance(entry, Type))
        if len(inputs) != len(expected):
            raise IndexError(f"Not enough inputs to fill in the Subtensor template: {inputs}, {self.idx_list}")
        variables = [_as_scalar_index(a) for a in inputs]
        for variable, type_ in zip(variables, expected):
            if variable.type != type_:
                raise TypeError(
                    f"Wrong type for Subtensor template. Expected {variable.type}, got {type_}."
                )
        return variables

    def _index_text(self) -> str:
        parts = []
        for entry in self.idx_list:
            if isinstance(entry, slice):
                parts.append(Subtensor.str_from_slice(entry))
            else:
                parts.append(str(entry))
        return ", ".join(parts)


def _as_scalar_index(a: Any) -> Any:
    if isinstance(a, Variable):
        if isinstance(a.type, scal.Scalar):
            return a
        if isinstance(a.type, TensorType):
            if a.type.ndim and all(a.type.broadcastable):
                a = a.dimshuffle(())
            return scalar_from_tensor(a)
    if isinstance(a, (int, np.integer)):
        return scal.ScalarConstant(scal.int64, np.int64(a))
    return scal.as_scalar(a)


class Subtensor(_BasicIndexOp):
    """A view of a tensor selected by integers and slices.

    Parameters
    ----------
    idx_list : sequence
        The template of the index: a Type stands for an index that is an input of the node, a slice may hold Types and
        None. The inputs of a node are the tensor and one Scalar for each Type, in order.

    See Also
    --------
    theano.tensor.get_idx_list : Return the index that `idx_list` stands for, with `inputs` in the places of its Types.
    theano.tensor.IncSubtensor : A copy of a tensor with the part selected by an index incremented by a value, or set to
        it.
    theano.tensor.AdvancedSubtensor : The elements of a tensor at integer arrays, mixed with slices and None.

    Examples
    --------
    ``x[:, i]`` is ``Subtensor([slice(None), scalar.int64])(x, i)``.

    >>> import theano
    >>> import theano.tensor as T
    >>> from theano import scalar
    >>> x, i = T.dmatrix("x"), scalar.int64("i")
    >>> theano.pp(Subtensor([slice(None), scalar.int64])(x, i))
    'x[:, i]'
    """

    view_map = {0: [0]}
    nin = 1
    nout = 1

    def __init__(self, idx_list: Iterable[Any]) -> None:
        self._set_idx_list(idx_list)

    @staticmethod
    def collapse(idxs: Iterable[Any], cond: Callable[[Any], bool]) -> list[Any]:
        """Return the entries of an index, also those in its slices, for which `cond` holds, in order."""
        result = []
        for entry in idxs:
            if isinstance(entry, slice):
                result.extend([part for part in (entry.start, entry.stop, entry.step) if cond(part)])
            elif cond(entry):
                result.append(entry)
        return result

    @staticmethod
    def convert(entry: Any, slice_ok: bool = True) -> Any:
        """Return what stands for `entry` in ``idx_list``.

        Raises
        ------
        AdvancedIndexingError
            If `entry` is no integer scalar or slice of such.
        TypeError
            If it is a Python integer.
        """
        return _input_type(entry, slice_ok)

    @staticmethod
    def my_as_scalar(a: Any) -> Any:
        """Return an index as a Scalar variable."""
        return _as_scalar_index(a)

    @staticmethod
    def str_from_slice(entry: slice) -> str:
        """Return the text of a slice of the template, such as ``int64::``."""
        return ":".join("" if part is None else str(part) for part in (entry.start, entry.stop, entry.step))

    def get_constant_idx(
        self,
        inputs: Sequence[Any],
        allow_partial: bool = False,
        only_process_constants: bool = False,
        elemwise: bool = True,
    ) -> list[Any]:
        """Return the index with known entries as integers.

        Parameters
        ----------
        inputs : sequence
            The inputs of the node.
        allow_partial : bool
            Leave entries that are not known as variables, instead of raising.
        only_process_constants, elemwise : bool
            See :func:`get_scalar_constant_value`.

        Raises
        ------
        NotScalarConstantError
            If an entry is not known.
        """

        def conv(val: Any) -> Any:
            if val is None:
                return None
            if isinstance(val, slice):
                return slice(conv(val.start), conv(val.stop), conv(val.step))
            try:
                return int(
                    get_scalar_constant_value(val, only_process_constants=only_process_constants, elemwise=elemwise)
                )
            except NotScalarConstantError:
                if allow_partial:
                    return val
                raise

        return [conv(entry) for entry in get_idx_list(inputs, self.idx_list)]

    def make_node(self, x: Any, *inputs: Any) -> Apply:
        x = as_tensor_variable(x)
        variables = self._index_inputs(x, inputs)
        pattern: list[bool] = []
        source = x.type.broadcastable
        if any(source):
            index = get_idx_list([x, *variables], self.idx_list)
            for i, entry in enumerate(index):
                if isinstance(entry, slice):
                    pattern.append(source[i] and _keeps_one(entry))
            pattern.extend(source[len(index) :])
        else:
            kept = sum([isinstance(entry, slice) for entry in self.idx_list])
            pattern = [False] * (kept + len(source) - len(self.idx_list))
        return Apply(self, [x, *variables], [tensor_type(x.type.dtype, tuple(pattern))()])

    def static_shape(self, node: Apply, shape_of: Any) -> list[int | None] | None:
        x = node.inputs[0]
        if shape_of(x) is None:
            return None
        lengths = known_shape(x)
        index = get_idx_list(node.inputs, self.idx_list)
        kept = [length_of_slice(entry, n) for entry, n in zip(index, lengths) if isinstance(entry, slice)]
        return [*kept, *lengths[len(index) :]]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x = inputs[0]
        index = get_idx_list(inputs, self.idx_list)
        output_storage[0][0] = np.asarray(x[index])

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x_shape = in_shapes[0]
        index = get_idx_list(node.inputs, self.idx_list)
        result = []
        for entry, length in zip(index, x_shape):
            if isinstance(entry, slice):
                if entry == slice(None):
                    result.append(length)
                else:
                    result.append(slice_len(entry, length))
        result.extend(x_shape[len(index) :])
        return [tuple(result)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, rest = inputs[0], inputs[1:]
        (gz,) = grads
        if x.dtype in discrete_dtypes:
            first = x.zeros_like(dtype=config.floatX)
        else:
            # An increment rather than an assignment, so that increments of one tensor can be chained;
            # a rewrite turns increments of zeros into assignments.
            increment = IncSubtensor(self.idx_list)
            increment.same_shape = True
            first = increment(x.zeros_like(), gz, *rest)
        return [first] + [DisconnectedType()() for _ in rest]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        # Indices have no tangent.
        if eval_points[0] is None:
            return [None]
        return self(eval_points[0], *inputs[1:], return_list=True)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key == other._key

    def __hash__(self) -> int:
        return hash((type(self), self._key))

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self._index_text()}}}"


def _keeps_one(entry: slice) -> bool:
    """Return whether a slice of a dimension of length 1 has length 1 for certain."""
    try:
        parts = [
            None if part is None else int(get_scalar_constant_value(part))
            for part in (entry.start, entry.stop, entry.step)
        ]
    except NotScalarConstantError:
        return False
    return parts[2] != 0 and len(range(*slice(*parts).indices(1))) == 1


class _SubtensorPrinter:
    """Writes an index as Python does: ``x[1:, i]``.

    See Also
    --------
    theano.tensor.Subtensor : A view of a tensor selected by integers and slices.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano import scalar
    >>> x, i = T.dmatrix("x"), scalar.int64("i")
    >>> theano.pp(x[i:, i]), theano.pp((x + x)[:, i])
    ('x[i:, i]', '(x + x)[:, i]')
    """

    def process(self, r: Any, pstate: Any) -> str:
        if r.owner is None or not isinstance(r.owner.op, Subtensor):
            raise TypeError("Can only print Subtensor.")
        inputs = r.owner.inputs
        index = get_idx_list(inputs, r.owner.op.idx_list)
        old_precedence = getattr(pstate, "precedence", None)
        pstate.precedence = 1000
        try:
            source = pstate.pprinter.process(inputs[0], pstate)

            def text(entry: Any) -> str:
                if isinstance(entry, Variable):
                    return pstate.pprinter.process(entry, pstate)
                return str(entry)

            parts = []
            for entry in index:
                if isinstance(entry, slice):
                    written = "" if entry.start is None or entry.start == 0 else text(entry.start)
                    written += ":" + ("" if entry.stop is None else text(entry.stop))
                    if entry.step is not None:
                        written += ":" + text(entry.step)
                    parts.append(written)
                else:
                    parts.append(text(entry))
        finally:
            pstate.precedence = old_precedence
        return f"{source}[{', '.join(parts)}]"


SubtensorPrinter = _SubtensorPrinter
pprint.assign(Subtensor, _SubtensorPrinter())


class IncrementOp(Op):
    """A copy of a tensor, the first input, with a part incremented by a value, the second one, or set to it.

    Parameters
    ----------
    inplace : bool
        Write into the tensor itself.
    set_instead_of_inc : bool
        Assign instead of adding.
    """

    writes_first_input = True
    __props__: tuple[str, ...] = ("inplace", "set_instead_of_inc")

    def __init__(self, inplace: bool = False, set_instead_of_inc: bool = False) -> None:
        self.inplace = bool(inplace)
        self.set_instead_of_inc = bool(set_instead_of_inc)
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self) -> str:
        where = "inplace" if self.inplace else "no_inplace"
        return f"{type(self).__name__}{{{where},{'set' if self.set_instead_of_inc else 'inc'}}}"

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True]] + [[False]] * (len(node.inputs) - 2)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        dx, dy = eval_points[:2]
        if dx is None and dy is None:
            return [None]
        dx = inputs[0].zeros_like() if dx is None else dx
        dy = inputs[1].zeros_like() if dy is None else dy
        return self(dx, dy, *inputs[2:], return_list=True)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        x, y, index = inputs[0], inputs[1], tuple(inputs[2:])
        if not self.inplace:
            x = x.copy()
        if self.set_instead_of_inc:
            x[index] = y
        else:
            # Duplicates have to be added one after another, which an assignment of x[index] + y would not.
            np.add.at(x, index, np.asarray(y).astype(x.dtype, copy=False))
        output_storage[0][0] = x

    def _grad(self, inputs: Sequence[Any], gz: Any, get: Any, assign: Any) -> list[Any]:
        """The gradients, by the Ops that get the part and that assign to it."""
        x, y, rest = inputs[0], inputs[1], inputs[2:]
        if x.dtype in discrete_dtypes:
            return [zeros_for_grad(x), zeros_for_grad(y)] + [DisconnectedType()() for _ in rest]
        if x.dtype.startswith("complex"):
            raise NotImplementedError("No support for complex grad yet")
        gx = assign(gz, y.zeros_like(dtype=gz.dtype), *rest) if self.set_instead_of_inc else gz
        gy = sum_over_broadcast(y, get(gz, *rest))
        return [gx, gy] + [DisconnectedType()() for _ in rest]


class IncSubtensor(_BasicIndexOp, IncrementOp):
    """A copy of a tensor with the part selected by an index incremented by a value, or set to it.

    Parameters
    ----------
    idx_list : sequence
        The template of the index; see :class:`Subtensor`.
    inplace : bool
        Write into the tensor itself.
    set_instead_of_inc : bool
        Assign instead of adding.
    destroyhandler_tolerate_aliased : sequence of pairs of input indices, optional
        Inputs that may be views of the tensor although it is overwritten.

    See Also
    --------
    theano.tensor.AdvancedSubtensor : The elements of a tensor at integer arrays, mixed with slices and None.
    theano.tensor.Subtensor : A view of a tensor selected by integers and slices.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano import scalar
    >>> one_place = IncSubtensor([scalar.int64], set_instead_of_inc=True)
    >>> one_place(T.zeros(3), 7.0, 1).eval().tolist()
    [0.0, 7.0, 0.0]
    """

    __props__ = ("idx_list", "inplace", "set_instead_of_inc", "destroyhandler_tolerate_aliased")
    # Whether the value is known to have the shape of the part, as a gradient has, and is not broadcast to it.
    same_shape = False

    def __init__(
        self,
        idx_list: Iterable[Any],
        inplace: bool = False,
        set_instead_of_inc: bool = False,
        destroyhandler_tolerate_aliased: Iterable[Any] | None = None,
    ) -> None:
        self._set_idx_list(idx_list)
        IncrementOp.__init__(self, inplace, set_instead_of_inc)
        self.destroyhandler_tolerate_aliased = tuple(destroyhandler_tolerate_aliased or ())

    def _props_key(self) -> tuple[Any, ...]:
        return (self._key, self.inplace, self.set_instead_of_inc, self.destroyhandler_tolerate_aliased)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._props_key() == other._props_key()

    def __hash__(self) -> int:
        return hash((type(self), self._props_key()))

    def __str__(self) -> str:
        kind = ("Inplace" if self.inplace else "") + ("Set" if self.set_instead_of_inc else "Inc")
        return f"{type(self).__name__}{{{kind};{self._index_text()}}}"

    def make_node(self, x: Any, y: Any, *inputs: Any) -> Apply:
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        if y.ndim > x.ndim:
            raise ValueError(
                f"Trying to increment a {x.ndim}-dimensional subtensor with a {y.ndim}-dimensional value."
            )
        variables = self._index_inputs(x, inputs)
        return Apply(self, [x, y, *variables], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, *params: Any) -> None:
        x, y = inputs[:2]
        index = get_idx_list(inputs[1:], self.idx_list)
        if not self.inplace:
            x = x.copy()
        if self.set_instead_of_inc:
            x[index] = y
        else:
            part = x[index]
            if part.shape == ():
                x[index] = part + y
            else:
                np.add(part, y, out=part, casting="unsafe")
        output_storage[0][0] = x

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        assign = IncSubtensor(self.idx_list, set_instead_of_inc=True)
        return self._grad(inputs, grads[0], Subtensor(self.idx_list), assign)


def sum_over_broadcast(x: Any, gx: Any):
    """Return the gradient `gx` summed over the dimensions along which `x` was broadcast to its shape."""
    if gx.broadcastable == x.broadcastable:
        return gx
    extra = gx.ndim - x.ndim
    spread = [
        i + extra for i in range(x.ndim) if x.broadcastable[i] and not gx.broadcastable[i + extra]
    ]
    if spread:
        gx = gx.sum(axis=spread, keepdims=True)
    if extra:
        gx = gx.sum(axis=list(range(extra)))
    return patternbroadcast(gx, x.broadcastable)


_sum_grad_over_bcasted_dims = sum_over_broadcast

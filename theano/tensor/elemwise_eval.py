"""Scalar ops on whole arrays with NumPy: what runs where there is no native code."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano.scalar.composite import Composite
from theano.scalar.op import ScalarOp

Evaluator = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


def resolve_function(name: str) -> Callable | None:
    """Return the function that an ``nfunc_spec`` names: one of NumPy's, or a dotted path; None if it is missing.

    Parameters
    ----------
    name : str
        ``'add'`` or ``'scipy.special.erf'``, say.

    See Also
    --------
    theano.tensor.elemwise.is_evidently : Return whether all elements of `v` are known to be equal to a number, see
        `get_scalar_constant_value`.
    theano.tensor.Elemwise : A scalar op applied to each element of tensors, which are broadcast to a common shape.

    Examples
    --------
    >>> resolve_function("add"), resolve_function("scipy.special.erf"), resolve_function("numpy.no_such")
    (<ufunc 'add'>, <ufunc 'erf'>, None)
    """
    if "." not in name:
        return getattr(np, name, None)
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return None


def check_shapes(node: Any, inputs: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Return the common shape of the inputs of an elementwise node.

    Parameters
    ----------
    node : Apply
        The node; the types of its inputs say what is repeated.
    inputs : list of ndarray
        Their values.

    Raises
    ------
    ValueError
        If two inputs that are not declared broadcastable differ in length. A length of 1 is no exception.

    See Also
    --------
    theano.tensor.elemwise.evaluate : Return what an `evaluator` gives for arrays, as new arrays of the given shape.
    theano.tensor.elemwise.check_elementwise : Refuse inputs of an elementwise operation that are known to differ in
        length where both are not repeated.

    Examples
    --------
    >>> import theano.tensor as T
    >>> node = (T.dvector() + T.dvector()).owner
    >>> check_shapes(node, [np.zeros(3), np.zeros(3)])
    (3,)
    >>> check_shapes(node, [np.zeros(3), np.zeros(1)])
    Traceback (most recent call last):
        ...
    ValueError: Input dimension mis-match. (input[0].shape[0] = 3, input[1].shape[0] = 1)
    """
    first_shape = inputs[0].shape if inputs else ()
    if all(x.shape == first_shape for x in inputs):
        return first_shape
    shape = []
    for dim in range(node.outputs[0].type.ndim):
        first = -1
        for i, x in enumerate(inputs):
            if node.inputs[i].type.broadcastable[dim]:
                continue
            if first < 0:
                first = i
            elif x.shape[dim] != inputs[first].shape[dim]:
                raise ValueError(
                    f"Input dimension mis-match. (input[{first}].shape[{dim}] = {inputs[first].shape[dim]},"
                    f" input[{i}].shape[{dim}] = {x.shape[dim]})"
                )
        shape.append(1 if first < 0 else inputs[first].shape[dim])
    return tuple(shape)


def _is_ours(op: ScalarOp) -> bool:
    # The ops of theano.scalar compute arrays as well as numbers.
    return type(op).impl.__module__.startswith("theano.scalar")


def _has_own_impl(op: ScalarOp) -> bool:
    # A subclass that computes something else still has the function of the class that it derives from.
    return next(c for c in type(op).__mro__ if "impl" in c.__dict__ or "nfunc_spec" in c.__dict__).__dict__.get(
        "nfunc_spec"
    ) is None


@functools.lru_cache(maxsize=2048)
def evaluator(
    op: ScalarOp, in_dtypes: tuple[str, ...], out_dtypes: tuple[str, ...], nfunc_spec: tuple | None = None
) -> Evaluator:
    """Return a function that computes a scalar op on arrays of the given dtypes.

    Its results have the dtypes of `out_dtypes`, but may be smaller than the common shape of the arguments, or
    share their memory.
    """
    if isinstance(op, Composite):
        return _composite_evaluator(op)
    if not _is_ours(op) and nfunc_spec is not None and nfunc_spec[1] == len(in_dtypes) and not _has_own_impl(op):
        function = resolve_function(nfunc_spec[0])
        if function is not None:
            return _convert(function, out_dtypes)
    if _is_ours(op):
        return _convert(op.impl, out_dtypes)
    return _convert(np.frompyfunc(op.impl, len(in_dtypes), len(out_dtypes)), out_dtypes)


def _convert(function: Callable, out_dtypes: tuple[str, ...]) -> Evaluator:
    dtypes = [np.dtype(d) for d in out_dtypes]

    def run(inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        results = function(*inputs)
        if len(dtypes) == 1:
            results = (results,)
        return [_as_dtype(r, d) for r, d in zip(results, dtypes)]

    return run


def _as_dtype(value: Any, dtype: np.dtype) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    return array.astype(dtype)


def _composite_evaluator(op: Composite) -> Evaluator:
    program = op.program
    steps = [
        (
            evaluator(
                s.op,
                tuple(i.type.dtype for i in s.node.inputs),
                tuple(o.type.dtype for o in s.node.outputs),
                s.op.nfunc_spec,
            ),
            s.inputs,
            s.outputs,
        )
        for s in program.steps
    ]
    constants = [(slot, np.asarray(v.data)) for slot, v in program.constants]
    # What is not needed any more is dropped at once, so that arrays do not pile up.
    last: dict[int, int] = {}
    for k, step in enumerate(program.steps):
        for slot in (*step.inputs, *step.outputs):
            last[slot] = k
    for slot in program.outputs:
        last[slot] = -1
    dead: list[list[int]] = [[] for _ in steps]
    for slot, k in last.items():
        if k >= 0:
            dead[k].append(slot)

    def run(inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        values: list[Any] = [*inputs, *([None] * (program.n_slots - op.nin))]
        for slot, value in constants:
            # NumPy 1 lets 0-d arrays give way to the dtype of others.
            values[slot] = value.reshape((1,) * (inputs[0].ndim if len(inputs) else 0))
        for k, (function, ins, outs) in enumerate(steps):
            for slot, value in zip(outs, function([values[i] for i in ins])):
                values[slot] = value
            for slot in dead[k]:
                values[slot] = None
        return [values[o] for o in program.outputs]

    return run


def evaluate(run: Evaluator, inputs: Sequence[np.ndarray], shape: tuple[int, ...]) -> list[np.ndarray]:
    """Return what an :func:`evaluator` gives for arrays, as new arrays of the given shape.

    Parameters
    ----------
    run : Evaluator
        From :func:`evaluator`.
    inputs : list of ndarray
        The arrays.
    shape : tuple of int
        The common shape, from :func:`check_shapes`.

    See Also
    --------
    theano.tensor.elemwise.check_elementwise : Refuse inputs of an elementwise operation that are known to differ in
        length where both are not repeated.
    theano.tensor.elemwise.check_shapes : Return the common shape of the inputs of an elementwise node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> square = evaluator(T.sqr.scalar_op, ("float64",), ("float64",))
    >>> [result.tolist() for result in evaluate(square, [np.array([1.0, 3.0])], (2,))]
    [[1.0, 9.0]]
    """
    results: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        values = run(inputs)
    for value in values:
        if value.shape != shape:
            value = np.broadcast_to(value, shape).copy()
        elif value.base is not None or any(value is x for x in (*inputs, *results)):
            if any(np.may_share_memory(value, x) for x in (*inputs, *results)):
                value = value.copy()
        results.append(value)
    return results

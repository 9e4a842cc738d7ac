"""Lengths that a graph says before it runs, so that shapes which cannot meet are reported where they are written.

An Op whose output's lengths can be told has a method ``static_shape(node, shape_of)``: it returns a length or None for
each dimension of its first output, or None if none is known, and asks `shape_of` for those of its inputs, which may be
None, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.stack_traces import warn_user

#: How many nodes that were not asked before are looked through.
_DEPTH = 20


def known_int(variable: Any) -> int | None:
    """Return the value of an integer constant, None for anything else."""
    if isinstance(variable, Constant) and variable.type.ndim == 0 and variable.data.dtype.kind in "iu":
        return int(variable.data)
    return None


def known_ints(vector: Any, count: int) -> list[int | None]:
    """Return the elements of a vector of `count` integers that are known: those of a constant, or of scalars put together."""
    if isinstance(vector, Constant):
        return [int(n) for n in vector.data] if vector.data.shape == (count,) else [None] * count
    owner = vector.owner
    if owner is None or len(owner.inputs) != count or not all(x.type.ndim == 0 for x in owner.inputs):
        return [None] * count
    return [known_int(x) for x in owner.inputs] if getattr(owner.op, "joins_numbers", False) else [None] * count


def lengths_of(variable: Any, depth: int = _DEPTH) -> tuple[int | None, ...] | None:
    """Return what Ops say of the lengths of a tensor, or None where they say nothing.

    Parameters
    ----------
    variable : TensorVariable
        A constant, or the output of a node. What is found is kept with it.
    depth : int
        How many nodes to look through.

    Returns
    -------
    tuple of int or None, or None
        A length for each dimension, None for those that are not known.
    """
    owner = variable.owner
    if owner is None:
        return variable.data.shape if isinstance(variable, Constant) else None
    # Not by the variable's dictionary: until that is asked for, there is none.
    found = getattr(variable, "_lengths", owner)
    if found is owner:
        method = getattr(owner.op, "static_shape", None)
        found = None
        if method is not None and depth and variable.index == 0 and False in variable.type.broadcastable:
            found = method(owner, lambda x: lengths_of(x, depth - 1))
            if found is not None:
                found = None if all(n is None for n in found) else tuple(found)
        variable._lengths = found
    return found


def known_shape(variable: Any) -> tuple[int | None, ...]:
    """Return the lengths of a tensor that are known when the graph is built, None for the others.

    Parameters
    ----------
    variable : TensorVariable
        Of any rank.

    Returns
    -------
    tuple of int or None
        One for each dimension; those that the type says to be broadcastable are 1.

    Examples
    --------
    >>> import theano.tensor as T
    >>> known_shape(T.ones((2, 3)).T + T.matrix())
    (3, 2)
    """
    pattern = variable.type.broadcastable
    lengths = lengths_of(variable) or [None] * len(pattern)
    return tuple([1 if b else n for b, n in zip(pattern, lengths)])


def check_elementwise(op: Any, inputs: Sequence[Any]) -> bool:
    """Refuse inputs of an elementwise operation that are known to differ in length where both are not repeated.

    Parameters
    ----------
    op : Elemwise
        For the message.
    inputs : sequence of TensorVariable
        Of equal rank.

    Returns
    -------
    bool
        Whether a length is known that is not repeated.

    Raises
    ------
    ValueError
        Two lengths clash: the function would raise it whenever it is called.

    See Also
    --------
    theano.tensor.elemwise.check_shapes : Return the common shape of the inputs of an elementwise node.
    theano.tensor.elemwise.evaluate : Return what an `evaluator` gives for arrays, as new arrays of the given shape.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> check_elementwise(T.add, [T.constant(np.zeros(3)), T.constant(np.zeros(4))])
    Traceback (most recent call last):
        ...
    ValueError: Input dimension mis-match. Elemwise{add,no_inplace} cannot take input 0 of shape (3,) and ...
    """
    first, other = -1, None
    for i, x in enumerate(inputs):
        owner = x.owner
        if owner is None:
            lengths = x.data.shape if isinstance(x, Constant) else None
        else:
            lengths = getattr(x, "_lengths", owner)
            if lengths is owner:
                lengths = lengths_of(x)
        if lengths is None or False not in x.type.broadcastable:
            continue
        if other is None:
            first, other = i, lengths
            continue
        for dim, (n, m) in enumerate(zip(lengths, other)):
            if n == m or n is None or m is None or x.type.broadcastable[dim] or inputs[first].type.broadcastable[dim]:
                continue
            shape, other = known_shape(x), known_shape(inputs[first])
            raise ValueError(
                f"Input dimension mis-match. {op} cannot take input {first} of shape {text_of(other)} and input {i} of shape"
                f" {text_of(shape)}: in dimension {dim} they have {m} and {n} elements, and neither is declared broadcastable"
                f" there. ({inputs[first]}: {inputs[first].type}, {x}: {x.type})"
            )
    return other is not None


def check_product(x: Any, y: Any, of_x: int, of_y: int) -> None:
    """Refuse operands of a product whose summed dimensions are known to differ in length; warn if both are constants.

    Parameters
    ----------
    x, y : TensorVariable
        The operands.
    of_x, of_y : int
        The dimension of each that is summed over.

    Raises
    ------
    ValueError
        The lengths clash.
    """
    if lengths_of(x) is None and not x.type.broadcastable[of_x] or lengths_of(y) is None and not y.type.broadcastable[of_y]:
        return
    shapes = known_shape(x), known_shape(y)
    n, m = shapes[0][of_x], shapes[1][of_y]
    if n != m and n is not None and m is not None:
        message = (
            f"Shape mismatch: the operands of dot have shapes {text_of(shapes[0])} and {text_of(shapes[1])}, whose dimensions"
            f" {of_x} and {of_y} should have the same length, not {n} and {m}. ({x}: {x.type}, {y}: {y.type})"
        )
        if isinstance(x, Constant) and isinstance(y, Constant):
            # Tests of programs for Theano 1.0 build such products, to see that running them fails.
            warn_user(message)
        else:
            raise ValueError(message)


def check_join(axis: int, tensors: Sequence[Any]) -> None:
    """Refuse tensors to be joined that are known to differ in length along another axis than the joined one.

    Parameters
    ----------
    axis : int
        The joined axis, not negative.
    tensors : sequence of TensorVariable
        Of equal rank.

    Raises
    ------
    ValueError
        Two lengths clash.
    """
    if all(lengths_of(x) is None for x in tensors):
        return
    shapes = [known_shape(x) for x in tensors]
    for dim in range(tensors[0].type.ndim):
        known = [(i, shape[dim]) for i, shape in enumerate(shapes) if shape[dim] is not None]
        clash = next((pair for pair in known if pair[1] != known[0][1]), None) if dim != axis else None
        if clash is not None:
            (i, n), (j, m) = known[0], clash
            raise ValueError(
                f"All tensors joined along axis {axis} must have the same length in dimension {dim}, but tensor {i} has {n}"
                f" and tensor {j} has {m} there: {', '.join(map(text_of, shapes))}"
            )


def length_of_slice(entry: slice, length: int | None) -> int | None:
    """Return how many elements a slice of an index takes of a dimension, None if that is not known.

    Parameters
    ----------
    entry : slice
        Of integer constants, other variables and None.
    length : int or None
        The length of the dimension.

    Returns
    -------
    int or None
    """
    parts = (entry.start, entry.stop, entry.step)
    numbers = [None if part is None else known_int(part) for part in parts]
    if length is None or any(n is None and part is not None for n, part in zip(numbers, parts)) or numbers[2] == 0:
        return None
    return len(range(*slice(*numbers).indices(length)))


def check_index(x: Any, entries: Sequence[Any]) -> None:
    """Refuse constant positions that are known to lie outside of a tensor.

    Parameters
    ----------
    x : TensorVariable
        What is indexed.
    entries : sequence
        One for each of its first dimensions: a slice, an integer, an integer variable or an integer array.

    Raises
    ------
    IndexError
        A position is out of bounds: the function would raise it whenever it is called.
    """
    known = [(dim, entry) for dim, entry in enumerate(entries) if type(entry) is int or isinstance(entry, Constant)]
    if not known or len(entries) > x.type.ndim or lengths_of(x) is None and True not in x.type.broadcastable:
        return
    shape = known_shape(x)
    arrays = [entry for entry in entries if getattr(getattr(entry, "type", None), "ndim", 0)]
    if arrays and (None in shape or 0 in shape or sum(not isinstance(entry, slice) for entry in entries) > 1):
        # Where nothing is taken, nothing need be out of bounds.
        return
    for dim, entry in known:
        positions = np.asarray(entry.data if isinstance(entry, Constant) else entry)
        n = shape[dim]
        if n is None or positions.dtype.kind not in "iu" or not positions.size:
            continue
        least, most = int(positions.min()), int(positions.max())
        if least < -n or most >= n:
            where = f"from 0 to {n - 1}, or from {-n} to -1, counted from the end" if n else "nowhere: it is empty"
            raise IndexError(
                f"index {most if most >= n else least} is out of bounds for dimension {dim} of {x}, which has shape"
                f" {text_of(shape)}. Positions there go {where}."
            )


def check_fits(x: Any, shape: Sequence[int | None], what: str) -> None:
    """Refuse a value that is known not to broadcast to the place that it is to fill.

    Parameters
    ----------
    x : TensorVariable
        The value; a length of 1 fits everywhere.
    shape : sequence of int or None
        The lengths of the place, of at least as many dimensions.
    what : str
        The place, for the message.

    Raises
    ------
    ValueError
        Two lengths clash.
    """
    lengths = lengths_of(x)
    if lengths is None:
        return
    offset = len(shape) - len(lengths)
    for dim, n in enumerate(lengths):
        m = shape[dim + offset]
        if n != m and n != 1 and n is not None and m is not None:
            raise ValueError(
                f"A value of shape {text_of(known_shape(x))} does not fit {what} of shape {text_of(shape)}: it has {n} elements"
                f" in dimension {dim}, where there are {m} places. Give it as many, or 1, which is repeated. ({x}: {x.type})"
            )


def check_batches(x: Any, y: Any) -> None:
    """Refuse operands of products pair by pair that are known to differ in the number of pairs or in what is summed over.

    Parameters
    ----------
    x, y : TensorVariable
        Of two or three dimensions.

    Raises
    ------
    ValueError
        Two lengths clash.
    """
    if lengths_of(x) is None or lengths_of(y) is None:
        return
    shapes = known_shape(x), known_shape(y)
    for of_x, of_y in ((0, 0), (x.type.ndim - 1, 1)):
        n, m = shapes[0][of_x], shapes[1][of_y]
        if n != m and n is not None and m is not None and (of_y or 1 not in (n, m)):
            raise ValueError(
                f"Shape mismatch: the operands of batched_dot have shapes {text_of(shapes[0])} and {text_of(shapes[1])}, whose"
                f" dimensions {of_x} and {of_y} should have the same length, not {n} and {m}. ({x}: {x.type}, {y}: {y.type})"
            )


def check_reshape(x: Any, wanted: Sequence[int | None]) -> None:
    """Refuse a shape that is known not to hold the elements of a tensor.

    Parameters
    ----------
    x : TensorVariable
        What is reshaped.
    wanted : sequence of int or None
        The new lengths, one of which may be -1.

    Raises
    ------
    ValueError
        The numbers of elements differ, or what is left for the -1 is no whole number.
    """
    if None in wanted or lengths_of(x) is None and False in x.type.broadcastable:
        return
    shape = known_shape(x)
    if None in shape or any(n < -1 for n in wanted) or list(wanted).count(-1) > 1:
        return
    count, places = math.prod(shape), math.prod(n for n in wanted if n != -1)
    if count != places if -1 not in wanted else count and places and count % places:
        raise ValueError(
            f"Cannot reshape {x} of shape {text_of(shape)}, which has {count} elements, to shape {text_of(wanted)}, which has"
            f" {'a multiple of ' if -1 in wanted else ''}{places} places. One entry of the shape may be -1 where it divides."
        )


def text_of(shape: Sequence[int | None]) -> str:
    """Return a shape as it is written in messages, unknown lengths as ``?``."""
    return "(" + ", ".join("?" if n is None else str(int(n)) for n in shape) + ("," if len(shape) == 1 else "") + ")"

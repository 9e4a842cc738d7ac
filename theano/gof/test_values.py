"""Running nodes on test values while a graph is built."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.graph import get_test_value
from theano.gof.utils import MethodNotDefined


def _own_copy(value: Any) -> Any:
    """Return a copy of a value that an in-place Op may overwrite."""
    return value.copy() if isinstance(value, np.ndarray) else copy.deepcopy(value)


def compute_test_values(node: Any) -> None:
    """Compute the outputs of a node from the test values of its inputs, and keep them in the outputs' tags.

    Where an input has no test value, ``config.compute_test_value`` says what happens.

    Parameters
    ----------
    node : Apply
        The application of an Op.

    Raises
    ------
    ValueError
        A test value is missing and the flag is ``'raise'``.

    See Also
    --------
    theano.gof.op.get_debug_values : Return the test values of some variables, for an Op that checks them when it is
        applied.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = x + 1
    >>> x.tag.test_value = 2.0
    >>> compute_test_values(y.owner)
    >>> float(y.tag.test_value)
    3.0
    """
    storage_map: dict = {}
    compute_map: dict = {}
    for i, var in enumerate(node.inputs):
        try:
            storage_map[var] = [get_test_value(var)]
            compute_map[var] = [True]
        except AttributeError as e:
            _missing(node, i, var, e)
            return
    # What the Op destroys must not be the user's value.
    for numbers in (getattr(node.op, "destroy_map", None) or {}).values():
        for i in numbers:
            storage = storage_map[node.inputs[i]]
            storage[0] = _own_copy(storage[0])
    for out in node.outputs:
        storage_map[out] = [None]
        compute_map[out] = [False]
    try:
        thunk = node.op.make_thunk(node, storage_map, compute_map, no_recycling=[], impl="py")
        needed = thunk()
    except MethodNotDefined:
        thunk = node.op.make_thunk(node, storage_map, compute_map, no_recycling=[])
        needed = thunk()
    while needed:
        # A lazy thunk asks for its inputs one after another; here they are all known.
        needed = thunk()
    for out in node.outputs:
        out.tag.test_value = storage_map[out][0]


def _missing(node: Any, i: int, var: Any, error: AttributeError) -> None:
    action = config.compute_test_value
    if action == "ignore":
        return
    detail = str(error)
    text = f"Cannot compute test value: input {i} ({var}) of Op {node} missing default value. {detail}"
    if action == "raise":
        raise ValueError(text)
    if action == "warn":
        warnings.warn(text, stacklevel=4)
    elif action == "pdb":
        import pdb

        pdb.post_mortem(error.__traceback__)

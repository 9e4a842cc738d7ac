"""Random streams of training on several processes: each draws numbers of its own, from the seed that all have."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from theano.gof.graph import inputs
from theano.gof.sharedvalue import SharedVariable
from theano.sandbox.rng_mrg import advanced
from theano.tensor.raw_random import RandomStateType


def states_of(expressions: Iterable[Any]) -> list[SharedVariable]:
    """Return the states of random streams that expressions read: shared variables with updates of their own.

    Parameters
    ----------
    expressions : iterable of Variable
        What reads the streams.

    Returns
    -------
    list of SharedVariable

    See Also
    --------
    theano.distributed.streams.fingerprint : Return a text that is the same for the same state.
    theano.distributed.streams.state_for : Return the state of the process `rank`, given that of the first.

    Examples
    --------
    >>> from theano.tensor.shared_randomstreams import RandomStreams
    >>> noise = RandomStreams(3).normal((2,))
    >>> [state] = states_of([2 * noise])
    >>> state is noise.rng
    True
    """
    found: dict[SharedVariable, None] = {}
    for v in inputs(list(expressions)):
        if isinstance(v, SharedVariable) and getattr(v, "default_update", None) is not None and (
            isinstance(v.type, RandomStateType) or _is_mrg(v)
        ):
            found[v] = None
    return list(found)


def _is_mrg(state: SharedVariable) -> bool:
    value = state.get_value(borrow=True)
    return isinstance(value, np.ndarray) and value.dtype == np.int32 and value.ndim == 2 and value.shape[1] == 6


def state_for(value: Any, rank: int) -> Any:
    """Return the state of the process `rank`, given that of the first.

    Of MRG31k3p each process has as many streams, of ``2**72`` numbers each, as the sample needs, behind those of the
    process before; MT19937 jumps over ``2**128`` numbers for each.

    Parameters
    ----------
    value : ndarray or RandomState
        The state of the stream on the first process.
    rank : int
        The number of the process, from 0.

    Returns
    -------
    ndarray or RandomState

    See Also
    --------
    theano.distributed.streams.states_of : Return the states of random streams that expressions read: shared variables
        with updates of their own.
    theano.distributed.streams.fingerprint : Return a text that is the same for the same state.

    Examples
    --------
    >>> first = np.random.RandomState(3)
    >>> fingerprint(state_for(first, 0)) == fingerprint(first), fingerprint(state_for(first, 1)) == fingerprint(first)
    (True, False)
    """
    if isinstance(value, np.ndarray):
        return advanced(value, 72, rank * len(value)) if rank else value.copy()
    generator = np.random.MT19937()
    generator.state = value.get_state(legacy=False)
    return np.random.RandomState(generator.jumped(rank) if rank else generator)


def fingerprint(value: Any) -> str:
    """Return a text that is the same for the same state.

    Parameters
    ----------
    value : ndarray or RandomState
        The state of a stream.

    Returns
    -------
    str

    See Also
    --------
    theano.distributed.streams.state_for : Return the state of the process `rank`, given that of the first.
    theano.distributed.streams.states_of : Return the states of random streams that expressions read: shared variables
        with updates of their own.

    Examples
    --------
    >>> fingerprint(np.random.RandomState(3)) == fingerprint(np.random.RandomState(3))
    True
    >>> fingerprint(np.random.RandomState(3)) == fingerprint(np.random.RandomState(4))
    False
    """
    if isinstance(value, np.random.RandomState):
        _, value, position, *_ = value.get_state(legacy=True)
        value = np.append(value, np.uint32(position))
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]

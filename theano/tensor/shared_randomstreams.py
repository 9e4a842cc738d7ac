"""Random streams whose states are kept in shared variables."""

from __future__ import annotations

import copy
from typing import Any, Protocol, runtime_checkable

import numpy as np

from theano.gof import Variable
from theano.gof.sharedvalue import SharedVariable, shared, shared_constructor
from theano.tensor import raw_random


@runtime_checkable
class RandomVariable(Protocol):
    """What :class:`RandomStreams` returns: a variable that knows the state it is drawn from.

    Attributes
    ----------
    rng : SharedVariable
        Holds the RandomState.
    update : tuple
        `rng` and the expression of its next value.

    See Also
    --------
    theano.tensor.shared_randomstreams.RandomStreams : A symbolic stand-in for ``numpy.random.RandomState``.

    Examples
    --------
    >>> sample = RandomStreams(seed=5).uniform((2,))
    >>> state, new_state = sample.update
    >>> state is sample.rng, new_state.owner is sample.owner
    (True, True)
    """

    rng: Any = None
    update: Any = None


class RandomStateSharedVariable(SharedVariable):
    """A shared variable that holds a RandomState.

    See Also
    --------
    theano.tensor.shared_randomstreams.randomstate_constructor : Make a shared variable of a RandomState, of a copy of it
        unless `borrow`.
    theano.tensor.raw_random.RandomStateType : The Type of ``numpy.random.RandomState`` values.

    Examples
    --------
    >>> import theano
    >>> state = theano.shared(np.random.RandomState(5))
    >>> isinstance(state, RandomStateSharedVariable)
    True
    >>> float(state.get_value().uniform()) == float(state.get_value().uniform())
    True
    """


@shared_constructor
def randomstate_constructor(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None, borrow: bool = False
) -> RandomStateSharedVariable:
    """Make a shared variable of a RandomState, of a copy of it unless `borrow`.

    Parameters
    ----------
    value : RandomState
        The first state.
    name : str, optional
        The variable's name.
    strict, allow_downcast : bool, optional
        How states that are assigned later are converted.
    borrow : bool, optional
        Whether `value` itself becomes the storage.

    Returns
    -------
    RandomStateSharedVariable
        Its type is ``random_state_type``.

    Raises
    ------
    TypeError
        `value` is something else.

    See Also
    --------
    theano.tensor.raw_random.RandomStateType : The Type of ``numpy.random.RandomState`` values.
    theano.tensor.shared_randomstreams.RandomStateSharedVariable : A shared variable that holds a RandomState.

    Examples
    --------
    >>> state = np.random.RandomState(5)
    >>> copied, borrowed = randomstate_constructor(state), randomstate_constructor(state, borrow=True)
    >>> copied.get_value(borrow=True) is state, borrowed.get_value(borrow=True) is state
    (False, True)
    """
    if not isinstance(value, np.random.RandomState):
        raise TypeError
    if not borrow:
        value = copy.deepcopy(value)
    return RandomStateSharedVariable(
        type=raw_random.random_state_type, value=value, name=name, strict=strict, allow_downcast=allow_downcast
    )


class RandomStreams(raw_random.RandomStreamsBase):
    """A symbolic stand-in for ``numpy.random.RandomState``.

    Each random variable has a state of its own, whose seed is drawn from a
    generator seeded with `seed`. Functions advance the states of the
    variables that they compute.

    Parameters
    ----------
    seed : int, optional
        Seed of the generator that draws the seeds; random by default.

    Attributes
    ----------
    state_updates : list
        Pairs of a shared state and the expression of its next value.

    See Also
    --------
    theano.sandbox.rng_mrg.MRG_RandomStreams : Random variables of MRG31k3p, with an interface like ``numpy.random``.
    theano.tensor.shared_randomstreams.RandomVariable : What `RandomStreams` returns: a variable that knows the state it
        is drawn from.
    theano.tensor.raw_random.RandomStreamsBase : The distributions, for classes whose ``gen(op, *args, **kwargs)``
        provides the state.

    Examples
    --------
    >>> import theano
    >>> srng = RandomStreams(seed=234)
    >>> f = theano.function([], srng.uniform((2, 2)))
    >>> f().shape, bool((f() != f()).all())
    ((2, 2), True)
    """

    def __init__(self, seed: int | None = None):
        self.state_updates: list[tuple[SharedVariable, Variable]] = []
        self.default_instance_seed = seed
        self.gen_seedgen = np.random.RandomState(seed)

    def updates(self) -> list[tuple[SharedVariable, Variable]]:
        """Return the pairs of states and their next values."""
        return list(self.state_updates)

    def seed(self, seed: int | None = None) -> None:
        """Give all the random variables made so far new states.

        Parameters
        ----------
        seed : int, optional
            Seed of the generator that draws their seeds; by default the one given to
            the constructor.
        """
        seedgen = np.random.RandomState(self.default_instance_seed if seed is None else seed)
        for state, _ in self.state_updates:
            state.set_value(np.random.RandomState(int(seedgen.randint(2**30))), borrow=True)

    def __getitem__(self, item: SharedVariable) -> np.random.RandomState:
        for state, _ in self.state_updates:
            if item is state:
                return item.get_value(borrow=True)
        raise KeyError(item)

    def __setitem__(self, item: SharedVariable, val: np.random.RandomState) -> None:
        if not isinstance(val, np.random.RandomState):
            raise TypeError(f"only values of type RandomState are permitted, got {val}")
        for state, _ in self.state_updates:
            if item is state:
                item.set_value(val, borrow=True)
                return
        raise KeyError(item)

    def gen(self, op: Any, *args: Any, **kwargs: Any) -> Variable:
        """Return a random variable.

        Parameters
        ----------
        op : callable
            Called with a state, `args` and `kwargs`; returns the new state and the
            sample.

        Returns
        -------
        Variable
            The sample, with the attributes ``rng`` (the shared state) and ``update`` (the
            pair of it and its next value).
        """
        seed = int(self.gen_seedgen.randint(2**30))
        state = shared(np.random.RandomState(seed), borrow=True)
        # Tells this shared variable from others.
        state.tag.is_rng = True
        new_state, out = op(state, *args, **kwargs)
        out.rng = state
        out.update = (state, new_state)
        self.state_updates.append(out.update)
        state.default_update = new_state
        return out

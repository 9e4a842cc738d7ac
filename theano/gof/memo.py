"""Tables of what was found out once: they are bounded, and keep none of the things alive that they know of."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any


class ById(dict):
    """Tuples by the id of the object that they are about; one goes when its object does.

    Asking for the id is quicker than hashing and comparing Ops, and answers for equal Ops may differ. A copy is empty.

    Examples
    --------
    >>> import theano
    >>> names, op = ById(), theano.tensor.Dot()
    >>> kept = names.keep(op, "a product")
    >>> names[id(op)][0]
    'a product'
    >>> del op
    >>> len(names)
    0
    """

    def keep(self, thing: Any, *values: Any) -> tuple:
        """Return a tuple of `values`, and more, which from now on is found by ``id(thing)``."""
        key = id(thing)
        try:
            # What pops the entry is kept in it. The second argument of pop is the reference that has died.
            entry = self[key] = (*values, weakref.ref(thing, partial(self.pop, key)))
        except TypeError:
            # Its class has slots, none of them for weak references.
            return values
        return entry

    def __reduce__(self) -> tuple:
        return type(self), ()


class Bounded(dict):
    """A dictionary that forgets everything rather than to grow beyond a size.

    Parameters
    ----------
    most : int
        The sum of the sizes of its entries.

    Examples
    --------
    >>> squares = Bounded(most=2)
    >>> for n in (1, 2, 3):
    ...     kept = squares.keep(n, n * n)
    >>> dict(squares)
    {3: 9}
    """

    def __init__(self, most: int):
        super().__init__()
        self.most = most
        self.size = 0

    def keep(self, key: Any, value: Any, size: int = 1) -> Any:
        """Return `value`, which from now on is found by `key`."""
        if self.size + size > self.most:
            # In this order: what others keep meanwhile counts.
            self.size = 0
            self.clear()
        self.size += size
        self[key] = value
        return value

    def __reduce__(self) -> tuple:
        return type(self), (self.most,)

"""The dictionary of updates of shared variables."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from theano.gof.sharedvalue import SharedVariable


class OrderedUpdates(OrderedDict):
    """A dictionary that maps shared variables to their new values, in a definite order.

    Parameters
    ----------
    *key, **kwargs
        As for `dict`.

    Raises
    ------
    TypeError
        When a key is not a `SharedVariable`.

    See Also
    --------
    theano.scan : Loop: apply a step function again and again, over sequences and to its own results.
    theano.function : Return a callable that computes `outputs` from `inputs`.

    Examples
    --------
    >>> import theano
    >>> counter = theano.shared(0)
    >>> updates = theano.OrderedUpdates({counter: counter + 1})
    >>> step = theano.function([], [], updates=updates)
    """

    def __init__(self, *key: Any, **kwargs: Any):
        if key and isinstance(key[0], dict) and not isinstance(key[0], OrderedDict) and len(key[0]) > 1:
            import warnings

            # A plain dict keeps its order today; the warning is documented for those that do not.
            warnings.warn(
                "Initializing an `OrderedUpdates` from a non-ordered dictionary with 2+ elements could make your code "
                "non-deterministic",
                stacklevel=2,
            )
        super().__init__(*key, **kwargs)
        for var in self:
            if not isinstance(var, SharedVariable):
                raise TypeError(
                    f"OrderedUpdates keys must inherit from SharedVariable, not {var} ({type(var).__name__})"
                )

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, SharedVariable):
            raise TypeError(f"OrderedUpdates keys must inherit from SharedVariable, not {key} ({type(key).__name__})")
        super().__setitem__(key, value)

    def update(self, other: Any = None, **kwargs: Any) -> None:  # type: ignore[override]
        """Add the pairs of another dictionary or list of pairs.

        Raises
        ------
        KeyError
            When a variable has two different updates.
        """
        if other is None:
            return
        pairs = list(other.items()) if hasattr(other, "items") else list(other)
        for key, value in pairs:
            if key in self and self[key] is not value:
                raise KeyError("Collision", key)
            self[key] = value

    def __add__(self, other: Any) -> OrderedUpdates:
        result = OrderedUpdates()
        result.update(self)
        result.update(other)
        return result

    def __radd__(self, other: Any) -> OrderedUpdates:
        result = OrderedUpdates()
        result.update(other)
        result.update(self)
        return result

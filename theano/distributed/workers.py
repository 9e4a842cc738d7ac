"""Compiled functions in the workers of Dask and Ray.

A pickle of a function holds its rewritten graph, its flags and the values of its shared variables, no code: a worker neither
rewrites nor, if any process of its machine has compiled it before, compiles. What is sent with every task (:class:`Sent`)
is loaded once a process.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

#: Functions that a process keeps, those used last.
KEPT = 16
_loaded: OrderedDict[str, tuple[Any, Any]] = OrderedDict()
_lock = threading.Lock()


class Sent:
    """A function, or several that share variables, on the way to workers: each process loads it once.

    Parameters
    ----------
    function : Function, or anything else that can be pickled
        Shared variables go with the values that they have now; in a worker each call sees those that calls before left.

    Attributes
    ----------
    key : str
        A hash of the contents: what is equal is loaded once.

    See Also
    --------
    theano.distributed.Communicator : A group of processes, each of which has a number, its rank.

    Examples
    --------
    >>> import pickle, theano, theano.tensor as T
    >>> from theano.distributed import Sent
    >>> x = T.dvector()
    >>> f = Sent(theano.function([x], T.exp(x).sum()))
    >>> g = pickle.loads(pickle.dumps(f))
    >>> float(g([0.0, 0.0]))
    2.0
    """

    def __init__(self, function: Any):
        self._text = _dumps(function)
        self.key = hashlib.sha256(self._text).hexdigest()

    def __repr__(self) -> str:
        return f"<function {self.key[:8]}, {len(self._text):,} bytes>"

    def __dask_tokenize__(self) -> str:
        return self.key

    def load(self) -> Any:
        """Return the function of this process."""
        return self._entry()[0]

    def _entry(self) -> tuple[Any, Any]:
        with _lock:
            entry = _loaded.pop(self.key, None)
            if entry is None:
                entry = pickle.loads(self._text), threading.Lock()
            _loaded[self.key] = entry
            while len(_loaded) > KEPT:
                _loaded.popitem(last=False)
        return entry

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.load()(*args, **kwargs)


def _dumps(function: Any) -> bytes:
    """A pickle; with what the user's program defines, if cloudpickle is here, as it is where Dask or Ray are."""
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    return dumps(function, pickle.HIGHEST_PROTOCOL)


def map_blocks(function: Any, *arrays: Any) -> Any:
    """Apply a compiled function to blocks of rows of dask arrays.

    Parameters
    ----------
    function : Function
        Of as many arrays, to one array with as many rows as they have: the function must treat rows independently.
    *arrays : dask.array.Array
        With the same number of rows, in the same blocks (or blocks that dask can make the same). Blocks are joined along other
        axes, as the function wants whole rows.

    Returns
    -------
    dask.array.Array
        Computed when dask is asked for it, by whatever workers it has.

    Raises
    ------
    ValueError
        If the function has several outputs, or one without rows.

    See Also
    --------
    theano.distributed.ray_actor : Start an actor of Ray that holds compiled functions with their shared variables.

    Notes
    -----
    The shape and dtype of the result are found by calling the function, here, with one row of ones.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano.distributed import map_blocks
    >>> da = __import__("pytest").importorskip("dask.array")
    >>> x = T.dmatrix()
    >>> score = theano.function([x], T.sqr(x).sum(axis=1))
    >>> map_blocks(score, da.ones((1000, 4), chunks=(100, 2))).sum().compute().item()
    4000.0
    """
    import dask.array as da

    if not arrays:
        raise ValueError("map_blocks needs at least one array")
    arrays = tuple(a.rechunk(dict.fromkeys(range(1, a.ndim), -1)) for a in arrays)
    row = function(*(np.ones((1, *a.shape[1:]), a.dtype) for a in arrays))
    if not isinstance(row, np.ndarray):
        raise ValueError(f"map_blocks takes functions with one output; this one has {len(row)}")
    if row.ndim < 1 or row.shape[0] != 1:
        raise ValueError(f"of one row the function makes an array of shape {row.shape}: it must have as many rows as it is given")
    rows = ["rows"]
    described = []
    for number, a in enumerate(arrays):
        described += [a, (*rows, *(f"{number} {i}" for i in range(1, a.ndim)))]
    out = (*rows, *(f"out {i}" for i in range(1, row.ndim)))
    return da.blockwise(
        _on_block, out, *described, sent=Sent(function), concatenate=True, dtype=row.dtype,
        new_axes={f"out {i}": row.shape[i] for i in range(1, row.ndim)}, meta=np.empty((0,) * row.ndim, row.dtype),
    )  # fmt: skip


def _on_block(*blocks: Any, sent: Sent) -> Any:
    return sent(*blocks)


class Model:
    """Functions that share variables, held by one process: what an actor is made of.

    Parameters
    ----------
    functions : dict of Function
        By name; what they share they go on sharing.

    See Also
    --------
    theano.distributed.data_parallel : Make a training step of a cost; every process calls it with its part of the batch.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano.distributed.workers import Model
    >>> w, x = theano.shared(1.0, name="w"), T.dscalar()
    >>> model = Model({"add": theano.function([x], updates=[(w, w + x)]), "look": theano.function([], w)})
    >>> _ = model.call("add", 2.0)
    >>> float(model.call("look")), list(model.get_values())
    (3.0, ['w'])
    """

    def __init__(self, functions: dict[str, Any] | Sent):
        self.functions: dict[str, Any] = functions.load() if isinstance(functions, Sent) else functions
        self._shared: dict[str, Any] = {}
        for f in self.functions.values():
            for v in f.get_shared():
                name = v.name or f"shared {len(self._shared)}"
                if self._shared.setdefault(name, v) is not v:
                    raise ValueError(f"two shared variables have the name {name!r}")

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function by its name."""
        return self.functions[name](*args, **kwargs)

    def get_values(self) -> dict[str, Any]:
        """Return the values of the shared variables, by name."""
        return {name: v.get_value() for name, v in self._shared.items()}

    def set_values(self, values: dict[str, Any]) -> None:
        """Give shared variables values, by name.

        Raises
        ------
        KeyError
            For a name that none has; then all values are as before.
        """
        unknown = sorted(set(values) - set(self._shared))
        if unknown:
            raise KeyError(f"there are no shared variables {', '.join(unknown)}; there are {', '.join(sorted(self._shared))}")
        for name, value in values.items():
            self._shared[name].set_value(value)


def ray_actor(functions: dict[str, Any], **options: Any) -> Any:
    """Start an actor of Ray that holds compiled functions with their shared variables.

    Parameters
    ----------
    functions : dict of Function
        By name; the actor gets them with the values that shared variables have now, and shares what they share.
    **options
        For ``ray.remote``, such as ``num_cpus``; default one.

    Returns
    -------
    ray.actor.ActorHandle
        With the methods of :class:`Model`: ``ray.get(actor.call.remote("train", x, y))``, ``actor.get_values.remote()`` ...

    See Also
    --------
    theano.distributed.map_blocks : Apply a compiled function to blocks of rows of dask arrays.

    Examples
    --------
    See the page "Beyond one process".
    """
    import ray

    actor = ray.remote(**{"num_cpus": 1, **options})(Model)
    return actor.remote(Sent(functions))

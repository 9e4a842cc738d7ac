"""Training on several processes, each of which has a part of every batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from theano import tensor as T
from theano.compile.function import function
from theano.compile.sharedvalue import shared
from theano.configdefaults import config
from theano.distributed import streams
from theano.distributed.agreement import check_agreement, graph_fingerprint
from theano.distributed.checkpoint import read_checkpoint, write_checkpoint
from theano.distributed.collectives import all_reduce_together
from theano.distributed.communicator import Communicator, world
from theano.distributed.exchange import DistributedError
from theano.gof.sharedvalue import SharedVariable
from theano.gradient import grad
from theano.tensor.raw_random import RandomStateType
from theano.version import __version__

#: Bytes of gradients that travel together.
BUCKET = 1 << 20
#: Seconds that the slowest process may need to compile.
COMPILE_TIMEOUT = 3600.0


def data_parallel(inputs: Sequence[Any], cost: Any, params: Sequence[SharedVariable], optimizer: Callable[..., Any], *,
                  rows: Any = None, outputs: Sequence[Any] = (), updates: Any = (), accumulate: int = 1,
                  bucket: int = BUCKET, group: Communicator | None = None, mode: Any = None,
                  name: str | None = None) -> TrainingStep:
    """Make a training step of a cost; every process calls it with its part of the batch.

    The step is the same as on one process with the whole batch, but for rounding: gradients and costs are weighted by the number
    of rows of each part. Gradients travel in buckets while others are being computed.

    Parameters
    ----------
    inputs : sequence of Variable
        Of the step.
    cost : scalar variable
        A mean over the rows of the inputs.
    params : sequence of SharedVariable
        What is trained. All processes start with the values of the first, the states of the optimizer included.
    optimizer : callable
        ``optimizer(gradients, params)`` returns updates, pairs or a dictionary: one of :func:`sgd`, :func:`momentum`,
        :func:`adam`, or of a library (those of Lasagne take gradients, too).
    rows : scalar variable, optional
        How many rows this process has; default ``inputs[0].shape[0]``.
    outputs : sequence of Variable
        Floats that are means over the rows, too: the step returns their means over all processes, as it does with the cost.
    updates : pairs or dictionary, optional
        Further updates, of averages of a batch normalization, say: floats are averaged over processes, so that all keep the same.
    accumulate : int
        Only every so many calls are a step: gradients of the others are added up, without communication.
    bucket : int
        Bytes of gradients that travel together.
    group : Communicator, optional
        Default: all processes.
    mode, name : optional
        As for :func:`theano.function`.

    Returns
    -------
    TrainingStep
        A callable with the arguments `inputs`.

    Raises
    ------
    DistributedError
        On all processes, if they differ in shapes, dtypes, the graph, flags or seeds.

    See Also
    --------
    theano.distributed.TrainingStep : A training step that several processes do together; `data_parallel` makes it.
    theano.distributed.sgd : Return the optimizer of gradient descent: ``p - rate * g``.
    theano.distributed.workers.Model : Functions that share variables, held by one process: what an actor is made of.

    Notes
    -----
    Random streams (`MRG_RandomStreams`, `RandomStreams`) that the cost reads must have the same seed everywhere; each
    process then draws from a part of its own (:func:`theano.distributed.streams.state_for`).

    Examples
    --------
    >>> import numpy as np, theano, theano.tensor as T
    >>> from theano import distributed
    >>> x, y = T.dmatrix("x"), T.dvector("y")
    >>> w = theano.shared(np.zeros(3), name="w")
    >>> step = distributed.data_parallel([x, y], T.sqr(T.dot(x, w) - y).mean(), [w], distributed.sgd(0.1))
    >>> data = np.eye(3), np.array([1.0, 2.0, 3.0])
    >>> costs = [float(step(*step.shard(*data))) for _ in range(3)]
    >>> [round(c, 3) for c in costs]
    [4.667, 4.065, 3.541]
    """
    if not params:
        raise ValueError("there are no parameters to train")
    for p in params:
        if not isinstance(p, SharedVariable):
            raise TypeError(f"parameters must be shared variables; got {p} of type {type(p).__name__}")
    if cost.ndim:
        raise TypeError(f"the cost must be a scalar; it has {cost.ndim} dimensions")
    if accumulate < 1:
        raise ValueError(f"accumulate is a number of calls, at least 1; got {accumulate}")
    if rows is None and (not inputs or getattr(inputs[0], "ndim", 0) < 1):
        raise ValueError("the first input has no rows: say how many there are by the argument rows")
    group = world() if group is None else group
    return TrainingStep(list(inputs), cost, list(params), optimizer, rows, list(outputs), _pairs(updates), accumulate, bucket,
                        group, mode, name)


def _pairs(updates: Any) -> list[tuple[Any, Any]]:
    return list(updates.items() if hasattr(updates, "items") else updates or ())


class TrainingStep:
    """A training step that several processes do together; :func:`data_parallel` makes it.

    Parameters
    ----------
    inputs, cost, params, optimizer, rows, outputs, updates, accumulate, bucket, group, mode, name
        As for :func:`data_parallel`.

    Attributes
    ----------
    params : list of SharedVariable
    state : list of SharedVariable
        Parameters, states of the optimizer, what further updates change: the same on all processes.
    streams : list of SharedVariable
        States of random streams, of each process its own.
    function : Function
        What a call runs.
    number : int
        How many steps were done, those before a checkpoint was loaded included.
    group : Communicator

    See Also
    --------
    theano.distributed.sgd : Return the optimizer of gradient descent: ``p - rate * g``.
    theano.distributed.data_parallel : Make a training step of a cost; every process calls it with its part of the batch.

    Examples
    --------
    >>> import numpy as np
    >>> from theano import distributed, tensor as T
    >>> x, w = T.dvector("x"), shared(0.0, "w")
    >>> def descend(gradients, params):
    ...     return [(p, p - 0.5 * g) for p, g in zip(params, gradients)]
    >>> step = distributed.data_parallel([x], ((x - w) ** 2).mean(), [w], descend)
    >>> isinstance(step, TrainingStep), float(step(np.array([1.0, 3.0]))), float(w.get_value()), step.number
    (True, 5.0, 2.0, 1)
    """

    def __init__(self, inputs: list, cost: Any, params: list, optimizer: Callable[..., Any], rows: Any, outputs: list,
                 updates: list, accumulate: int, bucket: int, group: Communicator, mode: Any, name: str | None):
        self.params = params
        self.group = group
        self.accumulate = accumulate
        self.number = 0
        self._calls = 0
        weight = T.cast(inputs[0].shape[0] if rows is None else rows, cost.dtype)

        # Of the sum over rows, so that parts of any length add up; the factor goes into the first gradient of the backward pass.
        grads = grad(cost * weight, params)
        said = [cost, *outputs]
        sums = [weight, *(T.cast(weight, v.dtype) * v for v in said)]
        self._sums: list[SharedVariable] = []
        add = None
        if accumulate > 1:
            floats = [shared(np.zeros_like(p.get_value(borrow=True)), broadcastable=p.broadcastable) for p in params]
            counts = [shared(np.zeros((1,) * v.ndim, v.dtype), broadcastable=v.broadcastable) for v in sums]
            if any(v.ndim for v in sums):
                raise ValueError("with accumulate, all outputs must be scalars")
            self._sums = [*floats, *counts]
            grads = [a + g for a, g in zip(floats, grads)]
            sums = [a + s for a, s in zip(counts, sums)]
            add = list(zip(self._sums, [*grads, *sums]))

        # What is there first travels first: numbers after the forward pass, gradients of the last layers before others.
        together = all_reduce_together if group.exchange is not None else lambda tensors, **options: list(tensors)
        totals = together(sums, group=group, name="costs")
        backwards = grads[::-1]
        nbytes = [p.get_value(borrow=True).nbytes for p in params[::-1]]
        summed = together(backwards, group=group, name="gradients", nbytes=nbytes, bucket=bucket)[::-1]
        means = [T.cast(g / T.cast(totals[0], g.dtype), p.dtype) for g, p in zip(summed, params)]
        new_params = _pairs(optimizer(means, params))
        averaged = _averaged(updates, group)
        everything = [*new_params, *averaged]
        shared_state = dict.fromkeys([*params, *(v for v, _ in everything)])
        self.state: list[SharedVariable] = list(shared_state)
        expressions = [*sums, *grads, *(value for _, value in everything)]
        self.streams = [s for s in streams.states_of(expressions) if s not in shared_state]

        if group.size > 1:
            check_agreement(group, self._facts(inputs, cost, expressions), COMPILE_TIMEOUT)
        self._share_state()
        zeros = [(a, T.zeros_like(a)) for a in self._sums]
        results = [t / T.cast(totals[0], t.dtype) for t in totals[1:]]
        self.function = function(
            inputs, results if outputs else results[0], updates=[*everything, *zeros], mode=mode, name=name or "step"
        )
        self._add = None
        if add is not None:
            self._add = function(inputs, said if outputs else cost, updates=[*add, *updates], mode=mode, name=name)
        # Who has compiled waits here for the others, however long they take, not in the first step.
        group.barrier(COMPILE_TIMEOUT)

    def __repr__(self) -> str:
        return f"<step {self.number} of {len(self.params)} parameters on {self.group}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Train on this process's part of a batch.

        Returns
        -------
        ndarray or list of ndarray
            The cost, with further outputs a list: means over all processes, but of this process's rows for calls that only
            add up gradients.

        Raises
        ------
        DistributedError
            If another process does not take part; parameters are then as before the call.
        """
        # A call that fails is none.
        if (self._calls + 1) % self.accumulate:
            result = self._add(*args, **kwargs)  # type: ignore[misc]
            self._calls += 1
            return result
        record, begin = self.group.record, perf_counter()
        result = self.function(*args, **kwargs)
        if record is not None:
            record(self.function.name, "step", begin, perf_counter(), {"number": self.number})
        self._calls += 1
        self.number += 1
        return result

    def shard(self, *arrays: Any) -> tuple[Any, ...]:
        """Return this process's rows of arrays that all processes have.

        Parameters
        ----------
        *arrays : array_like
            With the same number of rows.

        Returns
        -------
        tuple
            As many arrays; the parts of all processes differ by one row at most.

        Raises
        ------
        ValueError
            If there are fewer rows than processes: a mean over no rows is not a number.
        """
        count = len(arrays[0])
        if any(len(a) != count for a in arrays):
            raise ValueError(f"arrays of a batch must have the same number of rows; got {[len(a) for a in arrays]}")
        if count < self.group.size:
            raise ValueError(f"{count} rows cannot be divided among {self.group.size} processes")
        first, last = (count * r // self.group.size for r in (self.group.rank, self.group.rank + 1))
        return tuple(a[first:last] for a in arrays)

    def save(self, path: Any, **facts: Any) -> None:
        """Write parameters, states of the optimizer and of random streams to a file; all processes call it.

        The first process writes it, under another name that replaces the file when it is on the disk as a whole.

        Parameters
        ----------
        path : str or Path
        **facts
            What JSON can hold, the number of an epoch, say; :meth:`load` returns it.

        Raises
        ------
        OSError
            On all processes, if the file cannot be written; one of that name is as it was.
        """
        own = [_stream_arrays(s.get_value()) for s in self.streams]
        of_ranks = self.group.gather_objects(own)
        trouble = None
        if self.group.rank == 0:
            arrays = {f"state {i}": v.get_value(borrow=True) for i, v in enumerate(self.state)}
            for rank, values in enumerate(of_ranks):
                arrays.update({f"stream {i} of {rank}": value for i, value in enumerate(values)})
            about = {"names": [v.name for v in self.state], "ranks": self.group.size, "streams": len(self.streams),
                     "number": self.number, "theano": __version__, "facts": facts}
            try:
                write_checkpoint(path, arrays, about)
            except OSError as error:
                trouble = error
        said = self.group.gather_objects(None if trouble is None else (trouble.errno, str(trouble.strerror or trouble)))[0]
        if said is not None:
            raise OSError(said[0], f"the checkpoint {path} was not written, the one before is whole: {said[1]}") from trouble

    def load(self, path: Any) -> dict[str, Any]:
        """Take up the state that :meth:`save` wrote, on as many processes or another number; all processes call it.

        Only the first process reads the file. With another number of processes random streams go on where that of the first
        one was, each on a part of its own.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        dict
            The facts that were given to :meth:`save`.

        Raises
        ------
        DistributedError
            On all processes, if the file cannot be read, or holds another model's state.
        """
        arrays: dict[str, np.ndarray] = {}
        about: dict[str, Any] = {}
        trouble = None
        if self.group.rank == 0:
            try:
                arrays, about = read_checkpoint(path)
                trouble = self._misfit(arrays, about)
            except Exception as error:
                trouble = f"{type(error).__name__}: {error}"
        trouble, about = self.group.gather_objects((trouble, about))[0]
        if trouble is not None:
            raise DistributedError(f"the checkpoint {path} cannot be loaded: {trouble}")
        current = [v.get_value(borrow=True) for v in self.state]
        for i, v in enumerate(self.state):
            given = arrays[f"state {i}"] if arrays else current[i]
            v.set_value(self.group.broadcast(given)[0].copy(), borrow=True)
        stored = {key: value for key, value in arrays.items() if key.startswith("stream")}
        stored = self.group.gather_objects(stored)[0]
        for i, s in enumerate(self.streams):
            own = about["ranks"] == self.group.size
            value = _stream_value(s, stored[f"stream {i} of {self.group.rank if own else 0}"])
            s.set_value(value if own else streams.state_for(value, self.group.rank), borrow=True)
        for a in self._sums:
            a.set_value(np.zeros_like(a.get_value(borrow=True)), borrow=True)
        self._calls = 0
        self.number = int(about["number"])
        return about["facts"]

    def _misfit(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> str | None:
        """What keeps the state of a file from being this step's."""
        if len(about["names"]) != len(self.state) or about["streams"] != len(self.streams):
            return (f"it has {len(about['names'])} variables and {about['streams']} random streams, "
                    f"the step {len(self.state)} and {len(self.streams)}")
        for i, (name, v) in enumerate(zip(about["names"], self.state)):
            stored, value = arrays[f"state {i}"], v.get_value(borrow=True)
            if stored.shape != value.shape or stored.dtype != value.dtype:
                return (f"variable {i}, {name or 'without a name'}, is {stored.dtype} of shape {stored.shape} there, "
                        f"{value.dtype} of shape {value.shape} here")
        return None

    def _facts(self, inputs: list, cost: Any, expressions: list) -> list[tuple[str, Any]]:
        """What must be the same on all processes."""
        facts: list[tuple[str, Any]] = [
            ("the version of Theano", __version__), ("the flag floatX", config.floatX),
            ("the number of calls of a step", self.accumulate), ("the inputs", [str(v.type) for v in inputs]),
        ]  # fmt: skip
        for i, v in enumerate(self.state):
            value = v.get_value(borrow=True)
            what = f"{'parameter' if i < len(self.params) else 'state'} {i}, {v.name or 'without a name'}"
            facts.append((f"the shape and dtype of {what}", (value.shape, str(value.dtype))))
        for i, s in enumerate(self.streams):
            facts.append((f"the seed of random stream {i}", streams.fingerprint(s.get_value(borrow=True))))
        return [*facts, ("the graph of the step", graph_fingerprint([], expressions))]

    def _share_state(self) -> None:
        """Give all processes the values of the first, and random streams of their own."""
        if self.group.size == 1:
            return
        for v in self.state:
            v.set_value(self.group.broadcast(v.get_value(borrow=True))[0].copy(), borrow=True)
        for s in self.streams:
            # Two steps may read the same stream.
            if getattr(s.tag, "process_of_stream", None) is None:
                s.set_value(streams.state_for(s.get_value(), self.group.rank), borrow=True)
                s.tag.process_of_stream = self.group.rank


def _averaged(updates: list[tuple[Any, Any]], group: Communicator) -> list[tuple[Any, Any]]:
    """Updates whose floats are means over processes."""
    floats = [i for i, (v, _) in enumerate(updates) if getattr(v.type, "dtype", "").startswith(("float", "complex"))]
    result = list(updates)
    if floats and group.size > 1:
        for i, total in zip(floats, all_reduce_together([updates[i][1] for i in floats], group=group, name="updates")):
            result[i] = updates[i][0], T.cast(total / np.asarray(group.size, total.dtype), total.dtype)
    return result


def _stream_arrays(value: Any) -> np.ndarray:
    """The state of a stream as an array of integers."""
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=True)
        _, key, position, has_gauss, cached = state
        more = np.array([position, has_gauss], "uint32")
        return np.concatenate([key.astype("uint32"), more, np.array([cached], "float64").view("uint32")])
    return value


def _stream_value(stream: Any, array: np.ndarray) -> Any:
    if not isinstance(stream.type, RandomStateType):
        return array
    state = np.random.RandomState()
    cached = float(np.ascontiguousarray(array[626:628]).view("float64")[0])
    state.set_state(("MT19937", array[:624], int(array[624]), int(array[625]), cached))
    return state

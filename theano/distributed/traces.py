"""What processes compute, transfer and wait for, and when: traces in Chrome's format."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from theano.distributed.communicator import Communicator, world

#: The rows of each process in the picture.
_ROWS = {"step": 0, "start": 0, "wait": 0, "transfer": 1}


class Trace:
    """Events of this process; :func:`trace` makes one.

    Parameters
    ----------
    rank : int
        The number of the process, from 0.

    Attributes
    ----------
    events : list of tuple
        Name, category (``step``, ``start``, ``wait`` or ``transfer``), begin and end in seconds, facts.

    See Also
    --------
    theano.distributed.trace : Record steps, transfers and waits while the body runs; all processes enter and leave it.

    Examples
    --------
    >>> events = Trace(rank=0)
    >>> events.record("gradients", "transfer", 0.0, 4.0, {"bytes": 800})
    >>> events.record("gradients", "wait", 3.0, 4.0, {})
    >>> events.seconds("transfer"), events.overlap()
    (4.0, 0.75)
    """

    def __init__(self, rank: int):
        self.rank = rank
        self.events: list[tuple[str, str, float, float, dict[str, Any]]] = []

    def record(self, name: str, category: str, begin: float, end: float, facts: dict[str, Any]) -> None:
        """Add an event.

        Parameters
        ----------
        name, category : str
        begin, end : float
            As ``time.perf_counter`` says.
        facts : dict
        """
        self.events.append((name, category, begin, end, facts))

    def seconds(self, category: str) -> float:
        """Return how long events of a category took together.

        Parameters
        ----------
        category : str

        Returns
        -------
        float
        """
        return sum(end - begin for _, kind, begin, end, _ in self.events if kind == category)

    def overlap(self) -> float:
        """Return the part of the time of transfers during which the program did not wait for any.

        Returns
        -------
        float
            From 0, where nothing was hidden, to 1.
        """
        waits = [(begin, end) for _, kind, begin, end, _ in self.events if kind == "wait"]
        total = hidden = 0.0
        for _, kind, begin, end, _ in self.events:
            if kind == "transfer":
                total += end - begin
                hidden += end - begin - sum(max(0.0, min(end, e) - max(begin, b)) for b, e in waits)
        return hidden / total if total else 0.0

    def chrome(self) -> list[dict[str, Any]]:
        """Return the events in the format of Chrome's tracing and of Perfetto; times are microseconds.

        Returns
        -------
        list of dict
        """
        found: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": self.rank, "args": {"name": f"rank {self.rank}"}},
            {"ph": "M", "name": "thread_name", "pid": self.rank, "tid": 0, "args": {"name": "program"}},
            {"ph": "M", "name": "thread_name", "pid": self.rank, "tid": 1, "args": {"name": "transfers"}},
        ]
        for number, (name, category, begin, end, facts) in enumerate(self.events):
            event = {"name": name, "cat": category, "pid": self.rank, "tid": _ROWS[category], "args": facts}
            if category == "transfer":
                # Several are under way at a time, which rows of complete events cannot show.
                named = {**event, "id": number}
                found += [{**named, "ph": "b", "ts": begin * 1e6}, {**named, "ph": "e", "ts": end * 1e6}]
            else:
                found.append({**event, "ph": "X", "ts": begin * 1e6, "dur": (end - begin) * 1e6})
        return found


@contextlib.contextmanager
def trace(path: Any = None, group: Communicator | None = None) -> Iterator[Trace]:
    """Record steps, transfers and waits while the body runs; all processes enter and leave it.

    Parameters
    ----------
    path : str or Path, optional
        The first process writes the events of all there, for ``chrome://tracing`` or https://ui.perfetto.dev.
    group : Communicator, optional
        Default: all processes.

    Yields
    ------
    Trace
        The events of this process.

    See Also
    --------
    theano.distributed.Trace : Events of this process; `trace` makes one.

    Examples
    --------
    >>> import numpy as np, theano, theano.tensor as T
    >>> from theano import distributed
    >>> x, w = T.dmatrix(), theano.shared(np.zeros(3), name="w")
    >>> step = distributed.data_parallel([x], T.sqr(T.dot(x, w) - 1).mean(), [w], distributed.sgd(0.1))
    >>> with distributed.trace() as events:
    ...     cost = step(np.ones((4, 3)))
    >>> bool(events.seconds("step") > 0)
    True
    """
    group = world() if group is None else group
    found = Trace(group.rank)
    before, group.record = group.record, found.record
    try:
        yield found
    finally:
        group.record = before
    if path is not None:
        events = [event for events in group.gather_objects(found.chrome()) for event in events]
        if group.rank == 0:
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

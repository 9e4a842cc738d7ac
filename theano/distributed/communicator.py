"""Processes that compute together, and collectives of NumPy arrays among them."""

from __future__ import annotations

import itertools
import math
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from theano.distributed import algorithms
from theano.distributed.exchange import Buffers, DistributedError, Exchange, install_excepthook

#: What launchers tell each process about the number of processes.
_LAUNCHED = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "PALS_SIZE", "SLURM_STEP_NUM_TASKS")
#: How the names begin that launchers give to processes of MPI.
_PREFIXES = ("PMI", "OMPI_", "MPI_LOCAL", "HYDRA_", "PALS_", "SLURM_STEP", "FLUX_", "MV2_", "JSM_", "ALPS_", "PRTE_", "I_MPI_")


class Communicator:
    """A group of processes, each of which has a number, its rank.

    Collectives of symbolic tensors are functions of :mod:`theano.distributed.collectives`; the methods here are for NumPy
    arrays and objects, outside of compiled functions. All processes of the group must call them in the same order.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        A communicator for this object alone; None for a process by itself.
    name : str
        The name under which graphs and pickles refer to it: the same on all its processes, and no other group's.

    Attributes
    ----------
    rank : int
    size : int
        The number of processes.
    record : callable or None
        Gets what is transferred and waited for; :func:`theano.distributed.trace` sets it.

    See Also
    --------
    theano.distributed.named : Return the communicator of a name; that of all processes is called ``world``.
    theano.distributed.world : Return the communicator of all processes that `mpiexec` started; of this one if it did not.
    theano.distributed.DistributedError : Other processes have ended, do not answer, or compute something else.

    Examples
    --------
    >>> from theano import distributed
    >>> group = distributed.world()
    >>> bool(0 <= group.rank < group.size)
    True
    """

    _known: dict[str, Communicator] = {}

    def __init__(self, comm: Any = None, name: str = "group"):
        if name in self._known:
            raise ValueError(f"there is a communicator of the name {name!r} already")
        self.name = name
        self.rank, self.size = (0, 1) if comm is None else (comm.rank, comm.size)
        self.exchange = None if comm is None or comm.size == 1 else Exchange(comm)
        self._record: Callable[..., None] | None = None
        self._known[name] = self

    def __repr__(self) -> str:
        return f"<{self.name}: rank {self.rank} of {self.size}>"

    def __reduce__(self) -> tuple:
        return named, (self.name,)

    @property
    def record(self) -> Callable[..., None] | None:
        return self._record

    @record.setter
    def record(self, record: Callable[..., None] | None) -> None:
        self._record = record
        exchange = self.exchange
        if exchange is not None and exchange.native is not None:
            # Python sees what starts and ends while something is recorded.
            exchange.native.direct = int(record is None and exchange.broken is None)

    def start(self, collective: algorithms.Collective, arrays: Sequence[np.ndarray], label: str) -> Any:
        """Begin a collective; :meth:`wait` takes what is returned."""
        collective.check(arrays, self.size)
        if self.exchange is None:
            return [np.array(a) for a in arrays]
        nbytes = sum(a.nbytes for a in arrays)
        begin = perf_counter() if self.record is not None else 0.0
        shapes = [shape_after(collective, a.shape, self.size) for a in arrays]
        given = packed(self.exchange.buffers, arrays, collective.gives(self.rank))
        taken, results = room_for(self.exchange.buffers, shapes, arrays[0].dtype)
        transfer = self.exchange.start(collective, given, taken, label, nbytes)
        transfer.result = results
        if self.record is not None:
            self.record(label, "start", begin, perf_counter(), {"bytes": nbytes})
        return transfer

    def wait(self, transfer: Any, timeout: float | None = None) -> Any:
        """Return the results of a collective; None for one that an instruction of a compiled function has started."""
        if isinstance(transfer, list):
            return transfer
        begin = perf_counter() if self.record is not None else 0.0
        result = self.exchange.wait(transfer, timeout)
        if self.record is not None:
            self.record(transfer.label, "wait", begin, perf_counter(), {})
            self.record(transfer.label, "transfer", transfer.started, transfer.ended, {"bytes": transfer.nbytes})
        return result

    def _run(self, collective: algorithms.Collective, arrays: Sequence[Any], timeout: float | None = None) -> list[np.ndarray]:
        arrays = [np.asarray(a) for a in arrays]
        return self.wait(self.start(collective, arrays, str(collective)), timeout)

    def all_reduce(self, array: Any, op: str = "sum") -> np.ndarray:
        """Return the sum, product, minimum or maximum of the arrays of all processes.

        Parameters
        ----------
        array : array_like
            The same shape and dtype on all processes.
        op : {'sum', 'prod', 'min', 'max'}

        Returns
        -------
        ndarray
            The same bits on all processes: elements are combined in the order of ranks.
        """
        return self._run(algorithms.AllReduce(op), [array])[0]

    def all_gather(self, array: Any) -> np.ndarray:
        """Return the arrays of all processes, joined along their first axis."""
        return self._run(algorithms.AllGather(), [array])[0]

    def broadcast(self, *arrays: Any, root: int = 0) -> list[np.ndarray]:
        """Return the arrays of the process `root`; those given elsewhere say their shapes and dtypes."""
        return self._run(algorithms.Broadcast(root), arrays)

    def gather_objects(self, value: Any, timeout: float | None = None) -> list[Any]:
        """Return what the processes have, by rank, by pickles; for small objects."""
        if self.exchange is None:
            return [value]
        text = np.frombuffer(pickle.dumps(value), "uint8")
        lengths = self._run(algorithms.AllGather(), [np.array([len(text)])], timeout)[0]
        padded = np.zeros(int(lengths.max()), "uint8")
        padded[: len(text)] = text
        rows = self._run(algorithms.AllGather(), [padded[None]], timeout)[0]
        return [pickle.loads(row[:n].tobytes()) for row, n in zip(rows, lengths)]

    def barrier(self, timeout: float | None = None) -> None:
        """Wait until all processes are here."""
        self._run(algorithms.AllReduce("sum"), [np.zeros(1, "int8")], timeout)

    def split(self, color: int, name: str) -> Communicator:
        """Return the communicator of those processes that give the same color.

        Parameters
        ----------
        color : int
        name : str
            The name of the groups: graphs refer to the one that a process is in by it.
        """
        return Communicator(None if self.exchange is None else self.exchange.comm.Split(color, self.rank), name)


def shape_after(collective: algorithms.Collective, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape of the result for an array of a shape."""
    times, over = collective.rows(size)
    return (shape[0] * times // over, *shape[1:]) if shape else shape


def packed(buffers: Buffers, arrays: Sequence[np.ndarray], copy: bool = True) -> np.ndarray:
    """Return arrays of one dtype as one vector: a single one itself, else a copy of all unless `copy` is False."""
    dtype = arrays[0].dtype
    if any(a.dtype != dtype for a in arrays):
        raise TypeError(f"arrays that are transferred together must have the same dtype; got {[str(a.dtype) for a in arrays]}")
    if len(arrays) == 1:
        return np.ascontiguousarray(arrays[0]).reshape(-1)
    flat, places = room_for(buffers, [a.shape for a in arrays], dtype)
    if copy:
        flat[...] = 0
        for place, a in zip(places, arrays):
            place[...] = a
    return flat


def room_for(buffers: Buffers, shapes: Sequence[tuple[int, ...]], dtype: np.dtype) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return a vector with anything in it, and arrays of these shapes over it, one behind the other."""
    memory = buffers.empty(starts_of(shapes, dtype)[-1])
    return memory.view(dtype), within(memory, shapes, dtype)


def starts_of(shapes: Sequence[tuple[int, ...]], dtype: np.dtype) -> list[int]:
    """The bytes where arrays that share a message begin, and where the last ends."""
    step = algorithms.ALIGNMENT if len(shapes) > 1 else 1
    sizes = (-(-math.prod(shape) * dtype.itemsize // step) * step for shape in shapes)
    return list(itertools.accumulate(sizes, initial=0))


def within(memory: np.ndarray, shapes: Sequence[tuple[int, ...]], dtype: np.dtype) -> list[np.ndarray]:
    """Return arrays of these shapes over bytes, one behind the other."""
    dtype = np.dtype(dtype)
    return [memory[start:start + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
            for start, shape in zip(starts_of(shapes, dtype), shapes)]


_world_lock = threading.Lock()


def world() -> Communicator:
    """Return the communicator of all processes that `mpiexec` started; of this one if it did not.

    Returns
    -------
    Communicator

    Raises
    ------
    DistributedError
        If there are several processes and mpi4py is not installed.

    See Also
    --------
    theano.distributed.Communicator : A group of processes, each of which has a number, its rank.
    theano.distributed.named : Return the communicator of a name; that of all processes is called ``world``.

    Examples
    --------
    >>> from theano import distributed
    >>> distributed.world() is distributed.world()
    True
    """
    with _world_lock:
        found = Communicator._known.get("world")
        return found if found is not None else Communicator(_duplicate_of_world(), "world")


def named(name: str) -> Communicator:
    """Return the communicator of a name; that of all processes is called ``world``.

    Parameters
    ----------
    name : str
        As given to the Ops.

    Returns
    -------
    Communicator

    Raises
    ------
    DistributedError
        If there is none.

    See Also
    --------
    theano.distributed.world : Return the communicator of all processes that `mpiexec` started; of this one if it did not.
    theano.distributed.Communicator : A group of processes, each of which has a number, its rank.

    Examples
    --------
    >>> from theano import distributed
    >>> named("world") is distributed.world()
    True
    """
    if name == "world":
        return world()
    if name not in Communicator._known:
        raise DistributedError(f"this process has no communicator of the name {name!r}: make it before it is used")
    return Communicator._known[name]


def _duplicate_of_world() -> Any:
    launched = max((int(os.environ[key]) for key in _LAUNCHED if os.environ.get(key, "").isdigit()), default=1)
    if "mpi4py.MPI" not in sys.modules and not any(name.startswith(_PREFIXES) for name in os.environ):
        # Started by hand: there is nobody to talk to, and beginning with MPI would take a while.
        return None
    try:
        from mpi4py import MPI
    except ImportError as error:
        if launched > 1:
            raise DistributedError(
                f"{launched} processes were started, but the package mpi4py is missing: python -m pip install mpi4py mpich"
            ) from error
        return None
    except RuntimeError:
        # mpi4py is here, an MPI is not.
        if launched > 1:
            raise
        return None
    if MPI.COMM_WORLD.size == 1:
        if launched > 1 and os.environ.get("SLURM_STEP_NUM_TASKS") is None:
            raise DistributedError(f"{launched} processes were started by another MPI than the one that mpi4py uses, "
                                   f"{MPI.Get_library_version().splitlines()[0]}: use its mpiexec")
        return None
    install_excepthook(MPI.COMM_WORLD)
    comm, request = MPI.COMM_WORLD.Idup()
    end = time.monotonic() + 600
    while not request.Test():
        time.sleep(1e-4)
        if time.monotonic() > end:
            raise DistributedError("other processes have not called theano.distributed in 600 s")
    return comm

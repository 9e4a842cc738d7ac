"""Transfers under way: who drives them, who waits for them, and when waiting is given up.

A collective is a generator: it posts requests of MPI and yields them; when they are complete it goes on, adds up what came
and posts the next ones, and it returns the result. An :class:`Exchange` drives those of one communicator: a thread does it
while the program computes, what waits does it itself.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from theano.configdefaults import config

#: Seconds for which whoever waits tests without a pause; then it sleeps between tests, a twentieth of the time it has waited.
#: (Who gives way by `sched_yield` where more processes run than there are cores gets the core back some milliseconds later.)
SPIN = 2e-4
#: From this number of bytes on a transfer takes steps of its own while the program computes.
BACKGROUND_BYTES = 256 * 1024
#: Tags below are for collectives, the highest for a last word; MPI allows at least 32767.
LAST_WORD = 32767
TAGS = 32000


class DistributedError(RuntimeError):
    """Other processes have ended, do not answer, or compute something else."""


class Post(NamedTuple):
    """Requests of MPI that a step waits for.

    Parameters
    ----------
    requests : sequence of mpi4py.MPI.Request
    sources : sequence of (int, int)
        For those that receive, which come first: the rank, and the number of bytes that must come; empty if MPI checks it.
    """

    requests: Sequence[Any]
    sources: Sequence[tuple[int, int]] = ()


class Transfer:
    """A collective under way.

    Parameters
    ----------
    label : str
        What errors and traces call it.
    nbytes : int
        How much this process gives.
    steps : generator
        Yields `Post`, returns the result.
    """

    def __init__(self, label: str, nbytes: int, steps: Generator[Post, None, Any]):
        self.label = label
        self.nbytes = nbytes
        self.steps = steps
        self.post: Post | None = None
        self.statuses: list[Any] = []
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.started = time.perf_counter()
        self.ended = 0.0

    def __deepcopy__(self, memo: dict) -> Transfer:
        # Modes that watch values keep copies of them: there is only one of this.
        return self

    def advance(self, mpi: Any) -> bool:
        """Take the steps that are possible now; returns whether anything happened."""
        moved = False
        try:
            while not self.done:
                if self.post is not None:
                    requests = self.post.requests
                    if self.post.sources:
                        if not mpi.Request.Testall(requests, self.statuses):
                            return moved
                        for status, (source, nbytes) in zip(self.statuses, self.post.sources):
                            came = status.Get_count(mpi.BYTE)
                            if came != nbytes:
                                raise _unequal(self.label, source, f"{came} bytes", nbytes)
                    elif not mpi.Request.Testall(requests):
                        return moved
                moved = True
                first = self.post is None
                self.post = next(self.steps)
                if self.post.sources:
                    self.statuses = [mpi.Status() for _ in self.post.requests]
                if first:
                    # Nothing has come within the time since it was asked for.
                    return True
        except StopIteration as end:
            self.result = end.value
            self._end()
        except BaseException as error:
            if isinstance(error, mpi.Exception) and error.Get_error_class() == mpi.ERR_TRUNCATE:
                error = _unequal(self.label, None, "more bytes", None)
            self.error = error
            self._end()
        return True

    def _end(self) -> None:
        self.done = True
        self.ended = time.perf_counter()
        self.post = None

    def missing(self) -> list[int]:
        """The ranks of which something has not come yet."""
        post = self.post
        if post is None or not post.sources:
            return []
        return [rank for (rank, _), request in zip(post.sources, post.requests) if not request.Get_status()]


def _unequal(label: str, source: int | None, came: str, nbytes: int | None) -> DistributedError:
    who = "another rank" if source is None else f"rank {source}"
    expected = "" if nbytes is None else f", {nbytes} were expected"
    return DistributedError(f"{label}: {came} came from {who}{expected}. All ranks must give arrays of the same shape and dtype "
                            "to a collective, and run the same collectives in the same order.")


class Buffers:
    """Memory for results and for what is received, used again when nobody else refers to it.

    Fresh memory of many megabytes costs about as much in page faults as its transfer between two processes of a machine.
    """

    KEPT_SIZES, KEPT_OF_SIZE = 64, 6
    #: Smaller ones are made anew.
    LEAST = 4096

    def __init__(self) -> None:
        self._kept: dict[int, list[np.ndarray]] = {}

    def empty(self, nbytes: int) -> np.ndarray:
        """Return an array of so many bytes, with whatever was in it before."""
        if nbytes < self.LEAST:
            return np.empty(nbytes, "uint8")
        kept = self._kept.pop(nbytes, [])
        self._kept[nbytes] = kept  # the size used last stands last
        for buffer in kept:
            # The list, the loop and the argument refer to it; every array in it would, too.
            if sys.getrefcount(buffer) <= 3:
                return buffer[:]
        buffer = np.empty(nbytes, "uint8")
        if len(kept) < self.KEPT_OF_SIZE:
            kept.append(buffer)
        if len(self._kept) > self.KEPT_SIZES:
            del self._kept[next(iter(self._kept))]
        return buffer[:]


class Exchange:
    """Drives the collectives of one communicator.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A communicator that nobody else uses.
    """

    def __init__(self, comm: Any):
        from mpi4py import MPI

        self.mpi = MPI
        self.comm = comm
        self.buffers = Buffers()
        self.broken: str | None = None
        self._lock = threading.Lock()
        self._active: list[Transfer] = []
        self._number = 0
        self._in_background = 0
        self._wake = threading.Event()
        self._waiting = 0
        self._thread: threading.Thread | None = None
        self._threads_allowed = MPI.Query_thread() >= MPI.THREAD_MULTIPLE
        atexit.register(self._say_goodbye)

    def tag(self) -> int:
        """Return the tag of the next collective: all processes number them alike."""
        self._number = (self._number + 1) % TAGS
        return self._number

    def start(self, label: str, nbytes: int, make_steps: Callable[[int], Generator[Post, None, Any]]) -> Transfer:
        """Begin a collective.

        Parameters
        ----------
        label : str
        nbytes : int
            How much this process gives.
        make_steps : callable
            From the tag of its messages to its steps.

        Raises
        ------
        DistributedError
            If one before has failed: nobody knows what the others wait for.
        """
        if self.broken:
            raise DistributedError(f"{label} cannot be started: {self.broken}")
        with self._lock:
            transfer = Transfer(label, nbytes, make_steps(self.tag()))
            transfer.advance(self.mpi)
            if not transfer.done:
                self._active.append(transfer)
        if not transfer.done and nbytes >= BACKGROUND_BYTES and self._threads_allowed:
            self._in_background += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._drive, name="theano transfers", daemon=True)
                self._thread.start()
            self._wake.set()
        return transfer

    def wait(self, transfer: Transfer, timeout: float | None = None) -> Any:
        """Return the result of a collective.

        Parameters
        ----------
        transfer : Transfer
        timeout : float, optional
            Seconds until waiting is given up; default ``config.distributed.timeout``.

        Raises
        ------
        DistributedError
            If another process has ended, or has not answered in time.
        """
        if not transfer.done:
            self._waiting += 1
            try:
                self._wait(transfer, config.distributed.timeout if timeout is None else timeout)
            finally:
                self._waiting -= 1
        if transfer.error is not None:
            self.broken = self.broken or f"{transfer.label} failed before"
            raise transfer.error
        return transfer.result

    def _wait(self, transfer: Transfer, timeout: float) -> None:
        begin = time.perf_counter()
        while True:
            self._progress()
            if transfer.done:
                return
            waited = time.perf_counter() - begin
            if waited < SPIN:
                continue
            time.sleep(min(waited / 20, 1e-3))
            if waited > 0.02:
                self._listen(transfer)
            if waited > timeout:
                missing = transfer.missing()
                who = f"nothing has come from rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}" if missing else (
                    "not all ranks take part in it")
                self._give_up(f"rank {self.comm.rank} has waited {timeout:g} s for {transfer.label}: {who}. They have stopped, "
                              "hang, compute for longer, or run other collectives (flag distributed.timeout)")

    def _listen(self, transfer: Transfer) -> None:
        """Hear from processes that have ended."""
        with self._lock:
            gone = []
            status = self.mpi.Status()
            while self.comm.Iprobe(self.mpi.ANY_SOURCE, LAST_WORD, status):
                gone.append(status.Get_source())
                self.comm.Recv(np.empty(0, "uint8"), gone[-1], LAST_WORD)
            # What they sent before they ended may still lie in MPI.
            if gone:
                for _ in range(100):
                    transfer.advance(self.mpi)
        if gone and not transfer.done:
            self._give_up(f"rank {', '.join(map(str, gone))} has ended while rank {self.comm.rank} waits for {transfer.label}")

    def _give_up(self, why: str) -> None:
        self.broken = why
        with self._lock:
            for transfer in self._active:
                transfer.error = transfer.error or DistributedError(why)
                transfer.done = True
            self._active.clear()
        raise DistributedError(why)

    def _progress(self) -> bool:
        """Drive all collectives; returns whether anything happened."""
        moved = False
        with self._lock:
            for transfer in self._active:
                moved |= transfer.advance(self.mpi)
            if moved:
                self._active = [t for t in self._active if not t.done]
        return moved

    def _drive(self) -> None:
        pause = 5e-5
        while True:
            if not self._active:
                self._wake.clear()
                if not self._active:
                    self._wake.wait()
                pause = 5e-5
            if self._waiting:
                # The program drives the collectives itself.
                time.sleep(1e-3)
                continue
            pause = 5e-5 if self._progress() else min(pause * 1.5, 1e-3)
            time.sleep(pause)

    def _say_goodbye(self) -> None:
        """Tell the others when the program ends; end them where one that failed would wait for them in MPI's own end."""
        if self.mpi.Is_finalized():
            return
        if self.broken or self._active:
            sys.stderr.flush()
            self.comm.Abort(1)
        for rank in range(self.comm.size):
            if rank != self.comm.rank:
                self.comm.Isend(np.empty(0, "uint8"), rank, LAST_WORD).Free()


def install_excepthook(comm: Any) -> None:
    """Let an exception that nobody catches end all processes: the others would wait for this one."""
    before = sys.excepthook

    def report_and_abort(kind: type, error: BaseException, trace: Any) -> None:
        first = (str(error).splitlines() or [""])[0]
        sys.stderr.write(f"rank {comm.rank} of {comm.size} ends all ranks. {kind.__name__}: {first}\n")
        before(kind, error, trace)
        sys.stdout.flush()
        sys.stderr.flush()
        # The launcher may drop what it has not read when it ends the others.
        time.sleep(0.3)
        comm.Abort(1)

    sys.excepthook = report_and_abort

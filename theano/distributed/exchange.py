"""Transfers under way: who drives them, who waits for them, and when waiting is given up.

A transfer takes the rounds of a plan (:mod:`theano.distributed.algorithms`): it posts requests of MPI; when they are complete it
combines what came and posts the next ones. An :class:`Exchange` drives those of one communicator: a thread does it while the
program computes, what waits does it itself. The runtime does both in C (``collective.c``), and instructions of compiled
functions start and end transfers there without Python; they come back to Python when they have waited for long, and for
errors. Where the runtime or MPI's functions are missing, :class:`Transfer` does the same in Python: messages are the same.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.distributed.algorithms import COMBINE, Collective, Plan, Round, Span, Work, combine, numbers_of, plan_of
from theano.native.fastcall import _runtime

#: Seconds for which whoever waits tests without a pause; then it sleeps between tests, a twentieth of the time it has waited.
#: (Who gives way by `sched_yield` where more processes run than there are cores gets the core back some milliseconds later.)
SPIN = 2e-4
#: From this number of bytes on a transfer takes steps of its own while the program computes.
BACKGROUND_BYTES = 256 * 1024
#: Collectives are numbered modulo this, and have two tags each, by the kind of their plans; the highest tag is for a last
#: word. MPI allows at least 32767.
NUMBERS = 16000
LAST_WORD = 32767
#: Seconds for which a program that ends listens to others that do.
LISTEN_AT_END = 0.05
#: The code of transfers that were given up, and bytes of a status for which the runtime has room; ``collective.h`` has both.
GIVEN_UP = -1
LONGEST_STATUS = 32


class DistributedError(RuntimeError):
    """Other processes have ended, do not answer, or compute something else.

    See Also
    --------
    theano.distributed.Communicator : A group of processes, each of which has a number, its rank.

    Examples
    --------
    >>> from theano import distributed
    >>> try:
    ...     distributed.named("gpu nodes")
    ... except DistributedError as error:
    ...     print(error)
    this process has no communicator of the name 'gpu nodes': make it before it is used
    """


class Transfer:
    """A collective under way, driven in Python: what the runtime does with `theano.native._runtime.Transfer`.

    Parameters
    ----------
    exchange : Exchange
    plan : Plan
    op : str or None
        What combines elements.
    places : tuple of ndarray
        What is given, taken, and room: vectors of bytes.
    dtype : dtype
    label : str
        What errors and traces call it.
    nbytes : int
        How much this process gives.
    """

    def __init__(self, exchange: Exchange, plan: Plan, op: str | None, places: tuple[np.ndarray, ...], dtype: np.dtype,
                 label: str, nbytes: int):
        self.mpi, self.comm = exchange.mpi, exchange.comm
        self.op = op
        self.places = places
        self.dtype = dtype
        self.label = label
        self.nbytes = nbytes
        self.tag = exchange.tag(plan.kind)
        self.rounds = list(plan.rounds[::-1])
        self.round: Round | None = None
        self.requests: list[Any] = []
        self.statuses: list[Any] = []
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.started = time.perf_counter()
        self.ended = 0.0

    def __deepcopy__(self, memo: dict) -> Transfer:
        # Modes that watch values keep copies of them: there is only one of this.
        return self

    def _seen(self, span: Span) -> np.ndarray:
        return self.places[span.place][span.begin:span.begin + span.nbytes]

    def advance(self) -> bool:
        """Take the steps that are possible now; returns whether anything happened."""
        moved = False
        try:
            while not self.done:
                if self.round is not None:
                    if self.requests and not self.mpi.Request.Testall(self.requests, self.statuses):
                        return moved
                    for status, (source, span) in zip(self.statuses, self.round.receives):
                        came = status.Get_count(self.mpi.BYTE)
                        if came != span.nbytes:
                            raise _unequal(self.label, source, f"{came} bytes", span.nbytes)
                    for work in self.round.work:
                        self._compute(work)
                moved = True
                if not self.rounds:
                    self._end()
                    return True
                self.round = self.rounds.pop()
                self.requests = [self.comm.Irecv(self._seen(span), source, self.tag) for source, span in self.round.receives]
                self.requests += [self.comm.Isend(self._seen(span), to, self.tag) for to, span in self.round.sends]
                self.statuses = [self.mpi.Status() for _ in self.requests]
        except BaseException as error:
            if isinstance(error, self.mpi.Exception):
                error = _refused(self.label, self.mpi, error.Get_error_class(), self.statuses)
            self.error = error
            self._end()
        return True

    def _compute(self, work: Work) -> None:
        into = self._seen(work.into)
        parts = [self._seen(source) for source in work.sources]
        if len(parts) < 2:
            into[...] = parts[0] if parts else 0
        else:
            combine(str(self.op), [part.view(self.dtype) for part in parts], into.view(self.dtype))

    def _end(self) -> None:
        self.done = True
        self.ended = time.perf_counter()

    def missing(self) -> list[int]:
        """The ranks of which something has not come yet."""
        if self.round is None or self.done:
            return []
        return [source for (source, _), request in zip(self.round.receives, self.requests) if not request.Get_status()]


def _unequal(label: str, source: int | None, came: str, nbytes: int | None) -> DistributedError:
    who = "another rank" if source is None else f"rank {source}"
    expected = "" if nbytes is None else f", {nbytes} were expected"
    return DistributedError(f"{label}: {came} came from {who}{expected}. All ranks must give arrays of the same shape and dtype "
                            "to a collective, and run the same collectives in the same order.")


def _refused(label: str, mpi: Any, code: int, statuses: Sequence[Any]) -> BaseException:
    """The error for a code of MPI."""
    classes = {mpi.Get_error_class(c) for c in (code, *(status.Get_error() for status in statuses))}
    return _unequal(label, None, "more bytes", None) if mpi.ERR_TRUNCATE in classes else mpi.Exception(code)


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


#: Whether the runtime drives transfers where it can; else they are driven in Python, by the same plans.
NATIVE = True


class Exchange:
    """Drives the collectives of one communicator.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A communicator that nobody else uses.

    Attributes
    ----------
    native : theano.native._runtime.Exchange or None
        What drives transfers without Python; None where MPI's functions cannot be found.
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
        self._wake = threading.Event()
        self._waiting = 0
        self._thread: threading.Thread | None = None
        self._threads_allowed = MPI.Query_thread() >= MPI.THREAD_MULTIPLE
        self.native = self._native_exchange() if NATIVE else None
        atexit.register(self._say_goodbye)

    def _native_exchange(self) -> Any:
        """The runtime's exchange over MPI's own functions, which lie in the library that mpi4py has loaded."""
        MPI = self.mpi
        if _runtime is None:
            return None
        sizes = [MPI._sizeof(kind) for kind in (MPI.Request, MPI.Comm, MPI.Datatype)]
        status = MPI._sizeof(MPI.Status)
        if sizes[1:] != sizes[:1] * 2 or sizes[0] not in (4, ctypes.sizeof(ctypes.c_void_p)) or status > LONGEST_STATUS:
            return None
        library = ctypes.CDLL(MPI.__file__)
        names = ("MPI_Isend", "MPI_Irecv", "MPI_Testall", "MPI_Get_count", "MPI_Request_get_status")
        try:
            functions = tuple(ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names)
        except AttributeError:
            return None
        handle_type = ctypes.c_int32 if sizes[0] == 4 else ctypes.c_ssize_t
        comm, byte = (handle_type.from_address(MPI._addressof(handle)).value for handle in (self.comm, MPI.BYTE))
        on_big = self._drive_big if self._threads_allowed else None
        return _runtime.Exchange(functions, (sizes[0], status), comm, byte, NUMBERS, BACKGROUND_BYTES, on_big)

    def _drive_big(self) -> None:
        """Have a thread drive transfers of many bytes while the program computes."""
        self._thread = threading.Thread(target=self.native.drive, name="theano transfers", daemon=True)
        self._thread.start()

    def tag(self, kind: int) -> int:
        """Return the tag of the next collective: all processes number them alike."""
        self._number = (self._number + 1) % NUMBERS
        return 2 * self._number + kind

    def start(self, collective: Collective, given: np.ndarray, taken: np.ndarray, label: str, nbytes: int) -> Any:
        """Begin a collective.

        Parameters
        ----------
        collective : Collective
        given, taken : ndarray
            Vectors: what this process gives, and where the result goes.
        label : str
        nbytes : int
            How much this process gives, as traces tell.

        Returns
        -------
        Transfer or theano.native._runtime.Transfer

        Raises
        ------
        DistributedError
            If one before has failed: nobody knows what the others wait for.
        """
        if self.broken:
            raise DistributedError(f"{label} cannot be started: {self.broken}")
        dtype = given.dtype
        facts = collective, self.comm.rank, self.comm.size, given.nbytes, dtype.itemsize
        plan, op = plan_of(*facts), getattr(collective, "op", None)
        places = given.view("uint8"), taken.view("uint8"), self.buffers.empty(plan.room)
        if self.native is not None:
            return self.native.start(numbers_of(*facts), COMBINE.get(str(op)), dtype.num, *places, label, nbytes)
        with self._lock:
            transfer = Transfer(self, plan, op, places, dtype, label, nbytes)
            transfer.advance()
            if not transfer.done:
                self._active.append(transfer)
        if not transfer.done and nbytes >= BACKGROUND_BYTES and self._threads_allowed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._drive, name="theano transfers", daemon=True)
                self._thread.start()
            self._wake.set()
        return transfer

    def wait(self, transfer: Any, timeout: float | None = None) -> Any:
        """Return the result of a collective.

        Parameters
        ----------
        transfer : Transfer or theano.native._runtime.Transfer
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
        error = self._error_of(transfer)
        if error is not None:
            self._break(f"{transfer.label} failed before")
            raise error
        return transfer.result

    def _error_of(self, transfer: Any) -> BaseException | None:
        """Why a transfer has failed."""
        if isinstance(transfer, Transfer):
            return transfer.error
        if transfer.failure is None:
            return None
        code, source, came, nbytes, raw = transfer.failure
        if code == GIVEN_UP:
            return DistributedError(str(self.broken))
        if code == 0:
            return _unequal(transfer.label, source, f"{came} bytes", nbytes)
        size = self.mpi._sizeof(self.mpi.Status)
        statuses = [self.mpi.Status() for _ in range(len(raw) // size)]
        for i, status in enumerate(statuses):
            ctypes.memmove(self.mpi._addressof(status), raw[i * size:(i + 1) * size], size)
        return _refused(transfer.label, self.mpi, code, statuses)

    def _break(self, why: str) -> None:
        """Start nothing from now on."""
        self.broken = self.broken or why
        if self.native is not None:
            self.native.direct = 0

    def _wait(self, transfer: Any, timeout: float) -> None:
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

    def _listen(self, transfer: Any) -> None:
        """Hear from processes that have ended."""
        with self._lock:
            gone = self._last_words()
            # What they sent before they ended may still lie in MPI.
            for _ in range(100 * bool(gone)):
                if self.native is not None:
                    self.native.progress()
                else:
                    transfer.advance()
        if gone and not transfer.done:
            self._give_up(f"rank {', '.join(map(str, gone))} has ended while rank {self.comm.rank} waits for {transfer.label}")

    def _give_up(self, why: str) -> None:
        self._break(why)
        if self.native is not None:
            self.native.give_up()
        with self._lock:
            for transfer in self._active:
                transfer.error = transfer.error or DistributedError(why)
                transfer.done = True
            self._active.clear()
        raise DistributedError(why)

    def _progress(self) -> bool:
        """Drive all collectives; returns whether anything happened."""
        if self.native is not None:
            return self.native.progress()
        moved = False
        with self._lock:
            for transfer in self._active:
                moved |= transfer.advance()
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
        if self.native is not None:
            self.native.stop()
            if self._thread is not None:
                self._thread.join()
        if self.broken or self._active or (self.native is not None and self.native.active):
            sys.stderr.flush()
            self.comm.Abort(1)
        others = set(range(self.comm.size)) - {self.comm.rank}
        for rank in others:
            self.comm.Isend(np.empty(0, "uint8"), rank, LAST_WORD).Free()
        # Those who end with this one are heard, too: MPI may complain of messages that nobody takes.
        end = time.monotonic() + LISTEN_AT_END
        while others and time.monotonic() < end:
            others.difference_update(self._last_words())
            time.sleep(1e-4)

    def _last_words(self) -> list[int]:
        """The ranks that have just said that they end."""
        gone: list[int] = []
        status = self.mpi.Status()
        while self.comm.Iprobe(self.mpi.ANY_SOURCE, LAST_WORD, status):
            gone.append(status.Get_source())
            self.comm.Recv(np.empty(0, "uint8"), gone[-1], LAST_WORD)
        return gone


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

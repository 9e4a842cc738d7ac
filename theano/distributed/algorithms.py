"""Collectives in terms of messages: what is sent to whom, and in which order results are combined.

What a process does is a :class:`Plan`: rounds of messages from and into three stretches of memory (what is given, what is
taken, room to work in), and what is computed after each round. The runtime and :mod:`theano.distributed.exchange` run the same
plans, so that processes which do one or the other understand each other.

Results are the same bits on all processes and in every run, as each part is combined by one process or in one order by all.
Up to :data:`FEW` processes elements are combined in the order of ranks. Large arrays are cut into a part for each process,
which receives it from all others, combines, and sends the result to all: each process sends ``2 (p - 1) / p`` of its bytes, as
few as is possible, in two rounds (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
MPICH, 2005). Small ones go to all at once, in one round. More processes send as few bytes in ``2 ceil(log2 p)`` rounds of one
partner each, whatever their number: parts move along the edges of a circulant graph (J. L. Träff: Optimal, non-pipelined
reduce-scatter and allreduce algorithms, 2024), and are combined in an order that depends on the number of processes and the
part alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

#: Up to this number of bytes, of all processes together, an array goes whole to everybody.
SMALL = 64 * 1024
#: Up to this number of bytes two processes give each other the whole array: as many bytes as in two rounds.
PAIR = 2 << 20
#: So many processes send to each other; more pass on what they have in rounds, whose number grows with the logarithm.
FEW = 8
#: Arrays that share a message begin at multiples of this.
ALIGNMENT = 64
#: Bytes of a message; longer ones are cut, as MPI counts by int.
LONGEST = 1 << 30
#: Bytes that MPI sends without asking the receiver before (Open MPI: 4 KB with a header). Up to twice as many go as two messages,
#: which is faster.
UNASKED = 4000

COMBINE: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip

#: The stretches of memory.
GIVEN, TAKEN, ROOM = 0, 1, 2


class Span(NamedTuple):
    """Bytes of a stretch of memory.

    Parameters
    ----------
    place : int
        `GIVEN`, `TAKEN` or `ROOM`.
    begin : int
    nbytes : int
    """

    place: int
    begin: int
    nbytes: int


class Message(NamedTuple):
    """What goes to another process, or comes from it.

    Parameters
    ----------
    rank : int
        Of the other process.
    span : Span
    """

    rank: int
    span: Span


class Work(NamedTuple):
    """What is computed after a round.

    Parameters
    ----------
    into : Span
    sources : sequence of Span
        As long as `into`: they are combined in their order. A single one is copied; of none zeros are made.
    """

    into: Span
    sources: Sequence[Span]


class Round(NamedTuple):
    """Messages that are under way together, and what is computed when all are there.

    Parameters
    ----------
    receives, sends : sequence of Message
    work : sequence of Work
    """

    receives: Sequence[Message] = ()
    sends: Sequence[Message] = ()
    work: Sequence[Work] = ()


class Plan(NamedTuple):
    """What one process does in a collective.

    Parameters
    ----------
    room : int
        Bytes that it works in.
    rounds : sequence of Round
    kind : int
        0 or 1: plans of different kinds do not take each other's messages for their own, whatever their lengths.
    """

    room: int
    rounds: Sequence[Round]
    kind: int = 0

    def numbers(self) -> np.ndarray:
        """Return the plan as the runtime reads it, see ``collective.h``."""
        most = max((len(r.receives) + len(r.sends) for r in self.rounds), default=0)
        found = [self.room, most, len(self.rounds), self.kind]
        for r in self.rounds:
            found += [len(r.receives), len(r.sends), len(r.work)]
            for message in (*r.receives, *r.sends):
                found += [message.rank, *message.span]
            for work in r.work:
                found += [*work.into, len(work.sources)]
                for source in work.sources:
                    found += source[:2]
        return np.array(found, "int64")


class Collective:
    """What all processes do together with arrays that each gives.

    Two that are equal do the same.
    """

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        """Raise an error for arrays that cannot be meant."""

    def rows(self, size: int) -> tuple[int, int]:
        """By what the length of the first axis is multiplied, and divided."""
        return 1, 1

    def plan(self, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
        """What a process does with so many bytes."""
        raise NotImplementedError

    def gives(self, rank: int) -> bool:
        """Whether the values that a process gives count."""
        return True


@functools.lru_cache(maxsize=512)
def plan_of(collective: Collective, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
    """Return the plan of a collective; one of no bytes needs no messages.

    Parameters
    ----------
    collective : Collective
    rank, size : int
    nbytes : int
        What this process gives.
    itemsize : int
        Bytes of an element.
    """
    return collective.plan(rank, size, nbytes, itemsize) if nbytes else Plan(0, ())


@functools.lru_cache(maxsize=512)
def numbers_of(collective: Collective, rank: int, size: int, nbytes: int, itemsize: int) -> np.ndarray:
    """Return :func:`plan_of` as the runtime reads it."""
    return plan_of(collective, rank, size, nbytes, itemsize).numbers()


@dataclass(frozen=True)
class AllReduce(Collective):
    """Combine the arrays of all processes, for all."""

    op: str = "sum"

    def __str__(self) -> str:
        return f"all_reduce({self.op})"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        for a in arrays:
            check_combined(self.op, a.dtype)

    def plan(self, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
        whole = Span(GIVEN, 0, nbytes)
        count = nbytes // itemsize
        if nbytes * size <= SMALL or (size == 2 and nbytes <= PAIR):
            rows = [Span(ROOM, nbytes * r, nbytes) for r in range(size)]
            if size <= FEW:
                rows[rank] = whole
            longest = UNASKED if UNASKED < nbytes <= 2 * UNASKED else LONGEST
            rounds = gathered(rank, size, whole, rows, longest)
            return Plan(nbytes * size, [*rounds, Round(work=[Work(Span(TAKEN, 0, nbytes), rows)])], int(nbytes > longest))
        parts = [(first * itemsize, (last - first) * itemsize) for first, last in parts_of(count, size)]
        given, taken = ([Span(place, *part) for part in parts] for place in (GIVEN, TAKEN))
        room, rounds = reduced(rank, size, given, taken, taken[rank])
        return Plan(room, [*rounds, *gathered(rank, size, taken[rank], taken)], 1)


@dataclass(frozen=True)
class AllGather(Collective):
    """Join the arrays of all processes along the first axis, for all."""

    def __str__(self) -> str:
        return "all_gather"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        for a in arrays:
            if not a.ndim:
                raise ValueError("all_gather joins arrays along their first axis, this one has none: give a vector of length 1")

    def rows(self, size: int) -> tuple[int, int]:
        return size, 1

    def plan(self, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
        rows = [Span(TAKEN, nbytes * r, nbytes) for r in range(size)]
        return Plan(0, list(gathered(rank, size, Span(GIVEN, 0, nbytes), rows)))


@dataclass(frozen=True)
class ReduceScatter(Collective):
    """Combine the arrays of all processes, and give each its part along the first axis."""

    op: str = "sum"

    def __str__(self) -> str:
        return f"reduce_scatter({self.op})"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        for a in arrays:
            check_combined(self.op, a.dtype)
            check_divided(str(self), a, size)

    def rows(self, size: int) -> tuple[int, int]:
        return 1, size

    def plan(self, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
        part = nbytes // size
        given, sums = ([Span(place, part * r, part) for r in range(size)] for place in (GIVEN, ROOM))
        return Plan(*reduced(rank, size, given, sums, Span(TAKEN, 0, part)))


@dataclass(frozen=True)
class Broadcast(Collective):
    """Give the arrays of one process to all."""

    root: int = 0

    def __str__(self) -> str:
        return f"broadcast(root={self.root})"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        check_root(self.root, size)

    def gives(self, rank: int) -> bool:
        return rank == self.root

    def plan(self, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
        # A binomial tree: who has the message passes it on, and twice as many have it after each round.
        rounds = []
        place, bit = (rank - self.root) % size, 1
        taken = Span(TAKEN, 0, nbytes)
        own = taken if place else Span(GIVEN, 0, nbytes)
        while bit < size:
            if place < bit:
                if place + bit < size:
                    rounds.append(Round((), messages((rank + bit) % size, own)))
            elif place < 2 * bit:
                rounds.append(Round(messages((rank - bit) % size, taken)))
            bit *= 2
        if not place:
            rounds.append(Round(work=[Work(taken, [own])]))
        return Plan(0, rounds)


@dataclass(frozen=True)
class Reduce(Collective):
    """Combine the arrays of all processes for one; the others get zeros."""

    op: str = "sum"
    root: int = 0

    def __str__(self) -> str:
        return f"reduce({self.op}, root={self.root})"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        check_root(self.root, size)
        for a in arrays:
            check_combined(self.op, a.dtype)

    def plan(self, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
        given, taken = Span(GIVEN, 0, nbytes), Span(TAKEN, 0, nbytes)
        zeros = Work(taken, [])
        if size <= FEW:
            if rank != self.root:
                return Plan(0, [Round((), messages(self.root, given), [zeros])])
            rows = [given if s == rank else Span(ROOM, nbytes * s, nbytes) for s in range(size)]
            receives = [m for s in range(size) if s != rank for m in messages(s, rows[s])]
            return Plan(nbytes * size, [Round(receives, (), [Work(taken, rows)])])
        # A binomial tree: who has sent what it has is done.
        rounds = []
        place, bit, own = (rank - self.root) % size, 1, given
        room = Span(ROOM, 0, nbytes)
        while bit < size:
            if place & bit:
                rounds.append(Round((), messages((rank - bit) % size, own), [zeros]))
                break
            if place + bit < size:
                rounds.append(Round(messages((rank + bit) % size, room), (), [Work(taken, [own, room])]))
                own = taken
            bit *= 2
        return Plan(nbytes, rounds)


@dataclass(frozen=True)
class AllToAll(Collective):
    """Each process gives the n-th part of its array, along the first axis, to the n-th process."""

    def __str__(self) -> str:
        return "all_to_all"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        for a in arrays:
            check_divided("all_to_all", a, size)

    def plan(self, rank: int, size: int, nbytes: int, itemsize: int) -> Plan:
        part = nbytes // size
        given, taken = ([Span(place, part * r, part) for r in range(size)] for place in (GIVEN, TAKEN))
        rounds = []
        for first in range(1, size, FEW):
            steps = range(first, min(size, first + FEW))
            receives = [m for i in steps for m in messages((rank - i) % size, taken[(rank - i) % size])]
            sends = [m for i in steps for m in messages((rank + i) % size, given[(rank + i) % size])]
            rounds.append(Round(receives, sends))
        return Plan(0, [*rounds, Round(work=[Work(taken[rank], [given[rank]])])])


def messages(rank: int, span: Span, longest: int = 0) -> list[Message]:
    """The bytes of a span, cut into messages that MPI can count."""
    place, begin, nbytes = span
    longest = longest or LONGEST
    return [Message(rank, Span(place, begin + b, min(longest, nbytes - b))) for b in range(0, nbytes, longest)]


def gathered(rank: int, size: int, own: Span, rows: Sequence[Span], longest: int = 0) -> Iterator[Round]:
    """Give `own` to all processes: that of the n-th goes into the n-th of `rows`, which lie one behind the other."""
    keep = [] if own == rows[rank] else [Work(rows[rank], [own])]
    if size <= FEW:
        others = [(rank + i) % size for i in range(1, size)]
        receives = [m for s in others for m in messages(s, rows[s], longest)]
        yield Round(receives, [m for s in others for m in messages(s, own, longest)], keep)
        return
    if keep:
        yield Round(work=keep)
    for near, far in pairwise(skips(size)[::-1]):
        # The process so far ahead has as many rows, from its own one on.
        receives = [m for span in joined(rows, rank + near, rank + far) for m in messages((rank + near) % size, span)]
        sends = [m for span in joined(rows, rank, rank + far - near) for m in messages((rank - near) % size, span)]
        yield Round(receives, sends)


def reduced(rank: int, size: int, given: Sequence[Span], sums: Sequence[Span], total: Span) -> tuple[int, list[Round]]:
    """Combine the n-th parts on the n-th process into `total`; `sums` is where parts may be added up on the way.

    Returns
    -------
    tuple
        The bytes of room, and the rounds.
    """
    if size <= FEW:
        others = [(rank + i) % size for i in range(1, size)]
        nbytes = given[rank].nbytes
        came = [given[rank] if s == rank else Span(ROOM, nbytes * s, nbytes) for s in range(size)]
        receives = [m for s in others for m in messages(s, came[s])]
        sends = [m for s in others for m in messages(s, given[s])]
        return nbytes * size, [Round(receives, sends, [Work(total, came)])]
    room = max((s.begin + s.nbytes for s in sums if s.place == ROOM), default=0)
    rounds, most, added = [], room, 0
    for far, near in pairwise(skips(size)):
        # Sums so far of the parts from `near` to `far` ahead go to the process that is `near` ahead. Of parts from `added` on
        # there is only what was given.
        parts = [sums if i < added else given for i in range(far)]
        sends = [m for i, j in runs(parts, near, far) for span in joined(parts[i], rank + i, rank + j)
                 for m in messages((rank + near) % size, span)]  # fmt: skip
        receives, work, at = [], [], room
        # Cut where the sender cuts, for whom these are as many parts ahead as it is behind.
        for i, j in runs(parts, near, far):
            for into in joined(sums, rank + i - near, rank + j - near):
                came = Span(ROOM, at, into.nbytes)
                at += into.nbytes
                receives += messages((rank - near) % size, came)
        at = room
        for i, j in runs(parts, 0, far - near):
            for own, into in zip(joined(parts[i], rank + i, rank + j), joined(sums, rank + i, rank + j)):
                work.append(Work(into if near > 1 else total, [own, Span(ROOM, at, own.nbytes)]))
                at += own.nbytes
        rounds.append(Round(receives, sends, work))
        most, added = max(most, at), max(added, far - near)
    return most, rounds


def runs(parts: Sequence[object], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Where the same things stand side by side."""
    begin = first
    for i in range(first + 1, last + 1):
        if i == last or parts[i] is not parts[begin]:
            yield begin, i
            begin = i


def joined(rows: Sequence[Span], first: int, last: int) -> Iterator[Span]:
    """The spans of rows one behind the other, of which the first follows on the last; empty ones are left out."""
    size = len(rows)
    begin = first % size
    end = begin + last - first
    for a, b in ((begin, min(end, size)), (0, end - size)):
        nbytes = rows[b - 1].begin + rows[b - 1].nbytes - rows[a].begin if b > a else 0
        if nbytes:
            yield Span(rows[a].place, rows[a].begin, nbytes)


def skips(size: int) -> list[int]:
    """How far ahead the partners of the rounds are.

    Examples
    --------
    >>> skips(11)
    [11, 6, 3, 2, 1]
    """
    found = [size]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found


def parts_of(count: int, size: int) -> list[tuple[int, int]]:
    """Cut so many elements into nearly equal parts: first and last of each.

    Examples
    --------
    >>> parts_of(7, 3)
    [(0, 2), (2, 4), (4, 7)]
    """
    bounds = [count * i // size for i in range(size + 1)]
    return list(pairwise(bounds))


#: Elements that are combined at a time: they stay in the cache.
BLOCK = 64 * 1024


def combine(op: str, parts: Sequence[np.ndarray], total: np.ndarray) -> None:
    """Combine vectors in their order into `total`; float16 in float32."""
    function = COMBINE[op]
    if total.dtype == np.float16:
        total[...] = function.reduce(np.asarray([p.astype("float32") for p in parts]), axis=0)
        return
    block = BLOCK if len(parts) > 2 else max(1, total.size)
    for begin in range(0, total.size, block):
        here = slice(begin, begin + block)
        function(parts[0][here], parts[1][here], out=total[here])
        for part in parts[2:]:
            function(total[here], part[here], out=total[here])


def check_combined(op: str, dtype: np.dtype) -> None:
    """Raise an error for a dtype whose elements cannot be combined so."""
    if op not in COMBINE:
        raise ValueError(f"arrays are combined by one of {', '.join(COMBINE)}; got {op!r}")
    if dtype.kind == "b" and op in ("sum", "prod"):
        raise TypeError(f"booleans have no {op} of their dtype: cast them first, or take 'max' (any) or 'min' (all)")
    if dtype.kind == "c" and op in ("min", "max"):
        raise TypeError("complex numbers have no order: their minimum and maximum are not defined")


def check_divided(name: str, array: np.ndarray, size: int) -> None:
    """Raise an error where the first axis has not the same number of rows for each process."""
    if not array.ndim or array.shape[0] % size:
        raise ValueError(f"{name} gives each of {size} processes an equal part of the first axis, which the shape "
                         f"{array.shape} does not have: pad it")


def check_root(root: int, size: int) -> None:
    """Raise an error for a root that is no rank."""
    if not 0 <= root < size:
        raise ValueError(f"the root must be a rank below {size}; got {root}")

"""Collectives in terms of messages: what is sent to whom, and in which order results are combined.

Elements are always combined in the order of ranks, whatever the size, so that all processes have the same bits and a
second run has the same bits as the first. Large arrays are cut into a part for each process, which receives it from all
others, combines, and sends the result to all: each process sends ``2 (p - 1) / p`` of its bytes, as few as is possible, in
two rounds (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, 2005).
Small ones go to all at once, in one round.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from theano.distributed.exchange import Buffers, Post

#: Up to this number of bytes, of all processes together, an array goes whole to everybody.
SMALL = 64 * 1024
#: So many processes send small arrays to each other; more pass them on in rounds, whose number grows with the logarithm.
FEW = 8
#: Arrays that share a message begin at multiples of this.
ALIGNMENT = 64

COMBINE: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
Steps = Generator[Post, None, list[np.ndarray]]


class Collective:
    """What all processes do together with arrays that each gives.

    Two that are equal do the same.
    """

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        """Raise an error for arrays that cannot be meant."""

    def alone(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the results for a single process."""
        return [np.array(a) for a in arrays]

    def steps(self, comm: Any, buffers: Buffers, tag: int, arrays: Sequence[np.ndarray]) -> Steps:
        """The rounds of messages."""
        raise NotImplementedError


@dataclass(frozen=True)
class AllReduce(Collective):
    """Combine the arrays of all processes, for all."""

    op: str = "sum"

    def __str__(self) -> str:
        return f"all_reduce({self.op})"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        for a in arrays:
            check_combined(self.op, a.dtype)

    def steps(self, comm: Any, buffers: Buffers, tag: int, arrays: Sequence[np.ndarray]) -> Steps:
        flat, results = packed(buffers, arrays)
        if flat.nbytes * comm.size <= SMALL or flat.size < comm.size:
            parts = fresh(buffers, (comm.size, flat.size), flat.dtype)
            if comm.size <= FEW:
                came = list(parts)
                if flat.nbytes:
                    yield from spread(comm, tag, flat, came)
                came[comm.rank] = flat
            else:
                yield Post([comm.Iallgather(flat.view("uint8"), parts.reshape(-1).view("uint8"))])
                came = list(parts)
            combine(self.op, came, results.flat)
        else:
            bounds = parts_of(flat.size, comm.size)
            mine = slice(*bounds[comm.rank])
            total = results.flat[mine]
            yield from reduce_parts(comm, buffers, tag, self.op, [flat[slice(*b)] for b in bounds], total)
            yield from spread(comm, tag, total, [results.flat[slice(*b)] for b in bounds])
        return results.arrays


@dataclass(frozen=True)
class AllGather(Collective):
    """Join the arrays of all processes along the first axis, for all."""

    def __str__(self) -> str:
        return "all_gather"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        for a in arrays:
            if not a.ndim:
                raise ValueError("all_gather joins arrays along their first axis, this one has none: give a vector of length 1")

    def steps(self, comm: Any, buffers: Buffers, tag: int, arrays: Sequence[np.ndarray]) -> Steps:
        array = np.ascontiguousarray(arrays[0])
        result = fresh(buffers, (array.shape[0] * comm.size, *array.shape[1:]), array.dtype)
        rows = result.reshape(comm.size, *array.shape)
        rows[comm.rank] = array
        if array.nbytes:
            yield from spread(comm, tag, array, list(rows))
        return [result]


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

    def steps(self, comm: Any, buffers: Buffers, tag: int, arrays: Sequence[np.ndarray]) -> Steps:
        array = np.ascontiguousarray(arrays[0])
        result = fresh(buffers, (array.shape[0] // comm.size, *array.shape[1:]), array.dtype)
        if array.nbytes:
            rows = array.reshape(comm.size, -1)
            yield from reduce_parts(comm, buffers, tag, self.op, list(rows), result.reshape(-1))
        return [result]


@dataclass(frozen=True)
class Broadcast(Collective):
    """Give the arrays of one process to all."""

    root: int = 0

    def __str__(self) -> str:
        return f"broadcast(root={self.root})"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        check_root(self.root, size)

    def steps(self, comm: Any, buffers: Buffers, tag: int, arrays: Sequence[np.ndarray]) -> Steps:
        flat, results = packed(buffers, arrays, copy=comm.rank == self.root)
        if comm.rank == self.root:
            results.flat[...] = flat
        if not results.flat.size:
            return results.arrays
        # A binomial tree: who has the message passes it on, and twice as many have it after each round.
        place, bit = (comm.rank - self.root) % comm.size, 1
        message = results.flat.view("uint8")
        while bit < comm.size:
            if place < bit:
                if place + bit < comm.size:
                    yield Post([comm.Isend(message, (comm.rank + bit) % comm.size, tag)])
            elif place < 2 * bit:
                source = (comm.rank - bit) % comm.size
                yield Post([comm.Irecv(message, source, tag)], [(source, message.nbytes)])
            bit *= 2
        return results.arrays


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

    def steps(self, comm: Any, buffers: Buffers, tag: int, arrays: Sequence[np.ndarray]) -> Steps:
        array = np.ascontiguousarray(arrays[0])
        result = fresh(buffers, arrays[0].shape, array.dtype)
        if not array.nbytes:
            return [result]
        if comm.rank != self.root:
            result[...] = 0
            yield Post([comm.Isend(array.reshape(-1).view("uint8"), self.root, tag)])
            return [result]
        parts = fresh(buffers, (comm.size, array.size), array.dtype)
        parts[self.root] = array.reshape(-1)
        others = [s for s in range(comm.size) if s != self.root]
        requests = [comm.Irecv(parts[s].view("uint8"), s, tag) for s in others]
        yield Post(requests, [(s, array.nbytes) for s in others])
        combine(self.op, list(parts), result.reshape(-1))
        return [result]


@dataclass(frozen=True)
class AllToAll(Collective):
    """Each process gives the n-th part of its array, along the first axis, to the n-th process."""

    def __str__(self) -> str:
        return "all_to_all"

    def check(self, arrays: Sequence[np.ndarray], size: int) -> None:
        for a in arrays:
            check_divided("all_to_all", a, size)

    def steps(self, comm: Any, buffers: Buffers, tag: int, arrays: Sequence[np.ndarray]) -> Steps:
        array = np.ascontiguousarray(arrays[0])
        result = fresh(buffers, array.shape, array.dtype)
        if array.nbytes:
            given, taken = (a.reshape(comm.size, -1) for a in (array, result))
            taken[comm.rank] = given[comm.rank]
            yield exchanged(comm, tag, list(given), list(taken))
        return [result]


class Packed(NamedTuple):
    """Arrays that lie in one stretch of memory: the stretch, with the elements' dtype, and the arrays."""

    flat: np.ndarray
    arrays: list[np.ndarray]


def packed(buffers: Buffers, arrays: Sequence[np.ndarray], copy: bool = True) -> tuple[np.ndarray, Packed]:
    """Put arrays of one dtype into one stretch of memory.

    Returns
    -------
    tuple
        The stretch (one contiguous array as it is), and room for as many results.
    """
    dtype = arrays[0].dtype
    if any(a.dtype != dtype for a in arrays):
        raise TypeError(f"arrays that are transferred together must have the same dtype; got {[str(a.dtype) for a in arrays]}")
    if len(arrays) == 1:
        flat = np.ascontiguousarray(arrays[0]).reshape(-1)
        result = fresh(buffers, arrays[0].shape, dtype)
        return flat, Packed(result.reshape(-1), [result])
    step = max(1, ALIGNMENT // dtype.itemsize)
    starts, end = [], 0
    for a in arrays:
        starts.append(end)
        end += -(-a.size // step) * step
    flat, taken = fresh(buffers, (end,), dtype), fresh(buffers, (end,), dtype)
    results = []
    for a, start in zip(arrays, starts):
        if copy:
            flat[start:start + a.size].reshape(a.shape)[...] = a
            flat[start + a.size:start + -(-a.size // step) * step] = 0
        results.append(taken[start:start + a.size].reshape(a.shape))
    return flat, Packed(taken, results)


def fresh(buffers: Buffers, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array with anything in it."""
    count = 1
    for n in shape:
        count *= n
    if count * dtype.itemsize < buffers.LEAST:
        return np.empty(shape, dtype)
    return buffers.empty(count * dtype.itemsize).view(dtype).reshape(shape)


def parts_of(count: int, size: int) -> list[tuple[int, int]]:
    """Cut so many elements into nearly equal parts: first and last of each.

    Examples
    --------
    >>> parts_of(7, 3)
    [(0, 2), (2, 4), (4, 7)]
    """
    bounds = [count * i // size for i in range(size + 1)]
    return list(zip(bounds, bounds[1:]))


def exchanged(comm: Any, tag: int, given: Sequence[np.ndarray], taken: Sequence[np.ndarray]) -> Post:
    """Post the messages that give the n-th array to the n-th process and take another from it."""
    others = [(comm.rank + i) % comm.size for i in range(1, comm.size)]
    into = [taken[s].reshape(-1).view("uint8") for s in others]
    requests = [comm.Irecv(a, s, tag) for a, s in zip(into, others)]
    requests += [comm.Isend(given[s].reshape(-1).view("uint8"), s, tag) for s in others]
    return Post(requests, [(s, a.size) for a, s in zip(into, others)])


def reduce_parts(comm: Any, buffers: Buffers, tag: int, op: str, given: Sequence[np.ndarray],
                 total: np.ndarray) -> Generator[Post, None, None]:
    """Give the n-th part to the n-th process, combine those that come into `total`."""
    came = fresh(buffers, (comm.size, total.size), total.dtype)
    yield exchanged(comm, tag, given, list(came))
    parts = list(came)
    parts[comm.rank] = given[comm.rank]
    combine(op, parts, total)


def spread(comm: Any, tag: int, mine: np.ndarray, taken: Sequence[np.ndarray]) -> Generator[Post, None, None]:
    """Give an array to all others, and take theirs."""
    yield exchanged(comm, tag, [mine] * comm.size, taken)


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

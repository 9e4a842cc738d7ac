"""Plans of collectives, run by all processes in one: results, their bits, how many messages and bytes there are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theano.distributed import algorithms
from theano.distributed.algorithms import GIVEN, ROOM, TAKEN, AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter


def run_plans(collective, arrays):
    """What each process takes, and the rounds, messages and bytes that the busiest sends."""
    size, dtype = len(arrays), arrays[0].dtype
    times, over = collective.rows(size)
    plans = [collective.plan(rank, size, arrays[0].nbytes, dtype.itemsize) for rank in range(size)]
    memory = [{GIVEN: a.copy().view("uint8"), TAKEN: np.full(a.nbytes * times // over, 123, "uint8"),
               ROOM: np.full(plan.room, 77, "uint8")} for a, plan in zip(arrays, plans)]  # fmt: skip

    def seen(rank, span):
        place, begin, nbytes = span
        assert begin >= 0 and nbytes > 0 and begin + nbytes <= memory[rank][place].nbytes
        return memory[rank][place][begin:begin + nbytes]

    # Each process goes on when all that it waits for has come; messages of one to another come in the order of sending.
    sent = {}
    at, posted = [0] * size, [False] * size
    moved = True
    while moved:
        moved = False
        for rank, plan in enumerate(plans):
            if at[rank] == len(plan.rounds):
                continue
            this = plan.rounds[at[rank]]
            if not posted[rank]:
                for message in this.sends:
                    sent.setdefault((rank, message.rank), []).append(seen(rank, message.span).copy())
                posted[rank] = moved = True
            needed = {}
            for message in this.receives:
                needed[message.rank] = needed.get(message.rank, 0) + 1
            if any(len(sent.get((source, rank), ())) < n for source, n in needed.items()):
                continue
            for message in this.receives:
                came = sent[message.rank, rank].pop(0)
                assert message.rank != rank and len(came) == message.span.nbytes
                seen(rank, message.span)[...] = came
            for work in this.work:
                into, parts = seen(rank, work.into), [seen(rank, s) for s in work.sources]
                if len(parts) > 1:
                    algorithms.combine(collective.op, [p.view(dtype) for p in parts], into.view(dtype))
                else:
                    into[...] = parts[0] if parts else 0
            at[rank] += 1
            posted[rank] = False
            moved = True
    assert all(n == len(plan.rounds) for n, plan in zip(at, plans)) and not any(sent.values())
    assert all(np.array_equal(m[GIVEN], a.view("uint8")) for m, a in zip(memory, arrays))
    costs = [(sum(bool(r.sends or r.receives) for r in p.rounds), sum(len(r.sends) for r in p.rounds),
              sum(m.span.nbytes for r in p.rounds for m in r.sends)) for p in plans]  # fmt: skip
    return [m[TAKEN].view(dtype) for m in memory], tuple(map(max, zip(*costs)))


SIZES = st.one_of(st.integers(2, 20), st.sampled_from([31, 32, 33, 48]))


def numbers(size, count, dtype="float32"):
    rng = np.random.RandomState(size + count)
    if np.dtype(dtype).kind in "iu":
        return [rng.randint(0, 5, count).astype(dtype) for _ in range(size)]
    return [(rng.randn(count) * 10.0 ** rng.randint(-3, 4, count)).astype(dtype) for _ in range(size)]


@settings(max_examples=60, deadline=None)
@given(SIZES, st.one_of(st.integers(1, 50), st.sampled_from([5000, 20011, 70001])), st.sampled_from(["int16", "float64"]))
def test_all_reduce(size, count, dtype):
    arrays = numbers(size, count, dtype)
    taken, (rounds, _, nbytes) = run_plans(AllReduce("sum"), arrays)
    expected = sum(a.astype("float64") for a in arrays[1:]) + arrays[0]
    tolerance = {"rtol": 0, "atol": 0} if dtype == "int16" else {"rtol": 1e-9, "atol": 1e-9}
    for t in taken:
        np.testing.assert_allclose(t, expected, **tolerance)
        assert np.array_equal(t, taken[0])
    if size <= algorithms.FEW:
        in_order = arrays[0] + arrays[1]
        for a in arrays[2:]:
            in_order = in_order + a
        assert np.array_equal(taken[0], in_order)
    else:
        assert rounds <= 2 * math.ceil(math.log2(size))
    if arrays[0].nbytes * size > algorithms.SMALL:
        part = -(-count // size) * arrays[0].itemsize
        assert nbytes <= 2 * (size - 1) * part


@pytest.mark.parametrize("size, count", [(100, 7), (130, 3000), (300, 100)])
def test_more_processes_than_elements(size, count):
    arrays = numbers(size, count, "int16")
    taken, (rounds, _, nbytes) = run_plans(AllReduce("sum"), arrays)
    assert all(np.array_equal(t, sum(arrays)) for t in taken)
    assert rounds <= 2 * math.ceil(math.log2(size)) and nbytes < size * arrays[0].nbytes


@settings(max_examples=60, deadline=None)
@given(SIZES, st.integers(1, 40))
def test_the_other_collectives(size, count):
    arrays = numbers(size, size * count, "int16")
    rows = np.array(arrays).reshape(size, size, count)
    log = math.ceil(math.log2(size))
    taken, (rounds, _, nbytes) = run_plans(AllGather(), arrays)
    assert all(np.array_equal(t, np.concatenate(arrays)) for t in taken) and nbytes == (size - 1) * arrays[0].nbytes
    assert rounds <= log
    taken, (rounds, _, nbytes) = run_plans(ReduceScatter("sum"), arrays)
    assert all(np.array_equal(t, rows.sum(0)[r]) for r, t in enumerate(taken)) and nbytes == (size - 1) * count * 2
    assert rounds <= log
    root = count % size
    taken, (rounds, _, _) = run_plans(Broadcast(root), arrays)
    assert all(np.array_equal(t, arrays[root]) for t in taken) and rounds <= log
    taken, (rounds, _, _) = run_plans(Reduce("sum", root), arrays)
    assert all(np.array_equal(t, sum(arrays) if r == root else 0 * t) for r, t in enumerate(taken)) and rounds <= log
    taken, _ = run_plans(AllToAll(), arrays)
    assert all(np.array_equal(t.reshape(size, count), rows[:, r]) for r, t in enumerate(taken))


@pytest.mark.parametrize("size", [2, 9])
def test_long_messages_are_cut(size, monkeypatch):
    monkeypatch.setattr(algorithms, "LONGEST", 1000)
    arrays = numbers(size, 20000)
    taken, (_, messages, _) = run_plans(AllReduce("sum"), arrays)
    assert all(np.array_equal(t, taken[0]) for t in taken) and messages >= 80
    np.testing.assert_allclose(taken[0], sum(arrays), rtol=1e-3, atol=1e-3)

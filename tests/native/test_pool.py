"""The pool's blocks that are cut out of segments: they melt, they hold what was written, their pages go back."""

import gc
import pathlib
import resource
import sys
import threading

import numpy as np
import pytest

from tests.native.vm_tools import make, runtime, tensor

VECTOR = tensor("float64", 1)
KIBI, MEBI = 1 << 10, 1 << 20


@pytest.fixture
def copy():
    gc.collect()
    runtime.pool_trim()
    program = make("copy", [VECTOR], [VECTOR])
    yield lambda x: program.call([x])[0]
    program.free()


def retained():
    return runtime.pool_stats()["retained"]


@pytest.mark.skipif(sys.platform == "win32", reason="blocks are cut out of mapped memory")
def test_blocks_of_many_sizes_retain_no_more_than_was_ever_in_use(copy):
    before = retained()
    for kibibytes in (3000, 1500, 700, 2500, 333, 1000, 64, 2048, 100, 40, 3000):
        copy(np.ones(kibibytes * KIBI // 8))
    many = [copy(np.ones(100 * KIBI // 8)) for _ in range(28)]
    del many
    two = [copy(np.ones(1400 * KIBI // 8)) for _ in range(2)]
    del two
    assert retained() - before <= 3000 * KIBI + 64 * KIBI


def test_a_second_round_of_alternating_shapes_takes_no_new_pages(copy):
    sizes = [2000 * KIBI, 900 * KIBI, 300 * KIBI, 3500 * KIBI]

    def round_of_calls():
        for size in sizes:
            held = [copy(np.ones(size // 8)) for _ in range(3)]
            del held

    round_of_calls()
    after_one = retained()
    for _ in range(3):
        round_of_calls()
    assert retained() == after_one


def shuffle(copy, seed, failures):
    """Takes and drops arrays of random sizes, each of which must keep what was written to it."""
    rng = np.random.RandomState(seed)
    held = {}
    for step in range(300):
        if held and rng.rand() < 0.5:
            value = list(held)[rng.randint(len(held))]
            array = held.pop(value)
            if not (array == value).all() or array.ctypes.data % 64:
                failures.append(value)
        else:
            size = int(np.exp(rng.uniform(np.log(1000), np.log(700_000))))
            held[step] = copy(np.full(size, float(step)))
    failures.extend(value for value, array in held.items() if not (array == value).all())


def test_random_sizes_in_random_order_by_several_threads(copy):
    used, failures = runtime.pool_stats()["in_use"], []
    threads = [threading.Thread(target=shuffle, args=(copy, seed, failures)) for seed in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    shuffle(copy, 2, failures)
    assert failures == []
    assert runtime.pool_stats()["in_use"] == used
    assert retained() > 0
    runtime.pool_trim()
    assert retained() == 0


def test_free_blocks_beside_used_ones_give_their_pages_back(copy):
    arrays = [copy(np.full(100_000, float(i))) for i in range(12)]
    del arrays[1::2]
    assert retained() >= 6 * 800_000
    runtime.pool_trim()
    assert retained() == 0
    again = [copy(np.full(90_000, -1.0)) for _ in range(6)]
    assert [a[0] for a in arrays] == [a[-1] for a in arrays] == [0, 2, 4, 6, 8, 10]
    assert all((a == -1).all() for a in again)


def has_huge_pages():
    try:
        choices = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return False
    return "[madvise]" in choices or "[always]" in choices


@pytest.mark.skipif(not has_huge_pages(), reason="the system has none")
def test_blocks_that_fill_huge_pages_have_them(copy):
    """The pages of twelve arrays of 3 MiB come in some hundred faults, not in 9,000; half of these where memory is in pieces."""
    given = np.ones(3 * MEBI // 8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [copy(given) for _ in range(12)]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 4500
    assert all((array == 1).all() for array in held)


def test_beyond_the_limit_pages_are_not_kept(copy):
    limit = runtime.pool_stats()["limit"]
    try:
        runtime.pool_set_limit(MEBI)
        held = [copy(np.full(50_000, float(i))) for i in range(10)]
        assert [float(a[-1]) for a in held] == list(range(10))
        del held
        assert retained() <= MEBI
    finally:
        runtime.pool_set_limit(limit)

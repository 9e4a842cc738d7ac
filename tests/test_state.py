"""What a function leaves behind: shared variables after a failed call, memory after many calls, several threads at once."""

import gc
import resource
import threading

import numpy as np
import pytest

import theano
import theano.tensor as T

MODES = ["FAST_RUN", "FAST_COMPILE", theano.Mode("vm", "fast_run"), theano.Mode("py", "fast_run")]


@pytest.fixture(params=MODES, ids=["fast_run", "fast_compile", "vm", "py"])
def mode(request):
    return request.param


def test_updates_happen_together(mode):
    a, b = theano.shared(np.float64(1), name="a"), theano.shared(np.float64(2), name="b")
    swap = theano.function([], [], updates=[(a, b), (b, a)], mode=mode)
    swap()
    assert (a.get_value(), b.get_value()) == (2, 1)
    swap()
    assert (a.get_value(), b.get_value()) == (1, 2)


def test_failed_call_leaves_every_shared_variable(mode):
    """The first update can be done in place; the second one fails on the shapes."""
    w = theano.shared(np.arange(4.0), name="w")
    v = theano.shared(np.arange(3.0), name="v")
    x, y = T.dvectors("x", "y")
    step = theano.function([x, y], w.sum(), updates=[(w, w + x), (v, v * y)], mode=mode)
    step(np.ones(4), np.ones(3))
    np.testing.assert_array_equal(w.get_value(), np.arange(4.0) + 1)
    with pytest.raises(ValueError):
        step(np.ones(4), np.ones(5))
    np.testing.assert_array_equal(w.get_value(), np.arange(4.0) + 1)
    np.testing.assert_array_equal(v.get_value(), np.arange(3.0))
    with pytest.raises(ValueError):
        step(np.ones(5), np.ones(3))
    np.testing.assert_array_equal(w.get_value(), np.arange(4.0) + 1)
    np.testing.assert_array_equal(v.get_value(), np.arange(3.0))


def test_failed_call_with_scatter_in_place(mode):
    table = theano.shared(np.zeros((5, 2)), name="table")
    other = theano.shared(np.zeros((5, 2)), name="other")
    i, j = T.lvectors("i", "j")
    updates = [(table, T.inc_subtensor(table[i], 1.0)), (other, T.inc_subtensor(other[j], 1.0))]
    step = theano.function([i, j], [], updates=updates, mode=mode)
    with pytest.raises(IndexError):
        step([0, 1], [0, 7])
    assert not table.get_value().any()
    assert not other.get_value().any()
    step([0, 0], [4])
    assert table.get_value()[0, 0] == 2
    assert other.get_value()[4, 1] == 1


def test_update_read_by_an_output_that_fails(mode):
    """What uses the new value in place may fail after it was written."""
    w = theano.shared(np.ones(3), name="w")
    x, shape = T.dvector("x"), T.lvector("shape")
    new = w + x
    f = theano.function([x, shape], T.reshape(new, shape, ndim=2) * 2, updates=[(w, new)], mode=mode)
    with pytest.raises(ValueError):
        f(np.ones(3), [2, 2])
    np.testing.assert_array_equal(w.get_value(), np.ones(3))
    np.testing.assert_array_equal(f(np.ones(3), [1, 3]), np.full((1, 3), 4.0))
    np.testing.assert_array_equal(w.get_value(), np.full(3, 2.0))


def test_sixteen_threads_call_one_function():
    x = T.dmatrix("x")
    f = theano.function([x], [T.tanh(x) * 2, x.sum(axis=0), T.dot(x, x.T)])
    data = [np.random.RandomState(k).rand(50 + k, 20) for k in range(16)]
    wrong = []

    def work(value):
        expected = [np.tanh(value) * 2, value.sum(axis=0), value @ value.T]
        for _ in range(200):
            for got, want in zip(f(value), expected):
                if not np.allclose(got, want):
                    wrong.append(value.shape)

    threads = [threading.Thread(target=work, args=(value,)) for value in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sixteen_threads_count_every_update():
    total = theano.shared(np.zeros(1000), name="total")
    x = T.dvector("x")
    add = theano.function([x], [], updates=[(total, total + x)])
    one = np.ones(1000)

    def work():
        for _ in range(200):
            add(one)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(total.get_value(), np.full(1000, 3200.0))


def test_threads_compile_and_call():
    """Each thread builds and compiles graphs of its own."""
    results = {}

    def work(k):
        x = T.dvector(f"x{k}")
        f = theano.function([x], (T.exp(x) * (k + 1)).sum())
        results[k] = float(f(np.zeros(k + 1)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: float((k + 1) ** 2) for k in range(8)}


def resident() -> int:
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * resource.getpagesize()


def test_ten_thousand_calls_leak_nothing():
    w = theano.shared(np.zeros((64, 64)), name="w")
    x = T.dmatrix("x")
    cost = T.tanh(T.dot(x, w) + 1).sum()
    step = theano.function([x], [cost, x.sum(axis=1)], updates=[(w, w - 0.01 * T.grad(cost, w))])
    good, bad = np.ones((32, 64)), np.ones((32, 63))

    def calls(n):
        for _ in range(n):
            step(good)
            with pytest.raises(ValueError):
                step(bad)

    calls(1000)
    gc.collect()
    before = resident()
    for _ in range(10_000):
        step(good)
    calls(1000)
    gc.collect()
    assert resident() - before < 4_000_000


def test_functions_are_freed():
    def make():
        x = T.dvector("x")
        return theano.function([x], T.exp(x) + 1)(np.zeros(10))

    for _ in range(20):
        make()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        make()
    gc.collect()
    assert len(gc.get_objects()) - before < 2000

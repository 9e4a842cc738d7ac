"""Loops whose steps are kernels, products and views at places that are known: natively against Python, and against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T

PYTHON = theano.Mode(linker="py", optimizer="fast_compile")


def both(inputs, outputs):
    return [theano.function(inputs, outputs, mode=mode) for mode in (None, PYTHON)]


def numbers(*shape, dtype="float64"):
    return (np.random.RandomState(sum(shape)).randn(*shape) / 3).astype(dtype)


@pytest.fixture(scope="module", params=["float32", "float64"])
def network(request):
    """A step with two states and three taps, products from both sides, a view of a sequence, and its gradient."""
    x, h0, c0, u, b = (T.TensorType(request.param, (False,) * n)() for n in (3, 3, 2, 2, 1))

    def step(row, h, before, c, u):
        h = T.tanh(row[:, ::-1] + T.dot(h, u) + 0.5 * before + b)
        return h, T.nnet.sigmoid(c + T.dot(u, h.T).T) * h

    (h, c), _ = theano.scan(step, sequences=x, outputs_info=[{"initial": h0, "taps": [-1, -3]}, c0], non_sequences=u)
    cost = T.sqr(c[-1]).sum() + h.sum()
    inputs = [x, h0, c0, u, b]
    return request.param, both(inputs, [h, c, cost, *theano.grad(cost, [x, h0, u, b])]), both(inputs, [h[-1], c[-1]])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_steps_of_a_network(network, data):
    dtype, whole, last = network
    steps, rows, width = (data.draw(st.integers(low, high)) for low, high in ((1, 14), (1, 3), (1, 20)))
    x = numbers(steps, rows, width, dtype=dtype)
    if data.draw(st.booleans()):
        x = np.asfortranarray(x)
    if data.draw(st.booleans()):
        x = x[::-1, :, ::-1]
    shapes = (3, rows, width), (rows, width), (width, width), (width,)
    arguments = [x, *(numbers(*shape, dtype=dtype) for shape in shapes)]
    near = {"rtol": 2e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    for ours, python in (whole, last):
        copies = [a.copy() for a in arguments]
        for found, wanted in zip(ours(*arguments), python(*arguments), strict=True):
            np.testing.assert_allclose(found, wanted, **near)
        for a, b in zip(arguments, copies, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_row_and_a_column_times_a_matrix():
    x, w = T.dmatrix(), T.dmatrix()
    forms = {
        "vector, matrix": lambda h, w: T.dot(h, w),
        "matrix, vector": lambda h, w: T.dot(w, h),
        "row, matrix": lambda h, w: T.dot(h.dimshuffle("x", 0), w)[0],
        "matrix, column": lambda h, w: T.dot(w, h.dimshuffle(0, "x"))[:, 0],
        "transposed": lambda h, w: T.dot(w.T, h),
        "scaled": lambda h, w: 0.5 * T.dot(h, w) + 0.25 * h,
    }
    outputs = [theano.scan(lambda row, h, w, form=form: T.tanh(row + form(h, w)), x, T.zeros_like(x[0]), w)[0]
               for form in forms.values()]
    f = theano.function([x, w], outputs)
    for n in (1, 2, 5, 32, 70):
        rows, matrix = numbers(12, n), numbers(n, n)
        for name, found in zip(forms, f(rows, matrix), strict=True):
            h = np.zeros(n)
            for row, ours in zip(rows, found, strict=True):
                by = {"matrix, vector": matrix @ h, "matrix, column": matrix @ h, "scaled": 0.5 * (h @ matrix) + 0.25 * h}
                h = np.tanh(row + by.get(name, h @ matrix))
                np.testing.assert_allclose(ours, h, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("limit", [0.5, 3.0, 7.5, 1e9])
def test_a_condition_ends_the_steps(limit):
    x, w = T.dvector(), T.dmatrix()

    def step(h, total, w):
        h = T.tanh(T.dot(h, w)) + 1
        total = total + h[0]
        return (h, total), theano.scan_module.until(total > limit)

    (h, total), _ = theano.scan(step, outputs_info=[x, T.zeros(())], non_sequences=w, n_steps=20)
    results = [f(numbers(6), numbers(6, 6)) for f in both([x, w], [h, total, h[-1], total.shape])]
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_lengths_that_change_between_steps():
    x = T.dvector()
    lengths = T.lvector()
    sums, _ = theano.scan(lambda n, before: T.sum(T.exp(x[:n])) + before, lengths, T.zeros(()))
    f = theano.function([x, lengths], sums)
    values, given_lengths = numbers(30), np.array([3, 3, 3, 30, 30, 1, 0, 0, 0, 0, 2, 2, 2, 9])
    np.testing.assert_allclose(f(values, given_lengths), np.cumsum([np.exp(values[:n]).sum() for n in given_lengths]), rtol=1e-12)


def test_other_threads_run_meanwhile():
    import threading
    import time

    x, w, n = T.dvector(), T.dmatrix(), T.lscalar()
    h, _ = theano.scan(lambda h, w: T.tanh(T.dot(h, w)), outputs_info=x, non_sequences=w, n_steps=n)
    f = theano.function([x, w, n], h[-1])
    begun, ended, turns = threading.Event(), threading.Event(), []

    def work():
        while not ended.is_set():
            begun.set()
            time.sleep(0.005)
            turns.append(time.perf_counter())

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        start = time.perf_counter()
        f(numbers(2), numbers(2, 2), 3 * 10**6)
        end = time.perf_counter()
    finally:
        ended.set()
        thread.join()
    assert sum(start < turn < end for turn in turns) >= 5


def test_an_interrupt_ends_many_steps():
    import _thread
    import signal
    import threading

    x, w, n = T.dvector(), T.dmatrix(), T.lscalar()
    h, _ = theano.scan(lambda h, w: T.tanh(T.dot(h, w)), outputs_info=x, non_sequences=w, n_steps=n)
    f = theano.function([x, w, n], h[-1])
    timer = threading.Timer(0.2, _thread.interrupt_main)
    # A shell may have started the tests with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(numbers(8), numbers(8, 8), 10**9)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert f(numbers(8), numbers(8, 8), 10).shape == (8,)

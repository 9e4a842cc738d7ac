"""Loops on more threads than cores, from several callers at a time: the same bits as on one thread, and no call that hangs."""

import concurrent.futures
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from vm_tools import all_native, own_threads, runtime  # noqa: F401

import theano.tensor as T

_made = []


def programs():
    """Functions whose loops are cut into tasks, with arguments and what they return on one thread."""
    if not _made:
        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((2, 600, 401))
        x, y = T.dmatrices("x", "y")
        runtime.set_threads(1)
        for graph in (
            T.exp(x) * T.tanh(y) + T.log1p(T.sqr(x)),
            T.nnet.softmax(x) - y,
            (T.tanh(x) * y).sum(axis=0),
            T.sqr(x - y).sum(),
            T.dot(x, y.T),
            T.sort(x, axis=1),
            x[::2].T + y[1::2].T,
        ):
            f = all_native([x, y], graph)
            _made.append((f, (a, b), f(a, b)))
    return _made


@pytest.mark.parametrize("threads", [2, 7, 64, 256])
def test_more_threads_than_cores(threads, own_threads):  # noqa: F811
    for f, values, expected in programs():
        runtime.set_threads(threads)
        for _ in range(8):
            np.testing.assert_array_equal(f(*values), expected)


@pytest.mark.parametrize("shape", [(997, 1500), (1501, 33, 31)])
def test_sums_of_rows_that_are_not_contiguous(shape, own_threads):  # noqa: F811
    """They are gathered in pieces, which must not depend on where the rows are cut between many threads."""
    x, y = (T.TensorType("float64", (False,) * len(shape))() for _ in range(2))
    f = all_native([x, y], [T.sqr(x - y).sum(axis=0), (1 + T.tanh(x) * y / 100).prod(axis=0)])
    a, b = np.random.default_rng(1).standard_normal((2, *shape))
    values = np.asfortranarray(a), b[::-1]
    results = []
    for threads in (1, 2, 17, 40, 200):
        runtime.set_threads(threads)
        results.append(f(*values))
    for result in results[1:]:
        np.testing.assert_array_equal(result[0], results[0][0])
        np.testing.assert_array_equal(result[1], results[0][1])


def test_callers_share_the_workers(own_threads):  # noqa: F811
    """Eight callers on a pool of a few workers, whose number changes meanwhile."""
    made = programs()
    runtime.set_threads(5)

    def call(number):
        rng = np.random.default_rng(number)
        for turn in range(30):
            if number == 0 and turn % 10 == 0:
                runtime.set_threads(int(rng.integers(2, 12)))
            f, values, expected = made[rng.integers(len(made))]
            np.testing.assert_array_equal(f(*values), expected)
        return 30

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(call, range(8), timeout=120)) == 240


ON_A_SMALL_STACK = """
import threading
import numpy as np
import theano, theano.tensor as T
x, y = T.dtensor3s("x", "y")
f = theano.function([x, y], [T.batched_dot(x, y), T.tanh(x * y.dimshuffle(0, 2, 1)).sum(axis=1)])
a, b, results = np.ones((8, 300, 200)), np.ones((8, 200, 300)), []
f(a, b)
threading.stack_size(65536)
thread = threading.Thread(target=lambda: results.append(f(a, b)))
thread.start()
thread.join()
assert (results[0][0] == 200).all()
"""


@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="sanitizers take more of a stack")
@pytest.mark.parametrize("threads", [1, 4])
def test_a_small_stack(threads):
    """A loop, and one that a task runs, take little of their caller's stack."""
    env = dict(os.environ, THEANO_FLAGS=f"{os.environ.get('THEANO_FLAGS', '')},threads={threads}".lstrip(","))
    subprocess.run([sys.executable, "-c", ON_A_SMALL_STACK], env=env, check=True, timeout=120)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_have_a_pool_of_their_own(own_threads):  # noqa: F811
    """Also those that are forked while other threads run loops."""
    made = programs()
    runtime.set_threads(6)
    stop = time.monotonic() + 60
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ended = []

        def call(number):
            f, values, expected = made[number]
            while not ended:
                np.testing.assert_array_equal(f(*values), expected)
            return True

        running = [pool.submit(call, n) for n in range(2)]
        try:
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    right = all((f(*values) == expected).all() for f, values, expected in made)
                    os._exit(0 if right else 1)
                while True:
                    pid, status = os.waitpid(child, os.WNOHANG)
                    if pid:
                        break
                    if time.monotonic() > stop:
                        os.kill(child, 9)
                        os.waitpid(child, 0)
                        pytest.fail("a child hangs")
                    time.sleep(0.002)
                assert status == 0
        finally:
            ended.append(True)
        assert all(r.result(timeout=60) for r in running)

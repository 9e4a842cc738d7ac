"""Ctrl-C ends a loop at once and leaves shared variables as they were."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

CHILD = """
import signal
import numpy as np
import theano
import theano.tensor as T

# A job of a shell's background ignores the signal, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
x = T.dvector("x")
m = T.dmatrix("m")
count = theano.shared(np.zeros(3), name="count")


def tiny():
    last = theano.scan(lambda v: T.tanh(0.5 * v + 0.1), outputs_info=[x], n_steps=10**9)[0][-1]
    return theano.function([x], last, updates=[(count, count + last)]), np.zeros(3)


def several_nodes():
    w = theano.shared(np.eye(3))
    last = theano.scan(lambda v: T.sort(T.tanh(T.dot(v, w)) + T.cumsum(v)), outputs_info=[x], n_steps=10**9)[0][-1]
    return theano.function([x], last, updates=[(count, count + last)]), np.zeros(3)


def big_steps():
    def step(v):
        for _ in range(20):
            v = T.dot(v, v) * 1e-3
        return v

    last = theano.scan(step, outputs_info=[m], n_steps=1000)[0][-1]
    return theano.function([m], last, updates=[(count, count + last[0, :3])]), np.ones((700, 700))


def condition():
    def step(v):
        v = T.tanh(0.5 * v + 0.1)
        return v, theano.scan_module.until(v.sum() > 1e9)

    last = theano.scan(step, outputs_info=[x], n_steps=10**9)[0][-1]
    return theano.function([x], last, updates=[(count, count + last)]), np.zeros(3)


def nested():
    def step(v):
        return theano.scan(lambda u: T.tanh(0.5 * u + 0.1) + u.sum(), outputs_info=[v], n_steps=10**8)[0][-1]

    last = theano.scan(step, outputs_info=[x], n_steps=10**8)[0][-1]
    return theano.function([x], last, updates=[(count, count + last)]), np.zeros(3)


def gradient():
    last = theano.scan(lambda v: T.tanh(T.dot(v, m) * 1e-2), outputs_info=[m], n_steps=500)[0][-1]
    slope = theano.grad(last.sum(), m)
    return theano.function([m], slope, updates=[(count, count + slope[0, :3])]), np.ones((300, 300))


def in_python():
    last = theano.scan(lambda v: T.tanh(0.5 * v + 0.1), outputs_info=[x], n_steps=10**6)[0][-1]
    mode = theano.Mode(linker="py", optimizer="fast_compile")
    return theano.function([x], last, updates=[(count, count + last)], mode=mode), np.zeros(3)


for make in (tiny, several_nodes, big_steps, condition, nested, gradient, in_python):
    call, argument = make()
    try:
        print("running", make.__name__, flush=True)
        call(argument)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", bool((count.get_value() == 0).all()), flush=True)
few = T.lscalar("few")
out = theano.scan(lambda v: 2 * v, outputs_info=[x], n_steps=few)[0][-1]
print("done", theano.function([x, few], out)(np.ones(3), 3), flush=True)
"""


def read_line(child, seconds):
    """The next line that the child prints; fails when there is none in time."""
    ready, _, _ = select.select([child.stdout], [], [], seconds)
    if not ready:
        pytest.fail(f"nothing happened in {seconds} seconds")
    return child.stdout.readline().split()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_ends_a_loop_at_once():
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True, bufsize=1)
    waited = {}
    try:
        for _ in range(7):
            word, name = read_line(child, 60)
            assert word == "running"
            time.sleep(0.2)
            start = time.perf_counter()
            child.send_signal(signal.SIGINT)
            assert read_line(child, 20) == ["interrupted", "True"], name
            waited[name] = time.perf_counter() - start
        # The process goes on as if nothing had been.
        assert read_line(child, 60) == ["done", "[8.", "8.", "8.]"]
        assert child.wait(20) == 0
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert max(waited.values()) < 5.0, waited

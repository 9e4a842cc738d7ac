"""Functions that several threads call while others change what can be changed."""

import pickle
import textwrap
import threading
import time

import numpy as np
import pytest

import theano
import theano.tensor as tt
from tests.tools import run_program
from theano.compile.profiling import ProfileStats
from theano.native.runtime_build import load_runtime

SECONDS = 0.5


def hammer(*actions, seconds=SECONDS):
    """Call each action again and again, each in a thread of its own; returns how often each was done."""
    end = time.monotonic() + seconds
    counts, errors = [0] * len(actions), []

    def act(number):
        try:
            while not counts[number] or (time.monotonic() < end and not errors):
                actions[number]()
                counts[number] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=act, args=(number,), daemon=True) for number in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    if errors:
        raise errors[0]
    return counts


def counter(size=20_000):
    """A function that is run by one thread at a time and lets others go on meanwhile."""
    state = theano.shared(np.zeros(size), "state")
    x = tt.dvector("x")
    f = theano.function([x], tt.exp(x).sum() * 0 + state[0], updates=[(state, state + 1)])
    return f, state, np.zeros(size)


def test_a_profile_set_while_threads_wait_for_the_function():
    code = textwrap.dedent(
        """
        import threading
        import numpy as np, theano, theano.tensor as tt
        from theano.compile.profiling import ProfileStats

        state, x = theano.shared(np.zeros(200_000)), tt.dvector()
        f = theano.function([x], tt.exp(x).sum(), updates=[(state, state + tt.sin(x))])
        value, stop = np.zeros(200_000), threading.Event()

        def call():
            while not stop.is_set():
                f(value)

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(300):
            f.profile = ProfileStats(atexit_print=False)
            f.profile = None
        stop.set()
        for thread in threads:
            thread.join()
        print(f(value))
        """
    )
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 200_000


@pytest.mark.parametrize(
    "change",
    [
        lambda f: setattr(f, "profile", ProfileStats(atexit_print=False)),
        lambda f: setattr(f, "profile", None),
        lambda f: setattr(f, "trust_input", not f.trust_input),
        lambda f: setattr(f, "fn", f.fn),
        lambda f: f.free(),
        lambda f: f.copy(),
        lambda f: pickle.dumps(f),
        lambda f: f.fn.program.set_profile(True) if load_runtime() else None,
        lambda f: f._fast_bind(None),
        lambda f: f._bind_fast_path(),
        lambda f: f.get_shared()[0].get_value(),
    ],
    ids=["profile", "no profile", "trust_input", "fn", "free", "copy", "pickle", "timing", "unbind", "bind", "get_value"],
)
def test_calls_while_another_thread_changes_the_function(change):
    f, state, value = counter()
    seen = []
    calls = [lambda: seen.append(float(f(value)))] * 3
    counts = hammer(*calls, lambda: change(f), seconds=0.3)
    assert state.get_value()[0] == sum(counts[:3])
    assert len(set(seen)) == len(seen), "each call sees another state"


def test_all_changes_at_once():
    f, state, value = counter()
    calls = [lambda: f(value)] * 3

    def switch_profile():
        f.profile = ProfileStats(atexit_print=False)
        f.profile = None

    counts = hammer(*calls, switch_profile, f.free, lambda: f.copy(), lambda: setattr(f, "trust_input", True), f._bind_fast_path)
    assert min(counts) > 0
    assert state.get_value()[0] == sum(counts[:3])
    assert f.profile is None
    assert load_runtime() is None or f._fast_program is f.fn.program


def test_calls_are_counted_by_the_profile_of_their_time():
    f, _, value = counter(10)
    f.profile = ProfileStats(atexit_print=False)
    counts = hammer(*[lambda: f(value)] * 4)
    assert f.profile.fct_callcount == sum(counts)


def test_a_new_program_is_what_calls_run():
    f, state, value = counter(10)
    program, calls = f.fn, []

    def counted():
        calls.append(1)
        return program()

    counted.need_update_inputs = False
    f.fn = counted
    assert f(value) == 0
    assert calls == [1]
    f.fn = program
    assert f(value) == 1
    assert calls == [1]


def test_results_take_the_form_that_is_asked_for():
    f, _, value = counter(10)
    f.unpack_single = False
    assert f(value) == [0]
    f.unpack_single = True
    assert f(value) == 1
    f.return_none = True
    assert f(value) is None


def test_values_given_in_a_list_that_changes_during_the_call():
    runtime = load_runtime()
    if runtime is None:
        pytest.skip("the native runtime is not available")
    f, state, value = counter(200_000)
    program = f.fn.program
    given = []

    def call():
        values = [np.zeros(200_000) if storage.required else None for storage in f.input_storage]
        given.append(values)
        program.call(values)

    def clear():
        while given:
            given.pop().clear()

    counts = hammer(call, call, call, clear)
    assert state.get_value()[0] == sum(counts[:3])


def test_functions_dropped_while_they_run():
    functions = [counter()[0] for _ in range(3)]

    def call():
        try:
            functions[0](np.zeros(20_000))
        except IndexError:
            time.sleep(0.001)

    threads = [threading.Thread(target=lambda: [call() for _ in range(50)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    while functions:
        time.sleep(0.01)
        functions.pop(0)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_shared_values_set_while_functions_run():
    state = theano.shared(np.zeros(20_000))
    f = theano.function([], [state[0], state[-1]], updates=[(state, state + 1)])
    found = []
    hammer(*[lambda: found.append(f())] * 3, lambda: state.set_value(np.full(20_000, 100.0)), lambda: state.get_value())
    assert all(first == last for first, last in found)

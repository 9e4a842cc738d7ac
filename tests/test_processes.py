"""Forks, signals and interrupts, in the middle of what another thread or the compiler does."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from tests.tools import run_program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")

PRELUDE = """
import gc, os, signal, sys, threading, time
import numpy as np
import theano, theano.tensor as tt

# Shells start background jobs with interrupts ignored, which their children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

def in_child(work, seconds=60):
    "Fork; the child works and ends. Fails if it does not end in time."
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert os.waitstatus_to_exitcode(status) == 0, "the child failed"
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child waits for ever")

def compile_and_run(number=0):
    x = tt.dvector()
    y = tt.exp(x * (number + 1.25)) + tt.sort(x) + tt.gammaln(x) * 0
    assert theano.function([x], [y.sum(), (x * number).sum()])(np.ones(3))[1] == 3 * number

def background(work):
    "Run in another thread, which goes on until the returned event is set."
    stop = threading.Event()
    errors = []
    def run():
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            errors.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    def end():
        stop.set()
        thread.join()
        assert not errors, errors
    return end
"""


def output_of(code, flags=None):
    """What a program that begins with the prelude prints; it must not fail."""
    done = run_program(PRELUDE + textwrap.dedent(code), flags)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_forks_while_another_thread_compiles(tmp_path):
    output_of(
        """
        numbers = iter(range(1000))
        end = background(lambda: compile_and_run(next(numbers)))
        for k in range(6):
            time.sleep(0.037 * k % 0.1)
            in_child(lambda: compile_and_run(5000 + k))
        end()
        """,
        flags=f"base_compiledir={tmp_path}",
    )


def test_forks_while_another_thread_works_on_images_sparse_matrices_and_lists(tmp_path):
    output_of(
        """
        import scipy.sparse
        from theano import sparse, typed_list
        from theano.tensor.signal.pool import pool_2d
        theano.config.threads = 2
        images, matrix = np.ones((8, 8, 34, 34)), scipy.sparse.identity(34 * 34, format="csr")
        def build(number):
            x, m = tt.dtensor4(), sparse.csr_matrix()
            maps = tt.nnet.conv2d(x, tt.ones((8, 8, 3, 3)) * number)
            parts = typed_list.make_list([maps, pool_2d(maps, (2, 2), True)])
            product = sparse.dot(m + m, x.flatten(2).reshape((34 * 34, -1)) * number)
            return theano.function([x, m], [parts[1].max(), theano.grad(maps.sum(), x)[0, 0, 5, 5], product.sum()])
        def check(f, number):
            np.testing.assert_allclose(f(images, matrix), [72 * number, 72 * number, 2 * images.size * number])
        kept = build(3)
        numbers = iter(range(1, 1000))
        def work():
            number = next(numbers)
            check(build(number), number)
            for _ in range(20):
                check(kept, 3)
        end = background(work)
        for k in range(4):
            time.sleep(0.037 * k)
            def child():
                check(kept, 3)
                check(build(5000 + k), 5000 + k)
            in_child(child)
        end()
        """,
        flags=f"base_compiledir={tmp_path}",
    )


def test_a_fork_in_the_first_compilation(tmp_path):
    output_of(
        """
        end = background(compile_and_run)
        in_child(compile_and_run)
        end()
        """,
        flags=f"base_compiledir={tmp_path}",
    )


def test_a_fork_while_another_thread_holds_every_lock():
    output_of(
        """
        from theano.process import _locks
        compile_and_run()
        state = theano.shared(0.0)
        x = tt.dscalar()
        f = theano.function([x], state + x, updates=[(state, state + x)])
        held, go = threading.Event(), threading.Event()
        def hold():
            locks = list(_locks)
            for lock in locks:
                lock.acquire()
            held.set()
            go.wait()
            for lock in locks:
                lock.release()
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        def work():
            compile_and_run(7)
            assert f(1.0) == 1.0
            assert f._slow_call(2.0) == 3.0
            with theano.config.change_flags(compute_test_value="off"):
                compile_and_run(8)
        in_child(work)
        go.set()
        thread.join()
        compile_and_run(9)
        """
    )


def test_what_the_forking_thread_holds_it_keeps():
    output_of(
        """
        from theano.gof.compilelock import get_lock, release_lock
        get_lock()
        def work():
            compile_and_run()
            release_lock()
            end = background(lambda: compile_and_run(3))
            end()
        in_child(work)
        release_lock()
        end = background(lambda: compile_and_run(4))
        end()
        """
    )


@pytest.mark.parametrize("call", ["f(value)", "f._slow_call(value)", "g(matrix)", "h(value)"])
def test_forks_while_another_thread_runs_the_function(call):
    output_of(
        f"""
        theano.config.threads = 2
        state = theano.shared(np.zeros(300_000))
        x, m = tt.dvector(), tt.dmatrix()
        f = theano.function([x], tt.exp(x).sum(), updates=[(state, state + tt.sin(x))])
        g = theano.function([m], tt.dot(m, m).sum() + tt.exp(m).sum())
        h = theano.function([x], theano.scan(lambda v, s: s + tt.exp(v), x, tt.zeros(()))[0].sum())
        value, matrix = np.ones(300_000), np.ones((300, 300))
        expected = {call}
        end = background(lambda: {call})
        for k in range(8):
            time.sleep(0.011 * k % 0.03)
            def work():
                assert {call} == expected
                assert {call} == expected
            in_child(work)
        end()
        """
    )


def test_a_child_forgets_what_other_threads_had_switched():
    output_of(
        """
        from theano.gof.graph import Variable
        from theano.gof.rewriting.base import garbage_collection_paused
        inside, go = threading.Event(), threading.Event()
        seen = []
        def other():
            Variable.append_construction_observer(seen.append)
            with garbage_collection_paused(), theano.config.change_flags(compute_test_value="raise"):
                inside.set()
                go.wait()
            Variable.remove_construction_observer(seen.append)
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait()
        assert not gc.isenabled()
        def work():
            assert gc.isenabled()
            assert theano.config.compute_test_value == "off"
            assert "compute_test_value" in vars(theano.config)
            threads = [threading.Thread(target=compile_and_run) for _ in range(3)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert not seen
        in_child(work)
        assert not gc.isenabled()
        go.set()
        thread.join()
        assert gc.isenabled()
        """
    )


def test_a_child_leaves_the_directories_of_its_parent_alone(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    output_of(
        """
        import warnings
        warnings.simplefilter("ignore")
        from theano.misc import file_cache as cache
        compile_and_run(1)
        private = cache._private[0]
        child = os.fork()
        if not child:
            compile_and_run(2)
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert os.path.isdir(private)
        compile_and_run(3)
        import shutil
        shutil.rmtree(private)
        compile_and_run(4)
        """,
        flags=f"compiledir={tmp_path}",
    )


def slow_compiler(folder):
    """A compiler that first starts something that takes long."""
    script = folder / "gcc"
    slow = f"if [ -e {folder}/slow ]; then\n  sleep 60 & echo $! >> {folder}/started\n  wait\nfi\n"
    script.write_text(f'#!/bin/sh\n{slow}exec gcc "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_an_interrupt_ends_the_compilers(tmp_path):
    code = PRELUDE + textwrap.dedent(
        f"""
        open({str(tmp_path / "slow")!r}, "w").close()
        try:
            compile_and_run()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        os.unlink({str(tmp_path / "slow")!r})
        compile_and_run(2)
        end = background(lambda: compile_and_run(3))
        end()
        assert gc.isenabled()
        print("done")
        """
    )
    env = {**os.environ, "THEANO_FLAGS": f"base_compiledir={tmp_path / 'cache'},cxx={slow_compiler(tmp_path)}"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    end = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert out.split() == ["interrupted", "done"]
    assert not any(is_running(pid) for pid in (tmp_path / "started").read_text().split())


def test_an_interrupted_call_leaves_random_state_as_it_was():
    output_of(
        """
        from theano.tensor.shared_randomstreams import RandomStreams
        stream = RandomStreams(3)
        x = tt.dvector()
        draws = stream.normal((4,))
        slow = theano.scan(lambda v, s: tt.exp(tt.log1p(s)) + v, x, tt.zeros(()))[0].sum()
        f = theano.function([x], [draws, slow + draws.sum() * 0])
        before = stream.state_updates[0][0].get_value().get_state()[1].copy()
        long = np.zeros(50_000_000)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            f(long)
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        assert interrupted, "the call was over before the signal came"
        after = stream.state_updates[0][0].get_value().get_state()[1]
        assert (before == after).all()
        """
    )


def test_functions_made_one_after_the_other_do_not_keep_their_data():
    output_of(
        """
        import weakref
        class Data(np.ndarray):
            pass
        x = tt.dvector()
        alive = []
        for k in range(80):
            w = theano.shared(np.ones(10).view(Data), borrow=True)
            alive.append(weakref.ref(w))
            f = theano.function([x], (w.sum() + x * k).sum(), mode="FAST_COMPILE")
        assert sum(ref() is not None for ref in alive) < 60
        """
    )


def test_the_collector_stays_off_where_its_threshold_is_zero():
    output_of(
        """
        from theano import process
        gc.set_threshold(0)
        begun = []
        gc.callbacks.append(lambda phase, info: begun.append(phase))
        process._unseen = 10 * process._LEFT
        with process.garbage_collection_paused():
            kept = [[] for _ in range(50_000)]
        with process.garbage_collection_paused():
            pass
        assert not begun
        """
    )


def test_finalizers_may_wait_for_threads_that_compile():
    output_of(
        """
        from theano import process
        finished = []
        class Waits:
            def __del__(self):
                thread = threading.Thread(target=compile_and_run, daemon=True)
                thread.start()
                thread.join(60)
                finished.append(not thread.is_alive())
        gc.disable()
        thing = Waits()
        thing.itself = thing
        del thing
        gc.enable()
        process._unseen = 10 * max(process._known, process._LEFT)
        with process.garbage_collection_paused():
            pass
        assert finished == [True]
        """
    )

"""Programs: storages, updates, laziness, errors, the tail, threads, memory."""

import gc
import os
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from vm_tools import cell_of, integer, make, runtime, tensor

D2, D1, D0, I0, B0 = tensor("f8", 2), tensor("f8", 1), tensor("f8", 0), tensor("i8", 0), tensor("?", 0)
OBJECT = ("object",)


def program(cells, instrs, inputs, outputs, constants=(), updates=(), tail_start=None, **kwargs):
    """Instructions without node numbers; returns the program, its input and its output storages."""
    ins, outs = [[None] for _ in inputs], [[None] for _ in outputs]
    numbered = [(*i[:4], k, i[4] if len(i) > 4 else ()) for k, i in enumerate(instrs)]
    p = runtime.Program(
        cells,
        numbered,
        len(instrs) if tail_start is None else tail_start,
        list(zip(inputs, ins, strict=True)),
        list(constants),
        list(zip(outputs, outs, strict=True)),
        list(updates),
        **kwargs,
    )
    return p, ins, outs


def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


class TestConstruction:
    def test_what_is_wrong_is_named(self):
        with pytest.raises(NotImplementedError, match="no instruction 'dance'"):
            make("dance", [D0], [D0])
        with pytest.raises(ValueError, match="cell 7"):
            runtime.Program([D0], [("view", (7,), (0,), (), 0, ())], 1, [], [], [])
        with pytest.raises(ValueError, match="bad cell"):
            runtime.Program([("tensor", 12, 99)], [], 0, [], [], [])
        with pytest.raises(ValueError, match="cannot hold dtype"):
            runtime.Program([("tensor", np.dtype("U3").num, 0)], [], 0, [], [], [])
        with pytest.raises(TypeError, match="one element"):
            runtime.Program([D0], [], 0, [(0, [])], [], [])
        with pytest.raises(TypeError):
            make("dimshuffle", [D0], [D0], ())


class TestValues:
    def test_thunk_protocol(self):
        p, (x,), (out,) = program([D2, D2], [("copy", (0,), (1,), ())], [0], [1])
        x[0] = np.ones((2, 3))
        assert p() is None
        assert_array_equal(out[0], x[0])
        assert out[0].flags.owndata and out[0].flags.writeable

    def test_call_reads_the_storage_where_no_value_is_given(self):
        p, (x,), (out,) = program([D2, D2], [("copy", (0,), (1,), ())], [0], [1])
        x[0] = np.zeros((1, 1))
        assert_array_equal(p.call([None])[0], [[0]])
        assert_array_equal(p.call([np.ones((1, 2))])[0], [[1, 1]])
        assert out[0] is None

    @pytest.mark.parametrize(
        "value", [np.ones(3), np.ones((2, 2), "float32"), np.ones((2, 2), "int64"), "text", None, [[1, 2], [3]]]
    )
    def test_values_of_other_types_are_refused(self, value):
        p, (x,), _ = program([D2, D2], [("copy", (0,), (1,), ())], [0], [1])
        x[0] = value
        with pytest.raises((TypeError, ValueError)):
            p()

    def test_unusual_layouts_are_converted(self):
        p, _, _ = program([D2, D2], [("copy", (0,), (1,), ())], [0], [1])
        x = np.arange(6.0).reshape(2, 3)
        swapped = x.astype(x.dtype.newbyteorder())
        raw = np.zeros(x.nbytes + 1, "uint8")
        unaligned = raw[1:].view("float64").reshape(2, 3)
        unaligned[...] = x
        for value in (swapped, unaligned, x[::-1, ::-1][::-1, ::-1], [[0, 1, 2], [3, 4, 5]]):
            assert_array_equal(p.call([value])[0], x)

    def test_broadcast_pattern_of_inputs(self):
        row = tensor("f8", 2, (True, False))
        p, _, _ = program([row, row], [("view", (0,), (1,), ())], [0], [1])
        assert p.call([np.ones((1, 3))])[0].shape == (1, 3)
        with pytest.raises(TypeError, match="broadcastable dimension"):
            p.call([np.ones((2, 3))])

    def test_an_alias_is_the_same_array(self):
        p, _, _ = program([D2, D2, D2], [("view", (0,), (1,), ()), ("view", (1,), (2,), ())], [0], [1, 2])
        x = np.ones((2, 2))
        a, b = p.call([x])
        assert a is x and b is x

    def test_a_view_of_an_intermediate_keeps_it_alive(self):
        instrs = [("copy", (0,), (1,), ()), ("subtensor", (1,), (2,), ((1,),), (1,))]
        p, _, _ = program([D2, D2, D1], instrs, [0], [2])
        x = np.arange(6.0).reshape(2, 3)
        first = p.call([x])[0]
        for _ in range(5):
            p.call([x + 1])
        assert_array_equal(first, [3, 4, 5])

    def test_read_only_inputs_are_copied_before_they_are_destroyed(self):
        x = np.zeros(3)
        x.flags.writeable = False
        instr = ("inc_subtensor", (0, 1), (2,), ((0,), True, True), 0, ())
        p = runtime.Program([D1, D0, D1], [instr], 0, [(0, [None], True), (1, [None])], [], [(2, [None])])
        assert_array_equal(p.call([x, np.array(1.0)])[0], [1, 0, 0])
        assert not x.any()

    def test_scalars_and_objects(self):
        p, _, _ = program(
            [D0, D0, OBJECT, OBJECT], [("view", (0,), (1,), ()), ("view", (2,), (3,), ())], [0, 2], [1, 3]
        )
        value, thing = p.call([np.array(2.5), "thing"])
        assert type(value) is np.ndarray and value.shape == () and value == 2.5
        assert thing == "thing"

    def test_constants_survive_calls_and_are_not_freed(self):
        constant = np.arange(3.0)
        p, _, _ = program([D1, D1], [("copy", (0,), (1,), (), (0,))], [], [1], constants=[(0, constant)])
        for _ in range(3):
            assert_array_equal(p.call([])[0], constant)

    def test_sizes_zero_and_scalar_views(self):
        p, _, _ = program(
            [D0, D2, D2], [("dimshuffle", (0,), (1,), ((-1, -1),)), ("copy", (1,), (2,), ())], [0], [1, 2]
        )
        a, b = p.call([np.array(3.0)])
        assert a.shape == b.shape == (1, 1) and a[0, 0] == b[0, 0] == 3


class TestUpdates:
    def test_updates_happen_after_success_only(self):
        instrs = [("copy", (0,), (2,), ()), ("subtensor", (0, 1), (3,), ((("i", 1),),))]
        p, (state, index), _ = program([D1, I0, D1, D0], instrs, [0, 1], [2, 3], updates=[(0, 0)])
        before = state[0] = np.arange(3.0)
        index[0] = integer(5)
        with pytest.raises(IndexError):
            p()
        assert state[0] is before
        index[0] = integer(1)
        p()
        assert state[0] is not before
        assert_array_equal(state[0], before)

    def test_swap(self):
        p, (a, b), _ = program([D1, D1], [], [0, 1], [0, 1], updates=[(0, 1), (1, 0)])
        a[0], b[0] = np.zeros(2), np.ones(2)
        p()
        assert_array_equal(a[0], [1, 1])
        assert_array_equal(b[0], [0, 0])

    def test_a_failing_tail_changes_nothing(self):
        add = ((("s", None, None, None),), False, True)
        instrs = [("inc_subtensor", (0, 2), (3,), add), ("inc_subtensor", (1, 2), (4,), add)]
        p, (a, b, y), _ = program(
            [D1, D1, D1, D1, D1], instrs, [0, 1, 2], [3, 4], updates=[(0, 0), (1, 1)], tail_start=0
        )
        a[0], b[0], y[0] = np.zeros(3), np.zeros(2), np.ones(3)
        first, second = a[0], b[0]
        with pytest.raises(ValueError):
            p()
        assert not first.any() and not second.any()
        b[0] = second = np.zeros(3)
        p()
        assert a[0] is first and b[0] is second
        assert_array_equal(first, [1, 1, 1])
        assert_array_equal(second, [1, 1, 1])


class TestLaziness:
    def test_only_the_branch_taken_runs(self):
        calls = []

        def branch(name, value):
            def compute(x):
                calls.append(name)
                return x + value

            return compute

        instrs = [
            ("jump_if_false", (0,), (), (4,)),
            ("call", (1,), (2,), (branch("then", 1),)),
            ("view", (2,), (4,), ()),
            ("jump", (), (), (6,)),
            ("call", (1,), (3,), (branch("else", 2),)),
            ("view", (3,), (4,), ()),
        ]
        p, _, _ = program([B0, D1, D1, D1, D1], instrs, [0, 1], [4])
        assert_array_equal(p.call([np.array(True), np.zeros(1)])[0], [1])
        assert_array_equal(p.call([np.array(False), np.zeros(1)])[0], [2])
        assert calls == ["then", "else"]

    @pytest.mark.parametrize("value, dtype", [(0, "f4"), (0.5, "f8"), (2, "i1"), (1j, "c8"), (0, "f2"), (0.25, "f2")])
    def test_truth_of_all_dtypes(self, value, dtype):
        instrs = [("jump_if_false", (0,), (), (2,)), ("view", (1,), (2,), ())]
        p, _, _ = program([tensor(dtype, 0), OBJECT, OBJECT], instrs, [0, 1], [])
        p.call([np.array(value, dtype), 1])
        assert p.node_counts() == [0, 0]
        p.set_profile(True)
        p.call([np.array(value, dtype), 1])
        assert p.node_counts() == [1, int(bool(value))]

    def test_a_value_that_was_not_computed(self):
        p, _, _ = program([D0, D0], [("jump", (), (), (2,)), ("view", (0,), (1,), ())], [0], [1])
        with pytest.raises(RuntimeError, match="before it was computed"):
            p.call([np.array(1.0)])


class TestFallback:
    def test_call_of_several_outputs(self):
        def function(x, y):
            return x + y, np.float64(x.sum())

        p, _, _ = program([D1, D1, D1, D0], [("call", (0, 1), (2, 3), (function,))], [0, 1], [2, 3])
        a, b = p.call([np.ones(2), np.ones(2)])
        assert_array_equal(a, [2, 2])
        assert b == 2 and b.dtype == "float64"

    def test_thunk(self):
        x, y, out = [None], [None], [None]

        def thunk():
            out[0] = x[0] * y[0]

        p, _, _ = program([D1, D1, D1], [("thunk", (0, 1), (2,), (thunk, (x, y), (out,)))], [0, 1], [2])
        assert_array_equal(p.call([np.full(2, 3.0), np.full(2, 2.0)])[0], [6, 6])
        assert x == y == out == [None]

    def test_storages_of_a_thunk_get_back_what_they_held(self):
        for value in (np.zeros(2), np.array(1.0)):
            state, out, seen = [value], [None], []

            def thunk(state=state, out=out, seen=seen):
                seen.append(state[0])
                out[0] = state[0] + 1

            cell = cell_of(value)
            instr = ("thunk", (0,), (1,), (thunk, (state,), (out,)), 0, ())
            p = runtime.Program([cell, cell], [instr], 1, [(0, state)], [], [(1, None)])
            assert_array_equal(p.call([None])[0], value + 1)
            assert state[0] is value and seen[0] is value
            other = np.asarray(value + 5)
            assert_array_equal(p.call([other])[0], value + 6)
            assert state[0] is value and seen[1] is other

    def test_storages_come_back_when_a_thunk_fails(self):
        x, out = [None], [None]

        def thunk():
            raise LookupError(str(x[0].sum()))

        p, _, _ = program([D1, D1], [("thunk", (0,), (1,), (thunk, (x,), (out,)))], [0], [1])
        with pytest.raises(LookupError, match="2.0"):
            p.call([np.ones(2)])
        assert x == [None] and out == [None]

    def test_output_of_a_wrong_type(self):
        p, _, _ = program([D1, D1], [("call", (0,), (1,), (lambda x: x[None],))], [0], [1])
        with pytest.raises(TypeError, match="expected 1, got 2"):
            p.call([np.ones(2)])
        p, _, _ = program([D1, D1], [("thunk", (0,), (1,), (lambda: None, ([None],), ([None],)))], [0], [1])
        with pytest.raises(TypeError, match="None"):
            p.call([np.ones(2)])

    def test_recursion(self):
        holder = []

        def again(x):
            return x if x[0] > 50 else holder[0].call([x + 1])[0]

        p, _, _ = program([D1, D1], [("call", (0,), (1,), (again,))], [0], [1], serialise=True)
        holder.append(p)
        assert_array_equal(p.call([np.zeros(2)])[0], [51, 51])

    def test_results_that_are_kept_elsewhere_stay(self):
        kept = []

        def keep(x):
            kept.append(x)
            return x

        instrs = [("copy", (0,), (1,), ()), ("call", (1,), (2,), (keep,), (1,)), ("copy", (2,), (3,), (), (2,))]
        p, _, _ = program([D1, D1, D1, D1], instrs, [0], [3])
        for i in range(4):
            p.call([np.full(2, float(i))])
        assert_array_equal(kept, [[0, 0], [1, 1], [2, 2], [3, 3]])


class TestErrors:
    def test_the_handler_gets_the_node_and_the_inputs(self):
        seen = []

        def on_error(index, kind, value, trace, inputs):
            seen.append((index, kind, inputs))
            raise RuntimeError(f"node {index}: {value}") from value

        instrs = [("copy", (0,), (2,), ()), ("subtensor", (2, 1), (3,), ((("i", 1),),))]
        p, _, _ = program([D1, I0, D1, D0], instrs, [0, 1], [3], on_error=on_error)
        with pytest.raises(RuntimeError, match="node 1: index 4 is out of bounds") as info:
            p.call([np.ones(2), integer(4)])
        assert isinstance(info.value.__cause__, IndexError)
        index, kind, inputs = seen[0]
        assert index == 1 and kind is IndexError
        assert_array_equal(inputs[0], [1, 1])
        assert inputs[1] == 4

    def test_python_errors_keep_their_traceback(self):
        def bad(x):
            raise KeyError("inside")

        def on_error(index, kind, value, trace, inputs):
            assert trace is not None
            raise value

        p, _, _ = program([D1, D1], [("call", (0,), (1,), (bad,))], [0], [1], on_error=on_error)
        with pytest.raises(KeyError, match="inside") as info:
            p.call([np.ones(1)])
        assert any(entry.name == "bad" for entry in info.traceback)

    def test_a_handler_that_returns_lets_the_error_through(self):
        p, _, _ = program([D1, D0], [("subtensor", (0,), (1,), ((3,),))], [0], [1], on_error=lambda *a: None)
        with pytest.raises(IndexError):
            p.call([np.ones(1)])

    def test_interruption(self):
        import signal

        copies = [("call", (0,), (1,), (lambda x: (time.sleep(0.01), x)[1],))] * 200
        p, _, _ = program([D1, D1], copies, [0], [1])
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        # A shell may have started the tests with the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                p.call([np.ones(1)])
            timer.join()
        finally:
            signal.signal(signal.SIGINT, before)
        assert p.call_count == 0


class TestThreads:
    def test_sixteen_threads_in_one_program(self):
        instrs = [("copy", (0,), (1,), ()), ("dot", (1, 1), (2,), (), (1,)), ("copy", (2,), (3,), (), (2,))]
        p, _, _ = program([D2, D2, D2, D2], instrs, [0], [3])
        problems = []

        def work(seed):
            x = np.random.default_rng(seed).integers(-4, 4, size=(40 + seed, 40 + seed)).astype("float64")
            expected = x @ x
            for _ in range(50):
                if not np.array_equal(p.call([x])[0], expected):
                    problems.append(seed)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not problems

    def test_updates_of_a_serialised_program_are_not_lost(self):
        def add(x):
            time.sleep(0.0001)
            return x + 1

        p, (state,), _ = program([D0, D0], [("call", (0,), (1,), (add,))], [0], [1], updates=[(0, 0)], serialise=True)
        state[0] = np.array(0.0)
        threads = [threading.Thread(target=lambda: [p() for _ in range(20)]) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert state[0] == 160

    def test_the_gil_is_released_around_long_work(self):
        n = 700
        p, _, _ = program([D2, D2], [("dot", (0, 0), (1,), ())], [0], [1])
        x = np.ones((n, n))
        p.call([x])
        done, turns = [], [0]

        def work():
            for _ in range(20):
                p.call([x])
            done.append(True)

        old = sys.getswitchinterval()
        sys.setswitchinterval(60)  # without a release the main thread would wait for the end
        try:
            t = threading.Thread(target=work)
            t.start()
            while not done and turns[0] < 10**7:
                turns[0] += 1
                time.sleep(0)
            t.join()
        finally:
            sys.setswitchinterval(old)
        assert turns[0] > 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_products_of_other_threads():
    p, _, _ = program([D2, D2], [("dot", (0, 0), (1,), ())], [0], [1])
    x, stop = np.ones((300, 300)), []

    def work():
        while not stop:
            p.call([x[:, ::-1][:, ::-1]])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(5):
            time.sleep(0.02)
            child = os.fork()
            if child == 0:
                ok = np.array_equal(p.call([x])[0], x * 300)
                os._exit(0 if ok else 1)
            deadline, done = time.monotonic() + 30, 0
            while not done and time.monotonic() < deadline:
                done, status = os.waitpid(child, os.WNOHANG)
                time.sleep(0.005)
            if not done:
                os.kill(child, 9)
                os.waitpid(child, 0)
            assert done and status == 0
    finally:
        stop.append(True)
        for t in threads:
            t.join()


class TestMemory:
    def test_outputs_give_their_block_back_and_get_it_again(self):
        p, _, _ = program([D1, D1], [("copy", (0,), (1,), ())], [0], [1])
        x = np.ones(100_000)
        a = p.call([x])[0]
        address = a.ctypes.data
        b = p.call([x])[0]
        assert b.ctypes.data != address
        del a
        c = p.call([x])[0]
        assert c.ctypes.data == address
        assert address % 64 == 0
        del b, c

    def test_a_result_can_be_resized_and_outlives_the_program(self):
        p, _, _ = program([D1, D1], [("copy", (0,), (1,), ())], [0], [1])
        a = p.call([np.arange(5.0)])[0]
        del p
        gc.collect()
        a.resize(50_000, refcheck=False)
        assert_array_equal(a[:6], [0, 1, 2, 3, 4, 0])
        assert a.base is None

    def test_trim_and_limit(self):
        limit = runtime.pool_stats()["limit"]
        p, _, _ = program([D1, D1], [("copy", (0,), (1,), ())], [0], [1])
        p.call([np.ones(300_000)])
        assert runtime.pool_stats()["retained"] >= 2_400_000
        p.free()
        assert runtime.pool_stats()["retained"] == 0
        try:
            runtime.pool_set_limit(1 << 20)
            p.call([np.ones(300_000)])
            assert runtime.pool_stats()["retained"] < 1 << 20
        finally:
            runtime.pool_set_limit(limit)

    def test_nothing_stays_in_use(self):
        gc.collect()
        before = runtime.pool_stats()["in_use"]
        instrs = [("copy", (0,), (1,), ()), ("dimshuffle", (1,), (2,), ((1, 0),)), ("copy", (2,), (3,), ())]
        p, _, _ = program([D2, D2, D2, D2], instrs, [0], [2, 3])
        out = p.call([np.ones((30, 40))])
        assert runtime.pool_stats()["in_use"] > before
        del out
        assert runtime.pool_stats()["in_use"] == before

    def test_programs_in_cycles_are_collected(self):
        class Marker:
            pass

        marker = Marker()
        p, (x,), _ = program([D1, D1], [("call", (0,), (1,), (lambda v, m=marker: v,))], [0], [1])
        x[0] = np.ones(2)
        p()
        p.me = [p]
        x.append(p)
        gone, alive = weakref.ref(marker), weakref.ref(p)
        del p, marker, x
        gc.collect()
        assert gone() is None and alive() is None

    def test_ten_thousand_calls_leak_nothing(self):
        def fail(index, kind, value, trace, inputs):
            raise kind(f"{value} {inputs[0].shape}")

        instrs = [
            ("copy", (0,), (2,), ()),
            ("dimshuffle", (2,), (3,), ((1, 0),)),
            ("dot", (3, 2), (4,), (), (2, 3)),
            ("call", (4,), (5,), (lambda v: v + 1,), (4,)),
            ("subtensor", (5, 1), (6,), ((("i", 1),),)),
        ]
        p, (x, i), _ = program([D2, I0, D2, D2, D2, D2, D1], instrs, [0, 1], [5, 6], on_error=fail)
        x[0] = np.ones((20, 30))

        def calls(n):
            for k in range(n):
                i[0] = integer(99 if k % 2 else 1)
                if k % 2:
                    with pytest.raises(IndexError):
                        p()
                else:
                    p()

        calls(1000)
        gc.collect()
        before = resident_kib()
        calls(10_000)
        gc.collect()
        assert resident_kib() - before < 1024

    def test_many_programs_leak_nothing(self):
        def build():
            for _ in range(200):
                p, _, _ = program([D2, D2], [("copy", (0,), (1,), ()), ("dot", (0, 1), (1,), ())], [0], [1])
                p.call([np.ones((3, 3))])

        build()
        gc.collect()
        before = resident_kib()
        for _ in range(10):
            build()
        gc.collect()
        assert resident_kib() - before < 1024


def test_profile():
    p, _, _ = program([D1, D1], [("copy", (0,), (1,), ())], [0], [1])
    p.call([np.ones(1000)])
    assert p.node_times() == [0.0] and p.call_count == 1
    p.set_profile(True)
    for _ in range(3):
        p.call([np.ones(1000)])
    assert p.node_counts() == [3] and p.node_times()[0] > 0 and p.call_time > 0
    p.reset_profile()
    assert p.node_counts() == [0] and p.call_count == 0
    assert p.instructions() == [("copy", 0)]


def test_a_long_program_runs_quickly():
    n = 20_000
    instrs = [("view", (k,), (k + 1,), (), (k,) if k else ()) for k in range(n)]
    p, _, _ = program([D1] * (n + 1), instrs, [0], [n])
    x = np.ones(2)
    p.call([x])
    start = time.perf_counter()
    assert p.call([x])[0] is x
    assert time.perf_counter() - start < 0.1


def test_cells_of_all_dtypes():
    for dtype in ("bool", "int8", "uint64", "float16", "complex128"):
        x = np.ones((2, 1), dtype)
        p, _, _ = program([cell_of(x), cell_of(x)], [("copy", (0,), (1,), ())], [0], [1])
        out = p.call([x])[0]
        assert out.dtype == dtype and (out == x).all()

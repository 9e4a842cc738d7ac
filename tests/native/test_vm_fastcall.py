"""FastCall: what it takes, what it leaves to the Python path, and what it costs."""

import gc
import os
import pickle
import threading
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from vm_tools import runtime, tensor

from theano.gof.engine import PythonCall
from theano.native.fastcall import FastCall


class Function(FastCall):
    def _slow_call(self, *args, **kwargs):
        return ("slow", args, kwargs)


def identity(dtype, ndim, broadcastable=None, **kwargs):
    """A function that copies its argument; slow calls return a tuple."""
    spec = tensor(dtype, ndim, broadcastable)
    p = runtime.Program([spec, spec], [("copy", (0,), (1,), (), 0, ())], 1, [(0, [None])], [], [(1, [None])])
    f = Function()
    f._fast_bind(p, (0,), 1, True, **kwargs)
    return f


def is_slow(result):
    return type(result) is tuple and result[0] == "slow"


def test_unbound_functions_take_the_slow_path():
    f = Function()
    assert f(1, 2, x=3) == ("slow", (1, 2), {"x": 3})
    assert f._fast_program is None


def test_arrays_of_the_right_type_are_taken():
    f = identity("float64", 2)
    x = np.arange(6.0).reshape(2, 3)
    for value in (x, x.T, x[:, ::-1]):
        assert_array_equal(f(value), value)


@pytest.mark.parametrize(
    "value",
    [
        np.ones(3),
        np.ones((2, 2), "float32"),
        np.ones((2, 2), ">f8"),
        np.ones((2, 2)).view(np.matrix),
        [[1.0]],
        1.0,
        None,
        np.frombuffer(b"\0" * 33, "uint8")[1:].view("float64").reshape(2, 2),
    ],
)
def test_other_arrays_are_left_to_python(value):
    assert is_slow(identity("float64", 2)(value))


def test_broadcast_patterns_are_checked():
    f = identity("float64", 2, (True, False))
    assert f(np.ones((1, 2))).shape == (1, 2)
    assert is_slow(f(np.ones((2, 2))))


@pytest.mark.parametrize(
    "dtype, values",
    [
        ("float64", [1.5, -0.0, float("inf"), 3, True, np.float64(2.5), 2**53]),
        ("float32", [1.5, 3, np.float32(0.1), float("nan"), float("-inf"), 2**24]),
        ("int8", [-128, 127, True, np.int8(5)]),
        ("uint8", [0, 255, False]),
        ("int64", [2**63 - 1, -(2**63), np.int64(7)]),
        ("uint16", [65535]),
        ("uint64", [2**63 - 1]),
        ("bool", [True, False, np.bool_(True)]),
        ("float16", [np.float16(0.5)]),
        ("complex128", [np.complex128(1 + 2j)]),
        ("complex64", [np.complex64(1 + 2j)]),
    ],
)
def test_scalars_that_fit_are_taken(dtype, values):
    f = identity(dtype, 0)
    for value in values:
        out = f(value)
        assert type(out) is np.ndarray and out.shape == () and out.dtype == dtype
        assert_array_equal(out, value)


@pytest.mark.parametrize(
    "dtype, values",
    [
        ("float64", [2**53 + 1, 2**70, 1j, "1", np.float32(1), np.array([1.0]), None]),
        ("float32", [0.1, 2**24 + 1, 1e300, np.float64(1.5)]),
        ("int8", [128, -129, 1.0, np.int64(1)]),
        ("uint8", [256, -1]),
        ("uint64", [-1]),
        ("bool", [1, 0.0]),
        ("complex128", [1.0, 1j]),
    ],
)
def test_scalars_that_need_care_are_left_to_python(dtype, values):
    f = identity(dtype, 0)
    for value in values:
        assert is_slow(f(value)), value


def test_python_floats_may_be_rounded_where_asked():
    f = identity("float32", 0, float_downcast=(True,))
    assert f(0.1) == np.float32(0.1)


def test_keywords_and_counts_are_left_to_python():
    f = identity("float64", 0)
    for args, kwargs in [((), {}), ((1.0, 2.0), {}), ((1.0,), {"y": 1}), ((), {"x": 1.0})]:
        assert f(*args, **kwargs) == ("slow", args, kwargs)
    nothing: dict = {}
    assert f(*(1.0,), **nothing) == 1.0


def test_forms_of_results():
    spec = tensor("f8", 0)
    p = runtime.Program(
        [spec, spec], [], 0, [(0, [None]), (1, [None])], [], [(0, None), (1, None), (0, None)], [(2, 1)]
    )
    f = Function()
    f._fast_bind(p, (1, 0), 2, False)
    assert f(1.0, 2.0) == [2.0, 1.0]
    f._fast_bind(p, (1, 0), 1, False)
    assert f(1.0, 2.0) == [2.0]
    f._fast_bind(p, (1, 0), 1, True)
    assert f(1.0, 2.0) == 2.0
    f._fast_bind(p, (1, 0), 0, None)
    assert f(1.0, 2.0) is None
    f._fast_bind(None)
    assert is_slow(f(1.0, 2.0))


def test_state_is_read_from_storage_and_updated():
    spec, state = tensor("f8", 1), [np.zeros(2)]
    add = ("inc_subtensor", (0, 1), (2,), ((("s", None, None, None),), False, False), 0, ())
    p = runtime.Program(
        [spec] * 3, [add], 1, [(0, state), (1, [None])], [], [(0, None), (2, None)], [(1, 0)], serialise=True
    )
    f = Function()
    f._fast_bind(p, (1,), 1, True)
    assert_array_equal(f(np.ones(2)), [0, 0])
    assert_array_equal(f(np.ones(2)), [1, 1])
    assert_array_equal(state[0], [2, 2])
    state[0] = np.ones((1, 1))
    with pytest.raises(TypeError, match="Wrong number of dimensions"):
        f(np.ones(2))


def test_errors_of_the_program_come_through():
    p = runtime.Program(
        [tensor("f8", 1), tensor("f8", 0)],
        [("subtensor", (0,), (1,), ((3,),), 0, ())],
        1,
        [(0, [None])],
        [],
        [(1, None)],
    )
    f = Function()
    f._fast_bind(p, (0,), 1, True)
    with pytest.raises(IndexError):
        f(np.ones(2))
    assert f(np.arange(4.0)) == 3


def test_inputs_that_are_destroyed_or_objects_stay_slow():
    add = ("inc_subtensor", (0,) * 2, (1,), ((("s", None, None, None),), True, True), 0, ())
    p = runtime.Program([tensor("f8", 1)] * 2, [add], 0, [(0, [None], True)], [], [(1, None)])
    f = Function()
    f._fast_bind(p, (0,), 1, True)
    assert f._fast_program is None and is_slow(f(np.ones(2)))
    p = runtime.Program([("object",)], [], 0, [(0, [None])], [], [(0, None)])
    f._fast_bind(p, (0,), 1, True)
    assert is_slow(f(np.ones(2)))


def test_bad_bindings():
    p = runtime.Program([tensor("f8", 0)], [], 0, [(0, [None])], [], [(0, None)])
    f = Function()
    for args in [(p, (1,), 1, True), (p, (0, 0), 1, True), (p, (0,), 2, True), (p, (0,), 0, True)]:
        with pytest.raises(ValueError):
            f._fast_bind(*args)
    with pytest.raises(TypeError):
        f._fast_bind("program", (0,), 1, True)
    assert f._fast_program is None


def test_subclasses_keep_attributes_weak_references_and_collection():
    f = identity("float64", 0)
    f.name = "f"
    f.me = f
    f._fast_program.owner = f
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None


def test_a_subclass_may_define_call():
    class Other(FastCall):
        def __call__(self, *args):
            return "own"

    f = Other()
    f._fast_bind(identity("float64", 0)._fast_program, (0,), 1, True)
    assert f(1.0) == "own"


def test_the_type_itself_is_called_as_subclasses_are():
    """By its vectorcall; before Python 3.12 subclasses have none."""
    f = FastCall()
    f._fast_bind(identity("float64", 0)._fast_program, (0,), 1, True)
    nothing: dict = {}
    for call in (f, f.__call__):
        assert call(1.5) == call(*(1.5,), **nothing) == 1.5
        for args, kwargs in [((), {}), ((1.0, 2.0), {}), ((1.0,), {"x": 1})]:
            with pytest.raises(NotImplementedError, match="_slow_call"):
                call(*args, **kwargs)


def test_missing_slow_call():
    with pytest.raises(NotImplementedError, match="_slow_call"):
        FastCall()(1)
    with pytest.raises(NotImplementedError):
        PythonCall()(1)


def test_the_stand_in_has_the_same_interface():
    class Plain(PythonCall):
        def _slow_call(self, *args, **kwargs):
            return args, kwargs

    f = Plain()
    f._fast_bind(None, (), 0, None)
    assert f(1, a=2) == ((1,), {"a": 2})
    assert f._fast_program is None


def test_threads():
    f = identity("float64", 1)
    bad = []

    def work(k):
        x = np.full(100, float(k))
        bad.extend(k for _ in range(300) if not np.array_equal(f(x), x))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


def test_ten_thousand_calls_leak_nothing():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024

    f = identity("float64", 2)
    x, wrong = np.ones((10, 10)), np.ones(3)

    def calls(n):
        for _ in range(n):
            f(x)
            f(wrong)
            f(wrong, key=1)

    calls(1000)
    before = resident()
    calls(10_000)
    assert resident() - before < 512


def test_arrays_that_were_returned_can_be_pickled_and_copied():
    out = identity("float64", 2)(np.ones((2, 2)))
    assert_array_equal(pickle.loads(pickle.dumps(out)), out)
    assert_array_equal(out.copy(), out)

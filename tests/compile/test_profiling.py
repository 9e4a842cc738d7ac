"""Profiles of functions."""

import io

import numpy as np
import pytest

import theano
import theano.tensor as T
from tests.tools import run_program
from theano.compile.profile_memory import MemoryUse


def summary(profile):
    text = io.StringIO()
    profile.summary(file=text)
    return text.getvalue()


def function(profile, name=None):
    x, y, z = T.dvectors("x", "y", "z")
    mode = theano.Mode(optimizer="fast_run").excluding("fusion", "inplace")
    return theano.function([x, y, z], [(x + y) * 2 + z], profile=profile, name=name, mode=mode)


@pytest.fixture
def stats():
    return theano.compile.ProfileStats(atexit_print=False, message="my message")


def test_sections(stats):
    f = function(stats)
    for _ in range(3):
        f([1.0], [2.0], [3.0])
    text = summary(stats)
    for piece in (
        "Function profiling\n==================", "Message: my message", "Time in 3 calls to Function.__call__: ",
        "Time in Function.fn.__call__", "Time in thunks", "Total compile time", "Number of Apply nodes: 3",
        "Theano Optimizer time", "Theano validate time", "Theano Linker time", "Import time",
        "Time in all call to theano.grad()", "Class\n---\n<% time> <sum %> <apply time> <time per call> <type>",
        "Ops\n---", "Apply\n---", "Elemwise{add,no_inplace}", "Elemwise{mul,no_inplace}", "(remaining 0 Apply instances",
    ):  # fmt: skip
        assert piece in text, piece


def test_counts(stats):
    f = function(stats)
    f([1.0], [2.0], [3.0])
    f([1.0], [2.0], [3.0])
    assert stats.fct_callcount == 2 and stats.nb_nodes == 3
    assert set(stats.apply_callcount.values()) == {2}
    assert sum(stats.op_nodes().values()) == sum(stats.class_nodes().values()) == 3
    assert stats.fct_call_time >= stats.vm_call_time > 0


def test_functions_may_share_a_profile(stats):
    f, g = function(stats), function(stats)
    f([1.0], [2.0], [3.0])
    g([1.0], [2.0], [3.0])
    assert f.profile is g.profile is stats and "Time in 2 calls" in summary(stats)


def test_profiles_are_off_by_default():
    assert function(None).profile is None
    assert function(False).profile is None


CODE = """
import theano, theano.tensor as T
x = T.dvector('x')
f = theano.function([x], (x ** 2).sum())
f([1.0])
g = theano.function([x], x + 1)
g([1.0])
"""


def test_the_flag_profiles_everything_and_prints_at_exit(tmp_path):
    done = run_program(CODE, "profile=True,profile_optimizer=True")
    assert done.stderr.count("Function profiling") == 3 and "Sum of all(2) printed profiles" in done.stderr
    assert "Optimizer Profile" in done.stderr and "canonicalize" in done.stderr and done.stdout == ""
    done = run_program(CODE, "profile=True,profiling.destination=stdout")
    assert "Function profiling" in done.stdout and "Function profiling" not in done.stderr
    path = tmp_path / "profile.txt"
    run_program(CODE, f"profile=True,profiling.destination={path}")
    assert "Function profiling" in path.read_text()


def test_memory_is_profiled():
    done = run_program(CODE, "profile=True,profile_memory=True,profiling.min_memory_size=0")
    assert "Memory Profile" in done.stderr and "Max peak memory" in done.stderr


def test_memory_of_nodes(stats):
    x = T.dmatrix("x")
    with theano.configparser.change_flags(profile_memory=True):
        f = theano.function([x], T.exp(T.dot(x, x.T)).sum(), profile=stats)
        value = np.ones((30, 20))
        assert f(value) == pytest.approx(900 * np.exp(20))
    sizes = {type(node.op).__name__: sum(size) for node, size in stats.outputs_size().items()}
    assert sizes["Dot22"] == 30 * 30 * 8
    assert stats.peak_memory()[1] >= 30 * 30 * 8
    # The nodes are the same as without memory, and run natively.
    assert set(stats.apply_cimpl.values()) == {True}


def test_python_ops_are_told_from_native_ones(stats):
    x = T.dvector("x")
    double = theano.compile.as_op([T.dvector], [T.dvector])(lambda v: v * 2)
    theano.function([x], T.exp(double(x)), profile=stats)([1.0])
    kinds = {type(op).__name__: kind for op, kind in stats.op_impl().items()}
    assert kinds == {"FromFunctionOp": "Py", "Elemwise": "C"}


def memory_of(x, outputs, size=8):
    fgraph = theano.gof.FunctionGraph([x], outputs, clone=False)
    return MemoryUse(fgraph.toposort(), lambda node: [size] * len(node.outputs), fgraph.outputs)


def test_memory_is_freed_after_the_last_use():
    x = T.dvector("x")
    chain = T.exp(T.tanh(T.sqrt(x)))
    use = memory_of(x, [chain])
    assert (use.peak(), use.total()) == (16, 24)
    assert use.least_peak() == (16, True)


def test_a_view_keeps_its_base():
    x = T.dmatrix("x")
    a = T.exp(x)
    use = memory_of(x, [T.tanh(T.sqrt(x)) + a.T])
    assert use.total() == 4 * 8
    # The base of the transpose lives until the sum is computed.
    assert use.peak() >= 3 * 8


class Sized(theano.Op):
    """Takes any inputs, and makes an output of so many bytes."""

    __props__ = ("size", "name")

    def __init__(self, size, name):
        self.size = size
        self.name = name

    def make_node(self, *inputs):
        return theano.gof.Apply(self, list(inputs), [T.dvector()])


def test_the_best_order_has_the_least_peak():
    x = T.dvector("x")
    # Each branch is big inside and small at its end: one after the other is best.
    branches = [Sized(1, f"end {k}")(Sized(100, f"big {k}")(x)) for k in range(6)]
    out = Sized(1, "out")(*branches)
    order = theano.gof.FunctionGraph([x], [out], clone=False).toposort()
    worst = sorted(order, key=lambda node: (node.op.name.split()[0] != "big", node.op.name == "out"))
    use = MemoryUse(worst, lambda node: [node.op.size], [out])
    assert use.peak() == 601
    assert use.least_peak() == (106, True)


def test_the_least_peak_is_printed():
    flags = "profile=True,profile_memory=True,profiling.min_peak_memory=True"
    assert "Minimum peak from all valid apply node order is" in run_program(CODE, flags).stderr


def test_the_time_to_load_libraries_is_part_of_the_linker_s():
    x = T.dvector("x")
    stats = theano.compile.ProfileStats(atexit_print=False)
    # An expression that no other test has: its kernel is not loaded yet.
    out = sum(T.exp(x * k) / (1 + T.sin(x + k)) for k in range(7)) - T.tanh(x) ** 5
    theano.function([x], out, mode=theano.Mode("cvm", "fast_run"), profile=stats)
    stream = io.StringIO()
    stats.summary(stream)
    if theano.native.linker.runs_natively():
        assert 0 < stats.import_time < stats.linker_time
    assert f"       Import time {stats.import_time:e}s" in stream.getvalue()

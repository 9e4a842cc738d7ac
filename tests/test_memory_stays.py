"""Nothing of a call stays, nor of a function that was deleted: objects and memory after many are what they were after some.

300 functions and 3,000 calls of each kind by default, 750 and 1,000,000 (200,000 of the slower two) with ``THEANO_NIGHTLY=1``.
"""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, gc, os, sys
import numpy as np
import scipy.sparse
import theano, theano.tensor as T
from theano import sparse, typed_list
from theano.ifelse import ifelse
from theano.tensor.signal.pool import pool_2d

build, many, SIZE = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
x = T.dvector()

class Twice(theano.Op):
    __props__ = ()

    def make_node(self, x):
        return theano.Apply(self, [x], [x.type()])

    def c_code(self, node, name, inputs, outputs, sub):
        (a,), (z,) = inputs, outputs
        return f'''
        Py_XDECREF({z});
        {z} = (PyArrayObject*)PyNumber_Add((PyObject*){a}, (PyObject*){a});
        if (!{z}) {{ {sub['fail']} }}
        '''

class Plus(theano.Op):
    __props__ = ("n",)

    def __init__(self, n):
        self.n = n

    def make_node(self, x):
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] + self.n

def state():
    return theano.shared(np.random.rand(SIZE))

def constants(i):
    return T.exp(x) * T.constant(np.random.rand(SIZE)) - T.sqr(T.constant(np.arange(SIZE) + i) * 11.5), []

def updates(i):
    w = state()
    cost = T.sqr(T.tanh(x * w) - 1).sum()
    return cost, [(w, w - 0.1 * T.grad(cost, w))]

def indices(i):
    w = state()
    return [w[i : i + 3], T.set_subtensor(w[: i + 1], 0).sum(), T.dot(w, w)], []

def scans(i):
    w = state()
    states, _ = theano.scan(lambda a, h: T.tanh(a + h * w[0]), sequences=x[:4], outputs_info=T.constant(np.float64(0)))
    return (T.grad(states.sum(), w) if i % 10 == 0 else states.sum()), []

def graphs(i):
    a, b = T.dvectors("ab")
    w = state()
    op = theano.OpFromGraph([a, b], [a * b * w + state()])
    return (T.grad(op(x, x).sum(), x) if i % 2 else op(x, x)), []

def c_ops(i):
    return Twice()(x) * state(), []

def python_ops(i):
    return Plus(i)(x) * state(), []

def branches(i):
    return ifelse(T.gt(x[0], 0), x * 2, x + state()), []

def streams(i):
    return T.shared_randomstreams.RandomStreams(i).normal((3,)) + state()[:3], []

def convolutions(i):
    w = state()
    images, filters = (x * w)[:10_000].reshape((1, 4, 50, 50)), w[:144].reshape((4, 4, 3, 3))
    return T.grad(T.sqr(pool_2d(T.nnet.conv2d(images, filters), (2, 2), True, mode="max")).sum(), w), []

def sparse_matrices(i):
    w = theano.shared(scipy.sparse.csr_matrix(np.random.rand(SIZE // 100, 100) + i))
    dense = sparse.dot(sparse.structured_exp(w), x[:100])
    return [dense, sparse.sp_sum(sparse.transpose(w) + sparse.csc_from_dense(x[:SIZE].reshape((100, -1))))], [(w, w * 0.5)]

def lists(i):
    parts = typed_list.make_list([x, x * 2]).append(state()).extend(typed_list.make_list([state()]))
    return [parts[i % 3].sum(), parts.count(x), typed_list.length(parts), parts.reverse()], []

def memory():
    # What the C library keeps for itself says nothing.
    for _ in range(3):
        gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as statm:
        return len(gc.get_objects()), int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

def compiled(i):
    outputs, found = globals()[build](i)
    return theano.function([x], outputs, updates=found, on_unused_input="ignore")

value = np.ones(SIZE)
function = compiled(0)

def compile_and_call(i):
    compiled(i)(value)

def call(i):
    function(value)

do = globals()[sys.argv[1]]
for i in range(many):
    do(i)
    if i == many // 3:
        before = memory()
after = memory()
print(after[0] - before[0], after[1] - before[1])
"""
NIGHTLY = bool(os.environ.get("THEANO_NIGHTLY"))
KINDS = {"constants": 1_000_000, "updates": 1_000_000, "indices": 1_000_000, "scans": 1_000_000, "graphs": 1_000_000,
         "c_ops": 1_000_000, "python_ops": 1_000_000, "branches": 1_000_000, "streams": 1_000_000, "lists": 1_000_000,
         "convolutions": 200_000, "sparse_matrices": 200_000}  # fmt: skip
"""How often a function of a kind is called in a nightly run."""


def numbers_of(program, *arguments):
    """The numbers that a program prints."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", KINDS)
def test_deleted_functions_leave_nothing(kind):
    objects, memory = numbers_of(PROGRAM, "compile_and_call", kind, "750" if NIGHTLY else "300", "100_000")
    assert objects < 100
    # One array of one of these functions takes 0.8 MB.
    assert memory < 8e6


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("kind", "calls"), KINDS.items())
def test_calls_leave_nothing(kind, calls):
    objects, memory = numbers_of(PROGRAM, "call", kind, str(calls if NIGHTLY else 3000), "10_000")
    assert objects < 10
    # Less than 500 bytes for each of the last 2,000 calls, or 1.5 (of the slow ones 7.5) for each of the last two thirds.
    assert memory < 1e6


RETAINED = """
import gc
import numpy as np
import theano, theano.tensor as T

x, w = T.dvector(), theano.shared(np.ones(1_000_000))
function = theano.function([x], (w * x).sum(), updates=[(w, w * 2)])
function(np.ones(1_000_000))
stats = theano.native.fastcall._runtime.pool_stats
kept = theano.function([x], T.exp(x) + 1)
for _ in range(3):
    kept(np.ones(1_000_000))
used = stats()["retained"]
del function, kept, w
gc.collect()
print(used, stats()["retained"])
"""


def test_the_pool_retains_nothing_for_deleted_functions():
    used, retained = numbers_of(RETAINED)
    assert used >= 8e6
    assert retained == 0


CLASSES = """
import gc, weakref
import numpy as np
import theano, theano.tensor as T

def build(i):
    class Own(theano.Op):
        __props__ = ()
        table = np.zeros(1_000_000)

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] + i

        def infer_shape(self, node, shapes):
            return shapes

        def grad(self, inputs, gradients):
            return gradients

    x = T.dvector()
    y = Own()(T.exp(x) * 2)
    function = theano.function([x], [y.shape[0] * 3, T.grad(T.log(y).sum(), x)])
    function(np.ones(3))
    return weakref.ref(Own)

classes = [build(i) for i in range(12)]
gc.collect()
print(sum(cls() is not None for cls in classes))
"""


def test_classes_of_ops_go_with_the_functions():
    assert numbers_of(CLASSES) == (0,)


UNLOADING = """
import gc, sys
import numpy as np
import theano, theano.tensor as T
from theano.native.target.cpu import compiler, printer
from theano.native.optimize import rows

compiler.libraries.loaded.most = 4
printer._printed.most = 5000
rows.kernel_memo.most = 20
x = T.dvector()
value = np.arange(3.0)

def build(i):
    return theano.function([x], T.exp(x * (i + 0.25)) * 11.5)

kept = [build(i) for i in range(3)]
for i in range(3, 23):
    build(i)(value)
gc.collect()
for i, function in enumerate(kept):
    np.testing.assert_allclose(function(value), np.exp(value * (i + 0.25)) * 11.5)
with open("/proc/self/maps") as maps:
    print(len({line.split()[-1] for line in maps if "/kernels/" in line}), len(printer._printed), len(rows.kernel_memo))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_kernels_are_unloaded_that_no_function_needs():
    loaded, printed, known = numbers_of(UNLOADING)
    assert 3 <= loaded <= 7
    assert printed < 10
    assert known < 20

"""Transfers that the runtime drives: against NumPy, and against processes that drive theirs in Python."""

import pytest

from tests.mpi import run_ranks

PRELUDE = """
import os, sys
import numpy as np
from theano.distributed import exchange

modes = sys.argv[1]
from mpi4py import MPI
exchange.NATIVE = modes[MPI.COMM_WORLD.rank] == "n"
import theano, theano.tensor as T
from theano import distributed as D
from theano.distributed import algorithms
from hypothesis import given, settings, seed
from hypothesis import strategies as st

group = D.world()
rank, size = group.rank, group.size
assert (group.exchange.native is not None) == exchange.NATIVE

def say(*words):
    # One line, at once and whole: what ranks write is mixed, and one that is ended writes nothing more.
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

everything = settings(max_examples=int(os.environ.get("THEANO_MANY", "40")), deadline=None, database=None, derandomize=True)
"""

# The examples are the same on all ranks, which have one seed.
DTYPES = PRELUDE + """
dtypes = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e-30, 3.0])

def numbers(dtype, n, who, seed):
    rng = np.random.RandomState(100 * seed + who)
    kind = np.dtype(dtype).kind
    if kind in "bui":
        return rng.randint(0, 256, n).astype(dtype)
    with np.errstate(all="ignore"):
        usual = rng.randn(n) * 10.0 ** rng.randint(-4, 4, n)
        values = np.where(rng.rand(n) < 0.3, special[rng.randint(0, len(special), n)], usual)
        return (values + 1j * values[::-1] if kind == "c" else values).astype(dtype)

def in_order(op, arrays):
    function = algorithms.COMBINE[op]
    wide = [a.astype("float32") if a.dtype == "float16" else a for a in arrays]
    with np.errstate(all="ignore"):
        total = wide[0]
        for a in wide[1:]:
            total = function(total, a)
        return total.astype(arrays[0].dtype)

def same_bits(a, b):
    if a.dtype.kind in "fc":
        # Any NaN is one; zeros have signs.
        parts = lambda x: x.view(x.real.dtype) if x.dtype.kind == "c" else x
        a, b = parts(np.ascontiguousarray(a).reshape(-1)), parts(np.ascontiguousarray(b).reshape(-1))
        return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))
    return np.array_equal(a, b)

functions = {}
for dtype in dtypes:
    for op in ("sum", "prod", "min", "max"):
        if not (dtype == "bool" and op in ("sum", "prod")) and not (dtype[0] == "c" and op in ("min", "max")):
            x = T.TensorType(dtype, (False,))()
            functions[dtype, op] = theano.function([x], D.all_reduce(x, op))

lengths = st.one_of(st.integers(0, 200), st.sampled_from([4097, 16384, 33333, 70001, 300001]))

@everything
@given(st.sampled_from(sorted(functions)), lengths, st.integers(0, 50))
def check_all_reduce(which, n, seed):
    dtype, op = which
    all_of = [numbers(dtype, n, who, seed) for who in range(size)]
    for found in (functions[which](all_of[rank]), group.all_reduce(all_of[rank], op)):
        assert found.dtype == dtype and same_bits(found, in_order(op, all_of)), which
        everywhere = group.all_gather(found.view("uint8")).reshape(size, -1)
        assert (everywhere == everywhere[0]).all()

check_all_reduce()

many = []
for dtype in ("int16", "complex64"):
    x, y, s = T.TensorType(dtype, (False, False))(), T.TensorType(dtype, (False,) * 3)(), T.TensorType(dtype, ())()
    outputs = [D.all_gather(x), D.reduce_scatter(x), D.broadcast(x, size - 1), D.reduce(x, root=0), D.all_to_all(x)]
    outputs += D.all_reduce_together([x, y, s])
    many.append(theano.function([x, y, s], outputs))

@everything
@given(st.integers(0, 1), st.integers(0, 5), st.sampled_from([0, 1, 3, 64, 5000]), st.booleans(), st.integers(0, 50))
def check_others(which, rows, columns, transposed, seed):
    dtype = ("int16", "complex64")[which]
    shape = (rows * size, columns)
    def of(who):
        rng = np.random.RandomState(seed + 100 * who)
        x = rng.randint(0, 9, shape).astype(dtype)
        if transposed:
            x = np.asfortranarray(x)
        return x, rng.randint(0, 9, (2, columns, rows)).astype(dtype), np.asarray(rng.randint(9)).astype(dtype)
    all_of = [of(who) for who in range(size)]
    x, y, s = all_of[rank]
    xs = [a[0] for a in all_of]
    here = slice(rank * rows, (rank + 1) * rows)
    expected = [np.concatenate(xs), sum(xs)[here], xs[-1], sum(xs) if rank == 0 else np.zeros_like(x),
                np.concatenate([a[here] for a in xs]), *(sum(a[i] for a in all_of) for i in range(3))]
    for number, (found, right) in enumerate(zip(many[which](x, y, s), expected)):
        assert found.dtype == dtype and found.shape == right.shape and np.array_equal(found, right), (number, shape)

check_others()

# Results outlive the call, and those of the next do not touch them.
f = functions["float64", "sum"]
kept = [(f(np.full(n, float(i + rank))), i) for i in range(5) for n in (1, 3000, 40000)]
assert all((found == size * i + size * (size - 1) / 2).all() for found, i in kept)
say("right")
"""


@pytest.mark.parametrize("modes", ["nn", "np", "nnn", "pnn", "pp"])
def test_values(modes):
    assert run_ranks(DTYPES, len(modes), modes, timeout=300).stdout.count("right") == len(modes)


ERRORS = PRELUDE + """
import threading, time
x = T.dvector()
f = theano.function([x], D.all_reduce(x, name="of a test"))
what = sys.argv[2]
assert f([1.0]).tolist() == [size]
if what == "lengths":
    # Of another length here than there, in one round and in two.
    try:
        f(np.zeros(10 + rank if len(sys.argv) < 4 else 100000 + 8 * rank))
    except D.DistributedError as error:
        assert "of a test" in str(error) and "same shape" in str(error), error
        try:
            f([1.0])
        except D.DistributedError as again:
            say("refused", "cannot be started" in str(again))
elif what == "late":
    # Who waits for long listens in Python, and goes on when it has come.
    if rank == 1:
        time.sleep(1.0)
    assert f([2.0]).tolist() == [2 * size]
    say("went on")
elif what == "interrupted":
    if rank == 0:
        import signal
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            f([2.0])
        except KeyboardInterrupt:
            say("interrupted")
    else:
        time.sleep(1.5)
        f([2.0])
    group.barrier()
elif what == "threads":
    # Another thread runs Python while this one waits.
    count = [0]
    def work():
        while not ended:
            count[0] += 1
            time.sleep(0.001)
    ended = []
    thread = threading.Thread(target=work)
    thread.start()
    if rank == 1:
        time.sleep(0.5)
    f([2.0])
    said = count[0]
    ended.append(1)
    thread.join()
    say("ran", said > 50)
elif what == "background":
    # A transfer of two rounds ends while this process computes in one long call.
    y = T.dmatrix()
    start = D.all_reduce(x)
    z = y
    for _ in range(30):
        z = T.dot(z, y)
    g = theano.function([x, y], [start, z])
    with D.trace() as events:
        for _ in range(3):
            total, _ = g(np.full(300000, rank + 1.0), np.eye(400))
    assert (total == size * (size + 1) / 2).all()
    say("hidden", events.overlap() > 0.5, [e[1] for e in events.events].count("transfer") == 3)
elif what == "undone":
    # What failed elsewhere in the function leaves a transfer that nobody waits for.
    i = T.iscalar()
    g = theano.function([x, i], [D.all_reduce(x), x[i]])
    for n in (3, 100000):
        try:
            g(np.ones(n), n + 5)
        except IndexError:
            say("undone")
    for n in (3, 100000):
        assert (f(np.ones(n)) == size).all()
    assert not group.exchange.native or group.exchange.native.active == 0
"""


@pytest.mark.parametrize("modes", ["nn", "np"])
@pytest.mark.parametrize(
    "what, said",
    [("lengths", "refused True"), ("late", "went on"), ("interrupted", "interrupted"), ("threads", "ran True"),
     ("background", "hidden True True"), ("undone", "undone")],
)  # fmt: skip
def test_long_waits_and_errors(modes, what, said):
    done = run_ranks(ERRORS, 2, modes, what, flags="distributed.timeout=20", check=what != "lengths")
    assert said in done.stdout, done.stdout + done.stderr


def test_lengths_that_differ_in_two_rounds():
    done = run_ranks(ERRORS, 2, "nn", "lengths", "long", flags="distributed.timeout=5", check=False)
    assert "refused True" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("there, here", [(262144, 524288), (500, 1000), (512, 1024)])
def test_messages_of_one_length_in_other_rounds_are_not_confused(there, here):
    # A part, or a piece, of what one gives is as long as all that the other gives.
    program = PRELUDE + f"""
x = T.dvector()
f = theano.function([x], D.all_reduce(x, name="of a test"))
try:
    f(np.ones({here} if rank else {there}))
    say("a result")
except D.DistributedError as error:
    say("refused", "of a test" in str(error))
"""
    done = run_ranks(program, 2, "nn", flags="distributed.timeout=3", check=False)
    assert "refused True" in done.stdout and "a result" not in done.stdout, done.stdout + done.stderr

"""Collectives of tensors among processes: values, gradients, shapes, their order, what is refused."""

import os
import pickle
import textwrap

import numpy as np
import pytest

import theano
import theano.tensor as T
from tests.mpi import run_ranks
from tests.tools import run_program
from theano import distributed
from theano.distributed import algorithms
from theano.gof.graph import io_toposort
from theano.gof.sched import overlap_transfers

PRELUDE = """
import numpy as np
import theano, theano.tensor as T
from theano import distributed as D
group = D.world()
rank, size = group.rank, group.size
"""

VALUES = PRELUDE + """
dtypes = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()

def numbers(dtype, shape, who):
    rng = np.random.RandomState(who + 1)
    values = rng.randint(0, 3, shape) if np.dtype(dtype).kind in "bui" else rng.randn(*shape)
    return np.asarray(values).astype(dtype)

def right(found, expected, *what):
    assert found.dtype == expected.dtype and found.shape == expected.shape, what
    assert np.array_equal(found, expected) if found.dtype.kind in "bui" else np.allclose(
        found, expected, 2e-3 if found.dtype == "float16" else 1e-6), what

for dtype in dtypes:
    x = T.TensorType(dtype, (False, False))()
    ops = [op for op in ("sum", "prod", "min", "max")
           if not (dtype == "bool" and op in ("sum", "prod")) and not (dtype[0] == "c" and op in ("min", "max"))]
    outputs = [D.all_reduce(x, op) for op in ops]
    if ops[0] == "sum":
        outputs += [D.reduce_scatter(x), D.reduce(x, root=size - 1)]
    outputs += [D.all_gather(x), D.broadcast(x, size - 1), D.all_to_all(x)]
    f = theano.function([x], outputs, mode="FAST_COMPILE")
    # The last is cut into parts, and has odd lengths.
    for shape in ((size, 1), (2 * size, 3), (0, 2), (size, 0), (size * 7, 4099)):
        if shape[1] > 100 and dtype not in ("int8", "float16", "float32", "complex128"):
            continue
        all_of = [numbers(dtype, shape, who) for who in range(size)]
        mine = all_of[rank]
        with np.errstate(all="ignore"):
            wide = np.array(all_of).astype("float32" if dtype == "float16" else dtype)
            combined = [getattr(np, op)(wide, axis=0).astype(dtype) for op in ops]
        n = shape[0] // size
        here = slice(rank * n, (rank + 1) * n)
        expected = list(combined)
        if ops[0] == "sum":
            expected += [combined[0][here], combined[0] if rank == size - 1 else np.zeros(shape, dtype)]
        expected += [np.concatenate(all_of), all_of[-1], np.concatenate([a[here] for a in all_of])]
        for data in (mine, mine.copy(order="F"), mine[:, ::-1].copy()[:, ::-1]):
            for number, (found, value) in enumerate(zip(f(data), expected)):
                right(found, value, dtype, shape, number)

# Numbers, vectors of no element, several together, of which some have one element.
s, v = T.dscalar(), T.fvector()
g = theano.function([s, v], [D.all_reduce(s), D.broadcast(s), *D.all_reduce_together([s, v, s * 2, v[:1]])], mode="FAST_COMPILE")
for n in (1, 5, 70001):
    found = g(rank + 1.0, np.full(n, rank, "float32"))
    total = size * (size + 1) / 2
    assert [float(found[i]) for i in (0, 1, 2, 4)] == [total, 1.0, total, 2 * total]
    assert found[3].tolist() == [total - size] * n and found[5].tolist() == [total - size]

# The same bits on all processes and in the second run, though sums of floats depend on their order.
x = T.dvector()
h = theano.function([x], D.all_reduce(x))
for n in (11, 100003):
    data = np.random.RandomState(rank).randn(n) * 10.0 ** np.random.RandomState(rank).randint(-8, 8, n)
    first = h(data)
    for again in (h(data), *np.split(group.all_gather(first), size)):
        assert np.array_equal(first, again)

# Rows that cannot be divided are refused before anything is sent.
for bad in (D.reduce_scatter, D.all_to_all):
    try:
        theano.function([x], bad(x), mode="FAST_COMPILE")(np.zeros(size + 1))
        raise SystemExit("no error")
    except ValueError as error:
        assert "equal part" in str(error)
assert h(np.ones(3)).tolist() == [size] * 3

# Objects; a part of the processes.
assert group.gather_objects({"rank": rank, "long": "x" * (10 * rank)}) == [
    {"rank": r, "long": "x" * (10 * r)} for r in range(size)]
halves = group.split(rank % 2, "halves")
k = theano.function([x], D.all_reduce(x, group=halves), mode="FAST_COMPILE")
assert k([float(rank)]).tolist() == [sum(r for r in range(size) if r % 2 == rank % 2)]
print("right")
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_values(ranks):
    assert run_ranks(VALUES, ranks).stdout.count("right") == ranks


GRADIENTS = PRELUDE + """
collectives = {
    "all_reduce": D.all_reduce, "max": lambda x: D.all_reduce(x, "max"), "min": lambda x: D.all_reduce(x, "min"),
    "all_gather": D.all_gather, "reduce_scatter": D.reduce_scatter, "broadcast": lambda x: D.broadcast(x, size - 1),
    "reduce": lambda x: D.reduce(x, root=size - 1), "all_to_all": D.all_to_all,
    "together": lambda x: sum(D.all_reduce_together([x, T.sqr(x)])),
}
weights = np.random.RandomState(5).randn(size, 2 * size, 3)
start = np.random.RandomState(6).randn(size, 2 * size, 3)
for name, collective in collectives.items():
    def total(everything, collective=collective):
        # Each process depends on its part of what all have, and all on everything that is given to any.
        mine = (D.all_reduce(everything) / size)[rank]
        y = T.tanh(collective(T.sin(mine)))
        return D.all_reduce((y * T.exp(y) * weights[rank].sum()).sum())
    T.verify_grad(total, [start], rng=np.random.RandomState(3), mode="FAST_COMPILE", n_tests=1)

    x, e = T.dmatrix(), T.dmatrix()
    y = collective(x)
    f = theano.function([x, e], [y, y.shape, theano.Rop(T.sin(y), x, e) if name not in ("max", "min") else y],
                        mode="FAST_COMPILE", on_unused_input="ignore")
    delta = np.random.RandomState(rank).randn(*start[0].shape)
    value, shape, rop = f(start[rank], delta)
    assert tuple(shape) == value.shape
    if name not in ("max", "min"):
        h = 1e-5
        numeric = (np.sin(f(start[rank] + h * delta, delta)[0]) - np.sin(f(start[rank] - h * delta, delta)[0])) / (2 * h)
        assert np.allclose(rop, numeric, atol=1e-7), name

# Second derivatives pass through, too.
x = T.dvector()
cost = T.sqr(T.exp(D.all_reduce(x))).sum()
second = theano.grad(theano.grad(cost, x).sum(), x)
values = theano.function([x], [D.all_reduce(x), second], mode="FAST_COMPILE")
total, found = values(np.arange(3.0) / 10 + rank / 7)
assert np.allclose(found, size**2 * 4 * np.exp(2 * total))
print("right")
"""


def test_gradients_and_r_operators():
    assert run_ranks(GRADIENTS, 2).stdout.count("right") == 2


FULL = PRELUDE + """
# With all rewrites, in place, natively; updates of shared variables.
rng = np.random.RandomState(1)
w = theano.shared(rng.randn(50, 40), "w")
x = T.dmatrix("x")
hidden = T.tanh(T.dot(x, w))
cost = T.sqr(hidden).mean()
gradient = T.grad(cost, w)
mean = D.all_reduce(gradient) / size
step = theano.function([x], [cost, D.all_reduce(cost) / size], updates=[(w, w - 0.5 * mean)])
data = np.random.RandomState(2).randn(8 * size, 50)
reference = theano.shared(w.get_value())
both = T.sqr(T.tanh(T.dot(x, reference))).mean()
alone = theano.function([x], both, updates=[(reference, reference - 0.5 * T.grad(both, reference))])
for i in range(5):
    mine, average = step(data[8 * rank:8 * rank + 8])
    assert np.isclose(average, alone(data))
assert np.allclose(w.get_value(), reference.get_value(), atol=1e-14)

# Inside of a loop, one collective after the other.
v = T.dvector()
ys, _ = theano.scan(lambda state: D.all_reduce(state) / size + rank, outputs_info=v, n_steps=4)
loop = theano.function([v], ys[-1])
state = np.array([r + 1.0 for r in range(size)])
for i in range(4):
    state = np.full(size, state.mean()) + np.arange(size)
assert np.allclose(loop([rank + 1.0]), state[rank])
print("right")
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_compiled_with_everything_else(ranks):
    assert run_ranks(FULL, ranks).stdout.count("right") == ranks


MODES = PRELUDE + """
from theano.ifelse import ifelse

x, chosen = T.dvector(), T.iscalar()
y = D.all_reduce(T.tanh(x))
gradient = theano.grad(T.sqr(y).sum(), x)
data = np.arange(3.0) + rank
expected = sum(np.tanh(np.arange(3.0) + r) for r in range(size))
# DebugMode runs each node several times, and so do all processes.
for mode in ("DebugMode", "NanGuardMode", theano.Mode(linker="py"), theano.Mode(linker="vm"), theano.Mode("cvm", None)):
    f = theano.function([x], [y, gradient, D.all_gather(x)], mode=mode)
    value, slope, rows = f(data)
    assert np.allclose(value, expected) and rows.tolist() == [i + r for r in range(size) for i in range(3)]
    assert np.allclose(slope, 2 * size * expected * (1 - np.tanh(data) ** 2))

# Only the branch that all choose.
lazy = theano.function([chosen, x], ifelse(chosen, D.all_reduce(x).sum(), T.exp(x).sum()), mode="FAST_COMPILE")
assert lazy(1, [1.0]) == size and np.isclose(lazy(0, [1.0]), np.e)

# The gradient of a loop, for a variable that all processes have.
w = theano.shared(np.full(2, 0.3))
ys, _ = theano.scan(lambda s: T.tanh(D.all_reduce(s * w) / size + 0.1 * s), outputs_info=x, n_steps=3)
cost = T.sqr(ys[-1]).sum()
loop = theano.function([x], [cost, T.grad(cost, w)], mode="FAST_COMPILE")
found = group.all_reduce(loop(data[:2])[1])

def total(value):
    w.set_value(value)
    return float(group.all_reduce(loop(data[:2])[0]))

h = 1e-6
numeric = [(total(0.3 + h * e) - total(0.3 - h * e)) / (2 * h) for e in np.eye(2)]
assert np.allclose(found, numeric, atol=1e-7)
print("right")
"""


def test_every_mode_branches_and_gradients_of_loops():
    assert run_ranks(MODES, 2).stdout.count("right") == 2


def test_mpi_begins_when_it_is_needed():
    program = """
        import sys, theano, theano.tensor as T
        from theano import distributed
        x = T.dvector()
        assert theano.function([x], distributed.all_reduce(x))([1.0]) == [1.0] and not distributed.world().rank
        assert "mpi4py" not in sys.modules
    """
    by_hand = {name: None for name in os.environ if name.startswith(("PMI", "OMPI_", "SLURM"))}
    done = run_program(textwrap.dedent(program), **by_hand)
    assert done.returncode == 0, done.stderr


def test_one_process_needs_no_mpi():
    x = T.dmatrix()
    outputs = [distributed.all_reduce(x), distributed.all_gather(x), distributed.reduce_scatter(x), distributed.all_to_all(x)]
    f = theano.function([x], [*outputs, theano.grad(outputs[0].sum(), x)])
    for value in f(np.ones((2, 3))):
        np.testing.assert_array_equal(value, np.ones((2, 3)))


def test_what_is_refused_when_the_graph_is_built():
    with pytest.raises(TypeError, match="booleans"):
        distributed.all_reduce(T.TensorType("bool", (False,))())
    with pytest.raises(TypeError, match="order"):
        distributed.all_reduce(T.zvector(), "max")
    with pytest.raises(ValueError, match="one of sum"):
        distributed.all_reduce(T.dvector(), "mean")
    with pytest.raises(ValueError, match="first axis"):
        distributed.all_gather(T.dscalar())
    with pytest.raises(ValueError, match="root"):
        distributed.broadcast(T.dvector(), root=7)
    with pytest.raises(distributed.DistributedError, match="nobody"):
        distributed.named("nobody")


def test_collectives_are_values_and_functions_with_them_can_be_pickled():
    kinds = [algorithms.AllReduce("sum"), algorithms.AllReduce("max"), algorithms.AllGather(), algorithms.AllToAll(),
             algorithms.ReduceScatter("sum"), algorithms.Broadcast(0), algorithms.Reduce("sum", 0)]  # fmt: skip
    assert len(set(kinds)) == len(kinds) and pickle.loads(pickle.dumps(kinds)) == kinds
    x = T.dvector()
    f = pickle.loads(pickle.dumps(theano.function([x], distributed.all_reduce(x) * 2)))
    assert f([1.0, 2.0]).tolist() == [2, 4]


def starts_of(order):
    return [node.op.number for node in order if getattr(node.op, "transfer", None) == "start"]


def test_all_processes_start_collectives_in_one_order():
    x = T.dvector()
    shared = T.exp(x)
    first = distributed.all_reduce(T.tanh(shared) + T.sin(x))
    second = distributed.all_reduce(shared)
    third = distributed.all_reduce(first * shared)
    fourth = distributed.all_reduce(T.sqr(x))
    numbers = [v.owner.op.number for v in (first, second, fourth, third)]
    orders = [io_toposort([x], outputs)
              for outputs in ([first, second, third, fourth], [fourth, third, second, first])]  # fmt: skip
    for order in orders:
        scheduled = overlap_transfers(order)
        # The third needs the first: it comes after those that need none.
        assert starts_of(scheduled) == numbers
        said = [getattr(node.op, "transfer", None) for node in scheduled]
        assert "wait" not in said[: said.index("start") + 2]


def test_two_groups_make_no_circle():
    pairs = distributed.Communicator(None, "pairs of a test")
    x, y = T.dvectors("x", "y")
    a2 = distributed.all_reduce(x)
    b2 = distributed.all_reduce(y, group=pairs)
    b1 = distributed.all_reduce(a2 * 2, group=pairs)
    a1 = distributed.all_reduce(b2 * 2)
    nodes = io_toposort([x, y], [a1, b1])
    order = overlap_transfers(nodes)
    assert sorted(map(id, order)) == sorted(map(id, nodes))
    place = {v: i for i, node in enumerate(order) for v in node.outputs}
    assert all(place[v] < i for i, node in enumerate(order) for v in node.inputs if v in place)


def test_neighbours_of_one_dtype_share_buckets():
    x, y, z = T.dvector(), T.fvector(), T.dvector()
    for bucket, together in ((10**6, 2), (100, 3)):
        found = distributed.all_reduce_together([x, y, z], nbytes=[80, 40, 80], bucket=bucket)
        assert [v.type for v in found] == [x.type, y.type, z.type]
        assert len({v.owner for v in found}) == together

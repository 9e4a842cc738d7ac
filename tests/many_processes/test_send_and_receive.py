"""Arrays sent and received by MPI, and when transfers start and are waited for."""

import pytest

import theano
import theano.tensor as T
from tests.mpi import run_ranks
from theano.gof.sched import overlap_transfers
from theano.tensor import io


def kinds(order):
    return [getattr(node.op, "transfer", None) or str(node.op) for node in order]


def test_starts_are_first_and_waits_last_whatever_the_linker():
    x = T.dmatrix("x")
    y = T.tanh(x)
    outputs = [T.dot(x, x), io.send(y, 1, 12), io.recv((2, 2), "float64", 1, 11) + T.dot(y, x)]
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        f = theano.function([x], outputs, mode=mode)
        order = f.maker.linker.schedule(f.maker.fgraph)
        said = kinds(order)
        assert said[0] == "start" and order[0].op.tag == 11
        # The array that is sent needs one node before it.
        assert said[2] == "start" and order[2].op.tag == 12
        waits = [i for i, kind in enumerate(said) if kind == "wait"]
        assert [order[i].op.tag for i in waits] == [11, 12]
        products = [i for i, node in enumerate(order) if "dot" in str(node.op).lower() or "gemm" in str(node.op).lower()]
        assert len(products) == 2 and all(waits[0] > i for i in products if f.maker.fgraph.outputs[2] not in order[i].outputs)


def test_what_needs_no_transfer_runs_before_the_first_wait():
    x = T.dvector("x")
    a = io.recv((3,), "float64", 1, 1)
    b = io.recv((3,), "float64", 1, 2)
    late = T.exp(a) * x
    fgraph = theano.FunctionGraph([x], [late, T.tanh(b), T.sqr(x)], clone=False)
    order = overlap_transfers(fgraph.toposort())
    said = kinds(order)
    assert said[:2] == ["start", "start"] and "wait" in said
    first = said.index("wait")
    assert order[first].op.tag == 1 and x in order[first - 1].inputs
    # What the first array is for is done while the second one comes.
    second = said.index("wait", first + 1)
    assert late.owner in order[first:second]
    assert sorted(map(str, order)) == sorted(map(str, fgraph.toposort()))


def test_a_graph_without_transfers_keeps_its_order():
    x = T.dvector("x")
    order = theano.FunctionGraph([x], [T.exp(x) + T.tanh(x)], clone=False).toposort()
    assert overlap_transfers(order) == order


def test_bad_arguments():
    with pytest.raises(TypeError, match="rank"):
        io.send(T.dvector(), 1.5, 3)
    with pytest.raises(TypeError, match="tag"):
        io.recv((3,), "float64", 0, "one")
    with pytest.raises(ValueError, match="negative"):
        io.recv((3, -1), "float64", 0, 1)


PROGRAM = """
import numpy as np
import theano, theano.tensor as T
from theano.tensor import io
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
other = 1 - rank
# Both send a lot and then receive: in another order both would wait for ever.
x = T.dmatrix("x")
big = (400, 500)
f = theano.function([x], [io.send(x * 2, other, 2), io.recv(big, "float64", other, 2) + T.dot(x, x.T).sum()])
mine = np.full(big, rank + 1.0)
_, found = f(mine)
assert np.array_equal(found, np.full(big, 2.0 * (other + 1)) + (mine @ mine.T).sum())

# Every dtype, ranks of 0 to 3 dims, no elements, strides of all kinds.
dtypes = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128"
for i, dtype in enumerate(dtypes.split()):
    for j, shape in enumerate([(), (5,), (0, 3), (2, 3, 4)]):
        v = T.TensorType(dtype, (False,) * len(shape))()
        tag = 10 * i + j + 10
        sent = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
        g = theano.function([v], [io.send(v, other, tag), io.recv(shape, dtype, other, tag)], mode="FAST_COMPILE")
        for data in (sent, sent.copy(order="F"), sent[..., ::-1] if sent.ndim else sent):
            received = g(data)[1]
            assert received.dtype == dtype and np.array_equal(received, data), (dtype, shape)

# A constant is sent by the call; what is sent may be overwritten afterwards.
s = theano.shared(np.arange(4.0))
h = theano.function([], [io.send(T.constant([1.0, 2.0]), other, 900), io.recv((2,), "float64", other, 900),
                         io.send(s, other, 901), io.recv((4,), "float64", other, 901)], updates=[(s, s + 10)])
for call in range(2):
    _, constant, _, state = h()
    assert constant.tolist() == [1, 2] and state.tolist() == (np.arange(4.0) + 10 * call).tolist()

# Other lengths than were agreed on.
for sent, expected in ((3, "24 bytes came"), (9, "more than 40 bytes")):
    k = theano.function([], [io.send(T.zeros((sent,)), other, 903), io.recv((5,), "float64", other, 903)], mode="FAST_COMPILE")
    try:
        k()
        raise SystemExit("no error")
    except ValueError as error:
        assert expected in str(error) and "agree on shape" in str(error), error
print("right")
"""


def test_two_processes():
    assert run_ranks(PROGRAM).stdout.count("right") == 2

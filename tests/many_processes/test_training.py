"""Training steps on parts of a batch: the same as on the whole, reproducible, saved and taken up; processes that differ."""

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import theano
import theano.tensor as T
from tests.mpi import launcher, run_ranks
from theano import distributed
from theano.distributed import checkpoint, streams
from theano.sandbox.rng_mrg import MRG_RandomStreams

MODEL = """
import os, sys
import numpy as np
import theano, theano.tensor as T
from theano import distributed as D
from theano.sandbox.rng_mrg import MRG_RandomStreams

group = D.world()
rank, size = group.rank, group.size
rng = np.random.RandomState(0)
X, Y = rng.randn(61, 20), rng.randint(0, 5, 61)

def model(seed=0, n_hidden=16, dropout=None, **options):
    rng = np.random.RandomState(seed)
    x, y = T.dmatrix("x"), T.lvector("y")
    w1, b1 = theano.shared(rng.randn(20, n_hidden) / 5, "w1"), theano.shared(np.zeros(n_hidden), "b1")
    w2, b2 = theano.shared(rng.randn(n_hidden, 5) / 5, "w2"), theano.shared(np.zeros(5), "b2")
    mean = theano.shared(np.zeros(n_hidden), "mean")
    hidden = T.tanh(T.dot(x, w1) + b1)
    if dropout:
        hidden = hidden * dropout.binomial(hidden.shape, p=0.5, dtype="float64")
    p = T.nnet.softmax(T.dot(hidden, w2) + b2)
    cost = T.nnet.categorical_crossentropy(p, y).mean() + 0.01 * T.sqr(w1).sum()
    right = T.eq(T.argmax(p, axis=1), y).mean()
    options.setdefault("updates", [(mean, 0.9 * mean + 0.1 * hidden.mean(axis=0))])
    return D.data_parallel([x, y], cost, [w1, b1, w2, b2], D.adam(0.05), outputs=[right], mode="FAST_COMPILE", **options)

def train(step, first, last):
    for i in range(first, last):
        rows = np.arange(i % 7, 61 - i % 4)
        result = step(*step.shard(X[rows], Y[rows]))
    return result

def keep(path, step):
    if rank == 0:
        np.savez(path, *[v.get_value() for v in step.params])
"""

SAME = MODEL + """
folder = sys.argv[1]
# Only the first process has the right values.
step = model(seed=rank, bucket=1000)
cost, right = train(step, 0, 9)
assert step.number == 9 and len(step.state) == 4 + 1 + 8 + 1
keep(f"{folder}/all-{size}.npz", step)
for v in step.state:
    assert len({a.tobytes() for a in group.gather_objects(v.get_value())}) == 1 or v.name == "mean", v
again = model(seed=rank, bucket=1000)
train(again, 0, 9)
assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(step.state, again.state))

# Three calls are one step.
parts = model(accumulate=3, updates=[])
for i in range(2):
    for rows in np.array_split(np.arange(61), 3):
        parts(*parts.shard(X[rows], Y[rows]))
assert parts.number == 2
keep(f"{folder}/parts-{size}.npz", parts)
whole = model(updates=[])
for i in range(2):
    whole(*whole.shard(X, Y))
assert all(np.allclose(a.get_value(), b.get_value(), atol=1e-12) for a, b in zip(parts.params, whole.params))

# Random streams: other numbers on each process, the same ones in a second run; saved, and taken up.
noisy = model(dropout=MRG_RandomStreams(7))
train(noisy, 0, 3)
noisy.save(f"{folder}/noisy.npz", epoch=3)
end = train(noisy, 3, 6)
other = model(seed=5, dropout=MRG_RandomStreams(9))
assert other.load(f"{folder}/noisy.npz") == {"epoch": 3} and other.number == 3
assert np.array_equal(end, train(other, 3, 6))
assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(noisy.state, other.state))
states = group.gather_objects(noisy.streams[0].get_value())
assert len({s.tobytes() for s in states}) == size
if os.path.exists(f"{folder}/before.npz"):
    # Of another number of processes.
    taken = model(dropout=MRG_RandomStreams(11))
    taken.load(f"{folder}/before.npz")
    train(taken, 3, 4)
    assert taken.number == 4
    states = group.gather_objects(taken.streams[0].get_value())
    assert len({s.tobytes() for s in states}) == size
group.barrier()
if rank == 0:
    os.replace(f"{folder}/noisy.npz", f"{folder}/before.npz")
print("right")
"""


def test_the_same_on_one_two_and_four_processes(tmp_path):
    found = {}
    for ranks in (1, 2, 4):
        program = tmp_path / "train.py"
        program.write_text(SAME)
        assert run_ranks(program, ranks, tmp_path).stdout.count("right") == ranks
        for kind in ("all", "parts"):
            with np.load(tmp_path / f"{kind}-{ranks}.npz") as file:
                found[kind, ranks] = [file[name] for name in file.files]
    for kind in ("all", "parts"):
        for ranks in (2, 4):
            for a, b in zip(found[kind, 1], found[kind, ranks]):
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


TRACED = MODEL + """
import json
x, y = T.dmatrix("x"), T.dmatrix("y")
params, h = [], x
for i in range(4):
    params.append(theano.shared(rng.randn(400, 400) / 20, f"w{i}"))
    h = T.tanh(T.dot(h, params[-1]))
step = D.data_parallel([x, y], T.sqr(h - y).mean(), params, D.sgd(0.1), bucket=1 << 20)
data = np.random.RandomState(1).randn(64, 400)
step(data, data)
with D.trace(sys.argv[1] + "/trace.json") as trace:
    for _ in range(3):
        step(data, data)
assert 0 <= trace.overlap() <= 1 and trace.seconds("step") > trace.seconds("wait") > 0
by_name = {}
for name, category, begin, end, facts in trace.events:
    assert begin <= end
    by_name.setdefault(name, {}).setdefault(category, []).append((begin, end))
names = [f"gradients {n}/4" for n in range(1, 5)]
# All are started before the first is waited for, and those of the last layers first.
for i in range(3):
    starts = [by_name[name]["start"][i][0] for name in names]
    assert starts == sorted(starts) and starts[-1] < min(by_name[name]["wait"][i][0] for name in names)
group.barrier()
with open(sys.argv[1] + "/trace.json") as file:
    events = json.load(file)["traceEvents"]
assert {e["pid"] for e in events} == {0, 1} and {"M", "X", "b", "e"} == {e["ph"] for e in events}
print("right")
"""


def test_a_trace_shows_transfers_beside_the_backward_pass(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(TRACED)
    assert run_ranks(program, 2, tmp_path).stdout.count("right") == 2


def test_the_demo_in_two_processes(tmp_path):
    launcher()
    command = [sys.executable, "-m", "theano.cli", "demo", "--ranks", "2", "--epochs", "2"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "COLUMNS": "150",
           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # The first process alone prints; in colours where the launcher gives it a terminal.
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout)
    assert said.count("by 2 processes") == said.count("test accuracy") == 1
    assert all(float(share) > 50 for share in re.findall(r"([0-9.]+)%", said))


DIFFERENT = MODEL + """
def says(text, build):
    try:
        build()
    except D.DistributedError as error:
        assert text in str(error), error
        return
    raise SystemExit(f"no error of {text}")

says("parameter 0, w1: rank 0 has ((20, 16), 'float64'), rank 1 has ((20, 17), 'float64')", lambda: model(n_hidden=16 + rank))
says("seed of random stream 0", lambda: model(dropout=MRG_RandomStreams(5 + rank)))
says("number of calls of a step", lambda: model(accumulate=1 + rank))
says("facts", lambda: model(dropout=MRG_RandomStreams(5) if rank else None))
x, w = T.dmatrix(), theano.shared(np.zeros(3), "w")
y = T.dot(x, w)
says("graph of the step", lambda: D.data_parallel([x], T.sqr(y).mean() if rank else T.exp(y).mean(), [w], D.sgd(0.1)))

# A checkpoint that is not there, or another model's; a disk that is full.
step = model()
says("FileNotFoundError", lambda: step.load(sys.argv[1] + "/none.npz"))
step.save(sys.argv[1] + "/state.npz")
says("variable 0, w1, is float64 of shape (20, 16) there, float64 of shape (20, 3) here",
     lambda: model(n_hidden=3).load(sys.argv[1] + "/state.npz"))
before = open(sys.argv[1] + "/state.npz", "rb").read()
if rank == 0:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
train(step, 0, 2)
try:
    step.save(sys.argv[1] + "/state.npz")
    raise SystemExit("no error")
except OSError as error:
    assert "the one before is whole" in str(error), error
assert open(sys.argv[1] + "/state.npz", "rb").read() == before
group.barrier()
assert os.listdir(sys.argv[1]) == ["state.npz"]
step.load(sys.argv[1] + "/state.npz")
assert step.number == 0
train(step, 0, 1)
print("right")
"""


def test_processes_that_differ_and_files_that_cannot_be_used(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DIFFERENT)
    folder = tmp_path / "kept"
    folder.mkdir()
    assert run_ranks(program, 2, folder).stdout.count("right") == 2


def test_arguments_are_checked():
    x, w = T.dmatrix(), theano.shared(np.zeros(3), "w")
    cost = T.dot(x, w).mean()
    sgd = distributed.sgd(0.1)
    with pytest.raises(ValueError, match="no parameters"):
        distributed.data_parallel([x], cost, [], sgd)
    with pytest.raises(TypeError, match="shared"):
        distributed.data_parallel([x], cost, [x], sgd)
    with pytest.raises(TypeError, match="scalar"):
        distributed.data_parallel([x], T.dot(x, w), [w], sgd)
    with pytest.raises(ValueError, match="accumulate"):
        distributed.data_parallel([x], cost, [w], sgd, accumulate=0)
    with pytest.raises(ValueError, match="rows"):
        distributed.data_parallel([], T.sqr(w).mean(), [w], sgd)
    step = distributed.data_parallel([x], cost, [w], sgd)
    with pytest.raises(ValueError, match="same number of rows"):
        step.shard(np.zeros((3, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="divided"):
        step.shard(np.zeros((0, 3)))


def test_streams_of_processes_do_not_meet():
    x = T.dvector()
    sample = MRG_RandomStreams(3).uniform((4,), nstreams=4)
    other = T.shared_randomstreams.RandomStreams(3).uniform((4,))
    mrg, mt = streams.states_of([sample + other + x])
    states = [streams.state_for(mrg.get_value(), rank) for rank in range(3)]
    together = MRG_RandomStreams(3).get_substream_rstates(12, "float64")
    np.testing.assert_array_equal(np.concatenate(states), together)
    draws = [streams.state_for(mt.get_value(), rank).uniform(size=100) for rank in range(3)]
    np.testing.assert_array_equal(draws[0], mt.get_value().uniform(size=100))
    assert len(set(np.concatenate(draws))) == 300
    assert len({streams.fingerprint(streams.state_for(mt.get_value(), rank)) for rank in range(3)}) == 3


def test_a_checkpoint_is_the_new_one_or_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "state.npz"
    checkpoint.write_checkpoint(path, {"a": np.arange(5)}, {"epoch": 1})

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as m:
            m.setattr(checkpoint.os, name, full)
            with pytest.raises(OSError, match="No space"):
                checkpoint.write_checkpoint(path, {"a": np.arange(6)}, {"epoch": 2})
        assert [p.name for p in tmp_path.iterdir()] == ["state.npz"]
        arrays, facts = checkpoint.read_checkpoint(path)
        assert arrays["a"].tolist() == [0, 1, 2, 3, 4] and facts == {"epoch": 1}
    np.savez(path, x=1)
    with pytest.raises(ValueError, match="not a checkpoint"):
        checkpoint.read_checkpoint(path)


@pytest.mark.parametrize("optimizer", [distributed.sgd(0.1), distributed.momentum(0.05, 0.9), distributed.adam(0.1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_optimizers_reach_the_minimum(optimizer, dtype):
    x = T.matrix(dtype=dtype)
    w = theano.shared(np.zeros(3, dtype), "w")
    step = distributed.data_parallel([x], T.sqr(T.dot(x, w) - x[:, 0]).mean(), [w], optimizer, mode="FAST_COMPILE")
    data = np.random.RandomState(0).randn(30, 3).astype(dtype)
    for _ in range(200):
        step(data)
    np.testing.assert_allclose(w.get_value(), [1, 0, 0], atol=1e-2)
    assert all(v.type.dtype in (dtype, "int64") for v in step.state)


def test_a_call_that_fails_is_none_of_those_that_are_added_up():
    x = T.dmatrix("x")
    w = theano.shared(np.ones(2), name="w")
    step = distributed.data_parallel([x], T.sqr(T.dot(x, w)).mean(), [w], distributed.sgd(0.5), accumulate=2)
    step(np.eye(2))
    with pytest.raises(ValueError, match="shape"):
        step(np.ones((2, 3)))
    np.testing.assert_array_equal(w.get_value(), [1, 1])
    step(np.eye(2))
    np.testing.assert_allclose(w.get_value(), [0.5, 0.5])
    assert step.number == 1

"""Compiled functions on Dask and Ray: loaded once a process, blocks of rows, actors with state, a search, batch inference."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.distributed import Sent, map_blocks, ray_actor, workers
from theano.distributed.workers import Model


@pytest.fixture(scope="module")
def score():
    x = T.dmatrix("x")
    w = theano.shared(np.arange(6.0).reshape(3, 2), "w")
    return theano.function([x], T.tanh(T.dot(x, w)), name="score")


@pytest.fixture
def da(monkeypatch):
    """``dask.array``, which imports a package `sparse` if there is one: the folder of our tests is none."""
    tests = Path(__file__).resolve().parent.parent
    monkeypatch.setattr(sys, "path", [p for p in sys.path if Path(p).resolve() != tests])
    return pytest.importorskip("dask.array")


ROWS = np.random.RandomState(0).randn(103, 3)
EXPECTED = np.tanh(ROWS @ np.arange(6.0).reshape(3, 2))


def counter():
    w, x = theano.shared(np.zeros(2), "w"), T.dvector("x")
    return {"add": theano.function([x], w.sum(), updates=[(w, w + x)]), "look": theano.function([], w * 1)}


def regression():
    """A step of gradient descent whose rate is an argument, and the error: what a search tries."""
    x, y, rate = T.dmatrix("x"), T.dvector("y"), T.dscalar("rate")
    w = theano.shared(np.zeros(3), "w")
    cost = T.sqr(T.dot(x, w) - y).mean()
    return theano.function([x, y, rate], cost, updates=[(w, w - rate * T.grad(cost, w))]), w


def trial():
    """From a rate to the error after some steps from the start; a worker gets all that it needs as a pickle."""
    step, w = regression()
    start, rows, target = w.get_value(), ROWS, ROWS @ [1.0, -2.0, 0.5]

    def run(rate):
        w.set_value(start)
        return [float(step(rows, target, rate)) for _ in range(20)][-1]

    return run


RATES = [0.001, 0.05, 0.3, 2.0]


def test_a_process_loads_a_function_once(score):
    sent = pickle.loads(pickle.dumps(Sent(score)))
    assert sent.load() is Sent(score).load() is sent.load()
    np.testing.assert_allclose(sent(ROWS), EXPECTED)
    assert len(pickle.dumps(sent)) < 20_000 and "bytes" in repr(sent)
    for i in range(workers.KEPT + 3):
        assert Sent((len, i)).load() == (len, i)
    assert len(workers._loaded) == workers.KEPT


def test_loading_neither_rewrites_nor_compiles(score, monkeypatch):
    from theano.gof.rewriting.stages import optdb
    from theano.native.target.cpu import compiler

    text = pickle.dumps(score)

    def never(*args, **kwargs):
        raise AssertionError("nothing is to be rewritten or compiled")

    monkeypatch.setattr(compiler, "compile_sources", never)
    monkeypatch.setattr(type(optdb), "query", never)
    np.testing.assert_allclose(pickle.loads(text)(ROWS), EXPECTED)


def test_models_share_what_their_functions_share():
    model = pickle.loads(pickle.dumps(Model(counter())))
    model.call("add", [1.0, 2.0])
    assert model.call("look").tolist() == [1, 2] and model.get_values()["w"].tolist() == [1, 2]
    with pytest.raises(KeyError, match="there are w"):
        model.set_values({"w": np.ones(2), "v": 1})
    assert model.call("look").tolist() == [1, 2]
    model.set_values({"w": np.ones(2)})
    assert model.call("add", [0.0, 0.0]) == 2


def test_blocks_of_dask_arrays(score, da):
    x = da.from_array(ROWS, chunks=(20, 2))
    found = map_blocks(score, x)
    assert found.shape == (103, 2) and found.dtype == "float64" and found.numblocks == (6, 1)
    np.testing.assert_allclose(found.compute(scheduler="threads"), EXPECTED)
    a, b = T.dmatrix(), T.fvector()
    both = theano.function([a, b], T.cast(a.sum(axis=1) * b, "float32").dimshuffle(0, "x", "x"))
    weights = np.arange(103, dtype="float32")
    found = map_blocks(both, x, da.from_array(weights, chunks=50))
    assert found.shape == (103, 1, 1) and found.dtype == "float32"
    np.testing.assert_allclose(found.compute(scheduler="threads")[:, 0, 0], ROWS.sum(axis=1) * weights, rtol=1e-5)
    with pytest.raises(ValueError, match="as many rows as"):
        map_blocks(theano.function([a], a.sum()), x)
    with pytest.raises(ValueError, match="one output"):
        map_blocks(theano.function([a], [a, a]), x)
    with pytest.raises(ValueError, match="at least one"):
        map_blocks(score)


def test_a_dask_cluster_of_two_workers(score, da):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        np.testing.assert_allclose(map_blocks(score, da.from_array(ROWS, chunks=(20, 3))).compute(), EXPECTED)
        errors = client.gather(client.map(Sent(trial()), RATES, pure=False))
    assert int(np.argmin(errors)) == 2 and np.isfinite(errors[:3]).all()


def test_ray_actors_and_a_search():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        actors = [ray_actor(counter()) for _ in range(2)]
        for i, actor in enumerate(actors):
            for _ in range(3):
                ray.get(actor.call.remote("add", np.array([1.0, i])))
        assert [ray.get(a.call.remote("look")).tolist() for a in actors] == [[3, 0], [3, 3]]
        ray.get(actors[0].set_values.remote(ray.get(actors[1].get_values.remote())))
        assert ray.get(actors[0].call.remote("look")).tolist() == [3, 3]
        for actor in actors:
            ray.kill(actor)
        sent = ray.put(Sent(trial()))
        run = ray.remote(num_cpus=1)(lambda sent, rate: sent(rate))
        errors = ray.get([run.remote(sent, rate) for rate in RATES])
        assert int(np.argmin(errors)) == 2
    finally:
        ray.shutdown()

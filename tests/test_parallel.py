"""Compiled functions in the workers of multiprocessing, joblib, dask and ray: sent to processes, and shared by threads."""

import concurrent.futures
import multiprocessing

import numpy as np
import pytest

import theano
import theano.tensor as T

POINTS = [np.array([float(i), 1.0]) for i in range(6)]


@pytest.fixture(scope="module")
def f():
    x = T.dvector("x")
    w = theano.shared(np.array([2.0, 3.0]), "w")
    return theano.function([x], T.dot(T.exp(-x), w), name="weigh")


@pytest.fixture(scope="module")
def expected(f):
    return [float(np.exp(-x) @ [2.0, 3.0]) for x in POINTS]


def test_multiprocessing(f, expected):
    # Spawned workers get the function as a pickle.
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        np.testing.assert_allclose(pool.map(f, POINTS), expected)


def test_threads(f, expected):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        np.testing.assert_allclose(list(pool.map(f, POINTS * 20)), expected * 20)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(f, expected, backend):
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(f)(x) for x in POINTS)
    np.testing.assert_allclose(found, expected)


def test_joblib_keeps_results(f, tmp_path):
    joblib = pytest.importorskip("joblib")
    path = tmp_path / "weigh.joblib"
    joblib.dump(f, path)
    np.testing.assert_allclose(joblib.load(path)(POINTS[1]), f(POINTS[1]))


@pytest.mark.parametrize("scheduler", ["processes", "threads"])
def test_dask(f, expected, scheduler):
    dask = pytest.importorskip("dask")
    tasks = [dask.delayed(f)(x) for x in POINTS]
    np.testing.assert_allclose(dask.compute(*tasks, scheduler=scheduler, num_workers=2), expected)


def test_ray(f, expected):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        weigh = ray.remote(num_cpus=1)(lambda function, x: float(function(x)))
        sent = ray.put(f)
        np.testing.assert_allclose(ray.get([weigh.remote(sent, x) for x in POINTS]), expected)
    finally:
        ray.shutdown()

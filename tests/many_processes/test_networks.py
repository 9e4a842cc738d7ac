"""Processes on hosts of their own, network namespaces, whose link is cut while they train."""

import os
import re
import subprocess
import sys
import time

import pytest

from benchmarks.hosts import Hosts, why_not
from tests.mpi import launcher

PROGRAM = """
import sys, time
import numpy as np
import theano, theano.tensor as T
from theano import distributed as D

length, seconds = int(sys.argv[1]), float(sys.argv[2])
group = D.world()
x, w = T.dmatrix("x"), theano.shared(np.zeros((length, 20)), "w")
step = D.data_parallel([x], T.sqr(T.dot(x, w) - 1).mean(), [w], D.sgd(0.01), mode="FAST_COMPILE")
data = np.random.RandomState(0).randn(8, length)
begin, last, longest = time.monotonic(), time.monotonic(), 0.0
try:
    ended = False
    while not ended:
        before, number = w.get_value(), step.number
        step(*step.shard(data))
        if step.number == 1 and group.rank == 0:
            print("trains", flush=True)
        longest = max(longest, time.monotonic() - last)
        last = time.monotonic()
        # All stop after the same step.
        ended = bool(group.all_reduce(np.array(last - begin > seconds), "max"))
except D.DistributedError as error:
    # The step is not half done, or all of it is, and it was not heard that others go on.
    assert np.array_equal(w.get_value(), before) == (step.number == number)
    print(f"rank {group.rank} ended after {time.monotonic() - last:.1f} s", flush=True)
    raise
print(f"rank {group.rank} trained, waited {longest:.1f} s", flush=True)
"""


def start(hosts, mpiexec, *args, timeout):
    env = {**os.environ, **hosts.environment, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
    env["THEANO_FLAGS"] = ",".join(f for f in (env.get("THEANO_FLAGS"), f"distributed.timeout={timeout}") if f)
    command = hosts.command(mpiexec, 2, [sys.executable, "-c", PROGRAM, *args])
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    while "trains" not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    return process


@pytest.fixture(scope="module")
def mpiexec():
    found = launcher()[0]
    missing = why_not(found)
    if missing is not None:
        pytest.skip(missing)
    return found


@pytest.mark.parametrize("length", [30, 20000])
def test_a_link_that_is_cut_ends_all_within_the_timeout(mpiexec, length):
    with Hosts(2) as hosts:
        process = start(hosts, mpiexec, length, 1000, timeout=5)
        time.sleep(1)
        hosts.join(1, False)
        begin = time.monotonic()
        said, _ = process.communicate(timeout=60)
        assert process.returncode != 0 and time.monotonic() - begin < 30, said
        times = [float(t) for t in re.findall(r"rank \d ended after ([\d.]+) s", said)]
        assert times and all(4 < t < 12 for t in times), said


def test_a_link_that_is_mended_before_the_timeout(mpiexec):
    with Hosts(2, mbits=200) as hosts:
        process = start(hosts, mpiexec, 3000, 8, timeout=40)
        time.sleep(1)
        hosts.join(1, False)
        time.sleep(2)
        hosts.join(1)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said
        waited = [float(t) for t in re.findall(r"rank \d trained, waited ([\d.]+) s", said)]
        assert len(waited) == 2 and max(waited) > 1.5, said

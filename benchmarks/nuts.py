"""``python -m benchmarks.nuts [--original PYTHON]``: Bayesian logistic regression, drawn by the No-U-Turn sampler.

Each run is a process of its own that imports, compiles and draws, first with an empty cache, then with a full one. PYTHON is
an interpreter that has Theano 1.0.5 (see `benchmarks.original`), which runs the same program with the same random numbers.
With ``--pymc3 PYTHON``, an interpreter that has PyMC3 3.8, pandas, patsy, tqdm and h5py, the sampler is PyMC3's; so it must then
be for the original.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from benchmarks.original import FLAGS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = """
import time
start = time.perf_counter()
import json
import numpy as np
import theano
import theano.tensor as T
imported = time.perf_counter()

rng = np.random.RandomState(5)
data = np.column_stack([np.ones(500), rng.randn(500, 9)])
truth = rng.randn(10)
labels = (rng.rand(500) < 1 / (1 + np.exp(-data.dot(truth)))).astype("float64")
q, p, eps = T.dvector("q"), T.dvector("p"), T.dscalar("eps")

def log_posterior(q):
    z = T.dot(data, q)
    return (labels * z - T.nnet.softplus(z)).sum() - T.sqr(q).sum() / 50

middle = p + 0.5 * eps * T.grad(log_posterior(q), q)
new_q = q + eps * middle
new_p = middle + 0.5 * eps * T.grad(log_posterior(new_q), new_q)
leapfrog = theano.function([q, p, eps], [new_q, new_p, log_posterior(new_q) - 0.5 * T.sqr(new_p).sum()])
joint = theano.function([q, p], log_posterior(q) - 0.5 * T.sqr(p).sum())
leapfrog(np.zeros(10), np.ones(10), 0.1)
joint(np.zeros(10), np.ones(10))
compiled = time.perf_counter()

steps = 0

def turned(q0, q1, p0, p1):
    return np.dot(q1 - q0, p0) < 0 or np.dot(q1 - q0, p1) < 0

def tree(q, p, log_u, way, depth, eps):
    global steps
    if depth == 0:
        steps += 1
        q, p, value = leapfrog(q, p, way * eps)
        return q, p, q, p, q, int(log_u <= value), log_u < value + 1000
    q0, p0, q1, p1, chosen, count, going = tree(q, p, log_u, way, depth - 1, eps)
    if going:
        if way < 0:
            q0, p0, _, _, other, more, going = tree(q0, p0, log_u, way, depth - 1, eps)
        else:
            _, _, q1, p1, other, more, going = tree(q1, p1, log_u, way, depth - 1, eps)
        if rng.rand() * (count + more) < more:
            chosen = other
        count += more
        going = going and not turned(q0, q1, p0, p1)
    return q0, p0, q1, p1, chosen, count, going

q = np.zeros(10)
draws = []
for _ in range(800):
    p = rng.randn(10)
    log_u = joint(q, p) - rng.exponential()
    q0, p0, q1, p1, count, going, depth = q, p, q, p, 1, True, 0
    while going and depth < 8:
        way = 1 if rng.rand() < 0.5 else -1
        if way < 0:
            q0, p0, _, _, other, more, going = tree(q0, p0, log_u, way, depth, 0.1)
        else:
            _, _, q1, p1, other, more, going = tree(q1, p1, log_u, way, depth, 0.1)
        if going and rng.rand() * count < more:
            q = other
        count += more
        going = going and not turned(q0, q1, p0, p1)
        depth += 1
    draws.append(q)
drawn = time.perf_counter()
print(json.dumps(dict(
    version=theano.__version__, imported=imported - start, compiled=compiled - imported, drawn=drawn - compiled, steps=steps,
    mean=[round(float(value), 4) for value in np.mean(draws, axis=0)[:3]])))
"""

#: The model in PyMC3 3.8, which uses names that NumPy and Python have dropped. ArviZ only draws.
PYMC3 = """
import time
start = time.perf_counter()
import inspect, json, logging, sys, types, warnings
import numpy as np
import numpy.testing

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
gone = dict(float=float, int=int, bool=bool, object=object, complex=complex, str=str, asscalar=lambda a: a.item())
for name, value in gone.items():
    if name not in vars(np):
        setattr(np, name, value)
if not hasattr(np.testing, "Tester"):
    np.testing.Tester = lambda *args, **kwargs: types.SimpleNamespace(test=None)
inspect.getargspec = getattr(inspect, "getargspec", inspect.getfullargspec)

class Plots(types.ModuleType):
    __all__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Plots(name)

sys.modules["arviz"] = Plots("arviz")
import theano
import pymc3
imported = time.perf_counter()

rng = np.random.RandomState(5)
data = np.column_stack([np.ones(500), rng.randn(500, 9)])
labels = (rng.rand(500) < 1 / (1 + np.exp(-data.dot(rng.randn(10))))).astype("int64")
with pymc3.Model():
    w = pymc3.Normal("w", 0.0, 5.0, shape=10)
    pymc3.Bernoulli("y", logit_p=theano.tensor.dot(data, w), observed=labels)
    step = pymc3.NUTS()
    compiled = time.perf_counter()
    trace = pymc3.sample(
        500, tune=300, step=step, chains=1, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False)
drawn = time.perf_counter()
print(json.dumps(dict(
    version=theano.__version__, imported=imported - start, compiled=compiled - imported, drawn=drawn - compiled,
    steps=int(trace["tree_size"].sum()), mean=[round(float(value), 4) for value in trace["w"].mean(0)[:3]])))
"""


def run(python: str, cache: str, original: bool, program: str) -> dict:
    """Run the program once, and return what it measured."""
    flags = f"base_compiledir={cache}" + (f",{FLAGS},floatX=float64" if original else "")
    env = {**os.environ, "THEANO_FLAGS": flags, "PYTHONPATH": "" if original else str(ROOT)}
    # Not here: a program finds the modules of its folder first.
    done = subprocess.run([python, "-c", program], cwd=cache, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m benchmarks.nuts", description=__doc__)
    ask.add_argument("--original", metavar="PYTHON", help="an interpreter that has Theano 1.0.5")
    ask.add_argument("--only-original", action="store_true", help="leave out this one")
    ask.add_argument("--runs", type=int, default=5, help="runs with a full cache; the best counts (default: %(default)s)")
    ask.add_argument("--pymc3", metavar="PYTHON", help="an interpreter that has PyMC3 3.8, whose sampler draws")
    args = ask.parse_args()
    program = PYMC3 if args.pymc3 else PROGRAM
    contenders = [("Theano 2", args.pymc3 or sys.executable, False)] * (not args.only_original)
    contenders += [("Theano 1.0.5", args.original, True)] * bool(args.original)
    print("| | import | compile, empty cache | compile, full cache | 800 draws | steps | first means |")
    print("|---|---|---|---|---|---|---|")
    for name, python, original in contenders:
        with tempfile.TemporaryDirectory() as cache:
            first = run(python, cache, original, program)
            later = [run(python, cache, original, program) for _ in range(args.runs)]
        best = {key: min(found[key] for found in later) for key in ("imported", "compiled", "drawn")}
        times = f"{best['imported']:.2f} s | {first['compiled']:.2f} s | {best['compiled']:.3f} s | {best['drawn']:.2f} s"
        print(f"| {name} | {times} | {first['steps']} | {first['mean']} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())

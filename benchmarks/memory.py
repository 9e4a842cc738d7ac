"""Peak memory of training steps in a fresh process, against PyTorch: an MLP with 50 layers, a ResNet-20 on 32 images.

``python -m benchmarks.memory LIBRARY [MODEL]`` prints the mebibytes that a few steps need beyond parameters and data.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import networks
from benchmarks.harness import importable

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS, WIDTH, BATCH, CLASSES = 50, 256, 4096, 10
RATE = 0.01
STEPS = 3


def data() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    rng = np.random.RandomState(0)
    sizes = [WIDTH] * (LAYERS + 1) + [CLASSES]
    params = []
    for rows_, columns in zip(sizes[:-1], sizes[1:], strict=True):
        params += [(rng.randn(rows_, columns) / np.sqrt(rows_)).astype("float32"), np.zeros(columns, "float32")]
    return rng.randn(BATCH, WIDTH).astype("float32"), rng.randint(0, CLASSES, BATCH), params


def theano_step(start: list[np.ndarray]) -> Callable[..., Any]:
    import theano
    import theano.tensor as T

    params = [theano.shared(p, borrow=True) for p in start]
    x, y = T.fmatrix(), T.lvector()
    h = x
    for w, b in zip(params[:-2:2], params[1:-2:2], strict=True):
        h = T.tanh(T.dot(h, w) + b)
    p_y = T.nnet.softmax(T.dot(h, params[-2]) + params[-1])
    cost = T.nnet.categorical_crossentropy(p_y, y).mean()
    updates = [(p, p - np.float32(RATE) * g) for p, g in zip(params, theano.grad(cost, params), strict=True)]
    return theano.function([x, y], cost, updates=updates)


def torch_step(start: list[np.ndarray]) -> Callable[..., Any]:
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    params = [torch.from_numpy(p).requires_grad_() for p in start]

    def step(x: np.ndarray, y: np.ndarray) -> float:
        h = torch.from_numpy(x)
        for w, b in zip(params[:-2:2], params[1:-2:2], strict=True):
            h = torch.tanh(torch.addmm(b, h, w))
        cost = torch.nn.functional.cross_entropy(torch.addmm(params[-1], h, params[-2]), torch.from_numpy(y))
        cost.backward()
        with torch.no_grad():
            for p in params:
                p.sub_(p.grad, alpha=RATE)
                p.grad = None
        return float(cost)

    return step


def _status(field: str) -> int:
    """A line of /proc/self/status in KiB."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise LookupError(field)


def resnet_step(library: str, start: list[np.ndarray]) -> Callable[..., Any]:
    if library == "theano":
        return networks.theano_step("resnet20", start)
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    step = networks.torch_step("resnet20", start, torch)
    return lambda x, y: float(step(torch.from_numpy(x), torch.from_numpy(y)).detach())


def measure(library: str, model: str = "mlp") -> float:
    """MiB by which memory grows at most during a few steps."""
    if model == "mlp":
        x, y, params = data()
        step = {"theano": theano_step, "torch": torch_step}[library](params)
    else:
        x, y, params = networks.data(model)
        step = resnet_step(library, params)
    step(x[:2], y[:2])  # What is loaded and allocated once is not the step's.
    before = _status("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    costs = [float(step(x, y)) for _ in range(STEPS)]
    assert np.isfinite(costs).all() and costs[-1] < costs[0]
    return (_status("VmHWM") - before) / 1024


def run(library: str, cache: str, model: str) -> float:
    env = dict(os.environ, PYTHONPATH=str(ROOT), THEANO_FLAGS=f"base_compiledir={cache}")
    command = [sys.executable, "-m", "benchmarks.memory", library, model]
    done = subprocess.run(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1])


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    if not os.path.exists("/proc/self/clear_refs"):
        return
    for model, title, limit in (("mlp", f"an MLP step, {LAYERS} layers", 1.0), ("resnet20", "a ResNet-20 step, batch 32", 1.1)):
        with tempfile.TemporaryDirectory() as cache:
            ours = run("theano", cache, model)
            case, checks = f"peak of {title}: {ours:.0f} MiB", {}
            if importable("torch"):
                theirs = run("torch", cache, model)
                case += f", PyTorch {theirs:.0f} MiB"
                checks["/ PyTorch"] = [ours / theirs, limit]
            yield {"case": case, "threads": threads, "times": {}, "checks": checks}


if __name__ == "__main__":
    print(measure(*sys.argv[1:]))

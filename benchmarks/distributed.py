"""Two processes on two cores: training steps against PyTorch's DistributedDataParallel (gloo), all_reduce against mpi4py's own.

``python -m benchmarks.distributed steps`` and ``python -m benchmarks.distributed all_reduce``; ``--torch PYTHON`` names an
interpreter with PyTorch. Contenders run by turns, each round in new processes with one thread each. ``model`` measures what the
model of docs/tutorial/processes.md needs, checks it with 2 and 4 processes, and predicts; ``--mbits`` limits the links between
them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

MODELS = ("mlp", "lenet", "lstm")
#: Rows of each process, its inputs' shape behind the rows, steps that are timed.
ROWS = {"mlp": 64, "lenet": 32, "lstm": 16}
SHAPES: dict[str, tuple[int, ...]] = {"mlp": (784,), "lenet": (1, 28, 28), "lstm": (30, 64)}
N_HIDDEN, N_CLASSES, RATE = 128, 10, 0.01
SIZES = [1 << n for n in range(10, 27, 2)]


def data(model: str, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of one process."""
    rng = np.random.RandomState(rank)
    return rng.randn(ROWS[model], *SHAPES[model]).astype("float32"), rng.randint(0, N_CLASSES, ROWS[model])


def theano_step(model: str, group: Any = None) -> Any:
    """A step of :func:`theano.distributed.data_parallel`."""
    import theano
    import theano.tensor as T
    from theano import distributed

    rng = np.random.RandomState(0)
    params: list[Any] = []

    def weights(*shape: int) -> Any:
        fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
        params.append(theano.shared((rng.randn(*shape) / np.sqrt(fan_in)).astype("float32")))
        return params[-1]

    def bias(n: int) -> Any:
        params.append(theano.shared(np.zeros(n, "float32")))
        return params[-1]

    x, y = T.TensorType("float32", (False,) * (1 + len(SHAPES[model])))("x"), T.lvector("y")
    h = x
    if model == "mlp":
        for rows, columns in ((784, 512), (512, 512)):
            h = T.tanh(T.dot(h, weights(rows, columns)) + bias(columns))
        n = 512
    elif model == "lenet":
        for n_in, n_out in ((1, 20), (20, 50)):
            shape = (n_out, n_in, 5, 5)
            h = T.nnet.conv2d(h, weights(*shape), filter_shape=shape) + bias(n_out).dimshuffle("x", 0, "x", "x")
            h = T.tanh(T.signal.pool.pool_2d(h, (2, 2), ignore_border=True))
        h = T.tanh(T.dot(h.flatten(2), weights(800, 500)) + bias(500))
        n = 500
    else:
        w, u, b = weights(SHAPES[model][1], 4 * N_HIDDEN), weights(N_HIDDEN, 4 * N_HIDDEN), bias(4 * N_HIDDEN)

        def cell(given: Any, hidden: Any, state: Any) -> tuple[Any, Any]:
            z = given + T.dot(hidden, u)
            i, f, o, g = (z[:, k * N_HIDDEN:(k + 1) * N_HIDDEN] for k in range(4))
            state = T.nnet.sigmoid(f) * state + T.nnet.sigmoid(i) * T.tanh(g)
            return T.nnet.sigmoid(o) * T.tanh(state), state

        zeros = T.zeros((x.shape[0], N_HIDDEN), "float32")
        (hs, _), _ = theano.scan(cell, T.dot(x.dimshuffle(1, 0, 2), w) + b, [zeros, zeros])
        h, n = hs[-1], N_HIDDEN
    p = T.nnet.softmax(T.dot(h, weights(n, N_CLASSES)) + bias(N_CLASSES))
    cost = T.nnet.categorical_crossentropy(p, y).mean()
    return distributed.data_parallel([x, y], cost, params, distributed.sgd(RATE), group=group)


def torch_step(model: str) -> Callable[..., Any]:
    """A step of DistributedDataParallel over gloo."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(SHAPES["lstm"][1], N_HIDDEN, batch_first=True)
            self.out = nn.Linear(N_HIDDEN, N_CLASSES)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(x)[0][:, -1])

    if model == "mlp":
        net = nn.Sequential(nn.Linear(784, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, N_CLASSES))
    elif model == "lenet":
        net = nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Tanh(), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Tanh(),
                            nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, N_CLASSES))  # fmt: skip
    else:
        net = Recurrent()
    parallel = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(parallel.parameters(), RATE)
    loss_of = nn.CrossEntropyLoss()

    def step(x: Any, y: Any) -> float:
        optimizer.zero_grad()
        loss = loss_of(parallel(torch.from_numpy(x)), torch.from_numpy(y))
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def work_step(system: str, model: str, seconds: float) -> None:
    """What each process of a contender does; the first prints the median time of a step."""
    if system == "theano":
        from theano import distributed

        rank = distributed.world().rank
        step = theano_step(model)
    else:
        rank = int(os.environ["RANK"])
        step = torch_step(model)
    x, y = data(model, rank)
    for _ in range(10):
        step(x, y)
    times = []
    # As many for all: who stopped first would leave the other waiting.
    for _ in range(max(20, int(seconds / 0.01))):
        start = time.perf_counter()
        step(x, y)
        times.append(time.perf_counter() - start)
    if rank == 0:
        print(json.dumps([statistics.median(times)]))


def work_all_reduce(repeats: int) -> None:
    """Each size by turns: a compiled function, the communicator's method, mpi4py's Allreduce."""
    from mpi4py import MPI

    import theano
    import theano.tensor as T
    from theano import distributed

    group = distributed.world()
    x = T.fvector("x")
    f = theano.function([x], distributed.all_reduce(x))
    comm = MPI.COMM_WORLD.Dup()
    rows = []
    for size in SIZES:
        given = np.random.RandomState(group.rank).randn(size // 4).astype("float32")
        taken = np.empty_like(given)
        contenders = {
            "function": lambda a=given: f(a), "method": lambda a=given: group.all_reduce(a),
            "mpi4py": lambda a=given, b=taken: comm.Allreduce(a, b),
        }  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in contenders}
        count = int(min(50, max(2, 1e6 // size)))
        for _ in range(repeats if size > 1 << 20 else 8 * repeats):
            for name, call in contenders.items():
                comm.Barrier()
                call()
                start = time.perf_counter()
                for _ in range(count):
                    call()
                times[name].append((time.perf_counter() - start) / count)
        # What others do on the machine makes calls longer, never shorter.
        rows.append({"bytes": size, **{name: float(np.percentile(t, 25)) for name, t in times.items()}})
    if group.rank == 0:
        print(json.dumps(rows))


def launch(python: str, *args: str, ranks: int = 2, torch: bool = False, hosts: Any = None) -> Any:
    """Run this module in several processes; what the first prints."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [python, "-m", "benchmarks.distributed", *args]
    if torch:
        env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29571", WORLD_SIZE=str(ranks))
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        running = [subprocess.Popen(command, env={**env, "RANK": str(r)}, **pipes) for r in range(ranks)]
        said = [process.communicate()[0] for process in running]
        return json.loads(said[0].strip().splitlines()[-1])
    beside = pathlib.Path(python).parent / "mpiexec"
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    command = [str(mpiexec), "-n", str(ranks), *command] if hosts is None else hosts.command(str(mpiexec), ranks, command)
    env.update({} if hosts is None else hosts.environment)
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    # Libraries may have said something, too.
    for line in reversed(done.stdout.splitlines()):
        with contextlib.suppress(ValueError):
            return json.loads(line)
    raise ValueError(f"{' '.join(command)} says no numbers: {done.stdout}")


def compare_steps(torch_python: str | None, rounds: int, seconds: float, models: list[str]) -> None:
    """Print a row for each model."""
    for model in models:
        times: dict[str, list[float]] = {"theano": [], "torch": []}
        for _ in range(rounds):
            times["theano"].append(launch(sys.executable, "work", "theano", model, str(seconds))[0])
            if torch_python:
                times["torch"].append(launch(torch_python, "work", "torch", model, str(seconds), torch=True)[0])
        ours = statistics.median(times["theano"])
        line = f"{model:6} Theano {1e3 * ours:8.2f} ms"
        if torch_python:
            theirs = statistics.median(times["torch"])
            ratio = statistics.median(a / b for a, b in zip(times["theano"], times["torch"]))
            line += f"   PyTorch DDP {1e3 * theirs:8.2f} ms   ratio {ratio:.2f}"
        print(line, flush=True)


def work_model(model: str, rounds: int) -> None:
    """By turns: a step that transfers to itself, the same in lockstep with others, and one that transfers."""
    from mpi4py import MPI

    from theano import distributed
    from theano.distributed.exchange import Exchange

    world = distributed.world()
    # All nodes of a step are there: what is copied, what is not fused with what.
    itself = distributed.Communicator(None, "itself")
    itself.exchange = Exchange(MPI.COMM_SELF.Dup())
    alone, real = theano_step(model, itself), theano_step(model)
    x, y = data(model, world.rank)

    def lockstep(*args: Any) -> None:
        alone(*args)
        world.barrier()

    contenders = {"alone": alone, "lockstep": lockstep, "measured": real}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, step in contenders.items():
            world.barrier()
            step(x, y)
            world.barrier()
            for _ in range(12):
                start = time.perf_counter()
                step(x, y)
                times[name].append(time.perf_counter() - start)
    if world.rank == 0:
        sizes = [p.get_value(borrow=True).nbytes for p in real.params]
        # What others do on the machine makes steps longer, never shorter.
        print(json.dumps([{name: float(np.percentile(t, 25)) for name, t in times.items()}, sizes]))


def work_costs(repeats: int) -> None:
    """Seconds of small all_reduces in a row, and of large ones whose operands lie in no cache, as after a computation."""
    import theano
    import theano.tensor as T
    from theano import distributed

    group = distributed.world()
    x = T.fvector("x")
    f = theano.function([x], distributed.all_reduce(x))
    other = np.zeros(1 << 23, "float32")
    rows = []
    for size in (1 << 10, 1 << 18, 1 << 20, 1 << 21):
        given = np.random.RandomState(group.rank).randn(size // 4).astype("float32")
        count = 100 if size == 1 << 10 else 1
        times = []
        for _ in range(repeats):
            given *= 0.5
            other += count == 1
            group.barrier()
            start = time.perf_counter()
            for _ in range(count):
                f(given)
            times.append((time.perf_counter() - start) / count)
        rows.append([size, float(np.percentile(times, 25))])
    if group.rank == 0:
        print(json.dumps(rows))


def buckets_of(sizes: list[int], bucket: int = 1 << 20) -> list[int]:
    """The bytes of each collective of a step: the costs, and gradients in buckets, the last layers first."""
    found, held = [2 * 64], 0
    for n in reversed(sizes):
        if held and held + n > bucket:
            found.append(held)
            held = 0
        held += n
    return [*found, held]


def plan_costs(p: int, nbytes: int) -> tuple[int, int]:
    """How many messages a process of an all_reduce sends, and how many bytes."""
    from theano.distributed.algorithms import AllReduce, plan_of

    sends = [m for r in plan_of(AllReduce("sum"), 0, p, nbytes, 4).rounds for m in r.sends]
    return len(sends), sum(m.span.nbytes for m in sends)


def all_reduce_costs(p: int, hosts: Any = None) -> tuple[float, float]:
    """Measure the cost of a message, and that of a byte, of what :func:`plan_costs` says."""
    (small, first), *rows = launch(sys.executable, "work", "costs", "40", ranks=p, hosts=hosts)
    a = first / plan_costs(p, small)[0]
    rates = []
    for n, seconds in rows:
        messages, nbytes = plan_costs(p, n)
        rates.append((seconds - a * messages) / nbytes)
    return a, statistics.median(rates)


def slowest_of(p: int) -> float:
    """By how many standard deviations the largest of so many normal numbers is above the mean, on average."""
    return float(np.random.RandomState(0).randn(2000, p).max(1).mean()) if p > 1 else 0.0


def scaling_model(models: list[str], checked: list[int], rounds: int, mbits: float | None) -> None:
    """Measure costs, compare predictions with several processes, predict more."""
    from benchmarks.hosts import Hosts

    costs: dict[int, tuple[float, float]] = {}
    bases: dict[str, tuple[float, float, list[int]]] = {}
    for p in checked:
        # Each process on a host of its own, if links are limited.
        with contextlib.ExitStack() as stack:
            hosts = stack.enter_context(Hosts(p, mbits)) if mbits else None
            a, b = costs[p] = all_reduce_costs(p, hosts)
            print(f"p={p}: a = {1e6 * a:.1f} us a message, 1 / b = {1e-9 / b:.2f} GB/s", flush=True)
            for model in models:
                said, sizes = launch(sys.executable, "work", "model", model, str(rounds), ranks=p, hosts=hosts)
                predicted = said["lockstep"] + transfer_time(p, sizes, a, b)
                bases.setdefault(model, (said["alone"], said["lockstep"], sizes))
                print(f"{model:6} alone {1e3 * said['alone']:.2f}, in lockstep {1e3 * said['lockstep']:.2f}, predicted "
                      f"{1e3 * predicted:.2f}, measured {1e3 * said['measured']:.2f} ms, ratio "
                      f"{predicted / said['measured']:.2f}", flush=True)  # fmt: skip
    a, b = costs[checked[0]]
    for model, (alone, lockstep, sizes) in bases.items():
        deviation = max(0.0, lockstep - alone) / slowest_of(checked[0])
        steps = {p: alone + deviation * slowest_of(p) + transfer_time(p, sizes, a, b) for p in (2, 8, 32, 128, 512, 4096)}
        print(f"{model:6} efficiency " + ", ".join(f"{p}: {alone / t:.2f}" for p, t in steps.items()), flush=True)


def transfer_time(p: int, sizes: list[int], a: float, b: float) -> float:
    """Seconds of the collectives of a step."""
    return sum(a * messages + b * nbytes for messages, nbytes in (plan_costs(p, n) for n in buckets_of(sizes)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    steps = commands.add_parser("steps")
    steps.add_argument("models", nargs="*", default=list(MODELS))
    steps.add_argument("--torch", help="an interpreter that has PyTorch")
    steps.add_argument("--rounds", type=int, default=3)
    steps.add_argument("--seconds", type=float, default=2.0)
    reduce_ = commands.add_parser("all_reduce")
    reduce_.add_argument("--ranks", type=int, default=2)
    scaling = commands.add_parser("model")
    scaling.add_argument("models", nargs="*", default=list(MODELS))
    scaling.add_argument("--ranks", type=int, nargs="+", default=[2, 4], help="to check it with")
    scaling.add_argument("--rounds", type=int, default=10)
    scaling.add_argument("--mbits", type=float, help="each process on a host of its own that sends so many megabits a second")
    work = commands.add_parser("work", help="what the processes do")
    work.add_argument("what", nargs="+")
    args = parser.parse_args()
    if args.command == "steps":
        compare_steps(args.torch, args.rounds, args.seconds, args.models)
    elif args.command == "all_reduce":
        for row in launch(sys.executable, "work", "all_reduce", "10", ranks=args.ranks):
            ours, theirs = row["function"], row["mpi4py"]
            print(f"{row['bytes']:10,} bytes: function {1e6 * ours:9.1f} us, method {1e6 * row['method']:9.1f} us, "
                  f"mpi4py {1e6 * theirs:9.1f} us, ratio {ours / theirs:.2f}")
    elif args.command == "model":
        scaling_model(args.models, args.ranks, args.rounds, args.mbits)
    elif args.what[0] == "all_reduce":
        work_all_reduce(int(args.what[1]))
    elif args.what[0] == "costs":
        work_costs(int(args.what[1]))
    elif args.what[0] == "model":
        work_model(args.what[1], int(args.what[2]))
    else:
        work_step(args.what[0], args.what[1], float(args.what[2]))


if __name__ == "__main__":
    main()

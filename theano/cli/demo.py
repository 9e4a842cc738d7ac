"""`theano demo`: train three models on handwritten digits that ship with the package."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import theano
import theano.tensor as T

DIGITS = Path(__file__).parent / "data" / "digits.csv.gz"
TEST_SHARE = 0.2
BATCH = 32


class Digits(NamedTuple):
    """Images as rows of 64 values in [0, 1], labels as integers."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


class Model(NamedTuple):
    """A training step `(x, y) -> cost`, on rows of its own in each of several processes, and a prediction `x -> digits`."""

    name: str
    train: Callable[..., Any]
    predict: theano.compile.function_module.Function


def trained(x: T.TensorVariable, y: T.TensorVariable, cost: T.TensorVariable, params: list, optimizer: Callable[..., list],
            parallel: bool, updates: Sequence[tuple] = ()) -> Callable[..., Any]:
    """Make a training step; `optimizer` makes updates of gradients and parameters."""
    if parallel:
        step = theano.distributed.data_parallel([x, y], cost, params, optimizer, updates=updates, name="train")
        return lambda x, y: step(*step.shard(x, y))
    made = [*optimizer(T.grad(cost, params), params), *updates]
    return theano.function([x, y], cost, updates=made, name="train")


def load_digits(seed: int = 1) -> Digits:
    """Read the digits and split them, at random but reproducibly, into training and test rows."""
    with gzip.open(DIGITS, "rt") as rows:
        table = np.loadtxt(rows, delimiter=",")
    table = table[np.random.RandomState(seed).permutation(len(table))]
    x = (table[:, :-1] / 16).astype(theano.config.floatX)
    y = table[:, -1].astype("int64")
    n_test = int(len(table) * TEST_SHARE)
    return Digits(x[n_test:], y[n_test:], x[:n_test], y[:n_test])


def logistic_regression(n_in: int, n_out: int, parallel: bool = False) -> Model:
    """Build the manual's logistic regression, with one column of weights for each digit."""
    floatX = theano.config.floatX
    x, y = T.matrix("x"), T.lvector("y")
    w = theano.shared(np.zeros((n_in, n_out), floatX), name="w")
    b = theano.shared(np.zeros(n_out, floatX), name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    target = T.extra_ops.to_one_hot(y, n_out, dtype=floatX)
    xent = -target * T.log(p_1) - (1 - target) * T.log(1 - p_1)
    cost = xent.sum(axis=1).mean() + 0.001 * T.sqr(w).sum()
    rate = np.asarray(0.5, floatX)
    train = trained(x, y, cost, [w, b], lambda grads, params: [(p, p - rate * g) for p, g in zip(params, grads)], parallel)
    return Model("logistic regression", train, theano.function([x], T.argmax(p_1, axis=1), name="predict"))


def with_momentum(grads: list, params: list, rate: Any) -> list[tuple]:
    """Return the updates of gradient descent with momentum."""
    momentum = np.asarray(0.9, theano.config.floatX)
    updates = []
    for param, gradient in zip(params, grads, strict=True):
        velocity = theano.shared(np.zeros_like(param.get_value()), name=f"velocity_{param.name}")
        step = momentum * velocity - rate * gradient
        updates += [(velocity, step), (param, param + step)]
    return updates


def mlp(n_in: int, n_hidden: int, n_out: int, seed: int, parallel: bool = False) -> Model:
    """Build a network with one tanh layer and a softmax layer, trained by gradient descent with momentum."""
    floatX = theano.config.floatX
    rng = np.random.RandomState(seed)

    def weights(rows: int, columns: int, name: str) -> theano.compile.SharedVariable:
        bound = np.sqrt(6 / (rows + columns))
        return theano.shared(rng.uniform(-bound, bound, (rows, columns)).astype(floatX), name=name)

    x, y = T.matrix("x"), T.lvector("y")
    w1, w2 = weights(n_in, n_hidden, "w1"), weights(n_hidden, n_out, "w2")
    b1 = theano.shared(np.zeros(n_hidden, floatX), name="b1")
    b2 = theano.shared(np.zeros(n_out, floatX), name="b2")
    hidden = T.tanh(T.dot(x, w1) + b1)
    p_y = T.nnet.softmax(T.dot(hidden, w2) + b2)
    cost = T.nnet.categorical_crossentropy(p_y, y).mean()

    rate = np.asarray(0.1, floatX)
    train = trained(x, y, cost, [w1, b1, w2, b2], lambda grads, params: with_momentum(grads, params, rate), parallel)
    return Model("two-layer MLP", train, theano.function([x], T.argmax(p_y, axis=1), name="predict"))


def convnet(n_filters: tuple[int, ...], n_hidden: int, n_out: int, seed: int, parallel: bool = False) -> Model:
    """Build layers of 3x3 convolutions and 2x2 pooling, a layer of rectifiers and a softmax layer, trained with dropout.

    Every pooling halves the images of 8x8. The learning rate falls by a factor of e in 400 steps.
    """
    from theano.sandbox.rng_mrg import MRG_RandomStreams
    from theano.tensor.signal.pool import pool_2d

    floatX = theano.config.floatX
    rng, streams = np.random.RandomState(seed), MRG_RandomStreams(seed)
    kept = np.asarray(0.6, floatX)
    params = []

    def layer(shape: tuple[int, ...], fan_in: int, n_units: int) -> tuple[theano.compile.SharedVariable, ...]:
        w = theano.shared((rng.normal(size=shape) * np.sqrt(2 / fan_in)).astype(floatX), name=f"w{len(params) // 2 + 1}")
        b = theano.shared(np.zeros(n_units, floatX), name=f"b{len(params) // 2 + 1}")
        params.extend([w, b])
        return w, b

    channels = (1, *n_filters)
    side = 8 >> len(n_filters)
    filters = [layer((n, m, 3, 3), 9 * m, n) for m, n in zip(channels, n_filters, strict=False)]
    w_hidden, b_hidden = layer((channels[-1] * side**2, n_hidden), channels[-1] * side**2, n_hidden)
    w_out, b_out = layer((n_hidden, n_out), n_hidden, n_out)

    def probabilities(x: T.TensorVariable, dropped: bool) -> T.TensorVariable:
        def dropout(units: T.TensorVariable) -> T.TensorVariable:
            return units * streams.binomial(units.shape, p=kept, dtype=floatX) / kept if dropped else units

        images = x.reshape((x.shape[0], 1, 8, 8))
        for w, b in filters:
            images = T.nnet.conv2d(images, w, border_mode="half", filter_shape=w.get_value(borrow=True).shape)
            images = pool_2d(T.nnet.relu(images + b.dimshuffle("x", 0, "x", "x")), (2, 2), ignore_border=True)
        hidden = T.nnet.relu(T.dot(dropout(images.flatten(2)), w_hidden) + b_hidden)
        return T.nnet.softmax(T.dot(dropout(hidden), w_out) + b_out)

    x, y = T.matrix("x"), T.lvector("y")
    cost = T.nnet.categorical_crossentropy(probabilities(x, dropped=True), y).mean()
    rate = theano.shared(np.asarray(0.05, floatX), name="rate")
    slower = [(rate, rate * np.asarray(np.exp(-1 / 400), floatX))]
    train = trained(x, y, cost, params, lambda grads, params: with_momentum(grads, params, rate), parallel, slower)
    said = T.argmax(probabilities(x, dropped=False), axis=1)
    return Model("convolutional net", train, theano.function([x], said, name="predict"))


def fit(model: Model, digits: Digits, epochs: int, seed: int, quiet: bool = False) -> tuple[float, float]:
    """Train by mini-batches behind a progress bar, unless it is to be quiet.

    Returns
    -------
    tuple of float
        Samples trained a second, and the accuracy on the test rows.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rng = np.random.RandomState(seed)
    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"),
               TextColumn("cost {task.fields[cost]:.4f}"), TimeRemainingColumn())
    samples, seconds = 0, 0.0
    with Progress(*columns, disable=quiet) as progress:
        task = progress.add_task(model.name, total=epochs, cost=float("nan"))
        for _ in range(epochs):
            order = rng.permutation(len(digits.x_train))
            costs = []
            start = time.perf_counter()
            for first in range(0, len(order), BATCH):
                rows = order[first:first + BATCH]
                costs.append(float(model.train(digits.x_train[rows], digits.y_train[rows])))
            seconds += time.perf_counter() - start
            samples += len(order)
            progress.update(task, advance=1, cost=np.mean(costs))
    accuracy = float(np.mean(model.predict(digits.x_test) == digits.y_test))
    return samples / seconds if seconds else 0.0, accuracy


def draw_wrong_digits(model: Model, digits: Digits, path: str) -> int | None:
    """Draw the test digits that the model gets wrong; returns their number, None without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    said = model.predict(digits.x_test)
    wrong = np.flatnonzero(said != digits.y_test)[:40]
    n_columns = 8
    n_rows = max(1, -(-len(wrong) // n_columns))
    figure, axes = plt.subplots(n_rows, n_columns, figsize=(n_columns, 1.3 * n_rows), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, i in zip(axes.flat, wrong, strict=False):
        axis.imshow(digits.x_test[i].reshape(8, 8), cmap="gray_r")
        axis.set_title(f"{digits.y_test[i]}, said {said[i]}", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return len(wrong)


def launch(ranks: int, arguments: Sequence[str]) -> int:
    """Run the demo in several processes, by the `mpiexec` beside Python or on the path; returns the exit status."""
    beside = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None or find_spec("mpi4py") is None:
        print('Several processes need MPI: python -m pip install mpi4py mpich, or ".[mpi]" with this package', file=sys.stderr)
        return 1
    env = dict(os.environ)
    env.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // ranks)))
    if sys.stdout.isatty():
        # The processes write to a pipe of mpiexec's, which passes on what a terminal understands.
        env.update(FORCE_COLOR="1", COLUMNS=str(shutil.get_terminal_size().columns))
    command = [mpiexec, "-n", str(ranks), sys.executable, "-m", "theano.cli", "demo", *arguments]
    return subprocess.run(command, env=env, check=False).returncode


def demo(epochs: int = 40, seed: int = 1, picture: str = "theano-demo.png") -> int:
    """Train the models, print what they reach, and draw what the last one gets wrong; returns the exit status.

    The convolutional net, which learns more in each, is trained for half as many epochs. Of several processes that `mpiexec`
    started each has a part of every batch, and the first prints.
    """
    from rich.console import Console
    from rich.table import Table

    group = theano.distributed.world()
    parallel, first = group.size > 1, group.rank == 0
    console = Console(quiet=not first)
    digits = load_digits(seed)
    n_in, n_out = digits.x_train.shape[1], int(digits.y_train.max()) + 1
    console.print(f"UCI handwritten digits: {len(digits.x_train)} to train on, {len(digits.x_test)} to test on"
                  + (f", by {group.size} processes" if parallel else ""))

    table = Table("model", "compiled in", "samples/s", "test accuracy")
    builders = [
        (lambda: logistic_regression(n_in, n_out, parallel), epochs),
        (lambda: mlp(n_in, 128, n_out, seed, parallel), epochs),
        (lambda: convnet((32, 64), 128, n_out, seed, parallel), max(1, epochs // 2)),
    ]
    for build, of_model in builders:
        start = time.perf_counter()
        model = build()
        compiled = time.perf_counter() - start
        speed, accuracy = fit(model, digits, of_model, seed, quiet=not first)
        table.add_row(model.name, f"{compiled:.2f} s", f"{speed:,.0f}", f"{accuracy:.1%}")
    console.print(table)
    drawn = draw_wrong_digits(model, digits, picture) if first else None
    if drawn is not None:
        console.print(f"{drawn} wrong digits of the {model.name} are drawn in {picture}")
    return 0

"""`theano demo`: train two models on handwritten digits that ship with the package."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import NamedTuple

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
    """A training step `(x, y) -> cost` and a prediction `x -> digits`."""

    name: str
    train: theano.compile.function_module.Function
    predict: theano.compile.function_module.Function


def load_digits(seed: int = 1) -> Digits:
    """Read the digits and split them, at random but reproducibly, into training and test rows."""
    with gzip.open(DIGITS, "rt") as rows:
        table = np.loadtxt(rows, delimiter=",")
    table = table[np.random.RandomState(seed).permutation(len(table))]
    x = (table[:, :-1] / 16).astype(theano.config.floatX)
    y = table[:, -1].astype("int64")
    n_test = int(len(table) * TEST_SHARE)
    return Digits(x[n_test:], y[n_test:], x[:n_test], y[:n_test])


def logistic_regression(n_in: int, n_out: int) -> Model:
    """Build the manual's logistic regression, with one column of weights for each digit."""
    floatX = theano.config.floatX
    x, y = T.matrix("x"), T.lvector("y")
    w = theano.shared(np.zeros((n_in, n_out), floatX), name="w")
    b = theano.shared(np.zeros(n_out, floatX), name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    target = T.extra_ops.to_one_hot(y, n_out, dtype=floatX)
    xent = -target * T.log(p_1) - (1 - target) * T.log(1 - p_1)
    cost = xent.sum(axis=1).mean() + 0.001 * T.sqr(w).sum()
    gw, gb = T.grad(cost, [w, b])
    rate = np.asarray(0.5, floatX)
    train = theano.function([x, y], cost, updates=[(w, w - rate * gw), (b, b - rate * gb)], name="train")
    return Model("logistic regression", train, theano.function([x], T.argmax(p_1, axis=1), name="predict"))


def mlp(n_in: int, n_hidden: int, n_out: int, seed: int) -> Model:
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

    rate, momentum = np.asarray(0.1, floatX), np.asarray(0.9, floatX)
    updates = []
    for param in (w1, b1, w2, b2):
        velocity = theano.shared(np.zeros_like(param.get_value()), name=f"velocity_{param.name}")
        step = momentum * velocity - rate * T.grad(cost, param)
        updates += [(velocity, step), (param, param + step)]
    train = theano.function([x, y], cost, updates=updates, name="train")
    return Model("two-layer MLP", train, theano.function([x], T.argmax(p_y, axis=1), name="predict"))


def fit(model: Model, digits: Digits, epochs: int, seed: int) -> tuple[float, float]:
    """Train by mini-batches behind a progress bar.

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
    with Progress(*columns) as progress:
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


def demo(epochs: int = 40, seed: int = 1, picture: str = "theano-demo.png") -> int:
    """Train both models, print what they reach, and draw what the MLP gets wrong; returns the exit status."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    digits = load_digits(seed)
    n_in, n_out = digits.x_train.shape[1], int(digits.y_train.max()) + 1
    console.print(f"UCI handwritten digits: {len(digits.x_train)} to train on, {len(digits.x_test)} to test on")

    table = Table("model", "compiled in", "samples/s", "test accuracy")
    for build in (lambda: logistic_regression(n_in, n_out), lambda: mlp(n_in, 128, n_out, seed)):
        start = time.perf_counter()
        model = build()
        compiled = time.perf_counter() - start
        speed, accuracy = fit(model, digits, epochs, seed)
        table.add_row(model.name, f"{compiled:.2f} s", f"{speed:,.0f}", f"{accuracy:.1%}")
    console.print(table)
    drawn = draw_wrong_digits(model, digits, picture)
    if drawn is not None:
        console.print(f"{drawn} wrong digits of the {model.name} are drawn in {picture}")
    return 0

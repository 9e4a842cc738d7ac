"""`theano demo`: train three models on handwritten digits that ship with the package."""

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


def with_momentum(cost: T.TensorVariable, params: list, rate: np.ndarray) -> list[tuple]:
    """Return the updates of gradient descent with momentum."""
    momentum = np.asarray(0.9, theano.config.floatX)
    updates = []
    for param, gradient in zip(params, T.grad(cost, params), strict=True):
        velocity = theano.shared(np.zeros_like(param.get_value()), name=f"velocity_{param.name}")
        step = momentum * velocity - rate * gradient
        updates += [(velocity, step), (param, param + step)]
    return updates


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

    updates = with_momentum(cost, [w1, b1, w2, b2], np.asarray(0.1, floatX))
    train = theano.function([x, y], cost, updates=updates, name="train")
    return Model("two-layer MLP", train, theano.function([x], T.argmax(p_y, axis=1), name="predict"))


def convnet(n_filters: tuple[int, ...], n_hidden: int, n_out: int, seed: int) -> Model:
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
    updates = [*with_momentum(cost, params, rate), (rate, rate * np.asarray(np.exp(-1 / 400), floatX))]
    train = theano.function([x, y], cost, updates=updates, name="train")
    said = T.argmax(probabilities(x, dropped=False), axis=1)
    return Model("convolutional net", train, theano.function([x], said, name="predict"))


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
    """Train the models, print what they reach, and draw what the last one gets wrong; returns the exit status.

    The convolutional net, which learns more in each, is trained for half as many epochs.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console()
    digits = load_digits(seed)
    n_in, n_out = digits.x_train.shape[1], int(digits.y_train.max()) + 1
    console.print(f"UCI handwritten digits: {len(digits.x_train)} to train on, {len(digits.x_test)} to test on")

    table = Table("model", "compiled in", "samples/s", "test accuracy")
    builders = [
        (lambda: logistic_regression(n_in, n_out), epochs),
        (lambda: mlp(n_in, 128, n_out, seed), epochs),
        (lambda: convnet((32, 64), 128, n_out, seed), max(1, epochs // 2)),
    ]
    for build, of_model in builders:
        start = time.perf_counter()
        model = build()
        compiled = time.perf_counter() - start
        speed, accuracy = fit(model, digits, of_model, seed)
        table.add_row(model.name, f"{compiled:.2f} s", f"{speed:,.0f}", f"{accuracy:.1%}")
    console.print(table)
    drawn = draw_wrong_digits(model, digits, picture)
    if drawn is not None:
        console.print(f"{drawn} wrong digits of the {model.name} are drawn in {picture}")
    return 0

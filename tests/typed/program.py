"""A program of a user, with annotations: what type checkers say of it is a test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano.tensor.shared_randomstreams import RandomStreams
from theano.tensor.sharedvar import TensorSharedVariable
from theano.tensor.var import TensorVariable

Array = NDArray[np.floating]
Updates = list[tuple[TensorSharedVariable, TensorVariable]]


def weights(rng: np.random.Generator, rows: int, columns: int, name: str) -> TensorSharedVariable:
    """Make a matrix of weights."""
    scale = np.sqrt(6.0 / (rows + columns))
    return theano.shared(rng.uniform(-scale, scale, (rows, columns)), name=name)


@dataclass
class Layer:
    """A layer that is connected to all of the layer before."""

    w: TensorSharedVariable
    b: TensorSharedVariable

    @classmethod
    def make(cls, rng: np.random.Generator, rows: int, columns: int) -> Layer:
        """Make a layer of given sizes."""
        return cls(weights(rng, rows, columns, "w"), theano.shared(np.zeros(columns), name="b"))

    def __call__(self, x: TensorVariable) -> TensorVariable:
        return T.dot(x, self.w) + self.b


@dataclass
class Network:
    """A classifier with one hidden layer."""

    hidden: Layer
    top: Layer
    dropout: float = 0.0
    streams: RandomStreams = field(default_factory=lambda: RandomStreams(3))

    @property
    def parameters(self) -> list[TensorSharedVariable]:
        """All that is trained."""
        return [self.hidden.w, self.hidden.b, self.top.w, self.top.b]

    def probabilities(self, x: TensorVariable, training: bool = False) -> TensorVariable:
        """Return the probabilities of the classes."""
        h = T.tanh(self.hidden(x))
        if training and self.dropout > 0:
            mask = self.streams.binomial(size=h.shape, p=1 - self.dropout)
            h = h * mask / (1 - self.dropout)
        return T.nnet.softmax(self.top(h))

    def loss(self, x: TensorVariable, t: TensorVariable) -> TensorVariable:
        """Return the mean cross-entropy, with a penalty."""
        cost = T.nnet.categorical_crossentropy(self.probabilities(x, training=True), t).mean()
        penalty = sum((T.sqr(p).sum() for p in self.parameters), T.constant(0.0).sum())
        return cost + 1e-4 * penalty


def momentum(cost: TensorVariable, parameters: Sequence[TensorSharedVariable], rate: float, decay: float) -> Updates:
    """Return the updates of gradient descent with momentum."""
    updates: Updates = []
    for parameter, gradient in zip(parameters, T.grad(cost, list(parameters))):
        velocity = theano.shared(np.zeros_like(parameter.get_value()), name="velocity")
        step = decay * velocity - rate * gradient.clip(-1, 1)
        updates.append((velocity, step))
        updates.append((parameter, parameter + step))
    return updates


def batches(x: Array, t: NDArray[np.int32], size: int) -> Iterator[tuple[Array, NDArray[np.int32]]]:
    """Yield parts of the data."""
    for start in range(0, len(x), size):
        yield x[start : start + size], t[start : start + size]


def train(epochs: int = 5) -> tuple[float, float]:
    """Train the network on two moons; return the first cost and the last."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, 200)
    t = rng.integers(0, 2, 200).astype("int32")
    points = np.stack([np.cos(angle) + t, np.sin(angle) * (1 - 2 * t)], axis=1) + 0.1 * rng.normal(size=(200, 2))

    network = Network(Layer.make(rng, 2, 16), Layer.make(rng, 16, 2), dropout=0.1)
    x, labels = T.dmatrix("x"), T.ivector("labels")
    cost = network.loss(x, labels)
    step = theano.function([x, labels], cost, updates=momentum(cost, network.parameters, 0.1, 0.9), name="step")
    predict = theano.function([x], network.probabilities(x).argmax(axis=1))
    costs = [float(step(*batch)) for _ in range(epochs) for batch in batches(points, t, 20)]
    guessed: NDArray[np.int64] = predict(points)
    accuracy = float((guessed == t).mean())
    print(f"accuracy {accuracy:.0%}")
    return costs[0], costs[-1]


def curvature() -> NDArray[np.float64]:
    """Return a Hessian, and check a product with it."""
    v, direction = T.dvectors("v", "direction")
    energy = T.log(T.exp(v).sum()) + T.sqr(v).sum() / 2
    gradient = T.grad(energy, v)
    hessian = T.hessian(energy, v)
    product = T.Rop(gradient, v, direction)
    f = theano.function([v, direction], [hessian, product])
    h, hv = f([0.1, 0.2, 0.3], [1.0, 0.0, -1.0])
    assert np.allclose(h @ np.array([1.0, 0.0, -1.0]), hv)
    jacobian = T.jacobian(T.tanh(v), v)
    assert jacobian.eval({v: np.zeros(3)}).shape == (3, 3)
    return h


def recurrence(steps: int = 7) -> TensorVariable:
    """Return the states of a small recurrent net."""
    x = T.dmatrix("inputs")
    w = theano.shared(np.eye(3) * 0.5, name="recurrent")

    def step(row: TensorVariable, state: TensorVariable) -> TensorVariable:
        return T.tanh(row + T.dot(state, w))

    states, updates = theano.scan(step, sequences=x, outputs_info=[T.zeros((3,))], n_steps=steps)
    f = theano.function([x], states[-1], updates=updates)
    assert f(np.ones((steps, 3))).shape == (3,)
    return states[-1]


def shapes() -> tuple[int, str, tuple[bool, ...]]:
    """Work on shapes, indices and dtypes."""
    images = T.tensor4("images")
    pooled = images.reshape((images.shape[0], -1)).astype("float32")
    row = pooled.mean(axis=0, keepdims=True)
    both = T.concatenate([row, row], axis=0)
    flipped = both[::-1, 1:].T
    column = flipped[:, 0].dimshuffle(0, "x")
    kept = T.set_subtensor(column[0], 1.0)
    order = T.argsort(kept.flatten())
    chosen = kept.take(order, axis=0)
    limited = T.switch(T.gt(chosen, 0), chosen, T.zeros_like(chosen))
    nothing = (limited > 1e6) & (limited < -1e6)
    total = limited.sum() + T.sum(nothing, dtype="float64")
    picked = ifelse(T.gt(total, 1), total, -total)
    largest, index = T.max_and_argmax(limited, axis=0)
    stacked = T.stack([largest, T.cast(index, "float32")])
    assert theano.function([images], stacked, allow_input_downcast=True)(np.ones((2, 1, 2, 2))).shape == (2, 1)
    assert picked.ndim == 0
    return stacked.ndim, limited.dtype, limited.broadcastable


def values() -> dict[str, NDArray[np.float64]]:
    """Use functions whose results have names, and several outputs."""
    a, b = T.dscalar("a"), T.dscalar("b")
    named = theano.function([a, theano.In(b, value=2.0)], {"sum": a + b, "product": a * b})
    found = named(3.0)
    count = theano.shared(0)
    counting = theano.function([a], [a // 2, a % 2, -a, abs(a), a**2], updates={count: count + 1})
    parts = counting(5)
    assert [float(part) for part in parts] == [2.0, 1.0, -5.0, 5.0, 25.0]
    assert int(count.get_value()) == 1
    count.set_value(4)
    copied = counting.copy(share_memory=True)
    assert len(copied(1.0)) == 5
    return {name: np.asarray(value) for name, value in found.items()}


def saved(path: str) -> float:
    """Save the value of a shared variable, and put it back."""
    w = theano.shared(np.arange(3.0), name="w")
    np.save(path, w.get_value(borrow=True))
    w.set_value(np.zeros(3))
    w.set_value(np.load(path), borrow=True)
    total: TensorVariable = w.sum()
    return float(total.eval())


def main() -> None:
    """Run everything."""
    first, last = train()
    assert last < first
    assert curvature().shape == (3, 3)
    assert recurrence().ndim == 1
    print(shapes())
    print(values())
    with tempfile.TemporaryDirectory() as folder:
        assert saved(f"{folder}/w.npy") == 3
    with theano.change_flags(floatX="float32"):
        print(theano.pp(T.exp(T.vector("v")) + 1))
    theano.printing.debugprint(T.nnet.sigmoid(T.scalar("s")))


if __name__ == "__main__":
    main()

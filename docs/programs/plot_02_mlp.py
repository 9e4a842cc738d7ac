"""
A multilayer perceptron
=======================

Two spirals that no line divides. Two hidden layers of rectifiers, cross-entropy, and Adam written out in a few lines.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T

rng = np.random.RandomState(0)
turn = np.sqrt(rng.rand(300)) * 3 * np.pi
side = np.repeat([0, 1], 150)
radius = turn / (3 * np.pi)
points = np.stack([radius * np.cos(turn + side * np.pi), radius * np.sin(turn + side * np.pi)], 1) + 0.02 * rng.randn(300, 2)

sizes = [2, 32, 32, 2]
weights = [theano.shared(rng.randn(i, o) * np.sqrt(2 / i)) for i, o in zip(sizes, sizes[1:])]
biases = [theano.shared(np.zeros(o)) for o in sizes[1:]]


def logits(x):
    """The layers; the last has no rectifier."""
    for w, b in zip(weights[:-1], biases[:-1]):
        x = T.nnet.relu(T.dot(x, w) + b)
    return T.dot(x, weights[-1]) + biases[-1]


def adam(cost, params, rate=0.01, decay_1=0.9, decay_2=0.999):
    """Updates of D. Kingma and J. Ba, arXiv:1412.6980."""
    t = theano.shared(0.0)
    updates = [(t, t + 1)]
    scale = rate * T.sqrt(1 - decay_2 ** (t + 1)) / (1 - decay_1 ** (t + 1))
    for param, grad in zip(params, T.grad(cost, params)):
        m, v = (theano.shared(np.zeros_like(param.get_value())) for _ in range(2))
        new_m, new_v = decay_1 * m + (1 - decay_1) * grad, decay_2 * v + (1 - decay_2) * grad**2
        updates += [(m, new_m), (v, new_v), (param, param - scale * new_m / (T.sqrt(new_v) + 1e-8))]
    return updates


x, y = T.dmatrix("x"), T.lvector("y")
cost = T.nnet.categorical_crossentropy(T.nnet.softmax(logits(x)), y).mean()
step = theano.function([x, y], cost, updates=adam(cost, weights + biases))
probability = theano.function([x], T.nnet.softmax(logits(x))[:, 1])

costs = [float(step(points, side)) for _ in range(800)]
right = ((probability(points) > 0.5) == side).mean()
print("cost", round(costs[-1], 3), "right", right)
assert right > 0.95

# %%
# Probability of the second spiral over the plane.

grid = np.linspace(-1.2, 1.2, 80)
plane = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
fig, axis = plt.subplots(figsize=(4, 4))
axis.contourf(grid, grid, probability(plane).reshape(80, 80), 20, cmap="RdBu", alpha=0.7)
axis.scatter(*points.T, c=side, s=8, cmap="RdBu", edgecolors="k", linewidths=0.3)
axis.set_aspect("equal")

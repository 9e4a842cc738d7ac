"""
A GRU that adds
===============

Sequences of numbers with two of them marked; the net is to give the sum of the two (the adding problem). Batches of
sequences run through one ``scan``.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T

rng = np.random.RandomState(2)
steps, batch, units = 20, 64, 32


def sample():
    """(steps, batch, 2) with numbers and marks, and the sums."""
    numbers, marks = rng.rand(steps, batch), np.zeros((steps, batch))
    first, second = rng.randint(0, steps // 2, batch), rng.randint(steps // 2, steps, batch)
    marks[first, range(batch)] = marks[second, range(batch)] = 1
    return np.stack([numbers, marks], 2), (numbers * marks).sum(0)


W = theano.shared(rng.randn(2, 3 * units) * 0.5)
U = theano.shared(np.concatenate([np.linalg.qr(rng.randn(units, units))[0] for _ in range(3)], 1))
b = theano.shared(np.zeros(3 * units))
out = theano.shared(rng.randn(units) * 0.1)
params = [W, U, b, out]


def gru(a, h):
    """One step of K. Cho and others, arXiv:1406.1078; `a` is what comes from the input."""
    part = slice(0, units), slice(units, 2 * units), slice(2 * units, 3 * units)
    update, reset = (T.nnet.sigmoid(a[:, p] + T.dot(h, U[:, p])) for p in part[:2])
    return update * h + (1 - update) * T.tanh(a[:, part[2]] + T.dot(reset * h, U[:, part[2]]))


x, y = T.dtensor3("x"), T.dvector("y")
h, _ = theano.scan(gru, sequences=T.dot(x, W) + b, outputs_info=T.zeros((x.shape[1], units)))
cost = T.sqr(T.dot(h[-1], out) - y).mean()
updates = []
for param, grad in zip(params, T.grad(cost, params)):
    m, v = (theano.shared(param.get_value() * 0) for _ in range(2))
    new_m, new_v = 0.9 * m + 0.1 * T.clip(grad, -1, 1), 0.99 * v + 0.01 * T.clip(grad, -1, 1) ** 2
    updates += [(m, new_m), (v, new_v), (param, param - 0.005 * new_m / T.sqrt(new_v + 1e-6))]
step = theano.function([x, y], cost, updates=updates)
costs = [float(step(*sample())) for _ in range(600)]
print("mean square of the error, first and last 50:", np.mean(costs[:50]).round(3), np.mean(costs[-50:]).round(3))
assert np.mean(costs[-50:]) < 0.1

# %%
# 1/6 is what the best constant reaches.

fig, axis = plt.subplots(figsize=(6, 2.5))
axis.semilogy(costs)
axis.axhline(1 / 6, color="gray", ls=":")
axis.set_xlabel("step")
fig.tight_layout()

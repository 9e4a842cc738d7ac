"""
An LSTM that writes
===================

A recurrent net of 64 units learns a short text letter by letter. The loop over the letters is a ``scan``, its
gradient too.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T

text = "the cat sat on the mat and the dog lay by the log while the rat ran to the hat. " * 4
letters = sorted(set(text))
codes = np.array([letters.index(c) for c in text])
n, units = len(letters), 64
rng = np.random.RandomState(1)


def weight(*shape):
    """Small random numbers."""
    return theano.shared(rng.randn(*shape) / np.sqrt(shape[0]))


W, U, V = weight(n, 4 * units), weight(units, 4 * units), weight(units, n)
b = theano.shared(np.repeat([0.0, 1.0, 0.0, 0.0], units))
params = [W, U, V, b]


def lstm(code, h, c):
    """One letter: gates, cell, output (S. Hochreiter and J. Schmidhuber, 1997)."""
    gates = W[code] + T.dot(h, U) + b
    i, f, o = (T.nnet.sigmoid(gates[k * units : (k + 1) * units]) for k in range(3))
    c = f * c + i * T.tanh(gates[3 * units :])
    return o * T.tanh(c), c


x = T.lvector("x")
(h, c), _ = theano.scan(lstm, sequences=x[:-1], outputs_info=[T.zeros(units), T.zeros(units)])
cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(h, V)), x[1:]).mean()
updates = []
grads = T.grad(cost, params)
norm = T.sqrt(sum(T.sqr(g).sum() for g in grads))
for param, grad in zip(params, grads):
    mean_square = theano.shared(param.get_value() * 0)
    new = 0.9 * mean_square + 0.1 * (grad * T.minimum(1, 1 / norm)) ** 2
    updates += [(mean_square, new), (param, param - 0.01 * grad * T.minimum(1, 1 / norm) / T.sqrt(new + 1e-6))]
step = theano.function([x], cost, updates=updates)
costs = [float(step(codes[k : k + 81])) for _ in range(8) for k in range(0, len(codes) - 81, 16)]

# %%
# Writing: each letter is the likeliest after those before.

code, h_in, c_in = T.lscalar(), T.dvector(), T.dvector()
h_out, c_out = lstm(code, h_in, c_in)
following = theano.function([code, h_in, c_in], [T.dot(h_out, V).argmax(), h_out, c_out])
letter, state = letters.index("t"), [np.zeros(units), np.zeros(units)]
written = "t"
for _ in range(60):
    letter, *state = following(letter, *state)
    written += letters[int(letter)]
print(written)
assert costs[-1] < 0.5 * costs[0]

fig, axis = plt.subplots(figsize=(6, 2.5))
axis.plot(costs)
axis.set_ylabel("nats per letter")
fig.tight_layout()

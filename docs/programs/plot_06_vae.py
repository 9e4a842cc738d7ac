"""
A variational autoencoder
=========================

Digits by two numbers each. The encoder gives means and deviations, noise is drawn within the graph, and the gradient
passes through it (D. Kingma and M. Welling, arXiv:1312.6114).
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T
from theano.cli.demo import load_digits
from theano.sandbox.rng_mrg import MRG_RandomStreams

data = load_digits().x_train
rng = np.random.RandomState(0)
pixels, hidden, code = 64, 128, 2


def layer(n_in, n_out):
    """Weights and offsets."""
    return theano.shared(rng.randn(n_in, n_out) / np.sqrt(n_in)), theano.shared(np.zeros(n_out))


encoder, to_mean, to_log_std = layer(pixels, hidden), layer(hidden, code), layer(hidden, code)
decoder, to_pixels = layer(code, hidden), layer(hidden, pixels)
params = [p for pair in (encoder, to_mean, to_log_std, decoder, to_pixels) for p in pair]


def affine(x, pair):
    """x W + b."""
    return T.dot(x, pair[0]) + pair[1]


def decode(z):
    """Logits of pixels."""
    return affine(T.tanh(affine(z, decoder)), to_pixels)


x = T.dmatrix("x")
h = T.tanh(affine(x, encoder))
mean, log_std = affine(h, to_mean), affine(h, to_log_std)
z = mean + T.exp(log_std) * MRG_RandomStreams(1).normal(mean.shape, dtype="float64")
logits = decode(z)
misfit = (T.nnet.softplus(logits) - x * logits).sum(1)
divergence = 0.5 * (T.sqr(mean) + T.exp(2 * log_std) - 1 - 2 * log_std).sum(1)
cost = (misfit + divergence).mean()
t = theano.shared(0.0)
updates = [(t, t + 1)]
for param, grad in zip(params, T.grad(cost, params)):
    m, v = (theano.shared(param.get_value() * 0) for _ in range(2))
    new_m, new_v = 0.9 * m + 0.1 * grad, 0.99 * v + 0.01 * grad**2
    corrected = new_m / (1 - 0.9 ** (t + 1)) / (T.sqrt(new_v / (1 - 0.99 ** (t + 1))) + 1e-8)
    updates += [(m, new_m), (v, new_v), (param, param - 0.003 * corrected)]
step = theano.function([x], cost, updates=updates)

costs = [float(np.mean([step(rows) for rows in np.array_split(rng.permutation(data), 24)])) for _ in range(25)]
print("bound on minus the log-likelihood, nats:", round(costs[0], 1), "to", round(costs[-1], 1))
assert costs[-1] < costs[0] - 3

# %%
# Pictures over the plane of codes.

points = T.dmatrix("points")
draw = theano.function([points], T.nnet.sigmoid(decode(points)))
side = np.linspace(-2, 2, 12)
images = draw(np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)).reshape(12, 12, 8, 8)
fig, axis = plt.subplots(figsize=(4, 4))
axis.imshow(images.transpose(0, 2, 1, 3).reshape(96, 96), cmap="gray")
axis.axis("off")

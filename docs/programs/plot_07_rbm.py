"""
A restricted Boltzmann machine
==============================

Binary units in two layers, trained by persistent contrastive divergence: the negative phase is a Gibbs chain, a
``scan`` with random numbers inside, whose state lives in a shared variable.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T
from theano.cli.demo import load_digits
from theano.sandbox.rng_mrg import MRG_RandomStreams

data = (load_digits().x_train > 0.4).astype("float64")
rng = np.random.RandomState(0)
visible, hidden, chains = 64, 80, 50
W = theano.shared(0.05 * rng.randn(visible, hidden))
a, b = theano.shared(np.log((data.mean(0) + 0.02) / (1.02 - data.mean(0)))), theano.shared(np.zeros(hidden))
params = [W, a, b]
streams = MRG_RandomStreams(3)
chain = theano.shared(data[:chains])


def free_energy(v):
    """Minus the logarithm of the unnormalized probability."""
    return -T.dot(v, a) - T.nnet.softplus(T.dot(v, W) + b).sum(1)


def gibbs(v):
    """Hidden units given the visible ones, then the visible ones."""
    h = streams.binomial((chains, hidden), p=T.nnet.sigmoid(T.dot(v, W) + b), dtype="float64")
    p = T.nnet.sigmoid(T.dot(h, W.T) + a)
    return streams.binomial((chains, visible), p=p, dtype="float64"), p


x = T.dmatrix("x")
(vs, means), updates = theano.scan(gibbs, outputs_info=[chain, None], n_steps=5)
end = vs[-1]
cost = free_energy(x).mean() - free_energy(end).mean()
grads = T.grad(cost, params, consider_constant=[end])
rate = T.dscalar("rate")
for param, grad in zip(params, grads):
    updates[param] = param - rate * grad
updates[chain] = end
step = theano.function([x, rate], cost, updates=updates)
energy = theano.function([x], free_energy(x).mean())

for epoch in range(15):
    for rows in np.array_split(rng.permutation(data), 30):
        step(rows, 0.1 * (1 - epoch / 15))
noise = (rng.rand(*data.shape) < data.mean()).astype("float64")
print("free energy of digits", energy(data).round(1), "and of noise", energy(noise).round(1))
assert energy(data) < energy(noise) - 5

# %%
# What the chains dream of, and the receptive fields of some hidden units.

dream = theano.function([], means[-1], updates=updates, givens={x: data[:50], rate: np.float64(0)})
for _ in range(50):
    pictures = dream()
fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3.5))
for axis, images in ((left, pictures[:25]), (right, W.get_value().T[:25])):
    axis.imshow(images.reshape(5, 5, 8, 8).transpose(0, 2, 1, 3).reshape(40, 40), cmap="gray")
    axis.axis("off")

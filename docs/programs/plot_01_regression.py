"""
Linear regression
=================

A line through noisy points by gradient descent, and next to it the exact solution. The cost is a mean of squares; its
gradient needs no formula.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T

rng = np.random.RandomState(0)
xs = rng.uniform(-2, 2, 60)
ys = 0.7 * xs - 0.3 + 0.2 * rng.randn(60)

x, y = T.dvectors("x", "y")
slope = theano.shared(0.0, name="slope")
offset = theano.shared(0.0, name="offset")
cost = T.sqr(slope * x + offset - y).mean()
grads = T.grad(cost, [slope, offset])
step = theano.function([x, y], cost, updates=[(p, p - 0.1 * g) for p, g in zip([slope, offset], grads)])
costs = [float(step(xs, ys)) for _ in range(60)]

exact = np.polyfit(xs, ys, 1)
print("descent", slope.get_value().round(4), offset.get_value().round(4), "exact", exact.round(4))
assert np.allclose([slope.get_value(), offset.get_value()], exact, atol=1e-3)

# %%
# The data with the line, and the cost by step.

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(xs, ys, "o", ms=3)
left.plot(np.sort(xs), slope.get_value() * np.sort(xs) + offset.get_value())
right.semilogy(costs)
right.set_xlabel("step")
fig.tight_layout()

"""
Logistic regression on sparse data
==================================

Ten thousand rows with twenty nonzero elements of 5000 each. The data stay sparse in the product and in its gradient;
proximal steps keep the weights sparse, too.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import theano
import theano.tensor as T
from theano import sparse

rng = np.random.RandomState(6)
rows, columns, filled = 10000, 5000, 20
places = rng.randint(0, columns, (rows, filled))
data = sp.csr_matrix((np.ones(rows * filled), places.ravel(), np.arange(0, rows * filled + 1, filled)), (rows, columns))
data.sum_duplicates()
truth = np.zeros(columns)
truth[:40] = 4 * rng.randn(40)
labels = (data.dot(truth) + 0.1 * rng.randn(rows) > 0).astype("float64")

x, y = sparse.csr_matrix("x", dtype="float64"), T.dvector("y")
w = theano.shared(np.zeros((columns, 1)), name="w")
z = sparse.dot(x, w)[:, 0]
loss = (T.nnet.softplus(z) - y * z).mean()
rate, penalty = 100.0, 7e-4
moved = w - rate * T.grad(loss, w)
shrunk = T.sgn(moved) * T.maximum(abs(moved) - rate * penalty, 0)
step = theano.function([x, y], loss, updates=[(w, shrunk)])
losses = [float(step(data, labels)) for _ in range(150)]

found = w.get_value()[:, 0]
print("loss", round(losses[-1], 3), "weights that are not zero:", int((found != 0).sum()), "of", columns)
assert losses[-1] < losses[0]

# %%
# The first weights, found and true; the others are zero or small.

fig, axis = plt.subplots(figsize=(6, 2.5))
axis.stem(found[:60], markerfmt=".", basefmt=" ", label="found")
axis.plot(truth[:60], "x", ms=4, label="true")
axis.legend()
fig.tight_layout()

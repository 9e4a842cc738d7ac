"""
Newton's method without the Hessian
===================================

Logistic regression with columns of very different scales, on which gradient descent crawls. Conjugate gradients solve
for Newton's step; all they need are products of the Hessian with a vector, by the R-operator on the gradient. The
conjugate gradients are a ``scan`` that stops early.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T
from theano.scan_module import until

rng = np.random.RandomState(7)
data = rng.randn(2000, 100) * np.logspace(0, -2, 100)
signs = np.sign(data.dot(rng.randn(100) * np.logspace(0, 1.5, 100)) + 0.5 * rng.randn(2000))

w = T.dvector("w")
loss = T.nnet.softplus(-signs * T.dot(data, w)).mean() + 1e-5 * T.sqr(w).sum()
g = T.grad(loss, w)


def conjugate_gradients(s, r, d, g, w):
    """One step for H s = -g; `r` is the residual, `d` the direction."""
    hd = T.Rop(g, w, d)
    alpha = T.dot(r, r) / T.dot(d, hd)
    new_r = r - alpha * hd
    new_d = new_r + T.dot(new_r, new_r) / T.dot(r, r) * d
    return (s + alpha * d, new_r, new_d), until(T.dot(new_r, new_r) < 1e-4 * T.dot(g, g))


(s, _, _), _ = theano.scan(conjugate_gradients, outputs_info=[T.zeros_like(w), -g, -g], non_sequences=[g, w], n_steps=300)
length = T.sqrt(T.sqr(g).sum())
newton = theano.function([w], [s[-1], s.shape[0], loss, length])
look = theano.function([w], loss)

at, norms, products = np.zeros(100), [], 0
for _ in range(40):
    step, count, value, norm = newton(at)
    norms.append(float(norm))
    if norm < 1e-9:
        break
    products += int(count)
    factor = 1.0
    while look(at + factor * step) > value and factor > 1e-6:
        factor /= 2
    at = at + factor * step
print(len(norms) - 1, "steps with", products, "products; the gradient is", f"{norms[-1]:.1e}")
assert norms[-1] < 1e-6

# %%
# The same number of products spent on gradient descent.

x = theano.shared(np.zeros(100))
descend = theano.function([], length, updates=[(x, x - 2.0 * g)], givens={w: x})
slow = [float(descend()) for _ in range(products)]
fig, axis = plt.subplots(figsize=(6, 2.5))
axis.semilogy(np.linspace(0, products, len(norms)), norms, label="Newton")
axis.semilogy(slow, label="descent")
axis.set_ylabel("norm of the gradient")
axis.set_xlabel("products with the Hessian, or steps")
axis.legend()
fig.tight_layout()

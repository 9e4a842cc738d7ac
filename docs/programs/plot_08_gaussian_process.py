"""
A Gaussian process
==================

Regression with a squared exponential covariance. The three hyper-parameters are found by maximizing the marginal
likelihood with SciPy, whose gradient passes through a Cholesky factorization.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import theano
import theano.tensor as T
from theano.tensor.slinalg import cholesky, solve_lower_triangular

rng = np.random.RandomState(4)
xs = np.sort(rng.uniform(-4, 4, 30))
ys = np.sin(1.5 * xs) + 0.15 * rng.randn(30)

theta, x, y, new = T.dvector("theta"), T.dvector("x"), T.dvector("y"), T.dvector("new")
scale, height, noise = (T.exp(theta[k]) for k in range(3))


def covariance(p, q):
    """Of the function at points `p` and at points `q`."""
    return height**2 * T.exp(-0.5 * T.sqr((p[:, None] - q[None, :]) / scale))


factor = cholesky(covariance(x, x) + (noise**2 + 1e-8) * T.eye(x.shape[0]))
white = solve_lower_triangular(factor, y)
loss = 0.5 * T.sqr(white).sum() + T.log(T.diag(factor)).sum() + 0.5 * x.shape[0] * np.log(2 * np.pi)
evaluate = theano.function([theta, x, y], [loss, T.grad(loss, theta)])
found = minimize(lambda t: [np.asarray(v) for v in evaluate(t, xs, ys)], np.zeros(3), jac=True, method="L-BFGS-B")
print("scale, height, noise:", np.exp(found.x).round(2), "in", found.nfev, "evaluations")
assert 0.05 < np.exp(found.x[2]) < 0.3

# %%
# The posterior mean with two deviations.

cross = solve_lower_triangular(factor, covariance(x, new))
mean, variance = T.dot(cross.T, white), height**2 - T.sqr(cross).sum(0)
predict = theano.function([theta, x, y, new], [mean, variance])
grid = np.linspace(-5, 5, 200)
middle, var = predict(found.x, xs, ys, grid)
width = 2 * np.sqrt(np.maximum(var, 0))
fig, axis = plt.subplots(figsize=(6, 3))
axis.fill_between(grid, middle - width, middle + width, alpha=0.3)
axis.plot(grid, middle)
axis.plot(xs, ys, "k.")
fig.tight_layout()

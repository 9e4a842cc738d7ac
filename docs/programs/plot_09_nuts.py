"""
The No-U-Turn sampler by hand
=============================

Bayesian logistic regression, drawn by NUTS (M. Hoffman and A. Gelman, arXiv:1111.4246, algorithm 3). Theano compiles
the leapfrog step with the gradient of the posterior; the tree is Python. Calls are cheap enough for that.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T

rng = np.random.RandomState(5)
data = np.column_stack([np.ones(100), rng.randn(100, 2)])
truth = np.array([0.5, 1.5, -1.0])
labels = (rng.rand(100) < 1 / (1 + np.exp(-data.dot(truth)))).astype("float64")

q, p, eps = T.dvector("q"), T.dvector("p"), T.dscalar("eps")


def log_posterior(q):
    """Normal prior of deviation 5, Bernoulli likelihood."""
    z = T.dot(data, q)
    return (labels * z - T.nnet.softplus(z)).sum() - T.sqr(q).sum() / 50


def gradient(q):
    """Of the logarithm of the posterior."""
    return T.grad(log_posterior(q), q)


middle = p + 0.5 * eps * gradient(q)
new_q = q + eps * middle
new_p = middle + 0.5 * eps * gradient(new_q)
leapfrog = theano.function([q, p, eps], [new_q, new_p, log_posterior(new_q) - 0.5 * T.sqr(new_p).sum()])
joint = theano.function([q, p], log_posterior(q) - 0.5 * T.sqr(p).sum())


def tree(q, p, slice_, direction, depth, eps):
    """Both ends, a draw, how many points are in the slice, whether to go on."""
    if depth == 0:
        q, p, value = leapfrog(q, p, direction * eps)
        return q, p, q, p, q, int(slice_ <= value), slice_ < value + 1000
    q_minus, p_minus, q_plus, p_plus, draw, n, on = tree(q, p, slice_, direction, depth - 1, eps)
    if on:
        if direction < 0:
            q_minus, p_minus, _, _, other, m, on = tree(q_minus, p_minus, slice_, direction, depth - 1, eps)
        else:
            _, _, q_plus, p_plus, other, m, on = tree(q_plus, p_plus, slice_, direction, depth - 1, eps)
        if m and rng.rand() < m / (n + m):
            draw = other
        n += m
        span = q_plus - q_minus
        on = on and span.dot(p_minus) >= 0 and span.dot(p_plus) >= 0
    return q_minus, p_minus, q_plus, p_plus, draw, n, on


def nuts(start, draws, eps):
    """A chain."""
    chain = [start]
    for _ in range(draws):
        q, p = chain[-1], rng.randn(len(start))
        slice_ = joint(q, p) - rng.exponential()
        q_minus = q_plus = draw = q
        p_minus = p_plus = p
        n, on, depth = 1, True, 0
        while on and depth < 8:
            direction = rng.choice([-1, 1])
            if direction < 0:
                q_minus, p_minus, _, _, other, m, on = tree(q_minus, p_minus, slice_, direction, depth, eps)
            else:
                _, _, q_plus, p_plus, other, m, on = tree(q_plus, p_plus, slice_, direction, depth, eps)
            if on and rng.rand() < m / n:
                draw = other
            n += m
            span = q_plus - q_minus
            on = on and span.dot(p_minus) >= 0 and span.dot(p_plus) >= 0
            depth += 1
        chain.append(draw)
    return np.array(chain)


chain = nuts(np.zeros(3), 1200, 0.15)[200:]
print("means", chain.mean(0).round(2), "deviations", chain.std(0).round(2), "truth", truth)
assert (abs(chain.mean(0) - truth) < 3 * chain.std(0)).all()

# %%
# The chain, and two of the parameters.

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(chain, lw=0.5)
right.plot(chain[:, 1], chain[:, 2], ".", ms=2)
right.plot(truth[1], truth[2], "k+", ms=12)
fig.tight_layout()

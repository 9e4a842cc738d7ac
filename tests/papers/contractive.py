"""A contractive autoencoder, its penalty in closed form and by `jacobian` (Rifai, Vincent, Muller, Glorot and Bengio, 2011)."""

import numpy as np

import theano
import theano.tensor as T


def run():
    rng = np.random.RandomState(3)
    n_visible, n_hidden, floatX = 9, 5, theano.config.floatX
    x_values = rng.rand(24, n_visible).astype(floatX)
    W = theano.shared(rng.uniform(-0.5, 0.5, (n_visible, n_hidden)).astype(floatX), name="W")
    b, c = theano.shared(np.zeros(n_hidden, floatX), name="b"), theano.shared(np.zeros(n_visible, floatX), name="c")
    x = T.matrix("x")
    y = T.nnet.sigmoid(T.dot(x, W) + b)
    z = T.nnet.sigmoid(T.dot(y, W.T) + c)
    slopes = T.reshape(y * (1 - y), (x.shape[0], 1, n_hidden)) * T.reshape(W, (1, n_visible, n_hidden))
    contraction = T.sum(slopes**2) / x.shape[0]
    one = x[0]
    J = theano.gradient.jacobian(T.nnet.sigmoid(T.dot(one, W) + b), one)
    reconstruction = -T.mean(T.sum(x * T.log(z) + (1 - x) * T.log(1 - z), axis=1))
    cost = reconstruction + 0.1 * contraction
    params = [W, b, c]
    train = theano.function(
        [theano.In(x, borrow=True)],
        [cost, contraction],
        updates=[(p, p - T.cast(0.2, floatX) * g) for p, g in zip(params, T.grad(cost, params))],
    )
    steps = [[float(v) for v in train(x_values[i % 2 :: 2])] for i in range(20)]
    both = theano.function([x], [(J**2).sum(), (slopes[0] ** 2).sum()])(x_values)
    hessian = theano.function([x], theano.gradient.hessian(cost, c)[0, :3])(x_values)
    return {"costs": [s[0] for s in steps[::5]], "contraction": [s[1] for s in steps[::5]], "norms": [float(v) for v in both],
            "hessian": hessian.tolist()}  # fmt: skip

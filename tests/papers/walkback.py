"""A generative stochastic network with walkback training (Bengio, Laufer, Alain and Yosinski, 2014)."""

import numpy as np

import theano
import theano.tensor as T
from theano.gradient import disconnected_grad
from theano.sandbox.rng_mrg import MRG_RandomStreams

streams = None


def salt_and_pepper(x, level):
    keep = streams.binomial(size=x.shape, n=1, p=1 - level, dtype=theano.config.floatX)
    salt = streams.binomial(size=x.shape, n=1, p=0.5, dtype=theano.config.floatX)
    return T.switch(keep, x, salt)


def add_noise(x, deviation):
    return x + streams.normal(size=x.shape, avg=0.0, std=deviation, dtype=theano.config.floatX)


def run():
    global streams
    streams = MRG_RandomStreams(7)
    rng = np.random.RandomState(4)
    floatX = theano.config.floatX
    sizes = [10, 8, 6]
    data = (rng.rand(30, 10) < np.linspace(0.1, 0.9, 10)).astype(floatX)
    Ws = [theano.shared(rng.uniform(-0.4, 0.4, s).astype(floatX), name="W%d" % i) for i, s in enumerate(zip(sizes, sizes[1:]))]
    bs = [theano.shared(np.zeros(n, floatX), name="b%d" % i) for i, n in enumerate(sizes)]

    def update_layers(states, noisy):
        for parity in (1, 0):
            for i in range(parity, len(sizes), 2):
                pre = bs[i]
                if i > 0:
                    pre = pre + T.dot(states[i - 1], Ws[i - 1])
                if i + 1 < len(sizes):
                    pre = pre + T.dot(states[i + 1], Ws[i].T)
                if i == 0:
                    visible = T.nnet.sigmoid(pre)
                    states[0] = (
                        streams.binomial(size=visible.shape, p=disconnected_grad(visible), dtype=floatX) if noisy else visible
                    )
                else:
                    states[i] = add_noise(T.tanh(add_noise(pre, 0.5)), 0.5) if noisy else T.tanh(pre)
        return visible

    x = T.matrix("x")
    states = [salt_and_pepper(x, 0.3), T.zeros((x.shape[0], 8)), T.zeros((x.shape[0], 6))]
    chain = [update_layers(states, noisy=True) for _ in range(3)]
    cost = sum(T.nnet.binary_crossentropy(visible, x).mean() for visible in chain)
    params = Ws + bs
    grads = T.grad(cost, params)
    velocities = [theano.shared(p.get_value() * 0) for p in params]
    updates = [(v, 0.5 * v - 0.5 * g) for v, g in zip(velocities, grads)]
    updates += [(p, p + u) for p, (_, u) in zip(params, list(updates))]
    train = theano.function([x], [cost, chain[-1].mean()], updates=updates, allow_input_downcast=True)
    steps = [[float(v) for v in train(data)] for _ in range(12)]
    return {"costs": [s[0] for s in steps[::3]], "means": [s[1] for s in steps[::3]]}

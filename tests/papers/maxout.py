"""A maxout network with dropout, momentum and limited norms (Goodfellow, Warde-Farley, Mirza, Courville and Bengio, 2013)."""

from collections import OrderedDict

import numpy as np

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams


def sharedX(value, name=None):
    return theano.shared(np.asarray(value, dtype=theano.config.floatX), name=name)


class Maxout:
    def __init__(self, rng, n_in, units, pieces, include=0.5, max_col_norm=1.5):
        self.units, self.pieces, self.include, self.max_col_norm = units, pieces, include, max_col_norm
        self.W = sharedX(rng.uniform(-0.3, 0.3, (n_in, units * pieces)), "W")
        self.b = sharedX(np.zeros(units * pieces), "b")
        self.params = [self.W, self.b]

    def fprop(self, x, streams=None):
        if streams is not None:
            x = x * streams.binomial(x.shape, p=self.include, dtype=x.dtype) / self.include
        z = T.dot(x, self.W) + self.b
        p = None
        for i in range(self.pieces):
            piece = z[:, i :: self.pieces]
            p = piece if p is None else T.maximum(p, piece)
        return p

    def modify_updates(self, updates):
        W = updates[self.W]
        norms = T.sqrt(T.sum(T.sqr(W), axis=0))
        updates[self.W] = W * (T.clip(norms, 0, self.max_col_norm) / (1e-7 + norms))


class Softmax(Maxout):
    def __init__(self, rng, n_in, classes):
        Maxout.__init__(self, rng, n_in, classes, 1, include=0.8)

    def fprop(self, x, streams=None):
        return T.nnet.softmax(Maxout.fprop(self, x, streams))


def run():
    rng = np.random.RandomState(1)
    x_values = rng.randn(60, 8).astype(theano.config.floatX)
    y_values = (x_values[:, 0] * x_values[:, 1] > 0).astype("int32") + (x_values[:, 2] > 1)
    layers = [Maxout(rng, 8, 10, 3, include=0.8), Maxout(rng, 10, 6, 2), Softmax(rng, 6, 3)]
    streams = MRG_RandomStreams(2013)
    x, y = T.matrix("x"), T.ivector("y")
    noisy, clean = x, x
    for layer in layers:
        noisy, clean = layer.fprop(noisy, streams), layer.fprop(clean)
    cost = T.nnet.categorical_crossentropy(noisy, y).mean()
    params = [p for layer in layers for p in layer.params]
    updates = OrderedDict()
    for p, g in zip(params, T.grad(cost, params)):
        v = sharedX(p.get_value() * 0)
        updates[v] = 0.9 * v - 0.05 * g
        updates[p] = p + updates[v]
    for layer in layers:
        layer.modify_updates(updates)
    data = theano.shared(x_values), theano.shared(y_values.astype("int32"))
    index = T.lscalar("index")
    batch = slice(index * 20, (index + 1) * 20)
    train = theano.function([index], cost, updates=updates, givens={x: data[0][batch], y: data[1][batch]})
    errors = theano.function([], T.neq(clean.argmax(axis=1), y).mean(), givens={x: data[0], y: data[1]})
    costs = [float(train(i % 3)) for i in range(30)]
    return {"costs": costs[::5], "errors": float(errors()), "weights": float(abs(layers[0].W.get_value()).sum())}

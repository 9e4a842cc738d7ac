"""A restricted Boltzmann machine, trained by contrastive divergence with a persistent chain (Hinton, 2002; Tieleman, 2008)."""

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStreams


class RBM:
    def __init__(self, rng, n_visible, n_hidden):
        self.W = theano.shared(np.asarray(rng.uniform(-0.2, 0.2, (n_visible, n_hidden)), theano.config.floatX), "W", borrow=True)
        self.hbias = theano.shared(np.zeros(n_hidden, theano.config.floatX), "hbias")
        self.vbias = theano.shared(np.zeros(n_visible, theano.config.floatX), "vbias")
        self.params = [self.W, self.hbias, self.vbias]
        self.streams = RandomStreams(rng.randint(2**30))

    def free_energy(self, v):
        return -T.dot(v, self.vbias) - T.sum(T.log(1 + T.exp(T.dot(v, self.W) + self.hbias)), axis=1)

    def sample(self, mean):
        return self.streams.binomial(size=mean.shape, n=1, p=mean, dtype=theano.config.floatX)

    def gibbs_hvh(self, h):
        v_mean = T.nnet.sigmoid(T.dot(h, self.W.T) + self.vbias)
        v = self.sample(v_mean)
        h_mean = T.nnet.sigmoid(T.dot(v, self.W) + self.hbias)
        return [v_mean, v, h_mean, self.sample(h_mean)]

    def cost_updates(self, x, lr, persistent, k):
        (_, samples, _, hidden), updates = theano.scan(self.gibbs_hvh, outputs_info=[None, None, None, persistent], n_steps=k)
        end = samples[-1]
        cost = T.mean(self.free_energy(x)) - T.mean(self.free_energy(end))
        for param, g in zip(self.params, T.grad(cost, self.params, consider_constant=[end])):
            updates[param] = param - g * T.cast(lr, theano.config.floatX)
        updates[persistent] = hidden[-1]
        flipped_at = theano.shared(0, "bit")
        rounded = T.round(x)
        flipped = T.set_subtensor(rounded[:, flipped_at], 1 - rounded[:, flipped_at])
        n = self.vbias.get_value().size
        monitor = T.mean(n * T.log(T.nnet.sigmoid(self.free_energy(flipped) - self.free_energy(rounded))))
        updates[flipped_at] = (flipped_at + 1) % n
        return monitor, updates


def run():
    rng = np.random.RandomState(2)
    prototypes = rng.randint(0, 2, (3, 12))
    data = theano.shared(np.asarray(abs(prototypes[rng.randint(0, 3, 40)] - (rng.rand(40, 12) < 0.05)), theano.config.floatX))
    x, index = T.matrix("x"), T.lscalar()
    rbm = RBM(rng, 12, 5)
    chain = theano.shared(np.zeros((10, 5), theano.config.floatX), borrow=True)
    cost, updates = rbm.cost_updates(x, 0.1, chain, 3)
    train = theano.function([index], cost, updates=updates, givens={x: data[index * 10 : (index + 1) * 10]})
    costs = [float(train(i % 4)) for i in range(24)]
    energy = theano.function([], rbm.free_energy(data).mean())
    return {"costs": costs[::6], "energy": float(energy()), "chain": float(chain.get_value().sum())}

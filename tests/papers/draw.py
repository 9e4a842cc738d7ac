"""Writing an image step by step with attention (DRAW: Gregor, Danihelka, Graves, Rezende and Wierstra, 2015), trained by Adam."""

import numpy as np

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams

WIDTH, READ, HIDDEN, LATENT, STEPS = 5, 2, 8, 3, 3


def filterbank(l):
    gx, gy = (WIDTH + 1) / 2.0 * (l[:, 0] + 1), (WIDTH + 1) / 2.0 * (l[:, 1] + 1)
    sigma, delta, gamma = T.exp(l[:, 2] / 2.0), (WIDTH - 1.0) / (READ - 1.0) * T.exp(l[:, 3]), T.exp(l[:, 4]).dimshuffle(0, "x")
    shift = T.arange(READ) - READ / 2.0 - 0.5

    def bank(center):
        mu = center.dimshuffle(0, "x") + delta.dimshuffle(0, "x") * shift
        distance = T.arange(WIDTH).dimshuffle("x", "x", 0) - mu.dimshuffle(0, 1, "x")
        F = T.exp(-(distance**2) / 2.0 / (sigma.dimshuffle(0, "x", "x") ** 2))
        return F / (F.sum(axis=-1).dimshuffle(0, 1, "x") + 1e-4)

    return bank(gx), bank(gy), gamma


def run():
    rng = np.random.RandomState(6)
    streams = MRG_RandomStreams(15)
    floatX = theano.config.floatX
    params = []

    def linear(n_in, n_out):
        W = theano.shared((rng.randn(n_in, n_out) * 0.2).astype(floatX))
        b = theano.shared(np.zeros(n_out, floatX))
        params.extend([W, b])
        return lambda x: T.dot(x, W) + b

    def lstm(n_in):
        gates = linear(n_in + HIDDEN, 4 * HIDDEN)

        def step(x, h, c):
            i, f, o, g = (gates(T.concatenate([x, h], axis=1))[:, n * HIDDEN : (n + 1) * HIDDEN] for n in range(4))
            c = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
            return T.nnet.sigmoid(o) * T.tanh(c), c

        return step

    encode, decode = lstm(2 * READ * READ + HIDDEN), lstm(LATENT)
    to_read, to_mu, to_logsigma = linear(HIDDEN, 5), linear(HIDDEN, LATENT), linear(HIDDEN, LATENT)
    to_write, to_patch = linear(HIDDEN, 5), linear(HIDDEN, READ * READ)
    x = T.matrix("x")

    def step(noise, canvas, h_enc, c_enc, h_dec, c_dec, kl, x):
        fx, fy, gamma = filterbank(to_read(h_dec))

        def glimpse(image):
            image = image.reshape((x.shape[0], WIDTH, WIDTH))
            return gamma * T.batched_dot(T.batched_dot(fy, image), fx.dimshuffle(0, 2, 1)).reshape((x.shape[0], READ * READ))

        error = x - T.nnet.sigmoid(canvas)
        h_enc, c_enc = encode(T.concatenate([glimpse(x), glimpse(error), h_dec], axis=1), h_enc, c_enc)
        mu, logsigma = to_mu(h_enc), to_logsigma(h_enc)
        kl = kl + 0.5 * (mu**2 + T.exp(2 * logsigma) - 2 * logsigma - 1).sum(axis=1)
        h_dec, c_dec = decode(mu + T.exp(logsigma) * noise, h_dec, c_dec)
        fx, fy, gamma = filterbank(to_write(h_dec))
        patch = to_patch(h_dec).reshape((x.shape[0], READ, READ))
        written = T.batched_dot(T.batched_dot(fy.dimshuffle(0, 2, 1), patch), fx).reshape((x.shape[0], WIDTH * WIDTH))
        return canvas + written / gamma, h_enc, c_enc, h_dec, c_dec, kl

    noise = streams.normal((STEPS, x.shape[0], LATENT), dtype=floatX)
    zeros = T.zeros((x.shape[0], HIDDEN))
    outputs, _ = theano.scan(
        step,
        sequences=noise,
        outputs_info=[T.zeros_like(x), zeros, zeros, zeros, zeros, T.zeros((x.shape[0],))],
        non_sequences=[x],
    )
    reconstruction = T.nnet.binary_crossentropy(T.nnet.sigmoid(outputs[0][-1]), x).sum(axis=1)
    cost = (reconstruction + outputs[-1][-1]).mean()
    updates, t = [], theano.shared(np.asarray(0.0, floatX))
    rate = 0.02 * T.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
    for p, g in zip(params, T.grad(cost, params)):
        m, v = theano.shared(p.get_value() * 0), theano.shared(p.get_value() * 0)
        new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        updates += [(m, new_m), (v, new_v), (p, p - rate * new_m / (T.sqrt(new_v) + 1e-8))]
    train = theano.function([x], [cost, outputs[-1][-1].mean()], updates=updates + [(t, t + 1)])
    data = (rng.rand(8, WIDTH * WIDTH) < np.tile(np.linspace(0, 1, WIDTH), WIDTH)).astype(floatX)
    steps = [[float(v) for v in train(data)] for _ in range(8)]
    return {"costs": [s[0] for s in steps[::2]], "divergences": [s[1] for s in steps[::2]]}

"""An LSTM over padded sentences with mean pooling, trained by adadelta (Hochreiter and Schmidhuber, 1997; Zeiler, 2012)."""

from collections import OrderedDict

import numpy as np

import theano
import theano.tensor as T
from theano import config
from theano.sandbox.rng_mrg import MRG_RandomStreams as RandomStreams


def numpy_floatX(data):
    return np.asarray(data, dtype=config.floatX)


def init_tparams(rng, words, size):
    params = OrderedDict()
    params["Wemb"] = 0.1 * rng.randn(words, size)
    params["lstm_W"] = np.concatenate([rng.randn(size, size) / 3 for _ in range(4)], axis=1)
    params["lstm_U"] = np.concatenate([np.linalg.qr(rng.randn(size, size))[0] for _ in range(4)], axis=1)
    params["lstm_b"] = np.zeros(4 * size)
    params["U"] = 0.1 * rng.randn(size, 2)
    params["b"] = np.zeros(2)
    return OrderedDict((k, theano.shared(numpy_floatX(v), name=k)) for k, v in params.items())


def lstm_layer(tparams, state_below, mask):
    nsteps, n_samples = state_below.shape[0], state_below.shape[1]
    dim = tparams["lstm_U"].get_value().shape[0]

    def part(x, n):
        return x[:, n * dim : (n + 1) * dim]

    def step(m_, x_, h_, c_):
        preact = T.dot(h_, tparams["lstm_U"]) + x_
        i, f, o = (T.nnet.sigmoid(part(preact, n)) for n in range(3))
        c = f * c_ + i * T.tanh(part(preact, 3))
        c = m_[:, None] * c + (1.0 - m_)[:, None] * c_
        h = o * T.tanh(c)
        return m_[:, None] * h + (1.0 - m_)[:, None] * h_, c

    below = T.dot(state_below, tparams["lstm_W"]) + tparams["lstm_b"]
    start = T.alloc(numpy_floatX(0.0), n_samples, dim)
    (h, _), _ = theano.scan(step, sequences=[mask, below], outputs_info=[start, start], name="lstm", n_steps=nsteps)
    return h


def adadelta(tparams, grads, inputs, cost):
    zipped = [theano.shared(p.get_value() * numpy_floatX(0.0), name="%s_grad" % k) for k, p in tparams.items()]
    running_up2 = [theano.shared(p.get_value() * numpy_floatX(0.0)) for p in tparams.values()]
    running_g2 = [theano.shared(p.get_value() * numpy_floatX(0.0)) for p in tparams.values()]
    zgup = [(zg, g) for zg, g in zip(zipped, grads)]
    rg2up = [(rg2, 0.95 * rg2 + 0.05 * (g**2)) for rg2, g in zip(running_g2, grads)]
    f_grad_shared = theano.function(inputs, cost, updates=zgup + rg2up, name="adadelta_f_grad_shared")
    updir = [-T.sqrt(ru2 + 1e-6) / T.sqrt(rg2 + 1e-6) * zg for zg, ru2, rg2 in zip(zipped, running_up2, running_g2)]
    ru2up = [(ru2, 0.95 * ru2 + 0.05 * (ud**2)) for ru2, ud in zip(running_up2, updir)]
    lr = T.scalar(name="lr")
    f_update = theano.function(
        [lr],
        [],
        updates=ru2up + [(p, p + ud) for p, ud in zip(tparams.values(), updir)],
        on_unused_input="ignore",
        name="adadelta_f_update",
    )
    return f_grad_shared, f_update


def run():
    rng = np.random.RandomState(5)
    lengths = rng.randint(2, 7, 12)
    x_values = np.zeros((6, 12), "int64")
    mask_values = np.zeros((6, 12), config.floatX)
    for j, n in enumerate(lengths):
        x_values[:n, j], mask_values[:n, j] = rng.randint(1, 15, n), 1
    y_values = (x_values.max(axis=0) > 10).astype("int64")
    tparams = init_tparams(rng, 15, 6)
    trng, use_noise = RandomStreams(123), theano.shared(numpy_floatX(0.0))
    x, mask, y = T.matrix("x", dtype="int64"), T.matrix("mask", dtype=config.floatX), T.vector("y", dtype="int64")
    emb = tparams["Wemb"][x.flatten()].reshape([x.shape[0], x.shape[1], 6])
    proj = lstm_layer(tparams, emb, mask)
    proj = (proj * mask[:, :, None]).sum(axis=0) / mask.sum(axis=0)[:, None]
    proj = T.switch(use_noise, proj * trng.binomial(proj.shape, p=0.5, n=1, dtype=proj.dtype), proj * 0.5)
    pred = T.nnet.softmax(T.dot(proj, tparams["U"]) + tparams["b"])
    cost = -T.log(pred[T.arange(x.shape[1]), y] + 1e-8).mean() + 1e-3 * (tparams["U"] ** 2).sum()
    f_pred = theano.function([x, mask], pred.argmax(axis=1), name="f_pred")
    f_grad_shared, f_update = adadelta(tparams, T.grad(cost, wrt=list(tparams.values())), [x, mask, y], cost)
    costs = []
    for i in range(20):
        use_noise.set_value(numpy_floatX(i < 15))
        costs.append(float(f_grad_shared(x_values, mask_values, y_values)))
        f_update(0.01)
    return {"costs": costs[::3], "predictions": f_pred(x_values, mask_values).tolist(),
            "embedding": float(abs(tparams["Wemb"].get_value()).sum())}  # fmt: skip

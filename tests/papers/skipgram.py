"""Skip-gram with negative sampling: only rows of words change (Mikolov, Sutskever, Chen, Corrado, Dean, 2013)."""

import numpy as np

import theano
import theano.tensor as T


def run():
    rng = np.random.RandomState(7)
    words, size, floatX = 20, 6, theano.config.floatX
    frequency = 1.0 / np.arange(1, words + 1)
    text = rng.choice(words, size=200, p=frequency / frequency.sum())
    vectors = theano.shared(((rng.rand(words, size) - 0.5) / size).astype(floatX), name="vectors")
    contexts = theano.shared(np.zeros((words, size), floatX), name="contexts")
    streams = T.shared_randomstreams.RandomStreams(13)
    center, context, lr = T.lvector("center"), T.lvector("context"), T.scalar("lr")
    negatives = streams.random_integers((center.shape[0], 4), 0, words - 1)
    used, right, wrong = vectors[center], contexts[context], contexts[negatives.flatten()]
    positive = T.nnet.sigmoid((used * right).sum(axis=1))
    negative = T.nnet.sigmoid(-(used.dimshuffle(0, "x", 1) * wrong.reshape((center.shape[0], 4, size))).sum(axis=2))
    cost = -(T.log(positive).sum() + T.log(negative).sum()) / center.shape[0]
    gradients = T.grad(cost, [used, right, wrong])
    both = T.inc_subtensor(right, -lr * gradients[1])
    updates = [
        (vectors, T.inc_subtensor(used, -lr * gradients[0])),
        (contexts, T.inc_subtensor(both[negatives.flatten()], -lr * gradients[2])),
    ]
    train = theano.function([center, context, theano.In(lr, value=0.5)], cost, updates=updates, allow_input_downcast=True)
    pairs = [(text[i], text[j]) for i in range(len(text)) for j in range(max(0, i - 2), min(len(text), i + 3)) if i != j]
    costs = [float(train(*np.array(pairs[start : start + 40]).T)) for start in range(0, len(pairs) - 40, 40)]
    x = T.lscalar()
    unit = vectors / T.sqrt(T.sqr(vectors).sum(axis=1, keepdims=True))
    near = theano.function([x], T.argsort(-T.dot(unit, unit[x]))[:4])
    return {"costs": costs[::4], "near": near(0).tolist(), "norm": float(abs(contexts.get_value()).sum())}

"""LeNet as tutorials and papers of several years wrote it: data by slices, pooling and convolution under their names then."""

import warnings

import numpy as np
import pytest

import theano
from theano import tensor as T
from theano.cli.demo import load_digits

BATCH = 40


def pooled_now(images, filters, image_shape, filter_shape):
    from theano.tensor.nnet import conv2d
    from theano.tensor.signal import pool

    out = conv2d(input=images, filters=filters, filter_shape=filter_shape, input_shape=image_shape)
    return pool.pool_2d(input=out, ws=(2, 2), ignore_border=True)


def pooled_before(images, filters, image_shape, filter_shape):
    from theano.tensor.nnet import conv
    from theano.tensor.signal import downsample

    out = conv.conv2d(input=images, filters=filters, filter_shape=filter_shape, image_shape=image_shape)
    return downsample.max_pool_2d(input=out, ds=(2, 2), ignore_border=True)


def lenet(pooled, images, labels):
    """The training function of a batch's number, and the error of a batch."""
    rng = np.random.RandomState(23455)
    x_data = theano.shared(images.astype(theano.config.floatX), borrow=True)
    y_data = T.cast(theano.shared(labels.astype(theano.config.floatX), borrow=True), "int32")
    index, x, y = T.lscalar(), T.matrix("x"), T.ivector("y")
    params = []

    def uniform(shape, fan_in, fan_out):
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        params.append(theano.shared(np.asarray(rng.uniform(-bound, bound, shape), dtype=theano.config.floatX), borrow=True))
        params.append(theano.shared(np.zeros(shape[0] if len(shape) == 4 else shape[1], theano.config.floatX), borrow=True))
        return params[-2:]

    layer = x.reshape((BATCH, 1, 20, 20))
    for image_shape, filter_shape in (((BATCH, 1, 20, 20), (4, 1, 5, 5)), ((BATCH, 4, 8, 8), (6, 4, 5, 5))):
        w, b = uniform(filter_shape, np.prod(filter_shape[1:]), filter_shape[0] * np.prod(filter_shape[2:]) // 4)
        layer = T.tanh(pooled(layer, w, image_shape, filter_shape) + b.dimshuffle("x", 0, "x", "x"))
    w, b = uniform((6 * 2 * 2, 30), 24, 30)
    layer = T.tanh(T.dot(layer.flatten(2), w) + b)
    w, b = uniform((30, 10), 30, 10)
    p = T.nnet.softmax(T.dot(layer, w) + b)
    cost = -T.mean(T.log(p)[T.arange(y.shape[0]), y])
    updates = [(param, param - 0.3 * grad) for param, grad in zip(params, T.grad(cost, params), strict=True)]
    rows = slice(index * BATCH, (index + 1) * BATCH)
    givens = {x: x_data[rows], y: y_data[rows]}
    errors = T.mean(T.neq(T.argmax(p, axis=1), y))
    return theano.function([index], cost, updates=updates, givens=givens), theano.function([index], errors, givens=givens)


@pytest.mark.slow
def test_lenet_under_the_names_of_its_years():
    digits = load_digits()
    images = np.zeros((400, 20, 20))
    images[:, 2:18, 2:18] = digits.x_train[:400].reshape(-1, 8, 8).repeat(2, axis=1).repeat(2, axis=2)
    costs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pooled in (pooled_now, pooled_before):
            train, errors = lenet(pooled, images.reshape(400, 400), digits.y_train[:400])
            costs.append([float(train(i)) for _ in range(12) for i in range(400 // BATCH)])
            assert np.mean([errors(i) for i in range(400 // BATCH)]) < 0.15
    np.testing.assert_allclose(costs[0], costs[1], rtol=1e-4)

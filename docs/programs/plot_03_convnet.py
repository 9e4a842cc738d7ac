"""
A convolutional net
===================

Two convolutions with pooling on handwritten digits of 8 x 8 pixels, those of ``theano demo``.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T
from theano.cli.demo import load_digits
from theano.tensor.signal.pool import pool_2d

digits = load_digits()
rng = np.random.RandomState(0)
train_x, train_y = digits.x_train.reshape(-1, 1, 8, 8), digits.y_train
test_x, test_y = digits.x_test.reshape(-1, 1, 8, 8), digits.y_test


def weight(*shape):
    """Random numbers that keep the size of activations."""
    value = rng.randn(*shape) * np.sqrt(2 / np.prod(shape[1:] if len(shape) == 4 else shape[:1]))
    return theano.shared(value.astype(train_x.dtype))


params = [weight(16, 1, 3, 3), weight(32, 16, 3, 3), weight(32 * 2 * 2, 10)]


def logits(x):
    """Convolution, rectifier, pooling, twice; then a linear layer."""
    for w in params[:2]:
        x = pool_2d(T.nnet.relu(T.nnet.conv2d(x, w, border_mode="half")), ws=(2, 2), ignore_border=True)
    return T.dot(x.flatten(2), params[2])


x = T.TensorType(str(train_x.dtype), (False,) * 4)("x")
y = T.TensorType(str(train_y.dtype), (False,))("y")
cost = T.nnet.categorical_crossentropy(T.nnet.softmax(logits(x)), y).mean()
updates = []
for param, grad in zip(params, T.grad(cost, params)):
    speed = theano.shared(param.get_value() * 0)
    faster = T.cast(0.9 * speed - 0.05 * grad, param.dtype)
    updates += [(speed, faster), (param, param + faster)]
step = theano.function([x, y], cost, updates=updates)
predict = theano.function([x], logits(x).argmax(1))

for _ in range(6):
    order = rng.permutation(len(train_x))
    costs = [float(step(train_x[part], train_y[part])) for part in np.array_split(order, len(order) // 50)]
right = (predict(test_x) == test_y).mean()
print(f"{right:.3f} of the digits that it never saw are right")
assert right > 0.95

# %%
# The filters of the first layer.

fig, axes = plt.subplots(2, 8, figsize=(6, 1.8))
for axis, image in zip(axes.ravel(), params[0].get_value()[:, 0]):
    axis.imshow(image, cmap="gray")
    axis.axis("off")

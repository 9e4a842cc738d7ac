"""Rewrites of sigmoids, softmaxes and crossentropies."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano.tensor as T
from theano.compile.ops import Shape_i
from theano.tensor import nnet
from theano.tensor.nnet.nnet import CrossentropyCategorical1HotGrad, crossentropy_categorical_1hot, softmax_grad
from theano.tensor.nnet.nnet import crossentropy_softmax_1hot_with_bias_dx as dx
from theano.tensor.nnet.softmax import logsoftmax_grad

x, y, g = T.dvectors("x", "y", "g")
m, k = T.dmatrices("m", "k")
t = T.dtensor3("t")
s = T.dscalar("s")
i, j = T.lvectors("i", "j")
u8 = T.vector("u8", dtype="uint8")
km = T.lmatrix("km")
z, zm = T.zvector("z"), T.zmatrix("zm")
X, G = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])
M = np.linspace(0.3, 2.1, 9).reshape(3, 3)
K = np.cos(np.arange(9.0)).reshape(3, 3)
B = np.arange(24.0).reshape(2, 3, 4) / 7
I = np.array([2, 0, 1])
U = np.array([0, 3, 5], "uint8")
LARGE = np.array([[2**62, 2**62, 1], [5, -7, 2**62], [3, 2, 1]])
E = T.exp(m)
S = E.sum(axis=1, keepdims=True)
D = softmax_grad(k, nnet.softmax(m))
MERGED = ["merge", "constant_folding"]
APPROXIMATE = 0.15


def total(matrix):
    """The sums of the rows, as a column."""
    return matrix.sum(axis=1, keepdims=True)


def picked(matrix, labels=i):
    """One element of each row."""
    return matrix[T.arange(Shape_i(0)(labels)), labels]


def at_labels(values, labels=i):
    """The gradient of `picked` of a matrix like `m`."""
    return T.grad(None, m, known_grads={picked(m, labels): values})


def of_softmax(gradient):
    """The gradient of the softmax of `m`, of a gradient that depends on the softmax."""
    p = nnet.softmax(m)
    return softmax_grad(gradient(p), p)


def zeros():
    return T.constant(np.zeros((3, 3)))


def gradient_of_crossentropy(values, softmax):
    return CrossentropyCategorical1HotGrad()(values, softmax, i)


def case(name, inputs, build, values, after, near_miss=(), rtol=1e-7, **options):
    return Case(name, inputs, build, values, after, near_miss, companions=MERGED, rtol=rtol, **options)


CASES = [
    # Sigmoids.
    case("local_log_sigmoid", [x], lambda: T.log(nnet.sigmoid(x)), [X], "neg scalar_softplus neg",
         lambda: T.log(T.tanh(x))),
    case("local_log_sigmoid", [u8], lambda: T.log(nnet.sigmoid(u8)), [U], "convert_to_float32 neg scalar_softplus neg",
         rtol=1e-5),
    case("local_log1p_to_softplus", [x], lambda: T.log1p(T.exp(x)), [X], "scalar_softplus",
         (lambda: T.log1p(T.expm1(x)), lambda: T.log1p(2 * T.exp(x)), lambda: T.log1p(nnet.sigmoid(x)),
          lambda: T.log1p(T.exp(z)))),
    case("local_log1p_to_softplus", [x], lambda: T.log1p(-nnet.sigmoid(x)), [X], "scalar_softplus neg"),
    case("local_1msigmoid", [x], lambda: 1 - nnet.sigmoid(x), [X], "neg scalar_sigmoid",
         (lambda: 2 - nnet.sigmoid(x), lambda: nnet.sigmoid(x) * (1 - nnet.sigmoid(x)) + nnet.sigmoid(x))),
    case("local_1msigmoid", [x], lambda: nnet.sigmoid(x) * (1 - nnet.sigmoid(x)), [X],
         "neg scalar_sigmoid scalar_sigmoid mul"),
    case("local_1msigmoid", [x], lambda: nnet.sigmoid(x) + (nnet.sigmoid(x) + 3) / (1 - nnet.sigmoid(x)), [X],
         "neg scalar_sigmoid scalar_sigmoid add true_div add"),
    case("local_1msigmoid", [u8], lambda: 1 - nnet.sigmoid(u8), [U], "convert_to_float32 neg scalar_sigmoid", rtol=1e-5),
    case("local_inv_1_plus_exp", [x], lambda: T.inv(1 + T.exp(x)), [X], "neg scalar_sigmoid",
         (lambda: T.inv(2 + T.exp(x)), lambda: T.inv(1 + T.exp(z)))),
    case("local_inv_1_plus_exp", [u8], lambda: T.inv(1 + T.exp(u8)), [U], "convert_to_float32 neg scalar_sigmoid", rtol=1e-5),
    case("local_exp_over_1_plus_exp", [x], lambda: T.exp(x) / (1 + T.exp(x)), [X], "scalar_sigmoid",
         (lambda: T.exp(x) / (2 + T.exp(x)), lambda: T.expm1(x) / (1 + T.exp(x)),
          lambda: T.exp(z) / (1 + T.exp(z)))),
    case("local_exp_over_1_plus_exp", [u8], lambda: u8 * u8 / (1 + T.exp(u8)), [U],
         "mul convert_to_float32 neg scalar_sigmoid mul", rtol=1e-5),
    case("local_exp_over_1_plus_exp", [x, y], lambda: y / (1 + T.exp(x)), [X, G], "neg scalar_sigmoid mul"),
    case("local_sigm_times_exp", [x], lambda: T.exp(x) * nnet.sigmoid(-x), [X], "scalar_sigmoid",
         (lambda: T.exp(x) * nnet.sigmoid(x), lambda: T.exp(u8) * nnet.sigmoid(-u8))),
    case("local_ultra_fast_sigmoid", [x], lambda: nnet.sigmoid(x), [X], "ultra_fast_scalar_sigmoid", lambda: T.tanh(x),
         rtol=APPROXIMATE, no_gradient_after="an approximation of the sigmoid has the slope of an approximation"),
    case("local_hard_sigmoid", [x], lambda: nnet.sigmoid(x), [X / 2], "mul add clip", lambda: T.tanh(x), rtol=APPROXIMATE,
         no_gradient_after="the slope of straight lines is not that of the sigmoid"),
    # Softmaxes.
    case("local_log_softmax", [m], lambda: T.log(nnet.softmax(m)), [M], "LogSoftmax", lambda: T.log1p(nnet.softmax(m))),
    case("local_log_of_indexed_softmax", [m, i], lambda: T.log(picked(nnet.softmax(m))), [M, I],
         "Shape_i LogSoftmax ARange AdvancedSubtensor", lambda: T.log(picked(m))),
    case("local_log_of_part_of_softmax", [m], lambda: T.log(nnet.softmax(m)[0]), [M], "LogSoftmax Subtensor",
         (lambda: T.log(m[0]), lambda: T.log1p(nnet.softmax(m)[0]))),
    case("local_log_of_part_of_softmax", [m], lambda: T.log(nnet.softmax(m)[1:].T[:, 1]), [M],
         "LogSoftmax Subtensor DimShuffle Subtensor"),
    case("local_log_of_part_of_softmax", [m, i], lambda: T.log(nnet.softmax(m)[i]), [M, I], "LogSoftmax AdvancedSubtensor1"),
    case("local_grad_of_log_of_part_of_softmax", [m, x], lambda: of_softmax(lambda p: T.inc_subtensor(zeros()[1], x / p[1])),
         [M, X], "Softmax IncSubtensor LogSoftmaxGrad",
         lambda: of_softmax(lambda p: T.inc_subtensor(zeros()[1], x / p[0]))),
    case("local_grad_of_log_of_part_of_softmax", [m, x, k],
         lambda: of_softmax(lambda p: k + T.inc_subtensor(zeros()[:, 2], -x / (p[:, 2] * 3))), [M, X, K],
         "Softmax neg true_div IncSubtensor mul add LogSoftmaxGrad"),
    case("local_grad_of_log_of_part_of_softmax", [m, k],
         lambda: of_softmax(lambda p: T.switch(T.gt(k, 0), (k / p.T).T, 0)), [M, K],
         "DimShuffle GT Softmax Switch LogSoftmaxGrad"),
    case("local_logsoftmax_of_difference", [m], lambda: m - T.log(T.sum(T.exp(m), axis=1, keepdims=True)), [M], "LogSoftmax",
         (lambda: k - T.log(T.sum(T.exp(m), axis=1, keepdims=True)), lambda: m - T.log(T.sum(T.exp(m), keepdims=True)))),
    case("local_logsoftmax_of_difference", [m], lambda: m - T.log(T.sum(T.exp(m), axis=0, keepdims=True)), [M],
         "DimShuffle LogSoftmax DimShuffle"),
    case("local_logsoftmax_of_difference", [m],
         lambda: m - (m.max(1, keepdims=True) + T.log(T.sum(T.exp(m - m.max(1, keepdims=True)), axis=1, keepdims=True))), [M],
         "LogSoftmax"),
    case("local_softmax_simplifier", [m], lambda: nnet.softmax_graph(m), [M], "Softmax",
         (lambda: T.exp(m) / T.sum(T.exp(m), axis=1), lambda: T.exp(k) / T.sum(T.exp(m), axis=1, keepdims=True))),
    case("local_softmax_simplifier", [t], lambda: T.exp(t) / T.sum(T.exp(t), axis=2, keepdims=True), [B],
         "Shape Subtensor Subtensor Subtensor MakeVector mul MakeVector Reshape Softmax Reshape"),
    case("local_softmax_with_bias", [m, x], lambda: nnet.softmax(m + x), [M, X], "SoftmaxWithBias",
         (lambda: nnet.softmax(m + k), lambda: nnet.softmax(m * x))),
    case("local_logsoftmax_grad", [m, k], lambda: softmax_grad(k / nnet.softmax(m), nnet.softmax(m)), [M, K],
         "Softmax LogSoftmaxGrad",
         (lambda: softmax_grad(k, nnet.softmax(m)), lambda: softmax_grad(k / nnet.softmax(k), nnet.softmax(m)))),
    case("local_logsoftmax_grad", [m, km], lambda: softmax_grad(km / nnet.softmax(m), nnet.softmax(m)), [M, LARGE],
         "convert_to_float64 Softmax LogSoftmaxGrad"),
    case("local_logsoftmax_grad", [m, k], lambda: softmax_grad(k / (nnet.softmax(m) * T.exp(k)), nnet.softmax(m)), [M, K],
         "Softmax exp true_div LogSoftmaxGrad"),
    case("local_logsoftmax_grad_of_product", [m, k], lambda: logsoftmax_grad(k * nnet.softmax(m), nnet.softmax(m)), [M, K],
         "Softmax SoftmaxGrad", (lambda: logsoftmax_grad(k * m, nnet.softmax(m)), lambda: logsoftmax_grad(k * m, m))),
    case("local_logsoftmax_grad_in_parts", [m, k], lambda: logsoftmax_grad(k * m, nnet.softmax(m)), [M, K],
         "Softmax mul GT Sum Switch Sum Switch Sum DimShuffle DimShuffle DimShuffle mul mul mul sub sub Switch",
         (lambda: logsoftmax_grad(k, nnet.softmax(m)), lambda: logsoftmax_grad(k * m, m),
          lambda: logsoftmax_grad(k * T.log(m), nnet.softmax(m)), lambda: logsoftmax_grad(k / m, nnet.softmax(m)),
          lambda: logsoftmax_grad(-nnet.softmax(k), nnet.softmax(m)))),
    case("local_1msoftmax", [m], lambda: 1 - nnet.softmax(m), [M],
         "Softmax minimum sub GT Switch Sum DimShuffle Switch",
         (lambda: 2 - nnet.softmax(m), lambda: 1 - m, lambda: T.log(1 - nnet.softmax(m)))),
    case("local_log_1msoftmax", [m], lambda: T.log(1 - nnet.softmax(m)), [M],
         "LogSoftmax Softmax minimum GT sub Switch log exp Sum log DimShuffle Switch",
         (lambda: T.log(2 - nnet.softmax(m)), lambda: T.log1p(-m), lambda: T.log1p(nnet.softmax(m)))),
    case("local_log_1msoftmax", [m], lambda: T.log1p(-nnet.softmax(m)), [M],
         "LogSoftmax Softmax minimum GT sub Switch log exp Sum log DimShuffle Switch"),
    case("local_grad_of_softmax_by_hand", [m, k], lambda: T.add(k * E / S, -E * total(k * E) / (S * S)), [M, K],
         "Softmax SoftmaxGrad",
         (lambda: T.add(k * E / S, -E * total(k * E) / S), lambda: T.add(k * E / S, E * total(k * E) / (S * S)),
          lambda: T.add(k * E / S, -E * total(T.sqr(k) * E) / (S * S)))),
    case("local_grad_of_softmax_by_hand", [m, k], lambda: E * T.add(k / S, -total(k * E) / (S * S)), [M, K],
         "Softmax SoftmaxGrad"),
    case("local_grad_of_softmax_by_hand", [m, k], lambda: T.add(k, -E * total(k) / S), [M, K], "Softmax LogSoftmaxGrad"),
    case("local_grad_of_softmax_by_hand", [m], lambda: E * T.add(T.alloc(1.0, 3, 3) / S, -1.0 / S), [M],
         "exp Sum DimShuffle true_div second mul"),
    case("local_grad_through_maximum", [m, k], lambda: D + T.eq(m, k) * total(D), [M, K], "Softmax SoftmaxGrad",
         (lambda: D + T.eq(m, k) * total(m), lambda: D + T.eq(m, k) * D.sum(0), lambda: m + T.eq(m, k) * total(D))),
    case("local_grad_through_maximum", [m, k], lambda: T.add(m, T.mul(2.0, T.eq(m, k), k), T.mul(-2.0, T.eq(m, k), k)), [M, K],
         "", lambda: T.add(m, T.mul(2.0, T.eq(m, k), k), T.mul(-3.0, T.eq(m, k), k))),
    case("local_argmax_pushdown", [m], lambda: T.Argmax((1,))(nnet.softmax(m)), [M], "Argmax",
         (lambda: T.Argmax((0,))(nnet.softmax(m)), lambda: T.Argmax((1,))(T.cos(m)),
          lambda: T.Argmax((1,))(T.tanh(zm)))),
    case("local_argmax_pushdown", [m], lambda: T.Argmax((0,))(T.tanh(m)), [M], "Argmax"),
    # Crossentropies.
    case("local_crossentropy_to_crossentropy_with_softmax", [m, i], lambda: crossentropy_categorical_1hot(nnet.softmax(m), i),
         [M, I], "Shape Subtensor Alloc CrossentropySoftmaxArgmax1HotWithBias", lambda: crossentropy_categorical_1hot(m, i)),
    case("local_advanced_indexing_crossentropy_onehot", [m, i], lambda: -picked(nnet.logsoftmax(m)), [M, I],
         "Shape Subtensor Alloc CrossentropySoftmaxArgmax1HotWithBias neg neg",
         (lambda: nnet.logsoftmax(m)[j, i], lambda: picked(m), lambda: picked(nnet.logsoftmax(m), j[1:]))),
    case("local_advanced_indexing_crossentropy_onehot_grad", [m, g, i],
         lambda: at_labels(g) - at_labels(g).sum(axis=1, keepdims=True) * nnet.softmax(m), [M, G, I],
         "Softmax neg CrossentropySoftmax1HotWithBiasDx", lambda: k - k.sum(axis=1, keepdims=True) * nnet.softmax(m)),
    case("local_crossentropy_softmax_grad", [m, g, i],
         lambda: softmax_grad(gradient_of_crossentropy(g, nnet.softmax(m)), nnet.softmax(m)), [M, G, I],
         "Softmax CrossentropySoftmax1HotWithBiasDx",
         (lambda: softmax_grad(k, nnet.softmax(m)),
          lambda: softmax_grad(gradient_of_crossentropy(g, nnet.softmax(k)), nnet.softmax(m)))),
    case("local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc", [s, m, i], lambda: dx(T.alloc(s, 3), nnet.softmax(m), i),
         [1.5, M, I], "Softmax DimShuffle CrossentropySoftmax1HotWithBiasDx", lambda: dx(x, nnet.softmax(m), i)),
]  # fmt: skip

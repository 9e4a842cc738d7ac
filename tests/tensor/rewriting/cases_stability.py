"""Rewrites that keep logarithms, differences and quotients from rounding to nothing and from overflowing."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano.tensor as T
from theano.tensor import nnet

x, y, z = T.dvectors("x", "y", "z")
m, k, w = T.dmatrices("m", "k", "w")
n = T.lvector("n")
complexes = T.zvector("complexes")
i8, u8 = T.bvector("i8"), T.vector("u8", dtype="uint8")
X = np.array([0.5, -1.25, 3.0])
Y = np.array([2.0, 4.0, -0.75])
POSITIVE = abs(X)
N, I8, U8 = np.array([0, 3, -7]), np.array([-128, 3, -2], "int8"), np.array([1, 3, 5], "uint8")
M = np.linspace(-0.3, 2.1, 9).reshape(3, 3)
W = np.cos(np.arange(9.0)).reshape(3, 3) ** 2
MERGED = ["merge", "constant_folding"]


def normalized(e):
    return e / e.sum(axis=1, keepdims=True)


def stable(name, inputs, build, values, after, near_miss=(), rtol=1e-7):
    return Case(name, inputs, build, values, after, near_miss, companions=MERGED, rtol=rtol)


CASES = [
    # One and a small number.
    stable("local_log1p", [x], lambda: T.log(1 + x), [POSITIVE], "log1p", (lambda: T.log(2 + x), lambda: T.log(x - 1))),
    stable("local_log1p", [x], lambda: T.log(1 - x), [X / 4], "neg log1p"),
    stable("local_expm1", [x], lambda: T.exp(x) - 1, [X], "expm1", (lambda: T.exp(x) - 2, lambda: T.exp2(x) - 1)),
    stable("local_expm1", [x], lambda: 1 - T.exp(x), [X], "expm1 neg"),
    stable("local_one_minus_erf", [x], lambda: 1 - T.erf(x), [X], "erfc", (lambda: 2 - T.erf(x), lambda: 1 - T.erfcx(x))),
    stable("local_one_minus_erf", [i8], lambda: 1 + T.erf(i8), [I8], "convert_to_float32 neg erfc", rtol=1e-5),
    stable("local_one_minus_erf", [x], lambda: T.erf(x) - 1, [X], "erfc neg"),
    stable("local_one_minus_erf", [x], lambda: 1 + T.erf(x), [X], "neg erfc"),
    stable("local_one_minus_erfc", [x], lambda: 1 - T.erfc(x), [X], "erf", (lambda: 2 - T.erfc(x), lambda: 1 + T.erfc(x))),
    stable("local_one_minus_erfc", [x], lambda: T.erfc(x) - 1, [X], "erf neg"),
    stable("local_one_minus_sqr_tanh", [x], lambda: 1 - T.sqr(T.tanh(x)), [X],
           "Abs mul exp mul add sqr true_div",
           (lambda: T.sqr(T.tanh(x)) - 1, lambda: T.log(1 - T.sqr(T.tanh(x))),
            lambda: T.tanh(x) * (1 - T.sqr(T.tanh(x))), lambda: 1 - T.sqr(T.sin(x)))),
    # Logarithms.
    stable("local_log_gamma", [x], lambda: T.log(T.gamma(x)), [POSITIVE],
           "gammaln floor GE mod NEQ EQ AND OR Switch", lambda: T.log(T.gammaln(x))),
    stable("local_log_1_minus_sqr_tanh", [x], lambda: T.log1p(-T.sqr(T.tanh(x))), [X], "cosh log mul",
           (lambda: T.log1p(T.sqr(T.tanh(x))), lambda: T.log1p(-T.tanh(x)), lambda: T.log1p(-T.sqr(T.sin(x))))),
    stable("local_log_1_minus_sqr_tanh", [x], lambda: T.log1p(-T.tanh(x) ** 2), [X], "cosh log mul"),
    stable("local_log_pow", [x], lambda: T.log(x**2), [X], "Abs log mul", (lambda: T.log(x**y), lambda: T.log(x * y))),
    stable("local_log_pow", [x], lambda: T.log(x**3), [POSITIVE], "log mul"),
    stable("local_log_pow", [x], lambda: T.log(x * x), [X], "Abs log mul"),
    stable("local_log_sqrt", [x], lambda: T.log(T.sqrt(x)), [POSITIVE], "log mul",
           (lambda: T.log(T.sin(x)), lambda: T.log(T.sqrt(n)))),
    stable("local_log_add", [x, y], lambda: T.log(T.exp(x) + T.exp(y)), [X, Y],
           "sub maximum EQ Abs add neg exp log1p add Switch", lambda: T.log(T.exp(x) + y)),
    stable("local_log_sum_exp", [m], lambda: T.log(T.sum(T.exp(m), axis=1)), [M],
           "MaxOrMinusInfinity DimShuffle IsInf IsInf Switch sub exp Sum log add Switch",
           (lambda: T.log(T.sum(m, axis=1)), lambda: T.log(T.sum(T.exp(m - m.max(axis=1, keepdims=True)), axis=1)))),
    stable("local_log_erfc", [x], lambda: T.log(T.erfc(x)), [X], "sqr erfcx erf LT log neg sub log1p Switch",
           lambda: T.log(T.erf(x))),
    stable("local_grad_log_erfc_neg", [x], lambda: T.exp(-T.sqr(x)) / T.erfc(x), [X],
           "erfcx exp_minus_square LT inv mul Switch",
           (lambda: T.exp(-T.sqr(x)) / T.erf(x), lambda: T.exp(-T.sqr(y)) / T.erfc(x), lambda: T.exp(T.sqr(x)) / T.erfc(x),
            lambda: T.exp(-T.sqr(i8)) / T.erfc(i8))),
    stable("local_log_of_product", [x], lambda: T.log(2 * T.exp(x)), [X], "exp log add",
           (lambda: T.log(x * y), lambda: T.log(-2 * T.exp(x)),
            lambda: T.log(T.sum(w * T.exp(m), axis=1, keepdims=True) * k))),
    stable("local_log_of_product", [x, y], lambda: T.log(T.exp(x) * T.sqr(y)), [X, Y], "sqr exp log log add"),
    stable("local_log_of_product", [x, y], lambda: T.log(T.exp(x) / T.sqr(y)), [X, Y], "sqr exp true_div log log add"),
    stable("local_log_of_product", [m, k], lambda: T.log(nnet.softmax(m) / nnet.softmax(k)), [M, W],
           "Softmax Softmax log log sub"),
    stable("local_log_of_product", [x], lambda: T.log(0.5 * T.erfc(x)), [X],
           "erfc neg LT log maximum add erfc mul neg log1p Switch"),
    stable("local_log_of_product", [n], lambda: T.log(0.5 * T.erfc(n)), [N],
           "convert_to_float64 erfc neg LT log maximum add erfc mul neg log1p Switch"),
    stable("local_log_of_product", [m], lambda: T.log(T.exp(m).sum(axis=1) / 3.0), [M], "exp Sum log add"),
    stable("local_log_1_minus_half_erfc", [x], lambda: T.log1p(-0.5 * T.erfc(x)), [X], "neg erfc mul log",
           (lambda: T.log1p(-0.25 * T.erfc(x)), lambda: T.log1p(0.5 * T.erfc(x)))),
    stable("local_log_sum_weighted_exp", [m, w], lambda: T.log(T.sum(w * T.exp(m), axis=1)), [M, W],
           "NEQ Switch MaxOrMinusInfinity DimShuffle IsInf IsInf Switch Switch sub exp mul Sum log add",
           (lambda: T.log(T.sum(w + T.exp(m), axis=1)),
            lambda: T.log(T.sum(w * T.exp(m - m.max(axis=1, keepdims=True)), axis=1)))),
    stable("local_log_sum_weighted_exp", [m, w], lambda: T.log(T.sum(T.exp(m) / w, axis=0)), [M, W + 1],
           "true_div NEQ Switch MaxOrMinusInfinity DimShuffle IsInf IsInf Switch Switch sub exp true_div Sum log add"),
    stable("local_log_sum_weighted_exp", [x, y], lambda: T.log(0.3 * T.exp(x) + 0.7 * T.exp(y)), [X, Y],
           "maximum IsInf Switch sub sub exp exp mul mul add log add", lambda: T.log(0.3 * T.exp(x) + y)),
    stable("local_log_cosh", [x], lambda: T.log(T.cosh(x)), [X * 2],
           "Abs mul minimum LT neg mul exp sinh log1p sqr sub mul add log1p Switch", lambda: T.log(T.sinh(x))),
    stable("local_log_expm1", [x], lambda: T.log(T.expm1(x)), [POSITIVE],
           "neg minimum LT minimum expm1 exp log neg log1p add Switch", lambda: T.log(T.exp(x))),
    stable("local_log_1_minus_exp", [x], lambda: T.log(-T.expm1(x)), [-POSITIVE],
           "maximum minimum LT expm1 exp neg neg log log1p Switch",
           (lambda: T.log1p(T.exp(x)), lambda: T.log1p(-2 * T.exp(x)), lambda: T.log(T.expm1(x)))),
    stable("local_log_1_minus_exp", [x], lambda: T.log1p(-T.exp(x)), [-POSITIVE],
           "maximum minimum LT expm1 exp neg neg log log1p Switch"),
    stable("local_exp_of_logsoftmax", [m], lambda: T.exp(nnet.logsoftmax(m)), [M], "Softmax",
           lambda: T.exp(nnet.logsoftmax(m)) + nnet.logsoftmax(m)),
    # Quotients.
    stable("local_quotient_of_exponentials", [x], lambda: T.sinh(x) / T.cosh(x), [X], "tanh",
           (lambda: T.sinh(x) / T.cosh(y), lambda: T.exp(x) / (T.exp(y) + T.exp(z)))),
    stable("local_quotient_of_exponentials", [x, y], lambda: y * (T.exp(x) - T.exp(-x)) / (T.exp(x) + T.exp(-x)), [X, Y],
           "neg sub mul tanh mul"),
    stable("local_quotient_of_exponentials", [x], lambda: (T.exp(-x) - T.exp(x)) / (T.exp(x) + T.exp(-x)), [X],
           "neg sub mul tanh"),
    stable("local_quotient_of_exponentials", [x], lambda: T.expm1(x) / (1 + T.exp(x)), [X], "mul tanh"),
    stable("local_quotient_of_exponentials", [x], lambda: T.exp(x) / T.expm1(x), [X], "neg expm1 neg true_div"),
    stable("local_quotient_of_exponentials", [u8], lambda: T.exp(u8) / T.expm1(u8), [U8],
           "convert_to_float32 neg expm1 neg true_div", rtol=1e-5),
    stable("local_quotient_of_exponentials", [x, y], lambda: T.exp(x) / (T.exp(x) + T.exp(y)), [X, Y], "sub scalar_sigmoid"),
    stable("local_quotient_of_exponentials", [x, y, z], lambda: y * T.exp(x) / T.add(T.exp(x), T.exp(y), T.exp(z)),
           [X, Y, X + 1], "maximum maximum IsInf Switch sub sub sub exp exp exp add mul true_div"),
    stable("local_quotient_of_exponentials", [m, k], lambda: k * T.exp(m) / T.exp(m).sum(axis=1, keepdims=True), [M, W],
           "Softmax mul", (lambda: T.exp(m) / T.exp(m).sum(axis=0), lambda: T.exp(k) / T.exp(m).sum(axis=0, keepdims=True))),
    stable("local_quotient_of_exponentials", [m, w], lambda: normalized(w * T.exp(m)), [M, W],
           "NEQ Switch MaxOrMinusInfinity DimShuffle IsInf Switch sub exp mul Sum DimShuffle true_div"),
    stable("local_quotient_of_exponentials", [m, w], lambda: T.exp(m) / T.sum(w * T.exp(m), axis=(0, 1), keepdims=True),
           [M, W], "NEQ Switch MaxOrMinusInfinity DimShuffle IsInf Switch sub sub exp exp mul Sum DimShuffle true_div"),
    stable("local_quotient_of_powers", [x, y], lambda: y * x / T.sqr(x), [X, Y], "true_div",
           (lambda: y * x / T.sqr(y - x), lambda: T.pow(x, 1.5) * y / T.pow(x, 2.5), lambda: n * n / T.sqr(n))),
    stable("local_quotient_of_powers", [x, y], lambda: y * x**5 / T.sqr(x), [X, Y], "pow mul"),
    stable("local_quotient_of_powers", [x, y], lambda: T.sqr(x) / (y * x**3), [X, Y], "mul true_div"),
    stable("local_quotient_of_powers", [x], lambda: T.mul(x, 1 - T.sqr(x)) / T.mul(1 - T.sqr(x), 3.0), [X], "true_div"),
    stable("local_product_with_quotient", [x, y], lambda: T.exp(x) * T.inv(T.exp(x) + T.exp(y)), [X, Y], "sub scalar_sigmoid",
           lambda: T.exp(y) * T.inv(1 + T.exp(x))),
    stable("local_product_with_quotient", [x, y], lambda: T.sinh(x) * (y / T.cosh(x)), [X, Y], "tanh mul"),
    stable("local_sigmoid_quotients", [x, y], lambda: T.mul(y / nnet.sigmoid(x), nnet.sigmoid(x), nnet.sigmoid(-x)), [X, Y],
           "neg scalar_sigmoid mul", (lambda: y / nnet.sigmoid(y) * nnet.sigmoid(x),
            lambda: (y / nnet.sigmoid(-u8)) * (1 - nnet.sigmoid(u8)))),
    stable("local_sigmoid_quotients", [x, y],
           lambda: T.mul(y / nnet.sigmoid(x) - (1 - y) / (1 - nnet.sigmoid(x)), nnet.sigmoid(x), nnet.sigmoid(-x)), [X, Y],
           "scalar_sigmoid neg sub scalar_sigmoid mul mul sub"),
]  # fmt: skip

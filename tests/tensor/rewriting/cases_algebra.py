"""Rewrites of arithmetic: signs, powers, neutral elements, sums and products in canonical form."""

from __future__ import annotations

import numpy as np
from rewrite_cases import Case

import theano
import theano.tensor as T
from theano.compile.ops import Shape_i

x, y, z = T.dvectors("x", "y", "z")
a, b, c, d = T.dvectors("a", "b", "c", "d")
i8, j8 = T.bvector("i8"), T.bvector("j8")
u8 = T.vector("u8", dtype="uint8")
n, k = T.lvectors("n", "k")
flags, others = T.vector("flags", dtype="bool"), T.vector("others", dtype="bool")
m = T.dmatrix("m")
s = T.dscalar("s")
X = np.array([0.5, -1.25, 3.0])
Y = np.array([2.0, 4.0, -0.75])
Z = np.array([-3.0, 0.25, 1.5])
I8 = np.array([100, -100, 3], "int8")
N = np.array([3, -2, 7])
M = np.arange(12.0).reshape(4, 3) / 5 + 0.3
ABCD = [np.array(v) for v in ([1.5, 2.0], [5.0, -7.0], [-3.0, 11.0], [13.0, 4.0])]
FOLDED = ["merge", "local_fill_to_alloc", "constant_folding", "local_useless_alloc"]
CANONICAL = [
    "local_add_canonizer", "local_mul_canonizer", "local_neg_to_mul", "constant_folding", "local_fill_to_alloc",
    "local_useless_fill",
]  # fmt: skip


def canonical(name, build, after, near_miss=()):
    return Case(name, [a, b, c, d], build, ABCD, after, near_miss, companions=[n for n in CANONICAL if n != name])


def length(v=m):
    return Shape_i(0)(v)


CASES = [
    Case("local_neg_to_mul", [x], lambda: -x, [X], "mul", (lambda: x - y, lambda: -u8)),
    Case("local_neg_neg", [x], lambda: -(-x), [X], "", lambda: -abs(x)),
    Case("local_neg_div_neg", [x, y], lambda: -((-x) / y), [X, Y], "true_div", (lambda: -(x / y), lambda: -((-n) / y))),
    Case("local_neg_div_neg", [y], lambda: -(2.0 / y), [Y], "true_div", companions=["constant_folding"]),
    Case("local_div_of_negs", [x, y], lambda: (-x) / (-y), [X, Y], "true_div", (lambda: (-x) / y, lambda: (-i8) / (-i8))),
    Case("local_mul_zero", [x], lambda: T.exp(x) * 0, [X], "Shape_i Alloc", lambda: T.exp(x) * 2, FOLDED),
    Case("local_div_to_inv", [x], lambda: 1.0 / x, [X], "inv", (lambda: y / x, lambda: 2.0 / x, lambda: 1 / n)),
    Case("local_pow_canonicalize", [x], lambda: x**1, [X], "", lambda: x**2),
    Case("local_pow_canonicalize", [x], lambda: T.exp(x) ** 0, [X], "Shape_i Alloc", companions=FOLDED),
    Case("local_mul_to_sqr", [x], lambda: x * x, [X], "sqr", lambda: x * y),
    Case("local_intdiv_by_one", [n], lambda: n // 1, [N], "", (lambda: x // 1.0, lambda: n // 2)),
    Case("local_zero_div", [x], lambda: 0.0 / T.exp(x), [X], "Shape_i Alloc", lambda: 2.0 / T.exp(x), FOLDED),
    Case("local_pow_specialize", [x], lambda: x**2, [X], "sqr", (lambda: x**3, lambda: n**-1, lambda: x**y)),
    Case("local_pow_specialize", [x], lambda: x**-1, [X], "inv"),
    Case("local_pow_specialize", [x], lambda: x**-2, [X], "sqr inv"),
    Case("local_pow_specialize", [x], lambda: T.sqr(x) ** 0.5, [X], "sqr sqrt"),
    Case("local_pow_specialize", [x], lambda: T.sqr(x) ** -0.5, [X], "sqr sqrt inv"),
    Case("local_pow_specialize_device", [x], lambda: x**3, [X], "Composite", (lambda: x**2.5, lambda: x**2, lambda: x**513)),
    Case("local_pow_specialize_device", [x], lambda: x**16, [X], "Composite{sqr(sqr(sqr(sqr(i0))))}"),
    Case("local_pow_specialize_device", [x], lambda: x**-3, [X], "Composite inv"),
    Case("local_mul_specialize", [x], lambda: x * 1.0, [X], "", (lambda: x * 2.0, lambda: x * y, lambda: x * -i8)),
    Case("local_mul_specialize", [x], lambda: x * -1.0, [X], "neg"),
    Case("local_mul_specialize", [x, y], lambda: -x * y, [X, Y], "mul neg"),
    Case("local_mul_specialize", [x, y], lambda: T.mul(2.0, -x, y), [X, Y], "mul", companions=["constant_folding"]),
    Case("local_add_specialize", [x], lambda: x + 0.0, [X], "", lambda: x + 1.0),
    Case("local_elemwise_sub_zeros", [x], lambda: T.exp(x) - T.exp(x), [X], "Shape_i Alloc",
         lambda: T.exp(x) - T.exp(y), FOLDED),
    Case("local_sub_zero", [x], lambda: x - 0.0, [X], "", lambda: x - 1.0),
    Case("local_sub_zero", [x], lambda: 0.0 - x, [X], "neg"),
    Case("local_add_neg_to_sub", [x, y], lambda: x + (-y), [X, Y], "sub", (lambda: x + abs(y), lambda: x + (-i8))),
    Case("local_sub_neg_to_add", [x, y], lambda: x - (-y), [X, Y], "add", (lambda: x - abs(y), lambda: x - (-i8))),
    Case("local_abs_lift", [x, y], lambda: abs(x * y), [X, Y], "Abs Abs mul",
         (lambda: abs(x + y), lambda: abs(n * k), lambda: abs(x * y) + x * y), ["merge"]),
    Case("local_abs_lift", [x, y], lambda: abs(x / y), [X, Y], "Abs Abs true_div"),
    Case("local_abs_abs", [x], lambda: abs(abs(x)), [X], "Abs", (lambda: abs(T.sinh(x)), lambda: abs(-u8))),
    Case("local_abs_abs", [x], lambda: abs(-x), [X], "Abs"),
    Case("local_abs_abs", [x], lambda: abs(T.sqr(x)), [X], "sqr"),
    Case("local_abs_merge", [x, y], lambda: abs(x) * abs(y), [X, Y], "mul Abs",
         (lambda: abs(x) * y, lambda: abs(n) * abs(k))),
    Case("local_abs_merge", [x, y], lambda: abs(x) / abs(y), [X, Y], "true_div Abs"),
    Case("local_sqrt_sqr", [x], lambda: T.sqrt(T.sqr(x)), [X], "Abs", (lambda: T.sqr(T.sqrt(x)), lambda: T.sqrt(T.sqr(n)))),
    Case("local_sqr_abs", [x], lambda: T.sqr(abs(x)), [X], "sqr", (lambda: T.sqr(T.sinh(x)), lambda: T.sqr(abs(n)))),
    Case("local_sqr_abs", [x], lambda: T.sqr(-x), [X], "sqr"),
    Case("local_greedy_distributor", [x, y, z], lambda: x * (y / x + z), [X, Y, Z], "mul add",
         (lambda: x * (y / z + z), lambda: n * (k // n + k))),
    Case("local_greedy_distributor", [x, y, z], lambda: T.mul(x / z + y / x, x, z), [X, Y, Z], "mul mul add"),
    Case("local_useless_maximum", [x], lambda: T.maximum(x, x), [X], "", (lambda: T.maximum(x, y),
         lambda: T.maximum(T.minimum(x, y), x))),
    Case("local_useless_maximum", [x, y], lambda: T.maximum(T.maximum(x, y), x), [X, Y], "maximum"),
    Case("local_useless_maximum", [x, y], lambda: T.minimum(y, T.minimum(x, y)), [X, Y], "minimum"),
    Case("local_and_or_of_the_same", [flags], lambda: T.and_(flags, flags), [np.array([True, False])], "",
         (lambda: T.xor(flags, flags), lambda: T.and_(flags, others))),
    Case("local_and_or_of_the_same", [n], lambda: T.or_(n, n), [N], ""),
    Case("local_clip_clip", [x], lambda: T.clip(T.clip(x, -1, 2), 0, 5), [X], "clip",
         (lambda: T.clip(T.clip(x, s, 2), 0, 5), lambda: T.clip(T.clip(x, 2, -1), 0, 5), lambda: T.clip(x, 0, 5)),
         ["constant_folding"]),
    Case("local_useless_elemwise_comparison", [n], lambda: T.lt(n, n), [N], "Shape_i Alloc",
         (lambda: T.lt(n, k), lambda: T.eq(n, n), lambda: T.maximum(length(), 1)), FOLDED),
    Case("local_useless_elemwise_comparison", [m], lambda: T.maximum(length(), 0), [M], "Shape_i", companions=FOLDED),
    Case("local_useless_elemwise_comparison", [m], lambda: T.ge(length(), 0), [M], "", companions=FOLDED),
    Case("local_useless_elemwise_comparison", [m], lambda: T.neq(-1, length()), [M], "", lambda: T.neq(length(), 0), FOLDED),
    Case("local_max_to_min", [m], lambda: -T.CAReduce(theano.scalar.maximum)(-m), [M], "CAReduce",
         (lambda: -T.CAReduce(theano.scalar.maximum)(m), lambda: -T.CAReduce(theano.scalar.maximum)(-n)),
         no_gradient="what maxima become last has none"),
    # Sums and products in canonical form.
    canonical("local_add_canonizer", lambda: (a + b) + (c + d), "add", (lambda: a + b, lambda: T.exp(a + b) + c)),
    canonical("local_add_canonizer", lambda: (a - b) - (c - d), "add add sub"),
    canonical("local_add_canonizer", lambda: a + b - a, ""),
    canonical("local_add_canonizer", lambda: (a + b) - (b + a) + c, ""),
    canonical("local_add_canonizer", lambda: a - (b - c) + b - c, ""),
    canonical("local_add_canonizer", lambda: (a + 2.0) + (3.0 - 1.0), "add"),
    Case("local_add_canonizer", [x, y, i8, j8], lambda: (i8 - x) - (y - j8), [X, Y, I8, I8], "convert_to_float64 add add sub",
         companions=CANONICAL[1:]),
    canonical("local_mul_canonizer", lambda: (a * b) / a, "", (lambda: a / b, lambda: T.exp(a * b) * c, lambda: i8 / abs(i8))),
    canonical("local_mul_canonizer", lambda: a / b / a, "true_div"),
    canonical("local_mul_canonizer", lambda: a / (b / c), "mul true_div"),
    canonical("local_mul_canonizer", lambda: (a / b) * (b / c) * (c / d), "true_div"),
    canonical("local_mul_canonizer", lambda: 2 * a / 2, ""),
    canonical("local_mul_canonizer", lambda: (2.0 * a) / (4.0 * b), "mul true_div"),
    canonical("local_mul_canonizer", lambda: a / abs(a), "sgn"),
]  # fmt: skip

"""Loops that are maps, sums or selections, and Jacobians without loops."""

import numpy as np
import pytest
from loop_tools import compile_checked, loops, numbers, ops

import theano
import theano.tensor as T
from theano.raise_op import Assert

x = T.dvector("x")
w, m = T.dmatrices("w", "m")
s = T.dscalar("s")
zero, one = (T.constant(float(k), dtype="float64") for k in (0, 1))


class TestAccumulations:
    @pytest.mark.parametrize("start", [zero, s, s * 2])
    def test_sums_so_far(self, start):
        out, _ = theano.scan(lambda a, t: t + a, x, start)
        f = compile_checked([x, s], out, [numbers(5), 0.5], [numbers(1), 0.5])
        assert not loops(f) and "CumOp" in ops(f)

    def test_products_so_far(self):
        out, _ = theano.scan(lambda a, t: a * t, x, one)
        f = compile_checked([x], out, [numbers(5)])
        assert not loops(f) and "CumOp" in ops(f)

    def test_sums_of_rows(self):
        out, _ = theano.scan(lambda a, t: t + T.exp(a), w, T.zeros((3,)))
        assert not loops(compile_checked([w], out, [numbers(5, 3)]))

    def test_what_is_computed_from_the_sums_stays_with_them(self):
        (t, out), _ = theano.scan(lambda a, t: [t + a, T.tanh(t) * a], x, [s, None])
        f = compile_checked([x, s], [t, out], [numbers(5), 0.5], [numbers(1), 0.5])
        assert len(loops(f)) == 1

    def test_sum_of_sums(self):
        (t, out), _ = theano.scan(lambda a, t, u: [t + a, u + t], x, [s, zero])
        assert not loops(compile_checked([x, s], [t, out], [numbers(5), 0.5]))

    @pytest.mark.parametrize("operation", [T.add, T.mul, T.maximum, T.minimum])
    def test_reductions(self, operation):
        out, _ = theano.reduce(lambda a, t: operation(t, a), x, s)
        f = compile_checked([x, s], out, [numbers(5), 0.5], [numbers(1), 10.0], [numbers(1), -10.0])
        assert not loops(f) and "CumOp" not in ops(f)

    def test_greatest_so_far_stays(self):
        out, _ = theano.scan(lambda a, t: T.maximum(t, a), x, s)
        assert len(loops(compile_checked([x, s], out, [numbers(5), 0.5]))) == 1

    def test_decay_stays(self):
        out, _ = theano.scan(lambda a, t: 0.5 * t + a, x, s)
        assert len(loops(compile_checked([x, s], out, [numbers(5), 0.5]))) == 1

    def test_small_integers_stay_or_agree(self):
        i = T.bvector("i")
        out, _ = theano.scan(lambda a, t: t + a, i, T.constant(np.int8(0)))
        compile_checked([i], out, [np.array([100, 100, 100], dtype="int8")])

    def test_backwards(self):
        out, _ = theano.scan(lambda a, t: t + a, x, s, go_backwards=True)
        assert not loops(compile_checked([x, s], out, [numbers(5), 0.5]))


JACOBIANS = {
    "elementwise": lambda: T.jacobian(T.tanh(x) * x, x),
    "affine": lambda: T.jacobian(T.dot(w, x) + x, x),
    "layer": lambda: T.jacobian(T.tanh(T.dot(w, x)), x),
    "two layers": lambda: T.jacobian(T.dot(w, T.tanh(T.dot(w, x))), x),
    "quotient": lambda: T.jacobian(x / (1 + x**2), x),
    "scaled by a sum": lambda: T.jacobian(x * x.sum(), x),
    "of a matrix": lambda: T.jacobian(T.dot(x, w), w),
    "cubes": lambda: T.hessian((x**3).sum(), x),
    "quadratic form": lambda: T.hessian(T.dot(x, T.dot(w, x)), x),
    "log of a sum": lambda: T.hessian(T.log(T.exp(x).sum()), x),
    "softplus layer": lambda: T.hessian(T.nnet.softplus(T.dot(w, x)).sum(), x),
    "layer and square of a sum": lambda: T.hessian(
        T.log(1 + T.exp(T.dot(w, T.sin(x)))).sum() + T.sqr(T.tanh(x).sum()), x
    ),
}


class TestChecks:
    """What a step checks."""

    check = Assert("the number is not positive")

    def test_the_same_at_all_steps_is_checked_once(self):
        out, _ = theano.scan(lambda a: T.exp(self.check(a, s > 0)), x)
        f = compile_checked([x, s], out, [numbers(5), 0.5])
        assert not loops(f) and ops(f).count("Assert") == 1
        with pytest.raises(AssertionError, match="not positive"):
            f(numbers(5), -0.5)

    def test_each_step_by_itself_is_checked_there(self):
        out, _ = theano.scan(lambda a: T.exp(self.check(a, a > 0)), x)
        f = compile_checked([x], out, [abs(numbers(5))])
        with pytest.raises(AssertionError, match="not positive"):
            f(np.array([1.0, -1.0]))


class TestJacobians:
    @pytest.mark.parametrize("name", JACOBIANS)
    def test_no_loop(self, name):
        f = compile_checked([x, w], JACOBIANS[name](), [numbers(4), numbers(4, 4)], rtol=1e-8)
        assert not loops(f)

    def test_constant_jacobian_is_the_matrix(self):
        f = compile_checked([x, w], T.jacobian(T.dot(w, x), x), [numbers(4), numbers(4, 4)])
        assert len(ops(f)) <= 2

    def test_recurrence_stays(self):
        h, _ = theano.scan(lambda a, h: T.tanh(a + h), x, s)
        assert loops(compile_checked([x, s], T.jacobian(h, x), [numbers(3), 0.5]))

    def test_columns_of_a_product_with_a_hessian(self):
        v = T.dvector("v")
        g = T.grad((x**4).sum(), x)
        compile_checked([x, v], T.Rop(g, x, v), [numbers(3), numbers(3)])

"""Checks of R operators and L operators against each other."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
from theano import tensor
from theano.gof import Apply, Op
from theano.gradient import Lop, Rop
from theano.tests import unittest_tools as utt


class BreakRop(Op):
    """The identity, without gradient and without R operator.

    See Also
    --------
    theano.tests.test_rop.break_op : An instance of it.

    Examples
    --------
    >>> x, v = tensor.dvectors("x", "v")
    >>> Rop(break_op(x), x, v)
    Traceback (most recent call last):
        ...
    theano.gradient.DisconnectedInputError: Rop method was asked to compute the gradient with respect to ...
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        output_storage[0][0] = np.copy(inputs[0])

    def grad(self, inputs: list[Any], output_grads: list[Any]) -> list[Any]:
        return [theano.gradient.grad_undefined(self, 0, inputs[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [None]


break_op = BreakRop()


class RopLop_checker(unittest.TestCase):
    """A test case with variables ``x``, ``v`` (vectors) and ``mx``, ``mv`` (matrices), and checks on expressions of them.

    Each check compares the R operator and the L operator of an expression with
    what the whole Jacobian gives.

    Examples
    --------
    >>> class TestOfMine(RopLop_checker):
    ...     def test_no_rop(self):
    ...         self.check_nondiff_rop(break_op(self.x))
    >>> TestOfMine("test_no_rop").run(unittest.TestResult())
    <unittest.result.TestResult run=1 errors=0 failures=0>
    """

    def setUp(self) -> None:
        utt.seed_rng()
        self.x = tensor.vector("x")
        self.v = tensor.vector("v")
        self.rng = np.random.RandomState(utt.fetch_seed())
        self.in_shape = (5 + self.rng.randint(3),)
        self.mx = tensor.matrix("mx")
        self.mv = tensor.matrix("mv")
        self.mat_in_shape = (5 + self.rng.randint(3), 5 + self.rng.randint(3))

    def _draw(self, shape: Any) -> np.ndarray:
        return np.asarray(self.rng.uniform(size=shape), theano.config.floatX)

    def check_nondiff_rop(self, y: Any) -> None:
        """Check that the R operator of an expression of ``x`` raises a ValueError."""
        self._check_raises(y, self.x, self.v)

    def _check_raises(self, y: Any, x: Any, v: Any) -> None:
        try:
            Rop(y, x, v)
        except ValueError:
            return
        self.fail(f"Rop raised no error although the expression is not differentiable: {y}")

    def _check_breaks(self, y: Any, x: Any, v: Any) -> None:
        """Check that an operation without R operator before the expression makes Rop raise."""
        _, (broken,), _ = theano.compile.rebuild_collect_shared([y], replace={x: break_op(x)})
        self._check_raises(broken, x, v)

    def _rows_of_jacobian(self, y: Any, x: Any, n: int) -> list[Any]:
        return [tensor.grad(y[i], x, disconnected_inputs="ignore") for i in range(n)]

    def check_mat_rop_lop(self, y: Any, out_shape: tuple[int, ...]) -> None:
        """Check an expression of the matrix ``mx`` that is a vector.

        Parameters
        ----------
        y : Variable
            The expression.
        out_shape : tuple
            Its shape, for the shape of ``mx`` given by ``mat_in_shape``.
        """
        vx = self._draw(self.mat_in_shape)
        vv = self._draw(self.mat_in_shape)
        rop = theano.function([self.mx, self.mv], Rop(y, self.mx, self.mv), on_unused_input="ignore")
        rows = self._rows_of_jacobian(y, self.mx, out_shape[0])
        by_rows = tensor.stack([(row * self.mv).sum() for row in rows])
        expected = theano.function([self.mx, self.mv], by_rows, on_unused_input="ignore")
        np.testing.assert_allclose(rop(vx, vv), expected(vx, vv), rtol=1e-5, atol=1e-6)

        self._check_breaks(y, self.mx, self.mv)

        v = self._draw(out_shape)
        lop = theano.function([self.mx, self.v], Lop(y, self.mx, self.v), on_unused_input="ignore")
        weighted = tensor.grad((y * self.v).sum(), self.mx)
        by_grad = theano.function([self.mx, self.v], weighted, on_unused_input="ignore")
        np.testing.assert_allclose(lop(vx, v), by_grad(vx, v), rtol=1e-5, atol=1e-6)

    def check_rop_lop(self, y: Any, out_shape: tuple[int, ...]) -> None:
        """Check an expression of the vector ``x`` that is a vector.

        Parameters
        ----------
        y : Variable
            The expression.
        out_shape : tuple
            Its shape, for the shape of ``x`` given by ``in_shape``.
        """
        vx = self._draw(self.in_shape)
        vv = self._draw(self.in_shape)
        rop = theano.function([self.x, self.v], Rop(y, self.x, self.v), on_unused_input="ignore")
        rows = self._rows_of_jacobian(y, self.x, out_shape[0])
        jacobian = tensor.stack(rows)
        expected = theano.function([self.x, self.v], tensor.dot(jacobian, self.v), on_unused_input="ignore")
        np.testing.assert_allclose(rop(vx, vv), expected(vx, vv), rtol=1e-5, atol=1e-6)
        self._check_breaks(y, self.x, self.v)

        v = self._draw(out_shape)
        lop = theano.function([self.x, self.v], Lop(y, self.x, self.v), on_unused_input="ignore")
        by_rows = theano.function([self.x, self.v], tensor.dot(self.v, jacobian), on_unused_input="ignore")
        np.testing.assert_allclose(lop(vx, v), by_rows(vx, v), rtol=1e-5, atol=1e-6)

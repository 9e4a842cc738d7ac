"""Loops that are made of a Scan itself: their buffers may be longer or shorter than those of `theano.scan`."""

import numpy as np
import pytest
from loop_tools import loops, numbers

import theano
import theano.tensor as T
from theano.compile.mode import OPT_FAST_RUN, Mode
from theano.scan_module.scan_op import Scan
from theano.tensor.subtensor import set_subtensor

FAST_RUN = Mode("vm", OPT_FAST_RUN)
PLAIN = Mode("vm", None)


def scan(inputs, outputs, outer, **info):
    return Scan(inputs, outputs, info)(*outer, return_list=True)


def assert_same(inputs, outputs, *values):
    """The results are those of the loop as it was written; returns the rewritten function."""
    f = theano.function(inputs, outputs, mode=FAST_RUN, on_unused_input="ignore")
    plain = theano.function(inputs, outputs, mode=PLAIN, on_unused_input="ignore")
    for got, want in zip(f(*values), plain(*values), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    return f


def filled(value, length, n_initial=1):
    """A buffer of a length that begins with some multiples of `value`."""
    rows = T.stack([value * (1 + 0.5 * k) for k in range(n_initial)])
    empty = T.AllocEmpty("float64")(length, *[value.shape[k] for k in range(value.ndim)])
    return set_subtensor(empty[:n_initial], rows)


h, a, s = T.dscalar("h"), T.dscalar("a"), T.dscalar("s")
x, n = T.dvector("x"), T.lscalar("n")
LONGER_OR_SHORTER = pytest.mark.parametrize("extra", [-3, -1, 0, 1, 4])


class TestNoStepAndOneStep:
    @pytest.mark.parametrize("rows", [1, 2, 6])
    def test_rows_that_no_step_writes_are_zero(self, rows):
        buffer = T.dvector("buffer")
        f = assert_same([buffer], scan([h], [h * 2], [0, buffer], n_sit_sot=1, tap_array=[[-1]]), numbers(rows))
        assert not loops(f)

    def test_shape_of_rows_of_no_step(self):
        v, rows, X = T.dvector("v"), T.dvector("rows"), T.dmatrix("X")
        f = assert_same([X, v], scan([rows], [T.outer(rows, rows)], [0, X, 0], n_seqs=1, n_nit_sot=1), numbers(2, 3), numbers(3))
        assert not loops(f)

    def test_shape_of_rows_that_only_the_step_knows(self):
        k, K = T.lscalar("k"), T.lvector("K")
        f = assert_same([K], scan([k], [T.zeros((k,))], [0, K, 0], n_seqs=1, n_nit_sot=1), np.array([2]))
        assert len(loops(f)) == 1

    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_length_of_an_output_of_one_step(self, length):
        assert_same([x], scan([a], [T.exp(a)], [1, x, length], n_seqs=1, n_nit_sot=1), numbers(2))

    def test_initial_rows_written_in_two_pieces(self):
        g = T.dscalar("g")
        start = set_subtensor(filled(s, 3, 2)[:1], s.dimshuffle("x") * 7)
        assert_same([s], scan([h, g], [h * 0.5 + g], [1, start], n_mit_sot=1, tap_array=[[-2, -1]]), 0.7)

    def test_taps_that_begin_in_the_future(self):
        """The first row of a buffer is that of the smallest tap, read or written."""
        outs = scan([h], [h * 2], [1, x], n_mit_mot=1, n_mit_mot_outs=1, tap_array=[[1]], mit_mot_out_slices=[[2]])
        assert_same([x], outs, numbers(4))


class TestLengthOfBuffers:
    @LONGER_OR_SHORTER
    @pytest.mark.parametrize("steps", [n, T.constant(5)], ids=["symbolic", "constant"])
    def test_last_value(self, steps, extra):
        out = scan([h], [T.tanh(h * 1.5)], [steps, filled(s, steps + 1 + extra)], n_sit_sot=1, tap_array=[[-1]])[0]
        assert_same([s, n], [out[-1], out[-2:]], 0.3, 5)

    @LONGER_OR_SHORTER
    @pytest.mark.parametrize("operation", [T.add, T.mul, T.maximum], ids=["add", "mul", "maximum"])
    def test_accumulation(self, operation, extra):
        start = filled(s, n + 1 + extra)
        out = scan([a, h], [operation(h, a)], [n, x, start], n_seqs=1, n_sit_sot=1, tap_array=[[-1]])[0]
        assert_same([s, n, x], [out], 0.3, 5, numbers(5))
        assert_same([s, n, x], [out[-1]], 0.3, 5, numbers(5))

    @LONGER_OR_SHORTER
    def test_sum_of_products(self, extra):
        H, A, X, W, start = T.dmatrix("H"), T.dmatrix("A"), T.dtensor3("X"), T.dmatrix("W"), T.dmatrix("start")
        outs = scan([A, H], [H + T.dot(A.T, A)], [n, X, filled(start, n + 1 + extra)], n_seqs=1, n_sit_sot=1, tap_array=[[-1]])
        assert_same([start, n, X, W], [outs[0][-1]], numbers(2, 2), 5, numbers(5, 3, 2), numbers(2, 2))

    @LONGER_OR_SHORTER
    def test_output_computed_from_a_state(self, extra):
        H, A, W, X, w, start = T.dvector("H"), T.dvector("A"), T.dmatrix("W"), T.dmatrix("X"), T.dmatrix("w"), T.dvector("start")
        outer = [n, X, filled(start, n + 1 + extra), n, W]
        outs = scan([A, H, w], [T.tanh(H + A), T.dot(H, w)], outer, n_seqs=1, n_sit_sot=1, n_nit_sot=1, tap_array=[[-1]])
        assert_same([start, n, X, W], outs, numbers(3), 5, numbers(5, 3), numbers(3, 2))

    @LONGER_OR_SHORTER
    def test_loop_over_the_values_of_a_loop_backwards(self, extra):
        out = scan([h], [T.tanh(h * 1.5)], [n, filled(s, n + 1 + max(extra, 0))], n_sit_sot=1, tap_array=[[-1]])[0]
        again = scan([a], [T.exp(T.tanh(a))], [n, out[1:][::-1], n], n_seqs=1, n_nit_sot=1)
        assert_same([s, n], again, 0.3, 5)

    @pytest.mark.parametrize("extra", [-2, 0, 3])
    def test_length_of_an_output(self, extra):
        """What comes after the values of all steps is zero."""
        outer = [n, x, filled(s, n + 1), n + extra]
        out = scan([a, h], [T.tanh(h + a), T.exp(h) * a], outer, n_seqs=1, n_sit_sot=1, n_nit_sot=1, tap_array=[[-1]])[1]
        assert_same([s, n, x], [out[-1]], 0.3, 5, numbers(5))

    @pytest.mark.parametrize(("length", "is_evident"), [
        (1 + n, True), (n + 1, True), (3 + (n - 2), True), (T.cast(n, "int32") + 1, False), (n + 2, False),
    ])  # fmt: skip
    def test_evident_lengths(self, length, is_evident):
        """A buffer of which the last row is taken is shortened where it is evidently one of all values."""
        out = scan([h], [T.tanh(h * 1.5)], [n, filled(s, length)], n_sit_sot=1, tap_array=[[-1]])[0]
        f = assert_same([s, n], [out[-1]], 0.3, 5)
        (node,) = loops(f)
        (buffer,) = node.op.outer_sitsot(node)
        copies, lengths = theano.gof.graph.clone(f.maker.fgraph.inputs, [buffer.shape[0]])
        kept = theano.function(copies, lengths, mode=PLAIN, accept_inplace=True, on_unused_input="ignore")(0.3, 5)[0]
        assert kept < 5 if is_evident else kept > 5


class TestArguments:
    @pytest.mark.parametrize("row", [lambda: 2 + s, lambda: 5 - s, lambda: 2 + x], ids=["sum", "difference", "vector"])
    def test_rows_that_are_all_computed_from_a_constant(self, row):
        out, _ = theano.scan(lambda a, h: a * h.sum() + h, T.alloc(row(), 4, 3), T.ones((3,)))
        assert_same([s, x], [out], 0.5, numbers(3))

    def test_step_that_returns_what_it_got(self):
        out = scan([a, h, s], [h + a, a], [n, x, *(filled(h, n + 1) for _ in range(2))], n_seqs=1, n_sit_sot=2,
                   tap_array=[[-1], [-1]])
        assert_same([n, x, h], out, 4, numbers(4), 0.5)

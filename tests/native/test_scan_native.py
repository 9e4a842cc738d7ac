"""Loops in the native engine, against the same loop run in Python step by step."""

from __future__ import annotations

import random
import signal
import threading

import numpy as np
import pytest

import theano
from theano import tensor as T
from theano.compile.mode import OPT_FAST_RUN, Mode
from theano.native.linker import runs_natively
from theano.scan_module.scan_op import Scan

pytestmark = pytest.mark.skipif(not runs_natively(), reason="the native engine is not here")

IN_PYTHON = Mode(linker="py", optimizer="fast_compile")
# The loops are to run as they are written.
NATIVE = Mode(linker="cvm", optimizer=OPT_FAST_RUN.excluding("scan"))


def loop(inputs, outputs, outer, **info):
    """The outputs of a Scan over the given inner graph."""
    result = Scan(inputs, outputs, info)(*outer)
    return result if isinstance(result, list) else [result]


def names_of(function):
    return [instr.name for instr in function.fn.instrs]


def both_ways(inputs, outputs):
    native = theano.function(inputs, outputs, mode=NATIVE, on_unused_input="ignore")
    assert "scan" in names_of(native), names_of(native)
    return native, theano.function(inputs, outputs, mode=IN_PYTHON, on_unused_input="ignore")


def assert_agree(inputs, outputs, *arguments):
    native, python = both_ways(inputs, outputs)
    wanted = python(*arguments)
    for _ in range(2):
        for got, want in zip(native(*arguments), wanted, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-6 if got.dtype == "float32" else 1e-12, atol=1e-7)
    return wanted


def recurrence(element, step, rows, taps=(-1,), extra=()):
    """A Scan of one state: outer buffer, steps and outputs."""
    variables = [element() for _ in taps]
    buffer = T.TensorType(element.dtype, (False, *element.broadcastable))("buffer")
    steps = T.lscalar("steps")
    kind = {"n_sit_sot": 1} if tuple(taps) == (-1,) else {"n_mit_sot": 1}
    others = [v.clone() for v in extra]
    outs = loop([*variables, *others], [step(*variables, *others)], [steps, buffer, *extra], tap_array=[list(taps)], **kind)
    return steps, buffer, outs


class TestOneKernel:
    """The inner program is one elementwise kernel: several steps are one call."""

    @pytest.mark.parametrize("rows", [2, 3, 5, 9, 10, 12])
    def test_circular_buffer(self, rows):
        steps, buffer, outs = recurrence(T.dscalar, lambda x: T.tanh(x * 1.5 + 0.1), rows)
        assert_agree([steps, buffer], outs, 9, np.linspace(0.1, 1, rows))

    @pytest.mark.parametrize("steps_", [0, 1, 2, 3, 50])
    def test_numbers_of_steps(self, steps_):
        steps, buffer, outs = recurrence(T.dscalar, lambda x: x * 0.9 + 1, 60)
        assert_agree([steps, buffer], outs, steps_, np.linspace(0, 1, 60))

    @pytest.mark.parametrize("taps", [(-1, -2), (-3,), (-2, -5)])
    @pytest.mark.parametrize("rows", [5, 6, 20])
    def test_taps(self, taps, rows):
        steps, buffer, outs = recurrence(T.dscalar, lambda *xs: sum(xs) * 0.5 - 0.1, rows, taps)
        assert_agree([steps, buffer], outs, 15, np.linspace(-1, 1, rows))

    def test_vectors_and_sequences(self):
        s, x, w = T.fvector("s"), T.fvector("x"), T.fvector("w")
        S, X, W, steps = T.fmatrix("S"), T.fmatrix("X"), T.fvector("W"), T.lscalar("steps")
        outs = loop([s, x, w], [T.exp(-x * w) + s, x + s], [steps, S, X, steps, W], n_seqs=1, n_sit_sot=1, n_nit_sot=1,
                    tap_array=[[-1]])
        rng = np.random.RandomState(0)
        assert_agree([steps, S, X, W], outs, 12, rng.rand(12, 5).astype("f"), rng.rand(13, 5).astype("f"),
                     rng.rand(5).astype("f"))

    def test_sequence_that_runs_backwards(self):
        s, x = T.dscalar("s"), T.dscalar("x")
        S, X = T.dvector("S"), T.dvector("X")
        outs = loop([s, x], [x * 0.5 + s], [S.shape[0], S[::-1], X], n_seqs=1, n_sit_sot=1, tap_array=[[-1]])
        assert_agree([S, X], outs, np.arange(9.0), np.zeros(10))

    def test_while_loop_stops(self):
        x, limit = T.dscalar("x"), T.dscalar("limit")
        buffer, steps, L = T.dvector("buffer"), T.lscalar("steps"), T.dscalar("L")
        outs = loop([x, limit], [x * 2, x * 2 > limit], [steps, buffer, L], n_sit_sot=1, tap_array=[[-1]], as_while=True)
        native, python = both_ways([steps, buffer, L], outs)
        for rows in (2, 4, 21):
            for bound in (1.0, 100.0, 1e9):
                start = np.ones(rows)
                np.testing.assert_array_equal(native(20, start, bound)[0], python(20, start, bound)[0])

    def test_a_row_that_does_not_merge_into_one_run(self):
        steps, buffer, outs = recurrence(T.dmatrix, lambda x: x.T * 0.5 + x, 6)
        assert_agree([steps, buffer], outs, 5, np.random.RandomState(1).rand(6, 3, 3))


class TestManyInstructions:
    def test_rnn_with_products(self):
        h, x, w, u = T.dvector("h"), T.dvector("x"), T.dmatrix("w"), T.dmatrix("u")
        X, H, W, U = T.dmatrix("X"), T.dmatrix("H"), T.dmatrix("W"), T.dmatrix("U")
        step = T.tanh(T.dot(h, w) + T.dot(x, u))
        outs = loop([x, h, w, u], [step, step.sum()], [X.shape[0], X, H, X.shape[0], W, U], n_seqs=1, n_sit_sot=1,
                    n_nit_sot=1, tap_array=[[-1]])
        rng = np.random.RandomState(2)
        for rows in (2, 3, 8):
            assert_agree([X, H, W, U], outs, rng.rand(7, 3), rng.rand(rows, 4), rng.rand(4, 4), rng.rand(3, 4))

    def test_two_states_that_change_places(self):
        a, b = T.dvector("a"), T.dvector("b")
        A, B, steps = T.dmatrix("A"), T.dmatrix("B"), T.lscalar("steps")
        outs = loop([a, b], [b, a], [steps, A, B], n_sit_sot=2, tap_array=[[-1], [-1]])
        for rows in (1, 2, 7):
            assert_agree([steps, A, B], outs, 6, np.random.rand(rows, 3), np.random.rand(rows, 3))

    def test_one_result_for_two_outputs(self):
        a, A, steps = T.dvector("a"), T.dmatrix("A"), T.lscalar("steps")
        y = T.exp(-a)
        outs = loop([a], [y, y, a, T.constant(3.0)], [steps, A, steps, steps, steps], n_sit_sot=1, n_nit_sot=3, tap_array=[[-1]])
        assert_agree([steps, A], outs, 6, np.random.rand(7, 3))

    @pytest.mark.parametrize("kept", [0, 1, 2, 5, 6, 9])
    def test_only_the_last_values_are_kept(self, kept):
        x, X, steps, n = T.dvector("x"), T.dmatrix("X"), T.lscalar("steps"), T.lscalar("n")
        outs = loop([x], [T.sort(x) * 2], [steps, X, n], n_seqs=1, n_nit_sot=1)
        assert_agree([steps, X, n], outs, 6, np.random.rand(6, 4), kept)

    def test_written_and_read_taps(self):
        """A mit_mot adds to what is there, as the gradient of a loop does."""
        s, now, then, w = T.dvector("s"), T.dvector("now"), T.dvector("then"), T.dmatrix("w")
        S, M, W, steps = T.dmatrix("S"), T.dmatrix("M"), T.dmatrix("W"), T.lscalar("steps")
        outs = loop([s, now, then, w], [then + T.dot(now, w) * s, now * 2], [steps, S, M, steps, W], n_seqs=1, n_mit_mot=1,
                    n_mit_mot_outs=1, tap_array=[[0, 1]], mit_mot_out_slices=[[1]], n_nit_sot=1)
        rng = np.random.RandomState(4)
        assert_agree([steps, S, M, W], outs, 5, rng.rand(5, 3), rng.rand(6, 3), rng.rand(3, 3))

    def test_written_tap_is_read_after_it_was_written(self):
        now, then = T.dvector("now"), T.dvector("then")
        M, steps = T.dmatrix("M"), T.lscalar("steps")
        total = then + now
        outs = loop([now, then], [total, total * T.exp(then) + T.sort(then)], [steps, M, steps], n_mit_mot=1, n_mit_mot_outs=1,
                    tap_array=[[0, 1]], mit_mot_out_slices=[[1]], n_nit_sot=1)
        assert_agree([steps, M], outs, 5, np.random.RandomState(4).rand(6, 3))

    def test_taps_that_change_places(self):
        now, then = T.dvector("now"), T.dvector("then")
        M, steps = T.dmatrix("M"), T.lscalar("steps")
        outs = loop([now, then], [then, now], [steps, M], n_mit_mot=1, n_mit_mot_outs=2, tap_array=[[0, 1]],
                    mit_mot_out_slices=[[0, 1]])
        assert_agree([steps, M], outs, 5, np.random.RandomState(4).rand(6, 3))

    def test_accumulated_outer_products(self):
        x, acc = T.dvector("x"), T.dmatrix("acc")
        X, A = T.dmatrix("X"), T.dtensor3("A")
        outs = loop([x, acc], [acc + T.outer(x, x)], [X.shape[0], X, A], n_seqs=1, n_sit_sot=1, tap_array=[[-1]])
        for rows in (1, 2, 3, 9):
            assert_agree([X, A], outs, np.random.rand(8, 3), np.random.rand(rows, 3, 3))

    def test_shapes_within_a_step_may_change(self):
        i, x = T.lscalar("i"), T.dvector("x")
        I, X = T.lvector("I"), T.dvector("X")
        outs = loop([i, x], [T.exp(x[:i]).sum() + x[i], (x[i:] * 2).prod()], [I.shape[0], I, I.shape[0], I.shape[0], X], n_seqs=1,
                    n_nit_sot=2)
        assert_agree([I, X], outs, np.array([3, 1, 1, 4, 4, 0, 2]), np.random.rand(6))

    def test_python_node_inside(self):
        """A node without native code runs in Python; what it sees and returns is its own."""
        seen = []

        @theano.compile.ops.as_op(itypes=[T.dvector, T.dvector], otypes=[T.dvector])
        def add_slowly(a, b):
            seen.append((a, a.copy()))
            return a + b

        a, x, A, X = T.dvector("a"), T.dvector("x"), T.dmatrix("A"), T.dmatrix("X")
        outs = loop([x, a], [T.tanh(add_slowly(a * 2, x)), add_slowly(x, a)], [X.shape[0], X, A, X.shape[0]], n_seqs=1,
                    n_sit_sot=1, n_nit_sot=1, tap_array=[[-1]])
        assert_agree([X, A], outs, np.random.rand(6, 3), np.random.rand(7, 3))
        assert all(np.array_equal(kept, then) for kept, then in seen)

    def test_lazy_branches_inside(self):
        from theano.ifelse import ifelse

        i, a, I, A = T.lscalar("i"), T.dvector("a"), T.lvector("I"), T.dmatrix("A")
        outs = loop([i, a], [ifelse(T.gt(i, 2), T.exp(-a), T.sort(a) + i)], [I.shape[0], I, A], n_seqs=1, n_sit_sot=1,
                    tap_array=[[-1]])
        assert_agree([I, A], outs, np.arange(6), np.random.rand(7, 3))

    def test_shared_state_that_is_an_array(self):
        x, total, X, start = T.dvector("x"), T.dvector("total"), T.dmatrix("X"), T.dvector("start")
        outs = loop([x, total], [total.sum(), total + x], [X.shape[0], X, start, X.shape[0]], n_seqs=1, n_nit_sot=1,
                    n_shared_outs=1)
        assert_agree([X, start], outs, np.random.rand(6, 3), np.random.rand(3))
        assert_agree([X, start], outs, np.random.rand(0, 3), np.random.rand(3))

    def test_random_state(self):
        from theano.tensor.raw_random import normal, random_state_type

        state, start = random_state_type(), random_state_type()
        new_state, value = normal(state, size=(3,))
        outs = loop([state], [value, new_state], [6, start, 6], n_nit_sot=1, n_shared_outs=1)
        native, python = both_ways([start], outs)
        given = np.random.RandomState(5)
        for function in native, native, python:
            values, after = function(given)
            np.testing.assert_allclose(values, np.random.RandomState(5).normal(size=(6, 3)))
            assert after is not given
            assert given.get_state()[2] == np.random.RandomState(5).get_state()[2]

    def test_empty_rows(self):
        steps, buffer, outs = recurrence(T.dvector, lambda x: T.sort(x) + 1, 6)
        assert_agree([steps, buffer], outs, 5, np.zeros((6, 0)))

    def test_loop_in_a_loop_in_a_loop(self):
        def nested(depth, x, length):
            if depth == 0:
                return T.tanh(x) + 0.1
            inner = x.type("inner")
            start = T.set_subtensor(T.zeros((length + 1, x.shape[0]))[:1], x.dimshuffle("x", 0))
            return loop([inner], [nested(depth - 1, inner, length)], [length, start], n_sit_sot=1, tap_array=[[-1]])[0][-1]

        x = T.dvector("x")
        native, python = both_ways([x], [nested(3, x, 3)])
        np.testing.assert_allclose(native(np.arange(3.0)), python(np.arange(3.0)))


class TestProductsWithFixedMatrices:
    """From some steps on, a matrix that is the same in all of them is rearranged once."""

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize("rows, depth, cols", [(4, 16, 33), (5, 17, 40), (13, 300, 70), (32, 64, 128), (3, 40, 40)])
    def test_sizes(self, dtype, side, rows, depth, cols):
        rng = np.random.RandomState(rows)
        x, w, z = (T.TensorType(dtype, (False, False))(n) for n in "xwz")
        X, Z = (T.TensorType(dtype, (False,) * 3)(n) for n in "XZ")
        W = w.clone()
        product = T.dot(x, w) if side == "right" else T.dot(w, x)
        outs = loop([x, z, w], [z * 0.5 + 2 * product, T.dot(product, product.T)], [X.shape[0], X, Z, X.shape[0], X.shape[0], W],
                    n_seqs=2, n_nit_sot=2)
        steps = 12
        if side == "right":
            shapes = (steps, rows, depth), (steps, rows, cols), (depth, cols)
        else:
            shapes = (steps, depth, rows), (steps, cols, rows), (cols, depth)
        values = [rng.uniform(-1, 1, s).astype(dtype) for s in shapes]
        native, _ = both_ways([X, Z, W], outs)
        xs, zs, ws = values
        for _ in range(2):
            products = xs @ ws if side == "right" else ws @ xs
            got, square = native(xs, zs, ws)
            for value, wanted in (got, 0.5 * zs + 2 * products), (square, products @ products.transpose(0, 2, 1)):
                error = 1e-5 if dtype == "float32" else 1e-13
                np.testing.assert_allclose(value, wanted, rtol=error, atol=error * abs(wanted).max())
            ws = ws[::-1].copy() * 2

    def test_strides(self):
        rng = np.random.RandomState(0)
        x, w, X, W = T.dmatrix("x"), T.dmatrix("w"), T.dtensor3("X"), T.dmatrix("W")
        outs = loop([x, w], [T.dot(x.T, w.T)], [X.shape[0], X, X.shape[0], W], n_seqs=1, n_nit_sot=1)
        native, _ = both_ways([X, W], outs)
        xs, ws = rng.rand(10, 40, 12)[:, ::2, ::-1], rng.rand(48, 80)[:, ::4]
        np.testing.assert_allclose(native(xs, ws)[0], xs.transpose(0, 2, 1) @ ws.T)


class TestMemory:
    def test_takes_over_a_buffer_that_nobody_else_needs(self):
        start = T.dvector("start")
        x = T.dvector("x")
        buffer = T.set_subtensor(T.basic.AllocEmpty("float64")(1001, start.shape[0])[:1], start.dimshuffle("x", 0))
        out, = loop([x], [T.sort(x) + 1], [1000, buffer], n_sit_sot=1, tap_array=[[-1]])
        function = theano.function([start], theano.Out(out, borrow=True), mode=NATIVE)
        value = np.zeros(2000)
        function(value)
        function.fn.free()
        before = theano.native.fastcall._runtime.pool_stats()["in_use"]
        kept = function(value)
        grown = theano.native.fastcall._runtime.pool_stats()["in_use"] - before
        assert kept[-1, 0] == 1000
        assert grown <= 1.1 * kept.nbytes

    def test_rows_made_in_each_step_are_made_where_those_before_were(self):
        # Their number is an element of a sequence, the same in all steps but the last.
        x, n, start, every = T.dvector("x"), T.lscalar("n"), np.zeros(1000), 40
        saved = theano.scan_checkpoints(lambda x: T.tanh(1.1 * x), outputs_info=[x], n_steps=n, save_every_N=every)[0][-1]
        function = theano.function([x, n], T.grad(saved.sum(), x))
        runtime = theano.native.fastcall._runtime
        function(start, every**2)
        runtime.pool_trim()
        before = runtime.pool_stats()["in_use"]
        assert np.isfinite(function(start, every**2)).all()
        # The checkpoints, and the values and the gradients between two.
        assert runtime.pool_stats()["peak"] - before < 3.5 * every * start.nbytes

    def test_buffer_of_somebody_else_is_copied(self):
        steps, buffer, outs = recurrence(T.dvector, lambda x: x * 2, 5)
        native, _ = both_ways([steps, buffer], outs)
        value = np.ones((5, 2))
        native(4, value)
        np.testing.assert_array_equal(value, 1)

    def test_buffer_that_is_used_twice(self):
        a, b, A, steps = T.dvector("a"), T.dvector("b"), T.dmatrix("A"), T.lscalar("steps")
        buffer = A * 1.5
        outs = loop([a, b], [a + 1, b * 2], [steps, buffer, buffer], n_sit_sot=2, tap_array=[[-1], [-1]])
        assert_agree([A, steps], [*outs, buffer.sum()], np.ones((5, 2)), 4)

    def test_results_of_several_calls_are_apart(self):
        steps, buffer, outs = recurrence(T.dvector, lambda x: T.sort(x) * 2, 5)
        native, _ = both_ways([steps, buffer], outs)
        first, = native(4, np.ones((5, 2)))
        kept = first.copy()
        native(4, 3 * np.ones((5, 2)))
        np.testing.assert_array_equal(first, kept)


class TestErrors:
    def test_step_and_inner_node_are_named(self):
        x, w, X, W = T.dvector("x"), T.dvector("w"), T.dmatrix("X"), T.dvector("W")
        i, I = T.lscalar("i"), T.lvector("I")
        outs = loop([i, x, w], [x[:i] + w], [I.shape[0], I, X, I.shape[0], W], n_seqs=2, n_nit_sot=1, name="short")
        function = theano.function([I, X, W], outs, mode=NATIVE)
        assert "scan" in names_of(function)
        with pytest.raises(ValueError, match="step 2 .counted from 0. of 4 of the scan short") as error:
            function(np.array([3, 3, 2, 3]), np.ones((4, 3)), np.ones(3))
        assert "mis-match" in str(error.value)
        assert "Elemwise{" in str(error.value)

    def test_sequence_too_short(self):
        x, X, steps = T.dvector("x"), T.dmatrix("X"), T.lscalar("steps")
        native, python = both_ways([X, steps], loop([x], [x * 2], [steps, X, steps], n_seqs=1, n_nit_sot=1))
        for function in native, python:
            with pytest.raises(ValueError, match="it has 3 elements for 4 steps"):
                function(np.ones((3, 2)), 4)
        with pytest.raises(IndexError, match="negative number of steps"):
            native(np.ones((3, 2)), -1)

    def test_result_of_another_shape(self):
        i, I, X = T.lscalar("i"), T.lvector("I"), T.dvector("X")
        x = T.dvector("x")
        native, python = both_ways([I, X], loop([i, x], [x[:i] * 2], [I.shape[0], I, I.shape[0], X], n_seqs=1, n_nit_sot=1))
        for function in native, python:
            with pytest.raises(ValueError, match=r"has the shape \(3,\) at step 1 .*had the shape \(2,\)"):
                function(np.array([2, 3]), np.ones(4))

    def test_function_works_after_an_error(self):
        i, I, X = T.lscalar("i"), T.lvector("I"), T.dvector("X")
        x = T.dvector("x")
        native, _ = both_ways([I, X], loop([i, x], [x[i] * 2], [I.shape[0], I, I.shape[0], X], n_seqs=1, n_nit_sot=1))
        with pytest.raises(IndexError):
            native(np.array([0, 1, 9]), np.ones(4))
        np.testing.assert_array_equal(native(np.array([0, 1]), np.ones(4))[0], [2, 2])


def test_threads_share_a_function():
    steps, buffer, outs = recurrence(T.dvector, lambda x: T.sort(x) * 0.5 + 1, 300)
    native, python = both_ways([steps, buffer], outs)
    arguments = [np.random.RandomState(k).rand(300, 3) for k in range(4)]
    wanted = [python(299, a)[0] for a in arguments]
    results: list = [None] * 4

    def work(k):
        for _ in range(20):
            results[k] = native(299, arguments[k])[0]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for got, want in zip(results, wanted):
        np.testing.assert_allclose(got, want)


def random_loop(seed):
    """A Scan with random states, taps and inner graph; returns outer inputs, outputs and values for them."""
    rng = random.Random(seed)
    numbers = np.random.RandomState(seed)
    dtype = rng.choice(["float32", "float64"])
    ndim, n = rng.randrange(3), rng.randint(1, 4)
    element = T.TensorType(dtype, (False,) * ndim)
    rows = T.TensorType(dtype, (False,) * (ndim + 1))
    shape = (n,) * ndim
    steps = rng.choice([0, 1, 2, 3, 7, 20])
    n_seqs, n_mit_mot, n_mit_sot, n_sit_sot, n_nit_sot = (rng.randrange(3) for _ in range(5))
    n_nit_sot += not (n_mit_mot or n_mit_sot or n_sit_sot)
    mit_mot = [([0, 1], [1]) if rng.random() < 0.5 else ([0, 1, 2], rng.choice([[1], [0, 2]])) for _ in range(n_mit_mot)]
    mit_sot = [sorted(rng.sample(range(-4, 0), 2)) for _ in range(n_mit_sot)]
    taps = [*(t for t, _ in mit_mot), *mit_sot, *[[-1]] * n_sit_sot]
    inner = [element() for _ in range(n_seqs + sum(map(len, taps)) + 1)]
    pool = list(inner)

    def term():
        a, b = rng.choice(pool), rng.choice(pool)
        made = rng.choice([
            lambda: T.tanh(a + b), lambda: a * 0.5 - b * 0.25, lambda: T.dot(a, b) / n if ndim else a * b,
            lambda: a.T + 0.1 if ndim == 2 else T.exp(-abs(a)), lambda: T.maximum(a, b),
            lambda: T.zeros_like(a) + a.sum() * 0.1 if ndim else abs(b), lambda: a,
        ])()
        if made.ndim != ndim:
            made = T.zeros_like(a) + made
        return T.cast(made, dtype)

    for _ in range(rng.randint(1, 6)):
        pool.append(term())
    n_outs = sum(len(s) for _, s in mit_mot) + n_mit_sot + n_sit_sot + n_nit_sot
    outputs = [T.patternbroadcast(term(), (False,) * ndim) for _ in range(n_outs)]
    as_while = rng.random() < 0.3
    if as_while:
        outputs.append(T.gt(abs(rng.choice(pool)).sum(), rng.choice([0.5, 5.0, 50.0])))

    values = [numbers.uniform(-1, 1, (steps + rng.randrange(2), *shape)) for _ in range(n_seqs)]
    for read, written in mit_mot:
        values.append(numbers.uniform(-1, 1, (steps + max(read + written), *shape)))
    for tap in [*mit_sot, *[[-1]] * n_sit_sot]:
        values.append(numbers.uniform(-1, 1, (rng.choice([-min(tap), -min(tap) + 1, -min(tap) + steps, steps + 6]), *shape)))
    values.append(numbers.uniform(-1, 1, shape))
    values = [v.astype(dtype) for v in values]
    outer = [rows() for _ in values[:-1]] + [element()]
    lengths = [rng.choice([1, 2, max(steps, 1), steps + 2]) for _ in range(n_nit_sot)]
    info = {
        "n_seqs": n_seqs, "n_mit_mot": n_mit_mot, "n_mit_sot": n_mit_sot, "n_sit_sot": n_sit_sot, "n_nit_sot": n_nit_sot,
        "tap_array": taps, "mit_mot_out_slices": [w for _, w in mit_mot], "n_mit_mot_outs": sum(len(w) for _, w in mit_mot),
        "as_while": as_while,
    }  # fmt: skip
    return outer, loop(inner, outputs, [steps, *outer[:-1], *lengths, outer[-1]], **info), values


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed):
    outer, outputs, values = random_loop(seed)
    assert_agree(outer, outputs, *values)


@pytest.mark.parametrize("seed", [5, 6, 32, 38, 39, 58, 65, 69, 85, 93, 97, 106, 117, 119, 122, 144, 150, 169, 176, 191])
def test_random_loops_with_the_rewrites_of_loops(seed):
    outer, outputs, values = random_loop(seed)
    modes = Mode("vm", OPT_FAST_RUN), IN_PYTHON
    got, wanted = (theano.function(outer, outputs, mode=mode, on_unused_input="ignore")(*values) for mode in modes)
    for result, want in zip(got, wanted, strict=True):
        assert result.shape == want.shape
        np.testing.assert_allclose(result, want, rtol=1e-5 if result.dtype == "float32" else 1e-10, atol=1e-6)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("step", [lambda x: x * 0.5 + 1, lambda x: T.sort(x) * 0.5 + 1], ids=["one kernel", "several"])
def test_signals_interrupt_a_loop(step):
    """What Ctrl-C does: a handler that raises ends the loop, and the function can be called again."""

    class Stop(Exception):
        pass

    def stop(number, frame):
        raise Stop

    steps, buffer, outs = recurrence(T.dvector, step, 2)
    native, _ = both_ways([steps, buffer], outs)
    old = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Stop):
            native(10**10, np.ones((2, 3)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert native(3, np.ones((2, 3)))[0].shape == (2, 3)

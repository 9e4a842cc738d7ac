"""Memory of loops: only the steps that are taken, in place; and several loops as one."""

import numpy as np
import pytest
from loop_tools import compile_checked, loops, numbers

import theano
import theano.tensor as T
from theano.scan_module import until

x = T.dvector("x")
h0 = T.dscalar("h0")
n = T.iscalar("n")


def rows(f, values):
    """Lengths of the buffers and outputs that the loops of a function get."""
    lengths = []
    for node in loops(f):
        wanted = node.op.outer_sitsot(node) + node.op.outer_mitsot(node)
        wanted = [buffer.shape[0] for buffer in wanted] + node.op.outer_nitsot(node)
        # The lengths are computed by a graph of their own, over copies of the function's inputs.
        copies, outputs = theano.gof.graph.clone(f.maker.fgraph.inputs, wanted)
        options = {"mode": theano.Mode("vm", None), "accept_inplace": True, "on_unused_input": "ignore"}
        lengths += [int(v) for v in theano.function(copies, outputs, **options)(*values)]
    return lengths


def step(h):
    return T.tanh(h * 1.5 + 0.1)


class TestSaveMem:
    @pytest.mark.parametrize(("take", "expected"), [
        (lambda h: h[-1], [2]),
        (lambda h: h[-3], [4]),
        (lambda h: h[-2:], [3]),
        (lambda h: h[-1:-4:-1], [4]),
        (lambda h: h[-4:-1].sum(), [5]),
        (lambda h: h[-1] + h[-2], [3]),
        (lambda h: h[1], [11]),
        (lambda h: h[::-1], [11]),
        (lambda h: h[-3:2], [11]),
        (lambda h: h.sum(), [11]),
    ])  # fmt: skip
    def test_rows_that_are_kept(self, take, expected):
        h, _ = theano.scan(step, outputs_info=h0, n_steps=n)
        f = compile_checked([h0, n], take(h), [0.3, 10], [0.3, 4])
        assert rows(f, [0.3, 10]) == expected

    def test_no_step_is_an_error_as_before(self):
        h, _ = theano.scan(step, outputs_info=h0, n_steps=n)
        f = compile_checked([h0, n], h[-1], [0.3, 1])
        with pytest.raises(IndexError):
            f(0.3, 0)

    def test_index_that_varies(self):
        k = T.iscalar("k")
        h, _ = theano.scan(step, outputs_info=h0, n_steps=n)
        f = compile_checked([h0, n, k], h[k], [0.3, 5, -1], [0.3, 5, 2])
        assert rows(f, [0.3, 10, 0]) == [11]

    def test_output_that_is_not_read(self):
        (h, out), _ = theano.scan(lambda h: [step(h), T.exp(h) * step(h)], outputs_info=[h0, None], n_steps=n)
        f = compile_checked([h0, n], out[-2], [0.3, 10], [0.3, 2])
        assert max(rows(f, [0.3, 10])) <= 4

    def test_several_taps(self):
        start = T.dvector("start")
        h, _ = theano.scan(lambda a, b: T.tanh(a + 2 * b), outputs_info=[{"initial": start, "taps": [-3, -1]}], n_steps=n)
        f = compile_checked([start, n], [h[-1], h[-2]], [numbers(3), 10], [numbers(3), 2])
        assert rows(f, [numbers(3), 10]) == [5]

    def test_while_loop(self):
        h, _ = theano.scan(lambda h: (h * 2, until(h > 10)), outputs_info=h0, n_steps=n)
        f = compile_checked([h0, n], [h[-1], h[-2]], [1.0, 100], [1.0, 3], [1.0, 2], [8.0, 50])
        assert rows(f, [1.0, 100]) == [3]

    def test_while_loop_of_one_step(self):
        h, _ = theano.scan(lambda h: (h * 2, until(h > 10)), outputs_info=h0, n_steps=n)
        f = compile_checked([h0, n], h[-2:], [100.0, 100], [1.0, 100])
        assert f(100.0, 100)[0].shape == (1,)

    def test_constant_number_of_steps(self):
        h, _ = theano.scan(step, outputs_info=h0, n_steps=20)
        f = compile_checked([h0], h[-1], [0.3])
        assert rows(f, [0.3]) == [2]
        f = compile_checked([h0], h[-20], [0.3])
        assert rows(f, [0.3]) == [21]

    def test_gradient_keeps_what_it_needs(self):
        h, _ = theano.scan(step, outputs_info=h0, n_steps=n)
        f = compile_checked([h0, n], [h[-1], T.grad(h[-1], h0)], [0.3, 6], [0.3, 1])
        assert max(rows(f, [0.3, 6])) >= 6

    def test_shared_variable(self):
        s = theano.shared(1.0)
        _, updates = theano.scan(lambda: {s: s * 2 + 1}, n_steps=n)
        f = theano.function([n], [], updates=updates)
        f(10)
        assert float(s.get_value()) == 2047.0
        # One row, which is the value of the shared variable: there is no other memory.
        assert len(loops(f)) == 1 and not any(isinstance(node.op, T.AllocEmpty) for node in f.maker.fgraph.toposort())


class TestInplace:
    def test_states_are_written_over_their_initial_values(self):
        h, _ = theano.scan(step, outputs_info=h0, n_steps=n)
        (node,) = loops(compile_checked([h0, n], h, [0.3, 10]))
        assert node.op.destroy_map == {0: [1]}

    def test_not_where_the_buffer_is_read_later(self):
        from theano.scan_module.scan_op import Scan

        a = T.dscalar("a")
        buffer = T.dvector("buffer")
        op = Scan([a], [T.tanh(a + 1)], {"n_sit_sot": 1, "tap_array": [[-1]]})
        out = op(n, buffer)
        f = compile_checked([n, buffer], [out, buffer * 2], [3, numbers(4)])
        assert not loops(f)[0].op.destroy_map
        g = theano.function([n, theano.In(buffer, mutable=True)], out)
        assert loops(g)[0].op.destroy_map == {0: [1]}

    def test_states_with_equal_initial_values(self):
        (a, b), _ = theano.scan(lambda v, a, b: [T.tanh(v + a), T.tanh(v - b)], x, [h0, h0])
        (node,) = loops(compile_checked([x, h0], [a, b], [numbers(4), 0.5]))
        assert sorted(node.op.destroy_map) == [0, 1]

    def test_excluded(self):
        h, _ = theano.scan(step, outputs_info=h0, n_steps=n)
        (node,) = loops(compile_checked([h0, n], h, [0.3, 10], excluding=("inplace",)))
        assert not node.op.destroy_map


class TestShortLoops:
    @pytest.mark.parametrize("steps", [0, 1])
    def test_written_out(self, steps):
        start = T.dvector("start")
        k = T.lscalar("k")
        (h, g, out), _ = theano.scan(
            lambda v, h, a, b: [T.tanh(v + h), a * b, T.exp(h) + v],
            x,
            [h0, {"initial": start, "taps": [-2, -1]}, None],
            n_steps=k,
        )
        outs = theano.clone([h, g, out], replace={k: T.constant(steps, dtype="int64")})
        f = compile_checked([x, h0, start], outs, [numbers(4), 0.5, numbers(2)])
        assert not loops(f)

    def test_gradient(self):
        k = T.lscalar("k")
        h, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0, n_steps=k)
        gradients = theano.clone(T.grad(h[-1], [x, h0]), replace={k: T.constant(1, dtype="int64")})
        f = compile_checked([x, h0], gradients, [numbers(4), 0.5])
        assert not loops(f)

    def test_last_value_only(self):
        k = T.lscalar("k")
        h, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0, n_steps=k)
        f = compile_checked([x, h0], theano.clone(h[-1], replace={k: T.constant(1, dtype="int64")}), [numbers(4), 0.5])
        assert not loops(f)

    def test_two_steps_stay(self):
        k = T.lscalar("k")
        h, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0, n_steps=k)
        f = compile_checked([x, h0], theano.clone(h, replace={k: T.constant(2, dtype="int64")}), [numbers(4), 0.5])
        assert len(loops(f)) == 1


class TestMerge:
    def test_loops_of_the_same_length(self):
        a, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0)
        b, _ = theano.scan(lambda v, h: T.tanh(v * h), x, h0, go_backwards=True)
        assert len(loops(compile_checked([x, h0], [a, b], [numbers(4), 0.5]))) == 1
        assert len(loops(compile_checked([x, h0], [a, b], [numbers(4), 0.5], excluding=("scanOp_merge",)))) == 2

    def test_loops_that_need_each_other(self):
        a, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0)
        b, _ = theano.scan(lambda v, h: T.tanh(v * h), a, h0, n_steps=x.shape[0])
        assert len(loops(compile_checked([x, h0], [a, b], [numbers(4), 0.5]))) == 2

    def test_loops_of_different_lengths(self):
        y = T.dvector("y")
        a, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0)
        b, _ = theano.scan(lambda v, h: T.tanh(v + h), y, h0)
        assert len(loops(compile_checked([x, y, h0], [a, b], [numbers(4), numbers(3), 0.5]))) == 2

    def test_crossed_pairs(self):
        a, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0, n_steps=n)
        b, _ = theano.scan(lambda v, h: T.tanh(v - h), a[::-1], h0, n_steps=n)
        c, _ = theano.scan(lambda v, h: T.tanh(v * h), x, h0, n_steps=n)
        d, _ = theano.scan(lambda v, h: T.tanh(h - v), c[::-1], h0, n_steps=n)
        f = compile_checked([x, h0, n], [a, b, c, d], [numbers(4), 0.5, 4], [numbers(4), 0.5, 2])
        assert len(loops(f)) == 2

    def test_computations_in_common_are_done_once(self):
        a, _ = theano.scan(lambda v, h: T.tanh(v + h), x, h0)
        (b, c), _ = theano.scan(lambda v, h: [T.tanh(v + h), T.exp(T.tanh(v + h))], x, [h0, None])
        (node,) = loops(compile_checked([x, h0], [a, b, c], [numbers(4), 0.5]))
        assert node.op.n_sit_sot == 1 and node.op.n_seqs == 1


def test_results_do_not_share_memory():
    h, _ = theano.scan(step, outputs_info=h0, n_steps=n)
    f = theano.function([h0, n], [h, h[-1], h[2:]])
    results = f(0.3, 5)
    assert not any(np.shares_memory(a, b) for i, a in enumerate(results) for b in results[:i])
